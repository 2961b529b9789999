// Package systems lists the rule systems on board. A new system, or a new
// edition of one, is one new folder and one line here.
package systems

import (
	"tallystick/rules"
	"tallystick/rules/fudge"
	"tallystick/rules/perp"
	"tallystick/rules/rpgamix"
)

// Library is every system on board.
func Library() rules.Library { return library }

var library = rules.Library{
	rules.NewBook(perp.New()),
	rules.NewBook(rpgamix.New()),
	rules.NewBook(fudge.New()),
}
