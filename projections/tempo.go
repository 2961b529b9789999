package projections

import (
	"fmt"
	"strings"

	"tallystick/events"
)

// States of a clock that follows the one on the wall.
const (
	TempoRunning = "running"
	TempoPaused  = "paused"
	TempoHeld    = "held"
)

// Tempo is how the campaign's clock follows the one on the wall.
type Tempo struct {
	State     string        `json:"state" enum:"running,paused,held" doc:"held: before a check that could kill a player character"`
	Game      int64         `json:"game" doc:"so many game seconds pass"`
	Wall      int64         `json:"wall" doc:"in so many seconds on the wall"`
	Quiet     *events.Quiet `json:"quiet,omitzero" doc:"when no game time passes"`
	Warn      int64         `json:"warn" doc:"seconds on the wall by which a lethal check is announced; 0: not at all"`
	Hold      string        `json:"hold" enum:"pc,none" doc:"whose lives stop the clock"`
	Character string        `json:"character,omitzero" doc:"before whose check it is held"`
	Due       *int64        `json:"due,omitzero" doc:"when that check is due, game seconds"`
}

// tempo folds an event about the clock's following. What was given away of it
// is never changed.
func (v *Views) tempo(e events.Event) {
	if set, ok := e.(*events.TempoSet); ok {
		v.campaign.Tempo = &Tempo{State: TempoRunning, Game: set.Game, Wall: set.Wall, Quiet: set.Quiet, Warn: set.Warn, Hold: set.Hold}
		return
	}
	if v.campaign.Tempo == nil {
		return
	}
	t := *v.campaign.Tempo
	switch e := e.(type) {
	case *events.TempoPaused:
		t.State = TempoPaused
	case *events.TempoResumed:
		t.State, t.Character, t.Due = TempoRunning, "", nil
	case *events.TempoHeld:
		due := e.Due
		t.State, t.Character, t.Due = TempoHeld, v.word(e.Character), &due
	}
	v.campaign.Tempo = &t
}

// Date is what the campaign's calendar calls a game time; empty without one.
func (v *Views) Date(clock int64) string {
	if v.campaign.Calendar == nil {
		return ""
	}
	return v.campaign.Calendar.Date(clock).Text
}

// tempo tells an event about the clock's following.
func (t *Teller) tempo(e events.Event) string {
	switch e := e.(type) {
	case *events.TempoSet:
		text := fmt.Sprintf("game time follows the clock on the wall: %s in %s", GameSpan(e.Game), GameSpan(e.Wall))
		if q := e.Quiet; q != nil {
			var when []string
			if q.From != "" {
				when = append(when, "from "+q.From+" to "+q.To)
			}
			if len(q.Days) > 0 {
				when = append(when, "on "+strings.Join(q.Days, ", "))
			}
			text += fmt.Sprintf("; it stands still %s (%s)", strings.Join(when, " and "), Printable(q.Zone))
		}
		return text
	case *events.TempoPaused:
		if e.Reason == "" {
			return "game time stands still"
		}
		return "game time stands still: " + Printable(e.Reason)
	case *events.TempoResumed:
		return "game time goes on"
	}
	return ""
}
