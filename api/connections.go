package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"purser/wallet"
)

// Limits on the open connections of one listener, in total and for each client address. An IPv6 /64 counts as one
// address, and trusted proxies have no limit of their own. A connection costs at most about 40 KB: readAhead, a
// header buffer and a goroutine's stack.
const (
	maxConnections        = 1536
	maxOfOneAddress       = 256
	descriptorsRunOutWait = 20 * time.Millisecond
)

// Connections limits how many connections are open at once. At the limit, a new connection replaces the one that has
// waited longest for its client to send or to receive, so that idle connections cannot keep other clients out. A
// connection whose request is being processed is never closed for this: if all are, the new one gets a 503.
type Connections struct {
	Max            int // in total
	MaxPerAddress  int // of one address
	TrustedProxies []netip.Prefix
	Log            *slog.Logger

	full  failureError // the error in the 503 for a refused connection
	waits atomic.Int64 // how many waits have begun: each has a number (boundConn)

	// mu guards what follows. It is held for a few map operations, never during I/O.
	mu        sync.Mutex
	all       map[*boundConn]struct{}
	byAddress map[netip.Prefix]map[*boundConn]struct{}
	warned    time.Time // when warn last logged
}

// BoundConnections returns a new, separate limit for another of purser's listeners. It shares no counts with the Server's.
func (s *Server) BoundConnections() *Connections {
	return &Connections{Max: maxConnections, MaxPerAddress: maxOfOneAddress, TrustedProxies: s.TrustedProxies, Log: s.Log,
		full: failureError{Code: wallet.NetworkError, Message: s.text("connections.full"), Details: s.text(closeSome), Reason: closeSome,
			Arguments: map[string]any{}}}
}

// closeSome is the reason in the 503 for a refused connection.
const closeSome = "connections.close_some"

// Listener wraps ln with this limit. Call it once for each Connections, because the counts belong to one listener.
func (l *Connections) Listener(ln net.Listener) net.Listener { return &boundListener{ln, l} }

// boundListener is the net.Listener of Connections.Listener.
type boundListener struct {
	net.Listener
	bound *Connections
}

// Accept implements net.Listener. If the process or the system is out of file descriptors, it closes the connection that
// has waited longest and tries again, where an error would end the server.
func (l *boundListener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		switch {
		case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
			l.bound.makeRoom("the system gives no more connections")
			time.Sleep(descriptorsRunOutWait)
			continue
		case err != nil:
			return nil, err
		}
		if c := l.bound.take(accepted); c != nil {
			return c, nil
		}
	}
}

// take counts a new connection and, at a limit, closes the one that has waited longest. It returns nil if none could give
// way: the new one was then refused and closed.
func (l *Connections) take(accepted net.Conn) net.Conn {
	from := addressOf(accepted)
	// A new connection counts as waiting: nothing was read from it yet.
	c := &boundConn{Conn: accepted, bound: l, address: networkOf(from)}
	c.waits.Store(l.waits.Add(1))
	counted := from.IsValid() && !contains(l.TrustedProxies, from)
	l.mu.Lock()
	if l.all == nil {
		l.all, l.byAddress = map[*boundConn]struct{}{}, map[netip.Prefix]map[*boundConn]struct{}{}
	}
	// The limit of its address comes first, so that one client replaces its own connections and not those of others.
	var out *boundConn
	full := false
	if of := l.byAddress[c.address]; counted && len(of) >= l.MaxPerAddress {
		out, full = longestWaiting(of), true
	} else if len(l.all) >= l.Max {
		out, full = longestWaiting(l.all), true
		l.warn("as many connections are open as may be")
	}
	// All connections of that address, or all in total, have a request in progress: the new one is refused.
	if full && out == nil {
		l.mu.Unlock()
		l.turnAway(accepted)
		return nil
	}
	// Count the new one in the place of the old one. The old one is closed without the lock, since closing may wait.
	if out != nil {
		l.forget(out)
	}
	l.all[c] = struct{}{}
	if counted {
		if l.byAddress[c.address] == nil {
			l.byAddress[c.address] = map[*boundConn]struct{}{}
		}
		l.byAddress[c.address][c] = struct{}{}
	}
	l.mu.Unlock()
	if out != nil {
		_ = out.Conn.Close() // its pending Read or Write returns an error, and the server drops the connection
	}
	return c
}

// makeRoom closes the connection that has waited longest for its client. It closes none if all are being processed.
func (l *Connections) makeRoom(why string) {
	l.mu.Lock()
	out := longestWaiting(l.all)
	if out != nil {
		l.forget(out)
	}
	l.warn(why)
	l.mu.Unlock()
	if out != nil {
		_ = out.Conn.Close()
	}
}

// warn logs that the limit is reached, at most once a minute. The caller holds l.mu.
func (l *Connections) warn(why string) {
	if now := time.Now(); now.Sub(l.warned) >= time.Minute {
		l.warned = now
		l.Log.Warn(why+": those that wait longest for their clients are closed", "open", len(l.all))
	}
}

// forget takes a connection out of the counts; a second call changes nothing. The caller holds l.mu.
func (l *Connections) forget(c *boundConn) {
	delete(l.all, c)
	if of := l.byAddress[c.address]; of != nil {
		if delete(of, c); len(of) == 0 {
			delete(l.byAddress, c.address)
		}
	}
}

// longestWaiting returns the connection that has waited longest for its client; nil if all are being processed.
func longestWaiting(of map[*boundConn]struct{}) (out *boundConn) {
	// It looks at all of them. That is at most maxConnections, and only while the limit is reached.
	first := int64(0)
	for c := range of {
		for _, number := range []int64{c.waits.Load(), c.sends.Load()} {
			if number != 0 && (out == nil || number < first) {
				out, first = c, number
			}
		}
	}
	return out
}

// addressOf returns the remote IP address of a TCP connection; the zero Addr, which is not valid, for any other.
func addressOf(c net.Conn) netip.Addr {
	tcp, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return tcp.AddrPort().Addr().Unmap().WithZone("")
}

// networkOf returns the prefix under which an address is counted: the IPv4 address itself, or the /64 of an IPv6 address.
func networkOf(from netip.Addr) netip.Prefix {
	if !from.IsValid() {
		return netip.Prefix{}
	}
	return clientPrefix(from, nil, nil)
}

// turnAway sends a 503 to a connection over the limit, and closes it. It runs on the accepting goroutine, so it must not
// wait for the client: so short an answer fits into the empty send buffer of a new connection.
func (l *Connections) turnAway(c net.Conn) {
	now := time.Now()
	body, err := json.Marshal(failure{Error: l.full, Timestamp: wallet.Timestamp(now)})
	if err == nil && c.SetDeadline(now.Add(time.Second)) == nil {
		_, _ = fmt.Fprintf(c, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}
	_ = c.Close()
}

// boundConn is a connection that counts against the limit until it is closed. Its waits have numbers in the order in which
// they began, since reading the clock costs more. The server's goroutine sets them; accepting a new connection reads them,
// so they are atomic.
type boundConn struct {
	net.Conn
	bound   *Connections
	address netip.Prefix
	waits   atomic.Int64 // number of its wait for the client to send; 0 if it does not wait
	sends   atomic.Int64 // the same for a pending Write; separate, because net/http reads and writes at the same time
}

// Read implements net.Conn.
func (c *boundConn) Read(p []byte) (int, error) {
	c.waits.Store(c.bound.waits.Add(1))
	n, err := c.Conn.Read(p)
	c.waits.Store(0)
	return n, err
}

// Write implements net.Conn.
func (c *boundConn) Write(p []byte) (int, error) {
	c.sends.Store(c.bound.waits.Add(1))
	n, err := c.Conn.Write(p)
	c.sends.Store(0)
	return n, err
}

// CloseWrite closes the sending half, so that the client reads the whole answer before the connection closes.
func (c *boundConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// Close implements net.Conn.
func (c *boundConn) Close() error {
	c.bound.mu.Lock()
	c.bound.forget(c)
	c.bound.mu.Unlock()
	return c.Conn.Close()
}
