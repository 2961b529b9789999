package main

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"tallystick/events/journal/blocktest"
)

// badDisk is a way in which a disk goes bad.
type badDisk struct {
	name string
	fate func(blocktest.Op) blocktest.Outcome
}

func badDisks() []badDisk {
	failed := func(is bool) blocktest.Outcome {
		if is {
			return blocktest.Failed
		}
		return blocktest.Done
	}
	var writes, flushes atomic.Int64
	return []badDisk{
		{"every flush", func(o blocktest.Op) blocktest.Outcome { return failed(o.Flush()) }},
		{"every write", func(o blocktest.Op) blocktest.Outcome { return failed(!o.Flush()) }},
		{"ten writes", func(o blocktest.Op) blocktest.Outcome { return failed(!o.Flush() && writes.Add(1) <= 10) }},
		{"ten flushes", func(o blocktest.Op) blocktest.Outcome { return failed(o.Flush() && flushes.Add(1) <= 10) }},
	}
}

// A table whose disk begins to answer with I/O errors, on writes or on flushes, for
// ever or for a moment. Nothing that was answered is lost, before and after a new
// start; reading goes on; what is refused is refused with 503 or 507, and not as if
// the ledger were damaged; /readyz says what is wrong. When the disk is well again,
// and the server started anew, it is played on.
func TestDiskErrors(t *testing.T) {
	t.Parallel() // it waits most of the time
	disks := badDisks()
	if testing.Short() {
		disks = disks[:1]
	}
	for _, bad := range disks {
		t.Run(bad.name, func(t *testing.T) { t.Parallel(); playOnBadDisk(t, bad) })
	}
	t.Run("a disk that only pretends", func(t *testing.T) { t.Parallel(); playOnLiar(t) })
}

// playOnDisk plays at a new table on a new disk until 40 commands were answered.
func playOnDisk(t *testing.T, c *crowdOf, stop chan struct{}) (disk *blocktest.Disk, data, campaign string, p *process) {
	t.Helper()
	disk = blocktest.New(t, 64<<20)
	disk.Format("ext4")
	data = filepath.Join(disk.Mount(), "data")
	p = serve(t, data)
	campaign = p.newCampaign("rpgamix")
	if _, err := p.command(t.Context(), campaign, "session.open", map[string]any{"title": "one", "kind": "table"}); err != nil {
		t.Fatal(err)
	}
	c.play(p, campaign, 4, stop)
	await(t, "commands come in", func() bool { return c.count() > 40 })
	return disk, data, campaign, p
}

// anew starts the server again on the disk as it is.
func anew(t *testing.T, disk *blocktest.Disk, data string, p *process) *process {
	t.Helper()
	token := p.token
	p.kill()
	disk.Fail(nil)
	disk.Unmount()
	disk.Mount()
	p = serve(t, data)
	p.token = token
	return p
}

// A disk that says it has written what it has not: the check below it must see that
// answers are lost.
func playOnLiar(t *testing.T) {
	stop := make(chan struct{})
	var c crowdOf
	disk, data, campaign, p := playOnDisk(t, &c, stop)
	disk.Fail(func(blocktest.Op) blocktest.Outcome { return blocktest.Pretended })
	before := c.count()
	await(t, "it goes on as if nothing were", func() bool { return c.count() > before+40 })
	close(stop)
	c.group.Wait()
	p = anew(t, disk, data, p)
	if err := findAnswered(p, campaign, c.answered); err == nil {
		t.Error("a disk that writes nothing has lost nothing: the check shows nothing")
	}
	p.kill() // before its disk goes
}

func playOnBadDisk(t *testing.T, bad badDisk) {
	stop := make(chan struct{})
	var c crowdOf
	disk, data, campaign, p := playOnDisk(t, &c, stop)
	disk.Fail(bad.fate)
	await(t, "commands are refused", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.refused[http.StatusInsufficientStorage]+c.refused[http.StatusServiceUnavailable] > 20
	})
	close(stop)
	c.group.Wait()
	for status, times := range c.refused {
		t.Logf("%d answers with %d", times, status)
		if status != http.StatusInsufficientStorage && status != http.StatusServiceUnavailable {
			t.Errorf("%d on a disk that fails", status)
		}
	}
	checkAnswered(t, p, campaign, 0, c.answered) // reading goes on
	ready, err := askReady(t.Context(), p.base)
	if err != nil || len(ready.Red) > 0 || !slices.Contains(ready.Problems, "the journal cannot be written") || slices.Contains(ready.Problems, "the journal is not whole") {
		t.Errorf("on a disk that fails: %+v, %v", ready, err)
	}
	t.Log("readyz: ", strings.Join(ready.Problems, "; "))
	p = anew(t, disk, data, p)
	checkAnswered(t, p, campaign, 1, c.answered)
	if _, err := p.command(t.Context(), campaign, "note.add", map[string]any{"text": "the disk is well again"}); err != nil {
		t.Error(err)
	}
	ready, err = askReady(t.Context(), p.base)
	if err == nil && len(ready.Problems) == 1 && strings.HasPrefix(ready.Problems[0], "the torn end was cut: ") {
		// What the archive had not written yet went with the disk. It says so until the
		// next start, and has it from the journal by then.
		p = anew(t, disk, data, p)
		checkAnswered(t, p, campaign, 2, c.answered)
		ready, err = askReady(t.Context(), p.base)
	}
	if err != nil || ready.Status != "ready" {
		t.Errorf("when it is well again: %+v, %v", ready, err)
	}
	t.Logf("%d answered, none lost", len(c.answered))
	p.kill() // before its disk goes
}
