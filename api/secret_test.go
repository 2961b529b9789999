package api

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"

	"tallystick/events"
	"tallystick/events/journal"
	"tallystick/projections"
	"tallystick/rules"
	"tallystick/rules/dice"
)

// night is a campaign full of secrets. Each has a marker word in it that
// stands nowhere else.
type night struct {
	*game
	bo, gm2 string              // tokens
	at      map[string]int64    // n of each seal, by marker
	rolls   map[string]bool     // markers of those that are rolls
	sees    map[string][]string // who may be told, by marker
	more    map[string]string   // tokens of other callers, by name
}

// callers are everybody who may ask, by name.
func (n *night) callers(other string) map[string]string {
	all := map[string]string{
		"nobody": "", "a wrong token": "tally_" + strings.Repeat("0", 64), "anna": n.anna, "bo": n.bo, "sven": n.sven,
		"gm": n.gm, "gm2": n.gm2, "another gm": other, "admin": adminToken,
	}
	maps.Copy(all, n.more)
	return all
}

// secretNight plays it; extra makes the secrets longer and changes nothing else.
func secretNight(t *testing.T, extra string) *night {
	t.Helper()
	table := playOf(t, start(t, journal.NewMemory(2)), `{"name":"Ash","system":"toy","policy":{"overrides":"shown_later"}}`)
	n := &night{game: table, at: map[string]int64{}, rolls: map[string]bool{}, sees: map[string][]string{}}
	n.bo = read[NewToken](t, n.ask("POST", n.path("/participants"), n.gm, `{"handle":"bo","role":"player"}`), 201).Token
	n.gm2 = read[NewToken](t, n.ask("POST", n.path("/participants"), n.gm, `{"handle":"gm2","role":"gm"}`), 201).Token
	secret := func(marker, token, visibility string, others ...string) {
		a := n.command(token, fmt.Sprintf(`{"type":"roll","data":{"expression":"3d1000000","purpose":"%s%s"},"visibility":%s}`, marker, extra, visibility))
		n.at[marker], n.rolls[marker], n.sees[marker] = a.Last, true, append(others, "gm", "gm2")
		n.command(n.gm, `{"type":"roll","data":{"expression":"1d20"}}`) // a public one of each lane behind it
		n.command(n.anna, `{"type":"roll","data":{"expression":"1d20"}}`)
		n.command(n.bo, `{"type":"roll","data":{"expression":"1d20"}}`)
	}
	secret("Zqone", n.gm, `"private"`)
	secret("Zqtwo", n.gm, `"blind"`)
	secret("Zqthree", n.gm, `["bo"]`, "bo")
	secret("Zqfour", n.anna, `"private"`, "anna")
	secret("Zqfive", n.anna, `"blind"`)
	secret("Zqsix", n.anna, `["sven"]`, "anna", "sven")
	secret("Zqseven", n.bo, `"private"`, "bo")
	secret("Zqeight", n.gm2, `"private"`)
	a := n.command(n.gm, fmt.Sprintf(`{"type":"target.seal","data":{"target":{"value":987654,"purpose":"Zqnine%s"}}}`, extra))
	n.at["Zqnine"], n.sees["Zqnine"] = a.Last, []string{"gm", "gm2"}
	a = n.command(n.gm2, fmt.Sprintf(`{"type":"ruling.make","data":{"roll":%d,"outcome":"a hit","reason":"Zqten%s"}}`, a.Last-1, extra))
	n.at["Zqten"], n.sees["Zqten"] = a.Last, []string{"gm", "gm2"}
	return n
}

// accepts are the forms in which any route is asked.
var accepts = []string{"application/json", "application/x-ndjson", "text/event-stream", "text/plain", "text/markdown", "text/html", "application/zip", "text/csv", "*/*"}

// S3, D06: every route of the document, asked by everybody in every form, shows
// a secret to those who may see it and to nobody else: in no body, no header
// and no error. A route that is added later is asked without being told, or
// fails here until somebody says what its parameters and its body may be.
func TestNoRouteTellsASecret(t *testing.T) {
	n := secretNight(t, "")
	other := play(t, n.node)
	w := newWalk(n)
	w.forms, w.plain = testing.Short(), testing.Short() // the whole run asks in every form and with every query
	w.documented()
	made := read[LinkItem](t, n.ask("POST", n.path("/links"), n.anna, `{"expression":"1d6"}`), 201)
	w.link = strings.TrimPrefix(made.Address, linkPath)
	w.everywhere(other.gm)
	w.computes()
	if log := n.log.String(); strings.Contains(log, "Zq") {
		t.Error("the log tells a secret")
	}
	for _, line := range n.stored() {
		if bytes.Contains(line, []byte("Zq")) {
			t.Errorf("the ledger tells a secret: %s", line)
		}
	}
	for _, bucket := range []string{"vault", "tokens", "webhooks"} {
		b, err := n.journal.Bucket(t.Context(), bucket)
		if err != nil {
			t.Fatal(err)
		}
		keys, err := b.Keys(t.Context())
		if err != nil || len(keys) == 0 {
			t.Fatalf("%s: %v, %v", bucket, keys, err)
		}
		for _, k := range keys {
			value, _, err := b.Get(t.Context(), k)
			if err != nil {
				t.Fatal(err)
			}
			for _, word := range append(slices.Collect(maps.Keys(n.sees)), "987654", n.anna) {
				if bytes.Contains(value, []byte(word)) {
					t.Errorf("%s %s holds %s", bucket, k, word)
				}
			}
		}
	}
}

// walk asks every route.
type walk struct {
	*night
	told    map[string]map[string]bool // by marker and caller
	seeds   map[string]bool            // what was told to anybody and may be one: 64 hex digits
	link    string                     // token of one that rolls once
	dispute string                     // id of one
	forms   bool                       // ask in the forms that the document names, in no others
	plain   bool                       // leave out what may be left out of a query
	some    []int64                    // records that are asked for by their n; nil: all
	asked   int                        // how often
	wrong   func(format string, args ...any)

	told10 map[string]string // markers, by numbers of ten digits that tell them
}

func newWalk(n *night) *walk {
	return &walk{night: n, told: map[string]map[string]bool{}, seeds: map[string]bool{}, dispute: key(), wrong: n.t.Errorf}
}

// everywhere asks for everything as everybody, and fails unless each secret was
// told to those who may see it and to nobody else.
func (w *walk) everywhere(other string) {
	w.t.Helper()
	callers := w.callers(other)
	for path, item := range w.server.api.OpenAPI().Paths {
		for method, op := range operations(item) {
			for _, address := range w.addresses(path, op) {
				for who, token := range callers {
					w.route(method, path, address, who, token, op)
				}
			}
		}
	}
	for marker, may := range w.sees {
		for who := range callers {
			if want := slices.Contains(may, who); w.told[marker][who] != want {
				w.wrong("%s is told to %s: %v, want %v", marker, who, w.told[marker][who], want)
			}
		}
	}
}

// documented fails when the server answers at an address that is not in the
// document: nobody would ask there.
func (w *walk) documented() {
	for _, r := range w.server.echo.Routes() {
		path := echoParameter.ReplaceAllString(r.Path, "{$1}")
		item := w.server.api.OpenAPI().Paths[path]
		if item == nil || operations(item)[r.Method] == nil {
			w.t.Errorf("%s %s is served and not in the document", r.Method, path)
		}
	}
}

var echoParameter = regexp.MustCompile(`:([a-z_]+)`)

// computes fails when the dice of a secret roll follow from what was told to
// anybody by any route: who may see a roll is shown it without its seed.
func (w *walk) computes() {
	w.t.Helper()
	for _, marker := range w.computable(w.seeds) {
		w.t.Errorf("the dice of %s follow from what is told", marker)
	}
}

func operations(item *huma.PathItem) map[string]*huma.Operation {
	all := map[string]*huma.Operation{
		"GET": item.Get, "POST": item.Post, "DELETE": item.Delete, "PUT": item.Put, "PATCH": item.Patch, "HEAD": item.Head, "OPTIONS": item.Options, "TRACE": item.Trace,
	}
	maps.DeleteFunc(all, func(_ string, op *huma.Operation) bool { return op == nil })
	return all
}

var pathParameter = regexp.MustCompile(`\{([a-z_]+)\}`)

// addresses are those of a path: where it has an n, one for each seal and for
// the record behind it.
func (w *walk) addresses(path string, op *huma.Operation) []string {
	values := map[string][]string{
		"campaign": {w.id}, "character": {w.bob}, "session": {w.session}, "handle": {"nobody"}, "invitation": {"none"},
		"system": {"toy"}, "slug": {"rejected"}, "file": {"main.js"}, "dispute": {w.dispute}, "command": {key()}, "hook": {"none"}, "link": {"none"}, "token": {w.link},
	}
	for _, at := range w.at { // each seal, and the public roll behind it
		if w.some == nil {
			values["n"] = append(values["n"], fmt.Sprint(at), fmt.Sprint(at+1))
		}
	}
	for _, at := range w.some {
		values["n"] = append(values["n"], fmt.Sprint(at))
	}
	all := []string{path}
	for _, name := range pathParameter.FindAllStringSubmatch(path, -1) {
		if values[name[1]] == nil {
			w.t.Errorf("%s: say what {%s} may be", path, name[1])
			return nil
		}
		var next []string
		for _, address := range all {
			for _, v := range values[name[1]] {
				next = append(next, strings.ReplaceAll(address, name[0], v))
			}
		}
		all = next
	}
	query := []string{}
	for _, p := range op.Parameters {
		switch {
		case p.In != "query":
		case p.Name == "limit":
			query = append(query, "limit=1000")
		case p.Required && (p.Name == "n" || p.Name == "from"):
			query = append(query, p.Name+"=1")
		case p.Required:
			w.t.Errorf("%s: say what the query %s may be", path, p.Name)
		}
	}
	for i := range all {
		all[i] += "?" + strings.Join(query, "&")
	}
	for _, p := range op.Parameters {
		if p.In != "query" || p.Required || p.Name == "limit" || w.plain {
			continue
		}
		for _, v := range w.values(path, p) {
			all = append(all, all[0]+"&"+p.Name+"="+v)
		}
	}
	return all
}

// values are some of a query parameter that may be left out.
func (w *walk) values(path string, p *huma.Param) (values []string) {
	known := map[string][]string{
		"session": {w.session}, "character": {w.bob}, "campaign": {w.id}, "type": {"roll.sealed", "roll.widened,roll.made"},
	}
	switch {
	case len(p.Schema.Enum) > 0:
		for _, v := range p.Schema.Enum {
			values = append(values, fmt.Sprint(v))
		}
	case p.Schema.Type == huma.TypeBoolean:
		values = []string{"true"}
	case p.Schema.Type == huma.TypeInteger:
		values = []string{"1", fmt.Sprint(w.size() - 2)}
	case known[p.Name] != nil:
		values = known[p.Name]
	case path == "/v1/campaigns":
		values = []string{w.id[:1]}
	default:
		w.t.Errorf("%s: say what the query %s may be", path, p.Name)
	}
	return values
}

// bodies of what changes something: they ask for what is secret, as far as
// anything does, and change nothing by it.
var bodies = map[string][]string{
	"POST /v1/campaigns":                                          {`{"name":"x","system":"none"}`},
	"POST /v1/campaigns/{campaign}/commands":                      {`{"type":"roll.open","data":{"roll":%d}}`, `{"type":"roll.widen","data":{"roll":%d,"shown_to":"blind"}}`, `{"type":"target.open","data":{"target":%d,"salt":"x"}}`},
	"POST /v1/campaigns/{campaign}/participants":                  {`{"handle":"","role":"gm"}`},
	"POST /v1/campaigns/{campaign}/participants/{handle}/token":   {``},
	"DELETE /v1/campaigns/{campaign}/participants/{handle}":       {``},
	"DELETE /v1/campaigns/{campaign}/participants/{handle}/token": {``},
	"POST /v1/campaigns/{campaign}/invitations":                   {`{"handle":"kim","role":"player"}`},
	"DELETE /v1/campaigns/{campaign}/invitations/{invitation}":    {``},
	"POST /v1/campaigns/{campaign}/links":                         {`{"expression":"1d6"}`},
	"POST /v1/campaigns/{campaign}/webhooks":                      {`{"url":"http://127.0.0.1:1/","secrets":true,"from":0}`},
	"DELETE /v1/campaigns/{campaign}/webhooks/{hook}":             {``},
	"POST /v1/campaigns/{campaign}/webhooks/{hook}/replay":        {`{"from":0}`},
	"POST /v1/campaigns/{campaign}/webhooks/{hook}/secret":        {`{}`},
	"POST /link/{token}":                                          {``},
	"POST /v1/invitations/accept":                                 {`{"token":"none"}`},
	"POST /v1/sign-in":                                            {`{"token":"none"}`},
	"DELETE /v1/sign-in":                                          {``},
	"POST /v1/campaigns/{campaign}/rolls/{n}/what-if":             {`{}`},
	"POST /v1/ledgers":                                            {`{}`},
}

func (w *walk) route(method, path, address, who, token string, op *huma.Operation) {
	if method == "GET" {
		for _, accept := range accepts {
			if (w.forms || strings.Contains(address, "&")) && !speaks(op, accept) {
				continue // a variant, in the forms that the document names
			}
			w.asked++
			w.heard(path, who, w.listen(address, token, accept, op))
		}
		return
	}
	asked, ok := bodies[method+" "+path]
	if !ok {
		w.t.Fatalf("%s %s: say what its body may be", method, path)
	}
	for _, body := range asked {
		if !strings.Contains(body, "%d") {
			w.heard(path, who, dump(w.ask(method, address, token, body, "Idempotency-Key", key())))
			continue
		}
		for _, at := range w.at {
			// The game master may open all of it, and does so elsewhere.
			if who == "gm" || who == "gm2" || who == "anna" || who == "bo" {
				continue
			}
			w.heard(path, who, dump(w.ask(method, address, token, fmt.Sprintf(body, at), "Idempotency-Key", key())))
		}
	}
}

// sealedValue is the number that was sealed as a word of its own: the same
// digits come by chance within a request's id or a hash.
var sealedValue = regexp.MustCompile(`\b987654\b`)

// tenDigits are numbers that dice with billions of sides show.
var tenDigits = regexp.MustCompile(`\b\d{10}\b`)

// heard notes what somebody was told by a route.
func (w *walk) heard(path, who, said string) {
	if w.seeds != nil {
		for _, text := range sixtyFour.FindAllString(said, -1) {
			w.seeds[text] = true
		}
	}
	numbers := map[string]bool{}
	if w.told10 != nil {
		for _, number := range tenDigits.FindAllString(said, -1) {
			numbers[w.told10[number]] = true
		}
	}
	for marker, may := range w.sees {
		if !strings.Contains(said, marker) && !numbers[marker] && !(marker == "Zqnine" && sealedValue.MatchString(said)) {
			continue
		}
		if w.told[marker] == nil {
			w.told[marker] = map[string]bool{}
		}
		before := w.told[marker][who]
		w.told[marker][who] = true
		if !slices.Contains(may, who) && !before {
			w.wrong("%s tells %s to %s", path, marker, who)
		}
	}
}

// listen reads an answer whole, of a live feed its backlog.
func (w *walk) listen(address, token, accept string, op *huma.Operation) string {
	if accept != "text/event-stream" || !speaks(op, accept) {
		return dump(w.get(address, token, "Accept", accept))
	}
	address = strings.Replace(address, "limit=1000", "", 1) // a live feed has none
	ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", w.http.URL+address, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	var said bytes.Buffer
	for buffer := make([]byte, 64<<10); !bytes.Contains(said.Bytes(), []byte("backlog.end")); {
		k, err := res.Body.Read(buffer)
		said.Write(buffer[:k])
		if err != nil {
			if err != io.EOF {
				w.t.Errorf("%s: %v", address, err)
			}
			break
		}
	}
	return said.String()
}

func speaks(op *huma.Operation, media string) bool {
	for _, r := range op.Responses {
		if r.Content[media] != nil {
			return true
		}
	}
	return false
}

// dump is everything that an answer says.
func dump(r reply) string {
	var b strings.Builder
	fmt.Fprintln(&b, r.Status)
	if err := r.Header.Write(&b); err != nil {
		panic(err)
	}
	b.Write(r.body)
	return b.String()
}

// How long a record is does not depend on the secret in it: two nights that
// differ in nothing but the words of their secrets have seals of one length,
// and no answer has an ETag that could tell one from another.
func TestSecretsHaveNoSize(t *testing.T) {
	lengths := func(n *night) (all []int) {
		for _, line := range n.stored() {
			if rec, err := events.Parse(line); err != nil {
				t.Fatal(err)
			} else if strings.HasSuffix(rec.Type, ".sealed") {
				all = append(all, len(line))
			}
		}
		return all
	}
	short, long := secretNight(t, ""), secretNight(t, strings.Repeat("x", 150))
	if a, b := lengths(short), lengths(long); len(a) < len(short.at) || !slices.Equal(a, b) {
		t.Errorf("seals of %v and %v bytes", a, b)
	}
	// What somebody reads who may not see them is as long, but for dice that
	// everybody sees, and says as much about itself.
	thrown := regexp.MustCompile(`"(draws|total|value)":(\[[][0-9,]*\]|-?\d+)`)
	size := func(n *night, token, path string) string {
		r := n.get(n.path(path), token)
		return fmt.Sprint(r.StatusCode, len(thrown.ReplaceAll(r.body, nil)), slices.Sorted(maps.Keys(r.Header)), r.Header.Get("ETag"))
	}
	seen := func(n *night) []string {
		tom := read[NewToken](t, n.ask("POST", n.path("/participants"), n.gm, `{"handle":"tom","role":"spectator"}`), 201)
		return []string{tom.Token, adminToken}
	}
	shortly, longly := seen(short), seen(long)
	for _, path := range []string{
		"", "/events?limit=1000", "/ledger", "/rolls?limit=1000", "/secrets?limit=1000", "/sessions", "/characters", "/participants", "/checkpoint", "/overrides", "/disputes", "/corrections",
		"/proofs/inclusion?n=5", "/proofs/consistency?from=5", "/links", "/date", fmt.Sprintf("/rolls/%d/audit", short.at["Zqthree"]), fmt.Sprintf("/rolls/%d", short.at["Zqten"]), "/sessions/none",
	} {
		for i := range shortly {
			if a, b := size(short, shortly[i], path), size(long, longly[i], path); a != b {
				t.Errorf("%s tells %d how long a secret is: %s and %s", path, i, a, b)
			}
		}
	}
	if a, b := size(short, short.gm, "/secrets?limit=1000"), size(long, long.gm, "/secrets?limit=1000"); a == b {
		t.Error("control: who may see the secrets gets as much of either")
	}
	for _, path := range []string{"", "/events", "/ledger", "/rolls", "/secrets"} {
		if tag := short.get(short.path(path), short.bo).Header.Get("ETag"); tag != "" {
			t.Errorf("%s has the ETag %s", path, tag)
		}
	}
}

// D07: from everything that a player can get hold of, before and after later
// public rolls of every lane, no seed of a secret roll can be found: neither
// what is shown nor anything that it hashes to gives the dice.
func TestSecretDiceCannotBeComputed(t *testing.T) {
	n := secretNight(t, "")
	var seen bytes.Buffer
	for _, token := range []string{n.bo, n.sven} {
		for _, path := range []string{"", "/events?limit=1000", "/ledger", "/rolls?limit=1000", "/secrets", "/sessions", "/sessions/" + n.session, "/checkpoint", "/proofs/inclusion?n=1", "/proofs/consistency?from=1"} {
			seen.Write(n.get(n.path(path), token).body)
		}
	}
	texts := map[string]bool{}
	for _, text := range sixtyFour.FindAllString(seen.String(), -1) {
		texts[text] = true
	}
	for _, marker := range n.computable(texts) {
		t.Errorf("the dice of %s can be computed", marker)
	}

	// The control: once a roll is opened, its dice can be computed, and those of
	// the lane's earlier ones; so that has to be asked for.
	first, third := n.at["Zqone"], n.at["Zqthree"]
	open := func(body string) reply {
		return n.ask("POST", n.path("/commands"), n.gm, body, "Idempotency-Key", key())
	}
	p := problem(t, open(fmt.Sprintf(`{"type":"roll.open","data":{"roll":%d}}`, third)), "rejected", "body.data.roll")
	if p.Code != "shows_earlier" {
		t.Errorf("got %+v", p)
	}
	a := read[CommandAnswer](t, open(fmt.Sprintf(`{"type":"roll.open","data":{"roll":%d,"shows_earlier":true}}`, third)), 200)
	var opened events.RollOpened
	rec, err := events.Parse(a.Records[0])
	if err != nil || json.Unmarshal(rec.Data, &opened) != nil {
		t.Fatal(err)
	}
	roll, err := rules.ReadRoll(opened.Payload)
	if err != nil {
		t.Fatal(err)
	}
	seed, err := dice.ParseSeed(roll.S)
	if err != nil {
		t.Fatal(err)
	}
	hidden, _, err := n.ledger.Show(t.Context(), n.id, "gm", first)
	var earlier events.RollMade
	if err != nil || json.Unmarshal(hidden, &earlier) != nil {
		t.Fatal(err)
	}
	for range roll.I - earlier.I {
		seed = seed.Next()
	}
	if dice.NewStream(seed, jointSeeds(t, n.stored())[roll.Lane], roll.Lane, earlier.I, dice.Absent, dice.Absent).Die(1_000_000) != earlier.Draws[0][1] {
		t.Error("control: an opened roll does not lead to an earlier one; then the test above shows nothing")
	}
}

var sixtyFour = regexp.MustCompile(`[0-9a-f]{64}`)

// computable are the secret rolls whose dice follow from any of some seeds, or
// from what they hash to.
func (n *night) computable(texts map[string]bool) (markers []string) {
	n.t.Helper()
	seeds := map[dice.Seed]bool{}
	for text := range texts {
		s, err := dice.ParseSeed(text)
		if err != nil {
			n.t.Fatal(err)
		}
		for range 12 {
			seeds[s] = true
			s = s.Next()
		}
	}
	if len(seeds) == 0 {
		n.t.Fatal("there is nothing to try")
	}
	joints := jointSeeds(n.t, n.stored())
	for marker, at := range n.at {
		if !n.rolls[marker] {
			continue
		}
		hidden, ok, err := n.ledger.Show(n.t.Context(), n.id, "gm", at)
		if err != nil || !ok {
			n.t.Fatalf("%s: %v %v", marker, ok, err)
		}
		var roll events.RollMade
		if err := json.Unmarshal(hidden, &roll); err != nil {
			n.t.Fatal(err)
		}
		if roll.S != "" {
			n.t.Errorf("%s is shown with its link", marker)
		}
		for seed := range seeds {
			stream := dice.NewStream(seed, joints[roll.Lane], roll.Lane, roll.I, dice.Absent, dice.Absent)
			if stream.Die(roll.Draws[0][0]) == roll.Draws[0][1] {
				markers = append(markers, marker)
			}
		}
	}
	return markers
}

func jointSeeds(t testing.TB, lines [][]byte) map[string]dice.Seed {
	t.Helper()
	seatings, joints := map[int][]string{}, map[string]dice.Seed{}
	for _, line := range lines {
		rec, err := events.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		e, err := events.Core().Decode(rec)
		if err != nil {
			continue
		}
		switch e := e.(type) {
		case *events.SeatTaken:
			seatings[e.Seating] = append(seatings[e.Seating], e.Lane)
		case *events.SeatingSealed:
			for _, lane := range seatings[e.Seating] {
				if joints[lane], err = dice.ParseSeed(e.Joint); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return joints
}

// D08: what is shown may be shown to more people, by who may, and never to
// fewer; opened, everybody sees the original roll and can check it.
func TestWiden(t *testing.T) {
	n := secretNight(t, "")
	give := func(token, body string) reply {
		return n.ask("POST", n.path("/commands"), token, body, "Idempotency-Key", key())
	}
	widen := func(token, marker, to string) reply {
		return give(token, fmt.Sprintf(`{"type":"roll.widen","data":{"roll":%d,"shown_to":%s}}`, n.at[marker], to))
	}
	sees := func(token, marker string) bool {
		return strings.Contains(string(n.get(n.path("/secrets?limit=1000"), token).body), marker)
	}
	problem(t, widen(n.anna, "Zqone", `["anna"]`), "forbidden", "")  // not hers
	problem(t, widen(n.anna, "Zqfive", `["anna"]`), "forbidden", "") // hers, but blind
	problem(t, widen(n.sven, "Zqsix", `["bo","sven"]`), "forbidden", "")
	problem(t, widen(n.gm, "Zqfour", `"blind"`), "rejected", "body.data.shown_to")
	problem(t, widen(n.gm, "Zqsix", `"private"`), "rejected", "body.data.shown_to")
	problem(t, widen(n.gm, "Zqsix", `["bo"]`), "rejected", "body.data.shown_to") // not sven any more
	problem(t, widen(n.gm, "Zqsix", `["sven"]`), "rejected", "body.data.shown_to")
	problem(t, widen(n.gm, "Zqsix", `"public"`), "rejected", "body.data.shown_to")
	problem(t, widen(n.gm, "Zqsix", `["sven","nobody"]`), "rejected", "body.data.shown_to")
	problem(t, widen(n.gm, "Zqnine", `["anna"]`), "rejected", "body.data.roll")

	if sees(n.anna, "Zqfive") {
		t.Error("who rolls blind sees it")
	}
	read[CommandAnswer](t, widen(n.gm, "Zqfive", `"private"`), 200)
	if !sees(n.anna, "Zqfive") || sees(n.bo, "Zqfive") {
		t.Error("a blind roll was shown to who rolled it")
	}
	feed := n.stream(n.path("/events"), n.bo)
	read[CommandAnswer](t, widen(n.anna, "Zqfour", `["bo"]`), 200)
	if !sees(n.bo, "Zqfour") || sees(n.sven, "Zqfour") {
		t.Error("a private roll was shown to bo")
	}
	for {
		e, ok := feed.next()
		if !ok {
			t.Fatal("the feed ended")
		}
		if e.event == "secret" && strings.Contains(e.data, "Zqfour") {
			break
		}
	}
	// Opened by who rolled it, and gone through by a verifier.
	opened := read[CommandAnswer](t, give(n.anna, fmt.Sprintf(`{"type":"roll.open","data":{"roll":%d}}`, n.at["Zqfour"])), 200)
	if !strings.Contains(string(opened.Records[0]), "Zqfour") {
		t.Errorf("opened: %s", opened.Records[0])
	}
	problem(t, give(n.bo, fmt.Sprintf(`{"type":"roll.open","data":{"roll":%d}}`, n.at["Zqtwo"])), "forbidden", "")
	list := read[projections.Page[HiddenItem]](t, n.get(n.path("/secrets?limit=1000"), n.sven), 200)
	for _, h := range list.Items {
		if (h.N == n.at["Zqfour"]) != (h.Opened != 0) {
			t.Errorf("got %+v", h)
		}
	}
	if r := read[SessionReplay](t, n.get(n.path("/sessions/"+n.session+"/replay"), n.sven), 200); !r.Identical {
		t.Errorf("got %+v", r)
	}
}

// Who rolled blind does not get at the dice by showing a later roll of the same
// lane, whose seed leads to them: a game master alone may.
func TestBlindRollsStayBlind(t *testing.T) {
	g := newGame(t)
	roll := func(visibility string) int64 {
		return g.command(g.anna, `{"type":"roll","data":{"expression":"1d20"},"visibility":"`+visibility+`"}`).Last
	}
	open := func(token string, n int64, more string) reply {
		return g.ask("POST", g.path("/commands"), token, fmt.Sprintf(`{"type":"roll.open","data":{"roll":%d%s}}`, n, more), "Idempotency-Key", key())
	}
	first, blind, last := roll("private"), roll("blind"), roll("private")
	read[CommandAnswer](t, open(g.anna, first, ""), 200) // nothing lies before it
	for _, more := range []string{"", `,"shows_earlier":true`} {
		if p := problem(t, open(g.anna, last, more), "forbidden", ""); !strings.Contains(p.Detail, fmt.Sprint(blind)) {
			t.Errorf("got %+v", p)
		}
	}
	read[CommandAnswer](t, open(g.gm, last, `,"shows_earlier":true`), 200)
	if r := read[SessionReplay](t, g.get(g.path("/sessions/"+g.session+"/replay"), g.sven), 200); !r.Identical {
		t.Errorf("got %+v", r)
	}
}

// A retry of a secret roll is the same roll, for who gave it; under the key of
// somebody else's nothing is told.
func TestSecretRetry(t *testing.T) {
	g := newGame(t)
	body := `{"type":"roll","data":{"expression":"3d1000000","purpose":"Zq"},"visibility":"private"}`
	k := key()
	give := func(token, body string) reply {
		return g.ask("POST", g.path("/commands"), token, body, "Idempotency-Key", k)
	}
	first := read[CommandAnswer](t, give(g.anna, body), 200)
	again := read[CommandAnswer](t, give(g.anna, body), 200)
	if !again.Repeated || !bytes.Equal(first.Secret, again.Secret) || first.Last != again.Last || !bytes.Contains(first.Secret, []byte("Zq")) {
		t.Errorf("got %s and %s", first.Secret, again.Secret)
	}
	for _, other := range []struct{ token, body string }{
		{g.gm, body}, {g.anna, strings.Replace(body, `"private"`, `"blind"`, 1)}, {g.anna, strings.Replace(body, `,"visibility":"private"`, "", 1)},
	} {
		if p := problem(t, give(other.token, other.body), "key-reused", ""); strings.Contains(p.Detail, "Zq") {
			t.Errorf("got %+v", p)
		}
	}
	blind := g.command(g.anna, `{"type":"roll","data":{"expression":"1d6"},"visibility":"blind"}`)
	if blind.Secret != nil {
		t.Errorf("who rolls blind is told %s", blind.Secret)
	}
}

// A table with devices seats lanes for private rolls with the others, or has
// none: the program alone may not choose one.
func TestPrivateLanesWithDevices(t *testing.T) {
	x := dice.Seed{7}
	for private, want := range map[string]int{`,"private":true`: 200, ``: 422} {
		n := start(t, journal.NewMemory(1))
		g := play(t, n)
		g.command(g.gm, `{"type":"session.close"}`)
		g.session = g.command(g.gm, `{"type":"session.open","data":{"title":"Two","kind":"table","devices":true`+private+`}}`).Command
		g.command(g.anna, fmt.Sprintf(`{"type":"seat.take","data":{"x0":"%s"}}`, x.Next()))
		g.command(g.gm, `{"type":"seating.close"}`)
		g.command(g.anna, fmt.Sprintf(`{"type":"seat.reveal","data":{"lane":"anna","m":1,"x":"%s"}}`, x))
		r := g.ask("POST", g.path("/commands"), g.anna, `{"type":"roll","data":{"expression":"1d6"},"visibility":"private"}`, "Idempotency-Key", key())
		if r.StatusCode != want {
			t.Errorf("%q: got %d %s", private, r.StatusCode, r.body)
		}
		if r := read[SessionReplay](t, g.get(g.path("/sessions/"+g.session+"/replay"), g.gm), 200); !r.Identical {
			t.Errorf("got %+v", r)
		}
	}
}
