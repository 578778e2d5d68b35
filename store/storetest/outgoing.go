package storetest

import (
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// testOutgoingFrom: every outgoing transaction of the wallet since a time, unsettled ones of any time, and nothing else. And whom the wallet paid.
func testOutgoingFrom(t *testing.T, open Open) {
	s := fresh(t, open)
	for i, id := range []wallet.UserID{"usr_a", "usr_b"} {
		update(t, s, func(tx store.Tx) error { return tx.PutUser(wallet.User{ID: id, TelegramID: int64(i + 1)}) })
	}
	mine, second, bob := wallet.Address{1}, wallet.Address{2}, wallet.Address{3}
	at := func(minutes int) time.Time { return noon().Add(time.Duration(minutes) * time.Minute) }
	row := func(id string, minutes int, change func(*wallet.Transaction)) {
		x := wallet.Transaction{ID: wallet.TransactionID(id), Kind: wallet.Send, Status: wallet.Confirmed, Closed: true, Owner: "usr_a", Chat: 1, From: mine, To: bob,
			Token: wallet.Token{Mint: wallet.Address{9}, Decimals: 6}, Amount: uint64(100 + minutes), Memo: "a secret", CreatedAt: at(minutes), SignedAt: at(minutes), ConfirmedAt: at(minutes)}
		change(&x)
		update(t, s, func(tx store.Tx) error { return tx.CreateTransaction(x) })
	}
	as := func(status wallet.Status) func(*wallet.Transaction) {
		return func(x *wallet.Transaction) { x.Status = status }
	}
	open2 := func(x *wallet.Transaction) { x.Status, x.Closed = wallet.Delayed, false }
	row("tx_old", -1, as(wallet.Confirmed))
	row("tx_old_open", -1_000, open2)
	row("tx_at", 0, as(wallet.Confirmed))
	row("tx_open", 1, open2)
	row("tx_failed", 2, as(wallet.Failed))
	row("tx_second", 3, func(x *wallet.Transaction) { x.From, x.To = second, wallet.Address{4} })
	row("tx_in", 4, func(x *wallet.Transaction) {
		x.Kind, x.Status, x.From, x.To, x.Memo = wallet.Receive, wallet.Received, bob, mine, ""
	})
	row("tx_self", 5, func(x *wallet.Transaction) {
		x.Kind, x.Status, x.From, x.To, x.Memo = wallet.Receive, wallet.Received, mine, mine, ""
	})
	row("tx_others", 6, func(x *wallet.Transaction) { x.Owner, x.To = "usr_b", wallet.Address{5} })
	ids := func(s store.Store) (out []wallet.TransactionID) {
		t.Helper()
		for _, x := range get(t, s, func(tx store.Tx) ([]wallet.Transaction, error) { return tx.OutgoingFrom(mine, noon()) }) {
			out = append(out, x.ID)
			if x.From != mine || x.Amount == 0 || x.Token.Mint != (wallet.Address{9}) || x.SignedAt.IsZero() {
				t.Errorf("%s lacks something: %+v", x.ID, x)
			}
		}
		return out
	}
	want := []wallet.TransactionID{"tx_others", "tx_failed", "tx_open", "tx_at", "tx_old_open"}
	same(t, "payments", ids(s), want)
	same(t, "payments on another node", ids(besideOf(t, s)), want)

	paid := func(owner wallet.UserID, from, to wallet.Address, limit int) bool {
		return get(t, s, func(tx store.Tx) (bool, error) { return tx.HasPaid(owner, from, to, limit) })
	}
	for what, got := range map[string]bool{
		"paid":                              paid("usr_a", mine, bob, 100),
		"paid from the second":              paid("usr_a", second, wallet.Address{4}, 100),
		"paid by the other":                 paid("usr_b", mine, wallet.Address{5}, 100),
		"paid, as the third newest payment": paid("usr_a", mine, bob, 2), // tx_second and tx_at
	} {
		if !got {
			t.Errorf("%s: not found", what)
		}
	}
	for what, got := range map[string]bool{
		"paid from another wallet only": paid("usr_a", mine, wallet.Address{4}, 100),
		"paid by another person":        paid("usr_a", mine, wallet.Address{5}, 100),
		"never paid":                    paid("usr_a", mine, wallet.Address{6}, 100),
		"paid too long ago":             paid("usr_a", mine, bob, 1),
		"whom money came from":          paid("usr_a", mine, mine, 100),
	} {
		if got {
			t.Errorf("%s: found", what)
		}
	}
	update(t, s, func(tx store.Tx) error { return tx.EraseUser("usr_a") })
	same(t, "payments after its owner was erased", ids(s), []wallet.TransactionID{"tx_others"})
}
