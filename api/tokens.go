package api

import (
	"context"
	"net/http"

	"tallystick/projections"
)

// TokenItem says whether a participant has a token in force.
type TokenItem struct {
	Handle string `json:"handle"`
	Role   string `json:"role" enum:"gm,player,spectator"`
	Name   string `json:"name,omitzero"`
	Token  bool   `json:"token" doc:"one is in force"`
}

func (s *Server) tokenRoutes() {
	const path = "/v1/campaigns/{campaign}"
	handle(s, route{
		Method: http.MethodGet, Path: path + "/tokens", ID: "list-tokens", Summary: "Who has a token",
		Doc: "For a game master and the admin. No token is shown: the server keeps none.", Access: reader, Fails: []int{403},
	}, s.listTokens)
	handle(s, route{
		Method: http.MethodDelete, Path: path + "/participants/{handle}/token", ID: "revoke-token", Summary: "End a token",
		Doc:    "It is out of force at once, live feeds included; the participant stays. A game master and the admin do it for everybody, the others for themselves.",
		Access: reader, Status: http.StatusNoContent, Fails: []int{403},
	}, s.revokeToken)
}

// mayKeep reports whether the caller looks after the token of a participant.
func mayKeep(who caller, handle string) bool { return who.Admin || who.gm() || who.Handle == handle }

func (s *Server) listTokens(ctx context.Context, in *listInput) (*output[projections.Page[TokenItem]], error) {
	if !mayKeep(callerOf(ctx), "") {
		return nil, newProblem("forbidden", "this is for the game master")
	}
	var all []projections.Participant
	err := s.view(ctx, in.Campaign, func(v *projections.Views) error {
		all = v.Participants()
		return nil
	})
	if err != nil {
		return nil, err
	}
	part := page(all, in.Paging)
	out := projections.Page[TokenItem]{Items: make([]TokenItem, len(part.Items)), Next: part.Next}
	for i, p := range part.Items {
		held, err := s.cfg.Tokens.Holds(ctx, in.Campaign, p.Handle)
		if err != nil {
			return nil, err
		}
		out.Items[i] = TokenItem{p.Handle, p.Role, p.Name, held}
	}
	return answer(out), nil
}

func (s *Server) revokeToken(ctx context.Context, in *ParticipantPath) (*struct{}, error) {
	if !mayKeep(callerOf(ctx), in.Handle) {
		return nil, newProblem("forbidden", "only a game master ends the token of somebody else")
	}
	if err := s.exists(ctx, in.Campaign); err != nil {
		return nil, err
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), tokenTimeout)
	defer cancel()
	if err := s.cfg.Tokens.Revoke(ending, in.Campaign, in.Handle); err != nil {
		return nil, err
	}
	// Whoever mistypes a handle must not believe that a token has ended.
	if _, ok, err := s.participant(ctx, in.Campaign, in.Handle); err != nil || ok {
		return nil, err
	}
	return nil, newProblem("not-found", "nobody here has this handle")
}
