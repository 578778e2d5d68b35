package webhooks

import (
	"context"
	"net/http"
	"sync"
	"time"

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

// attach has sessions serve the listeners, those of now and those to come, until end.
func (l *listeners) attach(ctx context.Context, x *sender) (end func()) {
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

// any reports whether somebody listens.
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
	return s.Transport.Post(ctx, m)
}
