package webhooks

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"code.dny.dev/ssrf"

	"purser/wallet"
)

// Resolver finds the addresses of a name. *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// DialFunc opens a connection to an address and port, never to a name.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// Timeouts of a connection. A transport goes on dialing for a request that has ended, so each step has one of its
// own.
const (
	connectTimeout   = 5 * time.Second // for one address; the system repeats SYN after 1 and 3 s
	dialTimeout      = 15 * time.Second
	handshakeTimeout = 10 * time.Second
	mostAddresses    = 4 // tried, of the addresses of one name
)

// Why no connection was made. They contain no address and no detail: a developer must not learn about the operator's
// network, nor which names exist in it. So a name that leads to a private address is reported like one that leads
// nowhere (reachable).
var (
	errForbidden = wallet.Refuse(wallet.InvalidWebhookURL, "attempt.private")
	errPlainHTTP = wallet.Refuse(wallet.InvalidWebhookURL, "attempt.plain_http")
	errNoAddress = wallet.Refuse(wallet.InvalidWebhookURL, "attempt.no_address")
	errLookup    = wallet.Refuse(wallet.InvalidWebhookURL, "attempt.lookup")
	errTLS       = errors.New("TLS failed")
)

// dialer connects to receivers. It resolves a name, judges the addresses, and dials those same addresses. A name that
// leads elsewhere a moment later (DNS rebinding) therefore gains nothing. Any goroutine may use it.
type dialer struct {
	public  *ssrf.Guardian // refuses addresses that are not public, except those in opened
	opened  []netip.Prefix // Options.AllowPrivate
	resolve Resolver
	dial    DialFunc
	tls     *tls.Config
}

// newDialer returns a dialer with the parts of Options, or those of the system.
func newDialer(o Options) *dialer {
	var four, six []netip.Prefix
	for _, prefix := range o.AllowPrivate {
		if prefix.Addr().Is4() {
			four = append(four, prefix)
		} else {
			six = append(six, prefix)
		}
	}
	d := &dialer{
		public: ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(four...), ssrf.WithAllowedV6Prefixes(six...)),
		opened: o.AllowPrivate, resolve: o.Resolver, dial: o.Dial,
		// HTTP/1.1 alone: a window of HTTP/2 lets a receiver put megabytes into memory unasked.
		tls: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.Roots, NextProtos: []string{"http/1.1"}},
	}
	if d.resolve == nil {
		d.resolve = net.DefaultResolver
	}
	if d.dial == nil {
		// Control judges once more, at the system call: whatever lies between cannot change the address.
		d.dial = (&net.Dialer{Control: d.public.Safe}).DialContext
	}
	return d
}

// judgeOf returns the check of an address for a scheme. https may go to public addresses and to those that the
// operator opened, http only to the latter.
func (d *dialer) judgeOf(scheme string) func(netip.Addr) error {
	return func(a netip.Addr) error {
		if d.public.SafeAddr(a) != nil {
			return errForbidden
		}
		if scheme != "https" && !slices.ContainsFunc(d.opened, func(p netip.Prefix) bool { return p.Contains(a) }) {
			return errPlainHTTP
		}
		return nil
	}
}

// plain connects for http.
func (d *dialer) plain(ctx context.Context, _, address string) (net.Conn, error) {
	return d.connect(ctx, address, d.judgeOf("http"))
}

// secure connects for https, with a TLS handshake. The certificate must be for the host of the address, although an
// IP address was dialed.
func (d *dialer) secure(ctx context.Context, _, address string) (net.Conn, error) {
	conn, err := d.connect(ctx, address, d.judgeOf("https"))
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	config := d.tls.Clone()
	config.ServerName = strings.TrimSuffix(host, ".")
	secured := tls.Client(conn, config)
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(errTLS, err, conn.Close())
	}
	return secured, nil
}

// connect dials the addresses of a host in turn until one answers. Its error is that of the last one.
func (d *dialer) connect(ctx context.Context, address string, judge func(netip.Addr) error) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	good, err := d.reachable(ctx, host, judge)
	if err != nil {
		return nil, err
	}
	for _, a := range good {
		var conn net.Conn
		if conn, err = d.try(ctx, net.JoinHostPort(a.String(), port)); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// reachable looks a host up and returns the addresses that may be dialed, at most mostAddresses. The error is one of
// those above.
func (d *dialer) reachable(ctx context.Context, host string, judge func(netip.Addr) error) ([]netip.Addr, error) {
	found, err := d.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	// A name may have good and bad addresses: the good ones are used. In some networks DNS adds a private IPv6 form
	// to each IPv4 address.
	var good []netip.Addr
	var refused error = errNoAddress
	for _, a := range found {
		if err := judge(a); err != nil {
			refused = err
		} else if len(good) < mostAddresses {
			good = append(good, a)
		}
	}
	// A private address that was written as one is refused as private. A name that leads to one gets the error of a name
	// that leads nowhere.
	if _, literal := netip.ParseAddr(host); literal != nil && errors.Is(refused, errForbidden) {
		refused = errNoAddress
	}
	if len(good) == 0 {
		return nil, refused
	}
	return good, nil
}

// try dials one address within connectTimeout.
func (d *dialer) try(ctx context.Context, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	return d.dial(ctx, "tcp", address)
}

// lookup finds the addresses of a host, in the form in which they are judged and dialed. A host may be an IP address.
func (d *dialer) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		if a.Is4In6() || a.Zone() != "" { // no receiver has such an address
			return nil, errForbidden
		}
		return []netip.Addr{a}, nil
	}
	found, err := d.resolve.LookupNetIP(ctx, "ip", host)
	var dns *net.DNSError
	switch {
	case err == nil:
	case errors.As(err, &dns) && dns.IsNotFound:
		return nil, errNoAddress
	default:
		return nil, errLookup
	}
	for i, a := range found {
		found[i] = a.Unmap() // resolvers of Go give IPv4 addresses in IPv6 form
	}
	return found, nil
}
