package webhooks

import (
	"container/heap"
	"time"
)

// alarm is something to be done at a time.
type alarm struct {
	at   time.Time
	ring func()
}

// alarms is a heap of them, the earliest first (container/heap).
type alarms []alarm

func (a alarms) Len() int           { return len(a) }
func (a alarms) Less(i, j int) bool { return a[i].at.Before(a[j].at) }
func (a alarms) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *alarms) Push(x any)        { *a = append(*a, x.(alarm)) }

func (a *alarms) Pop() any {
	last := len(*a) - 1
	out := (*a)[last]
	(*a)[last] = alarm{}
	*a = (*a)[:last]
	return out
}

// set adds one.
func (a *alarms) set(at time.Time, ring func()) { heap.Push(a, alarm{at, ring}) }

// wait is how long until the earliest; long without one.
func (a alarms) wait(now time.Time) time.Duration {
	if len(a) == 0 {
		return time.Hour
	}
	return max(0, a[0].at.Sub(now))
}

// ring does what is due at now.
func (a *alarms) ring(now time.Time) {
	for len(*a) > 0 && !(*a)[0].at.After(now) {
		heap.Pop(a).(alarm).ring()
	}
}
