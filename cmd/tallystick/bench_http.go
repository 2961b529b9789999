package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"tallystick/events/journal"
)

// httpClients are how many clients roll at once, each at a table of its own.
const httpClients = 64

// http measures a roll over HTTP, against an echo handler that only publishes.
func (b *bench) http() (err error) {
	dir, err := os.MkdirTemp(b.dir, "node-")
	if err != nil {
		return err
	}
	n, err := startNode(b.ctx, nodeConfig{Dir: dir, Listen: "127.0.0.1:0", Server: "bench.example", Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(b.ctx)
	done := make(chan error, 1)
	go func() { done <- n.run(ctx) }()
	defer func() { stop(); err = errors.Join(err, <-done) }()
	reference, err := journal.Embedded(ctx, journal.Options{Dir: filepath.Join(b.dir, "reference"), ServerSyncs: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reference.Close()) }()
	bare, err := startBare(reference)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bare.close()) }()
	tables := make([]*httpTable, httpClients)
	err = few(len(tables), func(i int) (err error) {
		tables[i], err = newHTTPTable(ctx, n)
		return err
	})
	if err != nil {
		return err
	}
	for _, clients := range []int{1, httpClients} {
		if err := b.httpRow(ctx, n, bare, tables[:clients]); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) httpRow(ctx context.Context, n *node, bare *bareServer, tables []*httpTable) error {
	rolls := 100
	if len(tables) == 1 {
		rolls = 400
	}
	rolls = b.scale(rolls)
	var p50, p99 pairs
	var did work
	// The first trial warms up connections and caches and is not counted.
	for trial := range b.trials + 1 {
		before, raws := make([]uint64, len(tables)), make([]string, len(tables))
		for i, t := range tables {
			var err error
			if before[i], err = n.journal.Last(ctx, t.campaign); err != nil {
				return err
			}
			raws[i] = twin(t.campaign, bare.raw.Partitions())
		}
		ours, answers, err := volley(len(tables), rolls, func(i int) (*http.Request, error) {
			return tables[i].request(ctx, n.Address+"/v1/campaigns/"+tables[i].campaign+"/commands")
		})
		if err != nil {
			return err
		}
		payloads := make([][][]byte, len(tables))
		for i, t := range tables {
			if payloads[i], err = stored(ctx, n.journal, t.campaign, before[i]); err != nil {
				return err
			}
		}
		did = workOf(payloads)
		bare.load(raws, payloads, answers)
		theirs, _, err := volley(len(tables), rolls, func(i int) (*http.Request, error) {
			return tables[i].request(ctx, bare.address+"/"+raws[i])
		})
		if err != nil {
			return err
		}
		reference, err := readWork(ctx, bare.journal, raws, make([]uint64, len(raws)))
		if err != nil {
			return err
		}
		if err := same("http", did, reference); err != nil {
			return err
		}
		if trial > 0 {
			p50.add(quantile(ours, 0.5), quantile(theirs, 0.5))
			p99.add(quantile(ours, 0.99), quantile(theirs, 0.99))
		}
	}
	row := benchRow{Reach: 1.3, AtMost: true, Against: "echo handler that only publishes", Work: fmt.Sprintf("%d rolls a trial", did.count)}
	who := fmt.Sprintf("http: one roll, %d clients", len(tables))
	if len(tables) == 1 {
		who = "http: one roll, 1 client"
	}
	row.Row, row.Unit = who, "µs p50"
	if err := b.report(p50.row(row)); err != nil {
		return err
	}
	row.Row, row.Unit = who, "µs p99"
	return b.report(p99.row(row))
}

// httpTable is a campaign with an open session, and its game master's token.
type httpTable struct{ campaign, token string }

func newHTTPTable(ctx context.Context, n *node) (*httpTable, error) {
	var made struct {
		Campaign string `json:"campaign"`
		GM       struct {
			Token string `json:"token"`
		} `json:"gm"`
	}
	c := &client{base: n.Address, token: n.Admin}
	if err := c.call(ctx, http.MethodPost, "/v1/campaigns", map[string]any{"name": "Bench", "system": "rpgamix"}, nil, &made); err != nil {
		return nil, err
	}
	c.token = made.GM.Token
	_, err := c.command(ctx, made.Campaign, "session.open", map[string]any{"title": "one", "kind": "table"})
	return &httpTable{made.Campaign, c.token}, err
}

func (t *httpTable) request(ctx context.Context, url string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader([]byte(`{"type":"roll","data":{"expression":"3d6kh2+1"}}`)))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+t.token)
	req.Header.Set("Idempotency-Key", uuid.Must(uuid.NewV7()).String())
	return req, nil
}

// volley lets clients send requests, each client one after the other, and returns
// what each took in µs, and the answers of each client.
func volley(clients, each int, request func(client int) (*http.Request, error)) (all []float64, answers [][][]byte, err error) {
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	defer transport.CloseIdleConnections()
	c := &http.Client{Transport: transport}
	times := make([][]float64, clients)
	answers = make([][][]byte, clients)
	err = together(clients, func(i int) error {
		for range each {
			req, err := request(i)
			if err != nil {
				return err
			}
			begun := time.Now()
			resp, err := c.Do(req)
			if err != nil {
				return err
			}
			body, err := io.ReadAll(resp.Body)
			times[i], answers[i] = append(times[i], micros(begun)), append(answers[i], body)
			resp.Body.Close()
			if err != nil || resp.StatusCode != http.StatusOK {
				return fmt.Errorf("%s: %d %s %w", req.URL.Path, resp.StatusCode, body, err)
			}
		}
		return nil
	})
	return slices.Concat(times...), answers, err
}

// bareServer answers a POST to /campaign by publishing what is next for it, with the
// bytes that the program answered: what a client has to read is the same. A campaign
// has one request at a time.
type bareServer struct {
	address string
	journal journal.Journal // below the raw store
	raw     journal.Raw
	server  *http.Server
	ended   chan error
	queues  map[string]*bareQueue // by campaign
}

type bareQueue struct {
	payloads, answers [][]byte
	last              uint64
}

func startBare(j journal.Journal) (*bareServer, error) {
	raw, _ := journal.Measure(j)
	s := &bareServer{journal: j, raw: raw, ended: make(chan error, 1)}
	e := echo.New()
	e.POST("/:campaign", s.publish)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.address, s.server = "http://"+l.Addr().String(), &http.Server{Handler: e}
	go func() { s.ended <- s.server.Serve(l) }()
	return s, nil
}

// load says what the next requests publish and are answered. None is under way.
func (s *bareServer) load(campaigns []string, payloads, answers [][][]byte) {
	s.queues = map[string]*bareQueue{}
	for i, campaign := range campaigns {
		s.queues[campaign] = &bareQueue{payloads: payloads[i], answers: answers[i]}
	}
}

func (s *bareServer) publish(c echo.Context) error {
	if _, err := io.ReadAll(c.Request().Body); err != nil {
		return err
	}
	q := s.queues[c.Param("campaign")]
	if q == nil || len(q.payloads) == 0 {
		return echo.ErrNotFound
	}
	payload, answer := q.payloads[0], q.answers[0]
	seq, err := s.raw.Publish(c.Request().Context(), journal.Entry{
		Campaign: c.Param("campaign"), ID: c.Request().Header.Get("Idempotency-Key"), Expected: q.last, Payload: payload,
	})
	if err != nil {
		return err
	}
	q.payloads, q.answers, q.last = q.payloads[1:], q.answers[1:], seq
	return c.Blob(http.StatusOK, "application/json", answer)
}

func (s *bareServer) close() error {
	err := s.server.Close()
	if ended := <-s.ended; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}
