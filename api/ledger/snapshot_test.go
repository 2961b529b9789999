package ledger_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tallystick/api/ledger"
	"tallystick/events"
	"tallystick/events/journal"
	"tallystick/replay"
	"tallystick/rules"
)

// counted is a journal that counts the records that were read from it.
type counted struct {
	journal.Journal
	records int
}

func (c *counted) Read(ctx context.Context, campaign string, after uint64, each func(journal.Commit) error) error {
	return c.Journal.Read(ctx, campaign, after, func(commit journal.Commit) error {
		c.records += len(events.SplitCommit(commit.Payload))
		return each(commit)
	})
}

// snapshotted opens a ledger that keeps snapshots and asks it for the checkpoint
// over all records, which it reads as many of as it says.
func snapshotted(t *testing.T, j journal.Journal, program string) (s *shell, checkpoint string, read int) {
	t.Helper()
	shelf, err := ledger.OpenSnapshots(t.Context(), j, keys, program)
	if err != nil {
		t.Fatal(err)
	}
	c := &counted{Journal: j}
	l, err := ledger.New(t.Context(), ledger.Config{Journal: c, Library: embers, Keys: keys, Server: "test.example", Snapshots: shelf})
	if err != nil {
		t.Fatal(err)
	}
	text, err := l.Checkpoint(t.Context(), campaign, 0)
	if err != nil {
		t.Fatal(err)
	}
	return &shell{TB: t, Ledger: l, journal: j}, string(text), c.records
}

// played is a campaign of at least so many records, and a command it knows.
func played(t *testing.T, j journal.Journal, records int64) (s *shell, known rules.Command) {
	s, fire := table(t, j)
	known = command("gm", "roll", `{"expression":"2d6","purpose":"luck"}`)
	if _, err := s.do(known); err != nil {
		t.Fatal(err)
	}
	for size := int64(0); size < records; {
		size = s.must("gm", "roll", fmt.Sprintf(`{"expression":"2d6","character":%q}`, fire)).Last + 1
	}
	return s, known
}

// A campaign that is opened from a snapshot and what came after it is the one that
// is read from its first record: same root, same answers, same dice.
func TestSnapshotAndTail(t *testing.T) {
	j := journal.NewMemory(1)
	s, known := played(t, j, 600)
	first, checkpoint, read := snapshotted(t, j, "a")
	if read < 600 {
		t.Fatalf("%d records were read, and there was no snapshot yet", read)
	}
	first.Close() // the snapshot is kept by now
	for range 10 {
		s.must("gm", "roll", `{"expression":"1d20"}`)
	}
	whole, err := s.Checkpoint(t.Context(), campaign, 0)
	if err != nil {
		t.Fatal(err)
	}
	second, again, read := snapshotted(t, j, "a")
	if again != string(whole) || again == checkpoint {
		t.Errorf("the checkpoint is\n%s, want\n%s", again, whole)
	}
	if read > 20 { // the last commit of the snapshot, and the tail
		t.Errorf("%d records were read beside the snapshot", read)
	}
	a, err := second.do(known)
	if err != nil || !a.Repeated {
		t.Errorf("a command that was executed before the snapshot: %+v, %v", a, err)
	}
	other := known
	other.Data = []byte(`{"expression":"3d6"}`)
	if _, err := second.do(other); err != ledger.ErrReused {
		t.Errorf("another command with its id: %v", err)
	}
	// The next dice are those that the next link of the chain gives.
	next := command("gm", "roll", `{"expression":"5d100"}`)
	if _, err := second.do(next); err != nil {
		t.Fatal(err)
	}
	replayed := open(t, j)
	if _, err := replayed.do(next); err != nil {
		t.Error(err)
	}
	replayer := replay.New(embers)
	if err := j.Read(t.Context(), campaign, 0, func(c journal.Commit) error { return replayer.Commit(c.Payload) }); err != nil {
		t.Error(err)
	}
}

// A campaign that was played and never opened cold has its snapshot all the same,
// and not so much after it that it matters: 1,000 records are never read again.
func TestSnapshotOfWhatIsPlayed(t *testing.T) {
	j := journal.NewMemory(1)
	shelf, err := ledger.OpenSnapshots(t.Context(), j, keys, "a")
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.New(t.Context(), ledger.Config{Journal: j, Library: embers, Keys: keys, Server: "test.example", Snapshots: shelf})
	if err != nil {
		t.Fatal(err)
	}
	s, size := &shell{TB: t, Ledger: l, journal: j}, int64(0)
	if _, err := s.Create(t.Context(), campaign, rules.CampaignCreate{Name: "Played", System: "ember", GM: "gm"}); err != nil {
		t.Fatal(err)
	}
	s.must("gm", "session.open", `{"title":"one","kind":"table"}`)
	for size < 999 {
		size = s.must("gm", "roll", `{"expression":"2d6"}`).Last + 1
	}
	want, err := s.Checkpoint(t.Context(), campaign, 0)
	if err != nil {
		t.Fatal(err)
	}
	l.Close() // what is kept in the background is kept by now
	if _, got, read := snapshotted(t, j, "a"); got != string(want) || read > 250 {
		t.Errorf("%d of %d records were read again, and the checkpoint is\n%s, want\n%s", read, size, got, want)
	}
}

// Whatever happens to the bucket costs time and nothing else.
func TestSnapshotsAreNotBelieved(t *testing.T) {
	j := journal.NewMemory(1)
	s, _ := played(t, j, 600)
	want, err := s.Checkpoint(t.Context(), campaign, 0)
	if err != nil {
		t.Fatal(err)
	}
	bucket, err := j.Bucket(t.Context(), ledger.SnapshotBucket)
	if err != nil {
		t.Fatal(err)
	}
	good := func() (key string, value []byte) {
		keeper, _, _ := snapshotted(t, j, "a")
		keeper.Close()
		names, err := bucket.Keys(t.Context())
		if err != nil || len(names) != 1 {
			t.Fatalf("%v, %v", names, err)
		}
		value, _, err = bucket.Get(t.Context(), names[0])
		if err != nil {
			t.Fatal(err)
		}
		return names[0], value
	}
	key, value := good()
	put := func(value []byte) {
		if _, err := bucket.Put(t.Context(), key, value); err != nil {
			t.Fatal(err)
		}
	}
	at := bytes.Index(value, []byte(`"Clock":`)) + len(`"Clock":`)
	for name, spoil := range map[string]func(){
		"deleted":               func() { _ = bucket.Delete(t.Context(), key) },
		"empty":                 func() { put(nil) },
		"cut short":             func() { put(value[:len(value)/2]) },
		"a byte more":           func() { put(append(bytes.Clone(value), ' ')) },
		"another game time":     func() { put(bytes.Replace(value, value[at:at+1], []byte{value[at] ^ 1}, 1)) },
		"a flipped bit, first":  func() { put(flipped(value, 0)) },
		"a flipped bit, middle": func() { put(flipped(value, len(value)/2)) },
		"a flipped bit, last":   func() { put(flipped(value, len(value)-1)) },
	} {
		spoil()
		opened, got, read := snapshotted(t, j, "a")
		opened.Close()
		if got != string(want) || read < 600 {
			t.Errorf("%s: %d records were read, and the checkpoint is\n%s", name, read, got)
		}
		put(value)
		if _, got, read = snapshotted(t, j, "a"); got != string(want) || read > 20 {
			t.Errorf("%s, and put right again: %d records were read, and the checkpoint is\n%s", name, read, got)
		}
	}
	if _, _, read := snapshotted(t, j, "another program"); read < 600 {
		t.Errorf("a snapshot of another program was used: %d records were read", read)
	}
}

func flipped(value []byte, i int) []byte {
	value = bytes.Clone(value)
	value[i] ^= 1
	return value
}

// A snapshot does not stand in for a ledger that is shorter, or another one.
func TestSnapshotOfAnotherLedger(t *testing.T) {
	j := journal.NewMemory(1)
	played(t, j, 600)
	keeper, _, _ := snapshotted(t, j, "a")
	keeper.Close()
	from, err := j.Bucket(t.Context(), ledger.SnapshotBucket)
	if err != nil {
		t.Fatal(err)
	}
	names, err := from.Keys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, records := range map[string]int64{"shorter": 20, "another": 900} {
		other := journal.NewMemory(1)
		o, _ := played(t, other, records)
		to, err := other.Bucket(t.Context(), ledger.SnapshotBucket)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			value, _, err := from.Get(t.Context(), n)
			if err == nil {
				_, err = to.Put(t.Context(), n, value)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		want, err := o.Checkpoint(t.Context(), campaign, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, got, _ := snapshotted(t, other, "a"); got != string(want) {
			t.Errorf("%s: %s", name, cmp.Diff(string(want), got))
		}
	}
}
