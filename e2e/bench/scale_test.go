package bench

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	purser "purser/clients/go"
	"purser/e2e/harness"
	"purser/sandbox/solana"
	"purser/store"
	"purser/store/local"
	"purser/store/storetest"
)

// BenchmarkManyProposals is the built binary while 100,000 proposals wait for their owners: its start, the time from the POST of a
// signature to the broadcast, and its CPU while nobody does anything. Beside it is the same with none.
func BenchmarkManyProposals(b *testing.B) {
	for _, waiting := range []int{0, 100_000} {
		b.Run(fmt.Sprintf("proposals=%d", waiting), func(b *testing.B) {
			w := harness.World(b, 400*time.Millisecond)
			key := make([]byte, store.MasterKeySize)
			p := harness.NewProduct(b, purserBinary, w, append([]string{"PURSER_STORE_MASTER_KEY=" + base64.StdEncoding.EncodeToString(key)}, unlimited...)...)
			db, err := local.Open(local.Options{Path: filepath.Join(p.Dir, "purser.db"), MasterKey: key, Random: rand.Reader, Kinds: storetest.Kinds()})
			if err != nil {
				b.Fatal(err)
			}
			// They wait for an hour, so that none expires meanwhile.
			scale := storetest.Scale{Store: db, People: 10_000, At: time.Now().Add(-time.Minute), Window: time.Hour}
			ctx := context.Background()
			if err := scale.AddPeople(ctx); err != nil {
				b.Fatal(err)
			}
			if err := scale.Propose(ctx, 0, waiting); err != nil {
				b.Fatal(err)
			}
			if err := db.Close(); err != nil {
				b.Fatal(err)
			}
			began := time.Now()
			p.Start()
			b.ReportMetric(0, "ns/op")
			start := time.Since(began)
			secret := newKey(b, p)
			from, keys := wallets(b, w, p, secret, 1)
			to, err := harness.NewDevice()
			if err != nil {
				b.Fatal(err)
			}
			sent := make(chan time.Time, 100)
			w.Solana.SetFault(func(method string, _ json.RawMessage) solana.Fault {
				if method == "sendTransaction" {
					sent <- time.Now()
				}
				return solana.Fault{}
			})
			client := purser.New(p.URL, secret)
			var took []time.Duration
			idle, idleFor := time.Duration(0), time.Duration(0)
			for b.Loop() {
				for range 20 {
					took = append(took, broadcast(b, client, from[0], to.Address(), keys[0], sent))
				}
				time.Sleep(20 * time.Second) // the last payment becomes final
				before, at := process{p.PID()}.cpu(b), time.Now()
				time.Sleep(20 * time.Second)
				idle, idleFor = idle+process{p.PID()}.cpu(b)-before, idleFor+time.Since(at)
			}
			slices.Sort(took)
			b.ReportMetric(float64(start.Milliseconds()), "ms-start")
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-broadcast")
			b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "ms-broadcast-worst")
			b.ReportMetric(100*idle.Seconds()/idleFor.Seconds(), "idle-%")
		})
	}
}

// broadcast makes a payment, and returns the time from the POST of its signature to its arrival at the node.
func broadcast(b *testing.B, c *purser.Client, from, to string, key []byte, sent chan time.Time) time.Duration {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.Wait)
	defer cancel()
	proposal, err := c.Send(ctx, purser.SendRequest{From: from, To: to, Amount: "0.001", Token: "SOL"})
	if err != nil {
		b.Fatal(err)
	}
	signature, err := purser.SignBlindly(proposal.UnsignedTransaction, key)
	if err != nil {
		b.Fatal(err)
	}
	for len(sent) > 0 { // an earlier one was sent again
		<-sent
	}
	began := time.Now()
	if _, err := c.SubmitSignature(ctx, proposal.TransactionID, purser.Signature{Signature: signature}); err != nil {
		b.Fatal(err)
	}
	select {
	case at := <-sent:
		return at.Sub(began)
	case <-ctx.Done():
		b.Fatal("it was not broadcast")
		return 0
	}
}
