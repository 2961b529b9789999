package fudge

import (
	"testing"

	"tallystick/rules"
	"tallystick/rules/rulestest"
)

// Every vector must come out as printed.
func TestVectors(t *testing.T) {
	vectors := rulestest.Vectors(t)
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
