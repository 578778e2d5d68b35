package signer

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
)

// BenchmarkUnlock runs the page's own vault code in Node: what a passphrase costs, beside the bare
// PBKDF2 of as many rounds that it is to cost.
func BenchmarkUnlock(b *testing.B) {
	node, err := exec.LookPath("node")
	if err != nil {
		b.Skip("node is not installed")
	}
	var took struct {
		Unlock float64 `json:"unlock_ms"`
		Bound  float64 `json:"pbkdf2_ms"`
	}
	for b.Loop() {
		out, err := exec.CommandContext(b.Context(), node, "pagetest/unlock.mjs").Output()
		if err != nil {
			b.Fatal(err)
		}
		if err := json.Unmarshal(out, &took); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(took.Unlock, "ms-to-unlock")
	b.ReportMetric(took.Bound, "ms-bare-pbkdf2")
}

// BenchmarkPage opens the page in Chromium with 150 ms of latency, 4 Mbit/s and a processor 4 times slower, for the first time and again: the list of wallets from the
// files that this package serves, and a link that connects and one that signs from the server of the page's tests. And it signs a payment (pagetest/loading.mjs). PBKDF2 is left out.
func BenchmarkPage(b *testing.B) {
	node, err := exec.LookPath("node")
	if err != nil {
		b.Skip("node is not installed")
	}
	server := httptest.NewServer(http.HandlerFunc(serveFile))
	defer server.Close()
	type visit struct {
		Interactive float64 `json:"interactive_ms"`
		Requests    float64 `json:"requests"`
		Bytes       float64 `json:"bytes"`
	}
	var took struct {
		Home, Connect, Sign struct{ First, Later visit }
		Signed              float64 `json:"sign_ms"`
	}
	for b.Loop() {
		run := exec.CommandContext(b.Context(), node, "loading.mjs", server.URL)
		run.Dir = "pagetest"
		out, err := run.Output()
		if err != nil {
			b.Fatal(err)
		}
		if err := json.Unmarshal(out, &took); err != nil {
			b.Fatal(err)
		}
	}
	for name, v := range map[string]visit{
		"home-first": took.Home.First, "home-later": took.Home.Later, "connect-first": took.Connect.First, "connect-later": took.Connect.Later,
		"sign-first": took.Sign.First, "sign-later": took.Sign.Later,
	} {
		b.ReportMetric(v.Interactive, "ms-"+name)
		b.ReportMetric(v.Requests, "requests-"+name)
		b.ReportMetric(v.Bytes, "B-"+name)
	}
	b.ReportMetric(took.Signed, "ms-to-sign")
}

// serveFile serves the page as api does.
func serveFile(w http.ResponseWriter, r *http.Request) {
	file, ok := Lookup(strings.TrimPrefix(r.URL.Path, "/w/"))
	if !ok {
		http.NotFound(w, r)
		return
	}
	for _, h := range append(Headers(nil), file.Headers...) {
		w.Header().Set(h.Name, h.Value)
	}
	content, encoding := file.Encoded(r.Header.Get("Accept-Encoding"))
	w.Header().Set("Content-Type", file.ContentType)
	if encoding != "" {
		w.Header().Set("Content-Encoding", encoding)
	}
	_, _ = w.Write(content) // the client may have gone
}
