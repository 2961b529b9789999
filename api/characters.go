package api

import (
	"context"
	"errors"
	"net/http"

	"tallystick/api/ledger"
	"tallystick/events"
	"tallystick/projections"
	"tallystick/projections/feed"
)

// Moment chooses the state that a view is taken from.
type Moment struct {
	At      optional[int64] `query:"at" minimum:"0" doc:"as it was right after record n"`
	AtClock optional[int64] `query:"at_clock" minimum:"0" doc:"as it was at this game time, in seconds: after the last record up to it"`
	After   optional[int64] `query:"after" minimum:"0" doc:"wait, for 5 seconds at most, until the view has read record n"`
}

type charactersInput struct {
	InCampaign
	Paging
	Moment
}

type characterInput struct {
	InCampaign
	ID string `path:"character" doc:"id of the character"`
	Moment
}

type timelineInput struct {
	InCampaign
	ID string `path:"character" doc:"id of the character"`
	Paging
	Moment
}

func (s *Server) characterRoutes() {
	const path = "/v1/campaigns/{campaign}/characters"
	handle(s, route{
		Method: http.MethodGet, Path: path, ID: "list-characters", Summary: "List characters",
		Doc: "In the order of their creation, also the dead and the retired.", Access: reader,
	}, func(ctx context.Context, in *charactersInput) (out *output[projections.Page[projections.Character]], err error) {
		err = s.viewAt(ctx, in.Campaign, in.Moment, func(v *projections.Views) error {
			out = answer(page(v.Characters(), in.Paging))
			return nil
		})
		return out, err
	})
	handle(s, route{
		Method: http.MethodGet, Path: path + "/{character}", ID: "get-character", Summary: "A character as it stands", Access: reader,
	}, func(ctx context.Context, in *characterInput) (out *output[projections.Character], err error) {
		err = s.viewAt(ctx, in.Campaign, in.Moment, func(v *projections.Views) error {
			c, ok := v.Character(in.ID)
			out = answer(c)
			return found(ok, "character")
		})
		return out, err
	})
	handle(s, route{
		Method: http.MethodGet, Path: path + "/{character}/timeline", ID: "get-timeline", Summary: "What happened to a character",
		Doc: "Wounds, ticks and changes of rank with their game time. from is the n of a record.", Access: reader,
	}, func(ctx context.Context, in *timelineInput) (out *output[projections.Timeline], err error) {
		err = s.viewAt(ctx, in.Campaign, in.Moment, func(v *projections.Views) error {
			t, ok := v.Timeline(in.ID, in.From, in.Limit)
			out = answer(t)
			return found(ok, "character")
		})
		return out, err
	})
}

func found(ok bool, what string) error {
	if ok {
		return nil
	}
	return newProblem("not-found", "there is no such "+what+" in this campaign")
}

// viewAt runs f over the views of a campaign at the moment that was asked for.
func (s *Server) viewAt(ctx context.Context, campaign string, m Moment, f func(*projections.Views) error) error {
	switch {
	case m.At.Set && m.After.Set:
		return malformed("query.after", "and at cannot both be given")
	case m.AtClock.Set && (m.At.Set || m.After.Set):
		return malformed("query.at_clock", "cannot be given with at or after")
	case m.At.Set:
		return s.viewPast(ctx, campaign, m.At.Value, f)
	case m.AtClock.Set:
		n, err := s.recordAt(ctx, campaign, m.AtClock.Value)
		if err != nil {
			return err
		}
		return s.viewPast(ctx, campaign, n, f)
	case !m.After.Set:
		return s.view(ctx, campaign, f)
	}
	within, cancel := context.WithTimeout(ctx, s.timing.after)
	defer cancel()
	err := s.viewAfter(within, campaign, m.After.Value, f)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return newProblem("not-yet", "the view has not read this record yet, and it may not exist", FieldError{"query.after", "has not been read yet"}).retryAfter(1)
	}
	return err
}

// recordAt is the last record at or before a game time. Where a correction has
// turned the clock back, the time counts that passed last.
func (s *Server) recordAt(ctx context.Context, campaign string, clock int64) (int64, error) {
	if !isID(campaign) {
		return 0, ledger.ErrUnknownCampaign
	}
	var n int64
	err := s.cfg.Hub.Records(ctx, campaign, 0, 0, func(rec events.Record, _ []byte) error {
		if rec.Clock <= clock {
			n = rec.N
		}
		return nil
	})
	return n, err
}

func (s *Server) viewPast(ctx context.Context, campaign string, n int64, f func(*projections.Views) error) error {
	if !isID(campaign) {
		return ledger.ErrUnknownCampaign
	}
	v, err := s.cfg.Hub.At(ctx, campaign, n)
	if errors.Is(err, feed.ErrFuture) {
		return malformed("query.at", "is beyond the last record")
	}
	if err != nil {
		return err
	}
	return f(v)
}
