package journal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// slowly is a barrier whose sync takes a second, and counts.
func slowly() (*barrier, *atomic.Int64) {
	var syncs atomic.Int64
	return &barrier{sync: func() error {
		time.Sleep(time.Second)
		syncs.Add(1)
		return nil
	}}, &syncs
}

// One sync serves all who came before it began, and nobody who came later.
func TestBarrierIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, syncs := slowly()
		begun := time.Now()
		took := make(chan time.Duration, 101)
		come := func() {
			if err := b.pass(t.Context()); err != nil {
				t.Error(err)
			}
			took <- time.Since(begun)
		}
		go come() // alone: at once
		time.Sleep(time.Millisecond)
		for range 100 { // too late for the first
			go come()
		}
		if first := <-took; first != time.Second {
			t.Errorf("a lone one waited %v", first)
		}
		for range 100 {
			if later := <-took; later != 2*time.Second {
				t.Errorf("one of those who came during a sync was through after %v, want the end of the next", later)
			}
		}
		if n := syncs.Load(); n != 2 {
			t.Errorf("%d syncs for 101, want 2", n)
		}
	})
}

// Who gives up while a sync is under way leaves the others through.
func TestBarrierGivingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := slowly()
		go b.pass(t.Context())
		time.Sleep(time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := b.pass(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if err := b.pass(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A sync that failed has failed for all who wait, and for good: the system may have
// dropped what it could not write, and says so once.
func TestBarrierBreaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := errors.New("input/output error")
		syncs := 0
		b := &barrier{sync: func() error {
			time.Sleep(time.Second)
			if syncs++; syncs == 2 {
				return disk
			}
			return nil
		}}
		if err := b.pass(t.Context()); err != nil {
			t.Fatal(err)
		}
		answers := make(chan error, 10)
		for range cap(answers) {
			go func() { answers <- b.pass(t.Context()) }()
		}
		for range cap(answers) {
			if err := <-answers; !errors.Is(err, disk) {
				t.Errorf("got %v", err)
			}
		}
		if err := b.pass(t.Context()); !errors.Is(err, disk) || syncs != 2 {
			t.Errorf("afterwards: got %v after %d syncs", err, syncs)
		}
	})
}

// The newest block is followed from number to number, over several at once, and
// each is synced when the next one has begun.
func TestGrowingFollowsTheBlocks(t *testing.T) {
	dir := t.TempDir()
	var synced []string
	g := &growing{dir: dir, fsync: func(f *os.File) error {
		synced = append(synced, filepath.Base(f.Name()))
		return f.Sync()
	}}
	t.Cleanup(func() { g.close() })
	for _, step := range []struct{ blocks, synced []string }{
		{nil, nil},
		{[]string{"9.blk", "10.blk"}, nil}, // at first all is synced, by its folder
		{nil, []string{"10.blk"}},
		{[]string{"11.blk"}, []string{"10.blk", "11.blk"}},
		{[]string{"12.blk", "13.blk", "14.blk"}, []string{"11.blk", "12.blk", "13.blk", "14.blk"}},
		{nil, []string{"14.blk"}},
	} {
		for _, name := range step.blocks {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		synced = nil
		if err := g.sync(); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(synced, step.synced) {
			t.Errorf("after blocks %v: synced %v, want %v", step.blocks, synced, step.synced)
		}
	}
	g.newest.Close()
	if err := g.sync(); err == nil {
		t.Error("a sync that failed is no error")
	}
}

// What one process wrote and did not live to sync is synced before the next one
// gives it out: its first pass covers the whole stream.
func TestNothingIsReadBeforeTheBarrier(t *testing.T) {
	dir := t.TempDir()
	j, close := openEmbedded(t, Options{Dir: dir, Partitions: 1, Unsafe: true})
	campaign := fill(t, j, 5, 10)
	close()
	j, _ = openEmbedded(t, Options{Dir: dir})
	w := j.writers[0]
	if w.durable.Load() != 0 || w.barrier.through != 0 {
		t.Fatalf("durable up to %d before anything was asked", w.durable.Load())
	}
	if got := readAll(t, j, campaign); len(got) != 5 || w.durable.Load() < got[4].Seq {
		t.Errorf("%d commits were given out, durable up to %d", len(got), w.durable.Load())
	}
	w.barrier.broken = errors.New("input/output error")
	seq, err := j.Append(soon(t), Entry{Campaign: campaign, ID: "late", Expected: 5, Payload: []byte("x")})
	var unclear *UnclearError
	if !errors.As(err, &unclear) {
		t.Errorf("append with a broken disk: got %d, %v", seq, err)
	}
	if _, err := j.Append(soon(t), Entry{Campaign: campaign, ID: "later", Expected: 6, Payload: []byte("x")}); !errors.Is(err, ErrFull) {
		t.Errorf("the next append: got %v", err)
	}
	reads := map[string]func() error{
		"Read":          func() error { return j.Read(soon(t), campaign, 5, func(Commit) error { return nil }) },
		"ReadPartition": func() error { return j.ReadPartition(soon(t), 0, 5, func(Commit) error { return nil }) },
		"Last":          func() error { _, err := j.Last(soon(t), campaign); return err },
		"Campaigns":     func() error { _, err := j.Campaigns(soon(t), "", 0); return err },
		"next":          func() error { _, err := j.next(soon(t), campaign, 5); return err },
	}
	for what, read := range reads {
		if err := read(); !errors.Is(err, ErrFull) {
			t.Errorf("%s gives out what is not known to be durable: %v", what, err)
		}
	}
	if err := j.Read(soon(t), campaign, 0, func(c Commit) error {
		if c.Seq == 5 {
			return errors.New("enough")
		}
		return nil
	}); err == nil || err.Error() != "enough" {
		t.Errorf("what is durable is read on: %v", err)
	}
}
