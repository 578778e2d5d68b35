package api

import (
	"net"
	"sync/atomic"
	"time"
)

// fasthttp sets three deadlines for each request: for the next one to begin, for the whole of it to arrive,
// and for its answer to leave. Most requests arrive in one piece, so most of these are replaced before
// anybody waits. A connection of ours sets one only when it is about to wait, and leaves one in place that
// ends up to coarse before the one wanted.
const coarse = time.Second

// due is a deadline that is wanted, and the one that is set.
type due struct{ wanted, set time.Time }

// settle sets the deadline where the one in place does not serve.
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

// conn is a connection that one goroutine serves; only Close, and the end of what lasts, may come from another.
type conn struct {
	lingeringConn
	read, write due
	lasting     atomic.Bool // its answer goes on for as long as it is taken: each write has its own deadline
	begun       bool        // something was read
	muted       bool        // nothing is sent any more, not even an answer
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

// mute lets a connection end in silence on which nothing ever came, and tells whether it is one. A client may take
// whatever it is sent for the answer to the request that it sends next.
func mute(of net.Conn) bool {
	c, ok := of.(*conn)
	if ok && !c.begun {
		c.muted = true
	}
	return ok && c.muted
}

// listener makes connections of ours.
type listener struct{ net.Listener }

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{lingeringConn: lingeringConn{Conn: accepted}}, nil
}
