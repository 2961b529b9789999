package replay_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"tallystick/events"
	"tallystick/replay"
	"tallystick/rules"
	"tallystick/rules/systems"
)

// A campaign that is written down and read back after any commit goes on as if it
// had not been: seats with devices, seals, disputes and corrections among it.
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
	}
}

func save(t *testing.T, c *rules.Campaign) []byte {
	t.Helper()
	written, err := c.Save()
	if err != nil {
		t.Fatal(err)
	}
	return written
}
