package api

import (
	"fmt"
	"strings"
	"testing"

	"purser/wallet"
)

// TestAlertsAreServed: set, listed, and deleted, those of the chat too. The same alert again is the one that there is.
func TestAlertsAreServed(t *testing.T) {
	r := newHarness(t)
	r.savePrices(wallet.TokenPrice{Price: wallet.MustPrice("147"), At: r.Now(), Source: "jupiter"})
	a := r.get("/v1/alerts", r.alice.secret)
	if want := fmt.Sprintf(`"data":{"alerts":[],"limit":%d}`, wallet.MaxAlerts); a.status != 200 || !strings.Contains(string(a.body), want) {
		t.Errorf("%d %s, want %s", a.status, a.body, want)
	}
	set := func(body string, headers ...string) answer {
		t.Helper()
		return r.call("POST", "/v1/alerts", r.alice.secret, body, headers...)
	}
	above := set(`{"token":"sol","condition":"above","price":"200.50"}`)
	id := above.text("data", "alert_id")
	want := fmt.Sprintf(`{"success":true,"data":{"alert_id":%q,"token":"SOL","condition":"above","price":"200.5","change_percent":"","timeframe":"","armed":true,`+
		`"created_at":"2026-11-21T12:00:00.000Z","triggered_at":""},"message":"Price alert set.","timestamp":"2026-11-21T12:00:00.000Z"}`, id)
	if above.status != 201 || string(above.body) != want {
		t.Errorf("%d\n%s, want\n%s", above.status, above.body, want)
	}
	if again := set(`{"token":"SOL","condition":"above","price":"200.5"}`); again.text("data", "alert_id") != id || again.text("message") != "You already have this price alert." {
		t.Errorf("the same again: %s", again.body)
	}
	change := set(`{"token":"SOL","condition":"change","change_percent":"5"}`)
	if change.status != 201 || change.text("data", "change_percent") != "5.00" || change.text("data", "timeframe") != "1h" || change.text("data", "price") != "" {
		t.Errorf("a change: %d %s", change.status, change.body)
	}
	if reached := set(`{"token":"SOL","condition":"below","price":"147"}`); reached.status != 201 || reached.field("data", "armed") != false {
		t.Errorf("one whose level is reached: %s", reached.body)
	}
	if all := r.get("/v1/alerts", r.alice.secret).field("data", "alerts").([]any); len(all) != 3 {
		t.Errorf("%d alerts", len(all))
	}
	if others := r.get("/v1/alerts", r.bob.secret).field("data", "alerts").([]any); len(others) != 0 {
		t.Errorf("bob reads %v", others)
	}
	r.want(r.call("DELETE", "/v1/alerts/"+id, r.bob.secret, ""), 404, wallet.NotFound, "")
	gone := r.call("DELETE", "/v1/alerts/"+id, r.alice.secret, "")
	if gone.status != 200 || gone.text("data", "alert_id") != id || gone.text("data", "price") != "200.5" {
		t.Errorf("deleted: %d %s", gone.status, gone.body)
	}
	r.want(r.call("DELETE", "/v1/alerts/"+id, r.alice.secret, ""), 404, wallet.NotFound, "alert")
	if all := r.get("/v1/alerts", r.alice.secret).field("data", "alerts").([]any); len(all) != 2 {
		t.Errorf("%d alerts after one was deleted", len(all))
	}
}

// TestAlertsAreRefused: what is no alert names its field, and what does not belong to a condition is not passed over.
func TestAlertsAreRefused(t *testing.T) {
	r := newHarness(t)
	r.savePrices(wallet.TokenPrice{Price: wallet.MustPrice("147"), At: r.Now(), Source: "jupiter"})
	for body, want := range map[string]string{
		`{"condition":"above","price":"200"}`:                                                     "token",
		`{"token":"SOL","price":"200"}`:                                                           "condition",
		`{"token":"SOL","condition":"over","price":"200"}`:                                        "condition",
		`{"token":"SOL","condition":"above"}`:                                                     "price",
		`{"token":"SOL","condition":"above","price":"0"}`:                                         "price",
		`{"token":"SOL","condition":"above","price":"-1"}`:                                        "price",
		`{"token":"SOL","condition":"above","price":200}`:                                         "price",
		`{"token":"SOL","condition":"above","price":"200","timeframe":"1h"}`:                      "timeframe",
		`{"token":"SOL","condition":"above","price":"200","change_percent":"5"}`:                  "change_percent",
		`{"token":"SOL","condition":"change","change_percent":"5","price":"200"}`:                 "price",
		`{"token":"SOL","condition":"change"}`:                                                    "change_percent",
		`{"token":"SOL","condition":"change","change_percent":"much"}`:                            "change_percent",
		`{"token":"SOL","condition":"change","change_percent":"0.01"}`:                            "",
		`{"token":"SOL","condition":"change","change_percent":"5","timeframe":"2h"}`:              "timeframe",
		`{"token":"SOL","condition":"above","price":"200","repeat":true}`:                         "repeat",
		`{"token":"USDC","condition":"above","price":"2"}`:                                        "token",
		`{"token":"SOL","condition":"above","price":"2","price":"200"}`:                           "price",
		`{"token":"SOL","condition":"change","change_percent":"5","timeframe":{"nested":"1h"}}`:   "timeframe",
		`{"token":"SOL","condition":"change","change_percent":"5","timeframe":"1h","price":null}`: "price",
	} {
		a := r.call("POST", "/v1/alerts", r.alice.secret, body)
		if a.status != 400 || a.code() != wallet.InvalidRequest || a.text("error", "field") != want {
			t.Errorf("%s: %d %s, want the field %q", body, a.status, a.body, want)
		}
	}
	for n := range wallet.MaxAlerts {
		if a := r.call("POST", "/v1/alerts", r.alice.secret, fmt.Sprintf(`{"token":"SOL","condition":"above","price":"%d"}`, 200+n)); a.status != 201 {
			t.Fatalf("alert %d: %s", n+1, a.body)
		}
	}
	r.want(r.call("POST", "/v1/alerts", r.alice.secret, `{"token":"SOL","condition":"above","price":"199"}`), 409, wallet.Conflict, "the maximum")
}

// TestASetAlertAnswersAgain: the same Idempotency-Key sets one alert.
func TestASetAlertAnswersAgain(t *testing.T) {
	r := newHarness(t)
	r.savePrices(wallet.TokenPrice{Price: wallet.MustPrice("147"), At: r.Now(), Source: "jupiter"})
	const body = `{"token":"SOL","condition":"above","price":"200"}`
	first := r.call("POST", "/v1/alerts", r.alice.secret, body, "Idempotency-Key", "one")
	r.want(r.call("DELETE", "/v1/alerts/"+first.text("data", "alert_id"), r.alice.secret, ""), 200, "", "")
	second := r.call("POST", "/v1/alerts", r.alice.secret, body, "Idempotency-Key", "one")
	if second.status != 201 || string(second.body) != string(first.body) || second.header.Get("Idempotency-Replayed") == "" {
		t.Errorf("%d %s", second.status, second.body)
	}
	if all := r.get("/v1/alerts", r.alice.secret).field("data", "alerts").([]any); len(all) != 0 {
		t.Errorf("%d alerts", len(all))
	}
}
