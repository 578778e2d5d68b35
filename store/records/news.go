package records

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"time"

	"purser/store"
	"purser/store/engine"
	"purser/wallet"
)

// newsRow is the row of an item. Its key is its number.
type newsRow struct {
	ID     []byte    `json:"id"`
	Title  string    `json:"t"`
	URL    string    `json:"u,omitempty"`
	Source string    `json:"s"`
	At     time.Time `json:"a"`
}

// Letters before the hash in keys of newsSeen: by what an item was noted.
const (
	newsByID    = 'i'
	newsByTitle = 't'
)

// NoteNews notes the hash of the ID and of the title of each item, so that what two feeds tell is one item.
func (t *tx) NoteNews(items []wallet.NewsItem, silent bool, now time.Time) (added int, err error) {
	for _, item := range items {
		title := wallet.SameNews(item.Title)
		byID, byTitle := append([]byte{newsByID}, item.ID[:]...), append([]byte{newsByTitle}, title[:]...)
		if t.get(newsSeen, byID) != nil || t.get(newsSeen, byTitle) != nil {
			continue
		}
		over := now.UTC().Add(store.NewsKept)
		for _, key := range [][]byte{byID, byTitle} {
			if err := errors.Join(t.put(newsSeen, key, timeKey(over)), t.expire(newsSeenOver, over, key)); err != nil {
				return 0, err
			}
		}
		if silent {
			continue
		}
		number, err := t.next(news)
		if err != nil {
			return 0, err
		}
		key := binary.BigEndian.AppendUint64(nil, number)
		raw, err := t.seal(news, key, "", newsRow{item.ID[:], item.Title, item.URL, item.Source, item.At.UTC()})
		if err != nil {
			return 0, err
		}
		if err := errors.Join(t.putRow(news, key, raw), t.expire(newsOver, over, key)); err != nil {
			return 0, err
		}
		added++
	}
	return added, nil
}

// NewsAfter reads rows from the number behind seq on.
func (t *tx) NewsAfter(seq uint64, limit int) (out []wallet.NewsItem, _ error) {
	if seq == 1<<64-1 {
		return nil, nil
	}
	for key, raw := range t.scan(news, engine.Range{From: binary.BigEndian.AppendUint64(nil, seq+1)}) {
		if len(out) >= limit {
			break
		}
		row, _, err := plainOf[newsRow](t, news, key, raw)
		switch {
		case errors.Is(err, store.ErrDamaged) || err == nil && (len(row.ID) != len(wallet.NewsItem{}.ID) || len(key) != 8): // a row of another version
			t.skipDamaged(news, bytes.Clone(key), err)
			continue
		case err != nil:
			return nil, err
		}
		out = append(out, wallet.NewsItem{Seq: binary.BigEndian.Uint64(key), ID: [16]byte(row.ID), Title: row.Title, URL: row.URL, Source: row.Source, At: row.At})
	}
	return out, nil
}

// LastNews reads the last key.
func (t *tx) LastNews() (uint64, error) {
	key, _ := t.last(news, nil)
	if len(key) != 8 {
		return 0, nil
	}
	return binary.BigEndian.Uint64(key), nil
}

// feedKey is the key of a feed's row.
func feedKey(url string) []byte {
	sum := sha256.Sum256([]byte(url))
	return sum[:16]
}

// NewsFeed reads one row.
func (t *tx) NewsFeed(url string) (wallet.NewsFeed, error) {
	key := feedKey(url)
	raw := t.get(newsFeeds, key)
	if raw == nil {
		return wallet.NewsFeed{}, nil
	}
	row, _, err := plainOf[wallet.NewsFeed](t, newsFeeds, key, raw)
	if errors.Is(err, store.ErrDamaged) {
		t.skipDamaged(newsFeeds, key, err)
		return wallet.NewsFeed{}, nil
	}
	row.URL = url
	return row, err
}

// PutNewsFeed replaces a row. There are as many as the operator ever configured.
func (t *tx) PutNewsFeed(f wallet.NewsFeed) error {
	key := feedKey(f.URL)
	f.URL = "" // it may hold a key
	raw, err := t.seal(newsFeeds, key, "", f)
	if err != nil {
		return err
	}
	return t.putRow(newsFeeds, key, raw)
}

// NewsReaders walks the index.
func (t *tx) NewsReaders(after wallet.UserID, limit int) (out []wallet.UserID, _ error) {
	from := []byte(nil)
	if after != "" {
		from = append([]byte(after), 0)
	}
	for key := range t.scan(newsReaders, engine.Range{From: from}) {
		if len(out) >= limit {
			break
		}
		out = append(out, wallet.UserID(key))
	}
	return out, nil
}

// noteReader keeps the index of people who want news.
func (t *tx) noteReader(u wallet.User) error {
	if u.Wants(wallet.CategoryNews) {
		return t.put(newsReaders, []byte(u.ID), nil)
	}
	return t.delete(newsReaders, []byte(u.ID))
}
