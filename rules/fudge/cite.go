package fudge

import (
	"slices"

	"github.com/go-json-experiment/json"

	"tallystick/events"
	"tallystick/rules"
)

// Cite names the rules of events that do not name them themselves.
func (System) Cite(e events.Event) string {
	switch e := e.(type) {
	case *events.WoundInflicted:
		return "FUDGE-48"
	case *events.HealGranted:
		return "FUDGE-39"
	case *RollSkipped:
		return e.Rule
	case *RemainderKept:
		return "FUDGE-63"
	case *HealingAssured:
		return "FUDGE-57"
	case *Strained:
		return "FUDGE-56"
	case *Tired, *Rested:
		return "FUDGE-41"
	}
	return ""
}

// Damage are the factors of a blow; of a roll against several foes those of
// each pairing in which somebody was hit.
func (System) Damage(th events.Throw) []rules.Blow {
	d, ok := detailOf(th)
	if !ok {
		return nil
	}
	if d.Damage != nil {
		return []rules.Blow{d.Damage.blow()}
	}
	var all []rules.Blow
	for _, foe := range d.Foes {
		if foe.Damage == nil {
			continue
		}
		b := foe.Damage.blow()
		b.By, b.On = th.Character, foe.Character
		if foe.Relative < 0 {
			b.By, b.On = b.On, b.By
		}
		all = append(all, b)
	}
	return all
}

// blow parts the factors into what made the damage and what armour took off.
func (d *Damage) blow() rules.Blow {
	i := slices.IndexFunc(d.Factors, func(m events.Modifier) bool { return m.Rule == armourRule })
	if i < 0 {
		i = len(d.Factors)
	}
	return rules.Blow{Made: d.Factors[:i], Stopped: d.Factors[i:]}
}

// detailOf reads what FUDGE has added to a throw.
func detailOf(th events.Throw) (d Detail, ok bool) {
	ok = th.Detail != nil && json.Unmarshal(th.Detail, &d, json.RejectUnknownMembers(true)) == nil
	return d, ok
}

// Source is for the label to say.
func (System) Source(events.Modifier) string { return "" }
