package quota

import (
	"math/rand/v2"
	"testing"
	"time"

	"purser/store"
)

// TestWhatCountsIsWhatIsLive: it is the sum of the slots that live keeps, and the earliest of their ends. Some slots are in the
// future, some are empty, some have ended.
func TestWhatCountsIsWhatIsLive(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	ended, future := 0, 0
	for range 20_000 {
		a := account{Limit{Count: 100, Span: time.Hour, exact: rng.IntN(2) == 0}, 1_800_000_000 + rng.Int64N(200)}
		var all []store.Slot
		for range rng.IntN(5) {
			// About the edges: of the span, and of now.
			start := a.now - rng.Int64N(2)*3600 - 65 + rng.Int64N(130)
			all = append(all, store.Slot{Start: floor(start, a.slot()), Count: rng.Uint64N(3)})
		}
		want, first := a.live(all), int64(0)
		for _, s := range want {
			if end := a.ends(s); first == 0 || end < first {
				first = end
			}
		}
		if n, end := a.counts(all); n != sum(want) || end != first {
			t.Fatalf("at %d %v: %d until %d, not %d until %d", a.now, all, n, end, sum(want), first)
		}
		if len(want) < len(all) {
			ended++
		}
		for _, s := range all {
			if s.Start > a.now {
				future++
			}
		}
	}
	if ended < 1000 || future < 1000 {
		t.Errorf("%d had ended slots, %d were in the future", ended, future)
	}
}
