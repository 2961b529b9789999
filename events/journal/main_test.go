package journal

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
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
	childHow     = "TALLYSTICK_JOURNAL_CHILD_HOW"
)

// How a child may get it wrong on purpose.
const (
	early = "early" // it acknowledges before it appends
	plain = "plain" // it appends a command line by line
)

// How long commits are. Sixteen long ones do not fit in one block.
const (
	commandLines = 8
	longLines    = 15000
)

// The long form of TestKill; docs/reliability.md has what it gave.
var kills = flag.Int("kills", 5, "how often TestKill kills a process that appends")

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
	how := os.Getenv(childHow)
	var out sync.Mutex
	tell := func(s stored) {
		out.Lock()
		defer out.Unlock()
		fmt.Println("stored", s.campaign, s.id, s.seq)
	}
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			campaign, last := uuid.NewString(), uint64(0)
			pieces := []string{strings.Repeat(campaign+"\n", commandLines)}
			if how == plain {
				pieces = slices.Repeat([]string{campaign + "\n"}, commandLines)
			}
			for {
				id := uuid.NewString()
				if how == early {
					tell(stored{campaign, id, last + 1})
				}
				for i, piece := range pieces {
					e := Entry{Campaign: campaign, ID: id, Expected: last, Payload: []byte(piece)}
					if i > 0 {
						e.ID = fmt.Sprintf("%s.%d", id, i)
					}
					seq, err := j.Append(context.Background(), e)
					if err != nil {
						fmt.Println("error", err)
						os.Exit(1)
					}
					last = seq
				}
				if how != early {
					tell(stored{campaign, id, last})
				}
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
func runAndKill(t *testing.T, dir string, writers int, random *rand.Rand, how ...string) []stored {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), childDir+"="+dir, fmt.Sprintf("%s=%d", childWriters, writers)), how...)
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

// killsAStore is how many kills one store sees: the whole of it is read after each.
const killsAStore = 50

// A process killed at any moment has lost nothing that it acknowledged, and what
// it was about to store is there whole or not at all, and once. The whole set is
// -kills 1000.
func TestKill(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var dir string
	var acked []stored
	total := 0
	for i := range *kills {
		if i%killsAStore == 0 {
			dir, acked = t.TempDir(), nil
		}
		fresh := runAndKill(t, dir, []int{1, 40, 3, 40, 1}[i%5], random)
		if len(fresh) == 0 {
			t.Fatalf("kill %d: the child has stored nothing", i)
		}
		acked = append(acked, fresh...)
		total += len(fresh)
		checkStored(t, dir, acked)
	}
	t.Logf("%d kills, %d acknowledged, none lost", *kills, total)
}

// A process that acknowledges before it stores loses when it is killed: that the check
// above sees it is shown here.
func TestKillSeesSabotage(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(rand.Uint64(), 0))
	for range 20 {
		dir := t.TempDir()
		acked := runAndKill(t, dir, 1, random, childHow+"="+early)
		if lost(t, dir, acked) > 0 {
			return
		}
	}
	t.Error("twenty processes that acknowledged too early have lost nothing: the check shows nothing")
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
			if text := string(c.Payload); text != strings.Repeat(campaign+"\n", commandLines) && text != strings.Repeat(campaign+"\n", longLines) {
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

// A command that is stored line by line is there by half when its process is killed:
// why a command is one message, and that such halves would be seen.
func TestKillShowsHalves(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(rand.Uint64(), 0))
	for range 20 {
		dir := t.TempDir()
		runAndKill(t, dir, 3, random, childHow+"="+plain)
		lines := map[string]int{}
		for _, c := range all(t, dir) {
			id, _, _ := strings.Cut(c.ID, ".")
			lines[id]++
		}
		for _, n := range lines {
			if n < commandLines {
				return
			}
		}
	}
	t.Error("twenty processes that were killed have left no half command: the check shows nothing")
}

// lost counts what was acknowledged and is not there.
func lost(t *testing.T, dir string, acked []stored) int {
	t.Helper()
	there := map[stored]bool{}
	for _, c := range all(t, dir) {
		there[stored{c.Campaign, c.ID, c.Seq}] = true
	}
	n := 0
	for _, s := range acked {
		if !there[s] {
			n++
		}
	}
	return n
}

// all reads whatever a store has.
func all(t *testing.T, dir string) (commits []Commit) {
	t.Helper()
	j, err := Embedded(context.Background(), Options{Dir: dir, Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	campaigns, err := j.Campaigns(soon(t), "", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, campaign := range campaigns {
		if err := j.Read(soon(t), campaign, 0, func(c Commit) error {
			commits = append(commits, c)
			return nil
		}); err != nil {
			t.Log(err)
		}
	}
	return commits
}
