package journal

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"
)

const (
	childDir     = "TALLYSTICK_JOURNAL_CHILD_DIR"
	childWriters = "TALLYSTICK_JOURNAL_CHILD_WRITERS"
	childUnsafe  = "TALLYSTICK_JOURNAL_CHILD_UNSAFE"
)

// TestMain lets the test binary be its own victim, and looks for goroutines that
// outlive every journal.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		appendForEver(dir)
	}
	slog.SetDefault(slog.New(slog.DiscardHandler)) // tests break stores on purpose
	goleak.VerifyTestMain(m)
}

// appendForEver appends and prints each acknowledged commit until it is killed.
func appendForEver(dir string) {
	j, err := Embedded(context.Background(), Options{Dir: dir, Partitions: 1, Unsafe: os.Getenv(childUnsafe) != ""})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	var writers int
	fmt.Sscan(os.Getenv(childWriters), &writers)
	var out sync.Mutex
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			campaign, last := uuid.NewString(), uint64(0)
			for {
				e := Entry{campaign, uuid.NewString(), last, []byte(strings.Repeat(campaign+"\n", 8))}
				seq, err := j.Append(context.Background(), e)
				if err != nil {
					fmt.Println("error", err)
					os.Exit(1)
				}
				last = seq
				out.Lock()
				fmt.Println("stored", campaign, e.ID, seq)
				out.Unlock()
			}
		})
	}
	all.Wait()
}

type stored struct {
	campaign, id string
	seq          uint64
}

// runAndKill starts a child on the folder and kills it after a random while with
// commits under way. It returns what the child was told is stored.
func runAndKill(t *testing.T, dir string, writers int, random *rand.Rand) []stored {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir, fmt.Sprintf("%s=%d", childWriters, writers))
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var acked []stored
	var kill *time.Timer
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		if kill == nil {
			kill = time.AfterFunc(time.Duration(random.IntN(250))*time.Millisecond, func() { cmd.Process.Kill() })
		}
		var s stored
		if _, err := fmt.Sscanf(lines.Text(), "stored %s %s %d", &s.campaign, &s.id, &s.seq); err != nil {
			if strings.HasPrefix(lines.Text(), "error") {
				t.Errorf("child: %s", lines.Text())
			}
			continue // the last line may be cut
		}
		acked = append(acked, s)
	}
	cmd.Wait()
	return acked
}

// A process killed at any moment has lost nothing that it acknowledged, and what
// it was about to store is there whole or not at all.
func TestKill(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	var acked []stored
	for _, writers := range []int{1, 40, 3, 40, 1} {
		fresh := runAndKill(t, dir, writers, random)
		if len(fresh) == 0 {
			t.Fatalf("a child with %d writers stored nothing", writers)
		}
		acked = append(acked, fresh...)
		checkStored(t, dir, acked)
	}
	t.Logf("%d acknowledged, none lost", len(acked))
}

func checkStored(t *testing.T, dir string, acked []stored) {
	t.Helper()
	ctx := context.Background()
	j, err := Embedded(ctx, Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if h := j.Health(ctx); !h.Sound() {
		t.Errorf("health: %+v", h)
	}
	at := map[stored]bool{}
	campaigns, err := j.Campaigns(ctx, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, campaign := range campaigns {
		ids := map[string]bool{}
		err := j.Read(ctx, campaign, 0, func(c Commit) error {
			if ids[c.ID] {
				t.Errorf("sequence %d: commit %s stands twice", c.Seq, c.ID)
			}
			ids[c.ID] = true
			if string(c.Payload) != strings.Repeat(campaign+"\n", 8) {
				t.Errorf("sequence %d: other bytes", c.Seq)
			}
			at[stored{campaign, c.ID, c.Seq}] = true
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range acked {
		if !at[s] {
			t.Fatalf("acknowledged and lost: %+v", s)
		}
	}
}
