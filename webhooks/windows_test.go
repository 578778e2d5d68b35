package webhooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
	"purser/webhooks"
)

// TestBacklogIsReadInWindows: ten thousand wait, and all come, in order, while few are in memory.
func TestBacklogIsReadInWindows(t *testing.T) {
	inBubble(t, func(r *harness) {
		alice, hook := r.subscriber()
		const many = 3000
		r.service.Limit.Count = 1_000_000
		var want []string
		for range many / 100 {
			var some []wallet.Event
			for range 100 {
				e := r.paid(alice, 1)
				some, want = append(some, e), append(want, e.ID)
			}
			r.emit(some...)
		}
		r.run()
		if got := ids(r.took()); !slices.Equal(got, want) {
			t.Errorf("%d of %d came, or in another order", len(got), len(want))
		}
		if states := r.states(hook); states[store.DeliveryDelivered] != 1000 { // a page of the log
			t.Errorf("states %v", states)
		}
	})
}

// TestAnEventForVeryManyIsWrittenInPieces, each of them short, and reaches everybody once.
func TestAnEventForVeryManyIsWrittenInPieces(t *testing.T) {
	inBubble(t, func(r *harness) {
		operator := r.key("", wallet.APIKey)
		const many = 2500
		for range many {
			r.hook(operator, "price.*")
		}
		pieces := &counted{Store: r.store}
		r.service.Store = pieces
		r.run()
		for range 3 {
			r.emit(r.event("", wallet.PriceSignificantChange, wallet.PriceSignificantChangeData{Token: r.id("T"), Timeframe: "1h"}))
		}
		time.Sleep(time.Minute)
		got := map[string]int{}
		for _, s := range r.took() {
			got[s.url+s.eventID]++
		}
		if pieces.puts < 9 {
			t.Errorf("%d pieces", pieces.puts)
		}
		if len(got) != 3*many {
			t.Errorf("%d of %d came", len(got), 3*many)
		}
		if pieces.most > 1000 {
			t.Errorf("%d were written in one transaction", pieces.most)
		}
		for key, n := range got {
			if n != 1 {
				t.Errorf("%s came %d times", key, n)
			}
		}
	})
}

// counted is a store that knows how many deliveries were put in one transaction at most, and has no room for each
// third of the pieces at first.
type counted struct {
	store.Store
	most, puts int // of the relay's goroutine alone
}

func (c *counted) Update(ctx context.Context, change func(store.Tx) error) error {
	return c.Store.Update(ctx, func(tx store.Tx) error { return change(countedTx{tx, c}) })
}

type countedTx struct {
	store.Tx
	of *counted
}

func (t countedTx) PutDeliveries(rows []store.Delivery) ([]store.PlacedDelivery, error) {
	t.of.most = max(t.of.most, len(rows))
	if t.of.puts++; t.of.puts%3 == 0 {
		return nil, errors.New("no room")
	}
	return t.Tx.PutDeliveries(rows)
}

// TestAQuietOwnerGoesWhileAllSlotsAreTaken by four others, whose receivers answer just in time.
func TestAQuietOwnerGoesWhileAllSlotsAreTaken(t *testing.T) {
	inBubble(t, func(r *harness) {
		r.limit = 1_000_000
		r.close()
		r.open()
		alice, hook := r.subscriber()
		slow := func(inFlight, most *atomic.Int64) func(webhooks.Message) webhooks.Result {
			return func(webhooks.Message) webhooks.Result {
				most.Store(max(most.Load(), inFlight.Add(1)))
				defer inFlight.Add(-1)
				time.Sleep(29 * time.Second)
				return webhooks.Result{Status: 200, Latency: 29 * time.Second}
			}
		}
		var mallories []wallet.UserID
		for range 4 {
			who := r.person()
			mallories = append(mallories, who)
			key := r.key(who, wallet.APIKey)
			var inFlight, most atomic.Int64
			for range 600 {
				r.answer(r.hook(key, "*"), slow(&inFlight, &most))
			}
			defer func() {
				if most.Load() > 512 {
					t.Errorf("%d were on their way to one owner's", most.Load())
				}
			}()
		}
		r.run()
		for _, who := range mallories {
			r.emit(r.paid(who, 1), r.paid(who, 2), r.paid(who, 3))
		}
		time.Sleep(40 * time.Second)
		for i := range 5 {
			r.emit(r.paid(alice, byte(i)))
		}
		if states := r.states(hook); states[store.DeliveryDelivered] != 5 {
			t.Errorf("states %v", states)
		}
	})
}

// TestMoreThanAWindowIsHandedOver keeps its order where a slow receiver lets far more gather than is held in
// memory.
func TestMoreThanAWindowIsHandedOver(t *testing.T) {
	inBubble(t, func(r *harness) {
		alice, hook := r.subscriber()
		r.run()
		r.emit(r.paid(alice, 0))
		r.took()
		r.answer(hook, func(webhooks.Message) webhooks.Result {
			time.Sleep(time.Millisecond)
			return webhooks.Result{Status: 200}
		})
		want := map[byte][]string{}
		for i := range 3000 {
			of := byte(i % 7)
			e := r.paid(alice, of)
			want[of] = append(want[of], e.ID)
			r.emit(e)
			if i%100 == 0 {
				r.service.Wake(hook.ID)
			}
		}
		time.Sleep(10 * time.Second)
		got := map[byte][]string{}
		for _, s := range r.took() {
			var body struct {
				Data wallet.TransactionConfirmedData
			}
			if err := json.Unmarshal([]byte(s.body), &body); err != nil {
				t.Fatal(err)
			}
			of := body.Data.WalletAddress[0]
			got[of] = append(got[of], s.eventID)
		}
		for of, ids := range want {
			if !slices.Equal(got[of], ids) {
				t.Errorf("wallet %d: %d came, of %d, or not in order", of, len(got[of]), len(ids))
			}
		}
	})
}
