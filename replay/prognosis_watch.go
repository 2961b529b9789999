package replay

import (
	"cmp"
	"container/heap"
	"slices"
)

// negligible is how small a share may be that is followed no further, of the
// whole, of all deaths and of all recoveries. What is lost by it is added up.
const negligible = 1e-15

// unit is how much one operation on float64 can be off, relatively.
const unit = 1.0 / (1 << 53)

// flow is one step of the graph in float64.
type flow struct {
	to int
	p  float64
}

// watch follows the shares of a character through time.
type watch struct {
	g     *graph
	next  [][]flow
	rests []bool // states in which nothing that shows ever changes
	// Of every state: how probably it is met from there.
	death, recovery       []float64
	allDeath, allRecovery float64

	steps   int
	most    int           // steps
	terms   int           // most that one point of the curve is summed from
	adds    int           // to the shares at rest
	settled []float64     // shares that have come to rest, by state
	ended   [ends]float64 // and by end
	lost    float64       // largest of what was given up, of the whole, of deaths, of recoveries
	rough   int           // most operations that one share is the result of

	now     int64 // seconds from now
	due     moments
	waiting map[int64]*crowd
	rooms   []*crowd // to be used again
	scratch []float64
}

// crowd is what is due at one moment.
type crowd struct {
	flows []flow
	rough int
}

// moments is a heap of times.
type moments []int64

func (m moments) Len() int           { return len(m) }
func (m moments) Less(i, j int) bool { return m[i] < m[j] }
func (m moments) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }

// Push implements heap.Interface.
func (m *moments) Push(x any) { *m = append(*m, x.(int64)) }

// Pop implements heap.Interface.
func (m *moments) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}

func newWatch(g *graph, death, recovery meeting, most int) *watch {
	w := &watch{
		most: most,
		g:    g, next: make([][]flow, len(g.states)), rests: g.still(),
		death: make([]float64, len(g.states)), recovery: make([]float64, len(g.states)),
		allDeath: death.fate().Probability, allRecovery: recovery.fate().Probability,
		scratch: make([]float64, len(g.states)),
	}
	for i, s := range g.states {
		w.death[i], _ = death.p[i].Float64()
		w.recovery[i], _ = recovery.p[i].Float64()
		for _, way := range s.next {
			p, _ := way.p.Float64()
			w.next[i] = append(w.next[i], flow{way.to, p})
		}
	}
	return w
}

// begin puts the character back to the start.
func (w *watch) begin() {
	w.now, w.due, w.waiting = 0, nil, map[int64]*crowd{}
	w.settled, w.ended = make([]float64, len(w.g.states)), [ends]float64{}
	for _, way := range w.g.start {
		p, _ := way.p.Float64()
		w.enter(0, flow{way.to, p}, 1)
	}
}

// enter lets a share into a state: it waits there for the tick, or rests.
func (w *watch) enter(now int64, f flow, rough int) {
	at := now
	if !w.rests[f.to] {
		at += w.g.states[f.to].wait
	}
	c, ok := w.waiting[at]
	if !ok {
		c = w.room()
		w.waiting[at] = c
		heap.Push(&w.due, at)
	}
	c.flows = append(c.flows, f)
	c.rough = max(c.rough, rough)
}

// room is a crowd with nobody in it.
func (w *watch) room() *crowd {
	last := len(w.rooms) - 1
	if last < 0 {
		return &crowd{}
	}
	c := w.rooms[last]
	w.rooms = w.rooms[:last]
	return c
}

// run lets everything happen that is due up to a time.
func (w *watch) run(until int64) error {
	for len(w.due) > 0 && w.due[0] <= until {
		if err := w.moment(); err != nil {
			return err
		}
	}
	return nil
}

// moment lets happen what is due first. Ticks without a wait between them are
// due at the same time again.
func (w *watch) moment() error {
	w.now = heap.Pop(&w.due).(int64)
	c := w.waiting[w.now]
	delete(w.waiting, w.now)
	rough := c.rough + len(c.flows) + 2
	w.rough = max(w.rough, rough)
	var met []int
	for _, f := range c.flows {
		if w.scratch[f.to] == 0 {
			met = append(met, f.to)
		}
		w.scratch[f.to] += f.p
	}
	for _, i := range met {
		share := w.scratch[i]
		w.scratch[i] = 0
		if w.steps++; w.steps > w.most {
			return tooLarge("following what time can do takes more than %d steps", w.most)
		}
		w.step(i, share, rough)
	}
	c.flows, c.rough = c.flows[:0], 0
	w.rooms = append(w.rooms, c)
	return nil
}

func (w *watch) step(i int, share float64, rough int) {
	switch {
	case w.rests[i]:
		w.adds++
		w.settled[i] += share
		w.ended[w.g.states[i].end] += share
	case w.spare(i, share):
	default:
		for _, f := range w.next[i] {
			w.enter(w.now, flow{f.to, f.p * share}, rough)
		}
	}
}

// spare reports whether a share is too small to matter to anything, and adds it
// to what is lost.
func (w *watch) spare(i int, share float64) bool {
	deaths, recoveries := part(share*w.death[i], w.allDeath), part(share*w.recovery[i], w.allRecovery)
	most := max(share, deaths, recoveries)
	if most > negligible {
		return false
	}
	w.lost += most
	return true
}

func part(x, of float64) float64 {
	if of == 0 {
		return 0
	}
	return x / of
}

// bound is how far a probability can be off: by what was given up and by
// rounding.
func (w *watch) bound() float64 { return w.lost + unit*float64(w.rough+w.adds+w.terms) }

// open are the shares of a fate that are looked for.
type open struct {
	fate *Fate
	end  int
	left []float64
}

// unrounded keeps a share that is met exactly from being missed by rounding.
const unrounded = 1 - 1e-12

// reached notes the shares that are reached now.
func (o *open) reached(w *watch) {
	for len(o.left) > 0 && w.ended[o.end] >= o.left[0]*o.fate.Probability*unrounded {
		if o.left[0] == 0.5 {
			now := w.now
			o.fate.Median = &now
		}
		o.fate.Quantiles = append(o.fate.Quantiles, Quantile{o.left[0], w.now})
		o.left = o.left[1:]
	}
}

// quantiles finds when deaths and recoveries happen, and the horizon if none
// was asked for.
func (w *watch) quantiles(p *Prognosis) error {
	w.begin()
	all := []open{{&p.Death, dead, shares}, {&p.Recovery, recovered, shares}}
	all = slices.DeleteFunc(all, func(o open) bool { return o.fate.Probability == 0 })
	return w.follow(all, func() bool {
		if p.Horizon == 0 && (w.now >= year || w.rest() >= 1-unsettled || len(w.due) == 0) {
			p.Horizon = min(max(w.now, 1), year)
		}
		return p.Horizon > 0
	})
}

// follow lets time run until all shares that are looked for are reached and
// enough says so.
func (w *watch) follow(all []open, enough func() bool) error {
	for len(w.due) > 0 {
		if err := w.moment(); err != nil {
			return err
		}
		looking := false
		for i := range all {
			all[i].reached(w)
			looking = looking || len(all[i].left) > 0
		}
		if enough() && !looking {
			return nil
		}
	}
	return nil
}

// unsettled is the share that may still be open at the end of a curve.
const unsettled = 0.001

func (w *watch) rest() float64 {
	sum := 0.0
	for _, p := range w.ended {
		sum += p
	}
	return sum
}

// curve takes its points, from now to the horizon in equal steps of whole
// seconds.
func (w *watch) curve(p *Prognosis, points int) error {
	w.begin()
	last := int64(-1)
	for k := range int64(points) + 1 {
		after := p.Horizon/int64(points)*k + p.Horizon%int64(points)*k/int64(points)
		if after == last {
			continue
		}
		last = after
		if err := w.run(after); err != nil {
			return err
		}
		p.Curve = append(p.Curve, w.point(after))
	}
	return nil
}

// point is how things stand.
func (w *watch) point(after int64) CurvePoint {
	m := CurvePoint{After: after, Dead: w.ended[dead], Recovered: w.ended[recovered], Ranks: make([]float64, len(w.g.ranks))}
	points := map[int]float64{}
	terms := 0
	add := func(f flow) {
		terms++
		s := w.g.states[f.to]
		m.Ranks[s.rank] += f.p
		points[s.points] += f.p
	}
	for i, share := range w.settled {
		if share > 0 {
			add(flow{i, share})
		}
	}
	for _, at := range w.due { // in the order of the heap, which is always the same
		for _, f := range w.waiting[at].flows {
			add(f)
		}
	}
	w.terms = max(w.terms, terms)
	for n, share := range points {
		m.Points = append(m.Points, PointsShare{n, share})
	}
	slices.SortFunc(m.Points, func(a, b PointsShare) int { return cmp.Compare(b.Points, a.Points) })
	return m
}
