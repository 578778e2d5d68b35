package handlers

import (
	"context"
	"strings"

	"purser/store"
	"purser/wallet"
)

// Token finds the token that is named. Only listed symbols count; a mint that is on no list has no symbol here,
// whatever it calls itself. What it refuses is wallet.FieldToken.
func (s *Transfers) Token(ctx context.Context, named wallet.TokenRef) (wallet.Token, error) {
	token, known, err := s.listed(named)
	if err != nil || known {
		return token, err
	}
	mint, err := s.Chain.Mint(ctx, named.Mint)
	if err != nil {
		return wallet.Token{}, wallet.About(wallet.FieldToken, err)
	}
	return wallet.Token{Mint: named.Mint, Decimals: mint.Decimals, Program: mint.Program}, nil
}

// listed is Token as far as no node is asked: known is false for a mint that is on no list.
func (s *Transfers) listed(named wallet.TokenRef) (token wallet.Token, known bool, err error) {
	switch {
	case named.Native():
		return wallet.SOL, true, nil
	case named.Mint.IsZero():
		if token, known = s.Tokens.BySymbol(named.Symbol); known {
			return token, true, nil
		}
		return token, false, wallet.About(wallet.FieldToken,
			wallet.Refuse(wallet.TokenNotFound, "token.not_listed", wallet.TextArg("Token", strings.ToUpper(named.Symbol))))
	}
	token, known = s.Tokens.ByMint(named.Mint)
	return token, known, nil
}

// Destination judges an address that money is to be sent to from a wallet, by itself; Prepare also looks at what the
// chain holds there. What it refuses is wallet.FieldTo.
func (s *Transfers) Destination(to, from wallet.Address) error {
	switch to {
	case wallet.SystemProgram:
		return wallet.About(wallet.FieldTo, wallet.Refuse(wallet.InvalidRequest, "address.system_program"))
	case from:
		return wallet.About(wallet.FieldTo, wallet.Refuse(wallet.InvalidRequest, "recipient.sender"))
	}
	return nil
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
