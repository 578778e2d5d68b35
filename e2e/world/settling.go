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
	w.Settler = &settle.Settler{Store: w.Store, Chain: w.Chain, Now: w.Now, Pace: settle.DefaultPace(),
		Log: slog.New(slog.NewTextHandler(&w.warnings, &slog.HandlerOptions{Level: slog.LevelWarn}))}
}

// Trouble says that the settler may fail until Whole: the test is about that.
func (w *World) Trouble() { w.troubled = true }

// Look lets the settler look once. Whatever it cannot do fails the test, unless Trouble is expected.
func (w *World) Look() {
	w.Helper()
	_, err := w.Settler.Round(context.Background())
	if warned := w.warnings.String(); !w.troubled && (err != nil || warned != "") {
		w.Errorf("settling failed: %v\n%s", err, warned)
	}
	w.warnings.Reset()
}

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
		if t := w.Transaction(id); t.Closed {
			return t
		}
		w.Blocks(2)
	}
	t := w.Transaction(id)
	w.Fatalf("after %d rounds the transaction is %s, held %v", most, t.Status, t.Indeterminate)
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
