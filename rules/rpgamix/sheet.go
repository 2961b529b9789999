package rpgamix

import (
	"fmt"
	"slices"

	"tallystick/rules"
)

// Stats are the eight of the book (RPGX-1). At creation each is -5 to +5.
type Stats struct {
	Str  int `json:"str" minimum:"-100" maximum:"100" doc:"strength"`
	Con  int `json:"con" minimum:"-100" maximum:"100" doc:"constitution"`
	Dex  int `json:"dex" minimum:"-100" maximum:"100" doc:"dexterity"`
	Per  int `json:"per" minimum:"-100" maximum:"100" doc:"perception"`
	Int  int `json:"int" minimum:"-100" maximum:"100" doc:"intelligence"`
	Wits int `json:"wits" minimum:"-100" maximum:"100" doc:"wits"`
	Cha  int `json:"cha" minimum:"-100" maximum:"100" doc:"charisma"`
	App  int `json:"app" minimum:"-100" maximum:"100" doc:"appearance"`
}

// statNames in the order of the book's examples, with the name people see.
var statNames = []struct{ key, label string }{
	{"str", "Strength"}, {"con", "Constitution"}, {"dex", "Dexterity"}, {"int", "Intelligence"},
	{"wits", "Wits"}, {"per", "Perception"}, {"cha", "Charisma"}, {"app", "Appearance"},
}

// of is a stat by its key, which the command's schema has checked.
func (s Stats) of(key string) int {
	switch key {
	case "str":
		return s.Str
	case "con":
		return s.Con
	case "dex":
		return s.Dex
	case "int":
		return s.Int
	case "wits":
		return s.Wits
	case "per":
		return s.Per
	case "cha":
		return s.Cha
	case "app":
		return s.App
	}
	panic("rpgamix: no stat " + key)
}

func statLabel(key string) string {
	for _, s := range statNames {
		if s.key == key {
			return s.label
		}
	}
	panic("rpgamix: no stat " + key)
}

// Learned is a discipline on a sheet.
type Learned struct {
	Name       string `json:"name" minLength:"1" maxLength:"200"`
	Cost       *int   `json:"cost,omitzero" minimum:"0" maximum:"100000" doc:"its price, where the book leaves a choice or says none"`
	PoolPoints int    `json:"pool_points,omitzero" minimum:"0" maximum:"100000" doc:"points put into the discipline's pool"`
}

// Worn is armour on a sheet. Without points it is one of the setting's.
type Worn struct {
	Name   string `json:"name" minLength:"1" maxLength:"200"`
	Points *int   `json:"points,omitzero" minimum:"0" maximum:"10000" doc:"hit points that it stops of every blow, if the setting does not say it"`
}

// Natures of what can be hit (RPGX-11).
const (
	living  = "living"
	thing   = "thing"   // takes at most a hundred per cent, feels and heals nothing
	machine = "machine" // the same, but has vital parts: no limit
)

// Sheet is a character as written down. Free creation needs stats and skills;
// skills are points bought, what disciplines bring is added to them.
type Sheet struct {
	Stats       Stats          `json:"stats"`
	Skills      map[string]int `json:"skills" minimum:"0" maximum:"100" maxItems:"500" doc:"points bought, by name"`
	Points      int            `json:"points,omitzero" minimum:"0" maximum:"100000" doc:"what the character is built with, if the campaign does not fix it"`
	Exchange    bool           `json:"exchange,omitzero" doc:"a sum of stats other than 2 is paid for, or gives, five points each"`
	Disciplines []Learned      `json:"disciplines,omitzero" maxItems:"100"`
	Backgrounds map[string]int `json:"backgrounds,omitzero" minimum:"-100000" maximum:"100000" maxItems:"200" doc:"price by name; a drawback has a negative one"`
	Pools       map[string]int `json:"pools,omitzero" minimum:"0" maximum:"100000" maxItems:"50" doc:"free creation: greatest level of variables that no discipline sets, such as ki"`
	Armour      []Worn         `json:"armour,omitzero" maxItems:"50" doc:"what is worn; the points add up"`
	Weapons     []Weapon       `json:"weapons,omitzero" maxItems:"100" doc:"weapons that only this character has; they go before the setting's and the table's"`
	Nature      string         `json:"nature,omitzero" enum:"living,thing,machine" doc:"what is no living being takes at most 100 % of a weapon's damage, a machine with vital parts excepted"`
}

// Create judges a sheet. With book every budget of the rules is checked and
// all objections are named in one rejection; without, only a stat under -5 and
// names that clash are refused.
func (system) Create(o rules.Options, sheet any, book bool, clock int64) (rules.Body, []string, error) {
	s := sheet.(*Sheet)
	if err := s.settle(o); err != nil {
		return nil, nil, err
	}
	objections := s.floor()
	if book {
		objections = judge(o, s).objections
	}
	if err := refuse(objections); err != nil {
		return nil, nil, err
	}
	s = s.own()
	b := &Body{Sheet: s, Pools: map[string]int{}}
	b.Points = b.max()
	b.enter(clock)
	b.RankSince = clock
	for _, p := range b.pools(o) {
		b.Pools[p.Name] = p.first
	}
	return b, s.warnings(), nil
}

// Amend puts another sheet on a body. The points that are missing stay
// missing; worn armour stays worn off unless the armour changes.
func (system) Amend(o rules.Options, old rules.Body, sheet any, clock int64) (rules.Body, []string, error) {
	s := sheet.(*Sheet)
	if err := s.settle(o); err != nil {
		return nil, nil, err
	}
	if err := refuse(s.floor()); err != nil {
		return nil, nil, err
	}
	before := old.(*Body)
	b := *before
	b.Sheet = s.own()
	b.Points = b.max() - (before.max() - before.Points)
	if b.Points <= 0 {
		return nil, nil, rules.Reject("amended_to_death", "RPGX-28", "with a constitution of %d the wounds would leave no hit points: heal the character first", s.Stats.Con).On("sheet.stats.con")
	}
	if !sameArmour(before.Sheet.Armour, s.Armour) {
		b.Worn = 0
	}
	b.Pools = map[string]int{}
	for _, p := range b.pools(o) {
		have, known := before.Pools[p.Name]
		if !known {
			have = p.first
		}
		b.Pools[p.Name] = min(have, p.max)
	}
	b.enterFrom(before, clock)
	b.Ticked, b.Order = clock, len(intervals) // what was certain before, or not rolled by a thing, must not fall due afterwards
	return &b, s.warnings(), nil
}

func sameArmour(a, b []Worn) bool {
	return slices.EqualFunc(a, b, func(x, y Worn) bool { return x.Name == y.Name && *x.Points == *y.Points })
}

// own is a copy that shares nothing that its caller could still change.
func (s *Sheet) own() *Sheet {
	c := *s
	return &c
}

// floor objects to what no character may be: below it health is not defined.
func (s *Sheet) floor() []objection {
	var all []objection
	for _, st := range statNames {
		if n := s.Stats.of(st.key); n < -5 {
			all = append(all, lowStat(st.key, n))
		}
	}
	return all
}

// settle fills in defaults and refuses names that clash.
func (s *Sheet) settle(o rules.Options) error {
	if s.Skills == nil {
		s.Skills = map[string]int{}
	}
	if s.Nature == "" {
		s.Nature = living
	}
	if err := s.wear(o); err != nil {
		return err
	}
	return s.names()
}

// wear writes the points of the setting's armour on the sheet.
func (s *Sheet) wear(o rules.Options) error {
	s.Armour = slices.Clone(s.Armour)
	for i, w := range s.Armour {
		if w.Points != nil {
			continue
		}
		a, ok := armourNamed(o, w.Name)
		if !ok {
			return &rules.Invalid{Field: fmt.Sprintf("armour.%d.points", i), Reason: "is missing: the setting has no armour called " + w.Name}
		}
		s.Armour[i].Points = &a.Points
	}
	return nil
}

// names refuses two things of one kind whose names differ in case alone.
func (s *Sheet) names() error {
	lists := []struct {
		field string
		names []string
	}{
		{"skills", sorted(s.Skills)}, {"backgrounds", sorted(s.Backgrounds)}, {"pools", sorted(s.Pools)},
		{"armour", named(s.Armour, func(w Worn) string { return w.Name })},
		{"disciplines", named(s.Disciplines, func(l Learned) string { return l.Name })},
		{"weapons", named(s.Weapons, func(w Weapon) string { return w.Name })},
	}
	for _, l := range lists {
		if err := distinct(l.field, l.names); err != nil {
			return err
		}
	}
	return nil
}

// distinct refuses names that cannot be read and names that come twice.
func distinct(field string, names []string) error {
	seen := map[string]bool{}
	for _, name := range names {
		if err := rules.CheckName(name); err != nil {
			return &rules.Invalid{Field: field, Reason: "has a name that " + err.Error()}
		}
		if seen[fold(name)] {
			return &rules.Invalid{Field: field, Reason: "has " + name + " twice"}
		}
		seen[fold(name)] = true
	}
	return nil
}

// warnings are what the book frowns upon without forbidding (RPGX-2, RPGX-55).
func (s *Sheet) warnings() []string {
	var out []string
	for _, st := range statNames {
		if n := s.Stats.of(st.key); n > 5 {
			out = append(out, fmt.Sprintf("RPGX-55: %s is %d, above the book's 5", st.label, n))
		}
	}
	for _, name := range sorted(s.Skills) {
		if n := s.Skills[name]; n > 5 {
			out = append(out, fmt.Sprintf("RPGX-2: the skill %s is %d, above the usual 5", name, n))
		}
	}
	return out
}
