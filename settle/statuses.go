package settle

import (
	"context"
	"fmt"
	"sync"
	"time"

	"purser/wallet"
)

// atOnce is how many signatures are asked for in one call: what getSignatureStatuses takes.
const atOnce = 256

// statuses asks for many transactions together what each asks for alone. Who asks first waits a moment for others and
// then asks for all of them.
type statuses struct {
	mu   sync.Mutex
	open *question // that still takes signatures
}

// question is one call. landings and err are set when answered is closed.
type question struct {
	signatures []wallet.Signature
	full       chan struct{} // closed when it takes no more
	answered   chan struct{}
	landings   []*wallet.Landing
	err        error
	gone       bool // who asked went away before it was answered
}

// status is where one signature has landed by the node's recent memory, nil where it does not know.
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
		case q.gone && ctx.Err() == nil: // somebody who still waits asks
			continue
		case q.err != nil:
			return nil, q.err
		}
		return q.landings[place], nil
	}
}

// join puts a signature into the question that is open; first says that the caller is to ask it.
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

// ask waits for others to join, asks, and answers all of them.
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
