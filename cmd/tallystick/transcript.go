package main

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
	"tallystick/projections"
	"tallystick/rules"
)

// transcript tells records in words.
type transcript struct {
	out   io.Writer
	names map[string]string // of characters
}

func newTranscript(out io.Writer) *transcript {
	return &transcript{out: out, names: map[string]string{}}
}

// tell prints the records of one command; a tick is told by its timeline, not
// here, unless it changed more than points.
func (t *transcript) tell(records []jsontext.Value) error {
	ticks := 0
	for _, line := range records {
		rec, err := events.Parse(line)
		if err != nil {
			return err
		}
		text := t.text(rec)
		if rec.Type == "tick.processed" {
			ticks++
		}
		if text != "" {
			fmt.Fprintf(t.out, "  %5d  %s  %s\n", rec.N, gameTime(rec.Clock), text)
		}
	}
	if ticks > 0 {
		fmt.Fprintf(t.out, "         %d checks fell due on the way\n", ticks)
	}
	return nil
}

// text is a record in words, or empty for one that is not worth a line.
func (t *transcript) text(rec events.Record) string {
	e, err := events.Core().Decode(rec)
	if err != nil {
		return "" // a system's own event: what it did stands in the shared ones
	}
	switch e := e.(type) {
	case *events.CampaignCreated:
		return fmt.Sprintf("campaign %q opens, rules %s, edition %d", printable(e.Name), e.System, e.Edition)
	case *events.SessionOpened:
		return fmt.Sprintf("session %q opens", printable(e.Title))
	case *events.SessionClosed:
		return fmt.Sprintf("the session closes: %d rolls from the ledger's dice, %d typed in", e.Rolls, e.TypedIn)
	case *events.SeatingSealed:
		return "seats are sealed: every die of this session is fixed now, and nobody has seen one"
	case *events.CharacterCreated:
		t.names[e.Character] = printable(e.Name)
		return fmt.Sprintf("%s enters: %s", t.names[e.Character], standing(e.After))
	case *events.RollMade:
		if rec.By == rules.SystemPrincipal || strings.HasPrefix(e.Lane, rules.SystemPrincipal) {
			return "" // a tick's: the timeline has it
		}
		return t.roll(e)
	case *events.WoundInflicted:
		return fmt.Sprintf("%s is wounded, %d points (%s): %s", t.names[e.Character], e.Points, printable(e.Cause), standing(e.After))
	case *events.WoundTreated:
		return fmt.Sprintf("%s is treated: %s", t.names[e.Character], e.Outcome)
	case *events.ConditionGained:
		return fmt.Sprintf("%s is %s (%s)", t.names[e.Character], e.Condition, e.Rule)
	case *events.ConditionEnded:
		return fmt.Sprintf("%s is no longer %s", t.names[e.Character], e.Condition)
	case *events.CharacterDied:
		return fmt.Sprintf("%s dies: %s (%s)", t.names[e.Character], printable(e.Cause), e.Rule)
	case *events.ClockAdvanced:
		return fmt.Sprintf("%s of game time pass", span(e.To-e.From))
	}
	return ""
}

// roll tells every question of a roll and its answer.
func (t *transcript) roll(e *events.RollMade) string {
	own := len(e.Draws)
	for _, th := range e.Also {
		own -= len(th.Draws)
	}
	first := e.Throw
	first.Draws = first.Draws[:own]
	parts := []string{t.throw(first)}
	for _, th := range e.Also {
		parts = append(parts, t.throw(th))
	}
	source := ""
	if e.Source == "physical" {
		source = " (dice typed in)"
	}
	return strings.Join(parts, "\n"+strings.Repeat(" ", 25)) + source
}

func (t *transcript) throw(th events.Throw) string {
	var b strings.Builder
	if name := t.names[th.Character]; name != "" {
		fmt.Fprintf(&b, "%s, ", name)
	}
	fmt.Fprintf(&b, "%s: %s rolls", printable(th.Purpose), th.Expression)
	for i, d := range th.Draws {
		if i > 0 {
			b.WriteString(" +")
		}
		fmt.Fprintf(&b, " %d", d[1])
	}
	for _, m := range th.Modifiers {
		fmt.Fprintf(&b, " %+d %s", m.Value, printable(m.Label))
	}
	fmt.Fprintf(&b, " = %d", th.Total)
	if th.Against != nil {
		value := fmt.Sprint(th.Against.Value)
		if th.Against.Exact != "" {
			value = th.Against.Exact
		}
		fmt.Fprintf(&b, " against %s %s", th.Against.Kind, value)
	}
	if th.Outcome != "" {
		fmt.Fprintf(&b, ": %s", th.Outcome)
	}
	return b.String()
}

func standing(v *events.Vitals) string {
	if v == nil {
		return ""
	}
	text := fmt.Sprintf("%d/%d, %s", v.Health.Points, v.Health.Max, v.Health.Rank)
	if v.Health.Penalty != 0 {
		text += fmt.Sprintf(" (%+d)", v.Health.Penalty)
	}
	return text
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

// gameTime writes game seconds as days and a time of day.
func gameTime(s int64) string {
	return fmt.Sprintf("%3dd %02d:%02d:%02d", s/86_400, s/3_600%24, s/60%60, s%60)
}

// span writes a length of game time.
func span(s int64) string {
	var parts []string
	for _, u := range []struct {
		name string
		size int64
	}{{"day", 86_400}, {"hour", 3_600}, {"minute", 60}, {"second", 1}} {
		if n := s / u.size; n > 0 {
			plural := "s"
			if n == 1 {
				plural = ""
			}
			parts = append(parts, fmt.Sprintf("%d %s%s", n, u.name, plural))
			s -= n * u.size
		}
	}
	return strings.Join(parts, " ")
}

// printable keeps what people wrote from steering a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == '\u200d' {
			return r
		}
		return '�'
	}, s)
}
