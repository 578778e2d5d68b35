package records

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"purser/store"
	"purser/store/storetest"
	"purser/wallet"
)

// newsStore is a store with three items of news, 1 to 3, and a feed, both noted at a time.
func newsStore(t *testing.T, log *bytes.Buffer) (s *Store, noted time.Time) {
	t.Helper()
	o := at(filepath.Join(t.TempDir(), "purser.db"))
	o.log = slog.New(slog.NewTextHandler(log, nil))
	s, err := o.open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, s) })
	noted = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	mustUpdate(t, s, func(tx store.Tx) error {
		var list []wallet.NewsItem
		for n := range 3 {
			list = append(list, wallet.NewsItem{ID: fmt.Sprint("id", n), Title: fmt.Sprint("secret ", n), At: noted.Add(time.Duration(n))})
		}
		_, err := tx.NoteNews(list, noted, false)
		return errors.Join(err, tx.PutNewsFeed(store.NewsFeed{URL: "https://feed.example/?key=secret", ETag: "1", FirstReadAt: noted, ReadAt: noted}))
	})
	return s, noted
}

// titles lists what is there after a number.
func titles(t *testing.T, s *Store, after uint64, limit int) string {
	t.Helper()
	var out []string
	if err := s.View(t.Context(), func(tx store.Tx) error {
		list, err := tx.NewsAfter(after, limit)
		for _, item := range list {
			out = append(out, fmt.Sprint(item.Seq, " ", item.Title))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, ", ")
}

// TestDamagedNewsIsPassedOver, is reported once, and goes when its time is over.
func TestDamagedNewsIsPassedOver(t *testing.T) {
	for what, how := range storetest.WaysOfDamage() {
		if what == "nothing" {
			continue
		}
		var log bytes.Buffer
		s, at := newsStore(t, &log)
		mustUpdate(t, s, func(in store.Tx) error {
			tx := in.(*tx)
			return tx.put(newsItems, numberKey(2), how(bytes.Clone(tx.get(newsItems, numberKey(2)))))
		})
		for range 2 {
			if got := titles(t, s, 0, 2); got != "1 secret 0, 3 secret 2" {
				t.Errorf("%s: %s", what, got)
			}
		}
		if n := strings.Count(log.String(), "level=ERROR"); n != 1 || strings.Contains(log.String(), "secret") {
			t.Errorf("%s: %d reports:\n%s", what, n, &log)
		}
		mustUpdate(t, s, func(tx store.Tx) error { _, err := tx.Sweep(newsOverAt(at), 100); return err })
		if err := s.View(t.Context(), func(in store.Tx) error {
			for _, b := range []table{newsItems, newsKeys, newsFeeds, expiries} {
				if !in.(*tx).isEmpty(b) {
					t.Errorf("%s: something is left in %s", what, b)
				}
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
}

// TestADamagedNumberOfNewsIsFoundAgain from what is there, and no number is given twice.
func TestADamagedNumberOfNewsIsFoundAgain(t *testing.T) {
	var log bytes.Buffer
	s, at := newsStore(t, &log)
	mustUpdate(t, s, func(in store.Tx) error { return in.(*tx).put(meta, []byte(metaNews), []byte("damaged number")) })
	mustUpdate(t, s, func(in store.Tx) error {
		if last, err := in.LastNews(); last != 3 || err != nil {
			t.Errorf("the last number is %d, %v", last, err)
		}
		_, err := in.NoteNews([]wallet.NewsItem{{ID: "new", Title: "new"}}, at, false)
		return err
	})
	if got := titles(t, s, 3, 10); got != "4 new" {
		t.Error(got)
	}
}

// TestADamagedKeyOfNewsIsKnown: an item is not repeated because a time cannot be read, and the note that was left over removes nothing
// that was noted later.
func TestADamagedKeyOfNewsIsKnown(t *testing.T) {
	var log bytes.Buffer
	s, at := newsStore(t, &log)
	mustUpdate(t, s, func(in store.Tx) error {
		tx := in.(*tx)
		for _, e := range tx.prefixed(newsKeys, nil) {
			if err := tx.put(newsKeys, e.key, []byte("x")); err != nil {
				return err
			}
		}
		return nil
	})
	known := func(id, title string, at time.Time) bool {
		added := 0
		mustUpdate(t, s, func(tx store.Tx) (err error) {
			added, err = tx.NoteNews([]wallet.NewsItem{{ID: id, Title: title}}, at, false)
			return err
		})
		return added == 0
	}
	later := at.Add(48 * time.Hour)
	if !known("id0", "other", later) || !known("other", "secret 1", later) {
		t.Error("a damaged key is not known")
	}
	mustUpdate(t, s, func(tx store.Tx) error { _, err := tx.Sweep(newsOverAt(at), 100); return err })
	if !known("id0", "another", newsOverAt(at)) {
		t.Error("the note from before the damage removed the key")
	}
	if known("id1", "secret 1", newsOverAt(at)) {
		t.Error("a damaged key stays for ever")
	}
}

// TestADamagedFeedOfNewsIsNotKnown: it is read as for the first time, and the note that was left over does not remove it.
func TestADamagedFeedOfNewsIsNotKnown(t *testing.T) {
	var log bytes.Buffer
	s, at := newsStore(t, &log)
	const url = "https://feed.example/?key=secret"
	feed := func() (f store.NewsFeed, err error) {
		err = s.View(t.Context(), func(tx store.Tx) error { f, err = tx.NewsFeed(url); return err })
		return f, err
	}
	mustUpdate(t, s, func(in store.Tx) error {
		tx := in.(*tx)
		// A day has one note, and so has the feed. The items have three, and their keys six.
		for _, read := range []time.Time{at, at.Add(time.Hour), at.Add(24 * time.Hour), at} {
			if err := tx.PutNewsFeed(store.NewsFeed{URL: url, FirstReadAt: at, ReadAt: read}); err != nil {
				return err
			}
			if n := len(tx.prefixed(expiries, nil)); n != 3+6+1 {
				t.Errorf("read at %v: %d notes", read, n)
			}
		}
		return tx.put(newsFeeds, tx.newsFeedKey(url), []byte("damaged"))
	})
	if f, err := feed(); !errors.Is(err, store.ErrNotFound) || strings.Count(log.String(), "level=ERROR") != 1 || strings.Contains(log.String(), "secret") {
		t.Errorf("%+v, %v\n%s", f, err, &log)
	}
	later := at.Add(48 * time.Hour)
	mustUpdate(t, s, func(tx store.Tx) error {
		return tx.PutNewsFeed(store.NewsFeed{URL: url, FirstReadAt: later, ReadAt: later})
	})
	mustUpdate(t, s, func(tx store.Tx) error { _, err := tx.Sweep(newsOverAt(at), 100); return err })
	if _, err := feed(); err != nil {
		t.Errorf("the note from before the damage removed the feed: %v", err)
	}
	mustUpdate(t, s, func(tx store.Tx) error { _, err := tx.Sweep(newsOverAt(later), 100); return err })
	if _, err := feed(); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("it stays for ever: %v", err)
	}
}
