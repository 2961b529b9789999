package browser

import (
	"strings"
	"testing"
)

// Two tabs of one participant share the device's chains: they roll in turn, and
// neither is taken for a server that asks for too much.
func TestTwoTabsOneSeat(t *testing.T) {
	s := serve(t)
	g := s.campaign("rpgamix")
	mara := g.player("mara")
	g.give("session.open", map[string]any{"title": "Night", "kind": "table", "devices": true})
	p := open(t)
	p.visit(g.url + "/#token=" + mara)
	p.tap("Join and take my seat")
	p.sees("mara has a seat, with a device")
	other := p.tab()
	other.visit(g.url + "/#/c/" + g.ID + "/table")
	other.sees("live")
	g.give("seating.close", map[string]any{})
	p.sees("The dice are fixed")
	other.sees("The dice are fixed")
	for _, one := range []*page{p, other, other, p, other} {
		one.tap("Roll")
		one.fill("Expression", "1d6")
		one.submit("Roll dice")
		one.sees("Why this result?")
		one.tap("Done")
	}
	for _, one := range []*page{p, other} {
		if strings.Contains(one.text(), "Nothing was given away") {
			t.Errorf("one tab does not know what the other gave\n%s", one.text())
		}
		one.whole()
	}
}

// Two tabs that change what the device keeps at the same moment lose nothing.
func TestTwoTabsOneStore(t *testing.T) {
	s := serve(t)
	p := open(t)
	p.visit(s.url + "/")
	for _, wrong := range p.eval(`const d = await import('/console/device.js')
await Promise.all(Array.from({ length: 40 }, () => d.update('alarms', 'count', n => (n ?? 0) + 1)))
expect(await d.load('alarms', 'count') === 40, 'counted ' + await d.load('alarms', 'count') + ' of 40')
let refused = ''
await d.update('alarms', 'count', () => { throw new Error('no') }).catch(e => { refused = e.message })
expect(refused === 'no', 'what goes wrong is not told: ' + refused)
expect(await d.load('alarms', 'count') === 40, 'what failed was kept')
const c = await import('/console/chains.js'), stale = { ...await c.make('campaign', 'session'), lane: 'mara' }
for (const i of [1, 2, 3]) {
  expect((await c.linkFor(stale, i)).i === i, 'link ' + i)
  await c.spend(stale, i) // in another tab: this one's copy stays as it was
}`) {
		t.Error(wrong)
	}
}

// A browser has few connections to one server. However many tabs are open, the
// one that is looked at works, and so do the others when one comes back.
func TestManyTabs(t *testing.T) {
	s := serve(t)
	g := s.campaign("rpgamix")
	first := open(t)
	first.enter(g, g.GM)
	last, second := first, first
	for k := range 8 {
		last.hidden(true)
		last = first.tab()
		if k == 0 {
			second = last
		}
		last.visit(g.url + "/#/c/" + g.ID + "/table")
		last.sees("live")
	}
	last.tap("Add a note")
	last.fill("Text", "from the ninth tab")
	last.submit("Add a note")
	last.tap("Done")
	last.sees("from the ninth tab")
	first.sees("from the ninth tab") // it listens for all of them
	last.hidden(true)
	second.hidden(false)
	second.sees("from the ninth tab")
	first.whole()
	second.whole()
	last.whole()
}
