package replay

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"tallystick/events"
	"tallystick/rules"
	"tallystick/rules/dice"
)

// renewAt is how many elements a lane may have left when it is renewed.
const renewAt = 16

// Why a principal took another lane in the same session.
const (
	renewedAtEnd  = "end"         // its chains were nearly used up
	renewedLost   = "lost device" // the participant said that the device is lost
	renewedUnused = "late device" // seated without a device, never rolled, then brought one
)

// chain is a hash chain as far as it was shown: SHA-256 of an element is the
// one before it.
type chain struct {
	index int
	seed  dice.Seed
}

func newChain(field, anchor string) (*chain, error) {
	if anchor == dice.Absent {
		return nil, nil
	}
	seed, err := dice.ParseSeed(anchor)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	return &chain{seed: seed}, nil
}

// accept checks element i of the chain against the newest one that was shown.
func (c *chain) accept(field string, i int, text string) (dice.Seed, error) {
	seed, err := dice.ParseSeed(text)
	if err != nil {
		return seed, fmt.Errorf("%s: %w", field, err)
	}
	later, earlier := seed, c.seed
	if i < c.index {
		later, earlier = c.seed, seed
	}
	for range max(i-c.index, c.index-i) {
		later = later.Next()
	}
	if later != earlier {
		return seed, fmt.Errorf("%s is not element %d of the chain that was committed to", field, i)
	}
	if i > c.index {
		c.index, c.seed = i, seed
	}
	return seed, nil
}

// lane is one stream of dice of one principal in one session.
type lane struct {
	session, name, principal string
	secret                   bool // for the principal's private rolls
	seating, n               int
	s0, c0, x0               string
	s, c, x                  *chain // c and x nil without a device
	joint                    dice.Seed
	sealed                   bool
	gave                     []*lane // whose secrets are in the joint seed
	renewed                  string

	used     int         // index of the last roll
	declared bool        // that roll is declared and waits
	asked    int         // highest index of x that was asked for
	due      []int       // indexes asked for and not answered
	rolls    int         // whose dice were computed
	dice     dice.Stream // of the one that is being checked
	witness  map[string]int
}

// ask notes that the next element of the witness chain is due.
func (l *lane) ask(m int) error {
	switch {
	case l.x == nil:
		return fmt.Errorf("the lane %s has no witness chain", l.name)
	case m != l.asked+1:
		return fmt.Errorf("the lane %s is asked for its element %d: %d is next", l.name, m, l.asked+1)
	case len(l.due) > 0:
		return fmt.Errorf("the lane %s is asked again before it has answered", l.name)
	}
	l.asked, l.due = m, []int{m}
	return nil
}

// answer takes the element that is due.
func (l *lane) answer(field string, m int, x string) error {
	if !slices.Contains(l.due, m) {
		return fmt.Errorf("element %d of the lane %s was not asked for", m, l.name)
	}
	if _, err := l.x.accept(field, m, x); err != nil {
		return err
	}
	l.due = nil
	return nil
}

// seating is the newest seating of a session while it is not sealed.
type seating struct {
	number int
	closed bool
	asks   []events.Ask
	shown  map[string]string // elements that came in, by lane
}

// evening is a session that is open.
type evening struct {
	id       string
	seatings int // number of the newest
	joint    string
	lanes    []*lane
	open     *seating
	declared *declaration
	witness  string // lane asked last for a declared roll

	rolls, typed, unopened, voided, passed int
}

func (s *evening) lane(name string) (*lane, error) {
	for _, l := range s.lanes {
		if l.name == name {
			return l, nil
		}
	}
	return nil, fmt.Errorf("the lane %q has no seat in this session", name)
}

// newest is the lane that a principal took last, or nil.
func (s *evening) newest(principal string, sealed bool) *lane {
	for _, l := range slices.Backward(s.lanes) {
		if l.principal == principal && !l.secret && (l.sealed || !sealed) {
			return l
		}
	}
	return nil
}

// newestSecret is newest for the lanes of a principal's private rolls.
func (s *evening) newestSecret(principal string, sealed bool) *lane {
	for _, l := range slices.Backward(s.lanes) {
		if l.principal == principal && l.secret && (l.sealed || !sealed) {
			return l
		}
	}
	return nil
}

// next is the name of a principal's next lane: anna, then anna.2; for private
// rolls anna-private, then anna-private.2.
func (s *evening) next(principal string, secret bool) string {
	base := principal
	if secret {
		base = rules.PrivateLane(principal)
	}
	name := base
	for k := 2; ; k++ {
		if _, err := s.lane(name); err != nil {
			return name
		}
		name = base + "." + strconv.Itoa(k)
	}
}

func (t *table) seatTaken(p place, e *events.SeatTaken) error {
	s := t.session
	if s.open == nil {
		s.open = &seating{number: s.seatings + 1, shown: map[string]string{}}
		s.seatings++
	}
	l := &lane{session: s.id, name: e.Lane, principal: e.Principal, secret: e.Secret, seating: e.Seating, n: e.N, s0: e.S0, c0: e.C0, x0: e.X0, witness: map[string]int{}}
	switch role := t.roles[e.Principal]; {
	case e.Seating != s.open.number || s.open.closed:
		return fmt.Errorf("no seats can be taken in seating %d", e.Seating)
	case !dice.ValidLane(e.Lane) || e.Lane != s.next(e.Principal, e.Secret):
		return fmt.Errorf("the lane of %s is called %q, not %q", e.Principal, s.next(e.Principal, e.Secret), e.Lane)
	case e.Secret && (role == "" || e.C0 != dice.Absent || e.X0 != dice.Absent):
		return fmt.Errorf("a lane for private rolls of %q, or one with a device", e.Principal)
	case e.Principal != rules.SystemPrincipal && e.Principal != rules.SecretLane && role != rules.RoleGM && role != rules.RolePlayer:
		return fmt.Errorf("%q does not take part with dice", e.Principal)
	case e.N < 1 || e.N > dice.MaxChain:
		return fmt.Errorf("a chain of %d elements", e.N)
	case (e.C0 != dice.Absent || e.X0 != dice.Absent) && (p.by != e.Principal || p.cmd.Type != "seat.take"):
		return fmt.Errorf("%s took a seat with a device for %s", p.by, e.Principal)
	}
	if err := s.commit(l); err != nil {
		return err
	}
	if err := s.only(l, lostDevice(p.cmd)); err != nil {
		return err
	}
	s.lanes = append(s.lanes, l)
	t.lanes = append(t.lanes, l)
	return nil
}

// commit reads the anchors of a lane. None may stand in the session already.
func (s *evening) commit(l *lane) (err error) {
	for _, a := range []struct {
		field, anchor string
		to            **chain
	}{{"s0", l.s0, &l.s}, {"c0", l.c0, &l.c}, {"x0", l.x0, &l.x}} {
		if *a.to, err = newChain(a.field, a.anchor); err != nil {
			return err
		}
		for _, other := range s.lanes {
			if a.anchor != dice.Absent && slices.Contains([]string{other.s0, other.c0, other.x0}, a.anchor) {
				return fmt.Errorf("%s stands at the lane %s already: a copied chain has no secret", a.field, other.name)
			}
		}
	}
	switch {
	case l.s == nil:
		return errors.New("s0 is missing: the server has committed to nothing")
	case l.c0 != dice.Absent && (l.c0 == l.x0 || l.c0 == l.s0) || l.x0 != dice.Absent && l.x0 == l.s0:
		return errors.New("one chain stands in two places: its elements would show each other")
	}
	return nil
}

// only holds a lane against the rule of one lane for each principal: another
// one is for chains that are used up, a lost device, or a late one.
func (s *evening) only(l *lane, lost bool) error {
	old := s.newest(l.principal, false)
	if l.secret {
		old = s.newestSecret(l.principal, false)
	}
	if old == nil {
		return nil
	}
	held := old.c != nil || old.x != nil
	switch {
	case !old.sealed:
		return fmt.Errorf("%s sits on the lane %s already", l.principal, old.name)
	case !l.secret && s.declared != nil && s.declared.lane.principal == l.principal:
		return fmt.Errorf("%s takes another lane while a declared roll of %s is open", l.principal, old.name)
	case old.n-old.used <= renewAt:
		l.renewed = renewedAtEnd
	case lost && held:
		l.renewed = renewedLost
	case !held && old.used == 0 && (l.c != nil || l.x != nil):
		l.renewed = renewedUnused
	default:
		return fmt.Errorf("%s takes a second lane: that would be a choice between two rows of dice", l.principal)
	}
	return nil
}

func (t *table) seatingClosed(e *events.SeatingClosed) error {
	s := t.session
	switch {
	case s.open == nil || s.open.closed || s.open.number != e.Seating:
		return fmt.Errorf("seating %d is not open", e.Seating)
	case s.declared != nil:
		return errors.New("seats are closed while a declared roll waits for its witness")
	}
	for _, a := range e.Ask {
		l, err := s.lane(a.Lane)
		if err != nil {
			return err
		}
		if l.seating != e.Seating && !l.sealed {
			return fmt.Errorf("the lane %s cannot witness: it is not sealed", l.name)
		}
		if err := l.ask(a.M); err != nil {
			return err
		}
	}
	for _, l := range s.lanes {
		if l.seating == e.Seating && l.x != nil && len(l.due) == 0 {
			return fmt.Errorf("the lane %s has a secret to give and is not asked", l.name)
		}
	}
	s.open.closed, s.open.asks = true, e.Ask
	return nil
}

func (t *table) seatRevealed(p place, e *events.SeatRevealed) error {
	s := t.session
	if s.open == nil || !s.open.closed || s.open.number != e.Seating {
		return fmt.Errorf("seating %d waits for nothing", e.Seating)
	}
	l, err := s.lane(e.Lane)
	if err != nil {
		return err
	}
	if l.principal != p.by {
		return fmt.Errorf("%s reveals for the lane %s of %s", p.by, l.name, l.principal)
	}
	if !slices.Contains(s.open.asks, events.Ask{Lane: e.Lane, M: e.M}) {
		return fmt.Errorf("the lane %s was not asked for element %d", e.Lane, e.M)
	}
	s.open.shown[e.Lane] = e.X
	return l.answer("x", e.M, e.X)
}

func (t *table) seatingSealed(e *events.SeatingSealed) error {
	s := t.session
	if s.open == nil || !s.open.closed || s.open.number != e.Seating {
		return fmt.Errorf("seating %d is not closed", e.Seating)
	}
	var rows []dice.Row
	var missing []string
	var gave []*lane
	for _, l := range s.lanes {
		asked := slices.ContainsFunc(s.open.asks, func(a events.Ask) bool { return a.Lane == l.name })
		x, shown := s.open.shown[l.name]
		switch {
		case shown:
			gave = append(gave, l)
		case asked:
			missing, l.due = append(missing, l.name), nil
		}
		if asked || l.seating == e.Seating {
			rows = append(rows, dice.Row{Lane: l.name, N: l.n, S0: l.s0, C0: l.c0, X0: l.x0, E: cmp.Or(x, dice.Absent)})
		}
	}
	slices.Sort(missing)
	if !slices.Equal(missing, e.Missing) {
		return errors.New("it does not name the lanes that did not reveal")
	}
	joint := dice.Joint(t.campaign, s.id, e.Seating, s.joint, rows)
	if joint.String() != e.Joint {
		return errors.New("the joint seed does not follow from the seats")
	}
	for _, l := range s.lanes {
		if l.seating == e.Seating {
			l.joint, l.sealed, l.gave = joint, true, gave
		}
	}
	s.joint, s.open = e.Joint, nil
	return nil
}
