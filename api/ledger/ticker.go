package ledger

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"tallystick/events/journal"
)

// Times of the ticker.
const (
	// Beat is how often the ticker looks at the campaigns whose clocks follow the
	// one on the wall, and so how late a check is decided at most. A campaign
	// whose clock begins to follow is noticed with the next renewal of the lease.
	Beat = time.Second
	// leaseLasts is after how long of silence of the node that ticks another one
	// goes on.
	leaseLasts = 12 * time.Second
)

// leaseKey is the key of the lease; those of campaigns are UUIDs.
const leaseKey = "lease"

// A Ticker lets the clocks of campaigns follow the one on the wall. Of all
// nodes on a journal one ticks, that which has the lease; the lease saves work
// and is not what keeps a check from being decided twice: that is the ledger.
type Ticker struct {
	ledger *Ledger
	log    *slog.Logger
	lease  *journal.Lease

	mu      sync.Mutex
	held    bool // at the last beat
	failing map[string]string

	campaigns []string // whose clocks may follow, and the lease
	listed    uint64   // revision of the lease at which they were listed: with every renewal
}

// NewTicker makes the ticker of a node.
func NewTicker(l *Ledger) *Ticker {
	lease := journal.NewLease(l.tempos, leaseKey, leaseLasts, l.cfg.Elapsed)
	return &Ticker{ledger: l, log: l.cfg.Log, lease: lease, failing: map[string]string{}}
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
	held, err := t.lease.Hold(ctx)
	t.noteLease(held)
	if _, revision := t.lease.Held(); err == nil && held && t.listed != revision {
		if t.campaigns, err = t.ledger.tempos.Keys(ctx); err == nil {
			t.listed = revision
		}
	}
	if err != nil && ctx.Err() == nil {
		t.failed(leaseKey, err)
	} else {
		delete(t.failing, leaseKey)
	}
	if !held {
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

// noteLease logs when another node begins to tick.
func (t *Ticker) noteLease(held bool) {
	switch {
	case held && !t.held:
		t.log.Info("ticker: this node ticks")
	case !held && t.held:
		t.log.Info("ticker: another node ticks")
	}
	t.held = held
}

// Ticks reports whether this node has the lease.
func (t *Ticker) Ticks() bool {
	held, _ := t.lease.Held()
	return held
}

// giveBack lets another node tick at once.
func (t *Ticker) giveBack() {
	ctx, cancel := context.WithTimeout(context.Background(), leaseLasts)
	defer cancel()
	if err := t.lease.GiveBack(ctx); err != nil {
		t.log.Warn("ticker: the lease was not given back", "error", err)
	}
}
