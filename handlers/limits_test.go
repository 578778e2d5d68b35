package handlers_test

import (
	"testing"
	"time"

	"purser/e2e/world"
	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// again is somebody who has everything deleted and writes to the bot once more.
func (r *harness) again(p *world.Person) {
	r.Helper()
	r.Must(r.Update(func(tx store.Tx) error { return r.Users.Erase(tx, p.User.ID) }))
	before := p.User.ID
	if r.Meet(p); p.User.ID == before {
		r.Fatal("they are remembered")
	}
}

// TestProgramsAskTwentyTimesAnHour: whatever signs for the wallet, whatever became of the questions, and
// whatever else happens to it meanwhile.
func TestProgramsAskTwentyTimesAnHour(t *testing.T) {
	for _, kind := range []wallet.WalletType{wallet.PageWallet, wallet.ExternalWallet, wallet.DeveloperWallet} {
		r := newHarness(t)
		alice, bob := r.rich(1001, 5*sol), r.Stranger()
		typed := func() {
			r.Must(r.Update(func(tx store.Tx) error {
				return tx.PutWallet(wallet.Wallet{Address: alice.Address(), Owner: alice.User.ID, Type: kind, ConnectedAt: r.Now()})
			}))
		}
		asks := func() error {
			by := handlers.Caller{User: alice.User.ID, KeyID: "key_1", KeyLineage: "key_1"}
			p, err := r.Transfers.Prepare(t.Context(), by, handlers.SendRequest{From: alice.Address(), To: bob, Amount: world.Quantity("0.1"), Ask: true})
			r.Must(err)
			return r.Update(func(tx store.Tx) error {
				proposed, err := r.Transfers.CommitByProgram(tx, p)
				if err != nil {
					return err
				}
				_, err = r.Transfers.Reject(tx, alice.Caller(), proposed.ID) // so that none waits
				return err
			})
		}
		typed()
		for i := range 20 {
			if err := asks(); err != nil {
				t.Fatalf("%s, question %d: %v", kind, i+1, err)
			}
			r.Pass(time.Minute)
		}
		r.Refused(wallet.RateLimitExceeded, asks())
		r.again(alice)
		typed()
		r.Refused(wallet.RateLimitExceeded, asks())
		r.Pass(40*time.Minute - time.Nanosecond)
		r.Refused(wallet.RateLimitExceeded, asks())
		r.Pass(time.Nanosecond)
		r.Must(asks())
		r.Refused(wallet.RateLimitExceeded, asks())
	}
}

// TestErasingGivesNoMoreMail: three codes an hour for one person, and to one address.
func TestErasingGivesNoMoreMail(t *testing.T) {
	r := newHarness(t)
	post, alice := r.withMail(), r.Somebody(1001, "Alice")
	r.Meet(alice)
	for range handlers.CodesAnHour {
		_, err := post.mail(alice.User.ID, "victim@example.org")
		r.Must(err)
		r.again(alice)
	}
	_, err := post.mail(alice.User.ID, "victim@example.org")
	r.Refused(wallet.RateLimitExceeded, err)
	_, err = post.mail(alice.User.ID, "another@example.org")
	r.Refused(wallet.RateLimitExceeded, err)
	for i, same := range []string{"victim@example.org", "Victim@Example.ORG", "victim+1@example.org"} {
		_, err = post.mail(r.meet(int64(2001+i)).ID, same)
		r.Refused(wallet.RateLimitExceeded, err)
	}
	_, err = post.mail(r.meet(1002).ID, "bob@example.org")
	r.Must(err)
	r.Pass(time.Hour)
	_, err = post.mail(alice.User.ID, "victim@example.org")
	r.Must(err)
}

// TestErasingAsksNoOperatorAgain: neither after a no, nor while their word is waited for.
func TestErasingAsksNoOperatorAgain(t *testing.T) {
	for _, denied := range []bool{true, false} {
		r := newHarness(t)
		r.Developers.Admins = []int64{3001}
		alice := r.Somebody(1001, "Alice")
		alice.User = r.verified(1001)
		question, err := r.asks(alice.User.ID, accessRequest(wallet.WalletSend))
		r.Must(err)
		r.Pass(time.Hour)
		if denied {
			r.Must(r.decides(3001, alice.User.ID, question, handlers.Deny))
		}
		r.again(alice)
		r.verified(1001)
		_, err = r.asks(alice.User.ID, accessRequest(wallet.WalletSend))
		r.Refused(wallet.Conflict, err)
		if r.Pass(handlers.AskPause - time.Hour); denied { // a no counts from when it was said
			_, err = r.asks(alice.User.ID, accessRequest(wallet.WalletSend))
			r.Refused(wallet.Conflict, err)
			r.Pass(time.Hour)
		}
		question, err = r.asks(alice.User.ID, accessRequest(wallet.WalletSend))
		r.Must(err)
		r.Must(r.decides(3001, alice.User.ID, question, handlers.ApproveFree))
		_, err = r.asks(alice.User.ID, accessRequest(wallet.WalletSend)) // a yes ends the pause
		r.Must(err)
	}
}

// TestOneLinkIsOfferedInTwelveHours: another attempt of the person's, or a new account of theirs, hides
// no offer that was made.
func TestOneLinkIsOfferedInTwelveHours(t *testing.T) {
	r := newHarness(t)
	alice, operator := r.Somebody(1001, "Alice"), handlers.Caller{KeyID: "key_1", KeyLineage: "key_1", Bot: true}
	r.Meet(alice)
	offers := func() error {
		return r.Update(func(tx store.Tx) error { return r.People.OfferLink(tx, operator, alice.User.ID) })
	}
	r.Must(offers())
	r.Refused(wallet.RateLimitExceeded, offers()) // before its link stands in the chat
	for range 2 {
		r.Pass(time.Hour)
		r.Link(alice.User)
		r.Must(r.Update(func(tx store.Tx) error { return r.Wallets.CancelLink(tx, alice.User.ID) }))
		r.Refused(wallet.RateLimitExceeded, offers())
		r.again(alice)
		r.Refused(wallet.RateLimitExceeded, offers())
	}
	r.Pass(10 * time.Hour)
	r.Must(offers())
}

// TestNothingIsPutToWhoeverBlockedTheBot: it would be promised, and never be seen.
func TestNothingIsPutToWhoeverBlockedTheBot(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 5*sol), r.Stranger()
	by := handlers.Caller{User: alice.User.ID, KeyID: "key_1", KeyLineage: "key_1"}
	proposes := func(ask bool) error {
		p, err := r.Transfers.Prepare(t.Context(), by, handlers.SendRequest{From: alice.Address(), To: bob, Amount: world.Quantity("0.1"), Ask: ask})
		r.Must(err)
		return r.Update(func(tx store.Tx) error { _, err := r.Transfers.CommitByProgram(tx, p); return err })
	}
	alice.User.Unreachable = true
	put := func(kind wallet.WalletType) {
		r.Must(r.Update(func(tx store.Tx) error {
			if err := tx.PutUser(alice.User); err != nil {
				return err
			}
			return tx.PutWallet(wallet.Wallet{Address: alice.Address(), Owner: alice.User.ID, Type: kind, ConnectedAt: r.Now()})
		}))
	}
	put(wallet.PageWallet)
	r.Refused(wallet.BotBlocked, proposes(false))
	r.Refused(wallet.BotBlocked, r.Update(func(tx store.Tx) error { return r.People.OfferLink(tx, by, alice.User.ID) }))
	put(wallet.DeveloperWallet)
	r.Refused(wallet.BotBlocked, proposes(true))
	r.Must(proposes(false)) // nobody is asked
	alice.User.Unreachable = false
	put(wallet.PageWallet)
	r.Must(proposes(false))
	r.Must(r.Update(func(tx store.Tx) error { return r.People.OfferLink(tx, by, alice.User.ID) }))
}
