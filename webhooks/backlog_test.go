package webhooks_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// backlog puts deliveries that have waited for a time, of a wallet of a person.
func (r *harness) backlog(user wallet.UserID, hook wallet.WebhookID, count int, waited time.Duration) {
	r.Helper()
	now := time.Now().UTC()
	var all []store.Delivery
	for range count {
		id := r.id("dlv")
		all = append(all, store.Delivery{ID: id, Webhook: hook, EventID: "evt_" + id, Event: wallet.TransactionConfirmed, User: user,
			OrderingKey: wallet.Address{1}.String(), Body: []byte("{}"), CreatedAt: now.Add(-100 * time.Hour), NextAt: now.Add(-waited)})
	}
	r.update(func(tx store.Tx) error { _, err := tx.PutDeliveries(all); return err })
}

// TestABacklogEnds: more waits than the limit of an hour lets go. When the oldest has waited for three days the webhook is
// turned off, its owner is notified once, and what waits is dead-lettered. One whose events have waited for less stays on,
// also if they were made long ago, as recovered ones were.
func TestABacklogEnds(t *testing.T) {
	inBubble(t, func(r *harness) {
		r.service.Limit.Count = 1
		alice, old := r.subscriber()
		bob, young := r.subscriber()
		carol, recovered := r.subscriber()
		r.backlog(alice, old.ID, 30, 72*time.Hour)
		r.backlog(bob, young.ID, 30, 71*time.Hour+30*time.Minute)
		r.backlog(carol, recovered.ID, 30, 0)
		r.run()
		r.quiet()
		if now := r.webhook(old); now.Active || now.Ended != wallet.EndedBacklog {
			t.Errorf("after three days: %+v", now)
		}
		if now := r.webhook(young); !now.Active || now.Ended != "" {
			t.Errorf("before its time: %+v", now)
		}
		states := r.states(old)
		if states[store.DeliveryDelivered] > 1 || states[store.DeliveryDelivered]+states[store.DeliveryDeadLettered] != 30 {
			t.Errorf("states %v", states)
		}
		if n := r.told(wallet.WebhookEnded); n != 1 {
			t.Errorf("%d notifications", n)
		}
		time.Sleep(time.Hour + time.Second)
		if now := r.webhook(young); now.Active || now.Ended != wallet.EndedBacklog {
			t.Errorf("an hour later: %+v", now)
		}
		if now := r.webhook(recovered); !now.Active {
			t.Errorf("what was just put: %+v", now)
		}
		if n := r.told(wallet.WebhookEnded); n != 2 {
			t.Errorf("%d notifications", n)
		}
		for _, hook := range []wallet.Webhook{old, young} {
			if _, there := r.jobOf(hook); there {
				r.took()
				time.Sleep(10 * time.Second) // its session lingers
				if _, there := r.jobOf(hook); there {
					t.Errorf("something waits for %s", hook.ID)
				}
			}
		}
	})
}

// TestAListenersBacklogEndsItsConnection: its row goes, which its connection notices, and nobody is notified.
func TestAListenersBacklogEndsItsConnection(t *testing.T) {
	inBubble(t, func(r *harness) {
		key := r.key(r.person(), wallet.APIKey)
		for id, waited := range map[wallet.WebhookID]time.Duration{"whl_old": 72 * time.Hour, "whl_young": 71 * time.Hour} {
			defer r.service.Listen(id, func(context.Context, http.Header, []byte) error { return errors.New("it takes nothing") })()
			r.update(func(tx store.Tx) error {
				return tx.PutWebhook(wallet.Webhook{ID: id, Kind: key.Kind, Lineage: key.Lineage(), Owner: key.Owner, Events: []string{"*"}, Active: true,
					Secret: "whsec_MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI=", CreatedAt: time.Now().UTC(), Listener: true, Node: "main"})
			})
			r.backlog(key.Owner, id, 2, waited)
		}
		r.run()
		r.quiet()
		if got := fmt.Sprint(r.hooks()); got != "[whl_young]" {
			t.Errorf("there are %s", got)
		}
		if n := r.told(wallet.WebhookEnded); n != 0 {
			t.Errorf("%d notifications", n)
		}
	})
}

// webhook is a webhook as it is now.
func (r *harness) webhook(hook wallet.Webhook) (now wallet.Webhook) {
	r.Helper()
	if err := r.store.View(context.Background(), func(tx store.Tx) (err error) {
		now, err = tx.Webhook(hook.ID)
		return err
	}); err != nil {
		r.Fatal(err)
	}
	return now
}
