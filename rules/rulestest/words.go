package rulestest

import (
	"encoding"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"tallystick/rules"
)

// words are the names that the cases of a system use, by the member they stand
// in: weapons, skills, materials. Commands made at random use them, so that
// some of them make sense.
type words struct {
	in map[string][]string
	cast
}

// cast are those who play in the games at random, beside the system's example,
// and the world they play in: testdata/cast.json of a system, which may be
// left out. With it the games come to what only some characters can do.
type cast struct {
	Setting jsontext.Value   `json:"setting"`
	Sheets  []jsontext.Value `json:"sheets"`
}

// learn reads a system's cast, and words out of it, the system's example and
// its vectors, whatever of them there is.
func learn(t *testing.T, book *rules.Book, root string) words {
	folder := filepath.Join(root, book.Name(), "testdata")
	w, seen := words{in: map[string][]string{}}, map[string]map[string]bool{"expression": {"2d6": true, "3d10kh2+1": true, "4dF": true}}
	example, err := json.Marshal(book.Example())
	if err != nil {
		t.Fatal(err)
	}
	var vectors []rules.Vector
	readJSON(t, filepath.Join(folder, "vectors.json"), &vectors)
	readJSON(t, filepath.Join(folder, "cast.json"), &w.cast)
	w.Sheets = append(w.Sheets, example)
	for _, v := range vectors {
		note(v.Given, seen)
	}
	for _, sheet := range w.Sheets {
		note(sheet, seen)
	}
	note(w.Setting, seen)
	for member, set := range seen {
		w.in[member] = slices.Sorted(maps.Keys(set))
	}
	return w
}

// readJSON reads a file, unless there is none.
func readJSON(t *testing.T, path string, into any) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		err = json.Unmarshal(raw, into, json.RejectUnknownMembers(true))
	}
	if err != nil {
		t.Fatal(path, err)
	}
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
		if strings.Contains(rest, "omit") && rapid.IntRange(0, 3).Draw(rt, name+" left out") > 0 {
			continue
		}
		out[name] = m.data(rt, f.Type, name, f.Tag)
	}
	return out
}

// repair makes another of data of a type at the member that a refusal names:
// it is left out, put in, or made anew.
func (m *maker) repair(rt *rapid.T, t reflect.Type, data any, member string, path []string) any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch v := data.(type) {
	case map[string]any:
		f, ok := fieldOf(t, path[0])
		if !ok {
			return data
		}
		old, has := v[path[0]]
		switch {
		case has && strings.Contains(f.Tag.Get("json"), ",omit") && rapid.Bool().Draw(rt, path[0]+" taken out"):
			delete(v, path[0])
		case has && len(path) > 1:
			v[path[0]] = m.repair(rt, f.Type, old, path[0], path[1:])
		default:
			v[path[0]] = m.data(rt, f.Type, path[0], f.Tag)
		}
		return v
	case []any:
		if i, err := strconv.Atoi(path[0]); err == nil && i < len(v) && len(path) > 1 {
			v[i] = m.repair(rt, t.Elem(), v[i], member, path[1:])
			return v
		}
	}
	return m.data(rt, t, member, "")
}

// fieldOf is the field of a struct that a member of JSON stands for.
func fieldOf(t reflect.Type, member string) (reflect.StructField, bool) {
	if t.Kind() != reflect.Struct {
		return reflect.StructField{}, false
	}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name == member {
			return f, true
		}
	}
	return reflect.StructField{}, false
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
	kind := member[strings.LastIndex(member, "_")+1:] // an opponent_weapon is a weapon
	choices := append(slices.Clone(m.words.in[kind]), m.words.in[kind+"s"]...)
	if slices.Contains(people, member) || len(choices) == 0 {
		choices = m.ids
	}
	return Evenly(rt, choices, member)
}

// Evenly draws one of a list, each as often as the others. rapid.SampledFrom
// prefers the first ones, and of a long list hardly ever comes to the last.
func Evenly[T any](rt *rapid.T, from []T, label string) T { return from[number(rt, len(from), label)] }

// number draws a number from 0 to n-1, n at most 256, all as often.
func number(rt *rapid.T, n int, label string) int {
	drawn := 0
	for i := range 8 {
		drawn *= 2
		if rapid.Bool().Draw(rt, fmt.Sprint(label, " bit ", i)) {
			drawn++
		}
	}
	return drawn % n
}

// people are members that name characters.
var people = []string{"character", "attacker", "target", "by", "lone", "foes", "attackers", "medic", "patient", "victim", "winner", "opponent"}

// nested is data whose type depends on the command around it.
func (m *maker) nested(rt *rapid.T, member string) any {
	switch {
	case member == "sheet" && rapid.Bool().Draw(rt, "sheet of the cast"):
		return Evenly(rt, m.words.Sheets, member)
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
