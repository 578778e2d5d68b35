package webhooks_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
	"purser/webhooks"
	"purser/work"
)

// row is what waits in the store of a delivery; not there when it has ended.
func (r *harness) row(id string) (d store.Delivery, there bool) {
	r.Helper()
	err := r.store.View(context.Background(), func(tx store.Tx) (err error) {
		d, err = tx.Delivery(id)
		return err
	})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		r.Fatal(err)
	}
	return d, err == nil
}

// jobOf is the job of a webhook; not there when nothing waits for it.
func (r *harness) jobOf(hook wallet.Webhook) (job store.Job, there bool) {
	r.Helper()
	err := r.store.View(context.Background(), func(tx store.Tx) (err error) {
		job, err = tx.Job(store.Deliveries, store.JobID(hook.ID))
		return err
	})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		r.Fatal(err)
	}
	return job, err == nil
}

// jobCounts counts the jobs of webhooks that wait, and those that have a session.
func (r *harness) jobCounts() (waiting, inFlight int) {
	r.Helper()
	err := r.store.View(context.Background(), func(tx store.Tx) error {
		stats, err := tx.JobStats(store.Deliveries)
		waiting, inFlight = stats.Waiting, stats.InFlight
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
	return waiting, inFlight
}

// manual puts a delivery as another node would, which wakes nobody here.
func (r *harness) manual(user wallet.UserID, hook wallet.Webhook, name string) {
	r.Helper()
	r.update(func(tx store.Tx) error {
		_, err := tx.PutDeliveries([]store.Delivery{{ID: "dlv_" + name, Webhook: hook.ID, EventID: "evt_" + name, Event: wallet.TransactionConfirmed, User: user,
			OrderingKey: wallet.Address{1}.String(), Body: []byte("{}"), CreatedAt: time.Now().UTC(), NextAt: time.Now().UTC()}})
		return err
	})
}

// TestWhatWasLostAfterTheLogIsNotWritten: a node falls asleep between its log and its store. When it wakes, another node has
// the delivery on its way, and the success of which the sleeper knows ends nothing.
func TestWhatWasLostAfterTheLogIsNotWritten(t *testing.T) {
	inBubble(t, func(r *harness) {
		alice, hook := r.subscriber()
		var first *node
		var resume func()
		var id string
		log := &witness{DeliveryLog: r.log, look: func(e store.LogEntry) {
			if resume == nil {
				resume, id = first.pause(), e.ID
			}
		}}
		first = r.node("first", func(s *webhooks.Service) { s.Log = log })
		defer first.stop()
		e := r.paid(alice, 1)
		r.emit(e)
		r.comes(e.ID)
		if resume == nil {
			t.Fatal("nothing was logged")
		}
		defer resume()

		answer := make(chan webhooks.Result)
		r.answer(hook, func(webhooks.Message) webhooks.Result { return <-answer })
		second := r.node("second")
		defer second.stop()
		time.Sleep(2 * time.Minute)
		r.comes(e.ID)
		before, there := r.row(id)
		if !there {
			t.Fatal("it does not wait while it is on its way")
		}
		resume()
		time.Sleep(10 * time.Second)
		if now, there := r.row(id); !there || now.Attempts != before.Attempts || !now.NextAt.Equal(before.NextAt) {
			t.Errorf("the sleeper wrote: %+v became %+v (still there: %v)", before, now, there)
		}
		if health := r.health(hook); !health.LastTriggered.IsZero() {
			t.Errorf("the sleeper wrote the health %+v", health)
		}
		answer <- webhooks.Result{Status: 503}
		go func() { answer <- webhooks.Result{Status: 200} }()
		time.Sleep(10 * time.Second)
		r.comes(e.ID) // its second attempt, of the second node
		if _, there := r.row(id); there || first.posted() != 1 {
			t.Errorf("it waits still: %v; the sleeper sent %d", there, first.posted())
		}
	})
}

// health is how a webhook fares.
func (r *harness) health(hook wallet.Webhook) (health wallet.WebhookHealth) {
	r.Helper()
	err := r.store.View(context.Background(), func(tx store.Tx) (err error) {
		health, err = tx.WebhookHealth(hook.ID)
		return err
	})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		r.Fatal(err)
	}
	return health
}

// TestARelayThatSleptPutsNothingTwice: it has read an event when it falls asleep, and another node tells of it meanwhile.
func TestARelayThatSleptPutsNothingTwice(t *testing.T) {
	inBubble(t, func(r *harness) {
		alice, hook := r.subscriber()
		first := r.node("first")
		defer first.stop()
		before := r.paid(alice, 1)
		r.emit(before)
		r.comes(before.ID) // the first relays, and goes on for a while
		resume := first.holdWrites()
		defer resume()
		e := r.paid(alice, 1)
		r.emit(e)
		r.comes()
		second := r.node("second")
		defer second.stop()
		time.Sleep(2 * time.Minute)
		r.comes(e.ID)
		resume()
		time.Sleep(2 * time.Minute)
		r.comes()
		if states := r.states(hook); states[store.DeliveryDelivered] != 2 || len(r.logged(hook)) != 2 {
			t.Errorf("states %v", states)
		}
		next := r.paid(alice, 1) // and either node relays on
		r.emit(next)
		time.Sleep(2 * time.Second)
		r.comes(next.ID)
	})
}

// TestAnEventAtTheEndOfTheRelayIsNotLeftLying: while the job is held nobody puts another, so its end looks.
func TestAnEventAtTheEndOfTheRelayIsNotLeftLying(t *testing.T) {
	inBubble(t, func(r *harness) {
		alice, _ := r.subscriber()
		only := r.node("only")
		defer only.stop()
		before := r.paid(alice, 1)
		r.emit(before)
		r.comes(before.ID)
		resume := only.holdWrites()
		defer resume()
		time.Sleep(10 * time.Second) // the relay has looked for the last time, and cannot end its job
		e := r.paid(alice, 1)
		r.emit(e)
		r.comes()
		resume()
		time.Sleep(2 * time.Second)
		r.comes(e.ID)
	})
}

// TestADeliveryAtTheEndOfASessionIsNotLeftLying: while the job is held nobody puts another, so its end looks; also where
// the job had waited for a retry before it was claimed.
func TestADeliveryAtTheEndOfASessionIsNotLeftLying(t *testing.T) {
	for _, retried := range []bool{false, true} {
		t.Run(fmt.Sprint("after a retry ", retried), func(t *testing.T) {
			inBubble(t, func(r *harness) {
				alice, hook := r.subscriber()
				r.service.Schedule = work.Schedule{Waits: []time.Duration{2 * time.Minute}}
				only := r.node("only")
				defer only.stop()
				if retried {
					r.answer(hook, fails(503))
				}
				e := r.paid(alice, 1)
				r.emit(e)
				r.comes(e.ID)
				if retried {
					r.answer(hook, nil)
					time.Sleep(2*time.Minute + time.Second)
					r.comes(e.ID)
				}
				resume := only.holdWrites()
				defer resume()
				time.Sleep(10 * time.Second)
				held, there := r.jobOf(hook)
				if !there {
					t.Fatal("the session has ended before")
				}
				r.manual(alice, hook, "late")
				if now, _ := r.jobOf(hook); now.Attempt != held.Attempt || now.Seq != held.Seq {
					t.Errorf("a job in flight was put anew: %+v became %+v", held, now)
				}
				resume()
				time.Sleep(2 * time.Second)
				r.comes("evt_late")
			})
		})
	}
}

// TestAStopLeavesNothingBehind: what a session holds in memory when its node stops goes on at once on another one.
func TestAStopLeavesNothingBehind(t *testing.T) {
	inBubble(t, func(r *harness) {
		alice, hook := r.subscriber()
		first := r.node("first")
		defer first.stop()
		answer := make(chan struct{})
		r.answer(hook, func(webhooks.Message) webhooks.Result {
			<-answer
			return webhooks.Result{Status: 200}
		})
		all := []wallet.Event{r.paid(alice, 1), r.paid(alice, 1), r.paid(alice, 1)}
		r.emit(all...)
		r.comes(all[0].ID)
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			first.stop()
		}()
		r.quiet()
		r.answer(hook, nil)
		close(answer)
		<-stopped
		if job, there := r.jobOf(hook); !there || job.NotBefore.After(time.Now()) {
			t.Fatalf("after the stop the job is %+v (there: %v)", job, there)
		}
		// Another node finds the job. It is not the look for missing ones at its start: the job is there.
		second := r.node("second")
		defer second.stop()
		r.comes(all[1].ID, all[2].ID)
	})
}

// TestABrokenReceiverIsRemembered: a new session knows of the failures before it, and one delivery at a time is on its
// way from the start.
func TestABrokenReceiverIsRemembered(t *testing.T) {
	inBubble(t, func(r *harness) {
		alice, hook := r.subscriber()
		r.answer(hook, fails(400))
		r.run()
		for range 10 {
			r.emit(r.paid(alice, 1))
			r.quiet()
		}
		time.Sleep(time.Minute) // its session has ended
		if _, there := r.jobOf(hook); there || len(r.took()) != 10 {
			t.Fatal("the session goes on")
		}
		answer := make(chan struct{})
		var asked atomic.Bool
		r.answer(hook, func(webhooks.Message) webhooks.Result {
			if !asked.Swap(true) { // the first one is alone in any case: it asks what is left of the limit of an hour
				return webhooks.Result{Status: 400}
			}
			<-answer
			return webhooks.Result{Status: 200}
		})
		var all []wallet.Event
		for i := range 20 {
			all = append(all, r.paid(alice, byte(i)))
		}
		r.emit(all...)
		if got := r.took(); len(got) != 2 { // the first, and one after it
			t.Errorf("%d are on their way to a receiver that fails", len(got))
		}
		close(answer)
		if got := r.took(); len(got) != 18 {
			t.Errorf("%d came when it was back", len(got))
		}
	})
}

// TestALongWaitNeedsNoSession: the job waits in the store until the retry is due, with and without a restart meanwhile.
func TestALongWaitNeedsNoSession(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		t.Run(fmt.Sprint("a restart ", restarts), func(t *testing.T) {
			inBubble(t, func(r *harness) {
				alice, hook := r.subscriber()
				start := func() {
					r.service.Schedule, r.service.Poll = work.Schedule{Waits: []time.Duration{50 * time.Second, 5 * time.Minute}}, time.Second
					r.run()
				}
				r.answer(hook, fails(503))
				start()
				r.emit(r.paid(alice, 1))
				first := r.took()
				if waiting, held := r.jobCounts(); len(first) != 1 || waiting != 0 || held != 1 {
					t.Fatalf("%d attempts; for a short wait %d jobs wait and %d have a session", len(first), waiting, held)
				}
				time.Sleep(51 * time.Second)
				second := r.took()
				job, there := r.jobOf(hook)
				if len(second) != 1 || !there || !job.NotBefore.Equal(second[0].at.Add(5*time.Minute)) {
					t.Fatalf("%d attempts; the job is %+v", len(second), job)
				}
				if waiting, held := r.jobCounts(); waiting != 1 || held != 0 {
					t.Errorf("for a long wait %d jobs wait and %d have a session", waiting, held)
				}
				r.answer(hook, nil)
				if restarts {
					r.close()
					r.open()
					start()
				}
				time.Sleep(5*time.Minute + 2*time.Second)
				third := r.took()
				if len(third) != 1 {
					t.Fatalf("%d attempts", len(third))
				}
				if late := third[0].at.Sub(second[0].at) - 5*time.Minute; late < 0 || late > time.Second {
					t.Errorf("the retry is %s late", late)
				}
			})
		})
	}
}

// TestACrowdWaitsInTheStore: where one person has many webhooks that only wait for a retry, those beyond the first 256 give
// their sessions back, and all retries are made at their time.
func TestACrowdWaitsInTheStore(t *testing.T) {
	const hooks, roomyOfOwner = 300, 256
	inBubble(t, func(r *harness) {
		alice := r.person()
		key := r.key(alice, wallet.APIKey)
		for range hooks {
			r.answer(r.hook(key, "*"), fails(503))
		}
		r.service.Schedule, r.service.Poll = work.Schedule{Waits: []time.Duration{30 * time.Second}}, time.Second
		r.run()
		r.emit(r.paid(alice, 1))
		first := r.took()
		time.Sleep(2 * time.Second) // counts of sessions are used for a second: by now, each session has looked at one in which all are counted
		r.quiet()
		if waiting, held := r.jobCounts(); len(first) != hooks || held > roomyOfOwner || waiting+held != hooks { // some more give theirs back where many look at once
			t.Errorf("%d attempts; %d jobs wait, and %d have a session", len(first), waiting, held)
		}
		time.Sleep(32 * time.Second)
		second := r.took()
		slices.SortFunc(second, func(a, b sent) int { return a.at.Compare(b.at) })
		if len(second) != hooks {
			t.Fatalf("%d retries", len(second))
		}
		if soonest, latest := second[0].at.Sub(first[0].at), second[hooks-1].at.Sub(first[0].at); soonest < 30*time.Second || latest > 31*time.Second {
			t.Errorf("retries after %s to %s", soonest, latest)
		}
	})
}
