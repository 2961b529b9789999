// Package events defines the facts a campaign is made of, and the bytes in
// which they are stored.
//
// An event carries its outcome: the dice, the margin, the points and the rank
// that resulted. Readers copy outcomes; they never recompute rules. Names of
// event types and of their fields are the stored format: they are added to,
// never changed.
//
// This package imports nothing of ours, does no I/O and reads no clock.
package events

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// An Event is something that happened. Type is its name in the past tense.
type Event interface{ Type() string }

// A CharacterEvent happened to one character.
type CharacterEvent interface {
	Event
	Of() *Subject
}

// Subject is the part that all events about a character share.
type Subject struct {
	Character string `json:"character"`
	// After is how the character stood right after the event. The rules fill
	// it in, so that no reader has to know them.
	After *Vitals `json:"after,omitzero"`
}

// Of returns the subject itself.
func (s *Subject) Of() *Subject { return s }

// Vitals is how a character stands.
type Vitals struct {
	Alive      bool        `json:"alive"`
	Health     Health      `json:"health"`
	Conditions []Condition `json:"conditions"`
	NextTick   *NextTick   `json:"next_tick,omitzero"`
	// State is what else a player has to know, in the terms of the rules: an
	// object, left out when there is nothing to say.
	State jsontext.Value `json:"state,omitzero"`
}

// Health is what is left of a character, in the terms of its rules.
type Health struct {
	Points  int    `json:"points"`
	Max     int    `json:"max"`
	Rank    string `json:"rank"`
	Penalty int    `json:"penalty"` // added to actions: zero or negative
}

// A Condition is a state that lasts: stunned, unconscious.
type Condition struct {
	Name  string `json:"name"`
	Since int64  `json:"since"`          // game seconds
	Until int64  `json:"until,omitzero"` // game seconds; 0 when nothing but a further event ends it
	Rule  string `json:"rule"`
}

// NextTick is the next check of deterioration or healing.
type NextTick struct {
	Due  int64  `json:"due"` // game seconds
	Kind string `json:"kind"`
}

// CampaignCreated is the first record of every campaign.
type CampaignCreated struct {
	Name    string            `json:"name"`
	System  string            `json:"system"`
	Edition int               `json:"edition"`
	Options map[string]string `json:"options"` // every option of the system, also those at their default
	Setting jsontext.Value    `json:"setting,omitzero"`
	GM      string            `json:"gm"`   // handle of the first game master
	VKey    string            `json:"vkey"` // verifies the campaign's checkpoints
	// Policy is missing where the campaign has said nothing about it.
	Policy   *Policy   `json:"policy,omitzero"`
	Calendar *Calendar `json:"calendar,omitzero"`
}

// SettingDefined replaces what the campaign defines itself, in the terms of
// its system.
type SettingDefined struct {
	Setting jsontext.Value `json:"setting"`
	Reason  string         `json:"reason"`
}

// ParticipantJoined says that somebody takes part, and as what.
type ParticipantJoined struct {
	Handle string `json:"handle"`
	Role   string `json:"role"` // gm, player or spectator
	Name   string `json:"name,omitzero"`
}

// ParticipantLeft says that somebody takes part no longer.
type ParticipantLeft struct {
	Handle string `json:"handle"`
}

// SessionOpened begins an evening of play. Rolls happen only inside one.
type SessionOpened struct {
	Session string `json:"session"`
	Title   string `json:"title"`
	Kind    string `json:"kind"` // table, downtime or play-by-post
	// Private says that the closing of the seats also seats a lane for
	// everybody's private rolls: where devices take part none can be added later.
	Private bool `json:"private,omitzero"`
}

// SessionClosed ends it and counts what was rolled.
type SessionClosed struct {
	Session string `json:"session"`
	Rolls   int    `json:"rolls"`    // taken from the ledger's dice
	TypedIn int    `json:"typed_in"` // thrown on a real table and typed in
	// What was withheld or taken back in the session, for all to see.
	Unopened int `json:"unopened,omitzero"` // secret rolls and targets still sealed
	Voided   int `json:"voided,omitzero"`   // declared rolls taken back
	Passed   int `json:"passed,omitzero"`   // witnesses passed over
	Open     int `json:"open,omitzero"`     // declared rolls without an end: a session is closed over none any more
}

// SeatTaken commits the server, and a device if there is one, to a lane of dice.
type SeatTaken struct {
	Session   string `json:"session"`
	Seating   int    `json:"seating"`
	Lane      string `json:"lane"`
	Principal string `json:"principal"` // whose lane it is: a handle, or "system"
	N         int    `json:"n"`         // length of the chains
	S0        string `json:"s0"`        // anchor of the server's chain, hex
	C0        string `json:"c0"`        // anchor of the roller's chain, or "-"
	X0        string `json:"x0"`        // anchor of the witness chain, or "-"
	// Secret says that the lane is for the principal's private and blind rolls
	// alone. The game master's lane gm-secret goes without it.
	Secret bool `json:"secret,omitzero"`
}

// Ask names a lane and the index of the witness element it is asked for.
type Ask struct {
	Lane string `json:"lane"`
	M    int    `json:"m"`
}

// SeatingClosed makes the list of a seating final.
type SeatingClosed struct {
	Session string `json:"session"`
	Seating int    `json:"seating"`
	Ask     []Ask  `json:"ask"`
}

// SeatRevealed is a participant's contribution to the joint seed.
type SeatRevealed struct {
	Session string `json:"session"`
	Seating int    `json:"seating"`
	Lane    string `json:"lane"`
	M       int    `json:"m"`
	X       string `json:"x"`
}

// SeatingSealed fixes the joint seed of a seating.
type SeatingSealed struct {
	Session string   `json:"session"`
	Seating int      `json:"seating"`
	Missing []string `json:"missing"`
	Joint   string   `json:"joint"`
}

// Draw is one die taken: its faces and the face that came up.
type Draw [2]uint32

// A Modifier is a number added to dice, and where it comes from.
type Modifier struct {
	Label string `json:"label"`
	Value int    `json:"value"`
	Rule  string `json:"rule"`
}

// Against is what a total was compared with.
type Against struct {
	Kind  string `json:"kind"` // difficulty, defence, target, task …
	Value int    `json:"value"`
	Exact string `json:"exact,omitzero"` // when the value is a fraction, such as 5/2
}

// A Throw is one question put to the dice and its answer.
type Throw struct {
	Expression string     `json:"expression"`
	Purpose    string     `json:"purpose"`
	Character  string     `json:"character,omitzero"`
	Draws      []Draw     `json:"draws"`
	Modifiers  []Modifier `json:"modifiers"`
	Total      int        `json:"total"`
	Against    *Against   `json:"against,omitzero"`
	Outcome    string     `json:"outcome,omitzero"`
	Margin     *int       `json:"margin,omitzero"`
	// Detail shows how a total of free notation came about, or what a system
	// adds, such as the damage factor.
	Detail jsontext.Value `json:"detail,omitzero"`
}

// RollMade holds all dice of one command or of one tick: one link of one
// lane's chain, or dice typed in. The throw in it is the first question the
// rules asked; Also has those that followed from it. Draws of the first throw
// hold every die, in the order of taking: its own come first, then those of
// Also.
type RollMade struct {
	Session string `json:"session"`
	Lane    string `json:"lane,omitzero"`
	I       int    `json:"i,omitzero"`
	S       string `json:"s,omitzero"`
	C       string `json:"c,omitzero"`
	W       string `json:"w,omitzero"`
	Source  string `json:"source"`        // ledger or physical
	Call    int64  `json:"call,omitzero"` // n of the target.sealed that the first throw was made against
	Throw
	Also []Throw `json:"also,omitzero"`
}

// CharacterCreated brings a character into the campaign.
type CharacterCreated struct {
	Subject
	Name     string         `json:"name"`
	Kind     string         `json:"kind"` // pc or npc
	Owner    string         `json:"owner,omitzero"`
	Creation string         `json:"creation"` // book or free
	Sheet    jsontext.Value `json:"sheet"`    // in the terms of the rules, complete
	Warnings []string       `json:"warnings,omitzero"`
}

// CharacterAmended replaces a character's sheet.
type CharacterAmended struct {
	Subject
	Reason string         `json:"reason"`
	Sheet  jsontext.Value `json:"sheet"`
}

// CharacterRetired takes a character out of play.
type CharacterRetired struct {
	Subject
	Reason string `json:"reason"`
}

// CharacterDied is the end of one.
type CharacterDied struct {
	Subject
	Cause string `json:"cause"`
	Rule  string `json:"rule"`
}

// WoundInflicted is harm that got through.
type WoundInflicted struct {
	Subject
	Wound    int    `json:"wound"`             // ordinal in the character's life, from 1; never given twice
	Points   int    `json:"points"`            // lost by it
	Level    string `json:"level,omitzero"`    // in systems that name wounds instead of counting
	Cause    string `json:"cause"`             // in words
	By       string `json:"by,omitzero"`       // character who did it
	Weapon   string `json:"weapon,omitzero"`   // with what
	Absorbed int    `json:"absorbed,omitzero"` // stopped by armour
}

// WoundTreated is care given to a character.
type WoundTreated struct {
	Subject
	By      string `json:"by,omitzero"` // character who cared
	Outcome string `json:"outcome"`     // in the words of the rules: stabilised, failed …
	Points  int    `json:"points,omitzero"`
	Rule    string `json:"rule"`
}

// HealGranted is health given by the game master's own hand.
type HealGranted struct {
	Subject
	Points int    `json:"points"` // that really came back, never above the maximum
	Cause  string `json:"cause"`
}

// TickProcessed is one due check of deterioration or healing.
type TickProcessed struct {
	Subject
	Kind   string `json:"kind"`
	Due    int64  `json:"due"` // game seconds
	Rolled bool   `json:"rolled"`
	Change int    `json:"change"` // points gained or lost
	Rule   string `json:"rule"`
}

// ConditionGained begins a lasting state.
type ConditionGained struct {
	Subject
	Condition string `json:"condition"`
	Until     int64  `json:"until,omitzero"`
	Rule      string `json:"rule"`
}

// ConditionEnded ends it.
type ConditionEnded struct {
	Subject
	Condition string `json:"condition"`
	Rule      string `json:"rule"`
}

// ClockAdvancing says that an advance takes more than one commit: the ones
// that follow complete it, also after a crash.
type ClockAdvancing struct {
	From     int64     `json:"from"`
	To       int64     `json:"to"`
	Followed *Followed `json:"followed,omitzero"` // when it is the wall clock that is followed
}

// ClockAdvanced is the end of an advance.
type ClockAdvanced struct {
	From    int64  `json:"from"`
	To      int64  `json:"to"`
	Ticks   int    `json:"ticks"`
	Stopped string `json:"stopped,omitzero"` // why it ended before it was asked to
	// Followed is there when it is the wall clock that was followed. Where the
	// advance was stopped, that moment has not been come to.
	Followed *Followed `json:"followed,omitzero"`
}

// NoteAdded is a remark for the record.
type NoteAdded struct {
	Text string `json:"text"`
}

func (*CampaignCreated) Type() string   { return "campaign.created" }
func (*SettingDefined) Type() string    { return "setting.defined" }
func (*ParticipantJoined) Type() string { return "participant.joined" }
func (*ParticipantLeft) Type() string   { return "participant.left" }
func (*SessionOpened) Type() string     { return "session.opened" }
func (*SessionClosed) Type() string     { return "session.closed" }
func (*SeatTaken) Type() string         { return "seat.taken" }
func (*SeatingClosed) Type() string     { return "seating.closed" }
func (*SeatRevealed) Type() string      { return "seat.revealed" }
func (*SeatingSealed) Type() string     { return "seating.sealed" }
func (*RollMade) Type() string          { return "roll.made" }
func (*CharacterCreated) Type() string  { return "character.created" }
func (*CharacterAmended) Type() string  { return "character.amended" }
func (*CharacterRetired) Type() string  { return "character.retired" }
func (*CharacterDied) Type() string     { return "character.died" }
func (*WoundInflicted) Type() string    { return "wound.inflicted" }
func (*WoundTreated) Type() string      { return "wound.treated" }
func (*HealGranted) Type() string       { return "heal.granted" }
func (*TickProcessed) Type() string     { return "tick.processed" }
func (*ConditionGained) Type() string   { return "condition.gained" }
func (*ConditionEnded) Type() string    { return "condition.ended" }
func (*ClockAdvancing) Type() string    { return "clock.advancing" }
func (*ClockAdvanced) Type() string     { return "clock.advanced" }
func (*NoteAdded) Type() string         { return "note.added" }

// A Registry knows how to read event types.
type Registry map[string]func() Event

// Core reads the events that all systems share.
func Core() Registry {
	r := Registry{
		"campaign.created":   func() Event { return new(CampaignCreated) },
		"setting.defined":    func() Event { return new(SettingDefined) },
		"participant.joined": func() Event { return new(ParticipantJoined) },
		"participant.left":   func() Event { return new(ParticipantLeft) },
		"session.opened":     func() Event { return new(SessionOpened) },
		"session.closed":     func() Event { return new(SessionClosed) },
		"seat.taken":         func() Event { return new(SeatTaken) },
		"seating.closed":     func() Event { return new(SeatingClosed) },
		"seat.revealed":      func() Event { return new(SeatRevealed) },
		"seating.sealed":     func() Event { return new(SeatingSealed) },
		"roll.made":          func() Event { return new(RollMade) },
		"character.created":  func() Event { return new(CharacterCreated) },
		"character.amended":  func() Event { return new(CharacterAmended) },
		"character.retired":  func() Event { return new(CharacterRetired) },
		"character.died":     func() Event { return new(CharacterDied) },
		"wound.inflicted":    func() Event { return new(WoundInflicted) },
		"wound.treated":      func() Event { return new(WoundTreated) },
		"heal.granted":       func() Event { return new(HealGranted) },
		"tick.processed":     func() Event { return new(TickProcessed) },
		"condition.gained":   func() Event { return new(ConditionGained) },
		"condition.ended":    func() Event { return new(ConditionEnded) },
		"clock.advancing":    func() Event { return new(ClockAdvancing) },
		"clock.advanced":     func() Event { return new(ClockAdvanced) },
		"note.added":         func() Event { return new(NoteAdded) },
	}
	r.Add(fairness())
	r.Add(disputes())
	r.Add(keys())
	r.Add(tempo())
	r.Add(links())
	return r
}

// Add registers event types of a system. It panics when a name is taken: two
// packages of this program claim one stored format.
func (r Registry) Add(types map[string]func() Event) {
	for name, make := range types {
		if _, taken := r[name]; taken {
			panic("events: " + name + " is registered twice")
		}
		r[name] = make
	}
}

// Decode reads the event in a record. A type that is not on board is an
// error: a reader never steps over a fact it does not know.
func (r Registry) Decode(rec Record) (Event, error) {
	make, known := r[rec.Type]
	if !known {
		return nil, fmt.Errorf("record %d: event type %q is not known to this program", rec.N, rec.Type)
	}
	e := make()
	if readQuick(rec.Data, e) {
		return e, nil
	}
	e = make()
	if err := json.Unmarshal(rec.Data, e, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("record %d: %s: %w", rec.N, rec.Type, err)
	}
	return e, nil
}
