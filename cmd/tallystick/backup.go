package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"tallystick/events/archive"
)

func backupCommand() *cobra.Command {
	var cfg nodeConfig
	var out string
	cmd := &cobra.Command{
		Use:   "backup",
		Short: "Copy a ledger while it is served, and check the copy",
		Long: `Backup copies the store, its archive and the last signed checkpoints to another
folder while the server goes on, and then makes a whole ledger of the copy, as
restore does: every record is read, and held against the archive and the
checkpoints. What was answered more than a second before it began is in it. The
folder is a data folder without its keys: keep those once, elsewhere.`,
		Example: `  tallystick backup --data /var/lib/tallystick --out /backup/monday`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := levelled(cmd.ErrOrStderr(), "text", "error") // a store that was copied while it is written warns of that
			if err != nil {
				return err
			}
			cfg.Log = log
			done, err := backup(cmd.Context(), cfg, out)
			for _, loss := range done.Losses {
				fmt.Fprintf(cmd.OutOrStdout(), "LOST: %s\n", loss)
			}
			if errors.Is(err, archive.ErrRefused) {
				return &codeError{exitDiverged, err}
			}
			if err != nil {
				return &codeError{exitUnusable, err}
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%d commits of %d campaigns are in %s, and whole\n", done.Commits, done.Campaigns, filepath.Clean(out))
			return nil
		},
	}
	cmd.Flags().StringVar(&cfg.Dir, "data", "data", "folder of the ledger")
	cmd.Flags().StringVar(&out, "out", "", "folder to make")
	if err := cmd.MarkFlagRequired("out"); err != nil {
		panic("cmd: " + err.Error())
	}
	return cmd
}

// The archive is behind the store by a second at most; a copy of it that lacks
// what the copy of the store's checkpoints covers is made again.
const (
	backupTries = 10
	backupPause = time.Second
)

// backup copies a data folder that may be in use. What is copied first is
// covered by what is copied last: checkpoints, store, archive.
func backup(ctx context.Context, cfg nodeConfig, out string) (archive.Restored, error) {
	none := archive.Restored{}
	if _, err := os.Stat(cfg.journalDir()); err != nil {
		return none, fmt.Errorf("there is no store in %s: %w", cfg.Dir, err)
	}
	if err := os.Mkdir(out, 0o700); err != nil {
		return none, err
	}
	to := cfg
	to.Dir = out
	for _, file := range []string{filepath.Base(cfg.headsFile()), botsFile} {
		if err := copyFile(filepath.Join(cfg.Dir, file), filepath.Join(out, file)); err != nil {
			return none, err
		}
	}
	if err := copyTree(cfg.journalDir(), to.journalDir()); err != nil {
		return none, err
	}
	var done archive.Restored
	for try := 1; ; try++ {
		err := copyTree(cfg.archiveDir(), to.archiveDir())
		if err == nil {
			done, err = archive.Restore(ctx, archive.RestoreOptions{
				Journal: to.journalDir(), Archive: to.archiveDir(), Heads: to.headsFile(), Buckets: bucketsBeside, Log: cfg.Log,
			})
		}
		if err == nil {
			break
		}
		if !errors.Is(err, archive.ErrRefused) || try == backupTries {
			return done, err
		}
		select {
		case <-ctx.Done():
			return none, ctx.Err()
		case <-time.After(backupPause):
		}
	}
	for _, kept := range done.Kept { // the copies as they were copied: the originals are still there
		if err := os.RemoveAll(kept); err != nil {
			return done, err
		}
	}
	return done, nil
}

// copyTree copies a folder whose files may grow, be replaced or go meanwhile.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it has gone since it was listed
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		}
		return copyFile(path, filepath.Join(to, rel))
	})
}

// copyFile copies a file as far as it is written, if it is there, to the disk.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}
