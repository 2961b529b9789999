package webhooks

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tallystick/events/journal"
)

// Of several nodes one delivers; when it stops another one does, and when it
// dies without a word, too.
func TestOneNodeDelivers(t *testing.T) {
	synctest.Test(t, testOneNodeDelivers) // by a clock of its own
}

func testOneNodeDelivers(t *testing.T) {
	bucket, err := journal.NewMemory(1).Bucket(t.Context(), Bucket)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bucket.Create(t.Context(), leaseKey, []byte("a node that died")); err != nil {
		t.Fatal(err)
	}
	var delivering, most, turns atomic.Int32
	holds := make(chan int, 100)
	var all sync.WaitGroup
	stops := make([]context.CancelFunc, 3)
	for i := range stops {
		var ctx context.Context
		ctx, stops[i] = context.WithCancel(t.Context())
		h := &Hooks{bucket: bucket, lease: leaseLasts}
		all.Go(func() {
			h.hold(ctx, func(held context.Context) {
				if now := delivering.Add(1); now > most.Load() {
					most.Store(now)
				}
				turns.Add(1)
				holds <- i
				<-held.Done()
				delivering.Add(-1)
			})
		})
	}
	begun := time.Now()
	for range stops {
		i := <-holds
		time.Sleep(10 * leaseLasts) // it is renewed all the while
		stops[i]()
	}
	if first := time.Since(begun) - 30*leaseLasts; first < leaseLasts || first > 3*leaseLasts {
		t.Errorf("the turns of others came after %v", first)
	}
	all.Wait()
	if most.Load() != 1 || turns.Load() != 3 {
		t.Errorf("%d delivered at once, %d had a turn", most.Load(), turns.Load())
	}
}
