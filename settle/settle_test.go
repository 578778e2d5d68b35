// Long: the ways in which a signed payment ends, by one harness.

package settle_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/chain"
	"purser/handlers"
	"purser/sandbox/solana"
	"purser/settle"
	"purser/store"
	"purser/wallet"
)

func TestSignedTransactionIsCarriedToItsEnd(t *testing.T) {
	r := newHarness(t)
	tx := r.signed("1.5")
	r.Rounds(1)
	r.is(tx.ID, wallet.Pending)
	r.Blocks(3)
	r.Rounds(1)
	landed := r.is(tx.ID, wallet.Confirmed)
	if landed.Closed || landed.Landing.BlockHeight == 0 || landed.Fee != 5000 {
		t.Fatalf("confirmed as %+v", landed.Landing)
	}
	r.paid(1.5 * sol)
	r.Blocks(40)
	r.Rounds(1)
	if end := r.is(tx.ID, wallet.Confirmed); !end.Closed || end.Landing.Confirmations != 32 {
		t.Fatalf("not closed at finalized: %+v", end.Landing)
	}
	want := []wallet.EventName{wallet.TransactionApproved, wallet.TransactionSigned, wallet.TransactionPending,
		wallet.TransactionConfirmed, wallet.TransactionFinalized}
	if got := r.Events(tx.ID); !slices.Equal(got, want) {
		t.Fatalf("announced %v, want %v", got, want)
	}
}

func TestRecipientOfOursIsToldOnce(t *testing.T) {
	r := newHarness(t)
	tx := r.signed("1.5")
	r.Rounds(1)
	r.Blocks(3)
	r.Rounds(1)
	r.is(tx.ID, wallet.Confirmed)
	if told := r.Events(wallet.ReceivedID(r.Transaction(tx.ID).Signature, r.bob.Address(), wallet.SOL.Mint)); len(told) > 0 {
		t.Fatalf("Bob is told %v while the payment can still be rolled back", told)
	}
	r.Restart()
	r.Blocks(40)
	r.Rounds(3)
	tx = r.is(tx.ID, wallet.Confirmed)
	id := wallet.ReceivedID(tx.Signature, r.bob.Address(), wallet.SOL.Mint)
	receipt := r.is(id, wallet.Received)
	if receipt.Owner != r.bob.User.ID || receipt.Chat != r.bob.User.TelegramID || receipt.Amount != 1.5*sol || receipt.From != r.alice.Address() {
		t.Fatalf("Bob's record is %+v", receipt)
	}
	if got := r.Events(id); !slices.Equal(got, []wallet.EventName{wallet.TransactionReceived}) {
		t.Fatalf("Bob is told %v", got)
	}
}

func TestLostAnswerOfSendTransactionEndsInTheTruth(t *testing.T) {
	r := newHarness(t)
	tx := r.signed("2")
	r.During("sendTransaction", solana.Fault{DropAnswer: true})
	r.Rounds(1)
	r.is(tx.ID, wallet.Signed) // nobody knows, so nothing is claimed
	r.Blocks(3)
	r.Rounds(1)
	r.is(tx.ID, wallet.Confirmed)
	names := r.Events(tx.ID)
	if pending, confirmed := slices.Index(names, wallet.TransactionPending), slices.Index(names, wallet.TransactionConfirmed); pending < 0 || confirmed < pending {
		t.Fatalf("announced %v", names)
	}
	r.paid(2 * sol)
}

func TestSwallowedTransactionIsSentAgain(t *testing.T) {
	r := newHarness(t)
	tx := r.signed("2")
	r.During("sendTransaction", solana.Fault{Swallow: true})
	r.Rounds(1)
	r.is(tx.ID, wallet.Pending)
	r.Blocks(3)
	r.Rounds(1)
	r.is(tx.ID, wallet.Pending)
	r.Whole()
	r.Pass(r.Settler.Pace.Rebroadcast)
	r.Rounds(1)
	r.Blocks(3)
	r.Rounds(1)
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
			r := newHarness(t)
			tx := r.signed("2")
			r.During("", fault)
			r.Rounds(1)
			r.is(tx.ID, wallet.Signed)
			r.Whole()
			r.Pass(r.Settler.Pace.Rebroadcast)
			r.Rounds(1)
			r.Blocks(3)
			r.Rounds(1)
			r.is(tx.ID, wallet.Confirmed)
			r.paid(2 * sol)
		})
	}
}

// The whole never-to-land rule: each condition alone is not enough.
func TestNeverFailedWhileItCouldLand(t *testing.T) {
	r := newHarness(t)
	tx := r.signed("2")
	r.During("sendTransaction", solana.Fault{Swallow: true})
	r.Rounds(1)
	r.is(tx.ID, wallet.Pending)

	r.Blocks(250) // past its last block, but three minutes of our clock have not passed
	r.Pass(r.Settler.Pace.QuietTime + r.Settler.Pace.Search)
	r.Rounds(2)
	if now := r.is(tx.ID, wallet.Pending); now.Indeterminate {
		t.Fatal("held too early")
	}
	r.Pass(wallet.NeverLandsAfter)
	r.Rounds(1)
	failed := r.is(tx.ID, wallet.Failed)
	if failed.ErrorCode != wallet.BlockhashExpired || failed.ErrorReason.IsZero() || !failed.Closed {
		t.Fatalf("failed as %s %v", failed.ErrorCode, failed.ErrorReason)
	}
	r.paid(0)
}

func TestLateByOurClockButWithinItsBlocksIsHeldThenSettled(t *testing.T) {
	r := newHarness(t)
	tx := r.signed("2")
	r.During("sendTransaction", solana.Fault{Swallow: true})
	r.Rounds(1)
	r.Pass(wallet.NeverLandsAfter) // the chain has hardly moved: its blocks are still to come
	r.Rounds(1)
	if now := r.is(tx.ID, wallet.Pending); !now.Indeterminate {
		t.Fatal("nobody can tell, so it must be held")
	}
	r.Whole()
	r.Pass(r.Settler.Pace.Rebroadcast)
	r.Rounds(1)
	r.Blocks(3)
	r.Rounds(1)
	if now := r.is(tx.ID, wallet.Confirmed); now.Indeterminate {
		t.Fatal("it has landed and is held no more")
	}
	r.paid(2 * sol)
	held := 0
	for _, name := range r.Events(tx.ID) {
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
	settle.Chain
	sees bool
}

func (s silent) CanSeeBackTo(context.Context, uint64) (bool, error) { return s.sees, nil }

func TestNodeWithoutHistoryCannotProveThatNothingLanded(t *testing.T) {
	r := newHarness(t)
	tx := r.signed("2")
	r.During("sendTransaction", solana.Fault{Swallow: true})
	r.Settler.Chain = silent{Chain: r.Chain, sees: false}
	r.Rounds(1)
	r.Blocks(250)
	r.Pass(wallet.NeverLandsAfter)
	r.Rounds(1)
	if now := r.is(tx.ID, wallet.Pending); !now.Indeterminate {
		t.Fatal("a node that cannot see back proves nothing")
	}
	r.Settler.Chain = silent{Chain: r.Chain, sees: true}
	r.Pass(r.Settler.Pace.Search)
	r.Rounds(1)
	r.is(tx.ID, wallet.Failed)
}

func TestFailureOnChainCountsOnlyWhenFinal(t *testing.T) {
	r := newHarness(t)
	tx := r.signed("9")
	r.During("sendTransaction", solana.Fault{Delay: 12}) // preflight passes, then the money is gone
	r.Rounds(1)
	r.is(tx.ID, wallet.Pending)
	r.Whole()
	r.drain(5 * sol)
	r.Blocks(12)
	r.Rounds(2)
	r.is(tx.ID, wallet.Pending)
	r.Blocks(40)
	r.Rounds(1)
	failed := r.is(tx.ID, wallet.Failed)
	if failed.ErrorCode != wallet.ChainError || failed.ErrorReason.IsZero() {
		t.Fatalf("failed as %s %v", failed.ErrorCode, failed.ErrorReason)
	}
	r.paid(0)
}

// drain moves lamports out of Alice's wallet behind purser's back.
func (r *harness) drain(lamports uint64) {
	r.Helper()
	elsewhere := r.Rich(1003, "Carol", sol)
	r.SendBehind(r.alice, wallet.Transaction{From: r.alice.Address(), To: elsewhere.Address(), Amount: lamports})
}

func TestRefusalOfANodeIsNoVerdictButNamesTheReasonInTheEnd(t *testing.T) {
	r := newHarness(t)
	tx := r.signed("9")
	r.drain(5 * sol)
	r.Blocks(3)
	r.Rounds(1)
	if now := r.is(tx.ID, wallet.Signed); now.ErrorCode != "" { // money could come back before its blocks are over
		t.Fatalf("a refusal is shown as the end: %s", now.ErrorCode)
	}
	r.Blocks(250)
	r.Pass(wallet.NeverLandsAfter)
	r.Rounds(1)
	if failed := r.is(tx.ID, wallet.Failed); failed.ErrorCode != wallet.InsufficientBalance {
		t.Fatalf("failed as %s %v", failed.ErrorCode, failed.ErrorReason)
	}
}

func TestWhatADeviceKeptAndSentItselfIsFoundByItsReference(t *testing.T) {
	r := newHarness(t)
	tx := r.confirmed("2")
	message := r.Issue(tx.SignID)
	var named [32]byte
	copy(named[:], r.Transaction(tx.ID).IssuedBlockhashes[0].Blockhash.Hash[:])
	if len(message) == 0 || named == [32]byte{} {
		t.Fatal("no blockhash was issued")
	}
	r.Pass(wallet.SignWindow)
	r.Rounds(1)
	r.is(tx.ID, wallet.Expired)
	// The wallet changed the fee, so that its signature is one that purser has never seen.
	r.SendBehind(r.alice, wallet.Transaction{From: tx.From, To: tx.To, Reference: tx.Reference, Amount: tx.Amount, ComputeUnitLimit: 1000, ComputeUnitPrice: 1000})
	r.Blocks(3)
	r.Pass(r.Settler.Pace.Search)
	r.Rounds(1)
	found := r.is(tx.ID, wallet.Confirmed)
	if found.Signature.IsZero() || found.ErrorCode != "" {
		t.Fatalf("found as %+v", found)
	}
	r.paid(2 * sol)
	if last := r.Events(tx.ID); last[len(last)-1] != wallet.TransactionConfirmed {
		t.Fatalf("the owner is told %v", last)
	}
}

func TestSomebodyElsesPaymentWithOurReferenceIsNotOurs(t *testing.T) {
	r := newHarness(t)
	tx := r.signed("2")
	r.During("sendTransaction", solana.Fault{Swallow: true})
	r.Rounds(1)
	r.Whole()
	r.SendBehind(r.alice, wallet.Transaction{From: tx.From, To: tx.To, Reference: tx.Reference, Amount: tx.Amount - 1})
	r.Blocks(250)
	r.Pass(wallet.NeverLandsAfter)
	r.During("sendTransaction", solana.Fault{Swallow: true})
	r.Rounds(1)
	r.is(tx.ID, wallet.Failed)
}

func TestRolledBackTransactionIsPendingAgainAndLandsOnce(t *testing.T) {
	r := newHarness(t)
	tx := r.signed("2")
	r.Rounds(1)
	r.Blocks(3)
	r.Rounds(1)
	r.is(tx.ID, wallet.Confirmed)
	if err := r.Cluster.Fork(5); err != nil {
		t.Fatal(err)
	}
	r.During("sendTransaction", solana.Fault{Swallow: true})
	r.Blocks(250)
	r.Pass(wallet.NeverLandsAfter)
	r.Rounds(1)
	r.is(tx.ID, wallet.Pending)
	r.Pass(r.Settler.Pace.Search)
	r.Rounds(1)
	r.is(tx.ID, wallet.Failed)
	r.paid(0)
	if told := r.Events(wallet.ReceivedID(tx.Signature, r.bob.Address(), wallet.SOL.Mint)); len(told) > 0 {
		t.Fatalf("Bob was told %v of what never was", told)
	}
}

// One row that cannot be written must not hold up the payments of all others.
func TestOneFailingRowHoldsUpNoOther(t *testing.T) {
	r := newHarness(t)
	late := r.confirmed("1")
	r.Pass(wallet.SignWindow - time.Minute)
	tx := r.signed("2")
	r.Pass(time.Minute)
	r.Settler.Store = refusing{Store: r.Store, id: late.ID}
	if err := r.Settle(); err == nil || !strings.Contains(err.Error(), string(late.ID)) || strings.Contains(err.Error(), string(tx.ID)) {
		t.Fatalf("the failure of one row is told as %v", err)
	}
	r.is(tx.ID, wallet.Pending)
	r.is(late.ID, wallet.AwaitingSignature)
	if err := r.Settle(); err != nil {
		t.Errorf("it is tried again at once: %v", err)
	}
	r.Settler.Store = r.Store
	r.Pass(r.Settler.Pace.Poll)
	r.Rounds(1)
	r.is(late.ID, wallet.Expired)
}

// TestAPaymentToAnOperatorsOwnWalletIsToldToItsPrograms: nobody is behind its address who could be told in a chat.
func TestAPaymentToAnOperatorsOwnWalletIsToldToItsPrograms(t *testing.T) {
	r := newHarness(t)
	carol := r.Rich(1003, "Carol", sol)
	r.Must(r.Update(func(tx store.Tx) error {
		if err := tx.DeleteWallet(carol.Address()); err != nil {
			return err
		}
		return tx.PutWallet(wallet.Wallet{Address: carol.Address(), Type: wallet.DeveloperWallet, KeyLineage: "key_1", ConnectedAt: r.Now()})
	}))
	tx := r.Signed(r.alice, carol.Address(), "1", "SOL")
	paid := r.Settled(tx.ID)
	if paid.Status != wallet.Confirmed {
		t.Fatalf("ended as %s", paid.Status)
	}
	// Its programs are told, once.
	r.Restart()
	r.Rounds(2)
	receipt := r.is(wallet.ReceivedID(paid.Signature, carol.Address(), wallet.SOL.Mint), wallet.Received)
	if receipt.Owner != "" || receipt.Chat != 0 || receipt.Amount != sol || receipt.From != r.alice.Address() {
		t.Errorf("received %+v", receipt)
	}
	var told []wallet.Event
	r.View(func(s store.Tx) error {
		all, err := s.PendingEvents(1000)
		for _, event := range all {
			if event.Name == wallet.TransactionReceived {
				told = append(told, event)
			}
		}
		return err
	})
	if len(told) != 1 || told[0].User != "" || told[0].Transaction != receipt.ID || !strings.Contains(string(told[0].Data), carol.Address().String()) {
		t.Errorf("announced %+v", told)
	}
}

// TestWhatHasNoBytesHereIsNotBroadcast: it was found on chain after it ended here, and rolled back.
func TestWhatHasNoBytesHereIsNotBroadcast(t *testing.T) {
	r := newHarness(t)
	tx := r.confirmed("1")
	view, err := r.Signing.Refresh(context.Background(), handlers.ByLink(tx.SignID))
	r.Must(err)
	r.Pass(wallet.SignWindow)
	r.Look()
	r.is(tx.ID, wallet.Expired)
	r.SendBehind(r.alice, tx)
	r.Blocks(3)
	r.Pass(wallet.NeverLandsAfter)
	r.Look()
	found := r.is(tx.ID, wallet.Confirmed)
	if len(found.Signed) != 0 || len(view.Message) == 0 {
		t.Fatalf("purser has bytes of it: %d", len(found.Signed))
	}
	r.Must(r.Cluster.Fork(5))
	r.Pass(r.Settler.Pace.Search)
	r.Rounds(3) // fails on any trouble
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
	r := newHarness(t)
	tx := r.confirmed("2")
	r.Pass(wallet.SignWindow - time.Second)
	r.Rounds(1)
	r.is(tx.ID, wallet.AwaitingSignature)
	r.Pass(time.Second)
	r.Rounds(1)
	expired := r.is(tx.ID, wallet.Expired)
	if expired.ErrorCode != wallet.ConfirmationExpired || expired.Closed {
		t.Fatalf("expired as %+v", expired)
	}
	r.Blocks(40)
	r.Pass(wallet.NeverLandsAfter)
	r.Rounds(1)
	if closed := r.is(tx.ID, wallet.Expired); !closed.Closed {
		t.Fatalf("nothing was found of it, and it is still open: %+v", closed)
	}
	// A tap or a signature that comes too late changes nothing.
	if _, err := r.Signing.Refresh(context.Background(), handlers.ByLink(tx.SignID)); wallet.CodeOf(err) != wallet.Conflict {
		t.Fatalf("refresh after the end: %v", err)
	}
}

// lyingPoll is a primary node that calls every transaction failed, for good.
type lyingPoll struct {
	*chain.Client
	silent bool // and the other nodes know nothing
}

func (l *lyingPoll) Statuses(_ context.Context, signatures []wallet.Signature) ([]*wallet.Landing, error) {
	out := make([]*wallet.Landing, len(signatures))
	for i, signature := range signatures {
		out[i] = &wallet.Landing{Signature: signature, Slot: 5, BlockHeight: 5, Fee: 5_000, Finalized: true, Failure: "InstructionError 0: Custom 1"}
	}
	return out, nil
}

func (l *lyingPoll) FindEverywhere(ctx context.Context, query wallet.TransactionQuery) (*wallet.Landing, bool, error) {
	if l.silent {
		return nil, true, nil
	}
	return l.Client.FindEverywhere(ctx, query)
}

// TestOneNodesWordThatAPaymentFailedIsNotEnough: whoever believed it would pay again.
func TestOneNodesWordThatAPaymentFailedIsNotEnough(t *testing.T) {
	r := newHarness(t)
	tx := r.signed("2")
	r.Rounds(1)
	r.Blocks(40)
	liar := &lyingPoll{Client: r.Chain, silent: true}
	r.Settler.Chain = liar
	r.Rounds(1)
	if now := r.is(tx.ID, wallet.Pending); !now.Indeterminate {
		t.Fatal("nodes disagree, and it is not held")
	}
	liar.silent = false
	r.Pass(r.Settler.Pace.Search)
	r.Rounds(1)
	r.is(tx.ID, wallet.Confirmed)
	r.paid(2 * sol)
}

// TestARestoredDatabaseFindsWhatHappenedSince: a backup of the moment before the device asked for a
// blockhash knows nothing of the payment that was made after it.
func TestARestoredDatabaseFindsWhatHappenedSince(t *testing.T) {
	r := newHarness(t)
	tx := r.confirmed("2") // this is what the backup holds
	r.SendBehind(r.alice, wallet.Transaction{From: tx.From, To: tx.To, Reference: tx.Reference, Amount: tx.Amount})
	r.Blocks(40)
	r.Restart()
	r.Pass(wallet.SignWindow)
	r.Rounds(1)
	if expired := r.is(tx.ID, wallet.Expired); expired.NeverLanded() {
		t.Fatal("it may be tried again, although nobody has looked")
	}
	r.Pass(r.Settler.Pace.Search)
	r.Rounds(1)
	found := r.is(tx.ID, wallet.Confirmed)
	if found.Signature.IsZero() {
		t.Fatalf("found as %+v", found)
	}
	r.paid(2 * sol)
	_, err := r.Transfers.PrepareRetry(context.Background(), r.alice.Caller(), tx.ID)
	r.Refused(wallet.Conflict, err)
}

func TestRestartGoesOnFromTheStore(t *testing.T) {
	r := newHarness(t)
	tx := r.signed("2") // the process dies before the first broadcast
	r.Restart()
	r.Rounds(1)
	r.is(tx.ID, wallet.Pending)
	r.Restart() // and again before it is seen landed
	r.Blocks(3)
	r.Rounds(1)
	r.is(tx.ID, wallet.Confirmed)
	r.paid(2 * sol)
	if n := len(r.Cluster.Landed()); n == 0 {
		t.Fatal("the cluster shows no transaction")
	}
}

// Run itself: woken by the commit of a signature, not by its idle timer.
func TestRunIsWokenByASignature(t *testing.T) {
	r := newHarness(t)
	r.Settler.Pace.Idle = time.Hour
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Settler.Run(ctx) }()
	tx := r.signed("1")
	deadline := time.After(20 * time.Second)
	for r.Transaction(tx.ID).Status != wallet.Pending {
		select {
		case <-r.Store.Changed(store.Events):
		case <-deadline:
			t.Fatal("the signature woke nobody")
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
