package market

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"purser/store"
)

// pipes is a network in memory, for tests whose time is not real: real sockets would let it stand still.
type pipes struct{ conns chan net.Conn }

func (p pipes) Accept() (net.Conn, error) {
	conn, ok := <-p.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}
func (p pipes) Close() error   { close(p.conns); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// dial connects to the server.
func (p pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// inMemory runs a test in time that is not real, with a server that answers every feed of every address.
func inMemory(t *testing.T, answer http.HandlerFunc, test func(t *testing.T, r *newsroom)) {
	synctest.Test(t, func(t *testing.T) {
		network := pipes{make(chan net.Conn)}
		server := &http.Server{Handler: answer}
		ended := make(chan error, 1)
		go func() { ended <- server.Serve(network) }()
		r := &newsroom{t: t, path: filepath.Join(t.TempDir(), "purser.db")}
		o := loopbackFeeds()
		o.Dial = network.dial
		r.News = &News{Store: openNewsStore(t, r.path), Client: NewFeedClient(o), Node: "a", Now: time.Now, Log: slog.New(slog.NewTextHandler(&r.log, nil))}
		test(t, r)
		time.Sleep(time.Minute) // handlers notice that nobody listens
		if err := errors.Join(r.Store.Close(), server.Close()); err != nil {
			t.Error(err)
		}
		<-ended
	})
}

// TestABadFeedDelaysNoOther: one that never answers and one that never ends fail within 20 seconds, and others do not wait for them.
func TestABadFeedDelaysNoOther(t *testing.T) {
	reached := map[string]time.Duration{}
	var mu sync.Mutex
	var began time.Time
	inMemory(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/dead"):
			<-r.Context().Done()
		case strings.HasPrefix(r.URL.Path, "/endless"):
			fmt.Fprint(w, `<rss version="2.0"><channel><title>t</title>`)
			for r.Context().Err() == nil {
				fmt.Fprint(w, "<item>")
				w.(http.Flusher).Flush()
				time.Sleep(time.Second)
			}
		default:
			mu.Lock()
			reached[r.URL.Path] = time.Since(began)
			mu.Unlock()
			fmt.Fprint(w, rss())
		}
	}, func(t *testing.T, r *newsroom) {
		const base = "http://127.0.0.1"
		r.Feeds = []string{base + "/dead1", base + "/endless", base + "/dead2", base + "/good1", base + "/good2", base + "/good3"}
		began = time.Now()
		if err := r.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != feedTimeout {
			t.Errorf("it took %v", took)
		}
		for _, good := range []string{"/good1", "/good2", "/good3"} {
			if at, ok := reached[good]; !ok || at != 0 {
				t.Errorf("%s was asked after %v (%v)", good, at, ok)
			}
		}
		if text := r.logged(); strings.Count(text, "\n") != 3 || strings.Count(text, errFeedSlow.Error()) != 3 {
			t.Errorf("logged %s", text)
		}
	})
}

// TestAtMostFourFeedsAreReadAtOnce.
func TestAtMostFourFeedsAreReadAtOnce(t *testing.T) {
	var mu sync.Mutex
	now, most := 0, 0
	count := func(d int) {
		mu.Lock()
		defer mu.Unlock()
		now += d
		most = max(most, now)
	}
	inMemory(t, func(w http.ResponseWriter, _ *http.Request) {
		count(1)
		time.Sleep(time.Second)
		count(-1)
		fmt.Fprint(w, rss())
	}, func(t *testing.T, r *newsroom) {
		for i := range 20 {
			r.Feeds = append(r.Feeds, fmt.Sprint("http://127.0.0.1/", i))
		}
		began := time.Now()
		if err := r.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); most != feedsAtOnce || took != 5*time.Second {
			t.Errorf("%d at once, %v", most, took)
		}
	})
}

// TestOneNodeReads, and another one takes over when it stops, without reading anything twice.
func TestOneNodeReads(t *testing.T) {
	var mu sync.Mutex
	calls := 0
	inMemory(t, func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		calls++
		fmt.Fprint(w, rss(fmt.Sprintf("%d|title %d|", calls, calls)))
	}, func(t *testing.T, r *newsroom) {
		called := func() int {
			mu.Lock()
			defer mu.Unlock()
			defer func() { calls = 0 }()
			return calls
		}
		r.Feeds = []string{"http://127.0.0.1/rss"}
		start := func(node string) (stop func()) {
			n := &News{Store: r.Store, Feeds: r.Feeds, Client: r.Client, Node: node, Now: time.Now, Log: r.Log}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- n.Run(ctx) }()
			return func() {
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
		}
		stopA := start("a")
		synctest.Wait()
		stopB := start("b")
		time.Sleep(time.Hour + time.Minute)
		if n := called(); n < 4 || n > 5 {
			t.Errorf("%d calls in an hour", n)
		}
		stopA()
		time.Sleep(time.Minute)
		if n := called(); n != 0 {
			t.Errorf("%d calls right after the other node took over", n)
		}
		time.Sleep(time.Hour)
		if n := called(); n < 3 || n > 4 {
			t.Errorf("%d calls in the next hour", n)
		}
		stopB()
		is(t, "logged", r.logged(), "")
	})
}

// TestNewsEndsWithItsStore, and without feeds with its context.
func TestNewsEndsWithItsStore(t *testing.T) {
	inMemory(t, func(http.ResponseWriter, *http.Request) {}, func(t *testing.T, r *newsroom) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("without feeds: %v", err)
		}
		closed := openNewsStore(t, filepath.Join(t.TempDir(), "closed.db"))
		if err := closed.Close(); err != nil {
			t.Fatal(err)
		}
		n := &News{Store: closed, Feeds: []string{"http://127.0.0.1/"}, Client: r.Client, Node: "a", Now: time.Now, Log: r.Log}
		if err := n.Run(t.Context()); !errors.Is(err, store.ErrClosed) {
			t.Errorf("with a closed store: %v", err)
		}
	})
}

// TestAStopIsNoFailure of the feeds that were being read.
func TestAStopIsNoFailure(t *testing.T) {
	var asked atomic.Bool
	inMemory(t, func(_ http.ResponseWriter, r *http.Request) {
		asked.Store(true)
		<-r.Context().Done()
	}, func(t *testing.T, r *newsroom) {
		r.Feeds = []string{"http://127.0.0.1/"}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Read(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		is(t, "logged", r.logged(), "")
		if len(r.tries) != 0 || !asked.Load() {
			t.Error("the feed has failed, or was never asked")
		}
	})
}
