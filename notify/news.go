package notify

import (
	"context"
	"io"
	"log/slog"
	"strconv"
	"time"

	"purser/store"
	"purser/wallet"
	"purser/work"
)

// newsReadersAtOnce is how many people one transaction of a round reaches.
const newsReadersAtOnce = 200

// News brings what the operator's feeds have published to the people who want it. A round walks through all of them, a page of people in each
// transaction, and puts an event for each: so a round of any length delays nothing else, and after a crash it goes on where it was. Which items somebody
// has not got yet is decided when the event is handled.
type News struct {
	Store  store.Store
	Node   string
	Now    func() time.Time
	Log    *slog.Logger
	Random io.Reader // jitter of the waits after failures; see work.Schedule
}

// Run handles the queue of rounds until ctx ends. The returned error comes from the store.
func (n *News) Run(ctx context.Context) error { return n.Pool().Run(ctx) }

// Pool returns the worker pool that Run starts.
func (n *News) Pool() *work.Pool {
	return &work.Pool{Store: n.Store, Queue: store.NewsRounds, Node: n.Node, Width: 1, Lease: lease,
		Schedule: work.Schedule{First: time.Second, Most: time.Minute, Random: n.Random}, Handle: n.handle, Now: n.Now, Log: n.Log}
}

// handle reaches the next page of people. A round that is over waits store.NewsEvery before the next one begins. The job ends when nothing has come by then.
func (n *News) handle(_ context.Context, job store.Job) (work.Result, error) {
	found, err := store.NewsRoundOf(job)
	if err != nil {
		return work.Result{}, work.Permanent(err)
	}
	return work.Result{End: func(tx store.Tx, ref store.Ref) error {
		round := found // it may run more than once
		newest, err := tx.LastNews()
		if err != nil {
			return err
		}
		if round.After == "" { // a round begins, unless the last one had everything
			if newest <= round.Through {
				return tx.DoneJobs(ref)
			}
			round.Through = newest
		}
		page, err := tx.NewsReaders(round.After, newsReadersAtOnce)
		if err != nil {
			return err
		}
		now := n.Now().UTC()
		for _, who := range page {
			event, err := wallet.NewEvent("evt_news_"+strconv.FormatUint(round.Through, 10)+"_"+string(who), wallet.NewsPublished, now, who, struct{}{})
			if err != nil {
				return err
			}
			if err := store.NotifyOwner(tx, event); err != nil {
				return err
			}
		}
		next, due := store.NewsRound{Through: round.Through}, now.Add(store.NewsEvery)
		if len(page) == newsReadersAtOnce {
			next.After, due = page[len(page)-1], now
		}
		if err := tx.DoneJobs(ref); err != nil { // which fails for a claim that is lost
			return err
		}
		return store.PutNewsRound(tx, next, now, due)
	}}, nil
}
