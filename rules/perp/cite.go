package perp

import (
	"github.com/go-json-experiment/json"

	"tallystick/events"
	"tallystick/rules"
)

// Cite names the rules of events that do not name them themselves.
func (System) Cite(e events.Event) string {
	switch e := e.(type) {
	case *events.WoundInflicted:
		switch {
		case e.By != "":
			return "PERP-41"
		case e.Weapon != "": // nobody's alone: the blow of a group
			return "PERP-31"
		}
		return "PERP-12"
	case *events.HealGranted:
		return "PERP-53"
	case *Attacked:
		return "PERP-20"
	case *ShareWon, *DamageShared:
		return "PERP-32"
	case *ArmourChanged:
		if e.Armour == powered {
			return "PERP-47"
		}
		return "PERP-45"
	}
	return ""
}

// Damage are the parts of a blow.
func (System) Damage(th events.Throw) []rules.Blow {
	var d Damage
	if th.Detail == nil || json.Unmarshal(th.Detail, &d, json.RejectUnknownMembers(true)) != nil || len(d.Parts) == 0 {
		return nil
	}
	var blow rules.Blow
	for _, p := range d.Parts {
		if p.Value < 0 {
			blow.Stopped = append(blow.Stopped, p)
		} else {
			blow.Made = append(blow.Made, p)
		}
	}
	return []rules.Blow{blow}
}

// Source is for the label to say.
func (System) Source(events.Modifier) string { return "" }
