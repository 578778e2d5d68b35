package webhooks_test

import (
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// TestOneOperatorDoesNotWaitForAnother: each of their keys is an owner of its own.
func TestOneOperatorDoesNotWaitForAnother(t *testing.T) {
	inBubble(t, func(r *harness) {
		owners := map[string]bool{}
		for range 2 {
			key := r.key("", wallet.APIKey)
			hook := r.hook(key, "*")
			d := store.Delivery{ID: r.id("dlv"), Webhook: hook.ID, EventID: "evt_1", Event: wallet.TransactionConfirmed, Body: []byte("{}"),
				CreatedAt: time.Now().UTC(), NextAt: time.Now().UTC()}
			r.update(func(tx store.Tx) error { _, err := tx.PutDeliveries([]store.Delivery{d}); return err })
			r.update(func(tx store.Tx) error {
				n, err := tx.CountJobs(store.Deliveries, key.Lineage())
				owners[key.Lineage()] = n == 1
				return err
			})
		}
		for owner, one := range owners {
			if !one || len(owners) != 2 {
				t.Errorf("%q has no job of its own", owner)
			}
		}
	})
}
