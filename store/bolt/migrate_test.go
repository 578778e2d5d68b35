package bolt

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	bbolt "go.etcd.io/bbolt"

	"purser/store"
	"purser/wallet"
)

// TestOldPaymentsAreKnownAfterTheUpgrade takes a file back to schema 1, and has it upgraded.
func TestOldPaymentsAreKnownAfterTheUpgrade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "purser.db")
	s := openAt(t, path)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	row := func(id string, kind wallet.Kind, status wallet.Status, to byte) wallet.Transaction {
		at = at.Add(time.Second)
		return wallet.Transaction{ID: wallet.TransactionID(id), Owner: "usr_a", Kind: kind, Status: status, To: wallet.Address{to}, CreatedAt: at, ConfirmedAt: at}
	}
	mustUpdate(t, s, func(tx store.Tx) error {
		return errors.Join(tx.PutUser(wallet.User{ID: "usr_a", TelegramID: 7}),
			tx.CreateTransaction(row("tx_1", wallet.Send, wallet.Confirmed, 1)),
			tx.CreateTransaction(row("tx_2", wallet.Send, wallet.Failed, 2)),
			tx.CreateTransaction(row("tx_3", wallet.Receive, wallet.Received, 3)),
			tx.CreateTransaction(row("tx_4", wallet.Send, wallet.Confirmed, 4)))
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = file.Update(func(root *bbolt.Tx) error {
		return errors.Join(root.DeleteBucket([]byte(paidBy.String())), root.DeleteBucket([]byte(contacts.String())),
			root.Bucket([]byte(metaBucket.String())).Put([]byte(metaSchema), numberKey(1)))
	})
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}

	s = openAt(t, path)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	err = s.View(t.Context(), func(tx store.Tx) error {
		paid, err := tx.Recipients("usr_a", 10)
		if want := []wallet.Address{{4}, {1}}; !slices.Equal(paid, want) {
			t.Errorf("paid %v, want %v", paid, want)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	mustUpdate(t, s, func(tx store.Tx) error { return tx.PutContact(wallet.Contact{Owner: "usr_a", Name: "rent"}) })
}
