package archive

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tallystick/events"
	"tallystick/events/journal"
	"tallystick/events/merkle"
)

// RestoreOptions say what is restored and how.
type RestoreOptions struct {
	Journal string   // folder of the damaged embedded journal, which nobody serves
	Archive string   // folder of its archive
	Heads   string   // file of the checkpoint store; empty: roots are not compared
	Buckets []string // key-value stores to carry over, besides the checkpoints
	// AcceptLoss restores also campaigns of which something is lost or forked,
	// up to there. They are in the report; each must go on as a new log.
	AcceptLoss bool
	Log        *slog.Logger                         // default slog.Default()
	Progress   func(done, all int, campaign string) // may be nil; called by one goroutine at a time
}

// Restored is what Restore did.
type Restored struct {
	Found      Comparisons // before
	Commits    int         // in the restored journal
	Campaigns  int
	Healed     int       // commits put back that the journal had lost
	Losses     []Finding // campaigns that are not whole: lost, forked, short, another root
	Renumbered bool      // stream sequences are others than before: drop what was derived from them
	Kept       []string  // the damaged folders, kept under these names
}

// Suffixes of the folders beside the damaged ones.
const (
	restoredSuffix = "-restored"
	damagedSuffix  = "-damaged-"
	swapSuffix     = ".swap"
)

// Restore heals an embedded journal from its archive. A stream cannot have a
// hole refilled, so it builds a new journal beside the damaged one from the
// archive and from what the damaged one holds besides, and a new archive of
// it, compares both with each other and with the last signed checkpoints, and
// then swaps the folders. The damaged ones are kept under another name.
//
// Opening the damaged journal lets its server cut what it takes for broken:
// copy the folder first if it is to be kept as evidence. ErrRefused: something
// is lost or forked; nothing was changed. A Restore that was killed is begun
// anew; one that was killed while it swapped is completed by FinishRestore,
// which every start calls first.
func Restore(ctx context.Context, o RestoreOptions) (Restored, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if _, err := FinishRestore(o.Journal, o.Archive); err != nil {
		return Restored{}, err
	}
	if numbers, err := segmentNumbers(o.Archive); err != nil || len(numbers) == 0 {
		return Restored{}, fmt.Errorf("%w: there is no archive in %s", ErrInvalid, o.Archive)
	}
	for _, dir := range []string{o.Journal, o.Archive} {
		if err := os.RemoveAll(dir + restoredSuffix); err != nil { // of a Restore that was killed
			return Restored{}, fmt.Errorf("archive: restore: %w", err)
		}
	}
	r := &restorer{options: o, frontiers: map[string]*merkle.Frontier{}, last: map[string]uint64{}}
	if err := r.build(ctx); err != nil {
		return r.Restored, err
	}
	var err error
	r.Kept, err = swap(o.Journal, o.Archive)
	return r.Restored, err
}

// restorer is one restore under way.
type restorer struct {
	Restored
	options RestoreOptions
	merged  *merged
	heads   map[string]merkle.Checkpoint // by campaign
	fresh   journal.Journal
	total   int

	mu        sync.Mutex // guards what the partitions share below
	writer    *segmentWriter
	frontiers map[string]*merkle.Frontier
	last      map[string]uint64 // by campaign: sequence in the fresh journal
}

// build makes the restored folders and closes everything.
func (r *restorer) build(ctx context.Context) (err error) {
	partitions, err := madeWith(r.options.Archive)
	if err != nil {
		return err
	}
	damaged, err := journal.Embedded(ctx, journal.Options{Dir: r.options.Journal, Partitions: partitions, Logger: r.options.Log, Mend: true})
	if err != nil {
		return fmt.Errorf("archive: restore: open the damaged journal: %w", err)
	}
	defer func() { err = errors.Join(err, damaged.Close()) }()
	if r.Found, r.merged, err = fullCheck(ctx, damaged, r.options.Archive, nil); err != nil {
		return err
	}
	if err := r.readHeads(ctx, damaged); err != nil {
		return err
	}
	if err := r.judge(); err != nil {
		return err
	}
	r.fresh, err = journal.Embedded(ctx, journal.Options{
		Dir: r.options.Journal + restoredSuffix, Partitions: r.merged.partitions, Logger: r.options.Log,
	})
	if err != nil {
		return fmt.Errorf("archive: restore: %w", err)
	}
	defer func() { err = errors.Join(err, r.fresh.Close()) }()
	if err := r.fill(ctx); err != nil {
		return err
	}
	if err := r.compareRoots(); err != nil {
		return err
	}
	for _, name := range append([]string{HeadsBucket}, r.options.Buckets...) {
		if err := copyBucket(ctx, damaged, r.fresh, name); err != nil {
			return err
		}
	}
	after, err := Check(ctx, r.fresh, r.options.Archive+restoredSuffix)
	if err != nil {
		return err
	}
	if !after.Sound() || len(after.Findings) > 0 || int(after.Commits) != r.Commits {
		return fmt.Errorf("archive: restore: what was built is not whole: %v, %v", after.Findings, after.Damage)
	}
	return nil
}

// madeWith is the number of partitions that an archive's ledger was made with,
// 0 if the archive cannot tell.
func madeWith(dir string) (int, error) {
	numbers, err := segmentNumbers(dir)
	if err != nil {
		return 0, err
	}
	s, _ := newestWhole(dir, numbers)
	if s.partitions == 0 {
		if l, err := firstLine(filepath.Join(dir, segmentName(numbers[0]))); err == nil {
			return l.partitions, nil
		}
	}
	return s.partitions, nil
}

// readHeads reads the last signed checkpoint of each campaign.
func (r *restorer) readHeads(ctx context.Context, damaged journal.Journal) error {
	r.heads = map[string]merkle.Checkpoint{}
	if r.options.Heads == "" {
		return nil
	}
	heads, err := OpenHeads(ctx, damaged, r.options.Heads, Options{Log: r.options.Log})
	if err != nil {
		return err
	}
	defer heads.Close()
	logs, err := heads.Logs(ctx)
	if err != nil {
		return err
	}
	newest := map[string]int{}
	for _, name := range logs {
		kept, err := heads.Get(ctx, name)
		if err != nil {
			return err
		}
		campaign, number, err := splitLog(name)
		if err != nil {
			return err
		}
		if number > newest[campaign] {
			newest[campaign], r.heads[campaign] = number, kept.Checkpoint
		}
	}
	return nil
}

// judge refuses what cannot be put back whole.
func (r *restorer) judge() error {
	for _, f := range r.merged.findings {
		switch f.Kind {
		case NotInJournal:
			r.Healed += f.Commits
		case Lost, Forked, Unreadable:
			r.Losses = append(r.Losses, f)
		}
	}
	for name, head := range r.heads {
		if size := r.sizeOf(name); size < head.Size {
			r.Losses = append(r.Losses, Finding{
				Kind: Short, Campaign: name, Partition: journal.PartitionOf(name, r.merged.partitions), N: size, Records: head.Size - size,
			})
		}
	}
	return r.refuse()
}

func (r *restorer) refuse() error {
	if len(r.Losses) == 0 || r.options.AcceptLoss {
		return nil
	}
	slices.SortFunc(r.Losses, func(a, b Finding) int { return strings.Compare(a.Campaign, b.Campaign) })
	return fmt.Errorf("%w: %d campaigns or more are not whole, the first: %s", ErrRefused, len(r.Losses), r.Losses[0])
}

// sizeOf is the number of records that a campaign will have.
func (r *restorer) sizeOf(campaign string) int64 {
	chosen := r.merged.chosen[campaign]
	if len(chosen) == 0 {
		return 0
	}
	last := chosen[len(chosen)-1]
	return last.n + int64(last.records)
}

// fill appends everything, each partition in its own order and all at once.
func (r *restorer) fill(ctx context.Context) (err error) {
	if r.writer, _, err = openSegments(r.options.Archive+restoredSuffix, r.merged.partitions, DefaultSegment); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.writer.close()) }()
	for _, chosen := range r.merged.chosen {
		r.total += len(chosen)
	}
	r.Campaigns = len(r.merged.chosen)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	for p := range r.merged.partitions {
		group.Go(func() {
			if err := r.partition(ctx, p); err != nil {
				cancel(err)
			}
		})
	}
	group.Wait()
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("archive: restore: %w", err)
	}
	return r.writer.flush()
}

func (r *restorer) partition(ctx context.Context, p int) error {
	reader := entryReader{dir: r.options.Archive}
	defer reader.close()
	for _, piece := range r.merged.order(p) {
		c, err := reader.commit(piece)
		if err != nil {
			return err
		}
		r.mu.Lock()
		expected := r.last[c.Campaign]
		r.mu.Unlock()
		c.Seq, err = r.fresh.Append(ctx, journal.Entry{Campaign: c.Campaign, ID: c.ID, Expected: expected, Payload: c.Payload})
		if err != nil {
			return err
		}
		if err := r.appended(p, c, piece.seq); err != nil {
			return err
		}
	}
	return nil
}

// appended notes a commit of the fresh journal, and the sequence it had.
func (r *restorer) appended(p int, c journal.Commit, was uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Renumbered = r.Renumbered || c.Seq != was
	r.last[c.Campaign] = c.Seq
	r.Commits++
	r.grow(c)
	if r.options.Progress != nil {
		r.options.Progress(r.Commits, r.total, c.Campaign)
	}
	return r.writer.commit(p, c)
}

// grow takes a commit into its campaign's tree. A tree that has the size of
// the last checkpoint is compared with it there.
func (r *restorer) grow(c journal.Commit) {
	head, signed := r.heads[c.Campaign]
	if !signed {
		return
	}
	tree := r.frontiers[c.Campaign]
	if tree == nil {
		tree = new(merkle.Frontier)
		r.frontiers[c.Campaign] = tree
	}
	for _, record := range events.SplitCommit(c.Payload) {
		if tree.Size() < head.Size {
			tree.Append(record)
		}
	}
}

// compareRoots compares the trees with what was signed.
func (r *restorer) compareRoots() error {
	for campaign, tree := range r.frontiers {
		head := r.heads[campaign]
		if tree.Size() == head.Size && tree.Root() != head.Root {
			r.Losses = append(r.Losses, Finding{
				Kind: OtherRoot, Campaign: campaign, Partition: journal.PartitionOf(campaign, r.merged.partitions), N: -1, Records: head.Size,
			})
		}
	}
	return r.refuse()
}

// copyBucket carries a key-value store over.
func copyBucket(ctx context.Context, from, to journal.Journal, name string) error {
	old, err := from.Bucket(ctx, name)
	if err != nil {
		return err
	}
	fresh, err := to.Bucket(ctx, name)
	if err != nil {
		return err
	}
	keys, err := old.Keys(ctx)
	if err != nil {
		return err
	}
	for _, key := range keys {
		value, _, err := old.Get(ctx, key)
		if err == nil {
			_, err = fresh.Put(ctx, key, value)
		}
		if err != nil {
			return fmt.Errorf("archive: restore: carry over bucket %s: %w", name, err)
		}
	}
	return nil
}

// entryReader reads single commits of an archive.
type entryReader struct {
	dir  string
	name string
	file *os.File
}

// commit returns the commit of a piece, from wherever it is.
func (e *entryReader) commit(p *piece) (journal.Commit, error) {
	if p.segment == "" {
		return *p.stream, nil
	}
	if p.segment != e.name {
		e.close()
		file, err := os.Open(filepath.Join(e.dir, p.segment))
		if err != nil {
			return journal.Commit{}, err
		}
		e.file, e.name = file, p.segment
	}
	r := bufio.NewReaderSize(io.NewSectionReader(e.file, p.offset, journal.MaxPayload+maxLine), 4<<10)
	text, err := r.ReadSlice('\n')
	if err != nil {
		return journal.Commit{}, fmt.Errorf("%s, offset %d: %w", p.segment, p.offset, err)
	}
	l, err := parseLine(text[:len(text)-1])
	if err != nil {
		return journal.Commit{}, fmt.Errorf("%s, offset %d: %w", p.segment, p.offset, err)
	}
	payload := make([]byte, l.size)
	if _, err := io.ReadFull(r, payload); err != nil {
		return journal.Commit{}, fmt.Errorf("%s, offset %d: %w", p.segment, p.offset, err)
	}
	if hashOf(payload) != p.sum || l.campaign != p.campaign || l.from != p.seq {
		return journal.Commit{}, fmt.Errorf("%s, offset %d: changed since it was compared", p.segment, p.offset)
	}
	return journal.Commit{Campaign: l.campaign, ID: l.command, Payload: payload}, nil
}

func (e *entryReader) close() {
	if e.file != nil {
		e.file.Close()
	}
}

// swap puts the restored folders in the place of the damaged ones and returns
// the names these have now. The plan makes it one step for whoever starts next.
func swap(folders ...string) ([]string, error) {
	number, err := freeNumber(folders)
	if err != nil {
		return nil, fmt.Errorf("archive: restore: %w", err)
	}
	for _, dir := range folders {
		if err := syncTree(dir + restoredSuffix); err != nil {
			return nil, fmt.Errorf("archive: restore: %w", err)
		}
	}
	if err := writeWhole(folders[0]+swapSuffix, fmt.Appendln(nil, number)); err != nil {
		return nil, fmt.Errorf("archive: restore: %w", err)
	}
	if _, err := FinishRestore(folders[0], folders[1]); err != nil {
		return nil, err
	}
	var kept []string
	for _, dir := range folders {
		kept = append(kept, fmt.Sprint(dir, damagedSuffix, number))
	}
	return kept, nil
}

// freeNumber is the first under which no damaged folder is kept yet.
func freeNumber(folders []string) (int, error) {
	for number := 1; ; number++ {
		free := true
		for _, dir := range folders {
			taken, err := exists(fmt.Sprint(dir, damagedSuffix, number))
			if err != nil {
				return 0, err
			}
			free = free && !taken
		}
		if free {
			return number, nil
		}
	}
}

// syncTree puts a folder with all that is in it on disk.
func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return syncFolder(path)
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		return f.Sync()
	})
}

// FinishRestore completes a Restore that was killed while it swapped folders,
// and says whether there was one. It is called before the journal is opened.
func FinishRestore(journalDir, archiveDir string) (bool, error) {
	plan := journalDir + swapSuffix
	text, err := os.ReadFile(plan)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	var number int
	if err == nil {
		_, err = fmt.Sscanln(string(text), &number)
	}
	if err != nil {
		return false, fmt.Errorf("archive: restore: read %s: %w", plan, err)
	}
	for _, dir := range []string{journalDir, archiveDir} {
		if err := swapOne(dir, fmt.Sprint(dir, damagedSuffix, number)); err != nil {
			return false, fmt.Errorf("archive: restore: swap: %w", err)
		}
	}
	if err := os.Remove(plan); err != nil {
		return false, fmt.Errorf("archive: restore: %w", err)
	}
	return true, syncFolder(filepath.Dir(plan))
}

// swapOne does what is still to be done of one folder's swap.
func swapOne(dir, aside string) error {
	if ready, err := exists(dir + restoredSuffix); err != nil || !ready {
		return err
	}
	moved, err := exists(aside)
	if err != nil {
		return err
	}
	if !moved {
		if err := os.Rename(dir, aside); err != nil {
			return err
		}
	}
	if err := os.Rename(dir+restoredSuffix, dir); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(dir))
}
