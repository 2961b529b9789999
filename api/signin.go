package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"
)

// cookieName is what the sign-in of a browser is kept under. That of a
// campaign has its id behind it and is sent to that campaign's routes alone, so
// that one browser can sit at several tables.
const cookieName = "tallystick"

// cookieAge is how long a browser keeps a sign-in, in seconds: thirty days. The
// token in it can be ended at any time before.
const cookieAge = 30 * 24 * 60 * 60

// SignIn is the token of who signs in.
type SignIn struct {
	Token string `json:"token" minLength:"1" maxLength:"200"`
}

type signInOutput struct {
	Cookie string `header:"Set-Cookie"`
	Body   Me
}

type signOutInput struct {
	Campaign string `query:"campaign" maxLength:"36" doc:"of whose sign-in is meant; left out: the admin's"`
}

type signOutOutput struct {
	Cookie string `header:"Set-Cookie"`
}

func (s *Server) signInRoutes() {
	handle(s, route{
		Method: http.MethodPost, Path: "/v1/sign-in", ID: "sign-in", Summary: "Sign a browser in",
		Doc: "Puts the token into a cookie that no script can read and that is sent to no other site (HttpOnly, SameSite=Strict). " +
			"What changes something is taken from such a browser only when its page comes from this server.",
		Access: open, Body: s.schema(SignIn{}), Fails: []int{401, 403, 503},
	}, s.signIn)
	handle(s, route{
		Method: http.MethodDelete, Path: "/v1/sign-in", ID: "sign-out", Summary: "Sign a browser out",
		Doc: "Forgets the cookie. The token stays in force.", Access: open, Status: http.StatusNoContent, Fails: []int{403},
	}, func(ctx context.Context, in *signOutInput) (*signOutOutput, error) {
		return &signOutOutput{s.cookie(ctx, in.Campaign, "", -1)}, nil
	})
}

func (s *Server) signIn(ctx context.Context, in *rawInput) (*signInOutput, error) {
	if !requestOf(ctx).sameSite {
		return nil, crossSite()
	}
	body, err := decode[SignIn](in.RawBody)
	if err != nil {
		return nil, err
	}
	who, err := s.identify(ctx, strings.TrimSpace(body.Token))
	if err != nil {
		return nil, err
	}
	return &signInOutput{
		s.cookie(ctx, who.Campaign, who.token, cookieAge),
		Me{Admin: who.Admin, Campaign: who.Campaign, Handle: who.Handle, Role: who.Role},
	}, nil
}

// cookie is the header that keeps or, with a negative age, forgets a sign-in.
func (s *Server) cookie(ctx context.Context, campaign, token string, age int) string {
	c := http.Cookie{
		Name: cookieName, Value: token, Path: "/v1", MaxAge: age,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: requestOf(ctx).tls,
	}
	if isID(campaign) {
		c.Name, c.Path = cookieName+"-"+campaign, "/v1/campaigns/"+campaign
	}
	return c.String()
}

// credentials are what a request brings to say who asks: a token from the
// header, else from the cookie of the campaign, else from the admin's.
func (s *Server) credentials(ctx huma.Context) (token string, err error) {
	if header := ctx.Header("Authorization"); header != "" {
		scheme, token, _ := strings.Cut(header, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return "", unauthenticated("the header Authorization: Bearer is missing")
		}
		return strings.TrimSpace(token), nil
	}
	r := humaecho.Unwrap(ctx).Request()
	cookie, err := r.Cookie(cookieName + "-" + ctx.Param("campaign"))
	if err != nil {
		cookie, err = r.Cookie(cookieName)
	}
	if err != nil {
		return "", unauthenticated("the header Authorization: Bearer is missing")
	}
	// A cookie is sent without anybody's doing: who asks must be our own page.
	if !requestOf(ctx.Context()).sameSite {
		return "", crossSite()
	}
	return cookie.Value, nil
}

func crossSite() *Problem {
	return newProblem("forbidden", "a page of another site may not do that in your name: use the header Authorization, or a page of this server")
}

// sameSite reports whether a browser says that a request comes from a page of
// this server. A request that only reads may also be one that the user typed. A
// browser that sends neither Sec-Fetch-Site nor Origin cannot be told from
// another site's and counts as one.
func sameSite(r *http.Request) bool {
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin":
		return true
	case "none":
		return reads
	case "":
		origin := r.Header.Get("Origin")
		return origin == "http://"+r.Host || origin == "https://"+r.Host || origin == "" && reads
	}
	return false
}
