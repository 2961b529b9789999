package journal

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// S16: a bot hears the feeds it was given and nothing else; it cannot publish,
// cannot reach the ledger's streams and buckets, and nobody comes in without a
// key. With a certificate the port speaks TLS alone.
func TestBots(t *testing.T) {
	certificate, roots := selfSigned(t)
	for name, encrypted := range map[string]*tls.Config{"plain": nil, "tls": {Certificates: []tls.Certificate{certificate}}} {
		t.Run(name, func(t *testing.T) { testBots(t, encrypted, roots) })
	}
}

func testBots(t *testing.T, encrypted *tls.Config, roots *x509.CertPool) {
	mine, other := uuid.NewString(), uuid.NewString()
	seed, public, err := NewBotKey()
	if err != nil {
		t.Fatal(err)
	}
	address := freePort(t)
	j, close := openEmbedded(t, Options{Dir: t.TempDir(), FeedListen: address, FeedTLS: encrypted, Bots: []Bot{{Name: "b", Key: public, Campaigns: []string{mine}}}})
	defer close()
	pair, err := nkeys.FromSeed(seed)
	if err != nil {
		t.Fatal(err)
	}
	options := []nats.Option{}
	if encrypted != nil {
		options = append(options, nats.Secure(&tls.Config{RootCAs: roots}))
	}
	if _, err := nats.Connect(address, options...); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("without a key: %v", err)
	}
	stranger, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	strange, err := stranger.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nats.Connect(address, append(options, nats.Nkey(strange, stranger.Sign))...); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("with a key that nobody knows: %v", err)
	}
	denied := make(chan error, 20)
	conn, err := nats.Connect(address, append(options, nats.Nkey(public, pair.Sign),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { denied <- err }))...)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	heard, err := conn.SubscribeSync("feed." + mine + ".>")
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	campaign := fill(t, j, 2, 10)
	for i, attempt := range []func() error{
		func() error { _, err := conn.SubscribeSync("feed." + other + ".>"); return err },
		func() error { _, err := conn.SubscribeSync("feed.>"); return err },
		func() error { _, err := conn.SubscribeSync("feed.*.roll.made"); return err },
		func() error { _, err := conn.SubscribeSync(">"); return err },
		func() error { _, err := conn.SubscribeSync("$KV.>"); return err },
		func() error { _, err := conn.SubscribeSync("$SYS.>"); return err },
		func() error { return conn.Publish("feed."+mine+".x", []byte("forged")) },
		func() error { return conn.Publish(j.layout.subject(campaign), []byte("forged")) },
		func() error { return conn.Publish("$JS.API.STREAM.DELETE.LEDGER_0", nil) },
		func() error { return conn.Publish("$JS.API.STREAM.UPDATE.LEDGER_0", nil) },
		func() error { return conn.Publish("$JS.API.STREAM.PURGE.LEDGER_0", nil) },
	} {
		if err := attempt(); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-denied:
			if !errors.Is(err, nats.ErrPermissionViolation) {
				t.Errorf("attempt %d: %v", i, err)
			}
		case <-time.After(5 * time.Second):
			t.Errorf("attempt %d was allowed", i)
		}
	}
	for _, c := range []string{other, mine} {
		if err := j.Publish(soon(t), "feed."+c+".roll.made", []byte(c)); err != nil {
			t.Fatal(err)
		}
	}
	if m, err := heard.NextMsg(5 * time.Second); err != nil || string(m.Data) != mine {
		t.Errorf("heard %v, %v", m, err)
	}
	if got := readAll(t, j, campaign); len(got) != 2 {
		t.Errorf("got %d commits, want 2", len(got))
	}
}

// While the server runs, a bot comes and goes, and is given other feeds: who is
// struck off the list is cut off at once and not let in again; who is not is
// left alone, the program too. A list with a bad entry changes nothing.
func TestBotsComeAndGo(t *testing.T) {
	address, mine, other := freePort(t), uuid.NewString(), uuid.NewString()
	j, close := openEmbedded(t, Options{Dir: t.TempDir(), FeedListen: address})
	defer close()
	letIn := func(bots ...Bot) {
		t.Helper()
		if err := j.LetIn(bots); err != nil {
			t.Fatal(err)
		}
	}
	crier, deaf := newBotKey(t, address), newBotKey(t, address)
	if _, err := crier.connect(); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("before it is on the list: %v", err)
	}
	letIn(Bot{Name: "crier", Key: crier.public, Campaigns: []string{mine}}, Bot{Name: "deaf", Key: deaf.public, Campaigns: []string{mine}})
	first, left := crier.hears(t, mine), deaf.hears(t, mine)
	publish := func(campaign string) {
		t.Helper()
		if err := j.Publish(soon(t), "feed."+campaign+".roll.made", []byte(campaign)); err != nil {
			t.Fatal(err)
		}
	}
	publish(mine)
	for _, l := range []*botConn{first, left} {
		if m, err := l.sub.NextMsg(5 * time.Second); err != nil || string(m.Data) != mine {
			t.Errorf("heard %v, %v", m, err)
		}
	}

	letIn(Bot{Name: "crier", Key: crier.public, Campaigns: []string{other}}, Bot{Name: "deaf", Key: deaf.public, Campaigns: []string{mine}})
	first.ends(t)
	second := crier.hears(t, other)
	publish(other)
	if m, err := second.sub.NextMsg(5 * time.Second); err != nil || string(m.Data) != other {
		t.Errorf("heard %v, %v", m, err)
	}

	if err := j.LetIn([]Bot{{Name: "deaf", Key: deaf.public, Campaigns: []string{"*"}}}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a bad list: %v", err)
	}
	letIn(Bot{Name: "deaf", Key: deaf.public, Campaigns: []string{mine}})
	second.ends(t)
	if _, err := crier.connect(); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("after it was struck off the list: %v", err)
	}
	publish(mine)
	if m, err := left.sub.NextMsg(5 * time.Second); err != nil || string(m.Data) != mine {
		t.Errorf("who stayed heard %v, %v", m, err)
	}
	if campaign := fill(t, j, 1, 10); len(readAll(t, j, campaign)) != 1 {
		t.Error("the program itself was cut off")
	}

	shut, close := openEmbedded(t, Options{Dir: t.TempDir()})
	defer close()
	if err := shut.LetIn(nil); !errors.Is(err, ErrInvalid) {
		t.Errorf("where no port is open: %v", err)
	}
}

// botKey is a bot with its key; botConn is its connection.
type botKey struct {
	address, public string
	pair            nkeys.KeyPair
}

type botConn struct {
	sub  *nats.Subscription
	gone chan struct{}
}

func newBotKey(t *testing.T, address string) *botKey {
	t.Helper()
	seed, public, err := NewBotKey()
	if err != nil {
		t.Fatal(err)
	}
	pair, err := nkeys.FromSeed(seed)
	if err != nil {
		t.Fatal(err)
	}
	return &botKey{address, public, pair}
}

func (l *botKey) connect(options ...nats.Option) (*nats.Conn, error) {
	return nats.Connect(l.address, append(options, nats.Nkey(l.public, l.pair.Sign), nats.NoReconnect())...)
}

func (l *botKey) hears(t *testing.T, campaign string) *botConn {
	t.Helper()
	gone := make(chan struct{})
	conn, err := l.connect(nats.ClosedHandler(func(*nats.Conn) { close(gone) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	sub, err := conn.SubscribeSync("feed." + campaign + ".>")
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	return &botConn{sub, gone}
}

// ends fails unless the server ends the connection.
func (l *botConn) ends(t *testing.T) {
	t.Helper()
	select {
	case <-l.gone:
	case <-time.After(5 * time.Second):
		t.Fatal("the connection stays open")
	}
}

// What a bot is given is checked before a port is opened: an empty list would
// mean everything to the server.
func TestBadBots(t *testing.T) {
	_, public, err := NewBotKey()
	if err != nil {
		t.Fatal(err)
	}
	campaign := []string{uuid.NewString()}
	for name, bots := range map[string][]Bot{
		"no campaign":   {{Name: "b", Key: public}},
		"a wildcard":    {{Name: "b", Key: public, Campaigns: []string{"*"}}},
		"no key":        {{Name: "b", Campaigns: campaign}},
		"one key twice": {{Name: "b", Key: public, Campaigns: campaign}, {Name: "c", Key: public, Campaigns: campaign}},
	} {
		if _, err := Embedded(soon(t), Options{Dir: t.TempDir(), FeedListen: freePort(t), Bots: bots}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// selfSigned is a certificate for this machine, and who vouches for it.
func selfSigned(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}

// A bot that may command asks about its own campaigns and no other's, finds the
// service, and hears its own answers alone; one that may not, cannot ask.
func TestBotCommands(t *testing.T) {
	mine, other := uuid.NewString(), uuid.NewString()
	type key struct {
		public string
		pair   nkeys.KeyPair
	}
	keys := make([]key, 3)
	for i := range keys {
		seed, public, err := NewBotKey()
		if err != nil {
			t.Fatal(err)
		}
		pair, err := nkeys.FromSeed(seed)
		if err != nil {
			t.Fatal(err)
		}
		keys[i] = key{public, pair}
	}
	address := freePort(t)
	j, closeJournal := openEmbedded(t, Options{Dir: t.TempDir(), FeedListen: address, Bots: []Bot{
		{Name: "a", Key: keys[0].public, Campaigns: []string{mine}, Commands: true},
		{Name: "b", Key: keys[1].public, Campaigns: []string{other}, Commands: true},
		{Name: "c", Key: keys[2].public, Campaigns: []string{mine}},
	}})
	defer closeJournal()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	err := j.Respond(ctx, func(_ context.Context, r Request) Reply {
		if !slices.Equal(r.Values("authorization"), []string{"Bearer x"}) {
			return Reply{Code: 401, Reason: "who are you", Data: []byte(`{"status":401}`)}
		}
		return Reply{Data: append([]byte(r.Campaign+" "), r.Data...)}
	})
	if err != nil {
		t.Fatal(err)
	}
	denied := make(chan error, 20)
	connect := func(k key) *nats.Conn {
		conn, err := nats.Connect(address, nats.Nkey(k.public, k.pair.Sign), nats.CustomInboxPrefix("_INBOX."+k.public),
			nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { denied <- err }))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Close)
		return conn
	}
	a, b, c := connect(keys[0]), connect(keys[1]), connect(keys[2])
	ask := func(conn *nats.Conn, campaign, token string) (*nats.Msg, error) {
		m := nats.NewMsg("tallystick.command." + campaign)
		m.Header.Set("Authorization", token)
		m.Data = []byte("hello")
		return conn.RequestMsg(m, 5*time.Second)
	}
	m, err := ask(a, mine, "Bearer x")
	if err != nil || string(m.Data) != mine+" hello" || m.Header.Get("Nats-Service-Error-Code") != "" {
		t.Fatalf("got %v, %v", m, err)
	}
	if m, err = ask(a, mine, "Bearer y"); err != nil || m.Header.Get("Nats-Service-Error-Code") != "401" || string(m.Data) != `{"status":401}` {
		t.Errorf("got %v, %v", m, err)
	}
	if m, err = a.Request("$SRV.INFO.tallystick", nil, 5*time.Second); err != nil || !strings.Contains(string(m.Data), `"tallystick.command.*"`) {
		t.Errorf("got %v, %v", m, err)
	}
	for name, attempt := range map[string]func() error{
		"another campaign":      func() error { return a.Publish("tallystick.command."+other, nil) },
		"all campaigns' answer": func() error { _, err := b.SubscribeSync("_INBOX.>"); return err },
		"another's answers":     func() error { _, err := b.SubscribeSync("_INBOX." + keys[0].public + ".>"); return err },
		"to answer itself":      func() error { _, err := b.SubscribeSync("tallystick.command." + other); return err },
		"without the right":     func() error { return c.Publish("tallystick.command."+mine, nil) },
		"a forged feed":         func() error { return a.Publish("feed."+mine+".x", nil) },
	} {
		if err := attempt(); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-denied:
			if !errors.Is(err, nats.ErrPermissionViolation) {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(5 * time.Second):
			t.Errorf("%s was allowed", name)
		}
	}
}
