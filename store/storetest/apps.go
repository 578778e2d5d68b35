package storetest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

func testApps(t *testing.T, open Open) {
	s := fresh(t, open)
	shop := wallet.App{ID: "app_shop", Owner: "usr_dev", Name: "Shop", Purpose: "sells", Scopes: []wallet.Scope{wallet.WalletSend}, CreatedAt: noon()}
	game := wallet.App{ID: "app_game", Owner: "usr_dev", CreatedAt: noon().Add(time.Second)}
	house := wallet.App{ID: "app_house", CreatedAt: noon()}
	absent(t, s, "an unknown app", func(tx store.Tx) error { _, err := tx.App("app_shop"); return err })
	for _, app := range []wallet.App{game, shop, house} {
		update(t, s, func(tx store.Tx) error { return tx.PutApp(app) })
	}
	stolen := shop
	stolen.Owner = "usr_thief"
	refuses(t, s, store.ErrConflict, func(tx store.Tx) error { return tx.PutApp(stolen) })
	shop.Name = "Other shop"
	update(t, s, func(tx store.Tx) error { return tx.PutApp(shop) })
	same(t, "the app", get(t, s, func(tx store.Tx) (wallet.App, error) { return tx.App("app_shop") }), shop)
	same(t, "a developer's", get(t, s, func(tx store.Tx) ([]wallet.App, error) { return tx.AppsOf("usr_dev") }), []wallet.App{shop, game})
	same(t, "the operator's", get(t, s, func(tx store.Tx) ([]wallet.App, error) { return tx.AppsOf("") }), []wallet.App{house})

	all := get(t, s, func(tx store.Tx) ([]wallet.App, error) { return tx.AllApps() })
	slices.SortFunc(all, func(a, b wallet.App) int { return strings.Compare(string(a.ID), string(b.ID)) })
	same(t, "everybody's", all, []wallet.App{game, house, shop})

	first := wallet.Grant{User: "usr_a", App: "app_shop", Scopes: []wallet.Scope{wallet.WalletSend}, GrantedAt: noon()}
	second := wallet.Grant{User: "usr_a", App: "app_game", GrantedAt: noon().Add(time.Second)}
	other := wallet.Grant{User: "usr_ab", App: "app_shop", GrantedAt: noon()}
	refuses(t, s, store.ErrNotFound, func(tx store.Tx) error { return tx.DeleteGrant("usr_a", "app_shop") })
	for _, g := range []wallet.Grant{second, first, other} {
		update(t, s, func(tx store.Tx) error { return tx.PutGrant(g) })
	}
	grants := func(who wallet.UserID) []wallet.Grant {
		return get(t, s, func(tx store.Tx) ([]wallet.Grant, error) { return tx.GrantsOf(who) })
	}
	same(t, "a grant", get(t, s, func(tx store.Tx) (wallet.Grant, error) { return tx.Grant("usr_a", "app_shop") }), first)
	same(t, "a person's", grants("usr_a"), []wallet.Grant{first, second})
	update(t, s, func(tx store.Tx) error { return tx.DeleteGrant("usr_a", "app_shop") })
	absent(t, s, "a grant taken back", func(tx store.Tx) error { _, err := tx.Grant("usr_a", "app_shop"); return err })
	same(t, "what is left", grants("usr_a"), []wallet.Grant{second})
	same(t, "another's", grants("usr_ab"), []wallet.Grant{other})

	nobody := get(t, s, func(tx store.Tx) (wallet.Developer, error) { return tx.Developer("usr_a") })
	same(t, "no developer", nobody, wallet.Developer{User: "usr_a"})
	dev := nobody.With(wallet.ByContact, noon())
	dev.Email = "dev@example.com"
	update(t, s, func(tx store.Tx) error { return tx.PutDeveloper(dev) })
	same(t, "a developer", get(t, s, func(tx store.Tx) (wallet.Developer, error) { return tx.Developer("usr_a") }), dev)
}

func testCounters(t *testing.T, open Open) {
	s := fresh(t, open)
	one := store.Counter{Name: "api/usr_a", Slots: []store.Slot{{Start: 60, Count: 2}, {Start: 120, Count: 1}}, ExpiresAt: noon()}
	two := store.Counter{Name: "bot/key_1", ExpiresAt: noon().Add(time.Hour)}
	absent(t, s, "an unknown counter", func(tx store.Tx) error { _, err := tx.Counter("api/usr_a"); return err })
	update(t, s, func(tx store.Tx) error { return tx.PutCounters([]store.Counter{one, two}) })
	read := func(name string) store.Counter {
		return get(t, s, func(tx store.Tx) (store.Counter, error) { return tx.Counter(name) })
	}
	same(t, "a counter", read("api/usr_a"), one)
	one.Slots, one.ExpiresAt = one.Slots[1:], noon().Add(30*time.Minute)
	update(t, s, func(tx store.Tx) error { return tx.PutCounters([]store.Counter{one}) })
	sweep := func(at time.Time) (n int) {
		update(t, s, func(tx store.Tx) error { var err error; n, err = tx.Sweep(at, 100); return err })
		return n
	}
	same(t, "swept before their time", sweep(noon()), 0)
	same(t, "replaced", read("api/usr_a"), one)
	same(t, "swept", sweep(noon().Add(30*time.Minute)), 1)
	absent(t, s, "a counter that was swept", func(tx store.Tx) error { _, err := tx.Counter("api/usr_a"); return err })
	same(t, "the other", read("bot/key_1"), two)

	name := func(kind, about string) string {
		return get(t, s, func(tx store.Tx) (string, error) { return tx.CounterName(kind, about), nil })
	}
	same(t, "one name of one thing", name("mail", "1001"), name("mail", "1001"))
	for _, other := range []string{name("mail", "1002"), name("mai", "l1001"), name("ask", "1001")} {
		if other == name("mail", "1001") || strings.Contains(other, "1001") {
			t.Errorf("another counter, or one that tells of whom it is: %s", other)
		}
	}
	update(t, s, func(tx store.Tx) error {
		return tx.PutCounters([]store.Counter{{Name: tx.CounterName("mail", strings.Repeat("a", 300))}})
	})
}
