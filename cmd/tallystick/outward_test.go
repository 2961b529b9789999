package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"tallystick/api"
	"tallystick/projections"
)

// A receiver that is down while the server is killed and started again is told
// everything afterwards: each record once, in order, under the id it had.
func TestWebhookOverRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := serve(t, dir, "--webhook-allow", "127.0.0.1")
	campaign := p.newCampaign("rpgamix")
	token := filepath.Join(dir, "gm.token")
	if err := os.WriteFile(token, []byte(p.token), 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close() // nobody is there
	out, errs, code := told(t, "webhook", "add", campaign, "http://"+address+"/", "--from", "0", "--server", p.base, "--token-file", token)
	id, secret, _ := strings.Cut(strings.TrimSpace(out), "\t")
	if code != 0 || !strings.HasPrefix(secret, "whsec_") {
		t.Fatalf("%d\n%s%s", code, out, errs)
	}
	note := func(p *process, text string) {
		if _, err := p.command(context.Background(), campaign, "note.add", map[string]string{"text": text}); err != nil {
			t.Fatal(err)
		}
	}
	note(p, "before")
	for failed := false; !failed; time.Sleep(5 * time.Millisecond) {
		var list projections.Page[api.WebhookItem]
		if err := p.get(context.Background(), webhooksPath(campaign), &list); err != nil {
			t.Fatal(err)
		}
		failed = list.Items[0].Attempts > 0
	}
	p.kill()

	heard := make(chan struct{ id, body string }, 100)
	if listener, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	receiver := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			Data jsontext.Value `json:"data"`
		}
		_ = json.UnmarshalRead(r.Body, &m)
		heard <- struct{ id, body string }{r.Header.Get("webhook-id"), string(m.Data)}
	})}
	go func() { _ = receiver.Serve(listener) }()
	defer receiver.Close()
	again := serve(t, dir, "--webhook-allow", "127.0.0.1")
	again.token = p.token
	note(again, "after")
	ledger, err := again.text(context.Background(), "/v1/campaigns/"+campaign+"/ledger")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(ledger)), "\n")
	ids := map[string]bool{}
	for n, line := range lines {
		select {
		case d := <-heard:
			if d.body != line || ids[d.id] {
				t.Fatalf("record %d: got %s, want %s", n, d.body, line)
			}
			ids[d.id] = true
		case <-time.After(30 * time.Second):
			t.Fatalf("record %d of %d never came\n%s", n, len(lines), again.stderr)
		}
	}
	out, errs, code = told(t, "webhook", "list", campaign, "--server", again.base, "--token-file", token)
	if code != 0 || !strings.Contains(out, id) || strings.Contains(out, secret) {
		t.Errorf("%d\n%s%s", code, out, errs)
	}
	if out, errs, code = told(t, "webhook", "dead", campaign, id, "--server", again.base, "--token-file", token); code != 0 || out != "" {
		t.Errorf("dead letters: %d\n%s%s", code, out, errs)
	}
	if _, errs, code = told(t, "webhook", "replay", campaign, id, "--from", "1", "--server", again.base, "--token-file", token); code != 0 {
		t.Errorf("replay: %d %s", code, errs)
	}
	for n := 1; n < len(lines); n++ {
		if d := <-heard; d.body != lines[n] || !ids[d.id] {
			t.Errorf("told again: got %s, want %s under the same id", d.body, lines[n])
		}
	}
	if out, errs, code = told(t, "webhook", "rotate", campaign, id, "--overlap", "1", "--server", again.base, "--token-file", token); code != 0 || !strings.HasPrefix(out, id+"\twhsec_") {
		t.Fatalf("code %d: %s%s", code, out, errs)
	}
	if _, errs, code = told(t, "webhook", "remove", campaign, id, "--server", again.base, "--token-file", token); code != 0 {
		t.Errorf("remove: %d %s", code, errs)
	}
	if _, errs, code = told(t, "serve", "--data", t.TempDir(), "--webhook-allow", "home"); code != exitUnusable || !strings.Contains(errs, "home") {
		t.Errorf("an address that is none: %d %s", code, errs)
	}
}

// A bot that comes by NATS hears each event, byte for byte as it is stored, and
// gives commands with the rights of the token it sends: one execution a key, and
// the same refusals as by HTTP.
func TestCommandsByNATS(t *testing.T) {
	dir := t.TempDir()
	p := serve(t, dir)
	campaign := p.newCampaign("rpgamix")
	var spectator, player api.NewToken
	for role, into := range map[string]*api.NewToken{"spectator": &spectator, "player": &player} {
		if err := p.call(context.Background(), http.MethodPost, "/v1/campaigns/"+campaign+"/participants", map[string]string{"handle": role, "role": role}, nil, into); err != nil {
			t.Fatal(err)
		}
	}
	p.kill()
	out, errs, code := told(t, "bot", "add", "roller", "--campaign", campaign, "--commands", "--data", dir)
	if code != 0 {
		t.Fatal(errs)
	}
	pair, err := nkeys.FromSeed([]byte(strings.TrimSpace(out)))
	if err != nil {
		t.Fatal(err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	gm := p.token
	p = serve(t, dir, "--nats-listen", address)
	p.token = gm
	conn, err := nats.Connect(address, nats.Nkey(public, pair.Sign), nats.CustomInboxPrefix("_INBOX."+public))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	feed, err := conn.SubscribeSync("feed." + campaign + ".>")
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	ask := func(token, key, body string, more ...string) (*nats.Msg, string) {
		t.Helper()
		m := nats.NewMsg("tallystick.command." + campaign)
		for i := 0; i < len(more); i += 2 {
			m.Header[more[i]] = []string{more[i+1]}
		}
		m.Header.Set("Authorization", "Bearer "+token)
		m.Header.Set("Idempotency-Key", key)
		m.Data = []byte(body)
		answer, err := conn.RequestMsg(m, 20*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		return answer, answer.Header.Get("Nats-Service-Error-Code")
	}
	open := `{"type":"session.open","data":{"title":"One","kind":"play-by-post"}}`
	if m, code := ask(gm, uuid.NewString(), open); code != "" {
		t.Fatalf("%s: %s", code, m.Data)
	}
	key := uuid.NewString()
	m, code1 := ask(player.Token, key, `{"type":"roll","data":{"expression":"3d6"}}`)
	var first, second api.CommandAnswer
	if err := json.Unmarshal(m.Data, &first); err != nil || code1 != "" || len(first.Records) != 1 {
		t.Fatalf("%v, %s: %s", err, code1, m.Data)
	}
	m, _ = ask(player.Token, key, `{"type":"roll","data":{"expression":"3d6"}}`)
	if err := json.Unmarshal(m.Data, &second); err != nil || !second.Repeated || string(second.Records[0]) != string(first.Records[0]) {
		t.Errorf("%v: a retry got %s", err, m.Data)
	}
	for name, row := range map[string]struct{ token, key, body, code, says string }{
		"wrong token":     {"tally_" + strings.Repeat("0", 64), uuid.NewString(), open, "401", "/problems/unauthenticated"},
		"admin":           {admin(t, dir), uuid.NewString(), open, "403", "/problems/forbidden"},
		"spectator":       {spectator.Token, uuid.NewString(), `{"type":"roll","data":{"expression":"3d6"}}`, "403", "/problems/forbidden"},
		"rule":            {gm, uuid.NewString(), open, "422", "/problems/rejected"},
		"malformed":       {gm, uuid.NewString(), `{"type":"roll","data":{"expresion":"3d6"}}`, "400", "body.data.expresion"},
		"no key":          {gm, "", open, "400", "header.Idempotency-Key"},
		"another command": {player.Token, key, `{"type":"roll","data":{"expression":"3d8"}}`, "409", "/problems/key-reused"},
		"too large":       {gm, uuid.NewString(), open + strings.Repeat(" ", 70_000), "413", "/problems/too-large"},
	} {
		if m, code := ask(row.token, row.key, row.body); code != row.code || !strings.Contains(string(m.Data), row.says) {
			t.Errorf("%s: got %s %s, want %s", name, code, m.Data, row.code)
		}
	}
	if m, code := ask(player.Token, uuid.NewString(), open, "authorization", "Bearer "+gm); code != "400" || !strings.Contains(string(m.Data), "header.Authorization") {
		t.Errorf("two tokens: got %s %s", code, m.Data)
	}
	ledger, err := p.text(context.Background(), fmt.Sprintf("/v1/campaigns/%s/ledger", campaign))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(ledger)), "\n")
	for _, line := range lines[4:] { // what happened since it listens: two commands
		m, err := feed.NextMsg(10 * time.Second)
		if err != nil || string(m.Data) != line {
			t.Fatalf("heard %v, %v, want %s", m, err, line)
		}
		var rec struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal(m.Data, &rec); err != nil || m.Subject != "feed."+campaign+"."+rec.Type {
			t.Errorf("%v: %s came at %s", err, rec.Type, m.Subject)
		}
	}
	if n, _, _ := feed.Pending(); n != 0 {
		t.Errorf("%d more were heard", n)
	}
}

func admin(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "admin.token"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// Two nodes on one store elsewhere: a webhook is told each record once and in
// order whichever node it came by, a listener hears each event once, either node
// takes commands, and when one is killed the other goes on telling.
func TestOutwardOfTwoNodes(t *testing.T) {
	t.Parallel() // it waits most of the time
	if testing.Short() {
		t.Skip("waits until a lease has run out")
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "server.conf")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	if err := os.WriteFile(config, fmt.Appendf(nil, "listen: %q\njetstream { store_dir: %q, sync_interval: always }\n", address, filepath.Join(dir, "store")), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &stores{t: t, configs: []string{config}}
	s.start(0)
	home, other := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	flags := []string{"--nats", "nats://" + address, "--nats-commands", "--webhook-allow", "127.0.0.1"}
	a := serveSoon(t, home, flags...)
	shareKeys(t, home, other)
	b := serveSoon(t, other, flags...)
	campaign := a.newCampaign("rpgamix")
	b.token = a.token

	told := make(chan string, 1_000)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var m struct {
			Data jsontext.Value `json:"data"`
		}
		_ = json.UnmarshalRead(r.Body, &m)
		told <- string(m.Data)
	}))
	defer receiver.Close()
	conn, err := nats.Connect("nats://" + address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	feed, err := conn.SubscribeSync("feed." + campaign + ".>")
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	var hook api.NewWebhook
	if err := b.call(context.Background(), http.MethodPost, webhooksPath(campaign), map[string]any{"url": receiver.URL}, nil, &hook); err != nil {
		t.Fatal(err)
	}
	next := func(want, again string) {
		t.Helper()
		select {
		case got := <-told:
			for got == again {
				got = <-told
			}
			if got != want {
				t.Fatalf("told %s, want %s", got, want)
			}
		case <-time.After(60 * time.Second):
			t.Fatalf("never told: %s\n%s\n%s", want, a.stderr, b.stderr)
		}
	}
	var last string
	for i := range 12 {
		var record string
		switch i % 3 {
		case 0, 1:
			got, err := []*process{a, b}[i%3].command(context.Background(), campaign, "note.add", map[string]any{"text": fmt.Sprint(i)})
			if err != nil {
				t.Fatal(err)
			}
			record = string(got.Records[0])
		case 2:
			m := nats.NewMsg("tallystick.command." + campaign)
			m.Header.Set("authorization", "Bearer "+a.token)
			m.Header.Set("idempotency-key", uuid.NewString())
			m.Data = fmt.Appendf(nil, `{"type":"note.add","data":{"text":"%d"}}`, i)
			reply, err := conn.RequestMsg(m, 20*time.Second)
			if err != nil {
				t.Fatal(err)
			}
			var got answer
			if err := json.Unmarshal(reply.Data, &got); err != nil || len(got.Records) != 1 {
				t.Fatalf("%v: %s", err, reply.Data)
			}
			record = string(got.Records[0])
		}
		m, err := feed.NextMsg(10 * time.Second)
		if err != nil || string(m.Data) != record {
			t.Fatalf("heard %v, %v, want %s", m, err, record)
		}
		next(record, "")
		last = record
	}
	if n, _, _ := feed.Pending(); n != 0 || len(told) != 0 {
		t.Errorf("%d more were heard, %d more told", n, len(told))
	}
	a.kill()
	got, err := b.command(context.Background(), campaign, "note.add", map[string]any{"text": "alone"})
	if err != nil {
		t.Fatal(err)
	}
	next(string(got.Records[0]), last) // what it was told may not have been noted any more
}
