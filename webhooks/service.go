package webhooks

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"purser/quota"
	"purser/store"
	"purser/wallet"
	"purser/work"
)

const (
	// leadership is the name under which one node leads, and term how long that lasts without a word from it.
	leadership, term = "webhooks", 30 * time.Second
	// drainFor is how long what is on its way has when the service stops.
	drainFor = 5 * time.Second
	// readAgain is the pause after the store could not be read.
	readAgain = time.Second
	// giveUpAfter is after how long of nothing but failures a webhook is turned off.
	giveUpAfter = 72 * time.Hour
	// dropEvery is how often days of the log whose time is over are looked for.
	dropEvery = time.Hour
)

// Service carries events to webhooks. It runs on each node, and the one that leads delivers.
type Service struct {
	Store     store.Store
	Node      string // the name of this node, the same in each of its lives (see work.Leader)
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

// Run delivers until ctx ends, for as long as this node leads; what is on its way then is waited for. Its error is the
// store's, after which nothing is certain.
func (s *Service) Run(ctx context.Context) error {
	if err := s.hangUp(ctx); err != nil {
		return err
	}
	leader := &work.Leader{Store: s.Store, Name: leadership, Node: s.Node, Lease: term, Now: s.Now, Log: s.Logger}
	return leader.Run(ctx, s.lead)
}

// leads refuses the writes of a node that does not lead any more, such as one that slept through its lease: another
// node has the same deliveries in hand.
func (s *Service) leads(tx store.Tx) error {
	leads, err := tx.Lead(leadership, s.Node, s.Now(), term)
	if err == nil && !leads {
		return errDeposed
	}
	return err
}

// errDeposed says that another node delivers by now.
var errDeposed = errors.New("webhooks: another node leads")

// lead delivers until ctx ends.
func (s *Service) lead(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	cutoff, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(drainFor, cut) })()
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
