package store_test

import (
	"reflect"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// TestAnEventIsReadAsItWasWritten, whatever its subject and data hold; and a body that is cut anywhere before its data is
// an error.
func TestAnEventIsReadAsItWasWritten(t *testing.T) {
	whole := wallet.Event{ID: "evt_1", Name: wallet.TransactionFailed, At: time.Date(2026, 11, 22, 12, 0, 0, 5, time.UTC), User: "usr_1",
		Transaction: "tx_1", To: "app_1", Subject: "a line\nand another", Data: []byte("{\"a\": \"<b>\n\"}")}
	bare := wallet.Event{ID: "evt_2", Name: wallet.MessageReceived}
	for _, e := range []wallet.Event{whole, bare} {
		head, err := store.EventHead(e)
		if err != nil {
			t.Fatal(err)
		}
		body := store.EventBody(head, e)
		got, err := store.EventOf(store.Job{Body: body})
		if len(got.Data) == 0 {
			got.Data = nil
		}
		if err != nil || !reflect.DeepEqual(got, e) {
			t.Errorf("read %+v, %v; want %+v", got, err, e)
		}
		for length := range len(body) - len(e.Data) {
			if got, err := store.EventOf(store.Job{Body: body[:length]}); err == nil {
				t.Errorf("of %d bytes it read %+v", length, got)
			}
		}
	}
}
