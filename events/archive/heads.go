package archive

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tallystick/events/journal"
	"tallystick/events/merkle"
)

// HeadsBucket is the bucket in which the last checkpoints are kept.
const HeadsBucket = "checkpoints"

// Head is a signed checkpoint. Its signature is checked by whoever knows the
// log's key.
type Head struct {
	merkle.Checkpoint
	Signed []byte // the signed note
}

// Kept is the last checkpoint of a log as it is kept in both places.
type Kept struct {
	Head        // the larger of the two
	File   Head // size 0 and no origin: none
	Bucket Head
}

// Disagree says how the two places differ, or is empty. That one is smaller
// is what a stop between the two writes leaves; the larger one counts, and the
// smaller one must be a beginning of the same tree.
func (k Kept) Disagree() string {
	if k.File.Checkpoint == k.Bucket.Checkpoint {
		return ""
	}
	return fmt.Sprintf("the file has %d records, the bucket %d", k.File.Size, k.Bucket.Size)
}

// Heads keeps the last signed checkpoint of each log outside the ledger,
// twice: in a bucket of the journal under compare-and-set, and in a file that
// the journal's server never opens. A log is named by its campaign's id, or by
// "<id>/2" and so on when it was begun anew after a loss. Its methods may be
// called by many goroutines, those of one log by one at a time.
type Heads struct {
	bucket  journal.Bucket
	options Options
	file    *headsFile // loaded is closed when it has been read; then owned by the flusher, or by holders of mu
	loaded  chan struct{}
	loadErr error
	stop    chan struct{}
	done    chan struct{}

	background // its lock guards all below and the file's index
	logs       map[string]*headState
	puts       int // since the last flush
	failure    error
}

// headState is what is known of one log's head.
type headState struct {
	last     Head
	revision uint64 // of the bucket's, 0 if it has none
	inFile   bool   // last is in the file
	inBucket bool   // last is in the bucket
	err      error  // the bucket has a fork or more than we have
}

// OpenHeads opens the checkpoint store of a journal, with its file of lines.
// The file is read behind it; the first Get or Put waits for that.
func OpenHeads(ctx context.Context, j journal.Journal, path string, o Options) (*Heads, error) {
	bucket, err := j.Bucket(ctx, HeadsBucket)
	if err != nil {
		return nil, fmt.Errorf("archive: open the checkpoints: %w", err)
	}
	h := &Heads{
		bucket: bucket, options: o.withDefaults(), loaded: make(chan struct{}),
		stop: make(chan struct{}), done: make(chan struct{}), logs: map[string]*headState{}, background: newBackground(),
	}
	if h.file, err = openHeadsFile(path); err != nil {
		return nil, err
	}
	go h.run()
	return h, nil
}

// Damage waits until the file is read and returns what in it is not as it was
// written.
func (h *Heads) Damage(ctx context.Context) ([]Damage, error) {
	if err := h.ready(ctx); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.file.damage), nil
}

// Logs lists the logs of which a checkpoint is kept, in byte order.
func (h *Heads) Logs(ctx context.Context) ([]string, error) {
	if err := h.ready(ctx); err != nil {
		return nil, err
	}
	keys, err := h.bucket.Keys(ctx)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	all := slices.Concat(keys, slices.Collect(maps.Keys(h.file.index)), slices.Collect(maps.Keys(h.logs)))
	slices.Sort(all)
	return slices.Compact(all), nil
}

// Get returns a log's last checkpoint from both places; journal.ErrNotFound
// when neither has one. merkle.ErrFork: they hold different trees of one size,
// or of different logs.
func (h *Heads) Get(ctx context.Context, log string) (Kept, error) {
	if err := h.ready(ctx); err != nil {
		return Kept{}, err
	}
	kept, _, err := h.read(ctx, log)
	return kept, err
}

// read gives what is on disk, and the bucket's revision.
func (h *Heads) read(ctx context.Context, log string) (kept Kept, revision uint64, err error) {
	h.mu.Lock()
	kept.File, err = h.file.read(log)
	h.mu.Unlock()
	if err != nil {
		return kept, 0, err
	}
	value, revision, err := h.bucket.Get(ctx, log)
	if err == nil {
		kept.Bucket, err = parseHead(log, strings.TrimSuffix(string(value), "\n"))
	}
	if err != nil && !errors.Is(err, journal.ErrNotFound) {
		return kept, revision, fmt.Errorf("archive: the bucket's checkpoint of %s: %w", log, err)
	}
	kept.Head = kept.File
	if kept.Bucket.Size > kept.File.Size || kept.File.Origin == "" {
		kept.Head = kept.Bucket
	}
	switch {
	case kept.Head.Origin == "":
		return kept, 0, fmt.Errorf("%w: checkpoint of %s", journal.ErrNotFound, log)
	case kept.File.Origin == "" || kept.Bucket.Origin == "":
		return kept, revision, nil
	}
	return kept, revision, sameTree(kept.File.Checkpoint, kept.Bucket.Checkpoint)
}

// sameTree refuses two checkpoints that cannot be of one tree.
func sameTree(a, b merkle.Checkpoint) error {
	if a.Origin != b.Origin || a.Size == b.Size && a.Root != b.Root {
		return fmt.Errorf("archive: checkpoints of %d records of %s and of %d records of %s: %w", a.Size, a.Origin, b.Size, b.Origin, merkle.ErrFork)
	}
	return nil
}

// Put keeps a checkpoint that the log has signed. It refuses one that is
// smaller than the last (merkle.ErrRollback) or is not shown to continue it
// (merkle.ErrFork); prove is asked for the consistency proof from the last
// size. Put returns when the checkpoint waits to be written, which is put off
// by at most Options.Delay or Options.Records puts; with Strict when it is
// written in both places, or with the error of that.
func (h *Heads) Put(ctx context.Context, log string, head Head, prove func(from int64) ([]merkle.Hash, error)) error {
	if err := checkHead(log, head); err != nil {
		return err
	}
	if err := h.ready(ctx); err != nil {
		return err
	}
	s, err := h.state(ctx, log)
	if err != nil {
		return err
	}
	h.mu.Lock()
	last, wrong := s.last, s.err
	h.mu.Unlock()
	if wrong != nil {
		return wrong
	}
	if last.Origin == "" {
		last.Checkpoint = merkle.Guard{Origin: head.Origin}.First()
	}
	var proof []merkle.Hash
	if last.Size > 0 && head.Size >= last.Size {
		if proof, err = prove(last.Size); err != nil {
			return fmt.Errorf("archive: prove %s from %d: %w", log, last.Size, err)
		}
	}
	if err := (merkle.Guard{Origin: head.Origin}).Next(last.Checkpoint, head.Size, head.Root, proof); err != nil {
		return fmt.Errorf("archive: checkpoint of %s: %w", log, err)
	}
	return h.keep(ctx, log, s, head)
}

// keep has a checkpoint written that may follow the last.
func (h *Heads) keep(ctx context.Context, log string, s *headState, head Head) error {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return ErrClosed
	}
	if s.last.Checkpoint != head.Checkpoint {
		s.last, s.inFile, s.inBucket = head, false, false
		h.puts++
	}
	if h.options.Strict || h.puts >= h.options.Records/2 {
		h.hurry()
	}
	h.mu.Unlock()
	return h.await(ctx, func() (bool, error) {
		if h.options.Strict {
			return s.inFile && s.inBucket, cmp.Or(s.err, h.failure)
		}
		return h.puts < h.options.Records || h.failure != nil, nil
	})
}

// state returns what is known of a log, read from both places the first time.
func (h *Heads) state(ctx context.Context, log string) (*headState, error) {
	h.mu.Lock()
	s := h.logs[log]
	h.mu.Unlock()
	if s != nil {
		return s, nil
	}
	kept, revision, err := h.read(ctx, log)
	if err != nil && !errors.Is(err, journal.ErrNotFound) {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.logs[log]; s != nil {
		return s, nil
	}
	s = &headState{last: kept.Head, revision: revision, inFile: true, inBucket: true}
	if err == nil {
		s.inFile = kept.File.Checkpoint == kept.Checkpoint
		s.inBucket = kept.Bucket.Checkpoint == kept.Checkpoint
	}
	h.logs[log] = s
	return s, nil
}

// HeadsHealth is a report on a checkpoint store.
type HeadsHealth struct {
	Waiting int   // logs whose last checkpoint is not in both places
	Err     error // why the last attempt to write failed, nil when it did not
}

// Health reports how the store is.
func (h *Heads) Health() HeadsHealth {
	h.mu.Lock()
	defer h.mu.Unlock()
	health := HeadsHealth{Err: h.failure}
	for _, s := range h.logs {
		if !s.inFile || !s.inBucket {
			health.Waiting++
		}
	}
	return health
}

// Flush waits until all that was put is in both places, or an attempt fails.
func (h *Heads) Flush(ctx context.Context) error {
	return h.await(ctx, func() (bool, error) {
		for _, s := range h.logs {
			if s.err == nil && (!s.inFile || !s.inBucket) {
				h.hurry()
				return false, h.failure
			}
		}
		return true, nil
	})
}

// Close writes what waits. The journal is still open when it is called.
func (h *Heads) Close() error {
	h.mu.Lock()
	first := !h.closed
	h.closed = true
	h.mu.Unlock()
	if first {
		close(h.stop)
	}
	<-h.done
	if h.loadErr != nil {
		return h.loadErr
	}
	if h.failure != nil {
		return fmt.Errorf("archive: closed before all checkpoints were written: %w", h.failure)
	}
	return nil
}

func (h *Heads) ready(ctx context.Context) error {
	select {
	case <-h.loaded:
		return h.loadErr
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run is the flusher.
func (h *Heads) run() {
	defer close(h.done)
	defer h.file.close()
	h.loadErr = h.file.load()
	close(h.loaded)
	for _, d := range h.file.damage {
		h.options.Log.Error("checkpoint file", "problem", d.String())
	}
	if h.loadErr != nil {
		h.options.Log.Error("checkpoint file", "error", h.loadErr)
		<-h.stop
		return
	}
	ticker := time.NewTicker(h.options.Delay / 2)
	defer ticker.Stop()
	for {
		select {
		case <-h.wake:
		case <-ticker.C:
		case <-h.stop:
			h.flush()
			return
		}
		h.flush()
	}
}

// flush writes the last checkpoint of each log that waits: first all of them
// into the file at once, then one by one into the bucket.
func (h *Heads) flush() {
	h.mu.Lock()
	waiting := map[string]Head{}
	for log, s := range h.logs {
		if s.err == nil && (!s.inFile || !s.inBucket) {
			waiting[log] = s.last
		}
	}
	taken := h.puts
	h.mu.Unlock()
	if len(waiting) == 0 && h.settled() {
		return
	}
	err := h.toFile(waiting)
	if err == nil {
		err = h.toBucket(waiting)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil && (h.failure == nil || h.failure.Error() != err.Error()) {
		h.options.Log.Error("checkpoints are behind", "error", err)
	}
	h.failure = err
	h.puts -= taken
	h.attempted()
}

func (h *Heads) settled() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.puts == 0 && h.failure == nil
}

func (h *Heads) toFile(waiting map[string]Head) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	lines := map[string]Head{}
	for log, head := range waiting {
		if !h.logs[log].inFile {
			lines[log] = head
		}
	}
	if err := h.file.write(lines); err != nil {
		return err
	}
	for log, head := range lines {
		if s := h.logs[log]; s.last.Checkpoint == head.Checkpoint {
			s.inFile = true
		}
	}
	return nil
}

func (h *Heads) toBucket(waiting map[string]Head) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var failed error
	for _, log := range slices.Sorted(maps.Keys(waiting)) {
		if err := h.swapIn(ctx, log, waiting[log]); err != nil && failed == nil {
			failed = fmt.Errorf("archive: keep the checkpoint of %s: %w", log, err)
		}
	}
	return failed
}

// swapIn puts one checkpoint into the bucket under compare-and-set. Another
// node may have put its own: the larger one stays.
func (h *Heads) swapIn(ctx context.Context, log string, head Head) error {
	h.mu.Lock()
	s := h.logs[log]
	revision := s.revision
	h.mu.Unlock()
	value := []byte(headText(log, head))
	next, err := h.bucket.Update(ctx, log, value, revision)
	if errors.Is(err, journal.ErrConflict) {
		var there Head
		if there, revision, err = h.fromBucket(ctx, log); err != nil {
			return err
		}
		if there.Origin != "" {
			if fork := sameTree(there.Checkpoint, head.Checkpoint); fork != nil {
				h.mu.Lock()
				s.err = fork
				h.mu.Unlock()
				return fork
			}
		}
		next = revision
		if there.Size < head.Size || there.Origin == "" {
			next, err = h.bucket.Update(ctx, log, value, revision)
		}
	}
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	s.revision = next
	if s.last.Checkpoint == head.Checkpoint {
		s.inBucket = true
	}
	return nil
}

func (h *Heads) fromBucket(ctx context.Context, log string) (Head, uint64, error) {
	value, revision, err := h.bucket.Get(ctx, log)
	if errors.Is(err, journal.ErrNotFound) {
		return Head{}, 0, nil
	}
	if err != nil {
		return Head{}, 0, err
	}
	head, err := parseHead(log, strings.TrimSuffix(string(value), "\n"))
	return head, revision, err
}

// splitLog takes the campaign and the number of its log out of a log's name.
func splitLog(log string) (campaign string, number int, err error) {
	campaign, digits, anew := strings.Cut(log, "/")
	if !anew {
		return campaign, 1, nil
	}
	number, err = strconv.Atoi(digits)
	if err != nil || number < 2 || strconv.Itoa(number) != digits {
		return campaign, 0, fmt.Errorf("%w: log %q", ErrInvalid, log)
	}
	return campaign, number, nil
}

func checkHead(log string, head Head) error {
	campaign, _, err := splitLog(log)
	if err != nil {
		return err
	}
	if campaign == "" || strings.ContainsAny(log, " \n=") {
		return fmt.Errorf("%w: log %q", ErrInvalid, log)
	}
	is, err := unsignedHead(head.Signed)
	if err != nil {
		return err
	}
	if is != head.Checkpoint || !strings.HasSuffix(is.Origin, "/campaign/"+log) {
		return fmt.Errorf("%w: the signed checkpoint is not the one of log %s", ErrInvalid, log)
	}
	return nil
}

// unsignedHead reads the text of a signed note without asking who signed it.
func unsignedHead(signed []byte) (merkle.Checkpoint, error) {
	lines := strings.SplitN(string(signed), "\n", 5)
	if len(lines) != 5 || lines[3] != "" {
		return merkle.Checkpoint{}, fmt.Errorf("%w: not a signed checkpoint", ErrInvalid)
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	root, rootErr := base64.StdEncoding.DecodeString(lines[2])
	if err != nil || rootErr != nil || size < 0 || len(root) != len(merkle.Hash{}) {
		return merkle.Checkpoint{}, fmt.Errorf("%w: not a signed checkpoint", ErrInvalid)
	}
	return merkle.Checkpoint{Origin: lines[0], Size: size, Root: merkle.Hash(root)}, nil
}

// headText is a checkpoint's line, in the file and in the bucket, with the LF.
// The sum covers everything before it.
func headText(log string, head Head) string {
	text := fmt.Sprintf("head log=%s size=%d signed=%s ", log, head.Size, base64.StdEncoding.EncodeToString(head.Signed))
	return text + "sum=" + hashOf([]byte(text)).String() + "\n"
}

// parseHead reads a line without its LF. It takes what headText writes only.
func parseHead(log, text string) (Head, error) {
	fields := strings.Split(text, " ")
	if len(fields) != 5 {
		return Head{}, fmt.Errorf("%w: not a line with a checkpoint", ErrInvalid)
	}
	signed, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(fields[3], "signed="))
	if err != nil {
		return Head{}, fmt.Errorf("%w: signed: not base64", ErrInvalid)
	}
	head := Head{Signed: signed}
	if head.Checkpoint, err = unsignedHead(signed); err != nil {
		return Head{}, err
	}
	if headText(log, head) != text+"\n" {
		return Head{}, fmt.Errorf("%w: the line of %s is not as it was written", ErrInvalid, log)
	}
	return head, nil
}

// headsFile is the file of lines: the last line of a log counts. It is only
// appended to; when most of it is old it is written anew beside and renamed.
type headsFile struct {
	path   string
	file   *appendFile
	index  map[string]place
	live   int64 // bytes of the lines that count
	damage []Damage
	kept   int // pieces of damage that are kept in a file beside
}

// place is where a log's last line stands.
type place struct {
	offset int64
	length int
}

// compactFrom is the size in bytes under which a file is never compacted.
const compactFrom = 1 << 20

func openHeadsFile(path string) (*headsFile, error) {
	file, err := openAppend(path, 0)
	if err != nil {
		return nil, fmt.Errorf("archive: open the checkpoint file: %w", err)
	}
	return &headsFile{path: path, file: file, index: map[string]place{}}, nil
}

// load reads the file, reports what is damaged and cuts a torn last line.
func (f *headsFile) load() error {
	b, err := io.ReadAll(io.NewSectionReader(f.file.f, 0, 1<<62))
	if err != nil {
		return fmt.Errorf("archive: read the checkpoint file: %w", err)
	}
	f.take(string(b))
	if f.file.size == int64(len(b)) {
		return nil
	}
	return cutTail(f.path, f.file.size)
}

// take reads the lines, up to a torn last one.
func (f *headsFile) take(text string) {
	for text := range strings.Lines(text) {
		line, whole := strings.CutSuffix(text, "\n")
		log := logOf(line)
		_, err := parseHead(log, line)
		if err == nil && whole {
			f.note(log, place{f.file.size, len(text)})
		} else {
			what := "not a line with a checkpoint"
			if !whole {
				what = "the last line is torn"
			}
			f.damage = append(f.damage, Damage{
				Segment: f.path, Offset: f.file.size, Bytes: int64(len(text)), Partition: -1, Campaign: log, N: -1, What: what,
			})
		}
		if !whole {
			break
		}
		f.file.size += int64(len(text))
	}
}

// logOf is what a line says of whom it is.
func logOf(line string) string {
	fields := strings.Split(line, " ")
	if len(fields) < 2 {
		return ""
	}
	log, _ := strings.CutPrefix(fields[1], "log=")
	return log
}

func (f *headsFile) note(log string, p place) {
	f.live += int64(p.length - f.index[log].length)
	f.index[log] = p
}

// read returns a log's last checkpoint, or none.
func (f *headsFile) read(log string) (Head, error) {
	p, ok := f.index[log]
	if !ok {
		return Head{}, nil
	}
	text := make([]byte, p.length)
	if _, err := f.file.f.ReadAt(text, p.offset); err != nil {
		return Head{}, fmt.Errorf("archive: the file's checkpoint of %s: %w", log, err)
	}
	head, err := parseHead(log, strings.TrimSuffix(string(text), "\n"))
	if err != nil {
		return Head{}, fmt.Errorf("archive: the file's checkpoint of %s: %w", log, err)
	}
	return head, nil
}

// write appends the lines and has them on disk.
func (f *headsFile) write(heads map[string]Head) error {
	if len(heads) == 0 {
		return nil
	}
	if f.file.size > compactFrom && f.file.size > 4*f.live {
		if err := f.compact(); err != nil {
			return err
		}
	}
	var text strings.Builder
	places := map[string]place{}
	for _, log := range slices.Sorted(maps.Keys(heads)) {
		line := headText(log, heads[log])
		places[log] = place{f.file.size + int64(text.Len()), len(line)}
		text.WriteString(line)
	}
	if err := f.file.append([]byte(text.String())); err != nil {
		return fmt.Errorf("archive: write the checkpoint file: %w", err)
	}
	for log, p := range places {
		f.note(log, p)
	}
	return nil
}

// compact writes the lines that count into a new file and renames it. Of a file
// with damage a copy is kept.
func (f *headsFile) compact() error {
	if err := f.keepDamaged(); err != nil {
		return err
	}
	var text strings.Builder
	for _, log := range slices.Sorted(maps.Keys(f.index)) {
		head, err := f.read(log)
		if err != nil {
			return err
		}
		text.WriteString(headText(log, head))
	}
	if err := f.file.close(); err != nil {
		return fmt.Errorf("archive: compact the checkpoint file: %w", err)
	}
	err := writeWhole(f.path, []byte(text.String()))
	file, openErr := openAppend(f.path, 0)
	if openErr != nil {
		return fmt.Errorf("archive: compact the checkpoint file: %w", errors.Join(err, openErr))
	}
	f.file, f.index, f.live = file, map[string]place{}, 0
	if err = errors.Join(err, f.load()); err != nil { // the old file or the new one
		return fmt.Errorf("archive: compact the checkpoint file: %w", err)
	}
	return nil
}

func (f *headsFile) keepDamaged() error {
	if f.kept == len(f.damage) {
		return nil
	}
	b, err := io.ReadAll(io.NewSectionReader(f.file.f, 0, 1<<62))
	if err == nil {
		err = keepAside(f.path+".damaged", b)
	}
	if err != nil {
		return fmt.Errorf("archive: keep the damaged checkpoint file: %w", err)
	}
	f.kept = len(f.damage)
	return nil
}

func (f *headsFile) close() { f.file.close() }
