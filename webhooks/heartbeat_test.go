package webhooks

import (
	"maps"
	"slices"
	"testing"
	"time"

	"purser/wallet"
)

// TestSilenceIsMeasuredForEachListener: from when the listener was first seen, from each sign of life again, and not over a
// time in which nobody looked.
func TestSilenceIsMeasuredForEachListener(t *testing.T) {
	const a, b = wallet.WebhookID("a"), wallet.WebhookID("b")
	begin := time.Now()
	var w watch
	for _, step := range []struct {
		at    time.Duration
		beats map[wallet.WebhookID]uint64
		want  []wallet.WebhookID
	}{
		{0, map[wallet.WebhookID]uint64{a: 7}, nil},
		{29 * time.Second, map[wallet.WebhookID]uint64{a: 7}, nil},
		{30 * time.Second, map[wallet.WebhookID]uint64{a: 7, b: 7}, []wallet.WebhookID{a}}, // b came later, of the same node
		{59 * time.Second, map[wallet.WebhookID]uint64{a: 8, b: 7}, nil},                   // a sign of life
		{60 * time.Second, map[wallet.WebhookID]uint64{a: 8, b: 7}, []wallet.WebhookID{b}},
		{88 * time.Second, map[wallet.WebhookID]uint64{a: 8}, nil},
		{89 * time.Second, map[wallet.WebhookID]uint64{a: 8, b: 7}, []wallet.WebhookID{a}}, // b was gone, and begins again
		{89*time.Second + watchGap, map[wallet.WebhookID]uint64{a: 8}, []wallet.WebhookID{a}},
		{90*time.Second + 2*watchGap, map[wallet.WebhookID]uint64{a: 8}, nil}, // nobody looked for so long
		{119*time.Second + 2*watchGap, map[wallet.WebhookID]uint64{a: 8}, nil},
		{120*time.Second + 2*watchGap, map[wallet.WebhookID]uint64{a: 8}, []wallet.WebhookID{a}},
		{121*time.Second + 2*watchGap, map[wallet.WebhookID]uint64{a: 1}, nil}, // a damaged count began again
	} {
		silent := w.note(step.beats, begin.Add(step.at))
		if got := slices.Sorted(maps.Keys(silent)); !slices.Equal(got, step.want) {
			t.Errorf("after %s: silent %v, want %v", step.at, got, step.want)
		}
		for id, count := range silent {
			if count != step.beats[id] {
				t.Errorf("after %s: %s with %d", step.at, id, count)
			}
		}
	}
	if len(w.signs) != 1 {
		t.Errorf("it remembers %v", w.signs)
	}
}
