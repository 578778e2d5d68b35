package storetest

import (
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// somePolicy is a policy with all of its parts.
func somePolicy() wallet.Policy {
	return wallet.Policy{Payment: []wallet.TokenLimit{{Units: 5}, {Mint: wallet.Address{7}, Units: 1 << 63}}, Day: []wallet.TokenLimit{{Units: 9}},
		Recipients: &[]wallet.Address{{3}, {4}}, NewRecipientWait: 3 * time.Hour}
}

// testPolicies: a wallet of a person has one policy, whether it is connected or not, and nobody else's is found.
func testPolicies(t *testing.T, open Open) {
	s := fresh(t, open)
	other := besideOf(t, s)
	for i, id := range []wallet.UserID{"usr_a", "usr_b"} {
		update(t, s, func(tx store.Tx) error { return tx.PutUser(wallet.User{ID: id, TelegramID: int64(i + 1)}) })
	}
	of := func(owner wallet.UserID, first byte) func(store.Tx) (wallet.WalletPolicy, error) {
		return func(tx store.Tx) (wallet.WalletPolicy, error) { return tx.Policy(owner, wallet.Address{first}) }
	}
	none := func(what string, s store.Store, owner wallet.UserID, first byte) {
		t.Helper()
		absent(t, s, what, func(tx store.Tx) error { _, err := of(owner, first)(tx); return err })
	}
	pending, all, nobody := somePolicy(), wallet.Policy{}, wallet.Policy{Recipients: &[]wallet.Address{}}
	proof := &wallet.PolicyProof{Policy: pending, TelegramID: 1, Nonce: "nonce", IssuedAt: noon(), ExpiresAt: noon().Add(time.Minute), Signature: wallet.Signature{5}}
	first := wallet.WalletPolicy{Owner: "usr_a", Address: wallet.Address{2}, Signed: proof, SignedPending: proof,
		State: wallet.PolicyState{Current: nobody, Pending: &pending, PendingFrom: noon().Add(wallet.PolicyDelay)}}
	second := wallet.WalletPolicy{Owner: "usr_a", Address: wallet.Address{1}, State: wallet.PolicyState{Current: somePolicy()}}
	same1 := wallet.WalletPolicy{Owner: "usr_b", Address: wallet.Address{2}, State: wallet.PolicyState{Current: all}}
	none("a policy before it was set", s, "usr_a", 2)
	for _, p := range []wallet.WalletPolicy{first, second, same1} {
		update(t, s, func(tx store.Tx) error { return tx.PutPolicy(p) })
	}
	same(t, "a policy", get(t, s, of("usr_a", 2)), first)
	same(t, "another person's of the same address", get(t, s, of("usr_b", 2)), same1)
	same(t, "the list", get(t, s, func(tx store.Tx) ([]wallet.WalletPolicy, error) { return tx.PoliciesOf("usr_a") }), []wallet.WalletPolicy{second, first})
	none("a policy of a wallet without", s, "usr_b", 1)

	// Another node reads and replaces the same rows.
	same(t, "on another node", get(t, other, of("usr_a", 2)), first)
	first.State = wallet.PolicyState{Current: somePolicy()}
	update(t, other, func(tx store.Tx) error { return tx.PutPolicy(first) })
	same(t, "replaced on another node", get(t, s, of("usr_a", 2)), first)

	// It stays without the wallet.
	update(t, s, func(tx store.Tx) error {
		return tx.PutWallet(wallet.Wallet{Address: wallet.Address{2}, Owner: "usr_a", ConnectedAt: noon()})
	})
	update(t, s, func(tx store.Tx) error { return tx.DeleteWallet(wallet.Address{2}) })
	same(t, "after the wallet was disconnected", get(t, s, of("usr_a", 2)), first)

	if err := s.Update(t.Context(), func(tx store.Tx) error { return tx.PutPolicy(wallet.WalletPolicy{}) }); err == nil {
		t.Error("a policy of nobody was taken")
	}
	update(t, s, func(tx store.Tx) error { return tx.EraseUser("usr_a") })
	none("an erased person's", s, "usr_a", 2)
	none("an erased person's, on another node", other, "usr_a", 1)
	same(t, "an erased person's list", get(t, s, func(tx store.Tx) ([]wallet.WalletPolicy, error) { return tx.PoliciesOf("usr_a") }), []wallet.WalletPolicy(nil))
	refuses(t, s, store.ErrNotFound, func(tx store.Tx) error { return tx.PutPolicy(first) })
	same(t, "the other person's at the end", get(t, s, of("usr_b", 2)), same1)
}

// testPolicyLinks: a person has one, found by the hash of its token.
func testPolicyLinks(t *testing.T, open Open) {
	s := fresh(t, open)
	other := besideOf(t, s)
	for i, id := range []wallet.UserID{"usr_a", "usr_b"} {
		update(t, s, func(tx store.Tx) error { return tx.PutUser(wallet.User{ID: id, TelegramID: int64(i + 1)}) })
	}
	link := func(first byte) func(store.Tx) (wallet.PolicyLink, error) {
		return func(tx store.Tx) (wallet.PolicyLink, error) { return tx.PolicyLink([32]byte{first}) }
	}
	none := func(what string, first byte) {
		t.Helper()
		absent(t, s, what, func(tx store.Tx) error { _, err := link(first)(tx); return err })
	}
	old := wallet.PolicyLink{TokenHash: [32]byte{1}, User: "usr_a", Address: wallet.Address{2}, Proposed: somePolicy(), Nonce: "nonce", IssuedAt: noon(), ExpiresAt: noon().Add(time.Minute)}
	others := wallet.PolicyLink{TokenHash: [32]byte{2}, User: "usr_b", IssuedAt: noon(), ExpiresAt: noon().Add(time.Minute)}
	none("an unknown link", 1)
	for _, l := range []wallet.PolicyLink{old, others, old} {
		update(t, s, func(tx store.Tx) error { return tx.PutPolicyLink(l) })
	}
	same(t, "a link", get(t, s, link(1)), old)
	same(t, "on another node", get(t, other, link(1)), old)
	signed := old
	signed.SignedAt, signed.Signature, signed.EffectiveAt = noon().Add(time.Second), wallet.Signature{5}, noon().Add(time.Hour)
	update(t, other, func(tx store.Tx) error { return tx.PutPolicyLink(signed) })
	same(t, "a signed link", get(t, s, link(1)), signed)

	newer := old
	newer.TokenHash = [32]byte{3}
	update(t, s, func(tx store.Tx) error { return tx.PutPolicyLink(newer) })
	none("a link that was replaced", 1)
	same(t, "the newer one", get(t, s, link(3)), newer)
	stolen := newer
	stolen.TokenHash = others.TokenHash
	refuses(t, s, store.ErrConflict, func(tx store.Tx) error { return tx.PutPolicyLink(stolen) })
	same(t, "another person's", get(t, s, link(2)), others)
	same(t, "the newer one after it", get(t, s, link(3)), newer)

	update(t, s, func(tx store.Tx) error { return tx.DeletePolicyLink("usr_a") })
	update(t, s, func(tx store.Tx) error { return tx.DeletePolicyLink("usr_a") })
	none("a link that was deleted", 3)
	update(t, s, func(tx store.Tx) error { return tx.PutPolicyLink(newer) })
	update(t, s, func(tx store.Tx) error { return tx.EraseUser("usr_a") })
	none("an erased person's", 3)
	refuses(t, s, store.ErrNotFound, func(tx store.Tx) error { return tx.PutPolicyLink(newer) })
	same(t, "another person's at the end", get(t, s, link(2)), others)
}

// testPaymentsFrom: every outgoing transaction of the wallet since a time, unsettled ones of any time, and nothing else. And whom the wallet paid.
func testPaymentsFrom(t *testing.T, open Open) {
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
		for _, x := range get(t, s, func(tx store.Tx) ([]wallet.Transaction, error) { return tx.PaymentsFrom(mine, noon()) }) {
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
