package sandbox

import (
	"errors"
	"path/filepath"

	"purser/sandbox/market"
	"purser/sandbox/solana"
	"purser/sandbox/telegram"
)

// openMarket opens the market, whose USDC and FEE are the cluster's test tokens.
func (w *World) openMarket(o Options) (telegram.Market, error) {
	options := market.Options{Now: o.Now, Seed: seed, Block: w.Solana.Slot, Exchange: Exchange(w.Solana),
		Mint: func(name string) string { return solana.MintAddress(seed, name) }}
	if o.Dir != "" {
		options.Dir = filepath.Join(o.Dir, MarketDir)
	}
	var err error
	if w.Market, err = market.Open(options); err != nil {
		return nil, err
	}
	return tradingFloor{w.Market}, nil
}

// tradingFloor adapts market.Market to telegram.Market, because neither package may import the other.
type tradingFloor struct{ market *market.Market }

func (f tradingFloor) Prices() []telegram.Price {
	out := []telegram.Price{} // never nil, so that JSON has []
	for _, q := range f.market.Quotes() {
		out = append(out, telegram.Price{Mint: q.Mint, Symbol: q.Symbol, Name: q.Name, Verified: q.Verified, Price: q.Price, Change: q.Change})
	}
	return out
}

func (f tradingFloor) SetPrice(mint, price string) error {
	return knownPrice(f.market.Set(mint, price))
}

func (f tradingFloor) MovePrice(mint string, percent int) error {
	return knownPrice(f.market.Jump(mint, percent))
}

func (f tradingFloor) Quotes() string { return f.market.QuoteMode() }

func (f tradingFloor) SetQuotes(mode string) error {
	if err := f.market.SetQuotes(mode); err != nil {
		return errors.Join(telegram.ErrNoMode, err)
	}
	return nil
}

// knownPrice translates the errors of the market that a person can do something about. Other errors pass through
// unchanged.
func knownPrice(err error) error {
	switch {
	case errors.Is(err, market.ErrPrice):
		return telegram.ErrBadPrice
	case errors.Is(err, market.ErrUnpriced):
		return telegram.ErrNoPrice
	case errors.Is(err, market.ErrUnknownToken):
		return telegram.ErrNoToken
	}
	return err
}
