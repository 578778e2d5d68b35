// Package settle carries a signed transaction to its end: broadcast, prove, expire, reconcile. It
// refuses to know who asked for it, how anybody is told (it leaves events), and how a node is
// spoken to.
//
// The one rule that all of it serves (docs/architecture.md, The rule against paying twice): a transaction is never
// called failed while it could still land, and no second one is ever made in its place here.
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

// Chain is what settling needs of Solana. A *wallet.PreflightError from Broadcast is a refusal; any
// other error of any method means that nobody knows.
type Chain interface {
	// Broadcast hands the bytes to a node; nil when it took them, now or before.
	Broadcast(ctx context.Context, signed []byte) error
	// Statuses is the cheap poll: recent transactions only, nil where unknown or not yet confirmed.
	Statuses(ctx context.Context, signatures []wallet.Signature) ([]*wallet.Landing, error)
	// Find looks through history, by signature and by reference; nil when it is not there.
	Find(ctx context.Context, sought wallet.TransactionQuery) (*wallet.Landing, error)
	// FindEverywhere is Find on every configured node; certain only when all answered alike.
	FindEverywhere(ctx context.Context, sought wallet.TransactionQuery) (landing *wallet.Landing, certain bool, err error)
	// FinalizedBlockHeight is the height of the newest block that cannot be rolled back.
	FinalizedBlockHeight(ctx context.Context) (uint64, error)
	// CanSeeBackTo tells whether the nodes' history reaches back to slot.
	CanSeeBackTo(ctx context.Context, slot uint64) (bool, error)
	// Payments lists finalized transfers of a token to an address that name a reference. judged are
	// mentions of it that were looked at: those that are true need no other look, and what is found to pay
	// nothing is added. With an error come the payments that were found nevertheless; wallet.ErrSomeUnread
	// tells that only single transactions could not be read.
	Payments(ctx context.Context, to, reference wallet.Address, token wallet.Token, judged map[wallet.Signature]bool) ([]wallet.Payment, error)
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
	Collect   time.Duration // between looks for what pays a request
	Details   time.Duration // how long a landing may wait for its block's height
}

// DefaultPace suits a public RPC node.
func DefaultPace() Pace {
	return Pace{Poll: 500 * time.Millisecond, Rebroad: 2 * time.Second, Search: 10 * time.Second,
		Idle: 10 * time.Second, QuietTime: 20 * time.Second, Collect: 5 * time.Second, Details: 3 * time.Second}
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
	askedAt     time.Time                 // the owner's newest request that was followed
	judged      map[wallet.Signature]bool // of a request: mentions that need no second look
	retryAt     time.Time                 // when it may be worked on again after trouble
	troubles    int                       // rounds in a row in which it had some
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
		busy, err := s.Round(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, store.ErrUnknownOutcome):
			return fmt.Errorf("settle: %w", err)
		case err != nil: // nobody could be asked; the trouble of single transactions is their own
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

// Round is what Run repeats: it looks once at everything that can still change. It tells whether any
// of it is worth looking at again soon. Its error is one that concerns all; the trouble of a single
// transaction is logged, and has that one alone wait. One goroutine at a time calls Run or Round.
func (s *Settler) Round(ctx context.Context) (bool, error) {
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
	var late, moving, requested []wallet.Transaction
	for _, t := range open {
		switch {
		case s.Now().Before(s.watched[t.ID].retryAt):
		case t.Status == wallet.Requested:
			requested = append(requested, t)
		case t.Status == wallet.AwaitingConfirmation || t.Status == wallet.AwaitingSignature:
			if t.TimedOutAt(s.Now()) {
				late = append(late, t)
			}
		default:
			moving = append(moving, t)
		}
	}
	return len(open) > 0, errors.Join(s.each(ctx, 1, late, s.timeOut), s.carry(ctx, moving), s.each(ctx, parallel, requested, s.collect))
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
func (s *Settler) timeOut(ctx context.Context, late wallet.Transaction) error {
	return s.step(ctx, late.ID, func(t wallet.Transaction) *wallet.TransitionInput {
		now := s.Now().UTC()
		if !t.TimedOutAt(now) {
			return nil
		}
		reason := wallet.Because("failed_because.not_confirmed")
		if t.Status == wallet.Requested {
			return &wallet.TransitionInput{By: wallet.TimeRanOut, At: now}
		}
		if t.Status == wallet.AwaitingSignature {
			reason = wallet.Because("failed_because.not_signed")
		}
		return &wallet.TransitionInput{By: wallet.TimeRanOut, At: now, Failure: wallet.ConfirmationExpired, Reason: reason}
	})
}

// carry asks the chain about all that have bytes or blockhashes out there, and moves each one step.
func (s *Settler) carry(ctx context.Context, moving []wallet.Transaction) error {
	if len(moving) == 0 {
		return nil
	}
	// The bytes go out before anything is asked: a new transaction must not wait for a poll.
	failed := s.each(ctx, parallel, moving, s.broadcast)
	landings, err := s.statuses(ctx, moving)
	failed = errors.Join(failed, err)
	return errors.Join(failed, s.each(ctx, parallel, moving, func(ctx context.Context, t wallet.Transaction) error {
		return s.judge(ctx, t, landings[t.Signature])
	}))
}

// each works on all, atOnce of them together. What goes wrong with one is logged and has it wait for longer and
// longer; only an unknown outcome of the store concerns all.
func (s *Settler) each(ctx context.Context, atOnce int, all []wallet.Transaction, do func(context.Context, wallet.Transaction) error) error {
	errs := make([]error, len(all))
	group := errgroup.Group{}
	group.SetLimit(atOnce)
	for i, t := range all {
		group.Go(func() error {
			errs[i] = do(ctx, t)
			return nil
		})
	}
	_ = group.Wait() // the workers return nil; their errors are in errs
	var unknown error
	for i, t := range all {
		s.troubled(ctx, t.ID, errs[i])
		if errors.Is(errs[i], store.ErrUnknownOutcome) {
			unknown = errs[i]
		}
	}
	return unknown
}

// troubled notes how work on one transaction went. Trouble puts its next turn off.
func (s *Settler) troubled(ctx context.Context, id wallet.TransactionID, err error) {
	w := s.watched[id]
	switch {
	case err == nil && !s.Now().Before(w.retryAt):
		w.troubles = 0
	case err != nil && ctx.Err() == nil:
		w.retryAt = s.Now().Add(min(s.Pace.Poll<<min(w.troubles, 5), s.Pace.Idle))
		w.troubles++
		s.Log.Warn("settle: a transaction's turn failed", "transaction", id, "error", err, "in_a_row", w.troubles)
	}
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
