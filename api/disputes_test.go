package api

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tallystick/events/journal"
	"tallystick/events/merkle"
	"tallystick/projections"
	"tallystick/replay"
	"tallystick/rules/systems"
)

// newTable is a campaign of RPGamix with a session and Bob, Con 0: 25 points.
// policy is JSON, "" for none.
func newTable(t *testing.T, policy string) *game {
	t.Helper()
	g := &game{node: startWith(t, journal.NewMemory(2), systems.Library())}
	body := `{"name":"Ash","system":"rpgamix"}`
	if policy != "" {
		body = `{"name":"Ash","system":"rpgamix","policy":` + policy + `}`
	}
	created := read[NewCampaign](t, g.ask("POST", "/v1/campaigns", adminToken, body), 201)
	g.id, g.gm = created.Campaign, created.GM.Token
	g.anna = read[NewToken](t, g.ask("POST", g.path("/participants"), g.gm, `{"handle":"anna","role":"player"}`), 201).Token
	g.sven = read[NewToken](t, g.ask("POST", g.path("/participants"), g.gm, `{"handle":"sven","role":"spectator"}`), 201).Token
	g.session = g.command(g.gm, `{"type":"session.open","data":{"title":"One","kind":"table"}}`).Command
	g.bob = g.command(g.gm, `{"type":"character.create","data":{"name":"Bob","kind":"npc","creation":"free","sheet":
		{"stats":{"str":0,"con":0,"dex":0,"per":0,"int":0,"wits":0,"cha":0,"app":0},"skills":{}}}}`).Command
	return g
}

func (g *game) wound(points int, faces string) CommandAnswer {
	g.t.Helper()
	dice := ""
	if faces != "" {
		dice = `,"dice":{"faces":[` + faces + `]}`
	}
	return g.command(g.gm, fmt.Sprintf(`{"type":"wound.inflict","data":{"character":%q,"points":%d,"cause":"a fall"}%s}`, g.bob, points, dice))
}

func (g *game) advance(seconds int) CommandAnswer {
	g.t.Helper()
	return g.command(g.gm, fmt.Sprintf(`{"type":"clock.advance","data":{"seconds":%d}}`, seconds))
}

func (g *game) correct(command string) CommandAnswer {
	g.t.Helper()
	return g.command(g.gm, fmt.Sprintf(`{"type":"correction.make","data":{"command":%q,"reason":"a mistake"}}`, command))
}

func (g *game) refused(token, body, code string) {
	g.t.Helper()
	p := problem(g.t, g.ask("POST", g.path("/commands"), token, body, "Idempotency-Key", key()), "rejected", "")
	if p.Code != code {
		g.t.Errorf("%s: refused as %s, want %s", body, p.Code, code)
	}
}

func (g *game) character(id string) projections.Character {
	g.t.Helper()
	return read[projections.Character](g.t, g.get(g.path("/characters/"+id), g.anna), 200)
}

func (g *game) clock() int64 {
	g.t.Helper()
	return read[projections.Campaign](g.t, g.get(g.path(""), g.gm), 200).Clock
}

func (g *game) corrections() []projections.Correction {
	g.t.Helper()
	return read[projections.Page[projections.Correction]](g.t, g.get(g.path("/corrections"), g.anna), 200).Items
}

// verified replays and verifies the whole ledger.
func (g *game) verified() {
	g.t.Helper()
	again := replay.New(systems.Library())
	var export strings.Builder
	err := g.journal.Read(g.t.Context(), g.id, 0, func(c journal.Commit) error {
		export.Write(c.Payload)
		export.WriteByte('\n')
		return again.Commit(c.Payload)
	})
	if err != nil {
		g.t.Fatal(err)
	}
	report, err := replay.Verify(strings.NewReader(export.String()), replay.Evidence{Library: systems.Library()})
	if err != nil {
		g.t.Fatal(err)
	}
	if report.Rules != replay.RulesSame {
		g.t.Errorf("the rules are %s", report.Rules)
	}
}

// D17(a): at 8 points, a wound of 20, taken back: 8 again and Awful again, not
// 20 and not 28. The original stays, struck through.
func TestCorrectWound(t *testing.T) {
	g := newTable(t, "")
	g.wound(17, "10,10") // stays awake
	fatal := g.wound(20, "")
	if c := g.character(g.bob); c.Alive {
		t.Fatalf("a wound of 20 at 8 points leaves %+v", c.Health)
	}
	done := g.correct(fatal.Command)
	c := g.character(g.bob)
	if !c.Alive || c.Health.Points != 8 || c.Health.Rank != "awful" || len(c.Conditions) != 0 {
		t.Errorf("without the wound: %+v %v", c.Health, c.Conditions)
	}
	if c.NextTick == nil || c.NextTick.Due <= 0 {
		t.Errorf("nothing is due for somebody in Awful health: %+v", c.NextTick)
	}
	line := read[projections.Timeline](t, g.get(g.path("/characters/"+g.bob+"/timeline"), g.anna), 200)
	struck := 0
	for _, item := range line.Items {
		if item.CorrectedBy != "" {
			struck++
			if item.CorrectedBy != done.Command || item.N < fatal.First || item.N > fatal.Last {
				t.Errorf("struck through: %+v", item)
			}
		}
	}
	if struck != int(fatal.Last-fatal.First)+1 {
		t.Errorf("%d of the %d records of the wound are struck through", struck, fatal.Last-fatal.First+1)
	}
	if last := line.Items[len(line.Items)-1]; last.Type != "character.restored" || !strings.Contains(last.Cause, "a mistake") {
		t.Errorf("the restoration does not say why: %+v", last)
	}
	if w := line.Wounds[1]; w.Points != 20 || w.CorrectedBy != done.Command {
		t.Errorf("the wound that was taken back: %+v", w)
	}
	g.refused(g.gm, fmt.Sprintf(`{"type":"correction.make","data":{"command":%q,"reason":"again"}}`, fatal.Command), "corrected_already")

	// And back again.
	g.correct(done.Command)
	if c := g.character(g.bob); c.Alive || c.Health.Points != -12 {
		t.Errorf("with the wound again: %+v", c.Health)
	}
	list := g.corrections()
	if len(list) != 2 || list[0].TakenBackBy != list[1].ID || list[0].Command != fatal.Command {
		t.Errorf("corrections: %+v", list)
	}
	g.verified()
}

// D15: at 5 points one is lost a round. Looking back writes nothing; taking the
// advance back and advancing anew loses one, not two.
func TestRewindThenForward(t *testing.T) {
	g := newTable(t, "")
	g.wound(20, "") // Incapacitated: unconscious without a roll
	before := g.character(g.bob)
	size := g.size()
	first := g.advance(3)
	if p := g.character(g.bob).Health.Points; p != 4 {
		t.Fatalf("one round at 5 points leaves %d", p)
	}
	at := g.size()
	past := read[projections.Character](t, g.get(g.path(fmt.Sprintf("/characters/%s?at=%d", g.bob, size-1)), g.anna), 200)
	if past.Health != before.Health || g.size() != at {
		t.Errorf("the round before: %+v; %d records, were %d", past.Health, g.size(), at)
	}
	g.correct(first.Command)
	if c := g.character(g.bob); c.Health.Points != 5 || c.NextTick.Due != 3 || g.clock() != 0 {
		t.Errorf("without the advance: %+v, next %+v, clock %d", c.Health, c.NextTick, g.clock())
	}
	g.advance(3)
	if c := g.character(g.bob); c.Health.Points != 4 || g.clock() != 3 {
		t.Errorf("advanced anew: %+v, clock %d", c.Health, g.clock())
	}
	g.verified()
}

// D15: an advance that killed, and ended a condition, is taken back.
func TestCorrectAdvance(t *testing.T) {
	g := newTable(t, "")
	g.wound(24, "")
	advance := g.advance(3)
	if c := g.character(g.bob); c.Alive {
		t.Fatalf("one round at 1 point leaves %+v", c.Health)
	}
	g.correct(advance.Command)
	c := g.character(g.bob)
	if !c.Alive || c.Health.Points != 1 || len(c.Conditions) != 1 || c.Conditions[0].Name != "unconscious" || g.clock() != 0 {
		t.Errorf("without the advance: %+v %v", c.Health, c.Conditions)
	}
	g.verified()
}

// What followed only from a wound goes with it: ticks, a death. A roll made
// under its penalty stands, and is listed.
func TestCorrectConsequences(t *testing.T) {
	g := newTable(t, "")
	wound := g.wound(6, "10") // 19: fair, a penalty of 2
	check := g.command(g.gm, fmt.Sprintf(`{"type":"check","data":{"character":%q,"stat":"dex","difficulty":5}}`, g.bob))
	hours := g.advance(7 * 86_400)
	done := g.correct(wound.Command)
	c := g.corrections()[0]
	if c.ID != done.Command || c.Records.First != wound.First {
		t.Errorf("correction: %+v", c)
	}
	if !slices.Equal(c.Questioned, []int64{check.First}) {
		t.Errorf("questioned are %v, want the check %d", c.Questioned, check.First)
	}
	if bob := g.character(g.bob); bob.Health.Points != 25 || bob.NextTick != nil {
		t.Errorf("without the wound: %+v %+v", bob.Health, bob.NextTick)
	}
	if g.clock() != 7*86_400 {
		t.Errorf("the clock stands at %d: the advance was not taken back", g.clock())
	}
	line := read[projections.Timeline](t, g.get(g.path("/characters/"+g.bob+"/timeline"), g.anna), 200)
	ticks := 0
	for _, item := range line.Items {
		if item.Type == "tick.processed" {
			if ticks++; item.UndoneBy != done.Command {
				t.Errorf("a check of a wound that never was: %+v", item)
			}
		}
	}
	if ticks == 0 {
		t.Errorf("no check fell due in a week: %s", hours.Records)
	}
	roll := read[projections.Roll](t, g.get(g.path(fmt.Sprintf("/rolls/%d", check.First)), g.anna), 200)
	if !slices.Equal(roll.QuestionedBy, []string{done.Command}) || roll.CorrectedBy != "" {
		t.Errorf("the check: %+v", roll.Marks)
	}
	g.verified()
}

// A treatment that is taken back brings checks that never fell due: they have
// dice all the same, and always the same ones.
func TestCorrectTreatment(t *testing.T) {
	g := newTable(t, "")
	g.wound(21, "")
	treat := g.command(g.gm, fmt.Sprintf(`{"type":"wound.treat","data":{"character":%q}}`, g.bob))
	g.advance(60)
	if c := g.character(g.bob); !c.Alive {
		t.Fatalf("treated, and after a minute %+v", c.Health)
	}
	done := g.correct(treat.Command)
	if c := g.character(g.bob); c.Alive {
		t.Errorf("untreated for a minute at 4 points: %+v", c.Health)
	}
	g.correct(done.Command)
	if c := g.character(g.bob); !c.Alive || c.Health.Points < 4 {
		t.Errorf("treated again: %+v", c.Health)
	}
	g.verified()
}

// Two corrections add up, in whatever order they are made and taken back.
func TestCorrectTwo(t *testing.T) {
	g := newTable(t, "")
	points := func(want int) {
		t.Helper()
		if c := g.character(g.bob); c.Health.Points != want {
			t.Errorf("%d points, want %d", c.Health.Points, want)
		}
	}
	three, four := g.wound(3, ""), g.wound(4, "10")
	points(18)
	first := g.correct(four.Command)
	points(22)
	g.wound(1, "")
	points(21)
	second := g.correct(three.Command)
	points(24)
	g.correct(first.Command)
	points(20)
	g.correct(second.Command)
	points(17)
	g.verified()
}

// A treatment whose roll was made under a penalty that stands no longer is put
// into question, and it stays.
func TestQuestionedStands(t *testing.T) {
	g := newTable(t, "")
	medic := g.command(g.gm, `{"type":"character.create","data":{"name":"Medic","kind":"npc","creation":"free","sheet":
		{"stats":{"str":0,"con":0,"dex":0,"per":0,"int":0,"wits":0,"cha":0,"app":0},"skills":{}}}}`).Command
	hurt := g.command(g.gm, fmt.Sprintf(`{"type":"wound.inflict","data":{"character":%q,"points":6,"cause":"a fall"},"dice":{"faces":[10]}}`, medic))
	g.wound(21, "")
	treat := g.command(g.gm, fmt.Sprintf(`{"type":"wound.treat","data":{"character":%q,"by":%q,"stat":"int","difficulty":-9}}`, g.bob, medic))
	before := g.character(g.bob)
	g.correct(hurt.Command)
	if c := g.corrections()[0]; !slices.Equal(c.Questioned, []int64{treat.First}) {
		t.Errorf("questioned are %v, want %d", c.Questioned, treat.First)
	}
	after := g.character(g.bob)
	if after.Health != before.Health || after.NextTick == nil || *after.NextTick != *before.NextTick {
		t.Errorf("the casualty: %+v %+v, was %+v %+v", after.Health, after.NextTick, before.Health, before.NextTick)
	}
	if m := g.character(medic); m.Health.Points != 25 {
		t.Errorf("the medic: %+v", m.Health)
	}
	g.verified()
}

// D08: what cannot be taken back is named; a player takes nothing back; a roll
// that is taken back stays visible.
func TestCorrectionsRefused(t *testing.T) {
	g := newTable(t, "")
	roll := g.command(g.anna, `{"type":"roll","data":{"expression":"2d6","purpose":"luck"}}`)
	note := g.command(g.gm, `{"type":"note.add","data":{"text":"x"}}`)
	body := func(id string) string {
		return fmt.Sprintf(`{"type":"correction.make","data":{"command":%q,"reason":"a bad roll"}}`, id)
	}
	for _, id := range []string{g.session, note.Command, g.id} {
		g.refused(g.gm, body(id), "cannot_be_corrected")
	}
	g.refused(g.gm, body(key()), "unknown_command")
	problem(t, g.ask("POST", g.path("/commands"), g.anna, body(roll.Command), "Idempotency-Key", key()), "forbidden", "")
	before := read[projections.Roll](t, g.get(g.path(fmt.Sprintf("/rolls/%d", roll.First)), g.anna), 200)
	done := g.command(g.gm, body(roll.Command))
	after := read[projections.Roll](t, g.get(g.path(fmt.Sprintf("/rolls/%d", roll.First)), g.anna), 200)
	if string(after.Roll) != string(before.Roll) || after.CorrectedBy != done.Command {
		t.Errorf("the roll that was taken back: %+v", after)
	}
	g.verified()
}

// A dispute freezes its evidence, is opened by anybody at the table, and every
// ruling on it stays.
func TestDisputes(t *testing.T) {
	g := newTable(t, "")
	roll := g.command(g.anna, `{"type":"roll","data":{"expression":"2d6"}}`)
	ask := func(state string) []projections.Dispute {
		t.Helper()
		return read[projections.Page[projections.Dispute]](t, g.get(g.path("/disputes"+state), g.sven), 200).Items
	}
	size, id := g.size(), key()
	open := fmt.Sprintf(`{"type":"dispute.open","data":{"roll":%d,"question":"Was that not cocked?"}}`, roll.First)
	first := g.ask("POST", g.path("/commands"), g.sven, open, "Idempotency-Key", id)
	dispute := read[CommandAnswer](t, first, 200)
	g.command(g.gm, `{"type":"note.add","data":{"text":"x"}}`)
	if again := read[CommandAnswer](t, g.ask("POST", g.path("/commands"), g.sven, open, "Idempotency-Key", id), 200); !again.Repeated || again.First != dispute.First || again.Receipt != dispute.Receipt {
		t.Errorf("asked again: %+v", again)
	}
	g.refused(g.sven, open, "disputed_already")
	g.command(g.anna, open)
	problem(t, g.ask("POST", g.path("/commands"), g.sven, `{"type":"note.add","data":{"text":"x"}}`, "Idempotency-Key", key()), "forbidden", "")
	g.refused(g.anna, fmt.Sprintf(`{"type":"dispute.open","data":{"roll":%d,"question":"?"}}`, g.size()), "unknown_record")
	g.refused(g.anna, `{"type":"dispute.open","data":{"roll":1,"question":"?"}}`, "not_disputable")

	var tree merkle.Tree
	lines := g.stored()
	for _, line := range lines[:size] {
		tree.Append(line)
	}
	root, leaf := tree.Root(), merkle.LeafHash(lines[roll.First])
	d := ask("")[0]
	if d.Evidence.Size != size || d.Evidence.Root != hex.EncodeToString(root[:]) || d.Evidence.Leaf != hex.EncodeToString(leaf[:]) {
		t.Errorf("evidence: %+v", d.Evidence)
	}
	if d.ID != dispute.Command || d.By != "sven" || d.State != "open" || len(ask("?state=open")) != 2 || len(ask("?state=ruled")) != 0 {
		t.Errorf("disputes: %+v", ask(""))
	}

	rule := func(ruling, more string) string {
		return fmt.Sprintf(`{"type":"dispute.rule","data":{"dispute":%q,"ruling":%q,"reason":"I saw it."%s}}`, dispute.Command, ruling, more)
	}
	problem(t, g.ask("POST", g.path("/commands"), g.anna, rule("void", ""), "Idempotency-Key", key()), "forbidden", "")
	g.refused(g.gm, rule("overturned", `,"corrections":["`+roll.Command+`"]`), "unknown_correction")
	g.command(g.gm, rule("upheld", ""))
	done := g.correct(roll.Command)
	g.command(g.gm, rule("overturned", `,"corrections":["`+done.Command+`"]`))
	d = read[projections.Dispute](t, g.get(g.path("/disputes/"+dispute.Command), g.sven), 200)
	if d.State != "ruled" || len(d.Rulings) != 2 || d.Rulings[0].Ruling != "upheld" || d.Rulings[1].Corrections[0] != done.Command {
		t.Errorf("after two rulings: %+v", d)
	}
	if len(ask("?state=open")) != 1 || len(ask("?state=ruled")) != 1 {
		t.Errorf("disputes: %+v", ask(""))
	}
	size = g.size()
	for _, path := range []string{"/disputes", "/disputes/" + dispute.Command, "/corrections", "/overrides", fmt.Sprintf("/disputes?at=%d", size-1), "/sessions"} {
		if r := g.get(g.path(path), g.sven); r.StatusCode != 200 {
			t.Errorf("GET %s: %d %s", path, r.StatusCode, r.body)
		}
	}
	if g.size() != size {
		t.Errorf("reading wrote %d records", g.size()-size)
	}
	problem(t, g.ask("DELETE", g.path("/disputes/"+dispute.Command), g.gm, ""), "method-not-allowed", "")
	g.verified()
}

// The game master's own word is shown, shown later or not given, as the
// campaign was created; dice stay what they are.
func TestOverrides(t *testing.T) {
	ruling := func(n int64) string {
		return fmt.Sprintf(`{"type":"ruling.make","data":{"roll":%d,"outcome":"a hit after all","reason":"the rule of cool"}}`, n)
	}
	roll := func(g *game) int64 { return g.command(g.anna, `{"type":"roll","data":{"expression":"2d6"}}`).First }
	overrides := func(g *game) []projections.Override {
		return read[projections.Page[projections.Override]](t, g.get(g.path("/overrides"), g.anna), 200).Items
	}

	none := newTable(t, `{"overrides":"none"}`)
	none.refused(none.gm, ruling(roll(none)), "no_overrides")

	shown := newTable(t, "")
	n := roll(shown)
	shown.command(shown.gm, ruling(n))
	problem(t, shown.ask("POST", shown.path("/commands"), shown.anna, ruling(n), "Idempotency-Key", key()), "forbidden", "")
	if r := read[projections.Roll](t, shown.get(shown.path(fmt.Sprintf("/rolls/%d", n)), shown.anna), 200); len(r.Overrides) != 1 || r.Overrides[0].Outcome != "a hit after all" {
		t.Errorf("the roll: %+v", r.Marks)
	}
	shown.verified()

	later := newTable(t, `{"overrides":"shown_later"}`)
	n = roll(later)
	id := key()
	made := read[CommandAnswer](t, later.ask("POST", later.path("/commands"), later.gm, ruling(n), "Idempotency-Key", id), 200)
	again := read[CommandAnswer](t, later.ask("POST", later.path("/commands"), later.gm, ruling(n), "Idempotency-Key", id), 200)
	if !again.Repeated || again.First != made.First {
		t.Errorf("asked again: %+v", again)
	}
	for _, line := range later.stored() {
		if strings.Contains(string(line), "rule of cool") {
			t.Errorf("a sealed ruling stands in the ledger: %s", line)
		}
	}
	if o := overrides(later); len(o) != 1 || !o[0].Sealed || o[0].Roll != 0 {
		t.Errorf("sealed: %+v", o)
	}
	if c := read[projections.Campaign](t, later.get(later.path(""), later.anna), 200); c.Policy.Overrides != "shown_later" || c.Counts.Sealed != 1 {
		t.Errorf("campaign: %+v %+v", c.Policy, c.Counts)
	}
	problem(t, later.ask("POST", later.path("/commands"), later.anna, `{"type":"session.close"}`, "Idempotency-Key", key()), "forbidden", "")
	later.command(later.gm, `{"type":"session.close","data":{}}`)
	if o := overrides(later); len(o) != 1 || o[0].Sealed || o[0].Roll != n || o[0].Reason != "the rule of cool" || o[0].Shown == 0 {
		t.Errorf("after the session: %+v", o)
	}
	later.verified()
}
