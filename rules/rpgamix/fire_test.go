package rpgamix_test

import (
	"fmt"
	"testing"
)

func (g game) pyromancer(points int) string {
	return g.npc("Ember", sheet("int 1", `"skills":{"Create Fire":3,"Control Fire":3,"Extinguish Fire":3,"Fire Defense":2}`,
		fmt.Sprintf(`"disciplines":[{"name":"Brotherhood of Pyromancy","pool_points":%d}]`, points)))
}

// Spells of fire: difficulty by size and material, in exact fractions
// (RPGX-79 to RPGX-84).
func TestSpells(t *testing.T) {
	g := play(t, "")
	ember := g.pyromancer(9)
	for _, x := range []struct {
		data string
		die  int
		want string
	}{
		{`"spell":"Create Fire","match":true,"material":"dry tinder/hair"`, 1, "5 {difficulty 1 } success 4"},
		{`"spell":"Create Fire","match":true,"material":"oil/gas"`, 1, "5 {difficulty 1 1/4} success 4"},
		{`"spell":"Create Fire","diameter_cm":49,"material":"dry oily tinder/wax"`, 1, "5 {difficulty 3 5/2} success 2"},
		{`"spell":"Create Fire","diameter_cm":50,"material":"dry tinder/hair"`, 5, "9 {difficulty 10 } failure -1"},
		{`"spell":"Create Fire","diameter_cm":200,"material":"dry tinder/hair"`, 6, "10 {difficulty 10 } success 0"},
		{`"spell":"Create Fire","diameter_cm":201,"material":"dry tinder/hair"`, 10, "14 {difficulty 15 } failure -1"},
		{`"spell":"Create Fire","diameter_cm":401,"material":"dry tinder/hair"`, 10, "14 {difficulty 20 } failure -6"},
		{`"spell":"Create Fire","diameter_cm":40,"material":"damp tinder/flesh"`, 10, "14 {difficulty 15 } failure -1"},
		{`"spell":"Control Fire","aim":"spread","diameter_cm":40,"material":"water"`, 10, "14 {difficulty 50 } failure -36"},
		{`"spell":"Control Fire","aim":"contain","diameter_cm":100,"material":"water"`, 1, "5 {difficulty 2 5/4} success 3"},
		{`"spell":"Extinguish Fire","diameter_cm":100,"material":"soggy tinder"`, 1, "5 {difficulty 3 5/2} success 2"},
		{`"spell":"Extinguish Fire","diameter_cm":100,"material":"rock"`, 10, "14 {difficulty 100 } failure -86"},
	} {
		g.Must("gm", "rpgamix.cast", fmt.Sprintf(`{"character":%q,"stat":"int",%s}`, ember, x.data), x.die)
		r := g.roll()
		same(t, x.data, words(r.Total, *r.Against, r.Outcome, *r.Margin), x.want)
	}
}

// Fire points are gone before the die is thrown, and come back by night
// (RPGX-75 to RPGX-77).
func TestFirePool(t *testing.T) {
	g := play(t, "")
	ember := g.pyromancer(9) // 4 points
	cast := func(more string) string {
		return fmt.Sprintf(`{"character":%q,"stat":"int","spell":"Create Fire","diameter_cm":400,"material":"dry tinder/hair"%s}`, ember, more)
	}
	same(t, "five of four", g.code("rpgamix.cast", cast(`,"spend":5`)), "pool_too_small")
	g.Must("gm", "rpgamix.cast", cast(`,"spend":3`), 8)
	same(t, "with three points", words(g.roll().Total, g.roll().Outcome, g.types()), "15 success roll.made rpgamix.pool.changed")
	same(t, "two of one", g.code("rpgamix.cast", cast(`,"spend":2`)), "pool_too_small")
	g.Must("gm", "rpgamix.rest", fmt.Sprintf(`{"character":%q,"nights":1}`, ember))
	g.Must("gm", "rpgamix.cast", cast(`,"spend":2`), 1)
	same(t, "spent", string(g.vitals(ember).State), `{"pools":{"Fire pool":0}}`)
	g.Must("gm", "rpgamix.rest", fmt.Sprintf(`{"character":%q,"nights":1,"meat_and_liquor":true}`, ember))
	same(t, "meat and liquor", string(g.vitals(ember).State), `{"pools":{"Fire pool":2}}`)
	g.Must("gm", "rpgamix.cast", cast(`,"spend":2`), 1)
	g.Must("gm", "rpgamix.rest", fmt.Sprintf(`{"character":%q,"nights":9}`, ember))
	same(t, "full", g.code("rpgamix.rest", fmt.Sprintf(`{"character":%q,"nights":1}`, ember)), "nothing_to_fill")
	g.Must("gm", "rpgamix.pool", fmt.Sprintf(`{"character":%q,"pool":"fire pool","change":-4,"cause":"a curse"}`, ember))
	same(t, "empty", g.code("rpgamix.pool", fmt.Sprintf(`{"character":%q,"pool":"fire pool","change":-1,"cause":"a curse"}`, ember)), "pool_out_of_range")
	same(t, "mana", g.code("rpgamix.pool", fmt.Sprintf(`{"character":%q,"pool":"mana","change":1,"cause":"luck"}`, ember)), "no_such_pool")
	same(t, "in the dark", g.code("rpgamix.cast", cast(`,"line_of_sight":false`)), "no_line_of_sight")
	same(t, "nothing to burn", g.code("rpgamix.cast", cast(`,"fuel":false`)), "no_fuel")
	same(t, "without an aim", g.code("rpgamix.cast", fmt.Sprintf(`{"character":%q,"stat":"int","spell":"Control Fire","match":true,"material":"rock"}`, ember)), "invalid aim")
	same(t, "with one", g.code("rpgamix.cast", cast(`,"aim":"spread"`)), "invalid aim")
	same(t, "two sizes", g.code("rpgamix.cast", cast(`,"match":true`)), "invalid diameter_cm")
	bob := g.npc("Bob", sheet(""))
	same(t, "a layman", g.code("rpgamix.cast", fmt.Sprintf(`{"character":%q,"stat":"int","spell":"Create Fire","match":true,"material":"rock"}`, bob)), "skill_not_learned")
}

// An amended sheet keeps what is in a pool, as far as it holds that much; a new
// pool is as full as at first (RPGX-62).
func TestPoolsOfAnAmendedSheet(t *testing.T) {
	g := play(t, "")
	ember := g.pyromancer(9) // 4 points
	amend := func(points int, want string) {
		t.Helper()
		g.Must("gm", "character.amend", fmt.Sprintf(`{"character":%q,"reason":"x","sheet":%s}`, ember,
			sheet("", fmt.Sprintf(`"disciplines":[{"name":"Brotherhood of Pyromancy","pool_points":%d}],"pools":{"ki":%d}`, points, points))))
		same(t, "pools", string(g.vitals(ember).State), want)
	}
	amend(12, `{"pools":{"Fire pool":4,"ki":12}}`)
	amend(6, `{"pools":{"Fire pool":3,"ki":6}}`)
	amend(20, `{"pools":{"Fire pool":3,"ki":6}}`)
}

// Fire Defense is a defence by itself, or goes with another, against fire only
// (RPGX-78).
func TestFireDefense(t *testing.T) {
	g := play(t, "")
	ember := g.pyromancer(8)
	bob := g.npc("Bob", sheet(""))
	attack := func(fire bool, defence string) string {
		return fmt.Sprintf(`{"attacker":%q,"target":%q,"custom":{"name":"torch","potential":10},"fire":%v,"defence":%s}`, bob, ember, fire, defence)
	}
	g.Must("gm", "attack", attack(true, `{"skill":"Fire Defense","spend":2}`), 1, 5)
	same(t, "alone", words(g.roll().Also[0].Total, g.types()), "9 roll.made rpgamix.pool.changed")
	g.Must("gm", "attack", attack(true, `{"fire":true,"spend":1}`), 1, 5)
	same(t, "with a dodge", g.roll().Also[0].Total, 8)
	same(t, "no fire", g.code("attack", attack(false, `{"fire":true}`)), "not_fire")
	same(t, "no spell", g.code("attack", attack(true, `{"spend":1}`)), "no_spell")
	same(t, "too much", g.code("attack", attack(true, `{"fire":true,"spend":2}`)), "pool_too_small")
}
