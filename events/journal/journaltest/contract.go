// Package journaltest holds what every journal must keep, as one suite that is
// run over each implementation. Its clauses are named as sentences. It imports
// testing and package journal, and nothing of NATS.
package journaltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"tallystick/events/journal"
)

// Open returns a fresh, empty journal with the given faults in place (nil: none)
// and closes it when the test ends.
type Open func(t testing.TB, faults *journal.Faults) journal.Journal

// RunContract checks a journal against its contract.
func RunContract(t *testing.T, open Open) {
	for _, clause := range []struct {
		sentence string
		check    func(t *testing.T, open Open)
	}{
		{"a campaign's commits are read back in order with their bytes", commitsAreReadBack},
		{"a campaign without commits reads as empty", emptyCampaign},
		{"reading stops with the reader's error", readerStops},
		{"an append that expects another last commit is a conflict", conflict},
		{"of appends with one expectation one is stored and the others conflict", race},
		{"appends of many campaigns at once are all stored once", manyCampaigns},
		{"the same entry again is answered with the sequence it has", sameAgain},
		{"the same command with other bytes is a conflict", sameCommandOtherBytes},
		{"a command id that is still known is not stored under a later expectation", commandTwice},
		{"a lost answer is found out and the entry is stored once", lostAnswer},
		{"a lost request is sent again", lostRequest},
		{"an entry lost with every retry is unclear, and stored when sent again", allRequestsLost},
		{"a stored entry is unclear while nothing can be read, and found when sent again", unreadableTail},
		{"a full store says so and stores nothing", full},
		{"an unclear entry makes way for another that was decided after it", unclearThenOther},
		{"faults of some entries do not touch others stored at the same time", faultsAmongMany},
		{"what is to be done meanwhile is done once", meanwhile},
		{"what cannot be stored is refused before it is sent", refusals},
		{"a payload of the largest size comes back whole", largest},
		{"campaigns are listed in byte order, from one id on, up to a limit", listing},
		{"a follower gets every later commit exactly once and in order", following},
		{"a follower ends with its context", followerEnds},
		{"two followers each get everything", twoFollowers},
		{"a bucket keeps values with revisions and refuses stale changes", bucket},
		{"buckets of different names do not share keys", buckets},
		{"the feed takes feed subjects only", feed},
		{"health counts messages and finds nothing wrong", health},
		{"a context that has ended stops a call before anything is stored", endedContext},
		{"a closed journal refuses everything", closed},
	} {
		t.Run(strings.ReplaceAll(clause.sentence, " ", "_"), func(t *testing.T) {
			t.Parallel() // some wait for retries
			clause.check(t, open)
		})
	}
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

func entry(campaign string, expected uint64, payload string) journal.Entry {
	return journal.Entry{Campaign: campaign, ID: newID(), Expected: expected, Payload: []byte(payload)}
}

// within bounds a clause, so that a journal that hangs fails and does not stall.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func mustAppend(t testing.TB, j journal.Journal, e journal.Entry) uint64 {
	t.Helper()
	seq, err := j.Append(within(t), e)
	if err != nil {
		t.Fatalf("append: %v", err)
	}
	if seq <= e.Expected {
		t.Fatalf("append after %d got sequence %d, want a greater one", e.Expected, seq)
	}
	return seq
}

// commits reads a campaign and checks that sequences grow.
func commits(t testing.TB, j journal.Journal, campaign string, after uint64) []journal.Commit {
	t.Helper()
	var all []journal.Commit
	last := after
	err := j.Read(within(t), campaign, after, func(c journal.Commit) error {
		if c.Seq <= last || c.Campaign != campaign {
			t.Errorf("commit %d of campaign %s after %d of %s", c.Seq, c.Campaign, last, campaign)
		}
		last = c.Seq
		all = append(all, c)
		return nil
	})
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return all
}

// wantOnly checks that the campaign holds exactly these entries at these sequences.
func wantOnly(t testing.TB, j journal.Journal, campaign string, entries []journal.Entry, seqs []uint64) {
	t.Helper()
	got := commits(t, j, campaign, 0)
	if len(got) != len(entries) {
		t.Fatalf("got %d commits, want %d", len(got), len(entries))
	}
	for i, c := range got {
		if c.ID != entries[i].ID || c.Seq != seqs[i] || !bytes.Equal(c.Payload, entries[i].Payload) {
			t.Fatalf("commit %d: got %s at %d (%d bytes), want %s at %d (%d bytes)",
				i, c.ID, c.Seq, len(c.Payload), entries[i].ID, seqs[i], len(entries[i].Payload))
		}
	}
}

func wantError(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got error %v, want %v", err, want)
	}
}

func wantUnclear(t testing.TB, err error, e journal.Entry) {
	t.Helper()
	var unclear *journal.UnclearError
	if !errors.As(err, &unclear) {
		t.Fatalf("got error %v, want an UnclearError", err)
	}
	if unclear.Campaign != e.Campaign || unclear.ID != e.ID {
		t.Fatalf("got unclear %s %s, want %s %s", unclear.Campaign, unclear.ID, e.Campaign, e.ID)
	}
}

func commitsAreReadBack(t *testing.T, open Open) {
	j := open(t, nil)
	campaign, other := newID(), newID()
	var entries []journal.Entry
	var seqs []uint64
	last := uint64(0)
	for i := range 20 {
		e := entry(campaign, last, fmt.Sprintf("{\"n\":%d}\n{\"text\":\"caf\u00e9 \\u0000 %d\"}", i, i))
		last = mustAppend(t, j, e)
		entries, seqs = append(entries, e), append(seqs, last)
		if i%5 == 0 {
			last, err := j.Last(within(t), other)
			if err != nil {
				t.Fatal(err)
			}
			mustAppend(t, j, entry(other, last, "other"))
		}
	}
	wantOnly(t, j, campaign, entries, seqs)
	got := commits(t, j, campaign, seqs[12])
	if len(got) != 7 || got[0].Seq != seqs[13] {
		t.Errorf("after the 13th commit: got %d commits, want the last 7", len(got))
	}
	if at, err := j.Last(within(t), campaign); err != nil || at != last {
		t.Errorf("last: got %d, %v, want %d", at, err, last)
	}
	first, err := j.First(within(t), campaign)
	if err != nil || first.Seq != seqs[0] || first.ID != entries[0].ID || !bytes.Equal(first.Payload, entries[0].Payload) {
		t.Errorf("first: got %+v, %v", first, err)
	}
}

func emptyCampaign(t *testing.T, open Open) {
	j := open(t, nil)
	mustAppend(t, j, entry(newID(), 0, "another campaign"))
	campaign := newID()
	if got := commits(t, j, campaign, 0); len(got) != 0 {
		t.Errorf("got %d commits, want none", len(got))
	}
	if last, err := j.Last(within(t), campaign); last != 0 || err != nil {
		t.Errorf("last: got %d, %v, want 0", last, err)
	}
	_, err := j.First(within(t), campaign)
	wantError(t, err, journal.ErrNotFound)
}

func readerStops(t *testing.T, open Open) {
	j := open(t, nil)
	campaign, last := newID(), uint64(0)
	for range 3 {
		last = mustAppend(t, j, entry(campaign, last, "x"))
	}
	enough, calls := errors.New("enough"), 0
	err := j.Read(within(t), campaign, 0, func(journal.Commit) error {
		if calls++; calls == 2 {
			return enough
		}
		return nil
	})
	if err != enough || calls != 2 {
		t.Errorf("got error %v after %d calls, want the reader's own after 2", err, calls)
	}
}

func conflict(t *testing.T, open Open) {
	j := open(t, nil)
	campaign := newID()
	first := entry(campaign, 0, "first")
	one := mustAppend(t, j, first)
	second := entry(campaign, one, "second")
	two := mustAppend(t, j, second)
	for _, expected := range []uint64{0, one, two + 1, two + 100} {
		_, err := j.Append(within(t), entry(campaign, expected, "stale"))
		wantError(t, err, journal.ErrConflict)
	}
	wantOnly(t, j, campaign, []journal.Entry{first, second}, []uint64{one, two})
	mustAppend(t, j, entry(campaign, two, "third"))
}

func race(t *testing.T, open Open) {
	j := open(t, nil)
	campaign, last := newID(), uint64(0)
	for round := range 10 {
		var stored atomic.Int64
		var next atomic.Uint64
		var group sync.WaitGroup
		for i := range 8 {
			group.Go(func() {
				seq, err := j.Append(within(t), entry(campaign, last, fmt.Sprint(round, i)))
				switch {
				case err == nil:
					stored.Add(1)
					next.Store(seq)
				case !errors.Is(err, journal.ErrConflict):
					t.Errorf("got error %v, want a conflict", err)
				}
			})
		}
		group.Wait()
		if stored.Load() != 1 {
			t.Fatalf("round %d: %d of 8 stored, want 1", round, stored.Load())
		}
		last = next.Load()
	}
	if got := commits(t, j, campaign, 0); len(got) != 10 {
		t.Errorf("got %d commits, want 10", len(got))
	}
}

func manyCampaigns(t *testing.T, open Open) {
	j := open(t, nil)
	const campaigns, each = 200, 4 // enough to be packed
	var group sync.WaitGroup
	for range campaigns {
		group.Go(func() {
			campaign, last := newID(), uint64(0)
			var entries []journal.Entry
			var seqs []uint64
			for i := range each {
				e := entry(campaign, last, fmt.Sprint(campaign, i))
				seq, err := j.Append(within(t), e)
				if err != nil {
					t.Errorf("append: %v", err)
					return
				}
				last = seq
				entries, seqs = append(entries, e), append(seqs, seq)
			}
			wantOnly(t, j, campaign, entries, seqs)
		})
	}
	group.Wait()
	var messages uint64
	for _, p := range j.Health(within(t)).Partitions {
		messages += p.Messages
	}
	if messages != campaigns*each {
		t.Errorf("got %d messages in all, want %d", messages, campaigns*each)
	}
}

func sameAgain(t *testing.T, open Open) {
	j := open(t, nil)
	campaign := newID()
	first := entry(campaign, 0, "first")
	one := mustAppend(t, j, first)
	second := entry(campaign, one, "second")
	two := mustAppend(t, j, second)
	for _, again := range []struct {
		entry journal.Entry
		seq   uint64
	}{{second, two}, {first, one}, {second, two}} {
		if seq := mustAppend(t, j, again.entry); seq != again.seq {
			t.Errorf("got sequence %d, want %d", seq, again.seq)
		}
	}
	wantOnly(t, j, campaign, []journal.Entry{first, second}, []uint64{one, two})
}

func sameCommandOtherBytes(t *testing.T, open Open) {
	j := open(t, nil)
	e := entry(newID(), 0, "bytes")
	seq := mustAppend(t, j, e)
	other := e
	other.Payload = []byte("other bytes")
	_, err := j.Append(within(t), other)
	wantError(t, err, journal.ErrConflict)
	wantOnly(t, j, e.Campaign, []journal.Entry{e}, []uint64{seq})
}

func commandTwice(t *testing.T, open Open) {
	j := open(t, nil)
	e := entry(newID(), 0, "bytes")
	seq := mustAppend(t, j, e)
	later := e
	later.Expected = seq
	_, err := j.Append(within(t), later)
	wantError(t, err, journal.ErrConflict)
	wantOnly(t, j, e.Campaign, []journal.Entry{e}, []uint64{seq})
	other := e // an id is a campaign's own
	other.Campaign = newID()
	mustAppend(t, j, other)
}

// script makes faults that follow a list, then none.
func script(outcomes ...journal.Outcome) *journal.Faults {
	var at atomic.Int64
	return &journal.Faults{Publish: func(journal.Entry) journal.Outcome {
		if i := int(at.Add(1)) - 1; i < len(outcomes) {
			return outcomes[i]
		}
		return journal.Proceed
	}}
}

func lostAnswer(t *testing.T, open Open) {
	j := open(t, script(journal.LostAfter))
	e := entry(newID(), 0, "kept")
	seq := mustAppend(t, j, e)
	if again := mustAppend(t, j, e); again != seq {
		t.Errorf("again: got %d, want %d", again, seq)
	}
	wantOnly(t, j, e.Campaign, []journal.Entry{e}, []uint64{seq})
}

func lostRequest(t *testing.T, open Open) {
	j := open(t, script(journal.LostBefore, journal.LostBefore, journal.LostAfter))
	e := entry(newID(), 0, "kept")
	seq := mustAppend(t, j, e)
	if again := mustAppend(t, j, e); again != seq {
		t.Errorf("again: got %d, want %d", again, seq)
	}
	wantOnly(t, j, e.Campaign, []journal.Entry{e}, []uint64{seq})
}

func allRequestsLost(t *testing.T, open Open) {
	var broken atomic.Bool
	j := open(t, &journal.Faults{Publish: func(journal.Entry) journal.Outcome {
		if broken.Load() {
			return journal.LostBefore
		}
		return journal.Proceed
	}})
	e := entry(newID(), 0, "kept")
	broken.Store(true)
	_, err := j.Append(within(t), e)
	wantUnclear(t, err, e)
	wantOnly(t, j, e.Campaign, nil, nil)
	broken.Store(false)
	seq := mustAppend(t, j, e)
	wantOnly(t, j, e.Campaign, []journal.Entry{e}, []uint64{seq})
}

func unreadableTail(t *testing.T, open Open) {
	var broken atomic.Bool
	j := open(t, &journal.Faults{
		Publish: func(journal.Entry) journal.Outcome {
			if broken.Load() {
				return journal.LostAfter
			}
			return journal.Proceed
		},
		Look: func(string) error {
			if broken.Load() {
				return errors.New("no route")
			}
			return nil
		},
	})
	e := entry(newID(), 0, "kept")
	broken.Store(true)
	_, err := j.Append(within(t), e)
	wantUnclear(t, err, e)
	broken.Store(false)
	seq := mustAppend(t, j, e)
	wantOnly(t, j, e.Campaign, []journal.Entry{e}, []uint64{seq})
	mustAppend(t, j, entry(e.Campaign, seq, "next"))
}

func full(t *testing.T, open Open) {
	j := open(t, script(journal.Full, journal.LostAfter, journal.Full))
	e := entry(newID(), 0, "kept")
	_, err := j.Append(within(t), e)
	wantError(t, err, journal.ErrFull)
	wantOnly(t, j, e.Campaign, nil, nil)
	seq := mustAppend(t, j, e) // its answer is lost, then found
	next := entry(e.Campaign, seq, "next")
	_, err = j.Append(within(t), next)
	wantError(t, err, journal.ErrFull)
	two := mustAppend(t, j, next)
	wantOnly(t, j, e.Campaign, []journal.Entry{e, next}, []uint64{seq, two})
}

func unclearThenOther(t *testing.T, open Open) {
	lost := entry(newID(), 0, "lost")
	j := open(t, &journal.Faults{Publish: func(e journal.Entry) journal.Outcome {
		if e.ID == lost.ID {
			return journal.LostBefore
		}
		return journal.Proceed
	}})
	_, err := j.Append(within(t), lost)
	wantUnclear(t, err, lost)
	other := entry(lost.Campaign, 0, "decided after reading the tail")
	seq := mustAppend(t, j, other)
	_, err = j.Append(within(t), lost)
	wantError(t, err, journal.ErrConflict)
	wantOnly(t, j, lost.Campaign, []journal.Entry{other}, []uint64{seq})
}

func faultsAmongMany(t *testing.T, open Open) {
	var attempts atomic.Int64
	j := open(t, &journal.Faults{Publish: func(journal.Entry) journal.Outcome {
		switch n := attempts.Add(1); {
		case n%7 == 0:
			return journal.LostBefore
		case n%11 == 0:
			return journal.LostAfter
		}
		return journal.Proceed
	}})
	var group sync.WaitGroup
	for i := range 48 {
		group.Go(func() {
			campaign, last := newID(), uint64(0)
			var entries []journal.Entry
			var seqs []uint64
			for n := range 4 {
				e := entry(campaign, last, fmt.Sprint(i, n))
				if i%8 == 0 && n == 1 {
					if _, err := j.Append(within(t), entry(campaign, 0, "stale")); err == nil {
						t.Error("a stale entry was stored")
					}
				}
				seq, err := j.Append(within(t), e)
				if err != nil {
					t.Errorf("append: %v", err)
					return
				}
				last = seq
				entries, seqs = append(entries, e), append(seqs, seq)
			}
			wantOnly(t, j, campaign, entries, seqs)
		})
	}
	group.Wait()
}

// meanwhile holds whether an entry goes at once, waits for its turn or goes with
// others, whatever becomes of the request and of its answer. When it is stored, what
// was to be done has been done.
func meanwhile(t *testing.T, open Open) {
	var attempts atomic.Int64
	outcomes := []journal.Outcome{journal.LostBefore, journal.Proceed, journal.Proceed, journal.LostAfter, journal.Proceed, journal.Full, journal.Proceed}
	j := open(t, &journal.Faults{Publish: func(journal.Entry) journal.Outcome {
		return outcomes[int(attempts.Add(1))%len(outcomes)]
	}})
	var group sync.WaitGroup
	for range 100 {
		group.Go(func() {
			var done atomic.Int64
			e := entry(newID(), 0, "x")
			e.Meanwhile = func() { done.Add(1) }
			_, err := j.Append(within(t), e)
			if n := done.Load(); n > 1 || n == 0 && err == nil {
				t.Errorf("done %d times when append returns %v", n, err)
			}
		})
	}
	group.Wait()
	ahead, called := entry(newID(), 1<<40, "ahead"), 0
	ahead.Meanwhile = func() { called++ }
	if _, err := j.Append(within(t), ahead); err == nil || called > 1 {
		t.Errorf("done %d times for an entry that cannot be stored: %v", called, err)
	}

	// An entry whose own request never leaves, and that is found: another sent it.
	var twice journal.Journal
	same := entry(newID(), 0, "same")
	called = 0
	var asked atomic.Int64
	twice = open(t, &journal.Faults{Publish: func(journal.Entry) journal.Outcome {
		if asked.Add(1) > 1 {
			return journal.Proceed
		}
		mustAppend(t, twice, same)
		return journal.LostBefore
	}})
	own := same
	own.Meanwhile = func() { called++ }
	if mustAppend(t, twice, own); called != 1 || asked.Load() != 2 {
		t.Errorf("done %d times in %d requests", called, asked.Load())
	}
}

func refusals(t *testing.T, open Open) {
	j := open(t, &journal.Faults{Publish: func(e journal.Entry) journal.Outcome {
		t.Errorf("%+v was sent", e)
		return journal.Proceed
	}})
	good := entry(newID(), 0, "x")
	for _, change := range []struct {
		what string
		make func(*journal.Entry)
		want error
	}{
		{"no campaign", func(e *journal.Entry) { e.Campaign = "" }, journal.ErrInvalid},
		{"a wildcard", func(e *journal.Entry) { e.Campaign = "*" }, journal.ErrInvalid},
		{"a full wildcard", func(e *journal.Entry) { e.Campaign = ">" }, journal.ErrInvalid},
		{"a subject of two tokens", func(e *journal.Entry) { e.Campaign = e.Campaign[:35] + "." }, journal.ErrInvalid},
		{"upper case", func(e *journal.Entry) { e.Campaign = "0192AAAA-0000-7000-8000-000000000000" }, journal.ErrInvalid},
		{"another form of UUID", func(e *journal.Entry) { e.Campaign = "urn:uuid:" + e.Campaign }, journal.ErrInvalid},
		{"braces", func(e *journal.Entry) { e.Campaign = "{" + e.Campaign + "}" }, journal.ErrInvalid},
		{"no hyphens", func(e *journal.Entry) { e.Campaign = strings.ReplaceAll(e.Campaign, "-", "") }, journal.ErrInvalid},
		{"no command id", func(e *journal.Entry) { e.ID = "" }, journal.ErrInvalid},
		{"a header in the command id", func(e *journal.Entry) { e.ID = "a\r\nNats-Rollup: all" }, journal.ErrInvalid},
		{"a space in the command id", func(e *journal.Entry) { e.ID = "a b" }, journal.ErrInvalid},
		{"a letter that is not ASCII", func(e *journal.Entry) { e.ID = "caf\u00e9" }, journal.ErrInvalid},
		{"a long command id", func(e *journal.Entry) { e.ID = strings.Repeat("x", 129) }, journal.ErrInvalid},
		{"no payload", func(e *journal.Entry) { e.Payload = nil }, journal.ErrInvalid},
		{"too large a payload", func(e *journal.Entry) { e.Payload = make([]byte, journal.MaxPayload+1) }, journal.ErrTooLarge},
	} {
		e := good
		change.make(&e)
		if _, err := j.Append(within(t), e); !errors.Is(err, change.want) {
			t.Errorf("%s: got error %v, want %v", change.what, err, change.want)
		}
	}
	nothing := func(journal.Commit) error { return nil }
	for _, campaign := range []string{"", "*", ">", "a.b", "0192AAAA-0000-7000-8000-000000000000"} {
		if err := j.Read(within(t), campaign, 0, nothing); !errors.Is(err, journal.ErrInvalid) {
			t.Errorf("read %q: got error %v", campaign, err)
		}
		if _, err := j.Last(within(t), campaign); !errors.Is(err, journal.ErrInvalid) {
			t.Errorf("last %q: got error %v", campaign, err)
		}
		if _, err := j.First(within(t), campaign); !errors.Is(err, journal.ErrInvalid) {
			t.Errorf("first %q: got error %v", campaign, err)
		}
	}
}

func largest(t *testing.T, open Open) {
	j := open(t, nil)
	campaign, last := newID(), uint64(0)
	var entries []journal.Entry
	var seqs []uint64
	for i := range 10 { // together more than one page of a read
		e := entry(campaign, last, "")
		e.Payload = bytes.Repeat([]byte{byte('a' + i)}, journal.MaxPayload)
		last = mustAppend(t, j, e)
		entries, seqs = append(entries, e), append(seqs, last)
	}
	wantOnly(t, j, campaign, entries, seqs)
}

func listing(t *testing.T, open Open) {
	j := open(t, nil)
	if got, err := j.Campaigns(within(t), "", 0); err != nil || len(got) != 0 {
		t.Fatalf("empty: got %v, %v", got, err)
	}
	var ids []string
	for range 9 {
		id := uuid.NewString()
		ids = append(ids, id)
		mustAppend(t, j, entry(id, mustAppend(t, j, entry(id, 0, "x")), "y"))
	}
	slices.Sort(ids)
	for _, c := range []struct {
		after string
		limit int
		want  []string
	}{
		{"", 0, ids}, {"", -1, ids}, {"", 4, ids[:4]}, {ids[3], 3, ids[4:7]}, {ids[3], 100, ids[4:]},
		{ids[3][:10], 1, ids[3:4]}, {ids[8], 5, nil}, {"z", 5, nil},
	} {
		got, err := j.Campaigns(within(t), c.after, c.limit)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("after %q, limit %d: got %v, %v, want %v", c.after, c.limit, got, err, c.want)
		}
	}
	late := uuid.NewString()
	mustAppend(t, j, entry(late, 0, "x"))
	if got, err := j.Campaigns(within(t), "", 0); err != nil || !slices.Contains(got, late) || len(got) != 10 {
		t.Errorf("after one more: got %v, %v", got, err)
	}
}

// collector is a follower that remembers.
type collector struct {
	t       testing.TB
	running atomic.Bool
	arrived chan struct{}
	mu      sync.Mutex
	commits []journal.Commit // guarded by mu
}

func newCollector(t testing.TB) *collector {
	return &collector{t: t, arrived: make(chan struct{}, 1)}
}

func (f *collector) take(c journal.Commit) {
	if !f.running.CompareAndSwap(false, true) {
		f.t.Error("two calls of a follower at once")
	}
	defer f.running.Store(false)
	f.mu.Lock()
	f.commits = append(f.commits, c)
	f.mu.Unlock()
	select {
	case f.arrived <- struct{}{}:
	default:
	}
}

// wait returns all commits once there are n.
func (f *collector) wait(n int) []journal.Commit {
	f.t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		f.mu.Lock()
		got := slices.Clone(f.commits)
		f.mu.Unlock()
		if len(got) >= n {
			return got
		}
		select {
		case <-f.arrived:
		case <-deadline:
			f.t.Fatalf("a follower got %d commits, want %d", len(got), n)
		}
	}
}

func following(t *testing.T, open Open) {
	j := open(t, nil)
	mustAppend(t, j, entry(newID(), 0, "before"))
	f := newCollector(t)
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	if err := j.Follow(ctx, f.take); err != nil {
		t.Fatal(err)
	}
	const campaigns, each = 24, 10
	var group sync.WaitGroup
	var mu sync.Mutex
	want := map[string][]journal.Commit{}
	for range campaigns {
		group.Go(func() {
			campaign, last := newID(), uint64(0)
			for i := range each {
				e := entry(campaign, last, fmt.Sprint(campaign, i))
				seq, err := j.Append(within(t), e)
				if err != nil {
					t.Errorf("append: %v", err)
					return
				}
				last = seq
				mu.Lock()
				want[campaign] = append(want[campaign], journal.Commit{Campaign: campaign, ID: e.ID, Seq: seq, Payload: e.Payload})
				mu.Unlock()
			}
		})
	}
	group.Wait()
	f.wait(campaigns * each)
	time.Sleep(50 * time.Millisecond) // one more would be one too many
	got := map[string][]journal.Commit{}
	lastOf := map[int]uint64{}
	partitions := len(j.Health(ctx).Partitions)
	for _, c := range f.wait(campaigns * each) {
		p := journal.PartitionOf(c.Campaign, partitions)
		if c.Seq <= lastOf[p] {
			t.Fatalf("partition %d: sequence %d after %d", p, c.Seq, lastOf[p])
		}
		lastOf[p] = c.Seq
		got[c.Campaign] = append(got[c.Campaign], c)
	}
	if len(got) != campaigns {
		t.Fatalf("got commits of %d campaigns, want %d", len(got), campaigns)
	}
	for campaign, commits := range want {
		equal := slices.EqualFunc(got[campaign], commits, func(a, b journal.Commit) bool {
			return a.ID == b.ID && a.Seq == b.Seq && bytes.Equal(a.Payload, b.Payload)
		})
		if !equal {
			t.Fatalf("campaign %s: got %v, want %v", campaign, got[campaign], commits)
		}
	}
	if h := j.Health(ctx); !h.Sound() {
		t.Errorf("health: %+v", h)
	}
}

func followerEnds(t *testing.T, open Open) {
	j := open(t, nil)
	ended := newCollector(t)
	ctx, cancel := context.WithCancel(within(t))
	if err := j.Follow(ctx, ended.take); err != nil {
		t.Fatal(err)
	}
	campaign := newID()
	one := mustAppend(t, j, entry(campaign, 0, "x"))
	ended.wait(1)
	cancel()
	witness := newCollector(t)
	if err := j.Follow(within(t), witness.take); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, j, entry(campaign, one, "y"))
	witness.wait(1)
	time.Sleep(50 * time.Millisecond)
	if got := ended.wait(1); len(got) != 1 {
		t.Errorf("got %d commits, want none after the end", len(got)-1)
	}
}

func twoFollowers(t *testing.T, open Open) {
	j := open(t, nil)
	a, b := newCollector(t), newCollector(t)
	for _, f := range []*collector{a, b} {
		if err := j.Follow(within(t), f.take); err != nil {
			t.Fatal(err)
		}
	}
	campaign, last := newID(), uint64(0)
	for range 5 {
		last = mustAppend(t, j, entry(campaign, last, "x"))
	}
	for _, f := range []*collector{a, b} {
		if got := f.wait(5); len(got) != 5 || got[4].Seq != last {
			t.Errorf("got %d commits, want 5", len(got))
		}
	}
}

// wantKeys checks the keys of a bucket, with patience for a copy that lags.
func wantKeys(t testing.TB, b journal.Bucket, want ...string) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		keys, err := b.Keys(within(t))
		if err == nil && slices.Equal(keys, want) {
			return
		}
		if err != nil || time.Now().After(end) {
			t.Fatalf("keys: got %v, %v, want %v", keys, err, want)
		}
	}
}

func bucket(t *testing.T, open Open) {
	j := open(t, nil)
	ctx := within(t)
	b, err := j.Bucket(ctx, "positions")
	if err != nil {
		t.Fatal(err)
	}
	wantKeys(t, b)
	_, _, err = b.Get(ctx, "a")
	wantError(t, err, journal.ErrNotFound)
	_, err = b.Update(ctx, "a", []byte("x"), 7)
	wantError(t, err, journal.ErrConflict)

	one, err := b.Create(ctx, "a", []byte("one"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Create(ctx, "a", []byte("again"))
	wantError(t, err, journal.ErrConflict)
	two, err := b.Update(ctx, "a", []byte("two"), one)
	if err != nil || two <= one {
		t.Fatalf("update: revision %d after %d, %v", two, one, err)
	}
	_, err = b.Update(ctx, "a", []byte("stale"), one)
	wantError(t, err, journal.ErrConflict)
	_, err = b.Update(ctx, "a", []byte("stale"), 0)
	wantError(t, err, journal.ErrConflict)
	if value, revision, err := b.Get(ctx, "a"); err != nil || string(value) != "two" || revision != two {
		t.Errorf("get: %q at %d, %v", value, revision, err)
	}
	three, err := b.Put(ctx, "a", []byte("three"))
	if err != nil || three <= two {
		t.Errorf("put: revision %d after %d, %v", three, two, err)
	}
	if _, err := b.Put(ctx, "Z/y.x=1", nil); err != nil {
		t.Errorf("put of an empty value: %v", err)
	}
	if value, _, err := b.Get(ctx, "Z/y.x=1"); err != nil || len(value) != 0 {
		t.Errorf("get of an empty value: %q, %v", value, err)
	}
	wantKeys(t, b, "Z/y.x=1", "a")

	for range 2 {
		if err := b.Delete(ctx, "a"); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err = b.Get(ctx, "a")
	wantError(t, err, journal.ErrNotFound)
	_, err = b.Update(ctx, "a", []byte("stale"), three)
	wantError(t, err, journal.ErrConflict)
	wantKeys(t, b, "Z/y.x=1")
	four, err := b.Create(ctx, "a", []byte("four"))
	if err != nil || four <= three {
		t.Errorf("create after delete: revision %d after %d, %v", four, three, err)
	}

	for _, key := range []string{"", ".", "a.", ".a", "a..b", "a b", "*", ">", "a\n"} {
		if _, err := b.Put(ctx, key, nil); !errors.Is(err, journal.ErrInvalid) {
			t.Errorf("key %q: got error %v", key, err)
		}
	}

	// Of many that expect one revision, one gets it.
	var won atomic.Int64
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if _, err := b.Update(ctx, "a", []byte("race"), four); err == nil {
				won.Add(1)
			} else if !errors.Is(err, journal.ErrConflict) {
				t.Errorf("race: %v", err)
			}
		})
	}
	group.Wait()
	if won.Load() != 1 {
		t.Errorf("%d of 8 updates at one revision were made, want 1", won.Load())
	}
}

func buckets(t *testing.T, open Open) {
	j := open(t, nil)
	ctx := within(t)
	for _, name := range []string{"one", "two", "one"} {
		b, err := j.Bucket(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Put(ctx, name, []byte(name)); err != nil {
			t.Fatal(err)
		}
		wantKeys(t, b, name)
	}
	for _, name := range []string{"", "a.b", "*", "a b", strings.Repeat("x", 65)} {
		if _, err := j.Bucket(ctx, name); !errors.Is(err, journal.ErrInvalid) {
			t.Errorf("name %q: got error %v", name, err)
		}
	}
}

func feed(t *testing.T, open Open) {
	j := open(t, nil)
	if err := j.Publish(within(t), "feed."+newID()+".roll.made", []byte("{}")); err != nil {
		t.Error(err)
	}
	for _, subject := range []string{"", "feed", "feed.", "feed.a.", "feed.*", "feed.>", "ledger.0.x", "$JS.API.INFO", "feed.a b", "feeds.a"} {
		if err := j.Publish(within(t), subject, nil); !errors.Is(err, journal.ErrInvalid) {
			t.Errorf("subject %q: got error %v", subject, err)
		}
	}
}

func health(t *testing.T, open Open) {
	j := open(t, nil)
	if h := j.Health(within(t)); !h.Sound() || len(h.Partitions) == 0 {
		t.Fatalf("empty: %+v", h)
	}
	campaign := newID()
	last := mustAppend(t, j, entry(campaign, mustAppend(t, j, entry(campaign, 0, "x")), "y"))
	h := j.Health(within(t))
	p := h.Partitions[journal.PartitionOf(campaign, len(h.Partitions))]
	if !h.Sound() || p.First != 1 || p.Last != last || p.Messages != 2 {
		t.Errorf("after two commits: %+v", h)
	}
}

func endedContext(t *testing.T, open Open) {
	j := open(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	e := entry(newID(), 0, "x")
	_, err := j.Append(ctx, e)
	wantError(t, err, context.Canceled)
	var unclear *journal.UnclearError
	if errors.As(err, &unclear) {
		t.Errorf("got %v, want a clear answer", err)
	}
	wantOnly(t, j, e.Campaign, nil, nil)
	wantError(t, j.Read(ctx, e.Campaign, 0, func(journal.Commit) error { return nil }), context.Canceled)
	wantError(t, j.Follow(ctx, func(journal.Commit) {}), context.Canceled)
}

func closed(t *testing.T, open Open) {
	j := open(t, nil)
	ctx := within(t)
	b, err := j.Bucket(ctx, "b")
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Follow(ctx, func(journal.Commit) {}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	e := entry(newID(), 0, "x")
	calls := map[string]func() error{
		"append":    func() error { _, err := j.Append(ctx, e); return err },
		"read":      func() error { return j.Read(ctx, e.Campaign, 0, func(journal.Commit) error { return nil }) },
		"last":      func() error { _, err := j.Last(ctx, e.Campaign); return err },
		"first":     func() error { _, err := j.First(ctx, e.Campaign); return err },
		"campaigns": func() error { _, err := j.Campaigns(ctx, "", 0); return err },
		"follow":    func() error { return j.Follow(ctx, func(journal.Commit) {}) },
		"bucket":    func() error { _, err := j.Bucket(ctx, "b"); return err },
		"get":       func() error { _, _, err := b.Get(ctx, "k"); return err },
		"publish":   func() error { return j.Publish(ctx, "feed.x", nil) },
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, journal.ErrClosed) {
			t.Errorf("%s: got error %v, want %v", name, err, journal.ErrClosed)
		}
	}
	if h := j.Health(ctx); h.Reachable {
		t.Errorf("health: %+v, want unreachable", h)
	}
}
