package rulestest

import (
	"fmt"

	"tallystick/events"
	"tallystick/rules"
)

// Ember is the smallest system there is.
func Ember() rules.System { return ember{} }

// ember is the smallest system that has everything the core deals with: a
// character is a fire of 100 points that rolls a d6 every ten seconds, burns
// down by one on 1 to 3, and is dead when it is out.
type ember struct{}

type emberSheet struct {
	Points int `json:"points" minimum:"1" maximum:"100000"`
}

type emberBody struct {
	Points, Max, Ticks int
	Lit                int64 // game seconds
}

type emberSetting struct {
	Woods []string `json:"woods,omitzero"`
}

type emberStoke struct {
	Character string `json:"character"`
	Logs      int    `json:"logs" minimum:"1" maximum:"9"`
	Call      int64  `json:"call,omitzero" minimum:"1"` // n of a hidden target
}

func (d *emberStoke) Actors() []string { return []string{d.Character} }

func (ember) Name() string        { return "ember" }
func (ember) Edition() int        { return 1 }
func (ember) Sheet() any          { return &emberSheet{} }
func (ember) Example() any        { return &emberSheet{Points: 20} }
func (ember) Setting() any        { return &emberSetting{} }
func (ember) NewBody() rules.Body { return &emberBody{} }
func (ember) Describe() rules.Description {
	return rules.Description{Title: "Embers", Summary: "A fire that burns down.", Credit: "nobody", Ranks: []string{"lit", "out"}, Options: []rules.Option{
		{Name: "ember.interval", Rule: "EMB-1", Min: 1, Max: 100, Default: "10", Doc: "seconds between two checks"},
		{Name: "ember.wind", Rule: "EMB-2", Values: []string{"calm", "storm"}, Default: "calm", Doc: "the weather"},
	}, Rules: []rules.Rule{{ID: "EMB-1", Title: "Burning"}, {ID: "EMB-2", Title: "Wind"}, {ID: "EMB-3", Title: "Dry wood"}}}
}
func (ember) CheckSetting(s any) error {
	for i, w := range s.(*emberSetting).Woods {
		if w == "water" {
			return &rules.Invalid{Field: fmt.Sprintf("woods.%d", i), Reason: "does not burn"}
		}
	}
	return nil
}
func (ember) Events() map[string]func() events.Event { return nil }
func (ember) Commands() []rules.CommandSpec {
	return []rules.CommandSpec{
		rules.Spec("ember.stoke", "Stoke", "Adds logs.", rules.OwnCharacters, func(t *rules.Turn, d *emberStoke) error {
			ch, err := t.Living("character", d.Character)
			if err != nil {
				return err
			}
			if d.Call != 0 {
				if err := t.Hidden("call", d.Call); err != nil {
					return err
				}
			}
			for k := range d.Logs {
				th := t.Throw(fmt.Sprintf("log %d", k+1), ch)
				th.Die(6)
				th.Add("dry wood", 1, "EMB-3")
			}
			t.Emit(&events.HealGranted{Subject: events.Subject{Character: ch.ID}, Points: d.Logs, Cause: "logs"})
			return nil
		}),
	}
}
func (ember) Create(_ rules.Options, sheet any, _ bool, clock int64) (rules.Body, []string, error) {
	n := sheet.(*emberSheet).Points
	return &emberBody{Points: n, Max: n, Lit: clock}, nil, nil
}
func (ember) Amend(_ rules.Options, b rules.Body, sheet any, _ int64) (rules.Body, []string, error) {
	body := *b.(*emberBody)
	body.Max = sheet.(*emberSheet).Points
	body.Points = min(body.Points, body.Max)
	return &body, nil, nil
}
func (ember) Evolve(_ rules.Options, b rules.Body, _ int64, e events.Event) rules.Body {
	body := *b.(*emberBody)
	switch e := e.(type) {
	case *events.TickProcessed:
		body.Points, body.Ticks = body.Points+e.Change, body.Ticks+1
	case *events.HealGranted:
		body.Points = min(body.Max, body.Points+e.Points)
	}
	return &body
}
func (ember) Vitals(_ rules.Options, b rules.Body, _ int64) events.Vitals {
	body := b.(*emberBody)
	v := events.Vitals{Alive: body.Points > 0, Health: events.Health{Points: body.Points, Max: body.Max, Rank: "lit"}}
	if !v.Alive {
		v.Health.Rank = "out"
	}
	return v
}
func (ember) NextTick(o rules.Options, b rules.Body) (rules.Tick, bool) {
	body := b.(*emberBody)
	return rules.Tick{Due: body.Lit + int64(body.Ticks+1)*int64(o.Int("ember.interval")), Kind: "burn"}, body.Points > 0
}
func (ember) DecideTick(t *rules.Turn, c *rules.Character, tick rules.Tick) {
	th := t.Throw("burn", c)
	change := 0
	if th.Die(6) <= 3 {
		change = -1
	}
	th.Result("burnt", change)
	t.Emit(&events.TickProcessed{Subject: events.Subject{Character: c.ID}, Kind: tick.Kind, Due: tick.Due, Rolled: true, Change: change, Rule: "EMB-1"})
}
func (ember) Treatment(_ rules.Options, c *rules.Character) any { return nil }

// Judge says how a total compares with a hidden target: what reaches it burns.
func (ember) Judge(_ rules.Options, total, value int) (outcome string, margin int) {
	if total >= value {
		return "burns", total - value
	}
	return "smokes", total - value
}

// EmberSecond is the second edition of Ember: a fire burns down on 1 to 4.
func EmberSecond() rules.System { return emberSecond{} }

type emberSecond struct{ ember }

func (emberSecond) Edition() int { return 2 }
func (emberSecond) DecideTick(t *rules.Turn, c *rules.Character, tick rules.Tick) {
	th := t.Throw("burn", c)
	change := 0
	if th.Die(6) <= 4 {
		change = -1
	}
	th.Result("burnt", change)
	t.Emit(&events.TickProcessed{Subject: events.Subject{Character: c.ID}, Kind: tick.Kind, Due: tick.Due, Rolled: true, Change: change, Rule: "EMB-1"})
}
