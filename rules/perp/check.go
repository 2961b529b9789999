package perp

import (
	"cmp"
	"fmt"
	"strings"

	"tallystick/rules"
)

// Check is the data of check: a test (PERP-1).
type Check struct {
	Character string `json:"character"`
	Test
	Difficulty *int     `json:"difficulty,omitzero" minimum:"-1000" maximum:"1000" doc:"the number to roll above: to 3 very simple, to 6 of average difficulty, to 10 for the trained or talented, from 11 for experts; left out, the result stands for itself"`
	Hidden     int64    `json:"hidden,omitzero" minimum:"1" doc:"n of the record that sealed a secret number (target.seal), in place of a difficulty"`
	Closed     *Closed  `json:"closed,omitzero" doc:"the note of a closed test"`
	Tools      []string `json:"tools,omitzero" maxItems:"20" maxLength:"200" doc:"what is at hand"`
	Purpose    string   `json:"purpose,omitzero" maxLength:"200"`
}

// Closed is the note of a closed test (PERP-19).
type Closed struct {
	AnySkill []string `json:"any_skill,omitzero" maxItems:"20" maxLength:"200" doc:"one of these must be known"`
	Tools    []string `json:"tools,omitzero" maxItems:"20" maxLength:"200" doc:"all of these must be at hand"`
}

// Actors names who acts.
func (d *Check) Actors() []string { return []string{d.Character} }

func check(t *rules.Turn, d *Check) error {
	ch, err := awake(t, "character", d.Character, "attempt anything")
	if err != nil {
		return err
	}
	purpose, err := purpose(d.Purpose, "test")
	if err != nil {
		return err
	}
	if d.Hidden != 0 && d.Difficulty != nil {
		return &rules.Invalid{Field: "hidden", Reason: "stands in place of difficulty: one of them must be left out"}
	}
	f, err := d.resolve(t.Options(), ch, "", "")
	if err != nil {
		return err
	}
	known := ch.Body.(*Body).known(t.Options(), d.Area)
	if err := lawfulTest(f, d.Closed, known, d.Tools); err != nil {
		return err
	}
	if d.Hidden != 0 {
		if err := t.Hidden("hidden", d.Hidden); err != nil {
			return err
		}
	}
	test(t.Options(), table{t}, f, purpose, d.Difficulty)
	return nil
}

// purpose is what a throw is for, in the words of who asks.
func purpose(asked, otherwise string) (string, error) {
	if asked == "" {
		return otherwise, nil
	}
	if err := rules.CheckName(asked); err != nil {
		return "", &rules.Invalid{Field: "purpose", Reason: err.Error()}
	}
	return asked, nil
}

// known are the skills that qualify for closed tests.
func (b *Body) known(o rules.Options, area string) []string {
	var all []string
	for _, name := range sorted(b.Sheet.Skills) {
		if _, _, ok := b.Sheet.Skills[name].in(o, area); ok {
			all = append(all, name)
		}
	}
	return all
}

// lawfulTest says whether a test may be attempted. A closed one needs one of
// the skills that its note lists, and every tool; a trait never qualifies, a
// zero-level or negative skill does (PERP-19).
func lawfulTest(f *fighter, note *Closed, known, tools []string) error {
	if err := f.lawful(); err != nil {
		return err
	}
	if note == nil {
		return nil
	}
	if len(note.AnySkill) > 0 && shared(note.AnySkill, known) == "" {
		return rules.Reject("closed_no_skill", "PERP-19", "%s lacks the training this needs: %s", orSomebody(f.name), strings.Join(note.AnySkill, " or ")).On("closed")
	}
	for _, tool := range note.Tools {
		if !contains(tools, tool) {
			return rules.Reject("closed_no_tools", "PERP-19", "%s lacks the tools this needs: %s", orSomebody(f.name), tool).On("tools")
		}
	}
	return nil
}

func orSomebody(name string) string { return cmp.Or(name, "this character") }

// tested is what an unopposed test came to.
type tested struct {
	Result  int   `json:"result"`
	Success *bool `json:"success,omitzero"`
	Margin  *int  `json:"margin,omitzero"`
}

// test rolls a test, against a target when there is one (PERP-1, PERP-16).
func test(o rules.Options, d roller, f *fighter, purpose string, target *int) tested {
	r := d.roll(f, purpose, 1, f.modifiers())
	if target == nil {
		return tested{Result: r.total}
	}
	outcome, margin := System{}.Judge(o, r.total, *target)
	won := outcome == success
	r.against("difficulty", *target, outcome, margin)
	return tested{r.total, &won, &margin}
}

// Outcomes of an unopposed test.
const (
	success = "success"
	failure = "failure"
)

// Judge says how a result compares with a number, also with one that was
// hidden when the die was thrown (PERP-16, PERP-17).
func (System) Judge(o rules.Options, total, value int) (outcome string, margin int) {
	if above(o, total, value) {
		return success, total - value
	}
	return failure, total - value
}

// above reports whether a result does it: the player "must roll above" the
// number (PERP-16).
func above(o rules.Options, result, target int) bool {
	return result > target || result == target && o.Is("perp.target_tie", "succeed")
}

// Contest is the data of contest: an opposed test (PERP-15).
type Contest struct {
	Sides   []Side `json:"sides" minItems:"2" maxItems:"2" doc:"who acts first, who resists second"`
	Purpose string `json:"purpose,omitzero" maxLength:"200"`
}

// Side is one side of a contest.
type Side struct {
	Character string `json:"character"`
	Test
}

// Actors names who acts: the first side.
func (d *Contest) Actors() []string { return []string{d.Sides[0].Character} }

func contest(t *rules.Turn, d *Contest) error {
	purpose, err := purpose(d.Purpose, "opposed test")
	if err != nil {
		return err
	}
	if d.Sides[0].Character == d.Sides[1].Character {
		return rules.Reject("same_character", "PERP-15", "nobody contests with themselves").On("sides.1.character")
	}
	var sides [2]*fighter
	for i := range sides {
		field := fmt.Sprintf("sides.%d", i)
		ch, err := awake(t, field+".character", d.Sides[i].Character, "take part in a contest")
		if err != nil {
			return err
		}
		if sides[i], err = d.Sides[i].resolve(t.Options(), ch, field, ""); err != nil {
			return err
		}
		if err := within(field, sides[i].lawful()); err != nil {
			return err
		}
	}
	opposed(t.Options(), table{t}, sides[0], sides[1], purpose)
	return nil
}

// opposed rolls an opposed test: first a, then b, who keeps what it has at a
// tie if the campaign says so.
func opposed(o rules.Options, d roller, a, b *fighter, purpose string) (ra, rb *rolled, winner, margin int) {
	ra = d.roll(a, purpose, 1, a.modifiers())
	rb = d.roll(b, purpose, 1, b.modifiers())
	winner, margin = compare(ra.total, rb.total)
	if winner == 0 && o.Is("perp.opposed_tie", "defender") {
		winner = -1
	}
	oppose(ra, rb, winner, margin)
	return ra, rb, winner, margin
}
