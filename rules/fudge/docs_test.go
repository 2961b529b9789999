package fudge

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tallystick/rules"
	"tallystick/rules/rulestest"
)

// The page about the rules has every rule and option, names only tests that
// exist, and shows only commands that can be read.
func TestPage(t *testing.T) {
	page := rulestest.Page(t, testBook, "../../docs/rules/fudge.md")
	for _, r := range book {
		_, row, found := strings.Cut(page, "| "+r.ID+" |")
		row, _, _ = strings.Cut(row, "\n")
		if cells := strings.Split(row, "|"); !found || len(cells) != 4 || !strings.Contains(cells[2], "Test") {
			t.Errorf("%s has no row of its own, or names no test: %s", r.ID, row)
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
