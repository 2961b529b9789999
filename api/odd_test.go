package api

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"

	"tallystick/events/journal"
)

// odd asks every operation of the document otherwise than the document says. A
// route that is added later is asked without being told.
type odd struct {
	*game
	t    *testing.T
	fill *strings.Replacer
}

func newOdd(t *testing.T) odd {
	g := newGame(t)
	return odd{g, t, strings.NewReplacer("{campaign}", g.id, "{character}", g.bob, "{session}", g.session, "{n}", fmt.Sprint(g.size()-1), "{dispute}", "none",
		"{system}", "toy", "{slug}", "rejected", "{handle}", "nobody", "{invitation}", "none", "{token}", "none", "{hook}", "none", "{file}", "main.js")}
}

// operations calls f for each, with an address that it could be asked at and a
// token that may. Nothing may be stored by it, and nothing may panic.
func (o odd) operations(f func(method, path, address, token string, op *huma.Operation)) {
	o.t.Helper()
	size := o.size()
	for path, item := range o.server.api.OpenAPI().Paths {
		for method, op := range operations(item) {
			token := o.gm
			if o.send(method, o.fill.Replace(path), token, "").StatusCode == http.StatusForbidden {
				token = adminToken
			}
			f(method, path, o.fill.Replace(path), token, op)
		}
	}
	if now := o.size(); now != size {
		o.t.Errorf("the ledger grew by %d records", now-size)
	}
	if strings.Contains(o.log.String(), "panic") {
		o.t.Error("something panicked")
	}
}

// send is ask with headers that may come twice.
func (o odd) send(method, address, token, body string, headers ...string) reply {
	o.t.Helper()
	req, err := http.NewRequest(method, o.http.URL+address, strings.NewReader(body))
	if err != nil {
		o.t.Fatal(err)
	}
	if token != "" {
		req.Header.Add("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		o.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		o.t.Fatal(err)
	}
	return reply{res, b}
}

// refused fails unless an answer is a problem that is the client's, of one of
// these kinds.
func (o odd) refused(what string, r reply, slugs ...string) {
	o.t.Helper()
	var p Problem
	err := json.Unmarshal(r.body, &p)
	if err != nil || r.StatusCode < 400 || r.StatusCode >= 500 || !slices.Contains(slugs, p.slug()) {
		o.t.Errorf("%s: got %d %s, want %v", what, r.StatusCode, r.body, slugs)
	}
}

// S1, S19: what is not in the document is not served: no other method, which is
// answered with those there are, and no other spelling of an address.
func TestOtherAddresses(t *testing.T) {
	o := newOdd(t)
	for path, item := range o.server.api.OpenAPI().Paths {
		address, there := o.fill.Replace(path), operations(item)
		want := slices.Sorted(maps.Keys(there))
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "get"} {
			if there[method] != nil {
				continue
			}
			r := o.send(method, address, o.gm, "")
			allowed := slices.DeleteFunc(strings.Split(r.Header.Get("Allow"), ", "), func(m string) bool { return m == "OPTIONS" })
			if slices.Sort(allowed); !slices.Equal(allowed, want) {
				t.Errorf("%s %s: allowed are %v, want %v", method, path, allowed, want)
			}
			if wanted := map[bool]int{true: 204, false: 405}[method == "OPTIONS"]; r.StatusCode != wanted || method == "HEAD" && len(r.body) > 0 {
				t.Errorf("%s %s: got %d %s", method, path, r.StatusCode, r.body)
			}
		}
	}
	o.operations(func(method, path, address, token string, _ *huma.Operation) {
		if path == "/" {
			return // there is no other spelling
		}
		last := strings.LastIndex(address, "/")
		for _, other := range []string{
			address + "/", "/" + address, "/x/.." + address, "/." + address, address + "/.", strings.ToUpper(address), address + "%00", address + ";x",
			"/" + strings.ReplaceAll(address[1:], "/", "%2f"), address[:last] + "/%252e%252e/" + address[last+1:], "/v1" + address, address + ".json",
		} {
			if other == address {
				continue // a path of one word
			}
			o.refused(method+" "+other, o.send(method, other, token, ""), "not-found", "method-not-allowed", "malformed", "unsupported-media-type", "rejected", "unauthenticated")
		}
	})
}

// What stands for a campaign, a character or a number in an address and is none
// finds nothing, whatever it means to the parts below.
func TestOtherNames(t *testing.T) {
	o := newOdd(t)
	names := []string{
		"*", "%3E", "a.b", "..", "%2e%2e%2f", "%00", "%ff", "-1", "9223372036854775808", "%EF%BC%91", "__proto__", strings.Repeat("x", 4_000), strings.ToUpper(o.id), "%0d%0aX-Injected:1",
	}
	if testing.Short() {
		names = names[:4]
	}
	for _, name := range names {
		for path, item := range o.server.api.OpenAPI().Paths {
			for _, parameter := range pathParameter.FindAllString(path, -1) {
				address := o.fill.Replace(strings.Replace(path, parameter, name, 1))
				for method := range operations(item) {
					r := o.send(method, address, adminToken, "{}", "Content-Type", "application/json", "Sec-Fetch-Site", "same-origin")
					what := method + " " + address
					o.refused(what[:min(200, len(what))], r, "not-found", "malformed", "forbidden", "unsupported-media-type")
					if r.Header.Get("X-Injected") != "" {
						t.Errorf("%s sets a header", address)
					}
				}
			}
		}
	}
}

// S14: no operation takes a query that it does not know, one that cannot be
// read, or a parameter or header twice; what stands in front of the server may
// believe the other one.
func TestOtherQueries(t *testing.T) {
	o := newOdd(t)
	plain := []string{"Content-Type", "application/json", "Idempotency-Key", key()}
	o.operations(func(method, path, address, token string, op *huma.Operation) {
		body := ""
		if op.RequestBody != nil {
			body = "{}"
		}
		ask := func(query, location string, more ...string) {
			t.Helper()
			p := problem(t, o.send(method, address+query, token, body, append(slices.Clone(plain), more...)...), "malformed", location)
			if len(p.Detail) > 300 {
				t.Errorf("%s %s: %s", method, path, p.Detail)
			}
		}
		ask("?nothing=1", "query.nothing")
		ask("?nothing=1&nothing=1", "query.nothing")
		ask("?LIMIT=1", "query.LIMIT")
		ask("?%zz", "query")
		ask("?limit=1;limit=2", "query")
		ask("?=", "query.")
		for _, p := range op.Parameters {
			if p.In == "query" {
				ask("?"+p.Name+"=1&"+p.Name+"=2", "query."+p.Name)
			}
		}
		ask("", "header.Authorization", "Authorization", "Bearer "+o.anna)
		for _, name := range single[1:] {
			ask("", "header."+name, name, "x", name, "y")
		}
	})
}

// Every body is read strictly, of the media type that the document names.
func TestOtherBodies(t *testing.T) {
	o := newOdd(t)
	deep := strings.Repeat(`{"a":`, 9_000) + "1" + strings.Repeat("}", 9_000)
	o.operations(func(method, path, address, token string, op *huma.Operation) {
		if op.RequestBody == nil || op.RequestBody.Content[mediaJSON] == nil {
			return
		}
		send := func(body, media string, more ...string) reply {
			return o.send(method, address, token, body, append([]string{"Content-Type", media, "Idempotency-Key", key(), "Sec-Fetch-Site", "same-origin"}, more...)...)
		}
		what := method + " " + path
		for _, media := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json; charset=utf-16", "application/merge-patch+json", "application/json, text/plain", "*/*"} {
			o.refused(what+" as "+media, send(`{}`, media), "unsupported-media-type")
		}
		for _, packed := range []string{"gzip", "deflate", "br", "identity, gzip", "x"} {
			o.refused(what+" in "+packed, send(`{}`, mediaJSON, "Content-Encoding", packed), "unsupported-media-type")
		}
		for _, body := range []string{
			"", " ", "null", "true", "1", `"x"`, "[]", "[{}]", "{", "}", "\ufeff{}", "{}{}", "{} x", "{}\x00", "\u00a0{}", "{,}", `{"nonsense":1}`, `{"nonsense":1,"nonsense":2}`,
			`{"non\u0073ense":1,"nonsense":2}`, `{"nonsense":NaN}`, `{"nonsense":-Infinity}`, `{"nonsense":01}`, `{"nonsense":1e999}`, `{"nonsense":0x1}`, "{\"nonsense\":\"\xff\"}", "{\"nonsense\":\"\xc0\x80\"}",
			`{"nonsense":"\ud800"}`, "{\"nonsense\":\"\n\"}", `{'nonsense':1}`, `{nonsense:1}`, `{/**/}`, "//\n{}", `{"__proto__":{}}`, `{"constructor":{"prototype":{}}}`, deep,
			"{" + strings.Repeat(`"a":1,`, 9_000) + `"b":1}`, `{"":1}`,
		} {
			r := send(body, mediaJSON)
			if len(body) > 40 {
				body = body[:40]
			}
			if strings.Contains(path, "{hook}") && r.StatusCode == http.StatusNotFound {
				continue // there is none: that is looked at first
			}
			o.refused(fmt.Sprintf("%s %q", what, body), r, "malformed")
			if len(r.body) > 2_000 {
				t.Errorf("%s %q: an answer of %d bytes", what, body, len(r.body))
			}
		}
	})
}

// S8: who sends a head or a body bit by bit is cut off; others are served in the
// meantime.
func TestSlowClients(t *testing.T) {
	g := newGame(t)
	g.server.timing.read = 300 * time.Millisecond
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- g.server.Serve(t.Context(), l) }()
	var slow []net.Conn
	for i := range 100 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nIdempotency-Key: %s\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{", g.path("/commands"), g.anna, key())
		if slow = append(slow, c); i%10 > 0 {
			continue
		}
		res, err := http.Get("http://" + l.Addr().String() + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	for _, c := range slow {
		if err := c.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(c)
		if err != nil || !bytes.HasPrefix(said, []byte("HTTP/1.1 408 ")) {
			t.Fatalf("it was told %q, %v", said, err)
		}
	}
	if g.size() != play(t, start(t, journal.NewMemory(1))).size() {
		t.Error("something was stored")
	}
}
