// Long: the load of receivers and its figures, which share one harness.

package webhooks_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"purser/quota"
	"purser/store"
	"purser/store/local"
	"purser/store/records"
	"purser/store/storetest"
	"purser/wallet"
	"purser/webhooks"
	"purser/work"
)

// receiverAddress makes this test binary another program: receivers that answer 200 at once, 503 under
// /broken, or never under /hang.
const receiverAddress = "PURSER_BENCH_RECEIVER"

func serveReceivers(address string) error {
	return http.ListenAndServe(address, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) //nolint:errcheck // a sender that goes away is no news
		switch r.URL.Path {
		case "/hang":
			<-r.Context().Done()
		case "/broken":
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
}

// receivers starts the other process and returns its address.
func receivers(b *testing.B) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), receiverAddress+"="+address)
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }) // it ends by being killed
	for range 1000 {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			return address
		}
		time.Sleep(10 * time.Millisecond)
	}
	b.Fatal("no receivers")
	return ""
}

// cpu is what this process has used so far.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// bench is a service with its publishers; each person has one webhook and as many wallets as there are publishers.
type bench struct {
	*testing.B
	store   *records.Store
	service *webhooks.Service
	people  []wallet.UserID
	ids     func(prefix string) string
	serial  atomic.Int64

	mu      sync.Mutex
	emitted map[string]time.Time // by event id
	took    []time.Duration      // from the call of Emit's Update to the receiver's 200
	arrived chan struct{}

	failing func(eventID string) bool // its first attempt fails
	failed  map[string]time.Time
	late    []time.Duration // by how much a second attempt missed its second
}

func newBench(b *testing.B, address string, endpoints int, paths ...string) *bench {
	b.Helper()
	x := newIdle(b, address, endpoints, paths...)
	x.run()
	return x
}

// newIdle is a service that does not run yet. A path that begins with : is at that port.
func newIdle(b *testing.B, address string, endpoints int, paths ...string) *bench {
	b.Helper()
	dir := b.TempDir()
	s, err := local.Open(local.Options{Path: filepath.Join(dir, "purser.db"), MasterKey: bytes.Repeat([]byte{7}, store.MasterKeySize), Random: rand.Reader, Kinds: storetest.Kinds()})
	if err != nil {
		b.Fatal(err)
	}
	log, err := local.OpenLog(filepath.Join(dir, "log"), s)
	if err != nil {
		b.Fatal(err)
	}
	poster, err := webhooks.NewPoster(webhooks.Options{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, AllowHTTP: true, Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	x := &bench{B: b, store: s, emitted: map[string]time.Time{}, arrived: make(chan struct{}, 1<<20), ids: wallet.TimedIDs(time.Now, rand.Reader)}
	silent := slog.New(slog.DiscardHandler)
	meter := &quota.Meter{Store: s, Now: time.Now, Log: silent}
	x.service = &webhooks.Service{Store: s, Node: "main", Log: log, Meter: meter, Limit: quota.Limit{Count: 1 << 40, Span: time.Hour},
		Schedule: work.Schedule{Waits: []time.Duration{time.Second, 2 * time.Second}}, Retention: time.Hour, Now: time.Now, Logger: silent,
		Transport: transportFunc(func(ctx context.Context, m webhooks.Message) webhooks.Result {
			if x.fails(m.EventID) {
				return webhooks.Result{Status: http.StatusServiceUnavailable}
			}
			r := poster.Post(ctx, m)
			if r.Status == http.StatusOK {
				x.note(m.EventID)
			}
			return r
		})}
	for i := range endpoints {
		path := "/ok"
		if i < len(paths) {
			path = paths[i]
		}
		at := address
		if strings.HasPrefix(path, ":") {
			at = "127.0.0.1"
		}
		x.people = append(x.people, x.person(i, "http://"+at+path))
	}
	b.Cleanup(func() {
		poster.Close()
		log.Close()
		s.Close()
	})
	return x
}

// run delivers until stop, or until the benchmark ends.
func (x *bench) run() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- x.service.Meter.Run(ctx) }()
	go func() { ended <- x.service.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				x.Error(err)
			}
		}
	})
	x.Cleanup(stop)
	return stop
}

// fails reports whether an attempt is to fail, and notes how late one is that had failed before.
func (x *bench) fails(event string) bool {
	if x.failing == nil || !x.failing(event) {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	at, again := x.failed[event]
	if again {
		x.late = append(x.late, time.Since(at)-time.Second)
		return false
	}
	x.failed[event] = time.Now()
	return true
}

// note takes down that an event has arrived.
func (x *bench) note(event string) {
	x.mu.Lock()
	x.took = append(x.took, time.Since(x.emitted[event]))
	delete(x.emitted, event)
	x.mu.Unlock()
	x.arrived <- struct{}{}
}

func (x *bench) person(i int, url string) wallet.UserID {
	x.Helper()
	now := time.Now().UTC()
	id, key := wallet.UserID(fmt.Sprint("usr_", i)), fmt.Sprint("key_", i)
	err := x.store.Update(context.Background(), func(tx store.Tx) error {
		if err := tx.PutUser(wallet.User{ID: id, TelegramID: int64(i + 1), RegisteredAt: now}); err != nil {
			return err
		}
		if err := tx.CreateKey(wallet.Key{ID: key, Kind: wallet.APIKey, Tier: wallet.ProTier, Scopes: wallet.Scopes(), Owner: id, CreatedAt: now}, "secret "+key); err != nil {
			return err
		}
		return tx.PutWebhook(wallet.Webhook{ID: wallet.WebhookID(fmt.Sprint("wh_", i)), Kind: wallet.APIKey, Lineage: key, Owner: id, URL: url,
			Events: []string{"*"}, Active: true, Secret: "a secret of a webhook", CreatedAt: now})
	})
	if err != nil {
		x.Fatal(err)
	}
	return id
}

// emit is one durable event of 0.9 KB, of the n-th person.
func (x *bench) emit(n int) {
	i := x.serial.Add(1)
	id := x.ids("tx")
	e, err := wallet.NewEvent(fmt.Sprintf("evt_%s_3_%d", id, i), wallet.TransactionFailed, time.Now().UTC(), x.people[n%len(x.people)], wallet.TransactionFailedData{
		TransactionID: wallet.TransactionID(id), WalletAddress: wallet.Address{byte(i % 64)}, Amount: "1.5", Token: "SOL", Type: wallet.ActivitySent,
		ErrorCode: wallet.InsufficientBalance, ErrorMessage: strings.Repeat("x", 560), FailedAt: wallet.Timestamp(time.Now())})
	if err != nil {
		x.Fatal(err)
	}
	x.mu.Lock()
	x.emitted[e.ID] = time.Now()
	x.mu.Unlock()
	if err := x.store.Update(context.Background(), func(tx store.Tx) error { return tx.Emit(e) }); err != nil {
		x.Error(err)
	}
}

// flood emits n events by 64 publishers, and waits until all have arrived.
func (x *bench) flood(n int) (rate float64, each time.Duration) {
	began, used := time.Now(), cpu(x.B)
	var group sync.WaitGroup
	for p := range 64 {
		group.Go(func() {
			for i := p; i < n; i += 64 {
				x.emit(i)
			}
		})
	}
	for range n {
		<-x.arrived
	}
	took := time.Since(began)
	group.Wait()
	return float64(n) / took.Seconds(), (cpu(x.B) - used) / time.Duration(n)
}

// steady emits at a rate for a while.
func (x *bench) steady(rate int, d time.Duration) (p50, p99 time.Duration) {
	x.forget()
	n := int(float64(rate) * d.Seconds())
	began := time.Now()
	var group sync.WaitGroup
	for i := range n {
		time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / time.Duration(rate))))
		group.Go(func() { x.emit(i) })
	}
	for range n {
		<-x.arrived
	}
	group.Wait()
	return x.percentiles()
}

// forget begins the latencies again.
func (x *bench) forget() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.took = nil
}

func (x *bench) percentiles() (p50, p99 time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	slices.Sort(x.took)
	return x.took[len(x.took)/2], x.took[len(x.took)*99/100]
}

// raw is the bound: signed POSTs of the same size over kept connections by Go's own client, by 64 at once.
func raw(b *testing.B, address string, n int) float64 {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	body := bytes.Repeat([]byte("x"), 900)
	began := time.Now()
	var group sync.WaitGroup
	for p := range 64 {
		group.Go(func() {
			for i := p; i < n; i += 64 {
				mac := hmac.New(sha256.New, []byte("a secret of a webhook"))
				mac.Write(body)
				request, err := http.NewRequest(http.MethodPost, "http://"+address+"/ok", bytes.NewReader(body))
				if err != nil {
					b.Error(err)
					return
				}
				request.Header.Set("Content-Type", "application/json")
				request.Header.Set("x-service-signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
				response, err := client.Do(request)
				if err != nil {
					b.Error(err)
					return
				}
				io.Copy(io.Discard, response.Body) //nolint:errcheck // it is empty
				response.Body.Close()
			}
		})
	}
	group.Wait()
	return float64(n) / time.Since(began).Seconds()
}

// commits is the other bound: events made durable by 64 publishers, with nobody to be told.
func (x *bench) commits(n int) float64 {
	began := time.Now()
	var group sync.WaitGroup
	for p := range 64 {
		group.Go(func() {
			for i := p; i < n; i += 64 {
				err := x.store.Update(context.Background(), func(tx store.Tx) error {
					return tx.PutCounters([]store.Counter{{Name: fmt.Sprint(i), ExpiresAt: time.Now()}})
				})
				if err != nil {
					x.Error(err)
				}
			}
		})
	}
	group.Wait()
	return float64(n) / time.Since(began).Seconds()
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// BenchmarkSaturated: 64 publishers as fast as they can, until all has arrived, beside raw POSTs and raw commits.
func BenchmarkSaturated(b *testing.B) {
	for _, endpoints := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("endpoints=%d", endpoints), func(b *testing.B) {
			address := receivers(b)
			x := newBench(b, address, endpoints)
			x.flood(1000)
			const n = 20_000
			var rates, posts, rows, cost, slowest []float64
			for b.Loop() {
				posts, rows = append(posts, raw(b, address, n)), append(rows, x.commits(n))
				x.forget()
				rate, each := x.flood(n)
				_, p99 := x.percentiles()
				rates, cost, slowest = append(rates, rate), append(cost, float64(each.Microseconds())), append(slowest, ms(p99))
			}
			b.ReportMetric(median(rates), "events/s")
			b.ReportMetric(median(rates)/median(posts), "of-raw-POSTs")
			b.ReportMetric(median(rates)/median(rows), "of-raw-commits")
			b.ReportMetric(median(cost), "cpu-µs/event")
			b.ReportMetric(median(slowest), "ms-p99")
		})
	}
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// BenchmarkSteady: from the call that makes an event durable to its receiver's 200, at a rate.
func BenchmarkSteady(b *testing.B) {
	for _, endpoints := range []int{1, 100, 1000} {
		for _, rate := range []int{400, 1200} {
			b.Run(fmt.Sprintf("endpoints=%d/rate=%d", endpoints, rate), func(b *testing.B) {
				x := newBench(b, receivers(b), endpoints)
				x.flood(500)
				for b.Loop() {
					p50, p99 := x.steady(rate, 3*time.Second)
					b.ReportMetric(ms(p50), "ms-p50")
					b.ReportMetric(ms(p99), "ms-p99")
				}
			})
		}
	}
}

// BenchmarkDisturbed: what a hundred receivers wait for at 400 events/s, and how many events they get at most: alone,
// while one hangs for 30 s, and while three of them hang, refuse connections and answer 503. The broken ones have
// much waiting.
func BenchmarkDisturbed(b *testing.B) {
	for _, c := range []struct {
		name  string
		paths []string
	}{{"all-well", nil}, {"one-hangs", []string{"/hang"}}, {"three-broken", []string{"/hang", ":9/", "/broken"}}} {
		b.Run(c.name, func(b *testing.B) {
			x := newBench(b, receivers(b), 100, c.paths...)
			broken := len(c.paths)
			x.people = x.people[broken:]
			var p50s, p99s, rates []float64
			for b.Loop() {
				for i := range broken {
					x.people = append(x.people, wallet.UserID(fmt.Sprint("usr_", i)))
					for range 200 {
						x.emit(len(x.people) - 1)
					}
					x.people = x.people[:len(x.people)-1]
				}
				p50, p99 := x.steady(400, 3*time.Second)
				rate, _ := x.flood(10_000)
				p50s, p99s, rates = append(p50s, ms(p50)), append(p99s, ms(p99)), append(rates, rate)
			}
			b.ReportMetric(median(p50s), "ms-p50")
			b.ReportMetric(median(p99s), "ms-p99")
			b.ReportMetric(median(rates), "events/s")
		})
	}
}

// BenchmarkRetries: by how much second attempts miss their time while 1,000 events/s are delivered, of which each
// tenth fails at first.
func BenchmarkRetries(b *testing.B) {
	x := newBench(b, receivers(b), 100)
	x.failed, x.failing = map[string]time.Time{}, func(event string) bool {
		n, _ := strconv.Atoi(event[strings.LastIndexByte(event, '_')+1:])
		return n%97 < 10 // of all webhooks alike
	}
	for b.Loop() {
		x.steady(1000, 3*time.Second)
		x.mu.Lock()
		slices.Sort(x.late)
		b.ReportMetric(ms(x.late[len(x.late)/2]), "ms-late-p50")
		b.ReportMetric(ms(x.late[len(x.late)*99/100]), "ms-late-p99")
		x.mu.Unlock()
	}
}

// BenchmarkBacklog: 10,000 events are delivered while so many wait for the same webhook; and how much memory
// that takes, beside the file's own pages.
func BenchmarkBacklog(b *testing.B) {
	for _, waiting := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprint("waiting=", waiting), func(b *testing.B) {
			address := receivers(b)
			var rates, memory []float64
			for b.Loop() {
				b.StopTimer()
				x := backlog(b, address, waiting)
				b.StartTimer()
				began := time.Now()
				stop := x.run()
				for range 10_000 {
					<-x.arrived
				}
				rates = append(rates, 10_000/time.Since(began).Seconds())
				memory = append(memory, float64(anonymous(b))/(1<<20))
				stop()
			}
			b.ReportMetric(median(rates), "events/s")
			b.ReportMetric(median(memory), "MiB")
		})
	}
}

// backlog is a service that does not run yet, with so many deliveries that wait for its one webhook.
func backlog(b *testing.B, address string, waiting int) *bench {
	x := newIdle(b, address, 1)
	now := time.Now().UTC()
	body := []byte(`{"event":"transaction.failed","data":"` + strings.Repeat("x", 850) + `"}`)
	for done := 0; done < waiting; done += 5000 {
		rows := make([]store.Delivery, 5000)
		for i := range rows {
			n := done + i
			rows[i] = store.Delivery{ID: fmt.Sprintf("dlv_%011x", n), Webhook: "wh_0", EventID: fmt.Sprint("evt_", n), Event: wallet.TransactionFailed,
				User: "usr_0", OrderingKey: fmt.Sprint(n % 64), Body: body, CreatedAt: now, NextAt: now}
		}
		if err := x.store.Update(context.Background(), func(tx store.Tx) error { _, err := tx.PutDeliveries(rows); return err }); err != nil {
			b.Fatal(err)
		}
	}
	return x
}

// anonymous is this process' memory that is no file's (proc(5), RssAnon), in bytes.
func anonymous(b *testing.B) int {
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skipf("needs Linux: %v", err)
	}
	_, rest, _ := strings.Cut(string(raw), "RssAnon:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		b.Fatal(err)
	}
	return kib << 10
}
