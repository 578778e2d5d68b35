package api

import (
	"sync"
	"time"
)

// strangersLines is how many lines of each kind, a second, the log holds about requests of whom nothing is known:
// they cost their sender nothing, and must not fill the operator's disk. What holders of keys do is bounded by
// their limits, and logged whole.
const strangersLines = 20

// sampler lets some lines of a second through, and counts the others.
type sampler struct {
	mu      sync.Mutex
	second  time.Time
	written int
	leftOut int
}

// take tells whether one more line is written, and how many were left out since the one before.
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
