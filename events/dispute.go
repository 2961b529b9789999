package events

import "github.com/go-json-experiment/json/jsontext"

// Policy is what a campaign has fixed, when it was created, about the game
// master's own word. Without one overrides are shown.
type Policy struct {
	Overrides string `json:"overrides" enum:"none,shown,shown_later" doc:"what the game master's rulings on a roll are: none, there are none; shown, everybody sees them at once; shown_later, they are sealed at once and opened when the session closes"`
}

// DisputeOpened puts a record into question. The evidence is frozen with it.
type DisputeOpened struct {
	Dispute  string   `json:"dispute"` // id of the command that opened it
	Roll     int64    `json:"roll"`    // n of the record that is meant
	Question string   `json:"question"`
	Evidence Evidence `json:"evidence"`
}

// Evidence says which ledger a dispute was opened on: whoever has these lines
// notices when the record or anything before the dispute is another one.
type Evidence struct {
	Size int64  `json:"size" doc:"records before the dispute"`
	Root string `json:"root" doc:"root of the tree over them, 64 hex digits"`
	Leaf string `json:"leaf" doc:"hash of the disputed record in it, 64 hex digits"`
}

// DisputeRuled is the game master's ruling on a dispute. It stands beside the
// dispute and beside every other ruling on it, for ever.
type DisputeRuled struct {
	Dispute     string   `json:"dispute"`
	Ruling      string   `json:"ruling"` // upheld, overturned or void
	Reason      string   `json:"reason"`
	Corrections []string `json:"corrections,omitzero"` // ids of correction.make commands
}

// RulingMade is the game master's own word on a roll. The dice stay what they
// are.
type RulingMade struct {
	Roll    int64  `json:"roll"`    // n of the record that is meant
	Outcome string `json:"outcome"` // what counts instead, in words
	Reason  string `json:"reason"`
}

// RulingSealed is a ruling that is shown later. It is counted at once.
type RulingSealed struct {
	Session string `json:"session,omitzero"`
	Seal    string `json:"seal"` // HMAC-SHA256 of the payload under the salt, hex
}

// RulingOpened shows a ruling that was sealed. Payload is the JSON text that
// was sealed.
type RulingOpened struct {
	Sealed  int64  `json:"sealed"` // n of the ruling.sealed
	Salt    string `json:"salt"`
	Payload string `json:"payload"`
	RulingMade
}

// Span is a run of records, both ends included.
type Span struct {
	First int64 `json:"first"`
	Last  int64 `json:"last"`
}

// CorrectionMade takes a command back, and everything that followed from it
// alone. The events behind it in the same commit put the characters into the
// state in which they would be had it never been given. The clock of the
// record is where game time stands now, which may be earlier than before.
type CorrectionMade struct {
	Command string `json:"command"` // that is taken back; one that was a correction itself takes effect again
	Records Span   `json:"records"` // of that command
	Reason  string `json:"reason"`
	From    int64  `json:"from"` // game time before; the record's clock is game time after
	// Questioned are rolls, or records of commands without a roll, that were
	// made under a penalty or a target that stands no longer. They keep their
	// recorded outcome: the game master is to look at them.
	Questioned []int64 `json:"questioned"`
	// Undone are records of other commands that followed only from what is
	// taken back: checks that fell due, deaths, conditions. Again are such
	// records of earlier corrections that hold again.
	Undone []Span `json:"undone"`
	Again  []Span `json:"again,omitzero"`
}

// CorrectionContinued goes on with the lists of a correction.
type CorrectionContinued struct {
	Command    string  `json:"command"`
	Questioned []int64 `json:"questioned,omitzero"`
	Undone     []Span  `json:"undone,omitzero"`
	Again      []Span  `json:"again,omitzero"`
}

// CharacterRestored puts a character into the state that a correction leaves.
type CharacterRestored struct {
	Subject
	Body    jsontext.Value `json:"body"`           // in the terms of the rules
	Sheet   jsontext.Value `json:"sheet,omitzero"` // when it is another than before
	Retired bool           `json:"retired,omitzero"`
	Why     string         `json:"why"`
}

func (*DisputeOpened) Type() string       { return "dispute.opened" }
func (*DisputeRuled) Type() string        { return "dispute.ruled" }
func (*RulingMade) Type() string          { return "ruling.made" }
func (*RulingSealed) Type() string        { return "ruling.sealed" }
func (*RulingOpened) Type() string        { return "ruling.opened" }
func (*CorrectionMade) Type() string      { return "correction.made" }
func (*CorrectionContinued) Type() string { return "correction.continued" }
func (*CharacterRestored) Type() string   { return "character.restored" }

// disputes reads the events by which a table judges what happened.
func disputes() map[string]func() Event {
	return map[string]func() Event{
		"dispute.opened":       func() Event { return new(DisputeOpened) },
		"dispute.ruled":        func() Event { return new(DisputeRuled) },
		"ruling.made":          func() Event { return new(RulingMade) },
		"ruling.sealed":        func() Event { return new(RulingSealed) },
		"ruling.opened":        func() Event { return new(RulingOpened) },
		"correction.made":      func() Event { return new(CorrectionMade) },
		"correction.continued": func() Event { return new(CorrectionContinued) },
		"character.restored":   func() Event { return new(CharacterRestored) },
	}
}
