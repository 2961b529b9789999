package main

import (
	"context"
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

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tallystick/replay"
)

// laid counts the networks of this process.
var laid atomic.Int64

// startHosts lays three hosts, each with a network of its own behind one bridge,
// for three servers that replicate.
func startHosts(t *testing.T) *stores {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can lay network namespaces")
	}
	s := &stores{t: t}
	nth := laid.Add(1) // of this process
	bridge := fmt.Sprintf("t%db%d", nth, os.Getpid()%100_000)
	net := fmt.Sprintf("10.%d.%d", 77+nth, os.Getpid()%250)
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
	s.empty(i)
	s.start(i)
}

// empty takes away the disk of a server that does not run.
func (s *stores) empty(i int) {
	if err := os.RemoveAll(filepath.Join(filepath.Dir(s.configs[i]), "store")); err != nil {
		s.t.Fatal(err)
	}
}

// clusterPlay is a table that two nodes on three servers serve, under load.
type clusterPlay struct {
	t        *testing.T
	stores   *stores
	flags    []string
	dirs     [2]string
	nodes    [2]*process
	admin    string // token
	campaign string

	done   atomic.Int64
	locked atomic.Bool // the token is not in force any more
	stop   chan struct{}
	group  sync.WaitGroup

	mu       sync.Mutex
	answered []asked // guarded by mu
}

func playOnHosts(t *testing.T) *clusterPlay {
	t.Helper()
	c := &clusterPlay{t: t, stores: startHosts(t), stop: make(chan struct{})}
	c.dirs = [2]string{filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")}
	c.flags = []string{"--nats", strings.Join(c.stores.urls, ","), "--replicas", "3", "--partitions", "2"}
	c.nodes[0] = serveSoon(t, c.dirs[0], c.flags...)
	shareKeys(t, c.dirs[0], c.dirs[1])
	c.nodes[1] = serveSoon(t, c.dirs[1], c.flags...)
	c.admin = c.nodes[0].token
	c.campaign = c.nodes[0].newCampaign("rpgamix")
	c.nodes[1].token = c.nodes[0].token
	if _, err := c.nodes[0].command(t.Context(), c.campaign, "session.open", map[string]any{"title": "one", "kind": "table"}); err != nil {
		t.Fatal(err)
	}
	for w := range 4 {
		c.group.Go(func() {
			for c.command(w) {
			}
		})
	}
	return c
}

// command gives one command, as often as it takes, to one node after the other. It
// returns false when there are to be no more.
func (c *clusterPlay) command(w int) bool {
	a := asked{key: newKey(), typ: "roll", data: map[string]any{"expression": "3d6"}}
	for try := 0; ; try++ {
		select {
		case <-c.stop:
			return false
		default:
		}
		records, err := sendTo(c.nodes[(w+try)%2].client, c.campaign, a)
		var no *problem
		if errors.As(err, &no) && no.Status == http.StatusUnauthorized {
			c.locked.Store(true)
			return false
		}
		if errors.As(err, &no) && no.Status < 500 && no.Status != http.StatusConflict {
			c.t.Errorf("%v", err)
			return false
		}
		if err != nil {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		a.records = records
		c.mu.Lock()
		c.answered = append(c.answered, a)
		c.mu.Unlock()
		c.done.Add(1)
		return true
	}
}

// more waits until commands are answered again.
func (c *clusterPlay) more(what string) {
	c.t.Helper()
	if took, ok := c.goesOn(90 * time.Second); ok {
		c.t.Logf("%-28s 40 more answers after %v", what, took.Round(time.Millisecond))
	} else {
		c.t.Fatalf("%s: commands are not answered any more", what)
	}
}

func (c *clusterPlay) goesOn(patience time.Duration) (time.Duration, bool) {
	began := time.Now()
	for want := c.done.Load() + 40; c.done.Load() < want; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > patience {
			return 0, false
		}
	}
	return time.Since(began), true
}

// none waits until whoever led has given up, and then wants no answer for a while.
func (c *clusterPlay) none(what string) {
	c.t.Helper()
	time.Sleep(12 * time.Second)
	before := c.done.Load()
	time.Sleep(5 * time.Second)
	if got := c.done.Load() - before; got > 0 {
		c.t.Errorf("%s: %d commands were answered", what, got)
	}
}

// rest ends the load.
func (c *clusterPlay) rest() {
	close(c.stop)
	c.group.Wait()
}

// check finds everything answered, by either node, in a ledger that replays.
func (c *clusterPlay) check() {
	t := c.t
	t.Helper()
	c.rest()
	if c.locked.Load() {
		t.Error("the token is not in force any more")
	}
	if t.Failed() {
		return
	}
	last := int64(0)
	for _, a := range c.answered {
		last = max(last, parse(t, a.records[len(a.records)-1]).N)
	}
	for i, p := range c.nodes {
		// A node's views follow; after=n waits for them.
		began := time.Now()
		await(t, fmt.Sprintf("node %d has read record %d", i, last), func() bool {
			_, err := p.text(t.Context(), fmt.Sprintf("/v1/campaigns/%s/characters?after=%d", c.campaign, last))
			return err == nil
		})
		t.Logf("node %d had read all after %v", i, time.Since(began).Round(time.Millisecond))
		checkAnswered(t, p, c.campaign, i, c.answered)
	}
	ledger, err := c.nodes[0].text(t.Context(), "/v1/campaigns/"+c.campaign+"/ledger")
	if err != nil {
		t.Fatal(err)
	}
	if err := replay.New(library()).Ledger(strings.NewReader(string(ledger))); err != nil {
		t.Error(err)
	}
	t.Logf("%d commands answered, none lost", len(c.answered))
}

// whole waits until every server has all that the leaders have.
func (c *clusterPlay) whole() {
	c.t.Helper()
	conn, err := nats.Connect(strings.Join(c.stores.urls, ","))
	if err != nil {
		c.t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		c.t.Fatal(err)
	}
	began := time.Now()
	await(c.t, "every server has everything", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		streams, n := js.ListStreams(ctx), 0
		for info := range streams.Info() {
			n++
			if info.Cluster == nil || info.Cluster.Leader == "" || len(info.Cluster.Replicas) < 2 {
				return false
			}
			for _, replica := range info.Cluster.Replicas {
				if !replica.Current || replica.Offline || replica.Lag > 100 { // the load goes on
					return false
				}
			}
		}
		return streams.Err() == nil && n > 0
	})
	c.t.Logf("every server had everything after %v", time.Since(began).Round(time.Millisecond))
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
	c := playOnHosts(t)
	s := c.stores
	c.more("all is well")
	for i := range 3 {
		s.unplug(i, "down")
		c.more(fmt.Sprintf("server %d is cut off", i))
		s.unplug(i, "up")
		c.more("it is back")
	}
	for i := range 3 {
		s.signal(i, syscall.SIGSTOP)
		c.more(fmt.Sprintf("server %d is paused", i))
		s.signal(i, syscall.SIGCONT)
		c.more("it goes on")
	}
	s.kill(1)
	c.more("server 1 is killed")
	s.start(1)
	c.more("it is back")
	c.whole()
	s.wipe(2)
	c.more("server 2 has lost its disk")
	c.whole()
	s.kill(0)
	c.more("server 0 is killed after it")
	s.start(0)
	c.more("it is back")
	s.unplug(0, "down")
	s.unplug(1, "down")
	c.none("two are cut off")
	s.unplug(0, "up")
	s.unplug(1, "up")
	c.more("two were cut off and are back")
	s.kill(1)
	s.kill(2)
	c.none("two are killed")
	s.start(1)
	s.start(2)
	c.more("two were killed and are back")
	c.check()
}
