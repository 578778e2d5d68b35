package world

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
)

// wire is a listener without a socket: who dials gets one end of a pipe, the server the other. Nothing of the
// machine's load or of its network is between the product and the cluster.
type wire struct {
	conns chan net.Conn
	ended chan struct{}
	once  sync.Once
}

// serve answers on a wire until the test ends.
func serve(t testing.TB, handler http.Handler) *wire {
	w := &wire{conns: make(chan net.Conn), ended: make(chan struct{})}
	server := &http.Server{Handler: handler}
	done := make(chan error, 1)
	go func() { done <- server.Serve(w) }()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		<-done // the wire is closed, and says so
	})
	return w
}

// Dial implements chain.Options.Dial.
func (w *wire) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case w.conns <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-w.ended:
		return nil, net.ErrClosed
	}
}

// Accept implements net.Listener.
func (w *wire) Accept() (net.Conn, error) {
	select {
	case conn := <-w.conns:
		return conn, nil
	case <-w.ended:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (w *wire) Close() error {
	w.once.Do(func() { close(w.ended) })
	return nil
}

// Addr implements net.Listener.
func (w *wire) Addr() net.Addr { return &net.UnixAddr{Name: "cluster", Net: "pipe"} }
