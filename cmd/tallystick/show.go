package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tallystick/events"
	"tallystick/projections"
	"tallystick/replay"
)

// views are what can be shown of any moment, by name.
var views = map[string]func(v *projections.Views) any{
	"campaign":    func(v *projections.Views) any { return v.Campaign() },
	"characters":  func(v *projections.Views) any { return v.Characters() },
	"corrections": func(v *projections.Views) any { return v.Corrections() },
	"disputes":    func(v *projections.Views) any { return v.Disputes("") },
	"overrides":   func(v *projections.Views) any { return v.Overrides() },
	"rolls":       func(v *projections.Views) any { return v.Rolls(0, 0, nil).Items },
	"sessions":    func(v *projections.Views) any { return v.Sessions() },
	"timelines": func(v *projections.Views) any {
		all := []projections.Timeline{}
		for _, c := range v.Characters() {
			t, _ := v.Timeline(c.ID, 0, 0)
			all = append(all, t)
		}
		return all
	},
}

// noMoment is the value of a flag that was not given.
const noMoment = -1

func showCommand() *cobra.Command {
	var remote remoteFlags
	var at, clock int64
	cmd := &cobra.Command{
		Use:   "show CAMPAIGN|FILE|FOLDER [VIEW]",
		Short: "Show how everybody stands, now or at any moment before",
		Long: fmt.Sprintf(`Show folds the ledger up to a record or a game time, and says how everybody
stands. With VIEW it prints that view of the moment as JSON: %s.
Nothing is written, and nothing is forgotten: looking back changes nothing.`, strings.Join(viewNames(), ", ")),
		Example: `  tallystick show night-one --at 41
  tallystick show night-one corrections
  tallystick show 0192f1c0-7d6a-7c3e-9b1a-3f2f4a5b6c7d timelines --at-clock 86400 --token-file anna.token`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.RangeArgs(1, 2)(cmd, args); err != nil {
				return &codeError{exitUnusable, err}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			open := func() (io.ReadCloser, error) { return openLedger(cmd, remote, args[0]) }
			view := append(args, "")[1]
			if _, ok := views[view]; view != "" && !ok {
				return &codeError{exitUnusable, fmt.Errorf("VIEW is %q: must be one of %s", view, strings.Join(viewNames(), ", "))}
			}
			if at < noMoment || clock < noMoment {
				return &codeError{exitUnusable, errors.New("--at and --at-clock count from 0")}
			}
			v, err := moment(open, at, clock)
			if err != nil {
				return &codeError{exitUnusable, err}
			}
			if view != "" {
				return printJSON(cmd.OutOrStdout(), views[view](v))
			}
			return printMoment(cmd.OutOrStdout(), v)
		},
	}
	remote.add(cmd)
	cmd.Flags().Int64Var(&at, "at", noMoment, "right after this record")
	cmd.Flags().Int64Var(&clock, "at-clock", noMoment, "after the last record up to this game time, in seconds")
	cmd.MarkFlagsMutuallyExclusive("at", "at-clock")
	return cmd
}

func viewNames() []string {
	var names []string
	for name := range views {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// moment folds a ledger up to a record, or to the last one up to a game time.
// Where a correction has turned the clock back, the time counts that passed
// last.
func moment(open func() (io.ReadCloser, error), at, clock int64) (*projections.Views, error) {
	if clock != noMoment {
		at = 0
		err := records(open, func(rec events.Record) error {
			if rec.Clock <= clock {
				at = rec.N
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	var v *projections.Views
	err := records(open, func(rec events.Record) error {
		if v == nil {
			v = projections.New(rec.Campaign)
		}
		if at != noMoment && rec.N > at {
			return errMoment
		}
		return v.Apply(rec)
	})
	switch {
	case err != nil && !errors.Is(err, errMoment):
		return nil, err
	case v == nil:
		return nil, errors.New("there is no record")
	case at >= v.Position():
		return nil, fmt.Errorf("there is no record %d: the last one is %d", at, v.Position()-1)
	}
	return v, nil
}

// errMoment ends a reading at the moment that was asked for.
var errMoment = errors.New("the moment is reached")

// records hands over the records of a ledger.
func records(open func() (io.ReadCloser, error), each func(events.Record) error) error {
	in, err := open()
	if err != nil {
		return err
	}
	defer in.Close()
	return replay.Commits(in, func(payload []byte) error {
		recs, err := events.ParseCommit(payload)
		if err != nil {
			return err
		}
		for _, rec := range recs {
			if err := each(rec); err != nil {
				return err
			}
		}
		return nil
	})
}

// printMoment says how everybody stands.
func printMoment(out io.Writer, v *projections.Views) error {
	c := v.Campaign()
	_, err := fmt.Fprintf(out, "%s, record %d, game time %s\n", projections.Printable(c.Name), c.AsOf, strings.TrimSpace(projections.GameTime(c.Clock)))
	for _, ch := range v.Characters() {
		state := fmt.Sprintf("%d/%d, %s", ch.Health.Points, ch.Health.Max, ch.Health.Rank)
		for _, condition := range ch.Conditions {
			state += ", " + condition.Name
		}
		switch {
		case ch.Retired:
			state += ", out of play"
		case ch.NextTick != nil:
			state += fmt.Sprintf("; %s due %s", ch.NextTick.Kind, strings.TrimSpace(projections.GameTime(ch.NextTick.Due)))
		}
		_, failed := fmt.Fprintf(out, "  %s: %s\n", projections.Printable(ch.Name), state)
		err = errors.Join(err, failed)
	}
	return err
}
