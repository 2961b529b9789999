package ledger

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
	"tallystick/events/journal"
	"tallystick/events/merkle"
	"tallystick/rules"
)

// SnapshotBucket is the bucket of snapshots. All of it can be deleted at any
// time: then campaigns are read from their first record, which takes longer.
const SnapshotBucket = "SNAPSHOTS"

const (
	// snapshotTail is how many records a campaign must have beyond its snapshot
	// before a new one is worth its while; it must also be a quarter of all, so
	// that what is written over the years stays in proportion.
	snapshotTail = 250
	// snapshotTimeout bounds the keeping of one.
	snapshotTimeout = time.Minute
)

// OpenSnapshots opens the shelf on which folded campaigns and views are kept.
// Snapshots of another program, which may fold otherwise, are not seen.
func OpenSnapshots(ctx context.Context, j journal.Journal, keys Keys, program string) (*journal.Shelf, error) {
	bucket, err := j.Bucket(ctx, SnapshotBucket)
	if err != nil {
		return nil, fmt.Errorf("open the bucket of snapshots: %w", err)
	}
	key, err := hkdf.Key(sha256.New, keys.Master, nil, "snapshots/v1\n", 32)
	if err != nil {
		return nil, err
	}
	return journal.NewShelf(bucket, key, program), nil
}

// snapshot is a folded campaign: what an entry holds, but for what is made from
// the keys.
type snapshot struct {
	State  jsontext.Value
	Leaves []byte   // the hashes of all records
	First  []int64  // n of the first record of each commit
	After  []uint64 // sequence of the commit before it
	Seq    uint64   // of the last commit
}

func (l *Ledger) shelf() *journal.Shelf {
	return l.cfg.Snapshots.Section("state", rules.SaveFormat)
}

// save writes a snapshot of the entry, which is locked.
func (e *entry) save() ([]byte, error) {
	s := snapshot{Seq: e.seq}
	var err error
	if s.State, err = e.state.Save(); err != nil {
		return nil, err
	}
	for n := range e.tree.Size() {
		leaf, err := e.tree.Leaf(n)
		if err != nil {
			return nil, err
		}
		s.Leaves = append(s.Leaves, leaf[:]...)
	}
	for _, p := range e.commits {
		s.First, s.After = append(s.First, p.first), append(s.After, p.after)
	}
	return json.Marshal(&s)
}

// restore begins an entry that was reset with the campaign's snapshot. Without one
// that fits, the entry stays as it is.
func (l *Ledger) restore(ctx context.Context, e *entry) {
	if l.cfg.Snapshots == nil {
		return
	}
	data, err := l.shelf().Get(ctx, e.campaign)
	if errors.Is(err, journal.ErrNotFound) {
		return
	}
	if err == nil {
		err = l.begin(e, data)
	}
	if err != nil {
		l.cfg.Log.Warn("a snapshot is not used", "campaign", e.campaign, "error", err)
	}
}

// begin puts a snapshot into an entry. Whether it is one of this ledger is seen when
// what comes after it is read.
func (l *Ledger) begin(e *entry, data []byte) error {
	var s snapshot
	if err := json.Unmarshal(data, &s, json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	state, err := rules.Restore(e.campaign, l.cfg.Library, s.State)
	if err != nil {
		return err
	}
	var tree merkle.Tree
	for leaf := range slices.Chunk(s.Leaves, len(merkle.Hash{})) {
		tree.AppendLeaf(merkle.Hash(leaf))
	}
	if tree.Size() != state.Next || len(s.First) == 0 || len(s.First) != len(s.After) {
		return errors.New("its parts do not belong together")
	}
	commits := make([]place, len(s.First))
	for i := range commits {
		commits[i] = place{s.First[i], s.After[i]}
	}
	e.state, e.tree, e.seq, e.commits, e.restored, e.unproven = state, tree, s.Seq, commits, true, true
	e.kept = tree.Size()
	l.account(tree.Size())
	return nil
}

// errAnotherLedger says that the journal does not hold what a snapshot ends with.
var errAnotherLedger = errors.New("the ledger does not hold what its snapshot ends with")

// prove checks that the last commit of a snapshot stands in the journal as it stood
// when the snapshot was made.
func (e *entry) prove(c journal.Commit) error {
	last, lines := e.commits[len(e.commits)-1], events.SplitCommit(c.Payload)
	if c.Seq != e.seq || last.first+int64(len(lines)) != e.tree.Size() {
		return errAnotherLedger
	}
	for i, line := range lines {
		if leaf, err := e.tree.Leaf(last.first + int64(i)); err != nil || leaf != merkle.LeafHash(line) {
			return errAnotherLedger
		}
	}
	e.unproven = false
	return nil
}

// keep puts a snapshot of an entry, which is locked, on the shelf, if it has so
// much beyond the one that is there that the next opening should be quicker.
func (l *Ledger) keep(e *entry) {
	if !l.due(e) {
		return
	}
	e.kept = e.tree.Size()
	data, err := e.save()
	if err != nil {
		l.cfg.Log.Warn("a snapshot is not kept", "campaign", e.campaign, "error", err)
		return
	}
	l.keeping.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), snapshotTimeout)
		defer cancel()
		if err := l.shelf().Put(ctx, e.campaign, data); err != nil {
			l.cfg.Log.Warn("a snapshot is not kept", "campaign", e.campaign, "error", err)
		}
	})
}

// due reports whether a locked entry has enough beyond its snapshot for a new one.
func (l *Ledger) due(e *entry) bool {
	return l.cfg.Snapshots != nil && e.tree.Size()-e.kept >= max(snapshotTail, e.tree.Size()/4)
}

// keepLater keeps a snapshot of an entry that has grown by enough, when the command
// that made it grow is answered. A program that is killed then leaves no more than
// that to be read.
func (l *Ledger) keepLater(e *entry) {
	if e.keeping || !l.due(e) {
		return
	}
	e.keeping = true
	l.acquire(e.campaign) // which is e: it is in use
	l.keeping.Go(func() {
		e.mu.Lock()
		defer l.release(e)
		e.keeping = false
		if !e.stale {
			l.keep(e)
		}
	})
}

// distrust forgets the snapshot of a campaign, and what began with it.
func (l *Ledger) distrust(ctx context.Context, campaign string) {
	if l.cfg.Snapshots == nil {
		return
	}
	if err := l.shelf().Drop(ctx, campaign); err != nil {
		l.cfg.Log.Warn("a snapshot is not dropped", "campaign", campaign, "error", err)
	}
	e := l.acquire(campaign)
	e.mu.Lock()
	e.stale = e.stale || e.restored
	l.release(e)
}
