package dice

import (
	"fmt"
	"math"
)

// MaxChain is the largest number of links in a chain, so the largest number of rolls in a lane.
const MaxChain = 65536

// Chain gives the links of a hash chain in the order of revealing: Anchor, Link(1), Link(2), … Link(n), where each is
// the SHA-256 of the one that follows it. It keeps every ceil(sqrt n)-th element and one expanded segment, 2·sqrt(n)
// seeds in all, so a link costs one hash on average when asked in ascending order. One goroutine at a time may use it.
type Chain struct {
	n      int
	stride int
	kept   []Seed // kept[k] is element k·stride; the last one is the tail, element n
	open   int    // which segment is expanded, -1 for none
	links  []Seed // links[j] is element open·stride + j
}

// NewChain walks the whole chain once from its tail, element n. n is 1 to MaxChain.
func NewChain(tail Seed, n int) (*Chain, error) {
	if n < 1 || n > MaxChain {
		return nil, fmt.Errorf("chain: length %d, want 1 to %d", n, MaxChain)
	}
	stride := int(math.Ceil(math.Sqrt(float64(n))))
	segments := (n + stride - 1) / stride
	c := &Chain{n: n, stride: stride, kept: make([]Seed, segments+1), open: -1, links: make([]Seed, stride)}
	c.kept[segments] = tail
	element := tail
	for i := n - 1; i >= 0; i-- {
		element = element.Next()
		if i%stride == 0 {
			c.kept[i/stride] = element
		}
	}
	return c, nil
}

// Anchor is element 0, published before the first roll.
func (c *Chain) Anchor() Seed { return c.kept[0] }

// Len is the number of links.
func (c *Chain) Len() int { return c.n }

// Link returns element i, 1 to Len. Any order is right; ascending order is cheap.
func (c *Chain) Link(i int) (Seed, error) {
	if i < 1 || i > c.n {
		return Seed{}, fmt.Errorf("chain: link %d, want 1 to %d", i, c.n)
	}
	if i == c.n {
		return c.kept[len(c.kept)-1], nil
	}
	if segment := i / c.stride; segment != c.open {
		c.expand(segment)
	}
	return c.links[i-c.open*c.stride], nil
}

func (c *Chain) expand(segment int) {
	first := segment * c.stride
	element := c.kept[segment+1]
	for i := min(first+c.stride, c.n) - 1; i >= first; i-- {
		element = element.Next()
		c.links[i-first] = element
	}
	c.open = segment
}
