package api

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tallystick/api/console"
	"tallystick/events"
	"tallystick/events/journal"
	"tallystick/events/merkle"
	"tallystick/projections"
	"tallystick/rules"
	"tallystick/rules/systems"
)

// Who may use which route: every route of the document against every kind of
// caller. A route without a row fails.
func TestAccess(t *testing.T) {
	g := newGame(t)
	other := play(t, g.node)
	const (
		no    = "unauthenticated"
		lost  = "not-found"
		never = "forbidden"
	)
	// The answers for: no token, a wrong one, a player, a spectator, the GM,
	// the GM of another campaign, the admin. "" is success.
	everybody := []string{"", "", "", "", "", "", ""}
	readers := []string{no, no, "", "", "", lost, ""}
	gms := []string{no, no, never, never, "", lost, never}
	keepers := []string{no, no, never, never, "", lost, ""}
	rows := map[string][]string{
		"GET /": everybody, "GET /docs": everybody, "GET /openapi.json": everybody, "GET /healthz": everybody,
		"GET /readyz": everybody, "GET /v1/systems": everybody, "GET /v1/systems/{system}": everybody, "GET /problems/{slug}": everybody,
		"GET /console/{file}": everybody, "GET /v1/me": {no, no, "", "", "", "", ""},
		"POST /v1/campaigns":                                            {no, no, never, never, never, never, ""},
		"GET /v1/campaigns":                                             {no, no, "", "", "", "", ""},
		"GET /v1/campaigns/{campaign}":                                  readers,
		"POST /v1/campaigns/{campaign}/commands":                        {no, no, "", never, "", lost, never},
		"GET /v1/campaigns/{campaign}/events":                           readers,
		"GET /v1/campaigns/{campaign}/characters":                       readers,
		"GET /v1/campaigns/{campaign}/characters/{character}":           readers,
		"GET /v1/campaigns/{campaign}/characters/{character}/timeline":  readers,
		"GET /v1/campaigns/{campaign}/characters/{character}/prognosis": readers,
		"GET /v1/campaigns/{campaign}/sessions":                         readers,
		"GET /v1/campaigns/{campaign}/sessions/{session}":               readers,
		"GET /v1/campaigns/{campaign}/sessions/{session}/replay":        readers,
		"GET /v1/campaigns/{campaign}/rolls":                            readers,
		"GET /v1/campaigns/{campaign}/rolls/{n}":                        readers,
		"GET /v1/campaigns/{campaign}/rolls/{n}/audit":                  readers,
		"POST /v1/campaigns/{campaign}/rolls/{n}/what-if":               readers,
		"GET /v1/campaigns/{campaign}/sessions/{session}/transcript":    readers,
		"POST /v1/ledgers":                                              {no, no, never, never, never, never, "unsupported-media-type"},
		"GET /v1/campaigns/{campaign}/disputes":                         readers,
		"GET /v1/campaigns/{campaign}/disputes/{dispute}":               readers,
		"GET /v1/campaigns/{campaign}/corrections":                      readers,
		"GET /v1/campaigns/{campaign}/overrides":                        readers,
		"GET /v1/campaigns/{campaign}/tempo":                            readers,
		"GET /v1/campaigns/{campaign}/date":                             readers,
		"GET /v1/campaigns/{campaign}/checkpoint":                       readers,
		"GET /v1/campaigns/{campaign}/proofs/inclusion":                 readers,
		"GET /v1/campaigns/{campaign}/proofs/consistency":               readers,
		"GET /v1/campaigns/{campaign}/ledger":                           readers,
		"GET /v1/campaigns/{campaign}/participants":                     readers,
		"POST /v1/campaigns/{campaign}/participants":                    gms,
		"DELETE /v1/campaigns/{campaign}/participants/{handle}":         gms,
		"POST /v1/campaigns/{campaign}/participants/{handle}/token":     keepers,
		"DELETE /v1/campaigns/{campaign}/participants/{handle}/token":   keepers,
		"GET /v1/campaigns/{campaign}/tokens":                           keepers,
		"GET /v1/campaigns/{campaign}/secrets":                          readers,
		"POST /v1/campaigns/{campaign}/invitations":                     gms,
		"GET /v1/campaigns/{campaign}/invitations":                      gms,
		"DELETE /v1/campaigns/{campaign}/invitations/{invitation}":      {no, no, never, never, lost, lost, never},
		"POST /v1/invitations/accept":                                   {lost, lost, lost, lost, lost, lost, lost},
		"POST /v1/campaigns/{campaign}/links":                           {no, no, "", never, "", lost, never},
		"GET /v1/campaigns/{campaign}/links":                            readers,
		"POST /v1/campaigns/{campaign}/webhooks":                        {no, no, "", never, "", lost, never},
		"GET /v1/campaigns/{campaign}/webhooks":                         {no, no, "", "", "", lost, never},
		"DELETE /v1/campaigns/{campaign}/webhooks/{hook}":               {no, no, lost, lost, lost, lost, never},
		"GET /v1/campaigns/{campaign}/webhooks/{hook}/dead":             {no, no, lost, lost, lost, lost, never},
		"POST /v1/campaigns/{campaign}/webhooks/{hook}/replay":          {no, no, lost, lost, lost, lost, never},
		"POST /v1/campaigns/{campaign}/webhooks/{hook}/secret":          {no, no, lost, lost, lost, lost, never},
		"GET /link/{token}":                                             {lost, lost, lost, lost, lost, lost, lost},
		"POST /link/{token}":                                            {lost, lost, lost, lost, lost, lost, lost},
		"POST /v1/sign-in":                                              {no, no, no, no, no, no, no},
		"DELETE /v1/sign-in":                                            everybody,
		"GET /metrics":                                                  {no, no, never, never, never, never, ""},
	}
	bodies := map[string]string{
		"POST /v1/campaigns":                                   `{"name":"x","system":"toy"}`,
		"POST /v1/campaigns/{campaign}/commands":               `{"type":"note.add","data":{"text":"x"}}`,
		"POST /v1/campaigns/{campaign}/rolls/{n}/what-if":      `{}`,
		"POST /v1/campaigns/{campaign}/participants":           `{"handle":"h%d","role":"spectator"}`,
		"POST /v1/campaigns/{campaign}/invitations":            `{"handle":"guest","role":"spectator"}`,
		"POST /v1/campaigns/{campaign}/links":                  `{"expression":"1d6"}`,
		"POST /v1/campaigns/{campaign}/webhooks/{hook}/replay": `{}`,
		"POST /v1/campaigns/{campaign}/webhooks/{hook}/secret": `{}`,
		"POST /v1/campaigns/{campaign}/webhooks":               `{"url":"https://receiver.invalid/","types":["note.added"]}`,
		"POST /v1/invitations/accept":                          `{"token":"none"}`,
		"POST /v1/sign-in":                                     `{"token":"none"}`,
	}
	queries := map[string]string{"GET /v1/campaigns/{campaign}/characters/{character}/prognosis": "?treat=none", "GET /v1/campaigns/{campaign}/proofs/inclusion": "?n=0", "GET /v1/campaigns/{campaign}/proofs/consistency": "?from=1"}
	n := fmt.Sprint(g.size() - 1)
	dispute := g.command(g.sven, `{"type":"dispute.open","data":{"roll":`+n+`,"question":"really?"}}`).Command
	fill := strings.NewReplacer("{campaign}", g.id, "{character}", g.bob, "{session}", g.session, "{n}", n, "{dispute}", dispute, "{system}", "toy", "{slug}", "rejected", "{handle}", "guest", "{invitation}", "none", "{token}", "none", "{hook}", "none", "{file}", "main.js")
	callers := g.strangers(other)
	for i, token := range []string{"", "tally_" + strings.Repeat("0", 64), g.anna, g.sven, g.gm, other.gm, adminToken} {
		callers = append(callers, stranger{fmt.Sprint(i), token, i})
	}
	unseen := len(rows)
	for path, item := range g.server.api.OpenAPI().Paths {
		for method := range operations(item) {
			name := method + " " + path
			row, ok := rows[name]
			if !ok {
				t.Errorf("%s has no row", name)
				continue
			}
			unseen--
			for i, who := range callers {
				if strings.Contains(path, "{handle}") {
					g.ask("POST", g.path("/participants"), g.gm, `{"handle":"guest","role":"spectator"}`)
				}
				body := bodies[name]
				if strings.Contains(body, "%d") {
					body = fmt.Sprintf(body, i)
				}
				r := g.ask(method, fill.Replace(path)+queries[name], who.token, body, "Idempotency-Key", key(), "Sec-Fetch-Site", "same-origin")
				want := row[who.column]
				switch {
				case want != "":
					problem(t, r, want, "")
				case r.StatusCode >= 400 && name != "GET /readyz":
					t.Errorf("%s as %s: %d %s", name, who.name, r.StatusCode, r.body)
				}
				if want == no && r.Header.Get("WWW-Authenticate") == "" {
					t.Errorf("%s: no WWW-Authenticate", name)
				}
			}
		}
	}
	if unseen != 0 {
		t.Errorf("%d rows are of no route", unseen)
	}
}

// stranger is somebody who asks, and the column of a row that says what comes of it.
type stranger struct {
	name, token string
	column      int
}

// strangers are those who may no more than one of the columns of TestAccess: who
// was removed or whose token was ended no more than a wrong token, the player
// of another character no more than a player, and a player elsewhere no more
// than a game master elsewhere.
func (g *game) strangers(other *game) []stranger {
	add := func(handle string) string {
		return read[NewToken](g.t, g.ask("POST", g.path("/participants"), g.gm, `{"handle":"`+handle+`","role":"player"}`), 201).Token
	}
	removed, revoked, before, bo := add("removed"), add("revoked"), add("before"), add("bo")
	for _, path := range []string{"/participants/removed", "/participants/revoked/token"} {
		if r := g.ask("DELETE", g.path(path), g.gm, ""); r.StatusCode != 204 {
			g.t.Fatalf("got %d %s", r.StatusCode, r.body)
		}
	}
	read[NewToken](g.t, g.ask("POST", g.path("/participants/before/token"), g.gm, ""), 201)
	return []stranger{
		{"removed", removed, 1}, {"revoked", revoked, 1}, {"a token of before", before, 1}, {"no token at all", "Bearer", 1}, {"bo", bo, 2}, {"anna elsewhere", other.anna, 5},
	}
}

// A campaign that does not exist and one of others look the same.
func TestForeignCampaign(t *testing.T) {
	g := newGame(t)
	other := play(t, g.node)
	same := regexp.MustCompile(`"(instance|request)":"[^"]*"`)
	foreign := g.get(other.path("/characters"), g.gm)
	for _, id := range []string{key(), "x", strings.ToUpper(other.id)} {
		missing := g.get("/v1/campaigns/"+id+"/characters", g.gm)
		problem(t, missing, "not-found", "")
		if !bytes.Equal(same.ReplaceAll(foreign.body, nil), same.ReplaceAll(missing.body, nil)) {
			t.Errorf("%s\n%s", foreign.body, missing.body)
		}
		for _, path := range []string{"", "/events", "/ledger", "/characters?at=0", "/characters?after=0", "/sessions/x", "/checkpoint", "/proofs/inclusion?n=0", "/proofs/consistency?from=0"} {
			problem(t, g.get("/v1/campaigns/"+id+path, adminToken), "not-found", "")
		}
	}
}

// Opening a campaign again with its key gives the same campaign and a fresh
// token for its game master.
func TestCreateCampaign(t *testing.T) {
	n := start(t, journal.NewMemory(1))
	k := key()
	post := func(body string) reply { return n.ask("POST", "/v1/campaigns", adminToken, body, "Idempotency-Key", k) }
	body := `{"name":"L’Été d’Ævar","system":"toy","options":{"toy.kind":"fancy"},"gm":"mara"}`
	r := post(body)
	first := read[NewCampaign](t, r, 201)
	if first.Campaign != k || first.GM.Handle != "mara" || r.Header.Get("Location") != "/v1/campaigns/"+k {
		t.Errorf("got %+v, %s", first, r.Header.Get("Location"))
	}
	again := read[NewCampaign](t, post(body), 201)
	if again.Campaign != k || again.GM.Token == first.GM.Token {
		t.Errorf("got %+v again", again)
	}
	problem(t, n.get("/v1/campaigns/"+k, first.GM.Token), "unauthenticated", "")
	c := read[projections.Campaign](t, n.get("/v1/campaigns/"+k, again.GM.Token), 200)
	if c.Name != "L’Été d’Ævar" || c.System != "toy" || c.Options["toy.kind"] != "fancy" || c.GM != "mara" {
		t.Errorf("got %+v", c)
	}
	problem(t, post(strings.Replace(body, "fancy", "plain", 1)), "key-reused", "header.Idempotency-Key")

	for body, location := range map[string]string{
		`{"name":"x","system":"chess"}`:                                 "body.system",
		`{"name":"","system":"toy"}`:                                    "body.name",
		`{"system":"toy"}`:                                              "body.name",
		`{"name":"a\u0000b","system":"toy"}`:                            "body.name",
		`{"name":"e\u0301","system":"toy"}`:                             "body.name",
		`{"name":"   ","system":"toy"}`:                                 "body.name",
		`{"name":"` + strings.Repeat("x", 10_000) + `","system":"toy"}`: "body.name",
		`{"name":"x","system":"toy","gm":"Mara!"}`:                      "body.gm",
		`{"name":"x","system":"toy","options":{"toy.kind":"odd"}}`:      "body.options.toy.kind",
		`{"name":"x","system":"toy","options":{"nothing":1}}`:           "body.options.nothing",
		`{"name":"x","system":"toy","setting":{}}`:                      "body.setting",
		`{"name":"x","system":"toy","vkey":"x"}`:                        "body.vkey",
	} {
		problem(t, n.ask("POST", "/v1/campaigns", adminToken, body), "malformed", location)
	}
	if ids, err := n.journal.Campaigns(t.Context(), "", 0); err != nil || len(ids) != 1 {
		t.Errorf("campaigns %v, %v", ids, err)
	}
}

// The admin sees all campaigns page by page; a participant their own.
func TestListCampaigns(t *testing.T) {
	n := start(t, journal.NewMemory(2))
	var ids []string
	var token string
	for i := range 5 {
		c := read[NewCampaign](t, n.ask("POST", "/v1/campaigns", adminToken, fmt.Sprintf(`{"name":"C%d","system":"toy"}`, i)), 201)
		ids, token = append(ids, c.Campaign), c.GM.Token
	}
	var got []string
	next := ""
	for pages := 0; ; pages++ {
		list := read[CampaignList](t, n.get("/v1/campaigns?limit=2&from="+next, adminToken), 200)
		for _, item := range list.Items {
			got = append(got, item.ID)
		}
		if list.Next == nil {
			if pages != 2 {
				t.Errorf("%d pages, want 3", pages+1)
			}
			break
		}
		next = *list.Next
	}
	slices.Sort(ids)
	if !slices.Equal(got, ids) {
		t.Errorf("got %v, want %v", got, ids)
	}
	own := read[CampaignList](t, n.get("/v1/campaigns", token), 200)
	if len(own.Items) != 1 || own.Items[0].Name != "C4" || own.Items[0].CreatedAt == "" || own.Next != nil {
		t.Errorf("got %+v", own)
	}
}

// A participant that was removed is out at once, by whatever way; a retry of
// the removal does not end the token of somebody who came back.
func TestParticipants(t *testing.T) {
	g := newGame(t)
	list := read[projections.Page[projections.Participant]](t, g.get(g.path("/participants?limit=2"), g.anna), 200)
	if len(list.Items) != 2 || list.Items[0].Handle != "anna" || list.Next == nil || *list.Next != 2 {
		t.Errorf("got %+v", list)
	}
	k := key()
	add := func() reply {
		return g.ask("POST", g.path("/participants"), g.gm, `{"handle":"kim","role":"player","name":"Kim"}`, "Idempotency-Key", k)
	}
	first := read[NewToken](t, add(), 201)
	second := read[NewToken](t, add(), 201) // the answer was lost
	problem(t, g.get(g.path(""), first.Token), "unauthenticated", "")
	read[projections.Campaign](t, g.get(g.path(""), second.Token), 200)
	problem(t, g.ask("POST", g.path("/participants"), g.gm, `{"handle":"kim","role":"player"}`), "rejected", "body.handle")
	problem(t, g.ask("POST", g.path("/participants"), g.gm, `{"handle":"Kim","role":"player"}`), "malformed", "body.handle")
	problem(t, g.ask("POST", g.path("/participants"), g.gm, `{"handle":"lee","role":"king"}`), "malformed", "body.role")

	rotated := read[NewToken](t, g.ask("POST", g.path("/participants/kim/token"), second.Token, ""), 201)
	problem(t, g.get(g.path(""), second.Token), "unauthenticated", "")
	problem(t, g.ask("POST", g.path("/participants/anna/token"), rotated.Token, ""), "forbidden", "")
	problem(t, g.ask("POST", g.path("/participants/nobody/token"), g.gm, ""), "not-found", "")

	del := key()
	remove := func(k string) reply {
		if k == "" {
			return g.ask("DELETE", g.path("/participants/kim"), g.gm, "")
		}
		return g.ask("DELETE", g.path("/participants/kim"), g.gm, "", "Idempotency-Key", k)
	}
	if r := remove(del); r.StatusCode != 204 || len(r.body) != 0 {
		t.Errorf("got %d %s", r.StatusCode, r.body)
	}
	if r := remove(del); r.StatusCode != 204 {
		t.Errorf("again: got %d %s", r.StatusCode, r.body)
	}
	problem(t, remove(""), "not-found", "")
	problem(t, g.get(g.path(""), rotated.Token), "unauthenticated", "")
	problem(t, g.ask("POST", g.path("/commands"), rotated.Token, `{"type":"note.add","data":{"text":"x"}}`, "Idempotency-Key", key()), "unauthenticated", "")
	problem(t, add(), "has-left", "")

	k = key()
	back := read[NewToken](t, add(), 201)
	problem(t, g.get(g.path(""), rotated.Token), "unauthenticated", "")
	if r := remove(del); r.StatusCode != 204 {
		t.Errorf("an old removal: got %d %s", r.StatusCode, r.body)
	}
	read[projections.Campaign](t, g.get(g.path(""), back.Token), 200)

	// By the plain commands: the token of before does not come back to life.
	g.command(g.gm, `{"type":"participant.remove","data":{"handle":"kim"}}`)
	g.command(g.gm, `{"type":"participant.add","data":{"handle":"kim","role":"player"}}`)
	problem(t, g.get(g.path(""), back.Token), "unauthenticated", "")

	// Removed without any word to the tokens, as by a node that died behind it.
	if _, err := g.ledger.Execute(t.Context(), g.id, rules.Command{ID: key(), By: "gm", Type: removeType, Data: jsontext.Value(`{"handle":"sven"}`)}); err != nil {
		t.Fatal(err)
	}
	problem(t, g.get(g.path(""), g.sven), "unauthenticated", "")
	if list := g.get("/v1/campaigns", g.sven); list.StatusCode != 401 {
		t.Errorf("got %d %s", list.StatusCode, list.body)
	}

	problem(t, g.ask("DELETE", g.path("/participants/gm"), g.gm, ""), "rejected", "path.handle")
	read[projections.Campaign](t, g.get(g.path(""), g.gm), 200)
}

// A page of records is what is stored; filters choose among them.
func TestEventPages(t *testing.T) {
	g := newGame(t)
	g.command(g.gm, `{"type":"session.close"}`)
	g.command(g.gm, `{"type":"note.add","data":{"text":"between"}}`)
	second := g.command(g.gm, `{"type":"session.open","data":{"title":"Two","kind":"table"}}`).Command
	g.command(g.gm, `{"type":"wound.inflict","data":{"character":"`+g.bob+`","points":3,"cause":"a fall"}}`)
	g.command(g.anna, `{"type":"check","data":{"character":"`+g.bob+`"}}`)
	lines := g.stored()
	type pageOf struct {
		Items []jsontext.Value `json:"items"`
		Next  *int64           `json:"next"`
	}
	collect := func(query string, limit int) (all []string) {
		t.Helper()
		from := int64(0)
		for {
			p := read[pageOf](t, g.get(g.path(fmt.Sprintf("/events?%s&from=%d&limit=%d", query, from, limit)), g.sven), 200)
			if len(p.Items) > limit {
				t.Fatalf("%d items, limit %d", len(p.Items), limit)
			}
			for _, item := range p.Items {
				all = append(all, string(item))
			}
			if p.Next == nil {
				return all
			}
			from = *p.Next
		}
	}
	want := func(keep func(events.Record) bool) (all []string) {
		for _, line := range lines {
			rec, err := events.Parse(line)
			if err != nil {
				t.Fatal(err)
			}
			if keep(rec) {
				all = append(all, string(line))
			}
		}
		return all
	}
	first := slices.IndexFunc(lines, func(l []byte) bool { return bytes.Contains(l, []byte(`"type":"session.opened"`)) })
	closed := slices.IndexFunc(lines, func(l []byte) bool { return bytes.Contains(l, []byte(`"type":"session.closed"`)) })
	for query, keep := range map[string]func(events.Record) bool{
		"":                                      func(events.Record) bool { return true },
		"type=roll.made,wound.inflicted":        func(r events.Record) bool { return r.Type == "roll.made" || r.Type == "wound.inflicted" },
		"character=" + g.bob:                    func(r events.Record) bool { return bytes.Contains(r.Data, []byte(g.bob)) },
		"session=" + g.session:                  func(r events.Record) bool { return r.N >= int64(first) && r.N <= int64(closed) },
		"session=" + second + "&type=roll.made": func(r events.Record) bool { return r.Type == "roll.made" && r.N > int64(closed) },
	} {
		for _, limit := range []int{1, 2, 1000} {
			if got, want := collect(query, limit), want(keep); !slices.Equal(got, want) {
				t.Errorf("%s by %d: got %d records, want %d", query, limit, len(got), len(want))
			}
		}
		r := g.get(g.path("/events?"+query), g.anna, "Accept", "application/x-ndjson")
		if got, want := string(r.body), strings.Join(want(keep), "\n")+"\n"; got != want || r.Header.Get("Content-Type") != "application/x-ndjson" {
			t.Errorf("%s as lines: got\n%s\nwant\n%s", query, got, want)
		}
	}
	if r := g.get(g.path("/ledger"), g.sven); string(r.body) != strings.Join(want(func(events.Record) bool { return true }), "\n")+"\n" {
		t.Error("the ledger is not what is stored")
	}
	if r := g.get(g.path("/events?limit=2"), g.anna, "Accept", "text/html, application/x-ndjson;q=0.9"); bytes.Count(r.body, []byte("\n")) != 2 {
		t.Errorf("got %s", r.body)
	}
	end := read[pageOf](t, g.get(g.path(fmt.Sprintf("/events?from=%d", len(lines))), g.anna), 200)
	if len(end.Items) != 0 || end.Next != nil {
		t.Errorf("behind the end: %+v", end)
	}
	for query, location := range map[string]string{
		fmt.Sprintf("from=%d", len(lines)+1): "query.from", "from=-1": "query.from", "type=roll.maid": "query.type",
		"session=x": "query.session", "character=x": "query.character", "limit=2000": "query.limit",
	} {
		problem(t, g.get(g.path("/events?"+query), g.anna), "malformed", location)
	}
}

// A view is given as it is now, as it was, and as it is once a record is read.
func TestCharacters(t *testing.T) {
	g := newGame(t)
	g.server.timing.after = 50 * time.Millisecond
	a := g.command(g.gm, `{"type":"wound.inflict","data":{"character":"`+g.bob+`","points":21,"cause":"a fall"}}`)
	path := g.path("/characters/" + g.bob)
	for query, points := range map[string]int{
		"": 4, fmt.Sprintf("?at=%d", a.First-1): 25, fmt.Sprintf("?at=%d", a.First): 4, fmt.Sprintf("?after=%d", a.First): 4,
	} {
		c := read[projections.Character](t, g.get(path+query, g.sven), 200)
		if c.Health.Points != points || c.Name != "Bob" || c.Owner != "anna" || string(c.Sheet) != `{"strength":3}` {
			t.Errorf("%s: got %+v", query, c)
		}
	}
	all := read[projections.Page[projections.Character]](t, g.get(g.path("/characters"), g.anna), 200)
	if len(all.Items) != 1 || all.Items[0].ID != g.bob || all.Next != nil {
		t.Errorf("got %+v", all)
	}
	none := read[projections.Page[projections.Character]](t, g.get(g.path("/characters?at=0"), g.anna), 200)
	if none.Items == nil || len(none.Items) != 0 {
		t.Errorf("got %+v", none)
	}
	line := read[projections.Timeline](t, g.get(path+"/timeline", g.anna), 200)
	if len(line.Items) != 2 || line.Items[1].Change != -21 || line.Items[1].Cause != "a fall" || len(line.Wounds) != 1 {
		t.Errorf("got %+v", line)
	}
	problem(t, g.get(path+fmt.Sprintf("?at=%d", a.Last+1), g.anna), "malformed", "query.at")
	problem(t, g.get(path+"?at=x", g.anna), "malformed", "query.at")
	problem(t, g.get(path+"?at=-1", g.anna), "malformed", "query.at")
	problem(t, g.get(path+"?at=0", g.anna), "not-found", "")
	problem(t, g.get(path+"?at=1&after=1", g.anna), "malformed", "query.after")
	r := g.get(path+fmt.Sprintf("?after=%d", a.Last+1), g.anna)
	problem(t, r, "not-yet", "query.after")
	if r.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	problem(t, g.get(g.path("/characters/nobody"), g.anna), "not-found", "")
	problem(t, g.get(g.path("/characters/nobody/timeline"), g.anna), "not-found", "")
}

// ?after waits for what comes within its time.
func TestAfterWaits(t *testing.T) {
	g := newGame(t)
	n := g.size()
	done := make(chan reply)
	go func() { done <- g.get(g.path(fmt.Sprintf("/characters/%s?after=%d", g.bob, n)), g.anna) }()
	time.Sleep(20 * time.Millisecond)
	g.command(g.gm, `{"type":"wound.inflict","data":{"character":"`+g.bob+`","points":1,"cause":"a fall"}}`)
	if c := read[projections.Character](t, <-done, 200); c.Health.Points != 24 || c.AsOf < n {
		t.Errorf("got %+v", c)
	}
}

func TestSessionsAndRolls(t *testing.T) {
	g := newGame(t)
	g.command(g.anna, `{"type":"check","data":{"character":"`+g.bob+`"}}`)
	byHand := g.command(g.gm, `{"type":"roll","data":{"expression":"2d6"},"dice":{"faces":[6,2]}}`)
	sessions := read[projections.Page[projections.Session]](t, g.get(g.path("/sessions"), g.sven), 200)
	one := read[projections.Session](t, g.get(g.path("/sessions/"+g.session), g.sven), 200)
	if len(sessions.Items) != 1 || one.Title != "One" || one.Rolls != 2 || one.TypedIn != 1 {
		t.Errorf("got %+v, %+v", sessions, one)
	}
	problem(t, g.get(g.path("/sessions/x"), g.sven), "not-found", "")

	rolls := read[projections.Page[projections.Roll]](t, g.get(g.path("/rolls?limit=2"), g.sven), 200)
	if len(rolls.Items) != 2 || rolls.Next == nil || *rolls.Next != byHand.First {
		t.Errorf("got %+v", rolls)
	}
	bobs := read[projections.Page[projections.Roll]](t, g.get(g.path("/rolls?character="+g.bob+"&session="+g.session), g.sven), 200)
	if len(bobs.Items) != 1 || bobs.Items[0].CommandType != "check" {
		t.Errorf("got %+v", bobs)
	}
	roll := read[projections.Roll](t, g.get(g.path(fmt.Sprintf("/rolls/%d", byHand.First)), g.anna), 200)
	rec, err := events.Parse(g.stored()[byHand.First])
	if err != nil || string(roll.Roll) != string(rec.Data) || roll.By != "gm" || roll.Command != byHand.Command {
		t.Errorf("got %+v, want %s (%v)", roll, rec.Data, err)
	}
	problem(t, g.get(g.path("/rolls/0"), g.anna), "not-found", "")
	problem(t, g.get(g.path("/rolls/99999"), g.anna), "not-found", "")
	problem(t, g.get(g.path("/rolls/-1"), g.anna), "malformed", "path.n")
	problem(t, g.get(g.path("/rolls/x"), g.anna), "malformed", "path.n")
	problem(t, g.get(g.path("/rolls?session=x"), g.anna), "malformed", "query.session")
	problem(t, g.get(g.path("/rolls?character=x"), g.anna), "malformed", "query.character")
}

// A session is decided again and comes out as it is stored, up to its end.
func TestReplaySession(t *testing.T) {
	g := newGame(t)
	closed := g.command(g.gm, `{"type":"session.close"}`)
	g.command(g.gm, `{"type":"note.add","data":{"text":"later"}}`)
	r := read[SessionReplay](t, g.get(g.path("/sessions/"+g.session+"/replay"), g.sven), 200)
	if !r.Identical || r.Records != closed.Last+1 || r.Commands == 0 || r.Divergence != nil || r.Unusable != nil {
		t.Errorf("got %+v, want %d records", r, closed.Last+1)
	}
	problem(t, g.get(g.path("/sessions/x/replay"), g.sven), "not-found", "")
}

// Proofs hold offline: a receipt for every record under any size, and
// consistency between any two sizes.
func TestProofs(t *testing.T) {
	g := newGame(t)
	lines := g.stored()
	vkey := read[projections.Campaign](t, g.get(g.path(""), g.sven), 200).VKey
	r := g.get(g.path("/checkpoint"), g.sven)
	head, err := merkle.Open(r.body, vkey)
	if err != nil || head.Size != int64(len(lines)) || r.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Fatalf("%+v, %v", head, err)
	}
	for n, line := range lines {
		r := g.get(g.path(fmt.Sprintf("/proofs/inclusion?n=%d&size=%d", n, max(n+1, len(lines)-2))), g.sven)
		receipt, err := merkle.ParseReceipt(r.body)
		if err != nil {
			t.Fatalf("%v in %s", err, r.body)
		}
		if err := receipt.Check(line, vkey); err != nil {
			t.Error(err)
		}
	}
	for from := int64(1); from <= head.Size; from++ {
		old, err := merkle.Open(g.get(g.path(fmt.Sprintf("/checkpoint?size=%d", from)), g.sven).body, vkey)
		if err != nil {
			t.Fatal(err)
		}
		p := read[ConsistencyProof](t, g.get(g.path(fmt.Sprintf("/proofs/consistency?from=%d", from)), g.sven), 200)
		now, err := merkle.Open([]byte(p.Checkpoint), vkey)
		if err != nil || p.From != from || p.To != head.Size || now.Size != p.To {
			t.Fatalf("%+v, %v", p, err)
		}
		hashes := make([]merkle.Hash, len(p.Hashes))
		for i, text := range p.Hashes {
			if err := hashes[i].UnmarshalJSON([]byte(`"` + text + `"`)); err != nil {
				t.Fatal(err)
			}
		}
		if err := merkle.CheckConsistency(hashes, from, old.Root, p.To, now.Root); err != nil {
			t.Errorf("from %d: %v", from, err)
		}
	}
	for path, location := range map[string]string{
		"/proofs/inclusion": "query.n", "/proofs/inclusion?n=99": "query.n", "/proofs/inclusion?n=-1": "query.n", "/proofs/inclusion?n=3&size=2": "query.n",
		"/proofs/consistency": "query.from", "/proofs/consistency?from=99": "query.from", "/proofs/consistency?from=1&to=0": "query.to", "/checkpoint?size=99": "query.size",
	} {
		problem(t, g.get(g.path(path), g.sven), "malformed", location)
	}
}

// A system's description is enough to make a form of: every command has a
// schema that stands on its own.
func TestSystems(t *testing.T) {
	n := start(t, journal.NewMemory(1))
	list := read[projections.Page[SystemItem]](t, n.get("/v1/systems", ""), 200)
	if len(list.Items) != 2 || list.Items[0].System != "toy" {
		t.Errorf("got %+v", list)
	}
	sys := read[SystemView](t, n.get("/v1/systems/toy", ""), 200)
	types := map[string]CommandType{}
	for _, c := range sys.Commands {
		types[c.Type] = c
		var schema struct {
			Type       string                    `json:"type"`
			Properties map[string]jsontext.Value `json:"properties"`
		}
		if err := json.Unmarshal(c.Data, &schema); err != nil || schema.Type != "object" {
			t.Errorf("%s: %v in %s", c.Type, err, c.Data)
		}
		checkSchema(t, c.Type, c.Data)
	}
	if c := types["check"]; c.Who != "own-characters" || !bytes.Contains(c.Data, []byte(`"maximum":30`)) {
		t.Errorf("got %+v", c)
	}
	if _, there := types["campaign.create"]; there {
		t.Error("a command is offered that nobody can give")
	}
	if !bytes.Contains(sys.Sheet, []byte("strength")) || string(sys.Setting) != "null" || len(sys.Options) != 1 || len(sys.Ranks) != 2 {
		t.Errorf("got %+v", sys)
	}
	problem(t, n.get("/v1/systems/chess", ""), "not-found", "")
	problem(t, n.get("/v1/systems/toy?edition=9", ""), "not-found", "")
}

// checkSchema resolves every $ref of a document within it, and looks that the
// bounds of maps stand where they mean something.
func checkSchema(t *testing.T, name string, raw []byte) {
	t.Helper()
	var doc any
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, item := range v {
				walk(item)
			}
		case map[string]any:
			for _, bound := range []string{"minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"} {
				if _, is := v[bound].(float64); is && v["type"] == "object" {
					t.Errorf("%s: %s of an object means nothing: %v", name, bound, v)
				}
			}
			if ref, ok := v["$ref"].(string); ok {
				at := doc
				for _, step := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
					m, _ := at.(map[string]any)
					at = m[step]
				}
				if !strings.HasPrefix(ref, "#/") || at == nil {
					t.Errorf("%s: %s leads nowhere", name, ref)
				}
			}
			for _, item := range v {
				walk(item)
			}
		}
	}
	walk(doc)
}

// The systems on board can all be described and documented together, and the
// example that most checks start from holds over HTTP: 21 points lost of 25
// leave 4, incapacitated, and one round later 3.
func TestSystemsOnBoard(t *testing.T) {
	n := startWith(t, journal.NewMemory(1), systems.Library())
	checkSchema(t, "openapi.json", n.get("/openapi.json", "").body)
	for _, item := range read[projections.Page[SystemItem]](t, n.get("/v1/systems", ""), 200).Items {
		sys := read[SystemView](t, n.get("/v1/systems/"+item.System, ""), 200)
		for _, c := range sys.Commands {
			checkSchema(t, c.Type, c.Data)
		}
		checkSchema(t, "sheet", sys.Sheet)
		checkSchema(t, "setting", sys.Setting)
		c := read[NewCampaign](t, n.ask("POST", "/v1/campaigns", adminToken, `{"name":"x","system":"`+item.System+`"}`), 201)
		g := &game{node: n, id: c.Campaign, gm: c.GM.Token}
		made := g.command(g.gm, `{"type":"character.create","data":{"name":"Ex","kind":"npc","creation":"free","sheet":`+string(sys.Example)+`}}`)
		read[projections.Character](t, g.get(g.path("/characters/"+made.Command), g.gm), 200)
	}

	c := read[NewCampaign](t, n.ask("POST", "/v1/campaigns", adminToken, `{"name":"x","system":"rpgamix"}`), 201)
	g := &game{node: n, id: c.Campaign, gm: c.GM.Token}
	bob := g.command(g.gm, `{"type":"character.create","data":{"name":"Bob","kind":"pc","creation":"free",`+
		`"sheet":{"stats":{"str":0,"con":0,"dex":0,"per":0,"int":0,"wits":0,"cha":0,"app":0},"skills":{}}}}`).Command
	stands := func(points int, rank string) {
		t.Helper()
		c := read[projections.Character](t, g.get(g.path("/characters/"+bob), g.gm), 200)
		if c.Health.Points != points || c.Health.Rank != rank {
			t.Errorf("got %+v, want %d %s", c.Health, points, rank)
		}
	}
	stands(25, "good")
	g.command(g.gm, `{"type":"wound.inflict","data":{"character":"`+bob+`","points":21,"cause":"a fall"}}`)
	stands(4, "incapacitated")
	g.command(g.gm, `{"type":"clock.advance","data":{"seconds":3}}`)
	stands(3, "incapacitated")
	var sheet struct {
		Properties struct {
			Skills struct {
				MaxProperties        int `json:"maxProperties"`
				AdditionalProperties struct{ Minimum, Maximum *int }
			} `json:"skills"`
		} `json:"properties"`
	}
	raw := read[SystemView](t, n.get("/v1/systems/rpgamix", ""), 200).Sheet
	if err := json.Unmarshal(raw, &sheet, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	skills := sheet.Properties.Skills
	if lo, hi := skills.AdditionalProperties.Minimum, skills.AdditionalProperties.Maximum; skills.MaxProperties != 500 || lo == nil || *lo != 0 || hi == nil || *hi != 100 {
		t.Errorf("skills are bounded as %+v", skills)
	}
}

// The four characters of RPGamix's book over HTTP, and one with two faults:
// each objection names its rule and its member.
func TestObjections(t *testing.T) {
	n := startWith(t, journal.NewMemory(1), systems.Library())
	c := read[NewCampaign](t, n.ask("POST", "/v1/campaigns", adminToken, `{"name":"x","system":"rpgamix"}`), 201)
	g := &game{node: n, id: c.Campaign, gm: c.GM.Token}
	for _, x := range []struct {
		name                                    string
		str, con, dex, int, wits, per, cha, app int
		want                                    []FieldError
	}{
		{"Bob", 5, 1, 0, -1, 1, 0, -2, 0, []FieldError{{"body.data.sheet.stats", "the stats sum to 4, which is 2 over 2"}}},
		{"Jim", 6, 0, -1, -2, -1, -1, 0, 1, []FieldError{{"body.data.sheet.stats.str", "Strength is 6: no stat is above 5 at this stage"}}},
		{"Sue", 3, 1, -2, 1, -1, -3, 2, 1, nil},
		{"Hal", 2, -2, 4, -2, -4, 0, 0, 0, []FieldError{{"body.data.sheet.stats", "the stats sum to -2, which is 4 under 2"}}},
		{"Sam", 6, -6, 0, 0, 0, 0, 0, 0, []FieldError{
			{"body.data.sheet.stats", "RPGX-54: the stats sum to 0, which is 2 under 2"},
			{"body.data.sheet.stats.str", "RPGX-55: Strength is 6: no stat is above 5 at this stage"},
			{"body.data.sheet.stats.con", "RPGX-55: Constitution is -6: no stat is below -5"},
		}},
	} {
		body := fmt.Sprintf(`{"type":"character.create","data":{"name":%q,"kind":"pc","creation":"book","sheet":{"skills":{},"stats":`+
			`{"str":%d,"con":%d,"dex":%d,"int":%d,"wits":%d,"per":%d,"cha":%d,"app":%d}}}}`, x.name, x.str, x.con, x.dex, x.int, x.wits, x.per, x.cha, x.app)
		if x.want == nil {
			g.command(g.gm, body)
			continue
		}
		r := n.ask("POST", g.path("/commands"), g.gm, body, "Idempotency-Key", key())
		if p := problem(t, r, "rejected", ""); !slices.Equal(p.Errors, x.want) {
			t.Errorf("%s: got %+v, want %+v", x.name, p.Errors, x.want)
		}
	}
}

// The document is whole, and says of the router neither too much nor too little.
func TestOpenAPI(t *testing.T) {
	n := start(t, journal.NewMemory(1))
	r := n.get("/openapi.json", "")
	doc := read[struct {
		OpenAPI    string                               `json:"openapi"`
		Paths      map[string]map[string]jsontext.Value `json:"paths"`
		Components struct {
			Schemas map[string]jsontext.Value `json:"schemas"`
		} `json:"components"`
	}](t, r, 200)
	if doc.OpenAPI != "3.1.0" || r.Header.Get("Content-Type") != "application/openapi+json" {
		t.Errorf("openapi %q, %s", doc.OpenAPI, r.Header.Get("Content-Type"))
	}
	checkSchema(t, "openapi.json", r.body)
	param := regexp.MustCompile(`:(\w+)`)
	var routed, documented []string
	for _, route := range n.server.echo.Routes() {
		if route.Method != "echo_route_not_found" {
			routed = append(routed, route.Method+" "+param.ReplaceAllString(route.Path, "{$1}"))
		}
	}
	for path, item := range doc.Paths {
		for method := range item {
			documented = append(documented, strings.ToUpper(method)+" "+path)
		}
	}
	slices.Sort(routed)
	slices.Sort(documented)
	if !slices.Equal(routed, documented) {
		t.Errorf("routed and documented differ:\n%v\n%v", routed, documented)
	}
	// Every command is there, once, and check says which system means what.
	command := string(doc.Components.Schemas["Command"])
	for _, book := range library() {
		for _, spec := range book.Specs() {
			if mapped := strings.Contains(command, `"`+spec.Type+`":"#/components/schemas/`); mapped == (spec.Who == rules.Program) {
				t.Errorf("%s: in the document: %v", spec.Type, mapped)
			}
		}
	}
	check := string(doc.Components.Schemas["CheckCommand"])
	if !strings.Contains(check, "ToyCheckData") || !strings.Contains(check, "GameCheckData") || !strings.Contains(check, "In a campaign of game.") {
		t.Errorf("got %s", check)
	}
	for path, ref := range map[string]string{
		"/v1/campaigns": "CampaignRequest", "/v1/campaigns/{campaign}/commands": "Command", "/v1/campaigns/{campaign}/participants": "ParticipantAddData",
	} {
		if post := string(doc.Paths[path]["post"]); !strings.Contains(post, `"requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/`+ref+`"}}}`) {
			t.Errorf("%s: the body is not a %s: %s", path, ref, post)
		}
	}
	if record := string(doc.Components.Schemas["CommandAnswer"]); strings.Contains(record, "base64") {
		t.Errorf("JSON is documented as bytes: %s", record)
	}
}

// A library whose commands could not be told from what is around them is refused.
func TestClash(t *testing.T) {
	if _, err := newSchemas(rules.Library{rules.NewBook(clashing{toy{"clash"}})}); err == nil || !strings.Contains(err.Error(), "dice") {
		t.Errorf("got %v", err)
	}
}

// Pages need nothing from elsewhere, and every problem's type leads to one.
func TestPages(t *testing.T) {
	n := start(t, journal.NewMemory(1))
	for _, path := range []string{"/docs"} {
		r := n.get(path, "")
		body := string(r.body)
		if r.StatusCode != 200 || r.Header.Get("Content-Type") != "text/html; charset=utf-8" || !strings.Contains(body, "/openapi.json") {
			t.Errorf("%s: %d %s", path, r.StatusCode, r.Header.Get("Content-Type"))
		}
		if regexp.MustCompile(`(src|href)="(https?:)?//`).MatchString(body) || strings.Contains(body, "<script") {
			t.Errorf("%s asks for something from elsewhere", path)
		}
		if !strings.Contains(r.Header.Get("Content-Security-Policy"), "style-src 'sha256-") {
			t.Errorf("%s: policy %s", path, r.Header.Get("Content-Security-Policy"))
		}
	}
	docs := string(n.get("/docs", "").body)
	for path := range n.server.api.OpenAPI().Paths {
		if !strings.Contains(docs, " "+path+"</code>") {
			t.Errorf("the page says nothing of %s", path)
		}
	}
	for _, ref := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(docs, -1) {
		if !strings.Contains(docs, `id="`+ref[1]+`"`) {
			t.Errorf("the page leads to %s, which is not there", ref[1])
		}
	}
	for _, k := range kinds {
		if r := n.get(ProblemPath+k.Slug, ""); r.StatusCode != 200 || !bytes.Contains(r.body, []byte(k.Slug)) {
			t.Errorf("%s: %d", k.Slug, r.StatusCode)
		}
	}
	problem(t, n.get("/problems/none", ""), "not-found", "")
}

// Ready means: whole, synced, nothing red, nothing stopped.
func TestReady(t *testing.T) {
	store := &reporting{Journal: journal.NewMemory(2), sync: journal.SyncAlways}
	n := start(t, store)
	if r := read[Ready](t, n.get("/readyz", ""), 200); r.Status != "ready" || len(r.Partitions) != 2 || len(r.Red) != 0 || r.Version != "test" {
		t.Errorf("got %+v", r)
	}
	if r := read[Alive](t, n.get("/healthz", ""), 200); r.Status != "alive" {
		t.Errorf("got %+v", r)
	}
	store.sync = journal.SyncUnknown
	read[Ready](t, n.get("/readyz", ""), 200)
	store.sync = journal.SyncRelaxed
	if r := read[Ready](t, n.get("/readyz", ""), 503); r.Status != "not-ready" || len(r.Problems) != 1 {
		t.Errorf("got %+v", r)
	}
	store.sync, store.gap = journal.SyncAlways, true
	if r := read[Ready](t, n.get("/readyz", ""), 503); r.Partitions[0].Problem == "" {
		t.Errorf("got %+v", r)
	}
	store.gap = false

	// A record that nothing can read stops its campaign and no other.
	g, other := play(t, n), play(t, n)
	last, err := store.Last(t.Context(), g.id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Append(t.Context(), journal.Entry{Campaign: g.id, ID: key(), Expected: last, Payload: []byte(`{"not":"a record"}`)}); err != nil {
		t.Fatal(err)
	}
	for range 100 { // the follower takes a moment
		if n.get("/readyz", "").StatusCode == 503 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	r := read[Ready](t, n.get("/readyz", ""), 503)
	if len(r.Red) != 1 || r.Red[0].Campaign != g.id || r.Red[0].N == nil || r.Red[0].Reason == "" {
		t.Errorf("got %+v", r)
	}
	problem(t, g.get(g.path("/characters"), g.gm), "read-only", "")
	problem(t, g.ask("POST", g.path("/commands"), g.gm, `{"type":"note.add","data":{"text":"x"}}`, "Idempotency-Key", key()), "read-only", "")
	other.command(other.gm, `{"type":"note.add","data":{"text":"x"}}`)
	n.server.stop()
	if r := read[Ready](t, n.get("/readyz", ""), 503); !slices.Contains(r.Problems, "the server shuts down") {
		t.Errorf("got %+v", r)
	}
}

// reporting is a journal whose health is as it is told.
type reporting struct {
	journal.Journal
	sync string
	gap  bool
}

func (r *reporting) Health(ctx context.Context) journal.Health {
	h := r.Journal.Health(ctx)
	h.Sync = r.sync
	h.Partitions[0].Gap = r.gap
	return h
}

// The console is served with a policy of its own, compressed where that is
// taken, and not sent twice to who has it.
func TestConsole(t *testing.T) {
	n := start(t, journal.NewMemory(1))
	page := n.get("/", "")
	if page.StatusCode != 200 || page.Header.Get("Content-Type") != "text/html; charset=utf-8" || page.Header.Get("Content-Security-Policy") != console.Policy {
		t.Errorf("/: %d %v", page.StatusCode, page.Header)
	}
	file := n.get(ConsolePath+"main.js", "")
	tag := file.Header.Get("ETag")
	if file.StatusCode != 200 || tag == "" || file.Header.Get("Content-Type") != "text/javascript; charset=utf-8" || file.Header.Get("Content-Security-Policy") != console.Policy {
		t.Errorf("main.js: %d %v", file.StatusCode, file.Header)
	}
	packed := n.ask("GET", ConsolePath+"main.js", "", "", "Accept-Encoding", "gzip")
	if packed.Header.Get("Content-Encoding") != "gzip" || len(packed.body) >= len(file.body) {
		t.Errorf("compressed: %d of %d bytes, %v", len(packed.body), len(file.body), packed.Header)
	}
	if again := n.ask("GET", ConsolePath+"main.js", "", "", "If-None-Match", tag); again.StatusCode != 304 || len(again.body) > 0 {
		t.Errorf("again: %d, %d bytes", again.StatusCode, len(again.body))
	}
	for _, name := range []string{"none.js", "..%2fconsole.go", "web%2fmain.js"} {
		problem(t, n.get(ConsolePath+name, ""), "not-found", "")
	}
}

// A token says whom it stands for, and to nobody else.
func TestMe(t *testing.T) {
	g := newGame(t)
	if me := read[Me](t, g.get("/v1/me", adminToken), 200); me != (Me{Admin: true}) {
		t.Errorf("admin: %+v", me)
	}
	if me := read[Me](t, g.get("/v1/me", g.anna), 200); me != (Me{Campaign: g.id, Handle: "anna", Role: "player"}) {
		t.Errorf("player: %+v", me)
	}
	problem(t, g.get("/v1/me", "nonsense"), "unauthenticated", "")
}
