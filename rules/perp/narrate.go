package perp

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"tallystick/events"
	"tallystick/rules"
)

// Narrate tells a blow with everything its damage is made of.
func (System) Narrate(_ rules.Options, th events.Throw, _ []events.Event) string {
	var d Damage
	if th.Detail == nil || json.Unmarshal(th.Detail, &d, json.RejectUnknownMembers(true)) != nil || len(d.Parts) == 0 {
		return ""
	}
	parts := make([]string, len(d.Parts))
	for i, p := range d.Parts {
		parts[i] = fmt.Sprintf("%+d %s", p.Value, p.Label)
	}
	points := fmt.Sprintf("%d points", d.Points)
	if d.Points == 1 {
		points = "1 point"
	}
	return fmt.Sprintf("%s%s, %s = %s", rules.Rolled(th), rules.Came(th), strings.Join(parts, " "), points)
}
