package rpgamix

import (
	"fmt"
	"slices"

	"tallystick/events"
	"tallystick/rules"
)

// sizeDifficulty is the difficulty of a flame by its diameter in cm, or of a
// match (RPGX-82): under half a metre 5, then 5n+5 for up to 2n metres.
func sizeDifficulty(isMatch bool, cm int) int {
	switch {
	case isMatch:
		return 1
	case cm < 50:
		return 5
	}
	return 5*((cm+199)/200) + 5
}

// spell of pyromancy and which table of materials it goes by.
type spell struct {
	name, aim string
	hinders   bool
	rule      string
}

var spells = []spell{
	{createFire, "", false, "RPGX-79"},
	{controlFire, "spread", false, "RPGX-80"},
	{controlFire, "contain", true, "RPGX-80"},
	{extinguishFire, "", true, "RPGX-81"},
}

// multiplier is how a material changes the difficulty (RPGX-83, RPGX-84).
func (s spell) multiplier(m material) (ratio, string) {
	if s.hinders {
		return m.hinders, "RPGX-84"
	}
	return m.helps, "RPGX-83"
}

// fraction is an exact difficulty in lowest terms.
func fraction(base int, r ratio) ratio {
	num, den := base*r.num, r.den
	for k := den; k > 1; k-- {
		if num%k == 0 && den%k == 0 {
			num, den = num/k, den/k
		}
	}
	return ratio{num, den}
}

func (r ratio) exact() string {
	if r.den == 1 {
		return ""
	}
	return fmt.Sprintf("%d/%d", r.num, r.den)
}

// needed is the least whole total that is not below the fraction.
func (r ratio) needed() int { return (r.num + r.den - 1) / r.den }

// beats compares a total with an exact difficulty.
func (r ratio) beats(o rules.Options, total int) bool {
	return reached(o, "rpgamix.difficulty_tie", total*r.den, r.num)
}

// Cast is the data of rpgamix.cast.
type Cast struct {
	Character string `json:"character"`
	Spell     string `json:"spell" enum:"Create Fire,Control Fire,Extinguish Fire"`
	Aim       string `json:"aim,omitzero" enum:"spread,contain" doc:"Control Fire: to spread it or to keep it from spreading"`
	Trial
	Match       bool   `json:"match,omitzero" doc:"a flame of the size of a match"`
	Diameter    int    `json:"diameter_cm,omitzero" minimum:"1" maximum:"10000000" doc:"or its diameter in cm"`
	Material    string `json:"material" enum:"oil/gas,dry oily tinder/wax,dry tinder/hair,hardwood/bone,damp tinder/flesh,soggy tinder,rock,water,air"`
	Spend       int    `json:"spend,omitzero" minimum:"0" maximum:"1000" doc:"fire points, each +1, gone before the die is thrown"`
	LineOfSight *bool  `json:"line_of_sight,omitzero" doc:"false: Create Fire is impossible"`
	Fuel        *bool  `json:"fuel,omitzero" doc:"false: nothing is there to burn, and Create Fire is impossible"`
}

// Actors names who acts.
func (d *Cast) Actors() []string { return actors(d.Character) }

// cast works a spell of fire (RPGX-77 to RPGX-85).
func cast(t *rules.Turn, d *Cast) error {
	c, err := able(t, "character", d.Character, "cast a spell")
	if err != nil {
		return err
	}
	s, difficulty, err := d.difficulty()
	if err != nil {
		return err
	}
	if d.Skill != "" {
		return &rules.Invalid{Field: "skill", Reason: "is the spell itself and cannot be given"}
	}
	spoken := d.Trial
	spoken.Skill = d.Spell
	tr, err := spoken.checked(t, c)
	if err != nil {
		return err
	}
	if _, err := bodyOf(c).afford(t.Options(), c, firePool, d.Spend, "RPGX-77", "spend"); err != nil {
		return err
	}
	if !tr.exertion(t, c, d.Spell) {
		return nil
	}
	if d.Spend > 0 {
		t.Emit(&PoolChanged{Subject: of(c), Pool: firePool, Change: -d.Spend, Cause: d.Spell, Rule: "RPGX-77"})
	}
	th := t.Throw(s.String(), c)
	total, made := kindle(t.Options(), tr.sum, d.Spend, difficulty, th)
	th.Against = &events.Against{Kind: "difficulty", Value: difficulty.needed(), Exact: difficulty.exact()}
	outcome := "failure"
	if made {
		outcome = "success"
	}
	th.Result(outcome, total-difficulty.needed())
	return nil
}

// String is the spell's name, with its aim.
func (s spell) String() string {
	if s.aim == "" {
		return s.name
	}
	return s.name + " (" + s.aim + ")"
}

// kindle rolls for a spell with the points spent on it.
func kindle(o rules.Options, s sum, spend int, difficulty ratio, d dice) (total int, made bool) {
	s.plus("Fire points", spend, "RPGX-77")
	total = s.roll(d)
	return total, difficulty.beats(o, total)
}

// difficulty refuses a spell that cannot be worked, and finds how hard it is.
func (d *Cast) difficulty() (spell, ratio, error) {
	i := slices.IndexFunc(spells, func(s spell) bool { return s.name == d.Spell && s.aim == d.Aim })
	switch {
	case i < 0 && d.Aim == "":
		return spell{}, ratio{}, &rules.Invalid{Field: "aim", Reason: "is missing: Control Fire spreads or contains"}
	case i < 0:
		return spell{}, ratio{}, &rules.Invalid{Field: "aim", Reason: "is for Control Fire only"}
	case d.Match == (d.Diameter > 0):
		return spell{}, ratio{}, &rules.Invalid{Field: "diameter_cm", Reason: "or match: exactly one of the two must be given"}
	case d.Spell == createFire && d.LineOfSight != nil && !*d.LineOfSight:
		return spell{}, ratio{}, rules.Reject("no_line_of_sight", "RPGX-79", "fire is created in sight only").On("line_of_sight")
	case d.Spell == createFire && d.Fuel != nil && !*d.Fuel:
		return spell{}, ratio{}, rules.Reject("no_fuel", "RPGX-79", "fire needs something to burn").On("fuel")
	}
	m := slices.IndexFunc(materials, func(m material) bool { return m.name == d.Material })
	times, _ := spells[i].multiplier(materials[m])
	return spells[i], fraction(sizeDifficulty(d.Match, d.Diameter), times), nil
}

// Rest is the data of rpgamix.rest. The clock is advanced by its own command.
type Rest struct {
	Character string `json:"character"`
	Nights    int    `json:"nights" minimum:"1" maximum:"100000" doc:"of deep sleep"`
	Diet      bool   `json:"meat_and_liquor,omitzero" doc:"nothing but meat, and liquor often"`
}

// rest fills the pools that sleep fills (RPGX-76).
func rest(t *rules.Turn, d *Rest) error {
	c, err := t.Living("character", d.Character)
	if err != nil {
		return err
	}
	b := bodyOf(c)
	filled := false
	for _, p := range b.pools(t.Options()) {
		have := b.Pools[p.Name]
		if gain := p.slept(have, d.Nights, d.Diet) - have; gain > 0 {
			t.Emit(&PoolChanged{Subject: of(c), Pool: p.Name, Change: gain, Cause: "deep sleep", Rule: "RPGX-76"})
			filled = true
		}
	}
	if !filled {
		return rules.Reject("nothing_to_fill", "RPGX-76", "%s has no pool that sleep would fill", c.Name).On("character")
	}
	return nil
}

// PoolChange is the data of rpgamix.pool.
type PoolChange struct {
	Character string `json:"character"`
	Pool      string `json:"pool" minLength:"1" maxLength:"200"`
	Change    int    `json:"change" minimum:"-100000" maximum:"100000"`
	Cause     string `json:"cause" minLength:"1" maxLength:"200"`
}

// changePool is the game master's word on a variable: points earned, lost or
// exchanged (RPGX-62).
func changePool(t *rules.Turn, d *PoolChange) error {
	if err := rules.CheckName(d.Cause); err != nil {
		return &rules.Invalid{Field: "cause", Reason: err.Error()}
	}
	c, err := t.Living("character", d.Character)
	if err != nil {
		return err
	}
	if d.Change == 0 {
		return &rules.Invalid{Field: "change", Reason: "is 0: must add or take something"}
	}
	b := bodyOf(c)
	p, ok := b.pool(t.Options(), d.Pool)
	if !ok {
		return rules.Reject("no_such_pool", "RPGX-62", "%s has no pool called %s", c.Name, d.Pool).On("pool")
	}
	have := b.Pools[p.Name]
	if after := have + d.Change; after < 0 || after > p.max {
		return rules.Reject("pool_out_of_range", "RPGX-62", "%s of %s would be %d: it is between 0 and %d", p.Name, c.Name, after, p.max).On("change")
	}
	t.Emit(&PoolChanged{Subject: of(c), Pool: p.Name, Change: d.Change, Cause: d.Cause, Rule: "RPGX-62"})
	return nil
}
