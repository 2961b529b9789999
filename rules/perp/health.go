package perp

import (
	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
	"tallystick/rules"
)

// Health ranks, from best to worst.
const (
	Well        = "well"
	Hurt        = "hurt"
	Unconscious = "unconscious"
	Dead        = "dead"
)

// Conditions that follow from hit points.
const (
	conditionUnconscious = "unconscious"
	conditionBleeding    = "bleeding"
)

// Ticks.
const (
	bleeding = "bleeding"        // PERP-49
	healing  = "natural healing" // PERP-51
)

// Body is a character as the rules see it. It is immutable.
type Body struct {
	Sheet   *Sheet `json:"sheet"`
	HP      int    `json:"hp"`
	Wounds  int    `json:"wounds,omitzero"` // so far
	Killed  bool   `json:"killed,omitzero"` // dead whatever the hit points
	Armour  string `json:"armour"`          // worn now
	Powered bool   `json:"powered,omitzero"`

	FellAt     int64 `json:"fell_at,omitzero"`     // unconscious since
	BleedsFrom int64 `json:"bleeds_from,omitzero"` // bleeding since
	BleedDue   int64 `json:"bleed_due,omitzero"`   // next d6 lost; 0: does not bleed
	HealDue    int64 `json:"heal_due,omitzero"`    // next d6 healed; 0: nothing to heal

	Tended       bool `json:"tended,omitzero"`        // in this week of healing
	TendedPoints int  `json:"tended_points,omitzero"` // that come back at its end

	FreeAt int64     `json:"free_at,omitzero"` // when the next attack is possible
	Share  *ShareWon `json:"share,omitzero"`   // damage to share out
}

func (b *Body) alive() bool { return !b.Killed && b.HP > deadAt }

func (b *Body) rank() string {
	switch {
	case !b.alive():
		return Dead
	case b.HP <= 0:
		return Unconscious
	case b.HP < b.Sheet.HitPoints:
		return Hurt
	}
	return Well
}

// settle puts the hit points where they are now and sets the timers that
// follow from it: who falls begins to bleed and loses the first d6 a full
// minute later (PERP-48, PERP-49); who stands bleeds no more; a week of healing
// begins with the first hit point lost and ends with the last one regained
// (PERP-51).
func (b *Body) settle(hp int, clock int64) {
	stood := b.HP > 0
	b.HP = hp
	switch {
	case !b.alive():
		b.BleedDue, b.HealDue = 0, 0
		return
	case b.HP > 0:
		b.FellAt, b.BleedsFrom, b.BleedDue = 0, 0, 0
	case stood:
		b.FellAt = clock
		b.bleed(clock)
	}
	if b.HP == b.Sheet.HitPoints {
		b.HealDue, b.Tended, b.TendedPoints = 0, false, 0
	} else if b.HealDue == 0 {
		b.HealDue = clock + week
	}
}

func (b *Body) bleed(clock int64) { b.BleedsFrom, b.BleedDue = clock, clock+minute }

// Evolve applies a fact about the character.
func (System) Evolve(_ rules.Options, body rules.Body, clock int64, e events.Event) rules.Body {
	b := *body.(*Body)
	switch e := e.(type) {
	case *events.WoundInflicted:
		b.Wounds++
		b.settle(b.HP-e.Points, clock)
		if b.alive() && b.HP <= 0 && b.BleedDue == 0 {
			b.bleed(clock) // a new wound bleeds, also when the old ones were stopped
		}
	case *events.WoundTreated:
		b.treated(e)
	case *events.HealGranted:
		b.settle(b.HP+e.Points, clock)
	case *events.TickProcessed:
		b.ticked(e)
	case *events.CharacterDied:
		b.Killed, b.BleedDue, b.HealDue = true, 0, 0
	case *Attacked:
		b.FreeAt = clock + round
	case *ShareWon:
		open := *e
		open.After = nil
		b.Share = &open
	case *DamageShared:
		b.Share = nil
	case *ArmourChanged:
		b.Armour, b.Powered = e.Armour, e.Powered
	default:
		return body
	}
	return &b
}

func (b *Body) treated(e *events.WoundTreated) {
	if e.Outcome == stabilised {
		b.BleedsFrom, b.BleedDue = 0, 0
	}
	if e.Rule == "PERP-52" {
		b.Tended = true
		b.TendedPoints += e.Points
	}
}

func (b *Body) ticked(e *events.TickProcessed) {
	switch e.Kind {
	case bleeding:
		b.BleedDue = e.Due + minute
	case healing:
		b.HealDue = e.Due + week
		b.Tended, b.TendedPoints = false, 0
	}
	b.settle(b.HP+e.Change, e.Due)
}

// Vitals is how the body stands.
func (System) Vitals(_ rules.Options, body rules.Body, _ int64) events.Vitals {
	b := body.(*Body)
	return events.Vitals{
		Alive:      b.alive(),
		Health:     events.Health{Points: b.HP, Max: b.Sheet.HitPoints, Rank: b.rank()},
		Conditions: b.conditions(),
		State:      b.further(),
	}
}

// State is what a player has to know of a body beside its health.
type State struct {
	Armour  string     `json:"armour,omitzero"`  // worn now: left out when none is and none is on the sheet
	Powered bool       `json:"powered,omitzero"` // powered armour is on
	Share   *ShareOpen `json:"share,omitzero"`   // damage to share out (PERP-32)
}

// ShareOpen is damage that has been won from a group and not been shared out.
type ShareOpen struct {
	Points  int      `json:"points"`
	Weapon  string   `json:"weapon"`
	Targets []Beaten `json:"targets"`
}

// further is the state, or nothing when there is nothing to say.
func (b *Body) further() jsontext.Value {
	s := State{Powered: b.Powered}
	if b.Armour != "none" || b.Sheet.Armour != "none" {
		s.Armour = b.Armour
	}
	if b.Share != nil {
		s.Share = &ShareOpen{b.Share.Points, b.Share.Weapon, b.Share.Targets}
	}
	if s == (State{}) {
		return nil
	}
	return rules.State(s)
}

func (b *Body) conditions() []events.Condition {
	all := []events.Condition{}
	if !b.alive() || b.HP > 0 {
		return all
	}
	all = append(all, events.Condition{Name: conditionUnconscious, Since: b.FellAt, Rule: "PERP-48"})
	if b.BleedDue > 0 {
		all = append(all, events.Condition{Name: conditionBleeding, Since: b.BleedsFrom, Rule: "PERP-49"})
	}
	return all
}

// NextTick is the next d6 lost or healed. The dead are beyond both.
func (System) NextTick(_ rules.Options, body rules.Body) (rules.Tick, bool) {
	b := body.(*Body)
	bleeds := rules.Tick{Due: b.BleedDue, Ordinal: 1, Kind: bleeding}
	heals := rules.Tick{Due: b.HealDue, Ordinal: 2, Kind: healing}
	switch {
	case b.BleedDue > 0 && (b.HealDue == 0 || b.BleedDue <= b.HealDue):
		return bleeds, true
	case b.HealDue > 0:
		return heals, true
	}
	return rules.Tick{}, false
}

// DecideTick decides a minute of bleeding or a week of healing.
func (System) DecideTick(t *rules.Turn, c *rules.Character, tick rules.Tick) {
	b := c.Body.(*Body)
	e := &events.TickProcessed{Subject: events.Subject{Character: c.ID}, Kind: tick.Kind, Due: tick.Due}
	switch tick.Kind {
	case bleeding:
		th := t.Throw(bleeding, c)
		lost := bleedOut(th)
		th.Result("loses", -lost)
		e.Rolled, e.Change, e.Rule = true, -lost, "PERP-49"
	case healing:
		e.Rule = "PERP-51"
		e.Rolled, e.Change = b.heal(t, c)
	}
	happen(t, c, e)
}

// die takes one die of so many sides: a throw, or the faces of a vector.
type die interface{ Die(sides int) int }

// bleedOut is what a minute costs (PERP-49).
func bleedOut(d die) int { return d.Die(6) }

// happen emits what changes a body, and then what follows from it: who falls,
// who bleeds, who wakes, who dies.
func happen(t *rules.Turn, ch *rules.Character, e events.Event) {
	before := t.Again(ch).Body.(*Body)
	t.Emit(e)
	after := t.Again(ch).Body.(*Body)
	who := events.Subject{Character: ch.ID}
	if before.alive() && !after.alive() {
		t.Emit(&events.CharacterDied{Subject: who, Cause: cause(e), Rule: "PERP-50"})
		return
	}
	was, is := before.conditions(), after.conditions()
	for _, c := range was {
		if !has(is, c.Name) {
			t.Emit(&events.ConditionEnded{Subject: who, Condition: c.Name, Rule: c.Rule})
		}
	}
	for _, c := range is {
		if !has(was, c.Name) {
			t.Emit(&events.ConditionGained{Subject: who, Condition: c.Name, Rule: c.Rule})
		}
	}
}

func has(all []events.Condition, name string) bool {
	for _, c := range all {
		if c.Name == name {
			return true
		}
	}
	return false
}

func cause(e events.Event) string {
	if w, ok := e.(*events.WoundInflicted); ok {
		return w.Cause
	}
	return "bled to death"
}
