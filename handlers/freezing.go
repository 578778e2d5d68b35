package handlers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"purser/store"
	"purser/wallet"
)

// Freezing stops everything that purser could do for a person, and starts it again when their device signs for it
// (docs/decisions/0049-freeze.md). Nothing else in purser clears wallet.User.Freeze.
//
// What a freeze stops is checked where each way into an account begins: usable, called by the operations that propose,
// confirm, sign, connect, grant and make keys.
type Freezing struct {
	DeviceLinks
	Store   store.Store
	Wallets *Wallets
}

// usable returns POLICY_VIOLATION if a person's account is frozen, and nil for nobody. Call it in the store transaction of the
// effect, so that nothing happens after a freeze was stored.
func usable(tx store.Tx, person wallet.UserID, use wallet.AccountUse) error {
	if person == "" {
		return nil
	}
	user, err := tx.User(person)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return user.Frozen(use)
}

// useOf returns how a caller uses the account of a person.
func (c Caller) useOf(person wallet.UserID) wallet.AccountUse {
	switch {
	case c.KeyLineage == "":
		return wallet.ByPerson
	case c.User == person:
		return wallet.ByKey
	}
	return wallet.ByApp
}

// Freeze freezes a person's account and returns the freeze. It rejects the transactions that wait for Confirm, for the end of a delay or for a
// signature. What is signed goes on. It ends portal links and sessions, attempts to connect a wallet, and changes of spending limits that
// wait. message is the id of the person's message, 0 for none. For an account that is frozen already it only stops an UnfreezeDelay that
// runs. USER_NOT_FOUND.
func (f *Freezing) Freeze(tx store.Tx, person wallet.UserID, by wallet.FreezeChannel, message int) (wallet.Freeze, error) {
	user, err := tx.User(person)
	if err != nil {
		return wallet.Freeze{}, found(err, wallet.UserNotFound, "person.gone")
	}
	if user.Freeze != nil {
		if user.Freeze.EndsFrom.IsZero() {
			return *user.Freeze, nil
		}
		again := *user.Freeze
		again.EndsFrom = time.Time{}
		user.Freeze = &again
		return again, tx.PutUser(user)
	}
	now := f.Now().UTC()
	user.Freeze = &wallet.Freeze{At: now, By: by, Message: message}
	if err := rejectUnsigned(tx, person, now); err != nil {
		return wallet.Freeze{}, err
	}
	if err := errors.Join(f.Wallets.CancelLink(tx, person), tx.DeletePortalTokensOf(person, ""), tx.DeleteFreezeLink(person, wallet.LinkUnfreezes),
		dropPending(tx, person, wallet.Address{}, now), tx.PutUser(user),
		store.LogSecurity(tx, person, now, wallet.LogFrozen, wallet.SecurityDetails{Value: string(by)})); err != nil {
		return wallet.Freeze{}, err
	}
	event, err := wallet.NewEvent(fmt.Sprintf("evt_frozen_%s_%d", person, now.UnixMilli()), wallet.AccountFrozen, now, person,
		wallet.AccountFrozenData{FrozenAt: wallet.Timestamp(now)})
	if err != nil {
		return wallet.Freeze{}, err
	}
	return *user.Freeze, tx.Emit(event)
}

// rejectUnsigned rejects a person's transactions that are not signed.
func rejectUnsigned(tx store.Tx, person wallet.UserID, now time.Time) error {
	open, err := OpenTransactions(tx, person)
	if err != nil {
		return err
	}
	for _, t := range open {
		if t.Status != wallet.AwaitingConfirmation && t.Status != wallet.Delayed && t.Status != wallet.AwaitingSignature {
			continue
		}
		if _, err := store.Step(tx, t, wallet.TransitionInput{By: wallet.OwnerRejected, At: now,
			Failure: wallet.UserRejected, Reason: wallet.Because(byFreeze)}); err != nil {
			return err
		}
	}
	return nil
}

// Underway counts the transactions of a person that are signed and not settled: a freeze cannot call them back.
func (f *Freezing) Underway(tx store.Tx, person wallet.UserID) (n int, _ error) {
	open, err := couldLand(tx, person)
	if err != nil {
		return 0, err
	}
	for _, t := range open {
		if t.Status == wallet.Signed || t.Status == wallet.Pending {
			n++
		}
	}
	return n, nil
}

// NewLink stores a person's recovery link, which replaces the older one, and returns its token. The token must be sent to that person's
// chat and nowhere else. Anybody who has it can freeze the account and do nothing else. POLICY_VIOLATION for a frozen
// account: somebody who holds the chat must not end the link that its owner keeps.
func (f *Freezing) NewLink(tx store.Tx, person wallet.UserID) (token string, _ error) {
	if err := usable(tx, person, wallet.ByPerson); err != nil {
		return "", err
	}
	token, hash, err := f.newToken()
	if err != nil {
		return "", err
	}
	return token, tx.PutFreezeLink(wallet.FreezeLink{TokenHash: hash, User: person, Use: wallet.LinkFreezes, IssuedAt: f.Now().UTC()})
}

const deadFreezeLink = "frozen.dead_link"

// linked returns a link of the wanted use that is open, and its user. NOT_FOUND.
func (f *Freezing) linked(tx store.Tx, token string, use wallet.FreezeLinkUse) (wallet.FreezeLink, wallet.User, error) {
	link, err := tx.FreezeLink(tokenHash(token))
	if err == nil && (link.Use != use || !link.OpenAt(f.Now())) {
		err = store.ErrNotFound
	}
	if err != nil {
		return link, wallet.User{}, found(err, wallet.NotFound, deadFreezeLink)
	}
	user, err := tx.User(link.User)
	return link, user, found(err, wallet.NotFound, deadFreezeLink)
}

// FreezeByLink freezes the account of a recovery link and returns since when it is frozen. NOT_FOUND for any other token.
func (f *Freezing) FreezeByLink(ctx context.Context, token string) (time.Time, error) {
	// Read first: guessing tokens must not cost commits.
	if _, err := read(ctx, f.Store, func(tx store.Tx) (wallet.User, error) {
		_, user, err := f.linked(tx, token, wallet.LinkFreezes)
		return user, err
	}); err != nil {
		return time.Time{}, err
	}
	var at time.Time
	err := f.Store.Update(ctx, func(tx store.Tx) error {
		link, _, err := f.linked(tx, token, wallet.LinkFreezes)
		if err != nil {
			return err
		}
		frozen, err := f.Freeze(tx, link.User, wallet.FrozenByLink, 0)
		at = frozen.At
		return err
	})
	return at, err
}

// NewUnfreezeLink stores a link by which a device of the person's can end the freeze, and returns its token. It replaces the
// older one. CONFLICT if the account is not frozen.
func (f *Freezing) NewUnfreezeLink(tx store.Tx, person wallet.UserID) (token string, link wallet.FreezeLink, _ error) {
	switch user, err := tx.User(person); {
	case err != nil:
		return "", link, found(err, wallet.UserNotFound, "person.gone")
	case user.Freeze == nil:
		return "", link, wallet.Refuse(wallet.Conflict, "frozen.not")
	}
	l, err := f.newLink(wallet.UnfreezeWindow)
	if err != nil {
		return "", link, err
	}
	link = wallet.FreezeLink{TokenHash: l.hash, User: person, Use: wallet.LinkUnfreezes, Nonce: l.nonce, IssuedAt: l.issuedAt, ExpiresAt: l.expiresAt}
	return l.token, link, tx.PutFreezeLink(link)
}

// UnfreezeChallenge has the fields of the text that a device signs to unfreeze an account, and the wallets whose keys can.
type UnfreezeChallenge struct {
	Challenge
	FrozenAt time.Time
	Wallets  []wallet.Wallet
}

// UnfreezeChallenge returns the challenge of an open link to unfreeze. NOT_FOUND for any other, CONFLICT if the account is not
// frozen.
func (f *Freezing) UnfreezeChallenge(ctx context.Context, token string) (UnfreezeChallenge, error) {
	return read(ctx, f.Store, func(tx store.Tx) (UnfreezeChallenge, error) {
		link, user, err := f.linked(tx, token, wallet.LinkUnfreezes)
		if err != nil {
			return UnfreezeChallenge{}, err
		}
		if user.Freeze == nil {
			return UnfreezeChallenge{}, wallet.Refuse(wallet.Conflict, "frozen.not")
		}
		keys, err := unlocking(tx, user)
		return UnfreezeChallenge{Challenge: f.challenge(user, link.Nonce, link.IssuedAt, link.ExpiresAt), FrozenAt: user.Freeze.At, Wallets: keys}, err
	})
}

// unlocking lists the wallets whose keys can end the freeze of a frozen person.
func unlocking(tx store.Tx, user wallet.User) ([]wallet.Wallet, error) {
	all, err := tx.WalletsOf(user.ID)
	if err != nil {
		return nil, err
	}
	return user.UnlockedBy(all), nil
}

// mayHaveEnded reports whether a wallet is a person's or was one lately, so that it may have ended a freeze that is over.
func mayHaveEnded(tx store.Tx, user wallet.User, address wallet.Address) (bool, error) {
	if slices.ContainsFunc(user.FormerWallets, func(f wallet.FormerWallet) bool { return f.Address == address }) {
		return true, nil
	}
	held, err := tx.Wallet(address)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return held.Owner == user.ID, err
}

// Unfreeze ends a freeze with a signature over wallet.UnfreezeText by a wallet that was connected before it, even if it was disconnected
// or has moved to another account (wallet.User.UnlockedBy). The text is
// composed here, so only a signature for this account, link and server counts. The same request again succeeds as long as the account
// is not frozen again.
//
// NOT_FOUND for a dead or unknown link, INVALID_SIGNATURE, POLICY_VIOLATION for a wallet that is not theirs or was connected
// after the freeze.
func (f *Freezing) Unfreeze(ctx context.Context, token string, address wallet.Address, sig wallet.Signature) error {
	return f.Store.Update(ctx, func(tx store.Tx) error {
		link, user, err := f.linked(tx, token, wallet.LinkUnfreezes)
		if err != nil {
			return err
		}
		text := f.text(wallet.UnfreezeText, address, wallet.TelegramAccount(user.TelegramID), link.Nonce, link.IssuedAt, link.ExpiresAt)
		if !f.signed(text, address, sig) {
			return wallet.Refuse(wallet.InvalidSignature, "frozen.wrong_signature")
		}
		var can bool
		if user.Freeze == nil { // the response to the first request was lost
			can, err = mayHaveEnded(tx, user, address)
		} else {
			var keys []wallet.Wallet
			keys, err = unlocking(tx, user)
			can = slices.ContainsFunc(keys, func(w wallet.Wallet) bool { return w.Address == address })
		}
		switch {
		case err != nil:
			return err
		case !can:
			return wallet.Refuse(wallet.PolicyViolation, "frozen.other_wallet")
		case user.Freeze == nil:
			return nil
		}
		return f.end(tx, user, address)
	})
}

// end clears the freeze and notifies the person.
func (f *Freezing) end(tx store.Tx, user wallet.User, by wallet.Address) error {
	now := f.Now().UTC()
	user = user.Unfrozen(now)
	event, err := wallet.NewEvent(fmt.Sprintf("evt_unfrozen_%s_%d", user.ID, now.UnixMilli()), wallet.AccountUnfrozen, now, user.ID,
		wallet.AccountUnfrozenData{WalletAddress: by})
	if err != nil {
		return err
	}
	return errors.Join(tx.PutUser(user), logWallet(tx, now, user.ID, wallet.LogUnfrozen, by, ""), tx.Emit(event), notifyDefault(tx, f.Random, user, now, true))
}

// Signers returns how many wallets can end a person's freeze. With none, see EndWithoutWallet.
func (f *Freezing) Signers(tx store.Tx, user wallet.User) (int, error) {
	if user.Freeze == nil {
		return 0, wallet.Refuse(wallet.Conflict, "frozen.not")
	}
	keys, err := unlocking(tx, user)
	return len(keys), err
}

// EndWithoutWallet ends the freeze of a person without a wallet whose device could sign (Signers). The first call begins wallet.UnfreezeDelay
// and returns when it is over. A call after that ends the freeze and returns the zero time. A new freeze in between stops the delay.
// POLICY_VIOLATION for a person with such a wallet, CONFLICT for an account that is not frozen.
func (f *Freezing) EndWithoutWallet(tx store.Tx, person wallet.UserID) (from time.Time, _ error) {
	user, err := tx.User(person)
	if err != nil {
		return from, found(err, wallet.UserNotFound, "person.gone")
	}
	switch n, err := f.Signers(tx, user); {
	case err != nil:
		return from, err
	case n > 0:
		return from, wallet.Refuse(wallet.PolicyViolation, "frozen.device_needed")
	}
	now := f.Now().UTC()
	switch ends := user.Freeze.EndsFrom; {
	case ends.IsZero():
		begun := *user.Freeze
		begun.EndsFrom = now.Add(wallet.UnfreezeDelay)
		user.Freeze = &begun
		return begun.EndsFrom, tx.PutUser(user)
	case now.Before(ends):
		return ends, nil
	}
	return time.Time{}, f.end(tx, user, wallet.Address{})
}

// byFreeze is the reason of a transaction that ended because its owner froze the account.
const byFreeze = "failed_because.frozen"

// IsByFreeze reports whether a transaction was rejected by a freeze.
func IsByFreeze(t wallet.Transaction) bool {
	return t.Status == wallet.Rejected && t.ErrorReason.Key == byFreeze
}
