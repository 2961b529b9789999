package rules

import (
	"fmt"
	"strings"

	"tallystick/events"
)

// Narrating is a system that tells a throw in a sentence of its own.
type Narrating interface {
	// Narrate says what was rolled and what came of it, in one sentence without
	// names and without a full stop, such as "rolled 6 + 3 against 3: hit by 6".
	// followed are the events of the same roll. Empty: Narrate of this package
	// says it well enough.
	Narrate(o Options, throw events.Throw, followed []events.Event) string
}

// Narrate tells a throw in a sentence: in the words of the system, or in plain
// ones.
func Narrate(s System, o Options, throw events.Throw, followed []events.Event) string {
	if own, ok := s.(Narrating); ok {
		if text := own.Narrate(o, throw, followed); text != "" {
			return text
		}
	}
	return Rolled(throw) + Came(throw)
}

// Citing is a system that says more of the rules behind its records than they
// do themselves.
type Citing interface {
	// Cite names the rule of an event that names none itself: a wound, an event
	// of the system. Empty: there is none.
	Cite(e events.Event) string
	// Damage are the blows that a throw came to, those of several for one that was
	// compared with several; none for a throw without damage.
	Damage(throw events.Throw) []Blow
	// Source names the type of the event about the character that a modifier
	// comes from. Empty: its label says where it comes from.
	Source(m events.Modifier) string
}

// A Blow is the damage of one blow in numbers, each with its rule. By and On
// are who struck and who was struck: characters, and empty when they are who
// threw and who was wounded for it.
type Blow struct {
	By, On  string
	Made    []events.Modifier // by who struck
	Stopped []events.Modifier // by who was struck
}

// RuleOf is the rule that a system names for an event, or nothing.
func RuleOf(s System, e events.Event) string {
	if own, ok := s.(Citing); ok {
		return own.Cite(e)
	}
	return ""
}

// SourceOf is the type of the event that a modifier comes from, or nothing.
func SourceOf(s System, m events.Modifier) string {
	if own, ok := s.(Citing); ok {
		return own.Source(m)
	}
	return ""
}

// DamageOf are the blows that a throw came to.
func DamageOf(s System, throw events.Throw) []Blow {
	if own, ok := s.(Citing); ok {
		return own.Damage(throw)
	}
	return nil
}

// Rolled tells the dice and what was added to them: "rolled 6 + 3 against 3".
func Rolled(th events.Throw) string {
	var b strings.Builder
	b.WriteString("rolled ")
	sum := 0
	for i, d := range th.Draws {
		if i > 0 {
			b.WriteString(" + ")
		}
		fmt.Fprint(&b, d[1])
		sum += int(d[1])
	}
	added := 0
	for _, m := range th.Modifiers {
		added += m.Value
	}
	b.WriteString(Signed(added))
	if sum+added != th.Total && (th.Outcome != "" || th.Against != nil) { // the dice are worth something else than their sum
		fmt.Fprintf(&b, " = %d", th.Total)
	}
	if a := th.Against; a != nil {
		value := fmt.Sprint(a.Value)
		if a.Exact != "" {
			value = a.Exact
		}
		b.WriteString(" against " + value)
	}
	return b.String()
}

// Came tells how a throw came out: ": hit by 6".
func Came(th events.Throw) string {
	switch {
	case th.Outcome == "" && th.Against == nil:
		return fmt.Sprintf(": %d", th.Total)
	case th.Outcome == "":
		return ""
	case th.Margin == nil || *th.Margin == 0:
		return ": " + th.Outcome
	}
	return fmt.Sprintf(": %s by %d", th.Outcome, max(*th.Margin, -*th.Margin))
}

// Signed writes a number to be added: " + 3", " − 2", or nothing for zero.
func Signed(n int) string {
	switch {
	case n > 0:
		return fmt.Sprintf(" + %d", n)
	case n < 0:
		return fmt.Sprintf(" − %d", -n)
	}
	return ""
}
