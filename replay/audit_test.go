package replay_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tallystick/events"
	"tallystick/projections"
	"tallystick/replay"
	"tallystick/rules"
	"tallystick/rules/fudge"
	"tallystick/rules/rpgamix"
	"tallystick/rules/rulestest"
	"tallystick/rules/systems"
)

// Whatever happens to a character in whatever system is explained: in a
// sentence, with what it came of and how provable it is; and every modifier
// names its rule, the rule's title, and records that it comes from, none of
// them later than what it caused.
func TestAuditEverything(t *testing.T) {
	for _, book := range append(systems.Library(), rules.NewBook(rulestest.Ember())) {
		t.Run(book.Name(), func(t *testing.T) {
			rulestest.Games(t, book, "../rules", func(rt *rapid.T, tb *rulestest.Table) {
				step := 13
				for i := rapid.IntRange(0, step-1).Draw(rt, "first"); i < len(tb.Records); i += step {
					rec := tb.Records[i]
					if e, err := book.Registry().Decode(rec); err == nil {
						explained(t, rt, tb, book, rec, e)
					}
				}
			})
		})
	}
}

func explained(t *testing.T, rt *rapid.T, tb *rulestest.Table, book *rules.Book, rec events.Record, e events.Event) {
	_, happened := e.(events.CharacterEvent)
	if rec.Type != "roll.made" && !happened {
		return
	}
	a := explain(t, tb.Payloads, rules.Library{book}, rec.N)
	if a.N > rec.N || a.Sentence == "" || strings.Contains(a.Sentence, "..") || a.Proof.Sentence == "" || a.Cause.Type == "" || a.Cause.By == "" {
		rt.Fatalf("record %d, %s: %s", rec.N, rec.Type, a.Text())
	}
	if a.Type == "roll.made" && strings.HasPrefix(a.Sentence, "rolled ") {
		rt.Fatalf("record %d: nobody rolled: %s", rec.N, a.Sentence)
	}
	if a.N != rec.N && !slices.ContainsFunc(a.Caused, func(c replay.AuditEffect) bool { return c.N == rec.N }) {
		rt.Fatalf("record %d, %s, is not among what record %d caused: %s", rec.N, rec.Type, a.N, a.Text())
	}
	if len(a.Throws) == 0 && (a.Proof.Kind != replay.ProvedByRules || slices.Contains([]string{"wound.inflicted", "tick.processed"}, a.Type) && (a.Rule == "" || a.Title == "") && book.Name() != "ember") {
		rt.Fatalf("record %d, %s: %s", rec.N, rec.Type, a.Text())
	}
	for _, th := range a.Throws {
		for _, m := range append(slices.Clone(th.Modifiers), th.Damage...) {
			if m.Rule == "" || m.Title == "" || len(m.From) == 0 {
				rt.Fatalf("record %d: %s of %s: rule %q %q, from %v", rec.N, m.Label, th.Purpose, m.Rule, m.Title, m.From)
			}
			for _, from := range m.From {
				if from.N > a.N+int64(len(a.Caused))+1 || from.Text == "" {
					rt.Fatalf("record %d: %s comes from %+v", rec.N, m.Label, from)
				}
			}
		}
	}
}

// What only one system has is told in words, not by its event type.
func TestAuditInWords(t *testing.T) {
	book, err := systems.Library().Find("perp", 0)
	if err != nil {
		t.Fatal(err)
	}
	tb := rulestest.NewTable(t, book, `{"perp.gang_mode":"brutal"}`)
	tb.Must("gm", "session.open", `{"title":"one","kind":"table"}`)
	person := func(name string) string {
		return tb.Must("gm", "character.create", fmt.Sprintf(`{"name":%q,"kind":"npc","creation":"free","sheet":{"traits":{},"skills":{},"hp":12}}`, name))
	}
	lone, a, b := person("Lone"), person("A"), person("B")
	tb.Must("gm", "perp.gang", fmt.Sprintf(`{"target":%q,"attackers":[{"character":%q},{"character":%q}]}`, lone, a, b), 1, 2, 9)
	var told []string
	for _, c := range explain(t, tb.Payloads, rules.Library{book}, numberOf(t, tb, "roll.made")).Caused {
		told = append(told, c.Text)
	}
	if want := []string{"A: attacked", "B: attacked", "Lone: share won"}; !slices.Equal(told, want) {
		t.Errorf("told as %q, want %q", told, want)
	}
}

// hurtTable is a table of RPGamix with Bob, 25 points.
func hurtTable(t *testing.T) (tb *rulestest.Table, book *rules.Book, bob string) {
	book = rules.NewBook(rpgamix.New())
	tb = rulestest.NewTable(t, book, "")
	tb.Correct = correct
	tb.Must("gm", "session.open", `{"title":"one","kind":"downtime"}`)
	bob = tb.Must("gm", "character.create", `{"name":"Bob","kind":"npc","creation":"free","sheet":{"stats":{"str":0,"con":0,"dex":0,"per":0,"int":0,"wits":0,"cha":0,"app":0},"skills":{}}}`)
	return tb, book, bob
}

func numberOf(t *testing.T, tb *rulestest.Table, typ string) int64 {
	t.Helper()
	i := slices.IndexFunc(tb.Records, func(r events.Record) bool { return r.Type == typ })
	if i < 0 {
		t.Fatalf("there is no %s", typ)
	}
	return int64(i)
}

// A wound by the game master's hand and a check without dice are explained:
// what they came of, what they did, by which rule, and how provable they are.
func TestAuditWithoutDice(t *testing.T) {
	tb, book, bob := hurtTable(t)
	tb.Must("gm", "wound.inflict", fmt.Sprintf(`{"character":%q,"points":21,"cause":"a beam"}`, bob))
	tb.Must("gm", "clock.advance", `{"seconds":12}`)
	tb.Finish()
	for _, c := range []struct {
		record, sentence, cause, rule, due, caused string
		n                                          int64
	}{
		{"wound.inflicted", "Bob is wounded, 21 points (a beam): 4/25, incapacitated", "wound.inflict", "RPGX-28", "", "", 0},
		{"tick.processed", "Bob: the round check: -1, 3/25, incapacitated (-16) (due 0d 00:00:03)", "clock.advance", "RPGX-47", "wound.inflicted", "", 0},
		{"character.died", "Bob: the round check: -1, 0/25, dead (due 0d 00:00:12)", "clock.advance", "RPGX-47", "wound.inflicted", "character.died", -1},
	} {
		n := numberOf(t, tb, c.record)
		a := explain(t, tb.Payloads, rules.Library{book}, n)
		if a.N != n+c.n || !strings.HasPrefix(a.Sentence, c.sentence) || a.Cause.Type != c.cause || a.Cause.By != "gm" || a.Rule != c.rule || a.Title == "" {
			t.Errorf("%s: %s", c.record, a.Text())
		}
		if a.Proof.Kind != replay.ProvedByRules || !strings.Contains(a.Text(), "No die was thrown") || !strings.Contains(a.Text(), c.rule+" "+a.Title) {
			t.Errorf("%s: %s", c.record, a.Text())
		}
		if c.due != "" && (len(a.Cause.Due) == 0 || a.Cause.Due[0].Type != c.due) {
			t.Errorf("%s fell due because of %v", c.record, a.Cause.Due)
		}
		if c.caused != "" && (len(a.Caused) == 0 || a.Caused[len(a.Caused)-1].Type != c.caused) {
			t.Errorf("%s caused %v", c.record, a.Caused)
		}
	}
}

// The game master's own word is in the first sentence of what it is about,
// whichever of its records it names; and so is a correction.
func TestAuditOverridden(t *testing.T) {
	tb, book, bob := hurtTable(t)
	wound := tb.Must("gm", "wound.inflict", fmt.Sprintf(`{"character":%q,"points":6,"cause":"a beam"}`, bob), 10)
	for _, record := range []string{"roll.made", "wound.inflicted"} {
		tb.Must("gm", "ruling.make", fmt.Sprintf(`{"roll":%d,"outcome":"it only grazed him: %s","reason":"a beam of balsa"}`, numberOf(t, tb, record), record))
		for _, asked := range []string{"roll.made", "wound.inflicted"} {
			a := explain(t, tb.Payloads, rules.Library{book}, numberOf(t, tb, asked))
			if !strings.HasSuffix(a.Sentence, "; overridden by the game master: it only grazed him: "+record+".") || !a.Proof.Overridden {
				t.Errorf("%s: %q", asked, a.Sentence)
			}
			if first, _, _ := strings.Cut(a.Text(), "\n"); first != a.Sentence {
				t.Errorf("the text begins %q", first)
			}
		}
	}
	takeBack(tb, wound)
	if a := explain(t, tb.Payloads, rules.Library{book}, numberOf(t, tb, "roll.made")); !strings.HasSuffix(a.Sentence, "; taken back since.") {
		t.Errorf("%q", a.Sentence)
	}
}

// A roll that is no character's is somebody's all the same.
func TestAuditOfAPlainRoll(t *testing.T) {
	tb, book, _ := hurtTable(t)
	tb.Must("gm", "roll", `{"expression":"2d6","purpose":"luck"}`, 5, 6)
	if a := explain(t, tb.Payloads, rules.Library{book}, numberOf(t, tb, "roll.made")); a.Sentence != "gm rolled 5 + 6: 11." {
		t.Errorf("got %q", a.Sentence)
	}
}

// A declared roll is explained as what was declared, by whom, and who
// witnessed it: its command, its modifiers, and the record of the declaration,
// which explains the same roll.
func TestAuditDeclared(t *testing.T) {
	n := play(t)
	i := slices.IndexFunc(n.Records, func(r events.Record) bool { return r.Type == "roll.resolved" })
	e, err := embers.Registry().Decode(n.Records[i])
	if err != nil {
		t.Fatal(err)
	}
	at := e.(*events.RollResolved).Declared
	d, err := embers.Registry().Decode(n.Records[at])
	if err != nil {
		t.Fatal(err)
	}
	declared := d.(*events.RollDeclared)
	for _, asked := range []int64{int64(i), at} {
		a := explain(t, n.Payloads, rules.Library{embers}, asked)
		c := a.Cause
		if a.N != int64(i) || c.Type != declared.Command || c.By != n.Records[at].By || string(c.Data) != string(declared.Data) || c.Witness != n.Records[i].By || c.Command != n.Records[i].Cmd.ID {
			t.Errorf("asked for record %d: %s", asked, a.Text())
		}
		if len(c.Declared) == 0 || c.Declared[0].N != at || !strings.Contains(a.Text(), declared.Purpose) {
			t.Errorf("the declaration is not told: %s", a.Text())
		}
	}
}

// What is told without the rules says that they are missing, and claims nothing
// that only they could show.
func TestAuditWithoutRules(t *testing.T) {
	tb, _, bob := hurtTable(t)
	tb.Must("gm", "wound.inflict", fmt.Sprintf(`{"character":%q,"points":21,"cause":"a beam"}`, bob))
	a := explain(t, tb.Payloads, nil, numberOf(t, tb, "wound.inflicted"))
	if a.Rules != "" || a.Missing != "rpgamix, edition 1" || strings.Contains(a.Text(), "decide it again") || !strings.Contains(a.Text(), "the rules (rpgamix, edition 1) are not on board") {
		t.Errorf("%s", a.Text())
	}
}

// A check in a later part of a long advance came of the advance, and goes with
// it when that is taken back.
func TestAuditOfALongAdvance(t *testing.T) {
	tb := rulestest.NewTable(t, embers, "")
	tb.Correct = correct
	tb.Must("gm", "session.open", `{"title":"one","kind":"downtime"}`)
	tb.Must("gm", "character.create", `{"name":"Fire","kind":"npc","creation":"free","sheet":{"points":90000}}`)
	advance := tb.Must("gm", "clock.advance", `{"seconds":20000}`)
	tb.Finish()
	last := tb.State.Next - 2 // the advance ends behind its last check
	takeBack(tb, advance)
	a := explain(t, tb.Payloads, rules.Library{embers}, last)
	if c := a.Cause; a.N != last-1 || c.Type != "clock.advance" || c.Command != advance || c.N != numberOf(t, tb, "clock.advancing") || !a.Proof.TakenBack {
		t.Errorf("%s", a.Text())
	}
}

// Whether something is taken back is the same in an audit as in the views,
// whatever was corrected, and however often corrections were.
func TestAuditCorrected(t *testing.T) {
	book, seen := rules.NewBook(rpgamix.New()), map[bool]int{}
	each := func(rt *rapid.T, tb *rulestest.Table) {
		tb.Correct = correct
		for range 4 {
			var can []string
			for _, r := range tb.Records {
				if book.Revocable(r.Cmd.Type) {
					can = append(can, r.Cmd.ID)
				}
			}
			if len(can) == 0 {
				return
			}
			command := can[len(can)-1] // a correction, once there is one
			if rapid.Bool().Draw(rt, "any") {
				command = rapid.SampledFrom(can).Draw(rt, "corrected")
			}
			_, _ = tb.Do(tb.Command("gm", "correction.make", fmt.Sprintf(`{"command":%q,"reason":"a mistake"}`, command)))
		}
		views := projections.New(tb.Records[0].Campaign)
		for _, r := range tb.Records {
			if err := views.Apply(r); err != nil {
				rt.Fatal(err)
			}
		}
		rolls := views.Rolls(0, len(tb.Records), nil).Items
		spoken := func(r projections.RollEntry) bool { // a correction says something of it
			return slices.ContainsFunc(views.Corrections(), func(c projections.Correction) bool {
				all := slices.Concat(c.Undone, c.Again, []events.Span{c.Records})
				return slices.Contains(c.Questioned, r.N) || slices.ContainsFunc(all, func(s events.Span) bool { return s.First <= r.N && r.N <= s.Last })
			})
		}
		rolls = slices.DeleteFunc(rolls, func(r projections.RollEntry) bool { return !spoken(r) })
		for i := 0; i < len(rolls); i += 1 + len(rolls)/8 {
			a := explain(t, tb.Payloads, rules.Library{book}, rolls[i].N)
			if back := rolls[i].CorrectedBy != "" || rolls[i].UndoneBy != ""; a.Proof.TakenBack != back {
				rt.Fatalf("record %d: by the views taken back: %v; %s", rolls[i].N, back, a.Text())
			}
			if len(rolls[i].QuestionedBy) > 0 && !slices.ContainsFunc(a.Later, func(e replay.AuditEffect) bool { return e.Type == "correction.made" }) {
				rt.Fatalf("record %d is put into question: %s", rolls[i].N, a.Text())
			}
			seen[a.Proof.TakenBack]++
		}
	}
	for range 50 { // until it has come to both
		if rulestest.Games(t, book, "../rules", each); seen[true] > 0 && seen[false] > 0 {
			return
		}
	}
	t.Errorf("taken back and not: %v", seen)
}

// In a brawl every blow is explained by itself, and each number by what the one
// has whose it is: the weak arm of who struck, the shield of who was struck.
func TestAuditOfABrawl(t *testing.T) {
	book := rules.NewBook(fudge.New())
	tb := rulestest.NewTable(t, book, "")
	tb.Must("gm", "session.open", `{"title":"one","kind":"table"}`)
	person := func(name, kind, sheet string) string {
		return tb.Must("gm", "character.create", fmt.Sprintf(`{"name":%q,"kind":%q,"creation":"free","sheet":%s}`, name, kind, sheet))
	}
	tucker := person("Tucker", "npc", `{"traits":{"Fencing":"Great"},"armour":{"kind":"light","shield":true},"weapons":{"rapier":{"size":"average","sharp":true}}}`)
	molly := person("Molly", "npc", `{"traits":{"Cutlass":"Fair"},"strength":"Terrible","weapons":{"cutlass":{"size":"average"}}}`)
	annie := person("Annie", "npc", `{"traits":{"Cutlass":"Good"},"strength":"Poor","weapons":{"cutlass":{"size":"average","sharp":true}}}`)
	tb.Must("gm", "fudge.brawl", fmt.Sprintf(`{"lone":{"character":%q,"trait":"Fencing","weapon":"rapier"},
		"foes":[{"character":%q,"trait":"Cutlass","weapon":"cutlass"},{"character":%q,"trait":"Cutlass","weapon":"cutlass"}]}`, tucker, molly, annie), 3, 4, 3, 4, 5, 6) // Good; Fair; Good+3
	tb.Finish()
	a := explain(t, tb.Payloads, rules.Library{book}, numberOf(t, tb, "roll.made"))
	if want := "Tucker rolled 3 + 4, worth +0, on Good: Good: wins against Fair by 1, damage 2; loses against Superb+1 by 3, damage 1."; a.Sentence != want {
		t.Errorf("%s\nwant %s", a.Sentence, want)
	}
	sheets := map[string]int64{}
	for _, r := range tb.Records {
		if r.Type == "character.created" {
			sheets[r.Cmd.ID] = r.N
		}
	}
	for label, want := range map[string]struct {
		value int
		rule  string
		from  int64
	}{
		"Tucker on Molly: relative degree": {1, "FUDGE-42", a.N}, "Tucker on Molly: sharp weapon": {1, "FUDGE-45", sheets[tucker]},
		"Annie on Tucker: relative degree": {3, "FUDGE-42", a.N}, "Annie on Tucker: sharp weapon": {1, "FUDGE-45", sheets[annie]},
		"Annie on Tucker: Poor Strength": {-1, "FUDGE-46", sheets[annie]}, "Annie on Tucker: armour": {-1, "FUDGE-43", sheets[tucker]},
		"Annie on Tucker: good shield": {-1, "FUDGE-44", sheets[tucker]},
	} {
		i := slices.IndexFunc(a.Throws[0].Damage, func(m replay.AuditModifier) bool { return m.Label == label })
		if i < 0 {
			t.Errorf("there is no %q in %s", label, a.Text())
			continue
		}
		if m := a.Throws[0].Damage[i]; m.Value != want.value || m.Rule != want.rule || len(m.From) != 1 || m.From[0].N != want.from {
			t.Errorf("%+v, want %+v", m, want)
		}
	}
	// Of one blow too, the weak arm is that of who struck.
	tb.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"trait":"Cutlass","weapon":"cutlass","defence":{"trait":"Fencing"}}`, annie, molly), 6, 6, 3, 4)
	a = explain(t, tb.Payloads, rules.Library{book}, tb.Records[len(tb.Records)-1].N)
	i := slices.IndexFunc(a.Throws[0].Damage, func(m replay.AuditModifier) bool { return m.Label == "Poor Strength" })
	if i < 0 || a.Throws[0].Damage[i].From[0].N != sheets[annie] {
		t.Errorf("%s", a.Text())
	}
}
