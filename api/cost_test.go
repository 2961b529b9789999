package api

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"tallystick/events/journal"
	"tallystick/rules"
	"tallystick/rules/systems"
)

// cost runs what a hostile participant asks for and returns how many bytes were
// allocated on the way, on both ends of the connection, and how many are still
// held. The time is said and not judged: the machine may be busy.
func cost(t *testing.T, what string, f func()) (allocated, kept int64) {
	t.Helper()
	var before, after, settled runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	begun := time.Now()
	f()
	took := time.Since(begun)
	runtime.ReadMemStats(&after)
	runtime.GC()
	runtime.ReadMemStats(&settled)
	allocated, kept = int64(after.TotalAlloc-before.TotalAlloc), int64(settled.HeapAlloc)-int64(before.HeapAlloc)
	t.Logf("%s: %v, %d KiB allocated, %d KiB kept", what, took.Round(10*time.Microsecond), allocated>>10, kept>>10)
	return allocated, kept
}

const (
	refusalBytes = 1 << 20  // what a refusal may allocate
	answerBytes  = 10 << 20 // what may be held after anything
)

// D02, D03, S4, S5: the largest numbers that people can think of are refused
// with the limit named, before any die is thrown: nothing is stored and hardly
// anything is allocated. Values just inside the limits work.
func TestCostOfExpressions(t *testing.T) {
	g := newGame(t)
	ask := func(body string) reply {
		return g.ask("POST", g.path("/commands"), g.anna, body, "Idempotency-Key", key())
	}
	roll := func(expression string) string {
		return fmt.Sprintf(`{"type":"roll","data":{"expression":%q}}`, expression)
	}
	ask(roll("1d6")) // connections and caches are there
	size := g.size()
	for _, expression := range []string{
		"2147483647d2147483647", "9999999d999999999", "99999999999999999999999999999999999999d5", "1d0", "0d6", "(5+(-10))d10",
		"1d1!", "1d1!!", "1d10!>0", "1d1r1", "1001d6", "1d4294967296", "9007199254740992", "9007199254740991+9007199254740991+1d6",
		strings.Repeat("(", 33) + "1d6" + strings.Repeat(")", 33), strings.Repeat("-", 40) + "1d6", strings.Repeat("1d6+", 200) + "1d6",
	} {
		var r reply
		allocated, _ := cost(t, expression[:min(len(expression), 40)], func() { r = ask(roll(expression)) })
		if r.StatusCode != 422 && r.StatusCode != 400 || allocated > refusalBytes {
			t.Errorf("%.40s: got %d and %d bytes: %s", expression, r.StatusCode, allocated, r.body)
		}
		if strings.Count(string(r.body), "\n") > 0 || len(r.body) > 2_000 {
			t.Errorf("%.40s: not one line: %s", expression, r.body)
		}
	}
	for what, body := range map[string]string{
		"one megabyte":    roll(strings.Repeat("1", 1<<20)),
		"an endless name": fmt.Sprintf(`{"type":"note.add","data":{"text":%q}}`, strings.Repeat("x", 60_000)),
		"deep JSON":       `{"type":"roll","data":` + strings.Repeat("[", 30_000) + strings.Repeat("]", 30_000) + `}`,
		"many members":    `{"type":"roll","data":{` + strings.Repeat(`"a":1,`, 5_000) + `"b":1}}`,
	} {
		var r reply
		allocated, _ := cost(t, what, func() { r = ask(body) })
		if r.StatusCode < 400 || r.StatusCode >= 500 || allocated > answerBytes {
			t.Errorf("%s: got %d and %d bytes", what, r.StatusCode, allocated)
		}
	}
	if g.size() != size {
		t.Errorf("the ledger grew from %d to %d", size, g.size())
	}
	for _, expression := range []string{"1000d4294967295", "-5d10", "1d10000!<10000", "1d10!>1", strings.Repeat("(", 32) + "1d6" + strings.Repeat(")", 32)} {
		var r reply
		_, kept := cost(t, expression, func() { r = ask(roll(expression)) })
		if r.StatusCode != 200 || kept > answerBytes {
			t.Errorf("%s: got %d and %d bytes kept: %.300s", expression, r.StatusCode, kept, r.body)
		}
	}
	_, kept := cost(t, "20 explosions at once", func() {
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { ask(roll("1d10000!<10000")) })
		}
		all.Wait()
	})
	if kept > answerBytes {
		t.Errorf("20 explosions at once keep %d bytes", kept)
	}
}

// S5: an advance of any length is refused or comes to its end, with an answer
// of bounded length; what is held after a village was left to itself for a
// thousand years is small.
func TestCostOfAdvance(t *testing.T) {
	g, _ := sickVillage(t, 50)
	for _, long := range []string{`{"by":"1000000000000d"}`, `{"seconds":9223372036854775807}`, `{"to":9007199254740992}`, `{"seconds":31557600001}`, `{"by":"99999999999999999999w"}`} {
		var r reply
		allocated, _ := cost(t, long, func() {
			r = g.ask("POST", g.path("/commands"), g.gm, `{"type":"clock.advance","data":`+long+`}`, "Idempotency-Key", key())
		})
		if r.StatusCode != 400 || allocated > refusalBytes {
			t.Errorf("%s: got %d and %d bytes: %s", long, r.StatusCode, allocated, r.body)
		}
	}
	var a CommandAnswer
	_, kept := cost(t, "a thousand years of a sick village", func() {
		a = g.command(g.gm, `{"type":"clock.advance","data":{"seconds":31557600000}}`)
	})
	t.Logf("%d records", a.Last-a.First+1)
	if len(a.Records) > 1_000 || kept > answerBytes {
		t.Errorf("%d records, %d bytes kept", len(a.Records), kept)
	}
	_, kept = cost(t, "a thousand years of the dead and the healed", func() {
		a = g.command(g.gm, `{"type":"clock.advance","data":{"seconds":31557600000}}`)
	})
	if len(a.Records) > 1_000 || kept > answerBytes {
		t.Errorf("%d records, %d bytes kept", len(a.Records), kept)
	}
}

// D02, D03: a what-if is refused with the limit named before anything is decided
// again; one within its limits holds nothing afterwards and answers with so much
// and no more, also when it sets a sick village free for a thousand years and
// carries everything on that came later. Nothing is stored by any.
func TestCostOfWhatIf(t *testing.T) {
	g, wound := sickVillage(t, 20)
	size := g.size()
	path := g.path(fmt.Sprintf("/rolls/%d/what-if", wound.First))
	ask := func(body string) reply { return g.ask("POST", path, g.gm, body) }
	ask(`{}`) // connections and caches are there
	modifiers := func(n int) string { return strings.TrimSuffix(strings.Repeat(`{"label":"x","value":1},`, n), ",") }
	faces := func(n int) string { return strings.TrimSuffix(strings.Repeat(`1,`, n), ",") }
	roll := func(expression string) string {
		return fmt.Sprintf(`{"command":{"type":"roll","data":{"expression":%q}}}`, expression)
	}
	advance := func(seconds string) string {
		return `{"command":{"type":"clock.advance","data":{"seconds":` + seconds + `}}`
	}
	for what, body := range map[string]string{
		"a horizon beyond the limit": `{"horizon":1001}`, "a horizon without end": `{"horizon":9223372036854775807}`, "a horizon behind": `{"horizon":-1}`,
		"21 modifiers": `{"modifiers":[` + modifiers(21) + `]}`, "a huge modifier": `{"modifiers":[{"label":"x","value":2147483647}]}`,
		"an endless label": `{"modifiers":[{"label":"` + strings.Repeat("x", 50_000) + `","value":1}]}`, "1,001 dice": `{"dice":[` + faces(1_001) + `]}`,
		"an edition of the future": `{"edition":1000001}`, "endless options": `{"options":{` + strings.Repeat(`"a":1,`, 5_000) + `"b":1}}`,
		"deep JSON": `{"options":{"x":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}}`,
		"huge dice": roll("2147483647d2147483647"), "dice without end": roll("1d1!"), "an endless die": roll("1d10!>0"), "more dice than may be": roll("1001d6"),
		"ten billion years": advance("315576000000000000") + `}`, "time that does not fit": advance("9223372036854775807") + `}`, "time that is no number": advance("1e400") + `}`,
		"a megabyte": `{"options":{"x":"` + strings.Repeat("x", 1<<20) + `"}}`,
	} {
		var r reply
		allocated, _ := cost(t, what, func() { r = ask(body) })
		if r.StatusCode < 400 || r.StatusCode >= 500 || len(r.body) > 2_000 || allocated > refusalBytes {
			t.Errorf("%s: got %d with %d bytes, %d allocated: %.300s", what, r.StatusCode, len(r.body), allocated, r.body)
		}
	}
	for what, body := range map[string]string{
		"the longest horizon": `{"horizon":1000}`,
		"the largest dice":    roll("1000d4294967295"), "a long explosion": roll("1d10000!<10000"),
		"a thousand years": advance("31557600000") + `,"horizon":1000}`,
	} {
		var r reply
		_, kept := cost(t, what, func() { r = ask(body) })
		if r.StatusCode != 200 || kept > answerBytes || len(r.body) > answerBytes {
			t.Errorf("%s: got %d, %d bytes, %d kept: %.300s", what, r.StatusCode, len(r.body), kept, r.body)
		}
	}
	if g.size() != size {
		t.Errorf("the ledger grew from %d to %d", size, g.size())
	}
}

// sickVillage is a campaign of so many wounded villagers; wound is what the
// first was wounded by.
func sickVillage(t *testing.T, villagers int) (g *game, wound CommandAnswer) {
	t.Helper()
	g = &game{node: startWith(t, journal.NewMemory(1), systems.Library())}
	created := read[NewCampaign](t, g.ask("POST", "/v1/campaigns", adminToken, `{"name":"Ash","system":"perp"}`), 201)
	g.id, g.gm = created.Campaign, created.GM.Token
	g.command(g.gm, `{"type":"session.open","data":{"title":"One","kind":"downtime"}}`)
	book, err := systems.Library().Find("perp", 0)
	if err != nil {
		t.Fatal(err)
	}
	sheet, err := rules.Canonical(book.Example())
	if err != nil {
		t.Fatal(err)
	}
	for i := range villagers {
		id := g.command(g.gm, fmt.Sprintf(`{"type":"character.create","data":{"name":"Villager %d","kind":"npc","creation":"free","sheet":%s}}`, i, sheet)).Command
		a := g.command(g.gm, fmt.Sprintf(`{"type":"wound.inflict","data":{"character":%q,"points":%d,"cause":"the plague"}}`, id, 3+i%20))
		if i == 0 {
			wound = a
		}
	}
	return g, wound
}

// Lists and views are asked for piece by piece, whatever is asked for.
func TestCostOfLists(t *testing.T) {
	g := newGame(t)
	for range 200 {
		g.command(g.anna, `{"type":"roll","data":{"expression":"1d6"}}`)
	}
	for _, path := range []string{"/events", "/rolls", "/characters", "/sessions", "/participants", "/secrets"} {
		for _, bad := range []string{"limit=1001", "limit=0", "limit=-1", "limit=9223372036854775808", "from=-1", "limit=1e3"} {
			var r reply
			allocated, _ := cost(t, path+"?"+bad, func() { r = g.get(g.path(path+"?"+bad), g.anna) })
			if r.StatusCode != 400 || allocated > refusalBytes {
				t.Errorf("%s?%s: got %d and %d bytes", path, bad, r.StatusCode, allocated)
			}
		}
		var r reply
		allocated, _ := cost(t, path, func() { r = g.get(g.path(path+"?limit=1000"), g.anna) })
		if r.StatusCode != 200 || allocated > answerBytes {
			t.Errorf("%s: got %d and %d bytes", path, r.StatusCode, allocated)
		}
	}
}

// A prognosis is refused when it would cost too much, and asked for in bounds.
func TestCostOfPrognosis(t *testing.T) {
	g := newGame(t)
	for _, bad := range []string{"points=1001", "points=0", "horizon=31557600001", "horizon=0", "treat=all"} {
		var r reply
		allocated, _ := cost(t, bad, func() { r = g.get(g.path("/characters/"+g.bob+"/prognosis?"+bad), g.anna) })
		if r.StatusCode != 400 || allocated > refusalBytes {
			t.Errorf("%s: got %d and %d bytes", bad, r.StatusCode, allocated)
		}
	}
	allocated, _ := cost(t, "a thousand years", func() {
		if r := g.get(g.path("/characters/"+g.bob+"/prognosis?treat=none&points=1000&horizon=31557600000"), g.anna); r.StatusCode != 200 {
			t.Errorf("got %d %s", r.StatusCode, r.body)
		}
	})
	if allocated > answerBytes {
		t.Errorf("%d bytes", allocated)
	}
}
