// Package ledger executes commands: it is the shell around the pure rules,
// without HTTP. It owns the order of a campaign's commands, the clock on the
// wall, the master key of the dice and the signing key; it gives an answer
// only when the journal has the commit on disk.
//
// Authorise and validate, draw, append, reveal: in this order and no other. A
// seed leaves the process only in an appended record.
package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"tallystick/api/telemetry"
	"tallystick/events"
	"tallystick/events/archive"
	"tallystick/events/journal"
	"tallystick/events/merkle"
	"tallystick/rules"
)

// Limits of the shell.
const (
	// DefaultBudget is how many bytes the folded campaigns in memory may take
	// together before idle ones are evicted.
	DefaultBudget = 512 << 20
	// RecordBytes is what one record takes in a folded campaign, and
	// CampaignBytes what a campaign takes beside: estimates, as measured on an
	// evening of play.
	RecordBytes   = 300
	CampaignBytes = 20 << 10
	// maxAttempts bounds how often a command is decided again after others
	// were faster.
	maxAttempts = 100
	// appendTimeout bounds one append: past it the answer is that the outcome
	// is unclear, and the client asks again with the same id.
	appendTimeout = 10 * time.Second
)

// Errors that callers tell apart with errors.Is or errors.As. Those of the
// rules (*rules.Invalid, *rules.Forbidden, *rules.Rejection) and of the
// journal pass through.
var (
	// ErrUnknownCampaign: no campaign has this id.
	ErrUnknownCampaign = errors.New("there is no such campaign")
	// ErrReused: the command id was used before, for another command.
	ErrReused = errors.New("this idempotency key was used for another command")
	// ErrClosing: the program is shutting down.
	ErrClosing = errors.New("the server is shutting down")
)

// RedError says that a campaign is read-only because its ledger is not whole.
type RedError struct {
	Campaign string
	Err      error
}

func (e *RedError) Error() string {
	return fmt.Sprintf("campaign %s is read-only: %v", e.Campaign, e.Err)
}

// Unwrap gives what is wrong with the ledger.
func (e *RedError) Unwrap() error { return e.Err }

// Buckets are the small stores beside the ledger that a restored one needs
// too. What they hold is not in the records.
var Buckets = []string{TokenBucket, VaultBucket, ImportedBucket, TempoBucket}

// Config is what a Ledger is made of.
type Config struct {
	Journal journal.Journal
	Library rules.Library
	Keys    Keys
	Server  string // name of this server in the origin of checkpoints
	// Committed is told of every commit of this process, after it is durable;
	// Found of those that others have stored, or this process before it was
	// started, when they are met.
	Committed func(journal.Commit)
	Found     func(journal.Commit)
	Archive   *archive.Archive // the second copy; nil: none
	Heads     *archive.Heads   // where the last checkpoints are kept; nil: nowhere
	// Recover names campaigns whose loss the host has accepted, and how many
	// records each was left with: their ledgers are begun anew. Nil: none.
	Recover map[string]int64
	// Snapshots is where folded campaigns are kept, to be opened quickly; nil:
	// nowhere. See OpenSnapshots.
	Snapshots *journal.Shelf
	Log       *slog.Logger
	Metrics   *telemetry.Metrics // nil: nobody looks at them
	Now       func() time.Time   // wall clock; nil: time.Now
	// Elapsed is how much time has passed since some moment, by a clock that
	// nobody can move; nil: that of the machine.
	Elapsed func() time.Duration
	NewID   func() string // of a record, a UUID; nil: UUIDv7
	Budget  int64         // bytes in memory, by the estimate of RecordBytes and CampaignBytes; 0: DefaultBudget
}

// Ledger executes the commands of all campaigns. Its methods may be called by
// many goroutines at once.
type Ledger struct {
	cfg     Config
	vault   *vault
	imports journal.Bucket // checkpoints that came with imported campaigns
	tempos  journal.Bucket // see ticker
	begun   time.Time      // when the program was started
	ranThen time.Duration  // what Elapsed showed at that moment

	mu      sync.Mutex
	open    map[string]*entry
	red     map[string]error   // campaigns whose ledger is not whole
	lost    map[string][]int64 // sealed records whose secret is not kept any more
	held    int64              // bytes in memory, over all open entries
	closing bool
	busy    sync.WaitGroup
	keeping sync.WaitGroup // of snapshots
}

// New makes a ledger over a journal.
func New(ctx context.Context, cfg Config) (*Ledger, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.NewID == nil {
		cfg.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	if cfg.Elapsed == nil {
		cfg.Elapsed = elapsed
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.Log = telemetry.Logger(cfg.Log)
	if cfg.Metrics == nil {
		cfg.Metrics = telemetry.NewMetrics("", nil)
	}
	if cfg.Committed == nil {
		cfg.Committed = func(journal.Commit) {}
	}
	if cfg.Found == nil {
		cfg.Found = func(journal.Commit) {}
	}
	if cfg.Budget == 0 {
		cfg.Budget = DefaultBudget
	}
	vault, err := openVault(ctx, cfg.Journal, cfg.Keys.Master)
	if err != nil {
		return nil, err
	}
	imports, err := cfg.Journal.Bucket(ctx, ImportedBucket)
	if err != nil {
		return nil, fmt.Errorf("open the bucket of imports: %w", err)
	}
	tempos, err := cfg.Journal.Bucket(ctx, TempoBucket)
	if err != nil {
		return nil, fmt.Errorf("open the bucket of tempos: %w", err)
	}
	return &Ledger{
		cfg: cfg, vault: vault, imports: imports, tempos: tempos, begun: cfg.Now(), ranThen: cfg.Elapsed(),
		open: map[string]*entry{}, red: map[string]error{}, lost: map[string][]int64{},
	}, nil
}

const createType = "campaign.create"

// Answer is what a command came to: its records as they are stored.
type Answer struct {
	Command     string
	First, Last int64    // its records
	Records     [][]byte // the first MaxAnswer of them
	Receipt     []byte   // proves the first record; covers all of them
	Repeated    bool     // the command had been executed before
	Secret      []byte   // what the seal of a secret roll hides: for the game master alone
}

// MaxAnswer is how many records an answer holds; the rest is read from the
// ledger.
const MaxAnswer = 1_000

// Execute decides a command and stores what follows. The same id with the same
// command gives the recorded answer again, for ever; with another command it
// gives ErrReused.
func (l *Ledger) Execute(ctx context.Context, campaign string, cmd rules.Command) (Answer, error) {
	return l.run(ctx, campaign, cmd, l.execute)
}

// run finds the campaign and has the command executed with the entry locked.
func (l *Ledger) run(ctx context.Context, campaign string, cmd rules.Command, execute func(context.Context, *entry, rules.Command) (Answer, error)) (a Answer, err error) {
	ctx, watched := l.watch(ctx, campaign, cmd)
	defer func() { watched(a, err) }()
	if err := checkID(cmd.ID); err != nil {
		return Answer{}, err
	}
	err = l.write(ctx, campaign, func(e *entry) error {
		if err := l.settle(ctx, e, cmd); err != nil {
			return err
		}
		return l.tying(ctx, e, cmd, func() (err error) {
			a, err = l.current(e, func() (Answer, error) { return execute(ctx, e, cmd) })
			return err
		})
	})
	return a, err
}

// write finds a campaign that commands can be given in, and runs f with its
// entry locked.
func (l *Ledger) write(ctx context.Context, campaign string, f func(*entry) error) error {
	if err := l.enter(); err != nil {
		return err
	}
	defer l.busy.Done()
	e, err := l.load(ctx, campaign)
	if err != nil {
		return err
	}
	defer l.release(e)
	e.asks = context.WithoutCancel(ctx)
	if err := l.writable(e); err != nil {
		return err
	}
	if err := l.rotate(e); err != nil {
		return err
	}
	return f(e)
}

// current gives a refusal only when it holds for the ledger as it is now: what
// is stored is held against the store by its expected sequence, but a refusal
// stores nothing, and another node may have gone on.
func (l *Ledger) current(e *entry, decide func() (Answer, error)) (Answer, error) {
	for range maxAttempts {
		a, err := decide()
		if !refusal(err) {
			return a, err
		}
		decided := e.seq
		if failed := l.catchUp(e); failed != nil {
			return Answer{}, failed
		}
		if e.seq == decided {
			return a, err
		}
	}
	return Answer{}, fmt.Errorf("a refusal was overtaken %d times: %w", maxAttempts, journal.ErrConflict)
}

// refusal reports whether the rules said no.
func refusal(err error) bool {
	var (
		invalid   *rules.Invalid
		rejection *rules.Rejection
		forbidden *rules.Forbidden
	)
	return errors.As(err, &rejection) || errors.As(err, &forbidden) || errors.As(err, &invalid)
}

// Create opens a campaign: the id becomes the campaign's, the command is
// campaign.create. Creating it again gives the recorded answer.
func (l *Ledger) Create(ctx context.Context, campaign string, d rules.CampaignCreate) (a Answer, err error) {
	ctx, watched := l.watch(ctx, campaign, rules.Command{ID: campaign, Type: createType})
	defer func() { watched(a, err) }()
	if err := checkID(campaign); err != nil {
		return Answer{}, err
	}
	if err := l.enter(); err != nil {
		return Answer{}, err
	}
	defer l.busy.Done()
	signer, err := merkle.NewSigner(l.cfg.Server, campaign, l.cfg.Keys.Signing)
	if err != nil {
		return Answer{}, err
	}
	d.VKey = signer.VKey()
	e, err := l.load(ctx, campaign)
	if errors.Is(err, ErrUnknownCampaign) {
		e, err = l.fresh(campaign)
	}
	if err != nil {
		return Answer{}, err
	}
	defer l.release(e)
	e.asks = context.WithoutCancel(ctx)
	// Edition and key are part of the command: a campaign keeps those it opened
	// with, also when its creation is repeated on a newer program.
	if e.state.Book != nil {
		d.Edition, d.VKey = e.state.Created.Edition, e.state.Created.VKey
	} else if newest, err := l.cfg.Library.Find(d.System, 0); err == nil {
		d.Edition = newest.Edition()
	}
	data, err := rules.Canonical(&d)
	if err != nil {
		return Answer{}, err
	}
	cmd := rules.Command{ID: campaign, By: d.GM, Type: createType, Data: data}
	return l.current(e, func() (Answer, error) { return l.execute(ctx, e, cmd) })
}

func checkID(id string) error {
	if u, err := uuid.Parse(id); err != nil || u.String() != id {
		return &rules.Invalid{Field: "Idempotency-Key", Reason: "must be a UUID in lower-case text form"}
	}
	return nil
}

// enter counts a command in, unless the program is closing.
func (l *Ledger) enter() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return ErrClosing
	}
	l.busy.Add(1)
	return nil
}

// Close lets no new command in and waits for those under way.
func (l *Ledger) Close() {
	l.mu.Lock()
	l.closing = true
	l.mu.Unlock()
	l.busy.Wait()
	l.keeping.Wait()
}

// execute runs with the entry locked.
func (l *Ledger) execute(ctx context.Context, e *entry, cmd rules.Command) (Answer, error) {
	for range maxAttempts {
		if err := ctx.Err(); err != nil {
			return Answer{}, err
		}
		veiled, err := l.veil(ctx, e, cmd)
		if err != nil {
			return Answer{}, err
		}
		ready, err := e.state.Canonical(veiled)
		if err != nil {
			return Answer{}, err
		}
		if known, ok := e.state.Known(ready.ID); ok {
			if !known.Same(ready) {
				return Answer{}, ErrReused
			}
			if err := l.finish(e); err != nil {
				return Answer{}, err
			}
			return l.recorded(ctx, e, ready.ID)
		}
		var answer Answer
		if err = l.showRulings(ctx, e, ready); err == nil {
			answer, err = l.once(e, ready)
		}
		if errors.Is(err, journal.ErrConflict) {
			if err = l.catchUp(e); err == nil && cmd.By != rules.SystemPrincipal {
				err = l.settle(ctx, e, cmd)
			}
			if err == nil {
				continue
			}
		}
		return answer, err
	}
	return Answer{}, fmt.Errorf("command %s was overtaken %d times: %w", cmd.ID, maxAttempts, journal.ErrConflict)
}

// once decides and appends a command, and what an advance of it leaves over.
func (l *Ledger) once(e *entry, cmd rules.Command) (Answer, error) {
	if err := l.finish(e); err != nil {
		return Answer{}, err
	}
	a, err := l.commit(e, cmd)
	if err != nil || e.state.Pending == nil {
		return a, err
	}
	if err := l.finish(e); err != nil {
		return Answer{}, err
	}
	return l.recorded(context.Background(), e, cmd.ID)
}

// finish completes an advance of the clock that is under way.
func (l *Ledger) finish(e *entry) error {
	for e.state.Pending != nil {
		if l.isClosing() {
			return ErrClosing // the advance goes on after the restart
		}
		cmd, err := resumption(e.state.Pending)
		if err != nil {
			return err
		}
		if _, err := l.commit(e, cmd); errors.Is(err, journal.ErrConflict) {
			err = l.catchUp(e)
			if err != nil {
				return err
			}
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (l *Ledger) isClosing() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closing
}

// resumption is the command that goes on with an advance. Its id follows from
// the advance, so that two nodes make one and the same.
func resumption(p *rules.Pending) (rules.Command, error) {
	root, err := uuid.Parse(p.Command)
	if err != nil {
		return rules.Command{}, err
	}
	data, err := rules.Canonical(&rules.ClockResume{Command: p.Command, Part: p.Parts})
	id := uuid.NewSHA1(root, fmt.Appendf(nil, "part %d", p.Parts))
	return rules.Command{ID: id.String(), By: rules.SystemPrincipal, Type: "clock.resume", Data: data}, err
}

// commit decides one command against the state as it is and appends it. The
// receipt is made while the disk works, and given away only if it did. On any
// error but a rejection or a conflict the state may be behind the journal.
func (l *Ledger) commit(e *entry, cmd rules.Command) (Answer, error) {
	facts, err := rules.Decide(e.state, cmd, e.chains)
	if err == nil {
		err = e.state.Lookalike(cmd)
	}
	if err != nil {
		return Answer{}, err
	}
	head := events.Head{Campaign: e.campaign, N: e.state.Next, At: l.stamp(e.state.LastAt), By: cmd.By, Cmd: cmd.Record()}
	payload, err := events.EncodeCommit(head, facts, func(int) string { return l.cfg.NewID() })
	if err != nil {
		return Answer{}, err
	}
	lines := events.SplitCommit(payload)
	a := Answer{Command: cmd.ID, First: head.N, Last: head.N + int64(len(lines)) - 1, Records: lines}
	var checkpoint []byte
	var unsigned error
	seq, err := l.append(e, journal.Entry{Campaign: e.campaign, ID: cmd.ID, Expected: e.seq, Payload: payload, Meanwhile: func() {
		for _, line := range lines {
			e.tree.Append(line)
		}
		a.Receipt, checkpoint, unsigned = e.receipt(e.state.KeysAfter(facts), a.First, a.Last+1)
	}})
	if err != nil {
		e.tree.Truncate(head.N)
		e.stale = e.stale || !errors.Is(err, journal.ErrConflict)
		return Answer{}, err
	}
	if err := e.state.ApplyFacts(head, facts); err != nil {
		e.stale = true
		return Answer{}, fmt.Errorf("campaign %s: stored, but cannot be folded: %w", e.campaign, err)
	}
	l.grown(e, seq, head.N, len(lines))
	l.keepLater(e)
	l.cfg.Metrics.Stored(len(lines), ticksIn(facts))
	stored := journal.Commit{Campaign: e.campaign, ID: cmd.ID, Seq: seq, Payload: payload}
	l.cfg.Committed(stored)
	if unsigned != nil {
		return Answer{}, unsigned
	}
	return a, l.second(e, stored, checkpoint)
}

// append stores an entry. The client may go away, but what was begun is
// brought to its end.
func (l *Ledger) append(e *entry, commit journal.Entry) (uint64, error) {
	ctx, cancel := context.WithTimeout(cmp.Or(e.asks, context.Background()), appendTimeout)
	defer cancel()
	return l.watchAppend(ctx, commit)
}

// stamp is the wall clock, never earlier than the record before.
func (l *Ledger) stamp(last string) string {
	return max(l.cfg.Now().UTC().Format(events.TimeFormat), last)
}

// recorded is the answer to a command that was executed before, read from the
// journal. Its records are the same however often it is asked for.
func (l *Ledger) recorded(ctx context.Context, e *entry, id string) (Answer, error) {
	known, _ := e.state.Known(id)
	var lines [][]byte
	err := e.read(ctx, l.cfg.Journal, known.First, func(n int64, line []byte) bool {
		if n > known.Last || len(lines) == MaxAnswer {
			return false
		}
		lines = append(lines, line)
		return true
	})
	if err != nil {
		return Answer{}, err
	}
	receipt, _, err := e.receipt(e.state.Keys, known.First, known.Last+1)
	return Answer{Command: id, First: known.First, Last: known.Last, Records: lines, Receipt: receipt, Repeated: true}, err
}
