package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"
	"github.com/go-json-experiment/json"

	"tallystick/api/telemetry"
	"tallystick/events"
	"tallystick/projections/feed"
)

// streams counts the live feeds, or the exports, that are open.
type streams struct {
	perCaller int // 0: StreamsPerToken

	mu        sync.Mutex
	campaigns map[string]int
	callers   map[string]int
}

// open counts one in; the function it returns counts it out.
func (st *streams) open(campaign, caller string) (close func(), ok bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.campaigns[campaign] >= StreamsPerCampaign || st.callers[caller] >= cmp.Or(st.perCaller, StreamsPerToken) {
		return nil, false
	}
	st.campaigns[campaign]++
	st.callers[caller]++
	return func() {
		st.mu.Lock()
		defer st.mu.Unlock()
		countOut(st.campaigns, campaign)
		countOut(st.callers, caller)
	}, true
}

func countOut(counts map[string]int, key string) {
	if counts[key]--; counts[key] == 0 {
		delete(counts, key)
	}
}

// follow answers with a live feed: what there is from a record on, then what
// happens.
func (s *Server) follow(ctx context.Context, q query) (*huma.StreamResponse, error) {
	who := callerOf(ctx)
	free, ok := s.streams.open(q.campaign, who.name())
	if !ok {
		return nil, newProblem("too-many-streams", fmt.Sprintf("a token may have %d live feeds open, a campaign %d", StreamsPerToken, StreamsPerCampaign)).because(telemetry.LimitFeeds).retryAfter(5)
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		defer free()
		c := humaecho.Unwrap(hc)
		h := c.Response().Header()
		h.Set("Content-Type", mediaSSE)
		h.Set("X-Accel-Buffering", "no") // a proxy must not hold events back
		control := http.NewResponseController(c.Response())
		c.Response().WriteHeader(http.StatusOK)
		ctx, cancel := context.WithCancel(hc.Context())
		defer cancel()
		defer context.AfterFunc(s.stopping, cancel)()
		revoked, end := context.WithCancelCause(ctx)
		defer end(nil)
		defer s.cfg.Tokens.Watch(who.token, func() { end(errGone) })()
		sub := s.cfg.Hub.Subscribe(q.campaign, q.from)
		defer sub.Close()
		l := live{server: s, out: c.Response(), control: control, who: who, query: q}
		err := l.run(revoked, sub)
		reason := s.whyEnded(err)
		s.cfg.Metrics.FeedEnded(reason)
		s.cfg.Log.InfoContext(hc.Context(), "feed ended", "sent", l.sent, "reason", reason, "error", err)
	}}, nil
}

// live is one live feed.
type live struct {
	server  *Server
	out     http.ResponseWriter
	control *http.ResponseController
	who     caller
	query   query
	next    int64 // n of the record that is due
	sent    int
	asked   time.Time // when the token was last found to be in force
}

// errGone says that the reader takes part no longer.
var errGone = errors.New("the token is not in force any more")

// run writes until the reader goes, is too slow or loses their rights, or the
// server stops.
func (l *live) run(ctx context.Context, sub *feed.Subscription) error {
	err := l.stillIn(ctx) // the token may have ended before it was watched
	if err == nil {
		err = l.follow(ctx, sub)
	}
	if ctx.Err() != nil { // whatever failed may have failed for this
		err = errors.Join(err, context.Cause(ctx))
	}
	return errors.Join(err, l.farewell(err))
}

// farewell tells a reader who is to come back when to. Whatever failed while
// the server stops, failed because it stops.
func (l *live) farewell(err error) error {
	switch {
	case l.server.stopping.Err() != nil:
		err = l.write(": the server shuts down\nretry: %d\n\n", retryMillis)
	case errors.Is(err, feed.ErrSlow):
		err = l.write(": too far behind, come back from record %d\nretry: %d\n\n", l.next, retryMillis)
	default:
		return nil
	}
	return errors.Join(err, l.flush())
}

// follow writes until something is wrong.
func (l *live) follow(ctx context.Context, sub *feed.Subscription) error {
	if err := l.write("retry: %d\n\n", retryMillis); err != nil {
		return err
	}
	l.next = l.query.from
	if err := l.endBacklog(); err != nil {
		return err
	}
	for {
		d, err := l.await(ctx, sub)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, context.DeadlineExceeded):
			err = l.quiet(ctx)
		case err == nil:
			err = l.deliver(ctx, d)
		}
		if err != nil {
			return err
		}
	}
}

// await waits for a record, but no longer than a heartbeat.
func (l *live) await(ctx context.Context, sub *feed.Subscription) (feed.Delivery, error) {
	ctx, cancel := context.WithTimeout(ctx, l.server.timing.heartbeat)
	defer cancel()
	return sub.Next(ctx)
}

// deliver writes a record, if it is wanted, and ends the backlog behind its
// last one. What happens live is sent at once.
func (l *live) deliver(ctx context.Context, d feed.Delivery) error {
	if err := l.stillIn(ctx); err != nil {
		return err
	}
	backlog := l.next < l.query.size
	l.next = d.Record.N + 1
	if l.query.filter.match(d.Record) {
		l.sent++
		if err := l.write("id: %d\nevent: %s\ndata: %s\n\n", d.Record.N, d.Record.Type, d.Line); err != nil {
			return err
		}
		if err := l.whisper(ctx, d.Record); err != nil {
			return err
		}
		l.server.cfg.Metrics.FeedEvent(behind(d))
	}
	if l.leaves(d.Record) {
		return errors.Join(l.flush(), errGone)
	}
	if backlog {
		return l.endBacklog()
	}
	return l.flush()
}

// endBacklog marks where live begins, when it begins at the record that is due.
func (l *live) endBacklog() error {
	if l.next != l.query.size {
		return nil
	}
	if err := l.write("event: backlog.end\ndata: {\"next\":%d}\n\n", l.next); err != nil {
		return err
	}
	return l.flush()
}

// leaves reports whether a record says that the reader takes part no longer.
// What was said before they came back is long past.
func (l *live) leaves(rec events.Record) bool {
	if rec.Type != "participant.left" || rec.N < l.query.size {
		return false
	}
	var e events.ParticipantLeft
	return json.Unmarshal(rec.Data, &e) == nil && e.Handle == l.who.Handle
}

// quiet keeps a feed alive on which nothing happens, as long as its token is
// in force.
func (l *live) quiet(ctx context.Context) error {
	l.asked = time.Time{}
	if err := l.stillIn(ctx); err != nil {
		return err
	}
	if err := l.write(": quiet\n\n"); err != nil {
		return err
	}
	return l.flush()
}

// stillIn asks now and then whether the token is in force. One that ends on
// this node ends the feed at once; this finds those that ended on another.
func (l *live) stillIn(ctx context.Context) error {
	if time.Since(l.asked) < askAgain {
		return nil
	}
	l.asked = time.Now()
	_, err := l.server.identify(ctx, l.who.token)
	var p *Problem
	if errors.As(err, &p) && p.Status == http.StatusUnauthorized {
		return errGone
	}
	return err
}

// write gives the reader a while to take a piece; a stalled one is dropped.
func (l *live) write(format string, a ...any) error {
	_ = l.control.SetWriteDeadline(time.Now().Add(l.server.timing.event))
	_, err := fmt.Fprintf(l.out, format, a...)
	return err
}

func (l *live) flush() error {
	err := l.control.Flush()
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}
