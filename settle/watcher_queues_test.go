package settle_test

import (
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// TestOtherWorkHidesNoArrivingPayment: however many jobs of other kinds wait for a person, ten arriving payments are shown,
// and the next ones as soon as there is room.
func TestOtherWorkHidesNoArrivingPayment(t *testing.T) {
	r, e, sweep := onEarly(t)
	owner := r.bob.User.ID
	var wallets []wallet.Address
	r.Must(r.Update(func(tx store.Tx) error {
		for i := range 12 {
			w := wallet.Wallet{Address: wallet.Address{100, byte(i)}, Owner: owner, ConnectedAt: r.Now()}
			wallets = append(wallets, w.Address)
			if err := tx.PutWallet(w); err != nil {
				return err
			}
		}
		return nil
	}))
	sweep(0)
	standing := func() {
		r.Must(r.Update(func(tx store.Tx) error {
			for _, at := range wallets { // none of them is due, as with wallets that have stakes
				for _, queue := range []store.Queue{store.WalletScans, store.ArrivalSearches, store.StakeChecks, store.FoldedSummaries} {
					job := store.Job{ID: store.JobID("waits " + at.String()), Queue: queue, Owner: string(owner), At: r.Now(), NotBefore: r.Now().Add(24 * time.Hour), About: owner}
					if _, err := tx.PutJobs([]store.Job{job}, nil); err != nil {
						return err
					}
				}
			}
			return nil
		}))
	}
	standing()
	for i, at := range wallets {
		e.pays(at, uint64(i+1)*sol)
	}
	for range 16 {
		sweep(15 * time.Second)
	}
	if got := r.arrivals(); len(got) != 10 {
		t.Fatalf("of 12 arriving payments %d are shown: %q", len(got), got)
	}
	r.expect()
}

// TestAQueueHasAWorkerOfItsOwn: each kind of the watcher's work has a pool, and no pool takes the work of another.
func TestAQueueHasAWorkerOfItsOwn(t *testing.T) {
	r, _ := onLedger(t)
	seen := map[store.Queue]bool{}
	for _, pool := range r.Watcher.Pools() {
		if seen[pool.Queue] || pool.Width < 1 || pool.PerOwner < 1 || pool.PerOwner > pool.Width || pool.Window > pool.Width {
			t.Errorf("%s: %+v", pool.Queue, pool)
		}
		seen[pool.Queue] = true
		if _, err := pool.Handle(t.Context(), store.Job{Queue: "another"}); err == nil {
			t.Errorf("%s does the work of another queue", pool.Queue)
		}
	}
	for _, queue := range store.JobQueues() {
		if queue.Worker == "settle" && queue.Queue != store.Settlement && queue.Queue != store.Collecting && !seen[queue.Queue] {
			t.Errorf("nobody empties %s", queue.Queue)
		}
	}
	for _, bad := range []store.Job{{Queue: store.WalletScans, ID: "x"}, {Queue: store.ArrivalSearches, Body: []byte("{")}, {Queue: store.ArrivingPayments, Body: []byte("{")}} {
		if _, err := r.Watcher.Handle(t.Context(), bad); err == nil {
			t.Errorf("%s: a job without sense was done", bad.Queue)
		}
	}
}
