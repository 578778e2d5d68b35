package api

import (
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestASamplerCountsWhatItLeavesOut(t *testing.T) {
	var s sampler
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	written, said := 0, 0
	for i := range 1000 { // ten seconds of a hundred each
		if ok, leftOut := s.take(now.Add(time.Duration(i) * 10 * time.Millisecond)); ok {
			written, said = written+1, said+leftOut
		}
	}
	if written != 10*strangersLines || said != 9*(100-strangersLines) {
		t.Errorf("%d lines, %d left out", written, said)
	}
	if ok, leftOut := s.take(now.Add(time.Hour)); !ok || leftOut != 100-strangersLines {
		t.Errorf("an hour later: %v, %d", ok, leftOut)
	}
	if ok, _ := s.take(now); !ok {
		t.Error("a clock that went back ends the log")
	}
}

// TestStrangersCannotFillTheLog: what costs nothing to send must not fill the operator's disk.
func TestStrangersCannotFillTheLog(t *testing.T) {
	r := newHarness(t)
	const requests = 400
	began := time.Now()
	for _, ask := range []func(){
		func() { r.get("/v1/wallets", "x") },
		func() { r.do("GET", "/nothing", "") },
		func() { r.page("/w/tx/get", fields{"id": "x"}) },
		func() { r.do("BREW", "/", "") },
		func() { r.raw("no HTTP\r\n\r\n") },
	} {
		for range requests / 5 {
			ask()
		}
	}
	seconds := 2 + int(time.Since(began)/time.Second)
	if lines := strings.Count(r.logged.String(), "msg=request"); lines > seconds*strangersLines || lines == 0 {
		t.Errorf("%d lines about %d requests in %d seconds", lines, requests, seconds)
	}
	// Whoever is known is in the log with every request.
	_, signID := r.toSign()
	before := strings.Count(r.logged.String(), "status=200")
	for range 30 {
		r.get("/v1/key", r.alice.secret)
		r.page("/w/tx/get", fields{"id": signID})
		r.do("POST", "/telegram/webhook", "{}")
	}
	if lines := strings.Count(r.logged.String(), "status=200") - before; lines != 90 {
		t.Errorf("%d lines about 90 requests of whom we know", lines)
	}
}

func TestBrowsersAreToldToStayWithHTTPS(t *testing.T) {
	r := newHarness(t)
	if got := r.get("/healthz", "").header.Get("Strict-Transport-Security"); got != "" {
		t.Errorf("where there is no https: %q", got)
	}
	o := r.server.Options
	o.PublicURL = &url.URL{Scheme: "https", Host: "wallet.example.org"}
	s, err := New(o)
	check(t, err)
	if got := string(s.defaultHeaders.Peek("Strict-Transport-Security")); got != "max-age=31536000" {
		t.Errorf("where there is https: %q", got)
	}
}
