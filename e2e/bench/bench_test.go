// Package bench measures the built binary over sockets, as its users meet it, each figure beside a bound that is taken in the
// same run: a bare fiber handler, telebot's echo bot, raw POSTs. `make bench-binary` runs it; nothing in it is a test.
//
// The world (Telegram, Solana) and the load share two processors with purser, so that rates are lower than what purser alone
// could do. CPU is that of the measured process alone, from /proc.
package bench

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"purser/e2e/harness"
)

// purserBinary is the purser that is measured.
var purserBinary string

// role and roleAddress make this test binary another program, such as a bound, that listens on an address.
const (
	role        = "PURSER_BENCH_ROLE"
	roleAddress = "PURSER_BENCH_ADDRESS"
)

var roles = map[string]func(address string) error{"key": bareKey, "echo": echoBot}

func TestMain(m *testing.M) {
	if play := roles[os.Getenv(role)]; play != nil {
		fmt.Fprintln(os.Stderr, play(os.Getenv(roleAddress)))
		os.Exit(1)
	}
	path, remove, err := harness.Build()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	purserBinary = path
	code := m.Run()
	remove()
	os.Exit(code)
}

// process is a process that is measured.
type process struct{ pid int }

// cpu is what it has used so far (proc(5), utime and stime, in hundredths of a second).
func (p process) cpu(b *testing.B) time.Duration {
	b.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
	if err != nil {
		b.Skipf("needs Linux: %v", err)
	}
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')'):]))
	user, _ := strconv.ParseInt(fields[12], 10, 64)
	system, _ := strconv.ParseInt(fields[13], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond
}

// child starts this test binary in another role and waits until its address answers. The environment is extended by extra.
func child(b *testing.B, name, address string, extra ...string) process {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append(extra, role+"="+name, roleAddress+"="+address)...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }) // it ends by being killed
	p := process{cmd.Process.Pid}
	if strings.HasPrefix(address, "http") { // it listens on nothing itself
		return p
	}
	for began := time.Now(); time.Since(began) < harness.Wait; time.Sleep(10 * time.Millisecond) {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			return p
		}
	}
	b.Fatalf("%s does not listen", name)
	return p
}

// load is what one run of requests came to.
type load struct {
	count int
	took  time.Duration
	cpu   time.Duration // of the measured process
	times []time.Duration
}

func (l load) rate() float64    { return float64(l.count) / l.took.Seconds() }
func (l load) cpuEach() float64 { return float64(l.cpu.Microseconds()) / float64(l.count) }
func (l load) ms(part float64) float64 {
	return float64(l.times[min(len(l.times)-1, int(float64(len(l.times))*part))].Microseconds()) / 1000
}

// drive lets clients send requests one after the other over kept connections, for a while. prepare fills in the n-th request;
// each must be answered with the status.
func drive(b *testing.B, p process, address string, clients int, d time.Duration, status int, prepare func(n int64, req *fasthttp.Request)) load {
	b.Helper()
	client := &fasthttp.HostClient{Addr: address, MaxConns: clients}
	defer client.CloseIdleConnections()
	var next atomic.Int64
	var group sync.WaitGroup
	times := make([][]time.Duration, clients)
	before, began := p.cpu(b), time.Now()
	for i := range clients {
		group.Go(func() {
			req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
			defer fasthttp.ReleaseRequest(req)
			defer fasthttp.ReleaseResponse(resp)
			for time.Since(began) < d {
				req.Reset()
				prepare(next.Add(1)-1, req)
				at := time.Now()
				if err := client.Do(req, resp); err != nil || resp.StatusCode() != status {
					b.Errorf("%d %s %v", resp.StatusCode(), resp.Body(), err)
					return
				}
				times[i] = append(times[i], time.Since(at))
			}
		})
	}
	group.Wait()
	l := load{took: time.Since(began), cpu: p.cpu(b) - before, times: slices.Concat(times...)}
	l.count = len(l.times)
	slices.Sort(l.times)
	if l.count == 0 {
		b.Fatal("nothing was answered")
	}
	return l
}

// medianOf is the median of what measure says of several runs.
func medianOf(all []load, measure func(load) float64) float64 {
	values := make([]float64, len(all))
	for i, l := range all {
		values[i] = measure(l)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

func p50(l load) float64 { return l.ms(0.5) }
func p99(l load) float64 { return l.ms(0.99) }

// syncs is how many syncs of the disk a measurement of it makes.
const syncs = 200

// reportDisk reports ms-sync, the median of the time in which the disk of a folder takes a page for good, at the pace of 100 a second.
// A commit waits for two. So figures of different disks can be compared.
func reportDisk(b *testing.B, folder string) {
	b.Helper()
	f, err := os.CreateTemp(folder, "sync")
	if err != nil {
		b.Fatal(err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	page := make([]byte, os.Getpagesize())
	l := load{}
	ticks := time.NewTicker(10 * time.Millisecond)
	defer ticks.Stop()
	for i := range syncs {
		<-ticks.C
		if _, err := f.WriteAt(page, int64(i*len(page))); err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
		l.times = append(l.times, time.Since(began))
	}
	slices.Sort(l.times)
	b.ReportMetric(p50(l), "ms-sync")
}

// bounded is a context for what is set up.
func bounded(b *testing.B) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 10*harness.Wait)
	b.Cleanup(cancel)
	return ctx
}
