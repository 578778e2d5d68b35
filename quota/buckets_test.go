package quota

import (
	"fmt"
	"testing"
	"time"
)

// TestABucketFillsByItself: some at once, one more after each pause, each for themselves, and what is refused costs nothing.
func TestABucketFillsByItself(t *testing.T) {
	b := NewBuckets(3, 10*time.Second)
	now := time.Unix(1_800_000_000, 0)
	for range 3 {
		if wait := b.Take("alice", now); wait != 0 {
			t.Fatalf("waits %s", wait)
		}
	}
	for range 5 {
		if wait := b.Take("alice", now); wait != 10*time.Second {
			t.Errorf("waits %s", wait)
		}
	}
	if wait := b.Take("bob", now); wait != 0 {
		t.Errorf("bob waits %s for alice", wait)
	}
	if wait := b.Take("alice", now.Add(9*time.Second)); wait != time.Second {
		t.Errorf("waits %s", wait)
	}
	if wait := b.Take("alice", now.Add(10*time.Second)); wait != 0 {
		t.Errorf("waits %s", wait)
	}
	if wait := b.Take("alice", now.Add(10*time.Second)); wait != 10*time.Second {
		t.Errorf("waits %s", wait)
	}
}

// TestFullBucketsAreForgotten, and no other.
func TestFullBucketsAreForgotten(t *testing.T) {
	b := NewBuckets(1, time.Minute)
	now := time.Unix(1_800_000_000, 0)
	for i := range 10_000 {
		b.Take(fmt.Sprint("stranger ", i), now.Add(time.Duration(i)*time.Second))
	}
	if n := len(b.by); n > 2*fewestKept {
		t.Errorf("%d are remembered", n)
	}
	if wait := b.Take("stranger 9999", now.Add(9_999*time.Second)); wait == 0 {
		t.Error("an empty bucket was forgotten")
	}
}
