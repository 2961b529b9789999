package main

import (
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"tallystick/replay"
)

// Formats of what is printed for people and programs.
const (
	formatText     = "text"
	formatMarkdown = "markdown"
	formatJSON     = "json"
	formatNDJSON   = "ndjson"
	formatHTML     = "html"
)

func auditCommand() *cobra.Command {
	var remote remoteFlags
	var format string
	cmd := &cobra.Command{
		Use:   "audit CAMPAIGN|FILE|FOLDER ROLL",
		Short: "Explain one roll, wound or check: dice, modifiers, seeds, what it caused, how provable it is",
		Long: `Audit explains the roll in a record from the ledger alone: a sentence first, then
every die with its seed, every modifier with its rule and the records it comes
from, what the roll caused, and who can prove it. ROLL is the number of the
record; that of a wound, a death or a check explains the roll it follows from, or
how it came about without one.
FILE or FOLDER is an export and needs no server.`,
		Example: `  tallystick audit night-one 13
  tallystick audit 0192f1c0-7d6a-7c3e-9b1a-3f2f4a5b6c7d 13 --token-file gm.token --format markdown`,
		Args: exactly(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := recordNumber(args[1])
			if err != nil {
				return err
			}
			in, err := openLedger(cmd, remote, args[0])
			if err != nil {
				return &codeError{exitUnusable, err}
			}
			defer in.Close()
			return runAudit(cmd.OutOrStdout(), in, n, format)
		},
	}
	remote.add(cmd)
	cmd.Flags().StringVar(&format, "format", formatText, "text, markdown or json")
	return cmd
}

func recordNumber(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, &codeError{exitUnusable, fmt.Errorf("ROLL is %q: must be the number of a record", text)}
	}
	return n, nil
}

func runAudit(out io.Writer, in io.Reader, n int64, format string) error {
	write, ok := map[string]func(*replay.Audit) error{
		formatText:     func(a *replay.Audit) error { _, err := io.WriteString(out, a.Text()); return err },
		formatMarkdown: func(a *replay.Audit) error { _, err := io.WriteString(out, a.Markdown()); return err },
		formatJSON:     func(a *replay.Audit) error { return printJSON(out, a) },
	}[format]
	if !ok {
		return &codeError{exitUnusable, fmt.Errorf("--format is %q: must be text, markdown or json", format)}
	}
	auditor := replay.NewAuditor(library(), n)
	err := replay.Commits(in, auditor.Commit)
	var audit *replay.Audit
	if err == nil {
		audit, err = auditor.End()
	}
	if err != nil {
		return &codeError{exitUnusable, err}
	}
	return write(audit)
}
