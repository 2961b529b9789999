package faults

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

var (
	seeds = flag.Int("seeds", 150, "how many seeds TestSimulation runs")
	first = flag.Uint64("first", 1, "the first of them")
)

// TestSimulation runs the service by seeds: random commands by several clients
// at several nodes, lost and late answers, full stores, failing reads, crashes
// between any two steps, clocks that jump, followers that lag. One seed is one
// run. A failure prints the seed and the fewest steps that still fail; put into
// testdata/scenarios they are run ever after.
func TestSimulation(t *testing.T) {
	if testing.Short() {
		*seeds = min(*seeds, 30)
	}
	total := map[string]int{}
	began := time.Now()
	for seed := *first; seed < *first+uint64(*seeds); seed++ {
		p := newPlan(seed)
		wrong, seen, _ := run(t, p)
		for what, n := range seen {
			total[what] += n
		}
		if len(wrong) > 0 {
			explain(t, p, wrong)
			return
		}
	}
	for _, what := range slices.Sorted(maps.Keys(total)) {
		t.Logf("%8d %s", total[what], what)
	}
	t.Logf("seeds %d to %d in %v", *first, *first+uint64(*seeds)-1, time.Since(began).Round(time.Second))
	if *seeds < 100 {
		return
	}
	// What never happened was not tested.
	for _, what := range []string{
		"answered", "refused", "repeated", "unclear", "507", "blind", "lost before", "lost after", "delayed", "delayed and stored", "full", "hung up", "slow step",
		"crash", "stop", "crash at publish", "crash at appended", "crash at ledger", "clock jump", "read", "follower resumed", "follower cut off",
	} {
		if total[what] == 0 {
			t.Errorf("%q never happened in %d seeds", what, *seeds)
		}
	}
}

// explain reduces a plan that fails, and prints it.
func explain(t *testing.T, p plan, wrong []string) {
	less := reduced(p, func(p plan) bool {
		w, _, _ := run(t, p)
		return len(w) > 0
	})
	if w, _, _ := run(t, less); len(w) > 0 {
		wrong = w
	}
	t.Errorf("seed %d: %s\nthe fewest steps that fail, for testdata/scenarios:\n%s", p.Seed, wrong[0], less)
}

// TestScenarios runs what has failed once.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "scenarios", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var p plan
			if err := json.Unmarshal(b, &p); err != nil {
				t.Fatal(err)
			}
			if wrong, _, _ := run(t, p); len(wrong) > 0 {
				t.Errorf("%s: %s", p.Why, wrong[0])
			}
		})
	}
}

// One seed is one run: the same bytes in the store, the same answers.
func TestSeedIsRun(t *testing.T) {
	last := uint64(40)
	if testing.Short() {
		last = 8
	}
	for seed := uint64(1); seed <= last; seed++ {
		p := newPlan(seed)
		_, _, one := run(t, p)
		_, _, two := run(t, p)
		if one != two {
			t.Errorf("seed %d: %s, then %s", seed, one, two)
		}
	}
}

// The checks find each promise that is broken on purpose, within a few seeds.
func TestSimulationSeesSabotage(t *testing.T) {
	for _, s := range []sabotage{loses, halves, stale, twice, skips} {
		t.Run(string(s), func(t *testing.T) {
			for seed := uint64(1); seed <= 60; seed++ {
				p := newPlan(seed)
				p.sabotage = s
				if wrong, _, _ := run(t, p); len(wrong) > 0 {
					t.Logf("seed %d: %.200s", seed, wrong[0])
					return
				}
			}
			t.Error("nobody noticed")
		})
	}
}
