package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"purser/store"
	"purser/wallet"
)

// taker hands to a connection what a receiver would be sent. Its error means that the connection is over.
type taker = func(ctx context.Context, header http.Header, body []byte) error

// listeners are the connections that take events just now.
type listeners struct {
	mu     sync.Mutex
	taking map[wallet.WebhookID]taker
}

// Listen has what goes to a listener's webhook taken, until stop. It comes before the webhook is stored, and
// stop before it is removed.
func (s *Service) Listen(id wallet.WebhookID, take func(ctx context.Context, header http.Header, body []byte) error) (stop func()) {
	s.listeners.mu.Lock()
	defer s.listeners.mu.Unlock()
	if s.listeners.taking == nil {
		s.listeners.taking = map[wallet.WebhookID]taker{}
	}
	s.listeners.taking[id] = take
	return func() {
		s.listeners.mu.Lock()
		defer s.listeners.mu.Unlock()
		delete(s.listeners.taking, id)
	}
}

func (l *listeners) has(id wallet.WebhookID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.taking[id] != nil
}

// take hands a message to a listener, which has as long for it as any receiver. Where nobody listens any more, the webhook is about to be removed.
func (l *listeners) take(ctx context.Context, id wallet.WebhookID, m Message, at time.Time) Result {
	l.mu.Lock()
	take := l.taking[id]
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, AttemptTimeout)
	defer cancel()
	if take == nil || take(ctx, m.Headers(at), m.Body) != nil {
		return Result{Interrupted: true}
	}
	return Result{Status: http.StatusOK}
}

// send makes one attempt.
func (s *Service) send(ctx context.Context, hook wallet.Webhook, m Message) Result {
	if hook.Listener {
		return s.listeners.take(ctx, hook.ID, m, s.Now())
	}
	return s.Post(ctx, m)
}

// hangUp removes the webhooks of listeners that an earlier life of this node had: their connections ended with it.
func (s *Service) hangUp(ctx context.Context) error {
	err := s.Store.Update(ctx, func(tx store.Tx) error {
		all, err := tx.AllWebhooks()
		if err != nil {
			return err
		}
		for _, hook := range all {
			if !hook.Listener || hook.Node != s.Node || s.listeners.has(hook.ID) {
				continue
			}
			if err := tx.DeleteWebhook(hook.ID); err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("remove the listeners of an earlier run: %w", err)
	}
	return nil
}
