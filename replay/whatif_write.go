package replay

import (
	"fmt"
	"strings"

	"tallystick/events"
	"tallystick/projections"
)

// Text writes a what-if for a terminal: both lines, one under the other at each
// command.
func (w *WhatIf) Text() string {
	var b strings.Builder
	b.WriteString("What if: this never happened, and nothing of it is in the ledger.\n")
	switch {
	case w.PartAt == nil:
		fmt.Fprintf(&b, "The lines never part: %d commands come to the same.\n", len(w.Steps))
	default:
		fmt.Fprintf(&b, "The lines part at record %d.\n", *w.PartAt)
	}
	for _, s := range w.Steps {
		s.write(&b)
	}
	if len(w.Characters) > 0 {
		b.WriteString("\nAt the end stand otherwise:\n")
	}
	for _, c := range w.Characters {
		fmt.Fprintf(&b, "  %s: recorded %s, otherwise %s\n", projections.Printable(c.Name), vitals(c.Recorded), vitals(c.Otherwise))
	}
	return b.String()
}

func (s WhatIfStep) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n%d %s by %s", s.N, s.Type, s.By)
	if s.Declared != 0 {
		fmt.Fprintf(b, ", declared in record %d and witnessed by %s", s.Declared, s.Witness)
	}
	if s.Same {
		b.WriteString(": the same\n")
		return
	}
	b.WriteByte('\n')
	if s.Field != "" {
		fmt.Fprintf(b, "  first difference at %s: %s, otherwise %s\n", s.Field, projections.Printable(s.Was), projections.Printable(s.Is))
	}
	lines := func(mark string, all []WhatIfEvent) {
		for _, e := range all {
			if e.Text != "" {
				fmt.Fprintf(b, "  %s %s\n", mark, e.Text)
			}
		}
	}
	lines("recorded: ", s.Recorded)
	if s.Refused != "" {
		fmt.Fprintf(b, "  otherwise: refused: %s\n", projections.Printable(s.Refused))
	}
	lines("otherwise:", s.Otherwise)
	if s.LeftOut > 0 {
		fmt.Fprintf(b, "  and %d events more\n", s.LeftOut)
	}
}

func vitals(v *events.Vitals) string {
	switch {
	case v == nil:
		return "not there"
	case !v.Alive:
		return "dead"
	}
	text := fmt.Sprintf("%d/%d %s", v.Health.Points, v.Health.Max, v.Health.Rank)
	for _, c := range v.Conditions {
		text += ", " + c.Name
	}
	return text
}
