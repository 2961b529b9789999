package webhooks

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"tallystick/events/journal"
)

const (
	leaseKey = "lease"
	// leaseLasts is for how long nobody else delivers after a node was heard of
	// last; it says so three times in that time.
	leaseLasts = 15 * time.Second
)

// hold calls deliver while this process is the one that delivers, again and
// again until ctx ends. No clocks are compared: a lease is free once it was
// seen unchanged for as long as it lasts.
func (h *Hooks) hold(ctx context.Context, deliver func(context.Context)) {
	if h.cfg.Alone {
		deliver(ctx)
		return
	}
	me := []byte(uuid.NewString())
	seen, since := uint64(0), time.Now()
	for ctx.Err() == nil {
		_, revision, err := h.bucket.Get(ctx, leaseKey)
		switch {
		case errors.Is(err, journal.ErrNotFound):
			revision, err = h.bucket.Create(ctx, leaseKey, me)
		case err == nil && revision != seen:
			seen, since = revision, time.Now()
			err = journal.ErrConflict
		case err == nil && time.Since(since) < h.lease:
			err = journal.ErrConflict
		case err == nil:
			revision, err = h.bucket.Update(ctx, leaseKey, me, revision)
		}
		if err == nil {
			h.keep(ctx, me, revision, deliver)
		}
		pause(ctx, h.lease/3)
	}
}

// keep renews the lease until it is lost or ctx ends; then it is given back.
func (h *Hooks) keep(ctx context.Context, me []byte, revision uint64, deliver func(context.Context)) {
	held, lost := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		deliver(held)
	}()
	for renewed := time.Now(); held.Err() == nil; pause(held, h.lease/3) {
		next, err := h.bucket.Update(held, leaseKey, me, revision)
		switch {
		case err == nil:
			revision, renewed = next, time.Now()
		case errors.Is(err, journal.ErrConflict), time.Since(renewed) > h.lease*2/3:
			lost()
		}
	}
	lost()
	<-done
	if ctx.Err() != nil {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = h.bucket.Delete(within, leaseKey) // else the others wait until it has run out
	}
}

// pause waits, but not longer than ctx lasts.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
