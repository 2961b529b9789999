package rules

import (
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
	"tallystick/events/merkle"
	"tallystick/rules/dice"
)

const sealType = "roll.seal"

// Sealed is a secret roll, a hidden target or a ruling that nobody has opened
// yet.
// Values of it are never changed.
type Sealed struct {
	N       int64
	Session string
	Seal    string
	By      string            // handle of who rolled
	Shown   events.Visibility // of a roll: to whom, before it is opened
	Lane    Lane              // of a roll
	I       int               // of a roll
	Target  bool
	Ruling  bool
	Rolls   []Against // the rolls made against a target
}

// Against is a roll that waits for its target to be opened.
type Against struct {
	Roll  int64 // n of the roll.made
	Total int
}

// Salts gives the salts of seals. Chains that can seal implement it; the salt
// must be 32 bytes that nobody else can know.
type Salts interface {
	// Salt is always the same for the same label.
	Salt(label string) ([]byte, error)
}

// Judging is a system that can say how a total compares with a target that
// was hidden when it was rolled.
type Judging interface {
	Judge(o Options, total, value int) (outcome string, margin int)
}

// A Secret is what a seal hides. It is kept outside the ledger until it is
// opened.
type Secret struct {
	Salt    []byte
	Payload []byte
}

// Sealed finds a secret that is not opened, by the n of its record.
func (c *Campaign) Sealed(n int64) (Sealed, bool) {
	s, ok := c.sealed[n]
	return s, ok
}

// AllSealed are the secrets that nobody has opened, in their order.
func (c *Campaign) AllSealed() []Sealed {
	all := make([]Sealed, 0, len(c.sealed))
	for _, n := range sortedKeys(c.sealed) {
		all = append(all, c.sealed[n])
	}
	return all
}

func (c *Campaign) seal(s Sealed) {
	s.N = c.Next
	c.sealed = maps.Clone(c.sealed)
	c.sealed[s.N] = s
}

func (c *Campaign) unseal(n int64) {
	c.sealed = maps.Clone(c.sealed)
	delete(c.sealed, n)
}

// VisibleTo decides whether a viewer may see what is sealed. Targets and
// rulings are the game masters' until they are opened.
func (s Sealed) VisibleTo(viewer events.Viewer) bool {
	if s.Target || s.Ruling {
		return viewer.GM
	}
	return s.Shown.Shows(s.By, viewer)
}

// Viewer is a participant as one who looks; the zero Viewer for somebody who
// does not take part.
func (c *Campaign) Viewer(handle string) events.Viewer {
	p, ok := c.Participant(handle)
	if !ok {
		return events.Viewer{}
	}
	return events.Viewer{Handle: p.Handle, GM: p.Role == RoleGM}
}

func (c *Campaign) sealedRoll(e *events.RollSealed, lane *Lane) error {
	shown, err := events.ParseVisibility(e.Visibility)
	if err != nil {
		return fmt.Errorf("visibility %w", err)
	}
	by := lane.Principal
	if by == SecretLane {
		by = c.Created.GM
	}
	c.seal(Sealed{Session: e.Session, Lane: *lane, I: e.I, Seal: e.Seal, By: by, Shown: shown})
	return nil
}

func (c *Campaign) widened(e *events.RollWidened) error {
	s, ok := c.sealed[e.Sealed]
	if !ok {
		return fmt.Errorf("record %d is no secret roll that waits to be opened", e.Sealed)
	}
	var err error
	if s.Shown, err = events.ParseVisibility(e.Visibility); err != nil {
		return fmt.Errorf("visibility %w", err)
	}
	c.sealed = maps.Clone(c.sealed)
	c.sealed[e.Sealed] = s
	return nil
}

// called notes a roll that was made against a hidden target.
func (c *Campaign) called(e *events.RollMade) {
	s, ok := c.sealed[e.Call]
	if e.Call == 0 || !ok {
		return
	}
	s.Rolls = append(slices.Clone(s.Rolls), Against{Roll: c.Next, Total: e.Total})
	c.sealed = maps.Clone(c.sealed)
	c.sealed[e.Call] = s
}

// DecideSecret is DecideHidden for who commands and the game masters.
func DecideSecret(c *Campaign, cmd Command, chains Chains) (Command, Secret, error) {
	private, err := events.ParseVisibility(nil)
	if err != nil {
		return cmd, Secret{}, err
	}
	return DecideHidden(c, cmd, private, chains)
}

// DecideHidden decides a command whose outcome is not for everybody. It
// returns the command that is recorded in its place, which carries the seal and
// says for whom it is, and the secret. Only what throws dice and changes nothing
// can be secret; whether it does is known before the first die, so that no
// refusal tells anything of dice that are still to come.
func DecideHidden(c *Campaign, cmd Command, shown events.Visibility, chains Chains) (Command, Secret, error) {
	salts, ok := chains.(Salts)
	if !ok {
		return cmd, Secret{}, fmt.Errorf("these chains cannot seal")
	}
	spec, data, err := c.ready(cmd)
	if err != nil {
		return cmd, Secret{}, err
	}
	if err := c.nameable("visibility", shown); err != nil {
		return cmd, Secret{}, err
	}
	if cmd.Dice != nil {
		return cmd, Secret{}, Reject("secret_by_hand", "", "dice typed in cannot be secret: nothing would bind them").On("dice")
	}
	if err := c.unchanging(cmd, spec, data); err != nil {
		return cmd, Secret{}, err
	}
	t := newTurn(c, cmd, chains)
	if cmd.By == c.Created.GM {
		t.begin(SecretLane)
	} else {
		t.begin(cmd.By)
		t.scope.secret = true
	}
	err = spec.decide(t, data)
	drawn := t.scope.stream != nil
	t.end()
	facts, err := t.outcome(err, drawn)
	if err != nil {
		return cmd, Secret{}, err
	}
	roll, ok := facts[len(facts)-1].Event.(*events.RollMade)
	if !ok || slices.ContainsFunc(facts, func(f events.Fact) bool { _, of := f.Event.(events.CharacterEvent); return of }) {
		return cmd, Secret{}, fmt.Errorf("rules: %s is said to change nothing, and does", cmd.Type)
	}
	payload, err := json.Marshal(roll, json.Deterministic(true))
	if err != nil {
		return cmd, Secret{}, err
	}
	salt, err := salts.Salt(fmt.Sprintf("roll\n%s\n%s\n%d\n", roll.Session, roll.Lane, roll.I))
	if err != nil {
		return cmd, Secret{}, err
	}
	sealed, err := Canonical(&RollSeal{Seal: hex.EncodeToString(merkle.Seal(salt, payload)), ShownTo: shown.JSON()})
	return Command{ID: cmd.ID, By: cmd.By, Type: sealType, Data: sealed}, Secret{salt, payload}, err
}

// unchanging refuses a command that could come to more than a roll. It is
// decided with the lowest and with the highest faces, of nobody's dice.
func (c *Campaign) unchanging(cmd Command, spec CommandSpec, data any) error {
	no := Reject("cannot_be_secret", "", "%s can change more than is rolled: it cannot be secret", cmd.Type).On("visibility")
	if !spec.Secret {
		return no
	}
	for _, oracle := range []func(sides int) int{func(int) int { return 1 }, func(sides int) int { return sides }} {
		trial := newTurn(c, cmd, nil)
		trial.oracle = oracle
		trial.begin(SecretLane)
		err := spec.decide(trial, data)
		if trial.err != nil {
			err = trial.err
		}
		switch {
		case err != nil:
			return err
		case len(trial.facts) > 0 || len(trial.scope.draws) == 0:
			return no
		}
	}
	return nil
}

// nameable refuses a visibility that is for everybody, or names somebody who
// does not take part.
func (c *Campaign) nameable(field string, shown events.Visibility) error {
	if shown.Public() {
		return Reject("not_secret", "", "what everybody may see is not sealed").On(field)
	}
	for _, handle := range shown.Named() {
		if _, ok := c.Participant(handle); !ok {
			return Reject("unknown_participant", "", "%q does not take part in this campaign", handle).On(field)
		}
	}
	return nil
}

// ShownRoll is the payload of a secret roll as it is shown to those who may
// see it before it is opened: without the link, of which the bare dice of the
// lane's earlier rolls could be computed, and those may be for other eyes.
func ShownRoll(payload []byte) (jsontext.Value, error) {
	roll, err := ReadRoll(string(payload))
	if err != nil {
		return nil, err
	}
	roll.S = ""
	return json.Marshal(roll, json.Deterministic(true))
}

// RollSeal is the data of roll.seal.
type RollSeal struct {
	Seal    string         `json:"seal" minLength:"64" maxLength:"64"`
	ShownTo jsontext.Value `json:"shown_to,omitzero" doc:"its visibility; left out: private"`
}

func sealRoll(t *Turn, d *RollSeal) error {
	if err := checkSeal(d.Seal); err != nil {
		return err
	}
	shown, err := events.ParseVisibility(d.ShownTo)
	if err != nil {
		return &Invalid{Field: "shown_to", Reason: err.Error()}
	}
	if err := t.c.nameable("shown_to", shown); err != nil {
		return err
	}
	if t.c.Session == nil {
		return Reject("no_session", "", "dice are thrown only inside a session: open one first (session.open)")
	}
	if err := t.unforeseen(); err != nil {
		return err
	}
	t.begin(SecretLane)
	if t.cmd.By != t.c.Created.GM {
		t.begin(t.cmd.By)
		t.scope.secret = true
	}
	lane, err := t.sealOn()
	if err != nil {
		return err
	}
	t.facts, t.scope = append(t.facts, t.scope.before...), scope{}
	t.Emit(&events.RollSealed{Session: t.c.Session.ID, Lane: lane.Name, I: lane.Used + 1, Seal: d.Seal, Visibility: d.ShownTo})
	return nil
}

// sealOn is the lane that a secret roll takes the next link of. It is seated or
// renewed like that of any roll.
func (t *Turn) sealOn() (*Lane, error) {
	k, err := t.rollsOn()
	if err != nil {
		return nil, err
	}
	if k < 0 {
		return nil, Reject("no_seat", "", "the seats of this session are not sealed yet")
	}
	if k, err = t.renewed(k); err != nil {
		return nil, err
	}
	lane := t.c.Session.Lanes[k]
	if lane.Used == lane.N {
		return nil, Reject("lane_used_up", "", "the lane %s has no links left: open a new session", lane.Name)
	}
	return lane, nil
}

func checkSeal(seal string) error { return checkHex("seal", seal) }

// RollOpen is the data of roll.open. The program adds salt and payload when it
// keeps them.
type RollOpen struct {
	Roll    int64  `json:"roll" minimum:"1" doc:"n of the roll.sealed"`
	Salt    string `json:"salt,omitzero" maxLength:"64"`
	Payload string `json:"payload,omitzero" maxLength:"32768"`
	// A seed gives all seeds before it on its lane.
	ShowsEarlier bool `json:"shows_earlier,omitzero" doc:"opens it before earlier secret rolls of the same lane: anybody can then compute their dice, though not what they were for"`
}

// secretRoll finds a secret roll that the commander may show to others.
func (t *Turn) secretRoll(n int64) (Sealed, error) {
	s, ok := t.c.sealed[n]
	if !ok || s.Target || s.Ruling {
		return s, Reject("not_sealed", "", "record %d is no secret roll that waits to be opened", n).On("roll")
	}
	if !t.GM() && (s.By != t.cmd.By || s.Shown.Blind()) {
		return s, &Forbidden{Reason: "a secret roll is shown by a game master, or by who rolled it and may see it"}
	}
	return s, nil
}

// RollWiden is the data of roll.widen.
type RollWiden struct {
	Roll    int64          `json:"roll" minimum:"1" doc:"n of the roll.sealed"`
	ShownTo jsontext.Value `json:"shown_to" doc:"private, or the handles of those who may see it beside who rolled and the game masters; to show it to everybody, open it"`
}

func widenRoll(t *Turn, d *RollWiden) error {
	shown, err := events.ParseVisibility(d.ShownTo)
	if err != nil {
		return &Invalid{Field: "shown_to", Reason: err.Error()}
	}
	s, err := t.secretRoll(d.Roll)
	if err != nil {
		return err
	}
	if shown.Public() {
		return Reject("open_it", "", "to show a roll to everybody, open it (roll.open): then it can be checked").On("shown_to")
	}
	if err := t.c.nameable("shown_to", shown); err != nil {
		return err
	}
	if !shown.Widens(s.Shown) {
		return Reject("narrower", "", "that shows the roll to nobody more, or to somebody less: what was shown stays shown").On("shown_to")
	}
	t.Emit(&events.RollWidened{Sealed: d.Roll, Visibility: shown.JSON()})
	return nil
}

func openRoll(t *Turn, d *RollOpen) error {
	s, err := t.secretRoll(d.Roll)
	if err != nil {
		return err
	}
	earlier := t.c.sealedBefore(s)
	for _, n := range earlier {
		if _, err := t.secretRoll(n); err != nil {
			return &Forbidden{Reason: fmt.Sprintf("record %d was rolled before it on the same lane, and its dice could be computed from this roll's seed: a game master opens it", n)}
		}
	}
	if len(earlier) > 0 && !d.ShowsEarlier {
		return Reject("shows_earlier", "", "record %d was rolled in secret before it on the same lane, and its dice could be computed from this roll's seed: open record %d first, or say shows_earlier if everybody may know them", earlier[0], earlier[0]).On("roll")
	}
	if err := opens(s, d.Salt, d.Payload); err != nil {
		return err
	}
	roll, err := ReadRoll(d.Payload)
	if err != nil {
		return Reject("payload", "", "the payload is no roll: %v", err).On("payload")
	}
	if err := s.check(roll); err != nil {
		return Reject("payload", "", "the dice in the payload do not follow from the lane: %v", err).On("payload")
	}
	t.Emit(&events.RollOpened{Sealed: d.Roll, Salt: d.Salt, Payload: d.Payload})
	return nil
}

// sealedBefore is the first secret roll that waits to be opened on a roll's
// lane and was made before it.
func (c *Campaign) sealedBefore(s Sealed) (earlier []int64) {
	for _, n := range sortedKeys(c.sealed) {
		e := c.sealed[n]
		if !e.Target && !e.Ruling && e.Session == s.Session && e.Lane.Name == s.Lane.Name && e.I < s.I {
			earlier = append(earlier, n)
		}
	}
	return earlier
}

// ReadRoll reads the payload of a secret roll: byte for byte what a roll.made
// would hold, so that no member is missing and none has a second reading.
func ReadRoll(payload string) (*events.RollMade, error) {
	roll := new(events.RollMade)
	if err := json.Unmarshal([]byte(payload), roll, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	written, err := json.Marshal(roll, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	if string(written) != payload {
		return nil, errors.New("it is not written as a roll is, or a member is missing")
	}
	return roll, events.CheckJSON(written)
}

func opens(s Sealed, salt, payload string) error {
	rawSalt, err := hex.DecodeString(salt)
	if err != nil || len(rawSalt) != merkle.SaltSize || hex.EncodeToString(rawSalt) != salt {
		return &Invalid{Field: "salt", Reason: "must be 64 lower-case hex digits"}
	}
	seal, err := hex.DecodeString(s.Seal)
	if err != nil || merkle.CheckSeal(seal, rawSalt, []byte(payload)) != nil {
		return Reject("seal_broken", "", "this is not what record %d sealed", s.N).On("payload")
	}
	return nil
}

// check holds the dice of an opened roll against its lane.
func (s Sealed) check(roll *events.RollMade) error {
	if roll.Session != s.Session || roll.Lane != s.Lane.Name || roll.I != s.I {
		return fmt.Errorf("it is roll %d of lane %s", roll.I, roll.Lane)
	}
	// Whatever enters the dice was fixed before them: a free field could be
	// tried out until the dice please.
	if roll.Source != SourceLedger || roll.C != dice.Absent || roll.W != "" {
		return fmt.Errorf("it claims a device or a witness, which the lane %s has not", roll.Lane)
	}
	if len(roll.Draws) == 0 {
		return errors.New("it has no dice")
	}
	seed, err := dice.ParseSeed(roll.S)
	if err != nil {
		return err
	}
	s0, err := dice.ParseSeed(s.Lane.S0)
	if err != nil {
		return err
	}
	if !follows(seed, s.I, s0, 0) {
		return fmt.Errorf("the seed is not in the chain")
	}
	stream := dice.NewStream(seed, s.Lane.Joint, roll.Lane, roll.I, roll.C, dice.Absent)
	for i, d := range roll.Draws {
		if d[0] < 1 || stream.Die(d[0]) != d[1] {
			return fmt.Errorf("die %d", i+1)
		}
	}
	return nil
}

// Target is what a hidden target's seal hides.
type Target struct {
	Value   int    `json:"value" minimum:"-1000000" maximum:"1000000"`
	Purpose string `json:"purpose,omitzero" maxLength:"200"`
}

// TargetSeal is the data of target.seal. What is asked for carries the target;
// what is recorded carries the seal.
type TargetSeal struct {
	Target *Target `json:"target,omitzero"`
	Seal   string  `json:"seal,omitzero" maxLength:"64"`
}

// HideTarget puts the seal in the target's place. Without a target the command
// stays as it is.
func HideTarget(cmd Command, salts Salts) (Command, Secret, error) {
	var d TargetSeal
	if err := Unmarshal(cmd.Data, &d); err != nil {
		return cmd, Secret{}, err
	}
	if (d.Target == nil) == (d.Seal == "") {
		return cmd, Secret{}, &Invalid{Field: "target", Reason: "or seal: exactly one of them must be given"}
	}
	if d.Target == nil {
		return cmd, Secret{}, nil
	}
	payload, err := Canonical(d.Target)
	if err != nil {
		return cmd, Secret{}, err
	}
	salt, err := salts.Salt("target\n" + cmd.ID + "\n")
	if err != nil {
		return cmd, Secret{}, err
	}
	cmd.Data, err = Canonical(&TargetSeal{Seal: hex.EncodeToString(merkle.Seal(salt, payload))})
	return cmd, Secret{salt, payload}, err
}

func sealTarget(t *Turn, d *TargetSeal) error {
	if d.Target != nil || d.Seal == "" {
		return &Invalid{Field: "seal", Reason: "is missing: a target is never recorded before it is opened"}
	}
	if err := checkSeal(d.Seal); err != nil {
		return err
	}
	if t.c.Session == nil {
		return Reject("no_session", "", "a target is sealed for the rolls of a session: open one first (session.open)")
	}
	t.Emit(&events.TargetSealed{Session: t.c.Session.ID, Seal: d.Seal})
	return nil
}

// TargetOpen is the data of target.open. The program adds salt and payload
// when it keeps them.
type TargetOpen struct {
	Target  int64  `json:"target" minimum:"1" doc:"n of the target.sealed"`
	Salt    string `json:"salt,omitzero" maxLength:"64"`
	Payload string `json:"payload,omitzero" maxLength:"4096"`
}

func openTarget(t *Turn, d *TargetOpen) error {
	s, ok := t.c.sealed[d.Target]
	if !ok || !s.Target {
		return Reject("not_sealed", "", "record %d is no hidden target that waits to be opened", d.Target).On("target")
	}
	if err := opens(s, d.Salt, d.Payload); err != nil {
		return err
	}
	var target Target
	if err := Unmarshal(jsontext.Value(d.Payload), &target); err != nil {
		return within("payload", err)
	}
	e := &events.TargetOpened{Sealed: d.Target, Salt: d.Salt, Payload: d.Payload, Value: target.Value, Rolls: []events.Judged{}}
	judge, ok := t.c.Book.System.(Judging)
	for _, a := range s.Rolls {
		if !ok {
			return fmt.Errorf("rules: %s rolls against hidden targets and cannot judge them", t.c.Book.Name())
		}
		outcome, margin := judge.Judge(t.c.Options, a.Total, target.Value)
		e.Rolls = append(e.Rolls, events.Judged{Roll: a.Roll, Outcome: outcome, Margin: margin})
	}
	t.Emit(e)
	return nil
}

// Hidden notes that the turn's roll is made against a hidden target, given by
// the n of its target.sealed. It is called before any die is drawn.
func (t *Turn) Hidden(field string, n int64) error {
	s, ok := t.c.sealed[n]
	if !ok || !s.Target || t.c.Session == nil || s.Session != t.c.Session.ID {
		return Reject("not_sealed", "", "record %d is no hidden target of this session", n).On(field)
	}
	if _, ok := t.c.Book.System.(Judging); !ok {
		return Reject("no_hidden_targets", "", "%s has no hidden targets", t.c.Book.Name()).On(field)
	}
	t.scope.call = n
	return nil
}
