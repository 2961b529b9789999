package archive

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"tallystick/events/journal"
	"tallystick/events/merkle"
)

// house is a data folder with an embedded journal, its archive and its heads.
type house struct {
	dir string
}

func (h house) journal() string { return filepath.Join(h.dir, "journal") }
func (h house) archive() string { return filepath.Join(h.dir, "archive") }
func (h house) heads() string   { return filepath.Join(h.dir, "heads") }

func (h house) restore(t testing.TB, accept bool) (Restored, error) {
	return Restore(soon(t), RestoreOptions{
		Journal: h.journal(), Archive: h.archive(), Heads: h.heads(), Buckets: []string{"tokens"}, AcceptLoss: accept,
	})
}

func embedded(t testing.TB, dir string) journal.Journal {
	t.Helper()
	j, err := journal.Embedded(soon(t), journal.Options{Dir: dir, Partitions: 2, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

// built is a house as it was left by a clean stop and by none, and what it
// holds.
type built struct {
	clean, unclean string
	played         []journal.Commit
}

// build plays at some tables in an embedded journal.
func build(t testing.TB, tables, commits int) built {
	t.Helper()
	h := house{t.TempDir()}
	j := embedded(t, h.journal())
	a, _ := open(t, h.archive(), j, quick)
	heads := openHeads(t, j, h.heads(), quick)
	bucket, err := j.Bucket(soon(t), "tokens")
	if err == nil {
		_, err = bucket.Put(soon(t), "token.1", []byte("kept"))
	}
	if err != nil {
		t.Fatal(err)
	}
	var b built
	var all []*table
	logs := map[string]*signedLog{}
	for n := range tables {
		at := nthTable(j, n)
		all = append(all, at)
		logs[at.campaign] = newLog(t, at.campaign)
	}
	for i := range commits {
		c := all[i%tables].play(t, 1+i%3)
		b.played = append(b.played, c)
		if err := a.Append(soon(t), c); err != nil {
			t.Fatal(err)
		}
		log := logs[c.Campaign]
		log.grow(t, strings.Split(string(c.Payload), "\n")...)
		if err := log.put(t, heads); err != nil {
			t.Fatal(err)
		}
	}
	mustSync(t, a)
	flush(t, heads)
	b.unclean = copyDir(t, h.dir) // what a kill leaves
	mustClose(t, a)
	mustClose(t, heads)
	mustClose(t, j)
	b.clean = h.dir
	return b
}

// blocks lists the message files of the ledger.
func blocks(t testing.TB, h house) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(h.journal(), "store", "jetstream", "*", "streams", "LEDGER_*", "msgs", "*.blk"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no message files: %v", err)
	}
	return files
}

func flip(t testing.TB, path string, at int, bit int) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 1)
	_, err = f.ReadAt(b, int64(at))
	if b[0] ^= 1 << bit; err == nil {
		_, err = f.WriteAt(b, int64(at))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// forget takes away what the journal remembers of its last clean stop: after a
// kill it would not know that a stream is shorter, and would write it.
func forget(t testing.TB, h house) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(h.journal(), "*", "LAST"))
	for _, f := range files {
		err = errors.Join(err, os.Remove(f))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// unreadable lists the commits that a journal cannot give back.
func unreadable(t testing.TB, j journal.Journal, played []journal.Commit) map[string]bool {
	t.Helper()
	lost := map[string]bool{}
	enough := errors.New("enough")
	for _, c := range played {
		found := false
		err := j.Read(soon(t), c.Campaign, c.Seq-1, func(got journal.Commit) error {
			found = sameCommit(got, c)
			return enough
		})
		if err != nil && !errors.Is(err, enough) && !errors.Is(err, journal.ErrDamaged) {
			t.Fatal(err)
		}
		if !found {
			lost[c.ID] = true
		}
	}
	return lost
}

// wantHealed checks that a house is whole and holds exactly these commits.
func wantHealed(t testing.TB, h house, played []journal.Commit, renumbered bool) {
	t.Helper()
	j := embedded(t, h.journal())
	defer j.Close()
	byCampaign := map[string][]journal.Commit{}
	for _, c := range played {
		byCampaign[c.Campaign] = append(byCampaign[c.Campaign], c)
	}
	campaigns, err := j.Campaigns(soon(t), "", 0)
	if want := slices.Sorted(maps.Keys(byCampaign)); err != nil || !slices.Equal(campaigns, want) {
		t.Fatalf("campaigns %v, %v, want %v", campaigns, err, want)
	}
	for campaign, want := range byCampaign {
		var got []journal.Commit
		if err := j.Read(soon(t), campaign, 0, func(c journal.Commit) error { got = append(got, c); return nil }); err != nil {
			t.Fatal(err)
		}
		same := slices.EqualFunc(got, want, func(a, b journal.Commit) bool {
			if renumbered {
				a.Seq = b.Seq
			}
			return sameCommit(a, b)
		})
		if !same {
			t.Fatalf("campaign %s has %d commits, want the same %d", campaign, len(got), len(want))
		}
	}
	bucket, err := j.Bucket(soon(t), "tokens")
	if err != nil {
		t.Fatal(err)
	}
	if value, _, err := bucket.Get(soon(t), "token.1"); err != nil || string(value) != "kept" {
		t.Errorf("tokens: %q, %v", value, err)
	}
	a, report := open(t, h.archive(), j, quick)
	if !report.Sound() {
		t.Errorf("report: %+v", report)
	}
	if check, err := a.Check(soon(t)); err != nil || !check.Sound() || check.Commits != uint64(len(played)) {
		t.Errorf("check: %+v, %v", check, err)
	}
	mustClose(t, a)
}

// A bit flipped in the journal's own files is either harmless, or the check
// names exactly what cannot be read any more and restore puts it back.
func TestFlippedJournalIsHealed(t *testing.T) {
	random := seeded(t)
	b := build(t, 5, 60)
	rounds := 8
	if testing.Short() {
		rounds = 2
	}
	harmful := 0
	for i := range rounds {
		h := house{copyDir(t, []string{b.clean, b.unclean}[i%2])}
		files := blocks(t, h)
		file := files[random.IntN(len(files))]
		block := readFile(t, file)
		flip(t, file, random.IntN(len(block)), random.IntN(8))

		j, err := journal.Embedded(soon(t), journal.Options{Dir: h.journal(), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			wantRunawayHealed(t, h, b.played, file, err)
			continue
		}
		lost := unreadable(t, j, b.played)
		a, report := open(t, h.archive(), j, quick)
		check, err := a.Check(soon(t))
		if err != nil {
			t.Fatal(err)
		}
		named := 0
		for _, f := range check.Findings {
			if f.Kind == NotInJournal {
				named += f.Commits
			}
		}
		if named != len(lost) || check.Sound() != (len(lost) == 0) {
			t.Errorf("%s: %d cannot be read, but check: %+v, at the start %+v", file, len(lost), check, report)
		}
		mustSync(t, a)
		mustClose(t, a)
		mustClose(t, j)

		restored, err := h.restore(t, false)
		if err != nil || restored.Healed != len(lost) || restored.Commits != len(b.played) || len(restored.Kept) != 2 || restored.Renumbered {
			t.Fatalf("restored %+v, %v", restored, err)
		}
		wantHealed(t, h, b.played, false)
		if len(lost) > 0 {
			harmful++
		}
	}
	if harmful == 0 {
		t.Error("control: no flip has harmed anything")
	}
}

// wantRunawayHealed checks that a start was refused for a block that the server
// would not come to an end with, and that restore makes it whole.
func wantRunawayHealed(t testing.TB, h house, played []journal.Commit, file string, err error) {
	t.Helper()
	var bad *journal.BlockError
	if !errors.As(err, &bad) || bad.File != file {
		t.Fatalf("%s: the start: %v", file, err)
	}
	if !slices.ContainsFunc(played, func(c journal.Commit) bool { return c.Campaign == bad.Campaign }) {
		t.Errorf("%s: no campaign is named: %v", file, err)
	}
	if restored, err := h.restore(t, false); err != nil || restored.Commits != len(played) || restored.Renumbered {
		t.Fatalf("%s: restored %+v, %v", file, restored, err)
	}
	wantHealed(t, h, played, false)
}

// From a sequence with a flipped high bit the server would count for ever. The
// start says so; restore comes to its end, and nothing is lost.
func TestRunawaySequenceIsHealed(t *testing.T) {
	b := build(t, 3, 20)
	for _, from := range []string{b.clean, b.unclean} {
		for _, bit := range []int{0, 5} {
			h := house{copyDir(t, from)}
			file := blocks(t, h)[0]
			block := readFile(t, file)
			second := int(binary.LittleEndian.Uint32([]byte(block[:4])) &^ (1 << 31)) // where the first record ends
			flip(t, file, second+4+7, bit)
			_, err := journal.Embedded(soon(t), journal.Options{Dir: h.journal()})
			wantRunawayHealed(t, h, b.played, file, err)
		}
	}
}

// A journal that is gone is built from the archive; one whose end is gone and
// whose numbers were used anew keeps what was stored since.
func TestRestoreOfMoreThanABit(t *testing.T) {
	b := build(t, 3, 24)

	t.Run("no journal", func(t *testing.T) {
		h := house{copyDir(t, b.clean)}
		for _, stream := range []string{"LEDGER_0", "LEDGER_1", "KV_" + HeadsBucket} {
			if err := os.RemoveAll(filepath.Join(h.journal(), "store", "jetstream", "$G", "streams", stream)); err != nil {
				t.Fatal(err)
			}
		}
		if restored, err := h.restore(t, false); err != nil || restored.Healed != len(b.played) {
			t.Fatalf("restored %+v, %v", restored, err)
		}
		wantHealed(t, h, b.played, false)
	})

	t.Run("numbers used anew", func(t *testing.T) {
		h := house{copyDir(t, b.clean)}
		for _, p := range []int{0, 1} {
			if err := os.RemoveAll(filepath.Join(h.journal(), "store", "jetstream", "$G", "streams", fmt.Sprint("LEDGER_", p))); err != nil {
				t.Fatal(err)
			}
		}
		forget(t, h)
		j := embedded(t, h.journal())
		fresh := playOn(t, j, 3, 30)
		a, report := open(t, h.archive(), j, quick)
		if report.Sound() {
			t.Errorf("report: %+v", report)
		}
		mustSync(t, a)
		mustClose(t, a)
		mustClose(t, j)
		restored, err := h.restore(t, false)
		if err != nil || restored.Healed != len(b.played) || !restored.Renumbered {
			t.Fatalf("restored %+v, %v", restored, err)
		}
		wantHealed(t, h, slices.Concat(b.played, fresh), true)
	})

	t.Run("a campaign with two histories", func(t *testing.T) {
		h := house{copyDir(t, b.clean)}
		if err := os.RemoveAll(filepath.Join(h.journal(), "store", "jetstream", "$G", "streams")); err != nil {
			t.Fatal(err)
		}
		forget(t, h)
		j := embedded(t, h.journal())
		forked := &table{journal: j, campaign: b.played[0].Campaign}
		forked.play(t, 1)
		mustClose(t, j)
		restored, err := h.restore(t, false)
		if !errors.Is(err, ErrRefused) || len(restored.Losses) == 0 || restored.Losses[0].Campaign != forked.campaign {
			t.Fatalf("restored %+v, %v", restored, err)
		}
		if left, _ := filepath.Glob(filepath.Join(h.dir, "*"+damagedSuffix+"*")); len(left) > 0 {
			t.Errorf("refused, but %v", left)
		}
		restored, err = h.restore(t, true)
		if err != nil {
			t.Fatal(err)
		}
		kinds := map[Kind]bool{}
		for _, f := range restored.Losses {
			kinds[f.Kind] = true
			if f.Campaign != forked.campaign {
				t.Errorf("loss %s", f)
			}
		}
		if !kinds[Forked] || !kinds[Short] {
			t.Errorf("losses %v", restored.Losses)
		}
	})

	t.Run("less than was signed", func(t *testing.T) {
		h := house{copyDir(t, b.clean)}
		if err := os.RemoveAll(filepath.Join(h.journal(), "store", "jetstream", "$G", "streams")); err != nil {
			t.Fatal(err)
		}
		path := segments(t, h.archive())[0]
		all, _ := entries(t, h.archive())
		last := all[len(all)-1]
		whole := string(readFile(t, path))
		writeFile(t, path, []byte(whole[:strings.LastIndex(whole, wordCommit+" ")]))
		restored, err := h.restore(t, false)
		want := Finding{Kind: Short, Campaign: last.Campaign, Partition: last.Partition, N: last.N, Records: int64(last.Records)}
		if !errors.Is(err, ErrRefused) || len(restored.Losses) != 1 || restored.Losses[0] != want {
			t.Fatalf("restored %+v, %v", restored, err)
		}
	})

	t.Run("another history than was signed", func(t *testing.T) {
		h := house{copyDir(t, b.clean)}
		j := journal.NewMemory(2)
		defer j.Close()
		other := newTable(j)
		other.campaign = b.played[0].Campaign
		var size int
		for _, c := range b.played {
			if c.Campaign == other.campaign {
				size += countRecords(c.Payload)
			}
		}
		for range size {
			other.play(t, 1)
		}
		for _, dir := range []string{h.archive(), filepath.Join(h.journal(), "store", "jetstream", "$G", "streams")} {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
		a, _ := open(t, h.archive(), j, quick)
		mustSync(t, a)
		mustClose(t, a)
		restored, err := h.restore(t, false)
		if !errors.Is(err, ErrRefused) || !slices.ContainsFunc(restored.Losses, func(f Finding) bool { return f.Campaign == other.campaign || f.Kind == Short }) {
			t.Fatalf("restored %+v, %v", restored, err)
		}
		restored, err = h.restore(t, true)
		if err != nil || !slices.ContainsFunc(restored.Losses, func(f Finding) bool { return f.Campaign == other.campaign && f.Kind == OtherRoot }) {
			t.Fatalf("restored %+v, %v", restored, err)
		}
	})
}

// Damage in the archive itself is healed from the journal.
func TestDamagedArchiveIsHealed(t *testing.T) {
	random := seeded(t)
	b := build(t, 3, 30)
	h := house{copyDir(t, b.clean)}
	path := segments(t, h.archive())[0]
	size := len(readFile(t, path))
	for range 3 {
		flip(t, path, random.IntN(size), random.IntN(8))
	}
	restored, err := h.restore(t, false)
	if err != nil || restored.Healed != 0 || len(restored.Found.Damage) == 0 || restored.Renumbered {
		t.Fatalf("restored %+v, %v", restored, err)
	}
	wantHealed(t, h, b.played, false)
}

// Of a line after damage only the payload proves itself: what else it says is taken from
// the journal, which has the commit, too.
func TestLineAfterDamageIsNotTrusted(t *testing.T) {
	b := build(t, 3, 30)
	for _, c := range []struct {
		field string
		bit   int
	}{{"command=", 7}, {"command=", 0}, {"seq=", 0}, {"campaign=", 0}, {" n=", 0}, {"records=", 0}, {"chain=", 0}} {
		t.Run(fmt.Sprintf("%s bit %d", strings.TrimSpace(c.field), c.bit), func(t *testing.T) {
			h := house{copyDir(t, b.clean)}
			path := segments(t, h.archive())[0]
			text := readFile(t, path)
			var lines []int // where commits begin
			for at := 0; at < len(text); at++ {
				if bytes.HasPrefix(text[at:], []byte("\ncommit ")) {
					lines = append(lines, at+1)
				}
			}
			for k, field := range []string{"command=", c.field} {
				line := lines[11+k]
				flip(t, path, line+bytes.Index(text[line:], []byte(field))+len(field), c.bit*k)
			}
			restored, err := h.restore(t, false)
			if err != nil || len(restored.Found.Damage) == 0 {
				t.Fatalf("restored %+v, %v", restored, err)
			}
			wantHealed(t, h, b.played, false)
		})
	}
}

func TestRestoreRefusesWhatIsServed(t *testing.T) {
	b := build(t, 1, 2)
	h := house{b.clean}
	j := embedded(t, h.journal())
	if _, err := h.restore(t, false); !errors.Is(err, journal.ErrInUse) {
		t.Errorf("got error %v", err)
	}
	mustClose(t, j)
	if _, err := Restore(soon(t), RestoreOptions{Journal: h.journal(), Archive: h.dir + "/none"}); !errors.Is(err, ErrInvalid) {
		t.Errorf("got error %v", err)
	}
}

// A swap that is killed between any two of its steps is completed by the next
// start; before it begins, everything is as it was.
func TestKilledWhileSwapping(t *testing.T) {
	tree := func(t *testing.T, dir string) string {
		var all []string
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				all = append(all, strings.TrimPrefix(path, dir)+"="+string(readFile(t, path)))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(all, " ")
	}
	want := "/archive/a=new archive /archive-damaged-1/a=old archive /journal/j=new journal /journal-damaged-1/j=old journal"
	steps := [][2]string{
		{"journal", "journal-damaged-1"}, {"journal-restored", "journal"},
		{"archive", "archive-damaged-1"}, {"archive-restored", "archive"},
	}
	for killed := 0; killed <= len(steps); killed++ {
		h := house{t.TempDir()}
		for name, text := range map[string]string{
			"journal/j": "old journal", "journal-restored/j": "new journal", "archive/a": "old archive", "archive-restored/a": "new archive",
		} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(h.dir, name)), 0o700); err != nil {
				t.Fatal(err)
			}
			writeFile(t, filepath.Join(h.dir, name), []byte(text))
		}
		before := tree(t, h.dir)
		if finished, err := FinishRestore(h.journal(), h.archive()); finished || err != nil || tree(t, h.dir) != before {
			t.Errorf("without a plan: %v, %v", finished, err)
		}
		writeFile(t, h.journal()+swapSuffix, []byte("1\n"))
		for _, step := range steps[:killed] {
			if err := os.Rename(filepath.Join(h.dir, step[0]), filepath.Join(h.dir, step[1])); err != nil {
				t.Fatal(err)
			}
		}
		if finished, err := FinishRestore(h.journal(), h.archive()); !finished || err != nil {
			t.Errorf("killed after step %d: %v, %v", killed, finished, err)
		}
		if got := tree(t, h.dir); got != want {
			t.Errorf("killed after step %d: %s", killed, got)
		}
	}
}

// A restore that is stopped while it builds leaves the damaged folders as they
// are, and the next one begins anew.
func TestRestoreIsStopped(t *testing.T) {
	b := build(t, 2, 12)
	h := house{b.clean}
	for _, stopAt := range []int{1, 7, 12} {
		ctx, cancel := context.WithCancel(soon(t))
		_, err := Restore(ctx, RestoreOptions{
			Journal: h.journal(), Archive: h.archive(), Heads: h.heads(), Buckets: []string{"tokens"},
			Progress: func(done, all int, _ string) {
				if done == stopAt {
					cancel()
				}
			},
		})
		cancel()
		if err == nil {
			t.Errorf("stopped at %d: no error", stopAt)
		}
		if there, _ := exists(fmt.Sprint(h.journal(), damagedSuffix, 1)); there {
			t.Errorf("stopped at %d: swapped", stopAt)
		}
	}
	if _, err := h.restore(t, false); err != nil {
		t.Fatal(err)
	}
	wantHealed(t, h, b.played, false)
}

// The root of a restored campaign is the one that was signed.
func TestRestoredRoot(t *testing.T) {
	b := build(t, 1, 5)
	h := house{b.clean}
	if _, err := h.restore(t, false); err != nil {
		t.Fatal(err)
	}
	j := embedded(t, h.journal())
	defer j.Close()
	var tree merkle.Frontier
	campaign := b.played[0].Campaign
	err := j.Read(soon(t), campaign, 0, func(c journal.Commit) error {
		for line := range strings.SplitSeq(string(c.Payload), "\n") {
			tree.Append([]byte(line))
		}
		return nil
	})
	heads := openHeads(t, j, h.heads(), quick)
	kept := get(t, heads, campaign)
	if err != nil || kept.Root != tree.Root() || kept.Disagree() != "" {
		t.Errorf("%v, kept %+v, root %v", err, kept, tree.Root())
	}
	mustClose(t, heads)
	if uuid.Validate(campaign) != nil {
		t.Errorf("campaign %s", campaign)
	}
}
