package fudge

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"tallystick/events"
	"tallystick/rules"
)

// Narrate tells a roll in levels: what the dice gave, the degree that was
// reached, and the damage a blow did.
func (System) Narrate(_ rules.Options, th events.Throw, _ []events.Event) string {
	var d Detail
	if th.Detail == nil || json.Unmarshal(th.Detail, &d, json.RejectUnknownMembers(true)) != nil || d.Degree == "" || len(th.Draws) != 2 {
		return ""
	}
	text := fmt.Sprintf("rolled %d + %d, worth %+d, on %s: %s", th.Draws[0][1], th.Draws[1][1], d.Levels, d.Effective, d.Degree)
	if d.Against != "" {
		text += " against " + d.Against
	}
	text += rules.Came(th)
	switch {
	case d.Damage != nil:
		text += ", damage " + d.Damage.Points
	case d.Harmless != "":
		text += ", and no damage: " + d.Harmless
	}
	return text
}
