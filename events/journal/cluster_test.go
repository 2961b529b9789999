package journal_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"tallystick/events/journal"
	"tallystick/events/journal/journaltest"
)

// cluster is three servers that replicate, with an account for each journal.
type cluster struct {
	servers []*server.Server
	next    atomic.Int64 // account
}

const clusterAccounts = 40

func freePorts(t testing.TB, n int) []int {
	t.Helper()
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // after all are chosen
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

func startCluster(t testing.TB) *cluster {
	t.Helper()
	const nodes = 3
	routes := freePorts(t, nodes)
	var accounts, peers strings.Builder
	for i := range clusterAccounts {
		fmt.Fprintf(&accounts, "A%d { jetstream: enabled, users: [{user: u%d, password: p}] }\n", i, i)
	}
	for _, port := range routes {
		fmt.Fprintf(&peers, "\"nats://127.0.0.1:%d\", ", port)
	}
	c := &cluster{}
	for i := range nodes {
		dir := t.TempDir()
		path := filepath.Join(dir, "server.conf")
		config := fmt.Sprintf(`
server_name: n%d
listen: "127.0.0.1:-1"
jetstream { store_dir: %q, sync_interval: always }
cluster { name: c, listen: "127.0.0.1:%d", routes: [%s] }
accounts { SYS { users: [{user: sys, password: p}] }
%s}
system_account: SYS
`, i, dir, routes[i], peers.String(), accounts.String())
		if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		o, err := server.ProcessConfigFile(path)
		if err != nil {
			t.Fatal(err)
		}
		o.NoSigs, o.NoLog = true, true
		s, err := server.NewServer(o)
		if err != nil {
			t.Fatal(err)
		}
		go s.Start()
		c.servers = append(c.servers, s)
	}
	t.Cleanup(c.stop)
	for end := time.Now().Add(20 * time.Second); !c.ready(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the cluster does not form")
		}
	}
	return c
}

func (c *cluster) stop() {
	var all sync.WaitGroup
	for _, s := range c.servers {
		all.Go(func() { s.Shutdown(); s.WaitForShutdown() })
	}
	all.Wait()
}

// ready reports whether there is a leader that knows all peers.
func (c *cluster) ready() bool {
	for _, s := range c.servers {
		if s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == len(c.servers) {
			return true
		}
	}
	return false
}

// open opens a journal of a fresh account on three replicas.
func (c *cluster) open(t testing.TB, faults *journal.Faults) journal.Journal {
	t.Helper()
	account := c.next.Add(1)
	var urls []string
	for _, s := range c.servers {
		urls = append(urls, fmt.Sprintf("nats://u%d:p@%s", account, s.Addr()))
	}
	o := journal.Options{URL: strings.Join(urls, ","), Partitions: 2, Replicas: 3, Faults: faults, Logger: slog.New(slog.DiscardHandler)}
	var err error
	for range 5 { // making a stream may meet an election
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		var j journal.Journal
		j, err = journal.Connect(ctx, o)
		cancel()
		if err == nil {
			t.Cleanup(func() { j.Close() })
			return j
		}
		time.Sleep(200 * time.Millisecond)
	}
	t.Fatal(err)
	return nil
}

func TestClusterContract(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("about seven seconds")
	}
	start := time.Now()
	c := startCluster(t)
	t.Logf("formed after %v", time.Since(start))
	t.Cleanup(func() { t.Logf("all after %v", time.Since(start)) })
	t.Run("contract", func(t *testing.T) { journaltest.RunContract(t, c.open) })
}
