package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tallystick/api"
)

// evening is a served campaign with a game master and a player who keeps a file.
type evening struct {
	t          *testing.T
	dir        string // of everything
	p          *process
	campaign   string
	admin, gm  string // tokens
	annas, gms string // files with tokens
}

func (x *evening) data() string { return filepath.Join(x.dir, "data") }

func newEvening(t *testing.T) *evening {
	t.Helper()
	x := &evening{t: t, dir: t.TempDir()}
	x.p = serve(t, x.data())
	x.admin = x.p.token
	x.campaign = x.p.newCampaign("rpgamix")
	x.gm = x.p.token
	x.gms, x.annas = filepath.Join(x.dir, "gm.token"), filepath.Join(x.dir, "anna.token")
	var made api.NewToken
	if err := x.p.call(context.Background(), http.MethodPost, "/v1/campaigns/"+x.campaign+"/participants", map[string]any{"handle": "anna", "role": "player"}, nil, &made); err != nil {
		t.Fatal(err)
	}
	for file, token := range map[string]string{x.gms: x.gm, x.annas: made.Token} {
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

func (x *evening) give(typ string, data any) answer {
	x.t.Helper()
	a, err := x.p.command(context.Background(), x.campaign, typ, data)
	if err != nil {
		x.t.Fatal(err)
	}
	return a
}

func (x *evening) note(text string) { x.t.Helper(); x.give("note.add", map[string]any{"text": text}) }

func (x *evening) stop() { x.t.Helper(); stop(x.t, x.p) }

func (x *evening) start() {
	x.t.Helper()
	x.p = serve(x.t, x.data())
	x.p.token = x.gm
}

// run runs the program and gives what it says.
func (x *evening) run(args ...string) (string, error) {
	out, err := program(args...).CombinedOutput()
	return string(out), err
}

func (x *evening) must(args ...string) string {
	x.t.Helper()
	out, err := x.run(args...)
	if err != nil {
		x.t.Fatalf("tallystick %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// says fails unless a text holds each of the words.
func (x *evening) says(text string, words ...string) {
	x.t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			x.t.Errorf("lacks %q:\n%s", w, text)
		}
	}
}

// roll rolls as anna, with her file.
func (x *evening) roll(args ...string) (string, error) {
	return x.run(append([]string{"roll", x.campaign, "1d6", "--server", x.p.base, "--token-file", x.annas, "--seat", filepath.Join(x.dir, "anna.seat")}, args...)...)
}

// sit has anna take a seat with her device and waits until it is sealed.
func (x *evening) sit(title string) {
	x.t.Helper()
	x.give("session.open", map[string]any{"title": title, "kind": "table", "devices": true})
	remote := []string{"--server", x.p.base, "--token-file", x.annas, "--seat", filepath.Join(x.dir, "anna.seat")}
	os.Remove(filepath.Join(x.dir, "anna.seat"))
	x.must(append([]string{"seat", "take", x.campaign}, remote...)...)
	x.give("seating.close", map[string]any{})
	x.must(append([]string{"seat", "watch", "--once"}, remote...)...)
}

func (x *evening) export(name string) string {
	x.t.Helper()
	out := filepath.Join(x.dir, name)
	x.must("export", x.campaign, "--server", x.p.base, "--token-file", x.gms, "--out", out)
	return out
}

// ready waits until the inspection behind the start has come to an end of one
// kind or the other, and gives what /readyz says: nothing when all is well.
func (x *evening) ready(words string) (said string) {
	x.t.Helper()
	for range 100 {
		said = ""
		if _, err := x.p.text(context.Background(), "/readyz"); err != nil {
			said = err.Error()
		}
		if words == "" && said == "" || words != "" && strings.Contains(said, words) {
			return said
		}
		time.Sleep(50 * time.Millisecond)
	}
	x.t.Errorf("readyz never says %q, but: %s", words, said)
	return said
}

// begun waits until the note about accepted losses is done with, which it is
// when the inspection behind the start has come to its end.
func (x *evening) begun() {
	x.t.Helper()
	for range 200 {
		if _, err := os.Stat(filepath.Join(x.data(), "accepted-losses")); err != nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	x.t.Error("the note about the accepted loss is still there")
}

// lose puts folders of the data folder back to older copies.
func (x *evening) lose(older string, names ...string) {
	x.t.Helper()
	for _, name := range names {
		if err := os.RemoveAll(filepath.Join(x.data(), name)); err != nil {
			x.t.Fatal(err)
		}
		if err := os.CopyFS(filepath.Join(x.data(), name), os.DirFS(filepath.Join(older, name))); err != nil {
			x.t.Fatal(err)
		}
	}
}

func (x *evening) copy() string {
	x.t.Helper()
	older := filepath.Join(x.t.TempDir(), "older")
	if err := os.CopyFS(older, os.DirFS(x.data())); err != nil {
		x.t.Fatal(err)
	}
	return older
}

func (x *evening) ledger() string {
	x.t.Helper()
	text, err := x.p.text(context.Background(), "/v1/campaigns/"+x.campaign+"/ledger")
	if err != nil {
		x.t.Fatal(err)
	}
	return string(text)
}

// Journal and archive have both lost the end of a ledger. Restore refuses, with
// --accept-loss the ledger is begun anew at the next start and at no other:
// what was lost stands in it, players are told, and every verifier follows.
func TestBegunAnew(t *testing.T) {
	t.Parallel()
	x := newEvening(t)
	x.sit("one")
	if out, err := x.roll(); err != nil {
		t.Fatal(out)
	}
	x.stop()
	older := x.copy()
	x.start()
	for i := range 4 {
		x.note(fmt.Sprint("lost ", i))
	}
	if out, err := x.roll(); err != nil {
		t.Fatal(out)
	}
	seen := x.export("seen")
	size := strings.Count(x.ledger(), "\n")
	left := size - 5
	x.stop()
	x.lose(older, "journal", "archive")

	missing := fmt.Sprintf("records %d to %d are missing", left, size-1)
	x.start()
	x.says(x.ready("missing"), missing, x.campaign)
	x.stop()
	out, err := x.run("restore", "--data", x.data())
	if err == nil {
		t.Errorf("restored although something is lost: %s", out)
	}
	x.says(out, "LOST", x.campaign, fmt.Sprintf("n %d, 5 records", left))
	x.start()
	x.says(x.ready("missing"), missing) // never by itself
	x.stop()

	x.says(x.must("restore", "--data", x.data(), "--accept-loss"), "LOST", "begun anew at the next start", fmt.Sprintf("%d records are left", left))
	x.start()
	x.begun()
	x.ready("")
	lines := strings.Split(x.ledger(), "\n")
	x.says(lines[left], `"type":"ledger.recovered"`, fmt.Sprintf(`"size":%d`, left), "/campaign/"+x.campaign+"/2+")

	// The dice of the lost roll have been seen: this session rolls no more.
	if _, err := x.p.command(context.Background(), x.campaign, "roll", map[string]any{"expression": "1d6"}); err == nil || !strings.Contains(err.Error(), "close it, and open another") {
		t.Errorf("a roll in the session that was hit: %v", err)
	}
	out, err = x.roll()
	if err == nil {
		t.Error("anna goes on without having been asked")
	}
	x.says(out, "BEGUN ANEW AFTER A LOSS", fmt.Sprintf("those from %d to %d are lost", left, size-1), "--accept-new-log")
	out, _ = x.roll("--accept-new-log")
	x.says(out, "BEGUN ANEW AFTER A LOSS", "close it, and open another")
	file, err := os.ReadFile(filepath.Join(x.dir, "anna.seat"))
	if err != nil {
		t.Fatal(err)
	}
	x.says(string(file), `"before"`)
	x.give("session.close", map[string]any{})
	x.sit("two")
	if out, err := x.roll(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	x.verified(left, size, filepath.Join(seen, checkpointFile))

	// After a restart, and with the old head still there, all stays well.
	x.stop()
	x.start()
	x.ready("")
	x.note("and on")
	x.stop()
	// A second loss begins the third log.
	older = x.copy()
	x.start()
	x.note("lost again")
	x.stop()
	x.lose(older, "journal", "archive")
	x.must("restore", "--data", x.data(), "--accept-loss")
	x.start()
	x.begun()
	x.ready("")
	x.says(x.ledger(), "/campaign/"+x.campaign+"/3+")
	x.note("and on")
}

// verified has every verifier say of an export that records are lost, and of
// the checkpoint that somebody kept that it saw them.
func (x *evening) verified(left, size int, kept string) {
	x.t.Helper()
	out := x.export("anew")
	x.says(x.must("verify", out, "--checkpoint", kept), "verified", fmt.Sprintf("begun anew at record %d after a loss", left), fmt.Sprintf("saw %d records of the log before the loss", size))
	x.must("replay", out)
	x.scripts(out, []string{fmt.Sprintf("begun anew at record %d", left), fmt.Sprintf("saw %d records of the log before the loss", size)}, "--checkpoint", kept)
}

// A key is rotated while campaigns go on: the old key names the new one, both
// sign until a session has closed, and the old one is destroyed only then.
func TestRotateKey(t *testing.T) {
	t.Parallel()
	x := newEvening(t)
	x.sit("one")
	x.note("under the old key")
	old := x.export("old")
	if out, err := x.run("rotate-key", "--data", x.data()); err == nil {
		t.Errorf("rotated under a server that runs: %s", out)
	}
	x.stop()
	x.says(x.must("rotate-key", "--data", x.data()), "signing.key.old")
	if out, err := x.run("rotate-key", "--data", x.data()); err == nil {
		t.Errorf("rotated twice: %s", out)
	}
	x.start()
	if out, err := x.roll(); err != nil { // signed with both
		t.Fatalf("%v: %s", err, out)
	}
	if n := strings.Count(x.ledger(), `"type":"key.rotated"`); n != 1 {
		t.Errorf("%d rotations are recorded", n)
	}
	if n := x.signatures(); n != 2 {
		t.Errorf("%d signatures before a session has closed", n)
	}
	x.stop()
	out, err := x.run("rotate-key", "--data", x.data(), "--finish")
	if err == nil {
		t.Error("the old key was destroyed too early")
	}
	x.says(out, x.campaign, "no session has closed yet")
	x.start()
	if out, err := x.roll(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	x.give("session.close", map[string]any{})
	if n := x.signatures(); n != 1 {
		t.Errorf("%d signatures after a session has closed", n)
	}
	x.stop()
	x.must("rotate-key", "--data", x.data(), "--finish")
	if _, err := os.Stat(filepath.Join(x.data(), "signing.key.old")); err == nil {
		t.Error("the old key is still there")
	}
	x.start()
	x.ready("")
	x.note("under the new key")
	out, _ = x.roll() // the session is over, but her file follows
	x.says(out, "the server signs with a new key; the one before has signed for it")

	fresh := x.export("fresh")
	for _, args := range [][]string{
		{"--checkpoint", filepath.Join(old, checkpointFile), "--vkey", filepath.Join(old, vkeyFile)},
		{"--checkpoint", filepath.Join(old, checkpointFile), "--vkey", filepath.Join(fresh, vkeyFile)},
	} {
		x.says(x.must(append([]string{"verify", fresh}, args...)...), "verified", "the server signs with a new key from record")
		x.scripts(fresh, []string{"signs with a new key from record"}, args...)
	}
	x.must("replay", fresh)
	// The old key alone must not be able to sign for the export any more.
	for _, name := range []string{checkpointFile} {
		b, err := os.ReadFile(filepath.Join(old, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(fresh, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := x.run("verify", fresh); err == nil {
		t.Errorf("a checkpoint of the old key was taken for the export's: %s", out)
	}
}

// signatures counts those of the newest checkpoint.
func (x *evening) signatures() int {
	x.t.Helper()
	note, err := x.p.text(context.Background(), "/v1/campaigns/"+x.campaign+"/checkpoint")
	if err != nil {
		x.t.Fatal(err)
	}
	return strings.Count(string(note), "\u2014 ")
}

// scripts has the independent checkers look at an export.
func (x *evening) scripts(out string, words []string, args ...string) {
	x.t.Helper()
	for program, script := range map[string]string{"python3": "verify.py", "node": "verify.mjs"} {
		path, err := exec.LookPath(program)
		if err != nil {
			x.t.Logf("%s is not on this machine: %s is not tested", program, script)
			continue
		}
		said, err := exec.Command(path, append([]string{filepath.Join("..", "..", "docs", "verify", script), out}, args...)...).CombinedOutput()
		if err != nil {
			x.t.Errorf("%s: %v\n%s", script, err, said)
		}
		x.says(string(said), words...)
	}
}
