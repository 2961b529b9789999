package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"tallystick/events/journal"
)

// suffix is that of a segment's file; before it stand eight digits.
const suffix = ".seg"

func segmentName(number int) string { return fmt.Sprintf("%08d%s", number, suffix) }

// segmentNumbers lists the segments of a folder in order.
func segmentNumbers(dir string) ([]int, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	var numbers []int
	for _, f := range files {
		digits, is := strings.CutSuffix(f.Name(), suffix)
		if n, err := strconv.Atoi(digits); is && err == nil && n > 0 && segmentName(n) == f.Name() {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// state is what a place in the archive follows from.
type state struct {
	chain      hash
	known      bool // the chain value is certain: no damage stands just before
	at         []tip
	lost       uint64
	partitions int // of the ledger, 0 if no segment's first line could be read
}

func newState() state {
	return state{known: true, at: make([]tip, journal.MaxPartitions)}
}

// take moves the state past a line.
func (s *state) take(l *line) {
	s.chain, s.known = l.chain, true
	switch l.word {
	case wordSegment:
		s.at, s.lost, s.partitions = slices.Clone(l.at), l.lost, l.partitions
	case wordCommit:
		s.at[l.partition] = tip{l.from, l.campaign, l.sum}
	case wordMissing:
		s.at[l.partition] = tip{seq: l.to}
		s.lost += l.to - l.from + 1
	case wordRewound:
		s.at[l.partition] = tip{seq: l.to}
		s.lost += l.from - l.to
	}
}

// segmentWriter appends to the last segment of a folder. It is owned by one
// goroutine. What it has taken is on disk after flush.
type segmentWriter struct {
	dir    string
	limit  int64 // bytes from which a new segment is begun
	file   *appendFile
	number int
	buffer bytes.Buffer
	state        // after what is in the buffer
	synced state // after what is on disk
}

// flushBytes is how much is buffered before it is written.
const flushBytes = 4 << 20

// commit takes the next commit of a partition.
func (w *segmentWriter) commit(partition int, c journal.Commit) error {
	if c.Seq != w.at[partition].seq+1 {
		panic(fmt.Sprintf("archive: sequence %d after %d", c.Seq, w.at[partition].seq)) // the copier keeps the order
	}
	w.add(commitLine(partition, c))
	w.buffer.Write(c.Payload)
	w.buffer.WriteByte('\n')
	if w.buffer.Len() < flushBytes {
		return nil
	}
	return w.flush()
}

// missing notes that the sequences up to and with to cannot be read.
func (w *segmentWriter) missing(partition int, to uint64) {
	w.add(line{word: wordMissing, partition: partition, from: w.at[partition].seq + 1, to: to})
}

// rewind notes that the journal has lost what follows to.
func (w *segmentWriter) rewind(partition int, to uint64) {
	w.add(line{word: wordRewound, partition: partition, from: w.at[partition].seq, to: to})
}

func (w *segmentWriter) add(l line) {
	w.buffer.Write(l.seal(w.chain))
	w.take(&l)
}

// flush puts what was taken on disk. After an error nothing of it is there.
func (w *segmentWriter) flush() error {
	if w.buffer.Len() == 0 {
		return nil
	}
	err := w.file.append(w.buffer.Bytes())
	w.buffer.Reset()
	if err != nil {
		w.state = w.synced
		w.at = slices.Clone(w.synced.at)
		return fmt.Errorf("archive: write %s: %w", segmentName(w.number), err)
	}
	w.keep()
	if w.file.size >= w.limit {
		return w.rotate()
	}
	return nil
}

// keep remembers the state as the one on disk.
func (w *segmentWriter) keep() {
	w.synced = w.state
	w.synced.at = slices.Clone(w.at)
}

// rotate begins the next segment. Its first line has all that a start needs to
// know of the segments before it.
func (w *segmentWriter) rotate() error {
	next := line{word: wordSegment, number: w.number + 1, partitions: w.partitions, lost: w.lost, at: w.at, previous: w.chain}
	first := next.seal(w.chain)
	path := filepath.Join(w.dir, segmentName(next.number))
	if err := writeWhole(path, first); err != nil {
		return fmt.Errorf("archive: begin %s: %w", segmentName(next.number), err)
	}
	file, err := openAppend(path, int64(len(first)))
	if err != nil {
		return fmt.Errorf("archive: begin %s: %w", segmentName(next.number), err)
	}
	if w.file != nil {
		w.file.close()
	}
	w.file, w.number = file, next.number
	w.take(&next)
	w.keep()
	return nil
}

func (w *segmentWriter) position(partitions int) Position {
	p := Position{Segment: w.number, Offset: w.file.size, Lost: w.synced.lost, Last: make([]uint64, partitions)}
	for i := range p.Last {
		p.Last[i] = w.synced.at[i].seq
	}
	return p
}

func (w *segmentWriter) close() error {
	if w.file == nil {
		return nil
	}
	return w.file.close()
}

// openSegments opens the folder's last segment for writing, or begins the
// first, after reading it from its first line on.
func openSegments(dir string, partitions int, limit int64) (*segmentWriter, Report, error) {
	var report Report
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, report, fmt.Errorf("archive: %w", err)
	}
	numbers, err := segmentNumbers(dir)
	if err != nil {
		return nil, report, err
	}
	w := &segmentWriter{dir: dir, limit: limit, state: newState()}
	report.Segments = max(1, len(numbers))
	if len(numbers) == 0 {
		w.partitions = partitions
		return w, report, w.rotate()
	}
	s, from := newestWhole(dir, numbers)
	s.damage = func(d Damage) { report.Damage = append(report.Damage, d) }
	for _, number := range numbers[from:] {
		if err := s.segment(number, -1); err != nil {
			return nil, report, err
		}
	}
	if s.partitions != 0 && s.partitions != partitions {
		return nil, report, otherPartitions(s.partitions, partitions)
	}
	w.number = numbers[len(numbers)-1]
	path := filepath.Join(dir, segmentName(w.number))
	if s.good < s.offset {
		report.Cut = cut(&report, w.number, s.good)
		if err := cutTail(path, s.good); err != nil {
			return nil, report, err
		}
	}
	w.state = s.beforeTail
	w.partitions = partitions
	w.keep()
	w.at = slices.Clone(w.at)
	report.Lost = w.lost
	if s.good == 0 { // not one line of it could be read: it is kept beside, and begun anew
		w.number--
		if err := os.Remove(path); err != nil {
			return nil, report, fmt.Errorf("archive: %w", err)
		}
		return w, report, w.rotate()
	}
	if w.file, err = openAppend(path, s.good); err != nil {
		return nil, report, fmt.Errorf("archive: %w", err)
	}
	return w, report, nil
}

func otherPartitions(made, asked int) error {
	return fmt.Errorf("%w: the archive is of a ledger with %d partitions, the journal has %d", ErrInvalid, made, asked)
}

// cut takes the damage at the end of the last segment out of a report and puts
// it into one piece.
func cut(report *Report, number int, from int64) *Damage {
	var piece *Damage
	report.Damage = slices.DeleteFunc(report.Damage, func(d Damage) bool {
		if d.Segment != segmentName(number) || d.Offset < from {
			return false
		}
		if piece == nil {
			piece = &d
		} else {
			piece.Bytes = d.Offset + d.Bytes - piece.Offset
		}
		return true
	})
	return piece
}

// cutTail ends a file at size. What stood there is kept in a file beside it.
func cutTail(path string, size int64) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	tail := make([]byte, info.Size()-size)
	if _, err := f.ReadAt(tail, size); err != nil {
		return fmt.Errorf("archive: read the torn end of %s: %w", path, err)
	}
	if err := keepAside(fmt.Sprintf("%s.%d.cut", path, size), tail); err != nil {
		return fmt.Errorf("archive: keep the torn end of %s: %w", path, err)
	}
	if err := f.Truncate(size); err != nil {
		return fmt.Errorf("archive: cut the torn end of %s: %w", path, err)
	}
	return f.Sync()
}

// appendFile is a file that is appended to and synced. After an error it is as
// long as before.
type appendFile struct {
	f    *os.File
	size int64
}

func openAppend(path string, size int64) (*appendFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return &appendFile{f, size}, nil
}

func (a *appendFile) append(b []byte) error {
	_, err := a.f.WriteAt(b, a.size)
	if err == nil {
		err = a.f.Sync()
	}
	if err != nil {
		// What a failed sync has written nobody knows: it is written anew later.
		return errors.Join(err, a.f.Truncate(a.size))
	}
	a.size += int64(len(b))
	return nil
}

func (a *appendFile) close() error { return a.f.Close() }

// keepAside keeps bytes in a file of that name and a number that is free.
func keepAside(path string, b []byte) error {
	for number := 1; ; number++ {
		aside := fmt.Sprint(path, number)
		taken, err := exists(aside)
		if err != nil {
			return err
		}
		if !taken {
			return writeWhole(aside, b)
		}
	}
}

// writeWhole makes a file that is there with all its bytes or not at all.
func writeWhole(path string, b []byte) error {
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder puts the names in a folder on disk. Windows does so by itself and
// refuses to be asked.
func syncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// exists reports whether there is something under a name.
func exists(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
