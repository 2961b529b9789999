package replay

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
	"tallystick/projections"
	"tallystick/rules"
	"tallystick/rules/dice"
)

// Bounds of a what-if.
const (
	// DefaultHorizon is how many later commands are carried on when nothing else
	// is asked; MaxHorizon is the most.
	DefaultHorizon = 10
	MaxHorizon     = 1_000
	// maxShownEvents is how many events of one command are shown on each side;
	// those beyond are counted.
	maxShownEvents = 100
)

// A Change is what a what-if alters at its fork. With none of its members the
// command is decided again as it was.
type Change struct {
	Modifiers []ChangedModifier         `json:"modifiers,omitzero" maxItems:"20" doc:"added to the roll"`
	Dice      []int                     `json:"dice,omitzero" maxItems:"1000" doc:"faces in the order the rules ask for them; those that are missing come from the what-if's own stream"`
	Options   map[string]jsontext.Value `json:"options,omitzero" doc:"other rulings, from the fork on"`
	Edition   int                       `json:"edition,omitzero" minimum:"0" maximum:"1000000" doc:"another edition of the rules, from the fork on"`
	Command   *ChangedCommand           `json:"command,omitzero" doc:"another command in its place, by the same participant; in that of a witness's element: of the declared command"`
	Ruling    *ChangedRuling            `json:"ruling,omitzero" doc:"another ruling of the game master, on a dispute or over a roll"`
	Horizon   *int                      `json:"horizon,omitzero" minimum:"0" maximum:"1000" doc:"how many later commands are carried on; 10 unless said"`
}

// ChangedModifier is a number that is added, and why.
type ChangedModifier struct {
	Label string `json:"label" minLength:"1" maxLength:"200"`
	Value int    `json:"value" minimum:"-100" maximum:"100"`
}

// ChangedCommand is a command in the place of the recorded one.
type ChangedCommand struct {
	Type string         `json:"type"`
	Data jsontext.Value `json:"data,omitzero"`
}

// ChangedRuling is another word of the game master in the place of the
// recorded one: of a dispute.rule or of a ruling.make.
type ChangedRuling struct {
	Ruling  string `json:"ruling,omitzero" enum:"upheld,overturned,void" doc:"on a dispute. Overturned: the command of the disputed record is taken back as well; else corrections that carried the recorded ruling out are"`
	Outcome string `json:"outcome,omitzero" maxLength:"1000" doc:"over a roll: what counts instead, in words"`
	Reason  string `json:"reason,omitzero" maxLength:"4000" doc:"the recorded one unless said"`
}

// A WhatIf shows what the ledger holds and what it would hold, side by side.
// Nothing of it is in the ledger, and no die of it is one that the ledger has
// still to show.
type WhatIf struct {
	WhatIf     bool            `json:"what_if" doc:"always true: this never happened"`
	Campaign   string          `json:"campaign"`
	N          int64           `json:"n" doc:"record at whose command the lines fork"`
	Change     Change          `json:"change"`
	Edition    int             `json:"edition" doc:"of the rules of the other line"`
	PartAt     *int64          `json:"part_at,omitzero" doc:"first record of the command at which the lines part; left out when they never do"`
	Steps      []WhatIfStep    `json:"steps" doc:"the command of the fork, then those that are carried on"`
	Characters []WhatIfOutcome `json:"characters" doc:"those that stand otherwise in the end"`
	Clock      int64           `json:"clock" doc:"game time at the end of the recorded line, in seconds"`
}

// A WhatIfStep is one command on both lines.
type WhatIfStep struct {
	N         int64         `json:"n" doc:"first record of the command"`
	Command   string        `json:"command"`
	Type      string        `json:"type" doc:"of a declared roll that of the declared command"`
	By        string        `json:"by" doc:"who gave it; of a declared roll who declared it"`
	Declared  int64         `json:"declared,omitzero" doc:"of a declared roll: n of the declaration"`
	Witness   string        `json:"witness,omitzero" doc:"of a declared roll: who gave the element it is made with"`
	Same      bool          `json:"same" doc:"the lines do not differ here"`
	Recorded  []WhatIfEvent `json:"recorded"`
	Otherwise []WhatIfEvent `json:"otherwise"`
	Refused   string        `json:"refused,omitzero" doc:"why the rules refuse the command on the other line"`
	LeftOut   int           `json:"left_out,omitzero" doc:"events beyond the first 100 of a side"`
	Field     string        `json:"field,omitzero" doc:"the first difference: where …"`
	Was       string        `json:"was,omitzero" doc:"… what is recorded …"`
	Is        string        `json:"is,omitzero" doc:"… and what it would be"`
}

// A WhatIfEvent is an event on one of the lines.
type WhatIfEvent struct {
	Type string         `json:"type"`
	Data jsontext.Value `json:"data"`
	Text string         `json:"text,omitzero" doc:"in words"`
}

// A WhatIfOutcome is a character that stands otherwise at the end.
type WhatIfOutcome struct {
	Character string         `json:"character"`
	Name      string         `json:"name"`
	Recorded  *events.Vitals `json:"recorded,omitzero" doc:"left out: it does not exist there"`
	Otherwise *events.Vitals `json:"otherwise,omitzero"`
}

// Ask decides the command of record n again with a change, and the commands
// after it, and compares. commits hands over the commits of the campaign in
// order until it is told to stop with an error; for a correction it is asked
// again. Errors: *rules.Invalid,
// *rules.Rejection and the like when the changed command cannot be decided,
// *rules.MissingEdition, *NotARoll when there is no record n, *Unusable.
func Ask(library rules.Library, n int64, change Change, commits func(each func(payload []byte) error) error) (*WhatIf, error) {
	horizon := DefaultHorizon
	if change.Horizon != nil {
		horizon = *change.Horizon
	}
	if horizon < 0 || horizon > MaxHorizon {
		return nil, &rules.Invalid{Field: "horizon", Reason: fmt.Sprintf("is %d: must be 0 to %d", horizon, MaxHorizon)}
	}
	f := &fork{library: library, n: n, horizon: horizon, change: change, teller: projections.NewTeller(), history: commits}
	if err := commits(f.commit); err != nil && !errors.Is(err, errForked) {
		return nil, err
	}
	if f.branch == nil {
		return nil, &NotARoll{N: n}
	}
	return f.compare()
}

// errForked ends the reading when the horizon is reached.
var errForked = errors.New("the horizon is reached")

// fork reads up to the command of record n and keeps the commands after it.
type fork struct {
	library  rules.Library
	n        int64
	horizon  int
	change   Change
	trunk    *rules.Campaign // as recorded
	teller   *projections.Teller
	history  History
	declared declared        // the roll that was declared last
	start    *rules.Campaign // before the advance that is under way
	branch   *rules.Campaign // at the fork, once it is reached
	later    []taken         // the command of the fork first; parts of an advance belong to it
}

func (f *fork) commit(payload []byte) error {
	recs, err := events.ParseCommit(payload)
	if err != nil {
		return &Unusable{Err: err}
	}
	if f.trunk == nil {
		f.trunk = rules.NewCampaign(recs[0].Campaign, f.library)
	}
	if err := f.keep(recs); err != nil {
		return err
	}
	if err := f.trunk.ApplyCommit(recs); err != nil {
		return &Unusable{N: recs[0].N, Err: err}
	}
	for _, rec := range recs {
		f.teller.Tell(rec)
		if rec.Type == "roll.declared" || rec.Type == "roll.passed" {
			e, err := core.Decode(rec)
			if err != nil {
				return &Unusable{N: rec.N, Err: err}
			}
			f.declared.note(rec, e)
		}
	}
	return nil
}

// keep keeps a commit when it is one of the fork or behind it. A fork in a later
// part of an advance is one at the whole advance, which is kept when it begins.
func (f *fork) keep(recs []events.Record) error {
	reached := recs[len(recs)-1].N >= f.n
	part := recs[0].Cmd.Type == "clock.resume"
	switch {
	case f.branch == nil && reached && f.trunk.Book == nil:
		return rules.Reject("not_a_fork", "", "record %d opens the campaign: there is nothing before it to fork from", f.n)
	case part:
		if k := len(f.later) - 1; k >= 0 {
			f.later[k].records = append(slices.Clip(f.later[k].records), recs...)
		}
	case f.branch == nil && (reached || begins(recs)):
		f.start, f.later = f.trunk.Fork(), []taken{{recs, f.declared}}
	case f.branch == nil:
		f.start, f.later = nil, nil
	case len(f.later) == f.horizon+1:
		return errForked
	default:
		f.later = append(f.later, taken{recs, f.declared})
	}
	if f.branch == nil && reached {
		f.branch = f.start
	}
	return nil
}

// begins reports whether a commit is the first of an advance that takes several.
func begins(recs []events.Record) bool {
	return slices.ContainsFunc(recs, func(r events.Record) bool { return r.Type == "clock.advancing" })
}

// taken is a command of the recorded line.
type taken struct {
	records  []events.Record
	declared declared // the roll that was declared last before it
}

// compare decides the branch and holds it against the trunk.
func (f *fork) compare() (*WhatIf, error) {
	branch, err := f.branch.Under(f.change.Edition, f.change.Options)
	if err != nil {
		return nil, err
	}
	w := &WhatIf{
		WhatIf: true, Campaign: f.trunk.ID, N: f.n, Change: f.change, Edition: branch.Book.Edition(), Steps: []WhatIfStep{}, Characters: []WhatIfOutcome{}, Clock: f.trunk.Clock,
	}
	d := newOtherDice(f.trunk.ID, f.n, f.later)
	d.history = f.history
	for i, was := range f.later {
		recs := was.records
		cmds := []rules.Command{commandOf(recs[0])}
		if i == 0 {
			if cmds, err = f.changed(branch, was, d); err != nil {
				return nil, err
			}
		}
		var facts []events.Fact
		var refused error
		for _, cmd := range cmds {
			var more []events.Fact
			if more, refused = f.decide(branch, cmd, recs, d, w.PartAt != nil); refused != nil {
				break
			}
			facts = append(facts, more...)
		}
		if i == 0 && refused != nil {
			return nil, refused
		}
		step, err := f.step(was, facts, refused)
		if err != nil {
			return nil, err
		}
		if !step.Same && w.PartAt == nil {
			w.PartAt = &recs[0].N
		}
		w.Steps = append(w.Steps, step)
	}
	w.Characters = outcomes(f.trunk, branch)
	return w, nil
}

func commandOf(rec events.Record) rules.Command {
	return rules.Command{ID: rec.Cmd.ID, By: rec.By, Type: rec.Cmd.Type, Data: rec.Cmd.Data, Dice: rec.Cmd.Dice, Seat: rec.Cmd.Seat}
}

// newCommand reports whether the change puts other commands in the place of the
// recorded one.
func (c Change) newCommand() bool { return c.Command != nil || c.Ruling != nil }

// changed are the commands of the fork with what was asked for: one, but for a
// ruling that corrections carry out.
func (f *fork) changed(c *rules.Campaign, was taken, d *otherDice) ([]rules.Command, error) {
	cmd := commandOf(was.records[0])
	var err error
	switch {
	case f.change.Ruling != nil:
		return f.ruled(c, cmd)
	case cmd.Type == "roll.witness" && !f.change.ofDeclaration():
		err = f.redeclare(c, was.declared.cmd)
	default:
		cmd, err = f.altered(c, cmd)
	}
	if err != nil {
		return nil, err
	}
	if len(f.change.Dice) == 0 {
		return []rules.Command{cmd}, nil
	}
	for i, face := range f.change.Dice {
		if face < -1 {
			return nil, &rules.Invalid{Field: fmt.Sprintf("dice.%d", i), Reason: fmt.Sprintf("is %d: no die shows it", face)}
		}
	}
	cmd, err = f.thrown(cmd, was.records, d)
	return []rules.Command{cmd}, err
}

// ofDeclaration reports whether the change puts another end of a declared roll
// in the place of the recorded one, and not another roll.
func (c Change) ofDeclaration() bool {
	return c.Command != nil && slices.Contains([]string{"roll.witness", "roll.pass", "roll.void"}, c.Command.Type)
}

// redeclare lets another roll have been declared than was.
func (f *fork) redeclare(c *rules.Campaign, cmd rules.Command) error {
	cmd, err := f.altered(c, cmd)
	if err == nil {
		c.Redeclare(cmd.Type, cmd.Data)
	}
	return err
}

// altered is a command with the command or the modifiers that were asked for.
func (f *fork) altered(c *rules.Campaign, cmd rules.Command) (rules.Command, error) {
	if !f.change.newCommand() && len(f.change.Modifiers) == 0 {
		return cmd, nil
	}
	if f.change.Command != nil {
		cmd.Type, cmd.Data, cmd.Dice = f.change.Command.Type, f.change.Command.Data, nil
	}
	if len(f.change.Modifiers) > 0 {
		var err error
		if cmd, err = modified(c, cmd, f.change.Modifiers); err != nil {
			return cmd, err
		}
	}
	cmd, err := c.Canonical(cmd)
	return cmd, inCommand(err)
}

// inCommand says that a complaint is about the command in the place of the
// recorded one.
func inCommand(err error) error {
	var bad *rules.Invalid
	if errors.As(err, &bad) {
		return &rules.Invalid{Field: "command." + bad.Field, Reason: bad.Reason}
	}
	return err
}

// thrown puts other dice under the roll of record n. Among the rolls of an
// advance only that one gets them.
func (f *fork) thrown(cmd rules.Command, recs []events.Record, d *otherDice) (rules.Command, error) {
	roll, before := rollAt(recs, f.n)
	if declares, ok := declarationIn(recs); ok && f.change.Command == nil {
		d.faces[linkKey(declares.lane, declares.i)] = f.change.Dice
		return cmd, nil
	}
	switch {
	case f.change.Command == nil && (cmd.Type == "roll.seal" || cmd.Type == "roll.open"):
		return cmd, rules.Reject("sealed_dice", "", "the dice of record %d were thrown in secret: ask with the roll itself as another command", f.n).On("dice")
	case f.change.Command == nil && roll == nil && len(f.change.Options) == 0 && f.change.Edition == 0 && len(f.change.Modifiers) == 0:
		return cmd, rules.Reject("no_dice", "", "%s threw no dice at record %d: there are none to change", cmd.Type, f.n).On("dice")
	case f.change.Command != nil && cmd.Type != "roll.witness" || roll == nil:
		cmd.Dice = &events.Hand{Faces: f.change.Dice}
	case roll.Source == rules.SourcePhysical:
		rest := cmd.Dice.Faces[min(before+len(roll.Draws), len(cmd.Dice.Faces)):]
		cmd.Dice = &events.Hand{Faces: slices.Concat(cmd.Dice.Faces[:before], f.change.Dice, rest)}
	default:
		d.faces[linkKey(roll.Lane, roll.I)] = f.change.Dice
	}
	return cmd, nil
}

// rollAt finds the roll that record n of a command is, or follows from, and how
// many dice were thrown in the command before it. It is the first roll when n
// is no roll's.
func rollAt(recs []events.Record, n int64) (roll *events.RollMade, before int) {
	for _, rec := range recs {
		if rec.N > n && roll != nil {
			return roll, before
		}
		if made := made(rec); made != nil {
			if roll != nil {
				before += len(roll.Draws)
			}
			roll = made
		}
	}
	return roll, before
}

// made is the roll in a record, or nil.
func made(rec events.Record) *events.RollMade {
	if rec.Type != "roll.made" && rec.Type != "roll.resolved" {
		return nil
	}
	e, err := core.Decode(rec)
	if err != nil {
		return nil
	}
	switch e := e.(type) {
	case *events.RollMade:
		return e
	case *events.RollResolved:
		return &e.RollMade
	}
	return nil
}

// places are where commands hold the modifiers of the first roll: beside the
// other members, at who acts, at the first side.
var places = [][]string{{}, {"with"}, {"sides", "0"}, {"lone"}}

// modified adds modifiers to a command, where its data has room for them. Free
// notation gets a number behind it.
func modified(c *rules.Campaign, cmd rules.Command, add []ChangedModifier) (rules.Command, error) {
	if cmd.Type == "roll" {
		var d rules.Roll
		if err := rules.Unmarshal(cmd.Data, &d); err != nil {
			return cmd, err
		}
		for _, m := range add {
			d.Expression += fmt.Sprintf("%+d", m.Value)
		}
		data, err := rules.Canonical(&d)
		cmd.Data = data
		return cmd, err
	}
	if cmd.Type == "roll.declare" {
		return declaredOtherwise(c, cmd, add)
	}
	for _, path := range places {
		data, err := insert(cmd.Data, path, add)
		if err != nil {
			continue
		}
		tried := cmd
		tried.Data = data
		if tried, err = c.Canonical(tried); err == nil {
			return tried, nil
		}
	}
	return cmd, rules.Reject("no_modifiers", "", "%s takes no modifiers: ask with another command, or with other dice", cmd.Type).On("modifiers")
}

// declaredOtherwise adds modifiers to the command that a declaration announces.
func declaredOtherwise(c *rules.Campaign, cmd rules.Command, add []ChangedModifier) (rules.Command, error) {
	var d rules.RollDeclare
	if err := rules.Unmarshal(cmd.Data, &d); err != nil {
		return cmd, err
	}
	inner, err := modified(c, rules.Command{ID: cmd.ID, By: cmd.By, Type: d.Command, Data: d.Data}, add)
	if err != nil {
		return cmd, err
	}
	d.Data = inner.Data
	cmd.Data, err = rules.Canonical(&d)
	return cmd, err
}

// insert appends modifiers to the list at a path.
func insert(data jsontext.Value, path []string, add []ChangedModifier) (jsontext.Value, error) {
	var whole any
	if err := json.Unmarshal(data, &whole); err != nil {
		return nil, err
	}
	at := whole
	for _, name := range path {
		switch v := at.(type) {
		case map[string]any:
			if _, ok := v[name]; !ok && name == "with" {
				v[name] = map[string]any{}
			}
			at = v[name]
		case []any:
			if len(v) == 0 {
				return nil, errors.New("the list is empty")
			}
			at = v[0]
		}
	}
	object, ok := at.(map[string]any)
	if !ok {
		return nil, errors.New("there is no such member")
	}
	list, _ := object["modifiers"].([]any)
	for _, m := range add {
		list = append(list, map[string]any{"label": m.Label, "value": m.Value})
	}
	object["modifiers"] = list
	return json.Marshal(whole, json.Deterministic(true))
}

// errCorrection says that a correction is not carried on once the lines have
// parted.
var errCorrection = errors.New("a correction is worked out from what the ledger holds: it is not carried on here")

// decide decides a command on the branch. A correction is worked out from the
// whole ledger: one that is recorded stands as it is while the lines are one.
func (f *fork) decide(branch *rules.Campaign, cmd rules.Command, recs []events.Record, d *otherDice, parted bool) ([]events.Fact, error) {
	if cmd.Type != "correction.make" || recs[0].N == f.later[0].records[0].N && f.change.newCommand() {
		return decideOtherwise(branch, cmd, recs, d)
	}
	if parted || branch.Book.Edition() != f.trunk.Book.Edition() {
		return nil, errCorrection
	}
	branch.Next = recs[0].N
	if err := branch.ApplyCommit(recs); err != nil {
		return nil, err
	}
	var facts []events.Fact
	for _, rec := range recs {
		e, err := branch.Book.Registry().Decode(rec)
		if err != nil {
			return nil, err
		}
		facts = append(facts, events.Fact{Clock: rec.Clock, Event: e, Data: rec.Data})
	}
	return facts, nil
}

// decideOtherwise decides a command on the branch, also the parts of an
// advance, and folds it. An error is why it cannot be decided.
func decideOtherwise(c *rules.Campaign, cmd rules.Command, recs []events.Record, d *otherDice) ([]events.Fact, error) {
	c.Next = recs[0].N // what is numbered keeps its number on both lines
	d.begin(c, recs)
	facts, err := rules.DecideOtherwise(c, cmd, d, d)
	if err != nil {
		return nil, err
	}
	if err := fold(c, recs[0], cmd, facts); err != nil {
		return nil, err
	}
	for c.Pending != nil {
		part, err := rules.Canonical(&rules.ClockResume{Command: c.Pending.Command, Part: c.Pending.Parts})
		if err != nil {
			return nil, err
		}
		resume := rules.Command{ID: fmt.Sprintf("%s part %d", cmd.ID, c.Pending.Parts), By: rules.SystemPrincipal, Type: "clock.resume", Data: part}
		more, err := rules.DecideOtherwise(c, resume, d, d)
		if err != nil {
			return nil, err
		}
		if err := fold(c, recs[0], resume, more); err != nil {
			return nil, err
		}
		facts = append(facts, more...)
	}
	return facts, nil
}

func fold(c *rules.Campaign, first events.Record, cmd rules.Command, facts []events.Fact) error {
	return c.ApplyFacts(events.Head{Campaign: c.ID, N: c.Next, At: first.At, By: cmd.By, Cmd: cmd.Record()}, facts)
}

// step shows a command on both lines.
func (f *fork) step(line taken, facts []events.Fact, refused error) (WhatIfStep, error) {
	recs := line.records
	s := WhatIfStep{N: recs[0].N, Command: recs[0].Cmd.ID, Type: recs[0].Cmd.Type, By: recs[0].By, Recorded: []WhatIfEvent{}, Otherwise: []WhatIfEvent{}}
	if d := line.declared; recs[0].Cmd.Type == "roll.witness" {
		s.Type, s.By, s.Declared, s.Witness = d.cmd.Type, d.cmd.By, d.n, recs[0].By
	}
	if refused != nil {
		s.Refused = refused.Error()
	}
	was, is := compared(recs), make([]events.Record, 0, len(facts))
	for i := range facts {
		if err := facts[i].Encode(); err != nil {
			return s, err
		}
		is = append(is, events.Record{V: events.Version, Campaign: recs[0].Campaign, N: recs[0].N + int64(i), At: recs[0].At, By: recs[0].By, Clock: facts[i].Clock, Type: facts[i].Event.Type(), Data: facts[i].Data})
	}
	is = compared(is)
	s.Same = refused == nil && equal(was, is)
	if !s.Same && refused == nil {
		s.Field, s.Was, s.Is = parted(was, is)
	}
	s.LeftOut = max(0, len(was)-maxShownEvents) + max(0, len(is)-maxShownEvents)
	for _, rec := range was[:min(len(was), maxShownEvents)] {
		s.Recorded = append(s.Recorded, WhatIfEvent{rec.Type, rec.Data, f.teller.Say(rec)})
	}
	for _, rec := range is[:min(len(is), maxShownEvents)] {
		s.Otherwise = append(s.Otherwise, WhatIfEvent{rec.Type, rec.Data, f.teller.Say(rec)})
	}
	return s, nil
}

// compared are the records of a command that the lines are compared by: how an
// advance was cut into commits does not matter.
func compared(recs []events.Record) []events.Record {
	return slices.DeleteFunc(slices.Clone(recs), func(r events.Record) bool { return r.Type == "clock.advancing" })
}

func equal(a, b []events.Record) bool {
	return slices.EqualFunc(a, b, func(x, y events.Record) bool {
		return x.Type == y.Type && x.Clock == y.Clock && bytes.Equal(x.Data, y.Data)
	})
}

// parted finds the first difference of two lists of events.
func parted(was, is []events.Record) (field, a, b string) {
	for i := range max(len(was), len(is)) {
		switch {
		case i == len(was):
			return "events", "nothing", is[i].Type
		case i == len(is):
			return "events", was[i].Type, "nothing"
		case was[i].Type != is[i].Type:
			return "type", was[i].Type, is[i].Type
		case !bytes.Equal(was[i].Data, is[i].Data):
			return difference(was[i].Type, was[i].Data, is[i].Data)
		case was[i].Clock != is[i].Clock:
			return "clock", fmt.Sprint(was[i].Clock), fmt.Sprint(is[i].Clock)
		}
	}
	return "", "", ""
}

// outcomes are the characters that stand otherwise.
func outcomes(trunk, branch *rules.Campaign) []WhatIfOutcome {
	all := []WhatIfOutcome{}
	ids := slices.Concat(trunk.Characters(), branch.Characters())
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		o := WhatIfOutcome{Character: id}
		for _, line := range []struct {
			c  *rules.Campaign
			to **events.Vitals
		}{{trunk, &o.Recorded}, {branch, &o.Otherwise}} {
			if ch, ok := line.c.Character(id); ok {
				v := line.c.Vitals(ch)
				o.Name, *line.to = ch.Name, &v
			}
		}
		a, _ := json.Marshal(o.Recorded, json.Deterministic(true)) // vitals always can be written
		b, _ := json.Marshal(o.Otherwise, json.Deterministic(true))
		if !bytes.Equal(a, b) {
			all = append(all, o)
		}
	}
	return all
}

// otherDice gives the dice of the branch: those of the ledger where the lane
// and the index are the same, else dice of a stream that is nobody's. It draws
// from no chain: what it knows of one is what the ledger has shown.
type otherDice struct {
	label string
	links map[string]events.RollMade // what the ledger shows, by lane and index
	// history is what corrections at the fork are worked out from.
	history History
	faces   map[string][]int // given with the change, by lane and index
	seeds   *seeds           // of the commit that is being decided
}

func newOtherDice(campaign string, n int64, later []taken) *otherDice {
	d := &otherDice{label: fmt.Sprintf("%s %d", campaign, n), links: map[string]events.RollMade{}, faces: map[string][]int{}}
	for _, line := range later {
		for _, rec := range line.records {
			if m := made(rec); m != nil && m.Source == rules.SourceLedger {
				key := m.Session + " " + linkKey(m.Lane, m.I)
				d.links[key] = events.RollMade{S: m.S, C: m.C, W: m.W}
			}
		}
	}
	return d
}

// begin takes the anchors and links that the records of a command show.
func (d *otherDice) begin(c *rules.Campaign, recs []events.Record) {
	d.seeds, _ = recorded(c, commit{recs: recs}) // records that were folded can be read
}

// Dice implements rules.Otherwise.
func (d *otherDice) Dice(session string, lane rules.Lane, i int) rules.Taken {
	taken := rules.Taken{Faces: d.faces[linkKey(lane.Name, i)], Source: rules.SourceWhatIf, C: dice.Absent}
	link, known := d.links[session+" "+linkKey(lane.Name, i)]
	seed, err := dice.ParseSeed(link.S)
	if !known || err != nil || lane.Joint == (dice.Seed{}) {
		taken.Stream = dice.WhatIfStream(d.label, lane.Joint, lane.Name, i, dice.Absent, dice.Absent)
		return taken
	}
	w := dice.Absent
	if link.W != "" {
		w = link.W
	}
	taken.Stream = dice.NewStream(seed, lane.Joint, lane.Name, i, link.C, w)
	taken.S, taken.C, taken.W = link.S, link.C, link.W
	if len(taken.Faces) == 0 {
		taken.Source = rules.SourceLedger
	}
	return taken
}

// Correct implements rules.Histories, for a correction at the fork.
func (d *otherDice) Correct(c *rules.Campaign, x rules.Correction) (*rules.Difference, error) {
	return Correct(d.history, c, x)
}

// Anchor implements rules.Chains. A seat that the ledger does not have gets an
// anchor of its own.
func (d *otherDice) Anchor(session, lane string, n int) (dice.Seed, error) {
	if d.seeds != nil {
		if seed, err := d.seeds.Anchor(session, lane, n); err == nil {
			return seed, nil
		}
	}
	return sha256.Sum256(fmt.Appendf(nil, "dice-whatif/anchor\n%s\n%s\n%s\n", d.label, session, lane)), nil
}

// Link implements rules.Chains.
func (d *otherDice) Link(session, lane string, n, i int) (dice.Seed, error) {
	if d.seeds == nil {
		return dice.Seed{}, errors.New("the ledger has not shown this link")
	}
	return d.seeds.Link(session, lane, n, i)
}

func linkKey(lane string, i int) string { return lane + " " + strconv.Itoa(i) }
