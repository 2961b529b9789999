package api

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"

	"tallystick/api/ledger"
	"tallystick/events"
	"tallystick/events/journal"
	"tallystick/projections"
	"tallystick/projections/feed"
)

// sse is one thing that came over a live feed.
type sse struct{ id, event, data, comment, retry string }

// stream is a live feed being read.
type stream struct {
	t      testing.TB
	body   io.ReadCloser
	lines  *bufio.Scanner
	cancel context.CancelFunc
}

func (n *node) stream(path, token string, headers ...string) *stream {
	n.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, "GET", n.http.URL+path, nil)
	if err != nil {
		n.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", "text/event-stream")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		n.t.Fatal(err)
	}
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		b, _ := io.ReadAll(res.Body)
		n.t.Fatalf("%d %s: %s", res.StatusCode, res.Header.Get("Content-Type"), b)
	}
	s := &stream{n.t, res.Body, bufio.NewScanner(res.Body), cancel}
	s.lines.Buffer(nil, 1<<20)
	n.t.Cleanup(s.close)
	return s
}

func (s *stream) close() {
	s.cancel()
	s.body.Close()
}

// next reads one block; ok is false at the end.
func (s *stream) next() (e sse, ok bool) {
	timer := time.AfterFunc(5*time.Second, func() {
		s.t.Error("the feed neither says anything nor ends")
		s.close()
	})
	defer timer.Stop()
	for s.lines.Scan() {
		line := s.lines.Text()
		if line == "" {
			return e, true
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "id":
			e.id = value
		case "event":
			e.event = value
		case "data":
			e.data = value
		case "retry":
			e.retry = value
		case "":
			e.comment = value
		}
	}
	return e, false
}

// take reads until n records came, and reports behind how many of them the
// backlog ended (-1: it did not).
func (s *stream) take(n int) (records []sse, backlog int) {
	s.t.Helper()
	backlog = -1
	for len(records) < n || n == 0 {
		e, ok := s.next()
		if !ok {
			s.t.Fatalf("the feed ended behind %d records, want %d", len(records), n)
		}
		switch {
		case e.event == "backlog.end":
			if backlog >= 0 {
				s.t.Error("the backlog ends twice")
			}
			backlog = len(records)
			if n == 0 {
				return records, backlog
			}
		case e.event != "":
			records = append(records, e)
		}
	}
	return records, backlog
}

func (g *game) note(text string) { g.command(g.gm, `{"type":"note.add","data":{"text":"`+text+`"}}`) }

// A feed shows each record once, in order, byte for byte: what there was, a
// mark, and what happens.
func TestStream(t *testing.T) {
	g := newGame(t)
	size := int(g.size())
	s := g.stream(g.path("/events"), g.anna)
	first, _ := s.next()
	if first.retry != "2000" {
		t.Errorf("begins with %+v", first)
	}
	old, _ := s.take(size)
	mark, ok := s.next()
	if !ok || mark.event != "backlog.end" || mark.data != fmt.Sprintf(`{"next":%d}`, size) || mark.id != "" {
		t.Errorf("got %+v", mark)
	}
	g.note("one")
	g.note("two")
	live, backlog := s.take(2)
	if backlog != -1 {
		t.Error("the backlog ends again")
	}
	lines := g.stored()
	for n, e := range append(old, live...) {
		rec, _ := events.Parse(lines[n])
		if e.id != strconv.Itoa(n) || e.event != rec.Type || e.data != string(lines[n]) {
			t.Errorf("record %d: got %+v", n, e)
		}
	}
}

// A feed that broke off goes on exactly where it was: what happened meanwhile
// comes once, in order, before the mark (D10). A restart changes nothing.
func TestStreamResume(t *testing.T) {
	j := journal.NewMemory(2)
	g := play(t, start(t, j))
	size := int(g.size())
	s := g.stream(g.path("/events?from="+strconv.Itoa(size)), g.anna)
	if _, backlog := s.take(0); backlog != 0 {
		t.Error("a feed from the end has a backlog")
	}
	g.note("a")
	got, _ := s.take(1)
	for round := range 3 {
		last := got[len(got)-1].id
		s.close()
		for i := range 5 {
			g.note(fmt.Sprintf("while away %d.%d", round, i))
		}
		if round == 1 {
			g.node.close()
			g.node = start(t, j)
		}
		// Last-Event-ID wins over from.
		s = g.stream(g.path("/events?from=0"), g.anna, "Last-Event-ID", last)
		missed, _ := s.take(5)
		if mark, _ := s.next(); mark.event != "backlog.end" {
			t.Errorf("round %d: got %+v, want the end of the backlog", round, mark)
		}
		g.note("live")
		live, _ := s.take(1)
		got = append(append(got, missed...), live...)
	}
	for i, e := range got {
		if e.id != strconv.Itoa(size+i) {
			t.Fatalf("event %d has id %s, want %d", i, e.id, size+i)
		}
	}
	if len(got) != int(g.size())-size {
		t.Errorf("got %d records of %d", len(got), int(g.size())-size)
	}
}

// An id that cannot be one of this campaign is an error, never silence.
func TestStreamBadID(t *testing.T) {
	g := newGame(t)
	for _, id := range []string{strconv.Itoa(int(g.size())), "99999999", "x", "-1", "1.5", "99999999999999999999"} {
		r := g.get(g.path("/events"), g.anna, "Accept", "text/event-stream", "Last-Event-ID", id)
		problem(t, r, "malformed", "header.Last-Event-ID")
	}
	problem(t, g.get(g.path(fmt.Sprintf("/events?from=%d", g.size()+1)), g.anna, "Accept", "text/event-stream"), "malformed", "query.from")
	problem(t, g.get(g.path("/events?limit=3"), g.anna, "Accept", "text/event-stream"), "malformed", "query.limit")
}

// Filters choose among backlog and live alike; a session's feed falls silent
// when it is closed.
func TestStreamFilter(t *testing.T) {
	g := newGame(t)
	g.server.timing.heartbeat = 50 * time.Millisecond
	s := g.stream(g.path("/events?type=roll.made,note.added,session.closed&session="+g.session), g.anna)
	records, backlog := s.take(0)
	if len(records) != 1 || records[0].event != "roll.made" || backlog != 1 {
		t.Errorf("got %+v, %d", records, backlog)
	}
	g.note("inside")
	g.command(g.gm, `{"type":"session.close"}`)
	g.note("outside")
	g.command(g.gm, `{"type":"session.open","data":{"title":"Two","kind":"table"}}`)
	records, _ = s.take(2)
	if records[0].event != "note.added" || records[1].event != "session.closed" {
		t.Errorf("got %+v", records)
	}
	if e, ok := s.next(); !ok || e.comment != "quiet" {
		t.Errorf("got %+v", e)
	}
	bobs := g.stream(g.path("/events?character="+g.bob), g.anna)
	if records, _ := bobs.take(0); len(records) != 1 || records[0].event != "character.created" {
		t.Errorf("got %+v", records)
	}
	g.note("not about bob")
	if e, ok := bobs.next(); !ok || e.comment != "quiet" {
		t.Errorf("got %+v", e)
	}
}

// A quiet feed lives on by comments; one whose token has ended does not.
func TestStreamHeartbeat(t *testing.T) {
	g := newGame(t)
	g.server.timing.heartbeat = 10 * time.Millisecond
	s := g.stream(g.path("/events"), g.anna)
	s.take(0)
	for range 3 {
		if e, ok := s.next(); !ok || e.comment != "quiet" {
			t.Errorf("got %+v", e)
		}
	}
	token := read[NewToken](t, g.ask("POST", g.path("/participants/anna/token"), g.gm, ""), 201).Token
	for {
		e, ok := s.next()
		if !ok {
			break
		}
		if e.comment != "quiet" {
			t.Fatalf("got %+v", e)
		}
	}
	read[projections.Campaign](t, g.get(g.path(""), token), 200)
}

// Who is removed sees their own leaving, and nothing after it.
func TestStreamOfRemoved(t *testing.T) {
	g := newGame(t)
	s := g.stream(g.path("/events"), g.anna)
	s.take(0)
	if r := g.ask("DELETE", g.path("/participants/anna"), g.gm, ""); r.StatusCode != 204 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	g.note("a word about anna")
	if e, ok := s.next(); !ok || e.event != "participant.left" {
		t.Errorf("got %+v", e)
	}
	if e, ok := s.next(); ok {
		t.Errorf("got %+v", e)
	}
	// The past leaving of somebody who came back ends nothing.
	token := read[NewToken](t, g.ask("POST", g.path("/participants"), g.gm, `{"handle":"anna","role":"player"}`), 201).Token
	s = g.stream(g.path("/events"), token)
	if records, _ := s.take(0); len(records) != int(g.size()) {
		t.Errorf("got %d records of %d", len(records), g.size())
	}
}

// A token has so many feeds; when one ends there is room again.
func TestStreamLimit(t *testing.T) {
	g := newGame(t)
	var all []*stream
	for range StreamsPerToken {
		s := g.stream(g.path("/events"), g.anna)
		s.take(0)
		all = append(all, s)
	}
	r := g.get(g.path("/events"), g.anna, "Accept", "text/event-stream")
	problem(t, r, "too-many-streams", "")
	if r.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	g.stream(g.path("/events"), g.sven).take(0)
	all[0].close()
	for range 100 {
		if g.server.streams.count() == StreamsPerToken {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	g.stream(g.path("/events"), g.anna).take(0)

	var st streams
	st.campaigns, st.callers = map[string]int{}, map[string]int{}
	for i := range StreamsPerCampaign {
		if _, ok := st.open("c", strconv.Itoa(i)); !ok {
			t.Fatalf("feed %d is refused", i)
		}
	}
	if _, ok := st.open("c", "one more"); ok {
		t.Error("a campaign has no limit")
	}
}

// serve runs a node behind a real listener until the function it returns.
func serve(t testing.TB, n *node) (stop func() error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- n.server.Serve(ctx, l) }()
	n.http.Close()
	n.http.URL = "http://" + l.Addr().String()
	stop = sync.OnceValue(func() error { cancel(); return <-served })
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return stop
}

// The time a request may take to arrive does not end a live feed.
func TestStreamOutlivesReadTimeout(t *testing.T) {
	n := start(t, journal.NewMemory(1))
	n.server.timing.read = 50 * time.Millisecond
	serve(t, n)
	g := play(t, n)
	s := g.stream(g.path("/events"), g.anna)
	s.take(0)
	time.Sleep(150 * time.Millisecond)
	g.note("still there")
	if records, _ := s.take(1); records[0].event != "note.added" {
		t.Errorf("got %+v", records)
	}
}

// A reader that stalls is dropped, and holds up nobody.
func TestStalledReader(t *testing.T) {
	n := start(t, journal.NewMemory(1))
	n.server.timing.event = 100 * time.Millisecond
	serve(t, n)
	g := play(t, n)
	conn, err := net.Dial("tcp", strings.TrimPrefix(n.http.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nAccept: text/event-stream\r\n\r\n", g.path("/events"), g.anna)
	for g.server.streams.count() == 0 {
		time.Sleep(time.Millisecond)
	}
	note := strings.Repeat("x", 4_000)
	for i := 0; g.server.streams.count() > 0; i++ {
		if i == 5_000 {
			t.Fatal("20 MB later it still hangs on")
		}
		begun := time.Now()
		g.note(note)
		if took := time.Since(begun); took > 2*time.Second {
			t.Fatalf("a command took %v", took)
		}
	}
	g.figure(`tallystick_live_feeds_ended_total{reason="slow"} 1`)
}

// A reader that is too far behind is told to come back, and then gets what it
// missed; the table was never held up.
func TestSlowReader(t *testing.T) {
	n := startWith(t, journal.NewMemory(1), library(), feed.Queue(16))
	n.server.timing.event = time.Minute // it is slow, and has not stalled
	g := play(t, n)
	follow := func(last string) *bufio.Reader {
		conn, err := net.Dial("tcp", strings.TrimPrefix(n.http.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		if err := conn.(*net.TCPConn).SetReadBuffer(64 << 10); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer %s\r\nAccept: text/event-stream\r\n%s\r\n", g.path("/events"), g.anna, last)
		answer, err := http.ReadResponse(bufio.NewReaderSize(conn, 4<<10), nil)
		if err != nil {
			t.Fatal(err)
		}
		return bufio.NewReaderSize(answer.Body, 64<<10)
	}
	slow := follow("")
	live := false
	due := int64(0)
	// read takes the next record, and is false when the feed has ended with a word.
	read := func(lines *bufio.Reader) bool {
		told := false
		for {
			line, err := lines.ReadString('\n')
			switch {
			case err != nil && !told:
				t.Fatalf("the feed ended after record %d without a word: %v", due-1, err)
			case err != nil:
				return false
			case strings.HasPrefix(line, "event: backlog.end"):
				live = true
			case strings.HasPrefix(line, ": too far behind, come back from record "):
				told = true
				if want := fmt.Sprintf(": too far behind, come back from record %d\n", due); line != want {
					t.Fatalf("told %q, want %q", line, want)
				}
			case strings.HasPrefix(line, "id: "):
				if want := fmt.Sprintf("id: %d\n", due); line != want {
					t.Fatalf("got %q, want %q", line, want)
				}
				due++
				return true
			}
		}
	}
	for !live { // from now on it has to keep up
		if _, err := slow.Peek(1); err != nil {
			t.Fatal(err)
		}
		line, err := slow.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(line, "id: ") {
			due++
		}
		live = strings.HasPrefix(line, "event: backlog.end")
	}
	note := strings.Repeat("🎲", 4_000)
	for range 300 { // 10 MB, more than lies in the buffers between
		g.note(note)
	}
	for read(slow) {
	}
	size, err := n.ledger.Size(t.Context(), g.id)
	if err != nil || due >= size {
		t.Fatalf("it was told to come back from record %d of %d, %v", due, size, err)
	}
	for again := follow(fmt.Sprintf("Last-Event-ID: %d\r\n", due-1)); due < size; {
		if !read(again) {
			t.Fatalf("the feed that came back was cut off too, before record %d", due)
		}
	}
}

// A stop answers what is under way, ends feeds with a word on when to come
// back, and leaves no goroutine behind (R14).
func TestGracefulStop(t *testing.T) {
	before := goleak.IgnoreCurrent()
	slow := &slowJournal{Journal: journal.NewMemory(1), entered: make(chan struct{}, 1), gate: make(chan struct{})}
	n := start(t, slow)
	stop := serve(t, n)
	g := play(t, n)
	var feeds []*stream
	for range 10 {
		s := g.stream(g.path("/events"), g.anna)
		s.take(0)
		feeds = append(feeds, s)
	}
	slow.hold.Store(true)
	answered := make(chan reply, 1)
	go func() {
		answered <- g.ask("POST", g.path("/commands"), g.gm, `{"type":"note.add","data":{"text":"last words"}}`, "Idempotency-Key", key())
	}()
	<-slow.entered
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	for _, s := range feeds {
		var last sse
		for {
			e, ok := s.next()
			if !ok {
				break
			}
			last = e
		}
		if last.retry != "2000" {
			t.Errorf("the feed ends with %+v", last)
		}
	}
	select {
	case err := <-stopped:
		t.Fatalf("stopped with a command under way: %v", err)
	default:
	}
	close(slow.gate)
	read[CommandAnswer](t, <-answered, 200)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", strings.TrimPrefix(n.http.URL, "http://")); err == nil {
		t.Error("it still accepts")
	}
	n.close()
	http.DefaultClient.CloseIdleConnections()
	goleak.VerifyNone(t, before)
}

// A request that does not end in time is cut off, and Serve says so.
func TestStopDoesNotWaitForEver(t *testing.T) {
	slow := &slowJournal{Journal: journal.NewMemory(1), entered: make(chan struct{}, 1), gate: make(chan struct{})}
	n := start(t, slow)
	n.server.timing.grace = 50 * time.Millisecond
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n.http.Close()
	n.http.URL = "http://" + l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- n.server.Serve(ctx, l) }()
	g := play(t, n)
	slow.hold.Store(true)
	go func() {
		req, _ := http.NewRequest("POST", n.http.URL+g.path("/commands"), strings.NewReader(`{"type":"note.add","data":{"text":"x"}}`))
		req.Header.Set("Authorization", "Bearer "+g.gm)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", key())
		if res, err := http.DefaultClient.Do(req); err == nil {
			res.Body.Close()
		}
	}()
	<-slow.entered
	cancel()
	if err := <-served; err == nil {
		t.Error("nothing is said of the request that was cut off")
	}
	close(slow.gate)
}

// A list of records that breaks off in the middle is not taken for the whole.
func TestBrokenList(t *testing.T) {
	store := &breaking{Journal: journal.NewMemory(1)}
	g := play(t, start(t, store))
	for range 50 {
		g.note(strings.Repeat("x", 4_000))
	}
	store.after.Store(30)
	req, _ := http.NewRequest("GET", g.http.URL+g.path("/ledger"), nil)
	req.Header.Set("Authorization", "Bearer "+g.gm)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if b, err := io.ReadAll(res.Body); err == nil {
		t.Errorf("%d bytes, and no error", len(b))
	}
}

// Live feeds are shown nothing that JSON readers could take for two lines.
func TestStreamLinesAreWhole(t *testing.T) {
	g := newGame(t)
	g.command(g.gm, `{"type":"note.add","data":{"text":"one\ntwo\n\nevent: forged\ndata: {}"}}`)
	s := g.stream(g.path("/events?type=note.added"), g.anna)
	records, _ := s.take(0)
	var rec events.Record
	if len(records) != 1 || json.Unmarshal([]byte(records[0].data), &rec) != nil || rec.Type != "note.added" {
		t.Errorf("got %+v", records)
	}
}

// A server that stops while a record is on its way, and what belongs to the
// record can no longer be looked up, still says when to come back.
func TestStopsBetweenRecordAndSecret(t *testing.T) {
	g := newGame(t)
	g.command(g.anna, `{"type":"roll","data":{"expression":"1d6"},"visibility":"private"}`)
	sub := g.hub.Subscribe(g.id, 0)
	defer sub.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	w := &stopper{ResponseRecorder: httptest.NewRecorder(), at: "event: roll.sealed", stop: func() { g.server.stop(); cancel() }}
	l := live{server: g.server, out: w, control: http.NewResponseController(w), who: caller{Identity: ledger.Identity{Handle: "anna"}, token: g.anna}, query: query{campaign: g.id, size: g.size(), filter: filter{last: g.size()}}, asked: time.Now()}
	if err := l.run(ctx, sub); err == nil {
		t.Error("what belongs to the record was found without a store")
	}
	if text := w.Body.String(); !strings.HasSuffix(text, fmt.Sprintf(": the server shuts down\nretry: %d\n\n", retryMillis)) || !strings.Contains(text, w.at) {
		t.Errorf("the feed said %q", text)
	}
}

// stopper calls stop behind the write that has a text.
type stopper struct {
	*httptest.ResponseRecorder
	at   string
	stop func()
}

func (s *stopper) Write(b []byte) (int, error) {
	n, err := s.ResponseRecorder.Write(b)
	if strings.Contains(string(b), s.at) {
		s.stop()
	}
	return n, err
}
