package replay_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"tallystick/replay"
	"tallystick/rules"
	"tallystick/rules/rulestest"
	"tallystick/rules/systems"
)

// Ledgers of every edition that was ever released replay byte for byte, on any
// number of processors. A golden ledger is never changed: a rule that changes
// makes a new edition.
func TestGolden(t *testing.T) {
	dirs, err := filepath.Glob("testdata/*-e[0-9]*")
	if err != nil || len(dirs) < len(systems.Library()) {
		t.Fatalf("%d golden ledgers for %d systems (%v)", len(dirs), len(systems.Library()), err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			var states []string
			for _, processors := range []int{1, 2, 8} {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
				f, err := os.Open(filepath.Join(dir, "events.jsonl"))
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				r := replay.New(systems.Library())
				if err := r.Ledger(f); err != nil {
					t.Fatal(err)
				}
				states = append(states, rulestest.Shown(t, r.Campaign()))
			}
			if states[0] != states[1] || states[0] != states[2] {
				t.Error("the number of processors shows")
			}
		})
	}
}

// A replay is a test that can fail: what was changed in a golden ledger is
// named by its record and field.
func TestGoldenChanged(t *testing.T) {
	b, err := os.ReadFile("testdata/rpgamix-e1/events.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ where, from, to, field string }{
		{`"type":"roll.made"`, `"total":`, `"total":1`, "data.total"},
		{`"type":"wound.inflicted"`, `"points":`, `"points":1`, "data.after.health.points"},
		{`"type":"tick.processed"`, `"rule":"RPGX-`, `"rule":"RPGX-9`, "data.rule"},
		{`"type":"character.created"`, `"rank":"good"`, `"rank":"fair"`, "data.after.health.rank"},
		{`"type":"clock.advanced"`, `"ticks":`, `"ticks":1`, "data.ticks"},
		{`"type":"seat.taken"`, `"n":1024`, `"n":1023`, "data.n"},
	} {
		lines := strings.SplitAfter(string(b), "\n")
		at := -1
		for n, line := range lines {
			if strings.Contains(line, c.where) && strings.Contains(line, c.from) {
				i := strings.Index(line, c.from)
				lines[n], at = line[:i]+c.to+line[i+len(c.from):], n
				break
			}
		}
		if at < 0 {
			t.Fatalf("no record with %s and %s", c.where, c.from)
		}
		err := replay.New(systems.Library()).Ledger(strings.NewReader(strings.Join(lines, "")))
		var d *replay.Divergence
		if !errors.As(err, &d) || d.N != int64(at) || c.field != "" && d.Field != c.field {
			t.Errorf("%s %s: %v, want record %d, field %s", c.where, c.to, err, at, c.field)
		}
	}
}

// What is no record is damage, and no divergence: a payload is compared before it is read
// to the end.
func TestDamagedCommit(t *testing.T) {
	b, err := os.ReadFile("testdata/rpgamix-e1/events.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, damage := range [][2]string{
		{`"data":{"session":`, `"data":{"session":"x","session":`},
		{`"total":`, `"total":1e`},
		{`"total":`, `"total":-0,"x":`},
		{`"total":`, `"total": `},
		{`"total":`, `"total":99999999999999999`},
		{`"purpose":"`, "\"purpose\":\"\xff"},
		{`}}`, `}`},
		{`}}`, `}}}`},
	} {
		r, found := replay.New(systems.Library()), false
		err := replay.Commits(bytes.NewReader(b), func(payload []byte) error {
			if !found && bytes.Contains(payload, []byte(`"type":"roll.made"`)) {
				at := bytes.Index(payload, []byte(`"type":"roll.made"`))
				bad := slices.Concat(payload[:at], bytes.Replace(payload[at:], []byte(damage[0]), []byte(damage[1]), 1))
				var unusable *replay.Unusable
				if err := r.Commit(bad); !errors.As(err, &unusable) || unusable.N != r.Records() {
					t.Errorf("%s: %v", damage[1], err)
				}
				found = true
			}
			return r.Commit(payload) // as if nothing had happened
		})
		if err != nil || !found {
			t.Errorf("%s: found %v, %v", damage[1], found, err)
		}
	}
}

// A ledger whose rules are not on board is neither right nor wrong.
func TestMissingEdition(t *testing.T) {
	f, err := os.Open("testdata/rpgamix-e1/events.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	err = replay.New(rules.Library{rules.NewBook(rulestest.Ember())}).Ledger(f)
	var unusable *replay.Unusable
	var missing *rules.MissingEdition
	if !errors.As(err, &unusable) || !errors.As(err, &missing) || missing.System != "rpgamix" {
		t.Errorf("%v", err)
	}
}
