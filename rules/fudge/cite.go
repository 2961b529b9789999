package fudge

import (
	"github.com/go-json-experiment/json"

	"tallystick/events"
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

// Damage are the factors of a blow.
func (System) Damage(th events.Throw) []events.Modifier {
	var d Detail
	if th.Detail == nil || json.Unmarshal(th.Detail, &d, json.RejectUnknownMembers(true)) != nil || d.Damage == nil {
		return nil
	}
	return d.Damage.Factors
}

// Source is for the label to say.
func (System) Source(events.Modifier) string { return "" }
