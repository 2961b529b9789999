package rpgamix_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"tallystick/events"
	"tallystick/rules"
	"tallystick/rules/rulestest"
)

// A game is a table at which RPGamix is played, with a session open.
type game struct{ *rulestest.Table }

// play opens a campaign with options in JSON ("" for none) and a session.
func play(t testing.TB, options string) game {
	t.Helper()
	g := game{rulestest.NewTable(t, book, options)}
	g.Must("gm", "session.open", `{"title":"one","kind":"table"}`)
	return g
}

// sheet writes a sheet: stats such as "con 1 dex -2", then more members.
func sheet(stats string, members ...string) string {
	values := map[string]int{"str": 0, "con": 0, "dex": 0, "per": 0, "int": 0, "wits": 0, "cha": 0, "app": 0}
	words := strings.Fields(stats)
	for i := 0; i+1 < len(words); i += 2 {
		var n int
		if _, err := fmt.Sscan(words[i+1], &n); err != nil {
			panic(err)
		}
		values[words[i]] = n
	}
	raw, err := json.Marshal(values, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	out := `{"stats":` + string(raw)
	if !strings.Contains(strings.Join(members, ""), `"skills"`) {
		out += `,"skills":{}`
	}
	for _, m := range members {
		out += "," + m
	}
	return out + "}"
}

// npc creates a character freely.
func (g game) npc(name, sheet string) string {
	g.T.Helper()
	return g.Must("gm", "character.create", fmt.Sprintf(`{"name":%q,"kind":"npc","creation":"free","sheet":%s}`, name, sheet))
}

func (g game) vitals(id string) events.Vitals {
	g.T.Helper()
	c, ok := g.State.Character(id)
	if !ok {
		g.T.Fatalf("no character %s", id)
	}
	return g.State.Vitals(c)
}

func (g game) points(id string) int { g.T.Helper(); return g.vitals(id).Health.Points }

// conditions are the names of a character's conditions.
func (g game) conditions(id string) string {
	var names []string
	for _, c := range g.vitals(id).Conditions {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// wound takes points; dice are for what follows from it.
func (g game) wound(id string, points int, dice ...int) {
	g.T.Helper()
	g.Must("gm", "wound.inflict", fmt.Sprintf(`{"character":%q,"points":%d,"cause":"a fall"}`, id, points), dice...)
}

func (g game) treat(id string) {
	g.T.Helper()
	g.Must("gm", "wound.treat", fmt.Sprintf(`{"character":%q}`, id))
}

func (g game) advance(seconds int64, dice ...int) {
	g.T.Helper()
	g.Must("gm", "clock.advance", fmt.Sprintf(`{"seconds":%d}`, seconds), dice...)
}

// roll is the last roll of the ledger.
func (g game) roll() *events.RollMade {
	g.T.Helper()
	for i := len(g.Records) - 1; i >= 0; i-- {
		if g.Records[i].Type == "roll.made" {
			e, err := book.Registry().Decode(g.Records[i])
			if err != nil {
				g.T.Fatal(err)
			}
			return e.(*events.RollMade)
		}
	}
	g.T.Fatal("nothing was rolled")
	return nil
}

// types are the event types of the last commit.
func (g game) types() string {
	var out []string
	for i := len(g.Records) - 1; i >= 0; i-- {
		out = append([]string{g.Records[i].Type}, out...)
		if g.Records[i].Cmd.Type != "" {
			break
		}
	}
	return strings.Join(out, " ")
}

// code does a command that must be refused, and returns the code of the
// rejection, or the field of what is invalid. Nothing may have been stored.
func (g game) code(typ, data string, dice ...int) string {
	g.T.Helper()
	before, records := rulestest.Shown(g.T, g.State), len(g.Records)
	err := g.Refused("gm", typ, data, dice...)
	if rulestest.Shown(g.T, g.State) != before || len(g.Records) != records {
		g.T.Errorf("%s %s was refused and changed the campaign", typ, data)
	}
	var no *rules.Rejection
	var bad *rules.Invalid
	switch {
	case errors.As(err, &no):
		if no.Reason == "" {
			g.T.Errorf("%s %s: the rejection %s has no sentence", typ, data, no.Code)
		}
		return no.Code
	case errors.As(err, &bad):
		return "invalid " + bad.Field
	}
	g.T.Fatalf("%s %s: %v", typ, data, err)
	return ""
}

func same[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// words are values with blanks between them.
func words(a ...any) string { return strings.TrimSuffix(fmt.Sprintln(a...), "\n") }

// What is neither health nor condition is in the state of a body: pools, armour
// that has worn off, advantages that were won, a grip.
func TestStateOfABody(t *testing.T) {
	g := play(t, `{"rpgamix.armour_wear":"ablative"}`)
	bob := g.npc("Bob", sheet("str 2", `"skills":{"Spear":3}`))
	sue := g.npc("Sue", sheet("", `"skills":{"Strategic Defense":3}`, `"armour":[{"name":"leather","points":3}]`))
	says := func(id, want string) {
		t.Helper()
		same(t, "state", string(g.vitals(id).State), want)
	}
	says(bob, "")
	says(sue, "")
	g.Must("gm", "rpgamix.choke", fmt.Sprintf(`{"character":%q,"weapon":"Spear","grip":"choked"}`, bob))
	says(bob, `{"grip":{"weapon":"Spear","choked":true,"ready":3}}`)
	g.advance(3)
	g.Must("gm", "rpgamix.choke", fmt.Sprintf(`{"character":%q,"weapon":"Spear","grip":"full"}`, bob))
	says(bob, `{"grip":{"weapon":"Spear","choked":false,"ready":6}}`)
	g.advance(3)
	says(bob, "") // held in the usual way again
	attack := fmt.Sprintf(`{"attacker":%q,"target":%q,"weapon":"spear","defence":{"skill":"Strategic Defense"}}`, bob, sue)
	g.Must("gm", "attack", attack, 2, 6)
	says(sue, fmt.Sprintf(`{"advantages":[{"opponent":%q,"skill":"Strategic Defense","excess":5}]}`, bob))
	g.Must("gm", "rpgamix.allocate", fmt.Sprintf(`{"character":%q,"opponent":%q,"use":"attack"}`, sue, bob))
	says(sue, fmt.Sprintf(`{"advantages":[{"opponent":%q,"attack":5}]}`, bob))
	ember := g.npc("Ember", sheet("", `"disciplines":[{"name":"Brotherhood of Pyromancy","pool_points":6}]`))
	says(ember, `{"pools":{"Fire pool":3}}`)
	g.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"weapon":"spear","difficulty":4}`, bob, sue), 4, 10, 10)
	says(sue, fmt.Sprintf(`{"armour":{"left":0,"lost":3},"advantages":[{"opponent":%q,"attack":5}]}`, bob))
}
