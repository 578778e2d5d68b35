package purser_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	purser "purser/clients/go"
)

// standIn answers every request with data; a real program names its purser's address instead.
func standIn(data string) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"success":true,"data":`+data+`,"message":"","timestamp":""}`) // the example's own client reads it
	}))
}

func ExampleClient_Balance() {
	server := standIn(`{"address":"7Np4…","balances":{"SOL":{"amount":"1.5","reserved":"0","usd_value":"","mint":"","decimals":9}},"total_usd_value":"","updated_at":"2026-01-31T12:00:00Z"}`)
	defer server.Close()
	client := purser.New(server.URL, "pur_test_EXAMPLE")

	balance, err := client.Balance(context.Background(), "7Np4…")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(balance.Balances["SOL"].Amount, "SOL at", balance.UpdatedAt.Format(time.TimeOnly))
	// Output: 1.5 SOL at 12:00:00
}

func ExampleClient_Send() {
	server := standIn(`{"transaction_id":"tx_1","status":"awaiting_confirmation","recipient":"9xQe…","expires_at":"2026-01-31T12:05:00Z","unsigned_transaction":null}`)
	defer server.Close()
	client := purser.New(server.URL, "pur_test_EXAMPLE")

	// Named after the order, the payment is proposed once, however often this runs.
	ctx := purser.WithIdempotencyKey(context.Background(), "order-17")
	proposal, err := client.Send(ctx, purser.SendRequest{From: "7Np4…", To: "9xQe…", Amount: "0.5", Token: "SOL"})
	var refused *purser.Error
	switch {
	case errors.As(err, &refused) && refused.Code == purser.InsufficientFunds:
		fmt.Println("too little money:", refused.Details)
	case err != nil:
		fmt.Println(err)
	default:
		fmt.Println(proposal.TransactionID, "is", proposal.Status)
	}
	// Output: tx_1 is awaiting_confirmation
}

func ExampleClient_Transactions() {
	server := standIn(`{"transactions":[{"transaction_id":"tx_2","status":"received","amount":"2"},{"transaction_id":"tx_1","status":"received","amount":"0.5"}],"next_cursor":""}`)
	defer server.Close()
	client := purser.New(server.URL, "pur_test_EXAMPLE")

	for t, err := range client.Transactions(context.Background(), purser.TransactionFilter{Type: "receive", Token: "SOL"}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(t.TransactionID, t.Amount)
	}
	// Output:
	// tx_2 2
	// tx_1 0.5
}

func ExampleSign() {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize)) // yours, from where you keep it

	// What is to be paid is the program's own knowledge, and nothing that purser said.
	want := purser.Expected{To: "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin", Amount: "0.5", Token: "SOL"}
	_, err := purser.Sign("AgAA", key, want) // proposal.UnsignedTransaction
	fmt.Println(err)
	// Output: purser: the transaction has not one empty signature
}

func ExampleVerifyWebhook() {
	receive := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			return
		}
		if err := purser.VerifyWebhook("whsec_…", r.Header, body, time.Now()); err != nil {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		w.WriteHeader(http.StatusOK) // soon: purser waits 30 s at most
	}

	w := httptest.NewRecorder()
	receive(w, httptest.NewRequest("POST", "/hook", bytes.NewReader([]byte(`{"event":"transaction.received"}`))))
	fmt.Println(w.Code)
	// Output: 401
}
