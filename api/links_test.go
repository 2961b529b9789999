package api

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"tallystick/events"
	"tallystick/events/journal"
	"tallystick/events/merkle"
	"tallystick/projections"
)

// press is what a browser sends when the button of a link's page is pressed; it
// follows to where the answer leads.
func (n *node) press(address string) reply {
	n.t.Helper()
	return n.ask("POST", address, "", "", "Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html")
}

// A link rolls once, when the button is pressed: not when somebody looks at it,
// whatever they look with.
func TestLinkRollsOnce(t *testing.T) {
	g := newGame(t)
	k := key()
	ask := func() LinkItem {
		return read[LinkItem](t, g.ask("POST", g.path("/links"), g.anna, `{"expression":"3d6kh2+1","purpose":"a <b>leap</b>"}`, "Idempotency-Key", k), 201)
	}
	link := ask()
	size := g.size()
	if again := ask(); again.Address != link.Address || g.size() != size {
		t.Errorf("a retry made another link: %+v, then %+v", link, again)
	}
	for _, look := range []struct{ method, agent, accept string }{
		{"GET", "Discordbot/2.0", "*/*"}, {"HEAD", "Slackbot-LinkExpanding 1.0", "*/*"}, {"GET", "Mozilla/5.0", "text/html"}, {"GET", "curl", "application/json"},
		{"PUT", "curl", ""}, {"DELETE", "curl", ""}, {"OPTIONS", "curl", ""},
	} {
		for range 2 {
			g.ask(look.method, link.Address, "", "", "User-Agent", look.agent, "Accept", look.accept, "Purpose", "prefetch")
		}
	}
	page := g.get(link.Address, "", "Accept", "text/html")
	if page.StatusCode != 200 || g.size() != size {
		t.Fatalf("got %d, and the ledger grew by %d", page.StatusCode, g.size()-size)
	}
	for _, want := range []string{`<form method="post">`, "a &lt;b&gt;leap&lt;/b&gt;", "3d6kh2&#43;1", "anna", "Ash"} {
		if !strings.Contains(string(page.body), want) {
			t.Errorf("the page has no %q:\n%s", want, page.body)
		}
	}
	for header, want := range map[string]string{
		"Content-Security-Policy": linkPolicy, "X-Robots-Tag": "noindex, nofollow", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
	} {
		if got := page.Header.Get(header); got != want {
			t.Errorf("%s: got %q, want %q", header, got, want)
		}
	}
	if strings.Contains(linkPolicy, "script") || strings.Contains(linkPolicy, "unsafe") || strings.Contains(string(page.body), "<script") {
		t.Error("the page may run scripts")
	}

	var all sync.WaitGroup // a table that presses at once, and again
	for range 10 {
		all.Go(func() {
			if r := g.press(link.Address); r.StatusCode != 200 || !strings.Contains(string(r.body), "rolled once") {
				t.Errorf("got %d %s", r.StatusCode, r.body)
			}
		})
	}
	all.Wait()
	if g.size() != size+2 {
		t.Errorf("the ledger grew by %d records, want the roll and its link", g.size()-size)
	}
	view := read[LinkView](t, g.get(link.Address, "", "Accept", "application/json"), 200)
	var roll events.RollMade
	if err := json.Unmarshal(view.Result.Roll, &roll); err != nil {
		t.Fatal(err)
	}
	if view.Roll != size || view.Rolled == nil || view.Result.By != "anna" || roll.Source != "ledger" || roll.Purpose != "a <b>leap</b>" {
		t.Errorf("got %+v of %+v", roll, view)
	}
	receipt, err := merkle.ParseReceipt([]byte(view.Receipt))
	if err != nil {
		t.Fatal(err)
	}
	line := g.stored()[size]
	if string(view.Record) != string(line) {
		t.Errorf("got %s, stored is %s", view.Record, line)
	}
	if err := receipt.Check(line, view.VKey); err != nil {
		t.Error(err)
	}
	shown := g.get(link.Address, "", "Accept", "text/html")
	for _, want := range []string{fmt.Sprintf("<h2>%d</h2>", roll.Total), "&#34;type&#34;:&#34;roll.made&#34;", strings.SplitN(view.Receipt, "\n", 2)[0], view.VKey[:20]} {
		if !strings.Contains(string(shown.body), want) {
			t.Errorf("the result has no %q:\n%s", want, shown.body)
		}
	}
	if strings.Contains(string(shown.body), "<form") || strings.Contains(string(shown.body), "<b>leap") {
		t.Errorf("got %s", shown.body)
	}
	if strings.Contains(g.log.String(), strings.TrimPrefix(link.Address, linkPath)) {
		t.Error("the log holds the address of a link")
	}
}

// A link cannot be dropped: the list has those that were never used, for
// everybody; the address is for who made it and for the game master.
func TestLinksStay(t *testing.T) {
	g := newGame(t)
	make := func() LinkItem {
		return read[LinkItem](t, g.ask("POST", g.path("/links"), g.anna, `{"expression":"1d20"}`), 201)
	}
	used, unused := make(), make()
	g.press(used.Address)
	for name, row := range map[string]struct {
		token   string
		address bool
	}{"who made it": {g.anna, true}, "game master": {g.gm, true}, "spectator": {g.sven, false}, "admin": {adminToken, false}} {
		list := read[projections.Page[LinkItem]](t, g.get(g.path("/links"), row.token), 200).Items
		if len(list) != 2 || list[0].Rolled == nil || list[1].Rolled != nil || list[1].ID != unused.ID || list[1].By != "anna" {
			t.Fatalf("%s: got %+v", name, list)
		}
		if got := list[1].Address == unused.Address; got != row.address {
			t.Errorf("%s: address %q", name, list[1].Address)
		}
	}
	problem(t, g.ask("DELETE", g.path("/links/"+unused.ID), g.gm, ""), "not-found", "")
	one := read[projections.Page[LinkItem]](t, g.get(g.path("/links?from=1&limit=1"), g.sven), 200)
	if len(one.Items) != 1 || one.Items[0].ID != unused.ID || one.Next != nil {
		t.Errorf("got %+v", one)
	}
}

// Outside a session the button says why nothing was rolled, and the link stays
// good; an address that was not given out, or of a player who left, rolls
// nothing.
func TestLinkRefused(t *testing.T) {
	g := newGame(t)
	link := read[LinkItem](t, g.ask("POST", g.path("/links"), g.anna, `{"expression":"1d20"}`), 201)
	g.command(g.gm, `{"type":"session.close","data":{}}`)
	size := g.size()
	r := g.press(link.Address)
	if r.StatusCode != 422 || !strings.Contains(string(r.body), "only inside a session") || !strings.Contains(string(r.body), "<form") || g.size() != size {
		t.Errorf("got %d %s", r.StatusCode, r.body)
	}
	problem(t, g.ask("POST", link.Address, "", "", "Accept", "application/json"), "rejected", "")
	g.command(g.gm, `{"type":"session.open","data":{"title":"Two","kind":"play-by-post"}}`)
	for _, address := range []string{link.Address[:len(link.Address)-1] + "_", link.Address[:40], linkPath + "x", linkPath + strings.Repeat("A", 64)} {
		problem(t, g.get(address, ""), "not-found", "")
		problem(t, g.ask("POST", address, "", ""), "not-found", "")
	}
	g.command(g.gm, `{"type":"participant.remove","data":{"handle":"anna"}}`)
	size = g.size()
	problem(t, g.ask("POST", link.Address, "", ""), "forbidden", "")
	if g.size() != size {
		t.Error("it rolled for somebody who has left")
	}
	problem(t, g.ask("POST", g.path("/links"), g.gm, `{"expression":"3d"}`), "rejected", "body.expression")
	problem(t, g.ask("POST", g.path("/links"), g.gm, `{"expression":"3d6","dice":1}`), "malformed", "body.dice")
}

// A link that was made before a restart rolls after it, and its page shows the
// same afterwards: pasted before the roll or behind it, it is one address.
func TestLinkOverRestart(t *testing.T) {
	store := journal.NewMemory(2)
	g := play(t, start(t, store))
	link := read[LinkItem](t, g.ask("POST", g.path("/links"), g.gm, `{"expression":"2d6"}`), 201)
	g.close()
	g.node = start(t, store)
	req, err := http.NewRequest("POST", g.http.URL+link.Address, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	res.Body.Close()
	if res.StatusCode != 303 || res.Header.Get("Location") != link.Address {
		t.Fatalf("got %d to %q", res.StatusCode, res.Header.Get("Location"))
	}
	first := g.get(link.Address, "").body
	g.close()
	g.node = start(t, store)
	if again := g.get(link.Address, "").body; string(again) != string(first) {
		t.Errorf("got %s, want %s", again, first)
	}
}
