// Package harness runs the built binary against a sandbox world in the test's own process, so that the
// product can be killed while the world goes on. It refuses to know what a test is about.
package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"purser/sandbox"
	"purser/sandbox/market"
	"purser/sandbox/telegram"
)

// Wait bounds every wait of the end-to-end tests. It is longer than store.ExpiredLeaseWait, the minute for which a job waits that was
// under way at many kills in a row.
const Wait = 2 * time.Minute

// Build makes the binary in a folder of its own. Tests of one package call it once, in TestMain.
func Build() (path string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "purser-e2e")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) } // a leftover in the temporary folder harms nobody
	path = filepath.Join(dir, "purser")
	build := exec.Command("go", "build", "-o", path, "purser")
	if out, err := build.CombinedOutput(); err != nil {
		remove()
		return "", nil, fmt.Errorf("build purser: %w\n%s", err, out)
	}
	return path, remove, nil
}

// World is a sandbox that runs until the test ends. Nothing of it is kept.
func World(t testing.TB, slot time.Duration) *sandbox.World {
	t.Helper()
	return open(t, sandbox.Options{SlotTime: slot})
}

// MarketWorld is World with a market, and the settings by which a purser uses it.
func MarketWorld(t testing.TB, slot time.Duration) (w *sandbox.World, settings []string) {
	t.Helper()
	w = open(t, sandbox.Options{SlotTime: slot, MarketListen: anyAddress})
	const calls = 60_000 // tests ask more often than people
	for _, provider := range []string{market.Jupiter, market.GeckoTerminal} {
		if err := w.Market.SetLimit(provider, calls); err != nil {
			t.Fatal(err)
		}
	}
	return w, []string{"PURSER_MARKET_SOURCES=jupiter", "PURSER_MARKET_URL=" + w.MarketURL(), "PURSER_MARKET_POOLS_URL=" + w.MarketURL(), fmt.Sprint("PURSER_MARKET_CALLS_PER_MINUTE=", calls)}
}

// anyAddress is a free address of this machine.
const anyAddress = "127.0.0.1:0"

// open runs a sandbox until the test ends.
func open(t testing.TB, options sandbox.Options) *sandbox.World {
	t.Helper()
	options.TelegramListen, options.RPCListen, options.WSListen, options.Now = anyAddress, anyAddress, anyAddress, time.Now
	w, err := sandbox.Open(options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-done, w.Close()); err != nil {
			t.Errorf("the sandbox ended with: %v", err)
		}
	})
	return w
}

// Product is purser as its own process. It keeps its store in Dir over kills and restarts.
type Product struct {
	t      testing.TB
	binary string
	args   []string // of every life
	env    []string
	serves string    // what it prints once it listens
	stop   os.Signal // what ends it politely
	home   string    // where it runs
	URL    string
	Pages  string // where the documentation is
	Market string // address of the sandbox's market; "" if there is none
	Dir    string // of its store

	mu    sync.Mutex
	log   bytes.Buffer  // of all its lives
	born  int           // where this life's log begins
	ready chan struct{} // closed when this life has printed that it serves; nil afterwards

	cmd *exec.Cmd
	end chan error
}

// NewProduct points a purser at a world; it does not start it. extra are further settings, as
// NAME=value.
func NewProduct(t testing.TB, binary string, w *sandbox.World, extra ...string) *Product {
	t.Helper()
	listen, pages, dir := FreeAddress(t), FreeAddress(t), t.TempDir()
	p := &Product{t: t, binary: binary, args: []string{"serve"}, serves: "purser serves ", stop: syscall.SIGTERM,
		URL: "http://" + listen, Pages: "http://" + pages, Dir: dir, home: dir}
	p.env = append([]string{
		"HOME=" + dir, "PATH=" + os.Getenv("PATH"),
		"PURSER_TELEGRAM_TOKEN=" + telegram.DefaultToken,
		"PURSER_TELEGRAM_API_URL=" + w.TelegramURL(),
		"PURSER_CHAIN_RPC_URL=" + w.RPCURL(),
		"PURSER_CHAIN_WS_URL=" + w.WSURL(),
		"PURSER_CHAIN_CLUSTER=localnet",
		"PURSER_HTTP_LISTEN=" + listen,
		"PURSER_HTTP_PUBLIC_URL=" + p.URL,
		"PURSER_HTTP_PAGES_LISTEN=" + pages,
		"PURSER_STORE_URL=bolt:" + filepath.Join(dir, "purser.db"),
		// Not what most tests are about; those that are say their own.
		"PURSER_LIMITS_API_FREE=1000000", "PURSER_LIMITS_API_PRO=1000000",
	}, extra...)
	return p.watched()
}

// Unconfigured is purser as somebody starts it who has configured nothing, and ends it by Ctrl-C:
// with its own sandbox, whose chat page is at the URL that is returned. Only its addresses and its
// folder are chosen, so that tests can stand beside each other.
func Unconfigured(t testing.TB, binary string, extra ...string) (p *Product, chat string) {
	t.Helper()
	listen, pages, chat, market := FreeAddress(t), FreeAddress(t), FreeAddress(t), FreeAddress(t)
	home := t.TempDir()
	dir := filepath.Join(home, "sandbox")
	p = &Product{t: t, binary: binary, serves: "purser runs in its own sandbox", stop: os.Interrupt,
		args: []string{"--sandbox-dir", dir, "--sandbox-telegram", chat, "--sandbox-rpc", FreeAddress(t), "--sandbox-ws", FreeAddress(t),
			"--sandbox-market", market},
		URL: "http://" + listen, Pages: "http://" + pages, Market: "http://" + market, Dir: dir, home: home}
	p.env = append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH"),
		"PURSER_HTTP_LISTEN=" + listen, "PURSER_HTTP_PUBLIC_URL=" + p.URL, "PURSER_HTTP_PAGES_LISTEN=" + pages}, extra...)
	return p.watched(), "http://" + chat
}

// watched ends the process with the test, and shows its log when the test has failed.
func (p *Product) watched() *Product {
	p.t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			p.t.Error(err)
		}
		if p.t.Failed() {
			p.t.Logf("the log of purser:\n%s", p.Log())
		}
	})
	return p
}

// FreeAddress reserves a port for as long as the test lasts: purser must know its public address before it
// starts, and comes back to it after a crash. The port is below those that the kernel gives away by itself, so
// that no connection of anybody takes it; and its UDP twin is held, by which all tests of all processes know
// that it is taken.
func FreeAddress(t testing.TB) string {
	t.Helper()
	const lowest, count = 12_000, 20_000
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", lowest+rand.IntN(count))
		twin, err := net.ListenPacket("udp", address)
		if err != nil {
			continue
		}
		l, err := net.Listen("tcp", address)
		if err != nil {
			twin.Close()
			continue
		}
		l.Close()
		t.Cleanup(func() { twin.Close() })
		return address
	}
	t.Fatal("no port is free")
	return ""
}

// Write takes what the process prints.
func (p *Product) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log.Write(text)
	if p.ready != nil && bytes.Contains(p.log.Bytes()[p.born:], []byte(p.serves)) {
		close(p.ready)
		p.ready = nil
	}
	return len(text), nil
}

// Log is everything that purser has printed so far, in all its lives.
func (p *Product) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

func (p *Product) command(args ...string) *exec.Cmd {
	cmd := exec.Command(p.binary, args...)
	cmd.Dir, cmd.Env = p.home, p.env
	return cmd
}

// Launch starts the process and does not wait for it to serve. args are added to those of every life.
func (p *Product) Launch(args ...string) error {
	_, err := p.launch(args)
	return err
}

// launch also returns a channel that is closed once the process has printed that it serves: it
// listens by then.
func (p *Product) launch(args []string) (serves <-chan struct{}, err error) {
	cmd, end, ready := p.command(slices.Concat(p.args, args)...), make(chan error, 1), make(chan struct{})
	cmd.Stdout, cmd.Stderr = p, p
	p.mu.Lock()
	p.born, p.ready = p.log.Len(), ready
	p.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p.cmd, p.end = cmd, end
	go func() { end <- cmd.Wait() }()
	return ready, nil
}

// PID is the running process.
func (p *Product) PID() int { return p.cmd.Process.Pid }

// Start launches the process and waits until it serves.
func (p *Product) Start(args ...string) {
	p.t.Helper()
	if err := p.Serve(args...); err != nil {
		p.t.Fatal(err)
	}
}

// Serve is Start for goroutines other than the test's.
func (p *Product) Serve(args ...string) error {
	serves, err := p.launch(args)
	if err != nil {
		return err
	}
	select {
	case <-serves:
		return nil
	case err := <-p.end:
		p.end <- err
		return fmt.Errorf("purser ended at its start: %w\n%s", err, p.Log())
	case <-time.After(Wait):
		return fmt.Errorf("purser does not serve\n%s", p.Log())
	}
}

// Kill ends the process as a power cut would, if it runs.
func (p *Product) Kill() error {
	if p.cmd == nil {
		return nil
	}
	if err := p.cmd.Process.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.end
	p.cmd = nil
	return nil
}

// Ended waits until the process has ended by itself, and tells how.
func (p *Product) Ended() error {
	err := <-p.end
	p.cmd = nil
	return err
}

// Stop ends the process politely: it must drain within 10 seconds and end without an error.
func (p *Product) Stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(p.stop); err != nil {
		p.t.Fatal(err)
	}
	select {
	case err := <-p.end:
		if err != nil {
			p.t.Fatalf("purser stopped with: %v\n%s", err, p.Log())
		}
	case <-time.After(12 * time.Second):
		p.t.Fatalf("purser does not stop\n%s", p.Log())
	}
	p.cmd = nil
}

// CLI runs one command of the binary beside (or without) the server.
func (p *Product) CLI(args ...string) (stdout string, err error) {
	var out, errOut bytes.Buffer
	cmd := p.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("purser %v: %w: %s", args, err, errOut.String())
	}
	return out.String(), nil
}
