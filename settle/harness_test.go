package settle_test

import (
	"testing"
	"time"

	"purser/e2e/world"
	"purser/wallet"
)

const sol = world.SOL

// harness is the money path without its fronts: Alice, who pays, and Bob, who is paid.
type harness struct {
	*world.World
	alice, bob *world.Person
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	w := world.New(t, world.Options{Timeout: 2 * time.Second})
	return &harness{World: w, alice: w.Rich(1001, "Alice", 10*sol), bob: w.Rich(1002, "Bob", sol)}
}

// confirmed has Alice pay Bob, up to and with Confirm.
func (r *harness) confirmed(amount string) wallet.Transaction {
	r.Helper()
	return r.Confirmed(r.alice, r.bob.Address(), amount, "SOL")
}

// signed has Alice pay Bob, up to and with the device's signature.
func (r *harness) signed(amount string) wallet.Transaction {
	r.Helper()
	return r.Signed(r.alice, r.bob.Address(), amount, "SOL")
}

func (r *harness) is(id wallet.TransactionID, want wallet.Status) wallet.Transaction {
	r.Helper()
	t := r.Transaction(id)
	if t.Status != want {
		r.Fatalf("the transaction is %s (held %v, %s %v), want %s", t.Status, t.Indeterminate, t.ErrorCode, t.ErrorReason, want)
	}
	return t
}

func (r *harness) paid(lamports uint64) {
	r.Helper()
	if got := r.Cluster.Balance(r.bob.Address().String()); got != sol+lamports {
		r.Fatalf("Bob holds %d lamports, want %d", got, sol+lamports)
	}
}
