package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// All cases of all systems pass, and none is passed over.
func TestConform(t *testing.T) {
	files, err := filepath.Glob("../../rules/*/testdata/vectors.json")
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	out, errs, code := told(t, append([]string{"conform"}, files...)...)
	if code != exitOK || out != "414 passed, 0 failed\n" {
		t.Errorf("code %d: %s%s", code, out, errs)
	}
}

// A case that comes out otherwise, leaves dice, wants more of them, is of no
// known kind or compares nothing is a line of its own, and the exit code is 1.
func TestConformFails(t *testing.T) {
	const right = `{"id":"right","system":"rpgamix","kind":"stun","rule_ids":[],"given":{"con":1,"wits":0,"damage":2},"dice":[10],"die":["d10"],"then":{"stunned":true},"source":"","note":""}`
	change := func(id, old, new string) string {
		return strings.Replace(strings.Replace(right, `"right"`, `"`+id+`"`, 1), old, new, 1)
	}
	cases := []string{
		right,
		change("wrong", `"stunned":true`, `"stunned":false`),
		change("left", `"dice":[10],"die":["d10"]`, `"dice":[10,1],"die":["d10","d10"]`),
		change("short", `"dice":[10],"die":["d10"]`, `"dice":[],"die":[]`),
		change("six", `"d10"`, `"d6"`),
		change("unnamed", `"die":["d10"]`, `"die":[]`),
		change("kind", `"stun"`, `"swoon"`),
		change("given", `"damage"`, `"damages"`),
		change("system", `"rpgamix"`, `"chess"`),
		change("empty", `"then":{"stunned":true},`, ``),
		change("option", `"note":""`, `"note":"","options":{"rpgamix.luck":true}`),
	}
	out, _, code := conform(t, "["+strings.Join(cases, ",")+"]")
	if code != exitDiverged || !strings.HasSuffix(out, "\n1 passed, 10 failed\n") {
		t.Errorf("code %d: %s", code, out)
	}
	for _, want := range []string{
		"FAILED wrong (stun): stunned: got true, want false\n", "FAILED left (stun): leaves 1 dice untouched\n", "FAILED short (stun): asks for one more die, a d10\n",
		"FAILED six (stun): asks for a d10 where a d6 lies\n", "FAILED unnamed (stun): 1 dice, but 0 kinds of them\n", "FAILED kind (swoon): ", "FAILED given (stun): ",
		"FAILED system (stun): ", "FAILED empty (stun): says nothing that could be compared", "FAILED option (stun): ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("there is no %q in\n%s", want, out)
		}
	}
	for _, unusable := range []string{"", "[]", "{}", "[" + change("x", `"note"`, `"notes"`) + "]", "[" + right + "] more"} {
		if out, errs, code := conform(t, unusable); code != exitUnusable || !strings.Contains(errs, "vectors.json") {
			t.Errorf("%q: code %d: %s%s", unusable, code, out, errs)
		}
	}
}

// conform holds the systems against a file of so much text.
func conform(t *testing.T, text string) (out, errs string, code int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "vectors.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return told(t, "conform", path)
}
