package main

import (
	"flag"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tallystick/api"
)

// twoFaults lets TestTwoFaults try what takes minutes.
var twoFaults = flag.Bool("two-faults", false, "two faults at once on three servers")

// Two faults at once on three servers. What they can take is lost, but never in
// silence: what was answered is there, or the node says that it is not.
func TestTwoFaults(t *testing.T) {
	if !*twoFaults {
		t.Skip("takes minutes: -two-faults runs it")
	}
	for name, faults := range map[string]func(*clusterPlay){
		"one wiped, when it is full another": func(c *clusterPlay) {
			c.stores.wipe(0)
			c.more("server 0 has lost its disk")
			c.whole()
			c.stores.wipe(1)
			c.more("server 1 has lost its disk")
			c.whole()
			c.stores.wipe(2)
			c.more("server 2 has lost its disk")
			c.whole()
		},
		"one paused, another wiped": func(c *clusterPlay) {
			c.stores.signal(0, syscall.SIGSTOP)
			c.more("server 0 is paused")
			c.stores.wipe(1)
			c.tell("server 1 has lost its disk", 20*time.Second)
			c.stores.signal(0, syscall.SIGCONT)
			c.tell("server 0 goes on", 60*time.Second)
		},
		"one paused and behind, another wiped when it goes on": func(c *clusterPlay) {
			c.stores.signal(0, syscall.SIGSTOP)
			c.more("server 0 is paused")
			c.more("server 0 is paused")
			c.stores.kill(1)
			c.stores.empty(1)
			c.stores.signal(2, syscall.SIGSTOP) // it alone has the whole
			c.stores.signal(0, syscall.SIGCONT)
			c.stores.start(1)
			c.tell("server 0 and an empty disk", 30*time.Second)
			c.stores.signal(2, syscall.SIGCONT)
			c.tell("server 2 goes on", 60*time.Second)
		},
		"two wiped": func(c *clusterPlay) {
			c.stores.kill(0)
			c.stores.kill(1)
			c.stores.empty(0)
			c.stores.empty(1)
			c.stores.start(0)
			c.stores.start(1)
			c.tell("servers 0 and 1 have lost their disks", 60*time.Second)
		},
		"one wiped, before it is full another": func(c *clusterPlay) {
			c.stores.wipe(0)
			await(c.t, "the wiped server is met again", func() bool { return c.begun(0) })
			c.stores.wipe(1)
			c.tell("servers 0 and 1 have lost their disks", 60*time.Second)
		},
		"two wiped, the third comes back last": func(c *clusterPlay) {
			for i := range 3 {
				c.stores.kill(i)
			}
			c.stores.empty(0)
			c.stores.empty(1)
			c.stores.start(0)
			c.stores.start(1)
			c.tell("servers 0 and 1 with empty disks", 30*time.Second)
			c.stores.start(2)
			c.tell("server 2 is back", 60*time.Second)
		},
		"all wiped": func(c *clusterPlay) {
			for i := range 3 {
				c.stores.kill(i)
				c.stores.empty(i)
			}
			for i := range 3 {
				c.stores.start(i)
			}
			c.tell("all have lost their disks", 30*time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := playOnHosts(t)
			c.more("all is well")
			c.more("all is well")
			faults(c)
			c.verdict()
		})
	}
}

// tell says whether commands are answered.
func (c *clusterPlay) tell(what string, patience time.Duration) {
	if took, ok := c.goesOn(patience); ok {
		c.t.Logf("%-28s 40 more answers after %v", what, took.Round(time.Millisecond))
	} else {
		c.t.Logf("%-28s nothing is answered", what)
	}
}

// begun reports whether a server has made the first folder of a stream again.
func (c *clusterPlay) begun(i int) bool {
	streams, err := filepath.Glob(filepath.Join(filepath.Dir(c.stores.configs[i]), "store", "jetstream", "*", "streams", "*"))
	return err == nil && len(streams) > 0
}

// again starts a node anew.
func (c *clusterPlay) again(i int) {
	token := c.nodes[i].token
	c.nodes[i].kill()
	c.nodes[i] = serveSoon(c.t, c.dirs[i], c.flags...)
	c.nodes[i].token = token
}

// verdict compares what was answered with what either node then has, and again when
// both were started anew. What is lost must be told by /readyz.
func (c *clusterPlay) verdict() {
	c.rest()
	c.t.Logf("%d commands were answered", len(c.answered))
	if c.locked.Load() {
		time.Sleep(20 * time.Second) // it may come back
		_, err := c.nodes[0].text(c.t.Context(), "/v1/campaigns/"+c.campaign)
		c.t.Logf("the game master's token was refused, and after a while: %v; the admin gives another", err)
		c.nodes[0].token = c.admin
		var made api.NewToken
		if err := c.nodes[0].call(c.t.Context(), http.MethodPost, "/v1/campaigns/"+c.campaign+"/participants/gm/token", nil, nil, &made); err != nil {
			c.t.Logf("which fails: %v", err)
		}
		c.nodes[0].token, c.nodes[1].token = made.Token, made.Token
	}
	c.told("as it is")
	c.again(0)
	c.again(1)
	c.told("started anew")
}

func (c *clusterPlay) told(when string) {
	t := c.t
	for i, p := range c.nodes {
		var lost error
		for end := time.Now().Add(15 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) { // a node follows by a moment
			if lost = findAnswered(p, c.campaign, c.answered); lost == nil {
				break
			}
		}
		ready, err := askReady(t.Context(), p.base)
		t.Logf("node %d, %s: lost: %v; %s: %s; red %v, %v", i, when, lost, ready.Status, strings.Join(ready.Problems, "; "), ready.Red, err)
		if lost != nil && err == nil && ready.Status == "ready" {
			t.Errorf("node %d, %s: lost and not told: %v", i, when, lost)
		}
	}
}
