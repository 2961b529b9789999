package replay

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
	"tallystick/projections"
	"tallystick/rules"
	"tallystick/rules/dice"
)

// Kinds of proof of a roll.
const (
	ProvedByLedger  = "ledger"    // the dice follow from seeds that were committed to
	ProvedByWitness = "witnessed" // and from the element of a witness, given after the roll was declared
	NotProved       = "typed in"  // thrown on a real table: nothing proves them
	NotShownYet     = "secret"    // sealed: the dice are committed to and not shown
	ProvedByRules   = "rules"     // no die was thrown: the rules decide it again from the ledger
)

// An Audit explains one roll from the ledger alone; or a wound, a check that
// fell due or the like for which no die was thrown.
type Audit struct {
	Campaign string        `json:"campaign"`
	N        int64         `json:"n" doc:"record of the roll, or of what happened without one"`
	Type     string        `json:"type" doc:"of the record"`
	At       string        `json:"at" doc:"wall clock, UTC"`
	Clock    int64         `json:"clock" doc:"game seconds"`
	Sentence string        `json:"sentence" doc:"what was rolled or happened and what came of it, for a player; also whether it was overridden or taken back"`
	Rule     string        `json:"rule,omitzero" doc:"by which it happened, when no die was thrown"`
	Title    string        `json:"title,omitzero" doc:"of that rule"`
	Throws   []AuditThrow  `json:"throws" doc:"every question put to the dice; empty for a secret roll that is not opened, and where no die was thrown"`
	Seed     *AuditSeed    `json:"seed,omitzero" doc:"where the dice come from; left out for dice typed in and secret ones"`
	Cause    AuditCause    `json:"cause" doc:"the command that it came of"`
	Caused   []AuditEffect `json:"caused" doc:"what followed from it"`
	Later    []AuditEffect `json:"later" doc:"what was said of it since: disputes, rulings, corrections, an opened target"`
	Proof    AuditProof    `json:"proof"`
	Rules    string        `json:"rules" doc:"system and edition; empty when it is not on board"`
	Missing  string        `json:"missing,omitzero" doc:"system and edition, when it is not on board: titles of rules are missing, and what the rules say of a record is not known"`
}

// An AuditThrow is one question put to the dice.
type AuditThrow struct {
	Character  string          `json:"character,omitzero"`
	Name       string          `json:"name,omitzero"`
	Purpose    string          `json:"purpose"`
	Expression string          `json:"expression"`
	Sentence   string          `json:"sentence"`
	Dice       []AuditDie      `json:"dice"`
	Modifiers  []AuditModifier `json:"modifiers"`
	Damage     []AuditModifier `json:"damage,omitzero" doc:"the numbers that its damage is made of"`
	Total      int             `json:"total"`
	Against    *events.Against `json:"against,omitzero"`
	Outcome    string          `json:"outcome,omitzero"`
	Margin     *int            `json:"margin,omitzero"`
	Detail     jsontext.Value  `json:"detail,omitzero" doc:"what the system adds"`
}

// An AuditDie is one die and the word of the stream that it was made of.
type AuditDie struct {
	Sides  uint32  `json:"sides"`
	Face   uint32  `json:"face"`
	Block  *uint64 `json:"block,omitzero" doc:"block of the stream, from 0; left out for a die that was typed in"`
	Word   int     `json:"word,omitzero" doc:"which word of the block, from 0"`
	Value  uint32  `json:"value,omitzero" doc:"the word: face = value mod sides + 1"`
	Passed int     `json:"passed,omitzero" doc:"words before it that were passed over, because they would favour low faces"`
	Agrees bool    `json:"agrees" doc:"the seeds give this face; false for a die that was typed in"`
}

// An AuditModifier is a number that was added, the rule it is by, and the
// earlier records it comes from.
type AuditModifier struct {
	Label string        `json:"label"`
	Value int           `json:"value"`
	Rule  string        `json:"rule"`
	Title string        `json:"title,omitzero" doc:"of the rule"`
	From  []AuditEffect `json:"from" doc:"records that it comes from"`
}

// An AuditEffect is a record in words.
type AuditEffect struct {
	N     int64  `json:"n"`
	Clock int64  `json:"clock"`
	Type  string `json:"type"`
	Text  string `json:"text"`
	Rule  string `json:"rule,omitzero"`
	Title string `json:"title,omitzero" doc:"of the rule"`
}

// AuditCause is the command that a roll was made for; for a check that fell
// due, also what made it due. Of a declared roll it is the declared command.
type AuditCause struct {
	N        int64          `json:"n" doc:"first record of the command; of a declared roll that of the witness's element"`
	Command  string         `json:"command" doc:"its id, by which it can be taken back"`
	Type     string         `json:"type"`
	By       string         `json:"by"`
	Data     jsontext.Value `json:"data,omitzero"`
	Due      []AuditEffect  `json:"due,omitzero" doc:"of a check: the wounds and conditions it fell due for"`
	Declared []AuditEffect  `json:"declared,omitzero" doc:"of a declared roll: the declaration, and witnesses that were passed over"`
	Witness  string         `json:"witness,omitzero" doc:"of a declared roll: who gave the element it was made with"`
}

// AuditSeed is what the dice are made of, and the way back to what was
// committed to before the session.
type AuditSeed struct {
	Session string `json:"session"`
	Lane    string `json:"lane"`
	I       int    `json:"i" doc:"index of the roll in the lane"`
	S       string `json:"s" doc:"element i of the server's chain"`
	S0      string `json:"s0" doc:"its anchor: SHA-256 applied i times to s"`
	C       string `json:"c" doc:"element i of the roller's own chain, or -"`
	W       string `json:"w" doc:"the witness's element, or -"`
	Joint   string `json:"joint" doc:"joint seed of the seating"`
	Leads   bool   `json:"leads" doc:"s leads back to s0"`
}

// AuditProof says who can prove the roll, and against whom.
type AuditProof struct {
	Kind       string   `json:"kind" enum:"ledger,witnessed,typed in,secret,rules"`
	Choose     []string `json:"choose" doc:"who would have had to act together with the server to choose the dice; empty: the server alone could have"`
	Foresee    []string `json:"foresee" doc:"who would have had to act together with the server to foresee them; empty: the server alone could have"`
	Overridden bool     `json:"overridden" doc:"the game master's word stands in its place"`
	TakenBack  bool     `json:"taken_back" doc:"its command, or what it followed from, is taken back as things stand"`
	Sentence   string   `json:"sentence"`
}

// NotARoll says that there is nothing to audit in a record.
type NotARoll struct {
	N    int64
	Type string // empty: there is no such record
}

func (e *NotARoll) Error() string {
	if e.Type == "" {
		return fmt.Sprintf("there is no record %d", e.N)
	}
	return fmt.Sprintf("record %d is %s: it is no roll, and nothing that happened to a character", e.N, e.Type)
}

// An Auditor reads a ledger commit by commit and explains one roll in it, or
// what happened without one. What it holds grows with the characters and the
// corrections, not with the records.
type Auditor struct {
	library  rules.Library
	want     int64
	waits    bool        // the wanted record declares a roll that is not made yet
	book     *rules.Book // nil when the rules are not on board
	edition  string      // and system
	options  rules.Options
	table    table
	teller   *projections.Teller
	people   map[string]*person
	opened   AuditEffect // the campaign, with its options
	setting  *origin
	declared declared
	advance  events.Record // first of the advance of the clock that is under way
	next     int64
	audit    *Audit
	last     int64  // record of what is explained
	ruled    string // the game master's newest word on it

	corrections []correction // all that came after it
}

// correction is one that came after what is explained, and what it says of it.
type correction struct {
	rules.Correction
	effect                   AuditEffect
	undone, again, questions bool
}

// origin is a record that something comes from.
type origin struct {
	effect AuditEffect
	text   string // its data, folded to lower case
	sheet  bool   // it holds a sheet
}

// person is what a character's modifiers may come from.
type person struct {
	origins    []origin // sheet and system events, the newest of each type
	rank       string
	ranked     AuditEffect            // when the rank began
	wounds     []AuditEffect          // since it was last whole
	conditions map[string]AuditEffect // by name
}

// NewAuditor explains record n, which may also be what followed from a roll, or
// what happened to a character without one.
func NewAuditor(library rules.Library, n int64) *Auditor {
	return &Auditor{library: library, want: n, table: newTable(), teller: projections.NewTeller(), people: map[string]*person{}}
}

// Commit takes the next commit. The error is an *Unusable, or a *NotARoll once
// the wanted record was found to be none.
func (a *Auditor) Commit(payload []byte) error {
	recs, err := events.ParseCommit(payload)
	if err != nil {
		return &Unusable{N: a.next, Err: err}
	}
	if recs[0].N != a.next {
		return &Unusable{N: a.next, Err: fmt.Errorf("record %d stands here", recs[0].N)}
	}
	if recs[0].Cmd.Type != "clock.resume" {
		a.advance = recs[0]
	}
	subject := a.subject(recs)
	for i, rec := range recs {
		e, err := a.decode(rec)
		if err != nil {
			return &Unusable{N: rec.N, Err: err}
		}
		if _, shared := core[rec.Type]; shared {
			if err := a.table.event(place{n: rec.N, clock: rec.Clock, by: rec.By, cmd: recs[0].Cmd}, e); err != nil {
				return &Unusable{N: rec.N, Err: err}
			}
		}
		if a.audit != nil {
			a.later(rec, e)
		}
		if i == subject {
			if err := a.explain(recs, i, e); err != nil {
				return err
			}
		}
		a.remember(rec, e)
	}
	a.next += int64(len(recs))
	return nil
}

// subject is the record of a commit that is to be explained, or -1: the wanted
// one, or that from which it follows.
func (a *Auditor) subject(recs []events.Record) int {
	if a.waits {
		i := slices.IndexFunc(recs, func(r events.Record) bool { return r.Type == "roll.resolved" })
		a.waits = i < 0
		return i
	}
	i := int(a.want - a.next)
	switch {
	case i < 0 || i >= len(recs):
		return -1
	case recs[i].Type == "roll.declared":
		a.waits = true
		return -1
	}
	if roll := rollOf(recs, i); roll >= 0 {
		return roll
	}
	return headOf(recs, i)
}

// rollOf finds the roll that record i of a commit is, or follows from.
func rollOf(recs []events.Record, i int) int {
	for k := i; k >= 0; k-- {
		switch recs[k].Type {
		case "roll.made", "roll.resolved", "roll.opened":
			if belongs(recs, k, i) {
				return k
			}
			return -1
		case "roll.sealed":
			if k == i {
				return k
			}
			return -1
		}
	}
	return -1
}

// belongs reports whether record i of a commit follows from the roll in record
// k: nothing else that could have brought it about stands between. In an
// advance a roll is that of one check, of one character.
func belongs(recs []events.Record, k, i int) bool {
	due := slices.Contains(advances, recs[0].Cmd.Type)
	who, ticks := subject(recs[k]), 0
	for _, rec := range recs[k+1 : i+1] {
		if rec.Type == "tick.processed" {
			ticks++
		}
		if rec.Clock != recs[k].Clock || rec.Type == "clock.advanced" || ticks > 1 || due && subject(rec) != who {
			return false
		}
	}
	return true
}

// headOf is what record i of a commit follows from, when no die was thrown: what
// happened to the same character at the same time right before, back to a
// wound or a check.
func headOf(recs []events.Record, i int) int {
	who := subject(recs[i])
	for i > 0 && who != "" && !isHead(recs[i]) && subject(recs[i-1]) == who && recs[i-1].Clock == recs[i].Clock && recs[i-1].Type != "roll.made" {
		i--
	}
	return i
}

// isHead reports whether a record begins something and does not follow.
func isHead(rec events.Record) bool {
	return rec.Type == "tick.processed" || rec.Type == "wound.inflicted"
}

// subject is the character that a record names as its own.
func subject(rec events.Record) string {
	var said struct {
		Character string `json:"character"`
	}
	if json.Unmarshal(rec.Data, &said) != nil {
		return ""
	}
	return said.Character
}

// decode reads an event, checks what it says of dice, and knows the rules from
// the first record on.
func (a *Auditor) decode(rec events.Record) (events.Event, error) {
	registry := core
	if a.book != nil {
		registry = a.book.Registry()
	}
	if _, known := registry[rec.Type]; !known && a.book == nil && rec.N > 0 {
		return nil, nil // an event of rules that are not on board
	}
	e, err := registry.Decode(rec)
	if err != nil {
		return nil, err
	}
	if created, ok := e.(*events.CampaignCreated); ok {
		a.table.campaign = rec.Campaign
		a.opened = AuditEffect{N: rec.N, Clock: rec.Clock, Type: rec.Type, Text: "the campaign's options"}
		a.begin(rec, created)
	}
	if defined, ok := e.(*events.SettingDefined); ok {
		a.define(rec, defined.Setting)
	}
	return e, nil
}

func (a *Auditor) begin(rec events.Record, e *events.CampaignCreated) {
	a.edition = fmt.Sprintf("%s, edition %d", e.System, e.Edition)
	if book, err := a.library.Find(e.System, e.Edition); err == nil {
		a.book = book
	}
	a.define(rec, e.Setting)
	if a.book == nil {
		return
	}
	// The words of a system may depend on the options.
	c := rules.NewCampaign(rec.Campaign, a.library)
	if c.ApplyCommit([]events.Record{rec}) == nil {
		a.options = c.Options
	}
}

func (a *Auditor) define(rec events.Record, setting jsontext.Value) {
	if setting != nil {
		a.setting = &origin{AuditEffect{N: rec.N, Clock: rec.Clock, Type: rec.Type, Text: "the campaign's setting"}, strings.ToLower(string(setting)), false}
	}
}

// remember folds what later modifiers may come from.
func (a *Auditor) remember(rec events.Record, e events.Event) {
	a.teller.Tell(rec) // for the names
	a.declared.note(rec, e)
	ce, ok := e.(events.CharacterEvent)
	if !ok {
		return
	}
	p := a.people[ce.Of().Character]
	if p == nil {
		p = &person{conditions: map[string]AuditEffect{}}
		a.people[ce.Of().Character] = p
	}
	effect := a.effect(rec, e)
	switch e := e.(type) {
	case *events.WoundInflicted:
		p.wounds = append(p.wounds, effect)
	case *events.ConditionGained:
		p.conditions[strings.ToLower(e.Condition)] = effect
	case *events.ConditionEnded:
		delete(p.conditions, strings.ToLower(e.Condition))
	case *events.TickProcessed, *events.HealGranted, *events.WoundTreated, *events.CharacterDied:
	default:
		p.notice(origin{effect, strings.ToLower(string(rec.Data)), hasSheet(e)})
	}
	after := ce.Of().After
	if after == nil {
		return
	}
	if after.Health.Rank != p.rank {
		p.rank, p.ranked = after.Health.Rank, effect
	}
	if after.Health.Points >= after.Health.Max {
		p.wounds = nil
	}
}

// hasSheet reports whether an event holds a character's sheet.
func hasSheet(e events.Event) bool {
	switch e := e.(type) {
	case *events.CharacterCreated, *events.CharacterAmended:
		return true
	case *events.CharacterRestored:
		return e.Sheet != nil
	}
	return false
}

// notice keeps the newest record of a type; a new sheet takes the place of the
// one before.
func (p *person) notice(o origin) {
	p.origins = slices.DeleteFunc(p.origins, func(old origin) bool { return old.effect.Type == o.effect.Type })
	p.origins = append(p.origins, o)
}

// effect is a record in words.
func (a *Auditor) effect(rec events.Record, e events.Event) AuditEffect {
	f := AuditEffect{N: rec.N, Clock: rec.Clock, Type: rec.Type, Text: rec.Type}
	if text := a.teller.Say(rec); text != "" {
		f.Text = text
	} else if ce, about := e.(events.CharacterEvent); about {
		f.Text = a.teller.Name(ce.Of().Character) + ": " + projections.Named(rec.Type)
	}
	f.Rule = a.ruleOf(e)
	f.Title = a.title(f.Rule)
	return f
}

// ruleOf is the rule that an event names, or that its system names for it.
func (a *Auditor) ruleOf(e events.Event) string {
	switch e := e.(type) {
	case *events.CharacterDied:
		return e.Rule
	case *events.WoundTreated:
		return e.Rule
	case *events.TickProcessed:
		return e.Rule
	case *events.ConditionGained:
		return e.Rule
	case *events.ConditionEnded:
		return e.Rule
	}
	if a.book != nil && e != nil {
		return rules.RuleOf(a.book.System, e)
	}
	return ""
}

// title is that of a rule, in the words of the system.
func (a *Auditor) title(rule string) string {
	if a.book == nil || rule == "" {
		return ""
	}
	all := a.book.Describe().Rules
	if i := slices.IndexFunc(all, func(r rules.Rule) bool { return r.ID == rule }); i >= 0 {
		return all[i].Title
	}
	return ""
}

// explain makes the audit of record k of a commit: of a roll, or of what
// happened without one.
func (a *Auditor) explain(recs []events.Record, k int, e events.Event) error {
	rec, first := recs[k], recs[0]
	if first.Cmd.Type == "clock.resume" {
		first = a.advance
	}
	a.last = rec.N
	a.audit = &Audit{
		Campaign: rec.Campaign, N: rec.N, Type: rec.Type, At: rec.At, Clock: rec.Clock, Throws: []AuditThrow{}, Caused: []AuditEffect{}, Later: []AuditEffect{},
		Cause: AuditCause{N: first.N, Command: first.Cmd.ID, Type: first.Cmd.Type, By: first.By, Data: first.Cmd.Data},
	}
	if a.audit.Rules = a.edition; a.book == nil {
		a.audit.Rules, a.audit.Missing = "", a.edition
	}
	switch e := e.(type) {
	case *events.RollMade:
		a.roll(e, ProvedByLedger, a.followed(recs, k))
	case *events.RollResolved:
		c := &a.audit.Cause
		c.Type, c.By, c.Data, c.Declared, c.Witness = a.declared.cmd.Type, a.declared.cmd.By, a.declared.cmd.Data, a.announced(), recs[0].By
		a.roll(&e.RollMade, ProvedByWitness, a.followed(recs, k))
	case *events.RollOpened:
		if made, err := rules.ReadRoll(e.Payload); err == nil {
			a.roll(made, ProvedByLedger, a.followed(recs, k))
		}
	case *events.RollSealed:
		a.audit.Proof = AuditProof{Kind: NotShownYet, Choose: []string{}, Foresee: []string{}}
		a.audit.Sentence = fmt.Sprintf("A secret roll: roll %d of the lane %s. Its dice are committed to and not shown; what it was for is sealed.", e.I, e.Lane)
		a.audit.Proof.Sentence = "Whoever holds the seal can check the roll once it is opened: dice and purpose were fixed in this record."
	case events.CharacterEvent:
		a.outcome(recs, k, e)
	default:
		return &NotARoll{N: a.want, Type: recs[a.want-a.next].Type}
	}
	return nil
}

// followed are the events of a commit that follow from the roll in record k,
// and notes them in the audit.
func (a *Auditor) followed(recs []events.Record, k int) []events.Event {
	var all []events.Event
	for i := k + 1; i < len(recs) && belongs(recs, k, i); i++ {
		if strings.HasPrefix(recs[i].Type, "roll.") {
			break
		}
		e, err := a.decode(recs[i])
		if err != nil || e == nil {
			continue
		}
		all = append(all, e)
		a.caused(recs[i], e)
	}
	return all
}

// caused notes a record that followed from what is explained.
func (a *Auditor) caused(rec events.Record, e events.Event) {
	a.last = rec.N
	if _, about := e.(events.CharacterEvent); about {
		a.audit.Caused = append(a.audit.Caused, a.effect(rec, e))
	}
}

// roll explains dice that are shown.
func (a *Auditor) roll(e *events.RollMade, kind string, followed []events.Event) {
	a.audit.Proof = AuditProof{Kind: kind, Choose: []string{}, Foresee: []string{}}
	made := a.dice(e, kind)
	for _, th := range e.Throws() {
		x := a.throw(th, followed)
		x.Dice, made = made[:len(th.Draws):len(th.Draws)], made[len(th.Draws):]
		a.audit.Throws = append(a.audit.Throws, x)
	}
	first := a.audit.Throws[0]
	a.audit.Sentence = first.Sentence + "."
	switch {
	case first.Name != "":
		a.audit.Sentence = first.Name + " " + a.audit.Sentence
	case a.audit.Type != "roll.opened": // which somebody else may have opened
		a.audit.Sentence = a.audit.Cause.By + " " + a.audit.Sentence
	}
	if p := a.people[first.Character]; p != nil && slices.Contains(advances, a.audit.Cause.Type) {
		a.audit.Cause.Due = p.due()
	}
}

// due is what a check of a character falls due for.
func (p *person) due() []AuditEffect {
	due := slices.Clone(p.wounds)
	if p.rank != "" && !slices.ContainsFunc(due, func(e AuditEffect) bool { return e.N == p.ranked.N }) {
		due = append(due, p.ranked)
	}
	for _, name := range slices.Sorted(maps.Keys(p.conditions)) {
		due = append(due, p.conditions[name])
	}
	slices.SortStableFunc(due, func(x, y AuditEffect) int { return int(x.N - y.N) })
	return due
}

// dice computes every die of a roll again, says how, and who could have known.
func (a *Auditor) dice(e *events.RollMade, kind string) []AuditDie {
	all := make([]AuditDie, len(e.Draws))
	for i, d := range e.Draws {
		all[i] = AuditDie{Sides: d[0], Face: d[1]}
	}
	if e.Source != rules.SourceLedger {
		a.audit.Proof.Kind = NotProved
		a.audit.Proof.Sentence = "Typed in: these dice were thrown on a real table. The ledger proves when they were typed in and by whom, not how they fell."
		return all
	}
	l := a.lane(e.Session, e.Lane)
	s, err := dice.ParseSeed(e.S)
	if l == nil || err != nil {
		a.audit.Proof.Sentence = "The lane of these dice is not in the ledger: they cannot be checked."
		return all
	}
	w := dice.Absent
	if kind == ProvedByWitness {
		w = e.W
	}
	stream := dice.NewStream(s, l.joint, l.name, e.I, e.C, w)
	for i := range all {
		x := stream.Explain(max(1, all[i].Sides))
		all[i].Block, all[i].Word, all[i].Value, all[i].Passed = &x.Block, x.Word, x.Value, x.Passed
		all[i].Agrees = x.Face == all[i].Face
	}
	back := s
	for range e.I {
		back = back.Next()
	}
	a.audit.Seed = &AuditSeed{
		Session: e.Session, Lane: l.name, I: e.I, S: e.S, S0: l.s0, C: e.C, W: w, Joint: l.joint.String(), Leads: back.String() == l.s0,
	}
	a.prove(l, kind)
	return all
}

func (a *Auditor) lane(session, name string) *lane {
	for _, l := range a.table.lanes {
		if l.session == session && l.name == name {
			return l
		}
	}
	return nil
}

// prove says on whose honesty the dice rest.
func (a *Auditor) prove(l *lane, kind string) {
	p := &a.audit.Proof
	p.Choose = append(p.Choose, l.choosers()...)
	if l.c != nil {
		p.Foresee = []string{l.principal}
	}
	text := "Proved by the ledger: anybody can compute these dice again from the seeds below, and the seeds lead back to what was committed to before the session. "
	switch {
	case kind == ProvedByWitness:
		text += "The roll was declared before the witness's element was known, so that nobody could foresee it alone."
	case len(p.Choose) == 0:
		text += "No device took part: whoever runs the server could have chosen the seats' seeds, but nothing after them."
	default:
		text += "Nobody could have chosen them without " + strings.Join(p.Choose, " and ") + "."
	}
	p.Sentence = text
}

// throw explains one question.
func (a *Auditor) throw(th events.Throw, followed []events.Event) AuditThrow {
	x := AuditThrow{
		Character: th.Character, Purpose: th.Purpose, Expression: th.Expression, Modifiers: []AuditModifier{},
		Total: th.Total, Against: th.Against, Outcome: th.Outcome, Margin: th.Margin, Detail: th.Detail,
	}
	if th.Character != "" {
		x.Name = a.teller.Name(th.Character)
	}
	if a.book != nil {
		x.Sentence = rules.Narrate(a.book.System, a.options, th, followed)
	} else {
		x.Sentence = rules.Rolled(th) + rules.Came(th)
	}
	for _, m := range th.Modifiers {
		x.Modifiers = append(x.Modifiers, a.modifier(m, th.Character))
	}
	if a.book != nil {
		for _, b := range rules.DamageOf(a.book.System, th) {
			x.Damage = append(x.Damage, a.blow(b, th.Character, followed)...)
		}
	}
	return x
}

// blow explains the damage of a blow. Of several of one throw each number says
// whose it is.
func (a *Auditor) blow(b rules.Blow, thrower string, followed []events.Event) []AuditModifier {
	who, on, whose := b.By, b.On, ""
	if who == "" {
		who, on = thrower, a.struck(thrower, followed)
	} else {
		whose = a.teller.Name(who) + " on " + a.teller.Name(on) + ": "
	}
	var all []AuditModifier
	for _, m := range b.Made {
		all = append(all, a.modifier(m, who))
	}
	for _, m := range b.Stopped {
		all = append(all, a.modifier(m, on))
	}
	for i := range all {
		all[i].Label = whose + all[i].Label
	}
	return all
}

func (a *Auditor) modifier(m events.Modifier, character string) AuditModifier {
	return AuditModifier{Label: m.Label, Value: m.Value, Rule: m.Rule, Title: a.title(m.Rule), From: a.from(m, character)}
}

// later notes what was said of the roll afterwards.
func (a *Auditor) later(rec events.Record, e events.Event) {
	about := false
	switch e := e.(type) {
	case *events.DisputeOpened:
		about = a.explains(e.Roll)
	case *events.RulingMade:
		about = a.overridden(e)
	case *events.RulingOpened:
		about = a.overridden(&e.RulingMade)
	case *events.DisputeRuled:
		about = slices.ContainsFunc(a.audit.Later, func(x AuditEffect) bool { return x.Type == "dispute.opened" && x.Rule == e.Dispute })
	case *events.CorrectionMade:
		a.corrections = append(a.corrections, correction{Correction: rules.Correction{ID: rec.Cmd.ID, Command: e.Command}, effect: a.effect(rec, e)})
		a.corrected(e.Undone, e.Again, e.Questioned)
	case *events.CorrectionContinued:
		a.corrected(e.Undone, e.Again, e.Questioned)
	case *events.RollOpened:
		about = e.Sealed == a.audit.N
	case *events.TargetOpened:
		about = slices.ContainsFunc(e.Rolls, func(j events.Judged) bool { return j.Roll == a.audit.N })
	}
	if !about {
		return
	}
	effect := a.effect(rec, e)
	if d, ok := e.(*events.DisputeOpened); ok {
		effect.Rule = d.Dispute // until the end, to know the rulings on it
	}
	if o, ok := e.(*events.TargetOpened); ok {
		for _, j := range o.Rolls {
			if j.Roll == a.audit.N {
				effect.Text += fmt.Sprintf(": %s by %d", j.Outcome, max(j.Margin, -j.Margin))
			}
		}
	}
	a.audit.Later = append(a.audit.Later, effect)
}

// corrected notes what the newest correction says of what is explained.
func (a *Auditor) corrected(undone, again []events.Span, questioned []int64) {
	c := &a.corrections[len(a.corrections)-1]
	c.undone = c.undone || covers(undone, a.audit.N)
	c.again = c.again || covers(again, a.audit.N)
	c.questions = c.questions || slices.Contains(questioned, a.audit.N)
}

// weigh tells the corrections that are about what is explained, those of such
// corrections among them, and says whether it is taken back as things stand: a
// correction that was taken back itself takes nothing back.
func (a *Auditor) weigh() {
	list := make([]rules.Correction, len(a.corrections))
	for i, c := range a.corrections {
		list[i] = c.Correction
	}
	off := rules.TakenBack(list)
	about, undone := map[string]bool{a.audit.Cause.Command: true}, false
	for _, c := range a.corrections {
		if about[c.Command] || c.undone || c.again || c.questions {
			about[c.ID] = true
			a.audit.Later = append(a.audit.Later, c.effect)
		}
		if _, gone := off[c.ID]; !gone && (c.undone || c.again) {
			undone = c.undone
		}
	}
	_, back := off[a.audit.Cause.Command]
	a.audit.Proof.TakenBack = back || undone
	slices.SortStableFunc(a.audit.Later, func(x, y AuditEffect) int { return cmp.Compare(x.N, y.N) })
}

// explains reports whether record n is what is explained, or followed from it.
func (a *Auditor) explains(n int64) bool {
	return a.audit.N <= n && n <= a.last || n == a.want
}

// overridden notes the game master's own word, if it is about what is
// explained.
func (a *Auditor) overridden(e *events.RulingMade) bool {
	if !a.explains(e.Roll) {
		return false
	}
	a.audit.Proof.Overridden, a.ruled = true, e.Outcome
	return true
}

func covers(spans []events.Span, n int64) bool {
	return slices.ContainsFunc(spans, func(s events.Span) bool { return s.First <= n && n <= s.Last })
}

// End says that no commit follows and gives the audit.
func (a *Auditor) End() (*Audit, error) {
	switch {
	case a.waits:
		return nil, &NotARoll{N: a.want, Type: "roll.declared"}
	case a.audit == nil:
		return nil, &NotARoll{N: a.want}
	}
	for i := range a.audit.Later {
		if a.audit.Later[i].Type == "dispute.opened" {
			a.audit.Later[i].Rule = ""
		}
	}
	a.weigh()
	a.audit.Sentence = strings.TrimSuffix(a.audit.Sentence, ".")
	if a.audit.Proof.Overridden {
		a.audit.Sentence += fmt.Sprintf("; overridden by the game master: %s", strings.TrimRight(a.ruled, ". "))
	}
	if a.audit.Proof.TakenBack {
		a.audit.Sentence += "; taken back since"
	}
	a.audit.Sentence += "."
	if a.audit.Proof.Overridden {
		a.audit.Proof.Sentence += " The game master's word stands in its place since: see what was said of it later."
	}
	if a.audit.Proof.TakenBack {
		a.audit.Proof.Sentence += " Its command, or what it followed from, was taken back since: what it did no longer stands."
	}
	return a.audit, nil
}
