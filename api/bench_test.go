package api

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"purser/chain"
	product "purser/e2e/harness"
	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// bareAddress makes this test binary another program: a bare fiber server, the bound of the benchmarks.
const bareAddress = "PURSER_BENCH_BARE"

func TestMain(m *testing.M) {
	if address := os.Getenv(bareAddress); address != "" {
		fmt.Fprintln(os.Stderr, bareApp().Listen(address))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// bareApp is a fiber handler that writes what GET /v1/key does, and decides nothing.
func bareApp() *fiber.App {
	app := fiber.New(fiber.Config{DisableStartupMessage: true, Immutable: true})
	app.Get("/v1/key", func(c *fiber.Ctx) error {
		now := wallet.Timestamp(time.Now())
		return c.JSON(success{Success: true, Data: keyData{KeyID: "key_1k888lks2b3fkpvck7945gg5rn", Kind: wallet.APIKey, Tier: wallet.ProTier, Scopes: wallet.ScopesOf(wallet.APIKey),
			Cluster: "localnet", CreatedAt: now, LastUsedAt: now, RateLimit: rateLimitData{4_000_000_000, 3_999_999_999, 3_599}}, Message: "Key read.", Timestamp: now})
	})
	return app
}

// server is a process that is measured.
type server struct {
	address string
	pid     int
	header  string
	rates   []float64
	costs   []float64 // CPU seconds a request
	p99     []time.Duration
}

// cpu is what a process has used so far, in seconds (proc(5), utime and stime).
func (s *server) cpu(b *testing.B) float64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.pid))
	if err != nil {
		b.Skipf("needs Linux: %v", err)
	}
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')'):]))
	user, _ := strconv.ParseFloat(fields[12], 64)
	system, _ := strconv.ParseFloat(fields[13], 64)
	return (user + system) / 100
}

// drive sends requests over keep-alive connections for a while.
func (s *server) drive(b *testing.B, clients int, d time.Duration) {
	client := &fasthttp.HostClient{Addr: s.address, MaxConns: clients}
	before, began := s.cpu(b), time.Now()
	var count atomic.Int64
	var group sync.WaitGroup
	times := make([][]time.Duration, clients)
	for i := range clients {
		group.Go(func() {
			req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
			req.SetRequestURI("http://" + s.address + "/v1/key")
			req.Header.Set("Authorization", "Bearer "+s.header)
			for time.Since(began) < d {
				at := time.Now()
				if err := client.Do(req, resp); err != nil || resp.StatusCode() != 200 {
					b.Errorf("%d %s %v", resp.StatusCode(), resp.Body(), err)
					return
				}
				times[i] = append(times[i], time.Since(at))
				count.Add(1)
			}
		})
	}
	group.Wait()
	took := time.Since(began).Seconds()
	n := float64(count.Load())
	s.rates = append(s.rates, n/took)
	s.costs = append(s.costs, (s.cpu(b)-before)/n)
	all := slices.Concat(times...)
	slices.Sort(all)
	s.p99 = append(s.p99, all[len(all)*99/100])
	client.CloseIdleConnections()
}

func median[T int64 | float64 | time.Duration](all []T) T {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}

// BenchmarkKeyRead measures an authenticated, limited, enveloped read of the built binary beside a bare
// fiber handler that writes the same JSON, each in a process of its own, in turns.
func BenchmarkKeyRead(b *testing.B) {
	binary, remove, err := product.Build()
	check(b, err)
	b.Cleanup(remove)
	p := product.NewProduct(b, binary, product.World(b, 400*time.Millisecond), "PURSER_LIMITS_API_PRO=4000000000", "PURSER_LOG_LEVEL=warn")
	p.Start()
	out, err := p.CLI("key", "create", "--tier", "pro", "--json")
	check(b, err)
	var key struct{ Key string }
	check(b, json.Unmarshal([]byte(out), &key))
	ours := &server{address: strings.TrimPrefix(p.URL, "http://"), pid: p.PID(), header: key.Key}

	bare := &server{address: product.FreeAddress(b), header: key.Key}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), bareAddress+"="+bare.address, "GOGC=") // as fiber's users run it
	check(b, cmd.Start())
	b.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }) // it ends by being killed
	bare.pid = cmd.Process.Pid
	for began := time.Now(); time.Since(began) < product.Wait; runtime.Gosched() {
		if status, _, err := fasthttp.Get(nil, "http://"+bare.address+"/v1/key"); err == nil && status == 200 {
			break
		}
	}
	for b.Loop() {
		ours.drive(b, 64, time.Second)
		bare.drive(b, 64, time.Second)
	}
	b.ReportMetric(median(ours.rates), "requests/s")
	b.ReportMetric(median(ours.rates)/median(bare.rates), "of-bare-rate")
	b.ReportMetric(median(ours.costs)*1e6, "cpu-µs/request")
	b.ReportMetric(median(ours.costs)/median(bare.costs), "×-bare-cpu")
	b.ReportMetric(float64(median(ours.p99).Microseconds())/1000, "ms-p99")
	b.ReportMetric(float64(median(bare.p99).Microseconds())/1000, "ms-p99-bare")
}

// canned is a chain that gives each question the answer of its first time.
type canned struct {
	*chain.Client
	answers sync.Map
}

func remembered[T any](c *canned, question string, ask func() (T, error)) (T, error) {
	if known, ok := c.answers.Load(question); ok {
		return known.(T), nil
	}
	answer, err := ask()
	if err == nil {
		c.answers.Store(question, answer)
	}
	return answer, err
}

func (c *canned) RentMinimum(ctx context.Context, size uint64) (uint64, error) {
	return remembered(c, "rent", func() (uint64, error) { return c.Client.RentMinimum(ctx, size) })
}

func (c *canned) Parties(ctx context.Context, from, to wallet.Address) (wallet.Parties, error) {
	return remembered(c, "parties", func() (wallet.Parties, error) { return c.Client.Parties(ctx, from, to) })
}

func (c *canned) UnitPrice(ctx context.Context, w []wallet.Address) (uint64, error) {
	return remembered(c, "price", func() (uint64, error) { return c.Client.UnitPrice(ctx, w) })
}

func (c *canned) Fee(ctx context.Context, message []byte) (uint64, error) {
	return remembered(c, "fee", func() (uint64, error) { return c.Client.Fee(ctx, message) })
}

func (c *canned) Blockhash(ctx context.Context) (wallet.Blockhash, error) {
	return remembered(c, "blockhash", func() (wallet.Blockhash, error) { return c.Client.Blockhash(ctx) })
}

func (c *canned) Simulate(ctx context.Context, message []byte) (uint64, error) {
	return remembered(c, "simulate", func() (uint64, error) { return c.Client.Simulate(ctx, message) })
}

// BenchmarkSend measures POST /v1/wallet/send with 64 clients, the chain's answers canned, beside the
// store's own rate for one row a commit in the same run.
func BenchmarkSend(b *testing.B) {
	const clients, sends, wallets = 64, 16000, 6 * 16000 // each wallet sends once or twice: what waits of it is summed up
	r := newHarness(b, func(s *Server) {                 // the world's clock stands still, in which no order of time helps the store
		s.Now, s.Meter.Now, s.Transfers.Now, s.Signing.Now = time.Now, time.Now, time.Now, time.Now
		s.Transfers.NewID = wallet.TimedIDs(time.Now, rand.Reader)
	})
	node := &canned{Client: r.Chain}
	r.Transfers.Chain, r.Transfers.Network = node, node
	key, secret, err := r.Keys.Create(context.Background(), handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier})
	r.Must(err)
	var from []wallet.Address
	own := r.Stranger()
	r.Fund(own, 100*sol)
	from = append(from, own)
	for i := range wallets - 1 {
		from = append(from, wallet.Address(sha256.Sum256(binary.LittleEndian.AppendUint64(nil, uint64(i)))))
	}
	for batch := range slices.Chunk(from, 1000) {
		r.Must(r.Update(func(tx store.Tx) error {
			for _, a := range batch {
				if err := tx.PutWallet(wallet.Wallet{Address: a, Type: wallet.DeveloperWallet, KeyLineage: key.Lineage(), ConnectedAt: r.Now()}); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	inParallel := func(n int, do func(i int)) time.Duration {
		began := time.Now()
		var next atomic.Int64
		var group sync.WaitGroup
		for range clients {
			group.Go(func() {
				for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
					do(i)
				}
			})
		}
		group.Wait()
		return time.Since(began)
	}
	client := &fasthttp.HostClient{Addr: strings.TrimPrefix(r.base, "http://"), MaxConns: clients}
	post := func(i, round int) (body []byte) {
		req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		defer fasthttp.ReleaseRequest(req)
		defer fasthttp.ReleaseResponse(resp)
		req.SetRequestURI(r.base + "/v1/wallet/send")
		req.Header.SetMethod("POST")
		req.Header.Set("Authorization", "Bearer "+secret)
		req.Header.SetContentType("application/json")
		req.Header.Set("Idempotency-Key", fmt.Sprintf("%d-%d", round, i))
		req.SetBodyString(fmt.Sprintf(`{"from":%q,"to":%q,"amount":"0.001","token":"SOL"}`, from[(round*sends+i+1)%wallets], r.bob.Address()))
		if err := client.Do(req, resp); err != nil || resp.StatusCode() != 202 {
			b.Errorf("%d %s %v", resp.StatusCode(), resp.Body(), err)
		}
		return bytes.Clone(resp.Body())
	}
	body := post(sends-1, -1) // wallet 0; the canned answers are those of the wallet that has funds
	var answered struct{ Data sendData }
	r.Must(json.Unmarshal(body, &answered))
	sent, err := r.Transfers.Read(context.Background(), handlers.CallerOf(key), answered.Data.TransactionID)
	r.Must(err)
	sent.Status, sent.Changes = wallet.AwaitingConfirmation, 0
	// commits is what the store does without anybody in front of it.
	commits := func(write func(i int, tx store.Tx) error) float64 {
		took := inParallel(sends, func(i int) {
			r.Must(r.Update(func(tx store.Tx) error { return write(i, tx) }))
		})
		return sends / took.Seconds()
	}
	var rates, bounds, same []float64
	var slowest []time.Duration
	round := 0
	for b.Loop() {
		times := make([]time.Duration, sends)
		took := inParallel(sends, func(i int) {
			at := time.Now()
			post(i, round)
			times[i] = time.Since(at)
		})
		rates = append(rates, sends/took.Seconds())
		slices.Sort(times)
		slowest = append(slowest, times[sends*99/100])
		bounds = append(bounds, commits(func(i int, tx store.Tx) error {
			return tx.CreateTransaction(wallet.Transaction{ID: wallet.TransactionID(r.Transfers.NewID("tx")), Kind: wallet.Send, From: from[i%wallets], CreatedAt: time.Now(), Closed: true})
		}))
		same = append(same, commits(func(i int, tx store.Tx) error { // the rows of a send
			t := sent
			t.ID, t.From, t.CreatedAt = wallet.TransactionID(r.Transfers.NewID("tx")), from[(round*sends+i)%wallets], time.Now()
			if _, err := store.Begin(tx, t, wallet.TransitionInput{By: wallet.OwnerConfirmed, At: t.CreatedAt}); err != nil {
				return err
			}
			return tx.PutIdempotencyRecord(string(t.ID), store.IdempotencyRecord{Status: 202, Body: body, ExpiresAt: t.CreatedAt.Add(idempotencyTTL)})
		}))
		round++
	}
	b.ReportMetric(median(rates), "sends/s")
	b.ReportMetric(median(rates)/median(bounds), "of-one-row-commits")
	b.ReportMetric(median(rates)/median(same), "of-same-rows-commits")
	b.ReportMetric(float64(median(slowest).Microseconds())/1000, "ms-p99")
}

// BenchmarkManyRows reads a page of transactions, and a key, among few rows and among very many: what
// else is stored is not to be felt.
func BenchmarkManyRows(b *testing.B) {
	const few, many, manyKeys = 1000, 1_000_000, 10_000
	r := newHarness(b)
	put := func(from, to int) {
		for batch := from; batch < to; batch += 1000 {
			r.Must(r.Update(func(tx store.Tx) error {
				for i := batch; i < min(batch+1000, to); i++ {
					t := wallet.Transaction{ID: wallet.TransactionID(fmt.Sprintf("tx_b_%07d", i)), Kind: wallet.Send, Status: wallet.Confirmed, Closed: true,
						Owner: r.alice.User.ID, From: r.alice.Address(), To: r.bob.Address(), Amount: uint64(i), CreatedAt: r.Now().Add(time.Duration(i) * time.Millisecond)}
					if err := tx.CreateTransaction(t); err != nil {
						return err
					}
				}
				return nil
			}))
		}
	}
	client := &fasthttp.HostClient{Addr: strings.TrimPrefix(r.base, "http://")}
	measure := func(path string) time.Duration {
		req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		defer fasthttp.ReleaseRequest(req)
		defer fasthttp.ReleaseResponse(resp)
		req.SetRequestURI(r.base + path)
		req.Header.Set("Authorization", "Bearer "+r.alice.secret)
		var times []time.Duration
		for range 300 {
			at := time.Now()
			if err := client.Do(req, resp); err != nil || resp.StatusCode() != 200 {
				b.Fatalf("%d %s %v", resp.StatusCode(), resp.Body(), err)
			}
			times = append(times, time.Since(at))
		}
		return median(times)
	}
	put(0, few)
	list, key := "/v1/wallet/transactions?limit=20&source=purser", "/v1/key"
	listFew, keyFew := measure(list), measure(key)
	put(few, many)
	for i := range manyKeys {
		if _, _, err := r.Keys.Create(context.Background(), handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.FreeTier}); err != nil {
			b.Fatalf("key %d: %v", i, err)
		}
	}
	var listMany, keyMany []time.Duration
	for b.Loop() {
		listMany, keyMany = append(listMany, measure(list)), append(keyMany, measure(key))
	}
	b.ReportMetric(float64(median(listMany).Microseconds()), "µs-list")
	b.ReportMetric(float64(median(listMany))/float64(listFew), "×-few-list")
	b.ReportMetric(float64(median(keyMany))/float64(keyFew), "×-few-key")
}
