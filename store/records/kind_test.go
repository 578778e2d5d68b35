package records

import (
	"errors"
	"path/filepath"
	"testing"

	bbolt "go.etcd.io/bbolt"

	"purser/store"
	"purser/store/storetest"
	"purser/wallet"
)

// TestAKindThatThisBinaryDoesNotKnowIsNeverJudged: a store that held it is not opened, and where one is opened
// nevertheless, whatever would judge such a row fails; the rest of the store goes on.
func TestAKindThatThisBinaryDoesNotKnowIsNeverJudged(t *testing.T) {
	rules := wallet.SendRules()
	rules.Kind = "tomorrow"
	tomorrow, err := wallet.NewKinds(wallet.SendRules(), rules)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "purser.db")
	newer := at(path)
	newer.kinds = tomorrow
	s := newer.mustOpen(t)
	from := wallet.Address{1}
	mustUpdate(t, s, func(tx store.Tx) error {
		return errors.Join(tx.PutUser(wallet.User{ID: "usr_1", TelegramID: 1}),
			tx.CreateTransaction(wallet.Transaction{ID: "tx_1", Kind: "tomorrow", Owner: "usr_1", From: from, Status: wallet.AwaitingSignature, SignID: "s", Signature: wallet.Signature{1}}),
			tx.CreateTransaction(wallet.Transaction{ID: "tx_2", Kind: wallet.Send, Owner: "usr_1", From: wallet.Address{2}, Status: wallet.AwaitingSignature}))
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := at(path).open(); !errors.Is(err, wallet.ErrUnknownKind) {
		t.Fatalf("an older binary opens it: %v", err)
	}
	forget(t, path, metaKind+"tomorrow")
	s = openAt(t, path)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	err = s.View(t.Context(), func(tx store.Tx) error {
		_, byID := tx.Transaction("tx_1")
		_, bySignID := tx.TransactionBySignID("s")
		_, bySignature := tx.TransactionBySignature(wallet.Signature{1})
		_, unsettled := tx.UnsettledFrom(from)
		_, reserved := tx.ReservationsFrom(from)
		for what, err := range map[string]error{"by id": byID, "by sign id": bySignID, "by signature": bySignature, "while it is unsettled": unsettled, "for reservations": reserved} {
			if !errors.Is(err, wallet.ErrUnknownKind) {
				t.Errorf("it is read %s: %v", what, err)
			}
		}
		other, err := tx.Transaction("tx_2")
		if err != nil || other.Kind != wallet.Send {
			t.Errorf("another row: %+v, %v", other, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(tx store.Tx) error{
		"made": func(tx store.Tx) error { return tx.CreateTransaction(wallet.Transaction{ID: "tx_3", Kind: "tomorrow"}) },
		"put": func(tx store.Tx) error {
			return tx.PutTransaction(wallet.Transaction{ID: "tx_1", Kind: "tomorrow", Owner: "usr_1", Version: 1})
		},
	} {
		if err := s.Update(t.Context(), change); !errors.Is(err, wallet.ErrUnknownKind) {
			t.Errorf("it is %s: %v", what, err)
		}
	}
	if err := s.Update(t.Context(), func(tx store.Tx) error {
		return tx.PutTransaction(wallet.Transaction{ID: "tx_2", Kind: wallet.Receive, Owner: "usr_1", Version: 1})
	}); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a transaction becomes one of another kind: %v", err)
	}
	// The person can still be erased, with all that is theirs.
	mustUpdate(t, s, func(tx store.Tx) error { return tx.EraseUser("usr_1") })
}

// forget removes a name from the table meta of a closed store.
func forget(t *testing.T, path, name string) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(root *bbolt.Tx) error { return root.Bucket([]byte(meta.String())).Delete([]byte(name)) })
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestAStoreWithoutKindsIsRefused: there is no list that it falls back to, so a binary cannot forget to say what it knows.
func TestAStoreWithoutKindsIsRefused(t *testing.T) {
	o := at(filepath.Join(t.TempDir(), "purser.db"))
	o.kinds = wallet.Kinds{}
	if s, err := o.open(); err == nil {
		t.Error("a store that knows no kind of transactions", s.Close())
	}
	o.kinds = storetest.Kinds()
	if err := o.mustOpen(t).Close(); err != nil { // what was refused holds no lock
		t.Error(err)
	}
}
