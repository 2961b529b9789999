package rulestest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"tallystick/rules"
)

var (
	testName = regexp.MustCompile(`\bTest[A-Z]\w*`)
	testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
)

// Page holds the page about a system against the system: it has every rule and
// every option (by its name, the system's left out or not), and names only tests
// that the package in the working folder has. It returns the page.
func Page(t *testing.T, book *rules.Book, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	for _, r := range book.Describe().Rules {
		if !regexp.MustCompile(`\| [^|]*\b` + r.ID + `\b[^|]* \|`).MatchString(page) {
			t.Errorf("%s has no row on the page", r.ID)
		}
	}
	for _, o := range book.Describe().Options {
		if _, short, _ := strings.Cut(o.Name, "."); !strings.Contains(page, "`"+o.Name) && !strings.Contains(page, "`"+short) {
			t.Errorf("%s is not on the page", o.Name)
		}
	}
	there := Tests(t)
	for _, name := range testName.FindAllString(page, -1) {
		if !there[name] {
			t.Errorf("there is no test %s", name)
		}
	}
	return page
}

// Tests are the names of the tests in the working folder.
func Tests(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range testFunc.FindAllSubmatch(raw, -1) {
			there[string(found[1])] = true
		}
	}
	return there
}

// Vectors reads the cases in testdata/vectors.json of the working folder.
func Vectors(t *testing.T) []rules.Vector {
	t.Helper()
	raw, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []rules.Vector
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return all
}
