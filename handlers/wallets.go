package handlers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"purser/store"
	"purser/wallet"
)

// BalanceChain is what a balance needs of the chain.
type BalanceChain interface {
	Accounts(ctx context.Context, addresses []wallet.Address) ([]wallet.Account, error)
	// Holdings lists what an owner holds of every token.
	Holdings(ctx context.Context, owner wallet.Address) ([]wallet.Holding, error)
}

// Wallets are connecting and looking at wallets. No key of theirs is ever here: a wallet is an
// address whose owner signed a text.
type Wallets struct {
	Store     store.Store
	Chain     BalanceChain
	Tokens    Tokens
	PublicURL *url.URL // where the signing page lives: host and origin of the signed text
	Cluster   string   // mainnet, devnet or localnet: Chain ID of the signed text
	Now       Clock
	Random    io.Reader
	// Verify tells whether sig is signer's over message; never for an address that anybody can sign for.
	Verify func(message []byte, signer wallet.Address, sig wallet.Signature) bool
}

// Link is a fresh bind link: Token goes to that person's chat and nowhere else.
type Link struct {
	Token string
	bind  wallet.Bind
}

// PrepareLink draws a link for a user. The only thing kept of the token is its SHA-256.
func (w *Wallets) PrepareLink(user wallet.User) (Link, error) {
	token, err := wallet.RandomToken(w.Random, 32)
	if err != nil {
		return Link{}, err
	}
	nonce, err := wallet.RandomText(w.Random, 22) // SIWS wants at least 8 letters or digits
	if err != nil {
		return Link{}, err
	}
	now := w.Now().UTC().Truncate(time.Second) // the signed text has whole seconds
	return Link{Token: token, bind: wallet.Bind{
		TokenHash: sha256.Sum256([]byte(token)), User: user.ID, Chat: user.TelegramID, Nonce: nonce,
		IssuedAt: now, ExpiresAt: now.Add(wallet.BindWindow), Status: wallet.BindOpen, Type: wallet.PageWallet,
	}}, nil
}

// OfferedBy is the link as a program asked for it.
func (l Link) OfferedBy(keyID string) Link {
	l.bind.OfferedBy = keyID
	return l
}

// CommitLink makes the link the user's only open one.
func (w *Wallets) CommitLink(tx store.Tx, link Link) error {
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

// Challenge is what the page is told to sign, field by field; it composes the text itself.
type Challenge struct {
	TelegramID int64
	Name       string
	Username   string
	Chain      string
	Nonce      string
	IssuedAt   time.Time
	ExpiresAt  time.Time
}

const deadLink = "connecting.dead_link"

// Challenge answers an open link. A dead or unknown one is NOT_FOUND.
func (w *Wallets) Challenge(ctx context.Context, token string) (Challenge, error) {
	return read(ctx, w.Store, func(tx store.Tx) (Challenge, error) {
		bind, user, err := w.linked(tx, token)
		if err != nil {
			return Challenge{}, err
		}
		if !bind.OpenAt(w.Now()) {
			return Challenge{}, wallet.Refuse(wallet.NotFound, deadLink)
		}
		return Challenge{
			TelegramID: user.TelegramID, Name: user.Name(), Username: user.Username, Chain: w.Cluster,
			Nonce: bind.Nonce, IssuedAt: bind.IssuedAt, ExpiresAt: bind.ExpiresAt,
		}, nil
	})
}

// MaxAccountsAsked is how many addresses one question of InUse may name.
const MaxAccountsAsked = 10

// InUse tells which of some addresses have SOL on them, for the page that looks for the accounts of a recovery
// phrase. Only an open bind link may ask, and only this much: the answer is public on Solana, but who asks for
// which addresses together is not. Nothing of it is stored or logged. NOT_FOUND for a dead link.
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

// linked is the attempt behind a token and the person who began it.
func (w *Wallets) linked(tx store.Tx, token string) (wallet.Bind, wallet.User, error) {
	bind, err := tx.Bind(sha256.Sum256([]byte(token)))
	if err == nil && bind.KeyID != "" { // a program's attempt: no link leads to it, whatever a token says
		err = store.ErrNotFound
	}
	if err != nil {
		return wallet.Bind{}, wallet.User{}, found(err, wallet.NotFound, deadLink)
	}
	user, err := tx.User(bind.User)
	return bind, user, found(err, wallet.NotFound, deadLink)
}

// Prove takes the page's signature over the sign-in text, burns the link, and has the chat ask its
// owner which address was proven: the page that was opened might not have been theirs. kind says what
// signs for the wallet from now on. NOT_FOUND for a dead or unknown link, INVALID_SIGNATURE, CONFLICT for a
// wallet that is theirs already.
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
		// The page sends the same proof again when it did not hear the answer to the first.
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

// signedIn tells whether sig is address's over the sign-in text of an attempt.
func (w *Wallets) signedIn(bind wallet.Bind, address wallet.Address, account string, sig wallet.Signature) error {
	if !address.OnCurve() || !w.Verify([]byte(w.signInText(bind, address, account)), address, sig) {
		return wallet.Refuse(wallet.InvalidSignature, "connecting.wrong_signature")
	}
	return nil
}

func (w *Wallets) signInText(bind wallet.Bind, address wallet.Address, account string) string {
	return wallet.SignInText(w.PublicURL.Host, w.PublicURL.Scheme+"://"+w.PublicURL.Host, address,
		account, w.Cluster, bind.Nonce, bind.IssuedAt, bind.ExpiresAt)
}

// ask keeps what was proven and has the chat ask which address it was. The question waits as long as
// the link would have lived.
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

// attempt names one attempt to connect a wallet in the ids of its events. A program's attempts are all
// kept under one hash; their nonces differ, but are not to be read from an id.
func attempt(b wallet.Bind) string {
	sum := sha256.Sum256(append(b.TokenHash[:], b.Nonce...))
	return hex.EncodeToString(sum[:16])
}

// bindable refuses an address that is connected already.
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

// choices hides the proven address among two that nobody holds, in random order.
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

// Choose is the owner's answer in chat to which address their device shows. Only the match binds;
// any other answer, the zero address for "none of these" included, ends the attempt for good, so
// that guessing does not help. It returns the wallet that was bound. NOT_FOUND when the question is over,
// CONFLICT for an address that was connected meanwhile.
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

func (w *Wallets) firstIsDefault(tx store.Tx, bound wallet.Wallet) error {
	if bound.Owner == "" || bound.Type == wallet.DeveloperWallet { // a program's is chosen by name only
		return nil
	}
	user, err := tx.User(bound.Owner)
	if err != nil || !user.DefaultWallet.IsZero() {
		return err
	}
	user.DefaultWallet = bound.Address
	return tx.PutUser(user)
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

// Default is the wallet that a user's commands mean. WALLET_NOT_FOUND without one.
func (w *Wallets) Default(ctx context.Context, user wallet.UserID) (wallet.Wallet, error) {
	return read(ctx, w.Store, func(tx store.Tx) (wallet.Wallet, error) {
		found, _, err := sender(tx, Caller{User: user}, wallet.Address{})
		return found, err
	})
}
