package bot

import (
	"errors"
	"sync"
	"time"

	"purser/store"
)

// outcomeOf is how a reply ended that became a message (0: none), or why not.
func outcomeOf(message int, why error, until time.Time) store.Outcome {
	o := store.Outcome{MessageID: message, Blocked: errors.Is(why, errUnreachable), ExpiresAt: until}
	if no := refused(why); no != nil {
		o.Refusal = no.description
	}
	return o
}

// outcomes are who waits in this process for the end of a reply, by its chat and card. What became of it is in the store
// (store.OutcomeOf): a node that waits for a reply which another one sends is not woken, and looks there by itself.
type outcomes struct {
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
	o := &b.outcomes
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.waiting == nil {
		o.waiting = map[awaited][]chan struct{}{}
	}
	o.waiting[key] = append(o.waiting[key], ch)
	return ch, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		for i, other := range o.waiting[key] {
			if other == ch {
				o.waiting[key] = append(o.waiting[key][:i], o.waiting[key][i+1:]...)
				break
			}
		}
		if len(o.waiting[key]) == 0 {
			delete(o.waiting, key)
		}
	}
}

// wake signals whoever waits for the reply.
func (o *outcomes) wake(row store.Reply) {
	if row.Card == "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, ch := range o.waiting[awaited{row.Chat, row.Card}] {
		select {
		case ch <- struct{}{}:
		default: // it is signalled already
		}
	}
}
