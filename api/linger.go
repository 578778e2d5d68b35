package api

import (
	"io"
	"net"
	"sync/atomic"
	"time"
)

// A connection that is closed while the other side still sends is reset by the kernel, and the
// reset destroys the answer on its way: an oversized body would be met by "connection reset"
// instead of 413. So such a connection is closed for writing first, and drained for a moment.
const (
	lingerTime  = time.Second
	lingerBytes = 4 << 20
)

type lingeringConn struct {
	net.Conn
	wanted atomic.Bool
}

// linger makes a connection drain when it is closed.
func linger(of net.Conn) {
	if c, ok := of.(*conn); ok {
		c.wanted.Store(true)
	}
}

func (c *lingeringConn) Close() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok && c.wanted.Load() {
		if half.CloseWrite() == nil && c.Conn.SetReadDeadline(time.Now().Add(lingerTime)) == nil {
			// Whatever ends the drain, the connection is closed next.
			_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes)
		}
	}
	return c.Conn.Close()
}
