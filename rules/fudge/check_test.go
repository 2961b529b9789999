package fudge

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"tallystick/events"
	"tallystick/rules"
	"tallystick/rules/dice"
)

// The table and the formula of B3 agree for every sum (FUDGE-11, FUDGE-12).
func TestTableIsFormula(t *testing.T) {
	for sum := 2; sum <= 12; sum++ {
		want := 0
		switch {
		case sum > 8:
			want = sum - 8
		case sum < 6:
			want = sum - 6
		}
		if diceTable[sum] != want {
			t.Errorf("sum %d: table %d, formula %d", sum, diceTable[sum], want)
		}
	}
}

// The success rates of B4, exactly and as printed (FUDGE-13).
func TestSuccessRates(t *testing.T) {
	odds := dice.Die(6).Plus(dice.Die(6)).Map(func(sum int64) int64 { return int64(diceTable[sum]) })
	for _, row := range []struct {
		levels, of36 int64
		printed      string
	}{
		{-4, 1, "2.8"}, {-3, 2, "5.6"}, {-2, 3, "8.3"}, {-1, 4, "11.1"}, {0, 16, "44.4"},
		{1, 4, "11.1"}, {2, 3, "8.3"}, {3, 2, "5.6"}, {4, 1, "2.8"},
	} {
		p := odds.Exactly(row.levels)
		if p.Cmp(big.NewRat(row.of36, 36)) != 0 {
			t.Errorf("%+d: %s, want %d/36", row.levels, p, row.of36)
		}
		if percent := new(big.Rat).Mul(p, big.NewRat(100, 1)).FloatString(1); percent != row.printed {
			t.Errorf("%+d: %s %%, the book prints %s", row.levels, percent, row.printed)
		}
	}
	below := new(big.Rat).Sub(big.NewRat(1, 1), odds.AtLeast(0))
	for side, p := range map[string]*big.Rat{"above": odds.AtLeast(1), "below": below} {
		if percent := new(big.Rat).Mul(p, big.NewRat(100, 1)).FloatString(1); p.Cmp(big.NewRat(10, 36)) != 0 || percent != "27.8" {
			t.Errorf("%s the level: %s, %s %%, want 10/36, 27.8 %%", side, p, percent)
		}
	}
}

func TestLevelNames(t *testing.T) {
	for l := lowest - 5; l <= highest+5; l++ {
		back, err := ParseLevel(l.String())
		if err != nil || back != l {
			t.Errorf("%s reads as %v, %v", l, back, err)
		}
	}
	for _, name := range []string{"", "fair", "Superb+", "Superb+0", "Superb+01", "Superb+-1", "Terrible+1", "Good+1", "Superb+100", "Fair "} {
		if l, err := ParseLevel(name); err == nil {
			t.Errorf("%q reads as %s", name, l)
		}
	}
}

// Sam at the archery contest (B3), and case D05: two six-sided dice by the
// table, whatever else a fudge die may be.
func TestSamShootsAtTheTarget(t *testing.T) {
	tb := play(t, "")
	sam := tb.person("Sam", "pc", `{"traits":{"Bow":"Good"}}`)
	for _, row := range []struct {
		a, b     int
		degree   string
		success  string
		margin   int
		critical string
	}{
		{3, 4, "Good", "success", 1, ""}, {4, 5, "Great", "success", 2, ""}, {1, 2, "Poor", "failure", -2, ""},
		{1, 1, "Terrible", "failure", -3, "failure"}, {3, 3, "Good", "success", 1, ""}, {4, 4, "Good", "success", 1, ""},
		{6, 6, "Superb+2", "success", 5, "success"},
	} {
		facts := tb.do("check", fmt.Sprintf(`{"character":%q,"trait":"Bow"}`, sam), row.a, row.b)
		th := throws(t, facts)[0]
		outcome(t, th, row.success, row.margin, row.degree)
		if d := detail(t, th); d.Critical != row.critical || d.Against != "Fair" {
			t.Errorf("%d %d: critical %q against %s, want %q against Fair", row.a, row.b, d.Critical, d.Against, row.critical)
		}
		if len(th.Draws) != 2 || th.Draws[0][0] != 6 || th.Expression != "2d6" {
			t.Errorf("thrown %v as %s, want two six-sided dice", th.Draws, th.Expression)
		}
		consistent(t, facts)
	}
}

// Four fudge dice are four dice of -1, 0 and +1 and nothing else (D05).
func TestFudgeDiceInFreeNotation(t *testing.T) {
	tb := play(t, "")
	for _, expression := range []string{"4dF", "4df"} {
		th := throws(t, tb.do("roll", fmt.Sprintf(`{"expression":%q}`, expression)))[0]
		sum := 0
		for _, d := range th.Draws {
			if d[0] != 3 {
				t.Errorf("%s drew a d%d", expression, d[0])
			}
			sum += int(d[1]) - 2
		}
		if len(th.Draws) != 4 || th.Total != sum {
			t.Errorf("%s: %v is %d, want %d", expression, th.Draws, th.Total, sum)
		}
	}
	tb.no("notation", "", "roll", `{"expression":"4dF!"}`)
}

// B2: Joe is Hurt; fine lockpicks; Vern's second trait.
func TestModifiersOfB2(t *testing.T) {
	tb := play(t, "")
	joe := tb.person("Joe", "pc", `{"traits":{"Sword":"Good","Lockpicking":"Mediocre","Research":"Good","Anthropology":"Good","Folklore":"Superb"}}`)
	check := func(member string) events.Throw {
		t.Helper()
		facts := tb.do("check", fmt.Sprintf(`{"character":%q,%s}`, joe, member), 3, 4)
		consistent(t, facts)
		return throws(t, facts)[0]
	}
	th := check(`"trait":"Lockpicking","modifiers":[{"label":"fine lockpicks","value":1,"about":"equipment"}]`)
	outcome(t, th, "success", 0, "Fair")
	th = check(`"trait":"Research","secondary":"Anthropology","difficulty":"Great"`)
	outcome(t, th, "success", 0, "Great")
	th = check(`"trait":"Research","secondary":"Folklore","secondary_instead":true,"difficulty":"Superb"`)
	outcome(t, th, "success", 0, "Superb")
	tb.no("secondary_not_better", "FUDGE-9", "check", fmt.Sprintf(`{"character":%q,"trait":"Research","secondary":"Anthropology","secondary_instead":true}`, joe))
	tb.no("untrained_secondary", "FUDGE-9", "check", fmt.Sprintf(`{"character":%q,"trait":"Research","secondary":"Alchemy"}`, joe))
	tb.invalid("secondary_instead", "check", fmt.Sprintf(`{"character":%q,"trait":"Research","secondary_instead":true}`, joe))
	for _, second := range []string{"Research", "research"} { // a trait does not help itself
		tb.no("secondary_is_the_same", "FUDGE-9", "check", fmt.Sprintf(`{"character":%q,"trait":"Research","secondary":%q}`, joe, second))
	}

	tb.hurt(joe, 2)
	th = check(`"trait":"sword"`)
	outcome(t, th, "success", 0, "Fair")
	if m := th.Modifiers; len(m) != 2 || m[1] != (events.Modifier{Label: "Hurt", Value: -1, Rule: "FUDGE-50"}) {
		t.Errorf("modifiers %+v", m)
	}
	outcome(t, check(`"trait":"Sword","unaffected":true`), "success", 1, "Good")
	outcome(t, check(`"trait":"Climbing","unaffected":true`), "failure", -2, "Poor") // untrained
	tb.hurt(joe, 1)
	tb.no("very_hurt_affects_all", "FUDGE-50", "check", fmt.Sprintf(`{"character":%q,"trait":"Sword","unaffected":true}`, joe))
	outcome(t, check(`"trait":"Sword"`), "failure", -1, "Mediocre")
}

// Extreme modifiers are flagged, larger ones are the game master's (FUDGE-10).
func TestExtremeModifiers(t *testing.T) {
	tb := play(t, "")
	sam := tb.person("Sam", "pc", `{"traits":{"Bow":"Good"}}`)
	with := func(n int) string {
		return fmt.Sprintf(`{"character":%q,"trait":"Bow","modifiers":[{"label":"wind","value":%d}]}`, sam, n)
	}
	for n, want := range map[int]int{1: 0, -1: 0, 2: 1, -2: 1, 3: 1} {
		if got := detail(t, throws(t, tb.do("check", with(n)))[0]).Warnings; len(got) != want {
			t.Errorf("%+d: warnings %v, want %d", n, got, want)
		}
	}
	err := tb.Refused("mara", "check", with(-3))
	var no *rules.Rejection
	if !errors.As(err, &no) || no.Code != "modifier_too_large" || no.Field != "modifiers.0.value" {
		t.Errorf("a player's modifier of -3: %v", err)
	}
	tb.Must("mara", "check", with(2))
}

// What several modifiers come to is extreme, or the game master's, like one
// modifier of that size (FUDGE-10).
func TestModifiersTogether(t *testing.T) {
	tb := play(t, "")
	sam := tb.person("Sam", "pc", `{"traits":{"Bow":"Good"}}`)
	with := func(values ...int) string {
		var list []string
		for _, n := range values {
			list = append(list, fmt.Sprintf(`{"label":"one of many","value":%d}`, n))
		}
		return fmt.Sprintf(`{"character":%q,"trait":"Bow","modifiers":[%s]}`, sam, strings.Join(list, ","))
	}
	for _, row := range []struct {
		values []int
		want   []string
	}{
		{[]int{1, -1}, nil}, {[]int{-1, -1, 1}, nil},
		{[]int{1, 1}, []string{"all modifiers together: +2 is extreme"}},
		{[]int{-1, -1, -1}, []string{"all modifiers together: -3 is extreme"}},
		{[]int{2, -1}, []string{"one of many: +2 is extreme"}},
		{[]int{2, 1}, []string{"one of many: +2 is extreme", "all modifiers together: +3 is extreme"}},
	} {
		if got := detail(t, throws(t, tb.do("check", with(row.values...)))[0]).Warnings; !slices.Equal(got, row.want) {
			t.Errorf("%v: warnings %q, want %q", row.values, got, row.want)
		}
	}
	tb.Must("mara", "check", with(1, 1))
	for _, values := range [][]int{{1, 1, 1}, {-2, -1}} {
		var no *rules.Rejection
		if err := tb.Refused("mara", "check", with(values...)); !errors.As(err, &no) || no.Code != "modifier_too_large" || no.Field != "modifiers" {
			t.Errorf("a player's modifiers of %v: %v", values, err)
		}
	}
}

// The name of a trait is one that a sheet could have. Written in another form
// it would pass for a trait that nobody has, and be Poor.
func TestNamesOfTraits(t *testing.T) {
	tb := play(t, "")
	ann := tb.person("Ann", "pc", `{"traits":{"Élan":"Great"}}`)
	bob := tb.person("Bob", "npc", `{}`)
	tb.hurt(bob, 2)
	for _, bad := range []string{"E\u0301lan", "  ", "É\u200blan", "a\nb"} {
		tb.invalid("trait", "check", fmt.Sprintf(`{"character":%q,"trait":"%s"}`, ann, bad))
		tb.invalid("sides.1.trait", "contest", fmt.Sprintf(`{"sides":[{"character":%q,"trait":"Will"},{"character":%q,"trait":"%s"}]}`, ann, bob, bad))
		tb.invalid("trait", "wound.treat", fmt.Sprintf(`{"character":%q,"by":%q,"trait":"%s"}`, bob, ann, bad))
	}
	if d := detail(t, throws(t, tb.do("check", fmt.Sprintf(`{"character":%q,"trait":"élan"}`, ann)))[0]); d.Effective != "Great" {
		t.Errorf("%+v", d)
	}
}

// Tasks of Terrible need no roll, in no session either (FUDGE-4).
func TestAutomaticTask(t *testing.T) {
	tb := play(t, "")
	sam := tb.person("Sam", "pc", `{"strength":"Terrible"}`)
	tb.do("session.close", `{}`)
	facts := tb.do("check", fmt.Sprintf(`{"character":%q,"trait":"Strength","difficulty":"Terrible"}`, sam))
	if e := one[*RollSkipped](t, facts); e.Outcome != "success" || e.Rule != "FUDGE-4" || len(facts) != 1 {
		t.Errorf("%+v", e)
	}
	tb.no("too_many_dice", "", "check", fmt.Sprintf(`{"character":%q,"trait":"Strength","difficulty":"Terrible"}`, sam), 3, 4)
	tb.no("no_session", "", "check", fmt.Sprintf(`{"character":%q,"trait":"Strength","difficulty":"Poor"}`, sam))
}

// With fudge.skip_certain_rolls what no face would change is not rolled
// (FUDGE-6).
func TestSkipCertainRolls(t *testing.T) {
	for _, row := range []struct {
		trait, task, skipped string
	}{
		{"Superb", "Mediocre", "success"}, {"Superb", "Fair", ""}, {"Poor", "Superb", "failure"}, {"Poor", "Great", ""},
	} {
		tb := play(t, `{"fudge.skip_certain_rolls":true}`)
		id := tb.person("Sam", "pc", fmt.Sprintf(`{"traits":{"Bow":%q}}`, row.trait))
		data := fmt.Sprintf(`{"character":%q,"trait":"Bow","difficulty":%q}`, id, row.task)
		facts := tb.do("check", data)
		if row.skipped == "" {
			none[*RollSkipped](t, facts)
		} else if e := one[*RollSkipped](t, facts); e.Outcome != row.skipped || e.Rule != "FUDGE-6" {
			t.Errorf("%+v: %+v", row, e)
		}
		usual := play(t, "")
		id = usual.person("Sam", "pc", fmt.Sprintf(`{"traits":{"Bow":%q}}`, row.trait))
		none[*RollSkipped](t, usual.do("check", fmt.Sprintf(`{"character":%q,"trait":"Bow","difficulty":%q}`, id, row.task)))
	}
	// Where results stop at Superb+4, a leprechaun's best is a human Good.
	for option, skips := range map[string]bool{"true": true, "false": false} {
		tb := play(t, `{"fudge.skip_certain_rolls":true,"fudge.cap_rolled_degree":`+option+`}`)
		wee := tb.person("Fionn", "npc", `{"strength":"Superb","scale":{"strength":-6}}`)
		facts := tb.do("check", fmt.Sprintf(`{"character":%q,"trait":"Strength","difficulty":"Great","human_scale":true,"modifiers":[{"label":"a lever","value":2}]}`, wee))
		if _, skipped := facts[0].Event.(*RollSkipped); skipped != skips {
			t.Errorf("cap %s: skipped %v", option, skipped)
		}
	}
}

// What lies beyond Superb+4 and Terrible-4 is cut off unless the campaign lets it be
// (FUDGE-10).
func TestCapOfRolledDegrees(t *testing.T) {
	for option, want := range map[string][2]string{"true": {"Superb+4", "Terrible-4"}, "false": {"Superb+6", "Terrible-6"}} {
		tb := play(t, `{"fudge.cap_rolled_degree":`+option+`}`)
		sam := tb.person("Sam", "pc", `{"traits":{"Bow":"Superb","Lute":"Terrible"}}`)
		for i, data := range []string{`{"character":%q,"trait":"Bow","modifiers":[{"label":"wind","value":2}]}`, `{"character":%q,"trait":"Lute","modifiers":[{"label":"noise","value":-2}]}`} {
			face := []int{6, 1}[i]
			facts := tb.do("check", fmt.Sprintf(data, sam), face, face)
			if got := detail(t, throws(t, facts)[0]).Degree; got != want[i] {
				t.Errorf("%s: %s, want %s", option, got, want[i])
			}
			consistent(t, facts)
		}
	}
}

// Critical results by margin are optional; the loser's mirror the winner's
// (FUDGE-15).
func TestCriticalByMargin(t *testing.T) {
	for option, want := range map[string][2]string{"false": {"", ""}, "true": {"success", "failure"}} {
		tb := play(t, `{"fudge.critical_margin":`+option+`}`)
		a := tb.person("Ann", "pc", `{"traits":{"Chess":"Superb"}}`)
		b := tb.person("Bob", "npc", `{"traits":{"Chess":"Mediocre"}}`)
		facts := tb.do("contest", fmt.Sprintf(`{"sides":[{"character":%q,"trait":"Chess"},{"character":%q,"trait":"Chess"}]}`, a, b), 3, 4, 3, 4)
		for i, th := range throws(t, facts) {
			if got := detail(t, th).Critical; got != want[i] {
				t.Errorf("%s: side %d critical %q, want %q", option, i, got, want[i])
			}
		}
		check := tb.do("check", fmt.Sprintf(`{"character":%q,"trait":"Chess","difficulty":"Mediocre"}`, a), 3, 4)
		if got := detail(t, throws(t, check)[0]).Critical; got != want[0] {
			t.Errorf("%s: check critical %q, want %q", option, got, want[0])
		}
	}
}

// B7: Lisa tries to seduce Joe. A tie keeps the status quo.
func TestLisaAndJoe(t *testing.T) {
	tb := play(t, "")
	lisa := tb.person("Lisa", "pc", `{"traits":{"Seduction":"Great"}}`)
	joe := tb.person("Joe", "npc", `{"traits":{"Will":"Great"}}`)
	data := fmt.Sprintf(`{"sides":[{"character":%q,"trait":"Seduction"},{"character":%q,"trait":"Will"}]}`, lisa, joe)
	facts := tb.do("contest", data, 3, 4, 3, 4)
	consistent(t, facts)
	outcome(t, throws(t, facts)[0], "status quo", 0, "Great")
	facts = tb.do("contest", data, 3, 4, 4, 5)
	outcome(t, throws(t, facts)[0], "loses", -1, "Great")
	outcome(t, throws(t, facts)[1], "wins", 1, "Superb")
	vow := fmt.Sprintf(`{"sides":[{"character":%q,"trait":"Seduction"},{"character":%q,"trait":"Will","modifiers":[{"label":"vow of chastity","value":1}]}]}`, lisa, joe)
	outcome(t, throws(t, tb.do("contest", vow, 3, 4, 3, 4))[0], "loses", -1, "Great")
	tb.invalid("sides.1.character", "contest", fmt.Sprintf(`{"sides":[{"character":%q,"trait":"Will"},{"character":%q,"trait":"Will"}]}`, joe, joe))
	tb.invalid("sides", "contest", fmt.Sprintf(`{"sides":[{"character":%q,"trait":"Will"}]}`, joe))
}

// B9.1: a small giant's Terrible is a human Great: an offset of 5. Two humans
// feel nothing of it, and a human task is compared on the human scale.
func TestStrengthOnTwoScales(t *testing.T) {
	if got := scaleOffset(Terrible, Great); got != 5 {
		t.Errorf("offset %d, want 5", got)
	}
	tb := play(t, "")
	tb.do("setting.define", `{"reason":"giants","setting":{"scales":{"small giant":{"strength":5},"leprechaun":{"strength":-6,"hit_points":"1/3"}}}}`)
	giant := tb.person("Og", "npc", `{"strength":"Terrible","scale":{"kind":"small giant"}}`)
	human := tb.person("Joe", "pc", `{"strength":"Great"}`)
	wee := tb.person("Fionn", "npc", `{"strength":"Superb","scale":{"kind":"Leprechaun"}}`)
	against := func(a, b string) events.Throw {
		facts := tb.do("contest", fmt.Sprintf(`{"sides":[{"character":%q,"trait":"Strength"},{"character":%q,"trait":"strength"}]}`, a, b), 3, 4, 3, 4)
		consistent(t, facts)
		return throws(t, facts)[0]
	}
	outcome(t, against(giant, human), "status quo", 0, "Great")
	outcome(t, against(human, wee), "wins", 5, "Great")
	outcome(t, against(giant, wee), "wins", 5, "Great")
	// What is rolled instead of Strength has no scale; Strength that is rolled instead has.
	judo := tb.person("Ulla", "npc", `{"strength":"Terrible","traits":{"Judo":"Good"},"scale":{"kind":"small giant"}}`)
	instead := `{"sides":[{"character":%q,"trait":%q,"secondary":%q,"secondary_instead":true},{"character":%q,"trait":"Strength"}]}`
	facts := tb.do("contest", fmt.Sprintf(instead, judo, "Strength", "Judo", human), 3, 4, 3, 4)
	outcome(t, throws(t, facts)[0], "loses", -1, "Good")
	strong := tb.person("Bo", "npc", `{"strength":"Poor","traits":{"Lifting":"Terrible"},"scale":{"kind":"small giant"}}`)
	facts = tb.do("contest", fmt.Sprintf(instead, strong, "Lifting", "Strength", human), 3, 4, 3, 4)
	outcome(t, throws(t, facts)[0], "wins", 1, "Superb")                                                                              // Poor and 5
	outcome(t, against(giant, tb.person("Ug", "npc", `{"strength":"Poor","scale":{"kind":"small giant"}}`)), "loses", -1, "Terrible") // on their own scale
	lift := tb.do("check", fmt.Sprintf(`{"character":%q,"trait":"Strength","difficulty":"Poor","human_scale":true}`, wee), 3, 4)
	outcome(t, throws(t, lift)[0], "failure", -1, "Terrible")
	own := tb.do("check", fmt.Sprintf(`{"character":%q,"trait":"Strength","difficulty":"Superb"}`, wee), 3, 4)
	outcome(t, throws(t, own)[0], "success", 0, "Superb")
	if s := tb.body(wee).Sheet.Scale; s.HitPoints != "1/3" || s.Strength != -6 {
		t.Errorf("the scale on the sheet is %+v", s)
	}
}

// B9.1: a leprechaun "might need a Superb strength degree task" for what a human
// does without a roll. Whether a task needs dice is a matter of who tries.
func TestHumanTasksOfOtherScales(t *testing.T) {
	tb := play(t, "")
	tb.do("setting.define", `{"reason":"giants","setting":{"scales":{"giant":{"strength":5},"leprechaun":{"strength":-6}}}}`)
	wee := tb.person("Fionn", "npc", `{"strength":"Superb","traits":{"Climbing":"Good"},"scale":{"kind":"leprechaun"}}`)
	giant := tb.person("Og", "npc", `{"strength":"Terrible","scale":{"kind":"giant"}}`)
	human := tb.person("Joe", "pc", `{"strength":"Fair"}`)
	lift := func(who, task string, faces ...int) []events.Fact {
		t.Helper()
		return tb.do("check", fmt.Sprintf(`{"character":%q,"trait":"Strength","difficulty":%q,"human_scale":true}`, who, task), faces...)
	}
	one[*RollSkipped](t, lift(human, "Terrible"))
	outcome(t, throws(t, lift(wee, "Terrible", 3, 4))[0], "success", 0, "Terrible")
	outcome(t, throws(t, lift(wee, "Terrible", 3, 3))[0], "success", 0, "Terrible")
	outcome(t, throws(t, lift(wee, "Terrible", 2, 3))[0], "failure", -1, "Terrible-1")
	for _, task := range []string{"Terrible", "Poor", "Fair", "Good"} { // Good is 4 levels above a giant's Terrible - 5
		if s := one[*RollSkipped](t, lift(giant, task)); s.Outcome != "success" || s.Rule != "FUDGE-4" {
			t.Errorf("%s: %+v", task, s)
		}
	}
	outcome(t, throws(t, lift(giant, "Superb", 3, 4))[0], "failure", -1, "Great")
	refused := `{"character":%q,"human_scale":true,%s}`
	tb.no("scale_is_of_strength", "FUDGE-60", "check", fmt.Sprintf(refused, wee, `"trait":"Climbing"`))
	tb.no("scale_is_of_strength", "FUDGE-60", "check", fmt.Sprintf(refused, giant, `"trait":"Strength","secondary":"Constitution","secondary_instead":true`))
	tb.do("target.seal", fmt.Sprintf(`{"seal":%q}`, strings.Repeat("ab", 32)))
	n := tb.Records[len(tb.Records)-1].N
	tb.invalid("human_scale", "check", fmt.Sprintf(refused, wee, fmt.Sprintf(`"trait":"Strength","target":%d`, n)))
}

// Attributes other than Strength and Hit Points may be on another scale, too
// (FUDGE-65): the game master, nobody else, gives the levels between the two.
func TestOtherAttributesOnOtherScales(t *testing.T) {
	tb := play(t, "")
	giant := tb.person("Og", "pc", `{"traits":{"Fatigue":"Poor"}}`)
	human := tb.person("Joe", "npc", `{"traits":{"Fatigue":"Superb"}}`)
	data := fmt.Sprintf(`{"sides":[{"character":%q,"trait":"Fatigue","modifiers":[{"label":"a giant's scale","value":6}]},{"character":%q,"trait":"Fatigue"}]}`, giant, human)
	facts := tb.do("contest", data, 3, 4, 3, 4)
	outcome(t, throws(t, facts)[0], "wins", 1, "Superb+1")
	consistent(t, facts)
	if err := tb.Refused("mara", "contest", data); err == nil {
		t.Error("a player says what scale a trait is on")
	}
}

// A hidden degree task is judged when it is opened.
func TestJudge(t *testing.T) {
	for _, row := range []struct {
		total, value int
		outcome      string
		margin       int
	}{{1, 0, "success", 1}, {0, 0, "success", 0}, {-1, 0, "failure", -1}, {-7, -3, "success", -4}} {
		if got, margin := (System{}).Judge(rules.Options{}, row.total, row.value); got != row.outcome || margin != row.margin {
			t.Errorf("%+v: %s by %d", row, got, margin)
		}
	}
	tb := play(t, "")
	sam := tb.person("Sam", "pc", `{"traits":{"Bow":"Good"}}`)
	tb.do("target.seal", fmt.Sprintf(`{"seal":%q}`, strings.Repeat("ab", 32)))
	n := tb.Records[len(tb.Records)-1].N
	th := throws(t, tb.do("check", fmt.Sprintf(`{"character":%q,"trait":"Bow","target":%d}`, sam, n), 3, 4))[0]
	if th.Total != 1 || th.Against != nil || th.Outcome != "" {
		t.Errorf("%+v", th)
	}
	tb.no("not_sealed", "", "check", fmt.Sprintf(`{"character":%q,"trait":"Bow","target":1}`, sam))
	tb.invalid("difficulty", "check", fmt.Sprintf(`{"character":%q,"trait":"Bow","target":%d,"difficulty":"Good"}`, sam, n))
}

func TestSheets(t *testing.T) {
	tb := play(t, "")
	create := `{"name":"Ann","kind":"npc","creation":"free","sheet":%s}`
	tb.no("trait_out_of_scale", "FUDGE-5", "character.create", fmt.Sprintf(create, `{"traits":{"Sword":"Superb+1"}}`))
	tb.no("trait_out_of_scale", "FUDGE-5", "character.create", fmt.Sprintf(create, `{"traits":{"Sword":"Terrible-1"}}`))
	tb.no("sf_armour_is_4_or_more", "FUDGE-43", "character.create", fmt.Sprintf(create, `{"armour":{"kind":"sf","value":3}}`))
	for sheet, field := range map[string]string{
		`{"traits":{"Sword":"good"}}`:                             "sheet.traits.Sword",
		`{"strength":"Superb+1"}`:                                 "sheet.strength",
		`{"traits":{"Sword":"Good","sword":"Fair"}}`:              "sheet.traits",
		`{"traits":{"Strength":"Good"},"strength":"Fair"}`:        "sheet.traits.Strength",
		`{"armour":{"kind":"light","value":2}}`:                   "sheet.armour.value",
		`{"weapons":{"club":{}}}`:                                 "sheet.weapons.club",
		`{"weapons":{"club":{"size":"small","strength":1}}}`:      "sheet.weapons.club",
		`{"weapons":{"gun":{"strength":1,"sharp":true}}}`:         "sheet.weapons.gun.sharp",
		`{"weapons":{"gun":{"strength":1},"Gun":{"strength":2}}}`: "sheet.weapons",
		`{"scale":{"hit_points":"0"}}`:                            "sheet.scale.hit_points",
		`{"scale":{"hit_points":"1e9"}}`:                          "sheet.scale.hit_points",
		`{"scale":{"kind":"dragon"}}`:                             "sheet.scale.kind",
		`{"luck":"Good"}`:                                         "sheet.luck",
	} {
		tb.invalid(field, "character.create", fmt.Sprintf(create, sheet))
	}
	ann := tb.person("Ann", "npc", `{"traits":{"strength":"Great","Sword":"Good"}}`)
	if s := tb.body(ann).Sheet; s.Strength != "Great" || len(s.Traits) != 1 || s.Constitution != "Fair" {
		t.Errorf("%+v", s)
	}
	tb.refold()
	for setting, field := range map[string]string{
		`{"track":{"Good+1":{"hurt":1,"very_hurt":2,"disabled":3,"near_death":4}}}`: "setting.track.Good+1",
		`{"track":{"Good":{"hurt":5,"very_hurt":2,"disabled":3,"near_death":4}}}`:   "setting.track.Good",
		`{"weapons":{"gun":{}}}`:                                  "setting.weapons.gun",
		`{"weapons":{"gun":{"strength":1},"Gun":{"strength":1}}}`: "setting.weapons",
		`{"scales":{"dragon":{"hit_points":"-5"}}}`:               "setting.scales.dragon.hit_points",
		`{"scales":{"dragon":{"kind":"wyrm"}}}`:                   "setting.scales.dragon.kind",
	} {
		tb.invalid(field, "setting.define", `{"reason":"x","setting":`+setting+`}`)
	}
}
