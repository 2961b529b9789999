package api

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"tallystick/events/journal"
)

// serve answers a request without a connection.
func (g *game) serve(method, path, token, body string, headers ...string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(method, g.path(""), strings.NewReader(body))
	u, err := url.ParseRequestURI(path)
	if err != nil {
		return nil // no client can send it
	}
	req.URL, req.RequestURI = u, path
	req.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i+1 < len(headers); i += 2 {
		if !plainHeader(headers[i+1]) {
			return nil
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	g.server.Handler().ServeHTTP(w, req)
	return w
}

func plainHeader(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// tidy fails unless an answer is a success or a problem that is the client's.
func tidy(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	if w == nil || w.Code < 400 {
		return
	}
	var p Problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Status != w.Code || p.Detail == "" {
		t.Errorf("%d is no problem: %s", w.Code, w.Body)
	}
	if w.Code >= 500 {
		t.Errorf("the server failed: %s", w.Body)
	}
}

// Whatever is sent as a command is stored or refused with a problem.
func FuzzCommandBody(f *testing.F) {
	g := play(f, start(f, journal.NewMemory(1)))
	for _, body := range []string{
		`{"type":"roll","data":{"expression":"3d6"}}`, `{"type":"roll","data":{"expression":"1d6"},"visibility":["anna"]}`,
		`{"type":"roll","data":{"expression":"1d6"},"dice":{"faces":[6]},"visibility":"blind"}`, `{"type":"note.add","data":{"text":"x"},"seat":{"lane":"gm","i":1,"c":"-"}}`,
		`{}`, `[]`, `null`, `{"type":"roll","type":"roll"}`, "{\"type\":\"\xff\"}", `{"type":"clock.advance","data":{"seconds":1e9}}`,
		`{"type":"roll.open","data":{"roll":1}}`, `{"type":"roll.widen","data":{"roll":1,"shown_to":"private"}}`, `{"type":"target.seal","data":{"target":{"value":1}}}`,
	} {
		f.Add(body, true)
		f.Add(body, false)
	}
	f.Fuzz(func(t *testing.T, body string, gm bool) {
		if strings.Contains(body, "crash") {
			return // the toy's own command that panics
		}
		token := g.anna
		if gm {
			token = g.gm
		}
		tidy(t, g.serve(http.MethodPost, g.path("/commands"), token, body, "Content-Type", "application/json", "Idempotency-Key", key()))
	})
}

// Whatever is asked of a list is answered or refused with a problem.
func FuzzQuery(f *testing.F) {
	g := play(f, start(f, journal.NewMemory(1)))
	for _, query := range []string{
		"from=0&limit=10", "type=roll.made,note.added", "session=x&character=y", "from=-1", "limit=1e9", "from=9223372036854775808", "at=1&after=2", "%zz", "a=b", "from=1&from=2", ";",
	} {
		for _, path := range []string{"events", "rolls", "characters", "secrets", "proofs/inclusion", "characters/" + g.bob + "/prognosis"} {
			f.Add(path, query, "application/json", "3")
		}
		f.Add("events", query, "application/x-ndjson;q=0.1, text/html;q=x", "")
	}
	f.Fuzz(func(t *testing.T, path, query, accept, last string) {
		if accepted(accept) == mediaSSE || strings.ContainsAny(path, "?#") {
			return // a live feed has no end
		}
		tidy(t, g.serve(http.MethodGet, g.path("/"+path)+"?"+query, g.anna, "", "Accept", accept, "Last-Event-ID", last))
	})
}

// Whatever is brought to sign in with, or to accept an invitation, is refused
// with a problem.
func FuzzSignIn(f *testing.F) {
	g := play(f, start(f, journal.NewMemory(1)))
	for _, body := range []string{`{"token":"x"}`, `{"token":"tallyinvite_` + g.id + `_0"}`, `{"token":""}`, `{"token":1}`, `{`, `{"token":"a","token":"b"}`} {
		f.Add(body, "tallystick=x; tallystick-"+g.id+"=y")
	}
	f.Fuzz(func(t *testing.T, body, cookie string) {
		for _, path := range []string{"/v1/sign-in", "/v1/invitations/accept"} {
			w := g.serve(http.MethodPost, path, "x", body, "Content-Type", "application/json", "Sec-Fetch-Site", "same-origin")
			if tidy(t, w); w != nil && w.Code < 400 {
				t.Errorf("%s lets %q in", path, body)
			}
		}
		req := httptest.NewRequest(http.MethodGet, g.path(""), nil)
		req.Header.Set("Cookie", cookie)
		w := httptest.NewRecorder()
		g.server.Handler().ServeHTTP(w, req)
		if tidy(t, w); w.Code < 400 {
			t.Errorf("the cookie %q is let in", cookie)
		}
	})
}

// Whatever is brought as a bundle, broken as a zip or in one of its files, is
// refused with a problem, or is what is here already: nothing of it is stored.
func FuzzImport(f *testing.F) {
	g := play(f, start(f, journal.NewMemory(1)))
	whole := g.get(g.path("/ledger"), g.gm, "Accept", mediaZip).body
	n := other(f)
	read[Import](f, n.send(mediaZip, whole), 201)
	honest := n.get(g.path("/ledger"), adminToken).body
	for _, name := range []string{bundleEvents, bundleCheckpoint, bundleVKey, "", "another"} {
		f.Add(name, uint(30), uint(2), []byte("xy"))
		f.Add(name, uint(0), uint(1<<20), []byte(nil))
		f.Add(name, uint(1<<20), uint(0), []byte("x\n"))
	}
	f.Fuzz(func(t *testing.T, file string, at, cut uint, insert []byte) {
		n.t = t
		spoilt := func(text []byte) []byte {
			from := min(at, uint(len(text)))
			return slices.Concat(text[:from], insert, text[min(from+min(cut, 1<<20), uint(len(text))):])
		}
		data := spoilt(whole)
		if file != "" {
			data = repacked(t, whole, func(name string, text []byte) []byte {
				if name == file {
					return spoilt(text)
				}
				return text
			})
		}
		r := n.send(mediaZip, data)
		if r.StatusCode >= 500 || r.StatusCode == http.StatusCreated {
			t.Errorf("%d %s", r.StatusCode, r.body)
		}
		if r.StatusCode >= 400 {
			read[Problem](t, r, r.StatusCode)
		}
		if now := n.get(g.path("/ledger"), adminToken).body; !bytes.Equal(now, honest) {
			t.Fatalf("the ledger is now %s", now)
		}
	})
}
