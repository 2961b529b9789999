package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tallystick/api"
)

// followers is how many live feeds of one campaign are open in the follow rows.
const followers = 2_000

// follow measures how long a roll takes to reach the last of many live feeds of its
// campaign, and what a feed holds in memory.
func (b *bench) follow() (err error) {
	dir, err := os.MkdirTemp(b.dir, "node-")
	if err != nil {
		return err
	}
	n, err := startNode(b.ctx, nodeConfig{Dir: dir, Listen: "127.0.0.1:0", Server: "bench.example", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(b.ctx)
	done := make(chan error, 1)
	go func() { done <- n.run(ctx) }()
	crowd := &crowd{arrived: make(chan time.Time, 1)}
	defer func() {
		stop()
		crowd.leave()
		err = errors.Join(err, <-done)
	}()
	table, err := newHTTPTable(ctx, n)
	if err != nil {
		return err
	}
	gm := &client{base: n.Address, token: table.token}
	size, err := n.ledger.Size(ctx, table.campaign)
	if err != nil {
		return err
	}
	count := b.scale(followers)
	guests := (count + api.StreamsPerToken - 1) / api.StreamsPerToken
	tokens := make([]string, guests)
	for i := range tokens {
		var made struct {
			Token string `json:"token"`
		}
		guest := map[string]any{"handle": fmt.Sprintf("guest-%d", i), "role": "spectator"}
		if err := gm.call(ctx, http.MethodPost, "/v1/campaigns/"+table.campaign+"/participants", guest, nil, &made); err != nil {
			return err
		}
		tokens[i] = made.Token
	}
	size += int64(guests)
	before := heap() + stacks()
	crowd.due.Store(int64(count))
	for i := range count {
		if err := crowd.join(n.Address, table.campaign, tokens[i/api.StreamsPerToken], size); err != nil {
			return err
		}
	}
	var latencies []float64
	for i := range 1 + b.scale(50) {
		begun := time.Now()
		if _, err := gm.command(ctx, table.campaign, "roll", map[string]any{"expression": "1d6"}); err != nil {
			return err
		}
		select {
		case last := <-crowd.arrived:
			if i > 0 { // the first also waited for the feeds to open
				latencies = append(latencies, float64(last.Sub(begun).Microseconds())/1e3)
			}
		case <-time.After(time.Minute):
			return fmt.Errorf("%d of %d followers did not get roll %d within a minute", crowd.due.Load(), count, i)
		}
		crowd.due.Store(int64(count))
	}
	each := (float64(heap()) + float64(stacks()) - float64(before)) / float64(count) / 1024
	row := benchRow{Against: "–", Work: fmt.Sprintf("%d followers of one campaign on one node", count)}
	row.Row, row.Unit = fmt.Sprintf("follow: a roll to the last of %d", count), "ms p50"
	if err := b.report(alone(latencies, row)); err != nil {
		return err
	}
	row.Row, row.Unit = "follow: a live feed, both ends", "KiB"
	return b.report(alone([]float64{each}, row))
}

func stacks() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.StackInuse
}

// crowd is many readers of one live feed, with as little of their own as can be.
type crowd struct {
	due     atomic.Int64   // readers that the record under way has not reached
	arrived chan time.Time // when it has reached all
	mu      sync.Mutex
	conns   []net.Conn // guarded by mu
	reading sync.WaitGroup
}

func (c *crowd) join(base, campaign, token string, from int64) error {
	address := strings.TrimPrefix(base, "http://")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.conns = append(c.conns, conn)
	c.mu.Unlock()
	_, err = fmt.Fprintf(conn, "GET /v1/campaigns/%s/events?from=%d HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nAccept: text/event-stream\r\n\r\n", campaign, from, address, token)
	if err != nil {
		return err
	}
	c.reading.Go(func() { c.read(conn) })
	return nil
}

// read counts the records that come.
func (c *crowd) read(conn io.Reader) {
	lines := bufio.NewReaderSize(conn, 2<<10)
	for {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull): // a long line: the record itself
		case err != nil:
			return
		case strings.HasPrefix(string(line), "id: ") && c.due.Add(-1) == 0:
			c.arrived <- time.Now()
		}
	}
}

func (c *crowd) leave() {
	c.mu.Lock()
	for _, conn := range c.conns {
		conn.Close()
	}
	c.mu.Unlock()
	c.reading.Wait()
}
