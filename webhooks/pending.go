package webhooks

import (
	"maps"
	"slices"
	"sync"

	"purser/store"
	"purser/wallet"
)

// pending is what was added to the store: deliveries as they were put, and webhooks for which something was.
type pending struct {
	once sync.Once
	mu   sync.Mutex
	ids  map[wallet.WebhookID]bool
	rows []store.PlacedDelivery
	wake chan struct{}
}

// maxHanded is how many deliveries are handed over before they are left to be read from the store.
const maxHanded = 4096

func (w *pending) signal() <-chan struct{} {
	w.once.Do(func() { w.wake, w.ids = make(chan struct{}, 1), map[wallet.WebhookID]bool{} })
	return w.wake
}

// add says for whom something was added.
func (w *pending) add(ids ...wallet.WebhookID) {
	defer w.wakeUp()
	w.signal()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range ids {
		w.ids[id] = true
	}
}

// hand passes on deliveries, in the order in which they were put.
func (w *pending) hand(rows []store.PlacedDelivery) {
	defer w.wakeUp()
	w.signal()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.rows)+len(rows) <= maxHanded {
		w.rows = append(w.rows, rows...)
		return
	}
	for _, row := range rows {
		w.ids[row.Webhook] = true
	}
}

// wakeUp wakes who takes; for nothing it costs them a look.
func (w *pending) wakeUp() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *pending) take() (rows []store.PlacedDelivery, ids []wallet.WebhookID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	rows, ids, w.rows = w.rows, slices.Collect(maps.Keys(w.ids)), nil
	clear(w.ids)
	return rows, ids
}
