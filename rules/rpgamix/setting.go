package rpgamix

import (
	"fmt"
	"iter"
	"slices"

	"tallystick/rules"
)

// Armour is rated in hit points (RPGX-23); the book has no table of it.
type Armour struct {
	Name   string `json:"name" minLength:"1" maxLength:"200"`
	Points int    `json:"points" minimum:"0" maximum:"10000" doc:"hit points that it stops of every blow"`
}

// Skill is a skill that the campaign lists, with the stat it usually goes
// with: a check may then leave the stat out.
type Skill struct {
	Name string `json:"name" minLength:"1" maxLength:"200"`
	Stat string `json:"stat" enum:"str,con,dex,per,int,wits,cha,app"`
}

// Setting is what a campaign defines itself. Its things go before those of
// the book that have the same name.
type Setting struct {
	Weapons     []Weapon       `json:"weapons,omitzero" maxItems:"500"`
	Armour      []Armour       `json:"armour,omitzero" maxItems:"500"`
	Disciplines []Discipline   `json:"disciplines,omitzero" maxItems:"200"`
	Skills      []Skill        `json:"skills,omitzero" maxItems:"500"`
	Backgrounds map[string]int `json:"backgrounds,omitzero" minimum:"-100000" maximum:"100000" maxItems:"500" doc:"fixed prices by name; negative for drawbacks"`
}

// Setting is a pointer to an empty Setting.
func (system) Setting() any { return new(Setting) }

func settingOf(o rules.Options) *Setting { return o.Setting.(*Setting) }

// CheckSetting refuses names that come twice, weapons that cannot be, and
// disciplines that ask for what nobody knows.
func (system) CheckSetting(setting any) error {
	s := setting.(*Setting)
	lists := []struct {
		field string
		names []string
	}{
		{"weapons", named(s.Weapons, func(w Weapon) string { return w.Name })},
		{"armour", named(s.Armour, func(a Armour) string { return a.Name })},
		{"disciplines", named(s.Disciplines, func(d Discipline) string { return d.Name })},
		{"skills", named(s.Skills, func(x Skill) string { return x.Name })},
		{"backgrounds", sorted(s.Backgrounds)},
	}
	for _, l := range lists {
		if err := distinct(l.field, l.names); err != nil {
			return err
		}
	}
	for i, w := range s.Weapons {
		if err := w.check(); err != nil {
			return under(fmt.Sprintf("weapons.%d", i), err)
		}
	}
	for i, d := range s.Disciplines {
		if err := s.check(d); err != nil {
			return under(fmt.Sprintf("disciplines.%d", i), err)
		}
	}
	return nil
}

// check refuses a weapon that serves at no distance, and models that do less
// than the least.
func (w Weapon) check() error {
	switch {
	case w.Models != 0 && w.Models < w.Potential:
		return &rules.Invalid{Field: "models", Reason: fmt.Sprintf("is %d: must not be less than the potential", w.Models)}
	case w.Max != 0 && w.MaxStrength == 0 && w.Max < w.Min:
		return &rules.Invalid{Field: "max_cm", Reason: fmt.Sprintf("is %d: must not be less than min_cm", w.Max)}
	case w.Choked > w.Min:
		return &rules.Invalid{Field: "choked_cm", Reason: fmt.Sprintf("is %d: must not be more than min_cm", w.Choked)}
	}
	return nil
}

// check refuses a discipline that asks for one, or permits one, that is not
// known, and one that would have to be learned before itself.
func (s *Setting) check(d Discipline) error {
	for _, list := range []struct {
		field string
		names []string
	}{{"requires", d.Requires}, {"disciplines", d.Disciplines}} {
		for i, name := range list.names {
			if _, ok := find(s.library(), name); !ok || fold(name) == fold(d.Name) {
				return &rules.Invalid{Field: fmt.Sprintf("%s.%d", list.field, i), Reason: "is " + name + ": no other discipline has this name"}
			}
		}
	}
	for i, name := range d.Requires {
		if s.needs(name, d.Name, map[string]bool{}) {
			return &rules.Invalid{Field: fmt.Sprintf("requires.%d", i), Reason: "is " + name + ": that takes " + d.Name + " first itself"}
		}
	}
	return nil
}

// needs reports whether a discipline can only be learned after another one.
func (s *Setting) needs(name, first string, seen map[string]bool) bool {
	d, _ := find(s.library(), name)
	seen[fold(name)] = true
	return contains(d.Requires, first) || slices.ContainsFunc(d.Requires, func(next string) bool { return !seen[fold(next)] && s.needs(next, first, seen) })
}

// library are all disciplines that are known: those of the campaign, then the
// book's that they do not replace.
func (s *Setting) library() iter.Seq[Discipline] {
	return func(yield func(Discipline) bool) {
		for _, d := range s.Disciplines {
			if !yield(d) {
				return
			}
		}
		for _, d := range printedDisciplines {
			replaced := slices.ContainsFunc(s.Disciplines, func(own Discipline) bool { return fold(own.Name) == fold(d.Name) })
			if !replaced && !yield(d) {
				return
			}
		}
	}
}

func library(o rules.Options) iter.Seq[Discipline] { return settingOf(o).library() }

func find(list iter.Seq[Discipline], name string) (Discipline, bool) {
	for d := range list {
		if fold(d.Name) == fold(name) {
			return d, true
		}
	}
	return Discipline{}, false
}

func discipline(o rules.Options, name string) (Discipline, bool) { return find(library(o), name) }

func armourNamed(o rules.Options, name string) (Armour, bool) {
	for _, a := range settingOf(o).Armour {
		if fold(a.Name) == fold(name) {
			return a, true
		}
	}
	return Armour{}, false
}

// usualStat of a skill that the campaign lists; empty for others.
func usualStat(o rules.Options, skill string) string {
	for _, s := range settingOf(o).Skills {
		if fold(s.Name) == fold(skill) {
			return s.Stat
		}
	}
	return ""
}

// fixedPrice of a background: the campaign's, then the book's (RPGX-64).
func fixedPrice(o rules.Options, name string) (price int, fixed bool) {
	set := settingOf(o).Backgrounds
	for _, known := range sorted(set) {
		if fold(known) == fold(name) {
			return set[known], true
		}
	}
	price, fixed = fixedPrices[fold(name)]
	return price, fixed
}
