package api

import (
	"context"
	"net/http"
	"time"

	"tallystick/events"
	"tallystick/projections"
	"tallystick/rules/tempo"
)

// TempoNow is how a campaign's clock follows the one on the wall at this
// moment. Every time has its offset.
type TempoNow struct {
	State   string        `json:"state" enum:"none,running,paused,held" doc:"none: the clock does not follow; held: it stands before a check that could kill a player character, until tempo.resume"`
	Game    int64         `json:"game,omitzero" doc:"so many game seconds pass"`
	Wall    int64         `json:"wall,omitzero" doc:"in so many seconds on the wall"`
	Quiet   *events.Quiet `json:"quiet,omitzero" doc:"when no game time passes"`
	IsQuiet bool          `json:"is_quiet,omitzero" doc:"now is such a time"`
	Warn    int64         `json:"warn,omitzero" doc:"seconds on the wall by which a lethal check is announced; left out: not at all"`
	Hold    string        `json:"hold,omitzero" enum:"pc,none" doc:"whose lives stop the clock"`
	Now     string        `json:"now" doc:"on the wall, RFC 3339, in the time zone of the quiet hours"`
	Clock   int64         `json:"clock" doc:"game time now, in seconds; the newest record may be of an earlier one"`
	Date    string        `json:"date,omitzero" doc:"what the campaign's calendar calls it"`
	Next    *NextDue      `json:"next,omitzero" doc:"the next check that falls due"`
	Held    *NextDue      `json:"held,omitzero" doc:"the check before which the clock is held"`
	Lethal  []NextDue     `json:"lethal,omitzero" doc:"of characters in danger: the first check that could kill them, as far ahead as there is a warning"`
	Stuck   string        `json:"stuck,omitzero" doc:"why no time passes although it should"`
}

// NextDue is a check that lies ahead.
type NextDue struct {
	Character string `json:"character"`
	Kind      string `json:"kind"`
	Due       int64  `json:"due" doc:"game seconds"`
	Date      string `json:"date,omitzero" doc:"what the campaign's calendar calls it"`
	At        string `json:"at,omitzero" doc:"on the wall, RFC 3339, if the clock runs on; left out when that is more than a year away, or the clock does not run"`
}

type dateInput struct {
	InCampaign
	Clock optional[int64] `query:"clock" minimum:"0" maximum:"9007199254740991" doc:"game time in seconds; left out: that of the newest record"`
}

// DateOf is a game time and what the campaign's calendar calls it.
type DateOf struct {
	Clock int64        `json:"clock" doc:"game seconds"`
	Date  *events.Date `json:"date,omitzero" doc:"left out where the campaign has no calendar"`
}

func (s *Server) tempoRoutes() {
	const path = "/v1/campaigns/{campaign}"
	handle(s, route{
		Method: http.MethodGet, Path: path + "/tempo", ID: "get-tempo", Summary: "How the clock follows the one on the wall",
		Doc: "The tempo of a play-by-post session, the game time at this moment, and what is due next. It is set by tempo.set.", Access: reader,
	}, s.tempoNow)
	handle(s, route{
		Method: http.MethodGet, Path: path + "/date", ID: "get-date", Summary: "The date at a game time",
		Doc: "By the calendar that the campaign was created with. It is a way to look at game time: nothing is computed by it.", Access: reader,
	}, s.dateOf)
}

func (s *Server) tempoNow(ctx context.Context, in *InCampaign) (*output[TempoNow], error) {
	f, err := s.cfg.Ledger.Following(ctx, in.Campaign)
	if err != nil {
		return nil, err
	}
	var calendar *events.Calendar
	if err := s.view(ctx, in.Campaign, func(v *projections.Views) error { calendar = v.Campaign().Calendar; return nil }); err != nil {
		return nil, err
	}
	date := func(clock int64) string {
		if calendar == nil {
			return ""
		}
		return calendar.Date(clock).Text
	}
	now := TempoNow{State: "none", Now: f.Now.Format(time.RFC3339), Clock: f.Clock, Date: date(f.Clock), Stuck: f.Stuck}
	due := func(d tempo.Due) NextDue {
		next := NextDue{Character: d.Character, Kind: d.Kind, Due: d.At, Date: date(d.At)}
		if when := f.When(d.At); !when.IsZero() {
			next.At = when.In(f.Pace.Zone()).Format(time.RFC3339)
		}
		return next
	}
	if f.Outlook.Next != nil {
		next := due(*f.Outlook.Next)
		now.Next = &next
	}
	for _, d := range f.Outlook.Dangers {
		now.Lethal = append(now.Lethal, due(d))
	}
	t := f.Tempo
	if t == nil {
		return answer(now), nil
	}
	now.Game, now.Wall, now.Quiet, now.Warn, now.Hold, now.IsQuiet = t.Game, t.Wall, t.Quiet, t.Warn, t.Hold, f.Pace.Quiet.At(f.Now)
	switch {
	case t.Held != nil:
		now.State = projections.TempoHeld
		held := due(tempo.Due{Character: t.Held.Character, At: t.Held.Due, Kind: t.Held.Kind})
		now.Held = &held
	case t.Paused:
		now.State = projections.TempoPaused
	default:
		now.State = projections.TempoRunning
	}
	return answer(now), nil
}

func (s *Server) dateOf(ctx context.Context, in *dateInput) (out *output[DateOf], err error) {
	err = s.view(ctx, in.Campaign, func(v *projections.Views) error {
		c := v.Campaign()
		d := DateOf{Clock: c.Clock}
		if in.Clock.Set {
			d.Clock = in.Clock.Value
		}
		if c.Calendar != nil {
			date := c.Calendar.Date(d.Clock)
			d.Date = &date
		}
		out = answer(d)
		return nil
	})
	return out, err
}
