package projections

import (
	"tallystick/events"

	"github.com/go-json-experiment/json/jsontext"
)

// Character is the view of one character: who it is and how it stands.
type Character struct {
	ID         string             `json:"id"`
	Name       string             `json:"name"`
	Kind       string             `json:"kind" enum:"pc,npc"`
	Owner      string             `json:"owner,omitzero" doc:"handle of the player whose character it is"`
	System     string             `json:"system" doc:"rule system"`
	Sheet      jsontext.Value     `json:"sheet" doc:"in the terms of the rules"`
	Alive      bool               `json:"alive"`
	Retired    bool               `json:"retired" doc:"taken out of play"`
	Conditions []events.Condition `json:"conditions"`
	Health     events.Health      `json:"health"`
	NextTick   *events.NextTick   `json:"next_tick,omitzero" doc:"the next check of deterioration or healing"`
	State      jsontext.Value     `json:"state,omitzero" doc:"what else a player has to know, in the terms of the rules: pools, armour worn now, damage to share out and the like; left out when there is nothing to say"`
	AsOf       int64              `json:"as_of" doc:"the last record in this view"`
}

// character is a character with its history.
type character struct {
	Character
	items  []TimelineItem
	wounds []Wound
}

// Characters returns all characters in the order of their creation, also the
// dead and the retired.
func (v *Views) Characters() []Character {
	all := make([]Character, 0, len(v.order))
	for _, id := range v.order {
		c, _ := v.Character(id)
		all = append(all, c)
	}
	return all
}

// Character returns one character, and false when there is none of that id.
func (v *Views) Character(id string) (Character, bool) {
	c := v.characters[id]
	if c == nil {
		return Character{}, false
	}
	view := c.Character
	view.AsOf = v.next - 1
	return view, true
}

// happened folds an event about a character, if it is about one.
func (v *Views) happened(rec events.Record, e events.CharacterEvent) {
	id := e.Of().Character
	if e, ok := e.(*events.CharacterCreated); ok {
		id = v.word(id)
		v.order = append(v.order, id)
		v.characters[id] = &character{Character: Character{
			ID: id, Name: e.Name, Kind: e.Kind, Owner: e.Owner, System: v.campaign.System, Sheet: e.Sheet,
		}}
	}
	c := v.characters[id]
	if c == nil {
		return // an event of a rule system about nobody
	}
	v.chronicle(c, rec, e)
	switch e := e.(type) {
	case *events.CharacterAmended:
		c.Sheet = e.Sheet
	case *events.CharacterRetired:
		c.Retired = true
	case *events.CharacterRestored:
		c.Retired = e.Retired
		if e.Sheet != nil {
			c.Sheet = e.Sheet
		}
	}
	if after := e.Of().After; after != nil {
		c.stand(*after, v.word)
	}
}

// stand copies how the character stands after an event. The values are taken
// over as they are and never changed, so that views given away stay right.
func (c *character) stand(after events.Vitals, word func(string) string) {
	c.Alive, c.Health, c.Conditions, c.NextTick, c.State = after.Alive, after.Health, after.Conditions, after.NextTick, after.State
	c.Health.Rank = word(c.Health.Rank)
	if c.Conditions == nil {
		c.Conditions = []events.Condition{}
	}
}
