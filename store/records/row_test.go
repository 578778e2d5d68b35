package records

import (
	"bytes"
	"errors"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"purser/store"
	"purser/store/storetest"
	"purser/wallet"
)

func FuzzDecodeRow(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{rowFormat})
	f.Add([]byte{rowFormat, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Add(row{owner: "usr_1", plain: []byte(`{}`), sealed: [][]byte{[]byte("one"), nil}}.encode())
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := decodeRow(raw)
		if err != nil {
			if !errors.Is(err, store.ErrDamaged) {
				t.Errorf("%v is no store.ErrDamaged", err)
			}
			return
		}
		again, err := decodeRow(r.encode())
		if err != nil || again.owner != r.owner || !bytes.Equal(again.plain, r.plain) || len(again.sealed) != len(r.sealed) {
			t.Errorf("%x became %+v, %v", raw, again, err)
		}
	})
}

// FuzzDamagedRows puts foreign bytes in the place of every kind of row and index and calls every
// verb: each answers a row or an error, and never panics.
func FuzzDamagedRows(f *testing.F) {
	s := openSame(f, filepath.Join(f.TempDir(), "purser.db"))
	f.Cleanup(func() { _ = s.Close() })
	x := storetest.NewSamples()
	mustUpdate(f, s, x.Write)
	f.Add(uint8(users), []byte("garbage"))
	f.Add(uint8(transactions), row{plain: []byte(`{"version":1}`)}.encode())
	f.Add(uint8(conversations), row{plain: []byte(`{}`), sealed: [][]byte{{1}, {2}}}.encode())
	f.Add(uint8(outboxEvents), row{plain: []byte(`[]`), sealed: [][]byte{nil, nil}}.encode())
	f.Add(uint8(jobs), row{owner: "usr_gone", plain: []byte(`{}`), sealed: [][]byte{nil, nil}}.encode())
	f.Add(uint8(cards), []byte{})
	f.Add(uint8(seen), []byte{1, 2})
	f.Add(uint8(bindsOf), []byte("short"))
	f.Add(uint8(eventIDs), []byte("short"))
	for b := range tableCount {
		f.Add(uint8(b), []byte{rowFormat})
		f.Add(uint8(b), []byte(nil))
	}
	undo := errors.New("undo")
	f.Fuzz(func(t *testing.T, n uint8, raw []byte) {
		b := table(n) % tableCount
		if b == meta { // read at Open alone
			return
		}
		err := s.Update(t.Context(), func(contract store.Tx) error {
			inner := contract.(*tx)
			for _, e := range inner.prefixed(b, nil) {
				if err := inner.put(b, e.key, bytes.Clone(raw)); err != nil {
					return err
				}
				// A damaged key as well: indexes hold what they are about in their keys.
				if len(raw) > 0 && len(raw) < 1000 {
					if err := inner.put(b, raw, bytes.Clone(e.value)); err != nil {
						return err
					}
				}
			}
			inner.key = nil
			everyVerb(contract, x)
			return undo
		})
		if !errors.Is(err, undo) {
			t.Fatal(err)
		}
		if err := s.View(t.Context(), x.Read); err != nil {
			t.Fatalf("after the damage was undone: %v", err)
		}
	})
}

// everyVerb calls each verb, whatever it answers.
func everyVerb(contract store.Tx, x storetest.Samples) {
	_ = x.Read(contract)
	_, _ = contract.UnsettledTransactions(wallet.Transaction{}, 10)
	_, _ = contract.UnsettledFrom(x.Transaction.From)
	_, _ = contract.TransactionsOf(x.User.ID, store.Page{After: x.Transaction.ID, Limit: 10})
	_, _ = contract.TransactionsAt(x.Transaction.From, store.Page{After: x.Transaction.ID, Limit: 10})
	_, _ = contract.KeysOf(x.User.ID)
	_, _ = contract.GrantsOf(x.User.ID)
	_, _ = contract.Key(x.Key.ID)
	_, _ = contract.AllKeys()
	_ = x.Write(contract)
	_ = contract.PutTransaction(x.Transaction)
	_ = contract.PutKey(x.Key)
	_ = contract.DeleteGrant(x.Grant.User, x.Grant.App)
	_, _ = contract.WaitingWebhooks()
	_, _ = contract.Waiting(x.Webhook.ID, 10)
	_ = contract.Reschedule([]store.Delivery{x.Delivery})
	_ = contract.DoneDeliveries([]store.Delivery{x.Delivery})
	_ = contract.DoneOutboxEvents([]uint64{1})
	_, _ = contract.PutDeliveries([]store.Delivery{x.Delivery})
	_ = contract.DeleteWebhook(x.Webhook.ID)
	_ = contract.UseButtons(x.Button.Chat, x.Button.User, x.Button.Subject, x.Button.UsedAt)
	_, _ = contract.NoteUpdate(x.Reply.At, 1)
	_ = doneEvents(contract)
	_ = contract.EraseUser(x.User.ID)
	_, _ = contract.Sweep(time.Unix(1<<40, 0), 1000)
}

func TestTimeKeysSortAsTimes(t *testing.T) {
	times := []time.Time{{}, time.Unix(-1, 999999999), time.Unix(0, 0), time.Unix(0, 1), time.Unix(1, 0),
		time.Date(2026, 1, 1, 0, 0, 0, 5, time.UTC), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}
	for i, at := range times {
		key := timeKey(at)
		if got, err := keyTime(key); err != nil || !got.Equal(at) {
			t.Errorf("%v came back as %v, %v", at, got, err)
		}
		if i > 0 && bytes.Compare(timeKey(times[i-1]), key) >= 0 {
			t.Errorf("%v does not come before %v", times[i-1], at)
		}
	}
}

func TestEveryTableHasItsName(t *testing.T) {
	names := map[string]bool{}
	for b := range tableCount {
		if b.String() == "" || names[b.String()] {
			t.Errorf("table %d is called %q", b, b)
		}
		names[b.String()] = true
	}
}

// TestErasedKeyIsGone: what was sealed for an erased user does not open even for somebody who kept
// the rows, because the key is not in the file any more.
func TestErasedKeyIsGone(t *testing.T) {
	s := fresh(t)
	x := storetest.NewSamples()
	mustUpdate(t, s, x.Write)
	var kept []byte
	read := func(change func(*tx) error) {
		t.Helper()
		mustUpdate(t, s, func(contract store.Tx) error { return change(contract.(*tx)) })
	}
	read(func(inner *tx) error {
		kept = bytes.Clone(inner.get(users, []byte(x.User.ID)))
		return nil
	})
	mustUpdate(t, s, func(tx store.Tx) error { return tx.EraseUser(x.User.ID) })
	read(func(inner *tx) error {
		if err := inner.put(users, []byte(x.User.ID), kept); err != nil {
			return err
		}
		if _, err := inner.User(x.User.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("an old row of an erased user: %v", err)
		}
		return inner.delete(users, []byte(x.User.ID))
	})
	// Somebody who comes back gets another key, which does not open the old row either.
	mustUpdate(t, s, func(tx store.Tx) error { return tx.PutUser(x.User) })
	read(func(inner *tx) error {
		if err := inner.put(users, []byte(x.User.ID), kept); err != nil {
			return err
		}
		if u, err := inner.User(x.User.ID); !errors.Is(err, store.ErrUnsealed) || !reflect.DeepEqual(u, wallet.User{}) {
			t.Errorf("an old row under a new key: %+v, %v", u, err)
		}
		return nil
	})
}
