package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"tallystick/events"
	"tallystick/projections"
	"tallystick/replay"
)

func transcriptCommand() *cobra.Command {
	var remote remoteFlags
	var session, format string
	cmd := &cobra.Command{
		Use:   "transcript CAMPAIGN|FILE|FOLDER",
		Short: "Tell a session in words",
		Long: `Transcript tells what happened in a session, one line an event, as text, Markdown
or HTML. Without --session it tells the last one.`,
		Example: "  tallystick transcript night-one --format html > night-one.html",
		Args:    exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if session == "" {
				in, err := openLedger(cmd, remote, args[0])
				if err != nil {
					return &codeError{exitUnusable, err}
				}
				session, err = lastSession(in)
				in.Close()
				if err != nil {
					return &codeError{exitUnusable, err}
				}
			}
			in, err := openLedger(cmd, remote, args[0])
			if err != nil {
				return &codeError{exitUnusable, err}
			}
			defer in.Close()
			return runTranscript(cmd.OutOrStdout(), in, session, format)
		},
	}
	remote.add(cmd)
	cmd.Flags().StringVar(&session, "session", "", "id of the session; left out: the last one")
	cmd.Flags().StringVar(&format, "format", formatText, "text, markdown or html")
	return cmd
}

// lastSession is the id of the session that was opened last.
func lastSession(in io.Reader) (session string, err error) {
	err = replay.Commits(in, func(payload []byte) error {
		rec, err := events.Parse(events.SplitCommit(payload)[0])
		if err == nil && rec.Type == "session.opened" {
			session = rec.Cmd.ID
		}
		return err
	})
	if err == nil && session == "" {
		err = errors.New("the campaign has no session")
	}
	return session, err
}

func runTranscript(out io.Writer, in io.Reader, session, format string) error {
	w := bufio.NewWriter(out)
	t, err := projections.NewTranscript(w, projections.Form(format), session)
	if err != nil {
		return &codeError{exitUnusable, fmt.Errorf("--%w", err)}
	}
	err = replay.Commits(in, func(payload []byte) error {
		recs, err := events.ParseCommit(payload)
		if err != nil {
			return err
		}
		for _, rec := range recs {
			if done, err := t.Apply(rec); err != nil || done {
				return errors.Join(err, errOver)
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, errOver) {
		return &codeError{exitUnusable, err}
	}
	found, err := t.End()
	if err != nil {
		return err
	}
	if !found {
		return &codeError{exitUnusable, fmt.Errorf("the campaign has no session %q", session)}
	}
	return w.Flush()
}

var errOver = errors.New("the session is over")

// transcript tells records in words as a demonstration plays them.
type transcript struct {
	out    io.Writer
	teller *projections.Teller
}

func newTranscript(out io.Writer) *transcript {
	return &transcript{out: out, teller: projections.NewTeller()}
}

// tell prints the records of one command. Checks are counted here: the
// timelines tell them.
func (t *transcript) tell(records []jsontext.Value) error {
	ticks := 0
	var lines []projections.Line
	for _, record := range records {
		rec, err := events.Parse(record)
		if err != nil {
			return err
		}
		if rec.Type == "tick.processed" {
			ticks++
		}
		lines = append(lines, t.teller.Tell(rec)...)
	}
	for _, line := range append(lines, t.teller.Rest()...) {
		if line.Kind != "checks" {
			fmt.Fprint(t.out, projections.TextLine(line))
		}
	}
	if ticks > 0 {
		fmt.Fprintf(t.out, "         %d checks fell due on the way\n", ticks)
	}
	return nil
}

// timeline prints what became of a character over game time.
func timeline(out io.Writer, name string, v projections.Timeline, greatest int) {
	fmt.Fprintf(out, "\n  %s\n", name)
	for _, item := range v.Items {
		if words[item.Type] == "" && item.Change == 0 && item.WasRank == "" {
			continue // a system's own event that changed nothing one could see
		}
		note := item.Cause
		switch {
		case item.Kind != "":
			note = item.Kind
		case item.Condition != "":
			note = item.Condition
		case item.Outcome != "":
			note = item.Outcome
		}
		change := "  ·"
		if item.Change != 0 {
			change = fmt.Sprintf("%+3d", item.Change)
		}
		rank := item.Rank
		if item.WasRank != "" {
			rank += "  (was " + item.WasRank + ")"
		}
		fmt.Fprintf(out, "  %5d  %s  %-17s %s  %s %2d  %s\n", item.N, gameTime(item.Clock), short(item.Type, printable(note)), change, bar(item.Points, greatest), item.Points, rank)
	}
}

// words are what the timeline calls events.
var words = map[string]string{
	"tick.processed": "check", "wound.inflicted": "wound", "wound.treated": "treated", "character.created": "enters",
	"condition.gained": "is", "condition.ended": "no longer", "character.died": "dies", "heal.granted": "healed",
}

// short is what a line of the timeline is about.
func short(typ, note string) string {
	word := words[typ]
	if word == "" {
		word = typ
	}
	text := strings.TrimSpace(word + " " + note)
	if r := []rune(text); len(r) > 17 {
		text = string(r[:16]) + "…"
	}
	return text
}

// bar draws points as a bar of twenty places.
func bar(points, greatest int) string {
	const width = 20
	n := 0
	if greatest > 0 && points > 0 {
		n = max(1, points*width/greatest)
	}
	return strings.Repeat("█", min(n, width)) + strings.Repeat("░", width-min(n, width))
}

func gameTime(s int64) string   { return projections.GameTime(s) }
func printable(s string) string { return projections.Printable(s) }
