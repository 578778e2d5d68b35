package market

import (
	"net/http"
	"slices"
	"strconv"
	"time"
)

// What a call for candles may ask, as GeckoTerminal documents it.
const (
	usualCandles = 100
	maxCandles   = 1000
	maxPast      = 180 * day // older candles are not served without a key
)

// timeframes are the lengths of candles: a unit, and how many of them make one.
var timeframes = map[string]struct {
	unit       time.Duration
	aggregates []int
}{
	"minute": {time.Minute, []int{1, 5, 15}},
	"hour":   {time.Hour, []int{1, 4, 12}},
	"day":    {day, []int{1}},
}

// candle is what happened in a pool in a span of time.
type candle struct {
	start                  time.Time
	open, high, low, close dollars
	volume                 micros
}

// question is a call for candles.
type question struct {
	pool    *pool
	length  time.Duration
	before  time.Time // candles begin before it
	most    int
	ofQuote bool // the prices of the pool's other token
	empty   bool // spans without a trade are shown, with the last price
}

// serveCandles is GET /api/v2/networks/solana/pools/{pool}/ohlcv/{timeframe}: candles, the newest first. The span that is
// not over yet is the first one.
func (m *Market) serveCandles(r *http.Request, now time.Time) (any, *refusal) {
	i := slices.IndexFunc(m.pools, func(p *pool) bool { return p.address == r.PathValue("pool") && !now.Before(m.born.Add(-p.age)) })
	if r.PathValue("network") != network || i < 0 {
		return nil, notFound()
	}
	q, refused := readQuestion(r, m.pools[i], now)
	if refused != nil {
		return nil, refused
	}
	list := [][6]number{}
	for _, c := range m.candles(q, now) {
		price := func(p dollars) number { return ruby(uint64(p), priceDecimals) }
		list = append(list, [6]number{number(strconv.FormatInt(c.start.Unix(), 10)), price(c.open), price(c.high), price(c.low), price(c.close), ruby(c.volume, 6)})
	}
	about := func(t *token) object {
		return object{"address": t.mint, "name": t.name, "symbol": t.symbol, "coingecko_coin_id": nil}
	}
	return object{
		"data": resource{ID: uuidOf(r.URL.RequestURI()), Type: "ohlcv_request_response", Attributes: object{"ohlcv_list": list}},
		"meta": object{"base": about(q.pool.base), "quote": about(q.pool.quote)},
	}, nil
}

// readQuestion reads the parameters of a call for candles.
func readQuestion(r *http.Request, p *pool, now time.Time) (question, *refusal) {
	query := r.URL.Query()
	frame, known := timeframes[r.PathValue("timeframe")]
	if !known {
		return question{}, badRequest(GeckoTerminal, "Invalid timeframe")
	}
	aggregate, ok := within(r, "aggregate", 1, 1, 15)
	if !ok || !slices.Contains(frame.aggregates, aggregate) {
		return question{}, badRequest(GeckoTerminal, "Invalid aggregate")
	}
	q := question{pool: p, length: time.Duration(aggregate) * frame.unit, before: now.Add(1)}
	if q.most, ok = within(r, "limit", usualCandles, 1, maxCandles); !ok {
		return question{}, badRequest(GeckoTerminal, "Invalid limit")
	}
	if text := query.Get("before_timestamp"); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || seconds < 0 || seconds > 1<<40 {
			return question{}, badRequest(GeckoTerminal, "Invalid before_timestamp")
		}
		if at := time.Unix(seconds, 0); at.Before(now) {
			q.before = at
		}
	}
	if currency := query.Get("currency"); currency != "" && currency != "usd" {
		return question{}, badRequest(GeckoTerminal, "Invalid currency")
	}
	switch query.Get("token") {
	case "", "base", p.base.mint:
	case "quote", p.quote.mint:
		q.ofQuote = true
	default:
		return question{}, badRequest(GeckoTerminal, "Invalid token")
	}
	q.empty = query.Get("include_empty_intervals") == "true"
	return q, nil
}

// candles answers a question. Spans without a trade are left out, unless they are asked for.
func (m *Market) candles(q question, now time.Time) []candle {
	earliest := m.born.Add(-q.pool.age)
	if oldest := now.Add(-maxPast); oldest.After(earliest) {
		earliest = oldest
	}
	// Spans begin at whole multiples of their length since 1970, in UTC.
	length := int64(q.length / time.Second)
	last := q.before.Add(-1).Unix() / length
	first := max(earliest.Unix()/length, last-int64(q.most)+1)
	if !q.empty { // enough spans to fill the answer even if most have no trade
		first = max(earliest.Unix()/length, last-int64(q.most)*int64(q.pool.every))
	}
	from := time.Unix(first*length, 0).UTC()
	if from.Before(earliest) {
		from = earliest
	}
	to := time.Unix((last+1)*length, 0)
	if !to.Before(now) {
		to = now.Add(1)
	}
	out := m.draw(q, from, to, length)
	if q.empty {
		out = fill(out, length, last)
	}
	slices.Reverse(out)
	return out[:min(len(out), q.most)]
}

// draw makes the candles of all trades in [from, to), the oldest first.
func (m *Market) draw(q question, from, to time.Time, length int64) (out []candle) {
	of, in := m.history(q.pool.base), m.history(q.pool.quote)
	if q.ofQuote {
		of, in = in, of
	}
	price, other := of.reader(), in.reader()
	for at := range moments(from, to, of, in) {
		volume, buys, sells := q.pool.trades(tickOf(at))
		begins := at.Equal(tickTime(tickOf(at)))
		if begins && buys+sells == 0 {
			continue
		}
		if !begins { // somebody changed a price here: that is a trade of next to nothing
			volume = 0
		}
		value := price(at)
		if value == 0 || other(at) == 0 {
			continue
		}
		start := at.Unix() / length * length
		if n := len(out); n == 0 || out[n-1].start.Unix() != start {
			out = append(out, candle{time.Unix(start, 0).UTC(), value, value, value, value, volume})
			continue
		}
		c := &out[len(out)-1]
		c.high, c.low, c.close, c.volume = max(c.high, value), min(c.low, value), value, c.volume+volume
	}
	return out
}

// fill adds a candle for each span without a trade, from the first trade to the span with that number: it stands at the
// price of the last trade.
func fill(traded []candle, length, last int64) (out []candle) {
	for i, c := range traded {
		out = append(out, c)
		until := last + 1
		if i+1 < len(traded) {
			until = traded[i+1].start.Unix() / length
		}
		for span := c.start.Unix()/length + 1; span < until; span++ {
			out = append(out, candle{time.Unix(span*length, 0).UTC(), c.close, c.close, c.close, c.close, 0})
		}
	}
	return out
}

// uuidOf is an id in the form of a UUID that follows from a text.
func uuidOf(text string) string {
	digits := ""
	for i := range uint64(2) {
		h := strconv.FormatUint(mix(seedOf("uuid", text), i)|1<<63, 16) // 16 digits
		digits += h
	}
	return digits[:8] + "-" + digits[8:12] + "-4" + digits[13:16] + "-8" + digits[17:20] + "-" + digits[20:]
}
