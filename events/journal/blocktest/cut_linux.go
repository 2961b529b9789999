package blocktest

import (
	"math/rand/v2"
	"slices"
)

// A History is what reached a disk from some moment on.
type History struct {
	first []byte // the disk at that moment
	ops   []Op
	from  int // how many there had been
}

// Record begins a history: at the end, Stop gives what came since. The ends of a
// file system should lie outside, as an orderly unmount flushes all.
func (d *Disk) Record() *History {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &History{first: slices.Clone(d.image), from: len(d.ops)}
}

// Stop ends a history of this disk.
func (d *Disk) Stop(h *History) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h.ops = slices.Clone(d.ops[h.from:])
}

// Flushes counts them.
func (h *History) Flushes() (n int) {
	for _, o := range h.ops {
		if o.Flush() {
			n++
		}
	}
	return n
}

// Moments picks so many moments at which the power goes, in order, as Len of the
// disk counts. Half of them lie just before a flush, where most is still uncertain,
// and the last is the end of the history.
func (h *History) Moments(n int, random *rand.Rand) []int {
	all := []int{h.from + len(h.ops)}
	for range n - 1 {
		at := 1 + random.IntN(len(h.ops))
		if random.IntN(2) == 0 {
			for at < len(h.ops) && !h.ops[at].Flush() {
				at++
			}
		}
		all = append(all, h.from+at)
	}
	slices.Sort(all)
	return all
}

// Cuts builds a disk again as it may have been after the power went.
type Cuts struct {
	h       *History
	disk    *Disk
	sure    []byte // what no power cut can take, up to done
	done    int
	touched []Op // where disk may differ from sure

	Lost, Torn int // writes that did not reach the disk, and that did in part
}

// Cuts prepares to build states of the history on another disk of the same size.
func (h *History) Cuts(disk *Disk) *Cuts {
	disk.mu.Lock()
	defer disk.mu.Unlock()
	copy(disk.image, h.first)
	disk.ops = nil
	return &Cuts{h: h, disk: disk, sure: slices.Clone(h.first)}
}

// At makes the disk one that lost its power at a moment: every write before the last
// flush is there; of each later one all, nothing, or the first sectors, whatever
// became of those before it. The disk must not be mounted, and moments must not go
// back.
func (c *Cuts) At(moment int, random *rand.Rand) {
	d := c.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range append(c.touched, d.ops...) {
		copy(d.image[o.At:o.At+int64(len(o.Data))], c.sure[o.At:])
	}
	d.ops, c.touched = nil, nil
	end := moment - c.h.from
	flushed := c.done
	for i := c.done; i < end; i++ {
		if c.h.ops[i].Flush() {
			flushed = i + 1
		}
	}
	for _, o := range c.h.ops[c.done:flushed] {
		copy(c.sure[o.At:], o.Data)
		copy(d.image[o.At:], o.Data)
	}
	c.done = flushed
	keep := random.IntN(101) // percent, another each time: from nothing to all
	for _, o := range c.h.ops[flushed:end] {
		kept := o.Data
		switch {
		case random.IntN(100) >= keep:
			c.Lost++
			continue
		case len(kept) > sector && random.IntN(3) == 0:
			kept = kept[:sector*(1+random.IntN(len(kept)/sector-1))]
			c.Torn++
		}
		copy(d.image[o.At:], kept)
		c.touched = append(c.touched, o)
	}
}
