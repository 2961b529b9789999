package perp_test

import (
	"testing"

	"github.com/go-json-experiment/json"

	"tallystick/rules"
	"tallystick/rules/perp"
	"tallystick/rules/rulestest"
)

var book = rules.NewBook(perp.New())

// Every vector is worked out by the functions that decide commands.
func TestVectors(t *testing.T) {
	all := rulestest.Vectors(t)
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

// A vector that says what the program does not know fails: nothing of it is
// passed over.
func TestUnknownInVectors(t *testing.T) {
	for _, raw := range []string{
		`{"id":"a","system":"perp","kind":"armour","given":{"armour":"leather","enchanted":true},"then":{"protection":1}}`,
		`{"id":"b","system":"perp","kind":"test","given":{"traits":[{"name":"Strong","value":1,"doubled":true}]},"dice":[5],"die":["d10"],"then":{"result":6}}`,
		`{"id":"c","system":"perp","kind":"chargen","given":{"skills":{"Swords":{"points":1,"magic":2}},"hp":5},"then":{"skill_points_spent":1}}`,
		`{"id":"d","system":"perp","kind":"magic","given":{},"then":{}}`,
		`{"id":"e","system":"perp","kind":"armour","given":{"armour":"leather"},"then":{"weight":3}}`,
		`{"id":"f","system":"perp","kind":"armour","given":{"armour":"leather"},"then":{"protection":1},"options":{"perp.magic":true}}`,
	} {
		var v rules.Vector
		if err := json.Unmarshal([]byte(raw), &v); err != nil {
			t.Fatal(err)
		}
		if v.Run(rules.Library{book}) == nil {
			t.Errorf("%s passes", v.ID)
		}
	}
}
