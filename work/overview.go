package work

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"purser/store"
)

// Overview warns the operator, in the log, about queues that need attention: new dead letters, or an oldest job that
// has waited too long. Each process warns for itself.
type Overview struct {
	Store  store.Store
	Queues []store.JobQueue // of those that wait by design only dead letters count
	Every  time.Duration    // between two looks
	Late   time.Duration    // how long a job may be in its queue before a warning
	Now    func() time.Time
	After  func(time.Duration) <-chan time.Time // nil: time.After
	Log    *slog.Logger
}

// Run looks at the queues until ctx ends. It returns an error only if nothing can be tried again.
func (o *Overview) Run(ctx context.Context) error {
	after := o.After
	if after == nil {
		after = time.After
	}
	dead := map[store.Queue]int{}
	for {
		if err := o.look(ctx, dead); store.IsFatal(err) {
			return fmt.Errorf("work: look at the queues: %w", err)
		} else if err != nil && ctx.Err() == nil {
			o.Log.Warn("the queues could not be looked at", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-after(o.Every):
		}
	}
}

// look reads the state of each queue and logs what needs attention. dead has the dead letters of the look before.
func (o *Overview) look(ctx context.Context, dead map[store.Queue]int) error {
	for _, one := range o.Queues {
		queue := one.Queue
		var stats store.JobStats
		if err := o.Store.View(ctx, func(tx store.Tx) (err error) {
			stats, err = tx.JobStats(queue)
			return err
		}); err != nil {
			return err
		}
		age := time.Duration(0)
		if !stats.Oldest.IsZero() {
			age = o.Now().Sub(stats.Oldest)
		}
		late := !one.WaitsByDesign && age > o.Late
		if stats.Dead > dead[queue] || late {
			o.Log.Warn("a queue needs a look", "queue", queue, "waiting", stats.Waiting, "in_flight", stats.InFlight,
				"dead_letters", stats.Dead, "oldest", age.Round(time.Second))
		}
		dead[queue] = stats.Dead
	}
	return nil
}
