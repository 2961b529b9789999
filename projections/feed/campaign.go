package feed

import (
	"container/list"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sort"
	"sync"
	"sync/atomic"

	"tallystick/events"
	"tallystick/events/journal"
	"tallystick/projections"
)

// campaign is what the hub keeps of one campaign.
type campaign struct {
	hub     *Hub
	id      string
	users   int           // guarded by the hub's lock
	element *list.Element // in the hub's list, guarded by the hub's lock
	mending bool          // a goroutine reads what is missing; guarded by the hub's lock
	reading chan struct{} // holds a token while somebody reads the journal
	records atomic.Int64  // that were folded: the position, to read without the lock
	putting sync.Mutex    // held while a snapshot is written: the newest is the last

	mu          sync.RWMutex // guards what follows
	views       *projections.Views
	index       []place           // of every commit that was folded
	last        [sha256.Size]byte // of the last of them; kept where snapshots are
	kept        int64             // how many records the last snapshot that was kept or read has
	wanted      uint64            // Seq of the last commit known to be stored
	loaded      bool              // the journal was read to its end once
	stopped     *StoppedError
	changed     chan struct{} // closed at the next change; nil when nobody waits
	subscribers int
	tail        []chunk // last commits, kept while there are subscribers
	tailRecords int
}

// place says in which message of the journal the records from n on are.
type place struct {
	n   int64
	seq uint64
}

func newCampaign(h *Hub, id string) *campaign {
	return &campaign{hub: h, id: id, reading: make(chan struct{}, 1), views: projections.New(id)}
}

// seq is the sequence of the last commit that was folded. The caller has the lock.
func (c *campaign) seq() uint64 {
	if len(c.index) == 0 {
		return 0
	}
	return c.index[len(c.index)-1].seq
}

// behind reports whether a commit is known that was not folded.
func (c *campaign) behind() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.loaded && c.stopped == nil && c.seq() < c.wanted
}

// fresh reports whether everything known was folded, or will never be.
func (c *campaign) fresh() (bool, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.stopped != nil {
		return true, c.stopped
	}
	return c.loaded && c.seq() >= c.wanted, nil
}

// parsed is a commit that was read.
type parsed struct {
	seq  uint64
	recs []events.Record
	raw  []byte
}

func parse(commit journal.Commit) (parsed, error) {
	recs, err := events.ParseCommit(commit.Payload)
	return parsed{commit.Seq, recs, commit.Payload}, err
}

// take folds a commit that was stored just now, if it is the next one. It
// reports whether something is missing, which then has to be read.
func (c *campaign) take(commit journal.Commit) (missing bool) {
	c.mu.Lock()
	c.wanted = max(c.wanted, commit.Seq)
	skip := !c.loaded || c.stopped != nil || commit.Seq <= c.seq()
	c.mu.Unlock()
	if skip {
		return false
	}
	p, err := parse(commit)
	if err != nil {
		return true // what the journal holds will say whether it is damaged
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.seq > c.seq() && p.recs[0].N != c.views.Position() {
		return true
	}
	_ = c.fold(p) // when it stops, that is on record
	return false
}

// fold adds a commit to the views, unless it was folded already. One that is
// not the next, or contradicts what went before, stops them. The caller has the
// lock.
func (c *campaign) fold(p parsed) error {
	if c.stopped != nil {
		return c.stopped
	}
	if p.seq <= c.seq() {
		return nil
	}
	defer c.wake()
	defer c.count()
	for i, rec := range p.recs {
		if err := c.views.Apply(rec); err != nil {
			c.keep(p, i)
			return c.stop(err)
		}
	}
	c.index = append(c.index, place{p.recs[0].N, p.seq})
	if c.hub.shelf != nil {
		c.last = sha256.Sum256(p.raw)
	}
	c.keep(p, len(p.recs))
	return nil
}

// count keeps account of the records that are held. The caller has the lock.
func (c *campaign) count() {
	now := c.views.Position()
	c.hub.held.Add((now - c.records.Swap(now)) * RecordBytes)
}

// stop ends the fold for good. The caller has the lock.
func (c *campaign) stop(why error) error {
	c.stopped = &StoppedError{Campaign: c.id, N: c.views.Position(), Reason: why.Error()}
	c.hub.stop(c.stopped)
	c.wake()
	return c.stopped
}

// wake tells all who wait. The caller has the lock.
func (c *campaign) wake() {
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// change returns what is closed at the next change. The caller has the lock.
func (c *campaign) change() <-chan struct{} {
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	return c.changed
}

// refresh reads the journal unless everything known was folded: to load a
// campaign, and to mend a gap.
func (c *campaign) refresh(ctx context.Context) error {
	if fresh, err := c.fresh(); fresh {
		return err
	}
	return c.alone(ctx, func() error {
		if c.records.Load() > 0 {
			return c.catchUp(ctx)
		}
		c.restore(ctx)
		if err := c.catchUp(ctx); err != nil {
			return err
		}
		c.keepSnapshot()
		return nil
	})
}

// reload forgets everything and reads the journal.
func (c *campaign) reload(ctx context.Context) error {
	return c.alone(ctx, func() error {
		c.forget()
		return c.catchUp(ctx)
	})
}

// look reads what the journal has beyond what is known.
func (c *campaign) look(ctx context.Context) error {
	return c.alone(ctx, func() error {
		_, err := c.read(ctx)
		return err
	})
}

// alone runs what reads the journal, one at a time.
func (c *campaign) alone(ctx context.Context, read func() error) error {
	select {
	case c.reading <- struct{}{}:
		defer func() { <-c.reading }()
		return read()
	case <-ctx.Done():
		return ctx.Err()
	case <-c.hub.ctx.Done():
		return ErrClosed
	}
}

// catchUp reads until everything known was folded. A commit that is known and
// cannot be read is looked for a while, as a replica may lag; then it is missing.
func (c *campaign) catchUp(ctx context.Context) error {
	pause := firstPause
	for tries := 0; ; {
		if fresh, err := c.fresh(); fresh {
			return err
		}
		moved, err := c.read(ctx)
		if err != nil {
			return err
		}
		if c.settled() {
			continue
		}
		if tries++; moved {
			tries, pause = 0, firstPause
			continue
		}
		if tries == patience {
			return c.missing()
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
		pause = min(2*pause, lastPause)
	}
}

// settled reports whether what is known was folded, and notes that the campaign
// is loaded if so. It is asked after the journal was read to its end.
func (c *campaign) settled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seq() < c.wanted {
		return false
	}
	if !c.loaded {
		c.loaded = true
		c.hub.resume(c.id)
	}
	return true
}

// missing stops the views at a commit that is known and cannot be read.
func (c *campaign) missing() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stop(fmt.Errorf("the journal has no commit between sequence %d and %d, though one was stored", c.seq(), c.wanted))
}

// read folds what the journal has after the last commit that was folded, and
// reports whether there was any.
func (c *campaign) read(ctx context.Context) (moved bool, err error) {
	c.mu.RLock()
	after := c.seq()
	c.mu.RUnlock()
	var parsing error
	err = c.hub.journal.Read(ctx, c.id, after, func(commit journal.Commit) error {
		var p parsed
		if p, parsing = parse(commit); parsing != nil {
			return parsing
		}
		moved = true
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.fold(p)
	})
	switch {
	case err == nil || errors.As(err, new(*StoppedError)):
		return moved, err
	case parsing != nil || errors.Is(err, journal.ErrDamaged):
		c.mu.Lock()
		defer c.mu.Unlock()
		return moved, c.stop(err)
	}
	return moved, reading(c.id, err)
}

// reading says what failed. An id that no campaign can have is an unknown one.
func reading(id string, err error) error {
	if errors.Is(err, journal.ErrInvalid) {
		return fmt.Errorf("%w: %s", ErrUnknown, id)
	}
	return fmt.Errorf("feed: read campaign %s: %w", id, err)
}

// forget goes back to before the first record.
func (c *campaign) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.views = projections.New(c.id)
	c.count()
	c.index, c.kept, c.loaded, c.stopped = nil, 0, false, nil
	c.tail, c.tailRecords = nil, 0
}

// await waits until record n was folded.
func (c *campaign) await(ctx context.Context, n int64) error {
	err := c.refresh(ctx)
	if err == nil && c.records.Load() <= n {
		err = c.look(ctx) // it may be stored, and not followed yet
	}
	for {
		c.mu.Lock()
		position, stopped, changed := c.views.Position(), c.stopped, c.change()
		c.mu.Unlock()
		switch {
		case position > n:
			return nil // also when the views stopped behind it
		case stopped != nil:
			return stopped
		case err != nil:
			return err
		case position == 0:
			return fmt.Errorf("%w: %s", ErrUnknown, c.id)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("feed: wait for record %d of campaign %s, which is at %d: %w", n, c.id, position-1, ctx.Err())
		case <-c.hub.ctx.Done():
			return ErrClosed
		}
	}
}

// ready brings the campaign up to date and fails when there is none.
func (c *campaign) ready(ctx context.Context) error {
	if err := c.refresh(ctx); err != nil {
		return err
	}
	if c.records.Load() == 0 {
		return fmt.Errorf("%w: %s", ErrUnknown, c.id)
	}
	return nil
}

// history hands the records from … to−1 to each, read from the journal. All of
// them must have been folded.
func (c *campaign) history(ctx context.Context, from, to int64, each func(Delivery) error) error {
	c.mu.RLock()
	i := sort.Search(len(c.index), func(i int) bool { return c.index[i].n > from }) - 1
	var after uint64
	if i >= 0 {
		after = c.index[i].seq - 1
	}
	position := c.views.Position()
	c.mu.RUnlock()
	if to = min(to, position); from >= to {
		return nil
	}
	next := from
	err := c.hub.journal.Read(ctx, c.id, after, func(commit journal.Commit) error {
		p, err := parse(commit)
		if err != nil {
			return fmt.Errorf("%w: %v", journal.ErrDamaged, err)
		}
		for _, d := range p.deliveries() {
			if d.Record.N < next {
				continue
			}
			if d.Record.N > next {
				return fmt.Errorf("%w: record %d stands where record %d was", journal.ErrDamaged, d.Record.N, next)
			}
			if err := each(d); err != nil {
				return err
			}
			if next++; next == to {
				return errEnough
			}
		}
		return nil
	})
	switch {
	case errors.Is(err, errEnough):
		return nil
	case err == nil:
		return fmt.Errorf("%w: campaign %s: record %d cannot be read any more", journal.ErrDamaged, c.id, next)
	}
	return err
}

// deliveries are the records of a commit with their bytes.
func (p parsed) deliveries() []Delivery {
	lines := events.SplitCommit(p.raw)
	all := make([]Delivery, len(p.recs))
	for i, rec := range p.recs {
		all[i] = Delivery{Record: rec, Line: lines[i]}
	}
	return all
}
