package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// store is what the append protocol needs of a place that keeps commits. Both
// implementations of Journal offer it, so the protocol is written once and the
// tests of one speak for the other.
type store interface {
	// publish makes one attempt. An error that is not errMoved, a
	// *duplicateError, ErrFull, ErrTooLarge or ErrClosed leaves open whether
	// the entry is stored.
	publish(ctx context.Context, e Entry) (uint64, error)
	// next returns the campaign's first commit with Seq > after, or ErrNotFound.
	// It must not be answered from a copy that lags.
	next(ctx context.Context, campaign string, after uint64) (Commit, error)
}

// errMoved is the store's word that the campaign's last commit is not Expected.
var errMoved = errors.New("the campaign's last commit is another")

// errWentBack is an acknowledgement with a sequence that was given before.
var errWentBack = fmt.Errorf("%w: a sequence was given twice", ErrDamaged)

// duplicateError is the store's word that it holds the command id already.
type duplicateError struct{ seq uint64 }

func (e *duplicateError) Error() string {
	return fmt.Sprintf("the command is already stored at sequence %d", e.seq)
}

// pauses between attempts; when they are used up the caller hears how it stands.
// Together they outlast a short reconnect or a change of leader.
var pauses = []time.Duration{
	5 * time.Millisecond, 20 * time.Millisecond, 80 * time.Millisecond, 250 * time.Millisecond, 650 * time.Millisecond,
}

// refusedAttempts is how often an entry is sent that the store refuses for certain
// while nothing stands in its way. On replicas that happens to a sole writer while
// an earlier message is under way; else the expectation is ahead of the campaign.
const refusedAttempts = 3

// once is f, or nothing when it is nil, at the first call.
func once(f func()) func() {
	if f == nil {
		return func() {}
	}
	return sync.OnceFunc(f)
}

// place stores an entry or finds out why not.
func place(ctx context.Context, s store, e Entry) (uint64, error) {
	seq, err := s.publish(ctx, e)
	if err == nil {
		return seq, nil
	}
	return settle(ctx, s, e, err)
}

// settle decides what became of an entry whose last attempt failed with cause.
// The expected sequence pins an entry's place: it is stored if and only if the
// campaign's first commit after Expected is it. So one look is enough, and
// sending the same bytes again can never store them twice.
func settle(ctx context.Context, s store, e Entry, cause error) (uint64, error) {
	refused := true // every attempt so far was refused for certain
	for attempt := 0; ; attempt++ {
		if errors.Is(cause, errWentBack) {
			return 0, cause
		}
		refused = refused && certain(cause)
		seq, err := find(ctx, s, e)
		absent := errors.Is(err, ErrNotFound)
		switch {
		case err == nil:
			return seq, nil
		case errors.Is(err, ErrConflict):
			return 0, err
		case absent && (final(cause) || storedBefore(cause, e)):
			return 0, verdict(e, refused, cause)
		case !absent:
			refused = false // an earlier call may have stored it
			cause = fmt.Errorf("%w; then looking at the tail: %w", cause, err)
		}
		if attempt == len(pauses) || refused && attempt == refusedAttempts || errors.Is(err, ErrClosed) || errors.Is(err, ErrDamaged) {
			return 0, verdict(e, refused, cause)
		}
		if err := sleep(ctx, pauses[attempt]); err != nil {
			return 0, verdict(e, false, fmt.Errorf("%w: %w", err, cause))
		}
		if seq, cause = s.publish(ctx, e); cause == nil {
			return seq, nil
		}
	}
}

// verdict is the answer for an entry that was not found when attempts ended. The
// refusal of the last says nothing of an earlier one whose fate is open.
func verdict(e Entry, refused bool, cause error) error {
	switch {
	case !refused:
		return &UnclearError{e.Campaign, e.ID, cause}
	case final(cause):
		return cause
	}
	return fmt.Errorf("%w: campaign %s: %w, expected %d", ErrConflict, e.Campaign, cause, e.Expected)
}

// find returns the sequence of an entry that is stored, ErrNotFound when nothing
// follows Expected, and ErrConflict when something else does.
func find(ctx context.Context, s store, e Entry) (uint64, error) {
	c, err := s.next(ctx, e.Campaign, e.Expected)
	if err != nil {
		return 0, err
	}
	if c.ID == e.ID && bytes.Equal(c.Payload, e.Payload) {
		return c.Seq, nil
	}
	what := "command " + c.ID
	if c.ID == e.ID {
		what = "the same command with other bytes"
	}
	return 0, fmt.Errorf("%w: campaign %s: sequence %d holds %s, expected %d to be the last", ErrConflict, e.Campaign, c.Seq, what, e.Expected)
}

// final reports whether an attempt that failed so would fail again.
func final(cause error) bool {
	return errors.Is(cause, ErrFull) || errors.Is(cause, ErrTooLarge) || errors.Is(cause, ErrClosed) || errors.Is(cause, ErrDamaged)
}

// certain reports whether an attempt that failed so has stored nothing.
func certain(cause error) bool {
	return errors.Is(cause, errMoved) || isDuplicate(cause) || final(cause)
}

func isDuplicate(cause error) bool {
	var d *duplicateError
	return errors.As(cause, &d)
}

// storedBefore reports whether the command id is stored where the entry can never be.
func storedBefore(cause error, e Entry) bool {
	var d *duplicateError
	return errors.As(cause, &d) && d.seq > 0 && d.seq <= e.Expected
}

// sleep waits, or returns the context's error when it ends first.
func sleep(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Outcome is what a fault makes of one attempt to store an entry.
type Outcome int

// The outcomes. Each way to fail has its two rows: before the entry was stored
// and after.
const (
	Proceed    Outcome = iota // no fault
	LostBefore                // the request is lost: nothing is stored, no answer comes
	LostAfter                 // the entry is stored and the answer is lost
	Full                      // the store refuses for want of room
)

// Faults are hooks for tests. A nil hook is no fault. They are called by many
// goroutines.
type Faults struct {
	// Publish is asked before each attempt to store an entry.
	Publish func(Entry) Outcome
	// Look is asked before each look at a campaign's tail; its error is the answer.
	Look func(campaign string) error
}

// errLost stands for an answer that never came.
var errLost = errors.New("no answer (injected)")

func (f *Faults) publish(e Entry) Outcome {
	if f == nil || f.Publish == nil {
		return Proceed
	}
	e.Meanwhile = nil // what is lost or comes late is the message alone
	return f.Publish(e)
}

func (f *Faults) look(campaign string) error {
	if f == nil || f.Look == nil {
		return nil
	}
	return f.Look(campaign)
}

// inject runs one attempt as the fault wants it.
func (f *Faults) inject(e Entry, attempt func() (uint64, error)) (uint64, error) {
	switch f.publish(e) {
	case LostBefore:
		return 0, errLost
	case LostAfter:
		if _, err := attempt(); err != nil {
			return 0, err
		}
		return 0, errLost
	case Full:
		return 0, ErrFull
	}
	return attempt()
}
