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

// TestWhatIsRememberedHidesNoDamage: a row whose bytes changed under the same tag is not what was written.
func TestWhatIsRememberedHidesNoDamage(t *testing.T) {
	for what, damage := range map[string]func(raw []byte) []byte{
		"a bit":      func(raw []byte) []byte { raw[len(raw)-tagSize-1] ^= 1; return raw },
		"only a tag": func(raw []byte) []byte { return raw[len(raw)-tagSize:] },
		"nothing":    func([]byte) []byte { return []byte{} },
	} {
		from := wallet.Address{1}
		s, sent := reserving(t, from)
		mustUpdate(t, s, func(contract store.Tx) error {
			tx, key := contract.(*tx), []byte(sent.ID)
			return tx.put(transactions, key, damage(bytes.Clone(tx.get(transactions, key))))
		})
		err := s.View(t.Context(), func(tx store.Tx) error { _, err := tx.ReservationsFrom(from); return err })
		if !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
		closed(t, s)
	}
}

// TestReservationsAreBounded: in entries and in bytes. What is read now and then stays, and what has no room for its row keeps its tag.
func TestReservationsAreBounded(t *testing.T) {
	var r reservations
	id := func(n int) []byte { return fmt.Appendf(nil, "tx_%d", n) }
	large := make([]byte, maxReservedBytes/8)
	for n := range 3 * maxReservations {
		raw := large[:100]
		if n%1000 == 0 {
			raw = large
		}
		r.put(id(n), raw, reservation{tag: rowTag{1}})
		if known, ok := r.get(id(0)); !ok || len(known.raw) != len(large) {
			t.Fatalf("after %d, what is read each time is kept with %d bytes: %v", n, len(known.raw), ok)
		}
		if n%1000 == 0 {
			for _, half := range []map[string]reservation{r.newer, r.older} {
				bytes := 0
				for _, known := range half {
					bytes += len(known.raw)
				}
				if len(half) > maxReservations || bytes > maxReservedBytes {
					t.Fatalf("after %d, a half has %d entries of %d bytes", n, len(half), bytes)
				}
			}
		}
	}
	if _, ok := r.get(id(maxReservations / 2)); ok {
		t.Error("what nobody reads stays for good")
	}
	r = reservations{}
	row := []byte{1, 2, 3}
	r.put(id(0), row, reservation{})
	row[0] = 9 // the database's memory changes when its transaction is over
	if known, _ := r.get(id(0)); !bytes.Equal(known.raw, []byte{1, 2, 3}) {
		t.Errorf("the row is remembered as %v", known.raw)
	}
	for n := range 20 {
		r.put(id(n), large, reservation{tag: rowTag{2}})
	}
	if known, ok := r.get(id(19)); !ok || known.raw != nil || known.tag != (rowTag{2}) {
		t.Errorf("without room for its row: %v, %d bytes", ok, len(known.raw))
	}
	r.put(id(0), large[:5], reservation{})
	if known, _ := r.get(id(0)); len(known.raw) > 5 || r.size > maxReservedBytes {
		t.Errorf("a newer row has %d bytes, all have %d", len(known.raw), r.size)
	}
}

// TestARowWithoutRoomIsCheckedByItsTag: neither damage nor a newer row is taken for the one that is remembered.
func TestARowWithoutRoomIsCheckedByItsTag(t *testing.T) {
	from := wallet.Address{1}
	s, sent := reserving(t, from)
	defer closed(t, s)
	forget := func() {
		for id, known := range s.reservations.newer {
			known.raw = nil
			s.reservations.newer[id] = known
		}
		s.reservations.size = 0
	}
	reserved := func() (held []wallet.Reservation, err error) {
		err = s.View(t.Context(), func(tx store.Tx) error { held, err = tx.ReservationsFrom(from); return err })
		return held, err
	}
	forget()
	if held, err := reserved(); err != nil || len(held) != 1 || held[0].Spending.Lamports != 7 {
		t.Errorf("without its row: %+v, %v", held, err)
	}
	mustUpdate(t, s, func(tx store.Tx) error {
		n, err := tx.Transaction(sent.ID)
		n.Amount = 9
		return errors.Join(err, tx.PutTransaction(n))
	})
	older := s.reservations.newer[string(sent.ID)]
	older.tag, older.Spending.Lamports, older.raw = rowTag{}, 7, nil // as it was remembered before the change
	s.reservations.newer[string(sent.ID)] = older
	if held, err := reserved(); err != nil || len(held) != 1 || held[0].Spending.Lamports != 9 {
		t.Errorf("a newer row: %+v, %v", held, err)
	}
	forget()
	mustUpdate(t, s, func(contract store.Tx) error {
		tx, key := contract.(*tx), []byte(sent.ID)
		raw := bytes.Clone(tx.get(transactions, key))
		raw[len(raw)-tagSize-1] ^= 1
		return tx.put(transactions, key, raw)
	})
	if held, err := reserved(); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("a damaged row: %+v, %v", held, err)
	}
}
