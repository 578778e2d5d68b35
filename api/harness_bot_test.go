package api

import (
	"sync"

	"purser/chat"
	"purser/store"
	"purser/store/storetest"
)

// fakeBot stands for Telegram: a test decides what becomes of the messages in the outbox.
type fakeBot struct {
	mu      sync.Mutex
	waiting map[string]chan chat.Outcome
	awaited chan string              // cards, as somebody begins to wait for them
	auto    func(n int) chat.Outcome // what becomes of the nth message, at once; nil: a test decides
	count   int
}

func (b *fakeBot) Await(_ int64, card string) (<-chan chat.Outcome, func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting == nil {
		b.waiting = map[string]chan chat.Outcome{}
	}
	ch := make(chan chat.Outcome, 1)
	if b.auto != nil {
		b.count++
		ch <- b.auto(b.count)
		return ch, func() {}
	}
	b.waiting[card] = ch
	if b.awaited != nil {
		b.awaited <- card
	}
	return ch, func() {}
}

// sentAtOnce is an auto of whom every message reaches.
func sentAtOnce(n int) chat.Outcome { return chat.Outcome{MessageID: n} }

// ends takes a message of an app out of the outbox, as the bot does.
func (r *harness) ends(o chat.Outcome) store.Reply {
	r.Helper()
	card := <-r.bot.awaited
	for { // it is enqueued a moment after somebody waits for it
		var row store.Reply
		for _, one := range storetest.Outbox(r, r.Store) {
			if one.Card == card {
				row = one
			}
		}
		if row.Card == "" {
			continue
		}
		r.Must(r.Update(func(tx store.Tx) error {
			if o.MessageID != 0 && (row.CardUntil.IsZero() || r.Now().Before(row.CardUntil)) {
				if err := tx.PutCard(row.Chat, card, o.MessageID, row.CardUntil); err != nil {
					return err
				}
			}
			return tx.RemoveJobs(store.Outbox, row.ID)
		}))
		r.bot.mu.Lock()
		defer r.bot.mu.Unlock()
		r.bot.waiting[card] <- o
		return row
	}
}
