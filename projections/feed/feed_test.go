package feed

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tallystick/events"
	"tallystick/events/journal"
	"tallystick/projections"
	"tallystick/projections/internal/example"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func id(i int) string { return fmt.Sprintf("0192f000-0000-7000-8000-%012d", i) }

// writer writes one campaign to a journal.
type writer struct {
	t       testing.TB
	journal journal.Journal
	ledger  *example.Ledger
	first   []byte
	seq     uint64
	choose  func(int) int
}

func newWriter(t testing.TB, j journal.Journal, i int) *writer {
	l, first := example.Start(id(i))
	return &writer{t: t, journal: j, ledger: l, first: first, choose: rand.New(rand.NewPCG(uint64(i), 1)).IntN}
}

// step stores one commit.
func (w *writer) step() journal.Commit {
	payload := w.first
	if w.seq > 0 {
		payload = w.ledger.Step(w.choose)
	}
	return w.store(payload)
}

func (w *writer) store(payload []byte) journal.Commit {
	w.t.Helper()
	recs, err := events.ParseCommit(payload)
	if err != nil {
		w.t.Fatal(err)
	}
	seq, err := w.journal.Append(context.Background(), journal.Entry{
		Campaign: w.ledger.Campaign, ID: recs[0].Cmd.ID, Expected: w.seq, Payload: payload,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.seq = seq
	return journal.Commit{Campaign: w.ledger.Campaign, ID: recs[0].Cmd.ID, Seq: seq, Payload: payload}
}

// write stores commits until there are n records or more.
func (w *writer) write(n int64) {
	for w.seq == 0 || w.ledger.N < n {
		w.step()
	}
}

// note stores a commit of exactly one record.
func (w *writer) note() journal.Commit {
	return w.store(w.ledger.Commit("note.add", "", &events.NoteAdded{Text: "a note"}))
}

func started(t testing.TB, j journal.Journal, options ...Option) *Hub {
	t.Helper()
	h := NewHub(j, options...)
	if err := h.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

func memory(t testing.TB) *journal.Memory {
	m := journal.NewMemory(2)
	t.Cleanup(func() { _ = m.Close() })
	return m
}

func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// shown is everything views show, as JSON.
func shown(v *projections.Views) string {
	var timelines []projections.Timeline
	for _, c := range v.Characters() {
		line, _ := v.Timeline(c.ID, 0, 0)
		timelines = append(timelines, line)
	}
	out, err := json.Marshal(map[string]any{
		"position": v.Position(), "campaign": v.Campaign(), "characters": v.Characters(),
		"timelines": timelines, "sessions": v.Sessions(), "rolls": v.Rolls(0, 0, nil),
	}, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return string(out)
}

// raw folds what the journal holds, without a hub.
func raw(t testing.TB, j journal.Journal, campaign string) *projections.Views {
	t.Helper()
	v := projections.New(campaign)
	err := j.Read(context.Background(), campaign, 0, func(c journal.Commit) error {
		recs, err := events.ParseCommit(c.Payload)
		for _, rec := range recs {
			err = errors.Join(err, v.Apply(rec))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func view(t testing.TB, h *Hub, campaign string, after int64) string {
	t.Helper()
	var s string
	err := h.View(soon(t), campaign, after, func(v *projections.Views) error { s = shown(v); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func equal(t testing.TB, h *Hub, j journal.Journal, campaign string) {
	t.Helper()
	want := raw(t, j, campaign)
	if diff := cmp.Diff(shown(want), view(t, h, campaign, want.Position()-1)); diff != "" {
		t.Fatalf("campaign %s (-stream +view):\n%s", campaign, diff)
	}
}

func next(t testing.TB, s *Subscription) Delivery {
	t.Helper()
	d, err := s.Next(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// notes stores commits of one record each until there are n records.
func (w *writer) notes(n int64) {
	w.write(1)
	for w.ledger.N < n {
		w.note()
	}
}

// expect takes the records first to last from a subscription.
func expect(t testing.TB, s *Subscription, first, last int64, live bool) {
	t.Helper()
	for n := first; n <= last; n++ {
		d := next(t, s)
		rec, err := events.Parse(d.Line)
		if d.Record.N != n || d.Live != live || err != nil || rec.N != n {
			t.Fatalf("got record %d (line %d, %v), live %v, want %d, live %v", d.Record.N, rec.N, err, d.Live, n, live)
		}
	}
}

// silent takes nothing.
func silent(t testing.TB, s *Subscription) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if d, err := s.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got record %d, %v, want nothing", d.Record.N, err)
	}
}

// deaf tells its followers nothing, as a cluster does whose words are late.
type deaf struct{ journal.Journal }

func (deaf) Follow(context.Context, func(journal.Commit)) error { return nil }

// What another node has stored is in the views after a look, though nothing was
// heard of it.
func TestLook(t *testing.T) {
	j := memory(t)
	h := started(t, deaf{j})
	w := newWriter(t, j, 1)
	w.notes(3)
	before := view(t, h, id(1), -1)
	w.notes(5)
	if view(t, h, id(1), -1) != before {
		t.Fatal("the views heard of a commit that nobody told them of")
	}
	if err := h.Look(soon(t), id(1)); err != nil {
		t.Fatal(err)
	}
	if got, want := view(t, h, id(1), -1), shown(raw(t, j, id(1))); got != want {
		t.Errorf("after a look the views show\n%s\nthe journal holds\n%s", got, want)
	}
	if err := h.Look(soon(t), id(2)); !errors.Is(err, ErrUnknown) {
		t.Errorf("a look at a campaign that is not there: %v", err)
	}
}

// D10: a feed that was cut at record 10 and is resumed delivers exactly 11 to 15,
// as backlog, also after a restart; what is stored from then on is live.
func TestResume(t *testing.T) {
	j := memory(t)
	h := started(t, j)
	w := newWriter(t, j, 1)
	w.notes(11)
	s := h.Subscribe(id(1), 0)
	expect(t, s, 0, 10, false)
	s.Close()
	w.notes(16)
	s = h.Subscribe(id(1), 11)
	expect(t, s, 11, 15, false)
	silent(t, s)
	s.Close()
	s = started(t, j).Subscribe(id(1), 11)
	defer s.Close()
	expect(t, s, 11, 15, false)
	w.notes(18)
	expect(t, s, 16, 17, true)
	silent(t, s)
}

// D10: an id from elsewhere is answered, never with silence.
func TestResumeElsewhere(t *testing.T) {
	j := memory(t)
	h := started(t, j)
	w := newWriter(t, j, 1)
	w.notes(11)
	for _, row := range []struct {
		campaign string
		from     int64
		want     error
	}{
		{id(1), 12, ErrFuture},
		{id(1), 1 << 50, ErrFuture},
		{id(2), 0, ErrUnknown},
		{id(2), FromNow, ErrUnknown},
		{"no id", 0, ErrUnknown},
	} {
		s := h.Subscribe(row.campaign, row.from)
		for range 2 {
			if _, err := s.Next(soon(t)); !errors.Is(err, row.want) {
				t.Errorf("%s from %d: got %v, want %v", row.campaign, row.from, err, row.want)
			}
		}
		s.Close()
	}
	for _, from := range []int64{FromNow, 12} { // nothing is owed
		s := h.Subscribe(id(1), from)
		defer s.Close()
		silent(t, s)
		at := w.ledger.N
		w.note()
		expect(t, s, at, at, true)
	}
}

// D12: writers write, the hub is restarted at random, feeds are resumed where
// they were. In the end every view is what a fold over the raw stream gives, and
// every feed had every record once and in order.
func TestNothingSkipped(t *testing.T) { nothingSkipped(t, memory(t), 8, 20, 100, 10) }

func TestNothingSkippedOnDisk(t *testing.T) {
	j, err := journal.Embedded(soon(t), journal.Options{Dir: t.TempDir(), Unsafe: true})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	nothingSkipped(t, j, 4, 6, 40, 4)
}

func nothingSkipped(t *testing.T, j journal.Journal, writers, campaigns, commits, restarts int) {
	current := &restarted{}
	current.start(t, j)
	all := make([]*shared, campaigns)
	for i := range all {
		all[i] = &shared{writer: newWriter(t, j, i)}
		all[i].step()
	}
	var writing, reading sync.WaitGroup
	for i := range writers {
		choose := rand.New(rand.NewPCG(uint64(i), 2))
		writing.Go(func() {
			for range commits {
				all[choose.IntN(campaigns)].stepAndTell(current, choose.IntN(2) == 0)
			}
		})
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	received := make([][]int64, campaigns)
	ends := make([]atomic.Int64, campaigns) // where a feed may end, once that is known
	for i := range all {
		reading.Go(func() { received[i] = follow(ctx, current, id(i), &ends[i]) })
	}
	choose := rand.New(rand.NewPCG(7, 7))
	for range restarts {
		time.Sleep(time.Duration(choose.IntN(30)) * time.Millisecond)
		current.start(t, j)
	}
	writing.Wait()
	h := current.get()
	for i := range all {
		equal(t, h, j, id(i))
	}
	fresh := started(t, j)
	for i := range all {
		equal(t, fresh, j, id(i))
	}
	if health := h.Health(); !health.Sound() || health.Behind != 0 {
		t.Errorf("health: %+v", health)
	}
	for i, w := range all {
		ends[i].Store(w.ledger.N + 1)
		w.note()
	}
	reading.Wait()
	for i, w := range all {
		for n, got := range received[i] {
			if got != int64(n) {
				t.Fatalf("campaign %d: the feed's %dth record is %d", i, n, got)
			}
		}
		if int64(len(received[i])) != w.ledger.N {
			t.Errorf("campaign %d: the feed had %d of %d records", i, len(received[i]), w.ledger.N)
		}
	}
}

// shared is a writer that several goroutines use in turn.
type shared struct {
	mu sync.Mutex
	*writer
}

// stepAndTell stores a commit and tells the hub, inside or outside its turn: then
// the commits of two writers may be told in another order.
func (s *shared) stepAndTell(hubs *restarted, inside bool) {
	s.mu.Lock()
	c := s.step()
	if inside {
		hubs.get().Notify(c)
	}
	s.mu.Unlock()
	if !inside {
		hubs.get().Notify(c)
	}
}

// restarted is a hub that is replaced now and then.
type restarted struct{ hub atomic.Pointer[Hub] }

func (r *restarted) get() *Hub { return r.hub.Load() }

func (r *restarted) start(t testing.TB, j journal.Journal) {
	old := r.hub.Swap(started(t, j))
	if old != nil {
		old.Close()
	}
}

// follow reads a feed to its end, and resumes it where it was whenever the hub is
// restarted or it was too slow.
func follow(ctx context.Context, hubs *restarted, campaign string, end *atomic.Int64) (received []int64) {
	for ctx.Err() == nil {
		s := hubs.get().Subscribe(campaign, int64(len(received)))
		for {
			d, err := s.Next(ctx)
			if err != nil {
				break
			}
			received = append(received, d.Record.N)
			if int64(len(received)) == end.Load() {
				s.Close()
				return received
			}
		}
		s.Close()
	}
	return received
}

// odd is a journal with faults between it and the hub.
type odd struct {
	journal.Journal
	deaf  bool                      // nothing follows
	miss  func(journal.Commit) bool // what does not follow
	lack  func(journal.Commit) bool // what is not read
	fail  func() error              // the answer to reading
	reads atomic.Int64
}

func (o *odd) Follow(ctx context.Context, each func(journal.Commit)) error {
	if o.deaf {
		return nil
	}
	return o.Journal.Follow(ctx, func(c journal.Commit) {
		if o.miss == nil || !o.miss(c) {
			each(c)
		}
	})
}

func (o *odd) Read(ctx context.Context, campaign string, after uint64, each func(journal.Commit) error) error {
	o.reads.Add(1)
	if o.fail != nil {
		if err := o.fail(); err != nil {
			return err
		}
	}
	return o.Journal.Read(ctx, campaign, after, func(c journal.Commit) error {
		if o.lack != nil && o.lack(c) {
			return nil
		}
		return each(c)
	})
}

// R11: however commits arrive (in any order, many times, in batches of any size,
// some never), the views are what a rebuild gives, and feeds are whole.
func TestAnyArrival(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		j := &odd{Journal: journal.NewMemory(1), deaf: true}
		defer j.Close()
		h := started(t, j)
		defer h.Close()
		w := newWriter(t, j, 1)
		w.choose = func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "choice") }
		w.step()
		s := h.Subscribe(id(1), 0)
		defer s.Close()
		var told []journal.Commit
		for range rapid.IntRange(1, 6).Draw(rt, "batches") {
			for range rapid.IntRange(1, 6).Draw(rt, "commits") {
				told = append(told, w.step())
			}
			order := rapid.Permutation(told).Draw(rt, "order")
			for _, c := range order[:rapid.IntRange(0, len(order)).Draw(rt, "arrive")] {
				h.Notify(c)
			}
			h.Notify(told[len(told)-1]) // the last is always known of
			if rapid.Bool().Draw(rt, "look") {
				if want, got := shown(raw(t, j, id(1))), view(t, h, id(1), -1); got != want {
					rt.Fatal(cmp.Diff(want, got))
				}
			}
		}
		if want, got := shown(raw(t, j, id(1))), view(t, h, id(1), w.ledger.N-1); got != want {
			rt.Fatal(cmp.Diff(want, got))
		}
		for n := range w.ledger.N {
			if d := next(t, s); d.Record.N != n {
				rt.Fatalf("the feed's %dth record is %d", n, d.Record.N)
			}
		}
	})
}

// A commit that does not follow is read when the next one shows that it is missing.
func TestGapInFollowing(t *testing.T) {
	var w *writer
	j := &odd{Journal: memory(t), miss: func(c journal.Commit) bool { return c.Seq%3 != 0 }}
	h := started(t, j)
	w = newWriter(t, j, 1)
	w.notes(2)
	s := h.Subscribe(id(1), 0)
	defer s.Close()
	expect(t, s, 0, 1, false)
	for w.seq%3 != 0 || w.ledger.N < 20 {
		w.note()
	}
	expect(t, s, 2, w.ledger.N-1, true)
	equal(t, h, j, id(1))
}

// A commit that the journal lacks too stops that campaign, visibly, and no other;
// once the journal has it again, the views go on.
func TestGapInJournal(t *testing.T) {
	var lost atomic.Uint64
	lacks := func(c journal.Commit) bool { return c.Seq == lost.Load() }
	j := &odd{Journal: journal.NewMemory(1), miss: lacks, lack: lacks}
	defer j.Close()
	h := started(t, j)
	w, other := newWriter(t, j, 1), newWriter(t, j, 2)
	w.notes(3)
	other.notes(3)
	equal(t, h, j, id(1))
	lost.Store(w.seq + 3) // other's last commit stands between
	lost.Store(other.seq + 1)
	if c := w.note(); c.Seq != lost.Load() {
		t.Fatalf("lost %d, meant %d", c.Seq, lost.Load())
	}
	w.note()
	err := h.View(soon(t), id(1), 4, func(*projections.Views) error { return nil })
	stoppedAt(t, h, err, id(1), 3, "due")
	other.notes(5)
	equal(t, h, j, id(2))
	lost.Store(0)
	if err := h.Reload(soon(t), id(1)); err != nil {
		t.Fatal(err)
	}
	equal(t, h, j, id(1))
	if health := h.Health(); !health.Sound() {
		t.Errorf("health after it was mended: %+v", health)
	}
}

// The last commit is known of and cannot be read: the views stop and do not
// pretend to be as of now.
func TestTailMissing(t *testing.T) {
	j := &odd{Journal: memory(t), deaf: true}
	h := started(t, j)
	w := newWriter(t, j, 1)
	w.notes(3)
	equal(t, h, j, id(1))
	h.Notify(journal.Commit{Campaign: id(1), ID: "x", Seq: w.seq + 1, Payload: []byte("{}")})
	err := h.View(soon(t), id(1), -1, func(*projections.Views) error { return nil })
	stoppedAt(t, h, err, id(1), 3, "no commit")
}

// stoppedAt checks that views stopped, and that it shows.
func stoppedAt(t testing.TB, h *Hub, err error, campaign string, n int64, reason string) {
	t.Helper()
	var stopped *StoppedError
	if !errors.As(err, &stopped) || stopped.Campaign != campaign || stopped.N != n || !strings.Contains(stopped.Reason, reason) {
		t.Fatalf("got %v, want campaign %s stopped at record %d: %s", err, campaign, n, reason)
	}
	health := h.Health()
	if health.Sound() || len(health.Stopped) != 1 || *health.Stopped[0] != *stopped {
		t.Fatalf("health: %+v", health)
	}
}

// A record that contradicts the ones before stops its campaign's views there.
// They do not step over it; everything before it can be read.
func TestContradiction(t *testing.T) {
	for _, name := range []string{"loaded before", "loaded after"} {
		t.Run(name, func(t *testing.T) {
			j := memory(t)
			h := started(t, j)
			w, other := newWriter(t, j, 1), newWriter(t, j, 2)
			w.notes(5)
			other.notes(5)
			s := h.Subscribe(id(1), 0)
			defer s.Close()
			if name == "loaded before" {
				expect(t, s, 0, 4, false)
			}
			w.store(w.ledger.Commit("x", "", &events.NoteAdded{Text: "fine"}, &events.CharacterDied{Subject: events.Subject{Character: "nobody"}}))
			w.notes(9)
			ctx := soon(t)
			for n := int64(0); ; n++ {
				d, err := s.Next(ctx)
				if err != nil {
					stoppedAt(t, h, err, id(1), 6, "nobody")
					break
				}
				if d.Record.N >= 6 {
					t.Fatalf("stepped over it: record %d", d.Record.N)
				}
			}
			err := h.View(ctx, id(1), -1, func(*projections.Views) error { t.Error("shown as if it were as of now"); return nil })
			stoppedAt(t, h, err, id(1), 6, "nobody")
			stoppedAt(t, h, h.View(ctx, id(1), 6, nil), id(1), 6, "nobody")
			if err := h.View(ctx, id(1), 5, func(*projections.Views) error { return nil }); err != nil {
				t.Errorf("what was before it: %v", err)
			}
			var read int
			err = h.Records(ctx, id(1), 0, 0, func(events.Record, []byte) error { read++; return nil })
			stoppedAt(t, h, err, id(1), 6, "nobody")
			if read != 6 {
				t.Errorf("read %d records before it, want 6", read)
			}
			if err := h.Records(ctx, id(1), 0, 6, func(events.Record, []byte) error { return nil }); err != nil {
				t.Errorf("records that are there: %v", err)
			}
			if _, err := h.At(ctx, id(1), 5); err != nil {
				t.Errorf("as of before it: %v", err)
			}
			if _, err := h.At(ctx, id(1), 8); !errors.As(err, new(*projections.Error)) {
				t.Errorf("as of after it: %v", err)
			}
			stoppedAt(t, h, h.Reload(ctx, id(1)), id(1), 6, "nobody")
			other.notes(7)
			equal(t, h, j, id(2))
		})
	}
}

// Bytes that are no record stop a campaign too.
func TestDamage(t *testing.T) {
	j := memory(t)
	h := started(t, j)
	w := newWriter(t, j, 1)
	w.notes(5)
	if _, err := j.Append(soon(t), journal.Entry{Campaign: id(1), ID: "x", Expected: w.seq, Payload: []byte(`{"v":1}`)}); err != nil {
		t.Fatal(err)
	}
	stoppedAt(t, h, h.View(soon(t), id(1), -1, nil), id(1), 5, "record")
}

// A journal that cannot be reached stops nothing: it is asked again.
func TestUnreachable(t *testing.T) {
	var failing atomic.Int64
	down := errors.New("no route")
	j := &odd{Journal: memory(t), deaf: true, fail: func() error {
		if failing.Add(-1) >= 0 {
			return down
		}
		return nil
	}}
	h := started(t, j)
	w := newWriter(t, j, 1)
	w.notes(5)
	failing.Store(1)
	if err := h.View(soon(t), id(1), -1, nil); !errors.Is(err, down) {
		t.Fatalf("got %v, want %v", err, down)
	}
	s := h.Subscribe(id(1), FromNow)
	defer s.Close()
	silent(t, s)
	w.note()
	failing.Store(3)
	h.Notify(w.note()) // shows that one is missing
	expect(t, s, 5, 6, true)
	if failing.Load() >= 0 {
		t.Error("nothing was read")
	}
	if health := h.Health(); !health.Sound() {
		t.Errorf("health: %+v", health)
	}
}

// A campaign that is idle is let go when the budget is used up, the one used last
// at the end; loaded again it is the same. Nothing is read before it is asked for.
func TestEviction(t *testing.T) {
	j := &odd{Journal: memory(t)}
	for i := range 5 {
		newWriter(t, j, i).write(100)
	}
	h := started(t, j, Budget(3*(CampaignBytes+110*RecordBytes))) // fits three
	if reads := j.reads.Load(); reads != 0 {
		t.Fatalf("%d reads at the start", reads)
	}
	before := map[int]string{}
	for i := range 5 {
		before[i] = view(t, h, id(i), -1)
		reads := j.reads.Load()
		view(t, h, id(0), -1)
		if j.reads.Load() != reads {
			t.Errorf("what was used all the time had been let go for campaign %d", i)
		}
	}
	health := h.Health()
	if health.Loaded >= 5 || health.Bytes > 3*(CampaignBytes+110*RecordBytes) {
		t.Fatalf("nothing was let go: %+v", health)
	}
	reads := j.reads.Load()
	view(t, h, id(0), -1)
	view(t, h, id(4), -1)
	if j.reads.Load() != reads {
		t.Error("what was used last had been let go")
	}
	view(t, h, id(1), -1)
	if j.reads.Load() == reads {
		t.Error("what was idle longest had not been let go")
	}
	for i := range 5 {
		if diff := cmp.Diff(before[i], view(t, h, id(i), -1)); diff != "" {
			t.Errorf("campaign %d loaded again: %s", i, diff)
		}
	}
}

// What is in use is never let go, and what does not exist is not kept.
func TestEvictionSparesUse(t *testing.T) {
	j := &odd{Journal: memory(t)}
	h := started(t, j, Budget(1))
	w := newWriter(t, j, 1)
	w.notes(10)
	s := h.Subscribe(id(1), FromNow)
	silent(t, s)
	left := h.Subscribe(id(1), FromNow)
	silent(t, left)
	left.Close()
	for i := range 50 {
		if err := h.View(soon(t), id(100+i), -1, nil); !errors.Is(err, ErrUnknown) {
			t.Fatal(err)
		}
	}
	if health := h.Health(); health.Loaded != 1 || health.Subscribers != 1 {
		t.Errorf("%+v, want one campaign", health)
	}
	w.note()
	expect(t, s, 10, 10, true)
	s.Close()
	s.Close()
	// The follower that handed over the last record may still be at it.
	for end := soon(t); h.Health().Loaded > 0 && end.Err() == nil; {
		time.Sleep(time.Millisecond)
	}
	if health := h.Health(); health.Loaded != 0 || health.Bytes != 0 || health.Subscribers != 0 {
		t.Errorf("%+v, want nothing", health)
	}
}

// A subscriber may be as far behind as the queue is long. Beyond that it is cut
// off, and goes on where it was.
func TestSlow(t *testing.T) {
	j := memory(t)
	h := started(t, j, Queue(10))
	w := newWriter(t, j, 1)
	w.notes(3)
	quick, slow, slower := h.Subscribe(id(1), FromNow), h.Subscribe(id(1), FromNow), h.Subscribe(id(1), FromNow)
	for _, s := range []*Subscription{quick, slow, slower} {
		defer s.Close()
		silent(t, s)
	}
	w.notes(13)
	expect(t, quick, 3, 12, true)
	expect(t, slow, 3, 3, true) // ten behind
	w.notes(14)
	expect(t, quick, 13, 13, true)
	for range 2 { // eleven behind
		if d, err := slower.Next(soon(t)); !errors.Is(err, ErrSlow) {
			t.Fatalf("got record %d, %v, want ErrSlow", d.Record.N, err)
		}
	}
	expect(t, slow, 4, 13, true)
	slower.Close()
	slower = h.Subscribe(id(1), 3)
	defer slower.Close()
	expect(t, slower, 3, 13, false)
	w.note()
	expect(t, slower, 14, 14, true)
}

// One commit, however large, cuts nobody off.
func TestLargeCommit(t *testing.T) {
	j := memory(t)
	h := started(t, j, Queue(10))
	w := newWriter(t, j, 1)
	w.notes(3)
	s := h.Subscribe(id(1), FromNow)
	defer s.Close()
	silent(t, s)
	notes := make([]events.Event, events.MaxCommitEvents)
	for i := range notes {
		notes[i] = &events.NoteAdded{Text: "a note"}
	}
	w.store(w.ledger.Commit("x", "", notes...))
	expect(t, s, 3, 2+events.MaxCommitEvents, true)
}

// A long backlog is read in pages, and joins what is stored meanwhile.
func TestLongBacklog(t *testing.T) {
	j := memory(t)
	h := started(t, j, Queue(10))
	w := newWriter(t, j, 1)
	w.write(3*pageRecords + 7)
	end := w.ledger.N
	s := h.Subscribe(id(1), 5)
	defer s.Close()
	expect(t, s, 5, 5, false)
	w.notes(end + 300)
	expect(t, s, 6, end-1, false)
	expect(t, s, end, end+299, true)
	silent(t, s)
}

// A reader waits for the record it asked for, and not longer than it wants to.
func TestWait(t *testing.T) {
	j := memory(t)
	h := started(t, j)
	w := newWriter(t, j, 1)
	w.notes(3)
	done := make(chan int64)
	go func() {
		_ = h.View(soon(t), id(1), 4, func(v *projections.Views) error { done <- v.Position(); return nil })
	}()
	w.note()
	select {
	case <-done:
		t.Fatal("shown before record 4 was there")
	case <-time.After(30 * time.Millisecond):
	}
	w.note()
	if position := <-done; position != 5 {
		t.Errorf("at %d, want 5", position)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	err := h.View(ctx, id(1), 5, func(*projections.Views) error { t.Error("shown"); return nil })
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "which is at 4") {
		t.Errorf("got %v", err)
	}
	if err := h.View(soon(t), id(9), 5, nil); !errors.Is(err, ErrUnknown) {
		t.Errorf("got %v, want ErrUnknown", err)
	}
	if loaded := h.Health().Loaded; loaded != 1 {
		t.Errorf("%d loaded: what does not exist is kept", loaded)
	}
	if err := h.View(soon(t), id(1), -1, func(*projections.Views) error { return errEnough }); err != errEnough {
		t.Errorf("got %v, want the caller's own", err)
	}
}

// A reader who knows of a record sees it, though it did not follow yet.
func TestWaitLooks(t *testing.T) {
	j := &odd{Journal: memory(t), deaf: true}
	h := started(t, j)
	w := newWriter(t, j, 1)
	w.notes(3)
	view(t, h, id(1), -1)
	w.note()
	if got, want := view(t, h, id(1), 3), shown(raw(t, j, id(1))); got != want {
		t.Error(cmp.Diff(want, got))
	}
}

// A reader in this process sees what was just notified, without the follower.
func TestNotified(t *testing.T) {
	j := &odd{Journal: memory(t), deaf: true}
	h := started(t, j)
	w := newWriter(t, j, 1)
	w.notes(3)
	view(t, h, id(1), -1)
	reads := j.reads.Load()
	for range 3 {
		c := w.note()
		h.Notify(c)
		h.Notify(c)
		if want, got := shown(raw(t, j.Journal, id(1))), view(t, h, id(1), -1); got != want {
			t.Fatal(cmp.Diff(want, got))
		}
	}
	if j.reads.Load() != reads {
		t.Error("the journal was read for what had been handed over")
	}
}

// Any past moment is what a fold up to there gives.
func TestAt(t *testing.T) {
	j := memory(t)
	h := started(t, j)
	w := newWriter(t, j, 1)
	w.write(60)
	all := records(t, h, 0, 0)
	v := projections.New(id(1))
	for n, rec := range all {
		if err := v.Apply(rec); err != nil {
			t.Fatal(err)
		}
		past, err := h.At(soon(t), id(1), int64(n))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(shown(v), shown(past)); diff != "" {
			t.Fatalf("as of %d: %s", n, diff)
		}
	}
	equal(t, h, j, id(1))
	if _, err := h.At(soon(t), id(1), w.ledger.N); !errors.Is(err, ErrFuture) {
		t.Errorf("got %v, want ErrFuture", err)
	}
	if _, err := h.At(soon(t), id(2), 0); !errors.Is(err, ErrUnknown) {
		t.Errorf("got %v, want ErrUnknown", err)
	}
	if _, err := h.At(soon(t), id(1), -1); err == nil {
		t.Error("as of -1")
	}
}

func records(t testing.TB, h *Hub, from int64, limit int) (all []events.Record) {
	t.Helper()
	err := h.Records(soon(t), id(1), from, limit, func(rec events.Record, line []byte) error {
		again, err := events.Parse(line)
		if diff := cmp.Diff(rec, again); diff != "" || err != nil {
			t.Errorf("record %d and its line differ: %v %s", rec.N, err, diff)
		}
		all = append(all, rec)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Any part of the history is that part of it.
func TestRecords(t *testing.T) {
	j := memory(t)
	h := started(t, j)
	w := newWriter(t, j, 1)
	w.write(80)
	end := w.ledger.N
	rapid.Check(t, func(rt *rapid.T) {
		from, limit := rapid.Int64Range(-1, end+2).Draw(rt, "from"), rapid.IntRange(0, 100).Draw(rt, "limit")
		got := records(t, h, from, limit)
		first, last := max(from, 0), end
		if limit > 0 {
			last = min(last, first+int64(limit))
		}
		if int64(len(got)) != max(0, last-first) {
			rt.Fatalf("%d records, want %d to %d", len(got), first, last-1)
		}
		for i, rec := range got {
			if rec.N != first+int64(i) {
				rt.Fatalf("the %dth is %d", i, rec.N)
			}
		}
	})
	if err := h.Records(soon(t), id(1), 0, 0, func(events.Record, []byte) error { return errors.New("mine") }); err == nil || err.Error() != "mine" {
		t.Errorf("got %v, want the caller's own", err)
	}
	if err := h.Records(soon(t), id(2), 0, 0, nil); !errors.Is(err, ErrUnknown) {
		t.Errorf("got %v, want ErrUnknown", err)
	}
}

// Rolls are read again whole, wherever they stand.
func TestRolls(t *testing.T) {
	j := memory(t)
	h := started(t, j)
	w := newWriter(t, j, 1)
	w.write(300)
	var private projections.Page[projections.RollEntry]
	err := h.View(soon(t), id(1), -1, func(v *projections.Views) error {
		private = v.Rolls(0, 0, func(r projections.RollEntry) bool { return r.Visibility != nil })
		return nil
	})
	if err != nil || len(private.Items) < 3 {
		t.Fatalf("%d rolls, %v", len(private.Items), err)
	}
	rolls, err := h.Rolls(soon(t), id(1), private.Items)
	if err != nil {
		t.Fatal(err)
	}
	all := records(t, h, 0, 0)
	var want []projections.Roll
	for _, rec := range all {
		if rec.Type == "roll.made" && strings.Contains(string(rec.Data), `"physical"`) {
			want = append(want, projections.Roll{
				Moment: projections.Moment{N: rec.N, At: rec.At, Clock: rec.Clock}, By: "mara", Command: rec.Cmd.ID, CommandType: "roll",
				Session: rolls[len(want)].Session, Visibility: []byte(`"private"`), Roll: rec.Data,
			})
		}
	}
	if diff := cmp.Diff(want, rolls); diff != "" {
		t.Error(diff)
	}
	if rolls, err := h.Rolls(soon(t), id(1), nil); rolls == nil || len(rolls) != 0 || err != nil {
		t.Errorf("none: %v, %v", rolls, err)
	}
	if _, err := h.Rolls(soon(t), id(1), []projections.RollEntry{{N: 0}}); err == nil {
		t.Error("record 0 passed for a roll")
	}
	if _, err := h.Rolls(soon(t), id(1), []projections.RollEntry{{N: 1 << 40}}); !errors.Is(err, ErrFuture) {
		t.Errorf("got %v, want ErrFuture", err)
	}
}

// Who waits is told when the hub or the subscription is closed.
func TestClose(t *testing.T) {
	j := memory(t)
	h := started(t, j)
	newWriter(t, j, 1).notes(3)
	closed := h.Subscribe(id(1), FromNow)
	waiting := []func() error{
		func() error { _, err := h.Subscribe(id(1), FromNow).Next(context.Background()); return err },
		func() error { return h.View(context.Background(), id(1), 99, nil) },
		func() error { _, err := closed.Next(context.Background()); return err },
	}
	answers := make(chan error, len(waiting))
	for _, wait := range waiting {
		go func() { answers <- wait() }()
	}
	time.Sleep(20 * time.Millisecond)
	closed.Close()
	if err := <-answers; !errors.Is(err, ErrClosed) {
		t.Errorf("closed subscription: %v", err)
	}
	h.Close()
	for range len(waiting) - 1 {
		if err := <-answers; !errors.Is(err, ErrClosed) {
			t.Errorf("closed hub: %v", err)
		}
	}
	for _, unusable := range []*Hub{h, NewHub(j)} {
		if err := unusable.View(context.Background(), id(1), -1, nil); !errors.Is(err, ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
		if unusable.Health().Following {
			t.Error("said to follow")
		}
	}
	_ = j.Close()
	if err := NewHub(j).Start(context.Background()); !errors.Is(err, journal.ErrClosed) {
		t.Errorf("got %v, want the journal's", err)
	}
}

// BenchmarkOpen loads a cold campaign of 1,000 records from disk.
func BenchmarkOpen(b *testing.B) { benchmarkOpen(b, 1_000) }

// BenchmarkRebuild loads one of 100,000.
func BenchmarkRebuild(b *testing.B) { benchmarkOpen(b, 100_000) }

func benchmarkOpen(b *testing.B, records int64) {
	j, err := journal.Embedded(soon(b), journal.Options{Dir: b.TempDir(), Unsafe: true})
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	w := newWriter(b, j, 1)
	w.write(records)
	h := started(b, j, Budget(0)) // nothing stays loaded
	for b.Loop() {
		if err := h.View(context.Background(), id(1), -1, func(*projections.Views) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*float64(w.ledger.N)/b.Elapsed().Seconds(), "events/s")
}
