package egress

import (
	"net"
	"testing"
)

// The network's own dialer judges once more, where only the system lies between.
func TestTheSystemCallIsGuardedToo(t *testing.T) {
	reached := make(chan struct{}, 1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if conn, err := l.Accept(); err == nil {
			_ = conn.Close()
			reached <- struct{}{}
		}
	}()
	d := New(Options{})
	if conn, err := d.dial(t.Context(), "tcp", l.Addr().String()); err == nil {
		_ = conn.Close()
		t.Error("connected to this machine")
	}
	if len(reached) != 0 {
		t.Error("a packet was sent")
	}
}
