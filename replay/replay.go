// Package replay decides every recorded command of a campaign again, from the
// recorded seeds, and compares what comes out with what is stored, byte for
// byte.
//
// It is pure: records come in, a verdict goes out. Ids, times and seeds are
// taken from the record; everything else is decided anew. It draws from no
// chain, sends nothing and writes nothing.
package replay

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"tallystick/events"
	"tallystick/rules"
	"tallystick/rules/dice"
)

// A Divergence is the first place where the rules decide something else than
// what is stored.
type Divergence struct {
	Campaign string `json:"campaign"`
	N        int64  `json:"n"`     // of the record
	Field    string `json:"field"` // path into it: data.total
	Stored   string `json:"stored"`
	Decided  string `json:"decided"`
}

func (d *Divergence) Error() string {
	return fmt.Sprintf("campaign %s, record %d, %s: stored %s, decided %s", d.Campaign, d.N, d.Field, d.Stored, d.Decided)
}

// Unusable says that a ledger cannot be replayed at all: it is damaged, or its
// rules are not on board.
type Unusable struct {
	N   int64 // of the first record that cannot be used
	Err error
}

func (u *Unusable) Error() string { return fmt.Sprintf("record %d: %v", u.N, u.Err) }

// Unwrap gives the reason.
func (u *Unusable) Unwrap() error { return u.Err }

// A Replayer decides one campaign again, commit by commit.
type Replayer struct {
	// History reads the campaign's commits once more, as far as they have been
	// replayed: a correction is decided by them. Without it the replayer keeps
	// up to MaxKept bytes of them itself.
	History History

	kept     [][]byte
	size     int
	library  rules.Library
	campaign *rules.Campaign
	commands int64
	written  []byte // room for what was decided of one commit
}

// New makes a replayer that knows the systems in a library.
func New(library rules.Library) *Replayer { return &Replayer{library: library} }

// Campaign is the state after the commits so far; nil before the first.
func (r *Replayer) Campaign() *rules.Campaign { return r.campaign }

// Commands and Records are how many were found identical so far.
func (r *Replayer) Commands() int64 { return r.commands }

// Records is the number of records found identical so far.
func (r *Replayer) Records() int64 {
	if r.campaign == nil {
		return 0
	}
	return r.campaign.Next
}

// commit is the records of one command as they were read.
type commit struct {
	recs    []events.Record
	events  []events.Event // of the records; nil, or nil for one, when not decoded
	payload []byte         // the records as stored
}

// add puts the next record behind the others.
func (c *commit) add(rec events.Record, e events.Event, line []byte) {
	if len(c.recs) > 0 {
		c.payload = append(c.payload, '\n')
	}
	c.payload = append(c.payload, line...)
	c.recs, c.events = append(c.recs, rec), append(c.events, e)
}

// holds reports whether a record is of the same command.
func (c *commit) holds(rec events.Record) bool {
	first := &c.recs[0]
	return rec.Cmd.ID == first.Cmd.ID && rec.By == first.By && rec.At == first.At
}

// emptied is the commit without records, in the same memory but for a payload that
// somebody may have kept.
func (c *commit) emptied(kept bool) commit {
	if kept {
		c.payload = nil
	}
	return commit{c.recs[:0], c.events[:0], c.payload[:0]}
}

// event is that of a record.
func (c *commit) event(i int) (events.Event, error) {
	if i < len(c.events) && c.events[i] != nil {
		return c.events[i], nil
	}
	return core.Decode(c.recs[i])
}

// Commit decides the next commit again. It returns a *Divergence, or an
// *Unusable when there is nothing to compare. The payload may be kept: nobody may
// change it afterwards.
func (r *Replayer) Commit(payload []byte) error {
	recs, err := events.SkimCommit(payload)
	if err == nil {
		if err = r.commit(commit{recs: recs, payload: payload}); err == nil {
			return nil
		}
	}
	// It is not what the rules decide. That is said only of what are records at all.
	if _, damaged := events.ParseCommit(payload); damaged != nil {
		return &Unusable{N: r.Records(), Err: damaged}
	}
	return err
}

func (r *Replayer) commit(c commit) error {
	first := c.recs[0]
	if r.campaign == nil {
		library, err := LibraryOf(r.library, first)
		if err != nil {
			return &Unusable{N: first.N, Err: err}
		}
		r.campaign = rules.NewCampaign(first.Campaign, library)
	}
	cmd := rules.Command{ID: first.Cmd.ID, By: first.By, Type: first.Cmd.Type, Data: first.Cmd.Data, Dice: first.Cmd.Dice, Seat: first.Cmd.Seat}
	head := events.Head{Campaign: first.Campaign, N: first.N, At: first.At, By: first.By, Cmd: first.Cmd}
	facts, err := r.decide(r.campaign, cmd, head, c)
	if err != nil {
		return err
	}
	// The bytes are the same, so the facts that were decided are the ones that
	// are stored: reading them from the records again would give nothing new.
	if first.At < r.campaign.LastAt {
		return &Unusable{N: first.N, Err: fmt.Errorf("its time %s runs back behind %s", first.At, r.campaign.LastAt)}
	}
	if err := r.campaign.ApplyFacts(head, facts); err != nil {
		return &Unusable{N: first.N, Err: err}
	}
	r.commands++
	r.remember(c.payload)
	return nil
}

// MaxKept is how many bytes of commits a Replayer without a History keeps.
const MaxKept = 64 << 20

func (r *Replayer) remember(payload []byte) {
	switch r.size += len(payload); {
	case r.History != nil:
	case r.size > MaxKept:
		r.kept = nil
	default:
		r.kept = append(r.kept, payload)
	}
}

func (r *Replayer) remembered(each func(payload []byte) error) error {
	if r.size > MaxKept {
		return fmt.Errorf("%w: there are more than %d bytes of them, and they cannot be read again", rules.ErrNoHistory, MaxKept)
	}
	for _, payload := range r.kept {
		if err := each(payload); err != nil {
			return err
		}
	}
	return nil
}

// Again is the history of an export that can be read at any place: its first
// records, as many bytes as there are.
func Again(in io.ReaderAt, bytes int64) History {
	return func(each func(payload []byte) error) error {
		if err := Commits(io.NewSectionReader(in, 0, bytes), each); err != nil {
			if errors.As(err, new(*Unusable)) {
				return fmt.Errorf("%w: %w", rules.ErrNoHistory, err)
			}
			return err
		}
		return nil
	}
}

func (r *Replayer) decide(c *rules.Campaign, cmd rules.Command, head events.Head, stored commit) ([]events.Fact, error) {
	recs, first := stored.recs, stored.recs[0]
	if first.Campaign != c.ID || first.N != c.Next {
		return nil, &Unusable{N: first.N, Err: fmt.Errorf("it stands where record %d of campaign %s is due", c.Next, c.ID)}
	}
	source, err := recorded(c, stored)
	if err != nil {
		return nil, &Unusable{N: first.N, Err: err}
	}
	source.history = r.History
	if source.history == nil {
		source.history = r.remembered
	}
	facts, err := rules.Decide(c, cmd, source)
	var missing *rules.MissingEdition
	switch {
	case errors.As(err, &missing), errors.Is(err, rules.ErrNoHistory):
		return nil, &Unusable{N: first.N, Err: err}
	case err != nil:
		return nil, &Divergence{Campaign: c.ID, N: first.N, Field: "cmd", Stored: first.Cmd.Type + " was executed", Decided: err.Error()}
	}
	decided, err := events.AppendCommit(r.written[:0], head, facts, func(i int) string { return recs[min(i, len(recs)-1)].ID })
	r.written = decided
	if err != nil {
		return nil, &Unusable{N: first.N, Err: err}
	}
	if bytes.Equal(decided, stored.payload) {
		return facts, nil
	}
	return nil, firstDifference(c.ID, first.N, events.SplitCommit(stored.payload), events.SplitCommit(decided))
}

// seeds are the dice of one commit as its records tell them.
type seeds struct {
	anchors map[string]dice.Seed // by lane
	links   []link
	asked   int // how many of them were; they are asked for in turn
	history History
}

// link is an element of a lane's chain.
type link struct {
	lane string
	i    int
	seed dice.Seed
}

// Correct implements rules.Histories.
func (s *seeds) Correct(c *rules.Campaign, x rules.Correction) (*rules.Difference, error) {
	return Correct(s.history, c, x)
}

func recorded(c *rules.Campaign, stored commit) (*seeds, error) {
	s := &seeds{}
	for i := range stored.recs {
		rec := &stored.recs[i]
		if !slices.Contains(seeded, rec.Type) {
			continue
		}
		if i >= len(stored.events) { // not decoded, and need not be
			if roll, ok := events.Origin(rec); ok {
				if err := s.link(roll.Source, roll.Lane, roll.I, roll.S); err != nil {
					return nil, fmt.Errorf("record %d: s: %w", rec.N, err)
				}
				continue
			}
		}
		e, err := stored.event(i)
		if err != nil {
			return nil, err
		}
		switch e := e.(type) {
		case *events.SeatTaken:
			seed, err := dice.ParseSeed(e.S0)
			if err != nil {
				return nil, fmt.Errorf("record %d: s0: %w", rec.N, err)
			}
			if s.anchors == nil {
				s.anchors = map[string]dice.Seed{}
			}
			s.anchors[e.Lane] = seed
			continue
		case *events.RollMade:
			err = s.link(e.Source, e.Lane, e.I, e.S)
		case *events.RollResolved:
			err = s.link(e.Source, e.Lane, e.I, e.S)
		case *events.RollVoided:
			if c.Session != nil && c.Session.Declared != nil {
				err = s.link(rules.SourceLedger, c.Session.Declared.Lane, c.Session.Declared.I, e.S)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("record %d: s: %w", rec.N, err)
		}
	}
	return s, nil
}

// seeded are the events that show a part of the server's chains.
var (
	seeded = []string{"seat.taken", "roll.made", "roll.resolved", "roll.voided"}
	core   = events.Core()
)

func (s *seeds) link(source, lane string, i int, text string) error {
	if source != rules.SourceLedger {
		return nil
	}
	seed, err := dice.ParseSeed(text)
	if err != nil {
		return err
	}
	s.links = append(s.links, link{lane, i, seed})
	return nil
}

// Anchor implements rules.Chains.
func (s *seeds) Anchor(_, lane string, _ int) (dice.Seed, error) {
	seed, ok := s.anchors[lane]
	if !ok {
		return seed, fmt.Errorf("the record has no seat for lane %s", lane)
	}
	return seed, nil
}

// Link implements rules.Chains.
func (s *seeds) Link(_, lane string, _, i int) (dice.Seed, error) {
	for k := range s.links {
		at := (s.asked + k) % len(s.links)
		if l := s.links[at]; l.lane == lane && l.i == i {
			s.asked = at + 1
			return l.seed, nil
		}
	}
	return dice.Seed{}, fmt.Errorf("the record has no roll %d of lane %s", i, lane)
}

// Ledger decides a whole export again: records as stored, one a line.
func (r *Replayer) Ledger(in io.Reader) error {
	return Commits(in, r.Commit)
}

// Commits cuts an export into its commits: a record that carries a whole
// command begins one.
func Commits(in io.Reader, each func(payload []byte) error) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), events.MaxRecord+1)
	lines.Split(scanLF)
	var commit []byte
	var n int64
	for ; lines.Scan(); n++ {
		line := lines.Bytes()
		rec, err := events.Parse(line)
		if err != nil {
			return &Unusable{N: n, Err: err}
		}
		if rec.Cmd.Type != "" && commit != nil {
			if err := each(commit); err != nil {
				return err
			}
			commit = nil
		}
		if commit != nil {
			commit = append(commit, '\n')
		}
		commit = append(commit, line...)
	}
	if err := lines.Err(); err != nil {
		return &Unusable{N: n, Err: err}
	}
	if commit == nil {
		return &Unusable{N: 0, Err: errors.New("there is no record in it")}
	}
	return each(commit)
}

// scanLF cuts at LF alone: a CR belongs to the record, which then is refused.
func scanLF(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}
