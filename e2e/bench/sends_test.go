package bench

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mr-tron/base58"
	"github.com/valyala/fasthttp"
	"golang.org/x/sync/errgroup"

	purser "purser/clients/go"
	"purser/e2e/harness"
	"purser/sandbox"
	"purser/sandbox/solana"
)

// calls counts what is asked of the node, by method.
type calls struct {
	mu     sync.Mutex
	counts map[string]int
	all    atomic.Int64
}

func countCalls(w *sandbox.World) *calls {
	c := &calls{counts: map[string]int{}}
	w.Solana.SetFault(func(method string, _ json.RawMessage) solana.Fault {
		c.all.Add(1)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.counts[method]++
		return solana.Fault{}
	})
	return c
}

// wallets connects wallets of a program's own, each with enough money.
func wallets(b *testing.B, w *sandbox.World, p *harness.Product, secret string, count int) (addresses []string, keys []ed25519.PrivateKey) {
	b.Helper()
	client := purser.New(p.URL, secret)
	addresses, keys = make([]string, count), make([]ed25519.PrivateKey, count)
	var group errgroup.Group
	group.SetLimit(1) // a key has one open challenge
	for i := range count {
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(context.Background(), harness.Wait)
			defer cancel()
			_, key, err := ed25519.GenerateKey(rand.Reader)
			if err != nil {
				return err
			}
			keys[i], addresses[i] = key, base58.Encode(key.Public().(ed25519.PublicKey))
			if _, err := w.Solana.Airdrop(ctx, addresses[i], 1_000_000_000_000); err != nil {
				return err
			}
			challenge, err := client.ConnectChallenge(ctx, addresses[i])
			if err != nil {
				return err
			}
			signature, err := purser.SignChallenge(challenge.Message, key)
			if err != nil {
				return err
			}
			_, err = client.Connect(ctx, addresses[i], signature)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
	for began := time.Now(); ; {
		last, err := client.Balance(bounded(b), addresses[count-1])
		if err == nil && last.Balances["SOL"].Amount != "0" {
			return addresses, keys
		}
		if time.Since(began) > harness.Wait {
			b.Fatalf("the last wallet has no money: %+v %v", last, err)
		}
	}
}

// sending is a purser with wallets that a program signs for.
type sending struct {
	product *harness.Product
	world   *sandbox.World
	secret  string
	from    []string
	to      string
	rounds  int
}

func newSending(b *testing.B) *sending {
	b.Helper()
	s := &sending{world: harness.World(b, 400*time.Millisecond)}
	s.product = harness.NewProduct(b, purserBinary, s.world, unlimited...)
	s.product.Start()
	s.secret = newKey(b, s.product)
	s.from, _ = wallets(b, s.world, s.product, s.secret, 512)
	to, err := harness.NewDevice()
	if err != nil {
		b.Fatal(err)
	}
	s.to = to.Address()
	return s
}

// round lets 64 clients send for a while.
func (s *sending) round(b *testing.B, d time.Duration) load {
	b.Helper()
	s.rounds++
	return drive(b, process{s.product.PID()}, strings.TrimPrefix(s.product.URL, "http://"), 64, d, 202, func(n int64, req *fasthttp.Request) {
		req.SetRequestURI(s.product.URL + "/v1/wallet/send")
		req.Header.SetMethod("POST")
		req.Header.Set("Authorization", "Bearer "+s.secret)
		req.Header.SetContentType("application/json")
		req.Header.Set("Idempotency-Key", fmt.Sprint(s.rounds, "-", n))
		req.SetBodyString(fmt.Sprintf(`{"from":%q,"to":%q,"amount":"0.001","token":"SOL"}`, s.from[n%int64(len(s.from))], s.to))
	})
}

// BenchmarkSends is POST /v1/wallet/send by 64 clients of a program that signs for its wallets, against a cluster that executes.
func BenchmarkSends(b *testing.B) {
	s := newSending(b)
	asked := countCalls(s.world)
	var runs []load
	for b.Loop() {
		runs = append(runs, s.round(b, 5*time.Second))
	}
	sends := 0
	for _, l := range runs {
		sends += l.count
	}
	b.ReportMetric(medianOf(runs, load.rate), "sends/s")
	b.ReportMetric(medianOf(runs, load.cpuEach), "cpu-µs")
	b.ReportMetric(float64(asked.all.Load())/float64(sends), "node-calls/send")
	b.ReportMetric(medianOf(runs, p50), "ms-p50")
	b.ReportMetric(medianOf(runs, p99), "ms-p99")
	asked.mu.Lock()
	defer asked.mu.Unlock()
	b.Logf("of %d sends: %v", sends, asked.counts)
}
