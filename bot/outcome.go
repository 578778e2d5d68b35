package bot

import (
	"errors"
	"sync"

	"purser/chat"
	"purser/store"
)

// outcomeOf is how a reply ended that became a message (0: none), or why not.
func outcomeOf(message int, why error) chat.Outcome {
	o := chat.Outcome{MessageID: message, Blocked: errors.Is(why, errUnreachable)}
	if no := refused(why); no != nil {
		o.Refusal = no.description
	}
	return o
}

// outcomes are who waits for what becomes of a reply, by its chat and card.
type outcomes struct {
	mu      sync.Mutex
	waiting map[awaited][]chan chat.Outcome
}

type awaited struct {
	chat int64
	card string
}

// Await tells how the reply of a card ends from now on: begin before it is enqueued. Nothing comes of
// what was sent before, or of a reply of another process. done must be called.
func (b *Bot) Await(where int64, card string) (outcome <-chan chat.Outcome, done func()) {
	key, ch := awaited{where, card}, make(chan chat.Outcome, 1)
	o := &b.outcomes
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.waiting == nil {
		o.waiting = map[awaited][]chan chat.Outcome{}
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

func (o *outcomes) tell(row store.Reply, outcome chat.Outcome) {
	if row.Card == "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, ch := range o.waiting[awaited{row.Chat, row.Card}] {
		select {
		case ch <- outcome:
		default: // it has heard one already
		}
	}
}
