package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// A copy that is made while commands are answered has all that were answered
// more than a moment before, is whole, and serves: with its tokens, and with
// the secrets that are in no record.
func TestBackupWhileRunning(t *testing.T) {
	t.Parallel()
	s := assist(t)
	dir := s.dir
	ctx, stop := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	defer writing.Wait()
	defer stop()
	var mu sync.Mutex
	var answered []string // texts of notes
	for w := range 4 {
		writing.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				text := fmt.Sprintf("note %d of %d, %s", i, w, strings.Repeat("x", 500))
				if _, err := s.command(ctx, s.campaign, "note.add", map[string]string{"text": text}); err != nil {
					if !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
					return
				}
				mu.Lock()
				answered = append(answered, text)
				mu.Unlock()
			}
		})
	}
	for round := range 2 {
		mu.Lock()
		before := append([]string{}, answered...)
		mu.Unlock()
		stored := scrape(t, s.metricsAddress(), "").sum("tallystick_journal_last_sequence")
		s.eventually("the archive has what was answered", func() bool {
			return scrape(t, s.metricsAddress(), "").sum("tallystick_archive_last_sequence") >= stored
		})
		out := filepath.Join(t.TempDir(), "copy")
		text, err := program("backup", "--data", dir, "--out", out).CombinedOutput()
		if err != nil {
			t.Fatalf("round %d: %v: %s", round, err, text)
		}
		for _, key := range []string{"master.key", "signing.key", "admin.token"} {
			if _, err := os.Stat(filepath.Join(out, key)); err == nil {
				t.Errorf("%s is in the backup", key)
			}
			if err := copyFile(filepath.Join(dir, key), filepath.Join(out, key)); err != nil {
				t.Fatal(err)
			}
		}
		copied := serve(t, out)
		copied.token = s.gm
		ledger, err := copied.text(t.Context(), "/v1/campaigns/"+s.campaign+"/ledger")
		if err != nil {
			t.Fatal(err)
		}
		for _, note := range before {
			if !strings.Contains(string(ledger), note) {
				t.Fatalf("round %d: of %d notes answered before it began, the copy lacks %q", round, len(before), note[:20])
			}
		}
		secrets, err := copied.text(t.Context(), "/v1/campaigns/"+s.campaign+"/secrets")
		if err != nil || !strings.Contains(string(secrets), s.secretF) {
			t.Errorf("the secrets: %v: %s", err, secrets)
		}
		if ready, err := program("health", "--server", copied.base).CombinedOutput(); err != nil || !strings.HasPrefix(string(ready), "ready") {
			t.Errorf("%v: %s", err, ready)
		}
		if err := copied.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := copied.cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	stop()
	writing.Wait()
	if again, err := program("backup", "--data", dir, "--out", dir).CombinedOutput(); err == nil {
		t.Errorf("it wrote into a folder that was there: %s", again)
	}
}

// A server that is not there, or not ready, is not healthy.
func TestHealthSaysNo(t *testing.T) {
	if out, err := program("health", "--server", "http://127.0.0.1:1").CombinedOutput(); err == nil {
		t.Errorf("%s", out)
	}
}
