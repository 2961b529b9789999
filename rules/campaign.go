package rules

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
	"tallystick/rules/dice"
)

// A Book is a system with its commands and event types at hand.
type Book struct {
	System
	specs    map[string]CommandSpec
	registry events.Registry
}

// NewBook binds a system. It panics when the system claims a command or an
// event type that is taken.
func NewBook(s System) *Book {
	b := &Book{System: s, specs: map[string]CommandSpec{}, registry: events.Core()}
	for _, spec := range append(shared(), s.Commands()...) {
		if _, taken := b.specs[spec.Type]; taken {
			panic("rules: command " + spec.Type + " is registered twice")
		}
		b.specs[spec.Type] = spec
	}
	b.registry.Add(s.Events())
	return b
}

// Specs are the commands of a campaign of this system, by type.
func (b *Book) Specs() []CommandSpec {
	return slices.SortedFunc(maps.Values(b.specs), func(x, y CommandSpec) int { return cmp.Compare(x.Type, y.Type) })
}

// Registry reads the events of a campaign of this system.
func (b *Book) Registry() events.Registry { return b.registry }

// A Library is every system on board, and every edition of it.
type Library []*Book

// Find returns a system by name and edition; edition 0 is its newest.
func (l Library) Find(name string, edition int) (*Book, error) {
	var found *Book
	for _, b := range l {
		switch {
		case b.Name() != name:
		case edition == b.Edition():
			return b, nil
		case edition == 0 && (found == nil || b.Edition() > found.Edition()):
			found = b
		}
	}
	if found == nil {
		return nil, &MissingEdition{System: name, Edition: edition}
	}
	return found, nil
}

// MissingEdition says that a rule set is not on board: nothing can be said
// about what it would decide.
type MissingEdition struct {
	System  string
	Edition int
}

func (e *MissingEdition) Error() string {
	if e.Edition == 0 {
		return fmt.Sprintf("the rule system %q is not on board", e.System)
	}
	return fmt.Sprintf("edition %d of the rule system %q is not on board", e.Edition, e.System)
}

// Roles of participants.
const (
	RoleGM        = "gm"
	RolePlayer    = "player"
	RoleSpectator = "spectator"
)

// A Participant is somebody at the table.
type Participant struct{ Handle, Role, Name string }

// A Character is somebody in the game. Values of it are never changed: a fact
// puts another in its place.
type Character struct {
	ID, Name, Kind, Owner string
	Retired               bool
	Wounds                int // ordinal of the last wound; a correction gives none back
	Body                  Body
}

// A Lane is a chain of dice of one principal in one session. Values of it are
// never changed: a fact puts another in its place.
type Lane struct {
	Name      string
	Principal string
	Secret    bool // for the principal's private rolls
	Seating   int
	N         int // length of its chains
	S0        string
	C0, X0    string // "-" without a device
	Joint     dice.Seed
	Sealed    bool
	Used      int       // index of the last roll
	Known     int       // index of the newest link that has been shown
	Last      dice.Seed // that link, or the anchor
	// The device's chains, when there is one.
	CKnown int // index of the newest element of its own chain that was shown
	CLast  dice.Seed
	XAsked int // highest index of the witness chain that was asked for
	XKnown int // index of the newest element of it that was shown
	XLast  dice.Seed
}

// A Session is an evening of play. Values of it are never changed.
type Session struct {
	ID, Title, Kind string
	Private         bool     // the closing of the seats seats lanes for private rolls
	Seating         int      // number of the newest seating
	Joint           string   // of the newest sealed seating, "-" before
	Lanes           []*Lane  // in the order of seating
	Open            *Seating // the newest seating while it is not sealed
	Declared        *Declaration
	LastWitness     string // lane that was asked last
	Rolls, TypedIn  int
	Voided, Passed  int
	Lost            bool // records of it are missing: its dice may have been seen

	own *Lane // the copy of a lane that was made last, and that nobody else has seen
}

// lane returns the index of the lane a principal rolls on now, or -1.
func (s *Session) lane(principal string) int {
	for i := len(s.Lanes) - 1; i >= 0; i-- {
		if s.Lanes[i].Principal == principal && !s.Lanes[i].Secret && s.Lanes[i].Sealed {
			return i
		}
	}
	return -1
}

// secretLane returns the index of the lane for a participant's private rolls
// now, or -1.
func (s *Session) secretLane(handle string) int {
	for i := len(s.Lanes) - 1; i >= 0; i-- {
		if s.Lanes[i].Principal == handle && s.Lanes[i].Secret && s.Lanes[i].Sealed {
			return i
		}
	}
	return -1
}

func (s *Session) named(lane string) int {
	return slices.IndexFunc(s.Lanes, func(l *Lane) bool { return l.Name == lane })
}

// Pending is an advance of the clock that is not finished.
type Pending struct {
	Command  string // that asked for it
	From, To int64
	Ticks    int
	Parts    int // commits so far
	Followed *events.Followed
}

// Known is what a campaign remembers of a command: enough to answer a retry.
type Known struct {
	By          string
	First, Last int64 // its records
	Type        string
	fingerprint [16]byte
}

// Campaign is the folded state of one campaign: what Decide reads and what
// facts change. Only Apply changes it.
type Campaign struct {
	ID      string
	Created events.CampaignCreated
	Keys    LogKeys  // that sign its checkpoints
	VKeys   []string // of all its keys so far
	Options Options
	Book    *Book
	Clock   int64  // game seconds
	Next    int64  // n of the next record
	LastAt  string // wall clock of the last record
	Session *Session
	Pending *Pending
	Tempo   *Tempo // nil: the clock does not follow the one on the wall

	library      Library
	participants map[string]Participant
	characters   map[string]*Character
	order        []string // character ids, ascending
	known        commands
	sealed       map[int64]Sealed // secret rolls, targets and rulings that are not opened
	disputes     map[string]Dispute
	links        map[string]Link // that were not used yet
	corrections  []Correction
	// over holds the characters that a turn has changed, so that deciding
	// leaves the campaign as it was; nil outside a turn.
	over map[string]*Character
	last *Character // the one that was changed last; it is not in over yet
	// own is the session as whoever folds facts now has put it there: a roll may
	// still change it, because nobody else has seen it.
	own *Session
}

// NewCampaign is a campaign before its first record.
func NewCampaign(id string, library Library) *Campaign {
	return &Campaign{
		ID: id, library: library,
		participants: map[string]Participant{}, characters: map[string]*Character{}, sealed: map[int64]Sealed{},
		disputes: map[string]Dispute{},
	}
}

// Character finds one by id.
func (c *Campaign) Character(id string) (*Character, bool) {
	if c.last != nil && c.last.ID == id {
		return c.last, true
	}
	if ch, ok := c.over[id]; ok {
		return ch, true
	}
	ch, ok := c.characters[id]
	return ch, ok
}

// Characters are the ids of all characters, ascending.
func (c *Campaign) Characters() []string { return c.order }

// Participant finds one by handle.
func (c *Campaign) Participant(handle string) (Participant, bool) {
	p, ok := c.participants[handle]
	return p, ok
}

// Participants are all handles, ascending.
func (c *Campaign) Participants() []string { return slices.Sorted(maps.Keys(c.participants)) }

// Known finds what was made of a command id before.
func (c *Campaign) Known(command string) (Known, bool) {
	return c.known.find(command)
}

// Same reports whether a command is the one that was given before under its
// id.
func (k Known) Same(cmd Command) bool {
	return k.By == cmd.By && k.fingerprint == fingerprint(cmd.Record())
}

// SameCommand reports whether two commands ask for the same.
func SameCommand(a, b events.Cmd) bool { return fingerprint(a) == fingerprint(b) }

// Record is a command in the form of a record.
func (cmd Command) Record() events.Cmd {
	return events.Cmd{ID: cmd.ID, Type: cmd.Type, Data: cmd.Data, Dice: cmd.Dice, Seat: cmd.Seat}
}

func fingerprint(cmd events.Cmd) [16]byte {
	text := make([]byte, 0, 512)
	text = append(append(text, cmd.Type...), '\n')
	text = append(append(text, cmd.Data...), '\n')
	text = append(append(text, cmd.Visibility...), '\n')
	if cmd.Dice != nil {
		text = fmt.Appendln(text, cmd.Dice.Faces)
	}
	if cmd.Seat != nil {
		text = fmt.Appendln(text, *cmd.Seat)
	}
	sum := sha256.Sum256(text)
	return [16]byte(sum[:16])
}

// ApplyCommit folds a stored commit, given as the records in it. It refuses a
// gap, a record of another campaign, time running back and a fact it does not
// know: a state that skipped something would be wrong for ever after.
func (c *Campaign) ApplyCommit(recs []events.Record) error {
	c.own = nil
	for i, rec := range recs {
		switch {
		case rec.Campaign != c.ID:
			return fmt.Errorf("record %d belongs to campaign %s", rec.N, rec.Campaign)
		case rec.N != c.Next:
			return fmt.Errorf("record %d stands where record %d is due", rec.N, c.Next)
		case rec.At < c.LastAt:
			return fmt.Errorf("record %d: its time %s runs back behind %s", rec.N, rec.At, c.LastAt)
		case rec.Clock < c.Clock && rec.Type != "correction.made":
			return fmt.Errorf("record %d: game time %d runs back behind %d", rec.N, rec.Clock, c.Clock)
		}
		registry, err := c.registry(rec)
		if err != nil {
			return fmt.Errorf("record %d: %w", rec.N, err)
		}
		e, err := registry.Decode(rec)
		if err != nil {
			return err
		}
		if err := c.applyFrom(rec.Cmd.ID, rec.By, rec.At, rec.Clock, e); err != nil {
			return fmt.Errorf("record %d: %s: %w", rec.N, rec.Type, err)
		}
		c.Next, c.LastAt = rec.N+1, rec.At
		if i == 0 {
			c.remember(rec.Cmd, rec.By, rec.N, rec.N+int64(len(recs))-1)
		}
	}
	return nil
}

// ApplyFacts folds facts that were just appended under a head. It is
// ApplyCommit without the way over bytes.
func (c *Campaign) ApplyFacts(h events.Head, facts []events.Fact) error {
	c.own = nil
	for _, f := range facts {
		if err := c.applyFrom(h.Cmd.ID, h.By, h.At, f.Clock, f.Event); err != nil {
			return fmt.Errorf("record %d: %s: %w", c.Next, f.Event.Type(), err)
		}
		c.Next++
	}
	c.LastAt = h.At
	c.remember(h.Cmd, h.By, h.N, h.N+int64(len(facts))-1)
	return nil
}

func (c *Campaign) registry(rec events.Record) (events.Registry, error) {
	if c.Book != nil {
		return c.Book.registry, nil
	}
	if rec.Type != "campaign.created" {
		return nil, fmt.Errorf("a campaign begins with campaign.created, not with %s", rec.Type)
	}
	return events.Core(), nil
}

func (c *Campaign) remember(cmd events.Cmd, by string, first, last int64) {
	if cmd.Type == resumeType {
		var d ClockResume
		if json.Unmarshal(cmd.Data, &d) == nil {
			k, _ := c.known.find(d.Command)
			k.Last = last
			c.known.set(d.Command, k)
		}
	}
	c.known.set(cmd.ID, Known{By: by, First: first, Last: last, Type: c.typeName(cmd.Type), fingerprint: fingerprint(cmd)})
	if c.Pending != nil && cmd.Type != recoverType {
		p := *c.Pending
		p.Command = cmp.Or(p.Command, cmd.ID)
		p.Parts++
		c.Pending = &p
	}
}

// typeName is the one copy of the name of a command type.
func (c *Campaign) typeName(typ string) string {
	if spec, ok := c.Book.specs[typ]; ok {
		return spec.Type
	}
	return typ
}

// applyFrom is apply for facts that say less than is remembered of them: by
// which command they came, who gave it, and when.
func (c *Campaign) applyFrom(command, by, at string, clock int64, e events.Event) error {
	switch e := e.(type) {
	case *events.DisputeOpened:
		c.disputed(Dispute{ID: e.Dispute, Roll: e.Roll, By: by})
	case *events.CorrectionMade:
		c.corrected(command, e)
	case *events.TempoSet, *events.TempoResumed:
		err := c.apply(clock, e)
		c.Tempo.At = at
		return err
	case *events.LinkMade:
		c.linked(by, e)
	}
	return c.apply(clock, e)
}

// apply changes the state by one fact.
func (c *Campaign) apply(clock int64, e events.Event) error {
	c.Clock = max(c.Clock, clock)
	c.sign(c.Keys.after(e))
	c.keepTempo(clock, e)
	switch e := e.(type) {
	case *events.CampaignCreated:
		return c.created(e)
	case *events.SettingDefined:
		return c.define(e.Setting)
	case *events.ParticipantJoined:
		c.participants = maps.Clone(c.participants)
		c.participants[e.Handle] = Participant{e.Handle, e.Role, e.Name}
	case *events.ParticipantLeft:
		c.participants = maps.Clone(c.participants)
		delete(c.participants, e.Handle)
	case *events.SessionOpened:
		c.Session = &Session{ID: e.Session, Title: e.Title, Kind: e.Kind, Private: e.Private, Joint: dice.Absent}
	case *events.SessionClosed:
		c.Session = nil
	case *events.SeatTaken, *events.SeatingClosed, *events.SeatRevealed, *events.SeatingSealed,
		*events.RollMade, *events.RollSealed, *events.RollDeclared, *events.RollResolved, *events.RollPassed, *events.RollVoided:
		return c.applyDice(e)
	case *events.RollWidened:
		return c.widened(e)
	case *events.RollOpened:
		c.unseal(e.Sealed)
	case *events.TargetSealed:
		c.seal(Sealed{Session: e.Session, Seal: e.Seal, Target: true})
	case *events.TargetOpened:
		c.unseal(e.Sealed)
	case *events.RulingSealed:
		c.seal(Sealed{Session: e.Session, Seal: e.Seal, Ruling: true})
	case *events.RulingOpened:
		c.unseal(e.Sealed)
	case *events.LinkRolled:
		c.unlinked(e.Link)
	case *events.LedgerRecovered:
		c.lost()
	case *events.DisputeRuled:
		return c.ruled(e)
	case *events.CorrectionMade:
		c.Clock = clock // the one fact by which game time may run back
	case *events.ClockAdvancing:
		c.Pending = &Pending{From: e.From, To: e.To, Followed: e.Followed}
	case *events.ClockAdvanced:
		c.Pending = nil
	case events.CharacterEvent:
		return c.applyCharacter(e)
	}
	return nil
}

func (c *Campaign) created(e *events.CampaignCreated) error {
	book, err := c.library.Find(e.System, e.Edition)
	if err != nil {
		return err
	}
	c.Created, c.Book = *e, book
	c.Options = Options{values: e.Options, Setting: book.Setting()}
	for _, o := range book.Describe().Options {
		if _, ok := e.Options[o.Name]; !ok {
			return fmt.Errorf("the option %s has no value", o.Name)
		}
	}
	return c.define(e.Setting)
}

// define reads what the campaign defines itself; nothing leaves it as it is.
func (c *Campaign) define(raw jsontext.Value) error {
	if raw == nil {
		return nil
	}
	setting := c.Book.Setting()
	if setting == nil {
		return &Invalid{Field: "setting", Reason: "is not for this system: it has nothing that a campaign defines itself"}
	}
	if err := Unmarshal(raw, setting); err != nil {
		return within("setting", err)
	}
	if err := c.Book.CheckSetting(setting); err != nil {
		return within("setting", err)
	}
	c.Options.Setting = setting
	return nil
}

func (c *Campaign) applyCharacter(e events.CharacterEvent) error {
	id := e.Of().Character
	if e, ok := e.(*events.CharacterCreated); ok {
		body, _, err := c.body(e.Sheet, func(sheet any) (Body, []string, error) {
			return c.Book.Create(c.Options, sheet, false, c.Clock)
		})
		if err != nil {
			return err
		}
		c.put(&Character{ID: id, Name: e.Name, Kind: e.Kind, Owner: e.Owner, Body: body})
		i, _ := slices.BinarySearch(c.order, id)
		c.order = slices.Insert(slices.Clone(c.order), i, id)
		return nil
	}
	old, ok := c.Character(id)
	if !ok {
		return fmt.Errorf("the character %s is not known", id)
	}
	ch := *old
	switch e := e.(type) {
	case *events.CharacterAmended:
		body, _, err := c.body(e.Sheet, func(sheet any) (Body, []string, error) {
			return c.Book.Amend(c.Options, old.Body, sheet, c.Clock)
		})
		if err != nil {
			return err
		}
		ch.Body = body
	case *events.CharacterRetired:
		ch.Retired = true
	case *events.CharacterRestored:
		body, err := c.restored(e)
		if err != nil {
			return err
		}
		ch.Body, ch.Retired = body, e.Retired
	default:
		if w, ok := e.(*events.WoundInflicted); ok {
			ch.Wounds = max(ch.Wounds, w.Wound)
		}
		ch.Body = c.Book.Evolve(c.Options, ch.Body, c.Clock, e)
	}
	if _, tick := e.(*events.TickProcessed); tick && c.Pending != nil {
		p := *c.Pending
		p.Ticks++
		c.Pending = &p
	}
	c.put(&ch)
	return nil
}

// body reads a sheet in the terms of the campaign's system and makes a body
// of it.
func (c *Campaign) body(sheet jsontext.Value, make func(sheet any) (Body, []string, error)) (Body, []string, error) {
	s := c.Book.Sheet()
	if err := Unmarshal(sheet, s); err != nil {
		return nil, nil, within("sheet", err)
	}
	return make(s)
}

// within names the member that a complaint is about.
func within(field string, err error) error {
	if bad, ok := err.(*Invalid); ok {
		return &Invalid{Field: join(field, bad.Field), Reason: bad.Reason}
	}
	return err
}

func (c *Campaign) put(ch *Character) {
	switch {
	case c.over == nil:
		c.characters[ch.ID] = ch
	case c.last == nil || c.last.ID == ch.ID:
		c.last = ch
	default:
		c.over[c.last.ID], c.last = c.last, ch
	}
}

// changed are the characters that a turn has changed, for others to change further.
func (c *Campaign) changed() map[string]*Character {
	all := maps.Clone(c.over)
	if all == nil {
		all = map[string]*Character{}
	}
	if c.last != nil {
		all[c.last.ID] = c.last
	}
	return all
}

// fork is the campaign with its own room for changes.
func (c *Campaign) fork() *Campaign {
	f := *c
	f.over, f.last, f.own = c.changed(), nil, nil
	return &f
}

// Vitals is how a character stands now.
func (c *Campaign) Vitals(ch *Character) events.Vitals { return *c.vitals(ch, new(standing)) }

// standing is Vitals with room for what they point to.
type standing struct {
	events.Vitals
	next events.NextTick
}

func (c *Campaign) vitals(ch *Character, v *standing) *events.Vitals {
	v.Vitals = c.Book.Vitals(c.Options, ch.Body, c.Clock)
	if v.Conditions == nil {
		v.Conditions = []events.Condition{}
	}
	if tick, ok := c.nextTick(ch); ok {
		v.next = events.NextTick{Due: tick.Due, Kind: tick.Kind}
		v.NextTick = &v.next
	}
	return &v.Vitals
}

func (c *Campaign) nextTick(ch *Character) (Tick, bool) {
	if ch.Retired {
		return Tick{}, false
	}
	return c.Book.NextTick(c.Options, ch.Body)
}
