package handlers_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// droppingLog is a log whose oldest days are dropped while a recovery walks it, as Sweep does at midnight.
type droppingLog struct {
	store.DeliveryLog
	pages int
	drop  func(page int)
	from  []time.Time // the since of each page
}

func (l *droppingLog) Oldest(ctx context.Context, id wallet.WebhookID, state store.DeliveryState, since time.Time, after string, limit int) ([]store.LogEntry, error) {
	l.pages++
	l.from = append(l.from, since)
	l.drop(l.pages)
	return l.DeliveryLog.Oldest(ctx, id, state, since, after, limit)
}

// TestARecoveryGoesOnWhenADayOfTheLogIsDropped: of the days that are left, every delivery waits again, once.
func TestARecoveryGoesOnWhenADayOfTheLogIsDropped(t *testing.T) {
	r := newHarness(t)
	owner := r.meet(1001)
	key := wallet.Key{ID: "key_1", Kind: wallet.APIKey, Tier: wallet.ProTier, Owner: owner.ID, Scopes: []wallet.Scope{wallet.WalletRead, wallet.Webhooks}}
	hook := wallet.Webhook{ID: "wh_1", Lineage: "key_1", Kind: wallet.APIKey, URL: "https://hooks.example.com/in", Events: []string{"*"}, Active: true,
		CreatedAt: r.Now()}
	r.Must(r.Update(func(tx store.Tx) error {
		if err := tx.CreateKey(key, "secret"); err != nil {
			return err
		}
		return tx.PutWebhook(hook)
	}))
	// Two days of dead letters, each more than one page and less than two.
	const aDay = 250
	first := r.Now()
	for day := range 2 {
		var entries []store.LogEntry
		for i := range aDay {
			entries = append(entries, store.LogEntry{State: store.DeliveryDeadLettered, EndedAt: r.Now(), Delivery: store.Delivery{
				ID: fmt.Sprintf("dlv_%d_%03d", day, i), Webhook: hook.ID, EventID: r.NewID("evt"), Event: wallet.WalletConnected, User: owner.ID,
				Body: []byte(`{}`), CreatedAt: r.Now().Add(time.Duration(i) * time.Second), Attempts: 1}})
		}
		r.Must(r.DeliveryLog.Log(t.Context(), entries))
		r.Pass(24 * time.Hour)
	}
	log := &droppingLog{DeliveryLog: r.DeliveryLog, drop: func(page int) {
		if page != 2 {
			return
		}
		if n, err := r.DeliveryLog.DropBefore(t.Context(), first.Add(24*time.Hour)); n != 1 || err != nil {
			t.Errorf("%d days were dropped, %v", n, err)
		}
	}}
	r.Webhooks.Log = log
	done, err := r.Webhooks.Recover(t.Context(), handlers.CallerOf(key), hook.ID, first)
	r.Must(err)
	if want := (handlers.Recovered{Count: 200 + aDay}); done != want {
		t.Errorf("recovered %+v, want %+v", done, want)
	}
	if last := first.Add(199 * time.Second); len(log.from) != 4 || !log.from[1].Equal(first) || !log.from[2].Equal(last) || !log.from[3].Equal(last) {
		t.Errorf("pages were read since %v: nothing that was read before is to be read again", log.from)
	}
	left, err := r.DeliveryLog.Oldest(t.Context(), hook.ID, store.DeliveryDeadLettered, first, "", 2*aDay)
	r.Must(err)
	waiting := 0
	r.View(func(tx store.Tx) error {
		for _, e := range left {
			if _, err := tx.Delivery(e.ID); err == nil {
				waiting++
			}
		}
		return nil
	})
	if waiting != aDay {
		t.Errorf("%d of the second day wait, want all %d", waiting, aDay)
	}
}
