package rules

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
)

const correctionType = "correction.make"

// revocable are the shared commands that can be taken back: those that change
// characters and the clock alone. Every command of a system can be.
var revocable = []string{
	"character.create", "character.amend", "character.retire", "roll", "roll.witness", "clock.advance", FollowType, correctionType,
}

// Revocable reports whether commands of a type can be taken back.
func (b *Book) Revocable(typ string) bool {
	return slices.Contains(revocable, typ) || slices.ContainsFunc(b.Commands(), func(s CommandSpec) bool { return s.Type == typ })
}

// A Correction takes a command back.
type Correction struct {
	ID      string // of the command correction.make
	Command string // that is taken back; it may be a correction itself
}

// Corrections are all corrections, in their order.
func (c *Campaign) Corrections() []Correction { return c.corrections }

// TakenBack says which commands are taken back by a list of corrections, and
// by which of them. A correction that is taken back takes nothing back.
func TakenBack(list []Correction) map[string]string {
	by := map[string]string{}
	for _, x := range slices.Backward(list) {
		if _, off := by[x.ID]; !off {
			by[x.Command] = x.ID
		}
	}
	return by
}

// A Difference is what lies between a campaign and itself without a command.
type Difference struct {
	Clock      int64 // game time without it
	Characters []Restored
	Questioned []int64
	Undone     []events.Span
	Again      []events.Span
}

// Restored is how a character stands without a command.
type Restored struct {
	ID      string
	Gone    bool // the character would not be there
	Body    jsontext.Value
	Sheet   jsontext.Value // when it is another one
	Retired bool
}

// Histories finds out what a correction changes. Deciding needs the state of a
// campaign alone; a correction needs all its commands. The chains of whoever
// has them implement it, so that the shell and a replay come to the same.
type Histories interface {
	Correct(c *Campaign, x Correction) (*Difference, error)
}

// ErrNoHistory says that a correction cannot be decided because the commands
// before it are not at hand.
var ErrNoHistory = errors.New("the commands before the correction are not at hand")

// CorrectionMake is the data of correction.make.
type CorrectionMake struct {
	Command string `json:"command" maxLength:"64" doc:"id of the command that is taken back"`
	Reason  string `json:"reason" minLength:"1" maxLength:"1000"`
}

func makeCorrection(t *Turn, d *CorrectionMake) error {
	if err := CheckText(d.Reason); err != nil {
		return &Invalid{Field: "reason", Reason: err.Error()}
	}
	known, ok := t.c.Known(d.Command)
	switch {
	case !ok:
		return Reject("unknown_command", "", "no command %q was given in this campaign", d.Command).On("command")
	case known.Type == resumeType:
		return Reject("cannot_be_corrected", "", "this is a part of an advance of the clock: take the advance itself back").On("command")
	case !t.c.Book.Revocable(known.Type):
		return Reject("cannot_be_corrected", "", "%s cannot be taken back: only what changes characters and the clock can", known.Type).On("command")
	}
	if by, off := TakenBack(t.c.corrections)[d.Command]; off {
		return Reject("corrected_already", "", "the command was taken back by the correction %s: that correction can be taken back in turn", by).On("command")
	}
	histories, ok := t.chains.(Histories)
	if !ok {
		return ErrNoHistory
	}
	diff, err := histories.Correct(t.c, Correction{ID: t.cmd.ID, Command: d.Command})
	if err != nil {
		return fmt.Errorf("correct command %s: %w", d.Command, err)
	}
	t.correct(d, known, diff)
	return t.err
}

// maxListed is how many numbers and spans one record of a correction lists:
// so many fit into it whatever they are.
const maxListed = 1_000

// correct emits what a correction comes to.
func (t *Turn) correct(d *CorrectionMake, known Known, diff *Difference) {
	made := &events.CorrectionMade{
		Command: d.Command, Records: events.Span{First: known.First, Last: known.Last}, Reason: d.Reason, From: t.c.Clock,
		Questioned: []int64{}, Undone: []events.Span{},
	}
	rest := *diff
	room := maxListed
	made.Questioned = append(made.Questioned, take(&rest.Questioned, &room)...)
	made.Undone = append(made.Undone, take(&rest.Undone, &room)...)
	made.Again = take(&rest.Again, &room)
	t.c.Clock = diff.Clock
	t.Emit(made)
	for len(rest.Questioned)+len(rest.Undone)+len(rest.Again) > 0 {
		room = maxListed
		t.Emit(&events.CorrectionContinued{
			Command: d.Command, Questioned: take(&rest.Questioned, &room), Undone: take(&rest.Undone, &room), Again: take(&rest.Again, &room),
		})
	}
	why := "the command " + d.Command + " was taken back: " + d.Reason
	for _, r := range diff.Characters {
		who := events.Subject{Character: r.ID}
		if r.Gone {
			t.Emit(&events.CharacterRetired{Subject: who, Reason: why})
			continue
		}
		t.Emit(&events.CharacterRestored{Subject: who, Body: r.Body, Sheet: r.Sheet, Retired: r.Retired, Why: why})
	}
}

// take cuts as much off the front of a list as there is room for.
func take[T any](list *[]T, room *int) []T {
	n := min(*room, len(*list))
	head := (*list)[:n:n]
	*list, *room = (*list)[n:], *room-n
	if n == 0 {
		return nil
	}
	return head
}

func (c *Campaign) corrected(command string, e *events.CorrectionMade) {
	c.corrections = append(slices.Clone(c.corrections), Correction{ID: command, Command: e.Command})
}

// restored reads a body as a fact has it.
func (c *Campaign) restored(e *events.CharacterRestored) (Body, error) {
	body := c.Book.NewBody()
	if err := json.Unmarshal(e.Body, body, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("the body: %w", err)
	}
	return body, nil
}

// Compare is the difference between a campaign and an alternative of it, but
// for the records that came out otherwise.
func (c *Campaign) Compare(a *Alternative) (*Difference, error) {
	d := &Difference{Clock: a.c.Clock}
	for _, id := range c.order {
		is, _ := c.Character(id)
		would, there := a.c.Character(id)
		if !there {
			if !is.Retired {
				d.Characters = append(d.Characters, Restored{ID: id, Gone: true})
			}
			continue
		}
		present, err := json.Marshal(is.Body, json.Deterministic(true))
		if err != nil {
			return nil, err
		}
		body, err := json.Marshal(would.Body, json.Deterministic(true))
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(present, body) || is.Retired != would.Retired {
			d.Characters = append(d.Characters, Restored{ID: id, Body: body, Retired: would.Retired})
		}
	}
	return d, nil
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
