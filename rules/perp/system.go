// Package perp is Plain English Role Playing (alpha test version, Michael D.
// Mearls, 1999) as a rule system: a d10, traits, one skill, and hit points
// that bleed away by the minute and come back by the week.
//
// It decides and evolves by the book; where the book leaves something open, an
// option says what is meant. It reads no clock, no random source, no file and
// no network, and imports nothing but rules and events.
package perp

import (
	"tallystick/events"
	"tallystick/rules"
)

// System is PERP. It has no state of its own.
type System struct{}

// New is the system to put into a library.
func New() rules.System { return System{} }

// Name is "perp".
func (System) Name() string { return "perp" }

// Edition is the version of these rules; a rule that changes raises it.
func (System) Edition() int { return 1 }

// Describe says what the system is, and lists its options and its rules.
func (System) Describe() rules.Description {
	return rules.Description{
		Title:   "Plain English Role Playing",
		Summary: "One d10, any number of traits and one skill against a number or against another roll. Wounds cost hit points: at 0 a character falls and bleeds, at -20 the character dies.",
		Credit:  "Plain English Role Playing, alpha test version, Michael D. Mearls, 1999",
		Ranks:   []string{Well, Hurt, Unconscious, Dead},
		Options: options,
		Rules:   book,
	}
}

// Sheet is a pointer to a zero Sheet.
func (System) Sheet() any { return new(Sheet) }

// Example is a nurse who can use a knife.
func (System) Example() any {
	return &Sheet{
		Traits:    map[string]int{"Athletic": 1, "Patient": 1, "Vain": -1},
		Skills:    map[string]Skill{"Knives": {Points: 1}, "First aid": {Points: 2, Kind: "medical"}, "History": {}, "Streetwise": {Points: -1}},
		HitPoints: 12,
		Weapons:   []Weapon{{Name: "Knife", Class: "small"}},
	}
}

// Setting is a pointer to a Setting with nothing defined.
func (System) Setting() any { return new(Setting) }

// CheckSetting judges what a campaign defines itself.
func (System) CheckSetting(setting any) error { return setting.(*Setting).check() }

// NewBody is a pointer to a zero Body.
func (System) NewBody() rules.Body { return new(Body) }

// Commands are what the system decides.
func (System) Commands() []rules.CommandSpec {
	return []rules.CommandSpec{
		rules.Spec("check", "Test", "A d10, the traits named and one skill, against a difficulty if one is given (PERP-1, PERP-16). A closed test needs the skills and tools of its note (PERP-19).", rules.OwnCharacters, check).InSecret(),
		rules.Spec("contest", "Opposed test", "Both sides roll, the higher one wins (PERP-15). The first side is the one that acts.", rules.OwnCharacters, contest).InSecret(),
		rules.Spec("attack", "Attack", "One exchange hand to hand, in which either side can be hurt (PERP-21), or one shot or throw at a target that dodges (PERP-34): the weapon says which.", rules.OwnCharacters, attack),
		rules.Spec("perp.volley", "Several shots", "Several shots in one round with a weapon of that rate of fire; all targets are declared before the first die (PERP-37, PERP-38).", rules.OwnCharacters, volley),
		rules.Spec("perp.gang", "Gang up", "Two or more attack one at once, by the rule that the campaign has chosen (PERP-28 to PERP-33).", rules.OwnCharacters, gang),
		rules.Spec("perp.share", "Share out damage", "Who has beaten a whole group by the brutal rules says who takes how much of the damage (PERP-32).", rules.OwnCharacters, share),
		rules.Spec("perp.wear", "Change armour", "Puts armour on, or takes it off.", rules.OwnCharacters, wear),
		rules.Spec("perp.power", "Power armour up or down", "Switches powered armour on or off (PERP-47).", rules.OwnCharacters, power),
		rules.Spec("perp.stabilise", "Stop the bleeding", "The game master says that a fallen character bleeds no more, in campaigns that leave it to the game master (PERP-50).", rules.GMOnly, stabilise),
		rules.Spec("wound.inflict", "Inflict a wound", "The game master's own hand: a fall, a poison. Takes hit points.", rules.GMOnly, inflict),
		rules.Spec("wound.treat", "Tend wounds", "A test of a medical skill, with proper tools; a third of it comes back with the week's healing (PERP-52).", rules.OwnCharacters, treat),
		rules.Spec("heal.grant", "Grant healing", "The game master's own hand: gives hit points back, up to the starting ones.", rules.GMOnly, grant),
	}
}

// Events are the event types that only this system has.
func (System) Events() map[string]func() events.Event {
	return map[string]func() events.Event{
		"perp.attacked":       func() events.Event { return new(Attacked) },
		"perp.share_won":      func() events.Event { return new(ShareWon) },
		"perp.damage_shared":  func() events.Event { return new(DamageShared) },
		"perp.armour_changed": func() events.Event { return new(ArmourChanged) },
	}
}

// Attacked says that a character has used up the attack of this round.
type Attacked struct {
	events.Subject
	Target  string `json:"target"`
	Weapon  string `json:"weapon"`
	Outcome string `json:"outcome"` // won, lost or draw; hit or missed
	Margin  int    `json:"margin"`  // of whoever won
}

// ShareWon says that a character has beaten a group and has damage to share
// out (PERP-32).
type ShareWon struct {
	events.Subject
	Points  int      `json:"points"`
	Weapon  string   `json:"weapon"`
	Targets []Beaten `json:"targets"`
}

// Beaten is one of a group that lost.
type Beaten struct {
	Character string `json:"character"`
	Soak      int    `json:"soak,omitzero"` // what toughness takes off, declared before the dice
}

// DamageShared says that the share-out is done.
type DamageShared struct {
	events.Subject
	Shares []Share `json:"shares"`
}

// ArmourChanged says what armour a character wears now.
type ArmourChanged struct {
	events.Subject
	Armour  string `json:"armour"`
	Powered bool   `json:"powered"`
}

// Type is the name of the event.
func (*Attacked) Type() string { return "perp.attacked" }

// Type is the name of the event.
func (*ShareWon) Type() string { return "perp.share_won" }

// Type is the name of the event.
func (*DamageShared) Type() string { return "perp.damage_shared" }

// Type is the name of the event.
func (*ArmourChanged) Type() string { return "perp.armour_changed" }
