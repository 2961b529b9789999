package journal_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"tallystick/events/journal"
)

const lasts = 12 * time.Second

// stubborn is a bucket that fails, or does what it is told and says that it
// failed.
type stubborn struct {
	journal.Bucket
	deaf, mute bool
}

func (b *stubborn) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if b.deaf {
		return 0, errors.New("no answer")
	}
	next, err := b.Bucket.Update(ctx, key, value, revision)
	if b.mute {
		return 0, errors.New("no answer")
	}
	return next, err
}

// leaseholder is a process with clocks of its own.
type leaseholder struct {
	*journal.Lease
	*stubborn
	ran time.Duration
}

func newLeaseholder(b journal.Bucket) *leaseholder {
	h := &leaseholder{stubborn: &stubborn{Bucket: b}}
	h.Lease = journal.NewLease(h.stubborn, "lease", lasts, func() time.Duration { return h.ran })
	return h
}

func (h *leaseholder) has(t testing.TB, want bool) {
	t.Helper()
	held, err := h.Hold(t.Context())
	if known, _ := h.Held(); held != want || known != want {
		t.Fatalf("holds the lease: %v, knows of it: %v, %v; want %v", held, known, err, want)
	}
}

// One process holds a lease as long as it renews it; another has it at once
// when it is given back, and once it has seen it unchanged for as long as it
// lasts. Who finds that another took it does not hold it any more. On a real
// store and in memory.
func TestLease(t *testing.T) {
	for name, j := range map[string]journal.Journal{"memory": journal.NewMemory(1), "store": embedded(t, journal.Options{Dir: t.TempDir()})} {
		t.Run(name, func(t *testing.T) {
			bucket, err := j.Bucket(t.Context(), "leases")
			if err != nil {
				t.Fatal(err)
			}
			one, two := newLeaseholder(bucket), newLeaseholder(bucket)
			pass := func(d time.Duration) { one.ran, two.ran = one.ran+d, two.ran+d }
			one.has(t, true)
			two.has(t, false)
			for range 10 { // renewed all the while
				pass(lasts / 3)
				one.has(t, true)
				two.has(t, false)
			}
			if err := one.GiveBack(t.Context()); err != nil {
				t.Fatal(err)
			}
			two.has(t, true)
			one.has(t, false)
			pass(lasts - time.Second) // the other one stands still
			one.has(t, false)
			pass(time.Second)
			one.has(t, true)
			two.has(t, false)
			if err := two.GiveBack(t.Context()); err != nil { // it is not his to give
				t.Fatal(err)
			}
			one.has(t, true)
			two.has(t, false)
		})
	}
}

// Who cannot renew the lease gives it up before another may take it, and has it
// back at once when only the answer was lost.
func TestLeaseWithoutAnswer(t *testing.T) {
	bucket, err := journal.NewMemory(1).Bucket(t.Context(), "leases")
	if err != nil {
		t.Fatal(err)
	}
	one, two := newLeaseholder(bucket), newLeaseholder(bucket)
	one.has(t, true)
	two.has(t, false)
	one.deaf = true
	for one.ran < lasts*2/3-time.Second {
		one.ran += time.Second
		one.has(t, true)
	}
	one.ran += time.Second
	one.has(t, false)
	two.ran = one.ran
	two.has(t, false)
	one.deaf, one.mute = false, true
	one.has(t, false) // taken, and not known
	one.mute = false
	one.has(t, true)
	two.ran += lasts
	two.has(t, false)
}

// Whatever processes do and however fast their clocks run, as long as they look
// often enough no two know themselves to hold the lease, and somebody holds it
// in the end.
func TestLeaseIsOnes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		bucket, err := journal.NewMemory(1).Bucket(t.Context(), "leases")
		if err != nil {
			t.Fatal(err)
		}
		all := []*leaseholder{newLeaseholder(bucket), newLeaseholder(bucket), newLeaseholder(bucket)}
		for range rapid.IntRange(1, 60).Draw(rt, "beats") {
			for _, h := range all {
				h.ran += time.Second
				h.deaf = rapid.IntRange(0, 2).Draw(rt, "deaf") == 0
				_, _ = h.Hold(t.Context())
				if rapid.IntRange(0, 9).Draw(rt, "gives back") == 0 {
					_ = h.GiveBack(t.Context())
				}
			}
			holders := 0
			for _, h := range all {
				if held, _ := h.Held(); held {
					holders++
				}
			}
			if holders > 1 {
				rt.Fatalf("%d hold the lease", holders)
			}
		}
		for range int(lasts/time.Second) + 1 {
			for _, h := range all {
				h.ran += time.Second
				h.deaf = false
				if held, _ := h.Hold(t.Context()); held {
					return
				}
			}
		}
		rt.Fatal("nobody holds the lease")
	})
}

// Of several processes one works; when it stops another one does, and when it
// died without a word, too.
func TestLeaseWhile(t *testing.T) {
	synctest.Test(t, testLeaseWhile) // by a clock of its own
}

func testLeaseWhile(t *testing.T) {
	bucket, err := journal.NewMemory(1).Bucket(t.Context(), "leases")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bucket.Create(t.Context(), "lease", []byte("a node that died")); err != nil {
		t.Fatal(err)
	}
	var working, most, turns atomic.Int32
	holds := make(chan int, 100)
	var all sync.WaitGroup
	stops := make([]context.CancelFunc, 3)
	for i := range stops {
		var ctx context.Context
		ctx, stops[i] = context.WithCancel(t.Context())
		all.Go(func() {
			journal.NewLease(bucket, "lease", lasts, nil).While(ctx, func(held context.Context) {
				if now := working.Add(1); now > most.Load() {
					most.Store(now)
				}
				turns.Add(1)
				holds <- i
				<-held.Done()
				working.Add(-1)
			})
		})
	}
	begun := time.Now()
	for range stops {
		i := <-holds
		time.Sleep(10 * lasts) // it is renewed all the while
		stops[i]()
	}
	if first := time.Since(begun) - 30*lasts; first < lasts || first > 2*lasts {
		t.Errorf("the turns of others came after %v", first)
	}
	all.Wait()
	if most.Load() != 1 || turns.Load() != 3 {
		t.Errorf("%d worked at once, %d had a turn", most.Load(), turns.Load())
	}
}

// Whose lease is taken away stops working.
func TestLeaseLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bucket, err := journal.NewMemory(1).Bucket(t.Context(), "leases")
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		begun, stopped := make(chan struct{}), make(chan struct{})
		var once sync.WaitGroup
		once.Go(func() {
			journal.NewLease(bucket, "lease", lasts, nil).While(ctx, func(held context.Context) {
				close(begun)
				<-held.Done()
				close(stopped)
			})
		})
		<-begun
		if _, err := bucket.Put(t.Context(), "lease", []byte("another")); err != nil {
			t.Fatal(err)
		}
		since := time.Now()
		<-stopped
		if d := time.Since(since); d > lasts/2 {
			t.Errorf("it worked on for %v", d)
		}
		stop()
		once.Wait()
	})
}

// between does something between looking and taking.
type between struct {
	journal.Bucket
	do func()
}

func (b between) Get(ctx context.Context, key string) ([]byte, uint64, error) {
	value, revision, err := b.Bucket.Get(ctx, key)
	b.do()
	return value, revision, err
}

// Of two that find the lease free at the same moment one gets it.
func TestLeaseRace(t *testing.T) {
	for name, given := range map[string]bool{"never held": false, "given back": true} {
		bucket, err := journal.NewMemory(1).Bucket(t.Context(), "leases")
		if err != nil {
			t.Fatal(err)
		}
		faster := newLeaseholder(bucket)
		if given {
			faster.has(t, true)
			if err := faster.GiveBack(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		slower := journal.NewLease(between{bucket, func() { faster.has(t, true) }}, "lease", lasts, nil)
		if held, err := slower.Hold(t.Context()); held || err != nil {
			t.Errorf("%s: two hold the lease: %v", name, err)
		}
	}
}
