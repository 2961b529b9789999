package perp_test

import (
	"regexp"
	"strings"
	"testing"

	"tallystick/rules/rulestest"
)

// A row of the page's first table: the command and its examples.
var shown = regexp.MustCompile("(?m)^\\|[^|]*\\| `([a-z.]+)` \\| (.*) \\|$")

// The page about the rules has every rule and option, names only tests that
// exist, shows only commands that can be read, and its courtier is as printed.
func TestPage(t *testing.T) {
	page := rulestest.Page(t, book, "../../docs/rules/perp.md")
	read := 0
	for _, row := range shown.FindAllStringSubmatch(page, -1) {
		for _, cell := range strings.Split(row[2], "`") {
			if strings.HasPrefix(cell, "{") {
				read++
				reads(t, row[1], cell)
			}
		}
	}
	if read < 15 {
		t.Errorf("%d commands are shown", read)
	}
	_, rest, _ := strings.Cut(page, "character.create ")
	example, _, found := strings.Cut(rest, "\n\n")
	if !found {
		t.Fatal("no character is shown")
	}
	e := open(t, "")
	e.stands(e.Must("gm", "character.create", example), 12, "well")
}

// reads parses a command as the page shows it, with letters for characters and
// N for a record.
func reads(t *testing.T, typ, data string) {
	t.Helper()
	data = regexp.MustCompile(`([:,\[])([CDE])\b`).ReplaceAllString(data, `$1"$2"`)
	data = strings.ReplaceAll(data, `:N`, `:1`)
	for _, spec := range book.Specs() {
		if spec.Type == typ {
			if _, err := spec.Parse([]byte(data)); err != nil {
				t.Errorf("%s %s: %v", typ, data, err)
			}
			return
		}
	}
	t.Errorf("there is no command %s", typ)
}
