package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// headline is an item as a feed tells it.
func headline(guid, title string) wallet.NewsItem {
	return wallet.NewsItem{ID: wallet.NewsID("feed", guid), Title: title, URL: "https://news.example.org/" + guid, Source: "Feed", At: noon()}
}

// testNews: an item is kept once, whichever feed tells it and however often, in the order in which it came, and for a month.
func testNews(t *testing.T, open Open) {
	s := fresh(t, open)
	note := func(now time.Time, silent bool, items ...wallet.NewsItem) (added int) {
		t.Helper()
		update(t, s, func(tx store.Tx) (err error) {
			added, err = tx.NoteNews(items, silent, now)
			return err
		})
		return added
	}
	titles := func(after uint64, limit int) (out string) {
		t.Helper()
		for _, item := range get(t, s, func(tx store.Tx) ([]wallet.NewsItem, error) { return tx.NewsAfter(after, limit) }) {
			out += fmt.Sprint(item.Seq, item.Title, " ")
		}
		return out
	}
	last := func() uint64 {
		t.Helper()
		return get(t, s, func(tx store.Tx) (uint64, error) { return tx.LastNews() })
	}
	same(t, "nothing", titles(0, 10), "")
	same(t, "the last of nothing", last(), uint64(0))
	same(t, "what was there before", note(noon(), true, headline("1", "Old")), 0)
	same(t, "new ones", note(noon(), false, headline("1", "Old"), headline("2", "Dune rises"), headline("3", "Bean falls")), 2)
	same(t, "in order", titles(0, 10), "1Dune rises 2Bean falls ")
	same(t, "the same once more, and by another feed", note(noon(), false, headline("2", "Dune rises!"), headline("9", "dune  RISES")), 0)
	same(t, "twice at once", note(noon(), false, headline("4", "Moon"), headline("5", "moon")), 1)
	same(t, "behind one", titles(2, 10), "3Moon ")
	same(t, "a page", titles(0, 2), "1Dune rises 2Bean falls ")
	same(t, "the last", last(), uint64(3))
	refuses(t, s, errUndone, func(tx store.Tx) error { // what is rolled back is news again
		_, err := tx.NoteNews([]wallet.NewsItem{headline("6", "Gull")}, false, noon())
		return errors.Join(err, errUndone)
	})
	same(t, "after a rollback", note(noon(), false, headline("6", "Gull")), 1)

	feed := wallet.NewsFeed{URL: "https://news.example.org/feed?key=1", ETag: `"7"`, LastModified: "yesterday", ReadAt: noon()}
	same(t, "an unknown feed", get(t, s, func(tx store.Tx) (wallet.NewsFeed, error) { return tx.NewsFeed(feed.URL) }), wallet.NewsFeed{})
	update(t, s, func(tx store.Tx) error { return tx.PutNewsFeed(feed) })
	same(t, "a feed", get(t, s, func(tx store.Tx) (wallet.NewsFeed, error) { return tx.NewsFeed(feed.URL) }), feed)

	update(t, s, func(tx store.Tx) error { _, err := tx.Sweep(noon().Add(store.NewsKept-time.Second), 1000); return err })
	same(t, "nearly a month later", titles(3, 10), "4Gull ")
	update(t, s, func(tx store.Tx) error { _, err := tx.Sweep(noon().Add(store.NewsKept), 1000); return err })
	same(t, "a month later", titles(0, 10), "")
	later := noon().Add(store.NewsKept)
	same(t, "and it may be told again", note(later, false, headline("2", "Dune rises")), 1)
	if n := last(); n <= 4 {
		t.Errorf("a number is given twice: %d", n)
	}
}

// errUndone rolls an Update back.
var errUndone = errors.New("undone")

// testNewsReaders: PutUser keeps the list of those who want news, and an erased person is not on it.
func testNewsReaders(t *testing.T, open Open) {
	s := fresh(t, open)
	reader := func(n int, on bool) wallet.User {
		u := wallet.User{ID: wallet.UserID(fmt.Sprintf("usr_%02d", n)), TelegramID: int64(1000 + n), RegisteredAt: noon()}
		if on {
			u.Notifications = &wallet.Notifications{Enabled: true, Events: []string{"market.news"}}
		}
		return u
	}
	update(t, s, func(tx store.Tx) error {
		for n := range 10 {
			if err := tx.PutUser(reader(n, n%2 == 0)); err != nil {
				return err
			}
		}
		return nil
	})
	list := func(after wallet.UserID, limit int) []wallet.UserID {
		t.Helper()
		return get(t, s, func(tx store.Tx) ([]wallet.UserID, error) { return tx.NewsReaders(after, limit) })
	}
	same(t, "a page", list("", 3), []wallet.UserID{"usr_00", "usr_02", "usr_04"})
	same(t, "the next", list("usr_04", 3), []wallet.UserID{"usr_06", "usr_08"})
	update(t, s, func(tx store.Tx) error {
		off := reader(2, true)
		off.Notifications.Enabled = false
		return errors.Join(tx.PutUser(reader(0, false)), tx.PutUser(off), tx.PutUser(reader(3, true)), tx.EraseUser("usr_04"))
	})
	same(t, "after changes", list("", 10), []wallet.UserID{"usr_03", "usr_06", "usr_08"})
}

// testPortfolioSummaries: one job for each person who wants summaries, at the time of their plan, and what they had turned on is remembered.
func testPortfolioSummaries(t *testing.T, open Open) {
	s := fresh(t, open)
	at := wallet.TimeOfDay(13 * 60)
	u := wallet.User{ID: "usr_a", TelegramID: 1, RegisteredAt: noon(), Notifications: &wallet.Notifications{Enabled: true, Events: []string{"portfolio.summary"}}}
	order := func(now time.Time) {
		t.Helper()
		update(t, s, func(tx store.Tx) error { return errors.Join(tx.PutUser(u), store.OrderPortfolioSummary(tx, u, now)) })
	}
	job := func() (store.Job, error) {
		t.Helper()
		var job store.Job
		var err error
		view(t, s, func(tx store.Tx) error { job, err = tx.Job(store.PortfolioSummaries, "usr_a"); return nil })
		return job, err
	}
	order(noon())
	first, err := job()
	same(t, "its time", first.NotBefore, noon().AddDate(0, 0, 1).Add(-3*time.Hour).Truncate(time.Second))
	u.Settings.Summary.At = &at
	order(noon().Add(time.Minute))
	moved, again := job()
	same(t, "another time", moved.NotBefore, noon().Add(time.Hour).Truncate(time.Second))
	same(t, "since it was turned on", moved.At, first.At)
	u.Notifications.Enabled = false
	order(noon().Add(time.Hour))
	_, gone := job()
	same(t, "when it is turned off", []error{err, again, gone}, []error{nil, nil, store.ErrNotFound})
	order(noon()) // once more
}
