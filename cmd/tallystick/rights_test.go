package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"tallystick/events/journal"
)

// told runs the program to its end.
func told(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	cmd := program(args...)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return o.String(), e.String(), cmd.ProcessState.ExitCode()
}

// The host looks after tokens with the admin token: sees who has one, gives out
// another, ends one.
func TestTokenCommand(t *testing.T) {
	dir := t.TempDir()
	p := serve(t, dir)
	campaign := p.newCampaign("rpgamix")
	file := filepath.Join(dir, "admin.token")
	token := func(args ...string) (string, string, int) {
		return told(t, append([]string{"token", "--server", p.base, "--token-file", file}, args...)...)
	}
	out, errs, code := token("list", campaign)
	if code != 0 || !strings.Contains(out, "in force") || strings.Contains(out, "tally_") {
		t.Errorf("list: %d\n%s%s", code, out, errs)
	}
	gm := strings.Fields(out)[0]
	before := p.token
	out, errs, code = token("rotate", campaign, gm)
	fresh := strings.TrimSpace(out)
	if code != 0 || !strings.HasPrefix(fresh, "tally_") || fresh == before {
		t.Errorf("rotate: %d\n%s%s", code, out, errs)
	}
	asks := func(token string) error {
		c := &client{base: p.base, token: token}
		return c.get(context.Background(), "/v1/campaigns/"+campaign, new(map[string]any))
	}
	if asks(before) == nil || asks(fresh) != nil {
		t.Errorf("the token of before: %v, the new one: %v", asks(before), asks(fresh))
	}
	if _, errs, code = token("revoke", campaign, gm); code != 0 || asks(fresh) == nil {
		t.Errorf("revoke: %d %s, %v", code, errs, asks(fresh))
	}
	if _, errs, code = token("rotate", campaign, "nobody"); code == 0 || !strings.Contains(errs, "nobody here") {
		t.Errorf("rotate for a stranger: %d %s", code, errs)
	}
}

// With a certificate the server speaks TLS and nothing else, and a browser's
// sign-in is never sent in the clear; half a certificate is refused.
func TestHTTPS(t *testing.T) {
	dir := t.TempDir()
	cert, key, roots := certificateFiles(t, dir)
	cmd := program("serve", "--data", filepath.Join(dir, "data"), "--listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	base := strings.TrimSpace(strings.TrimPrefix(line, "tallystick serves "))
	if !strings.HasPrefix(base, "https://") {
		t.Fatalf("it serves %s", base)
	}
	secure := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	admin, err := os.ReadFile(filepath.Join(dir, "data", "admin.token"))
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest("POST", base+"/v1/sign-in", strings.NewReader(fmt.Sprintf(`{"token":%q}`, strings.TrimSpace(string(admin)))))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	res, err := secure.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if cookie := res.Header.Get("Set-Cookie"); res.StatusCode != 200 || !strings.Contains(cookie, "Secure") {
		t.Errorf("got %d %s", res.StatusCode, cookie)
	}
	if res, err := http.Get("http" + strings.TrimPrefix(base, "https") + "/healthz"); err == nil {
		res.Body.Close()
		if res.StatusCode == 200 {
			t.Error("it answers in the clear")
		}
	}

	// Renewed while the server runs; files that are of no use change nothing.
	_, _, renewed := certificateFiles(t, dir)
	answers := func(roots *x509.CertPool) bool {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(base, "https://"), &tls.Config{RootCAs: roots})
		if err == nil {
			conn.Close()
		}
		return err == nil
	}
	if !answers(renewed) || answers(roots) {
		t.Error("it does not show the new certificate")
	}
	if err := os.WriteFile(key, []byte("spoiled"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !answers(renewed) {
		t.Error("a spoiled key took the certificate away")
	}
	if _, errs, code := told(t, "serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--tls-cert", cert); code != exitUnusable || !strings.Contains(errs, "belong together") {
		t.Errorf("half a certificate: %d %s", code, errs)
	}
}

func certificateFiles(t *testing.T, dir string) (cert, key string, roots *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	roots = x509.NewCertPool()
	pair := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	roots.AppendCertsFromPEM(pair)
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, text := range map[string][]byte{cert: pair, key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key, roots
}

// A bot is given a key for some feeds while the server runs, which lets it in by
// itself; once it is removed it is cut off, and not let in again. A list that
// somebody spoiled changes nothing, and the server says so.
func TestBotCommand(t *testing.T) {
	dir, address := t.TempDir(), freeAddress(t)
	p := serve(t, dir, "--nats-listen", address)
	campaign := p.newCampaign("rpgamix")
	bot := func(args ...string) (string, string, int) {
		return told(t, append([]string{"bot", "--data", dir}, args...)...)
	}
	out, errs, code := bot("add", "crier", "--campaign", campaign)
	if code != 0 {
		t.Fatalf("add: %d %s", code, errs)
	}
	pair, err := nkeys.FromSeed([]byte(strings.TrimSpace(out)))
	if err != nil {
		t.Fatal(err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, botsFile)); err != nil || bytes.Contains(text, []byte(strings.TrimSpace(out))) {
		t.Errorf("the file holds the secret, or %v", err)
	}
	for name, args := range map[string][]string{
		"a second one of the name": {"add", "crier", "--campaign", campaign}, "one without a campaign": {"add", "deaf"}, "one for all campaigns": {"add", "spy", "--campaign", "*"},
	} {
		if _, _, code := bot(args...); code != exitUnusable {
			t.Errorf("%s: %d", name, code)
		}
	}
	if out, _, code := bot("list"); code != 0 || !strings.Contains(out, "crier") || !strings.Contains(out, public) || strings.Contains(out, "spy") {
		t.Errorf("list: %d %s", code, out)
	}
	gone := make(chan struct{})
	comesIn := func() (*nats.Conn, error) {
		return nats.Connect(address, nats.Nkey(public, pair.Sign), nats.NoReconnect(), nats.ClosedHandler(func(*nats.Conn) { close(gone) }))
	}
	conn, err := comesIn()
	for ; errors.Is(err, nats.ErrAuthorization); conn, err = comesIn() { // until the server has read the list
		time.Sleep(botsEvery / 5)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	heard, err := conn.SubscribeSync("feed." + campaign + ".note.added")
	if err != nil || conn.Flush() != nil {
		t.Fatal(err)
	}
	if _, err := p.command(t.Context(), campaign, "note.add", map[string]any{"text": "hear, hear"}); err != nil {
		t.Fatal(err)
	}
	if m, err := heard.NextMsg(10 * time.Second); err != nil || !strings.Contains(string(m.Data), "hear, hear") {
		t.Errorf("it heard %v, %v", m, err)
	}

	good, err := os.ReadFile(filepath.Join(dir, botsFile))
	if err != nil {
		t.Fatal(err)
	}
	write := func(text []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, botsFile), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	complains := func() bool {
		t.Helper()
		res, err := http.Get(p.base + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Contains(text, []byte("the list of bots"))
	}
	write([]byte("[{"))
	for !complains() {
		time.Sleep(botsEvery / 5)
	}
	if !conn.IsConnected() {
		t.Error("a list that cannot be read cut the bot off")
	}
	write(good)
	for complains() {
		time.Sleep(botsEvery / 5)
	}

	if _, errs, code := bot("remove", "crier"); code != 0 {
		t.Errorf("remove: %d %s", code, errs)
	}
	select {
	case <-gone:
	case <-time.After(10 * time.Second):
		t.Fatal("it is not cut off")
	}
	if _, err := comesIn(); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("it is let in after it was removed: %v", err)
	}
	if _, errs, code := told(t, "serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--nats-listen", freeAddress(t), "--nats", "nats://127.0.0.1:1"); code != exitUnusable || !strings.Contains(errs, "nats-listen") {
		t.Errorf("a port of a server that is not ours: %d %s", code, errs)
	}
	cfg := nodeConfig{Dir: t.TempDir(), NATSListen: "0.0.0.0:4222", Partitions: 1}
	if store, err := openJournal(t.Context(), cfg, nil); !errors.Is(err, journal.ErrInvalid) {
		store.Close()
		t.Errorf("a port for everybody without a certificate: %v", err)
	}
}

// An address has so many connections open and no more; one that is closed makes
// room for another.
func TestMaxConnections(t *testing.T) {
	p := serve(t, t.TempDir(), "--max-connections", "3")
	address := strings.TrimPrefix(p.base, "http://")
	open := func() net.Conn {
		t.Helper()
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	answers := func(conn net.Conn) bool {
		fmt.Fprintf(conn, "GET /healthz HTTP/1.1\r\nHost: %s\r\n\r\n", address)
		line, err := bufio.NewReader(conn).ReadString('\n')
		return err == nil && strings.Contains(line, "200")
	}
	held := []net.Conn{open(), open(), open()}
	for _, conn := range held {
		if !answers(conn) {
			t.Error("one within the bound is closed")
		}
	}
	for range 5 {
		if answers(open()) {
			t.Error("one beyond the bound is answered")
		}
	}
	if !answers(held[0]) {
		t.Error("who was there is closed")
	}
	held[1].Close()
	for !answers(open()) { // until the server has noticed
		time.Sleep(10 * time.Millisecond)
	}
}

// A node and the NATS servers behind it speak TLS, with a key for the node, and
// the node does not talk to one for which nobody it trusts vouches.
func TestNATSOverTLS(t *testing.T) {
	dir, address := t.TempDir(), freeAddress(t)
	cert, key, _ := certificateFiles(t, dir)
	seed, public, err := journal.NewBotKey()
	if err != nil {
		t.Fatal(err)
	}
	nkey, config := filepath.Join(dir, "node.nk"), filepath.Join(dir, "server.conf")
	text := fmt.Sprintf("listen: %q\njetstream { store_dir: %q, sync_interval: always }\ntls { cert_file: %q, key_file: %q }\nauthorization { users: [{ nkey: %s }] }\n",
		address, filepath.Join(dir, "store"), cert, key, public)
	for path, text := range map[string][]byte{nkey: seed, config: []byte(text)} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := &stores{t: t, configs: []string{config}}
	s.start(0)
	for conn, err := net.Dial("tcp", address); ; conn, err = net.Dial("tcp", address) { // until it listens
		if err == nil {
			conn.Close()
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	flags := []string{"--nats", "tls://" + address, "--nats-nkey", nkey}
	if _, err := tryServe(t, filepath.Join(dir, "stranger"), flags...); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a server for which nobody vouches: %v", err)
	}
	if _, err := tryServe(t, filepath.Join(dir, "keyless"), "--nats", "tls://"+address, "--nats-ca", cert); err == nil || !strings.Contains(err.Error(), "uthoriz") {
		t.Errorf("without a key: %v", err)
	}
	p := serveSoon(t, filepath.Join(dir, "data"), append(flags, "--nats-ca", cert)...)
	campaign := p.newCampaign("rpgamix")
	if _, err := p.command(t.Context(), campaign, "note.add", map[string]any{"text": "across the wire"}); err != nil {
		t.Error(err)
	}
}

// freeAddress is one of this machine at which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// S13: what people wrote, or a forged export says, never steers a terminal: no
// escape and no other control character reaches it, in output or errors.
func TestNothingSteersTheTerminal(t *testing.T) {
	dir := t.TempDir()
	evil := `\u001b[2J\u001b]0;owned\u0007\u009b31m\u202e`
	record := func(n int, cmd, typ, data string) string {
		return fmt.Sprintf(`{"v":1,"campaign":"0192f1c0-7d6a-7c3e-9b1a-3f2f4a5b6c7d","n":%d,"id":"%s","at":"2026-11-30T19:00:00.000Z","by":"gm%s","clock":0,"cmd":%s,"type":"%s","data":%s}`,
			n, evil, evil, cmd, typ, data)
	}
	lines := []string{
		record(0, `{"id":"`+evil+`","type":"campaign.create`+evil+`","data":{}}`, "campaign.created", `{"name":"`+evil+`","system":"rpgamix","edition":1,"options":{},"gm":"gm`+evil+`","vkey":"`+evil+`"}`),
		record(1, `{"id":"x`+evil+`","type":"note.add","data":{}}`, "note.added", `{"text":"`+evil+`"}`),
		record(2, `{"id":"y","type":"session.open","data":{}}`, "session.opened", `{"session":"s","title":"`+evil+`","kind":"table"}`),
		record(3, `{"id":"z","type":"roll","data":{}}`, `roll.made`, `{"session":"s","source":"`+evil+`","expression":"`+evil+`","purpose":"`+evil+`","draws":[],"modifiers":[{"label":"`+evil+`","value":1,"rule":"`+evil+`"}],"total":1,"outcome":"`+evil+`"}`),
	}
	path := filepath.Join(dir, "events.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"replay", path}, {"verify", path}, {"audit", path, "3"}, {"transcript", path, "s"}, {"what-if", path, "3"},
		{"replay", dir}, {"verify", dir}, {"export", "--format", "csv", dir}, {"verify", "\x1b[2J"},
	} {
		out, errs, _ := told(t, args...)
		if len(out)+len(errs) == 0 {
			t.Errorf("%v says nothing", args)
		}
		for _, bad := range []string{"\x1b", "\u009b", "\a", "\u202e"} {
			if strings.Contains(out+errs, bad) {
				t.Errorf("%v lets %q through:\n%q\n%q", args, bad, out, errs)
			}
		}
	}
}
