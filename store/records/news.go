package records

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"purser/store"
	"purser/store/engine"
	"purser/wallet"
)

// newsRow is the row of an item of news. Its key is the item's Seq.
type newsRow struct {
	ID     string    `json:"id"`
	Title  string    `json:"t"`
	URL    string    `json:"u"`
	Source string    `json:"s"`
	At     time.Time `json:"at"`
}

// newsFeedRow is the row of a feed of news. Its key is the keyed hash of its address.
type newsFeedRow struct {
	ETag         string    `json:"e,omitempty"`
	LastModified string    `json:"m,omitempty"`
	FirstReadAt  time.Time `json:"f"`
	ReadAt       time.Time `json:"r"`
}

// metaNews is the key in meta of the highest Seq of news that was given.
const metaNews = "news"

// The kinds of keys in newsKeys. They are part of the stored form.
const (
	newsID    = 'i'
	newsTitle = 't'
)

// newsKey is the key in newsKeys of an ID or a title.
func (t *tx) newsKey(kind byte, text string) []byte {
	hash := t.store.lookup.Text(store.ByNews, text)
	return join([]byte{kind}, hash[:])
}

// newsOverAt is when a row or key of news that was written at a time is removed. Its resolution is a day, so that what is noted again every few
// minutes moves its note of expiry once a day.
func newsOverAt(at time.Time) time.Time {
	const day = 24 * time.Hour
	return at.UTC().Truncate(day).Add(day + store.NewsKept)
}

// NoteNews looks up two keys for each item, and writes what is new.
func (t *tx) NoteNews(items []wallet.NewsItem, now time.Time, silent bool) (added int, err error) {
	items = slices.Clone(items)
	slices.SortStableFunc(items, func(a, b wallet.NewsItem) int { return a.At.Compare(b.At) })
	for _, item := range items {
		if err := checkID(item.ID); err != nil {
			return 0, err
		}
		known, err := t.noteNewsKey(t.newsKey(newsID, item.ID), now, true)
		if err != nil {
			return 0, err
		}
		if title := item.TitleKey(); !known && title != "" {
			if known, err = t.noteNewsKey(t.newsKey(newsTitle, title), now, false); err != nil {
				return 0, err
			}
		}
		if known || silent {
			continue
		}
		if err := t.addNews(item, now); err != nil {
			return 0, err
		}
		added++
	}
	return added, nil
}

// noteNewsKey remembers a key, and returns whether it was known. If renew is true, a known key is kept for longer from now on. A damaged
// time counts as long ago: the key is known all the same.
func (t *tx) noteNewsKey(key []byte, now time.Time, renew bool) (known bool, err error) {
	value := t.get(newsKeys, key)
	if value != nil {
		noted, err := keyTime(value)
		if !renew || err == nil && !newsOverAt(now).After(newsOverAt(noted)) {
			return true, nil
		}
		if err == nil {
			if err := t.unexpire(newsKeyOver, newsOverAt(noted), key); err != nil {
				return true, err
			}
		}
	}
	return value != nil, errors.Join(t.put(newsKeys, key, timeKey(now)), t.expire(newsKeyOver, newsOverAt(now), key))
}

// addNews saves an item under the next number.
func (t *tx) addNews(item wallet.NewsItem, now time.Time) error {
	seq, err := t.next(newsItems)
	if err != nil {
		return err
	}
	key := numberKey(seq)
	raw, err := t.seal(newsItems, key, "", newsRow{item.ID, item.Title, item.URL, item.Source, item.At.UTC()})
	if err != nil {
		return err
	}
	return errors.Join(t.putRow(newsItems, key, raw), t.put(meta, []byte(metaNews), key), t.expire(newsOver, newsOverAt(now), key))
}

// NewsAfter walks the rows from a number on.
func (t *tx) NewsAfter(seq uint64, limit int) ([]wallet.NewsItem, error) {
	if seq+1 == 0 {
		return nil, nil
	}
	var out []wallet.NewsItem
	for key, raw := range t.scan(newsItems, engine.Range{From: numberKey(seq + 1)}) {
		if len(out) >= limit {
			break
		}
		row, _, err := plainOf[newsRow](t, newsItems, key, raw)
		number, damaged := keyNumber(key)
		switch {
		case errors.Is(errors.Join(err, damaged), store.ErrDamaged):
			t.skipDamaged(newsItems, bytes.Clone(key), store.ErrDamaged)
			continue
		case err != nil:
			return nil, err
		}
		out = append(out, wallet.NewsItem{Seq: number, ID: row.ID, Title: row.Title, URL: row.URL, Source: row.Source, At: row.At})
	}
	return out, nil
}

// LastNews reads one number. If that is damaged, the highest one that is still there stands in for it.
func (t *tx) LastNews() (uint64, error) {
	var last uint64
	if raw := t.get(meta, []byte(metaNews)); raw != nil {
		var err error
		if last, err = keyNumber(raw); err != nil {
			t.skipDamaged(meta, []byte(metaNews), err)
		}
	}
	if key, _ := t.last(newsItems, nil); key != nil {
		if number, err := keyNumber(key); err == nil {
			last = max(last, number)
		}
	}
	return last, nil
}

// newsFeedKey is the key of a feed.
func (t *tx) newsFeedKey(url string) []byte {
	hash := t.store.lookup.Text(store.ByNews, "feed", url) // two parts: no ID and no title has the same hash
	return hash[:]
}

// NewsFeed reads one row.
func (t *tx) NewsFeed(url string) (store.NewsFeed, error) {
	row, err := t.newsFeedAt(t.newsFeedKey(url))
	if err != nil {
		return store.NewsFeed{}, err
	}
	return store.NewsFeed{URL: url, ETag: row.ETag, LastModified: row.LastModified, FirstReadAt: row.FirstReadAt, ReadAt: row.ReadAt}, nil
}

// newsFeedAt reads a row; ErrNotFound without one, and for a damaged one, which is reported.
func (t *tx) newsFeedAt(key []byte) (newsFeedRow, error) {
	raw := t.get(newsFeeds, key)
	if raw == nil {
		return newsFeedRow{}, store.ErrNotFound
	}
	row, _, err := plainOf[newsFeedRow](t, newsFeeds, key, raw)
	if errors.Is(err, store.ErrDamaged) {
		t.skipDamaged(newsFeeds, key, err)
		return newsFeedRow{}, store.ErrNotFound
	}
	return row, err
}

// PutNewsFeed replaces a row, and moves its note of expiry once a day.
func (t *tx) PutNewsFeed(f store.NewsFeed) error {
	key := t.newsFeedKey(f.URL)
	old, err := t.newsFeedAt(key)
	replaced := err == nil
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	raw, err := t.seal(newsFeeds, key, "", newsFeedRow{f.ETag, f.LastModified, f.FirstReadAt.UTC(), f.ReadAt.UTC()})
	if err != nil {
		return err
	}
	was, is := newsOverAt(old.ReadAt), newsOverAt(f.ReadAt)
	if replaced && !was.Equal(is) {
		if err := t.unexpire(newsFeedOver, was, key); err != nil {
			return err
		}
	}
	if !replaced || !was.Equal(is) {
		if err := t.expire(newsFeedOver, is, key); err != nil {
			return err
		}
	}
	return t.putRow(newsFeeds, key, raw)
}

// removeNewsKey forgets an ID or a title whose time is over. One whose time was damaged may have a newer note: then it stays.
func (t *tx) removeNewsKey(key []byte, now time.Time) error {
	if noted, err := keyTime(t.get(newsKeys, key)); err == nil && newsOverAt(noted).After(now) {
		return nil
	}
	return t.delete(newsKeys, key)
}

// removeNewsFeed removes a feed that was not read for long. One whose row was damaged may have a newer note: then it stays.
func (t *tx) removeNewsFeed(key []byte, now time.Time) error {
	if raw := t.get(newsFeeds, key); raw != nil {
		if row, _, err := plainOf[newsFeedRow](t, newsFeeds, key, raw); err == nil && newsOverAt(row.ReadAt).After(now) {
			return nil
		}
	}
	return t.delete(newsFeeds, key)
}
