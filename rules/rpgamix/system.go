// Package rpgamix decides by the rules of RPGamix: attacks with a success
// factor, five health ranks, deterioration and healing, disciplines, pyromancy.
//
// Rules are named RPGX-1 to RPGX-92; docs/rules/rpgamix.md leads from the book
// to each of them. What the book leaves open is an option of the campaign. The
// package is pure: state in, events out, dice from the turn or the caller.
package rpgamix

import (
	"tallystick/events"
	"tallystick/rules"
)

// Edition is the version of these rules.
const Edition = 1

// New is the system, ready for a rules.Library.
func New() rules.System { return system{} }

type system struct{}

// Name is "rpgamix".
func (system) Name() string { return "rpgamix" }

// Edition is the version of these rules.
func (system) Edition() int { return Edition }

// Describe lists ranks, options and rules.
func (system) Describe() rules.Description {
	return rules.Description{
		Title:   "RPGamix",
		Summary: "One ten-sided die and no damage roll: how well a blow hits decides what it does. Wounds bleed or heal by a table until they are treated.",
		Credit:  "RPGAMIX: The Rules, by the authors of RPGamix (published on the web as open source)",
		Ranks:   ranks,
		Options: options,
		Rules:   titles,
	}
}

// Sheet is a pointer to a zero Sheet.
func (system) Sheet() any { return new(Sheet) }

// Example is an average human being.
func (system) Example() any {
	return &Sheet{Skills: map[string]int{"First Aid": 2, "Parry": 1, "Dodge": 1, "Short Sword": 2}}
}

// NewBody is a pointer to a zero Body.
func (system) NewBody() rules.Body { return new(Body) }

// Commands are the six that all systems share and eight of RPGamix alone.
func (system) Commands() []rules.CommandSpec {
	return []rules.CommandSpec{
		rules.Spec("check", "Check", "A ten-sided (or six-sided) die, a stat, a skill and modifiers against a difficulty.", rules.OwnCharacters, check).InSecret(),
		rules.Spec("contest", "Contest", "Two characters roll against each other; the higher total wins.", rules.OwnCharacters, contest).InSecret(),
		rules.Spec("attack", "Attack", "A blow or a shot at a character or a thing, with everything that follows from it.", rules.OwnCharacters, attack),
		rules.Spec("wound.inflict", "Inflict a wound", "The game master's own hand: a fall, a poison. It is not a strike and stuns nobody.", rules.GMOnly, inflict),
		rules.Spec("wound.treat", "Treat wounds", "Stabilises a wounded character: by a skill check, with soap and water (Good), or by the game master's word.", rules.OwnCharacters, treat),
		rules.Spec("heal.grant", "Grant healing", "Gives points back by the game master's own hand.", rules.GMOnly, heal),
		rules.Spec("rpgamix.exert", "Exert yourself", "A strenuous act of a character in Awful health: a Con roll, harder each time, or unconsciousness.", rules.OwnCharacters, exert),
		rules.Spec("rpgamix.wake", "Wake", "An unconscious character wakes, or, if incapacitated, is kept awake by magic.", rules.GMOnly, wake),
		rules.Spec("rpgamix.choke", "Choke up on a weapon", "Takes a shorter grip on a spear, or the full one again. Either takes a round.", rules.OwnCharacters, choke),
		rules.Spec("rpgamix.allocate", "Use a strategic defence", "Says what a warded blow was good for: the next attack, the next defence, both, slipping inside, or a discipline's hold, throw or stun.", rules.OwnCharacters, allocate),
		rules.Spec("rpgamix.break_free", "Break free", "A held character rolls against the holder.", rules.OwnCharacters, breakFree),
		rules.Spec("rpgamix.cast", "Cast a spell of fire", "Creates, controls or extinguishes fire.", rules.OwnCharacters, cast),
		rules.Spec("rpgamix.rest", "Nights of deep sleep", "Fills pools that sleep fills.", rules.GMOnly, rest),
		rules.Spec("rpgamix.pool", "Change a pool", "Adds to a pool or takes from it by the game master's word.", rules.GMOnly, changePool),
	}
}

// Events are the event types of RPGamix alone.
func (system) Events() map[string]func() events.Event {
	return map[string]func() events.Event{
		"rpgamix.consciousness.checked": func() events.Event { return new(ConsciousnessChecked) },
		"rpgamix.pool.changed":          func() events.Event { return new(PoolChanged) },
		"rpgamix.grip.changed":          func() events.Event { return new(GripChanged) },
		"rpgamix.blow.warded":           func() events.Event { return new(BlowWarded) },
		"rpgamix.advantage.banked":      func() events.Event { return new(AdvantageBanked) },
		"rpgamix.advantage.used":        func() events.Event { return new(AdvantageUsed) },
		"rpgamix.opponent.evaded":       func() events.Event { return new(OpponentEvaded) },
		"rpgamix.character.held":        func() events.Event { return new(CharacterHeld) },
		"rpgamix.armour.damaged":        func() events.Event { return new(ArmourDamaged) },
	}
}
