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

// Handle looks at the transaction of a job. The trouble of a single transaction is logged, and has that one alone wait.
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
		if err != nil { // a damaged row stays what it is: it is tried again more and more seldom
			return work.Result{Again: s.later(ctx, id, w, err, unreadable)}, nil
		}
		if !open {
			s.memory.forget(id, t.Signature)
			return work.Result{}, nil
		}
		changes, next, err := s.look(ctx, t, w)
		if err != nil {
			next = s.later(ctx, id, w, err, s.Pace.Idle)
		} else {
			w.troubles = 0
		}
		if len(changes) > 0 {
			return work.Result{Commit: s.write(id, changes)}, nil
		}
		if next.IsZero() { // a job without a next look would end
			next = s.nextPoll()
		}
		wait := next.Sub(s.Now())
		if ctx.Err() != nil || wait <= 0 || wait > s.Pace.Poll || next.After(until) {
			return work.Result{Again: next}, nil
		}
		if held = held || s.holding.enter(mayHold); !held || !s.wait(ctx, w, next) {
			return work.Result{Again: next}, nil
		}
	}
}

// unreadable is the longest wait for a row that cannot be read.
const unreadable = 10 * time.Minute

// later logs trouble with one transaction, and tells when to look again: after twice as long as the last time, and after
// most at the latest. What was cut short by the end of ctx is no trouble.
func (s *Settler) later(ctx context.Context, id wallet.TransactionID, w *watch, err error, most time.Duration) time.Time {
	wait := min(s.Pace.Poll<<min(w.troubles, 16), most)
	if ctx.Err() == nil {
		w.troubles++
		s.Log.Warn("settle: a look at a transaction failed", "transaction", id, "error", err, "in_a_row", w.troubles)
	}
	return s.Now().Add(wait)
}

// read reads a transaction as it is now. open is false when nothing can change it any more, or it is gone with its
// owner. Of a request it also notes which of the payments that were found are stored.
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
	for _, signature := range stored {
		w.judged[signature] = true
	}
	w.found = nil
	return t, !t.Closed, nil
}

// wait waits until a time, or for a hint that the transaction has landed; false when ctx ends first.
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

// look asks what there is to ask about a transaction now, and tells what to write. With nothing to write, next is when
// to look again. With an error, what was found all the same is true.
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
	case rules.Awaits(t):
		add(s.collect(ctx, t, w))
		return changes, s.collectAgain(t, s.Now()), err
	case t.Status == wallet.AwaitingConfirmation || t.Status == wallet.AwaitingSignature:
		if t.TimedOutAt(s.Now()) {
			add(s.timeOut(), nil)
		}
		return changes, t.Deadline, err
	}
	// The bytes go out before anything is asked: a new transaction must not wait for a poll.
	add(s.broadcast(ctx, t, w))
	add(s.judge(ctx, t, w))
	if t.Signature.IsZero() { // only history can tell
		return changes, w.searchAt, err
	}
	return changes, s.nextPoll(), err
}

// nextPoll is when what is with the network is looked at again: all of it at the same times, so that one question
// serves many.
func (s *Settler) nextPoll() time.Time { return s.Now().Truncate(s.Pace.Poll).Add(s.Pace.Poll) }

// timeOut ends a transaction whose Confirm or signature did not come in time.
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
