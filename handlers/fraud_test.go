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

// prices makes SOL worth so many dollars.
func (r *harness) prices(dollars string) {
	r.Helper()
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.SavePrices([]wallet.TokenPrice{{Price: wallet.MustPrice(dollars), At: r.Now(), Source: "test"}})
	}))
}

// confirms is the owner's Confirm, committed as the chat does: what was found in addition is kept.
func (r *harness) confirms(who handlers.Caller, id wallet.TransactionID, typed string) (t wallet.Transaction, again bool, err error) {
	c, err := r.Transfers.PrepareConfirm(context.Background(), who, id, typed)
	if err != nil {
		return t, false, err
	}
	err = r.Update(func(tx store.Tx) error {
		t, err = r.Transfers.CommitConfirm(tx, c)
		if again = handlers.IsJudgedAgain(err); again {
			return nil
		}
		return err
	})
	return t, again, err
}

// TestSomethingGraverAsksAgainOnce: a payment that was small when it was proposed is large when it is confirmed.
func TestSomethingGraverAsksAgainOnce(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 50*sol), r.rich(1002, sol)
	r.prices("10")
	id := r.proposed(alice, bob.Address(), "20")
	if was := r.Transaction(id); was.Typing() != wallet.TypesNothing || was.DelayFor != 0 {
		t.Fatalf("proposed with %v", was.Findings)
	}
	r.Pass(time.Second)
	r.prices("100")
	got, again, err := r.confirms(alice.Caller(), id, "")
	if stored := r.Transaction(id); err != nil || !again || got.Status != wallet.AwaitingConfirmation || stored.Typing() != wallet.TypesAddress || stored.SignID != "" || stored.Version != got.Version {
		t.Fatalf("with more found, it is %s with %v: again %v, %v", got.Status, stored.Findings, again, err)
	}
	if _, _, err := r.confirms(alice.Caller(), id, ""); wallet.CodeOf(err) != wallet.PolicyViolation {
		t.Errorf("a second tap: %v", err)
	}
	// Graver still: it now waits as well. What was typed for less does not pass.
	r.Pass(time.Second)
	r.prices("1000")
	got, again, err = r.confirms(alice.Caller(), id, world.Typed(r.Transaction(id)))
	if err != nil || !again || got.DelayFor != time.Hour || got.DelayReason.Key != "rule.very_large_first_payment" {
		t.Fatalf("it waits %v because of %v: again %v, %v", got.DelayFor, got.DelayReason, again, err)
	}
	// The same is not asked for again.
	got, again, err = r.confirms(alice.Caller(), id, world.Typed(r.Transaction(id)))
	if err != nil || again || got.Status == wallet.AwaitingConfirmation {
		t.Errorf("confirmed, it is %s: again %v, %v", got.Status, again, err)
	}
}

// TestLessIsConfirmedAtOnce: what became harmless does not ask again.
func TestLessIsConfirmedAtOnce(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 50*sol), r.rich(1002, sol)
	r.prices("100")
	id := r.proposed(alice, bob.Address(), "20")
	r.Pass(time.Second)
	r.prices("1")
	if got, again, err := r.confirms(alice.Caller(), id, world.Typed(r.Transaction(id))); err != nil || again || got.Status == wallet.AwaitingConfirmation {
		t.Errorf("it is %s: again %v, %v", got.Status, again, err)
	}
}

// TestWhatIsBlockedMeanwhileIsNotConfirmed, and a suspected poisoning that appears meanwhile asks again.
func TestWhatIsBlockedMeanwhileIsNotConfirmed(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 5*sol), r.rich(1002, sol)
	id := r.proposed(alice, bob.Address(), "1")
	r.Blocked.Replace([]wallet.Address{bob.Address()})
	_, again, err := r.confirms(alice.Caller(), id, "")
	if again || wallet.CodeOf(err) != wallet.PolicyViolation || wallet.ReasonOf(err).Key != "rule.listed_address" || r.Transaction(id).Status != wallet.AwaitingConfirmation {
		t.Errorf("blocked meanwhile: again %v, %v", again, err)
	}
	// Two contacts later, the recipient of an open proposal resembles one.
	friend := r.Stranger()
	like := world.Resembling(r, friend, 4, 4)
	id = r.proposed(alice, like, "1")
	r.Must(r.adds(alice, "friend", friend))
	if got, again, err := r.confirms(alice.Caller(), id, ""); err != nil || !again || got.PoisoningSuspect != friend {
		t.Errorf("a poisoning suspect meanwhile: %s, again %v, %v", got.PoisoningSuspect, again, err)
	}
}

// TestATextThatFitsTwoPaymentsConfirmsNeither.
func TestATextThatFitsTwoPaymentsConfirmsNeither(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 500*sol), r.rich(1002, sol)
	r.send(alice, bob.Address(), "0.1", "SOL")
	for range 11 {
		r.Must(r.Update(func(tx store.Tx) error {
			return tx.CreateTransaction(wallet.Transaction{ID: wallet.TransactionID(r.NewID("tx")), Kind: wallet.Send, Status: wallet.Confirmed, Owner: alice.User.ID,
				From: alice.Address(), To: bob.Address(), Token: wallet.SOL, Amount: 1, CreatedAt: r.Now(), ConfirmedAt: r.Now(), EndedAt: r.Now(), Closed: true, Reference: r.Stranger()})
		}))
	}
	first, second, other := r.proposed(alice, bob.Address(), "2"), r.proposed(alice, bob.Address(), "2"), r.proposed(alice, bob.Address(), "3")
	ctx := context.Background()
	if got, ok, err := r.Transfers.FindTypedConfirmation(ctx, alice.Caller(), "2", true); ok || wallet.ReasonOf(err).Key != "proposal.typed_fits_several" {
		t.Errorf("2 confirms %s: %v", got, err)
	}
	if got, ok, err := r.Transfers.FindTypedConfirmation(ctx, alice.Caller(), "3", true); !ok || got != other || err != nil {
		t.Errorf("3 confirms %s, %v: %v", got, ok, err)
	}
	if _, ok, err := r.Transfers.FindTypedConfirmation(ctx, alice.Caller(), "3", false); ok || err != nil {
		t.Errorf("3 confirms while another question is open: %v", err)
	}
	r.Must(r.Update(func(tx store.Tx) error {
		_, err := r.Transfers.Reject(tx, alice.Caller(), second)
		return err
	}))
	if got, ok, err := r.Transfers.FindTypedConfirmation(ctx, alice.Caller(), "2", true); !ok || got != first || err != nil {
		t.Errorf("with one left, 2 confirms %s, %v: %v", got, ok, err)
	}
}

// TestProgramsAreWarnedAndRefused: nobody can type or wait in a program, so warnings are notes there, and refusals hold.
func TestProgramsAreWarnedAndRefused(t *testing.T) {
	r := newHarness(t)
	ctx := context.Background()
	for name, owned := range map[string]bool{"of a person": true, "of nobody": false} {
		by, from := handlers.Caller{KeyID: "key_1", KeyLineage: "key_1"}, r.Stranger()
		r.Fund(from, 500*sol)
		if owned {
			by.User = r.rich(1001, sol).User.ID
		}
		to := r.rich(map[bool]int64{true: 1002, false: 1003}[owned], sol)
		r.Must(r.Update(func(tx store.Tx) error {
			w := wallet.Wallet{Address: from, Owner: by.User, Type: wallet.DeveloperWallet, ConnectedAt: r.Now()}
			if !owned {
				w.KeyLineage = "key_1"
			}
			return tx.PutWallet(w)
		}))
		r.Pass(time.Second)
		r.prices("100")
		req := handlers.SendRequest{From: from, To: to.Address(), Amount: world.Quantity("480"), Token: world.TokenRef("SOL")}
		p, err := r.Transfers.Prepare(ctx, by, req)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := p.Transaction; wallet.Worst(got.Findings) > wallet.NoteVerdict || got.DelayFor != 0 || got.Typing() != wallet.TypesNothing || owned != slices.Contains(got.Warnings(), wallet.RuleDrain) {
			t.Errorf("%s: found %v, waits %v", name, got.Findings, got.DelayFor)
		}
		r.Must(r.Update(func(tx store.Tx) error {
			got, err := r.Transfers.CommitByProgram(tx, p)
			if err == nil && got.Status != wallet.AwaitingSignature {
				t.Errorf("%s: it waits as %s", name, got.Status)
			}
			return err
		}))
		r.Blocked.Replace([]wallet.Address{to.Address()})
		req.Amount = world.Quantity("1")
		if _, err := r.Transfers.Prepare(ctx, by, req); wallet.ReasonOf(err).Key != "rule.listed_address" {
			t.Errorf("%s: a blocked address: %v", name, err)
		}
		r.Blocked.Replace(nil)
	}
}

// TestALinkOpenedOnANewDeviceWarnsOfLargePayments: also of one that was proposed before, and not on the person's first device.
func TestALinkOpenedOnANewDeviceWarnsOfLargePayments(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 90*sol), r.rich(1002, sol)
	r.Must(r.adds(alice, "Bob", bob.Address()))
	r.prices("100")
	opens := func(device string) {
		t.Helper()
		r.Must(r.Security.OpenedLink(r.Context(), wallet.LinkToConnect, r.Link(alice.User), handlers.Client{Address: "203.0.113.7", Device: device}))
	}
	opens("Chrome (Android)")
	early := r.proposed(alice, bob.Address(), "10")
	if was := r.Transaction(early); len(was.Findings) != 0 {
		t.Fatalf("on the first device: %v", was.Findings)
	}
	opens("Firefox (Linux)")
	if got, again, err := r.confirms(alice.Caller(), early, ""); err != nil || !again || got.Typing() != wallet.TypesAmount {
		t.Errorf("a large payment of before: again %v, %v, %v", again, got.Findings, err)
	}
	if is := r.Transaction(r.proposed(alice, bob.Address(), "9.9")); len(is.Findings) != 0 {
		t.Errorf("a small payment: %v", is.Findings)
	}
	large := r.Transaction(r.proposed(alice, bob.Address(), "10"))
	if got := large.Warnings(); !slices.Equal(got, []wallet.RuleName{wallet.RuleNewDevice}) || len(large.PublicFindings()) != 0 {
		t.Errorf("a large payment: %v, an app sees %v", got, large.PublicFindings())
	}
	r.Pass(23 * time.Hour) // the devices are known, so opening links on them again changes nothing
	r.prices("100")
	opens("Firefox (Linux)")
	r.Pass(time.Hour)
	r.prices("100")
	if is := r.Transaction(r.proposed(alice, bob.Address(), "10")); len(is.Findings) != 0 {
		t.Errorf("a day later: %v", is.Findings)
	}
}
