package replay

import (
	"fmt"
	"math"
	"math/big"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
	"tallystick/rules"
	"tallystick/rules/rpgamix"
)

// oracle is testdata/prognosis.json: the health table of RPGamix worked out as
// a Markov chain by another program, with ten digits; fractions where short.
type oracle struct {
	Untreated, Stabilised []expected
	Strict                []expected `json:"untreated_if_con_must_exceed_5"`
	MonteCarlo            struct {
		Runs  int `json:"runs_each"`
		Cases []struct {
			Con, HP    int
			Stabilised bool
			PDeath     float64 `json:"mc_p_death"`
		}
	} `json:"monte_carlo_check"`
}

type expected struct {
	Con, HP, Max   int
	Rank, Note     string
	Death          string   `json:"p_death"`
	DeathFloat     *float64 `json:"p_death_float"`
	Recovery       string   `json:"p_recovery"`
	RecoveryFloat  *float64 `json:"p_recovery_float"`
	Stuck          string   `json:"p_stuck"`
	DeathMean      *float64 `json:"death_mean_hours"`
	DeathMedian    *float64 `json:"death_median_hours"`
	DeathRounds    *float64 `json:"death_mean_rounds"`
	MedianRounds   *float64 `json:"death_median_rounds"`
	AwfulMean      *float64 `json:"awful_entry_mean_hours"`
	RecoveryMean   *float64 `json:"recovery_mean_hours"`
	RecoveryMedian *float64 `json:"recovery_median_hours"`
}

func readOracle(t *testing.T) oracle {
	t.Helper()
	b, err := os.ReadFile("testdata/prognosis.json")
	if err != nil {
		t.Fatal(err)
	}
	var o oracle
	if err := json.Unmarshal(b, &o, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	if len(o.Untreated) != 94 || len(o.Stabilised) != 93 || len(o.Strict) != 93 || len(o.MonteCarlo.Cases) != 10 {
		t.Fatalf("the oracle has %d, %d, %d, %d entries", len(o.Untreated), len(o.Stabilised), len(o.Strict), len(o.MonteCarlo.Cases))
	}
	return o
}

// Every entry of the oracle. The casualties of one Constitution share a graph,
// so that the whole takes seconds.
func TestPrognosisOracle(t *testing.T) {
	o, step := readOracle(t), 1
	if testing.Short() {
		step = 9 // the smallest and the largest
	}
	for _, table := range []struct {
		name, options string
		treated       bool
		entries       []expected
	}{
		{"untreated", `{}`, false, o.Untreated},
		{"stabilised", `{}`, true, o.Stabilised},
		{"strict", `{"rpgamix.con_tie":"fail"}`, false, o.Strict},
	} {
		t.Run(table.name, func(t *testing.T) {
			byCon := map[int][]expected{}
			for _, e := range table.entries {
				if e.Note == "" {
					byCon[e.Con] = append(byCon[e.Con], e)
				}
			}
			for con := -4; con <= 5; con += step {
				checkCon(t, table.options, con, table.treated, byCon[con])
			}
		})
	}
}

const oracleBob = "00000000-0000-7000-8000-000000000001"

// rpgamixCampaign is one with Bob in it.
func rpgamixCampaign(t testing.TB, options string, con int) *rules.Campaign {
	t.Helper()
	c := rules.NewCampaign("00000000-0000-7000-8000-000000000000", rules.Library{rules.NewBook(rpgamix.New())})
	for _, cmd := range []rules.Command{
		{ID: c.ID, By: rules.SystemPrincipal, Type: "campaign.create", Data: jsontext.Value(`{"name":"x","system":"rpgamix","options":` + options + `,"gm":"gm","vkey":"v"}`)},
		{ID: oracleBob, By: "gm", Type: "character.create", Data: jsontext.Value(fmt.Sprintf(
			`{"name":"Bob","kind":"pc","creation":"free","sheet":{"stats":{"str":0,"con":%d,"dex":0,"per":0,"int":0,"wits":0,"cha":0,"app":0},"skills":{}}}`, con))},
	} {
		facts, err := rules.Decide(c, cmd, nil)
		if err == nil {
			err = c.ApplyFacts(events.Head{Campaign: c.ID, N: c.Next, By: cmd.By, Cmd: cmd.Record()}, facts)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func woundOf(points int) rules.Command {
	return rules.Command{Type: "wound.inflict", Data: jsontext.Value(fmt.Sprintf(`{"character":%q,"points":%d,"cause":"a fall"}`, oracleBob, points))}
}

func treatmentOfBob() rules.Command {
	return rules.Command{Type: "wound.treat", Data: jsontext.Value(fmt.Sprintf(`{"character":%q}`, oracleBob))}
}

func checkCon(t *testing.T, options string, con int, treated bool, entries []expected) {
	campaign := rpgamixCampaign(t, options, con)
	opts := PrognosisOptions{}
	if err := opts.check(); err != nil {
		t.Fatal(err)
	}
	var start []rules.Branch
	for _, e := range entries {
		first := []rules.Command{woundOf(e.Max - e.HP)}
		if treated {
			first = append(first, treatmentOfBob())
		}
		ways, err := branchAll(campaign, first)
		if err != nil {
			t.Fatal(err)
		}
		ways[0].Probability = big.NewRat(1, 1) // awake or not, the table is the same
		start = append(start, ways[0])
	}
	g, err := explore(oracleBob, start, 0, opts)
	if err != nil {
		t.Fatal(err)
	}
	all := g.eliminate(func(int) bool { return false })
	death, recovery, stuck := all.meet(g.is(dead)), all.meet(g.is(recovered)), all.meet(g.stuck)
	awful := func(i int) bool { return g.states[i].rank >= 3 }
	fall := g.eliminate(awful).meet(awful)
	starts := g.start
	for k, e := range entries {
		g.start = starts[k : k+1]
		c := &entryCheck{t, fmt.Sprintf("con %d, %d of %d points, treated %v", con, e.HP, e.Max, treated)}
		c.exact("death", death.p[g.start[0].to], e.Death, e.DeathFloat)
		c.exact("recovery", recovery.p[g.start[0].to], e.Recovery, e.RecoveryFloat)
		c.exact("stuck", stuck.p[g.start[0].to], e.Stuck, nil)
		deaths, recoveries := death.fate(), recovery.fate()
		c.mean("mean of death", deaths, e.DeathMean, 3600)
		c.mean("mean of death in rounds", deaths, e.DeathRounds, 3)
		c.mean("mean of recovery", recoveries, e.RecoveryMean, 3600)
		c.mean("mean of falling to awful", fall.fate(), e.AwfulMean, 3600)
		w := newWatch(g, death, recovery, opts.Steps)
		c.median("median of death", w, dead, deaths, e.DeathMedian, 3600)
		c.median("median of death in rounds", w, dead, deaths, e.MedianRounds, 3)
		c.median("median of recovery", w, recovered, recoveries, e.RecoveryMedian, 3600)
	}
}

type entryCheck struct {
	t    *testing.T
	what string
}

// The oracle's probabilities are exact, but its times come from a run that gave
// up shares too small for it, of about this much of the whole in all. What it
// says about the time of a rare fate is off by as much as that is of the fate.
// TestPrognosisTwoWays holds our own times of rare fates against another way to
// them.
const givenUp = 1e-12

// exact compares with a fraction, or with ten digits.
func (c *entryCheck) exact(name string, got *big.Float, fraction string, digits *float64) {
	c.t.Helper()
	if want, ok := new(big.Rat).SetString(fraction); ok && !strings.Contains(fraction, "(") {
		off := new(big.Float).Sub(got, number(want))
		if off.Abs(off).Cmp(big.NewFloat(1e-60)) > 0 {
			c.t.Errorf("%s: %s is %v, want %s", c.what, name, got, fraction)
		}
	}
	if digits == nil {
		return
	}
	if f, _ := got.Float64(); math.Abs(f-*digits) > 1e-9*math.Abs(*digits) {
		c.t.Errorf("%s: %s is %v, want %v", c.what, name, f, *digits)
	}
}

func (c *entryCheck) mean(name string, f Fate, want *float64, unit float64) {
	c.t.Helper()
	if want == nil {
		return
	}
	// Ten digits, and for short times the difference of longer ones.
	bound := (1e-9 + givenUp/f.Probability) * max(3600, *want*unit)
	if f.Mean == nil || math.Abs(*f.Mean-*want*unit) > bound {
		c.t.Errorf("%s: %s is %v s, want %v", c.what, name, shown(f.Mean), *want*unit)
	}
}

// median compares the times; where they differ, the share at the oracle's has
// to be so near to one half that rounding decides.
func (c *entryCheck) median(name string, w *watch, end int, f Fate, want *float64, unit float64) {
	c.t.Helper()
	if want == nil {
		return
	}
	w.begin()
	if err := w.follow([]open{{&f, end, []float64{0.5}}}, func() bool { return true }); err != nil {
		c.t.Fatal(err)
	}
	due := int64(math.Round(*want * unit))
	if f.Median != nil && *f.Median == due {
		return
	}
	w.begin()
	if err := w.run(due); err != nil {
		c.t.Fatal(err)
	}
	if share := w.ended[end] / f.Probability; math.Abs(share-0.5) > 1e-9+givenUp/f.Probability {
		c.t.Errorf("%s: %s is %v s, want %v, when the share is %v", c.what, name, shown(f.Median), due, share)
	}
}

// Means of rare fates in two ways: by elimination, and by following the shares
// through time until none is left.
func TestPrognosisTwoWays(t *testing.T) {
	cases := []struct {
		con, points, end int
	}{
		{-2, 6, recovered}, {-3, 3, dead}, {-1, 8, recovered}, {0, 4, dead}, {1, 5, dead}, {-4, 1, dead},
	}
	if testing.Short() {
		cases = cases[:2]
	}
	for _, c := range cases {
		start, err := branchAll(rpgamixCampaign(t, `{}`, c.con), []rules.Command{woundOf(c.points)})
		if err != nil {
			t.Fatal(err)
		}
		g, err := explore(oracleBob, start, 0, PrognosisOptions{States: MaxPrognosisStates})
		if err != nil {
			t.Fatal(err)
		}
		all := g.eliminate(func(int) bool { return false })
		death, recovery := all.meet(g.is(dead)), all.meet(g.is(recovered))
		w := newWatch(g, death, recovery, MaxPrognosisSteps)
		want := death.fate()
		if c.end == recovered {
			want = recovery.fate()
		}
		w.begin()
		sum, before := 0.0, 0.0
		err = w.follow(nil, func() bool {
			sum += float64(w.now) * (w.ended[c.end] - before)
			before = w.ended[c.end]
			return false
		})
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(before/want.Probability-1) > w.bound() {
			t.Errorf("con %d, %d lost: probability %v, followed %v", c.con, c.points, want.Probability, before)
		}
		if mean := sum / before; math.Abs(mean / *want.Mean - 1) > 1e-9 {
			t.Errorf("con %d, %d lost, probability %v: mean %v, followed %v", c.con, c.points, want.Probability, *want.Mean, mean)
		}
	}
}

// shown is what a pointer points to, not a number without one.
func shown[T int64 | float64](p *T) float64 {
	if p == nil {
		return math.NaN()
	}
	return float64(*p)
}
