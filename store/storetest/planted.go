package storetest

import (
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// testPlantedSenders: who sent something suspicious to a person is known for that person, until a time. A later time replaces an earlier one.
func testPlantedSenders(t *testing.T, open Open) {
	s := fresh(t, open)
	for i, id := range []wallet.UserID{"usr_a", "usr_b"} {
		update(t, s, func(tx store.Tx) error { return tx.PutUser(wallet.User{ID: id, TelegramID: int64(i + 1)}) })
	}
	from, other := wallet.Address{1}, wallet.Address{2}
	until, later := noon().Add(time.Hour), noon().Add(2*time.Hour)
	planted := func(owner wallet.UserID, from wallet.Address, now time.Time) bool {
		t.Helper()
		return get(t, s, func(tx store.Tx) (bool, error) { return tx.IsPlantedSender(owner, from, now) })
	}
	put := func(owner wallet.UserID, from wallet.Address, until time.Time) {
		t.Helper()
		update(t, s, func(tx store.Tx) error { return tx.PutPlantedSender(owner, from, until) })
	}
	sweep := func(now time.Time, want int) {
		t.Helper()
		if n := changing(t, s, func(tx store.Tx) (int, error) { return tx.Sweep(now, 100) }); n != want {
			t.Errorf("at %s %d rows were over, not %d", now, n, want)
		}
	}
	same(t, "before", planted("usr_a", from, noon()), false)
	put("usr_a", from, until)
	same(t, "for the person", planted("usr_a", from, until.Add(-1)), true)
	same(t, "at the end", planted("usr_a", from, until), false)
	same(t, "for another person", planted("usr_b", from, noon()), false)
	same(t, "another address", planted("usr_a", other, noon()), false)
	if beside := besideOf(t, s); !get(t, beside, func(tx store.Tx) (bool, error) { return tx.IsPlantedSender("usr_a", from, noon()) }) {
		t.Error("another node does not know it")
	}
	put("usr_a", from, later)
	same(t, "after it came again", planted("usr_a", from, until), true)
	sweep(until, 0)
	put("usr_a", other, until)
	put("usr_b", from, until)
	sweep(later.Add(-1), 2)
	same(t, "one that lasts longer", planted("usr_a", from, later.Add(-1)), true)
	sweep(later, 1)
	same(t, "one that was swept", planted("usr_a", from, noon()), false)

	put("usr_a", from, later)
	put("usr_b", from, later)
	update(t, s, func(tx store.Tx) error { return tx.EraseUser("usr_a") })
	refuses(t, s, store.ErrNotFound, func(tx store.Tx) error { return tx.PutPlantedSender("usr_a", from, later) })
	same(t, "an erased person's", planted("usr_a", from, noon()), false)
	same(t, "another person's", planted("usr_b", from, noon()), true)
	sweep(later, 1)
}
