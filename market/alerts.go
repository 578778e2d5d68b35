package market

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"purser/store"
	"purser/wallet"
)

// How alerts are compared with prices.
const (
	seriesAtOnce = 200 // series compared per transaction
	alertsAtOnce = 200 // alerts fired or rearmed per transaction
	changeGap    = 10 * time.Minute
)

// reading is the value of a series now.
type reading struct {
	series wallet.Series
	token  string // as events name it
	level  wallet.Level
	price  wallet.Price  // of the token now
	before wallet.Price  // of the token at the beginning of the span; unknown for the price itself
	change wallet.Change // from before to price
	public bool          // a significant change of it is announced to all
}

// evaluate compares new prices with people's alerts: it emits price.alert for each alert whose level was reached since the last time, and
// price.significant_change for well-known tokens. Only the alerts between the old and the new price are touched, however many there are. An alert's new state,
// and its event, are written in one transaction, so that a crash neither loses nor repeats one.
func (p *Prices) evaluate(ctx context.Context, at time.Time, learned map[wallet.Address]wallet.TokenPrice) error {
	readings, err := p.readings(ctx, at, learned)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(readings, seriesAtOnce) {
		for more := true; more; {
			err := p.Store.Update(ctx, func(tx store.Tx) (err error) {
				more, err = compareAlerts(tx, at, part)
				return err
			})
			if err != nil {
				return fmt.Errorf("compare prices with alerts: %w", err)
			}
		}
	}
	return nil
}

// readings returns the values of the series that somebody watches, and of the changes of well-known tokens. A change over a time of which no price is known is
// left out.
func (p *Prices) readings(ctx context.Context, at time.Time, learned map[wallet.Address]wallet.TokenPrice) (out []reading, err error) {
	mints := make([]wallet.Address, 0, len(learned))
	for mint := range learned {
		mints = append(mints, mint)
	}
	slices.SortFunc(mints, func(a, b wallet.Address) int { return bytes.Compare(a[:], b[:]) })
	watched := map[wallet.Address][]wallet.Series{}
	err = p.Store.View(ctx, func(tx store.Tx) error {
		for _, mint := range mints {
			watched[mint] = tx.WatchedSeries(mint)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read what alerts watch: %w", err)
	}
	known := p.wellKnown()
	for _, mint := range mints {
		all, public := watched[mint], slices.Contains(known, mint)
		if public {
			for _, span := range wallet.AlertSpans() {
				if s := (wallet.Series{Mint: mint, Span: span}); !slices.Contains(all, s) {
					all = append(all, s)
				}
			}
		}
		for _, series := range all {
			r := reading{series: series, price: learned[mint].Price, token: p.nameOf(mint), public: public && series.Span > 0}
			if series.Span == 0 {
				r.level = wallet.PriceLevel(r.price)
				out = append(out, r)
				continue
			}
			if r.before, err = p.priceAt(ctx, mint, at.Add(-series.Span)); err != nil {
				return nil, err
			}
			var ok bool
			if r.change, ok = r.price.ChangeFrom(r.before); ok {
				r.level = wallet.ChangeLevel(r.change)
				out = append(out, r)
			}
		}
	}
	return out, nil
}

// nameOf returns how events name a token: by its symbol in the list, or its mint.
func (p *Prices) nameOf(mint wallet.Address) string {
	if mint.IsZero() {
		return wallet.SOL.Symbol
	}
	if token, ok := p.Tokens.ByMint(mint); ok {
		return token.Name()
	}
	return mint.String()
}

// priceAt returns what a token cost at a time, or in the ten minutes before it; the unknown price if it was not sampled then.
func (p *Prices) priceAt(ctx context.Context, mint wallet.Address, at time.Time) (wallet.Price, error) {
	points, err := p.History.Points(ctx, mint, at.Add(-changeGap), at.Add(time.Minute), time.Minute)
	if err != nil || len(points) == 0 {
		return wallet.Price{}, err
	}
	return points[len(points)-1].Price, nil
}

// compareAlerts compares readings with alerts. more is true if there was too much for one transaction: the caller calls it again.
func compareAlerts(tx store.Tx, at time.Time, readings []reading) (more bool, err error) {
	budget := alertsAtOnce
	for _, r := range readings {
		mark, begun := tx.AlertMark(r.series)
		for begun && mark.Level != r.level {
			crossed, err := tx.CrossedAlerts(r.series, mark.Level, r.level, budget)
			if err != nil {
				return false, err
			}
			for _, c := range crossed {
				if err := cross(tx, at, r, c); err != nil {
					return false, err
				}
			}
			if len(crossed) == 0 { // also of those that were armed again on the way
				break
			}
			if budget -= len(crossed); budget <= 0 {
				return true, nil
			}
		}
		if next := (wallet.AlertMark{Level: r.level}); !begun || next != mark {
			if err := tx.PutAlertMark(r.series, next); err != nil {
				return false, err
			}
		}
		if r.public {
			if err := compareWithAll(tx, at, r); err != nil {
				return false, err
			}
		}
	}
	return false, nil
}

// compareWithAll announces a significant change to all. What was announced has a mark of its own, which no alert of a person touches.
func compareWithAll(tx store.Tx, at time.Time, r reading) error {
	mark, begun := tx.AlertMark(r.series.Public())
	side, err := announce(tx, at, r, mark.Announced, begun)
	if err != nil || begun && side == mark.Announced {
		return err
	}
	return tx.PutAlertMark(r.series.Public(), wallet.AlertMark{Level: r.level, Announced: side})
}

// cross writes an alert after a crossing, and the event if it fired.
func cross(tx store.Tx, at time.Time, r reading, c store.AlertCrossing) error {
	next, fired := c.Alert.Crossed(c.Crossing, at)
	if fired {
		a := c.Alert
		data := wallet.PriceAlertData{AlertID: string(a.ID), UserID: a.Owner, Token: a.Token.Name(), Condition: string(a.Condition), TargetPrice: a.Price.String(),
			CurrentPrice: r.price.String(), TriggeredAt: wallet.Timestamp(at)}
		if a.Condition == wallet.AlertMoves {
			data.ChangePercent, data.Timeframe = json.Number(r.change.String()), wallet.SpanName(a.Span)
		}
		event, err := wallet.NewEvent("evt_"+string(a.ID)+"_"+strconv.FormatInt(at.UnixMilli(), 10), wallet.PriceAlert, at.UTC(), a.Owner, data)
		if err != nil {
			return err
		}
		if err := tx.Emit(event); err != nil {
			return err
		}
	}
	return tx.PutAlert(next)
}

// announce emits price.significant_change each time a change becomes significant. If it already is at the first comparison, nothing is emitted.
func announce(tx store.Tx, at time.Time, r reading, before wallet.AlertSide, begun bool) (wallet.AlertSide, error) {
	after, announced := wallet.Announce(before, r.series.Span, r.change)
	if !announced || !begun {
		return after, nil
	}
	data := wallet.PriceSignificantChangeData{Token: r.token, PreviousPrice: r.before.String(), CurrentPrice: r.price.String(), ChangePercent: json.Number(r.change.String()),
		ChangeAmount: r.price.Minus(r.before), Timeframe: wallet.SpanName(r.series.Span), TriggeredAt: wallet.Timestamp(at)}
	event, err := wallet.NewEvent("evt_change_"+r.series.Mint.String()+"_"+data.Timeframe+"_"+strconv.FormatInt(at.UnixMilli(), 10), wallet.PriceSignificantChange, at.UTC(), "", data)
	if err != nil {
		return after, err
	}
	return after, tx.Emit(event)
}
