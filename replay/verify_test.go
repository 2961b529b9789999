package replay_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tallystick/events"
	"tallystick/events/merkle"
	"tallystick/replay"
	"tallystick/rules"
	"tallystick/rules/rulestest"
)

// keptAt is how many of the last records came after the checkpoint that anna
// kept.
const keptAt = 2

// evidence is what a player has: the key from the table, the checkpoint of the
// export, and an older one of her own.
func evidence(n *night, lines [][]byte) replay.Evidence {
	honest := n.lines()
	return replay.Evidence{
		Library: rules.Library{embers}, VKey: n.signer.VKey(), Me: "anna",
		Server: &replay.Note{Name: "checkpoint", Text: n.sign(lines, len(lines))},
		Kept:   []replay.Note{{Name: "anna's", Text: n.sign(honest, len(honest)-keptAt)}},
	}
}

func verify(lines [][]byte, e replay.Evidence) (*replay.Report, error) {
	return replay.Verify(bytes.NewReader(export(lines)), e)
}

func TestVerifyAnHonestNight(t *testing.T) {
	n := play(t)
	lines := n.lines()
	r, err := verify(lines, evidence(n, lines))
	if err != nil {
		t.Fatal(err)
	}
	if r.Rules != replay.RulesSame || r.Records != int64(len(lines)) || r.Commands != int64(len(n.Payloads)) || r.Covered != r.Records-keptAt || len(r.Checkpoints) != 2 {
		t.Errorf("got %+v", r)
	}
	want := replay.RollCounts{Ledger: 30, Witnessed: 2, TypedIn: 1, SecretOpened: 2, SecretUnopened: 1, TargetsUnopened: 1, RulingsUnopened: 1, Voided: 2, Passed: 1}
	if r.Rolls != want {
		t.Errorf("rolls %+v, want %+v", r.Rolls, want)
	}
	for name, want := range map[string]string{
		"system":    "choose [anna gm], foresee [], 6 rolls, 0 hidden, [] ",
		"gm-secret": "choose [anna gm], foresee [], 2 rolls, 1 hidden, [] ",
		"gm":        "choose [anna gm], foresee [gm], 2 rolls, 2 hidden, [{anna 2}] ",
		"anna":      "choose [anna gm], foresee [anna], 4 rolls, 0 hidden, [] ",
		"dan":       "choose [anna gm], foresee [], 1 rolls, 0 hidden, [] ",
		"anna.2":    "choose [anna bo cleo gm], foresee [anna], 1 rolls, 0 hidden, [] end",
		"bo.2":      "choose [anna bo cleo gm], foresee [bo], 1 rolls, 0 hidden, [] lost device",
		"cleo.2":    "choose [anna bo cleo gm], foresee [cleo], 1 rolls, 0 hidden, [] late device",
	} {
		i := slices.IndexFunc(r.Lanes, func(l replay.LaneReport) bool { return l.Lane == name })
		l := r.Lanes[i]
		got := fmt.Sprintf("choose %v, foresee %v, %d rolls, %d hidden, %v %s", l.Choose, l.Foresee, l.Rolls, l.Hidden, l.Witnessed, l.Renewed)
		if got != want {
			t.Errorf("lane %s: %s, want %s", name, got, want)
		}
	}
	// 32 rolls have dice, 14 of them in the session without devices. Anna's
	// secret is in all 18 others; 5 are her own, 2 she witnessed.
	if *r.Me != (replay.MeReport{Handle: "anna", Rolls: 32, NotChosen: 18, NotForeseen: 7}) {
		t.Errorf("anna's part: %+v", *r.Me)
	}
}

// What is not known is said.
func TestVerifySaysWhatItDoesNotKnow(t *testing.T) {
	n := play(t)
	lines := n.lines()
	r, err := verify(lines, replay.Evidence{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Rules != replay.RulesMissing || r.Commands != 0 || r.Rolls.Ledger != 30 || r.Covered != 0 || r.Me != nil {
		t.Errorf("got %+v", r)
	}
	notes := strings.Join(r.Notes(), "\n")
	for _, want := range []string{"no checkpoint", "the key comes from the ledger itself", `edition 1 of the rule system "ember" is not on board`} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes lack %q:\n%s", want, notes)
		}
	}
}

// forgetful is an export that can be read once.
type forgetful struct{ io.Reader }

func (forgetful) ReadAt([]byte, int64) (int, error) { return 0, errors.New("read once already") }

// A correction is decided by the history. A stream is kept for it; where it
// cannot be had, nothing is said about the rules from there on.
func TestVerifyReadsTheHistoryAgain(t *testing.T) {
	n := play(t)
	data := export(n.lines())
	correction := int64(find(t, n.lines(), `"correction.made"`))
	for name, c := range map[string]struct {
		in    io.Reader
		rules string
	}{
		"a file":                   {bytes.NewReader(data), replay.RulesSame},
		"a stream":                 {io.MultiReader(bytes.NewReader(data)), replay.RulesSame},
		"what cannot be had again": {forgetful{bytes.NewReader(data)}, replay.RulesUndecided},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := replay.Verify(c.in, evidence(n, n.lines()))
			if err != nil {
				t.Fatal(err)
			}
			said := strings.Contains(strings.Join(r.Notes(), " "), "could not be read a second time")
			if r.Rules != c.rules || said != (c.rules == replay.RulesUndecided) || said && r.Commands >= correction {
				t.Errorf("rules %s, %d commands, %v", r.Rules, r.Commands, r.Notes())
			}
		})
	}
}

// An edit is one way to falsify a ledger.
type edit struct {
	kind string
	do   func(n *night, lines [][]byte) [][]byte
	// at is the record that must be named when only the old checkpoint of the
	// export is there, resigned when the attacker has signed anew and a kept
	// checkpoint is there, alone when there is none.
	at, resigned, alone want
	script              want // what the scripts must say, which do not know the rules
}

// want is a record, a range of records, or nothing that could be noticed.
type want struct{ n, through int64 }

var unseen = want{-1, -1}

func exactly(n int64) want { return want{n: n} }

// find is the first record that holds all of the texts.
func find(t testing.TB, lines [][]byte, texts ...string) int {
	t.Helper()
	for i, line := range lines {
		if !slices.ContainsFunc(texts, func(s string) bool { return !bytes.Contains(line, []byte(s)) }) {
			return i
		}
	}
	t.Fatalf("no record has %v", texts)
	return -1
}

// change replaces a text in one record.
func change(t testing.TB, lines [][]byte, k int, old, new string) [][]byte {
	t.Helper()
	out := slices.Clone(lines)
	out[k] = bytes.Replace(lines[k], []byte(old), []byte(new), 1)
	if bytes.Equal(out[k], lines[k]) {
		t.Fatalf("record %d has no %s: %s", k, old, lines[k])
	}
	return out
}

// renumber numbers the records from k on anew, as somebody who rewrites a
// ledger would.
func renumber(lines [][]byte, k int) [][]byte {
	out := slices.Clone(lines)
	for i := k; i < len(out); i++ {
		head, rest, _ := bytes.Cut(out[i], []byte(`"n":`))
		_, rest, _ = bytes.Cut(rest, []byte(","))
		out[i] = fmt.Appendf(nil, `%s"n":%d,%s`, head, i, rest)
	}
	return out
}

// edits are the twelve kinds of edit, some of them in two ways.
func edits(t testing.TB, n *night) []edit {
	lines := n.lines()
	size, kept := int64(len(lines)), int64(len(lines)-keptAt)
	before := want{0, kept - 1}
	spark := find(t, lines, `"roll.made"`, `"purpose":"spark"`)
	stoke := find(t, lines, `"roll.made"`, `"dry wood"`)
	walk := find(t, lines, `"session.opened"`, `"A walk"`)
	disputed := want{0, int64(find(t, lines, `"dispute.opened"`))} // the evidence of a dispute tells, too
	next := find(t, lines, `"roll.made"`, `"lane":"anna","i":3`)
	opened := int64(find(t, lines, `"roll.opened"`)) - 1 // names a seal by its number
	note := find(t, lines, `"note.added"`)
	dan := find(t, lines, `"roll.made"`, `"by":"dan"`)
	heal := find(t, lines, `"heal.granted"`)
	name := find(t, lines, `"character.created"`, `"name":"Hearth"`)
	face := string(lines[spark][bytes.Index(lines[spark], []byte(`"draws":[[6,`)):][:13])
	other := face[:12] + string('1'+(face[12]-'0')%6)
	id := string(lines[note][bytes.Index(lines[note], []byte(`"cmd":{"id":"`)):][:50])

	return []edit{
		{"swap two records", func(_ *night, l [][]byte) [][]byte {
			l = slices.Clone(l)
			l[spark], l[spark+1] = l[spark+1], l[spark]
			return l
		}, exactly(int64(spark)), exactly(int64(spark)), exactly(int64(spark)), exactly(int64(spark))},
		{"swap two rolls of a lane and renumber", func(_ *night, l [][]byte) [][]byte {
			l = slices.Clone(l)
			later := find(t, l, `"roll.made"`, `"lane":"anna","i":4`)
			l[next], l[later] = l[later], l[next]
			return renumber(l, next)
		}, exactly(int64(next)), exactly(int64(next)), exactly(int64(next)), exactly(int64(next))},
		{"flip a face", func(_ *night, l [][]byte) [][]byte { return change(t, l, spark, face, other) },
			exactly(int64(spark)), exactly(int64(spark)), exactly(int64(spark)), exactly(int64(spark))},
		{"change a modifier", func(_ *night, l [][]byte) [][]byte {
			return change(t, l, stoke, `"label":"dry wood","value":1`, `"label":"dry wood","value":2`)
		}, exactly(int64(stoke)), exactly(int64(stoke)), exactly(int64(stoke)), before},
		{"change a timestamp", func(_ *night, l [][]byte) [][]byte {
			for k := range l[walk:] {
				l = change(t, l, walk+k, `"at":"2026-11-30T19:00`, `"at":"2026-11-30T20:00`)
			}
			return l
		}, before, before, unseen, before},
		{"truncate", func(_ *night, l [][]byte) [][]byte { return l[:size-2] },
			exactly(size - 2), unseen, unseen, unseen},
		{"truncate further than was kept", func(_ *night, l [][]byte) [][]byte { return l[:spark] },
			exactly(int64(spark)), exactly(int64(spark)), unseen, exactly(int64(spark))},
		{"truncate inside a command", func(_ *night, l [][]byte) [][]byte { return l[:heal] },
			exactly(int64(heal)), exactly(int64(heal)), exactly(int64(heal)), exactly(int64(heal))},
		{"delete a roll and renumber", func(_ *night, l [][]byte) [][]byte {
			return renumber(slices.Delete(slices.Clone(l), spark, spark+1), spark)
		}, exactly(opened), exactly(opened), exactly(opened), exactly(opened)},
		{"delete a note and renumber", func(_ *night, l [][]byte) [][]byte {
			return renumber(slices.Delete(slices.Clone(l), note, note+1), note)
		}, exactly(size - 1), unseen, unseen, unseen},
		{"append a healing", func(_ *night, l [][]byte) [][]byte {
			forged := bytes.Replace(l[heal], []byte(`"cmd":{`), []byte(`"cmd":{"type":"note.add","data":{"text":"a"},`), 1)
			forged = bytes.Replace(forged, []byte(`"clock":0`), []byte(`"clock":65`), 1)
			return renumber(append(slices.Clone(l), forged), len(l))
		}, exactly(size), exactly(size), exactly(size), unseen},
		{"append a note", func(_ *night, l [][]byte) [][]byte {
			forged := bytes.Replace(l[note], []byte(id), []byte(`"cmd":{"id":"00000000-0000-4000-8000-000000000000"`), 1)
			return renumber(append(slices.Clone(l), forged), len(l))
		}, exactly(size), unseen, unseen, unseen}, // who has the key may go on with the ledger
		{"append a command again", func(_ *night, l [][]byte) [][]byte {
			return renumber(append(slices.Clone(l), l[note]), len(l))
		}, exactly(size), exactly(size), exactly(size), unseen},
		{"swap players", func(_ *night, l [][]byte) [][]byte { return change(t, l, dan, `"by":"dan"`, `"by":"bo"`) },
			exactly(int64(dan)), exactly(int64(dan)), exactly(int64(dan)), before},
		{"swap the owners of two lanes", func(_ *night, l [][]byte) [][]byte {
			return change(t, l, find(t, l, `"seat.taken"`, `"lane":"dan"`), `"principal":"dan"`, `"principal":"bo"`)
		}, exactly(int64(find(t, lines, `"seat.taken"`, `"lane":"dan"`))), exactly(int64(find(t, lines, `"seat.taken"`, `"lane":"dan"`))),
			exactly(int64(find(t, lines, `"seat.taken"`, `"lane":"dan"`))), before},
		{"change the edition", func(_ *night, l [][]byte) [][]byte { return change(t, l, 0, `"edition":1`, `"edition":2`) },
			disputed, disputed, disputed, before},
		{"older copy against a newer checkpoint", func(_ *night, l [][]byte) [][]byte { return l[:name] },
			exactly(int64(name)), exactly(int64(name)), unseen, exactly(int64(name))},
		{"duplicate key", func(_ *night, l [][]byte) [][]byte { return change(t, l, spark, `"total":`, `"total":99,"total":`) },
			exactly(int64(spark)), exactly(int64(spark)), exactly(int64(spark)), exactly(int64(spark))},
		{"re-encode with blanks", func(_ *night, l [][]byte) [][]byte { return change(t, l, spark, `"total":`, `"total": `) },
			exactly(int64(spark)), exactly(int64(spark)), exactly(int64(spark)), exactly(int64(spark))},
		{"re-encode with an escape", func(_ *night, l [][]byte) [][]byte {
			return change(t, l, name, `"name":"Hearth"`, `"name":"\u0048earth"`)
		},
			exactly(int64(name)), exactly(int64(name)), exactly(int64(name)), before},
		{"re-encode in another order", func(_ *night, l [][]byte) [][]byte {
			return change(t, l, spark, `"lane":"anna","i":1,"s"`, `"i":1,"lane":"anna","s"`)
		}, exactly(int64(spark)), exactly(int64(spark)), exactly(int64(spark)), before},
	}
}

// Every kind of edit is refused with the first bad record named, whether the
// attacker recomputes the tree and has the signing key or not.
func TestVerifyRefusesEveryEdit(t *testing.T) {
	n := play(t)
	honest := n.lines()
	for _, e := range edits(t, n) {
		edited := e.do(n, honest)
		for attacker, c := range map[string]struct {
			server []byte
			kept   bool
			want   want
		}{
			"without the key": {n.sign(honest, len(honest)), true, e.at},
			"with the key":    {n.sign(edited, len(edited)), true, e.resigned},
			"nothing kept":    {n.sign(edited, len(edited)), false, e.alone},
		} {
			t.Run(e.kind+"/"+attacker, func(t *testing.T) {
				ev := evidence(n, honest)
				ev.Server.Text = c.server
				if !c.kept {
					ev.Kept = nil
				}
				_, err := verify(edited, ev)
				expect(t, err, c.want)
			})
		}
	}
}

// Without the rules the verifier still names what the scripts name.
func TestVerifyWithoutTheRules(t *testing.T) {
	n := play(t)
	honest := n.lines()
	for _, e := range edits(t, n) {
		if e.script == unseen || e.script.through > 0 {
			continue
		}
		t.Run(e.kind, func(t *testing.T) {
			ev := evidence(n, honest)
			edited := e.do(n, honest)
			ev.Library, ev.Server = nil, &replay.Note{Name: "checkpoint", Text: n.sign(edited, len(edited))}
			_, err := verify(edited, ev)
			expect(t, err, e.script)
		})
	}
}

// A checkpoint that does not fit comes before what is wrong behind it, and the
// rules name the record before the checkpoint does.
func TestVerifyNamesTheFirst(t *testing.T) {
	n := play(t)
	honest := n.lines()
	stoke := find(t, honest, `"roll.made"`, `"dry wood"`)
	walk := find(t, honest, `"session.opened"`, `"A walk"`)
	late := slices.Clone(honest)
	for k := range late[walk:] {
		late = change(t, late, walk+k, `"at":"2026-11-30T19:00`, `"at":"2026-11-30T20:00`)
	}
	before := want{0, int64(len(honest) - keptAt - 1)}
	broken := change(t, late, len(late)-keptAt, `"n":`, `"n" :`) // right behind the checkpoint
	_, err := verify(broken, evidence(n, broken))
	expect(t, err, before)
	wooden := change(t, broken, stoke, `"label":"dry wood","value":1`, `"label":"dry wood","value":2`)
	_, err = verify(wooden, evidence(n, wooden))
	expect(t, err, exactly(int64(stoke)))
	// In one command, too: the modifier stands before the broken record.
	wooden = change(t, change(t, honest, stoke, `"label":"dry wood","value":1`, `"label":"dry wood","value":2`), stoke+1, `"n":`, `"n" :`)
	_, err = verify(wooden, evidence(n, wooden))
	expect(t, err, exactly(int64(stoke)))
	// Two checkpoints leave fewer records in doubt.
	e := evidence(n, late)
	e.Kept = append(e.Kept, replay.Note{Name: "bo's", Text: n.sign(honest, walk)})
	_, err = verify(late, e)
	expect(t, err, want{int64(walk), before.through})
}

// zeroed are events with a field of 64 hex digits; with zeros in its place
// the record is refused.
var zeroed = []struct{ event, field string }{
	{"roll.made", "s"}, {"roll.made", "c"}, {"roll.resolved", "s"}, {"roll.resolved", "w"}, {"roll.voided", "s"},
	{"roll.declared", "c"}, {"seat.revealed", "x"}, {"seating.sealed", "joint"}, {"roll.opened", "salt"},
}

// zero puts zeros into a field of the first such event, and gives its record.
func zero(t testing.TB, lines [][]byte, event, field string) (forged [][]byte, k int) {
	t.Helper()
	k = find(t, lines, `"type":"`+event+`","data"`, `"`+field+`":"`)
	hex := regexp.MustCompile(`"` + field + `":"[0-9a-f]{64}"`)
	places := hex.FindAllIndex(lines[k], -1)
	at := places[len(places)-1] // in the event, not in the command
	forged = slices.Clone(lines)
	forged[k] = slices.Concat(lines[k][:at[0]], fmt.Appendf(nil, `"%s":"%064d"`, field, 0), lines[k][at[1]:])
	return forged, k
}

func TestVerifyRefusesZeros(t *testing.T) {
	n := play(t)
	for _, z := range zeroed {
		t.Run(z.event+" "+z.field, func(t *testing.T) {
			forged, k := zero(t, n.lines(), z.event, z.field)
			_, err := verify(forged, replay.Evidence{})
			expect(t, err, exactly(int64(k)))
		})
	}
}

func expect(t *testing.T, err error, w want) {
	t.Helper()
	if w == unseen {
		if err != nil {
			t.Errorf("got %v, but this cannot be told from an honest ledger", err)
		}
		return
	}
	var f *replay.Failure
	if !errors.As(err, &f) || f.N != w.n || f.Through != w.through {
		t.Errorf("got %v, want record %d (through %d)", err, w.n, w.through)
	}
}

// A key for another campaign's log is no key for this one.
func TestVerifyRefusesAKeyOfAnotherCampaign(t *testing.T) {
	for origin, good := range map[string]bool{
		rulestest.Campaign: true, rulestest.Campaign + "/2": true, rulestest.Campaign + "/x": false, "another": false, rulestest.Campaign + "0": false,
	} {
		signer, err := merkle.NewSigner("ledger.example", origin, bytes.Repeat([]byte{7}, merkle.SeedSize))
		if err != nil {
			t.Fatal(err)
		}
		tb := rulestest.Empty(t, embers)
		tb.Must("gm", "campaign.create", fmt.Sprintf(`{"name":"a","system":"ember","gm":"gm","vkey":%q}`, signer.VKey()))
		w := unseen
		if !good {
			w = exactly(0)
		}
		_, err = verify(bytes.Split(tb.Payloads[0], []byte("\n")), replay.Evidence{})
		expect(t, err, w)
	}
}

// Seats are not closed while a witness owes an element: it would be due in two
// places.
func TestVerifyRefusesSeatsClosedUnderADeclaredRoll(t *testing.T) {
	n := play(t)
	lines := n.lines()
	k := find(t, lines, `"type":"roll.declared"`) + 1
	session := n.Records[find(t, lines, `"session.opened"`)].Cmd.ID
	taken := &events.SeatTaken{Session: session, Seating: 2, Lane: "cleo.2", Principal: "cleo", N: 5, S0: strings.Repeat("5", 64), C0: strings.Repeat("6", 64), X0: "-"}
	lines = forged(t, n, lines, k, "cleo", "seat.take", taken)
	lines = forged(t, n, lines, k+1, "gm", "seating.close", &events.SeatingClosed{Session: session, Seating: 2, Ask: []events.Ask{}})
	_, err := verify(lines, replay.Evidence{})
	expect(t, err, exactly(int64(k+1)))
}

// A seal opens to the roll that it took, and to no better one of the lane.
func TestVerifyRefusesAnotherSecretRoll(t *testing.T) {
	n := play(t)
	lines := n.lines()
	k := find(t, lines, `"type":"roll.sealed"`)
	session := n.Records[find(t, lines, `"session.opened"`)].Cmd.ID
	better := n.secret[int64(k+1)] // roll 2 of the lane
	seal := fmt.Sprintf("%x", merkle.Seal(better.Salt, better.Payload))
	lines = forged(t, n, lines, k, "gm", "roll.seal", &events.RollSealed{Session: session, Lane: rules.SecretLane, I: 1, Seal: seal})
	lines = forged(t, n, lines, k+1, "gm", "roll.open", &events.RollOpened{Sealed: int64(k), Salt: fmt.Sprintf("%x", better.Salt), Payload: string(better.Payload)})
	_, err := verify(lines, replay.Evidence{})
	expect(t, err, exactly(int64(k+1)))
}

// A lane ends with its chains.
func TestVerifyRefusesARollBehindTheEnd(t *testing.T) {
	n := begin(t)
	session := n.Must("gm", "session.open", `{"title":"short","kind":"table","devices":true}`)
	n.seat(rulestest.NewDevice(t, "anna", "anna", 1, 1), "anna")
	n.Must("gm", "seating.close", `{}`)
	n.reveal("anna")
	n.with("anna", "roll", `{"expression":"1d6"}`)
	lines := n.lines()
	k := len(lines)
	lines = forged(t, n, lines, k, "anna", "roll", &events.RollMade{Session: session, Lane: "anna", I: 2, Source: rules.SourceLedger})
	_, err := verify(lines, replay.Evidence{})
	expect(t, err, exactly(int64(k)))
	if err == nil || !strings.Contains(err.Error(), "ends at roll 1") {
		t.Errorf("got %v", err)
	}
}

// A key of the attacker's own is refused at the first record.
func TestVerifyRefusesAnotherKey(t *testing.T) {
	n := play(t)
	lines := n.lines()
	for name, spoil := range map[string]func(e *replay.Evidence){
		"the key of the table":  func(e *replay.Evidence) { e.VKey = strings.Replace(e.VKey, "ledger.example", "ledger.invalid", 1) },
		"the key of the export": func(e *replay.Evidence) { e.ServerVKey = e.VKey + "A" },
		"a signature":           func(e *replay.Evidence) { e.Kept[0].Text[len(e.Kept[0].Text)-3] ^= 1 },
		"a size": func(e *replay.Evidence) {
			e.Server.Text = bytes.Replace(e.Server.Text, fmt.Appendf(nil, "\n%d\n", len(lines)), fmt.Appendf(nil, "\n%d\n", len(lines)-1), 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := evidence(n, lines)
			spoil(&e)
			_, err := verify(lines, e)
			expect(t, err, exactly(0))
		})
	}
}

// forged is an honest ledger that ends before the first record with the given
// texts, and goes on with an event that no honest server writes.
func forged(t *testing.T, n *night, lines [][]byte, k int, by, command string, e events.Event) [][]byte {
	t.Helper()
	head := events.Head{Campaign: rulestest.Campaign, N: int64(k), At: rulestest.At, By: by, Cmd: events.Cmd{ID: "forged", Type: command}}
	payload, err := events.EncodeCommit(head, []events.Fact{{Clock: n.Records[k-1].Clock, Event: e}}, func(int) string { return "record" })
	if err != nil {
		t.Fatal(err)
	}
	return append(slices.Clone(lines[:k]), payload)
}

func TestVerifyRefusesForgedEvents(t *testing.T) {
	n := play(t)
	lines := n.lines()
	session := n.Records[find(t, lines, `"session.opened"`)].Cmd.ID
	seat := func(lane, principal, c0 string) *events.SeatTaken {
		return &events.SeatTaken{Session: session, Seating: 1, Lane: lane, Principal: principal, N: 5, S0: strings.Repeat("5", 64), C0: c0, X0: "-"}
	}
	open := find(t, lines, `"seat.taken"`, `"lane":"cleo"`)  // the seats are still open
	declared := find(t, lines, `"type":"roll.declared"`) + 1 // a roll waits
	passed := find(t, lines, `"type":"roll.passed"`) + 1
	sealed := find(t, lines, `"type":"roll.sealed"`) + 1
	played := find(t, lines, `"purpose":"spark"`)
	roll := func(lane string, i int) *events.RollMade {
		return &events.RollMade{Session: session, Lane: lane, I: i, S: strings.Repeat("5", 64), C: "-", Source: rules.SourceLedger}
	}
	anchor := regexp.MustCompile(`"c0":"([0-9a-f]{64})"`).FindSubmatch(lines[find(t, lines, `"type":"seat.taken","data"`, `"lane":"anna"`)])[1]
	for _, c := range []struct {
		name, by, command string
		k                 int
		e                 events.Event
		why               string
	}{
		{"a second seat at once", "anna", "seat.take", open, seat("anna.2", "anna", "-"), "sits on the lane anna already"},
		{"a copied chain", "dan", "seat.take", open, seat("dan", "dan", string(anchor)), "a copied chain"},
		{"one chain in two places", "dan", "seat.take", open, seat("dan", "dan", strings.Repeat("5", 64)), "in two places"},
		{"no server", "dan", "seat.take", open, &events.SeatTaken{Session: session, Seating: 1, Lane: "dan", Principal: "dan", N: 5, S0: "-", C0: "-", X0: "-"}, "committed to nothing"},
		{"seats in another session", "anna", "seat.take", open, &events.SeatTaken{Session: "another"}, "is not open"},
		{"a roll before the seats are sealed", "anna", "roll", open, roll("anna", 1), "not the one that anna rolls on now"},
		{"a roll while one is declared", "gm", "roll", declared, roll("gm", 2), "comes first"},
		{"another seat while one is declared", "gm", "seat.take", declared, &events.SeatTaken{Session: session, Seating: 2, Lane: "gm.2", Principal: "gm", N: 5, S0: strings.Repeat("5", 64), C0: "-", X0: "-"}, "while a declared roll"},
		{"two declared rolls", "gm", "roll.declare", declared, &events.RollDeclared{Session: session, Lane: "gm", I: 2}, "another declared roll is open"},
		{"a witness asked again", "gm", "roll.pass", passed, &events.RollPassed{Declared: int64(passed) - 2, Lane: "anna", M: 3, Next: events.Ask{Lane: "bo", M: 3}}, "nobody can witness it"},
		{"a device's roll without its element", "anna", "roll", played, roll("anna", 1), "s is not element 1"},
		{"a tick out of time", "gm", "note.add", played, &events.TickProcessed{Due: 0}, "makes no tick fall due"},
		{"a second campaign", "gm", "campaign.create", played, &events.CampaignCreated{}, "created once"},
		{"a session in a session", "gm", "session.open", played, &events.SessionOpened{Session: "another"}, "a session is open already"},
		{"a seal that is none", "gm", "roll.seal", sealed, &events.RollSealed{Session: session, Lane: "gm-secret", I: 2, Seal: "soon"}, "the seal"},
		{"a seating that waits for nothing", "anna", "seat.reveal", played, &events.SeatRevealed{Session: session, Seating: 1}, "waits for nothing"},
		{"a seating sealed twice", "gm", "seating.seal", played, &events.SeatingSealed{Session: session, Seating: 1}, "is not closed"},
		{"a seating closed twice", "gm", "seating.close", played, &events.SeatingClosed{Session: session, Seating: 1}, "is not open"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := verify(forged(t, n, lines, c.k, c.by, c.command, c.e), replay.Evidence{})
			var f *replay.Failure
			if !errors.As(err, &f) || f.N != int64(c.k) || !strings.Contains(f.Reason, c.why) {
				t.Errorf("got %v, want record %d: …%s…", err, c.k, c.why)
			}
		})
	}
}

// Of two ticks at one moment that of the lower character id comes first, and
// time does not run back between records.
func TestVerifyRefusesTicksOutOfTurn(t *testing.T) {
	n := play(t)
	lines := n.lines()
	k := find(t, lines, `"kind":"burn","due":10`) + 2 // the second of two
	at := bytes.Index(lines[k], []byte(`"data":{"character":"`)) + len(`"data":{"character":"`)
	out := slices.Clone(lines)
	out[k] = slices.Concat(lines[k][:at], []byte("0"), lines[k][at+36:])
	_, err := verify(out, replay.Evidence{})
	expect(t, err, exactly(int64(k)))
	note := find(t, lines, `"note.added"`)
	_, err = verify(change(t, lines, note, `"at":"2026`, `"at":"2025`), replay.Evidence{})
	expect(t, err, exactly(int64(note)))
}

// Whatever is done to the bytes before a kept checkpoint, the ledger is
// refused.
func TestVerifyRefusesAnyEdit(t *testing.T) {
	n := play(t)
	honest, kept := export(n.lines()), n.sign(n.lines(), len(n.lines()))
	rapid.Check(t, func(rt *rapid.T) {
		at := rapid.IntRange(0, len(honest)-1).Draw(rt, "at")
		cut := rapid.IntRange(0, 400).Draw(rt, "cut")
		insert := rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(rt, "insert")
		mutated(rt, kept, honest, at, cut, insert)
	})
}

func FuzzVerify(f *testing.F) {
	n := play(f)
	honest, kept := export(n.lines()), n.sign(n.lines(), len(n.lines()))
	for _, text := range []string{`"draws":[[6,`, `"n":9,`, "\n", `"joint":"`, `"w":"`, `"ask":[`, `"witness":{`, `"payload":"`} {
		f.Add(uint(bytes.Index(honest, []byte(text))), uint(len(text)), []byte(text+"1"))
		f.Add(uint(bytes.Index(honest, []byte(text))), uint(len(text)+1), []byte(text))
	}
	f.Fuzz(func(t *testing.T, at, cut uint, insert []byte) {
		mutated(t, kept, honest, int(at%uint(len(honest))), int(cut%uint(len(honest))), insert)
	})
}

// Whatever is held against an honest ledger as its checkpoint, as one that was
// kept, or as its key: it is accepted when it is what was signed or given out,
// however its signatures of others read, and in no other case.
func FuzzEvidence(f *testing.F) {
	n := play(f)
	lines := n.lines()
	honest := export(lines)
	half, whole := n.sign(lines, len(lines)/2), n.sign(lines, len(lines))
	signed := map[string]bool{}
	for _, note := range [][]byte{half, whole} {
		text, _, _ := bytes.Cut(note, []byte("\n\n"))
		signed[string(text)] = true
	}
	vkey := n.signer.VKey()
	f.Add(whole, half, vkey, vkey)
	f.Add(half, whole, "", "")
	f.Add([]byte{}, append(bytes.Clone(whole), "— witness.example AAAAAAAA\n"...), vkey+" ", vkey[1:])
	f.Add(bytes.Replace(whole, []byte("\n"), []byte("/2\n"), 1), bytes.ReplaceAll(half, []byte("\n"), []byte("\r\n")), strings.ToUpper(vkey), vkey)
	f.Fuzz(func(t *testing.T, server, kept []byte, given, came string) {
		for _, e := range []replay.Evidence{
			{Server: &replay.Note{Name: "checkpoint", Text: server}}, {Kept: []replay.Note{{Name: "kept", Text: kept}}}, {VKey: given}, {ServerVKey: came},
		} {
			report, err := replay.Verify(bytes.NewReader(honest), e)
			if failure := (*replay.Failure)(nil); err != nil && !errors.As(err, &failure) {
				t.Errorf("an error without a name: %v", err)
			}
			if err != nil {
				continue
			}
			text, _, _ := bytes.Cut(kept, []byte("\n\n"))
			whose, _, _ := bytes.Cut(server, []byte("\n\n"))
			switch {
			case e.Server != nil && !bytes.HasPrefix(whole, append(whose, "\n\n"...)):
				t.Errorf("%q passes for the checkpoint of the ledger", server)
			case e.Kept != nil && !signed[string(text)]:
				t.Errorf("%q passes for a checkpoint of the ledger", kept)
			case e.VKey != "" && e.VKey != vkey, e.ServerVKey != "" && e.ServerVKey != vkey:
				t.Errorf("%q and %q pass for its key", given, came)
			case len(report.Checkpoints) != len(e.Kept) && e.Server == nil:
				t.Errorf("it was held against %d checkpoints, and the report has %d", len(e.Kept), len(report.Checkpoints))
			}
		}
	})
}

// mutated verifies an export with a piece cut out and another put in, once
// against a checkpoint that was kept, once without any.
func mutated(t interface{ Fatalf(string, ...any) }, kept, honest []byte, at, cut int, insert []byte) {
	end := min(at+cut, len(honest))
	data := slices.Concat(honest[:at], insert, honest[end:])
	e := replay.Evidence{Library: rules.Library{embers}, Kept: []replay.Note{{Name: "kept", Text: kept}}}
	_, err := replay.Verify(bytes.NewReader(data), e)
	var failure *replay.Failure
	switch {
	case bytes.Equal(data, honest) && err != nil:
		t.Fatalf("the honest ledger is refused: %v", err)
	case bytes.HasPrefix(data, honest): // records that came later are not before the checkpoint
	case !bytes.Equal(data, honest) && !errors.As(err, &failure):
		t.Fatalf("%d bytes at %d replaced by %q: got %v", end-at, at, insert, err)
	}
	// Without a checkpoint anything but a panic will do.
	_, err = replay.Verify(bytes.NewReader(data), replay.Evidence{})
	if err != nil && !errors.As(err, &failure) {
		t.Fatalf("got %v", err)
	}
}

// BenchmarkVerify verifies a hundred thousand records; the figure to look at
// is the time of one.
func BenchmarkVerify(b *testing.B) {
	n := begin(b)
	n.Must("gm", "session.open", `{"title":"a long one","kind":"downtime"}`)
	n.Must("gm", "character.create", `{"name":"Fire","kind":"npc","creation":"free","sheet":{"points":100000}}`)
	n.Must("gm", "clock.advance", `{"seconds":500000}`)
	n.Finish()
	data := export(n.lines())
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		r, err := replay.Verify(bytes.NewReader(data), replay.Evidence{Library: rules.Library{embers}})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(r.Records), "records")
	}
}

// What a cheating server would write is refused by what the events say of the
// dice alone, without the rules, and by the record where it stands.
func TestVerifyKnowsFairDice(t *testing.T) {
	n := play(t)
	lines := n.lines()
	for _, c := range []struct {
		name     string
		at       []string // texts of the record
		old, new string
		why      string
	}{
		{"a key of another campaign", []string{`"campaign.created"`}, `/campaign/0192f1c0`, `/campaign/0192f1c1`, "vkey"},
		{"another campaign", []string{`"note.added"`}, `"campaign":"0192`, `"campaign":"0193`, "belongs to the campaign"},
		{"game time runs back", []string{`"note.added"`}, `"clock":65`, `"clock":64`, "game time runs back"},
		{"a record that belongs to no command", []string{`"note.added"`}, `,"type":"note.add","data":{"text":"The end — for now."}}`, `}`, "does not belong to the command"},
		{"a command in the middle", []string{`"heal.granted"`}, `"cmd":{"id":"`, `"cmd":{"id":"f`, "does not belong to the command"},
		{"another hand in the middle", []string{`"heal.granted"`}, `"by":"anna"`, `"by":"dan"`, "does not belong to the command"},
		{"an unknown field", []string{`"note.added"`}, `"data":{"text"`, `"data":{"more":1,"text"`, "more"},

		{"a lane with another name", []string{`"seat.taken"`, `"lane":"anna"`}, `"lane":"anna"`, `"lane":"anna.2"`, "is called"},
		{"a lane for a stranger", []string{`"seat.taken"`, `"lane":"dan"`}, `"dan","principal":"dan"`, `"eve","principal":"eve"`, "does not take part"},
		{"a chain without end", []string{`"seat.taken"`, `"lane":"dan"`}, `"n":1024`, `"n":99999`, "a chain of 99999"},
		{"a device by another hand", []string{`"seat.taken"`, `"lane":"anna"`}, `"by":"anna"`, `"by":"gm"`, "took a seat with a device for anna"},
		{"another seating", []string{`"seat.taken"`, `"lane":"anna"`}, `"seating":1`, `"seating":2`, "no seats can be taken"},
		{"a second lane", []string{`"seat.taken"`, `"lane":"bo.2"`}, `,"lost":true`, ``, "takes a second lane"},
		{"a lane that is not asked", []string{`"seating.closed"`}, `,{"lane":"bo","m":1}`, ``, "is not asked"},
		{"an element out of order", []string{`"seating.closed"`}, `{"lane":"bo","m":1}`, `{"lane":"bo","m":2}`, "asked for its element 2: 1 is next"},
		{"a lane without a chain is asked", []string{`"seating.closed"`}, `{"lane":"bo","m":1}`, `{"lane":"dan","m":1}`, "has no witness chain"},
		{"asked twice", []string{`"seating.closed"`}, `{"lane":"bo","m":1}`, `{"lane":"bo","m":1},{"lane":"bo","m":2}`, "again before it has answered"},
		{"revealed by another", []string{`"seat.revealed"`}, `"by":"anna"`, `"by":"dan"`, "reveals for the lane anna"},
		{"the wrong index", []string{`"seat.revealed"`}, `"lane":"anna","m":1,"x":"`, `"lane":"anna","m":2,"x":"`, "was not asked for element 2"},
		{"another joint seed", []string{`"seating.sealed"`}, `"joint":"`, `"joint":"0`, "the joint seed does not follow"},
		{"a lane struck off", []string{`"seating.sealed"`}, `"missing":["bo"]`, `"missing":["anna","bo"]`, "does not name the lanes"},
		{"nobody missing", []string{`"seating.sealed"`}, `"missing":["bo"]`, `"missing":[]`, "does not name the lanes"},

		{"a lane that is not theirs", []string{`"roll.made"`, `"by":"dan"`}, `"lane":"dan"`, `"lane":"cleo"`, "is not the one of dan"},
		{"a roll out of order", []string{`"roll.made"`, `"lane":"anna","i":2`}, `"lane":"anna","i":2`, `"lane":"anna","i":3`, "2 is next"},
		{"an old lane", []string{`"roll.made"`, `"lane":"bo.2","i":1`}, `"lane":"bo.2","i":1`, `"lane":"bo","i":1`, "not the one that bo rolls on now"},
		{"ticks on another lane", []string{`"roll.made"`, `"lane":"system"`}, `"lane":"system"`, `"lane":"gm"`, "not the one of system"},
		{"dice from nowhere", []string{`"roll.made"`, `"by":"dan"`}, `"source":"ledger"`, `"source":"luck"`, "come from nowhere"},
		{"a witness in an open roll", []string{`"roll.made"`, `"by":"dan"`}, `"c":"-",`, `"c":"-","w":"-",`, "come from nowhere"},
		{"typed dice with a seed", []string{`"roll.made"`, `"source":"physical"`}, `"source":"physical"`, `"i":1,"source":"physical"`, "have no seed"},
		{"typed dice with a face too high", []string{`"roll.made"`, `"source":"physical"`}, `[[100,42]]`, `[[100,142]]`, "shows 142"},
		{"ledger dice called typed", []string{`"roll.made"`, `"by":"dan"`}, `"source":"ledger"`, `"source":"physical"`, "have no seed"},
		{"a target sealed afterwards", []string{`"roll.made"`, `"call":`}, `"call":2`, `"call":5`, "was not sealed before it"},

		{"a secret roll by a player", []string{`"roll.sealed"`}, `"by":"gm"`, `"by":"anna"`, "has no lane for secret rolls"},
		{"a secret roll on an open lane", []string{`"roll.sealed"`}, `"lane":"gm-secret"`, `"lane":"gm"`, "not the one of gm-secret"},
		{"another payload", []string{`"roll.opened"`}, `"data":{"sealed":24,"salt":"`, `"data":{"sealed":23,"salt":"`, "not what record 23 sealed"},
		{"opened twice", []string{`"roll.opened"`, `"sealed":23`}, `"data":{"sealed":23`, `"data":{"sealed":24`, "no secret roll that waits"},
		{"another target", []string{`"target.opened"`}, `"value":7,"rolls"`, `"value":8,"rolls"`, "the target was 7"},
		{"a roll left out of the judgement", []string{`"target.opened"`}, `"roll":30`, `"roll":29`, "does not judge"},

		{"a ruling in no session", []string{`"ruling.sealed"`}, `"session":"`, `"session":"0`, "is not open"},
		{"another ruling than sealed", []string{`"ruling.opened"`}, `"outcome":"it burns"`, `"outcome":"it rains"`, "not the ruling that was sealed"},
		{"evidence of another moment", []string{`"dispute.opened"`}, `"evidence":{"size":`, `"evidence":{"size":1`, "not the ledger as it stood"},
		{"evidence of another record", []string{`"dispute.opened"`}, `"leaf":"`, `"leaf":"0`, "not record 20"},

		{"a witness out of turn", []string{`"roll.declared"`}, `"witness":{"lane":"anna","m":2}`, `"witness":{"lane":"bo","m":2}`, "it is the turn of anna"},
		{"a spent element again", []string{`"roll.declared"`}, `"witness":{"lane":"anna","m":2}`, `"witness":{"lane":"anna","m":1}`, "2 is next"},
		{"declared by another", []string{`"roll.declared"`}, `"by":"gm"`, `"by":"bo"`, "not the one of bo"},
		{"another roll than declared", []string{`"roll.resolved"`}, `"lane":"gm","i":1`, `"lane":"gm","i":2`, "not the roll that record"},
		{"answered by another", []string{`"roll.resolved"`}, `"by":"anna"`, `"by":"dan"`, "anna is the witness"},
		{"another was passed", []string{`"roll.passed"`}, `"lane":"bo"`, `"lane":"dan"`, "not dan was asked"},
		{"the next out of turn", []string{`"roll.passed"`}, `"next":{"lane":"anna"`, `"next":{"lane":"bo"`, "turn of anna"},
		{"void of nothing", []string{`"roll.voided"`}, `"declared":`, `"declared":1`, "no declared roll that waits"},

		{"a roll hidden from the count", []string{`"session.closed"`}, `"rolls":`, `"rolls":1`, "rolls, but it has"},
		{"a seal hidden from the count", []string{`"session.closed"`}, `"unopened":3`, `"unopened":1`, "unopened seals, but it has 3"},
		{"a taken back roll hidden", []string{`"session.closed"`}, `,"voided":2`, ``, "taken back, but it has 2"},
		{"a passed witness hidden", []string{`"session.closed"`}, `,"passed":1`, ``, "passed over, but it has 1"},
		{"an open roll invented", []string{`"session.closed"`}, `"passed":1`, `"passed":1,"open":1`, "open declared rolls, but it has 0"},
		{"a tick before it is due", []string{`"tick.processed"`}, `"kind":"burn","due":10`, `"kind":"burn","due":99`, "it is due at 99"},
		{"ticks out of turn", []string{`"kind":"burn","due":20`}, `"kind":"burn","due":20`, `"kind":"burn","due":5`, "out of turn"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := find(t, lines, c.at...)
			at := bytes.LastIndex(lines[k], []byte(c.old)) // in the event, not in the command
			if at < 0 {
				t.Fatalf("record %d has no %s: %s", k, c.old, lines[k])
			}
			forged := slices.Clone(lines)
			forged[k] = slices.Concat(lines[k][:at], []byte(c.new), lines[k][at+len(c.old):])
			_, err := verify(forged, replay.Evidence{})
			var f *replay.Failure
			if !errors.As(err, &f) || f.N != int64(k) || !strings.Contains(f.Reason, c.why) {
				t.Errorf("got %v, want record %d: …%s…\n%s", err, k, c.why, lines[k])
			}
		})
	}
}
