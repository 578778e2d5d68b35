// Package settle carries a signed transaction to its end: broadcast, prove, expire, reconcile. It
// refuses to know who asked for it, how anybody is told (it leaves events), and how a node is
// spoken to.
//
// The one rule that all of it serves (DESIGN §3): a transaction is never called failed while it
// could still land, and no second one is ever made in its place here.
package settle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"purser/store"
	"purser/wallet"
)

// Chain is what settling needs of Solana. A *wallet.NotAccepted from Broadcast is a refusal; any
// other error of any method means that nobody knows.
type Chain interface {
	// Broadcast hands the bytes to a node; nil when it took them, now or before.
	Broadcast(ctx context.Context, signed []byte) error
	// Statuses is the cheap poll: recent transactions only, nil where unknown or not yet confirmed.
	Statuses(ctx context.Context, signatures []wallet.Signature) ([]*wallet.Landing, error)
	// Find looks through history, by signature and by reference; nil when it is not there.
	Find(ctx context.Context, sought wallet.Sought) (*wallet.Landing, error)
	// FindEverywhere is Find on every configured node; certain only when all answered alike.
	FindEverywhere(ctx context.Context, sought wallet.Sought) (landing *wallet.Landing, certain bool, err error)
	// FinalizedBlockHeight is the height of the newest block that cannot be rolled back.
	FinalizedBlockHeight(ctx context.Context) (uint64, error)
	// CanSeeBackTo tells whether the nodes' history reaches back to slot.
	CanSeeBackTo(ctx context.Context, slot uint64) (bool, error)
	// Watch asks for a hint on Hints when a signature lands; a hint may never come.
	Watch(signature wallet.Signature)
	Hints() <-chan wallet.Signature
}

// Pace is how often settle looks and speaks.
type Pace struct {
	Poll      time.Duration // between looks while something is under way
	Rebroad   time.Duration // between broadcasts of the same bytes
	Search    time.Duration // between looks through history
	Idle      time.Duration // between looks while nothing is under way
	QuietTime time.Duration // how long the cheap poll may not know a transaction before history is searched
	Details   time.Duration // how long a landing may wait for its block's height
}

// DefaultPace suits a public RPC node.
func DefaultPace() Pace {
	return Pace{Poll: 500 * time.Millisecond, Rebroad: 2 * time.Second, Search: 10 * time.Second,
		Idle: 10 * time.Second, QuietTime: 20 * time.Second, Details: 3 * time.Second}
}

// Settler is the worker. One of it runs for one store.
type Settler struct {
	Store store.Store
	Chain Chain
	Now   func() time.Time
	Log   *slog.Logger
	Pace  Pace

	watched map[wallet.TransactionID]*watch
}

// watch is what is remembered between two rounds; a restart begins without it.
type watch struct {
	broadcastAt time.Time // when the bytes may be sent again
	searchAt    time.Time // when history may be searched again
	knownAt     time.Time // when the cheap poll last knew it, or watching began
	landedAt    time.Time // when it was first seen landed
	hinted      bool
}

// most bounds one round. What is beyond it waits until older ones have ended.
const most = 10_000

// batch is what getSignatureStatuses takes at once.
const batch = 256

// parallel bounds the calls to a node under way at once.
const parallel = 8

// Run works until ctx ends. It stops with an error only when the store's outcome is unknown.
func (s *Settler) Run(ctx context.Context) error {
	s.watched = map[wallet.TransactionID]*watch{}
	failures := 0
	for {
		busy, err := s.round(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, store.ErrUnknownOutcome):
			return fmt.Errorf("settle: %w", err)
		case err != nil:
			failures++
			s.Log.Warn("settle: a round failed", "error", err, "in_a_row", failures)
		default:
			failures = 0
		}
		wait := s.Pace.Idle
		if busy {
			wait = min(s.Pace.Poll<<min(failures, 5), s.Pace.Idle)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-s.Store.Changed(store.Unsettled):
		case <-s.Chain.Hints():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return nil
		}
	}
}

// round looks once at everything that can still change. It tells whether any of it is worth
// looking at again soon.
func (s *Settler) round(ctx context.Context) (bool, error) {
	var open []wallet.Transaction
	err := s.Store.View(ctx, func(tx store.Tx) error {
		var err error
		open, err = tx.UnsettledTransactions(most)
		return err
	})
	if err != nil {
		return false, err
	}
	s.forget(open)
	var moving []wallet.Transaction
	busy := false
	for _, t := range open {
		switch t.Status {
		case wallet.AwaitingConfirmation, wallet.AwaitingSignature:
			busy = true // its deadline needs a look
			if !s.Now().Before(t.Deadline) {
				if err := s.timeOut(ctx, t.ID); err != nil {
					return true, err
				}
			}
		default:
			busy = true
			moving = append(moving, t)
		}
	}
	return busy, s.carry(ctx, moving)
}

func (s *Settler) forget(open []wallet.Transaction) {
	now := s.Now()
	current := make(map[wallet.TransactionID]*watch, len(open))
	for _, t := range open {
		w := s.watched[t.ID]
		if w == nil {
			w = &watch{knownAt: now}
		}
		current[t.ID] = w
	}
	s.watched = current
}

// timeOut ends a transaction whose Confirm or signature did not come in time.
func (s *Settler) timeOut(ctx context.Context, id wallet.TransactionID) error {
	return s.step(ctx, id, func(t wallet.Transaction) *wallet.Change {
		now := s.Now().UTC()
		if now.Before(t.Deadline) || t.Status != wallet.AwaitingConfirmation && t.Status != wallet.AwaitingSignature {
			return nil
		}
		reason := "Nobody confirmed it in time."
		if t.Status == wallet.AwaitingSignature {
			reason = "It was not signed in time."
		}
		return &wallet.Change{By: wallet.TimeRanOut, At: now, Failure: wallet.ConfirmationExpired, Reason: reason}
	})
}

// carry asks the chain about all that have bytes or blockhashes out there, and moves each one step.
func (s *Settler) carry(ctx context.Context, moving []wallet.Transaction) error {
	if len(moving) == 0 {
		return nil
	}
	// The bytes go out before anything is asked: a new transaction must not wait for a poll.
	failed := s.each(ctx, moving, s.broadcast)
	landings, err := s.statuses(ctx, moving)
	failed = errors.Join(failed, err)
	return errors.Join(failed, s.each(ctx, moving, func(ctx context.Context, t wallet.Transaction) error {
		return s.judge(ctx, t, landings[t.Signature])
	}))
}

func (s *Settler) each(ctx context.Context, all []wallet.Transaction, do func(context.Context, wallet.Transaction) error) error {
	// No transaction's trouble may keep the others waiting, so errors are gathered, not returned
	// by the first.
	errs := make([]error, len(all))
	group := errgroup.Group{}
	group.SetLimit(parallel)
	for i, t := range all {
		group.Go(func() error {
			errs[i] = do(ctx, t)
			return nil
		})
	}
	_ = group.Wait() // the workers return nil; their errors are in errs
	return errors.Join(errs...)
}

func (s *Settler) statuses(ctx context.Context, moving []wallet.Transaction) (map[wallet.Signature]*wallet.Landing, error) {
	var signatures []wallet.Signature
	for _, t := range moving {
		if !t.Signature.IsZero() {
			signatures = append(signatures, t.Signature)
		}
	}
	known := make(map[wallet.Signature]*wallet.Landing, len(signatures))
	for part := range slices.Chunk(signatures, batch) {
		landings, err := s.Chain.Statuses(ctx, part)
		if err != nil {
			return known, err
		}
		if len(landings) != len(part) {
			return known, fmt.Errorf("asked for %d statuses, got %d", len(part), len(landings))
		}
		for i, landing := range landings {
			if landing != nil {
				known[part[i]] = landing
			}
		}
	}
	return known, nil
}

// broadcast sends the stored bytes, again and again while they could land: nodes drop
// transactions silently, and the same bytes can land only once.
func (s *Settler) broadcast(ctx context.Context, t wallet.Transaction) error {
	w, now := s.watched[t.ID], s.Now()
	if t.Status != wallet.Signed && t.Status != wallet.Pending || now.Before(w.broadcastAt) {
		return nil
	}
	if !w.hinted {
		w.hinted = true
		s.Chain.Watch(t.Signature)
	}
	w.broadcastAt = now.Add(s.Pace.Rebroad)
	err := s.Chain.Broadcast(ctx, t.Signed)
	var refused *wallet.NotAccepted
	switch {
	case err == nil:
		return s.step(ctx, t.ID, func(t wallet.Transaction) *wallet.Change {
			if t.Status != wallet.Signed {
				return nil
			}
			return &wallet.Change{By: wallet.NetworkAccepted, At: s.Now().UTC()}
		})
	case errors.As(err, &refused):
		return s.remember(ctx, t, refused)
	}
	return fmt.Errorf("broadcast %s: %w", t.ID, err)
}

// remember keeps why a node would not take a transaction: if it never lands, that is the reason.
func (s *Settler) remember(ctx context.Context, seen wallet.Transaction, refused *wallet.NotAccepted) error {
	same := seen.ErrorCode == refused.Failure && seen.ErrorText == refused.Reason
	// Sooner or later every blockhash is unknown: that explains nothing that was refused before.
	if same || seen.ErrorCode != "" && refused.Failure == wallet.BlockhashExpired {
		return nil
	}
	return s.Store.Update(ctx, func(tx store.Tx) error {
		t, err := tx.Transaction(seen.ID)
		if err != nil || t.Status != wallet.Signed && t.Status != wallet.Pending {
			return err
		}
		t.ErrorCode, t.ErrorText = refused.Failure, refused.Reason
		return tx.PutTransaction(t)
	})
}

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
		return s.landed(ctx, t, *landing)
	}
	w.landedAt = time.Time{}
	if now.Before(w.searchAt) || !s.worthSearching(t, w, now) {
		return nil
	}
	w.searchAt = now.Add(s.Pace.Search)
	return s.search(ctx, t)
}

func (s *Settler) worthSearching(t wallet.Transaction, w *watch, now time.Time) bool {
	if t.Signature.IsZero() { // rejected or expired with blockhashes out: only its reference can tell
		return true
	}
	return now.Sub(w.knownAt) >= s.Pace.QuietTime || s.outOfTime(t, now)
}

// outOfTime is the part of the never-to-land rule that our own clock decides.
func (s *Settler) outOfTime(t wallet.Transaction, now time.Time) bool {
	last, ok := t.LastIssue()
	return ok && now.Sub(last.At) >= wallet.NeverLandsAfter
}

// search looks through history for a transaction that the cheap poll does not know, and applies
// the never-to-land rule (DESIGN §3.2): its conditions are checked in this order, because only a
// look that began after the last block it could be in proves that it is in none.
func (s *Settler) search(ctx context.Context, t wallet.Transaction) error {
	if !s.outOfTime(t, s.Now()) {
		landing, err := s.Chain.Find(ctx, t.Sought())
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
	landing, certain, err := s.Chain.FindEverywhere(ctx, t.Sought())
	switch {
	case landing != nil:
		return s.landed(ctx, t, *landing)
	case err != nil || !certain:
		return errors.Join(err, s.hold(ctx, t.ID))
	case !past: // not found, but some block could still hold it: by our clock it is late
		return s.hold(ctx, t.ID)
	}
	sees, err := s.Chain.CanSeeBackTo(ctx, t.Issues[0].Blockhash.Slot)
	if err != nil || !sees {
		return errors.Join(err, s.hold(ctx, t.ID))
	}
	return s.gone(ctx, t.ID)
}

// gone records that a transaction is in no block and can get into none. One that was confirmed
// before was rolled back first.
func (s *Settler) gone(ctx context.Context, id wallet.TransactionID) error {
	return s.step(ctx, id, func(t wallet.Transaction) *wallet.Change {
		now := s.Now().UTC()
		if t.Status == wallet.Confirmed {
			return &wallet.Change{By: wallet.RolledBack, At: now}
		}
		change := wallet.Change{By: wallet.CanNeverLand, At: now}
		if t.Status == wallet.Signed || t.Status == wallet.Pending {
			change.Failure, change.Reason = t.ErrorCode, t.ErrorText
			if change.Failure == "" {
				change.Failure, change.Reason = wallet.BlockhashExpired, "The network did not take it in time. It can never land now."
			}
		}
		return &change
	})
}

// hold says that nobody can tell: the owner sees it, once.
func (s *Settler) hold(ctx context.Context, id wallet.TransactionID) error {
	return s.step(ctx, id, func(t wallet.Transaction) *wallet.Change {
		if t.Held || t.Status != wallet.Signed && t.Status != wallet.Pending {
			return nil
		}
		return &wallet.Change{By: wallet.BecameUncertain, At: s.Now().UTC()}
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
	err := s.Store.Update(ctx, func(tx store.Tx) error {
		t, err := tx.Transaction(seen.ID)
		if err != nil || t.Final {
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

func (s *Settler) steps(t wallet.Transaction, landing wallet.Landing) []wallet.Change {
	now := s.Now().UTC()
	change := wallet.Change{At: now, Landing: &landing}
	if landing.Failure != "" {
		change.By, change.Failure, change.Reason = wallet.FailedOnChain, wallet.ChainError, landing.Failure
		switch t.Status {
		case wallet.Signed, wallet.Pending:
			return []wallet.Change{change}
		case wallet.Confirmed: // another fork had it succeed
			return []wallet.Change{{By: wallet.RolledBack, At: now}, change}
		}
		// Rejected or expired, and it failed on chain as well: it moved nothing.
		return []wallet.Change{{By: wallet.CanNeverLand, At: now}}
	}
	var steps []wallet.Change
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

// step reads a transaction anew and takes one step of its life, if decide still wants one.
func (s *Settler) step(ctx context.Context, id wallet.TransactionID, decide func(wallet.Transaction) *wallet.Change) error {
	err := s.Store.Update(ctx, func(tx store.Tx) error {
		t, err := tx.Transaction(id)
		if err != nil {
			return err
		}
		change := decide(t)
		if change == nil {
			return nil
		}
		_, err = s.apply(tx, t, *change)
		return err
	})
	if err != nil {
		return fmt.Errorf("settle %s: %w", id, err)
	}
	return nil
}

// apply writes one step and its announcements, and the recipient's receipt when value arrived.
func (s *Settler) apply(tx store.Tx, t wallet.Transaction, change wallet.Change) (wallet.Transaction, error) {
	next, err := store.Step(tx, t, change)
	if err != nil {
		return t, err
	}
	if change.By == wallet.Landed || change.By == wallet.FoundOnChain {
		return next, s.receipt(tx, next)
	}
	return next, nil
}

// receipt tells a recipient who is ours. Its id is the payment's own, so that it is told once,
// whoever sees it first.
func (s *Settler) receipt(tx store.Tx, t wallet.Transaction) error {
	to, err := tx.Wallet(t.To)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	owner, err := tx.User(to.Owner)
	if err != nil {
		return err
	}
	receipt, event, err := t.ReceiptOf(to, owner.TelegramID, s.Now().UTC())
	if err != nil {
		return err
	}
	switch err := tx.CreateTransaction(receipt); {
	case errors.Is(err, store.ErrConflict):
		return nil
	case err != nil:
		return err
	}
	return tx.Emit(event)
}
