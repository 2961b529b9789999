package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"tallystick/replay"
	"tallystick/rules"
)

// whatIfFlags say what is to be otherwise.
type whatIfFlags struct {
	modifiers, options []string
	dice               []int
	edition, horizon   int
	command, data      string
	ruling, outcome    string
	asJSON             bool
}

func whatIfCommand() *cobra.Command {
	var remote remoteFlags
	var f whatIfFlags
	cmd := &cobra.Command{
		Use:   "what-if CAMPAIGN|FILE|FOLDER RECORD",
		Short: "Decide a roll again with a change, and show both lines",
		Long: `What-if decides the command of a record again with something changed, carries the
commands after it on, and shows what is recorded and what would be, side by
side. Nothing of it enters a ledger. Where lane and index of a roll are the same
its dice are the recorded ones; all others come from a stream that is nobody's,
never from dice that are still to be thrown.`,
		Example: `  tallystick what-if night-one 13 --modifier cover=-2
  tallystick what-if night-one 13 --dice 1,9
  tallystick what-if night-one 41 --ruling overturned
  tallystick what-if night-one 13 --option rpgamix.stun_tie=safe --horizon 100`,
		Args: exactly(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := recordNumber(args[1])
			if err != nil {
				return err
			}
			change, err := f.change()
			if err != nil {
				return &codeError{exitUnusable, err}
			}
			w, err := replay.Ask(library(), n, change, func(each func(payload []byte) error) error {
				in, err := openLedger(cmd, remote, args[0])
				if err != nil {
					return err
				}
				defer in.Close()
				return replay.Commits(in, each)
			})
			if err != nil {
				return &codeError{exitUnusable, err}
			}
			if f.asJSON {
				return printJSON(cmd.OutOrStdout(), w)
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), w.Text())
			return err
		},
	}
	remote.add(cmd)
	cmd.Flags().StringArrayVar(&f.modifiers, "modifier", nil, "LABEL=VALUE to add to the roll; may be given more than once")
	cmd.Flags().IntSliceVar(&f.dice, "dice", nil, "faces, in the order the rules ask for them")
	cmd.Flags().StringArrayVar(&f.options, "option", nil, "NAME=VALUE, another ruling from here on; may be given more than once")
	cmd.Flags().IntVar(&f.edition, "edition", 0, "another edition of the rules from here on")
	cmd.Flags().StringVar(&f.command, "command", "", "type of another command in its place; its data is --data")
	cmd.Flags().StringVar(&f.data, "data", "{}", "data of that command, JSON")
	cmd.Flags().StringVar(&f.ruling, "ruling", "", "another ruling on a dispute, where one was ruled on: upheld, overturned or void")
	cmd.Flags().StringVar(&f.outcome, "outcome", "", "another word over a roll, where the game master overrode one")
	cmd.Flags().IntVar(&f.horizon, "horizon", replay.DefaultHorizon, "how many later commands to carry on")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print both lines as JSON")
	return cmd
}

// change reads what was asked for.
func (f *whatIfFlags) change() (replay.Change, error) {
	c := replay.Change{Dice: f.dice, Edition: f.edition, Horizon: &f.horizon}
	for _, m := range f.modifiers {
		label, value, ok := strings.Cut(m, "=")
		n, err := strconv.Atoi(value)
		if !ok || err != nil || label == "" {
			return c, fmt.Errorf("--modifier is %q: must be LABEL=VALUE, such as cover=-2", m)
		}
		c.Modifiers = append(c.Modifiers, replay.ChangedModifier{Label: label, Value: n})
	}
	for _, o := range f.options {
		name, value, ok := strings.Cut(o, "=")
		text, err := json.Marshal(value)
		if !ok || err != nil {
			return c, fmt.Errorf("--option is %q: must be NAME=VALUE", o)
		}
		if c.Options == nil {
			c.Options = map[string]jsontext.Value{}
		}
		c.Options[name] = text
	}
	if f.command != "" {
		c.Command = &replay.ChangedCommand{Type: f.command, Data: jsontext.Value(f.data)}
		if !c.Command.Data.IsValid() {
			return c, errors.New("--data is not JSON")
		}
	}
	if f.ruling != "" || f.outcome != "" {
		c.Ruling = &replay.ChangedRuling{Ruling: f.ruling, Outcome: f.outcome}
	}
	raw, err := rules.Canonical(&c)
	if err != nil {
		return c, err
	}
	return c, rules.Unmarshal(raw, &replay.Change{})
}
