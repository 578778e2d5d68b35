package market

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"purser/egress"
	sandbox "purser/sandbox/market"
	"purser/store"
	"purser/store/local"
	"purser/store/storetest"
	"purser/wallet"
)

// feedServer serves feeds by path over a real socket. Any goroutine may use it.
type feedServer struct {
	*httptest.Server
	mu    sync.Mutex
	pages map[string]http.HandlerFunc
	calls map[string]int
}

func newFeedServer(t testing.TB) *feedServer {
	f := &feedServer{pages: map[string]http.HandlerFunc{}, calls: map[string]int{}}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *feedServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.calls[r.URL.Path]++
	page := f.pages[r.URL.Path]
	f.mu.Unlock()
	if page == nil {
		http.NotFound(w, r)
		return
	}
	page(w, r)
}

// serve answers a path from now on.
func (f *feedServer) serve(path string, page http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pages[path] = page
}

// says answers a path with a body from now on.
func (f *feedServer) says(path, body string) {
	f.serve(path, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) })
}

// called returns how often a path was asked for since the last time.
func (f *feedServer) called(path string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer func() { f.calls[path] = 0 }()
	return f.calls[path]
}

// rss is a feed of items, each "id|title|time of publication".
func rss(items ...string) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"><channel><title>Dune Daily</title>`)
	for _, item := range items {
		parts := strings.SplitN(item, "|", 3)
		fmt.Fprintf(&b, "<item><guid>urn:%s</guid><title>%s</title><link>https://dunes.example/%s</link>", parts[0], parts[1], parts[0])
		if parts[2] != "" {
			fmt.Fprintf(&b, "<pubDate>%s</pubDate>", parts[2])
		}
		b.WriteString("</item>")
	}
	return b.String() + "</channel></rss>"
}

// date is a time as RSS writes it.
func date(at time.Time) string { return at.UTC().Format(time.RFC1123Z) }

// newsroom is a News over a store of its own, with a clock that stands still.
type newsroom struct {
	*News
	t    testing.TB
	path string // of the store
	log  bytes.Buffer

	mu sync.Mutex
	at time.Time
}

// loopbackFeeds allows feeds on this machine.
func loopbackFeeds() egress.Options {
	return egress.Options{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
}

func newNewsroom(t testing.TB, feeds ...string) *newsroom {
	t.Helper()
	r := &newsroom{t: t, path: filepath.Join(t.TempDir(), "purser.db"), at: time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)}
	r.News = &News{Store: openNewsStore(t, r.path), Feeds: feeds, Client: NewFeedClient(loopbackFeeds()), Node: "a", Now: r.now,
		Log: slog.New(slog.NewTextHandler(&r.log, nil))}
	t.Cleanup(func() {
		if err := r.Store.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func openNewsStore(t testing.TB, path string) store.Store {
	s, err := local.Open(local.Options{Path: path, MasterKey: make([]byte, 32), Random: rand.Reader, Kinds: storetest.Kinds()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (r *newsroom) now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at
}

// after moves the clock, and reads what is due.
func (r *newsroom) after(d time.Duration) {
	r.t.Helper()
	r.mu.Lock()
	r.at = r.at.Add(d)
	r.mu.Unlock()
	if err := r.Read(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// saved lists the titles of all saved items, in their order.
func (r *newsroom) saved() string {
	r.t.Helper()
	var out []string
	for _, item := range r.items() {
		out = append(out, item.Title)
	}
	return strings.Join(out, ", ")
}

func (r *newsroom) items() (items []wallet.NewsItem) {
	r.t.Helper()
	if err := r.Store.View(r.t.Context(), func(tx store.Tx) (err error) { items, err = tx.NewsAfter(0, 1000); return err }); err != nil {
		r.t.Fatal(err)
	}
	return items
}

// logged returns what was logged since the last time.
func (r *newsroom) logged() string {
	text := r.log.String()
	r.log.Reset()
	return text
}

// is compares texts.
func is(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// TestTheFirstReadingIsSilent: what is there already is no news, what comes later is, also after a restart.
func TestTheFirstReadingIsSilent(t *testing.T) {
	server := newFeedServer(t)
	r := newNewsroom(t, server.URL+"/rss")
	old := "1|old one|" + date(r.at.Add(-time.Hour))
	server.says("/rss", rss(old))
	r.after(0)
	is(t, "at first", r.saved(), "")
	server.says("/rss", rss("2|a new one|"+date(r.at.Add(time.Minute)), old))
	r.after(NewsEvery)
	is(t, "later", r.saved(), "a new one")

	if err := r.Store.Close(); err != nil {
		t.Fatal(err)
	}
	restarted := &News{Store: openNewsStore(t, r.path), Feeds: r.Feeds, Client: r.Client, Node: "a", Now: r.now, Log: r.Log}
	r.News = restarted
	server.called("/rss")
	r.after(time.Minute)
	if n := server.called("/rss"); n != 0 {
		t.Errorf("%d calls right after a restart", n)
	}
	server.says("/rss", rss("3|the newest|"+date(r.at), "2|a new one|"+date(r.at.Add(-time.Hour)), old))
	r.after(NewsEvery)
	is(t, "after a restart", r.saved(), "a new one, the newest")

	// A feed that the operator adds is read in silence. What both feeds have stays known.
	server.says("/more", rss("4|of another feed|"+date(r.at)))
	r.Feeds = append(r.Feeds, server.URL+"/more")
	r.after(NewsEvery)
	is(t, "of a feed that was added", r.saved(), "a new one, the newest")
	server.says("/more", rss("5|the other feed's|"+date(r.at), "4|of another feed|"+date(r.at)))
	r.after(NewsEvery)
	is(t, "of a feed that was added, later", r.saved(), "a new one, the newest, the other feed's")
}

// TestAFailureIsNoFirstReading: a page of an error does not make all that comes later news.
func TestAFailureIsNoFirstReading(t *testing.T) {
	server := newFeedServer(t)
	r := newNewsroom(t, server.URL+"/rss")
	for _, page := range []string{`<html><body>Down for repair</body></html>`, `{"error":"repair"}`, `<rss version="2.0"></rss>`, `<feed xmlns="http://www.w3.org/2005/Atom"/>`, ``, `<rss><channel><title>cut`} {
		server.says("/rss", page)
		r.after(longestNewsPause)
		if n := server.called("/rss"); n != 1 {
			t.Errorf("%d calls for %q", n, page)
		}
	}
	server.says("/rss", rss("1|old|"+date(r.at)))
	r.after(longestNewsPause)
	is(t, "at first", r.saved(), "")
	// An empty feed with a title is one: what comes into it is new.
	empty := newNewsroom(t, server.URL+"/empty")
	server.says("/empty", rss())
	empty.after(0)
	server.says("/empty", rss("9|the very first|"+date(empty.at)))
	empty.after(NewsEvery)
	is(t, "of a feed that was empty", empty.saved(), "the very first")
}

// TestNewsOfSeveralFeedsIsSavedOnce, by its ID and by its title, in the order of time.
func TestNewsOfSeveralFeedsIsSavedOnce(t *testing.T) {
	server := newFeedServer(t)
	r := newNewsroom(t, server.URL+"/a", server.URL+"/b", server.URL+"/c")
	for _, path := range []string{"/a", "/b", "/c"} {
		server.says(path, rss())
	}
	r.after(0)
	server.says("/a", rss("3|Third|"+date(r.at.Add(3*time.Minute)), "1|First|"+date(r.at.Add(time.Minute)), "2|Second|"+date(r.at.Add(2*time.Minute))))
	server.says("/b", rss("1|First, but edited|"+date(r.at), "8|SECOND!|"+date(r.at), "3|Third|"+date(r.at)))
	server.says("/c", rss("2|Second|"+date(r.at)))
	// All are due at once. Whichever comes first, each is saved once.
	r.after(24 * time.Hour)
	seen := map[string]int{}
	for _, item := range r.items() {
		seen[strings.ToLower(item.Title[:5])]++
	}
	if len(seen) != 3 || seen["first"] != 1 || seen["secon"] != 1 || seen["third"] != 1 {
		t.Errorf("%v", seen)
	}

	one := newNewsroom(t, server.URL+"/a", server.URL+"/b")
	server.says("/a", rss())
	server.says("/b", rss())
	one.after(0)
	server.says("/a", rss("3|Third|"+date(one.at.Add(3*time.Minute)), "1|First|"+date(one.at.Add(time.Minute)), "2|Second|"+date(one.at.Add(2*time.Minute))))
	one.after(NewsEvery - time.Minute) // the first feed has not had its moment again, the second one has
	server.says("/b", rss("9|third|"+date(one.at), "1|Another title|"+date(one.at), "7|Fourth|"+date(one.at)))
	one.after(time.Minute)
	one.after(NewsEvery)
	is(t, "in the order of time", one.saved(), "First, Second, Third, Fourth")
	for i, item := range one.items() {
		if item.Seq != uint64(i+1) || item.Source != "Dune Daily" || !strings.HasPrefix(item.URL, "https://dunes.example/") {
			t.Errorf("%+v", item)
		}
	}
}

// TestUnchangedFeedsAreNotSentAgain: the server gets what it said of the last version, and 304 is a success.
func TestUnchangedFeedsAreNotSentAgain(t *testing.T) {
	server := newFeedServer(t)
	r := newNewsroom(t, server.URL+"/rss")
	var asked []string
	etag, modified := `W/"v1"`, "Tue, 24 Nov 2026 11:00:00 GMT"
	server.serve("/rss", func(w http.ResponseWriter, q *http.Request) {
		asked = append(asked, q.Header.Get("If-None-Match")+" "+q.Header.Get("If-Modified-Since"))
		if etag != "" && q.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("ETag", etag)
		w.Header().Set("Last-Modified", modified)
		fmt.Fprint(w, rss("1|one|"+date(r.at)))
	})
	r.after(0)
	r.after(NewsEvery)
	r.after(NewsEvery)
	is(t, "asked", strings.Join(asked, ", "), ` , W/"v1" Tue, 24 Nov 2026 11:00:00 GMT, W/"v1" Tue, 24 Nov 2026 11:00:00 GMT`)
	is(t, "logged", r.logged(), "")
	// A version without an ETag replaces the one before, and so does one whose validators cannot be sent back.
	asked, etag, modified = nil, "", "é"
	r.after(NewsEvery)
	r.after(NewsEvery)
	is(t, "asked without", strings.Join(asked, ", "), `W/"v1" Tue, 24 Nov 2026 11:00:00 GMT,  `)
	// It counts as read: the row stays for as long as it is read.
	if err := r.Store.View(t.Context(), func(tx store.Tx) error {
		feed, err := tx.NewsFeed(server.URL + "/rss")
		if !feed.ReadAt.Equal(r.at) || !feed.FirstReadAt.Equal(r.at.Add(-4*NewsEvery)) || feed.ETag != "" || feed.LastModified != "" {
			t.Errorf("%+v", feed)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	// 304 to a question without a condition is a failure.
	server.serve("/rss", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) })
	r.after(NewsEvery)
	if text := r.logged(); !strings.Contains(text, "status 304") {
		t.Errorf("logged %q", text)
	}
}

// TestFeedsTakeTurns over a quarter of an hour, and each keeps its moment.
func TestFeedsTakeTurns(t *testing.T) {
	server := newFeedServer(t)
	r := newNewsroom(t, server.URL+"/0", server.URL+"/1", server.URL+"/2")
	for _, path := range []string{"/0", "/1", "/2"} {
		server.says(path, rss())
	}
	r.after(7 * time.Second) // at 12:00:07; all are new
	read := func() (out string) {
		for _, path := range []string{"/0", "/1", "/2"} {
			out += strings.Repeat(path[1:], server.called(path))
		}
		return out
	}
	is(t, "at first", read(), "012")
	var turns []string
	for minute := range 31 {
		if minute > 0 {
			r.after(time.Minute)
		}
		if now := read(); now != "" {
			turns = append(turns, fmt.Sprint(minute, ":", now))
		}
	}
	is(t, "turns", strings.Join(turns, " "), "5:1 10:2 15:0 20:1 25:2 30:0")
	r.after(24 * time.Hour)
	is(t, "after a long time", read(), "012")
	r.after(0)
	is(t, "not twice", read(), "")
	r.after(-72 * time.Hour) // the clock was set back
	is(t, "after a clock was set back", read(), "012")
}

// TestAFeedThatFailsIsLeftAlone for longer each time, and its failure is logged once, with nothing but its host.
func TestAFeedThatFailsIsLeftAlone(t *testing.T) {
	server := newFeedServer(t)
	r := newNewsroom(t, server.URL+"/rss?key=secret", server.URL+"/good")
	server.says("/good", rss())
	server.serve("/rss", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "secret text", 500) })
	start := r.at
	var tries []string
	r.after(0)
	for range 25 * 60 {
		if server.called("/rss") > 0 {
			tries = append(tries, r.at.Sub(start).String())
		}
		r.after(time.Minute)
	}
	is(t, "tries", strings.Join(tries, " "), "0s 30m0s 1h30m0s 3h30m0s 7h30m0s 13h30m0s 19h30m0s")
	if n := server.called("/good"); n < 99 {
		t.Errorf("the good feed was read %d times", n)
	}
	text := r.logged()
	if strings.Count(text, "\n") != 1 || !strings.Contains(text, `host=127.0.0.1 reason="status 500"`) || strings.Contains(text, "secret") {
		t.Errorf("logged %q", text)
	}
	server.serve("/rss", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "", http.StatusForbidden) })
	r.after(6 * time.Hour)
	r.after(6 * time.Hour)
	if text := r.logged(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "status 403") {
		t.Errorf("logged %q", text)
	}
	server.says("/rss", rss())
	r.after(6 * time.Hour)
	if text := r.logged(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "level=INFO") || strings.Contains(text, "secret") {
		t.Errorf("logged %q", text)
	}
	server.called("/rss")
	r.after(NewsEvery)
	if n := server.called("/rss"); n != 1 {
		t.Errorf("%d calls after it recovered", n)
	}
	server.serve("/rss", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "", 500) })
	r.after(NewsEvery)
	server.called("/rss")
	r.after(2 * NewsEvery)
	if n := server.called("/rss"); n != 1 {
		t.Errorf("%d calls: a feed that recovered begins with the shortest pause", n)
	}
}

// TestANodeThatWasPausedSilencesNothing: while it waited for the answer, another node read the feed for the first time.
func TestANodeThatWasPausedSilencesNothing(t *testing.T) {
	server := newFeedServer(t)
	r := newNewsroom(t, server.URL+"/rss")
	other := &News{Store: r.Store, Feeds: r.Feeds, Client: r.Client, Node: "b", Now: r.now, Log: r.Log}
	old := "1|old|" + date(r.at)
	server.serve("/rss", func(w http.ResponseWriter, q *http.Request) {
		server.says("/rss", rss(old))
		if err := other.Read(q.Context()); err != nil {
			t.Error(err)
		}
		fmt.Fprint(w, rss("2|new|"+date(r.at), old))
	})
	r.after(0)
	is(t, "saved", r.saved(), "new")
	if n := server.called("/rss"); n != 2 {
		t.Errorf("%d calls", n)
	}
}

// TestAddedIsCalledWithTheItems, in their Update, and only when there are any. Its error undoes them.
func TestAddedIsCalledWithTheItems(t *testing.T) {
	server := newFeedServer(t)
	r := newNewsroom(t, server.URL+"/rss")
	var calls []string
	fails := false
	r.Added = func(tx store.Tx, now time.Time) error {
		items, err := tx.NewsAfter(0, 10)
		calls = append(calls, fmt.Sprint(len(items), " ", now.Equal(r.at)))
		if fails {
			return errors.New("no room")
		}
		return err
	}
	server.says("/rss", rss("1|one|"+date(r.at)))
	r.after(0)
	is(t, "in silence", strings.Join(calls, ", "), "")
	fails = true
	server.says("/rss", rss("2|two|"+date(r.at), "3|three|"+date(r.at)))
	r.at = r.at.Add(NewsEvery)
	if err := r.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("read: %v", err)
	}
	is(t, "undone", r.saved(), "")
	fails, calls = false, nil
	server.called("/rss")
	r.after(time.Minute)
	if n := server.called("/rss"); n != 0 {
		t.Errorf("%d calls a minute later", n)
	}
	r.after(2 * NewsEvery)
	is(t, "called", strings.Join(calls, ", "), "2 true")
	is(t, "saved", r.saved(), "three, two")
	r.after(NewsEvery)
	is(t, "nothing new", strings.Join(calls, ", "), "2 true")
}

// TestNewsOfTheSandbox: its feed is silent at first, and brings a headline an hour from then on.
func TestNewsOfTheSandbox(t *testing.T) {
	server := newFeedServer(t)
	r := newNewsroom(t, server.URL+sandbox.NewsPath)
	world, err := sandbox.Open(sandbox.Options{Now: r.now, Seed: "s", Mint: func(name string) string { return name }})
	if err != nil {
		t.Fatal(err)
	}
	server.serve(sandbox.NewsPath, world.Handler().ServeHTTP)
	r.after(0)
	is(t, "at first", r.saved(), "")
	for range 12 {
		r.after(NewsEvery)
	}
	items := r.items()
	if len(items) != 3 {
		t.Fatalf("%d items in three hours: %+v", len(items), items)
	}
	for i, item := range items {
		if item.Source != "The Sandbox Dune Gazette" || !item.At.Equal(time.Date(2026, 11, 24, 13+i, 0, 0, 0, time.UTC)) {
			t.Errorf("%+v", item)
		}
	}
	is(t, "logged", r.logged(), "")
}
