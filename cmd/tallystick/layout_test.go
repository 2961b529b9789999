package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What a folder may import of ours. Imports run downwards only; a folder that
// is not listed here fails the test until somebody decides where it stands.
var mayImport = map[string][]string{
	"events":                       {},
	"events/merkle":                {},
	"events/journal":               {},
	"events/archive":               {"events", "events/journal", "events/merkle"},
	"events/journal/blocktest":     {},
	"events/journal/journaltest":   {"events/journal"},
	"rules":                        {"events", "events/merkle", "rules/dice"},
	"rules/dice":                   {},
	"rules/tempo":                  {"events", "rules"},
	"rules/rpgamix":                {"events", "rules", "rules/dice"},
	"rules/perp":                   {"events", "rules", "rules/dice"},
	"rules/fudge":                  {"events", "rules", "rules/dice"},
	"rules/systems":                {"rules", "rules/rpgamix", "rules/perp", "rules/fudge"},
	"rules/rulestest":              {"events", "rules", "rules/dice"},
	"projections":                  {"events"},
	"projections/internal/example": {"events"},
	"projections/feed":             {"events", "events/journal", "projections"},
	"replay":                       {"events", "events/merkle", "rules", "rules/dice", "projections"},
	"api":                          {"events", "events/journal", "events/merkle", "rules", "rules/dice", "rules/tempo", "projections", "projections/feed", "replay", "api/ledger", "api/webhooks", "api/console", "api/telemetry"},
	"api/console":                  {},
	"api/telemetry":                {},
	"api/faults":                   {},
	"api/ledger":                   {"api/telemetry", "events", "events/archive", "events/journal", "events/merkle", "replay", "rules", "rules/dice", "rules/tempo"},
	"api/webhooks":                 {"events", "events/journal", "rules", "api/ledger"},
	"cmd/tallystick":               {"*"},
}

// Pure folders take everything from their caller. They may not even import
// what reads a clock, chance, a file or the network.
var pure = []string{"events", "events/merkle", "rules", "rules/dice", "rules/tempo", "rules/rpgamix", "rules/perp", "rules/fudge", "rules/systems", "projections", "replay"}

var impure = []string{
	"os", "os/exec", "os/signal", "io/ioutil", "net", "net/http", "net/url", "syscall", "runtime", "plugin", "log", "log/slog",
	"math/rand", "math/rand/v2", "crypto/rand", "embed", "sync", "unsafe",
	"github.com/google/uuid", "github.com/nats-io/nats.go", "github.com/nats-io/nats-server/v2/server", "github.com/labstack/echo/v4",
}

// Calls into package time that depend on when or where they are made.
var impureTime = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Local", "LoadLocation"}

func TestImports(t *testing.T) {
	root := filepath.Join("..", "..")
	seen := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		folder := filepath.ToSlash(rel)
		seen[folder] = true
		checkFile(t, folder, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range pure {
		if !seen[folder] {
			t.Errorf("%s is listed as pure, but there is no such folder", folder)
		}
	}
}

func checkFile(t *testing.T, folder, path string) {
	allowed, known := mayImport[folder]
	if !known {
		t.Errorf("%s: the folder %s is not in the layout", path, folder)
		return
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	isPure := slices.Contains(pure, folder)
	for _, imp := range file.Imports {
		name, err := strconv.Unquote(imp.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		ours, isOurs := strings.CutPrefix(name, "tallystick/")
		if isOurs && !slices.Contains(allowed, ours) && !slices.Contains(allowed, "*") {
			t.Errorf("%s: %s may not import %s", path, folder, ours)
		}
		if isPure && slices.Contains(impure, name) {
			t.Errorf("%s: %s is pure and may not import %s", path, folder, name)
		}
	}
	if isPure {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s: %s is pure and starts a goroutine", path, folder)
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(impureTime, n.Sel.Name) {
					t.Errorf("%s: %s is pure and uses time.%s", path, folder, n.Sel.Name)
				}
			}
			return true
		})
	}
}
