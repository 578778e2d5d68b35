package product

import (
	"context"

	"purser/handlers"
	"purser/market"
	"purser/wallet"
)

// pools are the pools of GeckoTerminal as handlers.PoolSource.
type pools struct{ source *market.GeckoTerminal }

// TokenPools asks the source, for a person who waits.
func (p pools) TokenPools(ctx context.Context, mint wallet.Address) ([]handlers.Pool, error) {
	list, err := p.source.Pools(ctx, market.ForPerson, mint)
	if err != nil {
		return nil, err
	}
	out := make([]handlers.Pool, len(list))
	for i, one := range list {
		with := one.Quote
		if with == market.ProviderMint(mint) {
			with = one.Base
		}
		out[i] = handlers.Pool{Address: one.Address, DEX: one.DEX, With: wallet.Token{Mint: with}, Price: one.Price, Liquidity: one.Liquidity,
			Volume24h: one.Volume24h, CreatedAt: one.CreatedAt, URL: one.URL}
	}
	return out, nil
}
