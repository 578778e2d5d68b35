package webhooks

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// counted is a store that knows only how many jobs there are.
type counted struct {
	store.Store
	inFlight, all, waiting, reads int
}

func (c *counted) View(_ context.Context, read func(store.Tx) error) error {
	c.reads++
	return read(countedTx{counted: c})
}

// countedTx reads the counts of a counted.
type countedTx struct {
	store.Tx
	counted *counted
}

func (c countedTx) CountInFlight(store.Queue, string) (int, error) { return c.counted.inFlight, nil }
func (c countedTx) CountJobs(store.Queue, string) (int, error)     { return c.counted.all, nil }
func (c countedTx) JobStats(store.Queue) (store.JobStats, error) {
	return store.JobStats{Waiting: c.counted.waiting}, nil
}

// TestAsManySessionsGiveWayAsJobsWait: with the sessions of all nodes counted, not with those of this one.
func TestAsManySessionsGiveWayAsJobsWait(t *testing.T) {
	for _, c := range []struct {
		what                     string
		here, inFlight, all, may int
	}{
		{"half of them are on another node", sessionsOfOwner / 2, sessionsOfOwner, sessionsOfOwner + 3, 3},
		{"nobody waits", sessionsOfOwner, sessionsOfOwner, sessionsOfOwner, 0},
		{"there is a place", sessionsOfOwner / 2, sessionsOfOwner - 1, sessionsOfOwner + 3, 0},
	} {
		db := &counted{inFlight: c.inFlight, all: c.all}
		p := places{store: db, log: slog.New(slog.DiscardHandler), owners: map[wallet.UserID]*crowd{}}
		for range c.here {
			p.enter("usr_1")
		}
		gaveWay := 0
		for range c.here {
			if p.yields(t.Context(), "usr_1") {
				gaveWay++
			}
		}
		if gaveWay != c.may || db.reads != 1 {
			t.Errorf("%s: %d give way, not %d, after %d reads", c.what, gaveWay, c.may, db.reads)
		}
		for range gaveWay {
			p.leave("usr_1", true)
		}
		if got := p.yields(t.Context(), "usr_1"); got != (c.may > 0) {
			t.Errorf("%s: once those have left, the next gives way: %v", c.what, got)
		}
	}
}

// TestANodeWithoutPlacesLetsOwnersTakeTurns: whoever has few sessions gives way, too, where the node has no more.
func TestANodeWithoutPlacesLetsOwnersTakeTurns(t *testing.T) {
	p := places{store: &counted{inFlight: 1, all: 1, waiting: 1}, log: slog.New(slog.DiscardHandler), owners: map[wallet.UserID]*crowd{}}
	p.enter("usr_1")
	p.node.here = sessionsAtOnce - 1
	if p.yields(t.Context(), "usr_1") {
		t.Error("it gives way while there is a place")
	}
	p.enter("usr_2")
	if !p.yields(t.Context(), "usr_1") || p.yields(t.Context(), "usr_2") {
		t.Error("not one session gave way to the one job that waits")
	}
}

// TestACrowdIsCountedOnAllNodes: sessions that only wait leave by the count of all nodes, which is asked for once a second.
func TestACrowdIsCountedOnAllNodes(t *testing.T) {
	db := &counted{inFlight: crowdedOwner, all: crowdedOwner}
	p := places{store: db, log: slog.New(slog.DiscardHandler), owners: map[wallet.UserID]*crowd{}}
	for range fewOfOwner + 1 {
		p.enter("usr_1")
	}
	if p.crowded(t.Context(), "usr_1") || db.reads != 1 {
		t.Errorf("crowded with %d sessions, after %d reads", db.inFlight, db.reads)
	}
	db.inFlight++
	p.owners["usr_1"].countedAt = time.Now().Add(-countEvery)
	for range 2 {
		if !p.crowded(t.Context(), "usr_1") || db.reads != 2 {
			t.Errorf("not crowded with %d sessions, after %d reads", db.inFlight, db.reads)
		}
	}
}
