package api

import (
	"crypto/rand"
	"io"
	"log/slog"
	"net"
	"runtime"
	"syscall"
	"testing"
	"time"

	"purser/handlers"
	"purser/quota"
	"purser/wallet"
)

// oneByOne is a connection on which the same request comes several times, each when the one before it was answered.
type oneByOne struct {
	net.Conn
	request []byte
	left    int // requests that are still to come
	wrote   int // bytes of answers
	from    net.Addr
}

func (o *oneByOne) Read(p []byte) (int, error) {
	if o.left == 0 {
		return 0, io.EOF
	}
	o.left--
	return copy(p, o.request), nil
}

func (o *oneByOne) Write(p []byte) (int, error)      { o.wrote += len(p); return len(p), nil }
func (o *oneByOne) Close() error                     { return nil }
func (o *oneByOne) SetDeadline(time.Time) error      { return nil }
func (o *oneByOne) SetReadDeadline(time.Time) error  { return nil }
func (o *oneByOne) SetWriteDeadline(time.Time) error { return nil }
func (o *oneByOne) LocalAddr() net.Addr              { return o.from }
func (o *oneByOne) RemoteAddr() net.Addr             { return o.from }

// threadCPU is the CPU time that the calling thread has used (getrusage(2), RUSAGE_THREAD of Linux).
func threadCPU(b *testing.B) time.Duration {
	const ofThread = 1
	var used syscall.Rusage
	check(b, syscall.Getrusage(ofThread, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkKeyPath is GET /v1/key from the bytes of the request to those of the answer, without sockets, by the CPU time of
// its thread, which other work on the machine changes little: for the key of an operator, for that of a person, and by the
// bare handler.
func BenchmarkKeyPath(b *testing.B) {
	for _, one := range []struct {
		name  string
		owner int64
		bare  bool
	}{{name: "operator"}, {name: "person", owner: 1001}, {name: "bare", bare: true}} {
		b.Run(one.name, func(b *testing.B) {
			bare, secret := bareApp(), ""
			bare.Handler() // without it, no route is found
			serve := bare.Server().ServeConn
			if !one.bare {
				serve, secret = keyServer(b, one.owner)
			}
			request := []byte("GET /v1/key HTTP/1.1\r\nUser-Agent: fasthttp\r\nHost: 127.0.0.1:12345\r\nAuthorization: Bearer " + secret + "\r\n\r\n")
			from := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 12345}
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			check(b, serve(&oneByOne{request: request, left: 100, from: from})) // what is remembered is read once
			c := &oneByOne{request: request, left: b.N, from: from}
			b.ReportAllocs()
			b.ResetTimer()
			before := threadCPU(b)
			check(b, serve(c))
			b.ReportMetric(float64((threadCPU(b)-before).Nanoseconds())/float64(b.N), "cpu-ns")
			b.ReportMetric(float64(c.wrote)/float64(b.N), "bytes")
		})
	}
}

// keyServer returns what serves a connection as Run does, and a key of a person, or of an operator for owner 0.
func keyServer(b *testing.B, owner int64) (serve func(net.Conn) error, secret string) {
	const unlimited = 4_000_000_000
	r := newHarness(b, func(s *Server) {
		s.Now, s.NewID = time.Now, wallet.TimedIDs(time.Now, wallet.Batched(rand.Reader))
		s.Meter.Now, s.Security.Now = time.Now, time.Now
		s.Log = slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelWarn}))
		s.Limits = quota.Limits{APIFree: unlimited, APIPro: unlimited, BotFree: unlimited, BotPro: unlimited, Messages: 30}
	})
	_, secret, err := r.Keys.Create(b.Context(), handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier, OwnerTelegramID: owner})
	r.Must(err)
	return func(c net.Conn) error {
		return r.server.http.ServeConn(&conn{lingeringConn: lingeringConn{Conn: r.server.connections.take(c)}})
	}, secret
}
