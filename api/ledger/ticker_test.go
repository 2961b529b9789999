package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats-server/v2/server"
	"pgregory.net/rapid"

	"tallystick/api/ledger"
	"tallystick/events"
	"tallystick/events/journal"
	"tallystick/events/merkle"
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

// The game time is that of the time that has passed, whatever somebody does to
// the server's clock; and over a restart it is that of the clocks on the wall.
func TestClockMoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	j := store(t, dir)
	w := newWall("2026-11-30T19:00:00Z")
	p := playByPost(t, j, w, loose, 100_000)
	p.beats(10 * time.Second)
	p.everyTen(10)
	w.moved(5 * time.Hour) // forward
	p.beats(10 * time.Second)
	p.everyTen(20)
	w.moved(-9 * time.Hour) // and back, before the session was opened
	p.beats(10 * time.Second)
	p.everyTen(30)
	p.beats(0)
	w.moved(time.Hour)
	p.beats(time.Second) // noticed, with nothing due
	p.Close()
	j.Close()

	w.pass(9 * time.Second) // away
	w.ran = 0
	j = store(t, dir)
	defer j.Close()
	p = node(t, j, w)
	p.beats(0)
	w.moved(-30 * 24 * time.Hour) // in the other process
	p.beats(20 * time.Second)
	p.everyTen(60)
	p.pass(7 * time.Second)
	p.must("anna", "note.add", `{"text":"now"}`)
	if p.clock() != 67 {
		t.Fatalf("67 seconds have passed, the clock stands at %d", p.clock())
	}
	last := ""
	for _, r := range p.stored() {
		if r.At < last {
			t.Fatalf("record %d is of %s, behind %s", r.N, r.At, last)
		}
		last = r.At
	}
	p.same()
}

// A clock that was moved back before the tempo is set does not stand still for
// as long as it was moved.
func TestClockMovedBefore(t *testing.T) {
	w := newWall("2026-11-30T19:00:00Z")
	p := playByPost(t, journal.NewMemory(1), w, loose, 100_000)
	w.moved(-2 * time.Hour)
	p.must("gm", "tempo.set", loose)
	p.beats(30 * time.Second)
	p.everyTen(30)
}

// beside is a second node on the same journal and with the same clocks.
func (p *post) beside(j journal.Journal) *post {
	other := node(p.TB, j, p.wall)
	other.wall = p.wall
	return other
}

// Two nodes on one NATS server: one has the lease, the other takes over when
// it falls silent, and no check is decided twice even when both tick.
func TestTwoTickers(t *testing.T) {
	opts := &server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true}
	s, err := server.NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer func() { s.Shutdown(); s.WaitForShutdown() }()
	connect := func() journal.Journal {
		j, err := journal.Connect(t.Context(), journal.Options{URL: s.ClientURL()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { j.Close() })
		return j
	}
	w := newWall("2026-11-30T19:00:00Z")
	one := playByPost(t, connect(), w, loose, 100_000)
	two := one.beside(connect())
	beat := func(d time.Duration) {
		w.pass(d)
		one.ticker.Beat(t.Context())
		two.ticker.Beat(t.Context())
	}
	beat(10 * time.Second)
	if !one.ticker.Ticks() || two.ticker.Ticks() {
		t.Fatalf("lease: %v %v", one.ticker.Ticks(), two.ticker.Ticks())
	}
	for range 6 {
		beat(5 * time.Second)
	}
	two.everyTen(40)
	if two.ticker.Ticks() {
		t.Fatal("the lease went over although it was renewed")
	}
	// The other node is where the posts arrive: it finds the clock where it belongs,
	// and its wound is seen by the node that ticks.
	w.pass(7 * time.Second)
	two.must("anna", "note.add", `{"text":"by the other node"}`)
	if two.clock() != 47 {
		t.Fatalf("the clock stands at %d", two.clock())
	}
	w.pass(2 * time.Second) // the first has not heard of it
	one.must("anna", "note.add", `{"text":"by this one"}`)
	if one.clock() != 49 {
		t.Fatalf("the clock stands at %d", one.clock())
	}
	// The first node falls silent.
	for range 4 {
		two.beats(5 * time.Second)
	}
	if !two.ticker.Ticks() {
		t.Fatal("nobody took over")
	}
	two.everyTen(60)
	one.ticker.Beat(t.Context())
	if one.ticker.Ticks() {
		t.Error("two nodes have the lease")
	}
	// Without any lease, all at once: still each check once.
	w.pass(40 * time.Second)
	done := make(chan error)
	for _, p := range []*post{one, two, one, two} {
		go func() { _, err := p.Tick(t.Context(), campaign); done <- err }()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	two.everyTen(100)
	two.same()
}

// The ids of what the ticker does are the same on every node, and after a
// crash, also when a check is decided late.
func TestTickerIDs(t *testing.T) {
	j := journal.NewMemory(1)
	p := playByPost(t, j, newWall("2026-11-30T19:00:00Z"), loose, 100_000)
	p.pass(10 * time.Second)
	dead := &dying{Journal: j}
	if _, err := p.beside(dead).Tick(t.Context(), campaign); err == nil {
		t.Fatal("the process did not die")
	}
	p.pass(7 * time.Second)
	if _, err := p.beside(j).Tick(t.Context(), campaign); err != nil {
		t.Fatal(err)
	}
	p.everyTen(10)
	stored := p.stored()
	if last := stored[len(stored)-1].Cmd.ID; dead.asked != last {
		t.Errorf("one node asked for %s, the other for %s", dead.asked, last)
	}
}

// Before a player character could die the clock stops, with a warning long
// before; nothing but time is held; and the game master lets it go on.
func TestHold(t *testing.T) {
	w := newWall("2026-11-30T19:00:00Z")
	p := playByPost(t, journal.NewMemory(1), w, `{"game":"1s","wall":"1m","warn":"25m"}`, 3)
	p.beats(0, time.Second)
	// Three points: the third check at 30 seconds, half an hour from now, is the
	// first that could put the fire out.
	if n := count(p.stored(), "tempo.warned"); n != 0 {
		t.Fatalf("warned half an hour ahead")
	}
	p.beats(5 * time.Minute)
	warned := p.one("tempo.warned")
	if want := `"due":30,"kind":"burn","when":"2026-11-30T19:30:00Z"`; !strings.Contains(string(warned.Data), want) {
		t.Fatalf("%s, want %s", warned.Data, want)
	}
	for range 600 {
		p.beats(time.Minute)
	}
	p.ticker.Beat(t.Context())
	held := p.one("tempo.held")
	var e events.TempoHeld
	if err := json.Unmarshal(held.Data, &e); err != nil {
		t.Fatal(err)
	}
	if p.clock() != e.Due-1 || e.After.Health.Points != 1 {
		t.Fatalf("held at %d before the check of %d, with %d points", p.clock(), e.Due, e.After.Health.Points)
	}
	due := len(p.ticks())
	p.must("anna", "note.add", `{"text":"what now?"}`)
	if p.clock() != e.Due-1 || len(p.ticks()) != due {
		t.Fatal("a post let time pass while the clock is held")
	}
	p.must("gm", "tempo.resume", `{}`)
	p.beats(0)
	for range 600 {
		p.beats(time.Minute)
	}
	if n := count(p.stored(), "tempo.held"); n != 1 {
		t.Errorf("held %d times for what the game master has seen", n)
	}
	if p.clock() < e.Due {
		t.Errorf("the clock does not go on: %d", p.clock())
	}
	p.same()
}

// Warnings come before the check even if nobody ticked in time.
func TestWarnedLate(t *testing.T) {
	w := newWall("2026-11-30T19:00:00Z")
	p := playByPost(t, journal.NewMemory(1), w, `{"game":"1s","wall":"1s","warn":"1h","hold":"none"}`, 1)
	p.beats(24 * time.Hour)
	warned, first := p.one("tempo.warned"), int64(0)
	for _, r := range p.stored() {
		if r.Type == "tick.processed" {
			first = r.N
			break
		}
	}
	if first < warned.N {
		t.Errorf("the first check is record %d, the warning %d", first, warned.N)
	}
}

// one is the one record of a type.
func (p *post) one(typ string) (found events.Record) {
	p.Helper()
	if n := count(p.stored(), typ); n != 1 {
		p.Fatalf("%d of %s", n, typ)
	}
	for _, r := range p.stored() {
		if r.Type == typ {
			found = r
		}
	}
	return found
}

// Quiet hours over the night in which Berlin puts its clocks on, pause and
// resume, and the end of the session.
func TestQuietPausedClosed(t *testing.T) {
	w := newWall("2026-03-28T20:00:00+01:00")
	p := playByPost(t, journal.NewMemory(1), w, `{"game":"10s","wall":"1h","warn":"none","hold":"none","quiet":{"zone":"Europe/Berlin","from":"22:00","to":"07:00"}}`, 100_000)
	p.beats(0)
	for range 18 {
		p.beats(time.Hour) // until 15:00 in the new time
	}
	p.everyTen(20 + 80)
	if p.clock() != 100 {
		t.Fatalf("the clock stands at %d", p.clock())
	}
	p.pass(30 * time.Minute)
	p.must("gm", "tempo.pause", `{"reason":"holidays"}`)
	p.beats(90 * 24 * time.Hour)
	if p.clock() != 105 {
		t.Fatalf("paused at 105, the clock stands at %d", p.clock())
	}
	p.must("gm", "tempo.resume", `{}`)
	p.beats(0, 30*time.Minute)
	p.everyTen(110)
	p.pass(30 * time.Minute)
	p.must("gm", "session.close", `{}`)
	if p.clock() != 115 {
		t.Fatalf("the session closes at %d", p.clock())
	}
	p.beats(time.Hour, time.Hour)
	p.everyTen(110)
	p.same()
}

// A game master who puts the clock on, or takes a command back, finds it
// following from there.
func TestClockPutOn(t *testing.T) {
	w := newWall("2026-11-30T19:00:00Z")
	p := playByPost(t, journal.NewMemory(1), w, loose, 100_000)
	p.pass(5 * time.Second)
	on := p.must("gm", "clock.advance", `{"seconds":1000}`)
	if p.clock() != 1_005 {
		t.Fatalf("the clock stands at %d", p.clock())
	}
	p.beats(5 * time.Second)
	p.everyTen(1_010)
	p.pass(3 * time.Second)
	p.must("gm", "correction.make", fmt.Sprintf(`{"command":%q,"reason":"too far"}`, on.Command))
	if p.clock() != 13 {
		t.Fatalf("taken back to %d", p.clock())
	}
	p.pass(4 * time.Second)
	p.must("anna", "note.add", `{"text":"on"}`)
	if p.clock() != 17 {
		t.Fatalf("the clock stands at %d", p.clock())
	}
	p.same()
}

// Whether the ticker decides in any steps, with posts in between, or once after
// an outage: the same checks with the same dice.
func TestAnySteps(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const whole = 10 * time.Minute
		once := playByPost(t, journal.NewMemory(1), newWall("2026-11-30T19:00:00Z"), loose, 100_000)
		once.beats(0, whole)
		often := playByPost(t, journal.NewMemory(1), newWall("2026-11-30T19:00:00Z"), loose, 100_000)
		often.beats(0)
		for left := whole; left > 0; {
			d := min(left, time.Duration(rapid.IntRange(1, 200_000).Draw(rt, "ms"))*time.Millisecond)
			left -= d
			often.pass(d)
			switch rapid.IntRange(0, 3).Draw(rt, "what") {
			case 0:
				often.must("anna", "note.add", `{"text":"posted"}`)
			case 1:
				often.moved(time.Duration(rapid.IntRange(-100, 100).Draw(rt, "moved")) * time.Hour)
			default:
				often.ticker.Beat(context.Background())
			}
		}
		often.ticker.Beat(context.Background())
		if a, b := once.outcomes(), often.outcomes(); !slices.Equal(a, b) {
			rt.Fatalf("at once %d records, in steps %d", len(a), len(b))
		}
		often.same()
	})
}

// outcomes are the rolls and checks that time brought about.
func (p *post) outcomes() (all []string) {
	for _, r := range p.stored() {
		if r.Type == "tick.processed" || r.Type == "roll.made" {
			all = append(all, fmt.Sprint(r.Clock, " ", r.Type, " ", string(r.Data)))
		}
	}
	return all
}

// What is no tempo is refused, and the field named; a retry of a tempo is the
// same tempo.
func TestTempoRefused(t *testing.T) {
	p := playByPost(t, journal.NewMemory(1), newWall("2026-11-30T19:00:00Z"), loose, 100_000)
	for data, field := range map[string]string{
		`{"game":"1h"}`:                          "wall",
		`{"game":"an hour","wall":"1d"}`:         "game",
		`{"game":"1d","wall":"1s"}`:              "game",
		`{"game":"1h","wall":"400d"}`:            "wall",
		`{"game":"1h","wall":"1d","warn":"0h"}`:  "warn",
		`{"game":"1h","wall":"1d","hold":"npc"}`: "hold",
		`{"game":"1h","wall":"1d","quiet":{"zone":"Middle/Earth","from":"22:00","to":"07:00"}}`: "quiet.zone",
		`{"game":"1h","wall":"1d","quiet":{"zone":"Local","from":"22:00","to":"07:00"}}`:        "quiet.zone",
		`{"game":"1h","wall":"1d","quiet":{"zone":"UTC","from":"22:00"}}`:                       "quiet.to",
		`{"game":"1h","wall":"1d","quiet":{"zone":"UTC","from":"24:00","to":"07:00"}}`:          "quiet.from",
		`{"game":"1h","wall":"1d","quiet":{"zone":"UTC","from":"07:00","to":"07:00"}}`:          "quiet.to",
		`{"game":"1h","wall":"1d","quiet":{"zone":"UTC"}}`:                                      "quiet.from",
		`{"game":"1h","wall":"1d","quiet":{"zone":"UTC","days":["moonday"]}}`:                   "quiet.days.0",
		`{"game":"1h","wall":"1d","quiet":{"zone":"UTC","days":["monday","monday"]}}`:           "quiet.days.1",
	} {
		_, err := p.do(command("gm", "tempo.set", data))
		var bad *rules.Invalid
		if !errors.As(err, &bad) || bad.Field != field {
			t.Errorf("%s: %v, want a complaint about %s", data, err, field)
		}
	}
	if _, err := p.do(command("anna", "tempo.pause", `{}`)); !errors.As(err, new(*rules.Forbidden)) {
		t.Errorf("a player pauses: %v", err)
	}
	if _, err := p.do(command("gm", rules.FollowType, `{"since":"2026-11-30T19:00:00.000Z","seconds":9,"at":"2026-11-30T19:00:09.000Z"}`)); !errors.As(err, new(*rules.Forbidden)) {
		t.Errorf("a game master follows: %v", err)
	}
	set := command("gm", "tempo.set", loose)
	for range 2 {
		p.pass(5 * time.Second)
		if _, err := p.do(set); err != nil {
			t.Fatal(err)
		}
	}
	p.pass(5 * time.Second)
	p.must("anna", "note.add", `{"text":"now"}`)
	if p.clock() != 15 {
		t.Errorf("15 seconds have passed, the clock stands at %d", p.clock())
	}
	p.must("gm", "session.close", `{}`)
	p.must("gm", "session.open", `{"title":"two","kind":"table"}`)
	var no *rules.Rejection
	if _, err := p.do(command("gm", "tempo.set", loose)); !errors.As(err, &no) || no.Code != "not_play_by_post" {
		t.Errorf("at a table: %v", err)
	}
}

// dying is a journal under a process that dies when it has stored so many
// commits more.
type dying struct {
	journal.Journal
	left  int
	asked string // id of the last command that it was asked to store
}

func (d *dying) Append(ctx context.Context, e journal.Entry) (uint64, error) {
	d.asked = e.ID
	if d.left == 0 {
		return 0, errors.New("the process is dead")
	}
	d.left--
	return d.Journal.Append(ctx, e)
}

// A process that dies in the middle of catching up leaves an advance half done.
// The next one ends it, and goes on from where the clock on the wall was then.
func TestDiesCatchingUp(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	j := store(t, dir)
	w := newWall("2026-11-30T19:00:00Z")
	p := playByPost(t, j, w, loose, 100_000)
	p.Close()
	w.pass(6 * time.Hour) // 2,160 checks: five commits
	p = node(t, &dying{Journal: j, left: 2}, w)
	if _, err := p.Tick(t.Context(), campaign); err == nil {
		t.Fatal("the process did not die")
	}
	p.Close()
	if n := len(p.ticks()); n == 0 || n >= 2_160 {
		t.Fatalf("%d checks were stored", n)
	}
	j.Close()
	w.pass(100 * time.Second)
	w.ran = 0
	j = store(t, dir)
	defer j.Close()
	p = node(t, j, w)
	if _, err := p.Tick(t.Context(), campaign); err != nil {
		t.Fatal(err)
	}
	p.everyTen(6*3600 + 100)
	p.same()
}

// So long an outage that one command cannot decide all of it: the next goes on
// where it was stopped.
func TestLongOutage(t *testing.T) {
	w := newWall("2026-11-30T19:00:00Z")
	p := playByPost(t, journal.NewMemory(1), w, loose, 100_000)
	outage := int64(10*rules.MaxTicks + 30)
	if testing.Short() {
		outage = 86_400
	}
	p.pass(time.Duration(outage) * time.Second)
	if _, err := p.Tick(t.Context(), campaign); err != nil {
		t.Fatal(err)
	}
	p.everyTen(outage)
	if p.clock() != outage {
		t.Errorf("the clock stands at %d", p.clock())
	}
}

// What time brought by itself can be taken back, too.
func TestFollowTakenBack(t *testing.T) {
	w := newWall("2026-11-30T19:00:00Z")
	p := playByPost(t, journal.NewMemory(1), w, loose, 100_000)
	p.beats(0, 30*time.Second, 20*time.Second)
	var first string
	for _, r := range p.stored() {
		if r.Cmd.Type == rules.FollowType && first == "" {
			first = r.Cmd.ID
		}
	}
	p.must("gm", "correction.make", fmt.Sprintf(`{"command":%q,"reason":"the wrong ratio"}`, first))
	if p.clock() != 20 {
		t.Fatalf("without the first half minute it is %d", p.clock())
	}
	p.pass(5 * time.Second)
	p.must("anna", "note.add", `{"text":"on"}`)
	if p.clock() != 25 {
		t.Errorf("the clock goes on to %d", p.clock())
	}
	p.same()
}

// While the seats of a session are open no check could be decided: no tempo is
// set.
func TestTempoNeedsSeats(t *testing.T) {
	w := newWall("2026-11-30T19:00:00Z")
	p := playByPost(t, journal.NewMemory(1), w, loose, 100_000)
	p.must("gm", "session.close", `{}`)
	p.must("gm", "session.open", `{"title":"two","kind":"play-by-post","devices":true}`)
	var no *rules.Rejection
	if _, err := p.do(command("gm", "tempo.set", loose)); !errors.As(err, &no) || no.Code != "seats_open" {
		t.Errorf("while the seats are open: %v", err)
	}
}

// Nothing but the rest of the ledger makes a beat of the ticker dear: one with
// nothing to do stores nothing.
func TestIdleBeats(t *testing.T) {
	w := newWall("2026-11-30T19:00:00Z")
	p := playByPost(t, journal.NewMemory(1), w, `{"game":"1s","wall":"1d"}`, 100_000)
	p.beats(0)
	before := len(p.stored())
	for range 100 {
		p.beats(time.Minute)
	}
	if after := len(p.stored()); after != before {
		t.Errorf("%d records were stored with nothing due", after-before)
	}
}

// A node that has not heard that the clock follows finds out before it decides
// a command.
func TestTempoOfAnotherNode(t *testing.T) {
	j := journal.NewMemory(1)
	one := playByPost(t, j, newWall("2026-11-30T19:00:00Z"), loose, 100_000)
	one.must("gm", "tempo.pause", `{}`)
	two := one.beside(j)
	two.clock() // has it in memory
	one.must("gm", "tempo.resume", `{}`)
	one.pass(7 * time.Second)
	two.must("anna", "note.add", `{"text":"now"}`)
	if two.clock() != 7 {
		t.Errorf("the clock stands at %d", two.clock())
	}
}

// Where the rules do not let time pass, because a loss fell into the session
// and its dice have been seen, the tempo says so and everything else goes on.
func TestStuck(t *testing.T) {
	w := newWall("2026-11-30T19:00:00Z")
	p := playByPost(t, journal.NewMemory(1), w, loose, 100_000)
	p.beats(0, 20*time.Second)
	signer, err := merkle.NewSigner("test.example", campaign, keys.Signing)
	if err != nil {
		t.Fatal(err)
	}
	log, err := merkle.ParseOrigin(signer.Origin())
	if err != nil {
		t.Fatal(err)
	}
	log.Number++
	anew, err := signer.Anew(log)
	if err != nil {
		t.Fatal(err)
	}
	size := int64(len(p.stored()))
	lost, err := signer.Sign(size+5, merkle.Hash{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := rules.Canonical(&rules.LedgerRecover{Lost: string(lost), Size: size, VKey: anew.VKey()})
	if err != nil {
		t.Fatal(err)
	}
	p.must(rules.SystemPrincipal, "ledger.recover", string(data))
	p.beats(20*time.Second, 20*time.Second)
	p.must("anna", "note.add", `{"text":"and now?"}`)
	f, err := p.Following(t.Context(), campaign)
	if err != nil || !strings.Contains(f.Stuck, "lost") {
		t.Errorf("stuck: %q, %v", f.Stuck, err)
	}
	p.everyTen(20)
	p.must("gm", "session.close", `{}`)
	p.must("gm", "session.open", `{"title":"two","kind":"play-by-post"}`)
	p.must("gm", "tempo.set", loose)
	p.beats(10 * time.Second)
	if f, err = p.Following(t.Context(), campaign); err != nil || f.Stuck != "" {
		t.Errorf("after a new session: %q, %v", f.Stuck, err)
	}
	p.everyTen(30)
	p.same()
}
