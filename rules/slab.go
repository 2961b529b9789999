package rules

// A slab gives zero values out of memory that is taken for several at once: for one
// at first, then for twice as many each time. A value keeps those it was taken with
// from being collected.
type slab[T any] struct {
	free []T
	size int
}

// slabMost is for how many values memory is taken at once.
const slabMost = 32

func (s *slab[T]) next() *T {
	if len(s.free) == 0 {
		s.size = min(max(1, 2*s.size), slabMost)
		s.free = make([]T, s.size)
	}
	v := &s.free[0]
	s.free = s.free[1:]
	return v
}
