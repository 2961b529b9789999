package api

import (
	"bytes"
	"strings"
	"testing"

	"tallystick/api/telemetry"
)

// figure fails the test unless a figure has this value, as Prometheus writes it.
func (n *node) figure(want string) {
	n.t.Helper()
	var out bytes.Buffer
	if err := n.server.cfg.Metrics.Write(&out); err != nil {
		n.t.Fatal(err)
	}
	if !strings.Contains(out.String(), "\n"+want+"\n") {
		name, _, _ := strings.Cut(want, "{")
		for line := range strings.SplitSeq(out.String(), "\n") {
			if strings.HasPrefix(line, name) {
				n.t.Logf("there is %s", line)
			}
		}
		n.t.Errorf("no figure %s", want)
	}
}

// Whatever limit refuses a request, it is counted under that limit.
func TestRefusalsAreCounted(t *testing.T) {
	g := newGame(t)
	s := g.server
	anna := g.id + "/anna"
	rows := map[string]struct {
		reach func()
		ask   func() reply
		slug  string
	}{
		telemetry.LimitFeeds: {
			func() { fill(&s.streams, g.id, anna, StreamsPerToken) },
			func() reply { return g.get(g.path("/events"), g.anna, "Accept", mediaSSE) }, "too-many-streams",
		},
		telemetry.LimitExports: {
			func() { fill(&s.exports, g.id, anna, ExportsPerToken) },
			func() reply { return g.get(g.path("/events"), g.anna, "Accept", mediaNDJSON) }, "too-many-requests",
		},
		telemetry.LimitReplays: {
			func() { s.replays <- struct{}{}; s.waiting.Store(ReplaysWaiting) },
			func() reply { return g.get(g.path("/sessions/"+g.session+"/replay"), g.anna) }, "too-many-requests",
		},
		telemetry.LimitCampaigns: {
			func() { s.cfg.MaxCampaigns = 1 },
			func() reply { return g.ask("POST", "/v1/campaigns", adminToken, `{"name":"x","system":"toy"}`) }, "too-many-campaigns",
		},
		telemetry.LimitSize: {
			func() {},
			func() reply {
				return g.ask("POST", g.path("/commands"), g.gm, strings.Repeat("x", MaxBody+1), "Idempotency-Key", key())
			}, "too-large",
		},
		telemetry.LimitToken: {
			func() { s.rates = newRates(Rates{Token: .001}); g.get("/v1/me", g.anna) },
			func() reply { return g.get("/v1/me", g.anna) }, "too-many-requests",
		},
		telemetry.LimitAddress: {
			func() { s.rates = newRates(Rates{Address: .001}); g.get("/healthz", "") },
			func() reply { return g.get("/healthz", "") }, "too-many-requests",
		},
		telemetry.LimitWrong: {
			func() {
				s.rates = newRates(Rates{Wrong: .001})
				for range wrongBurst {
					g.get("/v1/me", "tally_none")
				}
			},
			func() reply { return g.get("/v1/me", "tally_none") }, "too-many-requests",
		},
	}
	for limit, row := range rows {
		series := `tallystick_refused_total{limit="` + limit + `"}`
		g.figure(series + " 0")
		row.reach()
		problem(t, row.ask(), row.slug, "")
		g.figure(series + " 1")
		s.rates, s.cfg.MaxCampaigns = newRates(Rates{}), 0
		if s.waiting.Swap(0) > 0 {
			<-s.replays
		}
	}
}

func fill(st *streams, campaign, caller string, n int) {
	for range n {
		st.open(campaign, caller)
	}
}
