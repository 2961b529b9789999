//go:build !linux

package ledger

import "time"

// elapsed is the time since the program was started, by a clock that nobody
// can move.
func elapsed() time.Duration { return time.Since(started) }

var started = time.Now()
