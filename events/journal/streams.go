package journal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Metadata keys of a ledger stream. They are fixed for ever.
const (
	metaPartitions = "tallystick.partitions"
	metaHash       = "tallystick.hash"
	metaComplete   = "tallystick.complete" // all streams of the ledger were made
	metaRemade     = "tallystick.remade"   // the stream was missing once and was made anew
	hashName       = "fnv-1a-32"
)

// duplicateWindow is how long a stream knows a command id by itself. Nothing
// rests on it; it spares a stored message when an answer was lost.
const duplicateWindow = 2 * time.Minute

// layout is how a ledger is spread over streams.
type layout struct {
	partitions int
	replicas   int
	remade     []bool   // by partition
	last       []uint64 // last sequence when it was opened, by partition
}

func (l layout) stream(campaign string) string {
	return streamName(PartitionOf(campaign, l.partitions))
}

func (l layout) subject(campaign string) string {
	return subjectPrefix(PartitionOf(campaign, l.partitions)) + campaign
}

func subjectPrefix(partition int) string { return "ledger." + strconv.Itoa(partition) + "." }

// dial connects; the client never gives up and never holds messages back for
// later, so an attempt that failed is not sent behind our back. A server that takes
// nothing any more is given up after AckWait: until then the client waits with a lock
// held that every request needs, also one that would end.
func dial(url string, o Options, more ...nats.Option) (*nats.Conn, error) {
	warn := func(what string) func(*nats.Conn, error) {
		return func(_ *nats.Conn, err error) {
			if err != nil {
				o.Logger.Warn(what, "error", err, "from", "nats")
			}
		}
	}
	conn, err := nats.Connect(url, append([]nats.Option{
		nats.Name("tallystick"),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(100 * time.Millisecond),
		nats.ReconnectJitter(50*time.Millisecond, 50*time.Millisecond),
		nats.ReconnectBufSize(-1),
		nats.FlusherTimeout(o.AckWait),
		nats.DisconnectErrHandler(warn("connection lost")),
		nats.ErrorHandler(func(c *nats.Conn, _ *nats.Subscription, err error) { warn("connection error")(c, err) }),
	}, more...)...)
	if err != nil {
		return nil, fmt.Errorf("journal: connect: %w", err)
	}
	return conn, nil
}

// dialLone connects for entries that go singly. What is published there leaves at
// once by the hand of whoever publishes: elsewhere the client has a goroutine that
// gathers what leaves, for which a lone message would wait.
func dialLone(url string, o Options, more ...nats.Option) (*nats.Conn, error) {
	return dial(url, o, append(more, nats.WriteBufferSize(1))...)
}

// pingInterval is how often a server elsewhere is asked whether it is there; after
// two answers that did not come another is looked for.
const pingInterval = 2 * time.Second

// Connect opens the journal on a NATS server elsewhere. The streams are made if
// there are none and the user may make them. It is for the operator to give the
// program a user that may not change or delete them, and to sync every write.
func Connect(ctx context.Context, o Options) (Journal, error) {
	o = o.withDefaults()
	if o.URL == "" {
		return nil, fmt.Errorf("%w: URL is empty", ErrInvalid)
	}
	if o.Partitions != 0 {
		if err := checkPartitions(o.Partitions); err != nil {
			return nil, err
		}
	}
	who, err := o.user()
	if err != nil {
		return nil, err
	}
	// A server that was cut off or stands still says nothing: without asking often
	// the connection to it would be held for minutes.
	how := append(who, nats.PingInterval(pingInterval), nats.MaxPingsOutstanding(2))
	conn, err := dial(o.URL, o, how...)
	if err != nil {
		return nil, err
	}
	l, err := prepareStreams(ctx, conn, o)
	if err != nil {
		conn.Close()
		return nil, err
	}
	lone, err := dialLone(o.URL, o, how...)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return newJetStream(conn, lone, l, o, SyncUnknown, make([]*barrier, l.partitions))
}

func (o Options) user() ([]nats.Option, error) {
	var options []nats.Option
	if o.CredsFile != "" {
		options = append(options, nats.UserCredentials(o.CredsFile))
	}
	if o.NKeyFile != "" {
		option, err := nats.NkeyOptionFromSeed(o.NKeyFile)
		if err != nil {
			return nil, fmt.Errorf("journal: NKeyFile: %w", err)
		}
		options = append(options, option)
	}
	if o.CAFile != "" {
		options = append(options, nats.RootCAs(o.CAFile))
	}
	return options, nil
}

// prepareStreams makes the streams of a new ledger or checks those of an old one.
// A stream that an old ledger has lost is made anew and marked for ever, so that
// Health goes on reporting it.
func prepareStreams(ctx context.Context, conn *nats.Conn, o Options) (layout, error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return layout{}, fmt.Errorf("journal: %w", err)
	}
	found, err := ledgerStreams(ctx, js)
	if err != nil {
		return layout{}, err
	}
	l, err := layoutOf(found, o)
	if err != nil {
		return layout{}, err
	}
	old := false // it was complete once: a stream that is missing was lost
	for _, info := range found {
		old = old || info.Config.Metadata[metaComplete] != ""
	}
	for p := range l.partitions {
		want := streamConfig(p, l)
		if info := found[p]; info != nil {
			if err := checkStream(info.Config, want); err != nil {
				return layout{}, err
			}
			l.remade[p] = info.Config.Metadata[metaRemade] != ""
			l.last[p] = info.State.LastSeq
			continue
		}
		if old {
			want.Metadata[metaRemade] = "true"
			l.remade[p] = true
			o.Logger.Error("a ledger stream is missing and is made anew", "stream", want.Name)
		}
		stream, err := js.CreateStream(ctx, want)
		if err != nil {
			return layout{}, fmt.Errorf("journal: make stream %s: %w", want.Name, err)
		}
		found[p] = stream.CachedInfo()
		l.last[p] = found[p].State.LastSeq // messages are found again if only its description was lost
	}
	return l, markComplete(ctx, js, found)
}

// markComplete notes on every stream that all of them were made.
func markComplete(ctx context.Context, js jetstream.JetStream, found map[int]*jetstream.StreamInfo) error {
	for _, info := range found {
		if info.Config.Metadata[metaComplete] != "" {
			continue
		}
		config := info.Config
		config.Metadata = maps.Clone(config.Metadata)
		config.Metadata[metaComplete] = "true"
		if _, err := js.UpdateStream(ctx, config); err != nil {
			return fmt.Errorf("journal: mark stream %s: %w", config.Name, err)
		}
	}
	return nil
}

// ledgerStreams returns the ledger streams that exist, by partition. It lists them,
// so that a lost LEDGER_0 does not make a ledger look new.
func ledgerStreams(ctx context.Context, js jetstream.JetStream) (map[int]*jetstream.StreamInfo, error) {
	found := map[int]*jetstream.StreamInfo{}
	names := js.StreamNames(ctx, jetstream.WithStreamListSubject("ledger.>"))
	for name := range names.Name() {
		digits, is := strings.CutPrefix(name, "LEDGER_")
		p, err := strconv.Atoi(digits)
		if !is || err != nil || name != streamName(p) {
			continue
		}
		stream, err := js.Stream(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("journal: stream %s: %w", name, err)
		}
		found[p] = stream.CachedInfo()
	}
	if err := names.Err(); err != nil {
		return nil, fmt.Errorf("journal: list streams: %w", err)
	}
	return found, nil
}

// layoutOf takes the layout an existing ledger was made with, or the one asked for.
func layoutOf(found map[int]*jetstream.StreamInfo, o Options) (layout, error) {
	l := layout{partitions: o.Partitions, replicas: o.Replicas}
	if l.partitions == 0 {
		l.partitions = DefaultPartitions
	}
	for p, info := range found {
		made, err := strconv.Atoi(info.Config.Metadata[metaPartitions])
		if err != nil || checkPartitions(made) != nil || p >= made || info.Config.Metadata[metaHash] != hashName {
			return l, fmt.Errorf("%w: stream %s is not of a ledger: metadata %v", ErrInvalid, info.Config.Name, info.Config.Metadata)
		}
		if o.Partitions != 0 && made != o.Partitions {
			return l, fmt.Errorf("%w: the ledger was made with %d partitions and keeps them, asked for %d", ErrInvalid, made, o.Partitions)
		}
		l.partitions, l.replicas = made, info.Config.Replicas
	}
	l.remade, l.last = make([]bool, l.partitions), make([]uint64, l.partitions)
	return l, nil
}

func streamConfig(partition int, l layout) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:               streamName(partition),
		Description:        "Tallystick ledger: never delete, purge or limit",
		Subjects:           []string{subjectPrefix(partition) + "*"},
		Storage:            jetstream.FileStorage,
		Retention:          jetstream.LimitsPolicy,
		Discard:            jetstream.DiscardNew,
		MaxMsgs:            -1,
		MaxBytes:           -1,
		MaxMsgsPerSubject:  -1,
		MaxConsumers:       -1,
		MaxMsgSize:         MaxPayload + 4<<10, // and its headers
		Replicas:           l.replicas,
		Duplicates:         duplicateWindow,
		DenyDelete:         true,
		DenyPurge:          true,
		AllowDirect:        true,
		AllowAtomicPublish: true,
		Compression:        jetstream.NoCompression,
		Metadata: map[string]string{
			metaPartitions: strconv.Itoa(l.partitions),
			metaHash:       hashName,
		},
	}
}

// checkStream refuses a stream that somebody changed so that it may lose commits
// or cannot take them.
func checkStream(is, want jetstream.StreamConfig) error {
	checks := []struct {
		field string
		same  bool
	}{
		{"subjects", len(is.Subjects) == 1 && is.Subjects[0] == want.Subjects[0]},
		{"storage", is.Storage == want.Storage},
		{"retention", is.Retention == want.Retention},
		{"discard", is.Discard == want.Discard},
		{"max_msgs", is.MaxMsgs == want.MaxMsgs},
		{"max_bytes", is.MaxBytes == want.MaxBytes},
		{"max_age", is.MaxAge == want.MaxAge},
		{"max_msgs_per_subject", is.MaxMsgsPerSubject == want.MaxMsgsPerSubject},
		{"max_msg_size", is.MaxMsgSize == -1 || is.MaxMsgSize >= want.MaxMsgSize},
		{"sealed", !is.Sealed},
		{"no_ack", !is.NoAck},
		{"deny_delete", is.DenyDelete},
		{"deny_purge", is.DenyPurge},
		{"allow_rollup_hdrs", !is.AllowRollup},
		{"allow_msg_ttl", !is.AllowMsgTTL},
		{"allow_direct", is.AllowDirect},
		{"allow_atomic", is.AllowAtomicPublish},
		{"mirror", is.Mirror == nil && len(is.Sources) == 0},
		{"subject_transform", is.SubjectTransform == nil},
	}
	var wrong []string
	for _, c := range checks {
		if !c.same {
			wrong = append(wrong, c.field)
		}
	}
	if wrong != nil {
		return fmt.Errorf("%w: stream %s was changed: %s", ErrInvalid, is.Name, strings.Join(wrong, ", "))
	}
	return nil
}

// apiCode returns JetStream's code of an error, 0 when it is not one of its.
func apiCode(err error) jetstream.ErrorCode {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return api.ErrorCode
	}
	return 0
}
