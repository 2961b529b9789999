package faults

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tallystick/api/ledger"
	"tallystick/events"
	"tallystick/events/journal"
	"tallystick/projections"
	"tallystick/projections/feed"
	"tallystick/rules"
)

// sim is a run under way: nodes over one store, clients, and a clock that jumps
// from one step to the next, so that exactly one thing happens at a time.
type sim struct {
	plan  plan
	store *journal.Memory
	nodes []*node
	begun time.Time

	background sync.WaitGroup // what is no client's
	settled    chan struct{}  // closed when every command has its answer

	mu       sync.Mutex // held for moments only
	ids      int
	seen     map[string]int // what happened how often
	wrong    []string
	intents  []*intent
	follows  []*following
	readings []reading
	answered map[int]int64 // records of a campaign that were answered
}

// intent is a command that a client wants executed once.
type intent struct {
	step     step
	cmd      rules.Command
	campaign string
	begun    time.Time
	ended    time.Time
	answers  []ledger.Answer // to every client that asked
	refused  []refusal
	overlaps bool // asked again while it may still be under way
}

// refusal is one answer of the rules that say no.
type refusal struct {
	in        *intent
	err       error
	low, high int64 // records answered before it was asked; stored when it came
}

// reading is what a node told of a campaign.
type reading struct {
	step       step
	low, own   int64 // records answered before by any node, and by this process
	checkpoint []byte
	position   int64
}

// following is what a client was told by a feed.
type following struct {
	step     step
	campaign string
	from     int64
	lines    []string
}

// run executes a plan and returns what went wrong, what happened how often, and
// a sum over everything that was stored and answered.
func run(t *testing.T, p plan) (wrong []string, seen map[string]int, sum string) {
	synctest.Test(t, func(t *testing.T) {
		s := &sim{
			plan: p, store: journal.NewMemory(2), begun: time.Now(), settled: make(chan struct{}),
			seen: map[string]int{}, answered: map[int]int64{},
		}
		for i := range p.Nodes {
			s.nodes = append(s.nodes, &node{s: s, name: i})
		}
		s.play()
		s.check(t)
		wrong, seen, sum = s.wrong, s.seen, s.sum()
		for _, n := range s.nodes {
			if p := n.running(); p != nil {
				p.kill()
				p.hub.Close()
			}
		}
		s.store.Close()
		s.background.Wait()
	})
	return wrong, seen, sum
}

// saw counts that something happened.
func (s *sim) saw(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[what]++
}

// fail notes that a promise was broken.
func (s *sim) fail(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrong = append(s.wrong, fmt.Sprintf(format, args...))
}

// pause waits for d and a little more, which depends on who waits: two that were
// woken by one event do not end at one instant.
func (s *sim) pause(d time.Duration, who ...any) {
	time.Sleep(d + time.Duration(mix(s.plan.Seed, "pause", who)%100_003))
}

func (s *sim) newID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids++
	return uid(s.plan.Seed, "record", s.ids)
}

// healed reports whether the time of faults is over.
func (s *sim) healed() bool { return time.Since(s.begun) > horizon*time.Millisecond }

func (s *sim) campaign(i int) string { return uid(s.plan.Seed, "campaign", i) }

// play runs all steps and waits for every answer.
func (s *sim) play() {
	for i, n := range s.nodes {
		s.background.Go(func() { s.pause(0, "node", i); n.start() })
	}
	var clients, followers sync.WaitGroup
	for i, system := range s.plan.Systems {
		in := &intent{campaign: s.campaign(i), step: step{N: -1 - i, Node: i, Campaign: i, Do: doCommand, Type: "campaign.create"}}
		in.cmd = rules.Command{ID: in.campaign, Type: "campaign.create", Data: jsontext.Value(system)}
		s.intents = append(s.intents, in)
		clients.Go(func() { s.pause(0, "create", i); s.insist(in, in.step.N, in.step.Node) })
	}
	byStep := map[int]*intent{}
	for _, st := range s.plan.Steps {
		if st.Do == doCommand || st.Do == doSecret {
			in := &intent{step: st, campaign: s.campaign(st.Campaign)}
			in.cmd = rules.Command{ID: uid(s.plan.Seed, st.N), By: st.By, Type: st.Type, Data: jsontext.Value(st.Data)}
			byStep[st.N] = in
			s.intents = append(s.intents, in)
		}
	}
	for _, st := range s.plan.Steps {
		clients.Go(func() {
			s.pause(time.Duration(st.At)*time.Millisecond, "step", st.N)
			n := s.nodes[st.Node%len(s.nodes)]
			switch st.Do {
			case doCommand, doSecret:
				s.insist(byStep[st.N], st.N, st.Node)
			case doAgain:
				if in := byStep[st.Of]; in != nil {
					s.insist(in, st.N, st.Node)
				}
			case doCrash, doStop:
				s.interrupt(n, st)
			case doClock:
				s.saw("clock jump")
				n.skew.Add(int64(st.For) * int64(time.Second))
			case doRead:
				s.read(n, st)
			case doFollow:
				f := &following{step: st, campaign: s.campaign(st.Campaign)}
				s.mu.Lock()
				s.follows = append(s.follows, f)
				s.mu.Unlock()
				followers.Go(func() { s.follow(f) })
			}
		})
	}
	clients.Wait()
	time.Sleep(10 * time.Second) // what is under way somewhere comes to its end
	close(s.settled)
	followers.Wait()
}

func (s *sim) interrupt(n *node, st step) {
	p := n.running()
	if p == nil {
		return
	}
	s.saw(st.Do)
	if st.Do == doStop {
		p.stop()
	} else {
		p.kill()
	}
	s.pause(time.Duration(st.For)*time.Millisecond, "down", st.N)
	n.start()
}

// insist asks for a command until it is answered or refused.
func (s *sim) insist(in *intent, asker, first int) {
	s.mu.Lock()
	if in.begun.IsZero() {
		in.begun = time.Now()
	} else {
		in.overlaps = true
	}
	s.mu.Unlock()
	cmd := in.cmd
	for try := 0; time.Since(s.begun) < 20*horizon*time.Millisecond; try++ {
		p := s.nodes[(first+try)%len(s.nodes)].running()
		if p == nil {
			s.pause(20*time.Millisecond, "down", asker, try)
			continue
		}
		if s.plan.sabotage == twice && try > 0 {
			cmd.ID = uid(s.plan.Seed, in.step.N, "again", min(try, 199))
		}
		s.mu.Lock()
		low := s.answered[in.step.Campaign]
		s.mu.Unlock()
		a, err := s.ask(p, in, cmd, asker, try)
		if s.take(p, in, low, a, err) {
			return
		}
		s.pause(time.Duration(5+try)*time.Millisecond, "retry", asker, try)
	}
	s.fail("step %d: %s was never answered", in.step.N, in.cmd.Type)
}

// errGone is what a client sees of a node that dies, or that it has no more
// patience with.
var errGone = errors.New("the connection is gone")

// ask gives a command to a process once.
func (s *sim) ask(p *process, in *intent, cmd rules.Command, asker, try int) (a ledger.Answer, err error) {
	type outcome struct {
		a   ledger.Answer
		err error
	}
	came := make(chan outcome, 1)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p.run(func() {
		select {
		case p.gate(in.step.Campaign) <- struct{}{}:
			defer func() { <-p.gate(in.step.Campaign) }()
		case <-p.dead:
			return
		}
		var o outcome
		switch {
		case in.step.N < 0:
			o.a, o.err = p.ledger.Create(ctx, in.campaign, rules.CampaignCreate{Name: "Simulated", System: string(in.cmd.Data), GM: "gm"})
		case in.step.Do == doSecret:
			o.a, o.err = p.ledger.ExecuteSecret(ctx, in.campaign, cmd)
		default:
			o.a, o.err = p.ledger.Execute(ctx, in.campaign, cmd)
		}
		p.alive()
		came <- o
	})
	patience := time.Minute
	if r := mix(s.plan.Seed, "patience", asker, try); int(r%1_000) < s.plan.Odds.Impatient && !s.healed() {
		patience = time.Millisecond + time.Duration(r>>16%50_000_017)
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case o := <-came:
		return o.a, o.err
	case <-p.dead:
		return a, errGone
	case <-timer.C:
		s.saw("hung up")
		s.mu.Lock()
		in.overlaps = true
		s.mu.Unlock()
		return a, errGone
	}
}

// take takes in what a process said; false means that the client asks again.
func (s *sim) take(p *process, in *intent, low int64, a ledger.Answer, err error) bool {
	var (
		invalid   *rules.Invalid
		rejection *rules.Rejection
		forbidden *rules.Forbidden
		unclear   *journal.UnclearError
		red       *ledger.RedError
	)
	high := s.records(in.campaign)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.seen["answered"]++
		s.answered[in.step.Campaign] = max(s.answered[in.step.Campaign], a.Last+1)
		p.answered[in.step.Campaign] = max(p.answered[in.step.Campaign], a.Last+1)
		if a.Repeated {
			s.seen["repeated"]++
		}
		in.answers = append(in.answers, a)
		if in.ended.IsZero() {
			in.ended = time.Now()
		}
		return true
	case errors.As(err, &rejection), errors.As(err, &invalid), errors.As(err, &forbidden):
		s.seen["refused"]++
		in.refused = append(in.refused, refusal{in, err, low, high})
		return true
	case errors.As(err, &red):
		s.wrong = append(s.wrong, fmt.Sprintf("step %d: nothing is damaged, but %v", in.step.N, err))
		return true
	case errors.As(err, &unclear):
		s.seen["unclear"]++
	case errors.Is(err, ledger.ErrUnknownCampaign):
		s.seen["unknown campaign"]++
	case errors.Is(err, journal.ErrFull):
		s.seen["507"]++
	case errors.Is(err, errGone), errors.Is(err, errBlind), errors.Is(err, ledger.ErrClosing), errors.Is(err, context.Canceled):
	default:
		s.wrong = append(s.wrong, fmt.Sprintf("step %d: %s: an error that no client could know: %v", in.step.N, in.cmd.Type, err))
		return true
	}
	return false
}

// read asks a node for a campaign's checkpoint and view, once.
func (s *sim) read(n *node, st step) {
	p := n.running()
	if p == nil {
		return
	}
	s.mu.Lock()
	r := reading{step: st, low: s.answered[st.Campaign], own: p.answered[st.Campaign]}
	s.mu.Unlock()
	var err error
	alive := p.do(func() {
		if r.checkpoint, err = s.checkpoint(p, st.Campaign); err == nil {
			err = p.hub.View(context.Background(), s.campaign(st.Campaign), -1, func(v *projections.Views) error { r.position = v.Position(); return nil })
		}
	})
	if !alive || errors.Is(err, errBlind) || errors.Is(err, feed.ErrClosed) || errors.Is(err, ledger.ErrUnknownCampaign) && r.low == 0 {
		return
	}
	if err != nil {
		s.fail("step %d: %v", st.N, err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen["read"]++
	s.readings = append(s.readings, r)
}

func (s *sim) checkpoint(p *process, campaign int) ([]byte, error) {
	select {
	case p.gate(campaign) <- struct{}{}:
		defer func() { <-p.gate(campaign) }()
		return p.ledger.Checkpoint(context.Background(), s.campaign(campaign), 0)
	case <-p.dead:
		return nil, errGone
	}
}

// follow reads a feed to its end, wherever it has to begin again.
func (s *sim) follow(f *following) {
	f.from = int64(f.step.Of)
	next := f.from
	for try := 0; ; try++ {
		if time.Since(s.begun) > 40*horizon*time.Millisecond {
			s.fail("step %d: the feed came to record %d and no further", f.step.N, next)
			return
		}
		p := s.nodes[(f.step.Node+try)%len(s.nodes)].running()
		if p == nil {
			s.pause(20*time.Millisecond, "down", f.step.N, try)
			continue
		}
		if try > 0 {
			s.saw("follower resumed")
		}
		sub := p.hub.Subscribe(f.campaign, next)
		done := s.consume(p, sub, f, &next)
		sub.Close()
		if done {
			return
		}
		s.pause(30*time.Millisecond, "resume", f.step.N, try)
	}
}

// consume reads one subscription; true means that there is nothing more to come.
func (s *sim) consume(p *process, sub *feed.Subscription, f *following, next *int64) bool {
	for {
		var d feed.Delivery
		var err error
		alive := p.do(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			defer cancel()
			d, err = sub.Next(ctx)
		})
		if !alive {
			return false
		}
		switch {
		case err == nil:
			if d.Record.N != *next {
				s.fail("step %d: the feed gave record %d, expected %d", f.step.N, d.Record.N, *next)
				return true
			}
			f.lines = append(f.lines, string(d.Line))
			*next++
			if s.plan.sabotage == skips && *next == 9 {
				f.lines = f.lines[:len(f.lines)-1]
			}
			s.pause(time.Duration(f.step.For)*time.Millisecond, "reads", f.step.N, *next)
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, feed.ErrFuture), errors.Is(err, feed.ErrUnknown):
			select {
			case <-s.settled:
				return true
			default:
				s.pause(100*time.Millisecond, "waits", f.step.N)
			}
			if !errors.Is(err, context.DeadlineExceeded) {
				return false
			}
		case errors.Is(err, feed.ErrSlow):
			s.saw("follower cut off")
			return false
		case errors.Is(err, errBlind), errors.Is(err, feed.ErrClosed):
			return false
		default:
			s.fail("step %d: the feed says %v", f.step.N, err)
			return true
		}
	}
}

// sum is a hash over everything stored and answered.
func (s *sim) sum() string {
	h := sha256.New()
	for i := range s.plan.Systems {
		for _, c := range s.commits(s.campaign(i)) {
			fmt.Fprintf(h, "%s %d\n%s\n", c.ID, c.Seq, c.Payload)
		}
	}
	for _, in := range s.intents {
		fmt.Fprintln(h, in.step.N, len(in.refused))
		for _, a := range in.answers {
			fmt.Fprintf(h, "%d %d %v %s\n", a.First, a.Last, a.Repeated, a.Receipt)
		}
	}
	io.WriteString(h, strings.Join(s.wrong, "\n"))
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}

// records is how many records of a campaign are stored.
func (s *sim) records(campaign string) (n int64) {
	for _, c := range s.commits(campaign) {
		n += int64(len(events.SplitCommit(c.Payload)))
	}
	return n
}

func (s *sim) commits(campaign string) (out []journal.Commit) {
	err := s.store.Read(context.Background(), campaign, 0, func(c journal.Commit) error {
		out = append(out, c)
		return nil
	})
	if err != nil {
		s.fail("read: %v", err)
	}
	return out
}

// view is a hub's views at a moment, as text to compare.
func view(v *projections.Views) string {
	shown := []any{v.Position(), v.Campaign(), v.Participants(), v.Sessions(), v.Disputes(""), v.Corrections(), v.Overrides(), v.Hidden(0, 100), v.Rolls(0, 100, nil)}
	for _, c := range v.Characters() {
		timeline, _ := v.Timeline(c.ID, 0, 1_000)
		shown = append(shown, c, timeline)
	}
	b, err := json.Marshal(shown, json.Deterministic(true))
	if err != nil {
		return err.Error()
	}
	return string(b)
}
