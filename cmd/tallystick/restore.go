package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"tallystick/api/ledger"
	"tallystick/events/archive"
)

func restoreCommand() *cobra.Command {
	var cfg nodeConfig
	var lossy bool
	cmd := &cobra.Command{
		Use:   "restore",
		Short: "Heal a damaged ledger from its archive",
		Long: `Restore builds a new store beside the damaged one from the archive, which the
store's server never opens, and from what the store holds besides; compares both
with each other and with the last signed checkpoints; and then swaps the folders.
The damaged one is kept under another name. Stop the server first.

If something is in neither, or the two contradict each other, restore refuses
and names the campaign and its records: nothing is changed then. With
--accept-loss the other campaigns are healed all the same, and the named ones up
to where they are whole; their signed checkpoints still cover what is lost, so
they stay read-only.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := logger(cmd.ErrOrStderr(), "text")
			if err != nil {
				return err
			}
			done, err := archive.Restore(cmd.Context(), archive.RestoreOptions{
				Journal: cfg.journalDir(), Archive: cfg.archiveDir(), Heads: cfg.headsFile(),
				Buckets:    []string{ledger.TokenBucket, ledger.VaultBucket},
				AcceptLoss: lossy, Log: log,
			})
			out := cmd.OutOrStdout()
			for _, loss := range done.Losses {
				fmt.Fprintf(out, "LOST: %s\n", loss)
			}
			if errors.Is(err, archive.ErrRefused) {
				return &codeError{exitDiverged, err}
			}
			if err != nil {
				return &codeError{exitUnusable, err}
			}
			fmt.Fprintf(out, "%d commits of %d campaigns are in the ledger, %d of them put back\n", done.Commits, done.Campaigns, done.Healed)
			for _, kept := range done.Kept {
				fmt.Fprintf(out, "the damaged folder is kept as %s\n", filepath.Clean(kept))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&cfg.Dir, "data", "data", "folder of the ledger")
	cmd.Flags().BoolVar(&lossy, "accept-loss", false, "heal what can be healed although something is lost")
	return cmd
}
