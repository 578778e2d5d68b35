package storetest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"purser/store"
	"purser/store/engine"
	"purser/wallet"
)

// Beside is a database that another Store has prepared, as a further node opens it: with records.Open it gives a second
// Store that shares rows with the first, and nothing in memory. Close the first Store last.
func Beside(prepared engine.Engine) engine.Engine { return beside{prepared} }

type beside struct{ engine.Engine }

// Prepare runs setup in an Update: the tables are there, and their secrets are open.
func (b beside) Prepare(_ engine.Layout, setup func(engine.Setup) error) error {
	return b.Update(context.Background(), func(tx engine.Tx) error { return setup(prepared{tx}) })
}

// Close leaves the database to its first Store.
func (b beside) Close() error { return nil }

// prepared is the setup of a database that needs none.
type prepared struct{ engine.Tx }

func (prepared) Fresh() bool                    { return false }
func (prepared) OpenSecrets() error             { return nil }
func (prepared) Check() error                   { return nil }
func (prepared) CreateTable(engine.Table) error { return errors.New("storetest: the tables are there") }

// besideOf is a further Store over the database of one that Open opened.
func besideOf(t testing.TB, s store.Store) store.Store {
	t.Helper()
	further, ok := s.(interface{ Beside() store.Store })
	if !ok {
		t.Fatal("the store has no method Beside: see Open")
	}
	return further.Beside()
}

// testOtherNodes: what one node commits, another one reads at once, and its memory of keys ends within a second.
func testOtherNodes(t *testing.T, open Open) {
	synctest.Test(t, func(t *testing.T) {
		here := open(t, t.TempDir())
		defer func() {
			if err := here.Close(); err != nil {
				t.Error(err)
			}
		}()
		there := besideOf(t, here)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- there.(interface{ Run(context.Context) error }).Run(ctx) }()
		defer func() {
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}()
		update(t, here, func(tx store.Tx) error { return tx.PutUser(user("usr_a", 7)) })
		key := wallet.Key{ID: "key_a", Kind: wallet.APIKey, Owner: "usr_a", CreatedAt: noon()}
		for _, one := range []struct {
			what   string
			change func(store.Tx) error
		}{
			{"a key", func(tx store.Tx) error { return tx.CreateKey(key, "secret") }},
			{"a webhook", func(tx store.Tx) error {
				return tx.PutWebhook(wallet.Webhook{ID: "wh_a", Lineage: "key_a", Owner: "usr_a", CreatedAt: noon()})
			}},
			{"an app", func(tx store.Tx) error { return tx.PutApp(wallet.App{ID: "app_a", Owner: "usr_a", CreatedAt: noon()}) }},
			{"a grant", func(tx store.Tx) error {
				return tx.PutGrant(wallet.Grant{User: "usr_a", App: "app_a", GrantedAt: noon()})
			}},
			{"a grant withdrawn", func(tx store.Tx) error { return tx.DeleteGrant("usr_a", "app_a") }},
			{"a freeze", func(tx store.Tx) error {
				frozen := user("usr_a", 7)
				frozen.Freeze = &wallet.Freeze{At: noon()}
				return tx.PutUser(frozen)
			}},
			{"a person erased", func(tx store.Tx) error {
				return errors.Join(tx.PutUser(user("usr_c", 9)), tx.EraseUser("usr_c"))
			}},
		} {
			what, change := one.what, one.change
			before := there.AccessVersion()
			update(t, here, change)
			if now := here.AccessVersion(); now <= before {
				t.Errorf("%s: version %d here, where it was committed", what, now)
			}
			time.Sleep(time.Second)
			synctest.Wait()
			if now := there.AccessVersion(); now != here.AccessVersion() {
				t.Errorf("%s: a second later the version is %d there, %d here", what, now, here.AccessVersion())
			}
		}
		// A commit there counts on from those here, and is known here as well once it is looked for.
		update(t, there, func(tx store.Tx) error { return tx.PutKey(key) })
		if there.AccessVersion() <= here.AccessVersion() {
			t.Errorf("version %d after a commit there, %d here", there.AccessVersion(), here.AccessVersion())
		}
		// What fails raises nothing, and what touches no key leaves the version.
		before := there.AccessVersion()
		refuses(t, there, store.ErrConflict, func(tx store.Tx) error { return tx.CreateKey(key, "another") })
		update(t, there, func(tx store.Tx) error { return tx.PutUser(user("usr_b", 8)) })
		time.Sleep(time.Second)
		synctest.Wait()
		same(t, "the version after nothing", there.AccessVersion(), before)
		// A person who is erased here is unknown there, whose data key was in memory.
		same(t, "the person there", get(t, there, func(tx store.Tx) (wallet.User, error) { return tx.User("usr_b") }), user("usr_b", 8))
		update(t, here, func(tx store.Tx) error { return tx.EraseUser("usr_b") })
		absent(t, there, "an erased person", func(tx store.Tx) error { _, err := tx.User("usr_b"); return err })
		refuses(t, there, store.ErrNotFound, func(tx store.Tx) error {
			return tx.PutWallet(wallet.Wallet{Address: wallet.Address{9}, Owner: "usr_b", ConnectedAt: noon()})
		})
	})
}
