package webhooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
	"purser/webhooks"
)

// TestWhoseEvents walks docs/webhooks.md, Whose events, at the making of a delivery.
func TestWhoseEvents(t *testing.T) {
	inBubble(t, func(r *harness) {
		alice, bob, carol := r.person(), r.person(), r.person()
		own := r.hook(r.key(alice, wallet.APIKey), "*")
		dev := r.key(bob, wallet.APIKey)
		devs := r.hook(dev, "*")
		r.grant(alice, dev, wallet.WalletRead)
		operators := r.hook(r.key("", wallet.APIKey), "*")
		free := r.hook(r.key(alice, wallet.APIKey, func(k *wallet.Key) { k.Tier = wallet.FreeTier }), "*")
		scopeless := r.hook(r.key(alice, wallet.APIKey, func(k *wallet.Key) { k.Scopes = nil }), "*")
		revoked := r.hook(r.key(alice, wallet.APIKey, func(k *wallet.Key) { k.RevokedAt = time.Now() }), "*")
		expired := r.hook(r.key(alice, wallet.APIKey, func(k *wallet.Key) { k.ExpiresAt = time.Now() }), "*")
		uninterested := r.hook(r.key(alice, wallet.APIKey), "stake.*", "price.alert")
		blind := r.hook(r.key(alice, wallet.APIKey, func(k *wallet.Key) { k.Scopes = []wallet.Scope{wallet.Webhooks} }), "*")
		weak := r.key(bob, wallet.APIKey)
		weaks := r.hook(weak, "*")
		r.grant(alice, weak, wallet.WalletSend)
		bots := r.hook(r.key(alice, wallet.BotKey), "*")
		appless := r.hook(r.key(bob, wallet.APIKey, func(k *wallet.Key) { k.App = "" }), "*")
		r.run()

		// paid: transaction.confirmed, change: price.significant_change, met: user.registered
		paid := r.paid(alice, 1)
		others := r.paid(carol, 2)
		change := r.event("", wallet.PriceSignificantChange, wallet.PriceSignificantChangeData{Token: "SOL", Timeframe: "1h"})
		met := r.event(alice, wallet.UserRegistered, wallet.UserRegisteredData{ChatID: "1"})
		r.emit(paid, others, change, met)
		got := map[string][]string{}
		for _, s := range r.took() {
			got[s.url] = append(got[s.url], s.eventID)
		}
		for _, c := range []struct {
			name string
			hook wallet.Webhook
			want []string
		}{
			{"the owner's", own, []string{paid.ID, change.ID}},
			{"an app's that she allows it", devs, []string{paid.ID, change.ID}},
			{"an operator's", operators, []string{paid.ID, others.ID, change.ID}},
			{"of the free tier", free, nil},
			{"without the scope", scopeless, nil},
			{"of a key that may not read wallets", blind, []string{change.ID}},
			{"of a revoked key", revoked, nil},
			{"of an expired key", expired, nil},
			{"for other events", uninterested, nil},
			{"an app's that she allows something else", weaks, []string{change.ID}},
			{"the owner's bot token's", bots, []string{met.ID}},
			{"of a key without an app", appless, []string{change.ID}},
		} {
			have := got[c.hook.URL]
			slices.Sort(have)
			slices.Sort(c.want)
			if !slices.Equal(have, c.want) {
				t.Errorf("%s: %v, want %v", c.name, have, c.want)
			}
		}
	})
}

// TestWhatIsTakenBackStopsDeliveries: consent, key, tier and activity are asked for again before each attempt.
func TestWhatIsTakenBackStopsDeliveries(t *testing.T) {
	for name, c := range map[string]struct {
		change func(r *harness, tx store.Tx, alice wallet.UserID, k wallet.Key, w wallet.Webhook) error
		want   store.DeliveryState
	}{
		"the grant": {func(_ *harness, tx store.Tx, alice wallet.UserID, k wallet.Key, _ wallet.Webhook) error {
			return tx.DeleteGrant(alice, k.App)
		}, store.DeliveryRevoked},
		"the key": {func(_ *harness, tx store.Tx, _ wallet.UserID, k wallet.Key, _ wallet.Webhook) error {
			k.RevokedAt = time.Now()
			return tx.PutKey(k)
		}, store.DeliveryRevoked},
		"the tier": {func(_ *harness, tx store.Tx, _ wallet.UserID, k wallet.Key, _ wallet.Webhook) error {
			k.Tier = wallet.FreeTier
			return tx.PutKey(k)
		}, store.DeliveryRevoked},
		"the webhook is turned off": {func(_ *harness, tx store.Tx, _ wallet.UserID, _ wallet.Key, w wallet.Webhook) error {
			w.Active = false
			return tx.PutWebhook(w)
		}, store.DeliveryDeadLettered},
		"the webhook is removed": {func(_ *harness, tx store.Tx, _ wallet.UserID, _ wallet.Key, w wallet.Webhook) error {
			return tx.DeleteWebhook(w.ID)
		}, ""},
		"the person is erased": {func(_ *harness, tx store.Tx, alice wallet.UserID, _ wallet.Key, _ wallet.Webhook) error {
			return tx.EraseUser(alice)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *harness) {
				alice := r.person()
				k := r.key(r.person(), wallet.APIKey)
				hook := r.hook(k, "*")
				r.grant(alice, k, wallet.WalletRead)
				r.answer(hook, fails(500))
				r.run()
				r.emit(r.paid(alice, 1))
				if got := r.took(); len(got) != 1 {
					t.Fatalf("before: %v", got)
				}
				r.update(func(tx store.Tx) error { return c.change(r, tx, alice, k, hook) })
				r.emit(r.paid(alice, 1))
				time.Sleep(2 * time.Minute)
				if got := r.took(); len(got) != 0 {
					t.Errorf("afterwards %d attempts", len(got))
				}
				if states := r.states(hook); c.want != "" && states[c.want] != 1 {
					t.Errorf("states %v", states)
				}
				for _, e := range r.logged(hook) {
					one, err := r.log.Logged(context.Background(), hook.ID, e.ID)
					if err == nil && one.State == store.DeliveryRevoked && len(one.Body) > 0 {
						t.Errorf("what was withdrawn can be read")
					}
				}
			})
		})
	}
}

// TestAKeyThatCannotBeReadBarsItsLine: the one before it, which it may have ended, opens nothing for it.
func TestAKeyThatCannotBeReadBarsItsLine(t *testing.T) {
	for _, damaged := range []bool{false, true} {
		inBubble(t, func(r *harness) {
			alice := r.person()
			newer := r.key(alice, wallet.APIKey)
			older := r.key(alice, wallet.APIKey, func(k *wallet.Key) { k.Next = newer.ID })
			r.hook(older, "*")
			if damaged {
				r.close()
				r.damage("keys", newer.ID)
				r.open()
			}
			r.run()
			e := r.paid(alice, 1)
			r.emit(e)
			if damaged {
				r.comes()
			} else {
				r.comes(e.ID)
			}
		})
	}
}

// TestOperatorsHearNoMoreOfWhoWasErased, though a delivery about them waits in memory for its next attempt.
func TestOperatorsHearNoMoreOfWhoWasErased(t *testing.T) {
	inBubble(t, func(r *harness) {
		alice, bob := r.person(), r.person()
		hook := r.hook(r.key("", wallet.APIKey), "*")
		r.answer(hook, func(webhooks.Message) webhooks.Result { return webhooks.Result{Status: 500} })
		r.run()
		hers, his := r.paid(alice, 1), r.paid(bob, 2)
		r.emit(hers, his)
		r.comes(hers.ID, his.ID)
		r.update(func(tx store.Tx) error { return tx.EraseUser(alice) })
		time.Sleep(2 * time.Second)
		r.comes(his.ID)
	})
}

// TestAnAppIsToldWhatItWishes (docs/specification.md, Messages and commands): events about a person reach an app's
// webhooks as its wish about that person says, and those about others as before.
func TestAnAppIsToldWhatItWishes(t *testing.T) {
	inBubble(t, func(r *harness) {
		person, other := r.person(), r.person()
		dev := r.key(r.person(), wallet.APIKey)
		bot := r.key(dev.Owner, wallet.BotKey, func(k *wallet.Key) { k.App = dev.App })
		own, operator := r.key(person, wallet.APIKey), r.key("", wallet.APIKey)
		hooks := map[string]wallet.Webhook{"app": r.hook(dev, "*"), "bot": r.hook(bot, "*"), "own": r.hook(own, "*"), "operator": r.hook(operator, "*")}
		r.grant(person, dev, wallet.Scopes()...)
		r.grant(other, dev, wallet.Scopes()...)
		wish := func(k wallet.Key, who wallet.UserID, w *wallet.Notifications) {
			r.update(func(tx store.Tx) error {
				g, err := tx.Grant(who, k.AppOrLineage())
				if errors.Is(err, store.ErrNotFound) {
					g, err = wallet.Grant{User: who, App: k.AppOrLineage()}, nil
				}
				g.Events = w
				return errors.Join(err, tx.PutGrant(g))
			})
		}
		names := []wallet.EventName{wallet.TransactionReceived, wallet.TransactionConfirmed, wallet.StakeReward, wallet.MessageReceived, wallet.WalletConnected}
		happens := func(who wallet.UserID) {
			for _, name := range names {
				r.emit(r.event(who, name, wallet.TransactionReceivedData{}))
			}
			r.quiet()
		}
		r.run()
		got := func(what string) string {
			byHook := map[string][]string{}
			for _, s := range r.took() {
				var body struct{ Event string }
				if err := json.Unmarshal([]byte(s.body), &body); err != nil {
					t.Fatal(err)
				}
				for name, hook := range hooks {
					if hook.URL == s.url {
						byHook[name] = append(byHook[name], body.Event)
					}
				}
			}
			for _, list := range byHook {
				slices.Sort(list)
			}
			return fmt.Sprintf("%v", byHook)
		}
		const all = "stake.reward transaction.confirmed transaction.received wallet.connected"
		expect := func(what string, want map[string][]string) {
			if got, want := got(what), fmt.Sprintf("%v", want); got != want {
				t.Errorf("%s:\n%s, want\n%s", what, got, want)
			}
		}
		everything := strings.Fields(all)
		happens(person)
		expect("without a wish", map[string][]string{"app": everything, "bot": {"message.received", "wallet.connected"}, "own": everything, "operator": everything})

		wish(dev, person, &wallet.Notifications{Enabled: true, Events: []string{"transaction.received", "stake.*"}})
		happens(person)
		expect("with a wish of the app", map[string][]string{"app": {"stake.reward", "transaction.received"}, "bot": {"message.received"}, "own": everything, "operator": everything})
		happens(other)
		expect("about another", map[string][]string{"app": everything, "bot": {"message.received", "wallet.connected"}, "operator": everything})

		wish(dev, person, &wallet.Notifications{Enabled: false, Events: []string{"*"}})
		wish(own, person, &wallet.Notifications{Enabled: true, Events: []string{"wallet.connected"}})
		wish(operator, person, &wallet.Notifications{Enabled: true, Events: []string{"transaction.confirmed"}})
		happens(person)
		expect("wishes of all", map[string][]string{"bot": {"message.received"}, "own": {"wallet.connected"}, "operator": {"transaction.confirmed"}})

		wish(own, person, nil)
		wish(operator, person, nil)
		r.grant(person, dev, wallet.Scopes()...) // again
		happens(person)
		expect("with a new grant", map[string][]string{"app": everything, "bot": {"message.received", "wallet.connected"}, "own": everything, "operator": everything})

		// What waits when the wish is made is not sent any more; what was sent can still be looked at.
		r.answer(hooks["app"], func(webhooks.Message) webhooks.Result { return webhooks.Result{Status: 503} })
		r.emit(r.event(person, wallet.TransactionReceived, wallet.TransactionReceivedData{}))
		synctest.Wait()
		wish(dev, person, &wallet.Notifications{Enabled: false})
		time.Sleep(2 * time.Second) // of the bubble's clock: the second attempt is after 1 s
		if states := r.states(hooks["app"]); states[store.DeliveryRevoked] != 1 {
			t.Errorf("what waited is %v", states)
		}
		r.update(func(tx store.Tx) error {
			may, err := r.service.May(tx, hooks["app"], wallet.TransactionReceived, person)
			if !may {
				t.Error("the app may not look at what it was sent")
			}
			return err
		})
	})
}

// TestWhatIsForOneAppReachesNoOther, whatever the others may read: it reaches that app, and operators.
func TestWhatIsForOneAppReachesNoOther(t *testing.T) {
	inBubble(t, func(r *harness) {
		person := r.person()
		shop, other, own, operator := r.key(r.person(), wallet.BotKey), r.key(r.person(), wallet.BotKey), r.key(person, wallet.BotKey), r.key("", wallet.BotKey)
		hooks := map[string]wallet.Webhook{"shop": r.hook(shop, "*"), "other": r.hook(other, "*"), "own": r.hook(own, "*"), "operator": r.hook(operator, "*")}
		r.grant(person, shop, wallet.BotMessages)
		r.grant(person, other, wallet.BotMessages)
		r.run()
		for _, c := range []struct {
			to   wallet.AppID
			want []string
		}{
			{"", []string{"operator", "other", "own", "shop"}}, {shop.App, []string{"operator", "shop"}},
			{own.App, []string{"operator", "own"}}, {wallet.ToOperators, []string{"operator"}},
		} {
			e := r.event(person, wallet.MessageReceived, wallet.MessageReceivedData{Message: "hello"})
			e.To = c.to
			r.emit(e)
			var got []string
			for _, s := range r.took() {
				if strings.Contains(s.body, "app_") {
					t.Errorf("a receiver is told of it: %s", s.body)
				}
				for name, hook := range hooks {
					if hook.URL == s.url {
						got = append(got, name)
					}
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("for %q: %v, want %v", c.to, got, c.want)
			}
		}
	})
}

// TestATierStopsDeliveries: what waits when a key loses the tier pro is kept for a resend, what happens then is not
// queued, and back on pro deliveries go on.
func TestATierStopsDeliveries(t *testing.T) {
	inBubble(t, func(r *harness) {
		person := r.person()
		key := r.key(person, wallet.APIKey)
		hook := r.hook(key, "*")
		keys := &handlers.Keys{Store: r.store, Now: time.Now, NewID: r.id}
		set := func(tier wallet.Tier) {
			t.Helper()
			if _, err := keys.SetTier(context.Background(), key.ID, tier); err != nil {
				t.Fatal(err)
			}
		}
		r.run()
		r.answer(hook, func(webhooks.Message) webhooks.Result { return webhooks.Result{Status: 503} })
		r.emit(r.paid(person, 1))
		if got := len(r.took()); got != 1 {
			t.Fatalf("%d attempts", got)
		}
		set(wallet.FreeTier)
		r.answer(hook, func(webhooks.Message) webhooks.Result { return webhooks.Result{Status: 200} })
		r.emit(r.paid(person, 2))
		time.Sleep(time.Minute)
		if got := r.took(); len(got) != 0 {
			t.Errorf("on the free tier it was sent %d", len(got))
		}
		if states := r.states(hook); states[store.DeliveryDeadLettered] != 1 || len(states) != 1 {
			t.Errorf("the deliveries are %v", states)
		}
		set(wallet.ProTier)
		r.emit(r.paid(person, 3))
		if got := r.took(); len(got) != 1 {
			t.Errorf("on pro again it was sent %d", len(got))
		}
		if states := r.states(hook); states[store.DeliveryDeadLettered] != 1 || states[store.DeliveryDelivered] != 1 {
			t.Errorf("the deliveries are %v", states)
		}
	})
}
