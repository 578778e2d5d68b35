package records

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// TestADamagedFinalRowHidesNoOther: lists go on, the operator hears of it once, and nobody takes it for one that is not there. A
// person whose row is damaged can be erased.
func TestADamagedFinalRowHidesNoOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "purser.db")
	s := openAt(t, path)
	people(t, s, 3)
	for n := range 3 {
		row := sent(fmt.Sprint("tx_", n), 1)
		row.CreatedAt, row.Memo = row.CreatedAt.Add(time.Duration(n)*time.Millisecond), "secret"
		mustUpdate(t, s, func(tx store.Tx) error { return tx.CreateTransaction(row) })
	}
	closed(t, s)
	inFile(t, path, finals, 1, func(raw []byte) []byte { raw[len(raw)/2] ^= 4; return raw })
	var log strings.Builder
	o := at(path)
	o.log = slog.New(slog.NewTextHandler(&log, nil))
	s = o.mustOpen(t)
	defer closed(t, s)
	if err := s.View(t.Context(), func(tx store.Tx) error {
		newest, err := tx.TransactionsOf("usr_1", store.Page{Limit: 1})
		if len(newest) != 1 || newest[0].ID != "tx_2" || log.Len() > 0 { // a page costs what it holds
			t.Errorf("the first page is %v, and reads on: %s", newest, &log)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.View(t.Context(), func(tx store.Tx) error {
			all, err := tx.TransactionsOf("usr_1", store.Page{Limit: 9})
			there, err2 := tx.TransactionsAt(wallet.Address{1}, store.Page{Limit: 9})
			if len(all) != 2 || all[0].ID != "tx_2" || all[1].ID != "tx_0" || len(there) != 2 {
				t.Errorf("listed are %v, %v", all, there)
			}
			_, outgoing := tx.OutgoingFrom(wallet.Address{1}, time.Time{})
			_, byID := tx.Transaction("tx_1")
			_, bySignature := tx.TransactionBySignature(sent("tx_1", 1).Signature)
			_, bySignID := tx.TransactionBySignID("sign tx_1")
			for _, read := range []error{outgoing, byID, bySignature, bySignID} {
				if !errors.Is(read, store.ErrDamaged) {
					t.Errorf("read: %v", read)
				}
			}
			return errors.Join(err, err2)
		}); err != nil {
			t.Error(err)
		}
	}
	for _, id := range []string{"tx_1", "tx_other"} { // its id, or its signature
		again := sent(id, 2)
		again.Signature = sent("tx_1", 1).Signature
		if err := s.Update(t.Context(), func(tx store.Tx) error { return tx.CreateTransaction(again) }); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%s is created beside it: %v", id, err)
		}
	}
	if n := strings.Count(log.String(), "level=ERROR"); n != 1 || !strings.Contains(log.String(), "table=finals key=2") || strings.Contains(log.String(), "secret") {
		t.Errorf("the operator is told %d times:\n%s", n, &log)
	}
	mustUpdate(t, s, func(tx store.Tx) error { return tx.EraseUser("usr_1") })
	if err := s.View(t.Context(), func(tx store.Tx) error {
		paid, err := tx.Recipients("usr_1", 9)
		if len(paid) > 0 {
			t.Errorf("of an erased person: %v", paid)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}

// TestAFinalRowThatMovedIsDamaged: its number is part of what its tag covers, and of what its sealed fields belong to.
func TestAFinalRowThatMovedIsDamaged(t *testing.T) {
	s := fresh(t)
	people(t, s, 2)
	for n := range 2 {
		mustUpdate(t, s, func(tx store.Tx) error { return tx.CreateTransaction(sent(fmt.Sprint("tx_", n), 1)) })
	}
	mustUpdate(t, s, func(contract store.Tx) error {
		tx := contract.(*tx)
		first, second := slices.Clone(tx.get(finals, numberKey(1))), slices.Clone(tx.get(finals, numberKey(2)))
		return errors.Join(tx.put(finals, numberKey(1), second), tx.put(finals, numberKey(2), first))
	})
	if err := s.View(t.Context(), func(tx store.Tx) error { _, err := tx.Transaction("tx_0"); return err }); !errors.Is(err, store.ErrDamaged) {
		t.Error(err)
	}
}

// TestAKeyThatIsNoEntryIsSkipped in lists, and an error where something would be missing.
func TestAKeyThatIsNoEntryIsSkipped(t *testing.T) {
	var log strings.Builder
	o := at(filepath.Join(t.TempDir(), "purser.db"))
	o.log = slog.New(slog.NewTextHandler(&log, nil))
	s := o.mustOpen(t)
	defer closed(t, s)
	people(t, s, 2)
	row := sent("tx_1", 1)
	mustUpdate(t, s, func(contract store.Tx) error {
		tx := contract.(*tx)
		var all []error
		for _, rest := range [][]byte{{}, {1}, append(appendMillis(nil, 1<<47), 0), append(appendMillis(nil, 1<<47), make([]byte, 9)...)} {
			all = append(all, tx.put(finalsOf, join(tx.finalOwner(row.Owner), []byte{finalPaid}, rest), nil), tx.put(finalsOf, join(tx.finalOwner(row.Owner), []byte{finalOther}, rest), nil),
				tx.put(finalsAt, join(tx.finalWallet(row.From), rest), nil))
		}
		return errors.Join(append(all, tx.CreateTransaction(row))...)
	})
	if err := s.View(t.Context(), func(tx store.Tx) error {
		all, err := tx.TransactionsOf(row.Owner, store.Page{Limit: 9})
		there, err2 := tx.TransactionsAt(row.From, store.Page{Limit: 9})
		if len(all) != 1 || len(there) != 1 {
			t.Errorf("listed are %v, %v", all, there)
		}
		_, recipients := tx.Recipients(row.Owner, 9)
		_, has := tx.HasPaid(row.Owner, row.From, row.To, 9)
		_, outgoing := tx.OutgoingFrom(row.From, time.Time{})
		for _, read := range []error{recipients, has, outgoing} {
			if !errors.Is(read, store.ErrDamaged) {
				t.Errorf("read: %v", read)
			}
		}
		return errors.Join(err, err2)
	}); err != nil {
		t.Error(err)
	}
	if told := log.String(); !strings.Contains(told, "table=finals_of") || !strings.Contains(told, "table=finals_at") {
		t.Errorf("the operator is told %q", told)
	}
	mustUpdate(t, s, func(tx store.Tx) error { return tx.EraseUser("usr_1") })
}
