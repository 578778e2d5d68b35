package handlers

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"time"

	"purser/store"
	"purser/wallet"
)

// Invitation is the text that a program signs to connect a wallet whose key it holds.
type Invitation struct {
	Message string
	bind    wallet.Bind
}

// ExpiresAt is until when the signature counts.
func (i Invitation) ExpiresAt() string { return wallet.Timestamp(i.bind.ExpiresAt) }

// invitationHash is under which a program's attempt is kept: a key has one open at a time, and no
// link opens it.
func invitationHash(line string) [32]byte { return sha256.Sum256([]byte("connect by key " + line)) }

// PrepareInvitation draws the challenge for an address that a program wants to connect: to the
// key's owner, or, for an operator's key that belongs to nobody, to the key itself. Whether somebody
// holds the address already is said to nobody who has not proven that they hold its key. INVALID_REQUEST,
// USER_NOT_FOUND.
func (w *Wallets) PrepareInvitation(ctx context.Context, who Caller, address wallet.Address) (Invitation, error) {
	if !address.OnCurve() {
		return Invitation{}, wallet.Refuse(wallet.InvalidRequest, "address.no_key")
	}
	account, user, err := w.account(ctx, who)
	if err != nil {
		return Invitation{}, err
	}
	link, err := w.PrepareLink(user)
	if err != nil {
		return Invitation{}, err
	}
	bind := link.bind
	bind.User = "" // nobody's until it is proven
	bind.TokenHash, bind.KeyID, bind.Type, bind.Address = invitationHash(who.KeyLineage), who.KeyID, wallet.DeveloperWallet, address
	return Invitation{Message: w.signInText(bind, address, account), bind: bind}, nil
}

// account is what a program's wallet is connected to.
func (w *Wallets) account(ctx context.Context, who Caller) (string, wallet.User, error) {
	if who.User == "" {
		return wallet.KeyAccount(who.KeyLineage), wallet.User{}, nil
	}
	user, err := read(ctx, w.Store, func(tx store.Tx) (wallet.User, error) { return tx.User(who.User) })
	return wallet.TelegramAccount(user.TelegramID), user, found(err, wallet.UserNotFound, "person.gone")
}

// CommitInvitation keeps the challenge. A person's own link goes on until the program has proven its
// address. While they are still asked about the one before, and for a day after they did not say yes, it
// is RATE_LIMIT_EXCEEDED: no program can pester them.
func (w *Wallets) CommitInvitation(tx store.Tx, i Invitation) error {
	switch asked, err := tx.Bind(i.bind.TokenHash); {
	case errors.Is(err, store.ErrNotFound):
	case err != nil:
		return err
	case asked.ChoosableAt(w.Now()):
		return wallet.Refuse(wallet.RateLimitExceeded, "connecting.still_asked", wallet.TimeArg("Until", asked.ExpiresAt))
	case (asked.Status == wallet.BindRefused || asked.Status == wallet.BindProven) && w.Now().Before(asked.IssuedAt.Add(refusedFor)):
		return wallet.Refuse(wallet.RateLimitExceeded, "connecting.refused", wallet.TimeArg("Again", asked.IssuedAt.Add(refusedFor)))
	}
	return tx.PutBind(i.bind)
}

// refusedFor is how long a program may not ask again after its owner did not say yes.
const refusedFor = 24 * time.Hour

// Connect takes the signature over the newest challenge for an address. A person's wallet ends in
// their chat, like any bind (BindProven); an operator key's is connected at once (BindDone). The same
// again is answered with the present status: the answer to the first may have been lost. NOT_FOUND without
// an open challenge for the address, INVALID_SIGNATURE, CONFLICT for one that is connected already,
// USER_NOT_FOUND when the key's owner is erased meanwhile.
func (w *Wallets) Connect(ctx context.Context, who Caller, address wallet.Address, sig wallet.Signature) (wallet.BindStatus, error) {
	account, _, err := w.account(ctx, who)
	if err != nil {
		return "", err
	}
	choices, err := w.choices(address)
	if err != nil {
		return "", err
	}
	status := wallet.BindProven
	err = w.Store.Update(ctx, func(tx store.Tx) error {
		bind, err := tx.Bind(invitationHash(who.KeyLineage))
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		again := bind.ChoosableAt(w.Now()) || bind.Status == wallet.BindDone
		if err != nil || bind.Address != address || !again && !bind.OpenAt(w.Now()) {
			return wallet.Refuse(wallet.NotFound, "connecting.no_challenge")
		}
		if err := w.signedIn(bind, address, account, sig); err != nil {
			return err
		}
		if again {
			status, err = connected(tx, who, address)
			return err
		}
		if who.User != "" {
			bind.User = who.User // from now on it is theirs to answer, in the place of any link
			if err := w.CommitLink(tx, Link{bind: bind}); err != nil {
				return err
			}
			return w.ask(tx, bind, address, choices)
		}
		status = wallet.BindDone
		_, err = w.connectProven(tx, bind)
		return err
	})
	return status, err
}

// connected is how far a proven address of a program has come.
func connected(tx store.Tx, who Caller, address wallet.Address) (wallet.BindStatus, error) {
	held, err := tx.Wallet(address)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && !who.owns(held):
		return wallet.BindProven, nil
	case err != nil:
		return "", err
	}
	return wallet.BindDone, nil
}

// bound connects the wallet of an attempt that is proven and, where a person is asked, answered. An
// address of somebody else's is only claimed: false then.
func (w *Wallets) connectProven(tx store.Tx, bind wallet.Bind) (bool, error) {
	held, err := tx.Wallet(bind.Address)
	switch {
	case err == nil && bind.User != "" && held.Owner != "" && held.Owner != bind.User:
		return false, w.claim(tx, bind, held)
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return false, err
	}
	line, err := lineOf(tx, bind.KeyID)
	if err != nil {
		return false, err
	}
	if err := bindable(tx, Caller{User: bind.User, KeyID: bind.KeyID, KeyLineage: line}, bind.Address); err != nil {
		return false, err
	}
	bind.Status = wallet.BindDone
	if err := tx.PutBind(bind); err != nil {
		return false, err
	}
	_, err = w.attach(tx, wallet.Wallet{Address: bind.Address, Owner: bind.User, Type: bind.Type, ConnectedAt: w.Now().UTC(), KeyLineage: line})
	return true, err
}

// attach makes an address somebody's, and announces it.
func (w *Wallets) attach(tx store.Tx, made wallet.Wallet) (wallet.Wallet, error) {
	if err := errors.Join(tx.PutWallet(made), w.firstIsDefault(tx, made)); err != nil {
		return made, err
	}
	chat := "" // whoever is not there has none
	if made.Owner != "" {
		owner, err := tx.User(made.Owner)
		if err != nil {
			return made, err
		}
		chat = strconv.FormatInt(owner.TelegramID, 10)
	}
	event, err := wallet.NewEvent(fmt.Sprintf("evt_connected_%s_%d", made.Address, made.ConnectedAt.UnixMilli()), wallet.WalletConnected, made.ConnectedAt, made.Owner,
		wallet.WalletConnectedData{ChatID: chat, UserID: made.Owner, WalletAddress: made.Address, WalletType: made.Type, ConnectedAt: wallet.Timestamp(made.ConnectedAt)})
	if err != nil {
		return made, err
	}
	return made, tx.Emit(event)
}
