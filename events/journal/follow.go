package journal

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A consumer that is lost without a word is noticed after about twice the
// heartbeat.
const (
	followExpiry    = 10 * time.Second
	followHeartbeat = time.Second
	followPause     = 200 * time.Millisecond // before a lost consumer is replaced
)

// Follow implements Journal: one ordered consumer a partition, from the stream's
// last sequence at the time of the call.
func (j *jetStream) Follow(ctx context.Context, each func(Commit)) error {
	if err := j.usable(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(j.ctx, cancel)
	var turn sync.Mutex // one call of each at a time
	deliver := func(c Commit) {
		turn.Lock()
		defer turn.Unlock()
		if ctx.Err() == nil {
			each(c)
		}
	}
	var followers []*follower
	for p := range j.layout.partitions {
		state, err := j.state(ctx, p)
		if err != nil {
			cancel()
			return err
		}
		followers = append(followers, &follower{j, p, state.LastSeq, deliver})
	}
	var all sync.WaitGroup
	for _, f := range followers {
		all.Go(func() { f.run(ctx) })
	}
	j.following.Go(func() {
		all.Wait()
		stop()
		cancel()
	})
	return nil
}

// follower delivers one partition.
type follower struct {
	journal   *jetStream
	partition int
	last      uint64 // sequence of the last message delivered
	deliver   func(Commit)
}

func (f *follower) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := f.consume(ctx)
		if ctx.Err() != nil {
			break
		}
		f.journal.watch.report(f.partition, err)
		_ = sleep(ctx, followPause)
	}
	f.journal.watch.report(f.partition, nil)
}

// consume delivers until something goes wrong or ctx ends.
func (f *follower) consume(ctx context.Context) error {
	consumer, err := f.journal.js.OrderedConsumer(ctx, streamName(f.partition), jetstream.OrderedConsumerConfig{
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       f.last + 1,
		InactiveThreshold: time.Minute,
	})
	if err != nil {
		return err
	}
	messages, err := consumer.Messages(jetstream.PullExpiry(followExpiry), jetstream.PullHeartbeat(followHeartbeat))
	if err != nil {
		return err
	}
	defer messages.Stop()
	f.journal.watch.report(f.partition, nil)
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return err
		}
		if err := f.take(ctx, m); err != nil {
			return err
		}
	}
}

// take delivers a message once and notes any that are missing before it.
func (f *follower) take(ctx context.Context, m jetstream.Msg) error {
	meta, err := m.Metadata()
	if err != nil {
		return err
	}
	seq := meta.Sequence.Stream
	if seq <= f.last {
		return nil // delivered before a consumer was replaced
	}
	if err := f.journal.writers[f.partition].settled(ctx, seq); err != nil {
		return err
	}
	if seq != f.last+1 {
		f.journal.watch.miss(f.partition, f.last+1, seq-1)
	}
	f.last = seq
	f.journal.writers[f.partition].saw(seq)
	campaign, ok := strings.CutPrefix(m.Subject(), subjectPrefix(f.partition))
	if !ok {
		return errors.New("a message of another subject: " + m.Subject())
	}
	c, err := commitOf(campaign, seq, nats.Header(m.Headers()), m.Data())
	if err != nil {
		f.journal.watch.miss(f.partition, seq, seq)
		return nil
	}
	f.deliver(c)
	return nil
}
