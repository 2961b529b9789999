package dice

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/big"
	"slices"
)

// Limits of exact odds.
const (
	MaxOddsSteps    = 1_000_000 // multiplications that the odds of one expression may cost; 256 bits count as one more
	MaxOddsOutcomes = 10_000    // outcomes of one expression or of any part of it, so also sides of a die that is added up
)

// ErrOddsLimit says that exact odds would cost more than MaxOddsSteps or MaxOddsOutcomes allow.
var ErrOddsLimit = errors.New("the exact odds are too large to work out")

// Odds is an exact distribution over whole numbers: each outcome has a weight, and its probability is the weight's
// share of all of them. Odds are immutable. The zero value has no outcome, and every probability of it is 0.
// Outcomes must stay within int64.
type Odds struct {
	outcomes []int64 // ascending
	weights  []*big.Int
	whole    *big.Int // sum of the weights
}

// Always is the distribution of something certain.
func Always(outcome int64) Odds { return die(outcome, outcome) }

// Die is the distribution of one die. n is 1 to MaxOddsOutcomes; it panics on others.
func Die(n uint32) Odds {
	if n < 1 || n > MaxOddsOutcomes {
		panic(fmt.Sprintf("dice: odds of a die of %d sides", n))
	}
	return die(1, int64(n))
}

// die is the distribution of something that is equally likely to be any number from low to high.
func die(low, high int64) Odds {
	s := make(sums, high-low+1)
	for face := low; face <= high; face++ {
		s.add(face, big.NewInt(1))
	}
	return s.odds()
}

// Plus is the distribution of the sum of two independent things.
func (o Odds) Plus(other Odds) Odds {
	return o.With(other, func(a, b int64) int64 { return a + b })
}

// With is the distribution of a function of two independent things, such as an opposed roll. f must be pure.
func (o Odds) With(other Odds, f func(a, b int64) int64) Odds {
	joined, _ := o.join(other, f, math.MaxInt)
	return joined
}

// join is With, given up when there are more outcomes than most.
func (o Odds) join(other Odds, f func(a, b int64) int64, most int) (joined Odds, ok bool) {
	s := sums{}
	product := new(big.Int)
	for k, a := range o.outcomes {
		for j, b := range other.outcomes {
			s.add(f(a, b), product.Mul(o.weights[k], other.weights[j]))
		}
		if len(s) > most {
			return Odds{}, false
		}
	}
	return s.odds(), true
}

// Map is the distribution of a function of one thing: a table of the book read with the roll. f must be pure.
func (o Odds) Map(f func(int64) int64) Odds {
	return o.With(Always(0), func(a, _ int64) int64 { return f(a) })
}

// All yields the outcomes in ascending order with their probabilities.
func (o Odds) All() iter.Seq2[int64, *big.Rat] {
	return func(yield func(int64, *big.Rat) bool) {
		for k, outcome := range o.outcomes {
			if !yield(outcome, new(big.Rat).SetFrac(o.weights[k], o.whole)) {
				return
			}
		}
	}
}

// Exactly is the probability of one outcome.
func (o Odds) Exactly(outcome int64) *big.Rat {
	return o.probability(func(x int64) bool { return x == outcome })
}

// AtLeast is the probability of this outcome or a higher one.
func (o Odds) AtLeast(outcome int64) *big.Rat {
	return o.probability(func(x int64) bool { return x >= outcome })
}

func (o Odds) probability(of func(int64) bool) *big.Rat {
	sum := new(big.Rat)
	if o.whole == nil {
		return sum
	}
	weight := new(big.Int)
	for k, outcome := range o.outcomes {
		if of(outcome) {
			weight.Add(weight, o.weights[k])
		}
	}
	return sum.SetFrac(weight, o.whole)
}

// Mean is the average outcome.
func (o Odds) Mean() *big.Rat {
	mean := new(big.Rat)
	if o.whole == nil {
		return mean
	}
	sum, product := new(big.Int), new(big.Int)
	for k, outcome := range o.outcomes {
		sum.Add(sum, product.Mul(big.NewInt(outcome), o.weights[k]))
	}
	return mean.SetFrac(sum, o.whole)
}

// sums collects weights by outcome.
type sums map[int64]*big.Int

func (s sums) add(outcome int64, weight *big.Int) {
	if sum, ok := s[outcome]; ok {
		sum.Add(sum, weight)
	} else {
		s[outcome] = new(big.Int).Set(weight)
	}
}

// addAll adds the weights of other, each times scale, at outcomes that are higher by shift.
func (s sums) addAll(other sums, shift int64, scale *big.Int) {
	product := new(big.Int)
	for outcome, weight := range other {
		s.add(outcome+shift, product.Mul(weight, scale))
	}
}

// odds puts the outcomes in order; those without weight are none.
func (s sums) odds() Odds {
	o := Odds{whole: new(big.Int)}
	for _, outcome := range slices.Sorted(maps.Keys(s)) {
		if weight := s[outcome]; weight.Sign() > 0 {
			o.outcomes = append(o.outcomes, outcome)
			o.weights = append(o.weights, weight)
			o.whole.Add(o.whole, weight)
		}
	}
	if len(o.outcomes) == 0 {
		return Odds{}
	}
	return o
}
