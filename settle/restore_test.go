package settle_test

import (
	"testing"

	"purser/store"
	"purser/wallet"
)

// TestALostJobComesBackWhenSettlingBegins: a signed payment without its job was never broadcast.
func TestALostJobComesBackWhenSettlingBegins(t *testing.T) {
	r := newHarness(t)
	payments := map[wallet.Signature]bool{}
	const many = 1_001 // more than two pages
	for n := range many {
		t := r.sign(n)
		payments[t.Signature] = true
		r.Must(r.Update(func(tx store.Tx) error { return tx.RemoveJobs(store.Settlement, store.JobID(t.ID)) }))
	}
	node := newScripted()
	r.Settler.Chain = node
	stop := r.run(r.Settler)
	defer stop()
	for len(payments) > 0 {
		delete(payments, await(t, "a broadcast of every payment", node.sent))
	}
}
