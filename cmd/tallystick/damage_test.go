package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"tallystick/api"
)

// Long forms of the checks below; docs/reliability.md has what they gave.
var (
	damageFlips = flag.Int("flips", 20, "bits that TestDamage flips, one at a time")
	damageSeed  = flag.Uint64("damage-seed", 1, "seed of TestDamage")
	damageKind  = flag.String("damage-kind", "", "the kind of file in which TestDamage flips, such as \"ledger block\"; empty: any")
)

// hall is a data folder with two campaigns in it, and what they said when all
// was well.
type hall struct {
	clean, killed string // copies of the folder after a stop in order, and after kill -9
	tables        []hallTable
}

type hallTable struct {
	campaign, gm, bea string
	told              string // everything the game master may read
}

// paths are what a hall's people read.
var hallPaths = []string{"/ledger", "/characters", "/secrets", "/sessions", "/participants"}

func newHall(t *testing.T) *hall {
	t.Helper()
	h := &hall{}
	x := newEvening(t)
	for _, system := range []string{"rpgamix", "fudge"} {
		if system != "rpgamix" {
			x.p.token = x.admin
			x.campaign = x.p.newCampaign(system)
			x.gm = x.p.token
		}
		var made api.NewToken
		if err := x.p.call(t.Context(), http.MethodPost, "/v1/campaigns/"+x.campaign+"/participants", map[string]any{"handle": "bea", "role": "player"}, nil, &made); err != nil {
			t.Fatal(err)
		}
		x.give("session.open", map[string]any{"title": "one", "kind": "table"})
		for i := range 20 {
			x.give("roll", map[string]any{"expression": "3d6", "purpose": fmt.Sprint("roll ", i)})
		}
		var sealed answer
		body := map[string]any{"type": "roll", "data": map[string]any{"expression": "1d20"}, "visibility": "private"}
		if err := x.p.call(t.Context(), http.MethodPost, "/v1/campaigns/"+x.campaign+"/commands", body, http.Header{"Idempotency-Key": {newKey()}}, &sealed); err != nil {
			t.Fatal(err)
		}
		h.tables = append(h.tables, hallTable{campaign: x.campaign, gm: x.gm, bea: made.Token})
	}
	for i, table := range h.tables {
		x.p.token = table.gm
		for _, path := range hallPaths {
			text, err := x.p.text(t.Context(), "/v1/campaigns/"+table.campaign+path)
			if err != nil {
				t.Fatal(err)
			}
			h.tables[i].told += string(text)
		}
	}
	time.Sleep(1200 * time.Millisecond) // archive and checkpoints run up to a second behind
	x.p.kill()
	h.killed = x.copy()
	x.start()
	x.stop()
	h.clean = x.copy()
	return h
}

// files lists a folder's files that are not empty.
func files(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if info, err := d.Info(); err == nil && info.Size() > 0 {
			all = append(all, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// kindOf sorts a file of a data folder.
func kindOf(dir, path string) string {
	rel, _ := filepath.Rel(dir, path)
	parts := strings.Split(filepath.ToSlash(rel), "/")
	name := parts[len(parts)-1]
	switch {
	case len(parts) == 1 || parts[0] == "archive":
		return parts[0]
	case strings.HasSuffix(name, ".blk"):
		name = "block"
	}
	for _, p := range parts {
		if strings.HasPrefix(p, "KV_") {
			return "bucket " + strings.TrimPrefix(p, "KV_") + " " + name
		}
		if strings.HasPrefix(p, "LEDGER_") {
			return "ledger " + name
		}
	}
	return "store " + name
}

// aftermath is how a start on a damaged folder ended.
type aftermath struct {
	kind string // harmless, reported, silent
	said string // for who reads the test's log
	told string // what the host is told: why it does not start, or what is not ready
}

// open starts a node on a folder, in this process, and compares what its people
// read with what it was.
func (h *hall) open(t *testing.T, dir string) aftermath {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var log bytes.Buffer
	cfg := nodeConfig{Dir: dir, Listen: "127.0.0.1:0", Server: "localhost", Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	n, err := startNode(ctx, cfg)
	if err != nil {
		return aftermath{"reported", "does not start: " + err.Error(), err.Error()}
	}
	defer func() {
		n.ledger.Close()
		n.stop()
		errors.Join(n.heads.Close(), n.archive.Close(), n.journal.Close(), n.listener.Close())
	}()
	select {
	case <-n.looked: // it goes on behind the start; here it is waited for
	case <-ctx.Done():
		t.Fatal("the inspection does not end")
	}
	ready := h.get(n, "/readyz", "")
	said := fmt.Sprintf("readyz: %s; log: %s", ready.Body, &log)
	whole := true
	for _, table := range h.tables {
		told := ""
		for _, path := range hallPaths {
			got := h.get(n, "/v1/campaigns/"+table.campaign+path, table.gm)
			told += got.Body.String()
		}
		player := h.get(n, "/v1/me", table.bea)
		if told != table.told || player.Code != http.StatusOK {
			whole = false
			said += fmt.Sprintf("; campaign %s reads otherwise (its player: %d)", table.campaign, player.Code)
		}
	}
	switch {
	case ready.Code != http.StatusOK || !strings.Contains(ready.Body.String(), `"notices":[]`):
		return aftermath{"reported", said, ready.Body.String()}
	case whole:
		return aftermath{"harmless", said, ""}
	}
	return aftermath{"silent", said, ""}
}

func (h *hall) get(n *node, path, token string) (rec *httptest.ResponseRecorder) {
	req := httptest.NewRequest(http.MethodGet, path, nil)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	rec = httptest.NewRecorder()
	defer func() {
		if why := recover(); why != nil { // broken off: what came is no answer
			if err, ok := why.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
				panic(why)
			}
			rec.WriteString("broken off")
		}
	}()
	n.server.Handler().ServeHTTP(rec, req)
	return rec
}

// lay copies a folder to where it may be damaged.
func lay(t *testing.T, from string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	closed(t, dir)
	return dir
}

// Files that only make things faster are deleted, or cut in half, one after the
// other: the server reads as it did, from what they were made of, or says what is
// missing. The second copies are written anew or named; nothing is lost in silence.
func TestDerivedFiles(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts the program once for each derived file")
	}
	h := newHall(t)
	seen := map[string]int{}
	for _, from := range []string{h.clean, h.killed} {
		for _, path := range files(t, from) {
			rel, _ := filepath.Rel(from, path)
			kind := kindOf(from, path)
			derived := strings.HasSuffix(kind, "index.db") || kind == "archive" || kind == "checkpoints" || kind == "store LAST"
			if !derived {
				continue
			}
			for _, how := range []string{"deleted", "cut"} {
				seen[kind+how]++
				dir := lay(t, from)
				victim := filepath.Join(dir, rel)
				err := os.Remove(victim)
				if how == "cut" {
					text, failed := os.ReadFile(path)
					err = errors.Join(failed, os.WriteFile(victim, text[:len(text)/2], 0o600))
				}
				if err != nil {
					t.Fatal(err)
				}
				v := h.open(t, dir)
				again := h.open(t, dir)
				t.Logf("%s %s: %s, then %s", rel, how, v.kind, again.kind)
				index := strings.HasSuffix(kind, "index.db")
				if v.kind == "silent" || again.kind == "silent" || index && (v.kind != "harmless" || again.kind != "harmless") {
					t.Errorf("%s %s: %+v, then %+v", rel, how, v, again)
				}
			}
		}
	}
	if len(seen) < 6 {
		t.Errorf("too few files were tried: %v", seen)
	}
}

// One bit flips at a random place of a random file: a message block, an index,
// the archive, a checkpoint, a key, a bucket. After every one the server either
// reads as it did, or says what is wrong: campaign and n where the place belongs to
// one, else the file or the bucket. Never does it read otherwise and call itself
// ready. The whole set is -flips 1000.
func TestDamage(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		*damageFlips = min(*damageFlips, 8)
	}
	random := rand.New(rand.NewPCG(*damageSeed, 1))
	h := newHall(t)
	if v := h.open(t, lay(t, h.clean)); v.kind != "harmless" {
		t.Fatalf("without any damage: %+v", v)
	}
	table := map[string]map[string]int{}
	for range *damageFlips {
		t.Run("flip", func(t *testing.T) {
			from := random.IntN(2)
			dir := lay(t, []string{h.clean, h.killed}[from])
			all := slices.DeleteFunc(files(t, dir), func(path string) bool { return *damageKind != "" && kindOf(dir, path) != *damageKind })
			path := all[random.IntN(len(all))]
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			at, bit := random.IntN(len(text)), random.IntN(8)
			kind, names := kindOf(dir, path), names(t, dir, path, text, at)
			text[at] ^= 1 << bit
			info, err := os.Stat(path)
			if err == nil {
				err = os.WriteFile(path, text, info.Mode())
			}
			if err != nil {
				t.Fatal(err)
			}
			v := h.open(t, dir)
			if table[kind] == nil {
				table[kind] = map[string]int{}
			}
			table[kind][v.kind]++
			rel, _ := filepath.Rel(dir, path)
			where := fmt.Sprintf("bit %d of byte %d of %s, %s", bit, at, rel, []string{"stopped in order", "killed"}[from])
			switch v.kind {
			case "silent":
				t.Errorf("%s: silent: %s", where, v.said)
			case "reported":
				for _, name := range names {
					if !name.MatchString(v.told) {
						t.Errorf("%s: %s is not named: %s", where, name, v.said)
					}
				}
			}
		})
	}
	for _, kind := range slices.Sorted(maps.Keys(table)) {
		b, _ := json.Marshal(table[kind], json.Deterministic(true))
		t.Logf("%-32s %s", kind, b)
	}
}

// names are what a report of damage at a place of a file has to say.
func names(t *testing.T, dir, path string, text []byte, at int) []*regexp.Regexp {
	t.Helper()
	plain := func(words ...string) (all []*regexp.Regexp) {
		for _, word := range words {
			all = append(all, regexp.MustCompile(regexp.QuoteMeta(word)))
		}
		return all
	}
	kind := kindOf(dir, path)
	switch {
	case kind == "ledger block":
		campaign, n := recordAt(t, text, at)
		return recordNamed(campaign, n)
	case kind == "ledger meta.inf", kind == "ledger meta.sum":
		return plain(filepath.Base(filepath.Dir(path)))
	case strings.HasPrefix(kind, "ledger "):
		return plain(filepath.Base(filepath.Dir(filepath.Dir(path))))
	case kind == "archive":
		if campaign, n := entryAt(text, at); campaign != "" {
			return recordNamed(campaign, n)
		}
		return plain(filepath.Base(path))
	case kind == "store LAST": // or of which stream it says something else
		return []*regexp.Regexp{regexp.MustCompile(`LAST|stream LEDGER_\d+ went back`)}
	case kind == "bucket vault block": // or the campaign and the record of which it is the secret
		return []*regexp.Regexp{regexp.MustCompile(`vault|campaign \S+: what records \[\d+\] hide`)}
	case kind == "bucket tokens block": // or whose token it is
		return []*regexp.Regexp{regexp.MustCompile(`tokens|the token of \S+ in campaign`)}
	case strings.HasPrefix(kind, "bucket "):
		return plain(strings.Fields(kind)[1])
	}
	return plain(filepath.Base(path))
}

// recordNamed matches what names a campaign and the number of one of its records,
// in a line of text or in what /readyz says of a campaign that is red.
func recordNamed(campaign string, n int64) []*regexp.Regexp {
	return []*regexp.Regexp{regexp.MustCompile(fmt.Sprintf(`campaign %[1]s, n %[2]d\b|"campaign":"%[1]s","n":%[2]d,`, campaign, n))}
}

// recordAt is the campaign and the number of the first record of the commit that
// lies at a place of a block file.
func recordAt(t *testing.T, block []byte, at int) (campaign string, n int64) {
	t.Helper()
	for begun := 0; ; {
		end := begun + int(binary.LittleEndian.Uint32(block[begun:])&^(1<<31))
		if at < end {
			message := string(block[begun:end])
			_, subject, _ := strings.Cut(message, "ledger.")
			_, payload, _ := strings.Cut(message, "\r\n\r\n") // its headers end there
			return subject[2:38], numberOf(t, payload)
		}
		begun = end
	}
}

// entryAt is the same of a segment of the archive; the campaign is empty at a line
// that is of no commit.
func entryAt(segment []byte, at int) (campaign string, n int64) {
	for begun := 0; begun < len(segment); {
		line, _, _ := strings.Cut(string(segment[begun:]), "\n")
		end := begun + len(line) + 1
		campaign = ""
		if m := archived.FindStringSubmatch(line); m != nil {
			size, _ := strconv.Atoi(m[3])
			campaign, end = m[1], end+size+1
			n, _ = strconv.ParseInt(m[2], 10, 64)
		}
		if at < end {
			return campaign, n
		}
		begun = end
	}
	return "", 0
}

var archived = regexp.MustCompile(`^commit .*campaign=(\S+) .*n=(\d+) .*bytes=(\d+) `)

func numberOf(t *testing.T, payload string) int64 {
	t.Helper()
	line, _, _ := strings.Cut(payload, "\n")
	m := regexp.MustCompile(`"n":(\d+)`).FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("no record: %q", line)
	}
	n, _ := strconv.ParseInt(m[1], 10, 64)
	return n
}
