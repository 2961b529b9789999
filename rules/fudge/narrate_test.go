package fudge

import (
	"fmt"
	"testing"

	"tallystick/events"
	"tallystick/rules"
)

// told holds what is said of the throws of a command against what must be.
func (tb table) told(facts []events.Fact, want ...string) {
	tb.t.Helper()
	for i, th := range throws(tb.t, facts)[:len(want)] {
		th.Draws = th.Draws[:2] // the first throw of a roll holds the dice of all
		if got := rules.Narrate(New(), tb.State.Options, th, nil); got != want[i] {
			tb.t.Errorf("throw %d: %s\nwant %s", i, got, want[i])
		}
	}
}

// A roll against several tells each comparison, and low doubles name their
// rule: nothing is hit "by" a number there.
func TestBrawlIsTold(t *testing.T) {
	tb, tucker, foes := pirates(t, "")
	tb.told(tb.do("fudge.brawl", brawling(tucker, foes, `,"one_roll":true`), 5, 5, 3, 4),
		"rolled 5 + 5, worth +2, on Good: Superb at best against Great: 1 of 3 hit",
		"rolled 3 + 4, worth +0, on Great: Great: stand-off against Great; loses against Superb by 1, damage 1; wins against Good by 1, damage 1")
	tb.told(tb.do("fudge.brawl", brawling(tucker, foes, `,"one_roll":true`), 1, 1, 3, 4),
		"rolled 1 + 1, worth -4, on Good: Terrible at best against Great: low doubles: all hit",
		"rolled 3 + 4, worth +0, on Great: Great, but all 3 hit whatever it is: low doubles (FUDGE-35)")
}

// Between scales the damage is told on both, or the numbers it is made of would
// not come to it: the shillelagh of B9.2 by 3, stopped by light armour of 1.
func TestScalesAreTold(t *testing.T) {
	tb := play(t, "")
	sheba := tb.person("Sheba", "pc", `{"traits":{"Unarmed Combat":"Good"},"armour":{"kind":"light"}}`)
	fionn := tb.person("Fionn", "npc", `{"traits":{"Shillelagh":"Fair"},"weapons":{"shillelagh":{"size":"average"}},"scale":{"hit_points":"1/3"}}`)
	swing := fmt.Sprintf(`{"attacker":%q,"target":%q,"trait":"Shillelagh","weapon":"shillelagh","defence":{"trait":"Unarmed Combat"}}`, fionn, sheba)
	tb.told(tb.do("attack", swing, 6, 6, 3, 4), "rolled 6 + 6, worth +4, on Fair: Superb+1 against Good: wins by 3, damage 0: 0 on the lesser being's scale, where armour counts (FUDGE-62)")
	human := tb.person("Ann", "npc", `{"traits":{"Sword":"Good"},"weapons":{"sword":{"size":"average"}}}`)
	tb.told(tb.do("attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"trait":"Sword","weapon":"sword","defence":{"trait":"Unarmed Combat"}}`, human, sheba), 4, 6, 3, 4),
		"rolled 4 + 6, worth +2, on Good: Superb against Good: wins by 2, damage 1")
}
