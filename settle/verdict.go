package settle

import (
	"context"
	"errors"
	"time"

	"purser/store"
	"purser/wallet"
)

// judge decides what the chain's word means for one transaction that is with the network, or may be.
func (s *Settler) judge(ctx context.Context, t wallet.Transaction, w *watch) (change, error) {
	var landing *wallet.Landing
	var silent error
	if !t.Signature.IsZero() {
		landing, silent = s.status(ctx, t.Signature)
	}
	now := s.Now()
	if landing != nil {
		w.knownAt = now
		if w.landedAt.IsZero() {
			w.landedAt = now
		}
		return s.polled(ctx, t, w, *landing)
	}
	w.landedAt = time.Time{}
	if t.RecheckRequestedAt.After(w.askedAt) { // the owner asks: whatever was planned, look now
		w.askedAt, w.searchAt = t.RecheckRequestedAt, now
	}
	if now.Before(w.searchAt) || !s.worthSearching(t, w, now) {
		return nil, silent
	}
	w.searchAt = now.Add(s.Pace.Search)
	write, err := s.search(ctx, t)
	return write, errors.Join(silent, err)
}

// polled decides what a landing means that the cheap poll told of.
func (s *Settler) polled(ctx context.Context, t wallet.Transaction, w *watch, landing wallet.Landing) (change, error) {
	if asKnown(t, landing) {
		return nil, nil
	}
	now := s.Now()
	if landing.Failure != "" { // all nodes are asked about it, not at every poll
		if now.Before(w.searchAt) {
			return nil, nil
		}
		w.searchAt = now.Add(s.Pace.Search)
		return s.landed(ctx, t, landing)
	}
	s.Chain.Details(ctx, &landing)
	if landing.BlockHeight == 0 && now.Sub(w.landedAt) < s.Pace.Details {
		return nil, nil // a node may need a moment to know the block's height, which the event tells
	}
	return s.landed(ctx, t, landing)
}

// asKnown tells whether a landing changes nothing. An error on chain counts only when it cannot be rolled back any more.
func asKnown(t wallet.Transaction, landing wallet.Landing) bool {
	if landing.Failure != "" {
		return !landing.Finalized
	}
	return t.Status == wallet.Confirmed && !landing.Finalized
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
func (s *Settler) search(ctx context.Context, t wallet.Transaction) (change, error) {
	query, err := s.Store.Kinds().Query(t)
	if err != nil {
		return nil, err
	}
	if !s.outOfTime(t, s.Now()) {
		landing, err := s.Chain.Find(ctx, query)
		if err != nil || landing == nil {
			return nil, err
		}
		return s.landed(ctx, t, *landing)
	}
	height, err := s.Chain.FinalizedBlockHeight(ctx)
	if err != nil {
		return s.hold(t), err
	}
	past := height > t.LastValidBlockHeight()
	landing, certain, err := s.Chain.FindEverywhere(ctx, query)
	switch {
	case landing != nil:
		return s.landed(ctx, t, *landing)
	case err != nil || !certain:
		return s.hold(t), err
	case !past: // not found, but some block could still hold it: by our clock it is late
		return s.hold(t), nil
	}
	if len(t.IssuedBlockhashes) > 0 {
		sees, err := s.Chain.CanSeeBackTo(ctx, t.IssuedBlockhashes[0].Blockhash.Slot)
		if err != nil || !sees {
			return s.hold(t), err
		}
	}
	return s.gone(), nil
}

// gone records that a transaction is in no block and can get into none. One that was confirmed
// before was rolled back first.
func (s *Settler) gone() change {
	return s.step(func(t wallet.Transaction) *wallet.TransitionInput {
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
func (s *Settler) hold(seen wallet.Transaction) change {
	uncertain := func(t wallet.Transaction) bool {
		return !t.Indeterminate && (t.Status == wallet.Signed || t.Status == wallet.Pending)
	}
	if !uncertain(seen) {
		return nil
	}
	return s.step(func(t wallet.Transaction) *wallet.TransitionInput {
		if !uncertain(t) {
			return nil
		}
		return &wallet.TransitionInput{By: wallet.BecameUncertain, At: s.Now().UTC()}
	})
}

// landed takes the steps that a landing allows: pending and confirmed, then final, or failed.
func (s *Settler) landed(ctx context.Context, seen wallet.Transaction, landing wallet.Landing) (change, error) {
	if asKnown(seen, landing) {
		return nil, nil
	}
	if landing.Failure != "" {
		// One node's word is not enough to let anybody pay again: a success elsewhere counts more.
		query, err := s.Store.Kinds().Query(seen)
		if err != nil {
			return nil, err
		}
		found, certain, err := s.Chain.FindEverywhere(ctx, query)
		switch {
		case err != nil || found == nil || !certain:
			return s.hold(seen), err
		case !found.Finalized:
			return nil, nil
		}
		landing = *found
	}
	return func(tx store.Tx, t wallet.Transaction) (wallet.Transaction, error) {
		if t.Closed {
			return t, nil
		}
		for _, change := range s.steps(t, landing) {
			var err error
			if t, err = s.apply(tx, t, change); err != nil {
				return t, err
			}
		}
		return t, nil
	}, nil
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
