package settle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"purser/store"
	"purser/wallet"
)

// judge decides what the chain's word means for one transaction.
func (s *Settler) judge(ctx context.Context, t wallet.Transaction, landing *wallet.Landing) error {
	w, now := s.watched[t.ID], s.Now()
	if landing != nil {
		w.knownAt = now
		if w.landedAt.IsZero() {
			w.landedAt = now
		}
		if landing.BlockHeight == 0 && now.Sub(w.landedAt) < s.Pace.Details {
			return nil // a node may need a moment to know the block's height, which the event tells
		}
		if landing.Failure != "" && landing.Finalized { // all nodes are asked about it, not at every poll
			if now.Before(w.searchAt) {
				return nil
			}
			w.searchAt = now.Add(s.Pace.Search)
		}
		return s.landed(ctx, t, *landing)
	}
	w.landedAt = time.Time{}
	if t.RecheckRequestedAt.After(w.askedAt) { // the owner asks: whatever was planned, look now
		w.askedAt, w.searchAt = t.RecheckRequestedAt, now
	}
	if now.Before(w.searchAt) || !s.worthSearching(t, w, now) {
		return nil
	}
	w.searchAt = now.Add(s.Pace.Search)
	return s.search(ctx, t)
}

func (s *Settler) worthSearching(t wallet.Transaction, w *watch, now time.Time) bool {
	if t.Signature.IsZero() || t.Indeterminate { // rejected or expired with blockhashes out: only its reference can tell
		return true
	}
	return now.Sub(w.knownAt) >= s.Pace.QuietTime || s.outOfTime(t, now)
}

// outOfTime is the part of the never-to-land rule that our own clock decides.
func (s *Settler) outOfTime(t wallet.Transaction, now time.Time) bool {
	last, ok := t.LastIssuedBlockhash()
	if !ok { // none that this database remembers: the sign link worked until it ended
		return !t.EndedAt.IsZero() && now.Sub(t.EndedAt) >= wallet.NeverLandsAfter
	}
	return now.Sub(last.At) >= wallet.NeverLandsAfter
}

// search looks through history for a transaction that the cheap poll does not know, and applies the never-to-land rule
// (docs/architecture.md, The rule against paying twice, 2): its conditions are checked in this order, because only a
// look that began after the last block it could be in proves that it is in none.
func (s *Settler) search(ctx context.Context, t wallet.Transaction) error {
	query, err := s.Store.Kinds().Query(t)
	if err != nil {
		return err
	}
	if !s.outOfTime(t, s.Now()) {
		landing, err := s.Chain.Find(ctx, query)
		if err != nil || landing == nil {
			return err
		}
		return s.landed(ctx, t, *landing)
	}
	height, err := s.Chain.FinalizedBlockHeight(ctx)
	if err != nil {
		return errors.Join(err, s.hold(ctx, t.ID))
	}
	past := height > t.LastValidBlockHeight()
	landing, certain, err := s.Chain.FindEverywhere(ctx, query)
	switch {
	case landing != nil:
		return s.landed(ctx, t, *landing)
	case err != nil || !certain:
		return errors.Join(err, s.hold(ctx, t.ID))
	case !past: // not found, but some block could still hold it: by our clock it is late
		return s.hold(ctx, t.ID)
	}
	if len(t.IssuedBlockhashes) > 0 {
		sees, err := s.Chain.CanSeeBackTo(ctx, t.IssuedBlockhashes[0].Blockhash.Slot)
		if err != nil || !sees {
			return errors.Join(err, s.hold(ctx, t.ID))
		}
	}
	return s.gone(ctx, t.ID)
}

// gone records that a transaction is in no block and can get into none. One that was confirmed
// before was rolled back first.
func (s *Settler) gone(ctx context.Context, id wallet.TransactionID) error {
	return s.step(ctx, id, func(t wallet.Transaction) *wallet.TransitionInput {
		now := s.Now().UTC()
		if t.Status == wallet.Confirmed {
			return &wallet.TransitionInput{By: wallet.RolledBack, At: now}
		}
		change := wallet.TransitionInput{By: wallet.CanNeverLand, At: now}
		if t.Status == wallet.Signed || t.Status == wallet.Pending {
			change.Failure, change.Reason = t.Refusal, t.RefusalReason
			if change.Failure == "" {
				change.Failure, change.Reason = wallet.BlockhashExpired, wallet.Because("failed_because.not_processed")
			}
		}
		return &change
	})
}

// hold says that nobody can tell: the owner sees it, once.
func (s *Settler) hold(ctx context.Context, id wallet.TransactionID) error {
	return s.step(ctx, id, func(t wallet.Transaction) *wallet.TransitionInput {
		if t.Indeterminate || t.Status != wallet.Signed && t.Status != wallet.Pending {
			return nil
		}
		return &wallet.TransitionInput{By: wallet.BecameUncertain, At: s.Now().UTC()}
	})
}

// landed takes the steps that a landing allows: pending and confirmed, then final, or failed. An
// error on chain counts only when it cannot be rolled back any more.
func (s *Settler) landed(ctx context.Context, seen wallet.Transaction, landing wallet.Landing) error {
	if seen.Status == wallet.Confirmed && !landing.Finalized && landing.Failure == "" {
		return nil // as known
	}
	if landing.Failure != "" && !landing.Finalized {
		return nil
	}
	if landing.Failure != "" {
		// One node's word is not enough to let anybody pay again: a success elsewhere counts more.
		query, err := s.Store.Kinds().Query(seen)
		if err != nil {
			return err
		}
		found, certain, err := s.Chain.FindEverywhere(ctx, query)
		switch {
		case err != nil || found == nil || !certain:
			return errors.Join(err, s.hold(ctx, seen.ID))
		case !found.Finalized:
			return nil
		}
		landing = *found
	}
	err := s.Store.Update(ctx, func(tx store.Tx) error {
		t, err := tx.Transaction(seen.ID)
		if err != nil || t.Closed {
			return err
		}
		for _, change := range s.steps(t, landing) {
			if t, err = s.apply(tx, t, change); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("settle %s: %w", seen.ID, err)
	}
	return nil
}

func (s *Settler) steps(t wallet.Transaction, landing wallet.Landing) []wallet.TransitionInput {
	now := s.Now().UTC()
	change := wallet.TransitionInput{At: now, Landing: &landing}
	if landing.Failure != "" {
		change.By, change.Failure, change.Reason = wallet.FailedOnChain, wallet.ChainError, wallet.Because("failed_because.on_chain", wallet.TextArg("Error", landing.Failure))
		switch t.Status {
		case wallet.Signed, wallet.Pending:
			return []wallet.TransitionInput{change}
		case wallet.Confirmed: // another fork had it succeed
			return []wallet.TransitionInput{{By: wallet.RolledBack, At: now}, change}
		}
		// Rejected or expired, and it failed on chain as well: it moved nothing.
		return []wallet.TransitionInput{{By: wallet.CanNeverLand, At: now}}
	}
	var steps []wallet.TransitionInput
	switch t.Status {
	case wallet.Signed, wallet.Pending:
		change.By = wallet.Landed
		steps = append(steps, change)
	case wallet.Rejected, wallet.Expired:
		change.By = wallet.FoundOnChain
		steps = append(steps, change)
	}
	if landing.Finalized {
		change.By = wallet.Finalized
		steps = append(steps, change)
	}
	return steps
}
