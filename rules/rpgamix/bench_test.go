package rpgamix_test

import (
	"fmt"
	"testing"

	"tallystick/rules"
	"tallystick/rules/rulestest"
)

// BenchmarkTick is one rolled check of the health table, decided.
func BenchmarkTick(b *testing.B) {
	g := play(b, `{"rpgamix.skip_certain_rolls":false}`)
	id := g.npc("x", sheet("con 5"))
	g.wound(id, 31, 10, 10)
	chains := &rulestest.Chains{}
	cmd := g.Command("gm", "clock.advance", fmt.Sprintf(`{"seconds":%d}`, 400*round))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rules.Decide(g.State, cmd, chains); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/400, "ns/tick")
}
