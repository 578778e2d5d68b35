package handlers

import (
	"errors"
	"time"

	"purser/store"
	"purser/wallet"
)

// ClaimWindow is how long the owner of an address can prevent that it moves to another account, after somebody else
// proved to hold its key (docs/architecture.md, Custody and the signing page).
const ClaimWindow = 24 * time.Hour

// claim records that somebody else has proven an address, and notifies its owner. A newer claim replaces an older one,
// since both proved the same key. The address does not move yet: see TakeOver.
func (w *Wallets) claim(tx store.Tx, bind wallet.Bind, held wallet.Wallet) error {
	lineage, err := lineageOf(tx, bind.KeyID)
	if err != nil {
		return err
	}
	now := w.Now().UTC()
	held.Claim = &wallet.Claim{User: bind.User, Type: bind.Type, KeyLineage: lineage, At: now}
	bind.Status = wallet.BindDone
	if err := errors.Join(tx.PutBind(bind), tx.PutWallet(held), logWallet(tx, now, held.Owner, wallet.LogWalletClaimed, held.Address, "")); err != nil {
		return err
	}
	event, err := wallet.NewEvent("evt_claimed_"+attempt(bind), wallet.WalletClaimed, now, held.Owner,
		wallet.WalletClaimedData{WalletAddress: held.Address})
	if err != nil {
		return err
	}
	return tx.Emit(event)
}

// StopClaim lets the owner keep a claimed address. NOT_FOUND if nobody claims it.
func (w *Wallets) StopClaim(tx store.Tx, owner wallet.UserID, address wallet.Address) error {
	held, err := tx.Wallet(address)
	if err != nil || held.Owner != owner || held.Claim == nil {
		return errors.Join(store.IgnoreNotFound(err), wallet.Refuse(wallet.NotFound, "claim_state.none"))
	}
	held.Claim = nil
	return errors.Join(tx.PutWallet(held), logWallet(tx, w.Now(), owner, wallet.LogWalletKept, address, ""))
}

// TakeOver moves a claimed address to the person who proved it. CONFLICT before ClaimWindow is over and while the
// account that holds it is frozen, NOT_FOUND without a claim of theirs, POLICY_VIOLATION if their own account is frozen.
func (w *Wallets) TakeOver(tx store.Tx, user wallet.UserID, address wallet.Address) (wallet.Wallet, error) {
	held, err := tx.Wallet(address)
	if err != nil || held.Claim == nil || held.Claim.User != user {
		return wallet.Wallet{}, errors.Join(store.IgnoreNotFound(err), wallet.Refuse(wallet.NotFound,
			"claim_state.over"))
	}
	if err := usable(tx, user, wallet.ByPerson); err != nil {
		return wallet.Wallet{}, err
	}
	if usable(tx, held.Owner, wallet.ByPerson) != nil { // its key must still be able to end the freeze
		return wallet.Wallet{}, wallet.Refuse(wallet.Conflict, "claim_state.frozen")
	}
	claim, now := *held.Claim, w.Now().UTC()
	if from := claim.At.Add(ClaimWindow); now.Before(from) {
		return wallet.Wallet{}, wallet.Refuse(wallet.Conflict, "claim_state.too_early", wallet.TimeArg("From", from))
	}
	if _, err := w.release(tx, held, wallet.MovedToAnother, ""); err != nil {
		return wallet.Wallet{}, err
	}
	return w.attach(tx, wallet.Wallet{Address: address, Owner: user, Type: claim.Type, ConnectedAt: now, KeyLineage: claim.KeyLineage})
}
