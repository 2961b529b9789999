package rules

import (
	"errors"
	"fmt"

	"tallystick/events"
)

// Decide decides a command: the facts it makes, or an *Invalid, a *Forbidden,
// a *Rejection, a *PendingError, or an error of the dice's source. The
// campaign stays as it is. The same campaign, command and chains give the same
// facts, always.
func Decide(c *Campaign, cmd Command, chains Chains) ([]events.Fact, error) {
	return decide(c, cmd, chains, nil)
}

func decide(c *Campaign, cmd Command, chains Chains, from Otherwise) ([]events.Fact, error) {
	spec, data, err := c.ready(cmd)
	if err != nil {
		return nil, err
	}
	t := newTurn(c, cmd, chains)
	t.otherwise = from
	t.begin(cmd.By)
	err = spec.decide(t, data)
	drawn := t.scope.stream != nil
	t.end()
	return t.outcome(err, drawn)
}

// May reports whether somebody may give a command: nil, or what Decide would
// refuse it for before it looked at the state of the game.
func (c *Campaign) May(cmd Command) error {
	_, _, err := c.ready(cmd)
	if errors.As(err, new(*PendingError)) {
		return nil
	}
	return err
}

// ready finds a command's type, reads its data and checks that its giver may
// give it now.
func (c *Campaign) ready(cmd Command) (CommandSpec, any, error) {
	spec, err := c.spec(cmd)
	if err != nil {
		return spec, nil, err
	}
	data, err := spec.Parse(cmd.Data)
	if err != nil {
		return spec, nil, err
	}
	if err := c.authorise(spec, cmd, data); err != nil {
		return spec, nil, err
	}
	if c.Pending != nil && spec.Type != resumeType && spec.Type != recoverType {
		return spec, nil, &PendingError{Command: c.Pending.Command}
	}
	return spec, data, nil
}

// outcome is what a turn came to.
func (t *Turn) outcome(err error, drawn bool) ([]events.Fact, error) {
	if t.err != nil {
		err = t.err
	}
	var no *Rejection
	if errors.As(err, &no) && drawn && t.otherwise == nil {
		return nil, fmt.Errorf("rules: %s rejects after a die was drawn: %w", t.cmd.Type, errors.New(err.Error()))
	}
	switch {
	case err != nil:
		return nil, err
	case len(t.hand) > 0 && t.otherwise == nil:
		used := len(t.cmd.Dice.Faces) - len(t.hand)
		return nil, Reject("too_many_dice", "", "dice typed in: %d; the rules ask for %d", len(t.cmd.Dice.Faces), used).On("dice.faces")
	case len(t.facts) == 0:
		return nil, fmt.Errorf("rules: %s made no event", t.cmd.Type)
	}
	return t.facts, nil
}

// spec finds the type of a command.
func (c *Campaign) spec(cmd Command) (CommandSpec, error) {
	if c.Book == nil {
		if cmd.Type == createType {
			return createSpec(), nil
		}
		return CommandSpec{}, errors.New("rules: the campaign has not been created")
	}
	spec, ok := c.Book.specs[cmd.Type]
	if !ok {
		return spec, &Invalid{Field: "type", Reason: fmt.Sprintf("is %q: %s has no such command", cmd.Type, c.Book.Name())}
	}
	return spec, nil
}

// authorise says whether this participant may give this command.
func (c *Campaign) authorise(spec CommandSpec, cmd Command, data any) error {
	if spec.Who == Program {
		if cmd.By != SystemPrincipal && c.Book != nil {
			return &Forbidden{Reason: spec.Type + " is given by the program alone"}
		}
		return nil
	}
	p, ok := c.Participant(cmd.By)
	switch {
	case !ok:
		return &Forbidden{Reason: cmd.By + " does not take part in this campaign"}
	case p.Role == RoleGM, spec.Who == Table:
		return nil
	case spec.Who == GMOnly:
		return &Forbidden{Reason: spec.Type + " is for the game master"}
	case p.Role != RolePlayer:
		return &Forbidden{Reason: "a " + p.Role + " gives no commands"}
	}
	if spec.Who != OwnCharacters {
		return nil
	}
	acting, ok := data.(Acting)
	if !ok {
		return &Forbidden{Reason: spec.Type + " does not say who acts, and is for the game master"}
	}
	for _, id := range acting.Actors() {
		if ch, known := c.Character(id); known && ch.Owner != p.Handle {
			return &Forbidden{Reason: ch.Name + " is not a character of " + p.Handle}
		}
	}
	return nil
}
