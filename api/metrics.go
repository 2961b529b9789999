package api

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tallystick/api/telemetry"
	"tallystick/events"
	"tallystick/projections/feed"
)

func (s *Server) metricsRoutes() {
	handle(s, route{
		Method: http.MethodGet, Path: "/metrics", ID: "metrics", Summary: "Figures for Prometheus",
		Doc: "In the text format, for the admin token: how many commands of which type are given says something about secret rolls. " +
			"No figure names a campaign or a person. A scraper without a token is served at --metrics-listen.",
		Access: admin, Content: content("text/plain"),
	}, func(context.Context, *struct{}) (*text, error) {
		var out bytes.Buffer
		err := s.cfg.Metrics.Write(&out)
		return &text{telemetry.ContentType, out.Bytes()}, err
	})
}

// health are figures about how the server is, asked for at every scrape.
type health struct {
	server                                             *Server
	ready, red, feeds, loaded, held, behind, following *prometheus.Desc
	last                                               *prometheus.Desc
}

// gauges adds what is asked for at every scrape.
func (s *Server) gauges() {
	figure := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(telemetry.Name(name), help, labels, nil)
	}
	s.cfg.Metrics.Register(&health{
		server:    s,
		ready:     figure("ready", "1 when the server does all it is there for, as /readyz says, else 0."),
		red:       figure("red_campaigns", "Campaigns that are read-only because their ledger is not whole."),
		feeds:     figure("live_feeds", "Live feeds (server-sent events) that are open."),
		loaded:    figure("views_loaded", "Campaigns whose views are in memory."),
		held:      figure("views_bytes", "Bytes that the views in memory are estimated to take together."),
		behind:    figure("views_behind", "Campaigns in memory whose views have not read all that is stored."),
		following: figure("views_following", "1 when the views follow the journal, else 0."),
		last:      figure("journal_last_sequence", "Sequence of the last commit in a stream of the journal.", "stream"),
	})
}

// Describe implements prometheus.Collector.
func (h *health) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{h.ready, h.red, h.feeds, h.loaded, h.held, h.behind, h.following, h.last} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (h *health) Collect(out chan<- prometheus.Metric) {
	now, err := h.server.ready(context.Background(), nil)
	if err != nil {
		return
	}
	views := h.server.cfg.Hub.Health()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	gauge(h.ready, one(now.Status == http.StatusOK))
	gauge(h.red, float64(len(now.Body.Red)))
	gauge(h.feeds, float64(now.Body.Streams))
	gauge(h.loaded, float64(views.Loaded))
	gauge(h.held, float64(views.Bytes))
	gauge(h.behind, float64(views.Behind))
	gauge(h.following, one(views.Following))
	for _, p := range now.Body.Partitions {
		gauge(h.last, float64(p.Last), p.Stream)
	}
}

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// behind is how long ago a record of a live feed was stamped; negative for the
// backlog.
func behind(d feed.Delivery) time.Duration {
	at, err := time.Parse(events.TimeFormat, d.Record.At)
	if !d.Live || err != nil {
		return -1
	}
	return max(0, time.Since(at))
}

// whyEnded says in a word why a live feed ended.
func (s *Server) whyEnded(err error) string {
	switch {
	case s.stopping.Err() != nil:
		return telemetry.FeedShutdown
	case errors.Is(err, errGone):
		return telemetry.FeedRevoked
	case errors.Is(err, feed.ErrSlow), errors.Is(err, os.ErrDeadlineExceeded):
		return telemetry.FeedSlow
	case errors.As(err, new(*feed.StoppedError)), errors.Is(err, feed.ErrClosed):
		return telemetry.FeedFailed
	}
	return telemetry.FeedLeft
}
