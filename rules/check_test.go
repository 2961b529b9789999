package rules

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The members that Check sees are those that the JSON reader sees.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{
		`{}`, ` { } `, `{"a":1}`, `{"a":{"b":[1,{"c":"}"}]},"d":"x,:\"{","e":null}`,
		`{ "a" : [ 1 , 2 ] , "\u0062" : "\\" }`, `{"":"","a":[]}`, "{\n\"a\":\ttrue,\r\"b\":-1}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var want map[string]jsontext.Value
		if jsontext.Value(text).Kind() != '{' || json.Unmarshal([]byte(text), &want) != nil {
			return
		}
		got := membersOf(jsontext.Value(text))
		if len(got) != len(want) {
			t.Fatalf("%q: %d members, want %d", text, len(got), len(want))
		}
		for _, m := range got {
			value, ok := find(got, m.name)
			if !ok || string(value) != string(want[m.name]) {
				t.Errorf("%q: %q is %s, want %s", text, m.name, value, want[m.name])
			}
		}
	})
}
