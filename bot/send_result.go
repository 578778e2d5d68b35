package bot

import (
	"errors"
	"sync"
	"time"

	"purser/store"
)

// sendResultOf returns the result of sending a reply, for the app that asked for it: the id of its message (0 for none), or
// why it was not sent. It is kept until the given time.
func sendResultOf(message int, why error, until time.Time) store.SendResult {
	o := store.SendResult{MessageID: message, Blocked: errors.Is(why, errUnreachable), ExpiresAt: until}
	if no := refused(why); no != nil {
		o.Refusal = no.description
	}
	return o
}

// sendWaiters are the requests of this process that wait until a reply was sent, by its chat and card. The result itself is
// in the store (store.SendResultOf). A request on a node that does not send is not woken, and looks there by itself.
type sendWaiters struct {
	mu      sync.Mutex
	waiting map[awaited][]chan struct{}
}

// awaited identifies a reply that a request waits for.
type awaited struct {
	chat int64
	card string
}

// Await returns a channel that gets a signal when this process has written the result of a card's reply. Call it before the
// reply is queued, or the signal may be missed. The signal is only a hint: the store has the result. done must be called.
func (b *Bot) Await(where int64, card string) (ended <-chan struct{}, done func()) {
	key, ch := awaited{where, card}, make(chan struct{}, 1)
	w := &b.waiters
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting == nil {
		w.waiting = map[awaited][]chan struct{}{}
	}
	w.waiting[key] = append(w.waiting[key], ch)
	return ch, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		for i, other := range w.waiting[key] {
			if other == ch {
				w.waiting[key] = append(w.waiting[key][:i], w.waiting[key][i+1:]...)
				break
			}
		}
		if len(w.waiting[key]) == 0 {
			delete(w.waiting, key)
		}
	}
}

// wake signals the requests that wait for the reply.
func (w *sendWaiters) wake(row store.Reply) {
	if row.Card == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, ch := range w.waiting[awaited{row.Chat, row.Card}] {
		select {
		case ch <- struct{}{}:
		default: // it is signalled already
		}
	}
}
