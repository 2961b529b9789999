package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"tallystick/api/ledger"
	"tallystick/events/journal"
)

func rotateKeyCommand() *cobra.Command {
	var cfg nodeConfig
	var finish bool
	cmd := &cobra.Command{
		Use:   "rotate-key",
		Short: "Put a new signing key in the place of the old one",
		Long: `Rotate-key makes a new key that signs checkpoints, and keeps the old one beside
it as signing.key.old. Stop the server first. After the next start each campaign
records the new key before its next command: the old key signs that the new one
follows. Checkpoints carry both signatures until a session has closed, then the
new one alone.

With --finish, when that has happened in every campaign, the old key is
destroyed. Until then it names the campaigns that are not done: a command and
the end of a session is all they need.`,
		Example: `  tallystick rotate-key --data ./data
  tallystick rotate-key --data ./data --finish`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := logger(cmd.ErrOrStderr(), "text")
			if err != nil {
				return err
			}
			cfg.Log = log
			if finish {
				return finishRotation(cmd.Context(), cmd.OutOrStdout(), cfg)
			}
			return rotateKey(cmd.Context(), cmd.OutOrStdout(), cfg)
		},
	}
	cmd.Flags().StringVar(&cfg.Dir, "data", "data", "folder of the keys and the ledger")
	cmd.Flags().StringVar(&cfg.NATS, "nats", "", "URL of the JetStream cluster that has the ledger instead")
	cmd.Flags().StringVar(&cfg.Creds, "nats-creds", "", "credentials file for --nats")
	cmd.Flags().BoolVar(&finish, "finish", false, "destroy the old key, when no campaign needs it any more")
	return cmd
}

// rotateKey holds the ledger while the files change: a server that runs would
// go on signing with the key that it has read.
func rotateKey(ctx context.Context, out io.Writer, cfg nodeConfig) (err error) {
	if cfg.NATS == "" {
		store, err := existing(ctx, cfg)
		if err != nil {
			return &codeError{exitUnusable, err}
		}
		defer store.Close()
	}
	if err := ledger.RotateKey(cfg.Dir); err != nil {
		return &codeError{exitUnusable, err}
	}
	fmt.Fprintf(out, "a new signing key is in %s; the old one is kept as %s until rotate-key --finish\n", cfg.Dir, ledger.FormerFile)
	return nil
}

// existing opens the journal of a ledger that is there already.
func existing(ctx context.Context, cfg nodeConfig) (journal.Journal, error) {
	if cfg.NATS == "" {
		if _, err := os.Stat(cfg.journalDir()); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("there is no ledger in %s", cfg.Dir)
		}
	}
	return openJournal(ctx, cfg, nil)
}

func finishRotation(ctx context.Context, out io.Writer, cfg nodeConfig) (err error) {
	store, err := existing(ctx, cfg)
	if err != nil {
		return &codeError{exitUnusable, err}
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	keys, err := ledger.LoadKeys(cfg.Dir, false)
	if err == nil && keys.Former == nil {
		err = ledger.ErrNotRotating
	}
	if err != nil {
		return &codeError{exitUnusable, err}
	}
	waiting, err := unrotated(ctx, out, store, keys, cfg.Log)
	if err != nil {
		return err
	}
	if waiting > 0 {
		return fmt.Errorf("%d campaigns still need the old key: it is kept", waiting)
	}
	if err := ledger.DestroyFormer(cfg.Dir); err != nil {
		return err
	}
	fmt.Fprintln(out, "the old signing key is destroyed; destroy the copies that backups have of it")
	return nil
}

// unrotated counts and names the campaigns that still need the old key.
func unrotated(ctx context.Context, out io.Writer, store journal.Journal, keys ledger.Keys, log *slog.Logger) (waiting int, err error) {
	l, err := ledger.New(ctx, ledger.Config{Journal: store, Library: library(), Keys: keys, Log: log})
	if err != nil {
		return 0, err
	}
	const page = 1_000
	for after := ""; ; {
		ids, err := store.Campaigns(ctx, after, page)
		if err != nil {
			return waiting, err
		}
		for _, id := range ids {
			done, err := l.Rotated(ctx, id)
			if err != nil {
				fmt.Fprintf(out, "%s: %v\n", id, err)
			} else if !done {
				fmt.Fprintf(out, "%s: no session has closed yet since its key was rotated\n", id)
			}
			if !done {
				waiting++
			}
			after = id
		}
		if len(ids) < page {
			return waiting, nil
		}
	}
}
