package handlers

import (
	"context"
	"slices"
	"time"

	"purser/store"
	"purser/wallet"
)

// PriceBook knows what tokens cost (market.Prices). The zero address stands for SOL. Tokens without a price are absent.
type PriceBook interface {
	// Latest returns the newest known prices, however old. It asks nobody outside.
	Latest(ctx context.Context, mints []wallet.Address) (map[wallet.Address]wallet.TokenPrice, error)
	// Lookup is Latest, but asks the sources for what is not fresh, and waits for them for a second or two. It takes at most
	// MaxPrices tokens.
	Lookup(ctx context.Context, mints []wallet.Address) (map[wallet.Address]wallet.TokenPrice, error)
	// Chart returns what a token cost during the last span, oldest first, at most 300 points.
	Chart(ctx context.Context, mint wallet.Address, span time.Duration) ([]wallet.PricePoint, error)
}

// MaxPrices is the most tokens that one request may ask the prices of.
const MaxPrices = 50

// Prices are what tokens cost, for people and programs. A price is information: it may be missing, old or wrong, and nothing
// that is signed depends on it. Tokens outside the list have a price here too, as their pools make it.
type Prices struct {
	Transfers  *Transfers // resolves tokens
	Book       PriceBook
	PoolSource PoolSource // nil: nobody is asked about pools
	Now        Clock
}

// PriceView is a token and what it costs.
type PriceView struct {
	Token wallet.Token // Symbol "" for a token outside the list
	Price wallet.TokenPrice
	Stale bool // the price is known and old
}

// Known reports whether there is a price.
func (v PriceView) Known() bool { return v.Price.Price.Known() }

// Price returns what one token costs, by a symbol of the list or by mint. It waits a second or two for a price that is not
// known yet. Errors: TOKEN_NOT_FOUND, NETWORK_ERROR if the mint of an unlisted token can't be read.
func (p *Prices) Price(ctx context.Context, token wallet.TokenRef) (PriceView, error) {
	found, err := p.Transfers.Token(ctx, token)
	if err != nil {
		return PriceView{}, err
	}
	views, err := p.views(ctx, []wallet.Token{found}, p.Book.Lookup)
	if err != nil {
		return PriceView{}, err
	}
	return views[0], nil
}

// List returns what tokens cost, in the order given. Each is resolved as in Price, but an unlisted mint is not read from the
// chain: its Decimals and Program are unknown here. Errors: TOKEN_NOT_FOUND for a symbol outside the list; INVALID_REQUEST
// for more than MaxPrices tokens.
func (p *Prices) List(ctx context.Context, tokens []wallet.TokenRef) ([]PriceView, error) {
	if len(tokens) > MaxPrices {
		return nil, wallet.About(wallet.FieldToken, wallet.Refuse(wallet.InvalidRequest, "prices.too_many", wallet.NumberArg("Most", MaxPrices)))
	}
	resolved := make([]wallet.Token, len(tokens))
	for i, ref := range tokens {
		token, listed, err := p.Transfers.listed(ref)
		if err != nil {
			return nil, err
		}
		if !listed {
			token = wallet.Token{Mint: ref.Mint}
		}
		resolved[i] = token
	}
	return p.views(ctx, resolved, p.Book.Lookup)
}

// Portfolio returns the prices of SOL and of the listed tokens that a person's wallets hold, SOL first. It asks nobody
// outside, so a price may be missing or old. What wallets hold is what the watcher saw last.
func (p *Prices) Portfolio(ctx context.Context, who Caller) ([]PriceView, error) {
	tokens := []wallet.Token{wallet.SOL}
	err := p.Transfers.Store.View(ctx, func(tx store.Tx) error {
		tokens = tokens[:1]
		wallets, err := tx.WalletsOf(who.User)
		if err != nil {
			return err
		}
		for _, w := range wallets {
			watch, err := tx.Watch(w.Address)
			if err != nil { // not looked at yet, or damaged: the watcher starts it over
				continue
			}
			for _, account := range watch.Accounts {
				token, listed := p.Transfers.Tokens.ByMint(account.Mint)
				if listed && account.Units > 0 && !slices.Contains(tokens, token) {
					tokens = append(tokens, token)
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return p.views(ctx, tokens, p.Book.Latest)
}

// Chart returns what a token cost during the last span, oldest first, at most 300 points. It waits a second or two for the
// past of a token that was not sampled here. It may be empty.
func (p *Prices) Chart(ctx context.Context, token wallet.Token, span time.Duration) ([]wallet.PricePoint, error) {
	return p.Book.Chart(ctx, token.Mint, span)
}

// views reads the prices of tokens.
func (p *Prices) views(ctx context.Context, tokens []wallet.Token, read func(context.Context, []wallet.Address) (map[wallet.Address]wallet.TokenPrice, error)) ([]PriceView, error) {
	mints := make([]wallet.Address, len(tokens))
	for i, token := range tokens {
		mints[i] = token.Mint
	}
	known, err := read(ctx, mints)
	if err != nil {
		return nil, err
	}
	out := make([]PriceView, len(tokens))
	for i, token := range tokens {
		price := known[token.Mint]
		out[i] = PriceView{Token: token, Price: price, Stale: price.Price.Known() && price.Stale(p.Now())}
	}
	return out, nil
}
