package records

import (
	"errors"
	"path/filepath"
	"reflect"
	"testing"

	"purser/store"
	"purser/wallet"
)

// TestTermsThatTheirKindRefusesHoldUpOneTransaction: nobody gets a transaction that its kind cannot read, a wallet with
// such a one is not asked for what is free in it, and the rest of the store goes on. None is written either.
func TestTermsThatTheirKindRefusesHoldUpOneTransaction(t *testing.T) {
	rules, good := wallet.UnstakeRules(), wallet.StakeTerms{Account: wallet.Address{4}}.Terms()
	rules.CheckTerms = func(wallet.Transaction) error { return nil }
	careless, err := wallet.NewKinds(wallet.SendRules(), rules)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "purser.db")
	before := at(path)
	before.kinds = careless
	s := before.mustOpen(t)
	bad := wallet.Transaction{ID: "tx_1", Kind: wallet.Unstake, Owner: "usr_1", From: wallet.Address{1}, Status: wallet.Signed, Terms: wallet.Terms(`{"schema":"stake/9"}`),
		Message: []byte("what is"), Signed: []byte("what was")}
	other := bad
	other.ID, other.From, other.Terms = "tx_2", wallet.Address{2}, good
	mustUpdate(t, s, func(tx store.Tx) error {
		return errors.Join(tx.PutUser(wallet.User{ID: "usr_1", TelegramID: 1}), tx.CreateTransaction(bad), tx.CreateTransaction(other))
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path)
	defer closed(t, s)
	if err := s.View(t.Context(), func(tx store.Tx) error {
		_, byID := tx.Transaction(bad.ID)
		_, unsettled := tx.UnsettledFrom(bad.From)
		_, reserved := tx.ReservationsFrom(bad.From)
		for what, err := range map[string]error{"by id": byID, "while it is unsettled": unsettled, "for reservations": reserved} {
			if !errors.Is(err, store.ErrDamaged) || !errors.Is(err, wallet.ErrTerms) {
				t.Errorf("it is read %s: %v", what, err)
			}
		}
		other.Version = 1
		if got, err := tx.Transaction(other.ID); err != nil || !reflect.DeepEqual(got, other) {
			t.Errorf("the other is %+v, %v", got, err)
		}
		if open, err := tx.UnsettledTransactions(wallet.Transaction{}, 9); err != nil || len(open) != 1 || open[0].ID != other.ID {
			t.Errorf("unsettled are %+v, %v", open, err)
		}
		if open, err := tx.UnsettledFrom(other.From); err != nil || len(open) != 1 {
			t.Errorf("unsettled of the other wallet are %+v, %v", open, err)
		}
		if held, err := tx.ReservationsFrom(other.From); err != nil || len(held) != 1 || held[0].ID != other.ID {
			t.Errorf("reserved of the other wallet are %+v, %v", held, err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for what, write := range map[string]func(store.Tx) error{
		"made": func(tx store.Tx) error {
			n := bad
			n.ID = "tx_3"
			return tx.CreateTransaction(n)
		},
		"put": func(tx store.Tx) error {
			n := other
			n.Terms = nil
			return tx.PutTransaction(n)
		},
	} {
		if err := s.Update(t.Context(), write); !errors.Is(err, wallet.ErrTerms) {
			t.Errorf("it is %s: %v", what, err)
		}
	}
}
