package browser

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// From the admin's token to the first roll: one form, a session, a character.
func TestFromNothingToTheFirstRoll(t *testing.T) {
	s := serve(t)
	p := open(t)
	p.visit(s.url + "/")
	p.fill("Link or token", s.admin)
	p.tap("Sign in")
	p.fill("Name", "The Iron Road")
	p.tap("RPGamix")
	p.tap("Options")
	p.fill("Round seconds", "6")
	p.fill("May the game master override", "none")
	p.tap("Start the campaign")
	p.sees("begins")
	p.until("the code with the link", `document.querySelector('canvas.qr')?.width > 100`)
	p.tap("To the table")
	p.sees("live")
	p.tap("Open a session")
	p.submit("Open a session")
	p.tap("Done")
	p.tap("New character")
	p.fill("Name", "Brenna")
	p.submit("Create a character")
	p.tap("Done")
	p.sees("Brenna")
	p.tap("Roll")
	p.fill("Expression", "3d6")
	p.submit("Roll dice")
	p.sees("Why this result?")
	p.tap("Done")
	p.tap("+ round")
	p.sees("day 1, 00:00:06")
	if js[bool](p, `location.href.includes('token') || document.body.innerHTML.includes(`+quoted(s.admin)+`)`) {
		t.Error("a token stays in the address or on the page")
	}
	p.whole()
}

// The whole evening with devices: two browsers take seats, the secrets come by
// themselves, the player's roll cannot be foreseen, and is checked in the
// browser.
func TestDevices(t *testing.T) {
	s := serve(t)
	g := s.campaign("rpgamix")
	g.character("Brenna", "")
	mara := g.player("mara")
	gm, player := open(t), open(t)
	gm.enter(g, g.GM)
	gm.tap("Open a session")
	gm.press("the box for devices", `window.fieldOf("Devices")`)
	gm.until("the box is ticked", `window.fieldOf('Devices').checked`)
	gm.submit("Open a session")
	gm.tap("Done")
	gm.tap("Take my seat")

	player.visit(g.url + "/#token=" + mara)
	player.tap("Join and take my seat")
	player.sees("live")
	gm.sees("mara has a seat, with a device")
	gm.tap("Everybody sits: close the seats")
	for _, p := range []*page{gm, player} {
		p.sees("The dice are fixed. Secrets came from the server and 2 devices: gm, mara")
	}

	player.tap("Roll")
	player.fill("Expression", "4d10")
	player.fill("Purpose", "to be seen at once")
	player.submit("Roll dice")
	player.sees("Why this result?")
	gm.sees("to be seen at once")
	player.tap("Why this result?")
	player.sees("Everything fits")
	player.sees("The server could not foresee this roll")
	player.sees("gm, mara gave a secret to it")
	player.sees("is in the history that this device keeps")

	// A second roll goes on with the next link; the wound asks dice of the GM's lane.
	player.visit(g.url + "/#/c/" + g.ID + "/table")
	player.sees("live")
	player.tap("Roll")
	player.fill("Expression", "1d6")
	player.submit("Roll dice")
	player.sees("Why this result?")
	gm.tap("Wound")
	gm.fill("Points", "12")
	gm.fill("Cause", "a fall")
	gm.submit("Inflict a wound")
	gm.sees("Brenna is wounded")
	gm.tap("Done")

	// A declared roll is witnessed by the other device without anybody doing
	// anything. Gorm makes it, for Brenna may have passed out.
	gorm := g.character("Gorm", "")
	gm.tap("More")
	gm.tap("Declare a roll")
	gm.fill("Command", "check")
	gm.fill("Arguments", `{"character":"`+gorm+`","stat":"dex","difficulty":5}`)
	gm.fill("Purpose", "declared before all")
	gm.submit("Declare a roll")
	gm.tap("Done")
	player.sees("(declared and witnessed)")
	gm.tap("Rolls")
	gm.tap("Check everything now")
	gm.sees("records are good")
	gm.sees("only the server and the device of mara together")
	gm.whole()
	player.whole()
}

// What the game master rolls in secret is nowhere in the player's browser.
func TestSecretRoll(t *testing.T) {
	s := serve(t)
	g := s.campaign("rpgamix")
	g.give("session.open", map[string]any{"title": "Night", "kind": "table"})
	gm, player := open(t), open(t)
	player.enter(g, g.player("mara"))
	gm.enter(g, g.GM)
	gm.tap("Roll")
	gm.fill("Expression", "1d20")
	gm.fill("Purpose", "whether the guard sleeps")
	gm.fill("Who sees it", "private")
	gm.submit("Roll dice")
	gm.sees("For you only")
	gm.sees("whether the guard sleeps")
	gm.tap("Done")
	player.sees("rolls in secret")
	for _, page := range []string{"table", "rolls", "dice", "sessions"} {
		js[bool](player, `(location.hash = `+quoted("#/c/"+g.ID+"/"+page)+`, true)`)
		player.settled()
		if strings.Contains(player.text(), "guard") || js[bool](player, `document.documentElement.outerHTML.includes('guard')`) {
			t.Errorf("%s shows the secret", page)
		}
	}
	gm.tapRow("gm rolls in secret")
	gm.tap("Open this secret roll")
	gm.submit("Open a secret roll")
	gm.tap("Done")
	js[bool](player, `(location.hash = `+quoted("#/c/"+g.ID+"/table")+`, true)`)
	player.sees("whether the guard sleeps")
	player.whole()
	gm.whole()
}

// Two taps on one button are one roll, and one command has one key.
func TestDoubleTap(t *testing.T) {
	s := serve(t)
	g := s.campaign("rpgamix")
	g.give("session.open", map[string]any{"title": "Night", "kind": "table"})
	p := open(t)
	p.enter(g, g.GM)
	before := g.records()
	p.tap("Roll")
	p.fill("Expression", "1d6")
	p.until("the button", `window.find('Roll dice')`)
	js[bool](p, `(() => { const b = window.find('Roll dice'); b.click(); b.click(); b.click(); return true })()`)
	p.sees("Why this result?")
	p.tap("Done")
	p.until("the clock", `window.find('+ 10 min')`)
	js[bool](p, `(() => { const b = window.find('+ 10 min'); b.click(); b.click(); return true })()`)
	p.sees("Nothing fell due")
	if after := g.records(); after != before+2 {
		t.Errorf("%d records were made, one roll and one advance are 2", after-before)
	}
	p.whole()
}

// A lost connection shows, heals by itself, repeats nothing, and what was done
// meanwhile is done once.
func TestConnectionHeals(t *testing.T) {
	s := serve(t)
	g := s.campaign("rpgamix")
	g.give("session.open", map[string]any{"title": "Night", "kind": "table"})
	p := open(t)
	p.enter(g, g.GM)
	p.tap("Roll")
	p.fill("Expression", "1d6")
	p.fill("Purpose", "thrown into the dark")
	s.stop()
	p.sees("connection lost")
	p.submit("Roll dice")
	p.sees("This is kept and sent again, once")
	s.start()
	p.sees("Why this result?")
	p.tap("Done")
	p.until("live again", `document.querySelector('.connection').classList.contains('live')`)
	g.give("note.add", map[string]any{"text": "after the storm"})
	p.sees("after the storm")
	var page struct {
		Items []struct{} `json:"items"`
	}
	g.ask("GET", "/v1/campaigns/"+g.ID+"/events?type=roll.made", g.GM, nil, &page)
	if len(page.Items) != 1 {
		t.Errorf("%d rolls were made", len(page.Items))
	}
	if n := js[int](p, `[...document.querySelectorAll('.log .row')].filter(r => r.innerText.toLowerCase().includes('thrown into the dark')).length`); n != 1 {
		t.Errorf("the roll stands %d times in the log", n)
	}
	p.whole()
}

// A page that was closed in the middle of a command sends it again with its key.
func TestLidClosed(t *testing.T) {
	s := serve(t)
	g := s.campaign("rpgamix")
	g.give("session.open", map[string]any{"title": "Night", "kind": "table"})
	p := open(t)
	p.enter(g, g.GM)
	p.tap("Add a note")
	p.fill("Text", "written before the lid closed")
	s.stop()
	p.submit("Add a note")
	p.sees("This is kept and sent again, once")
	p.do("close the page", chromedp.Navigate("about:blank"))
	s.start()
	p.visit(g.url + "/#/c/" + g.ID + "/table")
	p.sees("written before the lid closed")
}

// A server that shows less than before, and one that shows another history,
// cannot be overlooked on any page.
func TestRollbackAndFork(t *testing.T) {
	for _, test := range []struct {
		name string
		more int
	}{{"ROLLBACK", 0}, {"FORK", 9}} {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t)
			g := s.campaign("rpgamix")
			g.give("note.add", map[string]any{"text": "the first"})
			s.stop()
			older := filepath.Join(t.TempDir(), "older")
			copyFolder(t, s.dir, older)
			s.start()
			for range 4 {
				g.give("note.add", map[string]any{"text": "what this device saw"})
			}
			p := open(t)
			p.enter(g, g.GM)
			p.tap("Rolls")
			p.sees("seal of the first 7 records")
			s.stop()
			if err := os.RemoveAll(s.dir); err != nil {
				t.Fatal(err)
			}
			copyFolder(t, older, s.dir)
			s.start()
			for range test.more {
				g.give("note.add", map[string]any{"text": "another history"})
			}
			for _, page := range []string{"table", "people"} {
				p.visit("about:blank")
				p.visit(g.url + "/#/c/" + g.ID + "/" + page)
				p.until(test.name+" on "+page, `document.querySelector('.alarm h2')?.innerText === `+quoted(test.name))
			}
			p.tap("Show the two checkpoints")
			p.sees("Kept by this device")
			p.tap("Forget what this device saw, and trust the server from now on")
			p.until("the page without the alarm", `document.querySelector('.connection.live') && !document.querySelector('.alarm')`)
		})
	}
}

// A page that is open while the server loses records does not wait in silence
// for what will never come.
func TestRollbackWhileOneLooks(t *testing.T) {
	s := serve(t)
	g := s.campaign("rpgamix")
	s.stop()
	older := filepath.Join(t.TempDir(), "older")
	copyFolder(t, s.dir, older)
	s.start()
	p := open(t)
	p.enter(g, g.GM)
	for range 4 {
		g.give("note.add", map[string]any{"text": "what this device saw"})
	}
	p.tap("Rolls")
	p.sees("seal of the first 6 records")
	s.stop()
	if err := os.RemoveAll(s.dir); err != nil {
		t.Fatal(err)
	}
	copyFolder(t, older, s.dir)
	s.start()
	p.until("the alarm", `document.querySelector('.alarm h2')?.innerText === 'ROLLBACK'`)
	p.sees("Load the page anew")
	p.whole()
}

func copyFolder(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("copy %s: %v\n%s", from, err, out)
	}
}

// Names and texts are shown as they were typed, and do nothing.
func TestNamesAreText(t *testing.T) {
	const evil = `<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>`
	s := serve(t)
	var made tokens
	s.ask("POST", "/v1/campaigns", s.admin, map[string]any{"name": evil, "system": "rpgamix"}, &made)
	g := &table{server: s, ID: made.Campaign, GM: made.GM.Token}
	n := &night{table: g}
	n.session = g.give("session.open", map[string]any{"title": evil, "kind": "table"}).Command
	n.brenna = g.character(evil, "")
	g.ask("POST", "/v1/campaigns/"+g.ID+"/participants", g.GM, map[string]any{"handle": "mara", "role": "player", "name": evil}, &struct{}{})
	n.roll = g.give("roll", map[string]any{"expression": "1d6", "purpose": evil, "character": n.brenna}).First
	n.wound = g.give("wound.inflict", map[string]any{"character": n.brenna, "points": 3, "cause": evil}).First
	g.give("note.add", map[string]any{"text": evil})
	g.give("dispute.open", map[string]any{"roll": n.roll, "question": evil})
	p := open(t)
	p.enter(g, g.GM)
	for _, a := range n.addresses() {
		js[bool](p, `(location.hash = `+quoted(a.hash)+`, true)`)
		p.settled()
		if js[bool](p, `'pwned' in window || document.querySelector('#app img[src=x], #app script') !== null`) {
			t.Errorf("%s runs what a player wrote", a.name)
		}
		if a.name != "sessions" && !strings.Contains(p.text(), "<img src=x") {
			t.Errorf("%s does not show the name as it was typed", a.name)
		}
	}
	p.whole()
}

// A dispute from the roll to the ruling, and a command that is taken back, by
// the pages alone.
func TestDisputeAndCorrection(t *testing.T) {
	s := serve(t)
	g := s.campaign("rpgamix")
	g.give("session.open", map[string]any{"title": "Night", "kind": "table"})
	brenna := g.character("Brenna", "")
	roll := g.give("check", map[string]any{"character": brenna, "stat": "dex", "difficulty": 6, "purpose": "cross the ice"}).First
	gm, player := open(t), open(t)
	player.enter(g, g.player("mara"))
	gm.enter(g, g.GM)
	js[bool](player, `(location.hash = `+quoted(fmt.Sprintf("#/c/%s/roll/%d", g.ID, roll))+`, true)`)
	player.tap("Dispute this roll")
	player.fill("Question", "Was the ice not thick?")
	player.submit("Open a dispute")
	player.tap("Done")
	gm.tap("Disputes")
	gm.sees("Was the ice not thick?")
	gm.tap("Rule on it")
	gm.fill("Ruling", "upheld")
	gm.fill("Reason", "It was thin.")
	gm.submit("Rule on a dispute")
	gm.tap("Done")
	gm.sees("It was thin.")
	player.tap("Disputes")
	player.sees("It was thin.")

	gm.tap("Table")
	gm.tap("Wound")
	gm.fill("Points", "5")
	gm.fill("Cause", "by mistake")
	gm.submit("Inflict a wound")
	gm.tap("Done")
	player.tap("Table")
	player.sees("20 / 25")
	gm.tapRow("Brenna is wounded for 5 points")
	gm.tap("Take it back")
	gm.fill("Reason", "The stone missed her.")
	gm.submit("Take a command back")
	gm.tap("Done")
	player.sees("25 / 25")
	player.sees("The stone missed her.")
	gm.whole()
	player.whole()
}

// The session can be played again, step by step, from the keyboard too.
func TestReplay(t *testing.T) {
	s := serve(t)
	g := playNight(t, s)
	p := open(t)
	p.enter(g.table, g.mara)
	p.tap("Sessions")
	p.tap("The first night")
	p.sees("Session opens: The first night")
	before := js[string](p, `document.querySelector('.player .quiet').innerText`)
	p.do("press the arrow", chromedp.KeyEvent(kb.ArrowRight))
	p.until("the next step", `document.querySelector('.player .quiet').innerText !== `+quoted(before))
	p.tap("Next roll")
	p.sees("how the weather turns")
	p.fill("Speed", "16")
	p.tap("Play")
	p.until("it plays to the end", `(n => n && n[1] === n[2])(/(\d+) of (\d+)/.exec(document.querySelector('.player .quiet').innerText))`)
	p.tap("Decide it again")
	p.sees("every record came out the same")
	p.until("the address that leads to the moment", `/at=\d+$/.test(location.hash)`)
	p.whole()
}

// Damage is told number by number, as everything that went into the dice is.
func TestDamageIsTold(t *testing.T) {
	s := serve(t)
	g := s.campaign("rpgamix")
	g.give("session.open", map[string]any{"title": "Night", "kind": "table"})
	gorm, ogre := g.character("Gorm", ""), g.character("The ogre", "")
	attack := g.give("attack", map[string]any{"attacker": gorm, "target": ogre, "weapon": "Short Sword"}, 5, 2, 9, 9)
	p := open(t)
	p.enter(g, g.player("mara"))
	p.turn(g, fmt.Sprintf("roll/%d", attack.First))
	p.sees("Damage factor")
	p.sees("per cent of it")
	p.until("a table of the damage", `document.querySelector('[aria-label^="Damage: "] tbody tr a')`)
	p.whole()
}

// A name that a keyboard writes in decomposed form is as good as any: nobody
// can see the difference, so nobody is asked to write it otherwise.
func TestDecomposedName(t *testing.T) {
	s := serve(t)
	g := s.campaign("fudge")
	p := open(t)
	p.enter(g, g.GM)
	p.tap("New character")
	p.fill("Name", "Zoe\u0308")
	p.submit("Create a character")
	p.tap("Done")
	p.sees("Zo\u00eb")
	p.whole()
}

// When a check that could kill is due is told as people tell time.
func TestWarningInWords(t *testing.T) {
	s := serve(t)
	g := s.campaign("rpgamix")
	g.give("session.open", map[string]any{"title": "Letters", "kind": "play-by-post"})
	g.give("wound.inflict", map[string]any{"character": g.character("Brenna", ""), "points": 21, "cause": "a fall"})
	g.give("tempo.set", map[string]any{"game": "1h", "wall": "1d"})
	p := open(t)
	p.enter(g, g.GM)
	p.sees("Brenna could die of the check")
	if text := p.text(); regexp.MustCompile(`\d{4}-\d\d-\d\dT`).MatchString(text) {
		t.Errorf("a time for programs is told to people:\n%s", text)
	}
	p.whole()
}

// A link that rolls once is made on the page, whose address is there to be
// copied, then and later; whoever opens it makes the roll, and the page of the
// record leads to it.
func TestLinkFromThePage(t *testing.T) {
	s := serve(t)
	g := s.campaign("rpgamix")
	g.give("session.open", map[string]any{"title": "Night", "kind": "table"})
	p, forum := open(t), open(t)
	p.enter(g, g.GM)
	p.tap("More")
	p.tap("Make a link that rolls once")
	p.fill("Expression", "3d6")
	p.fill("Purpose", "to leap over the chasm")
	if strings.Contains(p.text(), "I throw real dice") {
		t.Error("a link that is made asks for dice")
	}
	p.submit("Make a link that rolls once")
	const field = `document.querySelector('[aria-label="Address of the link"]')`
	p.until("the address", field)
	address := js[string](p, field+`.value`)
	if !strings.HasPrefix(address, s.url+"/link/") {
		t.Fatalf("the address is %q", address)
	}
	p.tap("Done")
	p.tapRow("makes a link")
	p.sees("It waits.")
	p.until("the same address", field+`?.value === `+quoted(address))
	forum.visit(address)
	forum.sees("to leap over the chasm")
	js[bool](forum, `(document.querySelector('form button').click(), true)`)
	forum.sees("receipt")
	forum.look(false, 360, 740)
	if wide := js[int](forum, `document.documentElement.scrollWidth`); wide > 360 {
		t.Errorf("the page of the link is %d pixels wide on a phone of 360", wide)
	}
	p.turn(g, fmt.Sprintf("record/%d", g.records()-3))
	p.sees("What it rolled")
	p.whole()
}
