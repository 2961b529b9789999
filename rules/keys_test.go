package rules_test

import (
	"bytes"
	"strings"
	"testing"

	"tallystick/events"
	"tallystick/events/merkle"
	"tallystick/rules"
)

func signer(t *testing.T, log string, seed byte) *merkle.Signer {
	t.Helper()
	s, err := merkle.NewSigner("home", log, bytes.Repeat([]byte{seed}, merkle.SeedSize))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A new log is one record after what was left, under a later origin with the
// same key, and for a checkpoint that covers more.
func TestCheckRecovered(t *testing.T) {
	first, second := signer(t, "c", 1), signer(t, "c/2", 1)
	lost := func(s *merkle.Signer, size int64) string {
		note, err := s.Sign(size, merkle.LeafHash([]byte("x")))
		if err != nil {
			t.Fatal(err)
		}
		return string(note)
	}
	keys := rules.LogKeys{VKey: first.VKey()}
	good := events.LedgerRecovered{Lost: lost(first, 9), Size: 4, VKey: second.VKey()}
	if c, err := rules.CheckRecovered("c", keys, 4, &good); err != nil || c.Size != 9 {
		t.Fatalf("%v, %v", c, err)
	}
	for name, c := range map[string]struct {
		edit func(e *events.LedgerRecovered)
		want string
	}{
		"another place":    {func(e *events.LedgerRecovered) { e.Size = 3 }, "3 records were left"},
		"nothing lost":     {func(e *events.LedgerRecovered) { e.Lost = lost(first, 4) }, "nothing is lost"},
		"the old origin":   {func(e *events.LedgerRecovered) { e.VKey = first.VKey() }, "begun before"},
		"a log lost later": {func(e *events.LedgerRecovered) { e.Lost = lost(signer(t, "c/2", 1), 9) }, "begun before"},
		"another campaign": {func(e *events.LedgerRecovered) { e.VKey = signer(t, "d/2", 1).VKey() }, "no log of this campaign"},
		"another key":      {func(e *events.LedgerRecovered) { e.VKey = signer(t, "c/2", 2).VKey() }, "another key"},
		"no checkpoint":    {func(e *events.LedgerRecovered) { e.Lost = "nothing" }, "checkpoint"},
	} {
		e := good
		c.edit(&e)
		if _, err := rules.CheckRecovered("c", keys, 4, &e); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A key is another one's successor only when that one has said so.
func TestCheckRotated(t *testing.T) {
	old, fresh, thief := signer(t, "c", 1), signer(t, "c", 2), signer(t, "c", 3)
	endorsed := func(by *merkle.Signer, whom string) string {
		note, err := by.Endorse(whom)
		if err != nil {
			t.Fatal(err)
		}
		return string(note)
	}
	keys := rules.LogKeys{VKey: old.VKey()}
	if err := rules.CheckRotated(keys, &events.KeyRotated{Old: old.VKey(), New: fresh.VKey(), Endorsed: endorsed(old, fresh.VKey())}); err != nil {
		t.Fatal(err)
	}
	for name, e := range map[string]events.KeyRotated{
		"by the new key itself":     {Old: old.VKey(), New: thief.VKey(), Endorsed: endorsed(thief, thief.VKey())},
		"another was named":         {Old: old.VKey(), New: thief.VKey(), Endorsed: endorsed(old, fresh.VKey())},
		"not the key that signs":    {Old: fresh.VKey(), New: thief.VKey(), Endorsed: endorsed(fresh, thief.VKey())},
		"the same key":              {Old: old.VKey(), New: old.VKey(), Endorsed: endorsed(old, old.VKey())},
		"another log":               {Old: old.VKey(), New: signer(t, "d", 2).VKey(), Endorsed: endorsed(old, signer(t, "d", 2).VKey())},
		"a second signature":        {Old: old.VKey(), New: fresh.VKey(), Endorsed: endorsed(old, fresh.VKey()) + strings.SplitAfter(endorsed(thief, fresh.VKey()), "\n\n")[1]},
		"a checkpoint in its stead": {Old: old.VKey(), New: fresh.VKey(), Endorsed: "x\n1\ny\n\n"},
	} {
		if err := rules.CheckRotated(keys, &e); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}
