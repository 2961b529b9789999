package api

import (
	"context"
	"crypto/sha256"
	"math"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"tallystick/api/telemetry"
)

// Rates bound how often may be asked, and by how many connections. 0 is no bound.
type Rates struct {
	Token   float64 // requests a second of one token
	Address float64 // requests a second of one address; an IPv6 address counts as its /64
	Wrong   float64 // requests a second with a token that is not in force, of one address
	// Connections is how many one address may have open at a time, live feeds
	// among them.
	Connections int
}

// DefaultRates are generous to a table and to its bots, and tight to who
// guesses: five wrong tokens a minute.
var DefaultRates = Rates{Token: 1_000, Address: 2_000, Wrong: 5.0 / 60, Connections: 1_000}

const (
	// burstSeconds is how many seconds' worth of requests may come at once.
	burstSeconds = 5
	// wrongBurst is how many wrong tokens may come at once.
	wrongBurst = 5
	// maxBuckets bounds what is remembered: who asks from ever new addresses
	// must not fill the memory.
	maxBuckets = 10_000
)

// buckets bounds the rate of each of many callers.
type buckets struct {
	rate  rate.Limit
	burst int

	mu    sync.Mutex
	all   map[[32]byte]*rate.Limiter
	rest  *rate.Limiter // of all those for whom there is no room
	swept time.Time
}

func newBuckets(perSecond float64, burst int) *buckets {
	return &buckets{rate: rate.Limit(perSecond), burst: burst, all: map[[32]byte]*rate.Limiter{}, rest: rate.NewLimiter(rate.Limit(perSecond), burst)}
}

// take counts a request of a caller, or says how long they have to wait.
func (b *buckets) take(who string, now time.Time) (wait time.Duration) {
	if b.rate == 0 {
		return 0
	}
	r := b.of(who, now).ReserveN(now, 1)
	if wait = r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
	}
	return wait
}

// of finds a caller's limiter. When there are too many, those that are full are
// dropped, once a second: a new one is full too. Whoever still finds no room
// shares one with all others who found none.
func (b *buckets) of(who string, now time.Time) *rate.Limiter {
	key := sha256.Sum256([]byte(who))
	b.mu.Lock()
	defer b.mu.Unlock()
	if l, ok := b.all[key]; ok {
		return l
	}
	if len(b.all) >= maxBuckets && now.Sub(b.swept) >= time.Second {
		b.sweep(now)
	}
	if len(b.all) >= maxBuckets {
		return b.rest
	}
	l := rate.NewLimiter(b.rate, b.burst)
	b.all[key] = l
	return l
}

func (b *buckets) sweep(now time.Time) {
	b.swept = now
	for k, l := range b.all {
		if l.TokensAt(now) >= float64(b.burst) {
			delete(b.all, k)
		}
	}
}

// rates are the bounds of a server.
type rates struct{ token, address, wrong *buckets }

func newRates(r Rates) rates {
	burst := func(perSecond float64) int { return max(1, int(math.Ceil(perSecond*burstSeconds))) }
	return rates{newBuckets(r.Token, burst(r.Token)), newBuckets(r.Address, burst(r.Address)), newBuckets(r.Wrong, wrongBurst)}
}

// network is what an address counts as: hosts have a whole /64 to themselves.
func network(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil || ip.Is4() || ip.Is4In6() {
		return address
	}
	p, err := ip.Prefix(64)
	if err != nil {
		return address
	}
	return p.String()
}

// crowds counts the connections of each address. Whoever has too many open would
// take the files that the ledger needs; one more is closed at once.
type crowds struct {
	most int // of one address; 0: no bound

	mu sync.Mutex
	at map[string]int
}

// state is told what becomes of every connection.
func (c *crowds) state(conn net.Conn, state http.ConnState) {
	host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
	if c.most == 0 || err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch at := network(host); state {
	case http.StateNew:
		if c.at[at]++; c.at[at] > c.most {
			_ = conn.Close() // which comes here again
		}
	case http.StateClosed, http.StateHijacked:
		countOut(c.at, at)
	}
}

func tooMany(limit, detail string, wait time.Duration) *Problem {
	return newProblem("too-many-requests", detail).because(limit).retryAfter(int(math.Ceil(max(wait, time.Second).Seconds())))
}

// admitAddress counts a request of an address.
func (s *Server) admitAddress(address string) *Problem {
	if wait := s.rates.address.take(network(address), time.Now()); wait > 0 {
		return tooMany(telemetry.LimitAddress, "this address asks too often", wait)
	}
	return nil
}

// admitToken counts a request of a token that is in force.
func (s *Server) admitToken(token string) *Problem {
	if wait := s.rates.token.take(token, time.Now()); wait > 0 {
		return tooMany(telemetry.LimitToken, "this token asks too often", wait)
	}
	return nil
}

// wrong counts a wrong token of an address, and answers with 429 instead of the
// problem when there were too many. A good token is served all the same: 256
// random bits are not guessed, and whoever shares an address with a guesser is
// not to be locked out.
func (s *Server) wrong(ctx context.Context, p *Problem) *Problem {
	if wait := s.rates.wrong.take(network(requestOf(ctx).address), time.Now()); wait > 0 {
		return tooMany(telemetry.LimitWrong, "too many wrong tokens came from this address", wait)
	}
	return p
}
