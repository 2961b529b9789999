package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// eval runs an asynchronous function in the page; it gives what is wrong.
func (p *page) eval(body string) []string {
	p.t.Helper()
	wrong, err := chromedp.Run(p.ctx, chromedp.Evaluate[[]string](`(async () => { const wrong = []; const expect = (ok, what) => { if (!ok) wrong.push(what) }; `+body+`; return wrong })()`, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatal(err)
	}
	return wrong
}

// What is computed without WebCrypto is what WebCrypto computes, and fair dice
// are called fair.
func TestArithmetic(t *testing.T) {
	s := serve(t)
	p := open(t)
	p.visit(s.url + "/")
	for name, body := range map[string]string{
		"hashes": `const m = await import('/console/subtle.js')
expect(m.native, 'this browser has WebCrypto here')
expect(m.hex(m.plainSHA256(m.utf8('abc'))) === 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad', 'FIPS 180-4: abc')
for (const n of [0, 1, 55, 56, 63, 64, 65, 119, 120, 128, 1000, 70000]) {
  const bytes = Uint8Array.from({ length: n }, (_, i) => (i * 7 + n) % 256)
  expect(m.hex(m.plainSHA256(bytes)) === m.hex(await m.sha256(bytes)), 'SHA-256 of ' + n + ' bytes')
  for (const key of [new Uint8Array(1), new Uint8Array(32).fill(5), new Uint8Array(65).fill(9)]) expect(m.hex(m.plainHMAC(key, bytes)) === m.hex(await m.hmac(key, bytes)), 'HMAC of ' + n + ' bytes')
}
expect(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(m.uuid()), 'a UUID')`,
		// Critical values of the chi-square distribution, as every table prints them.
		"chi-square": `const m = await import('/console/fairness.js')
for (const [x, k, p] of [[3.841459, 1, 0.05], [11.0705, 5, 0.05], [16.91898, 9, 0.05], [15.08627, 5, 0.01], [20.51501, 5, 0.001], [4.351460, 5, 0.5], [30.14353, 19, 0.05], [123.2252, 99, 0.05]])
  expect(Math.abs(m.chiSquareTail(x, k) - p) < 1e-6, 'chi-square ' + x + ' with ' + k + ': ' + m.chiSquareTail(x, k))
expect(m.judge([8, 12, 9, 15, 6, 10]).words === 'As uneven as fair dice usually are.', 'p of ' + m.judge([8, 12, 9, 15, 6, 10]).p)
expect(m.judge([1, 2, 0, 1, 0, 0]).p === null, 'four throws say nothing')
expect(/Very uneven/.test(m.judge([100, 10, 10, 10, 10, 10]).words), 'a loaded die')`,
		"words": `const m = await import('/console/words.js')
expect(m.duration(3600 * 27) === '1 day 3 hours', m.duration(3600 * 27))
expect(m.duration(1) === '1 second' && m.duration(0) === 'no time' && m.duration(86400) === '1 day', 'durations')
expect(m.gameTime(86400 + 8 * 3600 + 5) === 'day 2, 08:00:05', m.gameTime(86400 + 8 * 3600 + 5))
expect(m.reckoning({ draws: [[10, 6]], modifiers: [{ value: 3 }, { value: -1 }], total: 8, against: { value: 6 }, outcome: 'success', margin: 2 }) === '6 + 3 \u2212 1 = 8 against 6: success by 2', 'a check in words')
expect(m.tell({ type: 'ember.sparks.flew', data: {} }, () => 'x').text === 'Sparks flew', 'an unknown event: ' + m.tell({ type: 'ember.sparks.flew', data: {} }, () => 'x').text)
expect(m.tell({ type: 'other.thing', data: { character: 'c', strength: 3 } }, () => 'Ada').text.includes('Ada'), 'an event of a system that is not known here')`,
	} {
		for _, wrong := range p.eval(body) {
			t.Errorf("%s: %s", name, wrong)
		}
	}
}

// Every proof between any two sizes of a ledger holds, and none holds for
// another root.
func TestProofs(t *testing.T) {
	s := serve(t)
	g := s.campaign("rpgamix")
	for range 15 {
		g.give("note.add", map[string]any{"text": "a record"})
	}
	p := open(t)
	p.enter(g, g.GM)
	wrong := p.eval(strings.ReplaceAll(`const m = await import('/console/proof.js'), { within } = await import('/console/api.js'), u = await import('/console/subtle.js')
const { get } = within('CAMPAIGN'), text = { accept: 'text/plain', text: true }
const campaign = await get('')
const heads = []
for (let size = 1; size <= campaign.counts.records; size++) heads[size] = m.readCheckpoint(await get('/checkpoint?size=' + size, text))
for (let from = 1; from < heads.length; from++) for (let to = from; to < heads.length; to++) {
  const { hashes } = await get('/proofs/consistency?from=' + from + '&to=' + to)
  expect(await m.consistent(from, heads[from].root, to, heads[to].root, hashes), 'from ' + from + ' to ' + to)
  expect(!await m.consistent(from, heads[from === 1 ? 2 : from - 1].root, to, heads[to].root, hashes), 'another root, from ' + from + ' to ' + to)
}
const lines = (await get('/ledger', { accept: 'application/x-ndjson', text: true })).trimEnd().split('\n')
for (const [n, line] of lines.entries()) {
  const receipt = await get('/proofs/inclusion?n=' + n, text)
  await m.checkReceipt(receipt, u.utf8(line), campaign.vkey)
  let refused = false
  try { await m.checkReceipt(receipt, u.utf8(line.replace('"v":1', '"v":2')), campaign.vkey) } catch { refused = true }
  expect(refused, 'record ' + n + ' was changed')
}
expect(await m.checkSignature(heads[3], campaign.vkey) === true, 'the signature')
let forged = false
try { await m.checkSignature({ ...heads[3], signed: heads[4].signed }, campaign.vkey) } catch { forged = true }
expect(forged, 'a signature over something else')`, "CAMPAIGN", g.ID))
	for _, w := range wrong {
		t.Error(w)
	}
	p.whole()
}

// A phone that comes by plain HTTP has no WebCrypto: it still takes a seat with
// chains of its own, rolls and checks.
func TestInsecureAddress(t *testing.T) {
	s := serve(t)
	g := s.campaign("rpgamix")
	mara := g.player("mara")
	g.give("session.open", map[string]any{"title": "Night", "kind": "table", "devices": true})
	p := open(t)
	p.visit(strings.Replace(s.url, "127.0.0.1", insecureHost, 1) + "/#token=" + mara)
	p.tap("Join and take my seat")
	p.sees("live")
	if js[bool](p, `isSecureContext`) {
		t.Fatal("the address is secure: this test tests nothing")
	}
	p.sees("mara has a seat, with a device")
	g.give("seating.close", map[string]any{})
	p.sees("Secrets came from the server and 1 device: mara")
	p.tap("Roll")
	p.fill("Expression", "2d6")
	p.submit("Roll dice")
	p.tap("Why this result?")
	p.sees("Everything fits")
	p.sees("signatures are not checked")
	p.whole()
}

// One asks what would have been, and sees both lines side by side.
func TestWhatIf(t *testing.T) {
	s := serve(t)
	g := playNight(t, s)
	p := open(t)
	p.enter(g.table, g.GM)
	before := g.records()
	js[bool](p, `(location.hash = `+quoted("#/c/"+g.ID+"/session/"+g.session)+`, true)`)
	p.tap("Next roll")
	p.tap("What if, from here?")
	p.fill("Other dice", "1 1 1")
	p.tap("Show both lines")
	p.sees("As it happened")
	p.sees("Otherwise")
	p.sees("The lines part at record")
	if after := g.records(); after != before {
		t.Errorf("a question made %d records", after-before)
	}
	p.whole()
}
