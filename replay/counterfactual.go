package replay

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
	"tallystick/rules"
)

// A History reads the commits of a campaign as they are stored, from the first
// one on, until there are no more or each returns an error, which it passes on.
type History func(each func(payload []byte) error) error

// errEnough ends a reading that has what it wants.
var errEnough = errors.New("enough")

// Correct is the difference that a correction makes to a campaign: its
// commands are decided once more without those that are taken back, every
// other one with the dice it had. A check that falls due only now, and so never
// had dice, takes them from a stream that nobody could choose (see dicebook).
// The campaign stays as it is. The time it takes grows with the history, the
// memory does not.
func Correct(history History, c *rules.Campaign, x rules.Correction) (*rules.Difference, error) {
	list := c.Corrections()
	after := newStory(c, append(slices.Clone(list), x))
	stories := []*story{after}
	var before *story
	if len(list) > 0 {
		before = newStory(c, list)
		stories = append(stories, before)
	}
	sheets, err := tell(history, c, stories)
	if err != nil {
		return nil, err
	}
	d, err := c.Compare(after.alt)
	if err != nil {
		return nil, err
	}
	for i, r := range d.Characters {
		if sheet := after.alt.Sheet(r.ID); !r.Gone && !bytes.Equal(sheet, sheets[r.ID]) {
			d.Characters[i].Sheet = sheet
		}
	}
	if before == nil {
		before = &story{}
	}
	d.Questioned = without(after.questioned, before.questioned)
	d.Undone = spans(without(after.fallen, before.fallen))
	d.Again = spans(slices.DeleteFunc(without(before.fallen, after.fallen), func(n int64) bool { return after.isSilent(n) }))
	return d, nil
}

// tell tells a campaign's history to stories, up to where the campaign stands.
// It returns the sheets of its characters as they are recorded.
func tell(history History, c *rules.Campaign, stories []*story) (map[string]jsontext.Value, error) {
	book := newDicebook(c.Book)
	next := int64(0)
	var held *chapter // an advance of which more parts may follow
	deliver := func() error {
		for _, s := range stories {
			if held == nil {
				break
			}
			if err := s.chapter(held); err != nil {
				return fmt.Errorf("record %d: %w", held.first(), err)
			}
		}
		held = nil
		return nil
	}
	err := history(func(payload []byte) error {
		recs, err := events.ParseCommit(payload)
		if err != nil {
			return &Unusable{N: next, Err: err}
		}
		if recs[0].Campaign != c.ID || recs[0].N != next {
			return &Unusable{N: recs[0].N, Err: fmt.Errorf("record %d of campaign %s is due", next, c.ID)}
		}
		next += int64(len(recs))
		if recs[0].Cmd.Type == "ledger.recover" && next < c.Next {
			return nil // nothing of the game, and perhaps in the middle of an advance
		}
		if held == nil || recs[0].Cmd.Type != "clock.resume" {
			if err := deliver(); err != nil {
				return err
			}
			held = newChapter(book, recs[0])
		}
		if err := held.read(recs); err != nil {
			return err
		}
		if next == c.Next {
			return errEnough // the record behind it may not be good
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	if next != c.Next {
		return nil, fmt.Errorf("%w: they end before record %d", rules.ErrNoHistory, next)
	}
	return book.sheets, deliver()
}

// chapter is one command of a history with everything that came of it, an
// advance of the clock in several parts as one.
type chapter struct {
	cmd   rules.Command
	dice  *commandDice
	facts []told
	book  *dicebook
}

// told is a fact as it was recorded. tick is the roll of the check that an
// event of an advance belongs to.
type told struct {
	n, clock int64
	event    events.Event
	tick     int64
}

func newChapter(book *dicebook, first events.Record) *chapter {
	cmd := rules.Command{ID: first.Cmd.ID, By: first.By, Type: first.Cmd.Type, Data: first.Cmd.Data}
	return &chapter{cmd: cmd, book: book, dice: book.command(first.N)}
}

func (ch *chapter) first() int64 { return ch.facts[0].n }

func (ch *chapter) advances() bool { return slices.Contains(advances, ch.cmd.Type) }

// read takes the records of the command, or of one part of it.
func (ch *chapter) read(recs []events.Record) error {
	var roll int64 // that the events of a check follow from
	fresh := false // it stands right before
	for _, rec := range recs {
		e, err := ch.book.registry.Decode(rec)
		if err != nil {
			return &Unusable{N: rec.N, Err: err}
		}
		if ch.cmd.Type == "roll.witness" && rec.Type == "roll.resolved" {
			inner := ch.book.declared[e.(*events.RollResolved).Declared]
			inner.ID = ch.cmd.ID
			ch.cmd = inner
		}
		if err := ch.book.note(rec, e, ch); err != nil {
			return &Unusable{N: rec.N, Err: err}
		}
		if _, due := e.(*events.TickProcessed); due && !fresh {
			roll = 0
		}
		ch.facts = append(ch.facts, told{n: rec.N, clock: rec.Clock, event: e, tick: roll})
		if _, fresh = throws(e); fresh {
			roll = rec.N
		}
	}
	return nil
}

// throws are the questions that a roll answered.
func throws(e events.Event) ([]events.Throw, bool) {
	switch e := e.(type) {
	case *events.RollMade:
		return append([]events.Throw{e.Throw}, e.Also...), true
	case *events.RollResolved:
		return append([]events.Throw{e.Throw}, e.Also...), true
	}
	return nil, false
}

// story is a campaign told without the commands that some corrections take
// back.
type story struct {
	alt        *rules.Alternative
	book       *rules.Book
	silent     map[string]string // commands that are taken back
	muted      []events.Span     // their records
	parted     bool              // from here on it is another story
	questioned []int64
	fallen     []int64 // records that do not come to pass in it
}

func newStory(c *rules.Campaign, list []rules.Correction) *story {
	return &story{alt: c.Alternative(), book: c.Book, silent: rules.TakenBack(list)}
}

// isSilent reports whether a record is one of a command that is taken back.
func (s *story) isSilent(n int64) bool {
	i, exact := slices.BinarySearchFunc(s.muted, n, func(m events.Span, n int64) int { return cmp.Compare(m.First, n) })
	return exact || i > 0 && n <= s.muted[i-1].Last
}

// chapter tells one command.
func (s *story) chapter(ch *chapter) error {
	switch _, silent := s.silent[ch.cmd.ID]; {
	case silent:
		s.parted = true
		s.muted = append(s.muted, events.Span{First: ch.first(), Last: ch.facts[len(ch.facts)-1].n})
		return nil
	case ch.cmd.Type == "correction.make":
		return nil // what it did is told by leaving commands out
	case s.parted && s.book.Revocable(ch.cmd.Type):
		return s.again(ch)
	}
	for _, f := range ch.facts {
		clock := f.clock
		if s.parted {
			clock = s.alt.Clock()
		}
		if err := s.alt.Apply(f.n, clock, f.event); err != nil {
			return err
		}
	}
	return nil
}

// again decides a command once more. When its own dice would be read in
// another way, or the rules would refuse it, its recorded outcome stands and is
// put into question. What time brings is as it comes.
func (s *story) again(ch *chapter) error {
	facts, adopt, err := s.alt.Decide(ch.first(), ch.cmd, ch.dice.again())
	if err != nil && !refused(err) {
		return err
	}
	if err == nil && (ch.advances() || slices.Equal(asked(ch.facts, factEvent), asked(facts, liveEvent))) {
		adopt()
		s.compare(ch, facts)
		return nil
	}
	s.questioned = append(s.questioned, ch.question())
	for _, f := range ch.facts {
		if e, of := f.event.(events.CharacterEvent); of {
			if err := s.alt.Stand(f.n, e); err != nil {
				return err
			}
		}
	}
	for _, f := range ch.facts {
		if s.gone(f.event) {
			s.fallen = append(s.fallen, f.n)
		}
	}
	return nil
}

func refused(err error) bool {
	return errors.As(err, new(*rules.Rejection)) || errors.As(err, new(*rules.Invalid)) || errors.As(err, new(*rules.Forbidden)) || errors.Is(err, errNoDie)
}

// question is the record to show the game master: the roll, if there was one.
func (ch *chapter) question() int64 {
	for _, f := range ch.facts {
		if _, roll := throws(f.event); roll {
			return f.n
		}
	}
	return ch.first()
}

func factEvent(f told) events.Event        { return f.event }
func liveEvent(f events.Fact) events.Event { return f.Event }

// asked are the questions put to the dice, and how they came out, as text.
func asked[T any](facts []T, event func(T) events.Event) []string {
	var all []string
	for _, f := range facts {
		list, roll := throws(event(f))
		if !roll {
			continue
		}
		text, err := json.Marshal(list, json.Deterministic(true))
		if err != nil {
			panic("replay: a throw cannot be written: " + err.Error())
		}
		all = append(all, string(text))
	}
	return all
}

// gone reports whether a recorded death or condition is not there in a story
// in which the command's recorded outcome stands.
func (s *story) gone(e events.Event) bool {
	switch e := e.(type) {
	case *events.CharacterDied:
		return s.alt.Alive(e.Character)
	case *events.ConditionGained:
		return !s.alt.Has(e.Character, e.Condition)
	case *events.ConditionEnded:
		return s.alt.Has(e.Character, e.Condition)
	}
	return false
}

// compare notes the records that follow from time and wounds and do not come
// to pass here, with the rolls that were made for them.
func (s *story) compare(ch *chapter, facts []events.Fact) {
	came := map[string]int{}
	for _, f := range facts {
		if key, ok := essence(f.Clock, f.Event); ok {
			came[key]++
		}
	}
	rolled := int64(-1)
	for _, f := range ch.facts {
		key, ok := essence(f.clock, f.event)
		if !ok {
			continue
		}
		if came[key] > 0 {
			came[key]--
			continue
		}
		if _, due := f.event.(*events.TickProcessed); due && f.tick > rolled && f.tick != 0 {
			rolled = f.tick
			s.fallen = append(s.fallen, f.tick)
		}
		s.fallen = append(s.fallen, f.n)
	}
}

// essence is what makes an event that follows from others the same event, as
// text.
func essence(clock int64, e events.Event) (string, bool) {
	switch e := e.(type) {
	case *events.TickProcessed:
		return fmt.Sprint(clock, " tick ", e.Character, " ", e.Due, " ", e.Change, " ", e.Kind), true
	case *events.CharacterDied:
		return fmt.Sprint(clock, " died ", e.Character), true
	case *events.ConditionGained:
		return fmt.Sprint(clock, " gained ", e.Character, " ", e.Until, " ", e.Condition), true
	case *events.ConditionEnded:
		return fmt.Sprint(clock, " ended ", e.Character, " ", e.Condition), true
	case *events.HealGranted:
		return fmt.Sprint(clock, " healed ", e.Character, " ", e.Points), true
	}
	return "", false
}

// without is a less what is in b too; both rise.
func without(a, b []int64) []int64 {
	out := []int64{}
	for _, n := range a {
		if _, in := slices.BinarySearch(b, n); !in {
			out = append(out, n)
		}
	}
	return out
}

// spans writes rising numbers as runs.
func spans(list []int64) []events.Span {
	out := []events.Span{}
	for _, n := range list {
		if k := len(out) - 1; k >= 0 && out[k].Last+1 == n {
			out[k].Last = n
			continue
		}
		out = append(out, events.Span{First: n, Last: n})
	}
	return out
}
