// Package egress connects to addresses that somebody else chose, such as those of webhooks and of news feeds, and never into a
// private network. It knows which addresses are public, and which ones the operator allows besides. It does not know what
// is sent, or what an error means to the person who chose the address.
//
// A Dialer makes the connections. Its methods fit http.Transport:
//
//	dialer := egress.New(egress.Options{})
//	transport := &http.Transport{DialContext: dialer.Plain, DialTLSContext: dialer.Secure}
//
// The transport must have no proxy: a proxy resolves names itself.
package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"code.dny.dev/ssrf"
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
	maxAddresses     = 4 // tried, of the addresses of one name
)

// Why no connection was made. These errors contain no address and no detail, so they may be shown to the person who chose the
// address: nobody must learn about the operator's network, nor which names exist in it. So a name that leads to a private
// address is reported like one that leads nowhere (ErrNoAddress). Other errors are those of the network, and must not be shown.
var (
	// ErrPrivate says that an IP address is not public, and that the operator does not allow it.
	ErrPrivate = errors.New("the address is not public")
	// ErrPlainHTTP says that http leads to an address that only https may reach.
	ErrPlainHTTP = errors.New("only https may go to a public address")
	// ErrNoAddress says that a name has no address that may be reached.
	ErrNoAddress = errors.New("the name has no public address")
	// ErrLookup says that a name could not be looked up at the moment.
	ErrLookup = errors.New("the name could not be looked up")
	// ErrTLS is joined with the error of a TLS handshake.
	ErrTLS = errors.New("TLS failed")
)

// Options say what a Dialer may connect to. The zero value allows the public internet alone.
type Options struct {
	AllowPrivate []netip.Prefix // private addresses that may be reached all the same, with TLS or without

	Resolver Resolver       // nil: net.DefaultResolver
	Dial     DialFunc       // nil: the network, with a second check of each address
	Roots    *x509.CertPool // nil: the system's certificate authorities
}

// Dialer connects to hosts that others chose. It resolves a name, judges the addresses, and dials those same addresses. A name
// that leads elsewhere a moment later (DNS rebinding) therefore gains nothing. Any goroutine may use it.
type Dialer struct {
	public  *ssrf.Guardian // refuses addresses that are not public, except those in opened
	opened  []netip.Prefix // Options.AllowPrivate
	resolve Resolver
	dial    DialFunc
	tls     *tls.Config
}

// New returns a Dialer with the parts of Options, or those of the system.
func New(o Options) *Dialer {
	var four, six []netip.Prefix
	for _, prefix := range o.AllowPrivate {
		if prefix.Addr().Is4() {
			four = append(four, prefix)
		} else {
			six = append(six, prefix)
		}
	}
	d := &Dialer{
		public: ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(four...), ssrf.WithAllowedV6Prefixes(six...)),
		opened: o.AllowPrivate, resolve: o.Resolver, dial: o.Dial,
		// HTTP/1.1 alone: a window of HTTP/2 lets a server put megabytes into memory unasked.
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
func (d *Dialer) judgeOf(scheme string) func(netip.Addr) error {
	return func(a netip.Addr) error {
		if d.public.SafeAddr(a) != nil {
			return ErrPrivate
		}
		if scheme != "https" && !slices.ContainsFunc(d.opened, func(p netip.Prefix) bool { return p.Contains(a) }) {
			return ErrPlainHTTP
		}
		return nil
	}
}

// Plain connects for http: only to addresses of Options.AllowPrivate.
func (d *Dialer) Plain(ctx context.Context, _, address string) (net.Conn, error) {
	return d.connect(ctx, address, d.judgeOf("http"))
}

// Secure connects for https, with a TLS handshake. The certificate must be for the host of the address, although an
// IP address was dialed.
func (d *Dialer) Secure(ctx context.Context, _, address string) (net.Conn, error) {
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
		return nil, errors.Join(ErrTLS, err, conn.Close())
	}
	return secured, nil
}

// Check reports whether an address of a scheme and host would be dialed, and connects to nothing. The error is ErrPrivate, ErrPlainHTTP,
// ErrNoAddress or ErrLookup.
func (d *Dialer) Check(ctx context.Context, scheme, host string) error {
	_, err := d.reachable(ctx, host, d.judgeOf(scheme))
	return err
}

// connect dials the addresses of a host in turn until one answers. Its error is that of the last one.
func (d *Dialer) connect(ctx context.Context, address string, judge func(netip.Addr) error) (net.Conn, error) {
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

// reachable looks a host up and returns the addresses that may be dialed, at most maxAddresses. The error is one of
// those above.
func (d *Dialer) reachable(ctx context.Context, host string, judge func(netip.Addr) error) ([]netip.Addr, error) {
	found, err := d.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	// A name may have good and bad addresses: the good ones are used. In some networks DNS adds a private IPv6 form
	// to each IPv4 address.
	var good []netip.Addr
	var refused error = ErrNoAddress
	for _, a := range found {
		if err := judge(a); err != nil {
			refused = err
		} else if len(good) < maxAddresses {
			good = append(good, a)
		}
	}
	// A private address that was written as one is refused as private. A name that leads to one gets the error of a name
	// that leads nowhere.
	if _, literal := netip.ParseAddr(host); literal != nil && errors.Is(refused, ErrPrivate) {
		refused = ErrNoAddress
	}
	if len(good) == 0 {
		return nil, refused
	}
	return good, nil
}

// try dials one address within connectTimeout.
func (d *Dialer) try(ctx context.Context, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	return d.dial(ctx, "tcp", address)
}

// lookup finds the addresses of a host, in the form in which they are judged and dialed. A host may be an IP address.
func (d *Dialer) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		if a.Is4In6() || a.Zone() != "" { // no public host has such an address
			return nil, ErrPrivate
		}
		return []netip.Addr{a}, nil
	}
	found, err := d.resolve.LookupNetIP(ctx, "ip", host)
	var dns *net.DNSError
	switch {
	case err == nil:
	case errors.As(err, &dns) && dns.IsNotFound:
		return nil, ErrNoAddress
	default:
		return nil, ErrLookup
	}
	for i, a := range found {
		found[i] = a.Unmap() // resolvers of Go give IPv4 addresses in IPv6 form
	}
	return found, nil
}
