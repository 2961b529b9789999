package perp

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"tallystick/events"
	"tallystick/rules"
)

// named is a trait or a skill with its value in the roll at hand.
type named struct {
	Name  string `json:"name"`
	Value int    `json:"value"`
	Kind  string `json:"kind"` // of a skill
	rule  string
}

func (n named) modifier(sign int, rule string) events.Modifier {
	return events.Modifier{Label: n.Name, Value: sign * n.Value, Rule: rule}
}

// same reports whether two are one trait. One that armour gives is not that of the
// sheet, though they may be called the same (PERP-46).
func (n named) same(m named) bool { return strings.EqualFold(n.Name, m.Name) && n.rule == m.rule }

// repeatedTrait is a trait that stands twice in a list.
func repeatedTrait(traits []named) (twice named, ok bool) {
	for i, trait := range traits {
		if slices.ContainsFunc(traits[:i], trait.same) {
			return trait, true
		}
	}
	return twice, false
}

// withWeapon says whether a skill can be one with a weapon: it is of that kind,
// or of none, so that the table says what it is.
func (n named) withWeapon() bool { return n.Kind == kindWeapon || n.Kind == "" }

// arms is a weapon in somebody's hand.
type arms struct {
	class
	label string
	rate  int // shots in a round
}

// fighter is somebody in a test or a fight, with everything that was named for
// it. Commands make it of a sheet, vectors of numbers.
type fighter struct {
	who  *rules.Character // nil in a vector
	name string

	traits []named           // in the roll
	skills []named           // in the roll: one at most
	mods   []events.Modifier // of the situation and of armour

	weapon arms
	shield bool
	parry  bool
	holds  bool // does no damage: the one blow of the round is for somebody else
	// weaponSkill is what a parry takes off when the roll was made with
	// another skill than that of the weapon.
	weaponSkill  *named
	parryTraits  []named
	damageTraits []named
	damageSkills []named
	soakTraits   []named
	armour       events.Modifier // what armour takes off damage, positive
}

// skill is the one skill of the roll.
func (f *fighter) skill() (named, bool) {
	if len(f.skills) == 0 {
		return named{}, false
	}
	return f.skills[0], true
}

// modifiers are what the traits, the skill and the situation add to the roll
// (PERP-1).
func (f *fighter) modifiers(more ...events.Modifier) []events.Modifier {
	var all []events.Modifier
	for _, t := range f.traits {
		all = append(all, t.modifier(1, cmp.Or(t.rule, "PERP-14")))
	}
	for _, s := range f.skills {
		all = append(all, s.modifier(1, cmp.Or(s.rule, "PERP-13")))
	}
	all = append(all, f.mods...)
	return append(all, more...)
}

// lawful holds what was named against the Golden Rule (PERP-13), the single
// use of a trait (PERP-14) and the ban on double use (PERP-43). It is asked
// before any die.
func (f *fighter) lawful() error {
	if err := goldenRule(f.skills); err != nil {
		return err
	}
	if twice, ok := repeatedTrait(f.traits); ok {
		return rules.Reject("trait_twice", "PERP-14", "%s counts once in a roll: it is named twice", twice.Name).On("traits")
	}
	damage := slices.Concat(f.damageTraits, f.soakTraits, f.parryTraits)
	if twice, ok := repeatedTrait(damage); ok {
		return rules.Reject("trait_twice", "PERP-14", "%s is named twice for the damage", twice.Name)
	}
	for _, trait := range f.traits {
		if slices.ContainsFunc(damage, trait.same) {
			return rules.Reject("trait_in_roll_and_damage", "PERP-43", "%s is in the roll already and cannot change the damage as well", trait.Name)
		}
	}
	if both := shared(names(f.skills), names(f.damageSkills)); both != "" {
		return rules.Reject("skill_in_roll_and_damage", "PERP-43", "%s is in the roll already and cannot change the damage as well", both)
	}
	return damageSkillsOnly(f.damageSkills)
}

// goldenRule: one skill in a roll, be it a bonus or a penalty (PERP-13).
func goldenRule(skills []named) error {
	if len(skills) > 1 {
		return rules.Reject("one_skill_only", "PERP-13", "only one skill goes into a roll: %s", strings.Join(names(skills), " or ")).On("skills")
	}
	return nil
}

// damageSkillsOnly: combat skills never change the damage (PERP-44).
func damageSkillsOnly(skills []named) error {
	for _, s := range skills {
		if s.Kind != kindDamage {
			return rules.Reject("no_damage_skill", "PERP-44", "%s is not a skill that exists for damage (kind damage)", s.Name).On("damage_skills")
		}
	}
	if twice := repeated(names(skills)); twice != "" {
		return rules.Reject("skill_twice", "PERP-43", "%s is named twice for the damage", twice).On("damage_skills")
	}
	return nil
}

func names(all []named) []string {
	out := make([]string, len(all))
	for i, n := range all {
		out[i] = n.Name
	}
	return out
}

func sum(parts []events.Modifier) int {
	n := 0
	for _, p := range parts {
		n += p.Value
	}
	return n
}

// roller takes the d10s of one test after the other: from the ledger, or from
// the faces of a vector.
type roller interface {
	// roll throws so many d10 for a fighter (nil: for a group) and adds the
	// modifiers.
	roll(f *fighter, purpose string, dice int, mods []events.Modifier) *rolled
}

// rolled is a test with its total.
type rolled struct {
	total int
	throw *rules.Throw // nil in a vector
}

// against writes down what the total was compared with and what came of it.
func (r *rolled) against(kind string, value int, outcome string, margin int) {
	if r.throw != nil {
		r.throw.Versus(kind, value)
		r.throw.Result(outcome, margin)
	}
}

// Damage is how the damage of a blow came about; it stands in the detail of
// the throw that won.
type Damage struct {
	To     string            `json:"to,omitzero"` // character
	Parts  []events.Modifier `json:"parts"`
	Points int               `json:"points"`
}

func (r *rolled) detail(v any) {
	if r.throw == nil {
		return
	}
	raw, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic("perp: " + err.Error())
	}
	r.throw.Detail = raw
}

// table rolls by the turn's dice.
type table struct{ t *rules.Turn }

func (d table) roll(f *fighter, purpose string, dice int, mods []events.Modifier) *rolled {
	var who *rules.Character
	if f != nil {
		who = f.who
	}
	th := d.t.Throw(purpose, who)
	for range dice {
		th.Die(10)
	}
	for _, m := range mods {
		th.Add(m.Label, m.Value, m.Rule)
	}
	return &rolled{total: th.Sum(), throw: th}
}

// compare is an opposed test: 1 when a wins, -1 when b does, 0 for a tie
// (PERP-15, PERP-42).
func compare(a, b int) (winner, margin int) {
	switch {
	case a > b:
		return 1, a - b
	case b > a:
		return -1, b - a
	}
	return 0, 0
}

// outcomes of an opposed roll, seen from one side.
var outcomes = map[int]string{1: "wins", -1: "loses", 0: "draw"}

// oppose writes down on both throws what they came to.
func oppose(a, b *rolled, winner, margin int) {
	a.against("opposing roll", b.total, outcomes[winner], winner*margin)
	b.against("opposing roll", a.total, outcomes[-winner], -winner*margin)
}

// Test is what is named for one roll of a character.
type Test struct {
	Skills    []string    `json:"skills,omitzero" maxItems:"8" maxLength:"200" doc:"the skill used: one at most, by the Golden Rule"`
	Area      string      `json:"area,omitzero" maxLength:"200" doc:"what the skill is used on, where it is specialised or excludes something: Rapier"`
	Traits    []string    `json:"traits,omitzero" maxItems:"50" maxLength:"200" doc:"traits that apply"`
	About     []string    `json:"about,omitzero" maxItems:"5" enum:"agility,quickness,movement,strength,seeing" doc:"what the roll is about, as far as armour hinders or helps"`
	Modifiers []Situation `json:"modifiers,omitzero" maxItems:"16" doc:"of the situation"`
}

// Situation is a modifier that the game master gives.
type Situation struct {
	Label string `json:"label" minLength:"1" maxLength:"200"`
	Value int    `json:"value" minimum:"-100" maximum:"100"`
}

// resolve looks up what was named on the character's sheet. area is the
// default for what the skill is used on.
func (d *Test) resolve(o rules.Options, ch *rules.Character, field, area string) (*fighter, error) {
	b := ch.Body.(*Body)
	f := &fighter{who: ch, name: ch.Name}
	if d.Area != "" {
		area = d.Area
	}
	var err error
	if f.skills, err = b.skills(o, ch.Name, join(field, "skills"), d.Skills, area); err != nil {
		return nil, err
	}
	if f.traits, err = b.traits(o, ch.Name, join(field, "traits"), d.Traits); err != nil {
		return nil, err
	}
	for _, ft := range b.about(o, d.About) {
		if !slices.ContainsFunc(f.traits, ft.same) {
			f.traits = append(f.traits, ft)
		}
	}
	f.mods, err = d.situation(field)
	return f, err
}

// situation are the modifiers that the game master gives.
func (d *Test) situation(field string) ([]events.Modifier, error) {
	var all []events.Modifier
	for i, m := range d.Modifiers {
		if err := rules.CheckName(m.Label); err != nil {
			return nil, &rules.Invalid{Field: join(field, fmt.Sprintf("modifiers.%d.label", i)), Reason: err.Error()}
		}
		all = append(all, events.Modifier{Label: m.Label, Value: m.Value, Rule: "PERP-1"})
	}
	return all, nil
}

func join(path, name string) string {
	if path == "" || name == "" {
		return path + name
	}
	return path + "." + name
}

// within says in which part of the command a rejection's field stands.
func within(field string, err error) error {
	if no, ok := err.(*rules.Rejection); ok {
		return no.On(join(field, no.Field))
	}
	return err
}

// skills looks up skills by name and says what they are worth in an area.
func (b *Body) skills(o rules.Options, who, field string, asked []string, area string) ([]named, error) {
	var all []named
	for _, name := range asked {
		have, k, ok := b.Sheet.skill(name)
		if !ok {
			return nil, rules.Reject("unknown_skill", "PERP-4", "%s has no skill %s", who, name).On(field)
		}
		value, rule, _ := k.in(o, area)
		all = append(all, named{Name: have, Value: value, Kind: k.Kind, rule: rule})
	}
	return all, nil
}

// traits looks up traits by name, those of the armour worn included.
func (b *Body) traits(o rules.Options, who, field string, asked []string) ([]named, error) {
	var all []named
	worn := b.worn(o)
	for _, name := range asked {
		t, ok := b.Sheet.trait(name)
		for i := 0; !ok && i < len(worn); i++ {
			if strings.EqualFold(worn[i].Name, name) {
				t, ok = worn[i], true
			}
		}
		if !ok {
			return nil, rules.Reject("unknown_trait", "PERP-2", "%s has no trait %s", who, name).On(field)
		}
		all = append(all, t)
	}
	return all, nil
}

// awake finds a character who can act.
func awake(t *rules.Turn, field, id, what string) (*rules.Character, error) {
	ch, err := t.Living(field, id)
	if err != nil {
		return nil, err
	}
	if ch.Body.(*Body).HP <= 0 {
		return nil, rules.Reject("unconscious", "PERP-48", "%s is unconscious and cannot %s", ch.Name, what).On(field)
	}
	return ch, nil
}
