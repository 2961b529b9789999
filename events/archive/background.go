package archive

import (
	"context"
	"sync"
)

// background is what is behind something else, brought up to date by a goroutine
// of its own: its lock, how that goroutine is woken, and how others wait for it.
type background struct {
	wake chan struct{} // holds one: there is something to do now

	mu      sync.Mutex    // guards all below, and the state of whoever embeds it
	changed chan struct{} // closed and replaced after each attempt
	closed  bool
}

func newBackground() background {
	return background{wake: make(chan struct{}, 1), changed: make(chan struct{})}
}

// hurry has the goroutine begin now.
func (b *background) hurry() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// attempted tells those who wait that an attempt has ended; mu is held.
func (b *background) attempted() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// await waits until ready, which is called with mu held, says yes or gives an
// error.
func (b *background) await(ctx context.Context, ready func() (bool, error)) error {
	for {
		b.mu.Lock()
		done, err := ready()
		closed, changed := b.closed, b.changed
		b.mu.Unlock()
		switch {
		case done:
			return nil
		case err != nil:
			return err
		case closed:
			return ErrClosed
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
