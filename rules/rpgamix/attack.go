package rpgamix

import (
	"github.com/go-json-experiment/json"

	"tallystick/events"
	"tallystick/rules"
)

// Thing is a target that is no character: a door, a rock.
type Thing struct {
	Name    string `json:"name" minLength:"1" maxLength:"200"`
	Machine bool   `json:"machine,omitzero" doc:"has vital parts, so that more than 100 % is possible"`
	Armour  int    `json:"armour,omitzero" minimum:"0" maximum:"10000" doc:"hit points that it stops"`
}

// Aggravated makes an attack with an aggravated skill (RPGX-67).
type Aggravated struct {
	Skill string `json:"skill,omitzero" maxLength:"200" doc:"a discipline's aggravated skill; Aggravated Attack unless it says otherwise"`
	Twice bool   `json:"twice,omitzero" doc:"two points of the discipline's pool, such as ki, spent before the die, add the skill twice"`
}

// Defence is how the target defends: d10, dexterity and a skill.
type Defence struct {
	Skill     string     `json:"skill,omitzero" maxLength:"200" doc:"Parry with a weapon and Dodge without one unless it says otherwise; a strategic skill makes the defence strategic"`
	Stat      string     `json:"stat,omitzero" enum:"str,con,dex,per,int,wits,cha,app" doc:"dex unless it says otherwise"`
	Weapon    string     `json:"weapon,omitzero" maxLength:"200" doc:"what the blow is parried with"`
	Fire      bool       `json:"fire,omitzero" doc:"adds Fire Defense to another defence against fire"`
	Spend     int        `json:"spend,omitzero" minimum:"0" maximum:"1000" doc:"fire points, where Fire Defense is used"`
	Modifiers []Modifier `json:"modifiers,omitzero" maxItems:"50"`
}

// Attack is the data of attack.
type Attack struct {
	Attacker   string      `json:"attacker"`
	Target     string      `json:"target,omitzero" doc:"a character"`
	Thing      *Thing      `json:"thing,omitzero" doc:"or what is none; needs a difficulty"`
	Weapon     string      `json:"weapon,omitzero" maxLength:"200" doc:"of the attacker's own or of the table; the bare fist unless it says otherwise"`
	Custom     *Weapon     `json:"custom,omitzero" doc:"a weapon that is in no table"`
	Potential  *int        `json:"potential,omitzero" minimum:"0" maximum:"10000" doc:"of the model, for firearms"`
	Skill      string      `json:"skill,omitzero" maxLength:"200" doc:"the weapon's name unless it says otherwise"`
	Stat       string      `json:"stat,omitzero" enum:"str,con,dex,per,int,wits,cha,app" doc:"dex unless it says otherwise"`
	Distance   *int        `json:"distance_cm,omitzero" minimum:"0" maximum:"100000000" doc:"in cm; without it reach is not checked"`
	Aggravated *Aggravated `json:"aggravated,omitzero"`
	Fire       bool        `json:"fire,omitzero" doc:"an attack by fire, which Fire Defense helps against"`
	Modifiers  []Modifier  `json:"modifiers,omitzero" maxItems:"50"`
	Difficulty *int        `json:"difficulty,omitzero" minimum:"-1000" maximum:"1000" doc:"set by the referee in place of a defence"`
	Defence    *Defence    `json:"defence,omitzero"`
	Armour     *int        `json:"armour,omitzero" minimum:"0" maximum:"10000" doc:"in place of what the target wears"`
}

// Actors names who acts.
func (d *Attack) Actors() []string { return actors(d.Attacker) }

// fight is an attack that has been checked and can be rolled.
type fight struct {
	attacker, target *rules.Character // target is nil for a thing
	name             string           // of the target
	prepared
	defence sum
	guard
	weapon Weapon
	won    int          // banked points that go into the attack
	kept   int          // and into the defence
	pool   *PoolChanged // ki spent by the attacker
	fire   int          // fire points spent by the target
	ward   string       // strategic skill of the defence
}

// attack decides a blow or a shot and all that follows from it.
func attack(t *rules.Turn, d *Attack) error {
	f, err := d.checked(t)
	if err != nil {
		return err
	}
	if !strain(t, f.attacker, "attacking") {
		return nil
	}
	f.spend(t)
	th := t.Throw("attack on "+f.name, f.attacker)
	total := f.prepared.roll(th)
	var against *rules.Throw
	defence := f.guard.total(f.defence, func() dice {
		against = t.Throw("defence against "+f.attacker.Name, f.target)
		return against
	})
	blow := strike(t.Options(), total, defence, f.prepared, f.guard)
	f.show(th, against, blow)
	f.follow(t, d, blow)
	return nil
}

// show writes the outcome into the throws.
func (f *fight) show(th, against *rules.Throw, blow Blow) {
	kind := "defence"
	if f.guard.difficulty != nil && !f.guard.helpless {
		kind = "difficulty"
	}
	margin := blow.Attack - blow.Defence
	th.Versus(kind, blow.Defence)
	th.Result(blow.outcome(), margin)
	detail, err := json.Marshal(blow, json.Deterministic(true))
	if err != nil {
		panic("rpgamix: " + err.Error())
	}
	th.Detail = detail
	if against != nil {
		against.Versus("attack", blow.Attack)
		against.Result(map[string]string{"hit": "struck", "touch": "touched", "miss": "warded"}[blow.outcome()], -margin)
	}
}

// spend takes what was staked before the die.
func (f *fight) spend(t *rules.Turn) {
	if f.won > 0 {
		t.Emit(&AdvantageUsed{Subject: of(f.attacker), Opponent: f.target.ID, In: "attack", Points: f.won})
	}
	if f.pool != nil {
		t.Emit(f.pool)
	}
	if f.kept > 0 {
		t.Emit(&AdvantageUsed{Subject: of(f.target), Opponent: f.attacker.ID, In: "defence", Points: f.kept})
	}
	if f.fire > 0 {
		t.Emit(&PoolChanged{Subject: of(f.target), Pool: firePool, Change: -f.fire, Cause: fireDefense, Rule: "RPGX-77"})
	}
}

// follow says what the blow did to the target.
func (f *fight) follow(t *rules.Turn, d *Attack, blow Blow) {
	if f.target == nil {
		return
	}
	if f.ward != "" && blow.Defence > blow.Attack {
		t.Emit(&BlowWarded{Subject: of(f.target), Opponent: f.attacker.ID, Skill: f.ward, Excess: blow.Defence - blow.Attack})
	}
	if !blow.Hit {
		return
	}
	stopped := blow.Damage - blow.Taken
	if stopped > 0 && d.Armour == nil && t.Options().Is("rpgamix.armour_wear", "ablative") {
		t.Emit(&ArmourDamaged{Subject: of(f.target), Points: stopped})
	}
	harm(t, f.target, events.WoundInflicted{
		Points: blow.Taken, Cause: "attack by " + f.attacker.Name, By: f.attacker.ID, Weapon: f.weapon.Name, Absorbed: stopped,
	}, true)
}

// checked refuses everything that can be refused, before any die.
func (d *Attack) checked(t *rules.Turn) (*fight, error) {
	c, err := able(t, "attacker", d.Attacker, "attack")
	if err != nil {
		return nil, err
	}
	f := &fight{attacker: c}
	if err := f.aim(t, d); err != nil {
		return nil, err
	}
	if err := f.free(); err != nil {
		return nil, err
	}
	if f.weapon, err = d.arm(t, bodyOf(c)); err != nil {
		return nil, err
	}
	if err := f.readyAttack(t, d); err != nil {
		return nil, err
	}
	return f, f.readyDefence(t, d)
}

// aim finds the target: a character or a thing.
func (f *fight) aim(t *rules.Turn, d *Attack) error {
	switch {
	case (d.Target == "") == (d.Thing == nil):
		return &rules.Invalid{Field: "target", Reason: "or thing: exactly one of the two must be given"}
	case d.Thing != nil && d.Difficulty == nil:
		return &rules.Invalid{Field: "difficulty", Reason: "is missing: a thing does not defend itself"}
	case d.Thing != nil:
		f.name = d.Thing.Name
		return nil
	case d.Target == d.Attacker:
		return rules.Reject("same_character", "RPGX-6", "%s cannot attack themselves", f.attacker.Name).On("target")
	}
	var err error
	if f.target, err = t.Living("target", d.Target); err != nil {
		return err
	}
	f.name = f.target.Name
	return nil
}

// free refuses an attack by somebody who is held (RPGX-74) or whose opponent
// has slipped inside (RPGX-73).
func (f *fight) free() error {
	b := bodyOf(f.attacker)
	if b.has(held) {
		return rules.Reject("held", "RPGX-74", "%s is held and has to break free before attacking", f.attacker.Name).On("attacker")
	}
	if f.target == nil {
		return nil
	}
	if _, yes := b.condition(outmatched, f.target.ID); yes {
		return rules.Reject("opponent_slipped_inside", "RPGX-73", "%s has slipped inside the reach of %s, who cannot attack back before their next turn", f.target.Name, f.attacker.Name).On("target")
	}
	return nil
}

// arm finds the weapon.
func (d *Attack) arm(t *rules.Turn, b *Body) (Weapon, error) {
	if d.Custom != nil {
		if d.Weapon != "" {
			return Weapon{}, &rules.Invalid{Field: "custom", Reason: "and weapon: only one of the two can be given"}
		}
		return *d.Custom, nil
	}
	name := d.Weapon
	if name == "" {
		name = "Fist/Hand"
	}
	w, ok := b.weapon(t.Options(), name)
	if !ok {
		return w, rules.Reject("unknown_weapon", "RPGX-13", "no weapon is called %q: it is neither on the sheet nor in the table", name).On("weapon")
	}
	if g := b.Grip; g != nil && fold(g.Weapon) == fold(w.Name) && g.Ready > t.Clock() {
		return w, rules.Reject("changing_grip", "RPGX-21", "changing the grip on a %s takes a round", w.Name).On("weapon")
	}
	return w, nil
}

// readyAttack adds up the attacker's side.
func (f *fight) readyAttack(t *rules.Turn, d *Attack) error {
	b := bodyOf(f.attacker)
	o := t.Options()
	stat := d.Stat
	if stat == "" {
		stat = "dex"
	}
	a := onslaught{
		stat: modifier(statLabel(stat), b.Sheet.Stats.of(stat), "RPGX-6"), strength: b.Sheet.Stats.Str,
		weapon: f.weapon, potential: d.Potential, distance: d.Distance,
		choked: b.Grip != nil && b.Grip.Choked && fold(b.Grip.Weapon) == fold(f.weapon.Name),
	}
	skill, err := f.skill(t, d, &a)
	if err != nil {
		return err
	}
	value, err := b.skill(o, f.attacker, "skill", skill)
	if err != nil {
		return err
	}
	a.skill = modifier(skill, value, "RPGX-6")
	if a.times > 0 {
		a.aggravated = value
	}
	if err := a.more.modifiers("modifiers", d.Modifiers); err != nil {
		return err
	}
	a.more.action(b)
	if f.target != nil {
		f.won = b.advantage(f.target.ID).Attack
		a.more.plus("Strategic defence before", f.won, "RPGX-70")
	}
	f.prepared, err = a.prepare(o)
	return err
}

// skill is the skill an attack is rolled with. An aggravated attack is rolled
// with the aggravated skill; what it stakes is noted (RPGX-67, RPGX-68).
func (f *fight) skill(t *rules.Turn, d *Attack, a *onslaught) (string, error) {
	skill := d.Skill
	if skill == "" {
		skill = f.weapon.Name
	}
	if d.Aggravated == nil {
		return skill, nil
	}
	b, special := bodyOf(f.attacker), d.Aggravated.Skill
	if special == "" {
		special = aggravatedAttack
	}
	if d.Skill != "" && fold(d.Skill) != fold(special) {
		return "", rules.Reject("aggravated_skill_is_the_attack_skill", "RPGX-67", "an aggravated attack is rolled with %s itself", special).On("skill")
	}
	tech, ok := b.Sheet.technique(t.Options(), special, func(x Technique) bool { return x.Use == aggravated && x.worksWith(&f.weapon) })
	if !ok || tech.Use != aggravated {
		return "", rules.Reject("not_aggravated", "RPGX-66", "%s is no skill for aggravated attacks", special).On("aggravated.skill")
	}
	if err := tech.suits(f.weapon, "weapon"); err != nil {
		return "", err
	}
	a.times = 1
	if !d.Aggravated.Twice {
		return special, nil
	}
	const price = 2 // "if the fighter used 2 ki points"
	pool, err := b.afford(t.Options(), f.attacker, tech.Pool, price, "RPGX-68", "aggravated.twice")
	if err != nil {
		return "", err
	}
	a.times = 2
	f.pool = &PoolChanged{Subject: of(f.attacker), Pool: pool, Change: -price, Cause: special, Rule: "RPGX-68"}
	return special, nil
}

// readyDefence adds up the target's side.
func (f *fight) readyDefence(t *rules.Turn, d *Attack) error {
	f.guard = guard{difficulty: d.Difficulty}
	if f.target == nil {
		f.guard.living, f.guard.armour = d.Thing.Machine, d.Thing.Armour
		if d.Armour != nil {
			f.guard.armour = *d.Armour
		}
		return f.undefended(d)
	}
	b := bodyOf(f.target)
	f.guard.living, f.guard.armour = b.Sheet.Nature != thing, b.armour()
	if d.Armour != nil {
		f.guard.armour = *d.Armour
	}
	_, out := b.out()
	f.guard.helpless = out || b.has(stunned) && t.Options().Is("rpgamix.stunned_defence", "none")
	if !f.guard.rolls() {
		return f.undefended(d)
	}
	defence := Defence{}
	if d.Defence != nil {
		defence = *d.Defence
	}
	return f.defend(t, d, b, defence)
}

// undefended refuses a defence where none is rolled.
func (f *fight) undefended(d *Attack) error {
	switch {
	case d.Defence == nil:
		return nil
	case f.guard.helpless:
		return rules.Reject("helpless", "RPGX-12", "%s cannot defend", f.name).On("defence")
	}
	return &rules.Invalid{Field: "defence", Reason: "and difficulty: only one of the two can be given"}
}

// defend adds up a defence that is rolled.
func (f *fight) defend(t *rules.Turn, d *Attack, b *Body, x Defence) error {
	o := t.Options()
	if x.Stat == "" {
		x.Stat = "dex"
	}
	if err := f.parry(o, b, &x); err != nil {
		return err
	}
	value, err := b.skill(o, f.target, "defence.skill", x.Skill)
	if err != nil {
		return err
	}
	f.guard.stat = modifier(statLabel(x.Stat), b.Sheet.Stats.of(x.Stat), "RPGX-6")
	f.guard.skill = modifier(x.Skill, value, "RPGX-6")
	if err := f.guard.more.modifiers("defence.modifiers", x.Modifiers); err != nil {
		return err
	}
	if o.On("rpgamix.health_penalty_on_defence") {
		f.guard.more.action(b)
	}
	f.kept = b.advantage(f.attacker.ID).Defence
	f.guard.more.plus("Strategic defence before", f.kept, "RPGX-71")
	if err := f.againstFire(o, d, b, x); err != nil {
		return err
	}
	if tech, ok := f.style(o, b, x.Skill); ok && tech.Use != aggravated {
		f.ward = tech.Skill
	}
	f.defence, err = f.guard.prepare(o)
	return err
}

// parry finds what the defender parries with, and the usual skill.
func (f *fight) parry(o rules.Options, b *Body, x *Defence) error {
	usual := "Dodge"
	if x.Weapon != "" {
		w, ok := b.weapon(o, x.Weapon)
		if !ok {
			return rules.Reject("unknown_weapon", "RPGX-13", "no weapon is called %q: it is neither on the sheet nor in the table", x.Weapon).On("defence.weapon")
		}
		f.guard.parry, usual = &w, "Parry"
	}
	if x.Skill == "" {
		x.Skill = usual
	}
	tech, ok := f.style(o, b, x.Skill)
	switch {
	case !ok:
		return nil
	case tech.Use == aggravated:
		return rules.Reject("not_a_defence", "RPGX-66", "%s is no defence", x.Skill).On("defence.skill")
	case f.guard.parry == nil && len(tech.Weapons) > 0:
		return rules.Reject("wrong_weapon", "RPGX-74", "%s needs a weapon of its discipline", x.Skill).On("defence.weapon")
	case f.guard.parry != nil:
		return tech.suits(*f.guard.parry, "defence.weapon")
	}
	return nil
}

// style finds the technique of a defence with what it is made with.
func (f *fight) style(o rules.Options, b *Body, skill string) (Technique, bool) {
	return b.Sheet.technique(o, skill, func(x Technique) bool { return x.Use != aggravated && x.worksWith(f.guard.parry) })
}

// againstFire adds Fire Defense to another defence, and fire points to either
// (RPGX-77, RPGX-78).
func (f *fight) againstFire(o rules.Options, d *Attack, b *Body, x Defence) error {
	alone := fold(x.Skill) == fold(fireDefense)
	switch {
	case !alone && !x.Fire && x.Spend > 0:
		return rules.Reject("no_spell", "RPGX-77", "fire points are spent on spells of fire, such as Fire Defense").On("defence.spend")
	case !alone && !x.Fire:
		return nil
	case !d.Fire:
		return rules.Reject("not_fire", "RPGX-78", "%s helps against fire only", fireDefense).On("defence")
	case !alone:
		value, err := b.skill(o, f.target, "defence.fire", fireDefense)
		if err != nil {
			return err
		}
		f.guard.more.plus(fireDefense, value, "RPGX-78")
	}
	if _, err := b.afford(o, f.target, firePool, x.Spend, "RPGX-77", "defence.spend"); err != nil {
		return err
	}
	f.fire = x.Spend
	f.guard.more.plus("Fire points", x.Spend, "RPGX-77")
	return nil
}
