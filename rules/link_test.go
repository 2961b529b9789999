package rules_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"tallystick/rules"
	"tallystick/rules/rulestest"
)

// A link rolls what was promised, once, on the lane of who made it, and by
// nobody else's command.
func TestLink(t *testing.T) {
	tb := rulestest.NewTable(t, embers, "")
	tb.Must("gm", "participant.add", `{"handle":"anna","role":"player"}`)
	link := tb.Must("anna", "link.make", `{"expression":"3d6kh2+1","purpose":"luck"}`) // before any session
	if l, ok := tb.State.Link(link); !ok || l.By != "anna" || l.Roll.Purpose != "luck" {
		t.Fatalf("got %+v, %v", l, ok)
	}
	roll := fmt.Sprintf(`{"link":%q}`, link)
	saysNo(t, tb.Refused("anna", "link.roll", roll), "no_session")
	tb.Must("gm", "session.open", `{"title":"one","kind":"play-by-post"}`)
	if err := tb.Refused("gm", "link.roll", roll); !errors.As(err, new(*rules.Forbidden)) {
		t.Errorf("got %v when somebody else gives the command", err)
	}
	saysNo(t, tb.Refused("anna", "link.roll", roll, 1, 2, 3), "link_by_hand")
	tb.Must("anna", "link.roll", roll)
	used, made := tb.Records[len(tb.Records)-1], tb.Records[len(tb.Records)-2]
	if made.Type != "roll.made" || !strings.Contains(string(made.Data), `"lane":"anna`) || !strings.Contains(string(made.Data), `"purpose":"luck"`) {
		t.Errorf("got %s %s", made.Type, made.Data)
	}
	if want := fmt.Sprintf(`{"link":%q,"roll":%d}`, link, made.N); used.Type != "link.rolled" || string(used.Data) != want {
		t.Errorf("got %s %s, want %s", used.Type, used.Data, want)
	}
	saysNo(t, tb.Refused("anna", "link.roll", roll), "link_not_open")
	tb.Refold()
	saysNo(t, tb.Refused("anna", "link.roll", roll), "link_not_open")
	saysNo(t, tb.Refused("gm", "correction.make", fmt.Sprintf(`{"command":%q,"reason":"a new try"}`, used.Cmd.ID)), "cannot_be_corrected")
}

// What cannot be rolled is refused when the link is made, not when it is used.
func TestLinkRefusals(t *testing.T) {
	tb := rulestest.NewTable(t, embers, "")
	tb.Must("gm", "participant.add", `{"handle":"anna","role":"player"}`)
	tb.Must("gm", "participant.add", `{"handle":"sven","role":"spectator"}`)
	npc := fire(tb, 3)
	saysNo(t, tb.Refused("gm", "link.make", `{"expression":"3d"}`), "notation")
	saysNo(t, tb.Refused("gm", "link.make", `{"expression":"1+2"}`), "no_dice")
	saysNo(t, tb.Refused("gm", "link.make", `{"expression":"1d6","character":"nobody"}`), "unknown_character")
	saysNo(t, tb.Refused("gm", "link.roll", `{"link":"nothing"}`), "link_not_open")
	for by, data := range map[string]string{"sven": `{"expression":"1d6"}`, "anna": fmt.Sprintf(`{"expression":"1d6","character":%q}`, npc)} {
		if err := tb.Refused(by, "link.make", data); !errors.As(err, new(*rules.Forbidden)) {
			t.Errorf("%s: got %v", by, err)
		}
	}
	for range rules.MaxLinks {
		tb.Must("anna", "link.make", `{"expression":"1d6"}`)
	}
	saysNo(t, tb.Refused("anna", "link.make", `{"expression":"1d6"}`), "too_many_links")
	tb.Must("gm", "link.make", `{"expression":"1d6"}`) // the bound is each one's own
}

// saysNo fails the test unless the rules said no with a code.
func saysNo(t *testing.T, err error, code string) {
	t.Helper()
	var no *rules.Rejection
	if !errors.As(err, &no) || no.Code != code {
		t.Errorf("got %v, want %s", err, code)
	}
}
