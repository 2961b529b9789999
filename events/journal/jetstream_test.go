package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// openEmbedded opens a folder; close ends it before the test does.
func openEmbedded(t testing.TB, o Options) (j *jetStream, close func()) {
	t.Helper()
	opened, err := Embedded(soon(t), o)
	if err != nil {
		t.Fatal(err)
	}
	close = func() {
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(close)
	return opened.(*jetStream), close
}

// fill appends n commits of about size bytes to a new campaign.
func fill(t testing.TB, j Journal, n, size int) (campaign string) {
	t.Helper()
	campaign = uuid.NewString()
	last := uint64(0)
	for i := range n {
		payload := bytes.Repeat([]byte(fmt.Sprintf("%08d", i)), 1+size/8)
		seq, err := j.Append(soon(t), Entry{Campaign: campaign, ID: uuid.NewString(), Expected: last, Payload: payload})
		if err != nil {
			t.Fatal(err)
		}
		last = seq
	}
	return campaign
}

func readAll(t testing.TB, j Journal, campaign string) []Commit {
	t.Helper()
	var all []Commit
	if err := j.Read(soon(t), campaign, 0, func(c Commit) error { all = append(all, c); return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

func sameCommits(a, b []Commit) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Campaign != b[i].Campaign || a[i].ID != b[i].ID || a[i].Seq != b[i].Seq || !bytes.Equal(a[i].Payload, b[i].Payload) {
			return false
		}
	}
	return true
}

func TestReopenGivesTheSameCommits(t *testing.T) {
	dir := t.TempDir()
	j, close := openEmbedded(t, Options{Dir: dir})
	campaign := fill(t, j, 30, 500)
	before := readAll(t, j, campaign)
	bucket, err := j.Bucket(soon(t), "checkpoints")
	if err != nil {
		t.Fatal(err)
	}
	revision, err := bucket.Put(soon(t), campaign, []byte("root"))
	if err != nil {
		t.Fatal(err)
	}
	close()

	j, _ = openEmbedded(t, Options{Dir: dir})
	if after := readAll(t, j, campaign); !sameCommits(before, after) {
		t.Errorf("got %d commits, want the same %d", len(after), len(before))
	}
	if h := j.Health(soon(t)); !h.Sound() || h.Sync != SyncAlways {
		t.Errorf("health: %+v", h)
	}
	if bucket, err = j.Bucket(soon(t), "checkpoints"); err != nil {
		t.Fatal(err)
	}
	if value, at, err := bucket.Get(soon(t), campaign); err != nil || string(value) != "root" || at != revision {
		t.Errorf("bucket: %q at %d, %v", value, at, err)
	}
	// A retry after the restart, whatever the server remembers of ids.
	last := before[29]
	seq, err := j.Append(soon(t), Entry{Campaign: campaign, ID: last.ID, Expected: before[28].Seq, Payload: last.Payload})
	if err != nil || seq != last.Seq {
		t.Errorf("the last entry again: %d, %v, want %d", seq, err, last.Seq)
	}
}

// What Health says of syncing is the server's own word.
func TestSyncMode(t *testing.T) {
	safe, _ := openEmbedded(t, Options{Dir: t.TempDir()})
	if h := safe.Health(soon(t)); h.Sync != SyncAlways {
		t.Errorf("by default: got %s, want %s", h.Sync, SyncAlways)
	}
	unsafe, _ := openEmbedded(t, Options{Dir: t.TempDir(), Unsafe: true})
	if h := unsafe.Health(soon(t)); h.Sync != SyncRelaxed {
		t.Errorf("unsafe: got %s, want %s", h.Sync, SyncRelaxed)
	}
}

func TestSecondServerIsRefused(t *testing.T) {
	dir := t.TempDir()
	_, close := openEmbedded(t, Options{Dir: dir})
	_, err := Embedded(soon(t), Options{Dir: dir})
	if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), dir) {
		t.Fatalf("got error %v, want one that names the folder", err)
	}
	close()
	openEmbedded(t, Options{Dir: dir})
}

func TestRemember(t *testing.T) {
	dir := t.TempDir()
	if last, err := remembered(dir, 2); err != nil || last[0] != 0 || last[1] != 0 {
		t.Errorf("nothing yet: %v, %v", last, err)
	}
	for _, want := range [][]uint64{{7, 0}, {1 << 60, 3}} {
		if err := remember(dir, want); err != nil {
			t.Fatal(err)
		}
		if last, err := remembered(dir, 2); err != nil || last[0] != want[0] || last[1] != want[1] {
			t.Errorf("got %v, %v, want %v", last, err, want)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, lastName), []byte("LEDGER_2 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := remembered(dir, 2); !errors.Is(err, ErrDamaged) {
		t.Errorf("a partition too many: got error %v", err)
	}
}

func TestFolderIsPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	openEmbedded(t, Options{Dir: dir})
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 && (path == dir || filepath.Dir(path) == dir) {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestPartitionsAreKept(t *testing.T) {
	dir := t.TempDir()
	j, close := openEmbedded(t, Options{Dir: dir, Partitions: 2})
	campaign := fill(t, j, 3, 10)
	close()
	if _, err := Embedded(soon(t), Options{Dir: dir, Partitions: 4}); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "2 partitions") {
		t.Errorf("got error %v, want one that names 2 partitions", err)
	}
	j, _ = openEmbedded(t, Options{Dir: dir})
	if len(readAll(t, j, campaign)) != 3 || len(j.Health(soon(t)).Partitions) != 2 {
		t.Errorf("the ledger did not keep its 2 partitions")
	}
	for _, partitions := range []int{-1, MaxPartitions + 1} {
		if _, err := Embedded(soon(t), Options{Dir: t.TempDir(), Partitions: partitions}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%d partitions: got error %v", partitions, err)
		}
	}
}

// serve starts an embedded server of a folder for a test that needs the admin key.
func serve(t *testing.T, dir string) (e *embedded, admin, program *nats.Conn) {
	t.Helper()
	o := Options{Dir: dir, Partitions: 1}.withDefaults()
	lock, err := lockFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	e = &embedded{lock: lock}
	adminKey, programKey, err := newKeys()
	if err != nil {
		t.Fatal(err)
	}
	if err := e.start(soon(t), o, adminKey, programKey); err != nil {
		t.Fatal(err)
	}
	connect := func(k key) *nats.Conn {
		conn, err := dial("", o, nats.InProcessServer(e.server), k.option())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Close)
		return conn
	}
	return e, connect(adminKey), connect(programKey)
}

func streamsOf(t *testing.T, conn *nats.Conn) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// The program's key can append, and nothing that would change or remove what is
// stored. The admin key does each of these, which shows that the requests are right.
func TestRights(t *testing.T) {
	t.Parallel()
	e, admin, program := serve(t, t.TempDir())
	defer e.close()
	l, err := prepareStreams(soon(t), admin, Options{Partitions: 1}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	config := streamConfig(0, l)
	mine := streamsOf(t, program)
	campaign := uuid.NewString()
	for range 2 {
		if _, err := mine.Publish(soon(t), l.subject(campaign), []byte("kept")); err != nil {
			t.Fatal(err)
		}
	}
	quickly := func() context.Context {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	limited := config
	limited.MaxMsgs = 1
	limited.Discard = jetstream.DiscardOld
	another := config
	another.Name, another.Subjects = "LEDGER_1", []string{"ledger.1.*"}
	attempts := []struct {
		what string
		try  func(js jetstream.JetStream, ctx context.Context) error
	}{
		{"purge", func(js jetstream.JetStream, ctx context.Context) error {
			_, err := js.Conn().RequestWithContext(ctx, "$JS.API.STREAM.PURGE.LEDGER_0", nil)
			return err
		}},
		{"delete a message", func(js jetstream.JetStream, ctx context.Context) error {
			_, err := js.Conn().RequestWithContext(ctx, "$JS.API.STREAM.MSG.DELETE.LEDGER_0", []byte(`{"seq":1}`))
			return err
		}},
		{"snapshot", func(js jetstream.JetStream, ctx context.Context) error {
			_, err := js.Conn().RequestWithContext(ctx, "$JS.API.STREAM.SNAPSHOT.LEDGER_0", []byte(`{"deliver_subject":"x"}`))
			return err
		}},
		{"restore", func(js jetstream.JetStream, ctx context.Context) error {
			_, err := js.Conn().RequestWithContext(ctx, "$JS.API.STREAM.RESTORE.LEDGER_2", []byte(`{}`))
			return err
		}},
		{"make a ledger stream", func(js jetstream.JetStream, ctx context.Context) error {
			_, err := js.CreateStream(ctx, another)
			return err
		}},
		{"limit the messages", func(js jetstream.JetStream, ctx context.Context) error {
			_, err := js.UpdateStream(ctx, limited)
			return err
		}},
		{"delete the stream", func(js jetstream.JetStream, ctx context.Context) error { return js.DeleteStream(ctx, "LEDGER_0") }},
	}
	for _, a := range attempts {
		if err := a.try(mine, quickly()); !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, nats.ErrTimeout) {
			t.Errorf("%s: got %v, want no answer at all", a.what, err)
		}
	}
	stream, err := mine.Stream(soon(t), "LEDGER_0")
	if err != nil || stream.CachedInfo().State.Msgs != 2 || checkStream(stream.CachedInfo().Config, config) != nil {
		t.Fatalf("after all attempts: %+v, %v", stream.CachedInfo(), err)
	}
	if _, err := mine.CreateKeyValue(soon(t), jetstream.KeyValueConfig{Bucket: "b"}); err != nil {
		t.Errorf("the program may make buckets: %v", err)
	}

	theirs := streamsOf(t, admin)
	for _, a := range attempts {
		if err := a.try(theirs, soon(t)); err != nil {
			t.Errorf("control: admin, %s: %v", a.what, err)
		}
	}
}

// A stream that somebody changed so that it forgets is not served.
func TestChangedStreamIsRefused(t *testing.T) {
	dir := t.TempDir()
	e, admin, _ := serve(t, dir)
	l, err := prepareStreams(soon(t), admin, Options{Partitions: 1}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	changed := streamConfig(0, l)
	changed.MaxMsgs = 1000
	if _, err := streamsOf(t, admin).UpdateStream(soon(t), changed); err != nil {
		t.Fatal(err)
	}
	e.close()
	if _, err := Embedded(soon(t), Options{Dir: dir}); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "max_msgs") {
		t.Errorf("got error %v, want one that names max_msgs", err)
	}
}

// A retry long after the stream has forgotten the id is answered all the same.
func TestRetryBeyondTheDuplicateWindow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e, admin, _ := serve(t, dir)
	l, err := layoutOf(nil, Options{Partitions: 1, Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	config := streamConfig(0, l)
	config.Duplicates = 100 * time.Millisecond
	if _, err := streamsOf(t, admin).CreateStream(soon(t), config); err != nil {
		t.Fatal(err)
	}
	admin.Close()
	e.close()

	j, _ := openEmbedded(t, Options{Dir: dir})
	entry := Entry{Campaign: uuid.NewString(), ID: uuid.NewString(), Payload: []byte("once")}
	seq, err := j.Append(soon(t), entry)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	for range 3 {
		if again, err := j.Append(soon(t), entry); err != nil || again != seq {
			t.Errorf("again: %d, %v, want %d", again, err, seq)
		}
	}
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if again, err := j.Append(soon(t), entry); err != nil || again != seq {
				t.Errorf("at once: %d, %v, want %d", again, err, seq)
			}
		})
	}
	group.Wait()
	if got := readAll(t, j, entry.Campaign); len(got) != 1 {
		t.Errorf("got %d commits, want 1", len(got))
	}
}

// listening returns how many TCP sockets this process listens on.
func listening(t *testing.T) int {
	t.Helper()
	mine := map[string]bool{}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if target, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil {
			mine[strings.TrimSuffix(strings.TrimPrefix(target, "socket:["), "]")] = true
		}
	}
	n := 0
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		data, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		for _, line := range strings.Split(string(data), "\n") {
			if f := strings.Fields(line); len(f) > 9 && f[3] == "0A" && mine[f[9]] {
				n++
			}
		}
	}
	return n
}

func TestNoPortIsOpen(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	before := listening(t)
	openEmbedded(t, Options{Dir: t.TempDir()})
	if n := listening(t); n != before {
		t.Errorf("listens on %d ports more", n-before)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if n := listening(t); n != before+1 {
		t.Errorf("control: one more listener was not seen")
	}
}

// With FeedListen, the holder of the feed's key hears the feed and does nothing
// else; nobody else is let in.
func TestFeedPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	dir := t.TempDir()
	for range 2 { // the key stays
		j, close := openEmbedded(t, Options{Dir: dir, FeedListen: address})
		if _, err := nats.Connect(address); !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("without a key: got error %v", err)
		}
		option, err := nats.NkeyOptionFromSeed(filepath.Join(dir, feedKeyName))
		if err != nil {
			t.Fatal(err)
		}
		denied := make(chan error, 10)
		conn, err := nats.Connect(address, option, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { denied <- err }))
		if err != nil {
			t.Fatal(err)
		}
		heard, err := conn.SubscribeSync("feed.>")
		if err != nil {
			t.Fatal(err)
		}
		campaign := fill(t, j, 2, 10)
		attempts := []func() error{
			func() error { return conn.Publish(j.layout.subject(campaign), []byte("forged")) },
			func() error { return conn.Publish("feed.x", []byte("forged")) },
			func() error { return conn.Publish("$JS.API.STREAM.DELETE.LEDGER_0", nil) },
			func() error { _, err := conn.SubscribeSync("ledger.>"); return err },
			func() error { _, err := conn.SubscribeSync("$KV.>"); return err },
			func() error { _, err := conn.SubscribeSync(">"); return err },
		}
		for i, attempt := range attempts {
			if err := attempt(); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-denied:
				if !errors.Is(err, nats.ErrPermissionViolation) {
					t.Errorf("attempt %d: got error %v", i, err)
				}
			case <-time.After(5 * time.Second):
				t.Errorf("attempt %d was allowed", i)
			}
		}
		if err := j.Publish(soon(t), "feed."+campaign+".roll.made", []byte("7")); err != nil {
			t.Fatal(err)
		}
		if m, err := heard.NextMsg(5 * time.Second); err != nil || string(m.Data) != "7" {
			t.Errorf("heard %v, %v", m, err)
		}
		if got := readAll(t, j, campaign); len(got) != 2 {
			t.Errorf("got %d commits, want 2", len(got))
		}
		conn.Close()
		close()
	}
	if info, err := os.Stat(filepath.Join(dir, feedKeyName)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("key file: %v, %v", info, err)
	}
	for _, bad := range []string{"0.0.0.0:4222", ":4222", "example.org:4222", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:70000"} {
		if _, err := Embedded(soon(t), Options{Dir: t.TempDir(), FeedListen: bad}); !errors.Is(err, ErrInvalid) {
			t.Errorf("FeedListen %q: got error %v", bad, err)
		}
	}
}

// A message says what it follows and whose it is; whatever does not fit is damage.
func TestMessagesThatDoNotFit(t *testing.T) {
	message := func(seq uint64, expected string) rawMessage {
		return rawMessage{seq: seq, header: nats.Header{jetstream.ExpectedLastSubjSeqHeader: {expected}}}
	}
	for _, c := range []struct {
		m        rawMessage
		position uint64
		first    bool
		damaged  bool
	}{
		{message(1, "0"), 0, true, false},
		{message(9, "4"), 4, false, false},
		{message(9, "4"), 6, true, false}, // asked from a sequence between two commits
		{message(9, "4"), 6, false, true},
		{message(9, "4"), 3, true, true}, // 4 is missing
		{message(9, "4"), 3, false, true},
		{message(4, "0"), 4, false, true}, // old
		{message(9, ""), 4, true, true},
		{rawMessage{seq: 9}, 4, true, true},
	} {
		if err := follows(c.m, c.position, c.first); errors.Is(err, ErrDamaged) != c.damaged || !c.damaged && err != nil {
			t.Errorf("%+v: got error %v", c, err)
		}
	}
	campaign := "01920000-0000-7000-8000-000000000000"
	for id, damaged := range map[string]bool{campaign + ":a:b": false, "": true, "a": true, "01920000-0000-7000-8000-000000000001:a": true} {
		c, err := commitOf(campaign, 1, nats.Header{jetstream.MsgIDHeader: {id}}, nil)
		if errors.Is(err, ErrDamaged) != damaged || !damaged && c.ID != "a:b" {
			t.Errorf("id %q: got %+v, %v", id, c, err)
		}
	}
	end := func(pending, last string) nats.Header {
		return nats.Header{"Nats-Num-Pending": {pending}, "Nats-Last-Sequence": {last}}
	}
	if page, pending, err := endOfPage([]rawMessage{{seq: 7}}, end("3", "7")); err != nil || pending != 3 || len(page) != 1 {
		t.Errorf("a whole page: got %v, %d, %v", page, pending, err)
	}
	for _, header := range []nats.Header{end("0", "8"), end("x", "7"), end("0", "x"), {}} {
		if _, _, err := endOfPage([]rawMessage{{seq: 7}}, header); err == nil {
			t.Errorf("a page that ends with %v was taken as whole", header)
		}
	}
}

// blocks returns the message files of a partition, in order.
func blocks(t *testing.T, dir string, partition int) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "store", "jetstream", "*", "streams", streamName(partition), "msgs", "*.blk"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no message files: %v", err)
	}
	return files
}

// One flipped bit in a stored message is never read over: the server skips such a
// message without a word, and says there is none if it is the only one.
func TestFlippedBitIsNoticed(t *testing.T) {
	t.Parallel()
	const large = 500 << 10 // fills several message files
	for _, c := range []struct {
		commits, size int
		at            float64 // in the first message file
		after         int     // commits that the reader knows
	}{
		{50, 400, 0.02, 0}, {50, 400, 0.3, 0}, {50, 400, 0.5, 0}, {50, 400, 0.9, 0}, {50, 400, 0.99, 0},
		{50, 400, 0.99, 49}, {50, 400, 0.5, 25}, {1, 400, 0.5, 0}, {2, 400, 0.9, 1},
		{700, 400, 0.95, 0}, {20, large, 0.3, 0}, {20, large, 0.3, 4}, {20, large, 0.97, 0},
	} {
		dir := t.TempDir()
		j, close := openEmbedded(t, Options{Dir: dir, Partitions: 1})
		campaign := fill(t, j, c.commits, c.size)
		close()
		block := blocks(t, dir, 0)[0]
		data, err := os.ReadFile(block)
		if err != nil {
			t.Fatal(err)
		}
		data[int(c.at*float64(len(data)))] ^= 1
		if err := os.WriteFile(block, data, 0o600); err != nil {
			t.Fatal(err)
		}
		opened, err := Embedded(soon(t), Options{Dir: dir})
		if errors.As(err, new(*BlockError)) {
			continue // noticed before anything was read
		}
		if err != nil {
			t.Fatal(err)
		}
		j, close = opened.(*jetStream), func() { opened.Close() }
		got := 0
		err = j.Read(soon(t), campaign, uint64(c.after), func(Commit) error { got++; return nil })
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("%+v: read %d commits, then %v; want %v", c, got, err, ErrDamaged)
		}
		if c.commits == 1 {
			if _, err := j.Last(soon(t), campaign); !errors.Is(err, ErrDamaged) {
				t.Errorf("%+v: last: got error %v", c, err)
			}
			if _, err := j.First(soon(t), campaign); !errors.Is(err, ErrDamaged) {
				t.Errorf("%+v: first: got error %v", c, err)
			}
		}
		close()
	}
}

// Wherever in a read the damage lies, at the seams between the pages and the
// consumer or inside, it is noticed, and what is handed on before it is what was
// stored.
func TestFlippedBitAtTheSeams(t *testing.T) {
	t.Parallel()
	const long = firstPage + longRead + pullMessages
	for _, c := range []struct {
		commits int
		flipped []int // one at a time
	}{
		{firstPage, []int{firstPage - 1}},
		{firstPage + 1, []int{firstPage - 1, firstPage}},
		{firstPage + longRead, []int{firstPage, firstPage + longRead - 1}},
		{long + 2, []int{0, firstPage - 1, firstPage, firstPage + pullMessages - 1, firstPage + pullMessages, long, long + 1}},
	} {
		dir := t.TempDir()
		j, close := openEmbedded(t, Options{Dir: dir, Partitions: 1, Unsafe: true})
		campaign := fill(t, j, c.commits, 400)
		var stored []Commit
		if err := j.Read(soon(t), campaign, 0, func(c Commit) error { stored = append(stored, c); return nil }); err != nil || len(stored) != c.commits {
			t.Fatalf("%d commits: read %d, %v", c.commits, len(stored), err)
		}
		close()
		for _, flipped := range c.flipped {
			damaged := t.TempDir()
			if err := os.CopyFS(damaged, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			block := blocks(t, damaged, 0)[0]
			data, err := os.ReadFile(block)
			if err != nil {
				t.Fatal(err)
			}
			at := bytes.Index(data, stored[flipped].Payload)
			if at < 0 {
				t.Fatal("the message is not in the first file")
			}
			data[at+len(stored[flipped].Payload)/2] ^= 1
			if err := os.WriteFile(block, data, 0o600); err != nil {
				t.Fatal(err)
			}
			j, close := openEmbedded(t, Options{Dir: damaged, Logger: slog.New(slog.DiscardHandler)})
			got := 0
			err = j.Read(soon(t), campaign, 0, func(c Commit) error {
				if got >= flipped || c.Seq != stored[got].Seq || !bytes.Equal(c.Payload, stored[got].Payload) {
					t.Errorf("%d commits, %d flipped: commit %d is %+v", len(stored), flipped, got, c)
				}
				got++
				return nil
			})
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("%d commits, %d flipped: read %d commits, then %v; want %v", len(stored), flipped, got, err, ErrDamaged)
			}
			close()
		}
	}
}

// The consumer of a long read hands on all that is left, whatever the messages weigh
// and whatever lies between them; and pages go on where it was lost.
func TestLongRead(t *testing.T) {
	t.Parallel()
	j, _ := openEmbedded(t, Options{Dir: t.TempDir(), Partitions: 1, Unsafe: true})
	for _, c := range []struct{ commits, size int }{{2*pullMessages + 100, 100}, {20, 500 << 10}} {
		campaign := fill(t, j, c.commits, c.size)
		fill(t, j, 3, 10) // of another campaign
		var got []Commit
		r := &reader{j, campaign, 0, 0, func(c Commit) error { got = append(got, c); return nil }}
		handed, err := r.consume(soon(t))
		if err != nil || handed != uint64(c.commits) {
			t.Errorf("%+v: handed on %d, %v", c, handed, err)
		}
		for i, commit := range got {
			if want := fmt.Sprintf("%08d", i); !bytes.HasPrefix(commit.Payload, []byte(want)) || len(commit.Payload) != 8*(1+c.size/8) {
				t.Fatalf("%+v: commit %d is %.8s", c, i, commit.Payload)
			}
		}
		stop := errors.New("enough")
		if _, err := (&reader{j, campaign, 0, 0, func(Commit) error { return stop }}).consume(soon(t)); err != stop {
			t.Errorf("%+v: got error %v, want that of each", c, err)
		}
		if left := consumersOf(t, j); len(left) > 0 {
			t.Errorf("%+v: consumers %v are left", c, left)
		}
		read := 0
		err = j.Read(soon(t), campaign, 0, func(Commit) error {
			if read++; read == firstPage+1 {
				for _, name := range consumersOf(t, j) {
					if err := j.js.DeleteConsumer(soon(t), streamName(0), name); err != nil {
						t.Error(err)
					}
				}
			}
			if read == firstPage+2 {
				fill(t, j, 1, 10) // the stream grows meanwhile
			}
			return nil
		})
		if err != nil || read != c.commits {
			t.Errorf("%+v: read %d commits without its consumer, %v", c, read, err)
		}
	}
}

func consumersOf(t *testing.T, j *jetStream) (names []string) {
	t.Helper()
	stream, err := j.js.Stream(soon(t), streamName(0))
	if err != nil {
		t.Fatal(err)
	}
	all := stream.ConsumerNames(soon(t))
	for name := range all.Name() {
		names = append(names, name)
	}
	if err := all.Err(); err != nil {
		t.Fatal(err)
	}
	return names
}

// A message file that is gone is seen at once by counting.
func TestLostBlockIsAGap(t *testing.T) {
	dir := t.TempDir()
	j, close := openEmbedded(t, Options{Dir: dir, Partitions: 1})
	campaign := fill(t, j, 40, 512<<10)
	close()
	files := blocks(t, dir, 0)
	if len(files) < 2 {
		t.Fatalf("want several message files, got %d", len(files))
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(filepath.Dir(files[0]), "index.db")); err != nil {
		t.Fatal(err)
	}
	j, _ = openEmbedded(t, Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)})
	h := j.Health(soon(t))
	if h.Sound() || !h.Partitions[0].Gap || h.Partitions[0].Problem == "" {
		t.Errorf("health: %+v, want a gap", h)
	}
	err := j.Read(soon(t), campaign, 0, func(Commit) error { return nil })
	if !errors.Is(err, ErrDamaged) {
		t.Errorf("read: got error %v, want %v", err, ErrDamaged)
	}
}

func TestLostStreamIsMadeAnewAndReported(t *testing.T) {
	dir := t.TempDir()
	j, close := openEmbedded(t, Options{Dir: dir, Partitions: 2})
	fill(t, j, 1, 10)
	close()
	for _, lost := range []int{0, 1} {
		if err := os.RemoveAll(filepath.Join(dir, "store", "jetstream", "$G", "streams", streamName(lost))); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the mark stays
			var log bytes.Buffer
			j, close = openEmbedded(t, Options{Dir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if h := j.Health(soon(t)); h.Sound() || !h.Partitions[lost].Gap {
				t.Errorf("health: %+v, want a gap in partition %d", h, lost)
			}
			close()
		}
	}
}

// A stream that went back is not written: new commits would take the sequences of
// lost ones.
func TestStreamThatWentBackIsNotWritten(t *testing.T) {
	dir := t.TempDir()
	j, close := openEmbedded(t, Options{Dir: dir, Partitions: 1})
	campaign := fill(t, j, 50, 400)
	all := readAll(t, j, campaign)
	close()
	data, err := os.ReadFile(blocks(t, dir, 0)[0])
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1 // the server cuts it off here
	if err := os.WriteFile(blocks(t, dir, 0)[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	j, close = openEmbedded(t, Options{Dir: dir})
	h := j.Health(soon(t))
	if h.Sound() || !h.Partitions[0].Gap || h.Partitions[0].Last >= 50 {
		t.Fatalf("health: %+v, want a stream that is shorter and a gap", h)
	}
	next := Entry{Campaign: campaign, ID: "next", Expected: h.Partitions[0].Last, Payload: []byte("x")}
	if _, err := j.Append(soon(t), next); !errors.Is(err, ErrDamaged) {
		t.Errorf("append: got error %v, want %v", err, ErrDamaged)
	}
	if err := j.Read(soon(t), campaign, h.Partitions[0].Last, func(Commit) error { return nil }); !errors.Is(err, ErrDamaged) {
		t.Errorf("read of the tail: got error %v, want %v", err, ErrDamaged)
	}
	before := 0
	err = j.Read(soon(t), campaign, 0, func(c Commit) error {
		if !sameCommits([]Commit{c}, all[before:before+1]) {
			t.Errorf("commit %d: other bytes", before)
		}
		before++
		return nil
	})
	if before == 0 || err != nil && !errors.Is(err, ErrDamaged) {
		t.Errorf("what is left: %d commits, %v", before, err)
	}
	close()
	if last, err := remembered(filepath.Join(dir, storeName), 1); err != nil || last[0] != 50 {
		t.Errorf("remembered %v, %v, want 50 still", last, err)
	}
	j, _ = openEmbedded(t, Options{Dir: dir})
	if h := j.Health(soon(t)); h.Sound() {
		t.Errorf("opened again: %+v", h)
	}

	// The same while it is open: an acknowledgement that is not above what is known.
	j, _ = openEmbedded(t, Options{Dir: t.TempDir(), Partitions: 1})
	j.writers[0].saw(5)
	if _, err := j.Append(soon(t), Entry{Campaign: uuid.NewString(), ID: "a", Payload: []byte("x")}); !errors.Is(err, ErrDamaged) {
		t.Errorf("append to a stream that went back: got error %v", err)
	}
	if h := j.Health(soon(t)); h.Sound() || !h.Partitions[0].Gap {
		t.Errorf("health: %+v", h)
	}
}

func TestGap(t *testing.T) {
	for _, c := range []struct {
		first, last, messages uint64
		want                  bool
	}{
		{0, 0, 0, false}, {1, 0, 0, false}, {1, 1, 1, false}, {1, 9, 9, false},
		{1, 9, 8, true}, {2, 9, 8, true}, {10, 9, 0, true}, {1, 9, 10, true},
	} {
		if got := (PartitionHealth{First: c.first, Last: c.last, Messages: c.messages}).gap(); got != c.want {
			t.Errorf("first %d, last %d, messages %d: got %v, want %v", c.first, c.last, c.messages, got, c.want)
		}
	}
}

// Losing its consumers and its connection, a follower resumes where it was.
func TestFollowerResumes(t *testing.T) {
	j, _ := openEmbedded(t, Options{Dir: t.TempDir(), Partitions: 1, Logger: slog.New(slog.DiscardHandler)})
	fill(t, j, 3, 10)
	var mu sync.Mutex
	var got []uint64
	if err := j.Follow(soon(t), func(c Commit) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, c.Seq)
	}); err != nil {
		t.Fatal(err)
	}
	wait := func(n int) {
		t.Helper()
		for end := time.Now().Add(15 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			mu.Lock()
			have := len(got)
			mu.Unlock()
			if have >= n {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("got %d commits, want %d: %+v", have, n, j.Health(soon(t)))
			}
		}
	}
	fill(t, j, 5, 10)
	wait(5)
	stream, err := j.js.Stream(soon(t), "LEDGER_0")
	if err != nil {
		t.Fatal(err)
	}
	lost := 0
	for names := stream.ConsumerNames(soon(t)); ; {
		name, more := <-names.Name()
		if !more {
			break
		}
		if err := stream.DeleteConsumer(soon(t), name); err != nil {
			t.Fatal(err)
		}
		lost++
	}
	if lost == 0 {
		t.Fatal("there was no consumer to lose")
	}
	fill(t, j, 5, 10)
	wait(10)
	if err := j.conn.ForceReconnect(); err != nil {
		t.Fatal(err)
	}
	fill(t, j, 5, 10)
	wait(15)
	time.Sleep(100 * time.Millisecond)
	for i, seq := range got {
		if seq != uint64(4+i) {
			t.Fatalf("got sequences %v, want 4 to 18 in order", got)
		}
	}
	if h := j.Health(soon(t)); !h.Sound() {
		t.Errorf("health: %+v", h)
	}
}

// A follower that is not given a message says so in Health and goes on.
func TestFollowerReportsAGap(t *testing.T) {
	j, _ := openEmbedded(t, Options{Dir: t.TempDir(), Partitions: 1})
	campaign := fill(t, j, 3, 10)
	var got []uint64
	f := &follower{j, 0, 0, func(c Commit) { got = append(got, c.Seq) }}
	consumer, err := j.js.OrderedConsumer(soon(t), "LEDGER_0", jetstream.OrderedConsumerConfig{FilterSubjects: []string{j.layout.subject(campaign)}})
	if err != nil {
		t.Fatal(err)
	}
	batch, err := consumer.Fetch(3)
	if err != nil {
		t.Fatal(err)
	}
	var messages []jetstream.Msg
	for m := range batch.Messages() {
		messages = append(messages, m)
	}
	for _, i := range []int{0, 0, 2, 1, 2} { // again, one left out, an old one
		if err := f.take(soon(t), messages[i]); err != nil {
			t.Fatal(err)
		}
	}
	if len(got) != 2 || got[0] != 1 || got[1] != 3 {
		t.Errorf("delivered %v, want 1 and 3", got)
	}
	h := j.Health(soon(t))
	if h.Sound() || !h.Partitions[0].Gap || !strings.Contains(h.Partitions[0].Problem, "2 to 2") {
		t.Errorf("health: %+v, want sequence 2 missing", h)
	}
}

// startServer runs an ordinary server with a port, as an operator would.
func startServer(t *testing.T, dir string, port int) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: dir, SyncAlways: true, NoSigs: true, NoLog: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not start")
	}
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return s
}

// With a server elsewhere: commits, followers and buckets survive its restart.
func TestConnectSurvivesARestartOfTheServer(t *testing.T) {
	dir := t.TempDir()
	s := startServer(t, dir, server.RANDOM_PORT)
	port := s.Addr().(*net.TCPAddr).Port
	j, err := Connect(soon(t), Options{URL: s.ClientURL(), Partitions: 2, AckWait: 500 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	other, err := Connect(soon(t), Options{URL: s.ClientURL(), AckWait: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	delivered := make(chan Commit, 100)
	if err := other.Follow(soon(t), func(c Commit) { delivered <- c }); err != nil {
		t.Fatal(err)
	}
	campaign := fill(t, j, 3, 10)
	before := readAll(t, other, campaign)
	if ids, err := other.Campaigns(soon(t), "", 0); err != nil || len(ids) != 1 {
		t.Errorf("the other node lists %v, %v", ids, err)
	}

	s.Shutdown()
	s.WaitForShutdown()
	if h := j.Health(soon(t)); h.Reachable || h.Sound() {
		t.Errorf("health without a server: %+v", h)
	}
	next := Entry{Campaign: campaign, ID: uuid.NewString(), Expected: before[2].Seq, Payload: []byte("next")}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	var unclear *UnclearError
	if _, err := j.Append(ctx, next); !errors.As(err, &unclear) {
		t.Errorf("append without a server: got error %v, want an UnclearError", err)
	}
	startServer(t, dir, port)
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		// what is appended and what is read have connections of their own
		if _, err = j.Append(soon(t), next); err == nil && j.Health(soon(t)).Reachable || time.Now().After(end) {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	want := readAll(t, j, campaign)
	if len(want) != 4 || !sameCommits(before, want[:3]) {
		t.Fatalf("got %d commits after the restart, want 4", len(want))
	}
	var got []Commit
	for range want {
		select {
		case c := <-delivered:
			got = append(got, c)
		case <-time.After(15 * time.Second):
			t.Fatalf("the follower got %d commits, want %d: %+v", len(got), len(want), other.Health(soon(t)))
		}
	}
	if !sameCommits(got, want) {
		t.Errorf("the follower got %v, want %v", got, want)
	}
	// Another node begins a campaign: this one lists it.
	fill(t, other, 1, 10)
	if ids, err := j.Campaigns(soon(t), "", 0); err != nil || len(ids) != 2 {
		t.Errorf("campaigns: %v, %v, want 2", ids, err)
	}
	fill(t, other, 1, 10)
	if ids, err := j.Campaigns(soon(t), "", 0); err != nil || len(ids) != 3 {
		t.Errorf("campaigns: %v, %v, want 3", ids, err)
	}
}

func TestPublishReachesSubscribers(t *testing.T) {
	j, _ := openEmbedded(t, Options{Dir: t.TempDir()})
	sub, err := j.conn.SubscribeSync("feed.*.roll.made")
	if err != nil {
		t.Fatal(err)
	}
	if err := j.conn.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := j.Publish(soon(t), "feed."+uuid.NewString()+".roll.made", []byte("7")); err != nil {
		t.Fatal(err)
	}
	if m, err := sub.NextMsg(5 * time.Second); err != nil || string(m.Data) != "7" {
		t.Errorf("got %v, %v", m, err)
	}
	heard := ""
	m := NewMemory(1)
	stop := m.Listen(func(_ string, data []byte) { heard += string(data) })
	for range 2 {
		if err := m.Publish(soon(t), "feed.x", []byte("7")); err != nil {
			t.Fatal(err)
		}
		stop()
	}
	if heard != "7" {
		t.Errorf("memory: heard %q, want it once", heard)
	}
}

// An append that is given up says whether something may have been sent.
func TestGivingUp(t *testing.T) {
	hold := make(chan struct{})
	entered := make(chan struct{}, 100)
	faults := &Faults{Publish: func(Entry) Outcome { entered <- struct{}{}; <-hold; return Proceed }}
	j, _ := openEmbedded(t, Options{Dir: t.TempDir(), Partitions: 1, Faults: faults, ServerSyncs: true})
	var group sync.WaitGroup
	for range sendingMost { // fill the room
		group.Go(func() { fill(t, j, 1, 10) })
	}
	for range sendingMost {
		<-entered
	}
	waiting := uuid.NewString()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := j.Append(ctx, Entry{Campaign: waiting, ID: "waits", Payload: []byte("x")})
	var unclear *UnclearError
	if !errors.Is(err, context.DeadlineExceeded) || errors.As(err, &unclear) {
		t.Errorf("an entry that never went: got error %v, want the context's own", err)
	}
	close(hold)
	group.Wait()
	if got := readAll(t, j, waiting); len(got) != 0 {
		t.Errorf("an entry that was given up is stored")
	}
	fill(t, j, 20, 10) // nobody holds a place for ever
}

// An append under way when the journal is closed is answered, and what it was told
// is true.
func TestCloseLetsAppendsFinish(t *testing.T) {
	hold, entered := make(chan struct{}), make(chan struct{})
	first := sync.OnceFunc(func() { close(entered) })
	faults := &Faults{Publish: func(Entry) Outcome { first(); <-hold; return Proceed }}
	dir := t.TempDir()
	j, close_ := openEmbedded(t, Options{Dir: dir, Faults: faults})
	entry := Entry{Campaign: uuid.NewString(), ID: "late", Payload: []byte("x")}
	var group sync.WaitGroup
	var seq uint64
	group.Go(func() {
		var err error
		if seq, err = j.Append(soon(t), entry); err != nil {
			t.Errorf("append while closing: %v", err)
		}
	})
	<-entered
	group.Go(close_)
	w := j.writer(entry.Campaign)
	for closed := false; !closed; time.Sleep(time.Millisecond) {
		w.mu.Lock()
		closed = w.closed
		w.mu.Unlock()
	}
	if _, err := j.Append(soon(t), Entry{Campaign: entry.Campaign, ID: "new", Payload: []byte("x")}); !errors.Is(err, ErrClosed) {
		t.Errorf("append after close: got error %v", err)
	}
	close(hold)
	group.Wait()
	j, _ = openEmbedded(t, Options{Dir: dir})
	if got := readAll(t, j, entry.Campaign); len(got) != 1 || got[0].Seq != seq {
		t.Errorf("got %v, want the commit at %d", got, seq)
	}
}

// Where the server syncs, many waiting entries go in one batch, and a campaign stands in it once.
func TestManyWaitingGoInOneBatch(t *testing.T) {
	hold := make(chan struct{})
	once := sync.OnceFunc(func() { close(hold) })
	faults := &Faults{Publish: func(Entry) Outcome { <-hold; return Proceed }}
	j, _ := openEmbedded(t, Options{Dir: t.TempDir(), Partitions: 1, Faults: faults, ServerSyncs: true})
	defer once()
	var group sync.WaitGroup
	for range sendingMost { // others take the room to go singly
		group.Go(func() { fill(t, j, 1, 10) })
	}
	state := func() int { // thousands under way, units waiting
		w := j.writers[0]
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.sending*1000 + len(w.waiting)
	}
	for state() != sendingMost*1000 {
		time.Sleep(time.Millisecond)
	}
	campaigns := make([]string, 100)
	for i := range campaigns {
		campaigns[i] = uuid.NewString()
		for k := range 2 { // two of one campaign: one is stored, one conflicts
			group.Go(func() {
				_, err := j.Append(soon(t), Entry{Campaign: campaigns[i], ID: fmt.Sprint(k), Payload: []byte("x")})
				if err != nil && !errors.Is(err, ErrConflict) {
					t.Error(err)
				}
			})
		}
	}
	for state() != sendingMost*1000+2*len(campaigns) {
		time.Sleep(time.Millisecond)
	}
	once()
	group.Wait()
	batched := 0
	for _, campaign := range campaigns {
		if got := readAll(t, j, campaign); len(got) != 1 {
			t.Fatalf("campaign %s has %d commits, want 1", campaign, len(got))
		}
		page, _, err := j.page(soon(t), campaign, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		if page[0].header.Get("Nats-Batch-Id") != "" {
			batched++
		}
	}
	if batched != len(campaigns) {
		t.Errorf("%d of 100 went in a batch", batched)
	}
}

// The hash is part of stored subjects. The values are those published with FNV-1a.
func TestPartitionOf(t *testing.T) {
	for text, hash := range map[string]uint32{"": 0x811c9dc5, "a": 0xe40c292c, "b": 0xe70c2de5, "foobar": 0xbf9cf968} {
		for _, partitions := range []int{1, 4, 7, MaxPartitions, 1 << 20} {
			if got, want := PartitionOf(text, partitions), int(hash%uint32(partitions)); got != want {
				t.Errorf("%q of %d: got %d, want %d", text, partitions, got, want)
			}
		}
	}
	if got := (layout{partitions: 4}).subject("01920000-0000-7000-8000-000000000000"); !strings.HasPrefix(got, "ledger.") {
		t.Error(got)
	}
}

// Whatever is accepted as a campaign and a command makes an exact subject of three
// tokens and one header line.
func FuzzCheckEntry(f *testing.F) {
	f.Add("01920000-0000-7000-8000-000000000000", "cmd")
	f.Add("*", "a\r\nb")
	f.Add("urn:uuid:01920000-0000-7000-8000-000000000000", "")
	f.Add("01920000-0000-7000-8000-00000000000>", "é")
	f.Fuzz(func(t *testing.T, campaign, id string) {
		if checkEntry(Entry{Campaign: campaign, ID: id, Payload: []byte("x")}) != nil {
			return
		}
		subject := layout{partitions: 4}.subject(campaign)
		if len(campaign) != 36 || strings.Count(subject, ".") != 2 || strings.ContainsAny(subject, "*> \t\r\n") || strings.ToLower(subject) != subject {
			t.Errorf("campaign %q makes subject %q", campaign, subject)
		}
		if id == "" || strings.ContainsAny(id, " \r\n\t\x00") || len(id) > maxCommandID {
			t.Errorf("command id %q is accepted", id)
		}
	})
}
