package api

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// A secret roll is told to the game master and to nobody else, by any way,
// until it is opened.
func TestSecretRoll(t *testing.T) {
	g := newGame(t)
	a := g.command(g.gm, `{"type":"roll","data":{"expression":"1d20","purpose":"does the guard hear them"},"visibility":"private"}`)
	if !bytes.Contains(a.Secret, []byte("does the guard hear them")) {
		t.Errorf("the game master is told %s", a.Secret)
	}
	for _, path := range []string{"/events", "/ledger", "/rolls", "/characters", "/sessions", ""} {
		for _, token := range []string{g.gm, g.anna} {
			if r := g.get(g.path(path), token); bytes.Contains(r.body, []byte("guard")) {
				t.Errorf("%s shows %s", path, r.body)
			}
		}
	}
	problem(t, g.ask(http.MethodPost, g.path("/commands"), g.anna, `{"type":"roll","data":{"expression":"1d20"},"visibility":"private"}`, "Idempotency-Key", key()), "rejected", "body.visibility")
	opened := g.command(g.gm, fmt.Sprintf(`{"type":"roll.open","data":{"roll":%d}}`, a.First))
	if opened.Secret != nil || !strings.Contains(string(opened.Records[0]), "does the guard hear them") {
		t.Errorf("opened: %s", opened.Records)
	}
}
