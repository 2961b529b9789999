// Package webhooks tells other programs by HTTP what happens in a campaign, by
// the Standard Webhooks convention.
//
// A hook is told every record of its campaign once it is durable, one after the
// other in their order, until the receiver has taken it: at least once, always
// under the same id. How far it has come, and what was given up, is kept in a
// bucket beside the ledger: folding views anew and deciding a ledger again send
// nothing. A receiver is told what a spectator sees or, if its maker asks for
// it, what its maker sees (ledger.Whisper).
package webhooks

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"tallystick/api/ledger"
	"tallystick/events/journal"
	"tallystick/rules"
)

// Bucket is the bucket of hooks, with how far each has come.
const Bucket = "webhooks"

// Limits of hooks.
const (
	// MaxCampaign is how many hooks a campaign may have.
	MaxCampaign = 20
	// MaxServer is how many hooks a server may have.
	MaxServer = 1_000
	// MaxDead is how many dead letters a hook may have: with the last one it
	// pauses.
	MaxDead = 500
	// MaxDeadInRow is after how many dead letters without a success it pauses.
	MaxDeadInRow = 3
	// MaxOverlap is how long the secret before may go on signing beside a new one.
	MaxOverlap = 7 * 24 * time.Hour
	// MaxURL is the longest address, in bytes.
	MaxURL = 2_000
)

// Delays are the pauses between the attempts to deliver one record, some
// sixteen hours in all; then it is a dead letter.
var Delays = []time.Duration{
	5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour,
}

// Errors that callers tell apart with errors.Is.
var (
	// ErrUnknown: there is no such hook.
	ErrUnknown = errors.New("there is no such webhook")
	// ErrTooMany: the campaign or the server has as many hooks as it may.
	ErrTooMany = fmt.Errorf("a campaign may have %d webhooks, a server %d: remove some first", MaxCampaign, MaxServer)
)

// A Hook says who is told what. Only its signing secret is ever changed.
type Hook struct {
	ID       string    `json:"id"`
	Campaign string    `json:"campaign"`
	By       string    `json:"by"` // handle of who made it
	URL      string    `json:"url"`
	Types    []string  `json:"types,omitzero"`   // of events; none: all
	Secrets  bool      `json:"secrets,omitzero"` // tell what By may see of what is secret
	Made     time.Time `json:"made"`
	Secret   []byte    `json:"secret"` // the signing secret, in the box
	// Before is the signing secret before it, in the box; until BeforeEnds every
	// message is signed with both.
	Before     []byte    `json:"before,omitzero"`
	BeforeEnds time.Time `json:"before_ends,omitzero"`
}

// State is how far a hook has come.
type State struct {
	Next     int64     `json:"next"`              // n of the record that is told next
	Seq      uint64    `json:"seq"`               // of the last commit that is done with, in the journal
	Attempts int       `json:"attempts,omitzero"` // that failed for the record Next
	NextTry  time.Time `json:"next_try,omitzero"`
	Error    string    `json:"error,omitzero"`    // of the last attempt
	Paused   string    `json:"paused,omitzero"`   // why nothing is sent
	Again    bool      `json:"again,omitzero"`    // dead letters are to be tried again
	DeadRow  int       `json:"dead_row,omitzero"` // dead letters since the last success
	Sent     int64     `json:"sent,omitzero"`     // that the receiver has taken
	SentAt   time.Time `json:"sent_at,omitzero"`
}

// A Letter is a record that was given up.
type Letter struct {
	N        int64     `json:"n"`
	Type     string    `json:"type"`
	Seq      uint64    `json:"seq"` // of the commit before its own
	Attempts int       `json:"attempts"`
	Error    string    `json:"error"`          // of the last attempt
	At       time.Time `json:"at"`             // of the last attempt
	Again    bool      `json:"again,omitzero"` // it is to be tried again
}

// Config is what Hooks stand on.
type Config struct {
	Journal journal.Journal
	Ledger  *ledger.Ledger
	Master  []byte // master key of the server
	Version string // of this program, told to receivers
	// Alone says that no other process can deliver from this journal; else a
	// lease decides which one does.
	Alone bool
	// Allow are the addresses beside the public ones that may be told, and the
	// only ones that may be told without TLS.
	Allow  []netip.Prefix
	Delays []time.Duration // nil: Delays
	// Timeout is how long a receiver may take for one record, the connection
	// included; 0: Timeout.
	Timeout time.Duration
	Log     *slog.Logger
}

// Hooks are the webhooks of a server. Their methods may be called by many
// goroutines.
type Hooks struct {
	cfg     Config
	bucket  journal.Bucket
	box     ledger.Box
	client  *http.Client
	changed chan struct{} // the list of hooks is another one
	lease   *journal.Lease

	mu      sync.Mutex
	runners map[string]map[string]*runner // by campaign and id
}

// Open makes the hooks of a server. Nothing is sent before Run.
func Open(ctx context.Context, cfg Config) (*Hooks, error) {
	bucket, err := cfg.Journal.Bucket(ctx, Bucket)
	if err != nil {
		return nil, fmt.Errorf("open the webhooks: %w", err)
	}
	box, err := ledger.NewBox(cfg.Master, "webhook/v1\n")
	if err != nil {
		return nil, err
	}
	if cfg.Delays == nil {
		cfg.Delays = Delays
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = Timeout
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Hooks{
		cfg: cfg, bucket: bucket, box: box, client: newClient(cfg.Allow, cfg.Timeout),
		lease:   journal.NewLease(bucket, leaseKey, leaseLasts, nil),
		changed: make(chan struct{}, 1), runners: map[string]map[string]*runner{},
	}, nil
}

func hookKey(campaign, id string) string  { return "hook." + campaign + "." + id }
func stateKey(campaign, id string) string { return "state." + campaign + "." + id }
func deadKey(campaign, id string) string  { return "dead." + campaign + "." + id }

// Add makes a hook that is told everything from record from on, a negative one
// standing for what happens next. It returns the signing secret, which is not
// shown again. Errors: *rules.Invalid, ErrTooMany.
func (h *Hooks) Add(ctx context.Context, hook Hook, from int64) (Hook, string, error) {
	if err := CheckURL(hook.URL, h.cfg.Allow); err != nil {
		return hook, "", &rules.Invalid{Field: "url", Reason: err.Error()}
	}
	state, err := h.start(ctx, hook.Campaign, from)
	if err != nil {
		return hook, "", err
	}
	keys, err := h.keys(ctx)
	if err != nil {
		return hook, "", err
	}
	prefix := hookKey(hook.Campaign, "")
	own := slices.IndexFunc(keys, func(k string) bool { return strings.HasPrefix(k, prefix) })
	if len(keys) >= MaxServer || own >= 0 && len(keys) >= own+MaxCampaign && strings.HasPrefix(keys[own+MaxCampaign-1], prefix) {
		return hook, "", ErrTooMany
	}
	hook.ID, hook.Made = uuid.NewString(), time.Now().UTC().Truncate(time.Second)
	var secret string
	hook.Secret, secret = h.newSecret(hook)
	if err := h.put(ctx, stateKey(hook.Campaign, hook.ID), state); err != nil {
		return hook, "", err
	}
	if err := h.put(ctx, hookKey(hook.Campaign, hook.ID), hook); err != nil {
		return hook, "", err
	}
	h.poke()
	return hook, secret, nil
}

// newSecret makes a signing secret for a hook, in the box and as its receiver is
// given it.
func (h *Hooks) newSecret(hook Hook) (sealed []byte, shown string) {
	secret := make([]byte, secretSize)
	rand.Read(secret)
	return h.box.Seal(hookKey(hook.Campaign, hook.ID), secret), writeSecret(secret)
}

// Rotate gives a hook a new signing secret, which is not shown again. For as
// long as overlap, at most MaxOverlap, messages are signed with the one before
// as well, so that its receiver can change over; a still older one ends at
// once. Errors: ErrUnknown.
func (h *Hooks) Rotate(ctx context.Context, hook Hook, overlap time.Duration) (Hook, string, error) {
	sealed, secret := h.newSecret(hook)
	err := change(ctx, h, hookKey(hook.Campaign, hook.ID), func(kept *Hook) {
		kept.Before, kept.BeforeEnds = nil, time.Time{}
		if overlap = min(overlap, MaxOverlap); overlap > 0 {
			kept.Before, kept.BeforeEnds = kept.Secret, time.Now().UTC().Add(overlap).Truncate(time.Second)
		}
		kept.Secret = sealed
		hook = *kept
	})
	if errors.Is(err, journal.ErrNotFound) {
		err = ErrUnknown
	}
	return hook, secret, err
}

// start is the state of a hook that begins with record from.
func (h *Hooks) start(ctx context.Context, campaign string, from int64) (State, error) {
	seq, err := h.cfg.Journal.Last(ctx, campaign)
	if err != nil {
		return State{}, err
	}
	size, err := h.cfg.Ledger.Size(ctx, campaign)
	switch {
	case err != nil:
		return State{}, err
	case from > size:
		return State{}, &rules.Invalid{Field: "from", Reason: fmt.Sprintf("is %d, but the last record is %d", from, size-1)}
	case from < 0:
		return State{Next: size, Seq: seq}, nil
	}
	return State{Next: from}, nil
}

// List are the hooks of a campaign, by when they were made.
func (h *Hooks) List(ctx context.Context, campaign string) ([]Hook, error) {
	keys, err := h.keys(ctx)
	if err != nil {
		return nil, err
	}
	hooks := []Hook{}
	for _, key := range keys {
		if !strings.HasPrefix(key, hookKey(campaign, "")) {
			continue
		}
		var hook Hook
		if _, err := h.get(ctx, key, &hook); err != nil {
			if errors.Is(err, journal.ErrNotFound) {
				continue // it was removed in between
			}
			return nil, err
		}
		hooks = append(hooks, hook)
	}
	slices.SortStableFunc(hooks, func(a, b Hook) int { return a.Made.Compare(b.Made) })
	return hooks, nil
}

// Find is one hook: ErrUnknown when there is none.
func (h *Hooks) Find(ctx context.Context, campaign, id string) (hook Hook, err error) {
	if uuid.Validate(id) != nil {
		return hook, ErrUnknown
	}
	_, err = h.get(ctx, hookKey(campaign, id), &hook)
	if errors.Is(err, journal.ErrNotFound) {
		err = ErrUnknown
	}
	return hook, err
}

// State is how far a hook has come.
func (h *Hooks) State(ctx context.Context, hook Hook) (s State, err error) {
	_, err = h.get(ctx, stateKey(hook.Campaign, hook.ID), &s)
	return s, err
}

// Dead are the records that were given up for a hook, in their order.
func (h *Hooks) Dead(ctx context.Context, hook Hook) (dead []Letter, err error) {
	_, err = h.get(ctx, deadKey(hook.Campaign, hook.ID), &dead)
	if errors.Is(err, journal.ErrNotFound) {
		err = nil
	}
	return dead, err
}

// Remove ends a hook. What is under way to it may still arrive.
func (h *Hooks) Remove(ctx context.Context, hook Hook) error {
	for _, key := range []string{hookKey(hook.Campaign, hook.ID), stateKey(hook.Campaign, hook.ID), deadKey(hook.Campaign, hook.ID)} {
		if err := h.bucket.Delete(ctx, key); err != nil {
			return fmt.Errorf("remove a webhook: %w", err)
		}
	}
	h.poke()
	return nil
}

// Replay lets a hook go on that has paused, at once. Its dead letters are tried
// once more; with a from that is not negative everything from that record on is
// told again. Errors: *rules.Invalid.
func (h *Hooks) Replay(ctx context.Context, hook Hook, from int64) error {
	var begin State
	if from >= 0 {
		var err error
		if begin, err = h.start(ctx, hook.Campaign, from); err != nil {
			return err
		}
	}
	if err := h.again(ctx, hook); err != nil {
		return err
	}
	err := change(ctx, h, stateKey(hook.Campaign, hook.ID), func(s *State) {
		if from >= 0 {
			s.Next, s.Seq = begin.Next, begin.Seq
		}
		s.Attempts, s.NextTry, s.Paused, s.Again, s.DeadRow = 0, time.Time{}, "", true, 0
	})
	h.Wake(hook.Campaign)
	return err
}

// again marks all dead letters.
func (h *Hooks) again(ctx context.Context, hook Hook) error {
	err := change(ctx, h, deadKey(hook.Campaign, hook.ID), func(dead *[]Letter) {
		for i := range *dead {
			(*dead)[i].Again = true
		}
	})
	if errors.Is(err, journal.ErrNotFound) {
		return nil
	}
	return err
}

// keys are those of all hooks, by campaign.
func (h *Hooks) keys(ctx context.Context) ([]string, error) {
	all, err := h.bucket.Keys(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the webhooks: %w", err)
	}
	return slices.DeleteFunc(all, func(k string) bool { return !strings.HasPrefix(k, "hook.") }), nil
}

func (h *Hooks) get(ctx context.Context, key string, v any) (revision uint64, err error) {
	value, revision, err := h.bucket.Get(ctx, key)
	if err == nil {
		err = json.Unmarshal(value, v)
	}
	if err != nil {
		return 0, fmt.Errorf("read a webhook: %w", err)
	}
	return revision, nil
}

func (h *Hooks) put(ctx context.Context, key string, v any) error {
	value, err := json.Marshal(v)
	if err == nil {
		_, err = h.bucket.Put(ctx, key, value)
	}
	if err != nil {
		return fmt.Errorf("keep a webhook: %w", err)
	}
	return nil
}

// change changes what is kept under a key, as often as others get in between.
func change[T any](ctx context.Context, h *Hooks, key string, f func(*T)) error {
	for {
		var v T
		revision, err := h.get(ctx, key, &v)
		if err != nil {
			return err
		}
		f(&v)
		value, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if _, err = h.bucket.Update(ctx, key, value, revision); !errors.Is(err, journal.ErrConflict) {
			return err
		}
	}
}

// poke says that the list of hooks changed.
func (h *Hooks) poke() {
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// Wake says that a campaign has grown, or that a hook of it may go on. It is
// quick.
func (h *Hooks) Wake(campaign string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.runners[campaign] {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}
