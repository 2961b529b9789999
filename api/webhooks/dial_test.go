package webhooks

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// inside are ways to write addresses that lead inside, or to this machine.
var inside = []string{
	"127.0.0.1", "127.1", "127.0.1", "127.255.255.254", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "127.0.0.1.",
	"localhost", "LOCALHOST", "localhost.", "localhost.localdomain", "ip6-localhost", "0", "0.0.0.0", "0x0", "00000000000",
	"[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[::ffff:0:127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b::127.0.0.1]",
	"[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", "[2002:a00:1::1]", "[2001::1]", "[::1%25lo]", "[fe80::1]", "[fe80::1%25eth0]", "[fc00::1]", "[fd12:3456:789a::1]", "[fec0::1]", "[ff02::1]",
	"10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "169.254.169.254", "169.254.0.1", "[::ffff:169.254.169.254]", "[fd00:ec2::254]",
	"100.64.0.1", "100.127.255.254", "192.0.0.8", "192.0.2.1", "198.18.0.1", "198.51.100.7", "203.0.113.9", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
	"[2001:db8::1]", "[3fff::1]", "[100::1]", "[5f00::1]",
}

// S15: nothing leads inside, however it is written, with TLS and without, in
// upper case, through a proxy of the environment or a redirect.
func TestNothingLeadsInside(t *testing.T) {
	var reached atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HTTP_PROXY", server.URL)
	t.Setenv("HTTPS_PROXY", server.URL)
	if len(inside) < 50 {
		t.Fatalf("%d ways are too few", len(inside))
	}
	client := newClient(nil, 0)
	var all sync.WaitGroup // names are looked up at once
	for _, host := range inside {
		for _, scheme := range []string{"http://", "https://", "HTTPS://"} {
			all.Go(func() { refuses(t, client, scheme+host+":"+port+"/") })
		}
	}
	all.Wait()
	if reached.Load() != 0 {
		t.Errorf("%d requests came in", reached.Load())
	}
	// The same client reaches what is allowed: so it is the addresses that were refused.
	allowed := newClient([]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Timeout)
	res, err := allowed.Post(server.URL, "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if reached.Load() != 1 {
		t.Error("what is allowed was not reached")
	}
}

// refuses fails the test unless an address is refused, or is none.
func refuses(t *testing.T, client *http.Client, url string) {
	res, err := client.Post(url, "application/json", strings.NewReader("{}"))
	if err == nil {
		res.Body.Close()
		t.Errorf("%s was reached", url)
		return
	}
	var lookup *net.DNSError
	if !errors.Is(err, errAddress) && !errors.Is(err, errPlain) && !errors.As(err, &lookup) && !strings.Contains(err.Error(), "invalid") {
		t.Errorf("%s: %v: it was not refused, it only failed", url, err)
	}
}

func TestIsPublic(t *testing.T) {
	for text, want := range map[string]bool{
		"1.1.1.1": true, "93.184.216.34": true, "2606:4700::1111": true, "2a00:1450::1": true, "172.32.0.1": true, "100.128.0.1": true, "192.0.1.1": true,
		"127.0.0.1": false, "::1": false, "169.254.169.254": false, "2002:101:101::1": false, "255.255.255.255": false,
	} {
		if got := isPublic(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

func TestCheckURL(t *testing.T) {
	home := []netip.Prefix{netip.MustParsePrefix("192.168.1.0/24")}
	for _, row := range []struct {
		url   string
		allow []netip.Prefix
		want  string // part of the complaint; empty: none
	}{
		{"https://example.com/hook?x=1", nil, ""},
		{"https://example.com:8443/", nil, ""},
		{"http://example.com/", nil, "https://"},
		{"http://192.168.1.7/", home, ""},
		{"http://192.168.2.7/", home, "allows"},
		{"http://1.1.1.1/", home, "allows"},
		{"https://192.168.2.7/", home, "not a public one"},
		{"https://1.1.1.1/", home, ""},
		{"https://[::ffff:10.0.0.1]/", nil, "not a public one"},
		{"ftp://example.com/", nil, "https://"},
		{"file:///etc/passwd", nil, "https://"},
		{"gopher://127.0.0.1/", home, "https://"},
		{"https://", nil, "names no host"},
		{"https:///x", nil, "names no host"},
		{"//example.com", nil, "https://"},
		{"https://a:b@example.com/", nil, "name or a password"},
		{"https://example.com/#x", nil, "behind a #"},
		{"https://example.com:0/", nil, "port"},
		{"https://example.com:99999/", nil, "port"},
		{"https://exa mple.com/", nil, "no URL"},
		{"https://example.com/\n", nil, "no URL"},
		{"https://example.com/" + strings.Repeat("x", MaxURL), nil, "bytes"},
	} {
		err := CheckURL(row.url, row.allow)
		if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
			t.Errorf("%.60s: got %v, want %q", row.url, err, row.want)
		}
	}
}
