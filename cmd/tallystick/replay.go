package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"tallystick/replay"
)

func replayCommand() *cobra.Command {
	var remote remoteFlags
	var asJSON bool
	var steps stepFlags
	cmd := &cobra.Command{
		Use:   "replay CAMPAIGN|FILE|FOLDER",
		Short: "Decide every recorded command again and compare",
		Long: `Replay decides every recorded command again, from the recorded seeds, and
compares the records byte for byte. It reads an exported file or folder
without any server, or the ledger of a campaign from a running server.

With --session it shows that session command by command, with how everybody
stands after each: at once, or at a reading speed (--speed, words a minute), where
the text names those who stand otherwise than before; or on a terminal with --step
by keys, everybody on every screen: space, enter or right arrow for the next, left
arrow for the one before, g and G for the ends, q to end.

Exit code 0: identical. 1: something else was decided; the first difference is
shown. 2: the ledger cannot be replayed (damaged, or its rules not on board).`,
		Example: `  tallystick replay out/events.jsonl
  tallystick replay 0192f1c0-7d6a-7c3e-9b1a-3f2f4a5b6c7d --token-file gm.token`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := openLedger(cmd, remote, args[0])
			if err != nil {
				return &codeError{exitUnusable, err}
			}
			defer in.Close()
			if steps.session != "" {
				return steps.run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), in)
			}
			records, err := runReplay(cmd.OutOrStdout(), in, asJSON)
			if err != nil {
				return err
			}
			return whole(args[0], records)
		},
	}
	remote.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the verdict as JSON")
	steps.add(cmd)
	return cmd
}

// verdict is what a replay says in JSON.
type verdict struct {
	Commands   int64              `json:"commands"`
	Records    int64              `json:"records"`
	Identical  bool               `json:"identical"`
	Divergence *replay.Divergence `json:"divergence,omitzero"`
	Unusable   string             `json:"unusable,omitzero"`
}

func runReplay(out io.Writer, in io.Reader, asJSON bool) (records int64, err error) {
	r := replay.New(library())
	err = r.Ledger(in)
	v := verdict{Commands: r.Commands(), Records: r.Records(), Identical: err == nil}
	if errors.As(err, &v.Divergence) {
		err = &codeError{exitDiverged, err}
	} else if err != nil {
		v.Unusable = err.Error()
		err = &codeError{exitUnusable, err}
	}
	switch {
	case asJSON:
		if failed := printJSON(out, v); err == nil {
			err = failed
		}
	case v.Identical:
		fmt.Fprintf(out, "replay: %d commands, %d records, identical\n", v.Commands, v.Records)
	default:
		fmt.Fprintf(out, "replay: %d commands, %d records identical before the first difference\n", v.Commands, v.Records)
	}
	return v.Records, err
}

// whole refuses a folder whose ledger is shorter than the checkpoint beside it:
// what is there was decided rightly, and something is missing.
func whole(source string, records int64) error {
	text, err := os.ReadFile(filepath.Join(source, checkpointFile))
	if err != nil {
		return nil // no folder, or no checkpoint in it
	}
	lines := strings.SplitN(string(text), "\n", 3)
	if size, err := strconv.ParseInt(lines[min(1, len(lines)-1)], 10, 64); err != nil || size > records {
		return &codeError{exitUnusable, fmt.Errorf("the checkpoint in %s covers %s records, and %d are there: something is missing; tallystick verify says more", source, lines[min(1, len(lines)-1)], records)}
	}
	return nil
}

// openLedger opens an exported file, the events.jsonl in a folder, or the
// ledger of a campaign on a server.
func openLedger(cmd *cobra.Command, remote remoteFlags, source string) (io.ReadCloser, error) {
	if _, err := uuid.Parse(source); err == nil {
		c, err := remote.client()
		if err != nil {
			return nil, err
		}
		return c.stream(cmd.Context(), "/v1/campaigns/"+source+"/ledger")
	}
	info, err := os.Stat(source)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		source = filepath.Join(source, eventsFile)
	}
	return os.Open(source)
}

// exactly is cobra.ExactArgs with our exit code.
func exactly(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := cobra.ExactArgs(n)(cmd, args); err != nil {
			return &codeError{exitUnusable, err}
		}
		return nil
	}
}
