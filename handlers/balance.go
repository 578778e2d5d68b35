package handlers

import (
	"context"
	"slices"
	"strings"
	"time"

	"purser/store"
	"purser/wallet"
)

// Balance is what an address holds on chain, and how much of it confirmed transactions have reserved.
type Balance struct {
	Address  wallet.Address
	Lamports uint64
	Reserved uint64         // lamports; at most Lamports
	Worth    wallet.Worth   // of Lamports
	Tokens   []TokenBalance // listed tokens first, each group sorted by name
	// Total is what SOL and the listed tokens are worth. Unlisted tokens are left out: anybody can give one any price.
	Total wallet.Worth
	At    time.Time // when it was read
}

// TokenBalance is what an address holds of one token, in base units, over all its token accounts.
type TokenBalance struct {
	Token           wallet.Token
	Units           uint64
	Reserved        uint64 // by confirmed transactions; at most Units minus InOtherAccounts
	InOtherAccounts uint64 // part of Units in accounts other than the associated one: purser does not send from those
	Frozen          bool   // the associated account is frozen by the issuer
	// Worth is unknown for a token outside the list, whatever its pools say.
	Worth wallet.Worth
}

// Free returns how many base units can be sent.
func (b TokenBalance) Free() uint64 {
	if b.Frozen {
		return 0
	}
	return b.Units - b.InOtherAccounts - b.Reserved
}

// Balance reads the balances of an address. It makes the same few RPC calls for any number of tokens. An address that is
// neither connected here nor on chain is WALLET_NOT_FOUND. One that is connected and empty has zero balances.
func (w *Wallets) Balance(ctx context.Context, address wallet.Address) (Balance, error) {
	return w.balance(ctx, address, func(store.Tx) (bool, error) { return true, nil })
}

// BalanceFor is Balance as a caller may see it. On-chain balances are public. That an address is connected here, and what
// is reserved in it, is shown only to those who may read the wallet. Others get the same answer as for any address.
func (w *Wallets) BalanceFor(ctx context.Context, who Caller, address wallet.Address) (Balance, error) {
	return w.balance(ctx, address, func(tx store.Tx) (bool, error) {
		_, err := authorizeRead(tx, who, address)
		if wallet.CodeOf(err) == wallet.WalletNotFound {
			return false, nil
		}
		return err == nil, err
	})
}

// balance reads an address. ours reports whether the answer may include what only this store knows.
func (w *Wallets) balance(ctx context.Context, address wallet.Address, ours func(store.Tx) (bool, error)) (Balance, error) {
	accounts, err := w.Chain.Accounts(ctx, []wallet.Address{address})
	if err != nil {
		return Balance{}, err
	}
	account := accounts[0]
	held, err := w.Chain.Holdings(ctx, address)
	if err != nil {
		return Balance{}, err
	}
	// The chain was read first, outside the store transaction.
	return read(ctx, w.Store, func(tx store.Tx) (Balance, error) {
		known, err := ours(tx)
		if err != nil {
			return Balance{}, err
		}
		// Nothing on chain: whether the address is connected here decides, if the caller may know that.
		if !account.Exists && len(held) == 0 {
			const empty = "wallet_access.empty"
			if _, err := tx.Wallet(address); err != nil {
				return Balance{}, found(err, wallet.WalletNotFound, empty)
			}
			if !known {
				return Balance{}, wallet.Refuse(wallet.WalletNotFound, empty)
			}
		}
		reserved, err := Reserved(tx, address, account.Slot)
		if err != nil {
			return Balance{}, err
		}
		tokensReserved := reserved // lamports and tokens were read in two calls, so maybe at two slots
		if len(held) > 0 {
			if tokensReserved, err = Reserved(tx, address, held[0].Slot); err != nil {
				return Balance{}, err
			}
		}
		// To others, reservations would reveal that the address is connected.
		if !known {
			reserved, tokensReserved = Reservation{}, Reservation{}
		}
		b := Balance{Address: address, Lamports: account.Lamports, Reserved: min(reserved.Lamports, account.Lamports), At: w.Now().UTC()}
		for _, h := range held {
			// A listed symbol is shown only if program and decimals match the list as well.
			if listed, ok := w.Tokens.ByMint(h.Token.Mint); ok && listed.Program == h.Token.Program && listed.Decimals == h.Token.Decimals {
				h.Token = listed
			}
			b.Tokens = append(b.Tokens, TokenBalance{Token: h.Token, Units: h.Units, InOtherAccounts: h.InOtherAccounts, Frozen: h.Frozen,
				Reserved: min(tokensReserved.Tokens[h.Token.Mint], h.Units-h.InOtherAccounts)})
		}
		slices.SortFunc(b.Tokens, byName)
		return b, value(tx, &b)
	})
}

// value fills in what a balance is worth, by the prices that are known. Nobody outside is asked.
func value(tx store.Tx, b *Balance) error {
	mints := []wallet.Address{{}} // SOL
	for _, held := range b.Tokens {
		if held.Token.Symbol != "" {
			mints = append(mints, held.Token.Mint)
		}
	}
	prices, err := tx.Prices(mints)
	if err != nil {
		return err
	}
	b.Worth = wallet.WorthOf(prices[wallet.Address{}], wallet.Lamports(b.Lamports), b.At)
	b.Total = b.Worth
	for i := range b.Tokens {
		held := &b.Tokens[i]
		if held.Token.Symbol == "" {
			held.Worth = wallet.Worth{Unknown: true}
			continue
		}
		held.Worth = wallet.WorthOf(prices[held.Token.Mint], held.Token.Amount(held.Units), b.At)
		b.Total = b.Total.Plus(held.Worth)
	}
	return nil
}

// byName sorts listed tokens before others, then by name.
func byName(a, b TokenBalance) int {
	if (a.Token.Symbol == "") != (b.Token.Symbol == "") {
		if a.Token.Symbol == "" {
			return 1
		}
		return -1
	}
	return strings.Compare(a.Token.Name(), b.Token.Name())
}
