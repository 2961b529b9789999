package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/nats-io/nats-server/v2/server"

	"tallystick/events"
	"tallystick/replay"
)

// The test binary is a nats-server with the configuration file that this variable
// names.
const asStore = "TALLYSTICK_TEST_AS_NATS_SERVER"

func runStore(config string) {
	o, err := server.ProcessConfigFile(config)
	if err == nil {
		var s *server.Server
		if s, err = server.NewServer(o); err == nil {
			s.Start()
			stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
			defer cancel()
			<-stop.Done()
			s.Shutdown()
			s.WaitForShutdown()
			os.Exit(0)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// stores are three nats-server processes that replicate.
type stores struct {
	t       *testing.T
	hosts   []string // network namespaces, one each; nil: they share this machine's
	urls    []string
	configs []string
	running [3]*exec.Cmd
}

func startStores(t *testing.T) *stores {
	s := &stores{t: t}
	s.configure([]string{"127.0.0.1", "127.0.0.1", "127.0.0.1"})
	return s
}

// configure writes the configurations of servers at these addresses.
func (s *stores) configure(addresses []string) {
	t := s.t
	t.Helper()
	var routes []string
	ports := make([]int, 6)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // after all are chosen
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	for i, port := range ports[3:] {
		routes = append(routes, fmt.Sprintf("%q", fmt.Sprintf("nats://%s:%d", addresses[i], port)))
	}
	for i := range s.running {
		dir := t.TempDir()
		config := fmt.Sprintf(`server_name: s%d
listen: "%s:%d"
jetstream { store_dir: %q, sync_interval: always }
cluster { name: tallystick, listen: "%s:%d", routes: [%s] }
`, i, addresses[i], ports[i], filepath.Join(dir, "store"), addresses[i], ports[3+i], strings.Join(routes, ", "))
		path := filepath.Join(dir, "server.conf")
		if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		s.configs = append(s.configs, path)
		s.urls = append(s.urls, fmt.Sprintf("nats://%s:%d", addresses[i], ports[i]))
	}
}

func (s *stores) start(i int) {
	cmd := exec.Command(os.Args[0])
	if s.hosts != nil {
		cmd = exec.Command("nsenter", "--net=/run/netns/"+s.hosts[i], os.Args[0]) // ip netns exec would hold on to mounted disks
	}
	cmd.Env = append(os.Environ(), asStore+"="+s.configs[i])
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.running[i] = cmd
	s.t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
}

func (s *stores) kill(i int) {
	if err := s.running[i].Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	s.running[i].Wait()
}

// call is one command of the history: sent at first, answered in the end, as often
// as it took.
type call struct {
	asked
	begun, ended int64
	tries        int
}

// Two nodes on three replicating servers. Commands go through both while one
// server and one node are killed and come back: every command is answered in the
// end and stands in the ledger once, as it was answered, by either node; the
// history is linearizable; the whole ledger replays, so no tick ran twice and no
// die changed.
func TestCluster(t *testing.T) {
	t.Parallel() // it waits most of the time
	if testing.Short() {
		t.Skip("starts five processes and kills two of them")
	}
	s := startStores(t)
	for i := range s.running {
		s.start(i)
	}
	home, other := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	flags := []string{"--nats", strings.Join(s.urls, ","), "--replicas", "3", "--partitions", "2"}
	a := serveSoon(t, home, flags...)
	shareKeys(t, home, other)
	b := serveSoon(t, other, flags...)
	campaign := a.newCampaign("rpgamix")
	b.token = a.token
	var nodes [2]atomic.Pointer[client]
	nodes[0].Store(a.client)
	nodes[1].Store(b.client)
	must := func(typ string, data any) answer {
		t.Helper()
		got, err := a.command(t.Context(), campaign, typ, data)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	must("session.open", map[string]any{"title": "one", "kind": "table"})
	hero := must("character.create", rpgamixPerson("Hero", map[string]any{"con": 5}, nil)).Command
	must("wound.inflict", map[string]any{"character": hero, "points": 10, "cause": "a fall"})
	size := parse(t, must("note.add", map[string]any{"text": "it begins"}).Records[0]).N + 1

	const writers, each = 6, 40
	var mu sync.Mutex
	var calls []call
	var done atomic.Int64
	disturbed := make(chan struct{})
	var group sync.WaitGroup
	start := time.Now()
	for w := range writers {
		group.Go(func() {
			for i := range each {
				if i == each/2 {
					<-disturbed // so that some go on after it
				}
				c := call{asked: asked{key: uuid.Must(uuid.NewV7()).String(), typ: "roll", data: map[string]any{"expression": "3d6"}}}
				if i%8 == 7 {
					c.typ, c.data = "clock.advance", map[string]any{"by": "1h"}
				}
				c.begun = time.Since(start).Nanoseconds()
				for c.records == nil {
					node := nodes[(w+i+c.tries)%2].Load()
					c.tries++
					records, err := sendTo(node, campaign, c.asked)
					var p *problem
					if errors.As(err, &p) && p.Status < 500 && p.Status != http.StatusConflict {
						t.Errorf("%s: %v", c.typ, err)
						return
					}
					if err == nil {
						c.records = records
					} else if time.Since(start) > 90*time.Second {
						t.Errorf("%s is not answered after %d tries: %v", c.typ, c.tries, err)
						return
					}
				}
				c.ended = time.Since(start).Nanoseconds()
				mu.Lock()
				calls = append(calls, c)
				mu.Unlock()
				done.Add(1)
			}
		})
	}
	group.Go(func() {
		defer close(disturbed)
		after := func(n int64) {
			for done.Load() < n && time.Since(start) < 60*time.Second {
				time.Sleep(time.Millisecond)
			}
		}
		after(20)
		s.kill(1)
		after(40)
		b.kill()
		after(60)
		s.start(1)
		again := serveSoon(t, other, flags...)
		again.token = a.token
		nodes[1].Store(again.client)
	})
	group.Wait()
	if t.Failed() {
		t.FailNow()
	}
	retried := 0
	for _, c := range calls {
		if c.tries > 1 {
			retried++
		}
	}
	t.Logf("%d commands by %d writers in %v, %d of them asked more than once", len(calls), writers, time.Since(start).Round(time.Millisecond), retried)

	ledger, err := a.text(t.Context(), "/v1/campaigns/"+campaign+"/ledger")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(ledger), "\n"), "\n")
	linearizable(t, size, calls)
	for _, c := range calls {
		first := parse(t, c.records[0])
		for i, line := range c.records {
			n := first.N + int64(i)
			if n >= int64(len(lines)) {
				t.Fatalf("record %d was answered, and the ledger that was asked for after it has %d", n, len(lines))
			}
			if lines[n] != string(line) {
				t.Fatalf("record %d was answered as\n%s\nand stands as\n%s", n, line, lines[n])
			}
		}
		again, err := sendTo(nodes[1].Load(), campaign, c.asked)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(again) != fmt.Sprint(c.records) {
			t.Fatalf("command %s: a retry through the other node answers otherwise", c.key)
		}
	}
	once := map[string]bool{}
	for _, line := range lines {
		rec := parse(t, jsontext.Value(line))
		if rec.Cmd.Type != "" && once[rec.Cmd.ID] {
			t.Errorf("command %s stands twice", rec.Cmd.ID)
		}
		once[rec.Cmd.ID] = true
	}
	if err := replay.New(library()).Ledger(strings.NewReader(string(ledger))); err != nil {
		t.Error(err)
	}
}

// linearizable holds the commands against a ledger that takes one after the other:
// each finds as many records before its own as the ledger then has.
func linearizable(t *testing.T, size int64, calls []call) {
	t.Helper()
	if result := history(t, size, calls); result != porcupine.Ok {
		t.Errorf("the history is %s", result)
	}
}

func history(t *testing.T, size int64, calls []call) porcupine.CheckResult {
	t.Helper()
	type span struct{ first, records int64 }
	model := porcupine.Model{
		Init: func() any { return size },
		Step: func(state, _, output any) (bool, any) {
			s := output.(span)
			return state.(int64) == s.first, state.(int64) + s.records
		},
	}
	var all []porcupine.Operation
	for i, c := range calls {
		first := parse(t, c.records[0]).N
		all = append(all, porcupine.Operation{ClientId: i, Call: c.begun, Return: c.ended, Output: span{first, int64(len(c.records))}})
	}
	return porcupine.CheckOperationsTimeout(model, all, 20*time.Second)
}

func parse(t *testing.T, line jsontext.Value) events.Record {
	t.Helper()
	rec, err := events.Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func sendTo(c *client, campaign string, a asked) ([]jsontext.Value, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	var got answer
	header := http.Header{"Idempotency-Key": {a.key}}
	err := c.call(ctx, http.MethodPost, "/v1/campaigns/"+campaign+"/commands", map[string]any{"type": a.typ, "data": a.data}, header, &got)
	return got.Records, err
}

// shareKeys gives a second node the keys and the admin token of the first.
func shareKeys(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(to, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"master.key", "signing.key", "admin.token"} {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
