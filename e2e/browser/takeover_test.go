package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"testing"
	"time"

	"purser/e2e/harness"
)

// planted is a service worker that answers each visit with a page of its own.
const planted = `self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (e) => e.waitUntil(clients.claim()));
self.addEventListener('fetch', (e) => {
  if (e.request.mode === 'navigate') e.respondWith(new Response('<title>planted</title>', { headers: { 'Content-Type': 'text/html' } }));
});`

// TestAServiceWorkerOfATakenOverServerIsEnded by the right one, when the browser next asks for its script.
func TestAServiceWorkerOfATakenOverServerIsEnded(t *testing.T) {
	t.Parallel()
	executable := chromium(t)
	p := harness.NewProduct(t, program, harness.World(t, 400*time.Millisecond))
	own, err := url.Parse(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", own.Host)
	if err != nil {
		t.Fatal(err)
	}
	taken := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/w/sw.js" {
			w.Header().Set("Content-Type", "text/javascript")
			fmt.Fprint(w, planted)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<script>navigator.serviceWorker.register('/w/sw.js').then(() => navigator.serviceWorker.ready).then(() => { document.title = 'registered'; });</script>`)
	})}
	go func() { _ = taken.Serve(ln) }() // until restore
	var titles []string
	page := struct {
		Page       string            `json:"page"`
		Profiles   map[string]string `json:"profiles"`
		Executable string            `json:"executable"`
	}{p.URL + "/w/", profiles(t), executable}
	play(t, "takeover.mjs", page, operations{
		"restore": func(json.RawMessage) any {
			if err := taken.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
			p.Start()
			return nil
		},
	}, &titles)
	if len(titles) != 2 || titles[0] != "planted" || titles[1] == "planted" {
		t.Errorf("the visits showed %q", titles)
	}
	p.Stop()
}
