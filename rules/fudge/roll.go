package fudge

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"tallystick/events"
	"tallystick/rules"
)

// roller gives dice: a throw in the ledger, or faces known beforehand.
type roller interface{ Die(sides int) int }

// pair is the two six-sided dice of one roll (FUDGE-2, B1 Dice).
type pair struct{ first, second int }

func takePair(d roller) pair {
	first := d.Die(6)
	return pair{first, d.Die(6)}
}

func (p pair) sum() int    { return p.first + p.second }
func (p pair) levels() int { return diceTable[p.sum()] }

// Words for critical results.
const (
	criticalSuccess = "success"
	criticalFailure = "failure"
)

// natural is the critical result that the dice alone make (FUDGE-14, B5):
// whatever the task, and whether or not it succeeds.
func (p pair) natural() string {
	switch p.levels() {
	case 4:
		return criticalSuccess
	case -4:
		return criticalFailure
	}
	return ""
}

// effort is what one side brings to a roll: the level of a trait and what
// modifies it for this roll alone (FUDGE-8, B2).
type effort struct {
	who       *rules.Character // nil in a vector
	level     Level
	label     string // "Good Sword"
	rule      string // where the level comes from
	modifiers []events.Modifier
	scale     int // levels from its scale of strength to the human one
	warnings  []string
}

func (e *effort) add(label string, value int, rule string) {
	if value != 0 {
		e.modifiers = append(e.modifiers, events.Modifier{Label: label, Value: value, Rule: rule})
	}
}

// effective is the level that is rolled against. It may leave the scale of
// traits for the moment (FUDGE-10).
func (e *effort) effective() Level {
	l := e.level
	for _, m := range e.modifiers {
		l += Level(m.Value)
	}
	return l
}

// result is an effort with its dice.
type result struct {
	effort
	dice    pair
	degree  Level // rolled degree, on the human scale of strength if scales meet
	trimmed int   // levels taken off because no result lies beyond the scale
	th      *rules.Throw
	note    Detail
}

// rolled reads an effort's dice (B3).
func rolled(o rules.Options, e effort, dice pair) result {
	free := e.effective() + Level(dice.levels())
	degree := free
	if o.On(optCap) {
		degree = min(max(free, lowest), highest)
	}
	return result{effort: e, dice: dice, degree: degree + Level(e.scale), trimmed: int(degree - free)}
}

// throw takes the dice of an effort and writes down where its total comes
// from.
func throw(t *rules.Turn, purpose string, e effort) result {
	th := t.Throw(purpose, e.who)
	r := rolled(t.Options(), e, takePair(th))
	r.th = th
	th.Base(r.dice.levels())
	r.explain()
	return r
}

// explain adds all modifiers to a throw whose base is the levels of its dice.
func (r *result) explain() {
	r.th.Add(r.label, int(r.level), r.rule)
	for _, m := range r.modifiers {
		r.th.Add(m.Label, m.Value, m.Rule)
	}
	r.th.Add("no result lies beyond the scale", r.trimmed, "FUDGE-10")
	r.th.Add("own scale of strength", r.scale, "FUDGE-60")
}

// Detail is what FUDGE adds to a throw in the ledger.
type Detail struct {
	Levels    int       `json:"levels"`             // that the dice gave
	Effective string    `json:"effective,omitzero"` // level rolled against
	Degree    string    `json:"degree,omitzero"`    // rolled degree
	Against   string    `json:"against,omitzero"`   // task or other side, as a level
	Critical  string    `json:"critical,omitzero"`  // success or failure: the game master grants what it means
	Warnings  []string  `json:"warnings,omitzero"`
	Foes      []Pairing `json:"foes,omitzero"`     // of one roll against several
	Damage    *Damage   `json:"damage,omitzero"`   // done by this side
	Harmless  string    `json:"harmless,omitzero"` // why a blow that was won does no damage
}

// Pairing is one foe of several that one roll is compared with.
type Pairing struct {
	Character string  `json:"character"`
	Degree    string  `json:"degree"`
	Relative  int     `json:"relative"` // of the roll to this foe
	Automatic bool    `json:"automatic,omitzero"`
	Damage    *Damage `json:"damage,omitzero"` // in this pairing, by whoever won it
}

// close says what the result was compared with and how it came out.
func (r *result) close(kind string, against Level, critical, outcome string, margin int) {
	r.th.Versus(kind, int(against))
	r.th.Result(outcome, margin)
	r.note.Against, r.note.Critical = against.String(), critical
	r.write()
}

// write puts the detail into the throw as it stands.
func (r *result) write() {
	r.note.Levels = r.dice.levels()
	r.note.Effective, r.note.Degree = r.effective().String(), r.degree.String()
	r.note.Warnings = r.warnings
	detail, err := json.Marshal(r.note, json.Deterministic(true))
	if err != nil {
		panic("fudge: a detail that cannot be written: " + err.Error())
	}
	r.th.Detail = detail
}

// task is a check against a degree task (B6).
type task struct {
	level     Level
	automatic bool // decided without dice
	success   bool
	rule      string // of being automatic
}

// hopeless reports whether no dice can bring success.
func (j task) hopeless() bool { return j.automatic && !j.success }

// judge says whether a task needs dice: one of Terrible or lower on the scale
// of who tries succeeds without (FUDGE-4, FUDGE-60). Tasks beyond Superb+4 are refused, since no result is
// there (FUDGE-3, FUDGE-6).
func judge(o rules.Options, field string, e effort, level Level) (task, error) {
	if level > highest {
		return task{}, rules.Reject("task_out_of_scale", "FUDGE-6", "a task of %s has no chance: %s is the highest there is", level, highest).On(field)
	}
	at := e.effective()
	worst, best := at+Level(diceTable[2]), at+Level(diceTable[12])
	if o.On(optCap) {
		worst, best = max(worst, lowest), min(best, highest)
	}
	// Tasks on the human scale of strength are compared after conversion.
	worst, best = worst+Level(e.scale), best+Level(e.scale)
	switch {
	case level-Level(e.scale) <= Terrible:
		return task{level, true, true, "FUDGE-4"}, nil
	case o.On(optSkip) && worst >= level:
		return task{level, true, true, "FUDGE-6"}, nil
	case o.On(optSkip) && best < level:
		return task{level, true, false, "FUDGE-6"}, nil
	}
	return task{level: level}, nil
}

// unopposed compares a result with a degree task: match or surpass
// (FUDGE-16, B6 "match or surpass").
func unopposed(o rules.Options, r result, task Level) (success bool, margin int, critical string) {
	margin = int(r.degree - task)
	return margin >= 0, margin, critically(o, r, margin)
}

// opposed compares two results: the relative degree of a (FUDGE-19, B7).
func opposed(a, b result) int { return int(a.degree - b.degree) }

// critically is the critical result of a roll: by its dice, or by the margin
// where the campaign plays so (FUDGE-14, FUDGE-15). The book names the margin
// below only for tasks; the losing side of an opposed roll mirrors it.
func critically(o rules.Options, r result, margin int) string {
	switch {
	case r.dice.natural() != "":
		return r.dice.natural()
	case o.On(optMargin) && margin >= criticalMargin:
		return criticalSuccess
	case o.On(optMargin) && margin <= -criticalMargin:
		return criticalFailure
	}
	return ""
}

// outcomeOf is the word for a side of an opposed roll.
func outcomeOf(relative int) string {
	switch {
	case relative > 0:
		return "wins"
	case relative < 0:
		return "loses"
	}
	return "status quo"
}

// traitLabel names a level and a trait.
func traitLabel(l Level, trait string, known bool) string {
	if !known {
		return fmt.Sprintf("%s %s (untrained)", l, trait)
	}
	return fmt.Sprintf("%s %s", l, trait)
}
