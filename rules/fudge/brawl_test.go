package fudge

import (
	"fmt"
	"strings"
	"testing"

	"tallystick/events"
)

// pirates are Tucker at Great against Molly, Annie and Maggie of B8.3.
func pirates(t *testing.T, options string) (tb table, tucker string, foes []string) {
	t.Helper()
	tb = play(t, options)
	tucker = tb.person("Tucker", "pc", `{"traits":{"Fencing":"Great"},"weapons":{"rapier":{"modifier":0}}}`)
	for i, level := range []string{"Fair", "Good", "Mediocre"} {
		foes = append(foes, tb.person([]string{"Molly", "Annie", "Maggie"}[i], "npc", fmt.Sprintf(`{"traits":{"Cutlass":%q},"weapons":{"cutlass":{"modifier":0}}}`, level)))
	}
	return tb, tucker, foes
}

func brawling(lone string, foes []string, more string) string {
	var list []string
	for _, f := range foes {
		list = append(list, fmt.Sprintf(`{"character":%q,"trait":"Cutlass","weapon":"cutlass"}`, f))
	}
	return fmt.Sprintf(`{"lone":{"character":%q,"trait":"Fencing","weapon":"rapier"},"foes":[%s]%s}`, lone, strings.Join(list, ","), more)
}

// The book's pirates, with one roll for the three (FUDGE-34, FUDGE-35).
func TestPirates(t *testing.T) {
	const one = `,"one_roll":true,"automatic":{"points":1}`
	for _, row := range []struct {
		name      string
		faces     []int
		automatic bool
		tucker    int   // points lost
		relative  []int // of Tucker
		lost      []int // by the pirates
	}{
		{"3 and 4: everybody at their level", []int{3, 4, 3, 4}, false, 0, []int{2, 1, 3}, []int{2, 1, 3}},
		{"double 1s", []int{1, 1, 3, 4}, true, 3, []int{6, 5, 7}, []int{0, 0, 0}},
		{"double 2s", []int{2, 2, 3, 4}, true, 3, []int{4, 3, 5}, []int{0, 0, 0}},
		{"double 3s", []int{3, 3, 3, 4}, true, 3, []int{2, 1, 3}, []int{0, 0, 0}},
		{"double 4s are nothing special", []int{4, 4, 3, 4}, false, 0, []int{2, 1, 3}, []int{2, 1, 3}},
		{"Tucker loses to Annie", []int{5, 5, 3, 4}, false, 1, []int{0, -1, 1}, []int{0, 0, 1}},
	} {
		t.Run(row.name, func(t *testing.T) {
			tb, tucker, foes := pirates(t, "")
			facts := tb.do("fudge.brawl", brawling(tucker, foes, one), row.faces...)
			consistent(t, facts)
			th := throws(t, facts)
			if len(th) != 2 {
				t.Fatalf("%d throws: one for the pirates, one for Tucker", len(th))
			}
			for i, p := range detail(t, th[1]).Foes {
				if p.Relative != row.relative[i] || p.Automatic != row.automatic || p.Character != foes[i] {
					t.Errorf("pirate %d: %+v", i, p)
				}
				if got := tb.body(foes[i]).points(); got != row.lost[i] {
					t.Errorf("pirate %d lost %d, want %d", i, got, row.lost[i])
				}
			}
			if got := tb.body(tucker).points(); got != row.tucker {
				t.Errorf("Tucker lost %d, want %d", got, row.tucker)
			}
		})
	}
}

// Only a critical success avoids the automatic hits; then all is compared as
// usual (FUDGE-35). By margin it must be critical against all of them.
func TestPiratesAvoided(t *testing.T) {
	const one = `,"one_roll":true,"automatic":{"points":1}`
	for _, row := range []struct {
		options string
		faces   []int
		tucker  int
	}{
		{`{}`, []int{3, 3, 6, 6}, 0},
		{`{}`, []int{1, 1, 3, 4}, 3},
		{`{"fudge.critical_margin":true}`, []int{1, 1, 3, 4}, 0}, // Annie is at Terrible: five levels
		{`{"fudge.critical_margin":true}`, []int{2, 2, 3, 4}, 3}, // she is three levels behind
	} {
		tb, tucker, foes := pirates(t, row.options)
		// Pirates who are struck down may have to stay conscious.
		cmd := tb.Command("gm", "fudge.brawl", brawling(tucker, foes, one), row.faces...)
		facts, err := tb.Do(cmd)
		for err != nil && len(row.faces) < 12 {
			row.faces = append(row.faces, 3, 4)
			facts, err = tb.Do(tb.Command("gm", "fudge.brawl", brawling(tucker, foes, one), row.faces...))
		}
		if err != nil {
			t.Fatal(err)
		}
		consistent(t, facts)
		if got := tb.body(tucker).points(); got != row.tucker {
			t.Errorf("%s %v: Tucker lost %d, want %d", row.options, row.faces, got, row.tucker)
		}
	}
}

// The one roll is critical like others, by its best foe where margins count;
// but low doubles that hit are no fumble (FUDGE-14, FUDGE-15, FUDGE-35).
func TestCriticalOneRoll(t *testing.T) {
	for _, row := range []struct {
		options string
		faces   []int
		want    string
	}{
		{`{}`, []int{6, 6, 3, 4}, "success"}, {`{}`, []int{1, 1, 3, 4}, ""}, {`{}`, []int{1, 1, 6, 6}, "failure"},
		{`{}`, []int{5, 6, 1, 3}, ""}, {`{"fudge.critical_margin":true}`, []int{5, 6, 1, 4}, ""}, // Superb+1 against Good: by three
		{`{"fudge.critical_margin":true}`, []int{5, 6, 1, 3}, "success"},
	} {
		tb, tucker, foes := pirates(t, row.options)
		for _, f := range foes {
			tb.do("character.amend", fmt.Sprintf(`{"character":%q,"reason":"x","sheet":{"traits":{"Cutlass":"Good"},"armour":{"value":90},"weapons":{"cutlass":{"modifier":0}}}}`, f))
		}
		tb.do("character.amend", fmt.Sprintf(`{"character":%q,"reason":"x","sheet":{"traits":{"Fencing":"Great"},"armour":{"value":90},"weapons":{"rapier":{"modifier":0}}}}`, tucker))
		facts := tb.do("fudge.brawl", brawling(tucker, foes, `,"one_roll":true`), row.faces...)
		if got := detail(t, throws(t, facts)[0]).Critical; got != row.want {
			t.Errorf("%s %v: critical %q, want %q", row.options, row.faces, got, row.want)
		}
	}
}

// Without the game master's word automatic hits are for wound.inflict
// (FUDGE-36).
func TestAutomaticHitsWithoutHarm(t *testing.T) {
	tb, tucker, foes := pirates(t, "")
	facts := tb.do("fudge.brawl", brawling(tucker, foes, `,"one_roll":true`), 2, 2, 3, 4)
	none[*events.WoundInflicted](t, facts)
	if th := throws(t, facts); th[0].Outcome != "low doubles: all hit" || th[1].Outcome != "is hit by all" {
		t.Errorf("%s, %s", th[0].Outcome, th[1].Outcome)
	}
	deadly, tucker, foes := pirates(t, "")
	facts = deadly.do("fudge.brawl", brawling(tucker, foes, `,"one_roll":true,"automatic":{"points":4}`), 2, 2, 3, 4)
	if len(facts) != 4 { // a roll, two wounds, a death: nobody strikes a corpse
		t.Errorf("%d facts", len(facts))
	}
	if d := one[*events.CharacterDied](t, facts); d.Cause != "cutlass of Annie" {
		t.Errorf("%+v", d)
	}
	subjective, tucker, foes := pirates(t, `{"fudge.damage":"subjective"}`)
	subjective.do("fudge.brawl", brawling(tucker, foes, `,"one_roll":true,"automatic":{"level":"Hurt"}`), 2, 2, 3, 4)
	subjective.rank(tucker, "Hurt", 2)
}

// Somebody struck several times in a moment rolls to stay conscious once, from
// where the last blow leaves them (FUDGE-51).
func TestStruckTwice(t *testing.T) {
	for points, want := range map[int]struct {
		faces      []int
		rank       string
		lost       int
		conditions []string
	}{
		1: {[]int{2, 2, 3, 4}, "Hurt", 2, nil},
		2: {[]int{2, 2, 3, 4, 1, 1}, "Disabled", 4, []string{unconscious}},
		3: {[]int{2, 2, 3, 4}, "Near Death", 6, []string{unconscious, dying}},
	} {
		tb, tucker, foes := pirates(t, "")
		facts := tb.do("fudge.brawl", brawling(tucker, foes[:2], fmt.Sprintf(`,"one_roll":true,"automatic":{"points":%d}`, points)), want.faces...)
		tb.rank(tucker, want.rank, want.lost)
		tb.conditions(tucker, want.conditions...)
		if got := len(throws(t, facts)); got != len(want.faces)/2 {
			t.Errorf("%d points each: %d throws", points, got)
		}
	}
}

// Each foe rolls, the lone fighter once, a level lower for each foe beyond
// the first (FUDGE-32, FUDGE-33).
func TestOutnumbered(t *testing.T) {
	tb, tucker, foes := pirates(t, "")
	facts := tb.do("fudge.brawl", brawling(tucker, foes, ""), 3, 4, 3, 4, 4, 5, 1, 4)
	consistent(t, facts)
	th := throws(t, facts)
	if len(th) != 4 {
		t.Fatalf("%d throws, want 4", len(th))
	}
	d := detail(t, th[0])
	if d.Effective != "Fair" || d.Foes[0].Relative != 0 || d.Foes[1].Relative != -2 || d.Foes[2].Relative != 2 {
		t.Errorf("%+v", d)
	}
	outcome(t, th[0], "loses", -2, "Fair")
	outcome(t, th[2], "wins", 2, "Great")
	tb.rank(tucker, "Hurt", 2)
	tb.rank(foes[2], "Hurt", 2)

	alone, tucker, foes := pirates(t, "")
	facts = alone.do("fudge.brawl", brawling(tucker, foes[:1], ""), 3, 4, 3, 4)
	if d := detail(t, throws(t, facts)[0]); d.Effective != "Great" {
		t.Errorf("one foe is no penalty, but %s", d.Effective)
	}
}

// Stances count in each pairing.
func TestBrawlStances(t *testing.T) {
	tb, tucker, foes := pirates(t, "")
	data := strings.Replace(brawling(tucker, foes[:2], ""), `"weapon":"rapier"`, `"weapon":"rapier","stance":"offence"`, 1)
	facts := tb.do("fudge.brawl", data, 3, 4, 4, 6, 3, 4) // Great + 1 - 1 against Great, Good
	d := detail(t, throws(t, facts)[0])
	if d.Foes[0].Relative != -2 || d.Foes[1].Relative != 1 {
		t.Errorf("%+v", d.Foes)
	}
	tb.rank(tucker, "Hurt", 2)
	tb.rank(foes[1], "Scratch", 1)
}

func TestBrawlRejections(t *testing.T) {
	tb, tucker, foes := pirates(t, "")
	tb.no("too_many_foes", "FUDGE-37", "fudge.brawl", brawling(tucker, foes, `,"room":2`))
	tb.invalid("automatic", "fudge.brawl", brawling(tucker, foes, `,"automatic":{"points":1}`))
	tb.invalid("foes.1.character", "fudge.brawl", brawling(tucker, []string{foes[0], foes[0]}, ""))
	tb.invalid("foes.0.character", "fudge.brawl", brawling(tucker, []string{tucker}, ""))
	tb.no("one_roll_is_for_npcs", "FUDGE-34", "fudge.brawl", brawling(foes[0], foes[1:], `,"one_roll":true`))
	tb.no("one_roll_is_for_npcs", "FUDGE-34", "fudge.brawl", brawling(tucker, []string{foes[0], tb.person("Ally", "pc", `{"weapons":{"cutlass":{"size":"average"}}}`)}, `,"one_roll":true`))
	tb.no("one_roll_is_for_several", "FUDGE-34", "fudge.brawl", brawling(tucker, foes[:1], `,"one_roll":true`))
	tb.do("fudge.brawl", brawling(tucker, foes[:1], ""), 3, 4, 3, 4)
	many := append([]string{}, foes...)
	for range 4 {
		many = append(many, tb.person("Hand", "npc", `{"weapons":{"cutlass":{"size":"average"}}}`))
	}
	tb.no("too_many_foes", "FUDGE-37", "fudge.brawl", brawling(tucker, many, ""))
	tb.do("fudge.brawl", brawling(tucker, many[:6], ""))
	if err := tb.Refused("mara", "fudge.brawl", brawling(tucker, foes, "")); err == nil {
		t.Error("a player led a brawl")
	}
}

// A tie costs who fights in all-out offence two levels, and both throws of the one
// roll say so (FUDGE-24, FUDGE-19).
func TestBerserkTieInOneRoll(t *testing.T) {
	for _, row := range []struct {
		name           string
		lone, foe      string
		stance, theirs string
		faces          []int
		margin         int // of the lone fighter
	}{
		{"the lone fighter", "Fair", "Good", "offence", "normal", []int{3, 4, 3, 4}, -2},
		{"a foe", "Fair", "Fair", "normal", "offence", []int{3, 4, 4, 5}, 2},
	} {
		tb := play(t, "")
		lone := tb.person("Tucker", "pc", fmt.Sprintf(`{"traits":{"Fencing":%q}}`, row.lone))
		foe, other := tb.person("Annie", "npc", fmt.Sprintf(`{"traits":{"Cutlass":%q}}`, row.foe)), tb.person("Molly", "npc", `{"traits":{"Cutlass":"Poor"}}`)
		facts := tb.do("fudge.brawl", fmt.Sprintf(`{"lone":{"character":%q,"trait":"Fencing","stance":%q},"foes":[{"character":%q,"trait":"Cutlass","stance":%q},{"character":%q,"trait":"Cutlass"}],"one_roll":true}`,
			lone, row.stance, foe, row.theirs, other), row.faces...)
		th := throws(t, facts)
		if len(th) != 2 {
			t.Fatalf("%s: %d throws", row.name, len(th))
		}
		if foes, lone := *th[0].Margin, *th[1].Margin; lone != row.margin || foes != -row.margin {
			t.Errorf("%s: the lone fighter's margin is %d, the foes' %d; want %d and the reverse", row.name, lone, foes, row.margin)
		}
	}
}
