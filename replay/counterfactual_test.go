package replay_test

import (
	"testing"

	"tallystick/replay"
	"tallystick/rules"
	"tallystick/rules/rulestest"
	"tallystick/rules/systems"
)

// Whatever is taken back in whatever system, the state is the one without it,
// a replay comes to the same, and taking it back again gives what was before.
func TestCorrections(t *testing.T) {
	r := rulestest.Replaying{
		Correct: correct,
		New:     func(library rules.Library) func([]byte) error { return replay.New(library).Commit },
	}
	for _, book := range append(systems.Library(), rules.NewBook(rulestest.Ember())) {
		t.Run(book.Name(), func(t *testing.T) { rulestest.Corrections(t, book, "../rules", r) })
	}
}

func correct(history func(each func(payload []byte) error) error, c *rules.Campaign, x rules.Correction) (*rules.Difference, error) {
	return replay.Correct(history, c, x)
}
