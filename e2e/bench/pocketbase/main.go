// Command pocketbase serves PocketBase, as a bound for the benchmark of sends (e2e/bench): one collection with the fields of a
// transaction, in which anybody may create a record. It is a module of its own, so that purser needs nothing of it.
//
//	pocketbase serve --http 127.0.0.1:8090 --dir /tmp/pb
//
// With SYNCHRONOUS=FULL its commits are on the disk before it answers, as purser's are. PocketBase's own setting is NORMAL.
package main

import (
	"log"
	"os"
	"strings"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"
)

// collection is the name that requests are for: /api/collections/transactions/records.
const collection = "transactions"

// connect opens a database as PocketBase does (core.DefaultDBConnect), with the setting of SYNCHRONOUS.
func connect(path string) (*dbx.DB, error) {
	pragmas := []string{"busy_timeout(10000)", "journal_mode(WAL)", "journal_size_limit(200000000)", "synchronous(" + os.Getenv("SYNCHRONOUS") + ")",
		"foreign_keys(ON)", "temp_store(MEMORY)", "cache_size(-32000)"}
	return dbx.Open("sqlite", path+"?_pragma="+strings.Join(pragmas, "&_pragma="))
}

func main() {
	config := pocketbase.Config{}
	if os.Getenv("SYNCHRONOUS") != "" {
		config.DBConnect = connect
	}
	app := pocketbase.NewWithConfig(config)
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
