package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"tallystick/replay"
)

// tally counts what became of many exports.
type tally struct {
	Exports  int   `json:"exports"`
	Verified int   `json:"verified"`
	Diverged int   `json:"diverged"`      // refused: a record, a die or a rule is not as it must be
	Unknown  int   `json:"unknown"`       // its rules are not on board: neither yes nor no
	Unusable int   `json:"unusable"`      // cannot be read
	ByHand   int   `json:"all_typed_in"`  // verified, and not one roll is from the ledger's dice
	Records  int64 `json:"records"`       // of the verified
	Rolls    int   `json:"rolls"`         // of them, from the ledger's dice
	TypedIn  int   `json:"typed_in"`      // of them, typed in: nothing proves them
	Seconds  int64 `json:"seconds"`       // it took
	Failures []row `json:"rows,omitzero"` // with --names, those that were not verified
}

// row is an export that was not verified.
type row struct {
	Path    string `json:"path"`
	Verdict string `json:"verdict"`
	Why     string `json:"why"`
}

// finding is what became of one export.
type finding struct {
	verdict string
	why     error
	report  *replay.Report
}

// Verdicts.
const (
	verdictVerified = "verified"
	verdictDiverged = "diverged"
	verdictUnknown  = "unknown"
	verdictUnusable = "unusable"
)

// many verifies every export below some paths, and prints a summary.
func (f *verifyFlags) many(cmd *cobra.Command, paths []string) error {
	var sum tally
	begun := time.Now()
	progress := newProgress(cmd.ErrOrStderr(), "verified", countBundles(cmd.Context(), paths))
	err := inOrder(cmd.Context(), runtime.GOMAXPROCS(0), bundles(paths),
		func(path string, emit func(finding) error) error { return emit(f.find(path)) },
		func(path string, found finding) error {
			sum.add(path, found, f.names)
			progress.step()
			return nil
		})
	progress.end()
	if err != nil {
		return &codeError{exitUnusable, err}
	}
	sum.Seconds = int64(time.Since(begun).Round(time.Second) / time.Second)
	if f.asJSON {
		err = printJSON(cmd.OutOrStdout(), sum)
	} else {
		sum.print(cmd.OutOrStdout())
	}
	if err != nil {
		return err
	}
	return sum.verdict()
}

// find verifies one export.
func (f *verifyFlags) find(path string) finding {
	in, evidence, err := f.open(path)
	if err != nil {
		return finding{verdictUnusable, err, nil}
	}
	defer in.Close()
	report, err := replay.Verify(in.ReadCloser, evidence)
	var failure *replay.Failure
	switch {
	case errors.As(err, &failure) && failure.Foreign:
		return finding{verdictUnusable, noLedger(failure), nil}
	case errors.As(err, &failure):
		return finding{verdictDiverged, err, nil}
	case err != nil:
		return finding{verdictUnusable, err, nil}
	case report.Rules != replay.RulesSame:
		return finding{verdictUnknown, undecided(report), report}
	}
	return finding{verdictVerified, nil, report}
}

// noLedger is what is said of a file that holds something else.
func noLedger(f *replay.Failure) error { return fmt.Errorf("it is no ledger: %w", f) }

func (t *tally) add(path string, found finding, names bool) {
	t.Exports++
	switch found.verdict {
	case verdictVerified:
		t.Verified++
		t.Records += found.report.Records
		t.Rolls += found.report.Rolls.Ledger
		t.TypedIn += found.report.Rolls.TypedIn
		if found.report.Rolls.Ledger == 0 && found.report.Rolls.TypedIn > 0 {
			t.ByHand++
		}
	case verdictDiverged:
		t.Diverged++
	case verdictUnknown:
		t.Unknown++
	default:
		t.Unusable++
	}
	if names && found.verdict != verdictVerified {
		t.Failures = append(t.Failures, row{path, found.verdict, found.why.Error()})
	}
}

func (t *tally) print(out io.Writer) {
	for _, line := range []struct {
		what string
		n    int
		note string
	}{
		{"exports", t.Exports, ""},
		{"verified", t.Verified, ""},
		{"diverged", t.Diverged, "a record, a die or a rule is not as it must be"},
		{"unknown", t.Unknown, "their rules are not on board: neither yes nor no"},
		{"unusable", t.Unusable, "cannot be read"},
		{"typed in", t.ByHand, "of the verified: not one roll is from the ledger's dice"},
	} {
		note := ""
		if line.note != "" && line.n > 0 {
			note = "  " + line.note
		}
		fmt.Fprintf(out, "%-9s %9d%s\n", line.what, line.n, note)
	}
	fmt.Fprintf(out, "In the verified: %d records, %d rolls from the ledger's dice, %d typed in. It took %d s.\n", t.Records, t.Rolls, t.TypedIn, t.Seconds)
	for _, r := range t.Failures {
		fmt.Fprintf(out, "%s: %s: %s\n", printable(r.Path), r.Verdict, printable(r.Why))
	}
}

// verdict is the one exit code of them all.
func (t *tally) verdict() error {
	switch {
	case t.Exports == 0:
		return &codeError{exitUnusable, errors.New("there is no export")}
	case t.Diverged > 0:
		return &codeError{exitDiverged, fmt.Errorf("%d of %d exports are refused (--names says which)", t.Diverged, t.Exports)}
	case t.Unknown+t.Unusable > 0:
		return &codeError{exitUnusable, fmt.Errorf("%d of %d exports could not be verified (--names says which)", t.Unknown+t.Unusable, t.Exports)}
	}
	return nil
}

// countBundles counts exports, to know how far a progress bar is; 0 when it
// cannot.
func countBundles(ctx context.Context, paths []string) (n int) {
	for _, err := range bundles(paths) {
		if err != nil || ctx.Err() != nil {
			return 0
		}
		n++
	}
	return n
}

// progress is a bar on a terminal, and nothing elsewhere.
type progress struct {
	out         io.Writer // nil: nothing is shown
	what        string
	done, total int
	shown       time.Time
}

func newProgress(out io.Writer, what string, total int) *progress {
	p := &progress{what: what, total: total}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.out = out
	}
	return p
}

// step counts one, and shows it a few times a second.
func (p *progress) step() {
	p.done++
	if p.out == nil || time.Since(p.shown) < 200*time.Millisecond {
		return
	}
	p.shown = time.Now()
	p.show()
}

func (p *progress) show() {
	const width = 30
	n := 0
	if p.total > 0 {
		n = min(width, p.done*width/p.total)
	}
	fmt.Fprintf(p.out, "\r[%s%s] %d of %d %s", strings.Repeat("█", n), strings.Repeat("░", width-n), p.done, p.total, p.what)
}

func (p *progress) end() {
	if p.out != nil {
		p.show()
		fmt.Fprintln(p.out)
	}
}
