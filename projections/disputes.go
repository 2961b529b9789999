package projections

import (
	"slices"

	"tallystick/events"
)

// States of a dispute.
const (
	DisputeStateOpen  = "open"
	DisputeStateRuled = "ruled"
)

// Dispute is a record that somebody put into question, with all rulings on it.
type Dispute struct {
	ID       string          `json:"id"`
	State    string          `json:"state" enum:"open,ruled"`
	Roll     int64           `json:"roll" doc:"n of the record that is put into question"`
	By       string          `json:"by" doc:"handle of who opened it"`
	Question string          `json:"question"`
	Evidence events.Evidence `json:"evidence" doc:"the ledger as it stood"`
	Opened   Moment          `json:"opened"`
	Rulings  []DisputeRuling `json:"rulings" doc:"in their order; all of them stand"`
}

// DisputeRuling is a ruling on a dispute.
type DisputeRuling struct {
	Moment
	By          string   `json:"by" doc:"handle"`
	Ruling      string   `json:"ruling" enum:"upheld,overturned,void"`
	Reason      string   `json:"reason"`
	Corrections []string `json:"corrections,omitzero" doc:"ids of the corrections that carry it out"`
}

// Override is the game master's own word on a roll.
type Override struct {
	Moment
	By      string `json:"by" doc:"handle"`
	Roll    int64  `json:"roll,omitzero" doc:"n of the record it is about; missing while it is sealed"`
	Outcome string `json:"outcome,omitzero" doc:"what counts instead"`
	Reason  string `json:"reason,omitzero"`
	Sealed  bool   `json:"sealed,omitzero" doc:"it is shown later"`
	Shown   int64  `json:"shown,omitzero" doc:"n of the record that showed it, when it had been sealed"`
}

// Correction is a command that was taken back.
type Correction struct {
	ID string `json:"id" doc:"of the command that takes back"`
	Moment
	By          string        `json:"by" doc:"handle"`
	Command     string        `json:"command" doc:"that is taken back"`
	Records     events.Span   `json:"records" doc:"of the command that is taken back"`
	Reason      string        `json:"reason"`
	From        int64         `json:"from" doc:"game time before it"`
	Questioned  []int64       `json:"questioned" doc:"records of rolls that it had a hand in: they stand, and the game master is to look at them"`
	Undone      []events.Span `json:"undone" doc:"records that followed only from the command"`
	Again       []events.Span `json:"again" doc:"records that an earlier correction had undone and that hold again"`
	TakenBackBy string        `json:"taken_back_by,omitzero" doc:"the correction that takes this one back"`
}

// Marks say what became of a record later.
type Marks struct {
	CorrectedBy  string     `json:"corrected_by,omitzero" doc:"id of the correction that took its command back: it is to be shown struck through"`
	UndoneBy     string     `json:"undone_by,omitzero" doc:"id of a correction that it does not outlive, because it followed only from the command that was taken back"`
	QuestionedBy []string   `json:"questioned_by,omitzero" doc:"ids of corrections that it was made without: penalty or target stand no longer"`
	Overrides    []Override `json:"overrides,omitzero" doc:"the game master's own word on it"`
}

// table is what views keep of disputes, overrides and corrections. What it has
// given away is never changed.
type table struct {
	disputes    []Dispute
	overrides   []Override
	corrections []Correction
	effective   []bool // of each correction: nobody has taken it back
}

func (t *table) disputed(v *Views, rec events.Record, e *events.DisputeOpened) {
	t.disputes = append(t.disputes, Dispute{
		ID: e.Dispute, State: DisputeStateOpen, Roll: e.Roll, By: v.word(rec.By), Question: e.Question,
		Evidence: e.Evidence, Opened: v.moment(rec), Rulings: []DisputeRuling{},
	})
}

func (t *table) dispute(id string) int {
	return slices.IndexFunc(t.disputes, func(d Dispute) bool { return d.ID == id })
}

func (t *table) ruled(v *Views, rec events.Record, e *events.DisputeRuled) {
	d := &t.disputes[t.dispute(e.Dispute)]
	d.State = DisputeStateRuled
	d.Rulings = append(slices.Clone(d.Rulings), DisputeRuling{
		Moment: v.moment(rec), By: v.word(rec.By), Ruling: e.Ruling, Reason: e.Reason, Corrections: e.Corrections,
	})
}

func (t *table) overridden(v *Views, rec events.Record, e *events.RulingMade) {
	t.overrides = append(t.overrides, Override{Moment: v.moment(rec), By: v.word(rec.By), Roll: e.Roll, Outcome: e.Outcome, Reason: e.Reason})
}

func (t *table) sealed(n int64) int {
	return slices.IndexFunc(t.overrides, func(o Override) bool { return o.N == n && o.Sealed })
}

func (t *table) shown(rec events.Record, e *events.RulingOpened) {
	o := &t.overrides[t.sealed(e.Sealed)]
	o.Roll, o.Outcome, o.Reason, o.Sealed, o.Shown = e.Roll, e.Outcome, e.Reason, false, rec.N
}

func (t *table) corrected(v *Views, rec events.Record, e *events.CorrectionMade) {
	t.corrections = append(t.corrections, Correction{
		ID: rec.Cmd.ID, Moment: v.moment(rec), By: v.word(rec.By), Command: e.Command, Records: e.Records, Reason: e.Reason, From: e.From,
		Questioned: orEmpty(e.Questioned), Undone: orEmpty(e.Undone), Again: orEmpty(e.Again),
	})
	t.weigh()
}

func (t *table) continued(rec events.Record, e *events.CorrectionContinued) {
	c := &t.corrections[len(t.corrections)-1]
	c.Questioned = append(slices.Clone(c.Questioned), e.Questioned...)
	c.Undone = append(slices.Clone(c.Undone), e.Undone...)
	c.Again = append(slices.Clone(c.Again), e.Again...)
}

// weigh says which corrections hold: one that a later one takes back does not.
func (t *table) weigh() {
	by := map[string]string{}
	t.effective = make([]bool, len(t.corrections))
	for i := len(t.corrections) - 1; i >= 0; i-- {
		c := &t.corrections[i]
		c.TakenBackBy = by[c.ID]
		if t.effective[i] = c.TakenBackBy == ""; t.effective[i] {
			by[c.Command] = c.ID
		}
	}
}

// marks are those of record n.
func (t *table) marks(n int64) Marks {
	var m Marks
	for i, c := range t.corrections {
		if !t.effective[i] {
			continue
		}
		if c.Records.First <= n && n <= c.Records.Last {
			m.CorrectedBy = c.ID
		}
		switch {
		case within(c.Undone, n):
			m.UndoneBy = c.ID
		case within(c.Again, n):
			m.UndoneBy = ""
		}
		if _, asked := slices.BinarySearch(c.Questioned, n); asked {
			m.QuestionedBy = append(m.QuestionedBy, c.ID)
		}
	}
	for _, o := range t.overrides {
		if o.Roll == n {
			m.Overrides = append(m.Overrides, o)
		}
	}
	return m
}

func (t *table) count(c *Counts) {
	c.Disputes, c.Overrides = len(t.disputes), len(t.overrides)
	for _, d := range t.disputes {
		if d.State == DisputeStateOpen {
			c.Unruled++
		}
	}
	for _, o := range t.overrides {
		if o.Sealed {
			c.Sealed++
		}
	}
	for i := range t.corrections {
		if t.effective[i] {
			c.Corrected++
		}
	}
}

// quiet reports whether no record has a mark.
func (t *table) quiet() bool { return len(t.corrections)+len(t.overrides) == 0 }

// within reports whether runs of records, rising, hold n.
func within(runs []events.Span, n int64) bool {
	_, found := slices.BinarySearchFunc(runs, n, func(s events.Span, n int64) int {
		switch {
		case s.Last < n:
			return -1
		case s.First > n:
			return 1
		}
		return 0
	})
	return found
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Disputes returns the disputes in the order they were opened; state chooses
// the open or the ruled ones, "" gives all.
func (v *Views) Disputes(state string) []Dispute {
	all := []Dispute{}
	for _, d := range v.table.disputes {
		if state == "" || d.State == state {
			all = append(all, d)
		}
	}
	return all
}

// Dispute returns one dispute, and false when there is none of that id.
func (v *Views) Dispute(id string) (Dispute, bool) {
	i := v.table.dispute(id)
	if i < 0 {
		return Dispute{}, false
	}
	return v.table.disputes[i], true
}

// Overrides returns the game master's own words on rolls, in their order.
func (v *Views) Overrides() []Override { return append([]Override{}, v.table.overrides...) }

// Corrections returns all corrections in their order.
func (v *Views) Corrections() []Correction { return append([]Correction{}, v.table.corrections...) }
