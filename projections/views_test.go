package projections

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"tallystick/events"
	"tallystick/projections/internal/example"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const campaign = "0192f000-0000-7000-8000-000000000001"

// parsed returns the records of commits.
func parsed(t testing.TB, commits ...[]byte) []events.Record {
	t.Helper()
	var all []events.Record
	for _, c := range commits {
		recs, err := events.ParseCommit(c)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, recs...)
	}
	return all
}

func fold(t testing.TB, v *Views, recs []events.Record) {
	t.Helper()
	for _, rec := range recs {
		if err := v.Apply(rec); err != nil {
			t.Fatal(err)
		}
	}
}

// shown is everything views show, as JSON.
func shown(t testing.TB, v *Views) string {
	t.Helper()
	var timelines []Timeline
	for _, c := range v.Characters() {
		line, _ := v.Timeline(c.ID, 0, 0)
		timelines = append(timelines, line)
	}
	out, err := json.Marshal(map[string]any{
		"position": v.Position(), "campaign": v.Campaign(), "participants": v.Participants(), "characters": v.Characters(),
		"timelines": timelines, "sessions": v.Sessions(), "rolls": v.Rolls(0, 0, nil),
	}, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func vitals(points int, rank string, due int64) *events.Vitals {
	v := &events.Vitals{Alive: true, Health: events.Health{Points: points, Max: 25, Rank: rank}, Conditions: []events.Condition{}}
	if due > 0 {
		v.NextTick = &events.NextTick{Due: due, Kind: "deterioration"}
	}
	return v
}

// bob is the example of the rules: 25 points, a wound of 21 leaves 4 and
// incapacitates, one round later it is 3.
func bob(t testing.TB) (*example.Ledger, []events.Record) {
	l, first := example.Start(campaign)
	commits := [][]byte{first}
	add := func(kind, visibility string, happened ...events.Event) {
		commits = append(commits, l.Commit(kind, visibility, happened...))
	}
	subject := func(after *events.Vitals) events.Subject { return events.Subject{Character: "bob", After: after} }
	add("session.open", "",
		&events.SessionOpened{Session: "evening", Title: "The bridge", Kind: "table"},
		&events.SeatTaken{Session: "evening", Seating: 1, Lane: "system", Principal: "system", N: 10, S0: "aa", C0: "-", X0: "-"},
		&events.SeatTaken{Session: "evening", Seating: 1, Lane: "mara", Principal: "mara", N: 10, S0: "bb", C0: "-", X0: "-"},
		&events.SeatingClosed{Session: "evening", Seating: 1, Ask: []events.Ask{}},
		&events.SeatingSealed{Session: "evening", Seating: 1, Missing: []string{}, Joint: "cc"})
	add("character.create", "", &events.CharacterCreated{
		Subject: subject(vitals(25, "good", 0)), Name: "Bob", Kind: "pc", Owner: "mara", Creation: "free", Sheet: jsontext.Value(`{"stats":{"con":0}}`)})
	add("attack", `"private"`,
		&events.RollMade{Session: "evening", Lane: "mara", I: 1, S: "dd", C: "-", Source: "ledger",
			Throw: events.Throw{Expression: "1d10", Purpose: "attack", Character: "ogre", Draws: []events.Draw{{10, 9}}, Modifiers: []events.Modifier{}, Total: 9}},
		&events.WoundInflicted{Subject: subject(vitals(4, "incapacitated", 3)), Wound: 1, Points: 21, Cause: "a club"},
		&events.ConditionGained{Subject: subject(vitals(4, "incapacitated", 3)), Condition: "unconscious", Rule: "RPGX-30"})
	l.Clock = 3
	add("clock.advance", "",
		&events.TickProcessed{Subject: subject(vitals(3, "incapacitated", 6)), Kind: "deterioration", Due: 3, Change: -1, Rule: "RPGX-41"},
		&events.ClockAdvanced{From: 0, To: 3, Ticks: 1})
	add("session.close", "", &events.SessionClosed{Session: "evening", Rolls: 1})
	add("note.add", "", &events.NoteAdded{Text: "home"})
	return l, parsed(t, commits...)
}

// The example of the rules, member by member, as the interface shows it.
func TestExample(t *testing.T) {
	v := New(campaign)
	_, recs := bob(t)
	fold(t, v, recs)
	c, _ := v.Character("bob")
	line, _ := v.Timeline("bob", 0, 0)
	s, _ := v.Session("evening")
	for name, row := range map[string]struct {
		got  any
		want string
	}{
		"character": {c, `{"id":"bob","name":"Bob","kind":"pc","owner":"mara","system":"rpgamix","sheet":{"stats":{"con":0}},"alive":true,"retired":false,
			"conditions":[],"health":{"points":3,"max":25,"rank":"incapacitated","penalty":0},"next_tick":{"due":6,"kind":"deterioration"},"as_of":14}`},
		"timeline": {line, `{"character":"bob","items":[
			{"n":7,"at":"2026-11-30T19:00:03.000Z","clock":0,"type":"character.created","change":0,"points":25,"rank":"good"},
			{"n":9,"at":"2026-11-30T19:00:04.000Z","clock":0,"type":"wound.inflicted","change":-21,"points":4,"rank":"incapacitated","was_rank":"good","cause":"a club","roll":8},
			{"n":10,"at":"2026-11-30T19:00:04.000Z","clock":0,"type":"condition.gained","change":0,"points":4,"rank":"incapacitated","condition":"unconscious","rule":"RPGX-30","roll":8},
			{"n":11,"at":"2026-11-30T19:00:05.000Z","clock":3,"type":"tick.processed","change":-1,"points":3,"rank":"incapacitated","kind":"deterioration","due":3,"rule":"RPGX-41"}],
			"next":null,"wounds":[{"wound":1,"points":21,"cause":"a club","n":9,"clock":0}],"as_of":14}`},
		"session": {s, `{"id":"evening","title":"The bridge","kind":"table","opened":{"n":2,"at":"2026-11-30T19:00:02.000Z","clock":0},
			"closed":{"n":13,"at":"2026-11-30T19:00:06.000Z","clock":3},"rolls":1,"typed_in":0,"records":{"first":2,"last":13},"lanes":[
			{"lane":"system","principal":"system","seating":1,"n":10,"s0":"aa","c0":"-","x0":"-","joint":"cc"},
			{"lane":"mara","principal":"mara","seating":1,"n":10,"s0":"bb","c0":"-","x0":"-","joint":"cc"}]}`},
		"rolls": {v.Rolls(0, 0, nil), `{"items":[{"n":8,"clock":0,"by":"mara","command_type":"attack","session":"evening","lane":"mara","source":"ledger","character":"ogre","visibility":"private"}],"next":null}`},
		"campaign": {v.Campaign(), `{"id":"` + campaign + `","name":"The tally","system":"rpgamix","edition":1,"options":{"rpgamix.round":"3"},"gm":"mara","policy":{"overrides":"shown"},"vkey":"k","keys":[{"n":0,"vkey":"k"}],
			"created_at":"2026-11-30T19:00:01.000Z","last_at":"2026-11-30T19:00:07.000Z","clock":3,"participants":[{"handle":"mara","role":"gm"}],
			"counts":{"records":15,"sessions":1,"characters":1,"rolls":1,"typed_in":0,"disputes":0,"unruled":0,"overrides":0,"sealed":0,"corrected":0},"as_of":14}`},
	} {
		if diff := cmp.Diff(canonical(t, row.want), canonical(t, marshal(t, row.got))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func marshal(t testing.TB, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func canonical(t testing.TB, s string) string {
	t.Helper()
	v := jsontext.Value(s)
	if err := v.Canonicalize(); err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	if err := v.Indent(); err != nil {
		t.Fatal(err)
	}
	return string(v)
}

// A roll is put together again from its entry and its record.
func TestNewRoll(t *testing.T) {
	v := New(campaign)
	_, recs := bob(t)
	fold(t, v, recs)
	entry, ok := v.Roll(8)
	if !ok {
		t.Fatal("no roll 8")
	}
	roll, err := NewRoll(entry, recs[8])
	if err != nil {
		t.Fatal(err)
	}
	want := `{"n":8,"at":"2026-11-30T19:00:04.000Z","clock":0,"by":"mara","command":"command-4","command_type":"attack","session":"evening","visibility":"private","roll":` + string(recs[8].Data) + `}`
	if diff := cmp.Diff(canonical(t, want), canonical(t, marshal(t, roll))); diff != "" {
		t.Error(diff)
	}
	if _, err := NewRoll(entry, recs[9]); err == nil {
		t.Error("a wound passed for a roll")
	}
	if _, ok := v.Roll(9); ok {
		t.Error("record 9 passed for a roll")
	}
}

// What is wrong is refused, leaves everything as it was, and says where.
func TestRefused(t *testing.T) {
	_, recs := bob(t)
	change := func(n int, f func(*events.Record)) events.Record {
		rec := recs[n]
		f(&rec)
		return rec
	}
	data := func(n int, kind, data string) events.Record {
		return change(n, func(r *events.Record) { r.Type, r.Data = kind, jsontext.Value(data) })
	}
	created := `{"character":"eve","name":"E","kind":"pc","creation":"free","sheet":{}`
	for name, row := range map[string]struct {
		read int // records before
		rec  events.Record
		want string
	}{
		"a gap":                      {3, recs[4], "record 3 is due"},
		"a repeat":                   {3, recs[2], "record 3 is due"},
		"another campaign":           {3, change(3, func(r *events.Record) { r.Campaign = "x" }), "campaign x"},
		"no beginning":               {0, data(0, "note.added", `{"text":"x"}`), "campaign.created"},
		"a second beginning":         {3, change(3, func(r *events.Record) { r.Type, r.Data = recs[0].Type, recs[0].Data }), "campaign.created"},
		"an unknown member":          {3, data(3, "note.added", `{"text":"x","more":1}`), "more"},
		"a member of another type":   {3, data(3, "clock.advanced", `{"from":"x"}`), "from"},
		"an unknown character":       {9, data(9, "character.died", `{"character":"eve","cause":"","rule":""}`), `"eve"`},
		"no character":               {9, data(9, "character.died", `{"character":"","cause":"","rule":""}`), `""`},
		"a system's event of nobody": {9, data(9, "rpgamix.omen", `{"character":"eve"}`), `"eve"`},
		"a broken subject":           {9, data(9, "rpgamix.omen", `{"character":7}`), "subject"},
		"a second creation":          {9, data(9, "character.created", strings.Replace(created, "eve", "bob", 1)+`,"after":{"alive":true,"health":{"points":1,"max":1,"rank":"","penalty":0},"conditions":[]}}`), "bob"},
		"a creation without after":   {9, data(9, "character.created", created+`}`), "after"},
		"a session in a session":     {9, data(9, "session.opened", `{"session":"s","title":"","kind":"table"}`), "evening"},
		"a session again":            {14, data(14, "session.opened", `{"session":"evening","title":"","kind":"table"}`), "evening"},
		"a close of another session": {9, data(9, "session.closed", `{"session":"s","rolls":0,"typed_in":0}`), `"s"`},
		"a roll outside a session":   {14, change(14, func(r *events.Record) { r.Type, r.Data = recs[8].Type, recs[8].Data }), "evening"},
		"a seat outside a session":   {14, change(14, func(r *events.Record) { r.Type, r.Data = recs[3].Type, recs[3].Data }), "evening"},
		"a seal outside a session":   {14, change(14, func(r *events.Record) { r.Type, r.Data = recs[6].Type, recs[6].Data }), "evening"},
		"a stranger leaves":          {9, data(9, "participant.left", `{"handle":"eve"}`), "eve"},
	} {
		v := New(campaign)
		fold(t, v, recs[:row.read])
		before := shown(t, v)
		err := v.Apply(row.rec)
		var stop *Error
		if !errors.As(err, &stop) || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want an Error with %q", name, err, row.want)
			continue
		}
		if stop.N != row.rec.N || stop.Campaign != campaign || stop.Type != row.rec.Type {
			t.Errorf("%s: stopped at %+v", name, stop)
		}
		if errors.Is(err, ErrOrder) != strings.Contains(row.want, "is due") {
			t.Errorf("%s: ErrOrder is %v", name, errors.Is(err, ErrOrder))
		}
		if after := shown(t, v); after != before {
			t.Errorf("%s: changed the views (-before +after):\n%s", name, cmp.Diff(before, after))
		}
		fold(t, v, recs[row.read:]) // and it can go on
	}
}

// An event of a rule system counts by its subject, whatever else is in it.
func TestForeignEvents(t *testing.T) {
	l, recs := bob(t)
	v := New(campaign)
	fold(t, v, recs)
	rec := parsed(t, l.Commit("rpgamix.pray", "", &events.NoteAdded{}))[0]
	rec.Type, rec.Data = "rpgamix.omen", jsontext.Value(`{"character":"bob","omen":[1,{"x":"y"}],"after":{"alive":false,"health":{"points":0,"max":25,"rank":"dead","penalty":-9},"conditions":[{"name":"cursed","since":3,"rule":"R"}]}}`)
	fold(t, v, []events.Record{rec})
	c, _ := v.Character("bob")
	if c.Alive || c.Health.Rank != "dead" || c.NextTick != nil || len(c.Conditions) != 1 || c.Conditions[0].Name != "cursed" {
		t.Errorf("got %+v", c)
	}
	line, _ := v.Timeline("bob", rec.N, 0)
	if len(line.Items) != 1 || line.Items[0].Type != "rpgamix.omen" || line.Items[0].Change != -3 || line.Items[0].WasRank != "incapacitated" {
		t.Errorf("got %+v", line.Items)
	}
	rec.N, rec.Data = rec.N+1, jsontext.Value(`{"omen":"about nobody"}`)
	fold(t, v, []events.Record{rec})
	if c, _ := v.Character("bob"); c.AsOf != rec.N || c.Health.Rank != "dead" {
		t.Errorf("got %+v", c)
	}
}

// Participants come, change and go; what the closing of a session says counts.
func TestParticipants(t *testing.T) {
	l, recs := bob(t)
	v := New(campaign)
	fold(t, v, recs)
	fold(t, v, parsed(t, l.Commit("x", "",
		&events.ParticipantJoined{Handle: "zoe", Role: "player", Name: "Zoë"},
		&events.ParticipantJoined{Handle: "anna", Role: "spectator"},
		&events.ParticipantJoined{Handle: "anna", Role: "player"},
		&events.SessionOpened{Session: "late", Title: "Late", Kind: "downtime"},
		&events.ClockAdvancing{From: 3, To: 900})))
	held, was := v.Participants(), marshal(t, v.Participants())
	if want := `[{"handle":"anna","role":"player"},{"handle":"mara","role":"gm"},{"handle":"zoe","role":"player","name":"Zoë"}]`; was != want {
		t.Errorf("got %s, want %s", was, want)
	}
	if c := v.Campaign(); c.Session != "late" || c.Advancing == nil || *c.Advancing != (Advance{3, 900}) {
		t.Errorf("got %+v", c)
	}
	if s, _ := v.Session("late"); s.Records != (Span{First: 18, Last: 19}) || s.Closed != nil {
		t.Errorf("got %+v", s)
	}
	fold(t, v, parsed(t, l.Commit("x", "",
		&events.ParticipantLeft{Handle: "mara"},
		&events.ClockAdvanced{From: 3, To: 900},
		&events.SettingDefined{Setting: jsontext.Value(`{"weapons":[]}`), Reason: "x"},
		&events.SessionClosed{Session: "late", Rolls: 5, TypedIn: 6})))
	if now := marshal(t, held); now != was {
		t.Errorf("what was read changed: %s", now)
	}
	if got, want := marshal(t, v.Campaign().Participants), `[{"handle":"anna","role":"player"},{"handle":"zoe","role":"player","name":"Zoë"}]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if c := v.Campaign(); c.Session != "" || c.Advancing != nil || string(c.Setting) != `{"weapons":[]}` || c.Counts.Sessions != 2 {
		t.Errorf("got %+v", c)
	}
	if s, _ := v.Session("late"); s.Records != (Span{First: 18, Last: 23}) || s.Rolls != 5 || s.TypedIn != 6 {
		t.Errorf("got %+v", s)
	}
}

// What a character is and how it ends, event by event.
func TestLife(t *testing.T) {
	l, recs := bob(t)
	v := New(campaign)
	fold(t, v, recs)
	alive := events.Subject{Character: "bob", After: vitals(3, "incapacitated", 0)}
	dead := events.Subject{Character: "bob", After: &events.Vitals{Health: events.Health{Max: 25, Rank: "dead"}}}
	first := l.N
	fold(t, v, parsed(t, l.Commit("x", "",
		&events.CharacterAmended{Subject: alive, Reason: "a slip", Sheet: jsontext.Value(`{"stats":{"con":1}}`)},
		&events.WoundTreated{Subject: alive, Outcome: "stabilised", Rule: "T"},
		&events.HealGranted{Subject: events.Subject{Character: "bob"}, Points: 1, Cause: "a potion"},
		&events.ConditionEnded{Subject: alive, Condition: "unconscious", Rule: "C"},
		&events.CharacterDied{Subject: dead, Cause: "blood loss", Rule: "D"},
		&events.CharacterRetired{Subject: dead, Reason: "buried"})))
	line, _ := v.Timeline("bob", first, 0)
	for i, want := range []TimelineItem{
		{Type: "character.amended", Points: 3, Rank: "incapacitated", Cause: "a slip"},
		{Type: "wound.treated", Points: 3, Rank: "incapacitated", Outcome: "stabilised", Rule: "T"},
		{Type: "heal.granted", Points: 3, Rank: "incapacitated", Cause: "a potion"}, // no after: as it was
		{Type: "condition.ended", Points: 3, Rank: "incapacitated", Condition: "unconscious", Rule: "C"},
		{Type: "character.died", Change: -3, Rank: "dead", WasRank: "incapacitated", Cause: "blood loss", Rule: "D"},
		{Type: "character.retired", Rank: "dead", Cause: "buried"},
	} {
		want.Moment = Moment{N: first + int64(i), At: example.At(8), Clock: 3}
		if diff := cmp.Diff(want, line.Items[i]); diff != "" {
			t.Error(diff)
		}
	}
	c, _ := v.Character("bob")
	if c.Alive || !c.Retired || string(c.Sheet) != `{"stats":{"con":1}}` || c.Conditions == nil || c.Health.Rank != "dead" {
		t.Errorf("got %+v", c)
	}
}

// The state of a character is what the rules said of it last, word for word; it
// goes when they say nothing.
func TestState(t *testing.T) {
	l, recs := bob(t)
	v := New(campaign)
	fold(t, v, recs)
	const pool = `{"pools":{"Fire pool":3}}`
	for _, want := range []string{pool, `{"armour":"none"}`, ""} {
		after := vitals(3, "incapacitated", 0)
		if want != "" {
			after.State = jsontext.Value(want)
		}
		fold(t, v, parsed(t, l.Commit("x", "", &events.HealGranted{Subject: events.Subject{Character: "bob", After: after}, Points: 1, Cause: "x"})))
		c, _ := v.Character("bob")
		if string(c.State) != want || strings.Contains(string(marshal(t, c)), `"state":`) != (want != "") {
			t.Errorf("state %s, want %s", marshal(t, c), want)
		}
	}
}

// Every check that fell due in one advance is given its own roll, or none.
func TestRollsOfTicks(t *testing.T) {
	l, recs := bob(t)
	v := New(campaign)
	fold(t, v, recs)
	anna := events.Subject{Character: "anna", After: vitals(20, "good", 9)}
	bob := events.Subject{Character: "bob", After: vitals(2, "incapacitated", 9)}
	roll := func() *events.RollMade {
		return &events.RollMade{Session: "night", Source: "ledger", Lane: "system", Throw: events.Throw{Draws: []events.Draw{}, Modifiers: []events.Modifier{}}}
	}
	commits := [][]byte{
		l.Commit("character.create", "", &events.CharacterCreated{Subject: anna, Sheet: jsontext.Value(`{}`)}),
		l.Commit("session.open", "", &events.SessionOpened{Session: "night", Kind: "downtime"}),
	}
	first := l.N
	commits = append(commits, l.Commit("clock.advance", "",
		roll(), // +0
		&events.TickProcessed{Subject: anna, Kind: "a", Due: 3, Rolled: true}, // +1 from +0
		&events.HealGranted{Subject: anna},                                    // +2 from +0
		&events.ConditionEnded{Subject: bob},                                  // +3 from none: it is anna's roll
		roll(),                                                                // +4
		&events.TickProcessed{Subject: bob, Kind: "b", Due: 3, Rolled: true}, // +5 from +4
		&events.TickProcessed{Subject: bob, Kind: "b", Due: 3},               // +6 not rolled
		&events.CharacterDied{Subject: bob},                                  // +7 from none
	))
	commits = append(commits, l.Commit("heal.grant", "", &events.HealGranted{Subject: bob}), // +8 another command
		l.Commit("clock.advance", "", roll(), &events.HealGranted{Subject: anna}, &events.HealGranted{Subject: anna})) // +9, +10 from it, +11 later
	more := parsed(t, commits...)
	more[len(more)-1].Clock++
	fold(t, v, more)
	want := map[int64]int64{1: 0, 2: 0, 5: 4, 10: 9}
	for _, id := range []string{"anna", "bob"} {
		line, _ := v.Timeline(id, first, 0)
		for _, item := range line.Items {
			var roll int64
			if from, rolled := want[item.N-first]; rolled {
				roll = first + from
			}
			if item.Roll != roll {
				t.Errorf("record +%d of %s: from roll %d, want %d", item.N-first, id, item.Roll, roll)
			}
		}
	}
}

// The fold must come to the same whatever was read along the way, and what was
// read must not change afterwards.
func TestIncrementalIsRebuild(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		recs := drawn(rt, t)
		rebuilt := New(campaign)
		fold(t, rebuilt, recs)
		v := New(campaign)
		for at := 0; at < len(recs); {
			n := min(rapid.IntRange(1, 40).Draw(rt, "batch"), len(recs)-at)
			held := hold(v)
			was := marshal(t, held)
			fold(t, v, recs[at:at+n])
			if now := marshal(t, held); now != was {
				rt.Fatalf("what was read at %d changed: %s", at, cmp.Diff(was, now))
			}
			at += n
		}
		if diff := cmp.Diff(shown(t, rebuilt), shown(t, v)); diff != "" {
			rt.Fatal(diff)
		}
	})
}

// hold reads everything and keeps it as it was given.
func hold(v *Views) []any {
	held := []any{v.Campaign(), v.Participants(), v.Characters(), v.Sessions(), v.Rolls(0, 0, nil)}
	for _, c := range v.Characters() {
		line, _ := v.Timeline(c.ID, 0, 0)
		held = append(held, line, append(line.Items, TimelineItem{Type: "the reader's own"}))
	}
	return held
}

func drawn(rt *rapid.T, t testing.TB) []events.Record {
	l, first := example.Start(campaign)
	choose := func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "choice") }
	return parsed(t, append([][]byte{first}, l.Commits(rapid.IntRange(1, 25).Draw(rt, "commits"), choose)...)...)
}

// Views must say what the records say when those are read as plain JSON, without
// any of our types.
func TestAgainstPlainJSON(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		recs := drawn(rt, t)
		v := New(campaign)
		fold(t, v, recs)
		after, about := map[string]any{}, map[string][]int64{}
		var rolls []int64
		var ticks, sum int
		for _, rec := range recs {
			var data map[string]any
			if err := json.Unmarshal(rec.Data, &data); err != nil {
				rt.Fatal(err)
			}
			if id, ok := data["character"].(string); ok && rec.Type != "roll.made" {
				after[id] = data["after"]
				about[id] = append(about[id], rec.N)
			}
			if rec.Type == "roll.made" {
				rolls = append(rolls, rec.N)
			}
			if rec.Type == "tick.processed" {
				ticks++
			}
		}
		for _, c := range v.Characters() {
			if points := after[c.ID].(map[string]any)["health"].(map[string]any)["points"]; float64(c.Health.Points) != points {
				rt.Fatalf("%s has %d points, its last event says %v", c.ID, c.Health.Points, points)
			}
			line, _ := v.Timeline(c.ID, 0, 0)
			var ns []int64
			change := 25
			for _, item := range line.Items {
				ns = append(ns, item.N)
				change += item.Change
				if item.Kind != "" {
					sum++
				}
			}
			if !slices.Equal(ns, about[c.ID]) || change != c.Health.Points {
				rt.Fatalf("%s: timeline %v sums to %d points; records %v, %d points", c.ID, ns, change, about[c.ID], c.Health.Points)
			}
		}
		if len(after) != len(v.Characters()) || sum != ticks {
			rt.Fatalf("%d characters and %d ticks, want %d and %d", len(v.Characters()), sum, len(after), ticks)
		}
		var seen []int64
		for _, r := range v.Rolls(0, 0, nil).Items {
			seen = append(seen, r.N)
		}
		if counts := v.Campaign().Counts; !slices.Equal(seen, rolls) || counts.Rolls+counts.TypedIn != len(rolls) {
			rt.Fatalf("rolls %v and counts %+v, want %v", seen, counts, rolls)
		}
		inSessions := 0
		for _, s := range v.Sessions() {
			inSessions += s.Rolls + s.TypedIn
		}
		if inSessions != len(rolls) {
			rt.Fatalf("%d rolls in sessions, want %d", inSessions, len(rolls))
		}
	})
}

// Pages must be the whole, cut.
func TestPages(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		v := New(campaign)
		fold(t, v, drawn(rt, t))
		limit := rapid.IntRange(1, 5).Draw(rt, "limit")
		keep := func(r RollEntry) bool { return r.Source == "ledger" }
		var paged []RollEntry
		for from := new(int64); from != nil; {
			page := v.Rolls(*from, limit, keep)
			if len(page.Items) > limit || page.Next != nil && len(page.Items) < limit {
				rt.Fatalf("a page of %d, limit %d", len(page.Items), limit)
			}
			paged, from = append(paged, page.Items...), page.Next
		}
		if whole := v.Rolls(0, 0, keep).Items; marshal(t, whole) != marshal(t, append([]RollEntry{}, paged...)) {
			rt.Fatalf("rolls: %v, want %v", paged, whole)
		}
		for _, c := range v.Characters() {
			var items []TimelineItem
			whole, _ := v.Timeline(c.ID, 0, 0)
			for from := new(int64); from != nil; {
				page, _ := v.Timeline(c.ID, *from, limit)
				items, from = append(items, page.Items...), page.Next
				if len(page.Items) > limit || len(page.Wounds) != len(whole.Wounds) {
					rt.Fatalf("a page of %d, limit %d, with %d wounds", len(page.Items), limit, len(page.Wounds))
				}
			}
			if marshal(t, whole.Items) != marshal(t, items) {
				rt.Fatalf("timeline of %s: %v, want %v", c.ID, items, whole.Items)
			}
		}
	})
}

func TestUnknown(t *testing.T) {
	v := New(campaign)
	_, character := v.Character("x")
	_, timeline := v.Timeline("x", 0, 0)
	_, session := v.Session("x")
	_, roll := v.Roll(0)
	if character || timeline || session || roll || v.Campaign().AsOf != -1 || v.Position() != 0 {
		t.Error("something where nothing is")
	}
	for _, list := range []string{marshal(t, v.Characters()), marshal(t, v.Sessions()), marshal(t, v.Participants()), marshal(t, v.Rolls(0, 0, nil).Items)} {
		if list != "[]" {
			t.Errorf("an empty list is %s", list)
		}
	}
}

// No bytes of an event's data may panic, and what is refused changes nothing.
func FuzzApply(f *testing.F) {
	_, recs := bob(f)
	for _, rec := range recs {
		f.Add(rec.Type, []byte(rec.Data))
	}
	f.Add("rpgamix.omen", []byte(`{"character":"bob","after":{"conditions":null}}`))
	f.Fuzz(func(t *testing.T, kind string, data []byte) {
		v := New(campaign)
		fold(t, v, recs[:9])
		before := shown(t, v)
		rec := recs[9]
		rec.Type, rec.Data = kind, data
		if events.CheckJSON(data) != nil || !utf8.ValidString(kind) {
			return // such a record is never read
		}
		if err := v.Apply(rec); err != nil && shown(t, v) != before {
			t.Fatalf("refused (%v) but changed", err)
		} else if err == nil {
			shown(t, v)
		}
	})
}

// BenchmarkRebuild folds records that were parsed before; BenchmarkParse is the
// cost beside it.
func BenchmarkRebuild(b *testing.B) {
	recs := parsed(b, long(2000)...)
	for b.Loop() {
		fold(b, New(campaign), recs)
	}
	b.ReportMetric(float64(b.N)*float64(len(recs))/b.Elapsed().Seconds(), "events/s")
}

func BenchmarkParse(b *testing.B) {
	commits := long(2000)
	var n int
	for b.Loop() {
		n = len(parsed(b, commits...))
	}
	b.ReportMetric(float64(b.N)*float64(n)/b.Elapsed().Seconds(), "events/s")
}

func long(commits int) [][]byte {
	l, first := example.Start(campaign)
	k := 0
	choose := func(n int) int { k = (k*31 + 7) % 1009; return k % n }
	return append([][]byte{first}, l.Commits(commits, choose)...)
}

func ExampleViews_Apply() {
	l, first := example.Start(campaign)
	v := New(campaign)
	for _, commit := range [][]byte{first, l.Commit("note.add", "", &events.NoteAdded{Text: "Once upon a time"})} {
		recs, _ := events.ParseCommit(commit)
		for _, rec := range recs {
			if err := v.Apply(rec); err != nil {
				fmt.Println(err)
			}
		}
	}
	fmt.Println(v.Campaign().Name, v.Position())
	// Output: The tally 3
}
