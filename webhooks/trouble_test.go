package webhooks_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"purser/store"
	"purser/wallet"
	"purser/webhooks"
)

// TestAnOwnerIsToldOfTroubleSeldom: of a receiver that works and fails in turns once in ten minutes at most, and
// of an outage that lasts all the same.
func TestAnOwnerIsToldOfTroubleSeldom(t *testing.T) {
	inBubble(t, func(r *harness) {
		alice, hook := r.subscriber()
		r.run()
		for range 5 {
			r.answer(hook, fails(400))
			r.emit(r.paid(alice, 1))
			r.took()
			r.answer(hook, nil)
			r.emit(r.paid(alice, 1))
			r.took()
			time.Sleep(time.Minute)
		}
		if told := r.told(wallet.WebhookDeadLettered); told != 1 {
			t.Errorf("told %d times of what comes and goes", told)
		}
		r.answer(hook, fails(400))
		for range 3 {
			r.emit(r.paid(alice, 1))
			time.Sleep(4 * time.Minute)
		}
		if told := r.told(wallet.WebhookDeadLettered); told != 2 {
			t.Errorf("told %d times, with an outage that lasts", told)
		}
	})
}

// TestABrokenReceiverIsAskedSparingly: after a row of failures one delivery at a time is on its way, new ones
// wait with all their attempts, and when the receiver is back everything comes, in order.
func TestABrokenReceiverIsAskedSparingly(t *testing.T) {
	inBubble(t, func(r *harness) {
		alice, hook := r.subscriber()
		r.answer(hook, fails(502))
		r.run()
		var all []wallet.Event
		for i := range 100 {
			all = append(all, r.paid(alice, byte(i)))
		}
		r.emit(all...)
		time.Sleep(time.Minute)
		if n := len(r.took()); n > (64+10)*6+12 { // those that were on their way when it was noticed
			t.Errorf("%d attempts in the first minute", n)
		}
		time.Sleep(5 * time.Minute)
		if n := len(r.took()); n > 5*60/31*6+6 {
			t.Errorf("%d attempts in the five minutes after it", n)
		}
		r.answer(hook, nil)
		time.Sleep(time.Minute)
		states := r.states(hook)
		if states[store.DeliveryWaiting] != 0 || states[store.DeliveryDelivered] == 0 || states[store.DeliveryDelivered]+states[store.DeliveryDeadLettered] != 100 {
			t.Errorf("states %v", states)
		}
	})
}

// TestAReceiverThatIsGoneIsTurnedOff by 410 at once, and by nothing but failures after three days.
func TestAReceiverThatIsGoneIsTurnedOff(t *testing.T) {
	for _, c := range []struct {
		status int
		wait   time.Duration
		ended  wallet.Ending
	}{{410, time.Minute, wallet.EndedGone}, {500, 80 * time.Hour, wallet.EndedFailing}, {500, 60 * time.Hour, ""}} {
		t.Run(fmt.Sprint(c.status, c.wait), func(t *testing.T) {
			inBubble(t, func(r *harness) {
				alice, hook := r.subscriber()
				r.answer(hook, fails(c.status))
				r.run()
				for range int(c.wait/time.Hour) + 1 {
					r.emit(r.paid(alice, 1))
					time.Sleep(min(time.Hour, c.wait))
				}
				synctest.Wait()
				var now wallet.Webhook
				err := r.store.View(context.Background(), func(tx store.Tx) (err error) {
					now, err = tx.Webhook(hook.ID)
					return err
				})
				if err != nil || now.Ended != c.ended || now.Active != (c.ended == "") {
					t.Errorf("%+v (%v)", now, err)
				}
				if told := r.told(wallet.WebhookEnded); told != map[bool]int{true: 1, false: 0}[c.ended != ""] {
					t.Errorf("the owner is told %d times", told)
				}
			})
		})
	}
}

// TestOneThatHangsHoldsUpNobody: one dead, one hanging and one failing receiver among a hundred.
func TestOneThatHangsHoldsUpNobody(t *testing.T) {
	inBubble(t, func(r *harness) {
		operator := r.key("", wallet.APIKey)
		alice := r.person()
		var healthy []wallet.Webhook
		for range 97 {
			healthy = append(healthy, r.hook(operator, "*"))
		}
		hangs, dead, resets := r.hook(operator, "*"), r.hook(operator, "*"), r.hook(operator, "*")
		r.answer(hangs, func(webhooks.Message) webhooks.Result {
			time.Sleep(30 * time.Second)
			return webhooks.Result{Reason: wallet.Because("attempt.no_connection")}
		})
		r.answer(dead, func(webhooks.Message) webhooks.Result {
			return webhooks.Result{Reason: wallet.Because("attempt.no_connection")}
		})
		r.answer(resets, fails(500))
		r.run()
		began := time.Now()
		for i := range 100 {
			r.emit(r.paid(alice, byte(i)))
		}
		synctest.Wait()
		if took := time.Since(began); took != 0 {
			t.Errorf("the healthy waited %s", took)
		}
		for _, hook := range healthy {
			if states := r.states(hook); states[store.DeliveryDelivered] != 100 {
				t.Fatalf("states of a healthy one: %v", states)
			}
		}
	})
}

// TestClockJumpsDoNoHarm: a retry that seems to lie a year ahead, because the clock was put back, waits for
// no longer than a retry ever does; one of long ago is due.
func TestClockJumpsDoNoHarm(t *testing.T) {
	for name, jump := range map[string]time.Duration{"back": -365 * 24 * time.Hour, "ahead": 365 * 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *harness) {
				alice, hook := r.subscriber()
				failed := false
				r.answer(hook, func(webhooks.Message) webhooks.Result {
					if !failed {
						failed = true
						return webhooks.Result{Status: 500}
					}
					return webhooks.Result{Status: 200}
				})
				r.run()
				r.emit(r.paid(alice, 1))
				r.took()
				r.close()
				r.open()
				r.service.Now = func() time.Time { return time.Now().Add(jump) }
				r.run()
				time.Sleep(2 * time.Minute)
				if got := r.took(); len(got) != 1 {
					t.Errorf("%d attempts", len(got))
				}
			})
		})
	}
}

// TestAClockThatIsPutBackStallsNothing: what waits behind another delivery of its wallet goes when that has ended, a
// retry waits for its own pause, and a restart between the two changes neither.
func TestAClockThatIsPutBackStallsNothing(t *testing.T) {
	var back atomic.Int64
	at := func(r *harness) {
		r.service.Now = func() time.Time { return time.Now().Add(-time.Duration(back.Load())) }
	}
	t.Run("behind another", func(t *testing.T) {
		inBubble(t, func(r *harness) {
			back.Store(0)
			at(r)
			alice, hook := r.subscriber()
			r.answer(hook, func(webhooks.Message) webhooks.Result {
				time.Sleep(3 * time.Second)
				return webhooks.Result{Status: 200}
			})
			r.run()
			r.emit(r.paid(alice, 1), r.paid(alice, 1))
			time.Sleep(time.Second)
			back.Store(int64(2 * time.Minute))
			time.Sleep(9 * time.Second)
			if got := after(r.took()); !slices.Equal(got, []float64{0, 3}) {
				t.Errorf("attempts after %v s", got)
			}
		})
	})
	t.Run("a retry", func(t *testing.T) {
		inBubble(t, func(r *harness) {
			back.Store(0)
			at(r)
			alice, hook := r.subscriber()
			r.answer(hook, func(webhooks.Message) webhooks.Result {
				time.Sleep(time.Second)
				back.Add(int64(2 * time.Minute)) // with each attempt once more
				return webhooks.Result{Status: 503}
			})
			r.run()
			r.emit(r.paid(alice, 1))
			time.Sleep(time.Minute)
			if got := after(r.took()); !slices.Equal(got, []float64{0, 2, 5, 10, 19, 36}) {
				t.Errorf("attempts after %v s", got)
			}
		})
	})
	for name, c := range map[string]struct {
		retryAfter, stops, back time.Duration
		earliest, latest        float64 // of the next attempt, from the first
	}{
		"a restart":                     {0, 2 * time.Second, 2 * time.Minute, 3, 4}, // attempts at 0 and 1 s, the next one 2 s later
		"a restart with a Retry-After":  {30 * time.Second, 3 * time.Second, 2 * time.Minute, 30, 33},
		"a restart with the same clock": {30 * time.Second, 3 * time.Second, 0, 30, 30},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *harness) {
				back.Store(0)
				at(r)
				alice, hook := r.subscriber()
				r.answer(hook, func(webhooks.Message) webhooks.Result {
					return webhooks.Result{Status: 503, RetryAfter: c.retryAfter}
				})
				r.run()
				r.emit(r.paid(alice, 1))
				time.Sleep(c.stops)
				r.close()
				r.open()
				back.Store(int64(c.back))
				at(r)
				r.run()
				time.Sleep(50 * time.Second)
				all := after(r.took())
				next := slices.IndexFunc(all, func(at float64) bool { return at > c.stops.Seconds() })
				if next < 0 || all[next] < c.earliest || all[next] > c.latest {
					t.Errorf("attempts after %v s, want the next one between %v and %v s", all, c.earliest, c.latest)
				}
			})
		})
	}
}

// TestSlowReceiversHoldUpNobodyElse: many that answer just in time, of one person, leave room for others.
func TestSlowReceiversHoldUpNobodyElse(t *testing.T) {
	inBubble(t, func(r *harness) {
		mallory, alice := r.person(), r.person()
		for range 2 {
			key := r.key(mallory, wallet.APIKey)
			for range 20 {
				r.answer(r.hook(key, "*"), func(webhooks.Message) webhooks.Result {
					time.Sleep(29 * time.Second)
					return webhooks.Result{Status: 200, Latency: 29 * time.Second}
				})
			}
		}
		hook := r.hook(r.key(alice, wallet.APIKey), "*")
		r.run()
		for i := range 250 {
			r.emit(r.paid(mallory, byte(i)))
		}
		time.Sleep(time.Second)
		for i := range 200 {
			r.emit(r.paid(alice, byte(i)))
		}
		if states := r.states(hook); states[store.DeliveryDelivered] != 200 {
			t.Errorf("states %v", states)
		}
	})
}

// TestADamagedRowStopsNobodyElse: a key, an app, a grant, a health or a person that cannot be read bars its own
// webhook at most.
func TestADamagedRowStopsNobodyElse(t *testing.T) {
	for _, bucket := range []string{"keys", "apps", "grants", "webhooks", "webhook_health", "users"} {
		t.Run(bucket, func(t *testing.T) {
			inBubble(t, func(r *harness) {
				alice, bob := r.person(), r.person()
				r.run()
				theirs := r.key(bob, wallet.APIKey)
				r.grant(alice, theirs, wallet.WalletRead)
				r.hook(theirs, "*")
				r.emit(r.paid(bob, 1))
				r.took()
				r.close()
				r.damage(bucket)
				r.open()
				mine, operators := r.hook(r.key(alice, wallet.APIKey), "*"), r.hook(r.key("", wallet.APIKey), "*")
				r.run()
				for range 300 {
					r.emit(r.paid(alice, 1), r.paid(bob, 2))
				}
				if states := r.states(mine); states[store.DeliveryDelivered] != 300 {
					t.Errorf("states %v", states)
				}
				if states := r.states(operators); states[store.DeliveryDelivered] != 600 {
					t.Errorf("the operator's: states %v", states)
				}
			})
		})
	}
}
