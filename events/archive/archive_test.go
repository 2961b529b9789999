package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"tallystick/events/journal"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // tests break files on purpose
	goleak.VerifyTestMain(m)
}

var quick = Options{Delay: 20 * time.Millisecond}

func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// seeded gives chance whose seed a failing test prints.
func seeded(t testing.TB) *rand.Rand {
	seed := rand.Uint64()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

// table is a campaign that is played.
type table struct {
	journal  journal.Journal
	campaign string
	last     uint64
	next     int64
}

func newTable(j journal.Journal) *table { return &table{journal: j, campaign: uuid.NewString()} }

// nthTable is a table whose campaign lies in the partition that is its turn, so
// that a few tables never share one by chance.
func nthTable(j journal.Journal, n int) *table {
	partitions := len(j.Health(context.Background()).Partitions)
	for {
		if t := newTable(j); journal.PartitionOf(t.campaign, partitions) == n%partitions {
			return t
		}
	}
}

// play stores one commit of that many records.
func (t *table) play(tb testing.TB, records int) journal.Commit {
	tb.Helper()
	id := uuid.NewString()
	var lines []string
	for i := range records {
		lines = append(lines, fmt.Sprintf(`{"v":1,"campaign":%q,"n":%d,"id":%q,"type":"roll.made","data":{"total":%d}}`, t.campaign, t.next+int64(i), id, rand.IntN(20)))
	}
	payload := []byte(strings.Join(lines, "\n"))
	seq, err := t.journal.Append(context.Background(), journal.Entry{Campaign: t.campaign, ID: id, Expected: t.last, Payload: payload})
	if err != nil {
		tb.Fatal(err)
	}
	t.last, t.next = seq, t.next+int64(records)
	return journal.Commit{Campaign: t.campaign, ID: id, Seq: seq, Payload: payload}
}

// memory is a journal with tables at which some commits were played, in order.
func memory(t testing.TB, partitions, tables, commits int) (journal.Journal, []journal.Commit) {
	j := journal.NewMemory(partitions)
	t.Cleanup(func() { j.Close() })
	return j, playOn(t, j, tables, commits)
}

func playOn(t testing.TB, j journal.Journal, tables, commits int) []journal.Commit {
	var all []*table
	for n := range tables {
		all = append(all, nthTable(j, n))
	}
	var played []journal.Commit
	for i := range commits {
		played = append(played, all[i%tables].play(t, 1+i%3))
	}
	return played
}

func open(t testing.TB, dir string, j journal.Journal, o Options) (*Archive, Report) {
	t.Helper()
	a, report, err := Open(soon(t), dir, j, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a, report
}

func mustSync(t testing.TB, a *Archive) {
	t.Helper()
	if err := a.Sync(soon(t)); err != nil {
		t.Fatal(err)
	}
}

func mustClose(t testing.TB, c interface{ Close() error }) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// copied makes an archive of a journal and closes it.
func copied(t testing.TB, j journal.Journal, o Options) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "archive")
	a, _ := open(t, dir, j, o)
	mustSync(t, a)
	mustClose(t, a)
	return dir
}

func entries(t testing.TB, dir string) (all []Entry, damage []Damage) {
	t.Helper()
	damage, err := Scan(soon(t), dir, func(e Entry) error { all = append(all, e); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return all, damage
}

func sameCommit(a, b journal.Commit) bool {
	return a.Campaign == b.Campaign && a.ID == b.ID && a.Seq == b.Seq && bytes.Equal(a.Payload, b.Payload)
}

// wantAll checks that an archive holds exactly these commits, each partition in
// order, and nothing is damaged.
func wantAll(t testing.TB, dir string, partitions int, commits []journal.Commit) {
	t.Helper()
	all, damage := entries(t, dir)
	if len(damage) > 0 {
		t.Errorf("damage: %v", damage)
	}
	if len(all) != len(commits) {
		t.Fatalf("got %d commits, want %d", len(all), len(commits))
	}
	byID := map[string]journal.Commit{}
	for _, c := range commits {
		byID[c.Campaign+c.ID] = c
	}
	last := map[int]uint64{}
	for _, e := range all {
		p := journal.PartitionOf(e.Campaign, partitions)
		if !sameCommit(e.Commit, byID[e.Campaign+e.ID]) || e.Partition != p || e.Seq != last[p]+1 || e.Records != countRecords(e.Payload) {
			t.Fatalf("got %+v after sequence %d", e, last[p])
		}
		last[p] = e.Seq
	}
}

func copyDir(t testing.TB, from string) (to string) {
	t.Helper()
	to = filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

// segments lists the files of an archive that are segments.
func segments(t testing.TB, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
	if err != nil || len(files) == 0 {
		t.Fatalf("no segments: %v", err)
	}
	return files
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func writeFile(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Commits that are handed over late, twice, in another order or never are in
// the archive once, in order.
func TestCopiesWhatIsStored(t *testing.T) {
	for name, reader := range map[string]bool{"by campaign": false, "by partition": true} {
		t.Run(name, func(t *testing.T) {
			random := seeded(t)
			memory, played := memory(t, 4, 10, 60)
			j := memory
			if reader {
				j = inOrder{memory}
			}
			dir := filepath.Join(t.TempDir(), "archive")
			a, report := open(t, dir, j, quick)
			if report.Segments != 1 || report.Cut != nil || len(report.Damage) > 0 {
				t.Errorf("report: %+v", report)
			}
			var more []journal.Commit
			tables := []*table{newTable(j), newTable(j), newTable(j)}
			for range 100 {
				more = append(more, tables[random.IntN(3)].play(t, 2))
			}
			handed := slices.Concat(more, more[:20], played[:10])
			random.Shuffle(len(handed), func(i, k int) { handed[i], handed[k] = handed[k], handed[i] })
			var group sync.WaitGroup
			for part := range slices.Chunk(handed[:len(handed)-30], 10) {
				group.Go(func() {
					for _, c := range part {
						if err := a.Append(soon(t), c); err != nil {
							t.Error(err)
						}
					}
				})
			}
			group.Wait()
			mustSync(t, a)
			if h := a.Health(); h.Err != nil || h.Waiting != 0 || h.Lost != 0 {
				t.Errorf("health: %+v", h)
			}
			mustClose(t, a)
			wantAll(t, dir, 4, slices.Concat(played, more))

			a, report = open(t, dir, j, quick)
			if !report.Sound() || len(report.Problems()) > 0 {
				t.Errorf("opened again: %+v", report)
			}
			if check, err := a.Check(soon(t)); err != nil || !check.Sound() || check.Commits != 160 || len(check.Findings) > 0 {
				t.Errorf("check: %+v, %v", check, err)
			}
		})
	}
}

// inOrder is a journal that can read a partition.
type inOrder struct{ journal.Journal }

func (j inOrder) ReadPartition(ctx context.Context, p int, after uint64, each func(journal.Commit) error) error {
	commits, err := collect(ctx, j.Journal, len(j.Health(ctx).Partitions), p, after, 1<<60)
	for _, c := range commits {
		if err := each(c); err != nil {
			return err
		}
	}
	return err
}

// What other nodes store is copied though nobody hands it over, and soon.
func TestCopiesWhatOthersStore(t *testing.T) {
	j, played := memory(t, 2, 3, 5)
	dir := filepath.Join(t.TempDir(), "archive")
	a, _ := open(t, dir, j, quick)
	played = append(played, newTable(j).play(t, 1))
	end := time.Now().Add(10 * time.Second)
	for a.Position().Last[0]+a.Position().Last[1] < 6 {
		if time.Now().After(end) {
			t.Fatalf("position %+v", a.Position())
		}
		time.Sleep(time.Millisecond)
	}
	mustClose(t, a)
	wantAll(t, dir, 2, played)
}

func TestStrictIsOnDiskWhenAppendReturns(t *testing.T) {
	j, _ := memory(t, 2, 1, 1)
	dir := filepath.Join(t.TempDir(), "archive")
	a, _ := open(t, dir, j, Options{Strict: true, Delay: time.Hour})
	mustSync(t, a)
	table := newTable(j)
	for range 20 {
		c := table.play(t, 1)
		if err := a.Append(soon(t), c); err != nil {
			t.Fatal(err)
		}
		all, _ := entries(t, dir)
		if !slices.ContainsFunc(all, func(e Entry) bool { return sameCommit(e.Commit, c) }) {
			t.Fatalf("sequence %d is acknowledged and not on disk", c.Seq)
		}
	}
}

// With a delay of an hour, only the number of records brings the copy to disk.
func TestLagIsBoundedByRecords(t *testing.T) {
	j, _ := memory(t, 1, 1, 1)
	a, _ := open(t, filepath.Join(t.TempDir(), "archive"), j, Options{Records: 10, Delay: time.Hour})
	mustSync(t, a)
	table := newTable(j)
	for range 300 {
		c := table.play(t, 1)
		if err := a.Append(soon(t), c); err != nil {
			t.Fatal(err)
		}
		if at := a.Position().Last[0]; at+10 < c.Seq {
			t.Fatalf("at %d when %d is acknowledged", at, c.Seq)
		}
	}
}

func TestSegmentsRotate(t *testing.T) {
	j, played := memory(t, 3, 5, 120)
	dir := filepath.Join(t.TempDir(), "archive")
	for range 3 { // opened again and again
		a, report := open(t, dir, j, Options{Delay: 20 * time.Millisecond, Segment: 2000})
		if report.Cut != nil || len(report.Damage) > 0 {
			t.Errorf("report: %+v", report)
		}
		for range 30 {
			c := newTable(j).play(t, 1)
			played = append(played, c)
			if err := a.Append(soon(t), c); err != nil {
				t.Fatal(err)
			}
			if c.Seq%4 == 0 {
				mustSync(t, a)
			}
		}
		mustSync(t, a)
		mustClose(t, a)
	}
	if n := len(segments(t, dir)); n < 4 {
		t.Fatalf("%d segments", n)
	}
	wantAll(t, dir, 3, played)
	first := segments(t, dir)[0]
	writeFile(t, first, nil)
	if _, report := open(t, dir, j, quick); !report.Sound() {
		t.Errorf("opening has read the first segment: %+v", report)
	}
	if damage, err := Verify(soon(t), dir); err != nil || len(damage) == 0 || damage[0].Segment != filepath.Base(first) {
		t.Errorf("the first segment is empty: %v, %v", damage, err)
	}
}

// cover reports whether damage names a commit, by its campaign and number or by
// its sequence.
func cover(damage []Damage, c journal.Commit, partitions int) bool {
	_, n, _ := firstRecord(c.Payload)
	return slices.ContainsFunc(damage, func(d Damage) bool {
		named := d.Campaign == c.Campaign && d.N == n
		return named || d.Partition == journal.PartitionOf(c.Campaign, partitions) && d.From <= c.Seq && c.Seq <= d.To
	})
}

// A bit flipped anywhere is reported, with what it has damaged; what is handed
// on is as it was written; and what was written after is found again.
func TestEveryFlippedBitIsReported(t *testing.T) {
	random := seeded(t)
	const partitions = 3
	j, played := memory(t, partitions, 5, 45)
	dir := copied(t, j, Options{Delay: 20 * time.Millisecond, Segment: 1})
	files := segments(t, dir)
	if len(files) != 2 { // all at once, and an empty one
		t.Fatalf("%d segments", len(files))
	}
	good := map[string][]byte{}
	for _, f := range files {
		good[f] = readFile(t, f)
	}
	byID := map[string]journal.Commit{}
	for _, c := range played {
		byID[c.ID] = c
	}
	var total int
	for _, b := range good {
		total += len(b)
	}
	flips := 500
	if testing.Short() {
		flips = 100
	}
	for range flips {
		at := random.IntN(total)
		file := files[0]
		if at >= len(good[file]) {
			file, at = files[1], at-len(good[file])
		}
		bit := random.IntN(8)
		flip(t, file, at, bit)
		all, damage := entries(t, dir)
		if len(damage) == 0 {
			t.Fatalf("%s, byte %d: not reported", file, at)
		}
		seen := map[string]bool{}
		for _, e := range all {
			if !sameCommit(e.Commit, byID[e.ID]) {
				t.Fatalf("%s, byte %d: handed on %+v", file, at, e)
			}
			seen[e.ID] = true
		}
		for _, c := range played {
			if !seen[c.ID] && !cover(damage, c, partitions) {
				t.Fatalf("%s, byte %d: sequence %d of campaign %s is missing and not named: %v", file, at, c.Seq, c.Campaign, damage)
			}
		}
		if len(all) < len(played)-2 {
			t.Fatalf("%s, byte %d: only %d of %d commits are found again: %v", file, at, len(all), len(played), damage)
		}
		flip(t, file, at, bit)
	}
}

// A start that finds a flipped bit in the segment it reads says so, or the bit
// was in the last entry, which is cut and copied again; nothing is ever lost.
func TestOpenAfterFlip(t *testing.T) {
	random := seeded(t)
	j, played := memory(t, 2, 4, 25)
	dir := copied(t, j, quick)
	good := readFile(t, segments(t, dir)[0])
	for i := range 150 {
		at := random.IntN(len(good))
		if i%3 == 0 { // the last entry more often
			at = len(good) - 1 - random.IntN(400)
		}
		b := bytes.Clone(good)
		b[at] ^= 1 << random.IntN(8)
		dir := filepath.Join(t.TempDir(), "archive")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, segmentName(1))
		writeFile(t, path, b)
		a, report := open(t, dir, j, quick)
		if report.Cut == nil && len(report.Damage) == 0 {
			t.Fatalf("byte %d: not reported", at)
		}
		mustSync(t, a)
		check, err := a.Check(soon(t))
		if err != nil {
			t.Fatal(err)
		}
		mustClose(t, a)
		if report.Cut == nil {
			if check.Sound() || !bytes.HasPrefix(readFile(t, path), b) {
				t.Fatalf("byte %d: check finds nothing, or damage was written over: %+v", at, check)
			}
			continue
		}
		if len(report.Damage) > 0 || !check.Sound() {
			t.Fatalf("byte %d: cut %v, but %v, %+v", at, report.Cut, report.Damage, check)
		}
		wantAll(t, dir, 2, played)
		aside, _ := filepath.Glob(path + ".*.cut1")
		if len(aside) != 1 || !bytes.HasSuffix(b, readFile(t, aside[0])) {
			t.Fatalf("byte %d: what was cut is not kept: %v", at, aside)
		}
	}
}

// An archive torn at any byte opens, says what was cut, and is whole again.
func TestTornAtEveryByte(t *testing.T) {
	j, played := memory(t, 2, 2, 6)
	whole := readFile(t, segments(t, copied(t, j, quick))[0])
	boundary := func(size int) bool {
		return size > 0 && whole[size-1] == '\n' && strings.HasPrefix(string(whole[size:]), wordCommit)
	}
	base := t.TempDir()
	path := filepath.Join(base, segmentName(1))
	writeFile(t, path, whole)
	for size := len(whole) - 1; size >= 0; size-- {
		if err := os.Truncate(path, int64(size)); err != nil {
			t.Fatal(err)
		}
		all, damage := entries(t, base)
		for i, e := range all { // what is handed on is there to its last byte
			if at := int(e.Offset); i > 5 || !bytes.Contains(whole[at:size], append(bytes.Clone(e.Payload), '\n')) {
				t.Fatalf("torn at %d: %+v", size, e)
			}
		}
		if said := len(damage) > 0; said == boundary(size) {
			t.Fatalf("torn at %d: %v", size, damage)
		}
	}
	for size := 0; size < len(whole); size += 41 {
		dir := filepath.Join(base, fmt.Sprint(size))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, segmentName(1)), whole[:size])
		a, report, err := Open(soon(t), dir, j, Options{Delay: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		mustSync(t, a)
		mustClose(t, a)
		if said := report.Cut != nil || len(report.Damage) > 0; said == boundary(size) {
			t.Fatalf("torn at %d: report %+v", size, report)
		}
		wantAll(t, dir, 2, played)
	}
}

// What a power cut leaves behind the last entry is cut off and kept.
func TestGarbageAtTheEnd(t *testing.T) {
	j, played := memory(t, 2, 2, 6)
	dir := copied(t, j, quick)
	path := segments(t, dir)[0]
	good := readFile(t, path)
	garbage := make([]byte, 10_000)
	writeFile(t, path, append(bytes.Clone(good), garbage...))
	_, report := open(t, dir, j, Options{Delay: time.Hour})
	if report.Cut == nil || report.Cut.Bytes != 10_000 || !report.Sound() {
		t.Errorf("report: %+v", report)
	}
	if !bytes.Equal(readFile(t, path), good) {
		t.Errorf("the segment has %d bytes, want %d", len(readFile(t, path)), len(good))
	}
	wantAll(t, dir, 2, played)
}

// A bad sector anywhere takes whole entries away: they are named by their
// sequences, and so is a segment that is gone.
func TestBadSectorIsReported(t *testing.T) {
	const partitions = 2
	j, played := memory(t, partitions, 6, 40)
	dir := copied(t, j, quick)
	path := segments(t, dir)[0]
	good := readFile(t, path)
	check := func(what string) {
		t.Helper()
		all, damage := entries(t, dir)
		for _, c := range played {
			there := slices.ContainsFunc(all, func(e Entry) bool { return sameCommit(e.Commit, c) })
			if !there && !cover(damage, c, partitions) {
				t.Errorf("%s: sequence %d of %s is gone and not named: %v", what, c.Seq, c.Campaign, damage)
			}
		}
		if len(all) == len(played) || len(damage) == 0 {
			t.Errorf("%s: %d commits, damage %v", what, len(all), damage)
		}
	}
	last := len(good) // what no later entry of its partition follows has no sequence to be named by
	for p := range partitions {
		last = min(last, bytes.LastIndex(good, fmt.Appendf(nil, "\ncommit partition=%d ", p)))
	}
	for at := 600; at+1024 <= last; at += 512 {
		b := bytes.Clone(good)
		clear(b[at : at+1024])
		writeFile(t, path, b)
		check(fmt.Sprint("zeros at ", at))
	}

	j, played = memory(t, partitions, 6, 40)
	dir = filepath.Join(t.TempDir(), "archive")
	a, _ := open(t, dir, j, Options{Delay: 20 * time.Millisecond, Segment: 1000})
	mustSync(t, a)
	table := newTable(j)
	for range 5 {
		c := table.play(t, 4)
		played = append(played, c)
		if err := a.Append(soon(t), c); err != nil {
			t.Fatal(err)
		}
		mustSync(t, a)
	}
	mustClose(t, a)
	for _, path := range segments(t, dir)[:4] {
		if err := os.Rename(path, path+".away"); err != nil {
			t.Fatal(err)
		}
		check(path + " is gone")
		if err := os.Rename(path+".away", path); err != nil {
			t.Fatal(err)
		}
	}
}

// A process that dies while it begins a segment leaves nothing that disturbs.
func TestKilledWhileRotating(t *testing.T) {
	j, played := memory(t, 2, 2, 6)
	dir := copied(t, j, quick)
	writeFile(t, filepath.Join(dir, segmentName(2)+".new"), []byte("segment num"))
	a, report := open(t, dir, j, Options{Delay: 20 * time.Millisecond, Segment: 1})
	if !report.Sound() {
		t.Errorf("report: %+v", report)
	}
	played = append(played, newTable(j).play(t, 1))
	mustSync(t, a)
	mustClose(t, a)
	wantAll(t, dir, 2, played)
	if n := len(segments(t, dir)); n != 2 {
		t.Errorf("%d segments", n)
	}
	// The last segment is there, but not a line of it.
	writeFile(t, filepath.Join(dir, segmentName(2)), make([]byte, 100))
	a, report = open(t, dir, j, quick)
	if report.Cut == nil {
		t.Errorf("report: %+v", report)
	}
	mustSync(t, a)
	mustClose(t, a)
	wantAll(t, dir, 2, played)
}

// lossy is a journal that cannot read some commits.
type lossy struct {
	journal.Journal
	lost map[string]bool // command ids
}

func (j lossy) Read(ctx context.Context, campaign string, after uint64, each func(journal.Commit) error) error {
	return j.Journal.Read(ctx, campaign, after, func(c journal.Commit) error {
		if j.lost[c.ID] {
			return fmt.Errorf("%w: sequence %d", journal.ErrDamaged, c.Seq)
		}
		return each(c)
	})
}

// What the journal has lost before it was copied is noted, and does not keep
// other campaigns from being copied.
func TestUnreadableCommitIsNoted(t *testing.T) {
	j, played := memory(t, 1, 3, 30)
	lost := played[27]
	dir := filepath.Join(t.TempDir(), "archive")
	a, _ := open(t, dir, lossy{j, map[string]bool{lost.ID: true}}, quick)
	mustSync(t, a)
	if a.Position().Lost != 1 {
		t.Errorf("position: %+v", a.Position())
	}
	mustClose(t, a)
	all, damage := entries(t, dir)
	if len(all) != 29 || len(damage) > 0 {
		t.Errorf("%d commits, %v", len(all), damage)
	}
	_, report := open(t, dir, j, quick)
	if report.Sound() || report.Lost != 1 || len(report.Problems()) != 1 {
		t.Errorf("opened again: %+v", report)
	}
}

// prefix is a fresh journal with the first commits of another.
func prefix(t testing.TB, partitions int, commits []journal.Commit) journal.Journal {
	t.Helper()
	j := journal.NewMemory(partitions)
	t.Cleanup(func() { j.Close() })
	last := map[string]uint64{}
	for _, c := range commits {
		seq, err := j.Append(soon(t), journal.Entry{Campaign: c.Campaign, ID: c.ID, Expected: last[c.Campaign], Payload: c.Payload})
		if err != nil || seq != c.Seq {
			t.Fatal(seq, err)
		}
		last[c.Campaign] = seq
	}
	return j
}

// A stream that has lost its end is noticed; its campaigns are named; what is
// stored under the same numbers later is copied too.
func TestShorterStream(t *testing.T) {
	for _, fresh := range []int{0, 3, 30} { // commits that others have stored since
		t.Run(fmt.Sprint(fresh), func(t *testing.T) {
			whole, played := memory(t, 1, 4, 40)
			dir := copied(t, whole, quick)
			j := prefix(t, 1, played[:32])
			var later []journal.Commit
			if fresh > 0 {
				later = playOn(t, j, 1, fresh)
			}
			a, report := open(t, dir, j, quick)
			want := Shorter
			if fresh > 8 {
				want = Differs
			}
			if report.Sound() || report.Partitions[0].State != want {
				t.Errorf("report: %+v, want %s", report, want)
			}
			mustSync(t, a)
			later = append(later, newTable(j).play(t, 1))
			mustSync(t, a)
			check, err := a.Check(soon(t))
			if err != nil || check.Sound() || len(check.Findings) != 4 {
				t.Fatalf("check: %+v, %v", check, err)
			}
			for _, f := range check.Findings {
				if f.Kind != NotInJournal || f.Commits != 2 {
					t.Errorf("finding %s", f)
				}
			}
			mustClose(t, a)
			all, damage := entries(t, dir)
			if len(all) != 40+len(later) || len(damage) > 0 {
				t.Errorf("%d commits, %v", len(all), damage)
			}
			if _, report := open(t, dir, j, quick); report.Sound() || report.Lost != 8 || report.Partitions[0].State != Equal {
				t.Errorf("opened again: %+v", report)
			}
		})
	}
}

// A campaign that went on after its end was lost has two histories.
func TestForkIsFound(t *testing.T) {
	whole, played := memory(t, 1, 2, 20)
	dir := copied(t, whole, quick)
	j := prefix(t, 1, played[:16])
	forked := &table{journal: j, campaign: played[0].Campaign, last: played[14].Seq}
	_, forked.next, _ = firstRecord(played[14].Payload)
	forked.next += int64(countRecords(played[14].Payload))
	n := forked.next
	forked.play(t, countRecords(played[16].Payload))
	a, _ := open(t, dir, j, quick)
	mustSync(t, a)
	check, err := a.Check(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(check.Findings, func(f Finding) bool {
		return f.Kind == Forked && f.Campaign == forked.campaign && f.N == n
	}) {
		t.Errorf("findings: %v", check.Findings)
	}
}

func TestFullDiskHealsByItself(t *testing.T) {
	j, played := memory(t, 1, 2, 10)
	dir := filepath.Join(t.TempDir(), "archive")
	a, _ := open(t, dir, j, quick)
	mustSync(t, a)
	f := a.copier.segments.file.f
	f.Close() // every write fails
	played = append(played, newTable(j).play(t, 1))
	if err := a.Append(soon(t), played[10]); err != nil {
		t.Fatal(err)
	}
	if err := a.Sync(soon(t)); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("sync: %v", err)
	}
	if h := a.Health(); h.Err == nil {
		t.Errorf("health: %+v", h)
	}
	if err := a.Close(); err == nil {
		t.Error("closed without an error")
	}
	a, _ = open(t, dir, j, quick)
	mustSync(t, a)
	mustClose(t, a)
	wantAll(t, dir, 1, played)
}

func TestClosedArchive(t *testing.T) {
	j, _ := memory(t, 1, 1, 1)
	a, _ := open(t, filepath.Join(t.TempDir(), "archive"), j, quick)
	c := newTable(j).play(t, 1)
	mustClose(t, a)
	mustClose(t, a)
	if err := a.Append(soon(t), c); !errors.Is(err, ErrClosed) {
		t.Errorf("append: %v", err)
	}
}

func TestCampaign(t *testing.T) {
	j, played := memory(t, 2, 3, 12)
	a, _ := open(t, filepath.Join(t.TempDir(), "archive"), j, quick)
	mustSync(t, a)
	next := int64(0)
	damage, err := a.Campaign(soon(t), played[1].Campaign, func(e Entry) error {
		if e.N != next {
			t.Errorf("n %d, want %d", e.N, next)
		}
		next += int64(e.Records)
		return nil
	})
	if err != nil || len(damage) > 0 || next == 0 {
		t.Errorf("%v, %v, %d records", err, damage, next)
	}
}

func FuzzParseLine(f *testing.F) {
	l := commitLine(1, journal.Commit{Campaign: uuid.NewString(), ID: "c", Seq: 4, Payload: []byte(`{"v":1,"campaign":"x","n":7}`)})
	f.Add(bytes.TrimSuffix(l.seal(hash{}), []byte("\n")))
	s := line{word: wordSegment, number: 2, lost: 1, at: []tip{{3, "x", hash{1}}, {}, {seq: 9}}}
	f.Add(bytes.TrimSuffix(s.seal(hash{5}), []byte("\n")))
	m := line{word: wordRewound, from: 4, to: 2}
	f.Add(bytes.TrimSuffix(m.seal(hash{5}), []byte("\n")))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := parseLine(b)
		if err != nil {
			return
		}
		if again := fmt.Appendf(l.text(), "chain=%s", l.chain); !bytes.Equal(again, b) {
			t.Errorf("parsed %q, written %q", b, again)
		}
	})
}

// The scanner ends on any bytes, hands on only what proves itself, and says of
// every other byte that it is damaged.
func FuzzScan(f *testing.F) {
	j, _ := memory(f, 2, 2, 4)
	b := readFile(f, segments(f, copied(f, j, quick))[0])
	f.Add(b)
	f.Add(b[:len(b)/2])
	f.Add([]byte("commit \n\nmissing partition=0 from=1 to=2 chain=00\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var covered int64 // by lines that are whole or by damage
		s := &scanner{state: newState(), ctx: context.Background(), damage: func(d Damage) { covered += d.Bytes }}
		s.each = func(l *line, e Entry) error {
			covered += int64(len(l.whole(l.text())) + 1)
			if l.word != wordCommit {
				return nil
			}
			covered += int64(len(e.Payload) + 1)
			if hashOf(e.Payload) != l.sum {
				t.Errorf("handed on %+v", e)
			}
			return nil
		}
		if err := s.read(1, bytes.NewReader(b)); err != nil || covered != int64(len(b)) || s.offset != covered || s.good > s.offset {
			t.Errorf("%v, %d of %d bytes accounted for, offset %d, good %d", err, covered, len(b), s.offset, s.good)
		}
	})
}
