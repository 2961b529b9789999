package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"tallystick/events"
	"tallystick/replay"
	"tallystick/rules"
)

// prognosisFlags are what is asked, of a server or without one.
type prognosisFlags struct {
	remote  remoteFlags
	treat   string
	horizon string
	points  int
	asJSON  bool

	system, sheet, wound, treatment string
	options                         []string
}

func prognosisCommand() *cobra.Command {
	var f prognosisFlags
	cmd := &cobra.Command{
		Use:   "prognosis CAMPAIGN CHARACTER | --system NAME",
		Short: "Work out how probably and when a character dies or recovers",
		Long: `Prognosis works out what the passing of time does to a character: exactly, by
following every way the dice of the rules can fall, not by simulation. It throws
no die and stores nothing.

With a campaign and a character it asks the server. With --system it needs no
server: a character of that sheet takes a wound, and time passes.`,
		Example: `  tallystick prognosis 0192f1c0-7d6a-7c3e-9b1a-3f2f4a5b6c7d 0192f1c1-0000-7000-8000-000000000001 --token-file gm.token
  tallystick prognosis --system rpgamix --wound 13
  tallystick prognosis --system perp --sheet '{"traits":{},"skills":{},"hp":12}' --wound 12 --horizon 20m
  tallystick prognosis --system fudge --wound '{"level":"Near Death"}' --treatment '{"level":"Superb"}'`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			out, err := f.look(cmd, args)
			if err != nil {
				return &codeError{exitUnusable, err}
			}
			if f.asJSON {
				return json.MarshalWrite(cmd.OutOrStdout(), out, jsontext.WithIndent("  "))
			}
			return printOutlook(cmd.OutOrStdout(), out)
		},
	}
	f.remote.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.treat, "treat", replay.TreatBoth, "none, default (treated now) or both")
	flags.StringVar(&f.horizon, "horizon", "", "end of the curve, such as 20m or 3d4h (default: when all but a thousandth is settled, a year at most)")
	flags.IntVar(&f.points, "points", 60, "steps of the curve")
	flags.BoolVar(&f.asJSON, "json", false, "print everything as JSON")
	flags.StringVar(&f.system, "system", "", "rule system, to ask without a server")
	flags.StringVar(&f.sheet, "sheet", "", "with --system: the sheet as JSON (default: the system's example)")
	flags.StringVar(&f.wound, "wound", "", "with --system: points lost, or the data of wound.inflict as JSON")
	flags.StringVar(&f.treatment, "treatment", "", "with --system: the data of wound.treat as JSON (default: a capable hand)")
	flags.StringArrayVar(&f.options, "option", nil, "with --system: an option of the campaign, name=value; may be repeated")
	return cmd
}

func (f prognosisFlags) look(cmd *cobra.Command, args []string) (out replay.Outlook, err error) {
	opts := replay.PrognosisOptions{Points: f.points}
	if f.horizon != "" {
		if opts.Horizon, err = rules.ParseDuration(f.horizon); err != nil {
			return out, fmt.Errorf("--horizon %w", err)
		}
	}
	switch {
	case f.system != "" && len(args) == 0:
		return f.offline(opts)
	case f.system != "":
		return out, errors.New("--system asks without a server: leave campaign and character out")
	case len(args) != 2:
		return out, errors.New("a campaign and a character are needed, or --system")
	case f.sheet+f.wound+f.treatment != "" || f.options != nil:
		return out, errors.New("--sheet, --wound, --treatment and --option are for --system")
	}
	c, err := f.remote.client()
	if err != nil {
		return out, err
	}
	query := url.Values{"treat": {f.treat}, "points": {strconv.Itoa(f.points)}}
	if opts.Horizon > 0 {
		query.Set("horizon", strconv.FormatInt(opts.Horizon, 10))
	}
	path := "/v1/campaigns/" + url.PathEscape(args[0]) + "/characters/" + url.PathEscape(args[1]) + "/prognosis?" + query.Encode()
	return out, c.get(cmd.Context(), path, &out)
}

// Ids of a campaign that is only thought of.
const (
	thoughtCampaign  = "00000000-0000-7000-8000-000000000000"
	thoughtCharacter = "00000000-0000-7000-8000-000000000001"
)

// offline makes a campaign in memory, with one character.
func (f prognosisFlags) offline(opts replay.PrognosisOptions) (out replay.Outlook, err error) {
	book, err := library().Find(f.system, 0)
	if err != nil {
		return out, err
	}
	options := map[string]string{}
	for _, o := range f.options {
		name, value, ok := strings.Cut(o, "=")
		if !ok {
			return out, fmt.Errorf("--option %s must be name=value", o)
		}
		options[name] = value
	}
	sheet := jsontext.Value(f.sheet)
	if f.sheet == "" {
		if sheet, err = rules.Canonical(book.Example()); err != nil {
			return out, err
		}
	}
	c := rules.NewCampaign(thoughtCampaign, library())
	err = give(c, rules.SystemPrincipal, thoughtCampaign, "campaign.create", map[string]any{"name": "prognosis", "system": f.system, "options": options, "gm": "gm", "vkey": "none"})
	if err == nil {
		err = give(c, "gm", thoughtCharacter, "character.create", map[string]any{"name": "the casualty", "kind": "npc", "creation": "free", "sheet": sheet})
	}
	if err != nil {
		return out, err
	}
	if f.wound != "" {
		data, err := f.woundData()
		if err != nil {
			return out, err
		}
		opts.First = []rules.Command{{Type: "wound.inflict", Data: data}}
	}
	var treatment jsontext.Value
	if f.treatment != "" {
		if treatment, err = withMembers(f.treatment, nil); err != nil {
			return out, fmt.Errorf("--treatment: %w", err)
		}
	}
	return replay.Look(c, thoughtCharacter, f.treat, treatment, opts)
}

// give decides a command that takes no dice, and applies it.
func give(c *rules.Campaign, by, id, typ string, data any) error {
	raw, err := json.Marshal(data, json.Deterministic(true))
	if err != nil {
		return err
	}
	cmd := rules.Command{ID: id, By: by, Type: typ, Data: raw}
	facts, err := rules.Decide(c, cmd, nil)
	if err != nil {
		return err
	}
	return c.ApplyFacts(events.Head{Campaign: c.ID, N: c.Next, By: by, Cmd: cmd.Record()}, facts)
}

func (f prognosisFlags) woundData() (jsontext.Value, error) {
	text := f.wound
	if points, err := strconv.Atoi(f.wound); err == nil {
		text = fmt.Sprintf(`{"points":%d}`, points)
	}
	data, err := withMembers(text, map[string]string{"cause": "a wound"})
	if err != nil {
		return nil, fmt.Errorf("--wound must be a number of points or a JSON object: %w", err)
	}
	return data, nil
}

// withMembers adds the character, and members that are missing, to an object.
func withMembers(object string, missing map[string]string) (jsontext.Value, error) {
	var members map[string]any
	if err := json.Unmarshal([]byte(object), &members); err != nil {
		return nil, err
	}
	if members == nil {
		return nil, errors.New("is null")
	}
	members["character"] = thoughtCharacter
	for name, value := range missing {
		if _, given := members[name]; !given {
			members[name] = value
		}
	}
	return json.Marshal(members, json.Deterministic(true))
}

// printOutlook is the outlook for people: a table, and the curves.
func printOutlook(out io.Writer, o replay.Outlook) error {
	fmt.Fprintf(out, "%s: %d of %d points, %s", printable(o.Name), o.Health.Points, o.Health.Max, o.Health.Rank)
	if o.Character == thoughtCharacter {
		fmt.Fprint(out, ", before the wound\n\n")
	} else {
		fmt.Fprintf(out, ", at game time %d s\n\n", o.Clock)
	}
	var titles []string
	var all []*replay.Prognosis
	for _, w := range []struct {
		title string
		p     *replay.Prognosis
	}{{"untreated", o.Untreated}, {"treated", o.Treated}} {
		if w.p != nil {
			titles, all = append(titles, w.title), append(all, w.p)
		}
	}
	if err := table(out, titles, all); err != nil {
		return err
	}
	if o.Refused != nil {
		fmt.Fprintf(out, "\nno treatment: %s\n", o.Refused.Reason)
	}
	for i, p := range all {
		fmt.Fprintf(out, "\n%s\n", titles[i])
		plot(out, p)
	}
	return nil
}

func table(out io.Writer, titles []string, all []*replay.Prognosis) error {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	// A line in which nothing stands is left out.
	row := func(name string, cell func(p *replay.Prognosis) string) {
		cells, empty := []string{name}, true
		for _, p := range all {
			text := cell(p)
			cells, empty = append(cells, cmp.Or(text, "-")), empty && text == ""
		}
		if !empty {
			fmt.Fprintln(w, strings.Join(cells, "\t"))
		}
	}
	fmt.Fprintln(w, "\t"+strings.Join(titles, "\t"))
	for _, fate := range []struct {
		name string
		of   func(p *replay.Prognosis) replay.Fate
	}{
		{"dies", func(p *replay.Prognosis) replay.Fate { return p.Death }},
		{"recovers", func(p *replay.Prognosis) replay.Fate { return p.Recovery }},
	} {
		row(fate.name, func(p *replay.Prognosis) string { return percent(fate.of(p).Probability) })
		for i, share := range []string{"5 % by", "25 % by", "half by", "75 % by", "95 % by"} {
			row("  "+share, func(p *replay.Prognosis) string {
				if q := fate.of(p).Quantiles; i < len(q) {
					return howLong(float64(q[i].Seconds))
				}
				return ""
			})
		}
		row("  mean", func(p *replay.Prognosis) string {
			if mean := fate.of(p).Mean; mean != nil {
				return howLong(*mean)
			}
			return ""
		})
	}
	row("neither, ever", func(p *replay.Prognosis) string { return percent(p.Stuck) })
	for _, rank := range all[0].Ranks {
		row("comes to "+rank, func(p *replay.Prognosis) string {
			for _, d := range p.Declines {
				if d.Rank == rank {
					return percent(d.Probability)
				}
			}
			return ""
		})
	}
	return w.Flush()
}

// percent shows four digits, and what is neither never nor always as such.
func percent(p float64) string {
	switch {
	case p == 0:
		return "never"
	case p == 1:
		return "100 %"
	case p > 0.9999:
		return fmt.Sprintf("all but %.3g %%", 100*(1-p))
	}
	return fmt.Sprintf("%.4g %%", 100*p)
}

// howLong shows game seconds in the unit that suits them.
func howLong(seconds float64) string {
	for _, u := range []struct {
		name string
		size float64
	}{{"d", 86_400}, {"h", 3_600}, {"min", 60}} {
		if seconds >= 2*u.size {
			return strconv.FormatFloat(seconds/u.size, 'f', 1, 64) + " " + u.name
		}
	}
	return strconv.FormatFloat(math.Round(10*seconds)/10, 'f', -1, 64) + " s"
}

// Size of a plot in characters; with its margin it is 78 wide.
const (
	plotWidth  = 70
	plotHeight = 10
)

// plot draws the curve: of 100 at each time, who has recovered below, who is
// alive above them, and nobody where the dead were.
func plot(out io.Writer, p *replay.Prognosis) {
	for line := plotHeight; line > 0; line-- {
		level := (float64(line) - 0.5) / plotHeight
		margin := "       |"
		if line == plotHeight {
			margin = " 100 % |"
		}
		var row strings.Builder
		for column := range plotWidth {
			m := p.Curve[column*(len(p.Curve)-1)/(plotWidth-1)]
			switch {
			case m.Recovered >= level:
				row.WriteByte('+')
			case 1-m.Dead >= level:
				row.WriteByte('#')
			default:
				row.WriteByte(' ')
			}
		}
		fmt.Fprintln(out, strings.TrimRight(margin+row.String(), " "))
	}
	end := howLong(float64(p.Horizon))
	fmt.Fprintf(out, "   0 %% +%s\n", strings.Repeat("-", plotWidth))
	fmt.Fprintf(out, "        now%s%s\n", strings.Repeat(" ", plotWidth-len("now")-len(end)), end)
	fmt.Fprintln(out, "        + recovered   # alive   (blank) dead")
}
