package rules

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
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

// savedCommands are those that a campaign remembers, packed: an opened campaign has
// little else to read. All has of each command the places of By and Type in Names,
// First and Last as differences to the First before and to First, the fingerprint,
// and the id: its length and text, or 0 and the 16 bytes of a UUID.
type savedCommands struct {
	Names []string
	All   []byte
}

func (c *commands) save() (s savedCommands) {
	uuids, other := make([]uuid, len(c.all)), make([]string, len(c.all))
	for u, i := range c.uuids {
		uuids[i] = u
	}
	for id, i := range c.other {
		other[i] = id
	}
	places := map[string]uint64{}
	place := func(name string) uint64 {
		if _, ok := places[name]; !ok {
			places[name] = uint64(len(s.Names))
			s.Names = append(s.Names, name)
		}
		return places[name]
	}
	first := int64(0)
	for i, k := range c.all {
		s.All = binary.AppendUvarint(s.All, place(k.By))
		s.All = binary.AppendUvarint(s.All, place(k.Type))
		s.All = binary.AppendVarint(s.All, k.First-first)
		s.All = binary.AppendVarint(s.All, k.Last-k.First)
		s.All = append(s.All, k.fingerprint[:]...)
		s.All = binary.AppendUvarint(s.All, uint64(len(other[i])))
		if s.All = append(s.All, other[i]...); other[i] == "" {
			s.All = append(s.All, uuids[i][:]...)
		}
		first = k.First
	}
	return s
}

// restore reads what save wrote. by and typ give the one copy of a handle and of
// the name of a command type.
func (s savedCommands) restore(by, typ func(string) string) (c commands, err error) {
	handles, types := make([]string, len(s.Names)), make([]string, len(s.Names))
	for i, name := range s.Names {
		handles[i], types[i] = by(name), typ(name)
	}
	const usual = 40 // bytes of a command
	c.all, c.uuids = make([]Known, 0, len(s.All)/usual), make(map[uuid]int32, len(s.All)/usual)
	first := int64(0)
	for in := (unpacker{rest: s.All}); len(in.rest) > 0; {
		var k Known
		i, j := in.unsigned(), in.unsigned()
		k.First = first + in.signed()
		k.Last = k.First + in.signed()
		copy(k.fingerprint[:], in.bytes(uint64(len(k.fingerprint))))
		id := in.bytes(in.unsigned())
		var u uuid
		if len(id) == 0 {
			copy(u[:], in.bytes(uint64(len(u))))
		}
		if in.short || max(i, j) >= uint64(len(s.Names)) {
			return c, fmt.Errorf("the command after %d others cannot be read", len(c.all))
		}
		k.By, k.Type, first = handles[i], types[j], k.First
		if len(id) == 0 {
			c.uuids[u] = int32(len(c.all))
			c.all = append(c.all, k)
		} else {
			c.set(string(id), k)
		}
	}
	return c, nil
}

// unpacker reads packed values one after the other. After the end all are zero, and
// short is true.
type unpacker struct {
	rest  []byte
	short bool
}

func (u *unpacker) unsigned() uint64 { return unpack(u, binary.Uvarint) }

func (u *unpacker) signed() int64 { return unpack(u, binary.Varint) }

func unpack[T any](u *unpacker, number func([]byte) (T, int)) T {
	v, n := number(u.rest)
	u.bytes(uint64(max(n, 0)))
	u.short = u.short || n <= 0
	return v
}

func (u *unpacker) bytes(n uint64) (b []byte) {
	if n > uint64(len(u.rest)) {
		u.rest, u.short = nil, true
		return nil
	}
	b, u.rest = u.rest[:n], u.rest[n:]
	return b
}
