package rules

import (
	"fmt"
	"maps"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
)

// SourceWhatIf marks dice of a decision that is never stored.
const SourceWhatIf = "what-if"

// Otherwise gives the dice of a decision that is never stored.
type Otherwise interface {
	// Dice gives those of roll i of a lane.
	Dice(session string, lane Lane, i int) Taken
}

// Taken is the dice of one roll and where they come from. None of it may be a
// link that nobody has seen yet.
type Taken struct {
	Faces   []int // shown first, before the stream begins
	Stream  interface{ Die(sides uint32) uint32 }
	Source  string // SourceLedger for the dice that the ledger holds, else SourceWhatIf
	S, C, W string // of the ledger's
}

// DecideOtherwise is Decide with dice from elsewhere, for a decision that is
// never stored. Dice typed in with the command come first; when the rules ask
// for more, the others follow, and faces left over do not matter. The devices
// of the table are asked nothing.
func DecideOtherwise(c *Campaign, cmd Command, chains Chains, from Otherwise) ([]events.Fact, error) {
	return decide(c, cmd, chains, from)
}

// Fork is the campaign as it stands, to go on with in another way: what happens
// to one is not seen in the other.
func (c *Campaign) Fork() *Campaign {
	f := c.Snapshot()
	f.known = c.known.clone()
	return f
}

// Under is the campaign as it stands under another edition of its system, 0
// for its own, and with some options changed. What the edition cannot read of
// a character or of the setting is an *Invalid; an edition that is not on
// board is a *MissingEdition. The campaign itself stays as it is.
func (c *Campaign) Under(edition int, options map[string]jsontext.Value) (*Campaign, error) {
	u := c.Fork()
	if edition != 0 && edition != c.Book.Edition() {
		if err := u.convert(edition); err != nil {
			return nil, err
		}
	}
	asked := map[string]jsontext.Value{}
	for _, o := range u.Book.Describe().Options {
		if v, ok := c.Options.values[o.Name]; ok {
			text, err := json.Marshal(v)
			if err != nil {
				return nil, err
			}
			asked[o.Name] = text
		}
	}
	maps.Copy(asked, options)
	resolved, err := Resolve(u.Book, asked)
	if err != nil {
		return nil, err
	}
	resolved.Setting = u.Options.Setting
	u.Options = resolved
	u.Created.Options, u.Created.Edition = resolved.Values(), u.Book.Edition()
	return u, nil
}

// Redeclare puts another command in the place of the one that was declared and
// waits for its witness, on a campaign that is never stored.
func (c *Campaign) Redeclare(typ string, data jsontext.Value) {
	if c.Session == nil || c.Session.Declared == nil {
		return
	}
	s, d := *c.Session, *c.Session.Declared
	d.Command, d.Data = typ, data
	s.Declared = &d
	c.Session = &s
}

// CommandOf is the command that a record is of; false when there is none that
// somebody gave.
func (c *Campaign) CommandOf(n int64) (id string, ok bool) {
	for id, k := range c.known.each() {
		if k.First <= n && n <= k.Last && k.Type != resumeType {
			return id, true
		}
	}
	return "", false
}

// convert reads characters and setting in the terms of another edition.
func (c *Campaign) convert(edition int) error {
	book, err := c.library.Find(c.Book.Name(), edition)
	if err != nil {
		return err
	}
	for _, id := range c.order {
		ch := *c.characters[id]
		body, err := rebody(book, ch.Body)
		if err != nil {
			return &Invalid{Field: "edition", Reason: fmt.Sprintf("is %d: it cannot read %s, who was made under edition %d: %v", edition, ch.Name, c.Book.Edition(), err)}
		}
		ch.Body = body
		c.characters[id] = &ch
	}
	setting := book.Setting()
	if setting != nil && c.Options.Setting != nil {
		raw, err := Canonical(c.Options.Setting)
		if err != nil {
			return err
		}
		if err := Unmarshal(raw, setting); err != nil {
			return within("edition", err)
		}
	}
	c.Book, c.Options.Setting = book, setting
	return nil
}

// rebody makes a body of a book out of one of another edition.
func rebody(book *Book, old Body) (Body, error) {
	raw, err := json.Marshal(old, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	body := book.NewBody()
	if err := json.Unmarshal(raw, body, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	if reflect.TypeOf(old).Kind() != reflect.Pointer { // a system whose bodies are values
		return reflect.ValueOf(body).Elem().Interface(), nil
	}
	return body, nil
}
