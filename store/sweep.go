package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Sweeper removes what has had its time, in small steps that hold nobody up. Of several nodes one sweeps: the others look
// whether its lease is over.
type Sweeper struct {
	Store Store
	Node  string // the name of this node (see Claim)
	Now   func() time.Time
	Log   *slog.Logger
	Every time.Duration
}

const (
	// sweepAtOnce bounds one transaction of the sweep.
	sweepAtOnce = 500
	// sweepLease is for how many sweeps a node that is gone keeps the others from sweeping.
	sweepLease = 3
)

// Run sweeps until ctx ends.
func (s *Sweeper) Run(ctx context.Context) error {
	ticker := time.NewTicker(s.Every)
	defer ticker.Stop()
	for {
		if err := s.sweep(ctx); errors.Is(err, ErrUnknownOutcome) {
			return fmt.Errorf("sweep: %w", err)
		} else if err != nil && ctx.Err() == nil {
			s.Log.Warn("sweeping the store failed", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (s *Sweeper) sweep(ctx context.Context) error {
	for {
		var removed int
		err := s.Store.Update(ctx, func(tx Tx) error {
			removed = 0
			now := s.Now()
			leads, err := tx.Lead("sweep", s.Node, now, sweepLease*s.Every)
			if leads && err == nil {
				removed, err = tx.Sweep(now, sweepAtOnce)
			}
			return err
		})
		if err != nil || removed < sweepAtOnce || ctx.Err() != nil {
			return err
		}
	}
}
