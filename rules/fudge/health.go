package fudge

import (
	"fmt"
	"math/big"

	"tallystick/events"
	"tallystick/rules"
)

// track is the least points of each stage (FUDGE-49).
type track [7]int

// track is the track of a character. In the subjective system points only
// stand for the stages, and hit points are among what the game master weighs.
func (b *Body) track(o rules.Options) track {
	if o.Is(optDamage, subjective) {
		return newTrack(fairTrack, 0)
	}
	return b.Track
}

// newTrack makes a track with so many points more in every stage than a row
// says: any point is a Scratch at least, and two more at Near Death are death
// (FUDGE-53).
func newTrack(r TrackRow, more int) track {
	t := track{Scratch: 1, Hurt: r.Hurt + more, VeryHurt: r.VeryHurt + more, Disabled: r.Disabled + more, NearDeath: r.NearDeath + more}
	for s := Hurt; s <= NearDeath; s++ {
		t[s] = max(1, t[s])
	}
	t[Dead] = t[NearDeath] + toDeath
	return t
}

// stage is the worst stage that so many points reach.
func (t track) stage(points int) Stage {
	for s := Dead; s > Unhurt; s-- {
		if points >= t[s] {
			return s
		}
	}
	return Unhurt
}

// stageNamed finds a stage by its name.
func stageNamed(name string) (s Stage, known bool) {
	for s, row := range stageTable {
		if row.name == name {
			return Stage(s), true
		}
	}
	return 0, false
}

// stageOf is stageNamed for names that were judged before.
func stageOf(name string) Stage {
	s, known := stageNamed(name)
	if !known {
		panic("fudge: no stage is called " + name)
	}
	return s
}

// Harm is one of points and a level.
type Harm struct {
	Points int    `json:"points,omitzero" minimum:"1" maximum:"1000" doc:"hit points, in the objective damage system"`
	Level  string `json:"level,omitzero" enum:"Scratch,Hurt,Very Hurt,Disabled,Near Death,Dead" doc:"subjective system: how hurt the character now is, unless it is worse already; objective system: a wound as bad as that by itself"`
}

// harm is a wound that is about to be inflicted.
type harm struct {
	points   *big.Rat
	level    string // "" to read it off the points
	cause    string
	by       string // character
	weapon   string
	absorbed int
}

// of turns the game master's word into a wound for a character.
func (h Harm) of(o rules.Options, path string, b *Body) (harm, error) {
	if (h.Points == 0) == (h.Level == "") {
		return harm{}, &rules.Invalid{Field: at(path, "points"), Reason: "or level: exactly one of the two must be given"}
	}
	if o.Is(optDamage, objective) {
		if h.Level != "" {
			h.Points = b.track(o)[stageOf(h.Level)]
		}
		return harm{points: big.NewRat(int64(h.Points), 1), level: h.Level}, nil
	}
	if h.Level == "" {
		return harm{}, rules.Reject("no_points_in_subjective_damage", "FUDGE-39", "this campaign does not count points: name how hurt the character is (level)").On(at(path, "points"))
	}
	more := max(0, b.track(o)[stageOf(h.Level)]-b.points())
	return harm{points: big.NewRat(int64(more), 1), level: h.Level}, nil
}

// inflict emits a wound. Whole points are in the wound; a fraction is kept
// beside it until it adds up (FUDGE-48, FUDGE-63).
func inflict(t *rules.Turn, who *rules.Character, h harm) {
	now := t.Again(who)
	b := now.Body.(*Body)
	subject := events.Subject{Character: who.ID}
	total := new(big.Rat).Add(b.remainder(), h.points)
	points := whole(total)
	rest := total.Sub(total, big.NewRat(points, 1))
	if h.level == "" {
		if s := b.track(t.Options()).stage(int(points)); s > Unhurt {
			h.level = stageTable[s].name
		}
	}
	t.Emit(&events.WoundInflicted{
		Subject: subject, Points: int(points), Level: h.level,
		Cause: h.cause, By: h.by, Weapon: h.weapon, Absorbed: h.absorbed,
	})
	if rest.Cmp(b.remainder()) != 0 {
		t.Emit(&RemainderKept{Subject: subject, Remainder: rest.RatString()})
	}
	addScratches(t, who)
}

// addScratches makes a number of scratches a wound that hurts (FUDGE-40).
func addScratches(t *rules.Turn, who *rules.Character) {
	o := t.Options()
	b := t.Again(who).Body.(*Body)
	enough := o.Int(optScratches)
	last := stageTable[Scratch].name
	if o.Is(optDamage, objective) || enough == 0 || b.Scratches == 0 || b.Scratches%enough != 0 || b.stage(o) >= Hurt {
		return
	}
	t.Emit(&events.WoundInflicted{
		Subject: events.Subject{Character: who.ID},
		Points:  b.track(o)[Hurt] - b.points(), Level: stageTable[Hurt].name,
		Cause: fmt.Sprintf("%s × %d", last, enough),
	})
}

// consequences emits what follows from the wounds of a command, for somebody
// who stood at a stage before it.
func consequences(t *rules.Turn, who *rules.Character, before Stage, cause string) {
	o := t.Options()
	now := t.Again(who)
	b := now.Body.(*Body)
	subject := func() events.Subject { return events.Subject{Character: who.ID} }
	switch stage := b.stage(o); {
	case b.Dead:
	case stage == Dead:
		t.Emit(&events.CharacterDied{Subject: subject(), Cause: cause, Rule: "FUDGE-53"})
	case stage == NearDeath:
		if !b.has(unconscious) {
			t.Emit(&events.ConditionGained{Subject: subject(), Condition: unconscious, Rule: "FUDGE-52"})
		}
		if !b.has(dying) {
			due := t.Clock() + int64(o.Int(optDying))*minute
			t.Emit(&events.ConditionGained{Subject: subject(), Condition: dying, Until: due, Rule: "FUDGE-52"})
		}
	case stage == Disabled && before < Disabled && o.Is(optDamage, objective):
		if !staysConscious(t, now) {
			t.Emit(&events.ConditionGained{Subject: subject(), Condition: unconscious, Rule: "FUDGE-51"})
		}
	}
}

// constitution is the effort of staying conscious (FUDGE-51): the wound does
// not weigh on it unless the campaign says so.
func constitution(o rules.Options, who *rules.Character, level Level) effort {
	e := effort{who: who, level: level, label: traitLabel(level, "Constitution", true), rule: "FUDGE-51"}
	e.add("the wound", -o.Int(optConscious), "FUDGE-51")
	return e
}

func staysConscious(t *rules.Turn, who *rules.Character) bool {
	level := mustLevel(who.Body.(*Body).Sheet.Constitution)
	r := throw(t, "stay conscious", constitution(t.Options(), who, level))
	success, margin, critical := unopposed(t.Options(), r, consciousTask)
	outcome := "stays conscious"
	if !success {
		outcome = "falls unconscious"
	}
	r.close("difficulty", consciousTask, critical, outcome, margin)
	return success
}

// better emits what ends when somebody has become better.
func better(t *rules.Turn, who *rules.Character) {
	b := t.Again(who).Body.(*Body)
	stage := b.stage(t.Options())
	if b.has(dying) && stage < NearDeath {
		t.Emit(&events.ConditionEnded{Subject: events.Subject{Character: who.ID}, Condition: dying, Rule: "FUDGE-52"})
	}
	if b.has(unconscious) && stage < Disabled {
		t.Emit(&events.ConditionEnded{Subject: events.Subject{Character: who.ID}, Condition: unconscious, Rule: "FUDGE-51"})
	}
}

// able refuses characters that cannot act, and says why.
func able(t *rules.Turn, field string, who *rules.Character) error {
	o := t.Options()
	if err := awake(field, who); err != nil {
		return err
	}
	b := who.Body.(*Body)
	switch stage := b.stage(o); {
	case !stageTable[stage].acts:
		return rules.Reject("disabled", "FUDGE-51", "%s is %s and cannot act", who.Name, stageTable[stage].name).On(field)
	case b.spent(o):
		return rules.Reject("near_incapacitation", "FUDGE-41", "%s holds %d cards of wounds and fatigue and cannot act", who.Name, b.cards(o)).On(field)
	}
	return nil
}

// awake refuses characters that are unconscious.
func awake(field string, who *rules.Character) error {
	for _, c := range who.Body.(*Body).Conditions {
		if c.Name == unconscious {
			return rules.Reject("unconscious", c.Rule, "%s is unconscious and cannot act", who.Name).On(field)
		}
	}
	return nil
}

// WoundInflict is the data of wound.inflict.
type WoundInflict struct {
	Character string `json:"character"`
	Harm
	Cause string `json:"cause" minLength:"1" maxLength:"200"`
}

func woundInflict(t *rules.Turn, d *WoundInflict) error {
	who, err := t.Living("character", d.Character)
	if err != nil {
		return err
	}
	if err := name("cause", d.Cause); err != nil {
		return err
	}
	b := who.Body.(*Body)
	h, err := d.Harm.of(t.Options(), "", b)
	if err != nil {
		return err
	}
	h.cause = d.Cause
	before := b.stage(t.Options())
	inflict(t, who, h)
	consequences(t, who, before, d.Cause)
	return nil
}

// Kill is the data of fudge.kill.
type Kill struct {
	Character string `json:"character" doc:"the helpless victim"`
	By        string `json:"by,omitzero" doc:"character who does it"`
	Cause     string `json:"cause" minLength:"1" maxLength:"200" doc:"such as: a knife at the throat"`
}

// kill is a death without dice. That the victim is helpless is the game
// master's word (FUDGE-54, B8.4-b Automatic Death).
func kill(t *rules.Turn, d *Kill) error {
	who, err := t.Living("character", d.Character)
	if err != nil {
		return err
	}
	if err := name("cause", d.Cause); err != nil {
		return err
	}
	if d.By != "" {
		by, err := t.Living("by", d.By)
		if err != nil {
			return err
		}
		if err := able(t, "by", by); err != nil {
			return err
		}
	}
	t.Emit(&events.CharacterDied{Subject: events.Subject{Character: who.ID}, Cause: d.Cause, Rule: "FUDGE-54"})
	return nil
}

// name checks a short text that people write.
func name(field, text string) error {
	if err := rules.CheckName(text); err != nil {
		return &rules.Invalid{Field: field, Reason: err.Error()}
	}
	return nil
}
