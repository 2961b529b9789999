package rpgamix_test

import (
	"fmt"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"tallystick/rules"
)

// readings are what each option changes, seen through commands.
var readings = map[string]struct {
	play func(g game) string
	want map[string]string // by value
}{
	"rpgamix.difficulty_tie": {func(g game) string {
		x := g.npc("x", sheet(""))
		g.Must("gm", "check", fmt.Sprintf(`{"character":%q,"stat":"int","difficulty":5}`, x), 5)
		return g.roll().Outcome
	}, map[string]string{"success": "success", "fail": "failure"}},
	"rpgamix.con_tie": {func(g game) string {
		x := g.npc("x", sheet(""))
		g.wound(x, 5, 5)
		return g.conditions(x)
	}, map[string]string{"success": "", "fail": "unconscious"}},
	"rpgamix.weapon_to_hit": {func(g game) string {
		x := g.npc("x", sheet(""))
		g.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"thing":{"name":"door"},"weapon":"broad sword","difficulty":1}`, x), 6)
		return words(g.roll().Total)
	}, map[string]string{"true": "2", "false": "4"}}, // two are missing strength in both
	"rpgamix.weapon_parry": {func(g game) string {
		x, y := g.npc("x", sheet("")), g.npc("y", sheet(""))
		g.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"defence":{"weapon":"shield"}}`, x, y), 1, 5)
		if code := g.code("attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"defence":{"weapon":"kick"}}`, x, y)); code != "cannot_parry_with_that" {
			return code
		}
		return words(g.roll().Also[0].Total)
	}, map[string]string{"true": "10", "false": "5"}},
	"rpgamix.short_sword_potential": {func(g game) string {
		x := g.npc("x", sheet(""))
		g.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"thing":{"name":"door"},"weapon":"Short Sword","difficulty":1}`, x), 6)
		return words(g.blow().DamageFactor)
	}, map[string]string{"30": "30", "15": "15"}},
	"rpgamix.range_boundary": {func(g game) string {
		x := g.npc("x", sheet(""))
		g.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"thing":{"name":"door"},"weapon":"sling","distance_cm":10000,"difficulty":1}`, x), 6)
		return words(g.roll().Modifiers)
	}, map[string]string{"near": "[{Distance -2 RPGX-17}]", "far": "[{Distance -3 RPGX-17}]"}},
	"rpgamix.javelin_factor": {func(g game) string {
		x := g.npc("x", sheet("str 1"))
		throw := fmt.Sprintf(`{"attacker":%q,"thing":{"name":"door"},"weapon":"javelin","distance_cm":%%d,"difficulty":1}`, x)
		if _, err := g.Do(g.Command("gm", "attack", fmt.Sprintf(throw, 11_000), 5)); err != nil {
			g.Must("gm", "attack", fmt.Sprintf(throw, 1_100), 5)
			return "11 m"
		}
		return "110 m"
	}, map[string]string{"1": "11 m", "10": "110 m"}},
	"rpgamix.min_range_mode": {func(g game) string {
		x := g.npc("x", sheet(""))
		_, err := g.Do(g.Command("gm", "attack", fmt.Sprintf(`{"attacker":%q,"thing":{"name":"door"},"weapon":"long sword","distance_cm":199,"difficulty":1}`, x), 6))
		return words(err == nil)
	}, map[string]string{"literal": "false", "advisory": "true"}},
	"rpgamix.armour_wear": {func(g game) string {
		x, y := g.npc("x", sheet("")), g.npc("y", sheet("wits 5 con 5", `"armour":[{"name":"leather","points":2}]`))
		for range 2 {
			g.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"custom":{"name":"axe","potential":10},"difficulty":1}`, x, y), 4, 10)
		}
		return words(g.blow().Taken)
	}, map[string]string{"none": "1", "ablative": "3"}},
	"rpgamix.stun_tie": {func(g game) string {
		x, y := g.npc("x", sheet("")), g.npc("y", sheet(""))
		g.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q}`, x, y), 9, 9, 10) // the case of a touch by 9 against 9
		stunned := g.conditions(y)
		g.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q}`, x, y), 9, 9, 9)
		return stunned + ", " + g.conditions(y)
	}, map[string]string{"stunned": "stunned, stunned", "safe": ", stunned"}},
	"rpgamix.stunned_defence": {func(g game) string {
		x, y := g.npc("x", sheet("")), g.npc("y", sheet(""))
		g.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q}`, x, y), 9, 9, 1)
		cmd := g.Command("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q}`, x, y), 1, 9)
		if _, err := g.Do(cmd); err == nil {
			return words(g.blow().Defence)
		}
		g.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q}`, x, y), 1, 9) // a touch of no damage: stun
		return words(g.blow().Defence)
	}, map[string]string{"rolls": "9", "none": "0"}},
	"rpgamix.waking": {func(g game) string {
		x := g.npc("x", sheet(""))
		g.wound(x, 6, 1)
		g.Must("gm", "heal.grant", fmt.Sprintf(`{"character":%q,"points":6,"cause":"a potion"}`, x))
		return g.conditions(x)
	}, map[string]string{"healing": "", "gm": "unconscious"}},
	"rpgamix.health_penalty_on_defence": {func(g game) string {
		x, y := g.npc("x", sheet("")), g.npc("y", sheet(""))
		g.wound(y, 6, 10)
		g.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q}`, x, y), 1, 9)
		return words(g.blow().Defence)
	}, map[string]string{"true": "7", "false": "9"}},
	"rpgamix.exertion_counts_entry": {func(g game) string {
		x := casualty(g, 8, false)
		g.Must("gm", "rpgamix.exert", fmt.Sprintf(`{"character":%q,"act":"crawling"}`, x), 9)
		first := g.roll().Against.Value
		g.Must("gm", "rpgamix.exert", fmt.Sprintf(`{"character":%q,"act":"crawling"}`, x), 9)
		return words(first, g.roll().Against.Value)
	}, map[string]string{"false": "5 6", "true": "6 7"}},
	"rpgamix.skip_certain_rolls": {func(g game) string {
		x := g.npc("x", sheet("con 5"))
		g.wound(x, 21, 10)
		return words(*g.vitals(x).NextTick)
	}, map[string]string{"true": "{86400 day}", "false": "{3600 hour}"}},
	"rpgamix.poor_yes_day_loss": {func(g game) string {
		x := casualty(g, 13, true)
		g.advance(day, 4)
		return words(g.points(x))
	}, map[string]string{"1": "12", "0": "13"}},
	"rpgamix.clock": {func(g game) string {
		g.advance(100)
		x := casualty(g, 23, false)
		due := words(g.vitals(x).NextTick.Due)
		g.treat(x)
		return due + " " + words(g.vitals(x).NextTick.Due)
	}, map[string]string{"row_entry": "86500 86500", "calendar": "86400 86400"}},
	"rpgamix.round_seconds": {func(g game) string {
		x := casualty(g, 3, false)
		return words(g.vitals(x).NextTick.Due)
	}, map[string]string{"3": "3", "6": "6"}},
	"rpgamix.new_wound_unstabilises": {func(g game) string {
		x := casualty(g, 3, true)
		g.wound(x, 1)
		return g.vitals(x).NextTick.Kind
	}, map[string]string{"true": "round", "false": "day"}},
	"rpgamix.stat_cap_by_points": {func(g game) string {
		_, err := g.Do(g.Command("gm", "character.create", creation("book", sheet(jimStats, `"exchange":true`))))
		_, without := g.Do(g.Command("gm", "character.create", creation("book", sheet(jimStats))))
		return words(err == nil, without == nil)
	}, map[string]string{"false": "false false", "true": "true false"}},
	"rpgamix.creation_points": {func(g game) string {
		_, sheets := g.Do(g.Command("gm", "character.create", creation("book", sheet(sueStats, `"points":20`, `"skills":{"Running":20}`))))
		_, fixed := g.Do(g.Command("gm", "character.create", creation("book", sheet(sueStats, `"skills":{"Running":30}`))))
		return words(sheets == nil, fixed == nil)
	}, map[string]string{"0": "true false", "30": "false true"}},
	"rpgamix.aggravated_on_tie": {func(g game) string {
		x := g.npc("x", sheet("", `"skills":{"Aggravated Attack":4}`))
		g.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"thing":{"name":"door"},"custom":{"name":"axe","potential":24},"difficulty":7,"aggravated":{}}`, x), 3)
		return words(g.blow().Damage)
	}, map[string]string{"false": "0", "true": "9"}},
	"rpgamix.fire_pool_from": {func(g game) string {
		x := g.pyromancer(7) // and 11 points of spells
		for n := 40; n > 0; n-- {
			cmd := g.Command("gm", "rpgamix.pool", fmt.Sprintf(`{"character":%q,"pool":"Fire pool","change":%d,"cause":"counting"}`, x, -n))
			if _, err := g.Do(cmd); err == nil {
				return words(n)
			}
		}
		return "empty"
	}, map[string]string{"pool_points": "3", "all_discipline_points": "34"}},
}

// Every option is tested in both readings, and the default is the first.
func TestOptions(t *testing.T) {
	for _, o := range book.Describe().Options {
		x, ok := readings[o.Name]
		if !ok || len(x.want) < 2 || o.Doc == "" || o.Rule == "" {
			t.Errorf("%s is not tested in both readings", o.Name)
		}
		for _, v := range o.Values {
			if _, ok := x.want[v]; !ok {
				t.Errorf("%s is not tested with %s", o.Name, v)
			}
		}
		for value, want := range x.want {
			got := x.play(play(t, fmt.Sprintf(`{%q:%q}`, o.Name, value)))
			same(t, o.Name+"="+value, got, want)
			if value == o.Default {
				same(t, o.Name+" by default", x.play(play(t, "")), want)
			}
		}
	}
	if len(readings) != len(book.Describe().Options) {
		t.Errorf("%d readings for %d options", len(readings), len(book.Describe().Options))
	}
}

// Rules 1 to 92 are listed, each once.
func TestRulesAreListed(t *testing.T) {
	all := book.Describe().Rules
	for i, r := range all {
		if r.ID != fmt.Sprint("RPGX-", i+1) || r.Title == "" {
			t.Errorf("rule %d is %+v", i+1, r)
		}
	}
	same(t, "rules", len(all), 92)
	if _, err := rules.Resolve(book, map[string]jsontext.Value{"rpgamix.round_seconds": jsontext.Value("0")}); err == nil {
		t.Error("a round of no time is accepted")
	}
}
