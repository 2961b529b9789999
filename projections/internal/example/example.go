// Package example writes the records of a small campaign for tests.
//
// It keeps just enough of a state to contradict nothing: no rules, no dice. What
// happens next is chosen by the test, so that a failing run can be repeated.
package example

import (
	"fmt"
	"time"

	"tallystick/events"

	"github.com/go-json-experiment/json/jsontext"
)

// A Ledger writes the commits of one campaign, one after the other.
type Ledger struct {
	Campaign string
	N        int64 // of the next record
	Clock    int64 // game seconds

	commits  int
	session  string
	sessions int
	rolls    int
	typedIn  int
	people   []*figure
}

type figure struct {
	id     string
	points int
	wounds int
	tick   bool
}

// Start begins a ledger and returns its first commit.
func Start(campaign string) (*Ledger, []byte) {
	l := &Ledger{Campaign: campaign}
	return l, l.Commit("campaign.create", "",
		&events.CampaignCreated{Name: "The tally", System: "rpgamix", Edition: 1, Options: map[string]string{"rpgamix.round": "3"}, GM: "mara", VKey: "k"},
		&events.ParticipantJoined{Handle: "mara", Role: "gm"})
}

// Commit writes one command with what happened by it. A visibility other than
// "" is JSON.
func (l *Ledger) Commit(kind, visibility string, happened ...events.Event) []byte {
	l.commits++
	facts := make([]events.Fact, len(happened))
	for i, e := range happened {
		facts[i] = events.Fact{Clock: l.Clock, Event: e}
	}
	head := events.Head{
		Campaign: l.Campaign, N: l.N, By: "mara", At: At(l.commits),
		Cmd: events.Cmd{ID: l.Command(), Type: kind, Data: jsontext.Value(`{}`)},
	}
	if visibility != "" {
		head.Cmd.Visibility = jsontext.Value(visibility)
	}
	payload, err := events.EncodeCommit(head, facts, func(i int) string { return fmt.Sprintf("record-%d", l.N+int64(i)) })
	if err != nil {
		panic(err)
	}
	l.N += int64(len(happened))
	return payload
}

// Command is the id of the last command.
func (l *Ledger) Command() string { return fmt.Sprintf("command-%d", l.commits) }

// At is the wall clock of the i-th commit, counted from 1.
func At(i int) string {
	return time.Date(2026, 11, 30, 19, 0, i, 0, time.UTC).Format(events.TimeFormat)
}

// Commits writes n commits of things that happen; choose picks a number from 0
// to below n.
func (l *Ledger) Commits(n int, choose func(n int) int) [][]byte {
	var all [][]byte
	for range n {
		all = append(all, l.Step(choose))
	}
	return all
}

// Step writes one commit of something that may happen now.
func (l *Ledger) Step(choose func(n int) int) []byte {
	if l.session == "" {
		return l.open()
	}
	if len(l.people) == 0 {
		return l.create()
	}
	f := l.people[choose(len(l.people))]
	switch choose(12) {
	case 0:
		return l.create()
	case 1:
		return l.close()
	case 2:
		return l.Commit("note.add", "", &events.NoteAdded{Text: "a note"})
	case 3:
		return l.Commit("rpgamix.pray", "", &omen{Subject: f.after(), Omen: "a crow"})
	case 4, 5:
		return l.advance(1 + choose(20))
	case 6:
		l.typedIn++
		return l.Commit("roll", `"private"`, l.roll(f, "physical"))
	default:
		return l.wound(f, choose(4))
	}
}

func (l *Ledger) open() []byte {
	l.sessions++
	l.session = fmt.Sprintf("session-%d", l.sessions)
	l.rolls, l.typedIn = 0, 0
	happened := []events.Event{&events.SessionOpened{Session: l.session, Title: "An evening", Kind: "table"}}
	for _, lane := range []string{"system", "mara"} {
		happened = append(happened, &events.SeatTaken{Session: l.session, Seating: 1, Lane: lane, Principal: lane, N: 100, S0: "00", C0: "-", X0: "-"})
	}
	happened = append(happened,
		&events.SeatingClosed{Session: l.session, Seating: 1, Ask: []events.Ask{}},
		&events.SeatingSealed{Session: l.session, Seating: 1, Missing: []string{}, Joint: "11"})
	return l.Commit("session.open", "", happened...)
}

func (l *Ledger) close() []byte {
	s := l.session
	l.session = ""
	return l.Commit("session.close", "", &events.SessionClosed{Session: s, Rolls: l.rolls, TypedIn: l.typedIn})
}

func (l *Ledger) create() []byte {
	f := &figure{id: fmt.Sprintf("figure-%d", len(l.people)+1), points: 25}
	l.people = append(l.people, f)
	return l.Commit("character.create", "", &events.CharacterCreated{
		Subject: f.after(), Name: "Bob", Kind: "pc", Owner: "mara", Creation: "free", Sheet: jsontext.Value(`{"stats":{}}`),
	})
}

// wound is an attack: a roll, the wound, and what follows from it.
func (l *Ledger) wound(f *figure, points int) []byte {
	f.wounds++
	f.points -= points
	f.tick = true
	l.rolls++
	happened := []events.Event{
		l.roll(f, "ledger"),
		&events.WoundInflicted{Subject: f.after(), Wound: f.wounds, Points: points, Cause: "a sword"},
	}
	if points > 2 {
		happened = append(happened, &events.ConditionGained{Subject: f.after(), Condition: "stunned", Until: l.Clock + 6, Rule: "RPGX-26"})
	}
	return l.Commit("attack", "", happened...)
}

// advance lets up to ticks checks fall due, each with a roll.
func (l *Ledger) advance(ticks int) []byte {
	from := l.Clock
	var happened []events.Event
	for i := range ticks {
		f := l.people[i%len(l.people)]
		f.points--
		l.rolls++
		happened = append(happened, l.roll(f, "ledger"),
			&events.TickProcessed{Subject: f.after(), Kind: "deterioration", Due: from + 3, Rolled: true, Change: -1, Rule: "RPGX-41"})
	}
	l.Clock += 3
	happened = append(happened, &events.ClockAdvanced{From: from, To: l.Clock, Ticks: ticks})
	return l.Commit("clock.advance", "", happened...)
}

func (l *Ledger) roll(f *figure, source string) *events.RollMade {
	r := &events.RollMade{Session: l.session, Source: source, Throw: events.Throw{
		Expression: "1d10", Purpose: "attack", Character: f.id, Draws: []events.Draw{{10, 7}},
		Modifiers: []events.Modifier{{Label: "Fair health", Value: -2, Rule: "RPGX-23"}}, Total: 5, Outcome: "hit",
	}}
	if source == "ledger" {
		r.Lane, r.I, r.S, r.C = "mara", l.rolls, "00ff", "-"
	}
	return r
}

func (f *figure) after() events.Subject {
	rank := "good"
	if f.points < 5 {
		rank = "incapacitated"
	}
	v := &events.Vitals{
		Alive:  f.points > 0,
		Health: events.Health{Points: f.points, Max: 25, Rank: rank}, Conditions: []events.Condition{},
	}
	if f.tick {
		v.NextTick = &events.NextTick{Due: 1000, Kind: "deterioration"}
	}
	return events.Subject{Character: f.id, After: v}
}

// omen is an event that only a rule system knows.
type omen struct {
	events.Subject
	Omen string `json:"omen"`
}

// Type implements events.Event.
func (*omen) Type() string { return "rpgamix.omen" }
