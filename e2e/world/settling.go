package world

import (
	"context"
	"log/slog"

	"purser/settle"
	"purser/store"
	"purser/wallet"
)

// Restart begins settling anew, with nothing but what the store holds.
func (w *World) Restart() {
	w.Settler = &settle.Settler{Store: w.Store, Chain: w.Chain, Now: w.Now, Log: slog.New(slog.DiscardHandler), Pace: settle.DefaultPace()}
}

// Look lets the settler look once. What it cannot do is part of what tests are about: they see it in
// the rows.
func (w *World) Look() { _, _ = w.Settler.Round(context.Background()) }

// Rounds lets the settler look n times, with a poll's time after each.
func (w *World) Rounds(n int) {
	for range n {
		w.Look()
		w.Pass(w.Settler.Pace.Poll)
	}
}

// Settled lets blocks come and the settler look until nothing can change a transaction any more.
func (w *World) Settled(id wallet.TransactionID) wallet.Transaction {
	w.Helper()
	const most = 100 // rounds; finality takes 32 blocks
	for range most {
		w.Rounds(1)
		if t := w.Transaction(id); t.Final {
			return t
		}
		w.Blocks(2)
	}
	t := w.Transaction(id)
	w.Fatalf("after %d rounds the transaction is %s, held %v", most, t.Status, t.Held)
	return t
}

// UntilIdle is a store for a worker that shall do what there is to do, and end: as soon as it would
// wait for news, Idle is called.
type UntilIdle struct {
	store.Store
	Idle context.CancelFunc
}

// Changed takes the wish to wait for the end of work.
func (s UntilIdle) Changed(store.Queue) <-chan struct{} {
	s.Idle()
	return nil
}
