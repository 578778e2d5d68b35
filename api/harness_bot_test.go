package api

import (
	"errors"
	"runtime"
	"sync"

	"purser/store"
	"purser/store/storetest"
)

// fakeBot stands for Telegram, and for the node that sends to it: a test decides what becomes of the messages in the
// outbox. It writes their ends as bot does, and wakes who waits.
type fakeBot struct {
	mu      sync.Mutex
	waiting map[string]chan struct{}
	awaited chan string                  // cards, as somebody begins to wait for them
	auto    func(n int) store.SendResult // what becomes of the nth message, as soon as it is put; nil: a test decides
	send    func(card string, o store.SendResult, given <-chan struct{}) (store.Reply, error)
	count   int
}

func (b *fakeBot) Await(_ int64, card string) (<-chan struct{}, func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting == nil {
		b.waiting = map[string]chan struct{}{}
	}
	ended := make(chan struct{}, 1)
	b.waiting[card] = ended
	if b.auto != nil {
		b.count++
		n, over := b.count, make(chan struct{})
		var sender sync.WaitGroup
		sender.Go(func() {
			if _, err := b.send(card, b.auto(n), over); err == nil {
				b.wake(card)
			}
		})
		return ended, func() {
			close(over)
			sender.Wait()
		}
	}
	if b.awaited != nil {
		b.awaited <- card
	}
	return ended, func() {}
}

func (b *fakeBot) wake(card string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case b.waiting[card] <- struct{}{}:
	default: // nobody waits here
	}
}

// sentAtOnce is an auto of whom every message reaches.
func sentAtOnce(n int) store.SendResult { return store.SendResult{MessageID: n} }

// ends takes a message of an app out of the outbox, as the bot of this node does.
func (r *harness) ends(o store.SendResult) store.Reply {
	r.Helper()
	card := <-r.bot.awaited
	row, err := r.sendAs(card, o, nil)
	r.Must(err)
	r.bot.wake(card)
	return row
}

var errNothingToSend = errors.New("the message was never put")

// sendAs takes a message of an app out of the outbox, as the bot of some node does that wakes nobody here. It waits for the
// message until given ends: it is enqueued a moment after somebody waits for it.
func (r *harness) sendAs(card string, o store.SendResult, given <-chan struct{}) (row store.Reply, err error) {
	for row.Card == "" {
		select {
		case <-given:
			return row, errNothingToSend
		default:
			runtime.Gosched()
		}
		for _, one := range storetest.Outbox(r, r.Store) {
			if one.Card == card {
				row = one
			}
		}
	}
	return row, r.Update(func(tx store.Tx) error {
		if o.MessageID != 0 && (row.CardUntil.IsZero() || r.Now().Before(row.CardUntil)) {
			if err := tx.PutCard(row.Chat, card, o.MessageID, row.CardUntil); err != nil {
				return err
			}
		}
		if r.Now().Before(row.SendResultUntil) {
			o.ExpiresAt = row.SendResultUntil
			if err := tx.PutSendResult(row.Chat, card, o); err != nil {
				return err
			}
		}
		return tx.RemoveJobs(store.Outbox, row.ID)
	})
}
