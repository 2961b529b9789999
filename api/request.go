package api

import (
	"bytes"
	"context"
	"net/http"
	"net/url"

	"github.com/go-json-experiment/json"

	"tallystick/events/journal"
)

// asked are the headers of a request by NATS that mean what they mean by HTTP.
var asked = []string{"Authorization", "Idempotency-Key", "Ledger-Size", requestIDHeader}

// Answer answers a command that was asked for by NATS request and reply. It
// goes the way of one that comes by HTTP: the same rights, limits and log.
func (s *Server) Answer(ctx context.Context, q journal.Request) journal.Reply {
	path := "/v1/campaigns/" + url.PathEscape(q.Campaign) + "/commands"
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, path, bytes.NewReader(q.Data))
	if err != nil {
		return journal.Reply{Code: http.StatusBadRequest, Reason: "the subject names no campaign"}
	}
	for _, name := range asked {
		for _, value := range q.Values(name) {
			r.Header.Add(name, value)
		}
	}
	r.Header.Set("Content-Type", mediaJSON)
	w := answerWriter{header: http.Header{}, status: http.StatusOK}
	s.echo.ServeHTTP(&w, r)
	if w.status < 300 {
		return journal.Reply{Data: w.body.Bytes()}
	}
	var p Problem
	_ = json.Unmarshal(w.body.Bytes(), &p) // it is one; else the status tells
	if p.Title == "" {
		p.Title = http.StatusText(w.status)
	}
	return journal.Reply{Code: w.status, Reason: p.Title, Data: w.body.Bytes()}
}

// answerWriter keeps an answer.
type answerWriter struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *answerWriter) Header() http.Header         { return w.header }
func (w *answerWriter) WriteHeader(status int)      { w.status = status }
func (w *answerWriter) Write(b []byte) (int, error) { return w.body.Write(b) }
