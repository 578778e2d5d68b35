package handlers_test

import (
	"sync"
	"testing"
	"time"

	"purser/e2e/world"
	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// probing is a harness in which Bob's app Shop may propose payments to Alice, who allows at most 1 SOL in a payment.
type probing struct {
	*harness
	alice, bob *world.Person
	shop       handlers.Caller
}

func newProbing(t *testing.T) *probing {
	r := newHarness(t)
	p := &probing{harness: r, alice: r.rich(1001, 50*sol), bob: r.rich(1002, 10*sol)}
	p.send(p.alice, p.bob.Address(), "0.1", "SOL")
	p.limits(p.alice, solPolicy(1))
	p.shop = p.app("Shop")
	return p
}

// app is a new app of Bob's, or another key of one, that Alice grants all it asks for.
func (p *probing) app(name string) handlers.Caller {
	p.Helper()
	key, _, err := p.Keys.Create(p.Context(), handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier, OwnerTelegramID: p.bob.TelegramID, App: name})
	p.Must(err)
	p.allow(key)
	return handlers.CallerOf(key)
}

// allow has Alice grant a key's app all it asks for.
func (p *probing) allow(key wallet.Key) {
	p.Helper()
	p.Must(p.Update(func(tx store.Tx) error {
		asks := wallet.Grantable(key.Kind, key.Scopes)
		return p.Apps.Allow(tx, p.alice.User.ID, key.App, asks, asks)
	}))
}

// asks is the error of proposing a payment to Alice.
func (p *probing) asks(who handlers.Caller, amount string) error {
	_, err := p.requests(who, p.alice.Address(), p.bob.Address(), amount)
	return err
}

// refused checks that an amount is refused in the general words.
func (p *probing) refused(what string, who handlers.Caller, amount string) {
	p.Helper()
	p.limited(what, wallet.RefusedByPrivateRule, p.asks(who, amount))
}

// paused checks how often a pause of an app has begun, and that Alice is notified each time.
func (p *probing) paused(times int) {
	p.Helper()
	if entries, notices := p.logged(p.alice, wallet.LogAccessPaused); entries != times || notices != times {
		p.Errorf("%d entries and %d notices, want %d", entries, notices, times)
	}
}

// TestAnAppCannotProbeLimits: after some refusals within an hour everything that it asks for is refused for an hour, in the same words. The owner is
// notified once, and nobody else is held back.
func TestAnAppCannotProbeLimits(t *testing.T) {
	p := newProbing(t)
	other := p.app("Other")
	for i := range handlers.MaxPrivateRefusals {
		p.Must(p.asks(p.shop, "1"))
		p.paused(0)
		p.refused("a probe", p.shop, "1.000000001")
		if i < handlers.MaxPrivateRefusals-1 {
			p.Pass(time.Minute)
		}
	}
	p.paused(1)
	for range 2 * handlers.MaxPrivateRefusals {
		p.refused("what the limits allow", p.shop, "0.5")
		p.refused("what they don't", p.shop, "2")
	}
	p.paused(1)
	p.View(func(tx store.Tx) error {
		rows, _, _, err := store.SecurityLog(tx, p.alice.User.ID)
		if last := rows[len(rows)-1].Entry; last.Details.App != p.shop.App || last.Details.AppName != "Shop" {
			t.Errorf("the log names %+v", last.Details)
		}
		return err
	})
	// Others, and the owner, go on.
	p.Must(p.asks(other, "0.5"))
	p.Must(p.pays(p.alice, p.bob.Address(), "0.5", "SOL"))
	p.limited("the owner", "rule.limit_payment", p.pays(p.alice, p.bob.Address(), "2", "SOL"))
	// A grant that is given anew changes nothing.
	p.Must(p.Update(func(tx store.Tx) error { return p.Apps.Withdraw(tx, p.alice.User.ID, p.shop.App) }))
	p.allow(p.key(p.shop))
	p.refused("after a new grant", p.shop, "0.5")

	p.Pass(time.Hour - time.Second)
	p.refused("a second too early", p.shop, "0.5")
	p.Pass(time.Second)
	p.Must(p.asks(p.shop, "0.5"))
	for range handlers.MaxPrivateRefusals {
		p.Must(p.asks(p.shop, "0.5"))
		p.refused("a probe of the next hour", p.shop, "2")
	}
	p.refused("in the second pause", p.shop, "0.5")
	p.paused(2)
}

// key is the row of a caller's key.
func (p *probing) key(who handlers.Caller) (key wallet.Key) {
	p.Helper()
	p.View(func(tx store.Tx) (err error) { key, err = tx.Key(who.KeyID); return err })
	return key
}

// TestRefusalsCountForAnHour, and other refusals do not count.
func TestRefusalsCountForAnHour(t *testing.T) {
	p := newProbing(t)
	for range 3 * handlers.MaxPrivateRefusals {
		p.refused("a slow probe", p.shop, "2")
		p.Must(p.asks(p.shop, "0.5"))
		p.Pass(time.Hour/(handlers.MaxPrivateRefusals-1) + time.Second)
	}
	p.paused(0)
	p.Pass(time.Hour)
	for range 2 * handlers.MaxPrivateRefusals {
		p.Refused(wallet.InsufficientFunds, p.asks(p.shop, "1000"))
	}
	p.Must(p.asks(p.shop, "0.5"))
}

// TestAllKeysOfAnAppCountTogether, and so do commands that it runs in the owner's chat.
func TestAllKeysOfAnAppCountTogether(t *testing.T) {
	p := newProbing(t)
	second := p.app("Shop")
	if second.App != p.shop.App || second.KeyID == p.shop.KeyID {
		t.Fatalf("it is not another key of the app: %+v", second)
	}
	inChat := handlers.Caller{User: p.alice.User.ID, KeyID: second.KeyID, KeyLineage: second.KeyLineage}
	for i := range handlers.MaxPrivateRefusals {
		p.refused("a probe", []handlers.Caller{p.shop, second, inChat}[i%3], "2")
	}
	for what, who := range map[string]handlers.Caller{"the first key": p.shop, "the second": second, "a command in chat": inChat} {
		p.refused(what, who, "0.5")
	}
	p.paused(1)
}

// TestWhatTheOwnerCannotSeeIsNotJudged: while a question could not be put to the owner, an app gets the same answer to whatever it proposes.
func TestWhatTheOwnerCannotSeeIsNotJudged(t *testing.T) {
	p := newProbing(t)
	for range 5 { // questions that wait
		allowed, err := p.requests(p.shop, p.alice.Address(), p.bob.Address(), "0.1")
		p.Must(err)
		p.Must(p.Update(func(tx store.Tx) error { _, err := p.Transfers.CommitByProgram(tx, allowed); return err }))
	}
	same := func(what, reason string) {
		t.Helper()
		for _, amount := range []string{"0.5", "1", "1.000000001", "2"} {
			if err := p.asks(p.shop, amount); wallet.ReasonOf(err).Key != reason {
				t.Errorf("%s, %s: %v", what, amount, err)
			}
		}
	}
	same("too many questions", "proposal.too_many_waiting")
	p.Pass(time.Hour)
	p.Must(p.Update(func(tx store.Tx) error {
		user, err := tx.User(p.alice.User.ID)
		if err != nil {
			return err
		}
		user.Unreachable = true
		return tx.PutUser(user)
	}))
	same("an owner who blocked the bot", "person.blocked_bot")
	p.paused(0)
}

// TestAnAppsProposalsAreCountedBeforeTheyAreJudged: those that are never stored as well.
func TestAnAppsProposalsAreCountedBeforeTheyAreJudged(t *testing.T) {
	p := newProbing(t)
	for range 20 {
		p.Must(p.asks(p.shop, "0.5"))
	}
	for _, amount := range []string{"0.5", "2"} { // what limits allow, and what they forbid
		if err := p.asks(p.shop, amount); wallet.CodeOf(err) != wallet.RateLimitExceeded {
			t.Errorf("one more, %s: %v", amount, err)
		}
	}
	p.Must(p.asks(p.app("Other"), "0.5"))
	p.Pass(time.Hour)
	p.Must(p.asks(p.shop, "0.5"))
}

// TestTheOwnersKeysMayBeRefusedOften: they are told the exact reasons anyway.
func TestTheOwnersKeysMayBeRefusedOften(t *testing.T) {
	p := newProbing(t)
	own, _, err := p.Keys.Create(p.Context(), handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier, OwnerTelegramID: p.alice.TelegramID, App: "Own"})
	p.Must(err)
	for range 2 * handlers.MaxPrivateRefusals {
		p.limited("her own key", "rule.limit_payment", p.asks(handlers.CallerOf(own), "2"))
	}
	p.Must(p.asks(handlers.CallerOf(own), "0.5"))
	p.paused(0)
}

// TestProbesAtOnceBeginOnePause, and what was judged before it is not stored after it.
func TestProbesAtOnceBeginOnePause(t *testing.T) {
	p := newProbing(t)
	allowed, err := p.requests(p.shop, p.alice.Address(), p.bob.Address(), "0.5")
	p.Must(err)
	var all sync.WaitGroup
	errs := make([]error, 3*handlers.MaxPrivateRefusals) // fewer than are judged in an hour
	for i := range errs {
		all.Go(func() { errs[i] = p.asks(p.shop, "2") })
	}
	all.Wait()
	for _, err := range errs {
		p.limited("a probe", wallet.RefusedByPrivateRule, err)
	}
	p.paused(1)
	commit := func() error {
		return p.Update(func(tx store.Tx) error { _, err := p.Transfers.CommitByProgram(tx, allowed); return err })
	}
	p.limited("what was judged before", wallet.RefusedByPrivateRule, commit())
	p.Pass(time.Hour)
	p.Must(commit())
}

// TestTheOwnerReadsWhyAnAppsPaymentIsRefused when they confirm it: the exact reason, which counts as no probe.
func TestTheOwnerReadsWhyAnAppsPaymentIsRefused(t *testing.T) {
	p := newProbing(t)
	proposal, err := p.requests(p.shop, p.alice.Address(), p.bob.Address(), "0.5")
	p.Must(err)
	p.Must(p.Update(func(tx store.Tx) error { _, err := p.Transfers.CommitByProgram(tx, proposal); return err }))
	p.limits(p.alice, wallet.Policy{Payment: []wallet.TokenLimit{{Units: sol / 10}}})
	for range 2 * handlers.MaxPrivateRefusals {
		_, err = p.Confirm(p.alice.Caller(), proposal.Transaction.ID)
		p.limited("at Confirm", "rule.limit_payment", err)
	}
	p.paused(0)
	p.Must(p.asks(p.shop, "0.1"))
}
