package rules

import (
	"maps"

	"tallystick/events"
)

const (
	// LinkMakeType makes a link that rolls once.
	LinkMakeType = "link.make"
	// LinkRollType makes the roll of a link.
	LinkRollType = "link.roll"
)

// MaxLinks is how many unused links a participant may have: a link cannot be
// taken back, so they are used up before there are more.
const MaxLinks = 100

// A Link is a roll that was promised and not made yet. Values of it are never
// changed.
type Link struct {
	ID   string // of the command that made it
	By   string // handle of who made it, on whose lane it rolls
	Roll Roll
}

// Link finds one that was not used yet.
func (c *Campaign) Link(id string) (Link, bool) {
	l, ok := c.links[id]
	return l, ok
}

func (c *Campaign) linked(by string, e *events.LinkMade) {
	c.links = maps.Clone(c.links)
	if c.links == nil {
		c.links = map[string]Link{}
	}
	c.links[e.Link] = Link{ID: e.Link, By: by, Roll: Roll{Expression: e.Expression, Purpose: e.Purpose, Character: e.Character}}
}

func (c *Campaign) unlinked(id string) {
	c.links = maps.Clone(c.links)
	delete(c.links, id)
}

// LinkMake is the data of link.make: what is going to be rolled.
type LinkMake struct {
	Expression string `json:"expression" minLength:"1" maxLength:"512" doc:"dice in free notation, such as 3d6kh2+1"`
	Purpose    string `json:"purpose,omitzero" maxLength:"200"`
	Character  string `json:"character,omitzero"`
}

// Actors names who acts.
func (d *LinkMake) Actors() []string { return actors(d.Character) }

func makeLink(t *Turn, d *LinkMake) error {
	own := 0
	for _, l := range t.c.links {
		if l.By == t.cmd.By {
			own++
		}
	}
	if own >= MaxLinks {
		return Reject("too_many_links", "", "%s has %d links that were not used: use them first", t.cmd.By, own)
	}
	asked := Roll(*d)
	trial := newTurn(t.c, t.cmd, t.chains)
	trial.oracle = func(int) int { return 1 } // to hear what roll has against it
	trial.begin(t.cmd.By)
	if err := roll(trial, &asked); err != nil {
		return err
	}
	t.Emit(&events.LinkMade{Link: t.cmd.ID, Expression: d.Expression, Purpose: d.Purpose, Character: d.Character})
	return t.err
}

// LinkRoll is the data of link.roll.
type LinkRoll struct {
	Link string `json:"link" maxLength:"64" doc:"id of the link"`
}

// rollLink makes the roll of a link on the lane of who made it. That it is made
// once follows from the campaign: a link that rolled is no link any more.
func rollLink(t *Turn, d *LinkRoll) error {
	l, ok := t.c.Link(d.Link)
	switch {
	case !ok:
		return Reject("link_not_open", "", "there is no link %q that waits for its roll: it was never made, or has rolled", d.Link).On("link")
	case l.By != t.cmd.By:
		return &Forbidden{Reason: "the link rolls in the name of " + l.By + ", who made it"}
	case t.cmd.Dice != nil:
		return Reject("link_by_hand", "", "a link rolls the ledger's dice: none can be typed in").On("dice")
	}
	if err := roll(t, &l.Roll); err != nil {
		return err
	}
	t.end()
	t.Emit(&events.LinkRolled{Link: l.ID, Roll: t.c.Next + int64(len(t.facts)) - 1})
	return t.err
}
