package fudge

import (
	"fmt"
	"testing"

	"tallystick/events"
)

// A scenario for each stage of the hit point track at Fair (FUDGE-39,
// FUDGE-48 to FUDGE-53): what it is called, what it takes, who acts.
func TestStages(t *testing.T) {
	for _, row := range []struct {
		points     int
		faces      []int
		rank       string
		penalty    int
		left       int
		conditions []string
		code       string // of acting
		tick       string
	}{
		{1, nil, "Scratch", 0, 6, nil, "", tickRest},
		{2, nil, "Hurt", -1, 5, nil, "", tickRest},
		{3, nil, "Very Hurt", -2, 4, nil, "", tickRest},
		{4, []int{3, 4}, "Disabled", 0, 3, nil, "disabled", tickRest},
		{4, []int{1, 3}, "Disabled", 0, 3, []string{"unconscious"}, "unconscious", tickRest},
		{5, nil, "Near Death", 0, 2, []string{"unconscious", "dying"}, "unconscious", tickDying},
		{6, nil, "Near Death", 0, 1, []string{"unconscious", "dying"}, "unconscious", tickDying},
	} {
		t.Run(fmt.Sprint(row.points, row.faces), func(t *testing.T) {
			tb := play(t, "")
			bob := tb.person("Bob", "npc", `{"traits":{"Sword":"Good"}}`)
			tb.rank(bob, "unhurt", 0)
			facts := tb.hurt(bob, row.points, row.faces...)
			tb.rank(bob, row.rank, row.points)
			tb.conditions(bob, row.conditions...)
			v := tb.vitals(bob)
			if v.Health.Penalty != row.penalty || v.Health.Points != row.left || v.Health.Max != 7 || !v.Alive || v.NextTick.Kind != row.tick {
				t.Errorf("%+v, tick %+v", v.Health, v.NextTick)
			}
			if row.faces != nil {
				consistent(t, facts)
			}
			check := fmt.Sprintf(`{"character":%q,"trait":"Sword"}`, bob)
			if row.code == "" {
				tb.do("check", check)
				return
			}
			rule := "FUDGE-51"
			if row.rank == "Near Death" {
				rule = "FUDGE-52"
			}
			tb.no(row.code, rule, "check", check)
		})
	}
}

// Dead: at two more than Near Death, in one blow or in several (FUDGE-53).
func TestTwoMoreAreDeath(t *testing.T) {
	for _, blows := range [][]int{{7}, {5, 2}, {6, 1}, {5, 1, 1}, {12}} {
		tb := play(t, "")
		bob := tb.person("Bob", "npc", `{}`)
		for _, b := range blows {
			facts := tb.hurt(bob, b)
			if v := tb.vitals(bob); !v.Alive {
				d := one[*events.CharacterDied](t, facts)
				if d.Rule != "FUDGE-53" || d.Cause != "a fall" || d.After.Alive {
					t.Errorf("%+v", d)
				}
			}
		}
		if v := tb.vitals(bob); v.Alive || v.Health.Rank != "Dead" || v.Health.Points != 0 || v.NextTick != nil {
			t.Errorf("%v: %+v", blows, v)
		}
		tb.wait("10w")
		for typ, data := range map[string]string{
			"wound.inflict": `{"character":%q,"points":1,"cause":"x"}`, "heal.grant": `{"character":%q,"points":1,"cause":"x"}`,
			"wound.treat": `{"character":%q,"level":"Superb"}`, "check": `{"character":%q,"trait":"Sword"}`,
			"fudge.kill": `{"character":%q,"cause":"x"}`, "fudge.wake": `{"character":%q}`, "fudge.strain": `{"character":%q,"cause":"x"}`,
			"fudge.tire": `{"character":%q,"cards":1,"cause":"x"}`, "fudge.rest": `{"character":%q}`,
			"character.amend": `{"character":%q,"reason":"x","sheet":{}}`,
		} {
			tb.no("dead", "", typ, fmt.Sprintf(data, bob))
		}
	}
}

// One per turn: Hurt on the second wound (B8.4-b, the book's example).
func TestOneWoundPerTurn(t *testing.T) {
	tb := play(t, "")
	bob := tb.person("Bob", "npc", `{}`)
	for i, want := range []string{"Scratch", "Hurt", "Very Hurt"} {
		tb.hurt(bob, 1)
		tb.rank(bob, want, i+1)
	}
	w := tb.body(bob).Wounds
	if len(w) != 3 || w[2].Ordinal != 3 || w[2].Level != "Scratch" {
		t.Errorf("%+v", w)
	}
	tb.refold()
}

// A level in the objective system is a wound as bad as that by itself, and
// wounds add up (FUDGE-48).
func TestLevelsInTheObjectiveSystem(t *testing.T) {
	tb := play(t, "")
	bob := tb.person("Bob", "npc", `{}`)
	hurt := fmt.Sprintf(`{"character":%q,"level":"Hurt","cause":"x"}`, bob)
	tb.do("wound.inflict", hurt)
	tb.rank(bob, "Hurt", 2)
	tb.do("wound.inflict", hurt, 3, 4)
	tb.rank(bob, "Disabled", 4)
}

// The track of other levels is a ruling, and the setting can replace it
// (FUDGE-49). A new track does not reach characters that are there already.
func TestTracks(t *testing.T) {
	for _, row := range []struct {
		options, setting, level string
		want                    [7]string // after 1 to 7 points
	}{
		{`{}`, "", "Fair", [7]string{"Scratch", "Hurt", "Very Hurt", "Disabled", "Near Death", "Near Death", "Dead"}},
		{`{}`, "", "Good", [7]string{"Scratch", "Scratch", "Hurt", "Very Hurt", "Disabled", "Near Death", "Near Death"}},
		{`{}`, "", "Superb", [7]string{"Scratch", "Scratch", "Scratch", "Scratch", "Hurt", "Very Hurt", "Disabled"}},
		{`{}`, "", "Poor", [7]string{"Very Hurt", "Disabled", "Near Death", "Near Death", "Dead", "Dead", "Dead"}},
		{`{}`, "", "Terrible", [7]string{"Disabled", "Near Death", "Near Death", "Dead", "Dead", "Dead", "Dead"}},
		{`{"fudge.hp_track":"same"}`, "", "Superb", [7]string{"Scratch", "Hurt", "Very Hurt", "Disabled", "Near Death", "Near Death", "Dead"}},
		{`{}`, `{"track":{"Fair":{"hurt":1,"very_hurt":2,"disabled":2,"near_death":3}}}`, "Good", [7]string{"Scratch", "Hurt", "Disabled", "Near Death", "Near Death", "Dead", "Dead"}},
		{`{}`, `{"track":{"Good":{"hurt":3,"very_hurt":5,"disabled":6,"near_death":7}}}`, "Good", [7]string{"Scratch", "Scratch", "Hurt", "Hurt", "Very Hurt", "Disabled", "Near Death"}},
		{`{}`, `{"track":{"Good":{"hurt":3,"very_hurt":5,"disabled":6,"near_death":7}}}`, "Fair", [7]string{"Scratch", "Hurt", "Very Hurt", "Disabled", "Near Death", "Near Death", "Dead"}},
	} {
		for i, want := range row.want {
			tb := play(t, row.options)
			if row.setting != "" {
				tb.do("setting.define", `{"reason":"the table of A4.2-b","setting":`+row.setting+`}`)
			}
			bob := tb.person("Bob", "npc", fmt.Sprintf(`{"hit_points":%q}`, row.level))
			tb.rank(bob, "unhurt", 0)
			tb.hurt(bob, i+1)
			tb.rank(bob, want, i+1)
			tb.do("setting.define", `{"reason":"changed","setting":{"track":{"Fair":{"hurt":1,"very_hurt":1,"disabled":1,"near_death":1}}}}`)
			tb.rank(bob, want, i+1)
		}
	}
}

// A sheet may change the track, but disables, kills and wakes nobody.
func TestAmend(t *testing.T) {
	tb := play(t, "")
	bob := tb.person("Bob", "npc", `{}`)
	amend := func(level string) string {
		return fmt.Sprintf(`{"character":%q,"reason":"x","sheet":{"hit_points":%q}}`, bob, level)
	}
	tb.hurt(bob, 2)
	tb.do("character.amend", amend("Good"))
	tb.rank(bob, "Scratch", 2)
	tb.no("would_change_state", "FUDGE-49", "character.amend", amend("Poor"))
	tb.hurt(bob, 3, 3, 4)
	tb.rank(bob, "Disabled", 5)
	tb.no("would_change_state", "FUDGE-49", "character.amend", amend("Great"))
	tb.do("character.amend", fmt.Sprintf(`{"character":%q,"reason":"x","sheet":{"hit_points":"Good","strength":"Superb"}}`, bob))
	tb.refold()
}

// The roll to stay conscious: Constitution against Mediocre, a match is
// enough; once, on becoming Disabled (FUDGE-51).
func TestStayConscious(t *testing.T) {
	for _, row := range []struct {
		option, constitution string
		a, b                 int
		conscious            bool
	}{
		{"0", "Mediocre", 3, 4, true}, {"0", "Mediocre", 1, 4, false}, {"0", "Terrible", 6, 4, true}, {"0", "Terrible", 4, 5, false},
		{"1", "Mediocre", 3, 4, false}, {"1", "Fair", 3, 4, true}, {"0", "", 2, 3, true}, {"0", "", 1, 3, false},
	} {
		tb := play(t, `{"fudge.conscious_penalty":`+row.option+`}`)
		sheet := `{}`
		if row.constitution != "" {
			sheet = fmt.Sprintf(`{"constitution":%q}`, row.constitution)
		}
		bob := tb.person("Bob", "npc", sheet)
		facts := tb.hurt(bob, 4, row.a, row.b)
		consistent(t, facts)
		if got := !tb.body(bob).has(unconscious); got != row.conscious {
			t.Errorf("%+v: conscious %v", row, got)
		}
	}
	tb := play(t, "")
	tb.do("setting.define", `{"reason":"x","setting":{"track":{"Fair":{"hurt":1,"very_hurt":2,"disabled":3,"near_death":9}}}}`)
	bob := tb.person("Bob", "npc", `{}`)
	tb.hurt(bob, 3, 3, 4)
	none[*events.RollMade](t, tb.hurt(bob, 1)) // Disabled already
}

// A very lenient game master lets somebody Disabled try; nobody else does.
func TestLenience(t *testing.T) {
	tb := play(t, "")
	bob := tb.person("Bob", "pc", `{"traits":{"Doors":"Good"}}`)
	tb.hurt(bob, 4, 3, 4)
	door := fmt.Sprintf(`{"character":%q,"trait":"Doors","lenient":true}`, bob)
	tb.do("check", door, 3, 4)
	if err := tb.Refused("mara", "check", door); err == nil {
		t.Error("a player is lenient")
	}
	ann := tb.person("Ann", "npc", `{"traits":{"Charm":"Good"}}`)
	tb.do("contest", fmt.Sprintf(`{"sides":[{"character":%q,"trait":"Charm"},{"character":%q,"trait":"Will"}]}`, ann, bob)) // to resist is no action
	tb.no("disabled", "FUDGE-51", "contest", fmt.Sprintf(`{"sides":[{"character":%q,"trait":"Will"},{"character":%q,"trait":"Charm"}]}`, bob, ann))
	out := tb.person("Cid", "npc", `{}`)
	tb.hurt(out, 4, 1, 1)
	tb.no("unconscious", "FUDGE-51", "check", fmt.Sprintf(`{"character":%q,"trait":"Doors","lenient":true}`, out))
	tb.hurt(bob, 1)
	tb.no("unconscious", "FUDGE-52", "check", door)
	tb.no("unconscious", "FUDGE-52", "contest", fmt.Sprintf(`{"sides":[{"character":%q,"trait":"Charm"},{"character":%q,"trait":"Will"}]}`, ann, bob))
}

// A knife at the throat of the helpless: no roll (FUDGE-54).
func TestKill(t *testing.T) {
	tb := play(t, "")
	ann := tb.person("Ann", "pc", `{}`)
	bob := tb.person("Bob", "npc", `{}`)
	tb.no("unknown_character", "", "fudge.kill", fmt.Sprintf(`{"character":%q,"by":"x","cause":"x"}`, bob))
	if err := tb.Refused("mara", "fudge.kill", fmt.Sprintf(`{"character":%q,"cause":"x"}`, bob)); err == nil {
		t.Error("a player kills without a roll")
	}
	facts := tb.do("fudge.kill", fmt.Sprintf(`{"character":%q,"by":%q,"cause":"a knife at the throat"}`, bob, ann))
	if d := one[*events.CharacterDied](t, facts); d.Rule != "FUDGE-54" || len(facts) != 1 || tb.vitals(bob).Alive {
		t.Errorf("%+v", d)
	}
	tb.hurt(ann, 5)
	tb.no("unconscious", "FUDGE-52", "fudge.kill", fmt.Sprintf(`{"character":%q,"by":%q,"cause":"x"}`, tb.person("Carl", "npc", `{}`), ann))
}

// Cards of fatigue are -1 each, and the third of all cards stops most
// (FUDGE-41).
func TestFatigue(t *testing.T) {
	for _, row := range []struct {
		option       string
		wound, cards int
		penalty      int
		spent        bool
	}{
		{"incapacitates", 0, 1, -1, false}, {"incapacitates", 0, 2, -2, false}, {"incapacitates", 0, 3, -3, true},
		{"incapacitates", 2, 1, -2, false}, {"incapacitates", 2, 2, -3, true}, {"incapacitates", 3, 1, -3, true},
		{"incapacitates", 3, 0, -2, false}, {"penalty", 3, 1, -3, false}, {"penalty", 0, 3, -3, false},
	} {
		tb := play(t, fmt.Sprintf(`{"fudge.third_card":%q}`, row.option))
		bob := tb.person("Bob", "npc", `{"traits":{"Sword":"Good"}}`)
		if row.wound > 0 {
			tb.hurt(bob, row.wound)
		}
		if row.cards > 0 {
			tb.do("fudge.tire", fmt.Sprintf(`{"character":%q,"cards":%d,"cause":"a march"}`, bob, row.cards))
		}
		if got := tb.vitals(bob).Health.Penalty; got != row.penalty {
			t.Errorf("%+v: penalty %d", row, got)
		}
		check := fmt.Sprintf(`{"character":%q,"trait":"Sword"}`, bob)
		if row.spent {
			tb.conditions(bob, spent)
			tb.no("near_incapacitation", "FUDGE-41", "check", check)
			tb.do("fudge.rest", fmt.Sprintf(`{"character":%q,"cards":1}`, bob))
		}
		tb.conditions(bob)
		facts := tb.do("check", check)
		consistent(t, facts)
		if row.cards == 0 {
			tb.no("not_tired", "FUDGE-41", "fudge.rest", fmt.Sprintf(`{"character":%q}`, bob))
		}
	}
	tb := play(t, "")
	bob := tb.person("Bob", "npc", `{}`)
	tb.do("fudge.tire", fmt.Sprintf(`{"character":%q,"cards":10,"cause":"x"}`, bob))
	tb.no("too_many_cards", "FUDGE-41", "fudge.tire", fmt.Sprintf(`{"character":%q,"cards":1,"cause":"x"}`, bob))
	tb.do("fudge.rest", fmt.Sprintf(`{"character":%q,"cards":8}`, bob))
	for _, more := range []string{`,"cards":9`, ""} { // more than are held, and all
		if e := one[*Rested](t, tb.do("fudge.rest", fmt.Sprintf(`{"character":%q%s}`, bob, more))); e.Cards != 2 || tb.body(bob).Fatigue != 0 {
			t.Errorf("%+v", e)
		}
		tb.do("fudge.tire", fmt.Sprintf(`{"character":%q,"cards":2,"cause":"x"}`, bob))
	}
}

// What is neither wound nor condition is in the state: cards of fatigue and
// what is left of a fraction.
func TestStateOfABody(t *testing.T) {
	tb := play(t, "")
	tb.do("setting.define", `{"reason":"beings","setting":{"scales":{"dragon":{"hit_points":"5"}}}}`)
	smok := tb.person("Smok", "npc", `{"scale":{"kind":"dragon"}}`)
	ann := tb.person("Ann", "npc", `{"strength":"Great","weapons":{"sword":{"size":"large","sharp":true}}}`)
	says := func(want string) {
		t.Helper()
		if got := string(tb.vitals(smok).State); got != want {
			t.Errorf("state %s, want %s", got, want)
		}
	}
	says("")
	tb.do("fudge.tire", fmt.Sprintf(`{"character":%q,"cards":2,"cause":"a march"}`, smok))
	says(`{"fatigue":2}`)
	tb.do("attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"trait":"Sword","weapon":"sword","defence":{"trait":"Claws"}}`, ann, smok), 3, 4, 3, 4) // by 2, and 3: 5 points
	says(`{"fatigue":2}`)
	tb.do("attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"trait":"Sword","weapon":"sword","defence":{"trait":"Claws"}}`, ann, smok), 4, 5, 3, 4)
	says(`{"fatigue":2,"remainder":"1/5"}`)
	tb.do("fudge.rest", fmt.Sprintf(`{"character":%q}`, smok))
	says(`{"remainder":"1/5"}`)
}
