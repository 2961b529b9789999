package api

import "time"

// Limits of the HTTP side. Those of commands, records and the journal stand
// with the packages that keep them.
const (
	// MaxBody is the largest request body in bytes; a larger one gets 413.
	MaxBody = 64 << 10
	// MaxHeader is the largest request head in bytes.
	MaxHeader = 16 << 10
	// DefaultLimit and MaxLimit are how many items one page of a list holds.
	DefaultLimit = 100
	MaxLimit     = 1_000
	// MaxScan is how many records one filtered page looks at. A page that stops
	// there may hold fewer items than asked for; its next goes on.
	MaxScan = 50_000
	// ReplaysAtOnce is how many sessions are decided again at a time: a replay
	// takes a whole core. One more waits.
	ReplaysAtOnce = 1
	// ReplaysWaiting is how many replays and prognoses may wait for their turn;
	// one more gets 429.
	ReplaysWaiting = 8
	// ReplaysPerToken is how many of one token may run and wait.
	ReplaysPerToken = 4
	// ExportsPerToken is how many whole ledgers one token may read at a time.
	ExportsPerToken = 4
	// DefaultMaxCampaigns is how many campaigns a server holds unless it is
	// told otherwise.
	DefaultMaxCampaigns = 100_000

	// StreamsPerCampaign and StreamsPerToken bound the live feeds open at once;
	// one more gets 429.
	StreamsPerCampaign = 2_500
	StreamsPerToken    = 20
)

// Waiting times.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 10 * time.Second
	idleTimeout       = 60 * time.Second
	// writeTimeout bounds the writing of one answer, and of one piece of an
	// answer that is streamed.
	writeTimeout = 30 * time.Second
	// eventTimeout is how long a follower of the live feed may take to accept
	// one event before it is dropped.
	eventTimeout = 5 * time.Second
	// heartbeat keeps proxies from closing a feed on which nothing happens.
	heartbeat = 15 * time.Second
	// askAgain is how long a live feed trusts its token, unless it hears that
	// the token ended.
	askAgain = 2 * time.Second
	// grace is how long requests under way may take to end at a shutdown.
	grace = 10 * time.Second
	// AfterTimeout is how long a reader with ?after=n waits for record n.
	AfterTimeout = 5 * time.Second
	// retryMillis is what a live feed tells its reader to wait before it
	// connects again.
	retryMillis = 2_000
	// tokenTimeout bounds the bookkeeping of a token after its command is
	// stored, whether the client still waits or not.
	tokenTimeout = 10 * time.Second
)
