package settle_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/wallet"
)

// hiding is a chain that does not show some transactions, and counts how often it was asked for them.
type hiding struct {
	*moneyLedger
	hides func(wallet.Signature) error // nil: nothing
	asked int
}

func (h *hiding) Activities(ctx context.Context, sig wallet.Signature, owners ...wallet.Address) ([]wallet.Activity, error) {
	if h.hides != nil {
		if err := h.hides(sig); err != nil {
			h.asked++
			return nil, err
		}
	}
	return h.moneyLedger.Activities(ctx, sig, owners...)
}

// hidingLedger is a harness whose nodes may hide transactions.
func hidingLedger(t *testing.T) (*watching, *hiding) {
	t.Helper()
	r, chain := onLedger(t)
	h := &hiding{moneyLedger: chain}
	r.Watcher.Chain = h
	r.Pass(time.Minute)
	return r, h
}

// TestManyThatAreNotShownAreNotLost: a balancer's node has none of a hundred payments for a while.
func TestManyThatAreNotShownAreNotLost(t *testing.T) {
	r, h := hidingLedger(t)
	var want []string
	for i := range uint64(100) {
		h.pay(r.bob.Address(), (i+1)*sol)
		want = append(want, fmt.Sprintf("%d SOL to bob", i+1))
	}
	h.hides = func(wallet.Signature) error { return network(wallet.ErrTransactionUnknown) }
	r.look()
	for range 20 {
		r.Pass(10 * time.Minute)
		r.drain()
	}
	if n := len(r.watched().Unread); n != 64 {
		t.Errorf("%d are kept to be tried again", n)
	}
	h.hides = nil
	r.Pass(12 * time.Hour)
	r.drain()
	r.look()
	r.Pass(12 * time.Hour)
	r.look()
	got := r.told()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || strings.Contains(r.log.String(), "was never shown") {
		t.Errorf("announced were %d: %q", len(got), got)
	}
	if n := len(r.watched().Unread); n != 0 {
		t.Errorf("%d are still kept", n)
	}
}

// TestManyThatCannotBeReadHideNoNewOne: more than are kept. What comes after them is told at once, and in the end they give way.
func TestManyThatCannotBeReadHideNoNewOne(t *testing.T) {
	r, h := hidingLedger(t)
	planted := map[wallet.Signature]bool{}
	for range 70 {
		planted[h.pay(r.bob.Address(), sol)] = true
	}
	h.hides = func(sig wallet.Signature) error {
		if planted[sig] {
			return &wallet.UnreadableTransaction{Signature: sig, Why: "garbage"}
		}
		return nil
	}
	h.pay(r.bob.Address(), 2*sol)
	r.look()
	r.expect("2 SOL to bob")
	asked := h.asked
	r.Pass(time.Minute)
	r.drain()
	if more := h.asked - asked; more > 80 {
		t.Errorf("%d calls for them in the next try", more)
	}
	h.pay(r.bob.Address(), 3*sol)
	r.Pass(time.Minute)
	r.drain()
	r.expect("2 SOL to bob", "3 SOL to bob")
	if row := r.watched(); len(row.Unread) != 64 || row.Accounts[0].Units != 0 || strings.Contains(r.log.String(), "was never shown") {
		t.Errorf("%+v", row)
	}
	for range 8 * 8 {
		r.Pass(3 * time.Hour)
		r.look()
	}
	if row := r.watched(); len(row.Unread) != 0 || row.Accounts[0].Units != 75*sol {
		t.Errorf("after a week: %+v", row)
	}
	if n := strings.Count(r.log.String(), "was never shown"); n != 70 {
		t.Errorf("%d were given up", n)
	}
	r.expect("2 SOL to bob", "3 SOL to bob")
}

// TestPlantedGarbageDelaysAPaymentByMinutes: two hundred transactions that nobody can read, planted around a payment for a few cents, do not hide it
// for weeks. What nodes do not show at all, however, is waited for.
func TestPlantedGarbageDelaysAPaymentByMinutes(t *testing.T) {
	r, h := hidingLedger(t)
	planted := map[wallet.Signature]bool{}
	plant := func(n int) {
		for range n {
			planted[h.pay(r.bob.Address(), 1)] = true
		}
	}
	plant(190)
	h.pay(r.bob.Address(), 100*sol)
	plant(13)
	h.hides = func(sig wallet.Signature) error {
		if planted[sig] {
			return &wallet.UnreadableTransaction{Signature: sig, Why: "garbage"}
		}
		return nil
	}
	r.look()
	for range 9 {
		r.Pass(5 * time.Minute)
		r.drain()
	}
	r.expect("100 SOL to bob")
}

// TestOneThatCannotBeAskedForHidesNoOtherForLong: one node is down for good, and the other one does not have the transaction.
func TestOneThatCannotBeAskedForHidesNoOtherForLong(t *testing.T) {
	r, h := hidingLedger(t)
	gone := h.pay(r.bob.Address(), sol)
	h.hides = func(sig wallet.Signature) error {
		if sig == gone {
			return network(errors.New("no answer"))
		}
		return nil
	}
	h.pay(r.bob.Address(), 2*sol)
	r.look()
	for range 50 {
		r.Pass(time.Minute)
		r.drain()
	}
	r.expect()
	if len(r.watched().Unread) != 0 {
		t.Error("it is kept for later after less than an hour")
	}
	for range 20 {
		r.Pass(time.Minute)
		r.drain()
	}
	r.expect("2 SOL to bob")
	h.hides = nil
	r.Pass(7 * time.Hour)
	r.look()
	r.expect("2 SOL to bob", "1 SOL to bob")
}

// TestATransactionThatNamesNobodyHereIsNotBelieved: a node resolves the lookup table of a payment to somebody else's account. The
// payment is in Bob's history all the same.
func TestATransactionThatNamesNobodyHereIsNotBelieved(t *testing.T) {
	r, chain := onLedger(t)
	r.Pass(time.Minute)
	bob := r.bob.Address()
	sig := chain.pay(bob, sol)
	whole := chain.paid[sig]
	whole.Mentions = []wallet.Address{r.alice.Address(), bob}
	other := wallet.Activity{Signature: sig, Slot: whole.Slot, Kind: wallet.ActivityOther, Mentions: []wallet.Address{r.alice.Address(), r.Stranger()}}
	chain.paid[sig] = other
	r.look()
	r.expect()
	if n := len(r.watched().Unread); n != 1 {
		t.Fatalf("%d are kept to be tried again", n)
	}
	// What shows a balance of the wallet's is believed, also of an account that is watched no longer.
	moved := whole
	moved.Mentions = other.Mentions
	for _, shown := range []wallet.Activity{moved, whole} {
		chain.paid[sig] = shown
		r.Pass(12 * time.Hour)
		r.final()
		r.expect("1 SOL to bob")
		if n := len(r.watched().Unread); n != 0 {
			t.Errorf("%d are kept to be tried again", n)
		}
	}
}

// TestAMentionIsNoTrouble: a transaction that names a wallet and does nothing to it is read once.
func TestAMentionIsNoTrouble(t *testing.T) {
	r, chain := onLedger(t)
	r.Pass(time.Minute)
	bob := r.bob.Address()
	sig := chain.pay(bob, 0)
	chain.paid[sig] = wallet.Activity{Signature: sig, Slot: chain.paid[sig].Slot, Kind: wallet.ActivityOther, Mentions: []wallet.Address{r.alice.Address(), bob}}
	chain.pay(bob, sol)
	r.look()
	r.expect("1 SOL to bob")
	if row := r.watched(); len(row.Unread) != 0 || row.Failures != 0 {
		t.Errorf("%+v", row)
	}
}
