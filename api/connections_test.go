package api

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	product "purser/e2e/harness"
	"purser/locale"
)

// hall is a bound and its listener; enter makes a connection through it.
type hall struct {
	*testing.T
	bound *Connections
	ln    net.Listener
	log   *product.Log
}

func newHall(t *testing.T, most, maxOfOne int, trusted ...netip.Prefix) *hall {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	check(t, ln.(*net.TCPListener).SetDeadline(time.Now().Add(20*time.Second))) // of Accept, where all are turned away
	log := &product.Log{}
	texts, err := locale.New()
	check(t, err)
	l := (&Server{Options: Options{TrustedProxies: trusted, Log: slog.New(slog.NewTextHandler(log, nil))}, english: texts.Printer("en", locale.Style{})}).BoundConnections()
	l.Max, l.MaxPerAddress = most, maxOfOne
	h := &hall{t, l, l.Listener(ln), log}
	t.Cleanup(func() { _ = h.ln.Close() })
	return h
}

// dial connects from an address of this machine.
func (h *hall) dial(from string) net.Conn {
	h.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.Dial("tcp", h.ln.Addr().String())
	check(h, err)
	check(h, c.SetDeadline(time.Now().Add(20*time.Second)))
	h.Cleanup(func() { _ = c.Close() })
	return c
}

// enter connects, and returns both ends.
func (h *hall) enter(from string) (client net.Conn, server *boundConn) {
	h.Helper()
	client = h.dial(from)
	accepted, err := h.ln.Accept()
	check(h, err)
	return client, accepted.(*boundConn)
}

// hungUp tells whether the other side has closed a connection. It waits for that, or for what is sent.
func hungUp(c net.Conn) bool {
	_, err := c.Read(make([]byte, 1))
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)
}

// speaks proves that a connection lives: what one side writes, the other reads.
func (h *hall) speaks(client net.Conn, server *boundConn) {
	h.Helper()
	_, err := server.Write([]byte("x"))
	check(h, err)
	if hungUp(client) {
		h.Error("a connection was closed that had a right to stay")
	}
}

func TestTheNewestConnectionGetsThePlaceOfTheOneThatWaitsLongest(t *testing.T) {
	h := newHall(t, 100, 2)
	first, _ := h.enter("127.0.0.1")
	second, inner := h.enter("127.0.0.1")
	other, otherInner := h.enter("127.0.0.2") // an address of its own
	third, thirdInner := h.enter("127.0.0.1")
	if !hungUp(first) {
		t.Error("the first is still open")
	}
	h.speaks(second, inner)
	h.speaks(other, otherInner)
	h.speaks(third, thirdInner)
	if len(h.bound.all) != 3 || len(h.bound.byAddress) != 2 {
		t.Errorf("%d are counted, of %d addresses", len(h.bound.all), len(h.bound.byAddress))
	}
}

func TestWhoSendsIsNotTheOneThatWaitsLongest(t *testing.T) {
	h := newHall(t, 2, 2)
	first, inner := h.enter("127.0.0.1")
	second, _ := h.enter("127.0.0.1")
	_, err := first.Write([]byte("x"))
	check(t, err)
	_, err = inner.Read(make([]byte, 1)) // and now its request is worked on
	check(t, err)
	h.enter("127.0.0.1")
	if !hungUp(second) {
		t.Error("the second is still open")
	}
	h.speaks(first, inner)
}

func TestWorkIsNeverInterruptedForANewConnection(t *testing.T) {
	h := newHall(t, 100, 2)
	var clients []net.Conn
	var inner []*boundConn
	for range 2 {
		c, s := h.enter("127.0.0.1")
		_, err := c.Write([]byte("x"))
		check(t, err)
		_, err = s.Read(make([]byte, 1))
		check(t, err)
		clients, inner = append(clients, c), append(inner, s)
	}
	refused := h.dial("127.0.0.1")
	go func() { // the next that is accepted is of another address
		if c, err := h.ln.Accept(); err == nil {
			_ = c.Close()
		}
	}()
	resp, err := http.ReadResponse(bufio.NewReader(refused), nil)
	check(t, err)
	body, err := io.ReadAll(resp.Body)
	check(t, err)
	wantEnvelope := resp.Header.Get("Content-Type") == "application/json" && strings.HasPrefix(string(body), `{"success":false,"error":{"code":"NETWORK_ERROR","message":"Too many connections are open.",`+
		`"details":"Close some, or try again in a moment.","field":"","reason":"connections.close_some","arguments":{}},"timestamp":"2`)
	if resp.StatusCode != 503 || resp.Header.Get("Retry-After") != "1" || !resp.Close || !wantEnvelope {
		t.Errorf("%d %v %s", resp.StatusCode, resp.Header, body)
	}
	for i := range clients {
		h.speaks(clients[i], inner[i])
	}
	last := h.dial("127.0.0.2")
	if !hungUp(last) {
		t.Error("it was not accepted")
	}
}

// fullConn tells when it is written to, and takes nothing before it is closed.
type fullConn struct {
	net.Conn
	begun, closed chan struct{}
}

func (c *fullConn) Write([]byte) (int, error) {
	close(c.begun)
	<-c.closed
	return 0, net.ErrClosed
}

func (c *fullConn) Close() error {
	close(c.closed)
	return c.Conn.Close()
}

// TestWhoDoesNotTakeAnAnswerGivesWay, though more requests come over that connection.
func TestWhoDoesNotTakeAnAnswerGivesWay(t *testing.T) {
	h := newHall(t, 100, 2)
	read := func(client net.Conn, server *boundConn) {
		t.Helper()
		_, err := client.Write([]byte("x"))
		check(t, err)
		_, err = server.Read(make([]byte, 1))
		check(t, err)
	}
	stuck, server := h.enter("127.0.0.1")
	full := &fullConn{server.Conn, make(chan struct{}), make(chan struct{})}
	server.Conn = full
	working, inner := h.enter("127.0.0.1")
	read(stuck, server)
	read(working, inner)
	ended := make(chan error, 1)
	go func() {
		_, err := server.Write([]byte("an answer"))
		ended <- err
	}()
	<-full.begun
	read(stuck, server)
	newcomer, newInner := h.enter("127.0.0.1")
	if !hungUp(stuck) {
		t.Error("who does not take an answer keeps the place")
	}
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("the answer ends with %v", err)
	}
	h.speaks(working, inner)
	h.speaks(newcomer, newInner)
	read(newcomer, newInner) // what was sent whole is waited for no more: two work now
	refused := h.dial("127.0.0.1")
	next := make(chan net.Conn, 1)
	go func() {
		c, err := h.ln.Accept()
		if err == nil {
			next <- c
		}
	}()
	resp, err := http.ReadResponse(bufio.NewReader(refused), nil)
	check(t, err)
	if resp.StatusCode != 503 {
		t.Errorf("status %d", resp.StatusCode)
	}
	h.dial("127.0.0.2")
	_ = (<-next).Close()
}

func TestThereIsABoundInAllOfAllAddresses(t *testing.T) {
	h := newHall(t, 3, 2)
	first, _ := h.enter("127.0.0.1")
	for _, from := range []string{"127.0.0.2", "127.0.0.3", "127.0.0.4"} {
		h.enter(from)
	}
	if !hungUp(first) {
		t.Error("the first is still open")
	}
	if len(h.bound.all) != 3 || len(h.bound.byAddress) != 3 {
		t.Errorf("%d are counted, of %d addresses", len(h.bound.all), len(h.bound.byAddress))
	}
	for range 3 {
		h.enter("127.0.0.5")
	}
	if n := strings.Count(h.log.String(), "\n"); n != 1 || !strings.Contains(h.log.String(), "open=3") {
		t.Errorf("it is said once a minute that there is no room: %s", h.log)
	}
}

func TestAProxyOfOursStandsForMany(t *testing.T) {
	h := newHall(t, 5, 1, netip.MustParsePrefix("127.0.0.0/8"))
	var clients []net.Conn
	var inner []*boundConn
	for range 5 {
		c, s := h.enter("127.0.0.1")
		clients, inner = append(clients, c), append(inner, s)
	}
	for i := range clients {
		h.speaks(clients[i], inner[i])
	}
	h.enter("127.0.0.1") // but not for more than all
	if !hungUp(clients[0]) {
		t.Error("the first is still open")
	}
}

func TestAClosedConnectionCountsNoMore(t *testing.T) {
	h := newHall(t, 2, 2)
	for range 10 {
		_, server := h.enter("127.0.0.1")
		check(t, server.Close())
		_ = server.Close() // closing twice changes nothing
	}
	if len(h.bound.all) != 0 || len(h.bound.byAddress) != 0 {
		t.Errorf("%d are counted, of %d addresses", len(h.bound.all), len(h.bound.byAddress))
	}
}

// shortListener fails as the system does that has no descriptor left.
type shortListener struct {
	net.Listener
	failures int
}

func (l *shortListener) Accept() (net.Conn, error) {
	if l.failures > 0 {
		l.failures--
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}

func TestNoDescriptorLeftEndsNothing(t *testing.T) {
	h := newHall(t, 10, 10)
	first, _ := h.enter("127.0.0.1")
	bound := h.ln.(*boundListener)
	bound.Listener = &shortListener{bound.Listener, 2}
	second, inner := h.enter("127.0.0.1")
	if !hungUp(first) {
		t.Error("the one that waits longest is still open")
	}
	h.speaks(second, inner)
}

func TestNeighboursOfOneIPv6NetworkAreOne(t *testing.T) {
	at := func(text string) netip.Prefix {
		return networkOf(addressOf(&addressed{&net.TCPAddr{IP: net.ParseIP(text), Port: 1, Zone: ""}}))
	}
	if at("2001:db8::1") != at("2001:db8::ffff:1") || at("2001:db8::1") == at("2001:db8:0:1::1") || at("192.0.2.1") == at("192.0.2.2") || at("::ffff:192.0.2.1") != at("192.0.2.1") {
		t.Error("addresses are told apart otherwise than limits do")
	}
	if networkOf(addressOf(&addressed{&net.UnixAddr{}})).IsValid() {
		t.Error("a socket without an address has one")
	}
}

// TestAProxyOfOursIsKnownByItsOwnAddress: others count by their network, in which the proxy's neighbours are.
func TestAProxyOfOursIsKnownByItsOwnAddress(t *testing.T) {
	for of, given := range map[string]struct {
		trusted string
		counted bool
	}{
		"::1":            {"::1/128", false},
		"2001:db8::7":    {"2001:db8::7/128", false},
		"2001:db8::8":    {"2001:db8::7/128", true},
		"2001:db8::9":    {"2001:db8::/128", true}, // the network's first address is not the network
		"::ffff:7f00:1":  {"127.0.0.1/32", false},
		"2001:db8:1::42": {"2001:db8::/32", false},
	} {
		l := &Connections{Max: 2, MaxPerAddress: 2, TrustedProxies: []netip.Prefix{netip.MustParsePrefix(given.trusted)}}
		c := l.take(&addressed{&net.TCPAddr{IP: net.ParseIP(of), Port: 1}})
		if counted := len(l.byAddress) == 1; c == nil || counted != given.counted {
			t.Errorf("%s with the proxy %s: counted %t", of, given.trusted, counted)
		}
	}
}

type addressed struct{ net.Addr }

func (a *addressed) RemoteAddr() net.Addr { return a.Addr }

// What else a connection can do is of no interest here.
func (a *addressed) Read([]byte) (int, error)         { return 0, io.EOF }
func (a *addressed) Write(p []byte) (int, error)      { return len(p), nil }
func (a *addressed) Close() error                     { return nil }
func (a *addressed) LocalAddr() net.Addr              { return a.Addr }
func (a *addressed) SetDeadline(time.Time) error      { return nil }
func (a *addressed) SetReadDeadline(time.Time) error  { return nil }
func (a *addressed) SetWriteDeadline(time.Time) error { return nil }
