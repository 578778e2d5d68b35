package webhooks_test

import (
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
	"purser/webhooks"
)

// TestSlowWebhooksLeaveTheirPlace: as many slow webhooks of one owner as can have a session always have more to send, and
// yet another of the owner's is sent what waits for it within two minutes. On two nodes neither has all the places.
func TestSlowWebhooksLeaveTheirPlace(t *testing.T) {
	for name, nodes := range map[string][]string{"one node": {"first"}, "two nodes": {"first", "second"}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *harness) {
				key := r.key("", wallet.APIKey)
				const takes = 20 * time.Second
				for range 512 {
					r.answer(r.hook(key, "transaction.confirmed"), func(webhooks.Message) webhooks.Result {
						time.Sleep(takes)
						return webhooks.Result{Status: 200, Latency: takes}
					})
				}
				r.hook(key, "transaction.failed")
				alice := r.person()
				for _, n := range nodes {
					defer r.node(n).stop()
				}
				for range 10 { // more than a turn's worth, in one line
					r.emit(r.paid(alice, 1))
				}
				time.Sleep(takes / 2)
				waits := r.event(alice, wallet.TransactionFailed, wallet.TransactionFailedData{})
				r.emit(waits)
				time.Sleep(2 * time.Minute)
				came := 0
				for _, s := range r.took() {
					if s.eventID == waits.ID {
						came++
					}
				}
				if came != 1 {
					t.Errorf("it came %d times", came)
				}
			})
		})
	}
}

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
