package rpgamix

import (
	"github.com/go-json-experiment/json"

	"tallystick/events"
	"tallystick/rules"
)

// Cite names the rules of events that do not name them themselves.
func (system) Cite(e events.Event) string {
	switch e := e.(type) {
	case *events.WoundInflicted:
		if e.By != "" {
			return "RPGX-9"
		}
		return "RPGX-28"
	case *events.HealGranted:
		return "RPGX-28"
	case *ConsciousnessChecked:
		if e.Entry {
			return "RPGX-34"
		}
		return "RPGX-35"
	case *PoolChanged:
		return e.Rule
	case *GripChanged:
		return "RPGX-21"
	case *BlowWarded:
		return "RPGX-69"
	case *AdvantageBanked, *AdvantageUsed:
		return "RPGX-72"
	case *OpponentEvaded:
		return "RPGX-73"
	case *CharacterHeld:
		return "RPGX-74"
	case *ArmourDamaged:
		return "RPGX-24"
	}
	return ""
}

// Damage are the factors of a blow that hit, and what armour stopped.
func (system) Damage(th events.Throw) []rules.Blow {
	var b Blow
	if th.Detail == nil || json.Unmarshal(th.Detail, &b, json.RejectUnknownMembers(true)) != nil || !b.Hit {
		return nil
	}
	blow := rules.Blow{Made: []events.Modifier{
		modifier("damage factor: weapon and strength", b.DamageFactor, "RPGX-8"),
		modifier("per cent of it: ten a point of the margin, and what was staked", b.SuccessFactor, "RPGX-7"),
	}}
	if stopped := b.Damage - b.Taken; stopped > 0 {
		blow.Stopped = []events.Modifier{modifier("armour", -stopped, "RPGX-23")}
	}
	return []rules.Blow{blow}
}

// Source names the events that points of strategic defences and the penalty of
// a lock come from.
func (system) Source(m events.Modifier) string {
	switch m.Rule {
	case "RPGX-70", "RPGX-71":
		return (&AdvantageBanked{}).Type()
	case "RPGX-74":
		return (&CharacterHeld{}).Type()
	}
	return ""
}
