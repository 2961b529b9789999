package rpgamix

import (
	"fmt"
	"slices"
	"strings"

	"tallystick/rules"
)

// Phase is what matters of a body for the health table: points, treatment, how
// far each interval of the line is, and the conditions. With the clocks of the
// calendar it is also where the intervals stand that still can matter.
func (system) Phase(o rules.Options, body rules.Body, clock int64) string {
	b := body.(*Body)
	var out strings.Builder
	fmt.Fprint(&out, b.Points, b.Stabilised)
	for l := range lines(o, b.rank(), b.Stabilised) {
		fmt.Fprintf(&out, " %s %d", l.interval, b.next(o, l.interval).Due-clock)
	}
	if o.Is("rpgamix.clock", "calendar") {
		for _, interval := range ahead(o, b.rank(), b.Stabilised) {
			fmt.Fprintf(&out, " %s %d", interval, clock%seconds(o, interval))
		}
	}
	for _, c := range b.Conditions {
		left := int64(-1)
		if c.Until > 0 {
			left = c.Until - clock
		}
		fmt.Fprintf(&out, " %s %d", c.Name, left)
	}
	return out.String()
}

// ahead are the intervals of all lines that somebody of a rank may still come
// to by time alone: those of worse ranks, and of all if a check can gain.
func ahead(o rules.Options, rank string, treated bool) []string {
	used := map[string]bool{}
	for _, r := range ranks[slices.Index(ranks, rank):] {
		for l := range lines(o, r, treated) {
			used[l.interval] = true
			if l.gain != gainNothing && rank != good {
				return ahead(o, good, treated)
			}
		}
	}
	return sorted(used)
}
