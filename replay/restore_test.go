package replay_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tallystick/events"
	"tallystick/projections"
	"tallystick/replay"
	"tallystick/rules"
	"tallystick/rules/systems"
)

// A campaign that is written down and read back after any commit, and views after
// any record, go on as if they had not been: seats with devices, seals, disputes and corrections among it.
func TestRestore(t *testing.T) {
	ledgers := map[string][][]byte{}
	libraries := map[string]rules.Library{"night": {embers}}
	ledgers["night"] = play(t).Payloads
	golden, err := filepath.Glob("testdata/*-e[0-9]*/events.jsonl")
	if err != nil || len(golden) == 0 {
		t.Fatalf("%v, %v", golden, err)
	}
	for _, file := range golden {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		libraries[file] = systems.Library()
		err = replay.Commits(bytes.NewReader(text), func(p []byte) error { ledgers[file] = append(ledgers[file], p); return nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, payloads := range ledgers {
		t.Run(filepath.Base(filepath.Dir(name)), func(t *testing.T) { restored(t, libraries[name], payloads) })
	}
}

func restored(t *testing.T, library rules.Library, payloads [][]byte) {
	first, err := events.ParseCommit(payloads[0])
	if err != nil {
		t.Fatal(err)
	}
	id := first[0].Campaign
	straight, again := rules.NewCampaign(id, library), rules.NewCampaign(id, library)
	views, others := projections.New(id), projections.New(id)
	for _, payload := range payloads {
		recs, err := events.ParseCommit(payload)
		if err != nil {
			t.Fatal(err)
		}
		if err := straight.ApplyCommit(recs); err != nil {
			t.Fatal(err)
		}
		if err := again.ApplyCommit(recs); err != nil {
			t.Fatalf("record %d, after a restore: %v", recs[0].N, err)
		}
		want, got := save(t, straight), save(t, again)
		if !bytes.Equal(want, got) {
			t.Fatalf("after record %d a restored campaign is\n%s\nand not\n%s", recs[0].N, got, want)
		}
		if again, err = rules.Restore(id, library, got); err != nil {
			t.Fatal(err)
		}
		for _, rec := range recs {
			if err := errors.Join(views.Apply(rec), others.Apply(rec)); err != nil {
				t.Fatal(err)
			}
			want, got := saveViews(t, views), saveViews(t, others)
			if !bytes.Equal(want, got) {
				t.Fatalf("after record %d restored views are\n%s\nand not\n%s", rec.N, got, want)
			}
			if others, err = projections.Restore(id, got); err != nil {
				t.Fatal(err)
			}
		}
	}
	if diff := cmp.Diff(shown(views), shown(others)); diff != "" {
		t.Error(diff)
	}
}

// shown is what views show.
func shown(v *projections.Views) []any {
	all := []any{v.Campaign(), v.Participants(), v.Characters(), v.Sessions(), v.Rolls(0, 0, nil), v.Hidden(0, 0), v.Disputes(""), v.Overrides(), v.Corrections()}
	for _, c := range v.Characters() {
		line, _ := v.Timeline(c.ID, 0, 0)
		all = append(all, line)
	}
	return all
}

func saveViews(t *testing.T, v *projections.Views) []byte {
	t.Helper()
	written, err := v.Save()
	if err != nil {
		t.Fatal(err)
	}
	return written
}

func save(t *testing.T, c *rules.Campaign) []byte {
	t.Helper()
	written, err := c.Save()
	if err != nil {
		t.Fatal(err)
	}
	return written
}
