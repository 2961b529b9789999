package rules_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tallystick/events"
	"tallystick/rules"
	"tallystick/rules/dice"
	"tallystick/rules/rulestest"
)

var embers = rules.NewBook(rulestest.Ember())

func fire(tb *rulestest.Table, points int) string {
	tb.T.Helper()
	return tb.Must("gm", "character.create", fmt.Sprintf(`{"name":"Fire","kind":"npc","creation":"free","sheet":{"points":%d}}`, points))
}

func last[T any](s []T) T { return s[len(s)-1] }

// Advancing once or in many small steps must give the same ticks with the
// same dice, over several commits and several renewals of the lane.
func TestAdvanceSplit(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		whole := rapid.Int64Range(1, 3_000).Draw(rt, "seconds")
		steps := rapid.SliceOfN(rapid.Int64Range(1, 700), 0, 8).Draw(rt, "steps")
		at := func(steps []int64) []string {
			tb := rulestest.NewTable(t, embers, "")
			// Sessions have ids from the count of commands: the same in both.
			tb.Must("gm", "session.open", `{"title":"one","kind":"downtime"}`)
			fire(tb, 60)
			fire(tb, 60)
			left := whole
			for _, s := range steps {
				if s < left {
					tb.Must("gm", "clock.advance", fmt.Sprintf(`{"seconds":%d}`, s))
					left -= s
				}
			}
			tb.Must("gm", "clock.advance", fmt.Sprintf(`{"seconds":%d}`, left))
			if tb.State.Clock != whole {
				rt.Fatalf("the clock stands at %d, want %d", tb.State.Clock, whole)
			}
			return tb.Ticks()
		}
		if diff := cmp.Diff(at(nil), at(steps)); diff != "" {
			rt.Fatal(diff)
		}
	})
}

// A long advance is cut into commits; each part goes on where the one before
// ended, also when the state was folded anew in between, and the lane is
// renewed on the way.
func TestAdvanceInParts(t *testing.T) {
	tb := rulestest.NewTable(t, embers, "")
	tb.Must("gm", "session.open", `{"title":"one","kind":"downtime"}`)
	fire(tb, 100_000)
	asked := tb.Must("gm", "clock.advance", `{"seconds":60000}`)
	parts := 1
	for tb.State.Pending != nil {
		if err := tb.Refused("gm", "note.add", `{"text":"hello"}`); !errors.As(err, new(*rules.PendingError)) {
			t.Fatalf("got %v in the middle of an advance", err)
		}
		tb.Refold()
		if tb.State.Pending.Command != asked || tb.State.Pending.Parts != parts {
			t.Fatalf("pending %+v", tb.State.Pending)
		}
		tb.Must(rules.SystemPrincipal, "clock.resume", fmt.Sprintf(`{"command":%q,"part":%d}`, asked, parts))
		parts++
	}
	if parts < 5 {
		t.Errorf("%d parts: the advance was too short to test anything", parts)
	}
	end := last(tb.Records)
	if end.Type != "clock.advanced" || end.Clock != 60_000 || !strings.Contains(string(end.Data), `"from":0,"to":60000,"ticks":6000`) {
		t.Errorf("ended with %s %s", end.Type, end.Data)
	}
	lanes := map[string]bool{}
	for _, r := range tb.Records {
		if r.Type == "seat.taken" && strings.Contains(string(r.Data), `"principal":"system"`) {
			lanes[string(r.Data)] = true
		}
	}
	if len(lanes) != 2 {
		t.Errorf("%d lanes of the system: 6,000 rolls take two", len(lanes))
	}
	known, ok := tb.State.Known(asked)
	if !ok || known.Last != end.N {
		t.Errorf("the answer to the advance ends at %d, want %d", known.Last, end.N)
	}
}

func TestAdvanceStopsAtTheLimitOfTicks(t *testing.T) {
	if testing.Short() {
		t.Skip("decides a hundred thousand ticks")
	}
	tb := rulestest.NewTable(t, embers, "")
	tb.Must("gm", "session.open", `{"title":"one","kind":"downtime"}`)
	fire(tb, 100_000)
	tb.Must("gm", "clock.advance", `{"seconds":2000000}`)
	tb.Finish()
	if tb.State.Clock != 10*rules.MaxTicks || !strings.Contains(string(last(tb.Records).Data), "stopped") {
		t.Errorf("the clock stands at %d: %s", tb.State.Clock, last(tb.Records).Data)
	}
}

// Deciding leaves the campaign as it was.
func TestDecideChangesNothing(t *testing.T) {
	tb := rulestest.NewTable(t, embers, "")
	tb.Must("gm", "session.open", `{"title":"one","kind":"table"}`)
	fire := fire(tb, 10)
	before := rulestest.Shown(t, tb.State)
	for _, c := range []rules.Command{
		tb.Command("gm", "clock.advance", `{"seconds":500}`),
		tb.Command("gm", "ember.stoke", fmt.Sprintf(`{"character":%q,"logs":3}`, fire)),
		tb.Command("gm", "participant.add", `{"handle":"anna","role":"player"}`),
		tb.Command("gm", "character.create", `{"name":"x","kind":"npc","creation":"free","sheet":{"points":3}}`),
		tb.Command("gm", "session.close", `{}`),
	} {
		if _, err := rules.Decide(tb.State, c, &rulestest.Chains{}); err != nil {
			t.Fatalf("%s: %v", c.Type, err)
		}
		if got := rulestest.Shown(t, tb.State); got != before {
			t.Fatalf("%s changed the campaign:\n%s\n%s", c.Type, before, got)
		}
	}
}

// One command takes one link of the lane of who commands, and all its dice
// come from it in order.
func TestOneRollACommand(t *testing.T) {
	tb := rulestest.NewTable(t, embers, "")
	tb.Must("gm", "participant.add", `{"handle":"anna","role":"player"}`)
	tb.Must("gm", "session.open", `{"title":"one","kind":"table"}`)
	fire := tb.Must("anna", "character.create", `{"name":"Lamp","kind":"pc","creation":"free","sheet":{"points":10}}`)
	tb.Must("anna", "ember.stoke", fmt.Sprintf(`{"character":%q,"logs":3}`, fire))
	roll := &events.RollMade{}
	for _, r := range tb.Records {
		if r.Type == "roll.made" {
			e, err := events.Core().Decode(r)
			if err != nil {
				t.Fatal(err)
			}
			roll = e.(*events.RollMade)
		}
	}
	if roll.Lane != "anna" || roll.I != 1 || len(roll.Draws) != 3 || len(roll.Also) != 2 || roll.Expression != "1d6" {
		t.Fatalf("%+v", roll)
	}
	seed, err := (&rulestest.Chains{}).Link(tb.State.Session.ID, "anna", 1024, 1)
	if err != nil || seed.String() != roll.S {
		t.Fatalf("seed %s, want %s (%v)", roll.S, seed, err)
	}
	var joint string
	for _, l := range tb.State.Session.Lanes {
		if l.Name == "anna" {
			joint = l.Joint.String()
		}
	}
	j, err := dice.ParseSeed(joint)
	if err != nil {
		t.Fatal(err)
	}
	stream := dice.NewStream(seed, j, "anna", 1, dice.Absent, dice.Absent)
	for i, d := range roll.Draws {
		if face := stream.Die(6); face != d[1] {
			t.Errorf("die %d shows %d, want %d", i, d[1], face)
		}
	}
	if roll.Total != int(roll.Draws[0][1])+1 || roll.Also[1].Total != int(roll.Draws[2][1])+1 {
		t.Errorf("totals %d and %d of %v", roll.Total, roll.Also[1].Total, roll.Draws)
	}
}

func TestDiceByHand(t *testing.T) {
	tb := rulestest.NewTable(t, embers, "")
	fire := fire(tb, 10)
	stoke := fmt.Sprintf(`{"character":%q,"logs":2}`, fire)
	if code(tb.Refused("gm", "ember.stoke", stoke, 3, 4)) != "no_session" {
		t.Error("dice by hand outside a session")
	}
	tb.Must("gm", "session.open", `{"title":"one","kind":"table"}`)
	for _, c := range []struct {
		faces []int
		code  string
	}{{[]int{3}, "more_dice"}, {[]int{3, 4, 5}, "too_many_dice"}, {[]int{3, 7}, "impossible_face"}, {[]int{0, 1}, "impossible_face"}} {
		if got := code(tb.Refused("gm", "ember.stoke", stoke, c.faces...)); got != c.code {
			t.Errorf("%v: %s, want %s", c.faces, got, c.code)
		}
	}
	tb.Must("gm", "ember.stoke", stoke, 3, 4)
	tb.Must("gm", "ember.stoke", stoke)
	var rolls []string
	for _, r := range tb.Records {
		if r.Type == "roll.made" {
			rolls = append(rolls, string(r.Data))
		}
	}
	if !strings.Contains(rolls[0], `"source":"physical"`) || strings.Contains(rolls[0], `"s":`) || strings.Contains(rolls[0], `"lane"`) {
		t.Errorf("a roll by hand is %s", rolls[0])
	}
	if !strings.Contains(rolls[1], `"i":1,`) {
		t.Errorf("a roll by hand took a link of the chain: %s", rolls[1])
	}
}

func TestRights(t *testing.T) {
	tb := rulestest.NewTable(t, embers, "")
	tb.Must("gm", "participant.add", `{"handle":"anna","role":"player"}`)
	tb.Must("gm", "participant.add", `{"handle":"ben","role":"player"}`)
	tb.Must("gm", "participant.add", `{"handle":"eye","role":"spectator"}`)
	tb.Must("gm", "session.open", `{"title":"one","kind":"table"}`)
	lamp := tb.Must("anna", "character.create", `{"name":"Lamp","kind":"pc","creation":"free","sheet":{"points":10}}`)
	stoke := fmt.Sprintf(`{"character":%q,"logs":1}`, lamp)
	for _, c := range []struct{ by, typ, data string }{
		{"anna", "clock.advance", `{"seconds":1}`},
		{"anna", "session.close", `{}`},
		{"anna", "participant.add", `{"handle":"x","role":"gm"}`},
		{"anna", "clock.resume", `{"command":"x","part":1}`},
		{"gm", "clock.resume", `{"command":"x","part":1}`},
		{"ben", "ember.stoke", stoke},
		{"ben", "character.create", `{"name":"x","kind":"npc","creation":"free","sheet":{"points":3}}`},
		{"ben", "character.create", `{"name":"x","kind":"pc","owner":"anna","creation":"free","sheet":{"points":3}}`},
		{"eye", "note.add", `{"text":"x"}`},
		{"nobody", "note.add", `{"text":"x"}`},
		{"nobody", "ember.stoke", stoke},
	} {
		if err := tb.Refused(c.by, c.typ, c.data); !errors.As(err, new(*rules.Forbidden)) {
			t.Errorf("%s %s: %v", c.by, c.typ, err)
		}
	}
	tb.Must("anna", "ember.stoke", stoke)
	tb.Must("gm", "ember.stoke", stoke)
	tb.Must("gm", "participant.remove", `{"handle":"anna"}`)
	if err := tb.Refused("anna", "ember.stoke", stoke); !errors.As(err, new(*rules.Forbidden)) {
		t.Error(err)
	}
	if code(tb.Refused("gm", "participant.remove", `{"handle":"gm"}`)) != "last_gm" {
		t.Error("the last game master left")
	}
}

func TestInvalidNamesTheField(t *testing.T) {
	tb := rulestest.NewTable(t, embers, "")
	for _, c := range []struct{ typ, data, field string }{
		{"clock.advance", `{"seconds":-3}`, "seconds"},
		{"clock.advance", `{"seconds":86400000000000000}`, "seconds"},
		{"clock.advance", `{"by":"1000000000000d"}`, "by"},
		{"clock.advance", `{"by":"soon"}`, "by"},
		{"clock.advance", `{}`, "seconds"},
		{"clock.advance", `{"seconds":1,"to":9}`, "seconds"},
		{"clock.advance", `{"seconds":1.5}`, "seconds"},
		{"clock.advance", `{"seconds":"1"}`, "seconds"},
		{"clock.advance", `{"secs":1}`, "secs"},
		{"clock.advance", `{"Seconds":1}`, "Seconds"},
		{"clock.advance", `{"seconds":1,"seconds":2}`, "seconds"},
		{"clock.advance", `[]`, ""},
		{"note.add", `{}`, "text"},
		{"note.add", `{"text":""}`, "text"},
		{"note.add", `{"text":"bell \u0007"}`, "text"},
		{"note.add", "{\"text\":\"\xff\"}", "text"},
		{"session.open", `{"title":"x","kind":"orgy"}`, "kind"},
		{"session.open", `{"title":"   ","kind":"table"}`, "title"},
		{"character.create", `{"name":"x","kind":"pc","creation":"free","sheet":{"points":0}}`, "sheet.points"},
		{"character.create", `{"name":"x","kind":"pc","creation":"free","sheet":{"pints":3}}`, "sheet.pints"},
		{"character.create", `{"name":"x","kind":"pc","creation":"free"}`, "sheet"},
		{"setting.define", `{"reason":"x","setting":{"woods":["oak","water"]}}`, "setting.woods.1"},
		{"dance", `{}`, "type"},
		{"campaign.create", `{"name":"x","system":"ember","gm":"gm","vkey":"v"}`, "-"},
	} {
		err := tb.Refused("gm", c.typ, c.data)
		var bad *rules.Invalid
		if errors.As(err, &bad) != (c.field != "-") || bad != nil && bad.Field != c.field {
			t.Errorf("%s %s: %v, want the field %q", c.typ, c.data, err, c.field)
		}
	}
	if code(tb.Refused("gm", "roll", `{"expression":"3d6+"}`)) != "notation" {
		t.Error("a malformed expression")
	}
	if code(tb.Refused("gm", "ember.stoke", `{"character":"nobody","logs":1}`)) != "unknown_character" {
		t.Error("an unknown character")
	}
}

func TestOptions(t *testing.T) {
	for _, c := range []struct{ options, field string }{
		{`{"ember.wind":"storm","ember.interval":3}`, ""},
		{`{"ember.wind":"gale"}`, "options.ember.wind"},
		{`{"ember.interval":0}`, "options.ember.interval"},
		{`{"ember.interval":"x"}`, "options.ember.interval"},
		{`{"ember.interval":[1]}`, "options.ember.interval"},
		{`{"ember.rain":true}`, "options.ember.rain"},
	} {
		tb := rulestest.Empty(t, embers)
		_, err := tb.Do(tb.Command("gm", "campaign.create", `{"name":"x","system":"ember","gm":"gm","vkey":"v","options":`+c.options+`}`))
		var bad *rules.Invalid
		if errors.As(err, &bad); c.field == "" && err != nil || c.field != "" && (bad == nil || bad.Field != c.field) {
			t.Errorf("%s: %v, want the field %q", c.options, err, c.field)
		}
		if c.field == "" && !(tb.State.Options.Is("ember.wind", "storm") && tb.State.Options.Int("ember.interval") == 3) {
			t.Errorf("options are %v", tb.State.Options.Values())
		}
	}
}

// Somebody who joins in the middle of a session gets a seat at once.
func TestLateJoiner(t *testing.T) {
	tb := rulestest.NewTable(t, embers, "")
	tb.Must("gm", "session.open", `{"title":"one","kind":"table"}`)
	tb.Must("gm", "participant.add", `{"handle":"anna","role":"player"}`)
	tb.Must("anna", "roll", `{"expression":"2d6+1","purpose":"luck"}`)
	r := last(tb.Records)
	if r.Type != "roll.made" || !strings.Contains(string(r.Data), `"lane":"anna"`) {
		t.Errorf("%s %s", r.Type, r.Data)
	}
}

func TestNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"Élise d'Arc": true, "太郎": true, "علي": true, "👩🏽‍🚀": true, "a.b.*.>": true, "../x": true, "<b>": true,
		"E\u0301lise": false, "": false, "   ": false, "a\nb": false, "a\x00b": false, "a\u202eb": false, "a\u200bb": false,
		"\x1b[31m": false, strings.Repeat("x", 201): false, strings.Repeat("é", 200): true,
	} {
		if err := rules.CheckName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func code(err error) string {
	var no *rules.Rejection
	if errors.As(err, &no) {
		return no.Code
	}
	return fmt.Sprint("no rejection: ", err)
}

// Neither deciding rolls nor folding them changes a session that somebody else holds.
func TestRollsLeaveSessions(t *testing.T) {
	tb := rulestest.NewTable(t, embers, "")
	tb.Must("gm", "session.open", `{"title":"one","kind":"downtime"}`)
	fire(tb, 60)
	tb.Must("gm", "clock.advance", `{"seconds":300}`)
	snapshot := tb.State.Snapshot()
	cmd := tb.Command("gm", "clock.advance", `{"seconds":300}`)
	var facts []events.Fact
	for _, step := range []struct {
		name string
		c    *rules.Campaign
		fold bool
	}{{"deciding", tb.State, false}, {"folding", tb.State, true}, {"folding once more", tb.State, true}, {"folding elsewhere", snapshot, true}} {
		held, before, lanes := step.c.Session, *step.c.Session, []rules.Lane{}
		for _, l := range held.Lanes {
			lanes = append(lanes, *l)
		}
		var err error
		if step.fold {
			head := events.Head{Campaign: step.c.ID, N: step.c.Next, At: step.c.LastAt, By: "gm", Cmd: cmd.Record()}
			err = step.c.ApplyFacts(head, facts)
		} else {
			facts, err = tb.Decide(cmd, &rulestest.Chains{})
		}
		if err != nil || step.fold != (step.c.Session.Rolls > before.Rolls) {
			t.Fatalf("%s: %d rolls of a session that had %d, %v", step.name, step.c.Session.Rolls, before.Rolls, err)
		}
		for i, l := range held.Lanes {
			if *l != lanes[i] || held.Rolls != before.Rolls {
				t.Errorf("%s: the session that was held has %d rolls, not %d, and the lane %+v", step.name, held.Rolls, before.Rolls, *l)
			}
		}
	}
}
