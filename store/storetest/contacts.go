package storetest

import (
	"fmt"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

func testContacts(t *testing.T, open Open) {
	s := fresh(t, open)
	update(t, s, func(tx store.Tx) error { return tx.PutUser(user("usr_a", 1)) })
	rent := wallet.Contact{Owner: "usr_a", Name: "Rent", Address: wallet.Address{1}, AddedAt: noon()}
	bank := wallet.Contact{Owner: "usr_a", Name: "bank", Address: wallet.Address{2}, AddedAt: noon().Add(time.Hour)}
	other := wallet.Contact{Owner: "usr_ab", Name: "rent", Address: wallet.Address{3}, AddedAt: noon()} // without a profile
	book := func(of wallet.UserID) []wallet.Contact {
		return get(t, s, func(tx store.Tx) ([]wallet.Contact, error) { return tx.ContactsOf(of) })
	}
	same(t, "nobody's", len(book("usr_a")), 0)
	for _, c := range []wallet.Contact{rent, bank, other} {
		update(t, s, func(tx store.Tx) error { return tx.PutContact(c) })
	}
	same(t, "by name, in any case", book("usr_a"), []wallet.Contact{bank, rent})
	same(t, "another's", book("usr_ab"), []wallet.Contact{other})

	renamed := rent
	renamed.Name, renamed.Address = "RENT", wallet.Address{9}
	update(t, s, func(tx store.Tx) error { return tx.PutContact(renamed) })
	same(t, "replaced", book("usr_a"), []wallet.Contact{bank, renamed})
	refuses(t, s, store.ErrNotFound, func(tx store.Tx) error { return tx.DeleteContact("usr_a", "ren") })
	refuses(t, s, store.ErrNotFound, func(tx store.Tx) error { return tx.DeleteContact("usr_", "rent") })
	update(t, s, func(tx store.Tx) error { return tx.DeleteContact("usr_a", "rEnt") })
	same(t, "removed", book("usr_a"), []wallet.Contact{bank})
	same(t, "another's of that name", book("usr_ab"), []wallet.Contact{other})
	if err := s.Update(t.Context(), func(tx store.Tx) error { return tx.PutContact(wallet.Contact{Name: "x"}) }); err == nil {
		t.Error("a contact of nobody was taken")
	}
}

// testRecipients: only what the owner themselves sent, and what arrived, counts; a block that was
// rolled back takes it away again.
func testRecipients(t *testing.T, open Open) {
	s := fresh(t, open)
	made := 0
	put := func(owner wallet.UserID, kind wallet.Kind, status wallet.Status, to byte) wallet.Transaction {
		made++
		row := wallet.Transaction{ID: wallet.TransactionID(fmt.Sprintf("tx_%02d", made)), Owner: owner, Kind: kind, Status: status,
			To: wallet.Address{to}, CreatedAt: noon().Add(time.Duration(made) * time.Second), ConfirmedAt: noon().Add(time.Hour)}
		update(t, s, func(tx store.Tx) error { return tx.CreateTransaction(row) })
		row.Version = 1
		return row
	}
	paid := func(limit int) []wallet.Address {
		return get(t, s, func(tx store.Tx) ([]wallet.Address, error) { return tx.Recipients("usr_a", limit) })
	}
	same(t, "nobody yet", len(paid(10)), 0)
	put("usr_a", wallet.Send, wallet.Confirmed, 1)
	put("usr_a", wallet.Send, wallet.Confirmed, 2)
	put("usr_a", wallet.Send, wallet.Confirmed, 1)
	for _, status := range []wallet.Status{wallet.AwaitingConfirmation, wallet.Signed, wallet.Pending, wallet.Failed, wallet.Rejected, wallet.Expired} {
		put("usr_a", wallet.Send, status, 3)
	}
	for range 20 {
		put("usr_a", wallet.Receive, wallet.Received, 4)
	}
	put("usr_ab", wallet.Send, wallet.Confirmed, 5)
	same(t, "newest first", paid(10), []wallet.Address{{1}, {2}})
	same(t, "only the newest", paid(1), []wallet.Address{{1}})
	same(t, "none wanted", len(paid(0)), 0)

	stolen := put("usr_a", wallet.Send, wallet.Rejected, 6)
	stolen.Status, stolen.EndedAt = wallet.Confirmed, noon() // it landed all the same, an hour later
	update(t, s, func(tx store.Tx) error { return tx.PutTransaction(stolen) })
	same(t, "what had been called off", paid(10), []wallet.Address{{1}, {2}})

	sent := put("usr_a", wallet.Send, wallet.Pending, 7)
	sent.Status = wallet.Confirmed
	update(t, s, func(tx store.Tx) error { return tx.PutTransaction(sent) })
	same(t, "it landed", paid(1), []wallet.Address{{7}})
	sent.Status, sent.Version = wallet.Pending, 2
	update(t, s, func(tx store.Tx) error { return tx.PutTransaction(sent) })
	same(t, "it was rolled back", paid(10), []wallet.Address{{1}, {2}})
}
