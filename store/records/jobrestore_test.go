package records

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"purser/settle"
	"purser/store"
	"purser/store/storetest"
	"purser/wallet"
)

// TestADamagedJobOfASignedPaymentComesBack damages the job of a signed payment, before or after a claim has passed over
// it: settle's walk over the open transactions puts it back, it is claimed once, and the queue's counts stay true.
func TestADamagedJobOfASignedPaymentComesBack(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for what, how := range storetest.WaysOfDamage() {
		for _, passed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, passed over %v", what, passed), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "purser.db")
				s := openAt(t, path)
				signed := wallet.Transaction{ID: "tx_1", Kind: wallet.Send, Status: wallet.Signed, KeyID: "k", From: wallet.Address{1},
					CreatedAt: at, Signed: []byte{1}, Signature: wallet.Signature{1}}
				later := wallet.Transaction{ID: "tx_2", Kind: wallet.Send, Status: wallet.AwaitingConfirmation, KeyID: "k",
					From: wallet.Address{1}, CreatedAt: at, Deadline: at.Add(24 * time.Hour)}
				mustUpdate(t, s, func(tx store.Tx) error {
					if err := store.Create(tx, signed); err != nil {
						return err
					}
					return store.Create(tx, later)
				})
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				inFile(t, path, jobs, 0, how)
				s = openAt(t, path)
				defer func() {
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				}()
				now := at.Add(time.Hour)
				claim := func() (got []store.Job) {
					mustUpdate(t, s, func(tx store.Tx) (err error) {
						got, _, err = tx.ClaimJobs(store.Claim{Queue: store.Settlement, Node: "a", Now: now, Max: 9, Lease: time.Minute})
						return err
					})
					return got
				}
				if passed {
					if got := claim(); len(got) != 0 {
						t.Fatalf("claimed %v of a damaged row", got)
					}
				}
				settler := &settle.Settler{Store: s, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}
				for range 2 { // the second finds nothing to do
					if err := settler.Restore(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				got := claim()
				if len(got) != 1 || got[0].ID != "tx_1" || got[0].Priority != store.JobUrgent {
					t.Fatalf("claimed %v, want the payment's job", got)
				}
				mustUpdate(t, s, func(tx store.Tx) error { return tx.DoneJobs(got[0].Ref()) })
				mustUpdate(t, s, func(tx store.Tx) error {
					owned, err := tx.CountJobs(store.Settlement, "k")
					stats, _ := tx.JobStats(store.Settlement)
					if owned != 1 || stats.Waiting != 1 || stats.InFlight != 0 {
						t.Errorf("%d jobs of the owner, %+v: want the other one alone", owned, stats)
					}
					return err
				})
				now = later.Deadline
				if got := claim(); len(got) != 1 || got[0].ID != "tx_2" {
					t.Errorf("claimed %v, want the other transaction's job", got)
				}
			})
		}
	}
}
