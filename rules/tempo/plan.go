package tempo

import (
	"container/heap"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"tallystick/events"
	"tallystick/rules"
)

// A Due is a check that falls due: of whom, when in the game, and what kind.
type Due struct {
	Character string
	At        int64 // game seconds
	Kind      string
}

// An Outlook is what lies ahead of a campaign if nobody does anything. It
// stays true until the campaign's next record.
type Outlook struct {
	Next    *Due  // the first check that falls due; nil: none
	Dangers []Due // of those in danger, the first check that could kill them, as far as it was looked for

	looked  map[string]looked // by character, so that who did not change is not looked at again
	setting any
}

// looked is what was found of a character.
type looked struct {
	at     *rules.Character
	until  int64
	due    Due
	lethal bool
}

// MaxStates bounds how many ways a character can stand are looked at to find
// out when it could die first.
const MaxStates = 2_000

// Next is the first check of a campaign that falls due; nil when there is none.
func Next(c *rules.Campaign) *Due {
	var next *Due
	for _, id := range c.Characters() {
		ch, _ := c.Character(id)
		if tick, ok := c.Tick(ch); ok && (next == nil || tick.Due < next.At) {
			next = &Due{id, tick.Due, tick.Kind}
		}
	}
	return next
}

// Look finds out what lies ahead of a campaign whose clock follows the one on
// the wall. last is what was found out of it before, or the zero Outlook.
func Look(c *rules.Campaign, last Outlook) Outlook {
	o := Outlook{Next: Next(c), looked: map[string]looked{}, setting: c.Options.Setting}
	if c.Tempo == nil || c.Tempo.Warn == 0 {
		return o
	}
	for _, id := range c.Characters() {
		ch, _ := c.Character(id)
		tick, ok := c.Tick(ch)
		if !ok || !c.Alive(id) {
			continue
		}
		// Behind the next check the campaign is another one, and is looked at anew.
		until := tick.Due + ahead(c.Tempo.TempoSet)
		found, known := last.looked[id]
		if !known || found.at != ch || found.until != until || last.setting != o.setting {
			found = looked{at: ch, until: until}
			found.due, found.lethal = danger(c, ch, until)
		}
		o.looked[id] = found
		if found.lethal {
			o.Dangers = append(o.Dangers, found.due)
		}
	}
	return o
}

// ahead is how much game time passes at most in the time of a warning.
func ahead(t events.TempoSet) int64 {
	seconds, _ := Pace{Game: t.Game, Wall: t.Wall}.Passes(time.Time{}, time.Duration(t.Warn)*time.Second, 0)
	return seconds + 1
}

// fate is one way a character can stand before its next check.
type fate struct {
	tick rules.Tick
	c    *rules.Campaign
}

// fates is a heap of them by the time of the check.
type fates []fate

func (f fates) Len() int           { return len(f) }
func (f fates) Less(i, j int) bool { return f[i].tick.Due < f[j].tick.Due }
func (f fates) Swap(i, j int)      { f[i], f[j] = f[j], f[i] }

// Push implements heap.Interface.
func (f *fates) Push(x any) { *f = append(*f, x.(fate)) }

// Pop implements heap.Interface.
func (f *fates) Pop() any {
	last := (*f)[len(*f)-1]
	*f = (*f)[:len(*f)-1]
	return last
}

// danger finds the first check, due by a game time, by which time alone could
// kill a character. Where there are too many ways to tell, the first that was
// not looked at counts as one.
func danger(c *rules.Campaign, ch *rules.Character, until int64) (Due, bool) {
	seen := map[string]bool{}
	var open fates
	add := func(c *rules.Campaign) {
		now, _ := c.Character(ch.ID)
		tick, ok := c.Tick(now)
		if key := standing(c, now, tick); ok && tick.Due <= until && !seen[key] {
			seen[key] = true
			heap.Push(&open, fate{tick, c})
		}
	}
	add(c)
	for len(open) > 0 {
		f := heap.Pop(&open).(fate)
		now, _ := f.c.Character(ch.ID)
		ways, err := rules.BranchTick(f.c, now, f.tick)
		if err != nil || len(seen) > MaxStates || slices.ContainsFunc(ways, func(b rules.Branch) bool { return !b.After.Alive(ch.ID) }) {
			return Due{ch.ID, f.tick.Due, f.tick.Kind}, true
		}
		for _, b := range ways {
			add(b.After)
		}
	}
	return Due{}, false
}

// standing tells ways a character can stand apart.
func standing(c *rules.Campaign, ch *rules.Character, tick rules.Tick) string {
	if p, ok := c.Book.System.(rules.Phased); ok {
		return fmt.Sprint(tick, c.Clock, p.Phase(c.Options, ch.Body, c.Clock))
	}
	body, err := json.Marshal(ch.Body, json.Deterministic(true))
	if err != nil {
		panic("tempo: a body that cannot be written: " + err.Error())
	}
	return fmt.Sprint(tick, string(body))
}

// A Moment is a moment on the wall, in whole milliseconds.
type Moment struct {
	At time.Time // as the server's clock shows it
	// Passed is how much time has really passed since the moment up to which the
	// campaign's clock has followed.
	Passed time.Duration
}

// Moved reports whether somebody has moved the server's clock since that
// moment.
func (m Moment) Moved(since time.Time) bool {
	return m.At.Sub(since.Add(m.Passed)).Abs() > tolerated
}

// tolerated is how far a clock is off in what it shows without having been
// moved.
const tolerated = time.Second

// Now is the game time at a moment.
func Now(c *rules.Campaign, p Pace, m Moment) int64 {
	if !c.Tempo.Running() {
		return c.Clock
	}
	seconds, _ := p.Passes(Since(c), m.Passed, c.Tempo.Carry)
	return max(c.Clock, c.Tempo.From+min(seconds, rules.MaxAdvance))
}

// Since is the moment on the wall up to which a campaign's clock has followed.
func Since(c *rules.Campaign) time.Time {
	at, err := time.Parse(events.TimeFormat, c.Tempo.At)
	if err != nil {
		panic("tempo: a moment that was recorded cannot be read: " + err.Error())
	}
	return at
}

// Follow is the command that brings a campaign's clock to where it belongs at
// a moment; nil when it is there. The clock's place on the wall is set anew too
// when the server's clock was moved.
func Follow(c *rules.Campaign, p Pace, m Moment) *rules.ClockFollow {
	if !c.Tempo.Running() {
		return nil
	}
	passed, left := p.Passes(Since(c), m.Passed, c.Tempo.Carry)
	seconds := max(0, c.Tempo.From+min(passed, rules.MaxAdvance)-c.Clock)
	if seconds == 0 && !m.Moved(Since(c)) {
		return nil
	}
	return &rules.ClockFollow{
		Since: c.Tempo.At, Seconds: seconds,
		Followed: events.Followed{At: m.At.UTC().Format(events.TimeFormat), Carry: left},
	}
}

// A Plan is what the passing of time asks for at a moment.
type Plan struct {
	Warn   *rules.TempoWarn   // to be announced before anything else
	Follow *rules.ClockFollow // for checks that are due, or because the server's clock was moved
	// Next is when there will be something to do, reckoned from the moment up to
	// which the clock has followed; zero: not before the campaign's next record.
	Next time.Time
}

// Make makes the plan of a campaign, of which o is the outlook, for a moment.
func Make(c *rules.Campaign, o Outlook, p Pace, m Moment) Plan {
	if !c.Tempo.Running() {
		return Plan{}
	}
	var plan Plan
	now := Now(c, p, m)
	for _, d := range o.Dangers {
		when := When(c, p, d.At)
		if when.IsZero() || warned(c.Tempo, d) {
			continue // what is beyond the horizon has a check before it
		}
		if at := when.Add(-time.Duration(c.Tempo.Warn) * time.Second); at.After(Since(c).Add(m.Passed)) {
			plan.sooner(at)
		} else if plan.Warn == nil {
			plan.Warn = &rules.TempoWarn{Character: d.Character, Due: d.At, Kind: d.Kind, When: when.In(p.Zone()).Format(time.RFC3339)}
		}
	}
	if o.Next != nil && o.Next.At <= now || m.Moved(Since(c)) {
		plan.Follow = Follow(c, p, m)
	}
	if o.Next != nil && plan.Follow == nil {
		when := When(c, p, max(o.Next.At, c.Clock+1))
		if when.IsZero() {
			when = Since(c).Add(m.Passed + Horizon/2)
		}
		plan.sooner(when)
	}
	return plan
}

// warned reports whether a danger was announced. A character who stays in
// danger is announced again when the time of a warning has passed.
func warned(t *rules.Tempo, d Due) bool {
	due, ok := t.Warned[d.Character]
	return ok && d.At < due+ahead(t.TempoSet)
}

func (p *Plan) sooner(t time.Time) {
	if !t.IsZero() && (p.Next.IsZero() || t.Before(p.Next)) {
		p.Next = t
	}
}

// When is when on the wall it is a game time, if the clock runs on; zero when
// that is further away than Horizon.
func When(c *rules.Campaign, p Pace, clock int64) time.Time {
	return p.When(Since(c), clock-c.Tempo.From, c.Tempo.Carry)
}
