package store

import (
	"errors"
	"time"

	"purser/wallet"
)

// Portfolios are what is kept of people's portfolios from one summary to the next.
type Portfolios interface {
	// Portfolio returns what is kept of a person's portfolio; the zero value with Owner set if nothing is, or if the row is damaged. That is no error.
	Portfolio(wallet.UserID) (wallet.Portfolio, error)
	// PutPortfolio replaces it. ErrNotFound: the person was erased.
	PutPortfolio(wallet.Portfolio) error
	// DeletePortfolio removes it; without one it does nothing.
	DeletePortfolio(wallet.UserID) error
}

// OrderPortfolioSummary puts the job, in the queue PortfolioSummaries, that looks at a person's portfolio at the time of their summaries. It takes the place of
// one that waits, unless that one is due. For a person who wants no summaries it removes the job and what was kept of their portfolio. Its ID is the person's. A change of a person's settings calls it in the same
// Update.
func OrderPortfolioSummary(tx Tx, who wallet.User, now time.Time) error {
	id := JobID(who.ID)
	if !who.Wants(wallet.CategorySummary) {
		return errors.Join(tx.RemoveJobs(PortfolioSummaries, id), tx.DeletePortfolio(who.ID))
	}
	at := now
	if waits, err := tx.Job(PortfolioSummaries, id); err == nil {
		if !waits.NotBefore.After(now) {
			return nil // it decides by the new settings
		}
		at = waits.At // when they turned it on
	}
	_, err := tx.PutJobs([]Job{{ID: id, Queue: PortfolioSummaries, Owner: string(who.ID), Priority: JobBackground, At: at, NotBefore: who.Settings.NextLook(now), About: who.ID}}, nil)
	return err
}
