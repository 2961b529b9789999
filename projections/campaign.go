package projections

import (
	"cmp"
	"slices"

	"tallystick/events"

	"github.com/go-json-experiment/json/jsontext"
)

// Campaign is the view of a campaign as a whole.
type Campaign struct {
	ID           string            `json:"id"`
	Name         string            `json:"name"`
	System       string            `json:"system" doc:"rule system"`
	Edition      int               `json:"edition" doc:"edition of the rules the campaign opened with, and keeps"`
	Options      map[string]string `json:"options" doc:"every option of the rules and its value"`
	Setting      jsontext.Value    `json:"setting,omitzero" doc:"what the campaign defines itself, in the terms of its rules"`
	GM           string            `json:"gm" doc:"handle of the first game master"`
	Policy       events.Policy     `json:"policy" doc:"fixed when the campaign was created"`
	VKey         string            `json:"vkey" doc:"verifies the campaign's checkpoints"`
	Keys         []Key             `json:"keys" doc:"every key so far, from the first record on"`
	CreatedAt    string            `json:"created_at" doc:"wall clock, UTC"`
	LastAt       string            `json:"last_at" doc:"wall clock of the last record, UTC"`
	Clock        int64             `json:"clock" doc:"game time in seconds from the campaign's start"`
	Date         *events.Date      `json:"date,omitzero" doc:"what the campaign's calendar calls it"`
	Calendar     *events.Calendar  `json:"calendar,omitzero" doc:"fixed when the campaign was created"`
	Tempo        *Tempo            `json:"tempo,omitzero" doc:"the clock follows the one on the wall"`
	Advancing    *Advance          `json:"advancing,omitzero" doc:"an advance of the clock that is under way"`
	Session      string            `json:"session,omitzero" doc:"id of the open session"`
	Participants []Participant     `json:"participants"`
	Counts       Counts            `json:"counts"`
	AsOf         int64             `json:"as_of" doc:"the last record in this view; -1 before the first"`
}

// Advance is an advance of the clock that takes several commits.
type Advance struct {
	From int64 `json:"from" doc:"game seconds"`
	To   int64 `json:"to" doc:"game seconds"`
}

// Counts are how many of each there are.
type Counts struct {
	Records    int64 `json:"records"`
	Sessions   int   `json:"sessions"`
	Characters int   `json:"characters" doc:"also the dead and the retired"`
	Rolls      int   `json:"rolls" doc:"from the ledger's dice"`
	TypedIn    int   `json:"typed_in" doc:"thrown on a real table and typed in"`
	Disputes   int   `json:"disputes"`
	Unruled    int   `json:"unruled" doc:"disputes that are still open"`
	Overrides  int   `json:"overrides" doc:"the game master's own words on rolls, also the sealed ones"`
	Sealed     int   `json:"sealed" doc:"of them: shown later"`
	Corrected  int   `json:"corrected" doc:"commands that are taken back"`
}

// Participant is somebody who takes part.
type Participant struct {
	Handle string `json:"handle"`
	Role   string `json:"role" enum:"gm,player,spectator"`
	Name   string `json:"name,omitzero"`
}

// Key is a key that verifies a campaign's checkpoints, and how it came to be.
type Key struct {
	N        int64  `json:"n" doc:"record from which on it does"`
	VKey     string `json:"vkey"`
	Lost     string `json:"lost,omitzero" doc:"the ledger was begun anew after a loss: the last checkpoint that was signed before"`
	Endorsed string `json:"endorsed,omitzero" doc:"the key was rotated: signed note by which the one before names this one"`
}

// Campaign returns the campaign as a whole.
func (v *Views) Campaign() Campaign {
	c := v.campaign
	c.Keys = append([]Key{}, c.Keys...)
	c.LastAt, c.Clock, c.AsOf = v.at, v.clock, v.next-1
	c.Participants = v.Participants()
	if v.open != nil {
		c.Session = v.open.ID
	}
	c.Counts = Counts{
		Records: v.next, Sessions: len(v.sessions), Characters: len(v.order),
		Rolls: len(v.rolls) - v.typedIn, TypedIn: v.typedIn,
	}
	v.table.count(&c.Counts)
	if c.Calendar != nil {
		date := c.Calendar.Date(c.Clock)
		c.Date = &date
	}
	return c
}

// Participants returns who takes part now, by handle.
func (v *Views) Participants() []Participant {
	return append([]Participant{}, v.participants...)
}

func (v *Views) created(rec events.Record, e *events.CampaignCreated) {
	c := &v.campaign
	c.Name, c.System, c.Edition, c.Options, c.Setting = e.Name, e.System, e.Edition, e.Options, e.Setting
	c.GM, c.VKey, c.CreatedAt = e.GM, e.VKey, rec.At
	c.Keys = []Key{{N: rec.N, VKey: e.VKey}}
	c.Policy = events.Policy{Overrides: "shown"} // where nothing was said
	if e.Policy != nil {
		c.Policy = *e.Policy
	}
	c.Calendar = e.Calendar
}

func (v *Views) participant(handle string) (int, bool) {
	return slices.BinarySearchFunc(v.participants, handle, func(p Participant, h string) int { return cmp.Compare(p.Handle, h) })
}

func (v *Views) joined(e *events.ParticipantJoined) {
	p := Participant{Handle: e.Handle, Role: e.Role, Name: e.Name}
	i, known := v.participant(e.Handle)
	if known {
		v.participants[i] = p
		return
	}
	v.participants = slices.Insert(v.participants, i, p)
}

func (v *Views) left(e *events.ParticipantLeft) {
	i, _ := v.participant(e.Handle)
	v.participants = slices.Delete(v.participants, i, i+1)
}
