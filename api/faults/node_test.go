package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"tallystick/api/ledger"
	"tallystick/events"
	"tallystick/events/journal"
	"tallystick/projections/feed"
)

var keys = ledger.Keys{Master: bytes.Repeat([]byte{1}, 32), Signing: bytes.Repeat([]byte{2}, 32)}

// node is a place where a program runs, dies and comes back.
type node struct {
	s    *sim
	name int
	skew atomic.Int64 // of its wall clock, nanoseconds
	life int          // how often it was started

	mu       sync.Mutex // held for moments only
	up       *process
	starting bool
}

// process is one life of a node. Whatever runs in it ends where it is, between
// two steps, when the process dies.
type process struct {
	node   *node
	life   int
	ledger *ledger.Ledger
	hub    *feed.Hub

	answered map[int]int64 // records of a campaign that it answered; owned by sim.mu

	dead chan struct{}
	end  context.CancelFunc

	mu    sync.Mutex // held for moments only
	ended bool
	gates map[int]chan struct{}
	count map[string]int
}

// running is the node's process, nil while there is none.
func (n *node) running() *process {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.up
}

// start brings the node up, however often the store has to be asked.
func (n *node) start() {
	n.mu.Lock()
	idle := !n.starting && n.up == nil
	n.starting = n.starting || idle
	n.mu.Unlock()
	if !idle {
		return
	}
	for !n.tryStart() {
		n.s.pause(20*time.Millisecond, "start", n.name, n.life)
	}
}

func (n *node) tryStart() bool {
	n.mu.Lock()
	n.life++
	p := &process{node: n, life: n.life, dead: make(chan struct{}), gates: map[int]chan struct{}{}, count: map[string]int{}, answered: map[int]int64{}}
	n.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	p.end = cancel
	started := false
	if !p.do(func() { started = p.open(ctx) }) || !started {
		p.kill()
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.up, n.starting = p, false
	return true
}

func (p *process) open(ctx context.Context) bool {
	s := p.node.s
	var options []feed.Option
	if s.plan.Queue > 0 {
		options = append(options, feed.Queue(s.plan.Queue))
	}
	if s.plan.Budget > 0 {
		options = append(options, feed.Budget(int64(s.plan.Budget)*feed.RecordBytes))
	}
	p.hub = feed.NewHub(p.port("feed"), options...)
	if err := p.hub.Start(ctx); err != nil {
		return false
	}
	var err error
	p.ledger, err = ledger.New(ctx, ledger.Config{
		Journal: p.port("ledger"), Library: library, Keys: keys, Server: "sim.example", Committed: p.hub.Notify, Found: p.hub.Notify, Budget: int64(s.plan.Budget) * ledger.RecordBytes,
		Now:   func() time.Time { return time.Now().Add(time.Duration(p.node.skew.Load())) },
		NewID: s.newID,
	})
	return err == nil
}

// kill ends the process where it is.
func (p *process) kill() {
	p.mu.Lock()
	ended := p.ended
	p.ended = true
	p.mu.Unlock()
	if ended {
		return
	}
	close(p.dead)
	p.end()
	p.node.mu.Lock()
	if p.node.up == p {
		p.node.up = nil
	}
	p.node.mu.Unlock()
}

// stop ends the process as SIGTERM does: what is under way is brought to its end.
func (p *process) stop() {
	p.ledger.Close()
	p.kill()
}

// alive ends the goroutine if its process is dead.
func (p *process) alive() {
	if p.isDead() {
		runtime.Goexit()
	}
}

// do runs something in the process; false means that the process died over it.
func (p *process) do(f func()) bool {
	done := make(chan struct{})
	p.run(func() {
		f()
		p.alive()
		close(done)
	})
	select {
	case <-done:
	case <-p.dead:
	}
	return !p.isDead()
}

// run begins something in the process. A panic is a promise broken.
func (p *process) run(f func()) {
	p.node.s.background.Go(func() {
		defer func() {
			if broken := recover(); broken != nil {
				p.node.s.fail("panic: %v\n%s", broken, debug.Stack())
				p.kill()
				p.node.start()
			}
		}()
		f()
	})
}

func (p *process) isDead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

// step is a moment at which anything may happen: it takes its time, and the
// process may die in it. It returns a number below 1,000 that is its own.
func (p *process) step(kind string, parts ...any) int {
	key := fmt.Sprint(kind, parts)
	p.mu.Lock()
	p.count[key]++
	r := mix(p.node.s.plan.Seed, p.node.name, p.life, key, p.count[key])
	p.mu.Unlock()
	d := 100*time.Microsecond + time.Duration(r%2_000_003) // an odd length: nothing else ends at the same instant
	o := &p.node.s.plan.Odds
	faulty := !p.node.s.healed()
	if faulty && int(r>>16%1_000) < o.Slow {
		p.node.s.saw("slow step")
		d *= 1_000
	}
	p.node.s.pause(d)
	p.alive()
	if kind != "feed" && kind != "fan" && faulty && int(r>>32%1_000) < o.Crash {
		p.node.s.saw("crash at " + kind)
		p.kill()
		p.node.s.background.Go(func() { p.node.s.pause(50*time.Millisecond, "crash", key); p.node.start() })
		runtime.Goexit()
	}
	return int(r >> 48 % 1_000)
}

// gate lets one command at a time into a campaign at this process, as the
// ledger itself does with a lock that simulated time cannot wait for.
func (p *process) gate(campaign int) chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gates[campaign] == nil {
		p.gates[campaign] = make(chan struct{}, 1)
	}
	return p.gates[campaign]
}

// port is a process's way to the store.
type port struct {
	*journal.Memory
	p    *process
	kind string
}

var errBlind = errors.New("no answer (simulated)")

func (p *process) port(kind string) *port {
	s := p.node.s
	faults := &journal.Faults{
		Publish: func(e journal.Entry) journal.Outcome {
			r := p.step("publish", e.ID)
			if s.healed() {
				return journal.Proceed
			}
			for i, odds := range []int{s.plan.Odds.LostBefore, s.plan.Odds.LostAfter, s.plan.Odds.Delayed, s.plan.Odds.Full} {
				if r -= odds; r >= 0 {
					continue
				}
				if i == 2 {
					s.saw("delayed")
					s.background.Go(func() { s.late(e) })
					return journal.LostBefore
				}
				s.saw([]string{"lost before", "lost after", "", "full"}[i])
				return []journal.Outcome{journal.LostBefore, journal.LostAfter, 0, journal.Full}[i]
			}
			return journal.Proceed
		},
		Look: func(campaign string) error { return p.blind("look", campaign) },
	}
	return &port{Memory: s.store.Connect(faults), p: p, kind: kind}
}

// late stores an entry long after it was sent.
func (s *sim) late(e journal.Entry) {
	s.pause(time.Duration(mix(s.plan.Seed, "late", e.ID)%6_000)*time.Millisecond, e.ID)
	if _, err := s.store.Append(context.Background(), e); err == nil {
		s.saw("delayed and stored")
	}
}

// blind is a step that may fail.
func (p *process) blind(kind string, parts ...any) error {
	if r := p.step(kind, parts...); r < p.node.s.plan.Odds.Blind && !p.node.s.healed() {
		p.node.s.saw("blind")
		return errBlind
	}
	return nil
}

func (o *port) Append(ctx context.Context, e journal.Entry) (uint64, error) {
	o.p.alive()
	if done, seq, err := o.sabotaged(ctx, e); done {
		return seq, err
	}
	seq, err := o.Memory.Append(ctx, e)
	o.p.step("appended", e.ID)
	return seq, err
}

func (o *port) Read(ctx context.Context, campaign string, after uint64, each func(journal.Commit) error) error {
	if err := o.p.blind(o.kind, "read", campaign); err != nil {
		return err
	}
	return o.Memory.Read(ctx, campaign, after, each)
}

func (o *port) Follow(ctx context.Context, each func(journal.Commit)) error {
	return o.Memory.Follow(ctx, func(c journal.Commit) {
		o.p.step("fan", c.Seq)
		each(c)
	})
}

func (o *port) Bucket(ctx context.Context, name string) (journal.Bucket, error) {
	if err := o.p.blind("bucket", name); err != nil {
		return nil, err
	}
	b, err := o.Memory.Bucket(ctx, name)
	return &bucket{b, o.p}, err
}

// bucket is a process's way to a bucket, as far as the ledger uses one.
type bucket struct {
	journal.Bucket
	p *process
}

func (b *bucket) Get(ctx context.Context, key string) ([]byte, uint64, error) {
	if err := b.p.blind("get", key); err != nil {
		return nil, 0, err
	}
	return b.Bucket.Get(ctx, key)
}

func (b *bucket) Put(ctx context.Context, key string, value []byte) (uint64, error) {
	if err := b.p.blind("put", key); err != nil {
		return 0, err
	}
	revision, err := b.Bucket.Put(ctx, key, value)
	if lost := b.p.blind("kept", key); lost != nil {
		return 0, lost
	}
	return revision, err
}

// sabotage breaks a promise, so that the checks can be seen to find it.
type sabotage string

const (
	loses  sabotage = "loses what was answered"
	halves sabotage = "stores a command in two halves"
	stale  sabotage = "answers a read with an earlier state"
	twice  sabotage = "executes a retry once more"
	skips  sabotage = "skips a record for a follower"
)

func (o *port) sabotaged(ctx context.Context, e journal.Entry) (done bool, seq uint64, err error) {
	s := o.p.node.s
	if s.plan.sabotage != loses && s.plan.sabotage != halves || mix(s.plan.Seed, "sabotage", e.ID)%8 != 0 {
		return false, 0, nil
	}
	lines := events.SplitCommit(e.Payload)
	switch {
	case s.plan.sabotage == loses:
		return true, e.Expected + 1, nil
	case len(lines) < 2:
		return false, 0, nil
	}
	first, second := e, e
	first.Payload, second.Payload = lines[0], bytes.Join(lines[1:], []byte("\n"))
	second.ID += "b"
	if second.Expected, err = o.Memory.Append(ctx, first); err != nil {
		return true, 0, err
	}
	o.p.step("between the halves", e.ID)
	seq, err = o.Memory.Append(ctx, second)
	return true, seq, err
}
