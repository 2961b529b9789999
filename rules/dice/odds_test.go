package dice

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func oddsOf(t testing.TB, text string) Odds {
	t.Helper()
	o, err := parse(t, text).Odds()
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func rat(a, b int64) *big.Rat { return big.NewRat(a, b) }

// Numbers known from elsewhere.
func TestKnownOdds(t *testing.T) {
	for _, c := range []struct {
		text    string
		outcome int64
		exactly *big.Rat
	}{
		{"2d6", 7, rat(6, 36)},
		{"2d6", 2, rat(1, 36)},
		{"3d6", 10, rat(27, 216)},
		{"3d6", 18, rat(1, 216)},
		{"3d6", 19, rat(0, 1)},
		{"4d6kh3", 18, rat(21, 1296)},
		{"4d6dl1", 3, rat(1, 1296)},
		{"2d20kh1", 20, rat(39, 400)},
		{"2d20kl1", 1, rat(39, 400)},
		{"4dF", 0, rat(19, 81)},
		{"4dF", -4, rat(1, 81)},
		{"1d6r1", 1, rat(1, 36)},
		{"1d6r1", 2, rat(7, 36)},
		{"1d6!", 6, rat(0, 1)},
		{"1d6!", 8, rat(1, 36)},
		{"2d6!", 9, rat(2*6+4, 216)},       // 4 5, 5 4; a 6 with 1 and 2 on the other die and the new one, four ways
		{"5d10>=7", 3, rat(144*16, 10000)}, // C(5,3)·0.4³·0.6² = 0.2304
		{"3d6kh2dl1", 12, rat(16, 216)},
		{"1d6-1d6", 0, rat(6, 36)},
		{"1d6*1d6", 12, rat(4, 36)},
		{"1d6/4", 0, rat(3, 6)},
		{"7", 7, rat(1, 1)},
		{"-2d6[x]", -7, rat(6, 36)},
	} {
		if got := oddsOf(t, c.text).Exactly(c.outcome); got.Cmp(c.exactly) != 0 {
			t.Errorf("%s = %d: %v, want %v", c.text, c.outcome, got, c.exactly)
		}
	}
	for text, want := range map[string]float64{"4d6kh3": 12.2446, "3d6": 10.5, "2d6": 7, "4d6kl3": 8.7554, "2d20kh1": 13.825, "1d6r1": 3.9167, "5d10>=7": 2} {
		if got, _ := oddsOf(t, text).Mean().Float64(); math.Abs(got-want) > 0.00005 {
			t.Errorf("%s: mean %v, want %v", text, got, want)
		}
	}
}

// Ladders of 36, FUDGE section B4: 16 at level, then 4, 3, 2, 1 on each side; 10 in 36 above.
func TestFudgeB4(t *testing.T) {
	table := [13]int64{2: -4, 3: -3, 4: -2, 5: -1, 6: 0, 7: 0, 8: 0, 9: 1, 10: 2, 11: 3, 12: 4}
	levels := Die(6).Plus(Die(6)).Map(func(sum int64) int64 { return table[sum] })
	want := []int64{1, 2, 3, 4, 16, 4, 3, 2, 1}
	at := int64(-4)
	for level, probability := range levels.All() {
		if level != at || probability.Cmp(rat(want[at+4], 36)) != 0 {
			t.Errorf("level %d: %v, want %d: %d of 36", level, probability, at, want[at+4])
		}
		at++
	}
	if at != 5 {
		t.Errorf("%d levels, want 9", at+4)
	}
	if above := levels.AtLeast(1); above.Cmp(rat(10, 36)) != 0 {
		t.Errorf("above: %v, want 10 of 36", above)
	}
	// Opposed rolls of 1296, one side a level or more ahead: lost, tied, won.
	for ahead, want := range map[int64][3]int64{-8: {0, 1, 1295}, -3: {92, 96, 1108}, 0: {490, 316, 490}, 2: {974, 134, 188}, 7: {1291, 4, 1}} {
		difference := levels.With(levels, func(a, b int64) int64 { return a + ahead - b })
		won, tied := difference.AtLeast(1), difference.Exactly(0)
		if won.Cmp(rat(want[0], 1296)) != 0 || tied.Cmp(rat(want[1], 1296)) != 0 {
			t.Errorf("ahead by %d: won %v, tied %v, want %v of 1296", ahead, won, tied, want)
		}
	}
}

// PERP tests of 10 and opposed d10 of 100, at the values of the published tables.
func TestD10Tables(t *testing.T) {
	strict := map[int64]int64{-1: 10, 0: 10, 1: 9, 2: 8, 3: 7, 4: 6, 5: 5, 6: 4, 7: 3, 8: 2, 9: 1, 10: 0, 11: 0}
	for target, successes := range strict {
		if got := Die(10).AtLeast(target + 1); got.Cmp(rat(successes, 10)) != 0 {
			t.Errorf("d10 over %d: %v, want %d of 10", target, got, successes)
		}
	}
	opposed := map[int64][2]int64{-10: {0, 0}, -9: {0, 1}, -5: {10, 5}, -1: {36, 9}, 0: {45, 10}, 1: {55, 9}, 4: {79, 6}, 9: {99, 1}, 10: {100, 0}}
	for ahead, want := range opposed {
		difference := Die(10).With(Die(10), func(a, b int64) int64 { return a + ahead - b })
		won, tied := difference.AtLeast(1), difference.Exactly(0)
		if won.Cmp(rat(want[0], 100)) != 0 || tied.Cmp(rat(want[1], 100)) != 0 {
			t.Errorf("ahead by %d: won %v, tied %v, want %v of 100", ahead, won, tied, want)
		}
	}
}

// enumerate works the odds out by rolling every sequence of faces there is.
func enumerate(e *Expression) map[int64]*big.Rat {
	odds := map[int64]*big.Rat{}
	var path, sides []uint32
	for {
		taken := 0
		result := e.Roll(func(n uint32) uint32 {
			if taken == len(path) {
				path, sides = append(path, 1), append(sides, n)
			}
			taken++
			return path[taken-1]
		})
		path, sides = path[:taken], sides[:taken]
		probability := rat(1, 1)
		for _, n := range sides {
			probability.Mul(probability, rat(1, int64(n)))
		}
		if odds[result.Total] == nil {
			odds[result.Total] = new(big.Rat)
		}
		odds[result.Total].Add(odds[result.Total], probability)

		for len(path) > 0 && path[len(path)-1] == sides[len(sides)-1] {
			path, sides = path[:len(path)-1], sides[:len(sides)-1]
		}
		if len(path) == 0 {
			return odds
		}
		path[len(path)-1]++
	}
}

// limitExplosions lets every group of an expression have at most so many further dice, so that it can be enumerated.
func limitExplosions(t term, limit int) {
	switch t := t.(type) {
	case *pool:
		t.limit = limit
	case negation:
		limitExplosions(t.operand, limit)
	case labelled:
		limitExplosions(t.operand, limit)
	case *operation:
		limitExplosions(t.left, limit)
		limitExplosions(t.right, limit)
	}
}

func checkEnumerated(t interface{ Fatalf(string, ...any) }, text string, limit int) {
	e, err := Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	limitExplosions(e.root, limit)
	o, err := e.Odds()
	if err != nil {
		t.Fatalf("%v", err)
	}
	want := enumerate(e)
	if len(want) != len(o.outcomes) {
		t.Fatalf("%s, at most %d explosions: %d outcomes, enumerated %d", text, limit, len(o.outcomes), len(want))
	}
	for outcome, probability := range o.All() {
		if want[outcome] == nil || want[outcome].Cmp(probability) != 0 {
			t.Fatalf("%s, at most %d explosions: %d has %v, enumerated %v", text, limit, outcome, probability, want[outcome])
		}
	}
}

// The formulas agree with rolling out every sequence of faces, the end of a chain of explosions included.
func TestOddsAreThoseOfRoll(t *testing.T) {
	for _, text := range []string{
		"3d6kh2+1d4", "4d4kh2dl1", "4d3kl3kh3", "3d4r1", "2d4r>2", "2d5r<3>=4", "3dFkh2", "3dFr", "4dF>=0",
		"1d3!", "2d3!", "3d3!", "2d4!>2", "2d3!=1", "2d3!kh1", "2d3!kl2", "3d3!dl1dh1", "2d3!<3kh2=2", "2d3!=2>=2",
		"2d3r1!", "1d3r3!", "1d4r2!>2kh1", "2d3r=3!>1", "1d3!*1d2-1d2", "(2d3!kh1-4)/2",
	} {
		for limit := 1; limit <= 3; limit++ {
			checkEnumerated(t, text, limit)
		}
	}
}

func TestOddsAreThoseOfRollAtRandom(t *testing.T) {
	small := rapid.StringMatching(`[1-3]d([2-4]|F)(r1?)?(!|!>1|!=2)?((kh|kl|dh|dl)1)?(=1|>1|<2)?`)
	rapid.Check(t, func(t *rapid.T) {
		checkEnumerated(t, small.Filter(accepted).Draw(t, "text"), 2)
	})
}

// Bounds hold every outcome, and are outcomes themselves where they promise to.
func TestBoundsAndOdds(t *testing.T) {
	for text, tight := range map[string]bool{
		"3d6kh2+1": true, "2d6*-3": true, "(1d6-4)*(1d4-2)": true, "-7-1d6/2": true, "4dF>=0": true, "3dFkl2r": true, "5d10r1>=7dl1": true,
		"1d6!": true, "2d6!=3": false, "4d6kl3kh3!": false,
	} {
		o := oddsOf(t, text)
		lowest, highest := parse(t, text).Bounds()
		first, last := o.outcomes[0], o.outcomes[len(o.outcomes)-1]
		if first < lowest || last > highest || tight && (first != lowest || last != highest) {
			t.Errorf("%s: outcomes %d to %d, bounds %d to %d", text, first, last, lowest, highest)
		}
		if certain := o.AtLeast(lowest); certain.Cmp(rat(1, 1)) != 0 {
			t.Errorf("%s: all outcomes together are %v", text, certain)
		}
	}
}

// What would be too large is refused at once, by name.
func TestOddsLimits(t *testing.T) {
	for _, text := range []string{
		"1d4294967295", "1000d6", "500d100kh250", "900d6!", "100d100!>50", "1d1000*1d1000*1d1000", "1d10001", "1d10000+1d10000",
		"1d1000+10000*1d1000", "500d4294967295>1000", "900d6!kh450>=5", "1d300*1d300",
	} {
		if _, err := parse(t, text).Odds(); !errors.Is(err, ErrOddsLimit) {
			t.Errorf("%s: %v, want a limit", text, err)
		}
	}
	for text, part := range map[string]string{"1000d6": "more than 1000000 steps", "1d300*1d300": "more than 10000 outcomes", "1d10001": "a die of more than 10000 sides"} {
		if _, err := parse(t, text).Odds(); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v, want: %s", text, err, part)
		}
	}
	for _, text := range []string{"1d10000", "20d6!", "100d6", "1d4294967295>5", "50d10>=7kh20", "6d6!kh3", "10d10!>8r1>=5"} {
		oddsOf(t, text)
	}
}

func TestOddsOfNothing(t *testing.T) {
	var none Odds
	if none.Exactly(0).Sign() != 0 || none.AtLeast(-5).Sign() != 0 || none.Mean().Sign() != 0 || none.Plus(Die(6)).AtLeast(1).Sign() != 0 {
		t.Error("the zero value has outcomes")
	}
	if Always(3).Exactly(3).Cmp(rat(1, 1)) != 0 || Die(1).Exactly(1).Cmp(rat(1, 1)) != 0 {
		t.Error("what is certain is not")
	}
	for _, sides := range []uint32{0, MaxOddsOutcomes + 1} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("odds of a die of %d sides", sides)
				}
			}()
			Die(sides)
		}()
	}
}

// Odds do not change when they are used.
func TestOddsAreImmutable(t *testing.T) {
	d := Die(6)
	sum := d.Plus(d)
	_ = sum.Plus(d).Map(func(x int64) int64 { return -x })
	for _, p := range d.All() {
		p.Add(p, rat(5, 1))
	}
	d.Exactly(3).Neg(d.Exactly(3))
	if d.Mean().Cmp(rat(7, 2)) != 0 || sum.Exactly(7).Cmp(rat(1, 6)) != 0 {
		t.Errorf("mean of a d6 is %v, 7 of 2d6 has %v", d.Mean(), sum.Exactly(7))
	}
}
