package browser

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// axe is the accessibility checker, from npm: vendor/package.json pins it.
func axe(t *testing.T) string {
	t.Helper()
	source, err := os.ReadFile("../vendor/node_modules/axe-core/axe.min.js")
	if err != nil && os.Getenv("TALLYSTICK_BROWSER") == "required" {
		t.Fatalf("axe-core is required: run npm ci in api/console/vendor (%v)", err)
	}
	if err != nil {
		t.Skip("axe-core is not installed: run npm ci in api/console/vendor")
	}
	return string(source)
}

// check runs axe by the rules of WCAG 2.2 AA and good practice.
func (p *page) check(name, source string) {
	p.t.Helper()
	p.settled()
	js[bool](p, `(globalThis.axe || (0, eval)(`+quoted(source)+`), true)`)
	found, err := chromedp.Run(p.ctx, chromedp.Evaluate[[]string](`axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'], resultTypes: ['violations'] })
  .then(r => r.violations.map(v => v.id + ': ' + v.help + ' — ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + ' ' + (n.any[0]?.message ?? '')).join(' | ')))`, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: axe: %v", name, err)
	}
	for _, violation := range found {
		p.t.Errorf("%s: %s", name, violation)
	}
}

// No page and no window breaks a rule of WCAG 2.2 AA that a program can find,
// neither dark nor light; and none is wider than a small phone.
func TestAccessible(t *testing.T) {
	source := axe(t)
	s := serve(t)
	g := playNight(t, s)
	p := open(t)
	fits := func(name string) {
		t.Helper()
		if over := js[int](p, `document.documentElement.scrollWidth - 360`); over > 0 {
			t.Errorf("%s is %d pixels wider than the phone: %s", name, over, js[string](p, `[...document.querySelectorAll('#app *')].filter(e => e.getBoundingClientRect().right > 361 && !e.closest('.scroll, nav, pre')).slice(-3).map(e => e.outerHTML.slice(0, 120)).join('\n')`))
		}
	}
	// The windows are tall, because what a bar covers at the moment is scrolled
	// out from under it: TestFocusSeen sees to that.
	both := func(name string) {
		t.Helper()
		p.look(false, 360, 3000)
		p.check(name+" on a light phone", source)
		fits(name)
		p.look(true, 1280, 2400)
		p.check(name+" in the dark", source)
	}
	p.visit(s.url + "/")
	p.sees("Sign in")
	both("home")
	p.visit(s.url + "/#token=" + s.admin)
	p.tap("Options")
	both("start")
	p.visit(s.url + "/#token=" + g.GM)
	p.sees("Welcome")
	both("join")
	p.join()
	for _, a := range g.addresses() {
		js[bool](p, `(location.hash = `+quoted(a.hash)+`, true)`)
		p.sees(a.waits)
		both(a.name)
	}
	p.tap("Table")
	p.tap("Attack")
	p.sees("Weapon")
	both("attack")
	p.tap("Close")
	p.tap("New character")
	p.sees("Sheet")
	both("new character")
	p.tap("Close")
	p.tap("+ day")
	p.sees("Time has passed")
	both("time has passed")
	p.whole()
}

// Everything can be done from the keyboard: the window takes the focus, Escape
// closes it, and the focus goes back to where it was.
func TestKeyboard(t *testing.T) {
	s := serve(t)
	g := s.campaign("rpgamix")
	g.give("session.open", map[string]any{"title": "Night", "kind": "table"})
	g.character("Brenna", "")
	p := open(t)
	p.enter(g, g.GM)
	p.until("the table", `window.find('Roll')`)
	press := func(key string) { t.Helper(); p.do("press a key", chromedp.KeyEvent(key)) }
	for range 60 {
		press(kb.Tab)
		if js[bool](p, `document.activeElement?.innerText === 'Roll'`) {
			break
		}
	}
	press(kb.Enter)
	p.until("the focus in the window", `document.activeElement?.closest('dialog[open]')`)
	for range 20 {
		if js[bool](p, `document.activeElement === window.fieldOf('Expression')`) {
			break
		}
		press(kb.Tab)
	}
	p.do("type", chromedp.KeyEvent("2d6"))
	press(kb.Enter)
	p.sees("Why this result?")
	p.until("the focus on the way on", `document.activeElement?.innerText === 'Done'`)
	press(kb.Enter)
	p.until("the focus where it was", `!document.querySelector('dialog') && document.activeElement?.innerText === 'Roll'`)
	p.until("the result is said", `document.querySelector('[aria-live=polite].visually-hidden')?.innerText.includes('2d6')`)
	press(kb.Enter)
	p.until("a window", `document.querySelector('dialog[open]')`)
	press(kb.Escape)
	p.until("no window", `!document.querySelector('dialog')`)
	p.whole()
}

// What has the focus is not hidden under the bars at the top and the bottom,
// on a phone neither.
func TestFocusSeen(t *testing.T) {
	s := serve(t)
	g := playNight(t, s)
	p := open(t)
	p.look(false, 360, 740)
	p.enter(g.table, g.GM)
	p.sees("What happened")
	p.settled()
	seen := 0
	for range 45 {
		p.do("go on", chromedp.KeyEvent(kb.Tab))
		hidden := js[string](p, `(e => {
  if (!e || e === document.body || e === document.documentElement) return ''
  const r = e.getBoundingClientRect(), x = Math.min(Math.max(r.left + r.width / 2, 1), innerWidth - 1), y = r.top + Math.min(r.height / 2, 20)
  const on = document.elementFromPoint(x, y)
  return on && (e.contains(on) || on.contains(e)) ? 'seen' : 'hidden: ' + e.outerHTML.slice(0, 120)
})(document.activeElement)`)
		if strings.HasPrefix(hidden, "hidden") {
			t.Error(hidden)
		}
		if hidden == "seen" {
			seen++
		}
	}
	if seen < 20 {
		t.Errorf("only %d stops of the keyboard were seen", seen)
	}
}

// Three taps from the table to a blow that landed: who, what, go.
func TestThreeTaps(t *testing.T) {
	s := serve(t)
	g := s.campaign("rpgamix")
	g.give("session.open", map[string]any{"title": "Night", "kind": "table"})
	g.character("Brenna", "")
	g.character("Gorm", "")
	p := open(t)
	p.enter(g, g.GM)
	attack := func(taps ...string) {
		t.Helper()
		for _, name := range taps {
			p.tap(name)
		}
		p.until("the window's button", `document.querySelector('dialog form')`)
		js[bool](p, `(document.querySelector('dialog form button.main').click(), true)`)
		p.sees("Why this result?")
		p.tap("Done")
	}
	p.tap("Brenna") // acts from now on
	attack("Attack", "Gorm")
	if n := g.records(); n < 2 {
		t.Errorf("%d records", n)
	}
	attack("Attack") // the same again
	p.whole()
}

// Dice thrown on a real table are typed in, and one too few is said in words.
func TestTypedIn(t *testing.T) {
	s := serve(t)
	g := s.campaign("rpgamix")
	g.give("session.open", map[string]any{"title": "Night", "kind": "table"})
	p := open(t)
	p.enter(g, g.GM)
	p.tap("Roll")
	p.fill("Expression", "3d6")
	p.tap("I throw real dice")
	p.fill("Faces", "6 6")
	p.submit("Roll dice")
	p.sees("The rules ask for one more die: d6")
	p.fill("Faces", "6 6 9")
	p.submit("Roll dice")
	p.sees("but it is a d6")
	p.fill("Faces", "6 6 5")
	p.submit("Roll dice")
	p.sees("17")
	p.tap("Why this result?")
	p.sees("nobody can prove the throw")
	p.whole()
}

// With 10,000 events and 40 characters the page holds only what can be seen,
// and what is scrolled to comes.
func TestLongCampaign(t *testing.T) {
	s := serve(t)
	var made tokens
	s.ask("POST", "/v1/campaigns", s.admin, map[string]any{"name": "A long story", "system": "rpgamix", "options": map[string]any{"rpgamix.skip_certain_rolls": "false"}}, &made)
	g := &table{server: s, ID: made.Campaign, GM: made.GM.Token}
	g.give("session.open", map[string]any{"title": "Year one", "kind": "downtime"})
	for i := range 40 {
		id := g.give("character.create", map[string]any{
			"name": fmt.Sprintf("Number %d", i+1), "kind": "npc", "creation": "free",
			"sheet": map[string]any{"stats": map[string]any{"str": 0, "con": 20, "dex": 0, "per": 0, "int": 0, "wits": 0, "cha": 0, "app": 0}, "skills": map[string]any{}},
		}).Command
		g.give("wound.inflict", map[string]any{"character": id, "points": 11, "cause": "a long war"})
	}
	for g.records() < 10_000 {
		g.give("clock.advance", map[string]any{"by": "24h"})
		g.give("wound.inflict", map[string]any{"character": g.first(), "points": 1, "cause": "again"})
	}
	p := open(t)
	p.enter(g, g.GM)
	p.sees("Number 40")
	p.settled()
	nodes := `document.querySelectorAll('#app *').length`
	if n := js[int](p, nodes); n > 2500 {
		t.Errorf("the page has %d elements", n)
	}
	if n := js[int](p, `document.querySelectorAll('.log .row').length`); n > 40 {
		t.Errorf("the log has %d rows in the page", n)
	}
	js[bool](p, `(document.querySelector('.log .windowed').scrollTop = 1e9, true)`)
	p.sees("The campaign A long story begins")
	if n := js[int](p, nodes); n > 2500 {
		t.Errorf("scrolled to the end, the page has %d elements", n)
	}
	js[bool](p, `(document.querySelector('.log .windowed').scrollTop = 0, true)`)
	g.give("note.add", map[string]any{"text": "the newest of all"})
	p.sees("the newest of all")
	p.whole()
}

// first is a character that still lives.
func (g *table) first() string {
	g.t.Helper()
	var page struct {
		Items []struct {
			ID    string `json:"id"`
			Alive bool   `json:"alive"`
		} `json:"items"`
	}
	g.ask("GET", "/v1/campaigns/"+g.ID+"/characters", g.GM, nil, &page)
	for _, c := range page.Items {
		if c.Alive {
			return c.ID
		}
	}
	g.t.Fatal("everybody is dead")
	return ""
}

// All three books are played with the same pages: forms come from their schemas.
func TestEverySystem(t *testing.T) {
	s := serve(t)
	for _, system := range []string{"rpgamix", "perp", "fudge"} {
		t.Run(system, func(t *testing.T) {
			g := s.campaign(system)
			g.t = t
			p := open(t)
			p.enter(g, g.GM)
			p.tap("Open a session")
			p.submit("Open a session")
			p.tap("Done")
			p.tap("New character")
			p.fill("Name", "Ada")
			p.submit("Create a character")
			p.tap("Done")
			p.sees("Ada")
			p.tap("Ada")
			p.tap("Roll")
			p.fill("Expression", "2d6+1")
			p.submit("Roll dice")
			p.tap("Done")
			p.tap("More")
			for _, title := range commandTitles(g, system) {
				p.until(title, `window.area().innerText.includes(`+quoted(title)+`)`)
			}
			p.tap("Close")
			p.tap("Sheet and story of Ada")
			p.sees("Story")
			p.whole()
		})
	}
}

// commandTitles are the titles of what only one system has.
func commandTitles(g *table, system string) []string {
	g.t.Helper()
	var view struct {
		Commands []struct {
			Type  string `json:"type"`
			Title string `json:"title"`
		} `json:"commands"`
	}
	g.ask("GET", "/v1/systems/"+system, g.GM, nil, &view)
	var titles []string
	for _, c := range view.Commands {
		if strings.HasPrefix(c.Type, system+".") {
			titles = append(titles, c.Title)
		}
	}
	return titles
}
