package main

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"tallystick/api"
	"tallystick/events/journal"
)

func serveCommand() *cobra.Command {
	var cfg nodeConfig
	var format string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the HTTP API until SIGTERM or Ctrl-C",
		Example: `  tallystick serve --data ./data
  tallystick serve --nats nats://10.0.0.1:4222 --nats-creds node.creds --replicas 3`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := logger(cmd.ErrOrStderr(), format)
			if err != nil {
				return err
			}
			cfg.Log = log
			n, err := startNode(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "tallystick serves %s\nopen it in a browser; admin token in %s/admin.token, API at %s/docs\n", n.Address, cfg.Dir, n.Address)
			return n.run(cmd.Context())
		},
	}
	nodeFlags(cmd, &cfg)
	cmd.Flags().StringVar(&format, "log-format", "text", "text or json")
	return cmd
}

func nodeFlags(cmd *cobra.Command, cfg *nodeConfig) {
	f := cmd.Flags()
	f.StringVar(&cfg.Dir, "data", "data", "folder for the ledger, the keys and the admin token")
	f.StringVar(&cfg.Listen, "listen", "127.0.0.1:8037", "address to serve on")
	f.StringVar(&cfg.NATS, "nats", "", "URL of a JetStream server or cluster instead of the embedded one")
	f.StringVar(&cfg.Creds, "nats-creds", "", "credentials file for --nats")
	f.IntVar(&cfg.Partitions, "partitions", journal.DefaultPartitions, "streams of a new ledger; fixed once it is made")
	f.IntVar(&cfg.Replicas, "replicas", 1, "replicas of a new ledger on --nats: 1, 3 or 5")
	f.BoolVar(&cfg.Strict, "strict", false, "answer only when archive and checkpoint are on disk as well (two more disk syncs a command)")
	f.StringVar(&cfg.TLSCert, "tls-cert", "", "file with the certificate to serve HTTPS with, and TLS at --nats-listen")
	f.StringVar(&cfg.TLSKey, "tls-key", "", "file with its key")
	f.StringVar(&cfg.NATSListen, "nats-listen", "", "address at which bots hear feeds by NATS, with keys alone (see bot); empty: no port; beyond this machine only with --tls-cert")
	f.Float64Var(&cfg.Rates.Token, "rate-token", api.DefaultRates.Token, "requests a second of one token; 0: no bound")
	f.Float64Var(&cfg.Rates.Address, "rate-address", api.DefaultRates.Address, "requests a second of one address; 0: no bound, for a server behind a proxy")
	f.Float64Var(&cfg.Rates.Wrong, "rate-wrong", api.DefaultRates.Wrong, "wrong tokens a second of one address; 0: no bound")
	f.IntVar(&cfg.MaxCampaigns, "max-campaigns", api.DefaultMaxCampaigns, "how many campaigns the server may hold; 0: no bound")
	f.StringSliceVar(&cfg.WebhookAllow, "webhook-allow", nil, "addresses or prefixes, such as 192.168.1.0/24, that webhooks may tell beside public ones, also without TLS")
	f.BoolVar(&cfg.NATSCommands, "nats-commands", false, "with --nats: take commands by request and reply at tallystick.command.<campaign>")
	f.StringVar(&cfg.Server, "name", "tallystick", "name of this server in the origin of new campaigns' checkpoints")
}

func logger(out io.Writer, format string) (*slog.Logger, error) {
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(out, nil)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(out, nil)), nil
	}
	return nil, &codeError{exitUnusable, fmt.Errorf("log-format is %q: must be text or json", format)}
}
