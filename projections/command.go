package projections

import (
	"tallystick/events"

	"github.com/go-json-experiment/json/jsontext"
)

// command is what views remember of the command whose records they read: only
// the first of them carries it.
type command struct {
	kind       string
	visibility jsontext.Value

	roll      int64  // the last roll of the command; 0 for none, as record 0 is no roll
	clock     int64  // at which it was made
	character string // the only one it is for, when a check that fell due took it
}

// follow begins a new command at the first record of a commit.
func (c *command) follow(rec events.Record, word func(string) string) {
	if rec.Cmd.Type != "" {
		*c = command{kind: word(rec.Cmd.Type), visibility: rec.Cmd.Visibility}
	}
}

// rolled remembers a roll for the events that follow from it.
func (c *command) rolled(rec events.Record) {
	c.roll, c.clock, c.character = rec.N, rec.Clock, ""
}

// rollFor returns the roll from which an event follows, 0 for none. A roll
// stands before what follows from it. One command may hold many checks that fell
// due, each with a roll of its own or none.
func (c *command) rollFor(e events.CharacterEvent, rec events.Record) int64 {
	who := e.Of().Character
	tick, due := e.(*events.TickProcessed)
	if due && !tick.Rolled {
		c.roll = 0
	}
	if c.roll == 0 || rec.Clock != c.clock || c.character != "" && c.character != who {
		return 0
	}
	if due {
		c.character = who
	}
	return c.roll
}
