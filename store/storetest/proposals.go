package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// testProposals: what came to nothing is removed a month after its end, with what leads to it; all that was signed, or
// could have been, or is not over, is kept for good.
func testProposals(t *testing.T, open Open) {
	s := fresh(t, open)
	ended := noon().Add(time.Hour)
	dropped := func(n int, change func(*wallet.Transaction)) wallet.Transaction {
		row := transaction(n, "usr_a", 1)
		row.Kind, row.Status, row.Closed, row.EndedAt, row.SignID, row.Changes = wallet.Send, wallet.Expired, true, ended, fmt.Sprint("sign ", n), 1
		change(&row)
		return row
	}
	gone := []wallet.Transaction{
		dropped(1, func(*wallet.Transaction) {}),
		dropped(2, func(r *wallet.Transaction) { r.Status, r.SignID = wallet.Rejected, "" }),
		dropped(3, func(r *wallet.Transaction) { r.Status = wallet.Failed }),
	}
	kept := []wallet.Transaction{
		dropped(11, func(r *wallet.Transaction) { r.Signature = wallet.Signature{1} }),
		dropped(12, func(r *wallet.Transaction) { r.IssuedBlockhashes = []wallet.IssuedBlockhash{{}} }),
		dropped(13, func(r *wallet.Transaction) { r.Signed = []byte{1} }),
		dropped(14, func(r *wallet.Transaction) { r.Closed = false }),
		dropped(15, func(r *wallet.Transaction) { r.Status = wallet.Confirmed }),
		dropped(16, func(r *wallet.Transaction) { r.Status = wallet.Received }),
		dropped(17, func(r *wallet.Transaction) { r.EndedAt = ended.Add(time.Second) }),
		dropped(18, func(r *wallet.Transaction) { r.Landing = &wallet.Landing{} }),
	}
	update(t, s, func(tx store.Tx) error { return tx.PutUser(user("usr_a", 1001)) })
	for _, row := range append(append([]wallet.Transaction{}, gone...), kept...) {
		open := row // as it was before it ended
		open.Closed, open.Status, open.EndedAt = false, wallet.AwaitingConfirmation, time.Time{}
		update(t, s, func(tx store.Tx) error { return tx.CreateTransaction(open) })
		row.Version = 1
		update(t, s, func(tx store.Tx) error {
			first := wallet.Event{ID: row.EventIDs()[0], Name: wallet.TransactionProposed, User: "usr_a", At: noon(), Data: []byte("{}")}
			return errors.Join(tx.PutTransaction(row), tx.Emit(first))
		})
	}
	sweep := func(now time.Time) int {
		t.Helper()
		n := 0
		update(t, s, func(tx store.Tx) (err error) { n, err = tx.Sweep(now, 100); return err })
		return n
	}
	update(t, s, func(tx store.Tx) error { return doneEvent(tx, gone[0].EventIDs()[0]) })
	same(t, "before their time", sweep(ended.Add(store.ProposalKeptFor-time.Nanosecond)), 0)
	same(t, "in their time", sweep(ended.Add(store.ProposalKeptFor)), len(gone))
	for _, row := range gone {
		absent(t, s, string(row.ID), func(tx store.Tx) error { _, err := tx.Transaction(row.ID); return err })
		absent(t, s, string(row.ID), func(tx store.Tx) error { _, err := tx.TransactionBySignID(row.SignID); return err })
	}
	for _, list := range [][]wallet.Transaction{
		get(t, s, func(tx store.Tx) ([]wallet.Transaction, error) {
			return tx.TransactionsOf("usr_a", store.Page{Limit: 100})
		}),
		get(t, s, func(tx store.Tx) ([]wallet.Transaction, error) {
			return tx.TransactionsAt(kept[0].From, store.Page{Limit: 100})
		}),
	} {
		same(t, "those that are kept", len(list), len(kept))
	}
	for _, row := range kept {
		row.Version = 2
		same(t, "kept", get(t, s, func(tx store.Tx) (wallet.Transaction, error) { return tx.Transaction(row.ID) }), row)
	}
	// An event that is not handled yet can still be done; then all is swept as before.
	update(t, s, func(tx store.Tx) error { return doneEvent(tx, gone[1].EventIDs()[0]) })
	same(t, "the one that ended later", sweep(ended.Add(store.ProposalKeptFor+time.Second)), 1)
	update(t, s, func(tx store.Tx) error { return tx.CreateTransaction(gone[0]) }) // its id and sign id are free
}
