package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

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
	// One that is due is left where it is.
	early := wallet.TimeOfDay(5 * 60)
	u.Settings.Summary.At = &early
	order(noon().Add(2 * time.Hour))
	due, _ := job()
	same(t, "due already", due.NotBefore, moved.NotBefore)
	update(t, s, func(tx store.Tx) error { return tx.PutPortfolio(wallet.Portfolio{Owner: "usr_a", SentAt: noon()}) })
	u.Notifications.Enabled = false
	order(noon().Add(time.Hour))
	_, gone := job()
	same(t, "when it is turned off", []error{err, again, gone}, []error{nil, nil, store.ErrNotFound})
	var kept wallet.Portfolio
	view(t, s, func(tx store.Tx) (err error) { kept, err = tx.Portfolio("usr_a"); return err })
	same(t, "what is kept then", kept.SentAt, time.Time{})
	order(noon()) // once more
}
