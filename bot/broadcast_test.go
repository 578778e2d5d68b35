package bot

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"purser/sandbox/telegram"
	"purser/store"
)

// TestABroadcastDelaysNoAnswer queues news for 100,000 people and watches the first 3,000 messages: every answer takes at most two seconds, and chats that
// blocked the bot delay nobody.
func TestABroadcastDelaysNoAnswer(t *testing.T) {
	people, most := 100_000, 3000 // the test looks at the first minutes
	if testing.Short() {
		people, most = 5_000, 1000
	}
	synctest.Test(t, func(t *testing.T) {
		w, done := newBubbleWorld(t)
		defer done()
		w.opt.Pace = Pace{}
		readers := make([]int64, 0, 200)
		for id := range int64(cap(readers)) {
			readers = append(readers, 100_000+id*int64(people/cap(readers)))
		}
		w.greet(append(readers, telegram.Alice)...)
		for first := 0; first < people; first += 2000 { // most of them have blocked the bot, or never wrote to it
			var rows []store.Reply
			for n := range 2000 {
				rows = append(rows, row(int64(100_000+first+n), 3, says("news")))
			}
			w.enqueue(rows...)
		}
		_, stop := w.run()
		begun := time.Now()
		for n := 0; n < most && len(w.calls("sendMessage")) < most; n++ {
			if took, _ := w.answeredWithin(telegram.Alice, fmt.Sprint("/help ", n)); took > 2*time.Second {
				t.Errorf("after %v the answer took %v", time.Since(begun), took)
			}
			<-time.After(10 * time.Second) // by the bubble's clock
		}
		stop()
		if rate := float64(len(w.calls("sendMessage"))) / time.Since(begun).Seconds(); rate < 25 {
			t.Errorf("%.1f messages a second: what Telegram allows is not used", rate)
		}
		reached := slices.ContainsFunc(readers, func(id int64) bool { return len(w.fromBot(id)) > 0 })
		if !reached || w.waiting(store.Outbox) < people-2*most {
			t.Errorf("reached a reader: %t; %d messages wait", reached, w.waiting(store.Outbox))
		}
	})
}

// TestAQuestionOvertakesAThousandReceipts of the same person: it comes within two seconds, however many wait.
func TestAQuestionOvertakesAThousandReceipts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, done := newBubbleWorld(t)
		defer done()
		w.opt.Pace = Pace{}
		w.greet(telegram.Alice)
		for n := range 1000 {
			w.enqueue(row(telegram.Alice, 2, says(fmt.Sprint("receipt ", n))))
		}
		_, stop := w.run()
		for n := range 20 {
			w.hears(telegram.Alice, fmt.Sprint("receipt ", 3*n))
			begun := time.Now()
			w.enqueue(row(telegram.Alice, 1, says(fmt.Sprint("confirm? ", n))))
			w.hears(telegram.Alice, fmt.Sprint("confirm? ", n))
			if took := time.Since(begun); took > 2*time.Second {
				t.Errorf("question %d took %v", n, took)
			}
		}
		stop()
	})
}
