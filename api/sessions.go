package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"tallystick/projections"
)

// InSession is the part of the path that leads to a session.
type InSession struct {
	InCampaign
	ID string `path:"session" doc:"id of the session"`
}

// sessionAt is a session as it was at a moment.
type sessionAt struct {
	InSession
	Moment
}

type rollsInput struct {
	InCampaign
	Paging
	Moment
	Session   string `query:"session" doc:"only of this session"`
	Character string `query:"character" doc:"only those that this character rolled first in"`
}

// OfRoll is the part of the path that leads to a roll.
type OfRoll struct {
	InCampaign
	N int64 `path:"n" minimum:"0" doc:"record of the roll"`
}

func (s *Server) sessionRoutes() {
	const path = "/v1/campaigns/{campaign}"
	handle(s, route{
		Method: http.MethodGet, Path: path + "/sessions", ID: "list-sessions", Summary: "List sessions", Doc: "In the order they were opened.", Access: reader,
	}, func(ctx context.Context, in *charactersInput) (out *output[projections.Page[projections.Session]], err error) {
		err = s.viewAt(ctx, in.Campaign, in.Moment, func(v *projections.Views) error {
			out = answer(page(v.Sessions(), in.Paging))
			return nil
		})
		return out, err
	})
	handle(s, route{
		Method: http.MethodGet, Path: path + "/sessions/{session}", ID: "get-session", Summary: "An evening of play", Access: reader,
	}, func(ctx context.Context, in *sessionAt) (out *output[projections.Session], err error) {
		err = s.viewAt(ctx, in.Campaign, in.Moment, func(v *projections.Views) error {
			session, ok := v.Session(in.ID)
			out = answer(session)
			return found(ok, "session")
		})
		return out, err
	})
	handle(s, route{
		Method: http.MethodGet, Path: path + "/sessions/{session}/replay", ID: "replay-session", Summary: "Decide a session's commands again",
		Doc: "From the recorded commands and seeds, and compares the records byte for byte. Nothing is stored. With steps=true the answer holds the session's " +
			"commands one by one, with everybody as they stand after each. As application/x-ndjson it is all steps, one a line, and the verdict in the last line.",
		Access: reader, Content: map[string]*huma.MediaType{
			mediaJSON: {Schema: s.schema(SessionReplay{})}, mediaNDJSON: {Schema: &huma.Schema{Type: huma.TypeString}},
		},
	}, s.replaySession)
	s.auditRoutes()
	handle(s, route{
		Method: http.MethodGet, Path: path + "/rolls", ID: "list-rolls", Summary: "List rolls",
		Doc: "With everything that was recorded of them. from is the n of a record.", Access: reader,
	}, s.listRolls)
	handle(s, route{
		Method: http.MethodGet, Path: path + "/rolls/{n}", ID: "get-roll", Summary: "A roll", Access: reader,
	}, s.getRoll)
}

func (s *Server) listRolls(ctx context.Context, in *rollsInput) (*output[projections.Page[projections.Roll]], error) {
	var entries projections.Page[projections.RollEntry]
	err := s.viewAt(ctx, in.Campaign, in.Moment, func(v *projections.Views) error {
		if _, ok := v.Session(in.Session); in.Session != "" && !ok {
			return malformed("query.session", "names no session of this campaign")
		}
		if _, ok := v.Character(in.Character); in.Character != "" && !ok {
			return malformed("query.character", "names no character of this campaign")
		}
		entries = v.Rolls(in.From, in.Limit, func(r projections.RollEntry) bool {
			return (in.Session == "" || r.Session == in.Session) && (in.Character == "" || r.Character == in.Character)
		})
		return nil
	})
	if err != nil {
		return nil, err
	}
	rolls, err := s.cfg.Hub.Rolls(ctx, in.Campaign, entries.Items)
	return answer(projections.Page[projections.Roll]{Items: rolls, Next: entries.Next}), err
}

func (s *Server) getRoll(ctx context.Context, in *OfRoll) (*output[projections.Roll], error) {
	var entry projections.RollEntry
	err := s.view(ctx, in.Campaign, func(v *projections.Views) (err error) {
		var ok bool
		entry, ok = v.Roll(in.N)
		return found(ok, "roll")
	})
	if err != nil {
		return nil, err
	}
	rolls, err := s.cfg.Hub.Rolls(ctx, in.Campaign, []projections.RollEntry{entry})
	if err != nil {
		return nil, err
	}
	return answer(rolls[0]), nil
}
