package api

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"tallystick/events/journal"
	"tallystick/projections"
	"tallystick/replay"
	"tallystick/rules"
	"tallystick/rules/rulestest"
)

// counting counts what changes a journal.
type counting struct {
	journal.Journal
	mu      sync.Mutex
	changes []string
}

func (c *counting) note(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes = append(c.changes, what)
}

func (c *counting) Append(ctx context.Context, e journal.Entry) (uint64, error) {
	c.note("append " + e.ID)
	return c.Journal.Append(ctx, e)
}

func (c *counting) Publish(ctx context.Context, subject string, data []byte) error {
	c.note("publish " + subject)
	return c.Journal.Publish(ctx, subject, data)
}

func (c *counting) Bucket(ctx context.Context, name string) (journal.Bucket, error) {
	b, err := c.Journal.Bucket(ctx, name)
	return countingBucket{b, c, name}, err
}

type countingBucket struct {
	journal.Bucket
	c    *counting
	name string
}

func (b countingBucket) Create(ctx context.Context, key string, v []byte) (uint64, error) {
	b.c.note("create " + b.name + " " + key)
	return b.Bucket.Create(ctx, key, v)
}

func (b countingBucket) Update(ctx context.Context, key string, v []byte, rev uint64) (uint64, error) {
	b.c.note("update " + b.name + " " + key)
	return b.Bucket.Update(ctx, key, v, rev)
}

func (b countingBucket) Put(ctx context.Context, key string, v []byte) (uint64, error) {
	b.c.note("put " + b.name + " " + key)
	return b.Bucket.Put(ctx, key, v)
}

func (b countingBucket) Delete(ctx context.Context, key string) error {
	b.c.note("delete " + b.name + " " + key)
	return b.Bucket.Delete(ctx, key)
}

// lanes are how far every lane of the open session is used.
func (g *game) lanes() string {
	g.t.Helper()
	var out string
	err := g.ledger.State(g.t.Context(), g.id, func(c *rules.Campaign) error {
		for _, l := range c.Session.Lanes {
			out += fmt.Sprintf("%s %d %d\n", l.Name, l.Used, l.Known)
		}
		return nil
	})
	if err != nil {
		g.t.Fatal(err)
	}
	return out
}

// Nothing that reads changes the last sequence, publishes anything or uses a
// seed (D13): every route that is read, in every form, and the what-if.
func TestReadingChangesNothing(t *testing.T) {
	c := &counting{Journal: journal.NewMemory(2)}
	g := play(t, start(t, c))
	g.command(g.anna, `{"type":"check","data":{"character":"`+g.bob+`","difficulty":7}}`)
	sealed := g.command(g.gm, `{"type":"roll","data":{"expression":"1d20"},"visibility":"private"}`)
	dispute := g.command(g.sven, fmt.Sprintf(`{"type":"dispute.open","data":{"roll":%d,"question":"really?"}}`, g.size()-2)).Command
	last, err := c.Last(t.Context(), g.id)
	if err != nil {
		t.Fatal(err)
	}
	before, lanes, changes := g.stored(), g.lanes(), len(c.changes)

	n := fmt.Sprint(sealed.First - 1)
	fill := strings.NewReplacer("{campaign}", g.id, "{character}", g.bob, "{session}", g.session, "{n}", n, "{dispute}", dispute,
		"{system}", "toy", "{slug}", "rejected", "{handle}", "anna", "{file}", "console.js")
	queries := map[string]string{"/v1/campaigns/{campaign}/proofs/inclusion": "?n=0", "/v1/campaigns/{campaign}/proofs/consistency": "?from=1"}
	read := 0
	for path, item := range g.server.api.OpenAPI().Paths {
		if item.Get == nil {
			continue
		}
		for _, accept := range []string{mediaJSON, mediaNDJSON, mediaText, mediaMarkdown, mediaHTML, mediaZip} {
			r := g.get(fill.Replace(path)+queries[path], g.gm, "Accept", accept)
			if r.StatusCode < 300 {
				read++
			}
		}
	}
	for range 2 {
		if err := g.hub.Reload(t.Context(), g.id); err != nil { // rebuild
			t.Fatal(err)
		}
	}
	for _, change := range []string{`{}`, `{"dice":[6,6],"horizon":1000}`, `{"command":{"type":"roll","data":{"expression":"100d100"}}}`, `{"modifiers":[{"label":"x","value":3}]}`} {
		for _, at := range []string{n, fmt.Sprint(sealed.First)} {
			r := g.ask("POST", g.path("/rolls/"+at+"/what-if"), g.sven, change)
			if r.StatusCode == 200 {
				read++
				if !bytes.HasPrefix(r.body, []byte(`{"what_if":true`)) {
					t.Errorf("a what-if is not marked: %s", r.body)
				}
			}
		}
	}
	if read < 80 {
		t.Errorf("only %d answers were read", read)
	}
	after, err := c.Last(t.Context(), g.id)
	if err != nil || after != last || !slices.EqualFunc(before, g.stored(), bytes.Equal) {
		t.Errorf("the last sequence was %d, and is %d (%v)", last, after, err)
	}
	if now := g.lanes(); now != lanes {
		t.Errorf("the lanes were\n%sand are\n%s", lanes, now)
	}
	if len(c.changes) != changes {
		t.Errorf("reading did %v", c.changes[changes:])
	}
}

// An audit in its three forms, and the words of a session in theirs.
func TestAuditAndTranscript(t *testing.T) {
	g := newGame(t)
	roll := g.size() - 1
	path := g.path(fmt.Sprintf("/rolls/%d/audit", roll))
	a := read[replay.Audit](t, g.get(path, g.anna), 200)
	text := string(g.get(path, g.anna, "Accept", mediaText).body)
	if a.N != roll || a.Sentence == "" || !strings.HasPrefix(text, a.Sentence+"\n") || a.Seed == nil || !a.Seed.Leads || !a.Throws[0].Dice[0].Agrees {
		t.Errorf("%+v\n%s", a, text)
	}
	if md := g.get(path, g.anna, "Accept", mediaMarkdown); !strings.HasPrefix(string(md.body), "**") || !strings.HasPrefix(md.Header.Get("Content-Type"), mediaMarkdown) {
		t.Errorf("%s", md.body)
	}
	problem(t, g.get(g.path("/rolls/0/audit"), g.anna), "not-found", "")
	problem(t, g.get(g.path("/rolls/9999/audit"), g.anna), "not-found", "")
	problem(t, g.ask("POST", g.path(fmt.Sprintf("/rolls/%d/what-if", roll)), g.anna, `{"edition":7}`), "malformed", "body.edition")
	problem(t, g.ask("POST", g.path(fmt.Sprintf("/rolls/%d/what-if", roll)), g.anna, `{"horizon":1001}`), "malformed", "body.horizon")
	problem(t, g.ask("POST", g.path(fmt.Sprintf("/rolls/%d/what-if", roll)), g.anna, `{"dices":[1]}`), "malformed", "body.dices")

	hostile := `<script>alert(1)</script> *a* [b](c)`
	g.command(g.anna, `{"type":"note.add","data":{"text":"`+hostile+`"}}`)
	for media, want := range map[string]string{
		mediaText: hostile, mediaHTML: "&lt;script&gt;alert(1)&lt;/script&gt;", mediaMarkdown: `&lt;script&gt;alert(1)&lt;/script&gt; \*a\* \[b\](c)`,
	} {
		r := g.get(g.path("/sessions/"+g.session+"/transcript"), g.sven, "Accept", media)
		if r.StatusCode != 200 || !strings.HasPrefix(r.Header.Get("Content-Type"), media) || !strings.Contains(string(r.body), want) || !strings.Contains(string(r.body), "luck") {
			t.Errorf("%s: %d %s", media, r.StatusCode, r.body)
		}
	}
	problem(t, g.get(g.path("/sessions/"+g.id+"/transcript"), g.sven), "not-found", "")
}

// A session's steps, as a page of JSON and all of them as lines; the state
// after a step is the view at its last record.
func TestSessionSteps(t *testing.T) {
	g := newGame(t)
	g.command(g.gm, `{"type":"wound.inflict","data":{"character":"`+g.bob+`","points":2,"cause":"a fall"}}`)
	path := g.path("/sessions/" + g.session + "/replay")
	lines := bytes.Split(bytes.TrimSpace(g.get(path, g.anna, "Accept", mediaNDJSON).body), []byte("\n"))
	var verdict SessionReplay
	if err := json.Unmarshal(lines[len(lines)-1], &verdict); err != nil || !verdict.Identical {
		t.Fatalf("%v: %s", err, lines[len(lines)-1])
	}
	first := read[SessionReplay](t, g.get(path+"?steps=true&limit=2", g.anna), 200)
	if len(first.Steps) != 2 || first.Next == nil || len(lines)-1 <= 2 {
		t.Fatalf("%d steps, next %v, %d lines", len(first.Steps), first.Next, len(lines))
	}
	rest := read[SessionReplay](t, g.get(fmt.Sprintf("%s?steps=true&from=%d", path, *first.Next), g.anna), 200)
	steps := append(first.Steps, rest.Steps...)
	if len(steps) != len(lines)-1 {
		t.Errorf("%d steps on pages, %d as lines", len(steps), len(lines)-1)
	}
	for _, s := range steps {
		list := read[projections.Page[projections.Character]](t, g.get(g.path(fmt.Sprintf("/characters?at=%d", s.Last)), g.anna), 200)
		a, _ := json.Marshal(s.Characters, json.Deterministic(true))
		b, _ := json.Marshal(list.Items, json.Deterministic(true))
		if !bytes.Equal(a, b) {
			t.Errorf("after record %d:\n%s\n%s", s.Last, a, b)
		}
	}
}

// Every view at a record and at a game time; the past is looked at and stays
// (D15).
func TestTimeTravel(t *testing.T) {
	g := newGame(t)
	there := g.size() - 1
	g.command(g.gm, `{"type":"clock.advance","data":{"seconds":100}}`)
	g.command(g.gm, `{"type":"character.amend","data":{"character":"`+g.bob+`","reason":"older","sheet":{"strength":9}}}`)
	views := []string{"", "/characters", "/characters/" + g.bob, "/characters/" + g.bob + "/timeline", "/sessions", "/sessions/" + g.session, "/rolls", "/participants"}
	now := g.size() - 1
	for _, v := range views {
		past := g.get(g.path(fmt.Sprintf("%s?at=%d", v, there)), g.anna)
		clock := g.get(g.path(v+"?at_clock=99"), g.anna)
		if past.StatusCode != 200 || clock.StatusCode != 200 || !bytes.Equal(past.body, clock.body) {
			t.Errorf("%s: at the record %d %s\nat the time %d %s", v, past.StatusCode, past.body, clock.StatusCode, clock.body)
		}
		latest, at := g.get(g.path(v), g.anna), g.get(g.path(fmt.Sprintf("%s?at=%d", v, now)), g.anna)
		if late := g.get(g.path(v+"?at_clock=100"), g.anna); !bytes.Equal(latest.body, at.body) || !bytes.Equal(latest.body, late.body) {
			t.Errorf("%s: now %s\nat the last record %s\nat its time %s", v, latest.body, at.body, late.body)
		}
		problem(t, g.get(g.path(v+"?at=99999"), g.anna), "malformed", "query.at")
		problem(t, g.get(g.path(v+"?at=1&at_clock=1"), g.anna), "malformed", "query.at_clock")
	}
	if bytes.Equal(g.get(g.path("/characters/"+g.bob), g.anna).body, g.get(g.path("/characters/"+g.bob+"?at_clock=5"), g.anna).body) {
		t.Error("the past is as the present")
	}
}

// Nobody deletes, edits or hides a roll, and a second one stands beside the
// first (D08).
func TestRollsStay(t *testing.T) {
	g := newGame(t)
	roll := g.size() - 1
	before := g.get(g.path(fmt.Sprintf("/rolls/%d", roll)), g.sven)
	for _, token := range []string{g.anna, g.gm, adminToken} {
		for _, method := range []string{http.MethodDelete, http.MethodPut, http.MethodPatch} {
			for _, path := range []string{fmt.Sprintf("/rolls/%d", roll), "/rolls", "/events", "/ledger"} {
				if r := g.ask(method, g.path(path), token, `{"visibility":"private","purpose":"another"}`); r.StatusCode != 405 {
					t.Errorf("%s %s: %d", method, path, r.StatusCode)
				}
			}
		}
	}
	repeated := key()
	for range 2 { // the same post again is the same roll
		g.ask("POST", g.path("/commands"), g.anna, `{"type":"roll","data":{"expression":"2d6","purpose":"luck"}}`, "Idempotency-Key", repeated)
	}
	if r := g.ask("POST", g.path("/commands"), g.anna, `{"type":"roll","data":{"expression":"2d6","purpose":"edited"}}`, "Idempotency-Key", repeated); r.StatusCode != 409 {
		t.Errorf("an edited post rolls again: %d %s", r.StatusCode, r.body)
	}
	for _, hide := range []string{`{"roll":%d,"shown_to":"private"}`, `{"roll":%d,"shown_to":"blind"}`, `{"roll":%d,"shown_to":["gm"]}`} {
		if r := g.ask("POST", g.path("/commands"), g.anna, `{"type":"roll.widen","data":`+fmt.Sprintf(hide, roll)+`}`, "Idempotency-Key", key()); r.StatusCode != 422 {
			t.Errorf("a player hides a roll: %d %s", r.StatusCode, r.body)
		}
	}
	rolls := read[projections.Page[projections.Roll]](t, g.get(g.path("/rolls"), g.sven), 200)
	if len(rolls.Items) != 2 || rolls.Items[0].N != roll || !bytes.Equal(before.body, g.get(g.path(fmt.Sprintf("/rolls/%d", roll)), g.sven).body) {
		t.Errorf("got %d rolls, the first in record %d", len(rolls.Items), rolls.Items[0].N)
	}
}

// other starts a server with keys of its own.
func other(t testing.TB) *node {
	t.Helper()
	kept := testKeys
	t.Cleanup(func() { testKeys = kept })
	testKeys.Signing = bytes.Repeat([]byte{9}, 32)
	testKeys.Master = bytes.Repeat([]byte{8}, 32)
	return start(t, journal.NewMemory(2))
}

func (n *node) send(kind string, body []byte) reply {
	n.t.Helper()
	return n.ask("POST", importPath, adminToken, string(body), "Content-Type", kind)
}

// An export imports into an empty server and exports again to the same bytes,
// names included (D19). It is read-only there. What does not verify, or is
// another history, is refused; what goes on is appended.
func TestImport(t *testing.T) {
	g := newGame(t)
	names := []string{"Éloïse d'Aubigné", "Éloïse", "さくら 桜", "مريم", "👩🏽‍🚀 Ada", "a.b.*.>", "../x", "<b>", strings.Repeat("長", 200)}
	for _, name := range names {
		text, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		r := g.ask("POST", g.path("/commands"), g.gm, `{"type":"character.create","data":{"name":`+string(text)+`,"kind":"npc","creation":"free","sheet":{"strength":3}}}`, "Idempotency-Key", key())
		if r.StatusCode != 200 {
			t.Fatalf("%q: %s", name, r.body)
		}
	}
	earlier := g.get(g.path("/ledger"), g.gm, "Accept", mediaZip).body
	g.command(g.anna, `{"type":"roll","data":{"expression":"3d6"}}`)
	bundle, records := g.get(g.path("/ledger"), g.gm, "Accept", mediaZip).body, g.get(g.path("/ledger"), g.gm).body

	n := other(t)
	if p := problem(t, n.send(mediaNDJSON, records), "rejected", ""); p.Code != "no_checkpoint" {
		t.Errorf("records that nobody signed: %+v", p)
	}
	first := read[Import](t, n.send(mediaZip, earlier), 201)
	if first.Campaign != g.id || !first.ReadOnly || first.GM == nil || first.Appended != first.Records {
		t.Fatalf("%+v", first)
	}
	back := n.get(g.path("/ledger"), first.GM.Token, "Accept", mediaZip)
	if !bytes.Equal(back.body, earlier) {
		t.Error("the export is another")
	}
	more := read[Import](t, n.send(mediaZip, bundle), 200)
	if more.Records != g.size() || more.Appended != 1 || more.GM != nil {
		t.Errorf("%+v", more)
	}
	again := read[Import](t, n.send(mediaZip, bundle), 200)
	if again.Appended != 0 || !bytes.Equal(n.get(g.path("/ledger"), adminToken, "Accept", mediaZip).body, bundle) || !bytes.Equal(n.get(g.path("/ledger"), adminToken).body, records) {
		t.Errorf("%+v", again)
	}
	for _, path := range []string{"", "/characters", "/rolls", "/sessions", "/checkpoint", "/proofs/inclusion?n=3", "/events", fmt.Sprintf("/rolls/%d/audit", g.size()-1)} {
		mine, theirs := g.get(g.path(path), adminToken), n.get(g.path(path), adminToken)
		if theirs.StatusCode != 200 || sha256.Sum256(mine.body) != sha256.Sum256(theirs.body) {
			t.Errorf("%s: %d %s", path, theirs.StatusCode, theirs.body)
		}
	}
	problem(t, n.ask("POST", g.path("/commands"), first.GM.Token, `{"type":"note.add","data":{"text":"x"}}`, "Idempotency-Key", key()), "imported", "")
	problem(t, n.get(g.path("/checkpoint?size=3"), adminToken), "imported", "") // none was signed that came with it
	if c := read[projections.Campaign](t, n.get(g.path(""), adminToken), 200); c.Counts.Records != g.size() {
		t.Errorf("a refused command left %d records, not %d", c.Counts.Records, g.size())
	}

	size := len(n.get(g.path("/ledger"), adminToken).body)
	for name, c := range map[string]struct {
		kind string
		body []byte
		slug string
	}{
		"a roll changed": {mediaNDJSON, bytes.Replace(records, []byte(`"total":`), []byte(`"total":1`), 1), "rejected"},
		"a line lost":    {mediaNDJSON, records[:bytes.LastIndexByte(records[:len(records)-1], '\n')+1], "rejected"},
		"no zip":         {mediaZip, records, "malformed"},
		"an empty one":   {mediaNDJSON, []byte("\n"), "rejected"},
		"another kind":   {"text/csv", records, "unsupported-media-type"},
		"half a record":  {mediaNDJSON, records[:len(records)-9], "rejected"},
		"another checkpoint": {mediaZip, repacked(t, bundle, func(name string, text []byte) []byte {
			return bytes.Replace(text, []byte("\n— "), []byte("\n— x"), 1)
		}), "rejected"},
		"without a ledger": {mediaZip, repacked(t, bundle, func(name string, text []byte) []byte {
			return map[bool][]byte{true: nil, false: text}[name == bundleEvents]
		}), "malformed"},
	} {
		r := n.send(c.kind, c.body)
		if problem(t, r, c.slug, ""); len(n.get(g.path("/ledger"), adminToken).body) != size {
			t.Errorf("%s was stored", name)
		}
	}
	if r := n.ask("POST", importPath, first.GM.Token, string(records), "Content-Type", mediaNDJSON); r.StatusCode != 403 {
		t.Errorf("a game master imports: %d", r.StatusCode)
	}
}

// A campaign under this server's own key must come with a checkpoint: nothing is
// signed that was not signed before. Then it goes on.
func TestImportOwn(t *testing.T) {
	g := newGame(t)
	bundle, records := g.get(g.path("/ledger"), g.gm, "Accept", mediaZip).body, g.get(g.path("/ledger"), g.gm).body
	n := start(t, journal.NewMemory(2))
	p := problem(t, n.send(mediaNDJSON, records), "rejected", "")
	if p.Code != "no_checkpoint" {
		t.Errorf("%+v", p)
	}
	done := read[Import](t, n.send(mediaZip, bundle), 201)
	if done.ReadOnly {
		t.Error("it is read-only under its own key")
	}
	r := n.ask("POST", g.path("/commands"), done.GM.Token, `{"type":"roll","data":{"expression":"1d6"}}`, "Idempotency-Key", key())
	if r.StatusCode != 200 {
		t.Errorf("it does not go on: %s", r.body)
	}
	g.command(g.gm, `{"type":"note.add","data":{"text":"another way on"}}`)
	fork := g.get(g.path("/ledger"), g.gm, "Accept", mediaZip).body
	if p := problem(t, n.send(mediaZip, fork), "rejected", ""); p.Code != "another_history" && p.Code != "import_is_behind" {
		t.Errorf("%+v", p)
	}
}

// repacked changes the files of a zip; nil leaves one out.
func repacked(t testing.TB, bundle []byte, change func(name string, text []byte) []byte) []byte {
	t.Helper()
	in, err := zip.NewReader(bytes.NewReader(bundle), int64(len(bundle)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, f := range in.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if text = change(f.Name, text); text == nil {
			continue
		}
		w, err := z.Create(f.Name)
		if err == nil {
			_, err = w.Write(text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A server with two editions of a system on board opens new campaigns under the
// newer one and keeps every campaign at the edition it opened with.
func TestTwoEditions(t *testing.T) {
	first, second := rules.NewBook(rulestest.Ember()), rules.NewBook(rulestest.EmberSecond())
	j := journal.NewMemory(2)
	n := startWith(t, j, rules.Library{first})
	g := &game{node: n}
	created := read[NewCampaign](t, n.ask("POST", "/v1/campaigns", adminToken, `{"name":"Ash","system":"ember"}`), 201)
	g.id, g.gm = created.Campaign, created.GM.Token
	g.session = g.command(g.gm, `{"type":"session.open","data":{"title":"One","kind":"downtime"}}`).Command
	g.bob = g.command(g.gm, `{"type":"character.create","data":{"name":"Fire","kind":"npc","creation":"free","sheet":{"points":90}}}`).Command
	g.command(g.gm, `{"type":"clock.advance","data":{"seconds":300}}`)
	old := read[projections.Character](t, n.get(g.path("/characters/"+g.bob), g.gm), 200)
	n.close()

	n = startWith(t, j, rules.Library{first, second})
	g.node = n
	if c := read[projections.Character](t, n.get(g.path("/characters/"+g.bob), g.gm), 200); c.Health != old.Health {
		t.Errorf("it stands at %+v, and stood at %+v", c.Health, old.Health)
	}
	if r := read[SessionReplay](t, n.get(g.path("/sessions/"+g.session+"/replay"), g.gm), 200); !r.Identical {
		t.Errorf("%+v", r)
	}
	g.command(g.gm, `{"type":"clock.advance","data":{"seconds":300}}`)
	if c := read[projections.Campaign](t, n.get(g.path(""), g.gm), 200); c.Edition != 1 {
		t.Errorf("the campaign went over to edition %d", c.Edition)
	}
	newer := read[NewCampaign](t, n.ask("POST", "/v1/campaigns", adminToken, `{"name":"Ash","system":"ember"}`), 201)
	if c := read[projections.Campaign](t, n.get("/v1/campaigns/"+newer.Campaign, newer.GM.Token), 200); c.Edition != 2 {
		t.Errorf("a new campaign has edition %d", c.Edition)
	}
	w := read[replay.WhatIf](t, n.ask("POST", g.path(fmt.Sprintf("/rolls/%d/what-if", g.size()-1)), g.gm, `{"edition":2,"horizon":0}`), 200)
	if w.Edition != 2 || w.PartAt == nil || len(w.Characters) != 1 {
		t.Errorf("under the second edition: part at %v, %+v", w.PartAt, w.Characters)
	}
	n.close()

	// Without its edition the campaign is read-only, and others go on.
	n = startWith(t, j, rules.Library{second})
	g.node = n
	r := n.ask("POST", g.path("/commands"), g.gm, `{"type":"note.add","data":{"text":"x"}}`, "Idempotency-Key", key())
	if r.StatusCode != 503 {
		t.Errorf("without its rules: %d %s", r.StatusCode, r.body)
	}
	verdict := read[SessionReplay](t, n.get(g.path("/sessions/"+g.session+"/replay"), g.gm), 200)
	if verdict.Identical || verdict.Divergence != nil || verdict.Unusable == nil || !strings.Contains(verdict.Unusable.Reason, "edition 1") {
		t.Errorf("neither yes nor no: %+v", verdict)
	}
	if r := n.ask("POST", "/v1/campaigns/"+newer.Campaign+"/commands", newer.GM.Token, `{"type":"note.add","data":{"text":"x"}}`, "Idempotency-Key", key()); r.StatusCode != 200 {
		t.Errorf("the other campaign: %d %s", r.StatusCode, r.body)
	}
}
