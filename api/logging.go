package api

import (
	"sync"
	"time"
)

// strangersLines is how many lines a second the log has, of each kind, about requests without a valid key or link.
// Such requests cost their sender nothing, and must not fill the operator's disk. Requests of keys are bounded by
// their limits, and all of them are logged.
const strangersLines = 20

// sampler lets strangersLines lines of each second through, and counts the others. Any goroutine may use it.
type sampler struct {
	mu      sync.Mutex
	second  time.Time // when the present second began
	written int       // lines in this second
	leftOut int       // lines left out since the last one that was written
}

// take reports whether one more line may be written. If so, it also returns how many were left out before it.
func (s *sampler) take(now time.Time) (ok bool, leftOut int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.second) >= time.Second || now.Before(s.second) {
		s.second, s.written = now, 0
	}
	if s.written >= strangersLines {
		s.leftOut++
		return false, 0
	}
	s.written++
	leftOut, s.leftOut = s.leftOut, 0
	return true, leftOut
}
