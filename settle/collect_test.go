package settle

import (
	"context"
	"strings"
	"testing"
	"time"

	"purser/chain"
	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// requests makes Bob ask for a payment, and returns what waits for it.
func (r *rig) requests(amount, token string) handlers.PaymentRequest {
	r.t.Helper()
	p, err := r.transfers.PrepareRequest(context.Background(), handlers.Caller{User: r.bob.user.ID}, amount, token)
	if err != nil {
		r.t.Fatal(err)
	}
	r.update(func(tx store.Tx) error { return r.transfers.CommitRequest(tx, p) })
	return p
}

// received lists what came in for Bob, oldest first.
func (r *rig) received() []wallet.Transaction {
	r.t.Helper()
	var in []wallet.Transaction
	err := r.store.View(context.Background(), func(tx store.Tx) error {
		all, err := tx.TransactionsOf(r.bob.user.ID, "", 100)
		for _, t := range all {
			if t.Status == wallet.Received && !t.Signature.IsZero() {
				in = append([]wallet.Transaction{t}, in...)
			}
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return in
}

// look lets the settler look for payments once more.
func (r *rig) look() {
	r.t.Helper()
	r.blocks(40)
	r.pass(r.settler.Pace.Collect)
	r.rounds(1)
}

func TestARequestIsPaidByItsReference(t *testing.T) {
	r := newRig(t)
	asked := r.requests("1.5", "SOL")
	for _, part := range []string{"solana:" + r.bob.addr.String() + "?", "amount=1.5", "reference=" + asked.Transaction.Reference.String()} {
		if !strings.Contains(asked.URL, part) {
			t.Errorf("%s lacks %s", asked.URL, part)
		}
	}
	r.look()
	r.is(asked.Transaction.ID, wallet.Requested)

	// Any wallet may pay it: here one that purser does not know.
	r.raw(wallet.Transaction{From: r.alice.addr, To: r.bob.addr, Reference: asked.Transaction.Reference, Amount: sol / 2})
	r.blocks(3)
	r.pass(r.settler.Pace.Collect)
	r.rounds(1)
	if in := r.received(); len(in) != 0 {
		t.Fatalf("told before it is final: %+v", in)
	}
	r.look()
	r.is(asked.Transaction.ID, wallet.Requested) // only a part
	r.raw(wallet.Transaction{From: r.alice.addr, To: r.bob.addr, Reference: asked.Transaction.Reference, Amount: 3 * sol / 2})
	r.look()
	r.restart()
	r.look()
	r.is(asked.Transaction.ID, wallet.Received)
	in := r.received()
	if len(in) != 2 || in[0].Amount+in[1].Amount != 2*sol || in[0].From != r.alice.addr || in[0].ID != wallet.ReceivedID(in[0].Signature, r.bob.addr, wallet.Address{}) {
		t.Fatalf("received %+v", in)
	}
	for _, one := range in {
		if events := r.events(one.ID); len(events) != 1 || events[0] != wallet.TransactionReceived {
			t.Errorf("announced as %v", events)
		}
	}
}

func TestATokensRequestIsPaid(t *testing.T) {
	r := newRig(t)
	usdc, _ := listed(t).BySymbol("USDC")
	if _, err := r.cluster.AirdropToken(context.Background(), r.alice.addr.String(), usdc.Mint.String(), 30_000_000); err != nil {
		t.Fatal(err)
	}
	r.blocks(3)
	asked := r.requests("25", "USDC")
	if !strings.Contains(asked.URL, "spl-token="+usdc.Mint.String()) {
		t.Errorf("%s does not name the token", asked.URL)
	}
	pay := wallet.Transaction{From: r.alice.addr, To: r.bob.addr, Reference: asked.Transaction.Reference, Token: usdc, Amount: 25_000_000, Rent: 1}
	if _, err := chain.Build(pay); err != nil {
		t.Fatal(err)
	}
	r.raw(pay)
	r.look()
	r.is(asked.Transaction.ID, wallet.Received)
	if in := r.received(); len(in) != 1 || in[0].Amount != 25_000_000 || in[0].Token != usdc {
		t.Fatalf("received %+v", in)
	}
}

func TestWhatOnlyMentionsARequestDoesNotPayIt(t *testing.T) {
	r := newRig(t)
	asked := r.requests("1", "SOL")
	elsewhere := r.person(1003, sol)
	r.raw(wallet.Transaction{From: r.alice.addr, To: elsewhere.addr, Reference: asked.Transaction.Reference, Amount: sol})
	r.look()
	r.is(asked.Transaction.ID, wallet.Requested)
	if in := r.received(); len(in) != 0 {
		t.Fatalf("received %+v", in)
	}
	r.pass(handlers.RequestWindow)
	r.rounds(1)
	ended := r.is(asked.Transaction.ID, wallet.Expired)
	if !ended.Final || ended.ErrorCode != "" {
		t.Errorf("ended as %+v", ended)
	}
}

func TestOnlyAFewRequestsAreLookedForAtOnce(t *testing.T) {
	r := newRig(t)
	for range 5 {
		r.requests("1", "SOL")
	}
	p, err := r.transfers.PrepareRequest(context.Background(), handlers.Caller{User: r.bob.user.ID}, "1", "SOL")
	if err != nil {
		t.Fatal(err)
	}
	err = r.store.Update(context.Background(), func(tx store.Tx) error { return r.transfers.CommitRequest(tx, p) })
	if wallet.CodeOf(err) != wallet.RateLimitExceeded {
		t.Errorf("the sixth: %v", err)
	}
	r.pass(handlers.RequestWindow + time.Second)
	r.rounds(1)
	r.requests("1", "SOL")
}

func TestTheOwnersWordHasAHeldOneLookedForAtOnce(t *testing.T) {
	r := newRig(t)
	tx := r.signed("2")
	r.rounds(1)
	r.blocks(3)
	// It lands, but the node forgets, so that nobody can tell.
	held := r.read(tx.ID)
	held.Held = true
	r.update(func(s store.Tx) error { return s.PutTransaction(held) })
	r.settler.watched[tx.ID] = &watch{searchAt: r.Now().Add(time.Hour)}
	r.update(func(s store.Tx) error {
		return r.transfers.LookAgain(s, handlers.Caller{User: r.alice.user.ID}, tx.ID)
	})
	r.rounds(1)
	if now := r.read(tx.ID); now.Status != wallet.Confirmed || now.Held {
		t.Errorf("after the owner asked: %s, held %v", now.Status, now.Held)
	}
}
