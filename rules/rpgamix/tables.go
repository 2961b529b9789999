package rpgamix

import (
	"fmt"
	"iter"
	"strings"

	"tallystick/rules"
)

// Health ranks, from best to worst (RPGX-29, RPGX-37).
const (
	good          = "good"
	fair          = "fair"
	poor          = "poor"
	awful         = "awful"
	incapacitated = "incapacitated"
	dead          = "dead"
)

var ranks = []string{good, fair, poor, awful, incapacitated, dead}

// penalties of actions by rank (section "Hit-points, Stunning and Damage
// Penalties").
var penalties = map[string]struct {
	value int
	rule  string
}{
	good: {0, "RPGX-31"}, fair: {-2, "RPGX-32"}, poor: {-4, "RPGX-33"}, awful: {-8, "RPGX-35"},
	incapacitated: {-16, "RPGX-36"}, dead: {0, "RPGX-37"},
}

// Intervals of the health table; their order decides at one instant (RPGX-52).
var intervals = []string{"round", "hour", "day", "week"}

// What a made Con roll gains.
const (
	gainNothing = iota
	gainOne
	gainSuccess // the margin of the roll, "one point minimum" (RPGX-49)
	gainAll     // "healed" (RPGX-50)
)

// line is one line of the health table (RPGX-39 to RPGX-48).
type line struct {
	rank      string
	treated   bool
	interval  string
	gain      int
	loss      int
	automatic bool // the loss needs no roll
	rule      string
	purpose   string // of the roll, in words; made of the above
}

var healthTable = withPurposes([]line{
	{rank: good, interval: "day", gain: gainOne, rule: "RPGX-39"},
	{rank: good, interval: "week", gain: gainNothing, loss: 1, rule: "RPGX-39"},
	{rank: good, treated: true, interval: "day", gain: gainSuccess, rule: "RPGX-40"},
	{rank: good, treated: true, interval: "week", gain: gainAll, rule: "RPGX-40"},
	{rank: fair, interval: "day", gain: gainOne, loss: 1, rule: "RPGX-41"},
	{rank: fair, treated: true, interval: "day", gain: gainSuccess, rule: "RPGX-42"},
	{rank: poor, interval: "hour", gain: gainNothing, loss: 1, rule: "RPGX-43"},
	{rank: poor, interval: "day", gain: gainOne, rule: "RPGX-43"},
	{rank: poor, treated: true, interval: "hour", gain: gainNothing, rule: "RPGX-44"},
	{rank: poor, treated: true, interval: "day", gain: gainOne, loss: 1, rule: "RPGX-44"},
	{rank: awful, interval: "round", gain: gainNothing, loss: 1, rule: "RPGX-45"},
	{rank: awful, treated: true, interval: "day", gain: gainOne, loss: 1, rule: "RPGX-46"},
	{rank: incapacitated, interval: "round", gain: gainNothing, loss: 1, automatic: true, rule: "RPGX-47"},
	{rank: incapacitated, treated: true, interval: "day", gain: gainOne, loss: 1, rule: "RPGX-48"},
})

func withPurposes(lines []line) []line {
	for i, l := range lines {
		state := "untreated"
		if l.treated {
			state = "treated"
		}
		lines[i].purpose = fmt.Sprintf("Con roll of the %s: %s health, %s", l.interval, l.rank, state)
	}
	return lines
}

// lines are those of a rank, as the campaign reads the table.
func lines(o rules.Options, rank string, treated bool) iter.Seq[line] {
	return func(yield func(line) bool) {
		for i := range healthTable {
			if healthTable[i].rank != rank || healthTable[i].treated != treated {
				continue
			}
			l := healthTable[i]
			if rank == poor && treated && l.interval == "day" {
				l.loss = o.Int("rpgamix.poor_yes_day_loss")
			}
			if !yield(l) {
				return
			}
		}
	}
}

// seconds is how long an interval is.
func seconds(o rules.Options, interval string) int64 {
	switch interval {
	case "round":
		return int64(o.Int("rpgamix.round_seconds"))
	case "hour":
		return 3_600
	case "day":
		return 86_400
	case "week":
		return 604_800
	}
	panic("rpgamix: no interval " + interval)
}

// Weapon is a line of the weapon table (RPGX-13), or a weapon that a campaign
// adds. Distances are in centimetres, as in the book, but PerMetres.
type Weapon struct {
	Name        string `json:"name" minLength:"1" maxLength:"200"`
	Potential   int    `json:"potential" minimum:"0" maximum:"10000" doc:"damage potential; the least if it differs by model"`
	Models      int    `json:"models,omitzero" minimum:"0" maximum:"10000" doc:"greatest potential, if it differs by model: an attack then has to say it"`
	NoStrength  bool   `json:"no_strength,omitzero" doc:"strength adds nothing to the damage"`
	ToHit       int    `json:"to_hit,omitzero" minimum:"-100" maximum:"100"`
	PerMetres   int    `json:"per_metres,omitzero" minimum:"0" maximum:"100000" doc:"-1 to hit for so many metres begun"`
	Parry       *int   `json:"parry,omitzero" minimum:"-100" maximum:"100" doc:"parry modifier; without it the weapon cannot parry"`
	Max         int    `json:"max_cm,omitzero" minimum:"0" maximum:"100000000" doc:"longest reach in cm; 0: no limit"`
	MaxStrength int    `json:"max_cm_per_strength,omitzero" minimum:"0" maximum:"1000000"`
	Min         int    `json:"min_cm,omitzero" minimum:"0" maximum:"100000000" doc:"shortest reach in cm"`
	Choked      int    `json:"choked_cm,omitzero" minimum:"0" maximum:"100000000" doc:"shortest reach when choked up; 0: it cannot be choked up"`
	MinStrength *int   `json:"min_strength,omitzero" minimum:"-100" maximum:"100"`
}

func num(n int) *int { return &n }

// weaponTable is the book's. Firearms have a range of potentials.
var weaponTable = []Weapon{
	{Name: "Fist/Hand", Max: 100, Min: 50},
	{Name: "Kick", Potential: 5, ToHit: -1, Max: 200, Min: 200},
	{Name: "Shield (bludgeon)", Potential: 5, ToHit: -1, Parry: num(5), Max: 50, Min: 50, MinStrength: num(1)},
	{Name: "Club", Potential: 20, ToHit: -1, Parry: num(0), Max: 150, Min: 100},
	{Name: "Knife", Potential: 20, Parry: num(0), Max: 110, Min: 25},
	{Name: "Short Sword", Potential: 30, ToHit: -1, Parry: num(2), Max: 150, Min: 50},
	{Name: "Long Sword", Potential: 30, ToHit: -1, Parry: num(2), Max: 200, Min: 200},
	{Name: "Broad Sword", Potential: 40, ToHit: -2, Parry: num(1), Max: 200, Min: 200, MinStrength: num(2)},
	{Name: "Spear", Potential: 40, ToHit: -1, Parry: num(2), Max: 300, Min: 200, Choked: 50, MinStrength: num(-1)},
	{Name: "Javelin", Potential: 20, PerMetres: 50, Parry: num(2), Max: 1_000, MaxStrength: 100, Min: 200},
	{Name: "Mace", Potential: 40, ToHit: -1, Parry: num(0), Max: 200, Min: 100, MinStrength: num(2)},
	{Name: "Short Bow", Potential: 30, NoStrength: true, PerMetres: 50, Max: 20_000, Min: 200, MinStrength: num(0)},
	{Name: "Long Bow", Potential: 40, NoStrength: true, PerMetres: 50, Max: 30_000, Min: 200, MinStrength: num(2)},
	{Name: "Cross-Bow", Potential: 75, NoStrength: true, PerMetres: 50, Parry: num(0), Max: 15_000, Min: 100, MinStrength: num(1)},
	{Name: "Sling", Potential: 20, NoStrength: true, PerMetres: 50, Max: 10_000, Min: 200},
	{Name: "Pistol", Potential: 40, Models: 80, NoStrength: true, PerMetres: 75, Max: 25_000, MinStrength: num(-2)},
	{Name: "Shotgun", Potential: 80, Models: 100, NoStrength: true, PerMetres: 150, Max: 50_000, Min: 100, MinStrength: num(0)},
	{Name: "Rifle", Potential: 60, Models: 100, NoStrength: true, PerMetres: 250, Max: 100_000, Min: 100, MinStrength: num(0)},
}

// otherNames of weapons, in lower case.
var otherNames = map[string]string{
	"fist": "fist/hand", "hand": "fist/hand", "shield": "shield (bludgeon)", "crossbow": "cross-bow",
	"shortsword": "short sword", "longsword": "long sword", "broadsword": "broad sword",
}

// printedWeapon finds a line of the weapon table as the campaign reads it.
func printedWeapon(o rules.Options, name string) (Weapon, bool) {
	key := fold(name)
	if full, ok := otherNames[key]; ok {
		key = full
	}
	for _, w := range weaponTable {
		if fold(w.Name) != key {
			continue
		}
		switch w.Name {
		case "Short Sword":
			w.Potential = o.Int("rpgamix.short_sword_potential")
		case "Javelin":
			factor := o.Int("rpgamix.javelin_factor")
			w.Max, w.MaxStrength = w.Max*factor, w.MaxStrength*factor
		}
		return w, true
	}
	return Weapon{}, false
}

// fold makes names that differ in case alone the same.
func fold(name string) string { return strings.ToLower(name) }

// Technique is a skill of a fighting discipline that breaks a basic rule of
// combat (RPGX-66 to RPGX-74).
type Technique struct {
	Skill     string   `json:"skill" minLength:"1" maxLength:"200"`
	Use       string   `json:"use" enum:"aggravated,strategic,hold,throw,stun"`
	Weapons   []string `json:"weapons,omitzero" minLength:"1" maxLength:"200" maxItems:"50" doc:"weapons it needs; none: any"`
	Pool      string   `json:"pool,omitzero" maxLength:"200" doc:"two points of this pool make an aggravated attack count twice"`
	Potential int      `json:"potential,omitzero" minimum:"0" maximum:"10000" doc:"damage potential of a throw"`
}

// aggravated is the use of a technique that is an attack; all others are
// defences.
const aggravated = "aggravated"

// Pool is a variable of a discipline (RPGX-62). Disciplines whose pools have
// the same name share one.
type Pool struct {
	Name  string `json:"name" minLength:"1" maxLength:"200"`
	Start int    `json:"start,omitzero" minimum:"0" maximum:"100000" doc:"points that come with the discipline"`
	Price int    `json:"price" minimum:"1" maximum:"1000" doc:"character points for one more point of the pool"`
	Empty bool   `json:"empty,omitzero" doc:"the pool is empty at first and has to be earned"`
	Night int    `json:"night,omitzero" minimum:"0" maximum:"1000" doc:"points that come back by a night of deep sleep"`
	Diet  int    `json:"diet,omitzero" minimum:"0" maximum:"1000" doc:"the same on meat and liquor alone"`
}

// Discipline is a framework of learning (RPGX-59 to RPGX-62, RPGX-74): what it
// costs, asks for, brings and permits. A campaign's setting adds its own.
type Discipline struct {
	Name        string         `json:"name" minLength:"1" maxLength:"200"`
	Costs       []int          `json:"costs,omitzero" minimum:"0" maximum:"100000" maxItems:"20" doc:"prices one can choose from; none: the campaign says the price"`
	Requires    []string       `json:"requires,omitzero" minLength:"1" maxLength:"200" maxItems:"50" doc:"disciplines that have to be learned before, all of them"`
	Grants      map[string]int `json:"grants,omitzero" minimum:"1" maximum:"100" maxItems:"100" doc:"points of skills that come with it"`
	Permits     []string       `json:"permits,omitzero" minLength:"1" maxLength:"200" maxItems:"200" doc:"skills that can be bought"`
	Disciplines []string       `json:"disciplines,omitzero" minLength:"1" maxLength:"200" maxItems:"100" doc:"further disciplines that it permits, whatever these require"`
	Backgrounds []string       `json:"backgrounds,omitzero" minLength:"1" maxLength:"200" maxItems:"100" doc:"backgrounds that can be bought"`
	Free        []string       `json:"free,omitzero" minLength:"1" maxLength:"200" maxItems:"100" doc:"backgrounds that come free"`
	Pool        *Pool          `json:"pool,omitzero"`
	Techniques  []Technique    `json:"techniques,omitzero" maxItems:"50"`
}

// Names of skills that the program itself asks for.
const (
	aggravatedAttack = "Aggravated Attack"
	strategicDefense = "Strategic Defense"
	pyromancy        = "Brotherhood of Pyromancy"
	firePool         = "Fire pool"
	fireDefense      = "Fire Defense"
	createFire       = "Create Fire"
	controlFire      = "Control Fire"
	extinguishFire   = "Extinguish Fire"
)

// printedDisciplines are those of the book (sections "Generic Fighting
// Discipline", "Magical Disciplines", "Some Other Disciplines"). Some are only
// named there: they have no price, a campaign gives it.
var printedDisciplines = []Discipline{
	{
		Name: "Generic Fighting", Costs: []int{20, 25}, Permits: []string{aggravatedAttack, strategicDefense},
		Techniques: []Technique{{Skill: aggravatedAttack, Use: aggravated, Pool: "ki"}, {Skill: strategicDefense, Use: "strategic"}},
	},
	{
		Name: pyromancy, Costs: []int{50}, Permits: []string{fireDefense, createFire, controlFire, extinguishFire},
		Pool: &Pool{Name: firePool, Price: 2, Night: 1, Diet: 2},
	},
	{
		Name: "Elementary Education", Costs: []int{5}, Grants: map[string]int{"Reading": 2, "Writing": 2, "Arithmetic": 2},
		Permits: []string{"Social Studies", "Geography", "Computers", "Language", "Memorization"},
	},
	{Name: "Highschool Education", Costs: []int{5}, Requires: []string{"Elementary Education"}},
	{Name: "Math", Requires: []string{"Highschool Education"}},
	{Name: "English", Requires: []string{"Highschool Education"}},
	{Name: "Foreign Language", Requires: []string{"Highschool Education"}},
	{Name: "Science", Requires: []string{"Highschool Education"}},
	{Name: "Social Studies", Requires: []string{"Highschool Education"}},
	{Name: "College Education"},
	{
		Name: "Medical Doctor", Costs: []int{10},
		Requires:    []string{"Elementary Education", "Highschool Education", "College Education"},
		Permits:     []string{"First Aid", "EMT", "Diagnosis", "Long-Term Care/Healing", "Psychoanalysis", "Surgery", "Research", "Gross Anatomy", "Pharmacology"},
		Backgrounds: []string{"Wealth", "Special Facilities"},
		Free:        []string{"Licence to Practice Medicine"},
	},
	{Name: "Samurai", Backgrounds: []string{"Danger Sense"}},
	{Name: "Aristocrat", Backgrounds: []string{"Land", "Education", "Leadership"}},
}

// mentor is a background that any discipline may bring (RPGX-65).
const mentor = "Mentor"

// fixedPrices of backgrounds (RPGX-64), by name in lower case.
var fixedPrices = map[string]int{"rich": 2, "filthy rich": 5, "leprosy": -10}

// ratio is an exact fraction.
type ratio struct{ num, den int }

// material of a fire and how it multiplies the difficulty: where its
// combustibility helps (RPGX-83) and where it hinders (RPGX-84).
type material struct {
	name           string
	helps, hinders ratio
}

// materials in the words of the two tables. Rock, air and water help alike.
var materials = []material{
	{"oil/gas", ratio{1, 4}, ratio{4, 1}},
	{"dry oily tinder/wax", ratio{1, 2}, ratio{2, 1}},
	{"dry tinder/hair", ratio{1, 1}, ratio{1, 1}},
	{"hardwood/bone", ratio{2, 1}, ratio{2, 1}},
	{"damp tinder/flesh", ratio{3, 1}, ratio{1, 2}},
	{"soggy tinder", ratio{4, 1}, ratio{1, 4}},
	{"rock", ratio{10, 1}, ratio{10, 1}},
	{"water", ratio{10, 1}, ratio{1, 8}},
	{"air", ratio{10, 1}, ratio{1, 10}},
}
