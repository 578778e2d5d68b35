package quota

import (
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Buckets limit how often each of many may do something that costs others: some at once, and one more after each pause. They are counted in
// the memory of this node, so that a restart forgets them; a Meter is for what must be exact. Any number of goroutines may use them.
type Buckets struct {
	most  int
	pause time.Duration

	mu    sync.Mutex
	by    map[string]*rate.Limiter // guarded by mu; full ones may be missing
	sweep int                      // number of entries at which full ones are forgotten; guarded by mu
}

// fewestKept is how many buckets are kept before full ones are looked for.
const fewestKept = 1024

// NewBuckets returns buckets of which each begins full.
func NewBuckets(most int, pause time.Duration) *Buckets {
	return &Buckets{most: most, pause: pause, by: map[string]*rate.Limiter{}, sweep: fewestKept}
}

// Most is how many each may do at once.
func (b *Buckets) Most() int { return b.most }

// Take takes one from somebody's bucket. If it is empty, it returns how long they have to wait for one, and takes nothing.
func (b *Buckets) Take(who string, now time.Time) (wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	bucket := b.by[who]
	if bucket == nil {
		if len(b.by) >= b.sweep { // so that memory does not grow with everybody ever seen
			maps.DeleteFunc(b.by, func(_ string, one *rate.Limiter) bool { return one.TokensAt(now) >= float64(b.most) })
			b.sweep = max(fewestKept, 2*len(b.by))
		}
		bucket = rate.NewLimiter(rate.Every(b.pause), b.most)
		b.by[who] = bucket
	}
	taken := bucket.ReserveN(now, 1)
	if wait = taken.DelayFrom(now).Round(time.Millisecond); wait > 0 {
		taken.CancelAt(now) // what is refused must not delay the next one
		return wait
	}
	return 0
}
