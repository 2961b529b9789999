package journal

import (
	"context"
	"encoding/json"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// longRead is how many messages must be left for a consumer to be worth making.
	longRead = 256
	// pullMessages is how many messages one request to a consumer asks for.
	pullMessages = 1024
	// consumerIdle is after what time without a request the server drops a consumer
	// that was not deleted.
	consumerIdle = 30 * time.Second
	// batchCompleted comes after the last message of a request that got all it asked for.
	batchCompleted = "Batch Completed"
)

// consume hands on what follows by a consumer, which costs the server half of what
// pages cost it, as long as each message is the next of the campaign. It judges
// nothing: at whatever else it meets, a gap, an end, a delay, it stops, and the
// pages go on from there and say what it is. It returns how many it has handed on; an
// error is that of each.
func (r *reader) consume(ctx context.Context) (handed uint64, err error) {
	j := r.journal
	stream := j.layout.stream(r.campaign)
	consumer, err := j.js.CreateConsumer(ctx, stream, jetstream.ConsumerConfig{
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       r.position + 1,
		FilterSubject:     j.layout.subject(r.campaign),
		AckPolicy:         jetstream.AckNonePolicy,
		InactiveThreshold: consumerIdle,
		MemoryStorage:     true,
		Replicas:          1,
	})
	if err != nil {
		return handed, nil
	}
	name := consumer.CachedInfo().Name
	defer j.dropConsumer(stream, name)
	inbox := j.conn.NewInbox()
	answers := make(chan *nats.Msg, 2*(pullMessages+1)) // as much as can be under way
	sub, err := j.conn.ChanSubscribe(inbox, answers)
	if err != nil {
		return handed, nil
	}
	defer sub.Unsubscribe()
	ask := func() error {
		return j.conn.PublishRequest("$JS.API.CONSUMER.MSG.NEXT."+stream+"."+name, inbox, pullRequest)
	}
	for more := ask() == nil; more; {
		var page []*nats.Msg
		if page, more = j.pulled(ctx, answers); more {
			more = ask() == nil // the server works while these are handed on
		}
		for _, m := range page {
			c, err := r.next(m)
			if err != nil {
				return handed, nil
			}
			handed++
			if err := r.hand(ctx, c); err != nil {
				return handed, err
			}
		}
	}
	return handed, nil
}

// pullRequest asks a consumer for messages, as many as it has and no more than fit.
var pullRequest = func() []byte {
	data, err := json.Marshal(map[string]any{"batch": pullMessages, "max_bytes": pageBytes, "no_wait": true})
	if err != nil {
		panic("journal: " + err.Error()) // numbers always marshal
	}
	return data
}()

// pulled returns the messages that answer a request to a consumer, and whether it
// may have more.
func (j *jetStream) pulled(ctx context.Context, answers <-chan *nats.Msg) (page []*nats.Msg, more bool) {
	ctx, cancel := context.WithTimeout(ctx, j.options.AckWait)
	defer cancel()
	for len(page) < pullMessages {
		m, ok := receive(ctx, answers)
		if !ok {
			return page, false
		}
		switch {
		case m.Header.Get("Status") == "":
			page = append(page, m)
		case m.Header.Get("Description") == batchCompleted:
			// of the request before this one
		default:
			return page, m.Header.Get("Status") == "409" && len(page) > 0 // the next one does not fit in
		}
	}
	return page, true
}

// next checks that a message of a consumer is the campaign's next commit.
func (r *reader) next(m *nats.Msg) (Commit, error) {
	meta, err := m.Metadata()
	if err != nil {
		return Commit{}, err
	}
	return r.check(rawMessage{meta.Sequence.Stream, m.Header, m.Data})
}

// dropConsumer deletes a consumer. If that fails, the server does it in time.
func (j *jetStream) dropConsumer(stream, name string) {
	ctx, cancel := context.WithTimeout(j.ctx, j.options.AckWait)
	defer cancel()
	_ = j.js.DeleteConsumer(ctx, stream, name)
}

// receive waits for a message until ctx ends. A channel that has one is not asked
// twice.
func receive(ctx context.Context, answers <-chan *nats.Msg) (*nats.Msg, bool) {
	select {
	case m, ok := <-answers:
		return m, ok
	default:
	}
	select {
	case m, ok := <-answers:
		return m, ok
	case <-ctx.Done():
		return nil, false
	}
}
