package records

import (
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"purser/store"
	"purser/store/bolt"
	"purser/store/engine"
	"purser/store/storetest"
	"purser/wallet"
)

// countedViews counts the Views of an engine.
type countedViews struct {
	engine.Engine
	views atomic.Int64
}

func (c *countedViews) View(ctx context.Context, read func(engine.Tx) error) error {
	c.views.Add(1)
	return c.Engine.View(ctx, read)
}

// someDay is what the tests log on.
func someDay() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

func logEntry(id string, day int) store.LogEntry {
	at := someDay().AddDate(0, 0, day)
	return store.LogEntry{Delivery: store.Delivery{ID: id, Webhook: "wh", User: "usr_a", Body: []byte("secret " + id), CreatedAt: at},
		State: store.DeliveryDelivered, EndedAt: at, Attempted: []store.Attempt{{At: at, Status: 200}}}
}

// TestALongWalkHoldsNoTransaction: a filter that matches little looks at as much as there is, in parts, and at the
// store for what it has found alone.
func TestALongWalkHoldsNoTransaction(t *testing.T) {
	folder := t.TempDir()
	in, err := bolt.Open(bolt.Options{Path: filepath.Join(folder, "purser.db"), Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	counted := &countedViews{Engine: in}
	s, err := Open(counted, Options{MasterKey: masterKey(), Random: rand.Reader, Kinds: storetest.Kinds()})
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, s)
	days, err := bolt.OpenDays(filepath.Join(folder, "log"), LogLayout(), nil)
	if err != nil {
		t.Fatal(err)
	}
	l := OpenLog(days, s)
	defer l.Close() //nolint:errcheck // of a test
	var all []store.LogEntry
	for i := range 2*walkedAtOnce + 10 {
		e := logEntry(fmt.Sprintf("d%05d", i), i%2) // on two days
		e.CreatedAt = e.CreatedAt.Add(time.Duration(i) * time.Second)
		if i%walkedAtOnce < 2 {
			e.State = store.DeliveryDeadLettered
		}
		all = append(all, e)
	}
	if err := l.Log(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	counted.views.Store(0)
	for _, none := range []store.LogPage{{State: store.DeliveryRevoked, Limit: 50}, {Event: wallet.PriceAlert, Limit: 50}} {
		if got, err := l.List(t.Context(), "wh", none); err != nil || len(got) != 0 {
			t.Errorf("%d entries: %v", len(got), err)
		}
	}
	if n := counted.views.Load(); n != 0 {
		t.Errorf("the store was opened %d times for nothing", n)
	}
	if _, err := l.List(t.Context(), "wh", store.LogPage{Limit: 2 * openedAtOnce}); err != nil || counted.views.Load() != 2 {
		t.Errorf("%d entries in %d transactions of the store: %v", 2*openedAtOnce, counted.views.Load(), err)
	}
	newest := []string{"d04001", "d02001", "d00001", "d04000", "d02000", "d00000"}
	for limit := 1; limit <= len(newest)+1; limit++ {
		got, err := l.List(t.Context(), "wh", store.LogPage{State: store.DeliveryDeadLettered, Limit: limit})
		if err != nil || !slices.Equal(idsOf(got), newest[:min(limit, len(newest))]) {
			t.Errorf("the newest %d: %v, %v", limit, idsOf(got), err)
		}
		oldest := slices.Clone(newest)
		slices.Reverse(oldest)
		got, err = l.Oldest(t.Context(), "wh", store.DeliveryDeadLettered, time.Time{}, "", limit)
		if err != nil || !slices.Equal(idsOf(got), oldest[:min(limit, len(oldest))]) {
			t.Errorf("the oldest %d: %v, %v", limit, idsOf(got), err)
		}
	}
	whole, err := l.List(t.Context(), "wh", store.LogPage{Limit: len(all) + 1})
	if err != nil || len(whole) != len(all) {
		t.Errorf("%d of %d entries: %v", len(whole), len(all), err)
	}
}

func idsOf(all []store.LogEntry) []string {
	var ids []string
	for _, e := range all {
		ids = append(ids, e.ID)
	}
	return ids
}
