package storetest

import (
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// testFreezeLinks: a person has one link of each use, found by the hash of its token, and a freeze is part of the user.
func testFreezeLinks(t *testing.T, open Open) {
	s := fresh(t, open)
	update(t, s, func(tx store.Tx) error { return tx.PutUser(wallet.User{ID: "usr_a", TelegramID: 1}) })
	update(t, s, func(tx store.Tx) error { return tx.PutUser(wallet.User{ID: "usr_b", TelegramID: 2}) })
	freezes := wallet.FreezeLink{TokenHash: [32]byte{1}, User: "usr_a", Use: wallet.LinkFreezes, IssuedAt: noon()}
	unfreezes := wallet.FreezeLink{TokenHash: [32]byte{2}, User: "usr_a", Use: wallet.LinkUnfreezes, Nonce: "nonce", IssuedAt: noon(), ExpiresAt: noon().Add(time.Minute)}
	others := wallet.FreezeLink{TokenHash: [32]byte{3}, User: "usr_b", Use: wallet.LinkFreezes, IssuedAt: noon()}
	link := func(first byte) func(store.Tx) (wallet.FreezeLink, error) {
		return func(tx store.Tx) (wallet.FreezeLink, error) { return tx.FreezeLink([32]byte{first}) }
	}
	none := func(what string, first byte) {
		t.Helper()
		absent(t, s, what, func(tx store.Tx) error { _, err := tx.FreezeLink([32]byte{first}); return err })
	}
	none("an unknown link", 1)
	for _, l := range []wallet.FreezeLink{freezes, unfreezes, others, freezes} { // the same again changes nothing
		update(t, s, func(tx store.Tx) error { return tx.PutFreezeLink(l) })
	}
	same(t, "a link to freeze", get(t, s, link(1)), freezes)
	same(t, "a link to unfreeze", get(t, s, link(2)), unfreezes)

	// A newer one replaces the older one of its use, and no other.
	newer := freezes
	newer.TokenHash, newer.IssuedAt = [32]byte{4}, noon().Add(time.Hour)
	update(t, s, func(tx store.Tx) error { return tx.PutFreezeLink(newer) })
	none("a link that was replaced", 1)
	same(t, "the newer link", get(t, s, link(4)), newer)
	same(t, "the link to unfreeze", get(t, s, link(2)), unfreezes)
	same(t, "another person's link", get(t, s, link(3)), others)

	// A token leads to one person and use.
	stolen := wallet.FreezeLink{TokenHash: [32]byte{3}, User: "usr_a", Use: wallet.LinkFreezes, IssuedAt: noon()}
	refuses(t, s, store.ErrConflict, func(tx store.Tx) error { return tx.PutFreezeLink(stolen) })
	same(t, "the newer link after it", get(t, s, link(4)), newer)
	changed := unfreezes
	changed.Use = wallet.LinkFreezes
	refuses(t, s, store.ErrConflict, func(tx store.Tx) error { return tx.PutFreezeLink(changed) })

	update(t, s, func(tx store.Tx) error { return tx.DeleteFreezeLink("usr_a", wallet.LinkUnfreezes) })
	update(t, s, func(tx store.Tx) error { return tx.DeleteFreezeLink("usr_a", wallet.LinkUnfreezes) })
	none("a link that was deleted", 2)
	same(t, "the newer link still", get(t, s, link(4)), newer)

	// Whether an account is frozen decides what its keys may do.
	version := s.AccessVersion()
	frozen := wallet.User{ID: "usr_a", TelegramID: 1, Freeze: &wallet.Freeze{At: noon(), By: wallet.FrozenByLink, Message: 5, EndsFrom: noon().Add(time.Hour)}}
	update(t, s, func(tx store.Tx) error { return tx.PutUser(frozen) })
	same(t, "a frozen user", get(t, s, func(tx store.Tx) (wallet.User, error) { return tx.User("usr_a") }), frozen)
	if now := s.AccessVersion(); now <= version {
		t.Errorf("a freeze left the version at %d", now)
	}
	version = s.AccessVersion()
	frozen.FirstName = "Anna"
	update(t, s, func(tx store.Tx) error { return tx.PutUser(frozen) })
	same(t, "the version after a frozen person's new name", s.AccessVersion(), version)
	frozen.Freeze = nil
	update(t, s, func(tx store.Tx) error { return tx.PutUser(frozen) })
	if now := s.AccessVersion(); now <= version {
		t.Errorf("the end of a freeze left the version at %d", now)
	}

	update(t, s, func(tx store.Tx) error { return tx.EraseUser("usr_a") })
	none("an erased person's link", 4)
	refuses(t, s, store.ErrNotFound, func(tx store.Tx) error { return tx.PutFreezeLink(newer) })
	same(t, "another person's link at the end", get(t, s, link(3)), others)
}
