package handlers

import (
	"context"
	"time"

	"purser/wallet"
)

// PoolSource knows where tokens are traded. The error is of the provider or of ctx.
type PoolSource interface {
	// TokenPools returns the pools of a token, the deepest first, at most 20. The zero address stands for SOL.
	TokenPools(ctx context.Context, mint wallet.Address) ([]Pool, error)
}

// Pool is a place where a token is traded against another one. All of it is what the source says.
type Pool struct {
	Address   wallet.Address
	DEX       string       // such as "raydium"; "" if it is not known
	With      wallet.Token // the other token; Symbol "" for one outside the list, whose decimals and program are not known here
	Price     wallet.Price // of the token that was asked about, in US dollars; unknown if the source has none
	Liquidity wallet.Worth // of both sides
	Volume24h wallet.Worth
	CreatedAt time.Time // zero if it is not known
	URL       string    // of the source's page about it
}

// TokenPools are the pools of one token.
type TokenPools struct {
	Token  wallet.Token
	Source string // "": this service asks nobody about pools
	Pools  []Pool
	At     time.Time // when the source was asked
}

// Pools returns where a token is traded, by a symbol of the list or by mint. Errors: TOKEN_NOT_FOUND; NETWORK_ERROR if the mint of
// an unlisted token can't be read, or if the source does not answer in time.
func (p *Prices) Pools(ctx context.Context, token wallet.TokenRef) (TokenPools, error) {
	out := TokenPools{At: p.Now().UTC()}
	var err error
	if out.Token, err = p.Transfers.Token(ctx, token); err != nil {
		return out, err
	}
	if p.PoolSource == nil {
		return out, nil
	}
	out.Source = poolSource
	ctx, cancel := context.WithTimeout(ctx, poolTimeout)
	defer cancel()
	if out.Pools, err = p.PoolSource.TokenPools(ctx, out.Token.Mint); err != nil {
		refused := wallet.Refuse(wallet.NetworkError, "prices.pools_unavailable")
		refused.Err = err
		return out, refused
	}
	for i := range out.Pools {
		if listed, ok := p.Transfers.Tokens.ByMint(out.Pools[i].With.Mint); ok {
			out.Pools[i].With = listed
		}
	}
	return out, nil
}

// poolSource is the name of the source of pools.
const poolSource = "geckoterminal"

// poolTimeout bounds how long somebody waits for pools.
const poolTimeout = 3 * time.Second
