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
