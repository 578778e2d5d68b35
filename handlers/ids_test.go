package handlers_test

import (
	"bytes"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"purser/handlers"
)

func TestTimedIDsAreInTheOrderOfTheirTime(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return at }
	zeros := handlers.TimedIDs(clock, bytes.NewReader(make([]byte, 100)))
	if got, want := zeros("tx"), "tx_1k7uvkhg0"+strings.Repeat("0", 17); got != want {
		t.Errorf("%s, not %s", got, want)
	}
	ids := handlers.TimedIDs(clock, rand.Reader)
	seen, before := map[string]bool{}, ""
	for _, step := range []time.Duration{0, time.Millisecond, time.Second, time.Hour, 24 * time.Hour, 1000 * 24 * time.Hour, 100_000 * 24 * time.Hour} {
		at = at.Add(step)
		var last string
		for range 100 {
			id := ids("tx")
			if seen[id] || len(id) != 29 || strings.Trim(id[3:], "0123456789abcdefghijklmnopqrstuv") != "" {
				t.Fatalf("%q", id)
			}
			if step > 0 && id < before {
				t.Errorf("%s of a later time comes before %s", id, before)
			}
			seen[id] = true
			last = max(last, id)
		}
		before = last
	}
}
