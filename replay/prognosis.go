package replay

import (
	"cmp"
	"errors"
	"math/big"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
	"tallystick/rules"
)

// Bounds of a prognosis; beyond them it is refused, never cut short.
const (
	// MaxPrognosisStates is how many states that differ in what lies ahead are
	// told apart.
	MaxPrognosisStates = 20_000
	// MaxPrognosisSteps is how many times a share of the character, in one state
	// at one moment, is followed on.
	MaxPrognosisSteps = 50_000_000
	// MaxPrognosisPoints is the finest curve.
	MaxPrognosisPoints = 1_000
	// MaxPrognosisHorizon is the longest curve, in game seconds: that of the
	// longest advance.
	MaxPrognosisHorizon = rules.MaxAdvance

	defaultPoints = 60
	year          = 365 * 86_400
)

// PrognosisOptions say what is asked. The zero value asks for the character
// left alone.
type PrognosisOptions struct {
	// First are commands that are given before time runs; every way their dice
	// can fall counts. They are decided with the rights of the game master.
	First []rules.Command
	// Horizon is the end of the curve in game seconds from now. 0: when all but
	// a thousandth is settled, a year at most.
	Horizon int64
	// Points is how many steps the curve has; 0: 60.
	Points int
	// States and Steps are what it may cost; 0: MaxPrognosisStates and
	// MaxPrognosisSteps, and never more.
	States, Steps int
}

// A Prognosis is what the passing of time alone can do to a character, by the
// rules that decide its ticks: exact, not simulated. Times are game seconds
// from Clock.
type Prognosis struct {
	Clock      int64        `json:"clock" doc:"game time it begins at, in seconds"`
	Death      Fate         `json:"death"`
	Recovery   Fate         `json:"recovery" doc:"all points back and nothing left to heal"`
	Stuck      float64      `json:"stuck" doc:"probability that it never dies nor recovers: time alone changes nothing any more"`
	Undecided  float64      `json:"undecided" doc:"probability of what lies behind the horizon, for a system whose prognosis is not worked out beyond it; else 0"`
	Declines   []Decline    `json:"declines" doc:"the ranks worse than the present ones"`
	Horizon    int64        `json:"horizon" doc:"end of the curve"`
	Ranks      []string     `json:"ranks" doc:"of the system, from best to worst"`
	Curve      []CurvePoint `json:"curve"`
	ErrorBound float64      `json:"error_bound" doc:"no probability in the curve, and no share at a quantile, is off by more; the probabilities and means elsewhere are exact to the last digit of a float64"`
	Cost       Cost         `json:"cost"`
	First      []FirstStep  `json:"first,omitzero" doc:"commands that were given before"`
}

// A FirstStep is a command that a prognosis begins with.
type FirstStep struct {
	Type string         `json:"type"`
	Data jsontext.Value `json:"data"`
}

// Cost is what a prognosis took.
type Cost struct {
	States int `json:"states" doc:"states told apart"`
	Steps  int `json:"steps" doc:"followed in time"`
}

// Fate is something that may happen, and when. Times are of those it happens
// to, in game seconds from now.
type Fate struct {
	Probability float64    `json:"probability" doc:"that it ever happens"`
	Mean        *float64   `json:"mean,omitzero" doc:"seconds"`
	Median      *int64     `json:"median,omitzero" doc:"seconds"`
	Quantiles   []Quantile `json:"quantiles,omitzero"`
}

// Quantile is the first time by which at least a share of those it happens to
// have come to it.
type Quantile struct {
	Share   float64 `json:"share"`
	Seconds int64   `json:"seconds"`
}

// Decline is the first time at a rank or a worse one.
type Decline struct {
	Rank        string   `json:"rank"`
	Probability float64  `json:"probability"`
	Mean        *float64 `json:"mean,omitzero" doc:"seconds, of those who come to it"`
}

// CurvePoint is a point of the curve: everything that falls due up to and
// including it has happened.
type CurvePoint struct {
	After     int64         `json:"after" doc:"seconds from now"`
	Dead      float64       `json:"dead"`
	Recovered float64       `json:"recovered"`
	Ranks     []float64     `json:"ranks" doc:"probability of each rank, in the order of ranks"`
	Points    []PointsShare `json:"points" doc:"probability of each number of points, from most to fewest"`
}

// PointsShare is the probability of so many points.
type PointsShare struct {
	Points      int     `json:"points"`
	Probability float64 `json:"probability"`
}

// shares are the quantiles that a prognosis names.
var shares = []float64{0.05, 0.25, 0.5, 0.75, 0.95}

// Prognose works out what time will do to a character. The campaign stays as
// it is, and no die of any chain is used. It refuses with a *rules.Invalid a
// question that cannot be meant, with a *rules.Rejection a character that is
// not there, a first command that the rules refuse whatever the dice, and a
// prognosis beyond the bounds.
func Prognose(c *rules.Campaign, character string, opts PrognosisOptions) (Prognosis, error) {
	if err := opts.check(); err != nil {
		return Prognosis{}, err
	}
	if err := inPlay(c, character); err != nil {
		return Prognosis{}, err
	}
	start, err := branchAll(c, opts.First)
	if err != nil {
		return Prognosis{}, err
	}
	g, err := explore(character, start, c.Clock, opts)
	if err != nil {
		return Prognosis{}, err
	}
	return g.prognosis(c, opts)
}

func (o *PrognosisOptions) check() error {
	switch {
	case o.Horizon < 0 || o.Horizon > MaxPrognosisHorizon:
		return &rules.Invalid{Field: "horizon", Reason: "must be from 1 second to a thousand years"}
	case o.Points < 0 || o.Points > MaxPrognosisPoints:
		return &rules.Invalid{Field: "points", Reason: "must be from 1 to 1000"}
	}
	o.Points = cmp.Or(o.Points, defaultPoints)
	o.States = min(cmp.Or(o.States, MaxPrognosisStates), MaxPrognosisStates)
	o.Steps = min(cmp.Or(o.Steps, MaxPrognosisSteps), MaxPrognosisSteps)
	return nil
}

func inPlay(c *rules.Campaign, character string) error {
	ch, ok := c.Character(character)
	switch {
	case !ok:
		return rules.Reject("unknown_character", "", "there is no character %q in this campaign", character).On("character")
	case ch.Retired:
		return rules.Reject("retired", "", "%s has been retired: time does nothing to retired characters", ch.Name).On("character")
	}
	return nil
}

// branchAll gives commands one after the other, in every way they can come out.
// Where the dice of one have left no room for the next (nobody treats the
// dead) it is left out; it is refused when there is no room for it at all.
func branchAll(c *rules.Campaign, commands []rules.Command) ([]rules.Branch, error) {
	now := []rules.Branch{{Probability: big.NewRat(1, 1), After: c}}
	for _, cmd := range commands {
		var next []rules.Branch
		var refusal error
		done := false
		for _, b := range now {
			ways, err := rules.BranchCommand(b.After, cmd)
			var no *rules.Rejection
			switch {
			case errors.As(err, &no):
				refusal, ways = err, []rules.Branch{{Probability: big.NewRat(1, 1), After: b.After}}
			case err != nil:
				return nil, err
			default:
				done = true
			}
			for _, w := range ways {
				next = append(next, rules.Branch{Probability: new(big.Rat).Mul(b.Probability, w.Probability), After: w.After})
			}
			if len(next) > rules.MaxBranches {
				return nil, tooLarge("the first commands can come out in more than %d ways", rules.MaxBranches)
			}
		}
		if !done {
			return nil, refusal
		}
		now = next
	}
	return now, nil
}

func tooLarge(format string, a ...any) error {
	return rules.Reject("prognosis_too_large", "", format, a...)
}

// prognosis puts the answers together.
func (g *graph) prognosis(c *rules.Campaign, opts PrognosisOptions) (Prognosis, error) {
	p := Prognosis{Clock: c.Clock, Ranks: g.ranks, Horizon: opts.Horizon, Declines: []Decline{}}
	for _, cmd := range opts.First {
		p.First = append(p.First, FirstStep{cmd.Type, cmd.Data})
	}
	all := g.eliminate(func(int) bool { return false })
	death, recovery := all.meet(g.is(dead)), all.meet(g.is(recovered))
	p.Death, p.Recovery = death.fate(), recovery.fate()
	p.Stuck = all.meet(g.stuck).fate().Probability
	p.Undecided = all.meet(g.is(beyond)).fate().Probability
	for rank := g.worst() + 1; rank < len(g.ranks); rank++ {
		reached := func(i int) bool { return g.states[i].rank >= rank }
		f := g.eliminate(reached).meet(reached).fate()
		p.Declines = append(p.Declines, Decline{g.ranks[rank], f.Probability, f.Mean})
	}
	w := newWatch(g, death, recovery, opts.Steps)
	if err := w.quantiles(&p); err != nil {
		return p, err
	}
	err := w.curve(&p, opts.Points)
	p.ErrorBound, p.Cost = w.bound(), Cost{len(g.states), w.steps}
	return p, err
}

// An Outlook is the prognosis of a character as it is, and of one that is
// treated now.
type Outlook struct {
	Character string        `json:"character"`
	Name      string        `json:"name"`
	Clock     int64         `json:"clock" doc:"game time, in seconds"`
	Health    events.Health `json:"health"`
	Untreated *Prognosis    `json:"untreated,omitzero" doc:"as the character is, without any further treatment"`
	Treated   *Prognosis    `json:"treated,omitzero" doc:"after one treatment now, by a capable hand at the table; its dice count in every way they can fall"`
	Refused   *Refusal      `json:"refused,omitzero" doc:"why there is no prognosis of the treated character"`
}

// Refusal is why the rules do not let a character be treated.
type Refusal struct {
	Code   string `json:"code"`
	Rule   string `json:"rule,omitzero"`
	Reason string `json:"reason"`
}

// Ways of treatment that an outlook is asked for.
const (
	TreatNone    = "none"    // untreated
	TreatDefault = "default" // treated; refused when the rules refuse the treatment
	TreatBoth    = "both"    // both; a refused treatment is told as such
)

// Look works out the prognosis of a character left alone, treated, or both.
// Treatment is the data of wound.treat; nil: what the system thinks of as a
// capable hand.
func Look(c *rules.Campaign, character, treat string, treatment jsontext.Value, opts PrognosisOptions) (Outlook, error) {
	if !slices.Contains([]string{TreatNone, TreatDefault, TreatBoth}, treat) {
		return Outlook{}, &rules.Invalid{Field: "treat", Reason: "must be none, default or both"}
	}
	if err := inPlay(c, character); err != nil {
		return Outlook{}, err
	}
	ch, _ := c.Character(character)
	out := Outlook{Character: character, Name: ch.Name, Clock: c.Clock, Health: c.Vitals(ch).Health}
	if treat != TreatDefault {
		p, err := Prognose(c, character, opts)
		if err != nil {
			return out, err
		}
		out.Untreated = &p
	}
	if treat == TreatNone {
		return out, nil
	}
	p, err := prognoseTreated(c, ch, treatment, opts)
	var no *rules.Rejection
	switch {
	case treat == TreatBoth && errors.As(err, &no):
		out.Refused = &Refusal{no.Code, no.Rule, no.Reason}
	case err != nil:
		return out, err
	default:
		out.Treated = &p
	}
	return out, nil
}

func prognoseTreated(c *rules.Campaign, ch *rules.Character, treatment jsontext.Value, opts PrognosisOptions) (Prognosis, error) {
	cmd, err := treatmentOf(c, ch, treatment)
	if err != nil {
		return Prognosis{}, err
	}
	opts.First = append(slices.Clone(opts.First), cmd)
	return Prognose(c, ch.ID, opts)
}

func treatmentOf(c *rules.Campaign, ch *rules.Character, data jsontext.Value) (rules.Command, error) {
	cmd := rules.Command{Type: "wound.treat", Data: data}
	if data != nil {
		return cmd, nil
	}
	asked := c.Book.Treatment(c.Options, ch)
	if asked == nil {
		return cmd, rules.Reject("no_treatment", "", "%s has no treatment", c.Book.Describe().Title)
	}
	var err error
	cmd.Data, err = rules.Canonical(asked)
	return cmd, err
}
