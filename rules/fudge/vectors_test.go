package fudge

import (
	"os"
	"testing"

	"github.com/go-json-experiment/json"

	"tallystick/rules"
)

// Every vector must come out as printed.
func TestVectors(t *testing.T) {
	raw, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []rules.Vector
	if err := json.Unmarshal(raw, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors) < 100 {
		t.Fatalf("%d vectors: the file is not whole", len(vectors))
	}
	library := rules.Library{rules.NewBook(New())}
	for _, v := range vectors {
		t.Run(v.ID, func(t *testing.T) {
			if err := v.Run(library); err != nil {
				t.Errorf("%v\ngiven %s dice %v options %v", err, v.Given, v.Dice, v.Options)
			}
		})
	}
}
