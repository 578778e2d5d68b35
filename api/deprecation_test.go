package api

import (
	"strings"
	"testing"
	"time"
)

// TestAnEndpointThatWillEndSaysSo: on every answer, so that whoever still uses it finds out.
func TestAnEndpointThatWillEndSaysSo(t *testing.T) {
	since := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	r := newHarness(t, func(s *Server) {
		s.deprecated["GET /v1/wallet/transactions/:id"] = deprecation{since: since, ends: since.Add(noticeOfEnd), successor: "/v2/transactions"}
		s.deprecated["POST /v1/wallet/send"] = deprecation{since: since, ends: since.Add(noticeOfEnd)}
	})
	const sunset = "Sat, 30 Jan 2027 00:00:00 GMT"
	for name, test := range map[string]struct {
		answer          answer
		status          int
		deprecated, end string
		link            string
	}{
		"found nothing": {r.get("/v1/wallet/transactions/tx_1", r.alice.secret), 404, "@1793491200", sunset, `</v2/transactions>; rel="successor-version"`},
		"without a key": {r.get("/v1/wallet/transactions/tx_1", "x"), 401, "@1793491200", sunset, `</v2/transactions>; rel="successor-version"`},
		"HEAD":          {r.do("HEAD", "/v1/wallet/transactions/tx_1", "", "Authorization", "Bearer "+r.alice.secret), 404, "@1793491200", sunset, `</v2/transactions>; rel="successor-version"`},
		"no successor":  {r.send(r.alice.secret, r.sendBody()), 202, "@1793491200", sunset, ""},
		"another path":  {r.get("/v1/wallet/transactions", r.alice.secret), 200, "", "", ""},
		"no path":       {r.get("/v1/nothing", r.alice.secret), 404, "", "", ""},
	} {
		h := test.answer.header
		if test.answer.status != test.status || h.Get("Deprecation") != test.deprecated || h.Get("Sunset") != test.end || h.Get("Link") != test.link {
			t.Errorf("%s: %d %v", name, test.answer.status, h)
		}
	}
}

// TestWhatEndsIsAnEndpointAndMarkedInTheDocument holds the table to the routes and to openapi.json.
func TestWhatEndsIsAnEndpointAndMarkedInTheDocument(t *testing.T) {
	contract := readContract(t)
	known := map[string]bool{}
	for _, e := range (&Server{}).endpoints() {
		known[e.method+" "+e.pattern] = true
	}
	for name, d := range deprecated() {
		if !known[name] {
			t.Errorf("%s is no endpoint", name)
		}
		if d.ends.Sub(d.since) < noticeOfEnd {
			t.Errorf("%s ends %s after that is announced", name, d.ends.Sub(d.since))
		}
	}
	for template, item := range contract.doc.Paths.Map() {
		for method, op := range item.Operations() {
			pattern := strings.NewReplacer("{", ":", "}", "").Replace(template)
			if _, ends := deprecated()[method+" "+pattern]; ends != op.Deprecated {
				t.Errorf("%s %s: deprecated %v in the table, %v in openapi.json", method, pattern, ends, op.Deprecated)
			}
		}
	}
}
