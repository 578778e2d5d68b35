package records

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"purser/store"
	"purser/store/engine"
	"purser/wallet"
)

// holdsIn lists what is left in tables, as "table key".
func (t *tx) holdsIn(all ...table) (left []string) {
	for _, b := range all {
		for _, e := range t.prefixed(b, nil) {
			left = append(left, fmt.Sprintf("%s %q", b, e.key))
		}
	}
	return left
}

func leftIn(t *testing.T, s *Store, all ...table) (left []string) {
	t.Helper()
	if err := s.View(t.Context(), func(contract store.Tx) error {
		left = contract.(*tx).holdsIn(all...)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return left
}

// rowsIn counts the rows of a table.
func rowsIn(t *testing.T, s *Store, b table) (n int) {
	t.Helper()
	if err := s.View(t.Context(), func(contract store.Tx) error {
		for _, e := range contract.(*tx).prefixed(b, nil) {
			if b.isRow(e.key) {
				n++
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestAnAnswerLeavesNothing, however it ends.
func TestAnAnswerLeavesNothing(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for way, end := range map[string]func(store.Tx) error{
		"dropped": func(tx store.Tx) error { return tx.DeleteIdempotencyRecord("key") },
		"swept":   func(tx store.Tx) error { _, err := tx.Sweep(at.Add(time.Hour), 10); return err },
		"looked up too late": func(tx store.Tx) error {
			if _, err := tx.IdempotencyRecord("key", at.Add(time.Hour)); !errors.Is(err, store.ErrNotFound) {
				return fmt.Errorf("answered: %w", err)
			}
			return nil
		},
	} {
		s := fresh(t)
		mustUpdate(t, s, func(tx store.Tx) error {
			return tx.PutIdempotencyRecord("key", store.IdempotencyRecord{Status: 200, Body: []byte("{}"), ExpiresAt: at})
		})
		if left := leftIn(t, s, idempotencyRecords, idempotencyKeys, expiries); len(left) != 3 {
			t.Errorf("%s: an answer is %v", way, left)
		}
		mustUpdate(t, s, end)
		if left := leftIn(t, s, idempotencyRecords, idempotencyKeys, expiries); len(left) != 0 {
			t.Errorf("%s: there is left %v", way, left)
		}
	}
}

// TestEventsWithAndWithoutATimeInTheirIDAreDoneOnce, and not emitted again: ids of receipts are digits of a hash,
// and lie at their own hash alone.
func TestEventsWithAndWithoutATimeInTheirIDAreDoneOnce(t *testing.T) {
	s := fresh(t)
	var all []wallet.Event
	for i := range 200 {
		of := wallet.ReceivedID(wallet.Signature{byte(i)}, wallet.Address{1}, wallet.Address{})
		all = append(all, wallet.Event{ID: fmt.Sprintf("evt_%s_1_0", of), Name: wallet.TransactionReceived, Data: []byte("{}")})
	}
	for _, old := range []string{"tx_abcdefghijklmnopqrstuvwxyz", "tx_0001", "tx_22222222222222222222222222"} {
		all = append(all, wallet.Event{ID: "evt_" + old + "_1_0", Name: wallet.TransactionReceived, Data: []byte("{}")})
	}
	mustUpdate(t, s, func(contract store.Tx) error {
		tx := contract.(*tx)
		for _, e := range all {
			if err := tx.Emit(e); err != nil {
				return err
			}
			if hash := s.lookup.Text(store.ByEvent, e.ID); tx.get(eventIDs, hash[:eventIDSize]) == nil {
				t.Errorf("%s lies elsewhere than at its hash", e.ID)
			}
		}
		return tx.Emit(all...)
	})
	timed := wallet.Event{ID: "evt_tx_1k7uvkhg0fudsbq9o7m5k3i1g0_1_0", Name: wallet.TransactionReceived, Data: []byte("{}")}
	mustUpdate(t, s, func(contract store.Tx) error {
		if err := errors.Join(contract.Emit(timed), contract.Emit(timed)); err != nil {
			return err
		}
		if len(contract.(*tx).prefixed(eventIDs, []byte("1k7uvkhg0"))) != 1 {
			t.Error("a timed one lies elsewhere than at its time")
		}
		pending, err := contract.PendingEvents(1000)
		if len(pending) != len(all)+1 {
			t.Errorf("%d pend", len(pending))
		}
		return errors.Join(err, doneEvents(contract), contract.Emit(append(all, timed)...))
	})
	if left := leftIn(t, s, jobs); len(left) != 1 || left[0] != `jobs "events\x00s"` { // the state of the queue
		t.Errorf("emitted anew: %v", left)
	}
}

// doneEvents takes all events out of those that wait for notify.
func doneEvents(contract store.Tx) error {
	q, err := contract.(*tx).jobQueue(store.Events)
	if err != nil {
		return err
	}
	for _, e := range q.prefixed(jobs, q.at(rowOf)) {
		err = errors.Join(err, contract.RemoveJobs(store.Events, madeID(binary.BigEndian.Uint64(e.key[len(e.key)-8:]))))
	}
	return err
}

// TestBehindIsToldOverPagesThatTheTransactionEmptied: bbolt's cursor stops at such a page when it goes back.
func TestBehindIsToldOverPagesThatTheTransactionEmptied(t *testing.T) {
	serial := 0
	put := func(tx store.Tx, hook wallet.WebhookID, about wallet.UserID, n int) (all []store.Delivery) {
		rows := make([]store.Delivery, n)
		for i := range rows {
			serial++
			rows[i] = store.Delivery{ID: fmt.Sprintf("dlv_%027d", serial), Webhook: hook, User: about, Body: []byte("x")}
		}
		placed, err := tx.PutDeliveries(rows)
		if err != nil || len(placed) != n {
			t.Fatalf("%d of %d put, %v", len(placed), n, err)
		}
		for _, p := range placed {
			all = append(all, p.Delivery)
		}
		return all
	}
	behind := func(tx store.Tx, hook wallet.WebhookID) uint64 {
		serial++
		placed, err := tx.PutDeliveries([]store.Delivery{{ID: fmt.Sprintf("dlv_%027d", serial), Webhook: hook, Body: []byte("x")}})
		if err != nil || len(placed) != 1 {
			t.Fatal(placed, err)
		}
		return placed[0].Behind
	}
	for _, way := range []string{"a neighbour's are done", "a person is erased", "all before are done", "nothing is left"} {
		s := fresh(t)
		var first, second, third []store.Delivery
		mustUpdate(t, s, func(tx store.Tx) error {
			err := errors.Join(tx.PutUser(wallet.User{ID: "usr_a", TelegramID: 1}), tx.PutUser(wallet.User{ID: "usr_b", TelegramID: 2}),
				tx.PutWebhook(wallet.Webhook{ID: "wh_a", Lineage: "key_1"}), tx.PutWebhook(wallet.Webhook{ID: "wh_b", Lineage: "key_1"}), tx.PutWebhook(wallet.Webhook{ID: "wh_c", Lineage: "key_1"}))
			first = put(tx, "wh_a", "usr_a", 50)
			if way == "a person is erased" {
				second = put(tx, "wh_a", "usr_b", 400)
			} else {
				second = put(tx, "wh_b", "usr_a", 400)
			}
			third = put(tx, "wh_c", "usr_a", 50)
			return err
		})
		want := first[len(first)-1].Seq
		mustUpdate(t, s, func(tx store.Tx) error {
			var err error
			switch way {
			case "a person is erased":
				err = tx.EraseUser("usr_b")
			case "all before are done":
				err, want = tx.DoneDeliveries(append(second, first...)), 0
			case "nothing is left":
				err, want = tx.DoneDeliveries(slices.Concat(first, second, third)), 0
			default:
				err = tx.DoneDeliveries(second)
			}
			if got := behind(tx, "wh_a"); got != want {
				t.Errorf("%s: behind %d, not %d", way, got, want)
			}
			return err
		})
	}
}

// TestIndexesAndRowsOfDeliveriesAgree after whatever was done to them at random.
func TestIndexesAndRowsOfDeliveriesAgree(t *testing.T) {
	seeds := uint64(4)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		r, s := rand.New(rand.NewPCG(seed, 9)), fresh(t)
		var hooks []wallet.WebhookID
		var live []store.Delivery
		users := []wallet.UserID{""}
		step := func(tx store.Tx) error {
			switch n := r.IntN(8); {
			case n == 0 || len(hooks) < 2:
				name := fmt.Sprint(seed, "_", len(live), "_", r.Uint64())
				hooks, users = append(hooks, wallet.WebhookID("wh_"+name)), append(users, wallet.UserID("usr_"+name))
				return errors.Join(tx.PutUser(wallet.User{ID: users[len(users)-1], TelegramID: r.Int64()}),
					tx.PutWebhook(wallet.Webhook{ID: hooks[len(hooks)-1], Lineage: "key_1"}))
			case n <= 3:
				all := make([]store.Delivery, r.IntN(700))
				for i := range all {
					all[i] = store.Delivery{ID: fmt.Sprint("dlv_", r.IntN(5000)), Webhook: hooks[r.IntN(len(hooks))],
						User: users[r.IntN(len(users))], Urgency: store.Urgency(r.IntN(3)), Body: []byte("x")}
				}
				placed, err := tx.PutDeliveries(all)
				for _, d := range placed {
					live = append(live, d.Delivery)
				}
				return err
			case n <= 5 && len(live) > 0:
				for range r.IntN(300) {
					some, other := live[r.IntN(len(live))], live[r.IntN(len(live))]
					if err := errors.Join(tx.Reschedule([]store.Delivery{some}), tx.DoneDeliveries([]store.Delivery{other})); err != nil {
						return err
					}
				}
			case n == 6 && len(hooks) > 3:
				gone := hooks[0]
				hooks = hooks[1:]
				return tx.DeleteWebhook(gone)
			case n == 7 && len(users) > 3:
				gone := users[1]
				users = append([]wallet.UserID{""}, users[2:]...)
				return tx.EraseUser(gone)
			}
			_, err := tx.Sweep(time.Now(), r.IntN(50))
			return err
		}
		for range 120 {
			mustUpdate(t, s, func(tx store.Tx) error {
				return errors.Join(step(tx), step(tx))
			})
		}
		for swept := 1; swept > 0; {
			mustUpdate(t, s, func(tx store.Tx) (err error) { swept, err = tx.Sweep(time.Now(), 500); return err })
		}
		if err := s.View(t.Context(), func(contract store.Tx) error {
			tx := contract.(*tx)
			for _, e := range tx.prefixed(deliveries, nil) {
				d, _, err := plainOf[store.Delivery](tx, deliveryRows, e.value, tx.get(deliveryRows, e.value))
				if err != nil || !bytes.Equal(deliveryKey(d.Webhook, d.Position()), e.key) {
					t.Errorf("%q leads to no row of its own (%v)", e.key, err)
				}
			}
			for _, e := range tx.prefixed(deliveryRows, nil) {
				if d, _, err := plainOf[store.Delivery](tx, deliveryRows, e.key, e.value); err != nil || !tx.listed(d) {
					t.Errorf("nothing leads to %q (%v)", e.key, err)
				}
			}
			for _, e := range tx.prefixed(deliveriesAbout, nil) {
				if tx.get(deliveries, e.value) == nil {
					t.Errorf("%q leads to nothing", e.key)
				}
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
}

// TestKeysAreFoundBackwardsWhateverTheTransactionDeleted: by their prefix, below a bound, and one after the other.
func TestKeysAreFoundBackwardsWhateverTheTransactionDeleted(t *testing.T) {
	for seed := range uint64(20) {
		r, s := rand.New(rand.NewPCG(seed, 1)), fresh(t)
		key := func() []byte { return fmt.Appendf(nil, "%c%c%040d", 'a'+r.IntN(4), 'a'+r.IntN(4), r.IntN(1<<30)) }
		mustUpdate(t, s, func(contract store.Tx) error {
			for range r.IntN(3000) {
				if err := contract.(*tx).put(seen, key(), nil); err != nil {
					return err
				}
			}
			return nil
		})
		mustUpdate(t, s, func(contract store.Tx) error {
			tx := contract.(*tx)
			for range 12 {
				var all [][]byte
				for k := range tx.scan(seen, engine.Range{}) {
					all = append(all, bytes.Clone(k))
				}
				lastBelow := func(fits func([]byte) bool) (found []byte) {
					for _, k := range all {
						if fits(k) {
							found = k
						}
					}
					return found
				}
				for _, prefix := range []string{"a", "ab", "b", "d", "dd", "z", "\xff"} {
					want := lastBelow(func(k []byte) bool { return bytes.HasPrefix(k, []byte(prefix)) })
					if got, _ := tx.last(seen, []byte(prefix)); !bytes.Equal(got, want) {
						t.Fatalf("seed %d: the last of %q is %q, not %q", seed, prefix, got, want)
					}
				}
				for range 10 {
					bound := key()
					want := lastBelow(func(k []byte) bool { return bytes.Compare(k, bound) < 0 })
					if got, _ := tx.first(seen, engine.Range{Before: bound, Backward: true}); !bytes.Equal(got, want) {
						t.Fatalf("seed %d: below %q is %q, not %q", seed, bound, got, want)
					}
				}
				var walked [][]byte
				for k := range tx.scan(seen, engine.Range{Backward: true}) {
					walked = append(walked, bytes.Clone(k))
				}
				slices.Reverse(walked)
				if !slices.EqualFunc(walked, all, bytes.Equal) {
					t.Fatalf("seed %d: %d keys backwards, %d forwards", seed, len(walked), len(all))
				}
				from, to := 0, len(all)
				if r.IntN(6) > 0 && len(all) > 0 {
					from = r.IntN(len(all))
					to = from + r.IntN(len(all)-from+1)
				}
				for _, k := range all[from:to] {
					if err := tx.delete(seen, k); err != nil {
						return err
					}
				}
				for range r.IntN(3) * r.IntN(200) {
					if err := tx.put(seen, key(), nil); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
}

// TestADestroyedKeyIsNotRememberedAgain, not even by whoever still looks at what was before.
func TestADestroyedKeyIsNotRememberedAgain(t *testing.T) {
	s := fresh(t)
	mustUpdate(t, s, func(tx store.Tx) error { return tx.PutUser(wallet.User{ID: "usr_a", TelegramID: 1}) })
	look := func(contract store.Tx) error { _, err := contract.(*tx).dataKey("usr_a"); return err }
	if err := s.View(t.Context(), look); err != nil || len(s.dataKeys.keys) != 1 {
		t.Fatalf("%d keys are remembered, %v", len(s.dataKeys.keys), err)
	}
	if err := s.View(t.Context(), func(before store.Tx) error {
		mustUpdate(t, s, func(tx store.Tx) error { return tx.EraseUser("usr_a") })
		if len(s.dataKeys.keys) != 0 {
			t.Error("it is remembered still")
		}
		return look(before)
	}); !errors.Is(err, store.ErrNotFound) { // gone is gone, in every snapshot
		t.Fatal(err)
	}
	if len(s.dataKeys.keys) != 0 {
		t.Errorf("%d keys are remembered", len(s.dataKeys.keys))
	}
}

// TestBehindADamagedKeyNobodyHasRead: what is put there is to be read from the store.
func TestBehindADamagedKeyNobodyHasRead(t *testing.T) {
	s := fresh(t)
	mustUpdate(t, s, func(contract store.Tx) error {
		tx := contract.(*tx)
		if err := errors.Join(tx.PutWebhook(wallet.Webhook{ID: "wh_a", Lineage: "key_1"}),
			tx.put(deliveries, append(hookPrefix("wh_a"), byte(store.Money), 1), []byte("dlv_0"))); err != nil {
			return err
		}
		placed, err := tx.PutDeliveries([]store.Delivery{{ID: "dlv_1", Webhook: "wh_a"}})
		if err != nil || len(placed) != 1 || placed[0].Behind != math.MaxUint64 {
			t.Errorf("%+v, %v", placed, err)
		}
		return nil
	})
}
