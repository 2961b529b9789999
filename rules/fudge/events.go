package fudge

import "tallystick/events"

// RollSkipped is an action that needed no roll (FUDGE-4, FUDGE-6).
type RollSkipped struct {
	events.Subject
	Trait      string `json:"trait"`
	Difficulty string `json:"difficulty"` // level of the task
	Outcome    string `json:"outcome"`    // success or failure
	Rule       string `json:"rule"`
}

// RemainderKept is what a character carries in fractions of a hit point,
// beside the whole points of wounds (FUDGE-63).
type RemainderKept struct {
	events.Subject
	Remainder string `json:"remainder"` // less than one: 4/5, or 0
}

// HealingAssured says which wounds will heal after care, given time
// (FUDGE-57).
type HealingAssured struct {
	events.Subject
	Wounds []int `json:"wounds"`           // their ordinals
	AtOnce bool  `json:"at_once,omitzero"` // they healed with it
}

// Strained is an effort that breaks rest and may reopen treated wounds
// (FUDGE-56, FUDGE-57).
type Strained struct {
	events.Subject
	Cause   string `json:"cause"`
	Reopens bool   `json:"reopens,omitzero"`
}

// Tired is fatigue in face-up cards (FUDGE-41).
type Tired struct {
	events.Subject
	Cards int    `json:"cards"`
	Cause string `json:"cause"`
}

// Rested is fatigue gone by rest.
type Rested struct {
	events.Subject
	Cards int `json:"cards"`
}

// Type is the event's name in the ledger.
func (*RollSkipped) Type() string { return "fudge.roll.skipped" }

// Type is the event's name in the ledger.
func (*RemainderKept) Type() string { return "fudge.remainder.kept" }

// Type is the event's name in the ledger.
func (*HealingAssured) Type() string { return "fudge.healing.assured" }

// Type is the event's name in the ledger.
func (*Strained) Type() string { return "fudge.strained" }

// Type is the event's name in the ledger.
func (*Tired) Type() string { return "fudge.tired" }

// Type is the event's name in the ledger.
func (*Rested) Type() string { return "fudge.rested" }
