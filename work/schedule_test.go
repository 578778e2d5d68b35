package work

import (
	"testing"
	"time"
)

// TestWaitsOneByOne: an operator's list is the same schedule as spans that double, where it says the same.
func TestWaitsOneByOne(t *testing.T) {
	listed := Schedule{Waits: []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}}
	doubled := Schedule{First: time.Second, Most: 4 * time.Second, Failures: 4}
	for failures := 1; failures <= 5; failures++ {
		if a, b := listed.Span(failures), doubled.Span(failures); a != b || listed.wait(failures) != a {
			t.Errorf("after %d failures it waits %s, not %s", failures, a, b)
		}
		if a, b := listed.Spent(failures), doubled.Spent(failures); a != b || a != (failures > 3) {
			t.Errorf("after %d failures it is given up: %v, not %v", failures, a, b)
		}
	}
	if odd := (Schedule{Waits: []time.Duration{time.Minute, time.Second}}); odd.Span(0) != time.Minute || odd.Span(2) != time.Second || odd.Span(9) != time.Second {
		t.Error("the waits are not as they are listed")
	}
}
