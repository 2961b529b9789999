package faults

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"

	"tallystick/events"
	"tallystick/events/merkle"
	"tallystick/projections"
	"tallystick/replay"
	"tallystick/rules"
	"tallystick/rules/rulestest"
)

// stored is one campaign as the store has it in the end.
type stored struct {
	campaign string
	lines    []string
	records  []events.Record
	commits  map[string]int // command id: how many commits begin with it
	tree     merkle.Tree
	state    *rules.Campaign
	views    *projections.Views
}

// check holds what was answered against what is stored.
func (s *sim) check(t *testing.T) {
	for i := range s.plan.Systems {
		st := s.load(i)
		if st == nil {
			continue
		}
		s.order(i)
		for _, in := range s.intents {
			if in.step.Campaign == i {
				s.checkIntent(st, in)
			}
		}
		for _, f := range s.follows {
			if f.step.Campaign == i {
				s.checkFollowing(st, f)
			}
		}
		for _, r := range s.readings {
			if r.step.Campaign == i {
				s.checkReading(st, r)
			}
		}
		for _, n := range s.nodes {
			s.checkNode(t, st, n)
		}
	}
}

// load reads a campaign, folds it from nothing and decides it again.
func (s *sim) load(i int) *stored {
	st := &stored{campaign: s.campaign(i), commits: map[string]int{}, views: projections.New(s.campaign(i))}
	r := replay.New(library)
	last := ""
	open := s.refusals(i)
	for _, c := range s.commits(st.campaign) {
		recs, err := events.ParseCommit(c.Payload)
		if err != nil {
			s.fail("sequence %d: %v", c.Seq, err)
			return nil
		}
		if recs[0].Cmd.ID != c.ID || recs[0].Cmd.Type == "" {
			s.fail("sequence %d: half a command %s", c.Seq, c.ID)
		}
		st.commits[c.ID]++
		for _, rec := range recs {
			if rec.N != int64(len(st.records)) {
				s.fail("record %d stands where record %d was", rec.N, len(st.records))
				return nil
			}
			if rec.At < last {
				s.fail("record %d: its time runs back", rec.N)
			}
			last = rec.At
			st.records = append(st.records, rec)
			if err := st.views.Apply(rec); err != nil {
				s.fail("views: %v", err)
				return nil
			}
		}
		for _, line := range events.SplitCommit(c.Payload) {
			st.lines = append(st.lines, string(line))
			st.tree.Append(line)
		}
		if err := r.Commit(c.Payload); err != nil {
			s.fail("decided again: %v", err)
			return nil
		}
		open = slices.DeleteFunc(open, func(no refusal) bool { return justified(r.Campaign(), no) })
	}
	for _, no := range open {
		s.fail("step %d: %s was refused (%v), and nothing between records %d and %d says so", no.in.step.N, no.in.cmd.Type, no.err, no.low, no.high)
	}
	if st.state = r.Campaign(); st.state == nil {
		s.fail("campaign %d was never created", i)
		return nil
	}
	for id, n := range st.commits {
		if n > 1 {
			s.fail("command %s is stored %d times", id, n)
		}
	}
	return st
}

// refusals are the commands that were refused by what the public record says.
func (s *sim) refusals(campaign int) (out []refusal) {
	for _, in := range s.intents {
		switch in.cmd.Type {
		case "roll.open", "target.seal", "target.open", "dispute.open", "ruling.make", "correction.make", "session.close":
			continue // what a seal hides, and what went before, has a say
		}
		if in.step.Campaign == campaign && in.step.Do == doCommand && in.step.N >= 0 {
			out = append(out, in.refused...)
		}
	}
	return out
}

// justified reports whether a command is refused in the same words as the
// campaign stands, at a moment between the last answer that was given before it
// was asked and its refusal.
func justified(c *rules.Campaign, no refusal) bool {
	if c.Next < no.low || c.Next > no.high || c.Pending != nil {
		return false
	}
	ready, err := c.Canonical(no.in.cmd)
	if err == nil {
		_, err = rules.Decide(c, ready, &rulestest.Chains{})
	}
	if err == nil {
		err = c.Lookalike(ready)
	}
	return err != nil && err.Error() == no.err.Error()
}

// checkReading holds what a node said of a campaign against what was answered
// before it was asked, and against what was stored in the end.
func (s *sim) checkReading(st *stored, r reading) {
	c, err := merkle.Open(r.checkpoint, st.state.Created.VKey)
	if err != nil {
		s.fail("step %d: checkpoint: %v", r.step.N, err)
		return
	}
	root, err := st.tree.RootAt(min(c.Size, st.tree.Size()))
	if err != nil || root != c.Root {
		s.fail("step %d: a checkpoint over %d records that never was", r.step.N, c.Size)
	}
	if c.Size < r.low {
		s.fail("step %d: a checkpoint over %d records, when %d were answered", r.step.N, c.Size, r.low)
	}
	if s.plan.sabotage == stale && r.position > 0 {
		r.position--
	}
	if r.position < r.own {
		s.fail("step %d: a view of %d records at a node that had answered %d", r.step.N, r.position, r.own)
	}
}

// order finds two commands of which the later one was asked for after the
// earlier one was answered, and stands before it all the same.
func (s *sim) order(campaign int) {
	var done []*intent
	for _, in := range s.intents {
		if in.step.Campaign == campaign && len(in.answers) > 0 {
			done = append(done, in)
		}
	}
	slices.SortFunc(done, func(a, b *intent) int { return cmp.Compare(a.answers[0].First, b.answers[0].First) })
	for i, a := range done {
		for _, b := range done[i+1:] {
			if b.ended.Before(a.begun) {
				s.fail("steps %d and %d stand the wrong way round", a.step.N, b.step.N)
			}
		}
	}
}

func (s *sim) checkIntent(st *stored, in *intent) {
	times := st.commits[in.cmd.ID]
	for try := range 200 {
		times += st.commits[uid(s.plan.Seed, in.step.N, "again", try)]
	}
	switch {
	case times > 1:
		s.fail("step %d: stored %d times", in.step.N, times)
	case len(in.answers) > 0 && times == 0:
		s.fail("step %d: %s was answered and is not stored", in.step.N, in.cmd.Type)
	case len(in.answers) == 0 && len(in.refused) > 0 && times > 0 && !in.overlaps:
		s.fail("step %d: %s was refused (%v) and is stored", in.step.N, in.cmd.Type, in.refused[0].err)
	}
	for _, a := range in.answers {
		if a.First < 0 || a.Last >= int64(len(st.lines)) {
			s.fail("step %d: records %d to %d were answered, %d are stored", in.step.N, a.First, a.Last, len(st.lines))
			continue
		}
		for k, line := range a.Records {
			if n := a.First + int64(k); st.lines[n] != string(line) {
				s.fail("step %d: record %d is not as it was answered", in.step.N, n)
				break
			}
		}
		if want := in.answers[0]; a.First != want.First || a.Last != want.Last || string(a.Receipt) != string(want.Receipt) {
			s.fail("step %d: two answers to one key: %d to %d, %d to %d", in.step.N, want.First, want.Last, a.First, a.Last)
		}
		s.checkReceipt(st, in, a.Receipt, a.Records[0])
	}
}

func (s *sim) checkReceipt(st *stored, in *intent, raw, record []byte) {
	receipt, err := merkle.ParseReceipt(raw)
	if err == nil {
		err = receipt.Check(record, st.state.Created.VKey)
	}
	var c merkle.Checkpoint
	if err == nil {
		c, err = merkle.Open(receipt.Checkpoint, st.state.Created.VKey)
	}
	if err == nil {
		var root merkle.Hash
		if root, err = st.tree.RootAt(c.Size); err == nil && root != c.Root {
			err = fmt.Errorf("a tree of %d records that never was", c.Size)
		}
	}
	if err != nil {
		s.fail("step %d: receipt: %v", in.step.N, err)
	}
}

func (s *sim) checkFollowing(st *stored, f *following) {
	want := st.lines[min(f.from, int64(len(st.lines))):]
	if !slices.Equal(want, f.lines) {
		s.fail("step %d: the feed gave %d records, there are %d", f.step.N, len(f.lines), len(want))
	}
}

// checkNode asks a node, however it got here, and compares with what follows
// from the records alone.
func (s *sim) checkNode(t *testing.T, st *stored, n *node) {
	p := n.running()
	if p == nil {
		s.fail("node %d is not running", n.name)
		return
	}
	ctx := context.Background()
	last := int64(len(st.lines)) - 1
	// A node that has not seen the campaign's end learns of it by the feed; its
	// ledger does when it is asked to write.
	err := p.hub.View(ctx, st.campaign, last, func(v *projections.Views) error {
		got, want := view(v), view(st.views)
		if got != want {
			s.fail("node %d: its view differs:\n%s\n%s", n.name, got, want)
		}
		return nil
	})
	if err != nil {
		s.fail("node %d: view: %v", n.name, err)
	}
	if h := p.hub.Health(); !h.Sound() {
		s.fail("node %d: %+v", n.name, h)
	}
	err = p.ledger.State(ctx, st.campaign, func(c *rules.Campaign) error {
		if c.Next == int64(len(st.lines)) && rulestest.Shown(t, c) != rulestest.Shown(t, st.state) {
			s.fail("node %d: its state differs", n.name)
		}
		return nil
	})
	if err != nil {
		s.fail("node %d: state: %v", n.name, err)
	}
	if red := p.ledger.Red(); len(red) > 0 {
		s.fail("node %d: %v", n.name, red)
	}
}
