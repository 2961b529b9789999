package fudge

import (
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tallystick/rules"
)

// The page about the rules has every rule and option, names only tests that
// exist, and shows only commands that can be read.
func TestPage(t *testing.T) {
	raw, err := os.ReadFile("../../docs/rules/fudge.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	for _, r := range book {
		_, row, found := strings.Cut(page, "| "+r.ID+" |")
		row, _, _ = strings.Cut(row, "\n")
		if cells := strings.Split(row, "|"); !found || len(cells) != 4 || !strings.Contains(cells[2], "Test") {
			t.Errorf("%s is not on the page, or names no test: %s", r.ID, row)
		}
	}
	for _, o := range choices {
		if !strings.Contains(page, "`"+o.Name+"`") {
			t.Errorf("%s is not on the page", o.Name)
		}
	}
	tests := testNames(t)
	for _, word := range strings.FieldsFunc(page, func(r rune) bool { return strings.ContainsRune(" ,|\n", r) }) {
		if strings.HasPrefix(word, "Test") && !strings.Contains(tests, "func "+word+"(") {
			t.Errorf("there is no test %s", word)
		}
	}
	commands := 0
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, `{"type":`) {
			commands++
			checkExample(t, line)
		}
	}
	if commands < 15 {
		t.Errorf("%d commands are shown", commands)
	}
}

func testNames(t *testing.T) string {
	t.Helper()
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range files {
		if strings.HasSuffix(f.Name(), "_test.go") {
			raw, err := os.ReadFile(f.Name())
			if err != nil {
				t.Fatal(err)
			}
			all.Write(raw)
		}
	}
	return all.String()
}

func checkExample(t *testing.T, line string) {
	t.Helper()
	var shown struct {
		Type string         `json:"type"`
		Data jsontext.Value `json:"data"`
	}
	if err := json.Unmarshal([]byte(strings.TrimSpace(line)), &shown, json.RejectUnknownMembers(true)); err != nil {
		t.Errorf("%s: %v", line, err)
		return
	}
	for _, spec := range testBook.Specs() {
		if spec.Type != shown.Type {
			continue
		}
		if _, err := spec.Parse(shown.Data); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		for member, into := range map[string]any{"sheet": new(Sheet), "setting": new(Setting)} {
			var data map[string]jsontext.Value
			if json.Unmarshal(shown.Data, &data) == nil && data[member] != nil {
				if err := rules.Unmarshal(data[member], into); err != nil {
					t.Errorf("%s: %v", line, err)
				}
			}
		}
		return
	}
	t.Errorf("there is no command %s", shown.Type)
}
