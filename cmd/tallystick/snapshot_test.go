package main

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"tallystick/api/ledger"
	"tallystick/events/journal"
	"tallystick/replay"
)

// A server that opens a campaign from snapshots shows and decides what one does
// that reads every record, and so does one whose snapshots were taken away.
func TestServeFromSnapshots(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts four servers")
	}
	dir := filepath.Join(t.TempDir(), "data")
	p := serve(t, dir, "--rate-token", "0", "--rate-address", "0")
	campaign := p.newCampaign("rpgamix")
	token := p.token
	if _, err := p.command(t.Context(), campaign, "session.open", map[string]any{"title": "one", "kind": "table"}); err != nil {
		t.Fatal(err)
	}
	hero, err := p.command(t.Context(), campaign, "character.create", rpgamixPerson("Hero", map[string]any{"con": 5}, nil))
	if err != nil {
		t.Fatal(err)
	}
	old := asked{key: uuid.Must(uuid.NewV7()).String(), typ: "roll", data: map[string]any{"expression": "3d6", "character": hero.Command}}
	if old.records, err = p.send(campaign, old); err != nil {
		t.Fatal(err)
	}
	for range 520 {
		if _, err := p.command(t.Context(), campaign, "roll", map[string]any{"expression": "2d10"}); err != nil {
			t.Fatal(err)
		}
	}
	// shown is everything that the campaign's pages show.
	shown := func() (all []string) {
		t.Helper()
		for _, path := range []string{"", "/characters", "/characters/" + hero.Command + "/timeline", "/sessions", "/rolls?limit=1000", "/events?limit=1000"} {
			var got jsontext.Value
			if err := p.call(t.Context(), http.MethodGet, "/v1/campaigns/"+campaign+path, nil, nil, &got); err != nil {
				t.Fatal(path, err)
			}
			all = append(all, string(got))
		}
		return all
	}
	// again restarts the server and compares; then it plays on.
	again := func(what string, want []string) {
		t.Helper()
		p = serve(t, dir)
		p.token = token
		if diff := cmp.Diff(want, shown()); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
		records, err := p.send(campaign, old)
		if diff := cmp.Diff(old.records, records); err != nil || diff != "" {
			t.Errorf("%s: a command from before comes out as %v, %v", what, diff, err)
		}
		if _, err := p.command(t.Context(), campaign, "roll", map[string]any{"expression": "1d100"}); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	stop := func() {
		t.Helper()
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := p.cmd.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	want := shown()
	written(t, dir, "state/"+campaign, "views/"+campaign)
	p.kill()
	both := func(when string) {
		t.Helper()
		if got := snapshots(t, dir, false); len(got) != 2 {
			t.Fatalf("%s there are the snapshots %v, and not one of the state and one of the views", when, got)
		}
	}
	both("after a game of which nothing was opened again")
	again("from snapshots", want)
	want = shown()
	stop()
	snapshots(t, dir, true)
	again("without the snapshots that were there", want)
	want = shown()
	stop()
	both("after an opening from the first record on")
	again("from the snapshots of an opening", want)
	for how, spoil := range map[string]func(path string) error{
		"deleted": os.Remove,
		"cut in half": func(path string) error {
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			return os.Truncate(path, info.Size()/2)
		},
	} {
		want = shown()
		stop()
		blocks, err := filepath.Glob(filepath.Join(dir, "journal", "store", "jetstream", "*", "streams", "KV_SNAPSHOTS", "msgs", "*.blk"))
		if err != nil || len(blocks) == 0 {
			t.Fatalf("there are no files of snapshots: %v", err)
		}
		for _, path := range blocks {
			if err := spoil(path); err != nil {
				t.Fatal(err)
			}
		}
		again("with the snapshots' files "+how, want)
	}
	records, err := p.text(t.Context(), "/v1/campaigns/"+campaign+"/ledger")
	if err == nil {
		err = replay.New(library()).Ledger(strings.NewReader(string(records)))
	}
	if err != nil {
		t.Error(err)
	}
}

// snapshots are the keys of the bucket of snapshots in a data folder, and removes
// them if that is asked for.
func snapshots(t *testing.T, dir string, remove bool) []string {
	t.Helper()
	j, err := journal.Embedded(t.Context(), journal.Options{Dir: filepath.Join(dir, "journal")})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	bucket, err := j.Bucket(t.Context(), ledger.SnapshotBucket)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := bucket.Keys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if !remove {
			break
		}
		if err := bucket.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	return keys
}

// written waits until the files of snapshots have one of each name.
func written(t *testing.T, dir string, names ...string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		var all []byte
		blocks, _ := filepath.Glob(filepath.Join(dir, "journal", "store", "jetstream", "*", "streams", "KV_SNAPSHOTS", "msgs", "*.blk"))
		for _, path := range blocks {
			data, _ := os.ReadFile(path) // the store may just have removed it
			all = append(all, data...)
		}
		if !slices.ContainsFunc(names, func(name string) bool { return !bytes.Contains(all, []byte(name)) }) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("there are no snapshots %v", names)
		}
	}
}
