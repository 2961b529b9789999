package feed

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events/journal"
	"tallystick/projections"
)

// snapshotTail is how many records a campaign must have beyond the snapshot of its
// views before a new one is worth its while; it must also be a quarter of all.
const snapshotTail = 250

// Snapshots has the views of campaigns kept on a shelf, so that opening one reads
// what came after its snapshot. The shelf may be emptied at any time.
func Snapshots(shelf *journal.Shelf) Option {
	return func(h *Hub) { h.shelf = shelf.Section("views", projections.SaveFormat) }
}

// snapshot is the views of a campaign, and where its records lie.
type snapshot struct {
	Views jsontext.Value
	N     []int64  // of the first record of each commit
	Seq   []uint64 // its sequence
	Last  []byte   // hash of the last commit
}

// restore begins a campaign of which nothing was read with its snapshot, if there
// is one that fits. What fails costs time alone: the caller reads the journal after
// it.
func (c *campaign) restore(ctx context.Context) {
	if c.hub.shelf == nil {
		return
	}
	data, err := c.hub.shelf.Get(ctx, c.id)
	if err != nil {
		return
	}
	var s snapshot
	err = json.Unmarshal(data, &s, json.RejectUnknownMembers(true))
	if err != nil || len(s.Seq) == 0 || len(s.Seq) != len(s.N) || len(s.Last) != sha256.Size {
		return
	}
	views, err := projections.Restore(c.id, s.Views)
	if err != nil || !c.ends(ctx, s) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.views, c.last = views, [sha256.Size]byte(s.Last)
	for i := range s.N {
		c.index = append(c.index, place{s.N[i], s.Seq[i]})
	}
	c.kept = views.Position()
	c.count()
}

// ends reports whether the journal holds the last commit of a snapshot.
func (c *campaign) ends(ctx context.Context, s snapshot) (same bool) {
	seq := s.Seq[len(s.Seq)-1]
	err := c.hub.journal.Read(ctx, c.id, seq-1, func(commit journal.Commit) error {
		sum := sha256.Sum256(commit.Payload)
		same = commit.Seq == seq && bytes.Equal(sum[:], s.Last)
		return errEnough
	})
	return same && errors.Is(err, errEnough)
}

// keepSnapshot puts the views on the shelf, in the background, if they have so much
// beyond what lies there that the next opening should be quicker.
func (c *campaign) keepSnapshot() {
	if c.hub.shelf != nil && c.due() {
		c.hub.inBackground(c.putSnapshot)
	}
}

// due reports, once, whether the views have enough beyond their snapshot for a new
// one.
func (c *campaign) due() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	position := c.views.Position()
	if !c.loaded || c.stopped != nil || position-c.kept < max(snapshotTail, position/4) {
		return false
	}
	c.kept = position
	return true
}

// putSnapshot writes the views as they are and puts them on the shelf. What fails
// costs time alone: there is no snapshot, then, or the one before.
func (c *campaign) putSnapshot() {
	c.putting.Lock()
	defer c.putting.Unlock()
	c.mu.RLock()
	s := snapshot{Last: bytes.Clone(c.last[:])}
	for _, p := range c.index {
		s.N, s.Seq = append(s.N, p.n), append(s.Seq, p.seq)
	}
	views, err := c.views.Save()
	whole := c.loaded && c.stopped == nil
	c.mu.RUnlock()
	if err != nil || !whole {
		return
	}
	s.Views = views
	if data, err := json.Marshal(&s); err == nil {
		_ = c.hub.shelf.Put(c.hub.ctx, c.id, data)
	}
}

// inBackground runs f, which ends with the hub, unless that is closed.
func (h *Hub) inBackground(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.usable() == nil {
		h.background.Go(f)
	}
}
