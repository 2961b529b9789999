package fudge

import (
	"math/big"

	"tallystick/events"
	"tallystick/rules"
)

// Damage is how the damage of a blow came about (B8.4-b, B9.2).
type Damage struct {
	Factors []events.Modifier `json:"factors"`          // in the order of the book
	Lesser  string            `json:"lesser,omitzero"`  // points through, on the scale of the lesser being, when scales differ
	Points  string            `json:"points"`           // on the scale of who is struck
	Stopped int               `json:"stopped,omitzero"` // whole points that armour took off, on that scale
}

// blow is what damage is counted from.
type blow struct {
	relative int
	weapon   *Weapon // nil: nothing is counted for it
	art      string  // level of the attacker's martial art, "" without
	strength Level   // of the attacker
	armour   *Armour // nil: none
	attacker *big.Rat
	target   *big.Rat // worth of a hit point of each, in human ones
}

// force adds up the relative degree, the weapon and the strength (FUDGE-42 and
// FUDGE-45 to FUDGE-47), on the attacker's scale. A weapon with a strength of
// its own replaces the arm's.
func (b blow) force() (int, []events.Modifier) {
	factors := []events.Modifier{{Label: "relative degree", Value: b.relative, Rule: "FUDGE-42"}}
	if b.weapon != nil {
		factors = append(factors, b.weapon.factors(b.art)...)
	}
	if b.weapon == nil || b.weapon.Strength == nil {
		factors = append(factors, events.Modifier{Label: b.strength.String() + " Strength", Value: strengthTable[b.strength], Rule: "FUDGE-46"})
	}
	sum := 0
	for _, f := range factors {
		sum += f.Value
	}
	return sum, factors
}

// factors are what a weapon adds.
func (w Weapon) factors(art string) []events.Modifier {
	switch {
	case w.Strength != nil:
		return []events.Modifier{{Label: "strength of the weapon", Value: *w.Strength, Rule: "FUDGE-47"}}
	case w.Modifier != nil:
		return []events.Modifier{{Label: "weapon as rated", Value: *w.Modifier, Rule: "FUDGE-45"}}
	}
	value, armed := weaponTable[w.Size]
	label := w.Size + " weapon"
	switch {
	case armed:
	case art != "" && mustLevel(art) >= Fair:
		value, label = martialArt, "no weapon, martial art at Fair or better"
	default:
		value, label = bareHands, "no weapon, no martial art"
	}
	out := []events.Modifier{{Label: label, Value: value, Rule: "FUDGE-45"}}
	if w.Sharp {
		out = append(out, events.Modifier{Label: "sharp weapon", Value: sharpEdge, Rule: "FUDGE-45"})
	}
	return out
}

// armourRule is what armour takes off by; a shield comes behind it.
const armourRule = "FUDGE-43"

// factors are what the armour and a shield take off, of a rating of both.
func (a Armour) factors(rating int) []events.Modifier {
	if !a.Shield {
		return []events.Modifier{{Label: "armour", Value: -rating, Rule: armourRule}}
	}
	return []events.Modifier{
		{Label: "armour", Value: goodShield - rating, Rule: armourRule},
		{Label: "good shield", Value: -goodShield, Rule: "FUDGE-44"},
	}
}

// through is the damage that gets through the armour: on the scale of the
// lesser being, and in hit points of who is struck. Damage is figured on the
// attacker's scale, then converted; armour counts on the lesser being's scale
// (FUDGE-62). Nothing is rounded (FUDGE-63). On one scale these are the rules
// as written (FUDGE-64).
func (b blow) through() (Damage, *big.Rat, *big.Rat, error) {
	force, factors := b.force()
	lesserUnit := b.attacker
	if b.target.Cmp(lesserUnit) < 0 {
		lesserUnit = b.target
	}
	toTarget := new(big.Rat).Quo(lesserUnit, b.target)
	came := big.NewRat(int64(max(0, force)), 1)
	came.Mul(came, new(big.Rat).Quo(b.attacker, lesserUnit))
	stops := new(big.Rat)
	if b.armour != nil {
		value, err := b.armour.rating()
		if err != nil {
			return Damage{}, nil, nil, err
		}
		stops.SetInt64(int64(value))
		if b.armour.Scale != "lesser" {
			stops.Mul(stops, new(big.Rat).Quo(b.target, lesserUnit))
		}
		factors = append(factors, b.armour.factors(value)...)
	}
	lesser := new(big.Rat).Sub(came, stops)
	if lesser.Sign() < 0 {
		lesser.SetInt64(0)
	}
	points := new(big.Rat).Mul(lesser, toTarget)
	stopped := new(big.Rat).Sub(came, lesser)
	d := Damage{Factors: factors, Points: points.RatString(), Stopped: int(whole(stopped.Mul(stopped, toTarget)))}
	if b.attacker.Cmp(b.target) != 0 {
		d.Lesser = lesser.RatString()
	}
	return d, lesser, points, nil
}

// counts reports whether a result of so many levels does damage at all: only
// above 0, but for a shot that just matched its task where the campaign plays
// so (FUDGE-42, FUDGE-29).
func (b blow) counts(o rules.Options, matchedTask bool) bool {
	return b.relative > 0 || b.relative == 0 && matchedTask && o.Is(optMatch, modifiers)
}

// whole is the whole part of a fraction that is not negative.
func whole(r *big.Rat) int64 { return new(big.Int).Quo(r.Num(), r.Denom()).Int64() }
