package journal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// slowly is a barrier whose sync takes a second, and counts.
func slowly() (*barrier, *atomic.Int64) {
	var syncs atomic.Int64
	return &barrier{disk: new(sync.Mutex), sync: func() error {
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
			if err := b.all(t.Context()); err != nil {
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

// A sync that a reader of a message began serves who wrote it, and hears only then
// that it is stored; it does not serve who wrote the next one.
func TestBarrierServesWhatWasKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := slowly()
		begun := time.Now()
		var late sync.WaitGroup
		go b.settled(t.Context(), 7)
		time.Sleep(time.Millisecond)
		for seq, want := range map[uint64]time.Duration{7: time.Second, 8: 2 * time.Second} {
			late.Go(func() {
				if err := b.settled(t.Context(), seq); err != nil {
					t.Error(err)
				}
				if took := time.Since(begun); took != want {
					t.Errorf("sequence %d was through after %v, want %v", seq, took, want)
				}
			})
		}
		late.Wait()
	})
}

// Who gives up while a sync is under way leaves the others through.
func TestBarrierGivingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := slowly()
		go b.all(t.Context())
		time.Sleep(time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := b.all(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if err := b.all(t.Context()); err != nil {
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
		b := &barrier{disk: new(sync.Mutex), sync: func() error {
			time.Sleep(time.Second)
			if syncs++; syncs == 2 {
				return disk
			}
			return nil
		}}
		if err := b.all(t.Context()); err != nil {
			t.Fatal(err)
		}
		answers := make(chan error, 10)
		for range cap(answers) {
			go func() { answers <- b.all(t.Context()) }()
		}
		for range cap(answers) {
			if err := <-answers; !errors.Is(err, disk) {
				t.Errorf("got %v", err)
			}
		}
		if err := b.all(t.Context()); !errors.Is(err, disk) || syncs != 2 {
			t.Errorf("afterwards: got %v after %d syncs", err, syncs)
		}
	})
}

// The newest block is followed from number to number, over several at once, and
// each is synced when the next one has begun, and then the names in the folder.
func TestGrowingFollowsTheBlocks(t *testing.T) {
	dir := t.TempDir()
	var synced []string
	g := &growing{dir: dir, fsync: func(f *os.File) error {
		name, err := filepath.Rel(dir, f.Name())
		if err != nil {
			return err
		}
		synced = append(synced, name)
		return f.Sync()
	}}
	t.Cleanup(func() { g.close() })
	for _, step := range []struct{ blocks, synced []string }{
		{nil, []string{"."}},
		{[]string{"9.blk", "10.blk"}, []string{"10.blk", "9.blk", "."}}, // at first all is synced
		{nil, []string{"10.blk"}},
		{[]string{"11.blk"}, []string{"10.blk", "11.blk", "."}},
		{[]string{"12.blk", "13.blk", "14.blk"}, []string{"11.blk", "12.blk", "13.blk", "14.blk", "."}},
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

// leftBehind opens a journal of one partition after a process that synced nothing.
func leftBehind(t *testing.T, commits int) (j *jetStream, campaign string) {
	t.Helper()
	dir := t.TempDir()
	before, close := openEmbedded(t, Options{Dir: dir, Partitions: 1, Unsafe: true})
	campaign = fill(t, before, commits, 10)
	close()
	j, _ = openEmbedded(t, Options{Dir: dir})
	return j, campaign
}

// What one process wrote and did not live to sync is synced before the next one
// gives it out: its first pass covers the whole stream.
func TestNothingIsReadBeforeTheBarrier(t *testing.T) {
	j, campaign := leftBehind(t, 5)
	w := j.writers[0]
	if w.barrier.durable.Load() != 0 || w.barrier.through != 0 {
		t.Fatalf("durable up to %d before anything was asked", w.barrier.durable.Load())
	}
	if got := readAll(t, j, campaign); len(got) != 5 || w.barrier.durable.Load() < got[4].Seq {
		t.Errorf("%d commits were given out, durable up to %d", len(got), w.barrier.durable.Load())
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
	each := func(c Commit) error {
		t.Errorf("sequence %d is given out", c.Seq)
		return nil
	}
	reads := map[string]func() error{
		"Read":          func() error { return j.Read(soon(t), campaign, 5, each) },
		"ReadPartition": func() error { return j.ReadPartition(soon(t), 0, 5, each) },
		"Last":          func() error { _, err := j.Last(soon(t), campaign); return err },
		"Campaigns":     func() error { _, err := j.Campaigns(soon(t), "", 0); return err },
		"Follow":        func() error { return (&follower{j, 0, 5, func(c Commit) { each(c) }}).consume(soon(t)) },
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

// What one sync made durable is given out without another: a campaign that is read
// after a start costs one.
func TestOneSyncServesARead(t *testing.T) {
	j, campaign := leftBehind(t, 20)
	b := j.writers[0].barrier
	if got := readAll(t, j, campaign); len(got) != 20 || b.through != 1 {
		t.Errorf("%d syncs for a read of %d commits, want 1 for 20", b.through, len(got))
	}
}

// What is remembered at a clean stop as the end of a stream is durable: else a power
// cut would make it look as if something acknowledged were lost.
func TestWhatIsRememberedIsDurable(t *testing.T) {
	dir := t.TempDir()
	j, close := openEmbedded(t, Options{Dir: dir, Partitions: 1, Unsafe: true})
	fill(t, j, 5, 10)
	close()
	if err := remember(filepath.Join(dir, storeName), []uint64{3}); err != nil { // what was durable
		t.Fatal(err)
	}
	for _, step := range []struct {
		broken error
		want   uint64
	}{{errors.New("input/output error"), 3}, {nil, 5}} {
		j, close = openEmbedded(t, Options{Dir: dir})
		j.writers[0].barrier.broken = step.broken
		close()
		if last, err := remembered(filepath.Join(dir, storeName), 1); err != nil || last[0] != step.want {
			t.Errorf("disk %v: remembered %v, %v, want %d", step.broken, last, err, step.want)
		}
	}
}

// A campaign is listed when its first commit is durable, also one that was begun
// while the list was made.
func TestCampaignsAreListedWhenDurable(t *testing.T) {
	j, _ := openEmbedded(t, Options{Dir: t.TempDir(), Partitions: 1})
	fill(t, j, 1, 10)
	w := j.writers[0]
	w.barrier.durable.Store(0)
	if _, err := j.subjects(soon(t), 0); err != nil || w.barrier.durable.Load() != 1 {
		t.Errorf("listed at %d durable, %v", w.barrier.durable.Load(), err)
	}
}

// A bucket gives out only what is durable, and tells of a disk that fails.
func TestBucketBehindTheBarrier(t *testing.T) {
	dir := t.TempDir()
	j, close := openEmbedded(t, Options{Dir: dir, Unsafe: true})
	opened, err := j.Bucket(soon(t), "b")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"gone", "kept"} {
		if _, err := opened.Put(soon(t), key, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := opened.Delete(soon(t), "gone"); err != nil {
		t.Fatal(err)
	}
	close()
	j, _ = openEmbedded(t, Options{Dir: dir})
	if opened, err = j.Bucket(soon(t), "b"); err != nil {
		t.Fatal(err)
	}
	b := opened.(*kvBucket).barrier
	if lost := j.Health(soon(t)).Lost; len(lost) > 0 {
		t.Errorf("at first: %v", lost)
	}
	disk := errors.New("input/output error")
	b.broken = disk
	uses := map[string]func() error{
		"Get":              func() error { _, _, err := opened.Get(soon(t), "kept"); return err },
		"Get of a deleted": func() error { _, _, err := opened.Get(soon(t), "gone"); return err },
		"Keys":             func() error { _, err := opened.Keys(soon(t)); return err },
		"Create":           func() error { _, err := opened.Create(soon(t), "new", nil); return err },
		"Update":           func() error { _, err := opened.Update(soon(t), "kept", nil, 2); return err },
		"Put":              func() error { _, err := opened.Put(soon(t), "kept", nil); return err },
		"Delete":           func() error { return opened.Delete(soon(t), "kept") },
	}
	for what, use := range uses {
		err := use()
		if writes := what != "Keys" && what[:3] != "Get"; !errors.Is(err, disk) || writes != errors.Is(err, ErrFull) {
			t.Errorf("%s with a broken disk: %v", what, err)
		}
	}
	if lost := j.Health(soon(t)).Lost; len(lost) != 1 {
		t.Errorf("the broken disk is not told: %v", lost)
	}
	b.broken = nil
	if value, revision, err := opened.Get(soon(t), "kept"); err != nil || string(value) != "x" || b.durable.Load() < revision {
		t.Errorf("got %q at %d, %v, durable up to %d", value, revision, err, b.durable.Load())
	}
	if revision, err := opened.Put(soon(t), "kept", []byte("y")); err != nil || b.durable.Load() < revision {
		t.Errorf("put at %d, %v, durable up to %d", revision, err, b.durable.Load())
	}
	if syncs := b.through; opened.Delete(soon(t), "kept") != nil || b.through == syncs {
		t.Error("a key was deleted without a sync")
	}
}

// Close waits for the sync under way before it gives up the files; whoever comes
// later is told that it is closed.
func TestBarrierCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, syncs := slowly()
		b.free = func() error {
			if syncs.Load() != 1 {
				t.Error("the files are given up under a sync")
			}
			return nil
		}
		go b.all(t.Context())
		time.Sleep(time.Millisecond)
		if err := b.close(); err != nil {
			t.Error(err)
		}
		if err := b.all(t.Context()); !errors.Is(err, ErrClosed) || syncs.Load() != 1 {
			t.Errorf("afterwards: got %v after %d syncs", err, syncs.Load())
		}
	})
}

// What is stored while a sync is under way is not durable by it.
func TestSettledCountsWhatWasStoredBefore(t *testing.T) {
	var highest atomic.Uint64
	highest.Store(5)
	b := &barrier{disk: new(sync.Mutex), stored: highest.Load, sync: func() error { highest.Store(9); return nil }}
	if err := b.settled(t.Context(), 3); err != nil || b.durable.Load() != 5 {
		t.Errorf("durable up to %d, %v, want 5", b.durable.Load(), err)
	}
}

// A tree is synced with the names in all its folders, but for messages.
func TestSyncTree(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"LEDGER_0/meta.inf", "LEDGER_0/msgs/1.blk", "LEDGER_0/obs/x/meta.inf"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var synced []string
	err := syncTree(dir, func(f *os.File) error {
		name, err := filepath.Rel(dir, f.Name())
		synced = append(synced, name)
		return err
	})
	want := []string{".", "LEDGER_0/meta.inf", "LEDGER_0", "LEDGER_0/obs", "LEDGER_0/obs/x/meta.inf", "LEDGER_0/obs/x"}
	if err != nil || !slices.Equal(synced, want) {
		t.Errorf("synced %v, %v, want %v", synced, err, want)
	}
	if err := syncTree(dir, func(*os.File) error { return os.ErrInvalid }); !errors.Is(err, os.ErrInvalid) {
		t.Errorf("a sync that failed is no error: %v", err)
	}
}

// Of a bucket's files those are synced that have grown, are new or were replaced.
func TestChangingSyncsWhatChanged(t *testing.T) {
	dir := t.TempDir()
	var synced []string
	c := &changing{dir: dir, fsync: func(f *os.File) error {
		name, err := filepath.Rel(dir, f.Name())
		synced = append(synced, name)
		return err
	}}
	write := func(name, text string) {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil || f.Close() != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		change func()
		synced []string
	}{
		{func() { write("1.blk", "one"); write("2.blk", "two") }, []string{"1.blk", "2.blk", "."}},
		{func() {}, nil},
		{func() { write("2.blk", "more") }, []string{"2.blk"}}, // no name has changed
		{func() {
			if err := os.Remove(filepath.Join(dir, "2.blk")); err != nil {
				t.Fatal(err)
			}
		}, []string{"."}},
		{func() {
			write("1.blk.tmp", "ONE")
			if err := os.Rename(filepath.Join(dir, "1.blk.tmp"), filepath.Join(dir, "1.blk")); err != nil {
				t.Fatal(err)
			}
		}, []string{"1.blk", "."}},
		{func() {
			if err := os.Remove(filepath.Join(dir, "1.blk")); err != nil {
				t.Fatal(err)
			}
			write("3.blk", "three")
		}, []string{"3.blk", "."}},
	} {
		synced = nil
		step.change()
		if err := c.sync(); err != nil || !slices.Equal(synced, step.synced) {
			t.Errorf("synced %v, %v, want %v", synced, err, step.synced)
		}
	}
	write("3.blk", "more")
	fsync := c.fsync
	c.fsync = func(*os.File) error { return os.ErrInvalid }
	if err := c.sync(); !errors.Is(err, os.ErrInvalid) {
		t.Errorf("a sync that failed is no error: %v", err)
	}
	c.fsync, synced = fsync, nil
	if err := c.sync(); err != nil || !slices.Equal(synced, []string{"3.blk"}) {
		t.Errorf("after a failure: synced %v, %v", synced, err)
	}
}
