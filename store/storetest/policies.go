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
