package journal

import (
	"os"
	"syscall"
)

// errorSharingViolation is ERROR_SHARING_VIOLATION: somebody has the file open.
const errorSharingViolation = syscall.Errno(32)

// openLocked opens a file that no other process may hold open. The lock ends with
// the process, however it ends.
func openLocked(path string) (*os.File, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	const shareNothing = 0
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, shareNothing, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if err == errorSharingViolation {
		return nil, errHeld
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(h), path), nil
}

// closeLocked gives up the lock and the file.
func closeLocked(f *os.File) error { return f.Close() }
