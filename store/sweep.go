package store

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// Sweeper removes rows whose time is over, in small steps that do not delay other writers. One node sweeps; the others
// try to get its lease, in case it is gone.
type Sweeper struct {
	Store Store
	Node  string // the name of this node (see Claim)
	Now   func() time.Time
	Log   *slog.Logger
	Every time.Duration // between two sweeps
}

const (
	// sweepAtOnce is how many rows one transaction removes.
	sweepAtOnce = 500
	// sweepLease is the lease of the sweeping node, in sweeps: so long does a dead node keep the others from sweeping.
	sweepLease = 3
)

// Run sweeps until ctx ends. It returns only an error that is final (Final). Others
// are logged, and the next sweep tries again.
func (s *Sweeper) Run(ctx context.Context) error {
	ticker := time.NewTicker(s.Every)
	defer ticker.Stop()
	for {
		if err := s.sweep(ctx); IsFatal(err) {
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

// sweep removes rows until none is left whose time is over, one transaction after the other.
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
