package replay

import (
	"math/big"
	"slices"
)

// precision of the sums in bits. Only numbers that are not negative are added,
// multiplied and divided, so nothing cancels: what is lost in the last bits of
// them is far below the last bit of a float64.
const precision = 256

func number(x *big.Rat) *big.Float { return new(big.Float).SetPrec(precision).SetRat(x) }
func zero() *big.Float             { return new(big.Float).SetPrec(precision) }

func plus(a, b *big.Float) *big.Float  { return zero().Add(a, b) }
func times(a, b *big.Float) *big.Float { return zero().Mul(a, b) }
func over(a, b *big.Float) *big.Float  { return zero().Quo(a, b) }

// elimination is the graph with its passing states taken out one by one
// (Grassmann, Taksar and Heyman: without any subtraction), kept so that it
// answers for one end after the other.
type elimination struct {
	g     *graph
	ends  []bool       // states that are not passed through
	order []int        // passing states, as they are counted below
	lower [][]arc      // of each: who led to it when it was taken out
	upper [][]arc      // of each: what it led to then, itself aside
	leave []*big.Float // of each: how probably it was left then for another state
}

// arc leads to or comes from a passing state.
type arc struct {
	k int
	p *big.Float
}

// eliminate passes through all states but those where time ends, those that
// never come to an end, and those where the question does.
func (g *graph) eliminate(question func(int) bool) *elimination {
	e := &elimination{g: g, ends: make([]bool, len(g.states))}
	at := make([]int, len(g.states))
	endless := g.leads(func(i int) bool { return question(i) || g.states[i].end != running })
	for i, s := range g.states {
		e.ends[i] = question(i) || s.end != running || !endless[i]
		if !e.ends[i] {
			at[i] = len(e.order)
			e.order = append(e.order, i)
		}
	}
	n := len(e.order)
	rows, out := make([][]arc, n), make([]*big.Float, n)
	for k, i := range e.order {
		out[k] = zero()
		for _, w := range g.states[i].next {
			if e.ends[w.to] {
				out[k] = plus(out[k], number(w.p))
				continue
			}
			rows[k] = append(rows[k], arc{at[w.to], number(w.p)})
		}
		slices.SortFunc(rows[k], func(a, b arc) int { return a.k - b.k })
	}
	e.lower, e.upper, e.leave = make([][]arc, n), rows, out
	for k := n - 1; k >= 0; k-- {
		e.takeOut(k)
	}
	return e
}

// takeOut removes passing state k, the last that is left: whoever led to it now
// leads where it led.
func (e *elimination) takeOut(k int) {
	exit := e.leave[k]
	e.upper[k], _ = pop(e.upper[k], k) // what stays takes its time, see meet
	for _, a := range e.upper[k] {
		e.leave[k] = plus(e.leave[k], a.p)
	}
	for i := range k {
		rest, p := pop(e.upper[i], k)
		if p == nil {
			continue
		}
		share := over(p, e.leave[k])
		e.lower[k] = append(e.lower[k], arc{i, share})
		e.upper[i] = merge(rest, e.upper[k], share)
		e.leave[i] = plus(e.leave[i], times(share, exit))
	}
}

// pop takes the last arc off, if it is k's.
func pop(row []arc, k int) ([]arc, *big.Float) {
	last := len(row) - 1
	if last < 0 || row[last].k != k {
		return row, nil
	}
	return row[:last], row[last].p
}

// merge adds a share of one row to another.
func merge(a, b []arc, share *big.Float) []arc {
	out := make([]arc, 0, len(a)+len(b))
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].k < b[0].k:
			out, a = append(out, a[0]), a[1:]
		case len(a) == 0 || b[0].k < a[0].k:
			out, b = append(out, arc{b[0].k, times(share, b[0].p)}), b[1:]
		default:
			out = append(out, arc{a[0].k, plus(a[0].p, times(share, b[0].p))})
			a, b = a[1:], b[1:]
		}
	}
	return out
}

// solve finds x with x = rhs + (passing part of the steps) x. It uses rhs up.
func (e *elimination) solve(rhs []*big.Float) []*big.Float {
	for k := len(rhs) - 1; k >= 0; k-- {
		for _, a := range e.lower[k] {
			rhs[a.k] = plus(rhs[a.k], times(a.p, rhs[k]))
		}
	}
	for k := range rhs {
		for _, a := range e.upper[k] {
			rhs[k] = plus(rhs[k], times(a.p, rhs[a.k]))
		}
		rhs[k] = over(rhs[k], e.leave[k])
	}
	return rhs
}

// meeting says of every state how probably an end is met from it, and the time
// until then times that probability.
type meeting struct {
	g    *graph
	p, t []*big.Float
}

// meet asks for ends of this elimination.
func (e *elimination) meet(end func(int) bool) meeting {
	m := meeting{e.g, make([]*big.Float, len(e.g.states)), make([]*big.Float, len(e.g.states))}
	for i := range m.p {
		m.p[i], m.t[i] = zero(), zero()
		if e.ends[i] && end(i) {
			m.p[i].SetInt64(1)
		}
	}
	direct := make([]*big.Float, len(e.order))
	for k, i := range e.order {
		direct[k] = zero()
		for _, w := range e.g.states[i].next {
			if e.ends[w.to] {
				direct[k] = plus(direct[k], times(number(w.p), m.p[w.to]))
			}
		}
	}
	e.spread(e.solve(direct), m.p)
	waits := make([]*big.Float, len(e.order))
	for k, i := range e.order {
		waits[k] = times(zero().SetInt64(e.g.states[i].wait), m.p[i])
	}
	e.spread(e.solve(waits), m.t)
	return m
}

func (e *elimination) spread(x, to []*big.Float) {
	for k, i := range e.order {
		to[i] = x[k]
	}
}

// fate is what a meeting is from the start.
func (m meeting) fate() Fate {
	p, t := zero(), zero()
	for _, w := range m.g.start {
		p = plus(p, times(number(w.p), m.p[w.to]))
		t = plus(t, times(number(w.p), m.t[w.to]))
	}
	var f Fate
	f.Probability, _ = p.Float64()
	if f.Probability > 0 {
		mean, _ := over(t, p).Float64()
		f.Mean = &mean
	}
	return f
}

// stuck picks the states that never come to death, recovery or the horizon.
func (g *graph) stuck(i int) bool {
	if g.decides == nil {
		g.decides = g.leads(func(i int) bool {
			end := g.states[i].end
			return end == dead || end == recovered || end == beyond
		})
	}
	return !g.decides[i]
}
