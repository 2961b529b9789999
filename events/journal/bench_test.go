package journal

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"
)

// payloadOfThree is as large as three ordinary records.
var payloadOfThree = bytes.Repeat([]byte("0123456789abcdef"), 64)

// openBench opens a journal, and the raw reference: one of whose server every write
// is synced.
func openBench(b *testing.B) (j, raw *jetStream) {
	b.Helper()
	j, _ = openEmbedded(b, Options{Dir: b.TempDir()})
	raw, _ = openEmbedded(b, Options{Dir: b.TempDir(), ServerSyncs: true})
	return j, raw
}

// rawPublish is what a program without this package would do: the same bytes and
// headers by the client's own publish.
func rawPublish(j *jetStream, e Entry) (seq uint64, err error) {
	ack, err := j.js.PublishMsg(context.Background(), j.message(e))
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

// slice is how long one way is measured at a time.
const slice = 200 * time.Millisecond

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

// One writer: Append against a raw publish, turn by turn in one run.
func BenchmarkAppend(b *testing.B) {
	j, reference := openBench(b)
	ours, raw := uuid.NewString(), uuid.NewString()
	var ourLast, rawLast uint64
	var ourTimes, rawTimes []time.Duration
	for i := 0; b.Loop(); i++ {
		e := Entry{Campaign: ours, ID: strconv.Itoa(i), Expected: ourLast, Payload: payloadOfThree}
		start := time.Now()
		seq, err := j.Append(context.Background(), e)
		ourTimes = append(ourTimes, time.Since(start))
		if err != nil {
			b.Fatal(err)
		}
		ourLast = seq
		e = Entry{Campaign: raw, ID: strconv.Itoa(i), Expected: rawLast, Payload: payloadOfThree}
		start = time.Now()
		rawLast, err = rawPublish(reference, e)
		rawTimes = append(rawTimes, time.Since(start))
		if err != nil {
			b.Fatal(err)
		}
	}
	ourMedian, rawMedian := median(ourTimes), median(rawTimes)
	b.ReportMetric(float64(ourMedian.Microseconds()), "append-µs")
	b.ReportMetric(float64(rawMedian.Microseconds()), "raw-µs")
	b.ReportMetric(float64(ourMedian)/float64(rawMedian), "ratio")
}

// Many writers, each with its campaign: each way in turn for a short while, again and
// again, as the disk's speed changes while it is measured.
func BenchmarkWriters(b *testing.B) {
	for _, writers := range []int{1, 8, 64, 200} {
		b.Run(fmt.Sprint(writers), func(b *testing.B) {
			j, reference := openBench(b)
			var appended, singles, batched float64
			var spent time.Duration
			for b.Loop() {
				spent += slice
				appended += forASlice(b, writers, func(campaign string, id string, last uint64) (uint64, error) {
					return j.Append(context.Background(), Entry{Campaign: campaign, ID: id, Expected: last, Payload: payloadOfThree})
				})
				singles += forASlice(b, writers, func(campaign string, id string, last uint64) (uint64, error) {
					return rawPublish(reference, Entry{Campaign: campaign, ID: id, Expected: last, Payload: payloadOfThree})
				})
				batched += rawBatches(b, reference, writers)
			}
			b.ReportMetric(appended/spent.Seconds(), "append/s")
			b.ReportMetric(singles/spent.Seconds(), "raw-single/s")
			b.ReportMetric(batched/spent.Seconds(), "raw-batch/s")
			b.ReportMetric(appended/singles, "of-singles")
			b.ReportMetric(appended/batched, "of-batches")
		})
	}
}

func forASlice(b *testing.B, writers int, put func(campaign, id string, last uint64) (uint64, error)) float64 {
	var done atomic.Int64
	var group sync.WaitGroup
	end := time.Now().Add(slice)
	for range writers {
		group.Go(func() {
			campaign, last := uuid.NewString(), uint64(0)
			for i := 0; time.Now().Before(end); i++ {
				seq, err := put(campaign, strconv.Itoa(i), last)
				if err != nil {
					b.Error(err)
					return
				}
				last = seq
				done.Add(1)
			}
		})
	}
	group.Wait()
	return float64(done.Load())
}

// rawBatches sends atomic batches of the same bytes, as large as the writers would
// fill them, one at a time on each stream.
func rawBatches(b *testing.B, j *jetStream, writers int) float64 {
	var done atomic.Int64
	var group sync.WaitGroup
	end := time.Now().Add(slice)
	for p := range DefaultPartitions {
		group.Go(func() {
			var campaigns []string
			for len(campaigns) < max(1, writers/DefaultPartitions) {
				if id := uuid.NewString(); PartitionOf(id, DefaultPartitions) == p {
					campaigns = append(campaigns, id)
				}
			}
			last := make([]uint64, len(campaigns))
			for i := 0; time.Now().Before(end); i++ {
				messages := make([]*nats.Msg, len(campaigns))
				for k, campaign := range campaigns {
					messages[k] = j.message(Entry{Campaign: campaign, ID: strconv.Itoa(i), Expected: last[k], Payload: payloadOfThree})
				}
				ack, err := jetstreamext.PublishMsgBatch(context.Background(), j.js, messages, jetstreamext.BatchFlowControl{})
				if err != nil {
					b.Error(err)
					return
				}
				for k := range last {
					last[k] = ack.Sequence - uint64(len(last)-1-k)
				}
				done.Add(int64(len(campaigns)))
			}
		})
	}
	group.Wait()
	return float64(done.Load())
}

// Reading one campaign of n commits among others: pages by direct get, as Read
// does it, against an ordered consumer with the exact subject.
func BenchmarkRead(b *testing.B) {
	j, _ := openBench(b)
	campaigns := map[int]string{}
	for _, n := range []int{1, 1000} {
		campaigns[n] = uuid.NewString()
		last := uint64(0)
		for i := range n {
			seq, err := j.Append(context.Background(), Entry{Campaign: campaigns[n], ID: strconv.Itoa(i), Expected: last, Payload: payloadOfThree})
			if err != nil {
				b.Fatal(err)
			}
			last = seq
		}
	}
	for range 5 { // many others around them
		forASlice(b, 64, func(campaign, id string, last uint64) (uint64, error) {
			return j.Append(context.Background(), Entry{Campaign: campaign, ID: id, Expected: last, Payload: payloadOfThree})
		})
	}
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprintf("pages/%d", n), func(b *testing.B) {
			for b.Loop() {
				got := 0
				err := j.Read(context.Background(), campaigns[n], 0, func(Commit) error { got++; return nil })
				if err != nil || got != n {
					b.Fatal(got, err)
				}
			}
		})
		b.Run(fmt.Sprintf("consumer/%d", n), func(b *testing.B) {
			for b.Loop() {
				if got := readByConsumer(b, j, campaigns[n], n); got != n {
					b.Fatal(got)
				}
			}
		})
	}
}

func readByConsumer(b *testing.B, j *jetStream, campaign string, n int) int {
	ctx := context.Background()
	consumer, err := j.js.OrderedConsumer(ctx, j.layout.stream(campaign), jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{j.layout.subject(campaign)},
	})
	if err != nil {
		b.Fatal(err)
	}
	messages, err := consumer.Messages()
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		messages.Stop()
		if err := j.js.DeleteConsumer(ctx, j.layout.stream(campaign), consumer.CachedInfo().Name); err != nil {
			b.Error(err)
		}
	}()
	for got := range n {
		if _, err := messages.Next(); err != nil {
			b.Fatal(got, err)
		}
	}
	return n
}
