package settle_test

import (
	"strings"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// TestASummaryAndStakesCostNoScan: they are written while a wallet's transactions are read, and the scan need not read them again.
func TestASummaryAndStakesCostNoScan(t *testing.T) {
	r, chain := onLedger(t)
	at := r.bob.Address()
	chain.pay(at, 1)
	r.final()
	r.Pass(time.Hour) // the summary of it is due
	chain.pay(at, 1)
	chain.pay(at, sol)
	r.Must(r.Watcher.Sweep(t.Context()))
	var scan, summary store.Job
	for _, job := range r.Due(r.Watcher, 10) {
		switch {
		case job.Queue == store.FoldedSummaries:
			summary = job
		case job.ID == store.JobID(at.String()):
			scan = job
		}
	}
	result, err := r.Watcher.Handle(t.Context(), scan)
	r.Must(err)
	r.handle(summary)
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.PutWatchedStakes(wallet.WatchedStakes{Address: at, ReadAt: r.Now(), Rewarded: 6})
	}))
	if err := r.Update(result.Commit); err != nil {
		t.Fatalf("the scan has to be made again: %v", err)
	}
	r.counts(1)
	r.expect("1 SOL to bob")
	if n := r.folded(at); n != 1 {
		t.Errorf("%d are left for the next summary", n)
	}
}

// TestANewBeginningForgetsNeitherStakesNorWhatWasFolded: only how far the history was read is lost with its row.
func TestANewBeginningForgetsNeitherStakesNorWhatWasFolded(t *testing.T) {
	r, chain := onLedger(t)
	at := r.bob.Address()
	chain.pay(at, 1)
	r.final()
	stakes := wallet.WatchedStakes{Address: at, ReadAt: r.Now(), Rewarded: 6}
	r.Must(r.Update(func(tx store.Tx) error { return tx.PutWatchedStakes(stakes) }))
	r.Must(r.Update(func(tx store.Tx) error { return tx.DropWatch(at) })) // as startOver does
	r.final()
	r.View(func(tx store.Tx) error {
		row, err := tx.WatchedStakes(at)
		if err != nil || row.Rewarded != 6 {
			t.Errorf("of the stakes is left %+v, %v", row, err)
		}
		return nil
	})
	r.Pass(time.Hour)
	r.look()
	r.counts(1)
}

// TestADamagedCountBeginsAnew: it is no reason to announce nothing, and the operator is told.
func TestADamagedCountBeginsAnew(t *testing.T) {
	for name, next := range map[string]func(r *watching, chain *moneyLedger){
		"a scan": func(r *watching, chain *moneyLedger) {
			chain.pay(r.bob.Address(), 2)
			chain.pay(r.bob.Address(), sol)
			r.final()
			r.expect("1 SOL to bob")
		},
		"the summary": func(*watching, *moneyLedger) {},
	} {
		t.Run(name, func(t *testing.T) {
			r, chain := onLedger(t)
			at := r.bob.Address()
			chain.pay(at, 1)
			r.final()
			r.Damage(at[:], `"count"`)
			want := []uint64{1}
			if next(r, chain); name == "the summary" {
				want = nil
			}
			r.Pass(time.Hour)
			r.look()
			r.counts(want...)
			if !strings.Contains(r.log.String(), "the count starts again at 0") {
				t.Error(r.log)
			}
			chain.pay(at, 1)
			r.final()
			r.Pass(time.Hour)
			r.look()
			r.counts(append(want, 1)...)
		})
	}
}
