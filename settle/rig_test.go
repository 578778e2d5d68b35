package settle_test

import (
	"testing"
	"time"

	"purser/e2e/world"
	"purser/wallet"
)

const sol = world.SOL

// rig is the money path without its fronts: Alice, who pays, and Bob, who is paid.
type rig struct {
	*world.World
	alice, bob *world.Person
}

func newRig(t *testing.T) *rig {
	t.Helper()
	w := world.New(t, world.Options{Timeout: 2 * time.Second})
	return &rig{World: w, alice: w.Rich(1001, "Alice", 10*sol), bob: w.Rich(1002, "Bob", sol)}
}

// confirmed has Alice pay Bob, up to and with Confirm.
func (r *rig) confirmed(amount string) wallet.Transaction {
	r.Helper()
	return r.Confirmed(r.alice, r.bob.Address(), amount, "SOL")
}

// signed has Alice pay Bob, up to and with the device's signature.
func (r *rig) signed(amount string) wallet.Transaction {
	r.Helper()
	return r.Signed(r.alice, r.bob.Address(), amount, "SOL")
}

func (r *rig) is(id wallet.TransactionID, want wallet.Status) wallet.Transaction {
	r.Helper()
	t := r.Transaction(id)
	if t.Status != want {
		r.Fatalf("the transaction is %s (held %v, %s %v), want %s", t.Status, t.Indeterminate, t.ErrorCode, t.ErrorReason, want)
	}
	return t
}

func (r *rig) paid(lamports uint64) {
	r.Helper()
	if got := r.Cluster.Balance(r.bob.Address().String()); got != sol+lamports {
		r.Fatalf("Bob holds %d lamports, want %d", got, sol+lamports)
	}
}
