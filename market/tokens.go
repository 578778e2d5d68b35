// Package market knows what tokens cost, which are well known, and what feeds say about the market. Nothing that is signed depends on it: prices are
// information, and providers may be slow, wrong or hostile.
//
// Its main types:
//
//   - Tokens is the list of well-known tokens of a cluster. A symbol is trusted only because it is in this list. What a mint
//     says of itself on chain is not read: anyone can create a mint called USDC
//   - Source is one provider of prices: Jupiter, CoinGecko, Pyth. GeckoTerminal has pools and past prices (Candles)
//   - Prices samples what somebody holds or asked for, from the sources, on one node at a time, and keeps it in the store
//   - News reads feeds that the operator chose, on one node at a time, and saves new items in the store
//
// Listed returns the Tokens of one cluster:
//
//	tokens, err := market.Listed(wallet.Mainnet)
//	usdc, ok := tokens.BySymbol("usdc")
//
// Each provider has a budget of calls, in which people go before sampling, and is left alone for a while when it refuses or
// fails. So a provider that is down slows nobody.
package market

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"purser/wallet"
)

// Tokens is the list of one cluster. It is immutable, so any number of goroutines may use it. Mints outside the list are
// shown by address only, so that no token can pose as a listed one.
type Tokens struct {
	bySymbol map[string]wallet.Token         // keys in lower case
	byMint   map[wallet.Address]wallet.Token // keys are mint addresses
}

// Listed returns the embedded list of a cluster. An unknown cluster gets an empty list. An error means that the list in
// this file is invalid. The signing page has its own copy (signer/page/tokens.js), because it trusts no server. A test
// compares the two. The localnet mints exist in the sandbox only.
func Listed(cluster string) (*Tokens, error) {
	t := &Tokens{bySymbol: map[string]wallet.Token{}, byMint: map[wallet.Address]wallet.Token{}}
	for _, row := range lists()[cluster] {
		mint, err := wallet.ParseAddress(row.mint)
		if err != nil {
			return nil, fmt.Errorf("the list of tokens: %s: %w", row.symbol, err)
		}
		token := wallet.Token{Symbol: row.symbol, Mint: mint, Decimals: row.decimals, Program: wallet.TokenProgram}
		if row.extended {
			token.Program = wallet.Token2022Program
		}
		t.bySymbol[strings.ToLower(row.symbol)], t.byMint[mint] = token, token
	}
	return t, nil
}

// BySymbol finds a listed token by its symbol, ignoring case. It returns false for other symbols.
func (t *Tokens) BySymbol(symbol string) (wallet.Token, bool) {
	token, ok := t.bySymbol[strings.ToLower(symbol)]
	return token, ok
}

// ByMint finds a listed token by its mint address. It returns false for other mints.
func (t *Tokens) ByMint(mint wallet.Address) (wallet.Token, bool) {
	token, ok := t.byMint[mint]
	return token, ok
}

// All lists the tokens, sorted by mint address.
func (t *Tokens) All() []wallet.Token {
	out := slices.Collect(maps.Values(t.byMint))
	slices.SortFunc(out, func(a, b wallet.Token) int { return bytes.Compare(a.Mint[:], b.Mint[:]) })
	return out
}

// Currencies lists the tokens that people are mostly paid in, by symbol: those that are to be worth a unit of a currency.
func (t *Tokens) Currencies() (out []wallet.Token) {
	for _, symbol := range []string{"USDC", "USDT", "PYUSD", "USDG", "EURC"} {
		if token, ok := t.BySymbol(symbol); ok {
			out = append(out, token)
		}
	}
	return out
}

// listed is one row of the list.
type listed struct {
	symbol   string
	mint     string // base58
	decimals uint8  // of the mint account, which never changes
	extended bool   // the mint belongs to the Token-2022 program
}

// lists returns the rows by cluster. The addresses and decimals are those that the issuers publish. SOL itself has no
// mint and is not listed; wSOL is the wrapped token.
func lists() map[string][]listed {
	return map[string][]listed{
		wallet.Mainnet: {
			{"USDC", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", 6, false},
			{"USDT", "Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB", 6, false},
			{"PYUSD", "2b1kV6DkPAnxd5ixfnxCpjxmKwqjjaYmCZfHsFu24GXo", 6, true},
			{"USDG", "2u1tszSeqZ3qBWF3uNGPFc8TzMk2tdiwknnRMWGWjGWH", 6, true},
			{"EURC", "HzwqbKZw8HxMN6bF2yFZNrht3c2iXXzpKcFu7uBEDKtr", 6, false},
			{"wSOL", "So11111111111111111111111111111111111111112", 9, false},
			{"JitoSOL", "J1toso1uCk3RLmjorhTtrVwY9HJ7X8V9yYac6Y7kGCPn", 9, false},
			{"mSOL", "mSoLzYCxHdYgdzU16g5QSh3i5K3z3KZK7ytfqcJm7So", 9, false},
			{"bSOL", "bSo13r4TkiE4KumL71LsHTPpL2euBYLFx6h9HP3piy1", 9, false},
			{"JUP", "JUPyiwrYJFskUPiHa7hkeR8VUtAeFoSYbKedZNsDvCN", 6, false},
			{"BONK", "DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263", 5, false},
			{"PYTH", "HZ1JovNiVvGrGNiiYvEozEVgZ58xaU3RKwX8eACQBCt3", 6, false},
			{"RAY", "4k3Dyjzvzp8eMZWUXbBCjEvwSkkk59S5iCNLY3QrkX6R", 6, false},
			{"ORCA", "orcaEKTdK7LKz57vaAYr9QeNsVEPfiu6QeMU1kektZE", 6, false},
			{"JTO", "jtojtomepa8beP8AuQc6eXt5FriJwfFMwQx2v2f9mCL", 9, false},
			{"WIF", "EKpQGSJtjMFqKZ9KQanSqYXRcF8fBopzLHYxdM65zcjm", 6, false},
			{"HNT", "hntyVP6YFm1Hg25TN9WGLqM12b8TQmcknKrdu1oxWux", 8, false},
		},
		wallet.Devnet: {
			{"USDC", "4zMMC9srt5Ri5X14GAgXhaHii3GnPAERYPJgZEJDncDU", 6, false},
			{"EURC", "HzwqbKZw8HxMN6bF2yFZNrht3c2iXXzpKcFu7uBEDKtr", 6, false},
			{"wSOL", "So11111111111111111111111111111111111111112", 9, false},
		},
		wallet.Localnet: {
			{"USDC", "CLpKfvqp1swFzmEVcet1uKo9qv9CggxRdfXfCKpp2Acj", 6, false},
			{"FEE", "5tjPoMjqnVYE7cRqe9LY2b95qTGezm3whz3nKJGYShkL", 6, true},
		},
	}
}
