package settle

import (
	"context"
	"errors"
	"time"

	"purser/store"
	"purser/wallet"
)

// judge decides what the chain's answers mean for one transaction that was broadcast, or that may have been. It polls the
// status first and searches the history only if worthSearching says so, at most every Pace.Search.
func (s *Settler) judge(ctx context.Context, t wallet.Transaction, w *watch) (change, error) {
	var landing *wallet.Landing
	var silent error // why the status could not be polled; the search may still succeed
	if !t.Signature.IsZero() {
		landing, silent = s.status(ctx, t.Signature)
	}
	now := s.Now()
	if landing != nil {
		w.known, w.knownAt = true, now
		if w.landedAt.IsZero() {
			w.landedAt = now
		}
		return s.polled(ctx, t, w, *landing)
	}
	w.landedAt = time.Time{}
	if t.RecheckRequestedAt.After(w.askedAt) { // the owner asked for a recheck: search now
		w.askedAt, w.searchAt = t.RecheckRequestedAt, now
	}
	if now.Before(w.searchAt) || !s.worthSearching(t, w, now) {
		return nil, silent
	}
	w.searchAt = now.Add(s.Pace.Search)
	write, err := s.search(ctx, t)
	return write, errors.Join(silent, err)
}

// polled handles a landing that the status poll reported.
func (s *Settler) polled(ctx context.Context, t wallet.Transaction, w *watch, landing wallet.Landing) (change, error) {
	if asKnown(t, landing) {
		return nil, nil
	}
	now := s.Now()
	if landing.Failure != "" { // landed asks every node, which is too expensive for each poll
		if now.Before(w.searchAt) {
			return nil, nil
		}
		w.searchAt = now.Add(s.Pace.Search)
		return s.landed(ctx, t, landing)
	}
	s.Chain.Details(ctx, &landing)
	if landing.BlockHeight == 0 && now.Sub(w.landedAt) < s.Pace.Details {
		return nil, nil // the node may need a moment to know the block height, which the event contains
	}
	return s.landed(ctx, t, landing)
}

// asKnown reports whether a landing changes nothing. An error on chain counts only once it is finalized: on another fork
// the same transaction may succeed.
func asKnown(t wallet.Transaction, landing wallet.Landing) bool {
	if landing.Failure != "" {
		return !landing.Finalized
	}
	return t.Status == wallet.Confirmed && !landing.Finalized
}

// worthSearching reports whether the history should be searched: the transaction has no signature here or its outcome is
// uncertain, the status poll has not known it for Pace.QuietTime, or its blockhash must have expired by our clock.
func (s *Settler) worthSearching(t wallet.Transaction, w *watch, now time.Time) bool {
	if t.Signature.IsZero() || t.Indeterminate { // only a search by reference can find it
		return true
	}
	return now.Sub(quietSince(t, w)) >= s.Pace.QuietTime || s.outOfTime(t, now)
}

// quietSince is since when the status poll has not known a transaction. Until a poll of this process has known it, that is the last
// news in its row: a process that is started again and again would otherwise never have watched for long enough.
func quietSince(t wallet.Transaction, w *watch) time.Time {
	news := t.SubmittedAt
	if t.ConfirmedAt.After(news) {
		news = t.ConfirmedAt
	}
	if w.known || news.IsZero() || news.After(w.knownAt) {
		return w.knownAt
	}
	return news
}

// outOfTime is the part of the never-to-land rule that depends on our own clock: NeverLandsAfter has passed since the
// last blockhash was issued. It is necessary and never sufficient; search checks the rest.
func (s *Settler) outOfTime(t wallet.Transaction, now time.Time) bool {
	last, ok := t.LastIssuedBlockhash()
	if !ok { // no blockhash on record: the signing link could issue one until the transaction ended
		return !t.EndedAt.IsZero() && now.Sub(t.EndedAt) >= wallet.NeverLandsAfter
	}
	return now.Sub(last.At) >= wallet.NeverLandsAfter
}

// search looks for a transaction in the history and applies the never-to-land rule (docs/architecture.md, The rule
// against paying twice, 2). The order of the checks matters. The finalized height is read before the search, because only
// a search that began after the last possible block can prove that the transaction is in none.
//
// Any doubt ends in hold. Only when all conditions are met does it return gone.
func (s *Settler) search(ctx context.Context, t wallet.Transaction) (change, error) {
	query, err := s.Store.Kinds().Query(t)
	if err != nil {
		return nil, err
	}
	// It can still land, so one node's history is enough: finding it is news, and not finding it proves nothing.
	if !s.outOfTime(t, s.Now()) {
		landing, err := s.Chain.Find(ctx, query)
		if err != nil || landing == nil {
			return nil, err
		}
		return s.landed(ctx, t, *landing)
	}
	// From here on the answer may free the owner to pay again, so every node is asked.
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
	case !past: // not found, but a block that is not finalized yet could still contain it
		return s.hold(t), nil
	}
	// A node with pruned history would not know the transaction either: require history back to the first blockhash.
	if len(t.IssuedBlockhashes) > 0 {
		sees, err := s.Chain.CanSeeBackTo(ctx, t.IssuedBlockhashes[0].Blockhash.Slot)
		if err != nil || !sees {
			return s.hold(t), err
		}
	}
	return s.gone(), nil
}

// gone records that a transaction is in no block and can no longer get into one. If it was confirmed before, its block
// was rolled back: that is recorded first, and the next look decides what follows. The reason is the last refusal of a
// node, or an expired blockhash if no node refused it.
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

// hold records that the outcome is uncertain, so that the owner sees it. A transaction already marked is not marked
// again.
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

// landed returns the transitions that follow from a landing: to pending and confirmed, then to finalized or failed.
func (s *Settler) landed(ctx context.Context, seen wallet.Transaction, landing wallet.Landing) (change, error) {
	if asKnown(seen, landing) {
		return nil, nil
	}
	if landing.Failure != "" {
		// A failure lets the owner pay again, so one node's report is not enough. A success that another node reports
		// wins.
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
	// The row may have advanced since the look, so the steps are chosen from the row at commit.
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

// steps lists the transitions from the current status of t to what the landing shows, in order. It may be empty.
func (s *Settler) steps(t wallet.Transaction, landing wallet.Landing) []wallet.TransitionInput {
	now := s.Now().UTC()
	change := wallet.TransitionInput{At: now, Landing: &landing}
	if landing.Failure != "" {
		change.By, change.Failure, change.Reason = wallet.FailedOnChain, wallet.ChainError, wallet.Because("failed_because.on_chain", wallet.TextArg("Error", landing.Failure))
		switch t.Status {
		case wallet.Signed, wallet.Pending, wallet.Delayed:
			return []wallet.TransitionInput{change}
		case wallet.Confirmed: // it had succeeded on another fork
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
	case wallet.Rejected, wallet.Expired, wallet.Delayed:
		change.By = wallet.FoundOnChain
		steps = append(steps, change)
	}
	if landing.Finalized {
		change.By = wallet.Finalized
		steps = append(steps, change)
	}
	return steps
}
