package browser

import (
	"strings"
	"testing"
)

// An invitation's link lets its holder in once; a second time the page says so.
func TestInvitation(t *testing.T) {
	s := serve(t)
	g := s.campaign("rpgamix")
	var made struct {
		Link string `json:"link"`
	}
	s.ask("POST", "/v1/campaigns/"+g.ID+"/invitations", g.GM, map[string]any{"handle": "kim", "role": "player"}, &made)
	g.give("session.open", map[string]any{"title": "Night", "kind": "table"})
	p := open(t)
	p.visit(s.url + made.Link)
	p.join()
	if address := js[string](p, `location.href`); strings.Contains(address, "token=") {
		t.Errorf("the address keeps the token: %s", address)
	}
	other := open(t)
	other.visit(s.url + made.Link)
	other.sees("This invitation was used already")
}
