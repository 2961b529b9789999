package rpgamix

import "tallystick/events"

// ConsciousnessChecked is a Con roll of a character in Awful health (RPGX-34,
// RPGX-35): on entry into the rank, or for a strenuous act.
type ConsciousnessChecked struct {
	events.Subject
	Entry      bool   `json:"entry,omitzero"`
	Act        string `json:"act,omitzero"` // what was strenuous
	Difficulty int    `json:"difficulty"`
	Awake      bool   `json:"awake"`
}

// PoolChanged is points of a variable that were spent or came back.
type PoolChanged struct {
	events.Subject
	Pool   string `json:"pool"`
	Change int    `json:"change"`
	Cause  string `json:"cause"`
	Rule   string `json:"rule"`
}

// GripChanged is a shorter or the full grip on a weapon (RPGX-21).
type GripChanged struct {
	events.Subject
	Weapon string `json:"weapon"`
	Choked bool   `json:"choked"`
	Ready  int64  `json:"ready"` // game seconds: from then on the weapon can be used
}

// BlowWarded is a strategic defence that was higher than the attack (RPGX-69).
// What the excess is good for may still be said.
type BlowWarded struct {
	events.Subject
	Opponent string `json:"opponent"`
	Skill    string `json:"skill"` // the defence was rolled with
	Excess   int    `json:"excess"`
}

// AdvantageBanked is excess points kept for the next attack on, or defence
// against, the same opponent (RPGX-70 to RPGX-72).
type AdvantageBanked struct {
	events.Subject
	Opponent string `json:"opponent"`
	Attack   int    `json:"attack,omitzero"`
	Defence  int    `json:"defence,omitzero"`
}

// AdvantageUsed is points of strategic defences that have served.
type AdvantageUsed struct {
	events.Subject
	Opponent string `json:"opponent"`
	In       string `json:"in"` // attack or defence for banked points; else what a warded blow was used for
	Points   int    `json:"points"`
}

// OpponentEvaded says that the subject cannot attack somebody for a while, who
// has slipped inside the subject's reach (RPGX-73).
type OpponentEvaded struct {
	events.Subject
	Opponent string `json:"opponent"`
	Until    int64  `json:"until"` // game seconds
}

// CharacterHeld is a lock on the subject (RPGX-74): no attack, and a penalty
// as if some health ranks were lost, until it is broken.
type CharacterHeld struct {
	events.Subject
	Holder string `json:"holder"`
	Ranks  int    `json:"ranks"`
}

// ArmourDamaged is armour that wore off by what it stopped (RPGX-24).
type ArmourDamaged struct {
	events.Subject
	Points int `json:"points"`
}

// Type names the event.
func (*ConsciousnessChecked) Type() string { return "rpgamix.consciousness.checked" }

// Type names the event.
func (*PoolChanged) Type() string { return "rpgamix.pool.changed" }

// Type names the event.
func (*GripChanged) Type() string { return "rpgamix.grip.changed" }

// Type names the event.
func (*BlowWarded) Type() string { return "rpgamix.blow.warded" }

// Type names the event.
func (*AdvantageBanked) Type() string { return "rpgamix.advantage.banked" }

// Type names the event.
func (*AdvantageUsed) Type() string { return "rpgamix.advantage.used" }

// Type names the event.
func (*OpponentEvaded) Type() string { return "rpgamix.opponent.evaded" }

// Type names the event.
func (*CharacterHeld) Type() string { return "rpgamix.character.held" }

// Type names the event.
func (*ArmourDamaged) Type() string { return "rpgamix.armour.damaged" }
