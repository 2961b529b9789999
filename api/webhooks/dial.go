package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"syscall"
	"time"
)

const (
	// Timeout is how long a receiver may take for one record, the connection
	// included.
	Timeout = 10 * time.Second
	// maxHeader and maxAnswer are how much of an answer is read, in bytes.
	maxHeader = 16 << 10
	maxAnswer = 4 << 10
)

// global6 is where public addresses of IPv6 are. Those translated from IPv4 are
// outside.
var global6 = netip.MustParsePrefix("2000::/3")

// reserved are the ranges that are not private, and yet lead to no public host:
// shared, for documentation and tests, tunnelled to IPv4.
var reserved = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
)

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		all[i] = netip.MustParsePrefix(text)
	}
	return all
}

func within(all []netip.Prefix, ip netip.Addr) bool {
	return slices.ContainsFunc(all, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// isPublic reports whether an address is one of a host on the public internet.
func isPublic(ip netip.Addr) bool {
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && !within(reserved, ip) && (ip.Is4() || global6.Contains(ip))
}

// errAddress says that an address is not told. It names none, so that nobody
// learns what a name leads to inside the operator's network.
var errAddress = errors.New("the address is not a public one, and the operator does not allow it")

var errPlain = errors.New("without TLS only addresses are told that the operator allows: use https")

// admit decides about the very address that is going to be dialled, so that no
// name leads elsewhere afterwards. Without TLS only allowed ones are.
func admit(encrypted bool, allow []netip.Prefix, ip netip.Addr) error {
	ip = ip.Unmap().WithZone("")
	switch {
	case within(allow, ip):
		return nil
	case !encrypted:
		return errPlain
	case !isPublic(ip):
		return errAddress
	}
	return nil
}

// CheckURL says what is wrong with the address of a receiver, as far as it
// shows without looking anything up.
func CheckURL(raw string, allow []netip.Prefix) error {
	if len(raw) > MaxURL {
		return fmt.Errorf("has %d bytes, at most %d are taken", len(raw), MaxURL)
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return errors.New("is no URL")
	case u.Scheme != "https" && u.Scheme != "http":
		return errors.New("must begin with https://")
	case u.Scheme == "http" && len(allow) == 0:
		return errors.New("must begin with https://: the operator allows no receiver without TLS")
	case u.Hostname() == "":
		return errors.New("names no host")
	case u.User != nil:
		return errors.New("must not hold a name or a password")
	case u.Fragment != "":
		return errors.New("must have nothing behind a #")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return errors.New("has no port of that number")
		}
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil {
		return admit(u.Scheme == "https", allow, ip)
	}
	return nil
}

// newClient speaks to receivers: to no address that is not admitted, by no
// proxy, following no redirect, within limits of time and size.
func newClient(allow []netip.Prefix, timeout time.Duration) *http.Client {
	return &http.Client{
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: schemes{
			"http":  newTransport(false, allow),
			"https": newTransport(true, allow),
		},
	}
}

// schemes has a transport for each scheme.
type schemes map[string]http.RoundTripper

// RoundTrip implements http.RoundTripper.
func (s schemes) RoundTrip(r *http.Request) (*http.Response, error) {
	t, ok := s[r.URL.Scheme]
	if !ok {
		return nil, fmt.Errorf("no receiver is told by %s", r.URL.Scheme)
	}
	return t.RoundTrip(r)
}

func newTransport(encrypted bool, allow []netip.Prefix) *http.Transport {
	dialer := &net.Dialer{ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return errAddress
		}
		return admit(encrypted, allow, to.Addr())
	}}
	return &http.Transport{
		Proxy: nil, DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
		MaxResponseHeaderBytes: maxHeader, MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute, DisableCompression: true,
	}
}
