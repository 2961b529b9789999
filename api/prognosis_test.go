package api

import (
	"testing"

	"tallystick/events/journal"
	"tallystick/replay"
	"tallystick/rules/systems"
)

// A casualty with 4 of 25 points loses one every round, and a treated one has
// the odds of the table; asking stores nothing and uses no seed.
func TestPrognosis(t *testing.T) {
	n := startWith(t, journal.NewMemory(2), systems.Library())
	g := &game{node: n}
	created := read[NewCampaign](t, n.ask("POST", "/v1/campaigns", adminToken, `{"name":"Ash","system":"rpgamix"}`), 201)
	g.id, g.gm = created.Campaign, created.GM.Token
	bob := g.command(g.gm, `{"type":"character.create","data":{"name":"Bob","kind":"pc","creation":"free","sheet":{"stats":{"str":0,"con":0,"dex":0,"per":0,"int":0,"wits":0,"cha":0,"app":0},"skills":{}}}}`).Command
	path := g.path("/characters/" + bob + "/prognosis")
	if p := problem(t, g.get(path+"?treat=default", g.gm), "rejected", ""); p.Code != "unhurt" {
		t.Errorf("unhurt: %+v", p)
	}
	g.command(g.gm, `{"type":"session.open","data":{"title":"One","kind":"table"}}`)
	g.command(g.gm, `{"type":"wound.inflict","data":{"character":"`+bob+`","points":21,"cause":"a fall"}}`)
	size := g.size()

	both := read[replay.Outlook](t, g.get(path, g.gm), 200)
	if both.Name != "Bob" || both.Health.Points != 4 || *both.Untreated.Death.Mean != 12 || *both.Untreated.Death.Median != 12 {
		t.Errorf("untreated: %+v", both)
	}
	if p := both.Treated.Death.Probability; p <= 5603168.0/42981185 || p >= 28632278.0/42981185 {
		t.Errorf("4 points and treated: %v", p)
	}
	one := read[replay.Outlook](t, g.get(path+"?treat=none&horizon=30&points=10", g.gm), 200)
	if one.Treated != nil || len(one.Untreated.Curve) != 11 || one.Untreated.Curve[3].Dead != 0 || one.Untreated.Curve[4].Dead != 1 {
		t.Errorf("ten rounds: %+v", one.Untreated)
	}
	if g.size() != size {
		t.Errorf("%d records, %d before", g.size(), size)
	}
	problem(t, g.get(g.path("/characters/nobody/prognosis"), g.gm), "not-found", "")
	problem(t, g.get("/v1/campaigns/x/characters/nobody/prognosis", g.gm), "not-found", "")
	for _, query := range []string{"?treat=perhaps", "?horizon=0", "?horizon=31557600001", "?points=1001", "?wound=3"} {
		problem(t, g.get(path+query, g.gm), "malformed", "")
	}
}
