package webhooks

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// hostileText says everything that a scanner of bytes could take for a field.
const hostileText = `","wallet_address":"x","chat_id":"y"} \" \\" "wallet_address":"z" </script> ` + "\u2028\x00\n"

// renderings are events of the whole catalogue, and some with a person's words in them.
func renderings(t *testing.T) []wallet.Event {
	t.Helper()
	var all []wallet.Event
	at := time.Date(2026, 1, 31, 12, 0, 0, 5_000_000, time.UTC)
	add := func(name wallet.EventName, data any) {
		e, err := wallet.NewEvent("evt_1", name, at, "usr_1", data)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	for _, kind := range Catalogue() {
		add(kind.Name, kind.data)
	}
	add(wallet.MessageReceived, wallet.MessageReceivedData{ChatID: "42", Username: hostileText, Message: hostileText})
	add(wallet.MessageReceived, wallet.MessageReceivedData{Username: hostileText, Message: hostileText})
	for _, token := range []string{`A"B`, `A"C`, `A\`, `A\"`} {
		add(wallet.PriceSignificantChange, wallet.PriceSignificantChangeData{Token: token, Timeframe: "1h"})
	}
	add(wallet.TransactionFailed, wallet.TransactionFailedData{ErrorMessage: hostileText, WalletAddress: wallet.Address{1}})
	return all
}

// TestBodiesAreWhatEncodingJSONWouldWrite, to the byte.
func TestBodiesAreWhatEncodingJSONWouldWrite(t *testing.T) {
	type bot struct {
		Event wallet.EventName `json:"event"`
		Data  json.RawMessage  `json:"data"`
	}
	type platform struct {
		bot
		Timestamp string `json:"timestamp"`
	}
	seen := 0
	for _, e := range renderings(t) {
		for _, kind := range []wallet.KeyKind{wallet.APIKey, wallet.BotKey} {
			body, err := Body(kind, e)
			if _, ok := ruleOf(kind, e.Name); !ok || err != nil {
				if ok {
					t.Errorf("%s: %v", e.Name, err)
				}
				continue
			}
			seen++
			data := e.Data
			if e.Name == wallet.WalletConnected {
				if data, err = connected(kind, data); err != nil {
					t.Fatal(err)
				}
			}
			var want []byte
			if kind == wallet.BotKey {
				want, err = json.Marshal(bot{e.Name, data})
			} else {
				want, err = json.Marshal(platform{bot{e.Name, data}, wallet.Timestamp(e.At)})
			}
			if err != nil || !bytes.Equal(body, want) {
				t.Errorf("%s for %s:\n%s\n%s (%v)", e.Name, kind, body, want, err)
			}
		}
	}
	if seen < 15 {
		t.Errorf("%d bodies", seen)
	}
}

// TestTheSubjectOfAnEventIsWhatItsFieldsSay, whatever is written in its texts.
func TestTheSubjectOfAnEventIsWhatItsFieldsSay(t *testing.T) {
	for _, e := range renderings(t) {
		var data struct {
			Wallet string `json:"wallet_address"`
			Chat   string `json:"chat_id"`
			Alert  string `json:"alert_id"`
			Token  string `json:"token"`
			Frame  string `json:"timeframe"`
		}
		if err := json.Unmarshal(e.Data, &data); err != nil {
			t.Fatal(err)
		}
		want := ""
		if data.Frame != "" {
			want = data.Token + "/" + data.Frame
		}
		for _, of := range []string{data.Alert, data.Chat, data.Wallet} {
			if of != "" {
				want = of
			}
		}
		if got := e.Subject; got != want {
			t.Errorf("%s: %q, not %q", e.Name, got, want)
		}
	}
}

// TestOnlyWhatFitsIsHandedOver: nothing while the webhook is being read, or when its window is full.
func TestOnlyWhatFitsIsHandedOver(t *testing.T) {
	for what, c := range map[string]struct {
		queue queue
		held  int // of others
		added bool
		more  bool
	}{
		"known":                  {queue{}, 0, true, false},
		"read already":           {queue{read: [urgencies]uint64{7}}, 0, false, false},
		"being read":             {queue{loading: true}, 0, false, true},
		"a window that is full":  {queue{held: [urgencies]int{fullWindow}}, 0, false, true},
		"another urgency's":      {queue{held: [urgencies]int{0, fullWindow}}, 0, true, false},
		"much of others":         {queue{held: [urgencies]int{smallWindow - 1}}, maxHeld, true, false},
		"full for the time":      {queue{held: [urgencies]int{smallWindow}}, maxHeld, false, true},
		"more may be unread too": {queue{more: everyUrgency()}, 0, true, true},
	} {
		q := c.queue
		q.id, q.owner, q.lanes, q.blocked = "wh_1", &owner{}, map[lane]*line{}, true // nothing goes
		d := &dispatcher{Service: &Service{Now: time.Now, Schedule: []time.Duration{time.Second}},
			queues: map[wallet.WebhookID]*queue{"wh_1": &q}, held: c.held}
		d.handed([]store.PlacedDelivery{{Delivery: store.Delivery{ID: "dlv_1", Webhook: "wh_1", Seq: 7}}})
		if added := d.held > c.held; added != c.added || added != (len(q.lanes) == 1) || q.more[0] != c.more {
			t.Errorf("%s: held %v, in line %d, more %v", what, added, len(q.lanes), q.more)
		}
	}
}

// TestWhatIsTooMuchToHandOverIsToBeRead: who is told of it is named instead.
func TestWhatIsTooMuchToHandOverIsToBeRead(t *testing.T) {
	var w pending
	w.hand(make([]store.PlacedDelivery, maxHanded))
	w.hand([]store.PlacedDelivery{{Delivery: store.Delivery{Webhook: "wh_1"}}})
	<-w.signal()
	if rows, ids := w.take(); len(rows) != maxHanded || len(ids) != 1 || ids[0] != "wh_1" {
		t.Errorf("%d rows, %v", len(rows), ids)
	}
	if rows, ids := w.take(); len(rows)+len(ids) != 0 {
		t.Errorf("again: %d rows, %v", len(rows), ids)
	}
}
