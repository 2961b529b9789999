package projections

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// SaveFormat is the format of what Save writes. It is raised with every change to
// what views remember, or to how they are folded.
const SaveFormat = 1

// saved is all that views remember.
type saved struct {
	Next, Clock  int64
	At           string
	Command      savedCommand
	Campaign     Campaign
	Participants []Participant
	Characters   []savedCharacter
	Sessions     []Session
	Open         string // id of the open session
	Rolls        []RollEntry
	Hidden       []Hidden
	Disputes     []Dispute
	Overrides    []Override
	Corrections  []Correction
	TypedIn      int
}

type savedCommand struct {
	Kind       string
	Visibility jsontext.Value `json:",omitzero"`
	Roll       int64
	Clock      int64
	Character  string
}

type savedCharacter struct {
	Character Character
	Items     []TimelineItem
	Wounds    []Wound
}

// Save writes the views as they stand, for Restore. Whoever keeps it must be able
// to do without.
func (v *Views) Save() ([]byte, error) {
	s := saved{
		Next: v.next, Clock: v.clock, At: v.at,
		Command:  savedCommand{v.command.kind, v.command.visibility, v.command.roll, v.command.clock, v.command.character},
		Campaign: v.campaign, Participants: v.participants, Rolls: v.rolls, Hidden: v.hidden, TypedIn: v.typedIn,
		Disputes: v.table.disputes, Overrides: v.table.overrides, Corrections: v.table.corrections,
	}
	for _, id := range v.order {
		c := v.characters[id]
		s.Characters = append(s.Characters, savedCharacter{c.Character, c.items, c.wounds})
	}
	for _, session := range v.sessions {
		s.Sessions = append(s.Sessions, session.Session)
	}
	if v.open != nil {
		s.Open = v.open.ID
	}
	return json.Marshal(&s, json.Deterministic(true))
}

// Restore makes views of what Save wrote. It fails when that cannot be read, or is
// of another campaign.
func Restore(campaign string, data []byte) (*Views, error) {
	var s saved
	if err := json.Unmarshal(data, &s, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("restore the views of campaign %s: %w", campaign, err)
	}
	if s.Campaign.ID != campaign {
		return nil, fmt.Errorf("restore the views of campaign %s: they are of %s", campaign, s.Campaign.ID)
	}
	v := New(campaign)
	v.next, v.clock, v.at = s.Next, s.Clock, s.At
	v.command = command{s.Command.Kind, s.Command.Visibility, s.Command.Roll, s.Command.Clock, s.Command.Character}
	v.campaign, v.participants, v.rolls, v.hidden, v.typedIn = s.Campaign, s.Participants, s.Rolls, s.Hidden, s.TypedIn
	v.table = table{disputes: s.Disputes, overrides: s.Overrides, corrections: s.Corrections}
	v.table.weigh()
	for _, c := range s.Characters {
		v.characters[c.Character.ID] = &character{c.Character, c.Items, c.Wounds}
		v.order = append(v.order, c.Character.ID)
		for i := range c.Items {
			v.share(&c.Items[i].Type, &c.Items[i].Rank, &c.Items[i].WasRank, &c.Items[i].Condition,
				&c.Items[i].Cause, &c.Items[i].Kind, &c.Items[i].Outcome, &c.Items[i].Rule)
		}
	}
	for _, opened := range s.Sessions {
		v.sessions = append(v.sessions, &session{opened})
	}
	if i := slices.IndexFunc(v.sessions, func(o *session) bool { return o.ID == s.Open }); i >= 0 {
		v.open = v.sessions[i]
	}
	for i := range v.rolls {
		r := &v.rolls[i]
		v.share(&r.By, &r.CommandType, &r.Session, &r.Lane, &r.Source, &r.Character)
	}
	return v, nil
}

// share puts the one copy of a word in the place of each.
func (v *Views) share(words ...*string) {
	for _, w := range words {
		*w = v.word(*w)
	}
}
