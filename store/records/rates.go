package records

import (
	"errors"
	"slices"
	"time"

	"purser/store"
	"purser/wallet"
)

// rateRow is the row of a rate. Its key is the code of the currency. There are as many as wallet.Currencies, so none is ever
// removed.
type rateRow struct {
	PerDollar wallet.Price `json:"p"`
	At        time.Time    `json:"t"`
	Source    string       `json:"s"`
}

// Rate reads one row. A dollar needs none.
func (t *tx) Rate(code wallet.Currency, now time.Time) (wallet.Rate, error) {
	if code == wallet.Dollars {
		return wallet.OneToOne(now), nil
	}
	raw := t.get(rates, []byte(code))
	if raw == nil {
		return wallet.Rate{}, store.ErrNotFound
	}
	row, _, err := plainOf[rateRow](t, rates, []byte(code), raw)
	if errors.Is(err, store.ErrDamaged) {
		t.skipDamaged(rates, []byte(code), err)
		return wallet.Rate{}, store.ErrNotFound
	}
	return wallet.Rate{Currency: code, PerDollar: row.PerDollar, At: row.At, Source: row.Source}, err
}

// SaveRates replaces rows.
func (t *tx) SaveRates(list []wallet.Rate) error {
	for _, rate := range list {
		if !rate.PerDollar.Known() || rate.Currency == wallet.Dollars || !slices.Contains(wallet.Currencies(), rate.Currency) {
			continue
		}
		key := []byte(rate.Currency)
		raw, err := t.seal(rates, key, "", rateRow{rate.PerDollar, rate.At.UTC(), rate.Source})
		if err != nil {
			return err
		}
		if err := t.putRow(rates, key, raw); err != nil {
			return err
		}
	}
	return nil
}
