package perp

import (
	"slices"

	"tallystick/events"
	"tallystick/rules"
)

const powered = "powered"

// armour is what the armour worn takes off damage; powered armour does so also
// when it is off (PERP-45, PERP-47).
func (b *Body) armour() events.Modifier {
	if b.Armour == "none" {
		return events.Modifier{}
	}
	return events.Modifier{Label: b.Armour + " armour", Value: protection[b.Armour], Rule: "PERP-45"}
}

// worn are the traits that the armour gives as long as it is on (PERP-46,
// PERP-47); about are those of them that a roll about these subjects meets.
func (b *Body) worn(o rules.Options) []named {
	return traitsOf(o, b.Armour, b.Powered, func(feature) bool { return true })
}

func (b *Body) about(o rules.Options, subjects []string) []named {
	return traitsOf(o, b.Armour, b.Powered, func(f feature) bool { return f.meets(subjects) })
}

func (f feature) meets(subjects []string) bool {
	return slices.ContainsFunc(subjects, func(s string) bool { return slices.Contains(f.subjects, s) })
}

func traitsOf(o rules.Options, armour string, on bool, wanted func(feature) bool) []named {
	if armour == powered {
		armour = "powered off"
		if on {
			armour = "powered on"
		}
	}
	var all []named
	for _, f := range features[armour] {
		if !wanted(f) {
			continue
		}
		value := f.group
		if o.Is("perp.armour_penalty", "per_word") {
			value = f.word
		}
		all = append(all, named{Name: f.name, Value: value, rule: f.rule})
	}
	return all
}

// Wear is the data of perp.wear.
type Wear struct {
	Character string `json:"character"`
	Armour    string `json:"armour" enum:"none,leather,chainmail,platemail,powered"`
}

// Actors names who acts.
func (d *Wear) Actors() []string { return []string{d.Character} }

func wear(t *rules.Turn, d *Wear) error {
	ch, err := awake(t, "character", d.Character, "change armour")
	if err != nil {
		return err
	}
	if ch.Body.(*Body).Armour == d.Armour {
		return rules.Reject("no_change", "PERP-45", "%s wears that already", ch.Name).On("armour")
	}
	t.Emit(&ArmourChanged{Subject: events.Subject{Character: ch.ID}, Armour: d.Armour})
	return nil
}

// Power is the data of perp.power.
type Power struct {
	Character string `json:"character"`
	On        bool   `json:"on"`
}

// Actors names who acts.
func (d *Power) Actors() []string { return []string{d.Character} }

func power(t *rules.Turn, d *Power) error {
	ch, err := awake(t, "character", d.Character, "switch anything")
	if err != nil {
		return err
	}
	b := ch.Body.(*Body)
	if b.Armour != powered {
		return rules.Reject("no_powered_armour", "PERP-47", "%s wears no powered armour", ch.Name).On("character")
	}
	if b.Powered == d.On {
		return rules.Reject("no_change", "PERP-47", "the powered armour of %s is in that state already", ch.Name).On("on")
	}
	t.Emit(&ArmourChanged{Subject: events.Subject{Character: ch.ID}, Armour: powered, Powered: d.On})
	return nil
}
