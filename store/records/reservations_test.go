package records

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"purser/store"
	"purser/wallet"
)

// reserving is a store with a payment that holds back funds of the wallet from, and what it holds is remembered.
func reserving(t *testing.T, from wallet.Address) (*Store, wallet.Transaction) {
	t.Helper()
	s := openAt(t, filepath.Join(t.TempDir(), "purser.db"))
	sent := wallet.Transaction{ID: "tx_1", Kind: wallet.Send, Owner: "usr_1", From: from, Token: wallet.SOL, Amount: 7, Status: wallet.AwaitingSignature}
	mustUpdate(t, s, func(tx store.Tx) error {
		return errors.Join(tx.PutUser(wallet.User{ID: "usr_1", TelegramID: 1}), tx.CreateTransaction(sent))
	})
	if err := s.View(t.Context(), func(tx store.Tx) error {
		held, err := tx.ReservationsFrom(from)
		if len(held) != 1 || held[0].ID != sent.ID || held[0].Spending.Lamports != 7 {
			t.Fatalf("reserved are %+v", held)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if len(s.reservations.newer) != 1 {
		t.Fatalf("remembered are %d reservations", len(s.reservations.newer))
	}
	return s, sent
}

// TestNothingIsReservedForSomebodyErased, although a snapshot from before still has the row and what it held back is remembered.
func TestNothingIsReservedForSomebodyErased(t *testing.T) {
	from := wallet.Address{1}
	s, _ := reserving(t, from)
	defer closed(t, s)
	if err := s.view(t.Context(), func(old *tx) error {
		mustUpdate(t, s, func(tx store.Tx) error { return tx.EraseUser("usr_1") })
		later := &tx{in: old.in, store: s}
		open, err := later.UnsettledFrom(from)
		held, alike := later.ReservationsFrom(from)
		if len(open) != 0 || len(held) != 0 {
			t.Errorf("unsettled are %+v, reserved are %+v", open, held)
		}
		return errors.Join(err, alike)
	}); err != nil {
		t.Fatal(err)
	}
}

// TestWhatIsReservedStaysRight when the row is damaged or removed meanwhile: what is known of it was checked when it was written. Without that
// the row is read, and its damage is an error.
func TestWhatIsReservedStaysRight(t *testing.T) {
	for what, damage := range map[string]func(raw []byte) []byte{
		"a bit":      func(raw []byte) []byte { raw[len(raw)-tagSize-1] ^= 1; return raw },
		"only a tag": func(raw []byte) []byte { return raw[len(raw)-tagSize:] },
		"nothing":    func([]byte) []byte { return []byte{} },
		"no row":     func([]byte) []byte { return nil },
	} {
		from := wallet.Address{1}
		s, sent := reserving(t, from)
		mustUpdate(t, s, func(contract store.Tx) error {
			tx, key := contract.(*tx), []byte(sent.ID)
			damaged := damage(bytes.Clone(tx.get(transactions, key)))
			if damaged == nil {
				return tx.delete(transactions, key)
			}
			return tx.put(transactions, key, damaged)
		})
		read := func() (held []wallet.Reservation, err error) {
			err = s.View(t.Context(), func(tx store.Tx) error { held, err = tx.ReservationsFrom(from); return err })
			return held, err
		}
		if held, err := read(); err != nil || len(held) != 1 || held[0].Spending.Lamports != 7 {
			t.Errorf("%s: reserved are %+v, %v", what, held, err)
		}
		s.reservations = newReservations()
		if _, err := read(); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%s, with nothing known of it: %v", what, err)
		}
		if err := s.View(t.Context(), func(tx store.Tx) error { _, err := tx.UnsettledFrom(from); return err }); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%s: unsettled: %v", what, err)
		}
		closed(t, s)
	}
}

// TestAnEntryNamesItsRow: each change of a row changes its entry in the index of unsettled transactions, and an entry without a value, as
// there were before, or with another row's, has the row read.
func TestAnEntryNamesItsRow(t *testing.T) {
	from := wallet.Address{1}
	s, sent := reserving(t, from)
	defer closed(t, s)
	entries := func() (out []entry) {
		if err := s.view(t.Context(), func(tx *tx) error { out = tx.prefixed(byWallet, unsettledPrefix(from)); return nil }); err != nil {
			t.Fatal(err)
		}
		return out
	}
	named := func() {
		t.Helper()
		var raw []byte
		if err := s.view(t.Context(), func(tx *tx) error { raw = bytes.Clone(tx.get(transactions, []byte(sent.ID))); return nil }); err != nil {
			t.Fatal(err)
		}
		if all := entries(); len(all) != 1 || !bytes.HasSuffix(raw, all[0].value) || len(all[0].value) != tagSize {
			t.Fatalf("the entries are %x, the row ends with %x", all, raw[len(raw)-tagSize:])
		}
	}
	change := func(amount uint64, closed bool) {
		mustUpdate(t, s, func(tx store.Tx) error {
			n, err := tx.Transaction(sent.ID)
			if n.Amount = amount; closed {
				n.Status, n.Closed = wallet.Rejected, true
			}
			return errors.Join(err, tx.PutTransaction(n))
		})
	}
	named()
	change(9, false)
	named()
	// The cache lies, so it is seen whether the row is read.
	for _, value := range [][]byte{nil, bytes.Repeat([]byte{1}, tagSize)} {
		known := s.reservations.newer[string(sent.ID)]
		known.Spending.Lamports = 100
		s.reservations.put(string(sent.ID), known)
		key := entries()[0].key
		mustUpdate(t, s, func(contract store.Tx) error { return contract.(*tx).put(byWallet, key, value) })
		if err := s.View(t.Context(), func(tx store.Tx) error {
			held, err := tx.ReservationsFrom(from)
			if len(held) != 1 || held[0].Spending.Lamports != 9 {
				t.Errorf("with the entry %x reserved are %+v", value, held)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	change(10, false)
	named()
	change(10, true)
	if all := entries(); len(all) != 0 {
		t.Errorf("after its end there are the entries %x", all)
	}
}

// TestReservationsAreBounded: what is read now and then stays, and what nobody reads goes.
func TestReservationsAreBounded(t *testing.T) {
	r, noTag := newReservations(), make([]byte, tagSize)
	id := func(n int) string { return fmt.Sprintf("tx_%d", n) }
	for n := range 3 * maxReservations {
		r.put(id(n), reservation{owner: "usr_1"})
		if _, ok := r.get([]byte(id(0)), noTag); !ok {
			t.Fatalf("after %d, what is read each time is gone", n)
		}
		if len(r.newer) > maxReservations || len(r.older) > maxReservations {
			t.Fatalf("after %d, the halves have %d and %d entries", n, len(r.newer), len(r.older))
		}
	}
	if _, ok := r.get([]byte(id(maxReservations/2)), noTag); ok {
		t.Error("what nobody reads stays for good")
	}
}

// TestANewerRowIsReadAgain: what is remembered of an older row, or of one whose commit failed, does not count.
func TestANewerRowIsReadAgain(t *testing.T) {
	from := wallet.Address{1}
	s, sent := reserving(t, from)
	defer closed(t, s)
	reserved := func(want uint64) {
		t.Helper()
		if err := s.View(t.Context(), func(tx store.Tx) error {
			held, err := tx.ReservationsFrom(from)
			if len(held) != 1 || held[0].Spending.Lamports != want {
				t.Errorf("reserved are %+v, want %d lamports", held, want)
			}
			return err
		}); err != nil {
			t.Error(err)
		}
	}
	put := func(amount uint64, fails error) error {
		return s.Update(t.Context(), func(tx store.Tx) error {
			n, err := tx.Transaction(sent.ID)
			n.Amount = amount
			return errors.Join(err, tx.PutTransaction(n), fails)
		})
	}
	older := s.reservations.newer[string(sent.ID)]
	if err := put(9, nil); err != nil {
		t.Fatal(err)
	}
	reserved(9)
	s.reservations.put(string(sent.ID), older)
	reserved(9)
	refused := errors.New("refused")
	if err := put(11, refused); !errors.Is(err, refused) {
		t.Fatal(err)
	}
	if known := s.reservations.newer[string(sent.ID)]; known.Spending.Lamports != 11 {
		t.Fatalf("remembered are %d lamports: the test shows nothing", known.Spending.Lamports)
	}
	reserved(9)
}
