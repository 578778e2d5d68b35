package records

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bbolt "go.etcd.io/bbolt"

	"purser/store"
	"purser/store/storetest"
	"purser/wallet"
)

// rowsOfFile lists every row of a closed store's file by table.
func rowsOfFile(t *testing.T, path string) map[table][]entry {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	rows := map[table][]entry{}
	err = db.View(func(root *bbolt.Tx) error {
		for b := range tableCount {
			if !b.holdsRows() {
				continue
			}
			if err := root.Bucket([]byte(b.String())).ForEach(func(key, raw []byte) error {
				if b.isRow(key) {
					rows[b] = append(rows[b], entry{bytes.Clone(key), bytes.Clone(raw)})
				}
				return nil
			}); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return rows
}

// everyRow is the file of a store with at least one row in every table that holds rows.
func everyRow(t *testing.T) (path string, x storetest.Samples) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "purser.db")
	s := openAt(t, path)
	x = storetest.NewSamples()
	mustUpdate(t, s, x.Write)
	closed(t, s)
	return path, x
}

// TestNoByteOfARowCanBeChanged, in any table, by whoever has the file and no key: neither what is sealed nor what
// is not.
func TestNoByteOfARowCanBeChanged(t *testing.T) {
	path, _ := everyRow(t)
	rows := rowsOfFile(t, path)
	s := openAt(t, path)
	defer closed(t, s)
	if err := s.View(t.Context(), func(contract store.Tx) error {
		tx := contract.(*tx)
		for b := range tableCount {
			if !b.holdsRows() {
				continue
			}
			if len(rows[b]) == 0 {
				t.Errorf("%s: there is no row", b)
			}
			for _, e := range rows[b] {
				if _, err := tx.row(b, e.key, e.value); err != nil {
					t.Errorf("%s: as it is: %v", b, err)
				}
				for at := range e.value {
					broken := bytes.Clone(e.value)
					broken[at] ^= 1
					if _, err := tx.row(b, e.key, broken); !errors.Is(err, store.ErrDamaged) {
						t.Errorf("%s: byte %d: %v", b, at, err)
					}
				}
				for length := range e.value {
					if _, err := tx.row(b, e.key, e.value[:length]); !errors.Is(err, store.ErrDamaged) {
						t.Errorf("%s: %d bytes: %v", b, length, err)
					}
				}
				untagged := bytes.Clone(e.value[:len(e.value)-tagSize])
				for format := range byte(4) {
					untagged[0] = format
					if _, err := tx.row(b, e.key, untagged); !errors.Is(err, store.ErrDamaged) {
						t.Errorf("%s: a row of format %d without a tag: %v", b, format, err)
					}
				}
				if _, err := tx.row(b, append(bytes.Clone(e.key), 1), e.value); !errors.Is(err, store.ErrDamaged) {
					t.Errorf("%s: under another key: %v", b, err)
				}
				if _, err := tx.row((b+1)%tableCount, e.key, e.value); !errors.Is(err, store.ErrDamaged) {
					t.Errorf("%s: in another table: %v", b, err)
				}
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// TestAChangedAmountIsNotServed: ten digits in the file, and each way to read a transaction. In a final row, which is packed, any
// byte.
func TestAChangedAmountIsNotServed(t *testing.T) {
	for b, of := range map[table]func(storetest.Samples) wallet.Transaction{
		transactions: func(x storetest.Samples) wallet.Transaction { return x.Open },
		finals:       func(x storetest.Samples) wallet.Transaction { return x.Transaction },
	} {
		path, x := everyRow(t)
		changed := of(x)
		inFile(t, path, b, 0, func(raw []byte) []byte {
			at := bytes.Index(raw, []byte(`"amount":`))
			if (at < 0) != (b == finals) {
				t.Errorf("the amount of a row of %s stands at %d", b, at)
			}
			if at >= 0 {
				at += len(`"amount":`)
				copy(raw[at:], strings.Repeat("9", bytes.IndexByte(raw[at:], ',')))
			} else {
				raw[len(raw)/2] ^= 1
			}
			return raw
		})
		s := openAt(t, path)
		for what, read := range map[string]func(store.Tx) error{
			"by id":        func(tx store.Tx) error { _, err := tx.Transaction(changed.ID); return err },
			"by sign id":   func(tx store.Tx) error { _, err := tx.TransactionBySignID(changed.SignID); return err },
			"by signature": func(tx store.Tx) error { _, err := tx.TransactionBySignature(changed.Signature); return err },
			"outgoing":     func(tx store.Tx) error { _, err := tx.OutgoingFrom(changed.From, time.Time{}); return err },
		} {
			if err := s.View(t.Context(), read); !errors.Is(err, store.ErrDamaged) {
				t.Errorf("%s, %s: %v", b, what, err)
			}
		}
		if err := s.View(t.Context(), func(tx store.Tx) error {
			all, err := tx.TransactionsOf(x.User.ID, store.Page{Limit: 10})
			at, errAt := tx.TransactionsAt(changed.From, store.Page{Limit: 1})
			if len(all) != 1 || all[0].ID == changed.ID || len(at) > 0 {
				t.Errorf("%s, listed: %v %v", b, all, at)
			}
			return errors.Join(err, errAt)
		}); err != nil {
			t.Errorf("%s: a list fails on it: %v", b, err)
		}
		if err := s.Update(t.Context(), func(tx store.Tx) error { return tx.PutTransaction(changed) }); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%s: written over: %v", b, err)
		}
		closed(t, s)
	}
}

// TestRowsOfTwoTimesAreNotMixed: the plain part of one state of a row beside the sealed part of another.
func TestRowsOfTwoTimesAreNotMixed(t *testing.T) {
	path, x := everyRow(t)
	before := rowsOfFile(t, path)[transactions][0]
	s := openAt(t, path)
	x.Open.Amount++
	mustUpdate(t, s, func(tx store.Tx) error { return tx.PutTransaction(x.Open) })
	closed(t, s)
	inFile(t, path, transactions, 0, func(raw []byte) []byte {
		now, err := decodeRow(raw[:len(raw)-tagSize])
		if err != nil {
			t.Fatal(err)
		}
		was, err := decodeRow(before.value[:len(before.value)-tagSize])
		if err != nil {
			t.Fatal(err)
		}
		now.sealed = was.sealed
		return append(now.encode(), raw[len(raw)-tagSize:]...)
	})
	s = openAt(t, path)
	defer closed(t, s)
	if err := s.View(t.Context(), func(tx store.Tx) error { _, err := tx.Transaction(x.Open.ID); return err }); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("a mixed row: %v", err)
	}
}

// TestALinkToAnotherRowIsNotFollowed: what leads to a row is in no row, so that the row says whose it is.
func TestALinkToAnotherRowIsNotFollowed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "purser.db")
	s := openAt(t, path)
	mustUpdate(t, s, func(tx store.Tx) error {
		return errors.Join(tx.PutUser(human(1)), tx.PutUser(human(2)),
			tx.CreateTransaction(wallet.Transaction{ID: "tx_1", Kind: wallet.Send, Owner: "usr_1", SignID: "one", Signature: wallet.Signature{1}}),
			tx.CreateTransaction(wallet.Transaction{ID: "tx_2", Kind: wallet.Send, Owner: "usr_2", SignID: "two", Signature: wallet.Signature{2}}))
	})
	mustUpdate(t, s, func(contract store.Tx) error {
		tx := contract.(*tx)
		for _, b := range []table{telegrams, bySignID, bySignature} {
			all := tx.prefixed(b, nil)
			if err := errors.Join(tx.put(b, all[0].key, all[1].value), tx.put(b, all[1].key, all[0].value)); err != nil {
				return err
			}
		}
		return nil
	})
	defer closed(t, s)
	for what, read := range map[string]func(store.Tx) error{
		"by telegram":  func(tx store.Tx) error { _, err := tx.UserByTelegram(human(1).TelegramID); return err },
		"by sign id":   func(tx store.Tx) error { _, err := tx.TransactionBySignID("one"); return err },
		"by signature": func(tx store.Tx) error { _, err := tx.TransactionBySignature(wallet.Signature{1}); return err },
	} {
		if err := s.View(t.Context(), read); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestAProposalThatCameToNothingLeavesNothing: it went through its life, was told of, and is swept.
func TestAProposalThatCameToNothingLeavesNothing(t *testing.T) {
	s := fresh(t)
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	mustUpdate(t, s, func(tx store.Tx) error { return tx.PutUser(human(1)) })
	row := wallet.Transaction{ID: "tx_1k7uvkhg0fudsbq9o7m5k3i1g0", Kind: wallet.Send, Owner: "usr_1", Status: wallet.AwaitingConfirmation,
		From: wallet.Address{1}, To: wallet.Address{2}, CreatedAt: at, Deadline: at.Add(time.Minute), Message: make([]byte, 300)}
	mustUpdate(t, s, func(tx store.Tx) error {
		proposed, err := row.Proposed()
		return errors.Join(err, tx.CreateTransaction(row), tx.Emit(proposed))
	})
	row.Version = 1
	mustUpdate(t, s, func(tx store.Tx) error {
		_, err := store.Step(tx, row, wallet.TransitionInput{By: wallet.TimeRanOut, At: at.Add(time.Minute), Failure: wallet.ConfirmationExpired})
		return err
	})
	mustUpdate(t, s, func(tx store.Tx) error {
		all, err := tx.PendingEvents(10)
		if len(all) != 2 {
			t.Errorf("%d events", len(all))
		}
		return errors.Join(err, doneEvents(tx))
	})
	of := []table{transactions, bySignID, bySignature, unsettled, byOwner, paidBy, byWallet, finals, finalIDs, finalHashes, finalsOf, finalsAt, eventIDs, expiries}
	if left := leftIn(t, s, of...); len(left) != 6 { // the row, two lists, two ids, and the note
		t.Errorf("a proposal that is over is %v", left)
	}
	mustUpdate(t, s, func(tx store.Tx) error {
		_, err := tx.Sweep(at.Add(time.Minute).Add(store.ProposalKeptFor), 100)
		return err
	})
	if left := leftIn(t, s, of...); len(left) != 0 {
		t.Errorf("there is left %v", left)
	}
}

// TestANoteRemovesNothingThatWasSigned, however it came about.
func TestANoteRemovesNothingThatWasSigned(t *testing.T) {
	s := fresh(t)
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	mustUpdate(t, s, func(contract store.Tx) error {
		return errors.Join(contract.CreateTransaction(wallet.Transaction{ID: "tx_1", Kind: wallet.Send, Status: wallet.Failed, Closed: true, Signature: wallet.Signature{1}}),
			contract.(*tx).expire(proposalOver, at, []byte("tx_1")))
	})
	mustUpdate(t, s, func(tx store.Tx) error { _, err := tx.Sweep(at, 10); return err })
	if err := s.View(t.Context(), func(tx store.Tx) error { _, err := tx.Transaction("tx_1"); return err }); err != nil {
		t.Error(err)
	}
}
