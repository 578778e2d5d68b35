package handlers

import (
	"context"
	"slices"

	"purser/store"
	"purser/wallet"
)

// delayable bounds the delay that the fraud rules set for a transaction. POLICY_VIOLATION if its kind cannot wait. A wallet without an owner is
// never delayed: nobody could cancel it in that time (docs/decisions/0051).
func delayable(t wallet.Transaction, rules wallet.Rules) (wallet.Transaction, error) {
	if t.Owner == "" || t.DelayFor <= 0 {
		t.DelayFor, t.DelayReason = 0, wallet.Reason{}
		return t, nil
	}
	t.DelayFor = min(t.DelayFor, wallet.MaxDelay)
	return t, rules.CheckDelay(t)
}

// Release checks a delayed transaction again when its delay has ended, as PrepareConfirm does at Confirm. It asks the chain, and returns a function
// for a store transaction. That one judges the row as it is there by all fraud rules, and returns the step to take: the transaction can be
// signed now, or fails with the reason why it is no longer possible. The step is zero if there is none to take. A rule that refuses ends the
// transaction, and anything less does not ask again.
//
// An error means that it cannot be decided yet: NETWORK_ERROR, or one of the store. CONFLICT if the delay has not ended, and while another
// payment is on its way whose amount may be missing from the balance already.
func (s *Transactions) Release(ctx context.Context, t wallet.Transaction) (func(store.Tx, wallet.Transaction) (wallet.Transaction, wallet.TransitionInput, error), error) {
	if err := t.ReleasableAt(s.Now()); err != nil {
		return nil, err
	}
	snapshot, refused, err := s.releasable(ctx, t)
	if err != nil {
		return nil, err
	}
	signID, err := wallet.RandomToken(s.Random, 16)
	if err != nil {
		return nil, err
	}
	return func(tx store.Tx, t wallet.Transaction) (wallet.Transaction, wallet.TransitionInput, error) {
		now := s.Now().UTC()
		if t.ReleasableAt(now) != nil { // its owner has cancelled it
			return t, wallet.TransitionInput{}, nil
		}
		if refused != nil {
			return t, wallet.TransitionInput{By: wallet.NoLongerFits, At: now, Failure: failureOf(refused), Reason: wallet.ReasonOf(refused)}, nil
		}
		// The rules judge it as everything is now: another payment may have been confirmed since, or a limit set.
		found, refused, err := s.judgeAtEnd(tx, t, snapshot)
		if err != nil {
			return t, wallet.TransitionInput{}, err
		}
		if refused != nil {
			t.Findings = found // with the exact reason, for its owner
			return t, wallet.TransitionInput{By: wallet.NoLongerFits, At: now, Failure: failureOf(refused), Reason: wallet.ReasonOf(refused)}, nil
		}
		// What was reserved since the balances were read may be of money that came in since. So this ends nothing: it is checked again.
		t, changed, err := s.stillCovered(tx, t, snapshot)
		if err != nil || changed != nil {
			return t, wallet.TransitionInput{}, err
		}
		if t.SignID == "" { // else its owner has the link since Confirm
			t.SignID = signID
		}
		return t, wallet.TransitionInput{By: wallet.DelayEnded, At: now}, nil
	}, nil
}

// judgeAtEnd judges a delayed transaction by all fraud rules again. refused is nil if none refuses it. Its reason is a general one, since it becomes part
// of an event that apps read. found has the exact ones.
func (s *Transactions) judgeAtEnd(tx store.Tx, t wallet.Transaction, snapshot Snapshot) (found []wallet.Finding, refused, err error) {
	input, err := s.ruleInput(tx, t, snapshot)
	if err != nil {
		return nil, nil, err
	}
	found = wallet.Judge(input, s.Rules)
	switch refused = wallet.RefusalTo(wallet.ChannelApp, found); {
	case wallet.ReasonOf(refused).Key == wallet.RefusedByPrivateRule:
		return found, wallet.Refuse(wallet.PolicyViolation, "failed_because.limits"), nil
	default:
		return found, refused, nil
	}
}

// releasable asks the chain whether a delayed transaction is still possible. refused is why not.
func (s *Transactions) releasable(ctx context.Context, t wallet.Transaction) (snapshot Snapshot, refused, err error) {
	operation, err := s.operation(t.Kind)
	if err != nil {
		return nil, nil, err
	}
	if snapshot, err = operation.Load(ctx, t); err != nil {
		return nil, refusalOf(err), undecided(err)
	}
	err = s.Store.View(ctx, func(tx store.Tx) error {
		var err error
		if _, refused, err = s.stillCovered(tx, t, snapshot); refused == nil || err != nil {
			return err
		}
		return underWay(tx, t)
	})
	if err != nil || refused != nil {
		return nil, refused, err
	}
	if _, err := s.simulate(ctx, t.Message); err != nil {
		return nil, refusalOf(err), undecided(err)
	}
	return snapshot, nil, nil
}

// underWay returns CONFLICT while another transaction of the wallet is signed and not settled. It may have landed: then its amount is
// missing from the balance, and still reserved.
func underWay(tx store.Tx, t wallet.Transaction) error {
	open, err := withoutReservationOf{tx, t.ID}.UnsettledFrom(t.From)
	for _, other := range open {
		if other.Status == wallet.Signed || other.Status == wallet.Pending {
			return wallet.RefuseFor(wallet.Conflict, other.Status.Reason())
		}
	}
	return err
}

// stillCovered is covered for a transaction that has reserved its own funds already. refused is why they are not enough.
func (s *Transactions) stillCovered(tx store.Tx, t wallet.Transaction, snapshot Snapshot) (_ wallet.Transaction, refused, err error) {
	fitting, err := s.covered(withoutReservationOf{tx, t.ID}, t, snapshot)
	return fitting, refusalOf(err), undecided(err)
}

// withoutReservationOf is a store transaction in which one wallet.Transaction reserves nothing.
type withoutReservationOf struct {
	store.Tx
	id wallet.TransactionID
}

// UnsettledFrom leaves out the transaction.
func (b withoutReservationOf) UnsettledFrom(from wallet.Address) ([]wallet.Transaction, error) {
	open, err := b.Tx.UnsettledFrom(from)
	return slices.DeleteFunc(open, func(t wallet.Transaction) bool { return t.ID == b.id }), err
}

// ReservationsFrom leaves out the transaction.
func (b withoutReservationOf) ReservationsFrom(from wallet.Address) ([]wallet.Reservation, error) {
	held, err := b.Tx.ReservationsFrom(from)
	return slices.DeleteFunc(held, func(r wallet.Reservation) bool { return r.ID == b.id }), err
}

// refusalOf returns err if it says that a transaction is not possible, else nil.
func refusalOf(err error) error {
	switch wallet.CodeOf(err) {
	case "", wallet.NetworkError, wallet.RateLimitExceeded, wallet.Internal:
		return nil
	}
	return err
}

// undecided returns err if it leaves open whether a transaction is possible, else nil.
func undecided(err error) error {
	if refusalOf(err) != nil {
		return nil
	}
	return err
}

// failureOf returns the error code of a transaction that is no longer possible.
func failureOf(refused error) wallet.Failure {
	switch wallet.CodeOf(refused) {
	case wallet.InsufficientFunds:
		return wallet.InsufficientBalance
	case wallet.PolicyViolation:
		return wallet.PolicyViolated
	}
	return wallet.SimulationFailed
}
