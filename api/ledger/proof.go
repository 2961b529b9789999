package ledger

import (
	"context"
	"fmt"

	"tallystick/events/merkle"
	"tallystick/rules"
)

// State hands a campaign's folded state to f, which must not keep or change it.
func (l *Ledger) State(ctx context.Context, campaign string, f func(*rules.Campaign) error) error {
	return l.with(ctx, campaign, func(e *entry) error { return f(e.state) })
}

// with runs f over a campaign as the journal has it now: another node may have
// gone on, and whoever holds its receipt must not be shown a shorter ledger.
func (l *Ledger) with(ctx context.Context, campaign string, f func(*entry) error) error {
	e, read, err := l.loadNow(ctx, campaign)
	if err != nil {
		return err
	}
	defer l.release(e)
	if read {
		return f(e)
	}
	if err := l.catchUpFrom(ctx, e); err != nil {
		e.stale = e.stale || ctx.Err() == nil // what was read until a client went away is whole
		return err
	}
	return f(e)
}

// Size is the number of a campaign's records.
func (l *Ledger) Size(ctx context.Context, campaign string) (size int64, err error) {
	err = l.with(ctx, campaign, func(e *entry) error { size = e.tree.Size(); return nil })
	return size, err
}

// Checkpoint is the signed head of a campaign's tree over the first size
// records; size 0 means all there are.
func (l *Ledger) Checkpoint(ctx context.Context, campaign string, size int64) (checkpoint []byte, err error) {
	err = l.with(ctx, campaign, func(e *entry) error {
		if size == 0 {
			size = e.tree.Size()
		}
		if size < 0 || size > e.tree.Size() {
			return &rules.Invalid{Field: "size", Reason: fmt.Sprintf("is %d: the ledger has %d records", size, e.tree.Size())}
		}
		checkpoint, err = e.sign(e.state.Keys, size)
		return err
	})
	return checkpoint, err
}

// Receipt proves that record n is in the first size records; size 0 means all
// there are.
func (l *Ledger) Receipt(ctx context.Context, campaign string, n, size int64) (receipt []byte, err error) {
	err = l.with(ctx, campaign, func(e *entry) error {
		if size == 0 {
			size = e.tree.Size()
		}
		if n < 0 || n >= size || size > e.tree.Size() {
			return &rules.Invalid{Field: "n", Reason: fmt.Sprintf("is %d: it must be below size %d, and the ledger has %d records", n, size, e.tree.Size())}
		}
		receipt, _, err = e.receipt(e.state.Keys, n, size)
		return err
	})
	return receipt, err
}

// Consistency proves that the first from records are a beginning of the first
// to records; to 0 means all there are. It returns the checkpoint over to.
func (l *Ledger) Consistency(ctx context.Context, campaign string, from, to int64) (proof []merkle.Hash, checkpoint []byte, err error) {
	err = l.with(ctx, campaign, func(e *entry) error {
		if to == 0 {
			to = e.tree.Size()
		}
		if from < 0 || from > to || to > e.tree.Size() {
			return &rules.Invalid{Field: "from", Reason: fmt.Sprintf("is %d, to %d: the ledger has %d records", from, to, e.tree.Size())}
		}
		if proof, err = e.tree.Consistency(from, to); err != nil {
			return err
		}
		checkpoint, err = e.sign(e.state.Keys, to)
		return err
	})
	return proof, checkpoint, err
}
