package notify

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"time"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
	"purser/work"
)

// Summarizer words a summary of a portfolio for a person.
type Summarizer interface {
	// Summarize draws the picture, which takes some milliseconds, and returns what queues the message.
	Summarize(person wallet.User, summary wallet.Summary) (queue func(store.Tx) error, err error)
}

// Summaries sends people who want them a summary of their portfolio, at the time that they chose. Its queue has one job for each of them, which comes
// once a day and records what everything is worth. When a summary is due it is sent as well. In quiet hours it waits until they end.
type Summaries struct {
	Store      store.Store
	Portfolios Portfolios
	Chat       Summarizer
	Node       string
	Width      int // how many people are summed up at once; 0: 4
	Now        func() time.Time
	Log        *slog.Logger
	Random     io.Reader // jitter of the waits after failures; see work.Schedule
}

// Portfolios reads and records people's portfolios (handlers.Summaries).
type Portfolios interface {
	Prepare(ctx context.Context, who wallet.UserID, begun time.Time) (p handlers.PortfolioSummary, ok bool, err error)
	Commit(tx store.Tx, p handlers.PortfolioSummary) error
}

// Limits of the queue of summaries.
const (
	summariesAtOnce = 4
	summaryLease    = time.Minute
	// summaryRetry is how long at most a summary waits for a node that does not answer before it is tried again.
	summaryRetry = 10 * time.Minute
)

// Run handles the queue until ctx ends. The returned error comes from the store.
func (s *Summaries) Run(ctx context.Context) error { return s.Pool().Run(ctx) }

// Pool returns the worker pool that Run starts. A summary is never given up: its node may be away for a day, and the next one says all.
func (s *Summaries) Pool() *work.Pool {
	return &work.Pool{Store: s.Store, Queue: store.PortfolioSummaries, Node: s.Node, Width: cmp.Or(s.Width, summariesAtOnce), PerOwner: 1, Lease: summaryLease,
		Schedule: work.Schedule{First: 10 * time.Second, Most: summaryRetry, Random: s.Random}, Handle: s.handle, Now: s.Now, Log: s.Log}
}

// handle sums up one person's portfolio. The job ends when they want no summaries any more.
func (s *Summaries) handle(ctx context.Context, job store.Job) (work.Result, error) {
	var person wallet.User
	var reachable bool
	err := s.Store.View(ctx, func(tx store.Tx) (err error) {
		person, reachable, err = reached(tx, wallet.UserID(job.ID))
		return err
	})
	switch {
	case err != nil:
		return work.Result{}, err
	case person.ID == "":
		return work.Result{}, nil // erased
	case !reachable: // they blocked the bot, and may come back
		return work.Result{Again: person.Settings.NextLook(s.Now())}, nil
	}
	if until := person.Settings.QuietUntil(s.Now()); !until.IsZero() {
		return work.Result{Again: until}, nil
	}
	found, ok, err := s.Portfolios.Prepare(ctx, person.ID, job.At)
	if err != nil {
		return work.Result{}, err
	}
	result := work.Result{Again: person.Settings.NextLook(s.Now())}
	if !ok {
		if !person.Wants(wallet.CategorySummary) {
			result.Again = time.Time{}
		}
		return result, nil
	}
	queue := func(store.Tx) error { return nil }
	if found.Due {
		if queue, err = s.Chat.Summarize(found.Person, found.Summary); err != nil {
			return work.Result{}, err
		}
	}
	result.Commit = func(tx store.Tx) error {
		if err := s.Portfolios.Commit(tx, found); err != nil {
			return err
		}
		return queue(tx)
	}
	return result, nil
}
