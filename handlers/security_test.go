package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"purser/e2e/world"
	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// logOf is somebody's log as words: kind and what it is about. Its chain must be whole.
func (r *harness) logOf(user wallet.UserID) (out []string) {
	r.Helper()
	view, err := r.Security.Log(r.Context(), user)
	r.Must(err)
	if len(view.Faults) > 0 {
		r.Errorf("the log has %v", view.Faults)
	}
	for _, row := range view.Rows {
		d := row.Entry.Details
		words := []string{string(row.Entry.Kind)}
		for _, word := range []string{d.KeyHint, d.AppName, d.Link, d.Client, d.Device, d.Value} {
			if word != "" {
				words = append(words, word)
			}
		}
		for _, scope := range d.Scopes {
			words = append(words, string(scope))
		}
		if !d.Wallet.IsZero() {
			words = append(words, "…"+d.Wallet.Tail())
		}
		if d.By != "" {
			words = append(words, "by "+d.By)
		}
		for word, is := range map[string]bool{"first": d.First, "last": d.Last} {
			if is {
				words = append(words, word)
			}
		}
		if !row.Entry.At.Equal(r.Now()) && row.Entry.At.After(r.Now()) {
			r.Errorf("%s is of the future", words)
		}
		out = append(out, strings.Join(words, " "))
	}
	return out
}

// noticed is how many messages about firsts wait for somebody.
func (r *harness) noticed(user wallet.UserID) (n int) {
	r.Helper()
	r.View(func(tx store.Tx) error {
		n = 0
		events, err := tx.PendingEvents(10_000)
		for _, e := range events {
			if e.Name == wallet.SecurityNoticed && e.User == user {
				n++
			}
		}
		return err
	})
	return n
}

func (r *harness) logs(what string, user wallet.UserID, from int, want ...string) int {
	r.Helper()
	all := r.logOf(user)
	if got := all[min(from, len(all)):]; !slices.Equal(got, want) {
		r.Errorf("%s logs\n%q, want\n%q", what, got, want)
	}
	return len(all)
}

// TestWhatMattersToSafetyIsLogged: each operation, in the transaction of its fact, once, and nothing for what changes nothing.
func TestWhatMattersToSafetyIsLogged(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.meet(1001), r.meet(1002)
	n := 0
	update := func(change func(tx store.Tx) error) { t.Helper(); r.Must(r.Update(change)) }

	// Wallets.
	bind := func(user wallet.User) wallet.Address {
		t.Helper()
		key := r.NewKey()
		r.Must(r.Prove(r.Link(user), key))
		b := r.bindOf(user.ID)
		update(func(tx store.Tx) error { _, err := r.Wallets.Choose(tx, user.ID, b.Nonce, b.Address); return err })
		return b.Address
	}
	one := bind(alice)
	n = r.logs("the first wallet", alice.ID, n, "wallet.connected …"+one.Tail(), "wallet.default …"+one.Tail())
	two := bind(alice)
	n = r.logs("another wallet", alice.ID, n, "wallet.connected …"+two.Tail())
	use := func(a wallet.Address) {
		t.Helper()
		update(func(tx store.Tx) error { _, err := r.Wallets.Use(tx, alice.ID, a.String()); return err })
	}
	use(two)
	n = r.logs("another default", alice.ID, n, "wallet.default …"+two.Tail())
	use(two)
	n = r.logs("the same default", alice.ID, n)
	update(func(tx store.Tx) error { _, _, err := r.Wallets.Disconnect(tx, alice.ID, two.String()); return err })
	n = r.logs("a default that is disconnected", alice.ID, n, "wallet.disconnected …"+two.Tail(), "wallet.default …"+one.Tail())
	refusal := errors.New("rolled back")
	if err := r.Update(func(tx store.Tx) error {
		_, _, err := r.Wallets.Disconnect(tx, alice.ID, one.String())
		return errors.Join(err, refusal)
	}); !errors.Is(err, refusal) {
		t.Fatal(err)
	}
	n = r.logs("what was rolled back", alice.ID, n)

	// A wallet that another person proves.
	claim := func() {
		t.Helper()
		held := wallet.Wallet{Address: one, Owner: alice.ID, Type: wallet.PageWallet, ConnectedAt: r.Now(), Claim: &wallet.Claim{User: bob.ID, Type: wallet.PageWallet, At: r.Now()}}
		update(func(tx store.Tx) error { return tx.PutWallet(held) })
	}
	update(func(tx store.Tx) error { _, _, err := r.Wallets.Disconnect(tx, alice.ID, one.String()); return err })
	n = r.logs("the last wallet", alice.ID, n, "wallet.disconnected …"+one.Tail(), "wallet.default")
	hers := r.NewKey()
	proves := func(user wallet.User) {
		t.Helper()
		r.Must(r.Prove(r.Link(user), hers))
		_, err := r.choose(user.ID, world.AddressOf(hers))
		r.Must(err)
	}
	proves(alice)
	one = world.AddressOf(hers)
	n = r.logs("her own", alice.ID, n, "wallet.connected …"+one.Tail(), "wallet.default …"+one.Tail())
	proves(bob)
	n = r.logs("another's proof", alice.ID, n, "wallet.claimed …"+one.Tail())
	update(func(tx store.Tx) error { return r.Wallets.StopClaim(tx, alice.ID, one) })
	n = r.logs("a claim that is stopped", alice.ID, n, "wallet.kept …"+one.Tail())
	claim()
	r.Pass(handlers.ClaimWindow)
	update(func(tx store.Tx) error { _, err := r.Wallets.TakeOver(tx, bob.ID, one); return err })
	n = r.logs("a wallet that moves", alice.ID, n, "wallet.moved …"+one.Tail(), "wallet.default")
	r.logs("its new owner", bob.ID, 0, "wallet.connected …"+one.Tail(), "wallet.default …"+one.Tail())

	// Keys.
	key, _, err := r.Keys.Create(r.Context(), handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.ProTier, OwnerTelegramID: 1001, App: "Shop", Scopes: []wallet.Scope{wallet.BotSend, wallet.Webhooks}})
	r.Must(err)
	n = r.logs("a key", alice.ID, n, "key.created "+key.Hint+" bot:send webhooks")
	next, _, err := r.Keys.Rotate(r.Context(), key.ID, false)
	r.Must(err)
	n = r.logs("its rotation", alice.ID, n, "key.rotated "+next.Hint)
	_, err = r.Keys.Revoke(r.Context(), key.ID)
	r.Must(err)
	n = r.logs("its end", alice.ID, n, "key.revoked "+key.Hint)
	_, _, err = r.Keys.Create(r.Context(), handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.ProTier})
	r.Must(err) // an operator's, which is nobody's

	program := r.NewKey()
	update(func(tx store.Tx) error {
		return tx.PutWallet(wallet.Wallet{Address: world.AddressOf(program), Owner: alice.ID, Type: wallet.DeveloperWallet, ConnectedAt: r.Now()})
	})
	update(func(tx store.Tx) error {
		_, err := r.Wallets.DisconnectOwn(tx, handlers.CallerOf(next), world.AddressOf(program))
		return err
	})
	n = r.logs("a wallet that a program disconnects", alice.ID, n, "wallet.disconnected …"+world.AddressOf(program).Tail()+" by "+next.ID)
	carol := r.verified(1005)
	wanted := accessRequest(wallet.WalletRead)
	wanted.App = "Kiosk"
	made, err := r.makes(carol.ID, wanted)
	r.Must(err)
	r.logs("a key that she makes in the chat", carol.ID, 0, "key.created "+made.Keys[0].Key.Hint+" wallet:read")

	// Access.
	allow := func(scopes ...wallet.Scope) {
		t.Helper()
		update(func(tx store.Tx) error {
			return r.Apps.Allow(tx, bob.ID, next.App, []wallet.Scope{wallet.BotSend, wallet.Webhooks}, scopes)
		})
	}
	m := 2
	allow(wallet.BotSend)
	m = r.logs("access", bob.ID, m, "access.granted Shop bot:send")
	allow(wallet.BotSend)
	m = r.logs("the same access", bob.ID, m)
	allow(wallet.BotSend, wallet.Webhooks)
	m = r.logs("more access", bob.ID, m, "access.changed Shop bot:send webhooks")
	update(func(tx store.Tx) error { return r.Apps.Withdraw(tx, bob.ID, next.App) })
	r.logs("no access", bob.ID, m, "access.revoked Shop")

	// The portal.
	session, err := r.Portal.Open(r.Context(), offered(t, r.Portal, next), portalClient())
	r.Must(err)
	n = r.logs("the portal", alice.ID, n, "portal.opened "+next.Hint+" 203.0.113.7 Chrome (Android) first")
	for range 2 {
		r.Must(r.Portal.End(r.Context(), session.Secret))
	}
	n = r.logs("its end", alice.ID, n, "portal.ended "+key.Hint)
	_, err = r.Portal.Open(r.Context(), offered(t, r.Portal, next), portalClient())
	r.Must(err)
	n = r.logs("the portal on a known device", alice.ID, n, "portal.opened "+next.Hint+" 203.0.113.7 Chrome (Android)")

	// Notifications.
	who := handlers.Caller{User: alice.ID}
	update(func(tx store.Tx) error { return r.Notifications.Turn(tx, who, false) })
	n = r.logs("messages off", alice.ID, n, "notifications.set off")
	update(func(tx store.Tx) error { return r.Notifications.Turn(tx, who, false) })
	update(func(tx store.Tx) error {
		_, err := r.Notifications.Customize(tx, who, func(s *wallet.Settings) { s.Currency = "EUR" })
		return err
	})
	n = r.logs("nothing of it", alice.ID, n)
	update(func(tx store.Tx) error {
		_, err := r.Notifications.Set(tx, handlers.CallerOf(next), true, []string{string(wallet.CategoryReceived)})
		return err
	})
	r.logs("messages by a key", alice.ID, n, "notifications.set transaction.received by "+next.ID)
	if got := r.noticed(alice.ID) + r.noticed(bob.ID); got != 1 { // of the portal on a new device
		t.Errorf("%d messages about firsts", got)
	}

	// Whoever is erased leaves nothing.
	update(func(tx store.Tx) error { return tx.EraseUser(alice.ID) })
	r.logs("an erased person", alice.ID, 0)
}

// counted is a store that counts its Updates.
type counted struct {
	store.Store
	mu      sync.Mutex
	updates int
}

func (c *counted) Update(ctx context.Context, change func(store.Tx) error) error {
	c.mu.Lock()
	c.updates++
	c.mu.Unlock()
	return c.Store.Update(ctx, change)
}

// TestAKeyIsLoggedOncePerAddress, on every node and after a restart, and by its rotations; no further use costs a write.
func TestAKeyIsLoggedOncePerAddress(t *testing.T) {
	r := newHarness(t)
	alice := r.meet(1001)
	key, _, err := r.Keys.Create(r.Context(), handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.FreeTier, OwnerTelegramID: 1001})
	r.Must(err)
	other, _, err := r.Keys.Create(r.Context(), handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.FreeTier, OwnerTelegramID: 1001})
	r.Must(err)
	writes := &counted{Store: r.Store}
	node := func() *handlers.Security { return &handlers.Security{Store: writes, Now: r.Now} }
	here := node()
	r.Must(here.UsedKey(r.Context(), key, "203.0.113.7"))
	if writes.updates != 1 {
		t.Fatalf("%d writes", writes.updates)
	}
	next, _, err := r.Keys.Rotate(r.Context(), key.ID, false)
	r.Must(err)
	for _, s := range []*handlers.Security{here, here, node()} {
		r.Must(s.UsedKey(r.Context(), key, "203.0.113.7"))
		r.Must(s.UsedKey(r.Context(), next, "203.0.113.7"))
	}
	if writes.updates != 1 {
		t.Errorf("what was seen before costs %d writes", writes.updates-1)
	}
	r.Must(here.UsedKey(r.Context(), other, "203.0.113.7"))
	r.Must(here.UsedKey(r.Context(), key, "203.0.113.8"))
	r.Must(here.UsedKey(r.Context(), wallet.Key{ID: "key_operator"}, "203.0.113.7"))
	r.logs("keys", alice.ID, 2, "key.used "+key.Hint+" 203.0.113.7", "key.rotated "+next.Hint, "key.used "+other.Hint+" 203.0.113.7", "key.used "+key.Hint+" 203.0.113.8")
	// At once on two nodes.
	var all sync.WaitGroup
	for range 8 {
		s := node()
		all.Go(func() {
			if err := s.UsedKey(context.Background(), key, "203.0.113.9"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	r.logs("at once", alice.ID, 6, "key.used "+key.Hint+" 203.0.113.9")
	if got := r.noticed(alice.ID); got != 4 {
		t.Errorf("%d messages", got)
	}
	// Of somebody who is erased meanwhile.
	r.Must(r.Update(func(tx store.Tx) error { return tx.EraseUser(alice.ID) }))
	r.Must(node().UsedKey(r.Context(), key, "203.0.113.10"))
}

// TestEverNewAddressesFloodNothing: neither the log, nor the person's chat, nor the disk. The owner's own address, and the next day, are heard of.
func TestEverNewAddressesFloodNothing(t *testing.T) {
	r := newHarness(t)
	alice := r.meet(1001)
	key, _, err := r.Keys.Create(r.Context(), handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.FreeTier, OwnerTelegramID: 1001})
	r.Must(err)
	writes := &counted{Store: r.Store}
	s := &handlers.Security{Store: writes, Now: r.Now}
	for i := range 3000 {
		r.Must(s.UsedKey(r.Context(), key, fmt.Sprintf("203.0.%d.%d", i/256, i%256)))
	}
	most := wallet.SeenAddresses.PerDay
	all := r.logOf(alice.ID)
	if len(all) != 1+most || writes.updates != most || r.noticed(alice.ID) != most || !strings.HasSuffix(all[most], " last") || strings.HasSuffix(all[most-1], " last") {
		t.Errorf("%d writes, %d messages, log %q", writes.updates, r.noticed(alice.ID), all)
	}
	r.Pass(24 * time.Hour)
	r.Must(s.UsedKey(r.Context(), key, "198.51.100.1"))
	r.logs("the next day", alice.ID, 1+most, "key.used "+key.Hint+" 198.51.100.1")
}

// TestNoKindOfEntriesPushesOutTheOthers: of one kind a day has so many, whatever causes them.
func TestNoKindOfEntriesPushesOutTheOthers(t *testing.T) {
	r := newHarness(t)
	alice := r.meet(1001)
	who := handlers.Caller{User: alice.ID}
	for i := range 100 {
		r.Must(r.Update(func(tx store.Tx) error { return r.Notifications.Turn(tx, who, i%2 == 1) }))
	}
	all := r.logOf(alice.ID)
	if len(all) != wallet.SecurityDaily.PerDay || !strings.HasSuffix(all[len(all)-1], " last") {
		t.Errorf("%d entries, %q", len(all), all[len(all)-1])
	}
	r.Pass(24 * time.Hour)
	r.Must(r.Update(func(tx store.Tx) error { return r.Notifications.Turn(tx, who, false) }))
	if got := len(r.logOf(alice.ID)); got != wallet.SecurityDaily.PerDay+1 {
		t.Errorf("the next day: %d", got)
	}
}

// TestLinksThatSetLimitsAndUnfreezeAreLogged: like the others, once for each device, while they are open. A recovery link is none of them.
func TestLinksThatSetLimitsAndUnfreezeAreLogged(t *testing.T) {
	r := newHarness(t)
	alice := r.rich(1001, sol)
	id := alice.User.ID
	phone, laptop := handlers.Client{Address: "203.0.113.7", Device: "Chrome (Android)"}, handlers.Client{Address: "203.0.113.7", Device: "Firefox (Linux)"}
	open := func(link, secret string, from handlers.Client) {
		t.Helper()
		r.Must(r.Security.OpenedLink(r.Context(), link, secret, from))
	}
	var limits, recovery string
	r.Must(r.Update(func(tx store.Tx) error {
		if _, err := r.Policies.Change(tx, id, alice.Address(), wallet.Policy{NewRecipientWait: time.Hour}); err != nil {
			return err
		}
		change, err := r.Policies.Change(tx, id, alice.Address(), wallet.Policy{})
		limits = change.Token
		return err
	}))
	r.Must(r.Update(func(tx store.Tx) (err error) { recovery, err = r.Freezing.NewLink(tx, id); return err }))
	n := len(r.logOf(id))
	for range 2 {
		open(wallet.LinkToSetLimits, limits, phone)
	}
	n = r.logs("a link to set limits", id, n, "link.opened limits 203.0.113.7 Chrome (Android) first")
	for _, link := range []string{wallet.LinkToSetLimits, wallet.LinkToUnfreeze} {
		for _, secret := range []string{"", "guess", recovery} {
			open(link, secret, laptop)
		}
	}
	open(wallet.LinkToUnfreeze, limits, laptop)
	r.logs("links of other kinds", id, n)
	r.freeze(id)
	n = len(r.logOf(id))
	open(wallet.LinkToSetLimits, limits, laptop)
	n = r.logs("a link that the freeze ended", id, n)
	unfreeze, _ := r.unfreezeLink(id)
	open(wallet.LinkToSetLimits, unfreeze, laptop)
	n = r.logs("a link to unfreeze is none to set limits", id, n)
	for range 2 {
		open(wallet.LinkToUnfreeze, unfreeze, laptop)
	}
	n = r.logs("a link to unfreeze", id, n, "link.opened unfreeze 203.0.113.7 Firefox (Linux) first")
	open(wallet.LinkToUnfreeze, unfreeze, phone)
	n = r.logs("on a known device", id, n, "link.opened unfreeze 203.0.113.7 Chrome (Android)")
	if got := r.noticed(id); got != 2 {
		t.Errorf("%d messages", got)
	}
	r.Pass(wallet.UnfreezeWindow)
	open(wallet.LinkToUnfreeze, unfreeze, handlers.Client{Address: "198.51.100.1"})
	r.logs("a dead link", id, n)
}

// TestALinkIsLoggedOncePerDevice: with a message for a device that is new to the person, and nothing for a dead link.
func TestALinkIsLoggedOncePerDevice(t *testing.T) {
	r := newHarness(t)
	alice := r.meet(1001)
	writes := &counted{Store: r.Store}
	s := &handlers.Security{Store: writes, Now: r.Now}
	phone, laptop := handlers.Client{Address: "203.0.113.7", Device: "Chrome (Android)"}, handlers.Client{Address: "203.0.113.7", Device: "Firefox (Linux)"}
	open := func(link, secret string, from handlers.Client) {
		t.Helper()
		r.Must(s.OpenedLink(r.Context(), link, secret, from))
	}
	token := r.Link(alice)
	for range 3 {
		open(wallet.LinkToConnect, token, phone)
	}
	n := r.logs("a link", alice.ID, 0, "link.opened connect 203.0.113.7 Chrome (Android) first")
	if writes.updates != 1 {
		t.Errorf("it costs %d writes", writes.updates)
	}
	open(wallet.LinkToConnect, token, laptop)
	n = r.logs("another device", alice.ID, n, "link.opened connect 203.0.113.7 Firefox (Linux) first")
	newer := r.Link(alice)
	open(wallet.LinkToConnect, token, handlers.Client{Address: "198.51.100.1"})
	n = r.logs("a link that was replaced", alice.ID, n)
	open(wallet.LinkToConnect, newer, phone)
	n = r.logs("a newer link on a known device", alice.ID, n, "link.opened connect 203.0.113.7 Chrome (Android)")
	if got := r.noticed(alice.ID); got != 2 {
		t.Errorf("%d messages", got)
	}
	before := writes.updates
	for _, guess := range []string{"", "guess", newer + "x"} {
		open(wallet.LinkToConnect, guess, phone)
		open(wallet.LinkToSign, guess, phone)
	}
	r.Pass(wallet.BindWindow)
	open(wallet.LinkToConnect, newer, laptop)
	r.logs("dead links", alice.ID, n)
	if writes.updates != before {
		t.Errorf("dead links cost %d writes", writes.updates-before)
	}
	// Signing links, of many payments: not more than so many a day, but a new device all the same.
	rich := r.rich(1003, sol)
	for i := range wallet.SeenOpenings.PerDay + 5 {
		t := r.Transaction(r.Propose(rich, r.Stranger(), "0.001", "SOL").ID)
		confirmed, err := r.Confirm(rich.Caller(), t.ID)
		r.Must(err)
		open(wallet.LinkToSign, confirmed.SignID, phone)
		if i == wallet.SeenOpenings.PerDay+4 {
			open(wallet.LinkToSign, confirmed.SignID, laptop)
			open(wallet.LinkToSign, confirmed.SignID, laptop)
		}
	}
	all := r.logOf(rich.User.ID)
	if got := len(all); got != wallet.SeenOpenings.PerDay+1 || all[got-1] != "link.opened sign 203.0.113.7 Firefox (Linux) first" || r.noticed(rich.User.ID) != 2 {
		t.Errorf("%d entries, %d messages, last %q", got, r.noticed(rich.User.ID), all[got-1])
	}
}
