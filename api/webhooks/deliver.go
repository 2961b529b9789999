package webhooks

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
	"tallystick/events/journal"
	"tallystick/rules"
)

const (
	// leaseKey is the key of the lease, and leaseLasts after how long of silence
	// of one node another one delivers.
	leaseKey   = "lease"
	leaseLasts = 15 * time.Second
	// lookAgain is how often hooks are looked for that other nodes made, and how
	// long a runner waits after the store failed.
	lookAgain = 5 * time.Second
	// lookAnyway is how often a runner looks for commits without being woken.
	lookAnyway = time.Minute
	// batchCommits is how many commits a runner reads at a time.
	batchCommits = 64
	// maxRetryAfter bounds how long a receiver may ask to be left alone.
	maxRetryAfter = time.Hour
)

// Run delivers until ctx ends. Of several nodes one does: that which has the
// lease.
func (h *Hooks) Run(ctx context.Context) {
	if h.cfg.Alone {
		h.deliver(ctx)
		return
	}
	h.lease.While(ctx, h.deliver)
}

// deliver runs every hook there is.
func (h *Hooks) deliver(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	running := map[string]context.CancelFunc{}
	for ctx.Err() == nil {
		keys, err := h.keys(ctx)
		if err != nil && ctx.Err() == nil {
			h.cfg.Log.Error("webhooks", "error", err)
		}
		for key, stop := range running {
			if err == nil && !slices.Contains(keys, key) {
				stop()
				delete(running, key)
			}
		}
		for _, key := range keys {
			if running[key] != nil {
				continue
			}
			r, err := h.runner(ctx, key)
			if err != nil {
				h.cfg.Log.Error("webhook", "key", key, "error", err)
				continue
			}
			one, stop := context.WithCancel(ctx)
			running[key] = stop
			all.Go(func() { r.run(one) })
		}
		var timer <-chan time.Time
		if err != nil || !h.cfg.Alone {
			timer = time.After(lookAgain)
		}
		select {
		case <-ctx.Done():
		case <-h.changed:
		case <-timer:
		}
	}
}

// runner tells one hook.
type runner struct {
	h    *Hooks
	hook Hook
	wake chan struct{}
}

func (h *Hooks) runner(ctx context.Context, key string) (*runner, error) {
	r := &runner{h: h, wake: make(chan struct{}, 1)}
	_, err := h.get(ctx, key, &r.hook)
	return r, err
}

// secrets are what a message is signed with now. They are looked up each time:
// a secret that was changed on any node holds from the next message on.
func (r *runner) secrets(ctx context.Context, now time.Time) (secrets [][]byte, err error) {
	key := hookKey(r.hook.Campaign, r.hook.ID)
	var hook Hook
	if _, err := r.h.get(ctx, key, &hook); err != nil {
		return nil, err
	}
	sealed := [][]byte{hook.Secret}
	if now.Before(hook.BeforeEnds) {
		sealed = append(sealed, hook.Before)
	}
	for _, s := range sealed {
		secret, err := r.h.box.Open(key, s)
		if err != nil {
			return nil, err
		}
		secrets = append(secrets, secret)
	}
	return secrets, nil
}

func (r *runner) run(ctx context.Context) {
	r.h.mu.Lock()
	if r.h.runners[r.hook.Campaign] == nil {
		r.h.runners[r.hook.Campaign] = map[string]*runner{}
	}
	r.h.runners[r.hook.Campaign][r.hook.ID] = r
	r.h.mu.Unlock()
	defer func() {
		r.h.mu.Lock()
		defer r.h.mu.Unlock()
		delete(r.h.runners[r.hook.Campaign], r.hook.ID)
		if len(r.h.runners[r.hook.Campaign]) == 0 {
			delete(r.h.runners, r.hook.Campaign)
		}
	}()
	for ctx.Err() == nil {
		wait, err := r.step(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, journal.ErrConflict): // somebody changed the state
			continue
		case errors.Is(err, journal.ErrNotFound): // the hook was removed
			return
		case err != nil:
			r.h.cfg.Log.Error("webhook", "campaign", r.hook.Campaign, "webhook", r.hook.ID, "error", err)
			wait = lookAgain
		case wait == 0:
			wait = lookAnyway
		}
		r.rest(ctx, wait)
	}
}

// rest waits until there is something to do.
func (r *runner) rest(ctx context.Context, longest time.Duration) {
	timer := time.NewTimer(longest)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-r.wake:
	case <-timer.C:
	}
}

// progress is a hook's state while it is being changed.
type progress struct {
	State
	revision uint64
}

func (r *runner) save(ctx context.Context, p *progress) error {
	value, err := json.Marshal(p.State)
	if err == nil {
		p.revision, err = r.h.bucket.Update(ctx, stateKey(r.hook.Campaign, r.hook.ID), value, p.revision)
	}
	return err
}

// step tells what is due. It returns how long to wait for the next try; 0 stands
// for until something happens.
func (r *runner) step(ctx context.Context) (wait time.Duration, err error) {
	for {
		var p progress
		if p.revision, err = r.h.get(ctx, stateKey(r.hook.Campaign, r.hook.ID), &p.State); err != nil {
			return 0, err
		}
		if p.Paused != "" {
			return 0, nil
		}
		if wait := time.Until(p.NextTry); wait > 0 {
			return wait, nil
		}
		commits, err := r.read(ctx, p.Seq, batchCommits)
		if err != nil || len(commits) == 0 && !p.Again {
			return 0, err
		}
		if wait, err := r.batch(ctx, &p, commits); err != nil || wait > 0 || p.Paused != "" {
			return wait, err
		}
		if err := r.save(ctx, &p); err != nil || len(commits) < batchCommits {
			return 0, err
		}
	}
}

// batch tells dead letters that are to be tried again, and commits.
func (r *runner) batch(ctx context.Context, p *progress, commits []journal.Commit) (wait time.Duration, err error) {
	ok, err := r.mayHear(ctx)
	if err != nil {
		return 0, err
	}
	if !ok {
		p.Paused = r.hook.By + " takes part no longer, or looks on only"
		return 0, r.save(ctx, p)
	}
	if p.Again {
		if err := r.retell(ctx); err != nil {
			return 0, err
		}
		p.Again = false
	}
	for _, c := range commits {
		if wait, err := r.commit(ctx, p, c); err != nil || wait > 0 || p.Paused != "" {
			return wait, err
		}
	}
	return 0, nil
}

// mayHear reports whether who made the hook still takes part.
func (r *runner) mayHear(ctx context.Context) (ok bool, err error) {
	err = r.h.cfg.Ledger.State(ctx, r.hook.Campaign, func(c *rules.Campaign) error {
		p, here := c.Participant(r.hook.By)
		ok = here && p.Role != rules.RoleSpectator
		return nil
	})
	return ok, err
}

// errBatch ends a reading that has what it wants.
var errBatch = errors.New("enough")

// read reads up to limit commits.
func (r *runner) read(ctx context.Context, after uint64, limit int) (commits []journal.Commit, err error) {
	err = r.h.cfg.Journal.Read(ctx, r.hook.Campaign, after, func(c journal.Commit) error {
		c.Payload = bytes.Clone(c.Payload)
		if commits = append(commits, c); len(commits) == limit {
			return errBatch
		}
		return nil
	})
	if errors.Is(err, errBatch) {
		err = nil
	}
	return commits, err
}

// commit tells the records of a commit that are due.
func (r *runner) commit(ctx context.Context, p *progress, c journal.Commit) (wait time.Duration, err error) {
	recs, err := events.ParseCommit(c.Payload)
	if err != nil {
		return 0, fmt.Errorf("%w: %v", journal.ErrDamaged, err)
	}
	lines := events.SplitCommit(c.Payload)
	for i, rec := range recs {
		if rec.N < p.Next {
			continue
		}
		if r.wants(rec) {
			if wait, err := r.tell(ctx, p, rec, lines[i]); err != nil || wait > 0 || p.Paused != "" {
				return wait, err
			}
			continue
		}
		p.Next = rec.N + 1
	}
	p.Seq = c.Seq
	return 0, nil
}

func (r *runner) wants(rec events.Record) bool {
	return len(r.hook.Types) == 0 || slices.Contains(r.hook.Types, rec.Type)
}

// tell makes an attempt and keeps what came of it.
func (r *runner) tell(ctx context.Context, p *progress, rec events.Record, line []byte) (wait time.Duration, err error) {
	failed := r.attempt(ctx, rec, line)
	if err := ctx.Err(); err != nil {
		return 0, err // whether it arrived is not known: it is told again, under the same id
	}
	now := time.Now().UTC()
	if failed == nil {
		p.Next, p.Attempts, p.NextTry, p.Error, p.DeadRow = rec.N+1, 0, time.Time{}, "", 0
		p.Sent, p.SentAt = p.Sent+1, now.Truncate(time.Second)
		return 0, r.save(ctx, p)
	}
	p.Attempts++
	p.Error = failed.what
	switch {
	case failed.ours != nil:
		return 0, failed.ours
	case failed.gone:
		p.Paused = "the receiver says that it is gone for good"
		return 0, r.save(ctx, p)
	case p.Attempts <= len(r.h.cfg.Delays):
		wait = max(r.h.cfg.Delays[p.Attempts-1], failed.after)
		p.NextTry = now.Add(wait)
		return wait, r.save(ctx, p)
	}
	return 0, r.bury(ctx, p, Letter{N: rec.N, Type: rec.Type, Seq: p.Seq, Attempts: p.Attempts, Error: failed.what, At: now.Truncate(time.Second)})
}

// bury makes a dead letter of the record that is due.
func (r *runner) bury(ctx context.Context, p *progress, l Letter) error {
	count := 0
	err := r.letters(ctx, func(dead []Letter) []Letter {
		dead = append(slices.DeleteFunc(dead, func(d Letter) bool { return d.N == l.N }), l)
		count = len(dead)
		return dead
	})
	if err != nil {
		return err
	}
	p.Next, p.Attempts, p.NextTry, p.DeadRow = l.N+1, 0, time.Time{}, p.DeadRow+1
	switch {
	case count >= MaxDead:
		p.Paused = fmt.Sprintf("there are %d dead letters", count)
	case p.DeadRow >= MaxDeadInRow:
		p.Paused = fmt.Sprintf("%d records in a row were given up", p.DeadRow)
	}
	r.h.cfg.Log.Warn("webhook: a dead letter", "campaign", r.hook.Campaign, "webhook", r.hook.ID, "n", l.N, "error", l.Error)
	return r.save(ctx, p)
}

// retell tries the dead letters once that are marked for it. Those that the
// receiver takes now are dead no longer.
func (r *runner) retell(ctx context.Context) error {
	dead, err := r.h.Dead(ctx, r.hook)
	if err != nil {
		return err
	}
	for _, l := range dead {
		if !l.Again {
			continue
		}
		failed, err := r.exhume(ctx, l)
		if err != nil {
			return err
		}
		err = r.letters(ctx, func(dead []Letter) []Letter {
			i := slices.IndexFunc(dead, func(d Letter) bool { return d.N == l.N })
			switch {
			case i < 0:
			case failed == nil:
				dead = slices.Delete(dead, i, i+1)
			default:
				dead[i].Again, dead[i].Attempts, dead[i].Error, dead[i].At = false, l.Attempts+1, failed.what, time.Now().UTC().Truncate(time.Second)
			}
			return dead
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// letters changes the dead letters.
func (r *runner) letters(ctx context.Context, f func([]Letter) []Letter) error {
	key := deadKey(r.hook.Campaign, r.hook.ID)
	err := change(ctx, r.h, key, func(dead *[]Letter) { *dead = f(*dead) })
	if errors.Is(err, journal.ErrNotFound) {
		return r.h.put(ctx, key, f(nil)) // the first one: nobody else makes any
	}
	return err
}

func (r *runner) exhume(ctx context.Context, l Letter) (*failure, error) {
	commits, err := r.read(ctx, l.Seq, 1)
	if err != nil {
		return nil, err
	}
	for _, c := range commits {
		recs, err := events.ParseCommit(c.Payload)
		if err != nil {
			return nil, fmt.Errorf("%w: %v", journal.ErrDamaged, err)
		}
		if i := slices.IndexFunc(recs, func(rec events.Record) bool { return rec.N == l.N }); i >= 0 {
			failed := r.attempt(ctx, recs[i], events.SplitCommit(c.Payload)[i])
			if failed != nil {
				err = failed.ours
			}
			return failed, errors.Join(err, ctx.Err())
		}
	}
	return nil, fmt.Errorf("%w: record %d is not where it was", journal.ErrDamaged, l.N)
}

// failure is an attempt that came to nothing.
type failure struct {
	what  string
	gone  bool          // the receiver wants no more
	after time.Duration // that it asks for
	ours  error         // nothing was sent, for a fault on this side
}

// Message is what a receiver gets.
type Message struct {
	Type      string         `json:"type" doc:"of the event"`
	Timestamp string         `json:"timestamp" doc:"when it was recorded, wall clock, UTC"`
	Data      jsontext.Value `json:"data" doc:"the record, byte for byte as it is stored"`
	Secret    *MessageSecret `json:"secret,omitzero"`
}

// MessageSecret is what the record hides, or shows to more people, for who may
// see it.
type MessageSecret struct {
	N       int64          `json:"n" doc:"of the record that hides it"`
	Content jsontext.Value `json:"content"`
}

// attempt sends a record once.
func (r *runner) attempt(ctx context.Context, rec events.Record, line []byte) *failure {
	m := Message{Type: rec.Type, Timestamp: rec.At, Data: line}
	if r.hook.Secrets {
		n, hidden, ok, err := r.h.cfg.Ledger.Whisper(ctx, r.hook.By, rec)
		if err != nil {
			return &failure{ours: err}
		}
		if ok {
			m.Secret = &MessageSecret{n, hidden}
		}
	}
	body, err := json.Marshal(m, json.Deterministic(true), jsontext.PreserveRawStrings(true))
	if err != nil {
		return &failure{ours: err}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.hook.URL, bytes.NewReader(body))
	if err != nil {
		return &failure{ours: err}
	}
	id, now := "msg_"+rec.ID, time.Now()
	secrets, err := r.secrets(ctx, now)
	if err != nil {
		return &failure{ours: err}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", strings.TrimSpace("tallystick "+r.h.cfg.Version))
	req.Header.Set("webhook-id", id)
	req.Header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	req.Header.Set("webhook-signature", sign(secrets, id, now, body))
	res, err := r.h.client.Do(req)
	if err != nil {
		return &failure{what: inWords(err)}
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, maxAnswer) // so that the connection can be used again
	return judge(res)
}

// judge says what an answer means.
func judge(res *http.Response) *failure {
	switch {
	case res.StatusCode >= 200 && res.StatusCode < 300:
		return nil
	case res.StatusCode >= 300 && res.StatusCode < 400:
		return &failure{what: fmt.Sprintf("it answered %d: redirects are not followed", res.StatusCode)}
	}
	f := &failure{what: fmt.Sprintf("it answered %d", res.StatusCode), gone: res.StatusCode == http.StatusGone}
	if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && seconds > 0 {
		f.after = min(time.Duration(min(seconds, 86_400))*time.Second, maxRetryAfter)
	}
	return f
}

// inWords says why there was no answer, without telling anything of the network
// that this server is in.
func inWords(err error) string {
	var timeout interface{ Timeout() bool }
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(err, errAddress):
		return errAddress.Error()
	case errors.Is(err, errPlain):
		return errPlain.Error()
	case errors.As(err, &certificate):
		return "its certificate was not accepted"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "it did not answer in time"
	}
	return "it could not be reached"
}
