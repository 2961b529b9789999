package rpgamix

import (
	"fmt"
	"slices"

	"tallystick/events"
	"tallystick/rules"
)

// Modifier is a number that the game master adds to a roll, and why.
type Modifier struct {
	Label string `json:"label" minLength:"1" maxLength:"200"`
	Value int    `json:"value" minimum:"-100" maximum:"100"`
}

// Trial is what a roll of a character is made of (RPGX-3). The situation
// chooses the stat; a skill that was never learned counts 0.
type Trial struct {
	Stat      string     `json:"stat,omitzero" enum:"str,con,dex,per,int,wits,cha,app"`
	Skill     string     `json:"skill,omitzero" maxLength:"200"`
	Die       int        `json:"die,omitzero" minimum:"6" maximum:"10" doc:"10, or 6 where the referee says so"`
	Modifiers []Modifier `json:"modifiers,omitzero" maxItems:"50" doc:"of the situation"`
	Strenuous *bool      `json:"strenuous,omitzero" doc:"in Awful health a strenuous act takes a Con roll first; acts of strength and dexterity are strenuous unless this says otherwise"`
}

func (tr Trial) empty() bool {
	return tr.Stat == "" && tr.Skill == "" && tr.Die == 0 && len(tr.Modifiers) == 0 && tr.Strenuous == nil
}

// actors are the characters of a command that were named at all.
func actors(ids ...string) []string {
	return slices.DeleteFunc(ids, func(id string) bool { return id == "" })
}

// able finds a character who can act: alive, conscious and not stunned. doing
// completes the sentence "Mara is unconscious and cannot …".
func able(t *rules.Turn, field, id, doing string) (*rules.Character, error) {
	c, err := t.Living(field, id)
	if err != nil {
		return nil, err
	}
	b := bodyOf(c)
	if rule, out := b.out(); out {
		return nil, rules.Reject("unconscious", rule, "%s is unconscious and cannot %s", c.Name, doing).On(field)
	}
	if b.has(stunned) {
		return nil, rules.Reject("stunned", "RPGX-26", "%s is stunned and cannot %s", c.Name, doing).On(field)
	}
	return c, nil
}

// isConRoll reports whether a trial is a bare roll of constitution: wounds do
// not weigh on it, and ties go by RPGX-5's rule for Con rolls.
func (tr Trial) isConRoll() bool { return tr.Stat == "con" && tr.Skill == "" }

// strenuous says whether an act is an exertion (RPGX-35).
func (tr Trial) strenuous() bool {
	if tr.Strenuous != nil {
		return *tr.Strenuous
	}
	return tr.Stat == "str" || tr.Stat == "dex"
}

// exertion makes the Con roll of an Awful character before a strenuous act
// and reports whether the act can be done.
func (tr Trial) exertion(t *rules.Turn, c *rules.Character, act string) bool {
	return !tr.strenuous() || strain(t, c, act)
}

// trial is a checked Trial and its sum.
type trial struct {
	Trial
	sum
}

// checked refuses what cannot be rolled, and adds up what is known before the
// die is.
func (tr Trial) checked(t *rules.Turn, c *rules.Character) (trial, error) {
	if tr.Stat == "" {
		tr.Stat = usualStat(t.Options(), tr.Skill)
	}
	if tr.Stat == "" {
		return trial{}, &rules.Invalid{Field: "stat", Reason: "is missing: the situation chooses one"}
	}
	sides := 10
	switch tr.Die {
	case 0, 10:
	case 6:
		sides = 6
	default:
		return trial{}, &rules.Invalid{Field: "die", Reason: fmt.Sprintf("is %d: must be 10 or 6", tr.Die)}
	}
	b := bodyOf(c)
	s := sum{sides: sides}
	s.plus(statLabel(tr.Stat), b.Sheet.Stats.of(tr.Stat), "RPGX-3")
	if tr.Skill != "" {
		value, err := b.skill(t.Options(), c, "skill", tr.Skill)
		if err != nil {
			return trial{}, err
		}
		s.plus(tr.Skill, value, "RPGX-3")
	}
	if err := s.modifiers("modifiers", tr.Modifiers); err != nil {
		return trial{}, err
	}
	if !tr.isConRoll() {
		s.action(b)
	}
	return trial{tr, s}, nil
}

// modifiers adds those of the situation.
func (s *sum) modifiers(field string, list []Modifier) error {
	for i, m := range list {
		if err := rules.CheckName(m.Label); err != nil {
			return &rules.Invalid{Field: fmt.Sprintf("%s.%d.label", field, i), Reason: err.Error()}
		}
		s.plus(m.Label, m.Value, "RPGX-3")
	}
	return nil
}

// action adds what weighs on every action: the health rank, and a lock.
func (s *sum) action(b *Body) {
	rank := b.rank()
	s.rank(rank)
	lock, _ := b.condition(held, "")
	worse := ranks[min(slices.Index(ranks, rank)+lock.Ranks, slices.Index(ranks, incapacitated))]
	s.plus("Held in a lock", penalties[worse].value-penalties[rank].value, "RPGX-74")
}

// rank adds the penalty of a health rank (RPGX-31 to RPGX-36).
func (s *sum) rank(rank string) {
	p := penalties[rank]
	s.plus(title(rank)+" health", p.value, p.rule)
}

func title(rank string) string { return string(rank[0]-'a'+'A') + rank[1:] }

// check rolls against a difficulty and reports success.
func (tr trial) check(t *rules.Turn, c *rules.Character, purpose string, difficulty int) bool {
	th := t.Throw(purpose, c)
	total := tr.roll(th)
	made := reached(t.Options(), tr.tie(), total, difficulty)
	result(th, difficulty, total-difficulty, made, "success", "failure")
	return made
}

// tie is the option that rules on reaching the difficulty exactly.
func (tr Trial) tie() string {
	if tr.isConRoll() {
		return "rpgamix.con_tie"
	}
	return "rpgamix.difficulty_tie"
}

// Check is the data of check.
type Check struct {
	Character string `json:"character"`
	Trial
	Difficulty *int   `json:"difficulty,omitzero" minimum:"-1000" maximum:"1000" doc:"set by the referee; without it the total stands for itself"`
	Target     int64  `json:"target,omitzero" minimum:"1" doc:"in place of a difficulty: n of a target.sealed, which the table sees only when it is opened"`
	Purpose    string `json:"purpose,omitzero" maxLength:"200"`
}

// Actors names who acts.
func (d *Check) Actors() []string { return actors(d.Character) }

// check is a roll of one character (RPGX-3, RPGX-5).
func check(t *rules.Turn, d *Check) error {
	purpose, err := purposeOf(d.Purpose, "check of "+labelOf(d.Trial))
	if err != nil {
		return err
	}
	c, err := able(t, "character", d.Character, "act")
	if err != nil {
		return err
	}
	tr, err := d.checked(t, c)
	if err != nil {
		return err
	}
	if err := d.hidden(t, c, tr); err != nil {
		return err
	}
	switch {
	case !tr.exertion(t, c, purpose):
	case d.Difficulty == nil:
		tr.roll(t.Throw(purpose, c))
	default:
		tr.check(t, c, purpose, *d.Difficulty)
	}
	return nil
}

// hidden takes a hidden target in place of a difficulty. It is compared with
// one roll: an exertion beside it, or a tie of another kind, would be judged
// wrongly when the target is opened.
func (d *Check) hidden(t *rules.Turn, c *rules.Character, tr trial) error {
	switch {
	case d.Target == 0:
		return nil
	case d.Difficulty != nil:
		return &rules.Invalid{Field: "target", Reason: "and difficulty: only one of the two can be given"}
	case tr.isConRoll():
		return rules.Reject("no_hidden_con_rolls", "RPGX-5", "a Con roll has no hidden difficulty: ties go by a rule of their own").On("target")
	case tr.strenuous() && bodyOf(c).rank() == awful:
		return rules.Reject("exertion_first", "RPGX-35", "in Awful health the exertion of %s is rolled for first: use a difficulty in the open", c.Name).On("target")
	}
	return t.Hidden("target", d.Target)
}

// Judge compares a total with a difficulty that was hidden when it was rolled
// (RPGX-3, RPGX-5).
func (system) Judge(o rules.Options, total, value int) (outcome string, margin int) {
	if reached(o, "rpgamix.difficulty_tie", total, value) {
		return "success", total - value
	}
	return "failure", total - value
}

func purposeOf(given, otherwise string) (string, error) {
	if given == "" {
		return otherwise, nil
	}
	if err := rules.CheckName(given); err != nil {
		return "", &rules.Invalid{Field: "purpose", Reason: err.Error()}
	}
	return given, nil
}

func labelOf(tr Trial) string {
	if tr.Skill != "" || tr.Stat == "" {
		return tr.Skill
	}
	return statLabel(tr.Stat)
}

// Side is one of two who roll against each other.
type Side struct {
	Character string `json:"character"`
	Trial
}

// Contest is the data of contest. The first side acts, the second responds.
type Contest struct {
	Sides   []Side `json:"sides" minItems:"2" maxItems:"2"`
	Purpose string `json:"purpose,omitzero" maxLength:"200"`
}

// Actors names who acts: the first side.
func (d *Contest) Actors() []string {
	if len(d.Sides) == 0 {
		return nil
	}
	return actors(d.Sides[0].Character)
}

// contest is two totals against each other (RPGX-4).
func contest(t *rules.Turn, d *Contest) error {
	purpose, err := purposeOf(d.Purpose, "contest")
	if err != nil {
		return err
	}
	var who [2]*rules.Character
	var trials [2]trial
	for i, side := range d.Sides {
		field := fmt.Sprintf("sides.%d", i)
		if who[i], err = able(t, field+".character", side.Character, "act"); err != nil {
			return err
		}
		if trials[i], err = side.checked(t, who[i]); err != nil {
			return under(field, err)
		}
	}
	if who[0].ID == who[1].ID {
		return rules.Reject("same_character", "RPGX-4", "%s cannot contend with themselves", who[0].Name).On("sides.1.character")
	}
	for i := range who {
		if !trials[i].exertion(t, who[i], purpose) {
			return nil // unconscious: there is nothing to contend with any more
		}
	}
	oppose(t, purpose, who, [2]sum{trials[0].sum, trials[1].sum})
	return nil
}

// oppose rolls two sums against each other; it returns the first's margin.
func oppose(t *rules.Turn, purpose string, who [2]*rules.Character, sums [2]sum) int {
	first := t.Throw(purpose+": "+who[0].Name, who[0])
	a := sums[0].roll(first)
	second := t.Throw(purpose+": "+who[1].Name, who[1])
	b := sums[1].roll(second)
	first.Versus("opposing total", b)
	first.Result(verdict(a-b), a-b)
	second.Versus("opposing total", a)
	second.Result(verdict(b-a), b-a)
	return a - b
}

func verdict(margin int) string {
	switch {
	case margin > 0:
		return "wins"
	case margin < 0:
		return "loses"
	}
	return "tie"
}

// under puts a field's name before that of a complaint.
func under(field string, err error) error {
	switch e := err.(type) {
	case *rules.Invalid:
		return &rules.Invalid{Field: field + "." + e.Field, Reason: e.Reason}
	case *rules.Rejection:
		no := *e
		no.Field = field + "." + no.Field
		return &no
	}
	return err
}

// modifier makes a term.
func modifier(label string, value int, rule string) events.Modifier {
	return events.Modifier{Label: label, Value: value, Rule: rule}
}
