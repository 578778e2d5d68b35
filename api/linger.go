package api

import (
	"io"
	"net"
	"sync/atomic"
	"time"
)

// A connection that is closed while the other side still sends is reset by the kernel. The reset can destroy an
// answer that is on its way: the sender of an oversized body would get "connection reset" instead of a 413. So such a
// connection is first closed for writing, then read for a moment, and closed after that.
const (
	lingerTime  = time.Second // for which it is read at most
	lingerBytes = 4 << 20     // that are read and dropped at most
)

// lingeringConn is a connection that drains when it is closed, if wanted.
type lingeringConn struct {
	net.Conn
	wanted atomic.Bool
}

// linger makes a connection drain when it is closed. Any goroutine may call it.
func linger(of net.Conn) {
	if c, ok := of.(*conn); ok {
		c.wanted.Store(true)
	}
}

// Close implements net.Conn. It may take up to lingerTime.
func (c *lingeringConn) Close() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok && c.wanted.Load() {
		if half.CloseWrite() == nil && c.Conn.SetReadDeadline(time.Now().Add(lingerTime)) == nil {
			// Whatever ends the drain, the connection is closed next.
			_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes)
		}
	}
	return c.Conn.Close()
}
