package rules

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
	"tallystick/rules/dice"
)

// A Declaration is a roll that was announced and waits for its witness. Values
// of it are never changed.
type Declaration struct {
	N       int64 // of the roll.declared
	Lane    string
	I       int
	C       string
	Witness events.Ask
	Passed  []string // witnesses passed over
	Command string
	Data    jsontext.Value
}

// witnessed is what a declared roll adds to its dice.
type witnessed struct {
	declared int64
	c, w     string
}

func (s *Session) declared(n int64, e *events.RollDeclared) error {
	s.Declared = &Declaration{N: n, Lane: e.Lane, I: e.I, C: e.C, Witness: e.Witness, Command: e.Command, Data: e.Data}
	if e.C != dice.Absent {
		lane, err := s.use(e.Lane)
		if err != nil {
			return err
		}
		lane.CKnown = e.I
		if lane.CLast, err = dice.ParseSeed(e.C); err != nil {
			return err
		}
	}
	return s.ask(e.Witness)
}

func (s *Session) ask(a events.Ask) error {
	lane, err := s.use(a.Lane)
	if err != nil {
		return err
	}
	lane.XAsked, s.LastWitness = a.M, a.Lane
	return nil
}

func (s *Session) resolved(e *events.RollResolved) error {
	if s.Declared == nil {
		return fmt.Errorf("no roll was declared")
	}
	if err := s.shown(s.Declared.Witness.Lane, s.Declared.Witness.M, e.W); err != nil {
		return err
	}
	s.Declared = nil
	return s.made(&e.RollMade)
}

func (s *Session) passed(e *events.RollPassed) error {
	if s.Declared == nil {
		return fmt.Errorf("no roll was declared")
	}
	d := *s.Declared
	d.Witness, d.Passed = e.Next, append(slices.Clone(d.Passed), e.Lane)
	s.Declared = &d
	s.Passed++
	return s.ask(e.Next)
}

func (s *Session) voided(e *events.RollVoided) error {
	if s.Declared == nil {
		return fmt.Errorf("no roll was declared")
	}
	d := s.Declared
	s.Declared = nil
	s.Voided++
	lane, err := s.use(d.Lane)
	if err != nil {
		return err
	}
	lane.Used, lane.Known = d.I, d.I
	lane.Last, err = dice.ParseSeed(e.S)
	return err
}

// nextWitness is who is asked next: the newest lanes of other principals that
// have a witness chain, in name order, going on behind the one asked last.
func (s *Session) nextWitness(owner string, passed []string) (events.Ask, bool) {
	var lanes []*Lane
	for i, l := range s.Lanes {
		newest := s.lane(l.Principal) == i
		if s.Open != nil {
			if _, due := s.Open.asks(l.Name); due { // its elements are given in order
				continue
			}
		}
		if l.X0 != dice.Absent && newest && l.Principal != owner && !slices.Contains(passed, l.Name) {
			lanes = append(lanes, l)
		}
	}
	if len(lanes) == 0 {
		return events.Ask{}, false
	}
	slices.SortFunc(lanes, func(a, b *Lane) int { return cmp.Compare(a.Name, b.Name) })
	next := lanes[0]
	for _, l := range lanes {
		if l.Name > s.LastWitness {
			next = l
			break
		}
	}
	return events.Ask{Lane: next.Name, M: next.XAsked + 1}, true
}

// RollDeclare is the data of roll.declare.
type RollDeclare struct {
	Command string         `json:"command" maxLength:"64" doc:"type of the command that throws the dice, such as check or attack"`
	Data    jsontext.Value `json:"arguments" doc:"its data"`
	Purpose string         `json:"purpose" minLength:"1" maxLength:"200" doc:"what it is for, in words"`
}

func declareRoll(t *Turn, d *RollDeclare) error {
	if err := CheckName(d.Purpose); err != nil {
		return &Invalid{Field: "purpose", Reason: err.Error()}
	}
	s := t.c.Session
	if s == nil {
		return Reject("no_session", "", "dice are thrown only inside a session: open one first (session.open)")
	}
	if err := t.unforeseen(); err != nil {
		return err
	}
	if s.Declared != nil {
		return Reject("declared_roll_open", "", "a declared roll is still open: resolve it or take it back first")
	}
	if slices.ContainsFunc(s.Lanes, func(l *Lane) bool { return l.Principal == t.cmd.By && !l.Secret && !l.Sealed }) {
		return Reject("seats_open", "", "%s has taken another seat: wait until it is sealed, the roll belongs to one lane", t.cmd.By)
	}
	if err := t.rehearse(d); err != nil {
		return err
	}
	k := s.lane(t.cmd.By)
	if k < 0 || s.Lanes[k].Used == s.Lanes[k].N {
		return Reject("no_seat", "", "%s has no seat with links left in this session", t.cmd.By)
	}
	witness, ok := s.nextWitness(t.cmd.By, nil)
	if !ok {
		return Reject("no_witness", "", "nobody else at the table has a device that could witness")
	}
	lane := s.Lanes[k]
	c := dice.Absent
	if lane.C0 != dice.Absent {
		var err error
		if c, err = t.seatLink(lane, lane.Used+1); err != nil {
			return err
		}
	}
	t.Emit(&events.RollDeclared{
		Session: s.ID, Lane: lane.Name, I: lane.Used + 1, C: c, Witness: witness,
		Purpose: d.Purpose, Command: d.Command, Data: d.Data,
	})
	return nil
}

// rehearse decides the declared command with dice that all show 1, to hear
// its objections before anything is announced. It puts the data in canonical
// form.
func (t *Turn) rehearse(d *RollDeclare) error {
	inner := Command{ID: t.cmd.ID, By: t.cmd.By, Type: d.Command, Data: d.Data}
	spec, data, err := t.c.ready(inner)
	if err != nil {
		return within("arguments", err)
	}
	if d.Data, err = Canonical(data); err != nil {
		return err
	}
	trial := newTurn(t.c, inner, t.chains)
	trial.oracle = func(int) int { return 1 }
	trial.begin(t.cmd.By)
	if err := spec.decide(trial, data); err != nil {
		return err
	}
	if trial.err != nil {
		return trial.err
	}
	// Dice of another lane, such as those of ticks, are not left in the scope.
	if len(trial.scope.draws) == 0 {
		return Reject("no_dice", "", "%s throws no dice of its own: it cannot be declared as a roll", d.Command).On("command")
	}
	return nil
}

// RollWitness is the data of roll.witness.
type RollWitness struct {
	Declared int64  `json:"declared" minimum:"1" doc:"n of the roll.declared"`
	W        string `json:"w" maxLength:"64" doc:"the element of the witness chain that was asked for"`
}

func witnessRoll(t *Turn, d *RollWitness) error {
	declared, err := t.declaration("declared", d.Declared)
	if err != nil {
		return err
	}
	if err := t.ownLane(declared.Witness.Lane); err != nil {
		return err
	}
	if err := t.checkWitness("w", declared.Witness.Lane, declared.Witness.M, d.W); err != nil {
		return err
	}
	owner := t.c.Session.Lanes[t.c.Session.named(declared.Lane)].Principal
	inner := Command{ID: t.cmd.ID, By: owner, Type: declared.Command, Data: declared.Data}
	spec, data, err := t.c.ready(inner)
	if err != nil {
		return err
	}
	witness := t.cmd
	t.cmd = inner
	t.begin(owner)
	t.scope.witness = &witnessed{declared: declared.N, c: declared.C, w: d.W}
	err = spec.decide(t, data)
	t.end()
	t.cmd = witness
	if err == nil && t.err == nil && t.c.Session.Declared != nil {
		return Reject("no_dice", "", "as things stand now %s throws no dice: the declared roll can only be taken back (roll.void)", declared.Command)
	}
	return err
}

func (t *Turn) declaration(field string, n int64) (*Declaration, error) {
	if t.c.Session == nil || t.c.Session.Declared == nil || t.c.Session.Declared.N != n {
		return nil, Reject("not_declared", "", "record %d is no declared roll that waits", n).On(field)
	}
	return t.c.Session.Declared, nil
}

// RollPass is the data of roll.pass.
type RollPass struct {
	Declared int64 `json:"declared" minimum:"1"`
}

func passWitness(t *Turn, d *RollPass) error {
	declared, err := t.declaration("declared", d.Declared)
	if err != nil {
		return err
	}
	owner := t.c.Session.Lanes[t.c.Session.named(declared.Lane)].Principal
	next, ok := t.c.Session.nextWitness(owner, append(slices.Clone(declared.Passed), declared.Witness.Lane))
	if !ok {
		return Reject("no_witness", "", "there is no other witness: take the roll back (roll.void)")
	}
	t.Emit(&events.RollPassed{Declared: d.Declared, Lane: declared.Witness.Lane, M: declared.Witness.M, Next: next})
	return nil
}

// RollVoid is the data of roll.void.
type RollVoid struct {
	Declared int64  `json:"declared" minimum:"1"`
	Reason   string `json:"reason" minLength:"1" maxLength:"4000"`
}

func voidRoll(t *Turn, d *RollVoid) error {
	if err := CheckText(d.Reason); err != nil {
		return &Invalid{Field: "reason", Reason: err.Error()}
	}
	declared, err := t.declaration("declared", d.Declared)
	if err != nil {
		return err
	}
	lane := t.c.Session.Lanes[t.c.Session.named(declared.Lane)]
	seed, err := t.link(lane, declared.I)
	if err != nil {
		return err
	}
	t.Emit(&events.RollVoided{Declared: d.Declared, S: seed.String(), W: dice.Absent, Reason: d.Reason})
	return nil
}
