package handlers

import (
	"context"
	"strings"

	"purser/store"
	"purser/wallet"
)

// Token resolves what a request calls a token. Symbols resolve through the list of well-known tokens only, never through
// on-chain metadata, which anybody can write. A mint outside the list is read from the chain and has no symbol here.
// Refusals are about wallet.FieldToken. Errors: TOKEN_NOT_FOUND, NETWORK_ERROR.
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

// listed is the part of Token that needs no RPC call. known is false for a mint outside the list.
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

// Lists reports whether a word is SOL or the symbol of a listed token, in any case.
func (s *Transfers) Lists(symbol string) bool {
	_, ok := s.Tokens.BySymbol(symbol)
	return ok || strings.EqualFold(symbol, wallet.SOL.Symbol)
}

// Destination checks a recipient's address against the sending wallet, without any RPC call. Prepare also checks what the
// chain holds there. Refusals are about wallet.FieldTo.
func (s *Transfers) Destination(to, from wallet.Address) error {
	switch to {
	case wallet.SystemProgram:
		return wallet.About(wallet.FieldTo, wallet.Refuse(wallet.InvalidRequest, "address.system_program"))
	case from:
		return wallet.About(wallet.FieldTo, wallet.Refuse(wallet.InvalidRequest, "recipient.sender"))
	}
	return nil
}

// recipient returns the wallet that an address stands for. An associated token account stands for its owner.
//
// That owner is accepted only if the account's address can be derived from it. An RPC node's word alone would let the
// node redirect payments. Token accounts at other addresses are therefore refused.
func recipient(account wallet.TokenAccount, named, from wallet.Address) (wallet.Address, error) {
	no := func(key string) error {
		return wallet.About(wallet.FieldTo, wallet.Refuse(wallet.InvalidRequest, key))
	}
	switch {
	case !account.Exists: // not a token account: the address itself must be able to receive
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

// Sender returns the wallet that a caller may send from, and its owner. The wallet belongs to the caller, or to a person
// who granted wallet:send to the caller's app. A zero address means the caller's default wallet. An operator's wallet has
// the zero User. Errors: WALLET_NOT_FOUND, also for wallets of others; USER_NOT_FOUND; POLICY_VIOLATION if the owner's
// account is frozen.
func (s *Transactions) Sender(ctx context.Context, who Caller, from wallet.Address) (wallet.Wallet, wallet.User, error) {
	var w wallet.Wallet
	var u wallet.User
	err := s.Store.View(ctx, func(tx store.Tx) error {
		var err error
		if w, u, err = sender(tx, who, from); err != nil {
			return err
		}
		return u.Frozen(who.useOf(u.ID))
	})
	return w, u, err
}

// sender is Sender inside a store transaction.
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
