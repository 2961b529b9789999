package api

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"tallystick/api/ledger"
	"tallystick/events/journal"
	"tallystick/projections"
)

// An invitation is good once, for whom it says, as long as who invited is a game
// master and it has not expired or been taken back.
func TestInvitations(t *testing.T) {
	g := newGame(t)
	invite := func(token, body string) reply { return g.ask("POST", g.path("/invitations"), token, body) }
	accept := func(token string) reply {
		return g.ask("POST", "/v1/invitations/accept", "", `{"token":"`+token+`"}`)
	}
	before := g.size()
	kim := read[NewInvitation](t, invite(g.gm, `{"handle":"kim","role":"player","name":"Kim K."}`), 201)
	if g.size() != before {
		t.Error("an invitation stands in the ledger")
	}
	if kim.Link != "/#token="+kim.Token || kim.By != "gm" {
		t.Errorf("got %+v", kim)
	}
	if until, err := time.Parse(time.RFC3339, kim.Expires); err != nil || time.Until(until) < 6*24*time.Hour || time.Until(until) > 8*24*time.Hour {
		t.Errorf("expires %s, %v", kim.Expires, err)
	}
	list := g.get(g.path("/invitations"), g.gm)
	if items := read[projections.Page[InvitationItem]](t, list, 200).Items; len(items) != 1 || items[0].ID != kim.ID || strings.Contains(string(list.body), kim.Token) {
		t.Errorf("got %s", list.body)
	}
	problem(t, g.get(g.path(""), kim.Token), "unauthenticated", "") // it is no token
	got := read[Accepted](t, accept(kim.Token), 201)
	if got.Campaign != g.id || got.Handle != "kim" {
		t.Errorf("got %+v", got)
	}
	if me := read[Me](t, g.get("/v1/me", got.Token), 200); me.Handle != "kim" || me.Role != "player" {
		t.Errorf("got %+v", me)
	}
	problem(t, accept(kim.Token), "not-found", "")
	read[projections.Campaign](t, g.get(g.path(""), got.Token), 200) // and that did not end the token

	// Taken back, expired, and of a game master who is none any more.
	lee := read[NewInvitation](t, invite(g.gm, `{"handle":"lee","role":"spectator","expires":60}`), 201)
	if r := g.ask("DELETE", g.path("/invitations/"+lee.ID), g.gm, ""); r.StatusCode != 204 {
		t.Errorf("got %d", r.StatusCode)
	}
	problem(t, g.ask("DELETE", g.path("/invitations/"+lee.ID), g.gm, ""), "not-found", "")
	problem(t, accept(lee.Token), "not-found", "")
	_, old, err := g.server.cfg.Tokens.Invite(t.Context(), g.id, ledger.Invitation{Handle: "old", Role: "player", By: "gm", Expires: time.Now().Add(-time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	problem(t, accept(old), "not-found", "")
	gm2 := read[Accepted](t, accept(read[NewInvitation](t, invite(g.gm, `{"handle":"gm2","role":"gm"}`), 201).Token), 201)
	stale := read[NewInvitation](t, invite(gm2.Token, `{"handle":"puppet","role":"gm"}`), 201)
	g.command(g.gm, `{"type":"participant.remove","data":{"handle":"gm2"}}`)
	problem(t, accept(stale.Token), "not-found", "")

	// For a device that is new, of somebody who takes part; not to change a role.
	again := read[Accepted](t, accept(read[NewInvitation](t, invite(g.gm, `{"handle":"kim","role":"player"}`), 201).Token), 201)
	problem(t, g.get(g.path(""), got.Token), "unauthenticated", "")
	read[projections.Campaign](t, g.get(g.path(""), again.Token), 200)
	problem(t, invite(g.gm, `{"handle":"kim","role":"gm"}`), "rejected", "body.handle")

	problem(t, invite(g.anna, `{"handle":"x","role":"player"}`), "forbidden", "")
	problem(t, invite(g.gm, `{"handle":"X!","role":"player"}`), "malformed", "body.handle")
	problem(t, invite(g.gm, `{"handle":"x","role":"king"}`), "malformed", "body.role")
	problem(t, invite(g.gm, `{"handle":"x","role":"player","expires":2592001}`), "malformed", "body.expires")
	for _, bad := range []string{"x", "tallyinvite_", "tallyinvite_x_y", "tallyinvite_" + g.id + "_" + strings.Repeat("0", 64), g.gm} {
		problem(t, accept(bad), "not-found", "")
	}
}

// Who is removed, or whose token is ended, does not come back by an invitation
// that was open; nor does anybody whom they had invited.
func TestInvitationsEndWithTheirHolder(t *testing.T) {
	g := newGame(t)
	add := func(body string) string {
		return read[NewToken](t, g.ask("POST", g.path("/participants"), g.gm, body), 201).Token
	}
	invite := func(token, body string) string {
		return read[NewInvitation](t, g.ask("POST", g.path("/invitations"), token, body), 201).Token
	}
	refused := func(token string) {
		t.Helper()
		problem(t, g.ask("POST", "/v1/invitations/accept", "", `{"token":"`+token+`"}`), "not-found", "")
	}
	add(`{"handle":"kim","role":"player"}`)
	gm2 := add(`{"handle":"gm2","role":"gm"}`)
	forKim, byGM2 := invite(g.gm, `{"handle":"kim","role":"player"}`), invite(gm2, `{"handle":"friend","role":"gm"}`)
	for _, who := range []string{"kim", "gm2"} {
		if r := g.ask("DELETE", g.path("/participants/"+who), g.gm, ""); r.StatusCode != 204 {
			t.Fatalf("got %d %s", r.StatusCode, r.body)
		}
	}
	add(`{"handle":"gm2","role":"gm"}`) // who comes back answers for no invitation of before
	refused(forKim)
	refused(byGM2)
	forAnna := invite(g.gm, `{"handle":"anna","role":"player"}`)
	if r := g.ask("DELETE", g.path("/participants/anna/token"), g.gm, ""); r.StatusCode != 204 {
		t.Fatalf("got %d %s", r.StatusCode, r.body)
	}
	refused(forAnna)
	// Another one is given out on purpose.
	read[Accepted](t, g.ask("POST", "/v1/invitations/accept", "", `{"token":"`+invite(g.gm, `{"handle":"anna","role":"player"}`)+`"}`), 201)
}

// Of many who accept one invitation at once, one gets a token.
func TestInvitationIsGoodOnce(t *testing.T) {
	g := newGame(t)
	token := read[NewInvitation](t, g.ask("POST", g.path("/invitations"), g.gm, `{"handle":"kim","role":"player"}`), 201).Token
	var won, lost int
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			r := g.ask("POST", "/v1/invitations/accept", "", `{"token":"`+token+`"}`)
			mu.Lock()
			defer mu.Unlock()
			switch r.StatusCode {
			case 201:
				won++
			case 404:
				lost++
			default:
				t.Errorf("got %d %s", r.StatusCode, r.body)
			}
		})
	}
	all.Wait()
	if won != 1 || lost != 19 {
		t.Errorf("%d won and %d lost, want 1 and 19", won, lost)
	}
}

// A campaign has a bound of open invitations.
func TestTooManyInvitations(t *testing.T) {
	g := newGame(t)
	for i := range ledger.MaxInvitations {
		read[NewInvitation](t, g.ask("POST", g.path("/invitations"), g.gm, fmt.Sprintf(`{"handle":"h%d","role":"player"}`, i)), 201)
	}
	problem(t, g.ask("POST", g.path("/invitations"), g.gm, `{"handle":"one-more","role":"player"}`), "rejected", "")
}

// A token that is replaced or ended is out of force at once, and so is every
// live feed that it opened.
func TestRevokedFeedEnds(t *testing.T) {
	g := newGame(t)
	for name, end := range map[string]func(token string) reply{
		"rotated by themselves": func(token string) reply {
			return g.ask("POST", g.path("/participants/kim/token"), token, "")
		},
		"rotated by the host": func(string) reply {
			return g.ask("POST", g.path("/participants/kim/token"), adminToken, "")
		},
		"revoked by the gm": func(string) reply {
			return g.ask("DELETE", g.path("/participants/kim/token"), g.gm, "")
		},
		"revoked by the host": func(string) reply {
			return g.ask("DELETE", g.path("/participants/kim/token"), adminToken, "")
		},
		"removed": func(string) reply { return g.ask("DELETE", g.path("/participants/kim"), g.gm, "") },
	} {
		t.Run(name, func(t *testing.T) {
			kim := read[NewToken](t, g.ask("POST", g.path("/participants"), g.gm, `{"handle":"kim","role":"player"}`), 201)
			feed := g.stream(g.path("/events"), kim.Token)
			for {
				e, ok := feed.next()
				if !ok {
					t.Fatal("the feed ended too soon")
				}
				if e.event == "backlog.end" {
					break
				}
			}
			if r := end(kim.Token); r.StatusCode >= 300 {
				t.Fatalf("got %d %s", r.StatusCode, r.body)
			}
			for { // fails by itself when the feed stays open
				if _, ok := feed.next(); !ok {
					break
				}
			}
			problem(t, g.get(g.path(""), kim.Token), "unauthenticated", "")
			if r := g.ask("DELETE", g.path("/participants/kim"), g.gm, ""); r.StatusCode != 204 && r.StatusCode != 404 {
				t.Errorf("got %d %s", r.StatusCode, r.body)
			}
		})
	}
	tokens := read[projections.Page[TokenItem]](t, g.get(g.path("/tokens"), adminToken), 200)
	if len(tokens.Items) != 3 || tokens.Items[0].Handle != "anna" || !tokens.Items[0].Token {
		t.Errorf("got %+v", tokens)
	}
	if r := g.ask("DELETE", g.path("/participants/anna/token"), g.gm, ""); r.StatusCode != 204 {
		t.Errorf("got %d", r.StatusCode)
	}
	if tokens := read[projections.Page[TokenItem]](t, g.get(g.path("/tokens"), g.gm), 200); tokens.Items[0].Token {
		t.Errorf("got %+v", tokens)
	}
}

// S10: a browser signs in with a cookie that scripts cannot read and other
// sites do not send; what changes something is taken from our own pages alone.
func TestSignIn(t *testing.T) {
	g := newGame(t)
	signIn := func(token string, headers ...string) reply {
		return g.ask("POST", "/v1/sign-in", "", `{"token":"`+token+`"}`, headers...)
	}
	own := []string{"Sec-Fetch-Site", "same-origin"}
	r := signIn(g.anna, own...)
	if me := read[Me](t, r, 200); me.Handle != "anna" || strings.Contains(string(r.body), g.anna) {
		t.Errorf("got %s", r.body)
	}
	cookie := r.Header.Get("Set-Cookie")
	for _, want := range []string{"HttpOnly", "SameSite=Strict", "Path=/v1/campaigns/" + g.id, "tallystick-" + g.id + "="} {
		if !strings.Contains(cookie, want) {
			t.Errorf("the cookie %s has no %s", cookie, want)
		}
	}
	problem(t, signIn("tally_x", own...), "unauthenticated", "")
	problem(t, signIn(g.anna), "forbidden", "")
	problem(t, signIn(g.anna, "Sec-Fetch-Site", "cross-site"), "forbidden", "")
	problem(t, signIn(g.anna, "Sec-Fetch-Site", "same-site"), "forbidden", "")
	problem(t, signIn(g.anna, "Origin", "https://evil.example"), "forbidden", "")
	read[Me](t, signIn(g.anna, "Origin", g.http.URL), 200) // an older browser

	value, _, _ := strings.Cut(cookie, ";")
	command := func(headers ...string) reply {
		return g.ask("POST", g.path("/commands"), "", `{"type":"note.add","data":{"text":"x"}}`, append(headers, "Cookie", value, "Idempotency-Key", key())...)
	}
	for _, row := range []struct {
		headers []string
		status  int
	}{
		{own, 200},
		{[]string{"Origin", g.http.URL}, 200},
		{nil, 403},
		{[]string{"Sec-Fetch-Site", "cross-site"}, 403},
		{[]string{"Sec-Fetch-Site", "same-site"}, 403},
		{[]string{"Sec-Fetch-Site", "none"}, 403},
		{[]string{"Origin", "null"}, 403},
		{[]string{"Origin", "http://evil.example"}, 403},
	} {
		if r := command(row.headers...); r.StatusCode != row.status {
			t.Errorf("%v: got %d, want %d: %s", row.headers, r.StatusCode, row.status, r.body)
		}
	}
	read[projections.Campaign](t, g.get(g.path(""), "", "Cookie", value), 200)
	problem(t, g.get(g.path(""), "", "Cookie", value, "Sec-Fetch-Site", "cross-site"), "forbidden", "")
	problem(t, g.get(g.path(""), "tally_x", "Cookie", value), "unauthenticated", "") // a header wins

	// The admin's is for everything; ended, it is worth nothing.
	r = signIn(adminToken, own...)
	if cookie := r.Header.Get("Set-Cookie"); !strings.Contains(cookie, "Path=/v1;") {
		t.Errorf("got %s", cookie)
	}
	out := g.ask("DELETE", "/v1/sign-in?campaign="+g.id, "", "")
	if cookie := out.Header.Get("Set-Cookie"); out.StatusCode != 204 || !strings.Contains(cookie, "Max-Age=0") || !strings.Contains(cookie, g.id) {
		t.Errorf("got %d %s", out.StatusCode, cookie)
	}
	g.ask("POST", g.path("/participants/anna/token"), g.gm, "")
	problem(t, g.get(g.path(""), "", "Cookie", value), "unauthenticated", "")
}

// S10: no other site's page reads an answer.
func TestCrossOrigin(t *testing.T) {
	g := newGame(t)
	for _, method := range []string{"GET", "OPTIONS"} {
		r := g.ask(method, g.path(""), g.gm, "", "Origin", "https://evil.example", "Access-Control-Request-Method", "GET")
		for name := range r.Header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s: %s: %s", method, name, r.Header.Get(name))
			}
		}
		if r.Header.Get("Cross-Origin-Resource-Policy") != "same-origin" {
			t.Errorf("%s: %v", method, r.Header)
		}
	}
}

// limited is a node with bounds.
func limited(t *testing.T, r Rates, campaigns int) *node {
	t.Helper()
	n := start(t, journal.NewMemory(1))
	n.server.rates, n.server.cfg.MaxCampaigns = newRates(r), campaigns
	return n
}

// A token and an address may ask so often, whatever headers they bring; the
// answer says when to come back. Others are not in the way.
func TestRates(t *testing.T) {
	n := limited(t, Rates{}, 0)
	g := play(t, n)
	n.server.rates = newRates(Rates{Token: 0.001})
	allowed := 0
	for range 20 {
		r := g.get("/v1/me", g.anna)
		if r.StatusCode == 200 {
			allowed++
			continue
		}
		problem(t, r, "too-many-requests", "")
		if r.Header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
	if allowed != 1 {
		t.Errorf("%d were let through, want 1", allowed)
	}
	read[Me](t, g.get("/v1/me", g.gm), 200)

	n.server.rates = newRates(Rates{Address: 0.001}) // S9: forged addresses are one
	allowed = 0
	for i := range 30 {
		r := g.get("/healthz", "", "X-Forwarded-For", fmt.Sprintf("10.0.0.%d", i), "X-Real-IP", fmt.Sprintf("10.0.0.%d", i), "Forwarded", "for=10.0.0.1")
		if r.StatusCode == 200 {
			allowed++
		}
	}
	if allowed != 1 {
		t.Errorf("%d were let through, want 1", allowed)
	}
}

// S2: five wrong tokens, then the address has to wait; whoever has a good one is
// served all the same.
func TestWrongTokens(t *testing.T) {
	n := limited(t, Rates{}, 0)
	g := play(t, n)
	n.server.rates = newRates(Rates{Wrong: DefaultRates.Wrong})
	for i := range 12 {
		r := g.get("/v1/me", fmt.Sprintf("tally_%064d", i))
		if i < 5 {
			problem(t, r, "unauthenticated", "")
			continue
		}
		problem(t, r, "too-many-requests", "")
	}
	problem(t, g.ask("POST", "/v1/invitations/accept", "", `{"token":"x"}`), "too-many-requests", "")
	read[Me](t, g.get("/v1/me", g.anna), 200)
}

// Asking from ever new addresses does not fill the memory, and IPv6 hosts
// cannot count as many by using their whole network.
func TestRatesAreBounded(t *testing.T) {
	b := newBuckets(1, 5)
	now := time.Now()
	for i := range 3 * maxBuckets {
		b.take(fmt.Sprint(i), now)
	}
	if len(b.all) > maxBuckets {
		t.Errorf("%d are remembered", len(b.all))
	}
	if b.take("one more", now) == 0 || b.take("and another", now) == 0 {
		t.Error("whoever is not remembered may ask without end")
	}
	if later := now.Add(time.Minute); b.take("one more", later) != 0 || len(b.all) > 1 {
		t.Errorf("after a while there is no room: %d are remembered", len(b.all))
	}
	if network("2001:db8::1") != network("2001:db8::ffff:1") || network("2001:db8::1") == network("2001:db8:0:1::1") || network("10.0.0.1") == network("10.0.0.2") {
		t.Error("networks are not told apart")
	}
}

// A server holds so many campaigns; the creation of one that is there is
// repeated all the same.
func TestMaxCampaigns(t *testing.T) {
	n := limited(t, Rates{}, 2)
	create := func(k string) reply {
		return n.ask("POST", "/v1/campaigns", adminToken, `{"name":"x","system":"toy"}`, "Idempotency-Key", k)
	}
	first := key()
	read[NewCampaign](t, create(first), 201)
	read[NewCampaign](t, create(key()), 201)
	problem(t, create(key()), "too-many-campaigns", "")
	read[NewCampaign](t, create(first), 201)
}

// One replay at a time, a few that wait, and no more than a few of anybody's; one
// more is told to come back.
func TestReplaysWait(t *testing.T) {
	g := newGame(t)
	var tokens []string
	for i := range (ReplaysWaiting + 1) / ReplaysPerToken {
		body := fmt.Sprintf(`{"handle":"reader%d","role":"spectator"}`, i)
		tokens = append(tokens, read[NewToken](t, g.ask("POST", g.path("/participants"), g.gm, body), 201).Token)
	}
	g.server.replays <- struct{}{} // one is under way
	path := g.path("/sessions/" + g.session + "/replay")
	refused := func(token string) {
		t.Helper()
		r := g.get(path, token)
		problem(t, r, "too-many-requests", "")
		if r.Header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
	var all sync.WaitGroup
	waiting := int64(0)
	for _, token := range tokens {
		for range ReplaysPerToken {
			all.Go(func() { read[SessionReplay](t, g.get(path, token), 200) })
		}
		for waiting += ReplaysPerToken; g.server.waiting.Load() < waiting; {
			time.Sleep(time.Millisecond)
		}
		refused(token)
	}
	refused(g.anna) // who has asked for nothing yet: all places are taken
	<-g.server.replays
	all.Wait()
	read[SessionReplay](t, g.get(path, tokens[0]), 200)
}

// A token reads so many whole ledgers at a time.
func TestExportsAtOnce(t *testing.T) {
	g := newGame(t)
	free := []func(){}
	for range ExportsPerToken {
		f, ok := g.server.exports.open(g.id, g.id+"/anna")
		if !ok {
			t.Fatal("refused too soon")
		}
		free = append(free, f)
	}
	problem(t, g.get(g.path("/ledger"), g.anna), "too-many-requests", "")
	if r := g.get(g.path("/ledger"), g.sven); r.StatusCode != http.StatusOK {
		t.Errorf("got %d", r.StatusCode)
	}
	for _, f := range free {
		f()
	}
	if r := g.get(g.path("/ledger"), g.anna); r.StatusCode != http.StatusOK {
		t.Errorf("got %d", r.StatusCode)
	}
}

// D19: two names that look the same are refused with the reason, and nothing
// is stored; a name that was there before keeps its place.
func TestLookalikes(t *testing.T) {
	g := newGame(t)
	create := func(name string) reply {
		return g.ask("POST", g.path("/commands"), g.gm, fmt.Sprintf(`{"type":"character.create","data":{"name":%q,"kind":"npc","creation":"free","sheet":{"strength":1}}}`, name), "Idempotency-Key", key())
	}
	before := g.size()
	for _, name := range []string{"Bob", "bob", "ВОВ", "Bоb", "Ｂｏｂ", "B0b", "Bo\u200db", "Bob\u3164", "B\u034fob", "ꓐob"} {
		p := problem(t, create(name), "rejected", "body.data.name")
		if p.Code != "looks_like" || !strings.Contains(p.Reason, "Bob") {
			t.Errorf("%s: got %+v", name, p)
		}
	}
	for _, name := range []string{"\u3164", "\u2800", "\u115f \u2800"} { // nothing but blanks for the eye
		if p := problem(t, create(name), "rejected", "body.data.name"); p.Code != "invisible" {
			t.Errorf("%q: got %+v", name, p)
		}
	}
	if g.size() != before {
		t.Error("something was stored")
	}
	read[CommandAnswer](t, create("Bill"), 200)
	problem(t, create("BiIl"), "rejected", "body.data.name") // a capital I for an l
	for _, name := range []string{"Bi1l 2", "Ella", "Elia", "ELLA 2", "ELIA 2", "Bob 2", "Zoë l'Éclair", "太郎", "مريم", "👩‍🚀", "a.b.*.>", "../x", "<b>"} {
		read[CommandAnswer](t, create(name), 200)
	}
	add := func(body string) reply { return g.ask("POST", g.path("/participants"), g.gm, body) }
	problem(t, add(`{"handle":"annа","role":"player"}`), "malformed", "body.handle")
	problem(t, add(`{"handle":"kim","role":"player","name":"Аnna"}`), "rejected", "body.name")
	problem(t, add(`{"handle":"g.rn","role":"player","name":"gm"}`), "rejected", "body.name")
	problem(t, add(`{"handle":"kim","role":"player","name":"\u3164"}`), "rejected", "body.name")
	read[NewToken](t, add(`{"handle":"kim","role":"player","name":"Kim"}`), 201)
	problem(t, add(`{"handle":"lee","role":"player","name":"KIM"}`), "rejected", "body.name")
}

// Ending or replacing the token of a handle that nobody here has is no success:
// a slip of the pen would leave a token in force that somebody believes ended.
func TestTokenOfNobody(t *testing.T) {
	g := newGame(t)
	for _, token := range []string{g.gm, adminToken} {
		for _, method := range []string{"DELETE", "POST"} {
			problem(t, g.ask(method, g.path("/participants/ana/token"), token, ""), "not-found", "")
		}
	}
	if r := g.get("/v1/me", g.anna); r.StatusCode != 200 {
		t.Errorf("got %d", r.StatusCode)
	}
	if r := g.ask("DELETE", g.path("/participants/anna/token"), g.gm, ""); r.StatusCode != 204 {
		t.Errorf("got %d %s", r.StatusCode, r.body)
	}
}
