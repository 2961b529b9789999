package main

import (
	"maps"
	"slices"
	"strings"
)

// A play is what a demonstration plays.
type play func(d *demo)

var plays = map[string]play{
	"fudge":   playFUDGE,
	"perp":    playPERP,
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

// playPERP plays the book's duel, then a fall that has to be tended in time.
func playPERP(d *demo) {
	d.open("The duel", "perp")
	d.do("The game master opens a session.", "session.open", map[string]any{"title": "The duel", "kind": "table"})
	finnin := d.do("Finnin is the book's own courtier, judged by its budgets.", "character.create", map[string]any{
		"name": "Finnin", "kind": "npc", "creation": "book", "sheet": map[string]any{
			"traits": map[string]any{"Handsome": 1, "Affable": 1, "Athletic": 1, "Honorable": 1, "Vain": -1, "Sheltered": -1},
			"skills": map[string]any{
				"Swords":    map[string]any{"points": 1, "kind": "weapon", "specializations": []string{"Rapier"}, "exclusions": []string{"Two handed swords"}},
				"Seduction": map[string]any{"points": 3}, "Etiquette": map[string]any{"points": 2}, "Fast talk": map[string]any{"points": 3},
				"Archery": map[string]any{"points": 1, "kind": "weapon"}, "Read and write": map[string]any{"points": 0}, "History": map[string]any{"points": 0},
				"Horseback riding": map[string]any{"points": 0}, "Street wise": map[string]any{"points": -2}, "Geography": map[string]any{"points": -1},
			},
			"hp": 12, "weapons": []any{map[string]any{"name": "Rapier", "class": "medium"}},
		},
	})
	plain := func(name string, skills map[string]any, weapon string) string {
		return d.do("", "character.create", map[string]any{"name": name, "kind": "npc", "creation": "free", "sheet": map[string]any{
			"traits": map[string]any{"Steady": 1}, "skills": skills, "hp": 12, "weapons": []any{map[string]any{"name": weapon, "class": "medium"}},
		}})
	}
	pierre := plain("Pierre", map[string]any{"Swords": map[string]any{"points": 4, "kind": "weapon"}}, "Sword")
	jacques := plain("Jacques", map[string]any{}, "Sword")
	nurse := plain("Sister Ann", map[string]any{"First aid": map[string]any{"points": 3, "kind": "medical"}}, "Sword")

	d.do("Pierre attacks, Finnin parries. Real dice: 6 for Pierre, 4 for Finnin; the parry leaves one point.",
		"attack", map[string]any{
			"attacker": pierre, "target": finnin, "with": map[string]any{"skills": []string{"Swords"}},
			"against": map[string]any{"skills": []string{"Swords"}, "area": "Rapier", "traits": []string{"Athletic"}, "parry": true},
		}, 6, 4)
	d.do("A round later, with the ledger's dice, blow against blow.", "clock.advance", map[string]any{"seconds": 3})
	d.do("", "attack", map[string]any{
		"attacker": finnin, "target": pierre, "with": map[string]any{"skills": []string{"Swords"}, "area": "Rapier", "traits": []string{"Athletic"}},
		"against": map[string]any{"skills": []string{"Swords"}},
	})
	d.do("Jacques, who watched, slips on the stairs and lies there for two minutes before Sister Ann finds him.",
		"wound.inflict", map[string]any{"character": jacques, "points": 14, "cause": "a long staircase"})
	d.do("", "clock.advance", map[string]any{"by": "2m"})
	d.do("", "wound.treat", map[string]any{"character": jacques, "by": nurse, "skills": []string{"First aid"}, "tools": true})
	d.do("Three weeks in bed.", "clock.advance", map[string]any{"by": "3w"})
	d.do("", "session.close", map[string]any{})
}

// playFUDGE plays the book's pirates against Tucker, as printed and with low
// doubles, then what becomes of somebody Near Death, of wounds that are treated
// and of wounds that are left to rest.
func playFUDGE(d *demo) {
	d.open("The pirates", "fudge")
	d.do("The game master opens a session.", "session.open", map[string]any{"title": "The pirates", "kind": "table"})
	person := func(name, kind string, sheet map[string]any) string {
		return d.do("", "character.create", map[string]any{"name": name, "kind": kind, "creation": "free", "sheet": sheet})
	}
	tucker := person("Tucker", "pc", map[string]any{
		"traits": map[string]any{"Fencing": "Great", "Dodge": "Good"}, "armour": map[string]any{"kind": "light"},
		"weapons": map[string]any{"rapier": map[string]any{"size": "average", "sharp": true}},
	})
	pirate := func(name, level string) map[string]any {
		id := person(name, "npc", map[string]any{
			"traits": map[string]any{"Cutlass": level}, "armour": map[string]any{"kind": "heavy"},
			"weapons": map[string]any{"cutlass": map[string]any{"size": "average", "sharp": true}},
		})
		return map[string]any{"character": id, "trait": "Cutlass", "weapon": "cutlass"}
	}
	pirates := []any{pirate("Molly", "Fair"), pirate("Annie", "Good"), pirate("Maggie", "Mediocre")}
	doc := person("Doc", "npc", map[string]any{"traits": map[string]any{"Medicine": "Superb"}})

	d.do("Three pirates beset Tucker. One roll stands for all of them: real dice, 3 and 4 for the pirates, 3 and 4 for Tucker.",
		"fudge.brawl", map[string]any{"lone": map[string]any{"character": tucker, "trait": "Fencing", "weapon": "rapier"}, "foes": pirates, "one_roll": true}, 3, 4, 3, 4)
	molly := pirates[0].(map[string]any)["character"]
	d.do("Tucker climbs the rigging; the dice are the ledger's.", "check", map[string]any{"character": tucker, "trait": "Climbing", "difficulty": "Mediocre"})
	d.do("Molly and Doc both fall from the yard.", "wound.inflict", map[string]any{"character": molly, "points": 2, "cause": "a fall from the yard"})
	d.do("", "wound.inflict", map[string]any{"character": doc, "points": 2, "cause": "a fall from the yard"})
	d.do("Doc looks after Molly; nobody looks after Doc.", "wound.treat", map[string]any{"character": molly, "by": doc, "trait": "Medicine"})
	d.do("The pirates close in again and roll double 2s: no more than there are pirates, so all three hit, for the two points each that the game master has said.",
		"fudge.brawl", map[string]any{"lone": map[string]any{"character": tucker, "trait": "Fencing", "weapon": "rapier"}, "foes": pirates, "one_roll": true, "automatic": map[string]any{"points": 2}}, 2, 2, 3, 4)
	d.do("Tucker has minutes left. Doc takes three of them to get there, and rolls a 4 and a 3.", "clock.advance", map[string]any{"by": "3m"})
	d.do("", "wound.treat", map[string]any{"character": tucker, "by": doc, "trait": "Medicine"}, 4, 3)
	d.do("Nobody recovers from Near Death alone: the game master's word takes him out of it.", "heal.grant", map[string]any{"character": tucker, "level": "Disabled", "cause": "the ship's old witch"})
	d.do("Three weeks at anchor.", "clock.advance", map[string]any{"by": "3w"})
	d.do("", "session.close", map[string]any{})
}
