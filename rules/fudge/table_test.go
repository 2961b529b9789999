package fudge

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"

	"tallystick/events"
	"tallystick/rules"
	"tallystick/rules/rulestest"
)

var testBook = rules.NewBook(New())

// table is a campaign in a session, with helpers in the words of the rules.
type table struct {
	*rulestest.Table
	t *testing.T
}

// play opens a campaign with options in JSON and a session.
func play(t *testing.T, options string) table {
	t.Helper()
	tb := table{rulestest.NewTable(t, testBook, options), t}
	tb.Must("gm", "participant.add", `{"handle":"mara","role":"player"}`)
	tb.Must("gm", "session.open", `{"title":"one","kind":"table"}`)
	return tb
}

// person creates a player character of mara's, or with kind npc the game
// master's.
func (tb table) person(name, kind, sheet string) string {
	tb.t.Helper()
	owner := ""
	if kind == "pc" {
		owner = `"owner":"mara",`
	}
	return tb.Must("gm", "character.create", fmt.Sprintf(`{"name":%q,"kind":%q,%s"creation":"book","sheet":%s}`, name, kind, owner, sheet))
}

// do gives a command of the game master's, with names of members filled in,
// and returns its facts.
func (tb table) do(typ, data string, faces ...int) []events.Fact {
	tb.t.Helper()
	facts, err := tb.Do(tb.Command("gm", typ, data, faces...))
	if err != nil {
		tb.t.Fatalf("%s %s: %v", typ, data, err)
	}
	return facts
}

// no gives a command that must be rejected with a code by a rule.
func (tb table) no(code, rule, typ, data string, faces ...int) {
	tb.t.Helper()
	err := tb.Refused("gm", typ, data, faces...)
	var no *rules.Rejection
	if !errors.As(err, &no) || no.Code != code || no.Rule != rule {
		tb.t.Errorf("%s %s: got %v, want a rejection %s by %s", typ, data, err, code, rule)
	}
}

// invalid gives a command that must be refused for a field.
func (tb table) invalid(field, typ, data string, faces ...int) {
	tb.t.Helper()
	err := tb.Refused("gm", typ, data, faces...)
	var bad *rules.Invalid
	if !errors.As(err, &bad) || bad.Field != field {
		tb.t.Errorf("%s %s: got %v, want a complaint about %s", typ, data, err, field)
	}
}

func (tb table) vitals(id string) events.Vitals {
	tb.t.Helper()
	ch, ok := tb.State.Character(id)
	if !ok {
		tb.t.Fatalf("no character %s", id)
	}
	return tb.State.Vitals(ch)
}

func (tb table) body(id string) *Body {
	ch, _ := tb.State.Character(id)
	return ch.Body.(*Body)
}

// rank holds a character's stage and points lost against what they must be.
func (tb table) rank(id, rank string, lost int) {
	tb.t.Helper()
	if v := tb.vitals(id); v.Health.Rank != rank || tb.body(id).points() != lost {
		tb.t.Errorf("got %s with %d points lost, want %s with %d", v.Health.Rank, tb.body(id).points(), rank, lost)
	}
}

func (tb table) conditions(id string, want ...string) {
	tb.t.Helper()
	got := []string{}
	for _, c := range tb.vitals(id).Conditions {
		got = append(got, c.Name)
	}
	if !slices.Equal(got, append([]string{}, want...)) {
		tb.t.Errorf("conditions %v, want %v", got, want)
	}
}

// wait lets game time pass.
func (tb table) wait(by string) { tb.t.Helper(); tb.do("clock.advance", `{"by":"`+by+`"}`) }

// hurt inflicts points.
func (tb table) hurt(id string, points int, faces ...int) []events.Fact {
	tb.t.Helper()
	return tb.do("wound.inflict", fmt.Sprintf(`{"character":%q,"points":%d,"cause":"a fall"}`, id, points), faces...)
}

// throws are all throws of a command.
func throws(t *testing.T, facts []events.Fact) []events.Throw {
	t.Helper()
	for _, f := range facts {
		if r, ok := f.Event.(*events.RollMade); ok {
			return append([]events.Throw{r.Throw}, r.Also...)
		}
	}
	t.Fatal("no roll was made")
	return nil
}

func detail(t *testing.T, th events.Throw) Detail {
	t.Helper()
	var d Detail
	if err := json.Unmarshal(th.Detail, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// one finds the only event of a type among facts.
func one[E events.Event](t *testing.T, facts []events.Fact) E {
	t.Helper()
	var found []E
	for _, f := range facts {
		if e, ok := f.Event.(E); ok {
			found = append(found, e)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d events of type %T, want 1", len(found), *new(E))
	}
	return found[0]
}

func none[E events.Event](t *testing.T, facts []events.Fact) {
	t.Helper()
	for _, f := range facts {
		if e, ok := f.Event.(E); ok {
			t.Errorf("unexpected %s: %+v", e.Type(), e)
		}
	}
}

// outcome holds a throw against its outcome, margin and degree.
func outcome(t *testing.T, th events.Throw, outcome string, margin int, degree string) {
	t.Helper()
	if th.Margin == nil {
		t.Fatalf("%s has no margin", th.Outcome)
	}
	if th.Outcome != outcome || *th.Margin != margin || detail(t, th).Degree != degree {
		t.Errorf("got %s by %d, %s; want %s by %d, %s", th.Outcome, *th.Margin, detail(t, th).Degree, outcome, margin, degree)
	}
}

// consistent holds the sum of every throw against what it is made of.
func consistent(t *testing.T, facts []events.Fact) {
	t.Helper()
	for _, th := range throws(t, facts) {
		sum := detail(t, th).Levels
		for _, m := range th.Modifiers {
			sum += m.Value
			if m.Label == "" || m.Rule == "" {
				t.Errorf("a modifier that does not say where it comes from: %+v", m)
			}
		}
		if sum != th.Total || th.Against == nil || th.Outcome == "" || th.Margin == nil {
			t.Errorf("%s: %d levels and modifiers, total %d, against %v, outcome %q", th.Purpose, sum, th.Total, th.Against, th.Outcome)
		}
	}
}

// refold folds the stored bytes anew: everything must come out the same.
func (tb table) refold() {
	tb.t.Helper()
	before := rulestest.Shown(tb.t, tb.State)
	tb.Refold()
	if after := rulestest.Shown(tb.t, tb.State); after != before {
		tb.t.Errorf("folded anew\n%s\nwas\n%s", after, before)
	}
}
