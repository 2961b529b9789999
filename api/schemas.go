package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
	"tallystick/rules"
)

// schemas makes JSON Schemas of Go types: those of the OpenAPI document, and
// those that stand on their own in a system's description.
type schemas struct {
	registry huma.Registry
	names    map[reflect.Type]string // of command data
	commands *huma.Schema            // of a command, whatever its type
}

// variant is what one system understands by a command type.
type variant struct {
	system string
	spec   rules.CommandSpec
	data   reflect.Type
}

// newSchemas collects the commands of all systems. It refuses data whose
// members are called as those around it: a complaint about dice would not say
// which.
func newSchemas(library rules.Library) (*schemas, error) {
	s := &schemas{names: map[reflect.Type]string{}}
	types := map[string][]variant{}
	for _, book := range library {
		for _, spec := range book.Specs() {
			if spec.Who == rules.Program {
				continue // nobody can give it over HTTP
			}
			v := variant{book.Name(), spec, reflect.TypeOf(spec.New()).Elem()}
			if name := clash(v.data); name != "" {
				return nil, fmt.Errorf("api: the data of %s in %s has a member %s: that name belongs to the command around it", spec.Type, v.system, name)
			}
			if !slices.ContainsFunc(types[spec.Type], func(w variant) bool { return w.data == v.data }) {
				types[spec.Type] = append(types[spec.Type], v)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		for _, v := range types[name] {
			data := camel(name) + "Data"
			if len(types[name]) > 1 {
				data = camel(v.system) + data
			}
			s.names[v.data] = cmp.Or(s.names[v.data], data)
		}
	}
	s.registry = s.newRegistry("#/components/schemas/")
	s.commands = s.commandSchema(types)
	return s, nil
}

// clash is a member of command data that is named like one around it.
func clash(data reflect.Type) string {
	for i := range data.NumField() {
		name, _, _ := strings.Cut(data.Field(i).Tag.Get("json"), ",")
		if slices.Contains(around, name) {
			return name
		}
	}
	return ""
}

func (s *schemas) newRegistry(prefix string) huma.Registry {
	r := huma.NewMapRegistry(prefix, s.name)
	r.RegisterTypeAlias(reflect.TypeFor[jsontext.Value](), reflect.TypeFor[json.RawMessage]())
	return r
}

// name keeps types of different systems apart that are called the same.
func (s *schemas) name(t reflect.Type, hint string) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if name, ok := s.names[t]; ok {
		return name
	}
	name := huma.DefaultSchemaNamer(t, hint)
	if dir, system := path.Split(t.PkgPath()); strings.HasSuffix(dir, "/rules/") {
		return camel(system) + name
	}
	return name
}

// camel makes WoundInflict of wound.inflict.
func camel(s string) string {
	var out strings.Builder
	for word := range strings.FieldsFuncSeq(s, func(r rune) bool { return strings.ContainsRune("._- ", r) }) {
		out.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return out.String()
}

// commandSchema is one schema for each command type, told apart by type.
func (s *schemas) commandSchema(types map[string][]variant) *huma.Schema {
	all := &huma.Schema{Discriminator: &huma.Discriminator{PropertyName: "type", Mapping: map[string]string{}}}
	for _, typ := range slices.Sorted(maps.Keys(types)) {
		name := camel(typ) + "Command"
		s.registry.Map()[name] = s.oneCommand(typ, types[typ])
		ref := "#/components/schemas/" + name
		all.OneOf = append(all.OneOf, &huma.Schema{Ref: ref})
		all.Discriminator.Mapping[typ] = ref
	}
	s.registry.Map()["Command"] = all
	return &huma.Schema{Ref: "#/components/schemas/Command"}
}

func (s *schemas) oneCommand(typ string, variants []variant) *huma.Schema {
	spec := variants[0].spec
	title, doc := spec.Title, spec.Doc+" "+who[spec.Who]
	data := s.registry.Schema(variants[0].data, true, "")
	if len(variants) > 1 {
		title, doc = typ, "What its data holds depends on the system of the campaign. "+who[spec.Who]
		data = &huma.Schema{}
		for _, v := range variants {
			data.AnyOf = append(data.AnyOf, &huma.Schema{
				Title: v.system + ": " + v.spec.Title, Description: "In a campaign of " + v.system + ". " + v.spec.Doc,
				AllOf: []*huma.Schema{s.registry.Schema(v.data, true, "")},
			})
		}
	}
	required := []string{"type"}
	if slices.ContainsFunc(variants, func(v variant) bool { return len(s.resolved(v.data).Required) > 0 }) {
		required = append(required, "data")
	}
	return &huma.Schema{
		Type: huma.TypeObject, Title: title, Description: doc, Required: required, AdditionalProperties: false,
		Properties: map[string]*huma.Schema{
			"type":       {Type: huma.TypeString, Enum: []any{typ}},
			"data":       data,
			"dice":       s.registry.Schema(reflect.TypeFor[events.Hand](), true, ""),
			"seat":       s.registry.Schema(reflect.TypeFor[events.Seat](), true, ""),
			"visibility": visibilitySchema,
		},
	}
}

// visibilitySchema says who may see what a command rolls.
var visibilitySchema = &huma.Schema{
	Description: "who sees what is rolled, of a command that does nothing but roll: public, everybody (left out, too); private, who rolls and the game masters; " +
		"blind, the game masters alone; or the handles of those who see it beside who rolls and the game masters. What is not public is sealed: the ledger holds no more of it until it is opened.",
	OneOf: []*huma.Schema{
		{Type: huma.TypeString, Enum: []any{events.VisiblePublic, events.VisiblePrivate, events.VisibleBlind}},
		{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString}, MinItems: ptr(1), MaxItems: ptr(events.MaxNamed)},
	},
}

func ptr[T any](v T) *T { return &v }

func (s *schemas) resolved(t reflect.Type) *huma.Schema {
	schema := s.registry.Schema(t, true, "")
	if schema.Ref != "" {
		return s.registry.SchemaFromRef(schema.Ref)
	}
	return schema
}

// who may give a command, in words.
var who = map[rules.Who]string{
	rules.GMOnly:        "For the game master.",
	rules.OwnCharacters: "For the game master, and for players with their own characters.",
	rules.Participants:  "For everybody at the table but spectators.",
	rules.Table:         "For everybody at the table, spectators too.",
}

// whoName is the same for programs.
var whoName = map[rules.Who]string{rules.GMOnly: "gm", rules.OwnCharacters: "own-characters", rules.Participants: "participants", rules.Table: "table"}

// boundMaps puts the bounds of maps where JSON Schema looks for them. In the
// tags minimum and the like are those of a map's values and maxItems is of its
// members (see rules.Check); huma leaves them at the map, where they mean
// nothing.
func boundMaps(s *huma.Schema) {
	for _, p := range s.Properties {
		values, ok := p.AdditionalProperties.(*huma.Schema)
		if !ok {
			continue
		}
		move(&p.MinProperties, &p.MinItems)
		move(&p.MaxProperties, &p.MaxItems)
		move(&values.Minimum, &p.Minimum)
		move(&values.Maximum, &p.Maximum)
		move(&values.MinLength, &p.MinLength)
		move(&values.MaxLength, &p.MaxLength)
		if p.Enum != nil {
			values.Enum, p.Enum = p.Enum, nil
		}
	}
}

// move moves what is set.
func move[T any](to, from **T) {
	if *from != nil {
		*to, *from = *from, nil
	}
}

// alone is the schema of a value's type with everything it refers to in $defs.
func (s *schemas) alone(v any) (jsontext.Value, error) {
	if v == nil {
		return nil, nil
	}
	r := s.newRegistry("#/$defs/")
	schema := *r.Schema(reflect.TypeOf(v), false, "")
	boundMaps(&schema)
	if defs := r.Map(); len(defs) > 0 {
		for _, def := range defs {
			boundMaps(def)
		}
		schema.Extensions = map[string]any{"$defs": defs}
	}
	raw, err := schema.MarshalJSON()
	return raw, err
}

// schema is how a type stands in the OpenAPI document.
func (s *Server) schema(v any) *huma.Schema {
	return s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeOf(v), true, "")
}
