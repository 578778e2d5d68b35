package handlers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"purser/store"
	"purser/wallet"
)

// BalanceChain is what Wallets needs of the chain. All errors are NETWORK_ERROR.
type BalanceChain interface {
	Accounts(ctx context.Context, addresses []wallet.Address) ([]wallet.Account, error)
	// Holdings lists what an owner holds of every token, over all its token accounts.
	Holdings(ctx context.Context, owner wallet.Address) ([]wallet.Holding, error)
}

// Wallets connects, lists and disconnects wallets, and reads balances. No private key is ever here: a wallet is an
// address whose holder signed a text.
type Wallets struct {
	DeviceLinks
	Store  store.Store
	Chain  BalanceChain
	Tokens Tokens
}

// Link is a new link to connect a wallet. Token is its secret. It must be sent to that person's chat and nowhere else.
type Link struct {
	Token string
	bind  wallet.Bind
}

// PrepareLink draws a link for a user. Nothing is stored, and of the token only the SHA-256 ever is.
func (w *Wallets) PrepareLink(user wallet.User) (Link, error) {
	l, err := w.newLink(wallet.BindWindow)
	if err != nil {
		return Link{}, err
	}
	return Link{Token: l.token, bind: wallet.Bind{
		TokenHash: l.hash, User: user.ID, Chat: user.TelegramID, Nonce: l.nonce,
		IssuedAt: l.issuedAt, ExpiresAt: l.expiresAt, Status: wallet.BindOpen, Type: wallet.PageWallet,
	}}, nil
}

// OfferedBy returns the link marked as requested by a program's key.
func (l Link) OfferedBy(keyID string) Link {
	l.bind.OfferedBy = keyID
	return l
}

// CommitLink stores the link. It replaces the user's older link, of which only the newest works. POLICY_VIOLATION for a
// frozen account.
func (w *Wallets) CommitLink(tx store.Tx, link Link) error {
	if err := usable(tx, link.bind.User, wallet.ByPerson); err != nil {
		return err
	}
	switch old, err := tx.BindOf(link.bind.User); {
	case errors.Is(err, store.ErrNotFound):
	case err != nil:
		return err
	case !old.Ended():
		old.Status = wallet.BindReplaced
		if err := tx.PutBind(old); err != nil {
			return err
		}
	}
	return tx.PutBind(link.bind)
}

const deadLink = "connecting.dead_link"

// Challenge returns the challenge of an open link. NOT_FOUND for any other.
func (w *Wallets) Challenge(ctx context.Context, token string) (Challenge, error) {
	return read(ctx, w.Store, func(tx store.Tx) (Challenge, error) {
		bind, user, err := w.linked(tx, token)
		if err != nil {
			return Challenge{}, err
		}
		if !bind.OpenAt(w.Now()) {
			return Challenge{}, wallet.Refuse(wallet.NotFound, deadLink)
		}
		return w.challenge(user, bind.Nonce, bind.IssuedAt, bind.ExpiresAt), nil
	})
}

// MaxAccountsAsked is the most addresses that one call of InUse accepts.
const MaxAccountsAsked = 10

// InUse reports which of some addresses hold SOL. The page uses it to find the accounts of a recovery phrase. Balances
// are public, but which addresses belong together is not. So it requires an open link, is limited in size, and is neither
// stored nor logged. NOT_FOUND for a dead link.
func (w *Wallets) InUse(ctx context.Context, token string, addresses []wallet.Address) ([]bool, error) {
	if len(addresses) == 0 || len(addresses) > MaxAccountsAsked {
		return nil, wallet.Refuse(wallet.InvalidRequest, "body.count", wallet.TextArg("Field", "addresses"), wallet.NumberArg("Most", MaxAccountsAsked))
	}
	if _, err := w.Challenge(ctx, token); err != nil {
		return nil, err
	}
	accounts, err := w.Chain.Accounts(ctx, addresses)
	if err != nil {
		return nil, err
	}
	inUse := make([]bool, len(accounts))
	for i, account := range accounts {
		inUse[i] = account.Lamports > 0
	}
	return inUse, nil
}

// linked returns the connection attempt behind a token, and its user. NOT_FOUND, POLICY_VIOLATION for a frozen account.
func (w *Wallets) linked(tx store.Tx, token string) (wallet.Bind, wallet.User, error) {
	bind, err := tx.Bind(tokenHash(token))
	if err == nil && bind.KeyID != "" { // a program's attempt, which has no link: no token may lead to it
		err = store.ErrNotFound
	}
	if err != nil {
		return wallet.Bind{}, wallet.User{}, found(err, wallet.NotFound, deadLink)
	}
	user, err := tx.User(bind.User)
	if err != nil {
		return bind, user, found(err, wallet.NotFound, deadLink)
	}
	return bind, user, user.Frozen(wallet.ByDevice)
}

// Prove takes the page's signature over the sign-in text and uses up the link. The chat then asks the owner which address
// their device shows: somebody else may have opened the link. kind says what signs for the wallet from now on.
//
// NOT_FOUND for a dead or unknown link, INVALID_SIGNATURE, CONFLICT for a wallet that is theirs already. The same proof
// again succeeds while the question is open.
func (w *Wallets) Prove(ctx context.Context, token string, kind wallet.WalletType, address wallet.Address, sig wallet.Signature) error {
	choices, err := w.choices(address)
	if err != nil {
		return err
	}
	return w.Store.Update(ctx, func(tx store.Tx) error {
		bind, user, err := w.linked(tx, token)
		if err != nil {
			return err
		}
		// The page repeats a request whose response it did not get.
		again := bind.ChoosableAt(w.Now()) && bind.Address == address
		if !again && !bind.OpenAt(w.Now()) {
			return wallet.Refuse(wallet.NotFound, deadLink)
		}
		if err := w.signedIn(bind, address, wallet.TelegramAccount(user.TelegramID), sig); err != nil {
			return err
		}
		if again {
			return nil
		}
		bind.Type = kind
		return w.ask(tx, bind, address, choices)
	})
}

// signedIn checks that sig is the address's signature over the sign-in text of an attempt. INVALID_SIGNATURE.
func (w *Wallets) signedIn(bind wallet.Bind, address wallet.Address, account string, sig wallet.Signature) error {
	if !w.signed(w.signInText(bind, address, account), address, sig) {
		return wallet.Refuse(wallet.InvalidSignature, "connecting.wrong_signature")
	}
	return nil
}

// signInText composes the text that an address must sign in an attempt.
func (w *Wallets) signInText(bind wallet.Bind, address wallet.Address, account string) string {
	return w.text(wallet.SignInText, address, account, bind.Nonce, bind.IssuedAt, bind.ExpiresAt)
}

// ask stores the proven address and has the chat ask which address it was. The question expires when the link would have.
func (w *Wallets) ask(tx store.Tx, bind wallet.Bind, address wallet.Address, choices []wallet.Address) error {
	if held, err := tx.Wallet(address); err == nil && held.Owner == bind.User {
		return wallet.Refuse(wallet.Conflict, "connecting.yours")
	} else if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	bind.Status, bind.Address, bind.Choices = wallet.BindProven, address, choices
	if err := tx.PutBind(bind); err != nil {
		return err
	}
	event, err := wallet.NewEvent("evt_bind_"+attempt(bind), wallet.WalletProven,
		w.Now().UTC(), bind.User, struct{}{})
	if err != nil {
		return err
	}
	return tx.Emit(event)
}

// attempt names an attempt in event IDs. All attempts of a program share one hash. They differ in their nonces, which
// must not be readable from an ID, so both are hashed.
func attempt(b wallet.Bind) string {
	sum := sha256.Sum256(append(b.TokenHash[:], b.Nonce...))
	return hex.EncodeToString(sum[:16])
}

// bindable returns CONFLICT if an address is already connected.
func bindable(tx store.Tx, who Caller, address wallet.Address) error {
	switch w, err := tx.Wallet(address); {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return err
	case who.owns(w):
		return wallet.Refuse(wallet.Conflict, "connecting.yours")
	}
	return wallet.Refuse(wallet.Conflict, "connecting.others")
}

// choices returns the proven address among two random ones, in random order. The random ones differ from it in the
// characters that the chat shows.
func (w *Wallets) choices(proven wallet.Address) ([]wallet.Address, error) {
	all := make([]wallet.Address, 3)
	for i := range all {
		for all[i].IsZero() || all[i].Tail() == proven.Tail() {
			if _, err := io.ReadFull(w.Random, all[i][:]); err != nil {
				return nil, fmt.Errorf("draw a choice: %w", err)
			}
		}
	}
	at, err := wallet.RandomBelow(w.Random, len(all))
	if err != nil {
		return nil, err
	}
	all[at] = proven
	return all, nil
}

// Choose takes the owner's answer to which address their device shows. Only the proven one connects the wallet. Any other
// answer, also the zero address for "none of these", ends the attempt for good, so guessing does not help.
//
// It returns the connected wallet, or the zero Wallet for a wrong answer. A wallet with an address and no owner means
// that the address belongs to somebody else and was only claimed. NOT_FOUND when the question is over, CONFLICT for an
// address that was connected meanwhile.
func (w *Wallets) Choose(tx store.Tx, user wallet.UserID, nonce string, choice wallet.Address) (wallet.Wallet, error) {
	bind, err := tx.BindOf(user)
	if err != nil {
		return wallet.Wallet{}, found(err, wallet.NotFound, deadLink)
	}
	if bind.Nonce != nonce || !bind.ChoosableAt(w.Now()) {
		return wallet.Wallet{}, wallet.Refuse(wallet.NotFound, deadLink)
	}
	if choice != bind.Address {
		bind.Status = wallet.BindRefused
		return wallet.Wallet{}, tx.PutBind(bind)
	}
	if connected, err := w.connectProven(tx, bind); err != nil {
		return wallet.Wallet{}, err
	} else if !connected {
		return wallet.Wallet{Address: bind.Address}, nil
	}
	return tx.Wallet(bind.Address)
}

// firstIsDefault makes a person's first wallet their default.
func (w *Wallets) firstIsDefault(tx store.Tx, added wallet.Wallet) error {
	if added.Owner == "" || added.Type == wallet.DeveloperWallet { // a wallet that a program signs for is used only when it is named
		return nil
	}
	user, err := tx.User(added.Owner)
	if err != nil || !user.DefaultWallet.IsZero() {
		return err
	}
	return w.setDefault(tx, user, added.Address)
}

// CancelLink ends the user's open link, if there is one.
func (w *Wallets) CancelLink(tx store.Tx, user wallet.UserID) error {
	bind, err := tx.BindOf(user)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return err
	case bind.Ended():
		return nil
	}
	bind.Status = wallet.BindRefused
	return tx.PutBind(bind)
}

// Default returns the user's default wallet. WALLET_NOT_FOUND if there is none.
func (w *Wallets) Default(ctx context.Context, user wallet.UserID) (wallet.Wallet, error) {
	return read(ctx, w.Store, func(tx store.Tx) (wallet.Wallet, error) {
		found, _, err := sender(tx, Caller{User: user}, wallet.Address{})
		return found, err
	})
}
