package ledger_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tallystick/api/ledger"
	"tallystick/events"
	"tallystick/events/journal"
	"tallystick/replay"
	"tallystick/rules"
)

// wall is the clocks of a machine: the one on the wall, which can be moved, and
// the time that really passes.
type wall struct {
	now time.Time
	ran time.Duration
}

func newWall(now string) *wall {
	t, err := time.Parse(time.RFC3339, now)
	if err != nil {
		panic(err)
	}
	return &wall{now: t}
}

func (w *wall) pass(d time.Duration)  { w.now, w.ran = w.now.Add(d), w.ran+d }
func (w *wall) moved(d time.Duration) { w.now = w.now.Add(d) }

// post is a node with a ticker whose clocks are the test's.
type post struct {
	*shell
	*wall
	ticker *ledger.Ticker
}

func node(t testing.TB, j journal.Journal, w *wall) *post {
	t.Helper()
	l, err := ledger.New(context.Background(), ledger.Config{
		Journal: j, Library: embers, Keys: keys, Server: "test.example",
		Now: func() time.Time { return w.now }, Elapsed: func() time.Duration { return w.ran },
	})
	if err != nil {
		t.Fatal(err)
	}
	return &post{&shell{TB: t, Ledger: l, journal: j}, w, ledger.NewTicker(l)}
}

// playByPost is a node with a campaign in a session of posts, and a fire that
// is somebody's.
func playByPost(t testing.TB, j journal.Journal, w *wall, tempo string, points int) *post {
	t.Helper()
	p := node(t, j, w)
	if _, err := p.Create(context.Background(), campaign, rules.CampaignCreate{Name: "Letters", System: "ember", GM: "gm"}); err != nil {
		t.Fatal(err)
	}
	for id, c := range map[string][2]string{
		fireID:                                 {"character.create", fmt.Sprintf(`{"name":"Fire","kind":"pc","creation":"free","sheet":{"points":%d}}`, points)},
		"0192f1c0-9000-7000-8000-000000000001": {"session.open", `{"title":"one","kind":"play-by-post"}`},
	} {
		if _, err := p.do(rules.Command{ID: id, By: "gm", Type: c[0], Data: jsontext.Value(c[1])}); err != nil {
			t.Fatal(err)
		}
	}
	p.must("gm", "participant.add", `{"handle":"anna","role":"player"}`)
	p.must("gm", "tempo.set", tempo)
	return p
}

// beats lets time pass in steps, with a beat of the ticker after each.
func (p *post) beats(steps ...time.Duration) {
	for _, d := range steps {
		p.pass(d)
		p.ticker.Beat(context.Background())
	}
}

func (p *post) clock() (clock int64) {
	p.Helper()
	if err := p.State(context.Background(), campaign, func(c *rules.Campaign) error { clock = c.Clock; return nil }); err != nil {
		p.Fatal(err)
	}
	return clock
}

// same checks that the ledger decides the same again.
func (p *post) same() {
	p.Helper()
	r := replay.New(embers)
	if err := p.journal.Read(context.Background(), campaign, 0, func(c journal.Commit) error { return r.Commit(c.Payload) }); err != nil {
		p.Fatal(err)
	}
}

// ticks are when checks were due, in the order of the records.
func (p *post) ticks() (due []int64) {
	p.Helper()
	for _, r := range p.stored() {
		if r.Type == "tick.processed" {
			var e events.TickProcessed
			if err := json.Unmarshal(r.Data, &e); err != nil {
				p.Fatal(err)
			}
			due = append(due, e.Due)
		}
	}
	return due
}

// everyTen fails unless the checks are those due every ten seconds up to a
// game time, each once and in order.
func (p *post) everyTen(until int64) {
	p.Helper()
	due := p.ticks()
	if int64(len(due)) != until/10 {
		p.Fatalf("%d checks were decided by %d", len(due), until)
	}
	for i, at := range due {
		if at != int64(i+1)*10 {
			p.Fatalf("check %d was due at %d", i, at)
		}
	}
}

func store(t testing.TB, dir string) journal.Journal {
	t.Helper()
	j, err := journal.Embedded(t.Context(), journal.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

const loose = `{"game":"1s","wall":"1s","warn":"none","hold":"none"}`

// Checks fall due by themselves; a command finds the clock where it belongs;
// a server that was away comes back to one advance; a retry is no second one.
func TestClockFollows(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	j := store(t, dir)
	w := newWall("2026-11-30T19:00:00Z")
	p := playByPost(t, j, w, loose, 100_000)
	p.ticker.Beat(t.Context())
	if p.clock() != 0 {
		t.Fatalf("the clock stands at %d", p.clock())
	}
	p.beats(4*time.Second, 4*time.Second)
	if n := len(p.stored()); p.clock() != 0 || len(p.ticks()) != 0 {
		t.Fatalf("with nothing due the clock is at %d, %d records", p.clock(), n)
	}
	p.beats(2 * time.Second)
	p.everyTen(10)
	p.pass(5500 * time.Millisecond)
	p.must("anna", "note.add", `{"text":"posted"}`)
	if p.clock() != 15 {
		t.Fatalf("a post at 15.5 seconds was recorded at %d", p.clock())
	}
	p.beats(4500 * time.Millisecond)
	p.everyTen(20)

	p.Close()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	w.pass(3 * time.Hour)
	w.ran = 0 // another process, on a machine that was started anew
	j = store(t, dir)
	defer j.Close()
	p = node(t, j, w)
	before := len(p.stored())
	p.beats(0, 20*time.Second) // the lease of the one before has to be void first
	p.everyTen(20 + 3*3600 + 20)
	if n := count(p.stored()[before:], "clock.advanced"); n != 1 {
		t.Errorf("%d advances after the outage", n)
	}
	p.same()
}
