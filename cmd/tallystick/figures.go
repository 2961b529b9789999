package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"tallystick/api/telemetry"
)

// commandTypes are all types of commands that are on board: no other word
// becomes a label.
func commandTypes() []string {
	var types []string
	for _, book := range library() {
		for _, spec := range book.Specs() {
			types = append(types, spec.Type)
		}
	}
	return types
}

// openFigures adds the figures of the whole node, and serves all of them where
// no token is asked for, until ctx ends.
func (n *node) openFigures(ctx context.Context, cfg nodeConfig) error {
	n.figures(ctx)
	if cfg.MetricsListen == "" {
		return nil
	}
	l, err := net.Listen("tcp", cfg.MetricsListen)
	if err != nil {
		return fmt.Errorf("metrics-listen: %w", err)
	}
	n.log.Info("metrics", "address", "http://"+l.Addr().String()+"/metrics")
	go n.scrapes(ctx, l)
	return nil
}

// figures adds what is to be known of the second copy and of the checkpoints.
func (n *node) figures(ctx context.Context) {
	m := n.metrics
	m.Gauge("archive_waiting_records", "Records that were handed to the archive and are not on its disk yet.", func() float64 { return float64(n.archive.Health().Waiting) })
	m.Gauge("archive_lag_seconds", "How long the oldest of them has waited.", func() float64 { return n.archive.Health().Lag.Seconds() })
	m.Gauge("archive_failing", "1 when the archive could not be written the last time, else 0.", func() float64 { return failing(n.archive.Health().Err) })
	m.Gauge("archive_lost_commits", "Commits that the journal was found to have lost since the archive began.", func() float64 { return float64(n.archive.Health().Lost) })
	m.Gauge("archive_segment", "Number of the archive's segment that is written.", func() float64 { return float64(n.archive.Health().Segment) })
	m.Gauge("archive_offset_bytes", "Length of that segment.", func() float64 { return float64(n.archive.Health().Offset) })
	for p, of := range n.journal.Health(ctx).Partitions {
		m.Gauge("archive_last_sequence", "Sequence up to which a stream of the journal is in the archive.",
			func() float64 { return float64(n.archive.Health().Last[p]) }, "stream", of.Stream)
	}
	m.Gauge("checkpoints_failing", "1 when the last signed checkpoints could not be kept, else 0.", func() float64 { return failing(n.heads.Health().Err) })
	m.Gauge("checkpoints_waiting", "Campaigns whose newest checkpoint is not kept yet.", func() float64 { return float64(n.heads.Health().Waiting) })
}

func failing(err error) float64 {
	if err != nil {
		return 1
	}
	return 0
}

// scrapes serves the figures, and nothing else, until ctx ends.
func (n *node) scrapes(ctx context.Context, l net.Listener) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", telemetry.ContentType)
		if err := n.metrics.Write(w); err != nil {
			n.log.Error("metrics", "error", err)
			panic(http.ErrAbortHandler) // the scraper must not take a part for the whole
		}
	})
	srv := &http.Server{Handler: mux, ReadTimeout: 5 * time.Second, WriteTimeout: 30 * time.Second, MaxHeaderBytes: 16 << 10}
	defer context.AfterFunc(ctx, func() { srv.Close() })()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		n.log.Error("metrics are served no more", "error", err)
	}
}
