package fudge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tallystick/rules"
	"tallystick/rules/rulestest"
)

// move is one thing that may happen at the table; a and b say to whom.
type move struct {
	typ     string
	a, b, n int
	seconds int64
}

func moves(rt *rapid.T) []move {
	types := []string{"attack", "attack", "wound.inflict", "wound.treat", "heal.grant", "fudge.strain", "fudge.tire", "clock.advance", "clock.advance"}
	out := make([]move, rapid.IntRange(1, 14).Draw(rt, "moves"))
	for i := range out {
		out[i] = move{
			typ: rapid.SampledFrom(types).Draw(rt, "type"),
			a:   rapid.IntRange(0, 2).Draw(rt, "a"), b: rapid.IntRange(0, 2).Draw(rt, "b"), n: rapid.IntRange(1, 5).Draw(rt, "n"),
			seconds: rapid.SampledFrom([]int64{1, 100, 420, 86_400, 200_000, 604_800, 2_000_000}).Draw(rt, "seconds"),
		}
	}
	return out
}

// data is the move's command.
func (m move) data(people []string) string {
	switch m.typ {
	case "attack":
		return fmt.Sprintf(`{"attacker":%q,"target":%q,"trait":"Sword","weapon":"sword","defence":{"trait":"Sword"}}`, people[m.a], people[m.b])
	case "wound.inflict":
		return fmt.Sprintf(`{"character":%q,"points":%d,"cause":"a fall"}`, people[m.a], m.n)
	case "wound.treat":
		return fmt.Sprintf(`{"character":%q,"by":%q,"trait":"Medicine"}`, people[m.a], people[m.b])
	case "heal.grant":
		return fmt.Sprintf(`{"character":%q,"points":%d,"cause":"a miracle"}`, people[m.a], m.n)
	case "fudge.strain":
		return fmt.Sprintf(`{"character":%q,"cause":"a march","reopens":%v}`, people[m.a], m.n > 3)
	case "fudge.tire":
		return fmt.Sprintf(`{"character":%q,"cards":1,"cause":"a march"}`, people[m.a])
	}
	return fmt.Sprintf(`{"seconds":%d}`, m.seconds)
}

// scene plays moves, each advance of the clock at once or in n steps.
func scene(rt *rapid.T, t *testing.T, list []move, inSteps bool) *rulestest.Table {
	tb := rulestest.NewTable(t, testBook, `{"fudge.treated_days":2,"fudge.near_death_minutes":7}`)
	tb.Must("gm", "session.open", `{"title":"one","kind":"downtime"}`)
	tb.Must("gm", "setting.define", `{"reason":"x","setting":{"weapons":{"sword":{"size":"large","sharp":true}}}}`)
	var people []string
	for _, sheet := range []string{
		`{"traits":{"Sword":"Great","Medicine":"Good"},"hit_points":"Good"}`,
		`{"traits":{"Sword":"Fair"},"armour":{"kind":"light"},"scale":{"hit_points":"5/3"}}`,
		`{"traits":{"Sword":"Superb","Medicine":"Superb"},"scale":{"hit_points":"1/7"},"weapons":{"sword":{"modifier":0}}}`,
	} {
		people = append(people, tb.Must("gm", "character.create", fmt.Sprintf(`{"name":"Fighter %d","kind":"npc","creation":"free","sheet":%s}`, len(people), sheet)))
	}
	for _, m := range list {
		steps := int64(1)
		if inSteps && m.typ == "clock.advance" {
			steps = min(int64(m.n), m.seconds)
		}
		for i := range steps {
			one := m
			one.seconds = m.seconds / steps
			if i == 0 {
				one.seconds += m.seconds % steps
			}
			one.make(rt, t, tb, people)
		}
	}
	return tb
}

// make makes the move and holds the state against what must always hold.
func (m move) make(rt *rapid.T, t *testing.T, tb *rulestest.Table, people []string) {
	cmd := tb.Command("gm", m.typ, m.data(people))
	before := rulestest.Shown(t, tb.State)
	actor, _ := tb.State.Character(people[m.a])
	acts := m.typ == "attack"
	if m.typ == "wound.treat" {
		actor, _ = tb.State.Character(people[m.b])
		acts = true
	}
	v := tb.State.Vitals(actor)
	facts, err := tb.Do(cmd)
	if err != nil {
		if after := rulestest.Shown(t, tb.State); after != before {
			rt.Fatalf("%+v was refused and changed the campaign", m)
		}
		return
	}
	if acts && (!v.Alive || len(v.Conditions) > 0 || v.Health.Rank == "Disabled") {
		rt.Fatalf("%+v: somebody acts who is %+v (%d facts)", m, v, len(facts))
	}
	for _, id := range people {
		ch, _ := tb.State.Character(id)
		sane(rt, tb.State, ch)
	}
}

func sane(rt *rapid.T, c *rules.Campaign, ch *rules.Character) {
	v, b := c.Vitals(ch), ch.Body.(*Body)
	near, dead := v.Health.Rank == "Near Death", v.Health.Rank == "Dead"
	rest := b.remainder()
	switch {
	case v.Health.Points < 0 || v.Health.Points > v.Health.Max || v.Health.Penalty > 0:
		rt.Fatalf("%+v", v.Health)
	case rest.Sign() < 0 || rest.Num().Cmp(rest.Denom()) >= 0:
		rt.Fatalf("a remainder of %q", b.Remainder)
	case dead == v.Alive, dead && (v.NextTick != nil || len(v.Conditions) > 0):
		rt.Fatalf("%+v", v)
	case near && !b.has(unconscious), b.has(dying) && !near, b.has(unconscious) && b.stage(c.Options) < Disabled:
		rt.Fatalf("%+v", v)
	case v.NextTick != nil && v.NextTick.Due <= c.Clock:
		rt.Fatalf("a tick was due at %d, and it is %d", v.NextTick.Due, c.Clock)
	case b.points() > 0 && !dead && !near && v.NextTick == nil:
		rt.Fatalf("%+v heals never", v)
	}
	raw, err := json.Marshal(b)
	if err != nil {
		rt.Fatal(err)
	}
	back := System{}.NewBody()
	if err := json.Unmarshal(raw, back, json.RejectUnknownMembers(true)); err != nil {
		rt.Fatal(err)
	}
	if diff := cmp.Diff(any(b), back); diff != "" {
		rt.Fatalf("back from JSON: %s", diff)
	}
}

// story is every record of a table but those of the clock's advances, without
// what depends on how many there were.
func story(tb *rulestest.Table) []string {
	var out []string
	for _, r := range tb.Records {
		if !strings.HasPrefix(r.Type, "clock.") {
			out = append(out, fmt.Sprint(r.Clock, " ", r.Type, " ", string(r.Data)))
		}
	}
	return out
}

// Whatever is played: what is refused changes nothing, nobody acts who cannot,
// vitals stay sane, bodies come back from JSON, the fold of the stored bytes
// equals the live state, and an advance at once and in steps is the same.
func TestScenes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		list := moves(rt)
		whole := scene(rt, t, list, false)
		live := rulestest.Shown(t, whole.State)
		whole.Refold()
		if diff := cmp.Diff(live, rulestest.Shown(t, whole.State)); diff != "" {
			rt.Fatalf("folded anew: %s", diff)
		}
		if diff := cmp.Diff(story(whole), story(scene(rt, t, list, true))); diff != "" {
			rt.Fatalf("at once and in steps: %s", diff)
		}
	})
}

// Deciding leaves the campaign as it was, and decides the same again.
func TestDecideChangesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tb := scene(rt, t, moves(rt), false)
		before := rulestest.Shown(t, tb.State)
		m := moves(rt)[0]
		cmd := tb.Command("gm", m.typ, m.data(tb.State.Characters()))
		a, errA := rules.Decide(tb.State, cmd, new(rulestest.Chains))
		b, errB := rules.Decide(tb.State, cmd, new(rulestest.Chains))
		if fmt.Sprint(errA) != fmt.Sprint(errB) || !cmp.Equal(a, b) {
			rt.Fatalf("%s decides differently the second time", m.typ)
		}
		if after := rulestest.Shown(t, tb.State); after != before {
			rt.Fatalf("%s changed the campaign: %s", m.typ, cmp.Diff(before, after))
		}
	})
}

// The damage through armour is never negative, never more than came, and on
// one scale it is the printed sum.
func TestDamageRelations(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		unit := func(name string) string {
			return rapid.SampledFrom([]string{"1", "5", "1/3", "7/2", "1/12"}).Draw(rt, name)
		}
		size := rapid.SampledFrom([]string{"none", "small", "average", "large"}).Draw(rt, "size")
		armour := Armour{Kind: rapid.SampledFrom([]string{"none", "light", "medium", "heavy"}).Draw(rt, "armour"), Shield: rapid.Bool().Draw(rt, "shield")}
		b := blow{
			relative: rapid.IntRange(1, 14).Draw(rt, "relative"), weapon: &Weapon{Size: size},
			strength: Level(rapid.IntRange(-3, 3).Draw(rt, "strength")), armour: &armour,
		}
		b.attacker, _ = parseUnit("", unit("attacker"))
		b.target, _ = parseUnit("", unit("target"))
		force, _ := b.force()
		rating, err := armour.rating()
		if err != nil {
			rt.Fatal(err)
		}
		damage, lesser, points, err := b.through()
		if err != nil {
			rt.Fatal(err)
		}
		if damage.Stopped < 0 || lesser.Sign() < 0 || points.Sign() < 0 || (points.Sign() == 0) != (lesser.Sign() == 0) {
			rt.Fatalf("%s through, %s points, %d stopped", lesser, points, damage.Stopped)
		}
		b.armour = nil
		_, free, _, _ := b.through()
		if lesser.Cmp(free) > 0 {
			rt.Fatalf("armour adds damage: %s, without %s", lesser, free)
		}
		if b.attacker.Cmp(b.target) == 0 && !(points.IsInt() && whole(points) == int64(max(0, force-rating))) {
			rt.Fatalf("on one scale %s points, want %d", points, max(0, force-rating))
		}
	})
}

// Level names are read back, and nothing else is read.
func FuzzParseLevel(f *testing.F) {
	for _, s := range []string{"Fair", "Superb+4", "Terrible-4", "Superb+99", "good", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if l, err := ParseLevel(s); err == nil && l.String() != s {
			t.Errorf("%q reads as %s", s, l)
		}
	})
}

// Scales are fractions of small whole numbers, never anything that could grow.
func FuzzParseUnit(f *testing.F) {
	for _, s := range []string{"1", "5", "1/3", "1e9", "-1", "0", "1/0", "0x10", "9999/9999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := parseUnit("x", s)
		if err == nil && (u.Sign() <= 0 || len(u.RatString()) > 9) {
			t.Errorf("%q reads as %s", s, u)
		}
	})
}
