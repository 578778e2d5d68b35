package chain

import (
	"context"
	"sync"
	"time"
)

// sharedFor is how old an answer may be that sends made at about the same time have in common: the newest blockhash,
// a fee, a price for compute units. Two seconds are five slots of the 150 in which a blockhash can land.
const sharedFor = 2 * time.Second

// shared remembers answers for a short while, and asks once for all who want the same at the same time. Failures are
// not remembered. It holds at most cacheSize answers, and forgets all of them when full.
type shared[K comparable, V any] struct {
	mu      sync.Mutex
	answers map[K]*answerOf[V]
}

// answerOf is an answer, or the question under way. The fields are set when done is closed.
type answerOf[V any] struct {
	done  chan struct{}
	at    time.Time // when it was asked for: it is at least as new
	value V
	err   error
	gone  bool // who asked went away before it was answered
}

// get is the answer to key that is at most lives old at now, asked for where there is none. lives 0 asks each time.
// It returns when ctx ends, whoever asks.
func (s *shared[K, V]) get(ctx context.Context, key K, now func() time.Time, lives time.Duration, ask func(context.Context) (V, error)) (V, error) {
	if lives <= 0 {
		return ask(ctx)
	}
	for {
		answer, mine := s.join(key, now(), lives)
		if mine {
			answer.value, answer.err = ask(ctx)
			answer.gone = answer.err != nil && ctx.Err() != nil
			if answer.err != nil {
				s.forget(key, answer)
			}
			close(answer.done)
			return answer.value, answer.err
		}
		select {
		case <-answer.done:
		case <-ctx.Done():
			var none V
			return none, unreachable(ctx.Err())
		}
		if !answer.gone { // else somebody who still waits asks
			return answer.value, answer.err
		}
	}
}

// join finds an answer that is new enough, or the question under way; else the question is the caller's (mine).
func (s *shared[K, V]) join(key K, now time.Time, lives time.Duration) (answer *answerOf[V], mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.answers[key]; known != nil {
		if age := now.Sub(known.at); age >= 0 && age < lives {
			return known, false
		}
	}
	if s.answers == nil || len(s.answers) >= cacheSize {
		s.answers = make(map[K]*answerOf[V])
	}
	answer = &answerOf[V]{done: make(chan struct{}), at: now}
	s.answers[key] = answer
	return answer, true
}

// forget removes a failed answer, unless another has taken its place.
func (s *shared[K, V]) forget(key K, answer *answerOf[V]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answers[key] == answer {
		delete(s.answers, key)
	}
}
