package fudge

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tallystick/events"
)

const fencer = `{"traits":{"Sword":"Fair","Dodge":"Good","Bow":"Good"},"weapons":{"sword":{"size":"average","sharp":true},"bow":{"size":"average"},"rock":{"size":"small"},"gun":{"strength":1}}}`

// fencers are two of them; Bob's sword is at a level.
func fencers(t *testing.T, options, bobs string) (tb table, ann, bob string) {
	t.Helper()
	tb = play(t, options)
	ann = tb.person("Ann", "pc", fencer)
	bob = tb.person("Bob", "npc", fmt.Sprintf(`{"traits":{"Sword":%q,"Dodge":"Good","Bow":"Good"},"weapons":{"sword":{"size":"average","sharp":true},"gun":{"strength":1}}}`, bobs))
	return tb, ann, bob
}

func (tb table) melee(a, b, stanceA, stanceB string, faces ...int) []events.Fact {
	tb.t.Helper()
	return tb.do("attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"trait":"Sword","weapon":"sword","stance":%q,"defence":{"trait":"Sword","weapon":"sword","stance":%q}}`, a, b, stanceA, stanceB), faces...)
}

// Melee: a tie is a stand-off, the winner hurts the loser, and stances change
// who can be hurt (FUDGE-21, FUDGE-23 to FUDGE-26; case D18).
func TestMelee(t *testing.T) {
	for _, row := range []struct {
		name, bob, stanceA, stanceB string
		faces                       []int
		outcome                     string
		margin                      int
		lostA, lostB                int // with a sharp sword: margin + 1
	}{
		{"stand-off", "Fair", "normal", "normal", []int{3, 4, 3, 4}, "stand-off", 0, 0, 0},
		{"the attacker wins", "Fair", "normal", "normal", []int{4, 5, 3, 4}, "wins", 1, 0, 2},
		{"the target wins", "Fair", "normal", "normal", []int{3, 4, 4, 5}, "loses", -1, 2, 0},
		{"all-out offence", "Fair", "offence", "normal", []int{3, 4, 3, 4}, "wins", 1, 0, 2},
		{"the berserker loses a tie by two", "Good", "offence", "normal", []int{3, 4, 3, 4}, "loses", -2, 3, 0},
		{"so does one who was attacked", "Mediocre", "normal", "offence", []int{3, 4, 3, 4}, "wins", 2, 0, 3},
		{"two berserkers stand off", "Fair", "offence", "offence", []int{3, 4, 3, 4}, "stand-off", 0, 0, 0},
		{"all-out defence does no damage", "Fair", "defence", "normal", []int{3, 4, 3, 4}, "wins", 1, 0, 0},
		{"unless the foe fumbles", "Fair", "defence", "normal", []int{3, 4, 1, 1}, "wins", 5, 0, 6},
		{"defence of who is attacked", "Fair", "normal", "defence", []int{3, 4, 3, 4}, "loses", -1, 0, 0},
		{"a fumble against it", "Fair", "normal", "defence", []int{1, 1, 3, 4}, "loses", -5, 6, 0},
		{"the defender can be hurt", "Great", "defence", "normal", []int{3, 4, 3, 4}, "loses", -1, 2, 0},
		{"a berserker ties a defender", "Fair", "offence", "defence", []int{3, 4, 3, 4}, "loses", -2, 0, 0},
		{"two defenders", "Fair", "defence", "defence", []int{4, 5, 3, 4}, "wins", 1, 0, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			tb, ann, bob := fencers(t, "", row.bob)
			facts := tb.melee(ann, bob, row.stanceA, row.stanceB, row.faces...)
			consistent(t, facts)
			th := throws(t, facts)
			if th[0].Outcome != row.outcome || *th[0].Margin != row.margin || *th[1].Margin != -row.margin {
				t.Errorf("got %s by %d and %d, want %s by %d", th[0].Outcome, *th[0].Margin, *th[1].Margin, row.outcome, row.margin)
			}
			if a, b := tb.body(ann).points(), tb.body(bob).points(); a != row.lostA || b != row.lostB {
				t.Errorf("lost %d and %d, want %d and %d", a, b, row.lostA, row.lostB)
			}
		})
	}
}

// A round is as long as the game master says (FUDGE-22): blows and shots move
// no clock, and any span may pass between them.
func TestRoundsHaveNoLength(t *testing.T) {
	tb, ann, bob := fencers(t, "", "Fair")
	for _, round := range []int64{0, 3, 3, 60} {
		before := tb.State.Clock
		tb.melee(ann, bob, "normal", "normal", 3, 4, 3, 4)
		tb.do("attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"mode":"thrown","trait":"Bow","weapon":"rock","defence":{"trait":"Dodge"}}`, ann, bob), 3, 4, 3, 4)
		if tb.State.Clock != before {
			t.Errorf("fighting took %d seconds", tb.State.Clock-before)
		}
		if round > 0 {
			tb.do("clock.advance", fmt.Sprintf(`{"seconds":%d}`, round))
		}
	}
	if tb.State.Clock != 66 {
		t.Errorf("clock at %d, want 66", tb.State.Clock)
	}
}

// By margin, a foe four levels behind loses critically too (FUDGE-15,
// FUDGE-25).
func TestDefenceAgainstCriticalMargin(t *testing.T) {
	for option, lost := range map[string]int{"false": 0, "true": 5} {
		tb, ann, bob := fencers(t, `{"fudge.critical_margin":`+option+`}`, "Terrible")
		tb.melee(ann, bob, "defence", "normal", 3, 4, 3, 4)
		if got := tb.body(bob).points(); got != lost {
			t.Errorf("%s: lost %d, want %d", option, got, lost)
		}
	}
}

// A blow that disables asks for the roll to stay conscious; in an exchange of
// shots it does so once all have fallen (FUDGE-51).
func TestBlowThatDisables(t *testing.T) {
	tb, ann, bob := fencers(t, "", "Fair")
	facts := tb.melee(ann, bob, "normal", "normal", 6, 6, 4, 5, 1, 1)
	consistent(t, facts)
	if th := throws(t, facts); len(th) != 3 || th[2].Character != bob || th[2].Outcome != "falls unconscious" {
		t.Errorf("%d throws", len(th))
	}
	tb.rank(bob, "Disabled", 4)
	tb.conditions(bob, "unconscious")
	tb, ann, bob = fencers(t, "", "Fair")
	facts = tb.do("attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"mode":"propelled","trait":"Bow","weapon":"gun","defence":{"trait":"Dodge"},
		"returns":{"mode":"propelled","trait":"Bow","weapon":"gun","defence":{"trait":"Dodge"}}}`, ann, bob), 4, 6, 3, 4, 4, 6, 3, 4, 3, 4, 1, 1)
	tb.conditions(bob)
	tb.conditions(ann, "unconscious")
	if th := throws(t, facts); len(th) != 6 || th[4].Character != bob || th[5].Character != ann {
		t.Errorf("%d throws", len(th))
	}
}

// What a wound in the ledger says: who, with what, why so much.
func TestWoundSaysWhereItComesFrom(t *testing.T) {
	tb := play(t, "")
	ann := tb.person("Ann", "pc", fencer)
	bob := tb.person("Bob", "npc", `{"traits":{"Sword":"Fair"},"armour":{"kind":"light","shield":true}}`)
	facts := tb.melee2(ann, bob, 6, 5, 3, 4)
	w := one[*events.WoundInflicted](t, facts)
	if w.Points != 2 || w.By != ann || w.Weapon != "sword" || w.Absorbed != 2 || w.Level != "Hurt" || w.Cause != "sword of Ann" || w.Wound != 1 {
		t.Errorf("%+v", w)
	}
	d := detail(t, throws(t, facts)[0]).Damage
	want := []events.Modifier{
		{Label: "relative degree", Value: 3, Rule: "FUDGE-42"}, {Label: "average weapon", Value: 0, Rule: "FUDGE-45"},
		{Label: "sharp weapon", Value: 1, Rule: "FUDGE-45"}, {Label: "Fair Strength", Value: 0, Rule: "FUDGE-46"},
		{Label: "armour", Value: -1, Rule: "FUDGE-43"}, {Label: "good shield", Value: -1, Rule: "FUDGE-44"},
	}
	if d == nil || d.Points != "2" || !slices.Equal(d.Factors, want) {
		t.Errorf("damage %+v, want %+v", d, want)
	}
}

func (tb table) melee2(a, b string, faces ...int) []events.Fact {
	tb.t.Helper()
	return tb.do("attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"trait":"Sword","weapon":"sword","defence":{"trait":"Sword"}}`, a, b), faces...)
}

// Damage below zero is no damage, and never heals (FUDGE-42; case D17).
func TestDamageIsNeverNegative(t *testing.T) {
	tb := play(t, "")
	weak := tb.person("Weak", "npc", `{"traits":{"Brawling":"Good"},"strength":"Terrible"}`)
	tank := tb.person("Tank", "npc", `{"traits":{"Brawling":"Fair"},"armour":{"kind":"heavy","shield":true}}`)
	tb.hurt(tank, 2)
	facts := tb.do("attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"trait":"Brawling","defence":{"trait":"Brawling"}}`, weak, tank), 3, 4, 3, 4)
	none[*events.WoundInflicted](t, facts)
	tb.rank(tank, "Hurt", 2)
	if d := detail(t, throws(t, facts)[0]).Damage; d == nil || d.Points != "0" || d.Stopped != 0 {
		t.Errorf("damage %+v", d)
	}
}

// Blows without a weapon: -2, or -1 with a martial art of Fair (FUDGE-45).
func TestBareHands(t *testing.T) {
	for sheet, want := range map[string]int{`{}`: 2, `{"martial_art":"Mediocre"}`: 2, `{"martial_art":"Fair"}`: 3} {
		tb := play(t, "")
		a := tb.person("Ann", "pc", sheet)
		b := tb.person("Bob", "npc", `{}`)
		tb.do("attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"trait":"Brawling","defence":{"trait":"Brawling"}}`, a, b), 6, 6, 3, 4)
		if got := tb.body(b).points(); got != want {
			t.Errorf("%s: %d points, want %d", sheet, got, want)
		}
	}
}

// The tables of B8.4-b row by row, as an attack reads them that is won by four
// (FUDGE-43 to FUDGE-47).
func TestDamageTables(t *testing.T) {
	const thing, blunt = `"weapons":{"x":%s}`, `{"modifier":0}`
	for _, row := range []struct {
		attacker, weapon, target string
		want                     int
	}{
		{``, `{"size":"none"}`, ``, 2}, {`"martial_art":"Poor",`, `{"size":"martial art"}`, ``, 2}, {`"martial_art":"Great",`, `{"size":"none"}`, ``, 3},
		{``, `{"size":"small"}`, ``, 3}, {``, `{"size":"average"}`, ``, 4}, {``, `{"size":"large"}`, ``, 5},
		{``, `{"size":"small","sharp":true}`, ``, 4}, {``, `{"size":"large","sharp":true}`, ``, 6}, {``, `{"modifier":-3}`, ``, 1},
		{`"strength":"Terrible",`, blunt, ``, 2}, {`"strength":"Poor",`, blunt, ``, 3}, {`"strength":"Mediocre",`, blunt, ``, 4}, {`"strength":"Fair",`, blunt, ``, 4},
		{`"strength":"Good",`, blunt, ``, 4}, {`"strength":"Great",`, blunt, ``, 5}, {`"strength":"Superb",`, blunt, ``, 6},
		{``, blunt, `"armour":{"kind":"none"}`, 4}, {``, blunt, `"armour":{"kind":"light"}`, 3}, {``, blunt, `"armour":{"kind":"medium"}`, 2}, {``, blunt, `"armour":{"kind":"heavy"}`, 1},
		{``, blunt, `"armour":{"kind":"sf","value":4}`, 0}, {``, blunt, `"armour":{"value":2}`, 2}, {``, blunt, `"armour":{"shield":true}`, 3}, {``, blunt, `"armour":{"kind":"medium","shield":true}`, 1},
		{`"strength":"Superb",`, `{"strength":1,"modes":["melee"]}`, ``, 5}, {`"strength":"Terrible",`, `{"strength":-1,"modes":["melee"]}`, ``, 3}, {``, `{"strength":0,"modes":["melee"]}`, `"armour":{"kind":"light"}`, 3},
	} {
		tb := play(t, "")
		a := tb.person("Ann", "pc", "{"+row.attacker+fmt.Sprintf(thing, row.weapon)+"}")
		b := tb.person("Bob", "npc", `{"traits":{"Brawling":"Poor"},"hit_points":"Superb"`+strings.TrimSuffix(","+row.target, ",")+"}")
		tb.do("attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"trait":"Brawling","weapon":"x","defence":{"trait":"Brawling"}}`, a, b), 6, 6, 3, 4)
		if got := tb.body(b).points(); got != row.want {
			t.Errorf("%s %s on %s: %d points, want %d", row.attacker, row.weapon, row.target, got, row.want)
		}
	}
}

// Shots at an unaware target are unopposed; a match hits by 0 and does
// damage only where the campaign plays so (FUDGE-29; case D18).
func TestUnawareTarget(t *testing.T) {
	for _, row := range []struct {
		option, difficulty string
		outcome            string
		margin, lost       int
	}{
		{"none", "Mediocre", "hits", 2, 3}, {"none", "Great", "misses", -1, 0}, {"none", "Good", "hits", 0, 0},
		{"modifiers", "Good", "hits", 0, 1}, {"modifiers", "Great", "misses", -1, 0}, {"none", "Terrible", "hits", 4, 5},
	} {
		tb, ann, bob := fencers(t, fmt.Sprintf(`{"fudge.match_hit":%q}`, row.option), "Fair")
		faces := []int{3, 4}
		facts := tb.do("attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"mode":"propelled","trait":"Bow","weapon":"gun","unaware":true,"difficulty":%q}`, ann, bob, row.difficulty), faces...)
		consistent(t, facts)
		th := throws(t, facts)
		if len(th) != 1 || th[0].Outcome != row.outcome || *th[0].Margin != row.margin || tb.body(bob).points() != row.lost {
			t.Errorf("%+v: %s by %d, %d lost", row, th[0].Outcome, *th[0].Margin, tb.body(bob).points())
		}
	}
	tb, ann, bob := fencers(t, "", "Fair")
	shot := `{"attacker":%q,"target":%q,"mode":"thrown","trait":"Bow","weapon":"rock",%s}`
	tb.no("range_belongs_to_the_task", "FUDGE-29", "attack", fmt.Sprintf(shot, ann, bob, `"unaware":true,"modifiers":[{"label":"far","value":-1,"about":"range"}]`))
	tb.do("attack", fmt.Sprintf(shot, ann, bob, `"unaware":true,"modifiers":[{"label":"scope","value":1,"about":"equipment"}]`), 3, 4)
	tb.no("unaware_does_not_defend", "FUDGE-29", "attack", fmt.Sprintf(shot, ann, bob, `"unaware":true,"defence":{"trait":"Dodge"}`))
	tb.no("unaware_does_not_defend", "FUDGE-29", "attack", fmt.Sprintf(shot, ann, bob, `"unaware":true,"returns":{"mode":"thrown","trait":"Bow","defence":{"trait":"Dodge"}}`))
	tb.no("task_is_for_unaware", "FUDGE-30", "attack", fmt.Sprintf(shot, ann, bob, `"difficulty":"Good","defence":{"trait":"Dodge"}`))
	tb.no("not_propelled", "FUDGE-31", "attack", fmt.Sprintf(shot, ann, bob, `"propelled_penalty":2,"defence":{"trait":"Dodge"}`))
	tb.no("stance_is_for_melee", "FUDGE-24", "attack", fmt.Sprintf(shot, ann, bob, `"stance":"offence","defence":{"trait":"Dodge"}`))
	tb.no("stance_is_for_melee", "FUDGE-24", "attack", fmt.Sprintf(shot, ann, bob, `"defence":{"trait":"Dodge","stance":"defence"}`))
	tb.invalid("defence", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"mode":"thrown","trait":"Bow"}`, ann, bob))
}

// What needs no roll hits an unaware target whatever the dice say, which is
// only by how much (FUDGE-4); what has no chance is not rolled where the
// campaign plays so (FUDGE-6).
func TestCertainShots(t *testing.T) {
	for _, row := range []struct {
		difficulty string
		faces      []int
		outcome    string
		margin     int
	}{
		{"Terrible", []int{1, 1}, "hits", 0}, {"Terrible", []int{1, 3}, "hits", 0}, {"Terrible", []int{3, 4}, "hits", 1},
		{"Poor", []int{1, 1}, "misses", -4},
	} {
		tb, ann, bob := fencers(t, "", "Fair")
		shot := `{"attacker":%q,"target":%q,"mode":"propelled","trait":"Guns","weapon":"gun","unaware":true,"difficulty":%q}` // untrained: Poor
		facts := tb.do("attack", fmt.Sprintf(shot, ann, bob, row.difficulty), row.faces...)
		consistent(t, facts)
		if th := throws(t, facts)[0]; th.Outcome != row.outcome || *th.Margin != row.margin {
			t.Errorf("%+v: %s by %d", row, th.Outcome, *th.Margin)
		}
		if lost := tb.body(bob).points(); lost != max(0, 2*row.margin) { // and a gun of +1
			t.Errorf("%+v: %d points lost", row, lost)
		}
	}
	tb, ann, bob := fencers(t, `{"fudge.skip_certain_rolls":true}`, "Fair")
	facts := tb.do("attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"mode":"propelled","trait":"Guns","weapon":"gun","unaware":true,"difficulty":"Superb"}`, ann, bob))
	if e := one[*RollSkipped](t, facts); e.Outcome != "failure" || e.Rule != "FUDGE-6" || len(facts) != 1 {
		t.Errorf("%+v", e)
	}
}

// Aware targets defend; against propelled weapons at -1 or -2 (FUDGE-30,
// FUDGE-31). A target that avoids the shot hurts nobody.
func TestAwareTarget(t *testing.T) {
	for _, row := range []struct {
		option, mode, penalty string
		faces                 []int
		margin, lost          int
	}{
		{"1", "thrown", "", []int{3, 4, 3, 4}, 0, 0},
		{"1", "propelled", "", []int{3, 4, 3, 4}, 1, 2},
		{"2", "propelled", "", []int{3, 4, 3, 4}, 2, 3},
		{"2", "propelled", `"propelled_penalty":1,`, []int{3, 4, 3, 4}, 1, 2},
		{"1", "propelled", `"propelled_penalty":2,`, []int{3, 4, 3, 4}, 2, 3},
		{"1", "thrown", "", []int{3, 4, 6, 6}, -4, 0},
	} {
		tb, ann, bob := fencers(t, `{"fudge.propelled_penalty":`+row.option+`}`, "Fair")
		facts := tb.do("attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"mode":%q,%s"trait":"Bow","weapon":"gun","defence":{"trait":"Dodge"}}`, ann, bob, row.mode, row.penalty), row.faces...)
		consistent(t, facts)
		if th := throws(t, facts); *th[0].Margin != row.margin || tb.body(bob).points() != row.lost || tb.body(ann).points() != 0 {
			t.Errorf("%+v: by %d, %d lost", row, *th[0].Margin, tb.body(bob).points())
		}
	}
}

// Two shots of one moment are both rolled before either hurts (FUDGE-27); in
// turn, the first wound weighs on the answer.
func TestShotsTogetherAndInTurn(t *testing.T) {
	tb, ann, bob := fencers(t, "", "Fair")
	facts := tb.do("attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"mode":"propelled","trait":"Bow","weapon":"gun","defence":{"trait":"Dodge"},
		"returns":{"mode":"propelled","trait":"Bow","weapon":"gun","defence":{"trait":"Dodge"}}}`, ann, bob), 3, 4, 3, 4, 3, 4, 3, 4)
	consistent(t, facts)
	if th := throws(t, facts); len(th) != 4 || *th[2].Margin != 1 {
		t.Errorf("%d throws, the answer by %d", len(th), *th[2].Margin)
	}
	tb.rank(ann, "Hurt", 2)
	tb.rank(bob, "Hurt", 2)

	turns, ann, bob := fencers(t, "", "Fair")
	shot := `{"attacker":%q,"target":%q,"mode":"propelled","trait":"Bow","weapon":"gun","defence":{"trait":"Dodge"}}`
	turns.do("attack", fmt.Sprintf(shot, ann, bob), 3, 4, 3, 4)
	th := throws(t, turns.do("attack", fmt.Sprintf(shot, bob, ann), 3, 4, 3, 4))
	if *th[0].Margin != 0 {
		t.Errorf("the wounded answer by %d, want 0", *th[0].Margin)
	}
}

// B9.2: Wilbur and the dragon, Sheba and McMurtree, Fionn's shillelagh.
func TestBeingsOfOtherScales(t *testing.T) {
	tb := play(t, "")
	tb.do("setting.define", `{"reason":"beings","setting":{"scales":{"dragon":{"hit_points":"5"},"wee folk":{"hit_points":"1/3"}}}}`)
	wilbur := tb.person("Wilbur", "pc", `{"traits":{"Sword":"Great"},"strength":"Great","weapons":{"two-handed sword":{"size":"large","sharp":true}}}`)
	dragon := tb.person("Smok", "npc", `{"traits":{"Claws":"Fair"},"armour":{"value":2,"scale":"lesser"},"scale":{"kind":"dragon"}}`)
	blow := fmt.Sprintf(`{"attacker":%q,"target":%q,"trait":"Sword","weapon":"two-handed sword","defence":{"trait":"Claws"}}`, wilbur, dragon)
	for i, want := range []struct {
		rank, remainder string
		lost, penalty   int
		faces           []int
	}{
		{"unhurt", "4/5", 0, 0, []int{4, 5, 3, 4}},
		{"Scratch", "3/5", 1, 0, []int{4, 5, 3, 4}},
		{"Hurt", "2/5", 2, -1, []int{4, 5, 3, 4}},
	} {
		facts := tb.do("attack", blow, want.faces...)
		if d := detail(t, throws(t, facts)[0]).Damage; d == nil || d.Lesser != "4" || d.Points != "4/5" {
			t.Errorf("blow %d: damage %+v", i+1, d)
		}
		tb.rank(dragon, want.rank, want.lost)
		if b := tb.body(dragon); b.Remainder != want.remainder {
			t.Errorf("blow %d: remainder %s, want %s", i+1, b.Remainder, want.remainder)
		}
		if p := tb.vitals(dragon).Health.Penalty; p != want.penalty {
			t.Errorf("blow %d: penalty %d, want %d", i+1, p, want.penalty)
		}
	}

	sheba := tb.person("Sheba", "pc", `{"traits":{"Unarmed Combat":"Good"},"weapons":{"hard boots":{"modifier":0}},"armour":{"kind":"light"}}`)
	wee := `{"traits":{"Shillelagh":"Fair"},"strength":"Good","weapons":{"shillelagh":{"size":"average"}},"armour":{"kind":%q},"scale":{"kind":"wee folk"}}`
	mcmurtree := tb.person("McMurtree", "npc", fmt.Sprintf(wee, "light"))
	fionn := tb.person("Fionn", "npc", fmt.Sprintf(wee, "heavy"))
	kick := `{"attacker":%q,"target":%q,"trait":"Unarmed Combat","weapon":"hard boots","defence":{"trait":"Shillelagh"}}`
	tb.do("attack", fmt.Sprintf(kick, sheba, mcmurtree), 3, 4, 3, 4)
	tb.rank(mcmurtree, "Hurt", 2)
	tb.do("attack", fmt.Sprintf(kick, sheba, fionn), 3, 4, 3, 4)
	tb.rank(fionn, "unhurt", 0)
	swing := fmt.Sprintf(`{"attacker":%q,"target":%q,"trait":"Shillelagh","weapon":"shillelagh","defence":{"trait":"Unarmed Combat"}}`, fionn, sheba)
	facts := tb.do("attack", swing, 6, 6, 3, 4) // Fair+4 against Good: by 3
	if m := *throws(t, facts)[0].Margin; m != 3 {
		t.Fatalf("won by %d, want 3", m)
	}
	tb.rank(sheba, "unhurt", 0)
	tb.refold()
}

// In the subjective system attacks only roll, and the game master announces
// how hurt the loser is (FUDGE-38, FUDGE-39).
func TestSubjectiveDamage(t *testing.T) {
	tb, ann, bob := fencers(t, `{"fudge.damage":"subjective"}`, "Fair")
	facts := tb.melee(ann, bob, "normal", "normal", 6, 6, 3, 4)
	if len(facts) != 1 || detail(t, throws(t, facts)[0]).Damage != nil {
		t.Errorf("%d facts", len(facts))
	}
	say := func(level string) []events.Fact {
		t.Helper()
		return tb.do("wound.inflict", fmt.Sprintf(`{"character":%q,"level":%q,"cause":"sword of Ann"}`, bob, level))
	}
	say("Hurt")
	tb.rank(bob, "Hurt", 2)
	say("Scratch")
	tb.rank(bob, "Hurt", 2)
	say("Disabled") // no roll to stay conscious: that is of the other system
	tb.rank(bob, "Disabled", 4)
	tb.conditions(bob)
	say("Near Death")
	tb.conditions(bob, "unconscious", "dying")
	one[*events.CharacterDied](t, say("Dead"))
	tb.no("no_points_in_subjective_damage", "FUDGE-39", "wound.inflict", fmt.Sprintf(`{"character":%q,"points":1,"cause":"x"}`, ann))
	tb.invalid("points", "wound.inflict", fmt.Sprintf(`{"character":%q,"cause":"x"}`, ann))
	tb.invalid("points", "wound.inflict", fmt.Sprintf(`{"character":%q,"points":1,"level":"Hurt","cause":"x"}`, ann))
	very := tb.do("wound.inflict", fmt.Sprintf(`{"character":%q,"level":"Very Hurt","cause":"x"}`, ann))
	none[*events.ConditionGained](t, very)
	if th := throws(t, tb.do("check", fmt.Sprintf(`{"character":%q,"trait":"Bow","unaffected":true}`, ann), 3, 4)); th[0].Total != 1 {
		t.Errorf("total %d: the traits that are not affected keep their level", th[0].Total)
	}
}

// A number of scratches may equal Hurt (FUDGE-40).
func TestScratchesAddUp(t *testing.T) {
	for option, want := range map[string]string{"0": "Scratch", "3": "Hurt", "4": "Scratch"} {
		tb := play(t, `{"fudge.damage":"subjective","fudge.scratches_to_hurt":`+option+`}`)
		bob := tb.person("Bob", "npc", `{}`)
		for range 3 {
			tb.do("wound.inflict", fmt.Sprintf(`{"character":%q,"level":"Scratch","cause":"thorns"}`, bob))
		}
		if got := tb.vitals(bob).Health.Rank; got != want {
			t.Errorf("%s: three scratches are %s, want %s", option, got, want)
		}
		tb.do("heal.grant", fmt.Sprintf(`{"character":%q,"level":"unhurt","cause":"x"}`, bob))
		tb.do("wound.inflict", fmt.Sprintf(`{"character":%q,"level":"Scratch","cause":"thorns"}`, bob))
		tb.rank(bob, "Scratch", 1) // those that healed do not count
		ann := tb.person("Ann", "npc", `{}`)
		tb.do("wound.inflict", fmt.Sprintf(`{"character":%q,"level":"Very Hurt","cause":"thorns"}`, ann))
		for range 3 { // nothing that is not there already
			one[*events.WoundInflicted](t, tb.do("wound.inflict", fmt.Sprintf(`{"character":%q,"level":"Scratch","cause":"thorns"}`, ann)))
		}
		tb.rank(ann, "Very Hurt", 3)
	}
	// Those that have become Hurt are used up.
	tb := play(t, `{"fudge.damage":"subjective","fudge.scratches_to_hurt":2}`)
	bob := tb.person("Bob", "npc", `{}`)
	for _, want := range []string{"Scratch", "Hurt", "Scratch", "Hurt"} {
		tb.do("wound.inflict", fmt.Sprintf(`{"character":%q,"level":"Scratch","cause":"thorns"}`, bob))
		if got := tb.vitals(bob).Health.Rank; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if want == "Hurt" {
			tb.do("heal.grant", fmt.Sprintf(`{"character":%q,"level":"Scratch","cause":"x"}`, bob))
		}
	}
}

// A weapon is held against the way it is used (FUDGE-28): by its rating, or by
// the modes that are written down for it.
func TestWaysToUseAWeapon(t *testing.T) {
	tb := play(t, "")
	ann := tb.person("Ann", "npc", `{"weapons":{"sword":{"size":"average","sharp":true},"bow":{"size":"average"},"big gun":{"strength":8},"grenade":{"strength":4},
		"fists":{"size":"martial art"},"boots":{"modifier":0},"sword of light":{"strength":5,"modes":["melee"]},"barbed bow":{"size":"average","sharp":true,"modes":["propelled"]}}}`)
	bob := tb.person("Bob", "npc", `{"weapons":{"big gun":{"strength":8}}}`)
	use := map[string]string{
		"melee":     `{"attacker":%q,"target":%q,"trait":"Sword","weapon":%q,"defence":{"trait":"Sword"}}`,
		"thrown":    `{"attacker":%q,"target":%q,"mode":"thrown","trait":"Bow","weapon":%q,"defence":{"trait":"Dodge"}}`,
		"propelled": `{"attacker":%q,"target":%q,"mode":"propelled","trait":"Bow","weapon":%q,"unaware":true}`,
	}
	faces := map[string][]int{"melee": {3, 4, 3, 4}, "thrown": {3, 4, 3, 4}, "propelled": {1, 1}} // nobody is hurt
	for _, row := range []struct {
		weapon string
		modes  []string
	}{
		{"sword", []string{"melee", "thrown"}}, {"bow", []string{"melee", "thrown", "propelled"}}, {"big gun", []string{"thrown", "propelled"}},
		{"fists", []string{"melee"}}, {"boots", []string{"melee", "thrown", "propelled"}},
		{"sword of light", []string{"melee"}}, {"barbed bow", []string{"propelled"}},
	} {
		for mode, data := range use {
			data = fmt.Sprintf(data, ann, bob, row.weapon)
			if slices.Contains(row.modes, mode) {
				tb.do("attack", data, faces[mode]...)
			} else {
				tb.no("not_a_"+mode+"_weapon", "FUDGE-28", "attack", data)
			}
		}
	}
	for _, data := range []string{
		`{"attacker":%q,"target":%q,"mode":"propelled","trait":"Bow","defence":{"trait":"Dodge"}}`,
		`{"attacker":%q,"target":%q,"mode":"thrown","trait":"Bow","unaware":true}`,
		`{"attacker":%q,"target":%q,"mode":"thrown","trait":"Bow","weapon":"grenade","defence":{"trait":"Dodge"},"returns":{"mode":"thrown","trait":"Bow","defence":{"trait":"Dodge"}}}`,
	} {
		tb.no("bare_hands_are_for_melee", "FUDGE-28", "attack", fmt.Sprintf(data, ann, bob))
	}
	tb.no("not_a_melee_weapon", "FUDGE-28", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"trait":"Sword","weapon":"sword","defence":{"trait":"Sword","weapon":"big gun"}}`, ann, bob))
	tb.no("not_a_melee_weapon", "FUDGE-28", "fudge.brawl", fmt.Sprintf(`{"lone":{"character":%q,"trait":"Sword"},"foes":[{"character":%q,"trait":"Sword","weapon":"big gun"}]}`, ann, bob))
	tb.no("unaware_does_not_defend", "FUDGE-31", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"mode":"propelled","trait":"Bow","weapon":"bow","unaware":true,"propelled_penalty":2}`, ann, bob))
	tb.no("not_propelled", "FUDGE-31", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"mode":"thrown","trait":"Bow","weapon":"grenade","defence":{"trait":"Dodge"},"returns":{"mode":"thrown","propelled_penalty":2,"trait":"Bow","weapon":"big gun","defence":{"trait":"Dodge"}}}`, ann, bob))

	// Where no damage is counted, no weapon has to be written down.
	told := play(t, `{"fudge.damage":"subjective"}`)
	ann, bob = told.person("Ann", "npc", `{}`), told.person("Bob", "npc", `{}`)
	told.do("attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"mode":"propelled","trait":"Bow","defence":{"trait":"Dodge"}}`, ann, bob), 3, 4, 3, 4)
	for weapon, field := range map[string]string{"grandfather's halberd": "", "\\n": "weapon"} {
		fight := fmt.Sprintf(`{"attacker":%q,"target":%q,"trait":"Sword","weapon":"%s","defence":{"trait":"Sword"}}`, ann, bob, weapon)
		if field != "" {
			told.invalid(field, "attack", fight)
			continue
		}
		told.do("attack", fight, 3, 4, 3, 4)
	}
}

// Everything that an attack needs is refused before a die is thrown.
func TestAttackRejections(t *testing.T) {
	tb, ann, bob := fencers(t, "", "Fair")
	fight := `{"attacker":%q,"target":%q,"trait":"Sword",%s"defence":{"trait":"Sword"}}`
	tb.invalid("target", "attack", fmt.Sprintf(fight, ann, ann, ""))
	tb.no("unknown_character", "", "attack", fmt.Sprintf(fight, ann, "x", ""))
	tb.no("no_such_weapon", "FUDGE-28", "attack", fmt.Sprintf(fight, ann, bob, `"weapon":"halberd",`))
	tb.no("unaware_is_for_ranged", "FUDGE-29", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"trait":"Sword","unaware":true}`, ann, bob))
	tb.no("melee_is_simultaneous", "FUDGE-26", "attack", fmt.Sprintf(fight, ann, bob, `"returns":{"mode":"thrown","trait":"Bow","defence":{"trait":"Dodge"}},`))
	tb.invalid("stance", "attack", fmt.Sprintf(fight, ann, bob, `"stance":"sideways",`))
	tb.invalid("difficulty", "check", fmt.Sprintf(`{"character":%q,"trait":"Sword","difficulty":"Superb+5"}`, ann))
	rolls := tb.State.Session.Rolls
	tb.hurt(bob, 5)
	tb.no("unconscious", "FUDGE-52", "attack", fmt.Sprintf(fight, ann, bob, ""))
	tb.no("unconscious", "FUDGE-52", "attack", fmt.Sprintf(fight, bob, ann, ""))
	tb.do("attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"trait":"Bow","mode":"thrown","weapon":"rock","unaware":true}`, ann, bob), 3, 3) // Good, Fair: 1 - 1
	tb.hurt(bob, 2)
	tb.no("dead", "", "attack", fmt.Sprintf(fight, ann, bob, ""))
	tb.no("dead", "", "attack", fmt.Sprintf(fight, bob, ann, ""))
	if tb.State.Session.Rolls != rolls {
		t.Errorf("%d rolls were used by what was refused", tb.State.Session.Rolls-rolls)
	}
	tb.do("setting.define", `{"reason":"guns","setting":{"weapons":{"Bazooka":{"strength":8}}}}`)
	tb.do("attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"trait":"Bow","mode":"propelled","weapon":"bazooka","unaware":true}`, ann, tb.person("Tank", "npc", `{"armour":{"kind":"sf","value":4}}`)), 3, 4)
}
