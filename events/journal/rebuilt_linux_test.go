package journal

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"tallystick/events/journal/blocktest"
)

// The long form of the check below; docs/reliability.md has what it gave.
var rebuilds = flag.Int("rebuilds", 3, "how many disks TestPowerCutRebuilt builds, on each file system")

// promise is a commit that was acknowledged when so much had reached the disk.
type promise struct {
	stored
	by int
}

// writeOn has writers append so often each, and returns what was promised when.
func writeOn(t *testing.T, disk *blocktest.Disk, j Journal, writers, each, lines int) []promise {
	t.Helper()
	var mu sync.Mutex
	var promises []promise
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			campaign, last := uuid.NewString(), uint64(0)
			for range each {
				e := Entry{Campaign: campaign, ID: uuid.NewString(), Expected: last, Payload: []byte(strings.Repeat(campaign+"\n", lines))}
				seq, err := j.Append(context.Background(), e)
				if err != nil {
					t.Errorf("append: %v", err)
					return
				}
				by := disk.Len()
				last = seq
				mu.Lock()
				promises = append(promises, promise{stored{campaign, e.ID, seq}, by})
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return promises
}

// put is a key of the bucket that was promised when so much had reached the disk.
type put struct {
	key string
	by  int
}

const rebuiltBucket = "beside"

// putInto puts keys into a bucket and deletes every third of them, until it is told
// to stop, and returns what was promised when: a deleted key has the name "-".
func putInto(t *testing.T, disk *blocktest.Disk, j Journal, stop <-chan struct{}) (puts []put) {
	t.Helper()
	bucket, err := j.Bucket(soon(t), rebuiltBucket)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		select {
		case <-stop:
			return puts
		default:
		}
		key := fmt.Sprintf("key-%d", i)
		if _, err := bucket.Put(soon(t), key, []byte(key)); err != nil {
			t.Errorf("put: %v", err)
			return puts
		}
		if i%3 > 0 {
			puts = append(puts, put{key, disk.Len()})
			continue
		}
		if err := bucket.Delete(soon(t), key); err != nil {
			t.Errorf("delete: %v", err)
			return puts
		}
		puts = append(puts, put{"-" + key, disk.Len()})
	}
}

// checkPuts says whether a bucket has what it must have at a moment.
func checkPuts(t *testing.T, dir string, puts []put, moment int) {
	t.Helper()
	j, err := Embedded(soon(t), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	bucket, err := j.Bucket(soon(t), rebuiltBucket)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range puts {
		if p.by > moment {
			return
		}
		key, gone := strings.CutPrefix(p.key, "-")
		value, _, err := bucket.Get(soon(t), key)
		if gone != errors.Is(err, ErrNotFound) || !gone && string(value) != key {
			t.Fatalf("bucket: %s is %q, %v", p.key, value, err)
		}
	}
}

// recorded writes to a store on a new disk, singly and together, to the end of a block
// and beyond it, and beside it into a bucket.
func recorded(t *testing.T, kind string, size int, unsafe bool) (*blocktest.History, []promise, []put) {
	t.Helper()
	disk := blocktest.New(t, size)
	disk.Format(kind)
	dir := filepath.Join(disk.Mount(), "store")
	history := disk.Record() // the making of the store is in it
	j, err := Embedded(soon(t), Options{Dir: dir, Partitions: 1, Unsafe: unsafe})
	if err != nil {
		t.Fatal(err)
	}
	var promises []promise
	var puts []put
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		puts = putInto(t, disk, j, stop)
	}()
	for _, phase := range []struct{ writers, each, lines int }{{1, 60, commandLines}, {2, 9, longLines}, {40, 15, commandLines}, {3, 40, commandLines}} {
		promises = append(promises, writeOn(t, disk, j, phase.writers, phase.each, phase.lines)...)
	}
	close(stop)
	<-stopped
	disk.Stop(history)
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	disk.Unmount()
	return history, promises, puts
}

// The power goes at any moment, below the file system: of what was written since the
// last flush the disk has all, some, or halves, in any order. Whatever disk comes of
// it, nothing that was acknowledged is lost, no commit is there by half or twice, and
// it is written on. A store that does not sync loses. The whole set is
// -rebuilds 1000.
func TestPowerCutRebuilt(t *testing.T) {
	if testing.Short() {
		t.Skip("builds disks for ten seconds and more")
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for kind, size := range map[string]int{"ext4": 64 << 20, "xfs": 320 << 20} {
		t.Run(kind, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 5))
			history, promises, puts := recorded(t, kind, size, false)
			disk := blocktest.New(t, size)
			cuts := history.Cuts(disk)
			held := 0
			for _, moment := range history.Moments(*rebuilds, random) {
				cuts.At(moment, random)
				acked := promised(promises, moment)
				held += len(acked)
				dir := filepath.Join(disk.Mount(), "store")
				checkStored(t, dir, acked)
				checkPuts(t, dir, puts, moment)
				goOn(t, dir)
				disk.Unmount()
				if t.Failed() {
					t.Fatalf("at moment %d", moment)
				}
			}
			t.Logf("%d disks of %d flushes, %d commits and %d puts: %d writes lost, %d torn; %d promises, all kept", *rebuilds, history.Flushes(), len(promises), len(puts), cuts.Lost, cuts.Torn, held)
		})
	}
	t.Run("without sync", func(t *testing.T) {
		random := rand.New(rand.NewPCG(seed, 5))
		history, promises, _ := recorded(t, "ext4", 64<<20, true)
		disk := blocktest.New(t, 64<<20)
		end := history.Moments(1, random)[0]
		history.Cuts(disk).At(end, random)
		acked := promised(promises, end)
		missed := lost(t, filepath.Join(disk.Mount(), "store"), acked)
		disk.Unmount()
		t.Logf("%d of %d promises broken", missed, len(acked))
		if missed == 0 {
			t.Error("nothing is lost without sync: the disks show nothing")
		}
	})
}

// promised are the commits that were acknowledged before a moment.
func promised(promises []promise, moment int) (acked []stored) {
	for _, p := range promises {
		if p.by <= moment {
			acked = append(acked, p.stored)
		}
	}
	return acked
}

// goOn appends to a store that was found after a power cut.
func goOn(t *testing.T, dir string) {
	t.Helper()
	j, err := Embedded(soon(t), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if _, err := j.Append(soon(t), Entry{Campaign: uuid.NewString(), ID: uuid.NewString(), Expected: 0, Payload: []byte("on we go")}); err != nil {
		t.Error(err)
	}
}
