package market

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/mmcdole/gofeed"
	"golang.org/x/sync/errgroup"

	"purser/store"
	"purser/wallet"
	"purser/work"
)

// News reads the feeds that the operator has chosen (RSS, Atom or JSON Feed), on one node at a time, and puts what is new into the store. Feeds are
// strangers: an answer is small, ends in time, and is text that is cleaned. One feed that fails or hangs delays no other.
type News struct {
	Store  store.Store
	Feeds  []*url.URL
	Client *http.Client // that connects only where feeds may be (webhooks.Poster.Client)
	Node   string
	Now    func() time.Time
	Log    *slog.Logger
	// Announce, if not nil, runs in the transaction that kept new items.
	Announce func(tx store.Tx, now time.Time) error

	mu    sync.Mutex // guards what follows
	state map[string]*feedState
}

// feedState is what one process remembers of a feed.
type feedState struct {
	due      time.Time
	failures int
	failing  string // the error that was logged last; "": it works
}

// How feeds are read.
const (
	newsEvery     = 15 * time.Minute
	newsTick      = 30 * time.Second
	newsPatience  = 20 * time.Second // for a whole answer
	newsAge       = 48 * time.Hour   // what is older is no news
	newsBackoff   = 6 * time.Hour    // the longest wait after failures
	newsBytes     = 1 << 20          // of an answer, when it is unpacked
	newsItems     = 50               // of an answer, the newest
	feedsAtOnce   = 4
	feedRedirects = 3
)

// Run reads the feeds until ctx ends. Without feeds it only waits. The error is a final one of the store.
func (n *News) Run(ctx context.Context) error {
	if len(n.Feeds) == 0 {
		<-ctx.Done()
		return nil
	}
	leader := &work.Leader{Store: n.Store, Name: "news", Node: n.Node, Lease: newsTick, Now: n.Now, Log: n.Log}
	return leader.Run(ctx, func(ctx context.Context) error {
		ticker := time.NewTicker(newsTick)
		defer ticker.Stop()
		for {
			if err := n.Read(ctx); store.Final(err) {
				return err
			} else if err != nil && ctx.Err() == nil {
				n.Log.Warn("news could not be kept", "error", err)
			}
			select {
			case <-ctx.Done():
				return nil
			case <-ticker.C:
			}
		}
	})
}

// Read reads the feeds that are due. The error is of the store: a feed that fails is logged and read again later.
func (n *News) Read(ctx context.Context) error {
	var group errgroup.Group
	group.SetLimit(feedsAtOnce)
	for _, feed := range n.Feeds {
		if n.isDue(feed) {
			group.Go(func() error { return n.readFeed(ctx, feed) })
		}
	}
	return group.Wait()
}

// isDue tells whether a feed is to be read now.
func (n *News) isDue(feed *url.URL) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.state[feed.String()]
	return s == nil || !s.due.After(n.Now())
}

// ended notes how reading a feed ended, and when it is due again. Trouble is logged once when it begins and once when it changes, by the feed's host:
// its address may hold a key.
func (n *News) ended(feed *url.URL, trouble error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.state == nil {
		n.state = map[string]*feedState{}
	}
	s := n.state[feed.String()]
	if s == nil {
		s = &feedState{}
		n.state[feed.String()] = s
	}
	if trouble == nil {
		*s = feedState{due: n.Now().Add(newsEvery)}
		return
	}
	s.failures++
	s.due = n.Now().Add(min(newsEvery<<min(s.failures-1, 10), newsBackoff))
	if text := trouble.Error(); text != s.failing {
		s.failing = text
		n.Log.Warn("a feed of news cannot be read", "host", feed.Host, "error", text)
	}
}

// readFeed reads one feed, and keeps what is new in it.
func (n *News) readFeed(ctx context.Context, feed *url.URL) error {
	var known wallet.NewsFeed
	err := n.Store.View(ctx, func(tx store.Tx) (err error) {
		known, err = tx.NewsFeed(feed.String())
		return err
	})
	if err != nil {
		return fmt.Errorf("read what is known of a feed: %w", err)
	}
	now := n.Now().UTC()
	items, is, err := n.fetch(ctx, feed, known, now)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	n.ended(feed, err)
	if err != nil {
		return nil
	}
	is.URL, is.ReadAt = feed.String(), now
	err = n.Store.Update(ctx, func(tx store.Tx) error {
		added, err := tx.NoteNews(items, known.ReadAt.IsZero(), now)
		if err == nil && added > 0 && n.Announce != nil {
			err = n.Announce(tx, now)
		}
		return errors.Join(err, tx.PutNewsFeed(is))
	})
	if err != nil {
		return fmt.Errorf("keep news: %w", err)
	}
	return nil
}

// fetch gets the items of a feed, oldest first; none if it has not changed since known was noted. Its errors name no address.
func (n *News) fetch(ctx context.Context, feed *url.URL, known wallet.NewsFeed, now time.Time) ([]wallet.NewsItem, wallet.NewsFeed, error) {
	ctx, cancel := context.WithTimeout(ctx, newsPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, feed.String(), nil)
	if err != nil {
		return nil, known, errors.New("the address is not valid")
	}
	request.Header.Set("Accept", "application/rss+xml, application/atom+xml, application/feed+json, application/xml;q=0.9, */*;q=0.5")
	request.Header.Set("User-Agent", "purser")
	if known.ETag != "" {
		request.Header.Set("If-None-Match", known.ETag)
	}
	if known.LastModified != "" {
		request.Header.Set("If-Modified-Since", known.LastModified)
	}
	client := *n.Client
	client.CheckRedirect = func(to *http.Request, via []*http.Request) error {
		if len(via) > feedRedirects || to.URL.Scheme != feed.Scheme {
			return errors.New("too many redirects, or one without TLS")
		}
		return nil
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, known, withoutURL(err)
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusNotModified:
		return nil, known, nil
	case http.StatusOK:
	default:
		return nil, known, fmt.Errorf("status %d", response.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, newsBytes+1))
	switch {
	case err != nil:
		return nil, known, withoutURL(err)
	case len(body) > newsBytes:
		return nil, known, fmt.Errorf("the answer has more than %d bytes", newsBytes)
	}
	items, err := parseFeed(feed, body, now)
	return items, wallet.NewsFeed{ETag: header(response, "ETag"), LastModified: header(response, "Last-Modified")}, err
}

// header returns a header that is worth sending back, or "".
func header(r *http.Response, name string) string {
	if text := r.Header.Get(name); len(text) <= 200 {
		return text
	}
	return ""
}

// tag finds what could be a tag of HTML in a title.
var tag = regexp.MustCompile(`<[^<>]*>`)

// parseFeed reads the items of a feed, oldest first, without those that are too old or have no title. A panic of the parser is an error: what
// strangers write is its input.
func parseFeed(feed *url.URL, body []byte, now time.Time) (items []wallet.NewsItem, err error) {
	defer func() {
		if r := recover(); r != nil {
			items, err = nil, errors.New("the parser failed")
		}
	}()
	parsed, err := gofeed.NewParser().Parse(bytes.NewReader(body))
	if err != nil || parsed == nil {
		return nil, errors.New("it is no RSS, Atom or JSON feed")
	}
	source := cleanNews(parsed.Title, wallet.MostNewsSource)
	if source == "" {
		source = feed.Hostname()
	}
	for _, entry := range parsed.Items[:min(len(parsed.Items), 10*newsItems)] {
		if entry == nil {
			continue
		}
		item := wallet.NewsItem{Title: cleanNews(entry.Title, wallet.MostNewsTitle), URL: wallet.NewsURL(entry.Link), Source: source, At: publishedAt(entry, now)}
		name := entry.GUID
		if name == "" {
			name = entry.Link
		}
		if item.Title == "" || name == "" || now.Sub(item.At) > newsAge {
			continue
		}
		item.ID = wallet.NewsID(feed.Host, name)
		items = append(items, item)
	}
	slices.SortStableFunc(items, func(a, b wallet.NewsItem) int { return a.At.Compare(b.At) })
	return items[max(0, len(items)-newsItems):], nil
}

// cleanNews is a text of a feed without HTML. Feeds write tags and entities into titles, some of them twice escaped.
func cleanNews(text string, most int) string {
	for range 2 {
		text = html.UnescapeString(tag.ReplaceAllString(text, " "))
	}
	return wallet.CleanNewsText(tag.ReplaceAllString(text, " "), most)
}

// publishedAt is when an item was published, or now: if the feed does not say, or says a time to come.
func publishedAt(entry *gofeed.Item, now time.Time) time.Time {
	for _, at := range []*time.Time{entry.PublishedParsed, entry.UpdatedParsed} {
		if at != nil && !at.After(now) && at.Year() >= 2000 {
			return at.UTC()
		}
	}
	return now
}
