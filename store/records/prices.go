package records

import (
	"bytes"
	"errors"
	"time"

	"purser/store"
	"purser/store/engine"
	"purser/wallet"
)

// priceRow is the row of a price. Its key is the mint.
type priceRow struct {
	Price     wallet.Price        `json:"p"`
	Change24h *wallet.Change      `json:"c,omitempty"`
	At        time.Time           `json:"t"`
	Source    string              `json:"s"`
	Disagrees *wallet.SourcePrice `json:"d,omitempty"`
}

// priceRowOf reads a price; ok is false without one, and for a damaged row, which is reported and skipped.
func (t *tx) priceRowOf(mint wallet.Address) (row priceRow, ok bool, err error) {
	raw := t.get(prices, mint[:])
	if raw == nil {
		return row, false, nil
	}
	row, _, err = plainOf[priceRow](t, prices, mint[:], raw)
	if errors.Is(err, store.ErrDamaged) {
		t.skipDamaged(prices, mint[:], err)
		return priceRow{}, false, nil
	}
	return row, err == nil, err
}

// Prices reads one row for each token.
func (t *tx) Prices(mints []wallet.Address) (map[wallet.Address]wallet.TokenPrice, error) {
	out := make(map[wallet.Address]wallet.TokenPrice, len(mints))
	for _, mint := range mints {
		row, ok, err := t.priceRowOf(mint)
		if err != nil {
			return nil, err
		}
		if ok {
			out[mint] = wallet.TokenPrice{Mint: mint, Price: row.Price, Change24h: row.Change24h, At: row.At, Source: row.Source, Disagrees: row.Disagrees}
		}
	}
	return out, nil
}

// SavePrices replaces rows. The note of when a row is over has the resolution of a day, so that a price that is replaced every
// minute moves its note once a day.
func (t *tx) SavePrices(list []wallet.TokenPrice) error {
	for _, price := range list {
		if !price.Price.Known() {
			continue
		}
		old, replaced, err := t.priceRowOf(price.Mint)
		if err != nil {
			return err
		}
		if replaced && old.At.After(price.At) {
			continue
		}
		row := priceRow{Price: price.Price, Change24h: price.Change24h, At: price.At.UTC(), Source: price.Source, Disagrees: price.Disagrees}
		raw, err := t.seal(prices, price.Mint[:], "", row)
		if err != nil {
			return err
		}
		was, is := priceOverAt(old.At), priceOverAt(row.At)
		if !replaced || !was.Equal(is) {
			if replaced {
				if err := t.unexpire(priceOver, was, price.Mint[:]); err != nil {
					return err
				}
			}
			if err := t.expire(priceOver, is, price.Mint[:]); err != nil {
				return err
			}
		}
		if err := t.putRow(prices, price.Mint[:], raw); err != nil {
			return err
		}
	}
	return nil
}

// priceOverAt is when a price of a time is removed, unless it is replaced.
func priceOverAt(at time.Time) time.Time {
	const day = 24 * time.Hour
	return at.UTC().Truncate(day).Add(day + store.PriceKept)
}

// removePrice removes a price whose time is over, and that somebody asked for it. The note of a row that was damaged when it
// was replaced may be old: then the row has a newer note, and stays.
func (t *tx) removePrice(mint []byte, now time.Time) error {
	if raw := t.get(prices, mint); raw != nil {
		row, _, err := plainOf[priceRow](t, prices, mint, raw)
		if err == nil && priceOverAt(row.At).After(now) {
			return nil
		}
	}
	return errors.Join(t.delete(prices, mint), t.delete(askedPrices, mint))
}

// AskPrices notes the time in the index askedPrices, for tokens that have a price.
func (t *tx) AskPrices(mints []wallet.Address, now time.Time) error {
	for _, mint := range mints {
		if t.get(prices, mint[:]) == nil {
			continue
		}
		if asked, err := keyTime(t.get(askedPrices, mint[:])); err == nil && now.Sub(asked) < time.Hour && !asked.After(now) {
			continue
		}
		if err := t.put(askedPrices, mint[:], timeKey(now)); err != nil {
			return err
		}
	}
	return nil
}

// AskedMints walks the index askedPrices, which has no more entries than there are prices.
func (t *tx) AskedMints(since time.Time, after wallet.Address, limit int) ([]wallet.Address, error) {
	var out []wallet.Address
	for key, value := range t.scan(askedPrices, engine.Range{From: after[:]}) {
		if len(out) >= limit {
			break
		}
		// An entry that cannot be read counts as old: the next question writes it again. The zero address is SOL.
		if len(key) != len(after) {
			continue
		}
		asked, err := keyTime(value)
		if mint := wallet.Address(key); err == nil && !asked.Before(since) && mint != after && !mint.IsZero() {
			out = append(out, mint)
		}
	}
	return out, nil
}

// HeldMints jumps from mint to mint in the index heldMints, and reads no watch.
func (t *tx) HeldMints(after wallet.Address, limit int) ([]wallet.Address, error) {
	var out []wallet.Address
	for len(out) < limit {
		from, ok := nextAddress(after)
		if !ok {
			break
		}
		key, _ := t.first(heldMints, engine.Range{From: from[:]})
		if len(key) < len(after) { // none, or none of ours
			break
		}
		after = wallet.Address(key[:len(after)])
		out = append(out, after)
	}
	return out, nil
}

// nextAddress is the address behind one in the order of bytes; ok is false behind the last one.
func nextAddress(a wallet.Address) (next wallet.Address, ok bool) {
	for i := len(a) - 1; i >= 0; i-- {
		if a[i]++; a[i] != 0 {
			return a, true
		}
	}
	return a, false
}

// holdMints brings the index heldMints up to what a watch says now, from what it said before.
func (t *tx) holdMints(before, now wallet.Watch) error {
	held := mintsIn(now)
	for mint := range mintsIn(before) {
		if !held[mint] {
			if err := t.delete(heldMints, join(mint[:], before.Address[:])); err != nil {
				return err
			}
		}
		delete(held, mint)
	}
	for mint := range held {
		if err := t.put(heldMints, join(mint[:], now.Address[:]), nil); err != nil {
			return err
		}
	}
	return nil
}

// mintsIn is the set of mints of which a watched wallet holds something.
func mintsIn(w wallet.Watch) map[wallet.Address]bool {
	held := map[wallet.Address]bool{}
	for _, account := range w.Accounts {
		if account.Units > 0 && !account.Mint.IsZero() {
			held[account.Mint] = true
		}
	}
	return held
}

// releaseMints removes a wallet from the index heldMints, before its watch is removed. If the row of the watch is damaged,
// nobody knows which mints it had, and the whole index is searched.
func (t *tx) releaseMints(address wallet.Address) error {
	raw := t.get(watches, address[:])
	if raw == nil {
		return nil
	}
	old, _, err := plainOf[wallet.Watch](t, watches, address[:], raw)
	switch {
	case err == nil:
		return t.holdMints(old, wallet.Watch{Address: address})
	case !errors.Is(err, store.ErrDamaged):
		return err
	}
	var keys [][]byte
	for key := range t.scan(heldMints, all()) {
		if bytes.HasSuffix(key, address[:]) {
			keys = append(keys, bytes.Clone(key))
		}
	}
	for _, key := range keys {
		if err := t.delete(heldMints, key); err != nil {
			return err
		}
	}
	return nil
}
