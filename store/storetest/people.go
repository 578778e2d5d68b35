package storetest

import (
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

func user(id wallet.UserID, telegram int64) wallet.User {
	return wallet.User{ID: id, TelegramID: telegram, Username: "name_" + string(id), FirstName: "First",
		LastName: "Last", Language: "en", RegisteredAt: noon()}
}

func testUsers(t *testing.T, open Open) {
	s := fresh(t, open)
	alice, bob := user("usr_alice", 1001), user("usr_bob", 1002)
	absent(t, s, "a stranger", func(tx store.Tx) error { _, err := tx.User("usr_alice"); return err })
	absent(t, s, "a strange Telegram id", func(tx store.Tx) error { _, err := tx.UserByTelegram(1001); return err })

	update(t, s, func(tx store.Tx) error { return tx.PutUser(alice) })
	update(t, s, func(tx store.Tx) error { return tx.PutUser(bob) })
	same(t, "by id", get(t, s, func(tx store.Tx) (wallet.User, error) { return tx.User("usr_alice") }), alice)
	same(t, "by Telegram id", get(t, s, func(tx store.Tx) (wallet.User, error) { return tx.UserByTelegram(1002) }), bob)

	alice.FirstName, alice.Unreachable, alice.DefaultWallet = "Alicia", true, wallet.Address{1}
	update(t, s, func(tx store.Tx) error { return tx.PutUser(alice) })
	same(t, "replaced", get(t, s, func(tx store.Tx) (wallet.User, error) { return tx.UserByTelegram(1001) }), alice)

	thief := user("usr_thief", 1001)
	refuses(t, s, store.ErrConflict, func(tx store.Tx) error { return tx.PutUser(thief) })
	absent(t, s, "who was refused", func(tx store.Tx) error { _, err := tx.User("usr_thief"); return err })

	alice.TelegramID = 1003
	update(t, s, func(tx store.Tx) error { return tx.PutUser(alice) })
	absent(t, s, "an id that was given up", func(tx store.Tx) error { _, err := tx.UserByTelegram(1001); return err })
	same(t, "the new id", get(t, s, func(tx store.Tx) (wallet.User, error) { return tx.UserByTelegram(1003) }), alice)
	update(t, s, func(tx store.Tx) error { return tx.PutUser(thief) }) // it is free now

	nobody := user("usr_api", 0)
	update(t, s, func(tx store.Tx) error { return tx.PutUser(nobody) })
	absent(t, s, "Telegram id 0", func(tx store.Tx) error { _, err := tx.UserByTelegram(0); return err })
	if err := s.Update(t.Context(), func(tx store.Tx) error { return tx.PutUser(wallet.User{}) }); err == nil {
		t.Error("a user without an id was taken")
	}
}

// testErase: after erasing, nothing of the user is found, and everything of another still is.
func testErase(t *testing.T, open Open) {
	s := fresh(t, open)
	rows := func(tx store.Tx, who wallet.User, n byte) error {
		at := noon()
		address := wallet.Address{n}
		id := wallet.TransactionID("tx_" + string(who.ID))
		chat := who.TelegramID
		hook := webhook(wallet.WebhookID("wh_"+who.ID), "key_"+string(who.ID), who.ID)
		steps := []error{
			tx.PutUser(who),
			tx.PutWallet(wallet.Wallet{Address: address, Owner: who.ID, ConnectedAt: at}),
			tx.PutBind(wallet.Bind{TokenHash: [32]byte{n}, User: who.ID, Chat: chat, ExpiresAt: at}),
			tx.PutBind(wallet.Bind{TokenHash: [32]byte{n, n}, User: who.ID, Chat: chat, ExpiresAt: at}),
			tx.CreateTransaction(wallet.Transaction{ID: id, Kind: wallet.Send, Owner: who.ID, Chat: chat, From: address,
				SignID: "sign_" + string(who.ID), Signature: wallet.Signature{n}, CreatedAt: at}),
			tx.PutConversation(store.Conversation{Chat: chat, User: chat, State: "review", ExpiresAt: at}),
			tx.PutConversation(store.Conversation{Chat: chat, User: chat, Slot: "keys", State: "shown", Data: []byte("shop"), ExpiresAt: at}),
			tx.PutConversation(store.Conversation{Chat: -77, User: chat, State: "idle", ExpiresAt: at}),
			tx.PutButtons([]store.Button{{Nonce: "nonce_" + string(who.ID), Chat: chat, User: chat, Subject: "x", ExpiresAt: at}}),
			tx.PutCard(chat, "card", 7, time.Time{}),
			tx.PutSendResult(chat, "card", store.SendResult{MessageID: 7, ExpiresAt: at.Add(time.Hour)}),
			tx.PutPortalToken(store.PortalToken{Kind: store.PortalSession, Owner: who.ID, Lineage: "key_" + string(who.ID), EndsAt: at.Add(time.Hour)}, "pass_"+string(who.ID), 1),
			tx.PutFreezeLink(wallet.FreezeLink{TokenHash: [32]byte{n}, User: who.ID, Use: wallet.LinkFreezes, IssuedAt: at}),
			tx.PutPolicy(wallet.WalletPolicy{Owner: who.ID, Address: address}),
			tx.PutPlantedSender(who.ID, address, at.Add(time.Hour)),
			tx.PutPolicyLink(wallet.PolicyLink{TokenHash: [32]byte{n}, User: who.ID, Address: address, ExpiresAt: at}),
			tx.PutSwapQuote(store.SwapQuote{ID: "swq_1", Owner: who.ID, EndsAt: at.Add(time.Hour)}),
			store.Enqueue(tx, []store.Reply{{Chat: chat, Card: "card", Body: []byte("reply")}}...),
			tx.Emit(wallet.Event{ID: "evt_" + string(who.ID), User: who.ID, At: at, Data: []byte(`{}`)}),
			tx.PutContact(wallet.Contact{Owner: who.ID, Name: "rent", Address: wallet.Address{n}, AddedAt: at}),
			tx.CreateTransaction(wallet.Transaction{ID: id + "_paid", Owner: who.ID, Kind: wallet.Send, Status: wallet.Confirmed,
				To: wallet.Address{n}, CreatedAt: at, Closed: true}),
			tx.CreateKey(wallet.Key{ID: "key_" + string(who.ID), Owner: who.ID}, "secret_"+string(who.ID)),
			tx.PutApp(wallet.App{ID: wallet.AppID("app_" + who.ID), Owner: who.ID, Name: "Shop", CreatedAt: at}),
			tx.PutGrant(wallet.Grant{User: who.ID, App: "app_usr_alice", GrantedAt: at}),
			tx.PutGrant(wallet.Grant{User: who.ID, App: "app_usr_bob", GrantedAt: at}),
			tx.PutDeveloper(wallet.Developer{User: who.ID, Email: "dev@example.com", AcceptedAt: at}),
			tx.PutPortfolio(wallet.Portfolio{Owner: who.ID, SentAt: at, Points: []wallet.PortfolioPoint{{At: at, Value: 7}}}),
			tx.PutWebhook(hook),
			tx.PutWebhookHealth(hook.ID, wallet.WebhookHealth{LastStatus: 200}),
		}
		_, err := tx.PutJobs([]store.Job{{Queue: store.Inbox, Key: store.ChatKey(chat), Owner: store.ChatKey(chat), About: who.ID, At: at, Body: []byte("hello")}}, nil)
		for _, step := range append(steps, err) {
			if step != nil {
				return step
			}
		}
		return nil
	}
	alice, bob := user("usr_alice", 1001), user("usr_bob", 1002)
	update(t, s, func(tx store.Tx) error { return rows(tx, alice, 1) })
	update(t, s, func(tx store.Tx) error { return rows(tx, bob, 2) })
	refuses(t, s, store.ErrNotFound, func(tx store.Tx) error { return tx.EraseUser("usr_nobody") })
	update(t, s, func(tx store.Tx) error { return tx.EraseUser(alice.ID) })
	refuses(t, s, store.ErrNotFound, func(tx store.Tx) error { return tx.EraseUser(alice.ID) })

	reads := func(who wallet.User, n byte) map[string]func(store.Tx) error {
		return map[string]func(store.Tx) error{
			"user":        func(tx store.Tx) error { _, err := tx.User(who.ID); return err },
			"telegram":    func(tx store.Tx) error { _, err := tx.UserByTelegram(who.TelegramID); return err },
			"wallet":      func(tx store.Tx) error { _, err := tx.Wallet(wallet.Address{n}); return err },
			"bind":        func(tx store.Tx) error { _, err := tx.Bind([32]byte{n}); return err },
			"newest bind": func(tx store.Tx) error { _, err := tx.BindOf(who.ID); return err },
			"transaction": func(tx store.Tx) error { _, err := tx.Transaction("tx_" + wallet.TransactionID(who.ID)); return err },
			"sign id":     func(tx store.Tx) error { _, err := tx.TransactionBySignID("sign_" + string(who.ID)); return err },
			"signature":   func(tx store.Tx) error { _, err := tx.TransactionBySignature(wallet.Signature{n}); return err },
			"button":      func(tx store.Tx) error { _, err := tx.Button("nonce_" + string(who.ID)); return err },
			"card":        func(tx store.Tx) error { _, err := tx.Card(who.TelegramID, "card"); return err },
			"send_result": func(tx store.Tx) error { _, err := tx.SendResult(who.TelegramID, "card"); return err },
			"portal_token": func(tx store.Tx) error {
				_, err := tx.PortalToken(store.PortalSession, "pass_"+string(who.ID))
				return err
			},
			"freeze link":   func(tx store.Tx) error { _, err := tx.FreezeLink([32]byte{n}); return err },
			"policy":        func(tx store.Tx) error { _, err := tx.Policy(who.ID, wallet.Address{n}); return err },
			"policy link":   func(tx store.Tx) error { _, err := tx.PolicyLink([32]byte{n}); return err },
			"quote":         func(tx store.Tx) error { _, err := tx.SwapQuote(who.ID, "swq_1"); return err },
			"key":           func(tx store.Tx) error { _, err := tx.Key("key_" + string(who.ID)); return err },
			"app":           func(tx store.Tx) error { _, err := tx.App(wallet.AppID("app_" + who.ID)); return err },
			"grant":         func(tx store.Tx) error { _, err := tx.Grant(who.ID, "app_usr_bob"); return err },
			"webhook":       func(tx store.Tx) error { _, err := tx.Webhook(wallet.WebhookID("wh_" + who.ID)); return err },
			"key by secret": func(tx store.Tx) error { _, err := tx.KeyBySecret("secret_" + string(who.ID)); return err },
		}
	}
	for what, read := range reads(alice, 1) {
		absent(t, s, "erased "+what, read)
	}
	for what, read := range reads(bob, 2) {
		if err := s.View(t.Context(), read); err != nil {
			t.Errorf("another's %s: %v", what, err)
		}
	}
	view(t, s, func(tx store.Tx) error {
		counts := map[string]int{}
		count := func(what string, n int, err error) {
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
			counts[what] = n
		}
		x, err := tx.UnsettledTransactions(wallet.Transaction{}, 10)
		count("unsettled", len(x), err)
		x, err = tx.UnsettledFrom(wallet.Address{1})
		count("unsettled of hers", len(x), err)
		x, err = tx.UnsettledOf(alice.ID)
		count("unsettled with her as owner", len(x), err)
		x, err = tx.TransactionsOf(alice.ID, store.Page{Limit: 10})
		count("transactions of hers", len(x), err)
		w, err := tx.WalletsOf(alice.ID)
		count("wallets of hers", len(w), err)
		for what, who := range map[string]wallet.UserID{"hers": alice.ID, "his": bob.ID} {
			book, err := tx.ContactsOf(who)
			count("contacts of "+what, len(book), err)
			paid, err := tx.Recipients(who, 10)
			count("recipients of "+what, len(paid), err)
		}
		for _, chat := range []int64{alice.TelegramID, bob.TelegramID, -77} {
			for _, who := range []wallet.User{alice, bob} {
				for _, slot := range []string{"", "keys"} {
					if c, err := tx.Conversation(chat, who.TelegramID, slot); c.State != "" || err != nil {
						count("conversations", counts["conversations"]+1, err)
					}
				}
			}
		}
		for what, queue := range map[string]store.Queue{"updates": store.Inbox, "replies": store.Outbox} {
			hers, err := tx.JobsOfKey(queue, store.ChatKey(alice.TelegramID), 10)
			count(what+" of hers", len(hers), err)
			his, err := tx.JobsOfKey(queue, store.ChatKey(bob.TelegramID), 10)
			count(what+" of his", len(his), err)
		}
		e, err := tx.PendingEvents(10)
		count("events", len(e), err)
		k, err := tx.AllKeys()
		count("keys", len(k), err)
		for what, who := range map[string]wallet.UserID{"hers": alice.ID, "his": bob.ID} {
			k, err := tx.KeysOf(who)
			count("keys of "+what, len(k), err)
			apps, err := tx.AppsOf(who)
			count("apps of "+what, len(apps), err)
			grants, err := tx.GrantsOf(who)
			count("grants of "+what, len(grants), err)
			dev, err := tx.Developer(who)
			count("verified of "+what, len(dev.Email), err)
			portfolio, err := tx.Portfolio(who)
			count("values of "+what, len(portfolio.Points), err)
		}
		talk, err := tx.Conversation(alice.TelegramID, alice.TelegramID, "")
		count("version of hers", int(talk.Version), err)
		talk, err = tx.Conversation(alice.TelegramID, alice.TelegramID, "keys")
		count("version of hers in a slot", int(talk.Version), err)
		same(t, "what is left", counts, map[string]int{"unsettled": 1, "unsettled of hers": 0, "unsettled with her as owner": 0,
			"transactions of hers": 0, "wallets of hers": 0, "conversations": 3, "updates of hers": 0, "replies of hers": 0, "updates of his": 1, "replies of his": 1,
			"contacts of hers": 0, "recipients of hers": 0, "contacts of his": 1, "recipients of his": 1,
			"events": 1, "keys": 1, "version of hers": 0, "version of hers in a slot": 0, "keys of hers": 0, "keys of his": 1, "apps of hers": 0, "apps of his": 1,
			"grants of hers": 0, "grants of his": 1, "verified of hers": 0, "values of hers": 0, "values of his": 1, "verified of his": len("dev@example.com")})
		return nil
	})
	// What has an index of its own must not trip over the holes.
	update(t, s, func(tx store.Tx) error { _, err := tx.Sweep(noon().Add(1000*time.Hour), 1000); return err })
	update(t, s, func(tx store.Tx) error { return rows(tx, user("usr_again", 1001), 3) })
}

func testWallets(t *testing.T, open Open) {
	s := fresh(t, open)
	older := wallet.Wallet{Address: wallet.Address{9}, Owner: "usr_a", Type: wallet.PageWallet, ConnectedAt: noon()}
	newer := wallet.Wallet{Address: wallet.Address{1}, Owner: "usr_a", Type: wallet.ExternalWallet, ConnectedAt: noon().Add(time.Second)}
	other := wallet.Wallet{Address: wallet.Address{5}, Owner: "usr_ab", Type: wallet.PageWallet, ConnectedAt: noon()}
	absent(t, s, "an unknown address", func(tx store.Tx) error { _, err := tx.Wallet(older.Address); return err })
	update(t, s, func(tx store.Tx) error { return tx.PutWallet(newer) })
	update(t, s, func(tx store.Tx) error { return tx.PutWallet(older) })
	update(t, s, func(tx store.Tx) error { return tx.PutWallet(other) })
	same(t, "by address", get(t, s, func(tx store.Tx) (wallet.Wallet, error) { return tx.Wallet(older.Address) }), older)
	list := func(of wallet.UserID) []wallet.Wallet {
		return get(t, s, func(tx store.Tx) ([]wallet.Wallet, error) { return tx.WalletsOf(of) })
	}
	same(t, "oldest first", list("usr_a"), []wallet.Wallet{older, newer})

	thief := older
	thief.Owner = "usr_ab"
	refuses(t, s, store.ErrConflict, func(tx store.Tx) error { return tx.PutWallet(thief) })
	older.ConnectedAt = noon().Add(time.Hour)
	update(t, s, func(tx store.Tx) error { return tx.PutWallet(older) })
	same(t, "connected anew", list("usr_a"), []wallet.Wallet{newer, older})
	same(t, "another's", list("usr_ab"), []wallet.Wallet{other})
	same(t, "nobody's", len(list("usr_")), 0)

	update(t, s, func(tx store.Tx) error { return tx.DeleteWallet(newer.Address) })
	same(t, "one less", list("usr_a"), []wallet.Wallet{older})
	absent(t, s, "a deleted wallet", func(tx store.Tx) error { _, err := tx.Wallet(newer.Address); return err })
	refuses(t, s, store.ErrNotFound, func(tx store.Tx) error { return tx.DeleteWallet(newer.Address) })
	newer.Owner = "usr_ab" // it may be anybody's again
	update(t, s, func(tx store.Tx) error { return tx.PutWallet(newer) })
	same(t, "another's then", list("usr_ab"), []wallet.Wallet{other, newer})
	key := wallet.Wallet{Address: wallet.Address{7}, Type: wallet.DeveloperWallet, KeyLineage: "key_1", ConnectedAt: noon()}
	update(t, s, func(tx store.Tx) error { return tx.PutWallet(key) })
	same(t, "an operator key's own", get(t, s, func(tx store.Tx) (wallet.Wallet, error) { return tx.Wallet(key.Address) }), key)
}

func testBinds(t *testing.T, open Open) {
	s := fresh(t, open)
	first := wallet.Bind{TokenHash: [32]byte{1}, User: "usr_a", Chat: 4, Nonce: "n1", IssuedAt: noon(),
		ExpiresAt: noon().Add(time.Minute), Status: wallet.BindOpen}
	second := first
	second.TokenHash, second.Nonce = [32]byte{2}, "n2"
	absent(t, s, "an unknown link", func(tx store.Tx) error { _, err := tx.Bind([32]byte{1}); return err })
	absent(t, s, "no link yet", func(tx store.Tx) error { _, err := tx.BindOf("usr_a"); return err })
	newest := func() wallet.Bind {
		return get(t, s, func(tx store.Tx) (wallet.Bind, error) { return tx.BindOf("usr_a") })
	}
	update(t, s, func(tx store.Tx) error { return tx.PutBind(first) })
	same(t, "the only one", newest(), first)
	update(t, s, func(tx store.Tx) error { return tx.PutBind(second) })
	same(t, "the newer one", newest(), second)
	first.Status, first.Address = wallet.BindProven, wallet.Address{7}
	first.Choices = []wallet.Address{{7}, {8}}
	update(t, s, func(tx store.Tx) error { return tx.PutBind(first) })
	same(t, "by token", get(t, s, func(tx store.Tx) (wallet.Bind, error) { return tx.Bind([32]byte{1}) }), first)
	same(t, "the one put last", newest(), first)
	absent(t, s, "another's newest", func(tx store.Tx) error { _, err := tx.BindOf("usr_"); return err })
}

func testKeys(t *testing.T, open Open) {
	s := fresh(t, open)
	one := wallet.Key{ID: "key_z", Kind: wallet.APIKey, Tier: wallet.FreeTier, Scopes: wallet.Scopes(), Owner: "usr_a",
		Hint: "abcd", CreatedAt: noon()}
	two := wallet.Key{ID: "key_a", Kind: wallet.BotKey, Tier: wallet.ProTier, CreatedAt: noon().Add(time.Second)}
	absent(t, s, "an unknown id", func(tx store.Tx) error { _, err := tx.Key("key_z"); return err })
	absent(t, s, "an unknown secret", func(tx store.Tx) error { _, err := tx.KeyBySecret("s1"); return err })
	refuses(t, s, store.ErrNotFound, func(tx store.Tx) error { return tx.PutKey(one) })
	update(t, s, func(tx store.Tx) error { return tx.CreateKey(two, "s2") })
	update(t, s, func(tx store.Tx) error { return tx.CreateKey(one, "s1") })
	same(t, "by secret", get(t, s, func(tx store.Tx) (wallet.Key, error) { return tx.KeyBySecret("s1") }), one)
	refuses(t, s, store.ErrConflict, func(tx store.Tx) error { return tx.CreateKey(one, "s3") })
	refuses(t, s, store.ErrConflict, func(tx store.Tx) error {
		return tx.CreateKey(wallet.Key{ID: "key_new"}, "s2")
	})
	one.RevokedAt = noon()
	update(t, s, func(tx store.Tx) error { return tx.PutKey(one) })
	before := s.AccessVersion()
	update(t, s, func(tx store.Tx) error { return tx.PutUser(user("usr_a", 7)) })
	same(t, "the version after what touched no key", s.AccessVersion(), before)
	update(t, s, func(tx store.Tx) error { return tx.PutKey(one) })
	if s.AccessVersion() <= before {
		t.Error("the version did not rise with a key")
	}
	stolen := one
	stolen.Owner = "usr_b"
	refuses(t, s, store.ErrConflict, func(tx store.Tx) error { return tx.PutKey(stolen) })
	same(t, "an owner's", get(t, s, func(tx store.Tx) ([]wallet.Key, error) { return tx.KeysOf("usr_a") }), []wallet.Key{one})
	same(t, "the operator's", get(t, s, func(tx store.Tx) ([]wallet.Key, error) { return tx.KeysOf("") }), []wallet.Key{two})
	same(t, "a stranger's", len(get(t, s, func(tx store.Tx) ([]wallet.Key, error) { return tx.KeysOf("usr_") })), 0)
	same(t, "revoked", get(t, s, func(tx store.Tx) (wallet.Key, error) { return tx.KeyBySecret("s1") }), one)
	same(t, "all, oldest first", get(t, s, func(tx store.Tx) ([]wallet.Key, error) { return tx.AllKeys() }), []wallet.Key{one, two})
}
