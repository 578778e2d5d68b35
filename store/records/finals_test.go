package records

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// These tests make final rows in both places: new ones lie in finals, and one that was closed before it was signed stays in
// transactions, as the final rows of schema 1 do.

// sent is a payment of a person that reached its recipient.
func sent(id string, owner int) wallet.Transaction {
	return wallet.Transaction{ID: wallet.TransactionID(id), Kind: wallet.Send, Status: wallet.Confirmed, Closed: true, Owner: human(owner).ID, From: wallet.Address{byte(owner)}, To: wallet.Address{200},
		Token: wallet.SOL, Amount: 5, CreatedAt: noon(), ConfirmedAt: noon(), SignID: "sign " + id, Signature: wallet.Signature([]byte(fmt.Sprintf("%064s", id)))}
}

// asBefore writes a final row as schema 1 did.
func asBefore(t testing.TB, s *Store, n wallet.Transaction) {
	t.Helper()
	nothing := wallet.Transaction{ID: n.ID, Kind: n.Kind, Status: wallet.Failed, Closed: true, Owner: n.Owner, CreatedAt: n.CreatedAt, EndedAt: noon()}
	mustUpdate(t, s, func(tx store.Tx) error { return tx.CreateTransaction(nothing) })
	n.Version = 1
	mustUpdate(t, s, func(tx store.Tx) error { return tx.PutTransaction(n) })
	if in := placeIn(t, s, n.ID); in != transactions {
		t.Fatalf("a row of schema 1 lies in %s", in)
	}
}

func placeIn(t testing.TB, s *Store, id wallet.TransactionID) (in table) {
	t.Helper()
	if err := s.view(t.Context(), func(t *tx) error {
		stored, err := t.stored([]byte(id))
		in = stored.in
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return in
}

func people(t testing.TB, s *Store, count int) {
	t.Helper()
	for n := range count {
		mustUpdate(t, s, func(tx store.Tx) error { return tx.PutUser(human(n)) })
	}
}

// long and short are the tables that lead to rows of transactions and of finals.
func long() []table  { return []table{bySignID, bySignature, unsettled, byOwner, paidBy, byWallet} }
func short() []table { return []table{finalIDs, finalHashes, finalsOf, finalsAt} }

// TestARowMovesWhenItBecomesFinal, and back if it turns out not to be. Nothing is left behind, and it is found in every way all the time.
func TestARowMovesWhenItBecomesFinal(t *testing.T) {
	s := fresh(t)
	people(t, s, 2)
	row := sent("tx_1k7uvkhg0fudsbq9o7m5k3i1g0", 1)
	row.Closed, row.Status = false, wallet.Pending
	mustUpdate(t, s, func(tx store.Tx) error { return tx.CreateTransaction(row) })
	var places [][]string
	for step, closed := range []bool{false, true, true, false, true} {
		row.Version++
		row.Closed, row.Status, row.Fee, row.To = closed, wallet.Pending, uint64(step), wallet.Address{byte(100 + step)}
		if closed {
			row.Status = wallet.Confirmed
		}
		mustUpdate(t, s, func(tx store.Tx) error { return tx.PutTransaction(row) })
		want := row
		want.Version++
		if err := s.View(t.Context(), func(tx store.Tx) error {
			for what, read := range map[string]func() (wallet.Transaction, error){
				"id":        func() (wallet.Transaction, error) { return tx.Transaction(row.ID) },
				"sign id":   func() (wallet.Transaction, error) { return tx.TransactionBySignID(row.SignID) },
				"signature": func() (wallet.Transaction, error) { return tx.TransactionBySignature(row.Signature) },
				"owner": func() (wallet.Transaction, error) {
					all, err := tx.TransactionsOf(row.Owner, store.Page{Limit: 2})
					return append(all, wallet.Transaction{})[0], err
				},
				"wallet": func() (wallet.Transaction, error) {
					all, err := tx.TransactionsAt(row.From, store.Page{Limit: 2})
					return append(all, wallet.Transaction{})[0], err
				},
			} {
				if got, err := read(); err != nil || got.ID != want.ID || got.Version != want.Version || got.Fee != want.Fee || got.SignID != want.SignID || got.Closed != closed {
					t.Errorf("step %d, by %s: %+v, %v", step, what, got, err)
				}
			}
			paid, err := tx.Recipients(row.Owner, 9)
			if has, errHas := tx.HasPaid(row.Owner, row.From, row.To, 9); len(paid) > 0 != closed || closed && paid[0] != row.To || has != closed || err != nil || errHas != nil {
				t.Errorf("step %d: paid %v, %v (%v %v)", step, paid, has, err, errHas)
			}
			if err := tx.CreateTransaction(row); !errors.Is(err, store.ErrConflict) {
				t.Errorf("step %d: it can be created again: %v", step, err)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		in := map[bool][]table{true: append(long(), transactions), false: append(short(), finals)}[closed]
		if left := leftIn(t, s, in...); len(left) > 0 {
			t.Errorf("step %d: left behind are %q", step, left)
		}
		there := leftIn(t, s, append(short(), finals)...)
		if closed && len(there) != 6 {
			t.Errorf("step %d: a final row is %q", step, there)
		}
		places = append(places, there)
	}
	if !slices.Equal(places[1], places[2]) {
		t.Errorf("a final row that changes moves from %q to %q", places[1], places[2])
	}
}

// TestWhatCameToNothingIsNotFinal: it will be removed, and would leave a hole.
func TestWhatCameToNothingIsNotFinal(t *testing.T) {
	s := fresh(t)
	people(t, s, 2)
	row := wallet.Transaction{ID: "tx_1", Kind: wallet.Send, Owner: "usr_1", Status: wallet.AwaitingConfirmation, CreatedAt: noon()}
	mustUpdate(t, s, func(tx store.Tx) error { return tx.CreateTransaction(row) })
	row.Version, row.Closed, row.Status, row.EndedAt = 1, true, wallet.Rejected, noon()
	mustUpdate(t, s, func(tx store.Tx) error { return tx.PutTransaction(row) })
	if left := leftIn(t, s, append(short(), finals)...); len(left) > 0 {
		t.Errorf("it is %q", left)
	}
}

// TestFinalRowsOfSchema1StayWhereTheyAre when they change, and lead to what they led to.
func TestFinalRowsOfSchema1StayWhereTheyAre(t *testing.T) {
	s := fresh(t)
	people(t, s, 2)
	row := sent("tx_1", 1)
	asBefore(t, s, row)
	row.Version, row.RetriedBy, row.To, row.SignID = 2, "tx_2", wallet.Address{201}, "another"
	mustUpdate(t, s, func(tx store.Tx) error { return tx.PutTransaction(row) })
	if in := placeIn(t, s, row.ID); in != transactions {
		t.Errorf("it lies in %s", in)
	}
	if there := leftIn(t, s, append(short(), finals)...); len(there) > 0 {
		t.Errorf("there is %q", there)
	}
	if err := s.View(t.Context(), func(tx store.Tx) error {
		got, err := tx.TransactionBySignID("another")
		bySignature, err2 := tx.TransactionBySignature(row.Signature)
		paid, err3 := tx.Recipients(row.Owner, 5)
		if got.RetriedBy != "tx_2" || bySignature.ID != row.ID || !slices.Equal(paid, []wallet.Address{{201}}) {
			t.Errorf("it reads %+v, %+v, %v", got, bySignature, paid)
		}
		return errors.Join(err, err2, err3)
	}); err != nil {
		t.Error(err)
	}
}

// TestEntriesThatLeadElsewhereArePassedOver: two ids, signatures, links, owners or wallets may share the bytes that are kept of them.
func TestEntriesThatLeadElsewhereArePassedOver(t *testing.T) {
	s := fresh(t)
	people(t, s, 3)
	one, two, third := sent("tx_1k7uvkhg0fudsbq9o7m5k3i1g0", 1), sent("tx_1k7uvkhg0fudsvvvvvvvvvvvvv", 2), sent("tx_3", 2)
	for _, n := range []wallet.Transaction{one, two, third} { // numbers 1 to 3; the first two ids begin alike
		mustUpdate(t, s, func(tx store.Tx) error { return tx.CreateTransaction(n) })
	}
	mustUpdate(t, s, func(contract store.Tx) error {
		tx := contract.(*tx)
		var all []error
		for _, n := range []wallet.Transaction{one, two, third} {
			signature, sign := tx.signatureHash(n.Signature), s.lookup.Text(store.BySignID, n.SignID)
			created := appendMillis(nil, millisOf(n.CreatedAt))
			for number := uint64(1); number <= 4; number++ { // the fourth row is none
				if in, key := tx.finalID(string(n.ID)); in != finalIDs || number < 4 {
					all = append(all, tx.put(in, join(key, numberSuffix(number)), nil))
				}
				all = append(all, tx.put(finalHashes, finalHashKey(signature[:], number), nil), tx.put(finalHashes, finalHashKey(sign[:], number), nil),
					tx.put(finalsOf, join(tx.finalOwner(n.Owner), []byte{finalOther}, created, numberSuffix(number)), nil),
					tx.put(finalsAt, join(tx.finalWallet(n.From), created, numberSuffix(number)), nil))
			}
		}
		return errors.Join(all...)
	})
	if err := s.View(t.Context(), func(tx store.Tx) error {
		for _, want := range []wallet.Transaction{one, two, third} {
			for what, read := range map[string]func() (wallet.Transaction, error){
				"id":        func() (wallet.Transaction, error) { return tx.Transaction(want.ID) },
				"sign id":   func() (wallet.Transaction, error) { return tx.TransactionBySignID(want.SignID) },
				"signature": func() (wallet.Transaction, error) { return tx.TransactionBySignature(want.Signature) },
			} {
				if got, err := read(); err != nil || got.ID != want.ID {
					t.Errorf("%s by %s: %s, %v", want.ID, what, got.ID, err)
				}
			}
		}
		for owner, wants := range map[wallet.UserID][]wallet.TransactionID{"usr_1": {one.ID}, "usr_2": {two.ID, third.ID}} {
			mine, err := tx.TransactionsOf(owner, store.Page{Limit: 20})
			for _, n := range mine {
				if !slices.Contains(wants, n.ID) {
					t.Errorf("%s is listed for %s", n.ID, owner)
				}
			}
			if err != nil || len(mine) < len(wants) {
				t.Errorf("%s has %d: %v", owner, len(mine), err)
			}
		}
		there, err := tx.TransactionsAt(one.From, store.Page{Limit: 20})
		if err != nil || slices.ContainsFunc(there, func(n wallet.Transaction) bool { return n.ID != one.ID }) {
			t.Errorf("at the wallet: %v, %v", there, err)
		}
		for what, read := range map[string]func() error{
			"an id that begins so": func() error { _, err := tx.Transaction("tx_1k7uvkhg0fudsbbbbbbbbbbbbb"); return err },
			"a page behind another's": func() error {
				_, err := tx.TransactionsOf("usr_1", store.Page{After: two.ID, Limit: 1})
				return err
			},
		} {
			if err := read(); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s: %v", what, err)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	// A link or a signature that begins like another one is free.
	fourth := sent("tx_4", 2)
	mustUpdate(t, s, func(contract store.Tx) error {
		tx := contract.(*tx)
		signature, sign := tx.signatureHash(fourth.Signature), s.lookup.Text(store.BySignID, fourth.SignID)
		_, id := tx.finalID(string(fourth.ID))
		return errors.Join(tx.put(finalHashes, finalHashKey(signature[:], 1), nil), tx.put(finalHashes, finalHashKey(sign[:], 1), nil),
			tx.put(finalHashes, join(id, numberSuffix(1)), nil), tx.CreateTransaction(fourth))
	})
	// Who erases one of them takes nothing from the other.
	mustUpdate(t, s, func(tx store.Tx) error { return tx.EraseUser("usr_1") })
	if err := s.View(t.Context(), func(tx store.Tx) error {
		_, err := tx.TransactionBySignID(two.SignID)
		_, errErased := tx.TransactionBySignID(one.SignID)
		if !errors.Is(errErased, store.ErrNotFound) {
			t.Errorf("an erased person's: %v", errErased)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	conflict := s.Update(t.Context(), func(tx store.Tx) error {
		again := third
		again.ID = "tx_again"
		return tx.CreateTransaction(again)
	})
	if !errors.Is(conflict, store.ErrConflict) {
		t.Errorf("a signature that is taken: %v", conflict)
	}
}

// TestWhatOnlyOneMayHaveIsAskedInBothPlaces: a signing link and a signature, of an open, a final, and an older final row.
func TestWhatOnlyOneMayHaveIsAskedInBothPlaces(t *testing.T) {
	put := map[string]func(*testing.T, *Store, wallet.Transaction){
		"final": func(t *testing.T, s *Store, n wallet.Transaction) {
			mustUpdate(t, s, func(tx store.Tx) error { return tx.CreateTransaction(n) })
		},
		"final before": func(t *testing.T, s *Store, n wallet.Transaction) { asBefore(t, s, n) },
		"open": func(t *testing.T, s *Store, n wallet.Transaction) {
			n.Closed, n.Status = false, wallet.Pending
			mustUpdate(t, s, func(tx store.Tx) error { return tx.CreateTransaction(n) })
		},
	}
	for holder, make := range put {
		s := fresh(t)
		people(t, s, 3)
		one := sent("tx_1", 1)
		make(t, s, one)
		for what, change := range map[string]func(*wallet.Transaction){
			"signature": func(n *wallet.Transaction) { n.Signature = one.Signature },
			"sign id":   func(n *wallet.Transaction) { n.SignID = one.SignID },
		} {
			for _, closed := range []bool{false, true} {
				two := sent("tx_2", 2)
				two.Closed = closed
				change(&two)
				if err := s.Update(t.Context(), func(tx store.Tx) error { return tx.CreateTransaction(two) }); !errors.Is(err, store.ErrConflict) {
					t.Errorf("%s of a row that is %s, for one that is closed: %v: %v", what, holder, closed, err)
				}
			}
		}
		// A receipt has the same signature, and gives way to a payment wherever both lie.
		receipt := sent("tx_receipt", 2)
		receipt.Kind, receipt.Status, receipt.SignID, receipt.Signature = wallet.Receive, wallet.Received, "", one.Signature
		mustUpdate(t, s, func(tx store.Tx) error { return tx.CreateTransaction(receipt) })
		signatureIs(t, s, one.Signature, "tx_1", holder+", before its receipt")
		for _, before := range []bool{false, true} {
			early, late := receipt, sent(fmt.Sprint("tx_late", before), 1)
			early.ID, early.Signature = wallet.TransactionID(fmt.Sprint("tx_early", before)), late.Signature
			if before {
				asBefore(t, s, early)
			} else {
				mustUpdate(t, s, func(tx store.Tx) error { return tx.CreateTransaction(early) })
			}
			signatureIs(t, s, late.Signature, early.ID, "a receipt alone")
			make(t, s, late)
			signatureIs(t, s, late.Signature, late.ID, holder+", behind its receipt")
			late.Version, late.Signature, late.Closed = map[bool]uint64{true: 2, false: 1}[holder == "final before"], wallet.Signature{}, holder != "open"
			mustUpdate(t, s, func(tx store.Tx) error { return tx.PutTransaction(late) })
			signatureIs(t, s, early.Signature, "", "given up")
		}
	}
}

// signatureIs checks to which transaction a signature leads, "" for none.
func signatureIs(t *testing.T, s *Store, signature wallet.Signature, want wallet.TransactionID, when string) {
	t.Helper()
	if err := s.View(t.Context(), func(tx store.Tx) error {
		got, err := tx.TransactionBySignature(signature)
		if got.ID != want || (want == "") != errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: it is %q, not %q (%v)", when, got.ID, want, err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// TestErasingLeavesNoWayToFinalRows but their places in two lists, which are passed over.
func TestErasingLeavesNoWayToFinalRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "purser.db")
	s := openAt(t, path)
	people(t, s, 3)
	failed := sent("tx_failed", 1)
	failed.Status, failed.SignID, failed.To = wallet.Failed, "", wallet.Address{201}
	rows := []wallet.Transaction{sent("tx_1k7uvkhg0fudsbq9o7m5k3i1g0", 1), failed, sent("tx_his", 2)}
	for _, n := range rows {
		mustUpdate(t, s, func(tx store.Tx) error { return tx.CreateTransaction(n) })
	}
	mustUpdate(t, s, func(tx store.Tx) error { return tx.EraseUser("usr_1") })
	if err := s.View(t.Context(), func(contract store.Tx) error {
		tx := contract.(*tx)
		for _, e := range tx.prefixed(finalsOf, tx.finalOwner("usr_1")) {
			if len(e.value) > 0 || e.key[finalListSize] != finalOther {
				t.Errorf("there is a payment %q to %x", e.key, e.value)
			}
		}
		if n := len(tx.prefixed(finalsOf, tx.finalOwner("usr_1"))); n != 2 {
			t.Errorf("the list has %d", n)
		}
		hash := s.lookup.Text(store.BySignID, rows[0].SignID)
		if left := tx.prefixed(finalHashes, hash[:finalHashSize]); len(left) > 0 {
			t.Errorf("the link leads on: %q", left)
		}
		paid, err := tx.Recipients("usr_1", 9)
		all, err2 := tx.TransactionsOf("usr_1", store.Page{Limit: 9})
		at, err3 := tx.TransactionsAt(rows[0].From, store.Page{Limit: 9})
		_, byID := tx.Transaction(rows[0].ID)
		_, bySignature := tx.TransactionBySignature(rows[0].Signature)
		has, err4 := tx.HasPaid("usr_1", rows[0].From, rows[0].To, 9)
		outgoing, err5 := tx.OutgoingFrom(rows[0].From, time.Time{})
		if len(paid)+len(all)+len(at)+len(outgoing) > 0 || has || !errors.Is(byID, store.ErrNotFound) || !errors.Is(bySignature, store.ErrNotFound) {
			t.Errorf("there is left: %v %v %v %v %v %v %v", paid, all, at, outgoing, has, byID, bySignature)
		}
		his, err6 := tx.TransactionBySignID(rows[2].SignID)
		if list, err := tx.Recipients("usr_2", 9); his.ID != rows[2].ID || len(list) != 1 || err != nil {
			t.Errorf("another's is %+v, %v, %v", his, list, err)
		}
		return errors.Join(err, err2, err3, err4, err5, err6)
	}); err != nil {
		t.Error(err)
	}
	closed(t, s)
}

// TestNumbersAtTheEndOfKeys come back, whatever they are.
func TestNumbersAtTheEndOfKeys(t *testing.T) {
	for _, n := range []uint64{1, 255, 256, 1 << 24, 1<<63 + 5} {
		if got, err := suffixNumber(numberSuffix(n)); got != n || err != nil {
			t.Errorf("%d comes back as %d, %v", n, got, err)
		}
	}
	for _, bad := range [][]byte{{}, {0}, {0, 1}, make([]byte, 9)} {
		if _, err := suffixNumber(bad); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	for at, want := range map[time.Time]uint64{{}: 0, time.Unix(-1, 0): 0, time.Unix(0, 999_999): 0, time.Unix(1, 2_000_000): 1002, time.Unix(1<<50, 0): lastMillis, time.Unix(lastMillis/1000, 999_000_000): lastMillis} {
		if got := millisOf(at); got != want {
			t.Errorf("%v is %d, not %d", at, got, want)
		}
	}
}
