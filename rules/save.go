package rules

import (
	"cmp"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
)

// SaveFormat is the format of what Save writes. It is raised with every change
// to what a campaign remembers, or to how facts change it.
const SaveFormat = 2

// saved is all that a campaign remembers.
type saved struct {
	Created      events.CampaignCreated
	Keys         LogKeys
	VKeys        []string
	Setting      jsontext.Value `json:",omitzero"`
	Clock, Next  int64
	LastAt       string
	Session      *Session
	Pending      *Pending
	Tempo        *Tempo
	Links        []Link
	Participants []Participant
	Characters   []savedCharacter
	Commands     savedCommands
	Sealed       []savedSeal
	Disputes     []Dispute
	Corrections  []Correction
}

type savedCharacter struct {
	Character
	Body jsontext.Value // in place of the one above
}

type savedSeal struct {
	Sealed
	Shown jsontext.Value `json:",omitzero"` // in place of the one above; none for what is not a roll
}

// Save writes the campaign as it stands, for Restore. It is no part of the
// ledger: whoever keeps it must be able to do without.
func (c *Campaign) Save() ([]byte, error) {
	s := saved{
		Created: c.Created, Keys: c.Keys, VKeys: c.VKeys, Clock: c.Clock, Next: c.Next, LastAt: c.LastAt,
		Session: c.Session, Pending: c.Pending, Tempo: c.Tempo, Corrections: c.corrections,
		Participants: inOrder(c.participants), Disputes: inOrder(c.disputes), Links: inOrder(c.links),
		Commands: c.known.save(),
	}
	var err error
	if c.Options.Setting != nil {
		if s.Setting, err = Canonical(c.Options.Setting); err != nil {
			return nil, err
		}
	}
	for _, id := range c.order {
		ch := *c.characters[id]
		body, err := Canonical(ch.Body)
		if err != nil {
			return nil, err
		}
		ch.Body = nil
		s.Characters = append(s.Characters, savedCharacter{ch, body})
	}
	for _, seal := range inOrder(c.sealed) {
		kept := savedSeal{Sealed: seal}
		if !seal.Target && !seal.Ruling {
			kept.Shown = seal.Shown.JSON()
		}
		s.Sealed = append(s.Sealed, kept)
	}
	return json.Marshal(&s, json.Deterministic(true))
}

func inOrder[K cmp.Ordered, V any](m map[K]V) []V {
	out := make([]V, 0, len(m))
	for _, k := range sortedKeys(m) {
		out = append(out, m[k])
	}
	return out
}

// Restore makes a campaign of what Save wrote. It fails when that is not
// readable, or of rules that are not in the library.
func Restore(id string, library Library, data []byte) (*Campaign, error) {
	var s saved
	if err := json.Unmarshal(data, &s, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("restore campaign %s: %w", id, err)
	}
	book, err := library.Find(s.Created.System, s.Created.Edition)
	if err != nil {
		return nil, err
	}
	c := NewCampaign(id, library)
	c.Created, c.Book, c.Options = s.Created, book, Options{values: s.Created.Options, Setting: book.Setting()}
	if c.Options.Setting != nil {
		if err := json.Unmarshal(s.Setting, c.Options.Setting, json.RejectUnknownMembers(true)); err != nil {
			return nil, fmt.Errorf("restore campaign %s: setting: %w", id, err)
		}
	}
	c.Keys, c.VKeys, c.Clock, c.Next, c.LastAt = s.Keys, s.VKeys, s.Clock, s.Next, s.LastAt
	c.Session, c.Pending, c.Tempo, c.corrections = s.Session, s.Pending, s.Tempo, s.Corrections
	for _, p := range s.Participants {
		c.participants[p.Handle] = p
	}
	for _, l := range s.Links {
		if c.links == nil {
			c.links = map[string]Link{}
		}
		c.links[l.ID] = l
	}
	for _, d := range s.Disputes {
		c.disputes[d.ID] = d
	}
	for _, kept := range s.Characters {
		ch := kept.Character
		ch.Body = book.NewBody()
		if err := json.Unmarshal(kept.Body, ch.Body, json.RejectUnknownMembers(true)); err != nil {
			return nil, fmt.Errorf("restore campaign %s: %s: %w", id, ch.Name, err)
		}
		c.characters[ch.ID], c.order = &ch, append(c.order, ch.ID)
	}
	oneCopy := func(handle string) string {
		if p, ok := c.participants[handle]; ok {
			return p.Handle
		}
		return handle
	}
	if c.known, err = s.Commands.restore(oneCopy, c.typeName); err != nil {
		return nil, fmt.Errorf("restore campaign %s: %w", id, err)
	}
	for _, kept := range s.Sealed {
		seal := kept.Sealed
		if kept.Shown != nil {
			if seal.Shown, err = events.ParseVisibility(kept.Shown); err != nil {
				return nil, fmt.Errorf("restore campaign %s: seal %d: %w", id, seal.N, err)
			}
		}
		c.sealed[seal.N] = seal
	}
	return c, nil
}
