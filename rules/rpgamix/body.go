package rpgamix

import (
	"cmp"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
	"tallystick/rules"
)

// Names of conditions.
const (
	stunned     = "stunned"
	unconscious = "unconscious"
	awake       = "awake by magic"
	held        = "held"
	outmatched  = "outmanoeuvred"
)

// Lasting is a condition of a body. Opponent is who brought it about, where
// that matters.
type Lasting struct {
	Name     string `json:"name"`
	Since    int64  `json:"since"`
	Until    int64  `json:"until,omitzero"`
	Rule     string `json:"rule"`
	Opponent string `json:"opponent,omitzero"`
	Ranks    int    `json:"ranks,omitzero"` // of a hold: penalty as if so many ranks were lost
}

// Advantage is what strategic defences have won against one opponent.
type Advantage struct {
	Opponent string `json:"opponent"`
	Skill    string `json:"skill,omitzero"`   // of the last warded blow
	Excess   int    `json:"excess,omitzero"`  // of it, not used for anything yet
	Attack   int    `json:"attack,omitzero"`  // banked for the next attack
	Defence  int    `json:"defence,omitzero"` // banked for the next defence
}

// Grip is how a weapon is held, if not in the usual way.
type Grip struct {
	Weapon string `json:"weapon"`
	Choked bool   `json:"choked"`
	Ready  int64  `json:"ready"`
}

// Body is what the rules know of one character. It is never changed: Evolve
// makes another one.
type Body struct {
	Sheet      *Sheet         `json:"sheet"`
	Points     int            `json:"points"` // hit points; 0 and below is dead
	Wounds     int            `json:"wounds"` // ordinal of the last one
	Stabilised bool           `json:"stabilised"`
	Since      int64          `json:"since"`      // entry into the line of the health table
	Ticked     int64          `json:"ticked"`     // due time of the last check of that line …
	Order      int            `json:"order"`      // … and which interval it was
	RankSince  int64          `json:"rank_since"` // entry into the rank
	Exertions  int            `json:"exertions"`  // Con rolls so far that make the next one harder (RPGX-35)
	Round      int64          `json:"round"`      // number of the round …
	Taken      int            `json:"taken"`      // … and the damage in it (RPGX-27)
	Worn       int            `json:"worn"`       // points that the armour has lost
	Conditions []Lasting      `json:"conditions"`
	Advantages []Advantage    `json:"advantages"`
	Grip       *Grip          `json:"grip,omitzero"`
	Pools      map[string]int `json:"pools"`
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func named[T any](list []T, name func(T) string) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = name(v)
	}
	return out
}

// rankSize is the points in a rank: Con + 5, or one for Con -5.
func rankSize(con int) int { return max(1, con+5) }

// maxPoints are five ranks, or the one point of Con -5 (RPGX-28, RPGX-30).
func maxPoints(con int) int {
	if con == -5 {
		return 1
	}
	return 5 * rankSize(con)
}

// rankOf is the health rank of so many points (RPGX-29, RPGX-30, RPGX-37).
func rankOf(con, points int) string {
	size := rankSize(con)
	switch {
	case points <= 0:
		return dead
	case con == -5 || points > 4*size:
		return good
	}
	return ranks[4-(points-1)/size]
}

func (b *Body) con() int       { return b.Sheet.Stats.Con }
func (b *Body) max() int       { return maxPoints(b.con()) }
func (b *Body) rank() string   { return rankOf(b.con(), b.Points) }
func (b *Body) hurt() bool     { return b.Points < b.max() }
func (b *Body) isLiving() bool { return b.Sheet.Nature == living }

// armour is what is worn, less what has worn off.
func (b *Body) armour() int {
	sum := 0
	for _, a := range b.Sheet.Armour {
		sum += *a.Points
	}
	return max(0, sum-b.Worn)
}

func (b *Body) condition(name, opponent string) (Lasting, bool) {
	i := slices.IndexFunc(b.Conditions, func(c Lasting) bool {
		return c.Name == name && (opponent == "" || c.Opponent == opponent)
	})
	if i < 0 {
		return Lasting{}, false
	}
	return b.Conditions[i], true
}

func (b *Body) has(name string) bool {
	_, ok := b.condition(name, "")
	return ok
}

// out reports whether the character is unconscious, and by which rule.
func (b *Body) out() (rule string, yes bool) {
	if b.rank() == incapacitated && b.isLiving() && !b.has(awake) {
		return "RPGX-36", true
	}
	c, yes := b.condition(unconscious, "")
	return c.Rule, yes
}

func (b *Body) advantage(opponent string) Advantage {
	i := slices.IndexFunc(b.Advantages, func(a Advantage) bool { return a.Opponent == opponent })
	if i < 0 {
		return Advantage{Opponent: opponent}
	}
	return b.Advantages[i]
}

// weapon finds a weapon by name: the character's own, the campaign's, then
// the table's.
func (b *Body) weapon(o rules.Options, name string) (Weapon, bool) {
	for _, list := range [][]Weapon{b.Sheet.Weapons, settingOf(o).Weapons} {
		for _, w := range list {
			if fold(w.Name) == fold(name) {
				return w, true
			}
		}
	}
	return printedWeapon(o, name)
}

// enter begins a line of the health table: its clocks start now (RPGX-52).
func (b *Body) enter(clock int64) { b.Since, b.Ticked, b.Order = clock, clock, len(intervals) }

// enterFrom looks whether another line of the health table holds than before,
// and lets go of what belonged to the old one.
func (b *Body) enterFrom(old *Body, clock int64) {
	if !b.hurt() {
		b.Stabilised = false // whole: there is nothing left to treat
	}
	was, is := old.rank(), b.rank()
	if was != is || old.Stabilised != b.Stabilised || old.hurt() != b.hurt() {
		b.enter(clock)
	}
	if was == is {
		return
	}
	b.RankSince, b.Exertions = clock, 0
	if was == incapacitated {
		b.end(awake, "")
	}
	if is == dead {
		b.Conditions, b.Advantages = nil, nil
	}
}

// end takes a condition away, of whomever it comes from if no opponent is
// named.
func (b *Body) end(name, opponent string) {
	b.Conditions = slices.DeleteFunc(slices.Clone(b.Conditions), func(c Lasting) bool {
		return c.Name == name && (opponent == "" || c.Opponent == opponent)
	})
}

// gain adds a condition; one that is there already lasts as long as the longer.
func (b *Body) gain(c Lasting) {
	if had, ok := b.condition(c.Name, c.Opponent); ok {
		c.Since, c.Until = had.Since, max(had.Until, c.Until)
	}
	b.end(c.Name, c.Opponent)
	b.Conditions = append(b.Conditions, c)
}

// setAdvantage replaces what is won against an opponent.
func (b *Body) setAdvantage(a Advantage) {
	rest := slices.DeleteFunc(slices.Clone(b.Advantages), func(x Advantage) bool { return x.Opponent == a.Opponent })
	if a != (Advantage{Opponent: a.Opponent}) {
		rest = append(rest, a)
	}
	slices.SortFunc(rest, func(x, y Advantage) int { return cmp.Compare(x.Opponent, y.Opponent) })
	b.Advantages = rest
}

// Evolve applies a fact about the character.
func (system) Evolve(o rules.Options, body rules.Body, clock int64, e events.Event) rules.Body {
	old := body.(*Body)
	b := *old
	switch e := e.(type) {
	case *events.WoundInflicted:
		b.wound(o, clock, e)
	case *events.WoundTreated:
		b.Stabilised = b.Stabilised || e.Outcome == stabilised
	case *events.HealGranted:
		b.Points += e.Points
	case *events.TickProcessed:
		b.Points += e.Change
		b.Ticked, b.Order = e.Due, slices.Index(intervals, e.Kind)
	case *events.ConditionGained:
		b.gain(Lasting{Name: e.Condition, Since: clock, Until: e.Until, Rule: e.Rule})
	case *events.ConditionEnded:
		b.end(e.Condition, "")
	case *events.CharacterDied:
		b.Points = min(b.Points, 0)
	default:
		b.own(o, clock, e)
	}
	b.enterFrom(old, clock)
	return &b
}

// own applies what only RPGamix has.
func (b *Body) own(o rules.Options, clock int64, e events.Event) {
	switch e := e.(type) {
	case *ConsciousnessChecked:
		if !e.Entry || o.On("rpgamix.exertion_counts_entry") {
			b.Exertions++
		}
	case *PoolChanged:
		b.Pools = maps.Clone(b.Pools)
		b.Pools[e.Pool] += e.Change
	case *GripChanged:
		b.Grip = &Grip{Weapon: e.Weapon, Choked: e.Choked, Ready: e.Ready}
	case *BlowWarded:
		a := b.advantage(e.Opponent)
		a.Skill, a.Excess = e.Skill, e.Excess
		b.setAdvantage(a)
	case *AdvantageBanked:
		a := b.advantage(e.Opponent)
		a.Skill, a.Excess = "", 0
		a.Attack, a.Defence = a.Attack+e.Attack, a.Defence+e.Defence
		b.setAdvantage(a)
	case *AdvantageUsed:
		a := b.advantage(e.Opponent)
		switch e.In {
		case "attack":
			a.Attack = 0
		case "defence":
			a.Defence = 0
		default:
			a.Skill, a.Excess = "", 0
		}
		b.setAdvantage(a)
	case *OpponentEvaded:
		b.gain(Lasting{Name: outmatched, Since: clock, Until: e.Until, Rule: "RPGX-73", Opponent: e.Opponent})
	case *CharacterHeld:
		b.gain(Lasting{Name: held, Since: clock, Rule: "RPGX-74", Opponent: e.Holder, Ranks: e.Ranks})
	case *ArmourDamaged:
		b.Worn += e.Points
	}
}

// wound takes points and undoes treatment (RPGX-53).
func (b *Body) wound(o rules.Options, clock int64, e *events.WoundInflicted) {
	b.Wounds = e.Wound
	if round := roundOf(o, clock); round != b.Round {
		b.Round, b.Taken = round, 0
	}
	b.Taken += e.Points
	b.Points -= e.Points
	if o.On("rpgamix.new_wound_unstabilises") {
		b.Stabilised = false
	}
}

// roundOf is the number of the round that a game time belongs to.
func roundOf(o rules.Options, clock int64) int64 { return clock / seconds(o, "round") }

// State is what a player has to know of a body beside its health.
type State struct {
	Pools      map[string]int `json:"pools,omitempty"`      // points left, of fire, ki and the like
	Armour     *WornArmour    `json:"armour,omitzero"`      // once it has lost points
	Advantages []Advantage    `json:"advantages,omitempty"` // won by strategic defences (RPGX-69)
	Grip       *Grip          `json:"grip,omitzero"`        // while it is not the usual one, or is being changed
}

// WornArmour is armour that has lost points (option rpgamix.armour_wear).
type WornArmour struct {
	Left int `json:"left"`
	Lost int `json:"lost"`
}

func (b *Body) state(clock int64) jsontext.Value {
	s := State{Pools: b.Pools, Advantages: b.Advantages}
	if b.Worn > 0 {
		s.Armour = &WornArmour{Left: b.armour(), Lost: b.Worn}
	}
	if g := b.Grip; g != nil && (g.Choked || g.Ready > clock) {
		s.Grip = g
	}
	if len(s.Pools) == 0 && len(s.Advantages) == 0 && s.Armour == nil && s.Grip == nil {
		return nil
	}
	return rules.State(s)
}

// Vitals is how the body stands at a game time.
func (system) Vitals(_ rules.Options, body rules.Body, clock int64) events.Vitals {
	b := body.(*Body)
	rank := b.rank()
	v := events.Vitals{
		Alive:      rank != dead,
		Health:     events.Health{Points: b.Points, Max: b.max(), Rank: rank, Penalty: penalties[rank].value},
		Conditions: []events.Condition{},
		State:      b.state(clock),
	}
	if rule, out := b.out(); out && rule == "RPGX-36" && !b.has(unconscious) {
		v.Conditions = append(v.Conditions, events.Condition{Name: unconscious, Since: b.RankSince, Rule: rule})
	}
	for _, c := range b.Conditions {
		v.Conditions = append(v.Conditions, events.Condition{Name: c.Name, Since: c.Since, Until: c.Until, Rule: c.Rule})
	}
	return v
}
