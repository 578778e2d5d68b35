package market

import (
	"context"
	"fmt"
	"time"

	"purser/wallet"
)

// Candles is a provider of past prices, for tokens that were not sampled here.
type Candles interface {
	// PastPrices returns what a token cost between two times, at most one price for each step, oldest first. A
	// provider may take another step that is near. Nothing is known of a token that is traded nowhere. The error is an
	// *UnavailableError, or of ctx.
	PastPrices(ctx context.Context, priority Priority, mint wallet.Address, since, until time.Time, step time.Duration) ([]wallet.PricePoint, error)
}

// fill is one question to Candles.
type fill struct {
	mint wallet.Address
	span time.Duration
}

// fillAgain is how long the history of a token is not asked for again.
const fillAgain = 10 * time.Minute

// maxFills bounds how many of these questions are remembered.
const maxFills = 10_000

// step returns the distance of the points of a chart over a span: at most 300 of them.
func step(span time.Duration) time.Duration {
	const most = 300
	for _, s := range []time.Duration{time.Minute, 5 * time.Minute, time.Hour, 4 * time.Hour} {
		if span/s <= most {
			return s
		}
	}
	return 48 * time.Hour
}

// Chart returns what a token cost during the last span, oldest first, at most 300 points. What was not sampled here is asked
// for once, for at most AskTimeout; then what is known is returned. It may be nothing.
func (p *Prices) Chart(ctx context.Context, mint wallet.Address, span time.Duration) ([]wallet.PricePoint, error) {
	now := p.Now()
	since, until, each := now.Add(-span), now.Add(time.Minute), step(span) // with the minute that has begun
	points, err := p.History.Points(ctx, mint, since, until, each)
	if err != nil {
		return nil, fmt.Errorf("read the history of prices: %w", err)
	}
	// A tenth of the span may be missing at its beginning: purser was started then, or was off.
	if len(points) > 0 && points[0].At.Sub(since) <= span/10 || !p.fill(ctx, mint, since, now, span) {
		return points, nil
	}
	if points, err = p.History.Points(ctx, mint, since, until, each); err != nil {
		return nil, fmt.Errorf("read the history of prices: %w", err)
	}
	return points, nil
}

// fill asks Candles for the history of a token and saves it. It reports whether there is something new.
func (p *Prices) fill(ctx context.Context, mint wallet.Address, since, until time.Time, span time.Duration) bool {
	if p.Candles == nil || !p.mayFill(fill{mint, span}) {
		return false
	}
	done := p.filling.DoChan(mint.String()+span.String(), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*AskTimeout)
		defer cancel()
		past, err := p.Candles.PastPrices(ctx, ForPerson, mint, since, until, step(span))
		if err == nil {
			err = p.History.Fill(p.Now(), mint, step(span), past)
		}
		if err != nil {
			p.Log.Warn("the past of a price could not be read", "mint", mint, "error", err)
		}
		return len(past) > 0 && err == nil, nil
	})
	timeout := time.NewTimer(AskTimeout)
	defer timeout.Stop()
	select {
	case result := <-done:
		return result.Val.(bool)
	case <-timeout.C: // the next chart has it
	case <-ctx.Done():
	}
	return false
}

// mayFill reports whether a history was not asked for lately, and notes that it is now.
func (p *Prices) mayFill(f fill) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.Now()
	if at, ok := p.filled[f]; ok && now.Sub(at) < fillAgain {
		return false
	}
	if p.filled == nil || len(p.filled) >= maxFills {
		p.filled = map[fill]time.Time{}
	}
	p.filled[f] = now
	return true
}
