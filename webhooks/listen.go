package webhooks

import (
	"context"
	"net/http"
	"sync"
	"time"

	"purser/wallet"
)

// taker writes a delivery to the open connection of a listener: the headers and the body that a receiver would get. An error
// means that the connection is over.
type taker = func(ctx context.Context, header http.Header, body []byte) error

// listeners are the open connections on this node that take events instead of a URL (GET /v1/webhooks/listen).
type listeners struct {
	mu     sync.Mutex // guards what follows, and the fields of each listener
	taking map[wallet.WebhookID]*listener
	serve  func(wallet.WebhookID) (stop func()) // nil while the service does not run
}

// listener is one open connection.
type listener struct {
	take taker
	stop func() // ends its session; nil without one
}

// Listen passes the deliveries of a listener's webhook to take, until stop is called. The caller stores the webhook
// after Listen and removes it after stop. So the webhook never exists without its connection, except after a crash,
// when removeOwnListeners or another node removes it. take is called by one goroutine at a time.
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

// attach starts a session for each listener, those of now and those to come, until end is called. Sessions that run then go on
// until ctx ends or their listener stops.
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

// has reports whether this node has the connection of a listener.
func (l *listeners) has(id wallet.WebhookID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.taking[id] != nil
}

// any reports whether this node has any listener.
func (l *listeners) any() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.taking) > 0
}

// take passes a message to a listener, which has AttemptTimeout for it, like any receiver. If the connection is gone, the
// webhook is about to be removed: the attempt then counts as interrupted, not as failed.
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

// send makes one attempt: over the connection of a listener, or by the Transport.
func (s *Service) send(ctx context.Context, hook wallet.Webhook, m Message) Result {
	if hook.Listener {
		return s.listeners.take(ctx, hook.ID, m, s.Now())
	}
	return s.Transport.Post(ctx, m)
}
