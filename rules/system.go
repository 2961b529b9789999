// Package rules decides commands and evolves state: Decide turns a campaign's
// state and a command into facts or a rejection, Evolve turns state and facts
// into the next state. What all rule systems share lives here (sessions, seats
// and lanes of dice, the clock and its ticks, participants, characters); what
// a rule book says lives in one folder below, behind the interface System.
//
// The package is pure: it reads no clock, no random source, no file and no
// network; dice come from a Chains given by the caller.
package rules

import (
	"tallystick/events"
)

// A Body is what a system knows of one character. It is immutable: Evolve
// returns another one. It marshals to JSON and back through System.NewBody,
// and what it is read back into can stand in its place.
type Body any

// System is the whole face of a rule set.
type System interface {
	// Name is the system's name in commands and records, such as "rpgamix".
	Name() string
	// Edition is the version of the rules. A campaign keeps the edition it
	// opened with; a rule that changes makes a new edition.
	Edition() int
	// Describe says what the system is, for people and for forms.
	Describe() Description
	// Sheet is a pointer to a zero sheet: its type gives the schema.
	Sheet() any
	// Example is a pointer to a sheet that free creation accepts, for forms,
	// documents and tests. Every call makes another one.
	Example() any
	// Setting is a pointer to what a campaign may define itself (weapons,
	// armour, disciplines, a list of skills …) with nothing defined; its type
	// gives the schema. It is nil for a system without such data. What a
	// campaign has defined is in Options.Setting.
	Setting() any
	// CheckSetting judges what a campaign wants to define: an *Invalid or a
	// *Rejection, or nil.
	CheckSetting(setting any) error
	// Commands are the commands the system decides: check, contest, attack,
	// wound.inflict, wound.treat, heal.grant, and its own <name>.<verb>.
	Commands() []CommandSpec
	// Events are its own event types beside the shared ones.
	Events() map[string]func() events.Event

	// NewBody is a pointer to a zero body, to unmarshal into.
	NewBody() Body
	// Create judges a sheet and makes a healthy character of it. It returns
	// the sheet as it is to be recorded (complete, defaults filled in) and
	// warnings for what the book frowns upon without forbidding. With book the
	// budgets of the rules are checked and every objection is named; without,
	// only what no character may be is refused.
	Create(o Options, sheet any, book bool, clock int64) (Body, []string, error)
	// Amend puts another sheet on a living body; wounds and points lost stay.
	Amend(o Options, b Body, sheet any, clock int64) (Body, []string, error)
	// Evolve applies a fact about the character. Facts it does not know leave
	// the body as it is. It never fails and never draws.
	Evolve(o Options, b Body, clock int64, e events.Event) Body
	// Vitals is how the body stands at a game time.
	Vitals(o Options, b Body, clock int64) events.Vitals
	// NextTick is the next check that falls due by the passing of time; the
	// kind is in the words of the rules. ok is false when time changes nothing.
	NextTick(o Options, b Body) (tick Tick, ok bool)
	// DecideTick decides a due tick: it draws from t and emits. It must emit
	// at least one event that moves the body's next tick on.
	DecideTick(t *Turn, c *Character, tick Tick)
	// Treatment is the data of a wound.treat command for a character by a
	// capable hand at the table who is not named: what a prognosis of the
	// treated casualty begins with.
	Treatment(o Options, c *Character) any
}

// A Tick is a due check of deterioration or healing, or the end of a
// condition.
type Tick struct {
	Due     int64  // game seconds
	Ordinal int    // of the wound or timer: ticks of one character at one instant go by it
	Kind    string // in the words of the rules
}

// Description is what a system says about itself.
type Description struct {
	Title   string   `json:"title"`
	Summary string   `json:"summary"`
	Credit  string   `json:"credit"` // book, author, year
	Ranks   []string `json:"ranks"`  // health ranks from best to worst
	Options []Option `json:"options"`
	Rules   []Rule   `json:"rules"`
}

// Rule is one rule of the book, in our words.
type Rule struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// Option is a ruling on an ambiguous passage, or a campaign's choice. The
// first value is the default.
type Option struct {
	Name    string   `json:"name"`            // rpgamix.stun_tie
	Rule    string   `json:"rule"`            // RPGX-26
	Values  []string `json:"values,omitzero"` // what it may be; empty: a whole number
	Min     int      `json:"min,omitzero"`    // for whole numbers
	Max     int      `json:"max,omitzero"`
	Default string   `json:"default"`
	Doc     string   `json:"doc"` // what the passage leaves open and what each value means
}
