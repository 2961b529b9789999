package perp

import (
	"fmt"

	"tallystick/rules"
)

// Phase is what matters of a body for bleeding and healing: hit points, how far
// off the next d6 of each kind is, and what tending has brought.
func (System) Phase(_ rules.Options, body rules.Body, clock int64) string {
	b := body.(*Body)
	return fmt.Sprint(b.HP, b.Killed, ahead(b.BleedDue, clock), ahead(b.HealDue, clock), b.Tended, b.TendedPoints)
}

// ahead is how long from now something falls due; -1: never.
func ahead(due, clock int64) int64 {
	if due == 0 {
		return -1
	}
	return due - clock
}
