package webhooks

import (
	"context"
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
	// drainFor is how long attempts in flight may take to finish when the service stops.
	drainFor = 5 * time.Second
	// giveUpAfter is how long a webhook may fail without one success before it is turned off.
	giveUpAfter = 72 * time.Hour
	// housekeepingEvery is how often expired days of the log are dropped, missing jobs restored and old backlogs ended.
	housekeepingEvery = time.Hour
)

// Transport makes one attempt at a delivery. A Poster is the one of production.
type Transport interface {
	Post(ctx context.Context, m Message) Result
}

// Service delivers events to webhooks, at least once each. It runs on every node. Its work is two queues of jobs, and each
// node does the jobs that it claims: store.Relay has one job, which turns events into deliveries; store.Deliveries has one for
// each webhook with deliveries that wait.
//
// Set the exported fields before Run. Run runs once. The other methods may be called at any time, by any goroutine.
type Service struct {
	Store     store.Store
	Node      string            // name of this node, the same after each restart (see work.Pool)
	Log       store.DeliveryLog // outcomes of deliveries, for developers to read
	Transport Transport
	Meter     *quota.Meter  // counts the events of each webhook, over all nodes
	Limit     quota.Limit   // events an hour of one webhook; those beyond it are delayed, not dropped
	Schedule  work.Schedule // waits between the attempts at one delivery; without Random, so that developers can foresee them
	Retention time.Duration // how long the delivery log is kept
	// Poll is how often this node looks for jobs that other nodes put. 0: once a second. Jobs put on this node wake it at
	// once.
	Poll   time.Duration
	Now    func() time.Time
	Logger *slog.Logger

	running       atomic.Pointer[sender] // nil while Run does not run
	subscriptions subscriptionCache
	listeners     listeners
}

// Run delivers until ctx ends. It then waits for the attempts in flight, at most drainFor, and writes their results. An error
// is one of the store after which nothing is certain (store.ErrUnknownOutcome, store.ErrClosed): the process must end.
func (s *Service) Run(ctx context.Context) error {
	// Connections of listeners ended with the previous process of this node, so their webhooks go too.
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
	// The order of the end: no new sessions, then no attempt in flight, and only then the last write of the recorder.
	group.Go(func() error {
		pools.Wait()
		end()
		x.busy.Wait()
		x.record.close()
		return nil
	})
	return group.Wait()
}

// Wake makes the session of a webhook read its deliveries and its settings again, after a resend or a change of the webhook.
// Without a session on this node it does nothing: the next session reads both anyway.
func (s *Service) Wake(id wallet.WebhookID) {
	x := s.running.Load()
	if x == nil {
		return
	}
	if of := x.session(id); of != nil {
		of.inbox.put(func(in *inbox) { in.unread, in.changed = true, true })
	}
}

// runHousekeeping drops expired days of the log, restores missing jobs, and turns off webhooks whose backlog is too old
// (endBacklogs), at the start and once an hour. A failure is logged and tried again an hour later. Only an error after which
// the store cannot go on is returned.
func (s *Service) runHousekeeping(ctx context.Context) error {
	var behind map[wallet.WebhookID]bool // webhooks that were behind when endBacklogs looked last
	for served := false; ; served = true {
		if _, err := s.Log.DropBefore(ctx, s.Now().Add(-s.Retention)); err != nil && ctx.Err() == nil {
			s.Logger.Warn("old deliveries cannot be dropped from the log", "error", err)
		}
		err := s.Store.Update(ctx, func(tx store.Tx) error { return tx.RestoreDeliveryJobs(s.Now()) })
		switch {
		case store.IsFatal(err):
			return fmt.Errorf("restore the jobs of webhooks: %w", err)
		case err != nil && ctx.Err() == nil:
			s.Logger.Error("the jobs of webhooks could not be looked through: it is tried again in an hour", "error", err)
		}
		switch behind, err = s.endBacklogs(ctx, served, behind); {
		case store.IsFatal(err):
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
