package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"tallystick/api"
)

// crowdOf plays with so many writers until stop is closed, and notes what was
// answered.
type crowdOf struct {
	mu       sync.Mutex
	answered []asked
	refused  map[int]int // status: how often
	group    sync.WaitGroup
}

func (c *crowdOf) play(p *process, campaign string, writers int, stop chan struct{}) {
	c.refused = map[int]int{}
	for range writers {
		c.group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				a := asked{key: uuid.Must(uuid.NewV7()).String(), typ: "roll", data: map[string]any{"expression": "3d6"}}
				records, err := p.send(campaign, a)
				c.mu.Lock()
				var no *problem
				switch {
				case err == nil:
					a.records = records
					c.answered = append(c.answered, a)
				case errors.As(err, &no):
					c.refused[no.Status]++
				default:
					c.refused[0]++
				}
				c.mu.Unlock()
				if err != nil && no == nil {
					return // the server is gone
				}
			}
		})
	}
}

func (c *crowdOf) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.answered)
}

// await waits until something is so.
func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("never: ", what)
		}
	}
}

// A table on a disk of its own that is too small. When it is full a command is
// answered with 507, nothing that was answered is lost, and reading goes on; with
// more room, and opened anew, it is played on.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=3m"); err != nil {
		t.Skip("cannot mount a small disk: ", err)
	}
	defer syscall.Unmount(dir, syscall.MNT_DETACH)
	data := filepath.Join(dir, "data")
	p := serve(t, data)
	campaign := p.newCampaign("rpgamix")
	if _, err := p.command(t.Context(), campaign, "session.open", map[string]any{"title": "one", "kind": "table"}); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var c crowdOf
	c.play(p, campaign, 4, stop)
	await(t, "507", func() bool { c.mu.Lock(); defer c.mu.Unlock(); return c.refused[http.StatusInsufficientStorage] > 20 })
	close(stop)
	c.group.Wait()
	for status, times := range c.refused {
		t.Logf("%d answers with %d", times, status)
		if status < 500 {
			t.Errorf("%d on a full disk", status)
		}
	}
	checkAnswered(t, p, campaign, 0, c.answered)
	if _, err := p.text(t.Context(), "/readyz"); err == nil {
		t.Error("a full store calls itself ready")
	}
	token := p.token
	p.kill()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=24m"); err != nil {
		t.Fatal(err)
	}
	p = serve(t, data)
	p.token = token
	checkAnswered(t, p, campaign, 1, c.answered)
	if _, err := p.command(t.Context(), campaign, "note.add", map[string]any{"text": "there is room again"}); err != nil {
		t.Error(err)
	}
	if _, err := p.text(t.Context(), "/readyz"); err != nil {
		t.Errorf("with room again: %v", err)
	}
	t.Logf("%d answered, none lost", len(c.answered))
}

// SIGTERM while commands come in and two hundred follow: every command that was
// answered is there, every feed ends with a word on when to come back and not in
// the middle of a record, and the exit is 0.
func TestTerminateWithFollowers(t *testing.T) {
	const followers = 200
	data := filepath.Join(t.TempDir(), "data")
	p := serve(t, data)
	campaign := p.newCampaign("rpgamix")
	if _, err := p.command(t.Context(), campaign, "session.open", map[string]any{"title": "one", "kind": "table"}); err != nil {
		t.Fatal(err)
	}
	tokens := []string{p.token}
	for i := len(tokens); i < (followers+api.StreamsPerToken-1)/api.StreamsPerToken; i++ {
		var made api.NewToken
		if err := p.call(t.Context(), http.MethodPost, "/v1/campaigns/"+campaign+"/participants", map[string]any{"handle": fmt.Sprint("fan", i), "role": "spectator"}, nil, &made); err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, made.Token)
	}
	var opened atomic.Int64
	ends := make(chan string, followers)
	for i := range followers {
		go func() {
			ends <- followToEnd(p.base+"/v1/campaigns/"+campaign+"/events", tokens[i%len(tokens)], &opened)
		}()
	}
	await(t, "all follow", func() bool { return opened.Load() == followers })
	stop := make(chan struct{})
	var c crowdOf
	c.play(p, campaign, 4, stop)
	await(t, "commands come in", func() bool { return c.count() > 40 })
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("exit: %v\n%s", err, p.stderr)
	}
	close(stop)
	c.group.Wait()
	for range followers {
		if end := <-ends; end != "" {
			t.Fatal(end)
		}
	}
	token := p.token
	p = serve(t, data)
	p.token = token
	checkAnswered(t, p, campaign, 0, c.answered)
	t.Logf("%d commands answered, %d feeds ended in order", len(c.answered), followers)
}

// followToEnd reads a feed and says what was wrong with how it ended.
func followToEnd(url, token string, opened *atomic.Int64) string {
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err.Error()
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", "text/event-stream")
	res, err := (&http.Client{Transport: &http.Transport{}}).Do(req)
	opened.Add(1)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	var all bytes.Buffer
	if _, err := all.ReadFrom(res.Body); err != nil {
		return fmt.Sprintf("a feed broke off: %v", err)
	}
	text := all.String()
	last := strings.LastIndex(strings.TrimRight(text, "\n"), "\n\n")
	if !strings.HasSuffix(text, "\n\n") || !strings.Contains(text[max(last, 0):], "retry:") {
		return fmt.Sprintf("a feed ended with %q", text[max(0, len(text)-200):])
	}
	return ""
}

// What an operator copies while the server is written to is a backup: checkpoints
// and keys, and two seconds later the archive, as docs/operating.md says. Restored elsewhere it has every
// command that was answered a while before the copy began, and verifies.
func TestBackupWhileWriting(t *testing.T) {
	t.Parallel()
	x := newEvening(t)
	x.give("session.open", map[string]any{"title": "one", "kind": "table"})
	stop := make(chan struct{})
	var c crowdOf
	c.play(x.p, x.campaign, 4, stop)
	await(t, "commands come in", func() bool { return c.count() > 100 })
	before := c.count()
	backup := filepath.Join(t.TempDir(), "data")
	keep := func(names ...string) {
		for _, name := range names {
			if err := copyAny(filepath.Join(x.data(), name), filepath.Join(backup, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	keep("checkpoints", "master.key", "signing.key", "admin.token")
	time.Sleep(2 * time.Second) // the archive runs up to a second behind
	keep("archive")
	close(stop)
	c.group.Wait()
	x.stop()
	closed(t, backup)

	out, err := program("restore", "--data", backup).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p := serve(t, backup)

	// Tokens are not in the backup: the admin gives the game master a new one.
	var made api.NewToken
	if err := p.call(t.Context(), http.MethodPost, "/v1/campaigns/"+x.campaign+"/participants/gm/token", nil, nil, &made); err != nil {
		t.Fatal(err)
	}
	p.token = made.Token
	checkAnswered(t, p, x.campaign, 0, c.answered[:before])
	if _, err := p.command(context.Background(), x.campaign, "note.add", map[string]any{"text": "on we go"}); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(x.gms, []byte(made.Token), 0o600); err != nil {
		t.Fatal(err)
	}
	bundle := filepath.Join(x.dir, "restored")
	x.must("export", x.campaign, "--server", p.base, "--token-file", x.gms, "--out", bundle)
	x.must("verify", bundle)
	x.must("replay", bundle)
	t.Logf("%d of %d commands were answered before the copy; all of them are in it", before, len(c.answered))
}

// One key a hundred times at once, and after kill -9 a hundred times again: one
// roll, and two hundred equal answers.
func TestOneKeyAHundredTimes(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	p := serve(t, data)
	campaign := p.newCampaign("rpgamix")
	if _, err := p.command(t.Context(), campaign, "session.open", map[string]any{"title": "one", "kind": "table"}); err != nil {
		t.Fatal(err)
	}
	a := asked{key: newKey(), typ: "roll", data: map[string]any{"expression": "3d6"}}
	token, answers := p.token, map[string]int{}
	for range 2 {
		var mu sync.Mutex
		var group sync.WaitGroup
		for range 100 {
			group.Go(func() {
				records, err := p.send(campaign, a)
				mu.Lock()
				defer mu.Unlock()
				answers[fmt.Sprint(records, err)]++
			})
		}
		group.Wait()
		p.kill()
		p = serve(t, data)
		p.token = token
	}
	ledger, err := p.text(t.Context(), "/v1/campaigns/"+campaign+"/ledger")
	if err != nil {
		t.Fatal(err)
	}
	if rolls := strings.Count(string(ledger), `"type":"roll.made"`); rolls != 1 || len(answers) != 1 {
		t.Errorf("%d rolls, %d different answers: %v", rolls, len(answers), answers)
	}
}

// soakRounds is how long TestSoak goes on; the long form is -soak 500.
var soakRounds = flag.Int("soak", 3, "rounds of TestSoak")

// Round after round of commands, feeds that come and go, and campaigns: the server
// holds no more files open than after the first, and ends in order. Goroutines that
// outlive their work are looked for by the tests of events/journal and
// projections/feed (goleak).
func TestSoak(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	p := serve(t, data)
	admin := p.token
	fds := func() int {
		list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid))
		if err != nil {
			t.Skip("no /proc here: ", err)
		}
		return len(list)
	}
	round := func() {
		p.token = admin
		campaign := p.newCampaign("rpgamix")
		if _, err := p.command(t.Context(), campaign, "session.open", map[string]any{"title": "one", "kind": "table"}); err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		for range 15 {
			group.Go(func() {
				req, _ := http.NewRequestWithContext(ctx, http.MethodGet, p.base+"/v1/campaigns/"+campaign+"/events", nil)
				req.Header.Set("Authorization", "Bearer "+p.token)
				req.Header.Set("Accept", "text/event-stream")
				if res, err := http.DefaultClient.Do(req); err == nil {
					res.Body.Read(make([]byte, 4096))
					<-ctx.Done()
					res.Body.Close()
				}
			})
		}
		for range 50 {
			if _, err := p.command(t.Context(), campaign, "roll", map[string]any{"expression": "2d6"}); err != nil {
				t.Fatal(err)
			}
		}
		cancel()
		group.Wait()
		http.DefaultClient.CloseIdleConnections()
	}
	round()
	round()
	files := 0
	await(t, "it comes to rest", func() bool {
		before := files
		files = fds()
		time.Sleep(100 * time.Millisecond)
		return before == files && fds() == files
	})
	first := p.memory()
	for range *soakRounds {
		round()
	}
	// A block of the store may be open beside, nothing that grows with the rounds.
	await(t, "files are what they were", func() bool { return fds() <= files+4 })
	t.Logf("%d rounds: files %d, then %d; memory %s, then %s", *soakRounds, files, fds(), first, p.memory())
	stop(t, p)
}

// memory is what the process holds, as the system says.
func (p *process) memory() string {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	for line := range strings.Lines(string(status)) {
		if held, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			return strings.TrimSpace(held)
		}
	}
	return "unknown"
}

func copyAny(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return os.CopyFS(to, os.DirFS(from))
	}
	text, err := os.ReadFile(from)
	return errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, text, 0o600))
}
