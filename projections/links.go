package projections

import (
	"errors"
	"slices"

	"tallystick/events"
)

// Link is a roll that was promised: whoever has its address makes it, once.
type Link struct {
	ID         string  `json:"id"`
	By         string  `json:"by" doc:"handle of who made it, and in whose name it rolls"`
	Expression string  `json:"expression"`
	Purpose    string  `json:"purpose,omitzero"`
	Character  string  `json:"character,omitzero"`
	Made       Moment  `json:"made"`
	Rolled     *Moment `json:"rolled,omitzero" doc:"when it was used; missing while it waits"`
	Roll       int64   `json:"roll,omitzero" doc:"n of the roll.made"`
}

// Links are all links of the campaign, in the order they were made.
func (v *Views) Links() []Link { return v.links }

// Link finds one by id.
func (v *Views) Link(id string) (Link, bool) {
	i := v.linkAt(id)
	if i < 0 {
		return Link{}, false
	}
	return v.links[i], true
}

func (v *Views) linkAt(id string) int {
	return slices.IndexFunc(v.links, func(l Link) bool { return l.ID == id })
}

func (v *Views) linked(rec events.Record, e *events.LinkMade) {
	v.links = append(v.links, Link{
		ID: e.Link, By: v.word(rec.By), Expression: e.Expression, Purpose: e.Purpose, Character: e.Character, Made: v.moment(rec),
	})
}

// waits reports what is wrong with the use of a link.
func (v *Views) waits(e *events.LinkRolled) error {
	i := v.linkAt(e.Link)
	if i < 0 || v.links[i].Rolled != nil {
		return errors.New("there is no link that waits for this roll")
	}
	return nil
}

func (v *Views) used(rec events.Record, e *events.LinkRolled) {
	at := v.moment(rec)
	v.links = slices.Clone(v.links) // what was given away does not change
	l := &v.links[v.linkAt(e.Link)]
	l.Rolled, l.Roll = &at, e.Roll
}
