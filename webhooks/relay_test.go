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
			switch e.Name {
			case wallet.WalletConnected:
				data, err = connected(kind, data)
			case wallet.WebhookTest:
				data, err = json.RawMessage(`{"webhook_id":"wh_0c6e","message":"This is a test. Nothing happened."}`), nil
			}
			if err != nil {
				t.Fatal(err)
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

// TestOnlyWhatFitsIsHandedOver: nothing before the webhook was read, or when its window is full.
func TestOnlyWhatFitsIsHandedOver(t *testing.T) {
	for what, c := range map[string]struct {
		queue  queue
		unread bool
		held   int64 // of others
		added  bool
		more   bool
	}{
		"known":                  {queue{}, false, 0, true, false},
		"read already":           {queue{read: [urgencies]uint64{7}}, false, 0, false, false},
		"not read yet":           {queue{}, true, 0, false, true},
		"a window that is full":  {queue{held: [urgencies]int{fullWindow}}, false, 0, false, true},
		"another urgency's":      {queue{held: [urgencies]int{0, fullWindow}}, false, 0, true, false},
		"much of others":         {queue{held: [urgencies]int{smallWindow - 1}}, false, maxHeld, true, false},
		"full for the time":      {queue{held: [urgencies]int{smallWindow}}, false, maxHeld, false, true},
		"more may be unread too": {queue{more: everyUrgency()}, false, 0, true, true},
	} {
		x := &session{sender: &sender{Service: &Service{Now: time.Now}}, queue: c.queue, known: !c.unread}
		x.lines = map[lineKey]*orderedDeliveries{}
		x.inMemory.Store(c.held)
		x.handed(store.PlacedDelivery{Delivery: store.Delivery{ID: "dlv_1", Webhook: "wh_1", Seq: 7}})
		if added := x.inMemory.Load() > c.held; added != c.added || added != (len(x.lines) == 1) || x.more[0] != c.more {
			t.Errorf("%s: held %v, in line %d, more %v", what, added, len(x.lines), x.more)
		}
	}
}

// TestWhatIsTooMuchToHandOverIsToBeRead, and so is all that comes after it.
func TestWhatIsTooMuchToHandOverIsToBeRead(t *testing.T) {
	s := newSender(&Service{Now: time.Now}, nil)
	behind := s.openSession("wh_2", nil, "usr_1")
	behind.known, behind.more = true, [urgencies]bool{}
	behind.handed(store.PlacedDelivery{Delivery: store.Delivery{ID: "dlv_9", Webhook: "wh_2", Seq: 9}, Behind: 8})
	if len(behind.lines) != 0 || !behind.more[0] {
		t.Error("one is taken up before what was put before it is known")
	}
	s.forget(behind)
	x := s.openSession("wh_1", nil, "usr_1")
	s.hand(make([]store.PlacedDelivery, handedMost)) // another's
	for range handedMost + 2 {
		s.hand([]store.PlacedDelivery{{Delivery: store.Delivery{Webhook: "wh_1"}}})
	}
	if len(x.inbox.rows) != handedMost || !x.inbox.unread {
		t.Errorf("%d rows, to be read %v", len(x.inbox.rows), x.inbox.unread)
	}
	if s.session("wh_2") != nil {
		t.Error("a session of another webhook")
	}
}
