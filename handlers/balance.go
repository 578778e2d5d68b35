package handlers

import (
	"context"
	"slices"
	"strings"
	"time"

	"purser/store"
	"purser/wallet"
)

// Balance is what an address holds, and how much of it confirmed transactions have reserved.
type Balance struct {
	Address  wallet.Address
	Lamports uint64
	Reserved uint64
	Tokens   []TokenBalance // listed ones first, each group by name
	At       time.Time
}

// TokenBalance is what an address holds of one token. Apart lies in accounts that purser does not
// send from.
type TokenBalance struct {
	Token    wallet.Token
	Units    uint64
	Reserved uint64
	Apart    uint64
	Frozen   bool
}

// Free is what can be sent of it.
func (b TokenBalance) Free() uint64 {
	if b.Frozen {
		return 0
	}
	return b.Units - b.Apart - b.Reserved
}

// Balance reads the chain: three calls, however many tokens. An address that is neither ours nor on
// chain is WALLET_NOT_FOUND; one of ours without funds holds zero.
func (w *Wallets) Balance(ctx context.Context, address wallet.Address) (Balance, error) {
	return w.balance(ctx, address, func(store.Tx) (bool, error) { return true, nil })
}

// BalanceFor is Balance as a caller may see it. What the chain holds is public; that an address is a wallet
// of ours, and what is reserved in it, is for those who may read it. To others it is like any address.
func (w *Wallets) BalanceFor(ctx context.Context, who Caller, address wallet.Address) (Balance, error) {
	return w.balance(ctx, address, func(tx store.Tx) (bool, error) {
		_, err := authorizeRead(tx, who, address)
		if wallet.CodeOf(err) == wallet.WalletNotFound {
			return false, nil
		}
		return err == nil, err
	})
}

// balance reads an address; ours tells whether what is known here of it may be told.
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
	return read(ctx, w.Store, func(tx store.Tx) (Balance, error) {
		told, err := ours(tx)
		if err != nil {
			return Balance{}, err
		}
		if !account.Exists && len(held) == 0 {
			const empty = "wallet_access.empty"
			if _, err := tx.Wallet(address); err != nil {
				return Balance{}, found(err, wallet.WalletNotFound, empty)
			}
			if !told {
				return Balance{}, wallet.Refuse(wallet.WalletNotFound, empty)
			}
		}
		reserved, err := Reserved(tx, address, account.Slot)
		if err != nil {
			return Balance{}, err
		}
		tokensReserved := reserved // read at other slots than the lamports, by a moment
		if len(held) > 0 {
			if tokensReserved, err = Reserved(tx, address, held[0].Slot); err != nil {
				return Balance{}, err
			}
		}
		if !told {
			reserved, tokensReserved = Reservation{}, Reservation{}
		}
		b := Balance{Address: address, Lamports: account.Lamports, Reserved: min(reserved.Lamports, account.Lamports), At: w.Now().UTC()}
		for _, h := range held {
			if listed, ok := w.Tokens.ByMint(h.Token.Mint); ok && listed.Program == h.Token.Program && listed.Decimals == h.Token.Decimals {
				h.Token = listed
			}
			b.Tokens = append(b.Tokens, TokenBalance{Token: h.Token, Units: h.Units, Apart: h.Apart, Frozen: h.Frozen,
				Reserved: min(tokensReserved.Tokens[h.Token.Mint], h.Units-h.Apart)})
		}
		slices.SortFunc(b.Tokens, byName)
		return b, nil
	})
}

// byName puts listed tokens before others.
func byName(a, b TokenBalance) int {
	if (a.Token.Symbol == "") != (b.Token.Symbol == "") {
		if a.Token.Symbol == "" {
			return 1
		}
		return -1
	}
	return strings.Compare(a.Token.Name(), b.Token.Name())
}
