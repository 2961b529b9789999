package perp

import "strings"

// Time in combat and in healing, in seconds of the game.
const (
	round  = 3       // PERP-20
	minute = 60      // PERP-49
	week   = 604_800 // PERP-51
)

// deadAt is where bleeding ends (PERP-50).
const deadAt = -20

// Budgets of a beginner that the book fixes (PERP-3, PERP-11, PERP-12).
const (
	positivePoints = 4
	negativePoints = 2
	negativeSkills = 4
	maxHitPoints   = 20
	// pointsPerSpecialist skill points allow one more skill to be specialised.
	pointsPerSpecialist = 5
)

// build is the table Hit Points (PERP-12): up to how many points, and who has
// them. Advice, not law.
var build = []struct {
	upTo int
	who  string
	odd  bool // worth a word when somebody chooses it
}{
	{5, "a small child or a sickly old person", true},
	{10, "a small to average person", false},
	{15, "a noticeably large or well conditioned person", false},
	{20, "an obese or massively built person", true},
}

// class is a class of weapons: hand weapons and primitive missiles add to the
// damage, firearms multiply the margin.
type class struct {
	name    string
	missile bool
	bonus   int
	times   int // 0 for what is no firearm
	rule    string
	such    []string // weapons the book names in it
}

// classes are the lists under Weapons (PERP-22) and Missile Combat (PERP-35,
// PERP-36). Unarmed is not in the book: bare hands add nothing. The rapier is
// in no list; the duel of the parrying example counts it as medium.
var classes = []class{
	{name: "unarmed", rule: "PERP-22"},
	{name: "small", bonus: 1, rule: "PERP-22", such: []string{"dagger", "knife", "sling stone", "hatchet", "club", "staff"}},
	{name: "medium", bonus: 2, rule: "PERP-22", such: []string{"broad sword", "battle axe", "mace", "flail", "rapier"}},
	{name: "large", bonus: 3, rule: "PERP-22", such: []string{"claymore", "glaive", "two handed sword"}},
	{name: "light", missile: true, bonus: 1, rule: "PERP-35", such: []string{"dart", "thrown dagger", "sling stone", "boomerang"}},
	{name: "medium", missile: true, bonus: 2, rule: "PERP-35", such: []string{"self bow", "javelin", "spear", "throwing axe"}},
	{name: "heavy", missile: true, bonus: 3, rule: "PERP-35", such: []string{"long bow", "crossbow"}},
	{name: "small gun", missile: true, times: 2, rule: "PERP-36", such: []string{"light pistol", "hunting rifle"}},
	{name: "medium gun", missile: true, times: 3, rule: "PERP-36", such: []string{"medium firearm"}},
	{name: "big gun", missile: true, times: 4, rule: "PERP-36", such: []string{"machine gun", "big pistol", "big rifle"}},
}

// reach is which weapons are meant.
type reach int

const (
	anyReach reach = iota
	handToHand
	afar // thrown or shot
)

func (r reach) fits(c class) bool {
	return r == anyReach || c.missile == (r == afar)
}

// classOf finds the class of a weapon by the name of either; a hand weapon
// goes before a missile of the same name.
func classOf(name string, at reach) (class, bool) {
	for _, c := range classes {
		if at.fits(c) && (strings.EqualFold(c.name, name) || contains(c.such, name)) {
			return c, true
		}
	}
	return class{}, false
}

// protection is what armour takes off damage (PERP-45).
var protection = map[string]int{"none": 0, "leather": 1, "chainmail": 2, "platemail": 3, "powered": 12}

// Subjects that a roll can be about, as far as armour cares (PERP-46, PERP-47).
const (
	agility   = "agility"
	quickness = "quickness"
	movement  = "movement"
	strength  = "strength"
	seeing    = "seeing"
)

// feature is what armour does to its wearer: a trait as long as it is worn.
type feature struct {
	name     string
	group    int // one number for all words before it
	word     int // one for each word
	rule     string
	subjects []string
}

var nimble = []string{agility, quickness}

// features is the list under Armor, without the protection. Thermal vision is
// an ability without a number.
var features = map[string][]feature{
	"leather":   {{"hot", -1, -1, "PERP-46", nimble}},
	"chainmail": {{"cumbersome, hot, stuffy", -1, -3, "PERP-46", nimble}},
	"platemail": {{"very heavy", -2, -2, "PERP-46", nimble}, {"cumbersome and hot", -1, -2, "PERP-46", nimble}},
	"powered on": {
		{"servomotor strength", 3, 3, "PERP-47", []string{strength}},
		{"image magnification", 2, 2, "PERP-47", []string{seeing}},
	},
	"powered off": {{"immobile", -12, -12, "PERP-47", []string{agility, quickness, movement, strength}}},
}

// softCover is what the attacker loses by cover that only hides (PERP-39).
var softCover = map[string]int{"": 0, "none": 0, "half": -1, "full": -2}

// allQuarters of a target behind hard cover leave nothing to aim at (PERP-40).
const allQuarters = 4

func contains(names []string, name string) bool {
	for _, n := range names {
		if strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}
