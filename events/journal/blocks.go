package journal

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"maps"
	"math/bits"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A block file is a row of records as nats-server 2.15 writes them, numbers little
// endian; we have it neither compress nor encrypt them:
//
//	 0  4 bytes  length of the record; its highest bit: there are headers
//	 4  8 bytes  sequence; its highest bit: erased, the next: a tombstone
//	12  8 bytes  when it was stored
//	20  2 bytes  length of the subject
//	22           subject, [4 bytes length of the headers, headers,] message
//	    8 bytes  checksum, which the server compares when it gives out the message
const (
	recordHead    = 22
	recordSum     = 8
	withHeaders   = 1 << 31
	erasedBit     = 1 << 63
	tombstoneBit  = 1 << 62
	longestRecord = 32 << 20
	// widestJump bounds how far a sequence is above the one before it in a block. A
	// block takes 8 MiB of records of 30 bytes or more, whose sequences were given
	// one after the other: less than 300,000, whatever was deleted since.
	widestJump = 1 << 20
)

const (
	// startBytes of each stream, the newest, are looked at before the server starts,
	// and what was written within startWritten, which the server reads at its start.
	startBytes   = 64 << 20
	startWritten = duplicateWindow + time.Minute
	// lookPause is how soon the blocks of a stream that does not answer are looked
	// at again.
	lookPause = time.Minute
	// suspectName is the file beside the store that names a block which was found
	// damaged while it was served: the next start looks at it.
	suspectName = "SUSPECT"
)

// BlockError says that a block file of an embedded store has a sequence so far
// above the one before it that the server, which counts from one to the other when
// it loads the block, would never come to the end. It is ErrDamaged.
type BlockError struct {
	Stream   string // LEDGER_<partition>, or KV_<bucket>
	File     string // path of the block file
	Offset   int64  // of the damaged record in it, in bytes
	Seq      uint64 // what it is taken for
	After    uint64 // the sequence before it
	Subject  string // of the damaged record, as it stands; empty if it cannot be told
	Campaign string // whose commit it is; empty in a bucket, or if it cannot be told
	Payload  []byte // of that commit, as it stands

	raw uint64 // sequence with its bits, 0 if the record before it is the damaged one
}

// Error implements error.
func (e *BlockError) Error() string {
	return fmt.Sprintf("%v: stream %s, block file %s, byte %d, subject %s: sequence %d cannot follow %d; run tallystick restore",
		ErrDamaged, e.Stream, e.File, e.Offset, cmp.Or(e.Subject, "unknown"), e.Seq, e.After)
}

// Unwrap makes it ErrDamaged.
func (e *BlockError) Unwrap() error { return ErrDamaged }

// record is one of a block file.
type record struct {
	at, length int
	seq        uint64 // with its bits
	subject    []byte
	payload    []byte
}

// recordAt cuts out the record at a place of a block; ok is false where the server
// sees by itself that there is none.
func recordAt(block []byte, at int) (r record, ok bool) {
	if at+recordHead > len(block) {
		return record{}, false
	}
	head := block[at:]
	length := binary.LittleEndian.Uint32(head)
	body := int(length&^withHeaders) - recordHead - recordSum
	subject, headers := int(binary.LittleEndian.Uint16(head[20:])), 0
	if length&withHeaders != 0 {
		headers = 4
	}
	r = record{at: at, length: int(length &^ withHeaders), seq: binary.LittleEndian.Uint64(head[4:])}
	if body < subject+headers || r.length > len(head) || r.length > longestRecord {
		return record{}, false
	}
	text := head[recordHead : recordHead+body]
	r.subject, r.payload = text[:subject], text[subject+headers:]
	if headers > 0 {
		if skip := int(binary.LittleEndian.Uint32(text[subject:])); skip <= len(r.payload) {
			r.payload = r.payload[skip:]
		}
	}
	return r, true
}

// records are those of a block as the server finds them when it loads it, which it
// does without a look at the checksums.
func records(block []byte) iter.Seq[record] {
	return func(yield func(record) bool) {
		for at := 0; ; {
			r, ok := recordAt(block, at)
			if !ok || !yield(r) {
				return
			}
			at += r.length
		}
	}
}

// runaway finds the first record of a block from which the server would count for
// ever, and the record and the sequence before it.
func runaway(block []byte) (bad, before record, after uint64, found bool) {
	for r := range records(block) {
		if seq := r.seq &^ erasedBit; r.seq&tombstoneBit == 0 && seq > after {
			if after > 0 && seq-after > widestJump {
				return r, before, after, true
			}
			after = seq
		}
		before = r
	}
	return record{}, record{}, 0, false
}

// checkBlock says what is wrong if the server would not come to an end with a block
// of the stream, or nil.
func checkBlock(stream, file string, block []byte) *BlockError {
	bad, before, after, found := runaway(block)
	if !found {
		return nil
	}
	e := &BlockError{Stream: stream, File: file, Seq: bad.seq &^ erasedBit, After: after, raw: bad.seq}
	if !belongs(stream, bad.subject) { // no record begins here: the one before it is not as long as it says
		bad, e.raw = before, 0
	}
	e.Offset = int64(bad.at)
	if belongs(stream, bad.subject) {
		e.Subject = string(bad.subject)
	}
	if campaign := e.Subject[strings.LastIndexByte(e.Subject, '.')+1:]; checkCampaign(campaign) == nil && strings.HasPrefix(e.Subject, "ledger.") {
		e.Campaign, e.Payload = campaign, slices.Clone(bad.payload)
	}
	return e
}

// belongs reports whether a stream may have messages of a subject.
func belongs(stream string, subject []byte) bool {
	if bucket, ok := strings.CutPrefix(stream, "KV_"); ok {
		return strings.HasPrefix(string(subject), "$KV."+bucket+".")
	}
	return strings.HasPrefix(string(subject), "ledger."+strings.TrimPrefix(stream, "LEDGER_")+".")
}

// right is the sequence that a damaged record had if one bit of it flipped, and
// ok is false if that is not it. Whether it is, its checksum tells the server.
func (e *BlockError) right() (raw uint64, ok bool) {
	if e.raw == 0 {
		return 0, false
	}
	raw = e.raw &^ (1 << (bits.Len64(e.Seq) - 1))
	seq := raw &^ erasedBit
	return raw, seq > e.After && seq-e.After <= widestJump
}

// blockWatch looks after the block files of an embedded store: the server is to
// load none with which it would not come to an end.
type blockWatch struct {
	folder fs.FS  // the data folder
	dir    string // its path
	log    *slog.Logger
	broken func(error)                // may be nil
	bad    atomic.Pointer[BlockError] // found while it is served

	later  []string       // what was not looked at before the start
	ends   map[string]end // of bucket blocks, before the start
	ctx    context.Context
	cancel context.CancelFunc
	group  sync.WaitGroup

	mu     sync.Mutex
	looked map[string]time.Time // streams that did not answer; guarded by mu
}

func newBlockWatch(o Options) *blockWatch {
	b := &blockWatch{folder: os.DirFS(o.Dir), dir: o.Dir, log: o.Logger, broken: o.Broken, ends: map[string]end{}, looked: map[string]time.Time{}}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

// of lists the block files of one stream, or of "*", by stream, newest first.
func (b *blockWatch) of(stream string) (map[string][]string, error) {
	all, err := fs.Glob(b.folder, path.Join(storeName, "jetstream/*/streams", stream, "msgs/*.blk"))
	if err != nil {
		return nil, err
	}
	by := map[string][]string{}
	for _, name := range all {
		folder := path.Dir(name)
		by[folder] = append(by[folder], name)
	}
	for _, names := range by {
		slices.SortFunc(names, func(x, y string) int { return cmp.Or(cmp.Compare(len(y), len(x)), cmp.Compare(y, x)) }) // 10.blk before 9.blk
	}
	return by, nil
}

// atStart looks at the newest blocks, before the server does. The cost is bounded
// by what was written lately and by startBytes of each stream. To mend, it looks at
// all.
func (b *blockWatch) atStart(mend bool) error {
	by, err := b.of("*")
	if err != nil {
		return err
	}
	if mend {
		return b.mend(by)
	}
	suspect, _ := os.ReadFile(filepath.Join(b.dir, suspectName)) // none, as a rule
	for _, names := range by {
		left := int64(startBytes)
		for _, name := range names {
			info, err := fs.Stat(b.folder, name)
			if err != nil {
				return fmt.Errorf("journal: block file: %w", err)
			}
			if left <= 0 && time.Since(info.ModTime()) > startWritten && name != string(suspect) {
				b.later = append(b.later, name)
				continue
			}
			left -= info.Size()
			if err := b.check(name, func(block []byte) { b.ends[name] = endOf(block) }); err != nil {
				return err
			}
		}
	}
	if len(suspect) > 0 {
		return os.Remove(filepath.Join(b.dir, suspectName)) // it is in order, or has gone
	}
	return nil
}

// check looks at one block file, and hands it on if it is in order; one that has
// gone is.
func (b *blockWatch) check(name string, whole func(block []byte)) error {
	block, err := b.load(name)
	if err != nil {
		return err
	}
	defer blockBuffers.Put(block)
	if bad := checkBlock(streamOf(name), filepath.Join(b.dir, filepath.FromSlash(name)), *block); bad != nil {
		return bad
	}
	whole(*block)
	return nil
}

func nothing([]byte) {}

// streamOf is the stream of a block file.
func streamOf(name string) string { return path.Base(path.Dir(path.Dir(name))) }

// end says how a block ends.
type end struct {
	size int
	seq  uint64 // the highest of its messages
	torn bool   // what is last in it is no whole record
}

func endOf(block []byte) end {
	e, at := end{size: len(block)}, 0
	for r := range records(block) {
		at = r.at + r.length
		if r.seq&(tombstoneBit|erasedBit) == 0 {
			e.seq = max(e.seq, r.seq)
		}
	}
	e.torn = at < len(block)
	return e
}

// cutOff says in words which buckets the server has cut an end off at its start: it
// does so without a word where it finds a damaged record, and what was written
// after it is lost. Of a ledger stream Health and what is kept elsewhere tell; a
// bucket's values are counted by nobody. last is the last sequence of a stream.
func (b *blockWatch) cutOff(last func(stream string) (seq uint64, ok bool)) (problems []string) {
	for _, name := range slices.Sorted(maps.Keys(b.ends)) {
		was := b.ends[name]
		bucket, ok := strings.CutPrefix(streamOf(name), "KV_")
		if !ok {
			continue
		}
		if seq, ok := last(streamOf(name)); ok && seq < was.seq || b.shorter(name, was) {
			problems = append(problems, fmt.Sprintf("bucket %s: block file %s was torn or damaged at its end, and the store's server has cut it off there: what was put there is lost", bucket, path.Base(name)))
		}
	}
	return problems
}

// shorter reports whether a block has lost its end. One that was made smaller by
// leaving out what was deleted has its last message still.
func (b *blockWatch) shorter(name string, was end) bool {
	info, err := fs.Stat(b.folder, name)
	if was.torn {
		return errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() < int64(was.size)
	}
	if err != nil || info.Size() >= int64(was.size) {
		return false
	}
	block, err := b.load(name)
	if err != nil {
		return false
	}
	defer blockBuffers.Put(block)
	return endOf(*block).seq < was.seq
}

var blockBuffers = sync.Pool{New: func() any { return new([]byte) }}

func (b *blockWatch) load(name string) (*[]byte, error) {
	buffer := blockBuffers.Get().(*[]byte)
	*buffer = (*buffer)[:0]
	f, err := b.folder.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return buffer, nil
	}
	if err != nil {
		return nil, fmt.Errorf("journal: block file: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("journal: block file: %w", err)
	}
	*buffer = slices.Grow(*buffer, int(info.Size()))[:info.Size()]
	n, err := io.ReadFull(f, *buffer)
	*buffer = (*buffer)[:n]
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) { // the server may cut it meanwhile
		return nil, fmt.Errorf("journal: block file: %w", err)
	}
	return buffer, nil
}

// behind looks at the blocks that were left out before the start.
func (b *blockWatch) behind() {
	b.group.Go(func() { b.look(b.later) })
}

// unanswered looks at a stream's blocks if that is why it did not answer: one may
// have been damaged since it was looked at.
func (b *blockWatch) unanswered(stream string, err error) {
	if b == nil || !errors.Is(err, context.DeadlineExceeded) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx.Err() != nil || time.Since(b.looked[stream]) < lookPause {
		return
	}
	b.looked[stream] = time.Now()
	b.group.Go(func() {
		by, err := b.of(stream)
		if err != nil {
			b.log.Error("block files", "stream", stream, "error", err)
		}
		for _, names := range by {
			b.look(names)
		}
	})
}

func (b *blockWatch) look(names []string) {
	for _, name := range names {
		if b.ctx.Err() != nil {
			return
		}
		err := b.check(name, nothing)
		var bad *BlockError
		switch {
		case errors.As(err, &bad):
			b.found(name, bad)
			return
		case err != nil:
			b.log.Error("block file", "error", err)
		}
	}
}

// found makes the journal refuse whatever would load the block, leaves a note for
// the next start, and tells who serves.
func (b *blockWatch) found(name string, bad *BlockError) {
	if !b.bad.CompareAndSwap(nil, bad) {
		return
	}
	b.log.Error("a block of the store is damaged: it cannot be served any more", "error", bad)
	if err := os.WriteFile(filepath.Join(b.dir, suspectName), []byte(name), 0o600); err != nil {
		b.log.Error("block file", "error", err)
	}
	if b.broken != nil {
		b.broken(bad)
	}
}

// problem is what was found, or nil.
func (b *blockWatch) problem() error {
	if b == nil {
		return nil
	}
	if bad := b.bad.Load(); bad != nil {
		return bad
	}
	return nil
}

// close ends all looking.
func (b *blockWatch) close() {
	if b == nil {
		return
	}
	b.mu.Lock()
	b.cancel()
	b.mu.Unlock()
	b.group.Wait()
}

// mend makes every block one that the server comes to the end with. A sequence
// with one flipped bit is put right, and nothing is lost. Of anything else the
// server is made to read the stream's blocks record by record, which it does by
// their checksums and without an index; it cuts a block off where one is wrong.
func (b *blockWatch) mend(by map[string][]string) error {
	for folder, names := range by {
		for _, name := range names {
			if err := b.mendBlock(folder, name); err != nil {
				return fmt.Errorf("journal: mend block file: %w", err)
			}
		}
	}
	return nil
}

func (b *blockWatch) mendBlock(folder, name string) error {
	for {
		err := b.check(name, nothing)
		var bad *BlockError
		if !errors.As(err, &bad) {
			return err
		}
		raw, ok := bad.right()
		if !ok {
			b.log.Error("a block is damaged, the server cuts it off there", "error", bad)
			err := os.Remove(filepath.Join(b.dir, filepath.FromSlash(folder), "index.db"))
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		b.log.Error("a flipped bit of a sequence is put right", "sequence", raw&^erasedBit, "error", bad)
		if err := writeSequence(bad, raw); err != nil {
			return err
		}
	}
}

func writeSequence(bad *BlockError, raw uint64) error {
	f, err := os.OpenFile(bad.File, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(binary.LittleEndian.AppendUint64(nil, raw), bad.Offset+4)
	return errors.Join(err, f.Sync(), f.Close())
}
