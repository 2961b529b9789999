package perp

import (
	"fmt"

	"tallystick/events"
	"tallystick/rules"
)

// shot is what one shot or throw came to.
type shot struct {
	attack, defence int
	hit             bool
	margin          int
	parts           []events.Modifier
	points          int
	absorbed        int
	dodge           *rolled
}

// shoot decides a single shot.
func shoot(t *rules.Turn, a, b *fighter, cover *Cover) error {
	mods, err := lawfulShot(a, b, cover)
	if err != nil {
		return err
	}
	s := fire(t.Options(), table{t}, a, b, mods, nil)
	attacked(t, a, b, s.outcome(), s.margin)
	wound(t, a, b, s.points, s.absorbed)
	return nil
}

func (s shot) outcome() string {
	if s.hit {
		return "hit"
	}
	return "missed"
}

// lawfulShot says whether a shot may be attempted, and what cover takes off it
// (PERP-34).
func lawfulShot(a, b *fighter, cover *Cover) ([]events.Modifier, error) {
	if err := lawfulShooter(a); err != nil {
		return nil, err
	}
	return lawfulTarget(b, cover)
}

func lawfulShooter(a *fighter) error {
	if a.parry {
		return noParry("with.parry")
	}
	return nil
}

func noParry(field string) error {
	return rules.Reject("no_parry_against_missiles", "PERP-34", "missiles are dodged, not parried").On(field)
}

// lawfulTarget says whether somebody can be shot at, and what cover takes off
// the shot. Who is shot at dodges, and cannot do it with a skill that is for
// something else.
func lawfulTarget(b *fighter, cover *Cover) ([]events.Modifier, error) {
	s, _ := b.skill()
	switch s.Kind {
	case "", kindDodge:
	case kindWeapon:
		return nil, rules.Reject("weapon_skill_cannot_dodge", "PERP-34", "%s is a weapon skill: against missiles only a skill that is about dodging counts", s.Name).On("against.skills")
	default:
		return nil, rules.Reject("not_a_dodging_skill", "PERP-34", "%s is a skill of kind %s: against missiles only a skill that is about dodging counts", s.Name, s.Kind).On("against.skills")
	}
	if b.parry {
		return nil, noParry("against.parry")
	}
	return cover.penalty()
}

// penalty is what cover takes off the attacker's roll, and whether there is
// anything to aim at (PERP-39, PERP-40).
func (c *Cover) penalty() ([]events.Modifier, error) {
	if c == nil {
		return nil, nil
	}
	if c.HardQuarters < 0 || c.HardQuarters > allQuarters {
		return nil, rules.Reject("hard_cover_quarters", "PERP-40", "a target has four quarters, not %d", c.HardQuarters).On("cover.hard_quarters")
	}
	if c.HardQuarters == allQuarters {
		return nil, rules.Reject("fully_behind_hard_cover", "PERP-40", "a target completely behind hard cover cannot be shot at").On("cover.hard_quarters")
	}
	if c.Soft == "full" && !c.LocationKnown {
		return nil, rules.Reject("target_not_known", "PERP-39", "a target that is fully hidden can be shot at only by somebody who knows it is there").On("cover.location_known")
	}
	var mods []events.Modifier
	if v := softCover[c.Soft]; v != 0 {
		mods = append(mods, events.Modifier{Label: c.Soft + " soft cover", Value: v, Rule: "PERP-39"})
	}
	if c.HardQuarters > 0 {
		mods = append(mods, events.Modifier{Label: fmt.Sprintf("%d quarters behind hard cover", c.HardQuarters), Value: -c.HardQuarters, Rule: "PERP-40"})
	}
	return mods, nil
}

// fire rolls one shot, first the attacker, then who is shot at, unless that
// roll was made already for this volley. Only the target can be hurt (PERP-34).
func fire(o rules.Options, d roller, a, b *fighter, mods []events.Modifier, dodged *rolled) shot {
	ra := d.roll(a, "attack", 1, a.modifiers(mods...))
	rb := dodged
	if rb == nil {
		rb = dodge(o, d, b)
	}
	s := shot{attack: ra.total, defence: rb.total, dodge: rb}
	winner, margin := compare(ra.total, rb.total)
	ra.against("dodge", rb.total, missileOutcomes[winner], winner*margin)
	if dodged == nil {
		rb.against("attack", ra.total, outcomes[-winner], -winner*margin)
	}
	s.margin = margin
	if winner != 1 {
		return s
	}
	s.hit = true
	s.parts, s.points, s.absorbed = damage(a.force(margin), b.toughness(), b.armour)
	ra.detail(Damage{To: b.id(), Parts: s.parts, Points: s.points})
	return s
}

var missileOutcomes = map[int]string{1: "hits", 0: "draw", -1: "misses"}

func dodge(o rules.Options, d roller, f *fighter) *rolled {
	var shield []events.Modifier
	if o.On("perp.shield_vs_missile") {
		shield = f.shieldBonus()
	}
	return d.roll(f, "dodge", 1, f.modifiers(shield...))
}

// Volley is the data of perp.volley: several shots in one round.
type Volley struct {
	Attacker string   `json:"attacker"`
	With     Hand     `json:"with,omitzero"`
	Targets  []Target `json:"targets" minItems:"1" maxItems:"100" doc:"everybody who is shot at"`
	Shots    []string `json:"shots" minItems:"1" maxItems:"100" doc:"for each shot the character it is aimed at, in order"`
}

// Target is somebody who is shot at.
type Target struct {
	Character string `json:"character"`
	Against   Hand   `json:"against,omitzero"`
	Cover     *Cover `json:"cover,omitzero"`
}

// Actors names who acts.
func (d *Volley) Actors() []string { return []string{d.Attacker} }

func volley(t *rules.Turn, d *Volley) error {
	attacker, err := ready(t, "attacker", d.Attacker)
	if err != nil {
		return err
	}
	a, err := d.With.arm(t, attacker, "with", afar)
	if err != nil {
		return err
	}
	if err := lawfulShooter(a); err != nil {
		return err
	}
	targets := map[string]aimed{}
	for i, target := range d.Targets {
		field := fmt.Sprintf("targets.%d", i)
		if _, twice := targets[target.Character]; twice {
			return rules.Reject("target_twice", "PERP-38", "a target is listed twice").On(field + ".character")
		}
		ch, err := opponent(t, field+".character", target.Character, d.Attacker)
		if err != nil {
			return err
		}
		b, err := target.Against.arm(t, ch, field+".against", handToHand)
		if err != nil {
			return err
		}
		mods, err := lawfulTarget(b, target.Cover)
		if err != nil {
			return within(field, err)
		}
		targets[target.Character] = aimed{b, mods}
	}
	shots, penalty, err := aim(a.weapon.rate, d.Shots, targets)
	if err != nil {
		return err
	}
	for i, s := range burst(t.Options(), table{t}, a, shots, penalty) {
		attacked(t, a, shots[i].fighter, s.outcome(), s.margin)
		wound(t, a, shots[i].fighter, s.points, s.absorbed)
	}
	return nil
}

// aimed is a target with what its cover takes off a shot.
type aimed struct {
	*fighter
	cover []events.Modifier
}

// aim declares the shots of a volley: no more than the rate of fire (PERP-37),
// each at a target that is listed, and -1 on each for every target when there
// are several (PERP-38).
func aim(rate int, at []string, targets map[string]aimed) ([]aimed, []events.Modifier, error) {
	if len(at) > rate {
		return nil, nil, rules.Reject("over_rate_of_fire", "PERP-37", "%d shots in a round: the weapon has a rate of fire of %d", len(at), rate).On("shots")
	}
	shots := make([]aimed, len(at))
	distinct := map[string]bool{}
	for i, id := range at {
		target, listed := targets[id]
		if !listed {
			return nil, nil, rules.Reject("target_not_declared", "PERP-38", "shot %d is aimed at somebody who is not among the targets", i+1).On(fmt.Sprintf("shots.%d", i))
		}
		shots[i], distinct[id] = target, true
	}
	if len(distinct) < len(targets) {
		return nil, nil, rules.Reject("target_without_a_shot", "PERP-38", "%d targets are listed and %d are shot at", len(targets), len(distinct)).On("targets")
	}
	if k := len(distinct); k > 1 {
		return shots, []events.Modifier{{Label: fmt.Sprintf("%d targets", k), Value: -k, Rule: "PERP-38"}}, nil
	}
	return shots, nil, nil
}

// burst rolls the shots of a volley in order. All were declared before: who
// falls at the first is still rolled for at the next.
func burst(o rules.Options, d roller, a *fighter, shots []aimed, penalty []events.Modifier) []shot {
	dodged := map[*fighter]*rolled{}
	out := make([]shot, len(shots))
	for i, target := range shots {
		mods := append(append([]events.Modifier{}, target.cover...), penalty...)
		out[i] = fire(o, d, a, target.fighter, mods, dodged[target.fighter])
		if o.Is("perp.volley_defence", "once") {
			dodged[target.fighter] = out[i].dodge
		}
	}
	return out
}
