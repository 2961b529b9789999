package rpgamix_test

import (
	"testing"

	"tallystick/rules"
	"tallystick/rules/rpgamix"
	"tallystick/rules/rulestest"
)

var book = rules.NewBook(rpgamix.New())

// Every vector is worked out by the functions that decide commands.
func TestVectors(t *testing.T) {
	all := rulestest.Vectors(t)
	if len(all) != 181 {
		t.Fatalf("%d vectors, want 181", len(all))
	}
	for _, v := range all {
		t.Run(v.ID, func(t *testing.T) {
			if err := v.Run(rules.Library{book}); err != nil {
				t.Errorf("%s: %v\ngiven %s dice %v options %s", v.Source, err, v.Given, v.Dice, v.Options)
			}
		})
	}
}
