package market

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// start is when the tests' markets are made. It is in the middle of a tick.
var start = time.Date(2026, 11, 23, 10, 30, 7, 0, time.UTC)

// clock is a clock that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// mintOf is an address by a name, in letters of base58.
func mintOf(name string) string {
	return strings.Repeat("1", 2) + strings.NewReplacer("0", "A", "l", "B").Replace(fmt.Sprintf("%x", sha256.Sum256([]byte(name))))[:42]
}

// world is a market with its server and clock.
type world struct {
	*Market
	t     *testing.T
	clock *clock
	url   string
}

func open(t *testing.T, o Options) *world {
	t.Helper()
	c := &clock{now: start}
	if o.Now == nil {
		o.Now = c.Now
	}
	if o.Seed == "" {
		o.Seed = "test"
	}
	o.Mint = mintOf
	m, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(m.Handler())
	t.Cleanup(func() {
		server.Close()
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	// Most tests ask more often than the providers allow.
	for _, provider := range []string{Jupiter, GeckoTerminal} {
		if err := m.SetLimit(provider, maxPerMinute); err != nil {
			t.Fatal(err)
		}
	}
	return &world{m, t, c, server.URL}
}

// do makes a request. Headers are "Name: value".
func (w *world) do(method, path, body string, headers ...string) (int, http.Header, string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(text)
}

// get is a call that must succeed; its answer goes into out, with numbers as they are printed.
func (w *world) get(path string, out any) {
	w.t.Helper()
	status, header, text := w.do("GET", path, "")
	if status != 200 || header.Get("Content-Type") != "application/json; charset=utf-8" {
		w.t.Fatalf("%s: %d %s %s", path, status, header.Get("Content-Type"), text)
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(out); err != nil {
		w.t.Fatalf("%s: %v: %s", path, err, text)
	}
}

// set turns knobs over HTTP.
func (w *world) set(body string, want int) string {
	w.t.Helper()
	status, _, text := w.do("POST", "/sandbox/set", body, "Content-Type: application/json")
	if status != want {
		w.t.Fatalf("%s: %d %s", body, status, text)
	}
	return text
}

// priced is a mint of /price/v3, as a client reads it.
type priced struct {
	CreatedAt string
	Liquidity json.Number
	USDPrice  json.Number `json:"usdPrice"`
	BlockID   json.Number `json:"blockId"`
	Decimals  json.Number
	Change24h *json.Number `json:"priceChange24h"`
}

// prices asks for mints, by their ids in the list of tokens.
func (w *world) prices(ids ...string) map[string]priced {
	w.t.Helper()
	var mints []string
	for _, id := range ids {
		mints = append(mints, w.mint(id))
	}
	out := map[string]priced{}
	w.get("/price/v3?ids="+strings.Join(mints, ","), &out)
	return out
}

func (w *world) token(id string) *token {
	w.t.Helper()
	for _, t := range w.tokens {
		if t.id == id {
			return t
		}
	}
	w.t.Fatalf("there is no %s", id)
	return nil
}

func (w *world) mint(id string) string { return w.token(id).mint }

// price is what /price/v3 says of one token.
func (w *world) price(id string) string {
	w.t.Helper()
	return w.prices(id)[w.mint(id)].USDPrice.String()
}

// rat is the exact value of a decimal.
func (w *world) rat(text string) *big.Rat {
	w.t.Helper()
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		w.t.Fatalf("%q is no number", text)
	}
	return r
}

// ids are the tokens that have a price.
var pricedIDs = []string{SOL, "USDC", "FEE", "BEAN", "DIP", "USDC impostor", "MOON", "MOON two"}

func TestPricesFollowFromSeedAndClock(t *testing.T) {
	a, b, other := open(t, Options{}), open(t, Options{}), open(t, Options{Seed: "another"})
	for range 50 {
		for _, w := range []*world{a, b, other} {
			w.clock.pass(37 * time.Second)
		}
		one, two := a.prices(pricedIDs...), b.prices(pricedIDs...)
		if len(one) != len(pricedIDs) {
			t.Fatalf("%d prices", len(one))
		}
		for mint, p := range one {
			if p.USDPrice != two[mint].USDPrice || *orNone(p.Change24h) != *orNone(two[mint].Change24h) {
				t.Errorf("%s: %s and %s", mint, p.USDPrice, two[mint].USDPrice)
			}
		}
	}
	same := 0
	ours, theirs := a.prices(pricedIDs...), other.prices(pricedIDs...)
	for mint, p := range ours {
		if p.USDPrice == theirs[mint].USDPrice {
			same++
		}
	}
	if same > 0 {
		t.Errorf("%d prices do not depend on the seed", same)
	}
}

func orNone(n *json.Number) *json.Number {
	if n == nil {
		none := json.Number("none")
		return &none
	}
	return n
}

func TestPricesMoveWithinTheirBand(t *testing.T) {
	w := open(t, Options{})
	for _, tok := range w.tokens {
		if tok.price == 0 {
			continue
		}
		// The band of a walk is a bound of the sum of its waves; a plunge takes 40 percent off.
		band := int64(0)
		for _, a := range tok.walk.amplitudes {
			band += a
		}
		if band >= walkUnit*9/10 {
			t.Errorf("%s may lose all: %d", tok.id, band)
		}
		lowest := mulDiv(uint64(tok.price), uint64(walkUnit-band), walkUnit)
		if tok.plunge {
			lowest = lowest / 10 * 6
		}
		highest := mulDiv(uint64(tok.price), uint64(walkUnit+band), walkUnit)
		read, moved, values := w.history(tok).reader(), 0, map[dollars]bool{}
		last := read(start)
		for i := range 20_000 {
			p := read(start.Add(time.Duration(i) * tickLength))
			if uint64(p)+1 < lowest || uint64(p) > highest {
				t.Fatalf("%s: %s is out of its band", tok.id, p)
			}
			if p != last {
				moved++
			}
			// Between two ticks a price moves by little: the waves of 15 s to 8 min are the steep ones.
			if diff := max(p, last) - min(p, last); uint64(diff) > mulDiv(uint64(tok.price), uint64(16*tok.amplitude), walkUnit)+1 {
				t.Fatalf("%s leaps from %s to %s", tok.id, last, p)
			}
			values[p], last = true, p
		}
		if moved < 10_000 || len(values) < 1_000 {
			t.Errorf("%s moved %d times, to %d prices", tok.id, moved, len(values))
		}
	}
	if p := w.rat(w.price("USDC")); p.Cmp(w.rat("0.999")) < 0 || p.Cmp(w.rat("1.001")) > 0 {
		t.Errorf("USDC is at %s", p.FloatString(6))
	}
}

// TestChangeIsTrue compares the change of 24 hours with what the price was a day before.
func TestChangeIsTrue(t *testing.T) {
	w := open(t, Options{})
	before := w.prices(pricedIDs...)
	w.clock.pass(day)
	for mint, now := range w.prices(pricedIDs...) {
		was := w.rat(before[mint].USDPrice.String())
		want := new(big.Rat).Quo(w.rat(now.USDPrice.String()), was)
		want.Sub(want, big.NewRat(1, 1)).Mul(want, big.NewRat(100, 1))
		got := w.rat(now.Change24h.String())
		if got.Sub(got, want).Abs(got).Cmp(big.NewRat(1, 1_000_000_000)) > 0 {
			t.Errorf("%s: %s%%, in truth %s", mint, *now.Change24h, want.FloatString(12))
		}
	}
}

func TestADipHappenedThreeHoursAgo(t *testing.T) {
	w := open(t, Options{})
	dip := w.prices("DIP")[w.mint("DIP")]
	if change := w.rat(dip.Change24h.String()); change.Cmp(w.rat("-42")) < 0 || change.Cmp(w.rat("-38")) > 0 {
		t.Errorf("the dip is %s", *dip.Change24h)
	}
	h := w.history(w.token("DIP"))
	if a, b := h.at(start.Add(-3*time.Hour-time.Minute)), h.at(start.Add(-2*time.Hour+time.Minute)); uint64(b)*100 > uint64(a)*63 || uint64(b)*100 < uint64(a)*57 {
		t.Errorf("within an hour it went from %s to %s", a, b)
	}
}

func TestATokenYoungerThanADayHasNoChange(t *testing.T) {
	w := open(t, Options{})
	if young := w.prices("MOON two")[w.mint("MOON two")]; young.Change24h != nil || young.USDPrice == "" {
		t.Errorf("%+v", young)
	}
	w.clock.pass(19*time.Hour - time.Second)
	if young := w.prices("MOON two")[w.mint("MOON two")]; young.Change24h != nil {
		t.Errorf("%+v", young)
	}
	w.clock.pass(time.Second)
	if young := w.prices("MOON two")[w.mint("MOON two")]; young.Change24h == nil {
		t.Error("a day later there is no change yet")
	}
}

func TestManyClientsAtOnce(t *testing.T) {
	w := open(t, Options{Dir: t.TempDir()})
	pool := w.pools[0].address
	var clients sync.WaitGroup
	for i := range 8 {
		clients.Go(func() {
			for range 15 {
				var err error
				switch i % 4 {
				case 0:
					err = w.Jump("SOL", 1)
				case 1:
					w.Quotes()
				default:
					path := map[int]string{2: "/tokens/v2/search?query=sol", 3: "/api/v2/networks/solana/pools/" + pool + "/ohlcv/minute"}[i%4]
					var res *http.Response
					if res, err = http.Get(w.url + path); err == nil {
						if _, err = io.Copy(io.Discard, res.Body); res.StatusCode != 200 && err == nil {
							err = fmt.Errorf("%s: %s", path, res.Status)
						}
						res.Body.Close()
					}
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	clients.Wait()
	if n := len(w.changes[wrappedSOL]); n != 30 {
		t.Errorf("%d of 30 jumps are there", n)
	}
}

func TestARestartGoesOn(t *testing.T) {
	dir := t.TempDir()
	c := &clock{now: start}
	first := open(t, Options{Dir: dir, Now: c.Now})
	c.pass(time.Hour)
	for _, body := range []string{`{"prices":{"SOL":"99.5","BEAN":null}}`, `{"jumps":{"FEE":-50}}`, `{"prices":{"GHOST":"3"}}`} {
		first.set(body, 200)
	}
	c.pass(time.Hour)
	before, history := first.prices(append(pricedIDs, "GHOST")...), []dollars{}
	for i := range 500 {
		history = append(history, first.history(first.token(SOL)).at(start.Add(time.Duration(i)*20*time.Second)))
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := first.Set("SOL", "1"); err == nil {
		t.Error("a closed market changes a price")
	}
	second := open(t, Options{Dir: dir, Now: c.Now})
	after := second.prices(append(pricedIDs, "GHOST")...)
	if len(after) != 8 || fmt.Sprint(flat(after)) != fmt.Sprint(flat(before)) {
		t.Errorf("before the restart\n%v\nafter it\n%v", flat(before), flat(after))
	}
	for i, was := range history {
		if now := second.history(second.token(SOL)).at(start.Add(time.Duration(i) * 20 * time.Second)); now != was {
			t.Fatalf("moment %d: %s, was %s", i, now, was)
		}
	}
	second.set(`{"prices":{"SOL":"98"}}`, 200)
	if got := second.price(SOL); got != "98.0" {
		t.Errorf("SOL is at %s", got)
	}
}

// flat has the values that pointers point to.
func flat(prices map[string]priced) map[string]string {
	out := map[string]string{}
	for mint, p := range prices {
		out[mint] = p.USDPrice.String() + " " + orNone(p.Change24h).String()
	}
	return out
}
