package replay

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
	"tallystick/projections"
	"tallystick/rules"
)

// A Step is one command of a session and everybody as they stand after it.
type Step struct {
	N          int64                   `json:"n" doc:"first record of the command"`
	Last       int64                   `json:"last" doc:"last record of it"`
	At         string                  `json:"at" doc:"wall clock, UTC"`
	Clock      int64                   `json:"clock" doc:"game time after it, in seconds"`
	Command    string                  `json:"command" doc:"its id"`
	Type       string                  `json:"type"`
	By         string                  `json:"by"`
	Data       jsontext.Value          `json:"data,omitzero" doc:"what was asked"`
	Happened   []projections.Line      `json:"happened" doc:"in words"`
	Characters []projections.Character `json:"characters" doc:"as they stand after it"`
}

// Steps replays a session step by step: every command is decided again and
// compared, and those of the session are handed over as they were found
// identical.
type Steps struct {
	replayer *Replayer
	session  string
	views    *projections.Views
	teller   *projections.Teller
	inside   bool
	found    bool
	each     func(Step) error
}

// ErrOver says that the session is over: nothing after it is replayed.
var ErrOver = errors.New("the session is over")

// NewSteps replays with a replayer before its first commit.
func NewSteps(r *Replayer, session string, each func(Step) error) *Steps {
	return &Steps{replayer: r, session: session, teller: projections.NewTeller(), each: each}
}

// Found reports whether the session was met.
func (s *Steps) Found() bool { return s.found }

// Commit takes the next commit. Errors: those of Replayer.Commit, those of
// each, and ErrOver behind the session's last.
func (s *Steps) Commit(payload []byte) error {
	if s.found && !s.inside {
		return ErrOver
	}
	if err := s.replayer.Commit(payload); err != nil {
		return err
	}
	recs, err := events.ParseCommit(payload)
	if err != nil {
		return &Unusable{Err: err}
	}
	if s.views == nil {
		s.views = projections.New(recs[0].Campaign)
	}
	var lines []projections.Line
	ends := false
	for _, rec := range recs {
		if err := s.views.Apply(rec); err != nil {
			return &Unusable{N: rec.N, Err: err}
		}
		lines = append(lines, s.teller.Tell(rec)...)
		if rec.Type == "session.opened" && rec.Cmd.ID == s.session {
			s.inside, s.found = true, true
		}
		ends = ends || rec.Type == "session.closed" && s.inside
	}
	lines = append(lines, s.teller.Rest()...)
	if !s.inside {
		return nil
	}
	s.inside = !ends
	first, last := recs[0], recs[len(recs)-1]
	if lines == nil {
		lines = []projections.Line{}
	}
	return s.each(Step{
		N: first.N, Last: last.N, At: last.At, Clock: last.Clock, Command: first.Cmd.ID, Type: first.Cmd.Type, By: first.By, Data: first.Cmd.Data,
		Happened: lines, Characters: s.views.Characters(),
	})
}

// Text writes a step for a terminal: what happened, and who stands otherwise
// than before.
func (s Step) Text(before []projections.Character) string {
	text := fmt.Sprintf("%d %s by %s\n", s.N, s.Type, s.By)
	for _, line := range s.Happened {
		text += projections.TextLine(line)
	}
	was := map[string]projections.Character{}
	for _, c := range before {
		was[c.ID] = c
	}
	for _, c := range s.Characters {
		old, there := was[c.ID]
		if there && old.Health == c.Health && old.Alive == c.Alive && len(old.Conditions) == len(c.Conditions) {
			continue
		}
		state := fmt.Sprintf("%d/%d %s", c.Health.Points, c.Health.Max, c.Health.Rank)
		if !c.Alive {
			state = "dead"
		}
		for _, condition := range c.Conditions {
			state += ", " + condition.Name
		}
		text += fmt.Sprintf("         %s: %s\n", projections.Printable(c.Name), state)
	}
	return text
}

// LibraryOf is the library with the one edition that a campaign's first record
// names, so that a newer one on board changes nothing. *rules.MissingEdition:
// it is not on board.
func LibraryOf(library rules.Library, first events.Record) (rules.Library, error) {
	e, err := core.Decode(first)
	if err != nil {
		return nil, err
	}
	created, ok := e.(*events.CampaignCreated)
	if !ok {
		return nil, fmt.Errorf("a campaign begins with campaign.created, not with %s", first.Type)
	}
	book, err := library.Find(created.System, created.Edition)
	if err != nil {
		return nil, err
	}
	return rules.Library{book}, nil
}
