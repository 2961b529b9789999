package rules

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
)

// Dice gives the dice of one roll, one after the other.
type Dice interface {
	// Die takes a die of so many sides. An error says that the roll had no such
	// die.
	Die(sides int) (face int, err error)
}

// Recorded gives the dice of one command that is decided again, and the
// ordinals of its wounds. Dice are told by what they were thrown for: lanes do not matter, because other rolls than the
// recorded ones may be due.
type Recorded interface {
	// Own are the dice of the command itself.
	Own() Dice
	// Tick are those of a check that falls due while it lets time pass.
	Tick(character string, tick Tick) Dice
	// Wound is the ordinal of the next wound that the command inflicts on a
	// character: the recorded one. One that no record has gets a negative
	// ordinal, which is never given to another.
	Wound(character string) int
}

// Fated is a System in which death or a condition follows from how badly hurt
// somebody is, without a die, and is kept in the body by facts of its own. It
// is asked when a recorded wound stands though the rules would come to another
// outcome: what followed from the wound is then found by how the body stands.
type Fated interface {
	// Fate are the facts that bring a body in line with its wounds; none when
	// it is.
	Fate(o Options, c *Character, clock int64) []events.CharacterEvent
}

// An Alternative is a campaign as it would stand had some of its commands not
// been given. It throws no die of a lane and never enters the ledger.
type Alternative struct {
	c      *Campaign
	sheets map[string]jsontext.Value // newest one of every character
}

// Alternative is a campaign before its first record, to be told another story.
func (c *Campaign) Alternative() *Alternative {
	return &Alternative{NewCampaign(c.ID, c.library), map[string]jsontext.Value{}}
}

// Campaign is the alternative as it stands.
func (a *Alternative) Campaign() *Campaign { return a.c }

// Sheet is the newest sheet of a character.
func (a *Alternative) Sheet(character string) jsontext.Value { return a.sheets[character] }

func (a *Alternative) fold(clock int64, e events.Event) error {
	err := a.c.apply(clock, e)
	if err == nil {
		a.note(e)
	}
	return err
}

func (a *Alternative) note(e events.Event) {
	switch e := e.(type) {
	case *events.CharacterCreated:
		a.sheets[e.Character] = e.Sheet
	case *events.CharacterAmended:
		a.sheets[e.Character] = e.Sheet
	}
}

// Apply folds a fact as it was recorded, at a game time. Facts about dice and
// about the ledger itself are stepped over, and so are facts about characters
// that are not there.
func (a *Alternative) Apply(n, clock int64, e events.Event) error {
	a.c.Next = n
	switch e := e.(type) {
	case *events.CampaignCreated, *events.SettingDefined, *events.ParticipantJoined, *events.ParticipantLeft,
		*events.SessionOpened, *events.SessionClosed, *events.TargetSealed, *events.TargetOpened, *events.ClockAdvanced:
	case events.CharacterEvent:
		_, there := a.c.Character(e.Of().Character)
		if _, created := e.(*events.CharacterCreated); !there && !created {
			return nil
		}
	default:
		return nil
	}
	return a.fold(clock, e)
}

// Clock is the game time of the alternative.
func (a *Alternative) Clock() int64 { return a.c.Clock }

// Decide decides a command that stood at record n again. What it throws is
// among the facts, without a lane. They take effect when adopt is called.
func (a *Alternative) Decide(n int64, cmd Command, dice Recorded) (facts []events.Fact, adopt func(), err error) {
	a.c.Next = n
	cmd.Dice, cmd.Seat = nil, nil
	spec, data, err := a.c.ready(cmd)
	if err != nil {
		return nil, nil, err
	}
	t := newTurn(a.c, cmd, nil)
	t.again = dice
	t.begin(cmd.By)
	t.scope.given = dice.Own()
	err = spec.decide(t, data)
	t.end()
	if t.err != nil {
		err = t.err
	}
	if err != nil {
		return nil, nil, err
	}
	return t.facts, func() {
		maps.Copy(a.c.characters, t.c.changed())
		a.c.order, a.c.Clock = t.c.order, t.c.Clock
		for _, f := range t.facts {
			a.note(f.Event)
		}
	}, nil
}

// Stand folds a fact of a command whose recorded outcome is to stand, although
// the rules would come to another here. Death and conditions do not stand by
// themselves: they follow from how the character is then. Nothing happens to
// the dead, and nothing brings them back.
func (a *Alternative) Stand(n int64, e events.CharacterEvent) error {
	if _, retired := e.(*events.CharacterRetired); !retired && !a.Alive(e.Of().Character) {
		return nil
	}
	switch e := e.(type) {
	case *events.CharacterDied, *events.ConditionGained, *events.ConditionEnded, *events.TickProcessed, *events.CharacterRestored:
		return nil
	case *events.HealGranted:
		ch, _ := a.c.Character(e.Character)
		h := a.c.Vitals(ch).Health
		room := max(0, h.Max-h.Points)
		if room < e.Points {
			less := *e
			less.Points = room
			return a.stand(n, &less)
		}
	case *events.CharacterAmended:
		if err := a.stand(n, e); err != nil {
			return nil // the sheet does not fit this body: it keeps the one it has
		}
		return nil
	}
	return a.stand(n, e)
}

func (a *Alternative) stand(n int64, e events.CharacterEvent) error {
	if err := a.Apply(n, a.c.Clock, e); err != nil {
		return err
	}
	ch, there := a.c.Character(e.Of().Character)
	fated, ok := a.c.Book.System.(Fated)
	if !there || !ok {
		return nil
	}
	for _, f := range fated.Fate(a.c.Options, ch, a.c.Clock) {
		if err := a.Apply(n, a.c.Clock, f); err != nil {
			return err
		}
	}
	return nil
}

// Has reports whether a character of the alternative has a condition.
func (a *Alternative) Has(character, condition string) bool {
	ch, there := a.c.Character(character)
	return there && slices.ContainsFunc(a.c.Vitals(ch).Conditions, func(c events.Condition) bool { return c.Name == condition })
}

// Alive reports whether a character of the alternative is there and lives.
func (a *Alternative) Alive(character string) bool {
	return a.c.Alive(character)
}
