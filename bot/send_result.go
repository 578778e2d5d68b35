package bot

import (
	"errors"
	"sync"
	"time"

	"purser/store"
)

// sendResultOf is how a reply ended that became a message (0: none), or why not.
func sendResultOf(message int, why error, until time.Time) store.SendResult {
	o := store.SendResult{MessageID: message, Blocked: errors.Is(why, errUnreachable), ExpiresAt: until}
	if no := refused(why); no != nil {
		o.Refusal = no.description
	}
	return o
}

// sendWaiters are the requests that wait in this process for the end of a reply, by its chat and card. What became of it is in the store
// (store.SendResultOf): a node that waits for a reply which another one sends is not woken, and looks there by itself.
type sendWaiters struct {
	mu      sync.Mutex
	waiting map[awaited][]chan struct{}
}

type awaited struct {
	chat int64
	card string
}

// Await signals (buffered, one slot) when this process has written the end of a card's reply: begin before it is enqueued.
// A signal is a hint, the store is the truth. done must be called.
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
