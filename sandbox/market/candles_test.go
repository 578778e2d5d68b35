package market

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
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
