package rpgamix_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"tallystick/rules"
	"tallystick/rules/rulestest"
)

var ruleID = regexp.MustCompile(`RPGX-\d+`)

// page is docs/rules/rpgamix.md.
func page(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile("../../docs/rules/rpgamix.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// cells of the rows of the page's tables that have so many columns.
func cells(page string, columns int) [][]string {
	var rows [][]string
	for line := range strings.Lines(page) {
		row := strings.Split(strings.TrimSpace(line), "|")
		if !strings.HasPrefix(line, "| ") || len(row) != columns+2 {
			continue
		}
		for i, cell := range row {
			row[i] = strings.TrimSpace(cell)
		}
		rows = append(rows, row[1:columns+1])
	}
	return rows[1:] // without the heads
}

// The page leads from each passage to its rules, the options with their
// values, and tests and cases that exist.
func TestPage(t *testing.T) {
	vectors, known := rulestest.Vectors(t), rulestest.Tests(t)
	described := book.Describe()
	seen := map[string]int{}
	shown := map[string]bool{}
	for _, row := range cells(page(t), 5) {
		passage, ids, does, opts, shows := row[0], ruleID.FindAllString(row[1], -1), row[2], row[3], row[4]
		for _, id := range ids {
			seen[id]++
		}
		if shows == "" && !strings.HasPrefix(does, "nothing") {
			t.Errorf("%s %v: no test shows it", passage, ids)
		}
		for _, name := range regexp.MustCompile(`Test\w+`).FindAllString(shows, -1) {
			if !known[name] {
				t.Errorf("%s: there is no %s", passage, name)
			}
		}
		if _, kinds, ok := strings.Cut(strings.ReplaceAll(shows, ";", ","), "vectors "); ok {
			for kind := range strings.SplitSeq(kinds, ", ") {
				if !strings.HasPrefix(kind, "`") && !slices.ContainsFunc(vectors, func(v rules.Vector) bool {
					return v.Kind == kind && slices.ContainsFunc(v.RuleIDs, func(id string) bool { return slices.Contains(ids, id) })
				}) {
					t.Errorf("%s %v: no case of the kind %q", passage, ids, kind)
				}
			}
		}
		for _, o := range described.Options {
			values := o.Values
			if len(values) == 0 {
				values = []string{o.Default} // a number
			}
			want := fmt.Sprintf("`%s` %s", strings.TrimPrefix(o.Name, "rpgamix."), strings.Join(values, ", "))
			if slices.Contains(ids, o.Rule) && strings.Contains(opts, want) {
				shown[o.Name] = true
			}
		}
	}
	for _, r := range described.Rules {
		if seen[r.ID] != 1 {
			t.Errorf("%s stands in %d rows", r.ID, seen[r.ID])
		}
	}
	for _, o := range described.Options {
		if !shown[o.Name] {
			t.Errorf("%s is not in the row of %s with its values, the default first", o.Name, o.Rule)
		}
	}
}

// What the page shows to type in can be read, and its characters and its
// setting are accepted.
func TestPageCommands(t *testing.T) {
	text := page(t)
	whole := map[string]string{ // of examples that begin with …
		"attack":           `{"attacker":C,"target":D,`,
		"rpgamix.allocate": `{"character":D,"opponent":C,`,
	}
	shown := map[string]bool{}
	for _, row := range cells(text, 3) {
		typ := strings.Trim(row[1], "`")
		for example := range strings.SplitSeq(row[2], "`") {
			example = strings.TrimPrefix(strings.TrimPrefix(example, "… "), ", ")
			switch {
			case strings.HasPrefix(example, `"`) && whole[typ] != "":
				example = whole[typ] + example
			case !strings.HasPrefix(example, "{"):
				continue
			}
			for _, id := range []string{"C", "D"} {
				example = strings.ReplaceAll(example, `":`+id, `":"id"`)
			}
			shown[typ] = true
			parses(t, typ, example)
		}
	}
	for _, spec := range book.Commands() {
		if !shown[spec.Type] {
			t.Errorf("the page shows no %s", spec.Type)
		}
	}
	g := play(t, "")
	blocks := 0
	for block := range strings.SplitSeq(text, "\n\n") {
		typ, data, ok := strings.Cut(strings.TrimSpace(block), " ")
		if !ok || !strings.HasPrefix(data, "{") || !strings.HasPrefix(block, "    ") {
			continue
		}
		blocks++
		g.Must("gm", typ, data)
	}
	same(t, "blocks", blocks, 3)
}

func parses(t *testing.T, typ, data string) {
	t.Helper()
	i := slices.IndexFunc(book.Specs(), func(s rules.CommandSpec) bool { return s.Type == typ })
	if i < 0 {
		t.Errorf("there is no command %s", typ)
		return
	}
	if _, err := book.Specs()[i].Parse(jsontext.Value(data)); err != nil {
		t.Errorf("%s %s: %v", typ, data, err)
	}
}
