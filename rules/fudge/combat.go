package fudge

import (
	"fmt"
	"math/big"

	"tallystick/events"
	"tallystick/rules"
)

// Words for stances and for ways to attack.
const (
	offence   = "offence"
	defence   = "defence"
	melee     = "melee"
	thrown    = "thrown"
	propelled = "propelled"
)

// Fighter is what somebody fights with.
type Fighter struct {
	Skill
	Stance string `json:"stance,omitzero" enum:"normal,offence,defence" doc:"all-out offence or defence, in melee"`
	Weapon string `json:"weapon,omitzero" maxLength:"200" doc:"name of a weapon on the sheet or in the setting; bare hands when left out"`
}

// Attack is the data of attack.
type Attack struct {
	Attacker string `json:"attacker"`
	Target   string `json:"target"`
	Mode     string `json:"mode,omitzero" enum:"melee,thrown,propelled" doc:"melee when left out; a bow, gun or beam is propelled"`
	Fighter
	Defence          *Fighter `json:"defence,omitzero" doc:"what the target rolls: in melee its own attack, against a shot Dodge, Agility or the like; left out when the target is unaware"`
	PropelledPenalty int      `json:"propelled_penalty,omitzero" minimum:"1" maximum:"2" doc:"levels that this propelled weapon takes off the defence, instead of the campaign's"`
	Unaware          bool     `json:"unaware,omitzero" doc:"the target of a shot does not expect it, or cannot defend"`
	Difficulty       string   `json:"difficulty,omitzero" enum:"Terrible,Poor,Mediocre,Fair,Good,Great,Superb,Superb+1,Superb+2,Superb+3,Superb+4" doc:"degree task of a shot at an unaware target: distance, light, cover; Fair when left out"`
	Returns          *Shot    `json:"returns,omitzero" doc:"the target shoots back at the same moment"`
}

// Shot is a shot that answers another one in the same moment (FUDGE-27).
type Shot struct {
	Mode string `json:"mode" enum:"thrown,propelled"`
	Fighter
	Defence          Fighter `json:"defence" doc:"what the first attacker rolls against it"`
	PropelledPenalty int     `json:"propelled_penalty,omitzero" minimum:"1" maximum:"2"`
}

// Actors names who acts.
func (d *Attack) Actors() []string { return actors(d.Attacker) }

func attack(t *rules.Turn, d *Attack) error {
	attacker, err := t.Living("attacker", d.Attacker)
	if err != nil {
		return err
	}
	target, err := t.Living("target", d.Target)
	if err != nil {
		return err
	}
	if err := able(t, "attacker", attacker); err != nil {
		return err
	}
	if attacker.ID == target.ID {
		return &rules.Invalid{Field: "target", Reason: "is the attacker"}
	}
	if err := d.check(t, target); err != nil {
		return err
	}
	switch {
	case d.Unaware:
		return d.ambush(t, attacker, target)
	case d.Mode == thrown || d.Mode == propelled:
		return d.shoot(t, attacker, target)
	}
	return d.melee(t, attacker, target)
}

// check refuses members that do not belong together.
func (d *Attack) check(t *rules.Turn, target *rules.Character) error {
	ranged := d.Mode == thrown || d.Mode == propelled
	switch {
	case d.Unaware && !ranged:
		return rules.Reject("unaware_is_for_ranged", "FUDGE-29", "only a shot can be aimed at somebody unaware; a helpless victim is killed without a roll (fudge.kill)").On("unaware")
	case d.Unaware && d.Defence != nil:
		return rules.Reject("unaware_does_not_defend", "FUDGE-29", "%s is unaware and rolls no defence", target.Name).On("defence")
	case d.Unaware && d.PropelledPenalty != 0:
		return rules.Reject("unaware_does_not_defend", "FUDGE-31", "%s is unaware and has no defence that a propelled weapon could lower", target.Name).On("propelled_penalty")
	case d.Unaware && d.Returns != nil:
		return rules.Reject("unaware_does_not_defend", "FUDGE-29", "%s is unaware and does not shoot back", target.Name).On("returns")
	case d.Unaware:
		return nil
	case d.Defence == nil:
		return &rules.Invalid{Field: "defence", Reason: "is missing: what does the target roll? For one that does not expect a shot, say unaware"}
	case d.Difficulty != "":
		return rules.Reject("task_is_for_unaware", "FUDGE-30", "%s is aware: the roll is opposed and has no degree task", target.Name).On("difficulty")
	case d.Returns != nil && !ranged:
		return rules.Reject("melee_is_simultaneous", "FUDGE-26", "in melee both sides strike in one roll: there is nothing to return").On("returns")
	case d.PropelledPenalty != 0 && d.Mode != propelled:
		return rules.Reject("not_propelled", "FUDGE-31", "only a propelled weapon is harder to avoid").On("propelled_penalty")
	case d.Returns != nil && d.Returns.PropelledPenalty != 0 && d.Returns.Mode != propelled:
		return rules.Reject("not_propelled", "FUDGE-31", "only a propelled weapon is harder to avoid").On("returns.propelled_penalty")
	}
	if err := able(t, "target", target); err != nil {
		no := *err.(*rules.Rejection)
		no.Reason += "; shoot at somebody unaware (unaware), or hurt or kill the helpless without a roll (wound.inflict, fudge.kill)"
		return &no
	}
	return nil
}

// fighter makes the effort of somebody in melee.
func (f Fighter) fighter(t *rules.Turn, path string, who *rules.Character) (effort, error) {
	e, err := f.Skill.effort(t, path, who)
	takeStance(&e, f.Stance)
	return e, err
}

// takeStance adds what an all-out stance gives (FUDGE-24, FUDGE-25).
func takeStance(e *effort, stance string) {
	switch stance {
	case offence:
		e.add("all-out offence", allOut, "FUDGE-24")
	case defence:
		e.add("all-out defence", allOut, "FUDGE-25")
	}
}

// marksman makes the effort of a shot, or of avoiding one.
func (f Fighter) marksman(t *rules.Turn, path string, who *rules.Character) (effort, error) {
	if f.Stance == offence || f.Stance == defence {
		return effort{}, rules.Reject("stance_is_for_melee", "FUDGE-24", "all-out stances are for melee").On(at(path, "stance"))
	}
	return f.Skill.effort(t, path, who)
}

// avoid lowers the defence against a propelled weapon (FUDGE-31).
func avoid(o rules.Options, e *effort, mode string, penalty int) {
	if mode != propelled {
		return
	}
	if penalty == 0 {
		penalty = o.Int(optPropelled)
	}
	e.add("propelled weapon", -penalty, "FUDGE-31")
}

// exchange is how a round between two fighters came out.
type exchange struct {
	relative int // of the first to the second
	harmless string
}

// loser is 1 when the first lost, 2 when the second did, 0 for a stand-off.
func (x exchange) loser() int {
	switch {
	case x.relative < 0:
		return 1
	case x.relative > 0:
		return 2
	}
	return 0
}

// hurt is who can be hurt by the round: the loser, or nobody.
func (x exchange) hurt() int {
	if x.harmless != "" {
		return 0
	}
	return x.loser()
}

// meet compares two fighters (FUDGE-21 to FUDGE-26). A berserker loses a tie
// by two; two of them tying are not in the text and stand off. Who fights in
// all-out defence hurts nobody but a foe who loses critically.
func meet(o rules.Options, a, b result, stanceA, stanceB string) exchange {
	relative := opposed(a, b)
	x := exchange{relative: relative}
	if relative == 0 && (stanceA == offence) != (stanceB == offence) {
		x.relative = berserkTie
		if stanceA == offence {
			x.relative = -berserkTie
		}
	}
	loser, margin, stance := b, -relative, stanceA
	if x.loser() == 1 {
		loser, margin, stance = a, relative, stanceB
	}
	if x.loser() != 0 && stance == defence && critically(o, loser, margin) != criticalFailure {
		x.harmless = "won in all-out defence, and the foe did not fumble"
	}
	return x
}

func (d *Attack) melee(t *rules.Turn, attacker, target *rules.Character) error {
	mine, err := d.Fighter.armed(t.Options(), attacker, "", melee)
	if err != nil {
		return err
	}
	theirs, err := d.Defence.armed(t.Options(), target, "defence", melee)
	if err != nil {
		return err
	}
	ea, err := d.Fighter.fighter(t, "", attacker)
	if err != nil {
		return err
	}
	eb, err := d.Defence.fighter(t, "defence", target)
	if err != nil {
		return err
	}
	o := t.Options()
	a := throw(t, "melee: "+d.Trait, ea)
	b := throw(t, "melee: "+d.Defence.Trait, eb)
	facing(o, &a, &b, melees)
	x := meet(o, a, b, d.Stance, d.Defence.Stance)
	a.th.Result(melees(x.relative), x.relative)
	b.th.Result(melees(-x.relative), -x.relative)
	var round round
	switch x.loser() {
	case 1:
		round.strike(t, &b, mine.against(theirs), x)
	case 2:
		round.strike(t, &a, theirs.against(mine), x)
	}
	round.settle(t)
	return nil
}

func melees(relative int) string {
	if relative == 0 {
		return "stand-off"
	}
	return outcomeOf(relative)
}

// ambush is a shot at an unaware target: unopposed, against a task that holds
// range, light and cover (FUDGE-29).
func (d *Attack) ambush(t *rules.Turn, attacker, target *rules.Character) error {
	mine, err := d.Fighter.armed(t.Options(), attacker, "", d.Mode)
	if err != nil {
		return err
	}
	if err := inTask("", d.Modifiers); err != nil {
		return err
	}
	e, err := d.marksman(t, "", attacker)
	if err != nil {
		return err
	}
	difficulty, err := levelOf("difficulty", d.Difficulty, usualTask)
	if err != nil {
		return err
	}
	o := t.Options()
	job, err := judge(o, "difficulty", e, difficulty)
	if err != nil {
		return err
	}
	if job.hopeless() {
		t.Emit(&RollSkipped{Subject: events.Subject{Character: attacker.ID}, Trait: d.Trait, Difficulty: difficulty.String(), Outcome: passed(false), Rule: job.rule})
		return nil
	}
	r := throw(t, "shot: "+d.Trait, e)
	hit, relative, critical := job.shot(o, r)
	r.close("difficulty", difficulty, critical, hits(hit), relative)
	var round round
	if hit {
		round.strike(t, &r, duel{by: mine, on: target, matched: true}, exchange{relative: relative})
	}
	round.settle(t)
	return nil
}

// shot compares a shot at an unaware target with its task. Even one that cannot
// miss is rolled, since by how much it hits is damage; but it hits, by 0 levels
// at least (FUDGE-4).
func (j task) shot(o rules.Options, r result) (hit bool, relative int, critical string) {
	hit, relative, critical = unopposed(o, r, j.level)
	if j.automatic && !hit {
		return true, 0, critical
	}
	return hit, relative, critical
}

func hits(hit bool) string {
	if hit {
		return "hits"
	}
	return "misses"
}

// inTask refuses modifiers that the degree task already holds.
func inTask(path string, list []Modifier) error {
	for i, m := range list {
		switch m.About {
		case "range", "light", "cover":
			return rules.Reject("range_belongs_to_the_task", "FUDGE-29", "range, light and cover are in the degree task of a shot at somebody unaware: they do not modify the attacker").On(at(path, fmt.Sprintf("modifiers.%d", i)))
		}
	}
	return nil
}

// shoot is a shot at an aware target (FUDGE-30), and the one that answers it
// in the same moment (FUDGE-27): both are rolled before either hurts.
func (d *Attack) shoot(t *rules.Turn, attacker, target *rules.Character) error {
	first, err := aim(t, "", d.Mode, d.PropelledPenalty, d.Fighter, attacker, *d.Defence, "defence", target)
	if err != nil {
		return err
	}
	shots := []shot{first}
	if s := d.Returns; s != nil {
		second, err := aim(t, "returns", s.Mode, s.PropelledPenalty, s.Fighter, target, s.Defence, "returns.defence", attacker)
		if err != nil {
			return err
		}
		shots = append(shots, second)
	}
	for i := range shots {
		shots[i].roll(t)
	}
	var round round
	for i := range shots {
		s := &shots[i]
		if x := (exchange{relative: opposed(s.a, s.b)}); x.relative > 0 {
			round.strike(t, &s.a, duel{by: s.weapon, on: s.b.who}, x)
		}
	}
	round.settle(t)
	return nil
}

// shot is one shot with both its efforts, and then its results.
type shot struct {
	purpose string
	weapon  armed
	efforts [2]effort
	a, b    result
}

func aim(t *rules.Turn, path, mode string, penalty int, f Fighter, shooter *rules.Character, against Fighter, againstPath string, dodger *rules.Character) (shot, error) {
	weapon, err := f.armed(t.Options(), shooter, path, mode)
	if err != nil {
		return shot{}, err
	}
	ea, err := f.marksman(t, path, shooter)
	if err != nil {
		return shot{}, err
	}
	eb, err := against.marksman(t, againstPath, dodger)
	if err != nil {
		return shot{}, err
	}
	avoid(t.Options(), &eb, mode, penalty)
	return shot{purpose: f.Trait + " at " + dodger.Name, weapon: weapon, efforts: [2]effort{ea, eb}}, nil
}

func (s *shot) roll(t *rules.Turn) {
	s.a = throw(t, s.purpose, s.efforts[0])
	s.b = throw(t, "avoid "+s.purpose, s.efforts[1])
	relative := facing(t.Options(), &s.a, &s.b, outcomeOf)
	s.a.th.Result(hits(relative > 0), relative)
	s.b.th.Result(map[bool]string{true: "is hit", false: "avoids it"}[relative > 0], -relative)
}

// armed is a character with a weapon in hand.
type armed struct {
	who    *rules.Character
	name   string // of the weapon
	weapon Weapon
}

// armed finds the weapon on the sheet or in the setting (FUDGE-28), and holds
// it against the way it is used. Where no damage is counted any weapon will do, and
// a shot needs none that is named.
func (f Fighter) armed(o rules.Options, who *rules.Character, path, mode string) (armed, error) {
	if f.Weapon == "" {
		if mode != melee && o.Is(optDamage, objective) {
			return armed{}, rules.Reject("bare_hands_are_for_melee", "FUDGE-28", "nothing is %s with bare hands: name the weapon", mode).On(at(path, "weapon"))
		}
		return armed{who, "bare hands", Weapon{Size: "none"}}, nil
	}
	w, ok := named(who.Body.(*Body).Sheet.Weapons, f.Weapon)
	if !ok {
		w, ok = named(settingOf(o).Weapons, f.Weapon)
	}
	if !ok && o.Is(optDamage, subjective) {
		return armed{who, f.Weapon, Weapon{}}, name(at(path, "weapon"), f.Weapon)
	}
	if !ok {
		return armed{}, rules.Reject("no_such_weapon", "FUDGE-28", "%s has no weapon %s, and the setting has none", who.Name, f.Weapon).On(at(path, "weapon"))
	}
	if !w.serves(mode) {
		return armed{}, rules.Reject("not_a_"+mode+"_weapon", "FUDGE-28", "by its rating, or by its modes, %s is not used so (%s)", f.Weapon, mode).On(at(path, "weapon"))
	}
	return armed{who, f.Weapon, w}, nil
}

// duel is one who strikes and one who is struck.
type duel struct {
	by      armed
	on      *rules.Character
	matched bool // a match of the task is a hit
}

// against is the duel in which the other one strikes.
func (a armed) against(other armed) duel { return duel{by: other, on: a.who} }

// blow is what the damage of a duel is counted from. The armour is what the
// struck one wears; each side's hit points say how scales convert.
func (d duel) blow(relative int) blow {
	by, on := &d.by.who.Body.(*Body).Sheet, &d.on.Body.(*Body).Sheet
	return blow{
		relative: relative, weapon: &d.by.weapon, art: by.MartialArt, strength: mustLevel(by.Strength),
		armour: on.Armour, attacker: by.unit(), target: on.unit(),
	}
}

// damage is the damage of a duel that was won by so many levels; nil where the
// game master announces it (FUDGE-38) or none is counted (FUDGE-42).
func (d duel) damage(o rules.Options, relative int) (*Damage, *big.Rat) {
	b := d.blow(relative)
	if o.Is(optDamage, subjective) || !b.counts(o, d.matched) {
		return nil, nil
	}
	damage, _, points, err := b.through()
	if err != nil {
		panic("fudge: a sheet holds armour that " + err.Error()) // judged when the sheet was made
	}
	return &damage, points
}

// round is what the blows of one command do. Blows of one moment all count,
// whatever the others did; consequences follow when all have fallen.
type round struct {
	struck []struck
}

type struck struct {
	who    *rules.Character
	before Stage
	cause  string
}

// strike writes the damage of a won exchange into the winner's throw and
// inflicts it.
func (r *round) strike(t *rules.Turn, winner *result, d duel, x exchange) {
	if x.harmless != "" {
		winner.note.Harmless = x.harmless
		winner.write()
		return
	}
	damage, points := d.damage(t.Options(), max(x.relative, -x.relative))
	if damage == nil {
		return
	}
	winner.note.Damage = damage
	winner.write()
	r.inflict(t, d, points, damage.Stopped)
}

// inflict wounds who is struck, unless nothing got through or it is a corpse.
func (r *round) inflict(t *rules.Turn, d duel, points *big.Rat, stopped int) {
	if points.Sign() == 0 {
		return
	}
	h := harm{points: points, cause: d.cause(), by: d.by.who.ID, weapon: d.by.name, absorbed: stopped}
	r.harm(t, d, h)
}

func (r *round) harm(t *rules.Turn, d duel, h harm) {
	before := t.Again(d.on).Body.(*Body).stage(t.Options())
	if before == Dead {
		return
	}
	r.struck = append(r.struck, struck{d.on, before, h.cause})
	inflict(t, d.on, h)
}

func (d duel) cause() string { return fmt.Sprintf("%s of %s", d.by.name, d.by.who.Name) }

// settle emits what follows for everybody who was struck: once each, from
// where they stood before the first blow, by the last.
func (r *round) settle(t *rules.Turn) {
	for i, s := range r.struck {
		first, last := true, s.cause
		for k, other := range r.struck {
			if other.who.ID != s.who.ID {
				continue
			}
			if k < i {
				first = false
			}
			last = other.cause
		}
		if first {
			consequences(t, s.who, s.before, last)
		}
	}
}
