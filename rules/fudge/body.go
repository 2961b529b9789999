package fudge

import (
	"math/big"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
	"tallystick/rules"
)

// Body is one character: the sheet and everything that happened to it. It is
// immutable: Evolve makes another one.
type Body struct {
	Sheet      Sheet              `json:"sheet"`
	Track      track              `json:"track"`              // of its Hit Points when the sheet was made
	Wounds     []Wound            `json:"wounds,omitzero"`    // not healed yet, in the order they were inflicted
	LastWound  int                `json:"last_wound"`         // its ordinal
	Remainder  string             `json:"remainder,omitzero"` // fraction of a point beside the wounds (FUDGE-63)
	Scratches  int                `json:"scratches"`          // since the last time there was no wound
	Fatigue    int                `json:"fatigue"`            // face-up cards
	Changed    int64              `json:"changed"`            // game time of the last wound, healing or fatigue
	Rest       int64              `json:"rest,omitzero"`      // when the next untreated point heals
	Care       int64              `json:"care,omitzero"`      // when the next treated point heals
	Conditions []events.Condition `json:"conditions,omitzero"`
	Dead       bool               `json:"dead"`
}

// Wound is a wound that has points left.
type Wound struct {
	Ordinal int    `json:"ordinal"`
	Points  int    `json:"points"` // not healed yet
	Level   string `json:"level"`  // how bad it is by itself
	Treated bool   `json:"treated,omitzero"`
}

// Names of conditions.
const (
	unconscious = "unconscious"
	dying       = "dying"
	spent       = "near incapacitation"
)

// Kinds of ticks.
const (
	tickDying = "death from Near Death"
	tickRest  = "a week of rest"
	tickCare  = "a treated wound heals"
)

// points are the hit points lost by all wounds (FUDGE-48).
func (b *Body) points() int { return b.pointsOf(func(Wound) bool { return true }) }

func (b *Body) pointsOf(counts func(Wound) bool) int {
	n := 0
	for _, w := range b.Wounds {
		if counts(w) {
			n += w.Points
		}
	}
	return n
}

// remainder is what is lost beside them, less than one point.
func (b *Body) remainder() *big.Rat {
	r := new(big.Rat)
	if b.Remainder == "" {
		return r
	}
	if _, ok := r.SetString(b.Remainder); !ok {
		panic("fudge: a remainder of " + b.Remainder)
	}
	return r
}

// stage is how badly hurt the character is.
func (b *Body) stage(o rules.Options) Stage {
	if b.Dead {
		return Dead
	}
	return b.track(o).stage(b.points())
}

func (b *Body) has(condition string) bool {
	return slices.ContainsFunc(b.Conditions, func(c events.Condition) bool { return c.Name == condition })
}

// cards are all cards the character holds (FUDGE-41).
func (b *Body) cards(o rules.Options) int { return stageTable[b.stage(o)].cards + b.Fatigue }

// spent reports whether the third card keeps the character from acting.
func (b *Body) spent(o rules.Options) bool {
	return o.Is(optThirdCard, incapacitates) && b.cards(o) >= thirdCard
}

// NewBody is a pointer to a zero body.
func (System) NewBody() rules.Body { return new(Body) }

// Evolve applies a fact about the character.
func (System) Evolve(o rules.Options, body rules.Body, clock int64, e events.Event) rules.Body {
	b := *body.(*Body)
	switch e := e.(type) {
	case *events.WoundInflicted:
		b.wound(e, clock)
	case *RemainderKept:
		b.Remainder = e.Remainder
		if e.Remainder == "0" {
			b.Remainder = ""
		}
	case *events.HealGranted:
		b.heal(e.Points, func(Wound) bool { return true })
		b.Changed = clock
	case *HealingAssured:
		b.assure(e)
		b.Changed = clock
	case *events.TickProcessed:
		b.tick(e, clock)
	case *Strained:
		b.strain(e)
	case *Tired:
		b.Fatigue += e.Cards
		b.Changed = clock
	case *Rested:
		b.Fatigue -= e.Cards
		b.Changed = clock
	case *events.ConditionGained:
		c := events.Condition{Name: e.Condition, Since: clock, Until: e.Until, Rule: e.Rule}
		b.Conditions = append(slices.Clone(b.Conditions), c)
	case *events.ConditionEnded:
		b.endCondition(e.Condition)
	case *events.CharacterDied:
		b.Dead, b.Conditions = true, nil
	default:
		return body
	}
	b.settle(o, clock)
	return &b
}

func (b *Body) wound(e *events.WoundInflicted, clock int64) {
	b.LastWound = e.Wound
	if e.Points > 0 {
		b.Wounds = append(slices.Clone(b.Wounds), Wound{Ordinal: e.Wound, Points: e.Points, Level: e.Level})
	}
	if e.Level == stageTable[Scratch].name {
		b.Scratches++
	}
	b.Rest = 0 // whoever was just wounded has not been resting
	b.Changed = clock
}

// heal takes points from wounds of a kind, the oldest first.
func (b *Body) heal(points int, which func(Wound) bool) {
	var left []Wound
	for _, w := range b.Wounds {
		if which(w) {
			healed := min(points, w.Points)
			w.Points, points = w.Points-healed, points-healed
		}
		if w.Points > 0 {
			left = append(left, w)
		}
	}
	b.Wounds = left
}

func (b *Body) assure(e *HealingAssured) {
	var wounds []Wound
	for _, w := range b.Wounds {
		if slices.Contains(e.Wounds, w.Ordinal) {
			if e.AtOnce {
				continue
			}
			w.Treated = true
		}
		wounds = append(wounds, w)
	}
	b.Wounds = wounds
}

// tick applies a point healed by time. What is left of a fraction goes with
// the week after the last whole point.
func (b *Body) tick(e *events.TickProcessed, clock int64) {
	switch e.Kind {
	case tickRest:
		if e.Change == 0 {
			b.Remainder = ""
		}
		b.heal(e.Change, func(w Wound) bool { return !w.Treated })
		b.Rest = 0
	case tickCare:
		b.heal(e.Change, func(w Wound) bool { return w.Treated })
		b.Care = 0
	default:
		return
	}
	b.Changed = clock
}

func (b *Body) strain(e *Strained) {
	b.Rest = 0
	if !e.Reopens {
		return
	}
	b.Wounds = slices.Clone(b.Wounds)
	for i := range b.Wounds {
		b.Wounds[i].Treated = false
	}
}

func (b *Body) endCondition(name string) {
	var left []events.Condition
	for _, c := range b.Conditions {
		if c.Name != name {
			left = append(left, c)
		}
	}
	b.Conditions = left
}

// settle sets the clocks of healing as the body now needs them, and forgets
// scratches when nothing of them is left. A clock that
// runs goes on; one that was stopped begins at the time of the fact. Nobody
// recovers from Near Death on their own (FUDGE-52), nor from death.
func (b *Body) settle(o rules.Options, clock int64) {
	treated := b.pointsOf(func(w Wound) bool { return w.Treated })
	resting := b.points() > treated || b.Remainder != ""
	if b.stage(o) >= NearDeath {
		resting, treated = false, 0
	}
	if len(b.Wounds) == 0 {
		b.Scratches = 0
	}
	b.Rest = running(b.Rest, resting, clock+week)
	b.Care = running(b.Care, treated > 0, clock+int64(o.Int(optTreated))*day)
}

func running(due int64, on bool, begun int64) int64 {
	switch {
	case !on:
		return 0
	case due == 0:
		return begun
	}
	return due
}

// Vitals is how the body stands.
func (System) Vitals(o rules.Options, body rules.Body, _ int64) events.Vitals {
	b := body.(*Body)
	stage := b.stage(o)
	most := b.track(o)[Dead]
	v := events.Vitals{
		Alive:      !b.Dead,
		Conditions: slices.Clone(b.Conditions),
		State:      b.state(),
		Health: events.Health{
			Points: max(0, most-b.points()), Max: most,
			Rank: stageTable[stage].name, Penalty: stageTable[stage].penalty,
		},
	}
	if b.Dead {
		v.Health.Points = 0
		return v
	}
	if stageTable[stage].acts {
		v.Health.Penalty -= b.Fatigue
	}
	if b.spent(o) {
		v.Conditions = append(v.Conditions, events.Condition{Name: spent, Since: b.Changed, Rule: "FUDGE-41"})
	}
	return v
}

// State is what a player has to know of a body beside its health.
type State struct {
	Fatigue   int    `json:"fatigue,omitzero"`   // cards held for it (FUDGE-41)
	Remainder string `json:"remainder,omitzero"` // of a point lost beside the wounds: 2/3 (FUDGE-63)
}

func (b *Body) state() jsontext.Value {
	s := State{Fatigue: b.Fatigue, Remainder: b.Remainder}
	if s == (State{}) {
		return nil
	}
	return rules.State(s)
}

// NextTick is the earliest of death at Near Death, a week of rest and the
// healing of a treated wound.
func (System) NextTick(_ rules.Options, body rules.Body) (rules.Tick, bool) {
	b := body.(*Body)
	if b.Dead {
		return rules.Tick{}, false
	}
	var next rules.Tick
	offer := func(due int64, ordinal int, kind string) {
		if due > 0 && (next.Due == 0 || due < next.Due) {
			next = rules.Tick{Due: due, Ordinal: ordinal, Kind: kind}
		}
	}
	for _, c := range b.Conditions {
		if c.Name == dying {
			offer(c.Until, 1, tickDying)
		}
	}
	offer(b.Rest, 2, tickRest)
	offer(b.Care, 3, tickCare)
	return next, next.Due > 0
}
