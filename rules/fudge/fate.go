package fudge

import (
	"tallystick/events"
	"tallystick/rules"
)

// Fate is what follows from wounds without a die: death (FUDGE-53), lying
// unconscious and dying at Near Death (FUDGE-52), and the end of both for whoever
// is better. It implements rules.Fated.
func (System) Fate(o rules.Options, c *rules.Character, clock int64) []events.CharacterEvent {
	b := c.Body.(*Body)
	if b.Dead {
		return nil
	}
	who := events.Subject{Character: c.ID}
	stage := b.stage(o)
	if stage == Dead {
		return []events.CharacterEvent{&events.CharacterDied{Subject: who, Cause: "wounds", Rule: "FUDGE-53"}}
	}
	var all []events.CharacterEvent
	switch out, lost := b.has(unconscious), b.has(dying); {
	case stage == NearDeath:
		if !out {
			all = append(all, &events.ConditionGained{Subject: who, Condition: unconscious, Rule: "FUDGE-52"})
		}
		if !lost {
			all = append(all, &events.ConditionGained{Subject: who, Condition: dying, Until: clock + int64(o.Int(optDying))*minute, Rule: "FUDGE-52"})
		}
	default:
		if lost {
			all = append(all, &events.ConditionEnded{Subject: who, Condition: dying, Rule: "FUDGE-52"})
		}
		if out && stage < Disabled {
			all = append(all, &events.ConditionEnded{Subject: who, Condition: unconscious, Rule: "FUDGE-51"})
		}
	}
	return all
}
