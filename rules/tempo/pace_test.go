package tempo_test

import (
	"fmt"
	"math/big"
	"testing"
	"time"
	_ "time/tzdata"

	"pgregory.net/rapid"

	"tallystick/events"
	"tallystick/rules/tempo"
)

func zone(t interface{ Fatal(...any) }, name string) *time.Location {
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

// Known ratios, and what is left over, worked out by hand.
func TestPasses(t *testing.T) {
	for _, c := range []struct {
		game, wall int64
		in         time.Duration
		seconds    int64
	}{
		{86_400, 86_400, 24 * time.Hour, 86_400}, // a day is a day
		{3_600, 86_400, 24 * time.Hour, 3_600},   // a day of posts is an hour
		{3_600, 86_400, 23 * time.Second, 0},
		{3_600, 86_400, 24 * time.Second, 1},
		{1_000, 1, time.Hour, 3_600_000},
		{1, 31_622_400, 366 * 24 * time.Hour, 1},
		{31_622_400, 31_622_400, 250 * 365 * 24 * time.Hour, 250 * 365 * 86_400},
		{7, 3, 10 * time.Second, 23},
	} {
		got, _ := tempo.PaceOf(events.TempoSet{Game: c.game, Wall: c.wall}, time.UTC).Passes(at("2026-11-30T19:00:00Z"), c.in, 0)
		if got != c.seconds {
			t.Errorf("%d in %d: in %v pass %d seconds, want %d", c.game, c.wall, c.in, got, c.seconds)
		}
	}
}

// On the nights when Berlin puts its clocks on or back, the quiet hours are
// those of the clock on the wall: seven or nine hours long, not eight.
func TestQuietOverClockChange(t *testing.T) {
	pace := tempo.PaceOf(events.TempoSet{Game: 1, Wall: 1, Quiet: &events.Quiet{Zone: "Europe/Berlin", From: "23:00", To: "07:00"}}, zone(t, "Europe/Berlin"))
	for _, c := range []struct {
		from, name string
		hours      int64
	}{
		{"2026-11-10T12:00:00+01:00", "ordinary", 16},
		{"2026-03-28T12:00:00+01:00", "summer time begins", 17}, // 24 hours that hold seven quiet ones
		{"2026-10-24T12:00:00+02:00", "summer time ends", 15},
	} {
		if got, _ := pace.Passes(at(c.from), 24*time.Hour, 0); got != c.hours*3600 {
			t.Errorf("%s: %d hours pass, want %d", c.name, got/3600, c.hours)
		}
	}
	// One that is due after an hour of play, asked at 22:30 before the shorter
	// night, is due at 07:30 by the clock on the wall.
	if got := pace.When(at("2026-03-28T22:30:00+01:00"), 3600, 0); !got.Equal(at("2026-03-29T07:30:00+02:00")) {
		t.Errorf("due at %v", got)
	}
	// Quiet hours that begin in the hour that comes twice begin twice.
	twice := tempo.PaceOf(events.TempoSet{Game: 1, Wall: 1, Quiet: &events.Quiet{Zone: "Europe/Berlin", From: "02:30", To: "06:00"}}, zone(t, "Europe/Berlin"))
	for text, quiet := range map[string]bool{
		"2026-10-25T02:15:00+02:00": false, "2026-10-25T02:45:00+02:00": true,
		"2026-10-25T02:15:00+01:00": false, "2026-10-25T02:45:00+01:00": true, "2026-10-25T06:00:00+01:00": false,
	} {
		if twice.Quiet.At(at(text)) != quiet {
			t.Errorf("%s: quiet is %v", text, !quiet)
		}
	}
	if got, _ := twice.Passes(at("2026-10-25T02:00:00+02:00"), 2*time.Hour, 0); got != 3600 {
		t.Errorf("in the two hours from two to three pass %d seconds", got)
	}
}

// paces draws a ratio, quiet hours, and a moment near a change of clocks.
func paces(rt *rapid.T) (tempo.Pace, *events.Quiet, *time.Location, time.Time) {
	name := rapid.SampledFrom([]string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC"}).Draw(rt, "zone")
	z := zone(rt, name)
	set := events.TempoSet{
		Game: rapid.SampledFrom([]int64{1, 7, 3_600, 86_400, 25_200}).Draw(rt, "game"),
		Wall: rapid.SampledFrom([]int64{1_000, 11, 86_400, 3_600}).Draw(rt, "wall"),
	}
	minute := rapid.Custom(func(rt *rapid.T) string {
		return fmt.Sprintf("%02d:%02d", rapid.IntRange(0, 23).Draw(rt, "hour"), rapid.SampledFrom([]int{0, 15, 30, 59}).Draw(rt, "minute"))
	})
	if rapid.Bool().Draw(rt, "quiet") {
		set.Quiet = &events.Quiet{Zone: name, From: minute.Draw(rt, "from"), To: minute.Draw(rt, "to")}
		if rapid.Bool().Draw(rt, "weekend") {
			set.Quiet.Days = []string{"saturday", "sunday"}
		}
	}
	begin := rapid.SampledFrom([]string{"2026-03-28T12:00:00Z", "2026-10-24T12:00:00Z", "2026-11-01T00:00:00Z", "2026-04-04T00:00:00Z", "2026-07-01T00:00:00Z"}).Draw(rt, "begin")
	return tempo.PaceOf(set, z), set.Quiet, z, at(begin).Add(time.Duration(rapid.IntRange(0, 100_000_000).Draw(rt, "ms")) * time.Millisecond)
}

// isQuiet is the definition, read from the clock on the wall by hand.
func isQuiet(q *events.Quiet, z *time.Location, t time.Time) bool {
	if q == nil {
		return false
	}
	local := t.In(z)
	for _, day := range q.Days {
		if local.Format("Monday") == map[string]string{"saturday": "Saturday", "sunday": "Sunday"}[day] {
			return true
		}
	}
	now := local.Format("15:04")
	if q.From <= q.To {
		return q.From <= now && now < q.To
	}
	return now >= q.From || now < q.To
}

// Game time is what a count of the waking minutes says, whatever the zone does
// to its clocks.
func TestPassesAgainstCounting(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		pace, quiet, z, from := paces(rt)
		from = from.Truncate(time.Minute)
		minutes := rapid.IntRange(0, 4_000).Draw(rt, "minutes")
		awake := int64(0)
		for i := range minutes {
			if now := from.Add(time.Duration(i) * time.Minute); !isQuiet(quiet, z, now) {
				awake += 60
			}
		}
		want := new(big.Int).Div(big.NewInt(awake*pace.Game), big.NewInt(pace.Wall)).Int64()
		if got, _ := pace.Passes(from, time.Duration(minutes)*time.Minute, 0); got != want {
			rt.Fatalf("%d seconds pass, want %d", got, want)
		}
	})
}

// A time passes the same in one step or in many.
func TestPassesInSteps(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		pace, _, _, from := paces(rt)
		var whole time.Duration
		var sum, carry, seconds int64
		for _, ms := range rapid.SliceOf(rapid.IntRange(0, 200_000_000)).Draw(rt, "steps") {
			step := time.Duration(ms) * time.Millisecond
			seconds, carry = pace.Passes(from.Add(whole), step, carry)
			whole, sum = whole+step, sum+seconds
		}
		if once, left := pace.Passes(from, whole, 0); once != sum || left != carry {
			rt.Fatalf("at once %d and %d left, in steps %d and %d", once, left, sum, carry)
		}
	})
}

// When is the first moment by which so much has passed, and no earlier one.
func TestWhen(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		pace, _, _, from := paces(rt)
		_, carry := pace.Passes(from.Add(-time.Hour), time.Duration(rapid.IntRange(0, 3_600_000).Draw(rt, "before"))*time.Millisecond, 0)
		seconds := rapid.Int64Range(1, 500_000).Draw(rt, "seconds")
		when := pace.When(from, seconds, carry)
		if when.IsZero() {
			if got, _ := pace.Passes(from, tempo.Horizon, carry); got >= seconds {
				rt.Fatalf("%d seconds pass within the horizon, but not when they have", seconds)
			}
			return
		}
		if got, _ := pace.Passes(from, when.Sub(from), carry); got < seconds {
			rt.Fatalf("at %v %d seconds have passed, want %d", when, got, seconds)
		}
		if got, _ := pace.Passes(from, when.Sub(from)-time.Millisecond, carry); got >= seconds {
			rt.Fatalf("a millisecond before %v %d seconds have passed", when, got)
		}
	})
}

// What is further away than anybody waits is not reckoned.
func TestWhenNever(t *testing.T) {
	slow := tempo.PaceOf(events.TempoSet{Game: 1, Wall: 31_622_400}, time.UTC)
	if got := slow.When(at("2026-01-01T00:00:00Z"), 1<<53-1, 0); !got.IsZero() {
		t.Errorf("due at %v", got)
	}
	rare := tempo.PaceOf(events.TempoSet{Game: 1, Wall: 1, Quiet: &events.Quiet{Zone: "UTC", From: "00:00", To: "23:59"}}, time.UTC)
	if got := rare.When(at("2026-01-01T00:00:00Z"), 86_400*365, 0); !got.IsZero() {
		t.Errorf("due at %v", got)
	}
}
