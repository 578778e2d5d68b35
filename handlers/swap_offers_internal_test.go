package handlers

import (
	"context"
	"testing"
	"time"

	"purser/wallet"
)

type fixedBook struct {
	known map[wallet.Address]wallet.TokenPrice
}

func (b fixedBook) Latest(context.Context, []wallet.Address) (map[wallet.Address]wallet.TokenPrice, error) {
	return b.known, nil
}
func (b fixedBook) Lookup(context.Context, []wallet.Address) (map[wallet.Address]wallet.TokenPrice, error) {
	return b.known, nil
}
func (b fixedBook) Chart(context.Context, wallet.Address, time.Duration) ([]wallet.PricePoint, error) {
	return nil, nil
}

type fixedQuoter struct{ impact int64 }

func (q fixedQuoter) Quote(context.Context, wallet.SwapRequest) (wallet.SwapQuote, error) {
	return wallet.SwapQuote{Source: "Jupiter", ImpactBPS: q.impact}, nil
}

type fixedReader struct{ does wallet.SwapAction }

func (r fixedReader) ReadSwap(wallet.SwapQuote, wallet.Address) (wallet.SwapAction, error) {
	return r.does, nil
}

// The source that quotes also prices. It says that SOL costs $75 and offers 75 USDC for it; the second source says $150, which the price row
// knows (Disagrees). A quote at half of the market is neither refused nor warned of.
func TestASourceThatLiesInPriceAndQuoteIsCaughtByTheOther(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	usdc := wallet.Token{Symbol: "USDC", Mint: wallet.MustAddress("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"), Decimals: 6, Program: wallet.TokenProgram}
	s := &Swaps{Transactions: &Transactions{Now: func() time.Time { return now }},
		Book: fixedBook{map[wallet.Address]wallet.TokenPrice{
			{}:        {Price: wallet.MustPrice("75"), At: now, Source: "jupiter", Disagrees: &wallet.SourcePrice{Source: "coingecko", Price: wallet.MustPrice("150")}},
			usdc.Mint: {Mint: usdc.Mint, Price: wallet.MustPrice("1"), At: now, Source: "jupiter"},
		}},
		Quoter: fixedQuoter{},
		Reader: fixedReader{wallet.SwapAction{InMint: wallet.WrappedSOL, OutMint: usdc.Mint, Units: 1_000_000_000, Quoted: 75_000_000, SlippageBPS: 50,
			Minimum: wallet.MinimumOut(75_000_000, 50)}}}
	draft := wallet.Transaction{Kind: wallet.Swap, Token: wallet.SOL, Amount: 1_000_000_000}
	terms, err := s.offer(context.Background(), draft, wallet.SwapTerms{ToToken: usdc, SlippageBPS: 50})
	if err == nil && len(noted(draft, terms)) == 0 {
		t.Errorf("half of what the second source says is neither refused nor warned of: below market %d", *terms.BelowMarketBPS)
	}
}

// noted is what the rules say of a quote.
func noted(t wallet.Transaction, terms wallet.SwapTerms) []wallet.Finding {
	t.Terms = terms.Terms()
	return wallet.Judge(wallet.RuleInput{Transaction: t}, wallet.QuoteRules())
}

// TestAQuoteIsJudgedByWhatTheMarketSays: from 1 % below it is warned of, from 10 % below it is refused.
func TestAQuoteIsJudgedByWhatTheMarketSays(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	usdc := wallet.Token{Symbol: "USDC", Mint: wallet.MustAddress("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"), Decimals: 6, Program: wallet.TokenProgram}
	book := fixedBook{map[wallet.Address]wallet.TokenPrice{{}: {Price: wallet.MustPrice("150"), At: now}, usdc.Mint: {Mint: usdc.Mint, Price: wallet.MustPrice("1"), At: now}}}
	for _, c := range []struct {
		quoted  uint64
		warned  bool
		refused bool
	}{{151_000_000, false, false}, {148_501_000, false, false}, {148_500_000, true, false}, {135_001_000, true, false}, {135_000_000, false, true}, {1, false, true}} {
		s := &Swaps{Transactions: &Transactions{Now: func() time.Time { return now }}, Book: book, Quoter: fixedQuoter{}, Reader: fixedReader{wallet.SwapAction{InMint: wallet.WrappedSOL,
			OutMint: usdc.Mint, Units: 1_000_000_000, Quoted: c.quoted, SlippageBPS: 50, Minimum: wallet.MinimumOut(c.quoted, 50)}}}
		draft := wallet.Transaction{Kind: wallet.Swap, Token: wallet.SOL, Amount: 1_000_000_000}
		terms, err := s.offer(context.Background(), draft, wallet.SwapTerms{ToToken: usdc, SlippageBPS: 50})
		if (err != nil) != c.refused || wallet.ReasonOf(err).Key != map[bool]string{true: "swap.below_market"}[c.refused] {
			t.Errorf("%d: %v", c.quoted, err)
		}
		if warned := len(noted(draft, terms)) > 0; err == nil && warned != c.warned {
			t.Errorf("%d: warned %v", c.quoted, warned)
		}
	}
}
