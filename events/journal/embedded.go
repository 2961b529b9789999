package journal

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// Options say where a journal's store is and how it is used. Unset fields take
// the stated defaults.
type Options struct {
	Partitions int           // of a new ledger, default 4; an old one insists on its own
	Logger     *slog.Logger  // errors and warnings of the store, default slog.Default()
	AckWait    time.Duration // how long one attempt waits for its answer, default 5 s
	Faults     *Faults       // tests only

	// Embedded.
	Dir    string // data folder, made with mode 0700; one server at a time
	Unsafe bool   // do not sync what is written: only to show in a test that it loses data
	// ServerSyncs leaves it to nats-server to sync every write by itself, as a server
	// elsewhere does: to compare with, and to see what a journal does on such a one.
	ServerSyncs bool
	// Mend puts right, or lets the server cut off, what a *BlockError would name.
	Mend bool
	// Broken is called, at most once, when a *BlockError is found while the journal
	// is open. All use of it is refused from then on, and the server may be counting:
	// whoever serves is to end the process. May be nil.
	Broken func(error)
	// FeedListen is an address, host:port, at which ordinary NATS clients may
	// subscribe to feeds and do nothing else. They are in an account of their own,
	// apart from the ledger: the key in the file feed.nk of Dir, made when there
	// is none, hears feed.>; those of Bots hear what they were given, and ask at the
	// subjects of a Responder if they may, until LetIn of the Door says otherwise.
	// Without FeedTLS it must be a loopback address. Empty: no port is opened.
	FeedListen string
	FeedTLS    *tls.Config // for FeedListen; nil: not encrypted
	Bots       []Bot       // at the start

	// Connect.
	URL       string // nats://host:port, several with commas
	CredsFile string // user credentials, or
	NKeyFile  string // seed of a user key
	CAFile    string // certificates that may vouch for the server
	Replicas  int    // of the streams when they are made, default 1
}

// A Bot is a key that hears the feeds of some campaigns.
type Bot struct {
	Name      string
	Key       string   // public user key (NKey, begins with U)
	Campaigns []string // ids
	// Commands lets it ask a Responder, about these campaigns. Its answers come
	// to _INBOX.<key>, where no other bot hears them.
	Commands bool
}

const (
	defaultAckWait = 5 * time.Second
	// startWithin bounds how long the server reads its store before it answers, and
	// startTold is how often the log says that it does.
	startWithin = 10 * time.Minute
	startTold   = 10 * time.Second
	// maxMessage is the server's limit for one message with its headers, in bytes.
	maxMessage = 1 << 20
	// noStoreLimit stands for "as much as the disk holds" (1 PiB). Left alone,
	// nats-server would set a limit of its own at three quarters of the free room.
	noStoreLimit = 1 << 50
)

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.AckWait <= 0 {
		o.AckWait = defaultAckWait
	}
	if o.Replicas == 0 {
		o.Replicas = 1
	}
	return o
}

// embedded is a NATS server inside this process and the lock of its folder.
type embedded struct {
	server *server.Server
	gate   gate
	lock   *os.File
	blocks *blockWatch
	ours   bool       // syncing is up to us
	behind []*barrier // of the partitions then
	disk   sync.Mutex // of all barriers
}

// Embedded opens the journal in a folder, with a NATS server in this process that
// listens on no port. It locks the folder first: ErrInUse names it when another
// process has it. The streams are made with an admin key that is forgotten before
// Embedded returns; the key the journal keeps cannot change or delete a stream.
// A *BlockError names a message with which the server would not come to an end.
func Embedded(ctx context.Context, o Options) (Journal, error) {
	o = o.withDefaults()
	if o.Dir == "" {
		return nil, fmt.Errorf("%w: Dir is empty", ErrInvalid)
	}
	if o.Partitions != 0 {
		if err := checkPartitions(o.Partitions); err != nil {
			return nil, err
		}
	}
	lock, err := lockFolder(o.Dir)
	if err != nil {
		return nil, err
	}
	e := &embedded{lock: lock, blocks: newBlockWatch(o), ours: !o.Unsafe && !o.ServerSyncs}
	j, err := e.open(ctx, o)
	if err != nil {
		e.close()
		return nil, err
	}
	return j, nil
}

func (e *embedded) open(ctx context.Context, o Options) (*jetStream, error) {
	if err := e.blocks.atStart(o.Mend); err != nil {
		return nil, err
	}
	admin, program, err := newKeys()
	if err != nil {
		return nil, err
	}
	if err := e.start(ctx, o, admin, program); err != nil {
		return nil, err
	}
	layout, err := e.prepare(ctx, o, admin)
	if err != nil {
		return nil, err
	}
	e.gate.shut(admin.public)
	folder := filepath.Join(o.Dir, storeName)
	if e.ours { // what this start made, or one that was killed
		if err := errors.Join(syncTree(folder, (*os.File).Sync), syncNames(o.Dir, (*os.File).Sync)); err != nil {
			return nil, fmt.Errorf("journal: data folder: %w", err)
		}
	}
	before, err := remembered(folder, layout.partitions)
	if err != nil {
		return nil, err
	}
	conn, err := dial("", o, nats.InProcessServer(e.server), program.option())
	if err != nil {
		return nil, err
	}
	lone, err := dialLone("", o, nats.InProcessServer(e.server), program.option())
	if err != nil {
		conn.Close()
		return nil, err
	}
	j, err := newJetStream(conn, lone, layout, o, e.syncMode(), e.barriers(o.Dir, layout.partitions))
	if err != nil {
		return nil, err
	}
	if e.ours {
		j.disk = &e.disk
	}
	for p, w := range j.writers {
		if err := w.checkBack(streamName(p), before[p], layout.last[p]); err != nil {
			o.Logger.Error("a ledger stream has lost its end", "error", err)
		}
		w.saw(before[p])
	}
	j.writeError, j.blocks = e.writeError, e.blocks
	j.cut = e.blocks.cutOff(func(stream string) (uint64, bool) {
		s, err := j.js.Stream(ctx, stream)
		if err != nil {
			return 0, false // it is made when it is asked for
		}
		return s.CachedInfo().State.LastSeq, true
	})
	for _, problem := range j.cut {
		o.Logger.Error("the store has lost something", "problem", problem)
	}
	e.blocks.behind()
	if o.FeedListen != "" {
		j.door = e
	}
	j.release = func() error { return errors.Join(remember(folder, j.lasting(before)), e.close()) }
	return j, nil
}

// barriers are those of the partitions, nil where the server syncs by itself.
func (e *embedded) barriers(dir string, partitions int) []*barrier {
	barriers := make([]*barrier, partitions)
	if !e.ours {
		return barriers
	}
	for p := range barriers {
		g := &growing{dir: messagesDir(dir, streamName(p)), fsync: (*os.File).Sync}
		barriers[p] = &barrier{sync: g.sync, free: g.close, disk: &e.disk}
	}
	e.behind = barriers
	return barriers
}

// syncMode is who syncs: of the server, what it says it does, not what it was told.
func (e *embedded) syncMode() string {
	if e.ours {
		return SyncAlways
	}
	if config := e.server.JetStreamConfig(); config != nil && config.SyncAlways {
		return SyncAlways
	}
	return SyncRelaxed
}

// writeError returns why the server has stopped writing a stream, or nil. It does
// so for good, and without a word to the client, after a write that failed.
func (e *embedded) writeError(stream string) error {
	health := e.server.Healthz(&server.HealthzOptions{Account: server.DEFAULT_GLOBAL_ACCOUNT, Stream: stream, Details: true})
	for _, problem := range health.Errors {
		if problem.Stream == stream {
			return errors.New(problem.Error)
		}
	}
	return nil
}

// start runs the server and waits until it serves. Recovery of a large folder
// takes its time, so only ctx ends the wait.
func (e *embedded) start(ctx context.Context, o Options, admin, program key) error {
	log := &serverLog{logger: o.Logger, fatal: make(chan string, 1)}
	options := &server.Options{
		ServerName:        "tallystick",
		DontListen:        true,
		NoSigs:            true,
		MaxPayload:        maxMessage,
		JetStream:         true,
		StoreDir:          filepath.Join(o.Dir, storeName),
		SyncAlways:        o.ServerSyncs,
		JetStreamMaxStore: noStoreLimit,

		CustomClientAuthentication: &e.gate,
		AlwaysEnableNonce:          true, // for the gate: keys sign it
		// A bot that does not keep up loses what it was told; the ledger does not
		// wait for it.
		NoFastProducerStall: true,
	}
	e.gate.own = map[string]*server.User{
		admin.public:   {Username: admin.public},
		program.public: {Username: program.public, Permissions: programRights()},
	}
	if o.FeedListen != "" {
		if err := e.listenForFeed(options, o); err != nil {
			return err
		}
	}
	s, err := server.NewServer(options)
	if err != nil {
		return fmt.Errorf("journal: embedded server: %w", err)
	}
	if o.FeedListen != "" {
		if e.gate.bots, err = s.LookupAccount(botAccount); err != nil { // the server made its own of it
			return fmt.Errorf("journal: embedded server: %w", err)
		}
	}
	if err := os.MkdirAll(filepath.Join(o.Dir, storeName), 0o700); err != nil {
		return fmt.Errorf("journal: data folder: %w", err)
	}
	s.SetLoggerV2(log, false, false, false)
	e.server = s
	go s.Start()
	if err := e.started(ctx, o, log); err != nil {
		return fmt.Errorf("journal: embedded server in %s %w", o.Dir, err)
	}
	if len(options.Accounts) > 0 {
		// With a second account the server gives JetStream to none by itself.
		if err := s.GlobalAccount().EnableJetStream(nil, nil); err != nil {
			return fmt.Errorf("journal: embedded server in %s: %w", o.Dir, err)
		}
	}
	return nil
}

// started waits until the server answers.
func (e *embedded) started(ctx context.Context, o Options, log *serverLog) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startWithin, errNeverStarts)
	defer cancel()
	begun, told := time.Now(), time.Duration(0)
	for !e.server.ReadyForConnections(50 * time.Millisecond) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("did not start: %w", context.Cause(ctx))
		case why := <-log.fatal:
			return errors.New(why)
		default:
		}
		if waited := time.Since(begun); waited > told+startTold {
			told = waited
			o.Logger.Warn("the store is still being read", "folder", o.Dir, "waited", waited.Round(time.Second))
		}
	}
	return nil
}

// errNeverStarts is why a start is given up. No damage is known that leads there.
var errNeverStarts = fmt.Errorf("%w: the store cannot be read to its end; put the folder aside and restore from the archive", ErrDamaged)

// prepare makes or checks the streams as admin.
func (e *embedded) prepare(ctx context.Context, o Options, admin key) (layout, error) {
	conn, err := dial("", o, nats.InProcessServer(e.server), admin.option())
	if err != nil {
		return layout{}, err
	}
	defer conn.Close()
	return prepareStreams(ctx, conn, o)
}

// close stops the server and then frees the folder.
func (e *embedded) close() error {
	e.blocks.close()
	if e.server != nil {
		e.server.Shutdown()
		e.server.WaitForShutdown()
	}
	var errs []error
	for _, b := range e.behind {
		errs = append(errs, b.close())
	}
	return errors.Join(append(errs, closeLocked(e.lock))...)
}

// key is a NATS user key that lives as long as the server it was made for.
type key struct {
	public string
	pair   nkeys.KeyPair
}

func newKey() (key, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return key{}, fmt.Errorf("journal: make a key: %w", err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		return key{}, fmt.Errorf("journal: make a key: %w", err)
	}
	return key{public, pair}, nil
}

func newKeys() (admin, program key, err error) {
	if admin, err = newKey(); err != nil {
		return
	}
	program, err = newKey()
	return
}

func (k key) option() nats.Option { return nats.Nkey(k.public, k.pair.Sign) }

// programRights is what the program may do: append, read, follow, and have buckets.
// Whatever would change, empty, restore or remove a stream is not among it, and
// no ledger stream can be made anew under it.
func programRights() *server.Permissions {
	deny := []string{
		"$SYS.>",
		"$JS.API.STREAM.DELETE.>", "$JS.API.STREAM.UPDATE.>", "$JS.API.STREAM.PURGE.>",
		"$JS.API.STREAM.MSG.DELETE.>", "$JS.API.STREAM.RESTORE.>", "$JS.API.STREAM.SNAPSHOT.>",
	}
	for i := range MaxPartitions {
		deny = append(deny, "$JS.API.STREAM.CREATE."+streamName(i))
	}
	return &server.Permissions{
		Publish: &server.SubjectPermission{
			Allow: []string{
				"ledger.>", "feed.>", "$KV.>",
				"$JS.API.INFO", "$JS.API.STREAM.INFO.>", "$JS.API.STREAM.MSG.GET.>", "$JS.API.DIRECT.GET.>",
				"$JS.API.STREAM.CREATE.*", // buckets
				"$JS.API.CONSUMER.>", "$JS.ACK.>", "$JS.FC.>",
			},
			Deny: deny,
		},
		Subscribe: &server.SubjectPermission{Deny: []string{"$SYS.>"}},
		Response:  &server.ResponsePermission{MaxMsgs: 1, Expires: answerWithin}, // of a Responder
	}
}

// storeName is the folder in a data folder that is the server's.
const storeName = "store"

// feedKeyName is the file in a data folder with the seed of the feed's key.
const feedKeyName = "feed.nk"

// listenForFeed opens the port of FeedListen to holders of the feed's key and to
// the bots.
func (e *embedded) listenForFeed(options *server.Options, o Options) error {
	host, port, err := net.SplitHostPort(o.FeedListen)
	if err != nil {
		return fmt.Errorf("%w: FeedListen %q: %w", ErrInvalid, o.FeedListen, err)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 {
		return fmt.Errorf("%w: FeedListen %q: port", ErrInvalid, o.FeedListen)
	}
	if ip := net.ParseIP(host); o.FeedTLS == nil && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("%w: FeedListen %q is not a loopback address, and there is no certificate", ErrInvalid, o.FeedListen)
	}
	if e.gate.feed, err = feedKey(filepath.Join(o.Dir, feedKeyName)); err != nil {
		return err
	}
	if e.gate.hears, err = listeners(e.gate.feed.public, o.Bots); err != nil {
		return err
	}
	// Whoever comes by the port is in an account without JetStream, to which the
	// ledger's account exports its feeds and its service, and nothing else.
	ledger, bots := server.NewAccount(server.DEFAULT_GLOBAL_ACCOUNT), server.NewAccount(botAccount)
	if err := ledger.AddStreamExport(feedSubjects, []*server.Account{bots}); err != nil {
		return fmt.Errorf("journal: export the feeds: %w", err)
	}
	if err := bots.AddStreamImport(ledger, feedSubjects, ""); err != nil {
		return fmt.Errorf("journal: import the feeds: %w", err)
	}
	if err := exportService(ledger, bots); err != nil {
		return err
	}
	options.Accounts = []*server.Account{ledger, bots}
	options.DontListen, options.Host, options.Port = false, host, int(number)
	if o.FeedTLS != nil {
		options.TLSConfig, options.TLSTimeout = o.FeedTLS, feedTLSTimeout
	}
	return nil
}

const (
	// botAccount is the NATS account of whoever comes by the port.
	botAccount = "BOTS"
	// feedSubjects are all feeds.
	feedSubjects = "feed.>"
	// answerWithin is how long a request may take to be answered.
	answerWithin = 5 * time.Minute
	// feedTLSTimeout is how long a handshake may take, in seconds.
	feedTLSTimeout = 5
)

// exportService lets the bots' account ask a Responder.
func exportService(ledger, bots *server.Account) error {
	for subject, answers := range map[string]server.ServiceRespType{commandPrefix + "*": server.Singleton, "$SRV.>": server.Streamed} {
		if err := ledger.AddServiceExportWithResponse(subject, answers, []*server.Account{bots}); err != nil {
			return fmt.Errorf("journal: export %s: %w", subject, err)
		}
		if err := bots.AddServiceImport(ledger, subject, ""); err != nil {
			return fmt.Errorf("journal: import %s: %w", subject, err)
		}
	}
	return nil
}

// listeners says what each key may do.
func listeners(all string, bots []Bot) (map[string]*server.Permissions, error) {
	hears := map[string]*server.Permissions{all: rights([]string{feedSubjects}, nil)}
	for _, b := range bots {
		if !nkeys.IsValidPublicUserKey(b.Key) {
			return nil, fmt.Errorf("%w: the key of bot %q is no public user key", ErrInvalid, b.Name)
		}
		if _, twice := hears[b.Key]; twice {
			return nil, fmt.Errorf("%w: the key of bot %q stands twice", ErrInvalid, b.Name)
		}
		var hear, say []string
		for _, campaign := range b.Campaigns {
			if err := checkCampaign(campaign); err != nil {
				return nil, fmt.Errorf("bot %q: %w", b.Name, err)
			}
			hear, say = append(hear, "feed."+campaign+".>"), append(say, commandPrefix+campaign)
		}
		if len(hear) == 0 {
			return nil, fmt.Errorf("%w: bot %q was given no campaign", ErrInvalid, b.Name)
		}
		if !b.Commands {
			hears[b.Key] = rights(hear, nil)
			continue
		}
		for _, verb := range []string{"PING", "INFO", "STATS"} {
			say = append(say, "$SRV."+verb, "$SRV."+verb+"."+ServiceName)
		}
		hears[b.Key] = rights(append(hear, "_INBOX."+b.Key+".>"), say)
	}
	return hears, nil
}

// rights are those of a key that hears some subjects and says something at
// others. An empty list would mean everything to the server.
func rights(hear, say []string) *server.Permissions {
	p := &server.Permissions{Publish: &server.SubjectPermission{Allow: say}, Subscribe: &server.SubjectPermission{Allow: hear}}
	if len(say) == 0 {
		p.Publish.Deny = []string{">"}
	}
	return p
}

// NewBotKey makes a key for a bot: the seed is the bot's secret, the public
// key goes into Bot.
func NewBotKey() (seed []byte, public string, err error) {
	made, err := newKey()
	if err != nil {
		return nil, "", err
	}
	seed, err = made.pair.Seed()
	return seed, made.public, err
}

// feedKey reads the feed's key, or makes it.
func feedKey(path string) (key, error) {
	seed, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return makeFeedKey(path)
	}
	if err != nil {
		return key{}, fmt.Errorf("journal: feed key: %w", err)
	}
	pair, err := nkeys.FromSeed(bytes.TrimSpace(seed))
	if err != nil {
		return key{}, fmt.Errorf("journal: feed key in %s: %w", path, err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		return key{}, fmt.Errorf("journal: feed key in %s: %w", path, err)
	}
	return key{public, pair}, nil
}

func makeFeedKey(path string) (key, error) {
	made, err := newKey()
	if err != nil {
		return key{}, err
	}
	seed, err := made.pair.Seed()
	if err != nil {
		return key{}, fmt.Errorf("journal: feed key: %w", err)
	}
	if err := os.WriteFile(path, append(seed, '\n'), 0o600); err != nil {
		return key{}, fmt.Errorf("journal: feed key: %w", err)
	}
	return made, nil
}

// serverLog hands nats-server's errors and warnings to a slog.Logger.
type serverLog struct {
	logger *slog.Logger
	fatal  chan string // the first line that stops the server
}

func (l *serverLog) Noticef(string, ...any) {}
func (l *serverLog) Debugf(string, ...any)  {}
func (l *serverLog) Tracef(string, ...any)  {}

func (l *serverLog) Warnf(format string, v ...any) {
	l.logger.Warn(fmt.Sprintf(format, v...), "from", "nats-server")
}

func (l *serverLog) Errorf(format string, v ...any) {
	l.logger.Error(fmt.Sprintf(format, v...), "from", "nats-server")
}

func (l *serverLog) Fatalf(format string, v ...any) {
	l.Errorf(format, v...)
	select {
	case l.fatal <- fmt.Sprintf(format, v...):
	default:
	}
}
