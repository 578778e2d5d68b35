package handlers

import (
	"context"

	"purser/store"
	"purser/wallet"
)

// Confirmation is a checked Confirm that is ready to be committed. It is valid for one CommitConfirm.
type Confirmation struct {
	id       wallet.TransactionID
	who      Caller
	typed    string   // what the owner typed; checked again at commit
	snapshot Snapshot // the balances when Confirm was tapped
	signID   string   // secret of the signing link, 128 random bits; stored only by the commit
}

// PrepareConfirm checks a transaction again when its owner confirms it, because minutes may have passed since the
// proposal. typed is what the owner wrote if a fraud rule warns (wallet.Transaction.Typing), and "" for a tap.
//
// Errors: TRANSACTION_NOT_FOUND, CONFLICT when it can no longer be confirmed, POLICY_VIOLATION when something else has to
// be typed, INSUFFICIENT_FUNDS, INVALID_REQUEST, NETWORK_ERROR.
func (s *Transactions) PrepareConfirm(ctx context.Context, who Caller, id wallet.TransactionID, typed string) (Confirmation, error) {
	t, err := s.Of(ctx, who, id)
	if err != nil {
		return Confirmation{}, err
	}
	if err := t.ConfirmableAt(s.Now()); err != nil {
		return Confirmation{}, err
	}
	if err := t.TypedFor(typed); err != nil {
		return Confirmation{}, err
	}
	snapshot, err := s.load(ctx, t)
	if err != nil {
		return Confirmation{}, err
	}
	// Our own checks come first, since their messages are more precise than an error of the simulation.
	if err := snapshot.StillFits(t); err != nil {
		return Confirmation{}, err
	}
	if _, err := s.simulate(ctx, t.Message); err != nil {
		return Confirmation{}, err
	}
	signID, err := wallet.RandomToken(s.Random, 16)
	if err != nil {
		return Confirmation{}, err
	}
	return Confirmation{id: id, who: who, typed: typed, snapshot: snapshot, signID: signID}, nil
}

// CommitConfirm records the owner's consent and reserves the funds. The transaction then waits for the device's
// signature, or for the end of its delay: until then there is no signing link, unless it waits for a new recipient, and nothing can be signed. Every check runs again here: the store makes this a compare-and-set, so of two taps one gets CONFLICT, and
// two transactions cannot reserve the same funds.
//
// The fraud rules judge it again. If they find something worse than its owner was shown, the error is one of IsJudgedAgain.
func (s *Transactions) CommitConfirm(tx store.Tx, c Confirmation) (wallet.Transaction, error) {
	t, err := authorizeOwner(tx, c.who, c.id)
	if err != nil {
		return t, err
	}
	if err := usable(tx, t.Owner, c.who.useOf(t.Owner)); err != nil {
		return t, err
	}
	if err := t.ConfirmableAt(s.Now()); err != nil {
		return t, err
	}
	if err := t.TypedFor(c.typed); err != nil {
		return t, err
	}
	snapshot, err := c.snapshot.NetOfReservations(tx)
	if err != nil {
		return t, err
	}
	if err := snapshot.StillFits(t); err != nil {
		return t, err
	}
	if t, err = s.reassess(tx, t, snapshot); err != nil {
		return t, err
	}
	if t, err = s.covered(tx, t, c.snapshot); err != nil {
		return t, err
	}
	// While it waits for a new recipient, the page is to see the recipient: its own wait runs at the same time.
	if t.DelayFor == 0 || t.AwaitsNewRecipient() {
		t.SignID = c.signID
	}
	return store.Step(tx, t, wallet.TransitionInput{By: wallet.OwnerConfirmed, At: s.Now().UTC()})
}

// covered checks that the funds are not reserved by another transaction, and updates what will be left. It runs in the
// store transaction that makes the reservation.
func (s *Transactions) covered(tx store.Tx, t wallet.Transaction, snapshot Snapshot) (wallet.Transaction, error) {
	snapshot, err := snapshot.NetOfReservations(tx)
	if err != nil {
		return t, err
	}
	if err := snapshot.StillFits(t); err != nil {
		return t, err
	}
	t.BalanceLeft = snapshot.Remaining(t) // at Confirm; it may differ from what the proposal showed
	return t, nil
}
