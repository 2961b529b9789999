package rules

import (
	"encoding/hex"
	"iter"
	"maps"
	"slices"
)

// commands are those that a campaign remembers. Nearly all ids are UUIDs, and are kept
// as the 16 bytes they stand for: a verifier of a large ledger holds little else. The
// zero value remembers nothing and is ready for use.
type commands struct {
	all   []Known          // as they came
	uuids map[uuid]int32   // where in all
	other map[string]int32 // where in all, of ids that are no UUIDs
}

type uuid [16]byte

// asUUID reads a UUID in the one form that String writes.
func asUUID(id string) (u uuid, ok bool) {
	var digits [32]byte
	if len(id) != 36 || id[8] != '-' || id[13] != '-' || id[18] != '-' || id[23] != '-' {
		return u, false
	}
	copy(digits[:], id[:8])
	copy(digits[8:], id[9:13])
	copy(digits[12:], id[14:18])
	copy(digits[16:], id[19:23])
	copy(digits[20:], id[24:])
	for _, c := range digits {
		if 'A' <= c && c <= 'F' { // package hex reads them
			return u, false
		}
	}
	_, err := hex.Decode(u[:], digits[:])
	return u, err == nil
}

func (u uuid) String() string {
	h := hex.EncodeToString(u[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

func (c *commands) index(id string) (i int32, ok bool) {
	if u, is := asUUID(id); is {
		i, ok = c.uuids[u]
		return i, ok
	}
	i, ok = c.other[id]
	return i, ok
}

func (c *commands) find(id string) (Known, bool) {
	i, ok := c.index(id)
	if !ok {
		return Known{}, false
	}
	return c.all[i], true
}

// set remembers a command, in place of what was remembered under its id.
func (c *commands) set(id string, k Known) {
	if i, ok := c.index(id); ok {
		c.all[i] = k
		return
	}
	i := int32(len(c.all))
	c.all = append(c.all, k)
	if u, is := asUUID(id); is {
		if c.uuids == nil {
			c.uuids = map[uuid]int32{}
		}
		c.uuids[u] = i
		return
	}
	if c.other == nil {
		c.other = map[string]int32{}
	}
	c.other[id] = i
}

// each gives all, in no order.
func (c *commands) each() iter.Seq2[string, Known] {
	return func(yield func(string, Known) bool) {
		for u, i := range c.uuids {
			if !yield(u.String(), c.all[i]) {
				return
			}
		}
		for id, i := range c.other {
			if !yield(id, c.all[i]) {
				return
			}
		}
	}
}

func (c *commands) clone() commands {
	return commands{slices.Clone(c.all), maps.Clone(c.uuids), maps.Clone(c.other)}
}
