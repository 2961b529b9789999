package browser

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// night is a campaign in which something of everything happened.
type night struct {
	*table
	mara, tom   string // tokens
	brenna      string // characters
	session     string
	roll, wound int64
}

func playNight(t *testing.T, s *server) *night {
	t.Helper()
	g := &night{table: s.campaign("rpgamix")}
	g.mara, g.tom = g.player("mara"), g.player("tom")
	g.session = g.give("session.open", map[string]any{"title": "The first night", "kind": "table"}).Command
	g.brenna = g.character("Brenna of the Fens", "mara")
	gorm := g.character("Gorm", "tom")
	ogre := g.character("An ogre with a very long name that somebody thought up late at night", "")
	weland := g.character("Old Weland", "")
	g.give("roll", map[string]any{"expression": "3d6kh2+1", "purpose": "how the weather turns"})
	for range 3 {
		a := g.give("check", map[string]any{"character": g.brenna, "stat": "dex", "skill": "Dodge", "difficulty": 6, "purpose": "Check everything now"})
		g.roll = a.First
	}
	a := g.give("attack", map[string]any{"attacker": gorm, "target": ogre, "weapon": "Short Sword"})
	g.roll = a.First
	g.wound = g.give("wound.inflict", map[string]any{"character": g.brenna, "points": 10, "cause": "a fall from the wall"}).first("wound.inflicted")
	g.give("wound.inflict", map[string]any{"character": gorm, "points": 5, "cause": "falling stones"})
	g.give("clock.advance", map[string]any{"by": "3h"})
	g.give("wound.treat", map[string]any{"character": g.brenna, "by": weland, "stat": "int", "skill": "First Aid", "difficulty": 5}, 9)
	g.give("clock.advance", map[string]any{"by": "2d"})
	g.ask("POST", "/v1/campaigns/"+g.ID+"/commands", g.mara, map[string]any{"type": "dispute.open", "data": map[string]any{"roll": g.roll, "question": "Does the short sword not get a bonus here?"}}, &answer{})
	return g
}

// addresses are the pages of the console, by name.
func (g *night) addresses() []struct{ name, hash, waits string } {
	c := "#/c/" + g.ID
	return []struct{ name, hash, waits string }{
		{"table", c + "/table", "What happened"},
		{"character", c + "/character/" + g.brenna, "What time will do"},
		{"sessions", c + "/sessions", "The first night"},
		{"replay", c + "/session/" + g.session + fmt.Sprintf("?at=%d", g.roll), "What if, from here"},
		{"rolls", c + "/rolls", "Check everything now"},
		{"audit", c + fmt.Sprintf("/roll/%d", g.roll), "everything fits"},
		{"dice", c + "/dice", "rolls counted"},
		{"disputes", c + "/disputes", "Does the short sword"},
		{"people", c + "/people", "Invite somebody"},
		{"record", c + fmt.Sprintf("/record/%d", g.wound), "a fall from the wall"},
	}
}

// turn goes to another page of the campaign.
func (p *page) turn(g *table, page string) {
	p.t.Helper()
	js[bool](p, `(location.hash = `+quoted("#/c/"+g.ID+"/"+page)+`, true)`)
}

// look makes the page look as on a device.
func (p *page) look(dark bool, width, height int64) {
	p.t.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	p.do("look "+scheme, chromedp.EmulateViewport(width, height), chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}})
		return err
	}))
}

// devices that pages are looked at with.
var devices = []struct {
	name          string
	dark          bool
	width, height int64
}{
	{"light", false, 1280, 900},
	{"dark", true, 1280, 900},
	{"phone", false, 360, 740},
	{"phone-dark", true, 360, 740},
}

// Photographs of every page, to be looked at by people.
func TestScreenshots(t *testing.T) {
	dir := os.Getenv("TALLYSTICK_SCREENSHOTS")
	if dir == "" {
		t.Skip("TALLYSTICK_SCREENSHOTS names no folder to put photographs into")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s := serve(t)
	g := playNight(t, s)
	p := open(t)
	shoot := func(name string) {
		for _, d := range devices {
			p.look(d.dark, d.width, d.height)
			p.settled()
			png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
			if strings.HasPrefix(d.name, "phone") || name == "table" {
				png, err = chromedp.Run(p.ctx, chromedp.FullScreenshot(100))
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name+"-"+d.name+".png"), png, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	p.visit(s.url + "/")
	p.sees("Sign in")
	shoot("home")
	p.visit(s.url + "/#token=" + s.admin)
	p.sees("Start a campaign")
	p.tap("Options")
	shoot("start")
	p.visit(s.url + "/#token=" + g.mara)
	p.sees("Welcome")
	shoot("join")
	p.visit(s.url + "/#token=" + g.GM)
	p.join()
	for _, a := range g.addresses() {
		js[bool](p, `(location.hash = `+quoted(a.hash)+`, true)`)
		p.sees(a.waits)
		shoot(a.name)
	}
	p.turn(g.table, "table")
	p.sees("What happened")
	p.tap("Gorm")
	p.tap("Attack")
	p.sees("Weapon")
	shoot("attack")
	p.tap("Brenna of the Fens")
	js[bool](p, `(document.querySelector('dialog form').requestSubmit(), true)`)
	p.sees("Why this result?")
	shoot("outcome")
	p.tap("Done")
	p.tap("New character")
	p.sees("Sheet")
	shoot("create")
	p.tap("Close")
	p.tap("+ day")
	p.sees("Time has passed")
	shoot("advance")
	p.tap("Done")
	p.tap("More")
	shoot("more")
	p.tap("Close")
	p.tap("Roll")
	p.fill("Expression", "1d20")
	p.fill("Purpose", "whether the guard sleeps")
	p.fill("Who sees it", "some")
	shoot("secret-form")
	p.tap("mara")
	p.submit("Roll dice")
	p.sees("The roll is sealed")
	shoot("secret")
	p.tap("Done")
	p.tapRow("rolls in secret")
	shoot("secret-record")
	p.tap("Close")
	p.turn(g.table, "rolls")
	p.sees("For you, and not for everybody")
	p.tap("Check everything now")
	p.sees("records are good")
	shoot("checked")
	p.turn(g.table, fmt.Sprintf("roll/%d?whatif=1", g.roll))
	p.fill("Other dice", "1 1 1")
	p.tap("Show both lines")
	p.until("both lines", `document.querySelector('.two-lines')`)
	js[bool](p, `(document.querySelector('.two-lines').scrollIntoView(), true)`)
	shoot("what-if")
	p.turn(g.table, "people")
	p.fill("Handle", "kim")
	p.tap("Make the link")
	p.until("the code", `document.querySelector('dialog canvas.qr')?.width > 100`)
	shoot("link")
	p.tap("Close")
	p.turn(g.table, "record/99999")
	p.sees("No such record")
	shoot("no-record")

	empty := s.campaign("fudge")
	p.visit(s.url + "/#token=" + empty.GM)
	p.sees("Welcome")
	p.turn(empty, "table")
	p.sees("Nobody is here yet")
	shoot("empty")
	empty.give("session.open", map[string]any{"title": "Night", "kind": "table", "devices": true})
	p.tap("Take my seat")
	p.sees("gm has a seat, with a device")
	shoot("seats")
	for _, system := range []string{"perp", "fudge"} {
		other := s.campaign(system)
		p.visit(s.url + "/#token=" + other.GM)
		p.sees("Welcome")
		p.turn(other, "table")
		p.tap("New character")
		p.fill("Name", "Ada")
		shoot(system + "-create")
		p.submit("Create a character")
		p.tap("Done")
		p.tap("Sheet and story of Ada")
		p.sees("Story")
		shoot(system + "-character")
	}
	dead := s.campaign("rpgamix")
	dead.give("session.open", map[string]any{"title": "The last night", "kind": "table"})
	for _, name := range []string{"Brenna", "Gorm"} {
		dead.give("wound.inflict", map[string]any{"character": dead.character(name, ""), "points": 1000, "cause": "the dragon"})
	}
	dead.give("session.close", map[string]any{})
	p.visit(s.url + "/#token=" + s.admin)
	p.sees("Start a campaign")
	p.turn(dead, "table")
	p.sees("Nobody has a check ahead")
	shoot("dead")
	p.whole()
}

// The two pictures of the README, docs/table.png and docs/phone.png, before they
// are made small (900 pixels wide at most, 128 colours).
func TestPicturesOfTheReadme(t *testing.T) {
	dir := os.Getenv("TALLYSTICK_SCREENSHOTS")
	if dir == "" {
		t.Skip("TALLYSTICK_SCREENSHOTS names no folder to put photographs into")
	}
	s := serve(t)
	g := &night{table: s.campaign("rpgamix")}
	g.give("session.open", map[string]any{"title": "The first night", "kind": "table"})
	for _, handle := range []string{"mara", "tom"} {
		g.player(handle)
	}
	g.brenna = g.character("Brenna of the Fens", "mara")
	gorm := g.character("Gorm", "tom")
	ogre := g.character("The ogre at the ford", "")
	weland := g.character("Old Weland", "")
	g.give("roll", map[string]any{"expression": "3d6kh2+1", "purpose": "how the weather turns"})
	g.give("wound.inflict", map[string]any{"character": ogre, "points": 12, "cause": "Gorm's blow"})
	g.give("wound.inflict", map[string]any{"character": g.brenna, "points": 10, "cause": "a fall from the wall"})
	g.give("wound.inflict", map[string]any{"character": gorm, "points": 5, "cause": "falling stones"})
	g.give("clock.advance", map[string]any{"by": "3h"})
	g.give("wound.treat", map[string]any{"character": g.brenna, "by": weland, "stat": "int", "skill": "First Aid", "difficulty": 5}, 9)
	g.give("clock.advance", map[string]any{"by": "2d"})
	p := open(t)
	p.enter(g.table, g.GM)
	p.sees("Old Weland")
	g.give("check", map[string]any{"character": g.brenna, "stat": "dex", "skill": "Dodge", "difficulty": 6, "purpose": "cross the ice"})
	p.sees("cross the ice")
	for _, view := range []struct {
		name, page    string
		dark          bool
		width, height int64
	}{{"readme-table", "table", false, 1180, 900}, {"readme-phone", "character/" + g.brenna, true, 360, 900}} {
		p.turn(g.table, view.page)
		p.look(view.dark, view.width, view.height)
		p.settled()
		png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, view.name+".png"), png, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
