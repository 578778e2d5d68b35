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

// ExpiresAt returns until when the signature is accepted, as an RFC 3339 time.
func (i Invitation) ExpiresAt() string { return wallet.Timestamp(i.bind.ExpiresAt) }

// invitationHash is the hash under which a program's attempt is stored. It depends on the lineage alone, so each lineage
// has one attempt at a time. It is the hash of no link's token.
func invitationHash(line string) [32]byte { return sha256.Sum256([]byte("connect by key " + line)) }

// PrepareInvitation prepares the text for an address that a program wants to connect: to the owner of its key, or, for an
// operator's key, to the key itself. It does not reveal whether the address is already connected, since the program has
// not proven anything yet. Errors: INVALID_REQUEST, USER_NOT_FOUND.
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
	bind.User = "" // set only after the proof
	bind.TokenHash, bind.KeyID, bind.Type, bind.Address = invitationHash(who.KeyLineage), who.KeyID, wallet.DeveloperWallet, address
	return Invitation{Message: w.signInText(bind, address, account), bind: bind}, nil
}

// account returns what a program's wallet is connected to, as named in the sign-in text, and the key's owner.
func (w *Wallets) account(ctx context.Context, who Caller) (string, wallet.User, error) {
	if who.User == "" {
		return wallet.KeyAccount(who.KeyLineage), wallet.User{}, nil
	}
	user, err := read(ctx, w.Store, func(tx store.Tx) (wallet.User, error) { return tx.User(who.User) })
	return wallet.TelegramAccount(user.TelegramID), user, found(err, wallet.UserNotFound, "person.gone")
}

// CommitInvitation stores the attempt. The person's own link keeps working until the program has proven its address.
// RATE_LIMIT_EXCEEDED while the person is asked about the previous attempt, and for refusedFor after one that they did
// not accept.
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

// refusedFor is how long a program must wait after its owner did not accept an attempt.
const refusedFor = 24 * time.Hour

// Connect takes the signature over the newest attempt's text. A person's wallet then waits for their answer in chat
// (BindProven). A wallet of an operator's key is connected at once (BindDone). The same signature again returns the
// current status.
//
// Errors: NOT_FOUND without an open attempt for the address, INVALID_SIGNATURE, CONFLICT for an address that is already
// connected, USER_NOT_FOUND if the key's owner was erased.
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
		if err := usable(tx, who.User, wallet.ByKey); err != nil {
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
			bind.User = who.User // from now on the person can answer it; it replaces their link
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

// connected returns the status of an address that a program has proven before.
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

// connectProven connects the wallet of an attempt that is proven and, for a person, confirmed in chat. It returns false
// if the address belongs to another person: then it is claimed and not connected.
func (w *Wallets) connectProven(tx store.Tx, bind wallet.Bind) (bool, error) {
	if err := usable(tx, bind.User, wallet.ByPerson); err != nil {
		return false, err
	}
	held, err := tx.Wallet(bind.Address)
	switch {
	case err == nil && bind.User != "" && held.Owner != "" && held.Owner != bind.User:
		return false, w.claim(tx, bind, held)
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return false, err
	}
	lineage, err := lineageOf(tx, bind.KeyID)
	if err != nil {
		return false, err
	}
	if err := bindable(tx, Caller{User: bind.User, KeyID: bind.KeyID, KeyLineage: lineage}, bind.Address); err != nil {
		return false, err
	}
	bind.Status = wallet.BindDone
	if err := tx.PutBind(bind); err != nil {
		return false, err
	}
	_, err = w.attach(tx, wallet.Wallet{Address: bind.Address, Owner: bind.User, Type: bind.Type, ConnectedAt: w.Now().UTC(), KeyLineage: lineage})
	return true, err
}

// attach stores a wallet under its new owner, makes it the default if it is their first, and emits wallet.connected.
func (w *Wallets) attach(tx store.Tx, made wallet.Wallet) (wallet.Wallet, error) {
	if err := errors.Join(tx.PutWallet(made), logWallet(tx, w.Now(), made.Owner, wallet.LogWalletConnected, made.Address, made.KeyLineage), w.firstIsDefault(tx, made)); err != nil {
		return made, err
	}
	chat := "" // a wallet of an operator's key has no chat
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
