package ledger

import (
	"time"

	"golang.org/x/sys/unix"
)

// elapsed is the time since the machine was started, by a clock that nobody
// can move. It counts while the machine sleeps, which Go's own does not.
func elapsed() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return time.Since(started)
	}
	return time.Duration(t.Nano())
}

var started = time.Now()
