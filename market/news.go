package market

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"purser/store"
	"purser/wallet"
	"purser/work"
)

// News reads the feeds that the operator chose, on one node at a time, and saves what is new in the store. What a feed holds when it is
// read for the first time is not news.
//
// Feeds are written by strangers. Whatever a feed does, it costs a bounded time and memory, delays no other feed, and adds nothing
// but cleaned text with an https link.
//
// The exported fields are set before Run or Read is called. Run or Read is called by one goroutine.
type News struct {
	Store  store.Store
	Feeds  []string     // addresses, each once; http is for addresses that Client may reach without TLS
	Client *http.Client // of NewFeedClient
	Node   string       // name of this node among those that share the store
	Now    func() time.Time
	Log    *slog.Logger
	// Added is called in the Update that saved new items, after them; nil: nothing. Its error undoes the Update, and the feed is read
	// again later.
	Added func(tx store.Tx, now time.Time) error

	mu    sync.Mutex            // guards what follows
	tries map[string]*feedTries // by address; a feed that did not fail since this process began has none
}

// feedTries is how a feed fails at the moment.
type feedTries struct {
	failures  int       // in a row
	notBefore time.Time // of the next try
	reason    string    // of the last failure, as it was logged
}

// When feeds are read.
const (
	// NewsEvery is how often a feed is read. Feeds take turns over this time.
	NewsEvery = 15 * time.Minute
	// newsTick is how often it is looked which feeds are due.
	newsTick = 30 * time.Second
	// newsLease is the lease of the node that reads.
	newsLease = 30 * time.Second
	// longestNewsPause bounds how long a feed that fails is left alone. The pause doubles with each failure in a row.
	longestNewsPause = 6 * time.Hour
	// feedsAtOnce is how many feeds are read at the same time.
	feedsAtOnce = 4
)

// Run reads feeds until ctx ends, on one node at a time. Without feeds it only waits. The error is a final one of the store.
func (n *News) Run(ctx context.Context) error {
	if len(n.Feeds) == 0 {
		<-ctx.Done()
		return nil
	}
	leader := &work.Leader{Store: n.Store, Name: "news", Node: n.Node, Lease: newsLease, Now: n.Now, Log: n.Log}
	return leader.Run(ctx, func(ctx context.Context) error {
		ticker := time.NewTicker(newsTick)
		defer ticker.Stop()
		for {
			if err := n.Read(ctx); store.IsFatal(err) {
				return err
			} else if err != nil && ctx.Err() == nil {
				n.Log.Warn("news could not be saved", "error", err)
			}
			select {
			case <-ctx.Done():
				return nil
			case <-ticker.C:
			}
		}
	})
}

// Read reads the feeds that are due, a few at the same time, and returns when all of them were read or have failed. A feed that fails is no
// error. The error is of the store, or of Added.
func (n *News) Read(ctx context.Context) error {
	due, err := n.due(ctx)
	if err != nil {
		return fmt.Errorf("list the feeds to read: %w", err)
	}
	var group errgroup.Group
	group.SetLimit(feedsAtOnce)
	for _, feed := range due {
		group.Go(func() error { return n.readFeed(ctx, feed) })
	}
	return group.Wait()
}

// due returns what is known of the feeds that are due, in the order of Feeds.
func (n *News) due(ctx context.Context) (due []store.NewsFeed, err error) {
	now := n.Now()
	err = n.Store.View(ctx, func(tx store.Tx) error {
		due = due[:0]
		for i, address := range n.Feeds {
			feed, err := tx.NewsFeed(address)
			if errors.Is(err, store.ErrNotFound) {
				feed, err = store.NewsFeed{URL: address}, nil
			}
			if err != nil {
				return err
			}
			if n.isDue(feed, i, now) {
				due = append(due, feed)
			}
		}
		return nil
	})
	return due, err
}

// isDue reports whether the feed with an index in Feeds is due. Each feed has its own moment within NewsEvery, so that they are not read all at once:
// it is due when it was not read since its last moment, also by another node or before a restart. A feed that failed is due after
// its pause.
func (n *News) isDue(feed store.NewsFeed, index int, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if tries := n.tries[feed.URL]; tries != nil && now.Before(tries.notBefore) {
		return false
	}
	moment := NewsEvery * time.Duration(index) / time.Duration(len(n.Feeds))
	last := now.Add(-moment).Truncate(NewsEvery).Add(moment)
	// A time to come was written before a clock was set back.
	return feed.ReadAt.Before(last) || feed.ReadAt.After(now)
}

// readFeed reads one feed and saves what is new.
func (n *News) readFeed(ctx context.Context, feed store.NewsFeed) error {
	answer, err := fetchFeed(ctx, n.Client, feed)
	now := n.Now()
	var items []wallet.NewsItem
	if err == nil && !answer.unchanged {
		items, err = parseFeed(answer, now)
	}
	if ctx.Err() != nil { // purser stops, or another node reads now: the feed is not to blame
		return nil
	}
	if err != nil {
		n.failed(feed.URL, now, feedReason(err))
		return nil
	}
	if !answer.unchanged {
		feed.ETag, feed.LastModified = answer.etag, answer.lastModified
	}
	if err := n.save(ctx, feed, items, now); err != nil {
		n.failed(feed.URL, now, feedReason(errFeedUnsaved))
		return err
	}
	n.succeeded(feed.URL)
	return nil
}

// save notes items and that the feed was read, in one Update.
func (n *News) save(ctx context.Context, feed store.NewsFeed, items []wallet.NewsItem, now time.Time) error {
	err := n.Store.Update(context.WithoutCancel(ctx), func(tx store.Tx) error {
		read := feed
		read.ReadAt = now
		// Another node may have read it meanwhile, if this one was paused.
		known, err := tx.NewsFeed(feed.URL)
		first := errors.Is(err, store.ErrNotFound)
		switch {
		case first:
			read.FirstReadAt = now
		case err != nil:
			return err
		default:
			read.FirstReadAt = known.FirstReadAt
		}
		added, err := tx.NoteNews(items, now, first)
		if err != nil {
			return err
		}
		if err := tx.PutNewsFeed(read); err != nil {
			return err
		}
		if added > 0 && n.Added != nil {
			return n.Added(tx, now)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("save the news of %s: %w", hostOf(feed.URL), err)
	}
	return nil
}

// failed notes that a feed failed, and logs the reason if it is another one than the last time.
func (n *News) failed(address string, now time.Time, reason string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	tries := n.tries[address]
	if tries == nil {
		if n.tries == nil {
			n.tries = map[string]*feedTries{}
		}
		tries = &feedTries{}
		n.tries[address] = tries
	}
	tries.failures++
	tries.notBefore = now.Add(min(NewsEvery<<min(tries.failures, 10), longestNewsPause))
	if tries.reason != reason {
		tries.reason = reason
		n.Log.Warn("a feed of news was not read", "host", hostOf(address), "reason", reason)
	}
}

// succeeded notes that a feed was read, and logs it if it had failed.
func (n *News) succeeded(address string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.tries[address] != nil {
		delete(n.tries, address)
		n.Log.Info("a feed of news is read again", "host", hostOf(address))
	}
}

// hostOf returns the host of an address, which is all of it that may be logged: the rest can hold a key.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
