package storetest

import (
	"fmt"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// testPortalTokens: of links and sessions of the portal, by their secrets.
func testPortalTokens(t *testing.T, open Open) {
	s := fresh(t, open)
	session := store.PortalToken{Kind: store.PortalSession, Owner: "usr_a", Lineage: "key_1", EndsAt: noon().Add(time.Hour)}
	link := store.PortalToken{Kind: store.PortalLink, Owner: "usr_a", Lineage: "key_1", EndsAt: noon()}
	operators := store.PortalToken{Kind: store.PortalSession, Lineage: "key_2", EndsAt: noon()}
	portalToken := func(kind store.PortalTokenKind, secret string) func(store.Tx) (store.PortalToken, error) {
		return func(tx store.Tx) (store.PortalToken, error) { return tx.PortalToken(kind, secret) }
	}
	absent(t, s, "an unknown portal token", func(tx store.Tx) error { _, err := tx.PortalToken(store.PortalLink, "s"); return err })
	refuses(t, s, store.ErrNotFound, func(tx store.Tx) error { return tx.DeletePortalToken(store.PortalLink, "s") })
	update(t, s, func(tx store.Tx) error { return tx.PutUser(wallet.User{ID: "usr_a", TelegramID: 1}) })
	update(t, s, func(tx store.Tx) error { return tx.PutPortalToken(session, "s", 5) })
	absent(t, s, "a session as a link", func(tx store.Tx) error { _, err := tx.PortalToken(store.PortalLink, "s"); return err })
	update(t, s, func(tx store.Tx) error { return tx.PutPortalToken(link, "s", 5) }) // the kind is a part of the name
	update(t, s, func(tx store.Tx) error { return tx.PutPortalToken(operators, "o", 5) })
	same(t, "a session", get(t, s, portalToken(store.PortalSession, "s")), session)
	same(t, "a link", get(t, s, portalToken(store.PortalLink, "s")), link)
	same(t, "an operator's", get(t, s, portalToken(store.PortalSession, "o")), operators)
	update(t, s, func(tx store.Tx) error { return tx.PutUser(wallet.User{ID: "usr_z", TelegramID: 26}) })
	for _, secret := range []string{"z1", "z2"} {
		update(t, s, func(tx store.Tx) error {
			return tx.PutPortalToken(store.PortalToken{Kind: store.PortalSession, Owner: "usr_z", Lineage: "key_z", EndsAt: noon().Add(time.Hour)}, secret, 5)
		})
	}
	update(t, s, func(tx store.Tx) error {
		return tx.PutPortalToken(store.PortalToken{Kind: store.PortalLink, Owner: "usr_z", Lineage: "key_z", EndsAt: noon().Add(time.Hour)}, "z3", 5)
	})
	other := store.PortalToken{Kind: store.PortalSession, Owner: "usr_z", Lineage: "key_y", EndsAt: noon().Add(time.Hour)}
	update(t, s, func(tx store.Tx) error { return tx.PutPortalToken(other, "y", 5) })
	update(t, s, func(tx store.Tx) error { return tx.DeletePortalTokensOf("usr_z", "key_z") })
	for secret, kind := range map[string]store.PortalTokenKind{"z1": store.PortalSession, "z2": store.PortalSession, "z3": store.PortalLink} {
		absent(t, s, "a person's token after all of its lineage were deleted", func(tx store.Tx) error { _, err := tx.PortalToken(kind, secret); return err })
	}
	same(t, "a session of another lineage", get(t, s, portalToken(store.PortalSession, "y")), other)
	update(t, s, func(tx store.Tx) error { return tx.DeletePortalTokensOf("usr_z", "") })
	absent(t, s, "a person's token after all were deleted", func(tx store.Tx) error { _, err := tx.PortalToken(store.PortalSession, "y"); return err })
	same(t, "another person's session", get(t, s, portalToken(store.PortalSession, "s")), session)
	session.EndsAt = noon().Add(2 * time.Hour)
	update(t, s, func(tx store.Tx) error { return tx.PutPortalToken(session, "s", 1) })
	same(t, "put again", get(t, s, portalToken(store.PortalSession, "s")), session)
	update(t, s, func(tx store.Tx) error { return tx.DeletePortalToken(store.PortalLink, "s") })
	absent(t, s, "a link that was used", func(tx store.Tx) error { _, err := tx.PortalToken(store.PortalLink, "s"); return err })

	sweeps := func(at time.Time) int {
		return changing(t, s, func(tx store.Tx) (int, error) { return tx.Sweep(at, 100) })
	}
	if n := sweeps(noon()); n != 1 {
		t.Errorf("at noon %d rows were over", n)
	}
	absent(t, s, "a portal token that is over", func(tx store.Tx) error { _, err := tx.PortalToken(store.PortalSession, "o"); return err })
	same(t, "one that is not", get(t, s, portalToken(store.PortalSession, "s")), session)
	if n := sweeps(session.EndsAt); n != 1 {
		t.Errorf("two hours later %d rows were over", n)
	}
	absent(t, s, "the other that is over", func(tx store.Tx) error { _, err := tx.PortalToken(store.PortalSession, "s"); return err })
}

// testPortalTokenBounds: of a lineage and of a person, those that end first give way, and nobody else's do.
func testPortalTokenBounds(t *testing.T, open Open) {
	s := fresh(t, open)
	put := func(owner wallet.UserID, kind store.PortalTokenKind, lineage, secret string, after time.Duration) {
		t.Helper()
		update(t, s, func(tx store.Tx) error {
			return tx.PutPortalToken(store.PortalToken{Kind: kind, Owner: owner, Lineage: lineage, EndsAt: noon().Add(after)}, secret, 3)
		})
	}
	left := func(kind store.PortalTokenKind, secrets ...string) (out []string) {
		view(t, s, func(tx store.Tx) error {
			for _, secret := range secrets {
				if _, err := tx.PortalToken(kind, secret); err == nil {
					out = append(out, secret)
				}
			}
			return nil
		})
		return out
	}
	for _, id := range []wallet.UserID{"usr_a", "usr_ab"} {
		update(t, s, func(tx store.Tx) error { return tx.PutUser(wallet.User{ID: id}) })
	}
	put("usr_ab", store.PortalSession, "key_1", "another's", 0)
	put("usr_a", store.PortalLink, "key_1", "link", 0)
	put("usr_a", store.PortalSession, "key_2", "second", 0)
	put("usr_a", store.PortalSession, "key_1", "late", 9*time.Minute)
	put("usr_a", store.PortalSession, "key_1", "early", time.Minute)
	put("usr_a", store.PortalSession, "key_1", "middle", 5*time.Minute)
	put("usr_a", store.PortalSession, "key_1", "new", 0) // it ends first of all, and is what was asked for
	same(t, "of a lineage", left(store.PortalSession, "another's", "second", "late", "early", "middle", "new"),
		[]string{"another's", "second", "late", "middle", "new"})
	same(t, "of the other kind", left(store.PortalLink, "link"), []string{"link"})

	var all []string
	for i := range store.MaxPortalTokens + 2 {
		all = append(all, fmt.Sprint("many ", i))
		put("usr_a", store.PortalSession, fmt.Sprint("key_of_", i), all[i], time.Hour+time.Duration(i)*time.Minute)
	}
	same(t, "of a person", left(store.PortalSession, all...), all[2:])
	same(t, "what ended before", left(store.PortalSession, "second", "late", "middle", "new"), []string(nil))
	same(t, "of another person", left(store.PortalSession, "another's"), []string{"another's"})

	update(t, s, func(tx store.Tx) error { return tx.EraseUser("usr_a") })
	same(t, "of an erased person", left(store.PortalSession, all...), []string(nil))
	refuses(t, s, store.ErrNotFound, func(tx store.Tx) error {
		return tx.PutPortalToken(store.PortalToken{Kind: store.PortalLink, Owner: "usr_a", Lineage: "key_1", EndsAt: noon()}, "late", 3)
	})
	if n := changing(t, s, func(tx store.Tx) (int, error) { return tx.Sweep(noon().Add(100*time.Hour), 1000) }); n != 1 { // another's alone
		t.Errorf("%d rows were left to be swept", n)
	}
}

// changing is get in an Update, for verbs that write.
func changing[T any](t *testing.T, s store.Store, read func(store.Tx) (T, error)) (out T) {
	t.Helper()
	update(t, s, func(tx store.Tx) (err error) {
		out, err = read(tx)
		return err
	})
	return out
}
