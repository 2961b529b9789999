package perp

import (
	"fmt"
	"slices"

	"tallystick/events"
	"tallystick/rules"
)

// Gang is the data of perp.gang: several attack one at once.
type Gang struct {
	Target    string     `json:"target" doc:"who stands alone"`
	Against   Hand       `json:"against,omitzero" doc:"the lone fighter's"`
	Attackers []Attacker `json:"attackers" minItems:"1" maxItems:"100"`
	Strikes   string     `json:"strikes,omitzero" doc:"where the lone fighter hurts only one: which attacker; left out: the first"`
}

// Attacker is one of a gang.
type Attacker struct {
	Character string `json:"character"`
	Hand
}

// Actors names who acts: every attacker.
func (d *Gang) Actors() []string {
	ids := make([]string, len(d.Attackers))
	for i, a := range d.Attackers {
		ids[i] = a.Character
	}
	return ids
}

func gang(t *rules.Turn, d *Gang) error {
	group, err := d.group(t)
	if err != nil {
		return err
	}
	target, err := opponent(t, "target", d.Target, d.Actors()...)
	if err != nil {
		return err
	}
	if err := sharedOut(t, "target", target); err != nil {
		return err // a second victory would take the place of the first
	}
	lone, err := d.Against.arm(t, target, "against", handToHand)
	if err != nil {
		return err
	}
	strikes := 0
	if d.Strikes != "" {
		if strikes = slices.Index(d.Actors(), d.Strikes); strikes < 0 {
			return rules.Reject("not_an_attacker", "PERP-28", "the lone fighter can strike only at somebody of the gang").On("strikes")
		}
	}
	if err := lawfulGang(t.Options(), group, lone); err != nil {
		return err
	}
	if t.Options().Is("perp.gang_mode", "brutal") {
		gangBrutally(t, group, lone)
		return nil
	}
	for i, x := range pairings(t.Options(), table{t}, group, lone, strikes) {
		attacked(t, group[i], lone, outcomeOf(x.winner), x.margin)
		x.emit(t, group[i], lone)
	}
	return nil
}

// group looks up the attackers.
func (d *Gang) group(t *rules.Turn) ([]*fighter, error) {
	if twice := repeated(d.Actors()); twice != "" {
		return nil, rules.Reject("attacker_twice", "PERP-20", "an attacker is named twice: there is one attack for each in a round").On("attackers")
	}
	group := make([]*fighter, len(d.Attackers))
	for i, a := range d.Attackers {
		field := fmt.Sprintf("attackers.%d", i)
		ch, err := ready(t, field+".character", a.Character)
		if err != nil {
			return nil, err
		}
		if group[i], err = a.arm(t, ch, field, handToHand); err != nil {
			return nil, err
		}
	}
	return group, nil
}

// lawfulGang says whether this is a gang (PERP-28), and for the brutal rules
// whether only what they know of was named: they count dice, one skill and one
// weapon of the group (PERP-30).
func lawfulGang(o rules.Options, group []*fighter, lone *fighter) error {
	if len(group) < 2 {
		return rules.Reject("not_a_gang", "PERP-28", "one attacker is no gang: use attack").On("attackers")
	}
	for _, f := range append(slices.Clone(group), lone) {
		if err := f.lawful(); err != nil {
			return err
		}
	}
	if !o.Is("perp.gang_mode", "brutal") {
		return nil
	}
	for i, f := range group {
		field := fmt.Sprintf("attackers.%d", i)
		switch {
		case f.parry:
			return rules.Reject("group_cannot_parry", "PERP-30", "%s attacks with the group and cannot parry", orSomebody(f.name)).On(field + ".parry")
		case len(f.damageSkills) > 0, len(f.traits)+len(f.damageTraits) > 0 && !o.On("perp.brutal_group_traits"):
			return rules.Reject("group_counts_dice_and_best_skill", "PERP-30", "by the brutal rules a group has its dice and its best skill: traits of %s do not count", orSomebody(f.name)).On(field)
		}
	}
	return nil
}

// pairings rolls each attacker against the lone fighter: for each first the
// attacker, then the lone one (PERP-28), with -1 for each foe by the moderate
// rule (PERP-29). All of it happens at once, so that whoever falls has still
// rolled against everybody.
func pairings(o rules.Options, d roller, group []*fighter, lone *fighter, strikes int) []exchange {
	var crowd []events.Modifier
	if n := len(group); o.Is("perp.gang_mode", "moderate") && n >= o.Int("perp.gang_penalty_from") {
		crowd = []events.Modifier{{Label: fmt.Sprintf("%d foes at once", n), Value: -n, Rule: "PERP-29"}}
	}
	out := make([]exchange, len(group))
	for i, f := range group {
		lone := *lone
		lone.holds = o.Is("perp.gang_lone_damage", "one") && i != strikes
		out[i] = melee(o, d, f, &lone, crowd)
	}
	return out
}

// brawl is what a fight by the brutal rules came to: 1 when the group won, -1
// when the lone fighter did.
type brawl struct {
	group, lone    int
	winner, margin int
	weapon         arms // that the group's damage goes by
	parts          []events.Modifier
	points         int // to the lone fighter, or for the lone fighter to share out
	absorbed       int
}

// brutal adds up a d10 for each attacker and the best skill among them, and
// holds it against one combat roll (PERP-30).
func brutal(o rules.Options, d roller, group []*fighter, lone *fighter) brawl {
	best := mostSkilled(group)
	rg := d.roll(nil, "attack of the group", len(group), groupModifiers(group, best))
	rl := d.roll(lone, lone.stance("defence"), 1, lone.modifiers(lone.shieldBonus()...))
	x := brawl{group: rg.total, lone: rl.total, weapon: commonWeapon(group, best)}
	x.winner, x.margin = compare(rg.total, rl.total)
	oppose(rg, rl, x.winner, x.margin)
	switch {
	case x.winner == 1:
		mob := fighter{weapon: x.weapon}
		force := mob.force(x.margin)
		for _, f := range group {
			force = append(force, f.fury()...)
		}
		x.parts, x.points, x.absorbed = damage(force, lone.guard(o), lone.armour)
		rg.detail(Damage{To: lone.id(), Parts: x.parts, Points: x.points})
	case x.winner == -1 && !lone.parry:
		x.parts, x.points, _ = damage(lone.force(x.margin), nil, events.Modifier{})
		rl.detail(Damage{Parts: x.parts, Points: x.points})
	}
	return x
}

// mostSkilled is the attacker with the highest skill, the first of several.
func mostSkilled(group []*fighter) *fighter {
	return slices.MaxFunc(group, func(a, b *fighter) int { return a.skillValue() - b.skillValue() })
}

func (f *fighter) skillValue() int {
	s, _ := f.skill()
	return s.Value
}

// groupModifiers are the best skill, what the situation adds, and the traits:
// there are none where the campaign does not count them (lawfulGang).
func groupModifiers(group []*fighter, best *fighter) []events.Modifier {
	var all []events.Modifier
	if s, ok := best.skill(); ok {
		all = append(all, s.modifier(1, "PERP-30"))
	}
	for _, f := range group {
		for _, t := range f.traits {
			all = append(all, t.modifier(1, "PERP-30"))
		}
		all = append(all, f.mods...)
	}
	return all
}

// commonWeapon is a weapon of the class that most of the group carry; when
// classes are even, that of the most skilled (PERP-31).
func commonWeapon(group []*fighter, best *fighter) arms {
	count := map[string]int{}
	most := 0
	for _, f := range group {
		count[f.weapon.name]++
		most = max(most, count[f.weapon.name])
	}
	common := slices.DeleteFunc(slices.Clone(group), func(f *fighter) bool { return count[f.weapon.name] < most })
	weapon := best.weapon
	if first := common[0].weapon; !slices.ContainsFunc(common, func(f *fighter) bool { return f.weapon.name != first.name }) {
		weapon = first
	}
	weapon.label = weapon.name + " weapons" // the class counts, not whose weapon it is
	return weapon
}

// gangBrutally decides a fight by the brutal rules. What the lone winner does
// with the damage is said afterwards, by perp.share.
func gangBrutally(t *rules.Turn, group []*fighter, lone *fighter) {
	x := brutal(t.Options(), table{t}, group, lone)
	for _, f := range group {
		attacked(t, f, lone, outcomeOf(x.winner), x.margin)
	}
	if x.winner == 1 {
		wound(t, &fighter{name: "the group", weapon: x.weapon}, lone, x.points, x.absorbed)
	}
	if x.winner != -1 || x.points == 0 {
		return
	}
	beaten := make([]Beaten, len(group))
	for i, f := range group {
		beaten[i] = Beaten{Character: f.who.ID, Soak: -sum(f.toughness())}
	}
	t.Emit(&ShareWon{Subject: of(lone), Points: x.points, Weapon: lone.weapon.label, Targets: beaten})
}

// ShareOut is the data of perp.share.
type ShareOut struct {
	Character string  `json:"character" doc:"who has beaten the group"`
	Shares    []Share `json:"shares" minItems:"1" maxItems:"100"`
}

// Share is what one of a beaten group gets, before toughness and armour.
type Share struct {
	Character string `json:"character"`
	Points    int    `json:"points" minimum:"0" maximum:"1000000"`
}

// Actors names who acts.
func (d *ShareOut) Actors() []string { return []string{d.Character} }

func share(t *rules.Turn, d *ShareOut) error {
	ch, err := t.Living("character", d.Character)
	if err != nil {
		return err
	}
	open := ch.Body.(*Body).Share
	if open == nil {
		return rules.Reject("nothing_to_share", "PERP-32", "%s has no damage to share out", ch.Name).On("character")
	}
	points, targets := make([]int, len(d.Shares)), make([]*fighter, len(d.Shares))
	for i, s := range d.Shares {
		field := fmt.Sprintf("shares.%d.character", i)
		if slices.ContainsFunc(d.Shares[:i], func(o Share) bool { return o.Character == s.Character }) {
			return rules.Reject("bad_split", "PERP-32", "somebody is given two shares").On(field)
		}
		if open.beaten(s.Character) < 0 {
			return rules.Reject("not_beaten", "PERP-32", "only those who were beaten can be given a share").On(field)
		}
		target, err := t.Living(field, s.Character)
		if err != nil {
			return err
		}
		points[i] = s.Points
		targets[i] = &fighter{who: target, name: target.Name, armour: target.Body.(*Body).armour()}
	}
	if err := lawfulSplit(open.Points, points); err != nil {
		return err
	}
	by := &fighter{who: ch, name: ch.Name, weapon: arms{label: open.Weapon}}
	for i, to := range targets {
		soak := open.Targets[open.beaten(to.who.ID)].Soak
		got, absorbed := to.suffer(points[i], soak)
		wound(t, by, to, got, absorbed)
	}
	t.Emit(&DamageShared{Subject: events.Subject{Character: ch.ID}, Shares: d.Shares})
	return nil
}

// beaten is the index of somebody among the targets, or -1.
func (e *ShareWon) beaten(id string) int {
	return slices.IndexFunc(e.Targets, func(b Beaten) bool { return b.Character == id })
}

// lawfulSplit: the shares come to what there is, not more and not less, and
// none is negative (PERP-32).
func lawfulSplit(points int, shares []int) error {
	total := 0
	for _, s := range shares {
		if s < 0 {
			return rules.Reject("bad_split", "PERP-32", "a share cannot be negative").On("shares")
		}
		total += s
	}
	if total != points {
		return rules.Reject("bad_split", "PERP-32", "there are %d points of damage to share out, and the shares come to %d", points, total).On("shares")
	}
	return nil
}

// suffer is what is left of a share after toughness and armour.
func (f *fighter) suffer(share, soak int) (points, absorbed int) {
	dealt := []events.Modifier{{Label: "share", Value: share, Rule: "PERP-32"}}
	guard := []events.Modifier{{Label: "toughness", Value: -soak, Rule: "PERP-44"}}
	if share == 0 {
		return 0, 0
	}
	_, points, absorbed = damage(dealt, guard, f.armour)
	return points, absorbed
}

// sharedOut refuses somebody who has damage to share out and can: what follows
// comes after it (PERP-32).
func sharedOut(t *rules.Turn, field string, ch *rules.Character) error {
	open := ch.Body.(*Body).Share
	if open == nil || len(standing(t, open)) == 0 {
		return nil
	}
	return rules.Reject("share_first", "PERP-32", "%s has %d points of damage to share out first (perp.share)", ch.Name, open.Points).On(field)
}

// standing are those of a beaten group who can still be given a share.
func standing(t *rules.Turn, open *ShareWon) []string {
	var all []string
	for _, b := range open.Targets {
		if _, err := t.Living("", b.Character); err == nil {
			all = append(all, b.Character)
		}
	}
	return all
}
