package events

import "github.com/go-json-experiment/json/jsontext"

// RollSealed is a secret roll: the dice are committed to by the lane, what
// they were thrown for by the seal.
type RollSealed struct {
	Session string `json:"session"`
	Lane    string `json:"lane"`
	I       int    `json:"i"`
	Seal    string `json:"seal"` // HMAC-SHA256 of the payload under the salt, hex
	// Visibility says who may see it before it is opened (see Visibility);
	// missing: who rolled, and the game masters.
	Visibility jsontext.Value `json:"visibility,omitzero"`
}

// RollWidened shows a secret roll to more people, without opening it to all.
type RollWidened struct {
	Sealed     int64          `json:"sealed"` // n of the roll.sealed
	Visibility jsontext.Value `json:"visibility"`
}

// RollOpened shows what was sealed. Payload is the JSON text that roll.made
// would have held.
type RollOpened struct {
	Sealed  int64  `json:"sealed"` // n of the roll.sealed
	Salt    string `json:"salt"`
	Payload string `json:"payload"`
}

// TargetSealed fixes a hidden target before the dice are thrown.
type TargetSealed struct {
	Session string `json:"session"`
	Seal    string `json:"seal"`
}

// TargetOpened shows a hidden target and how the rolls against it came out.
type TargetOpened struct {
	Sealed  int64    `json:"sealed"` // n of the target.sealed
	Salt    string   `json:"salt"`
	Payload string   `json:"payload"`
	Value   int      `json:"value"`
	Rolls   []Judged `json:"rolls"`
}

// Judged is how a roll against a hidden target came out.
type Judged struct {
	Roll    int64  `json:"roll"` // n of the roll.made
	Outcome string `json:"outcome"`
	Margin  int    `json:"margin"`
}

// RollDeclared announces a roll that nobody foresees before the witness has
// answered: not even who commands it and runs the server.
type RollDeclared struct {
	Session string         `json:"session"`
	Lane    string         `json:"lane"`
	I       int            `json:"i"`
	C       string         `json:"c"`
	Witness Ask            `json:"witness"`
	Purpose string         `json:"purpose"`
	Command string         `json:"command"` // type of what was declared
	Data    jsontext.Value `json:"data"`
}

// RollResolved is a declared roll with its dice.
type RollResolved struct {
	Declared int64 `json:"declared"` // n of the roll.declared
	RollMade
}

// RollPassed passes over a witness who did not answer.
type RollPassed struct {
	Declared int64  `json:"declared"`
	Lane     string `json:"lane"`
	M        int    `json:"m"`
	Next     Ask    `json:"next"`
}

// RollVoided takes a declared roll back, and shows what is needed to compute
// what was taken back.
type RollVoided struct {
	Declared int64  `json:"declared"`
	S        string `json:"s"`
	W        string `json:"w"` // "-" when the witness had not answered
	Reason   string `json:"reason"`
}

func (*RollSealed) Type() string   { return "roll.sealed" }
func (*RollWidened) Type() string  { return "roll.widened" }
func (*RollOpened) Type() string   { return "roll.opened" }
func (*TargetSealed) Type() string { return "target.sealed" }
func (*TargetOpened) Type() string { return "target.opened" }
func (*RollDeclared) Type() string { return "roll.declared" }
func (*RollResolved) Type() string { return "roll.resolved" }
func (*RollPassed) Type() string   { return "roll.passed" }
func (*RollVoided) Type() string   { return "roll.voided" }

// fairness reads the events of secret and witnessed rolls.
func fairness() map[string]func() Event {
	return map[string]func() Event{
		"roll.sealed":   func() Event { return new(RollSealed) },
		"roll.widened":  func() Event { return new(RollWidened) },
		"roll.opened":   func() Event { return new(RollOpened) },
		"target.sealed": func() Event { return new(TargetSealed) },
		"target.opened": func() Event { return new(TargetOpened) },
		"roll.declared": func() Event { return new(RollDeclared) },
		"roll.resolved": func() Event { return new(RollResolved) },
		"roll.passed":   func() Event { return new(RollPassed) },
		"roll.voided":   func() Event { return new(RollVoided) },
	}
}
