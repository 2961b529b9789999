package fudge

import (
	"fmt"
	"strings"

	"tallystick/events"
	"tallystick/rules"
)

// Narrate tells a roll in levels: what the dice gave, the degree that was
// reached, and the damage a blow did; of a brawl each comparison.
func (System) Narrate(_ rules.Options, th events.Throw, _ []events.Event) string {
	d, ok := detailOf(th)
	if !ok || d.Degree == "" || len(th.Draws) != 2 {
		return ""
	}
	text := fmt.Sprintf("rolled %d + %d, worth %+d, on %s: %s", th.Draws[0][1], th.Draws[1][1], d.Levels, d.Effective, d.Degree)
	switch {
	case len(d.Foes) > 0:
		return text + d.againstFoes()
	case th.Against != nil && th.Against.Kind == againstLone:
		return text + fmt.Sprintf(" at best against %s: %s", d.Against, th.Outcome)
	case d.Against != "":
		text += " against " + d.Against
	}
	text += rules.Came(th)
	switch {
	case d.Damage != nil:
		text += ", " + d.Damage.told()
	case d.Harmless != "":
		text += ", and no damage: " + d.Harmless
	}
	return text
}

// againstFoes tells how one roll compares with each foe's, in their order.
func (d Detail) againstFoes() string {
	if d.Foes[0].Automatic {
		return fmt.Sprintf(", but all %d hit whatever it is: low doubles (FUDGE-35)", len(d.Foes))
	}
	parts := make([]string, len(d.Foes))
	for i, foe := range d.Foes {
		parts[i] = fmt.Sprintf("%s against %s", melees(foe.Relative), foe.Degree)
		if foe.Relative != 0 {
			parts[i] += fmt.Sprintf(" by %d", max(foe.Relative, -foe.Relative))
		}
		if foe.Damage != nil {
			parts[i] += ", " + foe.Damage.told()
		}
	}
	return ": " + strings.Join(parts, "; ")
}

// told is the damage in words; between scales also what gets through where
// armour counts.
func (d *Damage) told() string {
	if d.Lesser == "" {
		return "damage " + d.Points
	}
	return fmt.Sprintf("damage %s: %s on the lesser being's scale, where armour counts (FUDGE-62)", d.Points, d.Lesser)
}
