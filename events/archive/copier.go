package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"tallystick/events/journal"
)

const (
	// patience is how many times Options.Delay a sequence is looked for in the
	// journal before the archive notes that it is missing: a copy of the stream
	// that lags may not have it yet.
	patience = 5
	// window is how many sequences are collected at once from a journal that
	// cannot read a partition in order.
	window = 4096
)

// partitionReader is a journal that reads a partition in the order of its
// sequences: each commit with Seq > after that can be read, until each gives
// an error. A journal without it is read campaign by campaign.
type partitionReader interface {
	ReadPartition(ctx context.Context, partition int, after uint64, each func(journal.Commit) error) error
}

// copier brings commits into the order of their sequences and writes them. It
// is owned by one goroutine.
type copier struct {
	journal    journal.Journal
	segments   *segmentWriter
	patience   time.Duration
	crowd      int // records that wait for one before them, from which that is read at once
	partitions []copying
}

// copying is how far a partition is copied.
type copying struct {
	astray  bool                      // the archive's end is not in the stream
	due     uint64                    // what the stream held at the last look: to be copied by the next
	pending map[uint64]journal.Commit // handed over, but one before it was not
	records int                       // in pending
	holed   time.Time                 // since when the next sequence cannot be read
	more    bool                      // the last reading ended before what is due
}

func newCopier(j journal.Journal, w *segmentWriter, found []Comparison, o Options) *copier {
	c := &copier{journal: j, segments: w, patience: patience * o.Delay, crowd: max(1, o.Records/2), partitions: make([]copying, len(found))}
	for p, f := range found {
		c.partitions[p] = copying{astray: f.State == Shorter || f.State == Differs, due: f.Stream, pending: map[uint64]journal.Commit{}}
	}
	return c
}

// held is the number of records handed over and not on disk.
func (c *copier) held() int {
	records := 0
	for p := range c.partitions {
		records += c.partitions[p].records
	}
	return records
}

// hold keeps a commit until its turn comes.
func (of *copying) hold(commit journal.Commit) {
	of.drop(commit.Seq)
	of.pending[commit.Seq] = commit
	of.records += countRecords(commit.Payload)
}

// drop forgets a commit if it is kept.
func (of *copying) drop(seq uint64) {
	if commit, kept := of.pending[seq]; kept {
		of.records -= countRecords(commit.Payload)
		delete(of.pending, seq)
	}
}

// far reports whether a partition has so much to be read from the journal that
// it is no use to keep what is handed over.
func (c *copier) far() bool {
	for p, of := range c.partitions {
		if of.due > c.segments.at[p].seq+window {
			return true
		}
	}
	return false
}

// astray reports whether it is still to be found out where a partition parts
// from its stream.
func (c *copier) astray() bool {
	return slices.ContainsFunc(c.partitions, func(of copying) bool { return of.astray })
}

// more reports whether there is something to be read at once.
func (c *copier) more() bool {
	return slices.ContainsFunc(c.partitions, func(of copying) bool { return of.more })
}

func (c *copier) close() { c.segments.close() }

// copy takes what was handed over and, if it is to look, what the stream held
// at the last look and nobody handed over. What an error leaves out is taken
// from the journal later.
func (c *copier) copy(ctx context.Context, batch []journal.Commit, look bool) error {
	for _, commit := range batch {
		c.partitions[journal.PartitionOf(commit.Campaign, len(c.partitions))].hold(commit)
	}
	var failed error
	for p := range c.partitions {
		if err := c.partition(ctx, p, look); err != nil {
			failed = errors.Join(failed, err)
		}
	}
	if err := c.segments.flush(); err != nil {
		c.forget()
		return errors.Join(failed, err)
	}
	if look && failed == nil {
		failed = c.look(ctx)
	}
	return failed
}

// forget drops what waits: after a failed write it is read from the journal.
func (c *copier) forget() {
	for p := range c.partitions {
		of := &c.partitions[p]
		for seq := range of.pending {
			of.due = max(of.due, seq)
		}
		clear(of.pending)
		of.records = 0
	}
}

// look notes what the streams hold now.
func (c *copier) look(ctx context.Context) error {
	health := c.journal.Health(ctx)
	if !health.Reachable {
		return errUnreachable
	}
	for p := range c.partitions {
		c.partitions[p].due = max(c.partitions[p].due, health.Partitions[p].Last)
	}
	return nil
}

func (c *copier) partition(ctx context.Context, p int, look bool) error {
	of := &c.partitions[p]
	if of.astray {
		if err := c.realign(ctx, p); err != nil {
			return err
		}
		of.astray = false
	}
	if err := c.drain(p); err != nil {
		return err
	}
	if of.records >= c.crowd { // what they wait for is stored: they are, with higher numbers
		of.due = max(of.due, slices.Min(slices.Collect(maps.Keys(of.pending))))
		look = true
	}
	of.more = false
	if !look || c.segments.at[p].seq >= of.due {
		return nil
	}
	return c.refill(ctx, p)
}

// drain writes the commits whose turn has come.
func (c *copier) drain(p int) error {
	of := &c.partitions[p]
	for seq := range of.pending {
		if seq <= c.segments.at[p].seq {
			of.drop(seq)
		}
	}
	for {
		commit, ok := of.pending[c.segments.at[p].seq+1]
		if !ok {
			return nil
		}
		of.drop(commit.Seq)
		of.holed, of.due = time.Time{}, max(of.due, commit.Seq)
		if err := c.segments.commit(p, commit); err != nil {
			return err
		}
	}
}

// They end the reading of a partition: at a commit that is not there, or when
// enough was read for one step.
var (
	errHole   = errors.New("a commit is not there")
	errEnough = errors.New("enough for now")
)

// refill reads from the journal what is due. A sequence that cannot be read
// again and again is noted as missing, so that what comes after it is copied.
func (c *copier) refill(ctx context.Context, p int) error {
	of := &c.partitions[p]
	next := uint64(0) // the sequence after the hole that was met, 0 if it lasts to the end
	through := min(of.due, c.segments.at[p].seq+2*window)
	read := 0
	err := readPartition(ctx, c.journal, len(c.partitions), p, c.segments.at[p].seq, through, func(commit journal.Commit) error {
		if read++; read > window {
			return errEnough
		}
		if commit.Seq <= c.segments.at[p].seq { // handed over meanwhile
			return nil
		}
		if commit.Seq > c.segments.at[p].seq+1 {
			next = commit.Seq
			return errHole
		}
		of.holed = time.Time{}
		if err := c.segments.commit(p, commit); err != nil {
			return err
		}
		return c.drain(p)
	})
	of.more = errors.Is(err, errEnough)
	if err != nil && !of.more && !errors.Is(err, errHole) {
		return fmt.Errorf("archive: copy partition %d: %w", p, err)
	}
	if of.more || c.segments.at[p].seq >= of.due {
		return nil
	}
	if of.holed.IsZero() {
		of.holed = time.Now()
	}
	if time.Since(of.holed) < c.patience {
		return nil
	}
	of.holed = time.Time{}
	to := through
	if next > 0 {
		to = next - 1
	}
	for seq := range of.pending {
		to = min(to, seq-1)
	}
	c.segments.missing(p, to)
	of.more = true
	return c.drain(p)
}

// readPartition hands the commits of a partition with after < Seq <= through
// to each, in order, leaving out what cannot be read.
func readPartition(ctx context.Context, j journal.Journal, partitions, p int, after, through uint64, each func(journal.Commit) error) error {
	if r, ok := j.(partitionReader); ok {
		enough := errors.New("enough")
		err := r.ReadPartition(ctx, p, after, func(c journal.Commit) error {
			if c.Seq > through {
				return enough
			}
			return each(c)
		})
		if errors.Is(err, enough) {
			return nil
		}
		return err
	}
	for after < through {
		to := min(through, after+window)
		commits, err := collect(ctx, j, partitions, p, after, to)
		if err != nil {
			return err
		}
		for _, c := range commits {
			if err := each(c); err != nil {
				return err
			}
		}
		after = to
	}
	return nil
}

// collect reads the commits with after < Seq <= through of every campaign of a
// partition and sorts them.
func collect(ctx context.Context, j journal.Journal, partitions, p int, after, through uint64) ([]journal.Commit, error) {
	campaigns, err := j.Campaigns(ctx, "", 0)
	if err != nil {
		return nil, err
	}
	var commits []journal.Commit
	enough := errors.New("enough")
	for _, campaign := range campaigns {
		if journal.PartitionOf(campaign, partitions) != p {
			continue
		}
		err := j.Read(ctx, campaign, after, func(c journal.Commit) error {
			if c.Seq > through {
				return enough
			}
			commits = append(commits, c)
			return nil
		})
		if err != nil && !errors.Is(err, enough) && !errors.Is(err, journal.ErrDamaged) {
			return nil, err
		}
	}
	slices.SortFunc(commits, func(a, b journal.Commit) int { return cmp.Compare(a.Seq, b.Seq) })
	return commits, nil
}

// realign finds where the archive and a stream part that is shorter, or another,
// and notes that the stream's numbers begin there anew. Everything stays in the
// archive: a restore joins both by campaign.
func (c *copier) realign(ctx context.Context, p int) error {
	held, err := c.heldInOrder(ctx, p)
	if err != nil {
		return err
	}
	last := c.journal.Health(ctx)
	if !last.Reachable {
		return errUnreachable
	}
	common := uint64(0)
	for i := len(held) - 1; i >= 0; i-- {
		if held[i].Seq > last.Partitions[p].Last {
			continue
		}
		same, err := holds(ctx, c.journal, held[i])
		if err != nil {
			return err
		}
		if same {
			common = held[i].Seq
			break
		}
	}
	if common < c.segments.at[p].seq {
		c.segments.rewind(p, common)
	}
	return nil
}

// reference is an archived commit without its payload.
type reference struct {
	journal.Commit // no payload
	sum            hash
}

// heldInOrder lists the commits of a partition under the numbers that the
// stream should hold.
func (c *copier) heldInOrder(ctx context.Context, p int) ([]reference, error) {
	var held []reference
	if err := c.segments.flush(); err != nil {
		return nil, err
	}
	err := scanLines(ctx, c.segments.dir, nil, func(l *line, e Entry) error {
		switch {
		case l.word == wordSegment || l.partition != p:
		case l.word == wordCommit:
			e.Payload = nil
			held = append(held, reference{e.Commit, l.sum})
		case l.word == wordRewound:
			held = slices.DeleteFunc(held, func(r reference) bool { return r.Seq > l.to })
		}
		return nil
	}, func(Damage) {})
	return held, err
}

// holds reports whether the journal has a commit with these bytes under this
// sequence.
func holds(ctx context.Context, j journal.Journal, r reference) (bool, error) {
	same := false
	enough := errors.New("enough")
	err := j.Read(ctx, r.Campaign, r.Seq-1, func(c journal.Commit) error {
		same = c.Seq == r.Seq && hashOf(c.Payload) == r.sum
		return enough
	})
	if err == nil || errors.Is(err, enough) || errors.Is(err, journal.ErrDamaged) {
		return same, nil
	}
	return false, err
}
