package archive

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"tallystick/events/journal"
)

// Entry is a commit as the archive holds it, and where.
type Entry struct {
	journal.Commit
	Partition int
	N         int64  // of its first record, -1 if the payload does not say
	Records   int    // how many
	Segment   string // file name
	Offset    int64  // of its line in the segment
}

// Damage is a part of an archive that is not as it was written. What cannot be
// read any more is left out.
type Damage struct {
	Segment   string // file name
	Offset    int64
	Bytes     int64 // 0: lines are missing here
	Partition int   // -1 unknown
	From, To  uint64
	Campaign  string
	N         int64 // of the first record, -1 unknown
	What      string
}

// String says in one line what is damaged.
func (d Damage) String() string {
	text := fmt.Sprintf("%s, offset %d, %d bytes: %s", d.Segment, d.Offset, d.Bytes, d.What)
	if d.Partition >= 0 {
		text += fmt.Sprintf(", partition %d, sequences %d to %d", d.Partition, d.From, d.To)
	}
	if d.Campaign != "" {
		text += fmt.Sprintf(", campaign %s", d.Campaign)
	}
	if d.N >= 0 {
		text += fmt.Sprintf(", n %d", d.N)
	}
	return text
}

// Scan reads the archive in a folder that nobody writes to, as Archive.Scan
// does.
func Scan(ctx context.Context, dir string, each func(Entry) error) ([]Damage, error) {
	return scan(ctx, dir, nil, each)
}

// Verify reads the archive in a folder that nobody writes to and reports the
// damage; a torn last entry is one.
func Verify(ctx context.Context, dir string) ([]Damage, error) {
	return Scan(ctx, dir, func(Entry) error { return nil })
}

func scan(ctx context.Context, dir string, until *Position, each func(Entry) error) ([]Damage, error) {
	var damage []Damage
	err := scanLines(ctx, dir, until, func(l *line, e Entry) error {
		if l.word != wordCommit {
			return nil
		}
		return each(e)
	}, func(d Damage) { damage = append(damage, d) })
	return damage, err
}

// scanLines reads all segments from the first on, up to a position if one is
// given.
func scanLines(ctx context.Context, dir string, until *Position, each func(*line, Entry) error, damage func(Damage)) error {
	numbers, err := segmentNumbers(dir)
	if err != nil {
		return err
	}
	s := &scanner{dir: dir, state: newState(), ctx: ctx, each: each, damage: damage}
	if len(numbers) == 0 || numbers[0] != 1 {
		s.report(Damage{Segment: segmentName(1), Partition: -1, N: -1, What: "the segment is missing"})
	}
	for i, number := range numbers {
		limit := int64(-1)
		if until != nil && number > until.Segment {
			return nil
		}
		if until != nil && number == until.Segment {
			limit = until.Offset
		}
		if i > 0 && number != numbers[i-1]+1 {
			s.report(Damage{Segment: segmentName(numbers[i-1] + 1), Partition: -1, N: -1, What: "the segment is missing"})
		}
		if err := s.segment(number, limit); err != nil {
			return err
		}
	}
	return nil
}

// scanner reads segments one after the other and tells good lines from damage.
type scanner struct {
	ctx    context.Context
	dir    string
	each   func(*line, Entry) error // may be nil
	damage func(Damage)
	state

	name    string // of the segment
	reader  *bufio.Reader
	offset  int64 // of what the reader gives next
	good    int64 // where the last good line of the segment ends
	skipped []byte

	broken     bool  // damage came last
	beforeTail state // after the last good line
}

// newestWhole returns a scanner that stands before the newest segment whose
// first line is whole, and its index. A start reads from there.
func newestWhole(dir string, numbers []int) (*scanner, int) {
	for i := len(numbers) - 1; i > 0; i-- {
		l, err := firstLine(filepath.Join(dir, segmentName(numbers[i])))
		if err == nil && l.number == numbers[i] {
			s := newState()
			s.chain, s.at, s.lost, s.partitions = l.previous, l.at, l.lost, l.partitions
			return &scanner{dir: dir, state: s, ctx: context.Background()}, i
		}
	}
	return &scanner{dir: dir, state: newState(), ctx: context.Background()}, 0
}

// firstLine reads a segment's first line, which proves itself: it has the
// chain value that it follows.
func firstLine(path string) (line, error) {
	f, err := os.Open(path)
	if err != nil {
		return line{}, err
	}
	defer f.Close()
	text, err := bufio.NewReaderSize(f, maxLine).ReadSlice('\n')
	if err != nil {
		return line{}, err
	}
	l, err := parseLine(text[:len(text)-1])
	if err == nil && (l.word != wordSegment || !l.follows(l.previous)) {
		err = errors.New("not a segment's first line")
	}
	return l, err
}

// segment reads one segment, up to limit if that is not negative.
func (s *scanner) segment(number int, limit int64) error {
	f, err := os.Open(filepath.Join(s.dir, segmentName(number)))
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	defer f.Close()
	var from io.Reader = f
	if limit >= 0 {
		from = io.LimitReader(f, limit)
	}
	return s.read(number, from)
}

// read reads one segment's bytes.
func (s *scanner) read(number int, from io.Reader) error {
	s.name, s.offset, s.good, s.broken = segmentName(number), 0, 0, false
	if s.reader == nil {
		s.reader = bufio.NewReaderSize(nil, journal.MaxPayload+2*maxLine)
	}
	s.reader.Reset(from)
	for {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		_, err := s.reader.Peek(1)
		if err == io.EOF {
			break
		}
		if err == nil {
			err = s.next(number)
		}
		if err != nil {
			return fmt.Errorf("archive: %s, offset %d: %w", s.name, s.offset, err)
		}
	}
	if s.offset == 0 {
		s.fail(Damage{Partition: -1, N: -1, What: "the segment is empty"})
	}
	if !s.broken {
		s.beforeTail = s.state
	}
	return nil
}

// next reads one line with its payload, or what is damaged up to the next.
func (s *scanner) next(number int) error {
	l, size, err := s.peekLine()
	if err != nil {
		return err
	}
	switch {
	case l == nil:
		return s.skip("not a line of an archive")
	case s.offset == 0 && (l.word != wordSegment || l.number != number || !l.follows(l.previous)):
		return s.skip("not the segment's first line")
	case s.offset == 0:
		s.begin(l)
	case l.word == wordSegment:
		return s.skip("a segment's first line in its middle")
	case s.known && !l.follows(s.chain):
		return s.skip("does not follow from the line before")
	}
	if l.word != wordCommit {
		if !s.order(l) {
			return s.skip("a mark that does not fit")
		}
		s.accept(l)
		return s.deliver(l, size, nil)
	}
	whole, err := s.peek(size + l.size + 1)
	if err != nil {
		return err
	}
	payload, problem := checkPayload(l, size, whole)
	if problem == "" {
		l.unproven = !s.known
		s.order(l)
		s.accept(l)
		return s.deliver(l, len(whole), payload)
	}
	if !s.known { // neither the line nor the payload can be trusted
		return s.skip("not a line of an archive")
	}
	s.order(l)
	s.fail(Damage{Bytes: int64(len(whole)), Partition: l.partition, From: l.from, To: l.to, Campaign: l.campaign, N: l.n, What: problem})
	s.take(l)
	return s.discard(len(whole))
}

// peek looks at the next n bytes; there are fewer at the end of the segment.
func (s *scanner) peek(n int) ([]byte, error) {
	b, err := s.reader.Peek(n)
	if err == io.EOF {
		err = nil
	}
	return b, err
}

// peekLine looks at the next line and returns its length with the LF. The line
// is nil if there is none that can be read.
func (s *scanner) peekLine() (*line, int, error) {
	for _, window := range []int{1 << 10, maxLine} { // most lines are short
		head, err := s.peek(window)
		if err != nil {
			return nil, 0, err
		}
		end := bytes.IndexByte(head, '\n')
		if end < 0 {
			continue
		}
		l, err := parseLine(head[:end])
		if err != nil {
			return nil, 0, nil
		}
		return &l, end + 1, nil
	}
	return nil, 0, nil
}

// checkPayload takes the payload out of a commit's bytes, or says what is
// wrong with it.
func checkPayload(l *line, lineSize int, whole []byte) (payload []byte, problem string) {
	if len(whole) < lineSize+l.size+1 {
		return nil, "the entry is torn"
	}
	payload = whole[lineSize : lineSize+l.size]
	if whole[len(whole)-1] != '\n' || sha256.Sum256(payload) != l.sum {
		return nil, "the payload is not what was stored"
	}
	return payload, ""
}

// begin compares a segment's first line with what came before it.
func (s *scanner) begin(l *line) {
	if s.known && l.previous != s.chain {
		s.report(Damage{Segment: s.name, Partition: -1, N: -1, What: "the segment does not follow from the one before"})
	}
	for p := range s.at {
		if was, is := s.at[p].seq, l.at[p].seq; was < is {
			s.report(Damage{Segment: s.name, Partition: p, From: was + 1, To: is, N: -1, What: "not in the segments before"})
		}
	}
}

// order reports what is missing before a line, and whether a mark can stand
// there.
func (s *scanner) order(l *line) bool {
	if l.word == wordSegment {
		return true
	}
	at := s.at[l.partition].seq
	if l.word == wordRewound {
		return l.from >= l.to && (l.from == at || !s.known)
	}
	if l.to < l.from {
		return false
	}
	switch {
	case l.from > at+1:
		s.report(Damage{Segment: s.name, Offset: s.offset, Partition: l.partition, From: at + 1, To: l.from - 1, N: -1, What: "missing before this line"})
	case l.from <= at:
		s.report(Damage{Segment: s.name, Offset: s.offset, Partition: l.partition, From: l.from, To: at, N: -1, What: "the numbers go back"})
	}
	return true
}

func (s *scanner) accept(l *line) {
	s.broken = false
	s.take(l)
}

// deliver hands a good line on and moves behind it.
func (s *scanner) deliver(l *line, size int, payload []byte) error {
	if s.each != nil {
		e := Entry{
			Commit:    journal.Commit{Campaign: l.campaign, ID: l.command, Seq: l.from, Payload: bytes.Clone(payload)},
			Partition: l.partition, N: l.n, Records: l.records, Segment: s.name, Offset: s.offset,
		}
		if err := s.each(l, e); err != nil {
			return err
		}
	}
	if err := s.discard(size); err != nil {
		return err
	}
	s.good = s.offset
	return nil
}

func (s *scanner) discard(n int) error {
	done, err := s.reader.Discard(n)
	s.offset += int64(done)
	return err
}

func (s *scanner) report(d Damage) { s.damage(d) }

// fail reports damage at the place where the scanner stands.
func (s *scanner) fail(d Damage) {
	if !s.broken {
		s.broken = true
		s.beforeTail = s.state
		s.beforeTail.at = slices.Clone(s.at)
	}
	d.Segment, d.Offset = s.name, s.offset
	s.report(d)
}

// skip passes over damage up to the next line that is whole.
func (s *scanner) skip(what string) error {
	d := Damage{Partition: -1, N: -1, What: what}
	from := s.offset
	s.skipped = s.skipped[:0]
	for {
		chunk, err := s.reader.ReadSlice('\n')
		s.offset += int64(len(chunk))
		if room := journal.MaxPayload - len(s.skipped); room > 0 {
			s.skipped = append(s.skipped, chunk[:min(room, len(chunk))]...)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if err != nil && err != io.EOF {
			return err
		}
		if err == nil {
			whole, err := s.standsAtLine()
			if err != nil {
				return err
			}
			if !whole {
				continue
			}
		}
		break
	}
	end := s.offset
	d.Bytes = end - from
	if at := bytes.Index(s.skipped, []byte(`{"v":`)); at >= 0 {
		if campaign, n, ok := firstRecord(s.skipped[at:]); ok {
			d.Campaign, d.N = campaign, n
		}
	}
	s.offset = from
	s.fail(d)
	s.offset, s.known = end, false
	return nil
}

// standsAtLine reports whether what comes next is whole: a commit with its
// payload, which says the same of it as far as it can, or a mark.
func (s *scanner) standsAtLine() (bool, error) {
	if b, err := s.peek(1); err != nil || len(b) == 0 || b[0] == '{' {
		return false, err
	}
	l, size, err := s.peekLine()
	if err != nil || l == nil || l.word == wordSegment {
		return false, err
	}
	if l.word != wordCommit {
		return s.markFits(l), nil
	}
	whole, err := s.peek(size + l.size + 1)
	if err != nil {
		return false, err
	}
	payload, problem := checkPayload(l, size, whole)
	return problem == "" && l.tellsOf(payload, s.partitions), nil
}

// markFits reports whether a mark can stand after damage. It cannot prove
// itself as a commit does.
func (s *scanner) markFits(l *line) bool {
	if l.word == wordRewound {
		return l.from >= l.to
	}
	return l.from <= l.to
}
