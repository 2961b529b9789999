package blocktest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	imageName = "image"
	sector    = 512 // bytes that a disk writes whole or not at all
)

// An Op is what reached the disk: a write of Data at byte At, or a flush, when Data
// is nil.
type Op struct {
	At   int64
	Data []byte
}

// Flush says whether everything written before must outlast the power from here on.
func (o Op) Flush() bool { return o.Data == nil }

// An Outcome is what becomes of an Op.
type Outcome int

// The outcomes. What fails leaves no trace on the disk, and neither does what the
// disk only pretends to have done.
const (
	Done Outcome = iota
	Failed
	Pretended
)

// A Disk is a block device in memory. Its methods may be called while it is used.
type Disk struct {
	t     testing.TB
	fuse  string // folder of the FUSE file system
	dir   string // where Mount mounts
	ended chan struct{}

	mu    sync.Mutex // guards all below
	image []byte
	ops   []Op
	fate  func(Op) Outcome // nil: all is done
}

// New makes an empty disk of so many bytes, and skips the test where the machine
// cannot have one.
func New(t testing.TB, size int) *Disk {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can serve a disk")
	}
	d := &Disk{t: t, fuse: t.TempDir(), dir: t.TempDir(), ended: make(chan struct{}), image: make([]byte, size)}
	fd, err := mountFUSE(d.fuse)
	if err != nil {
		t.Skip("no disk of our own can be served here: ", err)
	}
	go d.serve(fd)
	t.Cleanup(d.close)
	return d
}

func (d *Disk) close() {
	d.Fail(nil)
	d.Unmount()
	if err := unix.Unmount(d.fuse, 0); err != nil {
		d.t.Error("unmount the FUSE file system: ", err)
		unix.Unmount(d.fuse, unix.MNT_FORCE)
	}
	<-d.ended
}

// Format makes a file system, ext4 or xfs, and skips the test if its program is not
// here. Xfs wants 300 MiB or more.
func (d *Disk) Format(kind string) {
	d.t.Helper()
	args := map[string][]string{"ext4": {"-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"}, "xfs": {"-q", "-f"}}[kind]
	if _, err := exec.LookPath("mkfs." + kind); err != nil {
		d.t.Skipf("mkfs.%s is not on this machine", kind)
	}
	if out, err := exec.Command("mkfs."+kind, append(args, filepath.Join(d.fuse, imageName))...).CombinedOutput(); err != nil {
		d.t.Fatalf("mkfs.%s: %v: %s", kind, err, out)
	}
}

// Mount mounts what Format has made, and returns the folder. The test is skipped if
// there is no loop device.
func (d *Disk) Mount() string {
	d.t.Helper()
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		d.t.Skip("no loop device here: ", err)
	}
	if out, err := exec.Command("mount", "-o", "loop", filepath.Join(d.fuse, imageName), d.dir).CombinedOutput(); err != nil {
		d.t.Fatalf("mount: %v: %s", err, out)
	}
	return d.dir
}

// Unmount ends what Mount began. It waits a while for whoever still uses it.
func (d *Disk) Unmount() {
	d.t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		switch err := unix.Unmount(d.dir, 0); {
		case err == nil, err == unix.EINVAL: // EINVAL: it is not mounted
			return
		case time.Now().After(end):
			d.t.Error("unmount: ", err)
			unix.Unmount(d.dir, unix.MNT_DETACH)
			return
		}
	}
}

// Len is how many writes and flushes there have been.
func (d *Disk) Len() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.ops)
}

// Fail lets fate decide from now on what becomes of writes and flushes; with nil all
// are done again. A flush that fails or is pretended lets nothing outlast a power cut.
func (d *Disk) Fail(fate func(Op) Outcome) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fate = fate
}

func (d *Disk) read(at int64, n int) ([]byte, syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	size := int64(len(d.image))
	return slices.Clone(d.image[min(at, size):min(at+int64(n), size)]), 0
}

func (d *Disk) write(at int64, data []byte) syscall.Errno {
	if at < 0 || at+int64(len(data)) > int64(len(d.image)) {
		return syscall.ENOSPC
	}
	return d.do(Op{at, append(make([]byte, 0, len(data)), data...)})
}

func (d *Disk) flush() syscall.Errno { return d.do(Op{}) }

func (d *Disk) do(o Op) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fate != nil {
		switch d.fate(o) {
		case Failed:
			return syscall.EIO
		case Pretended:
			return 0
		}
	}
	copy(d.image[o.At:], o.Data)
	d.ops = append(d.ops, o)
	return 0
}
