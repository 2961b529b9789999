package perp

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tallystick/rules"
)

// Sheet is what a player writes down of a character.
type Sheet struct {
	Traits    map[string]int   `json:"traits" minimum:"-1000" maximum:"1000" maxItems:"100" doc:"any word with its points: Athletic 1, Vain -1"`
	Skills    map[string]Skill `json:"skills" maxItems:"200"`
	HitPoints int              `json:"hp" minimum:"1" maximum:"1000" doc:"hit points when healthy; for a beginner 1 to 20: to 5 a small child or a sickly old person, to 10 a small to average person, to 15 a noticeably large or well conditioned person, to 20 an obese or massively built person"`
	Healing   []string         `json:"healing,omitzero" maxItems:"20" doc:"traits that count when wounds heal and are tended"`
	Armour    string           `json:"armour,omitzero" enum:"none,leather,chainmail,platemail,powered" doc:"worn at the start"`
	Shield    bool             `json:"shield,omitzero" doc:"fights with a shield"`
	Weapons   []Weapon         `json:"weapons,omitzero" maxItems:"50" doc:"the first one is used unless another is named"`
}

// Skill is something learned: points above 0 were bought, 0 is a zero-level
// skill, below 0 a negative one.
type Skill struct {
	Points          int      `json:"points" minimum:"-1000" maximum:"1000" doc:"bought points; 0: zero-level skill; below 0: negative skill"`
	Description     string   `json:"description,omitzero" maxLength:"1000" doc:"how it was learned, and how good the character thinks they are"`
	Kind            string   `json:"kind,omitzero" enum:"weapon,shield,dodge,medical,damage" doc:"what it is for, where the rules care"`
	Specializations []string `json:"specializations,omitzero" maxItems:"20" doc:"areas with +1; named twice: +2"`
	Exclusions      []string `json:"exclusions,omitzero" maxItems:"20" doc:"areas of no knowledge, one for each specialization"`
}

// Kinds of skills that the rules tell apart.
const (
	kindWeapon  = "weapon"
	kindShield  = "shield"
	kindDodge   = "dodge"
	kindMedical = "medical"
	kindDamage  = "damage"
)

// Weapon is a weapon by the character's own name for it.
type Weapon struct {
	Name       string `json:"name" minLength:"1" maxLength:"200"`
	Class      string `json:"class" minLength:"1" maxLength:"200" doc:"small, medium, large; light, medium, heavy (missile); small gun, medium gun, big gun; or a weapon the book names"`
	Missile    bool   `json:"missile,omitzero" doc:"thrown or shot, where the class alone does not say"`
	RateOfFire int    `json:"rate_of_fire,omitzero" minimum:"1" maximum:"100" doc:"shots in a round; 1 if left out"`
}

func (w Weapon) reach() reach {
	if w.Missile {
		return afar
	}
	return anyReach
}

// An objection is what is wrong with a beginner's sheet.
type objection struct{ code, rule, reason string }

// Create judges a sheet and makes a healthy character of it. With book every
// budget of Character Creation is checked, PERP-2 to PERP-12.
func (System) Create(o rules.Options, sheet any, byBook bool, _ int64) (rules.Body, []string, error) {
	s := sheet.(*Sheet)
	if err := s.check(); err != nil {
		return nil, nil, err
	}
	if byBook {
		if err := refuse(s.objections(o)); err != nil {
			return nil, nil, err
		}
	}
	return &Body{Sheet: s, HP: s.HitPoints, Armour: s.Armour}, s.warnings(o), nil
}

// Amend puts another sheet on a living body. Points lost stay lost. Armour put
// on in play stays on unless the new sheet says something else than the old.
func (System) Amend(_ rules.Options, b rules.Body, sheet any, clock int64) (rules.Body, []string, error) {
	s, old := sheet.(*Sheet), b.(*Body)
	if err := s.check(); err != nil {
		return nil, nil, err
	}
	next := *old
	next.Sheet = s
	if s.Armour != old.Sheet.Armour {
		next.Armour, next.Powered = s.Armour, false
	}
	hp := s.HitPoints - (old.Sheet.HitPoints - old.HP)
	if hp <= deadAt {
		return nil, nil, rules.Reject("amended_to_death", "PERP-50", "with %d hit points at best, and %d lost, nobody is alive", s.HitPoints, s.HitPoints-hp).On("sheet.hp")
	}
	next.settle(hp, clock)
	return &next, nil, nil
}

// refuse makes one rejection of all objections. Its code and rule are those of
// the first, which is not named a second time in the reason.
func refuse(all []objection) error {
	if len(all) == 0 {
		return nil
	}
	reasons := make([]string, len(all))
	for i, o := range all {
		reasons[i] = o.reason
		if i > 0 {
			reasons[i] += " (" + o.rule + ")"
		}
	}
	return rules.Reject(all[0].code, all[0].rule, "%s", strings.Join(reasons, "; ")).On("sheet")
}

// check refuses what no character may be, whoever makes it, and fills in the
// armour.
func (s *Sheet) check() error {
	if s.Armour == "" {
		s.Armour = "none"
	}
	for _, name := range sorted(s.Traits) {
		if s.Traits[name] == 0 {
			return &rules.Invalid{Field: "traits." + name, Reason: "is 0: a trait is worth at least one point, positive or negative (PERP-2)"}
		}
	}
	if twice := repeated(sorted(s.Traits)); twice != "" {
		return &rules.Invalid{Field: "traits", Reason: "has " + twice + " twice (PERP-2)"}
	}
	if twice := repeated(sorted(s.Skills)); twice != "" {
		return &rules.Invalid{Field: "skills", Reason: "has " + twice + " twice (PERP-4)"}
	}
	for _, name := range sorted(s.Skills) {
		if err := s.Skills[name].check("skills." + name); err != nil {
			return err
		}
	}
	for _, name := range s.Healing {
		if _, ok := s.trait(name); !ok {
			return &rules.Invalid{Field: "healing", Reason: "names " + name + ", which is no trait of this sheet (PERP-51)"}
		}
	}
	if twice := repeated(s.Healing); twice != "" {
		return &rules.Invalid{Field: "healing", Reason: "has " + twice + " twice (PERP-14)"}
	}
	return checkWeapons(s.Weapons)
}

func checkWeapons(all []Weapon) error {
	var names []string
	for i, w := range all {
		field := fmt.Sprintf("weapons.%d", i)
		if err := rules.CheckName(w.Name); err != nil {
			return &rules.Invalid{Field: field + ".name", Reason: err.Error()}
		}
		if _, ok := classOf(w.Class, w.reach()); !ok {
			return &rules.Invalid{Field: field + ".class", Reason: "is no class of weapons and no weapon that the book names (PERP-22, PERP-35, PERP-36)"}
		}
		names = append(names, w.Name)
	}
	if twice := repeated(names); twice != "" {
		return &rules.Invalid{Field: "weapons", Reason: "has " + twice + " twice"}
	}
	return nil
}

func (k Skill) check(field string) error {
	if err := rules.CheckText(k.Description); err != nil {
		return &rules.Invalid{Field: field + ".description", Reason: err.Error()}
	}
	for _, area := range slices.Concat(k.Specializations, k.Exclusions) {
		if err := rules.CheckName(area); err != nil {
			return &rules.Invalid{Field: field, Reason: "has an area that " + err.Error()}
		}
	}
	return nil
}

// objections are all that the book holds against a beginner.
func (s *Sheet) objections(o rules.Options) []objection {
	var all []objection
	object := func(wrong bool, code, rule, format string, a ...any) {
		if wrong {
			all = append(all, objection{code, rule, fmt.Sprintf(format, a...)})
		}
	}
	good, bad := s.traitPoints()
	exact := o.On("perp.positive_traits_exact") && good != positivePoints
	object(good > positivePoints || exact, "positive_traits", "PERP-3", "positive traits cost %d points: there are %d", good, positivePoints)
	object(bad != negativePoints, "negative_traits", "PERP-3", "negative traits come to %d points: exactly %d must be taken", bad, negativePoints)

	spent, negative := s.skillPoints()
	given := o.Int("perp.skill_points")
	object(spent > given, "skill_points_over", "PERP-4", "skills cost %d points: there are %d", spent, given)
	campaign := o.Setting.(*Setting)
	free := o.Int("perp.zero_level_skills")
	if campaign.ZeroLevelInstead {
		free = 0
	}
	zero := s.zeroLevel(campaign)
	object(zero > free, "too_many_zero_level", "PERP-10", "%d zero-level skills of free choice: there may be %d", zero, free)
	for _, name := range campaign.ZeroLevel {
		_, k, ok := s.skill(name)
		object(!ok || k.Points < 0, "zero_level_prescribed", "PERP-10", "%s is prescribed at zero level in this campaign", name)
	}
	object(negative > negativeSkills, "negative_skills_over", "PERP-11", "negative skills come to %d points: at most %d may be taken", negative, negativeSkills)

	specialised := 0
	for _, name := range sorted(s.Skills) {
		k := s.Skills[name]
		unlisted := len(campaign.Skills) > 0 && !contains(slices.Concat(campaign.Skills, campaign.ZeroLevel), name)
		object(unlisted, "skill_not_listed", "PERP-6", "%s is not on the campaign's list of skills", name)
		if len(k.Specializations) > 0 {
			specialised++
		}
		// Without points there is no bonus to give up elsewhere, and a zero-level
		// skill would earn the bonus that it falls short of.
		object(k.Points <= 0 && len(k.Specializations) > 0, "specialized_without_points", "PERP-10", "%s is worth %d and cannot be specialised: that is for skills that points were spent on", name, k.Points)
		most := o.Int("perp.specializations_per_skill")
		object(len(k.Specializations) > most, "too_many_specializations", "PERP-8", "%s has %d specializations: a skill may have %d", name, len(k.Specializations), most)
		object(len(k.Exclusions) != len(k.Specializations), "exclusions_missing", "PERP-9", "%s has %d specializations and %d areas of no knowledge: each specialization costs one", name, len(k.Specializations), len(k.Exclusions))
		twice := repeatedArea(k.Exclusions)
		object(twice != "", "exclusions_missing", "PERP-9", "%s excludes %s twice: each specialization costs an area of its own", name, twice)
		both := sharedArea(k.Specializations, k.Exclusions)
		object(both != "", "area_specialized_and_excluded", "PERP-9", "%s in %s cannot be both specialised and unknown", name, both)
	}
	object(specialised > given/pointsPerSpecialist, "too_many_specialized_skills", "PERP-8", "%d skills are specialised: %d skill points allow %d", specialised, given, given/pointsPerSpecialist)
	object(s.HitPoints < 1 || s.HitPoints > maxHitPoints, "hit_points_range", "PERP-12", "%d hit points: a beginner has 1 to %d", s.HitPoints, maxHitPoints)
	return all
}

// warnings are what the book gives advice about and does not forbid.
func (s *Sheet) warnings(o rules.Options) []string {
	var all []string
	good, _ := s.traitPoints()
	if left := positivePoints - good; left > 0 {
		all = append(all, fmt.Sprintf("%d of the %d points for positive traits are left (PERP-3)", left, positivePoints))
	}
	spent, _ := s.skillPoints()
	if left := o.Int("perp.skill_points") - spent; left > 0 {
		all = append(all, fmt.Sprintf("%d of the %d points for skills are left (PERP-4)", left, o.Int("perp.skill_points")))
	}
	if who, odd := built(s.HitPoints); odd {
		all = append(all, fmt.Sprintf("%d hit points are those of %s (PERP-12)", s.HitPoints, who))
	}
	return all
}

// built says in the book's terms who has so many hit points at the start, and
// whether that is worth a word.
func built(hp int) (who string, odd bool) {
	for _, row := range build {
		if hp <= row.upTo {
			return row.who, row.odd
		}
	}
	return "no beginner", true
}

func (s *Sheet) traitPoints() (good, bad int) {
	for _, v := range s.Traits {
		good += max(0, v)
		bad += max(0, -v)
	}
	return good, bad
}

func (s *Sheet) skillPoints() (spent, negative int) {
	for _, k := range s.Skills {
		spent += max(0, k.Points)
		negative += max(0, -k.Points)
	}
	return spent, negative
}

// zeroLevel counts the zero-level skills that the campaign does not prescribe.
func (s *Sheet) zeroLevel(campaign *Setting) int {
	n := 0
	for name, k := range s.Skills {
		if k.Points == 0 && !contains(campaign.ZeroLevel, name) {
			n++
		}
	}
	return n
}

// trait finds a trait whatever the case of its letters.
func (s *Sheet) trait(name string) (named, bool) {
	for _, have := range sorted(s.Traits) {
		if strings.EqualFold(have, name) {
			return named{Name: have, Value: s.Traits[have], rule: "PERP-14"}, true
		}
	}
	return named{}, false
}

// skill finds a skill whatever the case of its letters.
func (s *Sheet) skill(name string) (string, Skill, bool) {
	for _, have := range sorted(s.Skills) {
		if strings.EqualFold(have, name) {
			return have, s.Skills[have], true
		}
	}
	return "", Skill{}, false
}

// in is what the skill is worth in an area, the rule that says so, and whether
// it is knowledge enough for a closed test (PERP-4, PERP-7, PERP-9 to PERP-11).
func (k Skill) in(o rules.Options, area string) (value int, rule string, known bool) {
	if inArea(k.Exclusions, area) {
		return 0, "PERP-9", o.On("perp.exclusion_counts_as_zero_level")
	}
	value = k.Points
	switch {
	case k.Points == 0:
		rule = "PERP-10"
	case k.Points < 0:
		rule = "PERP-11"
	default:
		rule = "PERP-4"
	}
	for _, s := range k.Specializations {
		if sameArea(s, area) {
			value, rule = value+1, "PERP-7"
		}
	}
	return value, rule, true
}

// sameArea reports whether two names mean one area of a skill, in the singular
// or the plural: the book's courtier does not know "Two handed swords", and what
// somebody has in his hand is a two handed sword. No name is no area.
func sameArea(a, b string) bool {
	return b != "" && strings.EqualFold(strings.TrimRight(a, "sS"), strings.TrimRight(b, "sS"))
}

func inArea(areas []string, area string) bool {
	return slices.ContainsFunc(areas, func(a string) bool { return sameArea(a, area) })
}

// sharedArea is an area that is in both lists.
func sharedArea(a, b []string) string {
	for _, area := range a {
		if inArea(b, area) {
			return area
		}
	}
	return ""
}

// repeatedArea is an area that stands twice in a list.
func repeatedArea(areas []string) string {
	for i, area := range areas {
		if inArea(areas[:i], area) {
			return area
		}
	}
	return ""
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// repeated is a name that stands twice in a list, whatever the case.
func repeated(names []string) string {
	for i, n := range names {
		if contains(names[:i], n) {
			return n
		}
	}
	return ""
}

// shared is a name that stands in both lists, whatever the case.
func shared(a, b []string) string {
	for _, n := range a {
		if contains(b, n) {
			return n
		}
	}
	return ""
}
