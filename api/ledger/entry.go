package ledger

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"tallystick/events"
	"tallystick/events/journal"
	"tallystick/events/merkle"
	"tallystick/replay"
	"tallystick/rules"
	"tallystick/rules/dice"
)

// entry is one campaign in memory: its folded state, its tree, and where its
// commits lie in the journal.
type entry struct {
	campaign string
	keys     Keys
	imports  journal.Bucket
	used     time.Time // owned by Ledger.mu
	users    int       // owned by Ledger.mu

	mu      sync.Mutex // guards everything below
	state   *rules.Campaign
	tree    merkle.Tree
	signing signing
	chains  *chains
	seq     uint64 // of the last commit
	commits []place
	stale   bool            // the journal may hold more than the state: load it anew
	asks    context.Context // of the command under way, never cancelled: its span and request; nil between commands
	tempo   following
	// restored is set when the state began with a snapshot: what lies before it
	// was not read.
	restored bool
	unproven bool  // its last commit was not found in the journal yet
	kept     int64 // how many records the last snapshot that was kept or read has
	keeping  bool  // a goroutine waits to keep the next
}

// place says where a commit lies.
type place struct {
	first int64  // n of its first record
	after uint64 // sequence of the commit before it
}

// fresh is an entry for a campaign without a record, locked.
func (l *Ledger) fresh(campaign string) (*entry, error) {
	e := l.acquire(campaign)
	e.mu.Lock()
	if e.state == nil || e.stale {
		l.reset(e)
	}
	return e, nil
}

func (l *Ledger) reset(e *entry) {
	l.account(-e.tree.Size())
	e.state = rules.NewCampaign(e.campaign, l.cfg.Library)
	e.tree, e.seq, e.commits, e.signing, e.stale, e.restored, e.unproven, e.kept = merkle.Tree{}, 0, nil, signing{}, false, false, false, 0
	e.chains = newChains(e.keys.Master, e.campaign)
	e.chains.history = l.history(e.campaign)
}

// load returns a campaign's entry, locked and folded. The caller releases it.
func (l *Ledger) load(ctx context.Context, campaign string) (*entry, error) {
	e, _, err := l.loadNow(ctx, campaign)
	return e, err
}

// loadNow is load, and says whether the journal was read to its end for it.
func (l *Ledger) loadNow(ctx context.Context, campaign string) (e *entry, read bool, err error) {
	e = l.acquire(campaign)
	e.mu.Lock()
	if e.state != nil && !e.stale {
		return e, false, nil
	}
	err = l.fold(ctx, e, true)
	if err != nil && e.restored {
		// Whether the ledger is whole, the ledger itself must say.
		l.cfg.Log.Warn("a snapshot is not used", "campaign", campaign, "error", err)
		err = l.fold(ctx, e, false)
	}
	if l.mayRecover(e, err) {
		err = l.recover(ctx, e)
	}
	l.colour(e.campaign, err)
	if err != nil {
		e.stale = true
		l.release(e)
		return nil, false, err
	}
	l.keep(e)
	return e, true, nil
}

// fold makes an entry anew, from its snapshot on if that is allowed and there is
// one.
func (l *Ledger) fold(ctx context.Context, e *entry, snapshots bool) error {
	l.reset(e)
	if snapshots {
		l.restore(ctx, e)
	}
	if err := l.catchUpFrom(ctx, e); err != nil {
		return err
	}
	if e.state.Next == 0 {
		return ErrUnknownCampaign
	}
	return l.checkHead(ctx, e)
}

// acquire finds or makes an entry and keeps it from being evicted.
func (l *Ledger) acquire(campaign string) *entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.open[campaign]
	if !ok {
		e = &entry{campaign: campaign, keys: l.cfg.Keys, imports: l.imports}
		l.open[campaign] = e
		l.held += CampaignBytes
	}
	e.users++
	e.used = l.cfg.Now()
	return e
}

// release unlocks an entry and evicts what has been idle longest when memory
// is over its budget.
func (l *Ledger) release(e *entry) {
	drop := e.stale || e.state == nil || e.state.Next == 0
	e.asks = nil
	e.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	e.users--
	if drop && e.users == 0 {
		l.evict(e)
	}
	for l.held > l.cfg.Budget {
		var idlest *entry
		for _, other := range l.open {
			if other.users == 0 && (idlest == nil || other.used.Before(idlest.used)) {
				idlest = other
			}
		}
		if idlest == nil {
			return
		}
		l.evict(idlest)
	}
}

// evict forgets an entry that nobody uses; l.mu is held.
func (l *Ledger) evict(e *entry) {
	if l.open[e.campaign] == e {
		delete(l.open, e.campaign)
		l.held -= CampaignBytes + e.tree.Size()*RecordBytes
	}
}

func (l *Ledger) account(records int64) {
	l.mu.Lock()
	l.held += records * RecordBytes
	l.mu.Unlock()
}

// catchUp folds what others have appended.
func (l *Ledger) catchUp(e *entry) error {
	ctx, cancel := context.WithTimeout(context.Background(), appendTimeout)
	defer cancel()
	err := l.catchUpFrom(ctx, e)
	if err != nil {
		e.stale = true
	}
	return err
}

// catchUpFrom folds what the journal has after what was folded; after a snapshot it
// looks first for the commit that it ends with.
func (l *Ledger) catchUpFrom(ctx context.Context, e *entry) error {
	after := e.seq
	if e.unproven {
		after = e.commits[len(e.commits)-1].after
	}
	err := l.cfg.Journal.Read(ctx, e.campaign, after, func(c journal.Commit) error {
		if e.unproven {
			return e.prove(c)
		}
		recs, err := events.ParseCommit(c.Payload)
		if err == nil {
			err = e.state.ApplyCommit(recs)
		}
		if err != nil {
			return &RedError{Campaign: e.campaign, Err: &unreadError{e.tree.Size(), err}}
		}
		for _, line := range events.SplitCommit(c.Payload) {
			e.tree.Append(line)
		}
		l.grown(e, c.Seq, recs[0].N, len(recs))
		l.cfg.Found(c)
		return nil
	})
	if err == nil && e.unproven {
		err = errAnotherLedger
	}
	var red *RedError
	if errors.Is(err, journal.ErrDamaged) && !errors.As(err, &red) && !e.unproven {
		err = &RedError{Campaign: e.campaign, Err: &unreadError{e.tree.Size(), err}}
	}
	if err != nil { // that it is whole is known when its head was looked at, too
		l.colour(e.campaign, err)
	}
	return err
}

// colour keeps the list of campaigns whose ledger is not whole.
func (l *Ledger) colour(campaign string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var red *RedError
	switch {
	case errors.As(err, &red):
		if l.red[campaign] == nil {
			l.cfg.Log.Error("campaign is read-only", "campaign", campaign, "error", red.Err)
		}
		l.red[campaign] = red.Err
	case err == nil:
		delete(l.red, campaign)
	}
}

// Red are the campaigns whose ledger was found not to be whole, with the
// reason.
func (l *Ledger) Red() map[string]error {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make(map[string]error, len(l.red))
	for id, err := range l.red {
		out[id] = err
	}
	return out
}

// grown notes a commit of so many records whose leaves are in the tree.
func (l *Ledger) grown(e *entry, seq uint64, first int64, records int) {
	e.commits = append(e.commits, place{first: first, after: e.seq})
	e.seq = seq
	l.account(int64(records))
}

// read hands the records from n on to each, as stored, until it says no.
func (e *entry) read(ctx context.Context, j journal.Journal, from int64, each func(n int64, line []byte) bool) error {
	k, exact := slices.BinarySearchFunc(e.commits, from, func(p place, n int64) int { return int(p.first - n) })
	if !exact {
		k--
	}
	if k < 0 || k >= len(e.commits) {
		return nil
	}
	n, enough := e.commits[k].first, errors.New("enough")
	err := j.Read(ctx, e.campaign, e.commits[k].after, func(c journal.Commit) error {
		for _, line := range events.SplitCommit(c.Payload) {
			if n >= from && !each(n, line) {
				return enough
			}
			n++
		}
		return nil
	})
	if errors.Is(err, enough) {
		return nil
	}
	return err
}

// sign makes the checkpoint over the first size records.
func (e *entry) sign(keys rules.LogKeys, size int64) ([]byte, error) {
	s, err := e.signers(keys)
	if err != nil {
		return nil, err
	}
	if s.now == nil {
		return e.brought(keys.VKey, size)
	}
	root, err := e.tree.RootAt(size)
	if err != nil {
		return nil, err
	}
	if s.former != nil {
		return s.now.Sign(size, root, s.former)
	}
	return s.now.Sign(size, root)
}

// receipt proves record n under a checkpoint over the first size records, and
// gives that as well.
func (e *entry) receipt(keys rules.LogKeys, n, size int64) (receipt, checkpoint []byte, err error) {
	checkpoint, err = e.sign(keys, size)
	if err != nil {
		return nil, nil, err
	}
	proof, err := e.tree.Inclusion(n, size)
	if err != nil {
		return nil, nil, err
	}
	return merkle.Receipt{Index: n, Proof: proof, Checkpoint: checkpoint}.Format(), checkpoint, nil
}

// chains makes the server's dice of one campaign from the master key.
type chains struct {
	master   []byte
	campaign string
	history  replay.History
	session  string // of the chains that are kept
	kept     map[string]*dice.Chain
}

func newChains(master []byte, campaign string) *chains {
	return &chains{master: master, campaign: campaign}
}

func (c *chains) chain(session, lane string, n int) (*dice.Chain, error) {
	if session != c.session {
		c.session, c.kept = session, map[string]*dice.Chain{}
	}
	if chain, ok := c.kept[lane]; ok && chain.Len() == n {
		return chain, nil
	}
	chain, err := dice.NewChain(dice.Tail(c.master, c.campaign, session, lane), n)
	if err == nil {
		c.kept[lane] = chain
	}
	return chain, err
}

// Anchor implements rules.Chains.
func (c *chains) Anchor(session, lane string, n int) (dice.Seed, error) {
	chain, err := c.chain(session, lane, n)
	if err != nil {
		return dice.Seed{}, err
	}
	return chain.Anchor(), nil
}

// Link implements rules.Chains.
func (c *chains) Link(session, lane string, n, i int) (dice.Seed, error) {
	chain, err := c.chain(session, lane, n)
	if err != nil {
		return dice.Seed{}, err
	}
	return chain.Link(i)
}

// InMemory is how many bytes the folded campaigns in memory take together, by the
// estimate of Config.Budget.
func (l *Ledger) InMemory() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held
}
