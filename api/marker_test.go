package api

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"tallystick/events"
	"tallystick/events/journal"
	"tallystick/rules"
	"tallystick/rules/systems"
)

// The long form of the check below; docs/reliability.md has what it gave.
var (
	nights     = flag.Int("nights", 3, "how many campaigns at random TestRandomNights plays")
	firstNight = flag.Uint64("first-night", 2, "the seed of the first of them")
)

// plot plays a campaign at random, with secrets of every kind in it, and knows
// by itself who may see which.
type plot struct {
	*night
	random *rand.Rand
	system string
	hidden []hidden
	public []int64 // n of rolls that everybody sees
	done   map[string]int
	told10 map[string]string
	closed bool

	dispute string // id of the last one
}

// hidden is something sealed.
type hidden struct {
	marker, by, open string // open is the data's member that names it, empty once it was opened
	shown            []string
	blind            bool
	n                int64
}

// atTable are those who take part to the end.
var atTable = []string{"anna", "bo", "sven", "gm", "gm2"}

// mark is a word that stands nowhere else.
func (p *plot) mark(kind string) string {
	word := make([]byte, 16)
	for i := range word {
		word[i] = byte('g' + p.random.IntN(20)) // no hexadecimal digit
	}
	return "Zq" + kind + string(word)
}

func (p *plot) one(of ...string) string { return of[p.random.IntN(len(of))] }

func (p *plot) token(handle string) string {
	return p.callers("")[handle]
}

// give gives a command that the dice or the state of the game may make impossible.
func (p *plot) give(kind, by, typ, data, visibility string) (a CommandAnswer, ok bool) {
	body := fmt.Sprintf(`{"type":%q,"data":%s`, typ, data)
	if visibility != "" {
		body += `,"visibility":` + visibility
	}
	r := p.ask("POST", p.path("/commands"), p.token(by), body+"}", "Idempotency-Key", key())
	if r.StatusCode != http.StatusOK && r.StatusCode != http.StatusUnprocessableEntity {
		p.t.Fatalf("%s by %s: %d %s", body, by, r.StatusCode, r.body)
	}
	if r.StatusCode == http.StatusOK {
		p.done[kind]++
		a = read[CommandAnswer](p.t, r, 200)
	}
	return a, r.StatusCode == http.StatusOK
}

// plotted plays the campaign of a seed.
func plotted(t *testing.T, seed uint64) *plot {
	library := systems.Library()
	book := library[seed%uint64(len(library))]
	n := startWith(t, journal.NewMemory(1), library)
	p := &plot{
		night:  &night{game: &game{node: n}, at: map[string]int64{}, rolls: map[string]bool{}, sees: map[string][]string{}, more: map[string]string{}},
		random: rand.New(rand.NewPCG(seed, 7)), system: book.Name(), done: map[string]int{}, told10: map[string]string{},
	}
	created := read[NewCampaign](t, p.ask("POST", "/v1/campaigns", adminToken, fmt.Sprintf(`{"name":%q,"system":%q,"policy":{"overrides":"shown_later"}}`, p.everybody("name"), p.system)), 201)
	p.id, p.gm = created.Campaign, created.GM.Token
	p.people()
	sheet, err := rules.Canonical(book.Example())
	if err != nil {
		t.Fatal(err)
	}
	p.session = p.command(p.gm, fmt.Sprintf(`{"type":"session.open","data":{"title":%q,"kind":"table"}}`, p.everybody("title"))).Command
	p.bob = p.command(p.gm, fmt.Sprintf(`{"type":"character.create","data":{"name":%q,"kind":"pc","owner":"anna","creation":"free","sheet":%s}}`, p.everybody("pc"), sheet)).Command
	for range 45 {
		p.step()
	}
	return p
}

// everybody is a word that everybody at the table may see, and the admin.
func (p *plot) everybody(kind string) string {
	word := p.mark(kind)
	p.sees[word] = append(slices.Clone(atTable), "admin")
	return word
}

// people join, and some go again; what their tokens are is told to nobody.
func (p *plot) people() {
	p.sees[p.gm] = nil
	for _, who := range []struct {
		handle, role string
		into         *string
	}{{"anna", "player", &p.anna}, {"bo", "player", &p.bo}, {"sven", "spectator", &p.sven}, {"gm2", "gm", &p.gm2}, {"removed", "gm", nil}, {"revoked", "gm", nil}} {
		token := read[NewToken](p.t, p.ask("POST", p.path("/participants"), p.gm, fmt.Sprintf(`{"handle":%q,"role":%q}`, who.handle, who.role)), 201).Token
		if p.sees[token] = nil; who.into != nil {
			*who.into = token
			continue
		}
		p.more[who.handle] = token
	}
	for _, path := range []string{"/participants/removed", "/participants/revoked/token"} {
		if r := p.ask("DELETE", p.path(path), p.gm, ""); r.StatusCode != http.StatusNoContent {
			p.t.Fatalf("%s: %d %s", path, r.StatusCode, r.body)
		}
	}
}

// shared gives a command whose data has a word in it that everybody at the
// table may see, and the admin.
func (p *plot) shared(kind, by, typ, data string) (a CommandAnswer, ok bool) {
	word := p.mark(strings.ReplaceAll(kind, " ", ""))
	if a, ok = p.give(kind, by, typ, fmt.Sprintf(data, word), ""); ok {
		p.sees[word] = append(slices.Clone(atTable), "admin")
	}
	return a, ok
}

// seal notes what was sealed.
func (p *plot) seal(h hidden, roll bool) {
	p.hidden = append(p.hidden, h)
	p.at[h.marker], p.rolls[h.marker] = h.n, roll
	p.settle(&h)
	if !roll {
		return
	}
	content, ok, err := p.ledger.Show(p.t.Context(), p.id, "gm", h.n)
	var made events.RollMade
	if err == nil && ok {
		err = json.Unmarshal(content, &made)
	}
	if err != nil || !ok {
		p.t.Fatalf("%s: %v, %v", h.marker, ok, err)
	}
	for _, d := range made.Draws {
		p.told10[fmt.Sprint(d[1])] = h.marker
	}
	p.told10[fmt.Sprint(made.Total)] = h.marker
}

// settle says who may see something: the game masters; who rolled, unless it is
// blind; those named; and once it is opened everybody.
func (p *plot) settle(h *hidden) {
	may := []string{"gm", "gm2"}
	if !h.blind {
		may = append(append(may, h.by), h.shown...)
	}
	if h.open == "" {
		may = append(slices.Clone(atTable), "admin")
	}
	p.sees[h.marker] = may
}

// seals of one kind that are not opened.
func (p *plot) sealed(open string) (all []*hidden) {
	for i := range p.hidden {
		if p.hidden[i].open == open {
			all = append(all, &p.hidden[i])
		}
	}
	return all
}

// step is one thing that happens.
func (p *plot) step() {
	switch kind := p.random.IntN(16); kind {
	case 0, 1, 2:
		p.secretRoll()
	case 3:
		marker, by := p.mark("check"), p.one("anna", "gm")
		data := map[string]string{
			"rpgamix": `{"character":%q,"stat":"per","difficulty":7,"purpose":%q}`, "perp": `{"character":%q,"traits":["Athletic"],"difficulty":6,"purpose":%q}`,
			"fudge": `{"character":%q,"trait":"Dodge","difficulty":"Fair","modifiers":[{"label":%q,"value":1}]}`,
		}[p.system]
		if a, ok := p.give("secret check", by, "check", fmt.Sprintf(data, p.bob, marker), `"blind"`); ok {
			p.seal(hidden{marker: marker, by: by, open: "roll", blind: true, n: a.Last}, false) // few sides: what seeds give proves nothing
		}
	case 4, 5:
		if a, ok := p.shared("roll", p.one("anna", "bo", "gm"), "roll", `{"expression":"1d20","purpose":%q}`); ok {
			p.public = append(p.public, a.Last)
		}
	case 6:
		p.shared("note", p.one("anna", "bo", "gm2"), "note.add", `{"text":%q}`)
	case 7:
		marker, by := p.mark("target"), p.one("gm", "gm2")
		if a, ok := p.give("target", by, "target.seal", fmt.Sprintf(`{"target":{"value":%d,"purpose":%q}}`, p.random.IntN(1_000_000), marker), ""); ok {
			p.seal(hidden{marker: marker, by: by, open: "target", n: a.Last}, false)
		}
	case 8:
		if len(p.public) == 0 {
			return
		}
		marker, by := p.mark("ruling"), p.one("gm", "gm2")
		data := fmt.Sprintf(`{"roll":%d,"outcome":"a hit","reason":%q}`, p.public[p.random.IntN(len(p.public))], marker)
		if a, ok := p.give("ruling", by, "ruling.make", data, ""); ok {
			p.seal(hidden{marker: marker, by: by, open: "ruling", n: a.Last}, false)
		}
	case 9:
		p.widen()
	case 10:
		open := p.one("roll", "target", "ruling")
		all := p.sealed(open)
		if len(all) == 0 {
			return
		}
		h := all[0]
		if _, ok := p.give(open+" opened", "gm", open+".open", fmt.Sprintf(`{%q:%d}`, open, h.n), ""); ok {
			h.open = ""
			p.rolls[h.marker] = false // its dice are known
			p.settle(h)
		}
	case 11:
		harm := map[bool]string{true: `"level":"Scratch"`, false: `"points":1`}[p.system == "fudge"]
		p.shared("wound", "gm", "wound.inflict", fmt.Sprintf(`{"character":%q,%s,"cause":%%q}`, p.bob, harm))
	case 12:
		p.give("advance", "gm", "clock.advance", `{"seconds":60}`, "")
	case 13:
		p.beside()
	case 14:
		a, ok := p.shared("dispute", p.one("anna", "sven"), "dispute.open", fmt.Sprintf(`{"roll":%d,"question":%%q}`, p.roll()))
		if ok {
			p.dispute = a.Command
		}
	case 15:
		if p.closed || len(p.hidden) < 8 {
			return
		}
		p.closed = true
		p.give("closed", "gm", "session.close", `{}`, "")
		for _, h := range p.sealed("ruling") { // they are shown then
			h.open = ""
			p.settle(h)
		}
		p.shared("opened again", "gm", "session.open", `{"title":%q,"kind":"table"}`)
	}
}

// roll is a public one; one is made if there is none.
func (p *plot) roll() int64 {
	if len(p.public) == 0 {
		p.public = append(p.public, p.command(p.gm, `{"type":"roll","data":{"expression":"1d20"}}`).Last)
	}
	return p.public[p.random.IntN(len(p.public))]
}

func (p *plot) secretRoll() {
	h := hidden{marker: p.mark("secret"), by: p.one("anna", "bo", "gm", "gm2"), open: "roll"}
	visibility := p.one(`"private"`, `"blind"`, `["bo"]`, `["sven"]`, `["anna","sven"]`)
	if h.blind = visibility == `"blind"`; visibility[0] == '[' {
		if err := json.Unmarshal([]byte(visibility), &h.shown); err != nil {
			p.t.Fatal(err)
		}
	}
	if a, ok := p.give("secret roll", h.by, "roll", fmt.Sprintf(`{"expression":"3d4294967295","purpose":%q}`, h.marker), visibility); ok {
		h.n = a.Last
		p.seal(h, true)
	}
}

// widen shows a secret roll to more people.
func (p *plot) widen() {
	all := p.sealed("roll")
	if len(all) == 0 {
		return
	}
	h := all[p.random.IntN(len(all))]
	named := slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(h.shown), p.one("anna", "bo", "sven")))))
	text, err := json.Marshal(named)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, ok := p.give("widened", "gm2", "roll.widen", fmt.Sprintf(`{"roll":%d,"shown_to":%s}`, h.n, text), ""); ok {
		h.blind, h.shown = false, named
		p.settle(h)
	}
}

// beside is a secret that is not in the ledger: of a webhook, an invitation, a
// link.
func (p *plot) beside() {
	switch p.random.IntN(3) {
	case 0:
		by, marker := p.one("anna", "bo", "gm"), p.mark("hook")
		made := read[NewWebhook](p.t, p.ask("POST", p.path("/webhooks"), p.token(by), fmt.Sprintf(`{"url":"https://receiver.invalid/%s"}`, marker)), 201)
		p.sees[made.Secret], p.sees[marker] = nil, []string{by, "gm", "gm2"}
	case 1:
		name := p.mark("guest")
		made := read[NewInvitation](p.t, p.ask("POST", p.path("/invitations"), p.gm, fmt.Sprintf(`{"handle":"guest%d","role":"gm","name":%q}`, p.random.IntN(1000), name)), 201)
		p.sees[made.Token], p.sees[name] = nil, []string{"gm", "gm2"}
	case 2:
		by := p.one("anna", "bo", "gm")
		made := read[LinkItem](p.t, p.ask("POST", p.path("/links"), p.token(by), fmt.Sprintf(`{"expression":"1d6","purpose":%q}`, p.everybody("link"))), 201)
		p.sees[strings.TrimPrefix(made.Address, linkPath)] = []string{by, "gm", "gm2"}
	}
	p.done["beside the ledger"]++
}

// asking is a walk over everything in the campaign, which asks for some of its
// records by their n.
func (p *plot) asking() *walk {
	w := newWalk(p.night)
	w.forms, w.plain, w.told10, w.link = true, testing.Short(), p.told10, "none"
	if p.dispute != "" {
		w.dispute = p.dispute
	}
	for _, i := range p.random.Perm(len(p.hidden))[:min(2, len(p.hidden))] {
		w.some = append(w.some, p.hidden[i].n)
	}
	if w.some = append(w.some, p.roll()); testing.Short() {
		w.some, w.seeds = w.some[:1], nil
	}
	return w
}

// S3: in campaigns at random of every system, with secrets of every kind, every
// operation of the document tells everybody what they may see and nobody
// anything else. Each secret has a word of its own and dice of ten digits; who
// may see it the test knows by itself.
func TestRandomNights(t *testing.T) {
	done, campaigns, words, asked := map[string]int{}, 0, 0, 0
	eachNight(t, func(t *testing.T, p *plot) {
		w := p.asking()
		w.everywhere(play(t, startWith(t, journal.NewMemory(1), library())).gm)
		if !testing.Short() { // TestNoRouteTellsASecret does that too
			w.computes()
		}
		log := p.log.String()
		for marker := range p.sees {
			if strings.Contains(log, marker) {
				t.Errorf("the log tells %s", marker)
			}
		}
		for kind, times := range p.done {
			done[kind] += times
		}
		campaigns, words, asked = campaigns+1, words+len(p.sees), asked+w.asked
	})
	for _, kind := range []string{"secret roll", "secret check", "target", "beside the ledger"} {
		if done[kind] == 0 {
			t.Errorf("no %s ever happened", kind)
		}
	}
	t.Logf("%d campaigns with %d words, %d requests; what happened: %v", campaigns, words, asked, done)
}

// The controls: whatever tells a secret that it should not, wherever in an
// answer it does, is noticed.
func TestRandomNightsSeeLeaks(t *testing.T) {
	p := plotted(t, *firstNight)
	var secret *hidden
	for i := range p.hidden {
		if h := &p.hidden[i]; h.open == "roll" && !slices.Contains(p.sees[h.marker], "sven") && p.rolls[h.marker] {
			secret = h
		}
	}
	if secret == nil {
		t.Fatal("there is no secret roll")
	}
	number := ""
	for digits, marker := range p.told10 {
		if marker == secret.marker && len(digits) == 10 {
			number = digits
		}
	}
	handler := p.server.Handler()
	honest := p.http
	for name, leak := range map[string]func(w http.ResponseWriter, path string) string{
		"nothing":   func(http.ResponseWriter, string) string { return "" },
		"a header":  func(w http.ResponseWriter, _ string) string { w.Header().Set("ETag", secret.marker); return "" },
		"a body":    func(_ http.ResponseWriter, _ string) string { return secret.marker },
		"the dice":  func(_ http.ResponseWriter, _ string) string { return number },
		"a token":   func(_ http.ResponseWriter, _ string) string { return p.bo },
		"an absent": func(w http.ResponseWriter, _ string) string { w.Header().Set("X-Why", p.sven); return "" },
	} {
		if name == "the dice" && number == "" {
			continue // they fell low
		}
		leaky := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			more := ""
			if strings.HasSuffix(r.URL.Path, "/participants") && r.Method == http.MethodGet {
				more = leak(w, r.URL.Path)
			}
			handler.ServeHTTP(w, r)
			_, _ = w.Write([]byte(more)) // fails where the answer is not JSON any more, which is as well
		}))
		p.http = leaky
		w, wrong := p.asking(), 0
		w.wrong = func(string, ...any) { wrong++ }
		op := p.server.api.OpenAPI().Paths["/v1/campaigns/{campaign}/participants"].Get
		w.route("GET", "/v1/campaigns/{campaign}/participants", p.path("/participants"), "sven", p.sven, op)
		if (wrong > 0) != (name != "nothing") {
			t.Errorf("leaking %s: %d noticed", name, wrong)
		}
		leaky.Close()
	}
	p.http = honest
}

// R11: whatever was played, a campaign reads the same when its views are folded
// anew, on another node over the same journal, and on another server that
// imported it; and there it is exported to the same bytes.
func TestRandomNightsReadTheSame(t *testing.T) {
	eachNight(t, func(t *testing.T, p *plot) {
		w := p.asking()
		// reads is what everybody reads, by address and caller, of what is in
		// the ledger.
		reads := func(n *node, callers map[string]string) map[string]string {
			all := map[string]string{}
			for path, item := range n.server.api.OpenAPI().Paths {
				if item.Get == nil || !strings.HasPrefix(path, "/v1/campaigns/{campaign}") || strings.Contains(path, "/webhooks") || strings.Contains(path, "/tempo") {
					continue // those are not in the ledger; the tempo tells the time on the wall
				}
				for _, address := range w.addresses(path, item.Get) {
					for who, token := range callers {
						all[who+" "+address] = fingerprint(n.get(address, token))
					}
				}
			}
			return all
		}
		same := func(what string, want, got map[string]string) {
			t.Helper()
			if len(got) == 0 {
				t.Errorf("%s: nothing was read", what)
			}
			for address, said := range got {
				if said != want[address] {
					t.Errorf("%s: %s is\n%.300s\nand not\n%.300s", what, address, said, want[address])
				}
			}
		}
		callers := map[string]string{"gm": p.gm, "admin": adminToken}
		want := reads(p.node, callers)
		if err := p.hub.Reload(t.Context(), p.id); err != nil {
			t.Fatal(err)
		}
		same("folded anew", want, reads(p.node, callers))
		same("another node", want, reads(startWith(t, p.journal, systems.Library()), callers))

		bundle := p.get(p.path("/ledger"), p.gm, "Accept", mediaZip).body
		kept := testKeys
		defer func() { testKeys = kept }()
		testKeys.Signing, testKeys.Master = bytes.Repeat([]byte{9}, 32), bytes.Repeat([]byte{8}, 32)
		elsewhere := startWith(t, journal.NewMemory(1), systems.Library())
		read[Import](t, elsewhere.send(mediaZip, bundle), 201)
		if back := elsewhere.get(p.path("/ledger"), adminToken, "Accept", mediaZip).body; !bytes.Equal(back, bundle) {
			t.Error("it is exported to other bytes")
		}
		got := reads(elsewhere, map[string]string{"admin": adminToken})
		for address := range got {
			if strings.Contains(address, "/links") || strings.Contains(address, "/tokens") || strings.Contains(address, "/checkpoint?") || strings.Contains(address, "/proofs/") {
				delete(got, address) // it has no keys and no tokens of that server
			}
		}
		same("imported", want, got)
	})
}

// eachNight hands on one campaign at random after the other.
func eachNight(t *testing.T, f func(t *testing.T, p *plot)) {
	times := uint64(*nights)
	if testing.Short() {
		times = 1
	}
	for i := range times {
		t.Run(fmt.Sprint(*firstNight+i), func(t *testing.T) { f(t, plotted(t, *firstNight+i)) })
	}
}

// fingerprint is what an answer says, but for the id of its request.
func fingerprint(r reply) string {
	return fmt.Sprint(r.StatusCode, " ", r.Header.Get("ETag"), " ", requestMember.ReplaceAllString(string(r.body), ""))
}

var requestMember = regexp.MustCompile(`"request":"[^"]*"`)
