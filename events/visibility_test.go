package events_test

import (
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
)

// Who sees what anna rolled, by visibility.
func TestShows(t *testing.T) {
	viewers := map[string]events.Viewer{
		"anna": {Handle: "anna"}, "bo": {Handle: "bo"}, "cleo": {Handle: "cleo"}, "gm": {Handle: "gm", GM: true}, "nobody": {},
	}
	for text, see := range map[string][]string{
		`"public"`:      {"anna", "bo", "cleo", "gm", "nobody"},
		``:              {"anna", "gm"},
		`"private"`:     {"anna", "gm"},
		`"blind"`:       {"gm"},
		`["bo"]`:        {"anna", "bo", "gm"},
		`["cleo","bo"]`: {"anna", "bo", "cleo", "gm"},
	} {
		v := parse(t, text)
		for name, viewer := range viewers {
			if got, want := v.Shows("anna", viewer), slices.Contains(see, name); got != want {
				t.Errorf("%s shows to %s: %v, want %v", text, name, got, want)
			}
		}
		if v.Shows("", events.Viewer{}) && text != `"public"` {
			t.Errorf("%s shows to nobody in particular", text)
		}
	}
}

// It only ever widens: the order is that of the sets of those who see it.
func TestWidens(t *testing.T) {
	rising := []string{`"blind"`, `"private"`, `["bo"]`, `["bo","cleo"]`, `"public"`}
	for i, from := range rising {
		for k, to := range rising {
			if got := parse(t, to).Widens(parse(t, from)); got != (k > i) {
				t.Errorf("%s widens %s: %v", to, from, got)
			}
		}
	}
	if parse(t, `["cleo"]`).Widens(parse(t, `["bo"]`)) || parse(t, `["cleo","dan"]`).Widens(parse(t, `["bo"]`)) {
		t.Error("others instead of bo is no widening")
	}
}

func parse(t *testing.T, text string) events.Visibility {
	t.Helper()
	v, err := events.ParseVisibility(jsontext.Value(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// What is read is written in one form, and is the same when read again.
func FuzzVisibility(f *testing.F) {
	for _, text := range []string{`"public"`, `"private"`, `"blind"`, `["b","a","b"]`, `[]`, `["a",1]`, `{}`, `null`, `"gm"`, `[`, ``} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := events.ParseVisibility(jsontext.Value(text))
		if err != nil {
			return
		}
		again, err := events.ParseVisibility(v.JSON())
		if err != nil || string(again.JSON()) != string(v.JSON()) || v.Widens(again) {
			t.Errorf("%q is read as %s, and that as %s, %v", text, v.JSON(), again.JSON(), err)
		}
	})
}
