package journal

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The long form of the check below; docs/reliability.md has what it gave.
var cuts = flag.Int("cuts", 2, "how often TestPowerCut cuts the power, on each file system")

// goingDown is the request by which ext4 and xfs end at once, as if the power had
// gone: with flag 2 nothing more is written, not even the file system's own log.
const goingDown = 0x8004587d

// disk is a file system in a file, on a loop device.
type disk struct {
	t          *testing.T
	image, dir string
}

func newDisk(t *testing.T, kind string) *disk {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a disk and cut its power")
	}
	if _, err := exec.LookPath("mkfs." + kind); err != nil {
		t.Skipf("mkfs.%s is not on this machine", kind)
	}
	d := &disk{t: t, image: filepath.Join(t.TempDir(), "image"), dir: filepath.Join(t.TempDir(), "disk")}
	if err := os.WriteFile(d.image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(d.image, 320<<20); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(d.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs."+kind, "-q", d.image).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := exec.Command("mount", "-o", "loop", d.image, d.dir).CombinedOutput(); err != nil {
		t.Skipf("no loop device can be mounted here: %v: %s", err, out)
	}
	t.Cleanup(func() { exec.Command("umount", d.dir).Run() })
	return d
}

// cut ends the file system; what it had not written is gone.
func (d *disk) cut() {
	f, err := os.Open(d.dir)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	if err := unix.IoctlSetPointerInt(int(f.Fd()), goingDown, 2); err != nil {
		d.t.Skip("this file system cannot be cut off: ", err)
	}
}

// again brings the power back.
func (d *disk) again() {
	d.t.Helper()
	for _, args := range [][]string{{"umount", d.dir}, {"mount", "-o", "loop", d.image, d.dir}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			d.t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
}

// runAndCut runs a child on the disk and cuts the power after a random while. It
// returns what the child had said is stored before that.
func (d *disk) runAndCut(writers int, unsafe bool, random *rand.Rand) []stored {
	t := d.t
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+filepath.Join(d.dir, "store"), fmt.Sprintf("%s=%d", childWriters, writers))
	if unsafe {
		cmd.Env = append(cmd.Env, childUnsafe+"=1")
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var acked []stored
	began, ended := make(chan struct{}), make(chan struct{})
	begin := sync.OnceFunc(func() { close(began) })
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(pipe); lines.Scan(); {
			var s stored
			if _, err := fmt.Sscanf(lines.Text(), "stored %s %s %d", &s.campaign, &s.id, &s.seq); err != nil {
				if strings.HasPrefix(lines.Text(), "error") {
					begin() // after the cut that is as it must be
				}
				continue
			}
			mu.Lock()
			acked = append(acked, s)
			mu.Unlock()
			begin()
		}
	}()
	select {
	case <-began:
	case <-ended:
		t.Fatal("the child has stored nothing")
	}
	time.Sleep(time.Duration(20+random.IntN(400)) * time.Millisecond)
	mu.Lock()
	sure := acked[:len(acked):len(acked)] // what was said by now was stored before the cut
	mu.Unlock()
	d.cut()
	cmd.Process.Kill()
	<-ended
	cmd.Wait()
	return sure
}

// The power goes while commits are under way, on a real file system: nothing that
// was acknowledged before is lost, and what was under way is there whole or not at
// all. A store that does not sync loses: that the cut is one is shown as well. The
// whole set is -cuts 60.
func TestPowerCut(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 3))
	for _, kind := range []string{"ext4", "xfs"} {
		t.Run(kind, func(t *testing.T) {
			d := newDisk(t, kind)
			var acked []stored
			for i := range *cuts {
				fresh := d.runAndCut([]int{1, 8, 40}[i%3], false, random)
				acked = append(acked, fresh...)
				d.again()
				checkStored(t, filepath.Join(d.dir, "store"), acked)
			}
			t.Logf("%d cuts, %d acknowledged, none lost", *cuts, len(acked))
		})
		t.Run(kind+" without sync", func(t *testing.T) {
			d := newDisk(t, kind)
			acked := d.runAndCut(8, true, random)
			d.again()
			n := lost(t, filepath.Join(d.dir, "store"), acked)
			t.Logf("%d of %d acknowledged are lost", n, len(acked))
			if n == 0 && len(acked) > 0 {
				t.Error("nothing is lost without sync: the cut is none")
			}
		})
	}
}
