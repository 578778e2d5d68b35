package records

import (
	"errors"

	"purser/store"
	"purser/wallet"
)

// portfolioRow is the plain part of a portfolio: whose it is.
type portfolioRow struct {
	Owner wallet.UserID `json:"owner"`
}

// Portfolio returns the zero value with Owner set if nothing is kept, and for a damaged row.
func (t *tx) Portfolio(who wallet.UserID) (wallet.Portfolio, error) {
	if t.get(portfolios, []byte(who)) == nil {
		return wallet.Portfolio{Owner: who}, nil
	}
	_, payload, err := readWithPayload[portfolioRow, wallet.Portfolio](t, portfolios, []byte(who))
	if errors.Is(err, store.ErrDamaged) { // summaries begin again
		t.skipDamaged(portfolios, []byte(who), err)
		return wallet.Portfolio{Owner: who}, nil
	}
	payload.Owner = who
	return payload, err
}

// DeletePortfolio removes it.
func (t *tx) DeletePortfolio(who wallet.UserID) error { return t.delete(portfolios, []byte(who)) }

// PutPortfolio seals all of it with the person's own data key.
func (t *tx) PutPortfolio(p wallet.Portfolio) error {
	if err := checkID(string(p.Owner)); err != nil {
		return err
	}
	return t.putWithPayload(portfolios, []byte(p.Owner), p.Owner, portfolioRow{p.Owner}, p)
}
