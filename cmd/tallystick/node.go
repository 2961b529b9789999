package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"tallystick/api"
	"tallystick/api/ledger"
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
	Creds      string
	Partitions int // of a new ledger
	Replicas   int
	Server     string // name in the origin of checkpoints
	Log        *slog.Logger
}

// A node is one running program: the journal, the ledger over it, the views,
// and the HTTP server.
type node struct {
	Address string // http://host:port
	Admin   string // the admin token

	journal  journal.Journal
	ledger   *ledger.Ledger
	server   *api.Server
	listener net.Listener
	stop     context.CancelFunc // ends the views' follower
}

// startNode opens everything but answers no request yet.
func startNode(ctx context.Context, cfg nodeConfig) (*node, error) {
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	store, err := openJournal(ctx, cfg)
	if err != nil {
		return nil, err
	}
	n := &node{journal: store}
	if err := n.open(cfg); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return n, nil
}

func openJournal(ctx context.Context, cfg nodeConfig) (journal.Journal, error) {
	options := journal.Options{Partitions: cfg.Partitions, Replicas: cfg.Replicas, Logger: cfg.Log}
	if cfg.NATS != "" {
		options.URL, options.CredsFile = cfg.NATS, cfg.Creds
		return journal.Connect(ctx, options)
	}
	options.Dir = filepath.Join(cfg.Dir, "journal")
	return journal.Embedded(ctx, options)
}

func (n *node) open(cfg nodeConfig) error {
	keys, err := ledger.LoadKeys(cfg.Dir)
	if err != nil {
		return err
	}
	if n.Admin, err = ledger.LoadAdminToken(cfg.Dir); err != nil {
		return err
	}
	following, stop := context.WithCancel(context.Background())
	n.stop = stop
	tokens, err := ledger.NewTokens(following, n.journal, n.Admin)
	if err != nil {
		return err
	}
	hub := feed.NewHub(n.journal)
	if err := hub.Start(following); err != nil {
		return fmt.Errorf("follow the ledger: %w", err)
	}
	n.ledger, err = ledger.New(following, ledger.Config{
		Journal: n.journal, Library: library(), Keys: keys, Server: cfg.Server,
		Committed: hub.Notify, Log: cfg.Log,
	})
	if err != nil {
		return err
	}
	n.server, err = api.New(api.Config{
		Ledger: n.ledger, Hub: hub, Tokens: tokens, Library: library(), Journal: n.journal,
		Version: version(), Log: cfg.Log,
	})
	if err != nil {
		return err
	}
	if n.listener, err = net.Listen("tcp", cfg.Listen); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	n.Address = "http://" + n.listener.Addr().String()
	return nil
}

// shutdown bounds how long a stop may take.
const shutdown = 10 * time.Second

// run answers requests until ctx ends, then stops in order: no new request,
// those under way answered, followers told to come back, the journal closed.
func (n *node) run(ctx context.Context) error {
	err := n.server.Serve(ctx, n.listener)
	n.ledger.Close()
	n.stop()
	return errors.Join(err, n.journal.Close())
}
