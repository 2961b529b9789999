package browser

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// What was typed into a form is there again after the page was loaded anew, or
// the window was closed by mistake; once it is sent, the form begins afresh.
func TestReloadInMidForm(t *testing.T) {
	s := serve(t)
	g := s.campaign("rpgamix")
	p := open(t)
	p.enter(g, g.GM)
	p.tap("Add a note")
	p.fill("Text", "a long story, half told")
	p.reload(g, "table")
	p.tap("Add a note")
	p.until("what was typed", `window.fieldOf('Text')?.value === 'a long story, half told'`)
	p.tap("Close")
	p.tap("Add a note")
	p.until("what was typed", `window.fieldOf('Text')?.value === 'a long story, half told'`)
	p.submit("Add a note")
	p.tap("Done")
	p.tap("Add a note")
	p.until("an empty form", `window.fieldOf('Text')?.value === ''`)
	p.whole()
}

// An address that leads nowhere says so, and leads back.
func TestWrongAddresses(t *testing.T) {
	s := serve(t)
	g := s.campaign("rpgamix")
	g.give("session.open", map[string]any{"title": "Night", "kind": "table"})
	p := open(t)
	p.enter(g, g.GM)
	for page, says := range map[string]string{
		"record/99999":               "No such record",
		"record/-1":                  "No such record",
		"record/1e3":                 "No such record",
		"roll/abc":                   "No such record",
		"roll/99999":                 "No such record",
		"record/99999999999999999":   "No such record",
		"character/nobody":           "There is no such character",
		"session/nothing":            "Session",
		"session/%E0%A4%A":           "Session",
		"nowhere":                    "What happened",
		"%E0%A4%A/%00/../..":         "What happened",
		"roll/3?whatif=1&at=<img>":   "Record 3",
		"record/0":                   "The campaign Night watch begins",
		"session/" + "x/y?at=%zz%ff": "Session",
	} {
		p.turn(g, page)
		p.sees(says)
		p.settled()
		if text := p.text(); strings.Contains(text, "Loading") {
			t.Errorf("%s loads for ever:\n%s", page, text)
		}
	}
	// The newest record has none after it until there is one.
	p.turn(g, fmt.Sprintf("record/%d", g.records()-1))
	p.sees("Before it")
	p.settled()
	if js[bool](p, `Boolean(window.find('After it'))`) {
		t.Error("the way on from the newest record leads nowhere")
	}
	g.give("note.add", map[string]any{"text": "one more"})
	p.tap("After it")
	p.sees("one more")
	p.whole()
}

// A thousand dice, numbers of fifteen digits and names of two hundred letters
// fit on a phone.
func TestHugeThings(t *testing.T) {
	s := serve(t)
	g := s.campaign("rpgamix")
	session := g.give("session.open", map[string]any{"title": strings.Repeat("night ", 30), "kind": "table"}).Command
	long := g.character(strings.Repeat("Wolfeschlegelsteinhausen", 8), "")
	g.character(strings.Repeat("ڪ", 200), "")
	g.give("wound.inflict", map[string]any{"character": long, "points": 5, "cause": strings.Repeat("M", 200)})
	g.give("clock.advance", map[string]any{"by": "300000d"})
	g.give("roll", map[string]any{"expression": "1000d4294967295", "purpose": strings.Repeat("wwww", 50)})
	dice := g.give("roll", map[string]any{"expression": "1000d6"}).First
	g.give("note.add", map[string]any{"text": strings.Repeat("lots of text ", 300)})
	g.give("note.add", map[string]any{"text": strings.Repeat("W", 4000)})
	p := open(t)
	p.look(false, 360, 740)
	p.enter(g, g.GM)
	fits := func(what string) {
		t.Helper()
		p.settled()
		if over := js[int](p, `document.documentElement.scrollWidth - 360`); over > 0 {
			t.Errorf("%s is %d pixels wider than the phone", what, over)
		}
		if over := js[int](p, `(d => d ? d.scrollWidth - d.clientWidth : 0)(document.querySelector('dialog[open]'))`); over > 0 {
			t.Errorf("%s has a window %d pixels wider than it is", what, over)
		}
		if n := js[int](p, `document.querySelectorAll('#app *').length`); n > 1500 {
			t.Errorf("%s has %d elements", what, n)
		}
	}
	p.sees("What happened")
	p.sees("day 300001")
	fits("the table")
	for _, row := range []string{"with 1000 dice", "lots of text", "WWWWWWWWWW"} {
		p.tapRow(row)
		fits(row)
		p.tap("Close")
	}
	p.tap("Attack")
	p.sees("Weapon")
	fits("the form of an attack")
	p.tap("Close")
	p.turn(g, fmt.Sprintf("roll/%d", dice))
	p.sees("Everything fits")
	p.sees("and 960 dice more")
	fits("the roll")
	p.turn(g, "character/"+long)
	p.sees("Story")
	fits("the character")
	for _, page := range []string{"rolls", "sessions", "disputes", "dice", "people"} {
		p.turn(g, page)
		fits(page)
	}
	p.turn(g, "session/"+session)
	p.sees("Session opens")
	fits("the replay")
	p.whole()
}

// Those who only look on are offered nothing that they may not do, and see no
// more than they may.
func TestLookingOn(t *testing.T) {
	s := serve(t)
	g := s.campaign("rpgamix")
	g.give("session.open", map[string]any{"title": "Night", "kind": "table", "devices": true})
	g.character("Brenna", "")
	var made struct {
		Token string `json:"token"`
	}
	g.ask("POST", "/v1/campaigns/"+g.ID+"/participants", g.GM, map[string]any{"handle": "olga", "role": "spectator"}, &made)
	for who, token := range map[string]string{"olga, spectator": made.Token, "admin, looking on": s.admin} {
		p := open(t)
		p.visit(g.url + "/#token=" + token)
		p.sees(map[bool]string{true: "Start a campaign", false: "Welcome"}[token == s.admin])
		p.turn(g, "table")
		p.sees(who)
		p.sees("live")
		p.sees("Brenna")
		for _, name := range []string{"Roll", "Attack", "More", "+ round", "custom", "New character", "Close the session", "Take my seat", "Everybody sits: close the seats", "Add a note"} {
			if js[bool](p, `Boolean(window.find(`+quoted(name)+`))`) {
				t.Errorf("%s is offered %q", who, name)
			}
		}
		p.tapRow("enters the story")
		p.sees("The record as it is stored")
		if js[bool](p, `Boolean(window.find('Take it back'))`) {
			t.Errorf("%s is offered to take something back", who)
		}
		p.whole()
	}
}

// A table where nobody lives, and no session is open: everything still stands
// there, and what cannot be done is refused in a sentence.
func TestDeadPartyClosedSession(t *testing.T) {
	s := serve(t)
	g := s.campaign("rpgamix")
	g.give("session.open", map[string]any{"title": "The last night", "kind": "table"})
	for _, name := range []string{"Brenna", "Gorm"} {
		g.give("wound.inflict", map[string]any{"character": g.character(name, ""), "points": 1000, "cause": "the dragon"})
	}
	g.give("session.close", map[string]any{})
	p := open(t)
	p.enter(g, g.GM)
	p.sees("No session is open")
	p.sees("Nobody has a check ahead")
	p.tap("Roll")
	p.fill("Expression", "1d6")
	p.submit("Roll dice")
	p.until("the refusal in words", `document.querySelector('dialog .trouble')?.innerText.toLowerCase().includes('session')`)
	p.tap("Close")
	p.tap("Attack")
	p.submit("Attack")
	p.until("a word on who is missing", `document.querySelector('dialog .trouble, dialog :invalid')`)
	p.tap("Close")
	p.tap("+ day")
	p.sees("Nothing fell due")
	p.tap("Done")
	p.tap("Sheet and story of Brenna")
	p.sees("Dead.")
	p.sees("dies: ")
	p.whole()
}

// What is rolled while one looks at the list of rolls comes into it.
func TestRollsComeLive(t *testing.T) {
	s := serve(t)
	g := s.campaign("rpgamix")
	g.give("session.open", map[string]any{"title": "Night", "kind": "table"})
	p := open(t)
	p.enter(g, g.GM)
	p.tap("Rolls")
	p.sees("Nothing was rolled in this session")
	for _, purpose := range []string{"the first of all", "the second"} {
		g.give("roll", map[string]any{"expression": "1d6", "purpose": purpose})
		p.sees(purpose)
	}
	if n := js[int](p, `document.querySelectorAll('.row.roll').length`); n != 2 {
		t.Errorf("%d rows for 2 rolls", n)
	}
	p.whole()
}

// What happened before one looked, or while the connection was lost, is marked
// off from what comes live.
func TestBacklogIsMarked(t *testing.T) {
	s := serve(t)
	g := s.campaign("rpgamix")
	p := open(t)
	p.enter(g, g.GM)
	edge := func(text string) {
		t.Helper()
		p.until("the mark at "+text, `(e => e.length === 1 && e[0].innerText.includes(`+quoted(text)+`) && e[0].innerText.toLowerCase().includes('live from here'))(document.querySelectorAll('.log .row.edge'))`)
	}
	g.give("note.add", map[string]any{"text": "while one looks"})
	edge("while one looks")
	s.stop()
	p.sees("connection lost")
	s.start()
	g.give("note.add", map[string]any{"text": "perhaps not seen"})
	p.until("live again", `document.querySelector('.connection.live')`)
	p.sees("perhaps not seen")
	g.give("session.open", map[string]any{"title": "The next night", "kind": "table"})
	edge("The next night")
	p.sees("Close the session")
	p.whole()
}

// Under a stream of events without a pause, the page still does what it does
// now and then: it looks at the seals, and follows the session.
func TestNoPauseNeeded(t *testing.T) {
	s := serve(t)
	g := s.campaign("rpgamix")
	p := open(t)
	p.enter(g, g.GM)
	p.sees("live")
	for _, wrong := range p.eval(`const { Store } = await import('/console/store.js')
const store = new Store('x')
let ran = 0, slow = 0, together = 0, failed = 0
for (let k = 0; k < 30; k++) {
  store.later('often', () => { ran++ }, 100)
  store.later('slow', async () => { together = Math.max(together, ++slow); await new Promise(r => setTimeout(r, 60)); slow-- }, 5)
  await new Promise(r => setTimeout(r, 20))
}
expect(ran >= 2, 'asked for without a pause, it ran ' + ran + ' times')
expect(together === 1, 'it runs ' + together + ' times at once')
store.later('fails', () => { if (!failed++) throw new TypeError('nothing can be reached') }, 1)
for (let k = 0; k < 400 && failed < 2; k++) await new Promise(r => setTimeout(r, 20))
expect(failed === 2, 'what failed was tried ' + failed + ' times')`) {
		t.Error(wrong)
	}
	p.whole()
}

// The Enter key sends the forms of the pages, and Escape closes a window even
// when the browser does it without asking.
func TestEnterAndEscape(t *testing.T) {
	s := serve(t)
	g := s.campaign("rpgamix")
	p := open(t)
	p.visit(s.url + "/")
	enter := func(label string) {
		t.Helper()
		p.until("the field "+label, `(f => f && (f.focus(), document.activeElement === f))(window.fieldOf(`+quoted(label)+`))`)
		p.do("press Enter", chromedp.KeyEvent(kb.Enter))
	}
	p.fill("Link or token", g.GM)
	enter("Link or token")
	p.sees("Welcome to Night watch")
	p.turn(g, "people")
	p.fill("Handle", "kim")
	enter("Name")
	p.sees("Link for kim")
	p.tap("Close")
	p.turn(g, "table")
	for range 2 {
		p.tap("Wound")
		p.sees("Cause")
		js[bool](p, `(document.querySelector('dialog').close(), true)`)
		p.until("no window", `!document.querySelector('dialog')`)
	}
	p.whole()
}

// A server that is too busy to answer has signed nobody out: the page waits and
// comes when there is an answer.
func TestBusyServerSignsNobodyOut(t *testing.T) {
	s := serve(t)
	g := s.campaign("rpgamix")
	p := open(t)
	p.enter(g, g.GM)
	p.visit("about:blank")
	p.do("let the server be busy", chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: `
const real = window.fetch
let left = 2
window.fetch = (path, ...rest) => /\/characters\?/.test(path) && left-- > 0 ? Promise.resolve(new Response('{"type":"/problems/too-many-requests","detail":"too many requests"}', { status: 429 })) : real(path, ...rest)`})
		return err
	}))
	p.visit(g.url + "/#/c/" + g.ID + "/table")
	p.sees("Too many requests")
	p.sees("What happened")
	p.sees("live")
	p.whole()
}

// However fast events come, what a page loads for them it loads once a second
// at most: a long night must not use up what one token may ask.
func TestLoadsArePaced(t *testing.T) {
	s := serve(t)
	g := s.campaign("rpgamix")
	g.give("session.open", map[string]any{"title": "Night", "kind": "table"})
	brenna := g.character("Brenna", "")
	p := open(t)
	p.enter(g, g.GM)
	for page, path := range map[string]string{"character/" + brenna: "/timeline", "disputes": "/disputes", "rolls": "/rolls?"} {
		p.turn(g, page)
		p.settled()
		for k := range 25 {
			g.give("wound.inflict", map[string]any{"character": brenna, "points": 1, "cause": fmt.Sprintf("scratch %d", k)})
			g.give("heal.grant", map[string]any{"character": brenna, "points": 1, "cause": "a kiss"})
			g.give("roll", map[string]any{"expression": "1d6"})
		}
		loads := js[[]float64](p, `performance.getEntriesByType('resource').filter(e => e.name.includes(`+quoted(path)+`)).map(e => e.startTime)`)
		if len(loads) == 0 {
			t.Errorf("%s loaded nothing: this test looks in the wrong place", page)
		}
		for k := 2; k < len(loads); k++ { // the first two may be what one came for
			if pause := loads[k] - loads[k-1]; pause < 900 {
				t.Errorf("%s: load %d of %d came %.0f ms after the one before", page, k+1, len(loads), pause)
			}
		}
	}
	p.whole()
}

// The admin looks on, and makes a new link for a table that is locked out.
func TestAdminLetsIn(t *testing.T) {
	s := serve(t)
	g := s.campaign("rpgamix")
	p := open(t)
	p.visit(s.url + "/#token=" + s.admin)
	p.sees("Start a campaign")
	p.turn(g, "people")
	p.tap("New link")
	p.tap("Yes")
	p.until("the link", `document.querySelector('dialog .copy input')`)
	gm := open(t)
	gm.visit(js[string](p, `document.querySelector('dialog .copy input').value`))
	gm.join()
	gm.sees("gm, game master")
	p.tap("Close")
	p.sees("admin, looking on")
	p.whole()
	gm.whole()
}
