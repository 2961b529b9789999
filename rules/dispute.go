package rules

import (
	"encoding/hex"
	"fmt"
	"maps"

	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
	"tallystick/events/merkle"
)

// What a campaign's policy says about overrides.
const (
	OverridesNone  = "none"
	OverridesShown = "shown" // where nothing else was said
	OverridesLater = "shown_later"
)

const (
	disputeType = "dispute.open"
	rulingType  = "ruling.make"
	// RulingOpenType opens a sealed ruling.
	RulingOpenType = "ruling.open"
)

// A Dispute is a record that was put into question. Values of it are never
// changed.
type Dispute struct {
	ID    string
	Roll  int64 // n of the record
	By    string
	Ruled bool
}

// Dispute finds one by id.
func (c *Campaign) Dispute(id string) (Dispute, bool) {
	d, ok := c.disputes[id]
	return d, ok
}

func (c *Campaign) disputed(d Dispute) {
	c.disputes = maps.Clone(c.disputes)
	c.disputes[d.ID] = d
}

func (c *Campaign) ruled(e *events.DisputeRuled) error {
	d, ok := c.disputes[e.Dispute]
	if !ok {
		return fmt.Errorf("the dispute %s is not known", e.Dispute)
	}
	d.Ruled = true
	c.disputed(d)
	return nil
}

// Overrides is the campaign's policy on the game master's own word.
func (c *Campaign) Overrides() string {
	if c.Created.Policy == nil {
		return OverridesShown
	}
	return c.Created.Policy.Overrides
}

// DisputeOpen is the data of dispute.open. The program adds the evidence.
type DisputeOpen struct {
	Roll     int64            `json:"roll" minimum:"1" doc:"n of the record that is put into question: a roll, a wound, a check that fell due"`
	Question string           `json:"question" minLength:"1" maxLength:"4000"`
	Evidence *events.Evidence `json:"evidence,omitzero" readOnly:"true" doc:"the state of the ledger; the program adds it"`
}

func openDispute(t *Turn, d *DisputeOpen) error {
	if err := CheckText(d.Question); err != nil {
		return &Invalid{Field: "question", Reason: err.Error()}
	}
	if err := t.recorded(d.Roll); err != nil {
		return err
	}
	if d.Evidence == nil || d.Evidence.Size != t.c.Next {
		return &Invalid{Field: "evidence", Reason: "is missing, or not of the ledger as it stands"}
	}
	for _, hash := range []string{d.Evidence.Root, d.Evidence.Leaf} {
		if err := checkHex("evidence", hash); err != nil {
			return err
		}
	}
	for _, open := range t.c.disputes {
		if open.Roll == d.Roll && open.By == t.cmd.By && !open.Ruled {
			return Reject("disputed_already", "", "%s disputes record %d already", t.cmd.By, d.Roll).On("roll")
		}
	}
	t.Emit(&events.DisputeOpened{Dispute: t.cmd.ID, Roll: d.Roll, Question: d.Question, Evidence: *d.Evidence})
	return nil
}

// recorded refuses an n that no record has yet.
func (t *Turn) recorded(n int64) error {
	if n >= t.c.Next {
		return Reject("unknown_record", "", "there is no record %d in this campaign", n).On("roll")
	}
	return nil
}

func checkHex(field, text string) error {
	if b, err := hex.DecodeString(text); err != nil || len(b) != 32 || hex.EncodeToString(b) != text {
		return &Invalid{Field: field, Reason: "must be 64 lower-case hex digits"}
	}
	return nil
}

// DisputeRule is the data of dispute.rule.
type DisputeRule struct {
	Dispute     string   `json:"dispute" maxLength:"64" doc:"id of the dispute"`
	Ruling      string   `json:"ruling" enum:"upheld,overturned,void" doc:"upheld: the record stands; overturned: it does not; void: there was nothing to decide"`
	Reason      string   `json:"reason" minLength:"1" maxLength:"4000"`
	Corrections []string `json:"corrections,omitzero" maxItems:"100" maxLength:"64" doc:"ids of the correction.make commands that carry the ruling out"`
}

func ruleDispute(t *Turn, d *DisputeRule) error {
	if err := CheckText(d.Reason); err != nil {
		return &Invalid{Field: "reason", Reason: err.Error()}
	}
	if _, ok := t.c.disputes[d.Dispute]; !ok {
		return Reject("unknown_dispute", "", "there is no dispute %q in this campaign", d.Dispute).On("dispute")
	}
	for i, id := range d.Corrections {
		if k, ok := t.c.Known(id); !ok || k.Type != correctionType {
			return Reject("unknown_correction", "", "%q is no correction in this campaign", id).On(fmt.Sprintf("corrections.%d", i))
		}
	}
	t.Emit(&events.DisputeRuled{Dispute: d.Dispute, Ruling: d.Ruling, Reason: d.Reason, Corrections: d.Corrections})
	return nil
}

// RulingMake is the data of ruling.make. In a campaign that shows rulings
// later the program puts the seal in the place of the rest.
type RulingMake struct {
	Roll    int64  `json:"roll,omitzero" minimum:"1" doc:"n of the record whose outcome is overridden; its dice stay what they are"`
	Outcome string `json:"outcome,omitzero" maxLength:"1000" doc:"what counts instead, in words"`
	Reason  string `json:"reason,omitzero" maxLength:"4000"`
	Seal    string `json:"seal,omitzero" maxLength:"64" readOnly:"true" doc:"of a ruling that is shown later; the program adds it"`
}

func (d *RulingMake) open() events.RulingMade {
	return events.RulingMade{Roll: d.Roll, Outcome: d.Outcome, Reason: d.Reason}
}

// check judges a ruling that is not sealed.
func (d *RulingMake) check(c *Campaign) error {
	switch {
	case d.Roll == 0:
		return &Invalid{Field: "roll", Reason: "is missing"}
	case d.Roll >= c.Next:
		return Reject("unknown_record", "", "there is no record %d in this campaign", d.Roll).On("roll")
	case d.Outcome == "":
		return &Invalid{Field: "outcome", Reason: "is missing"}
	case d.Reason == "":
		return &Invalid{Field: "reason", Reason: "is missing"}
	}
	if err := CheckText(d.Outcome); err != nil {
		return &Invalid{Field: "outcome", Reason: err.Error()}
	}
	if err := CheckText(d.Reason); err != nil {
		return &Invalid{Field: "reason", Reason: err.Error()}
	}
	return nil
}

func makeRuling(t *Turn, d *RulingMake) error {
	policy := t.c.Overrides()
	switch {
	case policy == OverridesNone:
		return Reject("no_overrides", "", "this campaign was created without overrides: what was rolled stands, or is taken back by a correction")
	case policy == OverridesLater && d.Seal == "":
		return &Invalid{Field: "seal", Reason: "is missing: in this campaign a ruling is recorded by its seal until it is shown"}
	case policy != OverridesLater && d.Seal != "":
		return &Invalid{Field: "seal", Reason: "is not for this campaign: its rulings are shown at once"}
	}
	if d.Seal == "" {
		if err := d.check(t.c); err != nil {
			return err
		}
		made := d.open()
		t.Emit(&made)
		return nil
	}
	if d.open() != (events.RulingMade{}) {
		return &Invalid{Field: "seal", Reason: "stands in the place of roll, outcome and reason: they are shown later"}
	}
	if err := checkSeal(d.Seal); err != nil {
		return err
	}
	if t.c.Session == nil {
		return Reject("no_session", "", "a ruling that is shown later is shown when its session closes: open one first (session.open)")
	}
	t.Emit(&events.RulingSealed{Session: t.c.Session.ID, Seal: d.Seal})
	return nil
}

// HideRuling puts the seal in the place of a ruling, in a campaign that shows
// rulings later. Elsewhere the command stays as it is.
func HideRuling(c *Campaign, cmd Command, salts Salts) (Command, Secret, error) {
	var d RulingMake
	if err := Unmarshal(cmd.Data, &d); err != nil || c.Overrides() != OverridesLater || d.Seal != "" {
		return cmd, Secret{}, err
	}
	if err := d.check(c); err != nil {
		return cmd, Secret{}, err
	}
	made := d.open()
	payload, err := Canonical(&made)
	if err != nil {
		return cmd, Secret{}, err
	}
	salt, err := salts.Salt("ruling\n" + cmd.ID + "\n")
	if err != nil {
		return cmd, Secret{}, err
	}
	cmd.Data, err = Canonical(&RulingMake{Seal: hex.EncodeToString(merkle.Seal(salt, payload))})
	return cmd, Secret{salt, payload}, err
}

// RulingOpen is the data of ruling.open. The program adds salt and payload
// when it keeps them.
type RulingOpen struct {
	Ruling  int64  `json:"ruling" minimum:"1" doc:"n of the ruling.sealed"`
	Salt    string `json:"salt,omitzero" maxLength:"64"`
	Payload string `json:"payload,omitzero" maxLength:"24576"`
}

func openRuling(t *Turn, d *RulingOpen) error {
	s, ok := t.c.sealed[d.Ruling]
	if !ok || !s.Ruling {
		return Reject("not_sealed", "", "record %d is no ruling that waits to be opened", d.Ruling).On("ruling")
	}
	if err := opens(s, d.Salt, d.Payload); err != nil {
		return err
	}
	e := &events.RulingOpened{Sealed: d.Ruling, Salt: d.Salt, Payload: d.Payload}
	if err := Unmarshal(jsontext.Value(d.Payload), &e.RulingMade); err != nil {
		return within("payload", err)
	}
	t.Emit(e)
	return nil
}

// SealedRulings are the rulings of the open session that wait to be opened,
// in their order.
func (c *Campaign) SealedRulings() []int64 {
	var all []int64
	for _, n := range sortedKeys(c.sealed) {
		if s := c.sealed[n]; s.Ruling && c.Session != nil && s.Session == c.Session.ID {
			all = append(all, n)
		}
	}
	return all
}
