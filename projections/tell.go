package projections

import (
	"fmt"
	"strings"
	"unicode"

	"tallystick/events"
)

// systemLane is what the lanes of dice begin with that no participant owns.
const systemLane = "system"

// A Line is something that happened, in words. What people wrote in it is text
// and nothing else: whoever shows it escapes it.
type Line struct {
	N     int64    `json:"n" doc:"record in the campaign"`
	Clock int64    `json:"clock" doc:"game seconds"`
	Date  string   `json:"date,omitzero" doc:"what the campaign's calendar calls it"`
	At    string   `json:"at" doc:"wall clock, UTC"`
	Kind  string   `json:"kind" doc:"event type, or checks for a run of them"`
	Text  string   `json:"text" doc:"one sentence"`
	More  []string `json:"more,omitzero" doc:"what belongs to it, such as the other questions of a roll"`
}

// A Teller tells records in words, one after the other. It knows no rules: it
// copies what events say. A run of checks that fell due is told as one line a
// character.
type Teller struct {
	names    map[string]string
	calendar *events.Calendar
	health   map[string]events.Health // as it was told last
	runs     []run
}

// run is a run of checks of one character.
type run struct {
	character string
	line      Line
	checks    int
	from, to  events.Health
}

// NewTeller is a teller before the first record.
func NewTeller() *Teller {
	return &Teller{names: map[string]string{}, health: map[string]events.Health{}}
}

// Name is what a character is called; the id itself before it was created.
func (t *Teller) Name(character string) string {
	if name, ok := t.names[character]; ok {
		return name
	}
	return Printable(character)
}

// Tell takes the next record and returns the lines that are complete: none, or
// those of checks before it and its own. An event of a system alone, and one
// that this program does not know, is told only if it changed how a character
// stands, or is an action that needed no roll.
func (t *Teller) Tell(rec events.Record) []Line {
	e, err := decode(rec)
	if err != nil {
		return nil
	}
	if created, ok := e.(*events.CampaignCreated); ok {
		t.calendar = created.Calendar
	}
	var lines []Line
	if rec.Cmd.Type != "" && rec.Cmd.Type != "clock.resume" {
		lines = t.Rest()
	}
	if tick, ok := e.(*events.TickProcessed); ok {
		t.check(rec, tick)
		return lines
	}
	text, more := t.words(e)
	if ce, ok := e.(events.CharacterEvent); ok {
		if text != "" {
			lines = append(lines, t.flush(ce.Of().Character)...)
		}
		t.stand(ce)
	}
	if text == "" {
		return lines
	}
	if rec.Type == "clock.advanced" {
		lines = append(lines, t.Rest()...)
	}
	line := t.line(rec, rec.Type)
	line.Text, line.More = text, more
	return append(lines, line)
}

func (t *Teller) line(rec events.Record, kind string) Line {
	line := Line{N: rec.N, Clock: rec.Clock, At: rec.At, Kind: kind}
	if t.calendar != nil {
		line.Date = t.calendar.Date(rec.Clock).Text
	}
	return line
}

// Rest are the lines of checks that are not told yet.
func (t *Teller) Rest() []Line {
	var lines []Line
	for _, r := range t.runs {
		lines = append(lines, t.told(r))
	}
	t.runs = nil
	return lines
}

func (t *Teller) flush(character string) []Line {
	for i, r := range t.runs {
		if r.character == character {
			t.runs = append(t.runs[:i:i], t.runs[i+1:]...)
			return []Line{t.told(r)}
		}
	}
	return nil
}

// check adds a check to the run of its character.
func (t *Teller) check(rec events.Record, e *events.TickProcessed) {
	i := 0
	for i < len(t.runs) && t.runs[i].character != e.Character {
		i++
	}
	if i == len(t.runs) {
		from := t.health[e.Character]
		t.runs = append(t.runs, run{character: e.Character, from: from, to: from})
	}
	r := &t.runs[i]
	r.checks++
	r.line = t.line(rec, "checks")
	t.stand(e)
	r.to = t.health[e.Character]
}

func (t *Teller) told(r run) Line {
	checks := "a check falls due"
	if r.checks > 1 {
		checks = fmt.Sprintf("%d checks fall due", r.checks)
	}
	change := "nothing changes"
	switch {
	case r.from.Points != r.to.Points:
		change = fmt.Sprintf("from %d to %s, %s", r.from.Points, counted(r.to.Points, "point"), r.to.Rank)
	case r.from.Rank != r.to.Rank:
		change = fmt.Sprintf("from %s to %s", r.from.Rank, r.to.Rank)
	}
	r.line.Text = fmt.Sprintf("%s: %s, %s", t.Name(r.character), checks, change)
	return r.line
}

// stand remembers how a character stands.
func (t *Teller) stand(e events.CharacterEvent) {
	if after := e.Of().After; after != nil {
		t.health[e.Of().Character] = after.Health
	}
}

// words are an event in words; empty for one that is not worth a line.
func (t *Teller) words(e events.Event) (text string, more []string) {
	switch e := e.(type) {
	case *events.RollMade:
		if strings.HasPrefix(e.Lane, systemLane) {
			return "", nil // of a check, which is told with its outcome
		}
		return t.roll(e)
	case *events.RollResolved:
		text, more = t.roll(&e.RollMade)
		return "the declared roll: " + text, more
	case events.CharacterEvent:
		return t.happened(e), nil
	}
	return t.table(e), nil
}

// happened tells what happened to a character.
func (t *Teller) happened(e events.CharacterEvent) string {
	name := t.Name(e.Of().Character)
	switch e := e.(type) {
	case *events.CharacterCreated:
		t.names[e.Character] = Printable(e.Name)
		return fmt.Sprintf("%s enters: %s", t.names[e.Character], standing(e.After))
	case *events.CharacterAmended:
		return fmt.Sprintf("%s is amended: %s", name, Printable(e.Reason))
	case *events.CharacterRetired:
		return fmt.Sprintf("%s leaves play: %s", name, Printable(e.Reason))
	case *events.CharacterRestored:
		return fmt.Sprintf("%s stands otherwise (%s): %s", name, Printable(e.Why), standing(e.After))
	case *events.CharacterDied:
		return fmt.Sprintf("%s dies: %s (%s)", name, Printable(e.Cause), e.Rule)
	case *events.WoundInflicted:
		text := fmt.Sprintf("%s is wounded, %s (%s)", name, counted(e.Points, "point"), Printable(e.Cause))
		if e.Level != "" {
			text = fmt.Sprintf("%s is wounded, %s, %s (%s)", name, e.Level, counted(e.Points, "point"), Printable(e.Cause))
		}
		return text + ": " + standing(e.After)
	case *events.WoundTreated:
		return fmt.Sprintf("%s is treated: %s", name, e.Outcome)
	case *events.HealGranted:
		return fmt.Sprintf("%s gets %s back (%s): %s", name, counted(e.Points, "point"), Printable(e.Cause), standing(e.After))
	case *events.ConditionGained:
		return fmt.Sprintf("%s is %s (%s)", name, e.Condition, e.Rule)
	case *events.ConditionEnded:
		return fmt.Sprintf("%s is no longer %s", name, e.Condition)
	case *events.TempoWarned:
		return fmt.Sprintf("%s could die of the %s check that is due at %s, game time %s", name, e.Kind, Printable(e.When), strings.TrimSpace(GameTime(e.Due)))
	case *events.TempoHeld:
		return fmt.Sprintf("game time is held: %s could die of the %s check that is due at %s", name, e.Kind, strings.TrimSpace(GameTime(e.Due)))
	}
	if f, ok := e.(*foreign); ok && f.skipped != (skipped{}) {
		return f.words(name)
	}
	if after := e.Of().After; after != nil && after.Health != t.health[e.Of().Character] {
		return fmt.Sprintf("%s: %s, %s", name, Named(e.Type()), standing(after))
	}
	return ""
}

// Named is an event type that only one system has, as people say it:
// perp.share_won is "share won".
func Named(typ string) string {
	return strings.ReplaceAll(typ[strings.LastIndexByte(typ, '.')+1:], "_", " ")
}

// table tells what happened at the table.
func (t *Teller) table(e events.Event) string {
	switch e := e.(type) {
	case *events.CampaignCreated:
		return fmt.Sprintf("campaign %q opens, rules %s, edition %d", Printable(e.Name), e.System, e.Edition)
	case *events.SettingDefined:
		return "the setting is defined: " + Printable(e.Reason)
	case *events.ParticipantJoined:
		return fmt.Sprintf("%s takes part as %s", e.Handle, e.Role)
	case *events.ParticipantLeft:
		return e.Handle + " leaves the table"
	case *events.SessionOpened:
		return fmt.Sprintf("session %q opens", Printable(e.Title))
	case *events.SessionClosed:
		return fmt.Sprintf("the session closes: %s from the ledger's dice, %d typed in", counted(e.Rolls, "roll"), e.TypedIn)
	case *events.SeatingSealed:
		return "seats are sealed: every die of this session is fixed now, and nobody has seen one"
	case *events.LinkMade:
		text := "a link is made that rolls " + Printable(e.Expression) + " once"
		if e.Purpose != "" {
			text += ": " + Printable(e.Purpose)
		}
		return text
	case *events.LinkRolled:
		return fmt.Sprintf("record %d was rolled by a link", e.Roll)
	case *events.RollSealed:
		return "a secret roll"
	case *events.RollWidened:
		return fmt.Sprintf("the secret roll of record %d is shown to more people", e.Sealed)
	case *events.RollOpened:
		return fmt.Sprintf("the secret roll of record %d is opened", e.Sealed)
	case *events.TargetSealed:
		return "a target is set and hidden"
	case *events.TargetOpened:
		return fmt.Sprintf("the hidden target of record %d was %d", e.Sealed, e.Value)
	case *events.RollDeclared:
		return fmt.Sprintf("a roll is declared: %s; lane %s witnesses", Printable(e.Purpose), e.Witness.Lane)
	case *events.RollPassed:
		return fmt.Sprintf("the witness of lane %s did not answer: %s is asked", e.Lane, e.Next.Lane)
	case *events.RollVoided:
		return "the declared roll is taken back: " + Printable(e.Reason)
	case *events.TempoSet, *events.TempoPaused, *events.TempoResumed:
		return t.tempo(e)
	case *events.ClockAdvanced:
		if e.Followed != nil && e.Ticks == 0 {
			return "" // it passes by itself
		}
		return fmt.Sprintf("%s of game time pass", GameSpan(e.To-e.From))
	case *events.DisputeOpened:
		return fmt.Sprintf("record %d is disputed: %s", e.Roll, Printable(e.Question))
	case *events.DisputeRuled:
		return fmt.Sprintf("the dispute is ruled %s: %s", e.Ruling, Printable(e.Reason))
	case *events.RulingMade:
		return fmt.Sprintf("the game master rules on record %d: %s (%s)", e.Roll, Printable(e.Outcome), Printable(e.Reason))
	case *events.RulingSealed:
		return "the game master makes a ruling that is shown later"
	case *events.RulingOpened:
		return fmt.Sprintf("the game master had ruled on record %d: %s (%s)", e.Roll, Printable(e.Outcome), Printable(e.Reason))
	case *events.CorrectionMade:
		return fmt.Sprintf("the command of record %d is taken back: %s; to be looked at again: %s", e.Records.First, Printable(e.Reason), counted(len(e.Questioned), "record"))
	case *events.LedgerRecovered:
		return fmt.Sprintf("records from %d on are lost, although they were signed: the ledger is begun anew here", e.Size)
	case *events.KeyRotated:
		return "the server signs with a new key from here on; the old one has named it"
	case *events.NoteAdded:
		return "note: " + Printable(e.Text)
	}
	return ""
}

// roll tells every question of a roll and its answer.
func (t *Teller) roll(e *events.RollMade) (text string, more []string) {
	for i, th := range e.Throws() {
		line := t.throw(th)
		if i == 0 {
			text = line
			continue
		}
		more = append(more, line)
	}
	if e.Source == physical {
		if len(more) > 0 {
			more[len(more)-1] += " (dice typed in)"
		} else {
			text += " (dice typed in)"
		}
	}
	return text, more
}

func (t *Teller) throw(th events.Throw) string {
	var b strings.Builder
	if th.Character != "" {
		fmt.Fprintf(&b, "%s, ", t.Name(th.Character))
	}
	if th.Purpose != "" {
		fmt.Fprintf(&b, "%s: ", Printable(th.Purpose))
	}
	fmt.Fprintf(&b, "%s rolls", th.Expression)
	for i, d := range th.Draws {
		if i > 0 {
			b.WriteString(" +")
		}
		fmt.Fprintf(&b, " %d", d[1])
	}
	for _, m := range th.Modifiers {
		fmt.Fprintf(&b, " %+d %s", m.Value, Printable(m.Label))
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

// counted writes a number of things: 1 point, 2 points.
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// GameTime writes game seconds as days and a time of day.
func GameTime(s int64) string {
	return fmt.Sprintf("%3dd %02d:%02d:%02d", s/86_400, s/3_600%24, s/60%60, s%60)
}

// GameSpan writes a length of game time: 2 days 1 hour.
func GameSpan(s int64) string {
	var parts []string
	for _, u := range []struct {
		name string
		size int64
	}{{"day", 86_400}, {"hour", 3_600}, {"minute", 60}, {"second", 1}} {
		if n := s / u.size; n > 0 {
			parts = append(parts, counted(int(n), u.name))
			s -= n * u.size
		}
	}
	return strings.Join(parts, " ")
}

// Printable keeps what people wrote from steering a terminal or turning the
// direction of a line: a character that does not print is shown as �.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == '\u200d' {
			return r
		}
		return '�'
	}, s)
}

// Say tells one record by itself, without moving on: empty when it is not
// worth a line.
func (t *Teller) Say(rec events.Record) string {
	e, err := decode(rec)
	if err != nil {
		return ""
	}
	if tick, ok := e.(*events.TickProcessed); ok {
		return fmt.Sprintf("%s: the %s check: %+d, %s", t.Name(tick.Character), tick.Kind, tick.Change, standing(tick.After))
	}
	if created, ok := e.(*events.CharacterCreated); ok {
		return fmt.Sprintf("%s enters: %s", Printable(created.Name), standing(created.After))
	}
	text, _ := t.words(e)
	return text
}
