// Package feed keeps the views of campaigns up to date and wakes those who wait.
//
// A Hub loads a campaign from the journal when somebody asks, follows the journal
// for all that are loaded, and lets go of those that have been idle. It promises
// that no record is skipped or folded twice: a record that came already is known
// by its n, one that is missing is read again, and one that is missing in the
// journal too stops that campaign's views, visibly, and no other's. It imports
// projections, events and events/journal.
package feed

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"tallystick/events"
	"tallystick/events/journal"
	"tallystick/projections"
)

// Defaults and bounds.
const (
	// DefaultBudget is how many bytes all loaded campaigns may take together.
	DefaultBudget = 256 << 20
	// RecordBytes is what the views of one record take, and CampaignBytes what a
	// campaign takes beside: estimates, as measured on an evening of play.
	RecordBytes   = 260
	CampaignBytes = 8 << 10
	// DefaultQueue is how many records a subscriber may be behind. One commit of
	// any size is always allowed.
	DefaultQueue = 4_096
	// patience is how often a commit that is known to be stored, and cannot be
	// read, is looked for before it counts as missing; the pause doubles.
	patience   = 8
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
)

// Errors that callers tell apart with errors.Is.
var (
	// ErrUnknown: there is no campaign of that id.
	ErrUnknown = errors.New("feed: unknown campaign")
	// ErrFuture: the record asked for is not written yet.
	ErrFuture = errors.New("feed: beyond the last record")
	// ErrSlow: a subscriber fell too far behind and was cut off. It goes on with
	// a new subscription from the record after the last it got.
	ErrSlow = errors.New("feed: too slow")
	// ErrClosed: the hub or the subscription was closed, or the hub not started.
	ErrClosed = errors.New("feed: closed")
)

// A StoppedError says that the views of a campaign stopped at a record and why.
// They do not step over it: see Hub.Reload.
type StoppedError struct {
	Campaign string
	N        int64 // of the record that could not be folded
	Reason   string
}

// Error implements error.
func (e *StoppedError) Error() string {
	return fmt.Sprintf("feed: the views of campaign %s stopped at record %d: %s", e.Campaign, e.N, e.Reason)
}

// Option changes how a Hub works.
type Option func(*Hub)

// Budget sets how many bytes all loaded campaigns may take together, by the
// estimate of RecordBytes and CampaignBytes; the ones used least lately are let go
// for others. What is in use stays loaded beyond it.
func Budget(bytes int64) Option { return func(h *Hub) { h.budget = bytes } }

// Queue sets how many records a subscriber may be behind before it is cut off, at
// least 1.
func Queue(records int) Option { return func(h *Hub) { h.queue = max(1, records) } }

// Also has f told of every commit that follows, whichever node stored it. f must
// be quick.
func Also(f func(journal.Commit)) Option { return func(h *Hub) { h.also = f } }

// Hub has the views of campaigns. Its methods may be called by many goroutines.
type Hub struct {
	journal journal.Journal
	budget  int64
	queue   int
	shelf   *journal.Shelf // of snapshots; nil: none are kept
	also    func(journal.Commit)

	ctx        context.Context // ends with the hub; nil before Start
	cancel     context.CancelFunc
	background sync.WaitGroup
	delivered  atomic.Uint64
	held       atomic.Int64 // bytes of all loaded campaigns

	mu        sync.Mutex // guards what follows; taken before a campaign's
	campaigns map[string]*campaign
	idle      *list.List // of *campaign, the one used last in front

	stopMu  sync.Mutex // guards stopped; taken last
	stopped map[string]*StoppedError
}

// NewHub returns a hub over a journal. Start it before use.
func NewHub(j journal.Journal, options ...Option) *Hub {
	h := &Hub{
		journal: j, budget: DefaultBudget, queue: DefaultQueue,
		also: func(journal.Commit) {}, campaigns: map[string]*campaign{}, idle: list.New(), stopped: map[string]*StoppedError{},
	}
	for _, o := range options {
		o(h)
	}
	return h
}

// Start follows the journal until ctx ends or the hub is closed. It returns once
// no commit can be missed any more. It is called once, before anything else.
func (h *Hub) Start(ctx context.Context) error {
	h.ctx, h.cancel = context.WithCancel(ctx)
	err := h.journal.Follow(h.ctx, func(c journal.Commit) {
		h.delivered.Add(1)
		h.Notify(c)
		h.also(c)
	})
	if err != nil {
		h.cancel()
		return fmt.Errorf("feed: follow the journal: %w", err)
	}
	return nil
}

// Close ends all subscriptions and whatever the hub does in the background.
func (h *Hub) Close() {
	h.mu.Lock()
	if h.cancel != nil {
		h.cancel()
	}
	h.mu.Unlock()
	h.background.Wait()
}

// usable fails when the hub does not run.
func (h *Hub) usable() error {
	if h.ctx == nil || h.ctx.Err() != nil {
		return ErrClosed
	}
	return nil
}

// Notify hands over a commit right after it was stored, so that readers in this
// process need not wait for the follower. The same commit may come many times.
func (h *Hub) Notify(commit journal.Commit) {
	h.mu.Lock()
	c := h.campaigns[commit.Campaign]
	if c != nil {
		c.users++
	}
	h.mu.Unlock()
	if c == nil {
		return // it is read when somebody asks
	}
	if c.take(commit) {
		h.mend(c)
	}
	c.keepSnapshot()
	h.release(c, false)
}

// mend reads in the background what a campaign lacks, until it has it or stops.
// The caller uses the campaign.
func (h *Hub) mend(c *campaign) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.usable() != nil || c.mending {
		return
	}
	c.mending = true
	c.users++
	h.background.Go(func() {
		defer h.release(c, false)
		for pause := firstPause; !h.mended(c); pause = min(2*pause, lastPause) {
			if err := sleep(h.ctx, pause); err != nil {
				return
			}
		}
	})
}

// mended tries once. It is true when nothing more is missing, or never will come.
func (h *Hub) mended(c *campaign) bool {
	_ = c.refresh(h.ctx) // what failed shows: the views stopped, or they are behind
	h.mu.Lock()
	defer h.mu.Unlock()
	c.mending = c.behind()
	return !c.mending
}

// View brings a campaign's views up to date and runs f over them. With after
// ≥ 0 it waits until they have read record after, or ctx ends; with a negative
// one they are as of now: never older than the last commit that the hub was
// notified of or that followed. f must be quick and must keep nothing but what
// the methods of Views return. Errors: ErrUnknown, *StoppedError, ErrClosed,
// those of ctx, of the journal and of f.
func (h *Hub) View(ctx context.Context, id string, after int64, f func(*projections.Views) error) error {
	c, err := h.use(ctx, id)
	if err != nil {
		return err
	}
	defer h.release(c, true)
	if after >= 0 {
		if err := c.await(ctx, after); err != nil {
			return err
		}
	} else if err := c.ready(ctx); err != nil {
		return err
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	return f(c.views)
}

// At folds a campaign's records up to and including n, apart from the views that
// are kept. Errors: ErrUnknown, ErrFuture when there is no record n yet,
// *projections.Error, those of ctx and of the journal.
func (h *Hub) At(ctx context.Context, id string, n int64) (*projections.Views, error) {
	if err := h.usable(); err != nil {
		return nil, err
	}
	if n < 0 {
		return nil, fmt.Errorf("feed: n is %d: records count from 0", n)
	}
	v := projections.New(id)
	err := h.journal.Read(ctx, id, 0, func(commit journal.Commit) error {
		recs, err := events.ParseCommit(commit.Payload)
		if err != nil {
			return err
		}
		for _, rec := range recs {
			if err := v.Apply(rec); err != nil {
				return err
			}
			if rec.N == n {
				return errEnough
			}
		}
		return nil
	})
	switch {
	case errors.Is(err, errEnough):
		return v, nil
	case err != nil:
		return nil, reading(id, err)
	case v.Position() == 0:
		return nil, fmt.Errorf("%w: %s", ErrUnknown, id)
	}
	return nil, fmt.Errorf("%w: campaign %s has no record %d, the last is %d", ErrFuture, id, n, v.Position()-1)
}

// errEnough ends a read that has what it wants.
var errEnough = errors.New("enough")

// Records hands up to limit records from record from on to each, with their
// bytes as stored; a limit of 0 or less means all there are now. It stops with
// the first error of each. Errors: those of View; a *StoppedError comes after the
// records before the one at which the views stopped.
func (h *Hub) Records(ctx context.Context, id string, from int64, limit int, each func(rec events.Record, line []byte) error) error {
	c, err := h.use(ctx, id)
	if err != nil {
		return err
	}
	defer h.release(c, true)
	stopped := c.ready(ctx)
	if stopped != nil && !errors.As(stopped, new(*StoppedError)) {
		return stopped
	}
	from = max(from, 0)
	position := c.records.Load()
	to := position
	if limit > 0 && int64(limit) <= to-from {
		to, stopped = from+int64(limit), nil
	}
	if err := c.history(ctx, from, to, func(d Delivery) error { return each(d.Record, d.Line) }); err != nil {
		return err
	}
	return stopped
}

// Rolls reads the rolls of entries, which must be in order, from their records.
func (h *Hub) Rolls(ctx context.Context, id string, entries []projections.RollEntry) ([]projections.Roll, error) {
	rolls := make([]projections.Roll, 0, len(entries))
	if len(entries) == 0 {
		return rolls, nil
	}
	c, err := h.use(ctx, id)
	if err != nil {
		return nil, err
	}
	defer h.release(c, true)
	if err := c.ready(ctx); err != nil && !errors.As(err, new(*StoppedError)) {
		return nil, err
	}
	err = c.history(ctx, entries[0].N, entries[len(entries)-1].N+1, func(d Delivery) error {
		entry := entries[len(rolls)]
		if d.Record.N < entry.N {
			return nil
		}
		roll, err := projections.NewRoll(entry, d.Record)
		rolls = append(rolls, roll)
		return err
	})
	if err == nil && len(rolls) < len(entries) {
		err = fmt.Errorf("%w: campaign %s: roll %d", ErrFuture, id, entries[len(rolls)].N)
	}
	return rolls, err
}

// Look asks the journal for what the hub was not told of yet: whatever any node
// had stored before the call is in the views after it. Errors: those of View.
func (h *Hub) Look(ctx context.Context, id string) error {
	c, err := h.use(ctx, id)
	if err != nil {
		return err
	}
	defer h.release(c, true)
	if err := c.ready(ctx); err != nil {
		return err
	}
	return c.look(ctx)
}

// Reload forgets what is kept of a campaign and reads it anew: after its journal
// was mended, the views go on that had stopped.
func (h *Hub) Reload(ctx context.Context, id string) error {
	c, err := h.use(ctx, id)
	if err != nil {
		return err
	}
	defer h.release(c, true)
	if err := c.reload(ctx); err != nil {
		return err
	}
	return c.ready(ctx)
}

// Health is a report on a hub.
type Health struct {
	Following   bool            // the journal is followed; see the journal's own health for how well
	Delivered   uint64          // commits that followed since the start
	Loaded      int             // campaigns
	Bytes       int64           // that they take together, by the estimate of Budget
	Subscribers int             // that are connected
	Behind      int             // loaded campaigns that know of a commit they have not read: the lag
	Stopped     []*StoppedError // campaigns whose views stopped, by id
}

// Sound reports whether nothing is wrong.
func (r Health) Sound() bool { return r.Following && len(r.Stopped) == 0 }

// Health reports how the hub is. It asks the journal nothing.
func (h *Hub) Health() Health {
	h.mu.Lock()
	loaded := make([]*campaign, 0, len(h.campaigns))
	for _, c := range h.campaigns {
		loaded = append(loaded, c)
	}
	h.mu.Unlock()
	r := Health{
		Following: h.usable() == nil, Delivered: h.delivered.Load(),
		Loaded: len(loaded), Bytes: h.held.Load(), Stopped: h.stops(),
	}
	for _, c := range loaded {
		if c.behind() {
			r.Behind++
		}
		c.mu.RLock()
		r.Subscribers += c.subscribers
		c.mu.RUnlock()
	}
	return r
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
