package fudge

import (
	"tallystick/events"
	"tallystick/rules"
)

// Treat is the data of wound.treat.
type Treat struct {
	Character   string     `json:"character" doc:"who is cared for"`
	By          string     `json:"by,omitzero" doc:"character who cares"`
	Trait       string     `json:"trait,omitzero" maxLength:"200" doc:"medical skill of that character, or its supernormal power"`
	Level       string     `json:"level,omitzero" enum:"Terrible,Poor,Mediocre,Fair,Good,Great,Superb" doc:"medical skill of somebody who is not a character, instead of by and trait; for the game master"`
	Modifiers   []Modifier `json:"modifiers,omitzero" maxItems:"20"`
	Supernormal bool       `json:"supernormal,omitzero" doc:"a power: what it heals is healed at once"`
}

// Actors names who acts.
func (d *Treat) Actors() []string { return actors(d.By) }

// Words for what a treatment came to.
const (
	outcomeHeals = "heals"
	outcomeSaved = "stops the dying"
	outcomeNone  = "no effect"
)

// care is what a medical result does for somebody at a stage.
type care struct {
	worst Stage // that the result heals
	heals bool
	saves bool // from dying
}

// cared reads a medical result (FUDGE-55, B8.5). Near Death is not in the
// text: a Good result keeps alive, and healing is the game master's.
func cared(degree Level, stage Stage) care {
	c := care{worst: medicalTable[min(degree, Superb)]}
	c.saves = stage == NearDeath && degree >= stopsDying
	c.heals = stage > Scratch && stage < NearDeath && c.worst >= Hurt
	return c
}

// wounds are those that a medical result heals: all, when it is good
// enough for how the character stands; or those that it is good enough for one
// by one. Scratches go along.
func (c care) wounds(o rules.Options, b *Body, stage Stage) []int {
	var ordinals []int
	for _, w := range b.Wounds {
		enough := stage <= c.worst
		if o.Is(optHeal, perWound) {
			enough = stageOf(w.Level) <= c.worst || c.worst == Disabled
		}
		if c.heals && enough && !w.Treated {
			ordinals = append(ordinals, w.Ordinal)
		}
	}
	return ordinals
}

func treat(t *rules.Turn, d *Treat) error {
	who, err := t.Living("character", d.Character)
	if err != nil {
		return err
	}
	b := who.Body.(*Body)
	o := t.Options()
	stage := b.stage(o)
	switch {
	case stage == Unhurt:
		return rules.Reject("unhurt", "FUDGE-55", "%s is not hurt", who.Name).On("character")
	case stage == NearDeath && !b.has(dying):
		return rules.Reject("not_dying", "FUDGE-52", "%s is dying no longer: more is for the game master to grant (heal.grant)", who.Name).On("character")
	case stage != NearDeath && b.pointsOf(func(w Wound) bool { return !w.Treated }) == 0:
		return rules.Reject("treated_already", "FUDGE-57", "all wounds of %s are treated and take their time", who.Name).On("character")
	}
	e, err := d.medic(t)
	if err != nil {
		return err
	}
	r := throw(t, "care for "+who.Name, e)
	heal(t, d, who, r)
	return nil
}

// heal emits what a medical result does.
func heal(t *rules.Turn, d *Treat, who *rules.Character, r result) {
	o := t.Options()
	b := who.Body.(*Body)
	stage := b.stage(o)
	c := cared(r.degree, stage)
	ordinals := c.wounds(o, b, stage)
	needed := needs(stage)
	treated := &events.WoundTreated{Subject: events.Subject{Character: who.ID}, By: d.By, Outcome: outcomeNone, Rule: "FUDGE-55"}
	switch {
	case c.saves:
		treated.Outcome, treated.Rule = outcomeSaved, "FUDGE-52"
	case len(ordinals) > 0:
		treated.Outcome, treated.Points = outcomeHeals, b.pointsOf(func(w Wound) bool { return contains(ordinals, w) })
	}
	margin := int(r.degree - needed)
	r.close("medical result needed", needed, critically(o, r, margin), treated.Outcome, margin)
	t.Emit(treated)
	if c.saves {
		t.Emit(&events.ConditionEnded{Subject: events.Subject{Character: who.ID}, Condition: dying, Rule: "FUDGE-52"})
	}
	if len(ordinals) == 0 {
		return
	}
	atOnce := d.Supernormal || o.Int(optTreated) == 0
	t.Emit(&HealingAssured{Subject: events.Subject{Character: who.ID}, Wounds: ordinals, AtOnce: atOnce})
	if b.Remainder != "" && len(ordinals) == len(b.Wounds) {
		t.Emit(&RemainderKept{Subject: events.Subject{Character: who.ID}, Remainder: "0"})
	}
	better(t, who)
}

func contains(ordinals []int, w Wound) bool {
	for _, o := range ordinals {
		if o == w.Ordinal {
			return true
		}
	}
	return false
}

// needs is the medical result that heals somebody at a stage.
func needs(stage Stage) Level {
	for _, l := range []Level{Good, Great, Superb} {
		if medicalTable[l] >= stage {
			return l
		}
	}
	return stopsDying
}

// medic is the effort of who cares.
func (d *Treat) medic(t *rules.Turn) (effort, error) {
	if d.By == "" {
		if !t.GM() {
			return effort{}, &rules.Invalid{Field: "by", Reason: "is missing: which character cares?"}
		}
		if d.Level == "" || d.Trait != "" {
			return effort{}, &rules.Invalid{Field: "level", Reason: "must be given when no character cares (by and trait)"}
		}
		l, err := traitLevel("level", d.Level, Fair)
		e := effort{level: l, label: traitLabel(l, "medical skill", true), rule: "FUDGE-7"}
		if err == nil {
			err = modify(t, &e, "", d.Modifiers)
		}
		return e, err
	}
	if d.Level != "" {
		return effort{}, &rules.Invalid{Field: "level", Reason: "is for somebody who is not a character: a character rolls a trait"}
	}
	if d.Trait == "" {
		return effort{}, &rules.Invalid{Field: "trait", Reason: "is missing: the medical skill of who cares"}
	}
	by, err := t.Living("by", d.By)
	if err != nil {
		return effort{}, err
	}
	if err := able(t, "by", by); err != nil {
		return effort{}, err
	}
	return Skill{Trait: d.Trait, Modifiers: d.Modifiers}.effort(t, "", by)
}

// HealGrant is the data of heal.grant: one of points and level.
type HealGrant struct {
	Character string `json:"character"`
	Points    int    `json:"points,omitzero" minimum:"1" maximum:"1000000"`
	Level     string `json:"level,omitzero" enum:"unhurt,Scratch,Hurt,Very Hurt,Disabled" doc:"how hurt the character is from now on"`
	Cause     string `json:"cause" minLength:"1" maxLength:"200"`
}

func healGrant(t *rules.Turn, d *HealGrant) error {
	who, err := t.Living("character", d.Character)
	if err != nil {
		return err
	}
	if err := name("cause", d.Cause); err != nil {
		return err
	}
	if (d.Points == 0) == (d.Level == "") {
		return &rules.Invalid{Field: "points", Reason: "or level: exactly one of the two must be given"}
	}
	o := t.Options()
	b := who.Body.(*Body)
	points := d.Points
	if d.Level != "" {
		to := stageOf(d.Level)
		if to >= b.stage(o) {
			return rules.Reject("no_better", "FUDGE-39", "%s is %s already", who.Name, stageTable[b.stage(o)].name).On("level")
		}
		points = b.points() - b.track(o)[to]
	}
	lost := b.points()
	t.Emit(&events.HealGranted{Subject: events.Subject{Character: who.ID}, Points: min(points, lost), Cause: d.Cause})
	if b.Remainder != "" && (points > lost || d.Level == stageTable[Unhurt].name) {
		t.Emit(&RemainderKept{Subject: events.Subject{Character: who.ID}, Remainder: "0"})
	}
	better(t, who)
	return nil
}

// Strain is the data of fudge.strain.
type Strain struct {
	Character string `json:"character"`
	Cause     string `json:"cause" minLength:"1" maxLength:"200"`
	Reopens   bool   `json:"reopens,omitzero" doc:"treated wounds count as untreated again"`
}

// strain breaks the week of rest; whether it reopens treated wounds is the
// game master's word (FUDGE-57).
func strain(t *rules.Turn, d *Strain) error {
	who, err := t.Living("character", d.Character)
	if err != nil {
		return err
	}
	if err := name("cause", d.Cause); err != nil {
		return err
	}
	if b := who.Body.(*Body); len(b.Wounds) == 0 && b.Remainder == "" {
		return rules.Reject("unhurt", "FUDGE-56", "%s is not hurt: there is no rest to break", who.Name).On("character")
	}
	t.Emit(&Strained{Subject: events.Subject{Character: who.ID}, Cause: d.Cause, Reopens: d.Reopens})
	return nil
}

// Wake is the data of fudge.wake.
type Wake struct {
	Character string `json:"character"`
}

// wake ends the unconsciousness of somebody Disabled: the text does not say
// when it ends, so the game master does.
func wake(t *rules.Turn, d *Wake) error {
	who, err := t.Living("character", d.Character)
	if err != nil {
		return err
	}
	b := who.Body.(*Body)
	switch {
	case !b.has(unconscious):
		return rules.Reject("conscious", "FUDGE-51", "%s is conscious", who.Name).On("character")
	case b.stage(t.Options()) == NearDeath:
		return rules.Reject("near_death", "FUDGE-52", "%s is Near Death and stays unconscious until healed (heal.grant)", who.Name).On("character")
	}
	t.Emit(&events.ConditionEnded{Subject: events.Subject{Character: who.ID}, Condition: unconscious, Rule: "FUDGE-51"})
	return nil
}

// DecideTick decides what time brings: death (FUDGE-52), a week's healing
// (FUDGE-56), the healing of a treated wound (FUDGE-57). No dice are thrown.
func (System) DecideTick(t *rules.Turn, who *rules.Character, tick rules.Tick) {
	t.Emit(decideTick(who, tick))
	if tick.Kind == tickDying {
		t.Emit(&events.CharacterDied{Subject: events.Subject{Character: who.ID}, Cause: "left untended at Near Death", Rule: "FUDGE-52"})
		return
	}
	better(t, who)
}

func decideTick(who *rules.Character, tick rules.Tick) *events.TickProcessed {
	e := &events.TickProcessed{Subject: events.Subject{Character: who.ID}, Kind: tick.Kind, Due: tick.Due, Rule: "FUDGE-52"}
	b := who.Body.(*Body)
	switch tick.Kind {
	case tickRest:
		e.Rule, e.Change = "FUDGE-56", min(1, b.pointsOf(func(w Wound) bool { return !w.Treated }))
	case tickCare:
		e.Rule, e.Change = "FUDGE-57", 1
	}
	return e
}

// Treatment is care by somebody with a Good medical skill.
func (System) Treatment(_ rules.Options, c *rules.Character) any {
	return &Treat{Character: c.ID, Level: Good.String()}
}
