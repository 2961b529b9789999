// Package archive keeps a second copy of the ledger that the journal's server
// never opens, and the last signed checkpoint of each campaign, twice.
//
// What the journal loses to a damaged disk is noticed by comparing the two and
// put back from the copy. The archive is text in files that are only ever
// appended to; each line is chained to the one before, so that no flipped bit
// and no missing line passes unseen. The package may import the journal, the
// records and the tree; it knows no rules.
package archive

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"tallystick/events/journal"
)

// Defaults of Options.
const (
	// DefaultRecords and DefaultDelay say how far the copy may be behind what
	// was acknowledged: by so many records or so long, whichever is less.
	DefaultRecords = 1_000
	DefaultDelay   = time.Second
	// DefaultSegment is the size in bytes from which a new segment is begun.
	DefaultSegment = 64 << 20
)

// Errors that callers tell apart with errors.Is.
var (
	// ErrClosed: the archive or the checkpoint store was closed.
	ErrClosed = errors.New("archive: closed")
	// ErrInvalid: an argument or a file is not what it must be; the message
	// names it.
	ErrInvalid = errors.New("archive: invalid")
	// ErrRefused: what is there cannot be put back without losing something;
	// the message says what.
	ErrRefused = errors.New("archive: refused")

	errUnreachable = errors.New("archive: the journal cannot be reached")
)

// Options of an archive or a checkpoint store. Unset fields take the defaults.
type Options struct {
	Records int           // behind the acknowledgement at most, default DefaultRecords
	Delay   time.Duration // behind the acknowledgement at most, default DefaultDelay
	Strict  bool          // Append and Put return when the copy is on disk
	Segment int64         // bytes of a segment, default DefaultSegment; archive only
	Log     *slog.Logger  // damage and failures, default slog.Default()
}

func (o Options) withDefaults() Options {
	if o.Records <= 0 {
		o.Records = DefaultRecords
	}
	if o.Delay <= 0 {
		o.Delay = DefaultDelay
	}
	if o.Segment <= 0 {
		o.Segment = DefaultSegment
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}

// Archive copies a journal, commit by commit, in the order of each partition's
// sequences and without a gap. Its methods may be called by many goroutines.
type Archive struct {
	dir     string
	journal journal.Journal
	options Options
	cancel  context.CancelFunc
	ctx     context.Context // ends with Close
	done    chan struct{}   // closed when the writer has ended
	copier  *copier         // owned by the writer's goroutine

	partitions int

	background      // its lock guards all below
	look       bool // compare with the journal at the next step
	reading    bool // far behind: the journal is read, nothing is handed over
	queue      []journal.Commit
	waiting    int       // records handed over and not on disk
	behind     time.Time // when the oldest of them was handed over
	synced     Position  // what is on disk
	aligned    bool      // the archive's ends are known to be in the streams
	failure    error     // of the last attempt to write or to read the journal
}

// Position says what an archive has on disk.
type Position struct {
	Segment int      // the segment that is written
	Offset  int64    // its length in bytes
	Last    []uint64 // by partition: the sequence up to which all commits are copied
	Lost    uint64   // commits that the journal was found to have lost, since the archive began
}

// Health is a report on an archive. Its cost does not grow with the ledger.
type Health struct {
	Position
	Waiting int           // records handed over that are not on disk
	Lag     time.Duration // since the oldest of them was handed over
	Err     error         // why the last attempt failed, nil when it did not
}

// Open opens the archive in a folder, made with mode 0700 if there is none, of
// a journal that is open, and begins to copy. It reads the last segment only,
// and compares its end with the journal's: the cost does not grow with the
// ledger. A last entry that is torn is cut and kept beside the segment; the
// commit is copied again from the journal. What the report names is damage and
// does not keep the archive from being opened.
func Open(ctx context.Context, dir string, j journal.Journal, o Options) (*Archive, Report, error) {
	o = o.withDefaults()
	health := j.Health(ctx)
	if !health.Reachable {
		return nil, Report{}, errUnreachable
	}
	w, report, err := openSegments(dir, len(health.Partitions), o.Segment)
	if err != nil {
		return nil, report, err
	}
	report.Partitions, err = compare(ctx, j, health, &w.state)
	if err != nil {
		w.close()
		return nil, report, err
	}
	for _, line := range report.Problems() {
		o.Log.Error("archive", "problem", line)
	}
	a := &Archive{dir: dir, journal: j, options: o, done: make(chan struct{}), background: newBackground()}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	a.copier = newCopier(j, w, report.Partitions, o)
	a.partitions = len(report.Partitions)
	a.synced = w.position(a.partitions)
	a.look, a.reading = true, a.copier.far()
	a.hurry()
	go a.run()
	return a, report, nil
}

// Append hands over a commit that the journal has stored. Commits may come in
// any order and more than once; one that never comes is read from the journal.
// It waits while the copy is as far behind as it may be, and with Strict until
// the commit is on disk. Without Strict its only errors are ErrClosed and the
// context's: when the archive cannot be written, Health says so, and what is
// missing is copied later. With any error the commit is in the journal still.
func (a *Archive) Append(ctx context.Context, c journal.Commit) error {
	if err := a.enqueue(ctx, c); err != nil || !a.options.Strict {
		return err
	}
	return a.await(ctx, func() (bool, error) { return a.copied(c), a.failure })
}

// copied tells that a commit is on disk.
func (a *Archive) copied(c journal.Commit) bool {
	return a.aligned && a.synced.Last[journal.PartitionOf(c.Campaign, a.partitions)] >= c.Seq
}

// enqueue waits until the archive may fall behind by one more commit.
func (a *Archive) enqueue(ctx context.Context, c journal.Commit) error {
	// While it fails, or reads much from the journal, there is no use in keeping
	// the commit: it is read from there like the others.
	return a.await(ctx, func() (bool, error) {
		switch {
		case a.closed:
			return false, ErrClosed
		case a.failure != nil || a.reading || a.copied(c):
			return true, nil
		case a.full():
			a.hurry()
			return false, nil
		}
		if a.waiting == 0 {
			a.behind = time.Now()
		}
		a.queue = append(a.queue, c)
		a.waiting += countRecords(c.Payload)
		if a.options.Strict || a.waiting >= a.options.Records/2 {
			a.hurry()
		}
		return true, nil
	})
}

func (a *Archive) full() bool {
	return a.waiting >= a.options.Records || a.waiting > 0 && time.Since(a.behind) > a.options.Delay
}

// Position says what is on disk.
func (a *Archive) Position() Position {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.synced
}

// Health reports how the archive is.
func (a *Archive) Health() Health {
	a.mu.Lock()
	defer a.mu.Unlock()
	h := Health{Position: a.synced, Waiting: a.waiting, Err: a.failure}
	if a.waiting > 0 {
		h.Lag = time.Since(a.behind)
	}
	return h
}

// Sync waits until everything that the journal holds is copied, or an attempt
// fails.
func (a *Archive) Sync(ctx context.Context) error {
	health := a.journal.Health(ctx)
	if !health.Reachable {
		return errUnreachable
	}
	rounds := 0
	return a.await(ctx, func() (bool, error) {
		for p, of := range health.Partitions {
			if !a.aligned || a.synced.Last[p] < of.Last {
				if rounds++; rounds < 3 { // later the writer goes on by itself
					a.look = true
					a.hurry()
				}
				return false, a.failure
			}
		}
		return true, nil
	})
}

// Scan hands every commit on disk to each, in the order they were copied, and
// returns the damage it met. It stops with the first error of each.
func (a *Archive) Scan(ctx context.Context, each func(Entry) error) ([]Damage, error) {
	position := a.Position()
	return scan(ctx, a.dir, &position, each)
}

// Verify reads all that is on disk and reports the damage.
func (a *Archive) Verify(ctx context.Context) ([]Damage, error) {
	return a.Scan(ctx, func(Entry) error { return nil })
}

// Campaign hands the commits of a campaign to each. It reads the whole archive.
func (a *Archive) Campaign(ctx context.Context, campaign string, each func(Entry) error) ([]Damage, error) {
	return a.Scan(ctx, func(e Entry) error {
		if e.Campaign != campaign {
			return nil
		}
		return each(e)
	})
}

// Close copies what was handed over and ends the use of the folder. The
// journal is still open when it is called.
func (a *Archive) Close() error {
	a.mu.Lock()
	first := !a.closed
	a.closed = true
	a.mu.Unlock()
	if first {
		a.cancel()
	}
	<-a.done
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.failure != nil {
		return fmt.Errorf("archive: closed before all was copied: %w", a.failure)
	}
	return nil
}

// run is the writer: it copies at least twice in the time that the archive may
// be behind.
func (a *Archive) run() {
	defer close(a.done)
	defer a.copier.close()
	ticker := time.NewTicker(a.options.Delay / 2)
	defer ticker.Stop()
	for {
		look := false
		select {
		case <-a.wake:
		case <-ticker.C:
			look = true
		case <-a.ctx.Done():
			a.step(context.Background(), false)
			return
		}
		a.step(a.ctx, look)
	}
}

// step copies what was handed over and what the journal holds besides.
func (a *Archive) step(ctx context.Context, look bool) {
	a.mu.Lock()
	batch := a.queue
	look, a.look = look || a.look, false
	began := time.Now()
	a.queue = nil
	a.mu.Unlock()

	err := a.copier.copy(ctx, batch, look)
	if ctx.Err() != nil {
		err, look = nil, false // closing: one more step follows
	}

	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil && (a.failure == nil || a.failure.Error() != err.Error()) {
		a.options.Log.Error("archive is behind", "error", err)
	}
	if err != nil || look { // a step that does not look may leave out what failed before
		a.failure = err
	}
	a.aligned = !a.copier.astray()
	a.synced = a.copier.segments.position(a.partitions)
	a.reading = a.copier.far()
	if a.reading || a.copier.more() {
		a.look = true
		a.hurry()
	}
	a.queue = slices.DeleteFunc(a.queue, a.copied) // handed over while it was read from the journal
	a.waiting = a.copier.held()
	for _, c := range a.queue {
		a.waiting += countRecords(c.Payload)
	}
	if a.copier.held() == 0 { // what waits now came after this step began
		a.behind = began
	}
	a.attempted()
}
