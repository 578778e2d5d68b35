package market

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sandbox "purser/sandbox/market"
	"purser/sandbox/solana"
	"purser/wallet"
)

// poolRow is a pool in the form of the documentation, with some of its values.
func poolRow(address, base, quote, basePrice, reserve string) string {
	return `{"id":"solana_x","type":"pool","attributes":{"base_token_price_usd":` + basePrice + `,"quote_token_price_usd":"147.5","address":"` + address + `","name":"A / B",` +
		`"pool_created_at":"2026-09-11T00:55:05Z","volume_usd":{"h24":"295643.4912345"},"reserve_in_usd":` + reserve + `},` +
		`"relationships":{"base_token":{"data":{"id":"solana_` + base + `","type":"token"}},"quote_token":{"data":{"id":"solana_` + quote + `","type":"token"}},"dex":{"data":{"id":"raydium","type":"dex"}}}}`
}

// TestPoolsAreRead, the deepest first. What is not a pool of the token is left out, and hides no other.
func TestPoolsAreRead(t *testing.T) {
	const one, two = "Bd4wKg3xEBKJ4Xrw8skXMmJ4W65gk3x8yd7AovuBJisZ", "2QdhepnKRTLjjSqPL1PtKNwqrUkoLee5Gqs8bvZhRdMv"
	const id, wsol = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", "So11111111111111111111111111111111111111112"
	good := poolRow(one, id, wsol, `"0.9998"`, `"112004.5836"`)
	text := func(p Pool) string {
		return fmt.Sprintf("%s %s price %s liquidity %s volume %s since %s %s", p.Address.Tail(), p.DEX, p.Price, p.Liquidity, p.Volume24h, p.CreatedAt.Format(time.DateOnly), p.URL)
	}
	const first = "uBJisZ raydium price 0.9998 liquidity 112004.5836 volume 295643.491234 since 2026-09-11 https://www.geckoterminal.com/solana/pools/" + one
	for name, c := range map[string]struct {
		body string
		want []string
	}{
		"as documented":            {`{"data":[` + good + `]}`, []string{first}},
		"the deepest first":        {`{"data":[` + poolRow(two, id, wsol, `"1"`, `5`) + `,` + good + `]}`, []string{first, "ZhRdMv raydium price 1 liquidity 5 volume 295643.491234 since 2026-09-11 https://www.geckoterminal.com/solana/pools/" + two}},
		"the other side":           {`{"data":[` + poolRow(one, wsol, id, `"5"`, `"1"`) + `]}`, []string{strings.NewReplacer("0.9998", "147.5", "112004.5836", "1").Replace(first)}},
		"nulls":                    {`{"data":[` + poolRow(one, id, wsol, `null`, `null`) + `]}`, []string{strings.NewReplacer("0.9998", "", "112004.5836", "").Replace(first)}},
		"of another token":         {`{"data":[` + poolRow(one, two, wsol, `"1"`, `"1"`) + `,` + good + `]}`, []string{first}},
		"against itself":           {`{"data":[` + poolRow(one, id, id, `"1"`, `"1"`) + `]}`, nil},
		"no address":               {`{"data":[` + poolRow("x", id, wsol, `"1"`, `"1"`) + `,` + good + `]}`, []string{first}},
		"other types":              {`{"data":[5,null,"x",[],{},{"attributes":7},` + good + `]}`, []string{first}},
		"a DEX with a link":        {`{"data":[` + strings.Replace(good, "raydium", "<a href=x>", 1) + `]}`, []string{strings.Replace(first, "raydium", "", 1)}},
		"a DEX of a thousand":      {`{"data":[` + strings.Replace(good, "raydium", strings.Repeat("a", 1000), 1) + `]}`, []string{strings.Replace(first, "raydium", "", 1)}},
		"more than there is":       {`{"data":[` + poolRow(one, id, wsol, `"1"`, `"99999999999999999999999"`) + `]}`, []string{strings.NewReplacer("0.9998", "1", "112004.5836", "").Replace(first)}},
		"nothing":                  {`{"data":[]}`, nil},
		"null":                     {`{"data":null}`, nil},
		"an error in another form": {`{"errors":[{"status":"404"}]}`, nil},
	} {
		s := newStandIn(t)
		s.says(c.body)
		pools, err := NewGeckoTerminal(s.options()).Pools(t.Context(), ForPerson, usdc)
		var got []string
		for _, p := range pools {
			if p.Source != "geckoterminal" {
				t.Errorf("%s: from %q", name, p.Source)
			}
			got = append(got, text(p))
		}
		if err != nil || strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s: %v\n%s, want\n%s", name, err, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// TestCandlesAreRead: the closing prices within the time that was asked for, oldest first, each once.
func TestCandlesAreRead(t *testing.T) {
	pool := poolRow("Bd4wKg3xEBKJ4Xrw8skXMmJ4W65gk3x8yd7AovuBJisZ", "So11111111111111111111111111111111111111112", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", `"1"`, `"1"`)
	s := newStandIn(t)
	until := s.at.Unix()
	candles := func(rows ...string) string {
		return `{"data":{"attributes":{"ohlcv_list":[` + strings.Join(rows, ",") + `]}}}`
	}
	row := func(before int64, price string) string { return fmt.Sprintf(`[%d,1,1,1,%s,5]`, until-before, price) }
	var asked []string
	body := ""
	s.answer = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		asked = append(asked, r.URL.String())
		if strings.Contains(r.URL.Path, "ohlcv") {
			fmt.Fprint(w, body)
		} else {
			fmt.Fprint(w, `{"data":[`+pool+`]}`)
		}
	}
	g := NewGeckoTerminal(s.options())
	for name, c := range map[string]struct{ body, want string }{
		"as documented":    {candles(row(60, "2"), row(120, "1.5e-5"), row(180, `"3"`)), "3 0.000015 2"},
		"without an order": {candles(row(180, "3"), row(60, "2"), row(120, "1")), "3 1 2"},
		"twice":            {candles(row(60, "2"), row(60, "2")), "2"},
		"out of the time":  {candles(row(-60, "9"), row(0, "9"), row(60, "2"), row(3600, "4"), row(3601, "9")), "4 2"},
		"other types":      {candles(`null`, `5`, `[]`, `[1,2]`, `["x",1,1,1,1]`, row(60, "null"), row(120, "-1"), row(180, "0"), `{}`, row(240, "7")), "7"},
		"nothing":          {candles(), ""},
		"null":             {`{"data":{"attributes":{"ohlcv_list":null}}}`, ""},
		"an error":         {`{"errors":[]}`, ""},
	} {
		body = c.body
		s.at = s.at.Add(time.Minute) // the budget of calls
		points, err := g.PastPrices(t.Context(), ForPerson, wallet.Address{}, time.Unix(until-3600, 0), time.Unix(until, 0), time.Minute)
		var got []string
		for _, p := range points {
			got = append(got, p.Price.String())
		}
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q: %v", name, got, c.want, err)
		}
	}
	asked = nil
	const day = 24 * time.Hour
	for _, span := range []time.Duration{time.Hour, day, 7 * day, 30 * day, 365 * day} {
		if _, err := g.PastPrices(t.Context(), ForPerson, wallet.Address{}, time.Unix(until, 0).Add(-span), time.Unix(until, 0), step(span)); err != nil {
			t.Fatal(err)
		}
	}
	at := fmt.Sprint(until)
	const path = "/api/v2/networks/solana/pools/Bd4wKg3xEBKJ4Xrw8skXMmJ4W65gk3x8yd7AovuBJisZ/ohlcv/"
	want := []string{path + "minute?aggregate=1&before_timestamp=" + at + "&currency=usd&limit=62&token=base", path + "minute?aggregate=5&before_timestamp=" + at + "&currency=usd&limit=290&token=base",
		path + "hour?aggregate=1&before_timestamp=" + at + "&currency=usd&limit=170&token=base", path + "hour?aggregate=4&before_timestamp=" + at + "&currency=usd&limit=182&token=base",
		path + "day?aggregate=1&before_timestamp=" + at + "&currency=usd&limit=367&token=base"}
	if strings.Join(asked, "\n") != strings.Join(want, "\n") {
		t.Errorf("asked\n%s, want\n%s", strings.Join(asked, "\n"), strings.Join(want, "\n"))
	}
	asked = nil
	if _, err := g.PastPrices(t.Context(), ForPerson, usdc, time.Unix(until-3600, 0), time.Unix(until, 0), time.Minute); err != nil {
		t.Fatal(err)
	}
	if last := asked[len(asked)-1]; !strings.HasSuffix(last, "token=quote") {
		t.Errorf("of the other side: %s", last)
	}
}

// TestTheSandboxIsReadAsTheProvidersAre: what the adapters read of the sandbox's market is what it says of itself.
func TestTheSandboxIsReadAsTheProvidersAre(t *testing.T) {
	s := newStandIn(t)
	world, err := sandbox.Open(sandbox.Options{Now: func() time.Time { return s.at }, Seed: "test", Mint: func(name string) string { return solana.MintAddress("purser", name) }})
	if err != nil {
		t.Fatal(err)
	}
	defer world.Close() //nolint:errcheck // of a test
	s.answer = world.Handler().ServeHTTP
	usdc := wallet.MustAddress(solana.MintAddress("purser", "USDC"))
	if err := world.Set("SOL", "147.4789"); err != nil {
		t.Fatal(err)
	}
	got, err := s.ask(NewJupiter(s.options()), wallet.Address{}, usdc, wallet.Address{9})
	if err != nil || !strings.HasPrefix(got, "SOL 147.4789 ") || !strings.Contains(got, ", "+usdc.Tail()+" ") {
		t.Errorf("%q: %v", got, err)
	}
	g := NewGeckoTerminal(s.options())
	pools, err := g.Pools(context.Background(), ForPerson, wallet.Address{})
	if err != nil || len(pools) == 0 || pools[0].Liquidity.Unknown || !pools[0].Price.Known() {
		t.Fatalf("%+v: %v", pools, err)
	}
	for _, span := range []time.Duration{time.Hour, 24 * time.Hour, 30 * 24 * time.Hour} {
		s.at = s.at.Add(time.Minute)
		points, err := g.PastPrices(context.Background(), ForPerson, wallet.Address{}, s.at.Add(-span), s.at, step(span))
		if err != nil || len(points) < 55 || len(points) > 300 {
			t.Errorf("%v: %d points: %v", span, len(points), err)
		}
	}
}

// FuzzAnswers: whatever a provider answers is read without a panic, and what is read is a price.
func FuzzAnswers(f *testing.F) {
	f.Add(`{"So11111111111111111111111111111111111111112":{"usdPrice":147.4,"priceChange24h":1}}`)
	f.Add(`{"data":[` + poolRow("Bd4wKg3xEBKJ4Xrw8skXMmJ4W65gk3x8yd7AovuBJisZ", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", "So11111111111111111111111111111111111111112", `"1"`, `"1"`) + `]}`)
	f.Add(`{"parsed":[{"id":"ef0d8b6fda2ceba41da15d4095d1da392a0d2f8ed0c6c7bc0f4cfac8c280b56d","price":{"price":"5","conf":"0","expo":-1,"publish_time":1}}]}`)
	f.Add(`{"data":{"attributes":{"token_prices":{"So11111111111111111111111111111111111111112":"1"},"ohlcv_list":[[1,2,3,4,5,6]]}}}`)
	at := time.Unix(1_800_000_000, 0)
	f.Fuzz(func(t *testing.T, body string) {
		o := Options{URL: "http://provider", Now: func() time.Time { return at }, Client: &http.Client{Transport: saying(body)}}
		for _, source := range []Source{NewJupiter(o), NewCoinGecko(o), NewPyth(o)} {
			prices, _ := source.Prices(t.Context(), ForPerson, []wallet.Address{{}, usdc})
			for _, p := range prices {
				if again, err := wallet.ParsePrice(p.Price.String()); err != nil || again != p.Price || p.At.After(at) {
					t.Fatalf("%+v: %v", p, err)
				}
			}
		}
		g := NewGeckoTerminal(o)
		pools, _ := g.Pools(t.Context(), ForPerson, usdc)
		for _, p := range pools {
			if p.Base != usdc && p.Quote != usdc {
				t.Fatalf("%+v", p)
			}
		}
		points, _ := g.PastPrices(t.Context(), ForPerson, usdc, at.Add(-time.Hour), at, time.Minute)
		for i, p := range points {
			if !p.Price.Known() || p.At.Before(at.Add(-time.Hour)) || !p.At.Before(at) || i > 0 && !points[i-1].At.Before(p.At) {
				t.Fatalf("%v", points)
			}
		}
	})
}

// saying answers every call with a body.
type saying string

func (s saying) RoundTrip(*http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.WriteString(string(s))
	return w.Result(), nil
}

// TestPoolsAreAtMostTwenty, the deepest ones, whatever the source sends.
func TestPoolsAreAtMostTwenty(t *testing.T) {
	var rows []string
	for i := range 300 {
		rows = append(rows, poolRow(wallet.Address{1, byte(i), byte(i >> 8)}.String(), usdc.String(), wallet.WrappedSOL.String(), `"1"`, fmt.Sprint(i)))
	}
	s := newStandIn(t)
	s.says(`{"data":[` + strings.Join(rows, ",") + `]}`)
	pools, err := NewGeckoTerminal(s.options()).Pools(t.Context(), ForPerson, usdc)
	if err != nil || len(pools) != 20 || pools[0].Liquidity.String() != "299" || pools[19].Liquidity.String() != "280" {
		t.Errorf("%d pools, %v", len(pools), err)
	}
}
