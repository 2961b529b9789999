package rpgamix_test

import (
	"os"
	"testing"

	"github.com/go-json-experiment/json"

	"tallystick/rules"
	"tallystick/rules/rpgamix"
)

var book = rules.NewBook(rpgamix.New())

// Every vector is worked out by the functions that decide commands.
func TestVectors(t *testing.T) {
	raw, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []rules.Vector
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
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
