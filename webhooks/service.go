package webhooks

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
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

	wanted    wanted
	directory directory
	listeners listeners
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
	group.Go(func() error { return s.keep(ctx) })
	group.Go(func() error {
		defer record.close()
		return s.dispatch(ctx, cutoff, record)
	})
	group.Go(record.run)
	return group.Wait()
}

// Wake says that something was added by hand to what waits for a webhook, or that it was changed.
func (s *Service) Wake(id wallet.WebhookID) { s.wanted.add(id) }

// keep drops the days of the log whose time is over.
func (s *Service) keep(ctx context.Context) error {
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

// waiting lists the webhooks that something waits for.
func (s *Service) waiting(ctx context.Context) (ids []wallet.WebhookID, err error) {
	err = s.Store.View(ctx, func(tx store.Tx) error {
		ids, err = tx.WaitingWebhooks()
		return err
	})
	return ids, err
}

// read reads what waits in lines.
func (s *Service) read(ctx context.Context, all []*load) {
	known := s.known()
	err := s.Store.View(ctx, func(tx store.Tx) error {
		for _, l := range all {
			l.err = l.read(tx, known)
		}
		return nil
	})
	for _, l := range all {
		l.err = errors.Join(l.err, err)
	}
}

func (l *load) read(tx store.Tx, known *known) error {
	r, err := known.hook(tx, l.queue.id)
	if err != nil {
		known.damaged("webhook", string(l.queue.id), err)
		l.gone = true
		return nil
	}
	l.hook = r.Webhook
	for u, room := range l.room {
		if room == 0 {
			continue
		}
		found, err := tx.DeliveriesOf(l.queue.id, store.Position{Urgency: store.Urgency(u), Seq: l.after[u]}, room)
		if err != nil {
			return err
		}
		l.more[u] = len(found) == room
		l.rows = append(l.rows, found...)
	}
	return nil
}

// longest is the longest pause before an attempt.
func (s *Service) longest() time.Duration {
	return max(slices.Max(s.Schedule), longestWait)
}

// wanted is what was added to the store: deliveries as they were put, and webhooks for which something was.
type wanted struct {
	once sync.Once
	mu   sync.Mutex
	ids  map[wallet.WebhookID]bool
	rows []store.PlacedDelivery
	wake chan struct{}
}

// maxHanded is how many deliveries are handed over before they are left to be read from the store.
const maxHanded = 4096

func (w *wanted) signal() <-chan struct{} {
	w.once.Do(func() { w.wake, w.ids = make(chan struct{}, 1), map[wallet.WebhookID]bool{} })
	return w.wake
}

// add says for whom something was added.
func (w *wanted) add(ids ...wallet.WebhookID) {
	w.change(len(ids) > 0, func() {
		for _, id := range ids {
			w.ids[id] = true
		}
	})
}

// hand passes on deliveries, in the order in which they were put.
func (w *wanted) hand(rows []store.PlacedDelivery) {
	w.change(len(rows) > 0, func() {
		if len(w.rows)+len(rows) <= maxHanded {
			w.rows = append(w.rows, rows...)
			return
		}
		for _, row := range rows {
			w.ids[row.Webhook] = true
		}
	})
}

func (w *wanted) change(any bool, do func()) {
	if !any {
		return
	}
	w.signal()
	w.mu.Lock()
	do()
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *wanted) take() (rows []store.PlacedDelivery, ids []wallet.WebhookID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	rows, ids, w.rows = w.rows, slices.Collect(maps.Keys(w.ids)), nil
	clear(w.ids)
	return rows, ids
}
