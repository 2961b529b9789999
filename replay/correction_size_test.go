package replay_test

import (
	"errors"
	"fmt"
	"testing"

	"tallystick/rules"
	"tallystick/rules/rulestest"
)

// A correction that one commit cannot hold is refused before anything is
// stored, in words; the campaign goes on. Of fewer characters it is made.
func TestCorrectionTooLarge(t *testing.T) {
	for _, c := range []struct {
		fires   int
		refused bool
	}{{300, false}, {900, true}, {1_001, true}} { // 900: not too many records, but too many bytes
		tb := rulestest.NewTable(t, embers, "")
		tb.Correct = correct
		tb.Must("gm", "session.open", `{"title":"one","kind":"downtime"}`)
		for i := range c.fires {
			tb.Must("gm", "character.create", fmt.Sprintf(`{"name":"Fire %d","kind":"npc","creation":"free","sheet":{"points":90}}`, i))
		}
		advance := tb.Must("gm", "clock.advance", `{"seconds":10}`)
		tb.Finish()
		before, commits := rulestest.Shown(t, tb.State), len(tb.Payloads)
		cmd := tb.Command("gm", "correction.make", fmt.Sprintf(`{"command":%q,"reason":"a mistake"}`, advance))
		_, err := tb.Do(cmd)
		if !c.refused {
			if err != nil || tb.State.Clock != 0 {
				t.Errorf("%d fires: %v, clock %d", c.fires, err, tb.State.Clock)
			}
			continue
		}
		var no *rules.Rejection
		if !errors.As(err, &no) || no.Code != "correction_too_large" {
			t.Errorf("%d fires: got %v", c.fires, err)
		}
		if rulestest.Shown(t, tb.State) != before || len(tb.Payloads) != commits {
			t.Errorf("%d fires: a refused correction changed something", c.fires)
		}
		takeBack(tb, tb.Must("gm", "roll", `{"expression":"1d6"}`))
		again(t, tb, embers)
	}
}
