package systems_test

import (
	"slices"
	"strings"
	"testing"

	"tallystick/rules"
	"tallystick/rules/rulestest"
	"tallystick/rules/systems"
)

// Every system on board keeps what all systems must keep.
func TestSystems(t *testing.T) {
	for _, book := range systems.Library() {
		t.Run(book.Name(), func(t *testing.T) { rulestest.Run(t, book, "..") })
	}
}

// S1, API5: what is not the game master's alone is named here, with whom it is
// for; a type that is added is the game master's until it is named too.
func TestWhoMayWhat(t *testing.T) {
	open := map[rules.Who]string{
		rules.OwnCharacters: "attack check contest link.make perp.gang perp.power perp.share perp.volley perp.wear roll rpgamix.allocate rpgamix.break_free rpgamix.cast rpgamix.choke rpgamix.exert wound.treat",
		rules.Participants:  "character.create link.roll note.add roll.open roll.seal roll.widen roll.witness seat.reveal seat.take",
		rules.Table:         "dispute.open",
		rules.Program:       "campaign.create clock.follow clock.resume key.rotate ledger.recover tempo.warn",
	}
	for _, book := range systems.Library() {
		for _, spec := range book.Specs() {
			want := rules.GMOnly
			for who, types := range open {
				if slices.Contains(strings.Fields(types), spec.Type) {
					want = who
				}
			}
			if spec.Who != want {
				t.Errorf("%s of %s is for %d, want %d", spec.Type, book.Name(), spec.Who, want)
			}
		}
	}
}
