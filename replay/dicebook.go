package replay

import (
	"errors"
	"fmt"
	"maps"

	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
	"tallystick/rules"
	"tallystick/rules/dice"
)

// dicebook keeps what is needed to have the dice of earlier commands again:
// the joint seeds of the lanes, and what decides over checks that never fell
// due; and the recorded sheets.
//
// Such a check takes its dice from a what-if stream, whose label is the newest
// link of the system's lanes that had been shown when its advance of the clock
// was over, the number of the record that brought its character into the
// campaign, when it was due, its ordinal and its kind. Nobody could choose the
// link, which was committed to; nothing else in it is free; and the time at
// which a correction is made does not enter, so that waiting for a better one
// is no use.
type dicebook struct {
	registry events.Registry
	joints   map[string]dice.Seed // by lane of the session that is open
	seatings map[string]int
	system   map[string]bool // lanes of the system
	joint    dice.Seed       // of the newest seating
	shown    dice.Seed       // the newest link of a lane of the system
	created  map[string]int64
	declared map[int64]rules.Command
	sheets   map[string]jsontext.Value
}

func newDicebook(book *rules.Book) *dicebook {
	return &dicebook{registry: book.Registry(), created: map[string]int64{}, declared: map[int64]rules.Command{}, sheets: map[string]jsontext.Value{}}
}

// commandDice are the dice of one command.
type commandDice struct {
	book  *dicebook
	own   *events.RollMade
	joint dice.Seed // of own
	ticks map[due][]tickRoll
	first int64            // record of the command
	hurt  map[string][]int // ordinals of the wounds it inflicted, by character
	next  *tickRoll        // of the check whose event is read next
	shown dice.Seed        // when the command was over
	last  dice.Seed        // joint seed then
}

// due names a check that fell due.
type due struct {
	character string
	at        int64
	kind      string
}

type tickRoll struct {
	roll  *events.RollMade
	joint dice.Seed
}

func (b *dicebook) command(first int64) *commandDice {
	return &commandDice{book: b, ticks: map[due][]tickRoll{}, first: first, hurt: map[string][]int{}, shown: b.shown, last: b.joint}
}

// note reads a record of a command for its dice.
func (b *dicebook) note(rec events.Record, e events.Event, ch *chapter) (err error) {
	switch e := e.(type) {
	case *events.SessionOpened:
		b.joints, b.seatings, b.system = map[string]dice.Seed{}, map[string]int{}, map[string]bool{}
	case *events.SeatTaken:
		b.seatings[e.Lane] = e.Seating
		b.system[e.Lane] = e.Principal == rules.SystemPrincipal
	case *events.SeatingSealed:
		if b.joint, err = dice.ParseSeed(e.Joint); err != nil {
			return err
		}
		for lane, seating := range b.seatings {
			if _, sealed := b.joints[lane]; !sealed && seating == e.Seating {
				b.joints[lane] = b.joint
			}
		}
	case *events.CharacterCreated:
		b.created[e.Character], b.sheets[e.Character] = rec.N, e.Sheet
	case *events.CharacterAmended:
		b.sheets[e.Character] = e.Sheet
	case *events.CharacterRestored:
		if e.Sheet != nil {
			b.sheets[e.Character] = e.Sheet
		}
	case *events.RollDeclared:
		b.declared[rec.N] = rules.Command{By: rec.By, Type: e.Command, Data: e.Data}
	case *events.WoundInflicted:
		ch.dice.hurt[e.Character] = append(ch.dice.hurt[e.Character], e.Wound)
	case *events.RollMade:
		return b.rolled(e, ch)
	case *events.RollResolved:
		return b.rolled(&e.RollMade, ch)
	}
	ch.dice.name(rec.Clock, e)
	ch.dice.shown, ch.dice.last = b.shown, b.joint
	return nil
}

func (b *dicebook) rolled(e *events.RollMade, ch *chapter) (err error) {
	if b.system[e.Lane] && e.Source == rules.SourceLedger {
		if b.shown, err = dice.ParseSeed(e.S); err != nil {
			return err
		}
	}
	d := ch.dice
	d.shown, d.last = b.shown, b.joint
	if !ch.advances() {
		d.own, d.joint = e, b.joints[e.Lane]
		return nil
	}
	d.next = &tickRoll{e, b.joints[e.Lane]}
	return nil
}

// name files the roll of a check under the event that stands behind it. Where
// that is not the check itself it has no kind.
func (d *commandDice) name(clock int64, e events.Event) {
	if d.next == nil {
		return
	}
	k := due{character: d.next.roll.Character, at: clock}
	if tick, ok := e.(*events.TickProcessed); ok {
		k = due{tick.Character, tick.Due, tick.Kind}
	}
	d.ticks[k] = append(d.ticks[k], *d.next)
	d.next = nil
}

// again gives the dice of the command once more, from the first.
func (d *commandDice) again() rules.Recorded {
	return &reading{commandDice: d, taken: map[due]int{}, hurt: maps.Clone(d.hurt)}
}

// reading is one reading of a command's dice.
type reading struct {
	*commandDice
	taken map[due]int
	hurt  map[string][]int // that are left
	fresh int              // ordinals that no record has
}

// Wound implements rules.Recorded. An ordinal that no record has follows from
// the command's place in the ledger, so that every correction comes to the
// same one.
func (r *reading) Wound(character string) int {
	if left := r.hurt[character]; len(left) > 0 {
		r.hurt[character] = left[1:]
		return left[0]
	}
	r.fresh++
	return -(int(r.first)*events.MaxCommitEvents + r.fresh)
}

// Own implements rules.Recorded.
func (r *reading) Own() rules.Dice {
	if r.own == nil {
		return faces{}
	}
	return facesOf(r.own, r.joint, nil)
}

// Tick implements rules.Recorded.
func (r *reading) Tick(character string, tick rules.Tick) rules.Dice {
	label := fmt.Sprintf("%s %d %d %d %s", r.shown, r.book.created[character], tick.Due, tick.Ordinal, tick.Kind)
	never := dice.WhatIfStream(label, r.last, rules.SystemPrincipal, 1, dice.Absent, dice.Absent)
	for _, k := range []due{{character, tick.Due, tick.Kind}, {character, tick.Due, ""}} {
		if i := r.taken[k]; i < len(r.ticks[k]) {
			r.taken[k]++
			return facesOf(r.ticks[k][i].roll, r.ticks[k][i].joint, never)
		}
	}
	return faces{stream: never}
}

// errNoDie says that a roll had no such die.
var errNoDie = errors.New("the recorded roll has no such die")

// faces are those that were typed in, and then those of a stream, if there is
// one.
type faces struct {
	typed  *[]events.Draw
	stream *dice.Stream
}

// facesOf gives the dice of a recorded roll: of its seed; or the faces that
// were typed in, and then those of another stream.
func facesOf(e *events.RollMade, joint dice.Seed, then *dice.Stream) rules.Dice {
	if e.Source != rules.SourceLedger {
		typed := e.Draws
		return faces{&typed, then}
	}
	s, err := dice.ParseSeed(e.S)
	if err != nil {
		return faces{}
	}
	w := e.W
	if w == "" {
		w = dice.Absent
	}
	return faces{stream: dice.NewStream(s, joint, e.Lane, e.I, e.C, w)}
}

// Die implements rules.Dice.
func (f faces) Die(sides int) (int, error) {
	if f.typed != nil && len(*f.typed) > 0 {
		next := (*f.typed)[0]
		if next[0] == uint32(sides) {
			*f.typed = (*f.typed)[1:]
			return int(next[1]), nil
		}
		*f.typed = nil
	}
	if f.stream == nil {
		return 0, errNoDie
	}
	return int(f.stream.Die(uint32(sides))), nil
}
