package journal

import (
	"bytes"
	"context"
	"errors"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
)

// smallDisk mounts a file system of that size, and returns its folder and a
// function that gives it more room.
func smallDisk(t *testing.T, size string) (dir string, enlarge func(size string)) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skip("cannot mount a small disk: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir, func(size string) {
		if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size="+size); err != nil {
			t.Fatal(err)
		}
	}
}

// A full disk loses nothing that was acknowledged; reading goes on; with more room
// and opened anew it takes commits again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir, enlarge := smallDisk(t, "12m")
	j, err := Embedded(soon(t), Options{Dir: dir, Partitions: 1, AckWait: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	close := sync.OnceFunc(func() { j.Close() })
	defer close()
	type place struct {
		last uint64
		acks int
	}
	var mu sync.Mutex
	acked := map[string]place{}
	var group sync.WaitGroup
	for range 40 { // some go singly, some in batches
		group.Go(func() {
			campaign, at := uuid.NewString(), place{}
			for {
				seq, err := j.Append(context.Background(), Entry{Campaign: campaign, ID: uuid.NewString(), Expected: at.last, Payload: bytes.Repeat([]byte("x"), 8000)})
				if err != nil {
					var unclear *UnclearError
					if !errors.Is(err, ErrFull) && !errors.As(err, &unclear) {
						t.Errorf("on a full disk: got error %v", err)
					}
					break
				}
				at = place{seq, at.acks + 1}
			}
			mu.Lock()
			acked[campaign] = at
			mu.Unlock()
		})
	}
	group.Wait()
	_, err = j.Append(soon(t), Entry{Campaign: uuid.NewString(), ID: "late", Payload: []byte("late")})
	if !errors.Is(err, ErrFull) {
		t.Errorf("once it is full: got error %v, want %v", err, ErrFull)
	}
	if h := j.Health(soon(t)); h.Sound() {
		t.Errorf("health of a full store: %+v", h)
	}
	total := 0
	check := func(j Journal) {
		t.Helper()
		total = 0
		for campaign, at := range acked {
			n, last := 0, uint64(0)
			err := j.Read(soon(t), campaign, 0, func(c Commit) error {
				n++
				if n == at.acks {
					last = c.Seq
				}
				return nil
			})
			if err != nil || n < at.acks || last != at.last {
				t.Fatalf("campaign %s: read %d commits, %v; %d were acknowledged", campaign, n, err, at.acks)
			}
			total += at.acks
		}
	}
	check(j)
	close()
	enlarge("48m")
	j, err = Embedded(soon(t), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	check(j)
	fill(t, j, 5, 8000)
	if h := j.Health(soon(t)); !h.Sound() {
		t.Errorf("health with room again: %+v", h)
	}
	t.Logf("%d acknowledged, none lost", total)
}
