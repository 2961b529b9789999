package perp_test

import (
	"os"
	"testing"

	"github.com/go-json-experiment/json"

	"tallystick/rules"
	"tallystick/rules/perp"
)

var book = rules.NewBook(perp.New())

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
	if len(all) < 100 {
		t.Fatalf("%d vectors: where are the others?", len(all))
	}
	for _, v := range all {
		t.Run(v.ID, func(t *testing.T) {
			if err := v.Run(rules.Library{book}); err != nil {
				t.Errorf("%s: %v\ngiven %s dice %v", v.Source, err, v.Given, v.Dice)
			}
		})
	}
}
