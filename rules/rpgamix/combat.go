package rpgamix

import (
	"tallystick/events"
	"tallystick/rules"
)

// toHit is what a weapon adds to an attack at a distance in cm (RPGX-16,
// RPGX-17). Without a distance a penalty by distance counts once.
func (w Weapon) toHit(o rules.Options, distance *int) (fixed, far int) {
	if w.PerMetres == 0 {
		return w.ToHit, 0
	}
	bands, cm := 1, w.PerMetres*100
	if distance != nil && o.Is("rpgamix.range_boundary", "near") {
		bands = max(1, (*distance+cm-1)/cm)
	} else if distance != nil {
		bands = *distance/cm + 1
	}
	return w.ToHit, -bands
}

// reach is how near and how far a weapon serves, in cm; no limit is 0
// (RPGX-19 to RPGX-21).
func (w Weapon) reach(str int, choked bool) (least, most int) {
	if choked {
		return w.Choked, w.Min
	}
	if w.Max == 0 {
		return w.Min, 0
	}
	return w.Min, max(0, w.Max+w.MaxStrength*str)
}

// within refuses a distance that the weapon does not serve.
func (w Weapon) within(o rules.Options, str int, choked bool, distance *int) error {
	if choked && w.Choked == 0 {
		return rules.Reject("cannot_choke", "RPGX-21", "nobody can choke up on a %s", w.Name).On("weapon")
	}
	if distance == nil {
		return nil
	}
	least, most := w.reach(str, choked)
	switch {
	case most > 0 && *distance > most, w.Max > 0 && most == 0:
		return rules.Reject("beyond_max_range", "RPGX-19", "%d cm is beyond the reach of a %s: %d cm", *distance, w.Name, most).On("distance_cm")
	case *distance < least && o.Is("rpgamix.min_range_mode", "literal"):
		return rules.Reject("inside_min_range", "RPGX-20", "%d cm is too close for a %s: it needs %d cm", *distance, w.Name, least).On("distance_cm")
	}
	return nil
}

// strengthPenalty is the discrepancy to the strength a weapon needs (RPGX-22).
func (w Weapon) strengthPenalty(str int) int {
	if w.MinStrength == nil {
		return 0
	}
	return min(0, str-*w.MinStrength)
}

// potential is the damage potential of a weapon; firearms have one by model
// (RPGX-14).
func (w Weapon) potential(given *int) (int, error) {
	switch {
	case w.Models == 0 && given != nil:
		return 0, rules.Reject("potential_fixed", "RPGX-14", "the damage potential of a %s is %d", w.Name, w.Potential).On("potential")
	case w.Models == 0:
		return w.Potential, nil
	case given == nil:
		return 0, rules.Reject("potential_needed", "RPGX-14", "a %s has a damage potential of %d to %d by its model: say which", w.Name, w.Potential, w.Models).On("potential")
	case *given < w.Potential || *given > w.Models:
		return 0, rules.Reject("potential_out_of_range", "RPGX-14", "a %s has a damage potential of %d to %d", w.Name, w.Potential, w.Models).On("potential")
	}
	return *given, nil
}

// onslaught is an attack in numbers.
type onslaught struct {
	stat, skill events.Modifier
	strength    int
	weapon      Weapon
	potential   *int // of the model, where it differs
	distance    *int // cm
	choked      bool
	aggravated  int // value of the aggravated skill, 0 for a plain attack
	times       int // how often it is added
	more        sum // what else is added to the roll: health, situation
}

// prepared is an attack that can be rolled.
type prepared struct {
	sum
	factor     int // damage factor
	aggravated int // per cent added on a hit
}

// prepare refuses an attack that the weapon does not allow, and adds up the
// rest (RPGX-6, RPGX-8).
func (a onslaught) prepare(o rules.Options) (prepared, error) {
	if a.aggravated != 0 && a.aggravated != a.skill.Value {
		return prepared{}, rules.Reject("aggravated_skill_is_the_attack_skill", "RPGX-67", "an aggravated attack is rolled with the aggravated skill itself").On("skill")
	}
	potential, err := a.weapon.potential(a.potential)
	if err != nil {
		return prepared{}, err
	}
	if err := a.weapon.within(o, a.strength, a.choked, a.distance); err != nil {
		return prepared{}, err
	}
	p := prepared{sum: d10(), factor: potential, aggravated: 10 * a.aggravated * a.times}
	if !a.weapon.NoStrength {
		p.factor += a.strength
	}
	p.factor = max(0, p.factor)
	fixed, far := a.weapon.toHit(o, a.distance)
	p.plus(a.stat.Label, a.stat.Value, "RPGX-6")
	p.plus(a.skill.Label, a.skill.Value, "RPGX-6")
	if o.On("rpgamix.weapon_to_hit") {
		p.plus(a.weapon.Name, fixed, "RPGX-16")
	}
	p.plus("Distance", far, "RPGX-17")
	p.plus("Missing strength", a.weapon.strengthPenalty(a.strength), "RPGX-22")
	p.terms = append(p.terms, a.more.terms...)
	return p, nil
}

// guard is a defence in numbers.
type guard struct {
	helpless    bool // defence 0, no die (RPGX-12)
	difficulty  *int // the referee's, in place of a roll
	stat, skill events.Modifier
	parry       *Weapon // what it is parried with
	more        sum
	living      bool // or a machine with vital parts (RPGX-11)
	armour      int  // hit points
}

// prepare refuses to parry with what cannot parry (RPGX-18).
func (g guard) prepare(o rules.Options) (sum, error) {
	s := d10()
	s.plus(g.stat.Label, g.stat.Value, "RPGX-6")
	s.plus(g.skill.Label, g.skill.Value, "RPGX-6")
	if w := g.parry; w != nil {
		if w.Parry == nil {
			return s, rules.Reject("cannot_parry_with_that", "RPGX-18", "nobody can parry with a %s", w.Name).On("defence.weapon")
		}
		if o.On("rpgamix.weapon_parry") {
			s.plus("Parry with "+w.Name, *w.Parry, "RPGX-18")
		}
	}
	s.terms = append(s.terms, g.more.terms...)
	return s, nil
}

// rolls reports whether the defence takes a die.
func (g guard) rolls() bool { return !g.helpless && g.difficulty == nil }

// total is the defence: a roll, the referee's difficulty, or nothing.
func (g guard) total(s sum, d func() dice) int {
	switch {
	case g.helpless:
		return 0
	case g.difficulty != nil:
		return *g.difficulty
	}
	return s.roll(d())
}

// Blow is how an attack came out.
type Blow struct {
	Attack        int  `json:"attack"`
	Defence       int  `json:"defence"`
	Hit           bool `json:"hit"`            // or at least a touch (RPGX-25)
	SuccessFactor int  `json:"success_factor"` // per cent (RPGX-7)
	DamageFactor  int  `json:"damage_factor"`  // (RPGX-8)
	Damage        int  `json:"damage"`         // before armour (RPGX-9)
	Taken         int  `json:"taken"`          // behind armour (RPGX-23)
}

// strike compares the totals and finds the damage (RPGX-6 to RPGX-11,
// RPGX-23, RPGX-25, RPGX-67).
func strike(o rules.Options, attack, defence int, p prepared, g guard) Blow {
	b := Blow{Attack: attack, Defence: defence, Hit: attack >= defence, DamageFactor: p.factor}
	if !b.Hit {
		return b
	}
	b.SuccessFactor = 10 * (attack - defence)
	if attack > defence || o.On("rpgamix.aggravated_on_tie") {
		b.SuccessFactor += p.aggravated
	}
	if !g.living {
		b.SuccessFactor = min(b.SuccessFactor, 100)
	}
	b.Damage = b.DamageFactor * b.SuccessFactor / 100
	b.Taken = max(0, b.Damage-g.armour)
	return b
}

func (b Blow) outcome() string {
	switch {
	case b.Attack > b.Defence:
		return "hit"
	case b.Hit:
		return "touch"
	}
	return "miss"
}
