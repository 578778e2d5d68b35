package handlers

import (
	"context"

	"purser/store"
	"purser/wallet"
)

// Confirmation is what was found when the owner tapped Confirm.
type Confirmation struct {
	id       wallet.TransactionID
	who      Caller
	typed    string
	snapshot Snapshot
	signID   string
}

// PrepareConfirm looks at the chain once more, since minutes may have passed. typed is what the owner
// wrote where a look-alike asks for it (wallet.Address.Middle), "" for a tap; POLICY_VIOLATION if
// something else is asked for.
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
	// What is lacking is said in our own words first; then the network is asked.
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

// CommitConfirm is the owner's word: it happens once, in time, with funds that no other confirmed
// transaction has reserved; then the transaction waits for the device.
func (s *Transactions) CommitConfirm(tx store.Tx, c Confirmation) (wallet.Transaction, error) {
	t, err := authorizeOwner(tx, c.who, c.id)
	if err != nil {
		return t, err
	}
	if err := t.ConfirmableAt(s.Now()); err != nil {
		return t, err
	}
	if err := t.TypedFor(c.typed); err != nil {
		return t, err
	}
	if t, err = s.covered(tx, t, c.snapshot); err != nil {
		return t, err
	}
	t.SignID = c.signID
	return store.Step(tx, t, wallet.TransitionInput{By: wallet.OwnerConfirmed, At: s.Now().UTC()})
}

// covered makes a transaction ready to wait for its signature, with funds that nobody else has reserved.
func (s *Transactions) covered(tx store.Tx, t wallet.Transaction, snapshot Snapshot) (wallet.Transaction, error) {
	snapshot, err := snapshot.NetOfReservations(tx)
	if err != nil {
		return t, err
	}
	if err := snapshot.StillFits(t); err != nil {
		return t, err
	}
	t.BalanceLeft = snapshot.Left(t) // as of now, not of the proposal
	return t, nil
}
