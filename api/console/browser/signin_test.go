package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// kept is everything that a script of the page can read: addresses, storage of
// every kind, cookies, and the page itself.
const kept = `(async () => {
  const all = [location.href, document.cookie, document.documentElement.outerHTML, JSON.stringify({ ...sessionStorage }), JSON.stringify({ ...localStorage })]
  for (const { name } of await indexedDB.databases()) {
    const db = await new Promise((done, fail) => { const ask = indexedDB.open(name); ask.onsuccess = () => done(ask.result); ask.onerror = fail })
    for (const store of db.objectStoreNames) {
      all.push(JSON.stringify(await new Promise((done, fail) => { const ask = db.transaction(store).objectStore(store).getAll(); ask.onsuccess = () => done(ask.result); ask.onerror = fail })))
    }
    db.close()
  }
  return all.join('\n')
})()`

// The token lies in a cookie that no script reads. It outlives the tab, and
// signing out ends it in every tab.
func TestSignInLasts(t *testing.T) {
	s := serve(t)
	g := s.campaign("rpgamix")
	mara := g.player("mara")
	p := open(t)
	p.enter(g, mara)
	text, err := chromedp.Run(p.ctx, chromedp.Evaluate[string](kept, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text, "mara") || strings.Contains(text, mara) {
		t.Errorf("a script can read the token, or this test looks in the wrong place")
	}
	p.visit("about:blank")
	other := p.tab()
	other.visit(g.url + "/")
	other.sees("as mara")
	other.tap("Night watch")
	other.sees("mara, player")
	p.visit(g.url + "/#/c/" + g.ID + "/rolls")
	p.sees("mara, player")
	other.tap("Sign out")
	p.sees("You are not signed in to this campaign on this device")
	p.visit("about:blank")
	p.visit(g.url + "/#/c/" + g.ID + "/table")
	p.sees("You are not signed in to this campaign on this device")
	if status := js[float64](p, `(x => (x.open('GET', '/v1/campaigns/`+g.ID+`', false), x.send(), x.status))(new XMLHttpRequest())`); status != 401 {
		t.Errorf("signed out, the server answers %v", status)
	}
	p.whole()
	other.whole()
}

// Whoever signs in as somebody else is it in every tab, and what the one
// before left unanswered is not sent in their name.
func TestAnotherSignsIn(t *testing.T) {
	s := serve(t)
	g := s.campaign("rpgamix")
	mara := g.player("mara")
	p := open(t)
	p.enter(g, g.GM)
	p.sees("gm, game master")
	js[bool](p, fmt.Sprintf(`(sessionStorage.setItem('tallystick.outbox', JSON.stringify([{ campaign: %q, by: 'gm', key: crypto.randomUUID(), command: { type: 'note.add', data: { text: 'left by the gm' } } }])), true)`, g.ID))
	other := p.tab()
	other.visit(g.url + "/#token=" + mara)
	other.join()
	p.sees("mara, player")
	p.sees("live")
	p.visit("about:blank")
	p.visit(g.url + "/#/c/" + g.ID + "/table")
	p.sees("mara, player")
	g.give("note.add", map[string]any{"text": "a later note"})
	p.sees("a later note")
	if strings.Contains(p.text(), "left by the gm") {
		t.Error("mara's browser gave the command of the game master")
	}
	p.whole()
}

// A new link for oneself ends the token one sits with: the tab goes on with the
// new one, and the link that is shown leads in.
func TestNewLinkForOneself(t *testing.T) {
	s := serve(t)
	g := s.campaign("rpgamix")
	p := open(t)
	p.enter(g, g.player("mara"))
	old := p.tab()
	old.visit(g.url + "/#/c/" + g.ID + "/table")
	old.sees("live")
	p.tap("People")
	p.tap("New link")
	p.tap("Yes")
	p.until("the link", `document.querySelector('dialog .copy input')`)
	link := js[string](p, `document.querySelector('dialog .copy input').value`)
	g.give("note.add", map[string]any{"text": "still at the table"})
	p.tap("Close")
	p.tap("Table")
	p.sees("still at the table")
	old.sees("still at the table")
	phone := open(t)
	phone.visit(link)
	phone.join()
	phone.sees("still at the table")
	for _, one := range []*page{p, old, phone} {
		one.until("live", `document.querySelector('.connection.live')`)
		one.whole()
	}
}

// The page of people makes links that are good once; whoever is invited can be
// given a character before they come.
func TestInviteFromThePage(t *testing.T) {
	s := serve(t)
	g := s.campaign("rpgamix")
	p := open(t)
	p.enter(g, g.GM)
	p.tap("People")
	p.fill("Handle", "kim")
	p.tap("Make the link")
	p.until("the code", `document.querySelector('dialog canvas.qr')?.width > 100`)
	link := js[string](p, `document.querySelector('dialog .copy input').value`)
	p.tap("Close")
	p.sees("kim player")
	g.character("Kestrel", "kim")
	phone := open(t)
	phone.visit(link)
	phone.sees("You play Kestrel")
	phone.join()
	again := open(t)
	again.visit(link)
	again.sees("This invitation was used already")
	p.whole()
	phone.whole()
}

// A link that is opened while the server is away is not lost: one tries again.
func TestSignInWhileTheServerIsAway(t *testing.T) {
	s := serve(t)
	g := s.campaign("rpgamix")
	mara := g.player("mara")
	p := open(t)
	p.visit(s.url + "/")
	p.sees("Sign in")
	s.stop()
	js[bool](p, `(location.hash = `+quoted("#token="+mara)+`, true)`)
	p.sees("The server cannot be reached")
	s.start()
	p.tap("Try again")
	p.sees("Welcome to Night watch")
	p.whole()
}
