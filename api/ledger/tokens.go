package ledger

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"tallystick/events/journal"
)

// TokenBucket is the bucket that tokens are kept in, as hashes.
const TokenBucket = "tokens"

// tokenPrefix lets people and secret scanners recognise a token.
const tokenPrefix = "tally_"

// tokenCache is how long a node trusts what it has read of a token. A token
// revoked on this node ends at once, one revoked on another node within it.
const tokenCache = time.Second

// Identity is whom a token stands for.
type Identity struct {
	Admin    bool   `json:"admin,omitzero"` // of the whole server
	Campaign string `json:"campaign,omitzero"`
	Handle   string `json:"handle,omitzero"`
}

// Tokens gives out bearer tokens of 256 random bits and knows them again. Only
// their SHA-256 is kept, in a bucket beside the ledger.
type Tokens struct {
	bucket journal.Bucket
	admin  [32]byte // hash of the admin token
	now    func() time.Time

	mu    sync.Mutex
	ended uint64 // tokens that have
	cache map[[32]byte]cached
	watch map[[32]byte]map[*func()]bool
}

type cached struct {
	identity Identity
	ok       bool
	until    time.Time
}

// NewTokens opens the tokens of a server whose admin token is given.
func NewTokens(ctx context.Context, j journal.Journal, admin string) (*Tokens, error) {
	bucket, err := j.Bucket(ctx, TokenBucket)
	if err != nil {
		return nil, fmt.Errorf("open the tokens: %w", err)
	}
	return &Tokens{bucket: bucket, admin: sha256.Sum256([]byte(admin)), now: time.Now, cache: map[[32]byte]cached{}, watch: map[[32]byte]map[*func()]bool{}}, nil
}

// LoadAdminToken reads the admin token of a data folder and makes it at the
// first start.
func LoadAdminToken(dir string) (string, error) {
	return loadOrMake(filepath.Join(dir, AdminFile), newToken)
}

func newToken() string {
	b := make([]byte, 32)
	rand.Read(b)
	return tokenPrefix + hex.EncodeToString(b)
}

// Identify says whom a token stands for; ok is false for a token that was
// never given out or is revoked.
func (t *Tokens) Identify(ctx context.Context, token string) (id Identity, ok bool, err error) {
	hash := sha256.Sum256([]byte(token))
	if subtle.ConstantTimeCompare(hash[:], t.admin[:]) == 1 {
		return Identity{Admin: true}, true, nil
	}
	if !strings.HasPrefix(token, tokenPrefix) {
		return Identity{}, false, nil
	}
	if c, fresh := t.cached(hash); fresh {
		return c.identity, c.ok, nil
	}
	ended := t.endings()
	id, ok, err = t.find(ctx, hash)
	if err != nil {
		return Identity{}, false, fmt.Errorf("read a token: %w", err)
	}
	t.keep(hash, id, ok, ended)
	return id, ok, nil
}

// find reads whom a token stands for. It is in force as long as its holder's
// entry names it, whatever else was left behind.
func (t *Tokens) find(ctx context.Context, hash [32]byte) (id Identity, ok bool, err error) {
	value, _, err := t.bucket.Get(ctx, tokenKey(hash))
	if err == nil {
		err = json.Unmarshal(value, &id)
	}
	var held []byte
	if err == nil {
		held, _, err = t.bucket.Get(ctx, holderKey(id.Campaign, id.Handle))
	}
	if errors.Is(err, journal.ErrNotFound) {
		return Identity{}, false, nil
	}
	if err != nil || subtle.ConstantTimeCompare(held, []byte(hex.EncodeToString(hash[:]))) != 1 {
		return Identity{}, false, err
	}
	return id, true, nil
}

func (t *Tokens) cached(hash [32]byte) (cached, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, ok := t.cache[hash]
	return c, ok && t.now().Before(c.until)
}

// maxCachedTokens bounds the cache: guessed tokens must not fill the memory.
const maxCachedTokens = 10_000

// endings counts the tokens that began or ended on this node.
func (t *Tokens) endings() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended
}

// keep remembers what was read of a token, unless one has ended since the
// reading began: it may have been this one.
func (t *Tokens) keep(hash [32]byte, id Identity, ok bool, ended uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended != ended {
		return
	}
	if len(t.cache) >= maxCachedTokens {
		clear(t.cache)
	}
	t.cache[hash] = cached{id, ok, t.now().Add(tokenCache)}
}

// Issue gives out a token for a participant; an earlier one of theirs ends.
func (t *Tokens) Issue(ctx context.Context, campaign, handle string) (string, error) {
	token := newToken()
	hash := sha256.Sum256([]byte(token))
	value, err := json.Marshal(Identity{Campaign: campaign, Handle: handle})
	if err != nil {
		return "", err
	}
	if _, err := t.bucket.Put(ctx, tokenKey(hash), value); err != nil {
		return "", fmt.Errorf("keep a token: %w", err)
	}
	if err := t.hold(ctx, campaign, handle, hex.EncodeToString(hash[:]), t.tell); err != nil {
		return "", fmt.Errorf("keep a token: %w", err)
	}
	return token, nil
}

// Revoke ends a participant's token, if there is one, and tells who watches it.
// Open invitations for them, which would give them another, and those they made
// are taken back.
func (t *Tokens) Revoke(ctx context.Context, campaign, handle string) error {
	return t.end(ctx, campaign, handle, t.tell)
}

// Leave is Revoke for somebody who was removed. It tells nobody: a live feed
// ends by itself, behind the record that says so.
func (t *Tokens) Leave(ctx context.Context, campaign, handle string) error {
	return t.end(ctx, campaign, handle, func([32]byte) {})
}

func (t *Tokens) end(ctx context.Context, campaign, handle string, tell func(hash [32]byte)) error {
	if err := t.hold(ctx, campaign, handle, "", tell); err != nil {
		return fmt.Errorf("revoke a token: %w", err)
	}
	err := t.invitations(ctx, campaign, func(open []Invitation) ([]Invitation, error) {
		return without(open, func(i Invitation) bool { return i.Handle == handle || i.By == handle })
	})
	if errors.Is(err, ErrNoInvitation) {
		return nil
	}
	return err
}

// hold puts a token in the place of the one that a participant holds; "" puts
// none there. Of several who do so at once each ends the token of the one
// before, so that one is in force in the end and no other.
func (t *Tokens) hold(ctx context.Context, campaign, handle, token string, tell func(hash [32]byte)) error {
	key := holderKey(campaign, handle)
	for {
		before, revision, err := t.bucket.Get(ctx, key)
		switch {
		case errors.Is(err, journal.ErrNotFound) && token == "":
			return nil
		case errors.Is(err, journal.ErrNotFound):
			_, err = t.bucket.Create(ctx, key, []byte(token))
		case err == nil:
			_, err = t.bucket.Update(ctx, key, []byte(token), revision)
		}
		if errors.Is(err, journal.ErrConflict) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return err
		}
		return t.ends(ctx, string(before), tell)
	}
}

// ends forgets a token that is in force no more, and tells who watches it.
func (t *Tokens) ends(ctx context.Context, token string, tell func(hash [32]byte)) error {
	raw, err := hex.DecodeString(token)
	if err != nil || len(raw) != 32 {
		t.forget([32]byte{})
		return nil // there was none
	}
	hash := [32]byte(raw)
	t.forget(hash)
	tell(hash)
	return t.bucket.Delete(ctx, tokenKey(hash))
}

// Holds reports whether a participant has a token in force.
func (t *Tokens) Holds(ctx context.Context, campaign, handle string) (bool, error) {
	token, _, err := t.bucket.Get(ctx, holderKey(campaign, handle))
	if errors.Is(err, journal.ErrNotFound) {
		return false, nil
	}
	return len(token) > 0, err
}

// Watch has ended called once when the token ends on this node: that is at
// once, while one that ends on another node is noticed when it is asked for
// again. The function it returns ends the watch.
func (t *Tokens) Watch(token string, ended func()) (stop func()) {
	hash, key := sha256.Sum256([]byte(token)), &ended
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.watch[hash] == nil {
		t.watch[hash] = map[*func()]bool{}
	}
	t.watch[hash][key] = true
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.watch[hash], key)
		if len(t.watch[hash]) == 0 {
			delete(t.watch, hash)
		}
	}
}

// forget drops what is remembered of a token that ended, and what is just being
// read of any.
func (t *Tokens) forget(hash [32]byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended++
	delete(t.cache, hash)
}

// tell calls who watches a token that ended.
func (t *Tokens) tell(hash [32]byte) {
	t.mu.Lock()
	watching := t.watch[hash]
	delete(t.watch, hash)
	t.mu.Unlock()
	for ended := range watching {
		(*ended)()
	}
}

func tokenKey(hash [32]byte) string { return "token." + hex.EncodeToString(hash[:]) }

// holderKey is free of what a handle may hold and a key may not.
func holderKey(campaign, handle string) string {
	hash := sha256.Sum256([]byte(campaign + "\n" + handle))
	return "holder." + hex.EncodeToString(hash[:16])
}
