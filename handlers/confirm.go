package handlers

import (
	"context"

	"purser/store"
	"purser/wallet"
)

// Confirmation is what was found when the owner tapped Confirm.
type Confirmation struct {
	id     wallet.TransactionID
	who    Caller
	typed  string
	facts  accountSnapshot
	signID string
}

// PrepareConfirm looks at the chain once more, since minutes may have passed. typed is what the owner
// wrote where a look-alike asks for it (wallet.Address.Middle), "" for a tap; POLICY_VIOLATION if
// something else is asked for.
func (s *Transfers) PrepareConfirm(ctx context.Context, who Caller, id wallet.TransactionID, typed string) (Confirmation, error) {
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
	f, err := s.fetch(ctx, t.From, t.To, t.Token)
	if err != nil {
		return Confirmation{}, err
	}
	// What is lacking is said in our own words first; then the network is asked.
	if err := f.stillFits(t); err != nil {
		return Confirmation{}, err
	}
	if _, err := s.simulate(ctx, t.Message); err != nil {
		return Confirmation{}, err
	}
	signID, err := wallet.RandomToken(s.Random, 16)
	if err != nil {
		return Confirmation{}, err
	}
	return Confirmation{id: id, who: who, typed: typed, facts: f, signID: signID}, nil
}

// stillFits tells whether what was proposed is what would happen now.
func (f accountSnapshot) stillFits(t wallet.Transaction) error {
	if err := f.checkAccounts(); err != nil {
		return err
	}
	switch {
	case f.rent > t.Rent && t.Rent > 0:
		return wallet.Refuse(wallet.InvalidRequest, "a new account for this token costs more SOL than when this was prepared: start again with /send")
	case f.rent > t.Rent:
		return wallet.Refuse(wallet.InvalidRequest, "the recipient's account for this token was closed meanwhile: start again with /send")
	case f.withheld(t.Amount) > t.TransferFee:
		return wallet.Refuse(wallet.InvalidRequest, "the token's issuer keeps more of it than when this was prepared: start again with /send")
	}
	f.rent = t.Rent // counted even if somebody else paid it meanwhile
	return f.checkAmount(t.Amount, t.Fee)
}

// CommitConfirm is the owner's word: it happens once, in time, with funds that no other confirmed
// transaction has reserved; then the transaction waits for the device.
func (s *Transfers) CommitConfirm(tx store.Tx, c Confirmation) (wallet.Transaction, error) {
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
	if t, err = s.covered(tx, t, c.facts); err != nil {
		return t, err
	}
	t.SignID = c.signID
	return store.Step(tx, t, wallet.TransitionInput{By: wallet.OwnerConfirmed, At: s.Now().UTC()})
}

// covered makes a transaction ready to wait for its signature, with funds that nobody else has reserved.
func (s *Transfers) covered(tx store.Tx, t wallet.Transaction, f accountSnapshot) (wallet.Transaction, error) {
	f, err := f.netOfReservations(tx)
	if err != nil {
		return t, err
	}
	if err := f.stillFits(t); err != nil {
		return t, err
	}
	t.BalanceLeft = f.left(t.Amount, t.Fee) // as of now, not of the proposal
	return t, nil
}
