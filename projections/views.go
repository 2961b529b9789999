// Package projections folds the records of one campaign into what people look
// at: the campaign, its characters and their timelines, its sessions and rolls.
//
// The fold is pure and knows no rules: an event carries its outcome, and views
// copy it. The same records give the same views, however they arrive; a record
// that is missing, repeated or contradicts the ones before is refused. What a
// view has given away is never changed by a later record. The package imports
// package events and nothing else of ours.
package projections

import (
	"errors"
	"fmt"

	"tallystick/events"
)

// ErrOrder says that a record is not the next one: there is a gap before it, or
// it was read already.
var ErrOrder = errors.New("not the next record")

// An Error says at which record views stopped, and why.
type Error struct {
	Campaign string
	N        int64 // of the record that was refused
	Type     string
	Err      error
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("campaign %s: record %d (%s): %v", e.Campaign, e.N, e.Type, e.Err)
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// Views are all views of one campaign at one position. They are not safe for
// concurrent use while Apply runs.
type Views struct {
	next    int64 // n of the next record
	at      string
	clock   int64
	words   map[string]string // one copy of every word that comes again and again
	command command

	campaign     Campaign
	participants []Participant // by handle
	characters   map[string]*character
	order        []string // ids of characters as they were created
	sessions     []*session
	open         *session
	rolls        []RollEntry
	hidden       []Hidden
	links        []Link
	table        table
	typedIn      int
}

// New returns the views of a campaign before its first record.
func New(campaign string) *Views {
	return &Views{
		words:      map[string]string{},
		campaign:   Campaign{ID: campaign},
		characters: map[string]*character{},
	}
}

// Position is the n of the next record: everything before it has been read.
func (v *Views) Position() int64 { return v.next }

// core reads the events that all systems share. It is never written to.
var core = events.Core()

// Apply folds the next record. It fails with an *Error, and leaves the views as
// they were, when the record is of another campaign, is not the next one
// (ErrOrder), cannot be read strictly, or contradicts what went before. Events
// of a type that only a rule system knows count by the character they name and
// how it stands after.
func (v *Views) Apply(rec events.Record) error {
	e, err := v.admit(rec)
	if err != nil {
		return &Error{Campaign: v.campaign.ID, N: rec.N, Type: rec.Type, Err: err}
	}
	if v.at != rec.At {
		v.at = rec.At
	}
	if v.clock < rec.Clock || rec.Type == "correction.made" { // by which alone game time may run back
		v.clock = rec.Clock
	}
	v.command.follow(rec, v.word)
	v.apply(rec, e)
	v.next++
	return nil
}

// admit decides whether a record may be folded, and changes nothing.
func (v *Views) admit(rec events.Record) (events.Event, error) {
	switch {
	case rec.Campaign != v.campaign.ID:
		return nil, fmt.Errorf("it belongs to campaign %s", rec.Campaign)
	case rec.N != v.next:
		return nil, fmt.Errorf("%w: record %d is due", ErrOrder, v.next)
	case (rec.Type == "campaign.created") != (rec.N == 0):
		return nil, errors.New("campaign.created is the first record and no other")
	}
	e, err := decode(rec)
	if err != nil {
		return nil, err
	}
	return e, v.consistent(e)
}

// foreign is an event of a type that only a rule system knows.
type foreign struct {
	events.Subject
	skipped
	name string
}

// skipped is what the event of an action says that needed no roll: its type ends
// in ".roll.skipped", in whatever system.
type skipped struct {
	Trait      string `json:"trait"`
	Difficulty string `json:"difficulty"`
	Outcome    string `json:"outcome"`
	Rule       string `json:"rule"`
}

// words are how it is told of somebody.
func (s skipped) words(name string) string {
	return fmt.Sprintf("%s, %s against %s: %s, no roll is needed (%s)", name, Printable(s.Trait), Printable(s.Difficulty), s.Outcome, s.Rule)
}

// Type implements events.Event.
func (f *foreign) Type() string { return f.name }

// consistent reports what an event contradicts.
func (v *Views) consistent(e events.Event) error {
	switch e := e.(type) {
	case *events.ParticipantLeft:
		if _, known := v.participant(e.Handle); !known {
			return fmt.Errorf("%s does not take part", e.Handle)
		}
	case *events.SessionOpened:
		if v.open != nil {
			return fmt.Errorf("session %s is still open", v.open.ID)
		}
		if _, known := v.Session(e.Session); known {
			return fmt.Errorf("session %s was there before", e.Session)
		}
	case *events.SessionClosed:
		return v.inSession(e.Session)
	case *events.SeatTaken:
		return v.inSession(e.Session)
	case *events.SeatingSealed:
		return v.inSession(e.Session)
	case *events.RollMade:
		return v.inSession(e.Session)
	case *events.LinkRolled:
		return v.waits(e)
	case *events.RollWidened:
		return v.isHidden(e.Sealed)
	case *events.RollOpened:
		return v.isHidden(e.Sealed)
	case *events.TargetOpened:
		return v.isHidden(e.Sealed)
	case *events.DisputeRuled:
		if v.table.dispute(e.Dispute) < 0 {
			return fmt.Errorf("dispute %s is not known", e.Dispute)
		}
	case *events.RulingOpened:
		if v.table.sealed(e.Sealed) < 0 {
			return fmt.Errorf("record %d is no ruling that is sealed", e.Sealed)
		}
	case *events.CorrectionContinued:
		if c := v.table.corrections; len(c) == 0 || c[len(c)-1].Command != e.Command {
			return fmt.Errorf("no correction of command %s goes on here", e.Command)
		}
	case *events.CharacterCreated:
		if v.characters[e.Character] != nil {
			return fmt.Errorf("character %s was created before", e.Character)
		}
		if e.After == nil {
			return errors.New("after is missing")
		}
	case events.CharacterEvent:
		_, other := e.(*foreign)
		if id := e.Of().Character; v.characters[id] == nil && !(other && id == "") {
			return fmt.Errorf("character %q is not known", id)
		}
	}
	return nil
}

func (v *Views) inSession(id string) error {
	if v.open == nil || v.open.ID != id {
		return fmt.Errorf("session %q is not open", id)
	}
	return nil
}

// apply folds an event that was admitted.
func (v *Views) apply(rec events.Record, e events.Event) {
	switch e := e.(type) {
	case *events.CampaignCreated:
		v.created(rec, e)
	case *events.SettingDefined:
		v.campaign.Setting = e.Setting
	case *events.LedgerRecovered:
		v.campaign.VKey = e.VKey
		v.campaign.Keys = append(v.campaign.Keys, Key{N: rec.N, VKey: e.VKey, Lost: e.Lost})
	case *events.KeyRotated:
		v.campaign.VKey = e.New
		v.campaign.Keys = append(v.campaign.Keys, Key{N: rec.N, VKey: e.New, Endorsed: e.Endorsed})
	case *events.ParticipantJoined:
		v.joined(e)
	case *events.ParticipantLeft:
		v.left(e)
	case *events.ClockAdvancing:
		v.campaign.Advancing = &Advance{From: e.From, To: e.To}
	case *events.ClockAdvanced:
		v.campaign.Advancing = nil
	case *events.SessionOpened:
		v.opened(rec, e)
	case *events.SessionClosed:
		v.closed(rec, e)
		v.campaign.Tempo = nil
	case *events.TempoSet, *events.TempoPaused, *events.TempoResumed:
		v.tempo(e)
	case *events.TempoHeld:
		v.tempo(e)
		v.happened(rec, e)
	case *events.SeatTaken:
		v.open.seat(e)
	case *events.SeatingSealed:
		v.open.seal(e)
	case *events.RollMade:
		v.rolled(rec, e)
	case *events.LinkMade:
		v.linked(rec, e)
	case *events.LinkRolled:
		v.used(rec, e)
	case *events.RollSealed:
		v.hide(rec, HiddenRoll, e.Session, e.Visibility)
	case *events.RollWidened:
		v.hidden[v.hiddenAt(e.Sealed)].Visibility = e.Visibility
	case *events.RollOpened:
		v.reveal(rec, e.Sealed)
	case *events.TargetSealed:
		v.hide(rec, HiddenTarget, e.Session, nil)
	case *events.TargetOpened:
		v.reveal(rec, e.Sealed)
	case *events.DisputeOpened:
		v.table.disputed(v, rec, e)
	case *events.DisputeRuled:
		v.table.ruled(v, rec, e)
	case *events.RulingMade:
		v.table.overridden(v, rec, e)
	case *events.RulingSealed:
		v.table.overrides = append(v.table.overrides, Override{Moment: v.moment(rec), By: v.word(rec.By), Sealed: true})
		v.hide(rec, HiddenRuling, e.Session, nil)
	case *events.RulingOpened:
		v.table.shown(rec, e)
		v.reveal(rec, e.Sealed)
	case *events.CorrectionMade:
		v.table.corrected(v, rec, e)
	case *events.CorrectionContinued:
		v.table.continued(rec, e)
	case events.CharacterEvent:
		v.happened(rec, e)
	}
}

// word returns the one copy of a word.
func (v *Views) word(s string) string {
	if known, ok := v.words[s]; ok {
		return known
	}
	v.words[s] = s
	return s
}

// moment is where a record stands.
func (v *Views) moment(rec events.Record) Moment {
	return Moment{N: rec.N, At: v.at, Clock: rec.Clock}
}

// Moment is where something happened: by record, wall clock and game time.
type Moment struct {
	N     int64  `json:"n" doc:"record in the campaign"`
	At    string `json:"at" doc:"wall clock, UTC"`
	Clock int64  `json:"clock" doc:"game time in seconds from the campaign's start"`
}

// Page is a part of a list. Next is what to ask for as from to go on, and nil
// at the end.
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  *int64 `json:"next" doc:"from of the next page, null at the end"`
}
