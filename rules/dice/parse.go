package dice

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// parser reads an expression by recursive descent, one method for each rule of the grammar.
type parser struct {
	text  string
	at    int // byte offset of what comes next
	depth int // open parentheses and minus signs
	dice  int // dice that the groups so far can take
}

func (p *parser) refuse(at int, format string, values ...any) error {
	return &SyntaxError{utf8.RuneCountInString(p.text[:at]) + 1, fmt.Sprintf(format, values...)}
}

func (p *parser) unexpected(wanted string) error {
	if p.at == len(p.text) {
		return p.refuse(p.at, "the expression ends where %s was expected", wanted)
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.at:])
	return p.refuse(p.at, "found %q where %s was expected", string(r), wanted)
}

// peek returns the next byte, letters in lower case, or 0 at the end.
func (p *parser) peek() byte {
	if p.at == len(p.text) {
		return 0
	}
	c := p.text[p.at]
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// take consumes the next byte if it is one of these and returns it, else 0.
func (p *parser) take(these string) byte {
	c := p.peek()
	if c == 0 || strings.IndexByte(these, c) < 0 {
		return 0
	}
	p.at++
	return c
}

func (p *parser) blanks() {
	for p.take(" \t") != 0 {
	}
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func (p *parser) number() (int64, error) {
	start := p.at
	if !isDigit(p.peek()) {
		return 0, p.unexpected("a number")
	}
	var value int64
	for ; isDigit(p.peek()); p.at++ {
		value = min(value*10+int64(p.peek()-'0'), MaxTotal+1) // stays above the limit once it is there
	}
	if value > MaxTotal {
		return 0, p.refuse(start, "a number of %d digits is too large; the limit is %d", p.at-start, MaxTotal)
	}
	return value, nil
}

func (p *parser) expression() (term, error) { return p.chain("+-", p.product) }
func (p *parser) product() (term, error)    { return p.chain("*/", p.unary) }

// chain reads operands joined by operators of one precedence, from left to right.
func (p *parser) chain(operators string, operand func() (term, error)) (term, error) {
	left, err := operand()
	for err == nil {
		start := p.at
		operator := p.take(operators)
		if operator == 0 {
			return left, nil
		}
		var right term
		if right, err = operand(); err == nil {
			left, err = p.join(left, operator, right, start)
		}
	}
	return nil, err
}

func (p *parser) join(left term, operator byte, right term, start int) (term, error) {
	if operator == '/' {
		switch divisor := right.span(); {
		case divisor.random:
			return nil, p.refuse(start, "a divisor must not hold dice")
		case divisor.low == 0:
			return nil, p.refuse(start, "division by zero")
		}
	}
	bounds, ok := combine(operator, left.span(), right.span())
	if !ok {
		return nil, p.refuse(start, "the result of %q could go beyond %d", string(operator), MaxTotal)
	}
	return &operation{left, right, operator, bounds}, nil
}

// unary reads one operand with its signs and labels, and the blanks on both sides of it.
func (p *parser) unary() (term, error) {
	p.blanks()
	if start := p.at; p.take("-") != 0 {
		if err := p.nest(start); err != nil {
			return nil, err
		}
		operand, err := p.unary()
		if err != nil {
			return nil, err
		}
		p.depth--
		return negation{operand}, nil
	}
	operand, err := p.primary()
	for p.blanks(); err == nil && p.peek() == '['; p.blanks() {
		operand, err = p.label(operand)
	}
	return operand, err
}

func (p *parser) nest(start int) error {
	p.depth++
	if p.depth > MaxNesting {
		return p.refuse(start, "parentheses and signs are nested more than %d deep", MaxNesting)
	}
	return nil
}

func (p *parser) primary() (term, error) {
	start := p.at
	switch c := p.peek(); {
	case c == '(':
		return p.parenthesis()
	case c == 'd':
		return p.pool(1, start)
	case isDigit(c):
		value, err := p.number()
		if err != nil || p.peek() != 'd' {
			return number(value), err
		}
		return p.pool(value, start)
	}
	return nil, p.unexpected(`a number, a die or "("`)
}

func (p *parser) parenthesis() (term, error) {
	start := p.at
	p.take("(")
	if err := p.nest(start); err != nil {
		return nil, err
	}
	inside, err := p.expression()
	if err != nil {
		return nil, err
	}
	if p.take(")") == 0 {
		return nil, p.unexpected(`an operator or ")"`)
	}
	p.depth--
	if p.peek() == 'd' {
		return nil, p.refuse(p.at, `found "d" after ")": the number of dice must be a plain number`)
	}
	return inside, nil
}

func (p *parser) label(operand term) (term, error) {
	start := p.at
	text, _, closed := strings.Cut(p.text[start+1:], "]")
	if !closed {
		return nil, p.refuse(start, `the label has no "]"`)
	}
	if k := strings.IndexFunc(text, func(r rune) bool { return r == '[' || unicode.IsControl(r) }); k >= 0 {
		return nil, p.refuse(start+1+k, `a label must not hold "[" or control characters`)
	}
	p.at = start + 1 + len(text) + 1
	if text = strings.TrimSpace(text); text == "" {
		return nil, p.refuse(start, "the label is empty")
	}
	if group, ok := operand.(*pool); ok && group.label == "" {
		group.label = text
	}
	return labelled{operand, text}, nil
}

// pool reads a group of dice from its "d" on.
func (p *parser) pool(count int64, start int) (term, error) {
	if count < 1 || count > MaxDice {
		return nil, p.refuse(start, "%d dice; a roll takes 1 to %d", count, MaxDice)
	}
	p.take("d")
	group := &pool{count: int(count), limit: MaxExplosions, low: 1}
	if err := p.sides(group); err != nil {
		return nil, err
	}
	for more := true; more; {
		var err error
		if more, err = p.modifier(group); err != nil {
			return nil, err
		}
	}
	p.dice += group.most()
	if p.dice > MaxDice {
		return nil, p.refuse(start, "the roll could take %d dice, rerolls and explosions counted at their worst; the limit is %d", p.dice, MaxDice)
	}
	group.bounds = group.reach()
	return group, nil
}

func (p *parser) sides(group *pool) error {
	start := p.at
	switch {
	case p.take("%") != 0:
		group.high = 100
	case p.take("f") != 0:
		group.low, group.high, group.fudge = -1, 1, true
	case isDigit(p.peek()):
		sides, err := p.number()
		if err != nil {
			return err
		}
		if sides < 1 || sides > MaxSides {
			return p.refuse(start, "a die of %d sides; a die has 1 to %d", sides, int64(MaxSides))
		}
		group.high = sides
	default:
		return p.unexpected(`the number of sides, "%" or "F"`)
	}
	return nil
}

// modifier reads the next modifier of the group, if there is one.
func (p *parser) modifier(group *pool) (bool, error) {
	p.blanks()
	start := p.at
	switch p.peek() {
	case 'r':
		return true, p.reroll(group, start)
	case '!':
		return true, p.explode(group, start)
	case 'k', 'd':
		return true, p.keepOrDrop(group, start)
	case '>', '<', '=':
		return true, p.compare(group, &group.success, "success count", start)
	}
	return false, nil
}

func (p *parser) reroll(group *pool, start int) error {
	p.take("r")
	p.take("o") // as others write "reroll once"
	p.blanks()
	if isDigit(p.peek()) {
		value, err := p.number()
		if err != nil {
			return err
		}
		return p.choose(group, &group.reroll, "reroll", comparison{"=", value}, start)
	}
	return p.optionalCompare(group, &group.reroll, "reroll", group.low, start)
}

func (p *parser) explode(group *pool, start int) error {
	p.take("!")
	if p.peek() == '!' {
		return p.refuse(start, `"!!" (compounding) is not offered; "!" adds each further die as a die of its own`)
	}
	if group.fudge {
		return p.refuse(start, `"!": fudge dice do not explode`)
	}
	p.blanks()
	return p.optionalCompare(group, &group.explode, "explosion", group.high, start)
}

func (p *parser) optionalCompare(group *pool, into **comparison, name string, otherwise int64, start int) error {
	if c := p.peek(); c == '>' || c == '<' || c == '=' {
		return p.compare(group, into, name, start)
	}
	return p.choose(group, into, name, comparison{"=", otherwise}, start)
}

func (p *parser) compare(group *pool, into **comparison, name string, start int) error {
	operator := string(p.take("><="))
	if operator != "=" && p.take("=") != 0 {
		operator += "="
	}
	p.blanks()
	sign := int64(1)
	if p.take("-") != 0 {
		sign = -1
	}
	value, err := p.number()
	if err != nil {
		return err
	}
	return p.choose(group, into, name, comparison{operator, sign * value}, start)
}

// choose sets a comparison, which must hold for some faces of the die and not for others: else it is a slip of the
// pen, such as a target for the total, or an explosion without end.
func (p *parser) choose(group *pool, into **comparison, name string, c comparison, start int) error {
	if *into != nil {
		return p.refuse(start, "a second %s in one group", name)
	}
	from, to := c.faces(group.low, group.high)
	if from > to {
		return p.refuse(start, "%s: no face of a %s is %s (it looks at single dice, not at the total)", name, group.die(), c)
	}
	if from == group.low && to == group.high {
		if name == "explosion" {
			return p.refuse(start, "explosion: every face of a %s is %s, so it would never stop", group.die(), c)
		}
		return p.refuse(start, "%s: every face of a %s is %s (it looks at single dice, not at the total)", name, group.die(), c)
	}
	*into = &c
	return nil
}

func (p *parser) keepOrDrop(group *pool, start int) error {
	keep := p.take("kd") == 'k'
	end := p.take("hl")
	if end == 0 {
		if !keep {
			return p.refuse(start, `found "d" after dice: write dh or dl to drop dice, or an operator`)
		}
		end = 'h'
	}
	p.blanks()
	dice := int64(1)
	if isDigit(p.peek()) {
		var err error
		if dice, err = p.number(); err != nil {
			return err
		}
	}
	into, name := &group.dropLow, "dl"
	switch {
	case keep && end == 'h':
		into, name = &group.keepHigh, "kh"
	case keep:
		into, name = &group.keepLow, "kl"
	case end == 'h':
		into, name = &group.dropHigh, "dh"
	}
	if *into != 0 {
		return p.refuse(start, "a second %s in one group", name)
	}
	if dice < 1 || dice > int64(group.count) {
		return p.refuse(start, "%s%d of %d dice; want 1 to %d", name, dice, group.count, group.count)
	}
	*into = int(dice)
	return nil
}

// invalidUTF8 returns where text stops being UTF-8, or -1.
func invalidUTF8(text string) int {
	for k, r := range text {
		if _, size := utf8.DecodeRuneInString(text[k:]); r == utf8.RuneError && size == 1 {
			return k
		}
	}
	return -1
}
