package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tallystick/events/merkle"
	"tallystick/rules/rulestest"
)

// bundle writes an export with a session of rolls, and gives its folder.
func bundle(t testing.TB) string {
	t.Helper()
	signer, err := merkle.NewSigner("ledger.example", rulestest.Campaign, bytes.Repeat([]byte{1}, merkle.SeedSize))
	if err != nil {
		t.Fatal(err)
	}
	tb := rulestest.Empty(t, library()[0])
	tb.Must("gm", "campaign.create", fmt.Sprintf(`{"name":"Night watch","system":%q,"gm":"gm","vkey":%q}`, library()[0].Name(), signer.VKey()))
	tb.Must("gm", "session.open", `{"title":"one","kind":"table"}`)
	tb.Must("gm", "roll", `{"expression":"2d6"}`)
	tb.Must("gm", "session.close", `{}`)
	var tree merkle.Frontier
	var ledger []byte
	for _, payload := range tb.Payloads {
		for _, line := range bytes.Split(payload, []byte("\n")) {
			tree.Append(line)
			ledger = append(append(ledger, line...), '\n')
		}
	}
	note, err := signer.Sign(tree.Size(), tree.Root())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string][]byte{eventsFile: ledger, checkpointFile: note, vkeyFile: []byte(signer.VKey() + "\n"), "kept": note} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// verifying runs the command and gives what it prints, its error and its exit
// code.
func verifying(args ...string) (out string, code int, err error) {
	var buf bytes.Buffer
	cmd := verifyCommand()
	cmd.SetArgs(args)
	cmd.SetOut(&buf)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.Execute()
	var coded *codeError
	switch {
	case err == nil:
		code = exitOK
	case errors.As(err, &coded):
		code = coded.code
	default:
		code = -1
	}
	return buf.String(), code, err
}

func TestVerifyCommand(t *testing.T) {
	dir := bundle(t)
	kept, vkey := filepath.Join(dir, "kept"), filepath.Join(dir, vkeyFile)
	out, code, err := verifying(dir, "--checkpoint", kept, "--vkey", vkey, "--me", "gm")
	if code != exitOK {
		t.Fatal(err)
	}
	for _, want := range []string{
		`verified: "Night watch"`, "(kept): the first", "(of the export): the first", "decided again", "1 on the ledger's dice",
		"gm: 1 rolls checked", "THE SERVER ALONE could have chosen them; the server could foresee them", "gm: of 1 rolls, 0 could not be chosen",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not print %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "NOTE") {
		t.Errorf("nothing was left to note:\n%s", out)
	}
	out, code, err = verifying(filepath.Join(dir, eventsFile))
	if code != exitOK || !strings.Contains(out, "NOTE: no checkpoint") || !strings.Contains(out, "NOTE: the key comes from the ledger") {
		t.Errorf("without evidence: %v\n%s", err, out)
	}
	out, code, err = verifying(dir, "--json")
	if code != exitOK || !strings.Contains(out, `"verified":true`) || !strings.Contains(out, `"rules":"same"`) {
		t.Errorf("as JSON: %v\n%s", err, out)
	}
}

func TestVerifyCommandRefuses(t *testing.T) {
	dir := bundle(t)
	path := filepath.Join(dir, eventsFile)
	ledger, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Replace(ledger, []byte(`"title":"one"`), []byte(`"title":"two"`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	out, code, err := verifying(dir, "--json")
	if code != exitDiverged || !strings.Contains(err.Error(), "refused: record 2, data.title: it holds") || !strings.Contains(out, `"verified":false,"failure":{"n":2`) {
		t.Errorf("code %d, %v\n%s", code, err, out)
	}
	for _, args := range [][]string{{}, {filepath.Join(dir, "nothing")}, {dir, "--checkpoint", "nothing"}, {dir, "--vkey", "nothing"}} {
		if _, code, err := verifying(args...); code != exitUnusable {
			t.Errorf("%v: code %d, %v", args, code, err)
		}
	}
}
