package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// newsItem is an item that a feed published some minutes before noon.
func newsItem(id, title string, minutes int) wallet.NewsItem {
	return wallet.NewsItem{ID: id, Title: title, URL: "https://news.example/" + id, Source: "Dunes", At: noon().Add(-time.Duration(minutes) * time.Minute)}
}

// note notes items, and returns how many were saved.
func note(t *testing.T, s store.Store, now time.Time, silent bool, items ...wallet.NewsItem) (added int) {
	t.Helper()
	update(t, s, func(tx store.Tx) (err error) {
		added, err = tx.NoteNews(items, now, silent)
		return err
	})
	return added
}

// newsIn lists the items after a number, as "1 title, 2 title".
func newsIn(t *testing.T, s store.Store, after uint64, limit int) string {
	t.Helper()
	var out []string
	for _, item := range get(t, s, func(tx store.Tx) ([]wallet.NewsItem, error) { return tx.NewsAfter(after, limit) }) {
		out = append(out, fmt.Sprint(item.Seq, " ", item.Title))
	}
	return strings.Join(out, ", ")
}

func lastNews(t *testing.T, s store.Store) uint64 {
	t.Helper()
	return get(t, s, store.Tx.LastNews)
}

// errUndo rolls an Update back.
var errUndo = errors.New("undo")

// testNews: items come back as they were, in the order of time within one call, and of calls.
func testNews(t *testing.T, open Open) {
	folder := t.TempDir()
	s := open(t, folder)
	same(t, "nothing yet", newsIn(t, s, 0, 10), "")
	same(t, "no number yet", lastNews(t, s), uint64(0))
	same(t, "none noted", note(t, s, noon(), false), 0)

	list := []wallet.NewsItem{newsItem("c", "third", 1), newsItem("a", "first", 9), newsItem("b", "second", 5), newsItem("b2", "beside second", 5)}
	same(t, "all are new", note(t, s, noon(), false, list...), 4)
	same(t, "the list of the caller stays as it was", list[0].ID, "c")
	same(t, "an old one comes late", note(t, s, noon(), false, newsItem("d", "fourth", 60)), 1)
	const all = "1 first, 2 second, 3 beside second, 4 third, 5 fourth"
	same(t, "oldest first, then as they came", newsIn(t, s, 0, 10), all)
	same(t, "a page", newsIn(t, s, 1, 2), "2 second, 3 beside second")
	same(t, "the next", newsIn(t, s, 3, 2), "4 third, 5 fourth")
	same(t, "behind the last", newsIn(t, s, 5, 2), "")
	same(t, "behind any", newsIn(t, s, 1<<64-1, 2), "")
	same(t, "none of none", newsIn(t, s, 0, 0), "")
	same(t, "the last", lastNews(t, s), uint64(5))
	want := list[1]
	want.Seq = 1
	same(t, "every field", get(t, s, func(tx store.Tx) ([]wallet.NewsItem, error) { return tx.NewsAfter(0, 1) }), []wallet.NewsItem{want})

	var many []wallet.NewsItem
	for i := range 30 {
		many = append(many, newsItem(fmt.Sprintf("%d %02d", i%3, i), fmt.Sprint("number ", i), 2-i%3))
	}
	refuses(t, s, errUndo, func(tx store.Tx) error {
		_, err := tx.NoteNews(many, noon(), false)
		if err != nil {
			return err
		}
		items, err := tx.NewsAfter(5, 100)
		for i, item := range items {
			same(t, "the oldest first, and those of the same time in their order", item.ID, fmt.Sprintf("%d %02d", i/10, i/10+3*(i%10)))
		}
		same(t, "all of them", len(items), len(many))
		return errors.Join(err, errUndo)
	})
	refuses(t, s, errUndo, func(tx store.Tx) error {
		_, err := tx.NoteNews([]wallet.NewsItem{newsItem("e", "undone", 0)}, noon(), false)
		return errors.Join(err, errUndo)
	})
	update(t, s, func(tx store.Tx) error {
		if added, err := tx.NoteNews([]wallet.NewsItem{{Title: "without an ID"}}, noon(), false); err == nil || added != 0 {
			t.Errorf("an item without an ID: %d, %v", added, err)
		}
		return nil
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, folder)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	same(t, "after a restart", newsIn(t, s, 0, 10), all)
	same(t, "known after a restart", note(t, s, noon(), false, list...), 0)
	same(t, "what was undone is new", note(t, s, noon(), false, newsItem("e", "undone", 0)), 1)
	if last := lastNews(t, s); last < 6 || newsIn(t, s, 5, 10) != fmt.Sprint(last, " undone") {
		t.Errorf("the last is %d: %s", last, newsIn(t, s, 5, 10))
	}
}

// testNewsOnce: an item is saved once, whether its ID or its title comes again, in one transaction or in two.
func testNewsOnce(t *testing.T, open Open) {
	s := fresh(t, open)
	same(t, "in one transaction", note(t, s, noon(), false, newsItem("a", "Dune 7 moves", 9), newsItem("a", "another title", 8), newsItem("b", "DUNE 7: moves!", 7)), 1)
	same(t, "in another one", note(t, s, noon(), false, newsItem("a", "yet another", 1), newsItem("c", "dune 7 moves", 1)), 0)
	same(t, "titles of unsaved items are not known", note(t, s, noon(), false, newsItem("d", "another title", 1)), 1)
	same(t, "titles without letters are no titles of the same news", note(t, s, noon(), false, newsItem("e", "!!!", 1), newsItem("f", "???", 1)), 2)
	same(t, "an ID is no title", note(t, s, noon(), false, newsItem("dune7moves2", "g", 1), newsItem("h", "dune 7 moves 2", 1)), 2)
	same(t, "in silence", note(t, s, noon(), true, newsItem("s", "silent", 1), newsItem("t", "quiet", 1)), 0)
	same(t, "its ID is known", note(t, s, noon(), false, newsItem("s", "loud", 0)), 0)
	same(t, "its title is known", note(t, s, noon(), false, newsItem("u", "Quiet", 0)), 0)
	same(t, "it is not there", newsIn(t, s, 0, 10), "1 Dune 7 moves, 2 another title, 3 !!!, 4 ???, 5 g, 6 dune 7 moves 2")
	same(t, "silence gives no number", lastNews(t, s), uint64(6))
}

// testNewsOfTwoNodes: two nodes that note the same items at the same time save each once, and no number is given twice.
func testNewsOfTwoNodes(t *testing.T, open Open) {
	here := fresh(t, open)
	there := besideOf(t, here)
	const rounds, each = 10, 5
	counts := make(chan int, 2)
	for _, s := range []store.Store{here, there} {
		go func() {
			sum := 0
			defer func() { counts <- sum }()
			for round := range rounds {
				var list []wallet.NewsItem
				for i := range each {
					list = append(list, newsItem(fmt.Sprint(round, "-", i), fmt.Sprint("title ", round, " of ", i), each-i))
				}
				var added int
				if err := s.Update(t.Context(), func(tx store.Tx) (err error) {
					added, err = tx.NoteNews(list, noon(), false)
					return err
				}); err != nil {
					t.Error(err)
					return
				}
				sum += added
			}
		}()
	}
	same(t, "saved", receive(t, "one node", counts)+receive(t, "the other node", counts), rounds*each)
	for name, s := range map[string]store.Store{"here": here, "there": there} {
		items := get(t, s, func(tx store.Tx) ([]wallet.NewsItem, error) { return tx.NewsAfter(0, 1000) })
		same(t, name, len(items), rounds*each)
		ids, before := map[string]bool{}, uint64(0)
		for _, item := range items {
			if ids[item.ID] || item.Seq <= before {
				t.Errorf("%s: %s has the number %d, behind %d", name, item.ID, item.Seq, before)
			}
			ids[item.ID], before = true, item.Seq
		}
		same(t, "the last "+name, lastNews(t, s), before)
	}
}

// testNewsExpiry: items and titles go a month after they came, IDs a month after they were last noted. Numbers are never given again.
func testNewsExpiry(t *testing.T, open Open) {
	s := fresh(t, open)
	const day = 24 * time.Hour
	sweep := func(at time.Time) { update(t, s, func(tx store.Tx) error { _, err := tx.Sweep(at, 100); return err }) }
	same(t, "saved", note(t, s, noon(), false, newsItem("a", "one", 1), newsItem("b", "two", 0)), 2)
	same(t, "noted again", note(t, s, noon().Add(10*day), false, newsItem("b", "two", 0)), 0)
	same(t, "noted by a clock that is behind", note(t, s, noon(), false, newsItem("b", "two", 0)), 0)
	sweep(noon().Add(store.NewsKept))
	same(t, "kept for as long as was promised", newsIn(t, s, 0, 10), "1 one, 2 two")
	same(t, "an ID, too", note(t, s, noon().Add(store.NewsKept), true, newsItem("c", "One", 0)), 0)
	same(t, "and a title", note(t, s, noon().Add(store.NewsKept), false, newsItem("d", "One", 0)), 0)
	sweep(noon().Add(store.NewsKept + day))
	same(t, "gone", newsIn(t, s, 0, 10), "")
	same(t, "the number stays", lastNews(t, s), uint64(2))
	at := noon().Add(store.NewsKept + day)
	same(t, "noted again, so it is known", note(t, s, at, false, newsItem("b", "two", 0)), 0)
	same(t, "forgotten", note(t, s, at, false, newsItem("a", "one", 0)), 1)
	same(t, "its title was noted once", note(t, s, at, false, newsItem("e", "Two", 0)), 1)
	same(t, "with other numbers", newsIn(t, s, 0, 10), "3 one, 4 Two")
	sweep(at.Add(10 * store.NewsKept))
	same(t, "nothing is left", newsIn(t, s, 0, 10), "")
	// A node whose clock is behind saves later what is removed earlier.
	late := at.Add(20 * store.NewsKept)
	same(t, "by a clock that is ahead", note(t, s, late.Add(5*day), false, newsItem("x", "ahead", 0)), 1)
	same(t, "by a clock that is behind", note(t, s, late, false, newsItem("y", "behind", 0)), 1)
	last := lastNews(t, s)
	sweep(late.Add(store.NewsKept + day))
	same(t, "one is left", newsIn(t, s, 0, 10), fmt.Sprint(last-1, " ahead"))
	same(t, "the number of the other stays", lastNews(t, s), last)
	same(t, "nor a key", note(t, s, at.Add(10*store.NewsKept), false, newsItem("b", "two", 0), newsItem("s", "three", 0)), 2)
}

// testNewsFeeds: what was read of a feed is kept for a month after the last time.
func testNewsFeeds(t *testing.T, open Open) {
	s := fresh(t, open)
	feed := func(url string) (f store.NewsFeed, err error) {
		err = s.View(t.Context(), func(tx store.Tx) error { f, err = tx.NewsFeed(url); return err })
		return f, err
	}
	put := func(f store.NewsFeed) { update(t, s, func(tx store.Tx) error { return tx.PutNewsFeed(f) }) }
	sweep := func(at time.Time) { update(t, s, func(tx store.Tx) error { _, err := tx.Sweep(at, 100); return err }) }
	one := store.NewsFeed{URL: "https://one.example/rss?key=x", ETag: `"1"`, LastModified: "Sun, 01 Mar 2026 11:00:00 GMT", FirstReadAt: noon(), ReadAt: noon()}
	two := store.NewsFeed{URL: "https://two.example/rss", FirstReadAt: noon(), ReadAt: noon()}
	_, err := feed(one.URL)
	same(t, "nothing yet", err, store.ErrNotFound)
	put(one)
	put(two)
	got, err := feed(one.URL)
	same(t, "as it was", fmt.Sprint(got, err), fmt.Sprint(one, nil))
	_, err = feed("https://one.example/rss?key=y")
	same(t, "another address is another feed", err, store.ErrNotFound)
	one.ETag, one.ReadAt = "", noon().Add(10*24*time.Hour)
	put(one)
	got, err = feed(one.URL)
	same(t, "replaced", fmt.Sprint(got, err), fmt.Sprint(one, nil))
	sweep(noon().Add(store.NewsKept))
	_, err = feed(two.URL)
	same(t, "kept for as long as was promised", err, nil)
	sweep(noon().Add(store.NewsKept + 24*time.Hour))
	_, err = feed(two.URL)
	same(t, "not read any more", err, store.ErrNotFound)
	_, err = feed(one.URL)
	same(t, "read later", err, nil)
	sweep(one.ReadAt.Add(store.NewsKept + 24*time.Hour))
	_, err = feed(one.URL)
	same(t, "gone, too", err, store.ErrNotFound)
}
