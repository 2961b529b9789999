package replay

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
	"tallystick/events/merkle"
	"tallystick/rules"
	"tallystick/rules/dice"
)

// place is where an event stands: its record, and the command it came by.
type place struct {
	n     int64
	clock int64
	by    string
	cmd   events.Cmd // whole
}

// table checks everything about dice in one campaign, from the events alone.
type table struct {
	campaign string
	gm       string
	roles    map[string]string // by handle
	session  *evening          // nil while none is open
	lanes    []*lane           // of all sessions
	seals    map[int64]*seal   // that are not opened
	tick     events.TickProcessed
	counts   RollCounts
	unread   int // events with a seed that this program does not know
}

// declaration is a declared roll that waits for its witness.
type declaration struct {
	n       int64
	lane    *lane
	i       int
	c       string
	witness *lane
	m       int
	passed  []string
}

// What a seal can hide.
const (
	aRoll   = "secret roll"
	aTarget = "hidden target"
	aRuling = "ruling"
)

// seal is what is sealed and not opened.
type seal struct {
	kind    string
	session string // empty for a ruling outside a session
	seal    string
	by      string            // of a roll
	shown   events.Visibility // of a roll
	lane    *lane             // of a roll
	i       int
	rolls   []int64 // made against a target
}

func newTable() table {
	return table{roles: map[string]string{}, seals: map[int64]*seal{}}
}

// unknown counts events of a system that carry a seed: none should.
func (t *table) unknown(rec events.Record) {
	if bytes.Contains(rec.Data, []byte(`"lane":"`)) && bytes.Contains(rec.Data, []byte(`"s":"`)) {
		t.unread++
	}
}

func (t *table) event(p place, e events.Event) error {
	if session, inside := sessionOf(e); inside && (t.session == nil || session != t.session.id) {
		return fmt.Errorf("the session %q is not open", session)
	}
	switch e := e.(type) {
	case *events.CampaignCreated:
		t.gm = e.GM
	case *events.ParticipantJoined:
		t.roles[e.Handle] = e.Role
	case *events.ParticipantLeft:
		delete(t.roles, e.Handle)
	case *events.SessionOpened:
		return t.opened(e)
	case *events.SessionClosed:
		return t.closed(e)
	case *events.SeatTaken:
		return t.seatTaken(p, e)
	case *events.SeatingClosed:
		return t.seatingClosed(e)
	case *events.SeatRevealed:
		return t.seatRevealed(p, e)
	case *events.SeatingSealed:
		return t.seatingSealed(e)
	case *events.RollMade:
		return t.rollMade(p, e)
	case *events.RollSealed:
		return t.rollSealed(p, e)
	case *events.RollWidened:
		return t.rollWidened(p, e)
	case *events.RollOpened:
		return t.rollOpened(e)
	case *events.TargetSealed:
		return t.targetSealed(p, e)
	case *events.TargetOpened:
		return t.targetOpened(e)
	case *events.RulingSealed:
		return t.rulingSealed(p, e)
	case *events.RulingOpened:
		return t.rulingOpened(e)
	case *events.RollDeclared:
		return t.rollDeclared(p, e)
	case *events.RollPassed:
		return t.rollPassed(e)
	case *events.RollResolved:
		return t.rollResolved(p, e)
	case *events.RollVoided:
		return t.rollVoided(e)
	case *events.TickProcessed:
		return t.ticked(p, e)
	case *events.ClockAdvanced:
		t.tick = events.TickProcessed{}
	}
	return nil
}

// sessionOf is the session that an event must stand in.
func sessionOf(e events.Event) (session string, inside bool) {
	switch e := e.(type) {
	case *events.SessionClosed:
		return e.Session, true
	case *events.SeatTaken:
		return e.Session, true
	case *events.SeatingClosed:
		return e.Session, true
	case *events.SeatRevealed:
		return e.Session, true
	case *events.SeatingSealed:
		return e.Session, true
	case *events.RollMade:
		return e.Session, true
	case *events.RollSealed:
		return e.Session, true
	case *events.TargetSealed:
		return e.Session, true
	case *events.RollDeclared:
		return e.Session, true
	case *events.RollResolved:
		return e.Session, true
	}
	return "", false
}

func (t *table) opened(e *events.SessionOpened) error {
	if t.session != nil {
		return errors.New("a session is open already")
	}
	t.session = &evening{id: e.Session, joint: dice.Absent}
	return nil
}

// closed compares what the session says of itself with what was counted.
func (t *table) closed(e *events.SessionClosed) error {
	s := t.session
	t.session = nil
	open := 0
	if s.declared != nil {
		open = 1
	}
	for _, c := range []struct {
		what       string
		says, came int
	}{
		{"rolls", e.Rolls, s.rolls}, {"rolls typed in", e.TypedIn, s.typed}, {"unopened seals", e.Unopened, s.unopened},
		{"declared rolls taken back", e.Voided, s.voided}, {"witnesses passed over", e.Passed, s.passed}, {"open declared rolls", e.Open, open},
	} {
		if c.says != c.came {
			return fmt.Errorf("the session is said to have %d %s, but it has %d", c.says, c.what, c.came)
		}
	}
	return nil
}

// advances are the commands that let time pass: their dice come from the lane
// of the system.
var advances = []string{"clock.advance", "clock.follow", "clock.resume"}

// next takes the next index of a lane. All dice of a command come from the
// lane of who commands it, ticks of the clock from that of the system.
func (t *table) next(p place, name string, i int, principal string) (*lane, error) {
	l, err := t.session.lane(name)
	if err != nil {
		return nil, err
	}
	switch {
	case l.principal != principal:
		return nil, fmt.Errorf("the lane %s is not the one of %s, who commands", name, principal)
	case l.secret && t.session.newestSecret(principal, true) != l, !l.secret && t.session.newest(principal, true) != l:
		return nil, fmt.Errorf("the lane %s is not the one that %s rolls on now", name, principal)
	case l.declared:
		return nil, fmt.Errorf("a declared roll on the lane %s comes first", name)
	case i != l.used+1:
		return nil, fmt.Errorf("it is roll %d of the lane %s: %d is next", i, name, l.used+1)
	case i > l.n:
		return nil, fmt.Errorf("the lane %s ends at roll %d", name, l.n)
	}
	l.used = i
	return l, nil
}

// own checks the element of the roller's own chain.
func (l *lane) own(i int, c string) error {
	if (c == dice.Absent) != (l.c == nil) {
		return fmt.Errorf("c does not go with the seat of the lane %s", l.name)
	}
	if l.c == nil {
		return nil
	}
	_, err := l.c.accept("c", i, c)
	return err
}

// throw computes the dice of a roll.
func (l *lane) throw(e *events.RollMade, w string) error {
	s, err := l.s.accept("s", e.I, e.S)
	if err != nil {
		return err
	}
	if err := l.own(e.I, e.C); err != nil {
		return err
	}
	l.dice.Begin(s, l.joint, l.name, e.I, e.C, w)
	for k, d := range e.Draws {
		if d[0] == 0 {
			return fmt.Errorf("die %d has no sides", k+1)
		}
		if face := l.dice.Die(d[0]); face != d[1] {
			return fmt.Errorf("die %d, a d%d, shows %d, but the seeds give %d", k+1, d[0], d[1], face)
		}
	}
	l.rolls++
	return nil
}

func (t *table) rollMade(p place, e *events.RollMade) error {
	if e.Source == rules.SourcePhysical {
		return t.typedIn(e)
	}
	if e.Source != rules.SourceLedger || e.W != "" {
		return errors.New("its dice come from nowhere that is known")
	}
	principal := p.by
	if slices.Contains(advances, p.cmd.Type) {
		principal = rules.SystemPrincipal
	}
	l, err := t.next(p, e.Lane, e.I, principal)
	if err != nil {
		return err
	}
	if l.secret {
		return fmt.Errorf("the lane %s is for private rolls", l.name)
	}
	t.session.rolls++
	t.counts.Ledger++
	if err := t.called(p, e); err != nil {
		return err
	}
	return l.throw(e, dice.Absent)
}

// typedIn checks dice that were thrown on a real table: nothing proves them.
func (t *table) typedIn(e *events.RollMade) error {
	if e.Lane != "" || e.I != 0 || e.S != "" || e.C != "" || e.W != "" {
		return errors.New("dice that were typed in have no seed")
	}
	for k, d := range e.Draws {
		if d[1] < 1 || d[1] > d[0] {
			return fmt.Errorf("die %d, a d%d, shows %d", k+1, d[0], d[1])
		}
	}
	t.session.typed++
	t.counts.TypedIn++
	return nil
}

// called notes a roll against a hidden target, which must be sealed before it.
func (t *table) called(p place, e *events.RollMade) error {
	if e.Call == 0 {
		return nil
	}
	s, ok := t.seals[e.Call]
	if !ok || s.kind != aTarget || s.session != t.session.id {
		return fmt.Errorf("its target was not sealed before it: record %d is no hidden target of this session", e.Call)
	}
	s.rolls = append(s.rolls, p.n)
	return nil
}

func (t *table) seal(p place, s *seal) error {
	if _, err := dice.ParseSeed(s.seal); err != nil {
		return fmt.Errorf("the seal: %w", err)
	}
	t.seals[p.n] = s
	if t.session != nil {
		s.session = t.session.id
		t.session.unopened++
	}
	return nil
}

// unseal checks what a seal hid.
func (t *table) unseal(n int64, kind, salt, payload string) (*seal, error) {
	s, ok := t.seals[n]
	if !ok || s.kind != kind {
		return nil, fmt.Errorf("record %d is no %s that waits to be opened", n, kind)
	}
	key, err := dice.ParseSeed(salt)
	if err != nil {
		return nil, fmt.Errorf("the salt: %w", err)
	}
	sealed, err := hex.DecodeString(s.seal)
	if err != nil {
		return nil, err
	}
	if merkle.CheckSeal(sealed, key[:], []byte(payload)) != nil {
		return nil, fmt.Errorf("this is not what record %d sealed", n)
	}
	delete(t.seals, n)
	if t.session != nil && t.session.id == s.session {
		t.session.unopened--
	}
	return s, nil
}

func (t *table) rollSealed(p place, e *events.RollSealed) error {
	principal := p.by
	if p.by == t.gm {
		principal = rules.SecretLane
	} else if l, err := t.session.lane(e.Lane); err != nil || !l.secret || l.principal != p.by {
		return fmt.Errorf("%s has no lane for secret rolls called %s", p.by, e.Lane)
	}
	l, err := t.next(p, e.Lane, e.I, principal)
	if err != nil {
		return err
	}
	shown, err := events.ParseVisibility(e.Visibility)
	if err != nil || shown.Public() {
		return errors.New("it does not say for whom it is")
	}
	t.counts.SecretUnopened++
	return t.seal(p, &seal{kind: aRoll, seal: e.Seal, by: p.by, shown: shown, lane: l, i: e.I})
}

// rollWidened checks that what was shown to somebody stays shown to them.
func (t *table) rollWidened(p place, e *events.RollWidened) error {
	s, ok := t.seals[e.Sealed]
	if !ok || s.kind != aRoll {
		return fmt.Errorf("record %d is no secret roll that waits to be opened", e.Sealed)
	}
	shown, err := events.ParseVisibility(e.Visibility)
	switch {
	case err != nil || shown.Public() || !shown.Widens(s.shown):
		return errors.New("it shows the roll to nobody more, or to somebody less")
	case t.roles[p.by] != rules.RoleGM && (p.by != s.by || s.shown.Blind()):
		return fmt.Errorf("%s may not show it to others", p.by)
	}
	s.shown = shown
	return nil
}

func (t *table) rollOpened(e *events.RollOpened) error {
	s, err := t.unseal(e.Sealed, aRoll, e.Salt, e.Payload)
	if err != nil {
		return err
	}
	roll, err := rules.ReadRoll(e.Payload)
	if err != nil {
		return fmt.Errorf("what was sealed is no roll: %w", err)
	}
	switch {
	case roll.Session != s.session || roll.Lane != s.lane.name || roll.I != s.i:
		return fmt.Errorf("what was sealed is roll %d of the lane %q, not the one that record %d took", roll.I, roll.Lane, e.Sealed)
	case roll.Source != rules.SourceLedger || roll.W != "" || len(roll.Draws) == 0:
		return errors.New("what was sealed has no dice of the ledger")
	}
	t.counts.SecretUnopened--
	t.counts.SecretOpened++
	return s.lane.throw(roll, dice.Absent)
}

func (t *table) targetSealed(p place, e *events.TargetSealed) error {
	t.counts.TargetsUnopened++
	return t.seal(p, &seal{kind: aTarget, seal: e.Seal})
}

func (t *table) targetOpened(e *events.TargetOpened) error {
	s, err := t.unseal(e.Sealed, aTarget, e.Salt, e.Payload)
	if err != nil {
		return err
	}
	var target rules.Target
	if err := rules.Unmarshal(jsontext.Value(e.Payload), &target); err != nil {
		return fmt.Errorf("what was sealed is no target: %w", err)
	}
	if target.Value != e.Value {
		return fmt.Errorf("the target was %d, not %d", target.Value, e.Value)
	}
	if !slices.EqualFunc(s.rolls, e.Rolls, func(n int64, j events.Judged) bool { return n == j.Roll }) {
		return errors.New("it does not judge the rolls that were made against it")
	}
	t.counts.TargetsUnopened--
	return nil
}

func (t *table) rulingSealed(p place, e *events.RulingSealed) error {
	open := ""
	if t.session != nil {
		open = t.session.id
	}
	if e.Session != open {
		return fmt.Errorf("the session %q is not open", e.Session)
	}
	t.counts.RulingsUnopened++
	return t.seal(p, &seal{kind: aRuling, seal: e.Seal})
}

func (t *table) rulingOpened(e *events.RulingOpened) error {
	if _, err := t.unseal(e.Sealed, aRuling, e.Salt, e.Payload); err != nil {
		return err
	}
	var ruling events.RulingMade
	if err := rules.Unmarshal(jsontext.Value(e.Payload), &ruling); err != nil {
		return fmt.Errorf("what was sealed is no ruling: %w", err)
	}
	if ruling != e.RulingMade {
		return errors.New("it is not the ruling that was sealed")
	}
	t.counts.RulingsUnopened--
	return nil
}

func (t *table) rollDeclared(p place, e *events.RollDeclared) error {
	s := t.session
	if s.declared != nil {
		return errors.New("another declared roll is open")
	}
	l, err := t.next(p, e.Lane, e.I, p.by)
	if err != nil {
		return err
	}
	if err := l.own(e.I, e.C); err != nil {
		return err
	}
	s.declared = &declaration{n: p.n, lane: l, i: e.I, c: e.C}
	l.declared = true
	t.counts.DeclaredOpen++
	return s.askWitness(e.Witness)
}

// askWitness checks that a witness is the one whose turn it is: the lanes of
// others with a witness chain in the order of their names, going on behind the
// one asked last; who was passed over is not asked again for the same roll.
func (s *evening) askWitness(a events.Ask) error {
	var turn *lane
	for _, l := range s.lanes {
		able := l.x != nil && l.principal != s.declared.lane.principal && s.newest(l.principal, true) == l && len(l.due) == 0
		if !able || slices.Contains(s.declared.passed, l.name) {
			continue
		}
		if turn == nil || s.sooner(l.name, turn.name) {
			turn = l
		}
	}
	if turn == nil {
		return errors.New("nobody can witness it")
	}
	if turn.name != a.Lane {
		return fmt.Errorf("the witness is %s, but it is the turn of %s", a.Lane, turn.name)
	}
	s.declared.witness, s.declared.m, s.witness = turn, a.M, a.Lane
	return turn.ask(a.M)
}

// sooner orders two lanes by whose turn it is after the one asked last.
func (s *evening) sooner(a, b string) bool {
	behind := func(name string) int {
		if name > s.witness {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(behind(a), behind(b)), cmp.Compare(a, b)) < 0
}

func (t *table) declaration(n int64) (*declaration, error) {
	if t.session == nil || t.session.declared == nil || t.session.declared.n != n {
		return nil, fmt.Errorf("record %d is no declared roll that waits", n)
	}
	return t.session.declared, nil
}

func (t *table) rollPassed(e *events.RollPassed) error {
	d, err := t.declaration(e.Declared)
	if err != nil {
		return err
	}
	if e.Lane != d.witness.name || e.M != d.m {
		return fmt.Errorf("not %s was asked, but %s for element %d", e.Lane, d.witness.name, d.m)
	}
	d.witness.due = nil
	d.passed = append(d.passed, e.Lane)
	t.session.passed++
	t.counts.Passed++
	return t.session.askWitness(e.Next)
}

// settle closes a declared roll.
func (t *table) settle(d *declaration) {
	d.lane.declared, d.witness.due, t.session.declared = false, nil, nil
	t.counts.DeclaredOpen--
}

func (t *table) rollResolved(p place, e *events.RollResolved) error {
	d, err := t.declaration(e.Declared)
	if err != nil {
		return err
	}
	switch {
	case e.Source != rules.SourceLedger || e.Lane != d.lane.name || e.I != d.i || e.C != d.c:
		return fmt.Errorf("it is not the roll that record %d declared", d.n)
	case p.by != d.witness.principal:
		return fmt.Errorf("%s answers, but %s is the witness", p.by, d.witness.principal)
	}
	if err := d.witness.answer("w", d.m, e.W); err != nil {
		return err
	}
	t.settle(d)
	t.session.rolls++
	t.counts.Ledger++
	t.counts.Witnessed++
	d.lane.witness[d.witness.principal]++
	if err := t.called(p, &e.RollMade); err != nil {
		return err
	}
	return d.lane.throw(&e.RollMade, e.W)
}

func (t *table) rollVoided(e *events.RollVoided) error {
	d, err := t.declaration(e.Declared)
	if err != nil {
		return err
	}
	if _, err := d.lane.s.accept("s", d.i, e.S); err != nil {
		return err
	}
	if e.W != dice.Absent {
		if err := d.witness.answer("w", d.m, e.W); err != nil {
			return err
		}
	}
	t.settle(d)
	t.session.voided++
	t.counts.Voided++
	return nil
}

// ticked checks the order of what time brings: by due time, then by character.
func (t *table) ticked(p place, e *events.TickProcessed) error {
	last := t.tick
	t.tick = *e
	switch {
	case !slices.Contains(advances, p.cmd.Type):
		return fmt.Errorf("%s makes no tick fall due", p.cmd.Type)
	case e.Due > p.clock:
		return fmt.Errorf("it is due at %d, and it is %d", e.Due, p.clock)
	case cmp.Or(cmp.Compare(last.Due, e.Due), cmp.Compare(last.Character, e.Character)) > 0:
		return errors.New("it comes out of turn: ticks go by due time, then by character")
	}
	return nil
}
