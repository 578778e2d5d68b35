package handlers_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"purser/e2e/world"
	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// limits sets a policy that is stricter than before.
func (r *harness) limits(p *world.Person, policy wallet.Policy) {
	r.Helper()
	change, err := r.changes(p, policy)
	if err != nil || change.Token != "" {
		r.Fatalf("the limits are looser: %v", err)
	}
}

// dayPolicy limits the payments of a day to so many SOL.
func dayPolicy(most uint64) wallet.Policy {
	return wallet.Policy{Day: []wallet.TokenLimit{{Units: most * sol}}}
}

// pays returns the error of a proposal to pay.
func (r *harness) pays(p *world.Person, to wallet.Address, amount, token string) error {
	_, err := r.Prepare(p, to, amount, token)
	return err
}

// limited checks that something is refused by a rule of limits, with its exact reason.
func (r *harness) limited(what, rule string, err error) {
	r.Helper()
	if wallet.CodeOf(err) != wallet.PolicyViolation || wallet.ReasonOf(err).Key != rule {
		r.Errorf("%s: %v (%s), want %s", what, err, wallet.ReasonOf(err), rule)
	}
}

// TestOnePaymentPaysNoMoreThanItsLimit, to the lamport, of its own token.
func TestOnePaymentPaysNoMoreThanItsLimit(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 10*sol), r.rich(1002, 10*sol)
	r.FundToken(alice.Address(), "USDC", 100_000_000)
	r.FundToken(bob.Address(), "USDC", 1)
	r.limits(alice, solPolicy(2))
	r.Must(r.pays(alice, bob.Address(), "2", "SOL"))
	err := r.pays(alice, bob.Address(), "2.000000001", "SOL")
	r.limited("a lamport more", "rule.limit_payment", err)
	if args := wallet.ReasonOf(err).Args; len(args) != 2 || args[0].Value() != wallet.Lamports(2*sol) {
		t.Errorf("it says %v", args)
	}
	r.Must(r.pays(alice, bob.Address(), "50", "USDC"))
	r.limits(alice, wallet.Policy{Payment: []wallet.TokenLimit{{Units: 2 * sol}, {Mint: r.token("USDC").Mint, Units: 0}}})
	r.limited("a token that may not be paid", "rule.limit_payment", r.pays(alice, bob.Address(), "0.000001", "USDC"))
	r.Must(r.pays(bob, alice.Address(), "5", "SOL")) // others have none
	// What all of it would be.
	draft, err := world.SendRequest(bob.Address().String(), "max", "SOL")
	r.Must(err)
	_, err = r.Transfers.Prepare(context.Background(), alice.Caller(), draft)
	r.limited("everything", "rule.limit_payment", err)
}

// TestADayPaysNoMoreThanItsLimit: every payment that may still land counts, and those that landed for 24 hours from their signature.
func TestADayPaysNoMoreThanItsLimit(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 50*sol), r.rich(1002, sol)
	usdc := r.token("USDC")
	r.limits(alice, dayPolicy(10))
	row := func(amount uint64, change func(*wallet.Transaction)) {
		x := wallet.Transaction{ID: wallet.TransactionID(r.NewID("tx")), Kind: wallet.Send, Status: wallet.Confirmed, Closed: true, Owner: alice.User.ID, From: alice.Address(), To: bob.Address(),
			Token: wallet.SOL, Amount: amount, CreatedAt: r.Now(), SignedAt: r.Now(), ConfirmedAt: r.Now(), EndedAt: r.Now(), Reference: r.Stranger()}
		change(&x)
		r.Must(r.Update(func(tx store.Tx) error { return tx.CreateTransaction(x) }))
	}
	left := func(want string, what string) {
		t.Helper()
		if err := r.pays(alice, bob.Address(), want, "SOL"); err != nil {
			t.Errorf("%s, %s is refused: %v", what, want, err)
		}
		a, err := wallet.ParseDecimal(want)
		r.Must(err)
		units, err := a.In(9)
		r.Must(err)
		more := wallet.Lamports(units.Units + 1).String()
		r.limited(what+", a lamport more", "rule.limit_day", r.pays(alice, bob.Address(), more, "SOL"))
	}
	left("10", "before anything")
	ago := func(d time.Duration) func(*wallet.Transaction) {
		return func(x *wallet.Transaction) {
			x.CreatedAt, x.SignedAt, x.ConfirmedAt, x.EndedAt = r.Now().Add(-d), r.Now().Add(-d), r.Now().Add(-d), r.Now().Add(-d)
		}
	}
	// None of these counts.
	for _, status := range []wallet.Status{wallet.Failed, wallet.Expired, wallet.Rejected} {
		row(sol, func(x *wallet.Transaction) { x.Status = status })
		row(sol, func(x *wallet.Transaction) { x.Status, x.Closed = status, status == wallet.Failed })
	}
	row(sol, func(x *wallet.Transaction) {
		x.Status, x.Closed, x.Deadline = wallet.AwaitingConfirmation, false, r.Now().Add(time.Minute)
	})
	row(sol, ago(24*time.Hour))
	row(sol, func(x *wallet.Transaction) { x.From = bob.Address() })
	row(sol, func(x *wallet.Transaction) { x.Token = usdc })
	row(sol, func(x *wallet.Transaction) { x.Kind = wallet.Stake; x.Terms = nil })
	row(sol, func(x *wallet.Transaction) {
		x.Kind, x.Status, x.From, x.To = wallet.Receive, wallet.Received, bob.Address(), alice.Address()
	})
	left("10", "with nothing that counts")
	// Each of these does.
	row(sol, ago(24*time.Hour-time.Second))
	row(sol, func(x *wallet.Transaction) { ago(8 * 24 * time.Hour)(x); x.SignedAt, x.ConfirmedAt = r.Now(), r.Now() }) // waited for a week
	row(sol, func(x *wallet.Transaction) {
		x.Status, x.Closed = wallet.Delayed, false
		x.CreatedAt = r.Now().Add(-100 * 24 * time.Hour)
	})
	row(sol/2, func(x *wallet.Transaction) { x.SignedAt = time.Time{} }) // found on chain, signed elsewhere
	row(sol/2, func(x *wallet.Transaction) { x.Token.Mint = wallet.WrappedSOL })
	for _, status := range []wallet.Status{wallet.AwaitingSignature, wallet.Signed, wallet.Pending} {
		row(sol/2, func(x *wallet.Transaction) { x.Status, x.Closed, x.Deadline = status, false, r.Now().Add(time.Hour) })
	}
	left("4.5", "with what counts")
	// All of them, and not only the newest 200.
	for range 250 {
		row(sol/100, func(*wallet.Transaction) {})
	}
	left("2", "with many")
	err := r.pays(alice, bob.Address(), "3", "SOL")
	if args := wallet.ReasonOf(err).Args; len(args) != 3 || args[1].Value() != wallet.Lamports(8*sol) {
		t.Errorf("it says %v", args)
	}
	// So much that no sum holds it.
	row(1<<63, func(*wallet.Transaction) {})
	row(1<<63, func(*wallet.Transaction) {})
	r.limited("after an absurd sum", "rule.limit_day", r.pays(alice, bob.Address(), "0.000000001", "SOL"))
}

// TestTwoConfirmsDoNotPassTheDayLimitTogether: each alone is within it.
func TestTwoConfirmsDoNotPassTheDayLimitTogether(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 50*sol), r.rich(1002, sol)
	r.limits(alice, dayPolicy(10))
	ids := make([]wallet.TransactionID, 8)
	for i := range ids {
		ids[i] = r.proposed(alice, bob.Address(), "4")
	}
	var confirmations []handlers.Confirmation // all of them checked before any is committed
	for _, id := range ids {
		c, err := r.Transfers.PrepareConfirm(r.Context(), alice.Caller(), id, world.Typed(r.Transaction(id)))
		r.Must(err)
		confirmations = append(confirmations, c)
	}
	won := many(len(ids), func(i int) error {
		return r.Update(func(tx store.Tx) error {
			_, err := r.Transfers.CommitConfirm(tx, confirmations[i])
			if err != nil && wallet.ReasonOf(err).Key != "rule.limit_day" {
				t.Errorf("refused with %v", err)
			}
			return err
		})
	})
	if won != 2 {
		t.Errorf("%d were confirmed", won)
	}
	// A limit that came after the proposal holds at Confirm.
	r.limits(alice, dayPolicy(1))
	c, err := r.Transfers.PrepareConfirm(r.Context(), bob.Caller(), r.proposed(bob, alice.Address(), "0.5"), "")
	r.Must(err)
	r.limits(bob, wallet.Policy{Recipients: &[]wallet.Address{}})
	r.limited("a Confirm after the limit", "rule.limit_recipients", r.Update(func(tx store.Tx) error { _, err := r.Transfers.CommitConfirm(tx, c); return err }))
}

// TestOnlyListedRecipientsArePaid: contacts and own wallets are no exception.
func TestOnlyListedRecipientsArePaid(t *testing.T) {
	r := newHarness(t)
	alice, bob, carol := r.rich(1001, 10*sol), r.rich(1002, 10*sol), r.rich(1003, sol)
	r.limits(alice, wallet.Policy{Recipients: &[]wallet.Address{bob.Address()}})
	r.Must(r.pays(alice, bob.Address(), "1", "SOL"))
	r.Must(r.adds(alice, "carol", carol.Address()))
	own := world.AddressOf(r.NewKey())
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.PutWallet(wallet.Wallet{Address: own, Owner: alice.User.ID, Type: wallet.PageWallet, ConnectedAt: r.Now()})
	}))
	r.limited("a contact", "rule.limit_recipients", r.pays(alice, carol.Address(), "1", "SOL"))
	r.limited("an own wallet", "rule.limit_recipients", r.pays(alice, own, "1", "SOL"))
	r.limits(alice, wallet.Policy{Recipients: &[]wallet.Address{}})
	r.limited("anybody", "rule.limit_recipients", r.pays(alice, bob.Address(), "1", "SOL"))
	_, err := r.Stakes.Prepare(context.Background(), alice.Caller(), handlers.StakeRequest{Kind: wallet.Stake, Amount: world.Quantity("2")})
	r.Must(err) // stays her own
}

// TestANewRecipientWaits: from this wallet, with its link from Confirm on, and nothing can be signed before. Contacts and own wallets wait too.
func TestANewRecipientWaits(t *testing.T) {
	r := newHarness(t)
	alice, bob, carol := r.rich(1001, 50*sol), r.rich(1002, 10*sol), r.rich(1003, sol)
	r.send(alice, bob.Address(), "0.1", "SOL")
	r.limits(alice, wallet.Policy{NewRecipientWait: 24 * time.Hour})
	if known := r.Propose(alice, bob.Address(), "1", "SOL"); known.DelayFor != 0 {
		t.Errorf("somebody whom she paid waits for %v", known.DelayFor)
	}
	r.Must(r.adds(alice, "carol", carol.Address()))
	proposal := r.Propose(alice, carol.Address(), "1", "SOL")
	if proposal.DelayFor != 24*time.Hour || proposal.DelayReason.Key != "rule.limit_new_recipient" || proposal.Typing() != wallet.TypesAddress || proposal.SignID != "" {
		t.Fatalf("proposed: %+v", proposal)
	}
	waits, err := r.Confirm(alice.Caller(), proposal.ID)
	r.Must(err)
	if waits.Status != wallet.Delayed || waits.SignID == "" || waits.Approved() {
		t.Fatalf("confirmed, it is %s with the link %q", waits.Status, waits.SignID)
	}
	link := handlers.ByLink(waits.SignID)
	refused := func() {
		t.Helper()
		_, err := r.Signing.Refresh(r.Context(), link)
		r.Refused(wallet.Conflict, err)
		_, err = r.Signing.BlocksLeft(r.Context(), link)
		r.Refused(wallet.Conflict, err)
		_, err = r.Signing.Submit(r.Context(), link, handlers.Signature{Signature: alice.Sign(waits.Message)})
		r.Refused(wallet.Conflict, err)
		if got := r.Transaction(waits.ID); got.Status != wallet.Delayed || len(got.IssuedBlockhashes) > 0 {
			t.Fatalf("it is %s, with %d blockhashes", got.Status, len(got.IssuedBlockhashes))
		}
	}
	refused()
	view, err := r.Signing.Get(r.Context(), waits.SignID)
	if err != nil || view.Status != wallet.Delayed || !slices.Equal(view.Message, waits.Message) || view.Limits == nil || view.Limits.State.Current.NewRecipientWait != 24*time.Hour {
		t.Errorf("the page gets %+v, %v", view, err)
	}
	r.Pass(24*time.Hour - time.Second)
	refused()
	r.Pass(time.Second)
	r.Look()
	if got := r.Transaction(waits.ID); got.Status != wallet.AwaitingSignature || got.SignID != waits.SignID {
		t.Fatalf("after its delay it is %s with the link %q", got.Status, got.SignID)
	}
	_, err = r.HandIn(alice, waits.SignID, r.Issue(waits.SignID))
	r.Must(err)
	r.Settled(waits.ID)
	if again := r.Propose(alice, carol.Address(), "1", "SOL"); again.DelayFor != 0 {
		t.Errorf("paid once, it still waits for %v", again.DelayFor)
	}
	// Another wallet of the same person paid an address: that makes nobody known to this one.
	second := r.NewKey()
	other := &world.Person{User: alice.User, Key: second}
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.PutWallet(wallet.Wallet{Address: other.Address(), Owner: alice.User.ID, Type: wallet.PageWallet, ConnectedAt: r.Now()})
	}))
	thief := r.Stranger()
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.CreateTransaction(wallet.Transaction{ID: "tx_planted", Kind: wallet.Send, Status: wallet.Confirmed, Owner: alice.User.ID, From: other.Address(), To: thief,
			Token: wallet.SOL, Amount: 1, CreatedAt: r.Now(), ConfirmedAt: r.Now(), EndedAt: r.Now(), Closed: true, Reference: r.Stranger()})
	}))
	if got := r.Propose(alice, thief, "1", "SOL"); got.DelayFor != 24*time.Hour {
		t.Errorf("known by another wallet, it waits for %v", got.DelayFor)
	}
	if got := r.Propose(alice, other.Address(), "1", "SOL"); got.DelayFor != 24*time.Hour {
		t.Errorf("an own wallet waits for %v", got.DelayFor)
	}
}

// TestALongerWaitAsksAgain: it was set between the proposal and its Confirm.
func TestALongerWaitAsksAgain(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 50*sol), r.rich(1002, 10*sol)
	r.limits(alice, wallet.Policy{NewRecipientWait: time.Hour})
	id := r.proposed(alice, bob.Address(), "1")
	r.limits(alice, wallet.Policy{NewRecipientWait: 5 * time.Hour})
	got, again, err := r.confirms(alice.Caller(), id, world.Typed(r.Transaction(id)))
	if err != nil || !again || got.Status != wallet.AwaitingConfirmation || r.Transaction(id).DelayFor != 5*time.Hour {
		t.Fatalf("it is %s and waits for %v: %v", got.Status, got.DelayFor, err)
	}
	if got, again, err := r.confirms(alice.Caller(), id, world.Typed(r.Transaction(id))); err != nil || again || !got.DelayEndsAt.Equal(r.Now().Add(5*time.Hour)) {
		t.Errorf("it is %s until %v: %v", got.Status, got.DelayEndsAt, err)
	}
	// A delay for something else has no link before its end.
	r.Delayed(time.Hour)
	other, err := r.Confirm(bob.Caller(), r.proposed(bob, alice.Address(), "1"))
	if err != nil || other.Status != wallet.Delayed || other.SignID != "" {
		t.Errorf("it is %s with the link %q: %v", other.Status, other.SignID, err)
	}
}

// TestLimitsAreJudgedAgainWhenADelayEnds: what they refuse by then fails, in words that say nothing to others.
func TestLimitsAreJudgedAgainWhenADelayEnds(t *testing.T) {
	for what, c := range map[string]struct {
		tightens wallet.Policy
		rule     wallet.RuleName
	}{
		"one payment": {solPolicy(1), wallet.RuleLimitPayment},
		"a day":       {dayPolicy(1), wallet.RuleLimitDay},
		"recipients":  {wallet.Policy{Recipients: &[]wallet.Address{}}, wallet.RuleLimitRecipients},
	} {
		t.Run(what, func(t *testing.T) {
			r := newHarness(t)
			alice, bob := r.rich(1001, 50*sol), r.rich(1002, 10*sol)
			r.limits(alice, wallet.Policy{NewRecipientWait: time.Hour})
			waits, err := r.Confirm(alice.Caller(), r.proposed(alice, bob.Address(), "2"))
			r.Must(err)
			c.tightens.NewRecipientWait = 2 * time.Hour // longer now, and not asked again
			r.limits(alice, c.tightens)
			r.Pass(time.Hour)
			r.Trouble()
			r.Look()
			got := r.Transaction(waits.ID)
			if got.Status != wallet.Failed || !got.Closed || got.ErrorCode != wallet.PolicyViolated || got.ErrorReason.Key != "failed_because.limits" || len(got.ErrorReason.Args) > 0 {
				t.Fatalf("it is %s because of %s %s", got.Status, got.ErrorCode, got.ErrorReason)
			}
			if !slices.ContainsFunc(got.Findings, func(f wallet.Finding) bool { return f.Rule == c.rule && f.Verdict == wallet.RefuseVerdict }) {
				t.Errorf("its owner reads %v", got.Findings)
			}
			if events := r.Events(waits.ID); !slices.Contains(events, wallet.TransactionFailed) {
				t.Errorf("the events are %v", events)
			}
			r.Refused(wallet.NotFound, func() error { _, err := r.Signing.Refresh(r.Context(), handlers.ByLink("x"+waits.SignID)); return err }())
		})
	}
	// Everything else of the rules as well: an address that was blocked meanwhile. Its reason may be read by everybody.
	r := newHarness(t)
	alice, bob := r.rich(1001, 50*sol), r.rich(1002, 10*sol)
	r.limits(alice, wallet.Policy{NewRecipientWait: time.Hour})
	waits, err := r.Confirm(alice.Caller(), r.proposed(alice, bob.Address(), "2"))
	r.Must(err)
	r.Blocked.Replace([]wallet.Address{bob.Address()})
	r.Pass(time.Hour)
	r.Trouble()
	r.Look()
	if got := r.Transaction(waits.ID); got.Status != wallet.Failed || got.ErrorCode != wallet.PolicyViolated || got.ErrorReason.Key != "rule.listed_address" {
		t.Errorf("it is %s because of %s %s", got.Status, got.ErrorCode, got.ErrorReason)
	}
	// And a warning that is new ends nothing.
	r = newHarness(t)
	alice, bob = r.rich(1001, 50*sol), r.rich(1002, 10*sol)
	r.limits(alice, wallet.Policy{NewRecipientWait: time.Hour})
	waits, err = r.Confirm(alice.Caller(), r.proposed(alice, bob.Address(), "20"))
	r.Must(err)
	r.Pass(time.Hour)
	r.prices("1000")
	r.Look()
	if got := r.Transaction(waits.ID); got.Status != wallet.AwaitingSignature {
		t.Errorf("it is %s because of %s", got.Status, got.ErrorReason)
	}
}

// TestALimitThatComesDuringTheLookFailsADelayedPayment: the rules judge it in the transaction that would release it.
func TestALimitThatComesDuringTheLookFailsADelayedPayment(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 50*sol), r.rich(1002, 10*sol)
	r.limits(alice, wallet.Policy{NewRecipientWait: time.Hour})
	waits, err := r.Confirm(alice.Caller(), r.proposed(alice, bob.Address(), "2"))
	r.Must(err)
	r.Pass(time.Hour)
	decide, err := r.Transactions.Release(r.Context(), waits)
	r.Must(err)
	r.limits(alice, wallet.Policy{NewRecipientWait: time.Hour, Payment: []wallet.TokenLimit{{Units: sol}}})
	r.View(func(tx store.Tx) error {
		if _, input, err := decide(tx, waits); err != nil || input.By != wallet.NoLongerFits || input.Failure != wallet.PolicyViolated {
			t.Errorf("it ends with %+v, %v", input, err)
		}
		return nil
	})
}

// program connects a wallet whose key a program of Alice's holds.
func (r *harness) program(alice *world.Person, lamports uint64) (handlers.Caller, *world.Person) {
	r.Helper()
	key, _, err := r.Keys.Create(r.Context(), handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier, OwnerTelegramID: alice.TelegramID})
	r.Must(err)
	p := &world.Person{User: alice.User, Key: r.NewKey()}
	p.TelegramID = alice.TelegramID
	r.Fund(p.Address(), lamports)
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.PutWallet(wallet.Wallet{Address: p.Address(), Owner: alice.User.ID, Type: wallet.DeveloperWallet, ConnectedAt: r.Now(), KeyLineage: key.Lineage()})
	}))
	return handlers.CallerOf(key), p
}

// requests prepares a payment by a program from a wallet.
func (r *harness) requests(who handlers.Caller, from, to wallet.Address, amount string) (handlers.Proposal, error) {
	req, err := world.SendRequest(to.String(), amount, "SOL")
	r.Must(err)
	req.From = from
	return r.Transfers.Prepare(r.Context(), who, req)
}

// TestAProgramThatSignsItselfIsBoundByLimits: nobody confirms, so the transaction that stores the payment judges it.
func TestAProgramThatSignsItselfIsBoundByLimits(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, sol), r.rich(1002, 10*sol)
	who, wallet1 := r.program(alice, 50*sol)
	commit := func(p handlers.Proposal) (got wallet.Transaction, err error) {
		err = r.Update(func(tx store.Tx) error { got, err = r.Transfers.CommitByProgram(tx, p); return err })
		return got, err
	}
	r.limits(wallet1, dayPolicy(10))
	_, err := r.requests(who, wallet1.Address(), bob.Address(), "11")
	r.limited("more than the day's", "rule.limit_day", err)
	proposals := make([]handlers.Proposal, 8)
	for i := range proposals {
		proposals[i], err = r.requests(who, wallet1.Address(), bob.Address(), "4")
		r.Must(err)
	}
	won := many(len(proposals), func(i int) error {
		_, err := commit(proposals[i])
		if err != nil && wallet.ReasonOf(err).Key != "rule.limit_day" {
			t.Errorf("refused with %v", err)
		}
		return err
	})
	if won != 2 {
		t.Errorf("%d were stored", won)
	}
	// A new recipient waits, also if the limit came after the proposal. Nothing of it can be signed then.
	carol := r.rich(1003, sol)
	p, err := r.requests(who, wallet1.Address(), carol.Address(), "0.5")
	r.Must(err)
	r.limits(wallet1, wallet.Policy{Day: dayPolicy(10).Day, NewRecipientWait: 3 * time.Hour})
	for name, prepare := range map[string]func() handlers.Proposal{
		"before the limit": func() handlers.Proposal { return p },
		"after it": func() handlers.Proposal {
			p, err := r.requests(who, wallet1.Address(), carol.Address(), "0.5")
			if err != nil || p.Transaction.DelayFor != 3*time.Hour || wallet.Worst(p.Transaction.Findings) != wallet.DelayVerdict {
				t.Errorf("it is proposed with %+v, %v", p.Transaction.Findings, err)
			}
			return p
		},
	} {
		got, err := commit(prepare())
		if err != nil || got.Status != wallet.Delayed || !got.DelayEndsAt.Equal(r.Now().Add(3*time.Hour)) || len(got.IssuedBlockhashes) > 0 || got.SignID != "" {
			t.Errorf("%s: it is %s until %v, %v", name, got.Status, got.DelayEndsAt, err)
		}
	}
	// And a limit that came after the proposal refuses.
	p, err = r.requests(who, wallet1.Address(), bob.Address(), "0.5")
	r.Must(err)
	r.limits(wallet1, wallet.Policy{Day: dayPolicy(10).Day, NewRecipientWait: 3 * time.Hour, Recipients: &[]wallet.Address{}})
	_, err = commit(p)
	r.limited("after the limit", "rule.limit_recipients", err)
}

// TestAnAppLearnsNoLimits: it is refused for a general reason, and the owner's own key for the exact one. What waits names no rule to it.
func TestAnAppLearnsNoLimits(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 50*sol), r.rich(1002, 10*sol)
	r.send(alice, bob.Address(), "0.1", "SOL")
	own, _, err := r.Keys.Create(r.Context(), handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier, OwnerTelegramID: 1001})
	r.Must(err)
	shop, _, err := r.Keys.Create(r.Context(), handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier, OwnerTelegramID: 1002, App: "Shop"})
	r.Must(err)
	asks := wallet.Grantable(shop.Kind, shop.Scopes)
	r.Must(r.Update(func(tx store.Tx) error { return r.Apps.Allow(tx, alice.User.ID, shop.App, asks, asks) }))
	carol := r.rich(1003, sol)
	for rule, policy := range map[string]wallet.Policy{
		"rule.limit_payment": solPolicy(1), "rule.limit_day": dayPolicy(1), "rule.limit_recipients": {Recipients: &[]wallet.Address{}},
	} {
		r.Must(r.Update(func(tx store.Tx) error {
			return tx.PutPolicy(wallet.WalletPolicy{Owner: alice.User.ID, Address: alice.Address(), State: wallet.PolicyState{Current: policy}})
		}))
		_, err := r.requests(handlers.CallerOf(own), alice.Address(), bob.Address(), "2")
		r.limited("her own key", rule, err)
		_, err = r.requests(handlers.CallerOf(shop), alice.Address(), bob.Address(), "2")
		r.limited("an app", wallet.RefusedByPrivateRule, err)
		if args := wallet.ReasonOf(err).Args; len(args) > 0 {
			t.Errorf("an app learns %v", args)
		}
	}
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.PutPolicy(wallet.WalletPolicy{Owner: alice.User.ID, Address: alice.Address(), State: wallet.PolicyState{Current: wallet.Policy{NewRecipientWait: time.Hour}}})
	}))
	p, err := r.requests(handlers.CallerOf(shop), alice.Address(), carol.Address(), "2")
	if err != nil || p.Transaction.DelayFor != time.Hour || slices.ContainsFunc(p.Transaction.PublicFindings(), func(f wallet.Finding) bool { return f.Rule == wallet.RuleLimitNewRecipient }) {
		t.Errorf("it learns %v, %v", p.Transaction.PublicFindings(), err)
	}
}

// TestARetryIsJudgedByTheLimitsOfNow.
func TestARetryIsJudgedByTheLimitsOfNow(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 50*sol), r.rich(1002, 10*sol)
	id := r.proposed(alice, bob.Address(), "2")
	r.Must(r.Update(func(tx store.Tx) error { _, err := r.Transfers.Reject(tx, alice.Caller(), id); return err }))
	r.limits(alice, solPolicy(2))
	_, err := r.Transfers.PrepareRetry(r.Context(), alice.Caller(), id)
	r.Must(err)
	r.limits(alice, solPolicy(1))
	_, err = r.Transfers.PrepareRetry(r.Context(), alice.Caller(), id)
	r.limited("a retry", "rule.limit_payment", err)
}
