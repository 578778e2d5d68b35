package market

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"
)

// drawn is a candle as a client reads it.
type drawn struct {
	start                  int64
	open, high, low, close string
	volume                 string
}

// poolOf is the first pool of a token.
func (w *world) poolOf(id string) *pool {
	w.t.Helper()
	i := slices.IndexFunc(w.pools, func(p *pool) bool { return p.base.id == id })
	if i < 0 {
		w.t.Fatalf("%s has no pool", id)
	}
	return w.pools[i]
}

// draws asks for candles. question is the path from the timeframe on: "minute?limit=5".
func (w *world) draws(p *pool, question string) (out []drawn) {
	w.t.Helper()
	var body struct {
		Data struct {
			Attributes struct {
				List [][6]json.Number `json:"ohlcv_list"`
			}
		}
	}
	w.get("/api/v2/networks/solana/pools/"+p.address+"/ohlcv/"+question, &body)
	for _, row := range body.Data.Attributes.List {
		at, err := row[0].Int64()
		if err != nil {
			w.t.Fatal(err)
		}
		out = append(out, drawn{at, row[1].String(), row[2].String(), row[3].String(), row[4].String(), row[5].String()})
	}
	return out
}

// TestCandlesAreWhatThePriceWas asks for the price every few seconds as time passes, and then for the candles of that time.
func TestCandlesAreWhatThePriceWas(t *testing.T) {
	for _, id := range []string{SOL, "BEAN"} {
		w := open(t, Options{})
		type seen struct {
			at    time.Time
			price string
		}
		var asked []seen
		look := func(d time.Duration) {
			w.clock.pass(d)
			asked = append(asked, seen{w.clock.Now(), w.price(id)})
		}
		for i := range 130 {
			look(5 * time.Second)
			switch i {
			case 40, 77:
				if err := w.Jump(id, 10); err != nil {
					t.Fatal(err)
				}
				look(0)
			case 90:
				if err := w.Set(id, "0.5"); err != nil {
					t.Fatal(err)
				}
				look(time.Nanosecond)
			}
		}
		for _, length := range []int64{1, 5, 15} {
			candles := w.draws(w.poolOf(id), fmt.Sprintf("minute?aggregate=%d&limit=20", length))
			for i, c := range candles {
				if i > 0 && candles[i-1].start-c.start != length*60 {
					t.Errorf("%s: candles at %d and %d", id, candles[i-1].start, c.start)
				}
				if w.rat(c.low).Cmp(w.rat(c.open)) > 0 || w.rat(c.low).Cmp(w.rat(c.close)) > 0 || w.rat(c.high).Cmp(w.rat(c.open)) < 0 || w.rat(c.high).Cmp(w.rat(c.close)) < 0 {
					t.Errorf("%s: %+v", id, c)
				}
				var within []string
				reached := map[string]bool{}
				for _, s := range asked {
					if s.at.Unix()/(length*60)*(length*60) != c.start {
						continue
					}
					within = append(within, s.price)
					if p := w.rat(s.price); p.Cmp(w.rat(c.low)) < 0 || p.Cmp(w.rat(c.high)) > 0 {
						t.Errorf("%s was at %s, which is not in %+v", id, s.price, c)
					}
					reached[w.rat(s.price).RatString()] = true
				}
				// A minute that was looked at from its first tick to its last one begins, ends and turns where we saw it.
				if length == 1 && len(within) >= 12 {
					if w.rat(within[0]).Cmp(w.rat(c.open)) != 0 || w.rat(within[len(within)-1]).Cmp(w.rat(c.close)) != 0 {
						t.Errorf("%s: saw %v, the candle is %+v", id, within, c)
					}
					if !reached[w.rat(c.high).RatString()] || !reached[w.rat(c.low).RatString()] {
						t.Errorf("%s: nobody saw the ends of %+v: %v", id, c, within)
					}
				}
			}
		}
		if newest := w.draws(w.poolOf(id), "minute?limit=1")[0]; w.rat(newest.close).Cmp(w.rat(w.price(id))) != 0 || newest.start != w.clock.Now().Unix()/60*60 {
			t.Errorf("%s: the newest candle is %+v, the price %s", id, newest, w.price(id))
		}
	}
}

// TestPastCandlesStandStill asks for the candles of yesterday before and after prices were changed.
func TestPastCandlesStandStill(t *testing.T) {
	w := open(t, Options{})
	question := fmt.Sprintf("hour?limit=48&before_timestamp=%d", start.Unix()/3600*3600)
	before := w.draws(w.poolOf("DIP"), question)
	if len(before) != 48 {
		t.Fatalf("%d candles", len(before))
	}
	for _, percent := range []int{50, -90, 3} {
		w.clock.pass(11 * time.Minute)
		if err := w.Jump("DIP", percent); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Unprice("DIP"); err != nil {
		t.Fatal(err)
	}
	if after := w.draws(w.poolOf("DIP"), question); !slices.Equal(after, before) {
		t.Errorf("before\n%v\nafter\n%v", before, after)
	}
}

// TestLongCandlesAreSumsOfShortOnes compares days with hours, hours with minutes and aggregates with their parts.
func TestLongCandlesAreSumsOfShortOnes(t *testing.T) {
	w := open(t, Options{})
	w.clock.pass(53 * time.Minute)
	if err := w.Jump(w.mint("MOON"), -30); err != nil {
		t.Fatal(err)
	}
	w.clock.pass(40 * time.Minute)
	for _, id := range []string{SOL, "MOON", "FEE"} {
		for _, c := range []struct{ long, short string }{
			{"hour?limit=3", "minute?limit=1000"}, {"minute?aggregate=15&limit=20", "minute?limit=1000"}, {"minute?aggregate=5&limit=50", "minute?limit=1000"},
			{"hour?aggregate=4&limit=5", "hour?limit=100"}, {"hour?aggregate=12&limit=5", "hour?limit=100"}, {"day?limit=4", "hour?limit=120"},
		} {
			long, short := w.draws(w.poolOf(id), c.long), w.draws(w.poolOf(id), c.short)
			if len(long) < 3 {
				t.Fatalf("%s %s: %d candles", id, c.long, len(long))
			}
			for i, l := range long {
				end := l.start + 1<<40
				if i > 0 {
					end = long[i-1].start
				}
				var parts []drawn
				for _, s := range short {
					if s.start >= l.start && s.start < end {
						parts = append(parts, s)
					}
				}
				if len(parts) == 0 || short[len(short)-1].start > l.start {
					continue // older than the short candles
				}
				first, last := parts[len(parts)-1], parts[0]
				high, low, volume := w.rat(first.high), w.rat(first.low), new(big.Rat)
				for _, p := range parts {
					if w.rat(p.high).Cmp(high) > 0 {
						high = w.rat(p.high)
					}
					if w.rat(p.low).Cmp(low) < 0 {
						low = w.rat(p.low)
					}
					volume.Add(volume, w.rat(p.volume))
				}
				if l.open != first.open || l.close != last.close || high.Cmp(w.rat(l.high)) != 0 || low.Cmp(w.rat(l.low)) != 0 || volume.Cmp(w.rat(l.volume)) != 0 {
					t.Errorf("%s %s: %+v is made of %d candles from %+v to %+v, volume %s", id, c.long, l, len(parts), first, last, volume.FloatString(6))
				}
			}
		}
	}
}

func TestPagesOfCandlesMeet(t *testing.T) {
	w := open(t, Options{})
	all := w.draws(w.poolOf("MOON"), "minute?limit=300")
	var paged []drawn
	question := "minute?limit=70"
	for len(paged) < 300 {
		page := w.draws(w.poolOf("MOON"), question)
		if len(page) != 70 {
			t.Fatalf("%d candles on a page", len(page))
		}
		paged = append(paged, page...)
		question = fmt.Sprintf("minute?limit=70&before_timestamp=%d", page[len(page)-1].start)
	}
	if !slices.Equal(all, paged[:300]) {
		t.Error("pages are not what one answer has")
	}
	if gap := all[0].start - all[299].start; gap < 300*60*3/2 {
		t.Errorf("a thin pool has trades in each of its minutes: 300 candles are %d seconds", gap)
	}
}

func TestEmptySpansAreShownOnRequest(t *testing.T) {
	w := open(t, Options{})
	traded := map[int64]drawn{}
	for _, c := range w.draws(w.poolOf("MOON"), "minute?limit=200") {
		traded[c.start] = c
	}
	// Any number of spans without a trade may come before the first trade in reach; the rest has no gap.
	full := w.draws(w.poolOf("MOON"), "minute?limit=100&include_empty_intervals=true")
	if len(full) < 80 || len(full) > 100 {
		t.Fatalf("%d candles", len(full))
	}
	empty := 0
	for i, c := range full {
		if i > 0 && full[i-1].start-c.start != 60 {
			t.Errorf("a gap before %d", c.start)
		}
		if was, ok := traded[c.start]; ok {
			if was != c {
				t.Errorf("%+v and %+v", was, c)
			}
			continue
		}
		empty++
		if i == len(full)-1 || c.volume != "0.0" || c.open != full[i+1].close || c.open != c.close || c.high != c.close || c.low != c.close {
			t.Errorf("an empty minute is %+v", c)
		}
	}
	if empty < 20 {
		t.Errorf("%d empty minutes", empty)
	}
	if full[0].start != start.Unix()/60*60 {
		t.Errorf("the newest is %+v", full[0])
	}
}

func TestCandlesOfEitherToken(t *testing.T) {
	w := open(t, Options{})
	bean, sol := w.poolOf("BEAN"), w.poolOf(SOL)
	ofSOL := w.draws(bean, "hour?limit=5&token=quote")
	if byMint := w.draws(bean, "hour?limit=5&token="+wrappedSOL); !slices.Equal(byMint, ofSOL) {
		t.Error("the quote token by its mint is another one")
	}
	if direct := w.draws(sol, "hour?limit=5"); direct[0].close != ofSOL[0].close || direct[4].high != ofSOL[4].high {
		t.Errorf("SOL is at %+v in one pool and at %+v in another", direct[0], ofSOL[0])
	}
	if base := w.draws(bean, "hour?limit=5&token="+w.mint("BEAN")); !slices.Equal(base, w.draws(bean, "hour?limit=5&token=base")) || base[0] == ofSOL[0] {
		t.Error("the base token by its mint is another one")
	}
	if usd := w.draws(sol, "minute?limit=1&currency=usd"); !slices.Equal(usd, w.draws(sol, "minute?limit=1")) {
		t.Error("dollars are not what is meant by default")
	}
}

func TestCandlesBeginWithTheirPool(t *testing.T) {
	w := open(t, Options{})
	young := w.draws(w.poolOf("MOON two"), "minute?limit=1000")
	begun := start.Add(-5 * time.Hour)
	if oldest := young[len(young)-1].start; oldest < begun.Unix()/60*60 || oldest > begun.Add(time.Hour).Unix() {
		t.Errorf("candles begin at %s", time.Unix(oldest, 0).UTC())
	}
	if days := w.draws(w.poolOf(SOL), "day?limit=1000"); len(days) != 181 || days[180].start != start.Add(-180*day).Unix()/86400*86400 {
		t.Errorf("%d days, from %s", len(days), time.Unix(days[len(days)-1].start, 0).UTC())
	}
	if past := w.draws(w.poolOf(SOL), "day?before_timestamp=1000"); len(past) != 0 {
		t.Errorf("candles of 1970: %v", past)
	}
	if hours := w.draws(w.poolOf(SOL), "hour"); len(hours) != 100 {
		t.Errorf("%d hours", len(hours))
	}
}

// TestAPoolStandsStillWithoutAPrice: the hours in which a token had no price have no candles.
func TestAPoolStandsStillWithoutAPrice(t *testing.T) {
	w := open(t, Options{})
	gone := w.clock.Now()
	w.set(`{"prices":{"DIP":null}}`, 200)
	w.clock.pass(3 * time.Hour)
	if got := w.prices("DIP"); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	for _, c := range w.draws(w.poolOf("DIP"), "minute?limit=10") {
		if c.start > gone.Unix() {
			t.Errorf("a candle of %s", time.Unix(c.start, 0).UTC())
		}
	}
	pool := w.pooled("DIP")[0]
	if a := pool.Attributes; a.BasePrice != nil || a.BaseInQuote != nil || a.QuotePrice == nil || *a.QuotePrice == "" || a.FDV != nil || a.Volumes["h1"] != "0" || a.Transactions["h1"]["buys"] != 0 || a.Volumes["h24"] == "0" {
		t.Errorf("%+v", a)
	}
	w.set(`{"prices":{"DIP":"3"}}`, 200)
	if got := w.price("DIP"); got != "3.0" {
		t.Errorf("DIP is at %s", got)
	}
	if c := w.draws(w.poolOf("DIP"), "minute?limit=1")[0]; c.close != "3.0" {
		t.Errorf("%+v", c)
	}
}

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

// TestMomentsAreReadInAnyOrder: a reader that went on and back says what a fresh one says.
func TestMomentsAreReadInAnyOrder(t *testing.T) {
	w := open(t, Options{})
	for range 20 {
		w.clock.pass(4 * time.Minute)
		if err := w.Jump("SOL", 5); err != nil {
			t.Fatal(err)
		}
	}
	h := w.history(w.token(SOL))
	read := h.reader()
	for i := range uint64(3000) {
		at := start.Add(time.Duration(int64(mix(1, i)%(3*3600))-3600) * time.Second)
		if got, want := read(at), h.at(at); got != want {
			t.Fatalf("%s: %s, want %s", at, got, want)
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
