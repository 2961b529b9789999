package fudge

import (
	"tallystick/events"
	"tallystick/rules"
)

// Tire is the data of fudge.tire.
type Tire struct {
	Character string `json:"character"`
	Cards     int    `json:"cards" minimum:"1" maximum:"10"`
	Cause     string `json:"cause" minLength:"1" maxLength:"200"`
}

// tire gives face-up cards for fatigue (FUDGE-41, B8.4-a).
func tire(t *rules.Turn, d *Tire) error {
	who, err := t.Living("character", d.Character)
	if err != nil {
		return err
	}
	if err := name("cause", d.Cause); err != nil {
		return err
	}
	if who.Body.(*Body).Fatigue+d.Cards > maxFatigue {
		return rules.Reject("too_many_cards", "FUDGE-41", "%s would hold more than %d cards of fatigue", who.Name, maxFatigue).On("cards")
	}
	t.Emit(&Tired{Subject: events.Subject{Character: who.ID}, Cards: d.Cards, Cause: d.Cause})
	return nil
}

// maxFatigue is a limit of this program: the third card already stops most.
const maxFatigue = 10

// Relax is the data of fudge.rest.
type Relax struct {
	Character string `json:"character"`
	Cards     int    `json:"cards,omitzero" minimum:"1" maximum:"10" doc:"all of them when left out"`
}

// relax takes fatigue cards away: how much rest each needs is the game
// master's word.
func relax(t *rules.Turn, d *Relax) error {
	who, err := t.Living("character", d.Character)
	if err != nil {
		return err
	}
	held := who.Body.(*Body).Fatigue
	if held == 0 {
		return rules.Reject("not_tired", "FUDGE-41", "%s holds no card of fatigue", who.Name).On("character")
	}
	cards := min(d.Cards, held)
	if d.Cards == 0 {
		cards = held
	}
	t.Emit(&Rested{Subject: events.Subject{Character: who.ID}, Cards: cards})
	return nil
}
