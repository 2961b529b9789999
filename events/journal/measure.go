package journal

import (
	"context"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"
)

// Raw is the store below a journal without any of its care, for measuring: what a
// program that talked to JetStream by itself would do on the same server and disk.
// Nothing but a benchmark may use it: a publish that fails is not settled, and
// nothing notices what a stream has lost.
type Raw struct{ journal *jetStream }

// Measure gives the raw store below a journal; ok is false for one in memory.
func Measure(j Journal) (raw Raw, ok bool) {
	store, ok := j.(*jetStream)
	return Raw{store}, ok
}

// Partitions is the number of the ledger's streams.
func (r Raw) Partitions() int { return r.journal.layout.partitions }

// Publish sends one message with the headers that Append gives it.
func (r Raw) Publish(ctx context.Context, e Entry) (seq uint64, err error) {
	ack, err := r.journal.js.PublishMsg(ctx, r.journal.message(e))
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

// Batch sends one atomic batch. Its entries are of different campaigns of one
// partition.
func (r Raw) Batch(ctx context.Context, entries []Entry) (seqs []uint64, err error) {
	messages := make([]*nats.Msg, len(entries))
	for i, e := range entries {
		messages[i] = r.journal.message(e)
	}
	ack, err := jetstreamext.PublishMsgBatch(ctx, r.journal.js, messages, jetstreamext.BatchFlowControl{AckFirst: false})
	if err != nil {
		return nil, err
	}
	seqs = make([]uint64, len(entries))
	for i := range seqs {
		seqs[i] = ack.Sequence - uint64(len(entries)-1-i)
	}
	return seqs, nil
}

// Consume hands all messages of a partition, as many as it has when it begins, to
// each: by an ordered consumer, the client's own way to read a stream.
func (r Raw) Consume(ctx context.Context, partition int, each func(payload []byte)) error {
	state, err := r.journal.state(ctx, partition)
	if err != nil || state.Msgs == 0 {
		return err
	}
	consumer, err := r.journal.js.OrderedConsumer(ctx, streamName(partition), jetstream.OrderedConsumerConfig{})
	if err != nil {
		return err
	}
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	for range state.Msgs {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return err
		}
		each(m.Data())
	}
	return nil
}
