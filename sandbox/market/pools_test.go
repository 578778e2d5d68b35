package market

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"
)

// pooled is a pool as a client reads it.
type pooled struct {
	ID, Type      string
	Attributes    poolAttributes
	Relationships map[string]struct{ Data struct{ ID, Type string } }
}

func (w *world) pooled(id string) []pooled {
	w.t.Helper()
	var body struct{ Data []pooled }
	w.get("/api/v2/networks/solana/tokens/"+w.mint(id)+"/pools", &body)
	return body.Data
}

func TestPoolsAgreeWithPricesAndCandles(t *testing.T) {
	w := open(t, Options{})
	w.clock.pass(37*time.Minute + 53*time.Second) // to 11:08:00
	sol := w.price(SOL)
	for _, id := range []string{SOL, "BEAN", "FEE", "MOON", "USDC impostor"} {
		pools := w.pooled(id)
		if len(pools) == 0 {
			t.Fatalf("%s has no pools", id)
		}
		for i, p := range pools {
			a := p.Attributes
			if i > 0 && w.rat(pools[i-1].Attributes.Reserve).Cmp(w.rat(a.Reserve)) < 0 {
				t.Errorf("%s: the pools are not in order", id)
			}
			base := strings.TrimPrefix(p.Relationships["base_token"].Data.ID, "solana_")
			quote := strings.TrimPrefix(p.Relationships["quote_token"].Data.ID, "solana_")
			all := w.prices(w.byMint(base).id, w.byMint(quote).id)
			if w.rat(*a.BasePrice).Cmp(w.rat(all[base].USDPrice.String())) != 0 || w.rat(*a.QuotePrice).Cmp(w.rat(all[quote].USDPrice.String())) != 0 {
				t.Errorf("%s: %s and %s, prices are %+v", a.Name, *a.BasePrice, *a.QuotePrice, all)
			}
			near := func(got string, of, in *big.Rat) {
				t.Helper()
				diff := new(big.Rat).Quo(of, in)
				if diff.Sub(diff, w.rat(got)).Abs(diff).Cmp(w.rat("0.000000000000000001")) >= 0 {
					t.Errorf("%s: %s is not %s", a.Name, got, new(big.Rat).Quo(of, in).FloatString(14))
				}
			}
			near(*a.BaseInQuote, w.rat(*a.BasePrice), w.rat(*a.QuotePrice))
			near(*a.QuoteInBase, w.rat(*a.QuotePrice), w.rat(*a.BasePrice))
			near(*a.BaseNative, w.rat(*a.BasePrice), w.rat(sol))
			near(*a.QuoteNative, w.rat(*a.QuotePrice), w.rat(sol))
			if p.ID != "solana_"+a.Address || a.Name != w.byMint(base).symbol+" / "+w.byMint(quote).symbol {
				t.Errorf("%+v", p)
			}
			if change := w.rat(a.Changes["h24"]); change.Sign() == 0 {
				t.Errorf("%s did not change in a day", a.Name)
			}
			if w.rat(a.Volumes["h6"]).Cmp(w.rat(a.Volumes["h1"])) < 0 || w.rat(a.Volumes["h24"]).Cmp(w.rat(a.Volumes["h6"])) < 0 || a.Transactions["h24"]["buys"] <= a.Transactions["h1"]["buys"] {
				t.Errorf("%s: %v %v", a.Name, a.Volumes, a.Transactions)
			}
		}
	}
}

// TestVolumesAreThoseOfTheCandles: a day has the volume of its candles, to the millionth of a dollar.
func TestVolumesAreThoseOfTheCandles(t *testing.T) {
	w := open(t, Options{})
	w.clock.pass(2*time.Hour + 13*time.Second)
	w.set(`{"jumps":{"SOL":1}}`, 200) // within a tick
	w.clock.pass(10 * time.Second)
	w.set(`{"jumps":{"SOL":1}}`, 200) // where one begins
	if w.clock.Now().Unix()%15 != 0 {
		t.Fatal(w.clock.Now())
	}
	w.clock.pass(11*time.Hour + 29*time.Minute + 29*time.Second) // to 23:59:59, when the last tick of the day has begun
	for _, id := range []string{SOL, "FEE", "USDC impostor"} {
		p := w.poolOf(id)
		today := w.draws(p, "day?limit=1")[0]
		var of pooled
		for _, one := range w.pooled(id) {
			if one.Attributes.Address == p.address {
				of = one
			}
		}
		if w.rat(today.volume).Cmp(w.rat(of.Attributes.Volumes["h24"])) != 0 {
			t.Errorf("%s: %s in the candle, %s in 24 hours", id, today.volume, of.Attributes.Volumes["h24"])
		}
		if usual := new(big.Rat).SetFrac64(int64(p.daily), 1_000_000); w.rat(today.volume).Cmp(usual.Mul(usual, big.NewRat(1, 2))) < 0 ||
			w.rat(today.volume).Cmp(usual.Mul(usual, big.NewRat(3, 1))) > 0 {
			t.Errorf("%s: %s of about %s", id, today.volume, usual.FloatString(2))
		}
	}
	// A token has the volume of its pools.
	odd := 0
	for range 10 {
		for _, id := range pricedIDs {
			sum, buys := new(big.Rat), 0
			for _, p := range w.pooled(id) {
				sum.Add(sum, w.rat(p.Attributes.Volumes["h1"]))
				buys += p.Attributes.Transactions["h1"]["buys"]
			}
			f := w.search(w.mint(id))[0].Stats1h
			bought, sold := w.rat(f.BuyVolume.String()), w.rat(f.SellVolume.String())
			if odd += bought.Cmp(sold) * bought.Cmp(sold); sum.Cmp(new(big.Rat).Add(bought, sold)) != 0 || f.NumBuys != buys {
				t.Errorf("%s: %+v, its pools had %s and %d", id, f, sum.FloatString(6), buys)
			}
		}
		w.clock.pass(time.Minute)
	}
	if odd == 0 {
		t.Error("every volume could be halved")
	}
}

// TestAThinPoolFollowsAChange: a price that somebody sets is a trade, also where nobody else would trade.
func TestAThinPoolFollowsAChange(t *testing.T) {
	w := open(t, Options{})
	thin := w.poolOf("USDC impostor")
	for i := range 5 {
		w.clock.pass(7 * time.Minute)
		price := fmt.Sprintf("0.%d", i+1)
		if err := w.Set(thin.base.mint, price); err != nil {
			t.Fatal(err)
		}
		if c := w.draws(thin, "minute?limit=1")[0]; c.close != price || c.start != w.clock.Now().Unix()/60*60 {
			t.Errorf("%+v, the price is %s", c, price)
		}
	}
}

// TestAPoolBeginsWhenItWasMade, also if its tokens are older.
func TestAPoolBeginsWhenItWasMade(t *testing.T) {
	w := open(t, Options{})
	i := slices.IndexFunc(w.pools, func(p *pool) bool { return p.age == 80*day })
	p := w.pools[i]
	days := w.draws(p, "day?limit=1000")
	oldest := days[len(days)-1]
	made := start.Add(-80 * day)
	tick := tickOf(made) + 1
	for ; ; tick++ {
		if _, buys, sells := p.trades(tick); buys+sells > 0 {
			break
		}
	}
	first := tickTime(tick)
	if want := string(ruby(uint64(w.history(p.base).at(first)), priceDecimals)); oldest.start != made.Unix()/86400*86400 || oldest.open != want {
		t.Errorf("%+v, want it to open at %s", oldest, want)
	}
	p.age = time.Hour // a pool of old tokens that is younger than the spans
	for _, one := range w.pooled("BEAN") {
		if one.Attributes.Address == p.address && (one.Attributes.Volumes["h6"] != one.Attributes.Volumes["h1"] || one.Attributes.Changes["h24"] != one.Attributes.Changes["h1"]) {
			t.Errorf("%+v", one.Attributes)
		}
	}
	p.age = -time.Hour // not made yet
	if pools, found := w.pooled("BEAN"), w.search("BEAN")[0]; len(pools) != 1 || w.rat(found.Liquidity.String()).Cmp(w.rat(pools[0].Attributes.Reserve)) != 0 {
		t.Errorf("%d pools, %s in them", len(pools), *found.Liquidity)
	}
	if status, _, _ := w.do("GET", "/api/v2/networks/solana/pools/"+p.address+"/ohlcv/day", ""); status != 404 {
		t.Errorf("%d", status)
	}
}

// TestAPoolNeedsBothPrices: without the price of the other token nobody trades either.
func TestAPoolNeedsBothPrices(t *testing.T) {
	w := open(t, Options{})
	gone := w.clock.Now()
	if err := w.Unprice("SOL"); err != nil {
		t.Fatal(err)
	}
	w.clock.pass(2 * time.Hour)
	for _, p := range w.pools {
		if p.quote.mint != wrappedSOL {
			continue
		}
		for _, c := range w.draws(p, "minute?limit=2") {
			if c.start > gone.Unix() {
				t.Errorf("%s: a candle of %s", p.base.id, time.Unix(c.start, 0).UTC())
			}
		}
	}
	if a := w.pooled("BEAN")[0].Attributes; a.Volumes["h1"] != "0" || a.BasePrice == nil || a.QuotePrice != nil || a.BaseNative != nil {
		t.Errorf("%+v", a)
	}
}

func TestMarketCapsAreOfVerifiedTokens(t *testing.T) {
	w := open(t, Options{})
	for id, verified := range map[string]bool{"BEAN": true, "MOON": false} {
		if a := w.pooled(id)[0].Attributes; (a.MarketCap != nil) != verified || a.FDV == nil {
			t.Errorf("%s: %+v", id, a)
		}
	}
}

func TestPoolsAreFound(t *testing.T) {
	w := open(t, Options{})
	for id, want := range map[string]int{SOL: 6, "USDC": 5, "BEAN": 2, "GHOST": 0, "USDC impostor": 1} {
		if pools := w.pooled(id); len(pools) != want {
			t.Errorf("%s has %d pools, want %d", id, len(pools), want)
		}
	}
	addresses := map[string]bool{}
	for _, p := range w.pools {
		addresses[p.address] = true
	}
	if len(addresses) != len(w.pools) {
		t.Error("two pools share an address")
	}
	path := "/api/v2/networks/solana/tokens/" + wrappedSOL + "/pools"
	var body struct {
		Data     []resource
		Included []resource
	}
	w.get(path+"?include=base_token,dex", &body)
	kinds := map[string]int{}
	for _, r := range body.Included {
		kinds[r.Type]++
	}
	if kinds["dex"] != 2 || kinds["token"] != 5 || len(body.Included) != 7 {
		t.Errorf("included: %v", kinds)
	}
	if _, _, text := w.do("GET", path, ""); strings.Contains(text, `"included"`) {
		t.Error("nobody asked for tokens")
	}
	if _, _, text := w.do("GET", path+"?page=2", ""); text != `{"data":[]}` {
		t.Errorf("page 2: %s", text)
	}
	candles := "/api/v2/networks/solana/pools/" + w.pools[0].address + "/ohlcv/"
	for path, want := range map[string]int{
		path + "?page=0": 400, path + "?page=11": 400, path + "?page=x": 400, path + "?page=10": 200,
		"/api/v2/networks/eth/tokens/" + wrappedSOL + "/pools": 404, "/api/v2/networks/solana/tokens/x/pools": 404, "/api/v2/networks": 404, "/api/v3/x": 404,
		candles + "minute?aggregate=5": 200, candles + "minute?aggregate=2": 400, candles + "hour?aggregate=5": 400, candles + "day?aggregate=4": 400,
		candles + "second": 400, candles + "minute?limit=0": 400, candles + "minute?limit=1001": 400, candles + "minute?limit=1000": 200, candles + "minute?limit=x": 400,
		candles + "minute?before_timestamp=x": 400, candles + "minute?before_timestamp=-1": 400, candles + "minute?before_timestamp=99999999999": 200,
		candles + "minute?before_timestamp=9223372036854775807": 400, candles + "minute?before_timestamp=0": 200,
		candles + "minute?currency=eur": 400, candles + "minute?currency=token": 400, candles + "minute?token=other": 400, candles + "minute?token=" + w.mint("BEAN"): 400,
		"/api/v2/networks/eth/pools/" + w.pools[0].address + "/ohlcv/day": 404,
	} {
		if status, _, text := w.do("GET", path, ""); status != want || want != 200 && path != "/api/v3/x" && !strings.HasPrefix(text, `{"errors":[{"status":"`+fmt.Sprint(want)+`","title":"`) {
			t.Errorf("%s: %d %.200s, want %d", path, status, text, want)
		}
	}
}
