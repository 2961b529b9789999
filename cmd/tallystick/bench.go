package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"
)

// benchRow is one line of the table: what was measured, against what, and what
// the design asks for.
type benchRow struct {
	Row       string    `json:"row"`
	Ratio     float64   `json:"ratio"`     // ours to reference; the measure itself when there is no reference
	Reach     float64   `json:"reach"`     // the ratio to reach; 0: none is asked for
	AtMost    bool      `json:"at_most"`   // reach is an upper bound, else a lower one
	Held      bool      `json:"held"`      // the ratio keeps to reach
	Ours      float64   `json:"ours"`      // median of the trials
	Reference float64   `json:"reference"` // median of the trials, 0 for none
	Unit      string    `json:"unit"`      // of ours and reference
	Spread    []float64 `json:"spread"`    // smallest and largest ratio of the trials
	Trials    int       `json:"trials"`
	Work      string    `json:"work"`    // that both did
	Against   string    `json:"against"` // what the reference is
	Note      string    `json:"note,omitzero"`
}

// benchMachine is what the figures were measured on.
type benchMachine struct {
	Machine string  `json:"machine"`
	Cores   int     `json:"cores"`
	Go      string  `json:"go"`
	Disk    float64 `json:"disk_sync_us"` // median of a 4 KiB write and fsync
	Load    string  `json:"load,omitzero"`
	Version string  `json:"version"`
}

// bench is one run.
type bench struct {
	ctx      context.Context
	dir      string // scratch folder on the disk to measure
	short    bool
	trials   int
	postgres string // DSN, empty for none
	crowds   []int  // campaigns at once in the append rows
	profile  string // file for a CPU profile, empty for none
	progress io.Writer
	report   func(benchRow) error
}

// benches are the parts by name, in the order of a whole run.
var benches = []struct {
	name string
	run  func(*bench) error
}{
	{"append", (*bench).appends},
	{"http", (*bench).http},
	{"replay", (*bench).replay},
	{"verify", (*bench).verify},
	{"rebuild", (*bench).rebuild},
	{"advance", (*bench).advance},
	{"open", (*bench).open},
	{"memory", (*bench).memory},
	{"follow", (*bench).follow},
}

func benchCommand() *cobra.Command {
	b := &bench{}
	var asJSON bool
	names := []string{"all"}
	for _, part := range benches {
		names = append(names, part.name)
	}
	cmd := &cobra.Command{
		Use:   "bench [" + strings.Join(names[1:], "|") + "|all]",
		Short: "Measure this program against what it is built on, on this machine",
		Long: `Bench measures each part of the program and its reference in turn, in one run
on one disk with every write synced, and prints the ratio of the medians. Both
must have done the same work (counts and hashes are compared), or it fails
instead of printing a ratio. --postgres adds PostgreSQL to the append rows.`,
		Example: `  tallystick bench append --short
  tallystick bench append --postgres "host=/tmp port=5433 user=postgres dbname=bench"
  tallystick bench all --json`,
		Args: cobra.MaximumNArgs(1), ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			which := "all"
			if len(args) == 1 {
				which = args[0]
			}
			if !slices.Contains(names, which) {
				return &codeError{exitUnusable, fmt.Errorf("there is no part %q: %s", which, strings.Join(names, ", "))}
			}
			b.ctx, b.progress = cmd.Context(), cmd.ErrOrStderr()
			return b.profiled(func() error { return b.run(cmd.OutOrStdout(), which, asJSON) })
		},
	}
	f := cmd.Flags()
	f.BoolVar(&b.short, "short", false, "a tenth of the work: to see that it runs")
	f.BoolVar(&asJSON, "json", false, "print one JSON object a row, the machine first")
	f.StringVar(&b.dir, "data", "", "folder on the disk to measure (default: a temporary one)")
	f.IntVar(&b.trials, "trials", 5, "how often ours and reference are measured in turn")
	f.IntSliceVar(&b.crowds, "campaigns", []int{1, 8, 64, 200, 1000}, "how many campaigns command at once in the append rows")
	f.StringVar(&b.profile, "cpu-profile", "", "write a profile for go tool pprof to this file")
	f.StringVar(&b.postgres, "postgres", "", "DSN of a PostgreSQL to compare with; it gets and loses a table tallystick_bench")
	return cmd
}

// profiled runs f and writes what the processor did, if that is asked for.
func (b *bench) profiled(f func() error) (err error) {
	if b.profile == "" {
		return f()
	}
	out, err := os.Create(b.profile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if err := pprof.StartCPUProfile(out); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	return f()
}

func (b *bench) run(out io.Writer, which string, asJSON bool) (err error) {
	if b.trials < 1 || slices.ContainsFunc(b.crowds, func(n int) bool { return n < 1 }) {
		return &codeError{exitUnusable, errors.New("trials and campaigns: must be at least 1")}
	}
	scratch, err := os.MkdirTemp(b.dir, "tallystick-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	b.dir = scratch
	machine, err := b.machine()
	if err != nil {
		return err
	}
	if asJSON {
		b.report = func(r benchRow) error { return printLine(out, r) }
		err = printLine(out, machine)
	} else {
		_, err = fmt.Fprintf(out, "%s, %d cores, %s, a synced 4 KiB write takes %.0f µs; load %s\n\n"+rowFormat, machine.Machine, machine.Cores, machine.Go, machine.Disk, machine.Load,
			"row", "ours", "reference", "unit", "ratio", "spread", "reach", "held", "against")
		b.report = func(r benchRow) error { return r.print(out) }
	}
	if err != nil {
		return err
	}
	for _, part := range benches {
		if which != "all" && which != part.name {
			continue
		}
		fmt.Fprintf(b.progress, "measuring %s …\n", part.name)
		if err := part.run(b); err != nil {
			return fmt.Errorf("bench %s: %w", part.name, err)
		}
	}
	return nil
}

func printLine(out io.Writer, v any) error {
	if err := json.MarshalWrite(out, v); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out)
	return err
}

// rowFormat has a width for each column: rows are printed as they come.
const rowFormat = "%-40s %9s %9s  %-21s %6s %13s %7s %5s  %s\n"

func (r benchRow) print(out io.Writer) error {
	ratio, reach, held := fmt.Sprintf("%.2f", r.Ratio), "–", "–"
	if r.Reach != 0 {
		reach, held = fmt.Sprintf("≥ %g", r.Reach), "no"
		if r.AtMost {
			reach = fmt.Sprintf("≤ %g", r.Reach)
		}
		if r.Held {
			held = "yes"
		}
	}
	reference := fmt.Sprintf("%.0f", r.Reference)
	if r.Reference == 0 {
		reference, ratio = "–", "–"
	}
	_, err := fmt.Fprintf(out, rowFormat, r.Row, fmt.Sprintf("%.0f", r.Ours), reference, r.Unit, ratio,
		fmt.Sprintf("%.2f–%.2f", r.Spread[0], r.Spread[1]), reach, held, r.Against)
	return err
}

// scale is n, or a tenth of it in a short run.
func (b *bench) scale(n int) int {
	if b.short {
		return max(1, n/10)
	}
	return n
}

// machine says what is measured on.
func (b *bench) machine() (benchMachine, error) {
	m := benchMachine{Machine: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.GOMAXPROCS(0), Go: runtime.Version(), Version: version()}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, ok := strings.CutPrefix(line, "model name"); ok {
				m.Machine = strings.TrimLeft(strings.TrimSpace(name), ": \t")
				break
			}
		}
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load = strings.Join(strings.Fields(string(text))[:3], " ")
	}
	f, err := os.CreateTemp(b.dir, "sync")
	if err != nil {
		return m, err
	}
	defer f.Close()
	page := make([]byte, 4<<10)
	var times []float64
	for range 50 {
		begun := time.Now()
		if _, err := f.Write(page); err != nil {
			return m, err
		}
		if err := f.Sync(); err != nil {
			return m, err
		}
		times = append(times, float64(time.Since(begun).Microseconds()))
	}
	m.Disk = quantile(times, 0.5)
	return m, nil
}

// pairs are the measures of ours and reference, trial by trial.
type pairs struct{ ours, reference []float64 }

func (p *pairs) add(ours, reference float64) {
	p.ours, p.reference = append(p.ours, ours), append(p.reference, reference)
}

// row makes the line of a table: the median of the ratios of the trials, which a
// slow moment of the machine moves less than the ratio of two medians.
func (p *pairs) row(r benchRow) benchRow {
	var ratios []float64
	for i := range p.ours {
		ratios = append(ratios, p.ours[i]/p.reference[i])
	}
	r.Trials, r.Ratio = len(ratios), quantile(ratios, 0.5)
	r.Ours, r.Reference = quantile(p.ours, 0.5), quantile(p.reference, 0.5)
	r.Spread = []float64{slices.Min(ratios), slices.Max(ratios)}
	r.judge()
	return r
}

// alone makes the line of a measure without a reference.
func alone(measures []float64, r benchRow) benchRow {
	r.Trials, r.Ours, r.Ratio = len(measures), quantile(measures, 0.5), quantile(measures, 0.5)
	r.Spread = []float64{slices.Min(measures), slices.Max(measures)}
	r.judge()
	return r
}

func (r *benchRow) judge() {
	if r.Reach != 0 {
		r.Held = r.AtMost && r.Ratio <= r.Reach || !r.AtMost && r.Ratio >= r.Reach
	}
}

// quantile is the q-th quantile of measures, which it leaves as they are.
func quantile[T cmp.Ordered](measures []T, q float64) T {
	sorted := slices.Sorted(slices.Values(measures))
	return sorted[int(q*float64(len(sorted)-1))]
}

// work is what one side of a comparison has done.
type work struct {
	count int
	hash  [32]byte
}

// same fails unless two sides did the same.
func same(row string, ours, reference work) error {
	if ours != reference {
		return fmt.Errorf("%s: no ratio, the two did not do the same: %d commits (%x) and %d (%x)",
			row, ours.count, ours.hash[:4], reference.count, reference.hash[:4])
	}
	return nil
}
