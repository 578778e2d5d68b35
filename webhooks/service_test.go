package webhooks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"purser/store"
	"purser/wallet"
	"purser/webhooks"
)

// TestAnEventIsDelivered: signed bytes, once, and the log says so.
func TestAnEventIsDelivered(t *testing.T) {
	inBubble(t, func(r *harness) {
		alice := r.person()
		hook := r.hook(r.key(alice, wallet.APIKey), "transaction.*")
		other := r.hook(r.key(r.person(), wallet.APIKey), "*")
		r.run()
		e := r.paid(alice, 1)
		r.emit(e)
		got := r.took()
		if len(got) != 1 || got[0].url != hook.URL || got[0].eventID != e.ID {
			t.Fatalf("sent %+v", got)
		}
		var body struct {
			Event     string          `json:"event"`
			Data      json.RawMessage `json:"data"`
			Timestamp string          `json:"timestamp"`
		}
		if err := json.Unmarshal([]byte(got[0].body), &body); err != nil || body.Event != "transaction.confirmed" ||
			string(body.Data) != string(e.Data) || body.Timestamp != wallet.Timestamp(e.At) {
			t.Errorf("body %s (%v)", got[0].body, err)
		}
		if log := r.logged(hook); len(log) != 1 || log[0].State != store.DeliveryDelivered || len(log[0].Attempted) != 1 || log[0].Attempted[0].Status != 200 {
			t.Errorf("log %+v", log)
		}
		if log := r.logged(other); len(log) != 0 {
			t.Errorf("another's log %+v", log)
		}
		r.restart()
		if again := r.took(); len(again) != 0 {
			t.Errorf("after a restart: %+v", again)
		}
	})
}

// TestScheduleOfAttempts is docs/specification.md, Limits: at once, then after 1, 2, 4, 8 and 16 s; then the delivery
// is parked and its owner told, once for a row of failures.
func TestScheduleOfAttempts(t *testing.T) {
	inBubble(t, func(r *harness) {
		alice, hook := r.subscriber()
		r.answer(hook, fails(503))
		r.run()
		r.emit(r.paid(alice, 1))
		time.Sleep(2 * time.Minute)
		got := r.took()
		if want := []float64{0, 1, 3, 7, 15, 31}; !slices.Equal(after(got), want) {
			t.Errorf("attempts after %v s, want %v", after(got), want)
		}
		for _, s := range got {
			if s.body != got[0].body || s.eventID != got[0].eventID {
				t.Errorf("another body or id: %+v", s)
			}
		}
		if log := r.logged(hook); len(log) != 1 || log[0].State != store.DeliveryDeadLettered || len(log[0].Attempted) != 6 {
			t.Errorf("log %+v", log)
		}
		r.emit(r.paid(alice, 1))
		time.Sleep(2 * time.Minute)
		if told := r.told(wallet.WebhookDeadLettered); told != 1 {
			t.Errorf("the owner is told %d times", told)
		}
		r.answer(hook, nil)
		r.emit(r.paid(alice, 1))
		r.took()
		time.Sleep(time.Hour) // nobody is told oftener than every ten minutes
		r.answer(hook, fails(500))
		r.emit(r.paid(alice, 1))
		time.Sleep(2 * time.Minute)
		if told := r.told(wallet.WebhookDeadLettered); told != 2 {
			t.Errorf("after a success in between the owner is told %d times", told)
		}
	})
}

// TestWhatIsTriedAgain: which answers end a delivery, and that Retry-After only lengthens.
func TestWhatIsTriedAgain(t *testing.T) {
	for _, c := range []struct {
		result   webhooks.Result
		attempts []float64
		state    store.DeliveryState
	}{
		{webhooks.Result{Status: 204}, []float64{0}, store.DeliveryDelivered},
		{webhooks.Result{Status: 400}, []float64{0}, store.DeliveryDeadLettered},
		{webhooks.Result{Status: 302}, []float64{0}, store.DeliveryDeadLettered},
		{webhooks.Result{Forbidden: true}, []float64{0}, store.DeliveryDeadLettered},
		{webhooks.Result{Status: 429, RetryAfter: 5 * time.Second}, []float64{0, 5, 10, 15, 23, 39}, store.DeliveryDeadLettered},
		{webhooks.Result{Reason: wallet.Because("attempt.no_connection")}, []float64{0, 1, 3, 7, 15, 31}, store.DeliveryDeadLettered},
	} {
		t.Run(fmt.Sprint(c.result.Status, c.result.Forbidden), func(t *testing.T) {
			inBubble(t, func(r *harness) {
				alice, hook := r.subscriber()
				r.answer(hook, func(webhooks.Message) webhooks.Result { return c.result })
				r.run()
				r.emit(r.paid(alice, 1))
				time.Sleep(2 * time.Minute)
				if got := after(r.took()); !slices.Equal(got, c.attempts) {
					t.Errorf("attempts after %v s, want %v", got, c.attempts)
				}
				if states := r.states(hook); states[c.state] != 1 {
					t.Errorf("states %v", states)
				}
			})
		})
	}
}

// TestAScheduleSurvivesARestart: what was attempted goes on where it was, with its log whole.
func TestAScheduleSurvivesARestart(t *testing.T) {
	inBubble(t, func(r *harness) {
		alice, hook := r.subscriber()
		r.answer(hook, fails(500))
		r.run()
		r.emit(r.paid(alice, 1))
		time.Sleep(5 * time.Second) // attempts at 0, 1 and 3 s
		first := r.took()
		r.restart()
		time.Sleep(2 * time.Minute)
		all := append(first, r.took()...)
		if got := after(all); !slices.Equal(got, []float64{0, 1, 3, 7, 15, 31}) {
			t.Errorf("attempts after %v s", got)
		}
		if log := r.logged(hook); len(log) != 1 || len(log[0].Attempted) != 6 {
			t.Errorf("log %+v", log)
		}
	})
}

// TestAnInterruptedFirstAttemptCountsOnce: an event takes from the hourly limit once, whether this process or the next one
// repeats its interrupted first attempt. What was counted is sent even if the limit is reached meanwhile.
func TestAnInterruptedFirstAttemptCountsOnce(t *testing.T) {
	inBubble(t, func(r *harness) {
		r.service.Limit.Count = 2
		alice, hook := r.subscriber()
		used := func(want uint64) {
			t.Helper()
			if used, _, err := r.service.Used(context.Background(), hook); used != want || err != nil {
				t.Errorf("%d of the hour are used up, not %d (%v)", used, want, err)
			}
		}
		// In one process: three interruptions, then an answer. Meanwhile another event reaches the limit.
		first, second, over := r.paid(alice, 1), r.paid(alice, 2), r.paid(alice, 3)
		interrupted := 0
		r.answer(hook, func(m webhooks.Message) webhooks.Result {
			if m.EventID == first.ID && interrupted < 3 {
				interrupted++
				return webhooks.Result{Interrupted: true}
			}
			return webhooks.Result{Status: 200}
		})
		r.run()
		r.emit(first)
		r.comes(first.ID)
		if log := r.logged(hook); len(log) != 0 {
			t.Errorf("the log has %+v", log)
		}
		used(1)
		r.emit(second, over)
		r.comes(second.ID)
		used(2)
		time.Sleep(5 * time.Second)
		r.comes(first.ID, first.ID, first.ID)
		if log := r.logged(hook); len(log) != 2 || log[0].Attempts != 1 || log[1].Attempts != 1 {
			t.Errorf("the log has %+v", log)
		}
		used(2)
		time.Sleep(2 * time.Hour)
		r.comes(over.ID)
		used(1)
		// A stop of the process interrupts an attempt, which the next process repeats.
		r.service.Transport = transportFunc(func(ctx context.Context, m webhooks.Message) webhooks.Result {
			<-ctx.Done()
			return webhooks.Result{Interrupted: true}
		})
		r.emit(r.paid(alice, 2))
		synctest.Wait()
		used(2)
		r.close()
		r.open()
		r.service.Limit.Count = 2 // reached
		r.run()
		if got := len(r.took()); got != 1 {
			t.Errorf("%d attempts after the restart, not 1", got)
		}
		used(2)
	})
}

// TestAStopWaitsForNoStoreThatFails: what was interrupted cannot be written, and the service ends all the same.
func TestAStopWaitsForNoStoreThatFails(t *testing.T) {
	inBubble(t, func(r *harness) {
		alice, _ := r.subscriber()
		full := &refusing{Store: r.store}
		r.service.Store = full
		r.service.Transport = transportFunc(func(ctx context.Context, m webhooks.Message) webhooks.Result {
			<-ctx.Done()
			return webhooks.Result{Interrupted: true}
		})
		r.run()
		r.emit(r.paid(alice, 1))
		synctest.Wait()
		full.left.Store(1 << 40)
		begun := time.Now()
		r.stop()
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

// TestAStopWaitsForWhatIsOnItsWay, and what did not end comes again.
func TestAStopWaitsForWhatIsOnItsWay(t *testing.T) {
	inBubble(t, func(r *harness) {
		alice, hook := r.subscriber()
		quick, slow := r.paid(alice, 1), r.paid(alice, 2)
		r.answer(hook, func(m webhooks.Message) webhooks.Result {
			if m.EventID == slow.ID {
				time.Sleep(time.Minute)
				return webhooks.Result{Interrupted: true}
			}
			time.Sleep(2 * time.Second)
			return webhooks.Result{Status: 200}
		})
		r.run()
		r.emit(quick, slow)
		synctest.Wait()
		r.close()
		r.took()
		r.answer(hook, nil)
		r.open()
		r.run()
		if got := ids(r.took()); !slices.Equal(got, []string{slow.ID}) {
			t.Errorf("after the stop came %v, want %s", got, slow.ID)
		}
		if log := r.logged(hook); len(log) != 2 || strings.Contains(fmt.Sprint(log), "waiting") {
			t.Errorf("log %+v", log)
		}
	})
}
