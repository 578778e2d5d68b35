package market

import (
	"encoding/xml"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestNewsComesEachHour: a headline for each full hour, the same for the same hour, and none again within a month.
func TestNewsComesEachHour(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 34, 56, 0, time.UTC)
	m, err := Open(Options{Now: func() time.Time { return now }, Mint: mintOf})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(since string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, NewsPath, nil)
		r.Header.Set("If-Modified-Since", since)
		w := httptest.NewRecorder()
		m.Handler().ServeHTTP(w, r)
		return w
	}
	first := ask("")
	if first.Code != http.StatusOK || first.Header().Get("Content-Type") != "application/rss+xml; charset=utf-8" {
		t.Fatalf("%d %v", first.Code, first.Header())
	}
	seen := map[string]bool{}
	for hour := range 24 * 30 {
		var feed newsFeed
		answer := ask("")
		if err := xml.Unmarshal(answer.Body.Bytes(), &feed); err != nil {
			t.Fatal(err)
		}
		newest := feed.Items[0]
		if at, err := time.Parse(time.RFC1123Z, newest.At); err != nil || !at.Equal(now.Truncate(time.Hour)) || len(feed.Items) != newsShown || seen[newest.Title] || seen[newest.Link] {
			t.Fatalf("hour %d: %+v, %v", hour, newest, err)
		}
		if hour > 0 && !seen[feed.Items[1].Title] {
			t.Fatalf("hour %d: %q was not there before", hour, feed.Items[1].Title)
		}
		seen[newest.Title], seen[newest.Link] = true, true
		now = now.Add(time.Hour)
	}
	now = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	if again := ask(""); again.Body.String() != first.Body.String() {
		t.Error("the same hour has other news")
	}
	modified := first.Header().Get("Last-Modified")
	if same := ask(modified); same.Code != http.StatusNotModified || same.Body.Len() != 0 {
		t.Errorf("unchanged: %d", same.Code)
	}
	now = now.Add(time.Hour)
	if later := ask(modified); later.Code != http.StatusOK {
		t.Errorf("an hour later: %d", later.Code)
	}
}
