package chat_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"purser/e2e/world"
	"purser/notify"
	"purser/store"
	"purser/wallet"
)

// BenchmarkNewsTo100000 brings one headline to 100,000 people: the round that finds them, the event of each, and the message of each in the outbox. Telegram
// then takes an hour for them. The bound is putting the messages alone.
func BenchmarkNewsTo100000(b *testing.B) {
	const people, page = 100_000, 500
	r := newHarness(b)
	for first := 0; first < people; first += page {
		r.Must(r.Update(func(tx store.Tx) error {
			for n := first; n < first+page; n++ {
				u := wallet.User{ID: wallet.UserID(fmt.Sprintf("usr_%06d", n)), TelegramID: int64(100_000 + n), Language: "en", RegisteredAt: r.Now(),
					Notifications: &wallet.Notifications{Enabled: true, Events: []string{"market.news"}}}
				if err := tx.PutUser(u); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	var took, bound time.Duration
	for b.Loop() {
		b.StopTimer()
		item := wallet.NewsItem{ID: fmt.Sprint(b.Elapsed()), Title: fmt.Sprint("Dune prices rise ", b.Elapsed()), URL: "https://dune.example/1", Source: "The Daily Dune", At: r.Now()}
		r.Must(r.Update(func(tx store.Tx) error {
			_, err := tx.NoteNews([]wallet.NewsItem{item}, r.Now(), false)
			return err
		}))
		r.Must(r.Update(func(tx store.Tx) error { return store.PutNewsRound(tx, store.NewsRound{}, r.Now(), r.Now()) }))
		b.StartTimer()
		began := time.Now()
		for round := (store.NewsRound{After: "-"}); round.After != ""; {
			r.rounds()
			r.View(func(tx store.Tx) error {
				job, err := tx.Job(store.NewsRounds, "round")
				if err != nil {
					return err
				}
				round, err = store.NewsRoundOf(job)
				return err
			})
		}
		ctx, cancel := context.WithCancel(b.Context())
		n := notify.Notifier{Store: world.UntilIdle{Store: r.Store, Queue: store.Events, Idle: cancel}, Chat: r.chat, Node: "a", Now: time.Now, Log: slog.New(slog.DiscardHandler)}
		r.Must(n.Pools()[0].Run(ctx))
		took += time.Since(began)
		b.StopTimer()
		replies := r.outbox()
		if len(replies) != people {
			b.Fatalf("%d messages", len(replies))
		}
		remove := func() {
			for first := 0; first < people; first += page {
				r.Must(r.Update(func(tx store.Tx) error {
					for _, reply := range replies[first : first+page] {
						if err := tx.RemoveJobs(store.Outbox, reply.ID); err != nil {
							return err
						}
					}
					return nil
				}))
			}
		}
		remove()
		began = time.Now()
		for first := 0; first < people; first += page {
			r.Must(r.Update(func(tx store.Tx) error { return store.Enqueue(tx, replies[first:first+page]...) }))
		}
		bound += time.Since(began)
		replies = r.outbox()
		remove()
		b.StartTimer()
	}
	b.ReportMetric(float64(took.Microseconds())/float64(b.N)/people, "µs/person")
	b.ReportMetric(float64(took)/float64(bound), "×-putting-them")
}
