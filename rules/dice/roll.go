package dice

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Result is what one roll of an expression came to, with everything an audit needs to see why.
type Result struct {
	Expression string  `json:"expression"`         // canonical form
	Total      int64   `json:"total"`              // value of the whole expression
	Successes  int64   `json:"successes,omitzero"` // dice that met a success count, over all groups; left out of the JSON when 0
	Groups     []Group `json:"groups"`             // the groups of dice in order of taking, which is that of the text
}

// Group is one group of dice in a Result, such as the 3d6kh2 of 3d6kh2+1.
type Group struct {
	Text   string `json:"text"`            // canonical form, without label
	Label  string `json:"label,omitzero"`  // what the player wrote in brackets behind it
	Sides  uint32 `json:"sides"`           // sides of the die drawn: 3 for a fudge die
	Fudge  bool   `json:"fudge,omitzero"`  // faces 1, 2, 3 are shown as -1, 0, +1
	Faces  []Face `json:"faces"`           // every die in order of taking
	Counts bool   `json:"counts,omitzero"` // Value is the number of successes, not the sum
	Value  int64  `json:"value"`           // what the group is worth in the total
	Capped bool   `json:"capped,omitzero"` // explosions ended at MaxExplosions
}

// Face is one die of a Group. A die counts towards the group's value if it is kept, hence neither dropped nor rerolled.
type Face struct {
	Value    int64 `json:"value"`             // as shown: -1 to +1 for a fudge die
	Dropped  bool  `json:"dropped,omitzero"`  // left out by a keep or drop
	Exploded bool  `json:"exploded,omitzero"` // earned a further die
	Rerolled bool  `json:"rerolled,omitzero"` // taken again; the new die stands further on
	Success  bool  `json:"success,omitzero"`  // met the success count
}

// Kept reports whether the die counts towards the value of its group.
func (f Face) Kept() bool { return !f.Dropped && !f.Rerolled }

// JSON is what package json makes of a result, written out: a roll is made of it.
func (r Result) JSON() (jsontext.Value, error) {
	out, err := jsontext.AppendQuote([]byte(`{"expression":`), r.Expression)
	if err != nil {
		return nil, err
	}
	out = strconv.AppendInt(append(out, `,"total":`...), r.Total, 10)
	if r.Successes != 0 {
		out = strconv.AppendInt(append(out, `,"successes":`...), r.Successes, 10)
	}
	out = append(out, `,"groups":[`...)
	for i, g := range r.Groups {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = g.append(out); err != nil {
			return nil, err
		}
	}
	return append(out, "]}"...), nil
}

func (g Group) append(out []byte) ([]byte, error) {
	out, err := jsontext.AppendQuote(append(out, `{"text":`...), g.Text)
	if err == nil && g.Label != "" {
		out, err = jsontext.AppendQuote(append(out, `,"label":`...), g.Label)
	}
	out = strconv.AppendUint(append(out, `,"sides":`...), uint64(g.Sides), 10)
	out = mark(out, "fudge", g.Fudge)
	out = append(out, `,"faces":[`...)
	for i, f := range g.Faces {
		if i > 0 {
			out = append(out, ',')
		}
		out = f.append(out)
	}
	out = mark(append(out, ']'), "counts", g.Counts)
	out = strconv.AppendInt(append(out, `,"value":`...), g.Value, 10)
	return append(mark(out, "capped", g.Capped), '}'), err
}

func (f Face) append(out []byte) []byte {
	out = strconv.AppendInt(append(out, `{"value":`...), f.Value, 10)
	out = mark(out, "dropped", f.Dropped)
	out = mark(out, "exploded", f.Exploded)
	out = mark(out, "rerolled", f.Rerolled)
	return append(mark(out, "success", f.Success), '}')
}

// mark writes a member that is there only when it is true.
func mark(out []byte, name string, is bool) []byte {
	if !is {
		return out
	}
	return append(append(append(out, `,"`...), name...), `":true`...)
}

// String returns the face with its marks: 6! exploded, 1r rerolled, 8* a success, (2) dropped.
func (f Face) String() string {
	text := strconv.FormatInt(f.Value, 10)
	for _, m := range []struct {
		on   bool
		mark string
	}{{f.Exploded, "!"}, {f.Rerolled, "r"}, {f.Success, "*"}} {
		if m.on {
			text += m.mark
		}
	}
	if f.Dropped {
		return "(" + text + ")"
	}
	return text
}

// Draws returns every die as drawn, in order of taking: [sides, face], a fudge die as [3, 1 to 3].
func (r Result) Draws() [][2]uint32 {
	var draws [][2]uint32
	for _, g := range r.Groups {
		for _, f := range g.Faces {
			if g.Fudge {
				f.Value += 2
			}
			draws = append(draws, [2]uint32{g.Sides, uint32(f.Value)})
		}
	}
	return draws
}

// String returns the result in one line: 3d6kh2+1 = 7: 3d6kh2 [4, (2), 2].
func (r Result) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s = %d", r.Expression, r.Total)
	for k, g := range r.Groups {
		separator := ": "
		if k > 0 {
			separator = "; "
		}
		faces := make([]string, len(g.Faces))
		for j, f := range g.Faces {
			faces[j] = f.String()
		}
		fmt.Fprintf(&text, "%s%s [%s]", separator, g.Text, strings.Join(faces, ", "))
		if g.Capped {
			fmt.Fprintf(&text, " (ended after %d explosions)", MaxExplosions)
		}
	}
	return text.String()
}

// Roll takes the dice of the expression from die, which returns a face from 1 to sides, and adds them up. Groups are
// taken from left to right; a group first takes the dice it names, then goes through them from the first on, and each
// die that is rerolled or explodes puts a new one at the end of the row. Roll panics if die returns another face.
func (e *Expression) Roll(die func(sides uint32) uint32) Result {
	return e.RollKinds(func(sides uint32, _ bool) uint32 { return die(sides) })
}

// RollKinds is Roll for a source that has to know which dice are fudge dice, because people write down what they see:
// the source returns 1 to 3 for -1 to +1 of those, too.
func (e *Expression) RollKinds(die func(sides uint32, fudge bool) uint32) Result {
	r := &roller{die: die, groups: []Group{}}
	result := Result{Expression: e.text, Total: e.root.roll(r), Groups: r.groups}
	for _, g := range r.groups {
		if g.Counts {
			result.Successes += g.Value
		}
	}
	return result
}

type roller struct {
	die    func(sides uint32, fudge bool) uint32
	groups []Group
}

func (n number) roll(*roller) int64     { return int64(n) }
func (n negation) roll(r *roller) int64 { return -n.operand.roll(r) }
func (l labelled) roll(r *roller) int64 { return l.operand.roll(r) }

func (o *operation) roll(r *roller) int64 {
	left := o.left.roll(r) // the left operand takes its dice first
	return apply(o.operator, left, o.right.roll(r))
}

// comparison tells faces apart: those that are >=, <=, >, < or = a value.
type comparison struct {
	operator string
	value    int64
}

func (c comparison) String() string { return c.operator + strconv.FormatInt(c.value, 10) }

// faces returns the first and last face between low and high for which c holds; first > last if there is none.
func (c comparison) faces(low, high int64) (first, last int64) {
	switch c.operator {
	case ">":
		low = max(low, c.value+1)
	case ">=":
		low = max(low, c.value)
	case "<":
		high = min(high, c.value-1)
	case "<=":
		high = min(high, c.value)
	case "=":
		low, high = max(low, c.value), min(high, c.value)
	}
	return low, high
}

// pool is a group of dice of one kind.
type pool struct {
	count     int
	limit     int   // further dice that explosions may add: MaxExplosions, fewer in tests
	low, high int64 // faces as shown
	fudge     bool
	label     string

	reroll, explode, success             *comparison // nil when absent
	keepHigh, keepLow, dropHigh, dropLow int         // 0 when absent

	bounds span
}

// sides is the number of faces of the die.
func (p *pool) sides() int64 { return p.high - p.low + 1 }

// die is the name of one die of the group.
func (p *pool) die() string {
	if p.fudge {
		return "dF"
	}
	return "d" + strconv.FormatInt(p.high, 10)
}

// holds reports whether c is there and the face meets it.
func (p *pool) holds(c *comparison, face int64) bool {
	if c == nil {
		return false
	}
	first, last := c.faces(p.low, p.high)
	return first <= face && face <= last
}

// most is the largest number of dice the group can take.
func (p *pool) most() int {
	dice := p.active()
	if p.reroll != nil {
		dice *= 2
	}
	return dice
}

// active is the largest number of dice in the group when rerolled ones are not counted.
func (p *pool) active() int {
	if p.explode != nil {
		return p.count + p.limit
	}
	return p.count
}

// window says how many of the lowest and of the highest of so many dice are left out. Every keep and drop looks at
// all the dice, so that kh2dl1 of three leaves out one die, not two.
func (p *pool) window(dice int) (lowest, highest int) {
	lowest, highest = p.dropLow, p.dropHigh
	if p.keepHigh > 0 {
		lowest = max(lowest, dice-p.keepHigh)
	}
	if p.keepLow > 0 {
		highest = max(highest, dice-p.keepLow)
	}
	return lowest, highest
}

// reach is the range of the group's value.
func (p *pool) reach() span {
	fewest, most := p.active(), 0
	for dice := p.count; dice <= p.active(); dice++ {
		lowest, highest := p.window(dice)
		kept := max(0, dice-lowest-highest)
		fewest, most = min(fewest, kept), max(most, kept)
	}
	if p.success != nil {
		return span{0, int64(most), true}
	}
	return span{int64(fewest) * p.low, int64(most) * p.high, true} // fudge dice do not explode: the fewest are the most
}

func (p *pool) roll(r *roller) int64 {
	group := p.take(r)
	p.drop(group.Faces)
	for k := range group.Faces {
		f := &group.Faces[k]
		switch {
		case !f.Kept():
		case p.success == nil:
			group.Value += f.Value
		case p.holds(p.success, f.Value):
			f.Success = true
			group.Value++
		}
	}
	r.groups = append(r.groups, group)
	return group.Value
}

// take takes the dice of the group, with the new ones that rerolls and explosions put at the end of the row.
func (p *pool) take(r *roller) Group {
	group := Group{Text: string(p.write(nil)), Label: p.label, Sides: uint32(p.sides()), Fudge: p.fudge, Counts: p.success != nil}
	again := make([]bool, 0, p.count) // whether the die stands in for a rerolled one
	add := func(standsIn bool) {
		face := r.die(group.Sides, group.Fudge)
		if face < 1 || face > group.Sides {
			panic(fmt.Sprintf("dice: a d%d shows %d", group.Sides, face))
		}
		group.Faces = append(group.Faces, Face{Value: int64(face) + p.low - 1})
		again = append(again, standsIn)
	}
	for range p.count {
		add(false)
	}
	explosions := 0
	for k := 0; k < len(group.Faces); k++ {
		face := group.Faces[k].Value
		switch {
		case !again[k] && p.holds(p.reroll, face):
			group.Faces[k].Rerolled = true
			add(true)
		case p.holds(p.explode, face) && explosions == p.limit:
			group.Capped = true
		case p.holds(p.explode, face):
			group.Faces[k].Exploded = true
			explosions++
			add(false)
		}
	}
	return group
}

// drop marks the dice that keeps and drops leave out. Of equal dice the one taken first counts as the lower.
func (p *pool) drop(faces []Face) {
	if p.keepHigh+p.keepLow+p.dropHigh+p.dropLow == 0 {
		return
	}
	var order []int
	for k, f := range faces {
		if !f.Rerolled {
			order = append(order, k)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(faces[a].Value, faces[b].Value) })
	lowest, highest := p.window(len(order))
	for place, k := range order {
		faces[k].Dropped = place < lowest || place >= len(order)-highest
	}
}
