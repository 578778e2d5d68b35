package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// checkedLog reads a person's log, and the faults that are found in it.
func checkedLog(t *testing.T, s store.Store, who wallet.UserID) (rows []wallet.SecurityRow, head wallet.SecurityHead, faults []wallet.SecurityFault) {
	t.Helper()
	view(t, s, func(tx store.Tx) (err error) {
		rows, head, faults, err = store.SecurityLog(tx, who)
		return err
	})
	return rows, head, faults
}

// logs appends an entry about a key to somebody's log, without the bound of a day.
func logs(tx store.Tx, who wallet.UserID, at time.Time, key string) error {
	_, err := tx.AppendSecurityEntry(wallet.SecurityEntry{Owner: who, At: at, Kind: wallet.LogKeyCreated, Details: wallet.SecurityDetails{Key: key}})
	return err
}

// testSecurityLog: entries are chained, listed newest first, belong to a person, and are rolled back and erased with what they report.
func testSecurityLog(t *testing.T, open Open) {
	s := fresh(t, open)
	alice, bob := wallet.UserID("usr_alice"), wallet.UserID("usr_alice2") // one id begins with the other
	update(t, s, func(tx store.Tx) error { return errors.Join(tx.PutUser(user(alice, 1)), tx.PutUser(user(bob, 2))) })
	rows, head, faults := checkedLog(t, s, alice)
	same(t, "before the first", fmt.Sprint(len(rows), head, faults), fmt.Sprint(0, wallet.SecurityHead{}, []wallet.SecurityFault(nil)))

	update(t, s, func(tx store.Tx) error {
		return errors.Join(logs(tx, alice, noon(), "key_1"), logs(tx, bob, noon(), "key_b"), logs(tx, alice, noon().Add(time.Second), "key_2"), store.LogSecurity(tx, "", noon(), wallet.LogKeyCreated, wallet.SecurityDetails{Key: "key_0"}))
	})
	update(t, s, func(tx store.Tx) error { return logs(tx, alice, noon().Add(time.Minute), "key_3") })
	refuses(t, s, errSample, func(tx store.Tx) error {
		return errors.Join(logs(tx, alice, noon(), "never"), errSample)
	})
	refuses(t, s, wallet.ErrSecurityEntry, func(tx store.Tx) error {
		_, err := tx.AppendSecurityEntry(wallet.SecurityEntry{Owner: alice, At: noon()})
		return err
	})
	rows, head, faults = checkedLog(t, s, alice)
	same(t, "faults", len(faults), 0)
	same(t, "rows", len(rows), 3)
	before := wallet.SecurityHash{}
	for i, row := range rows {
		same(t, "number", row.Number, uint64(i+1))
		same(t, "key", row.Entry.Details.Key, fmt.Sprint("key_", i+1))
		same(t, "before", row.Entry.Before, before)
		before = row.Entry.Hash()
	}
	same(t, "head", head, wallet.SecurityHead{Count: 3, Hash: before, From: 1})
	page := func(before uint64, limit int) (numbers []uint64) {
		for _, row := range get(t, s, func(tx store.Tx) ([]wallet.SecurityRow, error) { return tx.SecurityEntries(alice, before, limit) }) {
			numbers = append(numbers, row.Number)
		}
		return numbers
	}
	same(t, "newest first", page(0, 2), []uint64{3, 2})
	same(t, "behind them", page(2, 2), []uint64{1})
	same(t, "behind the last", page(1, 2), []uint64(nil))
	entry := get(t, s, func(tx store.Tx) (wallet.SecurityEntry, error) { return tx.SecurityEntry(alice, 2) })
	same(t, "one", entry, *rows[1].Entry)
	absent(t, s, "one that is not there", func(tx store.Tx) error { _, err := tx.SecurityEntry(alice, 4); return err })

	update(t, s, func(tx store.Tx) error { return tx.EraseUser(alice) })
	same(t, "erased", page(0, 10), []uint64(nil))
	rows, _, faults = checkedLog(t, s, bob)
	same(t, "others stay", fmt.Sprint(len(rows), len(faults)), "1 0")
	refuses(t, s, store.ErrNotFound, func(tx store.Tx) error { return logs(tx, alice, noon(), "late") })
	refuses(t, s, store.ErrNotFound, func(tx store.Tx) error { return tx.PutSeen(alice, "late", wallet.Seen{}) })
}

var errSample = errors.New("a sample of an error")

// testSecurityLogBound: the newest entries are kept, and what was removed does not break the chain.
func testSecurityLogBound(t *testing.T, open Open) {
	s := fresh(t, open)
	update(t, s, func(tx store.Tx) error { return tx.PutUser(user("usr_a", 1)) })
	const more = 7
	for range 10 { // in several transactions, of which each has several entries
		update(t, s, func(tx store.Tx) error {
			for i := range wallet.MaxSecurityEntries / 10 {
				if err := logs(tx, "usr_a", noon(), fmt.Sprint(i)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	rows, head, faults := checkedLog(t, s, "usr_a")
	same(t, "full", fmt.Sprint(len(rows), head.From, head.Anchor, len(faults)), fmt.Sprint(wallet.MaxSecurityEntries, 1, wallet.SecurityHash{}, 0))
	last := rows[more-1].Entry.Hash()
	for range more {
		update(t, s, func(tx store.Tx) error { return logs(tx, "usr_a", noon(), "more") })
	}
	rows, head, faults = checkedLog(t, s, "usr_a")
	same(t, "bounded", fmt.Sprint(len(rows), rows[0].Number, head.From, head.Count, len(faults)), fmt.Sprint(wallet.MaxSecurityEntries, more+1, more+1, wallet.MaxSecurityEntries+more, 0))
	same(t, "anchor", head.Anchor, last)
}

// testSecurityLogOfTwoNodes: appends of several nodes at once make one chain, in which each entry is once.
func testSecurityLogOfTwoNodes(t *testing.T, open Open) {
	s := fresh(t, open)
	update(t, s, func(tx store.Tx) error { return tx.PutUser(user("usr_a", 1)) })
	nodes := []store.Store{s, besideOf(t, s)}
	const writers, each = 4, 25
	failed := make(chan error, 2*writers*each)
	var all sync.WaitGroup
	for n, node := range nodes {
		for w := range writers {
			all.Go(func() {
				for i := range each {
					if err := node.Update(t.Context(), func(tx store.Tx) error { return logs(tx, "usr_a", noon(), fmt.Sprint(n, w, i)) }); err != nil {
						failed <- err
					}
				}
			})
		}
	}
	all.Wait()
	close(failed)
	for err := range failed {
		t.Fatal(err)
	}
	for _, node := range nodes {
		rows, head, faults := checkedLog(t, node, "usr_a")
		same(t, "one chain", fmt.Sprint(len(rows), head.Count, faults), fmt.Sprint(2*writers*each, 2*writers*each, []wallet.SecurityFault(nil)))
		once := map[string]bool{}
		for _, row := range rows {
			once[row.Entry.Details.Key] = true
		}
		same(t, "each once", len(once), 2*writers*each)
	}
}

// testSeen: what was seen is a person's own, and a mark is first once.
func testSeen(t *testing.T, open Open) {
	s := fresh(t, open)
	update(t, s, func(tx store.Tx) error {
		return errors.Join(tx.PutUser(user("usr_a", 1)), tx.PutUser(user("usr_a2", 2)))
	})
	rule := wallet.SeenRule{Remembered: 3, PerDay: 2}
	note := func(who wallet.UserID, mark string, at time.Time) (first, last bool) {
		t.Helper()
		update(t, s, func(tx store.Tx) (err error) {
			first, last, err = store.NoteSeen(tx, who, "key", mark, at, rule)
			return err
		})
		return first, last
	}
	for _, c := range []struct {
		who         wallet.UserID
		mark        string
		days        int
		first, last bool
	}{
		{"usr_a", "one", 0, true, false},
		{"usr_a", "one", 0, false, false},
		{"usr_a2", "one", 0, true, false},
		{"usr_a", "two", 0, true, true},
		{"usr_a", "three", 0, false, false}, // no more on this day
		{"usr_a", "three", 1, true, false},
		{"usr_a", "four", 1, true, true},
		{"usr_a", "two", 2, false, false},
		{"usr_a", "one", 2, true, false}, // was forgotten for four
	} {
		first, last := note(c.who, c.mark, noon().AddDate(0, 0, c.days))
		same(t, fmt.Sprintf("%+v", c), []bool{first, last}, []bool{c.first, c.last})
	}
	update(t, s, func(tx store.Tx) error { return tx.EraseUser("usr_a") })
	seen := get(t, s, func(tx store.Tx) (wallet.Seen, error) { return tx.Seen("usr_a", "key") })
	same(t, "erased", len(seen.Marks), 0)
	seen = get(t, s, func(tx store.Tx) (wallet.Seen, error) { return tx.Seen("usr_a2", "key") })
	same(t, "another's", seen.Marks, []string{"one"})
}
