package projections

import (
	"fmt"
	"sort"

	"tallystick/events"

	"github.com/go-json-experiment/json/jsontext"
)

// physical is the source of dice that were typed in.
const physical = "physical"

// RollEntry is what a view remembers of a roll: where it stands, and what one
// looks for it by. The roll itself is read again from its record, see NewRoll.
type RollEntry struct {
	N           int64          `json:"n" doc:"record in the campaign"`
	Clock       int64          `json:"clock" doc:"game seconds"`
	By          string         `json:"by" doc:"handle of who commanded it"`
	CommandType string         `json:"command_type" doc:"what was asked for"`
	Session     string         `json:"session"`
	Lane        string         `json:"lane,omitzero" doc:"of the ledger's dice"`
	Source      string         `json:"source" enum:"ledger,physical"`
	Character   string         `json:"character,omitzero" doc:"who rolled first in it"`
	Visibility  jsontext.Value `json:"visibility,omitzero" doc:"as the command asked for"`
	Marks
}

// Roll is a roll with everything that was recorded of it.
type Roll struct {
	Moment
	By          string         `json:"by" doc:"handle of who commanded it"`
	Command     string         `json:"command" doc:"id of the command"`
	CommandType string         `json:"command_type" doc:"what was asked for"`
	Session     string         `json:"session"`
	Visibility  jsontext.Value `json:"visibility,omitzero" doc:"as the command asked for"`
	Roll        jsontext.Value `json:"roll" doc:"the data of roll.made, as stored"`
	Marks
}

// NewRoll puts an entry and its record together.
func NewRoll(entry RollEntry, rec events.Record) (Roll, error) {
	if rec.N != entry.N || rec.Type != "roll.made" {
		return Roll{}, fmt.Errorf("record %d (%s) is not roll %d", rec.N, rec.Type, entry.N)
	}
	return Roll{
		Moment: Moment{N: rec.N, At: rec.At, Clock: rec.Clock},
		By:     rec.By, Command: rec.Cmd.ID, CommandType: entry.CommandType,
		Session: entry.Session, Visibility: entry.Visibility, Roll: rec.Data, Marks: entry.Marks,
	}, nil
}

// Rolls returns up to limit rolls from record from on; a limit of 0 or less
// means all. keep chooses among them; nil keeps all.
func (v *Views) Rolls(from int64, limit int, keep func(RollEntry) bool) Page[RollEntry] {
	page := Page[RollEntry]{Items: []RollEntry{}}
	for _, r := range v.rolls[v.rollIndex(from):] {
		if keep != nil && !keep(r) {
			continue
		}
		if limit > 0 && len(page.Items) == limit {
			n := r.N
			page.Next = &n
			break
		}
		page.Items = append(page.Items, v.marked(r))
	}
	return page
}

// Roll returns the roll in record n, and false when that is no roll.
func (v *Views) Roll(n int64) (RollEntry, bool) {
	i := v.rollIndex(n)
	if i == len(v.rolls) || v.rolls[i].N != n {
		return RollEntry{}, false
	}
	return v.marked(v.rolls[i]), true
}

func (v *Views) marked(r RollEntry) RollEntry {
	r.Marks = v.table.marks(r.N)
	return r
}

func (v *Views) rollIndex(n int64) int {
	return sort.Search(len(v.rolls), func(i int) bool { return v.rolls[i].N >= n })
}

func (v *Views) rolled(rec events.Record, e *events.RollMade) {
	v.rolls = append(v.rolls, RollEntry{
		N: rec.N, Clock: rec.Clock, By: v.word(rec.By), CommandType: v.command.kind, Session: v.open.ID,
		Lane: v.word(e.Lane), Source: v.word(e.Source), Character: v.word(e.Character), Visibility: v.command.visibility,
	})
	if e.Source == physical {
		v.typedIn++
		v.open.TypedIn++
	} else {
		v.open.Rolls++
	}
	v.command.rolled(rec)
}
