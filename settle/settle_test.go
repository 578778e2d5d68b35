package settle

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"purser/chain"
	"purser/sandbox/solana"
	"purser/store"
	"purser/wallet"
)

// during makes one RPC method misbehave.
func (r *rig) during(method string, fault solana.Fault) {
	r.cluster.SetFault(func(m string, _ json.RawMessage) solana.Fault {
		if m == method {
			return fault
		}
		return solana.Fault{}
	})
}

func (r *rig) wholeAgain() { r.cluster.SetFault(nil) }

func TestSignedTransactionIsCarriedToItsEnd(t *testing.T) {
	r := newRig(t)
	tx := r.signed("1.5")
	r.rounds(1)
	r.is(tx.ID, wallet.Pending)
	r.blocks(3)
	r.rounds(1)
	landed := r.is(tx.ID, wallet.Confirmed)
	if landed.Final || landed.Landing.BlockHeight == 0 || landed.Fee != 5000 {
		t.Fatalf("confirmed as %+v", landed.Landing)
	}
	r.paid(1.5 * sol)
	r.blocks(40)
	r.rounds(1)
	if end := r.is(tx.ID, wallet.Confirmed); !end.Final || end.Landing.Confirmations != 32 {
		t.Fatalf("not closed at finalized: %+v", end.Landing)
	}
	want := []wallet.EventName{wallet.TransactionApproved, wallet.TransactionSigned, wallet.TransactionPending,
		wallet.TransactionConfirmed, wallet.TransactionFinalized}
	if got := r.events(tx.ID); !slices.Equal(got, want) {
		t.Fatalf("announced %v, want %v", got, want)
	}
}

func TestRecipientOfOursIsToldOnce(t *testing.T) {
	r := newRig(t)
	tx := r.signed("1.5")
	r.rounds(1)
	r.blocks(3)
	r.rounds(1)
	r.is(tx.ID, wallet.Confirmed)
	if told := r.events(wallet.ReceivedID(r.read(tx.ID).Signature, r.bob.addr, wallet.SOL.Mint)); len(told) > 0 {
		t.Fatalf("Bob is told %v while the payment can still be rolled back", told)
	}
	r.restart()
	r.blocks(40)
	r.rounds(3)
	tx = r.is(tx.ID, wallet.Confirmed)
	id := wallet.ReceivedID(tx.Signature, r.bob.addr, wallet.SOL.Mint)
	receipt := r.is(id, wallet.Received)
	if receipt.Owner != r.bob.user.ID || receipt.Chat != r.bob.user.TelegramID || receipt.Amount != 1.5*sol || receipt.From != r.alice.addr {
		t.Fatalf("Bob's record is %+v", receipt)
	}
	if got := r.events(id); !slices.Equal(got, []wallet.EventName{wallet.TransactionReceived}) {
		t.Fatalf("Bob is told %v", got)
	}
}

func TestLostAnswerOfSendTransactionEndsInTheTruth(t *testing.T) {
	r := newRig(t)
	tx := r.signed("2")
	r.during("sendTransaction", solana.Fault{DropAnswer: true})
	r.rounds(1)
	r.is(tx.ID, wallet.Signed) // nobody knows, so nothing is claimed
	r.blocks(3)
	r.rounds(1)
	r.is(tx.ID, wallet.Confirmed)
	names := r.events(tx.ID)
	if pending, confirmed := slices.Index(names, wallet.TransactionPending), slices.Index(names, wallet.TransactionConfirmed); pending < 0 || confirmed < pending {
		t.Fatalf("announced %v", names)
	}
	r.paid(2 * sol)
}

func TestSwallowedTransactionIsSentAgain(t *testing.T) {
	r := newRig(t)
	tx := r.signed("2")
	r.during("sendTransaction", solana.Fault{Swallow: true})
	r.rounds(1)
	r.is(tx.ID, wallet.Pending)
	r.blocks(3)
	r.rounds(1)
	r.is(tx.ID, wallet.Pending)
	r.wholeAgain()
	r.pass(r.settler.Pace.Rebroad)
	r.rounds(1)
	r.blocks(3)
	r.rounds(1)
	r.is(tx.ID, wallet.Confirmed)
	r.paid(2 * sol)
}

func TestTroubledNodeDelaysAndLosesNothing(t *testing.T) {
	for name, fault := range map[string]solana.Fault{
		"429": {Status: 429, RetryAfter: time.Second}, "503": {Status: 503}, "node behind": {Code: -32005, Message: "Node is behind"},
		"garbage": {Status: 502}, "hang": {Hang: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			tx := r.signed("2")
			r.cluster.SetFault(func(string, json.RawMessage) solana.Fault { return fault })
			r.rounds(1)
			r.is(tx.ID, wallet.Signed)
			r.wholeAgain()
			r.pass(r.settler.Pace.Rebroad)
			r.rounds(1)
			r.blocks(3)
			r.rounds(1)
			r.is(tx.ID, wallet.Confirmed)
			r.paid(2 * sol)
		})
	}
}

// The whole never-to-land rule: each condition alone is not enough.
func TestNeverFailedWhileItCouldLand(t *testing.T) {
	r := newRig(t)
	tx := r.signed("2")
	r.during("sendTransaction", solana.Fault{Swallow: true})
	r.rounds(1)
	r.is(tx.ID, wallet.Pending)

	r.blocks(250) // past its last block, but three minutes of our clock have not passed
	r.pass(r.settler.Pace.QuietTime + r.settler.Pace.Search)
	r.rounds(2)
	if now := r.is(tx.ID, wallet.Pending); now.Held {
		t.Fatal("held too early")
	}
	r.pass(wallet.NeverLandsAfter)
	r.rounds(1)
	failed := r.is(tx.ID, wallet.Failed)
	if failed.ErrorCode != wallet.BlockhashExpired || failed.ErrorText == "" || !failed.Final {
		t.Fatalf("failed as %s %q", failed.ErrorCode, failed.ErrorText)
	}
	r.paid(0)
}

func TestLateByOurClockButWithinItsBlocksIsHeldThenSettled(t *testing.T) {
	r := newRig(t)
	tx := r.signed("2")
	r.during("sendTransaction", solana.Fault{Swallow: true})
	r.rounds(1)
	r.pass(wallet.NeverLandsAfter) // the chain has hardly moved: its blocks are still to come
	r.rounds(1)
	if now := r.is(tx.ID, wallet.Pending); !now.Held {
		t.Fatal("nobody can tell, so it must be held")
	}
	r.wholeAgain()
	r.pass(r.settler.Pace.Rebroad)
	r.rounds(1)
	r.blocks(3)
	r.rounds(1)
	if now := r.is(tx.ID, wallet.Confirmed); now.Held {
		t.Fatal("it has landed and is held no more")
	}
	r.paid(2 * sol)
	held := 0
	for _, name := range r.events(tx.ID) {
		if name == wallet.TransactionHeld {
			held++
		}
	}
	if held != 1 {
		t.Fatalf("the owner was told %d times that it is held", held)
	}
}

// silent is a node that answers everything but one question.
type silent struct {
	Chain
	sees bool
}

func (s silent) CanSeeBackTo(context.Context, uint64) (bool, error) { return s.sees, nil }

func TestNodeWithoutHistoryCannotProveThatNothingLanded(t *testing.T) {
	r := newRig(t)
	tx := r.signed("2")
	r.during("sendTransaction", solana.Fault{Swallow: true})
	r.settler.Chain = silent{Chain: r.client, sees: false}
	r.rounds(1)
	r.blocks(250)
	r.pass(wallet.NeverLandsAfter)
	r.rounds(1)
	if now := r.is(tx.ID, wallet.Pending); !now.Held {
		t.Fatal("a node that cannot see back proves nothing")
	}
	r.settler.Chain = silent{Chain: r.client, sees: true}
	r.pass(r.settler.Pace.Search)
	r.rounds(1)
	r.is(tx.ID, wallet.Failed)
}

func TestFailureOnChainCountsOnlyWhenFinal(t *testing.T) {
	r := newRig(t)
	tx := r.signed("9")
	r.during("sendTransaction", solana.Fault{Delay: 12}) // preflight passes, then the money is gone
	r.rounds(1)
	r.is(tx.ID, wallet.Pending)
	r.wholeAgain()
	r.drain(5 * sol)
	r.blocks(12)
	r.rounds(2)
	r.is(tx.ID, wallet.Pending)
	r.blocks(40)
	r.rounds(1)
	failed := r.is(tx.ID, wallet.Failed)
	if failed.ErrorCode != wallet.ChainError || failed.ErrorText == "" {
		t.Fatalf("failed as %s %q", failed.ErrorCode, failed.ErrorText)
	}
	r.paid(0)
}

// drain moves lamports out of Alice's wallet behind purser's back.
func (r *rig) drain(lamports uint64) {
	r.t.Helper()
	elsewhere := r.person(1003, sol)
	r.raw(chain.Transfer{From: r.alice.addr, To: elsewhere.addr, Lamports: lamports})
}

// raw signs and sends a transfer of Alice's with a blockhash of its own.
func (r *rig) raw(transfer chain.Transfer) {
	r.t.Helper()
	message, err := chain.BuildTransfer(transfer)
	if err != nil {
		r.t.Fatal(err)
	}
	hash, err := r.client.Blockhash(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	if message, err = chain.WithBlockhash(message, hash.Hash); err != nil {
		r.t.Fatal(err)
	}
	r.send(message)
}

func (r *rig) send(message []byte) {
	r.t.Helper()
	wire, err := chain.Assemble(message, wallet.Signature(ed25519.Sign(r.alice.key, message)))
	if err != nil {
		r.t.Fatal(err)
	}
	if err := r.client.Broadcast(context.Background(), wire); err != nil {
		r.t.Fatal(err)
	}
}

func TestRefusalOfANodeIsNoVerdictButNamesTheReasonInTheEnd(t *testing.T) {
	r := newRig(t)
	tx := r.signed("9")
	r.drain(5 * sol)
	r.blocks(3)
	r.rounds(1)
	if now := r.is(tx.ID, wallet.Signed); now.ErrorCode != "" { // money could come back before its blocks are over
		t.Fatalf("a refusal is shown as the end: %s", now.ErrorCode)
	}
	r.blocks(250)
	r.pass(wallet.NeverLandsAfter)
	r.rounds(1)
	if failed := r.is(tx.ID, wallet.Failed); failed.ErrorCode != wallet.InsufficientBalance {
		t.Fatalf("failed as %s %q", failed.ErrorCode, failed.ErrorText)
	}
}

func TestWhatADeviceKeptAndSentItselfIsFoundByItsReference(t *testing.T) {
	r := newRig(t)
	tx := r.confirmed("2")
	hash := r.issued(tx)
	var named [32]byte
	copy(named[:], r.read(tx.ID).Issues[0].Blockhash.Hash[:])
	if len(hash) == 0 || named == [32]byte{} {
		t.Fatal("no blockhash was issued")
	}
	r.pass(wallet.SignWindow)
	r.rounds(1)
	r.is(tx.ID, wallet.Expired)
	// The wallet changed the fee, so that its signature is one that purser has never seen.
	r.raw(chain.Transfer{From: tx.From, To: tx.To, Reference: tx.Reference, Lamports: tx.Amount, UnitLimit: 1000, UnitPrice: 1000})
	r.blocks(3)
	r.pass(r.settler.Pace.Search)
	r.rounds(1)
	found := r.is(tx.ID, wallet.Confirmed)
	if found.Signature.IsZero() || found.ErrorCode != "" {
		t.Fatalf("found as %+v", found)
	}
	r.paid(2 * sol)
	if last := r.events(tx.ID); last[len(last)-1] != wallet.TransactionConfirmed {
		t.Fatalf("the owner is told %v", last)
	}
}

func TestSomebodyElsesPaymentWithOurReferenceIsNotOurs(t *testing.T) {
	r := newRig(t)
	tx := r.signed("2")
	r.during("sendTransaction", solana.Fault{Swallow: true})
	r.rounds(1)
	r.wholeAgain()
	r.raw(chain.Transfer{From: tx.From, To: tx.To, Reference: tx.Reference, Lamports: tx.Amount - 1})
	r.blocks(250)
	r.pass(wallet.NeverLandsAfter)
	r.during("sendTransaction", solana.Fault{Swallow: true})
	r.rounds(1)
	r.is(tx.ID, wallet.Failed)
}

func TestRolledBackTransactionIsPendingAgainAndLandsOnce(t *testing.T) {
	r := newRig(t)
	tx := r.signed("2")
	r.rounds(1)
	r.blocks(3)
	r.rounds(1)
	r.is(tx.ID, wallet.Confirmed)
	if err := r.cluster.Fork(5); err != nil {
		t.Fatal(err)
	}
	r.during("sendTransaction", solana.Fault{Swallow: true})
	r.blocks(250)
	r.pass(wallet.NeverLandsAfter)
	r.rounds(1)
	r.is(tx.ID, wallet.Pending)
	r.pass(r.settler.Pace.Search)
	r.rounds(1)
	r.is(tx.ID, wallet.Failed)
	r.paid(0)
	if told := r.events(wallet.ReceivedID(tx.Signature, r.bob.addr, wallet.SOL.Mint)); len(told) > 0 {
		t.Fatalf("Bob was told %v of what never was", told)
	}
}

// One row that cannot be written must not hold up the payments of all others.
func TestOneFailingRowHoldsUpNoOther(t *testing.T) {
	r := newRig(t)
	late := r.confirmed("1")
	r.pass(wallet.SignWindow - time.Minute)
	tx := r.signed("2")
	r.pass(time.Minute)
	r.settler.Store = refusing{Store: r.store, id: late.ID}
	if _, err := r.settler.round(context.Background()); err == nil {
		t.Fatal("the failure is not told")
	}
	r.is(tx.ID, wallet.Pending)
	r.is(late.ID, wallet.AwaitingSignature)
}

// refusing is a store in which one transaction cannot be written.
type refusing struct {
	store.Store
	id wallet.TransactionID
}

func (s refusing) Update(ctx context.Context, change func(store.Tx) error) error {
	return s.Store.Update(ctx, func(tx store.Tx) error { return change(refusingTx{tx, s.id}) })
}

type refusingTx struct {
	store.Tx
	id wallet.TransactionID
}

func (tx refusingTx) PutTransaction(t wallet.Transaction) error {
	if t.ID == tx.id {
		return errors.New("this row is broken")
	}
	return tx.Tx.PutTransaction(t)
}

func TestTimeEndsWhatNobodyConfirmedOrSigned(t *testing.T) {
	r := newRig(t)
	tx := r.confirmed("2")
	r.pass(wallet.SignWindow - time.Second)
	r.rounds(1)
	r.is(tx.ID, wallet.AwaitingSignature)
	r.pass(time.Second)
	r.rounds(1)
	expired := r.is(tx.ID, wallet.Expired)
	if expired.ErrorCode != wallet.ConfirmationExpired || !expired.Final {
		t.Fatalf("expired as %+v", expired)
	}
	// A tap or a signature that comes too late changes nothing.
	if _, err := r.signing.Refresh(context.Background(), tx.SignID); wallet.CodeOf(err) != wallet.Conflict {
		t.Fatalf("refresh after the end: %v", err)
	}
}

func TestRestartGoesOnFromTheStore(t *testing.T) {
	r := newRig(t)
	tx := r.signed("2") // the process dies before the first broadcast
	r.restart()
	r.rounds(1)
	r.is(tx.ID, wallet.Pending)
	r.restart() // and again before it is seen landed
	r.blocks(3)
	r.rounds(1)
	r.is(tx.ID, wallet.Confirmed)
	r.paid(2 * sol)
	if n := len(r.cluster.Landed()); n == 0 {
		t.Fatal("the cluster shows no transaction")
	}
}

// Run itself: woken by the commit of a signature, not by its idle timer.
func TestRunIsWokenByASignature(t *testing.T) {
	r := newRig(t)
	r.settler.Pace.Idle = time.Hour
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.settler.Run(ctx) }()
	tx := r.signed("1")
	deadline := time.After(20 * time.Second)
	for r.read(tx.ID).Status != wallet.Pending {
		select {
		case <-r.store.Changed(store.Events):
		case <-deadline:
			t.Fatal("the signature woke nobody")
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
