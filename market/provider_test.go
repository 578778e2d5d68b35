package market

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"purser/wallet"
)

// standIn is a server that plays a provider, and a clock that stands still until it is moved.
type standIn struct {
	t      testing.TB
	server *httptest.Server
	calls  atomic.Int64
	answer func(w http.ResponseWriter, r *http.Request)
	at     time.Time
}

func newStandIn(t testing.TB) *standIn {
	s := &standIn{t: t, at: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)}
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.calls.Add(1)
		s.answer(w, r)
	}))
	t.Cleanup(s.server.Close)
	return s
}

func (s *standIn) options() Options {
	return Options{URL: s.server.URL, Client: s.server.Client(), Now: func() time.Time { return s.at }}
}

// says answers every call with JSON.
func (s *standIn) says(body string) {
	s.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		fmt.Fprint(w, body)
	}
}

// ask returns the prices of a source as text, by mint; or how the call failed.
func (s *standIn) ask(source Source, mints ...wallet.Address) (string, error) {
	prices, err := source.Prices(context.Background(), ForPerson, mints)
	var out []string
	for _, p := range prices {
		text := p.Mint.Tail() + " " + p.Price.String()
		if p.Mint.IsZero() {
			text = "SOL " + p.Price.String()
		}
		if p.Change24h != nil {
			text += " " + p.Change24h.String() + "%"
		}
		if p.Source != source.Name() || p.At.After(s.at) {
			s.t.Errorf("%+v is said by %q at %v", p, p.Source, p.At)
		}
		out = append(out, text)
	}
	return strings.Join(out, ", "), err
}

var usdc = wallet.MustAddress("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v")

// TestAnswersOfProvidersAreRead, in every form that has been seen and in others that may come: nothing but a price is taken for
// one, and one row hides no other.
func TestAnswersOfProvidersAreRead(t *testing.T) {
	const id, wsol, feed = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", "So11111111111111111111111111111111111111112", "ef0d8b6fda2ceba41da15d4095d1da392a0d2f8ed0c6c7bc0f4cfac8c280b56d"
	jupiter := func(o Options) Source { return NewJupiter(o) }
	gecko := func(o Options) Source { return NewCoinGecko(o) }
	pyth := func(o Options) Source { return NewPyth(o) }
	row := func(price, conf, expo, at string) string {
		return `{"parsed":[{"id":"` + feed + `","price":{"price":` + price + `,"conf":` + conf + `,"expo":` + expo + `,"publish_time":` + at + `}}]}`
	}
	now := strconv.FormatInt(time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC).Unix(), 10)
	ahead := func(d time.Duration) string {
		return strconv.FormatInt(time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC).Add(d).Unix(), 10)
	}
	for _, c := range []struct {
		name, body, want string
		source           func(Options) Source
	}{
		{"as documented", `{"` + wsol + `":{"usdPrice":147.4789340738336,"blockId":348004023,"decimals":9,"priceChange24h":1.2907622140620008},"` + id + `":{"usdPrice":0.9999,"decimals":6,"priceChange24h":-0.004}}`, "SOL 147.4789340738336 1.29%, " + usdc.Tail() + " 0.9999 0.00%", jupiter},
		{"strings for numbers", `{"` + wsol + `":{"usdPrice":"147.5","priceChange24h":"-3.999"}}`, "SOL 147.5 -3.99%", jupiter},
		{"an exponent", `{"` + wsol + `":{"usdPrice":2.5e-7}}`, "SOL 0.00000025", jupiter},
		{"nulls", `{"` + wsol + `":null,"` + id + `":{"usdPrice":null,"priceChange24h":null}}`, "", jupiter},
		{"missing fields", `{"` + wsol + `":{},"` + id + `":{"usdPrice":1}}`, usdc.Tail() + " 1", jupiter},
		{"other types", `{"` + wsol + `":{"usdPrice":true,"priceChange24h":[1]},"` + id + `":{"usdPrice":{"a":1},"priceChange24h":{}}}`, "", jupiter},
		{"a change that is none", `{"` + wsol + `":{"usdPrice":5,"priceChange24h":"NaN"}}`, "SOL 5", jupiter},
		{"absurd prices", `{"` + wsol + `":{"usdPrice":-5},"` + id + `":{"usdPrice":1e300}}`, "", jupiter},
		{"zero", `{"` + wsol + `":{"usdPrice":0}}`, "", jupiter},
		{"not asked for", `{"JUPyiwrYJFskUPiHa7hkeR8VUtAeFoSYbKedZNsDvCN":{"usdPrice":1}}`, "", jupiter},
		{"nothing", `{}`, "", jupiter},
		{"null", `null`, "", jupiter},
		{"the same twice", `{"` + wsol + `":{"usdPrice":1},"` + wsol + `":{"usdPrice":2}}`, "SOL 2", jupiter},

		{"as documented", `{"data":{"id":"x","type":"simple_token_price","attributes":{"token_prices":{"` + wsol + `":"147.48","` + id + `":"0.99"},"h24_price_change_percentage":{"` + wsol + `":"-1.5"}}}}`, "SOL 147.48 -1.50%, " + usdc.Tail() + " 0.99", gecko},
		{"numbers for strings", `{"data":{"attributes":{"token_prices":{"` + wsol + `":147.48}}}}`, "SOL 147.48", gecko},
		{"nulls", `{"data":{"attributes":{"token_prices":{"` + wsol + `":null},"h24_price_change_percentage":null}}}`, "", gecko},
		{"no attributes", `{"data":{}}`, "", gecko},
		{"an error in 200", `{"errors":[{"status":"404"}]}`, "", gecko},

		{"as documented", row(`"14747893407"`, `"7000000"`, `-8`, now), "SOL 147.47893407", pyth},
		{"0x before the id", strings.Replace(row(`"5"`, `"0"`, `0`, now), feed, "0x"+feed, 1), "SOL 5", pyth},
		{"negative", row(`"-5"`, `"0"`, `0`, now), "", pyth},
		{"as wide as a fiftieth", row(`"100"`, `"2"`, `0`, now), "SOL 100", pyth},
		{"wider", row(`"100"`, `"3"`, `0`, now), "", pyth},
		{"an absurd exponent", row(`"5"`, `"0"`, `100`, now), "", pyth},
		{"an exponent beyond a byte", row(`"5"`, `"0"`, `-300`, now), "", pyth},
		{"of the future", row(`"5"`, `"0"`, `0`, `99999999999`), "", pyth},
		{"a little ahead of us", row(`"5"`, `"0"`, `0`, ahead(time.Minute)), "SOL 5", pyth},
		{"too far ahead of us", row(`"5"`, `"0"`, `0`, ahead(time.Minute+time.Second)), "", pyth},
		{"without a time", row(`"5"`, `"0"`, `0`, `null`), "", pyth},
		{"of a feed that was not asked for", strings.Replace(row(`"5"`, `"0"`, `0`, now), feed, strings.Repeat("a", 64), 1), "", pyth},
	} {
		s := newStandIn(t)
		s.says(c.body)
		source := c.source(s.options())
		if got, err := s.ask(source, wallet.Address{}, usdc); err != nil || got != c.want {
			t.Errorf("%s, %s: %q, %v, want %q", source.Name(), c.name, got, err, c.want)
		}
	}
}

// TestCallsOfProvidersAreAsDocumented: path, query and key.
func TestCallsOfProvidersAreAsDocumented(t *testing.T) {
	for want, source := range map[string]func(Options) Source{
		"/price/v3?ids=So11111111111111111111111111111111111111112%2CEPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v x-api-key=the-key":                                                                                                                            func(o Options) Source { return NewJupiter(o) },
		"/api/v3/onchain/simple/networks/solana/token_price/So11111111111111111111111111111111111111112,EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v?include_24hr_price_change=true x-cg-demo-api-key=the-key":                                                  func(o Options) Source { return NewCoinGecko(o) },
		"/v2/updates/price/latest?ids%5B%5D=ef0d8b6fda2ceba41da15d4095d1da392a0d2f8ed0c6c7bc0f4cfac8c280b56d&ids%5B%5D=eaa020c61cc479712813461ce153894a96a6c00b21ed0cfc2798d1f9a9e9c94a&ignore_invalid_price_ids=true&parsed=true Authorization=Bearer the-key": func(o Options) Source { return NewPyth(o) },
	} {
		s := newStandIn(t)
		var got string
		s.answer = func(w http.ResponseWriter, r *http.Request) {
			got = r.URL.String()
			for _, header := range []string{"x-api-key", "x-cg-demo-api-key", "Authorization"} {
				if value := r.Header.Get(header); value != "" {
					got += " " + header + "=" + value
				}
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, "{}")
		}
		o := s.options()
		o.Key = "the-key"
		if _, err := s.ask(source(o), wallet.Address{}, usdc); err != nil || got != want {
			t.Errorf("called\n%s, want\n%s: %v", got, want, err)
		}
	}
}

// TestAnswersThatAreNoneAreErrors: each is an UnavailableError that names the provider, and none repeats a key or an address.
func TestAnswersThatAreNoneAreErrors(t *testing.T) {
	zipped := func(n int) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		for range n {
			_, _ = z.Write(bytes.Repeat([]byte(" "), 1<<20))
		}
		_ = z.Close()
		return b.Bytes()
	}
	json := func(w http.ResponseWriter) { w.Header().Set("Content-Type", "application/json") }
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request){
		"HTML": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html>Just a moment…</html>")
		},
		"HTML that says it is JSON": func(w http.ResponseWriter, _ *http.Request) { json(w); fmt.Fprint(w, "<html>") },
		"no type":                   func(w http.ResponseWriter, _ *http.Request) { w.Header()["Content-Type"] = nil; fmt.Fprint(w, "{}") },
		"truncated":                 func(w http.ResponseWriter, _ *http.Request) { json(w); fmt.Fprint(w, `{"So111`) },
		"cut off": func(w http.ResponseWriter, _ *http.Request) {
			json(w)
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, `{"a":1`)
		},
		"a list": func(w http.ResponseWriter, _ *http.Request) { json(w); fmt.Fprint(w, "[]") },
		"too much": func(w http.ResponseWriter, _ *http.Request) {
			json(w)
			_, _ = w.Write(append([]byte("{}"), bytes.Repeat([]byte(" "), maxAnswer)...))
		},
		"another code": func(w http.ResponseWriter, _ *http.Request) {
			json(w)
			w.Header().Set("Content-Encoding", "br")
			fmt.Fprint(w, "{}x")
		},
		"a bomb": func(w http.ResponseWriter, _ *http.Request) {
			json(w)
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(zipped(64))
		},
		"500":        func(w http.ResponseWriter, _ *http.Request) { json(w); w.WriteHeader(500); fmt.Fprint(w, "{}") },
		"404":        func(w http.ResponseWriter, _ *http.Request) { json(w); w.WriteHeader(404); fmt.Fprint(w, "{}") },
		"a redirect": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
		"a hang-up":  func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		s := newStandIn(t)
		s.answer = answer
		o := s.options()
		o.Key = "the-key"
		_, err := s.ask(NewJupiter(o), wallet.Address{})
		var failed *UnavailableError
		if !errors.As(err, &failed) || failed.Source != "jupiter" {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if text := err.Error(); strings.Contains(text, "the-key") || strings.Contains(text, s.server.URL) || len(text) > 300 {
			t.Errorf("%s: the error says %q", name, text)
		}
		if n := s.calls.Load(); n != 1 {
			t.Errorf("%s: %d calls", name, n)
		}
	}
}

// TestASlowAnswerEndsWithItsReader.
func TestASlowAnswerEndsWithItsReader(t *testing.T) {
	s := newStandIn(t)
	began, ended := make(chan struct{}), make(chan struct{})
	s.answer = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, "{")
		w.(http.Flusher).Flush()
		close(began)
		<-r.Context().Done()
		close(ended)
	}
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error, 1)
	go func() {
		_, err := NewJupiter(s.options()).Prices(ctx, ForPerson, []wallet.Address{{}})
		failed <- err
	}()
	<-began
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-ended
}

// TestTheBudgetIsKept: of the calls that a plan allows, a fifth is for swaps alone and sampling leaves another fifth to people, and nobody waits
// for a turn.
func TestTheBudgetIsKept(t *testing.T) {
	s := newStandIn(t)
	s.says("{}")
	source := NewJupiter(s.options())
	count := func(priority Priority) (n int) {
		t.Helper()
		for {
			_, err := source.Prices(t.Context(), priority, []wallet.Address{{}})
			if errors.Is(err, ErrOverBudget) {
				return n
			}
			if err != nil || n > 1000 {
				t.Fatal(n, err)
			}
			n++
		}
	}
	for _, c := range []struct {
		priority Priority
		want     int
	}{{ForSampling, 9}, {ForPerson, 3}, {ForSampling, 0}, {ForTrade, 3}, {ForPerson, 0}, {ForTrade, 0}} {
		if n := count(c.priority); n != c.want {
			t.Errorf("%d calls at once with priority %d, want %d", n, c.priority, c.want)
		}
	}
	sampled, asked := 0, 0
	for range 60 {
		s.at = s.at.Add(time.Second)
		sampled += count(ForSampling)
	}
	if sampled < 17 || sampled > 18 {
		t.Errorf("%d calls a minute for sampling", sampled)
	}
	asked = count(ForTrade)
	if sampled+asked != 30 {
		t.Errorf("%d calls a minute in all", sampled+asked)
	}
	o := s.options()
	o.Key, o.PerMinute = "k", 600
	if source = NewJupiter(o); source.api.all.Limit() != 10 {
		t.Errorf("a paid plan allows %v a second", source.api.all.Limit())
	}
	if o.PerMinute = 0; NewJupiter(o).api.all.Limit() != 1 {
		t.Error("a free key allows 60 a minute")
	}
	if month := NewCoinGecko(o).api.all.Limit() * 30 * 86400; month < 9_999 || month > 10_001 {
		t.Errorf("CoinGecko is asked %v times a month", month)
	}
}

// TestAProviderThatRefusesIsLeftAlone for as long as it says, and at most five minutes.
func TestAProviderThatRefusesIsLeftAlone(t *testing.T) {
	for header, pause := range map[string]time.Duration{
		"": defaultPause, "Retry-After: 7": 7 * time.Second, "X-Ratelimit-Reset: +9": 9 * time.Second, "X-Ratelimit-Reset: -9": time.Second,
		"Retry-After: 999999": longestPause, "Retry-After: soon": defaultPause, "X-Ratelimit-Reset: +99999999": longestPause, "Retry-After: 0": time.Second,
	} {
		s := newStandIn(t)
		s.answer = func(w http.ResponseWriter, _ *http.Request) {
			name, value, _ := strings.Cut(header, ": ")
			if shift, err := strconv.Atoi(value); err == nil && name == "X-Ratelimit-Reset" {
				value = strconv.FormatInt(s.at.Unix()+int64(shift), 10)
			}
			if name != "" {
				w.Header().Set(name, value)
			}
			w.WriteHeader(http.StatusTooManyRequests)
		}
		source := NewJupiter(s.options())
		_, err := s.ask(source, wallet.Address{})
		var refused *UnavailableError
		if !errors.As(err, &refused) || !refused.Until.Equal(s.at.Add(pause)) {
			t.Errorf("%q: %v until %v, want %v", header, err, refused.Until.Sub(s.at), pause)
		}
		s.says("{}")
		s.at = s.at.Add(pause - time.Millisecond)
		if _, err := s.ask(source, wallet.Address{}); !errors.Is(err, ErrOpen) || s.calls.Load() != 1 {
			t.Errorf("%q: asked during the pause: %v", header, err)
		}
		s.at = s.at.Add(time.Millisecond)
		if _, err := s.ask(source, wallet.Address{}); err != nil {
			t.Errorf("%q: after the pause: %v", header, err)
		}
	}
	s := newStandIn(t)
	s.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Ratelimit-Remaining", "0")
		w.Header().Set("X-Ratelimit-Reset", strconv.FormatInt(s.at.Unix()+20, 10))
		fmt.Fprint(w, `{"So11111111111111111111111111111111111111112":{"usdPrice":1}}`)
	}
	source := NewJupiter(s.options())
	if got, err := s.ask(source, wallet.Address{}); err != nil || got != "SOL 1" {
		t.Errorf("the last call: %q %v", got, err)
	}
	if _, err := s.ask(source, wallet.Address{}); !errors.Is(err, ErrOpen) {
		t.Errorf("behind the last call: %v", err)
	}
}

// TestAProviderThatFailsIsLeftAlone after three failures in a row, each time for longer, until it answers.
func TestAProviderThatFailsIsLeftAlone(t *testing.T) {
	s := newStandIn(t)
	broken := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }
	s.answer = broken
	source := NewJupiter(s.options())
	var pauses []time.Duration
	for range 12 {
		_, err := s.ask(source, wallet.Address{})
		var failed *UnavailableError
		if !errors.As(err, &failed) || errors.Is(err, ErrOpen) {
			t.Fatal(err)
		}
		pause := max(0, failed.Until.Sub(s.at))
		pauses = append(pauses, pause)
		if pause > 0 {
			s.at = s.at.Add(pause - time.Nanosecond)
			if _, err := s.ask(source, wallet.Address{}); !errors.Is(err, ErrOpen) {
				t.Fatalf("asked during a pause of %v: %v", pause, err)
			}
			s.at = s.at.Add(time.Nanosecond)
		}
	}
	const second = time.Second
	if want := []time.Duration{0, 0, 10 * second, 20 * second, 40 * second, 80 * second, 160 * second, 300 * second, 300 * second, 300 * second, 300 * second, 300 * second}; !slices.Equal(pauses, want) {
		t.Errorf("paused for %v", pauses)
	}
	s.says("{}")
	if _, err := s.ask(source, wallet.Address{}); err != nil {
		t.Fatal(err)
	}
	s.answer = broken
	for range 2 {
		if _, err := s.ask(source, wallet.Address{}); errors.Is(err, ErrOpen) {
			t.Error("one success has not ended the row of failures")
		}
	}
}
