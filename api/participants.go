package api

import (
	"context"
	"net/http"

	"tallystick/projections"
	"tallystick/rules"
)

// ParticipantPath leads to a participant.
type ParticipantPath struct {
	InCampaign
	Handle string `path:"handle" doc:"of the participant"`
}

type addInput struct {
	InCampaign
	Key     string `header:"Idempotency-Key" doc:"a UUID, the command's id; left out: a new one each time"`
	RawBody []byte `contentType:"application/json"`
}

type removeInput struct {
	ParticipantPath
	Key string `header:"Idempotency-Key" doc:"a UUID, the command's id; left out: a new one each time"`
}

func (s *Server) participantRoutes() {
	const path = "/v1/campaigns/{campaign}/participants"
	handle(s, route{
		Method: http.MethodGet, Path: "/v1/me", ID: "get-me", Summary: "Whom the token stands for", Access: signedIn,
	}, s.me)
	handle(s, route{
		Method: http.MethodGet, Path: path, ID: "list-participants", Summary: "List who takes part", Access: reader,
	}, func(ctx context.Context, in *charactersInput) (out *output[projections.Page[projections.Participant]], err error) {
		err = s.viewAt(ctx, in.Campaign, in.Moment, func(v *projections.Views) error {
			out = answer(page(v.Participants(), in.Paging))
			return nil
		})
		return out, err
	})
	handle(s, route{
		Method: http.MethodPost, Path: path, ID: "add-participant", Summary: "Add a participant",
		Doc:    "Gives the command participant.add and the token that belongs to it.",
		Access: member, Status: http.StatusCreated, Body: s.schema(rules.ParticipantAdd{}), Fails: []int{422},
	}, s.addParticipant)
	handle(s, route{
		Method: http.MethodDelete, Path: path + "/{handle}", ID: "remove-participant", Summary: "Remove a participant",
		Doc:    "Gives the command participant.remove and ends the participant's token.",
		Access: member, Status: http.StatusNoContent, Fails: []int{409, 422, 507},
	}, s.removeParticipant)
	handle(s, route{
		Method: http.MethodPost, Path: path + "/{handle}/token", ID: "rotate-token", Summary: "Give out a new token",
		Doc:    "The one before ends at once, live feeds included. A game master and the admin do it for everybody, the others for themselves. Nothing is stored in the ledger.",
		Access: reader, Status: http.StatusCreated, Fails: []int{403},
	}, s.rotateToken)
}

// Me is whom a token stands for.
type Me struct {
	Admin    bool   `json:"admin" doc:"it is the admin token of the server"`
	Campaign string `json:"campaign,omitzero" doc:"id of the campaign that it is for"`
	Handle   string `json:"handle,omitzero"`
	Role     string `json:"role,omitzero" enum:"gm,player,spectator"`
}

func (s *Server) me(ctx context.Context, _ *struct{}) (*output[Me], error) {
	who := callerOf(ctx)
	return answer(Me{Admin: who.Admin, Campaign: who.Campaign, Handle: who.Handle, Role: who.Role}), nil
}

func (s *Server) addParticipant(ctx context.Context, in *addInput) (*output[NewToken], error) {
	id, err := commandIDOrNew(in.Key)
	if err != nil {
		return nil, err
	}
	body, err := decode[rules.ParticipantAdd](in.RawBody)
	if err != nil {
		return nil, err
	}
	data, err := rules.Canonical(&body)
	if err != nil {
		return nil, err
	}
	if _, err := s.execute(ctx, in.Campaign, rules.Command{ID: id, Type: addType, Data: data}); err != nil {
		return nil, inside("body", err)
	}
	token, err := s.issue(ctx, in.Campaign, body.Handle)
	return answer(token), err
}

func (s *Server) removeParticipant(ctx context.Context, in *removeInput) (*struct{}, error) {
	id, err := commandIDOrNew(in.Key)
	if err != nil {
		return nil, err
	}
	_, ok, err := s.participant(ctx, in.Campaign, in.Handle)
	if err != nil {
		return nil, err
	}
	if !ok && callerOf(ctx).gm() {
		// A removal whose answer was lost may have left the token behind.
		if err := s.revoke(ctx, in.Campaign, in.Handle); err != nil {
			return nil, err
		}
	}
	if !ok && in.Key == "" {
		return nil, newProblem("not-found", "nobody here has this handle")
	}
	data, err := rules.Canonical(&rules.ParticipantRemove{Handle: in.Handle})
	if err != nil {
		return nil, err
	}
	_, err = s.execute(ctx, in.Campaign, rules.Command{ID: id, Type: removeType, Data: data})
	return nil, inside("path", err)
}

func (s *Server) rotateToken(ctx context.Context, in *ParticipantPath) (*output[NewToken], error) {
	if !mayKeep(callerOf(ctx), in.Handle) {
		return nil, newProblem("forbidden", "only a game master gives out a token for somebody else")
	}
	_, ok, err := s.participant(ctx, in.Campaign, in.Handle)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, newProblem("not-found", "nobody here has this handle")
	}
	token, err := s.issue(ctx, in.Campaign, in.Handle)
	return answer(token), err
}

// revoke ends the token of somebody who does not take part, whether the client
// still waits or not. The token of somebody who came back stays: a retry of an
// old removal must not end it.
func (s *Server) revoke(ctx context.Context, campaign, handle string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tokenTimeout)
	defer cancel()
	var here bool
	err := s.cfg.Ledger.State(ctx, campaign, func(c *rules.Campaign) error {
		_, here = c.Participant(handle)
		return nil
	})
	if err != nil || here {
		return err
	}
	return s.cfg.Tokens.Leave(ctx, campaign, handle)
}
