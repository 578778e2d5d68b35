package settle

import (
	"context"
	"fmt"
	"sync"
	"time"

	"purser/wallet"
)

// atOnce is the most signatures that one getSignatureStatuses call accepts.
const atOnce = 256

// statuses batches status requests of many goroutines into few RPC calls. The first caller opens a question, waits
// Pace.Gather for others to join, and makes the call for all of them. mu guards open and the signatures of that question.
type statuses struct {
	mu   sync.Mutex
	open *question // the question that still accepts signatures; nil for none
}

// question is one RPC call. landings, err and gone are written before answered is closed, and may be read only after.
type question struct {
	signatures []wallet.Signature
	full       chan struct{}     // closed when it holds atOnce signatures and accepts no more
	answered   chan struct{}     // closed when the call has ended
	landings   []*wallet.Landing // in the order of signatures
	err        error
	gone       bool // the ctx of the caller who makes the call ended, so its error concerns nobody else
}

// status returns where a signature landed according to the node's recent memory, nil when the node does not know it. It
// blocks until the shared call is answered or ctx ends.
func (s *Settler) status(ctx context.Context, signature wallet.Signature) (*wallet.Landing, error) {
	for {
		q, place, first := s.statuses.join(signature)
		if first {
			s.ask(ctx, q)
		}
		select {
		case <-q.answered:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		switch {
		case q.gone && ctx.Err() == nil: // the caller who made the call was cancelled: join another question
			continue
		case q.err != nil:
			return nil, q.err
		}
		return q.landings[place], nil
	}
}

// join adds a signature to the open question and returns its index there. first means that the caller must now run ask.
func (s *statuses) join(signature wallet.Signature) (q *question, place int, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q = s.open
	if first = q == nil; first {
		q = &question{full: make(chan struct{}), answered: make(chan struct{})}
		s.open = q
	}
	q.signatures = append(q.signatures, signature)
	if len(q.signatures) == atOnce {
		s.open = nil
		close(q.full)
	}
	return q, len(q.signatures) - 1, first
}

// ask waits until Pace.Gather is over or the question is full, makes the call, and wakes everybody who joined.
func (s *Settler) ask(ctx context.Context, q *question) {
	defer close(q.answered)
	if s.Pace.Gather > 0 {
		timer := time.NewTimer(s.Pace.Gather)
		select {
		case <-timer.C:
		case <-q.full:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	// Close the question before reading its signatures without the lock: nobody can join from here on.
	s.statuses.mu.Lock()
	if s.statuses.open == q {
		s.statuses.open = nil
	}
	s.statuses.mu.Unlock()
	q.landings, q.err = s.Chain.Statuses(ctx, q.signatures)
	if q.err == nil && len(q.landings) != len(q.signatures) {
		q.err = fmt.Errorf("asked for %d statuses, got %d", len(q.signatures), len(q.landings))
	}
	q.gone = q.err != nil && ctx.Err() != nil
}
