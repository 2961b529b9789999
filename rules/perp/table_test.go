package perp_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/go-json-experiment/json"

	"tallystick/events"
	"tallystick/rules"
	"tallystick/rules/perp"
	"tallystick/rules/rulestest"
)

// evening is a table in the middle of a session.
type evening struct{ *rulestest.Table }

func open(t testing.TB, options string) evening {
	t.Helper()
	e := evening{rulestest.NewTable(t, book, options)}
	e.Must("gm", "session.open", `{"title":"one","kind":"table"}`)
	return e
}

// courtier is the book's running example (Example under Choosing Traits and
// after).
const courtier = `{
	"traits":{"Handsome":1,"Affable":1,"Athletic":1,"Honorable":1,"Vain":-1,"Sheltered":-1},
	"skills":{
		"Swords":{"points":1,"kind":"weapon","description":"Finnin learned swordsmanship from his father, Dougal. Finnin thinks he's best swordsman in town","specializations":["Rapier"],"exclusions":["Two handed swords"]},
		"Seduction":{"points":3},"Etiquette":{"points":2},"Fast talk":{"points":3},"Archery":{"points":1,"kind":"weapon"},
		"Read and write":{"points":0},"History":{"points":0},"Horseback riding":{"points":0},
		"Street wise":{"points":-2},"Geography":{"points":-1}},
	"hp":12,"weapons":[{"name":"Rapier","class":"medium"}]}`

// plain is somebody without traits or skills.
const plain = `{"traits":{},"skills":{},"hp":12}`

func (e evening) person(name, sheet string) string {
	e.T.Helper()
	return e.Must("gm", "character.create", fmt.Sprintf(`{"name":%q,"kind":"pc","creation":"free","sheet":%s}`, name, sheet))
}

func (e evening) body(id string) *perp.Body {
	e.T.Helper()
	ch, ok := e.State.Character(id)
	if !ok {
		e.T.Fatalf("no character %s", id)
	}
	return ch.Body.(*perp.Body)
}

func (e evening) vitals(id string) events.Vitals {
	ch, _ := e.State.Character(id)
	return e.State.Vitals(ch)
}

func (e evening) stands(id string, hp int, rank string) {
	e.T.Helper()
	if v := e.vitals(id); v.Health.Points != hp || v.Health.Rank != rank {
		e.T.Fatalf("stands at %d %s, want %d %s", v.Health.Points, v.Health.Rank, hp, rank)
	}
}

// wound brings somebody to so many hit points.
func (e evening) wound(id string, to int) {
	e.T.Helper()
	e.Must("gm", "wound.inflict", fmt.Sprintf(`{"character":%q,"points":%d,"cause":"a fall"}`, id, e.body(id).HP-to))
}

func (e evening) advance(by string, faces ...int) {
	e.T.Helper()
	e.Must("gm", "clock.advance", fmt.Sprintf(`{"by":%q}`, by), faces...)
}

// roll is the last roll that was made.
func (e evening) roll() *events.RollMade {
	e.T.Helper()
	for i := len(e.Records) - 1; i >= 0; i-- {
		if e.Records[i].Type == "roll.made" {
			return decode[*events.RollMade](e, e.Records[i])
		}
	}
	e.T.Fatal("nothing was rolled")
	return nil
}

func decode[T events.Event](e evening, rec events.Record) T {
	e.T.Helper()
	ev, err := book.Registry().Decode(rec)
	if err != nil {
		e.T.Fatal(err)
	}
	return ev.(T)
}

// types are the event types since record n.
func (e evening) types(n int) []string {
	var all []string
	for _, r := range e.Records[n:] {
		all = append(all, r.Type)
	}
	return all
}

// refused expects a rejection by code before any die is thrown.
func (e evening) refused(want, typ, format string, a ...any) *rules.Rejection {
	e.T.Helper()
	err := e.Refused("gm", typ, fmt.Sprintf(format, a...))
	var no *rules.Rejection
	if !errors.As(err, &no) || no.Code != want {
		e.T.Fatalf("%s: got %v, want %s", typ, err, want)
	}
	return no
}

func damageOf(t testing.TB, th events.Throw) perp.Damage {
	t.Helper()
	var d perp.Damage
	if err := json.Unmarshal(th.Detail, &d); err != nil {
		t.Fatalf("no damage in %s: %v", th.Detail, err)
	}
	return d
}
