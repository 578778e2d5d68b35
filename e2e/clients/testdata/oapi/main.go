// A program with the client that oapi-codegen makes of openapi.json. generated_test.go generates it and runs this.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	"generated/client"
)

func main() {
	base, key, from, to := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	ctx := context.Background()
	purser, err := client.NewClientWithResponses(base, client.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+key)
		return nil
	}))
	if err != nil {
		log.Fatal(err)
	}
	me, err := purser.ReadKeyWithResponse(ctx, nil)
	if err != nil || me.JSON200 == nil {
		log.Fatalf("read the key: %v, %s", err, me.Body)
	}
	fmt.Println("tier", me.JSON200.Data.Tier)

	send := func(amount string) *client.SendResponse {
		var exact client.SendRequest_Amount
		if err := exact.FromSendRequestAmount0(amount); err != nil {
			log.Fatal(err)
		}
		sent, err := purser.SendWithResponse(ctx, nil, client.SendJSONRequestBody{From: from, To: to, Amount: exact, Token: "SOL"})
		if err != nil {
			log.Fatal(err)
		}
		return sent
	}
	sent := send("1e-3")
	if sent.JSON202 == nil {
		log.Fatalf("send: %s", sent.Body)
	}
	read, err := purser.ReadTransactionWithResponse(ctx, sent.JSON202.Data.TransactionId, nil)
	if err != nil || read.JSON200 == nil {
		log.Fatalf("read the transaction: %v", err)
	}
	fmt.Println("sent", read.JSON200.Data.Amount, read.JSON200.Data.Status)
	if refused := send("1000"); refused.JSON422 == nil {
		log.Fatalf("too much: %s", refused.Body)
	}
	fmt.Println("refused")
}
