package rpgamix

import (
	"tallystick/events"
	"tallystick/rules"
)

// dice is where faces come from: a throw of a turn, or faces that are known.
type dice interface{ Die(sides int) int }

// A sum is a die and what is added to it (RPGX-3).
type sum struct {
	sides int
	terms []events.Modifier
}

// d10 has room for a few terms, which the caller keeps on its stack.
func d10() sum { return sum{sides: 10, terms: make([]events.Modifier, 0, 4)} }

// plus adds a term; zero is left out.
func (s *sum) plus(label string, value int, rule string) {
	if value != 0 {
		s.terms = append(s.terms, events.Modifier{Label: label, Value: value, Rule: rule})
	}
}

// roll takes the die and returns the total. A throw of a turn is told the
// terms, so that it shows where the total comes from.
func (s sum) roll(d dice) int {
	total := d.Die(s.sides)
	for _, m := range s.terms {
		total += m.Value
	}
	if th, ok := d.(*rules.Throw); ok {
		for _, m := range s.terms {
			th.Add(m.Label, m.Value, m.Rule)
		}
	}
	return total
}

// reached says whether a total is enough, by the option that rules on ties.
func reached(o rules.Options, tie string, total, difficulty int) bool {
	return total > difficulty || total == difficulty && o.Is(tie, "success")
}

// conRoll is a roll of constitution. Wounds never weigh on it (RPGX-33).
func conRoll(o rules.Options, con, difficulty int, d dice) (margin int, made bool) {
	s := d10()
	s.plus("Constitution", con, "RPGX-3")
	total := s.roll(d)
	return total - difficulty, reached(o, "rpgamix.con_tie", total, difficulty)
}

// result writes an outcome into a throw.
func result(th *rules.Throw, difficulty, margin int, made bool, yes, no string) {
	th.Versus("difficulty", difficulty)
	if made {
		th.Result(yes, margin)
		return
	}
	th.Result(no, margin)
}
