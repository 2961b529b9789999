package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
)

// A Lease says which of several processes on one journal does a piece of work.
// It is a value in a bucket, which whoever holds the lease writes anew every
// quarter of the time it lasts, over the revision it wrote last. No process
// compares its clock with another's: the lease is free for the others once they
// have seen it unchanged for as long as it lasts, and who cannot renew it gives
// up after two thirds of that.
//
// So two processes do not hold it at once as long as none stands still between
// asking and working. What must never be done twice has to rest on the ledger.
// Methods may be called by many goroutines.
type Lease struct {
	bucket  Bucket
	key     string
	lasts   time.Duration
	elapsed func() time.Duration
	me      []byte

	mu       sync.Mutex
	held     bool
	revision uint64        // that was written or seen last, or 0
	since    time.Duration // when it was written, or seen first
}

// NewLease is the lease under a key of a bucket, held by nobody yet as far as
// this process knows. elapsed tells time that nobody can put on or back; nil:
// that of the process.
func NewLease(b Bucket, key string, lasts time.Duration, elapsed func() time.Duration) *Lease {
	if elapsed == nil {
		begun := time.Now()
		elapsed = func() time.Duration { return time.Since(begun) }
	}
	return &Lease{bucket: b, key: key, lasts: lasts, elapsed: elapsed, me: []byte(uuid.NewString())}
}

// Held reports whether this process holds the lease as far as it knows, and
// the revision that was written or seen last: another one with every renewal.
func (l *Lease) Held() (bool, uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held, l.revision
}

// Hold takes the lease if it is free, renews it when it is time to, and reports
// whether this process holds it. Who holds it calls Hold more often than every
// third of what it lasts. With an error it may still be held.
func (l *Lease) Hold(ctx context.Context) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.elapsed()
	if l.held {
		return l.renew(ctx, now)
	}
	value, revision, err := l.bucket.Get(ctx, l.key)
	switch {
	case errors.Is(err, ErrNotFound):
		revision = 0
	case err != nil:
		return false, fmt.Errorf("look at the lease: %w", err)
	case len(value) == 0 || bytes.Equal(value, l.me): // given back, or taken without an answer
	case revision != l.revision:
		l.revision, l.since = revision, now
		return false, nil
	case now-l.since < l.lasts:
		return false, nil
	}
	revision, err = l.bucket.Update(ctx, l.key, l.me, revision)
	switch {
	case errors.Is(err, ErrConflict): // another was faster
		return false, nil
	case err != nil:
		return false, fmt.Errorf("take the lease: %w", err)
	}
	l.held, l.revision, l.since = true, revision, now
	return true, nil
}

// renew keeps the lease while that can be said in time.
func (l *Lease) renew(ctx context.Context, now time.Duration) (bool, error) {
	if now-l.since < l.lasts/4 {
		return true, nil
	}
	left := l.lasts*2/3 - (now - l.since)
	within, cancel := context.WithTimeout(ctx, max(left, l.lasts/4))
	defer cancel()
	revision, err := l.bucket.Update(within, l.key, l.me, l.revision)
	switch {
	case err == nil:
		l.revision, l.since = revision, now
		return true, nil
	case errors.Is(err, ErrConflict) || l.elapsed()-l.since >= l.lasts*2/3:
		l.held, l.since = false, now
	}
	return l.held, fmt.Errorf("renew the lease: %w", err)
}

// GiveBack lets another process have the lease at once.
func (l *Lease) GiveBack(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.held {
		return nil
	}
	l.held = false
	if _, err := l.bucket.Update(ctx, l.key, []byte{}, l.revision); err != nil {
		return fmt.Errorf("give the lease back: %w", err)
	}
	return nil
}

// While calls work whenever this process holds the lease, until ctx ends. The
// context of work ends when the lease is lost; what While waits for then is
// that work returns. Afterwards the lease is given back.
func (l *Lease) While(ctx context.Context, work func(context.Context)) {
	for ctx.Err() == nil {
		if held, _ := l.Hold(ctx); held {
			l.during(ctx, work)
		}
		l.pause(ctx)
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = l.GiveBack(within) // else the others wait until it has run out
}

// during calls work once, and ends its context when the lease is lost.
func (l *Lease) during(ctx context.Context, work func(context.Context)) {
	ctx, lost := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		work(ctx)
	}()
	for held := true; held && ctx.Err() == nil; held, _ = l.Hold(ctx) {
		l.pause(ctx)
	}
	lost()
	<-done
}

// pause waits until it is time to look again, but not longer than ctx lasts.
func (l *Lease) pause(ctx context.Context) {
	timer := time.NewTimer(l.lasts / 4)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
