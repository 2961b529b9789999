package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tallystick/projections"
	"tallystick/rules"
)

func disputesCommand() *cobra.Command {
	var remote remoteFlags
	var state string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "disputes CAMPAIGN",
		Short:   "List what was put into question, and how it was ruled",
		Example: "  tallystick disputes 0192f1c0-7d6a-7c3e-9b1a-3f2f4a5b6c7d --state open --token-file anna.token",
		Args:    exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := remote.client()
			if err != nil {
				return err
			}
			all, err := disputes(cmd.Context(), c, args[0], state)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), all)
			}
			return printDisputes(cmd.OutOrStdout(), all)
		},
	}
	remote.add(cmd)
	cmd.Flags().StringVar(&state, "state", "", "open or ruled; left out: all")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// disputes reads all pages.
func disputes(ctx context.Context, c *client, campaign, state string) ([]projections.Dispute, error) {
	all := []projections.Dispute{}
	for from := int64(0); ; {
		query := url.Values{"from": {fmt.Sprint(from)}, "limit": {"1000"}}
		if state != "" {
			query.Set("state", state)
		}
		var page projections.Page[projections.Dispute]
		if err := c.get(ctx, "/v1/campaigns/"+url.PathEscape(campaign)+"/disputes?"+query.Encode(), &page); err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if page.Next == nil {
			return all, nil
		}
		from = *page.Next
	}
}

func printDisputes(out io.Writer, all []projections.Dispute) error {
	for _, d := range all {
		if _, err := fmt.Fprintf(out, "%s  %s, record %d, by %s: %s\n", d.ID, d.State, d.Roll, d.By, oneLine(d.Question)); err != nil {
			return err
		}
		for _, r := range d.Rulings {
			fmt.Fprintf(out, "    %s by %s: %s", r.Ruling, r.By, oneLine(r.Reason))
			if len(r.Corrections) > 0 {
				fmt.Fprintf(out, " (%s)", strings.Join(r.Corrections, ", "))
			}
			fmt.Fprintln(out)
		}
	}
	return nil
}

// oneLine shows what a player wrote without letting it break lines or steer
// the terminal.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 }), " ")
}

func disputeCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "dispute", Short: "Put a record into question, or rule on a dispute"}
	cmd.AddCommand(disputeOpenCommand(), disputeRuleCommand())
	return cmd
}

func disputeOpenCommand() *cobra.Command {
	var remote remoteFlags
	var d rules.DisputeOpen
	cmd := &cobra.Command{
		Use:     "open CAMPAIGN --record N --question TEXT",
		Short:   "Put a roll, a wound or a check into question; the evidence is frozen",
		Example: "  tallystick dispute open 0192f1c0-7d6a-7c3e-9b1a-3f2f4a5b6c7d --record 42 --question 'Was that not cocked?' --token-file anna.token",
		Args:    exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := giveOne(cmd.Context(), remote, args[0], "dispute.open", &d)
			if err == nil {
				fmt.Fprintln(cmd.OutOrStdout(), a.Command)
			}
			return err
		},
	}
	remote.add(cmd)
	cmd.Flags().Int64Var(&d.Roll, "record", 0, "n of the record")
	cmd.Flags().StringVar(&d.Question, "question", "", "what is the matter with it")
	required(cmd, "record", "question")
	return cmd
}

func disputeRuleCommand() *cobra.Command {
	var remote remoteFlags
	var d rules.DisputeRule
	cmd := &cobra.Command{
		Use:   "rule CAMPAIGN DISPUTE --ruling upheld|overturned|void --reason TEXT",
		Short: "Rule on a dispute, as the game master",
		Args:  exactly(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			d.Dispute = args[1]
			_, err := giveOne(cmd.Context(), remote, args[0], "dispute.rule", &d)
			return err
		},
	}
	remote.add(cmd)
	cmd.Flags().StringVar(&d.Ruling, "ruling", "", "upheld, overturned or void")
	cmd.Flags().StringVar(&d.Reason, "reason", "", "why")
	cmd.Flags().StringSliceVar(&d.Corrections, "correction", nil, "id of a correction that carries it out; may be given more than once")
	required(cmd, "ruling", "reason")
	return cmd
}

func overrideCommand() *cobra.Command {
	var remote remoteFlags
	var d rules.RulingMake
	cmd := &cobra.Command{
		Use:   "override CAMPAIGN --record N --outcome TEXT --reason TEXT",
		Short: "Put your own word over a roll, as the game master",
		Long: `Override records the game master's own word on a roll, under the policy that the
campaign was created with: it may have none, show them at once, or seal them
until the session closes. The dice stay what they are.`,
		Example: "  tallystick override 0192f1c0-7d6a-7c3e-9b1a-3f2f4a5b6c7d --record 42 --outcome 'a graze' --reason 'the lamp was out' --token-file gm.token",
		Args:    exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, err := giveOne(cmd.Context(), remote, args[0], "ruling.make", &d)
			return err
		},
	}
	remote.add(cmd)
	cmd.Flags().Int64Var(&d.Roll, "record", 0, "n of the record")
	cmd.Flags().StringVar(&d.Outcome, "outcome", "", "what counts instead, in words")
	cmd.Flags().StringVar(&d.Reason, "reason", "", "why")
	required(cmd, "record", "outcome", "reason")
	return cmd
}

func correctCommand() *cobra.Command {
	var remote remoteFlags
	var d rules.CorrectionMake
	cmd := &cobra.Command{
		Use:   "correct CAMPAIGN COMMAND --reason TEXT",
		Short: "Take a command back with everything that followed from it alone",
		Long: `Correct takes a command back, as the game master. Every later command is decided
once more without it, with the dice it had; what comes out otherwise is put
right and the ledger says why. The original stays visible. Rolls that were made
under a penalty or against a target that stands no longer keep their outcome
and are listed. A correction is a command too, and can be taken back.`,
		Example: "  tallystick correct 0192f1c0-7d6a-7c3e-9b1a-3f2f4a5b6c7d 0192f1c0-9a3b-7d10-8c55-2f6e5d4c3b2a --reason 'The ogre had missed' --token-file gm.token",
		Args:    exactly(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			d.Command = args[1]
			c, err := remote.client()
			if err != nil {
				return err
			}
			a, err := c.command(cmd.Context(), args[0], "correction.make", &d)
			if err != nil {
				return err
			}
			return reportCorrection(cmd.Context(), cmd.OutOrStdout(), c, args[0], a.Command)
		},
	}
	remote.add(cmd)
	cmd.Flags().StringVar(&d.Reason, "reason", "", "why")
	required(cmd, "reason")
	return cmd
}

// reportCorrection says what a correction undid and what it put into question.
func reportCorrection(ctx context.Context, out io.Writer, c *client, campaign, id string) error {
	path := "/v1/campaigns/" + url.PathEscape(campaign) + "/corrections?limit=1000"
	for from := int64(0); ; {
		var page projections.Page[projections.Correction]
		if err := c.get(ctx, fmt.Sprintf("%s&from=%d", path, from), &page); err != nil {
			return err
		}
		for _, x := range page.Items {
			if x.ID == id {
				return printCorrection(out, x)
			}
		}
		if page.Next == nil {
			return fmt.Errorf("the correction %s is stored, but the server does not list it yet", id)
		}
		from = *page.Next
	}
}

func printCorrection(out io.Writer, x projections.Correction) error {
	undone := int64(0)
	for _, s := range x.Undone {
		undone += s.Last - s.First + 1
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "correction\t%s\n", x.ID)
	fmt.Fprintf(w, "taken back\trecords %d to %d\n", x.Records.First, x.Records.Last)
	fmt.Fprintf(w, "undone with it\t%d records\n", undone)
	fmt.Fprintf(w, "game time\t%d s, was %d s\n", x.Clock, x.From)
	for _, n := range x.Questioned {
		fmt.Fprintf(w, "look at\trecord %d: it stands, but it was made under a penalty or a target that does not\n", n)
	}
	return w.Flush()
}

// giveOne gives one command.
func giveOne(ctx context.Context, remote remoteFlags, campaign, typ string, data any) (answer, error) {
	c, err := remote.client()
	if err != nil {
		return answer{}, err
	}
	return c.command(ctx, campaign, typ, data)
}

func required(cmd *cobra.Command, flags ...string) {
	for _, name := range flags {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err)
		}
	}
}
