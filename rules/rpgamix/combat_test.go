package rpgamix_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tallystick/rules"
	"tallystick/rules/rpgamix"
)

func (g game) bobAndSue() (bob, sue string) {
	bob = g.npc("Bob", sheet("str 5", `"skills":{"Short Sword":3}`))
	sue = g.npc("Sue", sheet("dex -2 con 1 wits -1", `"skills":{"Parry":3}`))
	return bob, sue
}

// blow is the outcome that stands beside the last attack roll.
func (g game) blow() rpgamix.Blow {
	g.T.Helper()
	r := g.roll()
	detail := r.Detail
	for _, also := range r.Also {
		if detail == nil {
			detail = also.Detail
		}
	}
	var b rpgamix.Blow
	if err := json.Unmarshal(detail, &b); err != nil {
		g.T.Fatal(err)
	}
	return b
}

// The book's example: Bob, Sue and the comic books. 12 points, with the weapon
// as that example has it.
func TestBobAndSue(t *testing.T) {
	asWritten := `{"rpgamix.short_sword_potential":15,"rpgamix.weapon_to_hit":false,"rpgamix.weapon_parry":false}`
	for _, x := range []struct{ name, options, weapon string }{
		{"options", asWritten, `"weapon":"short sword"`},
		{"custom weapon", "", `"custom":{"name":"short sword","potential":15}`},
	} {
		t.Run(x.name, func(t *testing.T) {
			g := play(t, x.options)
			bob, sue := g.bobAndSue()
			data := fmt.Sprintf(`{"attacker":%q,"target":%q,%s,"defence":{"skill":"Parry"}}`, bob, sue, x.weapon)
			g.Must("gm", "attack", data, 6, 2, 10, 4)
			same(t, "blow", g.blow(), rpgamix.Blow{Attack: 9, Defence: 3, Hit: true, SuccessFactor: 60, DamageFactor: 20, Damage: 12, Taken: 12})
			same(t, "Sue", words(g.vitals(sue).Health), "{18 30 poor -4}")
			same(t, "12 points stun for certain", g.conditions(sue), "stunned")
			same(t, "events", g.types(), "roll.made wound.inflicted condition.gained")
			r := g.roll()
			same(t, "roll", words(r.Total, r.Against.Kind, r.Against.Value, r.Outcome, *r.Margin, len(r.Also)), "9 defence 3 hit 6 3")
			same(t, "defence", words(r.Also[0].Total, r.Also[0].Outcome, *r.Also[0].Margin, r.Also[0].Modifiers), "3 struck -6 [{Dexterity -2 RPGX-6} {Parry 3 RPGX-6}]")
		})
	}
}

// The same rolls with the weapon table as printed.
func TestBobAndSueByTheTable(t *testing.T) {
	g := play(t, "")
	bob, sue := g.bobAndSue()
	g.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"weapon":"short sword","defence":{"skill":"Parry"}}`, bob, sue), 6, 2, 10, 3)
	same(t, "blow", g.blow(), rpgamix.Blow{Attack: 8, Defence: 3, Hit: true, SuccessFactor: 50, DamageFactor: 35, Damage: 17, Taken: 17})
	same(t, "Sue is toast", g.conditions(sue), "stunned, unconscious")
	same(t, "points", g.points(sue), 13)
}

// Every modifier of an attack names its rule.
func TestModifiersOfAnAttack(t *testing.T) {
	g := play(t, "")
	bob := g.npc("Bob", sheet("dex 1", `"skills":{"Long Bow":2}`))
	sue := g.npc("Sue", sheet(""))
	g.wound(bob, 6, 10)
	g.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"weapon":"long bow","distance_cm":12000,"modifiers":[{"label":"fog","value":-1}],"difficulty":20}`, bob, sue), 10)
	same(t, "modifiers", words(g.roll().Modifiers), "[{Dexterity 1 RPGX-6} {Long Bow 2 RPGX-6} {Distance -3 RPGX-17} {Missing strength -2 RPGX-22} {fog -1 RPGX-3} {Fair health -2 RPGX-32}]")
	same(t, "miss", words(g.roll().Outcome, g.types()), "miss roll.made")
}

// A tie touches: no damage, but a stun roll. Stunned, Sue does nothing until
// the round after this one is over (RPGX-25, RPGX-26).
func TestTouchAndStun(t *testing.T) {
	g := play(t, "")
	bob := g.npc("Bob", sheet("", `"skills":{"Club":1}`))
	sue := g.npc("Sue", sheet(""))
	data := fmt.Sprintf(`{"attacker":%q,"target":%q,"weapon":"club"}`, bob, sue)
	g.advance(4) // in the middle of the second round
	g.Must("gm", "attack", data, 9, 9, 10)
	same(t, "touch", words(g.roll().Outcome, g.types()), "touch roll.made condition.gained")
	same(t, "until", words(g.vitals(sue).Conditions), "[{stunned 4 9 RPGX-26}]")
	same(t, "next", words(*g.vitals(sue).NextTick), "{9 stunned ends}")
	same(t, "Sue acts", g.code("check", fmt.Sprintf(`{"character":%q,"stat":"str"}`, sue)), "stunned")
	g.Must("gm", "attack", data, 9, 9, 9)
	g.advance(4)
	same(t, "a second before", g.conditions(sue), "stunned")
	g.advance(1)
	same(t, "over", g.types()+" "+g.conditions(sue), "condition.ended clock.advanced ")
	g.Must("gm", "check", fmt.Sprintf(`{"character":%q,"stat":"str"}`, sue), 3)
}

// The unconscious have no defence (RPGX-12): the book's 22 points.
func TestHelpless(t *testing.T) {
	g := play(t, `{"rpgamix.short_sword_potential":15,"rpgamix.weapon_to_hit":false}`)
	bob := g.npc("Bob", sheet("dex 2", `"skills":{"Short Sword":3}`))
	sue := g.npc("Sue", sheet("con 5"))
	g.wound(sue, 41)
	attack := fmt.Sprintf(`{"attacker":%q,"target":%q,"weapon":"short sword"`, bob, sue)
	same(t, "a defence", g.code("attack", attack+`,"defence":{"skill":"Dodge"}}`), "helpless")
	g.Must("gm", "attack", attack+"}", 10)
	same(t, "blow", words(g.blow()), "{15 0 true 150 15 22 22}")
	same(t, "events", g.types(), "roll.made wound.inflicted character.died")
	same(t, "on the dead", g.code("attack", attack+"}"), "dead")
	same(t, "by the dead", g.code("check", fmt.Sprintf(`{"character":%q,"stat":"str"}`, sue)), "dead")
}

// Armour stops points of every blow, and wears off only if the campaign says
// so (RPGX-23, RPGX-24).
func TestArmour(t *testing.T) {
	for options, second := range map[string]int{"": 0, `{"rpgamix.armour_wear":"ablative"}`: 8} {
		g := play(t, options)
		bob := g.npc("Bob", sheet("", `"skills":{"Knife":5}`))
		sue := g.npc("Sue", sheet("con 5 wits 5", `"armour":[{"name":"leather","points":3},{"name":"plate","points":7}]`))
		data := fmt.Sprintf(`{"attacker":%q,"target":%q,"weapon":"knife"}`, bob, sue)
		g.Must("gm", "attack", data, 5, 5, 1) // 50 % of 20
		same(t, "first", words(g.blow().Damage, g.blow().Taken, g.points(sue)), "10 0 50")
		g.Must("gm", "attack", data, 4, 5, 10) // 40 % of 20
		same(t, options, g.blow().Taken, second)
		g.Must("gm", "attack", data[:len(data)-1]+`,"armour":1}`, 1, 5, 10)
		same(t, "the game master's", g.blow().Taken, 1)
		if options != "" {
			same(t, "worn off", string(g.vitals(sue).State), `{"armour":{"left":0,"lost":10}}`)
			g.Must("gm", "attack", data, 1, 5, 10, 10)
			same(t, "what has worn off stops nothing and wears no more", g.types(), "roll.made wound.inflicted")
		}
	}
}

// Things take at most all of a weapon's damage; a machine with vital parts may
// take more (RPGX-11).
func TestThingsAsTargets(t *testing.T) {
	g := play(t, "")
	bob := g.npc("Bob", sheet("dex 5", `"skills":{"Knife":5}`))
	golem := g.npc("Golem", sheet("", `"nature":"thing"`))
	tank := g.npc("Tank", sheet("con 5", `"nature":"machine"`))
	for _, x := range []struct {
		target string
		factor int
		dice   []int
	}{
		{`"thing":{"name":"door"}`, 100, []int{10}},
		{`"thing":{"name":"door","armour":30}`, 100, []int{10}},
		{`"thing":{"name":"death star","machine":true}`, 150, []int{10}},
		{fmt.Sprintf(`"target":%q`, golem), 100, []int{10}},
		{fmt.Sprintf(`"target":%q`, tank), 150, []int{10}},
	} {
		g.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,%s,"weapon":"knife","difficulty":5}`, bob, x.target), x.dice...)
		same(t, x.target, g.blow().SuccessFactor, x.factor)
	}
	same(t, "the golem", g.points(golem), 5)
	same(t, "the tank", g.points(tank), 20)
}

// Choking up on a spear takes a round, and so does the full grip (RPGX-21).
func TestChoke(t *testing.T) {
	g := play(t, "")
	bob := g.npc("Bob", sheet("", `"skills":{"Spear":2}`))
	sue := g.npc("Sue", sheet("con 5 wits 5"))
	attack := fmt.Sprintf(`{"attacker":%q,"target":%q,"weapon":"spear","difficulty":30,"distance_cm":100}`, bob, sue)
	grip := func(grip, weapon string) string {
		return fmt.Sprintf(`{"character":%q,"weapon":%q,"grip":%q}`, bob, weapon, grip)
	}
	same(t, "too close", g.code("attack", attack), "inside_min_range")
	same(t, "a sword", g.code("rpgamix.choke", grip("choked", "long sword")), "cannot_choke")
	same(t, "full already", g.code("rpgamix.choke", grip("full", "spear")), "same_grip")
	g.Must("gm", "rpgamix.choke", grip("choked", "spear"))
	same(t, "in the same round", g.code("attack", attack), "changing_grip")
	g.advance(round)
	g.Must("gm", "attack", attack, 1)
	same(t, "beyond the short grip", g.code("attack", attack[:len(attack)-4]+"250}"), "beyond_max_range")
	g.Must("gm", "rpgamix.choke", grip("full", "spear"))
	g.advance(round)
	same(t, "too close again", g.code("attack", attack), "inside_min_range")
}

// Aggravated attack: the book's 12 points, and 90 % by two points of ki
// (RPGX-67, RPGX-68).
func TestAggravated(t *testing.T) {
	g := play(t, "")
	bob := g.npc("Bob", sheet("", `"skills":{"Aggravated Attack":4}`, `"disciplines":[{"name":"Generic Fighting","cost":20}]`, `"pools":{"ki":3}`))
	sue := g.npc("Sue", sheet("con 5"))
	attack := func(more string) string {
		return fmt.Sprintf(`{"attacker":%q,"target":%q,"custom":{"name":"sword","potential":24},"difficulty":6%s}`, bob, sue, more)
	}
	g.Must("gm", "attack", attack(`,"aggravated":{}`), 3, 10, 10)
	same(t, "once", words(g.blow().SuccessFactor, g.blow().Damage), "50 12")
	g.Must("gm", "attack", attack(`,"aggravated":{"twice":true}`), 3, 10, 10)
	same(t, "twice", words(g.blow().SuccessFactor, g.blow().Damage), "90 21")
	same(t, "events", g.types(), "roll.made rpgamix.pool.changed wound.inflicted condition.gained rpgamix.consciousness.checked")
	same(t, "one point of ki is not enough", g.code("attack", attack(`,"aggravated":{"twice":true}`)), "pool_too_small")
	same(t, "another skill", g.code("attack", attack(`,"skill":"Sword","aggravated":{}`)), "aggravated_skill_is_the_attack_skill")
	same(t, "no such technique", g.code("attack", attack(`,"aggravated":{"skill":"Sword"}`)), "not_aggravated")
	jim := g.npc("Jim", sheet(""))
	same(t, "not learned", g.code("attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"aggravated":{}}`, jim, bob)), "skill_not_learned")
}

// Strategic defence and its four uses: points serve once, against the same
// opponent (RPGX-69 to RPGX-73).
func TestStrategicDefence(t *testing.T) {
	setUp := func() (g game, bob, sue, jim, attack string) {
		g = play(t, "")
		bob = g.npc("Bob", sheet("", `"skills":{"Spear":3}`))
		sue = g.npc("Sue", sheet("", `"skills":{"Strategic Defense":3,"Knife":3}`))
		jim = g.npc("Jim", sheet(""))
		return g, bob, sue, jim, fmt.Sprintf(`{"attacker":%q,"target":%q,"weapon":"spear","custom":null,"defence":{"skill":"Strategic Defense"}}`, bob, sue)
	}
	use := func(who, opponent, rest string) string {
		return fmt.Sprintf(`{"character":%q,"opponent":%q,%s}`, who, opponent, rest)
	}
	ward := func(g game, attack string) { g.Must("gm", "attack", attack, 2, 6) } // 2+3-1 against 9: 5 over

	t.Run("next attack", func(t *testing.T) {
		g, bob, sue, jim, attack := setUp()
		same(t, "nothing yet", g.code("rpgamix.allocate", use(sue, bob, `"use":"attack"`)), "nothing_warded")
		ward(g, attack)
		same(t, "events", g.types(), "roll.made rpgamix.blow.warded")
		g.Must("gm", "rpgamix.allocate", use(sue, bob, `"use":"attack"`))
		same(t, "once", g.code("rpgamix.allocate", use(sue, bob, `"use":"defence"`)), "nothing_warded")
		strike := `{"attacker":%q,"target":%q,"weapon":"knife","difficulty":%d}`
		g.Must("gm", "attack", fmt.Sprintf(strike, sue, jim, 20), 1)
		same(t, "not on another", g.roll().Total, 4)
		g.Must("gm", "attack", fmt.Sprintf(strike, sue, bob, 20), 1)
		same(t, "on Bob", words(g.roll().Total, g.types()), "9 roll.made rpgamix.advantage.used")
		g.Must("gm", "attack", fmt.Sprintf(strike, sue, bob, 20), 1)
		same(t, "once only", g.roll().Total, 4)
	})
	t.Run("next defence", func(t *testing.T) {
		g, bob, sue, _, attack := setUp()
		ward(g, attack)
		g.Must("gm", "rpgamix.allocate", use(sue, bob, `"use":"defence"`))
		g.Must("gm", "attack", attack, 1, 1)
		same(t, "defence", g.roll().Also[0].Total, 9)
		g.Must("gm", "rpgamix.allocate", use(sue, bob, `"use":"defence"`))
		g.Must("gm", "attack", attack, 10, 10)
		same(t, "the new excess", g.roll().Also[0].Total, 10+3+6)
	})
	t.Run("divided", func(t *testing.T) {
		g, bob, sue, _, attack := setUp()
		ward(g, attack)
		same(t, "bad share", g.code("rpgamix.allocate", use(sue, bob, `"use":"split","attack":4,"defence":4`)), "bad_share")
		g.Must("gm", "rpgamix.allocate", use(sue, bob, `"use":"split","attack":4,"defence":1`))
		g.Must("gm", "attack", attack, 1, 1)
		same(t, "defence", g.roll().Also[0].Total, 5)
	})
	t.Run("slipping inside", func(t *testing.T) {
		g, bob, sue, jim, attack := setUp()
		ward(g, attack)
		slip := func(mine string, needed, left, theirs int) string {
			return use(sue, bob, fmt.Sprintf(`"use":"slip_inside","weapon":%q,"opponent_weapon":"spear","movement":{"needed":%d,"defender":%d,"attacker":%d}`, mine, needed, left, theirs))
		}
		same(t, "as long", g.code("rpgamix.allocate", slip("spear", 2, 6, 3)), "weapon_not_shorter")
		same(t, "too slow", g.code("rpgamix.allocate", slip("knife", 3, 6, 3)), "not_enough_movement")
		g.Must("gm", "rpgamix.allocate", slip("knife", 2, 6, 3))
		same(t, "events", g.types(), "rpgamix.advantage.used rpgamix.opponent.evaded")
		same(t, "condition", words(g.vitals(bob).Conditions), "[{outmanoeuvred 0 3 RPGX-73}]")
		same(t, "Bob", g.code("attack", attack), "opponent_slipped_inside")
		g.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"weapon":"spear","difficulty":30}`, bob, jim), 1)
		g.advance(round)
		g.Must("gm", "attack", attack, 2, 2)
	})
	t.Run("the newest excess counts", func(t *testing.T) {
		g, bob, sue, jim, attack := setUp()
		ward(g, attack)
		g.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"defence":{"skill":"Strategic Defense"}}`, jim, sue), 1, 2)
		g.Must("gm", "attack", attack, 2, 3) // 4 against 6: 2 over
		same(t, "not both", g.code("rpgamix.allocate", use(sue, bob, `"use":"split","attack":5,"defence":2`)), "bad_share")
		g.Must("gm", "rpgamix.allocate", use(sue, bob, `"use":"split","attack":1,"defence":1`))
		same(t, "of Bob's no more", g.code("rpgamix.allocate", use(sue, bob, `"use":"attack"`)), "nothing_warded")
		g.Must("gm", "rpgamix.allocate", use(sue, jim, `"use":"attack"`)) // Jim's is another
	})
	t.Run("a tie wards nothing off", func(t *testing.T) {
		g, bob, sue, _, attack := setUp()
		g.Must("gm", "attack", attack, 5, 4, 10)
		same(t, "touch", words(g.roll().Outcome, g.types()), "touch roll.made condition.gained")
		same(t, "nothing", g.code("rpgamix.allocate", use(sue, bob, `"use":"attack"`)), "stunned")
		g.advance(2 * round)
		same(t, "nothing", g.code("rpgamix.allocate", use(sue, bob, `"use":"attack"`)), "nothing_warded")
	})
}

// aikido is a fighting style that a campaign adds (RPGX-74).
const aikido = `{"setting":{"disciplines":[{"name":"Aikido","costs":[15],"permits":["Hold Attacker","Throw Attacker","Stun Attacker"],
	"techniques":[{"skill":"Hold Attacker","use":"hold"},{"skill":"Throw Attacker","use":"throw","potential":10},{"skill":"Stun Attacker","use":"stun"}]},
	{"name":"Fencing","permits":["Sword, aggravated","Strategic Sword-Parry"],"pool":{"name":"ki","start":1,"price":4},
	"techniques":[{"skill":"Sword, aggravated","use":"aggravated","weapons":["Rapier"],"pool":"ki"},{"skill":"Strategic Sword-Parry","use":"strategic","weapons":["Rapier"]}]}],
	"weapons":[{"name":"Rapier","potential":22,"parry":3,"max_cm":180}],"armour":[{"name":"Leather","points":3}],
	"skills":[{"name":"Sneak","stat":"dex"}],"backgrounds":{"Hunted":-5}},"reason":"our world"}`

// A fighting style and a weapon that the campaign adds are data.
func TestStylesOfTheCampaign(t *testing.T) {
	g := play(t, "")
	g.Must("gm", "setting.define", aikido)
	bob := g.npc("Bob", sheet("", `"skills":{"Club":1}`))
	sue := g.npc("Sue", sheet("str 1", `"skills":{"Hold Attacker":4,"Throw Attacker":4,"Stun Attacker":4}`, `"disciplines":[{"name":"Aikido"}]`))
	ward := func(skill string) {
		g.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"weapon":"club","defence":{"skill":%q}}`, bob, sue, skill), 4, 5) // 4 against 9
	}
	use := func(rest string) string {
		return fmt.Sprintf(`{"character":%q,"opponent":%q,%s}`, sue, bob, rest)
	}
	ward("Throw Attacker")
	same(t, "not a hold", g.code("rpgamix.allocate", use(`"use":"hold","ranks":2`)), "wrong_skill")
	g.Must("gm", "rpgamix.allocate", use(`"use":"throw"`), 1, 10)
	same(t, "thrown", words(g.points(bob), g.conditions(bob)), "20 stunned")
	g.advance(2 * round)
	ward2 := fmt.Sprintf(`{"attacker":%q,"target":%q,"weapon":"club","defence":{"skill":"Hold Attacker"}}`, bob, sue)
	g.Must("gm", "attack", ward2, 4, 5)
	same(t, "how hard", g.code("rpgamix.allocate", use(`"use":"hold"`)), "invalid ranks")
	g.Must("gm", "rpgamix.allocate", use(`"use":"hold","ranks":2`))
	same(t, "held", g.conditions(bob), "held")
	same(t, "no attack", g.code("attack", ward2), "held")
	g.Must("gm", "check", fmt.Sprintf(`{"character":%q,"stat":"int","difficulty":0}`, bob), 10)
	same(t, "Fair, and two ranks more", words(g.roll().Modifiers), "[{Fair health -2 RPGX-32} {Held in a lock -6 RPGX-74}]")
	free := fmt.Sprintf(`{"character":%q,"stat":"str","holder":{"stat":"str","skill":"Hold Attacker"}}`, bob)
	g.Must("gm", "rpgamix.break_free", free, 10, 1)
	same(t, "2 against 6", g.conditions(bob), "held")
	same(t, "Sue is not held", g.code("rpgamix.break_free", fmt.Sprintf(`{"character":%q,"stat":"str","holder":{"stat":"str"}}`, sue)), "not_held")
	g.wound(sue, 21)
	g.Must("gm", "rpgamix.break_free", free)
	same(t, "the unconscious hold nobody", words(g.conditions(bob), g.types()), " condition.ended")

	h := play(t, "")
	h.Must("gm", "setting.define", aikido)
	bob = h.npc("Bob", sheet("", `"skills":{"Club":1}`))
	sue = h.npc("Sue", sheet("", `"skills":{"Stun Attacker":4,"Sword, aggravated":2,"Strategic Sword-Parry":1}`, `"armour":[{"name":"leather"}]`, `"disciplines":[{"name":"Fencing","cost":9,"pool_points":8}]`))
	h.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"weapon":"club","defence":{"skill":"Stun Attacker"}}`, bob, sue), 4, 5)
	h.Must("gm", "rpgamix.allocate", fmt.Sprintf(`{"character":%q,"opponent":%q,"use":"stun"}`, sue, bob))
	same(t, "stunned", words(h.vitals(bob).Conditions), "[{stunned 0 6 RPGX-74}]")
	attack := fmt.Sprintf(`{"attacker":%q,"target":%q,"weapon":%%q,"difficulty":5,"aggravated":{"skill":"sword, aggravated","twice":true}}`, sue, bob)
	same(t, "a club is no rapier", h.code("attack", fmt.Sprintf(attack, "club")), "wrong_weapon")
	h.Must("gm", "attack", fmt.Sprintf(attack, "rapier"), 4, 10, 10)
	same(t, "10 % and twice 20 %", words(h.blow().SuccessFactor, h.blow().Damage), "50 11")
	h.advance(2 * round)
	same(t, "parry with a club", h.code("attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"defence":{"skill":"Strategic Sword-Parry","weapon":"club"}}`, bob, sue)), "wrong_weapon")
	h.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"defence":{"skill":"Strategic Sword-Parry","weapon":"rapier"}}`, bob, sue), 10, 10)
	same(t, "parry", h.roll().Also[0].Total, 14)
	h.Must("gm", "check", fmt.Sprintf(`{"character":%q,"skill":"sneak"}`, sue), 5)
	h.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"custom":{"name":"axe","potential":10},"difficulty":0}`, bob, sue), 10, 10)
	same(t, "10 - 4 for Poor health, leather of the setting", words(h.blow().Damage, h.blow().Taken), "6 3")
}

// swords are two styles that have skills of the book's template and of each
// other, each for its own weapon; both have a pool called ki.
const swords = `{"reason":"our world","setting":{"weapons":[{"name":"Rapier","potential":22,"parry":3},{"name":"Katana","potential":35,"parry":2}],
	"disciplines":[{"name":"Fencing","costs":[20],"permits":["Aggravated Attack","Strategic Defense"],"pool":{"name":"ki","start":3,"price":4,"night":1},
	"techniques":[{"skill":"Aggravated Attack","use":"aggravated","weapons":["Rapier"],"pool":"ki"},{"skill":"Strategic Defense","use":"strategic","weapons":["Rapier"]}]},
	{"name":"Kendo","costs":[20],"permits":["Aggravated Attack","Strategic Defense"],"pool":{"name":"ki","start":5,"price":3,"night":2},
	"techniques":[{"skill":"Aggravated Attack","use":"aggravated","weapons":["Katana"],"pool":"ki"},{"skill":"Strategic Defense","use":"strategic","weapons":["Katana"]},
	{"skill":"Strategic Defense","use":"hold","weapons":["Katana"]}]}]}}`

// A skill that several styles have works as the character's own style has it,
// and with the weapons of that (RPGX-74, RPGX-90).
func TestSkillOfSeveralStyles(t *testing.T) {
	g := play(t, "")
	g.Must("gm", "setting.define", swords)
	target := g.npc("Straw", sheet("", `"nature":"thing"`))
	for disciplines, allowed := range map[string]string{
		``:                                    "club rapier katana",
		`{"name":"Generic Fighting"}`:         "club rapier katana",
		`{"name":"Fencing"}`:                  "rapier",
		`{"name":"Kendo"}`:                    "katana",
		`{"name":"Kendo"},{"name":"Fencing"}`: "rapier katana",
		`{"name":"Fencing"},{"name":"Generic Fighting"}`: "club rapier katana",
	} {
		ann := g.npc("Ann", sheet("", `"skills":{"Aggravated Attack":2,"Strategic Defense":2}`, `"disciplines":[`+disciplines+`]`))
		for _, weapon := range []string{"club", "rapier", "katana"} {
			want := "wrong_weapon"
			if strings.Contains(allowed, weapon) {
				want = ""
			}
			attack := g.Command("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"weapon":%q,"difficulty":30,"aggravated":{}}`, ann, target, weapon), 1)
			defence := g.Command("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"defence":{"skill":"Strategic Defense","weapon":%q}}`, target, ann, weapon), 1, 10)
			for what, cmd := range map[string]rules.Command{"attack": attack, "defence": defence} {
				_, err := g.Do(cmd)
				got := ""
				if no := (*rules.Rejection)(nil); errors.As(err, &no) {
					got = no.Code
				}
				same(t, words(disciplines, weapon, what, err), got, want)
			}
		}
	}
	ken := g.npc("Ken", sheet("", `"skills":{"Strategic Defense":2}`, `"disciplines":[{"name":"Kendo"}]`))
	bob := g.npc("Bob", sheet(""))
	g.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"defence":{"skill":"Strategic Defense","weapon":"katana"}}`, bob, ken), 1, 10)
	g.Must("gm", "rpgamix.allocate", fmt.Sprintf(`{"character":%q,"opponent":%q,"use":"hold","ranks":1}`, ken, bob))
	same(t, "a skill with two uses", g.conditions(bob), "held")
}

// Disciplines whose pools have the same name share one: what they bring adds
// up, and a night gives as much as the best of them (RPGX-62).
func TestSharedPool(t *testing.T) {
	g := play(t, "")
	g.Must("gm", "setting.define", swords)
	ken := g.npc("Ken", sheet("", `"disciplines":[{"name":"Fencing","pool_points":4},{"name":"Kendo","pool_points":7}]`)) // 3 + 1 and 5 + 2
	same(t, "full", string(g.vitals(ken).State), `{"pools":{"ki":11}}`)
	change := func(n int) string {
		return fmt.Sprintf(`{"character":%q,"pool":"ki","change":%d,"cause":"x"}`, ken, n)
	}
	same(t, "no more", g.code("rpgamix.pool", change(1)), "pool_out_of_range")
	g.Must("gm", "rpgamix.pool", change(-11))
	g.Must("gm", "rpgamix.pool", change(11))
	g.Must("gm", "rpgamix.pool", change(-11))
	g.Must("gm", "rpgamix.rest", fmt.Sprintf(`{"character":%q,"nights":1}`, ken))
	same(t, "a night", string(g.vitals(ken).State), `{"pools":{"ki":2}}`)

	g.Must("gm", "setting.define", `{"reason":"x","setting":{"disciplines":[{"name":"Monk","pool":{"name":"ki","start":4,"price":1,"empty":true}},{"name":"Nun","pool":{"name":"Ki","start":2,"price":1}}]}}`)
	for disciplines, want := range map[string]string{
		`{"name":"Monk"}`:                `{"pools":{"ki":0}}`,
		`{"name":"Monk"},{"name":"Nun"}`: `{"pools":{"ki":2}}`,
	} {
		same(t, disciplines, string(g.vitals(g.npc("Ann", sheet("", `"disciplines":[`+disciplines+`]`))).State), want)
	}
	same(t, "the sheet's level, still to be earned", string(g.vitals(g.npc("Ann", sheet("", `"disciplines":[{"name":"Monk"}]`, `"pools":{"ki":9}`))).State), `{"pools":{"ki":0}}`)
}

// Contests: the higher total wins, a tie is nobody's (RPGX-4).
func TestContest(t *testing.T) {
	g := play(t, "")
	bob := g.npc("Bob", sheet("str 2", `"skills":{"Wrestling":3}`))
	sue := g.npc("Sue", sheet("dex 1"))
	data := fmt.Sprintf(`{"sides":[{"character":%q,"stat":"str","skill":"wrestling"},{"character":%q,"stat":"dex","die":6}]}`, bob, sue)
	for _, x := range []struct {
		a, b int
		want string
	}{{3, 6, "wins 1 loses -1"}, {2, 6, "tie 0 tie 0"}, {1, 6, "loses -1 wins 1"}} {
		g.Must("gm", "contest", data, x.a, x.b)
		r := g.roll()
		same(t, "contest", words(r.Outcome, *r.Margin, r.Also[0].Outcome, *r.Also[0].Margin), x.want)
	}
}

// Checks: ties, a six-sided die, a Con roll without penalty, no difficulty.
func TestCheck(t *testing.T) {
	g := play(t, "")
	bob := g.npc("Bob", sheet("con 2 int 1", `"skills":{"Cooking":3}`))
	g.wound(bob, 8, 10)
	for _, x := range []struct {
		data string
		die  int
		want string
	}{
		{`"stat":"int","skill":"Cooking","difficulty":7`, 5, "7 success 0"},
		{`"stat":"int","skill":"Cooking","difficulty":7`, 4, "6 failure -1"},
		{`"stat":"int","skill":"Juggling","die":6,"difficulty":5`, 6, "5 success 0"},
		{`"stat":"con","difficulty":5`, 3, "5 success 0"},
		{`"stat":"con","skill":"Drinking","difficulty":5`, 3, "3 failure -2"},
	} {
		g.Must("gm", "check", fmt.Sprintf(`{"character":%q,%s}`, bob, x.data), x.die)
		r := g.roll()
		same(t, x.data, words(r.Total, r.Outcome, *r.Margin), x.want)
	}
	g.Must("gm", "check", fmt.Sprintf(`{"character":%q,"stat":"int","modifiers":[{"label":"hurry","value":-2}]}`, bob), 5)
	r := g.roll()
	if r.Against != nil || r.Outcome != "" || r.Total != 2 {
		t.Errorf("without a difficulty: %+v", r.Throw)
	}
}

// A check against a hidden target is judged when the target is opened.
func TestHiddenTarget(t *testing.T) {
	for reading, want := range map[string]string{"success": "success 0", "fail": "failure 0"} {
		o, err := rules.Resolve(book, map[string]jsontext.Value{"rpgamix.difficulty_tie": jsontext.Value(`"` + reading + `"`)})
		if err != nil {
			t.Fatal(err)
		}
		outcome, margin := book.System.(rules.Judging).Judge(o, 9, 9)
		same(t, "tie", words(outcome, margin), want)
	}
	g := play(t, "")
	bob := g.npc("Bob", sheet(""))
	g.Must("gm", "target.seal", `{"seal":"`+fmt.Sprintf("%064x", 7)+`"}`)
	n := g.Records[len(g.Records)-1].N
	check := func(more string) string {
		return fmt.Sprintf(`{"character":%q,"target":%d%s}`, bob, n, more)
	}
	g.Must("gm", "check", check(`,"stat":"wits"`))
	r := g.roll()
	if r.Call != n || r.Against != nil || r.Outcome != "" {
		t.Errorf("a hidden target shows: %+v", r)
	}
	same(t, "and difficulty", g.code("check", check(`,"stat":"wits","difficulty":3`)), "invalid target")
	same(t, "a Con roll", g.code("check", check(`,"stat":"con"`)), "no_hidden_con_rolls")
	same(t, "no such target", g.code("check", fmt.Sprintf(`{"character":%q,"stat":"wits","target":1}`, bob)), "not_sealed")
	g.wound(bob, 16, 10, 10)
	same(t, "exertion", g.code("check", check(`,"stat":"str"`)), "exertion_first")
}

// An attack of somebody in Awful health takes a Con roll first. If it fails
// there is no attack, and nothing is spent (RPGX-35).
func TestAttackInAwfulHealth(t *testing.T) {
	g := play(t, "")
	bob := g.npc("Bob", sheet("", `"skills":{"Aggravated Attack":4}`, `"pools":{"ki":2}`))
	sue := g.npc("Sue", sheet("con 5 wits 5"))
	g.wound(bob, 16, 10, 10)
	attack := fmt.Sprintf(`{"attacker":%q,"target":%q,"custom":{"name":"sword","potential":10},"difficulty":0,"aggravated":{"twice":true}}`, bob, sue)
	g.Must("gm", "attack", attack, 5, 5, 9)
	same(t, "awake", words(g.roll().Purpose, "-", g.roll().Also[0].Total, g.blow().SuccessFactor), "Con roll for the exertion of attacking - 1 90")
	g.Must("gm", "rpgamix.pool", fmt.Sprintf(`{"character":%q,"pool":"ki","change":2,"cause":"rest"}`, bob))
	g.Must("gm", "attack", attack, 5)
	same(t, "unconscious", words(g.conditions(bob), "-", g.types()), "unconscious - roll.made rpgamix.consciousness.checked condition.gained")
}
