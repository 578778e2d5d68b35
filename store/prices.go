package store

import (
	"context"
	"time"

	"purser/wallet"
)

// TokenPrices are what tokens cost, as sources said, and which tokens are of interest. All of it is public, and none of it is about
// a person. The zero address stands for SOL.
type TokenPrices interface {
	// Prices returns the newest price of each token that has one. A damaged row reads as no price.
	Prices(mints []wallet.Address) (map[wallet.Address]wallet.TokenPrice, error)
	// SavePrices stores prices. One that is older than what is stored changes nothing. A price that is not replaced is removed
	// by Sweep, PriceKept after its day.
	SavePrices([]wallet.TokenPrice) error
	// HeldMints lists the mints of the tokens that connected wallets hold, by what their watches say, each once in the order of
	// bytes, behind the last one of the page before. The zero address begins. SOL is not listed.
	HeldMints(after wallet.Address, limit int) ([]wallet.Address, error)
	// AskPrices notes that somebody asked for these tokens at a time. Tokens without a stored price are left out: nobody can
	// fill the store with names. It writes at most once an hour for each token.
	AskPrices(mints []wallet.Address, now time.Time) error
	// AskedMints lists the tokens that somebody asked for since a time, to within an hour, as HeldMints does.
	AskedMints(since time.Time, after wallet.Address, limit int) ([]wallet.Address, error)
}

// PriceKept is how long a price is kept that is not replaced.
const PriceKept = 48 * time.Hour

// CurrencyRates are what a US dollar costs in other currencies.
type CurrencyRates interface {
	// Rate returns the newest rate of a currency. wallet.Dollars always has one. ErrNotFound without one; a damaged row reads
	// as none.
	Rate(code wallet.Currency, now time.Time) (wallet.Rate, error)
	// SaveRates replaces rates. One that is not known, or not of wallet.Currencies, changes nothing.
	SaveRates([]wallet.Rate) error
}

// PriceHistory is what tokens cost in the past: by the minute for two days, by the hour for a year. Prices are kept with nine
// significant digits. Any goroutine may use it. What is damaged is left out, and hides nothing else.
type PriceHistory interface {
	// SavePoints adds the prices of one time, and replaces those of the same minute. It is durable when it returns.
	SavePoints(at time.Time, prices []wallet.TokenPrice) error
	// Fill adds what another source knows of the past of a token, oldest first, one point for each step. It replaces nothing, and
	// leaves out what would not be kept. Steps of an hour and more add no minutes.
	Fill(now time.Time, mint wallet.Address, step time.Duration, points []wallet.PricePoint) error
	// Points returns what a token cost from since (inclusive) to until (exclusive), oldest first: of each step the last price.
	// Steps of less than an hour are made of minutes, others of hours. A point has the time of its minute or hour.
	Points(ctx context.Context, mint wallet.Address, since, until time.Time, step time.Duration) ([]wallet.PricePoint, error)
	// Drop removes what is not kept any more.
	Drop(ctx context.Context, now time.Time) error
	Close() error
}
