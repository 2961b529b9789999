package merkle

import (
	"errors"
	"fmt"
)

// ErrRollback says that a tree is smaller than one already signed.
var ErrRollback = errors.New("the tree is smaller than a checkpoint already signed")

// ErrFork says that a tree does not continue one already signed.
var ErrFork = errors.New("the tree does not continue a checkpoint already signed")

// A Guard decides whether a tree may follow the last checkpoint of the log of
// this origin. A server asks it before it signs; a player's program asks it
// before it replaces the checkpoint it keeps.
type Guard struct {
	Origin string
}

// First is what a log starts from: the empty tree.
func (g Guard) First() Checkpoint { return Checkpoint{Origin: g.Origin, Root: EmptyRoot} }

// Next refuses a tree that is smaller than the last checkpoint (ErrRollback)
// or not shown by the proof to continue it (ErrFork), and a last checkpoint of
// another log. The proof is Tree.Consistency(last.Size, size).
func (g Guard) Next(last Checkpoint, size int64, root Hash, proof []Hash) error {
	if last.Origin != g.Origin {
		return fmt.Errorf("last: a checkpoint of %q, not of %q", last.Origin, g.Origin)
	}
	if size < last.Size {
		return fmt.Errorf("%d records after %d: %w", size, last.Size, ErrRollback)
	}
	err := CheckConsistency(proof, last.Size, last.Root, size, root)
	if errors.Is(err, ErrProof) {
		return fmt.Errorf("%d records after %d: %w", size, last.Size, ErrFork)
	}
	return err
}
