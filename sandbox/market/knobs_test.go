package market

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestPricesAreSet(t *testing.T) {
	w := open(t, Options{})
	w.set(`{"prices":{"SOL":"151.5","FEE":"0.000001","`+w.mint("USDC impostor")+`":"1"}}`, 200)
	got := w.prices(SOL, "FEE", "USDC impostor", "USDC")
	if got[wrappedSOL].USDPrice != "151.5" || got[w.mint("FEE")].USDPrice != "1e-6" || got[w.mint("USDC impostor")].USDPrice != "1.0" {
		t.Errorf("%+v", got)
	}
	if usdc := w.rat(got[w.mint("USDC")].USDPrice.String()); usdc.Cmp(w.rat("0.99")) < 0 {
		t.Errorf("USDC is at %s", usdc)
	}
	// The price holds until the next tick, and moves on from there.
	w.clock.pass(7 * time.Second)
	if got := w.price(SOL); got != "151.5" {
		t.Errorf("SOL is at %s in the same tick", got)
	}
	w.clock.pass(time.Second)
	if p := w.rat(w.price(SOL)); p.Cmp(w.rat("151")) < 0 || p.Cmp(w.rat("152")) > 0 || p.Cmp(w.rat("151.5")) == 0 {
		t.Errorf("SOL is at %s a tick later", p.FloatString(12))
	}
	moved := w.rat(w.price(SOL))
	w.set(`{"jumps":{"SOL":10}}`, 200)
	moved.Mul(moved, w.rat("1.1")).Sub(moved, w.rat(w.price(SOL)))
	if moved.Sign() < 0 || moved.Cmp(w.rat("0.000000000001")) >= 0 {
		t.Errorf("a jump by 10 percent is off by %s", moved.FloatString(14))
	}
	w.set(`{"prices":{"usdc":"0.97","SOL":"100"}}`, 200) // the verified one of the two
	if got := w.prices("USDC", "USDC impostor"); got[w.mint("USDC")].USDPrice != "0.97" || got[w.mint("USDC impostor")].USDPrice == "0.97" {
		t.Errorf("%+v", got)
	}
	w.set(`{"jumps":{"SOL":-10}}`, 200)
	if got := w.price(SOL); got != "90.0" {
		t.Errorf("SOL is at %s", got)
	}
}

func TestThePriceThatIsSetLastHolds(t *testing.T) {
	w := open(t, Options{})
	for _, price := range []string{"1", "2", "3"} { // all at one moment
		if err := w.Set("SOL", price); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.price(SOL); got != "3.0" {
		t.Errorf("SOL is at %s", got)
	}
	w.clock.pass(-time.Hour) // a clock that is put back
	if err := w.Set("SOL", "4"); err != nil {
		t.Fatal(err)
	}
	w.clock.pass(time.Hour)
	if got := w.price(SOL); got != "4.0" {
		t.Errorf("SOL is at %s", got)
	}
}

func TestKnobsSayWhatIsWrong(t *testing.T) {
	w := open(t, Options{})
	for body, says := range map[string]string{
		`{"prices":{"BTC":"1"}}`:                                   "no single token",
		`{"prices":{"MOON":"1"}}`:                                  "by its mint",
		`{"prices":{"SOL":"0"}}`:                                   "decimal",
		`{"prices":{"SOL":"1000001"}}`:                             "decimal",
		`{"prices":{"SOL":7}}`:                                     "not understood",
		`{"jumps":{"SOL":-100}}`:                                   "less than 100",
		`{"jumps":{"SOL":100001}}`:                                 "rises by",
		`{"jumps":{"GHOST":5}}`:                                    "no price",
		`{"jumps":{"BTC":5}}`:                                      "no single token",
		`{"limits":{"coingecko":5}}`:                               "providers",
		`{"limits":{"jupiter":-1}}`:                                "0 to",
		`{"limits":{"jupiter":100001}}`:                            "0 to",
		`{"faults":{"coingecko":{"kind":"500"}}}`:                  "providers",
		`{"faults":{"jupiter":{"kind":"fire"}}}`:                   "garbage",
		`{"faults":{"jupiter":{}}}`:                                "kind",
		`{"faults":{"jupiter":{"kind":"slow","delayMs":600001}}}`:  "delay",
		`{"faults":{"jupiter":{"kind":"slow","delayMs":-1}}}`:      "delay",
		`{"faults":{"jupiter":{"kind":"500","calls":-1}}}`:         "calls",
		`{"price":{"SOL":"1"}}`:                                    "not understood",
		`nonsense`:                                                 "not understood",
		`{"prices":{"` + strings.Repeat("x", maxKnobs) + `":"1"}}`: "not understood",
	} {
		if got := w.set(body, 400); !strings.Contains(got, says) || !strings.HasPrefix(got, `{"error":"`) {
			t.Errorf("%.80s: %.200s", body, got)
		}
	}
	for _, headers := range [][]string{{"Content-Type: text/plain"}, {"Content-Type: application/json", "Origin: http://127.0.0.1"}} {
		if status, _, text := w.do("POST", "/sandbox/set", `{"prices":{"SOL":"1"}}`, headers...); status != 415 {
			t.Errorf("%v: %d %s", headers, status, text)
		}
	}
	if status, _, _ := w.do("GET", "/sandbox/set", ""); status != 405 {
		t.Errorf("GET: %d", status)
	}
	if p := w.rat(w.price(SOL)); p.Cmp(w.rat("100")) < 0 {
		t.Errorf("SOL is at %s", p)
	}
	if w.Set("SOL", "0.000000000001") != nil || !errors.Is(w.Jump("SOL", -50), ErrPrice) || w.Set("SOL", "1000000") != nil || !errors.Is(w.Jump("SOL", 1), ErrPrice) {
		t.Error("a jump leads out of the bounds")
	}
}

func TestStateTellsAll(t *testing.T) {
	w := open(t, Options{})
	w.set(`{"prices":{"DIP":"2.5"},"limits":{"jupiter":60},"faults":{"geckoterminal":{"kind":"slow","calls":2,"delayMs":5}}}`, 200)
	var state struct {
		Tokens []tokenState
		Limits map[string]int
		Faults map[string]*faultKnob
	}
	w.get("/sandbox/state", &state)
	if len(state.Tokens) != 9 || state.Limits[Jupiter] != 60 || state.Limits[GeckoTerminal] != maxPerMinute || state.Faults[Jupiter] != nil || *state.Faults[GeckoTerminal] != (faultKnob{Slow, 2, 5}) {
		t.Errorf("%+v", state)
	}
	for i, tok := range state.Tokens {
		want := w.tokens[i]
		if tok.Mint != want.mint || tok.Symbol != want.symbol || tok.Verified != want.verified || (tok.Price == nil) != (want.price == 0) {
			t.Errorf("%+v", tok)
		}
		if want.id == "DIP" && *tok.Price != "2.5" {
			t.Errorf("DIP is at %s", *tok.Price)
		}
	}
	quotes := w.Quotes()
	if quotes[0].Symbol != "SOL" || !strings.ContainsAny(quotes[0].Change[:1], "+-") || quotes[8].Price != "" || quotes[8].Change != "" || quotes[4].Price != "2.5" {
		t.Errorf("%+v", quotes)
	}
}

func TestTooManyChangesAreRefused(t *testing.T) {
	w := open(t, Options{})
	for range maxChanges {
		if err := w.Set("SOL", "1"); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Set("SOL", "2"); !errors.Is(err, ErrTooMany) {
		t.Error(err)
	}
	if err := w.Set("FEE", "2"); err != nil {
		t.Error(err)
	}
}

// asked is a call for one price: its status and what the headers tell.
func (w *world) asked(headers ...string) (status int, remaining, current string, reset time.Time) {
	w.t.Helper()
	status, header, _ := w.do("GET", "/price/v3?ids="+wrappedSOL, "", headers...)
	var seconds int64
	if _, err := fmt.Sscan(header.Get("x-ratelimit-reset"), &seconds); err != nil {
		w.t.Fatal(err)
	}
	return status, header.Get("x-ratelimit-remaining"), header.Get("x-ratelimit-current"), time.Unix(seconds, 0)
}

func TestCallsAreCounted(t *testing.T) {
	w := open(t, Options{})
	w.set(`{"limits":{"jupiter":3,"geckoterminal":2}}`, 200)
	for i, want := range []string{"200 2 1", "200 1 2", "200 0 3", "429 0 3"} {
		status, remaining, current, reset := w.asked()
		if got := fmt.Sprint(status, " ", remaining, " ", current); got != want || reset.Sub(start) != time.Minute {
			t.Errorf("call %d: %s until %s, want %s", i, got, reset, want)
		}
		w.clock.pass(10 * time.Second)
	}
	// All paths of Jupiter are one bucket; a key has another one, of twice the size.
	if status, _, text := w.do("GET", "/tokens/v2/search?query=SOL", ""); status != 429 || text != `{"code":429,"message":"Rate limit exceeded"}` {
		t.Errorf("%d %s", status, text)
	}
	if status, remaining, _, _ := w.asked("x-api-key: any"); status != 200 || remaining != "5" {
		t.Errorf("with a key: %d %s", status, remaining)
	}
	// The window slides: a minute after the first call there is room for one.
	w.clock.pass(20*time.Second - 1)
	if status, _, _, _ := w.asked(); status != 429 {
		t.Errorf("%d", status)
	}
	w.clock.pass(1)
	if status, remaining, _, reset := w.asked(); status != 200 || remaining != "0" || reset.Sub(start) != 70*time.Second {
		t.Errorf("%d %s %s", status, remaining, reset)
	}
	// Who waits until the reset, which is a whole second, is not early.
	w.clock.pass(time.Hour + 300*time.Millisecond)
	w.set(`{"limits":{"jupiter":1}}`, 200)
	w.asked()
	_, _, _, reset := w.asked()
	w.clock.pass(reset.Sub(w.clock.Now()))
	if status, _, _, _ := w.asked(); status != 200 {
		t.Errorf("after the reset: %d", status)
	}
	path := "/api/v2/networks/solana/tokens/" + wrappedSOL + "/pools"
	for i, want := range []int{200, 200, 429} {
		status, header, text := w.do("GET", path, "", "x-api-key: any")
		if status != want || header.Get("x-ratelimit-remaining") != "" || want == 429 && !strings.HasPrefix(text, `{"status":{"error_code":429,`) {
			t.Errorf("call %d: %d %v %s", i, status, header, text)
		}
	}
	w.set(`{"limits":{"geckoterminal":3}}`, 200)
	if status, _, _ := w.do("GET", path, ""); status != 200 {
		t.Errorf("a higher limit: %d", status)
	}
}

func TestCallsThatAreNotKeptAllowThirtyAMinute(t *testing.T) {
	m, err := Open(Options{Now: func() time.Time { return start }, Mint: mintOf})
	if err != nil {
		t.Fatal(err)
	}
	for range 30 {
		if a, _ := m.admit(Jupiter, start, false); !a.ok {
			t.Fatal("refused")
		}
	}
	if a, _ := m.admit(Jupiter, start, false); a.ok {
		t.Error("31 calls")
	}
}

func TestProvidersFailOnRequest(t *testing.T) {
	w := open(t, Options{})
	paths := map[string]string{Jupiter: "/price/v3?ids=" + wrappedSOL, GeckoTerminal: "/api/v2/networks/solana/tokens/" + w.mint("FEE") + "/pools"}
	for provider, path := range paths {
		other := paths[map[string]string{Jupiter: GeckoTerminal, GeckoTerminal: Jupiter}[provider]]
		_, _, whole := w.do("GET", path, "")
		for _, c := range []struct {
			kind        Kind
			status      int
			contentType string
			body        func(string) bool
		}{
			{Broken, 500, "application/json; charset=utf-8", func(s string) bool { return json.Valid([]byte(s)) && strings.Contains(s, "Internal") }},
			{Limited, 429, "application/json; charset=utf-8", func(s string) bool { return json.Valid([]byte(s)) }},
			{HTML, 502, "text/html", func(s string) bool { return strings.HasPrefix(s, "<html>") }},
			{Garbage, 200, "application/json; charset=utf-8", func(s string) bool {
				return len(s) == (len(whole)+1)/2 && strings.HasPrefix(whole, s) && !json.Valid([]byte(s))
			}},
		} {
			w.set(fmt.Sprintf(`{"faults":{%q:{"kind":%q,"calls":2,"delayMs":90000}}}`, provider, c.kind), 200)
			for call := range 3 {
				status, header, text := w.do("GET", path, "")
				if call == 2 {
					if status != 200 || text != whole {
						t.Errorf("%s %s: the third call is %d %s", provider, c.kind, status, text)
					}
					continue
				}
				if status != c.status || header.Get("Content-Type") != c.contentType || !c.body(text) {
					t.Errorf("%s %s: %d %s %s", provider, c.kind, status, header.Get("Content-Type"), text)
				}
				if c.kind == Limited && provider == Jupiter && (header.Get("x-ratelimit-remaining") != "0" || header.Get("x-ratelimit-reset") != fmt.Sprint(start.Add(90*time.Second).Unix())) {
					t.Errorf("%v", header)
				}
				if status, _, _ := w.do("GET", other, ""); status != 200 {
					t.Errorf("%s fails, and so does the other one: %d", provider, status)
				}
			}
		}
	}
	w.set(`{"faults":{"jupiter":{"kind":"500"}}}`, 200)
	for range 5 {
		if status, _, _ := w.do("GET", paths[Jupiter], ""); status != 500 {
			t.Fatalf("a fault without an end ended: %d", status)
		}
	}
	w.set(`{"faults":{"jupiter":null}}`, 200)
	if status, _, _ := w.do("GET", paths[Jupiter], ""); status != 200 {
		t.Errorf("the fault did not end: %d", status)
	}
}

func TestASlowProviderAnswersLate(t *testing.T) {
	w := open(t, Options{})
	w.set(`{"faults":{"jupiter":{"kind":"slow","calls":1,"delayMs":30}}}`, 200)
	begun := time.Now()
	if status, _, text := w.do("GET", "/price/v3?ids="+wrappedSOL, ""); status != 200 || !strings.Contains(text, "usdPrice") || time.Since(begun) < 30*time.Millisecond {
		t.Errorf("%d %s after %s", status, text, time.Since(begun))
	}
	// A client that does not wait is not held.
	w.set(`{"faults":{"jupiter":{"kind":"slow"}}}`, 200)
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	r, err := http.NewRequestWithContext(ctx, "GET", w.url+"/price/v3?ids="+wrappedSOL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := http.DefaultClient.Do(r); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}
