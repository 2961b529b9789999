package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"tallystick/events/journal"
)

// Times of the ticker.
const (
	// Beat is how often the ticker looks at the campaigns whose clocks follow the
	// one on the wall, and so how late a check is decided at most. A campaign
	// whose clock begins to follow is noticed with the next renewal of the lease.
	Beat = time.Second
	// leaseRenewed is how often the node that ticks says so, leaseLost after how
	// long without saying so it stops, and leaseTaken after how long of silence
	// another node goes on.
	leaseRenewed = 3 * time.Second
	leaseLost    = 8 * time.Second
	leaseTaken   = 12 * time.Second
)

// leaseKey is the key of the lease; those of campaigns are UUIDs.
const leaseKey = "lease"

// A Ticker lets the clocks of campaigns follow the one on the wall. Of all
// nodes on a journal one ticks, that which has the lease; the lease saves work
// and is not what keeps a check from being decided twice: that is the ledger.
type Ticker struct {
	ledger *Ledger
	log    *slog.Logger
	node   []byte // what the lease is held as

	mu      sync.Mutex
	holds   bool
	seen    uint64        // revision of the lease that was seen last, or 0
	since   time.Duration // when it was seen first or written, by Ledger's Elapsed
	failing map[string]string

	campaigns []string // whose clocks may follow, and the lease
	listed    uint64   // revision of the lease at which they were listed: with every renewal
}

// NewTicker makes the ticker of a node.
func NewTicker(l *Ledger) *Ticker {
	return &Ticker{ledger: l, log: l.cfg.Log, node: []byte(uuid.NewString()), failing: map[string]string{}}
}

// Run ticks until ctx ends, and then gives the lease back.
func (t *Ticker) Run(ctx context.Context) {
	beats := time.NewTicker(Beat)
	defer beats.Stop()
	for {
		select {
		case <-ctx.Done():
			t.giveBack()
			return
		case <-beats.C:
			t.Beat(ctx)
		}
	}
}

// Beat looks once at every campaign whose clock may follow the one on the
// wall, if this node has the lease.
func (t *Ticker) Beat(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.lease(ctx)
	if err == nil && t.holds && t.listed != t.seen {
		if t.campaigns, err = t.ledger.tempos.Keys(ctx); err == nil {
			t.listed = t.seen
		}
	}
	if err != nil && ctx.Err() == nil {
		t.failed(leaseKey, err)
	} else {
		delete(t.failing, leaseKey)
	}
	if !t.holds {
		return
	}
	for _, campaign := range t.campaigns {
		if campaign == leaseKey || ctx.Err() != nil {
			continue
		}
		if err := t.tick(ctx, campaign); err != nil && ctx.Err() == nil {
			t.failed(campaign, err)
		} else {
			delete(t.failing, campaign)
		}
	}
}

// failed logs what went wrong, once for as long as it stays the same.
func (t *Ticker) failed(what string, err error) {
	if why := err.Error(); t.failing[what] != why {
		t.failing[what] = why
		t.log.Error("ticker", "of", what, "error", err)
	}
}

// tick sees to a campaign. When its clock does not follow any more the note
// about it is taken away; somebody may have set it going again meanwhile.
func (t *Ticker) tick(ctx context.Context, campaign string) error {
	running, err := t.ledger.Tick(ctx, campaign)
	if err != nil || running {
		return err
	}
	if err := t.ledger.tempos.Delete(ctx, campaign); err != nil {
		return err
	}
	if running, err = t.ledger.Tick(ctx, campaign); err != nil || !running {
		return err
	}
	return t.ledger.note(ctx, campaign)
}

// lease takes or renews the lease. No node compares its clock with another's:
// a lease is void when its revision has not changed for a while.
func (t *Ticker) lease(ctx context.Context) error {
	now := t.ledger.cfg.Elapsed()
	if t.holds {
		if now-t.since < leaseRenewed {
			return nil
		}
		revision, err := t.ledger.tempos.Update(ctx, leaseKey, t.node, t.seen)
		switch {
		case err == nil:
			t.seen, t.since = revision, now
		case errors.Is(err, journal.ErrConflict) || now-t.since > leaseLost:
			t.holds, t.since = false, now
			t.log.Info("ticker: another node ticks")
		}
		return err
	}
	value, revision, err := t.ledger.tempos.Get(ctx, leaseKey)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		revision, value = 0, nil
	case err != nil:
		return err
	case revision != t.seen && len(value) > 0:
		t.seen, t.since = revision, now
		return nil
	case len(value) > 0 && now-t.since < leaseTaken:
		return nil
	}
	if revision, err = t.ledger.tempos.Update(ctx, leaseKey, t.node, revision); err != nil {
		if errors.Is(err, journal.ErrConflict) {
			return nil // another node was faster
		}
		return fmt.Errorf("take the lease: %w", err)
	}
	t.holds, t.seen, t.since = true, revision, now
	t.log.Info("ticker: this node ticks")
	return nil
}

// Ticks reports whether this node has the lease.
func (t *Ticker) Ticks() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.holds
}

// giveBack lets another node tick at once.
func (t *Ticker) giveBack() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.holds {
		return
	}
	t.holds = false
	ctx, cancel := context.WithTimeout(context.Background(), leaseLost)
	defer cancel()
	if _, err := t.ledger.tempos.Update(ctx, leaseKey, []byte{}, t.seen); err != nil {
		t.log.Warn("ticker: the lease was not given back", "error", err)
	}
}
