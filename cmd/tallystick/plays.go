package main

import (
	"maps"
	"slices"
	"strings"
)

// A play is what a demonstration plays.
type play func(d *demo)

var plays = map[string]play{
	"rpgamix": playRPGamix,
}

func playable() string { return strings.Join(slices.Sorted(maps.Keys(plays)), ", ") }

// person is a character.create of somebody with these stats and skills.
func rpgamixPerson(name string, stats, skills map[string]any) map[string]any {
	all := map[string]any{"str": 0, "con": 0, "dex": 0, "per": 0, "int": 0, "wits": 0, "cha": 0, "app": 0}
	for k, v := range stats {
		all[k] = v
	}
	if skills == nil {
		skills = map[string]any{}
	}
	return map[string]any{"name": name, "kind": "npc", "creation": "free", "sheet": map[string]any{"stats": all, "skills": skills}}
}

// playRPGamix plays the rules' own example, then shows an untreated and a
// treated casualty over three weeks.
func playRPGamix(d *demo) {
	d.open("The comic books", "rpgamix")
	d.do("The game master opens a session.", "session.open", map[string]any{"title": "The comic books", "kind": "table"})
	bob := d.do("", "character.create", rpgamixPerson("Bob", map[string]any{"str": 5}, map[string]any{"Short Sword": 3}))
	sue := d.do("", "character.create", rpgamixPerson("Sue", map[string]any{"dex": -2, "con": 1, "wits": -1}, map[string]any{"Parry": 3}))
	nell := d.do("", "character.create", rpgamixPerson("Nell", map[string]any{"int": 2}, map[string]any{"First Aid": 3}))
	ivo := d.do("", "character.create", rpgamixPerson("Ivo", nil, nil))
	ina := d.do("", "character.create", rpgamixPerson("Ina", nil, nil))

	sword := map[string]any{"name": "Short Sword", "potential": 15, "parry": 0}
	d.do("Bob discovers who burned his comic books. Everybody threw real dice: 6 for Bob, 2 for Sue; the rules then ask for her stun and her Con roll.",
		"attack", map[string]any{"attacker": bob, "target": sue, "custom": sword, "skill": "Short Sword", "defence": map[string]any{"skill": "Parry"}}, 6, 2, 8, 3)
	d.do("Nell hits him over the head before he can strike again; from here on the dice are the ledger's.",
		"attack", map[string]any{"attacker": nell, "target": bob, "weapon": "club"})
	d.do("She binds Sue's wound.", "wound.treat", map[string]any{"character": sue, "by": nell, "stat": "int", "skill": "First Aid", "difficulty": 6})
	d.do("Outside, a beam falls on the twins Ivo and Ina.", "wound.inflict", map[string]any{"character": ivo, "points": 8, "cause": "a falling beam"})
	d.do("", "wound.inflict", map[string]any{"character": ina, "points": 8, "cause": "a falling beam"})
	d.do("Ina is cared for. Nobody thinks of Ivo, or of Bob.", "wound.treat", map[string]any{"character": ina})
	d.do("Three weeks go by.", "clock.advance", map[string]any{"by": "3w"})
	d.do("", "session.close", map[string]any{})
}
