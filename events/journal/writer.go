package journal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// How entries of one partition share the disk of a server that syncs each write by
// itself. Measured: an atomic batch costs as much as 12 to 16 messages sent singly,
// whatever its size. Behind a barrier of ours a sync is shared anyhow, and all go
// singly.
const (
	batchFrom    = 16      // waiting entries that are worth a batch
	batchEntries = 1000    // in one batch at most: the server's limit
	batchBytes   = 4 << 20 // of payload in one batch at most, give or take one entry
	sendingMost  = 8       // entries under way singly; more would only queue in the server

	sendingShared = 1024 // entries under way behind a barrier, each a goroutine that waits
)

// batchStore is a store that can also take entries of different campaigns at once.
type batchStore interface {
	store
	publishBatch(ctx context.Context, entries []Entry) ([]uint64, error)
}

// writer appends to one partition. An entry is sent by the goroutine that appends
// it, at once if few are under way: a lone one never waits for company. Others wait
// and go one by one as there is room, or all in one batch when they are many.
// A writer has no goroutine of its own.
type writer struct {
	ctx     context.Context // ends with the journal
	store   batchStore
	refusal refusal
	halted  atomic.Pointer[error] // why nothing is sent any more
	highest atomic.Uint64         // sequence known to have been stored in the stream
	barrier *barrier              // nil: what the server acknowledges is durable
	using   sync.WaitGroup        // appends and batches under way

	mu       sync.Mutex // guards all below
	closed   bool
	sending  int  // entries under way singly
	most     int  // how many may be at most
	room     int  // how many may be now, 1 to most
	batching bool // a batch is under way
	waiting  []*request
}

// request is an entry that waits for its turn.
type request struct {
	entry Entry
	news  chan news // takes exactly one
}

// news ends the wait of a request: it is to send itself now, or a batch has.
type news struct {
	send bool
	seq  uint64
	err  error // of the batch
}

// newWriter makes a writer; a nil barrier says that the store syncs by itself.
func newWriter(ctx context.Context, s batchStore, b *barrier) *writer {
	w := &writer{ctx: ctx, store: s, barrier: b, most: sendingMost}
	if b != nil {
		w.most, b.stored = sendingShared, w.highest.Load
	}
	w.room = w.most
	return w
}

// append stores an entry and returns its sequence.
func (w *writer) append(ctx context.Context, e Entry) (seq uint64, err error) {
	defer func() { w.refusal.note(err) }()
	r := &request{e, make(chan news, 1)}
	if !w.enter(r) {
		return 0, ErrClosed
	}
	defer w.using.Done()
	if len(r.news) == 0 { // not its turn yet
		e.Meanwhile()
	}
	select {
	case n := <-r.news:
		return w.follow(ctx, e, n)
	case <-ctx.Done():
		return w.giveUp(r, ctx.Err())
	case <-w.ctx.Done():
		return w.giveUp(r, ErrClosed)
	}
}

// enter queues a request and lets it go at once if there is room.
func (w *writer) enter(r *request) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.using.Add(1)
	w.waiting = append(w.waiting, r)
	if len(w.waiting) == 1 {
		w.sendSingly()
	}
	return true
}

// follow does what the news say.
func (w *writer) follow(ctx context.Context, e Entry, n news) (uint64, error) {
	switch {
	case n.send:
		seq, err := w.store.publish(ctx, e)
		w.leave()
		if err != nil {
			ctx, cancel := w.within(ctx)
			defer cancel()
			return settle(ctx, w.store, e, err)
		}
		return seq, nil
	case n.err != nil:
		ctx, cancel := w.within(ctx)
		defer cancel()
		return settleBatched(ctx, w.store, e, n.err)
	}
	return n.seq, nil
}

// settleBatched settles an entry whose batch failed. A batch that the store refused
// stored nothing, and its reason may be another entry's: begin anew. Of any other
// failure nobody knows whether the batch was stored: look first.
func settleBatched(ctx context.Context, s store, e Entry, cause error) (uint64, error) {
	if errors.Is(cause, errMoved) || errors.Is(cause, ErrFull) || apiCode(cause) != 0 {
		return place(ctx, s, e)
	}
	return settle(ctx, s, e, cause)
}

// giveUp ends a wait: nothing happened unless the entry is in a batch under way.
func (w *writer) giveUp(r *request, why error) (uint64, error) {
	if w.ctx.Err() != nil {
		why = ErrClosed
	}
	if w.withdraw(r) {
		return 0, why
	}
	select {
	case n := <-r.news:
		switch {
		case n.send:
			w.leave()
			return 0, why
		case n.err == nil:
			return n.seq, nil
		}
	default:
	}
	return 0, &UnclearError{r.entry.Campaign, r.entry.ID, why}
}

// withdraw takes back a request that still waits.
func (w *writer) withdraw(r *request) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, other := range w.waiting {
		if other == r {
			w.waiting = append(w.waiting[:i:i], w.waiting[i+1:]...)
			return true
		}
	}
	return false
}

// leave notes that an entry is not under way any more and lets others go.
func (w *writer) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sending--
	w.room = min(w.room+1, w.most)
	w.dispatch()
}

// dispatch lets go what waits. The caller holds mu.
func (w *writer) dispatch() {
	if w.batching {
		return
	}
	if w.barrier != nil || len(w.waiting) < batchFrom {
		w.sendSingly()
		return
	}
	batch := w.take()
	w.batching = true
	w.using.Add(1) // the caller is itself in use: never from zero
	go w.sendBatch(batch)
}

// sendSingly lets requests go while there is room. The caller holds mu.
func (w *writer) sendSingly() {
	for len(w.waiting) > 0 && w.sending < w.room && !w.batching {
		w.sending++
		w.waiting[0].news <- news{send: true}
		w.waiting = w.waiting[1:]
	}
}

// take removes what can go in one batch: entries of different campaigns, as the
// expectations of a batch are compared with what was stored before it. The caller
// holds mu.
func (w *writer) take() []*request {
	var batch, rest []*request
	size := 0
	campaigns := make(map[string]bool, len(w.waiting))
	for _, r := range w.waiting {
		if len(batch) == batchEntries || size >= batchBytes || campaigns[r.entry.Campaign] {
			rest = append(rest, r)
			continue
		}
		size += len(r.entry.Payload)
		campaigns[r.entry.Campaign] = true
		batch = append(batch, r)
	}
	w.waiting = rest
	return batch
}

// sendBatch sends a batch and brings its requests the news.
func (w *writer) sendBatch(batch []*request) {
	defer w.using.Done()
	entries := make([]Entry, len(batch))
	for i, r := range batch {
		entries[i] = r.entry
	}
	seqs, err := w.store.publishBatch(w.ctx, entries)
	for i, r := range batch {
		n := news{err: err}
		if err == nil {
			n.seq = seqs[i]
		}
		r.news <- n
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.batching = false
	w.room = 1 // those of the batch come again: let them gather while the first is on its way
	w.dispatch()
}

// settled returns when a sequence that the store gave, and all before it, is durable.
// After an error of the disk the partition takes nothing any more.
func (w *writer) settled(ctx context.Context, seq uint64) error {
	err := w.barrier.settled(ctx, seq)
	if err != nil && ctx.Err() == nil && !errors.Is(err, ErrClosed) {
		return w.halt(fmt.Errorf("%w: %w", ErrFull, err))
	}
	return err
}

// saw notes a sequence that is stored.
func (w *writer) saw(seq uint64) { raise(&w.highest, seq) }

// raise makes a number at least n.
func raise(highest *atomic.Uint64, n uint64) {
	for {
		known := highest.Load()
		if n <= known || highest.CompareAndSwap(known, n) {
			return
		}
	}
}

// halt stops all sending for good and returns why.
func (w *writer) halt(why error) error {
	w.halted.CompareAndSwap(nil, &why)
	return *w.halted.Load()
}

// checkBack halts if a stream has less than it had: what is stored now takes the
// sequences of commits that were acknowledged and lost. Highest was read before the
// server was asked for last.
func (w *writer) checkBack(stream string, highest, last uint64) error {
	if last >= highest {
		w.saw(last)
		return nil
	}
	return w.halt(fmt.Errorf("%w: stream %s went back from sequence %d to %d", ErrDamaged, stream, highest, last))
}

// within returns a context that ends with the caller's and with the journal.
func (w *writer) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(w.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// close refuses new entries and waits for those under way.
func (w *writer) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.using.Wait()
}
