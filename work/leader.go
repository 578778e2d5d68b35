package work

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"purser/store"
)

// Leader runs what only one node may do at a time, such as asking Telegram for updates. If the leading node is killed,
// another takes over when its lease ends. If it stops, another can take over at once.
type Leader struct {
	Store store.Store
	Name  string // of the role
	Node  string // see Pool.Node
	Lease time.Duration
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time // nil: time.After
	Log   *slog.Logger                         // nil: silence
}

// Run calls lead whenever this node is the leader, until ctx ends, or lead returns by itself, whose error it then
// returns. A final error of the store ends it too. The ctx of lead ends when another node may become the leader.
//
// A node that was paused notices that late. So for a short time two nodes may run lead, and what lead writes must be
// safe even then.
func (l *Leader) Run(ctx context.Context, lead func(context.Context) error) error {
	if l.After == nil {
		l.After = time.After
	}
	if l.Log == nil {
		l.Log = slog.New(slog.DiscardHandler)
	}
	for {
		answer, err := l.renew(ctx, l.Lease)
		if err != nil {
			return err
		}
		if answer == yes {
			if ended, err := l.lead(ctx, lead); ended || ctx.Err() != nil {
				return errors.Join(err, l.giveWay())
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-l.After(l.Lease / renewals):
		}
	}
}

// lead runs lead while this node is the leader. ended tells that nothing is left to lead: lead returned by itself, or
// the store failed for good.
func (l *Leader) lead(ctx context.Context, lead func(context.Context) error) (ended bool, err error) {
	led, stop := context.WithCancel(ctx)
	defer stop()
	result := make(chan error, 1)
	go func() { result <- lead(led) }()
	end := l.After(l.Lease)
	for {
		select {
		case err := <-result:
			return true, err
		case <-end: // no renewal came through
			stop()
			<-result
			return false, nil
		case <-ctx.Done():
			return false, <-result
		case <-l.After(l.Lease / renewals):
		}
		answer, err := l.renew(ctx, l.Lease)
		switch {
		case err != nil || answer == no:
			stop()
			<-result
			return err != nil, err
		case answer == yes:
			end = l.After(l.Lease)
		}
	}
}

// answer is what the store said about who leads.
type answer int

const (
	unknown answer = iota // the store could not be asked
	no
	yes
)

// renew asks for the lease. It returns an error only if nothing can be tried again.
func (l *Leader) renew(ctx context.Context, lease time.Duration) (answer, error) {
	leads := false
	err := l.Store.Update(ctx, func(tx store.Tx) (err error) {
		leads, err = tx.Lead(l.Name, l.Node, l.Now(), lease)
		return err
	})
	switch {
	case store.IsFatal(err):
		return unknown, fmt.Errorf("work: lead %s: %w", l.Name, err)
	case err != nil:
		if ctx.Err() == nil {
			l.Log.Error("the lease of a leader could not be renewed", "name", l.Name, "error", err)
		}
		return unknown, nil
	case leads:
		return yes, nil
	}
	return no, nil
}

// giveWay ends the lease, by taking it for no time.
func (l *Leader) giveWay() error {
	_, err := l.renew(context.Background(), 0)
	return err
}
