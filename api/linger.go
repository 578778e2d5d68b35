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

type lingering struct{ net.Listener }

func (l lingering) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &lingeringConn{Conn: conn}, nil
}

type lingeringConn struct {
	net.Conn
	wanted atomic.Bool
}

// linger makes conn drain when it is closed.
func linger(conn net.Conn) {
	if c, ok := conn.(*lingeringConn); ok {
		c.wanted.Store(true)
	}
}

func (c *lingeringConn) Close() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok && c.wanted.Load() {
		if half.CloseWrite() == nil && c.SetReadDeadline(time.Now().Add(lingerTime)) == nil {
			// Whatever ends the drain, the connection is closed next.
			_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes)
		}
	}
	return c.Conn.Close()
}
