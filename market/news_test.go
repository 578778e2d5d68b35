package market_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"purser/e2e/world"
	"purser/market"
	"purser/store"
	"purser/wallet"
	"purser/webhooks"
)

// newsroom is a reader of feeds over a real store, and a server of them.
type newsroom struct {
	*testing.T
	*market.News
	store  store.Store
	clock  time.Time
	log    bytes.Buffer
	orders int
}

func newNewsroom(t *testing.T, feeds ...string) *newsroom {
	t.Helper()
	n := &newsroom{T: t, store: world.OpenStore(t), clock: time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)}
	poster, err := webhooks.NewPoster(webhooks.Options{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, AllowHTTP: true, Now: n.now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(poster.Close)
	n.News = &market.News{Store: n.store, Client: poster.Client(), Node: "a", Now: n.now, Log: slog.New(slog.NewTextHandler(&n.log, nil)),
		Announce: func(store.Tx, time.Time) error { n.orders++; return nil }}
	for _, feed := range feeds {
		u, err := url.Parse(feed)
		if err != nil {
			t.Fatal(err)
		}
		n.Feeds = append(n.Feeds, u)
	}
	return n
}

func (n *newsroom) now() time.Time { return n.clock }

// reads lets a quarter of an hour pass, and reads what is due.
func (n *newsroom) reads() {
	n.Helper()
	n.clock = n.clock.Add(15 * time.Minute)
	if err := n.Read(n.Context()); err != nil {
		n.Fatal(err)
	}
}

// kept are the items in the store.
func (n *newsroom) kept() (all []wallet.NewsItem) {
	n.Helper()
	err := n.store.View(n.Context(), func(tx store.Tx) (err error) {
		all, err = tx.NewsAfter(0, 1000)
		return err
	})
	if err != nil {
		n.Fatal(err)
	}
	return all
}

// titles are the titles of what is kept.
func (n *newsroom) titles() string {
	n.Helper()
	var out []string
	for _, item := range n.kept() {
		out = append(out, item.Title)
	}
	return strings.Join(out, "; ")
}

// feedOf serves a text that changes.
type feedOf struct {
	text  atomic.Pointer[string]
	asked atomic.Int32
}

func (f *feedOf) set(text string) { f.text.Store(&text) }

func (f *feedOf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.asked.Add(1)
	tag := fmt.Sprintf(`"%d"`, len(*f.text.Load()))
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(304)
		return
	}
	_, _ = w.Write([]byte(*f.text.Load()))
}

func serveFeed(t *testing.T, handler http.Handler) string {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s.URL + "/feed?key=secret"
}

// item is one of an RSS feed.
func item(guid, title string, more ...string) string {
	return "<item><guid>" + guid + "</guid><title>" + title + "</title><link>https://news.example.org/" + guid + "</link>" + strings.Join(more, "") + "</item>"
}

func rssOf(items ...string) string {
	return `<?xml version="1.0"?><rss version="2.0"><channel><title>The Daily Dune</title>` + strings.Join(items, "") + `</channel></rss>`
}

// TestNewsIsReadOnce: what a feed holds at first is no news. Later items are kept once, also after a restart, and two feeds that tell the same are one.
func TestNewsIsReadOnce(t *testing.T) {
	var first, second feedOf
	first.set(rssOf(item("1", "Old")))
	second.set(rssOf(item("a", "Older")))
	n := newNewsroom(t, serveFeed(t, &first), serveFeed(t, &second))
	n.reads()
	if n.titles() != "" || n.orders != 0 {
		t.Errorf("at first: %q", n.titles())
	}
	first.set(rssOf(item("2", "Dune rises"), item("1", "Old")))
	second.set(rssOf(item("b", "Dune  rises!"), item("c", "Bean falls"), item("a", "Older")))
	n.reads()
	if got := n.titles(); got != "Dune rises; Bean falls" && got != "Bean falls; Dune rises" && got != "Dune rises!; Bean falls" || n.orders == 0 {
		t.Errorf("then: %q, ordered %d times", got, n.orders)
	}
	asked := first.asked.Load()
	n.clock = n.clock.Add(10 * time.Minute)
	if err := n.Read(t.Context()); err != nil || first.asked.Load() != asked {
		t.Errorf("it is read before it is due: %v", err)
	}
	again := &market.News{Store: n.store, Feeds: n.Feeds, Client: n.Client, Node: "b", Now: n.now, Log: n.Log} // a restart knows nothing but the store
	before := n.titles()
	if err := again.Read(t.Context()); err != nil || n.titles() != before {
		t.Errorf("after a restart: %q, %v", n.titles(), err)
	}
	if got := n.kept()[0]; got.Source != "The Daily Dune" || !strings.HasPrefix(got.URL, "https://news.example.org/") || !got.At.Equal(n.clock.Add(-10*time.Minute)) {
		t.Errorf("%+v", got)
	}
}

// TestWhatAFeedSaysIsCleaned: texts are plain and short, links are https, times are believed if they can be.
func TestWhatAFeedSaysIsCleaned(t *testing.T) {
	var feed feedOf
	feed.set(rssOf())
	n := newNewsroom(t, serveFeed(t, &feed))
	n.reads()
	old, future := n.clock.Add(-49*time.Hour).Format(time.RFC1123Z), n.clock.Add(10*time.Hour).Format(time.RFC1123Z)
	feed.set(rssOf(
		item("1", "<![CDATA[<b>Bold</b> &amp; <script>alert(1)</script> news]]>"),
		item("2", "&amp;lt;i&amp;gt;Twice&amp;lt;/i&amp;gt; escaped"),
		item("3", "Turned \u202eround\u2069 and\u200b invisible\n\t  blanks"),
		item("4", strings.Repeat("long ", 100)),
		item("5", ""), item("6", "\u200b \u2060"),
		item("7", "Too old", "<pubDate>"+old+"</pubDate>"),
		item("8", "From the future", "<pubDate>"+future+"</pubDate>"),
		"<item><title>No name and no link</title></item>",
		`<item><guid>9</guid><title>A bad link</title><link>javascript:alert(1)</link></item>`,
		`<item><guid>10</guid><title>Plain http</title><link>http://news.example.org/10</link></item>`,
		`<item><guid>11</guid><title>A user in it</title><link>https://evil@news.example.org/</link></item>`,
	))
	n.reads()
	want := "Bold & alert(1) news; Twice escaped; Turned round and invisible blanks; " + strings.TrimSpace(strings.Repeat("long ", 40)) + "…; From the future; A bad link; Plain http; A user in it"
	if got := n.titles(); got != want {
		t.Errorf("%q, want\n%q", got, want)
	}
	for _, got := range n.kept() {
		if strings.HasPrefix(got.Title, "A ") || strings.HasPrefix(got.Title, "Plain") {
			if got.URL != "" {
				t.Errorf("%s links to %s", got.Title, got.URL)
			}
		}
		if got.At.After(n.clock) || len([]rune(got.Title)) > wallet.MostNewsTitle {
			t.Errorf("%+v", got)
		}
	}
}

// TestOtherKindsOfFeedsAreRead: Atom and JSON Feed, with their own names of things.
func TestOtherKindsOfFeedsAreRead(t *testing.T) {
	now := "2026-11-24T12:05:00Z"
	for kind, text := range map[string]string{
		"atom": `<feed xmlns="http://www.w3.org/2005/Atom"><title>A</title><entry><id>x</id><title>Hello</title><link href="https://a.example.org/1"/><updated>` + now + `</updated></entry></feed>`,
		"json": `{"version":"https://jsonfeed.org/version/1.1","title":"J","items":[{"id":"x","title":"Hello","url":"https://a.example.org/1","date_published":"` + now + `"}]}`,
	} {
		var feed feedOf
		feed.set(rssOf())
		n := newNewsroom(t, serveFeed(t, &feed))
		n.reads()
		feed.set(text)
		n.reads()
		if got := n.kept(); len(got) != 1 || got[0].Title != "Hello" || got[0].URL != "https://a.example.org/1" || wallet.Timestamp(got[0].At) != "2026-11-24T12:05:00.000Z" {
			t.Errorf("%s: %+v\n%s", kind, got, n.log.String())
		}
	}
}

// TestABadFeedHarmsNobody: whatever a server answers is a failure of that feed alone, which is read again later and later. No line of the log holds its address.
func TestABadFeedHarmsNobody(t *testing.T) {
	bomb := func() []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write(bytes.Repeat([]byte(" "), 64<<20))
		_ = w.Close()
		return b.Bytes()
	}()
	for what, handler := range map[string]http.HandlerFunc{
		"HTML": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "<html><body>502 Bad Gateway</body></html>")
		},
		"an error": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"nothing":  func(http.ResponseWriter, *http.Request) {},
		"null":     func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "null") },
		"half":     func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, rssOf(item("1", "x"))[:80]) },
		"depth":    func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<rss>"+strings.Repeat("<a>", 200_000)) },
		"too much": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat(" ", 1<<20)+rssOf()) },
		"a gzip bomb": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb)
		},
		"no gzip": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			fmt.Fprint(w, rssOf())
		},
		"redirects": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/feed?key=secret", http.StatusFound)
		},
		"into a network": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://10.0.0.1/feed", http.StatusFound)
		},
		"to another kind": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			var good feedOf
			good.set(rssOf())
			n := newNewsroom(t, serveFeed(t, handler), serveFeed(t, &good))
			n.reads()
			good.set(rssOf(item("1", "Good")))
			for range 3 {
				n.reads()
			}
			if n.titles() != "Good" {
				t.Errorf("kept %q", n.titles())
			}
			log := n.log.String()
			if strings.Count(log, "cannot be read") != 1 || strings.Contains(log, "secret") || strings.Contains(log, "feed?") {
				t.Errorf("logged %s", log)
			}
		})
	}
}

// entityBomb grows when its entities are replaced.
const entityBomb = `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;"><!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;">]><rss><channel><title>&d;&d;&d;</title></channel></rss>`

// TestASlowFeedDelaysNoOther: one that never ends ends with its reader, and others were kept before.
func TestASlowFeedDelaysNoOther(t *testing.T) {
	var good feedOf
	good.set(rssOf())
	reached := make(chan struct{}, 10)
	slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached <- struct{}{}
		<-r.Context().Done()
	})
	n := newNewsroom(t, serveFeed(t, slow), serveFeed(t, &good))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Read(ctx) }()
	<-reached
	for good.asked.Load() == 0 {
		select {
		case err := <-ended:
			t.Fatal("it ended before the good feed was asked", err)
		default:
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestAFeedThatFailsIsAskedLessOften, and at once again in its usual time when it works.
func TestAFeedThatFailsIsAskedLessOften(t *testing.T) {
	var asked int
	broken := true
	n := newNewsroom(t, serveFeed(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked++; broken {
			w.WriteHeader(503)
			return
		}
		fmt.Fprint(w, rssOf())
	})))
	for range 4 * 24 {
		n.reads()
	}
	if asked < 5 || asked > 9 {
		t.Errorf("asked %d times within a day", asked)
	}
	broken = false
	for range 4 * 6 {
		n.reads()
	}
	asked = 0
	for range 8 {
		n.reads()
	}
	if asked != 8 {
		t.Errorf("asked %d times within two hours when it works", asked)
	}
}

// TestNoFeedLeadsIntoANetwork that the operator has not opened.
func TestNoFeedLeadsIntoANetwork(t *testing.T) {
	var feed feedOf
	feed.set(rssOf(item("1", "x")))
	n := newNewsroom(t, serveFeed(t, &feed))
	poster, err := webhooks.NewPoster(webhooks.Options{Now: n.now})
	if err != nil {
		t.Fatal(err)
	}
	n.Client = poster.Client()
	n.reads()
	if feed.asked.Load() != 0 || !strings.Contains(n.log.String(), "cannot be read") {
		t.Errorf("asked %d times: %s", feed.asked.Load(), n.log.String())
	}
}

// FuzzFeeds: whatever bytes a feed has, what is kept is clean, and nothing panics.
func FuzzFeeds(f *testing.F) {
	for _, text := range []string{rssOf(item("1", "Dune")), entityBomb, "null", "{}", `{"version":"https://jsonfeed.org/version/1","items":[{"id":1,"title":null}]}`,
		`<feed><entry><title type="html">&lt;b&gt;</title><id/></entry></feed>`, "<rss><channel><item><title>\u202e</title></item></channel></rss>"} {
		f.Add([]byte(text))
	}
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, body []byte) {
		items, err := market.ParseFeed("news.example.org", body, now)
		if err != nil && len(items) > 0 {
			t.Error("items beside an error")
		}
		for _, got := range items {
			if got.Title == "" || len([]rune(got.Title)) > wallet.MostNewsTitle || len([]rune(got.Source)) > wallet.MostNewsSource || strings.ContainsAny(got.Title, "\n\u202e\u2066\u200b") ||
				got.URL != "" && !strings.HasPrefix(got.URL, "https://") || got.At.After(now) || now.Sub(got.At) > 48*time.Hour {
				t.Errorf("%+v", got)
			}
		}
	})
}
