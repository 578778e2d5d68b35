package webhooks_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"purser/store"
	"purser/wallet"
	"purser/webhooks"
)

// TestOrderHoldsForEachWallet: while one wallet's event waits for its next attempt, no later one of that
// wallet goes, and those of others do.
func TestOrderHoldsForEachWallet(t *testing.T) {
	inBubble(t, func(r *harness) {
		alice, hook := r.subscriber()
		a1, a2, b1, b2 := r.paid(alice, 'a'), r.paid(alice, 'a'), r.paid(alice, 'b'), r.paid(alice, 'b')
		failed := 0
		r.answer(hook, func(m webhooks.Message) webhooks.Result {
			if m.EventID == a1.ID && failed < 2 {
				failed++
				return webhooks.Result{Status: 500}
			}
			return webhooks.Result{Status: 200}
		})
		r.run()
		r.emit(a1, a2, b1, b2)
		if got := ids(r.took()); len(got) != 3 || slices.Contains(got, a2.ID) || slices.Index(got, b1.ID) > slices.Index(got, b2.ID) {
			t.Errorf("at once: %v", got)
		}
		time.Sleep(time.Minute)
		if got, want := ids(r.took()), []string{a1.ID, a1.ID, a2.ID}; !slices.Equal(got, want) {
			t.Errorf("then %v, want %v", got, want)
		}
	})
}

// TestTheLimitOfAnHourDelays: what is over it comes later, in order, and nothing is dropped.
func TestTheLimitOfAnHourDelays(t *testing.T) {
	inBubble(t, func(r *harness) {
		alice, hook := r.subscriber()
		r.service.Limit.Count = 60
		r.run()
		var want []string
		for range 150 {
			e := r.paid(alice, 1)
			want = append(want, e.ID)
			r.emit(e)
		}
		at := r.took()
		if len(at) != 60 {
			t.Errorf("at once %d", len(at))
		}
		time.Sleep(4 * time.Hour)
		at = append(at, r.took()...)
		if !slices.Equal(ids(at), want) {
			t.Errorf("%d of %d came, or in another order", len(at), len(want))
		}
		for i := range at {
			if i >= 60 && at[i].at.Sub(at[i-60].at) < time.Hour {
				t.Errorf("61 within %s", at[i].at.Sub(at[i-60].at))
			}
		}
		if states := r.states(hook); states[store.DeliveryDelivered] != 150 {
			t.Errorf("states %v", states)
		}
	})
}

// TestAnotherSpellingOfAnAddressBeginsNoNewHour: the query, the default port and the case of the host name the same
// receiver, whoever changes them; another path is another receiver.
func TestAnotherSpellingOfAnAddressBeginsNoNewHour(t *testing.T) {
	inBubble(t, func(r *harness) {
		alice, hook := r.subscriber()
		r.service.Limit.Count = 60
		r.run()
		spent := func() (sent int) {
			r.Helper()
			for range 61 {
				r.emit(r.paid(alice, 1))
			}
			return len(r.took())
		}
		move := func(address string) {
			r.Helper()
			hook.URL = address
			r.update(func(tx store.Tx) error { return tx.PutWebhook(hook) })
			r.service.Wake(hook.ID)
			time.Sleep(2 * time.Second)
		}
		move("https://example.com/hook")
		if n := spent(); n != 60 {
			t.Fatalf("%d of the hour went", n)
		}
		for _, same := range []string{"https://example.com/hook?x=1", "https://EXAMPLE.com./hook", "https://example.com:443/hook?", "https://example.com/%68ook",
			"https://example.com/a/../hook/", "https://example.com:0443//hook?a=b&c"} {
			move(same)
			if n := len(r.took()); n != 0 {
				t.Errorf("%s: %d more went in the same hour", same, n)
			}
			if delay, err := r.service.Delay(context.Background(), hook); err != nil || delay <= 0 || delay > time.Hour+time.Minute {
				t.Errorf("%s: room in %s (%v)", same, delay, err)
			}
			if used, limit, err := r.service.Used(context.Background(), hook); used != 60 || limit != 60 || err != nil {
				t.Errorf("%s: %d of %d (%v)", same, used, limit, err)
			}
		}
		for _, other := range []string{"https://example.com/other", "https://example.com:8443/hook", "https://hooks.example.com/hook"} {
			if delay, err := r.service.Delay(context.Background(), wallet.Webhook{Lineage: hook.Lineage, URL: other}); err != nil || delay != 0 {
				t.Errorf("%s: room in %s (%v)", other, delay, err)
			}
		}
	})
}

// TestMoneyGoesFirst: when a receiver cannot take all at once, transactions overtake prices.
func TestMoneyGoesFirst(t *testing.T) {
	inBubble(t, func(r *harness) {
		alice := r.person()
		r.hook(r.key(alice, wallet.APIKey), "*")
		r.limit = 60
		r.restart()
		for range 59 {
			r.emit(r.paid(alice, 1))
		}
		r.took()
		r.close()
		r.open()
		for range 5 {
			r.emit(r.event("", wallet.PriceSignificantChange, wallet.PriceSignificantChangeData{Token: r.id("T")}))
		}
		paid := r.paid(alice, 1)
		r.emit(paid)
		r.run()
		time.Sleep(2 * time.Hour)
		if got := ids(r.took()); len(got) != 6 || got[0] != paid.ID {
			t.Errorf("went %v, want %s first", got, paid.ID)
		}
	})
}

// TestANewerBalanceTakesThePlaceOfAnOlderOne, where neither was attempted; nothing else is left out.
func TestANewerBalanceTakesThePlaceOfAnOlderOne(t *testing.T) {
	inBubble(t, func(r *harness) {
		alice, hook := r.subscriber()
		balance := func(of byte) wallet.Event {
			return r.event(alice, wallet.BalanceUpdated, wallet.BalanceUpdatedData{WalletAddress: wallet.Address{of}})
		}
		release := make(chan struct{})
		r.answer(hook, func(webhooks.Message) webhooks.Result {
			<-release
			return webhooks.Result{Status: 200}
		})
		r.run()
		a1, a2, a3, b1 := balance('a'), balance('a'), balance('a'), balance('b')
		p1, p2 := r.paid(alice, 'a'), r.paid(alice, 'a')
		r.emit(a1)
		r.took()
		r.emit(a2, a3, b1, p1, p2)
		synctest.Wait()
		close(release)
		got := ids(r.took())
		if slices.Contains(got, a2.ID) || !slices.Contains(got, a3.ID) || !slices.Contains(got, b1.ID) || !slices.Contains(got, p1.ID) || !slices.Contains(got, p2.ID) {
			t.Errorf("sent %v", got)
		}
		if states := r.states(hook); states[store.DeliverySuperseded] != 1 || states[store.DeliveryDelivered] != 5 {
			t.Errorf("states %v", states)
		}
	})
}

// TestNoBalanceTakesThePlaceOfAnotherPersons, though both have the same address: each may be withdrawn alone.
func TestNoBalanceTakesThePlaceOfAnotherPersons(t *testing.T) {
	inBubble(t, func(r *harness) {
		alice, bob := r.person(), r.person()
		hook := r.hook(r.key("", wallet.APIKey), "*")
		release := make(chan struct{})
		r.answer(hook, func(webhooks.Message) webhooks.Result {
			<-release
			return webhooks.Result{Status: 200}
		})
		r.run()
		var want []string
		for _, who := range []wallet.UserID{alice, bob, alice} {
			e := r.event(who, wallet.BalanceUpdated, wallet.BalanceUpdatedData{WalletAddress: wallet.Address{'a'}})
			want = append(want, e.ID)
			r.emit(e)
		}
		synctest.Wait()
		close(release)
		if got := ids(r.took()); !slices.Equal(got, want) {
			t.Errorf("sent %v, want %v", got, want)
		}
	})
}

// TestTheLimitOfAnHourHoldsUpNoRetry: only first attempts count, so only they wait.
func TestTheLimitOfAnHourHoldsUpNoRetry(t *testing.T) {
	inBubble(t, func(r *harness) {
		alice, hook := r.subscriber()
		r.service.Limit.Count = 60
		var failing string
		r.answer(hook, func(m webhooks.Message) webhooks.Result {
			if m.EventID == failing {
				failing = ""
				return webhooks.Result{Status: 503}
			}
			return webhooks.Result{Status: 200}
		})
		r.run()
		for i := range 59 {
			r.emit(r.paid(alice, byte(i)))
		}
		r.took()
		bad := r.paid(alice, 'x')
		failing = bad.ID
		r.emit(bad)
		r.emit(r.paid(alice, 'y'), r.paid(alice, 'z')) // over the limit
		time.Sleep(2 * time.Second)
		if got := ids(r.took()); !slices.Equal(got, []string{bad.ID, bad.ID}) {
			t.Errorf("went %v", got)
		}
	})
}

// TestRetriesOfABusyWebhookAreOnTime: the time of a second attempt comes at the very moment at which another attempt ends.
// Whichever of the two a session takes first, the second attempt goes at its time. The harness reads what others put once
// in an hour, so one that misses its time is an hour late.
func TestRetriesOfABusyWebhookAreOnTime(t *testing.T) {
	inBubble(t, func(r *harness) {
		alice, hook := r.subscriber()
		failed := map[string]bool{}
		var mu sync.Mutex
		r.answer(hook, func(m webhooks.Message) webhooks.Result {
			mu.Lock()
			first, known := failed[m.EventID]
			failed[m.EventID] = false
			mu.Unlock()
			if known && first {
				return webhooks.Result{Status: 503}
			}
			if !known {
				time.Sleep(time.Second) // as long as the wait before a second attempt
			}
			return webhooks.Result{Status: 200}
		})
		r.run()
		for i := range 100 {
			bad := r.paid(alice, byte(i))
			mu.Lock()
			failed[bad.ID] = true
			mu.Unlock()
			events := []wallet.Event{bad}
			for wallet := range byte(60) { // fewer than go to a webhook at once
				events = append(events, r.paid(alice, 100+wallet))
			}
			r.emit(events...)
			time.Sleep(time.Second)
			var times []time.Time
			for _, s := range r.took() {
				if s.eventID == bad.ID {
					times = append(times, s.at)
				}
			}
			if len(times) != 2 || times[1].Sub(times[0]) != time.Second {
				t.Fatalf("round %d: attempts at %v", i, times)
			}
		}
	})
}

// TestWhatIsPutBackKeepsItsHistory, also when it ends before it is sent.
func TestWhatIsPutBackKeepsItsHistory(t *testing.T) {
	inBubble(t, func(r *harness) {
		alice, hook := r.subscriber()
		r.answer(hook, fails(500))
		r.run()
		r.emit(r.paid(alice, 1))
		time.Sleep(2 * time.Minute)
		parked, err := r.log.Logged(context.Background(), hook.ID, r.logged(hook)[0].ID)
		if err != nil || len(parked.Attempted) != 6 {
			t.Fatalf("%+v (%v)", parked, err)
		}
		again := parked.Delivery
		again.Resend, again.Attempts, again.NextAt = true, 0, time.Now().UTC()
		hook.Active = false
		r.update(func(tx store.Tx) error {
			if err := tx.PutWebhook(hook); err != nil {
				return err
			}
			_, err := tx.PutDeliveries([]store.Delivery{again})
			return err
		})
		r.service.Wake(hook.ID)
		if log := r.logged(hook); len(log) != 1 || len(log[0].Attempted) != 6 || log[0].State != store.DeliveryDeadLettered {
			t.Errorf("log %+v", log)
		}
	})
}

// TestWhatIsPutManuallyKeepsItsPlace: deliveries that the relay has put are handed over, unless something was put
// before them that nobody has told of yet.
func TestWhatIsPutManuallyKeepsItsPlace(t *testing.T) {
	inBubble(t, func(r *harness) {
		alice, hook := r.subscriber()
		r.run()
		first, second := r.paid(alice, 1), r.paid(alice, 1)
		r.emit(first)
		r.emit(second) // handed over: the webhook is known
		r.comes(first.ID, second.ID)

		manual := store.Delivery{ID: "dlv_by_hand", Webhook: hook.ID, EventID: "evt_by_hand", Event: wallet.TransactionConfirmed, User: alice,
			OrderingKey: wallet.Address{1}.String(), Urgency: store.Money, Body: []byte("{}"), CreatedAt: time.Now().UTC(), NextAt: time.Now().UTC()}
		r.update(func(tx store.Tx) error { _, err := tx.PutDeliveries([]store.Delivery{manual}); return err })
		third, fourth := r.paid(alice, 1), r.paid(alice, 1)
		r.emit(third)
		r.emit(fourth)
		r.comes(manual.EventID, third.ID, fourth.ID)
		r.service.Wake(hook.ID) // comes late
		r.comes()
		r.restart()
		r.comes()
	})
}
