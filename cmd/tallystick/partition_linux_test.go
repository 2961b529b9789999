package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"tallystick/replay"
)

// startHosts lays three hosts, each with a network of its own behind one bridge,
// for three servers that replicate.
func startHosts(t *testing.T) *stores {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can lay network namespaces")
	}
	s := &stores{t: t}
	bridge := fmt.Sprintf("tb%d", os.Getpid()%100_000)
	net := fmt.Sprintf("10.77.%d", os.Getpid()%250)
	ip := func(args string) {
		t.Helper()
		if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Skipf("ip %s: %v: %s", args, err, out)
		}
	}
	drop := func(args string) { t.Cleanup(func() { exec.Command("ip", strings.Fields(args)...).Run() }) }
	ip("link add " + bridge + " type bridge")
	drop("link del " + bridge)
	ip("addr add " + net + ".254/24 dev " + bridge)
	ip("link set " + bridge + " up")
	var addresses []string
	for i := range 3 {
		host, cable, plug := fmt.Sprintf("%sh%d", bridge, i), s.cable(bridge, i), fmt.Sprintf("%sp%d", bridge, i)
		s.hosts = append(s.hosts, host)
		addresses = append(addresses, fmt.Sprintf("%s.%d", net, i+1))
		ip("netns add " + host)
		drop("netns del " + host)
		ip("link add " + cable + " type veth peer name " + plug)
		drop("link del " + cable)
		ip("link set " + plug + " netns " + host)
		ip("link set " + cable + " master " + bridge + " up")
		ip("-n " + host + " addr add " + addresses[i] + "/24 dev " + plug)
		ip("-n " + host + " link set " + plug + " up")
		ip("-n " + host + " link set lo up")
	}
	s.configure(addresses)
	for i := range s.running {
		s.start(i)
	}
	return s
}

func (s *stores) cable(bridge string, i int) string { return fmt.Sprintf("%sc%d", bridge, i) }

// unplug pulls or puts back the cable of a host.
func (s *stores) unplug(i int, state string) {
	cable := strings.Replace(s.hosts[i], "h", "c", 1)
	if out, err := exec.Command("ip", "link", "set", cable, state).CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
}

func (s *stores) signal(i int, sig syscall.Signal) {
	if err := s.running[i].Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// wipe takes a server's disk away, and starts it with an empty one.
func (s *stores) wipe(i int) {
	s.kill(i)
	if err := os.RemoveAll(filepath.Join(filepath.Dir(s.configs[i]), "store")); err != nil {
		s.t.Fatal(err)
	}
	s.start(i)
}

// Three servers on hosts of their own and two nodes, under load, while one server
// at a time is cut off, paused, killed, and loses its disk: commands go on being
// answered, and everything answered is there. With two of three away nothing is
// answered, and nothing is lost.
func TestPartition(t *testing.T) {
	t.Parallel() // it waits most of the time
	if testing.Short() {
		t.Skip("takes a minute: three servers are disturbed one after the other")
	}
	s := startHosts(t)
	home, other := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	flags := []string{"--nats", strings.Join(s.urls, ","), "--replicas", "3", "--partitions", "2"}
	a := serveSoon(t, home, flags...)
	shareKeys(t, home, other)
	b := serveSoon(t, other, flags...)
	campaign := a.newCampaign("rpgamix")
	b.token = a.token
	if _, err := a.command(t.Context(), campaign, "session.open", map[string]any{"title": "one", "kind": "table"}); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var answered []asked
	var done atomic.Int64
	stop := make(chan struct{})
	var group sync.WaitGroup
	for w := range 4 {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				c := asked{key: uuid.Must(uuid.NewV7()).String(), typ: "roll", data: map[string]any{"expression": "3d6"}}
				for try := 0; c.records == nil; try++ {
					records, err := sendTo([]*client{a.client, b.client}[(w+try)%2], campaign, c)
					var no *problem
					if errors.As(err, &no) && no.Status < 500 && no.Status != http.StatusConflict {
						t.Errorf("%v", err)
						return
					}
					if err == nil {
						c.records = records
						break
					}
					time.Sleep(20 * time.Millisecond)
					if try > 2_000 {
						t.Errorf("never answered: %v", err)
						return
					}
				}
				mu.Lock()
				answered = append(answered, c)
				mu.Unlock()
				done.Add(1)
			}
		})
	}
	more := func(what string) {
		t.Helper()
		began := time.Now()
		for want := done.Load() + 40; done.Load() < want; time.Sleep(10 * time.Millisecond) {
			if time.Since(began) > 90*time.Second {
				t.Fatalf("%s: commands are not answered any more", what)
			}
		}
		t.Logf("%-28s 40 more answers after %v", what, time.Since(began).Round(time.Millisecond))
	}
	more("all is well")
	for i := range 3 {
		s.unplug(i, "down")
		more(fmt.Sprintf("server %d is cut off", i))
		s.unplug(i, "up")
		more("it is back")
	}
	for i := range 3 {
		s.signal(i, syscall.SIGSTOP)
		more(fmt.Sprintf("server %d is paused", i))
		s.signal(i, syscall.SIGCONT)
		more("it goes on")
	}
	s.kill(1)
	more("server 1 is killed")
	s.start(1)
	more("it is back")
	time.Sleep(3 * time.Second)
	s.wipe(2)
	more("server 2 has lost its disk")
	time.Sleep(10 * time.Second) // until it has the whole again
	s.kill(0)
	more("server 0 is killed after it")
	s.start(0)
	more("it is back")
	s.unplug(0, "down")
	s.unplug(1, "down")
	time.Sleep(12 * time.Second) // whoever led gives up
	before := done.Load()
	time.Sleep(5 * time.Second)
	if got := done.Load() - before; got > 0 {
		t.Errorf("%d commands were answered by one server of three", got)
	}
	s.unplug(0, "up")
	s.unplug(1, "up")
	more("two were cut off and are back")
	close(stop)
	group.Wait()
	if t.Failed() {
		return
	}
	last := int64(0)
	for _, c := range answered {
		last = max(last, parse(t, c.records[len(c.records)-1]).N)
	}
	for i, p := range []*process{a, b} {
		// A node's views follow; after=n waits for them.
		began := time.Now()
		await(t, fmt.Sprintf("node %d has read record %d", i, last), func() bool {
			_, err := p.text(t.Context(), fmt.Sprintf("/v1/campaigns/%s/characters?after=%d", campaign, last))
			return err == nil
		})
		t.Logf("node %d had read all after %v", i, time.Since(began).Round(time.Millisecond))
		checkAnswered(t, p, campaign, i, answered)
	}
	ledger, err := a.text(t.Context(), "/v1/campaigns/"+campaign+"/ledger")
	if err != nil {
		t.Fatal(err)
	}
	if err := replay.New(library()).Ledger(strings.NewReader(string(ledger))); err != nil {
		t.Error(err)
	}
	t.Logf("%d commands answered, none lost", len(answered))
}
