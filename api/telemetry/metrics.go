// Package telemetry is what whoever runs a server sees of it: figures for
// Prometheus, log lines that belong together, and spans for OpenTelemetry.
//
// Nothing of it names a campaign, a person, a character or a token in a label
// or a span, and no label has more values than the program has words for: who
// may read the figures learns how the server is, not what is played on it. It
// imports nothing of Tallystick.
package telemetry

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"
)

// other stands in a label for whatever the program has no word for.
const other = "other"

// Metrics are the figures of one node. All methods may be called by many
// goroutines at once.
type Metrics struct {
	registry *prometheus.Registry
	types    []string // command types that a label may have, sorted

	commands   *prometheus.CounterVec
	deciding   prometheus.Histogram
	records    prometheus.Counter
	ticks      prometheus.Counter
	appends    *prometheus.HistogramVec
	conflicts  prometheus.Counter
	requests   *prometheus.CounterVec
	answering  *prometheus.HistogramVec
	refused    *prometheus.CounterVec
	feedEvents prometheus.Counter
	feedLag    prometheus.Histogram
	feedsEnded *prometheus.CounterVec
}

// Where the buckets of the histograms lie, in seconds. An append is a disk
// sync: tenths of a millisecond on a good disk, ten on a bad one.
var (
	appendBuckets = []float64{.00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 10}
	answerBuckets = []float64{.001, .005, .01, .025, .1, .25, 1, 5, 30}
	lagBuckets    = []float64{.001, .005, .01, .05, .1, .5, 1, 5, 30}
)

// NewMetrics makes the figures of a node that knows these types of commands.
func NewMetrics(version string, types []string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(), types: slices.Sorted(slices.Values(types)),
		commands:   counters("commands_total", "Commands by type and by what came of them; a command that is decided again counts once.", "type", "result"),
		deciding:   histogram("command_seconds", "Time from a command's arrival at the ledger to its answer.", answerBuckets),
		records:    counter("records_total", "Records that this node has stored."),
		ticks:      counter("ticks_total", "Due checks of deterioration and healing that this node has decided and stored."),
		appends:    histograms("append_seconds", "Time the store takes to make a commit durable, or to refuse it.", appendBuckets, "outcome"),
		conflicts:  counter("conflicts_total", "Appends that lost to another node, so that the command was decided again."),
		requests:   counters("http_requests_total", "Requests by the pattern of their route.", "route", "method", "status"),
		answering:  histograms("http_request_seconds", "Time to answer a request; live feeds are not in it.", answerBuckets, "route"),
		refused:    counters("refused_total", "Requests that were refused because a limit was reached.", "limit"),
		feedEvents: counter("live_feed_events_total", "Events that were written to live feeds."),
		feedLag:    histogram("live_feed_lag_seconds", "Time from a record's stamp to its writing on a live feed.", lagBuckets),
		feedsEnded: counters("live_feeds_ended_total", "Live feeds that ended, by why.", "reason"),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info", Help: "1; what runs is in the labels.",
		ConstLabels: prometheus.Labels{"version": version, "go": runtime.Version()},
	})
	build.Set(1)
	m.registry.MustRegister(
		m.commands, m.deciding, m.records, m.ticks, m.appends, m.conflicts, m.requests, m.answering, m.refused,
		m.feedEvents, m.feedLag, m.feedsEnded, build, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	for _, limit := range limits {
		m.refused.WithLabelValues(limit) // 0 is a figure too: an alert on the rise needs it
	}
	return m
}

const namespace = "tallystick"

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func histogram(name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets})
}

func histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
}

// Command counts a command that was answered.
func (m *Metrics) Command(typ, result string, took time.Duration) {
	if _, known := slices.BinarySearch(m.types, typ); !known {
		typ = other
	}
	m.commands.WithLabelValues(typ, result).Inc()
	m.deciding.Observe(took.Seconds())
}

// Outcomes of an append.
const (
	AppendStored   = "stored"
	AppendConflict = "conflict"
	AppendFailed   = "failed"
)

// Append counts an append with one of the outcomes above.
func (m *Metrics) Append(outcome string, took time.Duration) {
	m.appends.WithLabelValues(outcome).Observe(took.Seconds())
	if outcome == AppendConflict {
		m.conflicts.Inc()
	}
}

// Stored counts the records of a commit that is durable, and the ticks among
// them.
func (m *Metrics) Stored(records, ticks int) {
	m.records.Add(float64(records))
	m.ticks.Add(float64(ticks))
}

// methods are those that a label may have: a client may send any word.
var methods = []string{http.MethodDelete, http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPatch, http.MethodPost, http.MethodPut}

// Method is what a label says of a request's method.
func Method(method string) string {
	if slices.Contains(methods, method) {
		return method
	}
	return other
}

// Request counts a request that was answered. The route is a pattern of the
// router, the method what Method makes of it; feed says that the answer was a
// live feed, whose length is no delay.
func (m *Metrics) Request(route, method string, status int, took time.Duration, feed bool) {
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
	if !feed {
		m.answering.WithLabelValues(route).Observe(took.Seconds())
	}
}

// What a request can be too many, too large or too often for.
const (
	LimitAddress   = "address"
	LimitToken     = "token"
	LimitWrong     = "wrong-token"
	LimitFeeds     = "live-feeds"
	LimitExports   = "exports"
	LimitReplays   = "replays"
	LimitCampaigns = "campaigns"
	LimitSize      = "size"
)

var limits = []string{LimitAddress, LimitToken, LimitWrong, LimitFeeds, LimitExports, LimitReplays, LimitCampaigns, LimitSize}

// Refused counts a request that one of the limits above refused.
func (m *Metrics) Refused(limit string) { m.refused.WithLabelValues(limit).Inc() }

// FeedEvent counts an event on a live feed. behind is how long after its stamp
// it was written; negative for the backlog, which is old by nature.
func (m *Metrics) FeedEvent(behind time.Duration) {
	m.feedEvents.Inc()
	if behind >= 0 {
		m.feedLag.Observe(behind.Seconds())
	}
}

// Why a live feed ended.
const (
	FeedLeft     = "left"     // the reader went
	FeedSlow     = "slow"     // the reader did not take what there was in time
	FeedRevoked  = "revoked"  // the token is not in force any more
	FeedShutdown = "shutdown" // the server stops
	FeedFailed   = "failed"   // the views or the store do
)

// FeedEnded counts a live feed that ended, for one of the reasons above.
func (m *Metrics) FeedEnded(reason string) { m.feedsEnded.WithLabelValues(reason).Inc() }

// Gauge adds a figure that is asked for at every scrape. Labels come in pairs
// of name and value, and the values must be few and fixed.
func (m *Metrics) Gauge(name, help string, value func() float64, labels ...string) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: namespace, Name: name, Help: help, ConstLabels: pairs(labels),
	}, value))
}

// Counter is Gauge for a figure that only grows.
func (m *Metrics) Counter(name, help string, value func() float64, labels ...string) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Namespace: namespace, Name: name, Help: help, ConstLabels: pairs(labels),
	}, value))
}

func pairs(labels []string) prometheus.Labels {
	all := prometheus.Labels{}
	for i := 0; i+1 < len(labels); i += 2 {
		all[labels[i]] = labels[i+1]
	}
	return all
}

// Register adds a collector, which asks once a scrape for several figures.
func (m *Metrics) Register(c prometheus.Collector) { m.registry.MustRegister(c) }

// Name is the full name of a figure of this program.
func Name(short string) string { return namespace + "_" + short }

// ContentType is that of what Write writes.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Write writes all figures in the text format of Prometheus.
func (m *Metrics) Write(w io.Writer) error {
	families, err := m.registry.Gather()
	if err != nil {
		return fmt.Errorf("gather metrics: %w", err)
	}
	encoder := expfmt.NewEncoder(w, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, family := range families {
		if err := encoder.Encode(family); err != nil {
			return fmt.Errorf("write metrics: %w", err)
		}
	}
	return nil
}
