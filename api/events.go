package api

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"
	"github.com/go-json-experiment/json"
	"github.com/labstack/echo/v4"

	"tallystick/api/telemetry"
	"tallystick/events"
	"tallystick/projections"
)

// Content types of records.
const (
	mediaJSON   = "application/json"
	mediaNDJSON = "application/x-ndjson"
	mediaSSE    = "text/event-stream"
)

type eventsInput struct {
	InCampaign
	Accept      string          `header:"Accept" doc:"application/json: a page; application/x-ndjson: all there are, one a line; text/event-stream: all there are and what comes, live"`
	From        optional[int64] `query:"from" minimum:"0" doc:"n of the first record; left out: 0, the first there is"`
	Limit       optional[int]   `query:"limit" minimum:"1" maximum:"1000" doc:"how many records at most; left out: 100 for a page, all for application/x-ndjson; not for a live feed"`
	Type        string          `query:"type" doc:"only events of these types; several with commas between them"`
	Session     string          `query:"session" doc:"only what happened in this session"`
	Character   string          `query:"character" doc:"only events that name this character"`
	LastEventID string          `header:"Last-Event-ID" doc:"of a live feed that broke off: it goes on behind this record; wins over from"`
}

func (s *Server) eventRoutes() {
	array := &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeObject, Description: "a record, as it is stored"}}
	body := content(mediaNDJSON, mediaSSE)
	body[mediaJSON] = &huma.MediaType{Schema: &huma.Schema{
		Type: huma.TypeObject, Required: []string{"items", "next"},
		Properties: map[string]*huma.Schema{
			"items": array,
			"next":  {Type: huma.TypeInteger, Format: "int64", Nullable: true, Description: "from of the next page, null at the end"},
		},
	}}
	handle(s, route{
		Method: http.MethodGet, Path: "/v1/campaigns/{campaign}/events", ID: "read-events", Summary: "Read or follow the records", Doc: eventsDoc,
		Access: reader, Content: body, Fails: []int{429},
	}, s.readEvents)
}

const eventsDoc = "In three forms, chosen by Accept. Records are given as they are stored. A filtered page may hold fewer items than asked for and still have a next: " +
	"it looks at 50,000 records at most. In a live feed each record is one event: id is its n, event its type, data the record. " +
	"The event backlog.end (data: {\"next\":n}, without an id) stands between what had happened before the connection and what happens live, so that a reader can show the two differently; " +
	"a comment comes every 15 seconds on a quiet feed, and a retry: line last when the server shuts down. " +
	"A reader that is too slow is cut off and goes on with Last-Event-ID."

// query is what is asked of the records of a campaign.
type query struct {
	campaign string
	from     int64
	limit    int // 0: all
	size     int64
	filter   filter
}

func (s *Server) readEvents(ctx context.Context, in *eventsInput) (*huma.StreamResponse, error) {
	form := accepted(in.Accept)
	q, err := s.query(ctx, in, form)
	if err != nil {
		return nil, err
	}
	switch form {
	case mediaSSE:
		return s.follow(ctx, q)
	case mediaNDJSON:
		return s.export(ctx, q)
	}
	return s.eventPage(ctx, q)
}

// accepted is the best form of records that a client takes; JSON when it does
// not say.
func accepted(header string) string { return choose(header, mediaJSON, mediaNDJSON, mediaSSE) }

// query checks what is asked against the campaign as it is now.
func (s *Server) query(ctx context.Context, in *eventsInput, form string) (query, error) {
	q := query{campaign: in.Campaign, from: in.From.Value, limit: in.Limit.Value}
	if form == mediaJSON && !in.Limit.Set {
		q.limit = DefaultLimit
	}
	if form == mediaSSE && in.Limit.Set {
		return q, malformed("query.limit", "is not for a live feed")
	}
	err := s.view(ctx, in.Campaign, func(v *projections.Views) (err error) {
		q.size = v.Position()
		q.filter, err = s.filter(v, in)
		return err
	})
	if err != nil {
		return q, err
	}
	where := "query.from"
	if form == mediaSSE && in.LastEventID != "" {
		where = "header.Last-Event-ID"
		last, err := strconv.ParseInt(in.LastEventID, 10, 64)
		if err != nil || last < 0 {
			return q, malformed(where, "is not the n of a record")
		}
		if last >= q.size {
			return q, malformed(where, fmt.Sprintf("is %d, but the last record is %d: it is not an id of this campaign", last, q.size-1))
		}
		q.from = last + 1
	}
	if q.from > q.size {
		return q, malformed(where, fmt.Sprintf("is %d, but the last record is %d", q.from, q.size-1))
	}
	return q, nil
}

// filter says which records are wanted. A name that does not exist is an
// error: a feed that stays empty for a slip of the pen helps nobody.
func (s *Server) filter(v *projections.Views, in *eventsInput) (filter, error) {
	f := filter{first: 0, last: math.MaxInt64, session: in.Session, character: in.Character}
	if in.Session != "" {
		session, ok := v.Session(in.Session)
		if !ok {
			return f, malformed("query.session", "names no session of this campaign")
		}
		f.first = session.Records.First
		if session.Closed != nil {
			f.last = session.Records.Last
		}
	}
	if in.Character != "" {
		if _, ok := v.Character(in.Character); !ok {
			return f, malformed("query.character", "names no character of this campaign")
		}
	}
	if in.Type == "" {
		return f, nil
	}
	c := v.Campaign()
	book, err := s.cfg.Library.Find(c.System, c.Edition)
	if err != nil {
		return f, err
	}
	f.types = map[string]bool{}
	for name := range strings.SplitSeq(in.Type, ",") {
		if _, known := book.Registry()[name]; !known {
			return f, malformed("query.type", fmt.Sprintf("is %q: there is no such event type", name))
		}
		f.types[name] = true
	}
	return f, nil
}

// filter chooses among the records of a campaign, which it is shown in order.
type filter struct {
	first, last        int64 // of the session, both included
	session, character string
	types              map[string]bool // nil: all
}

// match reports whether a record is wanted.
func (f *filter) match(rec events.Record) bool {
	if rec.N < f.first || rec.N > f.last {
		return false
	}
	if f.session != "" && rec.Type == "session.closed" {
		f.last = rec.N // only one session is open at a time
	}
	if f.types != nil && !f.types[rec.Type] {
		return false
	}
	return f.character == "" || names(rec, f.character)
}

// names reports whether an event is about a character, or says that they did
// it or rolled in it.
func names(rec events.Record, character string) bool {
	var said struct {
		Character string `json:"character"`
		By        string `json:"by"`
		Also      []struct {
			Character string `json:"character"`
		} `json:"also"`
	}
	if err := json.Unmarshal(rec.Data, &said); err != nil {
		return false // an event with other members of these names: not about a character
	}
	for _, throw := range said.Also {
		if throw.Character == character {
			return true
		}
	}
	return said.Character == character || said.By == character
}

// errEnough ends a reading that has what it wants.
var errEnough = errors.New("enough")

// eventPage reads a page before it answers, so that an error is an answer too.
func (s *Server) eventPage(ctx context.Context, q query) (*huma.StreamResponse, error) {
	body := []byte(`{"items":[`)
	next, found := q.from, 0
	err := s.cfg.Hub.Records(ctx, q.campaign, q.from, MaxScan, func(rec events.Record, line []byte) error {
		if found == q.limit {
			return errEnough
		}
		next = rec.N + 1
		if q.filter.match(rec) {
			if found > 0 {
				body = append(body, ',')
			}
			body = append(body, line...)
			found++
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	body = append(body, `],"next":`...)
	if next < q.size {
		body = strconv.AppendInt(body, next, 10)
	} else {
		body = append(body, "null"...)
	}
	body = append(body, '}')
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		ctx.SetHeader("Content-Type", mediaJSON)
		_, _ = ctx.BodyWriter().Write(body) // fails when the client is gone
	}}, nil
}

// export is lines, for a token that does not read too many lists at once.
func (s *Server) export(ctx context.Context, q query) (*huma.StreamResponse, error) {
	free, err := s.exporting(ctx, q.campaign)
	if err != nil {
		return nil, err
	}
	return s.lines(q, free), nil
}

// exporting counts an export of the caller in; the function it returns counts
// it out.
func (s *Server) exporting(ctx context.Context, campaign string) (free func(), err error) {
	free, ok := s.exports.open(campaign, callerOf(ctx).name())
	if !ok {
		return nil, newProblem("too-many-requests", fmt.Sprintf("a token may read %d whole lists of records at a time", ExportsPerToken)).because(telemetry.LimitExports).retryAfter(1)
	}
	return free, nil
}

// lines streams records as they are stored, one a line.
func (s *Server) lines(q query, free func()) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		defer free()
		c := humaecho.Unwrap(hc)
		c.Response().Header().Set("Content-Type", mediaNDJSON)
		c.Response().WriteHeader(http.StatusOK)
		w := bufio.NewWriterSize(patient{c}, 64<<10)
		err := s.writeLines(hc.Context(), w, q)
		if err == nil {
			err = w.Flush()
		}
		if err != nil {
			// The status is sent already: cut the connection, so that nobody
			// takes a part for the whole.
			s.cfg.Log.WarnContext(hc.Context(), "a list of records broke off", "error", err)
			panic(http.ErrAbortHandler)
		}
	}}
}

func (s *Server) writeLines(ctx context.Context, w *bufio.Writer, q query) error {
	if q.from == q.size {
		return nil
	}
	found := 0
	err := s.cfg.Hub.Records(ctx, q.campaign, q.from, int(q.size-q.from), func(rec events.Record, line []byte) error {
		if !q.filter.match(rec) {
			return nil
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
		if err := w.WriteByte('\n'); err != nil {
			return err
		}
		if found++; found == q.limit {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// patient gives every piece of a long answer its own time to be written.
type patient struct{ c echo.Context }

func (p patient) Write(b []byte) (int, error) {
	_ = http.NewResponseController(p.c.Response()).SetWriteDeadline(time.Now().Add(writeTimeout))
	return p.c.Response().Write(b)
}
