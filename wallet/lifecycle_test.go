package wallet

import (
	"encoding/json"
	"slices"
	"testing"
	"time"
)

func TestEveryStepOfTheLifecycleAndNoOther(t *testing.T) {
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	statuses := []Status{AwaitingConfirmation, Delayed, AwaitingSignature, Signed, Pending, Confirmed, Failed, Rejected, Expired, Received}
	happenings := []Trigger{OwnerConfirmed, OwnerRejected, TimeRanOut, DeviceSigned, NetworkAccepted, Landed,
		Finalized, FailedOnChain, CanNeverLand, RolledBack, FoundOnChain, BecameUncertain, ConfirmedToWait, DelayEnded, NoLongerFits}
	for _, status := range statuses {
		for _, by := range happenings {
			before := Transaction{ID: "tx_1", Kind: Send, Status: status, Token: SOL, Amount: 5}
			change := TransitionInput{By: by, At: at, Landing: &Landing{Slot: 7, BlockHeight: 6, Fee: 5000}, Failure: ChainError, Reason: Because("why.so")}
			after, events, err := SendRules().Apply(before, change)
			i := slices.IndexFunc(Lifecycle(), func(e Transition) bool { return e.From == status && e.By == by })
			if i < 0 {
				if CodeOf(err) != Conflict || ReasonOf(err).IsZero() || after.Status != status || len(events) != 0 {
					t.Errorf("%s by %q: %v, %v", status, by, after.Status, err)
				}
				continue
			}
			step := Lifecycle()[i]
			if err != nil || after.Status != step.To || len(events) != len(step.Emits) {
				t.Fatalf("%s by %q: %v with %d events (%v)", status, by, after.Status, len(events), err)
			}
			for n, event := range events {
				if event.Name != step.Emits[n] || event.Transaction != "tx_1" || !json.Valid(event.Data) {
					t.Errorf("%s by %q announces %+v", status, by, event)
				}
			}
		}
	}
}

// TestADelayIsBetweenConfirmAndTheSignature: what each step makes of the times, and that nobody can sign before the end.
func TestADelayIsBetweenConfirmAndTheSignature(t *testing.T) {
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	tx := Transaction{ID: "tx_1", Kind: Send, Status: AwaitingConfirmation, Token: SOL, Amount: 5, DelayFor: 24 * time.Hour, Deadline: at.Add(time.Minute)}
	waits, events, err := SendRules().Apply(tx, TransitionInput{By: OwnerConfirmed, At: at})
	if err != nil || waits.Status != Delayed || !waits.DelayEndsAt.Equal(at.Add(24*time.Hour)) || !waits.Deadline.IsZero() || len(events) != 1 || events[0].Name != TransactionDelayed {
		t.Fatalf("confirmed: %+v, %v, %v", waits, events, err)
	}
	end := waits.DelayEndsAt
	for now, released := range map[time.Time]bool{at: false, end.Add(-1): false, end: true, end.Add(time.Hour): true} {
		if (waits.ReleasableAt(now) == nil) != released {
			t.Errorf("at %v: %v", now, waits.ReleasableAt(now))
		}
		if waits.ConfirmableAt(now) == nil || waits.SignableAt(now) == nil || waits.TimedOutAt(now) || !waits.Waits(now) {
			t.Errorf("at %v it can be confirmed or signed, or has ended", now)
		}
	}
	if next, open := SendRules().NextCheck(waits, at); !open || !next.At.Equal(end) {
		t.Errorf("looked at again at %v", next.At)
	}
	late := end.Add(time.Hour) // purser was off
	signs, _, err := SendRules().Apply(waits, TransitionInput{By: DelayEnded, At: late})
	if err != nil || signs.Status != AwaitingSignature || !signs.Deadline.Equal(late.Add(DelayedSignWindow)) || signs.ReleasableAt(late) == nil || !signs.WasDelayed() {
		t.Errorf("the delay ended: %+v, %v", signs, err)
	}
	for by, status := range map[Trigger]Status{OwnerRejected: Rejected, NoLongerFits: Failed} {
		over, _, err := SendRules().Apply(waits, TransitionInput{By: by, At: late, Failure: UserRejected})
		if err != nil || over.Status != status || !over.Closed || !over.EndedAt.Equal(late) || !over.NothingSigned() {
			t.Errorf("%s: %+v, %v", by, over, err)
		}
	}
	if _, _, err := SendRules().Apply(tx, TransitionInput{By: DelayEnded, At: late}); CodeOf(err) != Conflict {
		t.Errorf("released before Confirm: %v", err)
	}
}

// TestAKindThatCannotWaitIsNotConfirmedToWait: a quote does not outlive a delay.
func TestAKindThatCannotWaitIsNotConfirmedToWait(t *testing.T) {
	cannot := SendRules()
	cannot.CanWait = false
	tx := Transaction{ID: "tx_1", Kind: Send, Status: AwaitingConfirmation, Token: SOL, DelayFor: 1}
	if got, _, err := cannot.Apply(tx, TransitionInput{By: OwnerConfirmed}); CodeOf(err) != PolicyViolation || got.Status != AwaitingConfirmation {
		t.Errorf("%s, %v", got.Status, err)
	}
	if _, _, err := cannot.Apply(tx, TransitionInput{By: OwnerRejected}); err != nil {
		t.Errorf("it cannot be rejected: %v", err)
	}
	for _, rules := range []Rules{SwapRules(), StakeRules(), UnstakeRules(), WithdrawRules(), RequestRules(), ReceiveRules()} {
		if rules.CanWait {
			t.Errorf("%s can wait", rules.Kind)
		}
	}
	if _, err := NewKinds(Rules{Kind: "odd", Life: Incoming, CanWait: true}); err == nil {
		t.Error("what nobody signs can wait for its signature")
	}
}

// TestARollbackTakesBackWhatTheLandingTold: what is pending again was not confirmed at any time.
func TestARollbackTakesBackWhatTheLandingTold(t *testing.T) {
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	tx := Transaction{ID: "tx_1", Kind: Send, Status: Pending, Token: SOL, Amount: 5}
	for i, change := range []TransitionInput{{By: Landed, At: at, Landing: &Landing{Slot: 7}}, {By: RolledBack, At: at.Add(time.Second)}} {
		var err error
		if tx, _, err = SendRules().Apply(tx, change); err != nil {
			t.Fatal(err)
		}
		if tx.ConfirmedAt.IsZero() == (i == 0) || (tx.Landing == nil) == (i == 0) {
			t.Errorf("after %s it is confirmed at %v, landed as %+v", change.By, tx.ConfirmedAt, tx.Landing)
		}
	}
	if !tx.Reserves(99) {
		t.Error("its funds are free although it may land again")
	}
	again, _, err := SendRules().Apply(tx, TransitionInput{By: Landed, At: at.Add(time.Minute), Landing: &Landing{Slot: 9}})
	if err != nil || !again.ConfirmedAt.Equal(at.Add(time.Minute)) {
		t.Errorf("landed again at %v, %v", again.ConfirmedAt, err)
	}
}

func TestEventsOfOneTransactionHaveDifferentIDs(t *testing.T) {
	at := time.Unix(1, 0)
	tx := Transaction{ID: "tx_1", Kind: Send, Status: AwaitingSignature, Token: SOL, Amount: 5}
	seen := map[string]bool{}
	for _, by := range []Trigger{DeviceSigned, NetworkAccepted, BecameUncertain, Landed, RolledBack, Landed, Finalized} {
		next, events, err := SendRules().Apply(tx, TransitionInput{By: by, At: at, Landing: &Landing{}})
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range events {
			if seen[event.ID] {
				t.Errorf("%s announces %s again", by, event.ID)
			}
			seen[event.ID] = true
		}
		tx = next
	}
}

// A device that was given a sign link may have signed and kept the bytes: such a transaction must
// stay under watch after it was rejected or ran out of time, even where no blockhash is remembered,
// since the database may be an old one.
func TestRejectedWithALinkOutIsWatchedOn(t *testing.T) {
	for _, issues := range [][]IssuedBlockhash{nil, {{}}} {
		for _, by := range []Trigger{OwnerRejected, TimeRanOut} {
			tx := Transaction{ID: "tx_1", Kind: Send, Status: AwaitingSignature, Token: SOL, IssuedBlockhashes: issues}
			watched, _, err := SendRules().Apply(tx, TransitionInput{By: by, Failure: UserRejected})
			if err != nil || watched.Closed {
				t.Fatalf("%s: %+v, %v", by, watched, err)
			}
			tx.Status = AwaitingConfirmation // nobody has a link
			closed, _, err := SendRules().Apply(tx, TransitionInput{By: by, Failure: UserRejected})
			if err != nil || !closed.Closed {
				t.Fatalf("%s before Confirm: %+v, %v", by, closed, err)
			}
		}
	}
}

func TestFundsAreReservedFromConfirmToTheEnd(t *testing.T) {
	for status, reserves := range map[Status]bool{
		AwaitingConfirmation: false, Delayed: true, AwaitingSignature: true, Signed: true, Pending: true,
		Failed: false, Rejected: false, Expired: false, Received: false,
	} {
		if got := (Transaction{Status: status}).Reserves(100); got != reserves {
			t.Errorf("%s reserves: %v", status, got)
		}
	}
	landed := Transaction{Status: Confirmed, Landing: &Landing{Slot: 100}}
	if !landed.Reserves(99) || landed.Reserves(100) {
		t.Error("a balance read before the landing still holds the money, one read after it does not")
	}
	landed.Closed = true
	if landed.Reserves(99) {
		t.Error("what is final is reserved no more")
	}
}

// TestAReservationHoldsAsLongAsItsTransactionReserves: balances are judged by the one, and the rule stands in the other.
func TestAReservationHoldsAsLongAsItsTransactionReserves(t *testing.T) {
	rules, land := SendRules(), &Landing{Slot: 100}
	for _, status := range []Status{AwaitingConfirmation, Requested, Delayed, AwaitingSignature, Signed, Pending, Confirmed, Failed, Rejected, Expired, Received} {
		for _, landing := range []*Landing{nil, land} {
			for _, closed := range []bool{false, true} {
				sent := Transaction{ID: "tx_1", Kind: Send, Status: status, Landing: landing, Closed: closed, Token: SOL, Amount: 7, Fee: 5}
				held, ok := rules.Reservation(sent)
				for _, slot := range []uint64{0, 99, 100, 101} {
					if got, want := ok && held.Holds(slot), sent.Reserves(slot); got != want {
						t.Errorf("%s, landed %+v, closed %v, of a balance at %d: held back %v, want %v", status, landing, closed, slot, got, want)
					}
				}
				if ok && (held.ID != sent.ID || held.Spending != rules.Spends(sent)) {
					t.Errorf("%s: it holds %+v", status, held)
				}
			}
		}
	}
}

func TestApprovedIsWhoseSignatureWasAskedFor(t *testing.T) {
	for what, c := range map[string]struct {
		of   Transaction
		want bool
	}{
		"a proposal":                    {Transaction{}, false},
		"confirmed, its link not open":  {Transaction{SignID: "s"}, true},
		"delayed, with its link":        {Transaction{SignID: "s", DelayEndsAt: time.Unix(1, 0)}, false},
		"its delay is over":             {Transaction{SignID: "s", DelayEndsAt: time.Unix(1, 0), Deadline: time.Unix(2, 0)}, true},
		"a program's, issued over hash": {Transaction{IssuedBlockhashes: []IssuedBlockhash{{}}}, true},
	} {
		if got := c.of.Approved(); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}
