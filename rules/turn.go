package rules

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
	"tallystick/rules/dice"
)

// Sources of dice.
const (
	SourceLedger   = "ledger"
	SourcePhysical = "physical"
)

// noSession is the code of what needs a session and has none.
const noSession = "no_session"

// SecretLane is the first game master's lane for secret rolls. Everybody else
// has one of their own: see PrivateLane.
const SecretLane = "gm-secret"

// Chains gives the server's part of the dice. The shell makes it from the
// master key, a replay from the record.
type Chains interface {
	// Anchor is element 0 of the chain of a lane that is n elements long.
	Anchor(session, lane string, n int) (dice.Seed, error)
	// Link is element i of it.
	Link(session, lane string, n, i int) (dice.Seed, error)
}

// A Turn is one command being decided. What is emitted takes effect for the
// rest of the turn at once; the campaign itself stays as it was.
type Turn struct {
	c      *Campaign
	cmd    Command
	chains Chains
	facts  []events.Fact
	bytes  int            // of the facts that are encoded
	writer events.Encoder // of these facts
	dice   dice.Stream    // of the scope, when it is one of a lane
	throws slab[Throw]
	rolls  slab[events.RollMade]
	states slab[standing]
	hand   []int
	err    error // the first thing that went wrong with the dice
	scope  scope
	// oracle gives the faces when nothing is decided for good: see Branches.
	oracle func(sides int) int
	// again gives them when a command is decided again apart from the ledger:
	// see Alternative.
	again Recorded
	// otherwise gives the dice of a decision that is never stored: see
	// DecideOtherwise.
	otherwise Otherwise
}

// scope is what shares one roll of the ledger: a command, or a tick.
type scope struct {
	principal string
	secret    bool // the dice come from the principal's lane for private rolls
	start     int  // of its facts
	before    []events.Fact
	shown     []int // before the dice of the stream
	stream    interface{ Die(sides uint32) uint32 }
	given     Dice             // of a command that is decided again
	witness   *witnessed       // of a declared roll
	call      int64            // n of the hidden target it is made against
	roll      *events.RollMade // with lane, index and seed once a die is drawn
	draws     []events.Draw
	throws    []*Throw
}

// reset makes it the scope of nothing, in the same memory.
func (s *scope) reset() { *s = scope{draws: s.draws[:0], throws: s.throws[:0]} }

func newTurn(c *Campaign, cmd Command, chains Chains) *Turn {
	t := &Turn{c: c.fork(), cmd: cmd, chains: chains}
	if cmd.Dice != nil {
		t.hand = slices.Clone(cmd.Dice.Faces)
	}
	return t
}

// Options are the campaign's.
func (t *Turn) Options() Options { return t.c.Options }

// Clock is the game time of what is being decided, in seconds.
func (t *Turn) Clock() int64 { return t.c.Clock }

// By is the handle of who commands.
func (t *Turn) By() string { return t.cmd.By }

// Command is the id of the command, which is also the id of the one thing it
// may create.
func (t *Turn) Command() string { return t.cmd.ID }

// GM reports whether a game master commands.
func (t *Turn) GM() bool {
	p, _ := t.c.Participant(t.cmd.By)
	return p.Role == RoleGM
}

// Character finds a character that is in play, dead or alive. field is the
// command's field that names it, for the rejection.
func (t *Turn) Character(field, id string) (*Character, error) {
	ch, ok := t.c.Character(id)
	if !ok {
		return nil, Reject("unknown_character", "", "there is no character %q in this campaign", id).On(field)
	}
	if ch.Retired {
		return nil, Reject("retired", "", "%s has been retired", ch.Name).On(field)
	}
	return ch, nil
}

// Again is the character as it stands after what was emitted in this turn.
func (t *Turn) Again(ch *Character) *Character {
	now, ok := t.c.Character(ch.ID)
	if !ok {
		panic("rules: " + ch.ID + " vanished")
	}
	return now
}

// Living is Character for those who must be alive.
func (t *Turn) Living(field, id string) (*Character, error) {
	ch, err := t.Character(field, id)
	if err == nil && !t.c.Vitals(ch).Alive {
		return nil, Reject("dead", "", "%s is dead", ch.Name).On(field)
	}
	return ch, err
}

// Emit adds a fact. A fact about a character is given its After, a wound its
// ordinal.
func (t *Turn) Emit(e events.Event) {
	if t.err != nil {
		return
	}
	if w, ok := e.(*events.WoundInflicted); ok {
		w.Wound = t.ordinal(w.Character)
	}
	if err := t.c.apply(t.c.Clock, e); err != nil {
		t.err = err
		return
	}
	if ce, ok := e.(events.CharacterEvent); ok {
		ch, _ := t.c.Character(ce.Of().Character)
		ce.Of().After = t.c.vitals(ch, t.states.next())
	}
	t.facts = append(t.facts, events.Fact{Clock: t.c.Clock, Event: e})
}

// ordinal is that of the next wound of a character: the one after its last. A
// wound that is decided again keeps the one it has on record.
func (t *Turn) ordinal(character string) int {
	if t.again != nil {
		return t.again.Wound(character)
	}
	ch, _ := t.c.Character(character)
	return ch.Wounds + 1
}

// State writes what a system says of a body in Vitals beside its health: a
// struct whose members are left out when they say nothing.
func State(v any) jsontext.Value {
	state, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic("rules: a state that cannot be written: " + err.Error())
	}
	return state
}

// begin opens a scope: the dice of what follows come from one roll of the
// principal's lane.
func (t *Turn) begin(principal string) {
	t.scope.reset()
	t.scope.principal, t.scope.start = principal, len(t.facts)
}

// end closes the scope: its roll stands before the facts that followed from
// it, behind a renewal of the lane if there was one.
func (t *Turn) end() {
	s := &t.scope
	if t.err != nil || len(s.draws) == 0 || t.oracle != nil {
		t.scope.reset()
		return
	}
	t.finish()
	var made events.Event = s.roll
	if s.witness != nil {
		made = &events.RollResolved{Declared: s.witness.declared, RollMade: *s.roll}
	}
	if t.again == nil {
		if err := t.c.apply(t.c.Clock, made); err != nil {
			t.err = fmt.Errorf("%s: %w", made.Type(), err)
			return
		}
	}
	t.facts = slices.Insert(t.facts, s.start, events.Fact{Clock: t.c.Clock, Event: made})
	t.facts = slices.Insert(t.facts, s.start, s.before...)
	t.scope.reset()
}

// rolled is the roll of the scope.
func (t *Turn) rolled() *events.RollMade {
	if t.scope.roll == nil {
		t.scope.roll = t.rolls.next()
	}
	return t.scope.roll
}

// finish puts the throws together into the event.
func (t *Turn) finish() {
	s := &t.scope
	rest := s.draws
	for _, th := range s.throws {
		own := min(len(th.Draws), len(rest))
		if !slices.Equal(th.Draws, rest[:own]) {
			panic("rules: a throw went on after the next had begun")
		}
		rest = rest[own:]
	}
	t.rolled().Call = s.call
	if t.c.Session != nil { // a correction may bring checks about that fall due outside of one
		s.roll.Session = t.c.Session.ID
	}
	for i, th := range s.throws {
		th.close()
		if i == 0 {
			s.roll.Throw = th.Throw
			if len(s.throws) > 1 {
				s.roll.Throw.Draws = slices.Clone(s.draws)
			}
			continue
		}
		s.roll.Also = append(s.roll.Also, th.Throw)
	}
}

// A die is a kind of die: how many sides it has, and the lowest number on
// them, from which the others go up by one. It is drawn as 1 to sides, and
// typed in as it shows.
type die struct{ sides, low int }

// fudgeDie shows -1, 0 or 1.
var fudgeDie = die{sides: 3, low: -1}

func (d die) String() string {
	if d == fudgeDie {
		return "dF (-1, 0 or 1)"
	}
	return fmt.Sprintf("d%d", d.sides)
}

// draw takes one die. After the first thing that goes wrong every die is drawn
// as 1, and the turn fails in the end.
func (t *Turn) draw(d die) int {
	if t.err != nil {
		return 1
	}
	face, err := t.face(d)
	if err != nil {
		t.err = err
		return 1
	}
	t.scope.draws = append(t.scope.draws, events.Draw{uint32(d.sides), uint32(face)})
	return face
}

func (t *Turn) face(d die) (int, error) {
	sides := d.sides
	if t.oracle != nil {
		return t.oracle(sides), nil
	}
	if t.again != nil {
		return t.scope.given.Die(sides)
	}
	if t.c.Session == nil {
		return 0, Reject(noSession, "", "dice are thrown only inside a session: open one first (session.open)")
	}
	if t.cmd.Dice != nil && (t.otherwise == nil || len(t.hand) > 0) {
		return t.faceByHand(d)
	}
	if t.scope.stream == nil {
		if err := t.beginRoll(); err != nil {
			return 0, err
		}
	}
	if faces := t.scope.shown; len(faces) > 0 {
		if faces[0] < 1 || faces[0] > sides {
			return 0, Reject("impossible_face", "", "a die shows %d, but it is a d%d", faces[0], sides).On("dice")
		}
		t.scope.shown = faces[1:]
		return faces[0], nil
	}
	return int(t.scope.stream.Die(uint32(sides))), nil
}

func (t *Turn) faceByHand(d die) (int, error) {
	k := len(t.cmd.Dice.Faces) - len(t.hand)
	if len(t.hand) == 0 {
		th := t.scope.throws[len(t.scope.throws)-1]
		what := d.String()
		if th.Purpose != "" {
			what += " for " + th.Purpose
		}
		return 0, Reject("more_dice", "", "the rules ask for one more die: %s; send all faces in one command", what).On("dice.faces")
	}
	shown := t.hand[0]
	if shown < d.low || shown >= d.low+d.sides {
		return 0, Reject("impossible_face", "", "die %d shows %d, but it is a %s", k+1, shown, d).On(fmt.Sprintf("dice.faces.%d", k))
	}
	t.hand = t.hand[1:]
	t.rolled().Source = SourcePhysical
	return shown - d.low + 1, nil
}

// beginRoll takes the next link of the principal's lane.
func (t *Turn) beginRoll() error {
	s := &t.scope
	if err := t.unforeseen(); err != nil {
		return err
	}
	k, err := t.rollsOn()
	if err != nil {
		return err
	}
	if k < 0 {
		return Reject("no_seat", "", "%s has no seat in this session: take one first (seat.take), or let the seats be sealed", s.principal)
	}
	if t.c.Session.Declared != nil && t.c.Session.Declared.Lane == t.c.Session.Lanes[k].Name && s.witness == nil {
		return Reject("declared_roll_open", "", "a declared roll is still open: its dice come first on this lane (roll.witness, roll.pass or roll.void)")
	}
	if k, err = t.renewed(k); err != nil {
		return err
	}
	lane := t.c.Session.Lanes[k]
	i := lane.Used + 1
	if t.otherwise != nil {
		taken := t.otherwise.Dice(t.c.Session.ID, *lane, i)
		s.shown, s.stream = taken.Faces, taken.Stream
		roll := t.rolled()
		roll.Lane, roll.I, roll.S, roll.C, roll.W, roll.Source = lane.Name, i, taken.S, taken.C, taken.W, taken.Source
		return nil
	}
	if i > lane.N {
		return Reject("lane_used_up", "", "the lane %s has no links left: take a new seat (seat.take), or open a new session", lane.Name)
	}
	c, err := t.deviceLink(lane, i)
	if err != nil {
		return err
	}
	seed, err := t.link(lane, i)
	if err != nil {
		return err
	}
	w := dice.Absent
	if s.witness != nil {
		w = s.witness.w
	}
	t.dice.Begin(seed, lane.Joint, lane.Name, i, c, w)
	s.stream = &t.dice
	roll := t.rolled()
	roll.Lane, roll.I, roll.S, roll.C, roll.Source = lane.Name, i, seed.String(), c, SourceLedger
	if s.witness != nil {
		roll.W = w
	}
	return nil
}

// rollsOn is the index of the lane that the scope's dice come from, or -1. A
// lane for private rolls is seated when it is first needed, except where
// devices take part: there the program alone could choose it.
func (t *Turn) rollsOn() (int, error) {
	s := &t.scope
	if !s.secret {
		return t.c.Session.lane(s.principal), nil
	}
	k := t.c.Session.secretLane(s.principal)
	if k >= 0 {
		return k, nil
	}
	if t.c.Session.Open != nil || t.devices() {
		return -1, Reject("no_private_lane", "", "%s has no lane for private rolls in this session: where devices take part it has to be opened with one (session.open, private)", s.principal).On("visibility")
	}
	facts, err := t.seat([]sitter{{s.principal, true}})
	s.before = append(s.before, facts...)
	return t.c.Session.secretLane(s.principal), err
}

// renewed is the lane that the scope rolls on after lane k, when that is near
// its end; else k.
func (t *Turn) renewed(k int) (int, error) {
	if !t.renewable(t.c.Session.Lanes[k]) {
		return k, nil
	}
	s := &t.scope
	facts, err := t.seat([]sitter{{s.principal, s.secret}})
	if err != nil {
		return k, err
	}
	s.before = append(s.before, facts...)
	return t.rollsOn()
}

// link takes element i of a lane's server chain and holds it against the
// newest one that was shown.
func (t *Turn) link(lane *Lane, i int) (dice.Seed, error) {
	seed, err := t.chains.Link(t.c.Session.ID, lane.Name, lane.N, i)
	if err != nil {
		return seed, err
	}
	if !follows(seed, i, lane.Last, lane.Known) {
		return seed, fmt.Errorf("link %d of lane %s does not belong to the chain it was committed to", i, lane.Name)
	}
	return seed, nil
}

// follows reports whether element i of a chain leads back to element known.
func follows(element dice.Seed, i int, last dice.Seed, known int) bool {
	for ; i > known; i-- {
		element = element.Next()
	}
	return i == known && element == last
}

// deviceLink is the element of the roller's own chain, or dice.Absent for a
// lane without a device.
func (t *Turn) deviceLink(lane *Lane, i int) (string, error) {
	if lane.C0 == dice.Absent {
		return dice.Absent, nil
	}
	if t.scope.witness != nil {
		return t.scope.witness.c, nil
	}
	return t.seatLink(lane, i)
}

// seatLink checks the link that a device has sent with the command.
func (t *Turn) seatLink(lane *Lane, i int) (string, error) {
	seat := t.cmd.Seat
	if seat == nil || seat.Lane != lane.Name || seat.I != i {
		return "", Reject("seat_link_due", "", "the lane %s has a device: its element %d must come with the command", lane.Name, i).On("seat")
	}
	c, err := dice.ParseSeed(seat.C)
	if err != nil || !follows(c, i, lane.CLast, lane.CKnown) {
		return "", Reject("seat_link_wrong", "", "that is not element %d of the chain that lane %s was committed to", i, lane.Name).On("seat.c")
	}
	return seat.C, nil
}

// A Throw is one question put to the dice, being answered.
type Throw struct {
	events.Throw
	t    *Turn
	base *int
	room struct { // for what most throws have, so that it is taken in one
		draws     [1]events.Draw
		modifiers [2]events.Modifier
		against   events.Against
		margin    int
	}
}

// Throw begins a question: what for, and by which character ("" for none).
// All dice of one throw are taken before the next throw begins.
func (t *Turn) Throw(purpose string, character *Character) *Throw {
	th := t.throws.next()
	th.t, th.Purpose = t, purpose
	th.Draws, th.Modifiers = th.room.draws[:0], th.room.modifiers[:0]
	if character != nil {
		th.Character = character.ID
	}
	t.scope.throws = append(t.scope.throws, th)
	return th
}

// Die takes one die of so many sides and returns its face.
func (th *Throw) Die(sides int) int { return th.take(die{sides: sides, low: 1}) }

// FudgeDie takes one fudge die and returns its face as it is drawn: 1, 2 or 3
// for -1, 0 and +1.
func (th *Throw) FudgeDie() int { return th.take(fudgeDie) }

func (th *Throw) take(d die) int {
	face := th.t.draw(d)
	if th.t.err == nil {
		th.Draws = append(th.Draws, events.Draw{uint32(d.sides), uint32(face)})
	}
	return face
}

// Base is what the dice are worth when that is not the sum of their faces.
func (th *Throw) Base(n int) { th.base = &n }

// Add adds a modifier and says where it comes from. Zero is left out.
func (th *Throw) Add(label string, value int, rule string) {
	if value != 0 {
		th.Modifiers = append(th.Modifiers, events.Modifier{Label: label, Value: value, Rule: rule})
	}
}

// Sum is the dice and all modifiers so far.
func (th *Throw) Sum() int {
	sum := 0
	if th.base != nil {
		sum = *th.base
	} else {
		for _, d := range th.Draws {
			sum += int(d[1])
		}
	}
	for _, m := range th.Modifiers {
		sum += m.Value
	}
	return sum
}

// Versus says what the sum is compared with.
func (th *Throw) Versus(kind string, value int) {
	th.room.against = events.Against{Kind: kind, Value: value}
	th.Against = &th.room.against
}

// Result says how it came out, and by how much.
func (th *Throw) Result(outcome string, margin int) {
	th.room.margin = margin
	th.Outcome, th.Margin = outcome, &th.room.margin
}

func (th *Throw) close() {
	th.Total = th.Sum()
	if th.Expression != "" {
		return
	}
	th.Expression = expressionOf(th.Draws)
}

// expressionOf writes dice in free notation: 2d6+1d10.
func expressionOf(draws []events.Draw) string {
	text := make([]byte, 0, 32)
	for len(draws) > 0 {
		n, sides := 1, draws[0][0]
		for n < len(draws) && draws[n][0] == sides {
			n++
		}
		if n == len(draws) && len(text) == 0 && n < len(usualDice) && int(sides) < len(usualDice[n]) {
			return usualDice[n][sides]
		}
		if len(text) > 0 {
			text = append(text, '+')
		}
		text = append(strconv.AppendInt(text, int64(n), 10), 'd')
		text = strconv.AppendUint(text, uint64(sides), 10)
		draws = draws[n:]
	}
	return string(text)
}

// usualDice are the expressions that need not be written anew: by how many dice and
// by their sides.
var usualDice = func() (texts [4][101]string) {
	for n := range texts {
		for sides := range texts[n] {
			texts[n][sides] = fmt.Sprintf("%dd%d", n, sides)
		}
	}
	return texts
}()
