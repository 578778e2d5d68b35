package storetest

import (
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// jobsOf lists the jobs of a queue without claiming them, by the ids that they might have.
func jobsOf(t *testing.T, s store.Store, queue store.Queue, ids ...store.JobID) map[store.JobID]store.Job {
	t.Helper()
	return get(t, s, func(tx store.Tx) (map[store.JobID]store.Job, error) {
		out := map[store.JobID]store.Job{}
		for _, id := range ids {
			if job, err := tx.Job(queue, id); err == nil {
				out[id] = job
			}
		}
		return out, nil
	})
}

func claimOf(t *testing.T, s store.Store, queue store.Queue, node string, now time.Time) (out []store.Job) {
	t.Helper()
	update(t, s, func(tx store.Tx) (err error) {
		out, _, err = tx.ClaimJobs(store.Claim{Queue: queue, Node: node, Now: now, Max: 10, Lease: time.Minute})
		return err
	})
	return out
}

// testDeliveryJobs: while deliveries wait for a webhook it has one job, which may be claimed at once when something was
// put; so has the relay while events wait.
func testDeliveryJobs(t *testing.T, open Open) {
	s := fresh(t, open)
	put := func(id string, to wallet.WebhookID) {
		t.Helper()
		update(t, s, func(tx store.Tx) error {
			_, err := tx.PutDeliveries([]store.Delivery{delivery(id, to, "usr_b")})
			return err
		})
	}
	listener := webhook("wh_listener", "key_1", "usr_a")
	listener.Listener, listener.Node = true, "a"
	update(t, s, func(tx store.Tx) error {
		for _, w := range []wallet.Webhook{webhook("wh_a", "key_1", "usr_a"), webhook("wh_b", "key_1", "usr_a"), webhook("wh_op", "key_2", ""), listener} {
			if err := tx.PutWebhook(w); err != nil {
				return err
			}
		}
		return tx.PutUser(user("usr_b", 2))
	})
	put("dlv_1", "wh_a")
	put("dlv_2", "wh_a")
	put("dlv_3", "wh_op")
	put("dlv_4", "wh_listener")
	got := jobsOf(t, s, store.Deliveries, "wh_a", "wh_op", "wh_listener")
	if len(got) != 2 || got["wh_a"].Owner != "usr_a" || got["wh_a"].About != "usr_a" || got["wh_op"].Owner == "" || !got["wh_a"].NotBefore.IsZero() {
		t.Fatalf("jobs %+v", got)
	}

	held := claimOf(t, s, store.Deliveries, "a", noon())
	if len(held) != 2 {
		t.Fatalf("claimed %+v", held)
	}
	put("dlv_while_held", "wh_a")
	update(t, s, func(tx store.Tx) error { // nothing that was put meanwhile keeps it: its holder looks
		return tx.DoneJobs(held[0].Ref(), held[1].Ref())
	})
	if left := jobsOf(t, s, store.Deliveries, "wh_a", "wh_op"); len(left) != 0 {
		t.Errorf("left %+v", left)
	}

	put("dlv_next", "wh_a")
	held = claimOf(t, s, store.Deliveries, "a", noon())
	update(t, s, func(tx store.Tx) error { return tx.SnoozeJobs(noon().Add(time.Hour), held[0].Ref()) })
	if early := claimOf(t, s, store.Deliveries, "a", noon().Add(time.Second)); len(early) != 0 {
		t.Fatalf("claimed early %+v", early)
	}
	update(t, s, func(tx store.Tx) error { return tx.RestoreDeliveryJobs(noon()) })
	if early := claimOf(t, s, store.Deliveries, "a", noon().Add(2*time.Second)); len(early) != 1 || early[0].ID != "wh_op" {
		t.Fatalf("restored beyond the one that was missing: %+v", early)
	}
	put("dlv_wakes", "wh_a")
	if woken := claimOf(t, s, store.Deliveries, "a", noon().Add(3*time.Second)); len(woken) != 1 || woken[0].ID != "wh_a" {
		t.Errorf("woken %+v", woken)
	}

	testHeldAfterWaiting(t, s, put)

	update(t, s, func(tx store.Tx) error { return tx.Emit(spoken("one")) })
	update(t, s, func(tx store.Tx) error { return tx.Emit(spoken("two")) })
	relay := claimOf(t, s, store.Relay, "a", noon())
	if len(relay) != 1 {
		t.Fatalf("the relay has %+v", relay)
	}
	update(t, s, func(tx store.Tx) error { return tx.DoneJobs(relay[0].Ref()) })
	update(t, s, func(tx store.Tx) error { return tx.RestoreDeliveryJobs(noon()) })
	if relay = claimOf(t, s, store.Relay, "a", noon()); len(relay) != 1 {
		t.Errorf("restored %+v", relay)
	}
}

// testHeldAfterWaiting: a job that had waited for its time and is in flight now is left alone too. Its end removes it, and
// what was put meanwhile is there for its holder to see.
func testHeldAfterWaiting(t *testing.T, s store.Store, put func(id string, to wallet.WebhookID)) {
	t.Helper()
	put("dlv_in_time", "wh_b")
	held := claimOf(t, s, store.Deliveries, "a", noon().Add(4*time.Second))
	if len(held) != 1 || held[0].ID != "wh_b" {
		t.Fatalf("claimed %+v", held)
	}
	due := noon().Add(50 * time.Second)
	update(t, s, func(tx store.Tx) error { return tx.SnoozeJobs(due, held[0].Ref()) })
	held = claimOf(t, s, store.Deliveries, "a", due.Add(time.Second))
	if len(held) != 1 || held[0].ID != "wh_b" || !held[0].NotBefore.Equal(due) {
		t.Fatalf("claimed when it was due %+v", held)
	}
	put("dlv_beside", "wh_b")
	if now := jobsOf(t, s, store.Deliveries, "wh_b")["wh_b"]; !now.NotBefore.Equal(due) || !now.At.Equal(held[0].At) {
		t.Errorf("put anew while it is in flight: %+v became %+v", held[0], now)
	}
	seen := get(t, s, func(tx store.Tx) (store.Delivery, error) { return tx.Delivery("dlv_in_time") })
	update(t, s, func(tx store.Tx) error {
		behind, err := tx.DeliveriesOf("wh_b", seen.Position(), 10)
		if err != nil || len(behind) != 1 || behind[0].ID != "dlv_beside" {
			t.Errorf("its holder sees %+v (%v)", behind, err)
		}
		return tx.DoneJobs(held[0].Ref())
	})
	if left := jobsOf(t, s, store.Deliveries, "wh_b"); len(left) != 0 {
		t.Errorf("left %+v", left)
	}
}

// testLostJobs: which claims are outdated can be asked without ending them.
func testLostJobs(t *testing.T, open Open) {
	s := freshJobs(t, open)
	lost := func(all ...store.Ref) []store.Ref {
		t.Helper()
		return get(t, s, func(tx store.Tx) ([]store.Ref, error) { return tx.LostJobs(all...) })
	}
	s.put(someJobs("kept", "taken", "ended", "removed")...)
	held := s.claim(at(noon(), 4))
	if got := lost(refs(held)...); len(got) != 0 {
		t.Errorf("lost %v while all are held", got)
	}
	s.done(held[2])
	update(t, s, func(tx store.Tx) error { return tx.RemoveJobs(queue, "removed") })
	update(t, s, func(tx store.Tx) error {
		_, err := tx.RenewJobs(noon().Add(time.Hour), held[0].Ref())
		return err
	})
	b := at(noon().Add(2*time.Minute), 4)
	b.Node = "b"
	if again := s.claim(b); jobIDs(again) != "taken" {
		t.Fatalf("claimed %s", jobIDs(again))
	}
	if got := lost(refs(held)...); len(got) != 3 || got[0] != held[1].Ref() || got[1] != held[2].Ref() || got[2] != held[3].Ref() {
		t.Errorf("lost %v", got)
	}
	newer := held[0].Ref()
	newer.Attempt++
	if got := lost(newer); len(got) != 1 {
		t.Errorf("an attempt that never was is held: %v", got)
	}
	s.done(held[0]) // asking has ended nothing
}
