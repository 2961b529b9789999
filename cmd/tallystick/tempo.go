package main

import (
	"fmt"
	"io"
	"net/url"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tallystick/api"
	"tallystick/events"
	"tallystick/projections"
	"tallystick/rules"
)

func tempoCommand() *cobra.Command {
	var remote remoteFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "tempo CAMPAIGN",
		Short: "Show or set how game time follows the clock on the wall",
		Long: `In a play-by-post session game time can follow the clock on the wall: a day in a
day, an hour in a day of posts. Checks then fall due by themselves. Without a
word behind it tempo shows the game time now and what is due next.`,
		Example: `  tallystick tempo 0192f1c0-7d6a-7c3e-9b1a-3f2f4a5b6c7d --token-file anna.token
  tallystick tempo set 0192f1c0-7d6a-7c3e-9b1a-3f2f4a5b6c7d --game 1h --wall 1d --quiet 22:00-07:00 --zone Europe/Berlin --token-file gm.token`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := remote.client()
			if err != nil {
				return err
			}
			var now api.TempoNow
			if err := c.get(cmd.Context(), "/v1/campaigns/"+url.PathEscape(args[0])+"/tempo", &now); err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), now)
			}
			return printTempo(cmd.OutOrStdout(), now)
		},
	}
	remote.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	var pause rules.TempoPause
	stop := tempoWord("pause", "Let game time stand still", "tempo.pause", &pause)
	stop.Flags().StringVar(&pause.Reason, "reason", "", "why")
	cmd.AddCommand(tempoSetCommand(), stop, tempoWord("resume", "Let game time go on, also where it was held", "tempo.resume", &rules.TempoResume{}))
	return cmd
}

func tempoSetCommand() *cobra.Command {
	var d rules.TempoSet
	var quiet, zone string
	var days []string
	cmd := tempoWord("set", "Tie game time to the clock on the wall, in the open play-by-post session", "tempo.set", &d)
	give := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if quiet != "" || len(days) > 0 {
			from, to, _ := strings.Cut(quiet, "-")
			d.Quiet = &events.Quiet{Zone: zone, From: from, To: to, Days: days}
		}
		return give(cmd, args)
	}
	cmd.Flags().StringVar(&d.Game, "game", "", "how much game time passes, such as 1h")
	cmd.Flags().StringVar(&d.Wall, "wall", "", "in how much time on the wall, such as 1d")
	cmd.Flags().StringVar(&quiet, "quiet", "", "hours at which none passes, such as 22:00-07:00")
	cmd.Flags().StringSliceVar(&days, "quiet-day", nil, "day at which none passes, such as sunday; may be given more than once")
	cmd.Flags().StringVar(&zone, "zone", "UTC", "time zone of the quiet hours, such as Europe/Berlin")
	cmd.Flags().StringVar(&d.Warn, "warn", "", "how long ahead a check is announced that could kill somebody, such as 6h, or none; left out: 1d")
	cmd.Flags().StringVar(&d.Hold, "hold", "", "pc: stop before a check that could kill a player character; none: do not; left out: pc")
	required(cmd, "game", "wall")
	return cmd
}

// tempoWord is a command that gives one command of the game master.
func tempoWord(word, short, typ string, data any) *cobra.Command {
	var remote remoteFlags
	cmd := &cobra.Command{
		Use: word + " CAMPAIGN", Short: short, Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, err := giveOne(cmd.Context(), remote, args[0], typ, data)
			return err
		},
	}
	remote.add(cmd)
	return cmd
}

func printTempo(out io.Writer, now api.TempoNow) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(what, format string, a ...any) {
		fmt.Fprintf(w, "%s\t%s\n", what, oneLine(fmt.Sprintf(format, a...)))
	}
	time := func(clock int64, date string) string {
		text := projections.GameTime(clock)
		if date != "" {
			text += " (" + date + ")"
		}
		return text
	}
	line("tempo", "%s", now.State)
	if now.Game > 0 {
		line("pace", "%s of game time in %s", projections.GameSpan(now.Game), projections.GameSpan(now.Wall))
	}
	if q := now.Quiet; q != nil {
		line("quiet", "%s-%s %v %s", q.From, q.To, q.Days, q.Zone)
	}
	line("game time", "%s", time(now.Clock, now.Date))
	line("on the wall", "%s", now.Now)
	due := func(what string, d api.NextDue) {
		line(what, "%s of %s, %s %s", d.Kind, d.Character, time(d.Due, d.Date), d.At)
	}
	if now.Next != nil {
		due("next due", *now.Next)
	}
	if now.Held != nil {
		due("held before", *now.Held)
	}
	for _, d := range now.Lethal {
		due("could kill", d)
	}
	if now.Stuck != "" {
		line("stands still", "%s", now.Stuck)
	}
	return w.Flush()
}
