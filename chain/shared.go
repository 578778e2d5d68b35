package chain

import (
	"context"
	"sync"
	"time"
)

// sharedFor is the age up to which operations at about the same time share an answer: the newest blockhash, a fee, a
// price. Two seconds are five slots of the 150 for which a blockhash is valid.
const sharedFor = 2 * time.Second

// shared remembers answers for a short time, and asks once for all callers that want the same one at the same time.
// Failures are not remembered. It holds at most cacheSize answers, and forgets all of them when it is full.
type shared[K comparable, V any] struct {
	mu      sync.Mutex
	answers map[K]*answerOf[V]
}

// answerOf is an answer, or the question in progress. value, err and gone are set before done is closed, and read after
// it.
type answerOf[V any] struct {
	done  chan struct{}
	at    time.Time // when it was asked: the answer is at least as new
	value V
	err   error
	gone  bool // the caller that asked gave up before the answer came
}

// get returns the answer to key if it is at most `lives` old at now, and asks otherwise. With lives 0 it asks each
// time. It returns when its own ctx ends, even if another caller asks.
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
		if !answer.gone { // else the next round asks
			return answer.value, answer.err
		}
	}
}

// join returns an answer that is new enough, or the question in progress. If there is neither, the caller has to ask
// (mine).
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

// forget removes a failed answer, unless another one has replaced it.
func (s *shared[K, V]) forget(key K, answer *answerOf[V]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answers[key] == answer {
		delete(s.answers, key)
	}
}
