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

// Connections that one listener holds at a time: in all, and from one address (an IPv6 /64 counts as one) that is
// no proxy of ours. With readAhead, a header's buffer and a goroutine's stack, one costs some 40 KB at the most.
const (
	mostConnections       = 1536
	mostOfOneAddress      = 256
	descriptorsRunOutWait = 20 * time.Millisecond
)

// Connections bounds how many connections are held at once. When there is no room, the one that has waited
// longest for its client to send something, or to take its answer, gives way to the new one, so that nobody keeps
// others out by connections that do nothing. One whose request is being worked on is never closed for that; where
// there are only such, the new one is turned away.
type Connections struct {
	Max            int
	MaxPerAddress  int // of one address
	TrustedProxies []netip.Prefix
	Log            *slog.Logger

	full failureError // what a connection is answered that is turned away

	mu        sync.Mutex
	all       map[*boundConn]struct{}
	byAddress map[netip.Prefix]map[*boundConn]struct{}
	warned    time.Time // when it was last said that there is no room
}

// BoundConnections is the bound of one of purser's own listeners, apart from the Server's: it makes a new one each time.
func (s *Server) BoundConnections() *Connections {
	return &Connections{Max: mostConnections, MaxPerAddress: mostOfOneAddress, TrustedProxies: s.TrustedProxies, Log: s.Log,
		full: failureError{Code: wallet.NetworkError, Message: s.text("connections.full"), Details: s.text(closeSome), Reason: closeSome,
			Arguments: map[string]any{}}}
}

// closeSome is the reason that a connection is turned away for.
const closeSome = "connections.close_some"

// Listener is ln with this bound. One of it is made for each Connections.
func (l *Connections) Listener(ln net.Listener) net.Listener { return &boundListener{ln, l} }

type boundListener struct {
	net.Listener
	bound *Connections
}

// Accept implements net.Listener. It does not fail while the process is short of descriptors.
func (l *boundListener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		switch {
		case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.ECONNABORTED):
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

// take adds a connection; nil when it was turned away.
func (l *Connections) take(accepted net.Conn) net.Conn {
	from := addressOf(accepted)
	c := &boundConn{Conn: accepted, bound: l, address: networkOf(from)}
	c.waits.Store(time.Now().UnixNano())
	counted := from.IsValid() && !contains(l.TrustedProxies, from)
	l.mu.Lock()
	if l.all == nil {
		l.all, l.byAddress = map[*boundConn]struct{}{}, map[netip.Prefix]map[*boundConn]struct{}{}
	}
	var out *boundConn
	full := false
	if of := l.byAddress[c.address]; counted && len(of) >= l.MaxPerAddress {
		out, full = longestWaiting(of), true
	} else if len(l.all) >= l.Max {
		out, full = longestWaiting(l.all), true
		l.warn("as many connections are open as may be")
	}
	if full && out == nil {
		l.mu.Unlock()
		l.turnAway(accepted)
		return nil
	}
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
		_ = out.Conn.Close() // its Read or Write ends
	}
	return c
}

// makeRoom closes the connection that has waited longest, if any does.
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

// warn logs that there is no room, once a minute. The lock is held.
func (l *Connections) warn(why string) {
	if now := time.Now(); now.Sub(l.warned) >= time.Minute {
		l.warned = now
		l.Log.Warn(why+": those that wait longest for their clients are closed", "open", len(l.all))
	}
}

// forget takes a connection out of the count. The lock is held.
func (l *Connections) forget(c *boundConn) {
	delete(l.all, c)
	if of := l.byAddress[c.address]; of != nil {
		if delete(of, c); len(of) == 0 {
			delete(l.byAddress, c.address)
		}
	}
}

// longestWaiting is nil when each is being worked on.
func longestWaiting(of map[*boundConn]struct{}) (out *boundConn) {
	since := int64(0)
	for c := range of {
		for _, at := range []int64{c.waits.Load(), c.sends.Load()} {
			if at != 0 && (out == nil || at < since) {
				out, since = c, at
			}
		}
	}
	return out
}

// addressOf is from where a connection comes; not valid for one that has no address.
func addressOf(c net.Conn) netip.Addr {
	tcp, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return tcp.AddrPort().Addr().Unmap().WithZone("")
}

// networkOf is by what the connections of an address are counted.
func networkOf(from netip.Addr) netip.Prefix {
	if !from.IsValid() {
		return netip.Prefix{}
	}
	return clientPrefix(from, nil, nil)
}

// turnAway answers a connection for which there is no room, and closes it. Nothing here waits for the client: a
// new connection takes this much at once.
func (l *Connections) turnAway(c net.Conn) {
	now := time.Now()
	body, err := json.Marshal(failure{Error: l.full, Timestamp: wallet.Timestamp(now)})
	if err == nil && c.SetDeadline(now.Add(time.Second)) == nil {
		_, _ = fmt.Fprintf(c, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}
	_ = c.Close()
}

// boundConn is a connection that counts until it is closed.
type boundConn struct {
	net.Conn
	bound   *Connections
	address netip.Prefix
	waits   atomic.Int64 // since when it waits for its client to send, in nanoseconds of Unix; 0 while it does not
	sends   atomic.Int64 // the same for its client to take what is sent: net/http reads meanwhile, so each has its own
}

// Read implements net.Conn.
func (c *boundConn) Read(p []byte) (int, error) {
	c.waits.Store(time.Now().UnixNano())
	defer c.waits.Store(0)
	return c.Conn.Read(p)
}

// Write implements net.Conn.
func (c *boundConn) Write(p []byte) (int, error) {
	c.sends.Store(time.Now().UnixNano())
	defer c.sends.Store(0)
	return c.Conn.Write(p)
}

// CloseWrite ends what is sent, so that the other side can end in peace.
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
