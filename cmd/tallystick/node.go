package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"go.opentelemetry.io/otel/trace"

	"tallystick/api"
	"tallystick/api/ledger"
	"tallystick/api/telemetry"
	"tallystick/events/archive"
	"tallystick/events/journal"
	"tallystick/projections/feed"
	"tallystick/rules"
	"tallystick/rules/systems"
)

func library() rules.Library { return systems.Library() }

// nodeConfig is what a node is started with.
type nodeConfig struct {
	Dir        string // data folder: keys, tokens, and the store of the embedded server
	Listen     string
	NATS       string // URL of a JetStream cluster; empty: embedded
	Creds      string // file with the credentials for NATS, or
	NKey       string // file with the seed of a key
	CA         string // file with the certificates that may vouch for NATS
	Partitions int    // of a new ledger
	Replicas   int
	Server     string // name in the origin of checkpoints
	Strict     bool   // archive and checkpoints are part of the acknowledgement
	Log        *slog.Logger

	TLSCert, TLSKey string       // files; both empty: not encrypted
	NATSListen      string       // where bots come in by NATS; empty: nowhere
	NATSCommands    bool         // commands are taken by NATS from the cluster of NATS
	WebhookAllow    []string     // addresses and prefixes beside the public ones
	Rates           api.Rates    // the zero Rates bound nothing
	MaxCampaigns    int          // 0: no bound
	Memory          int          // MiB that campaigns may take; 0: defaultMemory
	MetricsListen   string       // where figures are served without a token; empty: nowhere
	Tracer          trace.Tracer // nil: no spans

	broken func(error) // is told when the store cannot be served any more; may be nil
}

// defaultMemory is how many MiB folded campaigns and their views may take.
const defaultMemory = (ledger.DefaultBudget + feed.DefaultBudget) >> 20

// memory is the budget of folded campaigns and views in bytes: state takes about
// twice what views take.
func (cfg nodeConfig) memory() int64 { return int64(cmp.Or(cfg.Memory, defaultMemory)) << 20 }

// A node is one running program: the journal, the ledger over it, the views,
// and the HTTP server.
type node struct {
	Address string // http://host:port
	Admin   string // the admin token

	journal  journal.Journal
	archive  *archive.Archive
	heads    *archive.Heads
	found    archive.Report           // by the archive, at the start
	keeper   *doorkeeper              // of the port for bots; nil: there is none
	damaged  atomic.Pointer[[]string] // what is wrong with the checkpoints' file, once it is read
	unheld   atomic.Pointer[[]string] // tokens that are damaged, once they were looked at
	ledger   *ledger.Ledger
	tokens   *ledger.Tokens
	outward  atomic.Pointer[outward]
	server   *api.Server
	listener net.Listener
	stop     context.CancelFunc // ends the views' follower
	metrics  *telemetry.Metrics
	log      *slog.Logger
	broken   chan error         // takes one: why the store cannot be served any more
	looked   chan struct{}      // closed when the inspection has ended
	ticking  chan struct{}      // closed when the ticker has ended
	noTicks  context.CancelFunc // ends it
}

// startNode opens everything but answers no request yet.
func startNode(ctx context.Context, cfg nodeConfig) (*node, error) {
	cfg.Log = telemetry.Logger(cfg.Log)
	listener, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, errors.Join(fmt.Errorf("data folder: %w", err), listener.Close())
	}
	bots, err := botsAtStart(cfg)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	broken := make(chan error, 1)
	cfg.broken = func(err error) { broken <- err }
	store, err := openJournal(ctx, cfg, bots)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	n := &node{
		broken: broken, journal: store, listener: listener, Address: "http://" + listener.Addr().String(),
		metrics: telemetry.NewMetrics(version(), commandTypes()), log: cfg.Log,
	}
	if err := n.open(cfg, bots); err != nil {
		return nil, errors.Join(err, store.Close(), listener.Close())
	}
	return n, nil
}

func openJournal(ctx context.Context, cfg nodeConfig, bots []journal.Bot) (journal.Journal, error) {
	options := journal.Options{Partitions: cfg.Partitions, Replicas: cfg.Replicas, Logger: cfg.Log}
	if cfg.NATS != "" {
		options.URL, options.CredsFile, options.NKeyFile, options.CAFile = cfg.NATS, cfg.Creds, cfg.NKey, cfg.CA
		return journal.Connect(ctx, options)
	}
	if _, err := archive.FinishRestore(cfg.journalDir(), cfg.archiveDir()); err != nil {
		return nil, err
	}
	options.Dir, options.Broken = cfg.journalDir(), cfg.broken
	if cfg.NATSListen == "" {
		return openEmbedded(ctx, options)
	}
	options.Bots = bots
	var err error
	if options.FeedTLS, err = certificate(cfg); err != nil {
		return nil, err
	}
	options.FeedListen = cfg.NATSListen
	return openEmbedded(ctx, options)
}

func openEmbedded(ctx context.Context, o journal.Options) (journal.Journal, error) {
	store, err := journal.Embedded(ctx, o)
	return store, naming(err)
}

// What lies in a data folder, beside keys and the admin token.
func (cfg nodeConfig) journalDir() string { return filepath.Join(cfg.Dir, "journal") }
func (cfg nodeConfig) archiveDir() string { return filepath.Join(cfg.Dir, "archive") }
func (cfg nodeConfig) headsFile() string  { return filepath.Join(cfg.Dir, "checkpoints") }

// acceptedFile is the note of restore about losses that the host has accepted.
func (cfg nodeConfig) acceptedFile() string { return filepath.Join(cfg.Dir, "accepted-losses") }

// openSecond opens the copy of the ledger that the store's server never opens,
// and what keeps the last signed checkpoints.
func (n *node) openSecond(ctx context.Context, cfg nodeConfig) error {
	options := archive.Options{Strict: cfg.Strict, Log: cfg.Log}
	var err error
	if n.archive, n.found, err = archive.Open(ctx, cfg.archiveDir(), n.journal, options); err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	if n.heads, err = archive.OpenHeads(ctx, n.journal, cfg.headsFile(), options); err != nil {
		return fmt.Errorf("checkpoints: %w", err)
	}
	return nil
}

// problems are what the second copy and the inspection have found, and what keeps
// the copy from being written.
func (n *node) problems() []string {
	lines := n.found.Problems()
	if err := n.archive.Health().Err; err != nil {
		lines = append(lines, "the archive is not written: "+err.Error())
	}
	if err := n.heads.Health().Err; err != nil {
		lines = append(lines, "the checkpoints are not kept: "+err.Error())
	}
	for _, found := range []*[]string{n.damaged.Load(), n.unheld.Load()} {
		if found != nil {
			lines = append(lines, *found...)
		}
	}
	lost := n.ledger.Lost()
	for _, campaign := range slices.Sorted(maps.Keys(lost)) {
		lines = append(lines, fmt.Sprintf("campaign %s: what records %v hide is not kept any more, or cannot be read", campaign, lost[campaign]))
	}
	if n.keeper != nil {
		lines = append(lines, n.keeper.problems()...)
	}
	return lines
}

// inspect looks at the checkpoints' file and at every campaign, behind the
// start. The ledgers that are to be begun anew have been by its end: then the
// note about them is done.
func (n *node) inspect(ctx context.Context, cfg nodeConfig) {
	damage, err := n.heads.Damage(ctx)
	if err != nil {
		return // the program is stopping
	}
	var lines []string
	for _, d := range damage {
		lines = append(lines, "damage among the checkpoints: "+d.String())
	}
	n.damaged.Store(&lines)
	err = n.ledger.Inspect(ctx)
	unheld, failed := n.tokens.Damage(ctx, func(each func(string, string)) error { return n.ledger.Participants(ctx, each) })
	if failed != nil && ctx.Err() == nil {
		unheld = append(unheld, "the tokens cannot be looked at: "+failed.Error())
	}
	n.unheld.Store(&unheld)
	if ctx.Err() != nil {
		return
	}
	if err == nil {
		if err = os.Remove(cfg.acceptedFile()); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err != nil {
		cfg.Log.Error("inspection of the ledger", "error", err)
	}
}

// isNew reports whether a ledger has no record yet.
func isNew(j journal.Journal) bool {
	h := j.Health(context.Background())
	return h.Reachable && !slices.ContainsFunc(h.Partitions, func(p journal.PartitionHealth) bool { return p.Last > 0 })
}

func (n *node) open(cfg nodeConfig, bots []journal.Bot) error {
	keys, err := ledger.LoadKeys(cfg.Dir, isNew(n.journal))
	if err != nil {
		return err
	}
	if n.Admin, err = ledger.LoadAdminToken(cfg.Dir); err != nil {
		return err
	}
	following, stop := context.WithCancel(context.Background())
	n.stop = stop
	if n.tokens, err = ledger.NewTokens(following, n.journal, n.Admin); err != nil {
		return err
	}
	snapshots, err := ledger.OpenSnapshots(following, n.journal, keys, version())
	if err != nil {
		return err
	}
	hub := feed.NewHub(n.journal, feed.Snapshots(snapshots), feed.Budget(cfg.memory()/3), feed.Also(func(c journal.Commit) {
		if o := n.outward.Load(); o != nil {
			o.followed(c)
		}
	}))
	if err := hub.Start(following); err != nil {
		return fmt.Errorf("follow the ledger: %w", err)
	}
	if err := n.openSecond(following, cfg); err != nil {
		return err
	}
	left, err := readAccepted(cfg.acceptedFile())
	if err != nil {
		return err
	}
	n.ledger, err = ledger.New(following, ledger.Config{
		Journal: n.journal, Library: library(), Keys: keys, Server: cfg.Server,
		Committed: func(c journal.Commit) { hub.Notify(c); n.outward.Load().committed(c) },
		Found:     hub.Notify,
		Archive:   n.archive, Heads: n.heads, Recover: left, Snapshots: snapshots, Budget: cfg.memory() * 2 / 3,
		Log: cfg.Log, Metrics: n.metrics,
	})
	if err != nil {
		return err
	}
	out, err := openOutward(following, cfg, n.journal, n.ledger, keys)
	if err != nil {
		return err
	}
	n.outward.Store(out)
	n.server, err = api.New(api.Config{
		Ledger: n.ledger, Hub: hub, Tokens: n.tokens, Library: library(), Journal: n.journal, Webhooks: out.hooks,
		Version: version(), Problems: n.problems, Log: cfg.Log, Rates: cfg.Rates, MaxCampaigns: cfg.MaxCampaigns,
		Metrics: n.metrics, Tracer: cfg.Tracer,
	})
	if err != nil {
		return err
	}
	encrypted, err := certificate(cfg)
	if err != nil {
		return err
	}
	if encrypted != nil {
		n.Address = "https://" + n.listener.Addr().String()
		n.listener = tls.NewListener(n.listener, encrypted)
	}
	if err := n.openFigures(following, cfg); err != nil {
		return err
	}
	if asked, ok := n.journal.(journal.Responder); ok && (cfg.NATSListen != "" || cfg.NATSCommands) {
		if err := asked.Respond(following, n.server.Answer); err != nil {
			return err
		}
	}
	out.start(following)
	n.looked = make(chan struct{})
	go func() {
		defer close(n.looked)
		n.inspect(following, cfg)
	}()
	if door, ok := n.journal.(journal.Door); ok && cfg.NATSListen != "" {
		n.keeper = &doorkeeper{dir: cfg.Dir, door: door, log: cfg.Log}
		go n.keeper.watch(following, bots)
	}
	n.startTicker(following)
	return nil
}

// startTicker lets game time follow the wall clock where it is to.
func (n *node) startTicker(ctx context.Context) {
	ctx, n.noTicks = context.WithCancel(ctx)
	n.ticking = make(chan struct{})
	go func() {
		defer close(n.ticking)
		ledger.NewTicker(n.ledger).Run(ctx)
	}()
}

// run answers requests until ctx ends or the store is broken, then stops in order:
// no new request, those under way answered, followers told to come back, the
// journal closed.
func (n *node) run(ctx context.Context) error {
	return untilBroken(ctx, n.broken, n.serve)
}

func (n *node) serve(ctx context.Context) error {
	n.log.Info("serving", "address", n.Address, "version", version())
	err := n.server.Serve(ctx, n.listener)
	n.log.Info("stopping")
	n.noTicks()
	<-n.ticking
	n.ledger.Close()
	n.stop()
	n.outward.Load().running.Wait()
	return errors.Join(err, n.heads.Close(), n.archive.Close(), n.journal.Close())
}
