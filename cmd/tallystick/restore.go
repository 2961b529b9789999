package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"tallystick/api/ledger"
	"tallystick/api/webhooks"
	"tallystick/events/archive"
)

// bucketsBeside are the small stores that a ledger needs beside its records.
var bucketsBeside = append(slices.Clone(ledger.Buckets), webhooks.Bucket)

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
to where they are whole. At the next start their ledgers are begun anew: a record
says what is missing, with the last checkpoint that was signed over it, and from
there on checkpoints are signed under another name. Everybody who has seen the
lost records is told. Use it only when no backup has what is lost.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := logger(cmd.ErrOrStderr(), "text")
			if err != nil {
				return err
			}
			done, err := archive.Restore(cmd.Context(), archive.RestoreOptions{
				Journal: cfg.journalDir(), Archive: cfg.archiveDir(), Heads: cfg.headsFile(),
				Buckets:    bucketsBeside,
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
			if err := accepted(cfg.acceptedFile(), done.Losses); err != nil {
				return fmt.Errorf("note which losses were accepted: restore again (%w)", err)
			}
			for _, loss := range done.Losses {
				fmt.Fprintln(out, goesOn(loss))
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

// goesOn says what becomes of a campaign that could not be healed.
func goesOn(loss archive.Finding) string {
	switch {
	case loss.Kind != archive.Short:
		return fmt.Sprintf("campaign %s goes on as far as it is whole and fits its last signed checkpoint", loss.Campaign)
	case loss.N == 0:
		return fmt.Sprintf("campaign %s: nothing is left of it", loss.Campaign)
	}
	return fmt.Sprintf("campaign %s: %d records are left; its ledger is begun anew at the next start", loss.Campaign, loss.N)
}
