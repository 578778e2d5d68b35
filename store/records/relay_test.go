package records

import (
	"fmt"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// TestTheRelayIsWokenAgainInTheSameCommit: the relay's job ends between two events of one transaction, or waits for a
// later time. The second event wakes it all the same, and a third finds it awake.
func TestTheRelayIsWokenAgainInTheSameCommit(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for what, end := range map[string]func(store.Tx, store.Ref) error{
		"done":    func(tx store.Tx, ref store.Ref) error { return tx.DoneJobs(ref) },
		"removed": func(tx store.Tx, ref store.Ref) error { return tx.RemoveJobs(store.Relay, ref.ID) },
		"later":   func(tx store.Tx, ref store.Ref) error { return tx.SnoozeJobs(at.Add(time.Hour), ref) },
	} {
		s := fresh(t)
		mustUpdate(t, s, func(tx store.Tx) error { return tx.PutWebhook(wallet.Webhook{ID: "wh", Lineage: "key"}) })
		emit := func(tx store.Tx, n int) error {
			return tx.Emit(wallet.Event{ID: fmt.Sprint("evt_", n), Name: wallet.MessageReceived, At: at, Data: []byte("{}")})
		}
		claim := func(tx store.Tx) []store.Job {
			got, _, err := tx.ClaimJobs(store.Claim{Queue: store.Relay, Node: "a", Now: at, Max: 1, Lease: time.Minute})
			if err != nil {
				t.Error(err)
			}
			return got
		}
		mustUpdate(t, s, func(tx store.Tx) error {
			if err := emit(tx, 1); err != nil {
				return err
			}
			got := claim(tx)
			if len(got) != 1 {
				return fmt.Errorf("%d jobs of the relay", len(got))
			}
			if err := emit(tx, 2); err != nil { // it is in flight: nothing to do
				return err
			}
			if err := end(tx, got[0].Ref()); err != nil {
				return err
			}
			if err := emit(tx, 3); err != nil {
				return err
			}
			return emit(tx, 4)
		})
		mustUpdate(t, s, func(tx store.Tx) error {
			if got := claim(tx); len(got) != 1 || got[0].ID != relayJob {
				t.Errorf("%s: claimed %+v, want the relay's job", what, got)
			}
			return nil
		})
	}
}
