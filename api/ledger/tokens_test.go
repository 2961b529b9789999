package ledger_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"tallystick/api/ledger"
	"tallystick/events/journal"
)

// held is a journal in whose buckets the reading of a token waits.
type held struct {
	journal.Journal
	reading, on chan struct{}
}

type heldBucket struct {
	journal.Bucket
	of *held
}

func (h *held) Bucket(ctx context.Context, name string) (journal.Bucket, error) {
	b, err := h.Journal.Bucket(ctx, name)
	return heldBucket{b, h}, err
}

func (b heldBucket) Get(ctx context.Context, key string) ([]byte, uint64, error) {
	value, revision, err := b.Bucket.Get(ctx, key)
	if strings.HasPrefix(key, "holder.") && b.of.reading != nil {
		reading := b.of.reading
		b.of.reading = nil
		close(reading)
		<-b.of.on
	}
	return value, revision, err
}

// A token that ends while it is being read is not remembered as one in force.
func TestTokenEndsWhileItIsRead(t *testing.T) {
	h := &held{Journal: journal.NewMemory(1)}
	tokens, err := ledger.NewTokens(t.Context(), h, "admin")
	if err != nil {
		t.Fatal(err)
	}
	token, err := tokens.Issue(t.Context(), "c", "kim")
	if err != nil {
		t.Fatal(err)
	}
	reading, on := make(chan struct{}), make(chan struct{})
	h.reading, h.on = reading, on
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, ok, err := tokens.Identify(context.Background(), token); !ok || err != nil {
			t.Errorf("it was in force when it was read: %v %v", ok, err)
		}
	}()
	<-reading
	if err := tokens.Revoke(t.Context(), "c", "kim"); err != nil {
		t.Fatal(err)
	}
	close(on)
	<-done
	if _, ok, err := tokens.Identify(t.Context(), token); ok || err != nil {
		t.Errorf("it has ended and is in force: %v", err)
	}
}

// Of tokens that are given out to one participant at the same time one is in
// force, and when that one ends none is: whoever asks for many at once does not
// keep one that nobody can end.
func TestManyTokensAtOnce(t *testing.T) {
	tokens, err := ledger.NewTokens(t.Context(), journal.NewMemory(1), "admin")
	if err != nil {
		t.Fatal(err)
	}
	given := make([]string, 50)
	var all sync.WaitGroup
	for i := range given {
		all.Go(func() {
			var err error
			if given[i], err = tokens.Issue(context.Background(), "c", "kim"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
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
