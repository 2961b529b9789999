package journal

import (
	"encoding/base64"
	"fmt"
	"math"
	"reflect"
	"sync"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// A Door is a journal at which bots come in by NATS, and the list of those who
// may.
type Door interface {
	// LetIn says which bots hear which feeds from now on; ErrInvalid, and nothing
	// changes, when one of them is none. Whoever may hear less, or other feeds,
	// than before is cut off before LetIn returns, and may come in again with what
	// they may hear now.
	LetIn(bots []Bot) error
}

// CheckBots fails with ErrInvalid, and says why, unless every bot is one that can
// be let in.
func CheckBots(bots []Bot) error {
	_, err := listeners("", bots)
	return err
}

// gate decides who comes in to the server, and as what: only whoever proves to
// hold a key that is known.
type gate struct {
	feed key // hears all feeds; its zero value: there is no port

	mu    sync.RWMutex
	own   map[string]*server.User        // by public key: the program's own
	hears map[string]*server.Permissions // by public key: what a bot may hear and ask
	bots  *server.Account                // theirs
}

// Check implements server.Authentication.
func (g *gate) Check(c server.ClientAuthentication) bool {
	opts := c.GetOpts()
	g.mu.RLock()
	defer g.mu.RUnlock()
	user, ok := g.own[opts.Nkey]
	if rights, bot := g.hears[opts.Nkey]; bot {
		user, ok = &server.User{Username: opts.Nkey, Account: g.bots, Permissions: rights}, true
	}
	if !ok || !signed(opts, c.GetNonce()) {
		return false
	}
	c.RegisterUser(user)
	return true
}

// shut lets a key of the program's own in no more.
func (g *gate) shut(key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.own, key)
}

// signed reports whether a client has proved that it holds the key it names: it
// has signed what the server gave it to sign.
func signed(opts *server.ClientOpts, nonce []byte) bool {
	if len(nonce) == 0 {
		return false
	}
	signature, err := base64.RawURLEncoding.DecodeString(opts.Sig)
	if err != nil {
		if signature, err = base64.StdEncoding.DecodeString(opts.Sig); err != nil {
			return false
		}
	}
	public, err := nkeys.FromPublicKey(opts.Nkey)
	return err == nil && public.Verify(nonce, signature) == nil
}

// LetIn implements Door. Without a port for bots it gives ErrInvalid.
func (j *jetStream) LetIn(bots []Bot) error {
	if j.door == nil {
		return fmt.Errorf("%w: no port is open for bots", ErrInvalid)
	}
	return j.door.LetIn(bots)
}

// LetIn implements Door.
func (e *embedded) LetIn(bots []Bot) error {
	now, err := listeners(e.gate.feed.public, bots)
	if err != nil {
		return err
	}
	e.gate.mu.Lock()
	before := e.gate.hears
	e.gate.hears = now
	e.gate.mu.Unlock()
	for key, rights := range before {
		if !reflect.DeepEqual(now[key], rights) {
			if err := e.cutOff(key); err != nil {
				return err
			}
		}
	}
	return nil
}

// cutOff ends every connection that holds a key, or is about to prove that it
// does.
func (e *embedded) cutOff(key string) error {
	open, err := e.server.Connz(&server.ConnzOptions{Username: true, Limit: math.MaxInt32})
	if err != nil {
		return fmt.Errorf("journal: list the bots: %w", err)
	}
	for _, c := range open.Conns {
		if c.AuthorizedUser == key {
			_ = e.server.DisconnectClientByID(c.Cid) // fails when it has just gone
		}
	}
	return nil
}
