package webhooks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"purser/quota"
	"purser/store"
	"purser/wallet"
	"purser/work"
)

const (
	// drainFor is how long what is on its way has when the service stops.
	drainFor = 5 * time.Second
	// giveUpAfter is after how long of nothing but failures a webhook is turned off.
	giveUpAfter = 72 * time.Hour
	// housekeepingEvery is how often days of the log whose time is over are looked for, jobs that are missing, and backlogs.
	housekeepingEvery = time.Hour
)

// Transport makes one attempt at a delivery. A Poster is the one of production.
type Transport interface {
	Post(ctx context.Context, m Message) Result
}

// Service carries events to webhooks. It runs on every node: what is to be done are jobs (store.Relay, store.Deliveries),
// and each node does those that it claims.
type Service struct {
	Store     store.Store
	Node      string // the name of this node, the same in each of its lives (see work.Pool)
	Log       store.DeliveryLog
	Transport Transport
	Meter     *quota.Meter
	Limit     quota.Limit   // events an hour of one webhook: what is over it is delayed
	Schedule  work.Schedule // of the attempts at one delivery; without Random, so that a developer can foresee them
	Retention time.Duration // how long the log is kept
	// Poll is how often this node looks for what other nodes put. 0: once a second. What is put here wakes it.
	Poll   time.Duration
	Now    func() time.Time
	Logger *slog.Logger

	running       atomic.Pointer[sender]
	subscriptions subscriptionCache
	listeners     listeners
}

// Run delivers until ctx ends; what is on its way then is waited for. Its error is the store's, after which
// nothing is certain.
func (s *Service) Run(ctx context.Context) error {
	if err := s.removeOwnListeners(ctx); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	x := newSender(s, ctx.Done())
	s.running.Store(x)
	defer s.running.Store(nil)
	group.Go(x.record.run)
	group.Go(func() error { return s.runHousekeeping(ctx) })
	group.Go(func() error { return s.runHeartbeat(ctx) })
	var pools sync.WaitGroup
	pools.Add(2)
	for _, pool := range []*work.Pool{x.pool, x.relays} {
		group.Go(func() error {
			defer pools.Done()
			return pool.Run(ctx)
		})
	}
	end := s.listeners.attach(ctx, x)
	group.Go(func() error {
		pools.Wait()
		end()
		x.busy.Wait()
		x.record.close()
		return nil
	})
	return group.Wait()
}

// Wake says that something was added by hand to what waits for a webhook, or that it was changed.
func (s *Service) Wake(id wallet.WebhookID) {
	x := s.running.Load()
	if x == nil {
		return
	}
	if of := x.session(id); of != nil {
		of.inbox.leave(func(in *inbox) { in.unread, in.changed = true, true })
	}
}

// runHousekeeping drops the days of the log whose time is over, puts jobs that are missing, and ends backlogs, now and once
// an hour.
func (s *Service) runHousekeeping(ctx context.Context) error {
	var behind map[wallet.WebhookID]bool
	for served := false; ; served = true {
		if _, err := s.Log.DropBefore(ctx, s.Now().Add(-s.Retention)); err != nil && ctx.Err() == nil {
			s.Logger.Warn("old deliveries cannot be dropped from the log", "error", err)
		}
		err := s.Store.Update(ctx, func(tx store.Tx) error { return tx.RestoreDeliveryJobs(s.Now()) })
		switch {
		case errors.Is(err, store.ErrUnknownOutcome), errors.Is(err, store.ErrClosed):
			return fmt.Errorf("restore the jobs of webhooks: %w", err)
		case err != nil && ctx.Err() == nil:
			s.Logger.Error("the jobs of webhooks could not be looked through: it is tried again in an hour", "error", err)
		}
		switch behind, err = s.endBacklogs(ctx, served, behind); {
		case errors.Is(err, store.ErrUnknownOutcome), errors.Is(err, store.ErrClosed):
			return err
		case err != nil && ctx.Err() == nil:
			s.Logger.Error("backlogs of webhooks could not be looked at: it is tried again in an hour", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(housekeepingEvery):
		}
	}
}
