package settle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"purser/store"
	"purser/wallet"
	"purser/work"
)

// Handle is the handler of both queues: it looks at the transaction that the job names. While the next poll is near, it
// keeps the job and looks again, so that polling writes nothing to the store. It returns once there is something to
// commit, the next look is further away, Pace.Hold is over, or all places for held jobs are taken.
//
// An error with one transaction is logged and delays that transaction alone. Handle never returns an error, so that no
// transaction becomes a dead letter.
func (s *Settler) Handle(ctx context.Context, job store.Job) (work.Result, error) {
	id := wallet.TransactionID(job.ID)
	w := s.memory.of(id, s.Now())
	w.Lock()
	defer w.Unlock()
	until := s.Now().Add(s.Pace.Hold)
	held := false
	defer func() {
		if held {
			s.holding.leave()
		}
	}()
	for {
		t, open, err := s.read(ctx, id, w)
		if err != nil { // a damaged row is not changed: it is read again at growing intervals
			return work.Result{Again: s.later(ctx, id, w, err, unreadable)}, nil
		}
		if !open {
			s.memory.forget(id, t.Signature)
			return work.Result{}, nil
		}
		// Query the chain. Changes that were found before an error are still true and are committed.
		changes, next, err := s.look(ctx, t, w)
		if err != nil {
			next = s.later(ctx, id, w, err, s.Pace.Idle)
		} else {
			w.troubles = 0
		}
		if len(changes) > 0 {
			return work.Result{Commit: s.write(id, changes)}, nil
		}
		if next.IsZero() { // without a time the pool would end the job, and nobody would look again
			next = s.nextPoll()
		}
		// Keep the job only if the next look is due within one poll interval and before the hold ends.
		wait := next.Sub(s.Now())
		if ctx.Err() != nil || wait <= 0 || wait > s.Pace.Poll || next.After(until) {
			return work.Result{Again: next}, nil
		}
		if held = held || s.holding.enter(mayHold); !held || !s.wait(ctx, w, next) {
			return work.Result{Again: next}, nil
		}
	}
}

// unreadable is the longest wait between two attempts to read a damaged row.
const unreadable = 10 * time.Minute

// later logs an error of one transaction and returns when to look again. The wait doubles with each failure in a row, up
// to most. An error caused by the end of ctx is neither logged nor counted.
func (s *Settler) later(ctx context.Context, id wallet.TransactionID, w *watch, err error, most time.Duration) time.Time {
	wait := min(s.Pace.Poll<<min(w.troubles, 16), most)
	if ctx.Err() == nil {
		w.troubles++
		s.Log.Warn("settle: a look at a transaction failed", "transaction", id, "error", err, "in_a_row", w.troubles)
	}
	return s.Now().Add(wait)
}

// read returns a transaction as it is stored now. open is false when it is closed, or was erased with its owner.
//
// For a payment request it also checks which payments found by the last look have a stored receipt. Only those are marked
// as judged: if the commit was lost, the next look finds the payment again.
func (s *Settler) read(ctx context.Context, id wallet.TransactionID, w *watch) (t wallet.Transaction, open bool, err error) {
	var stored []wallet.Signature
	err = s.Store.View(ctx, func(tx store.Tx) error {
		stored = nil
		if t, err = tx.Transaction(id); err != nil {
			return err
		}
		for _, signature := range w.found {
			switch _, err := tx.Transaction(wallet.ReceivedID(signature, t.To, t.Token.Mint)); {
			case err == nil:
				stored = append(stored, signature)
			case !errors.Is(err, store.ErrNotFound):
				return err
			}
		}
		return nil
	})
	if errors.Is(err, store.ErrNotFound) {
		return t, false, nil
	}
	if err != nil {
		return t, false, fmt.Errorf("settle %s: %w", id, err)
	}
	// The closure may run twice, so the cache changes only after the View has succeeded.
	for _, signature := range stored {
		w.judged[signature] = true
	}
	w.found = nil
	return t, !t.Closed, nil
}

// wait blocks until the given time or until a hint arrives. It returns false when ctx ends first.
func (s *Settler) wait(ctx context.Context, w *watch, until time.Time) bool {
	timer := time.NewTimer(until.Sub(s.Now()))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	case <-w.news:
	}
	return true
}

// look makes the queries that are due for a transaction and returns the changes to commit. next is when to look again if
// there are none. When it also returns an error, the changes found until then are still valid.
func (s *Settler) look(ctx context.Context, t wallet.Transaction, w *watch) (changes []change, next time.Time, err error) {
	add := func(found change, trouble error) {
		if found != nil {
			changes = append(changes, found)
		}
		err = errors.Join(err, trouble)
	}
	rules, err := s.Store.Kinds().Of(t.Kind)
	if err != nil {
		return nil, time.Time{}, err
	}
	switch {
	// A payment request waits for somebody else's transaction.
	case rules.Awaits(t):
		add(s.collect(ctx, t, w))
		return changes, s.collectAgain(t, s.Now()), err
	// Nothing was signed: only the deadline can end it.
	case t.Status == wallet.AwaitingConfirmation || t.Status == wallet.AwaitingSignature:
		if t.TimedOutAt(s.Now()) {
			add(s.timeOut(), nil)
		}
		return changes, t.Deadline, err
	case t.Status == wallet.Delayed:
		if s.Now().Before(t.DelayEndsAt) {
			return nil, t.DelayEndsAt, nil
		}
		add(s.release(ctx, t))
		return changes, s.nextPoll(), err
	}
	// Broadcast before polling: a new transaction must not wait for a status request.
	add(s.broadcast(ctx, t, w))
	add(s.judge(ctx, t, w))
	if t.Signature.IsZero() { // never signed here, so only a search by reference can find it
		return changes, w.searchAt, err
	}
	return changes, s.nextPoll(), err
}

// nextPoll returns the next multiple of Pace.Poll. All transactions are polled at the same instants, so that one RPC call
// can serve many of them.
func (s *Settler) nextPoll() time.Time { return s.Now().Truncate(s.Pace.Poll).Add(s.Pace.Poll) }

// release ends the delay of a transaction. A store that was restored from a backup may not know that it was released and paid
// before: then it is found on chain, and must not be signed again.
func (s *Settler) release(ctx context.Context, t wallet.Transaction) (change, error) {
	query, err := s.Store.Kinds().Query(t)
	if err != nil {
		return nil, err
	}
	switch landing, err := s.Chain.Find(ctx, query); {
	case err != nil:
		return nil, err
	case landing != nil:
		return s.landed(ctx, t, *landing)
	}
	decide, err := s.Release(ctx, t)
	if err != nil {
		return nil, err
	}
	return func(tx store.Tx, t wallet.Transaction) (wallet.Transaction, error) {
		t, input, err := decide(tx, t)
		if err != nil || input.By == "" { // the row changed since the look
			return t, err
		}
		return s.apply(tx, t, input)
	}, nil
}

// timeOut expires a transaction that was not confirmed or signed before its deadline. It checks the row again at commit:
// the owner may have acted since the look.
func (s *Settler) timeOut() change {
	return s.step(func(t wallet.Transaction) *wallet.TransitionInput {
		now := s.Now().UTC()
		if !t.TimedOutAt(now) {
			return nil
		}
		reason := wallet.Because("failed_because.not_confirmed")
		if t.Status == wallet.AwaitingSignature {
			reason = wallet.Because("failed_because.not_signed")
		}
		return &wallet.TransitionInput{By: wallet.TimeRanOut, At: now, Failure: wallet.ConfirmationExpired, Reason: reason}
	})
}
