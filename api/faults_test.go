package api

import (
	"context"
	"sync/atomic"

	"tallystick/events/journal"
)

// slowJournal holds appends up until the gate opens.
type slowJournal struct {
	journal.Journal
	hold    atomic.Bool
	entered chan struct{}
	gate    chan struct{}
}

func (s *slowJournal) Append(ctx context.Context, e journal.Entry) (uint64, error) {
	if s.hold.Load() {
		s.entered <- struct{}{}
		<-s.gate
	}
	return s.Journal.Append(ctx, e)
}

// breaking loses the commits behind so many of a reading.
type breaking struct {
	journal.Journal
	after atomic.Int64
}

func (b *breaking) Read(ctx context.Context, campaign string, after uint64, each func(journal.Commit) error) error {
	left := b.after.Load()
	return b.Journal.Read(ctx, campaign, after, func(c journal.Commit) error {
		if b.after.Load() > 0 {
			if left--; left < 0 {
				return journal.ErrDamaged
			}
		}
		return each(c)
	})
}
