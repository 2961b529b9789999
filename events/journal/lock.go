package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// lockName is the file in a data folder that its one server holds locked.
const lockName = "LOCK"

var errHeld = errors.New("held by another process")

// lockFolder makes the folder private and takes its lock. nats-server takes none,
// and two servers on one folder would both acknowledge the same sequence.
func lockFolder(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("journal: data folder: %w", err)
	}
	f, err := openLocked(filepath.Join(dir, lockName))
	if errors.Is(err, errHeld) {
		return nil, fmt.Errorf("%w: %s", ErrInUse, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("journal: lock the data folder: %w", err)
	}
	return f, nil
}
