package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"tallystick/replay"
)

// verifyFlags say what a ledger is held against.
type verifyFlags struct {
	checkpoints []string
	vkey, me    string
	asJSON      bool
	names       bool // in the summary of many
}

func verifyCommand() *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify FILE|FOLDER…",
		Short: "Check a ledger without trusting anybody: records, signatures, dice, rules",
		Long: `Verify checks an exported ledger, offline: the form of every record, the tree
and the checkpoints signed over it, seats and hash chains, the dice of every
roll, and the rules by deciding every command again. Then it says for each
lane of dice on whose honesty it rests.

A checkpoint that you kept, or a friend did, shows whether this is the history
you saw. Without one, a ledger can be good and yet another one.

Of several exports, or of a folder that holds many, it verifies all at once and
prints a summary; names stay out of it unless --names asks for them.

Exit code 0: verified. 1: refused, and the first bad record is named.
2: a file cannot be read or is no ledger, or the edition of its rules is not on board: then
nobody can say whether the rules were kept.`,
		Example: `  tallystick verify night-one
  tallystick verify night-one --checkpoint mine.checkpoint --vkey table.vkey --me anna
  tallystick verify sessions/`,
		Args: atLeastOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 || !isBundle(args[0]) {
				return f.many(cmd, args)
			}
			in, evidence, err := f.open(args[0])
			if err != nil {
				return &codeError{exitUnusable, err}
			}
			defer in.Close()
			return runVerify(cmd.OutOrStdout(), in.ReadCloser, evidence, f.asJSON)
		},
	}
	cmd.Flags().StringArrayVar(&f.checkpoints, "checkpoint", nil, "file with a checkpoint that somebody kept; may be given more than once")
	cmd.Flags().StringVar(&f.vkey, "vkey", "", "file with the campaign's key, as it was given out at the table")
	cmd.Flags().StringVar(&f.me, "me", "", "handle: say which rolls nobody could choose or foresee without you")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print the report as JSON")
	cmd.Flags().BoolVar(&f.names, "names", false, "of many: name each export that was not verified")
	return cmd
}

// atLeastOne is cobra.MinimumNArgs with our exit code.
func atLeastOne(cmd *cobra.Command, args []string) error {
	if err := cobra.MinimumNArgs(1)(cmd, args); err != nil {
		return &codeError{exitUnusable, err}
	}
	return nil
}

// open opens an export, with what came with it and what was kept as evidence.
func (f *verifyFlags) open(source string) (*exported, replay.Evidence, error) {
	e := replay.Evidence{Library: library(), Me: f.me}
	for _, name := range f.checkpoints {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, e, err
		}
		e.Kept = append(e.Kept, replay.Note{Name: name, Text: text})
	}
	if f.vkey != "" {
		text, err := os.ReadFile(f.vkey)
		if err != nil {
			return nil, e, err
		}
		e.VKey = strings.TrimSpace(string(text))
	}
	in, err := openBundle(source)
	if err != nil {
		return nil, e, err
	}
	if in.checkpoint != nil {
		e.Server = &replay.Note{Name: filepath.Join(source, checkpointFile), Text: in.checkpoint}
	}
	e.ServerVKey = in.vkey
	return in, e, nil
}

// optional reads a file that need not be there.
func optional(name string) ([]byte, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// refusal is what a verification says in JSON when it fails.
type refusal struct {
	Verified bool            `json:"verified"`
	Failure  *replay.Failure `json:"failure"`
	Sentence string          `json:"sentence"`
}

// verified is what it says when it does not.
type verified struct {
	Verified bool           `json:"verified"`
	Report   *replay.Report `json:"report"`
	Notes    []string       `json:"notes"`
}

func runVerify(out io.Writer, in io.Reader, e replay.Evidence, asJSON bool) error {
	report, err := replay.Verify(in, e)
	var failure *replay.Failure
	switch {
	case errors.As(err, &failure):
		if asJSON {
			if err := printJSON(out, refusal{Failure: failure, Sentence: failure.Error()}); err != nil {
				return err
			}
		}
		if failure.Foreign {
			return &codeError{exitUnusable, noLedger(failure)}
		}
		return &codeError{exitDiverged, fmt.Errorf("refused: %w", failure)}
	case err != nil:
		return &codeError{exitUnusable, err}
	case asJSON:
		err = printJSON(out, verified{report.Rules == replay.RulesSame, report, append([]string{}, report.Notes()...)})
	default:
		printReport(out, report)
	}
	if err == nil && report.Rules != replay.RulesSame {
		err = &codeError{exitUnusable, undecided(report)}
	}
	return err
}

// undecided says why a report is neither a yes nor a no.
func undecided(r *replay.Report) error {
	if r.Rules == replay.RulesMissing {
		return fmt.Errorf("edition %d of %s is not on board: records and dice are good, but whether the rules were kept is not known", r.Edition, r.System)
	}
	return errors.New("records and dice are good, but whether the rules were kept is not known: " + r.Rules)
}

// printJSON prints a value as one line. What it repeats of a forged export may
// be any bytes; it is made text.
func printJSON(out io.Writer, v any) error {
	line, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err == nil {
		_, err = fmt.Fprintf(out, "%s\n", line)
	}
	return err
}

func printReport(out io.Writer, r *replay.Report) {
	verdict := "verified"
	if r.Rules != replay.RulesSame {
		verdict = "not known"
	}
	fmt.Fprintf(out, "%s: %q, %d records, root %s\n", verdict, r.Name, r.Records, r.Root)
	for _, c := range r.Checkpoints {
		who := "of the export"
		if c.Kept {
			who = "kept"
		}
		fmt.Fprintf(out, "checkpoint %s (%s): the first %d records are the ones it saw\n", c.Name, who, c.Size)
	}
	if r.Commands > 0 {
		fmt.Fprintf(out, "rules: %d commands decided again by %s edition %d, all the same\n", r.Commands, r.System, r.Edition)
	}
	c := r.Rolls
	fmt.Fprintf(out, "rolls: %d on the ledger's dice (%d witnessed), %d typed in, %d secret ones opened\n", c.Ledger, c.Witnessed, c.TypedIn, c.SecretOpened)
	fmt.Fprintf(out, "withheld: %d secret rolls, %d targets and %d rulings unopened, %d declared rolls open, %d taken back, %d witnesses passed over\n",
		c.SecretUnopened, c.TargetsUnopened, c.RulingsUnopened, c.DeclaredOpen, c.Voided, c.Passed)
	session := ""
	for _, l := range r.Lanes {
		if l.Session != session {
			session = l.Session
			fmt.Fprintf(out, "session %s\n", session)
		}
		printLane(out, l)
	}
	if me := r.Me; me != nil {
		fmt.Fprintf(out, "%s: of %d rolls, %d could not be chosen without you, %d could not be foreseen without you\n", me.Handle, me.Rolls, me.NotChosen, me.NotForeseen)
	}
	for _, note := range r.Notes() {
		fmt.Fprintf(out, "NOTE: %s\n", note)
	}
}

func printLane(out io.Writer, l replay.LaneReport) {
	if l.Rolls+l.Hidden == 0 {
		return
	}
	fmt.Fprintf(out, "  %s: %d rolls checked", l.Lane, l.Rolls)
	if l.Hidden > 0 {
		fmt.Fprintf(out, ", %d not shown", l.Hidden)
	}
	if l.Renewed != "" {
		fmt.Fprintf(out, " (another lane of %s: %s)", l.Principal, l.Renewed)
	}
	choose := "THE SERVER ALONE could have chosen them"
	if len(l.Choose) > 0 {
		choose = "only the server together with " + listed(l.Choose) + " could have chosen them"
	}
	foresee := "the server could foresee them"
	if len(l.Foresee) > 0 {
		foresee = "only the server together with " + listed(l.Foresee) + " could foresee them"
	}
	fmt.Fprintf(out, "\n    %s; %s", choose, foresee)
	for i, w := range l.Witnessed {
		head := ", but for "
		if i > 0 {
			head = " and "
		}
		fmt.Fprintf(out, "%s%d witnessed by %s", head, w.Rolls, w.By)
	}
	fmt.Fprintln(out)
}

// listed joins names as a sentence does.
func listed(names []string) string {
	last := len(names) - 1
	if last <= 0 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
