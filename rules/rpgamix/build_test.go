package rpgamix_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"tallystick/events"
	"tallystick/rules"
)

func creation(how, sheet string) string {
	return fmt.Sprintf(`{"name":"x","kind":"pc","creation":%q,"sheet":%s}`, how, sheet)
}

const (
	bobStats = "str 5 con 1 dex 0 int -1 wits 1 per 0 cha -2 app 0"
	jimStats = "str 6 con 0 dex -1 int -2 wits -1 per -1 cha 0 app 1"
	sueStats = "str 3 con 1 dex -2 int 1 wits -1 per -3 cha 2 app 1"
	halStats = "str 2 con -2 dex 4 int -2 wits -4 per 0 cha 0 app 0"
)

// The book's four characters, judged as the book judges them (RPGX-56).
func TestFourExamples(t *testing.T) {
	for _, x := range []struct{ name, sheet, want string }{
		{"Bob", sheet(bobStats), "total_over RPGX-54"},
		{"Jim", sheet(jimStats), "stat_over_5 RPGX-55"},
		{"Sue", sheet(sueStats), ""},
		{"Hal", sheet(halStats), "total_under RPGX-54"},
		{"Bob for ten points", sheet(bobStats, `"exchange":true`, `"points":10`), ""},
		{"Bob for nine points", sheet(bobStats, `"exchange":true`, `"points":9`), "points_over RPGX-58"},
		{"the least and the greatest", sheet("con -5 str 5 dex 2"), ""},
		{"Hal sells", sheet(halStats, `"exchange":true`, `"skills":{"Running":20}`), ""},
		{"Hal sells no more", sheet(halStats, `"exchange":true`, `"skills":{"Running":21}`), "points_over RPGX-58"},
	} {
		t.Run(x.name, func(t *testing.T) {
			g := play(t, "")
			_, err := g.Do(g.Command("gm", "character.create", creation("book", x.sheet)))
			got := ""
			var no *rules.Rejection
			if errors.As(err, &no) {
				got = no.Code + " " + no.Rule
			}
			same(t, fmt.Sprint(err), got, x.want)
			g.Must("gm", "character.create", creation("free", x.sheet))
		})
	}
}

// Every objection is named, not the first alone.
func TestEveryObjection(t *testing.T) {
	g := play(t, `{"rpgamix.creation_points":40}`)
	bad := sheet("str 7 con -6", `"points":30`,
		`"skills":{"Surgery":3,"Running":60,"Lore: Samurai":1}`,
		`"disciplines":[{"name":"Medical Doctor"},{"name":"College Education"},{"name":"Generic Fighting","cost":19,"pool_points":2},{"name":"Necromancy","cost":5}]`,
		`"backgrounds":{"Danger Sense":3,"Rich":3,"Licence to Practice Medicine":1}`, `"pools":{"ki":3}`)
	err := g.Refused("gm", "character.create", creation("book", bad))
	for _, part := range []string{
		"the stats sum to 1, which is 1 under 2", "Strength is 7", "Constitution is -6", "built with 40 points, not 30",
		"Medical Doctor takes Elementary Education first", "Medical Doctor takes Highschool Education first",
		"the price of College Education is not fixed", "Generic Fighting does not cost 19", "Generic Fighting has no pool",
		"a discipline Necromancy", "the skill Lore: Samurai takes a discipline", "Danger Sense takes a discipline",
		"Rich costs 2, not 3", "Licence to Practice Medicine comes free", "the variable ki", "points are spent, and there are 40",
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say: %s", err, part)
		}
	}
	var no *rules.Rejection
	if !errors.As(err, &no) {
		t.Fatal(err)
	}
	var each []string
	for _, x := range no.Each {
		each = append(each, x.Rule+" "+x.Code+" "+x.Field)
		if !strings.Contains(no.Reason, x.Reason) {
			t.Errorf("%q is not in %q", x.Reason, no.Reason)
		}
	}
	same(t, "one by one", strings.Join(each, "\n"), `RPGX-54 total_under sheet.stats
RPGX-55 stat_over_5 sheet.stats.str
RPGX-55 stat_under_-5 sheet.stats.con
RPGX-58 points_fixed sheet.points
RPGX-60 missing_prerequisite sheet.disciplines
RPGX-60 missing_prerequisite sheet.disciplines
RPGX-59 discipline_cost_unknown sheet.disciplines
RPGX-59 discipline_cost sheet.disciplines
RPGX-62 no_pool sheet.disciplines
RPGX-59 unknown_discipline sheet.disciplines
RPGX-59 not_permitted sheet.skills
RPGX-65 not_permitted sheet.backgrounds
RPGX-89 background_cost sheet.backgrounds
RPGX-64 background_cost sheet.backgrounds
RPGX-62 pool_not_bought sheet.pools
RPGX-58 points_over sheet.points`)
	if strings.Contains(err.Error(), "Surgery") {
		t.Errorf("%q objects to a skill that Medical Doctor permits", err)
	}
	same(t, "free", g.code("character.create", creation("free", bad)), "stat_under_-5")
}

// What book creation allows, and what it costs (RPGX-57 to RPGX-65, RPGX-89).
func TestBudgets(t *testing.T) {
	school := `{"name":"Elementary Education"},{"name":"Highschool Education"}`
	for _, x := range []struct {
		name, members string
		points        int // what it costs: one point less is refused
	}{
		{"skills", `"skills":{"Running":3,"Reading":2}`, 5},
		{"school", `"disciplines":[` + school + `]`, 10},
		{"nested", `"disciplines":[` + school + `,{"name":"Math","cost":4}]`, 14},
		{"doctor", `"disciplines":[` + school + `,{"name":"College Education","cost":5},{"name":"Medical Doctor"}],"skills":{"Surgery":3,"EMT":1},"backgrounds":{"Wealth":4,"Licence to Practice Medicine":0}`, 33},
		{"fighting", `"disciplines":[{"name":"Generic Fighting","cost":25}],"skills":{"Aggravated Attack":4,"Lore: Generic Fighting":2}`, 31},
		{"fire", `"disciplines":[{"name":"Brotherhood of Pyromancy","pool_points":7}],"skills":{"Create Fire":2}`, 59},
		{"filthy rich leper", `"backgrounds":{"Filthy rich":5,"Leprosy":-10},"skills":{"Running":9}`, 4},
		{"samurai", `"disciplines":[{"name":"Samurai","cost":8}],"backgrounds":{"Danger Sense":2,"Mentor":1}`, 11},
		{"fame", `"backgrounds":{"Fame":7}`, 7},
	} {
		t.Run(x.name, func(t *testing.T) {
			g := play(t, "")
			make := func(points int) string {
				return creation("book", sheet(sueStats, fmt.Sprintf(`"points":%d`, points), x.members))
			}
			same(t, "a point less", g.code("character.create", make(x.points-1)), "points_over")
			g.Must("gm", "character.create", make(x.points))
		})
	}
	for members, want := range map[string]string{
		`"skills":{"Surgery":1}`:                                            "not_permitted",
		`"skills":{"Computers":1}`:                                          "not_permitted",
		`"skills":{"running":1,"Running":1}`:                                "invalid sheet.skills",
		`"backgrounds":{"Mentor":1}`:                                        "not_permitted",
		`"backgrounds":{"Leprosy":-5}`:                                      "background_cost",
		`"disciplines":[{"name":"Highschool Education"}]`:                   "missing_prerequisite",
		`"disciplines":[{"name":"Samurai"}]`:                                "discipline_cost_unknown",
		`"disciplines":[{"name":"Generic Fighting"}]`:                       "discipline_cost_unknown",
		`"disciplines":[{"name":"Generic Fighting","cost":22}]`:             "discipline_cost",
		`"disciplines":[{"name":"Samurai","cost":1},{"name":"SAMURAI"}]`:    "invalid sheet.disciplines",
		`"disciplines":[{"name":"Samurai","cost":1,"pool_points":1}]`:       "no_pool",
		`"disciplines":[{"name":"Alchemy","cost":1}]`:                       "unknown_discipline",
		`"pools":{"ki":1}`:                                                  "pool_not_bought",
		`"armour":[{"name":"plate"}]`:                                       "invalid sheet.armour.0.points",
		`"weapons":[{"name":"a","potential":1},{"name":"A","potential":1}]`: "invalid sheet.weapons",
		`"nature":"ghost"`:                                                  "invalid sheet.nature",
		`"stars":1`:                                                         "invalid sheet.stars",
	} {
		g := play(t, "")
		same(t, members, g.code("character.create", creation("book", sheet(sueStats, `"points":500`, members))), want)
	}
}

// Disciplines bring skills and lore, which count in rolls with what is bought
// (RPGX-61, RPGX-86).
func TestGrants(t *testing.T) {
	g := play(t, "")
	mara := g.npc("Mara", sheet("", `"skills":{"Reading":1,"Surgery":2}`, `"disciplines":[{"name":"Elementary Education"}]`))
	for skill, want := range map[string]int{"Reading": 4, "writing": 3, "Lore: Elementary Education": 3, "Surgery": 3, "Geography": 1, "Juggling": 1} {
		g.Must("gm", "check", fmt.Sprintf(`{"character":%q,"stat":"int","skill":%q}`, mara, skill), 1)
		same(t, skill, g.roll().Total, want)
	}
}

// Skills above 5 and stats above 5 are warned of, not refused, in free
// creation (RPGX-2, RPGX-55).
func TestWarnings(t *testing.T) {
	g := play(t, "")
	g.npc("Giant", sheet("str 12 con 5", `"skills":{"Club":6,"Kick":5}`))
	e, err := book.Registry().Decode(g.Records[len(g.Records)-1])
	if err != nil {
		t.Fatal(err)
	}
	same(t, "warnings", words(e.(*events.CharacterCreated).Warnings), "[RPGX-55: Strength is 12, above the book's 5 RPGX-2: the skill Club is 6, above the usual 5]")
}

// A setting that contradicts itself is refused, and the field named.
func TestSetting(t *testing.T) {
	g := play(t, "")
	for setting, want := range map[string]string{
		`{"weapons":[{"name":"a","potential":1},{"name":"A","potential":2}]}`:                                         "setting.weapons",
		`{"weapons":[{"name":"a","potential":9,"models":5}]}`:                                                         "setting.weapons.0.models",
		`{"weapons":[{"name":"a","potential":9,"max_cm":5,"min_cm":6}]}`:                                              "setting.weapons.0.max_cm",
		`{"weapons":[{"name":"a","potential":9,"min_cm":6,"choked_cm":7}]}`:                                           "setting.weapons.0.choked_cm",
		`{"disciplines":[{"name":"a","requires":["b"]}]}`:                                                             "setting.disciplines.0.requires.0",
		`{"disciplines":[{"name":"a","requires":["A"]}]}`:                                                             "setting.disciplines.0.requires.0",
		`{"disciplines":[{"name":"a","requires":["b"]},{"name":"b","requires":["c"]},{"name":"c","requires":["A"]}]}`: "setting.disciplines.0.requires.0",
		`{"disciplines":[{"name":"Elementary Education","requires":["Math"]}]}`:                                       "setting.disciplines.0.requires.0",
		`{"disciplines":[{"name":"a","disciplines":["b"]}]}`:                                                          "setting.disciplines.0.disciplines.0",
		`{"disciplines":[{"name":"a","techniques":[{"skill":"x","use":"y"}]}]}`:                                       "setting.disciplines.0.techniques.0.use",
		`{"skills":[{"name":"a","stat":"luck"}]}`:                                                                     "setting.skills.0.stat",
	} {
		same(t, setting, g.code("setting.define", `{"reason":"x","setting":`+setting+`}`), "invalid "+want)
	}
	g.Must("gm", "setting.define", `{"reason":"x","setting":{"disciplines":[{"name":"Kendo","costs":[10],"requires":["Samurai"]},{"name":"Samurai","costs":[3],"grants":{"Bow":1}}],"backgrounds":{"Rich":9},"weapons":[{"name":"Club","potential":99,"max_cm":100}]}}`)
	g.Must("gm", "character.create", creation("book", sheet(sueStats, `"points":22`, `"disciplines":[{"name":"Kendo"},{"name":"Samurai"}]`, `"backgrounds":{"rich":9}`)))
	bob := g.npc("Bob", sheet(""))
	g.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"thing":{"name":"door"},"weapon":"club","difficulty":1}`, bob), 10)
	same(t, "the campaign's club", g.blow().DamageFactor, 99)
}

// A discipline of the campaign permits further disciplines: those of its own,
// which nothing else opens, and such as have another way to them (RPGX-60).
func TestFurtherDisciplines(t *testing.T) {
	g := play(t, "")
	g.Must("gm", "setting.define", `{"reason":"x","setting":{"disciplines":[{"name":"Tutor","costs":[3],"disciplines":["math","Inner Circle"]},
		{"name":"Lodge","costs":[1],"disciplines":["Inner Circle"]},{"name":"Inner Circle","costs":[2]}]}}`)
	for disciplines, want := range map[string]string{
		`{"name":"Math","cost":1}`:                         "Math takes Highschool Education first",
		`{"name":"Tutor"},{"name":"Math","cost":1}`:        "",
		`{"name":"Inner Circle"}`:                          "Inner Circle takes Tutor or Lodge first",
		`{"name":"Lodge"},{"name":"Inner Circle"}`:         "",
		`{"name":"Lodge"},{"name":"Math","cost":1}`:        "Math takes Highschool Education first",
		`{"name":"Elementary Education"},{"name":"Lodge"}`: "",
		`{"name":"Highschool Education"},{"name":"Tutor"}`: "Highschool Education takes Elementary Education first",
	} {
		_, err := g.Do(g.Command("gm", "character.create", creation("book", sheet(sueStats, `"points":50`, `"disciplines":[`+disciplines+`]`))))
		got := ""
		if no := (*rules.Rejection)(nil); errors.As(err, &no) {
			got = no.Reason
		}
		same(t, words(disciplines, err), got, want)
	}
}

// A skill that several disciplines permit takes only one of them (RPGX-90).
func TestSkillOfSeveralDisciplines(t *testing.T) {
	g := play(t, "")
	g.Must("gm", "setting.define", `{"reason":"x","setting":{"disciplines":[{"name":"Paramedic","costs":[4],"permits":["EMT","Emergency Driving"]}]}}`)
	medic := func(members string) string { return creation("book", sheet(sueStats, `"points":9`, members)) }
	same(t, "none", g.code("character.create", medic(`"skills":{"EMT":2}`)), "not_permitted")
	g.Must("gm", "character.create", medic(`"skills":{"EMT":2},"disciplines":[{"name":"Paramedic"}]`))
}
