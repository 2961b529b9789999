package fudge

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tallystick/events"
	"tallystick/rules"
)

// Medical results by state (FUDGE-55, B8.5): what each heals.
func TestMedicalResults(t *testing.T) {
	for _, row := range []struct {
		points  int // 4 needs a roll to stay conscious first
		medic   string
		outcome string
		margin  int
	}{
		{1, "Superb", "no effect", 2}, // a Scratch needs none
		{2, "Fair", "no effect", -1}, {2, "Good", "heals", 0}, {2, "Superb", "heals", 2},
		{3, "Good", "no effect", -1}, {3, "Great", "heals", 0},
		{4, "Great", "no effect", -1}, {4, "Superb", "heals", 0},
		{5, "Fair", "no effect", -1}, {5, "Good", "stops the dying", 0}, {6, "Superb", "stops the dying", 2},
	} {
		tb := play(t, `{"fudge.treated_days":0}`)
		bob := tb.person("Bob", "npc", `{}`)
		if row.points == 4 {
			tb.hurt(bob, 4, 1, 1)
		} else {
			tb.hurt(bob, row.points)
		}
		facts := tb.do("wound.treat", fmt.Sprintf(`{"character":%q,"level":%q}`, bob, row.medic), 3, 4)
		consistent(t, facts)
		w := one[*events.WoundTreated](t, facts)
		th := throws(t, facts)[0]
		if w.Outcome != row.outcome || th.Outcome != row.outcome || *th.Margin != row.margin {
			t.Errorf("%+v: %s by %d", row, w.Outcome, *th.Margin)
		}
		switch row.outcome {
		case "heals":
			tb.rank(bob, "unhurt", 0)
			tb.conditions(bob)
		case "stops the dying":
			tb.conditions(bob, "unconscious")
			tb.wait("10w")
			tb.rank(bob, "Near Death", row.points) // nobody recovers alone
			tb.no("not_dying", "FUDGE-52", "wound.treat", fmt.Sprintf(`{"character":%q,"level":"Superb"}`, bob))
		}
	}
}

// The two readings of a medical result: by how the character stands, or wound
// by wound, scratches along with them (FUDGE-55).
func TestHealReading(t *testing.T) {
	for _, row := range []struct {
		hitPoints        string
		wounds           []int
		rank, medic      string
		byState, byWound int // points left
	}{
		{"Fair", []int{2, 1}, "Very Hurt", "Good", 3, 0},
		{"Good", []int{4, 1}, "Disabled", "Good", 5, 4}, // one wound Very Hurt by itself
		{"Good", []int{4, 1}, "Disabled", "Great", 5, 0},
		{"Good", []int{1, 4}, "Disabled", "Superb", 0, 0},
		{"Fair", []int{2}, "Hurt", "Fair", 2, 2},
	} {
		for reading, want := range map[string]int{"by_state": row.byState, "per_wound": row.byWound} {
			tb := play(t, fmt.Sprintf(`{"fudge.treated_days":0,"fudge.heal_reading":%q}`, reading))
			bob := tb.person("Bob", "npc", fmt.Sprintf(`{"hit_points":%q}`, row.hitPoints))
			for _, w := range row.wounds {
				tb.hurt(bob, w)
			}
			if got := tb.vitals(bob).Health.Rank; got != row.rank {
				t.Errorf("%+v: %s", row, got)
			}
			tb.do("wound.treat", fmt.Sprintf(`{"character":%q,"level":%q}`, bob, row.medic), 3, 4)
			if got := tb.body(bob).points(); got != want {
				t.Errorf("%+v, %s: %d points are left, want %d", row, reading, got, want)
			}
		}
	}
}

// A Superb result heals a Disabled character, whatever its wounds were by
// themselves.
func TestSuperbHealsAll(t *testing.T) {
	tb := play(t, `{"fudge.treated_days":0,"fudge.heal_reading":"per_wound"}`)
	bob := tb.person("Bob", "npc", `{}`)
	tb.hurt(bob, 5)
	tb.do("heal.grant", fmt.Sprintf(`{"character":%q,"points":1,"cause":"x"}`, bob))
	tb.rank(bob, "Disabled", 4)
	tb.do("wound.treat", fmt.Sprintf(`{"character":%q,"level":"Superb"}`, bob), 3, 4)
	tb.rank(bob, "unhurt", 0)
}

// Near Death runs out after the campaign's minutes, unless somebody tends
// (FUDGE-52); a new wound begins it again.
func TestNearDeathClock(t *testing.T) {
	for option, seconds := range map[string]int64{"5": 300, "1": 60} {
		tb := play(t, `{"fudge.near_death_minutes":`+option+`}`)
		bob := tb.person("Bob", "npc", `{}`)
		tb.wait("1h")
		tb.hurt(bob, 5)
		due := 3600 + seconds
		if v := tb.vitals(bob); v.NextTick.Due != due || v.NextTick.Kind != tickDying {
			t.Errorf("%+v, want %d", v.NextTick, due)
		}
		tb.do("clock.advance", fmt.Sprintf(`{"to":%d}`, due-1))
		if !tb.vitals(bob).Alive {
			t.Fatal("dead too early")
		}
		facts := tb.do("clock.advance", `{"seconds":1}`)
		tick, died := one[*events.TickProcessed](t, facts), one[*events.CharacterDied](t, facts)
		if tick.Rolled || tick.Rule != "FUDGE-52" || died.Rule != "FUDGE-52" || tb.vitals(bob).Alive {
			t.Errorf("%+v %+v", tick, died)
		}
	}
	tb := play(t, "")
	bob := tb.person("Bob", "npc", `{}`)
	tb.hurt(bob, 5)
	tb.do("wound.treat", fmt.Sprintf(`{"character":%q,"level":"Good"}`, bob), 3, 4)
	tb.wait("1h")
	facts := tb.hurt(bob, 1)
	if c := one[*events.ConditionGained](t, facts); c.Condition != dying || c.Until != 3900 {
		t.Errorf("%+v", c)
	}
	// A wound to somebody who is dying already wins no time.
	cid := tb.person("Cid", "npc", `{}`)
	tb.hurt(cid, 5)
	tb.wait("2m")
	none[*events.ConditionGained](t, tb.hurt(cid, 1))
	if v := tb.vitals(cid); v.NextTick.Due != 3900 {
		t.Errorf("%+v", v.NextTick)
	}
}

// Untreated: one wound a week of rest, down to none; unconsciousness ends
// above Disabled (FUDGE-56).
func TestAWeekOfRest(t *testing.T) {
	tb := play(t, "")
	bob := tb.person("Bob", "npc", `{}`)
	tb.hurt(bob, 4, 1, 1)
	tb.conditions(bob, "unconscious")
	tb.do("clock.advance", fmt.Sprintf(`{"seconds":%d}`, week-1))
	tb.rank(bob, "Disabled", 4)
	facts := tb.do("clock.advance", `{"seconds":1}`)
	if tick := one[*events.TickProcessed](t, facts); tick.Change != 1 || tick.Rule != "FUDGE-56" {
		t.Errorf("%+v", tick)
	}
	if e := one[*events.ConditionEnded](t, facts); e.Condition != "unconscious" {
		t.Errorf("%+v", e)
	}
	tb.rank(bob, "Very Hurt", 3)
	tb.wait("2w")
	tb.rank(bob, "Scratch", 1)
	tb.wait("1w")
	tb.rank(bob, "unhurt", 0)
	if v := tb.vitals(bob); v.NextTick != nil || v.Health.Points != v.Health.Max {
		t.Errorf("%+v", v)
	}
}

// A wound or an effort begins the week anew; an effort may reopen what was
// treated (FUDGE-56, FUDGE-57).
func TestStrain(t *testing.T) {
	tb := play(t, "")
	bob := tb.person("Bob", "npc", `{}`)
	tb.no("unhurt", "FUDGE-56", "fudge.strain", fmt.Sprintf(`{"character":%q,"cause":"x"}`, bob))
	tb.hurt(bob, 1)
	tb.wait("6d")
	tb.hurt(bob, 1)
	tb.wait("6d")
	tb.rank(bob, "Hurt", 2)
	tb.do("fudge.strain", fmt.Sprintf(`{"character":%q,"cause":"a march"}`, bob))
	tb.wait("6d")
	tb.rank(bob, "Hurt", 2)
	tb.wait("1d")
	tb.rank(bob, "Scratch", 1)

	tb.hurt(bob, 2)
	tb.do("wound.treat", fmt.Sprintf(`{"character":%q,"level":"Great"}`, bob), 3, 4)
	tb.do("fudge.strain", fmt.Sprintf(`{"character":%q,"cause":"a climb"}`, bob))
	tb.wait("3d")
	tb.rank(bob, "Hurt", 2) // care goes on
	tb.do("fudge.strain", fmt.Sprintf(`{"character":%q,"cause":"a fight","reopens":true}`, bob))
	tb.wait("3d")
	tb.rank(bob, "Hurt", 2)
	tb.wait("4d")
	tb.rank(bob, "Scratch", 1)
}

// Treated wounds take the campaign's days each (FUDGE-57), or none with a
// power; what is treated is not treated twice, and a Scratch that comes later
// heals by rest beside it.
func TestTreatedWounds(t *testing.T) {
	tb := play(t, `{"fudge.treated_days":2}`)
	bob := tb.person("Bob", "npc", `{}`)
	treat := fmt.Sprintf(`{"character":%q,"level":"Great"}`, bob)
	tb.no("unhurt", "FUDGE-55", "wound.treat", treat)
	tb.hurt(bob, 3)
	facts := tb.do("wound.treat", treat, 3, 4)
	if a := one[*HealingAssured](t, facts); a.AtOnce || len(a.Wounds) != 1 || a.Wounds[0] != 1 {
		t.Errorf("%+v", a)
	}
	tb.rank(bob, "Very Hurt", 3)
	tb.no("treated_already", "FUDGE-57", "wound.treat", treat)
	tb.wait("1d")
	tb.hurt(bob, 1, 3, 4)
	for _, step := range []struct {
		by   string
		lost int
	}{{"1d", 3}, {"2d", 2}, {"2d", 1}, {"1d", 1}, {"1d", 0}} {
		tb.wait(step.by)
		if got := tb.body(bob).points(); got != step.lost {
			t.Errorf("day %d: %d points, want %d", tb.State.Clock/day, got, step.lost)
		}
	}
	tb.hurt(bob, 3)
	tb.do("wound.treat", fmt.Sprintf(`{"character":%q,"level":"Great","supernormal":true}`, bob), 3, 4)
	tb.rank(bob, "unhurt", 0)

	usual := play(t, "")
	bob = usual.person("Bob", "npc", `{}`)
	usual.hurt(bob, 2)
	usual.do("wound.treat", fmt.Sprintf(`{"character":%q,"level":"Good"}`, bob), 3, 4)
	usual.wait("3d")
	usual.rank(bob, "Scratch", 1)
	usual.hurt(bob, 2)
	facts = usual.do("wound.treat", fmt.Sprintf(`{"character":%q,"level":"Great"}`, bob), 3, 4)
	if a, w := one[*HealingAssured](t, facts), one[*events.WoundTreated](t, facts); len(a.Wounds) != 1 || a.Wounds[0] != 2 || w.Points != 2 {
		t.Errorf("what is treated already is treated again: %+v, %+v", a, w)
	}
}

// Care and rest each heal wounds of their own (FUDGE-56, FUDGE-57).
func TestCareAndRestSideBySide(t *testing.T) {
	tb := play(t, `{"fudge.treated_days":5,"fudge.heal_reading":"per_wound"}`)
	bob := tb.person("Bob", "npc", `{"hit_points":"Superb"}`)
	left := func(want ...Wound) {
		t.Helper()
		if diff := cmp.Diff(want, tb.body(bob).Wounds); diff != "" {
			t.Errorf("day %d: %s", tb.State.Clock/day, diff)
		}
	}
	tb.hurt(bob, 6)
	tb.hurt(bob, 1, 3, 4)
	tb.do("wound.treat", fmt.Sprintf(`{"character":%q,"level":"Good"}`, bob), 3, 4)
	left(Wound{1, 6, "Very Hurt", false}, Wound{2, 1, "Scratch", true})
	tb.wait("5d")
	left(Wound{1, 6, "Very Hurt", false})
	tb.wait("2d")
	left(Wound{1, 5, "Very Hurt", false})
	tb.do("wound.treat", fmt.Sprintf(`{"character":%q,"level":"Great"}`, bob), 3, 4)
	tb.hurt(bob, 1)
	left(Wound{1, 5, "Very Hurt", true}, Wound{3, 1, "Scratch", false})
	tb.wait("7d")
	left(Wound{1, 4, "Very Hurt", true})
}

// Who cares: a character with a trait, hindered by wounds of its own; or
// somebody the game master speaks for.
func TestMedics(t *testing.T) {
	tb := play(t, "")
	doc := tb.person("Doc", "pc", `{"traits":{"Medicine":"Great"}}`)
	bob := tb.person("Bob", "npc", `{}`)
	tb.hurt(bob, 2)
	tb.hurt(doc, 2)
	data := fmt.Sprintf(`{"character":%q,"by":%q,"trait":"Medicine"}`, bob, doc)
	facts, err := tb.Do(tb.Command("mara", "wound.treat", data, 3, 4))
	if err != nil {
		t.Fatal(err)
	}
	outcome(t, throws(t, facts)[0], "heals", 0, "Good")
	for field, data := range map[string]string{
		"trait": `{"character":%q,"by":%q}`, "level": `{"character":%q,"by":%q,"trait":"Medicine","level":"Good"}`,
	} {
		tb.invalid(field, "wound.treat", fmt.Sprintf(data, doc, doc))
	}
	tb.invalid("level", "wound.treat", fmt.Sprintf(`{"character":%q}`, doc))
	if err := tb.Refused("mara", "wound.treat", fmt.Sprintf(`{"character":%q,"level":"Superb"}`, doc)); err == nil {
		t.Error("a player rolls for a medic of their own making")
	}
	tb.hurt(doc, 2, 3, 4)
	tb.no("disabled", "FUDGE-51", "wound.treat", fmt.Sprintf(`{"character":%q,"by":%q,"trait":"Medicine"}`, doc, doc))
	if treatment, ok := New().Treatment(tb.State.Options, &rules.Character{ID: doc}).(*Treat); !ok || treatment.Level != "Good" {
		t.Errorf("%+v", treatment)
	}
}

// heal.grant is the game master's own hand; never above the maximum (case
// D17), out of Near Death too.
func TestHealGrant(t *testing.T) {
	tb := play(t, "")
	bob := tb.person("Bob", "npc", `{}`)
	grant := func(points int) events.HealGranted {
		t.Helper()
		return *one[*events.HealGranted](t, tb.do("heal.grant", fmt.Sprintf(`{"character":%q,"points":%d,"cause":"a miracle"}`, bob, points)))
	}
	tb.hurt(bob, 2)
	if e := grant(6); e.Points != 2 || e.After.Health.Points != 7 || e.After.Health.Max != 7 {
		t.Errorf("%+v", e)
	}
	if e := grant(1); e.Points != 0 {
		t.Errorf("%+v", e)
	}
	tb.hurt(bob, 6)
	grant(1)
	tb.conditions(bob, "unconscious", "dying")
	grant(1)
	tb.rank(bob, "Disabled", 4)
	tb.conditions(bob, "unconscious")
	if v := tb.vitals(bob); v.NextTick.Kind != tickRest || v.NextTick.Due != week {
		t.Errorf("%+v", v.NextTick)
	}
	tb.do("fudge.wake", fmt.Sprintf(`{"character":%q}`, bob))
	tb.conditions(bob)
	tb.no("conscious", "FUDGE-51", "fudge.wake", fmt.Sprintf(`{"character":%q}`, bob))
	tb.do("heal.grant", fmt.Sprintf(`{"character":%q,"level":"Hurt","cause":"a miracle"}`, bob))
	tb.rank(bob, "Hurt", 2)
	tb.no("no_better", "FUDGE-39", "heal.grant", fmt.Sprintf(`{"character":%q,"level":"Hurt","cause":"x"}`, bob))
	tb.invalid("points", "heal.grant", fmt.Sprintf(`{"character":%q,"cause":"x"}`, bob))
	tb.hurt(bob, 3)
	tb.no("near_death", "FUDGE-52", "fudge.wake", fmt.Sprintf(`{"character":%q}`, bob))
	tb.refold()
}

// A fraction of a point heals with the week after the last whole one, by the
// game master's hand, or with the wounds that care heals (FUDGE-63).
func TestFractionsHeal(t *testing.T) {
	scratched := func(options string) (table, string) {
		tb := play(t, options)
		knight := tb.person("Wilbur", "pc", `{"traits":{"Sword":"Great"},"strength":"Great","weapons":{"sword":{"size":"large","sharp":true}}}`)
		dragon := tb.person("Smok", "npc", `{"traits":{"Claws":"Fair"},"armour":{"value":2,"scale":"lesser"},"scale":{"hit_points":"5"}}`)
		for range 3 {
			tb.do("attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"trait":"Sword","weapon":"sword","defence":{"trait":"Claws"}}`, knight, dragon), 4, 5, 3, 4)
		}
		tb.rank(dragon, "Hurt", 2)
		return tb, dragon
	}
	tb, dragon := scratched("")
	tb.wait("2w")
	if b := tb.body(dragon); b.points() != 0 || b.Remainder != "2/5" {
		t.Errorf("%d and %s", b.points(), b.Remainder)
	}
	facts := tb.do("clock.advance", `{"by":"1w"}`)
	if tick := one[*events.TickProcessed](t, facts); tick.Change != 0 || tb.body(dragon).Remainder != "" || tb.vitals(dragon).NextTick != nil {
		t.Errorf("%+v, %q left", tick, tb.body(dragon).Remainder)
	}
	tb, dragon = scratched("")
	tb.do("heal.grant", fmt.Sprintf(`{"character":%q,"points":2,"cause":"x"}`, dragon))
	if got := tb.body(dragon).Remainder; got != "2/5" {
		t.Errorf("remainder %q", got)
	}
	tb.do("heal.grant", fmt.Sprintf(`{"character":%q,"points":1,"cause":"x"}`, dragon))
	if got := tb.body(dragon).Remainder; got != "" {
		t.Errorf("remainder %q", got)
	}
	tb, dragon = scratched(`{"fudge.treated_days":0}`)
	tb.do("wound.treat", fmt.Sprintf(`{"character":%q,"level":"Good"}`, dragon), 3, 4)
	if b := tb.body(dragon); b.points() != 0 || b.Remainder != "" {
		t.Errorf("%d and %q", b.points(), b.Remainder)
	}
	tb, dragon = scratched("")
	tb.do("heal.grant", fmt.Sprintf(`{"character":%q,"level":"unhurt","cause":"x"}`, dragon))
	if b := tb.body(dragon); b.points() != 0 || b.Remainder != "" {
		t.Errorf("unhurt with %d and %q", b.points(), b.Remainder)
	}
	tb, dragon = scratched(`{"fudge.treated_days":0,"fudge.heal_reading":"per_wound"}`)
	tb.do("heal.grant", fmt.Sprintf(`{"character":%q,"points":1,"cause":"x"}`, dragon))
	tb.hurt(dragon, 3, 3, 4) // Disabled, by a wound that Good does not heal
	tb.do("wound.treat", fmt.Sprintf(`{"character":%q,"level":"Good"}`, dragon), 3, 4)
	if b := tb.body(dragon); b.points() != 3 || b.Remainder != "2/5" {
		t.Errorf("%d and %q are left, want 3 and 2/5", b.points(), b.Remainder)
	}
}
