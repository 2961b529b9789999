package ledger_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tallystick/api/ledger"
	"tallystick/events/journal"
)

// watched is a journal in whose buckets something is done behind every reading of
// who holds a token.
type watched struct {
	journal.Journal
	read func()
}

type watchedBucket struct {
	journal.Bucket
	of *watched
}

func (w *watched) Bucket(ctx context.Context, name string) (journal.Bucket, error) {
	b, err := w.Journal.Bucket(ctx, name)
	return watchedBucket{b, w}, err
}

func (b watchedBucket) Get(ctx context.Context, key string) ([]byte, uint64, error) {
	value, revision, err := b.Bucket.Get(ctx, key)
	if strings.HasPrefix(key, "holder.") {
		b.of.read()
	}
	return value, revision, err
}

// A token that ends while it is being read is not remembered as one in force.
func TestTokenEndsWhileItIsRead(t *testing.T) {
	j := &watched{Journal: journal.NewMemory(1), read: func() {}}
	tokens, err := ledger.NewTokens(t.Context(), j, "admin")
	if err != nil {
		t.Fatal(err)
	}
	token, err := tokens.Issue(t.Context(), "c", "kim")
	if err != nil {
		t.Fatal(err)
	}
	j.read = func() {
		j.read = func() {}
		if err := tokens.Revoke(t.Context(), "c", "kim"); err != nil {
			t.Error(err)
		}
	}
	if _, ok, err := tokens.Identify(t.Context(), token); !ok || err != nil {
		t.Errorf("it was in force when it was read: %v %v", ok, err)
	}
	if _, ok, err := tokens.Identify(t.Context(), token); ok || err != nil {
		t.Errorf("it has ended and is in force: %v", err)
	}
}

// Of tokens that are given out to one participant at the same time one is in
// force, and when that one ends none is: whoever asks for many at once does not
// keep one that nobody can end.
func TestManyTokensAtOnce(t *testing.T) {
	const many = 20
	var reading atomic.Int64
	all := make(chan struct{})
	j := &watched{Journal: journal.NewMemory(1), read: func() { // the first readings all see the same
		if reading.Add(1) == many {
			close(all)
		}
		<-all
	}}
	tokens, err := ledger.NewTokens(t.Context(), j, "admin")
	if err != nil {
		t.Fatal(err)
	}
	given := make([]string, many)
	var done sync.WaitGroup
	for i := range given {
		done.Go(func() {
			var err error
			if given[i], err = tokens.Issue(context.Background(), "c", "kim"); err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	inForce := func() (n int) {
		for _, token := range given {
			if _, ok, err := tokens.Identify(t.Context(), token); err != nil {
				t.Fatal(err)
			} else if ok {
				n++
			}
		}
		return n
	}
	if n := inForce(); n != 1 {
		t.Errorf("%d are in force, want 1", n)
	}
	if err := tokens.Revoke(t.Context(), "c", "kim"); err != nil {
		t.Fatal(err)
	}
	if n := inForce(); n != 0 {
		t.Errorf("%d are in force after the end", n)
	}
}
