package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// manyFeeds names so many feeds.
func manyFeeds(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("https://news.example.org/%d", i))
	}
	return strings.Join(all, ",")
}

// TestNoFeedsAreReadByDefault, and up to 20 if they are named.
func TestNoFeedsAreReadByDefault(t *testing.T) {
	for file, want := range map[string]int{"": 0, "news: {feeds: ' , '}": 0, "news: {feeds: '" + manyFeeds(20) + "'}": 20} {
		if c, err := load(t, file); err != nil || len(c.News.Feeds) != want {
			t.Errorf("%.30s: %d feeds, %v", file, len(c.News.Feeds), err)
		}
	}
	if c, err := load(t, "", "PURSER_NEWS_FEEDS=https://a.example/rss,https://b.example/atom"); err != nil || !slices.Equal(c.News.Addresses(), []string{"https://a.example/rss", "https://b.example/atom"}) {
		t.Errorf("%q, %v", c.News.Addresses(), err)
	}
}
