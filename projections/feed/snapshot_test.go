package feed

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"tallystick/events"
	"tallystick/events/journal"
	"tallystick/projections"
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

// opened is what the views of campaign 1 are when a new hub with snapshots opens
// it, and how many records it read for that. The hub is closed again.
func opened(t *testing.T, j journal.Journal) (views string, read int) {
	t.Helper()
	bucket, err := j.Bucket(t.Context(), "SNAPSHOTS")
	if err != nil {
		t.Fatal(err)
	}
	c := &counted{Journal: j}
	h := NewHub(c, Snapshots(journal.NewShelf(bucket, []byte("key"), "program")))
	if err := h.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	views = everything(t, h)
	h.background.Wait() // a snapshot that is worth it is kept
	h.Close()
	return views, c.records
}

// everything is what a hub's views of campaign 1 show, and records by their n.
func everything(t *testing.T, h *Hub) (all string) {
	t.Helper()
	err := h.View(t.Context(), id(1), -1, func(v *projections.Views) error {
		written, err := v.Save()
		all = string(written)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []int64{0, 1, 300, 599} {
		err := h.Records(t.Context(), id(1), from, 3, func(_ events.Record, line []byte) error {
			all += "\n" + string(line)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// readOnly is a bucket into which nothing is put.
type readOnly struct{ journal.Bucket }

func (readOnly) Put(context.Context, string, []byte) (uint64, error) {
	return 0, errors.New("nothing is put here")
}

// Views that are looked at while a campaign is played have their snapshot when the
// hub ends, or is killed: not all is read again.
func TestSnapshotOfWhatIsPlayed(t *testing.T) {
	j := journal.NewMemory(1)
	bucket, err := j.Bucket(t.Context(), "SNAPSHOTS")
	if err != nil {
		t.Fatal(err)
	}
	w := newWriter(t, j, 1)
	w.write(1)
	h := NewHub(j, Snapshots(journal.NewShelf(bucket, []byte("key"), "program")))
	if err := h.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	view(t, h, id(1), w.ledger.N-1)
	w.write(700)
	want := view(t, h, id(1), w.ledger.N-1)
	reopen := func() (got string, read int) {
		c := &counted{Journal: j}
		h := NewHub(c, Snapshots(journal.NewShelf(readOnly{bucket}, []byte("key"), "program")))
		if err := h.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		return view(t, h, id(1), w.ledger.N-1), c.records
	}
	// As after a kill: the snapshot is written in the background.
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		got, read := reopen()
		if got != want {
			t.Fatalf("of one that is still open the views are\n%s\nand not\n%s", got, want)
		}
		if read <= 300 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d records are read again", read, w.ledger.N)
		}
	}
	h.Close()
	if got, read := reopen(); got != want || read > 300 {
		t.Errorf("%d of %d records were read again, and the views are\n%s\nand not\n%s", read, w.ledger.N, got, want)
	}
}

// Views from a snapshot and what came after it are those from the first record on;
// whatever happens to the snapshot costs time and nothing else.
func TestSnapshots(t *testing.T) {
	j := journal.NewMemory(1)
	w := newWriter(t, j, 1)
	w.write(700)
	if _, read := opened(t, j); read < 700 {
		t.Fatalf("%d records were read, and there was no snapshot yet", read)
	}
	w.write(720)
	want := everything(t, started(t, j))
	const much = 700
	// What Records reads is read in either case.
	spared := func(name string, whether bool) {
		t.Helper()
		got, read := opened(t, j)
		if got != want {
			t.Errorf("%s: the views are\n%s\nand not\n%s", name, got, want)
		}
		if (read < much) != whether {
			t.Errorf("%s: %d records were read", name, read)
		}
	}
	spared("snapshot and tail", true)

	bucket, err := j.Bucket(t.Context(), "SNAPSHOTS")
	if err != nil {
		t.Fatal(err)
	}
	key := "views/" + id(1) + "/0"
	value, _, err := bucket.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	put := func(value []byte) {
		if _, err := bucket.Put(t.Context(), key, value); err != nil {
			t.Fatal(err)
		}
	}
	for name, spoilt := range map[string][]byte{
		"cut short": value[:len(value)-1], "empty": nil, "longer": append(bytes.Clone(value), '}'),
		"a flipped bit, first": flipped(value, 0), "a flipped bit, middle": flipped(value, len(value)/2), "a flipped bit, last": flipped(value, len(value)-1),
	} {
		put(spoilt)
		spared(name, false)
		put(value)
		spared(name+", and put right", true)
	}
	if err := bucket.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	spared("deleted", false)

	// A journal that does not hold what the snapshot ends with is read itself.
	other := journal.NewMemory(1)
	o := newWriter(t, other, 1)
	o.choose = func(n int) int { return n - 1 }
	o.write(20)
	to, err := other.Bucket(t.Context(), "SNAPSHOTS")
	if err == nil {
		_, err = to.Put(t.Context(), key, value)
	}
	if err != nil {
		t.Fatal(err)
	}
	var position int64
	h := NewHub(other, Snapshots(journal.NewShelf(to, []byte("key"), "program")))
	if err := h.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if err := h.View(t.Context(), id(1), -1, func(v *projections.Views) error { position = v.Position(); return nil }); err != nil || position != o.ledger.N {
		t.Errorf("the views of a shorter journal are at %d of %d, %v", position, o.ledger.N, err)
	}
}

func flipped(value []byte, i int) []byte {
	value = bytes.Clone(value)
	value[i] ^= 1
	return value
}
