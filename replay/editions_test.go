package replay_test

import (
	"bytes"
	"errors"
	"testing"

	"tallystick/events"
	"tallystick/replay"
	"tallystick/rules"
	"tallystick/rules/rpgamix"
	"tallystick/rules/rulestest"
)

// painless is a later edition of a system in which wounds weigh on nothing.
type painless struct{ rules.System }

func (painless) Edition() int { return 2 }
func (p painless) Vitals(o rules.Options, b rules.Body, clock int64) events.Vitals {
	v := p.System.Vitals(o, b, clock)
	v.Health.Penalty = 0
	return v
}

// A ledger is decided again by the edition it was opened with, whatever else is
// on board; by another one it diverges; without it nothing can be said.
func TestEditions(t *testing.T) {
	ember := rules.NewBook(rulestest.Ember())
	burn := func(tb *rulestest.Table) {
		tb.Must("gm", "session.open", `{"title":"one","kind":"downtime"}`)
		tb.Must("gm", "character.create", `{"name":"Fire","kind":"npc","creation":"free","sheet":{"points":90}}`)
		tb.Must("gm", "clock.advance", `{"seconds":300}`)
	}
	fall := func(tb *rulestest.Table) {
		tb.Must("gm", "session.open", `{"title":"one","kind":"table"}`)
		id := tb.Must("gm", "character.create", `{"name":"Ivo","kind":"npc","creation":"free","sheet":{"stats":{"str":0,"con":0,"dex":0,"per":0,"int":0,"wits":0,"cha":0,"app":0},"skills":{}}}`)
		tb.Must("gm", "wound.inflict", `{"character":"`+id+`","points":8,"cause":"a beam"}`)
	}
	old := rules.NewBook(rpgamix.New())
	for name, c := range map[string]struct {
		first, second *rules.Book
		play          func(*rulestest.Table)
	}{
		"ember":   {ember, rules.NewBook(rulestest.EmberSecond()), burn},
		"rpgamix": {old, rules.NewBook(painless{rpgamix.New()}), fall},
	} {
		t.Run(name, func(t *testing.T) {
			for _, made := range []*rules.Book{c.first, c.second} {
				tb := rulestest.NewTable(t, made, "")
				c.play(tb)
				ledger := append(bytes.Join(tb.Payloads, []byte("\n")), '\n')
				for _, both := range []rules.Library{{c.first, c.second}, {c.second, c.first}} {
					if err := replay.New(both).Ledger(bytes.NewReader(ledger)); err != nil {
						t.Errorf("edition %d with both on board: %v", made.Edition(), err)
					}
				}
				other := rules.Library{c.first}
				if made == c.first {
					other = rules.Library{c.second}
				}
				err := replay.New(other).Ledger(bytes.NewReader(ledger))
				var unusable *replay.Unusable
				var missing *rules.MissingEdition
				if !errors.As(err, &unusable) || !errors.As(err, &missing) || missing.Edition != made.Edition() {
					t.Errorf("edition %d is not on board: got %v", made.Edition(), err)
				}
				// As if it had been opened with the other edition.
				stated := []byte(`"edition":1`)
				forged := []byte(`"edition":2`)
				if made == c.second {
					stated, forged = forged, stated
				}
				var differs *replay.Divergence
				err = replay.New(rules.Library{c.first, c.second}).Ledger(bytes.NewReader(bytes.Replace(ledger, stated, forged, 1)))
				if !errors.As(err, &differs) {
					t.Errorf("edition %d decided by the other: got %v", made.Edition(), err)
				}
			}
		})
	}
}
