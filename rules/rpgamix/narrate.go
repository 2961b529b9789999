package rpgamix

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"tallystick/events"
	"tallystick/rules"
)

// Narrate tells an attack with the way from the margin to the damage.
func (system) Narrate(_ rules.Options, th events.Throw, _ []events.Event) string {
	var b Blow
	if th.Detail == nil || json.Unmarshal(th.Detail, &b, json.RejectUnknownMembers(true)) != nil || !b.Hit {
		return ""
	}
	text := rules.Rolled(th) + rules.Came(th)
	text += fmt.Sprintf(", %d %% of %d = %s", b.SuccessFactor, b.DamageFactor, points(b.Damage))
	if stopped := b.Damage - b.Taken; stopped > 0 {
		text += fmt.Sprintf(", of which armour stopped %d", stopped)
	}
	return text
}

func points(n int) string {
	if n == 1 {
		return "1 point"
	}
	return fmt.Sprintf("%d points", n)
}
