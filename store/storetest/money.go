package storetest

import (
	"fmt"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

func transaction(n int, owner wallet.UserID, from byte) wallet.Transaction {
	return wallet.Transaction{
		ID: wallet.TransactionID(fmt.Sprintf("tx_%03d", n)), Kind: wallet.Send, Status: wallet.AwaitingConfirmation,
		Owner: owner, Chat: 1001, From: wallet.Address{from}, To: wallet.Address{200}, Token: wallet.SOL, Amount: 5,
		CreatedAt: noon().Add(time.Duration(n) * time.Second), Message: []byte("message"),
	}
}

func ids(list []wallet.Transaction) []wallet.TransactionID {
	out := []wallet.TransactionID{}
	for _, t := range list {
		out = append(out, t.ID)
	}
	return out
}

func testTransactions(t *testing.T, open Open) {
	s := fresh(t, open)
	one := transaction(1, "usr_a", 1)
	read := func() wallet.Transaction {
		return get(t, s, func(tx store.Tx) (wallet.Transaction, error) { return tx.Transaction(one.ID) })
	}
	absent(t, s, "an unknown one", func(tx store.Tx) error { _, err := tx.Transaction(one.ID); return err })
	refuses(t, s, store.ErrNotFound, func(tx store.Tx) error { return tx.PutTransaction(one) })
	one.Version = 41 // what the caller says of a new one's version counts for nothing
	update(t, s, func(tx store.Tx) error { return tx.CreateTransaction(one) })
	one.Version = 1
	same(t, "created", read(), one)
	refuses(t, s, store.ErrConflict, func(tx store.Tx) error { return tx.CreateTransaction(one) })

	changed := one
	changed.Status, changed.SignID = wallet.AwaitingSignature, "sign"
	update(t, s, func(tx store.Tx) error { return tx.PutTransaction(changed) })
	changed.Version = 2
	same(t, "changed", read(), changed)
	for _, version := range []uint64{0, 1, 3} {
		stale := one
		stale.Version = version
		refuses(t, s, store.ErrConflict, func(tx store.Tx) error { return tx.PutTransaction(stale) })
	}
	same(t, "after refusals", read(), changed)
	// Two steps within one store transaction see each other.
	update(t, s, func(tx store.Tx) error {
		for range 2 {
			row, err := tx.Transaction(one.ID)
			if err != nil {
				return err
			}
			row.Fee++
			if err := tx.PutTransaction(row); err != nil {
				return err
			}
		}
		return nil
	})
	same(t, "two steps", read().Fee, changed.Fee+2)
}

func testTransactionIndexes(t *testing.T, open Open) {
	s := fresh(t, open)
	one, two := transaction(1, "usr_a", 1), transaction(2, "usr_a", 1)
	bySign := func(id string) func(store.Tx) (wallet.Transaction, error) {
		return func(tx store.Tx) (wallet.Transaction, error) { return tx.TransactionBySignID(id) }
	}
	bySignature := func(n byte) func(store.Tx) (wallet.Transaction, error) {
		return func(tx store.Tx) (wallet.Transaction, error) {
			return tx.TransactionBySignature(wallet.Signature{n})
		}
	}
	missing := func(what string, read func(store.Tx) (wallet.Transaction, error)) {
		t.Helper()
		absent(t, s, what, func(tx store.Tx) error { _, err := read(tx); return err })
	}
	put := func(row *wallet.Transaction) {
		t.Helper()
		update(t, s, func(tx store.Tx) error { return tx.PutTransaction(*row) })
		row.Version++
	}
	one.SignID = "s1"
	update(t, s, func(tx store.Tx) error { return tx.CreateTransaction(one) })
	update(t, s, func(tx store.Tx) error { return tx.CreateTransaction(two) })
	one.Version, two.Version = 1, 1
	same(t, "sign id", get(t, s, bySign("s1")), one)
	missing("an empty sign id", bySign(""))
	missing("an unknown sign id", bySign("s2"))
	missing("no signature", bySignature(0))

	one.SignID, one.Signature = "s2", wallet.Signature{1}
	put(&one)
	missing("the sign id before", bySign("s1"))
	same(t, "the new sign id", get(t, s, bySign("s2")), one)
	same(t, "the signature", get(t, s, bySignature(1)), one)

	two.Signature = wallet.Signature{1}
	refuses(t, s, store.ErrConflict, func(tx store.Tx) error { return tx.PutTransaction(two) })
	two.Signature, two.SignID = wallet.Signature{}, "s2"
	refuses(t, s, store.ErrConflict, func(tx store.Tx) error { return tx.PutTransaction(two) })

	// The receipt of what one sent has the same signature, whichever is written first.
	receipt := transaction(3, "usr_b", 1)
	receipt.Kind, receipt.Status, receipt.Closed, receipt.Signature = wallet.Receive, wallet.Received, true, one.Signature
	update(t, s, func(tx store.Tx) error { return tx.CreateTransaction(receipt) })
	same(t, "the sender's", get(t, s, bySignature(1)), one)
	early := receipt
	early.ID, early.Signature = "tx_early", wallet.Signature{2}
	update(t, s, func(tx store.Tx) error { return tx.CreateTransaction(early) })
	same(t, "the receipt's", get(t, s, bySignature(2)).ID, early.ID)
	two.SignID, two.Signature = "", wallet.Signature{2}
	put(&two)
	same(t, "the sender's, later", get(t, s, bySignature(2)), two)

	one.SignID, one.Signature = "", wallet.Signature{}
	put(&one)
	missing("a sign id that was dropped", bySign("s2"))
	missing("a signature that was dropped", bySignature(1))
}

func testTransactionLists(t *testing.T, open Open) {
	s := fresh(t, open)
	rows := []wallet.Transaction{
		transaction(5, "usr_a", 1), transaction(1, "usr_a", 1), transaction(3, "usr_b", 2),
		transaction(2, "usr_a", 2), transaction(4, "usr_a", 1), transaction(6, "", 3),
	}
	twin := transaction(4, "usr_a", 1)
	twin.ID = "tx_004_twin" // created in the same instant: ids decide
	for _, row := range append(rows, twin) {
		update(t, s, func(tx store.Tx) error { return tx.CreateTransaction(row) })
	}
	unsettled := func(limit int) []wallet.TransactionID {
		return ids(get(t, s, func(tx store.Tx) ([]wallet.Transaction, error) {
			return tx.UnsettledTransactions(wallet.Transaction{}, limit)
		}))
	}
	from := func(n byte) []wallet.TransactionID {
		return ids(get(t, s, func(tx store.Tx) ([]wallet.Transaction, error) { return tx.UnsettledFrom(wallet.Address{n}) }))
	}
	unsettledOf := func(owner wallet.UserID) []wallet.TransactionID {
		return ids(get(t, s, func(tx store.Tx) ([]wallet.Transaction, error) { return tx.UnsettledOf(owner) }))
	}
	of := func(owner wallet.UserID, after wallet.TransactionID, limit int) []wallet.TransactionID {
		return ids(get(t, s, func(tx store.Tx) ([]wallet.Transaction, error) {
			return tx.TransactionsOf(owner, store.Page{After: after, Limit: limit})
		}))
	}
	type list = []wallet.TransactionID
	same(t, "unsettled", unsettled(10), list{"tx_001", "tx_002", "tx_003", "tx_004", "tx_004_twin", "tx_005", "tx_006"})
	same(t, "unsettled, limited", unsettled(2), list{"tx_001", "tx_002"})
	behind := func(row wallet.Transaction, limit int) []wallet.TransactionID {
		return ids(get(t, s, func(tx store.Tx) ([]wallet.Transaction, error) { return tx.UnsettledTransactions(row, limit) }))
	}
	same(t, "unsettled, the next page", behind(transaction(2, "usr_a", 2), 2), list{"tx_003", "tx_004"})
	same(t, "unsettled, behind one of the same instant", behind(transaction(4, "usr_a", 1), 1), list{"tx_004_twin"})
	same(t, "unsettled, behind the last", behind(transaction(6, "", 3), 2), list{})
	same(t, "unsettled, none wanted", unsettled(0), list{})
	same(t, "unsettled from", from(1), list{"tx_001", "tx_004", "tx_004_twin", "tx_005"})
	same(t, "unsettled of an owner", unsettledOf("usr_a"), list{"tx_001", "tx_002", "tx_004", "tx_004_twin", "tx_005"})
	same(t, "unsettled of nobody", unsettledOf(""), list{"tx_006"})
	same(t, "unsettled of a stranger", unsettledOf("usr_"), list{})
	same(t, "an owner's", of("usr_a", "", 3), list{"tx_005", "tx_004_twin", "tx_004"})
	same(t, "an owner's next page", of("usr_a", "tx_004", 3), list{"tx_002", "tx_001"})
	same(t, "after the last", of("usr_a", "tx_001", 3), list{})
	same(t, "nobody's", of("", "", 3), list{"tx_006"})
	same(t, "a stranger's", of("usr_", "", 3), list{})
	absent(t, s, "after another's", func(tx store.Tx) error {
		_, err := tx.TransactionsOf("usr_a", store.Page{After: "tx_003", Limit: 3})
		return err
	})
	until := func(owner wallet.UserID, after wallet.TransactionID, created int) []wallet.TransactionID {
		p := store.Page{After: after, Until: transaction(created, owner, 1).CreatedAt, Limit: 3}
		return ids(get(t, s, func(tx store.Tx) ([]wallet.Transaction, error) { return tx.TransactionsOf(owner, p) }))
	}
	same(t, "an owner's until a time", until("usr_a", "", 5), list{"tx_004_twin", "tx_004", "tx_002"})
	same(t, "an owner's next page until a time", until("usr_a", "tx_004", 5), list{"tx_002", "tx_001"})
	same(t, "until before the page", until("usr_a", "tx_005", 2), list{"tx_001"})
	same(t, "until before all", until("usr_a", "", 1), list{})
	at := func(n byte, after wallet.TransactionID) []wallet.TransactionID {
		p := store.Page{After: after, Limit: 3}
		return ids(get(t, s, func(tx store.Tx) ([]wallet.Transaction, error) { return tx.TransactionsAt(wallet.Address{n}, p) }))
	}
	same(t, "a wallet's", at(1, ""), list{"tx_005", "tx_004_twin", "tx_004"})
	same(t, "a wallet's next page", at(1, "tx_004"), list{"tx_001"})
	same(t, "an operator's wallet's", at(3, ""), list{"tx_006"})
	same(t, "nobody's wallet's", at(9, ""), list{})
	same(t, "the highest wallet's", at(0xff, ""), list{})
	absent(t, s, "after another wallet's", func(tx store.Tx) error {
		_, err := tx.TransactionsAt(wallet.Address{1}, store.Page{After: "tx_003", Limit: 3})
		return err
	})

	done := rows[1]
	done.Version, done.Closed, done.Status = 1, true, wallet.Rejected
	update(t, s, func(tx store.Tx) error { return tx.PutTransaction(done) })
	same(t, "a final one leaves", unsettled(2), list{"tx_002", "tx_003"})
	same(t, "and its address", from(1), list{"tx_004", "tx_004_twin", "tx_005"})
	same(t, "but not its owner", of("usr_a", "tx_002", 3), list{"tx_001"})
	done.Version, done.Closed, done.Status = 2, false, wallet.Confirmed
	update(t, s, func(tx store.Tx) error { return tx.PutTransaction(done) })
	same(t, "one that was found on chain returns", unsettled(2), list{"tx_001", "tx_002"})
}
