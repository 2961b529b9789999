package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tallystick/api/ledger"
	"tallystick/events/journal"
	"tallystick/projections/feed"
)

// Alive is the answer of a program that runs.
type Alive struct {
	Status  string `json:"status" enum:"alive"`
	Version string `json:"version"`
}

// Ready says whether the server does all it is there for, and what is wrong.
type Ready struct {
	Status     string            `json:"status" enum:"ready,not-ready"`
	Version    string            `json:"version"`
	Problems   []string          `json:"problems" doc:"why it is not ready"`
	Notices    []string          `json:"notices" doc:"what came up at this start and does not keep it from serving"`
	Sync       string            `json:"sync" enum:"always,relaxed,unknown,none" doc:"always: an answered command is on disk; unknown: an external store, which does not tell"`
	Partitions []PartitionReport `json:"partitions"`
	Red        []RedCampaign     `json:"red" doc:"campaigns that are read-only because their ledger is not whole; the others go on"`
	Views      ViewsReport       `json:"views"`
	Streams    int               `json:"streams" doc:"live feeds that are open"`
}

// PartitionReport is the state of one JetStream stream.
type PartitionReport struct {
	Stream   string `json:"stream"`
	Messages uint64 `json:"messages"`
	Last     uint64 `json:"last" doc:"last sequence"`
	Problem  string `json:"problem,omitzero"`
}

// RedCampaign is a campaign that stopped.
type RedCampaign struct {
	Campaign string `json:"campaign"`
	N        *int64 `json:"n,omitzero" doc:"record at which it stopped, where that is known"`
	Reason   string `json:"reason"`
}

// ViewsReport is the state of the views.
type ViewsReport struct {
	Following bool `json:"following" doc:"they follow the journal"`
	Campaigns int  `json:"campaigns" doc:"in memory"`
	Behind    int  `json:"behind" doc:"of them, how many have not read all that is stored"`
}

type readyOutput struct {
	Status int
	Body   Ready
}

// healthTimeout bounds what the store may take to say how it is.
const healthTimeout = 3 * time.Second

func (s *Server) healthRoutes() {
	handle(s, route{Method: http.MethodGet, Path: "/healthz", ID: "healthz", Summary: "The process is alive"},
		func(context.Context, *struct{}) (*output[Alive], error) {
			return answer(Alive{Status: "alive", Version: s.cfg.Version}), nil
		})
	handle(s, route{
		Method: http.MethodGet, Path: "/readyz", ID: "readyz", Summary: "The server is ready",
		Doc: "200 when the journal is whole and synced on every write, no campaign is red and the views follow; else 503 with the same body.",
	}, s.ready)
	responses := s.api.OpenAPI().Paths["/readyz"].Get.Responses
	responses["503"] = &huma.Response{Description: "Not ready", Content: responses["200"].Content}
}

func (s *Server) ready(ctx context.Context, _ *struct{}) (*readyOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	store, views := s.cfg.Journal.Health(ctx), s.cfg.Hub.Health()
	r := Ready{
		Status: "ready", Version: s.cfg.Version, Problems: []string{}, Notices: append([]string{}, store.Cut...), Sync: store.Sync, Partitions: []PartitionReport{},
		Red:     s.red(views),
		Views:   ViewsReport{Following: views.Following, Campaigns: views.Loaded, Behind: views.Behind},
		Streams: s.streams.count(),
	}
	for _, p := range store.Partitions {
		problem := p.Problem
		if p.Gap {
			problem = cmp.Or(problem, "messages are missing")
		}
		r.Partitions = append(r.Partitions, PartitionReport{Stream: p.Stream, Messages: p.Messages, Last: p.Last, Problem: problem})
	}
	checks := []struct {
		bad  bool
		says string
	}{
		{s.stopping.Err() != nil, "the server shuts down"},
		{!store.Reachable, "the journal does not answer"},
		{!store.Whole(), "the journal is not whole"},
		{store.Reachable && !store.Writable(), "the journal cannot be written"},
		{store.FollowError != "", "the journal cannot be followed"},
		{store.Sync != journal.SyncAlways && store.Sync != journal.SyncUnknown, "the journal does not sync every write: a power cut loses answered commands"},
		{!views.Following, "the views do not follow the journal"},
		{len(r.Red) > 0, "a campaign is red"},
	}
	for _, c := range checks {
		if c.bad {
			r.Problems = append(r.Problems, c.says)
		}
	}
	r.Problems = append(r.Problems, store.Lost...)
	if s.cfg.Problems != nil {
		r.Problems = append(r.Problems, s.cfg.Problems()...)
	}
	if len(r.Problems) > 0 {
		r.Status = "not-ready"
		return &readyOutput{http.StatusServiceUnavailable, r}, nil
	}
	return &readyOutput{http.StatusOK, r}, nil
}

// red puts together which campaigns the ledger and the views stopped at.
func (s *Server) red(views feed.Health) []RedCampaign {
	all := []RedCampaign{}
	for _, stopped := range views.Stopped {
		n := stopped.N
		all = append(all, RedCampaign{Campaign: stopped.Campaign, N: &n, Reason: stopped.Reason})
	}
	for id, err := range s.cfg.Ledger.Red() {
		if !slices.ContainsFunc(all, func(r RedCampaign) bool { return r.Campaign == id }) {
			red := RedCampaign{Campaign: id, Reason: err.Error()}
			if n, ok := ledger.StoppedAt(err); ok {
				red.N = &n
			}
			all = append(all, red)
		}
	}
	slices.SortFunc(all, func(a, b RedCampaign) int { return cmp.Compare(a.Campaign, b.Campaign) })
	return all
}

func (st *streams) count() int {
	st.mu.Lock()
	defer st.mu.Unlock()
	n := 0
	for _, open := range st.campaigns {
		n += open
	}
	return n
}
