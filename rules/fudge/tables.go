package fudge

// levelNames are the seven levels from worst to best (B1, B3: FUDGE-1).
var levelNames = [7]string{"Terrible", "Poor", "Mediocre", "Fair", "Good", "Great", "Superb"}

// diceTable is the table of B3 by the sum of two six-sided dice (FUDGE-11).
var diceTable = [13]int{2: -4, 3: -3, 4: -2, 5: -1, 6: 0, 7: 0, 8: 0, 9: 1, 10: 2, 11: 3, 12: 4}

// armourTable is what armour takes off damage (B8.4-b, For defender's armor:
// FUDGE-43). SF armour is rated by the game master, at sfArmour or more.
var armourTable = map[string]int{"none": 0, "light": 1, "medium": 2, "heavy": 3}

const (
	sfArmour   = 4
	goodShield = 1 // FUDGE-44
	sharpEdge  = 1 // FUDGE-45
)

// weaponTable is what a muscle-powered weapon adds to damage (B8.4-b, For
// attacker's muscle-powered weapon: FUDGE-45). Bare hands are below.
var weaponTable = map[string]int{"small": -1, "average": 0, "large": 1}

const (
	bareHands  = -2 // without a martial art of Fair or better
	martialArt = -1 // with one
)

// strengthTable is what the attacker's Strength adds to damage with
// muscle-powered weapons (B8.4-b, For attacker's Strength: FUDGE-46).
var strengthTable = map[Level]int{Terrible: -2, Poor: -1, Mediocre: 0, Fair: 0, Good: 0, Great: 1, Superb: 2}

// Stage is how badly hurt somebody is (B8.4-a: FUDGE-39).
type Stage int

// The stages from unhurt to dead.
const (
	Unhurt Stage = iota
	Scratch
	Hurt
	VeryHurt
	Disabled
	NearDeath
	Dead
)

// stageTable is the list of B8.4-a with the penalties of both damage systems
// (FUDGE-39, FUDGE-50). From Disabled on nobody acts, so no penalty is left
// to count.
var stageTable = [7]struct {
	name    string
	penalty int // to traits that are affected
	acts    bool
	cards   int // face-down wound cards (FUDGE-41)
}{
	Unhurt:    {"unhurt", 0, true, 0},
	Scratch:   {"Scratch", 0, true, 0},
	Hurt:      {"Hurt", -1, true, 1},
	VeryHurt:  {"Very Hurt", -2, true, 2},
	Disabled:  {"Disabled", 0, false, 2},
	NearDeath: {"Near Death", 0, false, 2},
	Dead:      {"Dead", 0, false, 2},
}

// fairTrack is the hit point track of Fair (FUDGE-49): Hurt at the second
// wound and Disabled at 4 are in the examples of B8.4-b and B9.2; the others
// follow.
var fairTrack = TrackRow{Hurt: 2, VeryHurt: 3, Disabled: 4, NearDeath: 5}

// medicalTable is the worst stage that a medical result heals (B8.5:
// FUDGE-55). Better results than Superb heal no more, worse than Good nothing.
var medicalTable = map[Level]Stage{Good: Hurt, Great: VeryHurt, Superb: Disabled}

// Results that the text or the catalogue names one by one.
const (
	untrained      = Poor     // FUDGE-17
	usualTask      = Fair     // FUDGE-7
	consciousTask  = Mediocre // FUDGE-51
	stopsDying     = Good     // FUDGE-52: not in the text, a ruling
	outOfRoom      = 6        // FUDGE-37: foes under ideal conditions
	toDeath        = 2        // FUDGE-53: points from Near Death to Dead
	extremeBy      = 2        // FUDGE-10: a modifier of this size is extreme
	criticalMargin = 4        // FUDGE-15
	berserkTie     = 2        // FUDGE-24: levels a berserker loses by on a tie
	allOut         = 1        // FUDGE-24, FUDGE-25
	thirdCard      = 3        // FUDGE-41
)

// Spans of game time in seconds.
const (
	minute = 60
	day    = 86_400
	week   = 7 * day // FUDGE-56: one wound each
)
