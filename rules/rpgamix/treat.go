package rpgamix

import (
	"tallystick/events"
	"tallystick/rules"
)

// Outcomes of a treatment.
const (
	stabilised = "stabilised"
	failed     = "failed"
)

// Wound is the data of wound.inflict.
type Wound struct {
	Character string `json:"character"`
	Points    int    `json:"points" minimum:"1" maximum:"10000" doc:"hit points lost, armour or not"`
	Cause     string `json:"cause" minLength:"1" maxLength:"200" doc:"a fall, a poison"`
}

// inflict is harm by the game master's hand: no strike, so nobody is stunned,
// but passing out (RPGX-27) and falling to Awful (RPGX-34) are rolled for.
func inflict(t *rules.Turn, d *Wound) error {
	if err := rules.CheckName(d.Cause); err != nil {
		return &rules.Invalid{Field: "cause", Reason: err.Error()}
	}
	c, err := t.Living("character", d.Character)
	if err != nil {
		return err
	}
	harm(t, c, events.WoundInflicted{Points: d.Points, Cause: d.Cause}, false)
	return nil
}

// Treatment is the data of wound.treat. Skill or stat makes it a check, with
// the difficulty that the game master sets.
type Treatment struct {
	Character string `json:"character" doc:"who is treated"`
	By        string `json:"by,omitzero" doc:"character who treats"`
	Trial
	Difficulty *int `json:"difficulty,omitzero" minimum:"-1000" maximum:"1000"`
}

// Actors names who acts.
func (d *Treatment) Actors() []string { return actors(d.By) }

// treat stabilises a casualty (RPGX-51): by a skill check of who treats; with
// soap and water where the health is Good; or by the game master's word.
func treat(t *rules.Turn, d *Treatment) error {
	c, err := t.Living("character", d.Character)
	if err != nil {
		return err
	}
	if err := treatable(c); err != nil {
		return err
	}
	by, err := hand(t, d, c)
	if err != nil {
		return err
	}
	outcome := stabilised
	if d.Skill != "" || d.Stat != "" {
		trial, err := d.checked(t, by)
		if err != nil {
			return err
		}
		if !trial.exertion(t, by, "treating wounds") || !trial.check(t, by, "treating "+c.Name, *d.Difficulty) {
			outcome = failed
		}
	}
	t.Emit(&events.WoundTreated{Subject: of(c), By: d.By, Outcome: outcome, Rule: "RPGX-51"})
	return nil
}

func treatable(c *rules.Character) error {
	switch b := bodyOf(c); {
	case !b.isLiving():
		return rules.Reject("not_living", "RPGX-51", "%s is no living being: there is nothing to treat", c.Name).On("character")
	case !b.hurt():
		return rules.Reject("unhurt", "RPGX-51", "%s has no wounds", c.Name).On("character")
	case b.Stabilised:
		return rules.Reject("already_stabilised", "RPGX-51", "the wounds of %s are treated already", c.Name).On("character")
	}
	return nil
}

// hand is who treats, nil for the game master's word.
func hand(t *rules.Turn, d *Treatment, casualty *rules.Character) (*rules.Character, error) {
	rolls := d.Skill != "" || d.Stat != ""
	switch {
	case rolls && d.By == "":
		return nil, &rules.Invalid{Field: "by", Reason: "is missing: a check needs a character who makes it"}
	case rolls && d.Difficulty == nil:
		return nil, &rules.Invalid{Field: "difficulty", Reason: "is missing: a check needs one"}
	case !rolls && (d.Difficulty != nil || !d.Trial.empty()):
		return nil, &rules.Invalid{Field: "skill", Reason: "is missing: a difficulty or modifiers need a check to belong to"}
	case !rolls && !t.GM() && bodyOf(casualty).rank() != good:
		return nil, rules.Reject("check_needed", "RPGX-51", "soap and water are not enough for %s: treating takes a check, or the game master's word", casualty.Name).On("skill")
	case d.By == "" && !t.GM():
		return nil, &rules.Invalid{Field: "by", Reason: "is missing: one of your characters has to treat"}
	case d.By == "":
		return nil, nil
	}
	return able(t, "by", d.By, "treat wounds")
}

// Healing is the data of heal.grant.
type Healing struct {
	Character string `json:"character"`
	Points    int    `json:"points" minimum:"1" maximum:"10000" doc:"hit points given back, never above the maximum"`
	Cause     string `json:"cause" minLength:"1" maxLength:"200"`
}

// heal gives points back by the game master's hand.
func heal(t *rules.Turn, d *Healing) error {
	if err := rules.CheckName(d.Cause); err != nil {
		return &rules.Invalid{Field: "cause", Reason: err.Error()}
	}
	c, err := t.Living("character", d.Character)
	if err != nil {
		return err
	}
	b := bodyOf(c)
	if !b.hurt() {
		return rules.Reject("unhurt", "RPGX-28", "%s has no wounds", c.Name).On("character")
	}
	points := min(d.Points, b.max()-b.Points)
	t.Emit(&events.HealGranted{Subject: of(c), Points: points, Cause: d.Cause})
	recovery(t, c, points)
	return nil
}

// Treatment is the game master's word.
func (system) Treatment(_ rules.Options, c *rules.Character) any {
	return &Treatment{Character: c.ID}
}

// Waking is the data of rpgamix.wake.
type Waking struct {
	Character string `json:"character"`
	Cause     string `json:"cause" minLength:"1" maxLength:"200"`
}

// wake ends unconsciousness. An incapacitated character is awake by magic
// then, at -16 (RPGX-36).
func wake(t *rules.Turn, d *Waking) error {
	if err := rules.CheckName(d.Cause); err != nil {
		return &rules.Invalid{Field: "cause", Reason: err.Error()}
	}
	c, err := t.Living("character", d.Character)
	if err != nil {
		return err
	}
	b := bodyOf(c)
	if _, out := b.out(); !out {
		return rules.Reject("not_unconscious", "RPGX-27", "%s is awake", c.Name).On("character")
	}
	if passedOut, ok := b.condition(unconscious, ""); ok {
		t.Emit(&events.ConditionEnded{Subject: of(c), Condition: unconscious, Rule: passedOut.Rule})
	}
	if b.rank() == incapacitated && b.isLiving() {
		t.Emit(&events.ConditionGained{Subject: of(c), Condition: awake, Rule: "RPGX-36"})
	}
	return nil
}

// Exertion is the data of rpgamix.exert.
type Exertion struct {
	Character string `json:"character"`
	Act       string `json:"act" minLength:"1" maxLength:"200" doc:"crawling for the door"`
}

// Actors names who acts.
func (d *Exertion) Actors() []string { return actors(d.Character) }

// exert is a strenuous act without a check of its own (RPGX-35).
func exert(t *rules.Turn, d *Exertion) error {
	if err := rules.CheckName(d.Act); err != nil {
		return &rules.Invalid{Field: "act", Reason: err.Error()}
	}
	c, err := able(t, "character", d.Character, "exert themselves")
	if err != nil {
		return err
	}
	if !bodyOf(c).isLiving() {
		return rules.Reject("not_living", "RPGX-35", "%s is no living being: exertion takes no roll", c.Name).On("character")
	}
	if bodyOf(c).rank() != awful {
		return rules.Reject("not_awful", "RPGX-35", "%s is not in Awful health: exertion takes no roll", c.Name).On("character")
	}
	strain(t, c, d.Act)
	return nil
}

// exertionDifficulty is "5 plus the number of times you've rolled so far".
func exertionDifficulty(earlier int) int { return conDifficulty + earlier }

// strain is the Con roll of a strenuous act in Awful health; it reports
// whether the character is still awake.
func strain(t *rules.Turn, c *rules.Character, act string) bool {
	b := bodyOf(t.Again(c))
	if b.rank() != awful || !b.isLiving() {
		return true
	}
	difficulty := exertionDifficulty(b.Exertions)
	awake := stayAwake(t.Options(), b.con(), difficulty, t.Throw("Con roll for the exertion of "+act, c))
	t.Emit(&ConsciousnessChecked{Subject: of(c), Act: act, Difficulty: difficulty, Awake: awake})
	if !awake {
		t.Emit(&events.ConditionGained{Subject: of(c), Condition: unconscious, Rule: "RPGX-35"})
	}
	return awake
}
