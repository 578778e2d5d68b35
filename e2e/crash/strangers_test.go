package crash

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"purser/e2e/harness"
)

// Bounds of what strangers may cost. The attackers share the machine with whom they attack, so how soon a probe is
// answered is logged and not judged: that it is answered before its client gives up is.
const (
	maxMemory      = 150 << 20 // of the process, resident, at any moment
	fewestProbes   = 40
	fromOneAddress = 1
	fromMany       = 200
)

// TestStrangersCostLittle: whoever connects and shows no secret takes neither memory nor time from others,
// from one address or from many.
func TestStrangersCostLittle(t *testing.T) {
	w := harness.World(t, 100*time.Millisecond)
	for name, attack := range map[string]struct {
		connections int
		says        string
	}{
		"updates of nobody's":   {4_000, "POST /telegram/webhook HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1048576\r\n\r\n"},
		"requests without keys": {15_000, "POST /v1/wallet/send HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 65536\r\n\r\n"},
		"nothing at all":        {17_000, ""},
		"half a header":         {8_000, "POST /v1/wallet/send HTTP/1.1\r\nHost: x\r\nX-Long: " + strings.Repeat("x", 4000)},
		"half a page request":   {4_000, "POST /w/tx/get HTTP/1.1\r\nHost: x\r\nOrigin: ORIGIN\r\nContent-Type: application/json\r\nContent-Length: 16000\r\n\r\n{\"id\":\"" + strings.Repeat("x", 9000)},
	} {
		for _, addresses := range []int{fromOneAddress, fromMany} {
			t.Run(fmt.Sprintf("%s from %d", name, addresses), func(t *testing.T) {
				p := harness.NewProduct(t, binary, w, "PURSER_TELEGRAM_MODE=webhook", "PURSER_TELEGRAM_WEBHOOK_SECRET=0123456789abcdef")
				p.Start()
				quiet := memory(t, p.PID(), "VmRSS")
				probes := probe(p.URL)
				held := hold(t, p.URL, attack.connections, addresses, strings.ReplaceAll(attack.says, "ORIGIN", p.URL))
				took, err := probes()
				if err != nil || len(took) == 0 {
					t.Fatalf("/healthz: %v", err)
				}
				slices.Sort(took)
				median, worst := took[len(took)/2], took[len(took)-1]
				peak := memory(t, p.PID(), "VmHWM")
				t.Logf("%d MB before, %d MB at the peak; %d probes, half within %s, the worst %s", quiet>>20, peak>>20, len(took), median, worst)
				if peak > maxMemory {
					t.Errorf("%d MB of memory", peak>>20)
				}
				for _, c := range held {
					_ = c.Close()
				}
				p.Stop()
			})
		}
	}
}

// hold opens connections, in as many at a time as there are hands, says the same on each, and keeps them.
func hold(t *testing.T, url string, connections, addresses int, says string) []net.Conn {
	const hands = 64
	target := strings.TrimPrefix(url, "http://")
	var mu sync.Mutex
	var held []net.Conn
	var group sync.WaitGroup
	for hand := range hands {
		group.Go(func() {
			for i := hand; i < connections; i += hands {
				dialer := net.Dialer{Timeout: 10 * time.Second, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+i%addresses))}}
				c, err := dialer.Dial("tcp", target)
				if err != nil {
					t.Errorf("connection %d: %v", i, err)
					return
				}
				_, _ = io.WriteString(c, says) // it may have been turned away already
				mu.Lock()
				held = append(held, c)
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return held
}

// probe asks /healthz over and over, each time over a new connection, until the returned function is called.
func probe(url string) (end func() (took []time.Duration, err error)) {
	stop, done := make(chan struct{}), make(chan struct{})
	var took []time.Duration
	var failed error
	client := &http.Client{Timeout: harness.Wait, Transport: &http.Transport{DisableKeepAlives: true}}
	go func() {
		defer close(done)
		for {
			began := time.Now()
			resp, err := client.Get(url + "/healthz")
			if err != nil {
				failed = err
				return
			}
			resp.Body.Close()
			took = append(took, time.Since(began))
			select {
			case <-stop:
				if len(took) >= fewestProbes {
					return
				}
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return func() ([]time.Duration, error) {
		close(stop)
		<-done
		return took, failed
	}
}

// memory reads a size of a process from Linux, in bytes.
func memory(t *testing.T, pid int, name string) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			kilobytes, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
			if err != nil {
				t.Fatal(err)
			}
			return kilobytes << 10
		}
	}
	t.Fatalf("no %s in %s", name, status)
	return 0
}
