package webhooks

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"purser/wallet"
)

func quietLog() *log.Logger { return log.New(io.Discard, "", 0) }

// names is DNS: the addresses of each name. What is not in it does not exist, save for what a machine's
// getaddrinfo makes of odd numbers.
type names map[string][]string

func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if host == "broken.example.net" {
		return nil, &net.DNSError{Err: "server misbehaving", Name: host, Server: "10.0.0.53:53", IsTemporary: true}
	}
	found, ok := n[strings.ToLower(strings.TrimSuffix(host, "."))]
	if !ok && host != "empty.example.net" {
		return nil, &net.DNSError{Err: "no such host", Name: host, Server: "10.0.0.53:53", IsNotFound: true}
	}
	var list []netip.Addr
	for _, a := range found {
		address := netip.MustParseAddr(a)
		if address.Is4() {
			address = netip.AddrFrom16(address.As16()) // as *net.Resolver gives them
		}
		list = append(list, address)
	}
	return list, nil
}

// odd are the names of the table below, as the machine's resolver or a hostile DNS answers them.
var odd = names{
	"localhost": {"127.0.0.1", "::1"}, "localhost.localdomain": {"127.0.0.1"}, "metadata.google.internal": {"169.254.169.254"},
	"2130706433": {"127.0.0.1"}, "0x7f000001": {"127.0.0.1"}, "017700000001": {"127.0.0.1"}, "127.1": {"127.0.0.1"}, "127.0.1": {"127.0.0.1"},
	"0x7f.0.0.1": {"127.0.0.1"}, "0177.0.0.1": {"127.0.0.1"}, "0": {"0.0.0.0"}, "10.1": {"10.0.0.1"}, "0xa9fea9fe": {"169.254.169.254"},
	"127.0.0.1": {"127.0.0.1"}, "010.0.0.1": {"8.0.0.1"},
	"loop.example.com": {"127.0.0.1"}, "ten.example.com": {"10.0.0.7"}, "six.example.com": {"fd00::1"}, "link.example.com": {"fe80::1"},
	"mapped.example.com": {"::ffff:10.0.0.1"}, "nat64.example.com": {"64:ff9b::a00:1"}, "several.example.com": {"192.168.1.1", "10.0.0.1", "::1"},
	"xn--bcher-kva.example.com": {"172.16.0.1"}, "cgnat.example.com": {"100.64.1.1"}, "unspecified.example.com": {"::"},
	"127.0.0.1.nip.example.com": {"127.0.0.1"}, "public.example.com": {"8.8.8.8"}, "both.example.com": {"10.0.0.1", "8.8.4.4"},
}

func TestNothingIsSentToWhatIsNotTheInternets(t *testing.T) {
	targets := []string{
		// Literal addresses: this machine, private, link-local, shared, metadata.
		"https://127.0.0.1/", "https://127.255.255.254/", "https://0.0.0.0/", "https://0.1.2.3/", "https://10.0.0.1/", "https://172.16.0.1/",
		"https://172.31.255.255/", "https://192.168.0.1/", "https://169.254.169.254/latest/meta-data/", "https://169.254.0.1/", "https://100.64.0.1/",
		"https://100.127.255.255/", "https://100.100.100.200/", "https://192.0.0.192/", "https://192.0.0.8/",
		// Documentation, benchmarking, relays, multicast, reserved, broadcast.
		"https://192.0.2.1/", "https://198.51.100.1/", "https://203.0.113.1/", "https://198.18.0.1/", "https://198.19.255.255/", "https://192.88.99.1/",
		"https://192.31.196.1/", "https://192.52.193.1/", "https://192.175.48.1/", "https://224.0.0.1/", "https://239.255.255.250/", "https://240.0.0.1/", "https://255.255.255.255/",
		// IPv6: this machine, unspecified, local, site-local, multicast, and what stands for an IPv4 address.
		"https://[::1]/", "https://[::]/", "https://[0:0:0:0:0:0:0:1]/", "https://[fe80::1]/", "https://[fe80::1%25eth0]/", "https://[fc00::1]/", "https://[fd12:3456::1]/",
		"https://[fec0::1]/", "https://[ff02::1]/", "https://[::ffff:127.0.0.1]/", "https://[::ffff:7f00:1]/", "https://[::ffff:10.0.0.1]/", "https://[::ffff:8.8.8.8]/",
		"https://[::ffff:0:127.0.0.1]/", "https://[::127.0.0.1]/", "https://[::8.8.8.8]/", "https://[64:ff9b::7f00:1]/", "https://[64:ff9b::8.8.8.8]/",
		"https://[64:ff9b:1::a00:1]/", "https://[2002:7f00:1::]/", "https://[2002:808:808::1]/", "https://[2001::1]/", "https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/",
		"https://[2001:20::1]/", "https://[2001:db8::1]/", "https://[3fff::1]/", "https://[100::1]/", "https://[5f00::1]/", "https://[fd00:ec2::254]/", "https://[4000::1]/",
		"https://[::1%25lo]/", "https://[2620:4f:8000::1]/",
		// Numbers that a machine's resolver takes for addresses; forms that Unicode maps to them.
		"https://2130706433/", "https://0x7f000001/", "https://017700000001/", "https://127.1/", "https://127.0.1/", "https://0x7f.0.0.1/", "https://0177.0.0.1/",
		"https://0/", "https://10.1/", "https://0xA9FEA9FE/", "https://127.0.0.1./", "https://１２７.0.0.1/", "https://127。0。0。1/", "https://①②⑦.⓪.⓪.①/",
		// Names.
		"https://localhost/", "https://LOCALHOST/", "https://LocalHost./", "https://localhost.localdomain/", "https://metadata.google.internal/computeMetadata/v1/",
		"https://loop.example.com/", "https://ten.example.com:8443/", "https://six.example.com/", "https://link.example.com/", "https://mapped.example.com/",
		"https://nat64.example.com/", "https://several.example.com/", "https://bücher.example.com/", "https://cgnat.example.com/", "https://unspecified.example.com/",
		"https://127.0.0.1.nip.example.com/", "https://ｌｏｏｐ.example.com/",
		// Ports.
		"https://127.0.0.1:22/", "https://10.0.0.1:1/", "https://[::1]:65535/", "https://localhost:6379/",
		"https://8.8.8.8:0/", "https://8.8.8.8:65536/", "https://8.8.8.8:x/", "https://8.8.8.8:-1/", "https://8.8.8.8:99999999999/",
		// Other schemes; without TLS; and what is no address at all.
		"http://8.8.8.8/", "http://public.example.com/", "http://127.0.0.1/", "ftp://8.8.8.8/", "file:///etc/passwd", "gopher://8.8.8.8/", "unix:///var/run/docker.sock",
		"javascript:alert(1)", "//8.8.8.8/", "/hook", "", "https://", "https:///hook", "https:8.8.8.8", "https://8.8.8.8\n.evil/", "https://[::1", "https://%31%32%37.0.0.1/",
		"https://8.8.8.8\\@127.0.0.1/", "https://exa mple.com/", "https://\x00/",
		// Names and passwords in the address.
		"https://public.example.com@127.0.0.1/", "https://user:password@public.example.com/", "https://user@8.8.8.8/", "https://8.8.8.8:443@10.0.0.1/", "https://@public.example.com/",
	}
	if len(targets) < 100 {
		t.Errorf("%d targets only", len(targets))
	}
	for _, open := range []struct {
		name   string
		change func(*Options)
	}{
		{"nothing opened", func(o *Options) { o.AllowPrivate, o.AllowHTTP = nil, false }},
		{"http allowed, nothing opened", func(o *Options) { o.AllowPrivate = nil }},
		{"another network opened", func(o *Options) { o.AllowPrivate = []netip.Prefix{netip.MustParsePrefix("10.99.0.0/16")} }},
	} {
		var dialed atomic.Value
		p := poster(t, open.change, func(o *Options) {
			o.Resolver = odd
			o.Dial = func(_ context.Context, _, address string) (net.Conn, error) {
				dialed.Store(address)
				return nil, io.ErrUnexpectedEOF
			}
		})
		for _, target := range targets {
			if err := p.Check(t.Context(), target); err == nil {
				t.Errorf("%s: %q may be registered", open.name, target)
			}
			r := p.Post(t.Context(), messageTo(target))
			if got := dialed.Swap(""); got != nil && got != "" {
				t.Errorf("%s: %q led to a packet to %s", open.name, target, got)
			}
			unknown := r.Reason.Equal(errNoAddress.Reason) // so it is not sent either, but may be one day
			if r.Verdict() != Refused && !unknown || r.Status != 0 || r.Reason.IsZero() {
				t.Errorf("%s: %q: %s %+v", open.name, target, r.Verdict(), r)
			}
			for _, leak := range []string{"127.0.0.1", "10.0.0", "169.254", testSecret} {
				if strings.Contains(r.Reason.String(), leak) {
					t.Errorf("%q: %q tells %s", target, r.Reason, leak)
				}
			}
		}
		// The control: the same poster does dial what is the internet's.
		for target, want := range map[string]string{
			"https://8.8.8.8/": "8.8.8.8:443", "https://public.example.com:8443/x": "8.8.8.8:8443", "https://[2606:4700::1111]/": "[2606:4700::1111]:443",
			"https://PUBLIC.Example.COM./": "8.8.8.8:443", "https://both.example.com/": "8.8.4.4:443",
			"https://172.32.0.1/": "172.32.0.1:443", "https://[2001:4860:4860::8888]:1/": "[2001:4860:4860::8888]:1",
		} {
			if err := p.Check(t.Context(), target); err != nil || dialed.Swap("") != "" {
				t.Errorf("%s: %s may not be registered (%v), or was dialed for it", open.name, target, err)
			}
			if r := p.Post(t.Context(), messageTo(target)); r.Verdict() != Retry || dialed.Swap("") != want {
				t.Errorf("%s: %s is not dialed: %+v", open.name, target, r)
			}
		}
	}
}

func TestTheOperatorOpensExactlyWhatHeNames(t *testing.T) {
	var dialed string
	with := func(http bool) *Poster {
		return poster(t, func(o *Options) {
			o.AllowPrivate = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/29"), netip.MustParsePrefix("fd00::/64"), netip.MustParsePrefix("127.0.0.1/32")}
			o.AllowHTTP, o.Resolver = http, odd
			o.Dial = func(_ context.Context, _, address string) (net.Conn, error) {
				dialed = address
				return nil, io.ErrUnexpectedEOF
			}
		})
	}
	for _, c := range []struct {
		target, https, http string // dialed; "" for refused
	}{
		{"://10.0.0.7", "10.0.0.7:443", "10.0.0.7:80"},
		{"://ten.example.com:9000", "10.0.0.7:9000", "10.0.0.7:9000"},
		{"://10.0.0.8", "", ""},
		{"://10.1.0.1", "", ""},
		{"://six.example.com", "[fd00::1]:443", "[fd00::1]:80"},
		{"://[fd00:0:0:1::1]", "", ""},
		{"://127.0.0.1:8080", "127.0.0.1:8080", "127.0.0.1:8080"},
		{"://127.0.0.2", "", ""},
		{"://localhost", "127.0.0.1:443", "127.0.0.1:80"},
		{"://mapped.example.com", "10.0.0.1:443", "10.0.0.1:80"}, // a resolver's form of an address that is opened
		{"://[::ffff:10.0.0.1]", "", ""},
		{"://both.example.com", "10.0.0.1:443", "10.0.0.1:80"},
		{"://public.example.com", "8.8.8.8:443", ""},
		{"://8.8.8.8", "8.8.8.8:443", ""},
	} {
		for _, allowed := range []bool{false, true} {
			for scheme, want := range map[string]string{"https": c.https, "http": c.http} {
				if scheme == "http" && !allowed {
					want = ""
				}
				dialed = ""
				r := with(allowed).Post(t.Context(), messageTo(scheme+c.target))
				if err := with(allowed).Check(t.Context(), scheme+c.target); (err == nil) != (want != "") || err != nil && !wallet.ReasonOf(err).Equal(r.Reason) {
					t.Errorf("%s%s, http %v: at registration %v, at delivery %+v", scheme, c.target, allowed, err, r)
				}
				if wantVerdict := map[bool]Verdict{true: Refused, false: Retry}[want == ""]; dialed != want && !(c.target == "://both.example.com" && want != "") || r.Verdict() != wantVerdict {
					t.Errorf("%s%s, http %v: dialed %q, want %q: %+v", scheme, c.target, allowed, dialed, want, r)
				}
			}
		}
	}
}

// TestANameThatCannotBeLookedUpNowIsRegistered, and judged at each delivery.
func TestANameThatCannotBeLookedUpNowIsRegistered(t *testing.T) {
	p := poster(t, func(o *Options) { o.Resolver = odd })
	if err := p.Check(t.Context(), "https://broken.example.net/"); err != nil {
		t.Error(err)
	}
	if r := p.Post(t.Context(), messageTo("https://broken.example.net/")); r.Verdict() != Retry || !r.Reason.Equal(errLookup.Reason) {
		t.Errorf("%+v", r)
	}
}

// rebinding answers another address at each lookup.
type rebinding struct {
	turns   []string
	lookups int
}

func (r *rebinding) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	a := netip.MustParseAddr(r.turns[min(r.lookups, len(r.turns)-1)])
	r.lookups++
	return []netip.Addr{a}, nil
}

func TestANameThatLeadsElsewhereAMomentLaterGainsNothing(t *testing.T) {
	dns := &rebinding{turns: []string{"8.8.8.8", "127.0.0.1"}}
	var dialed []string
	p := poster(t, func(o *Options) {
		o.AllowPrivate, o.Resolver = nil, dns
		o.Dial = func(_ context.Context, _, address string) (net.Conn, error) {
			dialed = append(dialed, address)
			return nil, io.ErrUnexpectedEOF
		}
	})
	first, second := p.Post(t.Context(), messageTo("https://rebind.example.com/")), p.Post(t.Context(), messageTo("https://rebind.example.com/"))
	if first.Verdict() != Retry || second.Verdict() != Retry || !second.Reason.Equal(errNoAddress.Reason) {
		t.Errorf("%+v, then %+v", first, second)
	}
	if len(dialed) != 1 || dialed[0] != "8.8.8.8:443" || dns.lookups != 2 {
		t.Errorf("dialed %v after %d lookups: what is judged must be what is dialed", dialed, dns.lookups)
	}
}

// TestNobodyLearnsWhichNamesAnOperatorHas: what comes of a name that leads into a network of the operator's and of
// one that leads nowhere is the same.
func TestNobodyLearnsWhichNamesAnOperatorHas(t *testing.T) {
	p := poster(t, func(o *Options) { o.AllowPrivate, o.Resolver = nil, odd })
	none := p.Post(t.Context(), messageTo("https://nosuch.example.com/"))
	for _, name := range []string{"loop", "ten", "six", "link", "mapped", "nat64", "several", "cgnat", "unspecified"} {
		if err, unknown := p.Check(t.Context(), "https://"+name+".example.com/"), p.Check(t.Context(), "https://nosuch.example.com/"); err == nil || err != unknown {
			t.Errorf("%s is registered with %v, no name with %v", name, err, unknown)
		}
		got := p.Post(t.Context(), messageTo("https://"+name+".example.com/"))
		got.Latency = none.Latency
		if !reflect.DeepEqual(got, none) || got.Verdict() != none.Verdict() || !got.Reason.Equal(errNoAddress.Reason) {
			t.Errorf("%s: %+v, and of no name %+v", name, got, none)
		}
	}
}

func TestARedirectIntoTheNetworkIsNotFollowed(t *testing.T) {
	var inside atomic.Int32
	secret := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { inside.Add(1) }))
	defer secret.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		outside := httptest.NewServer(http.RedirectHandler(secret.URL, status))
		r := poster(t).Post(t.Context(), messageTo(outside.URL))
		outside.Close()
		if r.Verdict() != Refused || r.Status != status || inside.Load() != 0 {
			t.Errorf("%d: %+v, %d requests inside", status, r, inside.Load())
		}
	}
}

func TestProxiesOfTheEnvironmentAreNotUsed(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	if p := poster(t); p.transport.Proxy != nil {
		t.Error("a proxy resolves names itself")
	}
}

// loopback is a DNS whose every name leads to this machine, in any form that a resolver may give.
type loopback struct{}

func (loopback) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1"), netip.MustParseAddr("::ffff:127.0.0.1")}, nil
}

// FuzzReceiverAddress: no text leads a packet to what is none of the internet's; what is refused at a delivery is
// refused when it is registered; and another query or spelling of the scheme names no other receiver.
func FuzzReceiverAddress(f *testing.F) {
	for _, seed := range []string{"https://example.com/hook", "https://127.0.0.1/", "https://[::1]:443/", "https://0x7f.1/", "https://2130706433/", "https://8.8.8.8@10.0.0.1/",
		"https://[::ffff:7f00:1]/", "https://[fe80::1%25eth0]/", "http://8.8.8.8/", "https://8.8.8.8/x?y#z", "https://8.8.8.8:0443/", "https://%31%32%37.0.0.1/", "https://1.1.1.1.", "//8.8.8.8",
		"https:8.8.8.8", "https://8.8.8.8\\@127.0.0.1/", "https://0177.0.0.1/", "https://①②⑦.0.0.1/", "https://localhost:65536/"} {
		f.Add(seed)
	}
	var dialed string
	p := poster(f, func(o *Options) {
		o.AllowPrivate, o.AllowHTTP, o.Resolver = nil, true, loopback{}
		o.Dial = func(_ context.Context, _, address string) (net.Conn, error) {
			dialed = address
			return nil, io.ErrUnexpectedEOF
		}
	})
	f.Fuzz(func(t *testing.T, text string) {
		dialed = ""
		registered := errors.Join(wallet.WebhookNetworks{Plain: true}.Check(text), p.Check(t.Context(), text))
		if dialed != "" {
			t.Fatalf("%q is dialed (%s) when it is registered", text, dialed)
		}
		r := p.Post(t.Context(), messageTo(text))
		if dialed != "" {
			host, _, err := net.SplitHostPort(dialed)
			address, bad := netip.ParseAddr(host)
			if err != nil || bad != nil || address.IsLoopback() || address.IsPrivate() || address.IsLinkLocalUnicast() || !address.IsGlobalUnicast() {
				t.Fatalf("%q leads to %s", text, dialed)
			}
		}
		if registered == nil && dialed == "" {
			t.Errorf("%q is registered, and refused when it is delivered to: %+v", text, r)
		}
		if u, err := url.Parse(text); err == nil && registered == nil && receiverOf(text) != "" {
			u.RawQuery, u.ForceQuery = "another="+url.QueryEscape(text), false
			if receiverOf(u.String()) != receiverOf(text) {
				t.Errorf("%q and %q are two receivers", text, u)
			}
		}
	})
}
