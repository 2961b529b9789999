package dice

import (
	"fmt"
	"math"
	"strconv"
)

// Limits of the notation. Each refusal names the one it broke.
const (
	MaxExpression = 512            // bytes of an expression, as typed and as String writes it
	MaxDice       = 1000           // dice that one roll may take, rerolls and explosions counted at their worst
	MaxSides      = math.MaxUint32 // sides of a die
	MaxExplosions = 100            // further dice that explosions may add to a group; then the group is capped
	MaxNesting    = 32             // parentheses and minus signs inside each other
	MaxTotal      = 1<<53 - 1      // magnitude of every number, intermediate ones too: what JSON readers have exactly
)

// SyntaxError says where and why an expression was refused.
type SyntaxError struct {
	Pos    int    // the character, counted from 1
	Reason string // what was found and what would be right, in one line
}

// Error returns position and reason in one line.
func (e *SyntaxError) Error() string { return fmt.Sprintf("position %d: %s", e.Pos, e.Reason) }

// Expression is a parsed dice expression. It is immutable.
type Expression struct {
	root term
	text string
}

// Parse reads free dice notation, such as 3d6kh2+1, 4dF or 5d10>=7:
//
//	expression = product { ( "+" | "-" ) product } .
//	product    = unary { ( "*" | "/" ) unary } .
//	unary      = "-" unary | primary .
//	primary    = ( number | dice | "(" expression ")" ) { label } .
//	label      = "[" text "]" .
//	dice       = [ number ] "d" ( number | "%" | "F" ) { modifier } .
//	modifier   = reroll | explode | keep | drop | success .
//	reroll     = ( "r" | "ro" ) [ number | compare ] .
//	explode    = "!" [ compare ] .
//	keep       = ( "k" | "kh" | "kl" ) [ number ] .
//	drop       = ( "dh" | "dl" ) [ number ] .
//	success    = compare .
//	compare    = ( ">=" | "<=" | ">" | "<" | "=" ) [ "-" ] number .
//
// Letters may be of either case and blanks may stand between any two of these parts, but not inside dice before the
// first modifier. A modifier stands at most once in a group, in any order; they act in the order above. A quotient
// loses its fraction. Every error is a *SyntaxError.
func Parse(expression string) (*Expression, error) {
	if len(expression) > MaxExpression {
		return nil, &SyntaxError{1, fmt.Sprintf("the expression has %d bytes; the limit is %d", len(expression), MaxExpression)}
	}
	p := &parser{text: expression}
	if at := invalidUTF8(expression); at >= 0 {
		return nil, p.refuse(at, "the text is not valid UTF-8")
	}
	root, err := p.expression()
	if err != nil {
		return nil, err
	}
	if p.at < len(p.text) {
		return nil, p.unexpected("an operator or the end")
	}
	text := string(root.write(nil))
	if len(text) > MaxExpression {
		return nil, &SyntaxError{1, fmt.Sprintf("written out in full, the expression has %d bytes; the limit is %d", len(text), MaxExpression)}
	}
	return &Expression{root, text}, nil
}

// String returns the canonical form: lower case but for F, no blanks, every count written, modifiers in the order in
// which they act. Parsing it gives the same expression again.
func (e *Expression) String() string { return e.text }

// Bounds returns numbers that no total lies outside of. Without explosions and combined keeps and drops both can occur.
func (e *Expression) Bounds() (lowest, highest int64) {
	s := e.root.span()
	return s.low, s.high
}

// A term is a part of an expression that has a value.
type term interface {
	roll(*roller) int64
	odds(*budget) (Odds, error)
	write([]byte) []byte
	span() span
	precedence() int // how tightly it binds: 1 sum, 2 product, 3 minus, 4 the rest
}

// span is the range in which the value of a term lies.
type span struct {
	low, high int64
	random    bool // whether it holds dice
}

type (
	number   int64
	negation struct{ operand term }
	labelled struct {
		operand term
		text    string
	}
	operation struct {
		left, right term
		operator    byte
		bounds      span
	}
)

func (n number) span() span     { return span{int64(n), int64(n), false} }
func (n negation) span() span   { s := n.operand.span(); return span{-s.high, -s.low, s.random} }
func (l labelled) span() span   { return l.operand.span() }
func (o *operation) span() span { return o.bounds }
func (p *pool) span() span      { return p.bounds }

func (number) precedence() int   { return 4 }
func (negation) precedence() int { return 3 }
func (labelled) precedence() int { return 4 }
func (*pool) precedence() int    { return 4 }

func (o *operation) precedence() int {
	if o.operator == '+' || o.operator == '-' {
		return 1
	}
	return 2
}

func (n number) write(to []byte) []byte { return strconv.AppendInt(to, int64(n), 10) }

func (n negation) write(to []byte) []byte { return writeOperand(append(to, '-'), n.operand, 3) }

// write leaves the label of a group to the term labelled. An explosion is written in full before a success count,
// which would be read as its comparison otherwise.
func (p *pool) write(to []byte) []byte {
	to = strconv.AppendInt(to, int64(p.count), 10)
	to = append(to, p.die()...)
	if c := p.reroll; c != nil {
		to = append(to, 'r')
		if c.operator != "=" || c.value < 0 {
			to = append(to, c.operator...)
		}
		to = strconv.AppendInt(to, c.value, 10)
	}
	if c := p.explode; c != nil {
		to = append(to, '!')
		if p.success != nil || *c != (comparison{"=", p.high}) {
			to = append(to, c.String()...)
		}
	}
	for _, m := range []struct {
		name string
		dice int
	}{{"kh", p.keepHigh}, {"kl", p.keepLow}, {"dh", p.dropHigh}, {"dl", p.dropLow}} {
		if m.dice > 0 {
			to = strconv.AppendInt(append(to, m.name...), int64(m.dice), 10)
		}
	}
	if p.success != nil {
		to = append(to, p.success.String()...)
	}
	return to
}

func (l labelled) write(to []byte) []byte {
	to = writeOperand(to, l.operand, 4)
	return append(append(append(to, '['), l.text...), ']')
}

func (o *operation) write(to []byte) []byte {
	to = writeOperand(to, o.left, o.precedence())
	to = append(to, o.operator)
	return writeOperand(to, o.right, o.precedence()+1)
}

// writeOperand puts parentheses around a term that binds less tightly than least.
func writeOperand(to []byte, t term, least int) []byte {
	if t.precedence() >= least {
		return t.write(to)
	}
	return append(t.write(append(to, '(')), ')')
}

// apply is the arithmetic of the four operators; the bounds make sure that nothing overflows or divides by zero.
func apply(operator byte, a, b int64) int64 {
	switch operator {
	case '+':
		return a + b
	case '-':
		return a - b
	case '*':
		return a * b
	case '/':
		return a / b // truncates toward zero
	}
	panic("dice: no operator " + string(operator))
}

// combine is the range of a op b, or false if it goes beyond MaxTotal. A divisor must be known and not zero.
func combine(operator byte, a, b span) (span, bool) {
	result := span{math.MaxInt64, math.MinInt64, a.random || b.random}
	for _, x := range []int64{a.low, a.high} {
		for _, y := range []int64{b.low, b.high} {
			if operator == '*' && x != 0 && magnitude(y) > MaxTotal/magnitude(x) {
				return span{}, false
			}
			value := apply(operator, x, y)
			if magnitude(value) > MaxTotal {
				return span{}, false
			}
			result.low, result.high = min(result.low, value), max(result.high, value)
		}
	}
	return result, true
}

func magnitude(x int64) int64 { return max(x, -x) }
