package replay

import (
	"fmt"
	"slices"

	"tallystick/events/merkle"
)

// What a verification says of the rules.
const (
	RulesSame      = "same"         // every command decided again came to the same records
	RulesMissing   = "not on board" // nothing can be said about them
	RulesUndecided = "undecided"    // a correction came that needs the history, which could not be read again
)

// A Report is what a verification found of a ledger that is good.
type Report struct {
	Campaign    string             `json:"campaign"`
	Name        string             `json:"name"`
	System      string             `json:"system"`
	Edition     int                `json:"edition"`
	Rules       string             `json:"rules"` // RulesSame, RulesMissing or RulesUndecided
	Records     int64              `json:"records"`
	Commands    int64              `json:"commands"` // decided again
	Root        merkle.Hash        `json:"root"`     // base64
	VKey        string             `json:"vkey"`
	KeyGiven    bool               `json:"key_given"` // the key was given out at the table, not only found in the ledger
	Checkpoints []CheckpointReport `json:"checkpoints"`
	Keys        []KeyReport        `json:"keys"`
	Lost        []LostReport       `json:"lost"`    // checkpoints over records that are missing, as the ledger says itself
	Covered     int64              `json:"covered"` // records under a checkpoint that somebody kept
	Rolls       RollCounts         `json:"rolls"`
	Lanes       []LaneReport       `json:"lanes"`
	Me          *MeReport          `json:"me,omitzero"`
	// Unread is how many events carry a seed and are not known to this
	// program: their dice were not checked.
	Unread int `json:"unread"`
}

// A CheckpointReport is a checkpoint that fits the ledger.
type CheckpointReport struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	Kept bool   `json:"kept"` // by somebody else than the export
}

// RollCounts counts rolls, and what was withheld or taken back.
type RollCounts struct {
	Ledger          int `json:"ledger"`    // open rolls on the ledger's dice, the witnessed ones among them
	Witnessed       int `json:"witnessed"` // declared first, then made with the witness's element
	TypedIn         int `json:"typed_in"`  // thrown on a real table: nothing proves them
	SecretOpened    int `json:"secret_opened"`
	SecretUnopened  int `json:"secret_unopened"`
	TargetsUnopened int `json:"targets_unopened"`
	RulingsUnopened int `json:"rulings_unopened"` // the game master's own word on a roll, not shown yet
	DeclaredOpen    int `json:"declared_open"`
	Voided          int `json:"voided"`
	Passed          int `json:"passed"` // witnesses
}

// A LaneReport says on whose honesty the dice of a lane rest.
type LaneReport struct {
	Session   string `json:"session"`
	Lane      string `json:"lane"`
	Principal string `json:"principal"`
	Renewed   string `json:"renewed,omitzero"` // why it is not the principal's first
	Rolls     int    `json:"rolls"`            // whose dice were computed
	Hidden    int    `json:"hidden"`           // secret and not opened, taken back, or declared and open
	// Choose names who would have had to act together with the server to
	// choose these dice. Empty: the server alone could have.
	Choose []string `json:"choose"`
	// Foresee names who would have had to act together with the server to
	// foresee these dice. Empty: the server alone could have, all but the
	// witnessed ones.
	Foresee   []string    `json:"foresee"`
	Witnessed []Witnessed `json:"witnessed"`
}

// Witnessed is how many rolls of a lane a participant witnessed.
type Witnessed struct {
	By    string `json:"by"`
	Rolls int    `json:"rolls"`
}

// A MeReport counts the rolls that a participant's own secrets protected.
type MeReport struct {
	Handle      string `json:"handle"`
	Rolls       int    `json:"rolls"`        // all whose dice were computed
	NotChosen   int    `json:"not_chosen"`   // nobody could have chosen without the participant
	NotForeseen int    `json:"not_foreseen"` // nobody could have foreseen without the participant
}

func (v *Verifier) report() *Report {
	r := &Report{
		Campaign: v.table.campaign, Name: v.created.Name, System: v.created.System, Edition: v.created.Edition, Rules: RulesMissing,
		Records: v.tree.Size(), Root: v.tree.Root(), VKey: v.created.VKey, KeyGiven: v.evidence.VKey != "",
		Checkpoints: append([]CheckpointReport{}, v.fitting...), Rolls: v.table.counts, Lanes: []LaneReport{}, Unread: v.table.unread,
	}
	r.Commands, r.Keys, r.Lost = v.decided, v.keys, append([]LostReport{}, v.missing...)
	switch {
	case v.replayer != nil:
		r.Rules = RulesSame
	case v.unread != nil:
		r.Rules = RulesUndecided
	}
	for _, c := range r.Checkpoints {
		if c.Kept {
			r.Covered = max(r.Covered, c.Size)
		}
	}
	for _, l := range v.table.lanes {
		r.Lanes = append(r.Lanes, l.report())
	}
	if v.evidence.Me != "" {
		r.Me = v.table.me(v.evidence.Me)
	}
	return r
}

func (l *lane) report() LaneReport {
	r := LaneReport{
		Session: l.session, Lane: l.name, Principal: l.principal, Renewed: l.renewed, Rolls: l.rolls, Hidden: l.used - l.rolls,
		Choose: l.choosers(), Foresee: []string{}, Witnessed: []Witnessed{},
	}
	if l.c != nil {
		r.Foresee = []string{l.principal}
	}
	for by, rolls := range l.witness {
		r.Witnessed = append(r.Witnessed, Witnessed{by, rolls})
	}
	slices.SortFunc(r.Witnessed, func(a, b Witnessed) int {
		if a.By < b.By {
			return -1
		}
		return 1
	})
	return r
}

// choosers are the participants whose secrets are in the dice of a lane.
func (l *lane) choosers() []string {
	held := []string{}
	for _, other := range l.gave {
		held = append(held, other.principal)
	}
	if l.c != nil {
		held = append(held, l.principal)
	}
	slices.Sort(held)
	return slices.Compact(held)
}

func (t *table) me(handle string) *MeReport {
	r := &MeReport{Handle: handle}
	for _, l := range t.lanes {
		r.Rolls += l.rolls
		if slices.Contains(l.choosers(), handle) {
			r.NotChosen += l.rolls
		} else { // the witness's element was committed to, and enters the dice
			r.NotChosen += l.witness[handle]
		}
		if l.c != nil && l.principal == handle {
			r.NotForeseen += l.rolls
		} else {
			r.NotForeseen += l.witness[handle]
		}
	}
	return r
}

// Notes are the things a reader of the report must know, in sentences.
func (r *Report) Notes() []string {
	var notes []string
	note := func(format string, a ...any) { notes = append(notes, fmt.Sprintf(format, a...)) }
	switch {
	case r.Covered == 0:
		note("no checkpoint that somebody kept was given: nothing here shows that this history is the one you saw")
	case r.Covered < r.Records:
		note("the checkpoints that were kept end at record %d: what comes later is as the server tells it now", r.Covered-1)
	}
	if !r.KeyGiven {
		note("the key comes from the ledger itself: compare it with the one that was given out at the table")
	}
	notes = append(notes, r.keyNotes()...)
	if r.Rules == RulesMissing {
		note("edition %d of the rule system %q is not on board: whether the rules were kept is not known", r.Edition, r.System)
	}
	if r.Rules == RulesUndecided {
		note("only the first %d commands were decided again: a correction needs the whole history, which could not be read a second time", r.Commands)
	}
	if r.Unread > 0 {
		note("%d events carry a seed, and this program does not know them: their dice were not checked", r.Unread)
	}
	return notes
}
