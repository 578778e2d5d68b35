package handlers_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"purser/e2e/world"
	"purser/store"
	"purser/wallet"
)

// TestWhoMayChangeLimits: the owner of the connected wallet, within bounds, while their account is not frozen.
func TestWhoMayChangeLimits(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 10*sol), r.rich(1002, 10*sol)
	_, err := r.changes(alice, solPolicy(2))
	r.Must(err)
	each := func(person wallet.UserID, code wallet.Code) {
		t.Helper()
		for what, do := range map[string]func(store.Tx) error{
			"Of": func(tx store.Tx) error { _, err := r.Policies.Of(tx, person, alice.Address()); return err },
			"Change": func(tx store.Tx) error {
				_, err := r.Policies.Change(tx, person, alice.Address(), solPolicy(1))
				return err
			},
			"Cancel":         func(tx store.Tx) error { _, err := r.Policies.CancelPending(tx, person, alice.Address()); return err },
			"LinkForCurrent": func(tx store.Tx) error { _, err := r.Policies.LinkForCurrent(tx, person, alice.Address()); return err },
		} {
			if err := r.Update(do); wallet.CodeOf(err) != code {
				t.Errorf("%s by %q: %v", what, person, err)
			}
		}
	}
	each(bob.User.ID, wallet.WalletNotFound)
	each("", wallet.WalletNotFound)
	many, to := []wallet.TokenLimit{}, []wallet.Address{}
	for range wallet.MaxTokenLimits + 1 {
		many = append(many, wallet.TokenLimit{Mint: r.Stranger(), Units: 1})
	}
	for range wallet.MaxAllowed + 1 {
		to = append(to, r.Stranger())
	}
	allowed := to[1:]
	for what, p := range map[string]wallet.Policy{
		"too many payment limits": {Payment: many}, "too many day limits": {Day: many}, "too many recipients": {Recipients: &to},
		"half an hour": {NewRecipientWait: 90 * time.Minute}, "a negative wait": {NewRecipientWait: -time.Hour}, "too long": {NewRecipientWait: wallet.MaxNewRecipientWait + time.Hour},
	} {
		if _, err := r.changes(alice, p); wallet.CodeOf(err) != wallet.InvalidRequest {
			t.Errorf("%s: %v", what, err)
		}
	}
	if got := r.policy(alice); !got.Current.Equal(solPolicy(2)) {
		t.Fatalf("something was stored: %+v", got)
	}
	full := wallet.Policy{Payment: append(solPolicy(2).Payment, many[2:]...), Day: many[1:], Recipients: &allowed, NewRecipientWait: wallet.MaxNewRecipientWait}
	if change, err := r.changes(alice, full); err != nil || !change.State.Current.Equal(full) {
		t.Errorf("at its bounds: %v", err)
	}
	// Limits of wrapped SOL are limits of SOL.
	wrapped := wallet.Policy{Payment: []wallet.TokenLimit{{Mint: wallet.WrappedSOL, Units: 7}}}
	if change, err := r.changes(bob, wrapped); err != nil || !change.State.Current.Equal(wallet.Policy{Payment: []wallet.TokenLimit{{Units: 7}}}) {
		t.Errorf("wrapped SOL: %+v, %v", change, err)
	}
	r.freeze(alice.User.ID)
	// A link that was not ended with the freeze does nothing.
	l := wallet.PolicyLink{TokenHash: sha256.Sum256([]byte("left")), User: alice.User.ID, Address: alice.Address(), IssuedAt: r.Now(), ExpiresAt: r.Now().Add(time.Minute)}
	r.Must(r.Update(func(tx store.Tx) error { return tx.PutPolicyLink(l) }))
	_, err = r.Policies.Challenge(r.Context(), "left")
	r.Refused(wallet.PolicyViolation, err)
	_, err = r.Policies.Sign(r.Context(), "left", wallet.Signature{})
	r.Refused(wallet.PolicyViolation, err)
	for what, do := range map[string]func(store.Tx) error{
		"Change": func(tx store.Tx) error {
			_, err := r.Policies.Change(tx, alice.User.ID, alice.Address(), solPolicy(1))
			return err
		},
		"LinkForCurrent": func(tx store.Tx) error {
			_, err := r.Policies.LinkForCurrent(tx, alice.User.ID, alice.Address())
			return err
		},
	} {
		if err := r.Update(do); wallet.CodeOf(err) != wallet.PolicyViolation {
			t.Errorf("%s while frozen: %v", what, err)
		}
	}
}

// TestWhatNobodyCanCancelDoesNotComeIntoForce: a freeze, and disconnecting the wallet, end a change that waits and the open link. The limits stay.
func TestWhatNobodyCanCancelDoesNotComeIntoForce(t *testing.T) {
	for what, ends := range map[string]func(*harness, *world.Person){
		"a freeze": func(r *harness, p *world.Person) { r.freeze(p.User.ID) },
		"a disconnection": func(r *harness, p *world.Person) {
			r.Must(r.Update(func(tx store.Tx) error {
				_, _, err := r.Wallets.Disconnect(tx, p.User.ID, p.Address().String())
				return err
			}))
		},
	} {
		for _, open := range []bool{true, false} { // a link that is open, or a change that waits
			t.Run(fmt.Sprint(what, open), func(t *testing.T) {
				r := newHarness(t)
				alice := r.rich(1001, 10*sol)
				_, err := r.changes(alice, solPolicy(2))
				r.Must(err)
				change, err := r.changes(alice, solPolicy(5))
				r.Must(err)
				c, err := r.Policies.Challenge(r.Context(), change.Token)
				r.Must(err)
				u := r.Policies.PublicURL
				sig := wallet.Signature(ed25519.Sign(alice.Key, []byte(wallet.PolicyText(u.Host, u.Scheme+"://"+u.Host, c.Address, c.Proposed, wallet.TelegramAccount(c.TelegramID), c.Chain, c.Nonce, c.IssuedAt, c.ExpiresAt))))
				if !open {
					_, err := r.Policies.Sign(r.Context(), change.Token, sig)
					r.Must(err)
				}
				ends(r, alice)
				if _, err := r.Policies.Sign(r.Context(), change.Token, sig); wallet.CodeOf(err) != wallet.NotFound {
					t.Errorf("signed afterwards: %v", err)
				}
				if _, err := r.Policies.Challenge(r.Context(), change.Token); wallet.CodeOf(err) != wallet.NotFound {
					t.Errorf("asked for afterwards: %v", err)
				}
				r.Pass(wallet.PolicyDelay)
				r.View(func(tx store.Tx) error {
					stored, err := tx.Policy(alice.User.ID, alice.Address())
					if got := stored.At(r.Now()).State; err != nil || got.Pending != nil || !got.Current.Equal(solPolicy(2)) {
						t.Errorf("a day later it is %+v, %v", got, err)
					}
					return nil
				})
			})
		}
	}
}

// TestALinkDiesWithItsWallet: moved to another person, who has no limits of the old one, and no way to them.
func TestALinkDiesWithItsWallet(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 10*sol), r.rich(1002, 10*sol)
	_, err := r.changes(alice, solPolicy(2))
	r.Must(err)
	change, err := r.changes(alice, solPolicy(5))
	r.Must(err)
	moves := func(to *world.Person) {
		r.Must(r.Update(func(tx store.Tx) error {
			held, err := tx.Wallet(alice.Address())
			held.Owner = to.User.ID
			return errors.Join(err, tx.DeleteWallet(held.Address), tx.PutWallet(held))
		}))
	}
	moves(bob)
	if _, err := r.signs(change.Token, alice.Key, nil); wallet.CodeOf(err) != wallet.NotFound {
		t.Errorf("the link: %v", err)
	}
	r.View(func(tx store.Tx) error {
		if state, err := r.Policies.Of(tx, bob.User.ID, alice.Address()); err != nil || !reflect.DeepEqual(state, wallet.PolicyState{}) {
			t.Errorf("the new owner has %+v, %v", state, err)
		}
		return nil
	})
	moves(alice) // back: hers stayed
	if got := r.policy(alice); !got.Current.Equal(solPolicy(2)) {
		t.Errorf("back, it is %+v", got)
	}
	r.Must(r.Update(func(tx store.Tx) error { return r.Users.Erase(tx, alice.User.ID) }))
	if _, err := r.signs(change.Token, alice.Key, nil); wallet.CodeOf(err) != wallet.NotFound {
		t.Errorf("the link of somebody who was erased: %v", err)
	}
}

// TestNoSignatureGoesUnnoticed: when the log takes no more entries of a day, nothing more can be signed on it.
func TestNoSignatureGoesUnnoticed(t *testing.T) {
	r := newHarness(t)
	alice := r.rich(1001, 10*sol)
	_, err := r.changes(alice, solPolicy(2))
	r.Must(err)
	r.Must(r.Update(func(tx store.Tx) error {
		for range wallet.SecurityDaily.PerDay {
			if err := store.LogSecurity(tx, alice.User.ID, r.Now(), wallet.LogLimitsSigned, wallet.SecurityDetails{Wallet: alice.Address()}); err != nil {
				return err
			}
		}
		return nil
	}))
	change, err := r.changes(alice, solPolicy(5))
	r.Must(err)
	if _, err := r.signs(change.Token, alice.Key, nil); wallet.CodeOf(err) != wallet.RateLimitExceeded || r.policy(alice).Pending != nil {
		t.Errorf("signed: %v", err)
	}
	r.Pass(24 * time.Hour)
	change, err = r.changes(alice, solPolicy(5))
	r.Must(err)
	_, err = r.signs(change.Token, alice.Key, nil)
	r.Must(err)
}

// TestLimitsStayWithinWhatCanBeProposed: stricter limits add up, and what adds up to more than a policy may hold could never be signed, and so never
// changed again.
func TestLimitsStayWithinWhatCanBeProposed(t *testing.T) {
	r := newHarness(t)
	alice := r.rich(1001, 10*sol)
	limits := func(from, n int) (p wallet.Policy) {
		for i := range n {
			p.Payment = append(p.Payment, wallet.TokenLimit{Mint: wallet.Address{1, byte(from + i)}, Units: 5})
		}
		return p
	}
	if _, err := r.changes(alice, limits(0, wallet.MaxTokenLimits)); err != nil {
		t.Fatal(err)
	}
	before := r.policy(alice)
	_, err := r.changes(alice, limits(1, wallet.MaxTokenLimits)) // one token instead of another
	r.Refused(wallet.InvalidRequest, err)
	_, err = r.changes(alice, limits(100, 1))
	r.Refused(wallet.InvalidRequest, err)
	_, err = r.changes(alice, wallet.Policy{Recipients: &[]wallet.Address{{}}}) // no address, which the page would not read
	r.Refused(wallet.InvalidRequest, err)
	if now := r.policy(alice); !reflect.DeepEqual(now, before) {
		t.Errorf("it is %+v, was %+v", now, before)
	}
	change, err := r.changes(alice, limits(1, wallet.MaxTokenLimits-1)) // first one of them goes
	if err != nil || change.Token == "" {
		t.Fatalf("%+v, %v", change, err)
	}
	// A Cancel before the device signed ends the link, though nothing waits yet.
	r.Must(r.Update(func(tx store.Tx) error {
		_, err := r.Policies.CancelPending(tx, alice.User.ID, alice.Address())
		r.Refused(wallet.Conflict, err)
		return nil
	}))
	_, err = r.signs(change.Token, alice.Key, nil)
	r.Refused(wallet.NotFound, err)
}

// TestADamagedPolicyStopsPayments: they do not go on as if there were no limits.
func TestADamagedPolicyStopsPayments(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 50*sol), r.rich(1002, 10*sol)
	r.limits(alice, solPolicy(1))
	address := alice.Address()
	r.Rewrite(append(append([]byte(alice.User.ID), 0), address[:]...), func(raw []byte) []byte { raw[len(raw)-1] ^= 1; return raw })
	if err := r.pays(alice, bob.Address(), "0.5", "SOL"); err == nil {
		t.Error("it is proposed")
	}
}
