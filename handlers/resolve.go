package handlers

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"purser/store"
	"purser/wallet"
)

// Token finds what a symbol or a mint means. Only listed symbols count; a mint that is on no list
// has no symbol here, whatever it calls itself. What it refuses is wallet.FieldToken.
func (s *Transfers) Token(ctx context.Context, name string) (wallet.Token, error) {
	if name == "" || strings.EqualFold(name, wallet.SOL.Symbol) {
		return wallet.SOL, nil
	}
	if token, ok := s.Tokens.BySymbol(name); ok {
		return token, nil
	}
	at, err := wallet.ParseAddress(name)
	if err != nil {
		return wallet.Token{}, notListed(name)
	}
	if token, ok := s.Tokens.ByMint(at); ok {
		return token, nil
	}
	mint, err := s.Chain.Mint(ctx, at)
	if err != nil {
		return wallet.Token{}, wallet.About(wallet.FieldToken, err)
	}
	return wallet.Token{Mint: at, Decimals: mint.Decimals, Program: mint.Program}, nil
}

// filterToken is Token for choosing among what is stored: no node is asked whether a mint exists.
func (s *Transfers) filterToken(name string) (wallet.Token, error) {
	if at, err := wallet.ParseAddress(name); err == nil {
		return wallet.Token{Mint: at}, nil
	}
	if token, ok := s.Tokens.BySymbol(name); ok {
		return token, nil
	}
	if name == "" || strings.EqualFold(name, wallet.SOL.Symbol) {
		return wallet.SOL, nil
	}
	return wallet.Token{}, notListed(name)
}

// notListed is the refusal of a symbol. It repeats only what could be one.
func notListed(symbol string) error {
	const longest = 16 // no token worth naming is longer
	refused := wallet.Refuse(wallet.TokenNotFound, "token.not_listed", wallet.TextArg("Token", strings.ToUpper(symbol)))
	if symbol == "" || len(symbol) > longest || strings.ContainsFunc(symbol, unicode.IsControl) || !utf8.ValidString(symbol) {
		refused = wallet.Refuse(wallet.TokenNotFound, "token.unknown")
	}
	return wallet.About(wallet.FieldToken, refused)
}

// Destination reads an address that money may be sent to from a wallet. It judges the text alone;
// Prepare also looks at what the chain holds there. What it refuses is wallet.FieldTo.
func (s *Transfers) Destination(text string, from wallet.Address) (wallet.Address, error) {
	to, err := wallet.ParseAddress(text)
	switch {
	case err != nil:
	case to.IsZero():
		err = wallet.Refuse(wallet.InvalidRequest, "address.system_program")
	case to == from:
		err = wallet.Refuse(wallet.InvalidRequest, "recipient.sender")
	}
	return to, wallet.About(wallet.FieldTo, err)
}

// recipient finds who is meant by an address: an associated token account stands for its owner, from
// whom it is derived. What else a node says of an address is not believed: it could send any payment
// to whom it likes.
func (s *Transfers) recipient(ctx context.Context, named, from wallet.Address) (wallet.Address, error) {
	no := func(key string) error {
		return wallet.About(wallet.FieldTo, wallet.Refuse(wallet.InvalidRequest, key))
	}
	account, err := s.Chain.TokenAccountAt(ctx, named)
	switch {
	case err != nil:
		return named, err
	case !account.Exists:
		return named, wallet.About(wallet.FieldTo, named.Payable())
	case wallet.AssociatedAccount(account.Owner, account.Mint, account.Program) != named:
		return named, no("recipient.unproven_account")
	case account.Owner == from:
		return named, no("recipient.own_account")
	case account.Owner.IsZero() || !account.Owner.OnCurve():
		return named, no("recipient.program_account")
	}
	return account.Owner, nil
}

// Sender finds the wallet that a caller may send from, and whose it is: their own, or one of a person
// who lets the caller's app propose transfers.
func (s *Transactions) Sender(ctx context.Context, who Caller, from wallet.Address) (wallet.Wallet, wallet.User, error) {
	var w wallet.Wallet
	var u wallet.User
	err := s.Store.View(ctx, func(tx store.Tx) error {
		var err error
		w, u, err = sender(tx, who, from)
		return err
	})
	return w, u, err
}

func sender(tx store.Tx, who Caller, from wallet.Address) (wallet.Wallet, wallet.User, error) {
	const none = "wallet_access.none"
	var user wallet.User
	if who.User != "" {
		var err error
		if user, err = tx.User(who.User); err != nil {
			return wallet.Wallet{}, wallet.User{}, found(err, wallet.UserNotFound, "person.gone")
		}
	}
	if from.IsZero() {
		from = user.DefaultWallet
	}
	if from.IsZero() {
		return wallet.Wallet{}, user, wallet.Refuse(wallet.WalletNotFound, "own_wallet.no_wallet")
	}
	w, err := tx.Wallet(from)
	if err != nil {
		return wallet.Wallet{}, user, found(err, wallet.WalletNotFound, none)
	}
	if who.owns(w) {
		return w, user, nil
	}
	switch ok, err := granted(tx, who, w.Owner, wallet.WalletSend); {
	case err != nil:
		return wallet.Wallet{}, user, err
	case !ok:
		return wallet.Wallet{}, user, wallet.Refuse(wallet.WalletNotFound, none)
	}
	owner, err := tx.User(w.Owner)
	return w, owner, found(err, wallet.WalletNotFound, none)
}
