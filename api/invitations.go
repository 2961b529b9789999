package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"tallystick/api/ledger"
	"tallystick/projections"
	"tallystick/rules"
)

// InvitationRequest invites somebody to take part.
type InvitationRequest struct {
	Handle  string `json:"handle" doc:"1 to 32 of a-z, 0-9, dot and hyphen; of somebody who takes part already: a new token for them"`
	Role    string `json:"role" enum:"gm,player,spectator"`
	Name    string `json:"name,omitzero" maxLength:"200"`
	Expires int64  `json:"expires,omitzero" minimum:"60" maximum:"2592000" doc:"seconds for which it is good; left out: 604800, a week"`
}

// InvitationItem is an invitation that is open.
type InvitationItem struct {
	ID      string `json:"id"`
	Handle  string `json:"handle"`
	Role    string `json:"role" enum:"gm,player,spectator"`
	Name    string `json:"name,omitzero"`
	By      string `json:"by" doc:"handle of the game master who invited"`
	Expires string `json:"expires" doc:"wall clock, UTC"`
}

// NewInvitation is an invitation as it is given out. Its token is shown once.
type NewInvitation struct {
	InvitationItem
	Token string `json:"token" doc:"good once; it is not shown again"`
	Link  string `json:"link" doc:"for the address of the server: the token stands behind the #, which no browser sends"`
}

// InvitationToken accepts an invitation.
type InvitationToken struct {
	Token string `json:"token" minLength:"1" maxLength:"200"`
}

// Accepted is what an invitation came to.
type Accepted struct {
	Campaign string `json:"campaign" doc:"id"`
	NewToken
}

type inviteInput struct {
	InCampaign
	RawBody []byte `contentType:"application/json"`
}

type disinviteInput struct {
	InCampaign
	ID string `path:"invitation" doc:"id of the invitation"`
}

type rawInput struct {
	RawBody []byte `contentType:"application/json"`
}

func (s *Server) invitationRoutes() {
	const path = "/v1/campaigns/{campaign}/invitations"
	handle(s, route{
		Method: http.MethodPost, Path: path, ID: "invite", Summary: "Invite somebody",
		Doc:    "A link that is good once, for a week unless said. Nothing stands in the ledger before it is accepted. For a game master.",
		Access: member, Status: http.StatusCreated, Body: s.schema(InvitationRequest{}), Fails: []int{422},
	}, s.invite)
	handle(s, route{
		Method: http.MethodGet, Path: path, ID: "list-invitations", Summary: "List open invitations", Doc: "For a game master.", Access: member,
	}, s.listInvitations)
	handle(s, route{
		Method: http.MethodDelete, Path: path + "/{invitation}", ID: "disinvite", Summary: "Take an invitation back", Doc: "For a game master.",
		Access: member, Status: http.StatusNoContent,
	}, s.disinvite)
	handle(s, route{
		Method: http.MethodPost, Path: "/v1/invitations/accept", ID: "accept-invitation", Summary: "Accept an invitation",
		Doc:    "Gives the command participant.add in the name of the game master who invited, and the participant's token. The invitation is used up.",
		Access: open, Status: http.StatusCreated, Body: s.schema(InvitationToken{}), Fails: []int{404, 422},
	}, s.acceptInvitation)
}

// gmOnly fails unless a game master asks.
func gmOnly(ctx context.Context) error {
	if callerOf(ctx).gm() {
		return nil
	}
	return newProblem("forbidden", "this is for the game master")
}

func (s *Server) invite(ctx context.Context, in *inviteInput) (*output[NewInvitation], error) {
	if err := gmOnly(ctx); err != nil {
		return nil, err
	}
	body, err := decode[InvitationRequest](in.RawBody)
	if err != nil {
		return nil, err
	}
	if err := rules.CheckHandle(body.Handle); err != nil {
		return nil, malformed("body.handle", err.Error())
	}
	if err := rules.CheckName(body.Name); body.Name != "" && err != nil {
		return nil, malformed("body.name", err.Error())
	}
	p, here, err := s.participant(ctx, in.Campaign, body.Handle)
	if err != nil {
		return nil, err
	}
	if here && p.Role != body.Role {
		return nil, inside("body", rules.Reject("handle_taken", "", "%s takes part already, as %s", p.Handle, p.Role).On("handle"))
	}
	lasts := ledger.InvitationLasts
	if body.Expires != 0 {
		lasts = time.Duration(body.Expires) * time.Second
	}
	i, token, err := s.cfg.Tokens.Invite(ctx, in.Campaign, ledger.Invitation{
		Handle: body.Handle, Role: body.Role, Name: body.Name, By: callerOf(ctx).Handle, Expires: time.Now().Add(lasts),
	})
	if errors.Is(err, ledger.ErrTooManyInvitations) {
		return nil, rules.Reject("too_many_invitations", "", "%s", err.Error())
	}
	if err != nil {
		return nil, err
	}
	return answer(NewInvitation{InvitationItem: itemOf(i), Token: token, Link: "/#token=" + token}), nil
}

func itemOf(i ledger.Invitation) InvitationItem {
	return InvitationItem{ID: i.ID, Handle: i.Handle, Role: i.Role, Name: i.Name, By: i.By, Expires: i.Expires.Format(time.RFC3339)}
}

func (s *Server) listInvitations(ctx context.Context, in *listInput) (*output[projections.Page[InvitationItem]], error) {
	if err := gmOnly(ctx); err != nil {
		return nil, err
	}
	open, err := s.cfg.Tokens.Invitations(ctx, in.Campaign)
	if err != nil {
		return nil, err
	}
	items := make([]InvitationItem, len(open))
	for i, one := range open {
		items[i] = itemOf(one)
	}
	return answer(page(items, in.Paging)), nil
}

func (s *Server) disinvite(ctx context.Context, in *disinviteInput) (*struct{}, error) {
	if err := gmOnly(ctx); err != nil {
		return nil, err
	}
	err := s.cfg.Tokens.Disinvite(ctx, in.Campaign, in.ID)
	if errors.Is(err, ledger.ErrNoInvitation) {
		return nil, newProblem("not-found", "there is no such open invitation")
	}
	return nil, err
}

// acceptInvitation adds the participant first, under an id that is the same for
// every try, then uses the invitation up, then gives the token out: a crash in
// between leaves an invitation that can be accepted again, never one that was
// used for nothing.
func (s *Server) acceptInvitation(ctx context.Context, in *rawInput) (*output[Accepted], error) {
	body, err := decode[InvitationToken](in.RawBody)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tokenTimeout)
	defer cancel()
	campaign, i, err := s.cfg.Tokens.Invited(ctx, body.Token)
	if errors.Is(err, ledger.ErrNoInvitation) {
		return nil, s.wrong(ctx, newProblem("not-found", err.Error()))
	}
	if err != nil {
		return nil, err
	}
	if err := s.join(ctx, campaign, i); err != nil {
		return nil, err
	}
	switch err := s.cfg.Tokens.Spend(ctx, campaign, body.Token); {
	case errors.Is(err, ledger.ErrNoInvitation):
		return nil, newProblem("not-found", err.Error())
	case err != nil:
		return nil, err
	}
	token, err := s.issue(ctx, campaign, i.Handle)
	return answer(Accepted{campaign, token}), err
}

// join makes somebody a participant, in the name of who invited them.
func (s *Server) join(ctx context.Context, campaign string, i ledger.Invitation) error {
	inviter, ok, err := s.participant(ctx, campaign, i.By)
	if err != nil {
		return err
	}
	if !ok || inviter.Role != rules.RoleGM {
		return newProblem("not-found", fmt.Sprintf("%v: who invited is no game master now", ledger.ErrNoInvitation))
	}
	p, here, err := s.participant(ctx, campaign, i.Handle)
	if err != nil {
		return err
	}
	if here && p.Role == i.Role {
		return nil
	}
	data, err := rules.Canonical(&rules.ParticipantAdd{Handle: i.Handle, Role: i.Role, Name: i.Name})
	if err != nil {
		return err
	}
	_, err = s.cfg.Ledger.Execute(ctx, campaign, rules.Command{ID: i.Command(), By: i.By, Type: addType, Data: data})
	return err
}
