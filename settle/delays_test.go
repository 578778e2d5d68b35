package settle_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"purser/e2e/world"
	"purser/handlers"
	"purser/sandbox/solana"
	"purser/store"
	"purser/wallet"
)

const day = 24 * time.Hour

// delayed has Alice pay Bob, up to and with Confirm, with a delay of a day.
func (r *harness) delayed(amount string) wallet.Transaction {
	r.Helper()
	r.Delayed(day)
	defer r.Delayed(0)
	tx := r.confirmed(amount)
	if tx.Status != wallet.Delayed || tx.SignID != "" || !tx.DelayEndsAt.Equal(r.Now().Add(day)) {
		r.Fatalf("confirmed: %+v", tx)
	}
	return tx
}

// looked asks the chain at the end of a delay, and returns the step that follows for the row as it is by then.
func (r *harness) looked(tx wallet.Transaction) func() (wallet.Transaction, wallet.TransitionInput) {
	r.Helper()
	commit, err := r.Transactions.Release(context.Background(), tx)
	r.Must(err)
	return func() (got wallet.Transaction, step wallet.TransitionInput) {
		r.Helper()
		r.View(func(s store.Tx) error {
			now, err := s.Transaction(tx.ID)
			if err == nil {
				got, step, err = commit(s, now)
			}
			return err
		})
		return got, step
	}
}

// TestADelayedPaymentIsSignedAfterItsDelay, and not a moment before: until then there is no link.
func TestADelayedPaymentIsSignedAfterItsDelay(t *testing.T) {
	r := newHarness(t)
	tx := r.delayed("1.5")
	if due := r.jobs(tx.ID); len(due) != 1 || !due[store.Settlement].Equal(tx.DelayEndsAt) {
		t.Fatalf("it is looked at again at %v", due)
	}
	device := handlers.ByOwner(r.alice.Caller(), tx.ID)
	unsignable := func() {
		t.Helper()
		_, err := r.Signing.Refresh(context.Background(), device)
		r.Refused(wallet.Conflict, err)
		_, err = r.Signing.BlocksLeft(context.Background(), device)
		r.Refused(wallet.Conflict, err)
		_, err = r.Signing.Submit(context.Background(), device, handlers.Signature{Signature: r.alice.Sign(tx.Message)})
		r.Refused(wallet.Conflict, err)
		_, err = r.Signing.Get(context.Background(), r.Transaction(tx.ID).SignID)
		r.Refused(wallet.NotFound, err)
		_, err = r.Confirm(r.alice.Caller(), tx.ID)
		r.Refused(wallet.Conflict, err)
		if got := r.is(tx.ID, wallet.Delayed); len(got.IssuedBlockhashes) > 0 {
			t.Fatal("it has a blockhash")
		}
	}
	unsignable()
	r.Pass(day - time.Second)
	r.Rounds(1) // the poll's time is half a second
	unsignable()
	r.Pass(time.Second)
	r.Look()
	waits := r.is(tx.ID, wallet.AwaitingSignature)
	if waits.SignID == "" || !waits.Deadline.Equal(r.Now().Add(wallet.DelayedSignWindow)) || len(waits.IssuedBlockhashes) > 0 {
		t.Fatalf("after the delay: %+v", waits)
	}
	r.Pass(wallet.DelayedSignWindow - time.Second) // its owner was asleep
	r.Look()
	if _, err := r.HandIn(r.alice, waits.SignID, r.Issue(waits.SignID)); err != nil {
		t.Fatal(err)
	}
	if paid := r.Settled(tx.ID); paid.Status != wallet.Confirmed || !paid.Closed {
		t.Fatalf("it ended as %s", paid.Status)
	}
	r.paid(1.5 * sol)
	want := []wallet.EventName{wallet.TransactionDelayed, wallet.TransactionDelayEnded, wallet.TransactionSigned, wallet.TransactionPending,
		wallet.TransactionConfirmed, wallet.TransactionFinalized}
	if got := r.Events(tx.ID); !slices.Equal(got, want) {
		t.Fatalf("announced %v, want %v", got, want)
	}
}

// TestADelayedPaymentThatNobodySignsEnds at the end of its longer window.
func TestADelayedPaymentThatNobodySignsEnds(t *testing.T) {
	r := newHarness(t)
	tx := r.delayed("1.5")
	r.Pass(day)
	r.Look()
	r.Pass(wallet.DelayedSignWindow - 1)
	r.Look()
	r.is(tx.ID, wallet.AwaitingSignature)
	r.Pass(1)
	r.Look()
	if over := r.is(tx.ID, wallet.Expired); over.Closed {
		t.Error("a device may have signed it")
	}
}

// TestADelayedPaymentIsCancelled through each channel that its owner has. It is over at once: nothing can have been signed.
func TestADelayedPaymentIsCancelled(t *testing.T) {
	for name, cancel := range map[string]func(r *harness, tx wallet.Transaction) error{
		"in chat": func(r *harness, tx wallet.Transaction) error {
			return r.Update(func(s store.Tx) error {
				_, err := r.Transfers.Reject(s, r.alice.Caller(), tx.ID)
				return err
			})
		},
		"by a program": func(r *harness, tx wallet.Transaction) error {
			_, err := r.Signing.Reject(context.Background(), handlers.ByOwner(r.alice.Caller(), tx.ID))
			return err
		},
		"with its wallet": func(r *harness, tx wallet.Transaction) error {
			return r.Update(func(s store.Tx) error {
				_, _, err := r.Wallets.Disconnect(s, r.alice.User.ID, tx.From.String())
				return err
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newHarness(t)
			tx := r.delayed("1.5")
			r.Must(cancel(r, tx))
			over := r.is(tx.ID, wallet.Rejected)
			if !over.Closed || over.Reserves(0) || over.ErrorCode != wallet.UserRejected {
				t.Errorf("cancelled: %+v", over)
			}
			if due := r.jobs(tx.ID); len(due) > 0 {
				t.Errorf("it is looked at again at %v", due)
			}
			r.Pass(2 * day)
			r.Look()
			r.is(tx.ID, wallet.Rejected)
			if got := r.Events(tx.ID); !slices.Equal(got, []wallet.EventName{wallet.TransactionDelayed, wallet.TransactionFailed}) {
				t.Errorf("announced %v", got)
			}
		})
	}
}

// TestADelayedPaymentOfSomebodyElseCannotBeCancelled by who is not its owner.
func TestADelayedPaymentOfSomebodyElseCannotBeCancelled(t *testing.T) {
	r := newHarness(t)
	tx := r.delayed("1.5")
	r.Refused(wallet.TransactionNotFound, r.Update(func(s store.Tx) error {
		_, err := r.Transfers.Reject(s, r.bob.Caller(), tx.ID)
		return err
	}))
	r.is(tx.ID, wallet.Delayed)
}

// TestADelayedPaymentReservesItsFunds from Confirm on, for all others. At the end of its delay it does not stand in its own way.
func TestADelayedPaymentReservesItsFunds(t *testing.T) {
	for _, token := range []string{"SOL", "USDC"} {
		t.Run(token, func(t *testing.T) {
			r := newHarness(t)
			r.FundToken(r.alice.Address(), "USDC", 10_000_000)
			r.FundToken(r.bob.Address(), "USDC", 1)
			other := r.Propose(r.alice, r.bob.Address(), "4", token)
			r.Delayed(day)
			tx := r.Confirmed(r.alice, r.bob.Address(), "7", token)
			r.Delayed(0)
			_, err := r.Confirm(r.alice.Caller(), other.ID)
			r.Refused(wallet.InsufficientFunds, err)
			r.Pass(day)
			r.Look()
			waits := r.is(tx.ID, wallet.AwaitingSignature)
			if waits.BalanceLeft != tx.BalanceLeft {
				t.Errorf("%d would be left, at Confirm it was %d", waits.BalanceLeft, tx.BalanceLeft)
			}
		})
	}
}

// TestADelayedPaymentThatIsNoLongerPossibleFails with the reason, and may be tried again.
func TestADelayedPaymentThatIsNoLongerPossibleFails(t *testing.T) {
	for name, c := range map[string]struct {
		spoil   func(r *harness, tx wallet.Transaction)
		failure wallet.Failure
	}{
		"spent elsewhere": {func(r *harness, _ wallet.Transaction) {
			r.drain(9.5 * sol)
			r.Blocks(3)
		}, wallet.InsufficientBalance},
		"refused by the node": {func(r *harness, _ wallet.Transaction) {
			simulation := &wallet.PreflightError{Failure: wallet.ChainError, Reason: wallet.Because("preflight.frozen")}
			r.Transactions.Network = refusingNetwork{r.Transactions.Network, simulation}
		}, wallet.SimulationFailed},
	} {
		t.Run(name, func(t *testing.T) {
			r := newHarness(t)
			tx := r.delayed("1.5")
			c.spoil(r, tx)
			r.Pass(day)
			r.Look()
			over := r.is(tx.ID, wallet.Failed)
			if !over.Closed || !over.NothingSigned() || over.SignID != "" || over.ErrorCode != c.failure || over.ErrorReason.IsZero() || over.Reserves(0) {
				t.Errorf("it ended as %+v", over)
			}
			if got := r.Events(tx.ID); !slices.Equal(got, []wallet.EventName{wallet.TransactionDelayed, wallet.TransactionFailed}) {
				t.Errorf("announced %v", got)
			}
			if due := r.jobs(tx.ID); len(due) > 0 {
				t.Errorf("it is looked at again at %v", due)
			}
		})
	}
}

// refusingNetwork is a network on which each simulation fails.
type refusingNetwork struct {
	handlers.Network
	with error
}

func (n refusingNetwork) Simulate(context.Context, []byte) (uint64, error) { return 0, n.with }

// TestTroubleAtTheEndOfADelayEndsNothing: while no node answers, the payment goes on waiting, and can be cancelled.
func TestTroubleAtTheEndOfADelayEndsNothing(t *testing.T) {
	for _, method := range []string{"", "getMultipleAccounts", "simulateTransaction", "getSignaturesForAddress"} {
		t.Run(method, func(t *testing.T) {
			r := newHarness(t)
			tx := r.delayed("1.5")
			r.Pass(day)
			r.During(method, solana.Fault{Status: 503})
			r.Look()
			r.is(tx.ID, wallet.Delayed)
			r.Pass(time.Minute)
			r.Look()
			r.is(tx.ID, wallet.Delayed)
			r.Whole()
			r.Pass(time.Minute)
			r.Look()
			waits := r.is(tx.ID, wallet.AwaitingSignature)
			if !waits.Deadline.Equal(r.Now().Add(wallet.DelayedSignWindow)) {
				t.Errorf("its owner has until %v", waits.Deadline)
			}
		})
	}
}

// TestAnErrorThatNobodyKnowsEndsNoDelay: it is no refusal.
func TestAnErrorThatNobodyKnowsEndsNoDelay(t *testing.T) {
	r := newHarness(t)
	tx := r.delayed("1.5")
	network := r.Transactions.Network
	r.Transactions.Network = refusingNetwork{network, errors.New("odd")}
	r.Trouble()
	r.Pass(day)
	r.Look()
	r.is(tx.ID, wallet.Delayed)
	r.Transactions.Network = network
	r.Pass(time.Minute)
	r.Look()
	r.is(tx.ID, wallet.AwaitingSignature)
}

// TestAPaymentThatHasJustLandedFailsNoDelayedOne: its amount has left the balance, and is still reserved.
func TestAPaymentThatHasJustLandedFailsNoDelayedOne(t *testing.T) {
	r := newHarness(t)
	tx := r.delayed("5")
	r.Pass(day)
	other := r.signed("4")
	r.Must(r.Chain.Broadcast(context.Background(), r.Transaction(other.ID).Signed))
	r.Blocks(3)
	if _, err := r.Transactions.Release(context.Background(), r.Transaction(tx.ID)); wallet.CodeOf(err) != wallet.Conflict {
		t.Fatalf("nobody can say yet, got %v", err)
	}
	r.Trouble()
	r.Settled(other.ID)
	r.Pass(time.Minute)
	r.Look()
	r.is(tx.ID, wallet.AwaitingSignature)
}

// TestWhatIsReservedDuringTheLookFailsNoDelayedOne: it may be of money that came in since the balances were read.
func TestWhatIsReservedDuringTheLookFailsNoDelayedOne(t *testing.T) {
	r := newHarness(t)
	tx := r.delayed("7")
	r.Pass(day)
	step := r.looked(tx)
	r.Fund(r.alice.Address(), 20*sol)
	r.confirmed("15")
	if _, input := step(); input.By != "" {
		t.Errorf("it ends with %+v", input)
	}
	r.Look()
	r.is(tx.ID, wallet.AwaitingSignature)
}

// TestACancelWhileTheChainIsAskedWins: what the look found is not written.
func TestACancelWhileTheChainIsAskedWins(t *testing.T) {
	r := newHarness(t)
	tx := r.delayed("1.5")
	r.Pass(day)
	step := r.looked(tx)
	r.Must(r.Update(func(s store.Tx) error {
		_, err := r.Transfers.Reject(s, r.alice.Caller(), tx.ID)
		return err
	}))
	if got, input := step(); input.By != "" || got.SignID != "" {
		t.Errorf("released: %+v", input)
	}
}

// TestWhatWasPaidBeforeARestoreIsNotAskedForAgain: the backup is older than the end of the delay, and the chain has the payment.
func TestWhatWasPaidBeforeARestoreIsNotAskedForAgain(t *testing.T) {
	r := newHarness(t)
	tx := r.delayed("2") // this is what the backup holds
	r.SendBehind(r.alice, wallet.Transaction{From: tx.From, To: tx.To, Reference: tx.Reference, Amount: tx.Amount})
	r.Blocks(40)
	r.Restart()
	r.Pass(day)
	r.Rounds(1)
	found := r.is(tx.ID, wallet.Confirmed)
	if found.SignID != "" || !found.Closed || found.LandedAfterCancel() {
		t.Errorf("found as %+v", found)
	}
	r.paid(2 * sol)
}

// TestAClockThatIsSetBackDoesNotEndADelay, and one that is set right again does.
func TestAClockThatIsSetBackDoesNotEndADelay(t *testing.T) {
	r := newHarness(t)
	tx := r.delayed("1.5")
	r.Pass(day - time.Hour)
	r.Look()
	r.Pass(-12 * time.Hour)
	r.Look()
	r.Pass(2 * time.Hour) // a day and more have passed on no clock
	r.Look()
	r.is(tx.ID, wallet.Delayed)
	r.Pass(11 * time.Hour)
	r.Look()
	r.is(tx.ID, wallet.AwaitingSignature)
}

// TestADelayOutlivesItsOwnerNot: who is erased is asked nothing more.
func TestADelayOutlivesItsOwnerNot(t *testing.T) {
	r := newHarness(t)
	tx := r.delayed("1.5")
	r.Must(r.Update(func(s store.Tx) error { return r.Users.Erase(s, r.alice.User.ID) }))
	r.Pass(day)
	r.Look()
	r.View(func(s store.Tx) error {
		if _, err := s.Transaction(tx.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("it is still there: %v", err)
		}
		return nil
	})
	if due := r.jobs(tx.ID); len(due) > 0 {
		t.Errorf("it is looked at again at %v", due)
	}
}

// TestWhoIsDelayed: a delay has its bounds and its reason, and a wallet without an owner has none.
func TestWhoIsDelayed(t *testing.T) {
	r := newHarness(t)
	for d, want := range map[time.Duration]time.Duration{0: 0, -time.Hour: 0, time.Nanosecond: 1, day: day, wallet.MaxDelay: wallet.MaxDelay, 1 << 62: wallet.MaxDelay} {
		r.Delayed(d)
		got, err := r.Prepare(r.alice, r.bob.Address(), "1", "SOL")
		if err != nil || got.DelayFor != want || got.DelayReason.IsZero() != (want == 0) {
			t.Errorf("%v: %v because of %v, %v", d, got.DelayFor, got.DelayReason, err)
		}
	}
	r.Delayed(day)
	tx := r.Propose(r.alice, r.bob.Address(), "1", "SOL")
	if tx.DelayReason.Key != "rule.very_large_first_payment" { // as the store kept it
		t.Errorf("because of %v", tx.DelayReason)
	}
}

// TestAStakeIsRefusedWhereItWouldHaveToWait, and nothing of it is stored.
func TestAStakeIsRefusedWhereItWouldHaveToWait(t *testing.T) {
	r := newHarness(t)
	r.Delayed(day)
	_, err := r.Stakes.Prepare(context.Background(), r.alice.Caller(), handlers.StakeRequest{Kind: wallet.Stake, Amount: world.Quantity("2")})
	r.Refused(wallet.PolicyViolation, err)
	if wallet.ReasonOf(err).Key != "delay.cannot_wait" {
		t.Errorf("refused because of %v", err)
	}
	r.Delayed(0)
	_, err = r.Stakes.Prepare(context.Background(), r.alice.Caller(), handlers.StakeRequest{Kind: wallet.Stake, Amount: world.Quantity("2")})
	r.Must(err)
}
