package main

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tallystick/events/journal"
)

// A bit flips in one of the files of a data folder while nobody serves it.
// Whatever it is: the server does not start and says which file it is; or it
// starts and the campaign is red, with its records named, or whole. Never is an
// answered record missing, or another one in its place, without a word. The
// thousand-fold flips are in events/archive.
func TestFlip(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a server on each of many damaged ledgers")
	}
	x := newEvening(t)
	x.give("session.open", map[string]any{"title": "one", "kind": "table"})
	for range 12 {
		x.give("roll", map[string]any{"expression": "3d6"})
	}
	honest := x.ledger()
	x.stop()
	whole := x.copy()
	stream := fmt.Sprint("LEDGER_", journal.PartitionOf(x.campaign, journal.DefaultPartitions))
	for name, c := range map[string]struct {
		file   func(path string) bool
		at     []float64 // where in the file
		within string    // the flip hits this text, if it is there
	}{
		"a message block":  {file: named(filepath.Join(stream, "msgs"), ".blk"), at: []float64{0.3, 0.6}, within: `"type":"roll.made"`},
		"the index":        {file: named(filepath.Join(stream, "msgs"), "index.db"), at: []float64{0.4}},
		"the stream's own": {file: named(stream, "meta.inf"), at: []float64{0.5}},
		"the archive":      {file: named("archive", ""), at: []float64{0.3, 0.7}, within: `"type":"roll.made"`},
		"the heads":        {file: named("data", "checkpoints"), at: []float64{0.2, 0.9}},
		"the signing key":  {file: named("data", "signing.key"), at: []float64{0.3}},
		"the master key":   {file: named("data", "master.key"), at: []float64{0.6}},
	} {
		for _, at := range c.at {
			t.Run(name, func(t *testing.T) {
				if err := os.RemoveAll(x.data()); err != nil {
					t.Fatal(err)
				}
				if err := os.CopyFS(x.data(), os.DirFS(whole)); err != nil {
					t.Fatal(err)
				}
				closed(t, x.data())
				file := flip(t, x.data(), c.file, at, c.within)
				t.Logf("%s: %s", file, x.afterFlip(t, filepath.Base(file), honest))
			})
		}
	}
}

// named finds files by the end of their name and of their folder's.
func named(folder, suffix string) func(string) bool {
	return func(path string) bool {
		return strings.HasSuffix(filepath.Dir(path), folder) && strings.HasSuffix(path, suffix)
	}
}

// closed gives key files back the mode that a copy loses.
func closed(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"signing.key", "master.key", "admin.token"} {
		if err := os.Chmod(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// flip flips a bit in the largest file that fits.
func flip(t *testing.T, dir string, fits func(string) bool, at float64, within string) string {
	t.Helper()
	var file string
	var text []byte
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !fits(path) {
			return err
		}
		b, err := os.ReadFile(path)
		if len(b) > len(text) {
			file, text = path, b
		}
		return err
	})
	if err != nil || file == "" {
		t.Fatalf("no file fits: %v", err)
	}
	i := int(at * float64(len(text)))
	if k := strings.Index(string(text[i:]), within); within != "" && k >= 0 {
		i += k + len(within)/2
	}
	text[i] ^= 4
	info, err := os.Stat(file)
	if err == nil {
		err = os.WriteFile(file, text, info.Mode())
	}
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// afterFlip starts the server and says what became of the flip.
func (x *evening) afterFlip(t *testing.T, file, honest string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	p, stderr := x.tryServe(t)
	if p == nil {
		if !strings.Contains(stderr, file) {
			t.Errorf("the server does not start, and does not say that it is %s:\n%s", file, stderr)
		}
		return "refused: " + stderr
	}
	defer func() {
		stop(t, p)
		if file == "checkpoints" && !strings.Contains(p.stderr.String(), "not a line with a checkpoint") {
			t.Errorf("nothing is said of the damaged checkpoint: %s", p.stderr)
		}
	}()
	p.token = x.gm
	said := ""
	for i := 0; i < 40 || said != "" && i < 400; i++ { // the inspection goes on behind the start
		if _, err := p.text(ctx, "/readyz"); err != nil {
			said = err.Error()
		}
		if strings.Contains(said, x.campaign) {
			break
		}
		time.Sleep(25 * time.Millisecond)
	}
	ledger, err := p.text(ctx, "/v1/campaigns/"+x.campaign+"/ledger")
	switch {
	case err == nil && string(ledger) == honest:
		return "whole; readyz: " + said
	case said == "":
		t.Errorf("the ledger is another one, and nothing is said: %v, %d bytes instead of %d", err, len(ledger), len(honest))
	case !strings.Contains(said, x.campaign):
		t.Errorf("the campaign is not named: %s", said)
	}
	return "red: " + said
}

// tryServe starts a server that may refuse to, and then gives what it says.
func (x *evening) tryServe(t *testing.T) (*process, string) {
	t.Helper()
	p := &process{t: t, cmd: program("serve", "--data", x.data(), "--listen", "127.0.0.1:0"), stderr: &lockedBuffer{}}
	p.cmd.Stderr = p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.cmd.Process.Kill(); p.cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		p.cmd.Wait()
		return nil, p.stderr.String()
	}
	p.client = &client{base: strings.TrimSpace(strings.TrimPrefix(line, "tallystick serves "))}
	return p, ""
}
