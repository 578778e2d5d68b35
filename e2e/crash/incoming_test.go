package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"purser/e2e/harness"
	"purser/sandbox/telegram"
	"purser/store"
)

// TestKilledWhileMoneyComesIn ends the process at random moments while strangers pay Bob, who did nothing for it: each payment
// has one receipt, one event, however often it is delivered, and one message in chat.
func TestKilledWhileMoneyComesIn(t *testing.T) {
	t.Parallel()
	rounds := 10
	if testing.Short() {
		rounds = 4
	}
	random := seeded(t)
	c := newCouple(t, 40*time.Millisecond, "PURSER_WEBHOOKS_ALLOW_PRIVATE=127.0.0.0/8", "PURSER_WEBHOOKS_ALLOW_HTTP=true",
		"PURSER_WEBHOOKS_SCHEDULE=1s,1s,2s", "PURSER_WATCH_CALLS_PER_MINUTE=6000")
	hook := newReceiver(t)
	c.subscribes(telegram.Bob, hook.URL, "transaction.received")
	var paid []payment
	var kills []time.Time
	for range rounds {
		for range 1 + random.IntN(3) {
			p := nth(len(paid))
			_, err := c.world.Solana.Airdrop(context.Background(), c.bob.Device.Address(), p.lamports)
			c.must(err)
			paid = append(paid, p)
		}
		// From the middle of a start to some way behind the block that is final.
		timer := time.After(time.Duration(20+random.IntN(2200)) * time.Millisecond)
		<-timer
		c.must(c.purser.Kill())
		kills = append(kills, time.Now())
		c.must(c.purser.Launch())
	}
	c.toldOfAll(paid)
	hook.hears(t, len(paid))
	c.finish()
	var want uint64
	for _, p := range paid {
		want += p.lamports
	}
	if got := c.world.Solana.Balance(c.bob.Device.Address()); got != want {
		c.Errorf("Bob holds %d lamports, was paid %d", got, want)
	}
	c.look(func(tx store.Tx) {
		rows := c.confirmedOf(tx, c.bob.ID)
		for _, p := range paid {
			if len(rows[p.lamports]) != 1 {
				c.Errorf("%s SOL has %d receipts", p.amount(), len(rows[p.lamports]))
				continue
			}
			id := string(rows[p.lamports][0].ID)
			if events := hook.about(id); len(events) != 1 {
				c.Errorf("%s SOL was announced as %v", p.amount(), events)
			}
		}
		if len(rows) != len(paid) {
			c.Errorf("%d payments came in, %d have receipts", len(paid), len(rows))
		}
	})
	c.toldOnce(paid, kills)
	t.Logf("%d payments over %d lives, %d deliveries", len(paid), rounds+1, hook.count())
}

// subscribes makes a person's key, and a webhook of it.
func (c *couple) subscribes(person int64, url string, events ...string) {
	c.Helper()
	out, err := c.purser.CLI("key", "create", "--owner", fmt.Sprint(person), "--tier", "pro", "--json")
	c.must(err)
	var key struct{ Key string }
	c.must(json.Unmarshal([]byte(out), &key))
	body, err := json.Marshal(map[string]any{"url": url, "events": events})
	c.must(err)
	req, err := http.NewRequest(http.MethodPost, c.purser.URL+"/v1/webhooks", bytes.NewReader(body))
	c.must(err)
	req.Header.Set("Authorization", "Bearer "+key.Key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	c.must(err)
	defer resp.Body.Close()
	if answer, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode/100 != 2 {
		c.Fatalf("no webhook: %d %s %v", resp.StatusCode, answer, err)
	}
}

// receivedSOL is the news of one payment.
var receivedSOL = regexp.MustCompile(`received ([\d.]+) SOL`)

// toldOnce checks that no payment has two messages. A second one is excused only by a kill while the first was on its way.
func (c *couple) toldOnce(paid []payment, kills []time.Time) {
	c.Helper()
	last := map[string]time.Time{}
	for _, call := range c.world.Telegram.Calls() {
		found := receivedSOL.FindStringSubmatch(tags.ReplaceAllString(call.Params["text"], ""))
		if call.Method != "sendMessage" || call.Status != http.StatusOK || found == nil || call.Params["chat_id"] != fmt.Sprint(c.bob.ID) {
			continue
		}
		before, again := last[found[1]]
		last[found[1]] = call.At
		if again && !slices.ContainsFunc(kills, func(k time.Time) bool { return k.Sub(before).Abs() < c.delays.slack(before) && k.Before(call.At) }) {
			c.Errorf("Bob was told twice of %s SOL", found[1])
		}
	}
	for amount := range last {
		if !slices.ContainsFunc(paid, func(p payment) bool { return p.amount() == amount }) {
			c.Errorf("Bob was told of %s SOL, which nobody paid", amount)
		}
	}
}

// receiver is what webhooks are delivered to.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	events   map[string]string // transactions, by the ids of events
	attempts int
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{events: map[string]string{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var got struct {
			Event string
			Data  struct {
				ID string `json:"transaction_id"`
			}
		}
		if err := json.NewDecoder(req.Body).Decode(&got); err != nil || !strings.HasPrefix(got.Event, "transaction.") {
			http.Error(w, "no event", http.StatusBadRequest)
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.attempts++
		r.events[req.Header.Get("webhook-id")] = got.Data.ID
	}))
	t.Cleanup(r.Close)
	return r
}

// hears waits for events of their own.
func (r *receiver) hears(t *testing.T, events int) {
	t.Helper()
	for deadline := time.Now().Add(harness.Wait); ; <-time.After(20 * time.Millisecond) { // deliveries come by the clock
		r.mu.Lock()
		n := len(r.events)
		r.mu.Unlock()
		if n >= events {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d events were delivered", n, events)
		}
	}
}

// about lists the events about a transaction.
func (r *receiver) about(id string) (events []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for event, of := range r.events {
		if of == id {
			events = append(events, event)
		}
	}
	return events
}

func (r *receiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.attempts
}
