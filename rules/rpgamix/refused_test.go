package rpgamix_test

import (
	"errors"
	"strings"
	"testing"

	"tallystick/rules"
)

// What is refused is refused before any die is taken, with a code and, for
// people, a sentence.
func TestRefused(t *testing.T) {
	g := play(t, "")
	id := map[string]string{
		"WELL":     g.npc("Well", sheet("", `"skills":{"Knife":1}`)),
		"OTHER":    g.npc("Other", sheet("")),
		"STUNNED":  g.npc("Stunned", sheet("")),
		"OUT":      g.npc("Out", sheet("")),
		"DYING":    g.npc("Dying", sheet("con 5")),
		"DEAD":     g.npc("Dead", sheet("")),
		"HURT":     g.npc("Hurt", sheet("")),
		"TREATED":  g.npc("Treated", sheet("")),
		"RETIRED":  g.npc("Retired", sheet("")),
		"NOBODY":   "0192f1c0-0000-7000-8000-000000000000",
		"SPEARMAN": g.npc("Spearman", sheet("")),
	}
	g.Must("gm", "attack", `{"attacker":"`+id["OTHER"]+`","target":"`+id["STUNNED"]+`"}`, 5, 5, 1)
	g.wound(id["OUT"], 5, 1)
	g.wound(id["DYING"], 41)
	g.wound(id["DEAD"], 25)
	g.wound(id["HURT"], 6, 10)
	g.wound(id["TREATED"], 1)
	g.treat(id["TREATED"])
	g.Must("gm", "character.retire", `{"character":"`+id["RETIRED"]+`","reason":"x"}`)
	g.Must("gm", "rpgamix.choke", `{"character":"`+id["SPEARMAN"]+`","weapon":"spear","grip":"choked"}`)
	g.advance(round - 1)

	for _, x := range []struct{ typ, data, want string }{
		{"check", `{"character":"NOBODY","stat":"str"}`, "unknown_character"},
		{"check", `{"character":"RETIRED","stat":"str"}`, "retired"},
		{"check", `{"character":"DEAD","stat":"str"}`, "dead"},
		{"check", `{"character":"OUT","stat":"str"}`, "unconscious"},
		{"check", `{"character":"DYING","stat":"con","difficulty":5}`, "unconscious"},
		{"check", `{"character":"STUNNED","stat":"str"}`, "stunned"},
		{"check", `{"character":"WELL"}`, "invalid stat"},
		{"check", `{"character":"WELL","stat":"luck"}`, "invalid stat"},
		{"check", `{"character":"WELL","stat":"str","die":8}`, "invalid die"},
		{"check", `{"character":"WELL","stat":"str","skill":"Surgery"}`, "skill_not_learned"},
		{"check", `{"character":"WELL","stat":"str","skill":" "}`, "invalid skill"},
		{"check", `{"character":"WELL","stat":"str","modifiers":[{"label":"x","value":101}]}`, "invalid modifiers.0.value"},
		{"check", `{"character":"WELL","stat":"str","modifiers":[{"label":"a\nb","value":1}]}`, "invalid modifiers.0.label"},
		{"check", `{"character":"WELL","stat":"str","difficulty":9223372036854775807}`, "invalid difficulty"},
		{"check", `{"character":"WELL","stat":"str","difficulty":2.5}`, "invalid difficulty"},
		{"check", `{"character":"WELL","stat":"str","purpose":"a\u0000b"}`, "invalid purpose"},
		{"check", `{"character":"WELL","stat":"str","luck":1}`, "invalid luck"},
		{"contest", `{"sides":[{"character":"WELL","stat":"str"}]}`, "invalid sides"},
		{"contest", `{"sides":[{"character":"WELL","stat":"str"},{"character":"WELL","stat":"str"}]}`, "same_character"},
		{"contest", `{"sides":[{"character":"WELL","stat":"str"},{"character":"OUT","stat":"str"}]}`, "unconscious"},
		{"contest", `{"sides":[{"character":"WELL","stat":"str"},{"character":"OTHER"}]}`, "invalid sides.1.stat"},
		{"contest", `{"sides":[{"character":"WELL","stat":"str"},{"character":"OTHER","stat":"str","skill":"Surgery"}]}`, "skill_not_learned"},
		{"attack", `{"attacker":"OUT","target":"WELL"}`, "unconscious"},
		{"attack", `{"attacker":"STUNNED","target":"WELL"}`, "stunned"},
		{"attack", `{"attacker":"DEAD","target":"WELL"}`, "dead"},
		{"attack", `{"attacker":"WELL","target":"DEAD"}`, "dead"},
		{"attack", `{"attacker":"WELL","target":"WELL"}`, "same_character"},
		{"attack", `{"attacker":"WELL"}`, "invalid target"},
		{"attack", `{"attacker":"WELL","target":"OTHER","thing":{"name":"door"}}`, "invalid target"},
		{"attack", `{"attacker":"WELL","thing":{"name":"door"}}`, "invalid difficulty"},
		{"attack", `{"attacker":"WELL","thing":{"name":"door"},"difficulty":1,"defence":{}}`, "invalid defence"},
		{"attack", `{"attacker":"WELL","target":"OTHER","difficulty":1,"defence":{}}`, "invalid defence"},
		{"attack", `{"attacker":"WELL","target":"OUT","defence":{}}`, "helpless"},
		{"attack", `{"attacker":"WELL","target":"OTHER","weapon":"lightsaber"}`, "unknown_weapon"},
		{"attack", `{"attacker":"WELL","target":"OTHER","weapon":"knife","custom":{"name":"x","potential":1}}`, "invalid custom"},
		{"attack", `{"attacker":"WELL","target":"OTHER","custom":{"name":"x","potential":-1}}`, "invalid custom.potential"},
		{"attack", `{"attacker":"WELL","target":"OTHER","weapon":"rifle"}`, "potential_needed"},
		{"attack", `{"attacker":"WELL","target":"OTHER","weapon":"rifle","potential":101}`, "potential_out_of_range"},
		{"attack", `{"attacker":"WELL","target":"OTHER","weapon":"knife","potential":20}`, "potential_fixed"},
		{"attack", `{"attacker":"WELL","target":"OTHER","weapon":"knife","distance_cm":111}`, "beyond_max_range"},
		{"attack", `{"attacker":"WELL","target":"OTHER","weapon":"knife","distance_cm":24}`, "inside_min_range"},
		{"attack", `{"attacker":"WELL","target":"OTHER","weapon":"knife","distance_cm":-1}`, "invalid distance_cm"},
		{"attack", `{"attacker":"SPEARMAN","target":"OTHER","weapon":"spear"}`, "changing_grip"},
		{"attack", `{"attacker":"WELL","target":"OTHER","defence":{"weapon":"long bow"}}`, "cannot_parry_with_that"},
		{"attack", `{"attacker":"WELL","target":"OTHER","defence":{"weapon":"umbrella"}}`, "unknown_weapon"},
		{"attack", `{"attacker":"WELL","target":"OTHER","defence":{"skill":"Strategic Defense"}}`, "skill_not_learned"},
		{"attack", `{"attacker":"WELL","target":"OTHER","defence":{"skill":"Aggravated Attack"}}`, "not_a_defence"},
		{"attack", `{"attacker":"WELL","target":"OTHER","defence":{"modifiers":[{"label":"","value":1}]}}`, "invalid defence.modifiers.0.label"},
		{"wound.inflict", `{"character":"WELL","points":0,"cause":"x"}`, "invalid points"},
		{"wound.inflict", `{"character":"WELL","points":-3,"cause":"x"}`, "invalid points"},
		{"wound.inflict", `{"character":"WELL","points":9223372036854775807,"cause":"x"}`, "invalid points"},
		{"wound.inflict", `{"character":"WELL","points":99999999999999999999,"cause":"x"}`, "invalid points"},
		{"wound.inflict", `{"character":"WELL","points":3}`, "invalid cause"},
		{"wound.inflict", `{"character":"DEAD","points":3,"cause":"x"}`, "dead"},
		{"wound.treat", `{"character":"WELL"}`, "unhurt"},
		{"wound.treat", `{"character":"TREATED"}`, "already_stabilised"},
		{"wound.treat", `{"character":"DEAD"}`, "dead"},
		{"wound.treat", `{"character":"HURT","by":"OUT"}`, "unconscious"},
		{"wound.treat", `{"character":"HURT","skill":"Bandages","stat":"int","difficulty":5}`, "invalid by"},
		{"wound.treat", `{"character":"HURT","by":"WELL","skill":"Bandages","stat":"int"}`, "invalid difficulty"},
		{"wound.treat", `{"character":"HURT","by":"WELL","skill":"Bandages","difficulty":5}`, "invalid stat"},
		{"wound.treat", `{"character":"HURT","by":"WELL","difficulty":5}`, "invalid skill"},
		{"wound.treat", `{"character":"HURT","by":"WELL","skill":"First Aid","stat":"int","difficulty":5}`, "skill_not_learned"},
		{"heal.grant", `{"character":"WELL","points":1,"cause":"x"}`, "unhurt"},
		{"heal.grant", `{"character":"DEAD","points":1,"cause":"x"}`, "dead"},
		{"heal.grant", `{"character":"HURT","points":0,"cause":"x"}`, "invalid points"},
		{"rpgamix.exert", `{"character":"WELL","act":"x"}`, "not_awful"},
		{"rpgamix.wake", `{"character":"DEAD","cause":"x"}`, "dead"},
		{"rpgamix.choke", `{"character":"WELL","weapon":"hose","grip":"choked"}`, "unknown_weapon"},
		{"rpgamix.rest", `{"character":"WELL","nights":1}`, "nothing_to_fill"},
		{"rpgamix.rest", `{"character":"WELL","nights":0}`, "invalid nights"},
		{"rpgamix.pool", `{"character":"WELL","pool":"ki","change":0,"cause":"x"}`, "invalid change"},
		{"rpgamix.allocate", `{"character":"WELL","opponent":"OTHER","use":"gloat"}`, "invalid use"},
		{"character.create", `{"name":"x","kind":"npc","creation":"free","sheet":{"skills":{}}}`, "invalid sheet.stats"},
		{"character.create", `{"name":"x","kind":"npc","creation":"free","sheet":` + sheet("str 101") + `}`, "invalid sheet.stats.str"},
	} {
		data := x.data
		for name, id := range id {
			data = strings.ReplaceAll(data, `"`+name+`"`, `"`+id+`"`)
		}
		same(t, x.typ+" "+x.data, g.code(x.typ, data), x.want)
		same(t, x.typ+" with dice "+x.data, g.code(x.typ, data, 5, 5, 5, 5), x.want)
	}
}

// Rejections are sentences about people.
func TestSentence(t *testing.T) {
	g := play(t, "")
	mara, bob := g.npc("Mara", sheet("")), g.npc("Bob", sheet(""))
	g.wound(mara, 21)
	err := g.Refused("gm", "attack", `{"attacker":"`+mara+`","target":"`+bob+`"}`)
	same(t, "sentence", err.Error(), "RPGX-36: Mara is unconscious and cannot attack")
}

// Players act with their own characters; the game master's hand is not theirs.
func TestRights(t *testing.T) {
	g := play(t, "")
	g.Must("gm", "participant.add", `{"handle":"anna","role":"player"}`)
	anna := g.Must("anna", "character.create", `{"name":"Anna","kind":"pc","creation":"free","sheet":`+sheet("")+`}`)
	bob := g.npc("Bob", sheet(""))
	forbidden := func(typ, data string) {
		t.Helper()
		if err := g.Refused("anna", typ, data); !errors.As(err, new(*rules.Forbidden)) {
			t.Errorf("%s %s: %v", typ, data, err)
		}
	}
	g.Must("anna", "attack", `{"attacker":"`+anna+`","target":"`+bob+`"}`)
	forbidden("attack", `{"attacker":"`+bob+`","target":"`+anna+`"}`)
	forbidden("check", `{"character":"`+bob+`","stat":"str"}`)
	forbidden("wound.inflict", `{"character":"`+bob+`","points":1,"cause":"x"}`)
	forbidden("heal.grant", `{"character":"`+anna+`","points":1,"cause":"x"}`)
	forbidden("rpgamix.wake", `{"character":"`+anna+`","cause":"x"}`)
	forbidden("rpgamix.rest", `{"character":"`+anna+`","nights":1}`)
	forbidden("contest", `{"sides":[{"character":"`+bob+`","stat":"str"},{"character":"`+anna+`","stat":"str"}]}`)

	// Soap and water do for Good; more takes a check, or the game master.
	carl := g.npc("Carl", sheet(""))
	g.wound(carl, 1)
	treat := func(more string) string { return `{"character":"` + carl + `"` + more + `}` }
	if err := g.Refused("anna", "wound.treat", treat("")); !strings.Contains(err.Error(), "by is missing") {
		t.Error(err)
	}
	g.Must("anna", "wound.treat", treat(`,"by":"`+anna+`"`))
	g.wound(carl, 4, 10)
	if err := g.Refused("anna", "wound.treat", treat(`,"by":"`+anna+`"`)); !strings.Contains(err.Error(), "soap and water are not enough") {
		t.Error(err)
	}
	check := treat(`,"by":"` + anna + `","stat":"int","skill":"Bandages","difficulty":5`)
	g.Must("anna", "wound.treat", check, 4)
	same(t, "failed", words(g.roll().Outcome, g.vitals(carl).NextTick.Due), "failure 86400")
	g.Must("anna", "wound.treat", check, 5)
	same(t, "treated", words(g.roll().Outcome, g.types()), "success roll.made wound.treated")
}

// A correction puts back what was there, not what the maximum allows: a dead
// character's points are counted below nothing.
func TestPointsBelowNothing(t *testing.T) {
	g := play(t, "")
	mara := casualty(g, 8, false)
	g.wound(mara, 20)
	same(t, "points", words(g.vitals(mara).Health), "{-12 25 dead 0}")
}
