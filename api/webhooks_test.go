package api

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tallystick/api/webhooks"
	"tallystick/events"
	"tallystick/events/journal"
	"tallystick/projections"
)

// delivery is what a receiver was told once.
type delivery struct {
	t      testing.TB
	header http.Header
	body   []byte
	rec    events.Record
	secret struct {
		N       int64          `json:"n"`
		Content jsontext.Value `json:"content"`
	}
}

// receiver is a program that is told by a webhook.
type receiver struct {
	t      testing.TB
	http   *httptest.Server
	told   chan delivery
	answer atomic.Pointer[http.HandlerFunc] // nil: 204
}

func newReceiver(t testing.TB) *receiver {
	r := &receiver{t: t, told: make(chan delivery, 10_000)}
	r.http = httptest.NewServer(http.HandlerFunc(r.hear))
	t.Cleanup(r.http.Close)
	return r
}

func (r *receiver) hear(w http.ResponseWriter, req *http.Request) {
	d := delivery{t: r.t, header: req.Header}
	d.body, _ = io.ReadAll(req.Body)
	var m struct {
		Type      string         `json:"type"`
		Timestamp string         `json:"timestamp"`
		Data      jsontext.Value `json:"data"`
		Secret    jsontext.Value `json:"secret"`
	}
	if err := json.Unmarshal(d.body, &m); err != nil {
		r.t.Errorf("%v in %s", err, d.body)
	}
	rec, err := events.Parse(m.Data)
	if err != nil || rec.Type != m.Type || rec.At != m.Timestamp {
		r.t.Errorf("%v: got %s", err, d.body)
	}
	d.rec = rec
	if m.Secret != nil {
		if err := json.Unmarshal(m.Secret, &d.secret); err != nil {
			r.t.Error(err)
		}
	}
	if answer := r.answer.Load(); answer != nil {
		(*answer)(w, req)
	} else {
		w.WriteHeader(http.StatusNoContent)
	}
	r.told <- d
}

// answers says how the receiver answers from now on; nil: it takes everything.
func (r *receiver) answers(f http.HandlerFunc) {
	if f == nil {
		r.answer.Store(nil)
		return
	}
	r.answer.Store(&f)
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// next waits for what the receiver is told next.
func (r *receiver) next() delivery {
	r.t.Helper()
	select {
	case d := <-r.told:
		return d
	case <-time.After(20 * time.Second):
		r.t.Fatal("the receiver was not told anything more")
		return delivery{}
	}
}

// hook makes a webhook.
func (g *game) hook(token string, r *receiver, members string) NewWebhook {
	g.t.Helper()
	return read[NewWebhook](g.t, g.ask("POST", g.path("/webhooks"), token, fmt.Sprintf(`{"url":%q%s}`, r.http.URL+"/hook?x=1", members)), 201)
}

func (g *game) remark(text string) CommandAnswer {
	return g.command(g.gm, fmt.Sprintf(`{"type":"note.add","data":{"text":%q}}`, text))
}

// state waits until a webhook is as it is wanted.
func (g *game) state(id string, wanted func(WebhookItem) bool) WebhookItem {
	g.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		for _, item := range read[projections.Page[WebhookItem]](g.t, g.get(g.path("/webhooks"), g.gm), 200).Items {
			if item.ID != id {
				continue
			}
			if wanted(item) {
				return item
			}
			if time.Now().After(deadline) {
				g.t.Fatalf("the webhook is still %+v", item)
			}
		}
	}
}

func (g *game) letters(id string) []WebhookLetter {
	g.t.Helper()
	return read[projections.Page[WebhookLetter]](g.t, g.get(g.path("/webhooks/"+id+"/dead"), g.gm), 200).Items
}

// key is the signing secret as bytes.
func (h NewWebhook) key(t testing.TB) []byte {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(h.Secret, "whsec_"))
	if err != nil || len(key) < 24 || len(key) > 64 {
		t.Fatalf("got the secret %q", h.Secret)
	}
	return key
}

// signature is that of a delivery with these secrets.
func (d delivery) signature(keys ...[]byte) string {
	var want []string
	for _, key := range keys {
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%s.%s", d.header.Get("webhook-id"), d.header.Get("webhook-timestamp"), d.body)
		want = append(want, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(want, " ")
}

// signed holds a delivery to be signed with these secrets and no others.
func (d delivery) signed(keys ...[]byte) {
	d.t.Helper()
	if got, want := d.header.Get("webhook-signature"), d.signature(keys...); got != want {
		d.t.Errorf("signature %s, want %s", got, want)
	}
}

// A signing secret is changed without losing a record: for a while messages
// have two signatures, and who still knows the secret before that has none.
func TestWebhookSecretChanges(t *testing.T) {
	g := newGame(t)
	r := newReceiver(t)
	first := g.hook(g.anna, r, "")
	rotate := func(body string) NewWebhook {
		t.Helper()
		made := read[NewWebhook](t, g.ask("POST", g.path("/webhooks/"+first.ID+"/secret"), g.anna, body), 200)
		if made.ID != first.ID || made.URL != first.URL || made.By != "anna" {
			t.Errorf("got %+v", made)
		}
		return made
	}
	told := func(keys ...[]byte) {
		t.Helper()
		g.remark("x")
		r.next().signed(keys...)
	}
	told(first.key(t))
	second := rotate(`{}`)
	told(second.key(t), first.key(t))
	if ends, err := time.Parse(time.RFC3339, second.Before); err != nil || time.Until(ends) > 24*time.Hour || time.Until(ends) < 23*time.Hour {
		t.Errorf("the secret before ends at %q", second.Before)
	}
	third := rotate(`{"overlap_hours":1}`)
	told(third.key(t), second.key(t))
	fourth := rotate(`{"overlap_hours":0}`)
	told(fourth.key(t))
	if fourth.Before != "" {
		t.Errorf("the secret before ends at %q", fourth.Before)
	}
	// What waits is signed with the new one, too.
	r.answers(status(http.StatusServiceUnavailable))
	g.remark("not taken")
	r.next().signed(fourth.key(t))
	fifth := rotate(`{"overlap_hours":0}`)
	r.answers(nil)
	read[WebhookItem](t, g.ask("POST", g.path("/webhooks/"+first.ID+"/replay"), g.anna, `{}`), 200)
	for d := r.next(); d.header.Get("webhook-signature") != d.signature(fifth.key(t)); {
		d = r.next() // of an attempt before
	}
	for body, location := range map[string]string{`{"overlap_hours":-1}`: "body.overlap_hours", `{"overlap_hours":169}`: "body.overlap_hours", `{"secret":"mine"}`: "body.secret"} {
		problem(t, g.ask("POST", g.path("/webhooks/"+first.ID+"/secret"), g.anna, body), "malformed", location)
	}
	if list := g.get(g.path("/webhooks"), g.anna); strings.Contains(string(list.body), "whsec_") || strings.Contains(g.log.String(), "whsec_") {
		t.Error("a secret is shown again")
	}
	if res := g.ask("DELETE", g.path("/webhooks/"+first.ID), g.anna, ""); res.StatusCode != 204 {
		t.Fatalf("got %d", res.StatusCode)
	}
	problem(t, g.ask("POST", g.path("/webhooks/"+first.ID+"/secret"), g.anna, `{}`), "not-found", "")
}

// A receiver is told everything, in order, as it is stored, signed with the
// secret that was shown once; what is chosen by type is told without the rest.
func TestWebhook(t *testing.T) {
	g := newGame(t)
	all, some := newReceiver(t), newReceiver(t)
	r := g.ask("POST", g.path("/webhooks"), g.anna, fmt.Sprintf(`{"url":%q,"from":0}`, all.http.URL))
	hook := read[NewWebhook](t, r, 201)
	g.hook(g.gm, some, `,"types":["note.added"]`)
	g.remark("one")
	g.command(g.gm, `{"type":"clock.advance","data":{"by":"3d"}}`)
	g.remark("two")
	key := hook.key(t)
	ids := map[string]bool{}
	for n, line := range g.stored() {
		d := all.next()
		if d.rec.N != int64(n) || !bytes.Contains(d.body, line) {
			t.Fatalf("record %d: got %s, stored is %s", n, d.body, line)
		}
		id := d.header.Get("webhook-id")
		d.signed(key)
		if ids[id] || strings.Contains(id, ".") || d.header.Get("Content-Type") != "application/json" || d.header.Get("Authorization") != "" {
			t.Errorf("got %v", d.header)
		}
		ids[id] = true
	}
	for _, text := range []string{"one", "two"} {
		if d := some.next(); d.rec.Type != "note.added" || !strings.Contains(string(d.rec.Data), text) {
			t.Errorf("got %s, want the note %q", d.body, text)
		}
	}
	item := g.state(hook.ID, func(i WebhookItem) bool { return i.Next == g.size() })
	if item.Sent != g.size() || item.Error != "" || item.By != "anna" {
		t.Errorf("got %+v", item)
	}
	bucket, err := g.journal.Bucket(t.Context(), webhooks.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := bucket.Keys(t.Context())
	if err != nil || len(keys) < 4 {
		t.Fatalf("%v, %v", keys, err)
	}
	for _, k := range keys {
		value, _, err := bucket.Get(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(value, key) || bytes.Contains(value, []byte(base64.StdEncoding.EncodeToString(key))) {
			t.Errorf("%s holds the secret in the clear", k)
		}
	}
	if list := g.get(g.path("/webhooks"), g.anna); strings.Contains(string(list.body), "whsec_") || strings.Contains(g.log.String(), "whsec_") {
		t.Error("the secret is shown again")
	}
}

// What fails is tried again, under the same id, before anything that comes
// later; what was tried often enough is a dead letter, and told on demand.
func TestWebhookFails(t *testing.T) {
	g := newGame(t)
	r := newReceiver(t)
	hook := g.hook(g.gm, r, "")
	var refused atomic.Pointer[string] // the id of the first record, which is not taken
	r.answers(func(w http.ResponseWriter, req *http.Request) {
		id := req.Header.Get("webhook-id")
		if refused.CompareAndSwap(nil, &id); *refused.Load() == id {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	first := g.remark("one")
	second := g.remark("two")
	for range len(testDelays) + 1 {
		if d := r.next(); d.header.Get("webhook-id") != *refused.Load() || d.rec.N != first.First {
			t.Fatalf("got %s of record %d, want %s of %d", d.header.Get("webhook-id"), d.rec.N, *refused.Load(), first.First)
		}
	}
	if d := r.next(); d.rec.N != second.First {
		t.Fatalf("record %d came behind the dead letter, want %d", d.rec.N, second.First)
	}
	g.state(hook.ID, func(i WebhookItem) bool { return i.Next == second.Last+1 && i.Sent == 1 && i.Error == "" })
	dead := g.letters(hook.ID)
	if len(dead) != 1 || dead[0].N != first.First || dead[0].Attempts != len(testDelays)+1 || dead[0].Error != "it answered 500" {
		t.Errorf("got %+v", dead)
	}
	replay := func(body string) {
		if r := g.ask("POST", g.path("/webhooks/"+hook.ID+"/replay"), g.gm, body); r.StatusCode != 200 {
			t.Fatalf("got %d %s", r.StatusCode, r.body)
		}
	}
	replay(`{}`) // in vain: it stays dead
	r.next()
	for len(g.letters(hook.ID)) != 1 || g.letters(hook.ID)[0].Again {
		time.Sleep(time.Millisecond)
	}
	if dead := g.letters(hook.ID); dead[0].Attempts != len(testDelays)+2 {
		t.Errorf("got %+v", dead)
	}
	size := g.size()
	r.answers(nil)
	replay(`{}`)
	if d := r.next(); d.rec.N != first.First || d.header.Get("webhook-id") != *refused.Load() {
		t.Errorf("got record %d as %s, want %d under the id it had", d.rec.N, d.header.Get("webhook-id"), first.First)
	}
	for len(g.letters(hook.ID)) != 0 {
		time.Sleep(time.Millisecond)
	}
	if g.size() != size {
		t.Error("delivery wrote into the ledger")
	}
	replay(fmt.Sprintf(`{"from":%d}`, first.First)) // everything again, from a record on
	for n := first.First; n < size; n++ {
		if d := r.next(); d.rec.N != n {
			t.Errorf("got record %d, want %d", d.rec.N, n)
		}
	}
	problem(t, g.ask("POST", g.path("/webhooks/"+hook.ID+"/replay"), g.gm, `{"from":100000}`), "malformed", "body.from")
}

// A receiver that sends elsewhere is not followed; one that says it is gone is
// told nothing more; one that takes nothing for too long neither, until
// somebody says so.
func TestWebhookPauses(t *testing.T) {
	g := newGame(t)
	elsewhere, moved, gone, dead := newReceiver(t), newReceiver(t), newReceiver(t), newReceiver(t)
	moved.answers(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.http.URL, http.StatusTemporaryRedirect)
	})
	gone.answers(status(http.StatusGone))
	dead.answers(status(http.StatusBadGateway))
	hooks := []NewWebhook{g.hook(g.gm, moved, ""), g.hook(g.gm, gone, ""), g.hook(g.gm, dead, "")}
	for i := range webhooks.MaxDeadInRow {
		g.remark(fmt.Sprint(i))
	}
	for i, want := range []string{"in a row", "gone", "in a row"} {
		item := g.state(hooks[i].ID, func(i WebhookItem) bool { return i.Paused != "" })
		if !strings.Contains(item.Paused, want) || item.Sent != 0 {
			t.Errorf("got %+v, want %q", item, want)
		}
	}
	if i := g.state(hooks[0].ID, func(WebhookItem) bool { return true }); !strings.Contains(i.Error, "307: redirects are not followed") {
		t.Errorf("got %+v", i)
	}
	if len(elsewhere.told) != 0 {
		t.Error("a redirect was followed")
	}
	if n := len(gone.told); n != 1 {
		t.Errorf("one that is gone was told %d times", n)
	}
	heard := len(dead.told)
	after := g.remark("after")
	g.ask("POST", g.path("/webhooks/"+hooks[1].ID+"/replay"), g.gm, `{}`) // another one goes on meanwhile
	gone.next()
	gone.next()
	if len(dead.told) != heard {
		t.Error("one that paused was told")
	}
	dead.answers(nil)
	for len(dead.told) > 0 {
		<-dead.told
	}
	g.ask("POST", g.path("/webhooks/"+hooks[2].ID+"/replay"), g.gm, `{}`)
	for n := after.First - webhooks.MaxDeadInRow; n <= after.First; n++ {
		if d := dead.next(); d.rec.N != n {
			t.Errorf("got record %d, want %d", d.rec.N, n)
		}
	}
}

// A receiver that does not answer is let go after a while and told again.
func TestWebhookSlow(t *testing.T) {
	patient := testTimeout
	testTimeout = 300 * time.Millisecond
	defer func() { testTimeout = patient }()
	g := newGame(t)
	slow, quick := newReceiver(t), newReceiver(t)
	released := make(chan struct{})
	slow.answers(func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done() // until the server hangs up
		close(released)
		slow.answers(nil)
	})
	hook := g.hook(g.gm, slow, "")
	g.hook(g.gm, quick, "")
	a := g.remark("one")
	if d := quick.next(); d.rec.N != a.First { // while the other one is waited for
		t.Errorf("got record %d", d.rec.N)
	}
	<-released
	for range 2 {
		if d := slow.next(); d.rec.N != a.First {
			t.Errorf("got record %d, want %d", d.rec.N, a.First)
		}
	}
	g.state(hook.ID, func(i WebhookItem) bool { return i.Next == a.Last+1 && i.Error == "" })
}

// S3: a webhook sees what a spectator sees; if its maker wants, what its maker
// sees: the same secrets as by the API, and nobody else's.
func TestWebhookSees(t *testing.T) {
	n := secretNight(t, "")
	tokens := n.callers("")
	for who, token := range map[string]string{"gm": tokens["gm"], "anna": tokens["anna"], "bo": tokens["bo"]} {
		for _, secrets := range []bool{false, true} {
			r := newReceiver(t)
			n.hook(token, r, fmt.Sprintf(`,"from":0,"secrets":%v`, secrets))
			var said strings.Builder
			for i := range n.size() {
				d := r.next()
				if d.rec.N != i {
					t.Fatalf("got record %d, want %d", d.rec.N, i)
				}
				said.Write(d.body)
			}
			for marker, may := range n.sees {
				want := false
				for _, handle := range may {
					want = want || secrets && handle == who
				}
				if got := strings.Contains(said.String(), marker); got != want {
					t.Errorf("%s, secrets %v: %s is told: %v, want %v", who, secrets, marker, got, want)
				}
			}
		}
	}
}

// D13: folding views anew, deciding a ledger again and asking what if send
// nothing, and neither does a start.
func TestRebuildSendsNothing(t *testing.T) {
	store := journal.NewMemory(2)
	g := play(t, start(t, store))
	r := newReceiver(t)
	hook := g.hook(g.gm, r, `,"from":0`)
	for range g.size() {
		r.next()
	}
	roll := g.size() - 1
	g.state(hook.ID, func(i WebhookItem) bool { return i.Next == g.size() })
	for range 2 {
		if err := g.hub.Reload(t.Context(), g.id); err != nil {
			t.Fatal(err)
		}
		read[map[string]any](t, g.get(g.path("/sessions/"+g.session+"/replay"), g.gm), 200)
		read[map[string]any](t, g.ask("POST", g.path(fmt.Sprintf("/rolls/%d/what-if", roll)), g.gm, `{}`), 200)
		g.close()
		g.node = start(t, store)
	}
	a := g.remark("after")
	if d := r.next(); d.rec.N != a.First || len(r.told) != 0 {
		t.Errorf("got record %d and %d more: want only %d", d.rec.N, len(r.told), a.First)
	}
}

// Webhooks are their makers' and the game master's to look after; they end with
// who made them, and there is a bound.
func TestWebhookRights(t *testing.T) {
	g := newGame(t)
	r := newReceiver(t)
	mine := g.hook(g.gm, r, "")
	annas := g.hook(g.anna, r, "")
	if items := read[projections.Page[WebhookItem]](t, g.get(g.path("/webhooks"), g.anna), 200).Items; len(items) != 1 || items[0].ID != annas.ID {
		t.Errorf("got %+v", items)
	}
	for path, method := range map[string]string{"": "DELETE", "/dead": "GET", "/replay": "POST", "/secret": "POST"} {
		body := map[string]string{"POST": "{}"}[method]
		problem(t, g.ask(method, g.path("/webhooks/"+mine.ID+path), g.anna, body), "not-found", "")
		problem(t, g.ask(method, g.path("/webhooks/"+annas.ID+path), g.sven, body), "not-found", "")
	}
	problem(t, g.ask("POST", g.path("/webhooks"), g.sven, `{"url":"https://example.com/"}`), "forbidden", "")
	for body, location := range map[string]string{
		`{"url":"http://10.0.0.1/"}`:                             "body.url",
		`{"url":"https://169.254.169.254/"}`:                     "body.url",
		`{"url":"ftp://example.com/"}`:                           "body.url",
		`{"url":"https://example.com/","types":["roll.maid"]}`:   "body.types.0",
		`{"url":"https://example.com/","from":100000}`:           "body.from",
		`{"url":"https://example.com/","secret":"mine"}`:         "body.secret",
		`{"url":"` + strings.Repeat("x", webhooks.MaxURL) + `"}`: "body.url",
	} {
		problem(t, g.ask("POST", g.path("/webhooks"), g.gm, body), "malformed", location)
	}
	// The maker leaves: what she made ends, the other one goes on.
	left := g.command(g.gm, `{"type":"participant.remove","data":{"handle":"anna"}}`)
	if item := g.state(annas.ID, func(i WebhookItem) bool { return i.Paused != "" }); !strings.Contains(item.Paused, "anna") {
		t.Errorf("got %+v", item)
	}
	if d := r.next(); d.rec.N != left.First || len(r.told) != 0 {
		t.Errorf("got record %d and %d more", d.rec.N, len(r.told))
	}
	if res := g.ask("DELETE", g.path("/webhooks/"+mine.ID), g.gm, ""); res.StatusCode != 204 {
		t.Fatalf("got %d", res.StatusCode)
	}
	problem(t, g.ask("DELETE", g.path("/webhooks/"+mine.ID), g.gm, ""), "not-found", "")
	other := newReceiver(t)
	g.hook(g.gm, other, "")
	g.remark("x")
	other.next()
	if len(r.told) != 0 {
		t.Error("one that was removed was told")
	}
	for range webhooks.MaxCampaign - 2 { // anna's is still there
		g.hook(g.gm, other, "")
	}
	p := problem(t, g.ask("POST", g.path("/webhooks"), g.gm, fmt.Sprintf(`{"url":%q}`, other.http.URL)), "rejected", "")
	if p.Code != "too_many_webhooks" {
		t.Errorf("got %+v", p)
	}
}
