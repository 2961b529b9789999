package journal

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// lone is a connection for messages that go singly. What is published on it
// leaves at once, by the hand of whoever publishes, who is then free while the
// server works, and an answer comes straight to who waits for it. The client's own
// way has a goroutine on either side, and each of them is a wait for a processor.
type lone struct {
	conn     *nats.Conn
	ctx      context.Context // ends with the journal
	patience time.Duration   // how long an answer is waited for
	status   chan nats.Status

	mu   sync.Mutex // guards all below
	down chan struct{}
	free []*inbox
}

// inbox is where answers arrive, one message at a time. Each message has a reply
// subject of its own: an answer that is late or comes twice is nobody else's.
type inbox struct {
	prefix  string
	sent    uint64
	answers chan *nats.Msg
}

// strays is how many answers that nobody waits for an inbox holds.
const strays = 8

func newLone(ctx context.Context, conn *nats.Conn, patience time.Duration) *lone {
	l := &lone{conn: conn, ctx: ctx, patience: patience, status: conn.StatusChanged(nats.RECONNECTING, nats.CLOSED), down: make(chan struct{})}
	go l.watch()
	return l
}

// watch tells who waits when the connection is lost, as their answers are.
func (l *lone) watch() {
	for range l.status {
		l.mu.Lock()
		close(l.down)
		l.down = make(chan struct{})
		l.mu.Unlock()
	}
}

func (l *lone) close() {
	l.conn.Close()
	l.conn.RemoveStatusListener(l.status)
}

// ask sends a message and returns the answer to it. Meanwhile is called when it has
// left. After an error nobody knows whether it was received, unless it is
// nats.ErrNoResponders: then it was not.
func (l *lone) ask(ctx context.Context, m *nats.Msg, meanwhile func()) (*nats.Msg, error) {
	in, down, err := l.take()
	if err != nil {
		return nil, err
	}
	defer l.put(in)
	in.sent++
	m.Reply = in.prefix + strconv.FormatUint(in.sent, 10)
	if err := l.conn.PublishMsg(m); err != nil {
		return nil, err
	}
	meanwhile()
	late := time.NewTimer(l.patience)
	defer late.Stop()
	for {
		select {
		case answer := <-in.answers:
			switch {
			case answer.Subject != m.Reply:
			case len(answer.Data) == 0 && answer.Header.Get("Status") == "503":
				return nil, nats.ErrNoResponders
			default:
				return answer, nil
			}
		case <-down:
			return nil, nats.ErrDisconnected
		case <-late.C:
			return nil, nats.ErrTimeout
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-l.ctx.Done():
			return nil, l.ctx.Err()
		}
	}
}

// take finds or makes an inbox, and what ends when the connection is lost.
func (l *lone) take() (*inbox, chan struct{}, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last := len(l.free) - 1; last >= 0 {
		in := l.free[last]
		l.free = l.free[:last]
		return in, l.down, nil
	}
	in := &inbox{prefix: l.conn.NewInbox() + ".", answers: make(chan *nats.Msg, strays)}
	_, err := l.conn.ChanSubscribe(in.prefix+"*", in.answers)
	return in, l.down, err
}

func (l *lone) put(in *inbox) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free = append(l.free, in)
}

// store has a message stored and returns the answer of its stream.
func (l *lone) store(ctx context.Context, m *nats.Msg, meanwhile func()) (*jetstream.PubAck, error) {
	answer, err := l.ask(ctx, m, meanwhile)
	if err != nil {
		return nil, err
	}
	if ack, ok := plainAck(answer.Data); ok {
		return ack, nil
	}
	var said struct {
		Error *jetstream.APIError `json:"error"`
		jetstream.PubAck
	}
	if err := json.Unmarshal(answer.Data, &said); err != nil {
		return nil, err
	}
	switch {
	case said.Error != nil:
		return nil, said.Error
	case said.Stream == "":
		return nil, errors.New("the answer names no stream")
	}
	return &said.PubAck, nil
}

// plainAck reads the answer that nearly always comes, as the server writes it:
// {"stream":"LEDGER_0","seq":17}.
func plainAck(data []byte) (ack *jetstream.PubAck, ok bool) {
	before, after, _ := strings.Cut(string(data), `","seq":`)
	name, begins := strings.CutPrefix(before, `{"stream":"`)
	digits, ends := strings.CutSuffix(after, "}")
	if !begins || !ends || name == "" || strings.ContainsAny(name, `"\`) || strings.IndexFunc(name, notVisible) >= 0 || strings.HasPrefix(digits, "0") {
		return nil, false
	}
	seq, err := strconv.ParseUint(digits, 10, 64)
	return &jetstream.PubAck{Stream: name, Sequence: seq}, err == nil
}
