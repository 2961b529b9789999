package api

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"tallystick/api/ledger"
	"tallystick/api/webhooks"
	"tallystick/events"
	"tallystick/events/journal"
	"tallystick/events/merkle"
	"tallystick/projections/feed"
	"tallystick/rules"
)

const adminToken = "tally_" + "00000000000000000000000000000000000000000000000000000000000000ad"

// node is a server over a journal, as main puts it together.
type node struct {
	t       testing.TB
	journal journal.Journal
	ledger  *ledger.Ledger
	hub     *feed.Hub
	hooks   atomic.Pointer[webhooks.Hooks]
	server  *Server
	http    *httptest.Server
	stop    func() // the webhooks
	log     *safeBuffer
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

var testKeys = ledger.Keys{Master: bytes.Repeat([]byte{1}, 32), Signing: bytes.Repeat([]byte{2}, 32)}

func library() rules.Library {
	return rules.Library{rules.NewBook(toy{"toy"}), rules.NewBook(toy{"game"})}
}

// start brings a node up on a journal; the journal outlives it.
func start(t testing.TB, j journal.Journal) *node { return startWith(t, j, library()) }

func startWith(t testing.TB, j journal.Journal, library rules.Library, options ...feed.Option) *node {
	t.Helper()
	n := &node{t: t, journal: j, log: &safeBuffer{}}
	log := slog.New(slog.NewTextHandler(n.log, nil))
	n.hub = feed.NewHub(j, options...)
	if err := n.hub.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var err error
	n.ledger, err = ledger.New(t.Context(), ledger.Config{Journal: j, Library: library, Keys: testKeys, Server: "test.example", Committed: n.committed, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := ledger.NewTokens(t.Context(), j, adminToken)
	if err != nil {
		t.Fatal(err)
	}
	hooks, err := webhooks.Open(t.Context(), webhooks.Config{
		Journal: j, Ledger: n.ledger, Master: testKeys.Master, Version: "test", Alone: true, Log: log,
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Delays: testDelays, Timeout: testTimeout,
	})
	if err != nil {
		t.Fatal(err)
	}
	n.hooks.Store(hooks)
	n.stop = running(t, hooks)
	n.server, err = New(Config{Ledger: n.ledger, Hub: n.hub, Tokens: tokens, Library: library, Journal: j, Webhooks: hooks, Version: "test", Log: log})
	if err != nil {
		t.Fatal(err)
	}
	n.http = httptest.NewServer(n.server.Handler())
	t.Cleanup(n.close)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(n.log.String())
		}
	})
	return n
}

// testDelays are those between attempts to reach a webhook's receiver.
var testDelays = []time.Duration{time.Millisecond, 2 * time.Millisecond}

// testTimeout is how long a webhook's receiver may take.
var testTimeout = 20 * time.Second

// running delivers until the function it returns was called.
func running(t testing.TB, hooks *webhooks.Hooks) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		hooks.Run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

func (n *node) committed(c journal.Commit) {
	n.hub.Notify(c)
	if hooks := n.hooks.Load(); hooks != nil {
		hooks.Wake(c.Campaign)
	}
}

func (n *node) close() {
	n.stop()
	n.server.stop()
	n.http.Close()
	n.ledger.Close()
	n.hub.Close()
}

// reply is an answer that was read.
type reply struct {
	*http.Response
	body []byte
}

// ask sends a request; headers come in pairs.
func (n *node) ask(method, path, token, body string, headers ...string) reply {
	n.t.Helper()
	req, err := http.NewRequest(method, n.http.URL+path, strings.NewReader(body))
	if err != nil {
		n.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		n.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		n.t.Fatal(err)
	}
	return reply{res, b}
}

func (n *node) get(path, token string, headers ...string) reply {
	n.t.Helper()
	return n.ask(http.MethodGet, path, token, "", headers...)
}

// read fails the test unless the status is as wanted, and decodes the body.
func read[T any](t testing.TB, r reply, status int) T {
	t.Helper()
	var v T
	if r.StatusCode != status {
		t.Fatalf("%s %s: got %d, want %d: %s", r.Request.Method, r.Request.URL.Path, r.StatusCode, status, r.body)
	}
	if err := json.Unmarshal(r.body, &v); err != nil {
		t.Fatalf("%v in %s", err, r.body)
	}
	return v
}

// problem fails the test unless the answer is a problem of this kind that
// names the location ("" for none).
func problem(t testing.TB, r reply, slug, location string) Problem {
	t.Helper()
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.Slug == slug })
	if r.StatusCode != kinds[i].Status {
		t.Fatalf("%s %s: got %d, want %d (%s): %s", r.Request.Method, r.Request.URL.Path, r.StatusCode, kinds[i].Status, slug, r.body)
	}
	if ct := r.Header.Get("Content-Type"); ct != "application/problem+json" {
		t.Errorf("content type %q", ct)
	}
	p := read[Problem](t, r, kinds[i].Status)
	if p.Type != ProblemPath+slug || p.Status != kinds[i].Status || p.Title == "" || p.Detail == "" {
		t.Errorf("got %s, want %s with title and detail", r.body, slug)
	}
	if p.Request == "" || p.Request != r.Header.Get("X-Request-Id") || p.Instance != r.Request.URL.EscapedPath() {
		t.Errorf("request %q, instance %q: %s", p.Request, p.Instance, r.body)
	}
	if location != "" && !slices.ContainsFunc(p.Errors, func(e FieldError) bool { return e.Location == location && e.Message != "" }) {
		t.Errorf("errors do not name %s: %s", location, r.body)
	}
	for _, secret := range []string{"goroutine", "/home/", "/tmp/", ".go:", adminToken, "a secret reason"} {
		if bytes.Contains(r.body, []byte(secret)) {
			t.Errorf("the problem says %q: %s", secret, r.body)
		}
	}
	return p
}

// game is a campaign in which everything is there to be asked for.
type game struct {
	*node
	id, gm, anna, sven string // campaign and tokens
	session, bob       string
}

func key() string { return uuid.Must(uuid.NewV7()).String() }

// play opens a campaign with a session, a character of anna's and a roll.
func play(t testing.TB, n *node) *game {
	t.Helper()
	return playOf(t, n, `{"name":"Ash","system":"toy"}`)
}

// playOf is play in a campaign that is asked for in other words.
func playOf(t testing.TB, n *node, campaign string) *game {
	t.Helper()
	g := &game{node: n}
	created := read[NewCampaign](t, n.ask("POST", "/v1/campaigns", adminToken, campaign), 201)
	g.id, g.gm = created.Campaign, created.GM.Token
	g.anna = read[NewToken](t, n.ask("POST", g.path("/participants"), g.gm, `{"handle":"anna","role":"player"}`), 201).Token
	g.sven = read[NewToken](t, n.ask("POST", g.path("/participants"), g.gm, `{"handle":"sven","role":"spectator"}`), 201).Token
	g.session = g.command(g.gm, `{"type":"session.open","data":{"title":"One","kind":"table"}}`).Command
	g.bob = g.command(g.gm, `{"type":"character.create","data":{"name":"Bob","kind":"pc","owner":"anna","creation":"free","sheet":{"strength":3}}}`).Command
	g.command(g.anna, `{"type":"roll","data":{"expression":"2d6","purpose":"luck"}}`)
	return g
}

func (g *game) path(rest string) string { return "/v1/campaigns/" + g.id + rest }

func (g *game) command(token, body string) CommandAnswer {
	g.t.Helper()
	return read[CommandAnswer](g.t, g.ask("POST", g.path("/commands"), token, body, "Idempotency-Key", key()), 200)
}

func (g *game) size() int64 {
	g.t.Helper()
	size, err := g.ledger.Size(g.t.Context(), g.id)
	if err != nil {
		g.t.Fatal(err)
	}
	return size
}

// stored is the ledger, read around the API.
func (g *game) stored() [][]byte {
	g.t.Helper()
	var lines [][]byte
	err := g.journal.Read(g.t.Context(), g.id, 0, func(c journal.Commit) error {
		lines = append(lines, events.SplitCommit(c.Payload)...)
		return nil
	})
	if err != nil {
		g.t.Fatal(err)
	}
	return lines
}

func newGame(t testing.TB) *game {
	t.Helper()
	return play(t, start(t, journal.NewMemory(2)))
}

// A command's answer holds its records byte for byte, and a receipt that an
// offline check accepts.
func TestCommandAnswer(t *testing.T) {
	g := newGame(t)
	r := g.ask("POST", g.path("/commands"), g.anna, `{"type":"check","data":{"character":"`+g.bob+`","difficulty":7}}`, "Idempotency-Key", strings.ToUpper(key()))
	a := read[CommandAnswer](t, r, 200)
	lines := g.stored()
	if a.First != int64(len(lines)-1) || a.Last != a.First || len(a.Records) != 1 {
		t.Fatalf("first %d, last %d, %d records of %d", a.First, a.Last, len(a.Records), len(lines))
	}
	if !bytes.Contains(r.body, lines[a.First]) {
		t.Errorf("the answer does not hold the record as stored:\n%s\n%s", r.body, lines[a.First])
	}
	if a.Command != strings.ToLower(a.Command) {
		t.Errorf("the key was not lower-cased: %s", a.Command)
	}
	receipt, err := merkle.ParseReceipt([]byte(a.Receipt))
	if err != nil {
		t.Fatal(err)
	}
	campaign := read[struct {
		VKey string `json:"vkey"`
	}](t, g.get(g.path(""), g.sven), 200)
	if err := receipt.Check(lines[a.First], campaign.VKey); err != nil {
		t.Error(err)
	}
}

// Text that could be written in two ways leaves as it is stored.
func TestRecordsKeepTheirBytes(t *testing.T) {
	g := newGame(t)
	text := "<b>Zoë</b> said \"no\" 👩‍🚀 & 東京 \u2028-free"
	body, err := json.Marshal(map[string]any{"type": "note.add", "data": map[string]string{"text": strings.ReplaceAll(text, "\u2028", "")}})
	if err != nil {
		t.Fatal(err)
	}
	r := g.ask("POST", g.path("/commands"), g.gm, string(body), "Idempotency-Key", key())
	a := read[CommandAnswer](t, r, 200)
	line := g.stored()[a.First]
	page := g.get(g.path(fmt.Sprintf("/events?from=%d", a.First)), g.gm)
	all := g.get(g.path("/ledger"), g.gm)
	for where, b := range map[string][]byte{"answer": r.body, "events": page.body, "ledger": all.body} {
		if !bytes.Contains(b, line) {
			t.Errorf("%s does not hold %s", where, line)
		}
	}
}

// A record that some other program wrote in another spelling stays as it is.
func TestFormatKeepsSpelling(t *testing.T) {
	record := `{"z":1,"a":"\u00e9\/\u003c","n":-0.10e1}`
	var out bytes.Buffer
	if err := format.Marshal(&out, commandAnswer(ledger.Answer{Records: [][]byte{[]byte(record)}})); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), record) {
		t.Errorf("got %s, want %s in it", &out, record)
	}
}

// A key gives the recorded answer again; with another command it is refused.
func TestRetry(t *testing.T) {
	g := newGame(t)
	k := key()
	post := func(body string) reply { return g.ask("POST", g.path("/commands"), g.gm, body, "Idempotency-Key", k) }
	first := read[CommandAnswer](t, post(`{"type":"roll","data":{"expression":"3d6"}}`), 200)
	size := g.size()
	again := read[CommandAnswer](t, post(`{"data":{"expression":"3d6"}, "type":"roll"}`), 200)
	if !again.Repeated || first.Repeated || string(again.Records[0]) != string(first.Records[0]) {
		t.Errorf("got %v, then %v", first, again)
	}
	problem(t, post(`{"type":"roll","data":{"expression":"3d8"}}`), "key-reused", "header.Idempotency-Key")
	if g.size() != size {
		t.Errorf("the ledger grew from %d to %d", size, g.size())
	}
}

// Twenty retries at once make one roll (D09).
func TestParallelRetries(t *testing.T) {
	g := newGame(t)
	size, k := g.size(), key()
	var wg sync.WaitGroup
	answers := make([]CommandAnswer, 20)
	for i := range answers {
		wg.Go(func() {
			r := g.ask("POST", g.path("/commands"), g.anna, `{"type":"roll","data":{"expression":"4d6"}}`, "Idempotency-Key", k)
			answers[i] = read[CommandAnswer](t, r, 200)
		})
	}
	wg.Wait()
	for _, a := range answers {
		if len(a.Records) != 1 || string(a.Records[0]) != string(answers[0].Records[0]) {
			t.Errorf("got %s, want %s", a.Records, answers[0].Records)
		}
	}
	if g.size() != size+1 {
		t.Errorf("the ledger grew by %d records, want 1", g.size()-size)
	}
}

// What must hold of a malformed command, and what else a body can have wrong: the right
// status, a problem that names the member, nothing stored.
func TestRefusals(t *testing.T) {
	g := newGame(t)
	huge := strings.Repeat("1", 1<<20)
	cases := []struct {
		name, body, slug, location string
	}{
		{"no body", ``, "unsupported-media-type", ""},
		{"empty object", `{}`, "malformed", "body.type"},
		{"not an object", `[]`, "malformed", ""},
		{"unknown member", `{"type":"roll","data":{"expression":"1d6"},"extra":1}`, "malformed", "body.extra"},
		{"member twice", `{"type":"roll","type":"roll","data":{"expression":"1d6"}}`, "malformed", "body.type"},
		{"other case", `{"Type":"roll","data":{"expression":"1d6"}}`, "malformed", "body.Type"},
		{"something behind", `{"type":"roll","data":{"expression":"1d6"}} {}`, "malformed", "body"},
		{"cut off", `{"type":"roll","data":{"expression":`, "malformed", ""},
		{"not UTF-8", "{\"type\":\"note.add\",\"data\":{\"text\":\"\xff\"}}", "malformed", ""},
		{"unknown command", `{"type":"rool","data":{}}`, "malformed", "body.type"},
		{"wrong type", `{"type":7}`, "malformed", "body.type"},
		{"unknown field", `{"type":"roll","data":{"expresion":"1d6"}}`, "malformed", "body.data.expresion"},
		{"missing field", `{"type":"roll","data":{}}`, "malformed", "body.data.expression"},
		{"no data", `{"type":"roll"}`, "malformed", "body.data.expression"},
		{"field twice", `{"type":"roll","data":{"expression":"1d6","expression":"9d9"}}`, "malformed", ""},
		{"field of other case", `{"type":"roll","data":{"EXPRESSION":"1d6"}}`, "malformed", "body.data.EXPRESSION"},
		{"unknown character", `{"type":"wound.inflict","data":{"character":"nobody","points":1,"cause":"x"}}`, "rejected", "body.data.character"},
		{"negative wound", `{"type":"wound.inflict","data":{"character":"` + g.bob + `","points":-1,"cause":"x"}}`, "malformed", "body.data.points"},
		{"endless wound", `{"type":"wound.inflict","data":{"character":"` + g.bob + `","points":9223372036854775808,"cause":"x"}}`, "malformed", "body.data.points"},
		{"fraction", `{"type":"wound.inflict","data":{"character":"` + g.bob + `","points":1.5,"cause":"x"}}`, "malformed", "body.data.points"},
		{"a million million days", `{"type":"clock.advance","data":{"by":"1000000000000d"}}`, "malformed", "body.data.by"},
		{"as seconds", `{"type":"clock.advance","data":{"seconds":86400000000000000}}`, "malformed", "body.data.seconds"},
		{"a second too long", `{"type":"clock.advance","data":{"seconds":31557600001}}`, "malformed", "body.data.seconds"},
		{"beyond int64", `{"type":"clock.advance","data":{"seconds":99999999999999999999999}}`, "malformed", "body.data.seconds"},
		{"huge dice", `{"type":"roll","data":{"expression":"2147483647d2147483647"}}`, "rejected", "body.data.expression"},
		{"malformed dice", `{"type":"roll","data":{"expression":"3d"}}`, "rejected", "body.data.expression"},
		{"impossible face", `{"type":"roll","data":{"expression":"1d6"},"dice":{"faces":[7]}}`, "rejected", "body.dice.faces.0"},
		{"too few dice", `{"type":"roll","data":{"expression":"2d6"},"dice":{"faces":[6]}}`, "rejected", "body.dice.faces"},
		{"no faces", `{"type":"roll","data":{"expression":"2d6"},"dice":{"faces":[]}}`, "malformed", "body.dice.faces"},
		{"another word", `{"type":"roll","data":{"expression":"2d6"},"visibility":"hidden"}`, "malformed", "body.visibility"},
		{"seen by a number", `{"type":"roll","data":{"expression":"2d6"},"visibility":7}`, "malformed", "body.visibility"},
		{"seen by no list", `{"type":"roll","data":{"expression":"2d6"},"visibility":[]}`, "malformed", "body.visibility"},
		{"secret for a stranger", `{"type":"roll","data":{"expression":"2d6"},"visibility":["nobody"]}`, "rejected", "body.visibility"},
		{"secret by hand", `{"type":"roll","data":{"expression":"1d6"},"dice":{"faces":[6]},"visibility":"private"}`, "rejected", "body.dice"},
		{"secret wound", `{"type":"wound.inflict","data":{"character":"` + g.bob + `","points":1,"cause":"x"},"visibility":"private"}`, "rejected", "body.visibility"},
		{"a seal of one's own", `{"type":"roll.seal","data":{"seal":"` + strings.Repeat("0", 64) + `"}}`, "forbidden", ""},
		{"program's own", `{"type":"clock.resume","data":{"command":"x","part":1}}`, "forbidden", ""},
		{"second creation", `{"type":"campaign.create","data":{"name":"x","system":"toy","gm":"x","vkey":"x"}}`, "forbidden", ""},
		{"newline in a name", `{"type":"character.create","data":{"name":"a\nb","kind":"npc","creation":"free","sheet":{"strength":1}}}`, "malformed", "body.data.name"},
		{"sheet out of bounds", `{"type":"character.create","data":{"name":"a","kind":"npc","creation":"free","sheet":{"strength":11}}}`, "malformed", "body.data.sheet.strength"},
		{"one megabyte", `{"type":"roll","data":{"expression":"` + huge + `"}}`, "too-large", ""},
		{"just too large", `{"type":"roll","data":{"expression":"` + huge[:MaxBody] + `"}}`, "too-large", ""},
		{"second session", `{"type":"session.open","data":{"title":"Two","kind":"table"}}`, "rejected", ""},
	}
	size := g.size()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := g.ask("POST", g.path("/commands"), g.gm, c.body, "Idempotency-Key", key())
			p := problem(t, r, c.slug, c.location)
			if c.slug == "rejected" && (p.Code == "" || p.Reason == "") {
				t.Errorf("code and reason are missing: %s", r.body)
			}
			if g.size() != size {
				t.Errorf("the ledger grew from %d to %d", size, g.size())
			}
		})
	}
	if strings.Contains(g.log.String(), "panic") {
		t.Error("something panicked")
	}
}

// The body's limit is exact: 64 KiB are read, one byte more is not.
func TestBodyLimit(t *testing.T) {
	g := newGame(t)
	body := `{"type":"note.add","data":{"text":"x"}}`
	body += strings.Repeat(" ", MaxBody-len(body))
	post := func(b string) reply { return g.ask("POST", g.path("/commands"), g.gm, b, "Idempotency-Key", key()) }
	read[CommandAnswer](t, post(body), 200)
	problem(t, post(body+" "), "too-large", "")
	// Without a length in the head.
	req, _ := http.NewRequest("POST", g.http.URL+g.path("/commands"), io.MultiReader(strings.NewReader(body), strings.NewReader(strings.Repeat(" ", 1000))))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+g.gm)
	req.Header.Set("Idempotency-Key", key())
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, _ := io.ReadAll(res.Body)
	problem(t, reply{res, b}, "too-large", "")
}

// Problems with the head of a request.
func TestHeads(t *testing.T) {
	g := newGame(t)
	roll := `{"type":"roll","data":{"expression":"1d6"}}`
	commands := g.path("/commands")
	problem(t, g.ask("POST", commands, g.gm, roll), "malformed", "header.Idempotency-Key")
	for _, bad := range []string{"1", strings.ReplaceAll(key(), "-", ""), "{" + key() + "}", "urn:uuid:" + key(), key() + " x"} {
		problem(t, g.ask("POST", commands, g.gm, roll, "Idempotency-Key", bad), "malformed", "header.Idempotency-Key")
	}
	problem(t, g.ask("POST", commands, g.gm, roll, "Idempotency-Key", key(), "Content-Type", "text/plain"), "unsupported-media-type", "header.Content-Type")
	problem(t, g.ask("POST", commands, g.gm, roll, "Idempotency-Key", key(), "Content-Type", "application/json; charset=latin1"), "unsupported-media-type", "header.Content-Type")
	problem(t, g.ask("POST", commands, g.gm, roll, "Idempotency-Key", key(), "Content-Encoding", "gzip"), "unsupported-media-type", "header.Content-Encoding")
	read[CommandAnswer](t, g.ask("POST", commands, g.gm, roll, "Idempotency-Key", key(), "Content-Type", "application/json; charset=UTF-8"), 200)

	problem(t, g.get("/v1/nothing", g.gm), "not-found", "")
	problem(t, g.get("/nothing", ""), "not-found", "")
	problem(t, g.ask("PUT", commands, g.gm, ""), "method-not-allowed", "")
	problem(t, g.get(g.path("/characters?colour=red"), g.gm), "malformed", "query.colour")
	problem(t, g.get(g.path("/characters?from=x"), g.gm), "malformed", "query.from")
	problem(t, g.get(g.path("/characters?limit=0"), g.gm), "malformed", "query.limit")
	problem(t, g.get(g.path("/characters?limit=1001"), g.gm), "malformed", "query.limit")

	r := g.get(g.path(""), g.gm, "X-Request-Id", "my-id.1")
	if got := r.Header.Get("X-Request-Id"); got != "my-id.1" {
		t.Errorf("request id %q", got)
	}
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Content-Type": "application/json",
		"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "Access-Control-Allow-Origin": "",
	} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	r = g.get(g.path(""), g.gm, "X-Request-Id", "two\twords <b>")
	if got := r.Header.Get("X-Request-Id"); uuid.Validate(got) != nil {
		t.Errorf("a request id of another's making was taken: %q", got)
	}
}

// A panic gives a 500 whose id is in the log, and nothing of the reason.
func TestPanic(t *testing.T) {
	g := newGame(t)
	p := problem(t, g.ask("POST", g.path("/commands"), g.gm, `{"type":"toy.crash"}`, "Idempotency-Key", key()), "internal", "")
	log := g.log.String()
	if !strings.Contains(log, "panic") || !strings.Contains(log, p.Request) || !strings.Contains(log, "a secret reason") {
		t.Errorf("the log does not tell about %s", p.Request)
	}
}

// No token, query or body ever gets into the log.
func TestLogHoldsNoSecret(t *testing.T) {
	g := newGame(t)
	g.get(g.path("/events?session="+g.session), g.anna)
	g.get(g.path("/events?character=topsecret"), g.anna)
	g.get("/v1/campaigns", "tally_"+strings.Repeat("ab", 32))
	log := g.log.String()
	for _, secret := range []string{g.gm, g.anna, adminToken, "topsecret", strings.Repeat("ab", 32), "session="} {
		if strings.Contains(log, secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
	if !strings.Contains(log, "route=/v1/campaigns/:campaign/events") {
		t.Errorf("the log has no routes:\n%s", log)
	}
}

// Every error of the parts below has its status, also when it is wrapped.
func TestProblemOf(t *testing.T) {
	wrap := func(err error) error { return fmt.Errorf("execute: %w", err) }
	for _, c := range []struct {
		err  error
		slug string
	}{
		{&rules.Invalid{Field: "x", Reason: "is wrong"}, "malformed"},
		{rules.Reject("unconscious", "RPGX-36", "Bob sleeps"), "rejected"},
		{&rules.Forbidden{Reason: "no"}, "forbidden"},
		{&rules.PendingError{Command: "c"}, "unavailable"},
		{ledger.ErrUnknownCampaign, "not-found"},
		{feed.ErrUnknown, "not-found"},
		{journal.ErrNotFound, "not-found"},
		{ledger.ErrReused, "key-reused"},
		{ledger.ErrClosing, "unavailable"},
		{&ledger.RedError{Campaign: "c", Err: journal.ErrDamaged}, "read-only"},
		{&feed.StoppedError{Campaign: "c"}, "read-only"},
		{journal.ErrDamaged, "read-only"},
		{journal.ErrConflict, "conflict"},
		{&journal.UnclearError{Campaign: "c", ID: "i", Err: context.DeadlineExceeded}, "unclear"},
		{journal.ErrFull, "full"},
		{journal.ErrTooLarge, "too-large"},
		{&events.TooLargeError{Type: "roll.made", Size: 70_000}, "too-large"},
		{journal.ErrClosed, "unavailable"},
		{feed.ErrClosed, "unavailable"},
		{context.DeadlineExceeded, "unavailable"},
		{journal.ErrInvalid, "internal"},
		{io.ErrUnexpectedEOF, "internal"},
	} {
		p := problemOf(wrap(c.err))
		if p.Type != ProblemPath+c.slug {
			t.Errorf("%v: got %s, want %s", c.err, p.Type, c.slug)
		}
		if retry := p.header.Get("Retry-After"); (p.Status == 503 && c.slug != "read-only") != (retry != "") {
			t.Errorf("%s: Retry-After %q", c.slug, retry)
		}
	}
	if p := problemOf(&journal.UnclearError{}); !strings.Contains(p.Detail, "ask again with the same Idempotency-Key") {
		t.Errorf("unclear says %q", p.Detail)
	}
}

// What the journal cannot do is answered as such over HTTP.
func TestJournalFaults(t *testing.T) {
	store := &faulty{Journal: journal.NewMemory(1)}
	g := play(t, start(t, store))
	size := g.size()
	for _, c := range []struct {
		err  error
		slug string
	}{
		{journal.ErrFull, "full"},
		{&journal.UnclearError{Err: io.ErrUnexpectedEOF}, "unclear"},
		{journal.ErrTooLarge, "too-large"},
		{journal.ErrConflict, "conflict"},
	} {
		store.set(c.err)
		r := g.ask("POST", g.path("/commands"), g.gm, `{"type":"note.add","data":{"text":"x"}}`, "Idempotency-Key", key())
		problem(t, r, c.slug, "")
		store.set(nil)
		if g.size() != size {
			t.Errorf("the ledger grew")
		}
	}
}

// faulty refuses to append.
type faulty struct {
	journal.Journal
	mu  sync.Mutex
	err error
}

func (f *faulty) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *faulty) Append(ctx context.Context, e journal.Entry) (uint64, error) {
	f.mu.Lock()
	err := f.err
	f.mu.Unlock()
	if err != nil {
		return 0, err
	}
	return f.Journal.Append(ctx, e)
}
