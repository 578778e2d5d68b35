package webhooks

import (
	"context"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"purser/quota"
	"purser/store"
	"purser/wallet"
)

const (
	// drainFor is how long what is on its way has when the service stops.
	drainFor = 5 * time.Second
	// readAgain is the pause after the store could not be read.
	readAgain = time.Second
	// giveUpAfter is after how long of nothing but failures a webhook is turned off.
	giveUpAfter = 72 * time.Hour
	// dropEvery is how often days of the log whose time is over are looked for.
	dropEvery = time.Hour
)

// Service carries events to webhooks. One of it runs for one store.
type Service struct {
	Store     store.Store
	Log       store.DeliveryLog
	Post      func(context.Context, Message) Result // a Poster's
	Meter     *quota.Meter
	Limit     quota.Limit     // events an hour of one webhook: what is over it is delayed
	Schedule  []time.Duration // pauses before the second attempt, the third ...
	Retention time.Duration   // how long the log is kept
	Now       func() time.Time
	Logger    *slog.Logger

	pending       pending
	subscriptions subscriptionCache
	listeners     listeners
}

// Run delivers until ctx ends; what is on its way then is waited for. Its error is the store's, after which
// nothing is certain.
func (s *Service) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	cutoff, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(drainFor, cut) })()
	if err := s.hangUp(ctx); err != nil {
		return err
	}
	record := newRecorder(s)
	group.Go(func() error { return s.relay(ctx) })
	group.Go(func() error { return s.dropOldLogs(ctx) })
	group.Go(func() error {
		defer record.close()
		return s.dispatch(ctx, cutoff, record)
	})
	group.Go(record.run)
	return group.Wait()
}

// Wake says that something was added by hand to what waits for a webhook, or that it was changed.
func (s *Service) Wake(id wallet.WebhookID) { s.pending.add(id) }

// dropOldLogs drops the days of the log whose time is over.
func (s *Service) dropOldLogs(ctx context.Context) error {
	for {
		if _, err := s.Log.DropBefore(ctx, s.Now().Add(-s.Retention)); err != nil && ctx.Err() == nil {
			s.Logger.Warn("old deliveries cannot be dropped from the log", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(dropEvery):
		}
	}
}
