package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"purser/e2e/harness"
)

// TestFeedsOfTheSettingsAreRead by a running purser, in the networks that webhooks may be in.
func TestFeedsOfTheSettingsAreRead(t *testing.T) {
	read := make(chan string, 10)
	feeds := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		read <- r.URL.Path
		http.NotFound(w, r)
	}))
	defer feeds.Close()
	i := newInstance(t, "PURSER_NEWS_FEEDS="+feeds.URL+"/rss", "PURSER_WEBHOOKS_ALLOW_PRIVATE=127.0.0.0/8", "PURSER_WEBHOOKS_ALLOW_HTTP=true").
		beside(harness.World(t, 50*time.Millisecond))
	i.start("serve")
	select {
	case path := <-read:
		if path != "/rss" {
			t.Errorf("%s was read", path)
		}
	case <-time.After(harness.Wait):
		t.Errorf("no feed was read:\n%s", i.printed())
	}
}
