// Command pocketbase serves PocketBase, as a bound for the benchmark of sends (e2e/bench): one collection with the fields of a
// transaction, in which anybody may create a record. It is a module of its own, so that purser needs nothing of it.
//
//	pocketbase serve --http 127.0.0.1:8090 --dir /tmp/pb
package main

import (
	"log"

	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"
)

// collection is the name that requests are for: /api/collections/transactions/records.
const collection = "transactions"

func main() {
	app := pocketbase.New()
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		if _, err := e.App.FindCollectionByNameOrId(collection); err != nil {
			c := core.NewBaseCollection(collection)
			c.CreateRule = types.Pointer("") // anybody
			c.Fields.Add(
				&core.TextField{Name: "sender", Required: true}, &core.TextField{Name: "recipient", Required: true},
				&core.TextField{Name: "amount", Required: true}, &core.TextField{Name: "token", Required: true},
				&core.TextField{Name: "idempotency_key", Required: true}, &core.TextField{Name: "status"},
				&core.AutodateField{Name: "created", OnCreate: true},
			)
			// What a send is found by: its wallet, newest first, and its idempotency key, once.
			c.AddIndex("by_wallet", false, "sender, created", "")
			c.AddIndex("by_idempotency_key", true, "idempotency_key", "")
			if err := e.App.Save(c); err != nil {
				return err
			}
		}
		return e.Next()
	})
	if err := app.Start(); err != nil {
		log.Fatal(err)
	}
}
