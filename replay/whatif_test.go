package replay_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"tallystick/events"
	"tallystick/replay"
	"tallystick/rules"
	"tallystick/rules/rpgamix"
	"tallystick/rules/rulestest"
)

func commitsOf(payloads [][]byte) func(func([]byte) error) error {
	return func(each func([]byte) error) error {
		for _, p := range payloads {
			if err := each(p); err != nil {
				return err
			}
		}
		return nil
	}
}

// ask asks a what-if of a night and checks that the night is as it was.
func ask(t *testing.T, n *night, at int64, change replay.Change) (*replay.WhatIf, error) {
	t.Helper()
	before := bytes.Join(n.Payloads, []byte("\n"))
	w, err := replay.Ask(rules.Library{embers, rules.NewBook(rulestest.EmberSecond())}, at, change, commitsOf(n.Payloads))
	if !bytes.Equal(before, bytes.Join(n.Payloads, []byte("\n"))) {
		t.Fatal("a what-if changed the ledger")
	}
	return w, err
}

// Nothing changed, nothing parts: at every command of a night with devices,
// secrets, witnesses and ticks, carried on to its end.
func TestWhatIfNothing(t *testing.T) {
	n := play(t)
	horizon := replay.MaxHorizon
	for _, payload := range n.Payloads[1:] {
		recs, err := events.ParseCommit(payload)
		if err != nil {
			t.Fatal(err)
		}
		w, err := ask(t, n, recs[0].N, replay.Change{Horizon: &horizon})
		if err != nil {
			t.Fatalf("record %d, %s: %v", recs[0].N, recs[0].Cmd.Type, err)
		}
		if !w.WhatIf || w.PartAt != nil || len(w.Characters) > 0 {
			i := slices.IndexFunc(w.Steps, func(s replay.WhatIfStep) bool { return !s.Same })
			t.Fatalf("record %d, %s parts: %+v", recs[0].N, recs[0].Cmd.Type, w.Steps[i])
		}
	}
}

// What is changed shows, and what follows from it; dice of the same lane and
// index stay.
func TestWhatIfChanges(t *testing.T) {
	n := play(t)
	find := func(typ string) int64 {
		i := slices.IndexFunc(n.Records, func(r events.Record) bool { return r.Cmd.Type == typ })
		return n.Records[i].N
	}
	stoke, roll, advance := find("ember.stoke"), find("roll"), find("clock.advance")
	for name, c := range map[string]struct {
		at     int64
		change replay.Change
		text   string // of the other line
	}{
		"other dice":       {roll, replay.Change{Dice: []int{6, 6}}, "rolls 6 + 6 "},
		"dice that go on":  {roll, replay.Change{Dice: []int{3}}, "rolls 3 + "},
		"too few by hand":  {roll, replay.Change{Dice: []int{3}, Command: &replay.ChangedCommand{Type: "roll", Data: jsontext.Value(`{"expression":"2d6"}`)}}, "2d6 rolls 3 + "},
		"a modifier":       {roll, replay.Change{Modifiers: []replay.ChangedModifier{{Label: "smoke", Value: -2}}}, "2d6+1-2 rolls"},
		"another command":  {roll, replay.Change{Command: &replay.ChangedCommand{Type: "note.add", Data: jsontext.Value(`{"text":"no roll"}`)}}, "note: no roll"},
		"fewer logs":       {stoke, replay.Change{Command: &replay.ChangedCommand{Type: "ember.stoke", Data: jsontext.Value(fmt.Sprintf(`{"character":%q,"logs":1}`, n.fire))}}, "gets 1 point back"},
		"another edition":  {advance, replay.Change{Edition: 2}, ""},
		"another interval": {advance, replay.Change{Options: map[string]jsontext.Value{"ember.interval": jsontext.Value(`"5"`)}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := ask(t, n, c.at, c.change)
			if err != nil {
				t.Fatal(err)
			}
			if w.PartAt == nil || *w.PartAt != c.at || w.Steps[0].Same || !strings.Contains(w.Text(), "otherwise: ") {
				t.Fatalf("the lines do not part at %d: %s", c.at, w.Text())
			}
			if !strings.Contains(w.Text(), c.text) {
				t.Errorf("%q is not in\n%s", c.text, w.Text())
			}
		})
	}
	w, err := ask(t, n, roll, replay.Change{Command: &replay.ChangedCommand{Type: "note.add", Data: jsontext.Value(`{"text":"no roll"}`)}})
	if err != nil || len(w.Steps) != replay.DefaultHorizon+1 || w.Steps[1].Same != true {
		t.Errorf("a roll of another lane is another: %v %+v", err, w.Steps[1])
	}
}

// A what-if says why it cannot be asked.
func TestWhatIfRefuses(t *testing.T) {
	n := play(t)
	roll := n.Records[slices.IndexFunc(n.Records, func(r events.Record) bool { return r.Cmd.Type == "roll" })].N
	find := func(typ string) int64 {
		return n.Records[slices.IndexFunc(n.Records, func(r events.Record) bool { return r.Cmd.Type == typ })].N
	}
	stoke := find("ember.stoke")
	tooFar := replay.MaxHorizon + 1
	var invalid *rules.Invalid
	var rejected *rules.Rejection
	var missing *rules.MissingEdition
	var forbidden *rules.Forbidden
	var none *replay.NotARoll
	for name, c := range map[string]struct {
		at     int64
		change replay.Change
		as     any
	}{
		"no such record":     {99_999, replay.Change{}, &none},
		"the first":          {0, replay.Change{}, &rejected},
		"no such edition":    {roll, replay.Change{Edition: 9}, &missing},
		"no such option":     {roll, replay.Change{Options: map[string]jsontext.Value{"ember.rain": jsontext.Value(`"yes"`)}}, &invalid},
		"a wrong value":      {roll, replay.Change{Options: map[string]jsontext.Value{"ember.wind": jsontext.Value(`"none"`)}}, &invalid},
		"no such command":    {roll, replay.Change{Command: &replay.ChangedCommand{Type: "ember.rain", Data: jsontext.Value(`{}`)}}, &invalid},
		"an empty one":       {roll, replay.Change{Command: &replay.ChangedCommand{Type: "note.add"}}, &invalid},
		"no room":            {stoke, replay.Change{Modifiers: []replay.ChangedModifier{{Label: "x", Value: 1}}}, &rejected},
		"no such face":       {roll, replay.Change{Dice: []int{7}}, &rejected},
		"no face":            {roll, replay.Change{Dice: []int{-2}}, &invalid},
		"too far":            {roll, replay.Change{Horizon: &tooFar}, &invalid},
		"a correction":       {roll, replay.Change{Command: &replay.ChangedCommand{Type: "correction.make", Data: jsontext.Value(fmt.Sprintf(`{"command":%q,"reason":"x"}`, n.Records[roll].Cmd.ID))}}, &forbidden},
		"dice of a seal":     {find("roll.seal"), replay.Change{Dice: []int{6, 6, 6}}, &rejected},
		"dice of an opening": {find("roll.open"), replay.Change{Dice: []int{6, 6, 6}}, &rejected},
		"dice of a note":     {find("note.add"), replay.Change{Dice: []int{6}}, &rejected},
	} {
		if _, err := ask(t, n, c.at, c.change); !errors.As(err, c.as) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Dice that the ledger has not shown do not come up in a what-if: one that asks
// for more rolls than there are gets others than the rolls that come next.
func TestWhatIfForeseesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tb := rulestest.NewTable(t, embers, "")
		tb.Must("gm", "session.open", `{"title":"one","kind":"downtime"}`)
		tb.Must("gm", "character.create", `{"name":"Fire","kind":"npc","creation":"free","sheet":{"points":90}}`)
		for range rapid.IntRange(0, 5).Draw(rt, "rolls") {
			tb.Must("gm", "roll", `{"expression":"20d100"}`)
		}
		at := tb.State.Next
		tb.Must("gm", "note.add", `{"text":"here"}`)
		w, err := replay.Ask(rules.Library{embers}, at, replay.Change{Command: &replay.ChangedCommand{Type: "roll", Data: jsontext.Value(`{"expression":"20d100"}`)}}, commitsOf(tb.Payloads))
		if err != nil {
			rt.Fatal(err)
		}
		tb.Must("gm", "roll", `{"expression":"20d100"}`)
		made := tb.Records[len(tb.Records)-1].Data
		if drawsOf(made) == drawsOf(w.Steps[0].Otherwise[0].Data) {
			rt.Fatalf("the what-if showed the dice that come next: %s", made)
		}
		if !bytes.Contains(w.Steps[0].Otherwise[0].Data, []byte(`"source":"what-if"`)) {
			rt.Fatalf("the dice are not marked: %s", w.Steps[0].Otherwise[0].Data)
		}
	})
}

func drawsOf(data []byte) string {
	_, rest, _ := strings.Cut(string(data), `"draws":`)
	draws, _, _ := strings.Cut(rest, `,"modifiers"`)
	return draws
}

// The book's own example, told for a player.
func TestAuditSentence(t *testing.T) {
	tb := rulestest.NewTable(t, rules.NewBook(rpgamix.New()), "")
	tb.Must("gm", "session.open", `{"title":"one","kind":"table"}`)
	person := func(name, stats, skills string) string {
		return tb.Must("gm", "character.create", `{"name":"`+name+`","kind":"npc","creation":"free","sheet":{"stats":{`+stats+`},"skills":{`+skills+`}}}`)
	}
	bob := person("Bob", `"str":5,"con":0,"dex":0,"per":0,"int":0,"wits":0,"cha":0,"app":0`, `"Short Sword":3`)
	sue := person("Sue", `"str":0,"con":1,"dex":-2,"per":0,"int":0,"wits":-1,"cha":0,"app":0`, `"Parry":3`)
	tb.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"custom":{"name":"Short Sword","potential":15,"parry":0},"skill":"Short Sword","defence":{"skill":"Parry"}}`, bob, sue), 6, 2, 8, 3)
	n := tb.State.Next - 1
	for ; tb.Records[n].Type != "roll.made"; n-- {
	}
	for at := n; at < tb.State.Next; at++ { // the roll, and what followed from it
		a := explain(t, tb.Payloads, rules.Library{rules.NewBook(rpgamix.New())}, at)
		if want := "Bob rolled 6 + 3 against 3: hit by 6, 60 % of 20 = 12 points."; a.Sentence != want || a.N != n {
			t.Errorf("got %q of record %d, want %q of %d", a.Sentence, a.N, want, n)
		}
		if a.Proof.Kind != replay.NotProved || len(a.Caused) != 3 || a.Caused[0].Type != "wound.inflicted" || !strings.Contains(a.Caused[0].Text, "12 points") {
			t.Errorf("proof %q, caused %+v", a.Proof.Kind, a.Caused)
		}
	}
	// Every modifier has its rule's title, and comes from a sheet or from the
	// wound of the same roll. Now that Sue is hurt, her health weighs on her.
	a := explain(t, tb.Payloads, rules.Library{rules.NewBook(rpgamix.New())}, n)
	for _, th := range a.Throws {
		for _, m := range th.Modifiers {
			if m.Title == "" || len(m.From) == 0 {
				t.Errorf("%s of %s: title %q, from %+v", m.Label, th.Purpose, m.Title, m.From)
			}
		}
	}
	tb.Must("gm", "rpgamix.wake", fmt.Sprintf(`{"character":%q,"cause":"cold water"}`, sue))
	tb.Must("gm", "clock.advance", `{"seconds":30}`)
	tb.Must("gm", "check", fmt.Sprintf(`{"character":%q,"stat":"int","difficulty":5,"modifiers":[{"label":"dark","value":-1}]}`, sue), 9)
	a = explain(t, tb.Payloads, rules.Library{rules.NewBook(rpgamix.New())}, tb.State.Next-1)
	for _, want := range []struct{ label, from string }{{"Poor health", "wound.inflicted"}, {"dark", "check"}} {
		i := slices.IndexFunc(a.Throws[0].Modifiers, func(m replay.AuditModifier) bool { return strings.EqualFold(m.Label, want.label) })
		if i < 0 || len(a.Throws[0].Modifiers[i].From) == 0 || a.Throws[0].Modifiers[i].From[0].Type != want.from {
			t.Errorf("%s does not come from %s: %+v", want.label, want.from, a.Throws[0].Modifiers)
		}
	}
}

func explain(t *testing.T, payloads [][]byte, library rules.Library, n int64) *replay.Audit {
	t.Helper()
	a := replay.NewAuditor(library, n)
	for _, p := range payloads {
		if err := a.Commit(p); err != nil {
			t.Fatalf("record %d: %v", n, err)
		}
	}
	audit, err := a.End()
	if err != nil {
		t.Fatalf("record %d: %v", n, err)
	}
	return audit
}

// Every roll of a night is explained: its dice follow from its seeds, seeds lead
// back to the anchor, and the proof says what kind of roll it was. Everything
// else is no roll.
func TestAuditNight(t *testing.T) {
	n := play(t)
	kinds := map[string]int{}
	for _, rec := range n.Records {
		if !slices.Contains([]string{"roll.made", "roll.resolved", "roll.sealed", "roll.opened"}, rec.Type) {
			continue
		}
		a := explain(t, n.Payloads, rules.Library{embers}, rec.N)
		kinds[a.Proof.Kind]++
		if a.Sentence == "" || a.Proof.Sentence == "" || !strings.HasPrefix(a.Text(), a.Sentence) || !strings.HasPrefix(a.Markdown(), "**") {
			t.Errorf("record %d: %q", rec.N, a.Text())
		}
		proved := a.Proof.Kind == replay.ProvedByLedger || a.Proof.Kind == replay.ProvedByWitness
		if (a.Seed != nil) != proved || proved && !a.Seed.Leads {
			t.Errorf("record %d: %s, seed %+v", rec.N, a.Proof.Kind, a.Seed)
		}
		for _, th := range a.Throws {
			for _, d := range th.Dice {
				if d.Agrees != proved || proved && d.Value%d.Sides+1 != d.Face {
					t.Errorf("record %d: %+v", rec.N, d)
				}
			}
		}
		// Without the rules the dice are explained all the same.
		if b := explain(t, n.Payloads, nil, rec.N); b.Rules != "" || len(b.Throws) != len(a.Throws) {
			t.Errorf("record %d without rules: %+v", rec.N, b)
		}
	}
	for _, kind := range []string{replay.ProvedByLedger, replay.ProvedByWitness, replay.NotProved, replay.NotShownYet} {
		if kinds[kind] == 0 {
			t.Errorf("no roll is %s: %v", kind, kinds)
		}
	}
	a := replay.NewAuditor(rules.Library{embers}, 1)
	var none *replay.NotARoll
	if err := a.Commit(n.Payloads[0]); !errors.As(err, &none) || none.Type != "participant.joined" {
		t.Errorf("got %v", err)
	}
}

// What stands behind a roll in its command follows from it only as long as
// nothing else falls due: a check without dice is not the doing of the roll
// before it.
func TestAuditOfChecks(t *testing.T) {
	book := rules.NewBook(rpgamix.New())
	tb := rulestest.NewTable(t, book, "")
	tb.Must("gm", "session.open", `{"title":"one","kind":"downtime"}`)
	wounded := func(points int, faces ...int) {
		id := tb.Must("gm", "character.create", `{"name":"Ivo","kind":"npc","creation":"free","sheet":{"stats":{"str":0,"con":0,"dex":0,"per":0,"int":0,"wits":0,"cha":0,"app":0},"skills":{}}}`)
		tb.Must("gm", "wound.inflict", fmt.Sprintf(`{"character":%q,"points":%d,"cause":"a beam"}`, id, points), faces...)
	}
	for range 4 {
		wounded(12, 9) // checked by the hour, with dice
	}
	tb.Must("gm", "clock.advance", `{"seconds":3597}`)
	for range 4 {
		wounded(21) // a point a round, without
	}
	tb.Must("gm", "clock.advance", `{"seconds":30}`)
	rolls := 0
	for _, rec := range tb.Records {
		if rec.Type != "roll.made" || rec.Cmd.Type == "wound.inflict" {
			continue
		}
		rolls++
		a := explain(t, tb.Payloads, rules.Library{book}, rec.N)
		if len(a.Caused) == 0 {
			t.Errorf("the check of record %d caused nothing", rec.N)
		}
		for _, e := range a.Caused {
			if !bytes.Contains(tb.Records[e.N].Data, []byte(a.Throws[0].Character)) || e.N > rec.N+1 && e.Type == "tick.processed" {
				t.Errorf("record %d is said to have caused record %d, %s", rec.N, e.N, e.Text)
			}
		}
	}
	if rolls != 4 {
		t.Errorf("%d checks with dice", rolls)
	}
}

// A session step by step comes to the same states, however often it is
// replayed, and to those of the ledger.
func TestSteps(t *testing.T) {
	n := play(t)
	session := n.Records[slices.IndexFunc(n.Records, func(r events.Record) bool { return r.Type == "session.opened" })].Cmd.ID
	var first []string
	for range 5 {
		var all []string
		s := replay.NewSteps(replay.New(rules.Library{embers}), session, func(step replay.Step) error {
			text, err := rules.Canonical(&step)
			all = append(all, string(text))
			return err
		})
		err := commitsOf(n.Payloads)(s.Commit)
		if !errors.Is(err, replay.ErrOver) || !s.Found() {
			t.Fatal(err)
		}
		if first == nil {
			first = all
		}
		if !slices.Equal(first, all) {
			t.Fatal("another replay, other steps")
		}
	}
	if len(first) < 20 || !strings.Contains(first[len(first)-1], `"type":"session.close"`) {
		t.Errorf("%d steps, the last %s", len(first), first[len(first)-1])
	}
}
