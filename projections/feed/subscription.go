package feed

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"sync"

	"tallystick/events"
)

// FromNow subscribes to what is stored from now on, without a backlog.
const FromNow = -1

// pageRecords is how many records of a backlog are read at a time.
const pageRecords = 1_024

// Delivery is one record as a subscriber gets it. It is shared: whoever gets it
// must not change it.
type Delivery struct {
	Record events.Record
	Line   []byte // the record as stored
	// Live is false for the backlog: records that were stored before the first
	// call of Next.
	Live bool
}

// A Subscription delivers the records of one campaign from some n on, each once
// and in order: first the backlog, read from the journal, then what is stored
// from then on. One goroutine calls Next; any may call Close, and one must.
type Subscription struct {
	hub  *Hub
	id   string
	done chan struct{} // closed by Close

	next   int64 // n of the next record to get
	edge   int64 // n of the first that is live
	joined bool  // reached the end once: from then on it has to keep up
	ready  []Delivery
	err    error // why nothing more will come

	mu       sync.Mutex // guards what follows; taken before the campaign's
	closed   bool
	campaign *campaign
	attached bool // counted among the campaign's subscribers
}

// Subscribe delivers a campaign's records from n = from on; FromNow leaves the
// backlog out. Nothing is read before the first Next.
func (h *Hub) Subscribe(id string, from int64) *Subscription {
	return &Subscription{hub: h, id: id, next: from, done: make(chan struct{})}
}

// Next waits for the next record until ctx ends; then it may be called again and
// nothing is lost. Errors beside those of ctx and of the journal: ErrUnknown;
// ErrFuture when the campaign has not come to from; ErrSlow when the subscriber
// fell too far behind; *StoppedError after the last record before a campaign's
// views stopped; ErrClosed.
func (s *Subscription) Next(ctx context.Context) (Delivery, error) {
	for {
		select {
		case <-s.done:
			return Delivery{}, ErrClosed
		default:
		}
		if len(s.ready) > 0 {
			d := s.ready[0]
			s.ready = s.ready[1:]
			d.Live = d.Record.N >= s.edge
			s.next = d.Record.N + 1
			return d, nil
		}
		if s.err != nil {
			return Delivery{}, s.err
		}
		if err := s.fill(ctx); err != nil {
			return Delivery{}, err
		}
	}
}

// Close ends the subscription, also a Next that waits.
func (s *Subscription) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	close(s.done)
	if s.attached {
		s.campaign.leave()
	}
	if s.campaign != nil {
		s.hub.release(s.campaign, true)
	}
}

// fill waits for records that come next.
func (s *Subscription) fill(ctx context.Context) error {
	c, err := s.attach(ctx)
	if err != nil {
		return err
	}
	w := c.after(s.next)
	switch {
	case w.ready != nil:
		s.joined, s.ready = true, w.ready
		return nil
	case s.next < w.position && s.joined:
		s.err = fmt.Errorf("%w: record %d of campaign %s is no longer kept for subscribers, the last is %d", ErrSlow, s.next, s.id, w.position-1)
		return s.err
	case s.next < w.position:
		return s.backlog(ctx, c, w.position)
	case w.stopped != nil:
		return w.stopped
	}
	s.joined = true
	select {
	case <-w.changed:
		return nil
	case <-s.done:
		return ErrClosed
	case <-s.hub.ctx.Done():
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// backlog reads a page of what was stored before.
func (s *Subscription) backlog(ctx context.Context, c *campaign, position int64) error {
	page := make([]Delivery, 0, min(pageRecords, position-s.next))
	err := c.history(ctx, s.next, s.next+pageRecords, func(d Delivery) error {
		page = append(page, d)
		return nil
	})
	if err == nil {
		s.ready = page
	}
	return err
}

// attach finds the campaign and, once it is loaded, where live begins.
func (s *Subscription) attach(ctx context.Context) (*campaign, error) {
	c, attached, err := s.enter(ctx)
	if err != nil || attached {
		return c, err
	}
	if err = c.refresh(ctx); err == nil {
		err = c.look(ctx) // what is stored already is backlog, also when it has not followed yet
	}
	if err != nil && !errors.As(err, new(*StoppedError)) {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch position := c.records.Load(); {
	case s.closed:
		return nil, ErrClosed
	case position == 0 && err == nil:
		s.err = fmt.Errorf("%w: %s", ErrUnknown, s.id)
	case s.next > position:
		s.err = fmt.Errorf("%w: campaign %s has no record %d yet, the last is %d", ErrFuture, s.id, s.next-1, position-1)
	}
	if s.err != nil {
		return nil, s.err
	}
	s.edge = c.join()
	if s.next < 0 {
		s.next = s.edge
	}
	s.attached = true
	return c, nil
}

// enter takes hold of the campaign.
func (s *Subscription) enter(ctx context.Context) (c *campaign, attached bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, false, ErrClosed
	}
	if s.campaign == nil {
		if s.campaign, err = s.hub.use(ctx, s.id); err != nil {
			return nil, false, err
		}
	}
	return s.campaign, s.attached, nil
}

// chunk is the records of one commit, as subscribers get them.
type chunk struct {
	first      int64
	deliveries []Delivery
}

// join counts a subscriber and returns the n of the first record that is live
// for it. From now on the last commits are kept.
func (c *campaign) join() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subscribers++
	return c.views.Position()
}

// leave counts it no longer.
func (c *campaign) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.subscribers--; c.subscribers == 0 {
		c.tail, c.tailRecords = nil, 0
	}
}

// keep holds the first n records of a commit ready for subscribers, and lets go
// of the oldest that the queue need not hold: at least its length of records
// stays, and the last commit. The caller has the lock.
func (c *campaign) keep(p parsed, n int) {
	if c.subscribers == 0 || n == 0 {
		return
	}
	c.tail = append(c.tail, chunk{p.recs[0].N, p.deliveries()[:n:n]})
	c.tailRecords += n
	for c.tailRecords-len(c.tail[0].deliveries) >= c.hub.queue {
		c.tailRecords -= len(c.tail[0].deliveries)
		c.tail[0] = chunk{} // for the garbage collector
		c.tail = c.tail[1:]
	}
}

// wait is what a subscriber finds at its position.
type wait struct {
	ready    []Delivery // records that are kept, the next one first
	position int64      // of the views
	stopped  *StoppedError
	changed  <-chan struct{} // closed at the next change
}

// after looks for the records from next on among those that are kept.
func (c *campaign) after(next int64) wait {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := wait{position: c.views.Position(), stopped: c.stopped}
	i := sort.Search(len(c.tail), func(i int) bool { return c.tail[i].first > next }) - 1
	if i >= 0 && next < w.position {
		if at := next - c.tail[i].first; at < int64(len(c.tail[i].deliveries)) {
			w.ready = c.tail[i].deliveries[at:]
			return w
		}
	}
	w.changed = c.change()
	return w
}
