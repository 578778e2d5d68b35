package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"purser/store"
	"purser/wallet"
)

// taker hands to a connection what a receiver would be sent. Its error means that the connection is over.
type taker = func(ctx context.Context, header http.Header, body []byte) error

// listeners are the connections of this node that take events just now.
type listeners struct {
	mu     sync.Mutex
	taking map[wallet.WebhookID]*listener
	serve  func(wallet.WebhookID) (stop func()) // nil while the service does not run
}

// listener is one of them.
type listener struct {
	take taker
	stop func() // ends its session; nil without one
}

// Listen has what goes to a listener's webhook taken, until stop. It comes before the webhook is stored, and
// stop before it is removed.
func (s *Service) Listen(id wallet.WebhookID, take func(ctx context.Context, header http.Header, body []byte) error) (stop func()) {
	l := &s.listeners
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.taking == nil {
		l.taking = map[wallet.WebhookID]*listener{}
	}
	of := &listener{take: take}
	l.taking[id] = of
	if l.serve != nil {
		of.stop = l.serve(id)
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.taking, id)
		if of.stop != nil {
			of.stop()
		}
	}
}

// begin has sessions serve the listeners, those of now and those to come, until end.
func (l *listeners) begin(ctx context.Context, x *sender) (end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.serve = func(id wallet.WebhookID) func() {
		ctx, stop := context.WithCancel(ctx)
		x.busy.Go(func() { x.listen(ctx, id) })
		return stop
	}
	for id, of := range l.taking {
		of.stop = l.serve(id)
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.serve = nil
	}
}

func (l *listeners) has(id wallet.WebhookID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.taking[id] != nil
}

// any tells whether somebody listens.
func (l *listeners) any() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.taking) > 0
}

// take hands a message to a listener, which has as long for it as any receiver. Where nobody listens any more, the webhook is about to be removed.
func (l *listeners) take(ctx context.Context, id wallet.WebhookID, m Message, at time.Time) Result {
	l.mu.Lock()
	of := l.taking[id]
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, AttemptTimeout)
	defer cancel()
	if of == nil || of.take(ctx, m.Headers(at), m.Body) != nil {
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

const (
	// nodeLease is after how long without a word a node is taken for dead, and aliveEvery how often it gives one.
	nodeLease, aliveEvery = 30 * time.Second, 10 * time.Second
	// lookEvery is after how many words a node looks for the listeners of dead ones.
	lookEvery = 6
	// nodeName begins the name that a node leads for as long as it lives (store.Jobs.Lead).
	nodeName = "webhooks of "
)

// begin removes the webhooks of listeners that an earlier life of this node had: their connections ended with it.
func (s *Service) begin(ctx context.Context) error {
	err := s.removeListeners(ctx, func(_ store.Tx, hook wallet.Webhook) (bool, error) {
		return hook.Node == s.Node && !s.listeners.has(hook.ID), nil
	})
	if err != nil {
		return fmt.Errorf("remove the listeners of an earlier run: %w", err)
	}
	return nil
}

// keepAlive says again and again that this node lives, while it has listeners, and removes the listeners of nodes that
// do not live any more.
func (s *Service) keepAlive(ctx context.Context) error {
	for turn := 1; ; turn++ {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(aliveEvery):
		}
		var err error
		if s.listeners.any() {
			err = s.sayAlive(ctx)
		}
		if err == nil && turn%lookEvery == 0 {
			err = s.removeListeners(ctx, func(tx store.Tx, hook wallet.Webhook) (bool, error) {
				if hook.Node == s.Node || s.Now().Sub(hook.CreatedAt) < nodeLease { // a new one's node may not have said anything yet
					return false, nil
				}
				return s.isDead(tx, hook.Node)
			})
		}
		if errors.Is(err, store.ErrUnknownOutcome) || errors.Is(err, store.ErrClosed) {
			return fmt.Errorf("say that this node lives: %w", err)
		}
		if err != nil && ctx.Err() == nil {
			s.Logger.Warn("the listeners of other nodes could not be looked after", "error", err)
		}
	}
}

func (s *Service) sayAlive(ctx context.Context) error {
	return s.Store.Update(ctx, func(tx store.Tx) error {
		_, err := tx.Lead(nodeName+s.Node, s.Node, s.Now(), nodeLease)
		return err
	})
}

// isDead tells whether a node has not said for nodeLease that it lives: then anybody may lead its name.
func (s *Service) isDead(tx store.Tx, node string) (bool, error) {
	dead, err := tx.Lead(nodeName+node, s.Node, s.Now(), nodeLease)
	if err != nil || !dead {
		return false, err
	}
	_, err = tx.Lead(nodeName+node, s.Node, s.Now(), 0) // it may come back
	return true, err
}

// removeListeners removes the webhooks of listeners that are over.
func (s *Service) removeListeners(ctx context.Context, over func(store.Tx, wallet.Webhook) (bool, error)) error {
	var listeners []wallet.Webhook
	err := s.Store.View(ctx, func(tx store.Tx) error {
		all, err := tx.AllWebhooks()
		listeners = slices.DeleteFunc(all, func(hook wallet.Webhook) bool { return !hook.Listener })
		return err
	})
	if err != nil || len(listeners) == 0 {
		return err
	}
	return s.Store.Update(ctx, func(tx store.Tx) error {
		for _, hook := range listeners {
			is, err := over(tx, hook)
			if err == nil && is {
				err = tx.DeleteWebhook(hook.ID)
			}
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
		}
		return nil
	})
}
