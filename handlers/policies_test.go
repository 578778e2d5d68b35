package handlers_test

import (
	"crypto/ed25519"
	"fmt"
	"reflect"
	"testing"
	"time"

	"purser/e2e/world"
	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// changes asks for another policy of a person's wallet.
func (r *harness) changes(p *world.Person, to wallet.Policy) (handlers.PolicyChange, error) {
	var change handlers.PolicyChange
	err := r.Update(func(tx store.Tx) (err error) {
		change, err = r.Policies.Change(tx, p.User.ID, p.Address(), to)
		return err
	})
	return change, err
}

// policy is the policy of a person's wallet as it is now.
func (r *harness) policy(p *world.Person) (state wallet.PolicyState) {
	r.Helper()
	r.View(func(tx store.Tx) (err error) { state, err = r.Policies.Of(tx, p.User.ID, p.Address()); return err })
	return state
}

// signs plays the page of a link: it signs the text of the challenge, changed as a liar would.
func (r *harness) signs(token string, key ed25519.PrivateKey, change func(*handlers.PolicyChallenge)) (handlers.PolicySigned, error) {
	c, err := r.Policies.Challenge(r.Context(), token)
	if err != nil {
		return handlers.PolicySigned{}, err
	}
	if change != nil {
		change(&c)
	}
	u := r.Policies.PublicURL
	text := wallet.PolicyText(u.Host, u.Scheme+"://"+u.Host, c.Address, c.Proposed, wallet.TelegramAccount(c.TelegramID), c.Chain, c.Nonce, c.IssuedAt, c.ExpiresAt)
	return r.Policies.Sign(r.Context(), token, wallet.Signature(ed25519.Sign(key, []byte(text))))
}

// logged counts the entries of a kind in a person's security log, and the messages about them that wait.
func (r *harness) logged(p *world.Person, kind wallet.SecurityKind) (entries, notices int) {
	r.Helper()
	r.View(func(tx store.Tx) error {
		rows, _, faults, err := store.SecurityLog(tx, p.User.ID)
		if len(faults) > 0 {
			r.Errorf("the log is broken: %+v", faults)
		}
		for _, row := range rows {
			if row.Entry.Kind != kind {
				continue
			}
			entries++
			pending, err := tx.PendingEvents(1000)
			r.Must(err)
			for _, e := range pending {
				if e.Name == wallet.SecurityNoticed && e.ID == fmt.Sprintf("evt_security_%s_%d", p.User.ID, row.Number) {
					notices++
				}
			}
		}
		return err
	})
	return entries, notices
}

// solPolicy limits one payment to so many SOL.
func solPolicy(most uint64) wallet.Policy {
	return wallet.Policy{Payment: []wallet.TokenLimit{{Units: most * sol}}}
}

// TestStricterLimitsHoldAtOnceAndLooserOnesWaitForTheDevice.
func TestStricterLimitsHoldAtOnceAndLooserOnesWaitForTheDevice(t *testing.T) {
	r := newHarness(t)
	alice := r.rich(1001, 10*sol)
	if got := r.policy(alice); !reflect.DeepEqual(got, wallet.PolicyState{}) {
		t.Fatalf("before anything it is %+v", got)
	}
	// Stricter: at once, without a link.
	change, err := r.changes(alice, solPolicy(2))
	if err != nil || change.Token != "" || !change.State.Current.Equal(solPolicy(2)) || !r.policy(alice).Current.Equal(solPolicy(2)) {
		t.Fatalf("stricter: %+v, %v", change, err)
	}
	if entries, notices := r.logged(alice, wallet.LogLimitsTightened); entries != 1 || notices != 0 {
		t.Errorf("logged %d times, with %d messages", entries, notices)
	}
	// Looser: a link, and nothing else.
	change, err = r.changes(alice, solPolicy(5))
	if err != nil || change.Token == "" || !change.State.Current.Equal(solPolicy(2)) || change.State.Pending != nil || !reflect.DeepEqual(r.policy(alice), change.State) {
		t.Fatalf("looser: %+v, %v", change, err)
	}
	r.Pass(wallet.PolicyWindow - time.Second)
	signed, err := r.signs(change.Token, alice.Key, nil)
	from := r.Now().Add(wallet.PolicyDelay)
	if err != nil || !signed.Waiting || !signed.EffectiveAt.Equal(from) {
		t.Fatalf("signed: %+v, %v", signed, err)
	}
	if got := r.policy(alice); !got.Current.Equal(solPolicy(2)) || got.Pending == nil || !got.Pending.Equal(solPolicy(5)) || !got.PendingFrom.Equal(from) {
		t.Errorf("signed, it is %+v", got)
	}
	if entries, notices := r.logged(alice, wallet.LogLimitsSigned); entries != 1 || notices != 1 {
		t.Errorf("logged %d times, with %d messages", entries, notices)
	}
	r.Pass(wallet.PolicyDelay - time.Second)
	if got := r.policy(alice); !got.Current.Equal(solPolicy(2)) {
		t.Errorf("a second early it is %+v", got)
	}
	r.Pass(time.Second)
	if got := r.policy(alice); !got.Current.Equal(solPolicy(5)) || got.Pending != nil {
		t.Errorf("a day later it is %+v", got)
	}
}

// TestAMixedChangeForbidsAtOnceAndAsksForTheRest: the stricter part holds, and a change that waited is over.
func TestAMixedChangeForbidsAtOnceAndAsksForTheRest(t *testing.T) {
	r := newHarness(t)
	alice := r.rich(1001, 10*sol)
	one, two, three := r.Stranger(), r.Stranger(), r.Stranger()
	with := func(payment, day uint64, to ...wallet.Address) wallet.Policy {
		return wallet.Policy{Payment: []wallet.TokenLimit{{Units: payment}}, Day: []wallet.TokenLimit{{Units: day}}, Recipients: &to}
	}
	_, err := r.changes(alice, with(5, 10, one, two))
	r.Must(err)
	looser, err := r.changes(alice, with(6, 10, one, two))
	r.Must(err)
	_, err = r.signs(looser.Token, alice.Key, nil)
	r.Must(err)
	change, err := r.changes(alice, with(6, 9, one, three))
	if err != nil || change.Token == "" || change.State.Pending != nil || !change.State.Current.Equal(with(5, 9, one)) {
		t.Fatalf("%+v, %v", change, err)
	}
	r.Pass(wallet.PolicyDelay)
	if got := r.policy(alice).Current; !got.Equal(with(5, 9, one)) {
		t.Errorf("what waited before came into force: %+v", got)
	}
	// A purely looser wish leaves what waits alone, until it is signed.
	again, err := r.changes(alice, with(5, 9, one, two))
	r.Must(err)
	_, err = r.signs(again.Token, alice.Key, nil)
	r.Must(err)
	last, err := r.changes(alice, with(7, 9, one))
	if err != nil || last.State.Pending == nil || !last.State.Pending.Equal(with(5, 9, one, two)) {
		t.Fatalf("%+v, %v", last, err)
	}
	_, err = r.signs(last.Token, alice.Key, nil)
	r.Must(err)
	if got := r.policy(alice); got.Pending == nil || !got.Pending.Equal(with(7, 9, one)) {
		t.Errorf("signed, it is %+v", got)
	}
	// The current one again: nothing waits any more, and the open link is dead.
	open, err := r.changes(alice, with(8, 9, one))
	r.Must(err)
	if change, err = r.changes(alice, with(5, 9, one)); err != nil || change.Token != "" || change.State.Pending != nil {
		t.Errorf("the current one again: %+v, %v", change, err)
	}
	if _, err := r.signs(open.Token, alice.Key, nil); wallet.CodeOf(err) != wallet.NotFound {
		t.Errorf("a link of a change that was given up: %v", err)
	}
	if entries, _ := r.logged(alice, wallet.LogLimitsCancelled); entries != 1 {
		t.Errorf("%d entries say that it was cancelled", entries)
	}
}

// TestOnlyTheWalletsOwnSignatureOverThisTextAllowsMore.
func TestOnlyTheWalletsOwnSignatureOverThisTextAllowsMore(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 10*sol), r.rich(1002, 10*sol)
	second := r.NewKey()
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.PutWallet(wallet.Wallet{Address: world.AddressOf(second), Owner: alice.User.ID, Type: wallet.PageWallet, ConnectedAt: r.Now()})
	}))
	_, err := r.changes(alice, solPolicy(2))
	r.Must(err)
	change, err := r.changes(alice, solPolicy(5))
	r.Must(err)
	before := r.policy(alice)
	refused := func(what string, code wallet.Code, err error) {
		t.Helper()
		if wallet.CodeOf(err) != code {
			t.Errorf("%s: %v", what, err)
		}
		if got := r.policy(alice); !reflect.DeepEqual(got, before) {
			t.Fatalf("%s changed it to %+v", what, got)
		}
	}
	for what, lie := range map[string]func(*handlers.PolicyChallenge){
		"another policy":  func(c *handlers.PolicyChallenge) { c.Proposed = solPolicy(6) },
		"no limits":       func(c *handlers.PolicyChallenge) { c.Proposed = wallet.Policy{} },
		"another wallet":  func(c *handlers.PolicyChallenge) { c.Address = bob.Address() },
		"another account": func(c *handlers.PolicyChallenge) { c.TelegramID++ },
		"another network": func(c *handlers.PolicyChallenge) { c.Chain = "mainnet" },
		"another link":    func(c *handlers.PolicyChallenge) { c.Nonce = "aB3dE5gH7jK9mN1pQ2rS4t" },
		"another end":     func(c *handlers.PolicyChallenge) { c.ExpiresAt = c.ExpiresAt.Add(time.Hour) },
		"another begin":   func(c *handlers.PolicyChallenge) { c.IssuedAt = c.IssuedAt.Add(time.Second) },
	} {
		_, err := r.signs(change.Token, alice.Key, lie)
		refused(what, wallet.InvalidSignature, err)
	}
	for what, key := range map[string]ed25519.PrivateKey{"another person": bob.Key, "another wallet of hers": second, "nobody": r.NewKey()} {
		_, err := r.signs(change.Token, key, nil)
		refused(what, wallet.InvalidSignature, err)
	}
	_, err = r.signs("nonsense", alice.Key, nil)
	refused("no link", wallet.NotFound, err)
	_, err = r.Policies.Sign(r.Context(), change.Token+"x", wallet.Signature{})
	refused("another token", wallet.NotFound, err)
	// The text that connects a wallet is another.
	c, err := r.Policies.Challenge(r.Context(), change.Token)
	r.Must(err)
	u := r.Policies.PublicURL
	for what, text := range map[string]string{
		"a sign-in":  wallet.SignInText(u.Host, u.Scheme+"://"+u.Host, c.Address, wallet.TelegramAccount(c.TelegramID), c.Chain, c.Nonce, c.IssuedAt, c.ExpiresAt),
		"unfreezing": wallet.UnfreezeText(u.Host, u.Scheme+"://"+u.Host, c.Address, wallet.TelegramAccount(c.TelegramID), c.Chain, c.Nonce, c.IssuedAt, c.ExpiresAt),
		"elsewhere":  wallet.PolicyText("evil.example", "https://evil.example", c.Address, c.Proposed, wallet.TelegramAccount(c.TelegramID), c.Chain, c.Nonce, c.IssuedAt, c.ExpiresAt),
	} {
		_, err := r.Policies.Sign(r.Context(), change.Token, wallet.Signature(ed25519.Sign(alice.Key, []byte(text))))
		refused(what, wallet.InvalidSignature, err)
	}
	// Newer link, older link; and an expired one.
	newer, err := r.changes(alice, solPolicy(6))
	r.Must(err)
	_, err = r.signs(change.Token, alice.Key, nil)
	refused("a link that was replaced", wallet.NotFound, err)
	r.Pass(wallet.PolicyWindow)
	_, err = r.signs(newer.Token, alice.Key, nil)
	refused("an expired link", wallet.NotFound, err)
	if entries, _ := r.logged(alice, wallet.LogLimitsSigned); entries != 0 {
		t.Errorf("%d entries say that something was signed", entries)
	}
}

// TestARefusedSignatureUsesUpNoLink: the right one sets the limits all the same, as if it were the first.
func TestARefusedSignatureUsesUpNoLink(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 10*sol), r.rich(1002, 10*sol)
	_, err := r.changes(alice, solPolicy(2))
	r.Must(err)
	change, err := r.changes(alice, solPolicy(5))
	r.Must(err)
	for range 2 {
		_, err = r.signs(change.Token, bob.Key, nil)
		r.Refused(wallet.InvalidSignature, err)
		if got := r.policy(alice); got.Pending != nil || !got.Current.Equal(solPolicy(2)) {
			t.Fatalf("refused, it is %+v", got)
		}
	}
	r.Pass(time.Minute)
	signed, err := r.signs(change.Token, alice.Key, nil)
	r.Must(err)
	effective := r.Now().UTC().Add(wallet.PolicyDelay)
	if !signed.Waiting || !signed.EffectiveAt.Equal(effective) {
		t.Errorf("signed after that, it is %+v", signed)
	}
	if got := r.policy(alice); got.Pending == nil || !got.Pending.Equal(solPolicy(5)) || !got.PendingFrom.Equal(effective) {
		t.Errorf("signed after that, the policy is %+v", got)
	}
	if entries, notices := r.logged(alice, wallet.LogLimitsSigned); entries != 1 || notices != 1 {
		t.Errorf("logged %d times, with %d messages", entries, notices)
	}
}

// TestTheSameSignatureAgainChangesNothingMore: the answer to the first was lost, or somebody saw it.
func TestTheSameSignatureAgainChangesNothingMore(t *testing.T) {
	r := newHarness(t)
	alice := r.rich(1001, 10*sol)
	_, err := r.changes(alice, solPolicy(2))
	r.Must(err)
	change, err := r.changes(alice, solPolicy(5))
	r.Must(err)
	first, err := r.signs(change.Token, alice.Key, nil)
	r.Must(err)
	r.Pass(time.Minute)
	if again, err := r.signs(change.Token, alice.Key, nil); err != nil || again != first {
		t.Errorf("again: %+v, %v", again, err)
	}
	if entries, notices := r.logged(alice, wallet.LogLimitsSigned); entries != 1 || notices != 1 {
		t.Errorf("logged %d times, with %d messages", entries, notices)
	}
	// Cancelled, the same signature brings nothing back.
	r.Must(r.Update(func(tx store.Tx) error {
		state, err := r.Policies.CancelPending(tx, alice.User.ID, alice.Address())
		if err == nil && (state.Pending != nil || !state.Current.Equal(solPolicy(2))) {
			t.Errorf("cancelled, it is %+v", state)
		}
		return err
	}))
	if _, err := r.signs(change.Token, alice.Key, nil); wallet.CodeOf(err) != wallet.NotFound {
		t.Errorf("signed after it was cancelled: %v", err)
	}
	r.Refused(wallet.Conflict, r.Update(func(tx store.Tx) error {
		_, err := r.Policies.CancelPending(tx, alice.User.ID, alice.Address())
		return err
	}))
	r.Pass(wallet.PolicyDelay)
	if got := r.policy(alice); !got.Current.Equal(solPolicy(2)) {
		t.Errorf("a day later it is %+v", got)
	}
	if entries, _ := r.logged(alice, wallet.LogLimitsCancelled); entries != 1 {
		t.Errorf("%d entries say that it was cancelled", entries)
	}
}

// TestASecondDeviceSignsWhatHolds: at once, and a change that waits has ended. The proof of it is what a device learns.
func TestASecondDeviceSignsWhatHolds(t *testing.T) {
	r := newHarness(t)
	alice := r.rich(1001, 10*sol)
	stored := func() (w wallet.WalletPolicy) {
		r.View(func(tx store.Tx) (err error) { w, err = tx.Policy(alice.User.ID, alice.Address()); return err })
		return w.At(r.Now())
	}
	proves := func(w wallet.WalletPolicy, policy wallet.Policy) {
		t.Helper()
		if w.Signed == nil || !w.Signed.Policy.Equal(policy) {
			t.Fatalf("its proof is %+v", w.Signed)
		}
		u, p := r.Policies.PublicURL, w.Signed
		text := wallet.PolicyText(u.Host, u.Scheme+"://"+u.Host, alice.Address(), p.Policy, wallet.TelegramAccount(p.TelegramID), r.Policies.Cluster, p.Nonce, p.IssuedAt, p.ExpiresAt)
		if !ed25519.Verify(alice.Key.Public().(ed25519.PublicKey), []byte(text), p.Signature[:]) {
			t.Error("its proof is wrong")
		}
	}
	_, err := r.changes(alice, solPolicy(2))
	r.Must(err)
	if stored().Signed != nil {
		t.Error("what nobody signed is proven")
	}
	change, err := r.changes(alice, solPolicy(5))
	r.Must(err)
	_, err = r.signs(change.Token, alice.Key, nil)
	r.Must(err)
	if stored().Signed != nil {
		t.Error("what waits is proven as if it held")
	}
	var token string
	r.Must(r.Update(func(tx store.Tx) (err error) {
		token, err = r.Policies.LinkForCurrent(tx, alice.User.ID, alice.Address())
		return err
	}))
	signed, err := r.signs(token, alice.Key, nil)
	if err != nil || signed.Waiting || !signed.EffectiveAt.Equal(r.Now()) {
		t.Errorf("signed: %+v, %v", signed, err)
	}
	proves(stored(), solPolicy(2))
	if got := r.policy(alice); got.Pending != nil { // as on the device, which keeps no change that waits beside what it signs
		t.Errorf("what waited is %+v", got)
	}
	r.Pass(wallet.PolicyDelay)
	proves(stored(), solPolicy(2))
	change, err = r.changes(alice, solPolicy(5))
	r.Must(err)
	_, err = r.signs(change.Token, alice.Key, nil)
	r.Must(err)
	r.Pass(wallet.PolicyDelay)
	proves(stored(), solPolicy(5))
	// Stricter by the chat: what holds is not signed, so the proof stays that of the looser one.
	_, err = r.changes(alice, solPolicy(1))
	r.Must(err)
	proves(stored(), solPolicy(5))
	if !stored().State.Current.Equal(solPolicy(1)) {
		t.Error("the proof loosened it")
	}
}
