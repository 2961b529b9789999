package fudge

import (
	"fmt"
	"strings"

	"tallystick/rules"
)

// Phase is what matters of a body for dying and healing: the wounds, how far
// off each healing is, and the conditions.
func (System) Phase(_ rules.Options, body rules.Body, clock int64) string {
	b := body.(*Body)
	var out strings.Builder
	fmt.Fprintln(&out, b.Dead, b.Remainder, ahead(b.Rest, clock), ahead(b.Care, clock))
	for _, w := range b.Wounds {
		fmt.Fprint(&out, " ", w.Points, w.Treated)
	}
	for _, c := range b.Conditions {
		fmt.Fprint(&out, " ", c.Name, ahead(c.Until, clock))
	}
	return out.String()
}

// ahead is how long from now something falls due; -1: never.
func ahead(due, clock int64) int64 {
	if due == 0 {
		return -1
	}
	return due - clock
}
