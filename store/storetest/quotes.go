package storetest

import (
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// testSwapQuotes: a quote is its owner's alone, is used once, and is swept after its time.
func testSwapQuotes(t *testing.T, open Open) {
	s := fresh(t, open)
	draft := wallet.Transaction{Kind: wallet.Swap, From: wallet.Address{1}, Amount: 5, CreatedAt: noon()}
	quote := store.SwapQuote{ID: "swq_1", Owner: "usr_a", Lineage: "key_1", EndsAt: noon().Add(time.Minute), Draft: draft}
	operators := store.SwapQuote{ID: "swq_1", Lineage: "key_2", EndsAt: noon(), Draft: draft}
	of := func(owner wallet.UserID, id string) func(store.Tx) (store.SwapQuote, error) {
		return func(tx store.Tx) (store.SwapQuote, error) { return tx.SwapQuote(owner, id) }
	}
	none := func(what string, owner wallet.UserID, id string) {
		t.Helper()
		absent(t, s, what, func(tx store.Tx) error { _, err := tx.SwapQuote(owner, id); return err })
	}
	none("an unknown quote", "usr_a", "swq_1")
	update(t, s, func(tx store.Tx) error { return tx.PutUser(wallet.User{ID: "usr_a", TelegramID: 1}) })
	update(t, s, func(tx store.Tx) error { return tx.PutSwapQuote(quote) })
	refuses(t, s, store.ErrConflict, func(tx store.Tx) error { return tx.PutSwapQuote(quote) })
	update(t, s, func(tx store.Tx) error { return tx.PutSwapQuote(operators) }) // the owner is a part of the name
	same(t, "a quote", get(t, s, of("usr_a", "swq_1")), quote)
	same(t, "an operator's", get(t, s, of("", "swq_1")), operators)
	none("another person's", "usr_b", "swq_1")

	update(t, s, func(tx store.Tx) error { return tx.DeleteSwapQuote("usr_a", "swq_1") })
	none("a quote that was used", "usr_a", "swq_1")
	refuses(t, s, store.ErrNotFound, func(tx store.Tx) error { return tx.DeleteSwapQuote("usr_a", "swq_1") })
	if n := changing(t, s, func(tx store.Tx) (int, error) { return tx.Sweep(noon(), 100) }); n != 1 {
		t.Errorf("at noon %d rows were over", n)
	}
	none("one that is over", "", "swq_1")
	if n := changing(t, s, func(tx store.Tx) (int, error) { return tx.Sweep(noon().Add(time.Hour), 100) }); n != 0 {
		t.Errorf("later %d rows were over", n)
	}
}
