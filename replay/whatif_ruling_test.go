package replay_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
	"tallystick/replay"
	"tallystick/rules"
	"tallystick/rules/rpgamix"
	"tallystick/rules/rulestest"
)

// A what-if of a declared roll is one of what was declared: its command and who
// gave it are shown, its modifiers, its dice and the command itself can be
// others, and the lines stay one behind it.
func TestWhatIfDeclared(t *testing.T) {
	n := play(t)
	at := map[string]int64{}
	for _, typ := range []string{"roll.declare", "roll.witness"} {
		at[typ] = n.Records[slices.IndexFunc(n.Records, func(r events.Record) bool { return r.Cmd.Type == typ })].N
	}
	roll := func(typ, data string) replay.Change {
		return replay.Change{Command: &replay.ChangedCommand{Type: typ, Data: jsontext.Value(data)}, Modifiers: []replay.ChangedModifier{{Label: "smoke", Value: -2}}}
	}
	for name, c := range map[string]struct {
		at     string
		change replay.Change
		text   string
	}{
		"other dice":           {"roll.witness", replay.Change{Dice: []int{6}}, "rolls 6"},
		"another roll":         {"roll.witness", roll("roll", `{"expression":"9d6"}`), "9d6-2 rolls"},
		"declared otherwise":   {"roll.declare", roll("roll.declare", `{"command":"roll","arguments":{"expression":"9d6"},"purpose":"x"}`), "9d6-2 rolls"},
		"dice of what is said": {"roll.declare", replay.Change{Dice: []int{6}}, "rolls 6"},
	} {
		w, err := ask(t, n, at[c.at], c.change)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		k := slices.IndexFunc(w.Steps, func(s replay.WhatIfStep) bool { return s.Declared == at["roll.declare"] })
		if k < 0 {
			t.Errorf("%s: no step is that of the declared roll: %s", name, w.Text())
			continue
		}
		s := w.Steps[k]
		if s.Type != "ember.stoke" || s.Witness == "" || s.By != n.Records[at["roll.declare"]].By || s.N != at["roll.witness"] {
			t.Errorf("%s: the step is %+v", name, s)
		}
		if s.Same || s.Refused != "" || !strings.Contains(w.Text(), c.text) {
			t.Errorf("%s: %q is not in\n%s", name, c.text, w.Text())
		}
		for _, later := range w.Steps[k+1:] {
			if !later.Same {
				t.Errorf("%s: %d %s is another: %s %s", name, later.N, later.Type, later.Field, later.Refused)
			}
		}
	}
	w, err := ask(t, n, at["roll.witness"], replay.Change{})
	if err != nil || !w.Steps[0].Same || !strings.Contains(w.Text(), "witnessed by") {
		t.Errorf("unchanged: %v %s", err, w.Text())
	}
}

// disputed is a table at which a wound was disputed, overridden in words, and
// the dispute ruled on, with and without a correction behind it.
func disputed(t *testing.T, ruling string) (tb *rulestest.Table, ruled, overridden int64) {
	tb, _, bob := hurtTable(t)
	tb.Must("gm", "wound.inflict", fmt.Sprintf(`{"character":%q,"points":3,"cause":"a beam"}`, bob))
	wound := tb.Must("gm", "wound.inflict", fmt.Sprintf(`{"character":%q,"points":10,"cause":"a beam"}`, bob), 10)
	n := tb.State.Next - 1
	tb.Must("gm", "ruling.make", fmt.Sprintf(`{"roll":%d,"outcome":"half of it","reason":"rotten"}`, n))
	overridden = tb.State.Next - 1
	evidence := fmt.Sprintf(`{"size":%d,"root":%q,"leaf":%q}`, tb.State.Next, strings.Repeat("a", 64), strings.Repeat("b", 64))
	dispute := tb.Must("gm", "dispute.open", fmt.Sprintf(`{"roll":%d,"question":"was there a beam?","evidence":%s}`, n, evidence))
	corrections := ""
	if ruling == "overturned" {
		corrections = fmt.Sprintf(`,"corrections":[%q]`, takeBack(tb, wound))
	}
	tb.Must("gm", "dispute.rule", fmt.Sprintf(`{"dispute":%q,"ruling":%q,"reason":"said so"%s}`, dispute, ruling, corrections))
	ruled = tb.State.Next - 1
	tb.Must("gm", "clock.advance", `{"seconds":3}`)
	return tb, ruled, overridden
}

// Another ruling on a dispute carries it out on the other line: one that
// overturns takes the disputed command back, one that does not takes back the
// corrections behind the recorded one. Over a roll it is words.
func TestWhatIfRuledOtherwise(t *testing.T) {
	library := rules.Library{rules.NewBook(rpgamix.New())}
	for _, c := range []struct {
		was, ruling     string
		points, instead int
	}{{"upheld", "overturned", 12, 22}, {"overturned", "upheld", 22, 12}, {"overturned", "void", 22, 12}, {"upheld", "void", 12, 12}, {"overturned", "overturned", 22, 22}} {
		tb, at, _ := disputed(t, c.was)
		before := len(tb.Payloads)
		w, err := replay.Ask(library, at, replay.Change{Ruling: &replay.ChangedRuling{Ruling: c.ruling, Reason: "on reflection"}}, commitsOf(tb.Payloads))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(w.Text(), "otherwise: the dispute is ruled "+c.ruling+": on reflection") || w.Steps[0].Same || len(tb.Payloads) != before {
			t.Errorf("%s instead of %s: %s", c.ruling, c.was, w.Text())
		}
		if c.points == c.instead {
			if len(w.Characters) > 0 {
				t.Errorf("%s instead of %s: %s", c.ruling, c.was, w.Text())
			}
			continue
		}
		if len(w.Characters) != 1 || w.Characters[0].Recorded.Health.Points != c.points || w.Characters[0].Otherwise.Health.Points != c.instead {
			t.Errorf("%s instead of %s: %s", c.ruling, c.was, w.Text())
		}
	}
	tb, ruled, over := disputed(t, "upheld")
	w, err := replay.Ask(library, over, replay.Change{Ruling: &replay.ChangedRuling{Outcome: "nothing of it"}}, commitsOf(tb.Payloads))
	if err != nil || *w.PartAt != over || !strings.Contains(w.Text(), "nothing of it (rotten)") || len(w.Characters) > 0 || !w.Steps[1].Same {
		t.Errorf("%v %s", err, w.Text())
	}
	var invalid *rules.Invalid
	var rejected *rules.Rejection
	for name, c := range map[string]struct {
		at     int64
		change replay.Change
		as     any
	}{
		"not of a ruling":   {over - 1, replay.Change{Ruling: &replay.ChangedRuling{Ruling: "void"}}, &rejected},
		"words for dispute": {ruled, replay.Change{Ruling: &replay.ChangedRuling{Outcome: "x"}}, &invalid},
		"ruling for words":  {over, replay.Change{Ruling: &replay.ChangedRuling{Ruling: "void"}}, &invalid},
		"no such ruling":    {ruled, replay.Change{Ruling: &replay.ChangedRuling{Ruling: "perhaps"}}, &invalid},
		"with dice":         {ruled, replay.Change{Ruling: &replay.ChangedRuling{Ruling: "void"}, Dice: []int{1}}, &invalid},
	} {
		if _, err := replay.Ask(library, c.at, c.change, commitsOf(tb.Payloads)); !errors.As(err, c.as) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// At the fork a command can be taken back that stood before it.
func TestWhatIfCorrected(t *testing.T) {
	tb, ruled, _ := disputed(t, "upheld")
	first := tb.Records[numberOf(t, tb, "wound.inflicted")].Cmd.ID
	w, err := replay.Ask(rules.Library{rules.NewBook(rpgamix.New())}, ruled, replay.Change{Command: &replay.ChangedCommand{
		Type: "correction.make", Data: jsontext.Value(fmt.Sprintf(`{"command":%q,"reason":"no beam at all"}`, first)),
	}}, commitsOf(tb.Payloads))
	if err != nil || len(w.Characters) != 1 || w.Characters[0].Otherwise.Health.Points != 15 {
		t.Errorf("%v %s", err, w.Text())
	}
}

// A fork at any record of an advance that took several commits is one at the
// advance; dice are changed of the check that the record is of.
func TestWhatIfInALongAdvance(t *testing.T) {
	tb := rulestest.NewTable(t, embers, "")
	tb.Must("gm", "session.open", `{"title":"one","kind":"downtime"}`)
	tb.Must("gm", "character.create", `{"name":"Fire","kind":"npc","creation":"free","sheet":{"points":90000}}`)
	tb.Must("gm", "clock.advance", `{"seconds":20000}`)
	tb.Finish()
	tb.Must("gm", "note.add", `{"text":"morning"}`)
	first, last := numberOf(t, tb, "clock.advancing"), tb.State.Next-4 // the roll of the last check
	for _, at := range []int64{first, first + 1, (first + last) / 2, last, last + 2} {
		w, err := replay.Ask(rules.Library{embers}, at, replay.Change{}, commitsOf(tb.Payloads))
		if err != nil || w.PartAt != nil || len(w.Steps) != 2 || w.Steps[0].N != first || w.Steps[0].Type != "clock.advance" {
			t.Fatalf("record %d: %v %+v", at, err, w)
		}
	}
	was := tb.Records[last+1].Data
	change := replay.Change{Dice: []int{6}}
	if strings.Contains(string(was), `"change":0`) {
		change.Dice = []int{1}
	}
	w, err := replay.Ask(rules.Library{embers}, last, change, commitsOf(tb.Payloads))
	if err != nil || w.PartAt == nil || len(w.Characters) != 1 {
		t.Fatalf("%v %+v", err, w)
	}
	if a, b := w.Characters[0].Recorded.Health.Points, w.Characters[0].Otherwise.Health.Points; a-b != 1 && b-a != 1 {
		t.Errorf("other dice at the last check: %d and %d points", a, b)
	}
}
