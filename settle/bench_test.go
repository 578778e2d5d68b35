package settle_test

import (
	"fmt"
	"testing"
	"time"

	"purser/e2e/world"
)

// BenchmarkSignedToBroadcast is what passes between the commit of a signature and the broadcast, behind any number of
// proposals that wait for their owners.
func BenchmarkSignedToBroadcast(b *testing.B) {
	for _, waiting := range []int{0, 10_000, 100_000} {
		b.Run(fmt.Sprintf("proposals=%d", waiting), func(b *testing.B) {
			w := world.New(b, world.Options{})
			r := &harness{World: w, alice: w.Rich(1001, "Alice", sol), bob: w.Rich(1002, "Bob", sol)}
			r.propose(waiting)
			node := newScripted()
			r.Settler.Chain = node
			stop := r.run(r.Settler)
			defer stop()
			var took time.Duration
			for n := 0; b.Loop(); n++ {
				b.StopTimer()
				r.sign(n)
				began := time.Now()
				b.StartTimer()
				<-node.sent
				took += time.Since(began)
			}
			b.ReportMetric(float64(took.Microseconds())/1000/float64(b.N), "ms/broadcast")
		})
	}
}

// BenchmarkIdleLook is what it costs to find that nothing is due.
func BenchmarkIdleLook(b *testing.B) {
	for _, waiting := range []int{0, 10_000, 100_000} {
		b.Run(fmt.Sprintf("proposals=%d", waiting), func(b *testing.B) {
			w := world.New(b, world.Options{})
			r := &harness{World: w, alice: w.Rich(1001, "Alice", sol), bob: w.Rich(1002, "Bob", sol)}
			r.propose(waiting)
			r.Settler.Chain = newScripted()
			for b.Loop() {
				r.Look()
			}
		})
	}
}
