//go:build unix && !solaris && !aix

package journal

import (
	"path/filepath"
	"syscall"
	"testing"
)

// A child that was just forked has a copy of the lock's file: given up is given up.
func TestLockIsGivenUpWithACopyOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), lockName)
	f, err := openLocked(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openLocked(path); err != errHeld {
		t.Fatalf("held: got %v", err)
	}
	copied, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(copied)
	if err := closeLocked(f); err != nil {
		t.Fatal(err)
	}
	again, err := openLocked(path)
	if err != nil {
		t.Fatalf("given up: %v", err)
	}
	if err := closeLocked(again); err != nil {
		t.Error(err)
	}
}
