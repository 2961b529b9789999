package perp

import (
	"fmt"
	"slices"
	"strings"

	"tallystick/events"
	"tallystick/rules"
)

// Hand is what is named for a fighter hand to hand or with a missile.
type Hand struct {
	Test
	Weapon       string   `json:"weapon,omitzero" maxLength:"200" doc:"by its name on the sheet, a class, or a weapon the book names; left out: the first on the sheet; unarmed: bare hands"`
	Shield       *bool    `json:"shield,omitzero" doc:"left out: as on the sheet; true only where the sheet has one"`
	Parry        bool     `json:"parry,omitzero" doc:"defends and does no damage"`
	WeaponSkill  string   `json:"weapon_skill,omitzero" maxLength:"200" doc:"skill with the weapon (kind weapon, or none), for a parry rolled with a skill of another kind, such as shield"`
	ParryTraits  []string `json:"parry_traits,omitzero" maxItems:"50" maxLength:"200" doc:"traits that lessen the damage of a parried blow"`
	DamageTraits []string `json:"damage_traits,omitzero" maxItems:"50" maxLength:"200" doc:"traits that change the damage done"`
	DamageSkills []string `json:"damage_skills,omitzero" maxItems:"8" maxLength:"200" doc:"skills of kind damage"`
	SoakTraits   []string `json:"soak_traits,omitzero" maxItems:"50" maxLength:"200" doc:"traits such as Tough that lessen the damage taken"`
}

// arm looks up everything that was named for a fighter.
func (d *Hand) arm(t *rules.Turn, ch *rules.Character, field string, at reach) (*fighter, error) {
	b, o := ch.Body.(*Body), t.Options()
	weapon, err := b.Sheet.arms(o.Setting.(*Setting), d.Weapon, at)
	if err != nil {
		return nil, err.On(join(field, "weapon"))
	}
	f, problem := d.resolve(o, ch, field, weapon.label)
	if problem != nil {
		return nil, problem
	}
	f.weapon, f.parry = weapon, d.Parry
	f.shield = b.Sheet.Shield
	if d.Shield != nil {
		if *d.Shield && !b.Sheet.Shield {
			return nil, rules.Reject("no_shield", "PERP-23", "%s has no shield", ch.Name).On(join(field, "shield"))
		}
		f.shield = *d.Shield
	}
	f.armour = b.armour()
	for _, list := range []struct {
		to    *[]named
		asked []string
		field string
	}{
		{&f.parryTraits, d.ParryTraits, "parry_traits"},
		{&f.damageTraits, d.DamageTraits, "damage_traits"},
		{&f.soakTraits, d.SoakTraits, "soak_traits"},
	} {
		if *list.to, problem = b.traits(o, ch.Name, join(field, list.field), list.asked); problem != nil {
			return nil, problem
		}
	}
	if f.damageSkills, problem = b.skills(o, ch.Name, join(field, "damage_skills"), d.DamageSkills, weapon.label); problem != nil {
		return nil, problem
	}
	if d.WeaponSkill != "" {
		found, problem := b.skills(o, ch.Name, join(field, "weapon_skill"), []string{d.WeaponSkill}, weapon.label)
		if problem != nil {
			return nil, problem
		}
		f.weaponSkill = &found[0]
	}
	return f, within(field, f.lawfulHand())
}

// lawfulHand is lawful, and holds a weapon skill against what it is for: the
// parry of who rolls with the shield skill, or another that is no weapon skill,
// takes off the skill with the weapon, and no other (PERP-24, PERP-26).
func (f *fighter) lawfulHand() error {
	if s := f.weaponSkill; s != nil {
		rolled, _ := f.skill()
		switch {
		case rolled.withWeapon():
			return rules.Reject("weapon_skill_is_for_shields", "PERP-26", "a weapon skill is named beside the roll only where that is made with a skill of another kind (shield, dodge)").On("weapon_skill")
		case !s.withWeapon():
			return rules.Reject("not_a_weapon_skill", "PERP-26", "%s is no skill with a weapon, but of kind %s", s.Name, s.Kind).On("weapon_skill")
		}
	}
	return f.lawful()
}

// arms finds a weapon: by its name on the sheet or in the setting, or in the
// lists of the book. Without a name it is the first on the sheet that fits, or
// bare hands.
func (s *Sheet) arms(campaign *Setting, name string, at reach) (arms, *rules.Rejection) {
	if name == "" {
		name = s.first(at)
	}
	found, known := arms{label: name, rate: 1}, false
	for _, w := range slices.Concat(s.Weapons, campaign.Weapons) {
		if !known && strings.EqualFold(w.Name, name) {
			c, _ := classOf(w.Class, w.reach())
			found, known = arms{c, w.Name, max(1, w.RateOfFire)}, true
		}
	}
	if !known {
		found.class, known = classOf(name, at)
	}
	if !known {
		found.class, known = classOf(name, anyReach)
	}
	switch {
	case !known:
		return arms{}, rules.Reject("unknown_weapon", "PERP-22", "%s is neither on the sheet nor a weapon that the book names", name)
	case at == afar && !found.missile:
		return arms{}, rules.Reject("not_a_missile", "PERP-34", "%s cannot be thrown or shot", found.label)
	case at == handToHand && found.missile:
		return arms{}, rules.Reject("not_a_hand_weapon", "PERP-21", "%s is no weapon for hand to hand combat", found.label)
	}
	return found, nil
}

// first is the weapon that is used when none is named.
func (s *Sheet) first(at reach) string {
	for _, w := range s.Weapons {
		if c, _ := classOf(w.Class, w.reach()); at.fits(c) {
			return w.Name
		}
	}
	return "unarmed"
}

// Attack is the data of attack: one exchange, or one shot.
type Attack struct {
	Attacker string `json:"attacker"`
	Target   string `json:"target"`
	With     Hand   `json:"with,omitzero" doc:"the attacker's"`
	Against  Hand   `json:"against,omitzero" doc:"the target's; against a missile the skill must be one of dodging"`
	Missile  bool   `json:"missile,omitzero" doc:"thrown or shot, where the weapon alone does not say"`
	Cover    *Cover `json:"cover,omitzero" doc:"what the target of a missile is behind"`
}

// Cover is what a target is behind (PERP-39, PERP-40).
type Cover struct {
	Soft          string `json:"soft,omitzero" enum:"none,half,full" doc:"hides and does not stop a missile"`
	LocationKnown bool   `json:"location_known,omitzero" doc:"the attacker knows where a fully hidden target is"`
	HardQuarters  int    `json:"hard_quarters,omitzero" minimum:"0" maximum:"4" doc:"quarters of the target behind what stops a missile"`
}

// Actors names who acts.
func (d *Attack) Actors() []string { return []string{d.Attacker} }

func attack(t *rules.Turn, d *Attack) error {
	attacker, err := ready(t, "attacker", d.Attacker)
	if err != nil {
		return err
	}
	target, err := opponent(t, "target", d.Target, d.Attacker)
	if err != nil {
		return err
	}
	at := anyReach
	if d.Missile {
		at = afar
	}
	a, err := d.With.arm(t, attacker, "with", at)
	if err != nil {
		return err
	}
	b, err := d.Against.arm(t, target, "against", handToHand)
	if err != nil {
		return err
	}
	if a.weapon.missile {
		return shoot(t, a, b, d.Cover)
	}
	if d.Cover != nil {
		return rules.Reject("no_cover_hand_to_hand", "PERP-39", "cover counts against missiles, not hand to hand").On("cover")
	}
	x := melee(t.Options(), table{t}, a, b, nil)
	attacked(t, a, b, outcomeOf(x.winner), x.margin)
	x.emit(t, a, b)
	return nil
}

func outcomeOf(winner int) string {
	return map[int]string{1: "won", -1: "lost", 0: "draw"}[winner]
}

// attacked marks the attack of this round as used up.
func attacked(t *rules.Turn, a, b *fighter, outcome string, margin int) {
	t.Emit(&Attacked{Subject: of(a), Target: b.who.ID, Weapon: a.weapon.label, Outcome: outcome, Margin: margin})
}

func of(f *fighter) events.Subject { return events.Subject{Character: f.who.ID} }

// ready finds a character who can attack now: awake, the attack of this round
// not used up (PERP-20), no damage left to share out (PERP-32).
func ready(t *rules.Turn, field, id string) (*rules.Character, error) {
	ch, err := awake(t, field, id, "attack")
	if err != nil {
		return nil, err
	}
	b := ch.Body.(*Body)
	if wait := b.FreeAt - t.Clock(); wait > 0 && t.Options().Is("perp.combat_rounds", "enforced") {
		return nil, rules.Reject("one_attack_a_round", "PERP-20", "%s has attacked in this round: the next attack is possible in %d seconds of game time", ch.Name, wait).On(field)
	}
	return ch, sharedOut(t, field, ch)
}

// opponent finds somebody who can be fought.
func opponent(t *rules.Turn, field, id string, attackers ...string) (*rules.Character, error) {
	for _, a := range attackers {
		if a == id {
			return nil, rules.Reject("same_character", "PERP-21", "nobody attacks themselves").On(field)
		}
	}
	ch, err := t.Living(field, id)
	if err != nil {
		return nil, err
	}
	if ch.Body.(*Body).HP <= 0 {
		return nil, rules.Reject("target_unconscious", "PERP-48", "%s is unconscious and makes no roll: the game master says what happens (wound.inflict)", ch.Name).On(field)
	}
	return ch, nil
}

// exchange is what an exchange hand to hand came to: 1 when a won, -1 when b
// did, 0 for a draw.
type exchange struct {
	a, b           int
	winner, margin int
	parts          []events.Modifier
	points         int // what the loser takes
	absorbed       int // what armour stopped
}

// melee rolls an exchange, first a, then b (PERP-21). more is added to the
// roll of b.
func melee(o rules.Options, d roller, a, b *fighter, more []events.Modifier) exchange {
	ra := d.roll(a, a.stance("attack"), 1, a.modifiers(a.shieldBonus()...))
	rb := d.roll(b, b.stance("defence"), 1, b.modifiers(append(b.shieldBonus(), more...)...))
	x := exchange{a: ra.total, b: rb.total}
	x.winner, x.margin = compare(ra.total, rb.total)
	oppose(ra, rb, x.winner, x.margin)
	switch x.winner {
	case 1:
		x.settle(o, a, b, ra)
	case -1:
		x.settle(o, b, a, rb)
	}
	return x
}

func (f *fighter) stance(otherwise string) string {
	if f.parry {
		return "parry"
	}
	return otherwise
}

// shieldBonus is the shield's +1 hand to hand (PERP-23), also for who fights
// with the shield skill (PERP-24).
func (f *fighter) shieldBonus() []events.Modifier {
	if !f.shield {
		return nil
	}
	return []events.Modifier{{Label: "shield", Value: 1, Rule: "PERP-23"}}
}

// settle works out the damage of an exchange. A parrier who wins does none
// (PERP-25), so that none is done when both parry (PERP-27).
func (x *exchange) settle(o rules.Options, winner, loser *fighter, won *rolled) {
	if winner.parry || winner.holds {
		return
	}
	x.parts, x.points, x.absorbed = damage(winner.force(x.margin), loser.guard(o), loser.armour)
	won.detail(Damage{To: loser.id(), Parts: x.parts, Points: x.points})
}

func (f *fighter) id() string {
	if f.who == nil {
		return ""
	}
	return f.who.ID
}

// force is what a blow carries: the margin, multiplied by firearms (PERP-36),
// with other weapons their bonus (PERP-22, PERP-35), then what changes damage
// (PERP-41, PERP-44).
func (f *fighter) force(margin int) []events.Modifier {
	var parts []events.Modifier
	if f.weapon.times > 0 {
		label := fmt.Sprintf("margin %d times %d for a %s", margin, f.weapon.times, f.weapon.name)
		parts = append(parts, events.Modifier{Label: label, Value: margin * f.weapon.times, Rule: f.weapon.rule})
	} else {
		parts = append(parts, events.Modifier{Label: "margin", Value: margin, Rule: "PERP-41"})
		parts = append(parts, f.weapon.modifier(1)...)
	}
	return append(parts, f.fury()...)
}

// fury is what traits and skills add to the damage done (PERP-44).
func (f *fighter) fury() []events.Modifier {
	var parts []events.Modifier
	for _, t := range append(append([]named{}, f.damageTraits...), f.damageSkills...) {
		parts = append(parts, t.modifier(1, "PERP-44"))
	}
	return parts
}

func (a arms) modifier(sign int) []events.Modifier {
	if a.bonus == 0 {
		return nil
	}
	label := a.label
	if label != a.name {
		label += ", " + a.name + " weapon"
	} else {
		label += " weapon"
	}
	return []events.Modifier{{Label: label, Value: sign * a.bonus, Rule: a.rule}}
}

// guard is what the loser takes off: toughness (PERP-44), and the weapon, the
// weapon skill and traits of a parry (PERP-26). A parrier is allowed to take
// them off: what would make it worse is never forced on anybody.
func (f *fighter) guard(o rules.Options) []events.Modifier {
	parts := f.toughness()
	if !f.parry {
		return parts
	}
	for _, m := range f.weapon.modifier(-1) {
		parts = append(parts, events.Modifier{Label: "parry with " + m.Label, Value: m.Value, Rule: "PERP-26"})
	}
	if s, ok := f.parrySkill(o); ok && s.Value > 0 {
		parts = append(parts, s.modifier(-1, "PERP-26"))
	}
	for _, t := range f.parryTraits {
		if t.Value > 0 {
			parts = append(parts, t.modifier(-1, "PERP-26"))
		}
	}
	return parts
}

func (f *fighter) toughness() []events.Modifier {
	var parts []events.Modifier
	for _, t := range f.soakTraits {
		parts = append(parts, t.modifier(-1, "PERP-44"))
	}
	return parts
}

// parrySkill is the weapon skill that a parry takes off the damage: that of
// the roll, although it was in it already, or the one named beside a roll with
// another skill (PERP-26).
func (f *fighter) parrySkill(o rules.Options) (named, bool) {
	rolled, ok := f.skill()
	if f.weaponSkill != nil && (!ok || f.weaponSkill.Name != rolled.Name) {
		return *f.weaponSkill, true
	}
	return rolled, ok && rolled.withWeapon() && o.On("perp.parry_skill_twice")
}

// damage adds up what a blow carries and what is taken off, armour last. It is
// never below zero (PERP-41, PERP-45). absorbed is what armour stopped.
func damage(force, guard []events.Modifier, armour events.Modifier) (parts []events.Modifier, points, absorbed int) {
	parts = append(force, guard...)
	bare := max(0, sum(parts))
	if armour.Value != 0 {
		parts = append(parts, events.Modifier{Label: armour.Label, Value: -armour.Value, Rule: armour.Rule})
	}
	points = max(0, sum(parts))
	return parts, points, bare - points
}

// emit wounds the loser of an exchange.
func (x exchange) emit(t *rules.Turn, a, b *fighter) {
	switch x.winner {
	case 1:
		wound(t, a, b, x.points, x.absorbed)
	case -1:
		wound(t, b, a, x.points, x.absorbed)
	}
}

// wound takes hit points for a blow. What hits the dead changes nothing.
func wound(t *rules.Turn, by, to *fighter, points, absorbed int) {
	b := t.Again(to.who).Body.(*Body)
	if points == 0 || !b.alive() {
		return
	}
	happen(t, to.who, &events.WoundInflicted{
		Subject: of(to), Points: points, Cause: by.name + " with " + by.weapon.label,
		By: by.id(), Weapon: by.weapon.label, Absorbed: absorbed,
	})
}
