package replay

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"

	"github.com/go-json-experiment/json"

	"tallystick/rules"
)

// How a state ends, if time changes nothing in it any more.
const (
	running   = iota // a tick lies ahead
	dead             // for good
	recovered        // all points, nothing ahead
	stalled          // neither, nothing ahead
	beyond           // not worked out: its tick lies behind the horizon
	ends             // how many there are
)

// state is one way a character can stand, whenever that is.
type state struct {
	end    int
	points int
	rank   int   // index, from best to worst
	wait   int64 // game seconds until the tick
	next   []way // after the tick
	tick   rules.Tick
	before *rules.Campaign // a campaign in which it stands so; nil once the tick was branched
}

// way is one of the states that a tick can lead to.
type way struct {
	to int
	p  *big.Rat
}

// graph is everything that time can do to one character. Its states repeat, so
// it is finite though time is not.
type graph struct {
	character string
	ranks     []string
	last      int64 // game time beyond which nothing is worked out; for a system without phases
	most      int   // states
	states    []state
	index     map[string]int
	start     []way
	decides   []bool // states from which death, recovery or the horizon can be met; see stuck
}

// explore finds all states that can follow from the given ones.
func explore(character string, start []rules.Branch, clock int64, opts PrognosisOptions) (*graph, error) {
	g := &graph{
		character: character, ranks: start[0].After.Book.Describe().Ranks, index: map[string]int{},
		last: clock + cmp.Or(opts.Horizon, year), most: opts.States,
	}
	var err error
	if g.start, err = g.ways(start); err != nil {
		return nil, err
	}
	for i := 0; i < len(g.states); i++ {
		s := g.states[i]
		if s.end != running {
			continue
		}
		ch, _ := s.before.Character(character)
		branches, err := rules.BranchTick(s.before, ch, s.tick)
		if err != nil {
			return nil, fmt.Errorf("%s of %s: %w", s.tick.Kind, character, err)
		}
		next, err := g.ways(branches)
		if err != nil {
			return nil, err
		}
		g.states[i].next, g.states[i].before = next, nil
	}
	return g, nil
}

// ways merges branches that lead to the same state, in the order of first
// appearance.
func (g *graph) ways(branches []rules.Branch) ([]way, error) {
	var out []way
	for _, b := range branches {
		to, err := g.find(b.After)
		if err != nil {
			return nil, err
		}
		k := slices.IndexFunc(out, func(w way) bool { return w.to == to })
		if k < 0 {
			out = append(out, way{to, new(big.Rat).Set(b.Probability)})
			continue
		}
		out[k].p.Add(out[k].p, b.Probability)
	}
	return out, nil
}

// find is the state a campaign's character is in.
func (g *graph) find(c *rules.Campaign) (int, error) {
	ch, _ := c.Character(g.character)
	phase, err := g.phase(c, ch)
	if err != nil {
		return 0, err
	}
	v := c.Book.Vitals(c.Options, ch.Body, c.Clock)
	key := fmt.Sprint(v.Alive, v.Health.Points, v.Health.Max, " ", v.Health.Rank, " ", phase)
	if i, ok := g.index[key]; ok {
		return i, nil
	}
	if len(g.states) == g.most {
		return 0, tooLarge("what time can do to %s has more than %d states", ch.Name, g.most)
	}
	s := state{points: v.Health.Points, rank: slices.Index(g.ranks, v.Health.Rank)}
	if s.rank < 0 {
		return 0, fmt.Errorf("%s has no health rank %q", c.Book.Name(), v.Health.Rank)
	}
	tick, ahead := c.Book.NextTick(c.Options, ch.Body)
	switch {
	case !v.Alive:
		s.end = dead
	case !ahead && v.Health.Points >= v.Health.Max:
		s.end = recovered
	case !ahead:
		s.end = stalled
	case tick.Due > g.last && !phased(c):
		s.end = beyond
	default:
		s.tick, s.wait, s.before = tick, max(0, tick.Due-c.Clock), c
	}
	i := len(g.states)
	g.index[key] = i
	g.states = append(g.states, s)
	return i, nil
}

func phased(c *rules.Campaign) bool {
	_, ok := c.Book.System.(rules.Phased)
	return ok
}

// phase is what tells a body apart. Without the system's help that is all of
// it, and the time.
func (g *graph) phase(c *rules.Campaign, ch *rules.Character) (string, error) {
	if p, ok := c.Book.System.(rules.Phased); ok {
		return p.Phase(c.Options, ch.Body, c.Clock), nil
	}
	b, err := json.Marshal(ch.Body, json.Deterministic(true))
	return fmt.Sprint(c.Clock, " ", string(b)), err
}

// is picks the states with an end.
func (g *graph) is(end int) func(int) bool {
	return func(i int) bool { return g.states[i].end == end }
}

// worst is the worst rank that the character may be in at the start.
func (g *graph) worst() int {
	worst := 0
	for _, w := range g.start {
		worst = max(worst, g.states[w.to].rank)
	}
	return worst
}

// leads reports for every state whether it can come to one that is wanted.
func (g *graph) leads(wanted func(int) bool) []bool {
	from := make([][]int, len(g.states))
	var todo []int
	can := make([]bool, len(g.states))
	for i, s := range g.states {
		for _, w := range s.next {
			from[w.to] = append(from[w.to], i)
		}
		if wanted(i) {
			can[i] = true
			todo = append(todo, i)
		}
	}
	for len(todo) > 0 {
		last := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, i := range from[last] {
			if !can[i] {
				can[i] = true
				todo = append(todo, i)
			}
		}
	}
	return can
}

// still reports for every state whether nothing that shows ever changes from
// it on.
func (g *graph) still() []bool {
	moves := g.leads(func(i int) bool {
		return slices.ContainsFunc(g.states[i].next, func(w way) bool {
			to := g.states[w.to]
			return to.rank != g.states[i].rank || to.points != g.states[i].points || to.end == dead || to.end == recovered || to.end == beyond
		})
	})
	for i := range moves {
		moves[i] = !moves[i]
	}
	return moves
}
