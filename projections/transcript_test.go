package projections

import (
	"errors"
	"strings"
	"testing"

	"tallystick/events"
	"tallystick/projections/internal/example"
)

// told tells a session in a form.
func told(t *testing.T, form Form, session string, recs []events.Record) string {
	t.Helper()
	var out strings.Builder
	tr, err := NewTranscript(&out, form, session)
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range recs {
		done, err := tr.Apply(rec)
		if err != nil {
			t.Fatal(err)
		}
		if done {
			break
		}
	}
	if found, err := tr.End(); !found || err != nil {
		t.Fatalf("found %v, %v", found, err)
	}
	return out.String()
}

// The example of the rules, line by line, in the three forms.
func TestTranscript(t *testing.T) {
	_, recs := bob(t)
	want := `The bridge
2026-11-30T19:00:02.000Z

      2    0d 00:00:00  session "The bridge" opens
      6    0d 00:00:00  seats are sealed: every die of this session is fixed now, and nobody has seen one
      7    0d 00:00:00  Bob enters: 25/25, good
      8    0d 00:00:00  ogre, attack: 1d10 rolls 9 = 9
      9    0d 00:00:00  Bob is wounded, 21 points (a club): 4/25, incapacitated
     10    0d 00:00:00  Bob is unconscious (RPGX-30)
     11    0d 00:00:03  Bob: a check falls due, from 4 to 3 points, incapacitated
     12    0d 00:00:03  3 seconds of game time pass
     13    0d 00:00:03  the session closes: 1 roll from the ledger's dice, 0 typed in
`
	if got := told(t, FormText, "evening", recs); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for form, line := range map[Form]string{
		FormMarkdown: "# The bridge\n\n2026-11-30T19:00:02.000Z\n\n- `0d 00:00:00` session \"The bridge\" opens (2)\n",
		FormHTML:     "<h1>The bridge</h1>\n<p><time>2026-11-30T19:00:02.000Z</time></p>\n<ol>\n<li value=\"2\"><code>0d 00:00:00</code> <bdi>session &#34;The bridge&#34; opens</bdi></li>\n",
	} {
		if got := told(t, form, "evening", recs); !strings.Contains(got, line) {
			t.Errorf("%s: got\n%s\nwant in it\n%s", form, got, line)
		}
	}
	if _, err := NewTranscript(nil, "xml", "evening"); err == nil {
		t.Error("an unknown form is taken")
	}
	tr, _ := NewTranscript(&strings.Builder{}, FormText, "another")
	for _, rec := range recs {
		if _, err := tr.Apply(rec); err != nil {
			t.Fatal(err)
		}
	}
	if found, _ := tr.End(); found {
		t.Error("a session was found that is not there")
	}
}

// What people wrote is text in every form: it steers no terminal, turns no
// line, makes no markup.
func TestTranscriptIsText(t *testing.T) {
	l, first := example.Start(campaign)
	hostile := "\x1b[2J\u202e<img src=x onerror=alert(1)> **bold** [a](http://x) `c`\n# head"
	recs := parsed(t, first,
		l.Commit("session.open", "", &events.SessionOpened{Session: "evening", Title: hostile, Kind: "table"}),
		l.Commit("note.add", "", &events.NoteAdded{Text: hostile}),
		l.Commit("session.close", "", &events.SessionClosed{Session: "evening"}))
	for form, never := range map[Form][]string{
		FormText:     {"\x1b", "\u202e", "\n# head"},
		FormMarkdown: {"\x1b", "\u202e", "\n# head", "<img", " **bold**", "[a](", " `c`"},
		FormHTML:     {"\x1b", "\u202e", "<img", "\n# head"},
	} {
		got := told(t, form, "evening", recs)
		for _, piece := range never {
			if strings.Contains(got, piece) {
				t.Errorf("%s: %q in\n%s", form, piece, got)
			}
		}
		if !strings.Contains(got, "head") {
			t.Errorf("%s: the text is lost:\n%s", form, got)
		}
	}
}

// A long advance is one line a character and change, not one a check.
func TestTranscriptOfChecks(t *testing.T) {
	l, first := example.Start(campaign)
	commits := [][]byte{first,
		l.Commit("session.open", "", &events.SessionOpened{Session: "evening", Title: "rest", Kind: "downtime"}),
		l.Commit("character.create", "", &events.CharacterCreated{Subject: events.Subject{Character: "bob", After: vitals(20, "good", 10)}, Name: "Bob", Kind: "pc", Creation: "free", Sheet: []byte(`{}`)}),
	}
	var checks []events.Event
	for i := range 500 {
		checks = append(checks, &events.TickProcessed{Subject: events.Subject{Character: "bob", After: vitals(20-i/100, "good", 10)}, Kind: "day", Due: int64(i), Change: 0, Rule: "R"})
	}
	checks = append(checks, &events.ClockAdvanced{From: 0, To: 500, Ticks: 500})
	commits = append(commits, l.Commit("clock.advance", "", checks...), l.Commit("session.close", "", &events.SessionClosed{Session: "evening"}))
	got := told(t, FormText, "evening", parsed(t, commits...))
	if strings.Count(got, "\n") != 8 || !strings.Contains(got, "Bob: 500 checks fall due, from 20 to 16 points, good\n") {
		t.Errorf("got\n%s", got)
	}
}

// leap is an action of a system alone that needed no roll, or another event.
type leap struct {
	events.Subject
	name       string
	Trait      any    `json:"trait"`
	Difficulty string `json:"difficulty"`
	Outcome    string `json:"outcome"`
	Rule       string `json:"rule"`
}

func (l *leap) Type() string { return l.name }

// An action that needed no roll is told, whatever the system; other events of a
// system, and what is called so and says other things, are not.
func TestTranscriptOfWhatNeedsNoRoll(t *testing.T) {
	l, first := example.Start(campaign)
	bob := events.Subject{Character: "bob", After: vitals(20, "good", 0)}
	made := func(name string, trait any) events.Event {
		return &leap{Subject: bob, name: name, Trait: trait, Difficulty: "a <low> wall", Outcome: "success", Rule: "SAGA-4"}
	}
	commits := [][]byte{first,
		l.Commit("session.open", "", &events.SessionOpened{Session: "evening", Title: "walls", Kind: "table"}),
		l.Commit("character.create", "", &events.CharacterCreated{Subject: bob, Name: "Bob", Kind: "pc", Creation: "free", Sheet: []byte(`{}`)}),
		l.Commit("check", "", made("saga.roll.skipped", "Leaping")), l.Commit("check", "", made("saga.leapt", "Leaping")), l.Commit("check", "", made("saga.roll.skipped", 7)),
		l.Commit("session.close", "", &events.SessionClosed{Session: "evening"}),
	}
	got := told(t, FormText, "evening", parsed(t, commits...))
	if strings.Count(got, "\n") != 7 || !strings.Contains(got, " Bob, Leaping against a <low> wall: success, no roll is needed (SAGA-4)\n") {
		t.Errorf("got\n%s", got)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }

var errBroken = errors.New("no room")

// An error of the writer is not lost.
func TestTranscriptWriter(t *testing.T) {
	_, recs := bob(t)
	tr, err := NewTranscript(broken{}, FormHTML, "evening")
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range recs {
		if _, err = tr.Apply(rec); err != nil {
			break
		}
	}
	if !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
}

// An event that no line is written for is told by what its system calls it.
func TestNamed(t *testing.T) {
	for typ, want := range map[string]string{"perp.share_won": "share won", "rpgamix.omen": "omen", "omen": "omen"} {
		if got := Named(typ); got != want {
			t.Errorf("%s is told as %q, want %q", typ, got, want)
		}
	}
	if got := NewTeller().happened(&fright{events.Subject{After: &events.Vitals{Health: events.Health{Points: 3, Max: 5, Rank: "hurt"}}}}); !strings.Contains(got, ": cold fright, 3/5, hurt") {
		t.Errorf("told as %q", got)
	}
}

// fright is an event of a system that changes how somebody stands.
type fright struct{ events.Subject }

func (*fright) Type() string { return "toy.cold_fright" }
