package api

import (
	"testing"

	"purser/signer"
)

// TestAServiceWorkerIsEnded: whatever path a server that was once taken over gave it.
func TestAServiceWorkerIsEnded(t *testing.T) {
	r := newHarness(t)
	for _, path := range []string{"/w/sw.js", "/sw.js", "/w/"} {
		a := r.do("GET", path, "", signer.ServiceWorkerHeader, "script")
		if a.status != 200 || string(a.body) != signer.EndServiceWorker || a.header.Get("Content-Type") != "text/javascript; charset=utf-8" || a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v %s", path, a.status, a.header, a.body)
		}
	}
	if a := r.do("GET", "/w/sw.js", "", signer.ServiceWorkerHeader, "other"); a.status != 404 {
		t.Errorf("without a request for one: %d", a.status)
	}
}
