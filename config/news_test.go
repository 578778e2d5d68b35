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

func TestWrongFeedsAreNamedWithoutTheirSecrets(t *testing.T) {
	refuses(t, []wrongSetting{
		{"feed without TLS", "news: {feeds: 'https://a.example/, http://news.example.org/s3cret'}", []string{"news.feeds", "address 2", "https://"}},
		{"feed on this machine", "news: {feeds: 'https://127.0.0.1/s3cret'}", []string{"news.feeds", "address 1", "webhooks.allow_private"}},
		{"feed of a private name", "news: {feeds: 'https://news.internal/s3cret'}", []string{"news.feeds", "webhooks.allow_private"}},
		{"feed without TLS beside an open network", "webhooks: {allow_private: 10.0.0.0/8}\nnews: {feeds: 'http://10.0.0.1/s3cret'}", []string{"news.feeds", "webhooks.allow_http"}},
		{"feed without TLS outside an open network", "webhooks: {allow_private: 10.0.0.0/8, allow_http: true}\nnews: {feeds: 'http://192.168.0.1/s3cret'}", []string{"news.feeds"}},
		{"feed with a user", "news: {feeds: 'https://u:s3cret@news.example.org/'}", []string{"news.feeds", "user"}},
		{"feed of a file", "news: {feeds: 'file:///etc/s3cret'}", []string{"news.feeds"}},
		{"feed that is none", "news: {feeds: s3cret}", []string{"news.feeds"}},
		{"too many feeds", "news: {feeds: '" + manyFeeds(21) + "'}", []string{"news.feeds", "20"}},
	})
}
