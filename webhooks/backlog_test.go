package webhooks_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
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

// servedFor has the store say that a node has served for so many hours until now, which is not a whole hour's work of a
// process that starts.
func (r *harness) servedFor(hours int) {
	r.Helper()
	var slots []store.Slot
	for i := range hours {
		slots = append(slots, store.Slot{Start: time.Now().Unix() - int64(hours-i)*3600, Count: 1})
	}
	r.update(func(tx store.Tx) error {
		return tx.PutCounters([]store.Counter{{Name: "webhooks_served", Slots: slots}})
	})
}

// TestABacklogEnds: more waits than the limit of an hour lets go. When the oldest has waited for three days, and still has at
// the next look, the webhook is turned off, its owner is notified once, and what waits is dead-lettered. One whose events
// have waited for less stays on, also if they were made long ago, as recovered ones were.
func TestABacklogEnds(t *testing.T) {
	inBubble(t, func(r *harness) {
		r.service.Limit.Count, r.service.Retention = 1, 1000*time.Hour
		r.servedFor(72)
		alice, old := r.subscriber()
		bob, young := r.subscriber()
		carol, recovered := r.subscriber()
		r.backlog(alice, old.ID, 30, 72*time.Hour)
		r.backlog(bob, young.ID, 30, 71*time.Hour+30*time.Minute)
		r.backlog(carol, recovered.ID, 30, 0)
		r.run()
		r.quiet()
		if now := r.webhook(old); !now.Active {
			t.Errorf("at the first look: %+v", now)
		}
		time.Sleep(time.Hour + time.Second)
		if now := r.webhook(old); now.Active || now.Ended != wallet.EndedBacklog {
			t.Errorf("after three days: %+v", now)
		}
		if now := r.webhook(young); !now.Active || now.Ended != "" {
			t.Errorf("before its time: %+v", now)
		}
		states := r.states(old)
		if states[store.DeliveryDelivered] > 2 || states[store.DeliveryDelivered]+states[store.DeliveryDeadLettered] != 30 {
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
		r.service.Limit.Count = 1
		r.servedFor(72)
		key := r.key(r.person(), wallet.APIKey)
		for id, waited := range map[wallet.WebhookID]time.Duration{"whl_old": 72 * time.Hour, "whl_young": 70 * time.Hour} {
			defer r.service.Listen(id, func(context.Context, http.Header, []byte) error { return nil })()
			r.update(func(tx store.Tx) error {
				return tx.PutWebhook(wallet.Webhook{ID: id, Kind: key.Kind, Lineage: key.Lineage(), Owner: key.Owner, Events: []string{"*"}, Active: true,
					Secret: "whsec_MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI=", CreatedAt: time.Now().UTC(), Listener: true, Node: "main"})
			})
			r.backlog(key.Owner, id, 30, waited)
		}
		r.run()
		time.Sleep(time.Hour + time.Second)
		r.quiet()
		if got := fmt.Sprint(r.hooks()); got != "[whl_young]" {
			t.Errorf("there are %s", got)
		}
		if n := r.told(wallet.WebhookEnded); n != 0 {
			t.Errorf("%d notifications", n)
		}
	})
}

// TestWhatNeverCatchesUpEndsAlthoughPurserIsRestarted: the hours of all lives of the process count, and those between them
// do not. In each of them one delivery goes.
func TestWhatNeverCatchesUpEndsAlthoughPurserIsRestarted(t *testing.T) {
	inBubble(t, func(r *harness) {
		r.service.Limit.Count = 1
		alice, hook := r.subscriber()
		r.backlog(alice, hook.ID, 200, 0)
		r.run()
		for range 6 {
			time.Sleep(12*time.Hour + time.Minute)
			r.stop()
			time.Sleep(24 * time.Hour)
			if now := r.webhook(hook); !now.Active {
				t.Fatalf("off too early: %+v", now)
			}
			r.close()
			r.open()
			r.service.Limit.Count = 1
			r.run()
		}
		time.Sleep(time.Hour + time.Minute)
		if now := r.webhook(hook); now.Active || now.Ended != wallet.EndedBacklog {
			t.Errorf("after 73 hours of six lives: %+v", now)
		}
	})
}

// TestDownForDaysTurnsNothingOff: purser served for days, then was down for four. What waits since before that is delivered.
func TestDownForDaysTurnsNothingOff(t *testing.T) {
	inBubble(t, func(r *harness) {
		r.service.Limit.Count, r.service.Retention = 10, 1000*time.Hour
		alice, hook := r.subscriber()
		r.run()
		time.Sleep(80 * time.Hour)
		r.backlog(alice, hook.ID, 50, 0)
		r.quiet()
		r.close()
		time.Sleep(96 * time.Hour)
		r.open()
		r.service.Limit.Count, r.service.Retention = 10, 1000*time.Hour
		r.run()
		time.Sleep(6 * time.Hour)
		if now := r.webhook(hook); !now.Active || now.Ended != "" {
			t.Errorf("it is off: %+v", now)
		}
		if states := r.states(hook); states[store.DeliveryDelivered] != 50 {
			t.Errorf("states %v", states)
		}
	})
}

// TestAClockThatJumpsTurnsNothingOff: neither forward nor back does it count as hours in which a node served.
func TestAClockThatJumpsTurnsNothingOff(t *testing.T) {
	inBubble(t, func(r *harness) {
		r.service.Limit.Count = 1
		ahead := time.Duration(0)
		r.service.Now = func() time.Time { return time.Now().Add(ahead) }
		r.servedFor(72)
		alice, hook := r.subscriber()
		r.backlog(alice, hook.ID, 100, 0)
		r.run()
		for _, jump := range []time.Duration{96 * time.Hour, -2 * time.Hour, -80 * time.Hour, 200 * time.Hour} {
			time.Sleep(3*time.Hour + time.Minute)
			synctest.Wait()
			ahead += jump
			if now := r.webhook(hook); !now.Active {
				t.Fatalf("off before the clock jumps by %v", jump)
			}
		}
		time.Sleep(3*time.Hour + time.Minute)
		if now := r.webhook(hook); !now.Active {
			t.Errorf("it is off: %+v", now)
		}
	})
}

// TestHoursThatOverlapCountOnce: one that overlaps an hour of another node is not counted, and one that a clock which was
// ahead has left is forgotten.
func TestHoursThatOverlapCountOnce(t *testing.T) {
	inBubble(t, func(r *harness) {
		start := time.Now().Unix()
		other, ahead := store.Slot{Start: start - 1800, Count: 1}, store.Slot{Start: start + 5*3600, Count: 1}
		r.update(func(tx store.Tx) error {
			return tx.PutCounters([]store.Counter{{Name: "webhooks_served", Slots: []store.Slot{other, ahead}}})
		})
		r.run()
		time.Sleep(2*time.Hour + time.Minute)
		var now store.Counter
		r.update(func(tx store.Tx) (err error) {
			now, err = tx.Counter("webhooks_served")
			return err
		})
		if len(now.Slots) != 2 || now.Slots[0] != other || now.Slots[1].Start-start < 3600 || now.Slots[1].Start-start > 3660 {
			t.Errorf("from %d on: %+v", start, now.Slots)
		}
	})
}

// TestASleepingHeadTurnsNothingOff: what waits behind a delivery that sleeps between two attempts waits by the schedule. In
// another line of the webhook, however far behind, it counts.
func TestASleepingHeadTurnsNothingOff(t *testing.T) {
	inBubble(t, func(r *harness) {
		r.service.Limit.Count = 1
		r.servedFor(72)
		alice, sleeps := r.subscriber()
		bob, both := r.subscriber()
		now := time.Now().UTC()
		for user, hook := range map[wallet.UserID]wallet.Webhook{alice: sleeps, bob: both} {
			id := r.id("dlv")
			r.update(func(tx store.Tx) error {
				_, err := tx.PutDeliveries([]store.Delivery{{ID: id, Webhook: hook.ID, EventID: "evt_" + id, Event: wallet.TransactionConfirmed, User: user, Attempts: 1,
					OrderingKey: wallet.Address{1}.String(), Body: []byte("{}"), CreatedAt: now.Add(-90 * time.Hour), NextAt: now.Add(20 * time.Hour), Pause: 24 * time.Hour}})
				return err
			})
			r.backlog(user, hook.ID, 150, 80*time.Hour)
		}
		var other []store.Delivery
		for range 30 {
			id := r.id("dlv")
			other = append(other, store.Delivery{ID: id, Webhook: both.ID, EventID: "evt_" + id, Event: wallet.TransactionConfirmed, User: bob,
				OrderingKey: wallet.Address{2}.String(), Body: []byte("{}"), CreatedAt: now.Add(-79 * time.Hour), NextAt: now.Add(-79 * time.Hour)})
		}
		r.update(func(tx store.Tx) error { _, err := tx.PutDeliveries(other); return err })
		r.run()
		time.Sleep(5 * time.Hour)
		if now := r.webhook(sleeps); !now.Active {
			t.Errorf("behind one that sleeps: %+v", now)
		}
		if now := r.webhook(both); now.Active || now.Ended != wallet.EndedBacklog {
			t.Errorf("with another line: %+v", now)
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
