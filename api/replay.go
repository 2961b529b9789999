package api

import (
	"context"
	"errors"

	"tallystick/events/journal"
	"tallystick/projections"
	"tallystick/replay"
)

// SessionReplay says whether the rules decide a campaign's commands again as
// they are stored, up to the end of a session.
type SessionReplay struct {
	Session    string             `json:"session"`
	Identical  bool               `json:"identical" doc:"every record came out byte for byte as it is stored"`
	Commands   int64              `json:"commands" doc:"found identical, from the campaign's first on: a session is decided in the state that the ones before left"`
	Records    int64              `json:"records" doc:"found identical"`
	Divergence *replay.Divergence `json:"divergence,omitzero" doc:"the first difference"`
	Unusable   *UnusableRecord    `json:"unusable,omitzero" doc:"why there is nothing to compare"`
}

// UnusableRecord is a record that cannot be replayed.
type UnusableRecord struct {
	N      int64  `json:"n"`
	Reason string `json:"reason"`
}

func (s *Server) replaySession(ctx context.Context, in *sessionInput) (*output[SessionReplay], error) {
	var session projections.Session
	err := s.view(ctx, in.Campaign, func(v *projections.Views) error {
		var ok bool
		session, ok = v.Session(in.ID)
		return found(ok, "session")
	})
	if err != nil {
		return nil, err
	}
	select {
	case s.replays <- struct{}{}:
		defer func() { <-s.replays }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	r := replay.New(s.cfg.Library)
	err = s.cfg.Journal.Read(ctx, in.Campaign, 0, func(c journal.Commit) error {
		if r.Records() > session.Records.Last {
			return errEnough
		}
		return r.Commit(c.Payload)
	})
	out := SessionReplay{Session: in.ID, Commands: r.Commands(), Records: r.Records()}
	var unusable *replay.Unusable
	switch {
	case err == nil, errors.Is(err, errEnough):
		out.Identical = true
	case errors.As(err, &out.Divergence):
	case errors.As(err, &unusable):
		out.Unusable = &UnusableRecord{N: unusable.N, Reason: unusable.Err.Error()}
	default:
		return nil, err
	}
	return answer(out), nil
}
