package rules

import (
	"maps"
	"math/big"
)

// Phased is a System that can tell bodies apart without looking at the date.
// A prognosis needs it to notice that what lies ahead has been worked out
// before; for a System without it every moment is a new one.
type Phased interface {
	// Phase is what matters of a body for what time will bring, seen from a
	// game time. Two bodies of one character in one campaign with equal phases,
	// each at its own game time, have equal ticks the same time ahead, and these
	// come out in the same ways.
	Phase(o Options, b Body, clock int64) string
}

// Snapshot is the campaign as it stands, to be looked at while the campaign
// itself goes on: what happens to one is not seen in the other. It does not
// know which commands were given before.
func (c *Campaign) Snapshot() *Campaign {
	s := *c
	s.characters, s.known, s.own = maps.Clone(c.characters), commands{}, nil
	return &s
}

// A Branch is one way the dice can fall, and the campaign after it.
type Branch struct {
	Probability *big.Rat
	After       *Campaign
}

// MaxBranches bounds what Branches tells apart.
const MaxBranches = 100_000

// BranchTick tells apart every way a tick of a character can come out.
// Nothing is decided by it: the campaign stays as it is and no seed is used.
func BranchTick(c *Campaign, ch *Character, tick Tick) ([]Branch, error) {
	return branches(c, Command{By: SystemPrincipal}, func(t *Turn) error {
		t.c.Clock = max(t.c.Clock, tick.Due)
		t.begin(SystemPrincipal)
		t.c.Book.DecideTick(t, ch, tick)
		return nil
	})
}

// BranchCommand tells apart every way a command can come out. It is decided
// with the rights of the game master.
func BranchCommand(c *Campaign, cmd Command) ([]Branch, error) {
	cmd.By = c.Created.GM
	spec, err := c.spec(cmd)
	if err != nil {
		return nil, err
	}
	data, err := spec.Parse(cmd.Data)
	if err != nil {
		return nil, err
	}
	return branches(c, cmd, func(t *Turn) error {
		t.begin(cmd.By)
		return spec.decide(t, data)
	})
}

// branches runs a decision once for every sequence of faces it can ask for:
// each run follows a script of faces, shows 1 where the script ends, and the
// next script counts the last face up.
func branches(c *Campaign, cmd Command, run func(t *Turn) error) ([]Branch, error) {
	var out []Branch
	var script, sides []int
	for {
		t := newTurn(c, cmd, nil)
		taken := 0
		t.oracle = func(n int) int {
			if taken == len(script) {
				script, sides = append(script, 1), append(sides, n)
			}
			taken++
			return script[taken-1]
		}
		err := run(t)
		if t.err != nil {
			err = t.err
		}
		if err != nil {
			return nil, err
		}
		weight := big.NewRat(1, 1)
		for _, n := range sides {
			weight.Mul(weight, big.NewRat(1, int64(n)))
		}
		if out = append(out, Branch{weight, t.c}); len(out) > MaxBranches {
			return nil, Reject("too_many_branches", "", "there are more than %d ways the dice can fall", MaxBranches)
		}
		last := len(script) - 1
		for last >= 0 && script[last] == sides[last] {
			last--
		}
		if last < 0 {
			return out, nil
		}
		script, sides = script[:last+1], sides[:last+1]
		script[last]++
	}
}
