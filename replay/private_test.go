package replay_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
	"tallystick/replay"
	"tallystick/rules"
)

// whisper makes a secret roll of anybody and returns the n of its seal.
func (n *night) whisper(by, visibility string) int64 {
	n.T.Helper()
	shown, err := events.ParseVisibility(jsontext.Value(visibility))
	if err != nil {
		n.T.Fatal(err)
	}
	sealed, secret, err := rules.DecideHidden(n.State, n.Command(by, "roll", `{"expression":"2d6","purpose":"Zq"}`), shown, &n.vault)
	if err == nil {
		_, err = n.Do(sealed)
	}
	if err != nil {
		n.T.Fatal(err)
	}
	n.secret[n.last()] = secret
	return n.last()
}

func (n *night) widen(by string, at int64, to string) {
	n.T.Helper()
	n.Must(by, "roll.widen", fmt.Sprintf(`{"roll":%d,"shown_to":%s}`, at, to))
}

func (n *night) unveil(by string, at int64) {
	n.T.Helper()
	s := n.secret[at]
	n.Must(by, "roll.open", fmt.Sprintf(`{"roll":%d,"salt":"%x","payload":%q}`, at, s.Salt, s.Payload))
}

// whispers is a night of private rolls: by players and game masters, on lanes
// that are seated when they are first needed, and renewed.
func whispers(t *testing.T) *night {
	n := begin(t)
	n.Must("gm", "participant.add", `{"handle":"anna-private","role":"player"}`) // a name that is in the way
	n.Must("gm", "participant.add", `{"handle":"gm2","role":"gm"}`)
	n.Must("gm", "session.open", `{"title":"Whispers","kind":"table"}`)
	annas := n.whisper("anna", `"private"`)
	n.Must("anna", "roll", `{"expression":"1d6"}`)
	n.Must("anna-private", "roll", `{"expression":"1d6"}`)
	blind := n.whisper("anna", `"blind"`)
	n.whisper("anna-private", `["bo"]`)
	n.whisper("gm2", `"private"`)
	n.whisper("gm", `"private"`)
	n.widen("gm", blind, `"private"`)
	n.widen("anna", annas, `["bo"]`)
	n.widen("gm", annas, `["bo","cleo"]`)
	n.unveil("anna", annas)
	for range 1_010 { // until the lane is renewed
		n.whisper("bo", `"private"`)
	}
	n.Must("gm", "session.close", `{}`)
	return n
}

// Private rolls are decided again as they were, their lanes are checked like
// all others, and every checker says so.
func TestPrivateRolls(t *testing.T) {
	n := whispers(t)
	lines := n.lines()
	r, err := verify(lines, evidence(n, lines))
	if err != nil {
		t.Fatal(err)
	}
	if r.Rules != replay.RulesSame || r.Rolls.SecretOpened != 1 || r.Rolls.SecretUnopened != 1_014 || r.Unread != 0 {
		t.Errorf("got %+v", r.Rolls)
	}
	found := map[string]string{}
	for _, l := range r.Lanes {
		found[l.Lane] = l.Principal
	}
	for lane, principal := range map[string]string{
		"anna": "anna", "anna-private": "anna-private", "anna-private.2": "anna", "anna-private-private": "anna-private",
		"bo-private": "bo", "bo-private.2": "bo", "gm2-private": "gm2", "gm-secret": "gm-secret",
	} {
		if found[lane] != principal {
			t.Errorf("lane %s is of %q, want %q", lane, found[lane], principal)
		}
	}
	for _, line := range lines {
		if bytes.Contains(line, []byte("Zq")) && !bytes.Contains(line, []byte(`"roll.opened"`)) {
			t.Errorf("the ledger tells %s", line)
		}
	}
}

// A ledger in which a private roll was taken from elsewhere, shown to fewer
// people or opened as another roll is refused, by the verifier and by the
// checkers that know no rules.
func TestForgedPrivateRolls(t *testing.T) {
	n := whispers(t)
	honest := n.lines()[:60]
	cases := map[string]struct{ in, old, new string }{
		"sealed on the public lane":         {`"type":"roll.sealed"`, `"lane":"anna-private.2","i":1`, `"lane":"anna","i":1`},
		"an index left out":                 {`"type":"roll.sealed"`, `"lane":"anna-private.2","i":1`, `"lane":"anna-private.2","i":2`},
		"a public roll of a private lane":   {`"type":"roll.made"`, `"lane":"anna","i":1`, `"lane":"anna-private.2","i":2`},
		"narrowed":                          {`"type":"roll.widened"`, `"visibility":["bo","cleo"]`, `"visibility":["cleo"]`},
		"made blind again":                  {`"type":"roll.widened"`, `"visibility":["bo","cleo"]`, `"visibility":"blind"`},
		"widened what is not there":         {`"type":"roll.widened"`, `"sealed":`, `"sealed":1`},
		"a private lane that is not marked": {`"type":"seat.taken"`, `,"secret":true`, ``},
	}
	for _, c := range []struct{ program, script string }{{"", ""}, {"python3", "verify.py"}, {"node", "verify.mjs"}} {
		arguments, where := map[string][]string{}, map[string]string{}
		for name, edit := range cases {
			forged := make([][]byte, len(honest))
			changed := -1
			for i, line := range honest {
				forged[i] = line
				if changed < 0 && bytes.Contains(line, []byte(edit.in)) && bytes.Contains(line, []byte(edit.old)) {
					forged[i], changed = bytes.Replace(line, []byte(edit.old), []byte(edit.new), 1), i
				}
			}
			if changed < 0 {
				t.Fatalf("%s: there is no such record", name)
			}
			if c.program != "" {
				arguments[name] = bundle(t, n, forged, n.sign(forged, len(forged)), nil)
				where[name] = "FAILED: record"
				continue
			}
			// With the rules, and by what stands in the events alone.
			for _, library := range []rules.Library{{embers}, nil} {
				if _, err := verify(forged, replay.Evidence{Library: library, VKey: n.signer.VKey()}); err == nil {
					t.Errorf("%s: the verifier with %d systems finds nothing wrong", name, len(library))
				}
			}
		}
		if c.program == "" {
			continue
		}
		arguments["honest"] = bundle(t, n, honest, n.sign(honest, len(honest)), nil)
		for name, got := range check(t, c.program, c.script, arguments) {
			if name == "honest" {
				if got.Code != 0 {
					t.Errorf("%s: an honest night: code %d\n%s", c.script, got.Code, got.Output)
				}
				continue
			}
			if got.Code != 1 || !strings.Contains(got.Output, where[name]) {
				t.Errorf("%s: %s: got code %d:\n%s", c.script, name, got.Code, got.Output)
			}
		}
	}
}
