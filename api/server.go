// Package api serves the ledger over HTTP: routes, live feeds, errors, and the
// OpenAPI document that is made of the same Go types.
//
// Handlers are thin: they read a request strictly, ask package ledger or the
// views, and write what they are told. Records leave as the bytes that are
// stored. No token, stack or path of a disk is ever logged or answered.
package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"
	"github.com/labstack/echo/v4"
	"go.opentelemetry.io/otel/trace"

	"tallystick/api/ledger"
	"tallystick/api/telemetry"
	"tallystick/api/webhooks"
	"tallystick/events/journal"
	"tallystick/projections/feed"
	"tallystick/rules"
)

// Config is what a Server stands on. All but Log is needed.
type Config struct {
	Ledger   *ledger.Ledger
	Hub      *feed.Hub
	Tokens   *ledger.Tokens
	Library  rules.Library
	Journal  journal.Journal
	Webhooks *webhooks.Hooks
	Version  string // of this program
	// Problems are what keeps the server from being ready besides what the
	// other parts report; nil: nothing does.
	Problems func() []string
	Log      *slog.Logger       // nil: nothing is logged
	Metrics  *telemetry.Metrics // nil: nobody looks at them
	Tracer   trace.Tracer       // nil: no spans
	Rates    Rates              // how often may be asked; the zero Rates bound nothing
	// MaxCampaigns is how many campaigns the server may hold; 0: no bound.
	MaxCampaigns int
}

// Server is the HTTP side of a node.
type Server struct {
	cfg      Config
	echo     *echo.Echo
	api      huma.API
	patterns map[string]bool              // of all routes
	document func() ([]byte, error)       // OpenAPI, as it is served; written when it is first asked for
	docs     func() ([]byte, error)       // the page about it, the same
	systems  func() ([]systemView, error) // what each edition offers, the same
	streams  streams
	exports  streams
	asking   streams       // for a replay, running and waiting
	replays  chan struct{} // holds a token for each replay under way
	waiting  atomic.Int64  // for it, or under way
	timing   timing
	rates    rates

	campaigns struct {
		sync.Mutex
		counted bool
		count   int
	}

	stopping context.Context // ends when live feeds are to end
	stop     context.CancelFunc
}

// timing is how long things take; tests have no patience.
type timing struct{ heartbeat, event, after, grace, read time.Duration }

// ours makes huma speak of problems as this package does. huma keeps these
// settings for the whole process.
var ours = sync.OnceFunc(func() {
	huma.DefaultArrayNullable = false
	huma.NewError = func(status int, msg string, errs ...error) huma.StatusError {
		return problemOfStatus(status, msg, errs...)
	}
	huma.NewErrorWithContext = func(_ huma.Context, status int, msg string, errs ...error) huma.StatusError {
		return huma.NewError(status, msg, errs...)
	}
})

// New makes a server; it does not listen yet. It fails when the command types
// of the library cannot be told apart in a request.
func New(cfg Config) (*Server, error) {
	ours()
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.Log = telemetry.Logger(cfg.Log)
	if cfg.Metrics == nil {
		cfg.Metrics = telemetry.NewMetrics(cfg.Version, nil)
	}
	s := &Server{
		cfg: cfg, echo: echo.New(),
		streams: streams{campaigns: map[string]int{}, callers: map[string]int{}},
		exports: streams{campaigns: map[string]int{}, callers: map[string]int{}, perCaller: ExportsPerToken},
		asking:  streams{campaigns: map[string]int{}, callers: map[string]int{}, perCaller: ReplaysPerToken},
		replays: make(chan struct{}, ReplaysAtOnce),
		rates:   newRates(cfg.Rates),
		timing:  timing{heartbeat, eventTimeout, AfterTimeout, grace, readTimeout},
	}
	s.stopping, s.stop = context.WithCancel(context.Background())
	s.echo.IPExtractor = echo.ExtractIPDirect()
	s.echo.HTTPErrorHandler = s.httpError
	s.echo.Use(s.observe, s.harden)
	schemas, err := newSchemas(cfg.Library)
	if err != nil {
		return nil, err
	}
	s.api = humaecho.New(s.echo, s.huma(schemas))
	s.routes(schemas)
	s.patterns = patterns(s.echo)
	s.gauges()
	s.systems = sync.OnceValues(func() ([]systemView, error) { return systemViews(cfg.Library, schemas) })
	s.document = sync.OnceValues(s.api.OpenAPI().MarshalJSON)
	s.docs = sync.OnceValues(func() ([]byte, error) { return docsPage(s.api.OpenAPI()) })
	return s, nil
}

func (s *Server) huma(schemas *schemas) huma.Config {
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "Tallystick", Version: s.cfg.Version, Description: introduction,
				License: &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
			},
			Components: &huma.Components{
				Schemas: schemas.registry,
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"bearer": {Type: "http", Scheme: "bearer", Description: "The admin token of the server, or the token of a participant."},
				},
			},
		},
		Formats:       map[string]huma.Format{"application/json": format, "json": format},
		DefaultFormat: "application/json",
		Transformers:  []huma.Transformer{s.sign},
	}
}

// introduction opens the OpenAPI document.
const introduction = "An event-sourced ledger for tabletop role-playing campaigns. A command is decided by the rules of the campaign's system and " +
	"stored with everything that follows from it; the same Idempotency-Key gives the same answer for ever. " +
	"Errors are problems as RFC 9457 has them (application/problem+json)."

// routes are all of the API.
func (s *Server) routes(schemas *schemas) {
	s.campaignRoutes()
	s.commandRoutes(schemas)
	s.eventRoutes()
	s.characterRoutes()
	s.prognosisRoutes()
	s.sessionRoutes()
	s.tempoRoutes()
	s.disputeRoutes()
	s.hiddenRoutes()
	s.proofRoutes()
	s.participantRoutes()
	s.tokenRoutes()
	s.invitationRoutes()
	s.signInRoutes()
	s.systemRoutes()
	s.healthRoutes()
	s.metricsRoutes()
	s.linkRoutes()
	s.webhookRoutes()
	s.pageRoutes()
	s.consoleRoutes()
}

// Handler is the server without a listener.
func (s *Server) Handler() http.Handler { return s.echo }

// Serve answers on a listener until ctx ends. Then it stops accepting, ends
// live feeds with a word on when to come back, answers the requests under way,
// and returns nil; what is not answered within a few seconds is cut off and
// returned as an error. A server that has stopped does not start again.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	open := crowds{most: s.cfg.Rates.Connections, at: map[string]int{}}
	srv := &http.Server{
		Handler:           s.echo,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       s.timing.read,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    MaxHeader,
		ConnState:         open.state,
		ErrorLog:          slog.NewLogLogger(s.cfg.Log.Handler(), slog.LevelWarn),
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	s.stop()
	within, cancel := context.WithTimeout(context.Background(), s.timing.grace)
	defer cancel()
	err := srv.Shutdown(within)
	if err != nil {
		err = errors.Join(fmt.Errorf("not every request was answered within %v: %w", s.timing.grace, err), srv.Close())
	}
	<-ended
	return err
}
