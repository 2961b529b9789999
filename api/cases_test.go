package api

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"tallystick/events"
	"tallystick/events/journal"
	"tallystick/projections"
	"tallystick/rules/systems"
)

const averageSheet = `{"stats":{"str":0,"con":0,"dex":0,"per":0,"int":0,"wits":0,"cha":0,"app":0},"skills":{}}`

// Two wounds at the same instant both count, and somebody who amends the sheet
// from a view of before restores nothing (D11).
func TestTwoWriters(t *testing.T) {
	rounds := 1000
	if testing.Short() {
		rounds = 100
	}
	n := startWith(t, journal.NewMemory(2), systems.Library())
	g := &game{node: n}
	created := read[NewCampaign](t, n.ask("POST", "/v1/campaigns", adminToken, `{"name":"Ash","system":"rpgamix"}`), 201)
	g.id, g.gm = created.Campaign, created.GM.Token
	g.command(g.gm, `{"type":"session.open","data":{"title":"One","kind":"table"}}`)
	for round := range rounds {
		id := g.command(g.gm, fmt.Sprintf(`{"type":"character.create","data":{"name":"Bob %d","kind":"npc","creation":"free","sheet":%s}}`, round, averageSheet)).Command
		bodies := []string{
			`{"type":"wound.inflict","data":{"character":"` + id + `","points":3,"cause":"a fall"}}`,
			`{"type":"wound.inflict","data":{"character":"` + id + `","points":4,"cause":"a stone"}}`,
			`{"type":"character.amend","data":{"character":"` + id + `","reason":"a slip of the pen","sheet":` + averageSheet + `}}`,
		}
		status := make([]int, len(bodies))
		var wg sync.WaitGroup
		for i, body := range bodies {
			wg.Go(func() {
				status[i] = n.ask("POST", g.path("/commands"), g.gm, body, "Idempotency-Key", key()).StatusCode
			})
		}
		wg.Wait()
		bob := read[projections.Character](t, n.get(g.path("/characters/"+id), g.gm), 200)
		line := read[projections.Timeline](t, n.get(g.path("/characters/"+id+"/timeline"), g.gm), 200)
		if bob.Health.Points != 18 || len(line.Wounds) != 2 {
			t.Fatalf("round %d: %d points and %d wounds after %v", round, bob.Health.Points, len(line.Wounds), status)
		}
	}
	// The order in the ledger is the one every reader sees.
	at := map[int64]string{}
	for _, stored := range g.stored() {
		rec, err := events.Parse(stored)
		if err != nil {
			t.Fatal(err)
		}
		if rec.Type == "wound.inflicted" {
			at[rec.N] = string(rec.Data)
		}
	}
	feed := read[projections.Page[events.Record]](t, n.get(g.path("/events?type=wound.inflicted&limit=1000"), g.gm), 200)
	last := int64(-1)
	for _, rec := range feed.Items {
		if rec.N <= last || at[rec.N] != string(rec.Data) {
			t.Fatalf("record %d behind %d", rec.N, last)
		}
		last = rec.N
	}
}

// Names come back byte for byte and are found again; what could pass for
// another name, or for an address, is refused by name (D19). The export counts
// the rolls that the ledger counts.
func TestNames(t *testing.T) {
	g := newGame(t)
	for _, name := range []string{"", "   ", "a\nb", "a\x00b", "\u202eabc", "e\u0301loi\u0308se", strings.Repeat("n", 201), strings.Repeat("n", 10_000)} {
		text, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		size := g.size()
		for _, body := range []string{
			`{"type":"character.create","data":{"name":` + string(text) + `,"kind":"npc","creation":"free","sheet":{"strength":3}}}`,
			`{"type":"session.open","data":{"title":` + string(text) + `,"kind":"table"}}`,
		} {
			if r := g.ask("POST", g.path("/commands"), g.gm, body, "Idempotency-Key", key()); r.StatusCode != 400 || g.size() != size {
				t.Errorf("%.20q: %d %s", name, r.StatusCode, r.body)
			}
		}
	}
	for _, name := range []string{"Éloïse d'Aubigné", "さくら", "مريم", "👩🏽‍🚀", "a.b.*.>", "../x", "<b>"} {
		text, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		id := g.command(g.gm, `{"type":"character.create","data":{"name":`+string(text)+`,"kind":"npc","creation":"free","sheet":{"strength":3}}}`).Command
		if c := read[projections.Character](t, g.get(g.path("/characters/"+id), g.gm), 200); c.Name != name {
			t.Errorf("%q came back as %q", name, c.Name)
		}
		g.command(g.gm, fmt.Sprintf(`{"type":"roll","data":{"expression":"1d6","character":%q}}`, id))
	}
	c := read[projections.Campaign](t, g.get(g.path(""), g.gm), 200)
	ledger := g.get(g.path("/ledger"), g.gm).body
	if n := bytes.Count(ledger, []byte(`"type":"roll.made"`)); n != c.Counts.Rolls+c.Counts.TypedIn || n != 8 {
		t.Errorf("the export has %d rolls, the ledger %d", n, c.Counts.Rolls)
	}
}
