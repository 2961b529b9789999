package rulestest

import (
	"encoding"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"tallystick/rules"
)

// words are the names that the cases of a system use, by the member they stand
// in: weapons, skills, materials. Commands made at random use them, so that
// some of them make sense.
type words map[string][]string

// learn reads words out of a system's example and its vectors, if there are
// any.
func learn(book *rules.Book, path string) words {
	w := words{}
	seen := map[string]map[string]bool{}
	if raw, err := json.Marshal(book.Example()); err == nil {
		note(raw, seen)
	}
	var vectors []rules.Vector
	if raw, err := os.ReadFile(path); err == nil && json.Unmarshal(raw, &vectors) == nil {
		for _, v := range vectors {
			note(v.Given, seen)
		}
	}
	for member, set := range seen {
		w[member] = slices.Sorted(maps.Keys(set))
	}
	return w
}

func note(raw jsontext.Value, seen map[string]map[string]bool) {
	var v any
	if json.Unmarshal(raw, &v) == nil {
		collect("", v, seen)
	}
}

func collect(member string, v any, seen map[string]map[string]bool) {
	note := func(word string) {
		if seen[member] == nil {
			seen[member] = map[string]bool{}
		}
		seen[member][word] = true
	}
	switch v := v.(type) {
	case string:
		note(v)
	case []any:
		for _, item := range v {
			collect(member, item, seen)
		}
	case map[string]any:
		for name, item := range v {
			note(name)
			collect(name, item, seen)
		}
	}
}

// maker makes data for commands at random.
type maker struct {
	book  *rules.Book
	words words
	ids   []string // of characters
}

// data fills a value of a type with JSON that keeps the bounds in its tags,
// most of the time.
func (m *maker) data(rt *rapid.T, t reflect.Type, member string, tag reflect.StructTag) any {
	if t.Kind() == reflect.Pointer {
		return m.data(rt, t.Elem(), member, tag)
	}
	if t == reflect.TypeFor[jsontext.Value]() {
		return m.nested(rt, member)
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return m.word(rt, member, tag)
	}
	switch t.Kind() {
	case reflect.Struct:
		return m.object(rt, t)
	case reflect.Slice, reflect.Array:
		n := rapid.IntRange(bound(tag, "minItems", 0), 3).Draw(rt, member+" items")
		if t.Kind() == reflect.Array {
			n = t.Len()
		}
		items := make([]any, n)
		for i := range items {
			items[i] = m.data(rt, t.Elem(), member, tag)
		}
		return items
	case reflect.Map:
		out := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(rt, member+" entries") {
			out[m.word(rt, member, "")] = m.data(rt, t.Elem(), member, tag)
		}
		return out
	case reflect.String:
		return m.word(rt, member, tag)
	case reflect.Bool:
		return rapid.Bool().Draw(rt, member)
	default:
		lo, hi := bound(tag, "minimum", -5), bound(tag, "maximum", 40)
		return rapid.IntRange(max(lo, -2), max(lo, min(hi, 14))).Draw(rt, member)
	}
}

func (m *maker) object(rt *rapid.T, t reflect.Type) map[string]any {
	out := map[string]any{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		if f.Anonymous && name == "" {
			maps.Copy(out, m.object(rt, f.Type))
			continue
		}
		if strings.Contains(rest, "omit") && rapid.Bool().Draw(rt, name+" left out") {
			continue
		}
		out[name] = m.data(rt, f.Type, name, f.Tag)
	}
	return out
}

// word is a word that fits a member: of its enum, a character's id where one is
// meant, a word of the cases or the example, rarely nonsense.
func (m *maker) word(rt *rapid.T, member string, tag reflect.StructTag) string {
	if enum := tag.Get("enum"); enum != "" {
		return rapid.SampledFrom(strings.Split(enum, ",")).Draw(rt, member)
	}
	if rapid.IntRange(0, 19).Draw(rt, member+" sense") == 0 {
		return "nonsense"
	}
	choices := append(slices.Clone(m.words[member]), m.words[member+"s"]...)
	if slices.Contains(people, member) || len(choices) == 0 {
		choices = m.ids
	}
	return rapid.SampledFrom(choices).Draw(rt, member)
}

// people are members that name characters.
var people = []string{"character", "attacker", "target", "by", "lone", "foes", "attackers", "medic", "patient", "victim", "winner", "opponent"}

// nested is data whose type depends on the command around it.
func (m *maker) nested(rt *rapid.T, member string) any {
	switch {
	case member == "sheet" && rapid.Bool().Draw(rt, "example sheet"):
		return m.book.Example()
	case member == "sheet":
		return m.data(rt, reflect.TypeOf(m.book.Sheet()), member, "")
	case member == "setting" && m.book.Setting() != nil:
		return m.data(rt, reflect.TypeOf(m.book.Setting()), member, "")
	}
	return map[string]any{}
}

func bound(tag reflect.StructTag, name string, otherwise int) int {
	if n, err := strconv.Atoi(tag.Get(name)); err == nil {
		return n
	}
	return otherwise
}
