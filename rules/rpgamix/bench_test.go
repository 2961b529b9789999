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
	ticks := 0 // as many as fit into a commit
	b.ReportAllocs()
	for b.Loop() {
		facts, err := rules.Decide(g.State, cmd, chains)
		if err != nil {
			b.Fatal(err)
		}
		ticks = len(facts) / 2
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*ticks), "ns/tick")
	b.ReportMetric(float64(ticks), "ticks/op")
}
