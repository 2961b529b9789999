package fudge

import (
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"tallystick/rules"
)

// Sheet is a character in the terms of the rules. Levels are written as their
// names. Attributes that are left out are Fair, the average of every scale
// (FUDGE-59); skills that are left out are Poor (FUDGE-17).
type Sheet struct {
	Traits       map[string]string `json:"traits,omitzero" maxItems:"200" doc:"skills and attributes by name, each with its level: Terrible, Poor, Mediocre, Fair, Good, Great or Superb"`
	Strength     string            `json:"strength,omitzero" enum:"Terrible,Poor,Mediocre,Fair,Good,Great,Superb" doc:"Fair when left out"`
	Constitution string            `json:"constitution,omitzero" enum:"Terrible,Poor,Mediocre,Fair,Good,Great,Superb" doc:"rolled to stay conscious; Fair when left out"`
	HitPoints    string            `json:"hit_points,omitzero" enum:"Terrible,Poor,Mediocre,Fair,Good,Great,Superb" doc:"Fair when left out"`
	MartialArt   string            `json:"martial_art,omitzero" enum:"Terrible,Poor,Mediocre,Fair,Good,Great,Superb" doc:"counts for blows without a weapon; leave out without one"`
	Armour       *Armour           `json:"armour,omitzero"`
	Weapons      map[string]Weapon `json:"weapons,omitzero" maxItems:"50" doc:"by name; without a weapon a fighter strikes with bare hands"`
	Scale        *Scale            `json:"scale,omitzero" doc:"for beings that are not on the human scale"`
}

// Example is a swordswoman of the musketeers.
func (System) Example() any {
	return &Sheet{
		Traits:       map[string]string{"Fencing": "Great", "Dodge": "Good", "Pistol": "Fair", "Medicine": "Mediocre", "Climbing": "Fair"},
		Strength:     Fair.String(),
		Constitution: Good.String(),
		HitPoints:    Fair.String(),
		Armour:       &Armour{Kind: "light"},
		Weapons:      map[string]Weapon{"rapier": {Size: "average", Sharp: true}, "pistol": {Strength: new(int)}},
	}
}

// Armour is what a character wears or has for a hide (FUDGE-43, FUDGE-44).
type Armour struct {
	Kind   string `json:"kind,omitzero" enum:"none,light,medium,heavy,sf"`
	Value  int    `json:"value,omitzero" minimum:"0" maximum:"100" doc:"what it takes off damage, when the game master rates it: SF armour, at 4 or more, or a hide without a kind"`
	Shield bool   `json:"shield,omitzero" doc:"a good shield as well"`
	Scale  string `json:"scale,omitzero" enum:"own,lesser" doc:"own: rated on the wearer's scale; lesser: rated in damage of whoever is smaller in the fight"`
}

// Weapon has one of size, strength and modifier.
type Weapon struct {
	Size     string `json:"size,omitzero" enum:"none,martial art,small,average,large" doc:"of a muscle-powered weapon, bows included"`
	Sharp    bool   `json:"sharp,omitzero" doc:"one point more, for weapons with a size"`
	Strength *int   `json:"strength,omitzero" minimum:"-10" maximum:"100" doc:"of a gun, crossbow or beam: counts instead of the attacker's"`
	Modifier *int   `json:"modifier,omitzero" minimum:"-10" maximum:"100" doc:"of a muscle-powered thing that the game master rates directly"`
	// Modes are written down for what its rating does not say: a sword of light
	// that has a strength, a bow with sharp arrows.
	Modes []string `json:"modes,omitzero" maxItems:"3" enum:"melee,thrown,propelled" doc:"ways it is used; left out: not in melee with a strength, not propelled when sharp, bare hands in melee alone, else in every way"`
}

// serves reports whether the weapon is used in a way.
func (w Weapon) serves(mode string) bool {
	_, sized := weaponTable[w.Size]
	switch {
	case len(w.Modes) > 0:
		return slices.Contains(w.Modes, mode)
	case w.Strength != nil:
		return mode != melee
	case w.Size != "" && !sized:
		return mode == melee
	}
	return !w.Sharp || mode != propelled
}

// Scale says how a being compares with humans (B9, FUDGE-58).
type Scale struct {
	Kind      string `json:"kind,omitzero" maxLength:"200" doc:"name of a scale in the setting; what it says is copied when nothing else is given"`
	HitPoints string `json:"hit_points,omitzero" maxLength:"9" doc:"human hit points in one of this being's: 5 for a big dragon, 1/3 for a leprechaun"`
	Strength  int    `json:"strength,omitzero" minimum:"-100" maximum:"100" doc:"levels from this being's scale of strength to the human one: 5 when its Terrible is a human Great"`
}

// attribute is a trait with a place of its own on the sheet.
type attribute struct {
	name  string
	field string
	at    func(s *Sheet) *string
}

// attributes can be rolled by name like other traits.
var attributes = []attribute{
	{"Strength", "strength", func(s *Sheet) *string { return &s.Strength }},
	{"Constitution", "constitution", func(s *Sheet) *string { return &s.Constitution }},
	{"Hit Points", "hit_points", func(s *Sheet) *string { return &s.HitPoints }},
	{"Martial Art", "martial_art", func(s *Sheet) *string { return &s.MartialArt }},
}

// complete judges a sheet and fills in what was left out.
func (s *Sheet) complete(o rules.Options) error {
	if err := s.checkTraits(); err != nil {
		return err
	}
	for _, a := range attributes {
		if _, err := traitLevel("sheet."+a.field, *a.at(s), Fair); err != nil {
			return err
		}
		if *a.at(s) == "" && a.name != "Martial Art" {
			*a.at(s) = Fair.String()
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Weapons)) {
		if err := s.Weapons[name].check("weapons." + name); err != nil {
			return err
		}
	}
	if err := oneSpelling("weapons", maps.Keys(s.Weapons)); err != nil {
		return err
	}
	if s.Armour != nil {
		if _, err := s.Armour.rating(); err != nil {
			return err
		}
	}
	if s.Scale == nil {
		return nil
	}
	scale := *s.Scale
	s.Scale = &scale
	return scale.fill(o)
}

// checkTraits reads the levels of all traits. An attribute that was written
// among the traits moves to its place.
func (s *Sheet) checkTraits() error {
	if err := oneSpelling("traits", maps.Keys(s.Traits)); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(s.Traits)) {
		level := s.Traits[name]
		l, err := ParseLevel(level)
		if err != nil {
			return &rules.Invalid{Field: "traits." + name, Reason: err.Error()}
		}
		if _, err := traitLevel("sheet.traits."+name, l.String(), Fair); err != nil {
			return err
		}
		i := slices.IndexFunc(attributes, func(a attribute) bool { return strings.EqualFold(a.name, name) })
		if i < 0 {
			continue
		}
		place := attributes[i].at(s)
		if *place != "" && *place != level {
			return &rules.Invalid{Field: "traits." + name, Reason: fmt.Sprintf("is %s, but %s says %s", level, attributes[i].field, *place)}
		}
		*place = level
		s.Traits = maps.Clone(s.Traits)
		delete(s.Traits, name)
	}
	return nil
}

// oneSpelling refuses names that differ in upper and lower case alone: they
// are found in either spelling.
func oneSpelling(field string, names func(func(string) bool)) error {
	var last string
	for _, name := range slices.SortedFunc(names, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) }) {
		if last != "" && strings.EqualFold(last, name) {
			return &rules.Invalid{Field: field, Reason: fmt.Sprintf("has both %s and %s: one name, one spelling", min(last, name), max(last, name))}
		}
		last = name
	}
	return nil
}

// named finds an entry by name, whatever its spelling.
func named[V any](entries map[string]V, name string) (V, bool) {
	for have, v := range entries {
		if strings.EqualFold(have, name) {
			return v, true
		}
	}
	var none V
	return none, false
}

// trait is the level of a trait. known is false for one that is not on the
// sheet: the character is untrained (FUDGE-17).
func (s *Sheet) trait(name string) (l Level, known bool) {
	level, known := named(s.Traits, name)
	if !known {
		for _, a := range attributes {
			if strings.EqualFold(a.name, name) && *a.at(s) != "" {
				level, known = *a.at(s), true
			}
		}
	}
	if !known {
		return untrained, false
	}
	return mustLevel(level), true
}

// mustLevel reads a level that was judged when the sheet was made.
func mustLevel(name string) Level {
	l, err := ParseLevel(name)
	if err != nil {
		panic("fudge: a sheet holds a level that " + err.Error())
	}
	return l
}

// strengthScale is the number of levels to the human scale of strength.
func (s *Sheet) strengthScale() int {
	if s.Scale == nil {
		return 0
	}
	return s.Scale.Strength
}

// unit is the worth of one hit point in human ones (FUDGE-61).
func (s *Sheet) unit() *big.Rat {
	if s.Scale == nil {
		return big.NewRat(1, 1)
	}
	u, err := parseUnit("scale.hit_points", s.Scale.HitPoints)
	if err != nil {
		panic("fudge: a sheet holds a scale that " + err.Error())
	}
	return u
}

var unitForm = regexp.MustCompile(`^[1-9]\d{0,3}(/[1-9]\d{0,3})?$`)

// parseUnit reads the worth of a hit point: a whole number or a fraction.
func parseUnit(field, s string) (*big.Rat, error) {
	u, ok := new(big.Rat).SetString(s)
	if !ok || !unitForm.MatchString(s) {
		return nil, &rules.Invalid{Field: field, Reason: fmt.Sprintf("is %q: must be a number such as 5 or a fraction such as 1/3", s)}
	}
	return u, nil
}

// check refuses a weapon that is rated twice or not at all (FUDGE-45,
// FUDGE-47).
func (w Weapon) check(field string) error {
	ratings := 0
	for _, given := range []bool{w.Size != "", w.Strength != nil, w.Modifier != nil} {
		if given {
			ratings++
		}
	}
	if ratings != 1 {
		return &rules.Invalid{Field: field, Reason: "must have one of size, strength and modifier"}
	}
	if w.Sharp && w.Size == "" {
		return &rules.Invalid{Field: field + ".sharp", Reason: "is for weapons with a size"}
	}
	return nil
}

// rating is what armour takes off, on the scale it is rated on (FUDGE-43,
// FUDGE-44).
func (a Armour) rating() (int, error) {
	value, fixed := armourTable[a.Kind]
	switch {
	case fixed && a.Value != 0:
		return 0, &rules.Invalid{Field: "armour.value", Reason: "is for sf armour and for armour without a kind"}
	case a.Kind == "sf" && a.Value < sfArmour:
		return 0, rules.Reject("sf_armour_is_4_or_more", "FUDGE-43", "SF armour takes off %d or more, not %d", sfArmour, a.Value).On("sheet.armour.value")
	case !fixed:
		value = a.Value
	}
	if a.Shield {
		value += goodShield
	}
	return value, nil
}

// isStrength reports whether a trait is the one that has scales of its own.
func isStrength(trait string) bool { return strings.EqualFold(trait, attributes[0].name) }
