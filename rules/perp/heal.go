package perp

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"tallystick/events"
	"tallystick/rules"
)

// Outcomes of a treatment.
const (
	stabilised = "stabilised" // bleeds no more
	tended     = "tended"
)

// Inflict is the data of wound.inflict.
type Inflict struct {
	Character string `json:"character"`
	Points    int    `json:"points" minimum:"1" maximum:"10000" doc:"hit points lost, after armour"`
	Cause     string `json:"cause" minLength:"1" maxLength:"200"`
}

func inflict(t *rules.Turn, d *Inflict) error {
	if err := rules.CheckName(d.Cause); err != nil {
		return &rules.Invalid{Field: "cause", Reason: err.Error()}
	}
	ch, err := t.Living("character", d.Character)
	if err != nil {
		return err
	}
	happen(t, ch, &events.WoundInflicted{
		Subject: events.Subject{Character: ch.ID}, Points: d.Points, Cause: d.Cause,
	})
	return nil
}

// Grant is the data of heal.grant.
type Grant struct {
	Character string `json:"character"`
	Points    int    `json:"points" minimum:"1" maximum:"10000"`
	Cause     string `json:"cause" minLength:"1" maxLength:"200"`
}

func grant(t *rules.Turn, d *Grant) error {
	if err := rules.CheckName(d.Cause); err != nil {
		return &rules.Invalid{Field: "cause", Reason: err.Error()}
	}
	ch, err := hurt(t, d.Character)
	if err != nil {
		return err
	}
	b := ch.Body.(*Body)
	points := min(d.Points, b.Sheet.HitPoints-b.HP) // PERP-53
	happen(t, ch, &events.HealGranted{Subject: events.Subject{Character: ch.ID}, Points: points, Cause: d.Cause})
	return nil
}

// hurt finds somebody alive who has hit points to regain.
func hurt(t *rules.Turn, id string) (*rules.Character, error) {
	ch, err := t.Living("character", id)
	if err != nil {
		return nil, err
	}
	if b := ch.Body.(*Body); b.HP >= b.Sheet.HitPoints {
		return nil, rules.Reject("not_hurt", "PERP-53", "%s has all %d hit points", ch.Name, b.Sheet.HitPoints).On("character")
	}
	return ch, nil
}

// Stabilise is the data of perp.stabilise.
type Stabilise struct {
	Character string `json:"character"`
}

func stabilise(t *rules.Turn, d *Stabilise) error {
	if !t.Options().Is("perp.stabilise", "gm") {
		return rules.Reject("not_by_word", "PERP-50", "in this campaign bleeding is not stopped by the game master's word (option perp.stabilise)")
	}
	ch, err := t.Living("character", d.Character)
	if err != nil {
		return err
	}
	if ch.Body.(*Body).BleedDue == 0 {
		return rules.Reject("not_bleeding", "PERP-49", "%s does not bleed", ch.Name).On("character")
	}
	happen(t, ch, &events.WoundTreated{Subject: events.Subject{Character: ch.ID}, Outcome: stabilised, Rule: "PERP-50"})
	return nil
}

// Treat is the data of wound.treat: tending (PERP-52). The test members are
// the healer's.
type Treat struct {
	Character string `json:"character"`
	By        string `json:"by,omitzero" doc:"the healer; left out: a hand at the table without a sheet, for the game master to name"`
	Test
	HandSkill     *int     `json:"hand_skill,omitzero" minimum:"-4" maximum:"20" doc:"medical skill of a healer without a sheet"`
	PatientTraits []string `json:"patient_traits,omitzero" maxItems:"50" maxLength:"200" doc:"traits of the patient that count; left out: those the sheet lists under healing"`
	Tools         bool     `json:"tools,omitzero" doc:"clean bandages, thread and needle are at hand"`
}

// Actors names who acts: the healer.
func (d *Treat) Actors() []string {
	if d.By == "" {
		return nil
	}
	return []string{d.By}
}

func treat(t *rules.Turn, d *Treat) error {
	patient, err := hurt(t, d.Character)
	if err != nil {
		return err
	}
	medic, err := d.medic(t)
	if err != nil {
		return err
	}
	_, trained := medic.skill()
	if err := lawfulTending(t.Options(), medic, trained, d.Tools); err != nil {
		return err
	}
	b := patient.Body.(*Body)
	named := b.Sheet.Healing
	if d.PatientTraits != nil {
		named = d.PatientTraits
	}
	traits, err := b.traits(t.Options(), patient.Name, "patient_traits", named)
	if err != nil {
		return err
	}
	if twice := repeated(names(traits)); twice != "" {
		return rules.Reject("trait_twice", "PERP-14", "%s counts once in a roll: it is named twice", twice).On("patient_traits")
	}
	stops := b.BleedDue > 0 && t.Options().Is("perp.stabilise", "tending")
	if b.Tended && !stops {
		return rules.Reject("already_tended", "PERP-53", "%s has been tended in this week of healing", patient.Name).On("character")
	}
	e := &events.WoundTreated{Subject: events.Subject{Character: patient.ID}, By: d.By, Outcome: tended, Rule: "PERP-52"}
	if stops {
		e.Outcome = stabilised
	}
	if !b.Tended {
		_, e.Points = tend(table{t}, medic, traits)
	}
	happen(t, patient, e)
	return nil
}

// medic finds the healer: a character who is awake, or a hand without a sheet.
func (d *Treat) medic(t *rules.Turn) (*fighter, error) {
	if d.By != "" {
		if d.HandSkill != nil {
			return nil, &rules.Invalid{Field: "hand_skill", Reason: "is for a healer without a sheet: leave it out or leave out by"}
		}
		ch, err := awake(t, "by", d.By, "tend anybody")
		if err != nil {
			return nil, err
		}
		return d.resolve(t.Options(), ch, "", "")
	}
	if !t.GM() {
		return nil, &rules.Forbidden{Reason: "a healer without a sheet is for the game master to name: say by whom"}
	}
	if len(d.Skills)+len(d.Traits) > 0 {
		return nil, &rules.Invalid{Field: "by", Reason: "is missing: skills and traits are a character's"}
	}
	f := &fighter{name: "the healer"}
	if d.HandSkill != nil {
		f.skills = []named{{Name: "medical skill", Value: *d.HandSkill, Kind: kindMedical, rule: "PERP-52"}}
	}
	var err error
	f.mods, err = d.situation("")
	return f, err
}

// lawfulTending says whether wounds can be tended at all: with a skill that
// has to do with medicine, and with tools (PERP-52).
func lawfulTending(o rules.Options, medic *fighter, trained, tools bool) error {
	if err := medic.lawful(); err != nil {
		return err
	}
	if s, ok := medic.skill(); !trained || ok && s.Kind != kindMedical && s.Kind != "" {
		return rules.Reject("closed_no_skill", "PERP-52", "%s needs a skill that has to do with medicine to tend wounds: name it under skills", orSomebody(medic.name)).On("skills")
	}
	if !tools {
		return rules.Reject("closed_no_tools", "PERP-52", "%s needs clean bandages, thread and needle to tend wounds: say so with tools", orSomebody(medic.name)).On("tools")
	}
	if len(medic.traits) > 0 && !o.On("perp.medic_traits") {
		return rules.Reject("medic_traits_do_not_count", "PERP-52", "in this campaign only the patient's traits count in tending (option perp.medic_traits)").On("traits")
	}
	return nil
}

// tend rolls a test of tending. A third of the result, without the fraction
// and never below zero, comes back over the week (PERP-52).
func tend(d roller, medic *fighter, patient []named) (result, points int) {
	var more []events.Modifier
	for _, p := range patient {
		more = append(more, events.Modifier{Label: "patient is " + p.Name, Value: p.Value, Rule: "PERP-52"})
	}
	r := d.roll(medic, "tending", 1, medic.modifiers(more...))
	points = max(0, r.total) / 3
	if r.throw != nil {
		r.throw.Result(fmt.Sprintf("%d over the week", points), points)
	}
	return r.total, points
}

// Week is how a week's healing came about; it stands in the detail of the
// throw.
type Week struct {
	Natural  int `json:"natural"`
	Tended   int `json:"tended"`
	Regained int `json:"regained"`
}

// heal decides the week's healing: a d6 with the traits that count, and what
// tending has brought (PERP-51, PERP-52). Where no face would bring anything,
// no die is thrown.
func (b *Body) heal(t *rules.Turn, c *rules.Character) (rolled bool, change int) {
	traits, err := b.traits(t.Options(), c.Name, "healing", b.Sheet.Healing)
	if err != nil {
		panic("perp: " + err.Error()) // the sheet was checked
	}
	var mods []events.Modifier
	for _, n := range traits {
		mods = append(mods, n.modifier(1, "PERP-51"))
	}
	if 6+sum(mods) <= 0 {
		return false, b.regain(0, b.TendedPoints)
	}
	th := t.Throw(healing, c)
	natural := naturally(th, sum(mods))
	for _, m := range mods {
		th.Add(m.Label, m.Value, m.Rule)
	}
	change = b.regain(natural, b.TendedPoints)
	th.Result("heals", change)
	raw, err := json.Marshal(Week{natural, b.TendedPoints, change}, json.Deterministic(true))
	if err != nil {
		panic("perp: " + err.Error())
	}
	th.Detail = raw
	return true, change
}

// naturally is what comes back by itself: a d6 with traits, never below zero
// (PERP-51).
func naturally(d die, traits int) int { return max(0, d.Die(6)+traits) }

// regain is how much really comes back: never above the starting hit points
// (PERP-53).
func (b *Body) regain(natural, tended int) int {
	return min(natural+tended, b.Sheet.HitPoints-b.HP)
}

// Treatment is tending by a hand without a sheet and with the least training
// that the rules accept, a zero-level skill, and proper tools.
func (System) Treatment(_ rules.Options, c *rules.Character) any {
	least := 0
	return &Treat{Character: c.ID, HandSkill: &least, Tools: true}
}
