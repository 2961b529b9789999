package fudge

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tallystick/events"
	"tallystick/rules"
)

// Skill is what a character rolls, and how.
type Skill struct {
	Trait      string     `json:"trait" minLength:"1" maxLength:"200" doc:"skill or attribute; one that is not on the sheet is Poor"`
	Secondary  string     `json:"secondary,omitzero" maxLength:"200" doc:"a second trait that contributes significantly: one level more"`
	Instead    bool       `json:"secondary_instead,omitzero" doc:"the second trait is better and is rolled instead"`
	Modifiers  []Modifier `json:"modifiers,omitzero" maxItems:"20"`
	Unaffected bool       `json:"unaffected,omitzero" doc:"wounds and fatigue do not hinder this trait"`
}

// Modifier shifts a trait for one roll (FUDGE-8, FUDGE-10).
type Modifier struct {
	Label string `json:"label" minLength:"1" maxLength:"200"`
	Value int    `json:"value" minimum:"-10" maximum:"10" doc:"levels: 1 is usual, 2 extreme, more is for the game master"`
	About string `json:"about,omitzero" enum:"circumstance,equipment,range,light,cover" doc:"what it comes from; range, light and cover belong to the task when the target is unaware"`
}

// rolled is the trait that the dice are thrown for: the second one, where it is
// rolled instead (FUDGE-9).
func (s Skill) rolled() string {
	if s.Instead {
		return s.Secondary
	}
	return s.Trait
}

// effort makes what a character brings to a roll. path is the command's
// member that holds the skill.
func (s Skill) effort(t *rules.Turn, path string, who *rules.Character) (effort, error) {
	if err := name(at(path, "trait"), s.Trait); err != nil {
		return effort{}, err
	}
	b := who.Body.(*Body)
	level, known := b.Sheet.trait(s.Trait)
	e := effort{who: who, level: level, label: traitLabel(level, s.Trait, known), rule: "FUDGE-7"}
	if !known {
		e.rule = "FUDGE-17"
	}
	if err := s.second(&e, path, who); err != nil {
		return e, err
	}
	if err := s.wounds(t.Options(), &e, path, who); err != nil {
		return e, err
	}
	return e, modify(t, &e, path, s.Modifiers)
}

// second counts a secondary trait (FUDGE-9): one level, or its own level
// instead when it is better. The trait that is rolled is no second one.
func (s Skill) second(e *effort, path string, who *rules.Character) error {
	if s.Secondary == "" {
		if s.Instead {
			return &rules.Invalid{Field: at(path, "secondary_instead"), Reason: "needs a secondary trait"}
		}
		return nil
	}
	if strings.EqualFold(s.Secondary, s.Trait) {
		return rules.Reject("secondary_is_the_same", "FUDGE-9", "%s is what is rolled: a second trait contributes, not the same one", s.Trait).On(at(path, "secondary"))
	}
	level, known := who.Body.(*Body).Sheet.trait(s.Secondary)
	if !known {
		return rules.Reject("untrained_secondary", "FUDGE-9", "%s has no trait %s that could contribute", who.Name, s.Secondary).On(at(path, "secondary"))
	}
	second := secondary{level, s.Secondary, s.Instead}
	return second.count(e, at(path, "secondary_instead"))
}

// secondary is a second trait that contributes.
type secondary struct {
	level   Level
	name    string
	instead bool
}

func (s secondary) count(e *effort, field string) error {
	if !s.instead {
		e.add(s.name+" contributes", 1, "FUDGE-9")
		return nil
	}
	if s.level <= e.level {
		return rules.Reject("secondary_not_better", "FUDGE-9", "%s is %s, no better than %s: it only contributes", s.name, s.level, e.level).On(field)
	}
	e.level, e.label, e.rule = s.level, traitLabel(s.level, s.name, true), "FUDGE-9"
	return nil
}

// wounds counts what hinders the character (FUDGE-39, FUDGE-41, FUDGE-50).
// Which traits that are is for the table to say, but in the objective system
// Very Hurt weighs on all.
func (s Skill) wounds(o rules.Options, e *effort, path string, who *rules.Character) error {
	b := who.Body.(*Body)
	stage := b.stage(o)
	if s.Unaffected {
		if stage == VeryHurt && o.Is(optDamage, objective) {
			return rules.Reject("very_hurt_affects_all", "FUDGE-50", "%s is Very Hurt: that weighs on all traits", who.Name).On(at(path, "unaffected"))
		}
		return nil
	}
	e.add(stageTable[stage].name, stageTable[stage].penalty, "FUDGE-50")
	e.add(fmt.Sprintf("fatigue cards: %d", b.Fatigue), -b.Fatigue, "FUDGE-41")
	return nil
}

// modify adds what the table agreed on (FUDGE-10): two levels are extreme and
// flagged, more is for the game master, in one modifier or in several.
func modify(t *rules.Turn, e *effort, path string, list []Modifier) error {
	together := 0
	for i, m := range list {
		field := at(path, "modifiers."+strconv.Itoa(i))
		if err := name(field+".label", m.Label); err != nil {
			return err
		}
		if err := e.weigh(t, field+".value", m.Label, m.Value); err != nil {
			return err
		}
		e.add(m.Label, m.Value, "FUDGE-8")
		together += m.Value
	}
	if len(list) < 2 {
		return nil
	}
	return e.weigh(t, at(path, "modifiers"), "all modifiers together", together)
}

// weigh flags a modifier that is extreme, and refuses one that is more when
// somebody else than the game master gives it.
func (e *effort) weigh(t *rules.Turn, field, label string, value int) error {
	size := max(value, -value)
	if size > extremeBy && !t.GM() {
		return rules.Reject("modifier_too_large", "FUDGE-10", "%s: %+d is for the game master to give", label, value).On(field)
	}
	if size >= extremeBy {
		e.warnings = append(e.warnings, fmt.Sprintf("%s: %+d is extreme", label, value))
	}
	return nil
}

// at is a member of a member of a command.
func at(path, member string) string {
	if path == "" {
		return member
	}
	return path + "." + member
}

// actors are the characters of a list that are named.
func actors(ids ...string) []string {
	return slices.DeleteFunc(ids, func(id string) bool { return id == "" })
}

// Check is the data of check: an unopposed roll (B6).
type Check struct {
	Character  string `json:"character"`
	Difficulty string `json:"difficulty,omitzero" enum:"Terrible,Poor,Mediocre,Fair,Good,Great,Superb,Superb+1,Superb+2,Superb+3,Superb+4" doc:"degree task; Fair when left out"`
	Skill
	Target     int64 `json:"target,omitzero" minimum:"1" doc:"n of a target.sealed: the degree task is hidden, Fair is 0 in it"`
	HumanScale bool  `json:"human_scale,omitzero" doc:"a task of Strength is rated on the human scale, the trait on the character's own; not with a hidden target"`
	Lenient    bool  `json:"lenient,omitzero" doc:"lets somebody Disabled try it all the same; for the game master"`
}

// Actors names who acts.
func (d *Check) Actors() []string { return actors(d.Character) }

func check(t *rules.Turn, d *Check) error {
	who, err := t.Living("character", d.Character)
	if err != nil {
		return err
	}
	if err := d.able(t, who); err != nil {
		return err
	}
	difficulty, err := levelOf("difficulty", d.Difficulty, usualTask)
	if err != nil {
		return err
	}
	e, err := d.Skill.effort(t, "", who)
	if err != nil {
		return err
	}
	if e.scale, err = d.scale(who); err != nil {
		return err
	}
	if d.Target != 0 {
		return d.hidden(t, e)
	}
	job, err := judge(t.Options(), "difficulty", e, difficulty)
	if err != nil {
		return err
	}
	if job.automatic {
		t.Emit(&RollSkipped{Subject: events.Subject{Character: who.ID}, Trait: d.Trait, Difficulty: difficulty.String(), Outcome: passed(job.success), Rule: job.rule})
		return nil
	}
	r := throw(t, d.Trait, e)
	success, margin, critical := unopposed(t.Options(), r, difficulty)
	r.close("difficulty", difficulty, critical, passed(success), margin)
	return nil
}

// scale is the number of levels from the character's scale of strength to that
// of the task (FUDGE-60). Only Strength has scales; and a hidden task is opened
// without anybody to say on which scale the roll was.
func (d *Check) scale(who *rules.Character) (int, error) {
	switch {
	case !d.HumanScale:
		return 0, nil
	case !isStrength(d.rolled()):
		return 0, rules.Reject("scale_is_of_strength", "FUDGE-60", "only Strength has scales, not %s", d.rolled()).On("human_scale")
	case d.Target != 0:
		return 0, &rules.Invalid{Field: "human_scale", Reason: "is for a difficulty that is named: the hidden one stays on the character's own scale"}
	}
	return who.Body.(*Body).Sheet.strengthScale(), nil
}

// hidden rolls against a task that nobody has seen yet.
func (d *Check) hidden(t *rules.Turn, e effort) error {
	if d.Difficulty != "" {
		return &rules.Invalid{Field: "difficulty", Reason: "is hidden in the target: give one of the two"}
	}
	if err := t.Hidden("target", d.Target); err != nil {
		return err
	}
	r := throw(t, d.Trait, e)
	r.note.Critical = r.dice.natural()
	r.write()
	return nil
}

// Judge compares a rolled degree with a degree task that was hidden, both in
// levels from Fair.
func (System) Judge(_ rules.Options, total, value int) (string, int) {
	return passed(total >= value || Level(value) <= Terrible), total - value
}

// able lets a lenient game master have somebody Disabled try (FUDGE-51,
// "very lenient").
func (d *Check) able(t *rules.Turn, who *rules.Character) error {
	b := who.Body.(*Body)
	if d.Lenient && t.GM() && !b.has(unconscious) && b.stage(t.Options()) == Disabled {
		return nil
	}
	return able(t, "character", who)
}

func passed(success bool) string {
	if success {
		return "success"
	}
	return "failure"
}

// Contest is the data of contest: an opposed roll (B7).
type Contest struct {
	Sides []Side `json:"sides" minItems:"2" maxItems:"2" doc:"who acts, then who resists"`
}

// Side is one side of a contest.
type Side struct {
	Character string `json:"character"`
	Skill
}

// Actors names who acts.
func (d *Contest) Actors() []string {
	if len(d.Sides) == 0 {
		return nil
	}
	return actors(d.Sides[0].Character)
}

func contest(t *rules.Turn, d *Contest) error {
	var people [2]*rules.Character
	var efforts [2]effort
	for i, side := range d.Sides {
		path := "sides." + strconv.Itoa(i)
		who, err := t.Living(path+".character", side.Character)
		if err != nil {
			return err
		}
		if i == 0 {
			err = able(t, path+".character", who)
		} else {
			err = awake(path+".character", who)
		}
		if err != nil {
			return err
		}
		people[i] = who
		if efforts[i], err = side.Skill.effort(t, path, who); err != nil {
			return err
		}
	}
	if people[0].ID == people[1].ID {
		return &rules.Invalid{Field: "sides.1.character", Reason: "is the same as the other side"}
	}
	d.meetOnOneScale(people, &efforts)
	a := throw(t, d.Sides[0].Trait, efforts[0])
	b := throw(t, d.Sides[1].Trait, efforts[1])
	facing(t.Options(), &a, &b, outcomeOf)
	return nil
}

// meetOnOneScale converts Strength to the human scale when both sides roll it
// and their scales differ (FUDGE-60).
func (d *Contest) meetOnOneScale(people [2]*rules.Character, efforts *[2]effort) {
	var scales [2]int
	for i, who := range people {
		if !isStrength(d.Sides[i].rolled()) {
			return
		}
		scales[i] = who.Body.(*Body).Sheet.strengthScale()
	}
	if scales[0] != scales[1] {
		efforts[0].scale, efforts[1].scale = scales[0], scales[1]
	}
}

// facing closes two throws against each other, each with a word for how it
// came out, and returns the relative degree of the first.
func facing(o rules.Options, a, b *result, word func(relative int) string) int {
	relative := opposed(*a, *b)
	a.close("opponent", b.degree, critically(o, *a, relative), word(relative), relative)
	b.close("opponent", a.degree, critically(o, *b, -relative), word(-relative), -relative)
	return relative
}
