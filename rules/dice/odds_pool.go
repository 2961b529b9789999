package dice

import (
	"fmt"
	"math/big"
	"slices"
)

// Odds returns the exact distribution of the total, capped explosions included. When that would cost more than
// MaxOddsSteps or MaxOddsOutcomes it returns an error that wraps ErrOddsLimit.
func (e *Expression) Odds() (Odds, error) {
	o, err := e.root.odds(&budget{MaxOddsSteps})
	if err != nil {
		return Odds{}, fmt.Errorf("%s: %w", e.text, err)
	}
	return o, nil
}

// budget is what is left of MaxOddsSteps.
type budget struct{ steps int }

// spend pays for so many multiplications of numbers of so many bits.
func (b *budget) spend(multiplications, bits int) error {
	b.steps -= multiplications * (1 + bits/256)
	if b.steps < 0 {
		return fmt.Errorf("%w: more than %d steps", ErrOddsLimit, MaxOddsSteps)
	}
	return nil
}

// combine is x.With(y, f), paid for beforehand.
func (b *budget) combine(x, y Odds, f func(x, y int64) int64) (Odds, error) {
	if len(x.outcomes) == 0 || len(y.outcomes) == 0 {
		return Odds{}, nil
	}
	if err := b.spend(len(x.outcomes)*len(y.outcomes), x.whole.BitLen()+y.whole.BitLen()); err != nil {
		return Odds{}, err
	}
	joined, ok := x.join(y, f, MaxOddsOutcomes)
	if !ok {
		return Odds{}, fmt.Errorf("%w: more than %d outcomes", ErrOddsLimit, MaxOddsOutcomes)
	}
	return joined, nil
}

func (n number) odds(*budget) (Odds, error)     { return Always(int64(n)), nil }
func (l labelled) odds(b *budget) (Odds, error) { return l.operand.odds(b) }

func (n negation) odds(b *budget) (Odds, error) {
	o, err := n.operand.odds(b)
	return o.Map(func(x int64) int64 { return -x }), err
}

func (o *operation) odds(cost *budget) (Odds, error) {
	x, err := o.left.odds(cost)
	if err != nil {
		return Odds{}, err
	}
	y, err := o.right.odds(cost)
	if err != nil {
		return Odds{}, err
	}
	return cost.combine(x, y, func(x, y int64) int64 { return apply(o.operator, x, y) })
}

// A class is a run of neighbouring faces that explode or do not, and are worth the same to the group.
type class struct {
	value    int64
	explodes bool
	weight   *big.Int // of all its faces together; all classes together weigh pool.whole
}

// whole is the weight of one die: sides, or sides squared when each first face may be followed by any other.
func (p *pool) whole() *big.Int {
	sides := big.NewInt(p.sides())
	if p.reroll != nil {
		sides.Mul(sides, sides)
	}
	return sides
}

// classes cuts the faces where a comparison begins or ends to hold, and between any two of them if they are added up.
func (p *pool) classes() ([]class, error) {
	cuts := []int64{p.low, p.high + 1}
	for _, c := range []*comparison{p.reroll, p.explode, p.success} {
		if c != nil {
			first, last := c.faces(p.low, p.high)
			cuts = append(cuts, first, last+1)
		}
	}
	if p.success == nil {
		if p.sides() > MaxOddsOutcomes {
			return nil, fmt.Errorf("%w: a die of more than %d sides", ErrOddsLimit, MaxOddsOutcomes)
		}
		for face := p.low; face <= p.high; face++ {
			cuts = append(cuts, face)
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)

	var again int64 // faces that are rerolled
	if p.reroll != nil {
		first, last := p.reroll.faces(p.low, p.high)
		again = last - first + 1
	}
	var classes []class
	for k, face := range cuts[:len(cuts)-1] {
		c := class{value: face, explodes: p.holds(p.explode, face)}
		if p.success != nil {
			c.value = 0
			if p.holds(p.success, face) {
				c.value = 1
			}
		}
		each := int64(1)
		if p.reroll != nil { // the face comes up as the new die of any rerolled one, or at once and stays
			each = again
			if !p.holds(p.reroll, face) {
				each += p.sides()
			}
		}
		c.weight = new(big.Int).Mul(big.NewInt(each), big.NewInt(cuts[k+1]-face))
		classes = append(classes, c)
	}
	return classes, nil
}

// A shape says how many dice of a group exploded and how many did not, and in how many orders that can come about.
// Given its shape the dice of a group do not depend on each other, however many were taken.
type shape struct {
	hits, misses int
	orders       *big.Int
}

// shapes lists all shapes. Going through the row, a group of n dice ends with its n-th die that does not explode: the
// last of hits + n, the others in any order. After limit hits no die is added any more and the row has n + limit
// dice, in any order unless all n misses are among them: then the last is a miss again.
func (p *pool) shapes() []shape {
	n := p.count
	if p.explode == nil {
		return []shape{{0, n, big.NewInt(1)}}
	}
	choose := func(n, k int) *big.Int { return new(big.Int).Binomial(int64(n), int64(k)) }
	var shapes []shape
	for hits := range p.limit + 1 {
		shapes = append(shapes, shape{hits, n, choose(hits+n-1, hits)})
	}
	for misses := range n {
		shapes = append(shapes, shape{n + p.limit - misses, misses, choose(n+p.limit, misses)})
	}
	return shapes
}

func (p *pool) odds(cost *budget) (Odds, error) {
	classes, err := p.classes()
	if err != nil {
		return Odds{}, err
	}
	given := p.sorted
	if p.keepHigh+p.keepLow+p.dropHigh+p.dropLow == 0 {
		given = p.summed(classes)
	}
	all := sums{}
	for _, s := range p.shapes() {
		o, err := given(classes, s, cost)
		if err != nil {
			return Odds{}, err
		}
		// Weights of fewer dice are brought to the whole of the longest row.
		scale := new(big.Int).Exp(p.whole(), big.NewInt(int64(p.active()-s.hits-s.misses)), nil)
		scale.Mul(scale, s.orders)
		if err := cost.spend(len(o.outcomes), scale.BitLen()); err != nil {
			return Odds{}, err
		}
		for k, outcome := range o.outcomes {
			all.add(outcome, new(big.Int).Mul(o.weights[k], scale))
		}
	}
	return all.odds(), nil
}

// summed gives the odds of a shape when all dice count: hits and misses are added up apart, power by power.
func (p *pool) summed(classes []class) func([]class, shape, *budget) (Odds, error) {
	hit, miss := sums{}, sums{}
	for _, c := range classes {
		if c.explodes {
			hit.add(c.value, c.weight)
		} else {
			miss.add(c.value, c.weight)
		}
	}
	hits, misses := newPowers(hit.odds()), newPowers(miss.odds())
	return func(_ []class, s shape, cost *budget) (Odds, error) {
		x, err := hits.power(s.hits, cost)
		if err != nil {
			return Odds{}, err
		}
		y, err := misses.power(s.misses, cost)
		if err != nil {
			return Odds{}, err
		}
		return cost.combine(x, y, add)
	}
}

func add(a, b int64) int64 { return a + b }

// powers are the sums of 0, 1, 2, … dice of one kind.
type powers struct {
	one Odds
	of  []Odds
}

func newPowers(one Odds) *powers { return &powers{one, []Odds{Always(0)}} }

func (p *powers) power(dice int, cost *budget) (Odds, error) {
	for len(p.of) <= dice {
		next, err := cost.combine(p.of[len(p.of)-1], p.one, add)
		if err != nil {
			return Odds{}, err
		}
		p.of = append(p.of, next)
	}
	return p.of[dice], nil
}

// sorted gives the odds of a shape when dice are left out: it lays the dice down in ascending order, class by class,
// and knows from the number that already lie there which of the next ones count.
func (p *pool) sorted(classes []class, s shape, cost *budget) (Odds, error) {
	dice := s.hits + s.misses
	bits := dice * p.whole().BitLen()
	lowest, highest := p.window(dice)
	final := map[bool]int{} // the last class that explodes, and the last that does not: they take all that is left
	for k, c := range classes {
		final[c.explodes] = k
	}
	rows := map[lain]sums{{}: {0: big.NewInt(1)}}
	for k, c := range classes {
		longer := map[lain]sums{}
		for row, values := range rows { // in any order: weights are only added up
			free := row.free(c, s)
			least := 0
			if final[c.explodes] == k {
				least = free
			}
			ways := new(big.Int).Exp(c.weight, big.NewInt(int64(least)), nil)
			for count := least; count <= free; count++ {
				if err := cost.spend(len(values)+2, bits); err != nil {
					return Odds{}, err
				}
				start := row.hits + row.misses
				kept := max(0, min(start+count, dice-highest)-max(start, lowest))
				to := row.with(c, count)
				if longer[to] == nil {
					longer[to] = sums{}
				}
				longer[to].addAll(values, int64(kept)*c.value, ways)
				c.oneMore(ways, count, free)
			}
		}
		rows = longer
	}
	return rows[lain{s.hits, s.misses}].odds(), nil
}

// lain is how many dice of a shape lie in the row so far.
type lain struct{ hits, misses int }

// free is how many dice of the class's kind do not lie there yet.
func (l lain) free(c class, s shape) int {
	if c.explodes {
		return s.hits - l.hits
	}
	return s.misses - l.misses
}

func (l lain) with(c class, count int) lain {
	if c.explodes {
		return lain{l.hits + count, l.misses}
	}
	return lain{l.hits, l.misses + count}
}

// oneMore turns the weight of count dice of the class, chosen among those that are free, into that of one more: the
// step from one binomial coefficient and power to the next.
func (c class) oneMore(ways *big.Int, count, free int) {
	ways.Mul(ways, c.weight)
	ways.Mul(ways, big.NewInt(int64(free-count)))
	ways.Quo(ways, big.NewInt(int64(count+1)))
}
