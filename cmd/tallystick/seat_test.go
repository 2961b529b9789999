package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tallystick/api"
)

// Two players hold their chains in files: they take seats, give their parts of
// the joint seed when they are asked, roll with their own links, and witness a
// roll that the game master declares. The export then verifies, and says whose
// honesty it rests on.
func TestSeats(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := serve(t, filepath.Join(dir, "data"))
	campaign := p.newCampaign("rpgamix")
	ctx := context.Background()
	give := func(typ string, data any) {
		t.Helper()
		if _, err := p.command(ctx, campaign, typ, data); err != nil {
			t.Fatal(err)
		}
	}
	remote := map[string][]string{}
	for _, handle := range []string{"anna", "ben"} {
		var made api.NewToken
		if err := p.call(ctx, http.MethodPost, "/v1/campaigns/"+campaign+"/participants", map[string]any{"handle": handle, "role": "player"}, nil, &made); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, handle+".token")
		if err := os.WriteFile(file, []byte(made.Token), 0o600); err != nil {
			t.Fatal(err)
		}
		remote[handle] = []string{"--server", p.base, "--token-file", file, "--seat", filepath.Join(dir, handle+".seat")}
	}
	run := func(args ...string) string {
		t.Helper()
		out, err := program(args...).CombinedOutput()
		if err != nil {
			t.Fatalf("tallystick %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	give("session.open", map[string]any{"title": "one", "kind": "table", "devices": true})
	for _, handle := range []string{"anna", "ben"} {
		run(append([]string{"seat", "take", campaign}, remote[handle]...)...)
		watch := program(append([]string{"seat", "watch"}, remote[handle]...)...)
		var out strings.Builder
		watch.Stdout, watch.Stderr = &out, &out
		if err := watch.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			watch.Process.Kill()
			watch.Wait()
			if !strings.Contains(out.String(), "revealed element 1") {
				t.Errorf("%s watched: %s", handle, out.String())
			}
		})
	}
	give("seating.close", map[string]any{})
	waitFor(t, p, campaign, `"type":"seating.sealed"`)
	for range 3 {
		if out := run(append([]string{"roll", campaign, "2d6+1", "--purpose", "luck"}, remote["anna"]...)...); !strings.Contains(out, "luck: 2d6+1 rolls") {
			t.Errorf("rolled: %s", out)
		}
	}
	give("roll.declare", map[string]any{"command": "roll", "arguments": map[string]any{"expression": "1d20"}, "purpose": "does the bridge hold"})
	waitFor(t, p, campaign, `"type":"roll.resolved"`)

	out := filepath.Join(dir, "export")
	token := filepath.Join(dir, "gm.token")
	if err := os.WriteFile(token, []byte(p.token), 0o600); err != nil {
		t.Fatal(err)
	}
	run("export", campaign, "--server", p.base, "--token-file", token, "--out", out)
	said := run("verify", out, "--me", "anna")
	if !strings.Contains(said, "anna") || !strings.Contains(said, "ben") {
		t.Errorf("verify says: %s", said)
	}
	t.Log(said)

	// A roll without the link that is due is refused before any die is drawn.
	annas, err := remoteFlags{p.base, filepath.Join(dir, "anna.token")}.client()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := annas.command(ctx, campaign, "roll", map[string]any{"expression": "1d6"}); err == nil || !strings.Contains(err.Error(), "422") {
		t.Errorf("a roll without its link: %v", err)
	}
	dishonest(t, p, campaign, remote["anna"])
	rollbackAndFork(t, p, dir, campaign, remote["anna"])
}

func waitFor(t *testing.T, p *process, campaign, what string) {
	t.Helper()
	for range 200 {
		ledger, err := p.text(context.Background(), "/v1/campaigns/"+campaign+"/ledger")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(ledger), what) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("the ledger never had %s", what)
}

// rollbackAndFork puts an older copy of the data folder in the place of the
// newer one. The player's file has seen more: the client says ROLLBACK, and
// FORK once the other history has grown longer than the one that was seen.
func rollbackAndFork(t *testing.T, p *process, dir, campaign string, remote []string) {
	t.Helper()
	data, token := filepath.Join(dir, "data"), p.token
	roll := func(server *process) (string, error) {
		args := append([]string{"roll", campaign, "1d6"}, remote...)
		args[slices.Index(args, "--server")+1] = server.base
		out, err := program(args...).CombinedOutput()
		return string(out), err
	}
	p.kill()
	older := filepath.Join(dir, "older")
	if err := os.CopyFS(older, os.DirFS(data)); err != nil {
		t.Fatal(err)
	}
	p = serve(t, data)
	for range 2 {
		if out, err := roll(p); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	p.kill()
	for _, secret := range []string{"master.key", "signing.key", "admin.token"} {
		if err := os.Chmod(filepath.Join(older, secret), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p = serve(t, older)
	p.token = token
	if out, err := roll(p); err == nil || !strings.Contains(out, "ROLLBACK") {
		t.Errorf("an older ledger: %v\n%s", err, out)
	}
	for range 5 {
		if _, err := p.command(context.Background(), campaign, "note.add", map[string]any{"text": "another history"}); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := roll(p); err == nil || !strings.Contains(out, "FORK") {
		t.Errorf("another history: %v\n%s", err, out)
	}
}

// dishonest puts a server in between that shows rolls which were never made, to
// be given the links behind them: nothing leaves the file.
func dishonest(t *testing.T, p *process, campaign string, remote []string) {
	t.Helper()
	target, err := url.Parse(p.base)
	if err != nil {
		t.Fatal(err)
	}
	var given atomic.Int32
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ModifyResponse = func(r *http.Response) error {
		if !strings.HasSuffix(r.Request.URL.Path, "/ledger") {
			return nil
		}
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		lines := strings.SplitAfter(strings.TrimSuffix(string(b), "\n"), "\n")
		for _, line := range lines {
			if strings.Contains(line, `"type":"roll.made"`) && strings.Contains(line, `"lane":"anna"`) {
				lines = append(lines, "\n"+strings.Replace(line, `"i":1,`, `"i":1023,`, 1))
				break
			}
		}
		body := strings.Join(lines, "") + "\n"
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
		r.Header.Set("Content-Length", fmt.Sprint(len(body)))
		return nil
	}
	between := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			given.Add(1)
		}
		proxy.ServeHTTP(w, r)
	}))
	defer between.Close()
	args := append([]string{"roll", campaign, "1d6"}, remote...)
	args[slices.Index(args, "--server")+1] = between.URL
	out, err := program(args...).CombinedOutput()
	if err == nil || given.Load() != 0 {
		t.Errorf("a link was given to a server that shows rolls which were never made: %v\n%s", err, out)
	}
}
