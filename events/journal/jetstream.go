package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"
)

// JetStream's error codes that the append protocol knows.
const (
	codeWrongLast      jetstream.ErrorCode = 10071 // the subject's last sequence is another
	codeWrongLastBusy  jetstream.ErrorCode = 10164 // the same, while other messages are under way
	codeNoResources    jetstream.ErrorCode = 10023
	codeNoStorage      jetstream.ErrorCode = 10047
	codeMessageTooLong jetstream.ErrorCode = 10054
)

// jetStream is the Journal on a JetStream server, in this process or elsewhere.
type jetStream struct {
	conn    *nats.Conn
	js      jetstream.JetStream
	lone    *lone // for entries that go singly
	layout  layout
	options Options
	sync    string
	writers []*writer
	door    Door         // nil: bots do not come in here
	blocks  *blockWatch  // nil: the store is elsewhere
	disk    *sync.Mutex  // of the barriers; nil: the server syncs
	cut     []string     // what buckets have lost at the start, in words
	release func() error // after everything else at Close; nil for nothing

	// writeError says why the server has stopped writing a stream; nil where only
	// the server's operator can know.
	writeError func(stream string) error

	ctx    context.Context // ends with Close
	cancel context.CancelFunc

	closing   sync.Once
	closeErr  error
	following sync.WaitGroup
	watch     watch
	campaigns campaignList

	bucketMu sync.Mutex
	buckets  map[string]*kvBucket // guarded by bucketMu
}

// newJetStream makes a journal over two connections to one server, the second one
// from dialLone. It closes them when it fails. Barriers are by partition, nil where
// the server syncs by itself.
func newJetStream(conn, lone *nats.Conn, l layout, o Options, syncMode string, barriers []*barrier) (*jetStream, error) {
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(o.AckWait))
	if err != nil {
		conn.Close()
		lone.Close()
		return nil, fmt.Errorf("journal: %w", err)
	}
	j := &jetStream{conn: conn, js: js, layout: l, options: o, sync: syncMode, buckets: map[string]*kvBucket{}}
	j.ctx, j.cancel = context.WithCancel(context.Background())
	j.lone = newLone(j.ctx, lone, o.AckWait)
	j.campaigns.lists = make([][]string, l.partitions)
	for p := range l.partitions {
		w := newWriter(j.ctx, j, barriers[p])
		w.saw(l.last[p])
		j.writers = append(j.writers, w)
	}
	return j, nil
}

// Append implements Journal.
func (j *jetStream) Append(ctx context.Context, e Entry) (uint64, error) {
	if err := checkEntry(e); err != nil {
		return 0, err
	}
	if err := j.usable(ctx); err != nil {
		return 0, err
	}
	e.Meanwhile = once(e.Meanwhile)
	seq, err := j.writer(e.Campaign).append(ctx, e)
	if err != nil {
		return 0, err
	}
	if e.Expected == 0 {
		j.campaigns.add(e.Campaign)
	}
	e.Meanwhile()
	return seq, nil
}

func (j *jetStream) writer(campaign string) *writer {
	return j.writers[PartitionOf(campaign, j.layout.partitions)]
}

// lasting returns the last sequences known, by partition, when they are durable: of a
// partition that cannot be synced those that are, or that were known before.
func (j *jetStream) lasting(before []uint64) []uint64 {
	all := slices.Clone(before)
	for p, w := range j.writers {
		highest := w.highest.Load()
		if w.settled(context.Background(), highest) != nil {
			highest = w.barrier.durable.Load()
		}
		all[p] = max(all[p], highest)
	}
	return all
}

func (j *jetStream) usable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if j.ctx.Err() != nil {
		return ErrClosed
	}
	return j.blocks.problem()
}

// message is the JetStream message of an entry. The expected sequence is always
// that of the very subject: mixed with wildcards the check fails on replicas.
func (j *jetStream) message(e Entry) *nats.Msg {
	return &nats.Msg{
		Subject: j.layout.subject(e.Campaign),
		Data:    e.Payload,
		Header: nats.Header{
			jetstream.MsgIDHeader:               {e.Campaign + ":" + e.ID},
			jetstream.ExpectedLastSubjSeqHeader: {strconv.FormatUint(e.Expected, 10)},
		},
	}
}

func (j *jetStream) publish(ctx context.Context, e Entry) (uint64, error) {
	return j.options.Faults.inject(e, func() (uint64, error) {
		w := j.writer(e.Campaign)
		if why := w.halted.Load(); why != nil {
			return 0, *why
		}
		highest := w.highest.Load()
		ack, err := j.send(ctx, e)
		if err != nil {
			return 0, j.meaning(e.Campaign, err)
		}
		if ack.Duplicate {
			return 0, &duplicateError{ack.Sequence}
		}
		if err := j.stored(e.Campaign, highest, ack.Sequence); err != nil {
			return 0, err
		}
		if err := w.settled(ctx, ack.Sequence); err != nil {
			return 0, fmt.Errorf("it is written, and not known to be durable: %v", err) // not of its kind: nothing was refused
		}
		return ack.Sequence, nil
	})
}

// send sends an entry and waits for its answer, for AckWait at most.
func (j *jetStream) send(ctx context.Context, e Entry) (*jetstream.PubAck, error) {
	m := j.message(e)
	ack, err := j.lone.store(ctx, m, e.Meanwhile)
	if !errors.Is(err, nats.ErrNoResponders) {
		return ack, err
	}
	ctx, cancel := j.writer(e.Campaign).within(ctx)
	defer cancel()
	ctx, cancelWait := context.WithTimeout(ctx, j.options.AckWait)
	defer cancelWait()
	m.Reply = ""
	return j.js.PublishMsg(ctx, m) // asks a few times more: there may be a leader soon
}

// stored notes that a message was given a sequence, which must be above all that
// were known before it was sent.
func (j *jetStream) stored(campaign string, highest, seq uint64) error {
	if seq > highest {
		j.writer(campaign).saw(seq)
		return nil
	}
	j.writer(campaign).halt(fmt.Errorf("%w: stream %s gave sequence %d after %d", ErrDamaged, j.layout.stream(campaign), seq, highest))
	return errWentBack
}

// publishBatch makes one attempt to store all entries in one atomic batch and
// returns their sequences. They are of different campaigns. After an error each
// entry must be settled by itself.
func (j *jetStream) publishBatch(ctx context.Context, entries []Entry) ([]uint64, error) {
	messages := make([]*nats.Msg, len(entries))
	lose := false
	for i, e := range entries {
		switch j.options.Faults.publish(e) {
		case LostBefore:
			return nil, errLost
		case Full:
			return nil, ErrFull
		case LostAfter:
			lose = true
		}
		messages[i] = j.message(e)
	}
	campaign := entries[0].Campaign
	w := j.writer(campaign)
	if why := w.halted.Load(); why != nil {
		return nil, *why
	}
	highest := w.highest.Load()
	ctx, cancel := context.WithTimeout(ctx, j.options.AckWait)
	defer cancel()
	ack, err := jetstreamext.PublishMsgBatch(ctx, j.js, messages, jetstreamext.BatchFlowControl{AckFirst: false})
	if err != nil {
		return nil, j.meaning(campaign, err)
	}
	if lose {
		return nil, errLost
	}
	first := ack.Sequence - uint64(len(entries)) + 1 // a batch is stored without a gap
	if err := j.stored(campaign, highest, first); err != nil {
		return nil, err
	}
	w.saw(ack.Sequence)
	if err := w.settled(ctx, ack.Sequence); err != nil {
		return nil, fmt.Errorf("they are written, and not known to be durable: %v", err)
	}
	seqs := make([]uint64, len(entries))
	for i := range seqs {
		seqs[i] = first + uint64(i)
	}
	return seqs, nil
}

// meaning turns an error of a publish into one the protocol knows.
func (j *jetStream) meaning(campaign string, err error) error {
	switch apiCode(err) {
	case codeWrongLast, codeWrongLastBusy:
		return fmt.Errorf("%w: %w", errMoved, err)
	case codeNoResources, codeNoStorage:
		return fmt.Errorf("%w: %w", ErrFull, err)
	case codeMessageTooLong:
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	if errors.Is(err, nats.ErrMaxPayload) {
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	if j.writeError != nil {
		if why := j.writeError(j.layout.stream(campaign)); why != nil {
			// Of this attempt nobody knows what reached the disk. The next are
			// refused without waiting for an answer that never comes.
			j.writer(campaign).halt(fmt.Errorf("%w: %w", ErrFull, why))
		}
	}
	return err
}

// next implements store.
func (j *jetStream) next(ctx context.Context, campaign string, after uint64) (Commit, error) {
	if err := j.options.Faults.look(campaign); err != nil {
		return Commit{}, err
	}
	if j.ctx.Err() != nil {
		return Commit{}, ErrClosed
	}
	m, err := j.askLeader(ctx, j.layout.stream(campaign), nextRequest(j.layout.subject(campaign), after, 0))
	if err != nil {
		return Commit{}, err
	}
	if err := j.writer(campaign).settled(ctx, m.seq); err != nil {
		return Commit{}, err
	}
	return commitOf(campaign, m.seq, m.header, m.data)
}

// askLeader gets one message from the stream's leader, or ErrNotFound. It is slower
// than a direct get, which may be answered by a copy that lags.
func (j *jetStream) askLeader(ctx context.Context, stream string, request []byte) (rawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, j.options.AckWait)
	defer cancel()
	reply, err := j.conn.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+stream, request)
	if err != nil {
		j.blocks.unanswered(stream, err)
		return rawMessage{}, err
	}
	var answer struct {
		Error   *jetstream.APIError `json:"error"`
		Message *struct {
			Seq     uint64 `json:"seq"`
			Headers []byte `json:"hdrs"`
			Data    []byte `json:"data"`
		} `json:"message"`
	}
	switch err := json.Unmarshal(reply.Data, &answer); {
	case err != nil:
		return rawMessage{}, fmt.Errorf("answer of the leader: %w", err)
	case answer.Error != nil && answer.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return rawMessage{}, ErrNotFound
	case answer.Error != nil:
		return rawMessage{}, answer.Error
	case answer.Message == nil:
		return rawMessage{}, errors.New("answer of the leader: no message")
	}
	if len(answer.Message.Headers) == 0 { // a bucket's values have none
		return rawMessage{answer.Message.Seq, nats.Header{}, answer.Message.Data}, nil
	}
	header, err := nats.DecodeHeadersMsg(answer.Message.Headers)
	if err != nil {
		return rawMessage{}, fmt.Errorf("%w: headers of sequence %d: %w", ErrDamaged, answer.Message.Seq, err)
	}
	return rawMessage{answer.Message.Seq, header, answer.Message.Data}, nil
}

// commitOf makes a commit of a stored message and checks that it is the campaign's.
func commitOf(campaign string, seq uint64, header nats.Header, payload []byte) (Commit, error) {
	owner, id, ok := strings.Cut(header.Get(jetstream.MsgIDHeader), ":")
	if !ok || owner != campaign {
		return Commit{}, fmt.Errorf("%w: sequence %d of campaign %s says it is %q", ErrDamaged, seq, campaign, header.Get(jetstream.MsgIDHeader))
	}
	return Commit{campaign, id, seq, payload}, nil
}

// Publish implements Journal.
func (j *jetStream) Publish(ctx context.Context, subject string, data []byte) error {
	if err := checkFeed(subject); err != nil {
		return err
	}
	if err := j.usable(ctx); err != nil {
		return err
	}
	if err := j.conn.Publish(subject, data); err != nil {
		return fmt.Errorf("journal: publish %s: %w", subject, err)
	}
	return nil
}

// Health implements Journal.
func (j *jetStream) Health(ctx context.Context) Health {
	h := Health{Sync: j.sync, FollowError: j.watch.trouble(), Cut: j.cut}
	h.Partitions = make([]PartitionHealth, j.layout.partitions)
	reached := make([]bool, j.layout.partitions)
	buckets := j.openBuckets()
	lost := make([]string, len(buckets))
	var all sync.WaitGroup // at once: one that does not answer is waited for once
	for p := range h.Partitions {
		all.Go(func() { h.Partitions[p], reached[p] = j.partitionHealth(ctx, p) })
	}
	for i, b := range buckets {
		all.Go(func() { lost[i] = b.look(ctx) })
	}
	all.Wait()
	h.Lost = slices.DeleteFunc(lost, func(s string) bool { return s == "" })
	h.Reachable = !slices.Contains(reached, false)
	return h
}

// openBuckets are those that were asked for, by name.
func (j *jetStream) openBuckets() []*kvBucket {
	j.bucketMu.Lock()
	defer j.bucketMu.Unlock()
	var all []*kvBucket
	for _, name := range slices.Sorted(maps.Keys(j.buckets)) {
		all = append(all, j.buckets[name])
	}
	return all
}

func (j *jetStream) partitionHealth(ctx context.Context, p int) (health PartitionHealth, reached bool) {
	health.Stream = streamName(p)
	state, err := j.state(ctx, p)
	if err != nil {
		health.Problem = err.Error()
		return health, false
	}
	health.First, health.Last, health.Messages = state.FirstSeq, state.LastSeq, state.Msgs
	var problems []string
	if health.gap() {
		health.Gap = true
		problems = append(problems, fmt.Sprintf("%d messages, but sequences %d to %d", health.Messages, health.First, health.Last))
	}
	if missed := j.watch.missedBy(p); missed != "" {
		health.Gap = true
		problems = append(problems, missed)
	}
	if j.layout.remade[p] {
		health.Gap = true
		problems = append(problems, "the stream was missing and was made anew")
	}
	if why := j.writers[p].halted.Load(); why != nil {
		health.Gap = health.Gap || errors.Is(*why, ErrDamaged)
		problems = append(problems, (*why).Error())
	} else if why := j.writers[p].refusal.Load(); why != nil {
		problems = append(problems, *why)
	} else if j.writeError != nil {
		if err := j.writeError(health.Stream); err != nil {
			problems = append(problems, err.Error())
		}
	}
	health.Problem = strings.Join(problems, "; ")
	return health, true
}

// state returns what the server says of a partition's stream, and halts the
// partition if that is less than it was.
func (j *jetStream) state(ctx context.Context, p int) (jetstream.StreamState, error) {
	if err := j.usable(ctx); err != nil {
		return jetstream.StreamState{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, j.options.AckWait)
	defer cancel()
	highest := j.writers[p].highest.Load()
	stream, err := j.js.Stream(ctx, streamName(p))
	if err != nil {
		return jetstream.StreamState{}, fmt.Errorf("journal: stream %s: %w", streamName(p), err)
	}
	state := stream.CachedInfo().State
	if j.layout.replicas == 1 { // a new leader may be behind for a moment
		j.writers[p].checkBack(streamName(p), highest, state.LastSeq)
	}
	return state, nil
}

// Close implements Journal.
func (j *jetStream) Close() error {
	j.closing.Do(func() {
		patience := time.AfterFunc(j.options.AckWait, j.cancel)
		for _, w := range j.writers {
			w.close() // appends under way finish, or are cancelled when patience ends
		}
		patience.Stop()
		j.cancel()
		j.following.Wait()
		j.conn.Close()
		j.lone.close()
		if j.release != nil {
			j.closeErr = j.release()
		}
	})
	return j.closeErr
}

// watch remembers what followers saw go wrong.
type watch struct {
	mu     sync.Mutex            // guards all below
	missed [MaxPartitions]string // stays
	errs   [MaxPartitions]string // what disturbs now
}

func (w *watch) miss(p int, from, to uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.missed[p] == "" {
		w.missed[p] = fmt.Sprintf("sequences %d to %d cannot be read", from, to)
	}
}

func (w *watch) missedBy(p int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.missed[p]
}

// report sets or, with nil, clears what disturbs the following of a partition.
func (w *watch) report(p int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.errs[p] = ""
	if err != nil {
		w.errs[p] = streamName(p) + ": " + err.Error()
	}
}

func (w *watch) trouble() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.errs {
		if e != "" {
			return e
		}
	}
	return ""
}

// refusal remembers why the last attempt to write was refused for want of room.
type refusal struct{ atomic.Pointer[string] }

func (r *refusal) note(err error) {
	switch {
	case err == nil:
		if r.Load() != nil {
			r.Store(nil)
		}
	case errors.Is(err, ErrFull):
		why := err.Error()
		r.Store(&why)
	}
}
