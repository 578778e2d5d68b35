package api

import (
	"net"
	"sync/atomic"
	"time"
)

// fasthttp sets three deadlines for each request: for its first byte, for its last byte and for writing the answer. Most
// requests arrive in one piece, so most deadlines are replaced before a read or write could wait for them. Each one costs
// work in the runtime. So conn only remembers a deadline, and sets it at the next Read or Write. If the deadline in
// place ends less than coarse before the wanted one, it stays: a connection may time out that much too early.
const coarse = time.Second

// due holds the deadline that fasthttp asked for (wanted) and the one that the socket has (set).
type due struct{ wanted, set time.Time }

// settle sets the wanted deadline on the socket, unless the one in place is equal or close enough (see coarse).
func (d *due) settle(set func(time.Time) error) error {
	if d.wanted.Equal(d.set) || !d.set.IsZero() && d.wanted.After(d.set) && d.wanted.Sub(d.set) < coarse {
		return nil
	}
	if err := set(d.wanted); err != nil {
		return err
	}
	d.set = d.wanted
	return nil
}

// conn is a connection that one goroutine serves. Only Close, and the end of a stream (lasting), may come from
// another one. A new deadline does not interrupt a Read or Write that waits already, as it would in another net.Conn.
type conn struct {
	lingeringConn
	read, write due
	lasting     atomic.Bool // the answer is a stream (see listen): each write gets its own writeTimeout
	begun       bool        // at least one byte was read
	muted       bool        // Write discards its bytes
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.read.wanted = t
	return nil
}

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.write.wanted = t
	return nil
}

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	c.read.wanted, c.write.wanted = t, t
	return nil
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	if err := c.read.settle(c.Conn.SetReadDeadline); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	c.begun = c.begun || n > 0
	return n, err
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	if c.muted {
		return len(p), nil
	}
	if c.lasting.Load() {
		c.write.wanted = time.Now().Add(writeTimeout)
	}
	if err := c.write.settle(c.Conn.SetWriteDeadline); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// mute makes a connection that never received a byte end without an answer, and reports whether it did. A client that
// keeps spare connections could take an error sent here for the answer to its next request.
func mute(of net.Conn) bool {
	c, ok := of.(*conn)
	if ok && !c.begun {
		c.muted = true
	}
	return ok && c.muted
}

// listener wraps each accepted connection in a conn.
type listener struct{ net.Listener }

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{lingeringConn: lingeringConn{Conn: accepted}}, nil
}
