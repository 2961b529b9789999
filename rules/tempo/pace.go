// Package tempo says which game time it is at which time on the wall, what is
// due next by it, and what has to be announced before.
//
// It is pure: the time, and the time zone, come from the caller, who also owns
// the timers. All of it is reckoned in elapsed time; a clock on the wall that
// somebody moves makes no game time pass.
package tempo

import (
	"math/bits"
	"slices"
	"strings"
	"time"

	"tallystick/events"
)

// A Pace turns time on the wall into game time.
type Pace struct {
	Game, Wall int64 // game seconds pass in so many seconds on the wall
	Quiet      Quiet
}

// PaceOf is the pace of a tempo; zone is that of its quiet hours.
func PaceOf(t events.TempoSet, zone *time.Location) Pace {
	return Pace{Game: t.Game, Wall: t.Wall, Quiet: quietOf(t.Quiet, zone)}
}

// Zone is the time zone in which people are told when something is due.
func (p Pace) Zone() *time.Location {
	if p.Quiet.zone == nil {
		return time.UTC
	}
	return p.Quiet.zone
}

// Passes is how much game time passes from a moment on the wall on in a time,
// and what is left over: carry of the last call goes into the next, so that a
// time passes the same in one step or in many. Both times count in whole
// milliseconds.
func (p Pace) Passes(from time.Time, in time.Duration, carry int64) (seconds, left int64) {
	awake := p.Quiet.awake(from, from.Add(in)).Milliseconds()
	hi, lo := bits.Mul64(uint64(awake), uint64(p.Game))
	lo, over := bits.Add64(lo, uint64(carry), 0)
	whole, rest := bits.Div64(hi+over, lo, uint64(p.Wall)*1000)
	return int64(whole), int64(rest)
}

// When is the first moment on the wall, in whole milliseconds after from, at
// which so many game seconds have passed. It is zero when that is further away
// than Horizon.
func (p Pace) When(from time.Time, seconds, carry int64) time.Time {
	if seconds <= 0 {
		return from
	}
	hi, lo := bits.Mul64(uint64(seconds), uint64(p.Wall)*1000)
	lo, under := bits.Sub64(lo, uint64(carry), 0)
	hi -= under
	if hi >= uint64(p.Game) {
		return time.Time{}
	}
	awake, rest := bits.Div64(hi, lo, uint64(p.Game))
	if rest > 0 {
		awake++
	}
	if awake > uint64(Horizon.Milliseconds()) {
		return time.Time{}
	}
	return p.Quiet.after(from, time.Duration(awake)*time.Millisecond)
}

// Horizon is how far ahead it is worked out when something is due on the wall.
const Horizon = 366 * 24 * time.Hour

// Quiet are the hours and days at which game time stands still. The zero Quiet
// is never.
type Quiet struct {
	zone     *time.Location
	from, to time.Duration // since midnight by the clock on the wall; equal: no hours
	days     []time.Weekday
}

var weekdays = []string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}

func quietOf(q *events.Quiet, zone *time.Location) Quiet {
	if q == nil {
		return Quiet{}
	}
	out := Quiet{zone: zone, from: timeOfDay(q.From), to: timeOfDay(q.To)}
	for _, day := range q.Days {
		out.days = append(out.days, time.Weekday(slices.Index(weekdays, strings.ToLower(day))))
	}
	return out
}

// timeOfDay reads hours and minutes such as 22:00; nothing is midnight.
func timeOfDay(text string) time.Duration {
	t, err := time.Parse("15:04", text)
	if err != nil {
		return 0
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute
}

// At reports whether a moment is quiet.
func (q Quiet) At(t time.Time) bool {
	if q.zone == nil {
		return false
	}
	local := t.In(q.zone)
	if slices.Contains(q.days, local.Weekday()) {
		return true
	}
	now := sinceMidnight(local)
	if q.from <= q.to {
		return q.from <= now && now < q.to
	}
	return now >= q.from || now < q.to
}

// change is the next moment after t at which quiet hours may begin or end: a
// boundary of them, midnight, or one at which the zone puts its clocks on.
func (q Quiet) change(t time.Time) time.Time {
	local := t.In(q.zone)
	now := sinceMidnight(local)
	next := 24*time.Hour - now
	for _, boundary := range []time.Duration{q.from, q.to} {
		if d := boundary - now; d > 0 && d < next {
			next = d
		}
	}
	at := t.Add(next)
	if _, end := local.ZoneBounds(); !end.IsZero() && end.Before(at) {
		at = end
	}
	return at
}

func sinceMidnight(local time.Time) time.Duration {
	h, m, s := local.Clock()
	return time.Duration(h)*time.Hour + time.Duration(m)*time.Minute + time.Duration(s)*time.Second + time.Duration(local.Nanosecond())
}

// awake is how much of the time between two moments is not quiet.
func (q Quiet) awake(from, to time.Time) time.Duration {
	if q.zone == nil {
		return max(0, to.Sub(from))
	}
	var sum time.Duration
	for from.Before(to) {
		next := q.change(from)
		if next.After(to) {
			next = to
		}
		if !q.At(from) {
			sum += next.Sub(from)
		}
		from = next
	}
	return sum
}

// after is the first moment by which so much time has passed that is not
// quiet; zero when that is further away than Horizon.
func (q Quiet) after(from time.Time, awake time.Duration) time.Time {
	if q.zone == nil {
		return from.Add(awake)
	}
	for end := from.Add(Horizon); from.Before(end); {
		next := q.change(from)
		if !q.At(from) {
			if next.Sub(from) >= awake {
				return from.Add(awake)
			}
			awake -= next.Sub(from)
		}
		from = next
	}
	return time.Time{}
}
