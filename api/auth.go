package api

import (
	"context"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"

	"tallystick/api/ledger"
	"tallystick/projections"
	"tallystick/rules"
)

// access says whom a route is for.
type access int

const (
	// open routes need no token.
	open access = iota
	// signedIn routes are for every token that is in force.
	signedIn
	// admin routes are for the admin token.
	admin
	// reader routes are for the campaign's participants and the admin.
	reader
	// member routes are for the campaign's participants: the admin token reads
	// everything and commands nothing.
	member
)

// caller is who asks.
type caller struct {
	ledger.Identity
	Role  string // in the campaign; empty for the admin
	token string // to ask again whether it is in force; never shown
}

// name tells callers apart where what they may use at once is counted.
func (c caller) name() string {
	if c.Admin {
		return "admin"
	}
	return c.Campaign + "/" + c.Handle
}

// gm reports whether a game master asks.
func (c caller) gm() bool { return c.Role == rules.RoleGM }

// bearer are the words of RFC 6750 for a request without a good token.
const bearer = `Bearer realm="tallystick"`

func unauthenticated(detail string) *Problem {
	return newProblem("unauthenticated", detail).with("WWW-Authenticate", bearer)
}

// guard lets only those through whom a route is for.
func (s *Server) guard(need access) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		if need != open {
			token, err := s.credentials(ctx)
			var who caller
			if err == nil {
				who, err = s.authenticate(ctx.Context(), token, ctx.Param("campaign"), need)
			}
			if err != nil {
				s.writeProblem(humaecho.Unwrap(ctx), s.problem(ctx.Context(), err))
				return
			}
			requestOf(ctx.Context()).caller = who
		}
		next(ctx)
	}
}

func (s *Server) authenticate(ctx context.Context, token, campaign string, need access) (caller, error) {
	who, err := s.identify(ctx, token)
	if err != nil {
		return caller{}, err
	}
	if p := s.admitToken(token); p != nil {
		return who, p
	}
	switch {
	case campaign != "" && !isID(campaign):
		return who, ledger.ErrUnknownCampaign
	case who.Admin && need == member:
		return who, newProblem("forbidden", "the admin token reads everything and commands nothing in a campaign: use a game master's token")
	case who.Admin:
		return who, nil
	case need == admin:
		return who, newProblem("forbidden", "this is for the admin token")
	case campaign != "" && campaign != who.Campaign:
		// As if it did not exist: whether it does is nobody else's business.
		return who, ledger.ErrUnknownCampaign
	}
	return who, nil
}

// identify says whom a token stands for. Whether they still take part, and as
// what, is in the ledger: a token alone opens nothing.
func (s *Server) identify(ctx context.Context, token string) (caller, error) {
	id, ok, err := s.cfg.Tokens.Identify(ctx, token)
	if err != nil {
		return caller{}, err
	}
	who := caller{Identity: id, token: token}
	if !ok {
		return who, s.wrong(ctx, unauthenticated("this token is not in force"))
	}
	if id.Admin {
		return who, nil
	}
	p, ok, err := s.participant(ctx, id.Campaign, id.Handle)
	if err != nil {
		return who, err
	}
	if !ok {
		return who, unauthenticated("this token is not in force")
	}
	who.Role = p.Role
	return who, nil
}

// participant finds who takes part in a campaign now.
func (s *Server) participant(ctx context.Context, campaign, handle string) (found projections.Participant, ok bool, err error) {
	err = s.view(ctx, campaign, func(v *projections.Views) error {
		for _, p := range v.Participants() {
			if p.Handle == handle {
				found, ok = p, true
			}
		}
		return nil
	})
	return found, ok, err
}
