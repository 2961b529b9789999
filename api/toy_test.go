package api

import (
	"fmt"

	"tallystick/events"
	"tallystick/rules"
)

// toy is the smallest rule system that the API can be tested with: points,
// wounds, one check.
type toy struct{ name string }

type toySheet struct {
	Strength int `json:"strength" minimum:"0" maximum:"10"`
}

type toyBody struct {
	Points int `json:"points"`
	Wounds int `json:"wounds"`
}

type toyCheck struct {
	Character  string `json:"character"`
	Difficulty int    `json:"difficulty,omitzero" minimum:"0" maximum:"30"`
}

func (d *toyCheck) Actors() []string { return []string{d.Character} }

type toyWound struct {
	Character string `json:"character"`
	Points    int    `json:"points" minimum:"1" maximum:"1000"`
	Cause     string `json:"cause" minLength:"1" maxLength:"200"`
}

func (s toy) Name() string { return s.name }
func (toy) Edition() int   { return 1 }
func (s toy) Describe() rules.Description {
	return rules.Description{
		Title: s.name, Summary: "A system for tests.", Credit: "nobody", Ranks: []string{"well", "dead"},
		Options: []rules.Option{{Name: s.name + ".kind", Rule: "TOY-1", Values: []string{"plain", "fancy"}, Default: "plain", Doc: "nothing"}},
		Rules:   []rules.Rule{{ID: "TOY-1", Title: "There is one rule"}},
	}
}
func (toy) Sheet() any             { return new(toySheet) }
func (toy) Example() any           { return &toySheet{Strength: 3} }
func (toy) Setting() any           { return nil }
func (toy) CheckSetting(any) error { return nil }
func (s toy) Commands() []rules.CommandSpec {
	all := []rules.CommandSpec{
		rules.Spec("check", "Check", "A d10 and strength against a difficulty.", rules.OwnCharacters, toyCheckDecide),
		rules.Spec("wound.inflict", "Inflict a wound", "By the game master's hand.", rules.GMOnly, toyInflict),
		rules.Spec(s.name+".crash", "Crash", "Fails in a way that no rule foresees.", rules.GMOnly, func(*rules.Turn, *struct{}) error {
			panic("a secret reason")
		}),
	}
	if s.name == "toy" {
		return all
	}
	type other struct {
		Character string `json:"character"`
		Dice      int    `json:"number_of_dice"`
	}
	all[0] = rules.Spec("check", "Check", "Another check.", rules.OwnCharacters, func(t *rules.Turn, d *other) error {
		t.Throw("check", nil).Die(6)
		return nil
	})
	return all
}
func (toy) Events() map[string]func() events.Event { return nil }
func (toy) NewBody() rules.Body                    { return new(toyBody) }
func (toy) Create(_ rules.Options, _ any, _ bool, _ int64) (rules.Body, []string, error) {
	return &toyBody{Points: 25}, nil, nil
}
func (toy) Amend(_ rules.Options, b rules.Body, _ any, _ int64) (rules.Body, []string, error) {
	return b, nil, nil
}
func (toy) Evolve(_ rules.Options, b rules.Body, _ int64, e events.Event) rules.Body {
	body := *b.(*toyBody)
	if w, ok := e.(*events.WoundInflicted); ok {
		body.Points -= w.Points
		body.Wounds++
	}
	return &body
}
func (toy) Vitals(_ rules.Options, b rules.Body, _ int64) events.Vitals {
	body := b.(*toyBody)
	v := events.Vitals{Alive: body.Points > 0, Health: events.Health{Points: body.Points, Max: 25, Rank: "well"}}
	if !v.Alive {
		v.Health.Rank = "dead"
	}
	return v
}
func (toy) NextTick(rules.Options, rules.Body) (rules.Tick, bool) { return rules.Tick{}, false }
func (toy) DecideTick(*rules.Turn, *rules.Character, rules.Tick)  {}
func (toy) Treatment(rules.Options, *rules.Character) any         { return nil }
func toyCheckDecide(t *rules.Turn, d *toyCheck) error {
	ch, err := t.Living("character", d.Character)
	if err != nil {
		return err
	}
	th := t.Throw("check", ch)
	th.Die(10)
	return nil
}

func toyInflict(t *rules.Turn, d *toyWound) error {
	ch, err := t.Living("character", d.Character)
	if err != nil {
		return err
	}
	t.Emit(&events.WoundInflicted{
		Subject: events.Subject{Character: ch.ID}, Wound: ch.Body.(*toyBody).Wounds + 1, Points: d.Points, Cause: d.Cause,
	})
	return nil
}

// clashing has a member that belongs to the command around its data.
type clashing struct{ toy }

func (clashing) Commands() []rules.CommandSpec {
	return []rules.CommandSpec{rules.Spec("clash", "", "", rules.GMOnly, func(*rules.Turn, *struct {
		Dice int `json:"dice"`
	}) error {
		return fmt.Errorf("never decided")
	})}
}
