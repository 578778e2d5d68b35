package market

import (
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"
	"time"
)

// FuzzQueries asks with any parameters: the answer is JSON with a status that clients know, and it comes at once.
func FuzzQueries(f *testing.F) {
	m, err := Open(Options{Now: func() time.Time { return start }, Mint: mintOf})
	if err != nil {
		f.Fatal(err)
	}
	if err := m.SetLimit(Jupiter, maxPerMinute); err != nil {
		f.Fatal(err)
	}
	handler := m.Handler()
	f.Add(uint8(0), "ids", wrappedSOL, "query", "usdc", "minute")
	f.Add(uint8(1), "query", "moon", "ids", ",,,", "hour")
	f.Add(uint8(2), "include", "base_token,dex", "page", "-1", "day")
	f.Add(uint8(3), "before_timestamp", "1795430000", "aggregate", "15", "minute")
	f.Add(uint8(3), "limit", "1000", "token", "quote", "hour")
	f.Fuzz(func(t *testing.T, call uint8, name, value, other, text, timeframe string) {
		// The clock stands still, so the limits never end.
		for _, l := range m.limits {
			l.calls = [2][]time.Time{}
		}
		path := []string{
			"/price/v3", "/tokens/v2/search", "/api/v2/networks/solana/tokens/" + url.PathEscape(text) + "/pools",
			"/api/v2/networks/solana/pools/" + m.pools[int(call)/4%len(m.pools)].address + "/ohlcv/" + url.PathEscape(timeframe),
		}[call%4]
		r := httptest.NewRequest("GET", path+"?"+url.Values{name: {value}, other: {text}}.Encode(), nil)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code == 301 || w.Code == 307 { // a path that net/http cleans
			return
		}
		if !slices.Contains([]int{200, 400, 404}, w.Code) || w.Header().Get("Content-Type") == "application/json; charset=utf-8" && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: %d %.300s", r.URL, w.Code, w.Body)
		}
	})
}
