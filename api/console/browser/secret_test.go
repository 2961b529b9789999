package browser

import (
	"fmt"
	"strings"
	"testing"
)

// reload loads the page anew, as somebody does in the middle of something.
func (p *page) reload(g *table, page string) {
	p.t.Helper()
	p.visit("about:blank")
	p.visit(g.url + "/#/c/" + g.ID + "/" + page)
	p.sees("live")
}

// Who may see a secret roll sees it as it falls and after a reload, in the log,
// among the rolls and at its record; who may not sees that it is there.
func TestSecretsAreTold(t *testing.T) {
	s := serve(t)
	g := s.campaign("rpgamix")
	g.give("session.open", map[string]any{"title": "Night", "kind": "table"})
	gm, mara, tom := open(t), open(t), open(t)
	gm.enter(g, g.GM)
	mara.enter(g, g.player("mara"))
	tom.enter(g, g.player("tom"))

	gm.tap("Roll")
	gm.fill("Expression", "1d20+40")
	gm.fill("Purpose", "what the oracle whispers")
	gm.fill("Who sees it", "some")
	gm.submit("Roll dice")
	gm.sees("Choose who sees it")
	gm.tap("mara")
	gm.submit("Roll dice")
	gm.sees("For you and mara only")
	gm.sees("What the oracle whispers")
	gm.tap("Done")
	gm.tap("Roll")
	gm.fill("Purpose", "whether the guard sleeps")
	gm.fill("Who sees it", "private")
	gm.submit("Roll dice")
	gm.sees("For you only")
	gm.tap("Done")

	mara.sees("for you and the game master only: What the oracle whispers")
	mara.tap("Roll")
	mara.fill("Expression", "1d6")
	mara.fill("Purpose", "what mara hides")
	mara.fill("Who sees it", "blind")
	mara.submit("Roll dice")
	mara.sees("For the game master only")
	mara.tap("Done")
	gm.sees("mara rolls in secret, for you only: What mara hides")

	for range 2 {
		gm.sees("gm rolls in secret, for you only: Whether the guard sleeps")
		mara.sees("gm rolls in secret, for the game master only")
		tom.sees("gm rolls in secret, for the game master and mara only")
		for who, p := range map[string]*page{"mara": mara, "tom": tom} {
			if text := p.text(); strings.Contains(text, "guard") || strings.Contains(text, "mara hides") || who == "tom" && strings.Contains(text, "whispers") {
				t.Errorf("%s reads what is not for them:\n%s", who, text)
			}
		}
		for _, p := range []*page{gm, mara, tom} {
			p.reload(g, "table")
		}
	}
	mara.turn(g, "rolls")
	mara.sees("For you, and not for everybody")
	mara.tap("What the oracle whispers")
	mara.sees("For you and the game master only")
	mara.sees("everybody can check it once")

	// The circle grows, live, and then it is everybody's.
	gm.tapRow("whether the guard sleeps")
	gm.tap("Show it to somebody")
	gm.tap("tom")
	gm.submit("Show a secret roll to more people")
	gm.tap("Done")
	tom.sees("to more people: Whether the guard sleeps")
	tom.sees("gm rolls in secret, for the game master only: Whether the guard sleeps")
	gm.tapRow("what the oracle whispers")
	gm.tap("Open this secret roll")
	gm.submit("Open a secret roll")
	gm.tap("Done")
	tom.sees("is opened: What the oracle whispers")
	tom.tapRow("is opened: What the oracle whispers")
	tom.tap("Check this record on this device")
	tom.sees("What was shown is what was sealed in record")
	tom.sees("as the ledger says")
	tom.sees("Everything fits")
	// Also of a secret that lies further back than what the feed begins with.
	for k := range 70 {
		g.give("note.add", map[string]any{"text": fmt.Sprintf("remark %d", k)})
	}
	gm.reload(g, "table")
	gm.sees("remark 69")
	js[bool](gm, `(document.querySelector('.log .windowed').scrollTop = 70 * 62, true)`)
	gm.sees("gm rolls in secret, for you only: Whether the guard sleeps")
	for _, p := range []*page{gm, mara, tom} {
		p.whole()
	}
}
