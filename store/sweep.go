package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Sweeper removes what has had its time, in small steps that hold nobody up.
type Sweeper struct {
	Store Store
	Now   func() time.Time
	Log   *slog.Logger
	Every time.Duration
}

// sweepAtOnce bounds one transaction of the sweep.
const sweepAtOnce = 500

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
			var err error
			removed, err = tx.Sweep(s.Now(), sweepAtOnce)
			return err
		})
		if err != nil || removed < sweepAtOnce || ctx.Err() != nil {
			return err
		}
	}
}
