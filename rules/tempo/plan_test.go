package tempo_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"tallystick/events"
	"tallystick/rules"
	"tallystick/rules/rulestest"
	"tallystick/rules/tempo"
)

// world is a campaign of fires whose clock follows a clock that the test owns.
type world struct {
	*rulestest.Table
	pace   tempo.Pace
	now    time.Time           // passes, and is never moved
	warned map[int64]time.Time // when warnings were given, by record

	outlook tempo.Outlook
}

// fires draws a campaign of a few fires, near their end, under a tempo.
func fires(t *testing.T, rt *rapid.T) (build func() *world) {
	z := zone(rt, "Europe/Berlin")
	hold := rapid.SampledFrom([]string{"pc", "none"}).Draw(rt, "hold")
	quiet := rapid.SampledFrom([]string{"", `,"quiet":{"zone":"Europe/Berlin","from":"22:00","to":"07:00"}`}).Draw(rt, "quiet")
	ratio := rapid.SampledFrom([]string{`"game":"1s","wall":"1m"`, `"game":"7s","wall":"1h"`, `"game":"1d","wall":"1d"`}).Draw(rt, "ratio")
	warn := rapid.SampledFrom([]string{"10m", "6h", "none"}).Draw(rt, "warn")
	set := fmt.Sprintf(`{%s,"warn":%q,"hold":%q%s}`, ratio, warn, hold, quiet)
	type fire struct {
		kind   string
		points int
	}
	var all []fire
	for range rapid.IntRange(1, 3).Draw(rt, "fires") {
		all = append(all, fire{rapid.SampledFrom([]string{"pc", "npc"}).Draw(rt, "kind"), rapid.IntRange(1, 5).Draw(rt, "points")})
	}
	return func() *world {
		w := &world{Table: rulestest.NewTable(t, rules.NewBook(rulestest.Ember()), ""), warned: map[int64]time.Time{}}
		w.Must("gm", "session.open", `{"title":"Letters","kind":"play-by-post"}`)
		for i, f := range all {
			w.Must("gm", "character.create", fmt.Sprintf(`{"name":"Fire %d","kind":%q,"creation":"free","sheet":{"points":%d}}`, i, f.kind, f.points))
		}
		w.Must("gm", "tempo.set", set)
		w.pace, w.now = tempo.PaceOf(w.State.Tempo.TempoSet, z), tempo.Since(w.State)
		return w
	}
}

func (w *world) plan() tempo.Plan {
	w.outlook = tempo.Look(w.State, w.outlook)
	return tempo.Make(w.State, w.outlook, w.pace, tempo.Moment{At: w.now, Passed: w.now.Sub(tempo.Since(w.State))})
}

// tick does what is to be done now.
func (w *world) tick() tempo.Plan {
	for {
		plan := w.plan()
		switch {
		case plan.Warn != nil:
			w.warned[w.State.Next] = w.now
			w.system(rules.WarnType, plan.Warn)
		case plan.Follow != nil:
			w.system(rules.FollowType, plan.Follow)
			w.Finish()
		default:
			return plan
		}
	}
}

func (w *world) system(typ string, d any) {
	data, err := rules.Canonical(d)
	if err != nil {
		w.T.Fatal(err)
	}
	w.Must(rules.SystemPrincipal, typ, string(data))
}

// happened are the records of some types, without what time on the wall it was.
func (w *world) happened(types ...string) (all []string) {
	for _, r := range w.Records {
		if slices.Contains(types, r.Type) {
			all = append(all, fmt.Sprint(r.Clock, r.Type, string(r.Data)))
		}
	}
	return all
}

// Who looks only when the plan says so misses nothing: before that moment
// there is nothing to do, at it there is, and what comes of it is what comes of
// looking at any other times.
func TestPlanKnowsWhen(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		build := fires(t, rt)
		exact, any := build(), build()
		end := exact.now.Add(48 * time.Hour)
		for range 80 {
			next := exact.tick().Next
			if next.IsZero() || next.After(end) {
				break
			}
			if !next.After(exact.now) {
				rt.Fatalf("at %v: look again at %v", exact.now, next)
			}
			exact.now = next.Add(-time.Millisecond)
			if plan := exact.plan(); plan.Warn != nil || plan.Follow != nil {
				rt.Fatalf("a millisecond before %v there is something to do: %+v", next, plan)
			}
			exact.now = next
			if plan := exact.plan(); plan.Warn == nil && plan.Follow == nil {
				rt.Fatalf("at %v there is nothing to do", next)
			}
		}
		for any.now.Before(exact.now) {
			any.now = any.now.Add(time.Duration(rapid.IntRange(1, 20_000_000).Draw(rt, "step")) * time.Millisecond)
			if any.now.After(exact.now) {
				any.now = exact.now
			}
			any.tick()
		}
		exact.tick()
		for _, w := range []*world{exact, any} {
			if again := tempo.Look(w.State, tempo.Outlook{}); !slices.Equal(again.Dangers, tempo.Look(w.State, w.outlook).Dangers) {
				rt.Fatalf("looked at anew the dangers are %v", again.Dangers)
			}
		}
		if a, b := exact.happened("tick.processed", "roll.made", "tempo.held"), any.happened("tick.processed", "roll.made", "tempo.held"); !slices.Equal(a, b) {
			rt.Fatalf("exactly: %d records, at any times: %d", len(a), len(b))
		}
	})
}

// No player character dies under hold before the game master has let it; and
// nobody dies unannounced where there are warnings, none of which comes too early
// or too late.
func TestNobodyDiesUnseen(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		build := fires(t, rt)
		w := build()
		end := w.now.Add(72 * time.Hour)
		set := w.State.Tempo.TempoSet
		for range 80 {
			next := w.tick().Next
			if next.IsZero() || next.After(end) {
				break
			}
			w.now = next
		}
		warned := map[string]bool{}
		for _, r := range w.Records {
			switch r.Type {
			case "tempo.warned":
				var e events.TempoWarned
				if err := json.Unmarshal(r.Data, &e); err != nil {
					rt.Fatal(err)
				}
				warned[e.Character] = true
				ahead := at(e.When).Sub(w.warned[r.N].Truncate(time.Second))
				if set.Warn == 0 || ahead < 0 || ahead > time.Duration(set.Warn)*time.Second {
					rt.Fatalf("a warning %v ahead, %d seconds were asked for", ahead, set.Warn)
				}
			case "tick.processed":
				var e events.TickProcessed
				if err := json.Unmarshal(r.Data, &e); err != nil {
					rt.Fatal(err)
				}
				if e.After.Alive {
					continue
				}
				ch, _ := w.State.Character(e.Character)
				if set.Hold == events.HoldPC && ch.Kind == "pc" {
					rt.Fatalf("%s died unseen", ch.Name)
				}
				if set.Warn > 0 && !warned[e.Character] {
					rt.Fatalf("%s died unannounced", ch.Name)
				}
			}
		}
	})
}

// The look ahead finds the first check that could kill: after as many checks
// as there are points.
func TestDanger(t *testing.T) {
	for points := 1; points < 8; points++ {
		w := &world{Table: rulestest.NewTable(t, rules.NewBook(rulestest.Ember()), "")}
		w.Must("gm", "session.open", `{"title":"Letters","kind":"play-by-post"}`)
		w.Must("gm", "character.create", fmt.Sprintf(`{"name":"Fire","kind":"npc","creation":"free","sheet":{"points":%d}}`, points))
		w.Must("gm", "tempo.set", `{"game":"1s","wall":"1s","warn":"50s"}`)
		o := tempo.Look(w.State, tempo.Outlook{})
		switch {
		case o.Next == nil || o.Next.At != 10:
			t.Errorf("%d points: next due %+v", points, o.Next)
		case points <= 6 && (len(o.Dangers) != 1 || o.Dangers[0].At != int64(points)*10):
			t.Errorf("%d points: %+v", points, o.Dangers)
		case points > 6 && len(o.Dangers) != 0:
			t.Errorf("%d points: %+v, although it is further ahead than a warning from the next check on", points, o.Dangers)
		}
	}
}
