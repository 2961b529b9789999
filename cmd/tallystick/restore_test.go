package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A store that has lost the end of its ledger is noticed at the start: the
// campaign is red and read-only, with the records named, and the other goes on.
// restore heals it from the archive, and nothing that was answered is missing.
func TestLostEnd(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	ctx := context.Background()
	p := serve(t, dir)
	admin := p.token
	other := p.newCampaign("rpgamix")
	otherToken := p.token
	p.token = admin
	campaign := p.newCampaign("rpgamix")
	token := p.token
	note := func(p *process, text string) answer {
		t.Helper()
		a, err := p.command(ctx, campaign, "note.add", map[string]any{"text": text})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for i := range 5 {
		note(p, fmt.Sprint("before ", i))
	}
	stop(t, p)
	older := filepath.Join(t.TempDir(), "journal")
	if err := os.CopyFS(older, os.DirFS(filepath.Join(dir, "journal"))); err != nil {
		t.Fatal(err)
	}
	p = serve(t, dir)
	p.token = token
	var answered []string
	for i := range 7 {
		a := note(p, fmt.Sprint("lost ", i))
		answered = append(answered, string(a.Records[0]))
	}
	stop(t, p)
	// The disk forgets what was written last; archive and checkpoints do not.
	if err := os.RemoveAll(filepath.Join(dir, "journal")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "journal"), os.DirFS(older)); err != nil {
		t.Fatal(err)
	}

	p = serve(t, dir)
	p.token = token
	said := ""
	for range 100 { // the inspection goes on behind the start
		_, err := p.text(ctx, "/readyz")
		if err != nil {
			said = err.Error()
		}
		if strings.Contains(said, campaign) {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if !strings.Contains(said, "records 7 to 13 are missing") || strings.Contains(said, other) {
		t.Errorf("readyz says %s", said)
	}
	if _, err := p.command(ctx, campaign, "note.add", map[string]any{"text": "as if nothing had happened"}); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("a command for the red campaign: %v", err)
	}
	p.token = otherToken
	if _, err := p.command(ctx, other, "note.add", map[string]any{"text": "goes on"}); err != nil {
		t.Errorf("the other campaign: %v", err)
	}
	stop(t, p)

	out, err := program("restore", "--data", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
	p = serve(t, dir)
	p.token = token
	if _, err := p.text(ctx, "/readyz"); err != nil {
		t.Errorf("after restore: %v", err)
	}
	ledger, err := p.text(ctx, "/v1/campaigns/"+campaign+"/ledger")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range answered {
		if !strings.Contains(string(ledger), line) {
			t.Errorf("answered and not there: %s", line)
		}
	}
	note(p, "and on")
	p.token = otherToken
	if _, err := p.command(ctx, other, "note.add", map[string]any{"text": "and on"}); err != nil {
		t.Error(err)
	}
}

// stop ends a server in order.
func stop(t *testing.T, p *process) {
	t.Helper()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Fatalf("exit: %v\n%s", err, p.stderr)
	}
}
