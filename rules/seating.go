package rules

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"tallystick/events"
	"tallystick/rules/dice"
)

// Lengths of the server's chains. Where no device takes part a lane is renewed
// by itself when renewBefore elements are left. Where one does, a renewal
// needs its witness, and the system's lane is long enough for a session.
const (
	laneLength         = 1_024
	systemLength       = 4_096
	systemDeviceLength = dice.MaxChain
	renewBefore        = 16
)

// A Seating is one that is not sealed yet. Values of it are never changed.
type Seating struct {
	Number   int
	Closed   bool
	Ask      []events.Ask
	Revealed map[string]string // what came in, by lane
}

// asks reports whether a lane was asked and has not answered.
func (s *Seating) asks(lane string) (m int, ok bool) {
	if _, done := s.Revealed[lane]; done {
		return 0, false
	}
	for _, a := range s.Ask {
		if a.Lane == lane {
			return a.M, true
		}
	}
	return 0, false
}

// applyDice changes a session by a fact about its dice.
func (c *Campaign) applyDice(e events.Event) error {
	if c.Session == nil {
		return fmt.Errorf("dice outside a session")
	}
	s := c.Session
	if _, roll := e.(*events.RollMade); !roll || s != c.own {
		s = s.copied()
	}
	var err error
	switch e := e.(type) {
	case *events.SeatTaken:
		err = s.take(e)
	case *events.SeatingClosed:
		err = s.close(e)
	case *events.SeatRevealed:
		err = s.reveal(e)
	case *events.SeatingSealed:
		err = s.seal(e)
	case *events.RollMade:
		c.called(e)
		err = s.made(e)
	case *events.RollResolved:
		c.called(&e.RollMade)
		err = s.resolved(e)
	case *events.RollSealed:
		var lane *Lane
		if lane, err = s.use(e.Lane); err == nil {
			lane.Used = e.I
			err = c.sealedRoll(e, lane)
		}
	case *events.RollDeclared:
		err = s.declared(c.Next, e)
	case *events.RollPassed:
		err = s.passed(e)
	case *events.RollVoided:
		err = s.voided(e)
	}
	if err != nil {
		return err
	}
	c.Session, c.own = s, s
	return nil
}

// copied is a copy to be changed.
func (s *Session) copied() *Session {
	c := *s
	c.Lanes, c.own = slices.Clone(s.Lanes), nil
	return &c
}

// use puts a copy of a lane into the session, to be changed.
func (s *Session) use(name string) (*Lane, error) {
	i := s.named(name)
	if i < 0 {
		return nil, fmt.Errorf("the lane %s has no seat", name)
	}
	if s.Lanes[i] != s.own {
		lane := *s.Lanes[i]
		s.Lanes[i], s.own = &lane, &lane
	}
	return s.own, nil
}

func (s *Session) take(e *events.SeatTaken) error {
	lane := &Lane{Name: e.Lane, Principal: e.Principal, Secret: e.Secret, Seating: e.Seating, N: e.N, S0: e.S0, C0: e.C0, X0: e.X0}
	var err error
	if lane.Last, err = dice.ParseSeed(e.S0); err != nil {
		return err
	}
	if e.C0 != dice.Absent {
		if lane.CLast, err = dice.ParseSeed(e.C0); err != nil {
			return err
		}
	}
	if e.X0 != dice.Absent {
		if lane.XLast, err = dice.ParseSeed(e.X0); err != nil {
			return err
		}
	}
	s.Seating = e.Seating
	if s.Open == nil {
		s.Open = &Seating{Number: e.Seating}
	}
	s.Lanes = append(s.Lanes, lane)
	return nil
}

func (s *Session) close(e *events.SeatingClosed) error {
	s.Open = &Seating{Number: e.Seating, Closed: true, Ask: e.Ask}
	for _, a := range e.Ask {
		lane, err := s.use(a.Lane)
		if err != nil {
			return err
		}
		lane.XAsked = a.M
	}
	return nil
}

func (s *Session) reveal(e *events.SeatRevealed) error {
	if s.Open == nil {
		return fmt.Errorf("no seating is open")
	}
	if err := s.shown(e.Lane, e.M, e.X); err != nil {
		return err
	}
	open := *s.Open
	open.Revealed = maps.Clone(open.Revealed)
	if open.Revealed == nil {
		open.Revealed = map[string]string{}
	}
	open.Revealed[e.Lane] = e.X
	s.Open = &open
	return nil
}

// shown notes an element of a lane's witness chain.
func (s *Session) shown(name string, m int, x string) error {
	lane, err := s.use(name)
	if err != nil {
		return err
	}
	lane.XKnown = m
	lane.XLast, err = dice.ParseSeed(x)
	return err
}

func (s *Session) seal(e *events.SeatingSealed) error {
	joint, err := dice.ParseSeed(e.Joint)
	if err != nil {
		return err
	}
	s.Joint, s.Open = e.Joint, nil
	for i, l := range s.Lanes {
		if l.Seating == e.Seating {
			sealed := *l
			sealed.Joint, sealed.Sealed = joint, true
			s.Lanes[i] = &sealed
		}
	}
	return nil
}

func (s *Session) made(e *events.RollMade) error {
	if e.Source == SourcePhysical {
		s.TypedIn++
		return nil
	}
	lane, err := s.use(e.Lane)
	if err != nil {
		return err
	}
	s.Rolls++
	if e.Source == SourceWhatIf { // shows no link
		lane.Used = e.I
		return nil
	}
	lane.Used, lane.Known = e.I, e.I
	if e.C != dice.Absent {
		lane.CKnown = e.I
		if lane.CLast, err = dice.ParseSeed(e.C); err != nil {
			return err
		}
	}
	lane.Last, err = dice.ParseSeed(e.S)
	return err
}

// SessionOpen is the data of session.open.
type SessionOpen struct {
	Title   string `json:"title" minLength:"1" maxLength:"200"`
	Kind    string `json:"kind" enum:"table,downtime,play-by-post"`
	Devices bool   `json:"devices,omitzero" doc:"participants' devices hold chains of their own: the seats stay open until seating.close"`
	Private bool   `json:"private,omitzero" doc:"with devices: the closing of the seats also seats a lane for everybody's private and blind rolls; without devices that is done when one is made"`
}

func openSession(t *Turn, d *SessionOpen) error {
	if err := CheckName(d.Title); err != nil {
		return &Invalid{Field: "title", Reason: err.Error()}
	}
	if t.c.Session != nil {
		return Reject("session_open", "", "the session %q is still open: close it first", t.c.Session.Title)
	}
	t.Emit(&events.SessionOpened{Session: t.cmd.ID, Title: d.Title, Kind: d.Kind, Private: d.Private && d.Devices})
	if d.Devices {
		number := t.c.Session.Seating + 1
		for _, p := range []string{SystemPrincipal, SecretLane} {
			if err := t.takeWithout(sitter{principal: p}, number, systemDeviceLength); err != nil {
				return err
			}
		}
		return t.err
	}
	return t.seatAtOnce(append(t.unseated(), sitter{principal: SystemPrincipal}, sitter{principal: SecretLane}))
}

// A sitter is who takes a seat without a device: a principal, on the lane for
// all its rolls or on the one for its private rolls.
type sitter struct {
	principal string
	secret    bool
}

// lane is what the sitter's lane is called.
func (s sitter) lane() string {
	if s.secret {
		return PrivateLane(s.principal)
	}
	return s.principal
}

// PrivateLane is what the lane for a participant's private and blind rolls is
// called, but for a number behind it where that name is taken.
func PrivateLane(handle string) string { return handle + "-private" }

// unseated are the participants who may command and have no seat. In a session
// that seats private lanes with the others, those who have none are among them
// a second time.
func (t *Turn) unseated() []sitter {
	var out []sitter
	for _, h := range t.c.Participants() {
		p, _ := t.c.Participant(h)
		if p.Role == RoleSpectator {
			continue
		}
		for _, s := range []sitter{{h, false}, {h, true}} {
			wanted := !s.secret || t.c.Session.Private && h != t.c.Created.GM
			if wanted && !slices.ContainsFunc(t.c.Session.Lanes, func(l *Lane) bool { return l.Principal == h && l.Secret == s.secret }) {
				out = append(out, s)
			}
		}
	}
	return out
}

// seatAtOnce seats principals without devices and emits the facts.
func (t *Turn) seatAtOnce(sitters []sitter) error {
	facts, err := t.seat(sitters)
	t.facts = append(t.facts, facts...)
	return err
}

// seat seats principals without devices: one seating, closed and sealed in
// the same breath. It applies the facts and returns them.
func (t *Turn) seat(sitters []sitter) ([]events.Fact, error) {
	before := len(t.facts)
	number := t.c.Session.Seating + 1
	for _, s := range sitters {
		n := laneLength
		if s.principal == SystemPrincipal {
			n = systemLength
		}
		if err := t.takeWithout(s, number, n); err != nil {
			return nil, err
		}
	}
	t.Emit(&events.SeatingClosed{Session: t.c.Session.ID, Seating: number, Ask: []events.Ask{}})
	t.sealNow()
	facts := slices.Clone(t.facts[before:])
	t.facts = t.facts[:before]
	return facts, t.err
}

// takeWithout takes a seat for a principal without a device.
func (t *Turn) takeWithout(s sitter, seating, n int) error {
	session := t.c.Session
	return t.take(&events.SeatTaken{
		Session: session.ID, Seating: seating, Lane: session.free(s.lane()), Principal: s.principal, Secret: s.secret,
		N: n, C0: dice.Absent, X0: dice.Absent,
	})
}

// take commits the server to a lane as well.
func (t *Turn) take(e *events.SeatTaken) error {
	s0, err := t.chains.Anchor(e.Session, e.Lane, e.N)
	if err != nil {
		return err
	}
	e.S0 = s0.String()
	t.Emit(e)
	return t.err
}

// sealNow computes the joint seed of the seating that is open, and seals it.
func (t *Turn) sealNow() {
	if t.err != nil {
		return
	}
	session, open := t.c.Session, t.c.Session.Open
	missing := []string{}
	var rows []dice.Row
	for _, l := range session.Lanes {
		_, asked := open.asks(l.Name)
		if asked {
			missing = append(missing, l.Name)
		}
		x, revealed := open.Revealed[l.Name]
		if !revealed {
			x = dice.Absent
		}
		if l.Seating == open.Number || asked || revealed {
			rows = append(rows, dice.Row{Lane: l.Name, N: l.N, S0: l.S0, C0: l.C0, X0: l.X0, E: x})
		}
	}
	slices.Sort(missing)
	joint := dice.Joint(t.c.ID, session.ID, open.Number, session.Joint, rows)
	t.Emit(&events.SeatingSealed{Session: session.ID, Seating: open.Number, Missing: missing, Joint: joint.String()})
}

// renewable reports whether a lane is near its end and may be renewed by the
// program alone: where devices take part that would let the server choose.
func (t *Turn) renewable(lane *Lane) bool {
	return lane.N-lane.Used <= renewBefore && t.c.Session.Open == nil && !t.devices() && lane.C0 == dice.Absent
}

// devices reports whether a device has a part in the session's joint seed.
func (t *Turn) devices() bool {
	return slices.ContainsFunc(t.c.Session.Lanes, func(l *Lane) bool { return l.X0 != dice.Absent })
}

// free is the name for a new lane of a principal: anna, then anna.2.
func (s *Session) free(principal string) string {
	name := principal
	for k := 2; s.named(name) >= 0; k++ {
		name = principal + "." + strconv.Itoa(k)
	}
	return name
}

// SeatTake is the data of seat.take.
type SeatTake struct {
	C0   string `json:"c0,omitzero" maxLength:"64" doc:"anchor of the device's own chain, n elements long; left out: the rolls of the lane are foreseen by the server"`
	X0   string `json:"x0,omitzero" maxLength:"64" doc:"anchor of the device's witness chain; left out: no part in the joint seed"`
	N    int    `json:"n,omitzero" minimum:"1" maximum:"65536" doc:"length of the chains, 1024 unless said"`
	Lost bool   `json:"lost,omitzero" doc:"the device of the earlier seat is lost: take another seat before its end"`
}

func takeSeat(t *Turn, d *SeatTake) error {
	s := t.c.Session
	if s == nil {
		return Reject("no_session", "", "no session is open")
	}
	e := &events.SeatTaken{Session: s.ID, Principal: t.cmd.By, Lane: s.free(t.cmd.By), N: laneLength, C0: dice.Absent, X0: dice.Absent}
	if d.N != 0 {
		e.N = d.N
	}
	for _, a := range []struct {
		field, given string
		to           *string
	}{{"c0", d.C0, &e.C0}, {"x0", d.X0, &e.X0}} {
		if a.given == "" {
			continue
		}
		if _, err := dice.ParseSeed(a.given); err != nil {
			return &Invalid{Field: a.field, Reason: err.Error()}
		}
		*a.to = a.given
	}
	if err := t.freshChains(e); err != nil {
		return err
	}
	if err := t.maySit(d.Lost, e.C0 != dice.Absent || e.X0 != dice.Absent); err != nil {
		return err
	}
	e.Seating = s.Seating
	if s.Open == nil {
		e.Seating++
	}
	return t.take(e)
}

// freshChains refuses an anchor that stands in the session already: a copied
// chain has no secret of its own to give, and one chain in two places would
// show the elements of one with those of the other.
func (t *Turn) freshChains(e *events.SeatTaken) error {
	used := []string{}
	for _, l := range t.c.Session.Lanes {
		used = append(used, l.S0, l.C0, l.X0)
	}
	for _, a := range []struct{ field, anchor string }{{"c0", e.C0}, {"x0", e.X0}} {
		if a.anchor != dice.Absent && slices.Contains(used, a.anchor) {
			return Reject("anchor_used", "", "this anchor is taken: every chain is made of fresh chance").On(a.field)
		}
		used = append(used, a.anchor)
	}
	return nil
}

// maySit allows one lane at a time. Another one is for a lane that is used up,
// for a device that is lost, and for a late device: its owner was seated
// without one, and has not rolled yet.
func (t *Turn) maySit(lost, device bool) error {
	s := t.c.Session
	if s.Open != nil && s.Open.Closed {
		return Reject("seats_closed", "", "the seats are closed: wait until they are sealed")
	}
	if d := s.Declared; d != nil && s.Lanes[s.named(d.Lane)].Principal == t.cmd.By {
		return Reject("declared_roll_open", "", "a declared roll is still open on the lane %s: resolve it or take it back first", d.Lane)
	}
	for i := len(s.Lanes) - 1; i >= 0; i-- {
		if l := s.Lanes[i]; l.Principal == t.cmd.By && !l.Secret {
			held := l.C0 != dice.Absent || l.X0 != dice.Absent
			late := device && !held && l.Used == 0
			if !l.Sealed || l.N-l.Used > renewBefore && !(lost && held) && !late {
				return Reject("seat_taken", "", "%s sits on lane %s already", t.cmd.By, l.Name)
			}
			break
		}
	}
	return nil
}

// SeatingClose is the data of seating.close.
type SeatingClose struct{}

func closeSeating(t *Turn, _ *SeatingClose) error {
	s := t.c.Session
	if s == nil || s.Open == nil || s.Open.Closed {
		return Reject("no_seating", "", "no seats are open")
	}
	// A device gives its elements in order: none may be due in two places.
	if s.Declared != nil {
		return Reject("declared_roll_open", "", "a declared roll is still open: resolve it or take it back first")
	}
	for _, h := range t.unseated() {
		if err := t.takeWithout(h, t.c.Session.Open.Number, laneLength); err != nil {
			return err
		}
	}
	s = t.c.Session
	ask := []events.Ask{}
	for _, l := range s.Lanes {
		if l.X0 != dice.Absent && (l.Seating == s.Open.Number || s.Lanes[s.lane(l.Principal)].Name == l.Name) {
			ask = append(ask, events.Ask{Lane: l.Name, M: l.XAsked + 1})
		}
	}
	t.Emit(&events.SeatingClosed{Session: s.ID, Seating: s.Open.Number, Ask: ask})
	if len(ask) == 0 {
		t.sealNow()
	}
	return t.err
}

// SeatReveal is the data of seat.reveal.
type SeatReveal struct {
	Lane string `json:"lane" maxLength:"63"`
	M    int    `json:"m" minimum:"1" maximum:"65536"`
	X    string `json:"x" maxLength:"64" doc:"element m of the witness chain"`
}

func revealSeat(t *Turn, d *SeatReveal) error {
	s := t.c.Session
	if s == nil || s.Open == nil || !s.Open.Closed {
		return Reject("no_seating", "", "no seats are closed and waiting")
	}
	if err := t.ownLane(d.Lane); err != nil {
		return err
	}
	if m, asked := s.Open.asks(d.Lane); !asked || m != d.M {
		return Reject("not_asked", "", "lane %s is not asked for element %d", d.Lane, d.M).On("m")
	}
	if err := t.checkWitness("x", d.Lane, d.M, d.X); err != nil {
		return err
	}
	t.Emit(&events.SeatRevealed{Session: s.ID, Seating: s.Open.Number, Lane: d.Lane, M: d.M, X: d.X})
	if len(t.c.Session.Open.Revealed) == len(s.Open.Ask) {
		t.sealNow()
	}
	return t.err
}

func (t *Turn) ownLane(lane string) error {
	i := t.c.Session.named(lane)
	if i < 0 || t.c.Session.Lanes[i].Principal != t.cmd.By {
		return &Forbidden{Reason: fmt.Sprintf("%s has no lane %q", t.cmd.By, lane)}
	}
	return nil
}

// checkWitness holds an element of a witness chain against its commitment.
func (t *Turn) checkWitness(field, lane string, m int, x string) error {
	l := t.c.Session.Lanes[t.c.Session.named(lane)]
	seed, err := dice.ParseSeed(x)
	if err != nil || !follows(seed, m, l.XLast, l.XKnown) {
		return Reject("witness_wrong", "", "that is not element %d of the chain that lane %s was committed to", m, lane).On(field)
	}
	return nil
}

// SeatingSeal is the data of seating.seal.
type SeatingSeal struct{}

func sealSeating(t *Turn, _ *SeatingSeal) error {
	s := t.c.Session
	if s == nil || s.Open == nil || !s.Open.Closed {
		return Reject("no_seating", "", "no seats are closed and waiting")
	}
	t.sealNow()
	return t.err
}

// SessionClose is the data of session.close.
type SessionClose struct{}

func closeSession(t *Turn, _ *SessionClose) error {
	s := t.c.Session
	if s == nil {
		return Reject("no_session", "", "no session is open")
	}
	if s.Declared != nil {
		return Reject("declared_roll_open", "", "the roll declared in record %d is still open: resolve it or take it back first (roll.witness, roll.pass or roll.void)", s.Declared.N)
	}
	e := &events.SessionClosed{Session: s.ID, Rolls: s.Rolls, TypedIn: s.TypedIn, Voided: s.Voided, Passed: s.Passed}
	for _, sealed := range t.c.sealed {
		if sealed.Session == s.ID {
			e.Unopened++
		}
	}
	t.Emit(e)
	return nil
}
