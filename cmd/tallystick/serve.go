package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"tallystick/api"
	"tallystick/api/telemetry"
	"tallystick/events/journal"
)

func serveCommand() *cobra.Command {
	var cfg nodeConfig
	var format, level string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the HTTP API until SIGTERM or Ctrl-C",
		Example: `  tallystick serve --data ./data
  tallystick serve --nats nats://10.0.0.1:4222 --nats-creds node.creds --replicas 3`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := levelled(cmd.ErrOrStderr(), format, level)
			if err != nil {
				return err
			}
			if cfg.Memory < 1 {
				return &codeError{exitUnusable, fmt.Errorf("memory is %d: must be at least 1 MiB", cfg.Memory)}
			}
			cfg.Log = telemetry.Logger(log)
			slog.SetDefault(cfg.Log) // what a library prints is a line like the others
			stop, err := traced(cmd.Context(), &cfg)
			if err != nil {
				return err
			}
			defer stop()
			n, err := startNode(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "tallystick serves %s\nopen it in a browser; admin token in %s/admin.token, API at %s/docs\n", n.Address, cfg.Dir, n.Address)
			notify("READY=1")
			defer context.AfterFunc(cmd.Context(), func() { notify("STOPPING=1") })()
			return n.run(cmd.Context())
		},
	}
	nodeFlags(cmd, &cfg)
	cmd.Flags().StringVar(&format, "log-format", "text", "text or json")
	cmd.Flags().StringVar(&level, "log-level", "info", "debug, info, warn or error: what is less is not logged")
	cmd.Flags().StringVar(&cfg.MetricsListen, "metrics-listen", "", "address at which /metrics is served without a token, for a scraper; empty: only on --listen, for the admin token")
	complete(cmd, "log-format", "text", "json")
	complete(cmd, "log-level", "debug", "info", "warn", "error")
	return cmd
}

func nodeFlags(cmd *cobra.Command, cfg *nodeConfig) {
	f := cmd.Flags()
	f.StringVar(&cfg.Dir, "data", "data", "folder for the ledger, the keys and the admin token")
	f.StringVar(&cfg.Listen, "listen", "127.0.0.1:8037", "address to serve on")
	f.StringVar(&cfg.NATS, "nats", "", "URL of a JetStream server or cluster instead of the embedded one")
	f.StringVar(&cfg.Creds, "nats-creds", "", "credentials file for --nats")
	f.StringVar(&cfg.NKey, "nats-nkey", "", "file with the seed of a key for --nats")
	f.StringVar(&cfg.CA, "nats-ca", "", "file with the certificates that may vouch for the servers of --nats tls://…; empty: those of the system")
	f.IntVar(&cfg.Partitions, "partitions", journal.DefaultPartitions, "streams of a new ledger; fixed once it is made")
	f.IntVar(&cfg.Replicas, "replicas", 1, "replicas of a new ledger on --nats: 1, 3 or 5")
	f.BoolVar(&cfg.Strict, "strict", false, "answer only when archive and checkpoint are on disk as well (two more disk syncs a command)")
	f.StringVar(&cfg.TLSCert, "tls-cert", "", "file with the certificate to serve HTTPS with, and TLS at --nats-listen")
	f.StringVar(&cfg.TLSKey, "tls-key", "", "file with its key")
	f.StringVar(&cfg.NATSListen, "nats-listen", "", "address at which bots hear feeds by NATS, with keys alone (see bot); empty: no port; beyond this machine only with --tls-cert")
	f.Float64Var(&cfg.Rates.Token, "rate-token", api.DefaultRates.Token, "requests a second of one token; 0: no bound")
	f.Float64Var(&cfg.Rates.Address, "rate-address", api.DefaultRates.Address, "requests a second of one address; 0: no bound, for a server behind a proxy")
	f.Float64Var(&cfg.Rates.Wrong, "rate-wrong", api.DefaultRates.Wrong, "wrong tokens a second of one address; 0: no bound")
	f.IntVar(&cfg.Rates.Connections, "max-connections", api.DefaultRates.Connections, "open connections of one address; 0: no bound, for a server behind a proxy")
	f.IntVar(&cfg.MaxCampaigns, "max-campaigns", api.DefaultMaxCampaigns, "how many campaigns the server may hold; 0: no bound")
	f.IntVar(&cfg.Memory, "memory", defaultMemory, "MiB that campaigns in memory may take, about; the ones used least lately are let go for others")
	f.StringSliceVar(&cfg.WebhookAllow, "webhook-allow", nil, "addresses or prefixes, such as 192.168.1.0/24, that webhooks may tell beside public ones, also without TLS")
	f.BoolVar(&cfg.NATSCommands, "nats-commands", false, "with --nats: take commands by request and reply at tallystick.command.<campaign>")
	f.StringVar(&cfg.Server, "name", "tallystick", "name of this server in the origin of new campaigns' checkpoints")
}

func logger(out io.Writer, format string) (*slog.Logger, error) {
	return levelled(out, format, "info")
}

func levelled(out io.Writer, format, level string) (*slog.Logger, error) {
	var options slog.HandlerOptions
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return nil, &codeError{exitUnusable, fmt.Errorf("log-level is %q: must be debug, info, warn or error", level)}
	}
	options.Level = least
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(out, &options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(out, &options)), nil
	}
	return nil, &codeError{exitUnusable, fmt.Errorf("log-format is %q: must be text or json", format)}
}
