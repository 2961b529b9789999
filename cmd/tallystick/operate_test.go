package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// watched is a server on which everything happens that an operator can see.
type watched struct {
	*process
	campaign, gm, player string
	dir                  string
	secrets              []string // what no figure, line or span may have
}

// lockedBuffer can be read while a process writes to it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// plain is the sheet of an average character.
var plain = map[string]any{"stats": map[string]int{"str": 0, "con": 0, "dex": 0, "per": 0, "int": 0, "wits": 0, "cha": 0, "app": 0}, "skills": map[string]int{}}

func watch(t *testing.T, flags ...string) *watched {
	dir := t.TempDir()
	w := &watched{dir: dir, process: serve(t, dir, append([]string{"--log-format", "json", "--metrics-listen", "127.0.0.1:0"}, flags...)...)}
	admin := w.token
	w.campaign = w.newCampaign("rpgamix")
	w.gm = w.token
	var added struct {
		Token string `json:"token"`
	}
	w.ask("POST", "/v1/campaigns/"+w.campaign+"/participants", map[string]string{"handle": "zebedee", "role": "player"}, 201, &added)
	w.player = added.Token
	w.secrets = []string{admin, w.gm, w.player, w.campaign, "zebedee"}
	return w
}

// ask sends a request and wants this status.
func (w *watched) ask(method, path string, body any, status int, into any, headers ...string) {
	w.t.Helper()
	var in io.Reader
	if body != nil {
		raw, ok := body.(string)
		if !ok {
			b, err := json.Marshal(body)
			if err != nil {
				w.t.Fatal(err)
			}
			raw = string(b)
		}
		in = strings.NewReader(raw)
	}
	req, err := http.NewRequest(method, w.base+path, in)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+w.token)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	if resp.StatusCode != status {
		w.t.Fatalf("%s %s: %d, want %d: %s", method, path, resp.StatusCode, status, text)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			w.t.Fatal(err)
		}
	}
}

// give gives a command under a key.
func (w *watched) give(key, typ string, data any, status int, headers ...string) {
	w.t.Helper()
	w.ask("POST", "/v1/campaigns/"+w.campaign+"/commands", map[string]any{"type": typ, "data": data}, status, nil,
		append([]string{"Idempotency-Key", key}, headers...)...)
}

// play lets everything happen once that the figures count.
func (w *watched) play() {
	w.t.Helper()
	w.give(newKey(), "session.open", map[string]string{"title": "One", "kind": "table"}, 200)
	mara := newKey()
	w.give(mara, "character.create", map[string]any{"name": "Mara", "kind": "npc", "creation": "free", "sheet": plain}, 200)
	feed := w.follow()
	once := newKey()
	w.give(once, "roll", map[string]string{"expression": "2d6"}, 200)
	w.give(once, "roll", map[string]string{"expression": "2d6"}, 200)
	w.give(newKey(), "roll", map[string]string{"expression": ""}, 400)
	w.give(newKey(), "session.open", map[string]string{"title": "Two", "kind": "table"}, 422)
	w.give(newKey(), "nonsense."+w.campaign, map[string]string{}, 400)
	w.give(newKey(), "wound.inflict", map[string]any{"character": mara, "points": 21, "cause": "a fall"}, 200)
	w.give(newKey(), "clock.advance", map[string]string{"by": "3s"}, 200)
	feed()
	w.ask("POST", "/v1/campaigns/"+w.campaign+"/commands", strings.Repeat("x", 70_000), 413, nil)
	w.ask("GET", "/v1/nowhere/"+w.player, nil, 404, nil)
	w.ask("BREW", "/v1/campaigns", nil, 405, nil)
	for range 6 {
		req, err := http.NewRequest("GET", w.base+"/v1/me", nil)
		if err != nil {
			w.t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+strings.Replace(w.player, "tally_", "tally_f", 1))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			w.t.Fatal(err)
		}
		resp.Body.Close()
	}
}

// follow opens a live feed; what it returns waits for the tick on it and goes.
func (w *watched) follow() (end func()) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	resp, err := w.do(ctx, "GET", "/v1/campaigns/"+w.campaign+"/events", nil, http.Header{"Accept": {"text/event-stream"}})
	if err != nil {
		w.t.Fatal(err)
	}
	lines := bufio.NewScanner(resp.Body)
	until := func(want string) {
		for lines.Scan() {
			if lines.Text() == want {
				return
			}
		}
		w.t.Fatalf("the feed ended before %q: %v", want, lines.Err())
	}
	until("event: backlog.end")
	return func() {
		until("event: tick.processed")
		cancel()
		resp.Body.Close()
	}
}

// scraped are figures by name and labels.
type scraped struct {
	families map[string]*dto.MetricFamily
	values   map[string]float64
}

// scrape reads all figures with the parser of Prometheus.
func scrape(t *testing.T, address, token string) scraped {
	t.Helper()
	req, err := http.NewRequest("GET", address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || got != "text/plain; version=0.0.4; charset=utf-8" {
		t.Fatalf("%s: %d %q", address, resp.StatusCode, got)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	s := scraped{families, map[string]float64{}}
	for name, family := range families {
		for _, m := range family.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			value := m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetUntyped().GetValue()
			if h := m.GetHistogram(); h != nil {
				value = float64(h.GetSampleCount())
			}
			s.values[strings.TrimSpace(name+" "+strings.Join(labels, " "))] = value
		}
	}
	return s
}

// metricsAddress finds in the log where figures are served without a token.
func (w *watched) metricsAddress() string {
	w.t.Helper()
	found := regexp.MustCompile(`"msg":"metrics","address":"([^"]+)"`).FindStringSubmatch(w.stderr.String())
	if found == nil {
		w.t.Fatalf("no address of metrics in %s", w.stderr)
	}
	return found[1]
}

// Every figure has a help text, moves when its thing happens, and names nobody.
func TestMetrics(t *testing.T) {
	w := watch(t)
	// What a figure does in play: at least so much more afterwards.
	moves := map[string]float64{
		"tallystick_commands_total result=stored type=roll":                                            1,
		"tallystick_commands_total result=repeated type=roll":                                          1,
		"tallystick_commands_total result=invalid type=roll":                                           1,
		"tallystick_commands_total result=rejected type=session.open":                                  1,
		"tallystick_commands_total result=invalid type=other":                                          1,
		"tallystick_command_seconds":                                                                   9,
		"tallystick_records_total":                                                                     6,
		"tallystick_ticks_total":                                                                       1,
		"tallystick_append_seconds outcome=stored":                                                     5,
		"tallystick_http_requests_total method=POST route=/v1/campaigns/:campaign/commands status=200": 6,
		"tallystick_http_requests_total method=GET route=none status=404":                              1,
		"tallystick_http_requests_total method=other route=/v1/campaigns status=405":                   1,
		"tallystick_http_request_seconds route=/v1/campaigns/:campaign/commands":                       9,
		"tallystick_refused_total limit=wrong-token":                                                   1,
		"tallystick_refused_total limit=size":                                                          1,
		"tallystick_live_feed_events_total":                                                            4,
		"tallystick_live_feed_lag_seconds":                                                             3,
		"tallystick_live_feeds_ended_total reason=left":                                                1,
		"tallystick_views_bytes":                                                                       5,
		"tallystick_archive_offset_bytes":                                                              1,
		"process_cpu_seconds_total":                                                                    0,
	}
	// What a healthy server has, before and after; NaN is never equal.
	stands := map[string]float64{
		"tallystick_ready": 1, "tallystick_red_campaigns": 0, "tallystick_live_feeds": 0, "tallystick_views_behind": 0,
		"tallystick_views_following": 1, "tallystick_views_loaded": 1, "tallystick_archive_failing": 0,
		"tallystick_archive_lost_commits": 0, "tallystick_checkpoints_failing": 0, "tallystick_conflicts_total": 0,
		"tallystick_archive_segment": 1, "tallystick_commands_total result=stored type=campaign.create": 1,
	}
	// What is there, and lags as the disk does.
	there := []string{"go_goroutines", "tallystick_build_info", "tallystick_archive_waiting_records", "tallystick_archive_lag_seconds", "tallystick_checkpoints_waiting"}
	address := w.metricsAddress()
	before := scrape(t, address, "")
	w.play()
	w.eventually("the feed is counted out and the archive has all", func() bool {
		s := scrape(t, address, "")
		return s.values["tallystick_live_feeds"] == 0 && s.sum("tallystick_archive_last_sequence") == s.sum("tallystick_journal_last_sequence") &&
			s.values["tallystick_live_feeds_ended_total reason=left"] == 1
	})
	after := scrape(t, w.base+"/metrics", w.secrets[0])
	for name, least := range moves {
		if got := after.values[name] - before.values[name]; got < least {
			t.Errorf("%s moved by %v, want at least %v", name, got, least)
		}
		if _, ok := after.values[name]; !ok {
			t.Errorf("there is no %s", name)
		}
	}
	for name, want := range stands {
		for when, s := range map[string]scraped{"before": before, "after": after} {
			if got, ok := s.values[name]; !ok || got != want {
				t.Errorf("%s %s is %v (%v), want %v", name, when, got, ok, want)
			}
		}
	}
	if moved := after.sum("tallystick_journal_last_sequence") - before.sum("tallystick_journal_last_sequence"); moved != 5 {
		t.Errorf("the journal grew by %v commits, want 5", moved)
	}
	page, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	judged := map[string]bool{"tallystick_journal_last_sequence": true, "tallystick_archive_last_sequence": true}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(moves)), slices.Collect(maps.Keys(stands)), there) {
		judged[strings.Fields(name)[0]] = true
	}
	for name, family := range after.families {
		if family.GetHelp() == "" {
			t.Errorf("%s has no help", name)
		}
		if strings.HasPrefix(name, "tallystick_") && !judged[name] {
			t.Errorf("%s is in no row of this test", name)
		}
		if strings.HasPrefix(name, "tallystick_") && !bytes.Contains(page, []byte(name)) {
			t.Errorf("docs/operating.md does not say what %s is", name)
		}
		for _, secret := range w.secrets {
			if strings.Contains(family.String(), secret) {
				t.Errorf("%s says %q: %s", name, secret, family)
			}
		}
	}
	for _, name := range there {
		if after.families[name] == nil {
			t.Errorf("there is no %s", name)
		}
	}
}

func (s scraped) sum(name string) float64 {
	total := 0.0
	for key, value := range s.values {
		if strings.Fields(key)[0] == name {
			total += value
		}
	}
	return total
}

// eventually waits until something holds.
func (w *watched) eventually(what string, holds func() bool) {
	w.t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("not in time: %s\n%s", what, w.stderr)
		}
	}
}

// The address without a token serves the figures and nothing else.
func TestMetricsAddress(t *testing.T) {
	w := watch(t)
	base := strings.TrimSuffix(w.metricsAddress(), "/metrics")
	for _, path := range []string{"/", "/v1/campaigns", "/readyz", "/openapi.json", "/debug/pprof/"} {
		resp, err := http.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != 404 {
			t.Errorf("%s: %d, want 404", path, resp.StatusCode)
		}
	}
	w.ask("GET", "/metrics", nil, 403, nil) // a game master's token
}

// Every line of the log is JSON; those of one request have its id, also where
// the ledger writes them; none has a token.
func TestLogs(t *testing.T) {
	w := watch(t)
	w.play()
	w.give(newKey(), "note.add", map[string]string{"text": "xyzzy " + w.player}, 200, "X-Request-Id", "mine-1")
	w.stop()
	ids := map[string][]string{}
	for line := range strings.SplitSeq(strings.TrimSpace(w.stderr.String()), "\n") {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		for _, key := range []string{"time", "level", "msg"} {
			if fields[key] == nil {
				t.Errorf("no %s: %s", key, line)
			}
		}
		ids[fmt.Sprint(fields["request"])] = append(ids[fmt.Sprint(fields["request"])], fmt.Sprint(fields["msg"]))
		for _, secret := range []string{w.secrets[0], w.gm, w.player, w.player[6:], "zebedee", "xyzzy"} {
			if strings.Contains(line, secret) {
				t.Errorf("a line says %q: %s", secret, line)
			}
		}
	}
	if got := ids["mine-1"]; !slices.Equal(got, []string{"command", "request"}) {
		t.Errorf("lines of the request: %v", got)
	}
	if got := ids["<nil>"]; !slices.Contains(got, "serving") || !slices.Contains(got, "stopping") || slices.Contains(got, "request") {
		t.Errorf("lines of no request: %v", got)
	}
}

// stop ends the server as systemd does.
func (w *watched) stop() {
	w.t.Helper()
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		w.t.Fatal(err)
	}
	if err := w.cmd.Wait(); err != nil {
		w.t.Fatalf("%v\n%s", err, w.stderr)
	}
}

// Only as much is logged as was asked for.
func TestLogLevel(t *testing.T) {
	w := watch(t, "--log-level", "error", "--metrics-listen", "")
	w.play()
	w.stop()
	if w.stderr.String() != "" {
		t.Errorf("a healthy server logged %s", w.stderr)
	}
	out, err := program("serve", "--data", t.TempDir(), "--log-level", "loud").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "log-level") {
		t.Errorf("%v: %s", err, out)
	}
}

// systemd hears when the server is up and when it stops.
func TestNotify(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	heard, err := net.ListenPacket("unixgram", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer heard.Close()
	t.Setenv("NOTIFY_SOCKET", socket)
	w := watch(t)
	say := func(want string) {
		t.Helper()
		got := make([]byte, 100)
		if err := heard.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if n, _, err := heard.ReadFrom(got); err != nil || string(got[:n]) != want {
			t.Errorf("heard %q, %v, want %q", got[:n], err, want)
		}
	}
	say("READY=1")
	w.stop()
	say("STOPPING=1")
}

// The shell offers commands, flags and the values that a flag may have.
func TestCompletion(t *testing.T) {
	for args, want := range map[string]string{
		"mc": "mcp\t", "serve --log-f": "--log-format\t", "serve --log-format ": "json\n", "serve --log-level w": "warn\n",
	} {
		out, err := program(append([]string{"__complete"}, strings.Split(args, " ")...)...).Output()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v: %s", args, err, out)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if out, err := program("completion", shell).Output(); err != nil || !strings.Contains(string(out), "tallystick") {
			t.Errorf("%s: %v: %.100s", shell, err, out)
		}
	}
}

// received are the spans that a small collector got.
type received struct {
	mu      sync.Mutex
	spans   []*tracepb.Span
	service string
	header  http.Header
	busy    int // how many requests are still turned away
}

func (c *received) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy > 0 {
		c.busy--
		out.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	in := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		packed, err := gzip.NewReader(r.Body)
		if err != nil {
			out.WriteHeader(http.StatusBadRequest)
			return
		}
		in = packed
	}
	body, err := io.ReadAll(in)
	var data tracepb.TracesData
	if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" || proto.Unmarshal(body, &data) != nil {
		out.WriteHeader(http.StatusBadRequest)
		return
	}
	c.header = r.Header
	for _, of := range data.ResourceSpans {
		for _, a := range of.Resource.Attributes {
			if a.Key == "service.name" {
				c.service = a.Value.GetStringValue()
			}
		}
		for _, scope := range of.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
}

// A command makes three spans, one inside the other, inside the one of whoever
// asked; they name nobody. A collector that is busy gets them later.
func TestTraces(t *testing.T) {
	collector := &received{busy: 1}
	server := httptest.NewServer(collector)
	defer server.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=open%20sesame")
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
	t.Setenv("OTEL_SERVICE_NAME", "table-one")
	w := watch(t)
	trace := "0af7651916cd43dd8448eb211c80319c"
	w.give(newKey(), "note.add", map[string]string{"text": "xyzzy"}, 200, "Traceparent", "00-"+trace+"-b7ad6b7169203331-01")
	w.stop() // what is left is sent
	collector.mu.Lock()
	defer collector.mu.Unlock()
	if collector.service != "table-one" || collector.header.Get("X-Key") != "open sesame" {
		t.Errorf("service %q, header %q", collector.service, collector.header.Get("X-Key"))
	}
	parent := "b7ad6b7169203331"
	for _, want := range []string{"POST /v1/campaigns/:campaign/commands", "ledger.execute", "journal.append"} {
		i := slices.IndexFunc(collector.spans, func(s *tracepb.Span) bool {
			return s.Name == want && hex.EncodeToString(s.TraceId) == trace
		})
		if i < 0 {
			t.Fatalf("no span %s in %v", want, collector.spans)
		}
		s := collector.spans[i]
		if got := hex.EncodeToString(s.ParentSpanId); got != parent || s.EndTimeUnixNano < s.StartTimeUnixNano {
			t.Errorf("%s is inside %s, want %s; from %d to %d", want, got, parent, s.StartTimeUnixNano, s.EndTimeUnixNano)
		}
		parent = hex.EncodeToString(s.SpanId)
	}
	for _, s := range collector.spans {
		for _, secret := range append(w.secrets, "xyzzy") {
			if strings.Contains(s.String(), secret) {
				t.Errorf("a span says %q: %s", secret, s)
			}
		}
	}
	if !strings.Contains(w.stderr.String(), `"trace":"`+trace+`"`) {
		t.Error("no line of the log has the id of the trace")
	}
}

// A variable that cannot be followed stops the start and is named.
func TestTraceVariables(t *testing.T) {
	for name, value := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4318", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_HEADERS": "a",
		"OTEL_EXPORTER_OTLP_TRACES_TIMEOUT": "10s", "OTEL_EXPORTER_OTLP_COMPRESSION": "zstd", "OTEL_TRACES_EXPORTER": "jaeger",
		"OTEL_EXPORTER_OTLP_CERTIFICATE": "/none",
	} {
		cmd := program("serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0")
		cmd.Env = append(cmd.Env, "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", name+"="+value)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != exitUnusable || !strings.Contains(string(out), name) {
			t.Errorf("%s=%s: %v: %s", name, value, err, out)
		}
	}
}
