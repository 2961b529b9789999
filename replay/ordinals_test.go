package replay_test

import (
	"fmt"
	"testing"

	"tallystick/events"
	"tallystick/replay"
	"tallystick/rules"
	"tallystick/rules/fudge"
	"tallystick/rules/rpgamix"
	"tallystick/rules/rulestest"
)

// again replays a table's ledger from its bytes.
func again(t *testing.T, tb *rulestest.Table, book *rules.Book) {
	t.Helper()
	r := replay.New(rules.Library{book})
	for _, p := range tb.Payloads {
		if err := r.Commit(p); err != nil {
			t.Fatal(err)
		}
	}
}

func takeBack(tb *rulestest.Table, command string) string {
	return tb.Must("gm", "correction.make", fmt.Sprintf(`{"command":%q,"reason":"a mistake"}`, command))
}

// ordinals are those of the wounds in a ledger, in its order.
func ordinals(t *testing.T, recs []events.Record) []int {
	t.Helper()
	var all []int
	for _, r := range recs {
		if r.Type != "wound.inflicted" {
			continue
		}
		e, err := events.Core().Decode(r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e.(*events.WoundInflicted).Wound)
	}
	return all
}

// The ordinal of a wound that was taken back is not given to another, and the
// one that was taken back has it again when that is taken back in turn.
func TestOrdinalsAreGivenOnce(t *testing.T) {
	book := rules.NewBook(rpgamix.New())
	tb := rulestest.NewTable(t, book, "")
	tb.Correct = correct
	tb.Must("gm", "session.open", `{"title":"one","kind":"table"}`)
	bob := tb.Must("gm", "character.create", `{"name":"Bob","kind":"npc","creation":"free","sheet":{"stats":{"str":0,"con":0,"dex":0,"per":0,"int":0,"wits":0,"cha":0,"app":0},"skills":{}}}`)
	wound := func(points int) string {
		return tb.Must("gm", "wound.inflict", fmt.Sprintf(`{"character":%q,"points":%d,"cause":"a beam"}`, bob, points))
	}
	wound(1)
	done := takeBack(tb, wound(2))
	wound(1)
	takeBack(tb, done)
	wound(1)
	if got := fmt.Sprint(ordinals(t, tb.Records)); got != "[1 2 3 4]" {
		t.Errorf("the wounds are %s", got)
	}
	again(t, tb, book)
}

// What stands keeps to the wounds it was about: care for the second wound is
// care for the second wound, also when the first one never was.
func TestOrdinalsOutliveACorrection(t *testing.T) {
	book := rules.NewBook(fudge.New())
	tb := rulestest.NewTable(t, book, `{"fudge.treated_days":0,"fudge.heal_reading":"per_wound"}`)
	tb.Correct = correct
	tb.Must("gm", "session.open", `{"title":"one","kind":"table"}`)
	person := func(name, sheet string) string {
		return tb.Must("gm", "character.create", fmt.Sprintf(`{"name":%q,"kind":"npc","creation":"free","sheet":%s}`, name, sheet))
	}
	bob, medic := person("Bob", `{"hit_points":"Good"}`), person("Medic", `{"traits":{"Medicine":"Great"}}`)
	hurt := func(who string, points int, faces ...int) string {
		return tb.Must("gm", "wound.inflict", fmt.Sprintf(`{"character":%q,"points":%d,"cause":"a beam"}`, who, points), faces...)
	}
	first := hurt(bob, 1)
	tb.Must("gm", "heal.grant", fmt.Sprintf(`{"character":%q,"points":1,"cause":"a plaster"}`, bob))
	hurt(bob, 3)
	weighs := hurt(medic, 2) // the medic rolls at -1
	tb.Must("gm", "wound.treat", fmt.Sprintf(`{"character":%q,"by":%q,"trait":"Medicine"}`, bob, medic), 3, 4)
	takeBack(tb, weighs) // so that the care stands, in question
	takeBack(tb, first)
	if h := standing(tb, bob); h.Points != h.Max {
		t.Errorf("without the first wound, and the second one healed: %+v", h)
	}
	again(t, tb, book)
}

func standing(tb *rulestest.Table, id string) events.Health {
	ch, _ := tb.State.Character(id)
	return tb.State.Vitals(ch).Health
}
