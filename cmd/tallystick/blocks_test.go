package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tallystick/events/journal"
)

// runAway flips a high bit of the sequence of the fourth commit of the evening's
// partition, and returns the block file.
func (x *evening) runAway() string {
	x.t.Helper()
	stream := fmt.Sprint("LEDGER_", journal.PartitionOf(x.campaign, journal.DefaultPartitions))
	file := filepath.Join(x.data(), "journal", "store", "jetstream", "$G", "streams", stream, "msgs", "1.blk")
	text, err := os.ReadFile(file)
	if err != nil {
		x.t.Fatal(err)
	}
	at := 0
	for range 3 {
		at += int(binary.LittleEndian.Uint32(text[at:]) &^ (1 << 31))
	}
	text[at+4+6] ^= 1
	if err := os.WriteFile(file, text, 0o600); err != nil {
		x.t.Fatal(err)
	}
	return file
}

// wantNamed checks that what was said names the block, the campaign and the record.
func (x *evening) wantNamed(said, file string, n int) {
	x.t.Helper()
	for _, part := range []string{fmt.Sprintf("campaign %s, n %d:", x.campaign, n), filepath.Base(file), "LEDGER_", "byte ", "run tallystick restore"} {
		if !strings.Contains(said, part) {
			x.t.Errorf("%q is not said: %s", part, said)
		}
	}
}

// nOfFourth is the number of the first record of the fourth commit: the campaign's
// first commit, a participant, a session, and then a roll.
func nOfFourth(ledger string) int {
	for n, line := range strings.Split(ledger, "\n") {
		if strings.Contains(line, `"type":"roll.made"`) {
			return n
		}
	}
	return -1
}

// A block from which the store's server would count for ever: the server does not
// start and says which campaign and record it is; restore brings everything back.
// When the bit flips while it serves, it ends with the same words.
func TestRunawayBlock(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes a ledger through damage and restore twice")
	}
	x := newEvening(t)
	x.give("session.open", map[string]any{"title": "one", "kind": "table"})
	for range 5 {
		x.give("roll", map[string]any{"expression": "3d6"})
	}
	honest := x.ledger()
	n := nOfFourth(honest)
	x.stop()
	file := x.runAway()
	p, said := x.tryServe(t)
	if p != nil {
		t.Fatal("the server starts")
	}
	x.wantNamed(said, file, n)
	t.Logf("%s", said)
	x.must("restore", "--data", x.data())
	x.start()
	if got := x.ledger(); got != honest {
		t.Errorf("after restore the ledger is another one: %d bytes instead of %d", len(got), len(honest))
	}

	// The store's server keeps a block in memory until it was not used for ten
	// seconds; then the next reader makes it load the block.
	// Who comes to it otherwise, as what looks at the ledger behind the start may,
	// finds it damaged, and the campaign is read-only.
	file = x.runAway()
	again := func() {
		if p, said := x.tryServe(t); p != nil {
			t.Error("the server starts again")
		} else {
			x.wantNamed(said, file, n)
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- x.p.cmd.Wait() }()
	for end := time.Now().Add(2 * time.Minute); ; {
		select {
		case err := <-ended:
			if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != exitUnusable {
				t.Errorf("ended with %v", err)
			}
			x.wantNamed(x.p.stderr.String(), file, n)
			again()
			return
		case <-time.After(12 * time.Second):
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			_, err := x.p.text(ctx, "/v1/campaigns/"+x.campaign+"/ledger")
			cancel()
			t.Logf("read: %v", err)
			if p := new(problem); errors.As(err, &p) && p.Type == "/problems/read-only" {
				x.p.cmd.Process.Kill()
				<-ended
				again()
				return
			}
		}
		if time.Now().After(end) {
			t.Fatalf("the server goes on: %s", x.p.stderr)
		}
	}
}
